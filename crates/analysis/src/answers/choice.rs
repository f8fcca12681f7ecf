//! Which arm to choose where nothing more is known of what will be asked: the one that loses least where it loses most
//! (minimax, over the conditions of the run). The author of a library needs it, who does not know the callers.

use schema::{
    Skip,
    answer::{Choice, Loss},
    findings::{AnswerOf, Comparison, Confirmed, MapLine, Verdict},
};

use super::map;
use crate::{
    compare::Compared,
    measured::{Cell, Run},
    verdict::MARGIN,
};

/// A single answer is no choice.
const LEAST_CONDITIONS: u32 = 2;

/// Passes whose numbers of blocks differ by no more are of one size.
const SIZES_APART: f64 = 2.0;

/// A condition with an answer.
struct Answered<'m, 'a, 'r> {
    line: &'m MapLine,
    baseline: &'r Cell<'a>,
    /// The fastest arm, and how many times faster than the baseline it is.
    fastest: &'m str,
    times: f64,
    /// Of the job that this is of: bytes and blocks. Nothing where the baseline is the fastest, or the rounds say so.
    job: Option<(u64, u64)>,
}

pub(crate) fn all<'a, 'r>(run: &'r Run<'a>, compared: &[Compared<'a, 'r>], map: &[MapLine]) -> Vec<Choice> {
    let answered: Vec<Answered> = map.iter().filter_map(|line| answered(run, compared, line)).collect();
    if (answered.len() as u32) < LEAST_CONDITIONS {
        return Vec::new();
    }
    let is_measured = |line: &&MapLine| run.of_condition(line.id.condition_index).any(|cell| !cell.passes.is_empty());
    let measured = map.iter().filter(is_measured).count() as u32;
    let entered_everywhere = |name: &&str| answered.iter().all(|it| cell_of(run, it, name).is_some());
    let mut names: Vec<&str> = run.cells.iter().map(|it| it.arm().name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut choices = vec![(of_baselines(&answered), Vec::new())];
    let open: Vec<Answered> = map.iter().filter_map(|line| open(run, line)).collect();
    let of_arm = |name| of_arm(run, compared, [&answered, &open], name);
    choices.extend(names.into_iter().filter(entered_everywhere).filter_map(of_arm));
    let mut choices = bounded(choices);
    // What is not known of an arm may be worse than all that is: its worst condition bounds nothing.
    choices.iter_mut().for_each(|it| it.measured = measured);
    choices.sort_by(|a, b| (is_partial(a).cmp(&is_partial(b))).then(worst(a).total_cmp(&worst(b))));
    choices
}

/// What was not decided of an arm, and can lose no more than what loses least otherwise, is known enough.
fn bounded(choices: Vec<(Choice, Vec<Loss>)>) -> Vec<Choice> {
    let whole = choices.iter().map(|it| &it.0).filter(|it| !is_partial(it));
    let least = whole.map(worst).fold(f64::INFINITY, f64::min);
    let bound = |(it, bounds): (Choice, Vec<Loss>)| {
        let known = it.known as usize + bounds.len();
        match known == it.conditions as usize && bounds.iter().all(|it| it.times <= least) {
            true => choice(it.arms, [it.losses, bounds].concat(), known, known),
            false => it,
        }
    };
    choices.into_iter().map(bound).collect()
}

fn is_partial(choice: &Choice) -> bool {
    choice.known < choice.conditions
}

fn worst(choice: &Choice) -> f64 {
    choice.losses.first().map_or(1.0, |it| it.times)
}

fn answered<'m, 'a, 'r>(
    run: &'r Run<'a>,
    compared: &[Compared<'a, 'r>],
    line: &'m MapLine,
) -> Option<Answered<'m, 'a, 'r>> {
    let baseline = run.baseline(line.id.condition_index)?;
    let winner = line.winner.as_deref().filter(|_| line.verdict.is_decided())?;
    // Of an arm that was not proved faster, the baseline is as good as the fastest.
    let faster = line.margin.filter(|_| line.verdict == Verdict::Faster && line.winner_cell != Some(baseline.id.cell));
    let won = compared.iter().map(|it| &it.finding).find(|it| Some(it.id.cell) == line.winner_cell);
    let job = won.filter(|_| faster.is_some() && line.answer_of == AnswerOf::Job).and_then(|it| it.confirmed.as_ref());
    let job = job.map(|it| (it.bytes, it.ops));
    Some(Answered { line, baseline, fastest: winner, times: faster.map_or(1.0, |it| it.median), job })
}

