//! The summary beside the map: noise floor, device ceiling, crossovers, lost passes with reasons, warnings.

use std::collections::{BTreeMap, BTreeSet};

use schema::{
    Bytes, Findings, Labels, Names, Record, Skip, State,
    findings::{AnswerOf, CommandFinding, Comparison, NoiseFloor, Verdict},
    observation::MechanismFinding,
    reason::Reason,
    record::{Ending, Files, Outcome, Reading, RoundsEnd},
};

use super::{
    again::MeasuredAgain,
    answer,
    commands::{mechanism, time},
    costs, crossovers,
};
use crate::{
    layout::{
        number::{self, GLUE},
        text::shortened,
        words::{all_of, counted, plural, without_numbers},
    },
    shell,
    words::{advice::rounds_to_try, warning, why_open},
};

/// A label and what belongs to it, one sentence each.
pub(crate) struct SummaryEntry {
    pub(crate) label: &'static str,
    pub(crate) lines: Vec<String>,
    pub(crate) warning: bool,
}

/// Reasons of one kind that are listed; the rest is counted.
const REASONS: usize = 8;

pub(crate) fn entries(record: &Record, findings: &Findings) -> Vec<SummaryEntry> {
    let (names, labels) = (Names::of(record), Labels::of(record));
    let start = |it: &CommandFinding| answer::start(&labels, it.id.condition, &it.condition);
    let memory = |it: &CommandFinding| time::memory(it, &names, &start(it));
    let mut entries = Vec::new();
    let mut add = |label, lines: Vec<String>, warning| {
        if !lines.is_empty() {
            entries.push(SummaryEntry { label, lines, warning });
        }
    };
    add("Mechanism", mechanism(record, findings, &names), false);
    add("Noise floor", vec![noise_floor(findings)], false);
    add("Whole job", whole_job(record, findings), false);
    add("Device ceiling", vec![ceiling(record)], false);
    add("Crossovers", crossovers(record, findings), false);
    add("Job size", costs::break_evens(record, findings), false);
    add("Accounted", costs::summary(record, findings), false);
    add("Time", times(record, findings, &names, start), false);
    add("Memory", findings.commands.iter().filter_map(memory).collect(), false);
    add("Skipped", skipped(record, &names), true);
    add(
        "Invalid",
        lost(record, &names, |outcome| match outcome {
            Outcome::Invalid { reason } => Some(reason.to_string()),
            Outcome::Ok { .. } | Outcome::Failed { .. } => None,
        }),
        true,
    );
    add(
        "Failed",
        lost(record, &names, |outcome| match outcome {
            Outcome::Failed { reason } => Some(reason.clone()),
            Outcome::Ok { .. } | Outcome::Invalid { .. } => None,
        }),
        true,
    );
    add("Limits", record.limits.clone(), true);
    add("Warnings", findings.warnings.iter().map(warning).collect(), true);
    entries
}

/// Why the run ended early; absent when it did not.
pub(crate) fn interrupted(record: &Record) -> Option<String> {
    let reason = record.partial.as_deref()?;
    let valid = record.samples.iter().filter(|it| matches!(it.outcome, Outcome::Ok { .. })).count();
    let passes = counted(valid, "pass", "passes");
    let rests = format!("The results use the {passes} made until then.");
    // The label says that already.
    Some(if record.ending == Some(Ending::Interrupted) { rests } else { format!("{reason}. {rests}") })
}

