//! Published numbers beside ours, in the published units: once as published, once corrected.

use schema::{
    Reading,
    experiment::{Figure, Metric, Unit, Variant},
    findings::{AnswerOf, Estimate, FigureFinding, Verdict},
    inspection::fault_pages,
    reason::{NotInRun, Reason, Unseen},
    replaced::replaced,
};

use super::fills::made_for;
use crate::{
    cells::metric,
    compare::compare,
    measured::{Cell, Pass, Run},
    stats,
};

const MIB: f64 = 1_048_576.0;

pub(crate) fn all(run: &Run) -> Vec<FigureFinding> {
    let figures = run.record.experiment.figures.iter();
    let side = |figure: &Figure, variant, arm: &Option<String>| {
        let cell = cell(run, figure, variant, arm.as_deref());
        let id = cell.as_ref().ok().map(|it| it.id);
        let found = match cell.and_then(|it| estimate(run, figure, variant, it)) {
            Ok(estimate) => Reading::Value(estimate),
            Err(unavailable) => Reading::Unavailable { unavailable },
        };
        (found, id)
    };
    figures
        .map(|figure| {
            let (as_published, as_published_id) = side(figure, Variant::AsPublished, &figure.as_published);
            let (corrected, corrected_id) = side(figure, Variant::Corrected, &figure.corrected);
            let (says, unit, published) = (figure.says.clone(), figure.unit, figure.published);
            FigureFinding { says, unit, published, as_published, as_published_id, corrected, corrected_id }
        })
        .collect()
}

fn cell<'a, 'r>(
    run: &'r Run<'a>,
    figure: &Figure,
    variant: Variant,
    arm: Option<&str>,
) -> Result<&'r Cell<'a>, Reason> {
    let written = arm.ok_or(NotInRun::NoArm)?;
    let name = run.record.experiment.arm_name(written);
    let name = name.ok_or_else(|| NotInRun::Arm { arm: written.into() })?;
    let fits = run.cells.iter().filter(|cell| {
        let of_variant = run.origin(cell.entry.condition).is_some_and(|origin| {
            origin.name.as_ref() == Some(&figure.compare) && origin.variant.is_none_or(|it| it == variant)
        });
        let is_meant = || figure.only.selects(run.origin(cell.entry.condition), cell.condition);
        of_variant && !cell.entry.control && cell.arm().name == name && is_meant()
    });
    match &fits.collect::<Vec<&Cell>>()[..] {
        [] => Err(NotInRun::NoCondition.into()),
        [cell] => {
            let (origin, compare) = (run.origin(cell.entry.condition), Some(figure.compare.as_str()));
            let condition = &run.record.conditions[cell.entry.condition];
            match replaced(&run.record.experiment, compare, &[name], origin, condition) {
                values if values.is_empty() => Ok(*cell),
                values => Err(NotInRun::Replaced { values }.into()),
            }
        }
        several => Err(NotInRun::SeveralConditions { conditions: several.len() }.into()),
    }
}

/// Times and counts are of so much of a file as a study says; rates and ratios are of a byte.
fn other_file_size(run: &Run, figure: &Figure) -> Option<NotInRun> {
    let study = run.record.experiment.study.as_ref()?;
    let file_bytes = run.record.target.bytes;
    let is_rate = matches!(figure.unit, Unit::MibPerSecond | Unit::TimesFaster);
    (!is_rate && !study.is_of(file_bytes)).then_some(NotInRun::OtherFileSize {
        file_bytes,
        study_bytes: study.file_bytes.0,
        full_bytes: study.full_file_bytes.0,
    })
}

fn estimate(run: &Run, figure: &Figure, variant: Variant, cell: &Cell) -> Result<Estimate, Reason> {
    if let Some(reason) = other_file_size(run, figure) {
        return Err(reason.into());
    }
    if let Some(reason) = metric::untestable(run, cell) {
        return Err(reason);
    }
    let estimate = match figure.unit {
        Unit::Seconds => elapsed(figure, cell, 1e-9)?,
        Unit::Milliseconds => elapsed(figure, cell, 1e-6)?,
        Unit::MibPerSecond => {
            rate(cell.passes.iter().map(|pass| cell.lent_bytes(pass) / MIB / (pass.ns * 1e-9)), cell)?
        }
        Unit::CpuSeconds => time_spent(figure, cell, Metric::Cpu, &["user_ns", "system_ns"])?,
        Unit::UserSeconds => time_spent(figure, cell, Metric::User, &["user_ns"])?,
        Unit::SystemSeconds => time_spent(figure, cell, Metric::System, &["system_ns"])?,
        Unit::MinorFaults => {
            let measured = metric::of_arm(run, Metric::MinorFaults, cell);
            let faults = measured.estimate.ok_or_else(|| measured.remark.unwrap_or_default())?;
            let blocks = |ops: f64| figure.blocks.map(|blocks| blocks as f64 / ops);
            let scale = cell.median_of(|tally| tally.ops).and_then(blocks).unwrap_or(1.0);
            if let Some(pages_per_fault) = folios_beyond_fault_around(run, cell).filter(|_| scale != 1.0) {
                return Err(Reason::FaultsOfLargeFolios { pages_per_fault });
            }
            Estimate { median: faults.median * scale, ci_low: faults.ci_low * scale, ci_high: faults.ci_high * scale }
        }
        Unit::TimesFaster => speedup(run, figure.metric, cell, variant)?,
    };
    let finite = [estimate.median, estimate.ci_low, estimate.ci_high].iter().all(|it| it.is_finite());
    if finite { Ok(estimate) } else { Err(Reason::NotFinite) }
}

