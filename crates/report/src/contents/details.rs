//! A table per condition: what every arm cost, and under it why a row has no number or no verdict.

use std::collections::BTreeMap;

use schema::{
    Condition, ConditionId, Findings, Labels, Names, Record, Workload,
    findings::{AnswerOf, CellFinding, Comparison, Estimate, Status, Verdict},
    reason::{Reason, Unseen},
    record::Reading,
};

use super::{map, own, study, within_rounds};
use crate::{
    layout::{
        number,
        paint::Paint,
        table::{Cell, Column, Table},
    },
    words::{self, caution, explanation, reason, reasons},
};

pub(crate) struct ConditionSection {
    pub(crate) title: String,
    pub(crate) about: String,
    /// Columns in which every arm has the same are said here once instead.
    pub(crate) alike: Option<String>,
    /// The line of the map, in words and at full length.
    pub(crate) says: Option<String>,
    pub(crate) table: Table,
    pub(crate) notes: Vec<Note>,
}

/// Who it is about, and what is to be said.
pub(crate) struct Note {
    pub(crate) about: String,
    pub(crate) text: String,
}

/// What a probe could not see, once for all tables.
pub(crate) struct Missing {
    pub(crate) reading: &'static str,
    pub(crate) reason: String,
    pub(crate) cells: usize,
}

/// A probe's column: its title, where its value is, how it is shown.
struct Probe {
    title: &'static str,
    reading: fn(&CellFinding) -> &Reading<f64, Reason>,
    show: fn(f64) -> String,
    /// Not shown unless some cell has more than nothing of it.
    only_if_any: bool,
}

const PROBES: &[Probe] = &[
    probe("user/op", |cell| &cell.user_ns_per_op, number::duration_glued),
    probe("sys/op", |cell| &cell.system_ns_per_op, number::duration_glued),
    probe("minor faults", |cell| &cell.minor_faults, number::count),
    probe("major faults", |cell| &cell.major_faults, number::count),
    probe("from device", |cell| &cell.device_read_bytes, number::bytes_glued),
    Probe { only_if_any: true, ..probe("dirtied or written", |cell| &cell.device_write_bytes, number::bytes_glued) },
    Probe { only_if_any: true, ..probe("misses/op", |cell| &cell.misses_per_block, number::significant) },
    Probe { only_if_any: true, ..probe("device bytes/byte", |cell| &cell.device_bytes_per_byte, number::significant) },
    probe("peak memory", |cell| &cell.peak_memory_bytes, number::bytes_glued),
    Probe { only_if_any: true, ..probe("anonymous", |cell| &cell.peak_anonymous_bytes, number::bytes_glued) },
    Probe { only_if_any: true, ..probe("file pages", |cell| &cell.peak_file_bytes, number::bytes_glued) },
];

const fn probe(
    title: &'static str,
    reading: fn(&CellFinding) -> &Reading<f64, Reason>,
    show: fn(f64) -> String,
) -> Probe {
    Probe { title, reading, show, only_if_any: false }
}

/// How to read the tables, once. A run of `advise` has commands and replays.
pub(crate) fn legend(record: &Record) -> String {
    let has = |of_commands: bool| record.conditions.iter().any(|it| it.is_of_commands() == of_commands);
    let of_blocks = "Per op: one block, or one access of a replay, with its share of open and close. Job: by passes at the \
                     size of the job, and not by those of the row; unconfirmed: passes at the size of the job decide \
                     nothing, or there are none and those of the row are a part of it. A percentage after the throughput is the share of the device's ceiling or of its throttle.";
    let of_commands = "Per execution of a command, with every process that it started. Peaks of memory are the largest of \
                       samples taken every few milliseconds, summed over processes: anonymous memory, and mapped pages of \
                       files. The kernel's fault counters do not separate faults on files; only tracepoints do.";
    let of_all = "Intervals are 95 %. A speedup above 1 means faster than the baseline. CPU times are means; the columns \
                  after them are medians.";
    let of = [has(false).then_some(of_blocks), has(true).then_some(of_commands), Some(of_all)];
    of.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Why a probe's column has no value: in words, but for the numbers of a reason that each cell has others of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    Few { tick_ns: u64, threads: u32 },
    Other(String),
}

