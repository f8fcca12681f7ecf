//! Why: one sentence of counted numbers, about what differs most between two arms. It reports, it never concludes;
//! whether the counts account for the time is another question.

use schema::State;

use crate::{
    measured::{Cell, Run},
    stats::SortedValues,
    words::{count, percent, rough_size, size, times},
};

/// Counts that differ by less than this factor explain nothing.
const ALIKE: f64 = 1.25;

/// How many of the differences are reported.
const SHOWN: usize = 3;

pub(crate) fn explanation(run: &Run, baseline: &Cell, arm: &Cell) -> Option<String> {
    let [a, b] = [baseline, arm].map(|cell| ArmCounts::of(run, cell));
    let [first, second] = [baseline, arm].map(|cell| run.name(cell.arm()));
    let mut facts: Vec<(usize, &Fact, f64)> =
        FACTS.iter().enumerate().filter_map(|(place, fact)| Some((place, fact, (fact.contrast)(&a, &b)?))).collect();
    facts.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let cold = a.cold || b.cold;
    let from_device = facts.iter().any(|(_, fact, _)| fact.of_device);
    let differing = facts.iter().take_while(|(_, _, contrast)| *contrast > ALIKE.ln()).count();
    if differing == 0 && !(cold && from_device) {
        let clauses: Vec<String> = facts.iter().take(SHOWN).filter_map(|(_, fact, _)| (fact.says)(&a)).collect();
        return (!clauses.is_empty())
            .then(|| format!("the counts of {first} and {second} hardly differ: {}", clauses.join(", ")));
    }
    let shown = differing.min(SHOWN);
    // What came from the device belongs to every cold reason, differing or not.
    let mut at = 0;
    facts.retain(|(_, fact, _)| {
        at += 1;
        at <= shown || (cold && fact.of_device)
    });
    facts.sort_by_key(|&(place, _, _)| place);
    let clauses =
        |counts: &ArmCounts| -> Vec<String> { facts.iter().filter_map(|(_, fact, _)| (fact.says)(counts)).collect() };
    Some(format!("{first}: {}; {second}: {}", clauses(&a).join(", "), clauses(&b).join(", ")))
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
    /// Pages are reached by faults, one after the other: what all of them brought is what was reached.
    in_order_by_faults: bool,
    ceiling_share: Option<f64>,
    cold: bool,
}

impl ArmCounts {
    fn of(run: &Run, cell: &Cell) -> ArmCounts {
        let mean = |name| cell.reading(name, SortedValues::mean).value().copied();
        let writes = cell.own.workload.writes();
        let cpu = mean("system_ns").zip(mean("user_ns"));
        let system_share = cpu.map(|(system, user)| system / (system + user));
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
            in_order_by_faults: cell.arm().maps() && cell.own.workload.is_ascending(),
            ceiling_share: cell.ceiling_share(run),
            cold: cell.own.state == State::Cold && !writes,
        }
    }
}

/// A kind of count: how much two arms differ in it (0: not at all; `None`: not counted, or too few to matter), and how
/// one arm's is said.
struct Fact {
    of_device: bool,
    contrast: fn(&ArmCounts, &ArmCounts) -> Option<f64>,
    says: fn(&ArmCounts) -> Option<String>,
}

/// In the order in which they are reported.
const FACTS: &[Fact] = &[
    Fact { of_device: false, contrast: |a, b| contrast(a.calls?, b.calls?, 8.0), says: says_calls },
    Fact {
        of_device: false,
        contrast: |a, b| contrast(a.write_calls?, b.write_calls?, 8.0),
        says: |counts| Some(whole(counts.write_calls?, "write call", "write calls")),
    },
    Fact {
        of_device: false,
        contrast: |a, b| contrast(a.to_device_bytes?, b.to_device_bytes?, 4096.0),
        says: |counts| {
            let bytes = counts.to_device_bytes?;
            Some(if bytes > 0.0 { format!("{} to the device", size(bytes)) } else { "nothing to the device".into() })
        },
    },
    Fact {
        of_device: false,
        contrast: |a, b| contrast(a.flushes?, b.flushes?, 2.0),
        says: |counts| Some(whole(counts.flushes?, "flush", "flushes")),
    },
    Fact {
        of_device: false,
        contrast: |a, b| contrast(a.minor_faults?, b.minor_faults?, 8.0),
        says: says_minor_faults,
    },
    Fact {
        of_device: false,
        contrast: |a, b| contrast(a.major_faults?, b.major_faults?, 4.0),
        says: |counts| Some(whole(counts.major_faults?, "major fault", "major faults")),
    },
    Fact {
        of_device: true,
        contrast: |a, b| {
            let least = 0.01 * a.distinct_bytes.max(b.distinct_bytes).max(1.0);
            contrast(a.device_bytes?, b.device_bytes?, least)
                .filter(|_| a.cold || b.cold || a.device_bytes != b.device_bytes)
        },
        says: says_device_bytes,
    },
    Fact {
        of_device: false,
        // A share from 30 to 60 % weighs as much as a count that doubles, if the ticks can resolve the difference.
        contrast: |a, b| {
            let difference = (a.system_share? - b.system_share?).abs();
            let error = (0.25 / a.ticks + 0.25 / b.ticks).sqrt();
            (difference > 2.0 * error).then_some(difference * 2.3)
        },
        says: |counts| Some(format!("{} of its CPU time in the system", percent(counts.system_share?))),
    },
];

/// The logarithm of how many times one count is the other; `None` when both are below `least`.
fn contrast(a: f64, b: f64, least: f64) -> Option<f64> {
    (a.max(b) >= least).then(|| ((a.max(0.0) + 1.0) / (b.max(0.0) + 1.0)).ln().abs())
}

fn whole(number: f64, one: &str, many: &str) -> String {
    count(number.round().max(0.0) as u64, one, many)
}

fn says_calls(counts: &ArmCounts) -> Option<String> {
    let calls = counts.calls?;
    let made = whole(calls, "read call", "read calls");
    Some(match counts.call_bytes {
        // Roughly: the counter holds the odd message to the process too.
        Some(bytes) if calls >= 0.5 => format!("{made} for {}", rough_size(bytes)),
        _ => made,
    })
}

fn says_minor_faults(counts: &ArmCounts) -> Option<String> {
    let faults = counts.minor_faults?;
    let took = whole(faults, "minor fault", "minor faults");
    // Where bytes were reached by faults and not by calls, the bytes per fault explain the time.
    let by_faults = counts.in_order_by_faults && faults >= 8.0 && counts.calls.is_some_and(|calls| calls < faults);
    // Pages that came from the device were major faults.
    let all = faults + counts.major_faults.unwrap_or(0.0);
    Some(match counts.reached_pages.filter(|_| by_faults) {
        Some(bytes) => format!("{took} of {}", rough_size(bytes / all)),
        None => took,
    })
}

fn says_device_bytes(counts: &ArmCounts) -> Option<String> {
    let bytes = counts.device_bytes?;
    if bytes <= 0.0 {
        return Some("nothing from the device".to_string());
    }
    let mut remarks = Vec::new();
    let amplification = bytes / counts.distinct_bytes;
    if amplification.is_finite() && amplification > 1.5 {
        remarks.push(format!("{} what it reached", times(amplification)));
    }
    if let Some(share) = counts.ceiling_share {
        remarks.push(format!("at {} of the ceiling", percent(share)));
    }
    let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) };
    Some(format!("{} from the device{remarks}", size(bytes)))
}
