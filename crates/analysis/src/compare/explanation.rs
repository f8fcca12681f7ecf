//! Why: the counts that differ most between two arms. They report and never conclude; whether they account for the time
//! is another question.

use schema::{
    State,
    explanation::{Count, Explanation},
};

use crate::{
    measured::{Cell, Run},
    stats::SortedValues,
};

/// Counts that differ by less than this factor explain nothing.
const ALIKE: f64 = 1.25;

/// Fewer bytes than these are brought in by any start of a pass.
const LEAST_CALL_BYTES: f64 = 65_536.0;

/// How many of the differences are reported.
const SHOWN: usize = 3;

pub(crate) fn explanation(run: &Run, baseline: &Cell, arm: &Cell) -> Option<Explanation> {
    let [a, b] = [baseline, arm].map(|cell| ArmCounts::of(run, cell));
    let arms = [baseline, arm].map(|cell| run.name(cell.arm()).to_string());
    let mut facts: Vec<(usize, &Fact, f64)> =
        FACTS.iter().enumerate().filter_map(|(place, fact)| Some((place, fact, (fact.contrast)(&a, &b)?))).collect();
    facts.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let cold = a.cold || b.cold;
    let from_device = facts.iter().any(|(_, fact, _)| fact.of_device);
    let differing = facts.iter().take_while(|(_, _, contrast)| *contrast > ALIKE.ln()).count();
    if differing == 0 && !(cold && from_device) {
        // Two shares of time that are this close may be several times apart.
        let of_arm = facts.iter().filter_map(|(_, fact, _)| (fact.count)(&a));
        let counts: Vec<Count> = of_arm.filter(|it| !matches!(it, Count::SystemShare(_))).take(SHOWN).collect();
        return (!counts.is_empty()).then_some(Explanation::Alike { arms, counts });
    }
    let shown = differing.min(SHOWN);
    // What came from the device belongs to every cold reason, differing or not.
    let mut at = 0;
    facts.retain(|(_, fact, _)| {
        at += 1;
        at <= shown || (cold && fact.of_device)
    });
    facts.sort_by_key(|&(place, _, _)| place);
    let counts = [a, b].map(|it| facts.iter().filter_map(|(_, fact, _)| (fact.count)(&it)).collect());
    Some(Explanation::Counts { arms, counts })
}

/// What was counted of an arm, per pass.
struct ArmCounts {
    calls: Option<f64>,
    call_bytes: Option<f64>,
    minor_faults: Option<f64>,
    major_faults: Option<f64>,
    device_bytes: Option<f64>,
    /// Of workloads that write.
    write_calls: Option<f64>,
    to_device_bytes: Option<f64>,
    flushes: Option<f64>,
    system_share: Option<f64>,
    /// How many samples of "user or system?" the kernel took, all passes together.
    ticks: f64,
    distinct_bytes: f64,
    /// In bytes; absent where the pages were not counted.
    reached_pages: Option<f64>,
    /// Each page is reached by one fault, one after the other: what all of them brought is what was reached.
    in_order_by_faults: bool,
    ceiling_share: Option<f64>,
    cold: bool,
}

impl ArmCounts {
    fn of(run: &Run, cell: &Cell) -> ArmCounts {
        let mean = |name| cell.reading(name, SortedValues::mean).value().copied();
        let writes = cell.own.workload.writes();
        let cpu = mean("system_ns").zip(mean("user_ns"));
        let system_share = cpu.filter(|_| cell.why_no_parts().is_none()).map(|(system, user)| system / (system + user));
        let in_order = cell.arm().maps() && cell.own.workload.is_ascending();
        ArmCounts {
            calls: cell.count("read_calls"),
            call_bytes: cell.count("read_call_bytes"),
            minor_faults: cell.count("minor_faults"),
            major_faults: cell.count("major_faults"),
            device_bytes: cell.count("device_read_bytes"),
            write_calls: cell.count("write_calls").filter(|_| writes),
            to_device_bytes: cell.count("disk_write_bytes").filter(|_| writes),
            flushes: cell.count("disk_flushes").filter(|_| writes),
            system_share: system_share.filter(|share| share.is_finite()),
            ticks: cpu.map_or(0.0, |(system, user)| (system + user) * cell.passes.len() as f64 / cell.tick_ns),
            distinct_bytes: cell.distinct_bytes().unwrap_or(0.0),
            reached_pages: cell.distinct_pages().map(|pages| pages * run.page_bytes() as f64),
            in_order_by_faults: in_order && cell.why_no_faults_of_pages().is_none(),
            ceiling_share: cell.ceiling_share(run),
            cold: cell.own.state == State::Cold && cell.own.reads_what_it_covers(),
        }
    }
}

