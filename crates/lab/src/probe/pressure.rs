//! How long some tasks, or all, of this machine were stalled on the disk, on memory, on a CPU: pressure
//! stall information. The totals are brought up to date whenever they are read (psi_show in kernel/sched/psi.c).

use super::{
    ProbeKind,
    twice::{Twice, rise, text},
};

/// Resource, some or full, and the unit.
const READINGS: &[&str] = &[
    "pressure_io_some_ns",
    "pressure_io_full_ns",
    "pressure_memory_some_ns",
    "pressure_memory_full_ns",
    "pressure_cpu_some_ns",
];

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "pressure",
    about: "time in which some task, or all, waited for disk, memory or a processor, whole machine, from /proc/pressure",
    readings: READINGS,
    make: |_| Box::new(Twice::new(READINGS, between, |_| look())),
};

/// All lines, each behind its resource: `io some avg10=0.59 avg60=0.78 avg300=1.77 total=1537692254`.
fn look() -> Result<String, String> {
    let mut all = String::new();
    for resource in ["io", "memory", "cpu"] {
        let lines = text(&format!("/proc/pressure/{resource}"))
            .map_err(|reason| format!("{reason}; it needs a kernel with CONFIG_PSI, booted with psi=1"))?;
        lines.lines().for_each(|line| all.extend([resource, " ", line, "\n"]));
    }
    Ok(all)
}

fn between(before: &str, after: &str, reading: &str) -> Result<f64, String> {
    let total = |text| total_us(text, reading).ok_or_else(|| "the kernel does not report it here".to_string());
    Ok(rise(total(before)?, total(after)?)? * 1e3)
}

fn total_us(text: &str, reading: &str) -> Option<u64> {
    let (resource, kind) = reading.strip_prefix("pressure_")?.strip_suffix("_ns")?.split_once('_')?;
    let line = text.lines().find_map(|line| line.strip_prefix(resource)?.strip_prefix(' ')?.strip_prefix(kind))?;
    line.split(' ').find_map(|word| word.strip_prefix("total=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "io some avg10=0.59 avg60=0.78 avg300=1.77 total=1500\n\
        io full avg10=0.45 avg60=0.68 avg300=1.63 total=1100\ncpu some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";

    #[test]
    fn totals_are_microseconds_and_stand_behind_their_resource() {
        let later = TEXT.replace("total=1500", "total=1502");
        assert_eq!(between(TEXT, &later, "pressure_io_some_ns"), Ok(2000.0));
        assert_eq!(between(TEXT, &later, "pressure_io_full_ns"), Ok(0.0));
        assert!(between(TEXT, &later, "pressure_memory_some_ns").is_err());
    }

    #[test]
    fn every_reading_is_one_that_a_whole_text_has() {
        let all = ["io", "memory", "cpu"].map(|it| format!("{it} some x total=1\n{it} full x total=1\n")).concat();
        assert!(READINGS.iter().all(|reading| total_us(&all, reading) == Some(1)));
    }

    proptest! {
        #[test]
        fn other_texts_are_a_reason_and_never_a_panic(text in "(io (some|full) total=[0-9]{0,25}\n|.{0,20}\n){0,4}") {
            for reading in READINGS {
                let _ = between(&text, TEXT, reading);
            }
        }
    }
}
