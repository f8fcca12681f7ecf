//! `faultline predict`: what something would take that was not measured, at the unit costs of this machine.

use analysis::ForecastQuestion;
use anyhow::{Result, anyhow, bail};
use schema::{
    Condition, Experiment, Fill, Record, Skip, builtin,
    machine::{MadeOn, Origin, Whose},
    unit_cost::{CalibrationPoint, ForecastRemark},
};

use crate::{
    cli::PredictArgs,
    exit::{Exit, Stopped, UsageError},
    machine,
    measure::{self, RunSettings},
    output,
    progress::Line,
    subject::Subject,
};

pub fn run(args: &PredictArgs) -> Result<Exit> {
    let store = history::Store::open(None)?;
    let whose = machine::whose(args.machine.as_deref(), &store);
    let record = match &args.run {
        Some(run) => store.load(run)?,
        None => match best(args, &store, &whose)? {
            Some(record) => record,
            // What another machine costs cannot be measured here.
            None if whose.goes_beyond() => bail!(
                "no saved run of {:?} has unit costs; `faultline history --machine all` lists the machines",
                args.machine.as_deref().unwrap_or("all")
            ),
            None => calibrate(args)?,
        },
    };
    let asked = asked(args, &record)?;
    let mut forecast = analysis::forecast(&record, &asked)
        .map_err(|reason| anyhow!("run {} has no unit costs: {reason}", record.id))?;
    let here = machine::here(&store);
    let is_here = Whose::Here(MadeOn::new(&here, Origin::Own)).includes(&MadeOn::new(&record.environment, Origin::Own));
    if here.kernel != record.environment.kernel && is_here {
        let (then, now) = (record.environment.kernel.clone(), here.kernel);
        forecast.remarks.push(ForecastRemark::OtherKernel { then, now });
    }
    output::print(&if args.json {
        report::forecast_json(&forecast)
    } else {
        report::forecast(&forecast, output::style(false))
    })?;
    let known = forecast.arms.iter().any(|arm| arm.seconds.value().is_some());
    Ok(if known { Exit::Answered } else { Exit::NothingDecided })
}

/// Of the newest of them, so many are looked at.
const LOOKED_AT: usize = 50;

/// Of the saved runs of the machine that is meant, the one whose unit costs fit the question best.
fn best(args: &PredictArgs, store: &history::Store, whose: &Whose) -> Result<Option<Record>> {
    let here = machine::here(store);
    let device = lab::device_of(&args.dir);
    let mut best: Option<(Worth, Record)> = None;
    let mut looked_at = 0;
    for (_, path, origin) in machine::runs(store, whose)? {
        // A damaged record, or one whose run was stopped, is no reason not to answer from another one.
        let Ok(record) = store.load_file(&path) else { continue };
        // Runs of other machines are not counted: any number of them may have been imported.
        if !whose.includes(&MadeOn::new(&record.environment, origin)) {
            continue;
        }
        looked_at += 1;
        if looked_at > LOOKED_AT {
            break;
        }
        if record.partial.is_some() {
            continue;
        }
        let worth = worth(&record, &here.kernel, device.as_deref(), args.file_size.0, args.fill);
        if let Some(worth) = worth.filter(|it| best.as_ref().is_none_or(|(most, _)| it > most)) {
            best = Some((worth, record));
        }
    }
    Ok(best.map(|(_, record)| record))
}

/// What unit costs are worth for a question, the most telling first: the fill was calibrated, the kernel and the device are
/// the same, how much of the file the calibration reached over, and how many passes it rests on.
type Worth = (bool, bool, bool, u64, usize);

/// Nothing without unit costs.
fn worth(record: &Record, kernel: &str, device: Option<&str>, file_bytes: u64, fill: Fill) -> Option<Worth> {
    let calibration = record.calibration.value()?;
    let reached = |it: &mut dyn Iterator<Item = &CalibrationPoint>| it.map(|it| it.range_bytes).max();
    let of_fill = reached(&mut calibration.points.iter().filter(|it| it.fill() == Some(fill)));
    let reached = of_fill.or(reached(&mut calibration.points.iter()))?.min(file_bytes);
    let of_record = record.target.device.value().map(|it| it.name.as_str());
    let passes = calibration.points.iter().map(|it| it.passes.len()).sum();
    Some((
        of_fill.is_some(),
        record.environment.kernel == kernel,
        device.is_some() && of_record == device,
        reached,
        passes,
    ))
}