/// The cells of a gap, and from where to where their CPU times lie.
struct Cells {
    cells: usize,
    cpu_ns: [u64; 2],
}

/// By the place of the probe.
#[derive(Default)]
struct Gaps(BTreeMap<(usize, Gap), Cells>);

impl Gaps {
    fn add(&mut self, probe: usize, why: &Reason) {
        let (gap, cpu_ns) = match why {
            Reason::Unseen(Unseen::FewTicks { cpu_ns, tick_ns, threads }) => {
                (Gap::Few { tick_ns: *tick_ns, threads: *threads }, *cpu_ns)
            }
            why => (Gap::Other(reason(why)), 0),
        };
        self.join((probe, gap), Cells { cells: 1, cpu_ns: [cpu_ns; 2] });
    }

    fn join(&mut self, gap: (usize, Gap), more: Cells) {
        let known = self.0.entry(gap).or_insert(Cells { cells: 0, cpu_ns: more.cpu_ns });
        let ([least, most], [other_least, other_most]) = (known.cpu_ns, more.cpu_ns);
        *known = Cells { cells: known.cells + more.cells, cpu_ns: [least.min(other_least), most.max(other_most)] };
    }

    fn in_words(self) -> Vec<Missing> {
        let in_words = |((probe, gap), Cells { cells, cpu_ns }): ((usize, Gap), Cells)| {
            let reason = match gap {
                Gap::Few { tick_ns, threads } => words::few_ticks(cpu_ns, tick_ns, threads),
                Gap::Other(reason) => reason,
            };
            Missing { reading: PROBES[probe].title, reason, cells }
        };
        self.0.into_iter().map(in_words).collect()
    }
}

/// Every table of the run. In a study the two forms of a comparison may have a condition in common, so each has tables of
/// its own.
pub(crate) fn of_run(record: &Record, findings: &Findings) -> (Vec<ConditionSection>, Vec<Missing>) {
    if !study::is_one(record) {
        let (all, gaps) = sections(record, findings);
        return (all, gaps.in_words());
    }
    let (mut all, mut gaps) = (Vec::new(), Gaps::default());
    for origin in 0..record.experiment.comparisons.len() {
        let (mut of_one, lost) = sections(record, &study::part(findings, origin));
        if let Some(heading) = study::heading(record, origin) {
            of_one.iter_mut().for_each(|section| section.title = format!("{heading}: {}", section.title));
        }
        all.extend(of_one);
        lost.0.into_iter().for_each(|(gap, cells)| gaps.join(gap, cells));
    }
    (all, gaps.in_words())
}

fn sections(record: &Record, findings: &Findings) -> (Vec<ConditionSection>, Gaps) {
    let names = Names::of(record);
    let conditions = conditions(findings);
    let shown = |index: usize| conditions.iter().any(|it| it.condition_index == index);
    let labels = Labels::of_some(record, shown);
    let ok = |cell: &&CellFinding| cell.status == Status::Ok;
    let shown: Vec<&Probe> = PROBES
        .iter()
        .filter(|probe| {
            let mut values = findings.cells.iter().filter(ok).filter_map(|cell| (probe.reading)(cell).value());
            if probe.only_if_any { values.any(|&value| value > 0.0) } else { values.next().is_some() }
        })
        .collect();
    let mut gaps = Gaps::default();
    for (i, probe) in PROBES.iter().enumerate().filter(|(_, probe)| !probe.only_if_any) {
        for why in findings.cells.iter().filter(ok).filter_map(|cell| (probe.reading)(cell).why()) {
            gaps.add(i, why);
        }
    }
    let sections = conditions.iter().filter_map(|&id| section(id, &labels, record, findings, &names, &shown)).collect();
    (sections, gaps)
}

