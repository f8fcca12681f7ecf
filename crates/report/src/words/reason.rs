//! Why a cell has no number, or a comparison no verdict.

use schema::{
    Bytes, Consume, Durability,
    findings::Comparison,
    reason::{Difference, Inconsistent, Noisy, Reason, Rounds},
};

use crate::layout::number;

use super::{
    claim::{conclusion, in_conditions, not_in_run},
    metric::{name, one_added},
    no_cost::no_cost,
    numbers::{amount, amounts, apart, count, percent, size, sizes, thousands, times},
    unseen::unseen,
    warning::{forks_disagree, limited},
};

/// All of them in one sentence; `None` without any.
pub fn reasons(reasons: &[Reason]) -> Option<String> {
    (!reasons.is_empty()).then(|| reasons.iter().map(reason).collect::<Vec<String>>().join("; "))
}

/// Why a comparison has no verdict. One without a reason of its own has an interval that says neither.
pub(crate) fn why_open(it: &Comparison) -> String {
    it.reason.as_ref().map_or_else(|| "the interval crosses the margin".into(), reason)
}

pub fn reason(of: &Reason) -> String {
    match of {
        Reason::LostPasses { passes: 1, reason, .. } => reason.clone(),
        Reason::LostPasses { lost, passes, reason } => {
            format!("{lost} of {}: {reason}", count(*passes as u64, "pass", "passes"))
        }
        Reason::Inconsistent(what) => inconsistent(what),
        Reason::ForksDisagree { slow, forks, factor } => forks_disagree(*slow, *forks, *factor),
        Reason::SinglePass => "a single pass has no interval, so there is no number".into(),
        Reason::Skipped(skip) => skip.to_string(),
        Reason::EndedBefore { partial } => format!("the run ended before its first pass: {partial}"),
        Reason::NoPass => "no pass was made".into(),
        Reason::UnequalWork { arms, differences } => {
            differences.iter().map(|it| difference(arms, it)).collect::<Vec<String>>().join("; ")
        }
        Reason::NoValidPass { arm, reasons: why } => {
            format!("{arm} has no valid pass: {}", reasons(why).unwrap_or_default())
        }
        Reason::NoMeasurableTime => "no pass has a measurable time".into(),
        Reason::NoCommonRound => "both were measured, but never in the same round".into(),
        Reason::TooFewRounds { rounds, least } => {
            format!("only {}; at least {least} are needed to decide anything", rounds_made(*rounds))
        }
        Reason::AcrossTheMargin { ci_low, ci_high, margin, more_than } => {
            let reach = match () {
                () if *ci_low > 1.0 => "above 1, possibly by less than the margin of",
                () if *ci_high < 1.0 => "below 1, possibly by less than the margin of",
                () => "across the margin of",
            };
            let advice = more_than
                .map(|rounds| format!("; more than {rounds} rounds would make the interval smaller (--rounds)"));
            format!(
                "the speedup lies between {ci_low:.2} and {ci_high:.2}, {reach} {}{}",
                percent(*margin),
                advice.unwrap_or_default()
            )
        }
        Reason::DependsOnFork { arm, forks_of, beside_fast, beside_slow } => format!(
            "the result depends on the fork: {arm} is {} in forks where {forks_of} is fast, and {} in the others",
            direction(*beside_fast),
            direction(*beside_slow)
        ),
        Reason::WithinNoise { ratio, ci_low, ci_high, under, times: by } => format!(
            "the {} lies between {ci_low:.2} and {ci_high:.2}, not wholly beyond the noise floor: {} one arm measured \
             twice differs by up to {by:.2}x",
            if *ratio { "ratio" } else { "speedup" },
            under.iter().map(noisy).collect::<Vec<String>>().join(" and "),
        ),
        Reason::JobDoubts { blocks, rounds, job_blocks, job, pairs, least } => {
            let why = match pairs < least {
                true => format!("too few to decide anything (at least {least} are needed)"),
                false => format!("between {:.2} and {:.2}, which decides nothing", job.ci_low, job.ci_high),
            };
            format!(
                "passes of {} gave {}; at the size of the job, {} blocks, {} gave {}: {why}",
                count(*blocks, "block", "blocks"),
                rounds.map_or_else(|| "nothing".to_string(), times),
                thousands(*job_blocks),
                count((*pairs).into(), "pair", "pairs"),
                times(job.median)
            )
        }
        Reason::JobsDoubt { job } => format!(
            "at the size of the job the ratio lies between {:.2} and {:.2}, which contradicts that of the rounds",
            job.ci_low, job.ci_high
        ),
        Reason::OtherWork { share } => {
            format!("the machine was busy: {} of the deadlines stalled while nothing was at work", percent(*share))
        }
        Reason::JobOfOneCondition { label } => format!(
            "{label} is answered by passes at the size of the job, the other condition by passes of the rounds alone"
        ),
        Reason::FewWindows { covered_bytes, window_bytes, least } => format!(
            "a pass covered {}, and a read-ahead window is {}: fewer than {least} windows do not represent the whole \
             file (try a larger --budget)",
            amount(*covered_bytes),
            amount(*window_bytes)
        ),
        Reason::FewBlocks { blocks, job_blocks, writes } => {
            let (blocks_of_pass, job) = (thousands(*blocks), thousands(*job_blocks));
            let says = match writes {
                false => format!(
                    "a pass made {blocks_of_pass} random reads, and a whole job makes {job}: the more there are, the less each of \
                     them takes through a mapping"
                ),
                true => format!(
                    "a pass wrote {blocks_of_pass} blocks, and a whole job has {job}: what is read first lies in smaller folios, where \
                     stores through a mapping take longer"
                ),
            };
            match blocks < job_blocks {
                true => format!("{says} (try a larger --budget, or name their number with --ops)"),
                false => says,
            }
        }
        Reason::ThrottleExceeded { arm, limit, allowed_per_s, per_s } => format!(
            "the I/O throttle allows {}, and {arm} got {}: some comes free when a pass begins, and without it the answer \
             would be another one (try longer passes: more `ops`, or a larger --budget)",
            limited(*limit, *allowed_per_s),
            limited(*limit, *per_s)
        ),
        Reason::OtherFolios { pages_per_fault: [least, most] } => format!(
            "the file was found in other folios: a fault mapped {least:.0} pages of it in one run and {most:.0} in another, which \
             decides what a mapping costs (docs/FOLIOS.md)"
        ),
        Reason::OtherOwnWork { own_work_ns: [least, most] } => format!(
            "the replays have {} of the program's own work between their accesses in one run and {} in another, which is a part of \
             their passes",
            number::duration(*least as f64),
            number::duration(*most as f64)
        ),
        Reason::OtherSizes { first, second } => {
            format!("passes of {} against {}", first.join(", "), second.join(", "))
        }
        Reason::OtherBaselines { first, second } => format!("that is {first} in one run and {second} in another"),
        Reason::Unseen(why) => unseen(why),
        Reason::NotInRun(why) => not_in_run(why),
        Reason::NoCost(why) => no_cost(why),
        Reason::Conclusion(of) => conclusion(of),
        Reason::NoMetric { metric, reason: why } => format!("no {}: {}", name(*metric), reason(why)),
        Reason::NoneTaken { metric } => format!("no pass took any {}", name(*metric)),
        Reason::OneAdded { metric } => one_added(*metric),
        Reason::OfSums { metric, rounds } => format!(
            "single passes are too short for the kernel's ticks, so the {} of all {} together is compared",
            name(*metric),
            count(*rounds as u64, "round", "rounds")
        ),
        Reason::TooCoarse { metric, counted_ns, passes } => format!(
            "too coarse: the kernel's ticks counted {:.0} ms of {} in all {passes} passes together",
            counted_ns / 1e6,
            name(*metric)
        ),
        Reason::NoInterval => "what was measured has no interval".into(),
        Reason::NotFinite => "the number is not finite".into(),
        Reason::FaultsOfLargeFolios { pages_per_fault } => format!(
            "a fault maps {} pages here, so that the faults of a pass cannot be multiplied for more reads",
            thousands(pages_per_fault.round() as u64)
        ),
        Reason::NoBaseline => "the condition has no baseline".into(),
        Reason::IsBaseline => "the arm is the baseline itself".into(),
        Reason::NotMeasured { labels, reason: why } => {
            format!("not measured{}: {}", in_conditions(labels), reason(why))
        }
        Reason::NotTestable { labels, reason: why } => {
            format!("not testable here{}: {}", in_conditions(labels), reason(why))
        }
        Reason::In { labels, reason: why } => format!("{}: {}", in_conditions(labels).trim_start(), reason(why)),
        Reason::Of { of, reason: why } => format!("{of}: {}", reason(why)),
        Reason::Text(text) => text.clone(),
    }
}

