//! One run against another. Their passes were not taken side by side, so nothing is paired: the interval of a ratio comes
//! from the intervals of the two medians.

use std::{cmp::Reverse, collections::BTreeMap, fmt::Display};

use schema::{
    Condition, Fill, Findings, Record, Span, State, Workload,
    across::{Differs, Fact, FactSays, NotComparable, PassSize, RunComparison, SharedAnswer, SharedCell},
    experiment::{Compare, SizeAsked, Variant},
    fields::{self, Role},
    findings::{AnswerOf, CellFinding, Comparison, Estimate, Status, Verdict},
    protocol::Tally,
    reason::Reason,
    record::{Files, FilledRange, Outcome, Reading, Sample},
    work::{OtherWork, Work},
};

use crate::{
    compare::throttle,
    stats::ratio_of_medians,
    verdict::{MARGIN, verdict},
};

/// The second run against the first. Above 1 the second is faster.
pub fn across(first: (&Record, &Findings), second: (&Record, &Findings)) -> RunComparison {
    let pairs = pair_up(first, second);
    let mut cells = Vec::new();
    let mut not_comparable: Vec<NotComparable> = Vec::new();
    let (mut only_first, mut only_second, mut no_interval) = (0, 0, 0);
    for pair in &pairs {
        match (pair.first.filter(|it| is_measured(it)), pair.second.filter(|it| is_measured(it))) {
            (Some(a), Some(b)) => {
                let of_pair = other_subject((first.0, a), (second.0, b)).into_iter();
                for reason in of_pair.chain(other_start(a, [first.1, second.1])) {
                    if !not_comparable.contains(&reason) {
                        not_comparable.push(reason);
                    }
                }
                cells.extend(shared((first.0, a), (second.0, b)));
            }
            _ => match (pair.first.is_some_and(was_made), pair.second.is_some_and(was_made)) {
                (true, true) => no_interval += 1,
                (true, false) => only_first += 1,
                (false, true) => only_second += 1,
                (false, false) => {}
            },
        }
    }
    if cells.is_empty() {
        not_comparable.push(NotComparable::NoSharedCell);
    }
    if first.0.id == second.0.id {
        not_comparable.push(NotComparable::OneRun { run: first.0.id.clone() });
    }
    let (answers, left_out) = answers(first, second, &pairs);
    RunComparison {
        first: first.0.id.clone(),
        second: second.0.id.clone(),
        differs: environment(first.0, second.0),
        not_comparable,
        only_first,
        only_second,
        no_interval,
        drift: drift(&cells, |it| it.median),
        drift_ends: drift(&cells, |it| it.ci_low).zip(drift(&cells, |it| it.ci_high)).map(<[f64; 2]>::from),
        answers_left_out: left_out.iter().filter(|it| it.is_decided()).count() as u64,
        answers,
        cells,
    }
}

/// The same cell in two runs; one of them may lack it.
pub(crate) struct Pair<'a> {
    pub(crate) first: Option<&'a CellFinding>,
    pub(crate) second: Option<&'a CellFinding>,
}

/// Every cell of two runs, measured or not, each with the one of the other run that asks the same and is most like it, in
/// the order of the first; then those that only the second has.
pub(crate) fn pair_up<'a>(first: (&'a Record, &'a Findings), second: (&'a Record, &'a Findings)) -> Vec<Pair<'a>> {
    let entered = |it: &'a Findings| it.cells.iter().filter(|cell| !cell.control).collect::<Vec<&CellFinding>>();
    let (ours, theirs) = (entered(first.1), entered(second.1));
    let mut candidates: Vec<(u32, usize, usize)> = Vec::new();
    let asked_theirs: Vec<AskedUnder> = theirs.iter().map(|it| AskedUnder::of(second.0, it)).collect();
    for (a, one) in ours.iter().enumerate() {
        let (of_one, asked) = (compare_of(first.0, one), AskedUnder::of(first.0, one));
        for (b, other) in theirs.iter().enumerate() {
            let of_other = compare_of(second.0, other);
            if one.arm.name == other.arm.name && asked.is_as(&asked_theirs[b]) {
                candidates.push((likeness((one, of_one), (other, of_other)), a, b));
            }
        }
    }
    candidates.sort_by_key(|&(likeness, a, b)| (Reverse(likeness), a, b));
    let mut partners = vec![None; ours.len()];
    let mut taken = vec![false; theirs.len()];
    for (_, a, b) in candidates {
        if partners[a].is_none() && !taken[b] {
            (partners[a], taken[b]) = (Some(b), true);
        }
    }
    let paired =
        ours.iter().zip(partners).map(|(it, partner)| Pair { first: Some(it), second: partner.map(|at| theirs[at]) });
    let left = theirs.iter().zip(&taken).filter(|(_, taken)| !**taken);
    paired.chain(left.map(|(it, _)| Pair { first: None, second: Some(it) })).collect()
}

