//! What the counts warn of: an advice that did nothing, reads that fetched far more than was used, folios that differ
//! between arms which should differ in nothing else.

use schema::{counted::Histogram, findings::CountedFinding, reason::Reason, record::Reading, warning::Warning};

use crate::measured::Run;

/// More than this many bytes read for each byte used.
const AMPLIFICATION: f64 = 4.0;

/// Counts closer than this are the same.
const SAME: f64 = 0.01;

pub(crate) fn of_counts(run: &Run, counted: &[CountedFinding]) -> Vec<Warning> {
    [amplified(run, counted), idle_advice(run, counted), other_folios(run, counted), lossy(run, counted)]
        .into_iter()
        .flatten()
        .collect()
}

fn cell<'a>(run: &'a Run, finding: &CountedFinding) -> Option<&'a schema::record::Cell> {
    run.record.cells.get(finding.cell)
}

fn amplified(run: &Run, counted: &[CountedFinding]) -> Option<Warning> {
    let value = |it: &CountedFinding| it.amplification.value().copied().filter(|&times| times > AMPLIFICATION);
    let (times, worst) = counted.iter().filter_map(|it| Some((value(it)?, it))).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let entry = cell(run, worst)?;
    Some(Warning::Amplified {
        arm: run.name(&entry.arm).to_string(),
        label: run.label(worst.cell),
        times,
        read_ahead: is_read_ahead(run, worst.cell, times),
    })
}

/// Whole pages come for what is smaller, and whole sectors around the page cache: only what is more than that was read ahead.
fn is_read_ahead(run: &Run, cell: usize, amplification: f64) -> bool {
    let counted = run.record.counted.iter().find(|it| it.cell == cell);
    let of_pages = counted.and_then(|it| {
        let pages = it.distinct_pages? as f64 * run.page_bytes() as f64;
        Some(pages / it.distinct_bytes.max(1) as f64)
    });
    let direct = run.record.cells.get(cell).is_none_or(|it| it.arm.is_direct());
    !direct && of_pages.is_some_and(|of_pages| amplification > AMPLIFICATION * of_pages)
}

/// An arm that differs from another of its condition in its advice alone, and did exactly the same.
fn idle_advice(run: &Run, counted: &[CountedFinding]) -> Option<Warning> {
    let mut idle = Vec::new();
    for it in counted {
        let Some(advised) = cell(run, it).filter(|it| !matches!(it.arm.word("advice"), "" | "normal" | "none")) else {
            continue;
        };
        let plain = counted.iter().find(|other| {
            cell(run, other).is_some_and(|other| {
                let mut options = advised.arm.options.clone();
                options.remove("advice");
                let mut others = other.arm.options.clone();
                others.remove("advice");
                let unadvised = matches!(other.arm.word("advice"), "" | "normal" | "none");
                other.condition == advised.condition
                    && other.own_condition == advised.own_condition
                    && other.arm.method == advised.arm.method
                    && other.arm.runtime == advised.arm.runtime
                    && unadvised
                    && options == others
            })
        });
        if plain.is_some_and(|plain| did_the_same(it, plain)) {
            idle.push((it.cell, advised));
        }
    }
    let &(at, first) = idle.first()?;
    let (arm, label) = (run.name(&first.arm).to_string(), run.label(at));
    Some(Warning::IdleAdvice { arm, label, more: idle.len() - 1 })
}

fn did_the_same(a: &CountedFinding, b: &CountedFinding) -> bool {
    let same = |a: &Reading<f64, Reason>, b: &Reading<f64, Reason>| match (a.value(), b.value()) {
        (Some(a), Some(b)) => Some((a - b).abs() <= SAME * a.abs().max(b.abs())),
        (None, None) => None,
        _ => Some(false),
    };
    // An advice costs a system call or two of its own; those are not what it is for.
    let seen = [same(&a.faults_per_mib, &b.faults_per_mib), same(&a.amplification, &b.amplification)];
    seen.iter().flatten().count() > 0 && seen.iter().flatten().all(|&it| it)
}

/// The size of folio that most of the added pages lie in.
fn usual_order(histogram: &Histogram) -> Option<u64> {
    let pages = |bin: &schema::counted::Bin| bin.events.saturating_mul(1 << bin.value.min(32));
    histogram.bins.iter().filter(|it| it.events > 0).max_by_key(|it| pages(it)).map(|it| it.value)
}

fn other_folios(run: &Run, counted: &[CountedFinding]) -> Option<Warning> {
    (0..run.record.conditions.len()).find_map(|condition| {
        let orders = counted.iter().filter_map(|it| {
            let entry = cell(run, it).filter(|it| it.condition == condition)?;
            Some((usual_order(it.folio_orders.value()?)?, entry))
        });
        let (least, most) = orders.fold((None, None), |(least, most): (Option<(u64, _)>, Option<(u64, _)>), it| {
            let least = least.filter(|least| least.0 <= it.0).or(Some(it));
            let most = most.filter(|most| most.0 >= it.0).or(Some(it));
            (least, most)
        });
        let ((small, small_entry), (large, large_entry)) = (least?, most?);
        (small < large).then(|| Warning::OtherFolios {
            label: run.labels.label(condition),
            small_arm: run.name(&small_entry.arm).to_string(),
            small_order: small,
            large_arm: run.name(&large_entry.arm).to_string(),
            large_order: large,
        })
    })
}

fn lossy(run: &Run, counted: &[CountedFinding]) -> Option<Warning> {
    let worst = counted.iter().max_by_key(|it| it.lost_events).filter(|it| it.lost_events > 0)?;
    let passes = counted.iter().filter(|it| it.lost_events > 0).count();
    let most_in = cell(run, worst).map(|it| run.name(&it.arm).to_string());
    Some(Warning::LostEvents { passes, all: counted.len(), most_in, lost: worst.lost_events })
}