fn noisy(Noisy { state, durability, throttled, beside }: &Noisy) -> String {
    let beside = if beside.is_nothing() { String::new() } else { format!(" beside a {beside}") };
    match (durability, throttled) {
        (Durability::None, false) => format!("in state {state}{beside}"),
        (Durability::None, true) => format!("in state {state}{beside}, throttled,"),
        (synced, _) => format!("in state {state}{beside}, {synced},"),
    }
}

fn rounds_made(rounds: u32) -> String {
    if rounds == 1 { "1 round".to_string() } else { format!("{rounds} rounds") }
}

/// `1.2x faster`, `1.3x slower`, for one end of an interval; `as fast` where the digits show no more.
pub(crate) fn direction(speedup: f64) -> String {
    beside(speedup, None)
}

/// The same of one arm beside another: `1.2x faster than read`, `as fast as read`.
pub(crate) fn beside(speedup: f64, other: Option<&str>) -> String {
    let (by, word) = if speedup >= 1.0 { (times(speedup), "faster") } else { (times(1.0 / speedup), "slower") };
    let (says, link) = match by == times(1.0) {
        true => ("as fast".to_string(), "as"),
        false => (format!("{by} {word}"), "than"),
    };
    other.map_or(says.clone(), |other| format!("{says} {link} {other}"))
}

