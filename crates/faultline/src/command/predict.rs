//! `faultline predict`: what something would take that was not measured, at the unit costs of this machine.

use analysis::Asked;
use anyhow::{Result, anyhow};
use schema::{Condition, Experiment, Record, Skip, builtin};

use crate::{
    cli::PredictArgs,
    exit::{Outcome, Stopped, Usage},
    measure::{self, How},
    output,
    progress::Line,
    subject::Subject,
};

pub fn run(args: &PredictArgs) -> Result<Outcome> {
    let record = match &args.run {
        Some(run) => history::Store::open(None)?.load(run)?,
        None => match newest(&lab::host::detect().host)? {
            Some(record) => record,
            None => calibrate(args)?,
        },
    };
    let asked = asked(args, &record)?;
    let mut forecast = analysis::forecast(&record, &asked).map_err(|reason| anyhow!("{reason}"))?;
    let here = lab::host::detect();
    if here.kernel != record.environment.kernel && here.host == record.environment.host {
        forecast.remarks.push(format!(
            "the kernel was {} then and is {} now; `faultline run -e calibrate` measures unit costs anew",
            record.environment.kernel, here.kernel
        ));
    }
    output::print(&if args.json {
        report::forecast_json(&forecast)
    } else {
        report::forecast(&forecast, output::style(false))
    })?;
    let known = forecast.arms.iter().any(|arm| arm.seconds.value().is_some());
    Ok(if known { Outcome::Answered } else { Outcome::NothingDecided })
}

/// The newest saved run of this machine that has unit costs.
fn newest(host: &str) -> Result<Option<Record>> {
    let store = history::Store::open(None)?;
    for (id, _) in store.list()? {
        // A damaged record, or one whose run was stopped, is no reason not to answer from the next one.
        if let Ok(record) = store.load(&id)
            && record.environment.host == host
            && record.partial.is_none()
            && record.calibration.value().is_some()
        {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

fn calibrate(args: &PredictArgs) -> Result<Record> {
    let interrupted = measure::interrupt_flag()?;
    let text = builtin::find("calibrate").expect("a test lists the built-in experiments");
    let experiment = Experiment::parse("calibrate", text).expect("a test parses every built-in experiment");
    let line = Line::new(args.json);
    let store = history::Store::open(None).ok();
    let subject = Subject::open(&args.dir, Some(SIZE.min(free(args)?)), 1, false, &interrupted, &line)?;
    let how = How { store: store.as_ref(), ..How::new(1, lab::calibrate::BUDGET_MIN, &interrupted, &line) };
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
        return Err(Usage(format!("{} is no folder; --dir says where to calibrate", args.dir.display())).into());
    }
    Ok((lab::fixture::free_bytes(&args.dir)? / 10).max(1 << 20))
}

fn asked(args: &PredictArgs, record: &Record) -> Result<Asked> {
    let (file_bytes, block_bytes) = (args.file_size.0, args.block.0);
    if file_bytes == 0 || block_bytes == 0 {
        return Err(Usage("a file and a block need at least one byte".into()).into());
    }
    // A run would not measure it either.
    let asked = Condition { workload: args.workload, block_bytes, ..Condition::plain(file_bytes) };
    if let Some(skip) = Skip::for_its_size(&asked) {
        return Err(Usage(skip.to_string()).into());
    }
    Ok(Asked {
        arms: args.method.clone(),
        workload: args.workload,
        consume: args.consume,
        block_bytes,
        ops: args.ops.unwrap_or(file_bytes.div_ceil(block_bytes)),
        file_bytes,
        memory_bytes: args.memory.map_or(record.environment.memory_bytes, |it| it.0),
        state: args.state,
        threads: args.threads,
    })
}
