//! Everything that is observed around a pass, by name.

use std::collections::BTreeMap;

use schema::{
    State,
    protocol::{Done, Parts, Usage},
    record::Reading,
};

use super::{super::Bench, Work};
use crate::{
    link::Link,
    probe::{self, Probes},
    state::steady::Misses,
};

impl Bench<'_> {
    /// Everything that was observed around a pass.
    pub(super) fn readings(
        &self,
        probes: Probes,
        link: &Link,
        done: &mut Done,
        work: &Work,
    ) -> BTreeMap<String, Reading<f64>> {
        let mut readings = probes.stop(link.pid());
        if let Err(reason) = threads_are_those_of_the_pass(done) {
            readings.extend(probe::of_threads().map(|name| (name.into(), Reading::unavailable(reason))));
        }
        // Its read of `go` ends after the probes have looked.
        let own = done.own_reads.map_or([0, 0], |it| [it.calls, it.bytes]);
        let own = [own[0] + 1, own[1] + link.request_bytes()].map(|it| it as f64);
        for (name, own) in ["read_calls", "read_call_bytes"].into_iter().zip(own) {
            if let Some(Reading::Value(all)) = readings.get_mut(name) {
                *all = (*all - own).max(0.0);
            }
        }
        // Where the worker saw more than probes can, that holds.
        readings.append(&mut done.seen);
        readings.extend(work.kind.readings(self, work.condition));
        if work.condition.state == State::Limited
            && let Some(Reading::Value(bytes)) = readings.get("device_read_bytes")
        {
            let misses = Misses::of(work.arm, work.condition, done, *bytes);
            readings.extend(misses.readings(""));
        }
        // Unless the worker says why its numbers are not all of it.
        for (name, value) in usage_readings(&done.usage) {
            readings.entry(name).or_insert(value);
        }
        readings.extend(done.parts.iter().flat_map(part_readings));
        readings
    }
}

/// Threads are looked at before the pass and after `done`.
///
/// # Errors
/// What is summed over them is not what the pass did.
fn threads_are_those_of_the_pass(done: &Done) -> Result<(), &'static str> {
    match () {
        // A pass of several starts and ends all but one of them.
        () if done.tally.threads > 1 => Err("the threads of a pass have ended, and their counters with them"),
        () if done.beats.is_some() => {
            Err("the thread of the beat is among those of the worker, with its deadlines after the pass")
        }
        () => Ok(()),
    }
}

fn usage_readings(usage: &Usage) -> impl Iterator<Item = (String, Reading<f64>)> {
    Usage::READINGS.iter().zip(usage.values()).map(|(name, value)| (name.to_string(), Reading::Value(value as f64)))
}

fn part_readings(parts: &Parts) -> [(String, Reading<f64>); 4] {
    let named = [
        ("read_part_ns", parts.read_ns),
        ("loop_part_ns", parts.loop_ns),
        ("write_part_ns", parts.write_ns),
        ("clock_ns", parts.clock_ns),
    ];
    named.map(|(name, ns)| (name.to_string(), Reading::Value(ns as f64)))
}