/// What would bring more rounds to comparisons, by what ended them; the conditions are named where they are not all.
fn more_rounds(record: &Record, of: &[&Comparison]) -> Vec<String> {
    // By that, and whether it was another one than that of the condition.
    let mut by_end: BTreeMap<(Option<RoundsEnd>, bool), BTreeSet<usize>> = BTreeMap::new();
    // What an I/O throttle lets through free is no less of it in more rounds, and passes that are too small are no larger.
    let helps = |it: &Option<Reason>| {
        let is_of_passes = |it: &Reason| {
            matches!(
                it,
                Reason::ThrottleExceeded { .. }
                    | Reason::FewBlocks { .. }
                    | Reason::FewWindows { .. }
                    | Reason::JobDoubts { .. }
            )
        };
        !it.as_ref().is_some_and(is_of_passes)
    };
    let of = of.iter().filter(|it| helps(&it.reason));
    for it in of {
        let cell = it.id.cell;
        let is_alone = record.cells_ended.contains_key(&cell);
        by_end.entry((record.rounds_end(cell), is_alone)).or_default().insert(cell);
    }
    let (labels, names) = (Labels::of(record), Names::of(record));
    let advice = by_end.into_iter().map(|((end, is_alone), cells)| {
        let known = || cells.iter().filter_map(|it| Some((*it, record.cells.get(*it)?)));
        let conditions: BTreeSet<usize> = known().map(|(_, it)| it.condition).collect();
        let alone = known().filter(|_| is_alone);
        let alone: BTreeSet<&str> = alone.map(|(_, it)| names.short(&it.arm.name)).collect();
        let of_these = |cell: usize| record.cells.get(cell).is_some_and(|it| conditions.contains(&it.condition));
        let passes = record.samples.iter().filter(|it| of_these(it.cell));
        let advice = advice(record, end, passes.map(|it| it.round.saturating_add(1)).max().unwrap_or(0));
        let some = (conditions.len() < record.conditions.len()).then(|| some_of(&labels, &conditions));
        let alone = alone.into_iter().map(str::to_string);
        match alone.chain(some).collect::<Vec<String>>() {
            none if none.is_empty() => advice,
            named => format!("{advice} ({})", named.join(", ")),
        }
    });
    advice.collect()
}

fn advice(record: &Record, end: Option<RoundsEnd>, made: u32) -> String {
    let budget = number::seconds(record.budget_s);
    match end {
        Some(RoundsEnd::Budget) => format!("The budget ended the rounds: try a larger --budget than {budget}"),
        Some(RoundsEnd::Asked) => format!("All rounds that were asked for were made: {}", rounds_to_try(made)),
        Some(RoundsEnd::Most) => {
            format!("The default maximum of {made} rounds was made: {}", rounds_to_try(made))
        }
        Some(RoundsEnd::Precise) => {
            format!("The rounds ended because all intervals were precise: {}", rounds_to_try(made))
        }
        None => format!("Try more rounds, or a larger --budget than {budget}"),
    }
}

/// `scan 4 KiB cached, 4 threads; random 4 KiB cached; and 3 more conditions`
fn some_of(labels: &Labels, conditions: &BTreeSet<usize>) -> String {
    const NAMED: usize = 2;
    let more = conditions.len().saturating_sub(NAMED);
    let named = conditions.iter().take(NAMED).map(|it| labels.label(*it));
    let more = (more > 0).then(|| format!("and {more} more condition{}", plural(more)));
    named.chain(more).collect::<Vec<String>>().join("; ")
}

/// What was not decided, why, and what to try; absent where there is an answer. Arms that are decided to be slower leave open
/// which one is the fastest.
pub(crate) fn undecided(record: &Record, findings: &Findings) -> Option<(&'static str, String)> {
    let says = nothing_decided(record, findings)?;
    let decided = findings.comparisons.iter().filter(|it| it.verdict.is_decided()).count();
    Some(match decided {
        0 => ("Nothing decided", says),
        _ => {
            let (one, verb) = if decided == 1 { ("comparison", "is") } else { ("comparisons", "are") };
            let also = format!(
                "{} {one} {verb} decided and leave{} open which arm is the fastest",
                number::count(decided as f64),
                if decided == 1 { "s" } else { "" }
            );
            ("Fastest arm undecided", format!("{also}; {says}"))
        }
    })
}

