//! What the worker has in memory when its pass is over, from /proc/PID/smaps_rollup. Looked at once, after the pass: the
//! kernel walks the whole page table for it, which before a pass would bring that table into the caches.

use schema::record::Reading;

use super::{Probe, ProbeKind, twice::text};

/// A reading, and the fields of the file that it sums.
const SUMS: &[(&str, &[&str])] = &[
    ("memory_resident_bytes", &["Rss"]),
    ("memory_anonymous_bytes", &["Anonymous"]),
    ("memory_dirty_bytes", &["Shared_Dirty", "Private_Dirty"]),
    ("memory_locked_bytes", &["Locked"]),
    ("memory_huge_bytes", &["AnonHugePages", "ShmemPmdMapped", "FilePmdMapped"]),
];

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "smaps-rollup",
    about: "what the worker has in its page table after the pass, from /proc/PID/smaps_rollup",
    readings: &[SUMS[0].0, SUMS[1].0, SUMS[2].0, SUMS[3].0, SUMS[4].0],
    make: |_| Box::new(SmapsRollup),
};

struct SmapsRollup;

impl Probe for SmapsRollup {
    fn start(&mut self, _pid: u32) {}

    fn stop(&mut self, pid: u32) -> Vec<(&'static str, Reading<f64>)> {
        let text = text(&format!("/proc/{pid}/smaps_rollup"));
        let read = |&(name, fields): &(&'static str, &[&str])| {
            let sum = text.as_ref().map_err(String::clone).and_then(|text| sum(text, fields));
            (name, Reading::from(sum))
        };
        SUMS.iter().map(read).collect()
    }
}

fn sum(text: &str, fields: &[&str]) -> Result<f64, String> {
    let field = |name: &str| {
        let kib = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.strip_suffix("kB"));
        let kib: Option<u64> = kib.and_then(|it| it.trim().parse().ok());
        kib.map(|kib| kib as f64 * 1024.0).ok_or_else(|| format!("this kernel's smaps_rollup has no {name}"))
    };
    fields.iter().map(|name| field(name)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_kibibytes_and_are_summed_only_when_all_are_there() {
        let text = "561f-7ffd ---p 00000000 00:00 0    [rollup]\nRss:    1748 kB\nPss:  458 kB\n\
            Shared_Dirty:   4 kB\nPrivate_Dirty:     116 kB\n";
        assert_eq!(sum(text, &["Rss"]), Ok(1748.0 * 1024.0));
        assert_eq!(sum(text, &["Shared_Dirty", "Private_Dirty"]), Ok(120.0 * 1024.0));
        assert!(sum(text, &["Rss", "Locked"]).unwrap_err().contains("Locked"));
    }

    #[test]
    fn every_sum_is_a_reading() {
        assert!(SUMS.iter().map(|it| it.0).eq(KIND.readings.iter().copied()));
    }

    proptest! {
        #[test]
        fn other_texts_are_a_reason_and_never_a_panic(text in "(Rss: {0,3}[0-9]{0,25} kB\n|.{0,20}\n){0,4}") {
            for (_, fields) in SUMS {
                let _ = sum(&text, fields);
            }
        }
    }
}
