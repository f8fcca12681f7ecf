//! The vocabulary of arms: which runtimes there are, and the methods and options of each. A method is known by its
//! runtime and its name: `native/read` and another runtime's `read` are different methods with options of their own.
//!
//! How a method is done stands in the workers, how a worker is started in `lab/src/runtime`. Tests compare the tables.

mod go;
mod jvm;
mod native;
mod python;
mod setting;

pub use go::GO;
pub use jvm::JVM;
pub use native::NATIVE;
pub use python::PYTHON;
pub use setting::{Options, Setting};

use crate::{Workload, units::expected};

/// Every runtime: a file here, and a line in this table.
pub const RUNTIMES: &[RuntimeSpec] = &[NATIVE, JVM, PYTHON, GO];

/// The runtime of commands, and its one method. It is in no table: what an arm of it does stands in its options
/// (`command::Spec`).
pub const COMMAND: &str = "command";

/// The option of arms that have something meanwhile stop all threads of their runtime.
pub const MEANWHILE: &str = "meanwhile";

/// The names of all runtimes, in the order of the table.
pub fn names() -> Vec<&'static str> {
    RUNTIMES.iter().map(|it| it.name).collect()
}

/// What executes methods, and the methods that it has, in the order in which `faultline list methods` prints them.
pub struct RuntimeSpec {
    pub name: &'static str,
    /// Its workers make the accesses of a trace.
    pub replays: bool,
    pub methods: &'static [MethodSpec],
}

impl RuntimeSpec {
    /// The runtime of that name.
    ///
    /// # Errors
    /// One sentence with the known names, the nearest first.
    pub fn named(name: &str) -> Result<&'static RuntimeSpec, String> {
        RUNTIMES
            .iter()
            .find(|it| it.name == name)
            .ok_or_else(|| format!("unknown runtime {name:?}; {}", expected(name, &names())))
    }

    /// The method of that name in this runtime.
    ///
    /// # Errors
    /// One sentence with the names that this runtime has, the nearest first.
    pub fn method(&self, name: &str) -> Result<&'static MethodSpec, String> {
        let names: Vec<&str> = self.methods.iter().map(|it| it.name).collect();
        self.methods
            .iter()
            .find(|it| it.name == name)
            .ok_or_else(|| format!("unknown method {name:?} of runtime {}; {}", self.name, expected(name, &names)))
    }

    /// Options that every one of its methods takes.
    pub fn common_options(&self) -> impl Iterator<Item = &'static OptionSpec> {
        let everywhere =
            |option: &&OptionSpec| self.methods.iter().all(|it| it.options.iter().any(|it| it.name == option.name));
        self.methods.first().map_or(&[][..], |it| it.options).iter().filter(everywhere)
    }

    pub fn is_common(&self, option: &OptionSpec) -> bool {
        self.common_options().any(|it| it.name == option.name)
    }

    /// How a method or an arm of it is written: `mmap` for the runtime that arms have by default, `jvm/mapped` for others.
    pub fn short(&self, method: &str) -> String {
        if self.name == NATIVE.name { method.to_string() } else { format!("{}/{method}", self.name) }
    }

    /// Whether one of its methods is for a workload.
    ///
    /// # Errors
    /// One sentence with the methods of this runtime that are.
    pub fn fits(&self, method: &MethodSpec, workload: Workload) -> Result<(), String> {
        if workload == Workload::Command {
            return Err("workload command has no methods; `faultline ab` measures commands".into());
        }
        if method.can.does(workload) {
            return Ok(());
        }
        let does = if workload.writes() { "only reads" } else { "only writes" };
        let fitting: Vec<&str> = self.methods.iter().filter(|it| it.can.does(workload)).map(|it| it.name).collect();
        Err(format!(
            "method {} {does}; for workload {workload} runtime {} has {}",
            method.name,
            self.name,
            fitting.join(", ")
        ))
    }
}

/// An option of a method: its name, the words it takes (the first is the default), what it means.
pub struct OptionSpec {
    pub name: &'static str,
    pub values: Values,
    pub about: &'static str,
    /// Elsewhere it would change nothing, and the arm would be the same as another one under a different name.
    pub can: Can,
}

