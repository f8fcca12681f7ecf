//! The experiments that come with the executable. Each is a file in `experiments/` and one line here.

/// Name and text.
pub const EXPERIMENTS: &[(&str, &str)] = &[
    ("survey", include_str!("../../../experiments/survey.toml")),
    ("crossover", include_str!("../../../experiments/crossover.toml")),
    ("smoke", include_str!("../../../experiments/smoke.toml")),
];

/// The text of a built-in experiment.
pub fn find(name: &str) -> Option<&'static str> {
    EXPERIMENTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    #[test]
    fn every_file_in_the_folder_is_listed_and_every_listed_file_parses() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| {
                entry.unwrap().file_name().into_string().ok()?.strip_suffix(".toml").map(str::to_string)
            })
            .collect();
        files.sort();
        let mut listed: Vec<String> = EXPERIMENTS.iter().map(|(name, _)| name.to_string()).collect();
        listed.sort();
        assert_eq!(files, listed);
        for (name, text) in EXPERIMENTS {
            if let Err(problem) = Experiment::parse(name, text) {
                panic!("{}", problem.at(name));
            }
        }
    }
}
