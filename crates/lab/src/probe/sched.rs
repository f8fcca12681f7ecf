//! How often the scheduler moved the worker to another processor, where its caches are cold; all its threads, from
//! /proc/PID/sched. Not from perf_event_open(2): an event that is attached to a process costs every one of its context
//! switches, which cold passes are full of (docs/METHODOLOGY.md, "Probes"). Counted passes have those events.

use super::{
    ProbeKind,
    schedstat::{of_threads, sum},
    twice::Twice,
};

const READINGS: &[&str] = &["migrations"];

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "sched",
    about: "migrations of the worker's threads from one processor to another, from /proc/PID/sched",
    readings: READINGS,
    make: |_| Box::new(Twice::new(READINGS, |before, after, _| sum(before, after, 0), look)),
};

fn look(pid: u32) -> Result<String, String> {
    of_threads(pid, "sched", "CONFIG_SCHED_DEBUG", migrations)
}

/// `se.nr_migrations                             :                    3`
fn migrations(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("se.nr_migrations"))?;
    line.trim_start().strip_prefix(':')?.trim().parse::<u64>().ok().map(|it| it.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn migrations_stand_behind_their_colon() {
        let text = "cat (5235, #threads: 1)\n---\nse.exec_start   :  37855.621301\nse.nr_migrations     :    3\nnr_switches : 9\n";
        assert_eq!(migrations(text).as_deref(), Some("3"));
        assert_eq!(migrations("nr_switches : 9\n"), None);
        assert_eq!(sum("7 3\n8 1\n", "7 4\n8 1\n", 0), Ok(1.0));
    }

    proptest! {
        #[test]
        fn other_texts_are_nothing_and_never_a_panic(text in "(se.nr_migrations *:? *[0-9]{0,25}\n|.{0,20}\n){0,4}") {
            let _ = migrations(&text);
        }
    }
}
