//! Which arms of a runtime stopped other threads, and what to call instead.

use schema::findings::{BeatLateness, StallFinding, StallSays};

use super::{list, numbers::time};

/// So many arms beside the one that stops others for the longest are named.
const ALSO: usize = 2;

/// What the arms of a finding are called, in its order.
pub(crate) struct StallNames {
    pub(crate) arms: Vec<StallSetting>,
    pub(crate) instead: Option<StallSetting>,
    /// Every arm of the runtime that was measured there.
    pub(crate) measured: Vec<(String, BeatLateness)>,
}

pub(crate) struct StallSetting {
    pub(crate) name: String,
    /// Without what stopped all threads meanwhile: that is there to measure.
    pub(crate) chosen: String,
    /// The call, in brackets, where it is not what the arm is called.
    pub(crate) called: String,
    /// What did: `stops`, `safepoints`.
    pub(crate) beside: Option<String>,
    /// It waits for pages at a fault, and in no call.
    pub(crate) faults: bool,
}

/// One sentence about a runtime.
pub(crate) fn stall(of: &StallFinding, names: &StallNames) -> String {
    let (Some(first), Some((longest, rest))) = (of.arms.first(), names.arms.split_first()) else {
        return "nothing is said of it: an arm had too few passes or deadlines, or the machine was busy".into();
    };
    let late = lateness(&first.late);
    let why = match of.says {
        StallSays::Nobody | StallSays::NobodyInMemory => {
            let worst = names.measured.iter().map(|it| it.1.max_ns).max().unwrap_or(first.late.max_ns);
            let worst = time(worst as f64);
            let each = names.measured.iter().map(|(name, late)| format!("{} beside {name}", tail(late)));
            let each: Vec<String> = each.collect();
            let found = format!("1 of 100 deadlines is late by over {}; the worst by {worst}", each.join(", "));
            return match of.says {
                StallSays::NobodyInMemory => format!(
                    "no other thread stops while pages are in memory; of missing pages nothing is known: \
                     {found}"
                ),
                _ => format!("no other thread stops: {found}"),
            };
        }
        StallSays::OthersAsInMemory => ", for its computing: with its pages in memory they stop as long",
        StallSays::OthersInMemory => " pages that are in memory, for its computing or for other work here",
        StallSays::OthersNoControl => ", for missing pages or for its computing",
        StallSays::Others => cause(&of.runtime, longest).unwrap_or_default(),
        StallSays::Unknown => "",
    };
    let also = rest.iter().zip(of.arms.iter().skip(1)).take(ALSO);
    let is_known = of.says == StallSays::Others;
    let own =
        |it: &StallSetting| cause(&of.runtime, it).filter(|own| is_known && Some(*own) != cause(&of.runtime, longest));
    let also =
        also.map(|(it, of)| format!("{}{}: 1 of 100 over {}", it.name, own(it).unwrap_or_default(), tail(&of.late)));
    let also: Vec<String> = also.collect();
    let also: Vec<&str> = also.iter().map(String::as_str).collect();
    let also = match rest.len().saturating_sub(ALSO) {
        _ if also.is_empty() => String::new(),
        0 => format!(" (also {})", list(&also)),
        more => format!(" (also {} and {more} more)", also.join(", ")),
    };
    let instead = match of.instead.as_ref().zip(names.instead.as_ref()) {
        Some((it, StallSetting { chosen, called, beside, .. })) => {
            let worst = time(it.late.max_ns as f64);
            let tail = it.late.p99_ns.map_or(String::new(), |ns| format!("1 of 100 over {}, ", time(ns)));
            let beside = match (beside, &longest.beside) {
                (Some(it), _) => format!(", with {it} as well"),
                (None, Some(it)) => format!(", measured without {it}"),
                (None, None) => String::new(),
            };
            format!("take {chosen}{called}: {tail}the worst {worst}{beside}")
        }
        None => "no other arm was shown to let them go on".into(),
    };
    format!("other threads stop while {} reads{why}: {late}{also}; {instead}", longest.name)
}