pub(crate) fn inconsistent(what: &Inconsistent) -> String {
    match what {
        Inconsistent::Amounts { passes, bytes, ops } => {
            let [a, b] = match bytes[0] == bytes[1] {
                true => ops.map(|it| count(it, "block", "blocks")),
                false => apart(*bytes, amount),
            };
            format!("its {passes} passes were not the same work: one consumed {a}, another {b}")
        }
        Inconsistent::Parts { passes } => format!("its {passes} passes did not all reach the same part of the file"),
        Inconsistent::Bytes { passes, checksums: [a, b] } => {
            format!("its {passes} passes did not all read the same bytes (checksums {a} and {b})")
        }
        Inconsistent::Outputs { passes, checksums: [a, b] } => {
            format!(
                "it did not always print the same, or end with the same exit code, in {passes} executions (checksums {a} and {b})"
            )
        }
    }
}

fn difference([first, second]: &[String; 2], what: &Difference) -> String {
    let each = |[a, b]: [&dyn std::fmt::Display; 2]| format!("{first} {a}, {second} {b}");
    match what {
        Difference::Workloads { workloads: [a, b] } => format!("different workloads: {}", each([a, b])),
        Difference::Consumes { consumes: [a, b], user_ns_per_byte } => {
            let does = |name: &str, consume: &Consume| format!("{name} {consume} ({})", consume.about());
            let cost = user_ns_per_byte
                .map(|[a, b]| format!("; they spend {a:.2} and {b:.2} ns of user time on a byte"))
                .unwrap_or_default();
            format!("what happens to each byte differs: {}, {}{cost}", does(first, a), does(second, b))
        }
        Difference::States { states: [a, b] } => {
            format!("different states: the {first} arm starts {a}, the {second} arm {b}")
        }
        Difference::Durabilities { durabilities: [a, b] } => format!("the durability differs: {}", each([a, b])),
        Difference::Blocks { block_bytes: [a, b] } => {
            let [a, b] = sizes([*a, *b]);
            format!("different blocks: {}", each([&a, &b]))
        }
        Difference::Alignments { aligned } => {
            let name = if aligned[0] { first } else { second };
            format!("only the {name} arm's offsets are multiples of the block")
        }
        Difference::Files { file_bytes: [a, b] } => {
            let [a, b] = sizes([*a, *b]);
            format!("files of different sizes: {}", each([&a, &b]))
        }
        Difference::Storages => "the arms read from differently limited storage".into(),
        Difference::Memories { memory_bytes } => {
            let [a, b] = match *memory_bytes {
                [Some(a), Some(b)] => sizes([a, b]),
                other => other.map(|it| it.map_or_else(|| "no limit".into(), |it| Bytes(it).to_string())),
            };
            format!("different memory: {}", each([&a, &b]))
        }
        Difference::Amounts { bytes: [a, b], writes, rounds } => {
            let less = if a < b { first } else { second };
            let [part, whole] = amounts(*a.min(b), *a.max(b));
            format!("the {less} arm {} {part} of {whole}{}", did(*writes), in_rounds(*rounds))
        }
        Difference::Operations { ops, rounds } => {
            let [a, b] = ops.map(|ops| count(ops, "operation", "operations"));
            format!("the {first} arm made {a}, the {second} arm {b}{}", in_rounds(*rounds))
        }
        Difference::Reached { distinct_bytes: [a, b], bytes, writes, rounds } => {
            let (less, more) = if a < b { (first, second) } else { (second, first) };
            let [part, whole] = apart([*a.min(b), *a.max(b)], amount);
            format!(
                "the {less} arm reached {part} of the file where the {more} arm reached {whole}, although both {} {}{}",
                did(*writes),
                amount(*bytes),
                in_rounds(*rounds)
            )
        }
        Difference::Pages { pages, rounds } => {
            let [a, b] = pages.map(|pages| count(pages, "page", "pages"));
            format!("the {first} arm reached {a} of the file, the {second} arm {b}{}", in_rounds(*rounds))
        }
        Difference::Checksums { checksums: [a, b], writes, rounds } => format!(
            "different bytes: checksums {a} ({first}) and {b} ({second}) although the same amount was {}{}",
            if *writes { "written" } else { "read" },
            in_rounds(*rounds)
        ),
        Difference::Lines { lines: [a, b], rounds } => format!(
            "{first} found {}, and {second} {}, in as many bytes{}",
            count(*a, "line", "lines"),
            count(*b, "line", "lines"),
            in_rounds(*rounds)
        ),
        Difference::Outputs { rounds } => format!(
            "{first} and {second} differ in exit code or standard output{}; --anyway compares them",
            in_rounds(*rounds)
        ),
        Difference::Statuses { rounds } => {
            format!("{first} and {second} ended with other exit codes{}", in_rounds(*rounds))
        }
        Difference::Threads { threads, rounds } => {
            let [a, b] = threads.map(|threads| count(threads.into(), "thread", "threads"));
            format!("the {first} arm used {a}, the {second} arm {b}{}", in_rounds(*rounds))
        }
        Difference::Opened { opened } => {
            let opener = if opened[0] { first } else { second };
            format!("only the {opener} arm opened the file during its passes")
        }
        Difference::Changed { of, what } => {
            format!("{}: {}", if *of == 0 { first } else { second }, inconsistent(what))
        }
        Difference::FromDevice { device_bytes, covered_bytes, allocated_bytes } => {
            let had = from_device([first, second], *device_bytes, *covered_bytes);
            match allocated_bytes {
                None => format!("both should start cold: {had}"),
                Some(of) => {
                    let [allocated, whole] = of.map(|it| size(it as f64));
                    format!(
                        "{allocated} of the file's {whole} are allocated, so what came from the device does not show that \
                         both started cold: {had}"
                    )
                }
            }
        }
        Difference::OnDevice { device_bytes, covered_bytes, flushes } => {
            let side = |at: usize, name: &str| {
                let flushes = flushes[at].map(|it| format!(", {}", count(it.round() as u64, "flush", "flushes")));
                let device = device_bytes[at];
                let device = if device == 0.0 { "nothing".to_string() } else { size(device) };
                format!(
                    "of the {} that {name} covered {device} had reached the device{}",
                    size(covered_bytes[at]),
                    flushes.unwrap_or_default()
                )
            };
            format!("when its passes ended, {}; {}", side(0, first), side(1, second))
        }
    }
}

