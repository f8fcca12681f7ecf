//! What a person reads in ten seconds: from each start of the file which arm to take, what to take when in doubt, the
//! answers as a matrix, what the differences come from, and how far to trust all that. The rest is one command away.

mod beside;
mod choices;
mod field;
mod matrix;
mod place;
mod start;
mod unmeasured;
mod why;

use std::collections::BTreeSet;

use schema::{
    Arm, Beside, Condition, Descriptor, Fill, Findings, Labels, Names, Record, State, Workload,
    findings::{MapLine, StateNoise},
    record::{self, Outcome, Resident},
    warning::Warning,
};

pub(crate) use field::{Field, Standing, Way};
pub(crate) use place::start;
pub(crate) use start::Start;

use self::{
    place::{Words, column},
    start::{mark_baselines, says},
    unmeasured::not_now,
};
use super::{again::MeasuredAgain, crossovers, fills, stalls, study};
use crate::{
    layout::{
        number,
        page::Page,
        paint::{Paint, Piece},
        text::{visible, width},
        words::{capital, counted},
    },
    shell,
    words::{self, numbers::in_page_cache},
};

#[derive(Default)]
pub(crate) struct Answer {
    /// Of commands: what each is called, and its command line, whole.
    pub(crate) commands: Vec<(String, String)>,
    /// Who else stops beside arms of each runtime: label and sentence.
    pub(crate) stalls: Vec<(String, String)>,
    /// The rows of the matrix, and what each says in a sentence.
    pub(crate) starts: Vec<Start>,
    /// The columns: workload, and size of the block; of replays, how many accesses they have.
    pub(crate) columns: Vec<(Workload, u64)>,
    /// Why the file was not measured as it was found, where that was asked.
    pub(crate) now: Option<String>,
    pub(crate) in_doubt: Option<String>,
    /// Where the faster arm changes along block sizes, numbers of reads or other axes.
    pub(crate) crossovers: Vec<String>,
    /// The first way of filling the page cache again that pays for itself.
    pub(crate) refill: Option<String>,
    /// What else is known, by label.
    pub(crate) facts: Vec<(&'static str, Vec<String>)>,
    pub(crate) why: Vec<String>,
    /// What the rows of the matrix are called after.
    pub(crate) states: Vec<String>,
    /// How many reads the passes of random reads make: their ratios depend on it.
    pub(crate) reads: Option<String>,
    pub(crate) trust: String,
}

/// Absent for studies, which answer by their claims, and where nothing was asked.
pub(crate) fn of_run(record: &Record, findings: &Findings) -> Option<Answer> {
    if study::is_one(record) {
        return None;
    }
    let (names, labels) = (Names::of(record), Labels::of(record));
    let with_passes = record.samples.iter().filter_map(|it| record.cells.get(it.cell));
    let measured: BTreeSet<usize> = with_passes.map(|it| it.condition).collect();
    // What was not measured at all, or not reached by a run that ended early, is no row and no column.
    let lines = || findings.map.iter().filter(|it| measured.contains(&it.id.condition_index));
    let mut columns: Vec<(Workload, u64)> = Vec::new();
    for line in lines() {
        let column = column(&line.condition);
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    if columns.is_empty() {
        return None;
    }
    let (stalls, trust) = (stalls::lines(record, findings, &labels), trust(findings));
    // What else such a run has is how long each arm took, which is not what it asked.
    if !stalls.is_empty() && lines().all(|it| it.condition.beside == Beside::Beat) {
        let trust = format!("in the time of its passes, {trust}");
        return Some(Answer { stalls, trust, ..Answer::default() });
    }
    let order = |workload: Workload| Workload::ALL.iter().position(|it| *it == workload);
    columns.sort_by_key(|&(workload, block)| (order(workload), block));

    let mut starts: Vec<Start> = Vec::new();
    for line in lines() {
        let label = start(&labels, line.id, &line.condition);
        let column = columns.iter().position(|it| *it == column(&line.condition))?;
        let field = Field::of(line, record, findings, &names);
        // No answer takes the place of another one, whatever two starts are called.
        let is_free = |it: &Start| it.label == label && it.fields[column].is_none();
        let at = starts.iter().position(is_free).unwrap_or_else(|| {
            starts.push(Start { label, says: String::new(), fields: vec![None; columns.len()] });
            starts.len() - 1
        });
        starts[at].fields[column] = Some(field);
    }
    mark_baselines(&mut starts);
    let is_of_reads = |it: &&MapLine| it.condition.workload == Workload::Random;
    let words = Words { record, names: &names, labels: &labels, map: &findings.map };
    let break_evens = || findings.costs.iter().flat_map(|it| &it.break_evens);
    for it in &mut starts {
        let conditions: Vec<usize> = it.fields.iter().flatten().map(|it| it.condition).collect();
        let of_start = break_evens().filter(|it| conditions.contains(&it.id.condition.condition_index));
        it.says = says(&columns, it, &of_start.collect::<Vec<_>>(), &names);
        it.says.extend(words.far_behind(findings, &conditions).map(|it| format!("; {it}")));
    }
    Some(Answer {
        now: not_now(record, &names),
        in_doubt: words.in_doubt(&findings.answer.choices),
        crossovers: crossovers::lines(record, findings, true),
        refill: fills::refills(record, findings).next(),
        why: words.why(findings),
        states: states(lines().map(|it| &it.condition), findings.found),
        facts: vec![
            ("As fast", words.as_fast(lines())),
            ("Not told apart", words.not_told_apart(lines())),
            ("Not measured", words.not_measured()),
        ],
        reads: reads(record, findings, &lines().filter(is_of_reads).collect::<Vec<&MapLine>>()),
        stalls,
        trust,
        starts,
        columns,
        ..Answer::default()
    })
}

/// What the states and fills mean that occur.
fn states<'c>(conditions: impl Iterator<Item = &'c Condition> + Clone, found: Option<Resident>) -> Vec<String> {
    let is_filled = |fill: Fill| conditions.clone().any(|it| it.fill() == Some(fill));
    let of_state = |state: &State| {
        let has = conditions.clone().any(|it| it.state == *state);
        let says = match state {
            State::Cold if conditions.clone().filter(|it| it.state == State::Cold).all(Condition::is_on_device) => {
                "on the device".into()
            }
            State::Cold => "not in the page cache".into(),
            // Others have words of their own.
            State::Cached if !is_filled(Fill::Sequential) => return None,
            State::Cached => "read into the page cache in order, and mapped anew by each pass".into(),
            State::Mapped => "in the page table, too".into(),
            State::Locked => "as mapped, and locked in memory".into(),
            State::Limited => "in less memory than the range has, steadily".into(),
            State::AsFound => found.map_or("what was in the page cache".into(), |it| in_page_cache(it.share())),
            State::AsIs => "as the pass before left it".into(),
        };
        has.then(|| format!("{state}: {says}"))
    };
    let of_fill = |fill: Fill, says: &str| is_filled(fill).then(|| says.to_string());
    let now = of_fill(Fill::Found, "now: as the file was found in the page cache");
    let random = of_fill(Fill::Random, "fill random: read into the page cache at random places");
    let each = |it: &Condition| it.threads > 1 && it.descriptor == Descriptor::PerThread;
    let threads = { conditions.clone() }.any(each).then(|| {
        "each of several threads opens the file, and maps it, for itself (--descriptor shared: one for all)".to_string()
    });
    now.into_iter().chain(State::ALL.iter().filter_map(of_state)).chain(random).chain(threads).collect()
}

/// Of passes of random reads, each arm's own; and of those at the size of the job, where they answer.
fn reads<'r>(record: &'r Record, findings: &Findings, lines: &[&'r MapLine]) -> Option<String> {
    let of_job = |line: &&MapLine| field::is_of_job(line, findings);
    let of_lines =
        findings.comparisons.iter().filter(|it| lines.iter().any(|line| of_job(line) && line.id == it.id.condition));
    let jobs: Vec<u64> = of_lines.filter_map(|it| Some(it.confirmed.as_ref()?.ops)).collect();
    let job = between(jobs.iter().copied())
        .map(|ops| format!("a pass of random reads at the size of the job (†) makes {ops}"));
    let rounds = reads_of_rounds(record, lines.iter().copied().filter(|it| !of_job(it)));
    let all: Vec<String> = [rounds, job].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The least and the most of some counts.
fn between(counts: impl Iterator<Item = u64> + Clone) -> Option<String> {
    let [least, most] = [counts.clone().min()?, counts.max()?].map(|it| number::count(it as f64));
    Some(if least == most { most } else { format!("{least} to {most}") })
}

fn reads_of_rounds<'r>(record: &'r Record, lines: impl Iterator<Item = &'r MapLine>) -> Option<String> {
    let tried = |line: &'r MapLine| {
        let was_made =
            |cell: usize| record.samples.iter().any(|it| it.cell == cell && matches!(it.outcome, Outcome::Ok { .. }));
        let of_line = |it: &record::Cell| it.condition == line.id.condition_index && it.skipped.is_none();
        let cells = record.cells.iter().enumerate().filter(move |(_, it)| of_line(it));
        let made = cells.filter(move |(at, _)| was_made(*at)).map(|(_, it)| it);
        let does = made.map(|it| (&it.arm, it.own_condition.as_ref().unwrap_or(&line.condition)));
        does.filter(|(_, own)| own.workload == line.condition.workload)
    };
    let tried: Vec<(&Arm, &Condition)> = lines.flat_map(tried).collect();
    let ops = between(tried.iter().map(|(_, own)| own.ops))?;
    // How densely they lie is what counts.
    let of_a_part = tried.iter().map(|it| it.1).filter(|it| it.range.bytes < it.file_bytes);
    let part = of_a_part.min_by_key(|it| it.range.bytes).map_or(String::new(), |it| {
        let [range, file] = [it.range.bytes, it.file_bytes].map(|it| number::bytes_glued(it as f64));
        format!(", some or all of them within {range} of the file's {file}")
    });
    // A mapping that is populated has its faults before its reads.
    let share = match tried.iter().any(|(arm, own)| arm.maps() && !arm.maps_all_first() && !own.state.is_held()) {
        true => ", and the more it makes, the more of them share a page fault",
        false => "",
    };
    Some(format!("a pass of random reads makes {ops} of them{part}{share}"))
}