fn nothing_decided(record: &Record, findings: &Findings) -> Option<String> {
    let comparisons = &findings.comparisons;
    if findings.is_decided() {
        return None;
    }
    let valid = record.samples.iter().filter(|sample| matches!(sample.outcome, Outcome::Ok { .. })).count();
    if valid == 0 {
        return Some(no_valid_pass(record));
    }
    if comparisons.is_empty() {
        let advice = if record.was_stopped() { "" } else { " Try a second --method, or a larger --budget." };
        return Some(format!("no two arms were measured under one condition.{advice}"));
    }
    let undecided: Vec<&Comparison> = comparisons.iter().filter(|it| it.verdict == Verdict::Undecided).collect();
    let incomparable: Vec<&Comparison> = comparisons.iter().filter(|it| it.verdict == Verdict::NotComparable).collect();
    let mut sentences = Vec::new();
    if !undecided.is_empty() {
        let total = comparisons.len();
        let which = match undecided.len() {
            all if all == total => all_of(all, "comparison", "comparisons"),
            some => format!("{some} of {total} comparisons"),
        };
        // Rounds help where both arms were measured, and nowhere else; and not where the run was stopped.
        let measured: Vec<&Comparison> =
            undecided.iter().filter(|it| it.pairs > 0 && !record.was_stopped()).copied().collect();
        // What cannot be had here is no example of what rounds decide.
        let (often, reason) = most_often(record, if measured.is_empty() { &undecided } else { &measured }, &undecided);
        let advice: String = more_rounds(record, &measured).iter().map(|it| format!(". {it}")).collect();
        let verb = if undecided.len() == 1 { "is" } else { "are" };
        sentences.push(format!("{which} {verb} undecided{often}: {reason}{advice}"));
    }
    if !incomparable.is_empty() {
        let (often, reason) = most_often(record, &incomparable, &incomparable);
        sentences.push(format!(
            "in {} comparison{} the arms did not do the same work{often}: {reason}",
            incomparable.len(),
            plural(incomparable.len())
        ));
    }
    Some(sentences.join("; ") + ".")
}

/// The reason that most of some give in the same words, and whether all do, or more of all than give another one; where neither
/// is so, the comparison whose reason it is.
fn most_often(record: &Record, some: &[&Comparison], all: &[&Comparison]) -> (String, String) {
    let counted = |of: &[&Comparison]| -> BTreeMap<String, usize> {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        of.iter().for_each(|it| *times.entry(why_open(it)).or_default() += 1);
        times
    };
    let (times, times_of_all) = (counted(some), counted(all));
    let most = times.values().copied().max().unwrap_or(0);
    let first = some.iter().find(|it| times[&why_open(it)] == most);
    let Some(first) = first else { return Default::default() };
    let is_alone = times_of_all.iter().all(|(why, times)| *times < most || *why == why_open(first));
    let often = match most {
        every if every == all.len() => String::new(),
        several if several > 1 && is_alone => ", most often".to_string(),
        _ => {
            let names = Names::of(record);
            let [arm, baseline] = [&first.arm, &first.baseline].map(|it| names.short(it));
            let label = Labels::of(record).label(first.id.condition.condition_index);
            format!(", for example {arm} against {baseline} ({label})")
        }
    };
    (often, why_open(first))
}

