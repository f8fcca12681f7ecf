//! What a person reads in ten seconds: from each start of the file which arm to take, what to take when in doubt, the
//! answers as a matrix, what the differences come from, and how far to trust all that. The rest is one command away.

use std::collections::BTreeSet;

use schema::{
    Arm, Beside, Bytes, Condition, ConditionId, Fill, Findings, Labels, Names, Record, Skip, State, Workload,
    answer::{Choice, Loss, MainCause},
    fields,
    findings::{AnswerOf, Comparison, FillFinding, MapLine, Verdict},
    reason::Reason,
    record::{self, Outcome},
    unit_cost::BreakEven,
};

use super::{again::MeasuredAgain, crossovers, fills, map, stalls, study};
use crate::{
    layout::{
        number::{self, GLUE},
        page::Page,
        paint::{Paint, Piece},
        table::{Cell, Column, Table},
        text::{visible, width},
        words::{capital, counted, joined, list},
    },
    shell,
    words::{self, UNCONFIRMED},
};

/// Causes that are worth a line each.
const CAUSES: usize = 3;
/// What is so many times slower than the plain way is said beside the fastest.
const FAR: f64 = 3.0;
/// Pages that faults map in one case and another, where they are not called the same.
const APART: f64 = 1.5;

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
    pub(crate) states: Vec<&'static str>,
    /// How many reads the passes of random reads make: their ratios depend on it.
    pub(crate) reads: Option<String>,
    pub(crate) trust: String,
}

/// Where the pages are when a pass starts, and what else tells conditions apart beside workload and block.
pub(crate) struct Start {
    pub(crate) label: String,
    pub(crate) says: String,
    /// One for each column.
    pub(crate) fields: Vec<Option<Field>>,
}

/// The answer for one condition.
#[derive(Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) condition: usize,
    pub(crate) standing: Standing,
    /// Of passes at the size of the job, and not of those of the rounds.
    of_job: bool,
    /// Of the rounds: passes at the size of the job decide nothing.
    unconfirmed: bool,
    /// A baseline is ahead, whose name is also that of an arm which is ahead of another baseline: the name does not say what
    /// the number is over.
    marked: bool,
}

/// How an arm reaches the bytes: the colour of a field where there are colours.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Way {
    Mapping,
    /// One after the other, through the page cache.
    Calls,
    Others,
}

#[derive(Clone, PartialEq)]
pub(crate) enum Standing {
    /// The fastest arm; how many times faster than the baseline, or where it is the baseline itself than the next; and how
    /// many of its reads were in flight, if not one.
    Ahead {
        arm: String,
        times: f64,
        baseline: Option<String>,
        in_flight: Option<u32>,
        by: Way,
    },
    /// All arms were proved equal.
    Same,
    /// These were, and others are slower.
    Tied {
        arms: Vec<String>,
    },
    /// Nothing is faster than this arm, and what is equal to it was not proved.
    Unbeaten {
        arm: String,
    },
    /// By how many times an arm may be faster or slower than the baseline, by the intervals of those that are undecided; absent
    /// where they bound nothing.
    Undecided {
        up_to: Option<f64>,
    },
    NotComparable,
}

impl Field {
    /// In the matrix. Marks say that the arm keeps several reads in flight, that it is a baseline, and that the answer is that
    /// of the job, or that the job does not confirm it.
    pub(crate) fn text(&self) -> String {
        let text = match &self.standing {
            Standing::Ahead { arm, times, in_flight, .. } => {
                let mark = |is_marked: bool, mark: &'static str| if is_marked { mark } else { "" };
                let (deep, baseline) = (mark(in_flight.is_some(), "*"), mark(self.marked, "‡"));
                format!("{arm}{deep}{baseline}{GLUE}{}", self::times(*times))
            }
            Standing::Same => "=".into(),
            Standing::Tied { arms } => arms.join(&format!("{GLUE}={GLUE}")),
            Standing::Unbeaten { arm } => format!("{arm}{GLUE}≥"),
            Standing::Undecided { up_to: Some(up_to) } => format!("?{GLUE}≤{}", times(*up_to)),
            Standing::Undecided { up_to: None } => "?".into(),
            Standing::NotComparable => "≠".into(),
        };
        match (self.of_job, self.unconfirmed) {
            (true, _) => text + "†",
            (false, true) => text + "§",
            (false, false) => text,
        }
    }

    fn paint(&self) -> Paint {
        match self.standing {
            Standing::Ahead { .. } => Paint::Good,
            Standing::Same | Standing::Tied { .. } | Standing::Unbeaten { .. } => Paint::Plain,
            Standing::Undecided { .. } | Standing::NotComparable => Paint::Unsure,
        }
    }
}

