//! An arm: runtime, method and the method's options. The thing that competes.
//!
//! Its name is its short form and its identity: `native/mmap+sequential`, `native/uring+direct+queue_depth=64`.
//! Options at their defaults are left out of the name and present in the record.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    command::{COMMAND, Spec},
    units::expected,
};

/// What executes methods. More runtimes are one line here and one file in `lab/src/runtime`.
pub const RUNTIMES: &[&str] = &["native", "jvm"];

/// An option of a method: its name, the words it takes (the first is the default), what it means.
pub struct OptionSpec {
    pub name: &'static str,
    pub values: Values,
    pub about: &'static str,
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
}

/// Which workloads a method is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Can {
    Read,
    Write,
    Both,
}

impl MethodSpec {
    /// # Errors
    /// One sentence, with what would fit.
    pub fn fits(&self, workload: crate::Workload) -> Result<(), String> {
        if workload == crate::Workload::Command {
            return Err("workload command has no methods; `faultline ab` measures commands".into());
        }
        let (does, others): (&str, fn(Can) -> bool) = match (self.can, workload.writes()) {
            (Can::Read, true) => ("only reads", |it| it != Can::Read),
            (Can::Write, false) => ("only writes", |it| it != Can::Write),
            _ => return Ok(()),
        };
        let of_runtime = RUNTIMES.iter().map(|it| methods_of(it)).find(|it| it.iter().any(|it| it.name == self.name));
        let methods = of_runtime.unwrap_or(METHODS).iter();
        let fitting: Vec<&str> = methods.filter(|it| others(it.can)).map(|it| it.name).collect();
        Err(format!("method {} {does}; for workload {workload} there are {}", self.name, fitting.join(", ")))
    }
}

pub(crate) const ADVICE: OptionSpec = OptionSpec {
    name: "advice",
    values: Values::Words(&["normal", "sequential", "random", "willneed", "hugepage"]),
    about: "madvise(2) after mapping",
};
const POPULATE: OptionSpec = OptionSpec {
    name: "populate",
    values: Values::Words(&["no", "map-populate", "populate-read", "populate-write"]),
    about: "fill the page table while opening: MAP_POPULATE, or MADV_POPULATE_READ or _WRITE (Linux 5.14)",
};
const SHARING: OptionSpec =
    OptionSpec { name: "sharing", values: Values::Words(&["shared", "private"]), about: "MAP_SHARED or MAP_PRIVATE" };
const QUEUE_DEPTH: OptionSpec = OptionSpec {
    name: "queue_depth",
    values: Values::Number { min: 1, max: 4096, default: 32 },
    about: "blocks kept in flight",
};
const IO: OptionSpec = OptionSpec {
    name: "io",
    values: Values::Words(&["buffered", "direct"]),
    about: "through the page cache, or around it with O_DIRECT",
};
const BUFFERS: OptionSpec = OptionSpec {
    name: "buffers",
    values: Values::Words(&["plain", "registered"]),
    about: "buffers pinned once with io_uring_register(2), or at every request",
};

const SYNC: OptionSpec = OptionSpec {
    name: "sync",
    values: Values::Words(&["fdatasync", "o-dsync", "o-sync"]),
    about: "how a write gets to the device when the durability asks for it: a call of its own, or a flag of open(2)",
};
const WINDOW: OptionSpec = OptionSpec {
    name: "window",
    values: Values::Words(&["whole", "per-block"]),
    about: "when writing: the range is mapped once, or each block for itself and unmapped again",
};

