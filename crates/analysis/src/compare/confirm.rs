//! Answers at the size of the job: what was measured again there, and whether it says the same.

use schema::{
    Condition, Record, Span, Workload,
    caution::Caution,
    condition::WINDOWS_LEAST,
    findings::{AnswerOf, Comparison, Confirmed, Estimate, Verdict},
    reason::Reason,
    record::{self, Confirmation},
};

use super::equal_work::{self, TooLittle, too_little_from_device};
use crate::{
    measured::{Cell, Run},
    stats::{self, SortedValues},
    verdict::{LEAST_PAIRS, MARGIN, side, verdict},
};

/// Puts what the job says in the place of what the rounds said, where it decides something else, or another size of the difference
/// where that depends on how much there is to do. Where it decides nothing
/// and the two do not fit each other, nothing is decided, not even that the arm is no faster. Forks that disagree are more
/// than a few pairs of them can answer.
pub(crate) fn confirm(run: &Run, arms: [&Cell; 2], finding: &mut Comparison, depends_on_fork: bool) {
    let Some((job, ratios)) = measured_again(run.record, finding) else { return };
    match too_little(run, job, arms) {
        Some(TooLittle::Apart(difference)) => {
            finding.answer_of = AnswerOf::RoundsUnconfirmed;
            let [baseline, arm] = arms;
            finding.warnings.push(Caution::JobUnequal(equal_work::reason(run, baseline, arm, vec![difference])));
            return;
        }
        Some(TooLittle::Alike(caution)) => {
            // The share of the larger passes is the one to know.
            finding.warnings.retain(|it| !matches!(it, Caution::LittleFromDevice { .. }));
            finding.warnings.push(caution);
        }
        None => {}
    }
    let pairs = ratios.len() as u32;
    let Some(speedup) = stats::median_of_positive(ratios) else {
        finding.answer_of = AnswerOf::RoundsUnconfirmed;
        let (least, invalid) = (Confirmation::PAIRS, job.invalid.first().cloned());
        finding.warnings.push(Caution::JobFailed { pairs, least, invalid });
        return;
    };
    let verdict = verdict(Some(speedup), pairs).unwrap_or(Verdict::Undecided);
    let rounds = (finding.speedup, finding.verdict);
    // An undecided comparison answers, too: its interval says how much faster the arm is at most. Where that is not by the
    // margin, it says on which side.
    let is_on_a_side = rounds.1.is_decided() || rounds.0.is_some_and(|it| it.ci_high <= 1.0 + MARGIN);
    let is_contradicted = || rounds.0.is_some_and(|it| !fit(it, speedup, is_on_a_side));
    // Random reads share faults, or what is read ahead of others, and stores to what is read first fault in smaller folios.
    let by_all = |it: &Cell| part_of_job(run.record, it.entry, it.own, Some((job.ops, job.range.bytes))).is_none();
    let depends_on_size = arms.iter().any(|it| it.arm().depends_on_size(it.own) || reads_around(it) && by_all(it));
    finding.answer_of = match verdict.is_decided() {
        true if verdict == rounds.1 && !(depends_on_size && rounds.0.is_some_and(|it| is_far(it, speedup))) => {
            AnswerOf::RoundsAndJob
        }
        true if !depends_on_fork => AnswerOf::Job,
        false if is_contradicted() => AnswerOf::Neither,
        _ => AnswerOf::RoundsUnconfirmed,
    };
    match finding.answer_of {
        AnswerOf::Job => answer_by_job(finding, speedup, verdict, job.ops),
        AnswerOf::Neither => {
            finding.verdict = Verdict::Undecided;
            let (blocks, rounds) = (finding.condition.ops, rounds.0.map(|it| it.median));
            let (job_blocks, job) = (job.ops, speedup);
            let least = Confirmation::PAIRS;
            finding.reason = Some(Reason::JobDoubts { blocks, rounds, job_blocks, job, pairs, least });
        }
        AnswerOf::Rounds | AnswerOf::RoundsUnconfirmed | AnswerOf::RoundsAndJob => {}
    }
    finding.confirmed = Some(Confirmed {
        bytes: job.range.bytes,
        ops: job.ops,
        speedup,
        pairs,
        verdict,
        rounds_speedup: rounds.0,
        rounds_verdict: rounds.1,
        rounds_came_free: None,
    });
}