/// `1.6x`, `15x`: more digits do not help to choose.
fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}x") } else { format!("{}x", number::count(ratio.round())) }
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
        let field = Field {
            condition: line.id.condition_index,
            standing: standing(line, record, findings, &names),
            of_job: line.answer_of == AnswerOf::Job,
            unconfirmed: line.is_unconfirmed(),
            marked: false,
        };
        // No answer takes the place of another one, whatever two starts are called.
        let is_free = |it: &Start| it.label == label && it.fields[column].is_none();
        let at = starts.iter().position(is_free).unwrap_or_else(|| {
            starts.push(Start { label, says: String::new(), fields: vec![None; columns.len()] });
            starts.len() - 1
        });
        starts[at].fields[column] = Some(field);
    }
    mark_baselines(&mut starts);
    let is_of_reads = |it: &MapLine| it.condition.workload == Workload::Random && it.answer_of != AnswerOf::Job;
    let words = Words { record, names: &names, labels: &labels, map: &findings.map };
    let break_evens = || findings.costs.iter().flat_map(|it| &it.break_evens);
    for it in &mut starts {
        let conditions: Vec<usize> = it.fields.iter().flatten().map(|it| it.condition).collect();
        let of_start = break_evens().filter(|it| conditions.contains(&it.id.condition.condition_index));
        it.says = says(&columns, it, &of_start.collect::<Vec<_>>(), &names);
        it.says.extend(words.far_behind(&findings.answer.choices, &conditions).map(|it| format!("; {it}")));
    }
    Some(Answer {
        now: not_now(record, &names),
        in_doubt: words.in_doubt(&findings.answer.choices),
        crossovers: crossovers::lines(record, findings, true),
        refill: fills::refills(record, findings).next(),
        why: words.why(findings),
        states: states(lines().map(|it| &it.condition)),
        facts: vec![("Not measured", words.not_measured())],
        reads: reads(
            lines().filter(|it| is_of_reads(it)).flat_map(|it| ops(record, it)),
            lines().filter(|it| is_of_reads(it)).map(|it| &it.condition),
        ),
        stalls,
        trust,
        starts,
        columns,
        ..Answer::default()
    })
}

/// Marks baselines that are ahead, where their names do not say that they are baselines.
fn mark_baselines(starts: &mut [Start]) {
    let arms = starts.iter().flat_map(|it| it.fields.iter().flatten()).filter_map(|it| match &it.standing {
        Standing::Ahead { arm, baseline: Some(_), .. } => Some(arm.clone()),
        _ => None,
    });
    let arms: BTreeSet<String> = arms.collect();
    for it in starts.iter_mut().flat_map(|it| it.fields.iter_mut().flatten()) {
        it.marked = matches!(&it.standing, Standing::Ahead { arm, baseline: None, .. } if arms.contains(arm));
    }
}

fn not_now(record: &Record, names: &Names) -> Option<String> {
    let is_found =
        |it: &record::Cell| record.conditions.get(it.condition).is_some_and(|it| it.fill() == Some(Fill::Found));
    Some(format!("not measured: {}", why_skipped(record.cells.iter().filter(|it| is_found(it)), names)?))
}

/// Why none of these cells was measured: each reason once, with its arms where there are several; that an arm has nothing to
/// be compared with follows from the others. Nothing where there are no cells, or one that was not skipped.
fn why_skipped<'r>(cells: impl Iterator<Item = &'r record::Cell> + Clone, names: &Names) -> Option<String> {
    let is_consequence = |it: &record::Cell| it.skipped == Some(Skip::NothingToCompare);
    let only_consequences = cells.clone().all(is_consequence);
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for it in cells {
        let reason = it.skipped.as_ref()?.to_string();
        let arm = names.short(&it.arm.name);
        match reasons.iter_mut().find(|known| known.0 == reason) {
            _ if is_consequence(it) && !only_consequences => {}
            Some((_, arms)) if arms.contains(&arm) => {}
            Some((_, arms)) => arms.push(arm),
            None => reasons.push((reason, vec![arm])),
        }
    }
    match &reasons[..] {
        [] => None,
        [(reason, _)] => Some(reason.clone()),
        several => Some(
            several.iter().map(|(reason, arms)| format!("{}: {reason}", list(arms))).collect::<Vec<_>>().join("; "),
        ),
    }
}

/// How many blocks a pass of each arm under a line's condition has.
fn ops<'r>(record: &'r Record, line: &'r MapLine) -> impl Iterator<Item = u64> + Clone + 'r {
    let of_line = |it: &&record::Cell| it.condition == line.id.condition_index && it.skipped.is_none();
    let own = |it: &record::Cell| it.own_condition.as_ref().unwrap_or(&line.condition).ops;
    record.cells.iter().filter(of_line).map(own)
}

/// What a start is called: the state, and how the cache was filled where that is not the usual way.
pub(crate) fn start(labels: &Labels, id: ConditionId, condition: &Condition) -> String {
    let fill_words = fields::FIELDS.iter().find(|it| it.name == "fill").map(|it| (it.words)(condition));
    let state = match (condition.state, condition.fill()) {
        (State::Cached, Some(Fill::Found)) => "now".to_string(),
        (state, None | Some(Fill::Sequential)) => state.to_string(),
        (state, Some(Fill::Found)) => format!("now, {state}"),
        (state, Some(fill)) => format!("{state}, fill {fill}"),
    };
    let also = labels.also(id.condition_index);
    let also = also.split(", ").filter(|it| !it.is_empty() && Some(*it) != fill_words.as_deref());
    [state.as_str()].into_iter().chain(also).collect::<Vec<&str>>().join(", ")
}