fn was_made(cell: &CellFinding) -> bool {
    cell.status == Status::Ok
}

/// Few rounds have no interval.
fn is_measured(cell: &CellFinding) -> bool {
    was_made(cell) && cell.ns_per_op.is_some()
}

/// The comparison that a cell comes from.
fn compare_of<'a>(record: &'a Record, cell: &CellFinding) -> Option<&'a Compare> {
    record.experiment.comparisons.get(cell.id.condition.comparison_index?)
}

type Side<'a> = (&'a CellFinding, Option<&'a Compare>);

/// What a cell is asked under. How large a pass was made is the planner's choice, unless it was written down; other files and
/// memory are the same question (`Role::Subject`).
#[derive(Debug)]
pub(super) struct AskedUnder {
    variant: Option<Variant>,
    size: SizeAsked,
    condition: Condition,
    /// What its arm does.
    does: Condition,
}

impl AskedUnder {
    pub(super) fn of(record: &Record, cell: &CellFinding) -> AskedUnder {
        let compare = compare_of(record, cell);
        AskedUnder {
            variant: compare.and_then(|it| it.variant),
            size: compare.map(|it| it.size_asked_of(&cell.condition, &cell.arm.name)).unwrap_or_default(),
            condition: cell.condition.clone(),
            does: cell.does().clone(),
        }
    }

    pub(super) fn is_as(&self, other: &AskedUnder) -> bool {
        (self.variant, self.size) == (other.variant, other.size)
            && fields::agree(Role::Asked, &self.condition, &other.condition)
            && fields::agree(Role::Asked, &self.does, &other.does)
    }
}

/// Of several that ask the same, which one is meant: the things that count most come first.
fn likeness((a, of_a): Side, (b, of_b): Side) -> u32 {
    let name = |compare: Option<&Compare>| compare.and_then(|it| it.name.clone());
    // The first arm of a comparison.
    let baseline = |compare: Option<&Compare>| Some(compare?.arms.first()?.arm.name.clone());
    let alike = [
        fields::other_subject(a.does(), b.does(), of_a.and_then(|it| it.range)).is_empty(),
        baseline(of_a) == baseline(of_b),
        name(of_a) == name(of_b),
        fields::agree(Role::Size, a.does(), b.does()),
    ];
    alike.into_iter().fold(0, |sum, it| 2 * sum + u32::from(it))
}

/// The median of the cells' ratios, or of an end of their intervals. Other sizes and other folios are no drift.
fn drift(cells: &[SharedCell], of: impl Fn(Estimate) -> f64) -> Option<f64> {
    let is_far = |it: &SharedCell| {
        !it.condition.is_of_commands() && it.sizes.is_some_and(|[first, second]| first.is_far_from(&second))
    };
    let is_other =
        |it: &SharedCell| matches!(it.reason, Some(Reason::OtherFolios { .. } | Reason::OtherOwnWork { .. }));
    let counts = cells.iter().filter(|it| !is_far(it) && !is_other(it));
    let mut ratios: Vec<f64> = counts.filter_map(|it| Some(of(it.speedup?))).collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.len() / 2;
    match ratios.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(ratios[middle]),
        _ => Some((ratios[middle - 1] * ratios[middle]).sqrt()),
    }
}

