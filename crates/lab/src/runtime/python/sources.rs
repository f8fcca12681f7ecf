//! The worker's sources, as they are given to it.

use std::collections::BTreeMap;

/// Loads the others.
pub(super) const START: &str = include_str!("../../../../../workers/python/start.py");

macro_rules! sources {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../../../../workers/python/faultline/", $name, ".py")))),*]
    };
}
const SOURCES: &[(&str, &str)] = sources!(
    "beat", "consume", "job", "lines", "mapped", "methods", "offsets", "reading", "session", "system", "team", "usage",
    "warmth", "way", "worker", "writing"
);

/// All of them by the names of their modules, as one JSON object.
pub(super) fn text() -> String {
    let named: BTreeMap<String, &str> =
        SOURCES.iter().map(|(name, text)| (format!("faultline.{name}"), *text)).collect();
    serde_json::json!(named).to_string()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn every_module_in_the_folder_is_given_to_the_worker() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workers/python/faultline");
        let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let found: BTreeSet<String> = files.filter_map(|it| it.strip_suffix(".py").map(str::to_string)).collect();
        assert_eq!(found, SOURCES.iter().map(|it| it.0.to_string()).collect());
    }
}
