//! `faultline predict`: what something would take that was not measured, at the unit costs of this machine or of a run that
//! is named.

use analysis::ForecastQuestion;
use anyhow::{Result, anyhow, bail};
use schema::{
    Condition, Consume, Experiment, Fill, Record, Skip, State, Workload, builtin,
    machine::{MadeOn, Origin, Whose},
    record::Ending,
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
    check(args)?;
    let store = history::Store::open(None)?;
    let whose = machine::whose(args.machine.as_deref(), &store);
    let (record, origin) = match &args.run {
        Some(run) => store.find(run)?,
        None => match best(args, &store, &whose)? {
            (Some(found), _) => found,
            // What another machine costs cannot be measured here.
            (None, looked_at) if whose.goes_beyond() => bail!(
                "no saved run of {:?} has unit costs, of the newest {looked_at} that were looked at; `faultline history \
                 --machine all` lists the machines",
                args.machine.as_deref().unwrap_or("all")
            ),
            (None, _) => (calibrate(args)?, Origin::Own),
        },
    };
    let asked = asked(args, &record);
    let mut forecast = analysis::forecast(&record, &asked)
        .map_err(|reason| anyhow!("run {} has no unit costs: {reason}", record.id))?;
    let here = machine::here(&store);
    let made_on = MadeOn::new(&record.environment, origin);
    if !Whose::Here(MadeOn::new(&here, Origin::Own)).includes(&made_on) {
        forecast.remarks.push(ForecastRemark::OtherMachine { host: record.environment.host.clone() });
    } else if here.kernel != record.environment.kernel {
        let (then, now) = (record.environment.kernel.clone(), here.kernel);
        forecast.remarks.push(ForecastRemark::OtherKernel { then, now });
    }
    match args.json {
        true => output::print(&report::forecast_json(&forecast))?,
        false => output::show(&report::forecast(&forecast, output::style(false)))?,
    }
    let known = forecast.arms.iter().any(|arm| arm.seconds.value().is_some());
    Ok(if known { Exit::Answered } else { Exit::NothingDecided })
}

/// Of the saved runs of the machine that is meant, the one whose unit costs fit the question best; and how many were
/// looked at.
fn best(args: &PredictArgs, store: &history::Store, whose: &Whose) -> Result<(Option<(Record, Origin)>, usize)> {
    let records = machine::newest(store, whose)?;
    Ok(match whose.goes_beyond() {
        // What another machine has now is what its newest run had.
        true => best_of(records, None, On::default(), |it| asked(args, it)),
        false => {
            let file_system = sys::mount::file_system(&args.dir).ok().map(|it| it.kind);
            let on = On { device: lab::device_of(&args.dir), file_system };
            best_of(records, Some(machine::here(store).kernel), on, |it| asked(args, it))
        }
    })
}

/// What the file that is asked about lies on, as far as that is known.
#[derive(Default)]
struct On {
    device: Option<String>,
    file_system: Option<String>,
}

/// Of records of which the newest comes first.
fn best_of(
    records: impl Iterator<Item = (Record, Origin)>,
    mut kernel: Option<String>,
    on: On,
    asked: impl Fn(&Record) -> ForecastQuestion,
) -> (Option<(Record, Origin)>, usize) {
    let mut best: Option<(Worth, (Record, Origin))> = None;
    let mut looked_at = 0;
    for (record, origin) in records {
        looked_at += 1;
        let kernel = kernel.get_or_insert_with(|| record.environment.kernel.clone());
        let worth = worth(&record, kernel, &on, &asked(&record));
        if let Some(worth) = worth.filter(|it| best.as_ref().is_none_or(|(newer, _)| it.exceeds(newer))) {
            best = Some((worth, (record, origin)));
        }
    }
    (best.map(|(_, found)| found), looked_at)
}

/// What unit costs are worth for a question, the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Worth {
    /// So many of the arms have an answer. A run in memory has none from the device, and another one has no such fill.
    answered: usize,
    /// No request is far larger than those that were calibrated.
    requests: bool,
    kernel: bool,
    device: bool,
    /// It decides how large folios can be.
    file_system: bool,
    /// How much of the file the calibration reached over.
    reached: u64,
    /// How many passes it rests on.
    passes: usize,
}