fn standing(line: &MapLine, record: &Record, findings: &Findings, names: &Names) -> Standing {
    match (line.verdict, &line.winner, map::margin(line, record, findings).0) {
        (Verdict::Faster | Verdict::Slower, Some(winner), Some(margin)) => Standing::Ahead {
            arm: names.short(winner).to_string(),
            times: margin.median,
            baseline: map::baseline(line.id, record)
                .filter(|it| Some(*it) != line.winner_cell)
                .map(|cell| names.short(&record.cells[cell].arm.name).to_string()),
            // Those of passes at the size of the job are not recorded.
            in_flight: line
                .winner_cell
                .filter(|_| line.answer_of != AnswerOf::Job)
                .and_then(|it| in_flight(record, it)),
            by: line.winner_cell.and_then(|cell| record.cells.get(cell)).map_or(Way::Others, |it| way(&it.arm)),
        },
        (Verdict::Same, Some(winner), _) if !line.not_told_apart.is_empty() => {
            Standing::Unbeaten { arm: names.short(winner).to_string() }
        }
        (Verdict::Same, Some(winner), _) if !line.ties.is_empty() && !map::are_all_alike(line, findings) => {
            let arms = [winner].into_iter().chain(&line.ties);
            Standing::Tied { arms: arms.map(|it| names.short(it).to_string()).collect() }
        }
        (Verdict::Same, ..) => Standing::Same,
        (Verdict::NotComparable, ..) => Standing::NotComparable,
        _ => Standing::Undecided { up_to: up_to(line, findings) },
    }
}

/// How far an arm may be from the baseline. One that is faster for sure, or of which too little is known, may be farther than
/// what the intervals of the others say.
fn up_to(line: &MapLine, findings: &Findings) -> Option<f64> {
    let apart = |low: f64, high: f64| high.max(1.0 / low);
    let bound = |it: &Comparison| match (it.verdict, &it.reason) {
        (Verdict::Undecided, Some(Reason::AcrossTheMargin { ci_low, ci_high, .. })) => Some(apart(*ci_low, *ci_high)),
        (Verdict::Undecided, Some(Reason::WithinNoise { ci_low, ci_high, times, .. })) => {
            Some(apart(*ci_low, *ci_high).max(*times))
        }
        (Verdict::Slower | Verdict::Same, _) => Some(1.0),
        (Verdict::Undecided | Verdict::Faster | Verdict::NotComparable, _) => None,
    };
    let bounds = findings.comparisons.iter().filter(|it| line.is_made_of(it)).map(bound);
    let most = bounds.collect::<Option<Vec<f64>>>()?.into_iter().max_by(f64::total_cmp)?;
    (most.is_finite() && most > 1.0).then_some(most)
}

fn way(arm: &Arm) -> Way {
    match (arm.maps(), arm.is_direct() || arm.number("queue_depth").is_some()) {
        (true, _) => Way::Mapping,
        (false, true) => Way::Others,
        (false, false) => Way::Calls,
    }
}

/// How many reads of an arm were in flight, of all threads together, if a thread keeps more than one: fewer than asked for
/// where a pass has few, or memory does.
fn in_flight(record: &Record, cell: usize) -> Option<u32> {
    let depths = record.samples.iter().filter(|it| it.cell == cell).filter_map(|it| match &it.outcome {
        // Where each thread keeps one, their number is a part of the condition.
        Outcome::Ok { tally, .. } => (tally.queue_depth > 1).then(|| tally.in_flight()),
        Outcome::Invalid { .. } | Outcome::Failed { .. } => None,
    });
    depths.max()
}

/// `32`, `16 or 32`: of fields, in flight.
fn depths<'f>(fields: impl Iterator<Item = &'f Field>) -> Option<String> {
    let depth = |it: &Field| match it.standing {
        Standing::Ahead { in_flight, .. } => in_flight,
        _ => None,
    };
    let depths: BTreeSet<u32> = fields.filter_map(depth).collect();
    let depths: Vec<String> = depths.into_iter().map(|it| number::count(it.into())).collect();
    (!depths.is_empty()).then(|| joined(&depths, "or"))
}

/// `scans: no difference; random reads: mmap 1.3x to 2.6x`.
fn says(columns: &[(Workload, u64)], start: &Start, break_evens: &[&BreakEven], names: &Names) -> String {
    let mut workloads: Vec<Workload> = Vec::new();
    for (workload, _) in columns {
        if !workloads.contains(workload) {
            workloads.push(*workload);
        }
    }
    let of_workload = |workload: Workload| {
        let fields = columns.iter().zip(&start.fields).filter(move |((it, _), _)| *it == workload);
        let fields: Vec<(u64, Option<&Field>)> = fields.map(|((_, block), it)| (*block, it.as_ref())).collect();
        let parts = groups(&fields, |of| size_of(workload, of));
        let what = match fields[..] {
            [(block, _)] => work(workload, block),
            _ => noun(workload),
        };
        (!parts.is_empty()).then(|| format!("{what}: {}", parts.join(", ")))
    };
    let mut says: Vec<String> = workloads.into_iter().filter_map(of_workload).collect();
    let sizes = columns.iter().filter(|it| it.0 == Workload::Random).count();
    says.extend(overtakes(break_evens, sizes > 1, names));
    says.join("; ")
}

