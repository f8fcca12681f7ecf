//! `faultline inspect`: where the pages of a file are, or what a process has mapped and what that may cost it. It reads; it
//! changes nothing.

use std::{cell::RefCell, sync::atomic::AtomicBool};

use anyhow::{Context, Result, bail};
use schema::{
    Reading, Record,
    inspection::{FaultView, FileView, Inspection, MappedFile, MissCost, ProcessView, WatchEnd},
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
    match args.json {
        true => output::print(&report::inspection_json(&seen))?,
        false => output::show(&report::inspection(&seen, output::style(false)))?,
    }
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
    let is_number = |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    match args.what.to_str().filter(is_number).filter(|_| !args.what.exists()) {
        Some(number) => match number.parse() {
            Ok(pid) => process(pid, args),
            // No number of a process is so large.
            Err(_) => bail!("there is no process {number}"),
        },
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
    Ok(Inspection::Process(Box::new(with_costs(view))))
}

/// The files in the order of what their advice may cost, by the unit costs of saved runs of this machine.
fn with_costs(view: ProcessView) -> ProcessView {
    let unread = |error: &anyhow::Error| Reading::unavailable(format!("saved runs cannot be read: {error:#}"));
    let store = match history::Store::open(None) {
        Ok(store) => store,
        Err(error) => return analysis::advised(view, |_| unread(&error)),
    };
    let here = machine::here(&store);
    let whose = Whose::Here(MadeOn::new(&here, Origin::Own));
    let records = match machine::newest(&store, &whose) {
        Ok(records) => records.map(|(record, _)| record),
        Err(error) => return analysis::advised(view, |_| unread(&error)),
    };
    let runs = RefCell::new(Runs { records, known: Vec::new(), looked_at: 0 });
    let miss = |file: &MappedFile| runs.borrow_mut().miss_cost(file, &here.kernel);
    analysis::advised(view, |file| miss(file).map_err(|why| report::words::no_cost(&why)).into())
}

/// Saved runs, loaded when they are asked for.
struct Runs<I> {
    records: I,
    /// With unit costs of this kernel.
    known: Vec<Record>,
    looked_at: u64,
}

impl<I: Iterator<Item = Record>> Runs<I> {
    /// By the newest run that calibrated the disk of the file.
    fn miss_cost(&mut self, file: &MappedFile, kernel: &str) -> Result<MissCost, NoCost> {
        let disk = file.disk.as_ref().ok_or(NoCost::NoDisk)?;
        let window = file.window_bytes().ok_or(NoCost::NoWindow)?;
        let is_of_disk = |it: &Record| it.target.device.value().is_some_and(|it| it.name == *disk);
        let mut at = 0;
        let mut reason = None;
        loop {
            match self.known.get(at) {
                Some(record) if is_of_disk(record) => match analysis::miss_cost(record, window) {
                    Ok(found) => return Ok(found),
                    // Of the newest: what older ones lack says less.
                    Err(why) => reason = reason.or(Some(why)),
                },
                Some(_) => {}
                None => match self.records.next() {
                    None => break,
                    Some(record) => {
                        self.looked_at += 1;
                        if record.environment.kernel == kernel && record.calibration.value().is_some() {
                            self.known.push(record);
                        }
                        continue;
                    }
                },
            }
            at += 1;
        }
        Err(reason.unwrap_or(NoCost::NoRunOfDisk { looked_at: self.looked_at, disk: disk.clone() }))
    }
}

/// What the file's folios mean for mappings, by the newest saved run of this machine that calibrated such folios.
fn faults(view: &FileView) -> Result<FaultView, String> {
    let store = history::Store::open(None).map_err(|error| format!("saved runs cannot be read: {error:#}"))?;
    let here = machine::here(&store);
    let whose = Whose::Here(MadeOn::new(&here, Origin::Own));
    let records = machine::newest(&store, &whose).map_err(|error| format!("saved runs cannot be read: {error:#}"))?;
    by_runs(view, &here.kernel, records.map(|(record, _)| record))
}

/// After so many runs of other files none of this file is looked for any more: each is a record to load.
const OTHERS: usize = 8;

/// The unit costs of runs of another kernel say nothing here, and neither do those of another file system: it decides how large
/// folios can be, and files that are in memory alone have no fills.
fn by_runs(view: &FileView, kernel: &str, records: impl Iterator<Item = Record>) -> Result<FaultView, String> {
    let pages = match &view.pages_per_fault {
        Reading::Value(pages) => *pages,
        Reading::Unavailable { unavailable } => return Err(unavailable.clone()),
    };
    let orders = view.folio_orders.value();
    let folio_bytes = orders.and_then(|it| Some(view.page_bytes << it.iter().max_by_key(|it| it.pages)?.order));
    let (mut looked_at, mut reason, mut others) = (0, None, Vec::new());
    for record in records {
        looked_at += 1;
        let is_like_it = record.target.file_system == view.file_system;
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
    let none = || NoCost::NoRun { looked_at, file_system: view.file_system.clone(), in_memory: !view.can_be_evicted };
    Err(reason.unwrap_or_else(|| report::words::no_cost(&none())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::inspection::Unlooked;

    /// A measured run with unit costs.
    const MEASURED: &str = include_str!("../../../analysis/tests/records/crossover.json");

    fn on(disk: Option<&str>, window: u64) -> MappedFile {
        let stranger = || Unlooked::Stranger;
        MappedFile {
            name: "/data/file".into(),
            device: "8:1".into(),
            inode: 1,
            is_code: false,
            mappings: 1,
            bytes: 1 << 30,
            unadvised_bytes: Some(1 << 30),
            unadvised_resident_bytes: Some(0),
            advice: Some(Vec::new()),
            resident_bytes: 0,
            file_bytes: Reading::Value(1 << 30),
            residency: Reading::unavailable(stranger()),
            folio_orders: Reading::unavailable(stranger()),
            pages_per_fault: Reading::unavailable(stranger()),
            read_ahead_bytes: Reading::Value(window),
            disk: disk.map(str::to_string),
            places: None,
            meanwhile: None,
            cost: None,
            pattern: None,
            miss: None,
        }
    }

    #[test]
    fn what_a_miss_takes_is_taken_from_the_newest_run_on_that_disk_and_kernel_and_loaded_once() {
        let measured: Record = serde_json::from_str(MEASURED).unwrap();
        let kernel = measured.environment.kernel.clone();
        let disk = measured.target.device.value().unwrap().name.clone();
        let of = |id: &str, disk: &str, kernel: &str| {
            let mut record = measured.clone();
            (record.id, record.environment.kernel) = (id.into(), kernel.into());
            let Reading::Value(device) = &mut record.target.device else { unreachable!() };
            device.name = disk.into();
            record
        };
        let records = [
            of("old kernel", &disk, "1.0"),
            of("newest", &disk, &kernel),
            of("older", &disk, &kernel),
            of("other", "sdz", &kernel),
        ];
        let mut runs = Runs { records: records.into_iter(), known: Vec::new(), looked_at: 0 };
        let mut run = |file: MappedFile| runs.miss_cost(&file, &kernel).map(|it| it.run);
        assert_eq!(run(on(Some(&disk), 128 << 10)), Ok("newest".into()));
        assert_eq!(run(on(Some("sdz"), 128 << 10)), Ok("other".into()));
        assert_eq!(run(on(Some(&disk), 128 << 10)), Ok("newest".into()));
        let none = NoCost::NoRunOfDisk { looked_at: 4, disk: "sdy".into() };
        assert_eq!(run(on(Some("sdy"), 128 << 10)), Err(none));
        assert_eq!(run(on(None, 128 << 10)), Err(NoCost::NoDisk));
        let unknown = MappedFile { read_ahead_bytes: Reading::unavailable(Unlooked::Gone), ..on(Some(&disk), 0) };
        assert_eq!(run(unknown), Err(NoCost::NoWindow));
        let costs = |window| analysis::miss_cost(&measured, window).unwrap();
        let (small, large) = (costs(128 << 10), costs(1 << 20));
        assert!(large.window_ns >= small.window_ns && small.window_ns >= small.page_ns && small.page_ns > 0.0);
        assert_eq!(small.page_ns, large.page_ns);
        assert_eq!(costs(0).window_ns, small.page_ns, "without read-ahead a miss is a page");
        let small_file = MappedFile { file_bytes: Reading::Value(64 << 10), ..on(None, 8 << 20) };
        assert_eq!((small_file.window_bytes(), on(None, 8 << 20).window_bytes()), (Some(64 << 10), Some(8 << 20)));
        let huge = Some(vec![schema::inspection::MappingAdvice::Hugepage]);
        assert_eq!(MappedFile { advice: huge, ..on(None, 8 << 20) }.window_bytes(), None);
    }

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
        says(of(true, &[&on_tmpfs, &other_kernel]), "none of the 2 newest complete saved runs of this machine");
        says(of(false, &[&on_device]), "the one complete saved run of this machine");
        says(of(true, &[]), "no complete saved run of this machine");
        let mut on_xfs = on_device.clone();
        on_xfs.target.file_system = "xfs".into();
        says(of(true, &[&on_xfs]), "of a file on ext4, as this one is");
    }
}