/// Every native method, in the order `faultline list methods` prints them.
pub const METHODS: &[MethodSpec] = &[
    MethodSpec {
        name: "read",
        about: "read(2) at the file's own position; lseek(2) before it when the workload jumps",
        options: &[],
        can: Can::Read,
    },
    MethodSpec { name: "pread", about: "pread(2) at an explicit offset", options: &[], can: Can::Read },
    MethodSpec { name: "stdio", about: "fread(3) with the C library's own buffer", options: &[], can: Can::Read },
    MethodSpec {
        name: "stdio-mmap",
        about: "fread(3) of a stream opened with glibc's opt-in mode \"rm\", which maps the file",
        options: &[],
        can: Can::Read,
    },
    MethodSpec {
        name: "mmap",
        about: "mmap(2), bytes consumed or stored in place",
        options: &[ADVICE, POPULATE, SHARING, WINDOW],
        can: Can::Both,
    },
    MethodSpec {
        name: "direct",
        about: "pread(2), or pwrite(2), of a file opened with O_DIRECT, around the page cache",
        options: &[SYNC],
        can: Can::Both,
    },
    MethodSpec {
        name: "uring",
        about: "io_uring with a full queue",
        options: &[QUEUE_DEPTH, IO, BUFFERS, SYNC],
        can: Can::Both,
    },
    MethodSpec {
        name: "dontcache",
        about: "preadv2(2) with RWF_DONTCACHE: buffered, dropped behind (Linux 6.14)",
        options: &[],
        can: Can::Read,
    },
    MethodSpec {
        name: "write",
        about: "write(2) at the file's own position; lseek(2) before it when the workload goes back",
        options: &[SYNC],
        can: Can::Write,
    },
    MethodSpec { name: "pwrite", about: "pwrite(2) at an explicit offset", options: &[SYNC], can: Can::Write },
];

/// The methods of a runtime; none of an unknown one.
pub fn methods_of(runtime: &str) -> &'static [MethodSpec] {
    match runtime {
        "native" => METHODS,
        "jvm" => crate::jvm::METHODS,
        _ => &[],
    }
}

/// The vocabulary entry of a method, by name; no two runtimes have one in common.
pub fn method_spec(name: &str) -> Option<&'static MethodSpec> {
    RUNTIMES.iter().flat_map(|runtime| methods_of(runtime)).find(|method| method.name == name)
}

/// A setting of one option.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    Number(u32),
    Word(String),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Setting::Word(word) => f.write_str(word),
            Setting::Number(number) => write!(f, "{number}"),
        }
    }
}

/// Every option of the method, defaults included, so that a record says what was done without this table.
pub type Options = BTreeMap<String, Setting>;

/// Runtime + method + options. `name` is derived from the rest and carried along for readers of the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Arm {
    pub runtime: String,
    pub method: String,
    pub options: Options,
    pub name: String,
}