/// Every condition of the findings once, in the order of the record.
fn conditions(findings: &Findings) -> Vec<ConditionId> {
    let mapped = findings.map.iter().map(|line| line.id);
    let mut conditions: Vec<ConditionId> = mapped.chain(findings.cells.iter().map(|cell| cell.id.condition)).collect();
    conditions.sort_unstable();
    conditions.dedup();
    conditions
}

/// Nothing of a condition that the record does not have.
fn section(
    id: ConditionId,
    labels: &Labels,
    record: &Record,
    findings: &Findings,
    names: &Names,
    probes: &[&Probe],
) -> Option<ConditionSection> {
    let condition = record.conditions.get(id.condition_index)?;
    let baseline = map::baseline(id, record);
    let mut cells = entries(id, findings, names, baseline);
    cells.sort_by(|a, b| a.rank().total_cmp(&b.rank()));
    let versus =
        baseline.map_or("speedup".to_string(), |cell| format!("vs {}", names.short(&record.cells[cell].arm.name)));
    let mut columns =
        vec![Column::left("arm"), Column::right("time/op"), Column::left(versus), Column::right("throughput")];
    let probed = columns.len();
    columns.extend(probes.iter().map(|probe| Column::right(probe.title)));
    if condition.is_of_commands() {
        // A command is one operation, and the bytes that it delivered are not known.
        columns.iter_mut().for_each(|column| column.title = column.title.replace("/op", ""));
    }
    if let Some(column) = columns.get_mut(probed) {
        column.begins_group = true;
    }

    let baseline_ns = cells.iter().find(|it| it.is_baseline).and_then(|it| it.cell.ns_per_op).map(|it| it.median);
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for entry in &cells {
        rows.push(row(entry, probes));
        note_status(entry.cell, &entry.name, &mut notes);
        if let Some(comparison) = entry.comparison {
            note_comparison(comparison, &entry.name, &mut notes);
            let times = baseline_ns.zip(entry.cell.ns_per_op).map(|(baseline, own)| (own.median, baseline));
            // The times of the row are of the rounds, and a ratio of the job says that it is not.
            let ratio = comparison.speedup.filter(|_| comparison.answer_of != AnswerOf::Job);
            if times.zip(ratio).is_some_and(|((own, baseline), it)| within_rounds::contradict(own, baseline, it)) {
                notes.push(Note { about: entry.name.clone(), text: within_rounds::NOTE.to_string() });
            }
        }
    }
    notes.extend(differences(id, condition, record, names));
    let notes = together(notes);
    let measured: Vec<bool> = cells.iter().map(|entry| entry.cell.status == Status::Ok).collect();
    if !measured.contains(&true) {
        // Nothing was seen around passes that were not made.
        columns.truncate(probed);
        rows.iter_mut().for_each(|row: &mut Vec<Cell>| row.truncate(probed));
    }
    let mut table = Table { columns, rows };
    let alike = hoist(&mut table, &measured);
    if condition.is_of_commands() {
        table.columns.remove(THROUGHPUT);
        table.rows.iter_mut().for_each(|row| drop(row.remove(THROUGHPUT)));
        // The group begins with the column that comes after it.
        if let Some(column) = table.columns.get_mut(THROUGHPUT) {
            column.begins_group = true;
        }
    }
    Some(ConditionSection {
        title: labels.label(id.condition_index),
        about: about(condition, record.has_moving_windows(id.condition_index)),
        alike,
        says: says(id, findings, &notes),
        table,
        notes,
    })
}

/// What is said of several arms is said once.
fn together(notes: Vec<Note>) -> Vec<Note> {
    let mut merged: Vec<Note> = Vec::new();
    for note in notes {
        match merged.iter_mut().find(|it| it.text == note.text) {
            Some(same) => same.about.push_str(&format!(", {}", note.about)),
            None => merged.push(note),
        }
    }
    merged
}