/// What to try depends on whether anything was tried at all.
fn no_valid_pass(record: &Record) -> String {
    let skipped = record.cells.iter().filter(|cell| cell.skipped.is_some()).count();
    let is_for_want_of_time = |it: &schema::record::Cell| {
        it.skipped.as_ref().is_some_and(|it| it.is_for_want_of_time() || *it == Skip::NothingToCompare)
    };
    // What is wrong with a command of the user's own, the machine does not say.
    let is_its_own = |it: &Skip| matches!(it, Skip::Failed(_) | Skip::NothingToCompare);
    let is_of_command = |it: &schema::record::Cell| it.arm.is_command() && it.skipped.as_ref().is_none_or(is_its_own);
    let is_of_commands = record.cells.iter().all(is_of_command);
    match record.samples.len() {
        0 if skipped > 0 && record.cells.iter().all(is_for_want_of_time) => {
            "there was no time for a pass of any arm. Try a larger --budget.".into()
        }
        0 if skipped > 0 && is_of_commands => {
            "no two commands are left that can be compared; the reasons are listed below.".into()
        }
        0 if skipped > 0 && skipped == record.cells.len() => {
            "every arm was skipped; the reasons are listed below. `faultline doctor` shows what this machine can \
             measure."
                .into()
        }
        0 => "no pass was made. `faultline doctor` shows what this machine can measure.".into(),
        lost => {
            let try_it = if is_of_commands { "" } else { " Try `faultline doctor`." };
            let passes = counted(lost, "pass", "passes");
            format!("none of {passes} was valid; the reasons are listed below.{try_it}")
        }
    }
}

/// How each command reaches its files, and whether two do it in the same way.
fn mechanism(record: &Record, findings: &Findings, names: &Names) -> Vec<String> {
    let of_arm = |it: &MechanismFinding| {
        let says = format!("{}: {}", names.short(&it.arm), mechanism::of_arm(it, record));
        [Some(says), mechanism::versus(it, &findings.mechanisms, record, names)].into_iter().flatten()
    };
    findings.mechanisms.iter().flat_map(of_arm).collect()
}

/// Where the time of each command went, from each start.
fn times(
    record: &Record,
    findings: &Findings,
    names: &Names,
    start: impl Fn(&CommandFinding) -> String,
) -> Vec<String> {
    let cell = |it: &CommandFinding| findings.cells.iter().find(|cell| cell.id == it.id);
    let is_idle = |it: &CommandFinding| mechanism::is_idle(&it.arm, &findings.mechanisms, record);
    findings.commands.iter().map(|it| time::says(it, cell(it), names, &start(it), is_idle(it))).collect()
}

fn noise_floor(findings: &Findings) -> String {
    let floor = &findings.noise_floor;
    let glued = |it: &NoiseFloor| it.width().map(|width| width.replace(' ', &GLUE.to_string()));
    let of_states: Vec<String> =
        findings.noise_floors.iter().filter_map(|it| Some(format!("{} {}", it.state, glued(&it.floor)?))).collect();
    match glued(floor) {
        Some(width) => format!(
            "A/A control: {}, {} of {} rejected",
            if of_states.len() > 1 { of_states.join(", ") } else { width },
            number::count(floor.rejected.into()),
            number::count(floor.pairs.into())
        ),
        None => "not known: no A/A control was measured often enough".into(),
    }
}

/// How many comparisons were measured again at the size of the job, with the results.
fn whole_job(record: &Record, findings: &Findings) -> Vec<String> {
    let labels = Labels::of(record);
    let again = MeasuredAgain::of(findings);
    let Some(measured) = again.says() else { return Vec::new() };
    let mut says = vec![format!("{measured}: {}", again.outcomes())];
    let decides = |it: &Comparison| matches!(it.answer_of, AnswerOf::Job | AnswerOf::Neither);
    for (comparison, job) in again.with_ratio.iter().filter(|(it, _)| decides(it)) {
        says.push(format!(
            "{} against {}, {}: {} in the rounds, {} over {} in {} blocks, {} pairs",
            comparison.arm,
            comparison.baseline,
            labels.label(comparison.id.condition.condition_index),
            job.rounds_speedup.map_or_else(|| "unknown".into(), |it| number::ratio_glued(it.median)),
            number::ratio_glued(job.speedup.median),
            number::bytes_glued(job.bytes as f64),
            number::count(job.ops as f64),
            job.pairs
        ));
    }
    says
}