/// Comparisons that were made in both runs: of cells that are paired, arm with arm and baseline with baseline. First those
/// whose passes are about one thing in both runs, then those whose arm or baseline is not.
fn answers(
    first: (&Record, &Findings),
    second: (&Record, &Findings),
    pairs: &[Pair],
) -> (Vec<SharedAnswer>, Vec<SharedAnswer>) {
    let is_apart = |a: &CellFinding, b: &CellFinding| apart((first.0, a), (second.0, b)).is_some();
    let both = || pairs.iter().filter_map(|it| Some((it.first?, it.second?)));
    let others: Vec<usize> = both().filter(|(a, b)| is_apart(a, b)).map(|it| it.0.id.cell).collect();
    let both = both();
    let pairs: BTreeMap<usize, usize> = both.map(|(a, b)| (a.id.cell, b.id.cell)).collect();
    let (first, second) = (first.1, second.1);
    let shared = first.comparisons.iter().filter_map(|a| {
        let (arm, baseline) = (pairs.get(&a.id.cell)?, pairs.get(&a.baseline_cell)?);
        let b = second.comparisons.iter().find(|b| (b.id.cell, b.baseline_cell) == (*arm, *baseline))?;
        let sizes = [(first, a), (second, b)].map(|(of, it)| size_of_answer(of, it));
        let is_alike = ![a.id.cell, a.baseline_cell].iter().any(|it| others.contains(it));
        let answer = SharedAnswer {
            sizes: sizes[0].zip(sizes[1]).filter(|(a, b)| a != b).map(<[PassSize; 2]>::from),
            first_id: a.id,
            second_id: b.id,
            condition: a.condition.clone(),
            baseline: a.baseline.clone(),
            arm: a.arm.clone(),
            first: a.speedup,
            second: b.speedup,
            first_verdict: a.verdict,
            second_verdict: b.verdict,
            first_of: a.answer_of,
            second_of: b.answer_of,
        };
        Some((is_alike, answer))
    });
    let (alike, left_out): (Vec<_>, Vec<_>) = shared.partition(|(is_alike, _)| *is_alike);
    let answer = |(_, answer)| answer;
    (alike.into_iter().map(answer).collect(), left_out.into_iter().map(answer).collect())
}

/// Of the passes that answer: those at the size of the job, or those of the rounds.
fn size_of_answer(findings: &Findings, it: &Comparison) -> Option<PassSize> {
    let cell = findings.cells.iter().find(|cell| cell.id.cell == it.id.cell)?;
    if cell.does().is_of_commands() {
        return None;
    }
    let of_rounds = PassSize::of(cell.does());
    let job = it.confirmed.as_ref().filter(|_| it.answer_of == AnswerOf::Job);
    Some(job.map_or(of_rounds, |job| PassSize { ops: job.ops, range: Span { bytes: job.bytes, ..of_rounds.range } }))
}

/// The pages that one fault mapped of a file as it was found, which is not the experiment's choice; of cells that begin with that.
pub(super) fn found_folios(record: &Record, cell: &CellFinding) -> Option<f64> {
    let found = record.fills.iter().rev().find(|it| it.fill == Some(Fill::Found));
    found.filter(|_| cell.does().fill() == Some(Fill::Found))?.pages_per_fault
}

/// Why passes that began with a file as it was found are not about one thing, by the pages that a fault mapped in each run.
pub(super) fn other_folios(pages: &[f64]) -> Option<Reason> {
    let (least, most) = (pages.iter().copied().reduce(f64::min)?, pages.iter().copied().reduce(f64::max)?);
    (!FilledRange::are_alike(least, most)).then_some(Reason::OtherFolios { pages_per_fault: [least, most] })
}

/// What a replay has of the program's own work between its accesses, and what a pass takes.
pub(super) fn own_work(cell: &CellFinding) -> Option<[f64; 2]> {
    let does = cell.does();
    (does.workload == Workload::Replay).then_some([does.own_work_ns as f64, cell.ns_per_op?.median * does.ops as f64])
}

/// Why passes that have it are not about one thing: it differs by more than what two of them may differ by and be alike.
pub(super) fn other_own_work(of: &[[f64; 2]]) -> Option<Reason> {
    let each = || of.iter().map(|it| it[0]);
    let (least, most) = (each().reduce(f64::min)?, each().reduce(f64::max)?);
    let shortest = of.iter().map(|it| it[1]).reduce(f64::min)?;
    (most - least > MARGIN * shortest).then_some(Reason::OtherOwnWork { own_work_ns: [least as u64, most as u64] })
}

