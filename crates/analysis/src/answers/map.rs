//! The answer: state → winner → margin → why, one line per condition.

use schema::{
    Condition,
    explanation::Explanation,
    findings::{AnswerOf, Comparison, Confirmed, Estimate, MapLine, Verdict},
    line::{LineAnswer, LineSays, Promising},
    reason::Reason,
};

use crate::{
    compare::{Compared, compare, no_valid_pass, noise},
    measured::{Cell, Run},
    verdict::MARGIN,
};

pub(crate) fn lines(run: &Run, compared: &[Compared]) -> Vec<MapLine> {
    let conditions = run.record.conditions.iter().enumerate();
    conditions
        .map(|(index, condition)| {
            let of_condition: Vec<&Compared> =
                compared.iter().filter(|compared| compared.arm.entry.condition == index).collect();
            line(run, index, condition, run.baseline(index), &of_condition)
        })
        .collect()
}

fn line(run: &Run, index: usize, condition: &Condition, baseline: Option<&Cell>, all: &[&Compared]) -> MapLine {
    let compared = &one_for_each_work(baseline, all)[..];
    let answer = match baseline {
        None => MapAnswer::open(Verdict::Undecided, LineAnswer::NoBaseline),
        Some(baseline) if all.is_empty() => {
            MapAnswer::open(Verdict::Undecided, LineAnswer::OnlyArm { arm: run.name(baseline.arm()).to_string() })
        }
        Some(baseline) => match fastest(run, compared) {
            Some(winner) => an_arm_wins(run, compared, winner),
            None => no_arm_wins(run, baseline, compared),
        },
    };
    let answer_of = match answer.answer_of {
        of @ (AnswerOf::Rounds | AnswerOf::RoundsAndJob) if compared.iter().any(|it| leaves_unconfirmed(it, of)) => {
            AnswerOf::RoundsUnconfirmed
        }
        answer_of => answer_of,
    };
    let winner = answer.winner.as_ref().and_then(|it| run.cells.iter().find(|cell| cell.id.cell == it.cell));
    let others = all.iter().map(|it| it.arm);
    let same_work: Vec<Named> =
        others.filter(|it| winner.is_some_and(|winner| is_the_same_work(winner, it))).map(Named::of).collect();
    let [not_comparable, not_measured, too_few] = left_out(run, answer.verdict, compared);
    let not_at_job = not_at_job(run, &answer, compared);
    let says = LineSays {
        answer: answer.says,
        same_work: same_work.iter().map(|it| it.short(run).to_string()).collect(),
        not_comparable,
        not_measured,
        too_few,
        not_at_job,
    };
    let (ties, tie_cells) = unzip(answer.ties);
    let (not_told_apart, not_told_apart_cells) = unzip(answer.not_told_apart);
    let (same_work, same_work_cells) = unzip(same_work);
    MapLine {
        id: run.record.condition_id(index),
        condition: condition.clone(),
        winner: answer.winner.as_ref().map(|it| it.name.clone()),
        winner_cell: answer.winner.as_ref().map(|it| it.cell),
        ties,
        tie_cells,
        not_told_apart,
        not_told_apart_cells,
        same_work,
        same_work_cells,
        compared_cells: compared.iter().map(|it| it.arm.id.cell).collect(),
        margin: answer.margin,
        next_cell: answer.next.map(|it| it.cell),
        verdict: answer.verdict,
        answer_of,
        says,
        explanation: answer.explanation,
    }
}

/// Of arms whose timed work is the same code, the first that was measured is the result for all; the baseline for those
/// that do what it does. Otherwise an arm that was measured three times over would look like three arms that tie.
pub(crate) fn one_for_each_work<'c, 'a, 'r>(
    baseline: Option<&Cell>,
    all: &[&'c Compared<'a, 'r>],
) -> Vec<&'c Compared<'a, 'r>> {
    let mut kept: Vec<&Compared> = Vec::new();
    for it in all.iter().copied() {
        let stands_for =
            |of: &Cell| is_the_same_work(of, it.arm) && (!of.passes.is_empty() || it.arm.passes.is_empty());
        if baseline.is_some_and(stands_for) {
            continue;
        }
        match kept.iter().position(|other| is_the_same_work(other.arm, it.arm)) {
            Some(at) if kept[at].arm.passes.is_empty() && !it.arm.passes.is_empty() => kept[at] = it,
            Some(_) => {}
            None => kept.push(it),
        }
    }
    kept
}