/// Where the answers to a condition stand.
fn column(condition: &Condition) -> (Workload, u64) {
    match condition.workload.has_blocks() {
        true => (condition.workload, condition.block_bytes),
        false => (condition.workload, condition.ops),
    }
}

/// `random 64 KiB`, `replay of 19,616 accesses`.
fn work(workload: Workload, of: u64) -> String {
    let joint = if workload == Workload::Replay { " of " } else { " " };
    format!("{workload}{joint}{}", size_of(workload, of))
}

/// What distinguishes columns of one workload.
fn size_of(workload: Workload, of: u64) -> String {
    match workload {
        Workload::Replay => counted(of as usize, "access", "accesses"),
        _ => size(of),
    }
}

/// `64 KiB`, not to be broken.
fn size(bytes: u64) -> String {
    Bytes(bytes).exact().replace(' ', &GLUE.to_string())
}

fn noun(workload: Workload) -> String {
    match workload {
        Workload::Scan => "scans".into(),
        Workload::Random => "random reads".into(),
        other => other.to_string(),
    }
}

/// Neighbouring blocks with the same answer are one part. A block that was not measured is in none.
fn groups(fields: &[(u64, Option<&Field>)], size: impl Fn(u64) -> String) -> Vec<String> {
    let is_one = |a: Option<&Field>, b: Option<&Field>| match (a, b) {
        (Some(a), Some(b)) => {
            (a.of_job, a.unconfirmed) == (b.of_job, b.unconfirmed) && is_one_answer(&a.standing, &b.standing)
        }
        (a, b) => a.is_none() && b.is_none(),
    };
    let parts: Vec<&[(u64, Option<&Field>)]> = fields.chunk_by(|a, b| is_one(a.1, b.1)).collect();
    let is_all = parts.len() == 1;
    let part = |part: &[(u64, Option<&Field>)]| {
        let ([(first, Some(field)), ..], Some((last, _))) = (part, part.last()) else { return None };
        let fields = || part.iter().filter_map(|it| it.1);
        let what = match &field.standing {
            Standing::Ahead { arm, .. } => {
                let ratios = fields().filter_map(|it| match it.standing {
                    Standing::Ahead { times, .. } => Some(times),
                    _ => None,
                });
                let ratios: Vec<f64> = ratios.collect();
                let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
                let most = ratios.iter().copied().fold(0.0, f64::max);
                // As the blocks beside them stand.
                let falls = ratios.first() > ratios.last();
                let [least, most] = if falls { [most, least] } else { [least, most] }.map(times);
                let deep = depths(fields()).map_or(String::new(), |it| format!(" ({it} in flight)"));
                let ratio = if least == most { most } else { format!("{least} to {most}") };
                format!("{arm}{deep} {ratio}")
            }
            Standing::Same => "no difference".into(),
            Standing::Tied { arms } => format!("no difference between {}", list(arms)),
            Standing::Unbeaten { arm } => format!("nothing beats {arm}"),
            Standing::Undecided { .. } => {
                let up_to = fields().map(|it| match it.standing {
                    Standing::Undecided { up_to } => up_to,
                    _ => None,
                });
                // Of several, all are within the largest.
                let most = up_to.collect::<Option<Vec<f64>>>().and_then(|it| it.into_iter().max_by(f64::total_cmp));
                most.map_or("undecided".into(), |most| format!("undecided within {}", times(most)))
            }
            Standing::NotComparable => "not comparable".into(),
        };
        let at = match (is_all, first == last) {
            (true, _) => String::new(),
            (false, true) => format!(" at {}", size(*first)),
            (false, false) => format!(" from {} to {}", size(*first), size(*last)),
        };
        let of_job = match (field.of_job, field.unconfirmed) {
            (true, _) => " (at the size of the job)".to_string(),
            (false, true) => format!(" ({UNCONFIRMED})"),
            (false, false) => String::new(),
        };
        Some(format!("{what}{at}{of_job}"))
    };
    parts.into_iter().filter_map(part).collect()
}

/// The ratio may differ, but not what it is over.
fn is_one_answer(a: &Standing, b: &Standing) -> bool {
    match (a, b) {
        (Standing::Ahead { arm: a, baseline: over_a, .. }, Standing::Ahead { arm: b, baseline: over_b, .. }) => {
            (a, over_a) == (b, over_b)
        }
        (Standing::Undecided { .. }, Standing::Undecided { .. }) => true,
        (a, b) => a == b,
    }
}

/// `computed: mmap overtakes pread from 800 (1 MiB) to 20,000 (64 B) reads on`. A number holds for its size, which is said
/// where there are several.
fn overtakes(break_evens: &[&BreakEven], sizes: bool, names: &Names) -> Option<String> {
    let reads = |it: &BreakEven| it.reads.median;
    let first = break_evens.iter().min_by(|a, b| reads(a).total_cmp(&reads(b)))?;
    let same = |it: &&&BreakEven| (&it.arm, &it.baseline) == (&first.arm, &first.baseline);
    let last = break_evens.iter().filter(same).max_by(|a, b| reads(a).total_cmp(&reads(b)))?;
    let [arm, baseline] = [&first.arm, &first.baseline].map(|it| names.short(it));
    let overtakes = format!("by an estimate {arm} overtakes {baseline}");
    let about = |it: &BreakEven| number::two_digits(reads(it));
    let size = |it: &BreakEven| size(it.block_bytes);
    Some(match (std::ptr::eq(*first, *last), sizes) {
        (true, false) => format!("{overtakes} from about {} reads on", about(first)),
        (true, true) => format!("{overtakes} from about {} ({}) reads on", about(first), size(first)),
        (false, _) => format!(
            "{overtakes} from about {} ({}) to {} ({}) reads on",
            about(first),
            size(first),
            about(last),
            size(last)
        ),
    })
}