/// A condition without an answer: what is proved slower there than the baseline, or was too slow by its trial, loses that much,
/// whatever is the fastest.
fn open<'a, 'r>(run: &'r Run<'a>, line: &'r MapLine) -> Option<Answered<'r, 'a, 'r>> {
    let baseline = run.baseline(line.id.condition_index).filter(|_| line.verdict == Verdict::Undecided)?;
    // A condition that was not measured says nothing of any arm.
    if baseline.passes.is_empty() {
        return None;
    }
    Some(Answered { line, baseline, fastest: &baseline.arm().name, times: 1.0, job: None })
}

fn cell_of<'a, 'r>(run: &'r Run<'a>, under: &Answered, name: &str) -> Option<&'r Cell<'a>> {
    run.of_condition(under.line.id.condition_index).find(|it| !it.entry.control && it.arm().name == name)
}

/// The plain way of each condition.
fn of_baselines(answered: &[Answered]) -> Choice {
    let mut arms: Vec<String> = Vec::new();
    for it in answered {
        let name = &it.baseline.arm().name;
        if !arms.contains(name) {
            arms.push(name.clone());
        }
    }
    let losses = answered.iter().filter_map(|it| loss(it, 1.0, false));
    choice(arms, losses.collect(), answered.len(), answered.len())
}

/// With what it can lose at most where that was not decided and may be more than all that is known of it. Absent where it is the
/// baseline of all conditions, or could not be measured in one for a reason that is not its speed.
fn of_arm(
    run: &Run,
    compared: &[Compared],
    [answered, open]: [&[Answered]; 2],
    name: &str,
) -> Option<(Choice, Vec<Loss>)> {
    if answered.iter().all(|it| it.baseline.arm().name == name) {
        return None;
    }
    let (mut losses, mut bounds, mut known) = (Vec::<Loss>::new(), Vec::new(), 0);
    for it in answered {
        let cell = cell_of(run, it, name)?;
        let is_of_job = it.line.answer_of == AnswerOf::Job;
        let stand_in = map::stand_in(run, it.line, it.baseline, cell);
        // What was not proved slower than the fastest loses nothing that is known. At the size of the job the two were not
        // measured beside each other, but each beside the baseline.
        let is_like_fastest =
            [&it.line.tie_cells, &it.line.not_told_apart_cells].iter().any(|it| it.contains(&stand_in));
        let can_lose = is_of_job || !is_like_fastest;
        // Where time is all that it lacked, the passes of another one that does the same work say more than its trial.
        let of_line = |id: usize| run.of_condition(it.line.id.condition_index).find(|cell| cell.id.cell == id);
        let is_stood_for =
            stand_in != cell.id.cell && of_line(stand_in).is_some_and(|stand_in| !stand_in.passes.is_empty());
        let skipped = cell.entry.skipped.as_ref().filter(|skip| !(is_stood_for && skip.is_for_want_of_time()));
        // How many times faster than the baseline it is, where that is known.
        let (speedup, by_trial) = match skipped {
            _ if std::ptr::eq(cell, it.baseline) => (Some(1.0), false),
            None if stand_in == it.baseline.id.cell => (Some(1.0), false),
            Some(Skip::TooSlow { .. }) if is_of_job => (None, true),
            Some(skip @ Skip::TooSlow { blocks, .. }) => (by_trial(it.baseline, cell, skip, *blocks), true),
            Some(_) => return None,
            None => {
                let finding = compared.iter().find(|it| it.arm.id.cell == stand_in).map(|it| &it.finding)?;
                // Passes of two sizes are not to be divided.
                let is_of_rounds = !is_of_job && (finding.answer_of != AnswerOf::Job || it.times == 1.0);
                let least = finding.bounds().filter(|_| finding.verdict == Verdict::Undecided && is_of_rounds);
                bounds.extend(least.map(|[least, _]| Loss { at_most: true, ..lost(it, least, false) }));
                (speedup(finding, is_of_job, it.job).filter(|_| finding.verdict.is_decided()), false)
            }
        };
        if let Some(speedup) = speedup.filter(|it| it.is_finite() && *it > 0.0) {
            known += 1;
            losses.extend(loss(it, speedup, by_trial).filter(|_| can_lose));
        }
    }
    // By how much it is slower there is not known: as bad as what is not known where there is an answer.
    let mut unknown = 0;
    for it in open {
        let Some(cell) = cell_of(run, it, name) else { continue };
        let stand_in = map::stand_in(run, it.line, it.baseline, cell);
        let finding = compared.iter().map(|it| &it.finding).find(|it| it.id.cell == stand_in);
        let slower = finding.filter(|it| it.verdict == Verdict::Slower).and_then(|it| it.speedup);
        let (speedup, by_trial) = match cell.entry.skipped.as_ref().filter(|_| stand_in == cell.id.cell) {
            Some(skip @ Skip::TooSlow { blocks, .. }) => (by_trial(it.baseline, cell, skip, *blocks), true),
            _ => (slower.map(|it| it.median), false),
        };
        let speedup = speedup.filter(|it| it.is_finite() && *it > 0.0);
        unknown += usize::from(by_trial && speedup.is_none());
        losses.extend(speedup.and_then(|speedup| loss(it, speedup, by_trial)));
    }
    // What was not decided, and can lose no more than is known elsewhere, is known enough.
    let worst = losses.iter().map(|it| it.times).fold(1.0 + MARGIN, f64::max);
    let (bounds, more): (Vec<Loss>, Vec<Loss>) = bounds.into_iter().partition(|it| it.times <= worst);
    known += bounds.len();
    losses.extend(bounds.into_iter().filter(|it| it.times > 1.0 + MARGIN));
    Some((choice(vec![name.to_string()], losses, known, answered.len() + unknown), more))
}

/// Over the baseline, at the size that the fastest arm was measured at: what passes of two sizes say is not to be divided.
fn speedup(finding: &Comparison, is_of_job: bool, of: Option<(u64, u64)>) -> Option<f64> {
    let is_as_large = |it: &&Confirmed| of.is_none_or(|of| of == (it.bytes, it.ops));
    let job = finding.confirmed.as_ref().filter(is_as_large).map(|it| it.speedup);
    let speedup = match (is_of_job, finding.answer_of) {
        (true, AnswerOf::Job | AnswerOf::RoundsAndJob) => job,
        (true, AnswerOf::Rounds | AnswerOf::RoundsUnconfirmed | AnswerOf::Neither) | (false, AnswerOf::Job) => None,
        (false, _) => finding.speedup,
    };
    speedup.map(|it| it.median)
}

/// Of an arm that was too slow, over the baseline, by what a pass of `blocks` takes by its trial. Cold random reads find what
/// those before them brought in, and populating a mapping is paid for once, so that of a pass with many more of them it says nothing.
fn by_trial(baseline: &Cell, slow: &Cell, skip: &Skip, blocks: u64) -> Option<f64> {
    let most = SIZES_APART * blocks as f64;
    // A trial of other work says nothing of this one.
    if slow.own != baseline.own {
        return None;
    }
    let pays_once = slow.arm().maps_all_first() && slow.own.workload.reads_anywhere();
    if (pays_once || slow.arm().finds_its_pages(slow.own)) && baseline.median_of(|tally| tally.ops)? > most {
        return None;
    }
    let passes = baseline.passes.iter().filter_map(|pass| pass.ns_per_op());
    Some(crate::stats::median_of_positive(passes)?.median / skip.ns_per_block_of_pass()?)
}

/// Of an arm that is so many times faster than the baseline.
fn loss(under: &Answered, speedup: f64, by_trial: bool) -> Option<Loss> {
    Some(lost(under, speedup, by_trial)).filter(|it| it.times > 1.0 + MARGIN)
}

fn lost(under: &Answered, speedup: f64, by_trial: bool) -> Loss {
    Loss {
        id: under.line.id,
        fastest: under.fastest.to_string(),
        times: under.times / speedup,
        than_baseline: Some(1.0 / speedup),
        by_trial,
        at_most: false,
    }
}

fn choice(arms: Vec<String>, mut losses: Vec<Loss>, known: usize, conditions: usize) -> Choice {
    losses.sort_by(|a, b| b.times.total_cmp(&a.times));
    Choice { arms, losses, known: known as u32, conditions: conditions as u32, measured: 0 }
}