/// The column of the throughput; those after it are what probes saw.
const THROUGHPUT: usize = 3;

/// Takes out the columns after the throughput in which all measured rows agree, and says them in words.
fn hoist(table: &mut Table, measured: &[bool]) -> Option<String> {
    let mut described = Vec::new();
    for column in (THROUGHPUT + 1..table.columns.len()).rev() {
        let mut texts: Vec<&str> = table
            .rows
            .iter()
            .zip(measured)
            .filter(|(_, measured)| **measured)
            .map(|(row, _)| row[column].text.as_str())
            .collect();
        if texts.len() < 2 {
            return None;
        }
        texts.dedup();
        if let [only] = texts[..] {
            described.insert(0, format!("{} {only}", table.columns[column].title));
            table.columns.remove(column);
            for row in &mut table.rows {
                row.remove(column);
            }
        }
    }
    (!described.is_empty()).then(|| format!("The same for every arm: {}", described.join(", ")))
}

/// The line of the map in words; its reason only where no note gives it already.
fn says(id: ConditionId, findings: &Findings, notes: &[Note]) -> Option<String> {
    let line = findings.map.iter().find(|line| line.id == id)?;
    let new = |explanation: &String| !notes.iter().any(|note| note.text.contains(explanation.as_str()));
    let unconfirmed = if line.is_unconfirmed() { format!(" ({})", words::UNCONFIRMED) } else { String::new() };
    let says = words::line(&line.says) + &unconfirmed;
    Some(match line.explanation.as_ref().map(explanation).filter(new) {
        Some(explanation) => format!("{says}: {explanation}"),
        None => says,
    })
}

/// `moves`: its passes read another part of the file in each round.
fn about(condition: &Condition, moves: bool) -> String {
    let bytes = |bytes: u64| number::bytes_glued(bytes as f64);
    if condition.is_of_commands() {
        let limit = condition.memory_bytes.map_or(String::new(), |it| format!(", {} of memory for them", bytes(it)));
        return format!("one execution a pass · {} of named files{limit}", bytes(condition.file_bytes));
    }
    let range = if condition.workload == Workload::Append {
        format!("an empty file, which grows to {}", bytes(condition.range.bytes))
    } else if condition.range.bytes == condition.file_bytes {
        format!("a file of {}", bytes(condition.file_bytes))
    } else {
        let at = match condition.range.offset {
            _ if moves => ", another part in each round,".to_string(),
            0 => String::new(),
            offset => format!(" from offset {}", bytes(offset)),
        };
        format!("{}{at} of {}", bytes(condition.range.bytes), bytes(condition.file_bytes))
    };
    // Where no pass was planned, none has a size.
    let passes = match condition.ops {
        0 => range,
        ops => format!("{} ops a pass over {range}", number::count(ops as f64)),
    };
    let mut words = vec![passes];
    words.extend(condition.workload.consumes().then(|| condition.consume.to_string()));
    words.extend(condition.memory_bytes.map(|it| format!("{} of memory", bytes(it))));
    words.push(map::threads(condition.threads));
    if condition.threads > 1 {
        words.push(format!("{} descriptor", condition.descriptor));
    }
    if !condition.aligned {
        words.push("unaligned".into());
    }
    if condition.storage.is_some() {
        words.push(map::storage(condition));
    }
    if condition.own_work_ns > 0 {
        let own = number::duration_glued(condition.own_work_ns as f64);
        words.push(format!(
            "{own} of the program's own work between the accesses of a pass, which is a part of its time"
        ));
    }
    words.join(" · ")
}

/// A row of the table and what it stands for.
struct ArmEntry<'a> {
    name: String,
    cell: &'a CellFinding,
    is_baseline: bool,
    comparison: Option<&'a Comparison>,
}

