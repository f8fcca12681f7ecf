//! Arms that are commands of the user's: what `faultline ab` enters into the same machine as methods.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    Arm, Beside, Bytes, Consume, Descriptor, Durability, Experiment, Fill, State, Workload,
    arm::{Options, Setting},
    condition::Layout,
    experiment::{Compare, Competitor, Range, Throttle},
};

pub use crate::runtime::COMMAND;

/// How long a `--cleanup` may take that nothing waits for any more: after a failure, or when the run is stopped.
pub const LAST_CLEANUP: Duration = Duration::from_secs(10);

/// No argument of a program is longer (execve(2)), and a reader is shown no more of it.
const LINE_BYTES_MAX: usize = 128 << 10;

/// A command line and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// As typed.
    pub line: String,
    /// What reports call it.
    pub name: String,
    /// The program that is given `-c` and the line; without one the line is split into words.
    pub shell: Option<String>,
    /// Before every execution, and after it, outside the timing.
    pub prepare: Option<String>,
    pub cleanup: Option<String>,
    pub timeout_s: u32,
    pub compared: Compared,
}

/// What is part of the work, so that commands in which it differs are not comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// Standard output and exit code. One other than 0 is a failure.
    Output,
    /// The exit code, whatever it is: of a program, and of the same with another option, that fails early.
    Status,
    /// No pass is a failure for its exit code.
    Nothing,
}

impl Compared {
    const ALL: [Compared; 3] = [Compared::Output, Compared::Status, Compared::Nothing];

    /// As the option of an arm.
    fn word(self) -> &'static str {
        match self {
            Compared::Output => "compared",
            Compared::Status => "status",
            Compared::Nothing => "ignored",
        }
    }
}

impl Spec {
    pub fn arm(&self) -> Arm {
        let word = |text: &str| Setting::Word(text.to_string());
        let texts = [
            ("line", Some(&self.line)),
            ("shell", self.shell.as_ref()),
            ("prepare", self.prepare.as_ref()),
            ("cleanup", self.cleanup.as_ref()),
        ];
        let mut options: Options =
            texts.into_iter().filter_map(|(key, text)| Some((key.to_string(), word(text?)))).collect();
        options.insert("timeout_s".into(), Setting::Number(self.timeout_s));
        options.insert("output".into(), word(self.compared.word()));
        Arm { runtime: COMMAND.into(), method: COMMAND.into(), options, name: format!("{COMMAND}/{}", self.name) }
    }

    /// What `arm` wrote down.
    ///
    /// # Errors
    /// The options are not those of a command.
    pub fn of(options: &Options) -> Result<Spec, String> {
        let text = |key: &str| match options.get(key) {
            Some(Setting::Word(text)) => Some(text.clone()),
            _ => None,
        };
        let texts = options.keys().filter_map(|key| Some((key, text(key)?)));
        if let Some((key, text)) = { texts }.find(|(_, text)| text.len() > LINE_BYTES_MAX) {
            return Err(format!("the {key} of a command has {} bytes; expected at most {LINE_BYTES_MAX}", text.len()));
        }
        let timeout_s = match options.get("timeout_s") {
            Some(Setting::Number(seconds)) => *seconds,
            _ => return Err("a command needs a time limit".into()),
        };
        let line = text("line").ok_or("a command needs a command line")?;
        Ok(Spec {
            name: line.clone(),
            line,
            shell: text("shell"),
            prepare: text("prepare"),
            cleanup: text("cleanup"),
            timeout_s,
            compared: Compared::ALL
                .into_iter()
                .find(|it| text("output").as_deref() == Some(it.word()))
                .unwrap_or(Compared::Output),
        })
    }
}

