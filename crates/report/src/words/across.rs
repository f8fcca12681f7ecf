//! Why two runs are not comparable, and what is not the same about them.

use schema::{
    across::{Fact, FactSays, NotComparable},
    record::ReclaimScheme,
};

use super::numbers::{in_page_cache, size, thousands};

pub(crate) fn fact(of: Fact) -> &'static str {
    match of {
        Fact::Machine => "machine",
        Fact::Faultline => "faultline",
        Fact::Experiment => "experiment",
        Fact::EndedEarly => "ended early",
        Fact::Host => "host",
        Fact::Kernel => "kernel",
        Fact::Architecture => "architecture",
        Fact::Cpu => "CPU",
        Fact::Cpus => "CPUs",
        Fact::MemoryBytes => "memory, bytes",
        Fact::MemoryLimitBytes => "cgroup memory limit, bytes",
        Fact::Virtualisation => "virtualisation",
        Fact::Mitigations => "mitigations",
        Fact::PageBytes => "page size, bytes",
        Fact::TransparentHugepage => "transparent huge pages",
        Fact::FaultAroundBytes => "fault-around, bytes",
        Fact::Governor => "governor",
        Fact::CLibrary => "C library",
        Fact::Clocksource => "clock source",
        Fact::TickNs => "timer tick, ns",
        Fact::LruGen => "multi-generational LRU",
        Fact::ReclaimSchemes => "schemes that push pages out",
        Fact::Runtimes => "runtimes",
        Fact::Root => "root",
        Fact::Target => "target",
        Fact::TargetBytes => "target, bytes",
        Fact::Files => "files",
        Fact::Folder => "folder of the commands",
        Fact::FileSystem => "file system",
        Fact::Device => "device",
        Fact::ReadAheadBytes => "read-ahead, bytes",
    }
}

pub(crate) fn fact_says(of: &FactSays) -> String {
    match of {
        FactSays::NotKnown(reason) => format!("not known ({reason})"),
        FactSays::Schemes(schemes) if schemes.is_empty() => "none".into(),
        FactSays::Schemes(schemes) => schemes.iter().map(scheme).collect::<Vec<String>>().join("; "),
        FactSays::Files { count, named } => format!("{} of {}", thousands(*count), named.join(", ")),
        FactSays::Text(text) => text.clone(),
    }
}

/// `pageout after 120 s (kdamond.0), at most 1 MiB/s`
fn scheme(it: &ReclaimScheme) -> String {
    let quota = it.quota_bytes_per_s.map_or(String::new(), |rate| format!(", at most {}/s", size(rate)));
    format!("{} after {} s (kdamond.{}){quota}", it.action, it.idle_s, it.kdamond)
}

pub fn not_comparable(why: &NotComparable) -> String {
    let or_none = |words: &str| if words.is_empty() { "none".to_string() } else { words.to_string() };
    match why {
        NotComparable::NoSharedCell => "no cell has a time with an interval in both runs".into(),
        NotComparable::OneRun { run } => format!("both sides are the run {run}"),
        NotComparable::Subject { field, first, second } => {
            format!("{field} is not the same: {} in one run, {} in the other", or_none(first), or_none(second))
        }
        NotComparable::Found { pages } => {
            let [first, second] = pages.map(|it| in_page_cache(it.share()));
            format!("what state as-found begins with is not the same: {first} in one run, {second} in the other")
        }
        NotComparable::Command { arm } => format!("{arm} is not the same command in both runs"),
        NotComparable::Consumed { arm, bytes_per_block } => {
            let [first, second] = bytes_per_block.map(size);
            format!("{arm} consumed {first} of each block in one run and {second} in the other")
        }
        NotComparable::Output { arm } => format!("{arm} differs in output or exit code between the runs"),
        NotComparable::Bytes { arm, checksums: [first, second] } => {
            format!("{arm} read different bytes in the two runs: checksums {first} and {second}")
        }
    }
}