/// What the rounds say is not the answer.
pub(super) fn answer_by_job(finding: &mut Comparison, speedup: Estimate, verdict: Verdict, job_blocks: u64) {
    let (blocks, rounds, job) = (finding.condition.ops, finding.speedup.map(|it| it.median), speedup.median);
    // How many reads are in flight depends on the size of a pass; those of the job are not recorded.
    finding.warnings.retain(|it| !matches!(it, Caution::QueueDepths { .. }));
    finding.warnings.push(Caution::JobDecides { blocks, rounds, job_blocks, job });
    finding.answer_of = AnswerOf::Job;
    (finding.speedup, finding.verdict, finding.reason) = (Some(speedup), verdict, None);
    // The counts are of the rounds.
    finding.explanation = None;
}

/// Whether the pairs of a job decide nothing.
pub fn is_open(job: &Confirmation) -> bool {
    let ratios = job.pairs.iter().map(|[baseline, arm]| baseline / arm);
    verdict(stats::median_of_positive(ratios), job.pairs.len() as u32).is_err()
}

fn too_little(run: &Run, job: &Confirmation, arms: [&Cell; 2]) -> Option<TooLittle> {
    // What is written over need not come from the device.
    if !arms.iter().all(|it| it.own.reads_what_it_covers()) {
        return None;
    }
    too_little_from_device(came_from_device(job, arms, run.page_bytes())?, run.record.target.allocated())
}

/// Whether both arms did the same at the size of the job, as far as that is known.
pub(crate) fn is_equal_work(run: &Run, job: &Confirmation) -> bool {
    let cell = |id: usize| run.cells.iter().find(|it| it.id.cell == id);
    let arms = cell(job.baseline_cell).zip(cell(job.arm_cell));
    let too_little = arms.and_then(|(baseline, arm)| too_little(run, job, [baseline, arm]));
    !matches!(too_little, Some(TooLittle::Apart(_)))
}

/// What came from the device of what both arms covered, in the middle of the cold passes at the size of the job. Nothing where
/// that was not counted.
fn came_from_device(job: &Confirmation, arms: [&Cell; 2], page_bytes: u64) -> Option<[(f64, f64); 2]> {
    let median = |values: Vec<f64>| SortedValues::new(values).map(|it| it.median());
    let of = |arm: &Cell| {
        let side = usize::from(arm.id.cell == job.arm_cell);
        let passes = || job.cold.iter().map(|it| &it[side]);
        let covered = median(passes().map(|it| arm.covered(&it.tally, page_bytes) as f64).collect())?;
        let device = median(passes().filter_map(|it| it.device_read_bytes).collect())?;
        (covered > 0.0).then_some((device, covered))
    };
    let [baseline, arm] = arms;
    Some([of(baseline)?, of(arm)?])
}

/// Both say the same, and not by how much: what the job says is what was asked.
fn is_far(rounds: Estimate, job: Estimate) -> bool {
    const FAR: f64 = 1.25;
    let apart = rounds.median / job.median;
    let are_apart = rounds.ci_high < job.ci_low || job.ci_high < rounds.ci_low;
    are_apart && apart.max(1.0 / apart) > FAR
}

/// Whether the medians lie on the same side of the margin, if the rounds are on one, and each in the interval of the other;
/// medians that differ by less than the margin do not differ.
fn fit(rounds: Estimate, job: Estimate, is_on_a_side: bool) -> bool {
    let contains = |it: Estimate, other: Estimate| (it.ci_low..=it.ci_high).contains(&other.median);
    let is_near = side(rounds.median / job.median) == 0;
    let is_on_the_other = is_on_a_side && side(rounds.median) != side(job.median);
    !is_on_the_other && (is_near || (contains(rounds, job) && contains(job, rounds)))
}

