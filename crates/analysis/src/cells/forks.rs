//! Runtimes that compile while they run: whether the processes of one cell ran the same code, how fast their loops are by
//! themselves, and what else such a runtime was doing.
//!
//! Every pass is a process of its own, and how a method is compiled depends on what was executed before. So one process may
//! be slow throughout where others are fast. A median hides that and a mean blurs it; both groups are shown, fork by fork.
//! Such passes are recognised by a reading that only those runtimes have.

use std::collections::BTreeMap;

use schema::{
    caution::Caution,
    findings::{Fork, ForkSplit, RuntimeFinding},
    reason::Reason,
    runtime::JVM,
    warning::{ForkGroups, Warning},
};

use crate::{
    measured::{Cell, Pass, Run},
    stats::SortedValues,
    verdict::side,
};

/// The fastest of the last passes over the warm-up file; per block.
const WARM: &str = "warm_pass_ns_per_op";
const FIRST: &str = "first_pass_ns_per_op";
const LOOP: &str = "loop_bytes_per_s";

/// With fewer passes, two groups arise by chance.
const LEAST_FORKS: usize = 5;
/// Groups whose nearest members are this far apart are two.
const APART: f64 = 1.3;
/// … and no group may be wider than this share of what lies between them, on the logarithmic scale.
const COMPACT: f64 = 0.5;
/// A single slow pass may be interference. If its process was slower over the warm-up file too, by this factor and by the
/// root of the slowdown of the pass, the cause is its code: a busy machine slows the fastest of many passes far less.
const CONFIRMED: f64 = 1.15;

/// Of shorter passes in the mean a JVM's counters of milliseconds are no share.
const SHARED_NS: f64 = 10e6;

/// Every cell whose forks disagree, but for controls: what they are called is the arm.
pub(crate) fn splits(run: &Run) -> Vec<ForkSplit> {
    run.cells.iter().filter(|cell| !cell.entry.control).filter_map(|cell| split(run, cell)).collect()
}

/// Two groups of forks, if a cell has them.
pub(crate) fn split(run: &Run, cell: &Cell) -> Option<ForkSplit> {
    let timed: Vec<(&Pass, f64)> = cell.passes.iter().filter_map(|pass| Some((pass, pass.ns_per_op()?))).collect();
    if !timed.iter().any(|(pass, _)| pass.reading(WARM).is_some()) {
        return None;
    }
    let times_of: Vec<f64> = timed.iter().map(|(_, ns)| *ns).collect();
    let limit = gap(&times_of)?;
    let forks: Vec<Fork> = timed
        .iter()
        .map(|(pass, ns)| Fork {
            round: pass.round,
            ns_per_op: *ns,
            warm_pass_ns_per_op: pass.reading(WARM),
            loop_bytes_per_s: pass.reading(LOOP),
            slow: *ns > limit,
        })
        .collect();
    let of = |slow: bool, value: &dyn Fn(&Fork) -> Option<f64>| {
        SortedValues::new(forks.iter().filter(|fork| fork.slow == slow).filter_map(value).collect())
    };
    let middle = |slow| of(slow, &|it| Some(it.ns_per_op)).map(|it| it.median());
    let factor = middle(true)? / middle(false)?;
    // Python runs the same code in every process, and makes few passes over its warm-up file.
    let compiles = cell.arm().runtime == JVM.name;
    let in_code = match (of(false, &|it| it.warm_pass_ns_per_op), of(true, &|it| it.warm_pass_ns_per_op)) {
        (Some(fast), Some(slow)) => {
            let is_slower = slow.median() > factor.sqrt().max(CONFIRMED) * fast.median();
            compiles && is_slower && slow.quantile(0.0) > fast.quantile(1.0)
        }
        _ => false,
    };
    let slow = forks.iter().filter(|fork| fork.slow).count();
    if slow.min(forks.len() - slow) < 2 && !in_code {
        return None;
    }
    let (arm, label) = (run.name(cell.arm()).to_string(), run.label(cell.id.cell));
    let says = ForkGroups { arm, label, slow, forks: forks.len(), factor, in_code };
    Some(ForkSplit {
        id: cell.id,
        arm: cell.arm().name.clone(),
        condition: cell.condition.clone(),
        forks,
        factor,
        in_code,
        says,
    })
}

/// Where the two groups are parted, if there are two: nothing lies in the gap, and it is wide beside both of them.
fn gap(times: &[f64]) -> Option<f64> {
    let mut logs: Vec<f64> = times.iter().map(|ns| ns.ln()).collect();
    logs.sort_by(f64::total_cmp);
    let (first, last) = (*logs.first()?, *logs.last()?);
    let (below, above) = logs.windows(2).map(|it| (it[0], it[1])).max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))?;
    let wide = above - below;
    let compact = (below - first).max(last - above) <= COMPACT * wide;
    (logs.len() >= LEAST_FORKS && wide >= APART.ln() && compact).then(|| ((below + above) / 2.0).exp())
}