/// The cell whose passes are the result for an arm: its own, unless another one stands for its work.
pub(crate) fn stand_in(run: &Run, line: &MapLine, baseline: &Cell, arm: &Cell) -> usize {
    let is_of_line = |it: &&Cell| it.id.cell == baseline.id.cell || line.compared_cells.contains(&it.id.cell);
    let stands_for_it = |it: &&Cell| it.id.cell == arm.id.cell || is_the_same_work(it, arm);
    let mut of_line = run.of_condition(line.id.condition_index).filter(is_of_line);
    of_line.find(stands_for_it).map_or(arm.id.cell, |it| it.id.cell)
}

/// An arm that cannot be had here does no work: nothing is said of it by another one's passes.
fn is_the_same_work(one: &Cell, other: &Cell) -> bool {
    let can_be_had = |cell: &Cell| cell.entry.skipped.is_none() || cell.lacked_time();
    one.id.cell != other.id.cell
        && one.own == other.own
        && one.timed_arm() == other.timed_arm()
        && can_be_had(one)
        && can_be_had(other)
}

/// An arm of the condition.
struct Named {
    name: String,
    cell: usize,
}

impl Named {
    fn of(cell: &Cell) -> Named {
        Named { name: cell.arm().name.clone(), cell: cell.id.cell }
    }

    /// In sentences.
    fn short<'a>(&self, run: &Run<'a>) -> &'a str {
        run.name(&run.record.cells[self.cell].arm)
    }
}

fn unzip(named: Vec<Named>) -> (Vec<String>, Vec<usize>) {
    named.into_iter().map(|it| (it.name, it.cell)).unzip()
}

struct MapAnswer {
    winner: Option<Named>,
    ties: Vec<Named>,
    not_told_apart: Vec<Named>,
    margin: Option<Estimate>,
    /// What comes closest to a baseline that nothing beats.
    next: Option<Named>,
    verdict: Verdict,
    says: LineAnswer,
    explanation: Option<Explanation>,
    answer_of: AnswerOf,
}

impl MapAnswer {
    fn open(verdict: Verdict, says: LineAnswer) -> MapAnswer {
        MapAnswer {
            winner: None,
            ties: Vec::new(),
            not_told_apart: Vec::new(),
            margin: None,
            next: None,
            verdict,
            says,
            explanation: None,
            answer_of: AnswerOf::Rounds,
        }
    }
}

/// Of the arms that are faster than the baseline beyond doubt, and than which no other one is faster beyond doubt, the
/// plainest: no hint is worth naming that was not shown to do anything. Its margin is its own, so that the choice among
/// arms that are not told apart does not inflate it.
pub(crate) fn fastest<'c, 'a, 'r>(run: &Run, compared: &[&'c Compared<'a, 'r>]) -> Option<&'c Compared<'a, 'r>> {
    let faster = || compared.iter().copied().filter(|it| it.finding.verdict == Verdict::Faster && counts(it, compared));
    let is_beaten = |it: &Compared| faster().any(|other| !std::ptr::eq(other, it) && beats(run, other, it));
    // The first of the plainest, in the order of the experiment.
    let plainest = faster().filter(|it| !is_beaten(it)).min_by_key(|it| it.arm.arm().options_set());
    // Three arms may each beat the next in a circle; then the highest is named.
    plainest.or_else(|| faster().max_by(|a, b| median(a).total_cmp(&median(b))))
}

/// Whether one arm is faster than another beyond doubt: by passes at the size of the job, where both have them, else by the rounds.
fn beats(run: &Run, one: &Compared, other: &Compared) -> bool {
    let job = |it: &Compared| it.finding.confirmed.clone().filter(|_| it.finding.answer_of.is_confirmed());
    match job(one).zip(job(other)) {
        Some((one, other)) if (one.bytes, one.ops) == (other.bytes, other.ops) => {
            let are_apart = one.speedup.ci_low > other.speedup.ci_high;
            are_apart && one.speedup.median > (1.0 + MARGIN) * other.speedup.median
        }
        // Jobs of two sizes say nothing of how far apart the two are, and the rounds nothing that these contradict.
        Some((job, others)) if [one, other].into_iter().any(of_job) => {
            job.speedup.median > others.speedup.median && compare(run, other.arm, one.arm).verdict == Verdict::Faster
        }
        _ => compare(run, other.arm, one.arm).verdict == Verdict::Faster,
    }
}