/// The passes of both cells at the size of the job, whichever of them was the baseline there, and how many times faster the
/// arm was in each pair.
fn measured_again<'a>(record: &'a Record, finding: &Comparison) -> Option<(&'a Confirmation, Vec<f64>)> {
    let job = job_of(record, finding)?;
    let ratio =
        |[baseline, arm]: &[f64; 2]| if job.arm_cell == finding.id.cell { baseline / arm } else { arm / baseline };
    let ratios = job.pairs.iter().map(ratio).filter(|it| it.is_finite() && *it > 0.0).collect();
    (finding.verdict != Verdict::NotComparable).then_some((job, ratios))
}

/// The same cells at the size of the job, either of them as the baseline.
pub(super) fn job_of<'a>(record: &'a Record, finding: &Comparison) -> Option<&'a Confirmation> {
    let cells = (finding.baseline_cell, finding.id.cell);
    let is_about =
        |it: &Confirmation| [(it.baseline_cell, it.arm_cell), (it.arm_cell, it.baseline_cell)].contains(&cells);
    record.confirmations.iter().find(|it| is_about(it))
}

/// A cold scan of a few read-ahead windows answers another question than one of the whole file: independent programs
/// contradicted its verdict. Where the planner chose so small a pass and no larger job answered, nothing is decided.
pub(crate) fn leave_open_what_is_too_small(record: &Record, finding: &mut Comparison) {
    let answered = finding.confirmed.as_ref().filter(|_| finding.answer_of.is_confirmed());
    let covered = answered.map_or(0, |job| job.bytes);
    let cells = [finding.baseline_cell, finding.id.cell];
    let reason = cells.into_iter().find_map(|it| too_small(record, it, covered));
    // Neither does it bound anything where its interval is across the margin.
    if let Some(reason) = reason.filter(|_| finding.bounds().is_some()) {
        leave_open(finding, reason);
    }
}

/// The ratio that is shown is that of the rounds, as the times are.
fn leave_open(finding: &mut Comparison, reason: Reason) {
    if finding.answer_of == AnswerOf::Job {
        finding.speedup = finding.confirmed.as_ref().and_then(|it| it.rounds_speedup);
        finding.warnings.retain(|it| !matches!(it, Caution::JobDecides { .. }));
    }
    finding.verdict = Verdict::Undecided;
    finding.answer_of = AnswerOf::Neither;
    finding.reason = Some(reason);
}

/// The more of the job a pass does, the less of it faults through a mapping: one that loses, or is as fast, by a part may win by all
/// of it. After a random fill of 300 MiB it lost 3.6 times by 8,192 random reads, and won 1.1 times by 76,800; updates of the first 25 MiB
/// of 200 were 1.4 times slower through a mapping, and those of all 4.4 times faster (so did independent programs). Where the planner
/// chose the part and no larger job answered, nothing is decided; what a mapping wins by a part stays, and is not confirmed. The same
/// of a small file, of which passes make more reads than it has pages to be long enough: it may lose by as many as that.
pub(crate) fn leave_open_what_a_part_says(run: &Run, arms: [&Cell; 2], finding: &mut Comparison) {
    let answered = finding.confirmed.as_ref().filter(|_| finding.answer_of.is_confirmed());
    let Some((size, wins)) = of_another_size(run, arms, answered.map(|it| (it.ops, it.bytes))) else { return };
    match size {
        Apart::Part(reason) if finding.verdict != wins && finding.bounds().is_some() => leave_open(finding, reason),
        // That it loses at first is what there is to know of few reads; from how many on it does not, unit costs say.
        Apart::ColdPart
            if finding.bounds().is_some() && matches!(finding.answer_of, AnswerOf::Rounds | AnswerOf::RoundsAndJob) =>
        {
            finding.answer_of = AnswerOf::RoundsUnconfirmed;
        }
        _ if finding.verdict == wins && finding.answer_of == AnswerOf::Rounds => {
            finding.answer_of = AnswerOf::RoundsUnconfirmed;
        }
        _ => {}
    }
}