struct Words<'a> {
    record: &'a Record,
    names: &'a Names,
    labels: &'a Labels,
    map: &'a [MapLine],
}

impl Words<'_> {
    /// `random 64 B, cached`.
    fn place(&self, id: ConditionId) -> Option<String> {
        Some(self.place_of(id, self.record.conditions.get(id.condition_index)?))
    }

    /// Of arms that have settings of their own.
    fn place_of(&self, id: ConditionId, own: &Condition) -> String {
        let work = match own.block().as_str() {
            "" => own.work(),
            _ => format!("{} {}", own.workload, size(own.block_bytes)),
        };
        format!("{work}, {}", start(self.labels, id, own))
    }

    /// Each choice with the most that it can lose, the one that can lose least first.
    fn in_doubt(&self, choices: &[Choice]) -> Option<String> {
        let says = choices.iter().filter(|it| it.known > 0).enumerate();
        let says: Vec<String> = says.map(|(at, it)| self.choice(it, at == 0 && choices.len() > 1)).collect();
        let place = match choices.first() {
            Some(it) if it.conditions < it.measured => {
                format!("under the {} of {} conditions that have an answer, ", it.conditions, it.measured)
            }
            _ => String::new(),
        };
        (!says.is_empty()).then(|| format!("{place}{}", says.join("; ")))
    }

    fn choice(&self, choice: &Choice, is_least: bool) -> String {
        let arms: Vec<&str> = choice.arms.iter().map(|it| self.names.short(it)).collect();
        let arms = arms.join(" and ");
        let is_partial = choice.known < choice.conditions;
        let all = counted(choice.conditions as usize, "condition", "conditions");
        let known = if is_partial { format!(" (known for {} of {all})", choice.known) } else { String::new() };
        let Some(most) = choice.losses.first() else {
            let none = if is_partial { "no loss there" } else { "no other arm is known to be faster" };
            return format!("{arms}{known}: {none}");
        };
        let place = self.place(most.id).unwrap_or_default();
        let elsewhere = match choice.losses.get(1).map(|it| (it, self.marks(it))) {
            _ if is_partial => String::new(),
            Some((next, marks)) if marks.is_empty() => format!(", elsewhere at most {}", times(next.times)),
            Some((next, marks)) => format!(", elsewhere at most {} ({})", times(next.times), marks.join(", ")),
            None => ", elsewhere no loss".into(),
        };
        let least = match (is_least && !is_partial, choice.arms.len()) {
            (false, _) => "",
            (true, 1) => " loses least",
            (true, _) => " lose least",
        };
        let mut there = vec![place.as_str()];
        there.extend(self.marks(most));
        format!(
            "{arms}{known}{least}: at worst {} slower than {}{} ({}){elsewhere}",
            times(most.times),
            self.names.short(&most.fastest),
            self.than_plain(choice),
            there.join(", ")
        )
    }

    /// What it loses against the plain way, which is another figure where a third arm is the fastest: the largest, with its
    /// place where that is another one.
    fn than_plain(&self, choice: &Choice) -> String {
        let loss = |it: &&Loss| it.than_baseline.filter(|it| *it > 1.0);
        let most = choice.losses.iter().filter(|it| loss(it).is_some()).max_by(|a, b| {
            let [a, b] = [a, b].map(|it| loss(it).unwrap_or(1.0));
            a.total_cmp(&b)
        });
        let baseline = |it: &Loss| map::baseline(it.id, self.record).map(|cell| &self.record.cells[cell].arm.name);
        let Some((most, times, name)) = most.and_then(|it| Some((it, loss(&it)?, baseline(it)?))) else {
            return String::new();
        };
        if *name == most.fastest || choice.arms.contains(name) {
            return String::new();
        }
        let place = match choice.losses.first() {
            Some(first) if first.id == most.id => String::new(),
            _ => format!(" ({})", self.place(most.id).unwrap_or_default()),
        };
        format!(" and {} slower than {}{place}", self::times(times), self.names.short(name))
    }

    /// What to know of how much an arm loses.
    fn marks(&self, loss: &Loss) -> Vec<&'static str> {
        let is_unconfirmed = self.map.iter().any(|it| it.id == loss.id && it.is_unconfirmed());
        let marks = [(loss.by_trial, "of one short pass"), (is_unconfirmed, UNCONFIRMED)];
        marks.into_iter().filter(|it| it.0).map(|it| it.1).collect()
    }

    /// The largest ratio of each cause first, then what makes cold random reads and faults differ.
    fn why(&self, findings: &Findings) -> Vec<String> {
        let mut told: Vec<&MainCause> = Vec::new();
        for it in &findings.answer.causes {
            if told.len() < CAUSES && told.iter().all(|other| other.cause != it.cause) {
                told.push(it);
            }
        }
        let causes = told.into_iter().filter_map(|it| self.cause(it));
        causes.chain(self.read_ahead()).chain(self.together()).chain(pages_per_fault(findings)).collect()
    }

    /// Of cold random reads through a mapping that was too slow for rounds.
    fn read_ahead(&self) -> Option<String> {
        let window = Some(self.record.target.window_bytes()).filter(|it| *it > 0)?;
        let is_asked = |it: &Condition| it.workload == Workload::Random && it.state == State::Cold;
        let slow = |it: &record::Cell| match it.skipped {
            Some(Skip::TooSlow { ns_per_block, .. }) => {
                // What populates does not wait for its reads.
                let is_plain = it.arm.maps() && ["advice", "populate"].iter().all(|of| is_usual(it.arm.word(of)));
                let is_there = self.record.conditions.get(it.condition).is_some_and(is_asked);
                (is_plain && is_there).then_some(ns_per_block)
            }
            _ => None,
        };
        let slow = self.record.cells.iter().filter_map(|it| Some((slow(it)?, it)));
        let (ns, slowest) = slow.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!(
            "{}: a read by {} takes {} in a short pass, because a page fault without advice reads ahead, up to {} here",
            self.place(self.record.condition_id(slowest.condition))?,
            self.names.short(&slowest.arm.name),
            number::duration_glued(ns),
            number::bytes_glued(window as f64)
        ))
    }

    /// Of reads that wait for the device together.
    fn together(&self) -> Option<String> {
        let is_cold = |it: &&MapLine| it.condition.state == State::Cold && it.verdict == Verdict::Faster;
        let mut cold = self.map.iter().filter(is_cold);
        let (depth, winner) =
            cold.find_map(|it| Some((in_flight(self.record, it.winner_cell?)?, it.winner.as_deref()?)))?;
        Some(format!(
            "cold: {} reads of {} wait for the device at the same time, and those of the others one after the other",
            number::count(depth.into()),
            self.names.short(winner)
        ))
    }

    /// What a choice loses against the plain way from one start, where that is much.
    fn far_behind(&self, choices: &[Choice], conditions: &[usize]) -> Option<String> {
        let of_start = |it: &&Loss| conditions.contains(&it.id.condition_index);
        let losses =
            choices.iter().flat_map(|choice| choice.losses.iter().filter(of_start).map(move |it| (choice, it)));
        let far = losses.filter_map(|(choice, it)| {
            let plain = map::baseline(it.id, self.record).map(|cell| &self.record.cells[cell].arm.name)?;
            let times = it.than_baseline.filter(|times| *times >= FAR && !choice.arms.contains(plain))?;
            Some((times, choice, it, plain))
        });
        let (times, choice, loss, plain) = far.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let condition = self.record.conditions.get(loss.id.condition_index)?;
        let (workload, of) = column(condition);
        let trial = if loss.by_trial { " in a short pass" } else { "" };
        Some(format!(
            "{} up to {} slower than {} ({}{trial})",
            self.names.short(choice.arms.first()?),
            self::times(times),
            self.names.short(plain),
            work(workload, of)
        ))
    }

    fn cause(&self, it: &MainCause) -> Option<String> {
        let condition = self.record.conditions.get(it.id.condition_index)?;
        let [slower, faster] = [&it.slower, &it.faster].map(|part| self.names.short(&part.arm));
        // What both did, if it is not what the condition says.
        let own = self.record.cells.get(it.slower.cell).and_then(|it| it.own_condition.as_ref()).unwrap_or(condition);
        let work = match own.workload {
            Workload::Scan => number::bytes_glued(own.range.bytes as f64),
            _ => counted(own.ops as usize, "block", "blocks"),
        };
        let less = match it.faster.cause_ns {
            none if none < 0.01 * it.slower.cause_ns => "none".to_string(),
            some => number::duration_glued(some),
        };
        Some(format!(
            "{}, {work}: {slower} takes {}, {faster} {}; {}: {} of {slower}'s time, {less} of {faster}'s",
            self.place_of(it.id, own),
            number::duration_glued(it.slower.pass_ns),
            number::duration_glued(it.faster.pass_ns),
            it.cause.words(),
            number::duration_glued(it.slower.cause_ns),
        ))
    }
}