/// Why a thread that waits for a page stops others, by the rules of its runtime (docs/STALLS.md has the sources).
fn cause(runtime: &str, arm: &StallSetting) -> Option<&'static str> {
    match (runtime, arm.faults, arm.beside.is_some()) {
        ("python", true, _) => Some(", because it holds the GIL until the page is there"),
        ("jvm", true, true) => Some(", because a safepoint, here one each millisecond, waits until the page is there"),
        ("go", true, true) => {
            Some(", because stopping the world, here each millisecond, waits until the page is there")
        }
        ("go", true, false) => Some(", because it keeps its P until the page is there"),
        _ => None,
    }
}

fn tail(of: &BeatLateness) -> String {
    time(of.p99_ns.unwrap_or(of.max_ns as f64))
}

fn lateness(of: &BeatLateness) -> String {
    let worst = time(of.max_ns as f64);
    match of.p99_ns {
        Some(ns) => format!("1 of 100 deadlines is over {} late, the worst {worst}", time(ns)),
        None => format!("the worst of {} deadlines {worst} late", of.deadlines),
    }
}

#[cfg(test)]
mod tests {
    use schema::{ConditionId, findings::StallArm};

    use super::*;

    fn setting(name: &str) -> StallSetting {
        let beside = name.split('+').find(|it| *it == "stops").map(str::to_string);
        let chosen = name.replace("+stops", "");
        StallSetting { name: name.into(), chosen, called: String::new(), beside, faults: name.contains("mmap") }
    }

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
        let of = |runtime: &str, says: StallSays, arms: &[&str], instead: Option<&str>| {
            let finding = StallFinding {
                id: ConditionId { condition_index: 0, comparison_index: None },
                runtime: runtime.into(),
                arms: arms.iter().map(|it| arm(it, 2.67e8)).collect(),
                instead: instead.map(|it| arm(it, 2.4e5)),
                says,
            };
            let arms = arms.iter().map(|it| setting(it)).collect();
            stall(
                &finding,
                &StallNames { arms, instead: instead.map(setting), measured: vec![("mmap".into(), late(2.67e8))] },
            )
        };
        let others = of("python", StallSays::Others, &["mmap", "memmap"], Some("preadv"));
        for part in ["mmap", "GIL", "267 ms", "309 ms", "memmap", "preadv", "240 µs"] {
            assert!(others.contains(part), "{part} is not in {others}");
        }
        assert!(!others.contains("in memory"));
        let go = of("go", StallSays::Others, &["go/mmap+stops+procs=2"], Some("go/readat+stops+procs=2"));
        assert!(go.contains("world") && go.contains("take go/readat+procs=2:"), "{go}");
        assert!(!of("go", StallSays::Others, &["go/readat+procs=1"], None).contains("because"));
        for says in [StallSays::OthersInMemory, StallSays::OthersAsInMemory, StallSays::NobodyInMemory] {
            let said = of("python", says, &["mmap"], None);
            assert!(said.contains("in memory") && said.contains("267 ms") && !said.contains("GIL"), "{said}");
        }
        assert!(of("python", StallSays::Others, &["a", "b", "c", "d", "e"], None).contains("2 more"));
        assert!(of("python", StallSays::Nobody, &["mmap"], None).contains("267 ms"));
        // The one with the longest tail has not the worst deadline.
        let quiet = StallFinding {
            id: ConditionId { condition_index: 0, comparison_index: None },
            runtime: "native".into(),
            arms: vec![StallArm { late: BeatLateness { max_ns: 3_800_000, ..late(364e3) }, ..arm("pread", 364e3) }],
            instead: None,
            says: StallSays::Nobody,
        };
        let worse = BeatLateness { max_ns: 60_000_000, ..late(195e3) };
        let measured = vec![("pread".into(), quiet.arms[0].late), ("mmap".into(), worse)];
        let said = stall(&quiet, &StallNames { arms: vec![setting("pread")], instead: None, measured });
        assert!(said.contains("worst by 60.0 ms") || said.contains("worst by 60 ms"), "{said}");
        assert!(of("go", StallSays::Others, &["go/mmap+stops"], Some("go/readat")).contains("without stops"));
        assert!(!of("python", StallSays::Unknown, &[], None).contains("ms"));
    }
}