impl Worth {
    /// A machine changes, so that a newer run stands before one that reached over a little more of the file, or made a few more passes.
    fn exceeds(&self, newer: &Worth) -> bool {
        let as_large = Worth { reached: newer.reached, passes: newer.passes, ..*self };
        let reached_half = self.reached.saturating_mul(2) > newer.reached;
        as_large > *newer
            || as_large == *newer
                && (self.reached / 2 >= newer.reached || reached_half && self.passes / 2 >= newer.passes)
    }
}

/// Nothing without unit costs.
fn worth(record: &Record, kernel: &str, on: &On, asked: &ForecastQuestion) -> Option<Worth> {
    let calibration = record.calibration.value()?;
    let forecast = analysis::forecast(record, asked).ok()?;
    let fill = asked.fill.unwrap_or(Fill::Sequential);
    let reached = |it: &mut dyn Iterator<Item = &CalibrationPoint>| it.map(|it| it.range_bytes).max();
    let of_fill = reached(&mut calibration.points.iter().filter(|it| it.fill() == Some(fill)));
    let of_record = record.target.device.value().map(|it| it.name.as_str());
    Some(Worth {
        answered: forecast.arms.iter().filter(|it| it.seconds.value().is_some()).count(),
        requests: !forecast.remarks.iter().any(|it| matches!(it, ForecastRemark::BeyondRequests { .. })),
        kernel: record.environment.kernel == kernel,
        device: on.device.is_some() && of_record == on.device.as_deref(),
        file_system: on.file_system.as_ref() == Some(&record.target.file_system),
        reached: of_fill.or(reached(&mut calibration.points.iter()))?.min(asked.file_bytes),
        passes: calibration.points.iter().map(|it| it.passes.len()).sum(),
    })
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
    calibrated(record)
}