/// Where the job contradicts the rounds in one comparison, the rounds answer none of the others that it may say something of, unless a
/// job of their own fits them.
fn counts(one: &Compared, all: &[&Compared]) -> bool {
    one.finding.answer_of.is_confirmed() || fits_its_job(one) || !all.iter().any(|it| doubts(it, one))
}

/// What is faster by the rounds or by the job decides the answer. That an arm behind the others is less so at the size of the job says
/// something of arms of its kind.
fn doubts(turned: &Compared, one: &Compared) -> bool {
    let is_ahead = |it: &Confirmed| [it.rounds_verdict, it.verdict].contains(&Verdict::Faster);
    let decides = turned.finding.confirmed.as_ref().is_some_and(is_ahead);
    contradicts(turned) && (decides || turned.arm.arm().maps() == one.arm.arm().maps())
}

/// The job decides something else than the rounds, or leaves open what they decide.
fn contradicts(compared: &Compared) -> bool {
    match (compared.finding.answer_of, &compared.finding.confirmed) {
        // By how much alone the job may say otherwise.
        (AnswerOf::Job, Some(job)) => job.verdict != job.rounds_verdict,
        // That it was a part of the job contradicts nothing.
        (AnswerOf::Neither, Some(_)) => matches!(compared.finding.reason, Some(Reason::JobDoubts { .. })),
        _ => false,
    }
}

/// It was measured at the size of the job, which decides nothing and fits the rounds, or at a part of it, which says the same.
fn fits_its_job(compared: &Compared) -> bool {
    let fits = |it: &Confirmed| !it.verdict.is_decided() || it.verdict == it.rounds_verdict;
    compared.finding.answer_of == AnswerOf::RoundsUnconfirmed && compared.finding.confirmed.as_ref().is_some_and(fits)
}

/// An arm is not confirmed, so that the answer of the line is not. One whose job decides nothing leaves a winner that its own job
/// confirms as it is.
fn leaves_unconfirmed(compared: &Compared, of: AnswerOf) -> bool {
    let is_part = || compared.finding.confirmed.as_ref().is_none_or(|job| job.verdict.is_decided());
    compared.finding.answer_of == AnswerOf::RoundsUnconfirmed && (of == AnswerOf::Rounds || is_part())
}

/// Whether its figures are not of the rounds.
fn of_job(compared: &Compared) -> bool {
    compared.finding.answer_of == AnswerOf::Job
}

fn median(compared: &Compared) -> f64 {
    compared.finding.speedup.map_or(0.0, |speedup| speedup.median)
}

/// The same, of passes at the size of the job where it was measured there.
fn at_job(compared: &Compared) -> f64 {
    compared.finding.confirmed.as_ref().map_or_else(|| median(compared), |job| job.speedup.median)
}

/// Whether an undecided arm could still be faster than the baseline by more than the margin: by its interval, or because
/// that bounds nothing or one arm measured twice differs by more.
fn is_open(run: &Run, finding: &Comparison) -> bool {
    finding.bounds().is_none_or(|[_, most]| most > 1.0 + MARGIN)
        || noise::width(run, finding).is_some_and(|width| width > MARGIN)
}

/// Whether an arm is behind by more than the margin, and by more than the noise floor of the state, also one that has too
/// few rounds for a verdict: an arm that falls far behind is given no more of them.
fn is_behind(run: &Run, finding: &Comparison) -> bool {
    let edge = noise::width(run, finding).map_or(MARGIN, |width| width.max(MARGIN));
    let of_few = || finding.speedup.filter(|_| finding.has_too_few_rounds()).map(|it| it.ci_high);
    let most = finding.bounds().map(|[_, most]| most).or_else(of_few);
    most.is_some_and(|most| most < 1.0 / (1.0 + edge))
}

/// Whether an arm is behind by the rounds, and not ahead by more than the margin at the size of the job, by however much.
fn is_behind_twice(finding: &Comparison) -> bool {
    let is_so = |job: &Confirmed| job.rounds_verdict == Verdict::Slower && job.speedup.ci_high <= 1.0 + MARGIN;
    finding.confirmed.as_ref().is_some_and(is_so) && finding.verdict == Verdict::Undecided
}

