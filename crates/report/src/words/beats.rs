//! Who else stopped while an arm was at work.

use schema::{
    beats::{LEAST_PASSES, P99_DEADLINES},
    findings::{BeatFinding, BeatLateness, BeatSays},
};

use super::numbers::{percent, time};

/// One sentence about an arm under its condition.
pub fn beats(of: &BeatFinding) -> String {
    let late = lateness(&of.late);
    let apart = |it: &BeatLateness| format!("with its pages in memory {}", lateness(it));
    let control = of.control.as_ref().map(|it| apart(&it.late)).unwrap_or_default();
    match of.says {
        BeatSays::TooFewDeadlines => format!(
            "nothing is said of it: its passes had {} deadlines together, and {P99_DEADLINES} are needed",
            of.late.deadlines
        ),
        BeatSays::TooFewPasses => {
            format!("nothing is said of it: it had {} passes, and {LEAST_PASSES} are needed", of.passes)
        }
        BeatSays::Busy => format!(
            "nothing is said of it, because the machine was busy: {late}, and {} while nothing was at work",
            percent(of.busy_share)
        ),
        BeatSays::Nobody => format!("no other thread stopped: {late}"),
        BeatSays::Waiting => format!("others stopped while it waited for pages: {late}; {control}"),
        BeatSays::LongerThanInMemory => {
            format!("others stopped for longer while it waited for pages than without missing pages: {late}; {control}")
        }
        BeatSays::AsInMemory => {
            format!(
                "others stopped, and no longer for missing pages than without, as far as was shown: {late}; {control}"
            )
        }
        BeatSays::InMemory => {
            format!("others stopped although its pages are in memory, for its computing or for other work here: {late}")
        }
        BeatSays::NoControl => format!(
            "others stopped: {late}; whether that was for missing pages is seen by the same arm in state mapped, which was \
             not measured for long enough"
        ),
    }
}

fn lateness(of: &BeatLateness) -> String {
    let stalled = percent(of.stalled_share.unwrap_or(0.0));
    let tail = match of.p99_ns {
        Some(ns) => format!("99 of 100 deadlines were late by {} at most", time(ns)),
        None => format!("the latest of its deadlines was late by {}", time(of.max_ns as f64)),
    };
    format!("{tail}, {stalled} stalled")
}

#[cfg(test)]
mod tests {
    use schema::{CellId, Condition, ConditionId, findings::BeatControl};

    use super::*;

    #[test]
    fn what_stopped_others_is_said_beside_what_the_control_shows() {
        let late = |p99: f64, stalled: f64| BeatLateness {
            deadlines: 1000,
            wake_ups: 500,
            median_ns: Some(7e4),
            p99_ns: Some(p99),
            max_ns: 14_000_000,
            stalled_share: Some(stalled),
        };
        let id = CellId { condition: ConditionId { condition_index: 0, comparison_index: None }, cell: 0 };
        let control = BeatControl { id, condition: Condition::plain(1), passes: 5, late: late(3e5, 0.0) };
        let of = |says: BeatSays, control: Option<BeatControl>| {
            beats(&BeatFinding {
                id,
                arm: "python/mmap".into(),
                name: "python/mmap".into(),
                condition: Condition::plain(1),
                passes: 5,
                period_ns: 1_000_000,
                late: late(9.9e6, 0.56),
                idle: late(2e5, 0.0),
                busy_share: 0.0,
                control,
                curve: Vec::new(),
                says,
            })
        };
        let waiting = of(BeatSays::Waiting, Some(control.clone()));
        assert!(waiting.contains("9.9 ms") && waiting.contains("56 %") && waiting.contains("300 µs"), "{waiting}");
        assert!(of(BeatSays::NoControl, None).contains("state mapped"));
        let all = [BeatSays::LongerThanInMemory, BeatSays::AsInMemory, BeatSays::Nobody]
            .map(|it| of(it, Some(control.clone())));
        assert!(all.iter().all(|it| it.contains("9.9 ms")), "{all:?}");
        assert!(of(BeatSays::Busy, None).contains("machine"));
        assert!(!of(BeatSays::TooFewDeadlines, None).contains("9.9 ms"));
        assert!(!of(BeatSays::TooFewPasses, None).contains("9.9 ms"));
    }
}