/// A kind of count: how much two arms differ in it (0: not at all; `None`: not counted, or too few to matter), and what
/// it is of one arm.
struct Fact {
    of_device: bool,
    contrast: fn(&ArmCounts, &ArmCounts) -> Option<f64>,
    count: fn(&ArmCounts) -> Option<Count>,
}

/// In the order in which they are reported.
const FACTS: &[Fact] = &[
    Fact {
        of_device: false,
        // As many calls may bring in many times as much: of a library with a buffer.
        contrast: |a, b| {
            let bytes = a.call_bytes.zip(b.call_bytes).and_then(|(a, b)| contrast(a, b, LEAST_CALL_BYTES));
            contrast(a.calls?, b.calls?, 8.0).into_iter().chain(bytes).reduce(f64::max)
        },
        count: calls,
    },
    Fact {
        of_device: false,
        contrast: |a, b| contrast(a.write_calls?, b.write_calls?, 8.0),
        count: |counts| Some(Count::WriteCalls(counts.write_calls?)),
    },
    Fact {
        of_device: false,
        contrast: |a, b| contrast(a.to_device_bytes?, b.to_device_bytes?, 4096.0),
        count: |counts| Some(Count::ToDevice { bytes: counts.to_device_bytes? }),
    },
    Fact {
        of_device: false,
        contrast: |a, b| contrast(a.flushes?, b.flushes?, 2.0),
        count: |counts| Some(Count::Flushes(counts.flushes?)),
    },
    Fact { of_device: false, contrast: |a, b| contrast(a.minor_faults?, b.minor_faults?, 8.0), count: minor_faults },
    Fact {
        of_device: false,
        contrast: |a, b| contrast(a.major_faults?, b.major_faults?, 4.0),
        count: |counts| Some(Count::MajorFaults(counts.major_faults?)),
    },
    Fact {
        of_device: true,
        contrast: |a, b| {
            let least = 0.01 * a.distinct_bytes.max(b.distinct_bytes).max(1.0);
            contrast(a.device_bytes?, b.device_bytes?, least)
                .filter(|_| a.cold || b.cold || a.device_bytes != b.device_bytes)
        },
        count: from_device,
    },
    Fact {
        of_device: false,
        // A share from 30 to 60 % weighs as much as a count that doubles, if the ticks can resolve the difference.
        contrast: |a, b| {
            let difference = (a.system_share? - b.system_share?).abs();
            let error = (0.25 / a.ticks + 0.25 / b.ticks).sqrt();
            (difference > 2.0 * error).then_some(difference * 2.3)
        },
        count: |counts| Some(Count::SystemShare(counts.system_share?)),
    },
];

/// The logarithm of how many times one count is the other; `None` when both are below `least`.
fn contrast(a: f64, b: f64, least: f64) -> Option<f64> {
    (a.max(b) >= least).then(|| ((a.max(0.0) + 1.0) / (b.max(0.0) + 1.0)).ln().abs())
}

fn calls(counts: &ArmCounts) -> Option<Count> {
    Some(Count::ReadCalls { calls: counts.calls?, bytes: counts.call_bytes })
}

fn minor_faults(counts: &ArmCounts) -> Option<Count> {
    let faults = counts.minor_faults?;
    // Where bytes were reached by faults and not by calls, the bytes per fault explain the time.
    let by_faults = counts.in_order_by_faults && faults >= 8.0 && counts.calls.is_some_and(|calls| calls < faults);
    // Pages that came from the device were major faults.
    let all = faults + counts.major_faults.unwrap_or(0.0);
    let bytes_each = counts.reached_pages.filter(|_| by_faults).map(|bytes| bytes / all);
    Some(Count::MinorFaults { faults, bytes_each })
}

fn from_device(counts: &ArmCounts) -> Option<Count> {
    let bytes = counts.device_bytes?;
    // In whole pages, which is the least that can come.
    let times_reached =
        Some(bytes / counts.reached_pages.unwrap_or(counts.distinct_bytes)).filter(|it| it.is_finite() && *it > 1.5);
    Some(Count::FromDevice { bytes, times_reached, ceiling_share: counts.ceiling_share })
}