/// Why the rounds do not decide a metric that they alone have: they do a part of the job. A part does decide if the arm that gains from
/// more blocks is ahead already. `by`: how many times less the second arm takes.
pub(crate) fn part_of_rounds(run: &Run, arms: [&Cell; 2], by: Option<Estimate>) -> Option<Reason> {
    let (Apart::Part(why), wins) = of_another_size(run, arms, None)? else { return None };
    let is_ahead = verdict(by, LEAST_PAIRS).is_ok_and(|it| it == wins);
    (!is_ahead).then_some(why)
}

/// How passes differ from the whole job in a way that the answer may depend on.
enum Apart {
    Part(Reason),
    /// Of cold random reads, which find what those before them brought in through a mapping.
    ColdPart,
    More,
}

/// Each miss of a mapping brings in what lies around it, where random reads that follow find it: of 12,207 cold reads the first 418
/// were 3.0 times slower through a mapping than by pread, and all of them 4.8 times faster (a C program).
pub(crate) fn reads_around(it: &Cell) -> bool {
    let (arm, does) = (it.arm(), it.own);
    does.workload == Workload::Random && arm.maps() && arm.finds_its_pages(does) && arm.word("advice") != "random"
}

/// That one of two arms reads around, and its passes, or a job of so many blocks in so many bytes, are a part of the job.
fn is_part_of_cold(run: &Run, arms: [&Cell; 2], job: Option<(u64, u64)>) -> bool {
    let around = arms.map(reads_around);
    let mapping = arms.into_iter().zip(around).find(|it| it.1).filter(|_| around[0] != around[1]);
    mapping.is_some_and(|(it, _)| part_of_job(run.record, it.entry, it.own, job).is_some())
}

/// Why passes of the rounds, or of a job of so many blocks in so many bytes, do not answer for all of the file; and what needs to be
/// confirmed: that the arm that takes the less for each block the more there are is ahead.
fn of_another_size(run: &Run, arms: [&Cell; 2], job: Option<(u64, u64)>) -> Option<(Apart, Verdict)> {
    if is_part_of_cold(run, arms, job) {
        return Some((Apart::ColdPart, Verdict::Undecided));
    }
    let maps = |it: &Cell| it.arm().depends_on_size(it.own);
    // One that is populated has its cost once, however many reads there are.
    let has_cost_once = |it: &Cell| it.arm().shares_faults(it.own) && it.arm().maps_all_first();
    let gains = match (arms.map(maps), arms.map(has_cost_once)) {
        ([true, false], _) | ([true, true], [true, false]) => 0,
        ([false, true], _) | ([true, true], [false, true]) => 1,
        _ => return None,
    };
    let mapping = arms[gains];
    let does = mapping.own;
    let wins = [Verdict::Slower, Verdict::Faster][gains];
    let (blocks, bytes) = job_within(run.record, mapping.entry, does, job)?;
    if !has_cost_once(mapping) && !faults_often(mapping) {
        return None;
    }
    if does.exceeds_job(blocks, bytes, run.page_bytes()) {
        return Some((Apart::More, wins));
    }
    Some((Apart::Part(part_of_job(run.record, mapping.entry, does, job)?), wins))
}

/// Of hardly any fault more reads change little. What a write takes depends on where in the file it is by calls, too: where folios are of
/// 2 MiB it took twice as long.
fn faults_often(mapping: &Cell) -> bool {
    let faults = mapping.count("minor_faults").map(|it| it / mapping.own.ops.max(1) as f64);
    mapping.own.workload.writes() || faults.is_none_or(|it| it > FEW_FAULTS)
}

