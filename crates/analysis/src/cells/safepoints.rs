//! How long a runtime took until all its threads were stopped at a safepoint, while an arm was reading.
//!
//! A runtime waits until each thread that runs its code has stopped; a thread in a system call runs none and is not waited
//! for. A page fault is part of an instruction of that code, however long it takes. Which of the two an arm does follows
//! from what was counted: whether its bytes came through calls.

use schema::{
    ConditionId, distinct,
    findings::{SafepointDelay, SafepointFinding, SafepointTail, Safepoints, SafepointsOpen, SafepointsSeen},
};

use crate::{
    measured::{Cell, Run},
    stats::SortedValues,
    verdict::LEAST_PAIRS,
};

const ASKED: &str = "safepoints";
const MEDIAN: &str = "safepoint_median_ns";
const P99: &str = "safepoint_p99_ns";
const MAX: &str = "safepoint_max_ns";
const STOPPED: &str = "safepoint_stopped_ns";

/// The slowest of one hundred stops differs by chance between any two arms; from here on it is called a difference.
const APART: f64 = 3.0;

/// So many have a 99th of a hundred, even where passes are fewer than anything else is decided by.
const LEAST_SAFEPOINTS: u64 = 100;

/// Where arms were stopped while they worked; nothing elsewhere.
pub(crate) fn all(run: &Run) -> Option<Safepoints> {
    let mut cells: Vec<SafepointFinding> =
        run.cells.iter().filter(|cell| !cell.entry.control).filter_map(|cell| finding(run, cell)).collect();
    if cells.is_empty() {
        return None;
    }
    // Among themselves they are known by what they do not have in common.
    let words = |name: &str| -> Vec<String> { name.split('+').skip(1).map(str::to_string).collect() };
    let mut common = words(&cells[0].name);
    common.retain(|word| cells.iter().all(|it| words(&it.name).contains(word)));
    for cell in &mut cells {
        let parts = cell.name.split('+').enumerate();
        let kept = parts.filter(|(at, part)| *at == 0 || !common.iter().any(|word| word == part)).map(|(_, part)| part);
        cell.name = kept.collect::<Vec<&str>>().join("+");
    }
    let mut conditions: Vec<ConditionId> = cells.iter().map(|it| it.id.condition).collect();
    conditions.sort_unstable();
    conditions.dedup();
    let seen = conditions.into_iter().filter_map(|condition| {
        // An arm with a state, a block or a workload of its own is none to hold the others against.
        let as_asked = |it: &&SafepointFinding| run.cells[it.id.cell].entry.own_condition.is_none();
        let here: Vec<&SafepointFinding> =
            cells.iter().filter(|it| it.id.condition == condition).filter(as_asked).collect();
        of_condition(run.labels.label(condition.condition_index), &here)
    });
    let seen: Vec<SafepointsSeen> = seen.collect();
    Some(Safepoints { cells, seen, apart: APART })
}

fn finding(run: &Run, cell: &Cell) -> Option<SafepointFinding> {
    let of = |name: &str, value: fn(&SortedValues) -> f64| {
        SortedValues::new(cell.passes.iter().filter_map(|it| it.reading(name)).collect()).map(|it| value(&it))
    };
    let total = |name: &str| cell.passes.iter().filter_map(|it| it.reading(name)).sum::<f64>();
    let seen = || cell.passes.iter().filter(|it| it.reading(MEDIAN).is_some());
    let passes = seen().count() as u32;
    // Of passes of both kinds the longest delay is what all of them have.
    let p99_is = match seen().all(|it| it.reading(ASKED).is_some_and(|asked| asked >= 100.0)) {
        true => SafepointTail::NinetyNine,
        false => SafepointTail::Longest,
    };
    let stopped_of: f64 = cell.passes.iter().filter(|it| it.reading(STOPPED).is_some()).map(|it| it.ns).sum();
    Some(SafepointFinding {
        id: cell.id,
        arm: cell.arm().name.clone(),
        name: run.name(cell.arm()).to_string(),
        condition: cell.own.clone(),
        passes,
        asked: total(ASKED) as u64,
        median_ns: of(MEDIAN, SortedValues::median)?,
        p99_ns: of(if p99_is == SafepointTail::NinetyNine { P99 } else { MAX }, SortedValues::median)?,
        p99_is,
        max_ns: of(MAX, |it| it.quantile(1.0))?,
        stopped_share: (stopped_of > 0.0).then(|| total(STOPPED) / stopped_of),
        through_calls: through_calls(cell),
    })
}

/// Whether the arm's bytes came through calls; unknown where calls were not counted.
fn through_calls(cell: &Cell) -> Option<bool> {
    let bytes = cell.median_of(|tally| tally.bytes)?;
    Some(cell.count("read_call_bytes")? >= bytes / 2.0)
}

/// Those that fault beside those that call.
fn of_condition(label: String, here: &[&SafepointFinding]) -> Option<SafepointsSeen> {
    let of = |calls: bool| -> Vec<&SafepointFinding> {
        here.iter().filter(|it| it.through_calls == Some(calls)).copied().collect()
    };
    let (calling, faulting) = (of(true), of(false));
    let most =
        |of: &[&SafepointFinding], value: fn(&SafepointFinding) -> f64| of.iter().map(|it| value(it)).reduce(f64::max);
    // Where some had too few for a 99th of a hundred, the longest of each are of one kind.
    let kinds = distinct(here.iter().filter(|it| it.through_calls.is_some()).map(|it| it.p99_is));
    let tail: fn(&SafepointFinding) -> f64 = if kinds.len() > 1 { |it| it.max_ns } else { |it| it.p99_ns };
    let [late_call, late_fault] = [most(&calling, tail)?, most(&faulting, tail)?];
    let [max_call, max_fault] = [most(&calling, |it| it.max_ns)?, most(&faulting, |it| it.max_ns)?];
    let delays = |of: &[&SafepointFinding]| {
        let delay =
            |it: &&SafepointFinding| SafepointDelay { name: it.name.clone(), p99_ns: it.p99_ns, p99_is: it.p99_is };
        of.iter().map(delay).collect::<Vec<_>>()
    };
    let is_apart = late_fault > APART * late_call;
    let too_few = |it: &&SafepointFinding| it.passes < LEAST_PAIRS && it.asked < LEAST_SAFEPOINTS;
    let open = if calling.iter().chain(&faulting).any(too_few) {
        Some(SafepointsOpen::TooFew { least_passes: LEAST_PAIRS, least_safepoints: LEAST_SAFEPOINTS })
    } else {
        let are_in_memory = faulting.iter().all(|it| it.condition.state.is_filled());
        (is_apart && are_in_memory).then_some(SafepointsOpen::InMemory)
    };
    Some(SafepointsSeen {
        label,
        calls: delays(&calling),
        faults: delays(&faulting),
        max_call_ns: max_call,
        max_fault_ns: max_fault,
        held_up: is_apart && open.is_none(),
        open,
    })
}