/// `the same arm measured twice differs by ±4.8 % cached, ±24 % cold; 6 comparisons were measured again, each over …, and 6 held`.
pub(crate) fn trust(findings: &Findings) -> String {
    let of_state = |it: &StateNoise| Some(format!("{} {}", it.floor.width()?, it.state));
    let floors: Vec<String> = findings.noise_floors.iter().filter_map(of_state).collect();
    let noise = match &floors[..] {
        [] => match findings.noise_floor.width() {
            Some(width) => format!("the same arm measured twice differs by {width}"),
            None => "the noise floor is not known".into(),
        },
        floors => format!("the same arm measured twice differs by {}", floors.join(", ")),
    };
    let again = MeasuredAgain::of(findings);
    match again.says() {
        None => noise,
        Some(says) => format!("{noise}; {says}: {}", again.outcomes()),
    }
}

/// Whether a warning is part of the answer: it is about where the data lies, and says that no device was measured.
pub(crate) fn is_decisive(warning: &Warning) -> bool {
    matches!(warning, Warning::Sparse { .. })
}

/// What the first screen leaves out, counted, and where it stands.
pub(crate) fn left_out(record: &Record, findings: &Findings, saved: bool) -> String {
    let lost = record.samples.iter().filter(|it| !matches!(it.outcome, Outcome::Ok { .. })).count();
    let skipped = record.untried().iter().flatten().count();
    let warnings = || findings.warnings.iter().filter(|it| !is_decisive(it));
    let all = [
        (skipped, "cell skipped", "cells skipped"),
        (lost, "pass lost", "passes lost"),
        (warnings().count(), "warning", "warnings"),
    ];
    let mut all: Vec<String> =
        all.iter().filter(|it| it.0 > 0).map(|(count, one, many)| counted(*count, one, many)).collect();
    let mut topics: Vec<&str> = Vec::new();
    for topic in warnings().map(words::warning_topic) {
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    if let Some(warnings) = all.last_mut().filter(|_| !topics.is_empty()) {
        warnings.push_str(&format!(" ({})", topics.join(", ")));
    }
    let show = match saved {
        true => shell::command("report", shell::short(&record.id)),
        false => "the whole report".into(),
    };
    // The command first: one that begins near the end of a line would be broken, and could not be pasted.
    let says = format!("{show} has every number, its interval and its reason");
    if all.is_empty() { says } else { format!("{says}; here left out: {}", all.join(", ")) }
}

impl Answer {
    /// Leaves out what has no pass yet, and the number of reads, which changes nothing while a run goes on.
    pub(crate) fn keep_measured(&mut self, record: &Record) {
        let measured: BTreeSet<usize> =
            record.samples.iter().filter_map(|it| record.cells.get(it.cell)).map(|it| it.condition).collect();
        for field in self.starts.iter_mut().flat_map(|it| &mut it.fields) {
            field.take_if(|it| !measured.contains(&it.condition));
        }
        self.reads = None;
    }

    /// Who else stops, label and sentence of each start, then what to take in doubt, what changes the answer, and what else is
    /// known. Of several sentences with one label, the first has it.
    pub(crate) fn lines(&self) -> Vec<(String, &str)> {
        let stalls = self.stalls.iter().map(|(label, says)| (label.clone(), says.as_str()));
        let now = self.now.as_deref().map(|it| ("Now".to_string(), it));
        let starts = self.starts.iter().map(|it| (capital(&it.label), it.says.as_str()));
        let crossovers = self.crossovers.iter().map(|it| ("Crossover".to_string(), it.as_str()));
        let refill = self.refill.as_deref().map(|it| ("Refill".to_string(), it));
        let in_doubt = self.in_doubt.as_deref().map(|it| ("If unsure".to_string(), it));
        let facts = self.facts.iter().flat_map(|(label, says)| {
            let label = |at: usize| if at == 0 { label.to_string() } else { String::new() };
            says.iter().enumerate().map(move |(at, it)| (label(at), it.as_str()))
        });
        stalls.chain(now).chain(starts).chain(in_doubt).chain(crossovers).chain(refill).chain(facts).collect()
    }
}

/// The legend of commands on a terminal.
pub(crate) fn write_commands(page: &mut Page, answer: &Answer) {
    let columns = answer.commands.iter().map(|(called, _)| width(&visible(called))).max().unwrap_or(0);
    for (at, (called, line)) in answer.commands.iter().enumerate() {
        if at == 0 {
            page.blank();
        }
        page.whole_item(0, columns, called, Paint::Heading, line);
    }
}

/// On a terminal.
pub(crate) fn write(page: &mut Page, answer: &Answer) {
    page.blank();
    let lines = answer.lines();
    let columns = lines.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    for (label, says) in &lines {
        page.item(0, columns, label, Paint::Heading, says);
    }
    if let Some(matrix) = answer.matrix() {
        page.blank();
        page.table(0, &matrix);
        page.paragraph(0, Paint::Quiet, &answer.legend());
    }
    if !answer.why.is_empty() {
        page.blank();
        page.line(0, &[Piece::of("Why".into(), Paint::Heading)]);
        for why in &answer.why {
            page.bullet(0, why);
        }
    }
    page.blank();
    page.labelled(0, "Trust:", Paint::Heading, &answer.trust);
}