/// That the passes of an arm are a part of the job, where what it takes depends on that.
pub(crate) fn part_of_job_alone(run: &Run, cell: &Cell) -> Option<Reason> {
    let depends = cell.arm().depends_on_size(cell.own) && (cell.arm().maps_all_first() || faults_often(cell));
    part_of_job(run.record, cell.entry, cell.own, None).filter(|_| depends)
}

/// That a pass does a part of its job, or larger passes do, of so many blocks in so many bytes. Nothing where that is as good as all
/// of it, or the part was written down.
pub(crate) fn part_of_job(
    record: &Record,
    cell: &record::Cell,
    does: &Condition,
    job: Option<(u64, u64)>,
) -> Option<Reason> {
    let writes = does.workload.writes();
    let (blocks, bytes) = job_within(record, cell, does, job)?;
    let is_alike = writes && does.fill().is_some_and(schema::Fill::is_uniform);
    let job_blocks = does.job_of_part(blocks, bytes, record.environment.page_bytes).filter(|_| !is_alike)?;
    Some(Reason::FewBlocks { blocks, job_blocks, writes })
}

/// The same of passes of the rounds that do more than the job, too.
pub(crate) fn other_than_job(record: &Record, cell: &record::Cell, does: &Condition) -> Option<Reason> {
    let page_bytes = record.environment.page_bytes;
    let more = || {
        let (blocks, bytes) = job_within(record, cell, does, None)?;
        let (job_blocks, writes) = (does.job_blocks(bytes, page_bytes), does.workload.writes());
        does.exceeds_job(blocks, bytes, page_bytes).then_some(Reason::FewBlocks { blocks, job_blocks, writes })
    };
    part_of_job(record, cell, does, None).or_else(more)
}

/// The blocks of a pass whose size the planner chose, or of larger ones in so many bytes, and the bytes that its whole job is within:
/// what writes goes over all of the file, or of the range that was named.
fn job_within(record: &Record, cell: &record::Cell, does: &Condition, job: Option<(u64, u64)>) -> Option<(u64, u64)> {
    let window = planned_window(record, cell, does)?;
    let (blocks, bytes) = job.unwrap_or((does.ops, does.range.bytes));
    Some((blocks, if does.workload.writes() { window.bytes } else { bytes }))
}

/// Of the reads of a pass, where more of them change little: a fault takes one or two microseconds, a read call about one.
const FEW_FAULTS: f64 = 0.02;

/// Where the whole job of a cell lies, if the planner chose how many blocks of it a pass makes.
fn planned_window(record: &Record, cell: &record::Cell, does: &Condition) -> Option<Span> {
    let origin = record.origin(cell.condition).filter(|it| it.leaves_blocks_open_to(&cell.arm.name))?;
    Some(origin.window_of(&cell.arm.name, does))
}

/// Why the passes of a cell's rounds, or larger ones that covered so many bytes, do not answer for the whole file: by what
/// its arm did, which may be something else than its condition says.
pub(crate) fn too_small(record: &Record, cell: usize, covered: u64) -> Option<Reason> {
    let cell = record.cells.get(cell)?;
    let does = cell.own_condition.as_ref().or_else(|| record.conditions.get(cell.condition))?;
    let whole_bytes = planned_window(record, cell, does)?.bytes;
    let window_bytes = record.target.window_bytes();
    let covered_bytes = covered.max(does.range.bytes);
    // Throttled storage takes as long for the first bytes as for the others.
    let is_throttled = does.storage.is_some_and(|it| it.read_bytes_per_s.is_some());
    let is_small = does.is_cold_scan()
        && !is_throttled
        && covered_bytes < whole_bytes
        && covered_bytes < WINDOWS_LEAST.saturating_mul(window_bytes);
    let least = WINDOWS_LEAST;
    is_small.then_some(Reason::FewWindows { covered_bytes, window_bytes, least })
}

const _: () = assert!(Confirmation::PAIRS == LEAST_PAIRS, "what is measured again can be decided");