/// Why passes of two runs are not about one thing, although they ask the same.
fn apart(first: (&Record, &CellFinding), second: (&Record, &CellFinding)) -> Option<Reason> {
    let both = |of: [Option<f64>; 2]| Some([of[0]?, of[1]?]);
    let folios = both([first, second].map(|(record, cell)| found_folios(record, cell)));
    let work = own_work(first.1).zip(own_work(second.1));
    folios.and_then(|it| other_folios(&it)).or_else(|| work.and_then(|(a, b)| other_own_work(&[a, b])))
}

fn shared((first_run, a): (&Record, &CellFinding), (second_run, b): (&Record, &CellFinding)) -> Option<SharedCell> {
    let (first, second) = (a.ns_per_op?, b.ns_per_op?);
    let (speedup, passes) = (ratio_of_medians(first, second), a.samples.min(b.samples));
    let (mut verdict, mut reason) = match verdict(speedup, passes) {
        Ok(verdict) => (verdict, None),
        Err(open) => (Verdict::Undecided, Some(open.with_advice())),
    };
    let sizes = fields::differences(Role::Size, a.does(), b.does());
    if verdict != Verdict::Undecided && !sizes.is_empty() {
        let (ours, theirs): (Vec<String>, Vec<String>) = sizes.into_iter().map(|(_, a, b)| (a, b)).unzip();
        reason = Some(Reason::OtherSizes { first: ours, second: theirs });
    }
    let cells = [(first_run, a.id.cell), (second_run, b.id.cell)];
    let is_throttled = [a, b].iter().any(|it| it.does().storage.is_some());
    let of_throttle = speedup.filter(|_| is_throttled);
    if let Some(why) = of_throttle.and_then(|it| throttle::opens_across(cells, verdict, it, passes)) {
        (verdict, reason) = (Verdict::Undecided, Some(why));
    }
    if let Some(why) = apart((first_run, a), (second_run, b)) {
        (verdict, reason) = (Verdict::Undecided, Some(why));
    }
    let sizes = [a.does(), b.does()].map(PassSize::of);
    Some(SharedCell {
        sizes: (sizes[0] != sizes[1]).then_some(sizes),
        first_id: a.id,
        second_id: b.id,
        comparison: compare_of(first_run, a).map_or_else(Vec::new, |it| it.words(a.id.condition.comparison_index)),
        arm: a.arm.clone(),
        condition: a.condition.clone(),
        own_condition: a.own_condition.clone(),
        first,
        second,
        speedup,
        verdict,
        reason,
    })
}

/// Why what two cells of one question say is about two things.
fn other_subject(first: (&Record, &CellFinding), second: (&Record, &CellFinding)) -> Vec<NotComparable> {
    let ((_, a), (_, b)) = (first, second);
    let range = compare_of(first.0, a).and_then(|it| it.range);
    let differ = fields::other_subject(a.does(), b.does(), range).into_iter().map(|(field, first, second)| {
        let field = field.name.to_string();
        NotComparable::Subject { field, first, second }
    });
    let mut reasons: Vec<NotComparable> = differ.collect();
    let name = &a.arm.name;
    // A command keeps its name while its line, its shell or its preparation changes.
    if a.arm.command() != b.arm.command() {
        reasons.push(NotComparable::Command { arm: name.clone() });
    } else if reasons.is_empty() {
        reasons.extend(other_work(first, second));
    }
    reasons
}

/// Passes of state `as-found` begin with what there was, which is not the experiment's choice.
fn other_start(cell: &CellFinding, [first, second]: [&Findings; 2]) -> Option<NotComparable> {
    let pages = [first.found?, second.found?];
    (cell.does().state == State::AsFound && !pages[0].is_like(&pages[1])).then_some(NotComparable::Found { pages })
}

/// A cell whose passes did as much with each block as those of the other run, and found the same bytes: what their tallies say
/// otherwise.
fn other_work(first: (&Record, &CellFinding), second: (&Record, &CellFinding)) -> Option<NotComparable> {
    let arm = first.1.arm.name.clone();
    let [ours, theirs] = [first, second].map(|(record, cell)| Did::of(record, cell));
    Some(match ours.work(first.1.does()).other(&theirs.work(second.1.does()))? {
        OtherWork::BytesPerBlock(bytes_per_block) => NotComparable::Consumed { arm, bytes_per_block },
        OtherWork::Checksums(_) if first.1.does().is_of_commands() => NotComparable::Output { arm },
        OtherWork::Checksums(checksums) => NotComparable::Bytes { arm, checksums },
    })
}

