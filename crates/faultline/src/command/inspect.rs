//! `faultline inspect`: where the pages of a file are, or what a process has mapped. It reads; it changes nothing.

use anyhow::{Context, Result};
use schema::{
    Reading,
    inspection::{FaultView, FileView, Inspection},
    machine::{MadeOn, Origin, Whose},
};

use crate::{cli::InspectArgs, exit::Exit, machine, output};

pub fn run(args: &InspectArgs) -> Result<Exit> {
    let seen = look(args)?;
    output::print(&match args.json {
        true => report::inspection_json(&seen),
        false => report::inspection(&seen, output::style(false)),
    })?;
    Ok(Exit::Answered)
}

/// A file of that name comes before a process of that number; `./4711` is always the file.
fn look(args: &InspectArgs) -> Result<Inspection> {
    let pid = args.what.to_str().and_then(|it| it.parse::<u32>().ok()).filter(|_| !args.what.exists());
    match pid {
        Some(pid) => lab::inspect::process(pid).map(Inspection::Process),
        None => lab::inspect::file(&args.what)
            .map(|mut it| {
                it.faults = faults(&it).into();
                Inspection::File(Box::new(it))
            })
            .with_context(|| format!("cannot inspect {}", args.what.display())),
    }
}

/// Of the newest saved runs, so many are looked at.
const LOOKED_AT: usize = 20;

/// What the file's folios mean for mappings, by the newest saved run of this machine that calibrated such folios.
fn faults(view: &FileView) -> Result<FaultView, String> {
    let pages = match &view.pages_per_fault {
        Reading::Value(pages) => *pages,
        Reading::Unavailable { unavailable } => return Err(unavailable.clone()),
    };
    let orders = view.folio_orders.value();
    let folio_bytes = orders.and_then(|it| Some(view.page_bytes << it.iter().max_by_key(|it| it.pages)?.order));
    let saved = history::Store::open(None).and_then(|store| Ok((store.list()?, store)));
    let (list, store) = saved.map_err(|error| format!("saved runs cannot be read: {error:#}"))?;
    let here = machine::here(&store);
    let whose = Whose::Here(MadeOn::new(&here, Origin::Own));
    let mut reason = None;
    for (_, path) in list.into_iter().take(LOOKED_AT) {
        let Ok(record) = store.load_file(&path) else { continue };
        let made_here = whose.includes(&MadeOn::new(&record.environment, Origin::Own));
        if !made_here || record.environment.kernel != here.kernel || record.calibration.value().is_none() {
            continue;
        }
        match analysis::faults_on(&record, pages, folio_bytes) {
            Ok(found) => return Ok(found),
            // Of the newest: what older ones lack says less.
            Err(why) => reason = reason.or(Some(format!("run {}: {}", record.id, report::words::no_cost(&why)))),
        }
    }
    let without = "no saved run of this machine has unit costs; `faultline run . -e calibrate` measures them";
    Err(reason.unwrap_or_else(|| without.to_string()))
}
