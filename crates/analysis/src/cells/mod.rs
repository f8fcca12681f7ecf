//! What one arm did under one condition.

pub(crate) mod beats;
pub(crate) mod counted;
pub(crate) mod forks;
pub(crate) mod metric;
pub(crate) mod precision;
pub(crate) mod safepoints;

use schema::{
    Reading,
    findings::{CellFinding, Status},
    protocol::Tally,
    reason::{Inconsistent, Reason, Unseen},
    warning::ForkGroups,
};

use crate::{
    measured::{Cell, Pass, Run, most_frequent},
    stats::{self, SortedValues},
};

pub(crate) fn finding(run: &Run, cell: &Cell) -> CellFinding {
    let (status, reasons) = status(run, cell);
    let bytes_per_s = cell.passes.iter().map(|pass| cell.lent_bytes(pass) * 1e9 / pass.ns);
    CellFinding {
        id: cell.id,
        arm: cell.arm().clone(),
        condition: cell.condition.clone(),
        own_condition: cell.entry.own_condition.clone(),
        control: cell.entry.control,
        status,
        reasons,
        samples: cell.passes.len() as u32,
        invalid_samples: cell.invalid.len() as u32,
        failed_samples: cell.failed.len() as u32,
        ns_per_op: stats::median_of_positive(cell.passes.iter().filter_map(|pass| pass.ns_per_op())),
        bytes_per_s: stats::median_of_positive(bytes_per_s),
        bytes: SortedValues::new(cell.passes.iter().map(|pass| cell.lent_bytes(pass)).collect())
            .map(|it| it.median())
            .filter(|&bytes| bytes > 0.0),
        distinct_bytes: cell.distinct_bytes(),
        user_ns_per_op: cell.part_of_cpu_per_op("user_ns"),
        system_ns_per_op: cell.part_of_cpu_per_op("system_ns"),
        minor_faults: cell.reading("minor_faults", SortedValues::median),
        major_faults: cell.reading("major_faults", SortedValues::median),
        device_read_bytes: cell.reading("device_read_bytes", SortedValues::median),
        device_write_bytes: cell.reading("device_write_bytes", SortedValues::median),
        misses_per_block: misses(run, cell),
        device_bytes_per_byte: cell.reading("device_bytes_per_byte", SortedValues::median),
        peak_memory_bytes: cell.reading("peak_memory_bytes", SortedValues::median),
        peak_anonymous_bytes: cell.reading("peak_anonymous_bytes", SortedValues::median),
        peak_file_bytes: cell.reading("peak_file_bytes", SortedValues::median),
        ceiling_share: cell.ceiling_share(run),
    }
}

/// Through a mapping they are major faults, and a page of a hole has one without a read: the kernel makes the page and fills it with
/// zeros (mm/filemap.c, `filemap_fault`). By calls a hole waits for nothing.
fn misses(run: &Run, cell: &Cell) -> Reading<f64, Reason> {
    match cell.reading("misses_per_block", SortedValues::median) {
        Reading::Value(_) if cell.arm().maps() && run.record.target.allocated().is_some() => {
            Reading::unavailable(Unseen::HolesFault)
        }
        misses => misses,
    }
}

fn status(run: &Run, cell: &Cell) -> (Status, Vec<Reason>) {
    let lost = || cell.invalid.iter().map(String::as_str).chain(cell.failed.iter().copied());
    let passes = cell.passes.len() + lost().count();
    let lost_passes = |reasons: &mut dyn Iterator<Item = &str>| {
        let (reason, lost) = most_frequent(reasons)?;
        Some(Reason::LostPasses { lost, passes, reason: reason.to_string() })
    };
    if !cell.passes.is_empty() {
        let mut reasons: Vec<Reason> = lost_passes(&mut lost()).into_iter().collect();
        reasons.extend(inconsistent_work(cell).map(Reason::Inconsistent));
        reasons.extend(forks::split(run, cell).map(|it| {
            let ForkGroups { slow, forks, factor, .. } = it.says;
            Reason::ForksDisagree { slow, forks, factor }
        }));
        reasons.extend((cell.passes.len() == 1).then_some(Reason::SinglePass));
        return (Status::Ok, reasons);
    }
    if passes == 0 {
        let reason = run.record.why_untried(cell.id.cell).unwrap_or(Reason::NoPass);
        return (Status::Skipped, vec![reason]);
    }
    let (status, reason) = if cell.invalid.len() >= cell.failed.len() {
        (Status::Invalid, lost_passes(&mut cell.invalid.iter().map(String::as_str)))
    } else {
        (Status::Failed, lost_passes(&mut cell.failed.iter().copied()))
    };
    (status, reason.into_iter().collect())
}

/// Why the passes of one cell were not all the same work: above all, a file that changed meanwhile. Random offsets may
/// be drawn anew in every round, and with them what they reach and its checksum.
pub(crate) fn inconsistent_work(cell: &Cell) -> Option<Inconsistent> {
    let first = cell.passes.first()?.tally;
    let differs = |same: &dyn Fn(&Tally) -> bool| cell.passes.iter().map(|pass| pass.tally).find(|tally| !same(tally));
    let passes = cell.passes.len();
    if let Some(other) = differs(&|tally| tally.bytes == first.bytes && tally.ops == first.ops) {
        let (bytes, ops) = ([first.bytes, other.bytes], [first.ops, other.ops]);
        return Some(Inconsistent::Amounts { passes, bytes, ops });
    }
    let scanned = cell.own.workload.is_ascending();
    if scanned
        && differs(&|tally| {
            (tally.distinct_bytes, tally.distinct_pages) == (first.distinct_bytes, first.distinct_pages)
        })
        .is_some()
    {
        return Some(Inconsistent::Parts { passes });
    }
    changed_bytes(cell)
}

/// Why passes of one cell that read the same part did not find the same bytes there: the file was written to between them,
/// and what any pair of them says is about two files. Or why a command's did not print the same.
pub(crate) fn changed_bytes(cell: &Cell) -> Option<Inconsistent> {
    let part = |it: &Pass| (it.window_offset, it.tally.ops, it.tally.bytes, it.tally.distinct_bytes);
    let differs = |one: &Tally, other: &Tally| {
        (one.checksum != other.checksum).then(|| [one.checksum.clone(), other.checksum.clone()])
    };
    let changed = |it: &Pass| {
        let first = cell.passes.iter().find(|other| part(other) == part(it))?;
        differs(first.tally, it.tally)
    };
    let checksums = cell.passes.iter().find_map(changed).filter(|_| cell.own.workload.is_ascending())?;
    let passes = cell.passes.len();
    Some(match cell.arm().is_command() {
        // What is summed up of a command is its output.
        true => Inconsistent::Outputs { passes, checksums },
        false => Inconsistent::Bytes { passes, checksums },
    })
}
