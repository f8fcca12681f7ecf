//! What the arms of a run are called in reports: a method by its short name, a command by the name that it was given, or
//! else by a letter. Names are for people. What an arm is, its runtime, method and options say.

use std::collections::BTreeMap;

use crate::{
    Arm, Record,
    arm::short,
    command::{self, Spec},
};

/// For commands without a name, in the order of the run.
const LETTERS: [&str; 26] = [
    "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T", "U", "V", "W",
    "X", "Y", "Z",
];

#[derive(Debug, Clone, Default)]
pub struct Names {
    letters: BTreeMap<String, &'static str>,
    one_runtime: bool,
    commands: Vec<NamedCommand>,
}

/// A command of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCommand {
    /// The name of its arm.
    pub arm: String,
    /// The command line; with its blanks shown where another one differs in these alone.
    pub line: String,
}

impl Names {
    pub fn of(record: &Record) -> Names {
        Names::of_arms(record.cells.iter().map(|it| &it.arm))
    }

    pub fn of_arms<'a>(arms: impl Iterator<Item = &'a Arm>) -> Names {
        let mut runtimes: Vec<&str> = Vec::new();
        let mut commands: Vec<(&Arm, Spec)> = Vec::new();
        for arm in arms {
            if !runtimes.contains(&arm.runtime.as_str()) {
                runtimes.push(&arm.runtime);
            }
            let is_new = arm.is_command() && commands.iter().all(|it| it.0.name != arm.name);
            commands.extend(is_new.then(|| Spec::of(&arm.options).ok()).flatten().map(|spec| (arm, spec)));
        }
        let named = |it: &&(&Arm, Spec)| !command::is_called_by_its_line(it.0, &it.1);
        let taken: Vec<&str> = commands.iter().filter(named).map(|it| it.0.short_name()).collect();
        let unnamed = commands.iter().filter(|it| !named(it)).map(|it| it.0.name.clone());
        let lines: Vec<&str> = commands.iter().map(|it| it.1.line.as_str()).collect();
        Names {
            one_runtime: runtimes.len() < 2,
            letters: unnamed.zip(LETTERS.into_iter().filter(|it| !taken.contains(it))).collect(),
            commands: commands
                .iter()
                .map(|(arm, spec)| NamedCommand {
                    arm: arm.name.clone(),
                    line: command::told_apart(&spec.line, lines.iter().copied()),
                })
                .collect(),
        }
    }

    /// Without the runtime where every arm of the run has the same one.
    pub fn short<'a>(&self, arm: &'a str) -> &'a str {
        match self.letters.get(arm) {
            Some(letter) => letter,
            None if self.one_runtime => short(arm),
            None => arm,
        }
    }

    /// A reason for which an arm was not measured, with its name where a worker gave the command line.
    pub fn in_reason(&self, arm: &Arm, reason: &str) -> String {
        match arm.word("line") {
            "" => reason.to_string(),
            line => reason.replace(&format!("{line:?}"), self.short(&arm.name)),
        }
    }

    /// Every command once, in the order of the run.
    pub fn commands(&self) -> &[NamedCommand] {
        &self.commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fill, State};

    fn names(commands: &[(&str, Option<&str>)]) -> (Vec<Arm>, Names) {
        let spec = |&(line, name): &(&str, Option<&str>)| Spec {
            line: line.into(),
            name: name.unwrap_or(line).into(),
            shell: None,
            prepare: None,
            cleanup: None,
            timeout_s: 7,
            compared: crate::command::Compared::Output,
        };
        let specs: Vec<Spec> = commands.iter().map(spec).collect();
        let experiment = command::experiment(&specs, &[State::Cold], &[Fill::Sequential]);
        let arms: Vec<Arm> = experiment.comparisons[0].arms.iter().map(|it| it.arm.clone()).collect();
        let names = Names::of_arms(arms.iter().chain(&arms));
        (arms, names)
    }

    #[track_caller]
    fn called(commands: &[(&str, Option<&str>)], expected: &[&str]) -> Names {
        let (arms, names) = names(commands);
        let called: Vec<&str> = arms.iter().map(|it| names.short(&it.name)).collect();
        assert_eq!(called, expected);
        names
    }

    #[test]
    fn a_command_is_called_by_a_letter_unless_it_has_a_name() {
        called(&[("wc f", None), ("cat f", None), ("true", None)], &["A", "B", "C"]);
        called(&[("wc f", Some("count")), ("cat f", Some("A"))], &["count", "A"]);
        // As a record may have them.
        called(&[("wc f", None), ("cat f", Some("A")), ("true", None)], &["B", "A", "C"]);
    }

    #[test]
    fn the_same_command_twice_has_two_letters() {
        called(&[("wc f", None), ("wc f", None), ("wc f", None)], &["A", "B", "C"]);
        called(&[("wc f", Some("n")), ("wc f", Some("n"))], &["n", "n (2)"]);
    }

    #[test]
    fn a_command_stands_once_and_blanks_that_alone_tell_it_from_another_are_shown() {
        let names = called(&[("cat f", None), ("cat  f", None), ("wc -l f", None)], &["A", "B", "C"]);
        let lines: Vec<&str> = names.commands().iter().map(|it| it.line.as_str()).collect();
        assert_eq!(lines, ["cat\u{2423}f", "cat\u{2423}\u{2423}f", "wc -l f"]);
    }

    #[test]
    fn a_reason_has_the_letter_and_not_the_command_line() {
        let (arms, names) = names(&[("wc \"a b\"", None), ("cat f", None)]);
        assert_eq!(names.in_reason(&arms[0], r#""wc \"a b\"" ended with status 3"#), "A ended with status 3");
        assert_eq!(names.in_reason(&"mmap".parse().unwrap(), "no \"\" here"), "no \"\" here");
    }

    #[test]
    fn where_letters_end_commands_are_called_by_their_lines() {
        let lines: Vec<String> = (0..28).map(|it| format!("head -{it} f")).collect();
        let commands: Vec<(&str, Option<&str>)> = lines.iter().map(|it| (it.as_str(), None)).collect();
        let (arms, names) = names(&commands);
        assert_eq!([25, 26].map(|at: usize| names.short(&arms[at].name)), ["Z", "head -26 f"]);
    }

    #[test]
    fn methods_have_no_letters_and_keep_their_runtime_beside_another_one() {
        let arms: Vec<Arm> = ["mmap", "jvm/mapped"].map(|it| it.parse().unwrap()).into();
        assert_eq!(Names::of_arms(arms.iter()).short("native/mmap"), "native/mmap");
        assert_eq!(Names::of_arms(arms[..1].iter()).short("native/mmap"), "mmap");
        assert!(Names::of_arms(arms.iter()).commands().is_empty());
    }
}
