//! Why the time of a pass does not follow from unit costs; and what cells have in common whose predictions are off.

use schema::{
    Bytes,
    no_cost::{NoCost, Operation},
    unit_cost::Trait,
};

use super::numbers::thousands;

pub fn no_cost(why: &NoCost) -> String {
    match why {
        NoCost::Writes => "the model does not include writing".into(),
        NoCost::Replay => "the model does not include the accesses of a trace".into(),
        NoCost::Runtime { runtime } => format!("unit costs are of native code, not of {runtime}"),
        NoCost::Threads => "unit costs are of one thread".into(),
        NoCost::Beside => "unit costs are of passes that nothing runs beside".into(),
        NoCost::AcrossPages => "unit costs are of blocks that begin at a page or lie within one".into(),
        NoCost::Throttled => "the device is throttled, and was calibrated as it is".into(),
        NoCost::State { state } => format!("in state {state} it is unknown where the pages are"),
        NoCost::TooLargeToLock => "memory is too small to lock the range".into(),
        NoCost::Unaligned { sector_bytes } => {
            format!("O_DIRECT reads only blocks that are multiples of {sector_bytes} bytes, or of more")
        }
        NoCost::NotFinite => "the costs are not finite".into(),
        NoCost::NotCalibrated(operation) => not_calibrated(operation),
        NoCost::Fill { fill } => calibrate(&format!("the folios of fill {fill}"), &fill.to_string()),
        NoCost::Folios { bytes } => {
            calibrate(&format!("folios of {}", Bytes(*bytes)), &format!("written={}", Bytes(*bytes).exact()))
        }
        NoCost::PagesPerFault { pages } => format!(
            "a fault maps {pages} of its pages here, and another number after every calibrated fill: pages beside those \
             that are read are not in the page cache, or lie in folios of other sizes"
        ),
        NoCost::RequestSize { bytes, largest } => format!(
            "requests of {} to the device were not calibrated, the largest that were have {}, and the run has no device \
             ceiling; `faultline run FILE -e calibrate --budget 2m` has more time for both",
            Bytes(*bytes),
            Bytes(*largest)
        ),
        NoCost::NoRun { looked_at, file_system, in_memory } => no_run(*looked_at, file_system, *in_memory),
        NoCost::NoRunOfDisk { looked_at, disk } => no_run_of(
            *looked_at,
            &format!(" and of disk {disk}"),
            "; `faultline run FOLDER -e calibrate` measures them, FOLDER being on that disk",
        ),
        NoCost::NoDisk => "no single disk is known that it lies on".into(),
        NoCost::NoWindow => "how far a miss of it reads ahead is not known".into(),
        NoCost::NoUnitCosts { run } => format!("run {run} has no unit costs"),
        NoCost::NoFaults { run } => format!("the unit costs of run {run} have no faults"),
    }
}

fn no_run(looked_at: u64, file_system: &str, in_memory: bool) -> String {
    let of = format!(" and of a file on {file_system}, as this one is");
    let folder = if in_memory { "FOLDER" } else { "." };
    let beside = if in_memory { " in a folder beside it" } else { "" };
    no_run_of(looked_at, &of, &format!("; `faultline run {folder} -e calibrate`{beside} measures them"))
}

fn no_run_of(looked_at: u64, of: &str, advice: &str) -> String {
    let looked = match looked_at {
        0 => "no complete saved run of this machine has unit costs".to_string(),
        1 => format!("the one complete saved run of this machine has no unit costs of this kernel{of}"),
        _ => format!(
            "none of the {} newest complete saved runs of this machine has unit costs of this kernel{of}",
            thousands(looked_at)
        ),
    };
    format!("{looked}{advice}")
}

fn calibrate(what: &str, fill: &str) -> String {
    let fill = fill.replace(' ', "");
    format!("{what} were not calibrated; `faultline run FILE -e calibrate --fill {fill}` calibrates them")
}

fn not_calibrated(operation: &Operation) -> String {
    let one = match operation {
        Operation::ReadCall => "a read call",
        Operation::BareCall => "a bare system call",
        Operation::Copying => "copying",
        Operation::Summing => "summing",
        Operation::Opening => "opening",
        Operation::Populating => "populating",
        Operation::Mapping => "mapping",
        Operation::TouchingPages => "touching a mapped page",
        Operation::RandomAccess => "random access",
        Operation::AscendingReads => "reading in ascending order",
        Operation::Device => "the device",
        Operation::Method { method } => method,
        Operation::Consume { consume } => return format!("consume {consume} was not calibrated"),
        Operation::Part { percent } => return format!("consuming {percent} % of each block was not calibrated"),
        Operation::Advice { advice } => return format!("advice {advice} was not calibrated"),
        Operation::RandomReads => return "random reads were not calibrated".into(),
        Operation::Faults => return "faults were not calibrated".into(),
        Operation::InFlight { requests } => {
            return format!("the device was not calibrated with {requests} in flight");
        }
    };
    format!("{one} was not calibrated")
}

/// `blocks of 1 MiB, cold, predicted too low`; `None` without any.
pub fn traits(of: &[Trait]) -> Option<String> {
    let word = |it: &Trait| match it {
        Trait::Block { bytes } => format!("blocks of {}", Bytes(*bytes)),
        Trait::State(state) => state.to_string(),
        Trait::Arm(arm) => arm.clone(),
        Trait::TooHigh => "predicted too high".into(),
        Trait::TooLow => "predicted too low".into(),
        Trait::Workload(workload) => workload.to_string(),
    };
    (!of.is_empty()).then(|| of.iter().map(word).collect::<Vec<String>>().join(", "))
}
