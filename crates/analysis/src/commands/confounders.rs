//! What else than reading differs between two commands. A switch that maps a file may also start threads, and then the
//! difference in time is not due to the mapping alone.

use schema::{
    Reading,
    findings::{Confounder, ConfounderKind},
    observation::Observation,
};

use crate::{
    measured::{Cell, Pass, Run},
    stats,
};

/// Threads at work differ by more than waiting explains: more than one of them, and by this factor.
const MORE_THAN_ONE: f64 = 1.1;
const THREADS: f64 = 1.2;

/// User times are the same within this factor. Reading itself moves some: caches miss in the kernel or in the program.
const USER_TIME: f64 = 1.1;

pub(crate) fn of(run: &Run, baseline: &Cell, arm: &Cell) -> Vec<Confounder> {
    let differs = |what, [other, own]: [f64; 2]| Confounder {
        versus: baseline.arm().name.clone(),
        versus_cell: baseline.id.cell,
        what,
        own,
        other,
    };
    let both = [baseline, arm];
    let found = [
        pair(both.map(threads_at_work))
            .filter(|[a, b]| a.max(*b) > MORE_THAN_ONE && a.max(*b) > THREADS * a.min(*b))
            .map(|it| differs(ConfounderKind::ThreadsAtWork, it)),
        user_time(baseline, arm).map(|it| differs(ConfounderKind::UserTime, it)),
        pair(both.map(|it| Some(observation(run, it)?.processes as f64)))
            .filter(|[a, b]| a != b)
            .map(|it| differs(ConfounderKind::Processes, it)),
        pair(both.map(|it| it.count("output_bytes")))
            .filter(|[a, b]| a != b)
            .map(|it| differs(ConfounderKind::OutputBytes, it)),
    ];
    found.into_iter().flatten().collect()
}

pub(crate) fn observation<'a>(run: &Run<'a>, cell: &Cell) -> Option<&'a Observation> {
    let of_arm = run.record.observations.iter().find(|it| it.arm == cell.arm().name)?;
    match &of_arm.seen {
        Reading::Value(seen) => Some(seen),
        Reading::Unavailable { .. } => None,
    }
}

fn pair([a, b]: [Option<f64>; 2]) -> Option<[f64; 2]> {
    Some([a?, b?])
}

fn threads_at_work(cell: &Cell) -> Option<f64> {
    let cpu = |pass: &Pass| Some(pass.reading("user_ns")? + pass.reading("system_ns")?);
    let cpu: f64 = cell.passes.iter().map(cpu).sum::<Option<f64>>()?;
    let wall: f64 = cell.passes.iter().map(|it| it.ns).sum();
    (wall > 0.0).then(|| cpu / wall)
}

/// That share of the median time of an execution, as wherever the parts of its time are said; where the two differ beyond what
/// counting ticks may get wrong.
fn user_time(baseline: &Cell, arm: &Cell) -> Option<[f64; 2]> {
    if [baseline, arm].iter().any(|it| it.why_undivided().is_some()) {
        return None;
    }
    let pairs: Vec<(f64, f64)> = baseline
        .pairs(arm)
        .into_iter()
        .filter_map(|(a, b)| Some((a.reading("user_ns")?, b.reading("user_ns")?)))
        .collect();
    let sums = pairs.iter().fold([0.0, 0.0], |sums, it| [sums[0] + it.0, sums[1] + it.1]);
    let doubt = sums.iter().map(|ns| arm.tick_ns / ns.max(arm.tick_ns)).sum();
    let ratio = stats::ratio_of_sums(&pairs, doubt)?;
    let apart = ratio.ci_low > USER_TIME || ratio.ci_high < 1.0 / USER_TIME;
    pair([baseline, arm].map(user_ns_of_median)).filter(|_| apart)
}

/// Of an execution of the median time: the share that user time has of all executions.
fn user_ns_of_median(cell: &Cell) -> Option<f64> {
    let times_ns = || cell.passes.iter().map(|it| it.ns);
    let user_ns = cell.passes.iter().map(|it| it.reading("user_ns")).sum::<Option<f64>>()?;
    Some(user_ns / times_ns().sum::<f64>() * stats::median_of_positive(times_ns())?.median)
}