/// What the tallies of a cell say of its passes, as `Work` has it.
pub(super) struct Did {
    bytes_per_block: Option<f64>,
    checksums: BTreeMap<u64, String>,
}

impl Did {
    pub(super) fn of(record: &Record, cell: &CellFinding) -> Did {
        let passes = valid_passes(record, cell);
        let (bytes, ops) = passes
            .iter()
            .fold((0.0, 0.0), |(bytes, ops), (_, tally)| (bytes + tally.bytes as f64, ops + tally.ops as f64));
        let begin = |window: Option<u64>| window.unwrap_or(cell.does().range.offset);
        let is_known = !record.target.made_here && !cell.arm.ignores_output();
        let checksums = checksums_of(&passes, cell).into_iter().filter(|_| is_known);
        Did {
            bytes_per_block: (ops > 0.0).then(|| bytes / ops),
            checksums: checksums.filter_map(|(window, sum)| Some((begin(window), sum?.to_string()))).collect(),
        }
    }

    pub(super) fn work<'a>(&'a self, does: &'a Condition) -> Work<'a> {
        Work { does, bytes_per_block: self.bytes_per_block, checksums: &self.checksums }
    }
}

/// Where the window of each began, if it moved, and what was done.
fn valid_passes<'a>(record: &'a Record, cell: &CellFinding) -> Vec<(Option<u64>, &'a Tally)> {
    let tally = |it: &'a Sample| match &it.outcome {
        Outcome::Ok { tally, .. } if it.cell == cell.id.cell => Some((it.window_offset, tally)),
        _ => None,
    };
    record.samples.iter().filter_map(tally).collect()
}

/// Of each window of ascending reads, what all passes over it found; `None` where they did not find the same. Random offsets
/// are of a seed.
fn checksums_of<'a>(passes: &[(Option<u64>, &'a Tally)], cell: &CellFinding) -> BTreeMap<Option<u64>, Option<&'a str>> {
    let mut all: BTreeMap<Option<u64>, Option<&str>> = BTreeMap::new();
    let workload = cell.does().workload;
    if workload.is_ascending() && !workload.writes() {
        for (window, tally) in passes {
            let found = all.entry(*window).or_insert(Some(&tally.checksum));
            *found = found.filter(|it| *it == tally.checksum);
        }
    }
    all
}

