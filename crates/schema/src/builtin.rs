//! The experiments and studies that come with the executable. Each is a file in `experiments/` or `experiments/studies/`
//! and one line here.

/// Name and text.
pub const EXPERIMENTS: &[(&str, &str)] = &[
    ("survey", include_str!("../../../experiments/survey.toml")),
    ("crossover", include_str!("../../../experiments/crossover.toml")),
    ("calibrate", include_str!("../../../experiments/calibrate.toml")),
    ("fills", include_str!("../../../experiments/fills.toml")),
    ("write-back", include_str!("../../../experiments/write-back.toml")),
    ("safepoints", include_str!("../../../experiments/safepoints.toml")),
    ("threads", include_str!("../../../experiments/threads.toml")),
    ("stalls", include_str!("../../../experiments/stalls.toml")),
    ("python", include_str!("../../../experiments/python.toml")),
    ("go", include_str!("../../../experiments/go.toml")),
    ("smoke", include_str!("../../../experiments/smoke.toml")),
];

/// Published measurements. A study is an experiment like any other, and says of which size its own test file is.
pub const STUDIES: &[(&str, &str)] = &[
    ("dillon-2001", include_str!("../../../experiments/studies/dillon-2001.toml")),
    ("cse221-2003", include_str!("../../../experiments/studies/cse221-2003.toml")),
    ("random-4k-2021", include_str!("../../../experiments/studies/random-4k-2021.toml")),
    ("line-count-boards", include_str!("../../../experiments/studies/line-count-boards.toml")),
    ("line-count-boards-java", include_str!("../../../experiments/studies/line-count-boards-java.toml")),
    ("channel-vs-mapped", include_str!("../../../experiments/studies/channel-vs-mapped.toml")),
    ("channel-vs-mapped-writing", include_str!("../../../experiments/studies/channel-vs-mapped-writing.toml")),
    ("channel-vs-mapped-java", include_str!("../../../experiments/studies/channel-vs-mapped-java.toml")),
    (
        "channel-vs-mapped-java-writing",
        include_str!("../../../experiments/studies/channel-vs-mapped-java-writing.toml"),
    ),
];

/// The text of a built-in experiment or study.
pub fn find(name: &str) -> Option<&'static str> {
    all().find(|(known, _)| *known == name).map(|(_, text)| text)
}

/// Experiments first, then studies.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    EXPERIMENTS.iter().chain(STUDIES).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    fn check(folder: &str, list: &[(&str, &str)]) {
        let folder = format!("{}/../../{folder}", env!("CARGO_MANIFEST_DIR"));
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| {
                entry.unwrap().file_name().into_string().ok()?.strip_suffix(".toml").map(str::to_string)
            })
            .collect();
        files.sort();
        let mut listed: Vec<String> = list.iter().map(|(name, _)| name.to_string()).collect();
        listed.sort();
        assert_eq!(files, listed);
        for (name, text) in list {
            if let Err(problem) = Experiment::parse(name, text) {
                panic!("{}", problem.at(name));
            }
        }
    }

    #[test]
    fn every_file_in_the_folder_is_listed_and_every_listed_file_parses() {
        check("experiments", EXPERIMENTS);
    }

    #[test]
    fn every_study_in_its_folder_is_listed_and_parses_and_says_what_it_needs_to_run() {
        check("experiments/studies", STUDIES);
        for (name, text) in STUDIES {
            let study = Experiment::parse(name, text).unwrap();
            assert!(study.study.is_some(), "{name} has no [study]");
            assert!(study.source.is_some() && study.question.is_some(), "{name} lacks source or question");
            assert!(!study.claims.is_empty(), "{name} claims nothing");
            assert!(study.comparisons.iter().all(|it| it.name.is_some() && it.variant.is_some()), "{name}");
        }
    }

    #[test]
    fn the_best_block_is_held_against_every_other_that_is_measured_and_each_cold_one_is_claimed_something_of() {
        let text = find("channel-vs-mapped").unwrap();
        for is_full in [false, true] {
            let mut study = Experiment::parse("channel-vs-mapped", text).unwrap();
            if is_full {
                study.full();
            }
            let claim = |id: &str| study.claims.iter().find(|it| it.id == id).unwrap();
            let best = claim("a-best");
            let claimed = |id: &str| claim(id).only.block.clone();
            let of_best = [best.only.block.clone(), best.than_where.block.clone()].concat();
            let of_cold = [claimed("c-small"), claimed("c-large"), claimed("c-largest")].concat();
            for compare in &study.comparisons {
                let named = if compare.name.as_deref() == Some("cold") { &of_cold } else { &of_best };
                let left: Vec<_> = compare.block.iter().filter(|it| !named.contains(it)).collect();
                assert!(left.is_empty(), "{left:?}");
            }
        }
    }

    #[test]
    fn no_two_have_one_name() {
        let mut names: Vec<&str> = all().map(|(name, _)| name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
