//! Events of the worker that the kernel counts for it, with its threads and children: perf_event_open(2). Nothing is
//! recorded; a software event that happens adds one to a number, and the processor's own cost nothing.

use schema::record::Reading;
use sys::perf::{Counter, Event};

use super::{Kind, Probe};

const EVENTS: &[(&str, Event)] = &[
    ("perf_minor_faults", Event::MinorFaults),
    ("perf_major_faults", Event::MajorFaults),
    ("perf_context_switches", Event::ContextSwitches),
    ("perf_migrations", Event::Migrations),
    ("perf_cycles", Event::Cycles),
    ("perf_instructions", Event::Instructions),
    ("perf_data_tlb_misses", Event::DataTlbMisses),
];

pub(super) const KIND: Kind = Kind {
    name: "perf",
    about: "faults, context switches, migrations and, where the processor counts them, cycles, instructions and TLB misses of \
        the worker, from perf_event_open(2)",
    readings: &[EVENTS[0].0, EVENTS[1].0, EVENTS[2].0, EVENTS[3].0, EVENTS[4].0, EVENTS[5].0, EVENTS[6].0],
    make: |_| Box::new(Perf(Vec::new())),
};

/// For each event, a counter for each thread that there was at the start.
struct Perf(Vec<Result<Vec<Counter>, String>>);

impl Probe for Perf {
    fn start(&mut self, pid: u32) {
        let threads = threads(pid);
        let counters = |event: Event| -> Result<Vec<Counter>, String> {
            threads.as_ref().map_err(String::clone)?.iter().map(|&thread| Counter::of(event, thread)).collect()
        };
        self.0 = EVENTS.iter().map(|it| counters(it.1)).collect();
        self.each(Counter::enable);
    }

    fn stop(&mut self, _pid: u32) -> Vec<(&'static str, Reading<f64>)> {
        self.each(Counter::disable);
        let sum = |counters: Result<Vec<Counter>, String>| -> Result<f64, String> {
            counters?.iter_mut().map(|it| it.read().map(|count| count as f64)).sum()
        };
        let counters = std::mem::take(&mut self.0);
        EVENTS.iter().zip(counters).map(|(it, counters)| (it.0, Reading::from(sum(counters)))).collect()
    }
}

impl Perf {
    /// What refuses is unavailable from then on.
    fn each(&mut self, what: fn(&mut Counter) -> Result<(), String>) {
        for counters in &mut self.0 {
            if let Err(reason) = counters.as_mut().map_or(Ok(()), |all| all.iter_mut().try_for_each(what)) {
                *counters = Err(reason);
            }
        }
    }
}

fn threads(pid: u32) -> Result<Vec<u32>, String> {
    let folder = format!("/proc/{pid}/task");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{folder}: {error}"))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_a_reading() {
        assert!(EVENTS.iter().map(|it| it.0).eq(KIND.readings.iter().copied()));
    }

    #[test]
    fn a_process_that_is_gone_has_reasons_for_all_of_them() {
        let mut perf = Perf(Vec::new());
        // Beyond any process number (PID_MAX_LIMIT is 2²²).
        perf.start(1 << 30);
        let readings = perf.stop(1 << 30);
        assert_eq!(readings.len(), EVENTS.len());
        assert!(readings.iter().all(|(_, it)| it.reason().is_some()), "{readings:?}");
    }
}