impl Arm {
    /// The same arm, resolved through the vocabulary once more. What was loaded from a file may say anything.
    ///
    /// # Errors
    /// As `new`; and where the options of a command are not exactly those of a command.
    pub fn resolved(&self) -> Result<Arm, String> {
        if self.runtime != COMMAND {
            return Arm::new(&self.runtime, &self.method, &self.options);
        }
        if self.method != COMMAND {
            return Err(format!("runtime {COMMAND:?} has one method, {COMMAND:?}, and not {:?}", self.method));
        }
        let arm = Spec::of(&self.options)?.arm();
        match self.options.keys().find(|key| arm.options.get(*key) != self.options.get(*key)) {
            Some(key) => Err(format!("{key:?} is not an option of a command, or its value is not accepted")),
            // What a command is called is the user's choice.
            None => Ok(Arm { name: self.name.clone(), ..arm }),
        }
    }
}

fn with_blanks_shown(name: &str) -> String {
    name.replace(' ', "\u{2423}").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// A text as it is, or with its blanks shown where one of `others` differs from it in these alone: reports wrap lines at
/// blanks, which would make the two look the same.
pub(crate) fn told_apart<'a>(text: &str, mut others: impl Iterator<Item = &'a str>) -> String {
    let alike = |it: &str| it != text && it.split_whitespace().eq(text.split_whitespace());
    if others.any(alike) { with_blanks_shown(text) } else { text.to_string() }
}

/// Whether an arm has no name but its command line.
pub(crate) fn is_called_by_its_line(arm: &Arm, spec: &Spec) -> bool {
    let is_line_or_repeat = |line: &str| {
        let rest = arm.short_name().strip_prefix(line);
        let times = rest.and_then(|it| it.strip_prefix(" (")?.strip_suffix(')'));
        rest == Some("") || times.is_some_and(|it| it.parse::<u32>().is_ok())
    };
    is_line_or_repeat(&spec.line) || is_line_or_repeat(&with_blanks_shown(&spec.line))
}

