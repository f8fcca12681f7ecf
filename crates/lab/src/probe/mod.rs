//! Probes observe a pass from outside, around `go`. The worker does not depend on which probes are active.
//!
//! A new probe is one file here and one line in `PROBES`.

use std::collections::BTreeMap;

use schema::record::Reading;
use sys::device::Disk;

use crate::target::Target;

mod disk;
mod interrupts;
mod memory_group;
mod pressure;
mod proc_io;
mod proc_status;
mod sched;
mod schedstat;
mod smaps_rollup;
mod steal;
mod twice;
mod vmstat;

/// Something observed around a pass.
pub trait Probe {
    /// Called while the worker waits for `go`.
    fn start(&mut self, pid: u32);

    /// Called while the worker waits after `done`; one reading for each of the probe's names.
    fn stop(&mut self, pid: u32) -> Vec<(&'static str, Reading<f64>)>;
}

/// An entry of the table.
pub struct ProbeKind {
    pub name: &'static str,
    pub about: &'static str,
    /// Names of its readings, with their units at the end.
    pub readings: &'static [&'static str],
    pub make: fn(&Result<Disk, String>) -> Box<dyn Probe>,
}

/// Every probe, in the order `faultline list probes` prints them. They are stopped in reverse order, so that those of the
/// whole machine have the others between them and the pass, and those of the worker lie close around it.
pub const PROBES: &[ProbeKind] = &[
    smaps_rollup::KIND,
    memory_group::KIND,
    interrupts::KIND,
    pressure::KIND,
    vmstat::KIND,
    steal::KIND,
    proc_status::KIND,
    sched::KIND,
    schedstat::KIND,
    disk::KIND,
    proc_io::KIND,
];

/// What was read around a pass, if it could be.
pub fn value(readings: &BTreeMap<String, Reading<f64>>, name: &str) -> Option<f64> {
    readings.get(name)?.value().copied()
}

/// Readings that are summed over the worker's threads.
pub fn of_threads() -> impl Iterator<Item = &'static str> {
    [sched::KIND, schedstat::KIND].into_iter().flat_map(|kind| kind.readings).copied()
}

/// The probes of one pass.
pub struct Probes(Vec<Box<dyn Probe>>);

impl Probes {
    pub fn start(target: &Target, pid: u32) -> Probes {
        let mut probes: Vec<Box<dyn Probe>> = PROBES.iter().map(|kind| (kind.make)(&target.disk)).collect();
        for probe in &mut probes {
            probe.start(pid);
        }
        Probes(probes)
    }

    pub fn stop(mut self, pid: u32) -> BTreeMap<String, Reading<f64>> {
        let readings = self.0.iter_mut().rev().flat_map(|probe| probe.stop(pid));
        readings.map(|(name, reading)| (name.to_string(), reading)).collect()
    }
}

/// What a probe can see of this very process, and for the rest why not.
///
/// # Errors
/// It sees nothing at all: why, and what would change that.
pub fn try_out(kind: &ProbeKind, disk: &Result<Disk, String>) -> Result<String, String> {
    let pid = std::process::id();
    let mut probe = (kind.make)(disk);
    probe.start(pid);
    let readings = probe.stop(pid);
    let missing: Vec<(&str, &str)> = readings.iter().filter_map(|(name, it)| Some((*name, it.reason()?))).collect();
    let Some((_, first)) = missing.first() else { return Ok("yes".into()) };
    if missing.len() == readings.len() {
        return Err(first.to_string());
    }
    let names: Vec<&str> = missing.iter().map(|it| it.0).collect();
    Ok(format!("yes, without {}: {first}", names.join(", ")))
}

/// The difference of two counters, or the reason why one of them is missing.
fn difference(before: &Result<u64, String>, after: &Result<u64, String>) -> Reading<f64> {
    match (before, after) {
        (Ok(before), Ok(after)) => twice::rise(*before, *after).into(),
        (Err(reason), _) | (_, Err(reason)) => Reading::unavailable(reason.clone()),
    }
}

#[cfg(test)]
mod tests {
    use schema::protocol::Usage;

    use super::*;

    #[test]
    fn names_are_unique_and_every_probe_is_explained() {
        let mut names: Vec<&str> =
            PROBES.iter().flat_map(|kind| kind.readings).chain(&Usage::READINGS).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(
            PROBES
                .iter()
                .all(|kind| !kind.about.is_empty() && kind.name.chars().all(|it| it == '-' || it.is_ascii_lowercase()))
        );
    }

    #[test]
    fn every_reading_stands_in_the_formats() {
        let formats = include_str!("../../../../docs/FORMATS.md");
        for name in PROBES.iter().flat_map(|kind| kind.readings).chain(&Usage::READINGS) {
            assert!(formats.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn a_probe_gives_each_of_its_readings_once_also_of_a_process_that_is_gone() {
        let disk = crate::target::disk_of(&std::env::current_exe().unwrap());
        for pid in [std::process::id(), 1 << 30] {
            for kind in PROBES {
                let mut probe = (kind.make)(&disk);
                probe.start(pid);
                let mut names: Vec<&str> = probe.stop(pid).iter().map(|it| it.0).collect();
                let mut expected = kind.readings.to_vec();
                names.sort_unstable();
                expected.sort_unstable();
                assert_eq!(names, expected, "{}", kind.name);
            }
        }
    }

    #[test]
    fn a_missing_counter_is_a_reason_and_never_zero() {
        assert_eq!(difference(&Ok(3), &Ok(10)), Reading::Value(7.0));
        assert!(difference(&Ok(10), &Ok(3)).value().is_none(), "it went around, or began anew");
        assert_eq!(difference(&Err("no permission".into()), &Ok(10)), Reading::unavailable("no permission"));
    }
}
