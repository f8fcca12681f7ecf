//! Which arms of a runtime stopped other threads, and what to call instead.

use schema::findings::{BeatLateness, StallArm, StallFinding, StallSays};

use super::{list, numbers::time};

/// So many arms beside the one that stops others for the longest are named.
const ALSO: usize = 2;

/// One sentence about a runtime.
pub(crate) fn stall(of: &StallFinding) -> String {
    let Some((first, rest)) = of.arms.split_first() else {
        return "nothing is said of it: its passes had too few deadlines, or the machine was busy".into();
    };
    let late = lateness(&first.late);
    let why = match of.says {
        StallSays::Nobody => return format!("no other thread stops: {late}, while {} reads", first.name),
        StallSays::OthersInMemory => " and would with its pages in memory",
        StallSays::OthersNoControl => ", for missing pages or for its computing",
        StallSays::Others | StallSays::Unknown => "",
    };
    let also: Vec<&str> = rest.iter().take(ALSO).map(|it| it.name.as_str()).collect();
    let also = match rest.len().saturating_sub(ALSO) {
        _ if also.is_empty() => String::new(),
        0 => format!(" (also {})", list(&also)),
        more => format!(" (also {} and {more} more)", also.join(", ")),
    };
    let instead = match &of.instead {
        Some(StallArm { name, late, .. }) => match late.p99_ns {
            Some(ns) => format!("take {name}: {}, the worst {}", time(ns), time(late.max_ns as f64)),
            None => format!("take {name}: the worst {}", time(late.max_ns as f64)),
        },
        None => "no other arm was measured that lets them go on".into(),
    };
    format!("other threads stop while {} reads{why}: {late}{also}; {instead}", first.name)
}

fn lateness(of: &BeatLateness) -> String {
    let worst = time(of.max_ns as f64);
    match of.p99_ns {
        Some(ns) => format!("99 of 100 deadlines at most {} late, the worst {worst}", time(ns)),
        None => format!("the worst of {} deadlines {worst} late", of.deadlines),
    }
}

#[cfg(test)]
mod tests {
    use schema::ConditionId;

    use super::*;

    #[test]
    fn a_runtime_has_the_arm_that_stops_others_how_long_and_what_to_take_instead() {
        let late = |p99: f64| BeatLateness {
            deadlines: 1000,
            wake_ups: 500,
            median_ns: Some(7e4),
            p99_ns: Some(p99),
            max_ns: 309_000_000,
            stalled_share: Some(0.5),
        };
        let arm = |name: &str, p99: f64| StallArm { cell: 0, name: name.into(), late: late(p99) };
        let of = |says: StallSays, arms: &[&str], instead: Option<&str>| {
            stall(&StallFinding {
                id: ConditionId { condition_index: 0, comparison_index: None },
                runtime: "python".into(),
                arms: arms.iter().map(|it| arm(it, 2.67e8)).collect(),
                instead: instead.map(|it| arm(it, 2.4e5)),
                says,
            })
        };
        let others = of(StallSays::Others, &["mmap", "memmap"], Some("preadv"));
        for part in ["mmap", "267 ms", "309 ms", "memmap", "preadv", "240 µs"] {
            assert!(others.contains(part), "{part} is not in {others}");
        }
        assert!(!others.contains("in memory"));
        assert!(of(StallSays::OthersInMemory, &["mmap"], None).contains("in memory"));
        assert!(of(StallSays::Others, &["a", "b", "c", "d", "e"], None).contains("2 more"));
        assert!(of(StallSays::Nobody, &["mmap"], None).contains("267 ms"));
        assert!(!of(StallSays::Unknown, &[], None).contains("ms"));
    }
}