/// # Errors
/// It was stopped, or its file changed. One whose budget was spent has the unit costs that it has.
fn calibrated(record: Record) -> Result<Record> {
    match (record.ending, &record.partial) {
        (Some(Ending::Interrupted), _) => {
            Err(Stopped("interrupted before the unit costs of this machine were known; nothing is predicted").into())
        }
        (Some(Ending::TargetChanged), why) => bail!(
            "the unit costs of this machine are not known: {}; nothing is predicted",
            why.as_deref().unwrap_or("the test file was changed meanwhile")
        ),
        (Some(Ending::BudgetSpent) | None, _) => Ok(record),
    }
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

/// Before anything is measured for it.
///
/// # Errors
/// The question makes no sense, whatever the unit costs are.
fn check(args: &PredictArgs) -> Result<(), UsageError> {
    let (file_bytes, block_bytes) = (args.file_size.0, args.block.0);
    if !args.workload.has_blocks() {
        return Err(UsageError(format!(
            "unit costs are of blocks of one size, and workload {} has none; try --workload scan or random",
            args.workload
        )));
    }
    if args.workload.writes() {
        return Err(UsageError(format!(
            "unit costs are of reads, and workload {} writes; try --workload scan or random",
            args.workload
        )));
    }
    if !matches!(args.state, State::Cold | State::Cached | State::Mapped | State::Locked) {
        return Err(UsageError(format!(
            "where the pages are in state {} is not known without the file; try --state cold, cached, mapped or locked",
            args.state
        )));
    }
    if !matches!(args.consume, Consume::Sum | Consume::Touch) {
        return Err(UsageError(format!(
            "unit costs are of bytes that are summed or touched, and of no --consume {}",
            args.consume
        )));
    }
    if args.fill != Fill::Sequential && !args.state.is_filled() {
        return Err(UsageError(format!(
            "--fill applies to states that begin with the pages in the page cache, and {} does not",
            args.state
        )));
    }
    if file_bytes == 0 || block_bytes == 0 {
        return Err(UsageError("a file and a block need at least one byte".into()));
    }
    // A run would not measure it either.
    let asked = Condition { workload: args.workload, block_bytes, ..Condition::plain(file_bytes) };
    match Skip::for_its_size(&asked) {
        Some(skip) => Err(UsageError(skip.to_string())),
        None => Ok(()),
    }
}

fn asked(args: &PredictArgs, record: &Record) -> ForecastQuestion {
    let (file_bytes, block_bytes) = (args.file_size.0, args.block.0);
    ForecastQuestion {
        arms: args.method.clone(),
        workload: args.workload,
        consume: args.consume,
        block_bytes,
        ops: args.ops.unwrap_or(blocks_of_a_pass(args.workload, file_bytes, block_bytes)),
        file_bytes,
        memory_bytes: args.memory.map_or(record.environment.cache_memory_bytes(), |it| it.0),
        state: args.state,
        fill: Some(args.fill).filter(|it| *it != Fill::Sequential),
        threads: args.threads,
    }
}

/// As many as the file has: a scan ends with what is left of one, and a random read is of a whole one.
fn blocks_of_a_pass(workload: Workload, file_bytes: u64, block_bytes: u64) -> u64 {
    match workload.is_ascending() {
        true => file_bytes.div_ceil(block_bytes),
        false => (file_bytes / block_bytes).max(1),
    }
}

#[cfg(test)]
mod tests {
    use schema::{Consume, Reading, State};

    use super::*;

    /// A measured run with unit costs.
    const MEASURED: &str = include_str!("../../../analysis/tests/records/crossover.json");

    fn question(record: &Record, state: State) -> ForecastQuestion {
        ForecastQuestion {
            arms: ["pread", "mmap"].map(|it| it.parse().unwrap()).to_vec(),
            workload: Workload::Random,
            consume: Consume::Sum,
            block_bytes: 4096,
            ops: 1_000_000,
            file_bytes: 40 << 30,
            memory_bytes: record.environment.cache_memory_bytes(),
            state,
            fill: None,
            threads: 1,
        }
    }

    fn changed(record: &Record, change: impl FnOnce(&mut Vec<CalibrationPoint>)) -> Record {
        let mut changed = record.clone();
        let Reading::Value(calibration) = &mut changed.calibration else { panic!("it is calibrated") };
        change(&mut calibration.points);
        changed
    }

    #[test]
    fn a_pass_has_as_many_blocks_as_the_file() {
        let of = |workload| blocks_of_a_pass(workload, 10_001, 4096);
        assert_eq!((of(Workload::Scan), of(Workload::Random)), (3, 2));
        assert_eq!(blocks_of_a_pass(Workload::Random, 100, 4096), 1);
    }

    #[test]
    fn only_a_calibration_that_the_user_stopped_is_an_interruption() {
        let ended = |ending| {
            let mut record = planted::Planting::default().plant().record;
            (record.ending, record.partial) = (Some(ending), Some("a reason".into()));
            calibrated(record)
        };
        assert!(ended(Ending::Interrupted).unwrap_err().is::<Stopped>());
        let changed = ended(Ending::TargetChanged).unwrap_err();
        assert!(!changed.is::<Stopped>() && changed.to_string().contains("a reason"), "{changed:#}");
        assert!(ended(Ending::BudgetSpent).is_ok());
    }

    #[test]
    fn the_run_whose_calibration_reached_over_more_of_the_file_is_worth_more_and_an_uncalibrated_one_nothing() {
        let record: Record = serde_json::from_str(MEASURED).unwrap();
        let kernel = record.environment.kernel.clone();
        let device = record.target.device.value().map(|it| it.name.clone());
        let asked = question(&record, State::Cached);
        let on = On { device, file_system: Some(record.target.file_system.clone()) };
        let of = |record: &Record, kernel: &str| worth(record, kernel, &on, &asked);
        let smaller = changed(&record, |it| it.iter_mut().for_each(|it| it.range_bytes = it.range_bytes.min(1 << 20)));
        let fewer = changed(&record, |it| it.iter_mut().for_each(|it| it.passes.truncate(1)));
        assert!(of(&record, &kernel) > of(&smaller, &kernel));
        assert!(of(&record, &kernel) > of(&fewer, &kernel));
        assert!(of(&smaller, &kernel) > of(&record, "another kernel"));
        let other = On { device: Some("another device".into()), file_system: Some(record.target.file_system.clone()) };
        assert!(of(&record, &kernel) > worth(&record, &kernel, &other, &asked));
        let other = On { device: on.device.clone(), file_system: Some("another file system".into()) };
        assert!(of(&record, &kernel) > worth(&record, &kernel, &other, &asked));
        let none = Record { calibration: Reading::unavailable("a budget of 5 s"), ..record };
        assert_eq!(of(&none, &kernel), None);
    }

    #[test]
    fn of_another_machine_the_kernel_of_its_newest_run_is_the_one_that_it_has() {
        let record: Record = serde_json::from_str(MEASURED).unwrap();
        let of = |id: &str, kernel: &str| {
            let mut it = record.clone();
            (it.id, it.environment.kernel) = (id.into(), kernel.into());
            it
        };
        let records =
            || [of("newest", "7.1"), of("older", "6.18"), of("oldest", "7.1")].map(|it| (it, Origin::Own)).into_iter();
        let best = |kernel: Option<&str>| {
            let ask = |it: &Record| question(it, State::Cached);
            best_of(records(), kernel.map(String::from), On::default(), ask).0.map(|it| it.0.id)
        };
        assert_eq!(best(None).as_deref(), Some("newest"));
        assert_eq!(best(Some("6.18")).as_deref(), Some("older"));
    }

    #[test]
    fn an_older_run_stands_before_a_newer_one_only_if_it_reached_twice_as_far_or_made_twice_as_many_passes() {
        let record: Record = serde_json::from_str(MEASURED).unwrap();
        let older = |times: usize, more: usize| {
            let mut it = changed(&record, |points| {
                points.iter_mut().for_each(|it| it.passes = it.passes.repeat(times));
                let pass = points[0].passes[0];
                points[0].passes.extend(vec![pass; more]);
            });
            it.id = "older".into();
            it
        };
        let best = |older: Record| {
            let newer = Record { id: "newer".into(), ..record.clone() };
            best_of([newer, older].map(|it| (it, Origin::Own)).into_iter(), None, On::default(), |it| {
                question(it, State::Cached)
            })
            .0
            .unwrap()
            .0
            .id
        };
        assert_eq!(best(older(1, 1)), "newer");
        assert_eq!(best(older(2, 0)), "older");
        let reaching = |more: f64| {
            let longer = |it: &mut CalibrationPoint| it.range_bytes = (it.range_bytes as f64 * more) as u64;
            Record { id: "older".into(), ..changed(&record, |points| points.iter_mut().for_each(longer)) }
        };
        assert_eq!(best(reaching(1.1)), "newer", "it reached over a little less of the file");
        assert_eq!(best(reaching(2.0)), "older");
    }

    #[test]
    fn a_run_that_can_answer_is_worth_more_than_any_that_cannot() {
        let record: Record = serde_json::from_str(MEASURED).unwrap();
        let kernel = record.environment.kernel.clone();
        let device = record.target.device.value().map(|it| it.name.clone());
        let on = On { device, file_system: Some(record.target.file_system.clone()) };
        let of = |record: &Record, state| worth(record, &kernel, &on, &question(record, state)).unwrap();
        // As of a run on tmpfs, or of one that had no time for the device.
        let in_memory = changed(&record, |points| {
            points.retain(|it| !matches!(it.state, State::AsIs | State::Cold));
            points.iter_mut().for_each(|it| it.passes.push(it.passes[0]));
        });
        let mut elsewhere = record.clone();
        elsewhere.environment.kernel = "another kernel".into();
        elsewhere.target.device = Reading::unavailable("another device");
        assert!(of(&elsewhere, State::Cold) > of(&in_memory, State::Cold));
        // Requests of a page alone are no answer to what a window of read-ahead takes, and better than none.
        let of_pages = changed(&in_memory, |points| {
            let Reading::Value(calibration) = &record.calibration else { panic!("it is calibrated") };
            let of_page = calibration.points.iter().filter(|it| it.state == State::AsIs && it.block_bytes == 4096);
            points.extend(of_page.cloned());
        });
        assert!(of(&record, State::Cold) > of(&of_pages, State::Cold));
        assert!(of(&of_pages, State::Cold) > of(&in_memory, State::Cold));
    }
}