impl Words<'_> {
    /// Starts without a single pass because no cell of theirs was tried: each reason once, with its starts, or with their
    /// conditions where those differ in their reasons. That of the file as it was found stands elsewhere.
    fn not_measured(&self) -> Vec<String> {
        type Reasons = Vec<(ConditionId, Option<String>)>;
        let mut starts: Vec<(String, Reasons)> = Vec::new();
        for (index, condition) in self.record.conditions.iter().enumerate() {
            let id = self.record.condition_id(index);
            // A run that is not done yet may still come to it.
            let cells = self.record.cells.iter().filter(|it| it.condition == index && !it.control);
            let reason = why_skipped(cells, self.names);
            let label = start(self.labels, id, condition);
            match starts.iter_mut().find(|it| it.0 == label) {
                Some(known) => known.1.push((id, reason)),
                None if condition.fill() == Some(Fill::Found) && not_now(self.record, self.names).is_some() => {}
                None => starts.push((label, vec![(id, reason)])),
            }
        }
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        let mut add = |reason: &str, what: String| match reasons.iter_mut().find(|it| it.0 == reason) {
            Some(known) => known.1.push(what),
            None => reasons.push((reason.to_string(), vec![what])),
        };
        for (label, conditions) in starts {
            let known: Option<Vec<(ConditionId, &str)>> =
                conditions.iter().map(|(id, reason)| Some((*id, reason.as_deref()?))).collect();
            match known.as_deref() {
                None | Some([]) => {}
                Some([(_, first), rest @ ..]) if rest.iter().all(|it| it.1 == *first) => add(first, label),
                Some(all) => all.iter().for_each(|(id, reason)| add(reason, self.place(*id).unwrap_or_default())),
            }
        }
        reasons.into_iter().map(|(reason, starts)| format!("{}: {reason}", joined(&starts, "and"))).collect()
    }
}