fn an_arm_wins(run: &Run, compared: &[&Compared], winner: &Compared) -> MapAnswer {
    // Against the winner itself, round by round: two intervals against the baseline say less.
    let direct = compared.iter().copied().filter(|it| {
        let comparable = matches!(it.finding.verdict, Verdict::Faster | Verdict::Same | Verdict::Undecided);
        !std::ptr::eq(*it, winner) && comparable && it.finding.speedup.is_some()
    });
    let place = |it: &Compared| {
        let at_job = [winner, it].iter().all(|it| it.finding.answer_of.is_confirmed());
        if at_job && beats(run, winner, it) {
            return None;
        }
        // Passes at the size of the job, each beside the baseline, prove no tie; nor do the rounds that those contradict.
        if of_job(winner) {
            return Some(Verdict::Undecided);
        }
        let direct = compare(run, winner.arm, it.arm);
        let is_in = direct.speedup.is_some() && !is_behind(run, &direct);
        // An arm that its job brings closer than the rounds may be as fast, if its middle is.
        let is_close = at_job && of_job(it) && median(it) * (1.0 + MARGIN) >= median(winner);
        (is_in || is_close).then(|| if of_job(it) { Verdict::Undecided } else { direct.verdict })
    };
    let direct: Vec<(&Compared, Verdict)> = direct.filter_map(|it| Some((it, place(it)?))).collect();
    let (ties, others): (Vec<_>, Vec<_>) = direct.into_iter().partition(|(_, verdict)| *verdict == Verdict::Same);
    let [ties, not_told_apart] = [ties, others].map(|it| it.into_iter().map(|(it, _)| it).collect::<Vec<&Compared>>());
    let says = LineAnswer::ArmWins {
        arm: run.name(winner.arm.arm()).to_string(),
        baseline: run.name(winner.baseline.arm()).to_string(),
        times: median(winner),
        of_job: of_job(winner),
        in_flight: in_flight(winner),
        ties: names(run, &ties),
        not_told_apart: names(run, &not_told_apart),
    };
    MapAnswer {
        winner: Some(Named::of(winner.arm)),
        ties: named(&ties),
        not_told_apart: named(&not_told_apart),
        margin: winner.finding.speedup,
        next: None,
        verdict: Verdict::Faster,
        says,
        explanation: winner.finding.explanation.clone(),
        answer_of: winner.finding.answer_of,
    }
}