fn ceiling(record: &Record) -> String {
    match &record.ceiling {
        Reading::Value(ceiling) => {
            let scan = format!("{} ({})", number::throughput_glued(ceiling.bytes_per_s), ceiling.how);
            let how = ceiling.random_how.as_ref().map_or_else(String::new, |it| format!(" ({it})"));
            let random = match &ceiling.random_ops_per_s {
                Reading::Value(ops) => format!("{} random 4\u{a0}KiB reads/s{how}", number::count(ops.round())),
                Reading::Unavailable { unavailable } => format!("random reads not measured: {unavailable}"),
            };
            format!("{scan}; {random}")
        }
        Reading::Unavailable { unavailable } => format!("not measured: {unavailable}"),
    }
}

/// Where the faster arm changes; along how many curves it does not.
fn crossovers(record: &Record, findings: &Findings) -> Vec<String> {
    let mut lines: Vec<String> = crossovers::lines(record, findings, true);
    let without = findings.crossovers.len() - lines.len();
    // Where nothing was measured, nothing was looked for.
    if without > 0 && findings.comparisons.iter().any(|it| it.speedup.is_some()) {
        let other = if lines.is_empty() { "" } else { "other " };
        let with_gaps = findings.crossovers.iter().filter(|it| !it.changes && !it.not_measured.is_empty()).count();
        let gaps = match with_gaps {
            0 => String::new(),
            all if all == without => ", not measured at every size".into(),
            some => format!(", {some} of them not measured at every size"),
        };
        lines.push(format!("none found in {without} {other}curve{} of two arms{gaps}", plural(without)));
    }
    lines
}

/// The pairs without a crossover, for the details.
pub(crate) fn without_crossover(record: &Record, findings: &Findings) -> Vec<String> {
    crossovers::lines(record, findings, false)
}

fn skipped(record: &Record, names: &Names) -> Vec<String> {
    let reason = |(cell, why): (&schema::record::Cell, Option<Reason>)| {
        Some(names.in_reason(&cell.arm, &crate::words::reason(&why?)))
    };
    let reasons: Vec<Option<String>> = record.cells.iter().zip(record.untried()).map(reason).collect();
    let mut groups = ReasonGroups::default();
    for (cell, reason) in record.cells.iter().zip(&reasons) {
        if let Some(reason) = reason {
            groups.add(reason, names.short(&cell.arm.name));
        }
    }
    groups.sentences("cell", "s")
}

fn lost(record: &Record, names: &Names, reason: impl Fn(&Outcome) -> Option<String>) -> Vec<String> {
    let arm = |cell: usize| record.cells.get(cell).map_or("unknown arm", |cell| names.short(&cell.arm.name));
    let all = record.samples.iter().filter_map(|it| Some((reason(&it.outcome)?, arm(it.cell))));
    let all: Vec<(String, &str)> = all.collect();
    let mut groups = ReasonGroups::default();
    for (reason, arm) in &all {
        groups.add(reason, arm);
    }
    groups.sentences("pass", "es")
}

/// Reasons that differ in their numbers only are one reason ("37 of 262144 pages stayed"), and so are those that differ
/// in the state that they are about.
#[derive(Default)]
struct ReasonGroups<'a> {
    by_key: BTreeMap<String, ReasonGroup<'a>>,
}

struct ReasonGroup<'a> {
    example: &'a str,
    /// There are others with other numbers.
    several: bool,
    states: Vec<State>,
    count: usize,
    arms: Vec<&'a str>,
}

impl<'a> ReasonGroups<'a> {
    fn add(&mut self, reason: &'a str, arm: &'a str) {
        let (key, state) = stateless(&without_numbers(reason));
        let group = self.by_key.entry(key).or_insert(ReasonGroup {
            example: reason,
            several: false,
            states: Vec::new(),
            count: 0,
            arms: Vec::new(),
        });
        group.several |= stateless(group.example).0 != stateless(reason).0;
        group.states.extend(state.filter(|state| !group.states.contains(state)));
        group.count += 1;
        if !group.arms.contains(&arm) {
            group.arms.push(arm);
        }
    }