/// An option that the method lacks, or its usual word.
fn is_usual(word: &str) -> bool {
    ["", "normal", "no"].contains(&word)
}

/// What faults of a mapping bring in after each fill, where that differs.
fn pages_per_fault(findings: &Findings) -> Option<String> {
    let pages = |it: &FillFinding| Some((it.fill, it.pages_per_fault.filter(|it| *it >= 1.0)?));
    let fills: Vec<(Fill, f64)> = findings.fills.iter().filter_map(pages).collect();
    let (least, most) =
        fills.iter().fold((f64::INFINITY, 0.0f64), |(least, most), it| (least.min(it.1), most.max(it.1)));
    let each = fills.iter().enumerate().map(|(at, (fill, pages))| {
        let start = match fill {
            Fill::Found => "now".to_string(),
            Fill::Sequential => "cached".to_string(),
            fill => format!("with fill {fill}"),
        };
        format!("{}{} {start}", number::count(pages.round()), if at == 0 { " pages" } else { "" })
    });
    let each: Vec<String> = each.collect();
    (most > least * APART).then(|| {
        format!(
            "in memory: a page fault maps {}, by the size of the folios; the more, the fewer faults",
            each.join(", ")
        )
    })
}

/// What the states and fills mean that occur.
fn states<'c>(conditions: impl Iterator<Item = &'c Condition> + Clone) -> Vec<&'static str> {
    let has = |state: State| conditions.clone().any(|it| it.state == state);
    let is_filled = |fill: Fill| conditions.clone().any(|it| it.fill() == Some(fill));
    let all = [
        (is_filled(Fill::Found), "now: as the file was found in the page cache"),
        (has(State::Cold), "cold: on the device"),
        (has(State::Cached), "cached: read into the page cache in order, and mapped anew by each pass"),
        (has(State::Mapped), "mapped: in the page table, too"),
        (is_filled(Fill::Random), "fill random: read into the page cache at random places"),
    ];
    all.into_iter().filter(|it| it.0).map(|it| it.1).collect()
}

/// Of passes of random reads.
fn reads<'r>(
    ops: impl Iterator<Item = u64> + Clone,
    conditions: impl Iterator<Item = &'r Condition>,
) -> Option<String> {
    let [least, most] = [ops.clone().min()?, ops.max()?];
    let all = if least == most { String::new() } else { format!("{} to ", number::count(least as f64)) };
    // How densely they lie is what counts.
    let of_a_part = conditions.filter(|it| it.range.bytes < it.file_bytes).min_by_key(|it| it.range.bytes);
    let part = of_a_part.map_or(String::new(), |it| {
        let [range, file] = [it.range.bytes, it.file_bytes].map(|it| number::bytes_glued(it as f64));
        format!(", some or all of them within {range} of the file's {file}")
    });
    Some(format!(
        "a pass of random reads makes {all}{} of them{part}, and the more it makes, the more of them share a page fault",
        number::count(most as f64)
    ))
}

/// `the same arm measured twice differs by ±4.8 % cached, ±24 % cold; 6 answers were measured again, each over …, and 6 held`.
pub(crate) fn trust(findings: &Findings) -> String {
    let of_state = |it: &schema::findings::StateNoise| Some(format!("{} {}", it.floor.width()?, it.state));
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
        Some(says) => format!("{noise}; {says}, and {} held", again.held),
    }
}