fn no_arm_wins<'c, 'a, 'r>(run: &Run, baseline: &Cell, compared: &[&'c Compared<'a, 'r>]) -> MapAnswer {
    let name = run.name(baseline.arm()).to_string();
    if compared.is_empty() {
        if baseline.passes.is_empty() {
            let reason = Some(no_valid_pass(run, baseline));
            return MapAnswer::open(Verdict::Undecided, LineAnswer::Undecided { reason });
        }
        let says = LineAnswer::OneWork { baseline: name };
        return MapAnswer { winner: Some(Named::of(baseline)), ..MapAnswer::open(Verdict::Same, says) };
    }
    let with = |verdict: Verdict| -> Vec<&'c Compared<'a, 'r>> {
        compared.iter().filter(|it| it.finding.verdict == verdict).copied().collect()
    };
    let (same, undecided, slower) = (with(Verdict::Same), with(Verdict::Undecided), with(Verdict::Slower));
    if same.is_empty() && undecided.is_empty() && slower.is_empty() {
        let reason = compared.first().and_then(|it| it.finding.reason.clone());
        return MapAnswer::open(Verdict::NotComparable, LineAnswer::NoneComparable { baseline: name, reason });
    }
    let confirmed = compared.iter().copied().find(|it| it.finding.answer_of.is_confirmed());
    // Where another arm answers, one that is behind by both says nothing against that.
    let others_answer = compared.iter().any(|it| it.finding.verdict.is_decided());
    let is_out = |it: &Compared| others_answer && is_behind_twice(&it.finding);
    let is_doubted = |it: &Compared| {
        let by_job = matches!(it.finding.reason, Some(Reason::JobDoubts { .. }));
        it.finding.answer_of == AnswerOf::Neither && (confirmed.is_none() || by_job) && !is_out(it)
    };
    if let Some(doubted) = compared.iter().copied().find(|it| is_doubted(it)) {
        let says = LineAnswer::Undecided { reason: doubted.finding.reason.clone() };
        return MapAnswer { answer_of: AnswerOf::Neither, ..MapAnswer::open(Verdict::Undecided, says) };
    }
    let has_place = |it: &&Compared| it.finding.speedup.is_some() && !is_behind(run, &it.finding) && !is_out(it);
    let is_ahead = |it: &&&Compared| has_place(it) && it.finding.confirmed.is_none() && !counts(it, compared);
    let ahead: Vec<&Compared> = compared.iter().filter(is_ahead).copied().collect();
    if let (Some(turned), false) = (compared.iter().copied().find(|it| contradicts(it)), ahead.is_empty()) {
        let (arm, speedup) = (run.name(turned.arm.arm()).to_string(), at_job(turned));
        let says = LineAnswer::NotAtJob { arm, baseline: name, speedup, not_measured: names(run, &ahead) };
        return MapAnswer { answer_of: AnswerOf::Neither, ..MapAnswer::open(Verdict::Undecided, says) };
    }
    let (undecided, behind): (Vec<&Compared>, Vec<&Compared>) = undecided.into_iter().partition(has_place);
    let open: Vec<&Compared> = undecided.iter().copied().filter(|it| is_open(run, &it.finding)).collect();
    if let Some(promising) = best(&open) {
        let (reason, answer_of) = (promising.finding.reason.clone(), promising.finding.answer_of);
        if reason.is_some() && promising.finding.has_too_few_rounds() {
            let says = LineAnswer::Undecided { reason };
            return MapAnswer { answer_of, ..MapAnswer::open(Verdict::Undecided, says) };
        }
        let says = LineAnswer::Between {
            baseline: name,
            arms: names(run, &open),
            promising: promising.finding.speedup.map(|Estimate { ci_low, ci_high, .. }| {
                let arm = run.name(promising.arm.arm()).to_string();
                Promising { arm, ci_low, ci_high }
            }),
            // Across the margin: the interval says it. With any other reason the interval may look decided.
            reason: reason
                .filter(|it| !matches!(it, Reason::AcrossTheMargin { .. }))
                .or_else(|| noise::leaves_open(run, &promising.finding)),
            ties: best(&same).map(|it| run.name(it.arm.arm()).to_string()),
        };
        return MapAnswer {
            ties: named(&same),
            not_told_apart: named(&undecided),
            explanation: promising.finding.explanation.clone(),
            answer_of,
            ..MapAnswer::open(Verdict::Undecided, says)
        };
    }
    // Of those that are behind, one of too few rounds may come closest.
    let turned = compared.iter().copied().find(|it| contradicts(it));
    let closest = |of: &[&'c Compared<'a, 'r>]| closest(of, turned);
    let closest_behind = || match closest(&slower)? {
        closest if turned.is_some() => Some(closest),
        it => best(&[&[it], &behind[..]].concat()),
    };
    let Some(next) = closest(&same).or_else(|| closest(&undecided)).or_else(closest_behind) else {
        let reason = compared.iter().find_map(|it| it.finding.reason.clone());
        return MapAnswer::open(Verdict::Undecided, LineAnswer::Undecided { reason });
    };
    let mut of_job = of_job(next);
    // An arm that ties by its rounds only is no tie at the size of the job. `not_at_job` has those that were not measured there.
    let (ties, others): (Vec<&Compared>, Vec<&Compared>) =
        same.into_iter().partition(|it| !of_job || it.finding.answer_of.is_confirmed());
    let not_told_apart = [others, undecided].concat();
    let (verdict, says) = if ties.is_empty() && not_told_apart.is_empty() {
        // It was chosen among those that were measured at the size of the job, by their passes there.
        of_job = of_job || turned.is_some() && next.finding.answer_of.is_confirmed();
        let says = LineAnswer::BaselineWins {
            baseline: name,
            next: run.name(next.arm.arm()).to_string(),
            times: 1.0 / if of_job { at_job(next) } else { median(next) },
            of_job,
            several: compared.len() > 1,
        };
        (Verdict::Faster, says)
    } else {
        let is_said = |it: &&&Compared| !of_job || it.finding.confirmed.is_some();
        let said: Vec<&Compared> = not_told_apart.iter().filter(is_said).copied().collect();
        let (ties, not_told_apart) = (names(run, &ties), names(run, &said));
        (Verdict::Same, LineAnswer::NoneFaster { baseline: name, margin: MARGIN, ties, not_told_apart, of_job })
    };
    MapAnswer {
        winner: Some(Named::of(baseline)),
        ties: named(&ties),
        not_told_apart: named(&not_told_apart),
        margin: None,
        next: Some(Named::of(next.arm)),
        verdict,
        says,
        // Its counts are of the rounds.
        explanation: next.finding.explanation.clone().filter(|_| !of_job),
        answer_of: if of_job { AnswerOf::Job } else { next.finding.answer_of },
    }
}