/// The commands as an experiment: one execution a pass, the whole file in its state.
pub fn experiment(specs: &[Spec], states: &[State], fills: &[Fill]) -> Experiment {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let arms = specs
        .iter()
        .map(|spec| {
            let mut arm = spec.arm();
            let told_apart = told_apart(&spec.name, specs.iter().map(|it| it.name.as_str()));
            arm.name = format!("{COMMAND}/{told_apart}");
            // The same command twice is the null case; two arms of one name would be one.
            let name = std::mem::take(&mut arm.name);
            let mut names = std::iter::once(name.clone()).chain((2..).map(|times| format!("{name} ({times})")));
            arm.name = names.find(|it| taken.insert(it.clone())).expect("there are more numbers than commands");
            Competitor { arm, label: None, own: Default::default() }
        })
        .collect();
    let compare = Compare {
        name: None,
        variant: None,
        arms,
        workload: vec![Workload::Command],
        block: vec![Bytes(1)],
        consume: vec![Consume::Touch],
        state: states.to_vec(),
        threads: vec![1],
        descriptor: vec![Descriptor::PerThread],
        aligned: vec![true],
        range: Some(Range { offset: Bytes(0), bytes: None, share: None, blocks: None }),
        ops: vec![1],
        full_range: None,
        full_ops: None,
        full_block: vec![],
        memory: None,
        storage: vec![Throttle::default()],
        durability: vec![Durability::None],
        layout: vec![Layout::Written],
        fill: fills.to_vec(),
        trace: None,
        beside: vec![Beside::Nothing],
    };
    Experiment {
        name: "ab".into(),
        title: "Commands side by side".into(),
        question: None,
        source: None,
        budget_s: None,
        study: None,
        comparisons: vec![compare],
        claims: Vec::new(),
        figures: Vec::new(),
        written: Vec::new(),
        filtered_claims: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_says_how_its_command_is_run_and_the_same_command_twice_is_two_arms() {
        let spec = Spec {
            line: "wc -l f".into(),
            name: "wc -l f".into(),
            shell: Some("/bin/sh".into()),
            prepare: None,
            cleanup: Some("true".into()),
            timeout_s: 7,
            compared: Compared::Output,
        };
        assert_eq!(Spec::of(&spec.arm().options), Ok(spec.clone()));
        let experiment = experiment(&[spec.clone(), spec], &[State::Cold], &[Fill::Sequential]);
        let names: Vec<&str> = experiment.comparisons[0].arms.iter().map(|it| it.arm.name.as_str()).collect();
        assert_eq!(names, ["command/wc -l f", "command/wc -l f (2)"]);
    }

    #[test]
    fn a_command_of_which_a_reader_is_not_shown_all_is_none() {
        let of = |key: &str, bytes: usize| {
            let mut options = Options::new();
            options.insert("line".into(), Setting::Word("true".into()));
            options.insert("timeout_s".into(), Setting::Number(1));
            options.insert(key.into(), Setting::Word("x".repeat(bytes)));
            Spec::of(&options)
        };
        for key in ["line", "shell", "prepare", "cleanup"] {
            assert!(of(key, LINE_BYTES_MAX).is_ok() && of(key, LINE_BYTES_MAX + 1).is_err(), "{key}");
        }
    }

    #[test]
    fn a_command_that_is_called_like_the_second_of_a_name_is_an_arm_of_its_own() {
        let spec = |name: &str| Spec {
            line: "true".into(),
            name: name.into(),
            shell: None,
            prepare: None,
            cleanup: None,
            timeout_s: 7,
            compared: Compared::Output,
        };
        for names in [["a", "a", "a (2)"], ["a (2)", "a", "a"]] {
            let experiment = experiment(&names.map(spec), &[State::Cold], &[Fill::Sequential]);
            let arms: BTreeSet<&str> = experiment.comparisons[0].arms.iter().map(|it| it.arm.name.as_str()).collect();
            assert_eq!(arms.len(), 3, "{arms:?}");
        }
    }

    #[test]
    fn commands_that_differ_in_blanks_alone_have_names_that_show_them() {
        let spec = |line: &str| Spec {
            line: line.into(),
            name: line.into(),
            shell: None,
            prepare: None,
            cleanup: None,
            timeout_s: 7,
            compared: Compared::Output,
        };
        let experiment = experiment(
            &[spec("cat f"), spec("cat  f"), spec("cat\tf"), spec("wc f")],
            &[State::Cold],
            &[Fill::Sequential],
        );
        let names: Vec<&str> = experiment.comparisons[0].arms.iter().map(|it| it.arm.short_name()).collect();
        assert_eq!(names, ["cat\u{2423}f", "cat\u{2423}\u{2423}f", "cat\\tf", "wc f"]);
    }

    #[test]
    fn an_arm_that_was_loaded_is_resolved_as_one_that_was_written() {
        let word = |text: &str| Setting::Word(text.into());
        let arm = |runtime: &str, method: &str, options: &[(&str, Setting)]| Arm {
            runtime: runtime.into(),
            method: method.into(),
            options: options.iter().map(|(key, value)| (key.to_string(), value.clone())).collect(),
            name: "native/read".into(),
        };
        let line = [("line", word("true")), ("timeout_s", Setting::Number(5))];
        assert_eq!(arm("native", "mmap", &[]).resolved().unwrap(), "mmap".parse().unwrap(), "defaults are filled in");
        assert_eq!(arm("native", "pread", &[]).resolved().unwrap().name, "native/pread", "its name follows from it");
        let named = Arm { name: "command/mine".into(), ..arm("command", "command", &line) };
        let resolved = named.resolved().unwrap();
        assert_eq!((resolved.name.as_str(), resolved.word("output")), ("command/mine", "compared"));
        let [line, limit] = line;
        for hostile in [
            arm("native", "command", &[line.clone(), limit.clone()]),
            arm("jvm", "command", &[line.clone(), limit.clone()]),
            arm("command", "read", &[line.clone(), limit.clone()]),
            arm("command", "command", std::slice::from_ref(&limit)),
            arm("command", "command", &[line.clone(), limit.clone(), ("also", word("true"))]),
            arm("command", "command", &[line.clone(), limit, ("output", word("/etc/passwd"))]),
            arm("native", "read", &[line]),
            arm("", "", &[]),
        ] {
            hostile.resolved().expect_err("it is in no vocabulary");
        }
    }
}