/// What a comparison has to say of a split side: a warning, and the reason why it is undecided where the groups would
/// decide it differently.
pub(crate) fn judge(run: &Run, baseline: &Cell, arm: &Cell) -> (Vec<Caution>, Option<Reason>) {
    let mut warnings = Vec::new();
    let mut undecided = None;
    for cell in [baseline, arm] {
        let Some(found) = split(run, cell) else { continue };
        let in_group = |slow: bool| {
            let rounds: Vec<u32> = found.forks.iter().filter(|it| it.slow == slow).map(|it| it.round).collect();
            let pairs = baseline.pairs(arm);
            let ratios = pairs.iter().filter(|(pass, _)| rounds.contains(&pass.round));
            SortedValues::new(ratios.filter_map(|(a, b)| Some(a.ns_per_op()? / b.ns_per_op()?)).collect())
                .map(|it| it.median())
        };
        warnings.push(Caution::ForksDisagree(found.says.clone()));
        if let (Some(fast), Some(slow)) = (in_group(false), in_group(true))
            && side(fast) != side(slow)
        {
            undecided = Some(Reason::DependsOnFork {
                arm: run.name(arm.arm()).to_string(),
                forks_of: run.name(cell.arm()).to_string(),
                beside_fast: fast,
                beside_slow: slow,
            });
        }
    }
    (warnings, undecided)
}

/// Arms by name and consume, over all their conditions, where runtimes stand beside each other.
pub(crate) fn runtimes(run: &Run) -> Vec<RuntimeFinding> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Cell>> = BTreeMap::new();
    for cell in &run.cells {
        let noticed = cell.passes.iter().any(|it| it.reading(LOOP).is_some() || it.reading(WARM).is_some());
        if noticed && !cell.entry.control {
            groups.entry((&cell.arm().name, cell.own.consume.word())).or_default().push(cell);
        }
    }
    groups.into_values().map(|cells| of_arm(&cells)).collect()
}

fn of_arm(cells: &[&Cell]) -> RuntimeFinding {
    /// In smaller blocks it is the call that is timed.
    const WHOLE_BLOCK: u64 = 4096;
    let largest = cells.iter().map(|it| it.own.block_bytes).max().unwrap_or(0).min(WHOLE_BLOCK);
    let passes = || cells.iter().flat_map(|it| &it.passes);
    let whole = cells.iter().filter(|it| it.own.block_bytes >= largest).flat_map(|it| &it.passes);
    let median = |values: Vec<f64>| SortedValues::new(values).map(|it| it.median());
    let total = |name: &str| {
        let values: Vec<f64> = passes().filter_map(|it| it.reading(name)).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    };
    // The counters of a JVM are of whole milliseconds, and count a compilation when it ends.
    let all_ns: f64 = passes().map(|it| it.ns).sum();
    let is_counted_finely = cells[0].arm().runtime != JVM.name || all_ns >= SHARED_NS * passes().count() as f64;
    let share = |name: &str| total(name).filter(|_| is_counted_finely).map(|ns: f64| ns / all_ns);
    let quiet: Vec<f64> = passes().filter_map(|it| it.reading("warm_up_quiet")).collect();
    let first = passes().filter_map(|it| Some(it.reading(FIRST)? / it.reading(WARM)?)).filter(|it| it.is_finite());
    RuntimeFinding {
        arm: cells[0].arm().name.clone(),
        cells: cells.iter().map(|it| it.id).collect(),
        consume: cells[0].own.consume,
        passes: passes().count() as u32,
        loop_bytes_per_s: median(whole.filter_map(|it| it.reading(LOOP)).collect()),
        first_pass: median(first.collect()),
        compile_share: share("compile_ns"),
        collections: total("collections"),
        collection_share: share("collection_ns"),
        not_quiet: (!quiet.is_empty()).then(|| quiet.iter().filter(|it| **it == 0.0).count() as u32),
    }
}

/// What the whole run should say of them.
pub(crate) fn warning(splits: &[ForkSplit]) -> Option<Warning> {
    let (first, more) = splits.split_first()?;
    Some(Warning::ForksDisagree { first: first.says.clone(), more: more.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_are_two_and_a_spread_is_none() {
        assert!((0.3..3.0).contains(&gap(&[0.22, 0.23, 0.22, 3.1, 0.21]).unwrap()));
        assert!((1.1..1.5).contains(&gap(&[1.0, 1.5, 1.01, 1.51, 1.02, 1.52]).unwrap()));
        assert_eq!(gap(&[0.22, 0.23, 3.1, 0.21]), None, "four tell nothing");
        assert_eq!(gap(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5]), None, "steps");
        assert_eq!(gap(&[1.0, 1.25, 1.01, 1.26, 1.0]), None, "too near");
        assert_eq!(gap(&[1.0, 1.9, 3.0, 9.0, 11.0]), None, "wide groups");
        assert_eq!(gap(&[]), None);
        assert_eq!(gap(&[2.0; 9]), None);
    }
}
