//! Which runtime's arms stopped other threads, for how long, and what to call instead.

use std::cmp::Ordering;

use schema::{
    Arm, ConditionId, Record, distinct,
    findings::{BeatFinding, BeatSays, StallArm, StallFinding, StallSays},
    runtime::MEANWHILE,
};

use crate::cells::beats::{APART, IN_MEMORY};

/// One for each runtime with beats, in the order of its first arm. All are of one condition where they were measured under it:
/// lateness depends on what a missing page takes.
pub(crate) fn all(record: &Record, beats: &[BeatFinding]) -> Vec<StallFinding> {
    let runtime = |it: &BeatFinding| &record.cells[it.id.cell].arm.runtime;
    // An arm with a state, a block or a workload of its own was not measured under the condition.
    let beats: Vec<&BeatFinding> = beats.iter().filter(|it| record.cells[it.id.cell].own_condition.is_none()).collect();
    let runtimes = distinct(beats.iter().map(|it| runtime(it)));
    let of_all = latest(beats.iter().copied());
    let of = |name: &String| {
        let own: Vec<&BeatFinding> = beats.iter().copied().filter(|it| runtime(it) == name).collect();
        let there = own.iter().find(|it| Some(it.id.condition) == of_all).map(|it| it.id.condition);
        let id = there.or_else(|| latest(own.iter().copied())).or(own.first().map(|it| it.id.condition))?;
        let measured: Vec<&BeatFinding> = own.into_iter().filter(|it| it.id.condition == id).collect();
        Some(finding(record, id, name, measured))
    };
    runtimes.into_iter().filter_map(of).collect()
}

/// The condition under which something is said of the latest deadlines: one under which pages may be missing, if there is one.
fn latest<'b>(beats: impl Iterator<Item = &'b BeatFinding>) -> Option<ConditionId> {
    let known = beats.filter(|it| is_known(it.says));
    known.min_by(|a, b| is_in_memory(a).cmp(&is_in_memory(b)).then_with(|| shorter(b, a))).map(|it| it.id.condition)
}

fn is_in_memory(of: &BeatFinding) -> bool {
    IN_MEMORY.contains(&of.condition.state)
}

fn finding(record: &Record, id: ConditionId, runtime: &str, mut measured: Vec<&BeatFinding>) -> StallFinding {
    measured.sort_by(|a, b| shorter(b, a));
    let stopping: Vec<&BeatFinding> = measured.iter().copied().filter(|it| is_stopping(it.says)).collect();
    let quiet: Vec<&BeatFinding> = measured.iter().copied().filter(|it| it.says == BeatSays::Nobody).collect();
    let (says, arms) = match (&stopping[..], &quiet[..]) {
        ([], []) => (StallSays::Unknown, Vec::new()),
        // What is not known of an arm may be worse than what is known of others.
        ([], _) if quiet.len() < measured.len() => (StallSays::Unknown, Vec::new()),
        ([], [longest, ..]) if is_in_memory(longest) => (StallSays::NobodyInMemory, vec![*longest]),
        ([], [longest, ..]) => (StallSays::Nobody, vec![*longest]),
        ([longest, ..], _) => {
            // What waits for pages, what computes and what is not known are three matters, and the first is asked about.
            let waits = |it: &BeatFinding| matches!(it.says, BeatSays::Waiting | BeatSays::LongerThanInMemory);
            let computes = |it: &BeatFinding| matches!(it.says, BeatSays::AsInMemory | BeatSays::InMemory);
            let (says, is): (StallSays, &dyn Fn(&BeatFinding) -> bool) = match () {
                () if stopping.iter().any(|it| waits(it)) => (StallSays::Others, &waits),
                () if is_in_memory(longest) => (StallSays::OthersInMemory, &computes),
                () if computes(longest) => (StallSays::OthersAsInMemory, &computes),
                () => (StallSays::OthersNoControl, &|it| it.says == BeatSays::NoControl),
            };
            (says, stopping.iter().copied().filter(|it| is(it)).collect())
        }
    };
    let arm = |it: &BeatFinding| &record.cells[it.id.cell].arm;
    let is_one_that_stops = |it: &BeatFinding| arms.iter().any(|other| is_same_call(arm(it), arm(other)));
    let others = || quiet.iter().rev().copied().filter(|it| !is_one_that_stops(it));
    let much_shorter = || {
        let [longest, .., shortest] = &arms[..] else { return None };
        (tail(longest) > APART * tail(shortest) && !is_same_call(arm(longest), arm(shortest))).then_some(*shortest)
    };
    // What else stopped threads meanwhile should be the same, or the two are not to be held against each other.
    let is_elsewhere =
        |it: &BeatFinding| arms.first().is_none_or(|first| arm(it).meanwhile() != arm(first).meanwhile());
    let instead = others().min_by_key(|it| (arm(it).maps(), is_elsewhere(it))).or_else(much_shorter);
    let shown = |it: &BeatFinding| StallArm { cell: it.id.cell, name: it.name.clone(), late: it.late };
    let has_none = matches!(says, StallSays::Unknown | StallSays::Nobody | StallSays::NobodyInMemory);
    StallFinding {
        id,
        runtime: runtime.into(),
        instead: instead.filter(|_| !has_none).map(shown),
        arms: arms.into_iter().map(shown).collect(),
        says,
    }
}

fn is_stopping(says: BeatSays) -> bool {
    match says {
        BeatSays::Waiting
        | BeatSays::LongerThanInMemory
        | BeatSays::AsInMemory
        | BeatSays::InMemory
        | BeatSays::NoControl => true,
        BeatSays::Busy | BeatSays::TooFewDeadlines | BeatSays::TooFewPasses | BeatSays::Nobody => false,
    }
}

fn is_known(says: BeatSays) -> bool {
    is_stopping(says) || says == BeatSays::Nobody
}

/// By what 99 of 100 deadlines were late at most.
fn shorter(a: &BeatFinding, b: &BeatFinding) -> Ordering {
    tail(a).total_cmp(&tail(b))
}

fn tail(of: &BeatFinding) -> f64 {
    of.late.p99_ns.unwrap_or(of.late.max_ns as f64)
}

/// Whether both do the same, whatever else stops threads meanwhile.
fn is_same_call(a: &Arm, b: &Arm) -> bool {
    let options = |it: &Arm| {
        let mut options = it.options.clone();
        options.remove(MEANWHILE);
        options
    };
    a.method == b.method && options(a) == options(b)
}