/// Pages that one fault maps, where that is more than the kernel maps around it: the first folios of a file are smaller than those
/// behind them, so that a range that is larger by as much has fewer faults than as many times as many.
fn folios_beyond_fault_around(run: &Run, cell: &Cell) -> Option<f64> {
    let pages = made_for(run.record, cell.own).filter(|_| cell.arm().maps())?.pages_per_fault?;
    (pages > fault_pages(run.page_bytes(), None) as f64).then_some(pages)
}

/// Of a pass; or of as many blocks as the published program read.
fn elapsed(figure: &Figure, cell: &Cell, unit: f64) -> Result<Estimate, Reason> {
    let of_pass = |pass: &Pass| match figure.blocks {
        Some(blocks) => pass.ns_per_op().map(|ns| ns * blocks as f64),
        None => Some(pass.ns),
    };
    rate(cell.passes.iter().filter_map(of_pass).map(|ns| ns * unit), cell)
}

fn rate(values: impl Iterator<Item = f64>, cell: &Cell) -> Result<Estimate, Reason> {
    stats::median_of_positive(values).ok_or(match cell.passes.len() {
        1 => Reason::SinglePass,
        _ => Reason::NoMeasurableTime,
    })
}

/// The mean, for ticks see nothing of some passes and too much of others.
fn time_spent(figure: &Figure, cell: &Cell, metric: Metric, names: &[&str]) -> Result<Estimate, Reason> {
    let spent = |pass: &Pass| -> Option<f64> { names.iter().map(|name| pass.reading(name)).sum() };
    let over = |pass: &Pass| if figure.blocks.is_some() { pass.tally.ops as f64 } else { 1.0 };
    let passes: Vec<(f64, f64)> = cell.passes.iter().filter_map(|pass| Some((spent(pass)?, over(pass)))).collect();
    if passes.is_empty() {
        let reasons = names.iter().map(|name| cell.reading(name, stats::SortedValues::mean));
        let reason = reasons.filter_map(|it| it.why().cloned()).next();
        return Err(reason.unwrap_or(Unseen::NotObserved.into()));
    }
    if let Some(why) = cell.why_undivided().filter(|_| metric != Metric::Cpu) {
        return Err(why.into());
    }
    let measured = metric::mean_of_times(metric, &passes, cell);
    let mean = measured.estimate.ok_or_else(|| measured.remark.unwrap_or_default())?;
    let scale = 1e-9 * figure.blocks.map_or(1.0, |blocks| blocks as f64);
    Ok(Estimate { median: mean.median * scale, ci_low: mean.ci_low * scale, ci_high: mean.ci_high * scale })
}

/// Of the arm over the baseline of its comparison. What was published is a ratio whatever the arms did.
fn speedup(run: &Run, metric: Metric, cell: &Cell, variant: Variant) -> Result<Estimate, Reason> {
    let baseline = run.baseline(cell.entry.condition).ok_or(Reason::NoBaseline)?;
    if std::ptr::eq(baseline, cell) {
        return Err(Reason::IsBaseline);
    }
    if let Some(reason) = metric::untestable(run, baseline) {
        return Err(reason);
    }
    let comparison = compare(run, baseline, cell);
    match comparison.verdict {
        Verdict::NotComparable if variant == Variant::Corrected => {
            return Err(comparison.reason.unwrap_or_default());
        }
        Verdict::NotComparable => {}
        // The published number is of the job.
        _ => match (comparison.answer_of, comparison.speedup) {
            (AnswerOf::Job, Some(speedup)) if metric == Metric::Time => return Ok(speedup),
            (AnswerOf::Neither, _) if metric == Metric::Time => return Err(comparison.reason.unwrap_or_default()),
            _ => {}
        },
    }
    let measured = metric::times_lower(run, metric, baseline, cell);
    measured.estimate.ok_or_else(|| measured.remark.unwrap_or_default())
}