/// What the first screen leaves out, counted, and where it stands.
pub(crate) fn left_out(record: &Record, findings: &Findings, saved: bool) -> String {
    let lost = record.samples.iter().filter(|it| !matches!(it.outcome, Outcome::Ok { .. })).count();
    let skipped = record.cells.iter().filter(|it| it.skipped.is_some()).count();
    let all = [
        (skipped, "cell skipped", "cells skipped"),
        (lost, "pass lost", "passes lost"),
        (findings.warnings.len(), "warning", "warnings"),
    ];
    let mut all: Vec<String> =
        all.iter().filter(|it| it.0 > 0).map(|(count, one, many)| counted(*count, one, many)).collect();
    let mut topics: Vec<&str> = Vec::new();
    for topic in findings.warnings.iter().map(words::warning_topic) {
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    if let Some(warnings) = all.last_mut().filter(|_| !topics.is_empty()) {
        warnings.push_str(&format!(" ({})", topics.join(", ")));
    }
    let all = if all.is_empty() { String::new() } else { format!("{}; ", all.join(", ")) };
    let show = match saved {
        true => shell::command("report", shell::short(&record.id)),
        false => "the whole report".into(),
    };
    format!("{all}{show} has every number, its interval and its reason")
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

    /// Absent where a sentence says all of it.
    pub(crate) fn matrix(&self) -> Option<Table> {
        if self.columns.is_empty() || (self.columns.len() < 2 && self.starts.len() < 2) {
            return None;
        }
        let title = |(workload, block): &(Workload, u64)| work(*workload, *block);
        let begins = |at: usize| at > 0 && self.columns[at].0 != self.columns[at - 1].0;
        let column =
            |(at, it): (usize, &(Workload, u64))| Column { begins_group: begins(at), ..Column::left(title(it)) };
        let field = |it: &Option<Field>| match it {
            Some(field) => Cell::new(field.text(), field.paint()),
            None => Cell::absent(),
        };
        let row = |it: &Start| [Cell::plain(&it.label)].into_iter().chain(it.fields.iter().map(field)).collect();
        Some(Table {
            columns: [Column::left("")].into_iter().chain(self.columns.iter().enumerate().map(column)).collect(),
            rows: self.starts.iter().map(row).collect(),
        })
    }

    /// What the signs of the matrix mean, as far as they occur.
    pub(crate) fn legend(&self) -> String {
        let fields = || self.starts.iter().flat_map(|it| it.fields.iter().flatten());
        let has = |wanted: fn(&Standing) -> bool| fields().any(|it| wanted(&it.standing));
        let absent = self.starts.iter().any(|it| it.fields.contains(&None));
        let states = Some(self.states.join("; ")).filter(|it| !it.is_empty());
        let signs = [
            states,
            self.numbers(),
            has(|it| matches!(it, Standing::Same | Standing::Tied { .. })).then(|| "= no difference".to_string()),
            has(|it| matches!(it, Standing::Unbeaten { .. }))
                .then(|| "≥ nothing is faster, not proved equal".to_string()),
            has(|it| matches!(it, Standing::Undecided { up_to: None })).then(|| "? undecided".to_string()),
            has(|it| matches!(it, Standing::Undecided { up_to: Some(_) }))
                .then(|| "? ≤ undecided: as fast, or apart by so much at most".to_string()),
            has(|it| *it == Standing::NotComparable).then(|| "≠ not the same work".to_string()),
            absent.then(|| "– not measured".to_string()),
            depths(fields()).map(|it| format!("* {it} reads in flight")),
            self.marked(),
            fields().any(|it| it.of_job).then(|| self.of_job()),
            fields().any(|it| it.unconfirmed).then(|| format!("§ {UNCONFIRMED}")),
            self.reads.clone(),
        ];
        signs.into_iter().flatten().collect::<Vec<String>>().join("; ")
    }

    /// Of the fields in which an arm is ahead, what `of` takes of field, arm and baseline, each name once.
    fn named<'s>(&'s self, of: impl Fn(&'s Field, &'s str, Option<&'s str>) -> Option<&'s str>) -> String {
        let mut names: Vec<&str> = Vec::new();
        for it in self.starts.iter().flat_map(|it| it.fields.iter().flatten()) {
            let Standing::Ahead { arm, baseline, .. } = &it.standing else { continue };
            names.extend(of(it, arm, baseline.as_deref()).filter(|it| !names.contains(it)));
        }
        joined(&names, "or")
    }

    /// What the mark of the job means. Where a baseline wins there, one arm beside it was measured at that size.
    fn of_job(&self) -> String {
        let ahead = self.named(|it, arm, baseline| (baseline.is_none() && it.of_job && !it.marked).then_some(arm));
        let over = match ahead.is_empty() {
            true => String::new(),
            false => format!("; where {ahead} wins there, over the arm that was measured"),
        };
        format!("† at the size of the job{over}")
    }

    /// What the numbers of marked fields are over.
    fn marked(&self) -> Option<String> {
        let fields = || self.starts.iter().flat_map(|it| it.fields.iter().flatten()).filter(|it| it.marked);
        let job = "over the arm that was measured at that size";
        match (fields().any(|it| !it.of_job), fields().any(|it| it.of_job)) {
            (false, false) => None,
            (true, false) => Some("‡ over the runner-up".into()),
            (false, true) => Some(format!("‡ {job}")),
            (true, true) => Some(format!("‡ over the runner-up, with † {job}")),
        }
    }

    /// What the numbers of the matrix are over: the baselines that they are of.
    fn numbers(&self) -> Option<String> {
        let over = self.named(|_, _, baseline| baseline);
        let ahead = self.named(|it, arm, baseline| (baseline.is_none() && !it.of_job && !it.marked).then_some(arm));
        match (over.is_empty(), ahead.is_empty()) {
            (true, true) => None,
            (true, false) => Some(format!("number: speedup of {ahead} over the runner-up")),
            (false, true) => Some(format!("number: speedup over {over}")),
            (false, false) => Some(format!("number: speedup over {over}; where {ahead} wins, over the runner-up")),
        }
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