fn calibrate(args: &PredictArgs) -> Result<Record> {
    let interrupted = measure::interrupt_flag()?;
    let text = builtin::find("calibrate").expect("a test lists the built-in experiments");
    let experiment = Experiment::parse("calibrate", text).expect("a test parses every built-in experiment");
    let line = Line::new(args.json);
    let store = history::Store::open(None).ok();
    let subject = Subject::open(&args.dir, Some(SIZE.min(free(args)?)), 1, false, &interrupted, &line)?;
    let how =
        RunSettings { store: store.as_ref(), ..RunSettings::new(1, lab::calibrate::BUDGET_MIN, &interrupted, &line) };
    let record = measure::measure(&experiment, &subject, &how)?.record;
    if record.partial.is_some() {
        return Err(
            Stopped("interrupted before the unit costs of this machine were known; nothing is predicted").into()
        );
    }
    Ok(record)
}

/// Larger than last-level caches, and written in seconds.
const SIZE: u64 = 512 << 20;

/// A tenth of what is free, and a mebibyte at least.
fn free(args: &PredictArgs) -> Result<u64> {
    if !args.dir.is_dir() {
        return Err(UsageError(format!("{} is no folder; --dir says where to calibrate", args.dir.display())).into());
    }
    Ok((lab::fixture::free_bytes(&args.dir)? / 10).max(1 << 20))
}

fn asked(args: &PredictArgs, record: &Record) -> Result<ForecastQuestion> {
    let (file_bytes, block_bytes) = (args.file_size.0, args.block.0);
    if args.fill != Fill::Sequential && !args.state.is_filled() {
        return Err(UsageError(format!(
            "--fill applies to states that begin with the pages in the page cache, and {} does not",
            args.state
        ))
        .into());
    }
    if file_bytes == 0 || block_bytes == 0 {
        return Err(UsageError("a file and a block need at least one byte".into()).into());
    }
    // A run would not measure it either.
    let asked = Condition { workload: args.workload, block_bytes, ..Condition::plain(file_bytes) };
    if let Some(skip) = Skip::for_its_size(&asked) {
        return Err(UsageError(skip.to_string()).into());
    }
    Ok(ForecastQuestion {
        arms: args.method.clone(),
        workload: args.workload,
        consume: args.consume,
        block_bytes,
        ops: args.ops.unwrap_or(file_bytes.div_ceil(block_bytes)),
        file_bytes,
        memory_bytes: args.memory.map_or(record.environment.cache_memory_bytes(), |it| it.0),
        state: args.state,
        fill: Some(args.fill).filter(|it| *it != Fill::Sequential),
        threads: args.threads,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measured run with unit costs.
    const MEASURED: &str = include_str!("../../../analysis/tests/records/crossover.json");

    #[test]
    fn the_run_whose_calibration_reached_over_more_of_the_file_is_worth_more_and_an_uncalibrated_one_nothing() {
        let record: Record = serde_json::from_str(MEASURED).unwrap();
        let (kernel, file_bytes) = (record.environment.kernel.clone(), 40 << 30);
        let device = record.target.device.value().map(|it| it.name.clone());
        let of = |record: &Record, kernel: &str| worth(record, kernel, device.as_deref(), file_bytes, Fill::Sequential);
        let mut smaller = record.clone();
        let schema::Reading::Value(calibration) = &mut smaller.calibration else { panic!("it is calibrated") };
        calibration.points.iter_mut().for_each(|it| it.range_bytes = it.range_bytes.min(1 << 20));
        let mut fewer = record.clone();
        let schema::Reading::Value(calibration) = &mut fewer.calibration else { panic!("it is calibrated") };
        calibration.points.iter_mut().for_each(|it| it.passes.truncate(1));
        assert!(of(&record, &kernel) > of(&smaller, &kernel));
        assert!(of(&record, &kernel) > of(&fewer, &kernel));
        assert!(of(&smaller, &kernel) > of(&record, "another kernel"));
        assert!(of(&record, &kernel) > worth(&record, &kernel, Some("another device"), file_bytes, Fill::Sequential));
        let none = Record { calibration: schema::Reading::unavailable("a budget of 5 s"), ..record };
        assert_eq!(of(&none, &kernel), None);
    }
}