/// What an option may be set to.
#[derive(Clone, Copy)]
pub enum Values {
    /// One of these words; the first is the default. Words are unique over a method's options, so that a name
    /// may say `mmap+sequential` for `advice = "sequential"`.
    Words(&'static [&'static str]),
    /// A whole number between `min` and `max`, or the default, which may lie outside.
    Number { min: u32, max: u32, default: u32 },
}

/// A method's vocabulary: what may be written in an experiment. How it is done stands in the workers.
pub struct MethodSpec {
    pub name: &'static str,
    pub about: &'static str,
    pub options: &'static [OptionSpec],
    pub can: Can,
    /// It goes around the page cache whatever its options are.
    pub direct: bool,
    /// It reaches the file through a mapping.
    pub maps: bool,
    /// Bytes are looked at where they are mapped, unless an option says otherwise; other methods bring in whole blocks.
    pub in_place: bool,
    /// It reads from the start of the file on, and no range that begins elsewhere.
    pub from_start: bool,
    /// It replays the accesses of several files, each of which it opens and closes within the pass.
    pub replays_several: bool,
}

impl MethodSpec {
    /// Reads through the page cache into memory of its own, without options; other methods say in what they differ.
    const fn reads(name: &'static str, about: &'static str) -> MethodSpec {
        MethodSpec {
            name,
            about,
            options: &[],
            can: Can::Read,
            direct: false,
            maps: false,
            in_place: false,
            from_start: false,
            replays_several: false,
        }
    }
}

/// Which workloads a method is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Can {
    Read,
    Write,
    Both,
}

impl Can {
    pub fn does(self, workload: Workload) -> bool {
        match self {
            Can::Read => !workload.writes(),
            Can::Write => workload.writes(),
            Can::Both => true,
        }
    }
}

impl OptionSpec {
    /// The setting in force and, unless it is the default, how a name shows it.
    pub(crate) fn resolve(&self, given: Option<&Setting>) -> Result<(Setting, Option<String>), String> {
        match (self.values, given) {
            (Values::Words(words), None) => Ok((Setting::Word(words[0].to_string()), None)),
            (Values::Words(words), Some(Setting::Word(word))) if words.contains(&word.as_str()) => {
                Ok((Setting::Word(word.clone()), (word != words[0]).then(|| word.clone())))
            }
            (Values::Words(words), Some(other)) => {
                Err(format!("option {} cannot be {other}; {}", self.name, expected(&other.to_string(), words)))
            }
            (Values::Number { default, .. }, None) => Ok((Setting::Number(default), None)),
            (Values::Number { min, max, default }, Some(Setting::Number(number)))
                if (min..=max).contains(number) || *number == default =>
            {
                Ok((Setting::Number(*number), (*number != default).then(|| format!("{}={number}", self.name))))
            }
            (Values::Number { min, max, .. }, Some(other)) => {
                Err(format!("option {} cannot be {other}; expected a whole number from {min} to {max}", self.name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unique_over_the_options_of_a_method() {
        for method in RUNTIMES.iter().flat_map(|runtime| runtime.methods) {
            let words: Vec<&str> = method
                .options
                .iter()
                .flat_map(|option| match option.values {
                    Values::Words(words) => words.to_vec(),
                    Values::Number { .. } => vec![option.name],
                })
                .collect();
            let distinct: std::collections::BTreeSet<&str> = words.iter().copied().collect();
            assert_eq!(words.len(), distinct.len(), "{}", method.name);
        }
    }

    #[test]
    fn two_runtimes_may_have_a_method_of_one_name_with_options_of_its_own() {
        const NO_OPTIONS: &[OptionSpec] = &[];
        const PAGES: &[OptionSpec] =
            &[OptionSpec { name: "pages", values: Values::Words(&["small", "huge"]), about: "", can: Can::Both }];
        let runtime = |name, options, can| RuntimeSpec {
            replays: true,
            name,
            methods: Vec::leak(vec![MethodSpec { options, can, ..MethodSpec::reads("read", "") }]),
        };
        let (one, other) = (runtime("one", NO_OPTIONS, Can::Read), runtime("other", PAGES, Can::Both));
        assert_eq!(one.method("read").unwrap().options.len(), 0);
        assert_eq!(other.method("read").unwrap().options[0].name, "pages");
        assert!(one.fits(one.method("read").unwrap(), Workload::Append).is_err());
        assert!(other.fits(other.method("read").unwrap(), Workload::Append).is_ok());
    }
}