/// Arms that the line would otherwise omit: they did different work, have no valid pass, or too few of them.
fn left_out(run: &Run, verdict: Verdict, compared: &[&Compared]) -> [Vec<String>; 3] {
    let named = |of: &dyn Fn(&Compared) -> bool| {
        compared.iter().filter(|it| of(it)).map(|it| run.name(it.arm.arm()).to_string()).collect()
    };
    let unequal = match verdict {
        Verdict::NotComparable => Vec::new(),
        _ => named(&|it| it.finding.verdict == Verdict::NotComparable),
    };
    let unmeasured = match verdict {
        // Why nothing is decided has been said.
        Verdict::NotComparable | Verdict::Undecided => Vec::new(),
        _ => named(&|it| it.arm.passes.is_empty()),
    };
    // An arm alone has been spoken of, and so have those that are not comparable.
    let no_place = |it: &Compared| {
        !it.arm.passes.is_empty() && it.finding.speedup.is_none() && it.finding.verdict == Verdict::Undecided
    };
    let without_place = match compared.len() {
        0 | 1 => Vec::new(),
        _ => named(&no_place),
    };
    [unequal, unmeasured, without_place]
}

/// Arms with a speedup that is of the rounds alone, where the answer is of the job.
fn not_at_job(run: &Run, answer: &MapAnswer, compared: &[&Compared]) -> Vec<String> {
    let is_of_rounds = |it: &&&Compared| it.finding.speedup.is_some() && it.finding.confirmed.is_none();
    let is_of_job =
        answer.answer_of == AnswerOf::Job || matches!(answer.says, LineAnswer::BaselineWins { of_job: true, .. });
    match is_of_job {
        true => names(run, &compared.iter().filter(is_of_rounds).copied().collect::<Vec<&Compared>>()),
        false => Vec::new(),
    }
}

/// What comes closest: of those that were measured at the size of the job and by their passes there, where those of one arm
/// contradict its rounds. Jobs of two sizes say nothing of how far apart the two are.
fn closest<'c, 'a, 'r>(compared: &[&'c Compared<'a, 'r>], turned: Option<&Compared>) -> Option<&'c Compared<'a, 'r>> {
    let size = |it: &Compared| it.finding.confirmed.as_ref().map(|job| (job.bytes, job.ops));
    let is_of_job =
        |it: &&Compared| turned.is_some_and(|turned| it.finding.answer_of.is_confirmed() && size(it) == size(turned));
    let of_job = compared.iter().copied().filter(is_of_job);
    of_job.max_by(|a, b| at_job(a).total_cmp(&at_job(b))).or_else(|| best(compared))
}

fn best<'c, 'a, 'r>(compared: &[&'c Compared<'a, 'r>]) -> Option<&'c Compared<'a, 'r>> {
    compared.iter().copied().max_by(|a, b| median(a).total_cmp(&median(b)))
}

fn named(compared: &[&Compared]) -> Vec<Named> {
    compared.iter().map(|it| Named::of(it.arm)).collect()
}

/// As in sentences.
fn names(run: &Run, arms: &[&Compared]) -> Vec<String> {
    arms.iter().map(|it| run.name(it.arm.arm()).to_string()).collect()
}

/// A deeper queue is a choice that the other method may not have; the reader must see it beside the factor.
fn in_flight(winner: &Compared) -> Option<[u32; 2]> {
    // They depend on the size of a pass, and those of the job are not recorded.
    if of_job(winner) {
        return None;
    }
    let depths = winner.arm.in_flight().zip(winner.baseline.in_flight());
    depths.filter(|(own, other)| own != other).map(|(own, other)| [own, other])
}