fn environment(a: &Record, b: &Record) -> Vec<Differs> {
    fn known<T>(reading: &Reading<T>, says: impl Fn(&T) -> FactSays) -> FactSays {
        match reading {
            Reading::Value(value) => says(value),
            Reading::Unavailable { unavailable } => FactSays::NotKnown(unavailable.clone()),
        }
    }
    fn text<T: Display>(reading: &Reading<T>) -> FactSays {
        known(reading, |it| it.to_string().into())
    }
    // That none is set is known, too.
    let limit = |it: &Reading<u64>| it.value().map_or_else(|| it.reason().unwrap_or_default().into(), FactSays::from);
    let facts = |it: &Record| {
        let (environment, target) = (&it.environment, &it.target);
        vec![
            (Fact::Faultline, it.tool_version.as_str().into()),
            (Fact::Experiment, it.experiment.name.as_str().into()),
            (Fact::EndedEarly, it.partial.as_deref().unwrap_or("no").into()),
            (Fact::Host, environment.host.as_str().into()),
            (Fact::Kernel, environment.kernel.as_str().into()),
            (Fact::Architecture, environment.architecture.as_str().into()),
            (Fact::Cpu, text(&environment.cpu)),
            (Fact::Cpus, environment.cpus.into()),
            (Fact::MemoryBytes, environment.memory_bytes.into()),
            (Fact::MemoryLimitBytes, limit(&environment.memory_limit_bytes)),
            (Fact::Virtualisation, text(&environment.virtualisation)),
            (Fact::Mitigations, pairs_of(&environment.mitigations).into()),
            (Fact::PageBytes, environment.page_bytes.into()),
            (Fact::TransparentHugepage, text(&environment.transparent_hugepage)),
            (Fact::FaultAroundBytes, text(&environment.fault_around_bytes)),
            (Fact::Governor, text(&environment.governor)),
            (Fact::CLibrary, text(&environment.c_library)),
            (Fact::Clocksource, text(&environment.clocksource)),
            (Fact::TickNs, text(&environment.tick_ns)),
            (Fact::LruGen, text(&environment.lru_gen)),
            (Fact::ReclaimSchemes, known(&environment.reclaim_schemes, |it| FactSays::Schemes(it.clone()))),
            (Fact::Runtimes, runtimes(it).into()),
            (Fact::Root, if environment.root { "yes" } else { "no" }.into()),
            (Fact::Target, target.described().into()),
            (Fact::TargetBytes, target.bytes.into()),
            (Fact::Files, target.files.as_ref().map_or_else(|| "one".into(), files)),
            (Fact::Folder, it.folder.as_deref().unwrap_or("not known").into()),
            (Fact::FileSystem, format!("{} ({})", target.file_system, target.mount_options).into()),
            (Fact::Device, known(&target.device, |it| it.name.as_str().into())),
            (Fact::ReadAheadBytes, known(&target.device, |it| text(&it.read_ahead_bytes))),
        ]
    };
    let differ = |((what, first), (_, second)): ((Fact, FactSays), (Fact, FactSays))| {
        (first != second).then_some(Differs { what, first, second })
    };
    let facts = facts(a).into_iter().zip(facts(b)).filter_map(differ);
    // Older records do not say it, and others may have one nodename.
    let machine =
        |it: &Record| it.environment.machine.as_ref().map(|it| format!("{}, hardware {}", it.key, it.hardware));
    let machines = machine(a).zip(machine(b)).filter(|(first, second)| first != second);
    let machines = machines.map(|(a, b)| Differs { what: Fact::Machine, first: a.into(), second: b.into() });
    machines.into_iter().chain(facts).collect()
}

fn runtimes(it: &Record) -> String {
    let described: Vec<String> =
        it.runtimes.iter().map(|(name, facts)| format!("{name} ({})", pairs_of(facts))).collect();
    if described.is_empty() { "none".to_string() } else { described.join("; ") }
}

/// `meltdown: Not affected, retbleed: Vulnerable`
fn pairs_of(facts: &BTreeMap<String, String>) -> String {
    facts.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<String>>().join(", ")
}

fn files(it: &Files) -> FactSays {
    FactSays::Files { count: it.count, named: it.named.iter().map(|it| it.path.clone()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drift_is_the_middle_of_the_cells_and_nothing_without_any() {
        let cell = |median: f64| {
            let estimate = Estimate { median, ci_low: median, ci_high: median };
            let record: Record =
                serde_json::from_str(include_str!("../../../schema/tests/records/version-1.json")).unwrap();
            let (arm, condition) = (record.cells[0].arm.clone(), record.conditions[0].clone());
            let id = record.cell_id(0).unwrap();
            SharedCell {
                first_id: id,
                second_id: id,
                comparison: Vec::new(),
                arm,
                condition,
                own_condition: None,
                first: estimate,
                second: estimate,
                speedup: Some(estimate),
                verdict: Verdict::Same,
                reason: None,
                sizes: None,
            }
        };
        let drift = |cells: &[SharedCell]| drift(cells, |it| it.median);
        assert_eq!(drift(&[]), None);
        assert_eq!(drift(&[cell(3.0), cell(0.5), cell(2.0)]), Some(2.0));
        assert_eq!(drift(&[cell(4.0), cell(1.0)]), Some(2.0));
    }

    #[test]
    fn a_run_gives_the_answers_it_gives() {
        let record: Record =
            serde_json::from_str(include_str!("../../../schema/tests/records/version-1.json")).unwrap();
        let findings = crate::analyze(&record);
        let versus = across((&record, &findings), (&record, &findings));
        assert_eq!(versus.answers.len(), findings.comparisons.len());
        assert!(versus.answers.iter().all(|it| it.first_verdict == it.second_verdict && it.first == it.second));
    }
}