fn from_device(names: [&str; 2], device: [f64; 2], covered: [f64; 2]) -> String {
    let less = usize::from(device[0] / covered[0] >= device[1] / covered[1]);
    let (name, other) = (names[less], names[1 - less]);
    let had = match device[less] == 0.0 {
        true => format!("the {name} arm read nothing from the device, although it covered {}", size(covered[less])),
        false => {
            let [device, covered] = sizes([device[less], covered[less]].map(|it| it.round().max(0.0) as u64));
            format!("only {device} of the {covered} that the {name} arm covered came from the device")
        }
    };
    format!("{had}; the {other} arm had {}", size(device[1 - less]))
}

fn did(writes: bool) -> &'static str {
    if writes { "wrote" } else { "consumed" }
}

fn in_rounds(Rounds { differing, all }: Rounds) -> String {
    if differing == all { String::new() } else { format!(" (in {differing} of {all} rounds)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_by_less_than_the_digits_show_is_neither_faster_nor_slower() {
        let of = |speedup: f64| (direction(speedup), beside(speedup, Some("read")));
        let both = |one: &str, beside: &str| (one.to_string(), beside.to_string());
        assert_eq!(of(1.2), both("1.2x faster", "1.2x faster than read"));
        assert_eq!(of(1.0 / 1.06), both("1.06x slower", "1.06x slower than read"));
        for speedup in [1.0, 1.004, 1.0 / 1.004] {
            assert_eq!(of(speedup), both("as fast", "as fast as read"));
        }
        assert_eq!(of(1.0 / 1.006), both("1.01x slower", "1.01x slower than read"));
    }
}
