//! `faultline inspect`: where the pages of a file are, or what a process has mapped and what that may cost it. It reads; it
//! changes nothing.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use schema::{
    Reading, Record,
    inspection::{FaultView, FileView, Inspection, ProcessView, WatchEnd},
    machine::{MadeOn, Origin, Whose},
    no_cost::NoCost,
};

use crate::{
    cli::InspectArgs,
    exit::{Exit, UsageError},
    machine, measure, output,
    progress::Line,
};

pub fn run(args: &InspectArgs) -> Result<Exit> {
    let seen = look(args)?;
    output::print(&match args.json {
        true => report::inspection_json(&seen),
        false => report::inspection(&seen, output::style(false)),
    })?;
    Ok(match &seen {
        Inspection::Process(view) if is_interrupted(view) => Exit::Interrupted,
        _ => Exit::Answered,
    })
}

fn is_interrupted(view: &ProcessView) -> bool {
    view.watched.as_ref().is_some_and(|it| it.ended == Some(WatchEnd::Interrupted))
}

/// A file of that name comes before a process of that number; `./4711` is always the file.
fn look(args: &InspectArgs) -> Result<Inspection> {
    let pid = args.what.to_str().and_then(|it| it.parse::<u32>().ok()).filter(|_| !args.what.exists());
    match pid {
        Some(pid) => process(pid, args),
        None if args.watch.is_some() => {
            Err(UsageError(format!("--for watches a process, and {} is none", args.what.display())).into())
        }
        None => lab::inspect::file(&args.what)
            .map(|mut it| {
                it.faults = faults(&it).into();
                Inspection::File(Box::new(it))
            })
            .with_context(|| format!("cannot inspect {}", args.what.display())),
    }
}

fn process(pid: u32, args: &InspectArgs) -> Result<Inspection> {
    // Without a wait there is nothing to end early, and Ctrl-C does what it always does.
    let interrupted = args.watch.map(|_| measure::interrupt_flag()).transpose()?;
    let never = AtomicBool::new(false);
    let line = Line::new(args.watch.is_none());
    let what = format!("watching process {pid}; Ctrl-C shows what was counted so far");
    let view = lab::inspect::process(pid, args.watch, interrupted.as_deref().unwrap_or(&never), |share| {
        line.show(&what, share);
    })?;
    line.done();
    Ok(Inspection::Process(Box::new(analysis::advised(view))))
}

/// What the file's folios mean for mappings, by the newest saved run of this machine that calibrated such folios.
fn faults(view: &FileView) -> Result<FaultView, String> {
    let store = history::Store::open(None).map_err(|error| format!("saved runs cannot be read: {error:#}"))?;
    let here = machine::here(&store);
    let whose = Whose::Here(MadeOn::new(&here, Origin::Own));
    let records = machine::newest(&store, &whose).map_err(|error| format!("saved runs cannot be read: {error:#}"))?;
    by_runs(view, &here.kernel, records)
}

/// After so many runs of other files none of this file is looked for any more: each is a record to load.
const OTHERS: usize = 8;

/// The unit costs of runs of another kernel say nothing here, and neither do those of files that are in memory alone of
/// files that are not: they have no fills.
fn by_runs(view: &FileView, kernel: &str, records: impl Iterator<Item = Record>) -> Result<FaultView, String> {
    let pages = match &view.pages_per_fault {
        Reading::Value(pages) => *pages,
        Reading::Unavailable { unavailable } => return Err(unavailable.clone()),
    };
    let orders = view.folio_orders.value();
    let folio_bytes = orders.and_then(|it| Some(view.page_bytes << it.iter().max_by_key(|it| it.pages)?.order));
    let in_memory = !view.can_be_evicted;
    let (mut looked_at, mut reason, mut others) = (0, None, Vec::new());
    for record in records {
        looked_at += 1;
        let is_like_it = sys::mount::is_memory(&record.target.file_system) == in_memory;
        if !is_like_it || record.environment.kernel != kernel || record.calibration.value().is_none() {
            continue;
        }
        match analysis::faults_on(&record, pages, folio_bytes) {
            Ok(costs) if record.target.path == view.path && record.target.bytes == view.bytes => {
                return Ok(FaultView { of: None, ..costs });
            }
            Ok(costs) => others.push(costs),
            // Of the newest: what older ones lack says less.
            Err(why) => reason = reason.or(Some(format!("run {}: {}", record.id, report::words::no_cost(&why)))),
        }
        if others.len() == OTHERS {
            break;
        }
    }
    if !others.is_empty() {
        return Ok(others.swap_remove(0));
    }
    Err(reason.unwrap_or_else(|| report::words::no_cost(&NoCost::NoRun { looked_at, in_memory })))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measured run with unit costs.
    const MEASURED: &str = include_str!("../../../analysis/tests/records/crossover.json");

    #[test]
    fn unit_costs_of_files_on_a_device_say_nothing_about_a_file_in_memory_and_the_other_way_round() {
        let on_device: Record = serde_json::from_str(MEASURED).unwrap();
        let kernel = on_device.environment.kernel.clone();
        let mut on_tmpfs = on_device.clone();
        (on_tmpfs.id, on_tmpfs.target.file_system) = ("tmpfs".into(), "tmpfs".into());
        let mut other_kernel = on_device.clone();
        other_kernel.environment.kernel = "another".into();
        let costs = analysis::analyze(&on_device).costs.unwrap().unit_costs;
        let view = |can_be_evicted: bool| FileView {
            path: "file".into(),
            bytes: 1 << 30,
            page_bytes: on_device.environment.page_bytes,
            file_system: if can_be_evicted { "ext4" } else { "tmpfs" }.into(),
            can_be_evicted,
            residency: Reading::unavailable("not looked at"),
            stretches: Reading::unavailable("not looked at"),
            folio_orders: Reading::unavailable("not root"),
            pages_per_fault: Reading::Value(costs.pages_per_fault.unwrap()),
            faults: Reading::unavailable("not asked"),
            mapped_by: Vec::new(),
        };
        let of = |can_be_evicted, records: &[&Record]| {
            by_runs(&view(can_be_evicted), &kernel, records.iter().map(|it| (*it).clone())).map(|it| it.run)
        };
        assert_eq!(of(true, &[&on_tmpfs, &on_device]), Ok(on_device.id.clone()));
        assert_eq!(of(false, &[&on_device, &on_tmpfs]), Ok("tmpfs".into()));
        let says = |found: Result<String, String>, words: &str| {
            let why = found.expect_err("none of them is like it");
            assert!(why.contains(words), "{why}");
        };
        let mut of_this = on_device.clone();
        (of_this.id, of_this.target.path, of_this.target.bytes) = ("this".into(), "file".into(), 1 << 30);
        assert_eq!(
            of(true, &[&on_device, &of_this]),
            Ok("this".into()),
            "a run of this file comes before newer ones of others"
        );
        let other = by_runs(&view(true), &kernel, [on_device.clone()].into_iter()).unwrap().of.unwrap();
        assert_eq!((other.path, other.bytes), (on_device.target.path.clone(), on_device.target.bytes));
        says(of(true, &[&on_tmpfs, &other_kernel]), "none of the 2 newest saved runs of this machine");
        says(of(false, &[&on_device]), "the one saved run of this machine");
        says(of(true, &[]), "no saved run of this machine");
    }
}
