//! Probes observe a pass from outside, around `go`. The worker does not know which ones are watching.
//!
//! A new probe is one file here and one line in `PROBES`.

use std::collections::BTreeMap;

use schema::record::Reading;

use crate::Target;

mod disk;
mod proc_io;
mod proc_status;

/// Something observed around a pass.
pub trait Probe {
    /// Called while the worker waits for `go`.
    fn start(&mut self, pid: u32);

    /// Called while the worker waits after `done`; one reading for each of the probe's names.
    fn stop(&mut self, pid: u32) -> Vec<(&'static str, Reading<f64>)>;
}

/// An entry of the table.
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    /// Names of its readings, with their units at the end.
    pub readings: &'static [&'static str],
    pub make: fn(&Target) -> Box<dyn Probe>,
}

/// Every probe, in the order `faultline list probes` prints them. They are stopped in reverse order.
pub const PROBES: &[Kind] = &[proc_status::KIND, disk::KIND, proc_io::KIND];

/// What the worker itself reports of its process (getrusage(2)), under the same roof as the probes' readings.
pub const USAGE_READINGS: &[&str] =
    &["user_ns", "system_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches"];

/// The probes of one pass.
pub struct Probes(Vec<Box<dyn Probe>>);

impl Probes {
    pub fn start(target: &Target, pid: u32) -> Probes {
        let mut probes: Vec<Box<dyn Probe>> = PROBES.iter().map(|kind| (kind.make)(target)).collect();
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

/// The difference of two counters, or the reason why one of them is missing.
fn difference(before: &Result<u64, String>, after: &Result<u64, String>) -> Reading<f64> {
    match (before, after) {
        (Ok(before), Ok(after)) => Reading::Value(after.saturating_sub(*before) as f64),
        (Err(reason), _) | (_, Err(reason)) => Reading::unavailable(reason.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_probe_is_explained() {
        let mut names: Vec<&str> =
            PROBES.iter().flat_map(|kind| kind.readings).chain(USAGE_READINGS).copied().collect();
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
    fn a_missing_counter_is_a_reason_and_never_zero() {
        assert_eq!(difference(&Ok(3), &Ok(10)), Reading::Value(7.0));
        assert_eq!(difference(&Err("no permission".into()), &Ok(10)), Reading::unavailable("no permission"));
    }
}
