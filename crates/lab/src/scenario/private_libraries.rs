//! Whether shared libraries are mapped private, and a page of theirs that was written is a copy.

use std::collections::BTreeSet;

use schema::{Bytes, record::ScenarioResult};

use super::{Scenario, Scene};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "private-libraries",
    about: "every mapping of a shared library in this process is private, and its written pages are copies",
    scratch_bytes: |_| 0,
    observe,
};

fn observe(_: &Scene) -> Result<ScenarioResult, String> {
    let mappings = sys::process::mappings(std::process::id()).map_err(|error| format!("/proc/self/smaps: {error}"))?;
    let of_library = |name: &str| {
        let file = name.rsplit('/').next().unwrap_or_default();
        name.starts_with('/') && (file.ends_with(".so") || file.contains(".so."))
    };
    let of_libraries: Vec<_> = mappings.iter().filter(|it| of_library(&it.name)).collect();
    if of_libraries.is_empty() {
        return Err("this executable is linked statically: it has no shared library mapped".into());
    }
    let libraries: BTreeSet<&str> = of_libraries.iter().map(|it| it.name.as_str()).collect();
    let private = of_libraries.iter().filter(|it| it.permissions.ends_with('p')).count();
    // The dynamic linker wrote to these when it relocated them.
    let copied: u64 = of_libraries.iter().map(|it| it.anonymous_bytes).sum();
    Ok(ScenarioResult {
        holds: private == of_libraries.len() && copied > 0,
        evidence: format!(
            "{private} of {} mappings of {} libraries are private in /proc/self/maps; {} of their pages were written \
             here and are copies",
            of_libraries.len(),
            libraries.len(),
            Bytes(copied)
        ),
    })
}
