//! An arm: runtime, method and the method's options. The thing that competes.
//!
//! Its name is its short form and its identity: `native/mmap+sequential`, `native/uring+direct+queue_depth=64`.
//! Options at their defaults are left out of the name and present in the record.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    Condition, State, Workload,
    runtime::{COMMAND, MEANWHILE, MethodSpec, NATIVE, RuntimeSpec, Values},
    units::expected,
};

pub use crate::runtime::{Options, Setting};

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
        let spec = RuntimeSpec::named(runtime)?.method(method)?;
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

    /// The word an option is set to; the default when this arm's method has the option but the record is older.
    pub fn word(&self, option: &str) -> &str {
        match self.options.get(option) {
            Some(Setting::Word(word)) => word,
            _ => "",
        }
    }

    /// What stops all threads of its runtime during a pass, for measuring: `stops`, `safepoints`.
    pub fn meanwhile(&self) -> Option<&str> {
        Some(self.word(MEANWHILE)).filter(|it| !["", "alone"].contains(it))
    }

    /// The number an option is set to.
    pub fn number(&self, option: &str) -> Option<u32> {
        match self.options.get(option) {
            Some(Setting::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// A command of the user's, and no method of a runtime.
    pub fn is_command(&self) -> bool {
        self.runtime == COMMAND && self.method == COMMAND
    }

    /// What a command executes, whose name is what it is called and not what it does; of others there is nothing beyond the
    /// name. How long it may take, and whether its output is compared, make no other command of it.
    pub fn command(&self) -> Options {
        const BESIDE: [&str; 2] = ["timeout_s", "output"];
        let executed = self.options.iter().filter(|(key, _)| self.is_command() && !BESIDE.contains(&key.as_str()));
        executed.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Whether the sums of its passes are of nothing: of a command whose output and exit code are no part of the work.
    pub fn ignores_output(&self) -> bool {
        self.is_command() && self.word("output") == "ignored"
    }

    /// Whether the sums of its passes are of the exit code alone.
    pub fn compares_status(&self) -> bool {
        self.is_command() && self.word("output") == "status"
    }

    /// Whether its method is for a workload.
    ///
    /// # Errors
    /// Why not, in one sentence, with the methods that are.
    pub fn fits(&self, workload: Workload) -> Result<(), String> {
        if self.is_command() && workload == Workload::Command {
            return Ok(());
        }
        let runtime = RuntimeSpec::named(&self.runtime)?;
        let method = runtime.method(&self.method)?;
        runtime.fits(method, workload)?;
        let plain = Arm::new(&self.runtime, &self.method, &Options::new())?;
        let is_set = |name: &str| self.options.get(name) != plain.options.get(name);
        match method.options.iter().find(|it| !it.can.does(workload) && is_set(it.name)) {
            Some(option) => {
                let kind = if workload.writes() { "reading" } else { "writing" };
                Err(format!(
                    "option {} of {} is for {kind}, and workload {workload} does not use it",
                    option.name, self.name
                ))
            }
            None => Ok(()),
        }
    }

    /// Its reads and writes go around the page cache.
    pub fn is_direct(&self) -> bool {
        self.spec().is_some_and(|it| it.direct) || self.word("io") == "direct"
    }

    /// Under this condition its accesses find pages that those before them brought in: of a small file a dozen misses with 8 MiB of
    /// read-ahead leave none to miss, and populating a mapping none at all.
    pub fn finds_its_pages(&self, under: &Condition) -> bool {
        under.state == State::Cold && under.workload.reads_anywhere() && !self.is_direct()
    }

    /// It reaches the file through a mapping.
    pub fn maps(&self) -> bool {
        self.spec().is_some_and(|it| it.maps)
    }

    /// A program would have to know its offsets before it needs the bytes, or keep a page cache of its own.
    pub fn is_in_advance(&self) -> bool {
        self.is_direct() || self.number("queue_depth").is_some()
    }

    /// It has the kernel fill the page table of its mapping before a page is touched.
    pub fn fills_page_table(&self) -> bool {
        !matches!(self.word("populate"), "" | "no")
    }

    /// All pages of its mapping are mapped before the first block is reached: by the kernel, or by a touch of each. That is paid for once,
    /// however many blocks there are.
    pub fn maps_all_first(&self) -> bool {
        self.fills_page_table() || self.word("load") == "load"
    }

    /// Random reads of pages in memory, or of those that are found, of which a mapping has fewer faults for each the more there are, or
    /// one cost for all of them: which method wins depends on their number.
    pub fn shares_faults(&self, under: &Condition) -> bool {
        self.maps() && under.reads_share_faults()
    }

    /// Which method wins depends on how much of the job a pass does: with more of it the mapping takes less for each block. Of stores:
    /// in a folio of 2 MiB one fault serves all of them, and what is read first, some 16 MiB, lies in smaller ones.
    pub fn depends_on_size(&self, under: &Condition) -> bool {
        self.shares_faults(under) || self.maps() && under.writes_over()
    }

    /// It reaches of a block through a mapping what it looks at, and no more.
    pub fn is_in_place(&self) -> bool {
        let takes_blocks = matches!(self.word("use"), "get" | "copy" | "slice") || self.word("fault") == "syscall";
        self.spec().is_some_and(|it| it.in_place) && !takes_blocks
    }

    /// Whether it replays the accesses of several files, each of which it opens and closes within the pass.
    ///
    /// # Errors
    /// It does not, in a sentence.
    pub fn replays_several(&self) -> Result<(), String> {
        match self.spec().is_some_and(|it| it.replays_several) {
            true => Ok(()),
            false => Err(format!("{} replays the accesses of one file only", self.method)),
        }
    }

    /// It reads from the start of the file on, and no range that begins elsewhere.
    pub fn is_from_start(&self) -> bool {
        self.spec().is_some_and(|it| it.from_start)
    }

    /// Commands have none.
    fn spec(&self) -> Option<&'static MethodSpec> {
        RuntimeSpec::named(&self.runtime).and_then(|it| it.method(&self.method)).ok()
    }

    /// This arm without the options that act before the clock starts: arms that are equal in it execute the same code in
    /// the timed part of a pass.
    ///
    /// In `mapped` and `locked` a file is opened or mapped, advised and populated before the clock, and an untimed pass has
    /// brought every page into memory, and into the page table of what maps it. Advice and populating decide how pages come in, and no page comes in after that.
    pub fn at_work(&self, state: State) -> Arm {
        const BEFORE_THE_CLOCK: [&str; 3] = ["advice", "populate", "load"];
        if !state.is_held() {
            return self.clone();
        }
        let mut timed = self.options.clone();
        timed.retain(|option, _| !BEFORE_THE_CLOCK.contains(&option.as_str()));
        Arm::new(&self.runtime, &self.method, &timed).unwrap_or_else(|_| self.clone())
    }

    /// How many of its options are not at their defaults: of two arms the one with fewer is the plainer.
    pub fn options_set(&self) -> usize {
        let plain = Arm::new(&self.runtime, &self.method, &Options::new());
        plain.map_or(0, |plain| self.options.iter().filter(|(name, it)| plain.options.get(*name) != Some(it)).count())
    }

    /// The name as it may be typed: `mmap`, `jvm/mapped`.
    pub fn short_name(&self) -> &str {
        short(&self.name)
    }
}

/// A name without the runtime that need not be written, or that is the only one possible: `native`, `command`. Methods of
/// other runtimes are never shown without it.
pub fn short(name: &str) -> &str {
    ["native/", "command/"].iter().find_map(|runtime| name.strip_prefix(runtime)).unwrap_or(name)
}

impl FromStr for Arm {
    type Err = String;

    /// `[runtime/]method[+word|+option=value]…`: `mmap`, `native/mmap+sequential`, `uring+direct+queue_depth=64`.
    fn from_str(text: &str) -> Result<Arm, String> {
        let (runtime, rest) = text.split_once('/').unwrap_or((NATIVE.name, text));
        let mut parts = rest.split('+');
        let method = parts.next().unwrap_or_default();
        let spec = RuntimeSpec::named(runtime).and_then(|it| it.method(method)).ok();
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
    fn cold_random_reads_find_what_they_brought_in_unless_nothing_stays() {
        let finds = |arm: &str, state: State, workload: Workload| {
            let under = Condition { state, workload, ..Condition::plain(64 << 20) };
            arm.parse::<Arm>().unwrap().finds_its_pages(&under)
        };
        assert!(finds("mmap", State::Cold, Workload::Random) && finds("mmap", State::Cold, Workload::Replay));
        assert!(!finds("direct", State::Cold, Workload::Random));
        assert!(!finds("mmap", State::Cold, Workload::Scan) && !finds("mmap", State::Cached, Workload::Random));
    }

    #[test]
    fn an_arm_is_known_by_its_name_and_its_name_reads_back() {
        for name in [
            "native/read",
            "jvm/mapped",
            "jvm/mapped+get+jdk=17",
            "go/readat+procs=1",
            "go/mmap+copy+random+syscall",
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
    fn an_option_that_changes_nothing_for_a_workload_is_refused_there() {
        let fits = |arm: &str, workload| arm.parse::<Arm>().unwrap().fits(workload).is_ok();
        for (arm, reads, writes) in [
            ("mmap", true, true),
            ("mmap+per-block", false, true),
            ("mmap+random", true, false),
            ("mmap+populate-read", true, true),
            ("direct+o-dsync", false, true),
            ("uring+o-sync", false, true),
            ("uring+registered", true, true),
            ("mmap+window=whole", true, true),
        ] {
            assert_eq!((fits(arm, Workload::Scan), fits(arm, Workload::Overwrite)), (reads, writes), "{arm}");
        }
    }

    #[test]
    fn arms_of_every_runtime_that_go_around_the_page_cache_are_known() {
        let is_direct = |name: &str| name.parse::<Arm>().unwrap().is_direct();
        assert!(["direct", "uring+direct", "jvm/channel-odirect", "go/direct"].into_iter().all(is_direct));
        assert!(!["pread", "uring", "mmap", "jvm/channel-direct", "go/pread"].into_iter().any(is_direct));
        let maps = |name: &str| name.parse::<Arm>().unwrap().maps();
        assert!(
            ["mmap+random", "stdio-mmap", "jvm/mapped", "jvm/segment", "jvm/mapped-put", "go/mmap", "go/mmap-store"]
                .into_iter()
                .all(maps)
        );
        assert!(
            !["read", "stdio", "uring", "direct", "jvm/stream", "jvm/channel-odirect", "go/readat"]
                .into_iter()
                .any(maps)
        );
    }

    #[test]
    fn arms_that_look_at_bytes_where_they_are_mapped_are_known() {
        let in_place = |name: &str| name.parse::<Arm>().unwrap().is_in_place();
        for name in ["mmap", "mmap+random", "jvm/mapped", "jvm/segment", "go/mmap", "python/mmap+view", "python/memmap"]
        {
            assert!(in_place(name), "{name}");
        }
        for name in [
            "pread",
            "stdio-mmap",
            "jvm/mapped+get",
            "jvm/channel-heap",
            "go/mmap+copy",
            "go/mmap+fault=syscall",
            "python/mmap",
        ] {
            assert!(!in_place(name), "{name}");
        }
    }

    #[test]
    fn arms_that_read_a_file_from_its_start_alone_are_known() {
        let from_start = |name: &str| name.parse::<Arm>().unwrap().is_from_start();
        assert!(["jvm/reader-lines", "jvm/reader-lines+utf-8", "go/scanner"].into_iter().all(from_start));
        assert!(!["read", "stdio", "mmap", "jvm/stream", "jvm/mapped", "go/bufio"].into_iter().any(from_start));
    }

    #[test]
    fn advice_and_populating_make_no_other_arm_once_the_pages_are_mapped() {
        let at_work = |name: &str, state| name.parse::<Arm>().unwrap().at_work(state).name;
        for name in ["mmap+sequential", "mmap+random", "mmap+populate-read", "mmap+hugepage+map-populate"] {
            for state in [State::Mapped, State::Locked] {
                assert_eq!(at_work(name, state), "native/mmap");
            }
            for state in [State::Cold, State::Cached, State::Limited, State::AsIs] {
                assert_eq!(at_work(name, state), format!("native/{name}"));
            }
        }
        for advice in ["sequential", "random", "willneed"] {
            assert_eq!(at_work(&format!("pread+{advice}"), State::Locked), "native/pread");
            assert_eq!(at_work(&format!("read+{advice}"), State::Cached), format!("native/read+{advice}"));
        }
        assert_eq!(at_work("jvm/segment+random", State::Mapped), "jvm/segment");
        assert_eq!(at_work("go/mmap+copy+random+populate-read", State::Mapped), "go/mmap+copy");
        for other in
            ["native/mmap+private", "native/pread", "native/uring+queue_depth=4", "jvm/mapped+get", "go/mmap+syscall"]
        {
            assert_eq!(at_work(other, State::Mapped), other, "its options are part of the timed work");
        }
    }

    #[test]
    fn an_arm_is_plainer_the_fewer_options_it_has() {
        let set = |name: &str| name.parse::<Arm>().unwrap().options_set();
        assert_eq!(["mmap", "mmap+random", "uring+queue_depth=4+direct", "mmap+advice=normal"].map(set), [0, 1, 2, 0]);
    }

    #[test]
    fn wrong_arms_say_what_was_expected() {
        let error = |text: &str| text.parse::<Arm>().unwrap_err();
        assert!(error("nmap").contains("did you mean \"mmap\"?"), "{}", error("nmap"));
        assert!(error("mmap+sequentail").contains("sequentail"));
        assert!(error("mmap+advice=sequentail").contains("did you mean \"sequential\"?"));
        assert!(error("uring+queue_depth=0").contains("from 1 to 4096"));
        assert!(error("stdio+sequential").contains("takes no options"));
        assert!(error("pread+advice=hugepage").contains("willneed"));
        assert!(error("mmap+random+sequential").contains("twice"));
        assert!(error("jvn/mmap").contains("unknown runtime"));
        assert!(error("jvm/mmap").contains("unknown method"), "each runtime has methods of its own");
        assert!(error("go/read+buffered").contains("procs"), "and options: {}", error("go/read+buffered"));
        assert!(error("mapped").contains("unknown method"));
    }
}