impl ArmEntry<'_> {
    /// The fastest comes first, and what was not measured last.
    fn rank(&self) -> f64 {
        self.cell.ns_per_op.filter(|_| self.cell.status == Status::Ok).map_or(f64::INFINITY, |ns| ns.median)
    }
}

/// The cells of a condition with their comparisons. One arm may be entered several times; then its names are numbered.
fn entries<'a>(id: ConditionId, findings: &'a Findings, names: &Names, baseline: Option<usize>) -> Vec<ArmEntry<'a>> {
    let mut entries: Vec<ArmEntry> = Vec::new();
    for cell in findings.cells.iter().filter(|cell| cell.id.condition == id) {
        let short = names.short(&cell.arm.name);
        let repeats = entries.iter().filter(|it| !it.cell.control && it.cell.arm.name == cell.arm.name).count();
        let name = if cell.control { format!("{short} (A/A)") } else { numbered(short, repeats) };
        let comparison = findings.comparisons.iter().find(|it| it.id == cell.id);
        entries.push(ArmEntry { name, cell, is_baseline: Some(cell.id.cell) == baseline, comparison });
    }
    entries
}

fn numbered(name: &str, before: usize) -> String {
    if before == 0 { name.to_string() } else { format!("{name} #{}", before + 1) }
}

fn row(entry: &ArmEntry, probes: &[&Probe]) -> Vec<Cell> {
    let cell = entry.cell;
    let ok = cell.status == Status::Ok;
    let missing = || number::MISSING.to_string();
    let time = match (&cell.ns_per_op, cell.status) {
        (Some(ns), Status::Ok) => Cell::plain(number::duration_interval(ns)),
        (None, Status::Ok) => Cell::plain(missing()),
        (_, Status::Skipped) => Cell::new("skipped", Paint::Unsure),
        (_, Status::Invalid) => Cell::new("invalid", Paint::Unsure),
        (_, Status::Failed) => Cell::new("failed", Paint::Bad),
    };
    let mut cells = vec![Cell::plain(entry.name.clone()), time, versus(entry)];
    if !ok {
        let rest = 1 + probes.len();
        cells.extend(std::iter::repeat_n(Cell::plain(""), rest));
        return cells;
    }
    let share = cell.ceiling_share.map_or(String::new(), |share| format!("\u{a0}({})", number::percent(share)));
    let throughput = |rate: &Estimate| number::throughput_glued(rate.median) + &share;
    cells.push(Cell::plain(cell.bytes_per_s.as_ref().map_or_else(missing, throughput)));
    cells.extend(
        probes
            .iter()
            .map(|probe| Cell::plain((probe.reading)(cell).value().map_or_else(missing, |&value| (probe.show)(value)))),
    );
    cells
}

fn versus(entry: &ArmEntry) -> Cell {
    let Some(comparison) = entry.comparison else {
        return Cell::plain(if entry.is_baseline { "baseline" } else { "" });
    };
    let paint = match comparison.verdict {
        Verdict::Faster => Paint::Good,
        Verdict::Slower => Paint::Bad,
        Verdict::Same => Paint::Plain,
        Verdict::Undecided | Verdict::NotComparable => Paint::Unsure,
    };
    // The times of the row are of the rounds.
    let of = words::of_passes(comparison.answer_of, comparison.verdict.is_decided());
    match &comparison.speedup {
        Some(speedup) => {
            Cell::new(format!("{} {}{of}", number::speedup_glued(speedup), comparison.verdict.words()), paint)
        }
        None if entry.cell.status == Status::Ok => Cell::new(comparison.verdict.words(), paint),
        None => Cell::plain(""),
    }
}

const NO_REASON: &str = "no reason was recorded";