    /// `12 passes (mmap, read), for example: …`, the most frequent first.
    fn sentences(self, one: &str, ending: &str) -> Vec<String> {
        let mut groups: Vec<ReasonGroup> = self.by_key.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        let things =
            |count: usize| format!("{} {one}{}", number::count(count as f64), if count == 1 { "" } else { ending });
        let rest: usize = groups.iter().skip(REASONS).map(|group| group.count).sum();
        let more = groups.len().saturating_sub(REASONS);
        let mut sentences: Vec<String> = groups
            .iter()
            .take(REASONS)
            .map(|group| {
                let example = if group.several { ", for example: " } else { ": " };
                let reason = shortened(group.example, 300);
                let others: Vec<&str> = group.states.iter().skip(1).map(|state| state.word()).collect();
                let too = match others.len() {
                    0 => String::new(),
                    one => format!("; the same for state{} {}", plural(one), others.join(", ")),
                };
                format!("{} ({}){example}{reason}{too}", things(group.count), group.arms.join(", "))
            })
            .collect();
        if more > 0 {
            sentences.push(format!("{} for {more} other reason{}", things(rest), plural(more)));
        }
        sentences
    }
}

/// A reason without the state that it is about ("state cold cannot be verified"), and that state.
fn stateless(reason: &str) -> (String, Option<State>) {
    const WORD: &str = "state ";
    for (at, _) in reason.match_indices(WORD) {
        let rest = &reason[at + WORD.len()..];
        let found = State::ALL.iter().copied().filter(|state| rest.starts_with(state.word()));
        if let Some(state) = found.max_by_key(|state| state.word().len()) {
            return (format!("{}#{}", &reason[..at + WORD.len()], &rest[state.word().len()..]), Some(state));
        }
    }
    (reason.to_string(), None)
}

/// What was measured, and where, on one line: path, size, file system, device, kernel.
pub(crate) fn title(record: &Record) -> String {
    let target = &record.target;
    let device = match &target.device {
        Reading::Value(device) => format!(" on {}", device.name),
        Reading::Unavailable { .. } => String::new(),
    };
    let kernel = &record.environment.kernel;
    let kernel =
        if kernel.starts_with(|c: char| c.is_ascii_digit()) { format!("Linux\u{a0}{kernel}") } else { kernel.clone() };
    let size = Bytes(target.bytes).to_string().replace(' ', "\u{a0}");
    let path = shortened(&target.path, 200);
    // A file that is gone is known by the folder it was in.
    let path = match &target.files {
        None => path.into_owned(),
        Some(files) => named(files),
    };
    let file = match target.folder_of_test_file() {
        Some(folder) => format!("a test file of {size} in {}", shortened(folder, 200)),
        None => format!("{path} · {size}"),
    };
    format!("{file} · {}{device} · {kernel}", target.file_system)
}

/// `10,000 files of tree, big.log`, `2 files: a, b`
fn named(files: &Files) -> String {
    const SHOWN: usize = 3;
    let names: Vec<&str> = files.named.iter().take(SHOWN).map(|it| it.path.as_str()).collect();
    let more = if files.named.len() > SHOWN { ", …" } else { "" };
    let count = number::count(files.count as f64);
    let of = if files.named.iter().any(|it| it.folder) { " of" } else { ":" };
    shortened(&format!("{count} file{}{of} {}{more}", plural(files.count as usize), names.join(", ")), 300).into_owned()
}

/// Which run this is: experiment, how long, id.
pub(crate) fn run(record: &Record) -> String {
    let title = record.experiment.title.trim_end_matches('.');
    let end = if title.ends_with(['?', '!']) { "" } else { "." };
    format!("{title}{end} {}", passes(record))
}

/// `312 passes in 105 s, run 20261120T225104Z-3f9a`
pub(crate) fn passes(record: &Record) -> String {
    format!(
        "{} in {}, run\u{a0}{}",
        counted(record.samples.len(), "pass", "passes"),
        number::seconds(record.elapsed_s).replace(' ', "\u{a0}"),
        shell::short(&record.id)
    )
}