impl Arm {
    /// An arm from its parts, options checked and defaults filled in.
    ///
    /// # Errors
    /// One sentence that names the unknown word, what was expected and the nearest name.
    pub fn new(runtime: &str, method: &str, given: &Options) -> Result<Arm, String> {
        if !RUNTIMES.contains(&runtime) {
            return Err(format!("unknown runtime {runtime:?}; {}", expected(runtime, RUNTIMES)));
        }
        let methods = methods_of(runtime);
        let names: Vec<&str> = methods.iter().map(|method| method.name).collect();
        let spec = methods
            .iter()
            .find(|it| it.name == method)
            .ok_or_else(|| format!("unknown method {method:?}; {}", expected(method, &names)))?;
        let known: Vec<&str> = spec.options.iter().map(|option| option.name).collect();
        if let Some(unknown) = given.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(if known.is_empty() {
                format!("method {method:?} takes no options, so not {unknown:?} either")
            } else {
                format!("method {method:?} has no option {unknown:?}; {}", expected(unknown, &known))
            });
        }
        let mut options = Options::new();
        let mut name = format!("{runtime}/{method}");
        for option in spec.options {
            let setting = given.get(option.name);
            let (setting, label) = option.resolve(setting)?;
            if let Some(label) = label {
                name.push('+');
                name.push_str(&label);
            }
            options.insert(option.name.to_string(), setting);
        }
        Ok(Arm { runtime: runtime.to_string(), method: method.to_string(), options, name })
    }

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
            Some(key) => Err(format!("{key:?} is no option of a command, or not set to what it takes")),
            // What a command is called is the user's choice.
            None => Ok(Arm { name: self.name.clone(), ..arm }),
        }
    }

    /// The word an option is set to; the default when this arm's method has the option but the record is older.
    pub fn word(&self, option: &str) -> &str {
        match self.options.get(option) {
            Some(Setting::Word(word)) => word,
            _ => "",
        }
    }

    /// The number an option is set to.
    pub fn number(&self, option: &str) -> Option<u32> {
        match self.options.get(option) {
            Some(Setting::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The name without its runtime, for tables in which every arm has the same one.
    pub fn short_name(&self) -> &str {
        self.name.split_once('/').map_or(&self.name, |(_, rest)| rest)
    }
}

impl OptionSpec {
    /// The setting in force and, unless it is the default, how a name shows it.
    fn resolve(&self, given: Option<&Setting>) -> Result<(Setting, Option<String>), String> {
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

impl FromStr for Arm {
    type Err = String;

    /// `[runtime/]method[+word|+option=value]…`: `mmap`, `native/mmap+sequential`, `uring+direct+queue_depth=64`.
    fn from_str(text: &str) -> Result<Arm, String> {
        let (runtime, rest) = text.split_once('/').unwrap_or(("native", text));
        let mut parts = rest.split('+');
        let method = parts.next().unwrap_or_default();
        let spec = method_spec(method);
        let mut options = Options::new();
        for part in parts {
            let (key, value) = match part.split_once('=') {
                Some((key, value)) => (key, value),
                None => (option_of_word(spec, part).unwrap_or(part), part),
            };
            let setting = value.parse().map_or_else(|_| Setting::Word(value.to_string()), Setting::Number);
            if options.insert(key.to_string(), setting).is_some() {
                return Err(format!("{text:?} sets {key} twice"));
            }
        }
        Arm::new(runtime, method, &options).map_err(|reason| format!("arm {text:?}: {reason}"))
    }
}

fn option_of_word(spec: Option<&MethodSpec>, word: &str) -> Option<&'static str> {
    spec?
        .options
        .iter()
        .find(|option| matches!(option.values, Values::Words(words) if words.contains(&word)))
        .map(|option| option.name)
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_is_known_by_its_name_and_its_name_reads_back() {
        for name in [
            "native/read",
            "jvm/mapped",
            "jvm/mapped+get+jdk=17",
            "native/mmap+sequential+populate-read",
            "native/uring+queue_depth=4+direct",
        ] {
            let arm: Arm = name.parse().unwrap();
            assert_eq!(arm.name, name);
            assert_eq!(arm.name.parse::<Arm>().unwrap(), arm);
        }
        assert_eq!("mmap+advice=normal".parse::<Arm>().unwrap().name, "native/mmap");
    }

    #[test]
    fn wrong_arms_say_what_was_expected() {
        let error = |text: &str| text.parse::<Arm>().unwrap_err();
        assert!(error("nmap").contains("did you mean \"mmap\"?"), "{}", error("nmap"));
        assert!(error("mmap+sequentail").contains("sequentail"));
        assert!(error("mmap+advice=sequentail").contains("did you mean \"sequential\"?"));
        assert!(error("uring+queue_depth=0").contains("from 1 to 4096"));
        assert!(error("read+sequential").contains("takes no options"));
        assert!(error("mmap+random+sequential").contains("twice"));
        assert!(error("jvn/mmap").contains("unknown runtime"));
        assert!(error("jvm/mmap").contains("unknown method"), "each runtime has methods of its own");
        assert!(error("mapped").contains("unknown method"));
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

    #[test]
    fn words_are_unique_over_the_options_of_a_method() {
        for method in RUNTIMES.iter().flat_map(|runtime| methods_of(runtime)) {
            let mut words: Vec<&str> = method
                .options
                .iter()
                .flat_map(|option| match option.values {
                    Values::Words(words) => words.to_vec(),
                    Values::Number { .. } => vec![option.name],
                })
                .collect();
            let all = words.len();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), all, "{}", method.name);
        }
    }
}