/// A reason without the count that the sentence around it gives already.
fn uncounted(reason: &str, lost: u32, all: u32) -> &str {
    let [lost, all] = [lost, all].map(|it| number::count(it.into()));
    let counted = reason.strip_prefix(&format!("{lost} of {all} pass"));
    let rest = counted.and_then(|rest| rest.strip_prefix("es: ").or_else(|| rest.strip_prefix(": ")));
    rest.unwrap_or(reason)
}

fn note_status(cell: &CellFinding, name: &str, notes: &mut Vec<Note>) {
    let lost = cell.invalid_samples + cell.failed_samples;
    let reason = reasons(&cell.reasons);
    let reason = reason.as_deref();
    let text = match cell.status {
        Status::Ok if lost == 0 => match reason {
            Some(reason) => reason.to_string(),
            None => return,
        },
        Status::Ok => {
            let all = cell.samples + lost;
            let reason = reason.map(|it| uncounted(it, lost, all)).unwrap_or("for reasons that were not recorded");
            format!("{lost} of {all} passes lost: {reason}")
        }
        Status::Skipped => format!("skipped: {}", reason.unwrap_or(NO_REASON)),
        Status::Invalid => {
            format!("no valid pass out of {lost}: {}", reason.map_or(NO_REASON, |it| uncounted(it, lost, lost)))
        }
        Status::Failed => {
            format!("every pass failed ({lost}): {}", reason.map_or(NO_REASON, |it| uncounted(it, lost, lost)))
        }
    };
    notes.push(Note { about: name.to_string(), text });
}

fn note_comparison(comparison: &Comparison, name: &str, notes: &mut Vec<Note>) {
    let mut note = |text: String| notes.push(Note { about: name.to_string(), text });
    // Why an arm has no valid pass is said of that arm.
    if let Some(why) = comparison.reason.as_ref().filter(|it| !matches!(it, Reason::NoValidPass { .. })) {
        note(format!("{}: {}", comparison.verdict.words(), reason(why)));
    }
    if let Some(explanation) = comparison.explanation.as_ref().map(explanation) {
        let explained = comparison.explained_share.map_or(String::new(), |share| {
            format!(" (counted causes explain {} of the difference)", number::percent(share))
        });
        note(format!("{explanation}{explained}"));
    }
    for warning in &comparison.warnings {
        note(format!("warning: {}", caution(warning)));
    }
}

/// Arms whose own settings differ from the condition.
fn differences(id: ConditionId, condition: &Condition, record: &Record, names: &Names) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for cell in record.cells.iter().filter(|cell| cell.condition == id.condition_index && !cell.control) {
        let before = seen.iter().filter(|name| **name == cell.arm.name).count();
        seen.push(&cell.arm.name);
        let words = own::instead(cell.own_condition.as_ref(), condition);
        if !words.is_empty() {
            let text = format!("entered with {}", words.join(", "));
            notes.push(Note { about: numbered(names.short(&cell.arm.name), before), text });
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_consumed_by_nothing() {
        let of = |workload| about(&Condition { workload, ..Condition::plain(1 << 20) }, false);
        for &workload in schema::Workload::ALL.iter().filter(|it| it.writes()) {
            assert!(!of(workload).contains("sum"), "{}", of(workload));
        }
        assert!([schema::Workload::Scan, schema::Workload::Random].iter().all(|&it| of(it).contains("· sum ·")));
        let grows = Condition { workload: Workload::Append, ..Condition::plain(1 << 20) };
        let grows = about(&Condition { file_bytes: 8 << 20, ..grows }, false);
        assert!(!grows.contains("8"), "it is emptied first: {grows}");
    }

    #[test]
    fn a_pass_that_was_never_planned_has_no_number_of_blocks() {
        let planned = Condition { ops: 7, ..Condition::plain(1 << 20) };
        assert!(about(&planned, false).starts_with("7 ops a pass over"));
        assert!(!about(&Condition { ops: 0, ..planned.clone() }, false).contains("ops"));
        assert!(about(&Condition { memory_bytes: Some(1 << 19), ..planned }, false).contains("512"));
    }
}
