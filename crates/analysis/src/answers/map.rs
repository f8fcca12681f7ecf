//! The answer: state → winner → margin → why, one line per condition.

use schema::{
    Condition,
    explanation::Explanation,
    findings::{AnswerOf, Comparison, Estimate, MapLine, Verdict},
};

use crate::{
    compare::{Compared, compare, noise},
    measured::{Cell, Run},
    verdict::{LEAST_PAIRS, MARGIN, direction},
    words::{list, percent, thousands, times},
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
        None => MapAnswer::open(Verdict::Undecided, "nothing to compare with: the condition has no baseline"),
        Some(baseline) if all.is_empty() => {
            let name = run.name(baseline.arm());
            MapAnswer::open(Verdict::Undecided, &format!("{name} is the only arm: there is nothing to compare it with"))
        }
        Some(baseline) => match fastest(run, compared) {
            Some(winner) => an_arm_wins(run, compared, winner),
            None => no_arm_wins(run, baseline, compared),
        },
    };
    let winner = answer.winner.as_ref().and_then(|it| run.cells.iter().find(|cell| cell.id.cell == it.cell));
    let others = all.iter().map(|it| it.arm);
    let same_work: Vec<Named> =
        others.filter(|it| winner.is_some_and(|winner| is_the_same_work(winner, it))).map(Named::of).collect();
    let names: Vec<&str> = same_work.iter().map(|it| it.short(run)).collect();
    let also = match names.len() {
        0 => String::new(),
        _ => format!("; also {}: it does the same work here", list(&names)),
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
        margin: answer.margin,
        verdict: answer.verdict,
        answer_of: answer.answer_of,
        says: answer.says + &also + &left_out(run, answer.verdict, compared),
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
        if baseline.is_some_and(|baseline| is_the_same_work(baseline, it.arm)) {
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

fn is_the_same_work(one: &Cell, other: &Cell) -> bool {
    let at_work = |cell: &Cell| cell.arm().at_work(cell.own.state);
    one.id.cell != other.id.cell && one.own == other.own && at_work(one) == at_work(other)
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
    verdict: Verdict,
    says: String,
    explanation: Option<Explanation>,
    answer_of: AnswerOf,
}

impl MapAnswer {
    fn open(verdict: Verdict, says: &str) -> MapAnswer {
        MapAnswer {
            winner: None,
            ties: Vec::new(),
            not_told_apart: Vec::new(),
            margin: None,
            verdict,
            says: says.to_string(),
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
    let is_beaten = |it: &Compared| {
        faster().any(|other| !std::ptr::eq(other, it) && compare(run, it.arm, other.arm).verdict == Verdict::Faster)
    };
    // The first of the plainest, in the order of the experiment.
    let plainest = faster().filter(|it| !is_beaten(it)).min_by_key(|it| it.arm.arm().options_set());
    // Three arms may each beat the next in a circle; then the highest is named.
    plainest.or_else(|| faster().max_by(|a, b| median(a).total_cmp(&median(b))))
}

/// Where the job contradicts the rounds in one comparison, the rounds answer none of the others.
fn counts(one: &Compared, all: &[&Compared]) -> bool {
    let contradicts = |it: &Compared| {
        it.finding.confirmed.is_some() && matches!(it.finding.answer_of, AnswerOf::Job | AnswerOf::Neither)
    };
    one.finding.answer_of.is_confirmed() || !all.iter().any(|it| contradicts(it))
}

/// Of a sentence whose figures are not of the rounds.
fn of_job(compared: &Compared) -> &'static str {
    if compared.finding.answer_of == AnswerOf::Job { " at the size of the job" } else { "" }
}

fn median(compared: &Compared) -> f64 {
    compared.finding.speedup.map_or(0.0, |speedup| speedup.median)
}

/// Whether an arm could still be faster than the baseline by more than the margin.
fn is_open(compared: &Compared) -> bool {
    compared.finding.speedup.is_some_and(|speedup| speedup.ci_high > 1.0 + MARGIN) || is_noise(&compared.finding)
}

/// Whether an arm is behind by more than the margin, and by more than the noise floor of the state, also one that has too
/// few rounds for a verdict: an arm that falls far behind is given no more of them.
fn is_behind(run: &Run, finding: &Comparison) -> bool {
    let edge = noise::width(run, finding).map_or(MARGIN, |width| width.max(MARGIN));
    finding.speedup.is_some_and(|speedup| speedup.ci_high < 1.0 / (1.0 + edge))
}

/// Whether an arm would be slower, if the same arm measured twice did not differ by as much.
fn is_noise(finding: &Comparison) -> bool {
    let is_slower = finding.speedup.is_some_and(|speedup| speedup.ci_high < 1.0 / (1.0 + MARGIN));
    is_slower && finding.pairs >= LEAST_PAIRS && finding.verdict == Verdict::Undecided
}

fn an_arm_wins(run: &Run, compared: &[&Compared], winner: &Compared) -> MapAnswer {
    let (name, baseline) = (run.name(winner.arm.arm()), run.name(winner.baseline.arm()));
    // Against the winner itself, round by round: two intervals against the baseline say less.
    let direct = compared.iter().copied().filter(|it| {
        let comparable = matches!(it.finding.verdict, Verdict::Faster | Verdict::Same | Verdict::Undecided);
        !std::ptr::eq(*it, winner) && comparable && it.finding.speedup.is_some()
    });
    let direct: Vec<(&Compared, Verdict)> = match winner.finding.answer_of {
        // Beside the winner, the others were measured in smaller passes alone.
        AnswerOf::Job => direct.map(|it| (it, Verdict::Undecided)).collect(),
        _ => direct
            .map(|it| (it, compare(run, winner.arm, it.arm)))
            .filter(|(_, direct)| direct.speedup.is_some() && !is_behind(run, direct))
            .map(|(it, direct)| (it, direct.verdict))
            .collect(),
    };
    let (ties, others): (Vec<_>, Vec<_>) = direct.into_iter().partition(|(_, verdict)| *verdict == Verdict::Same);
    let [ties, not_told_apart] = [ties, others].map(|it| it.into_iter().map(|(it, _)| it).collect::<Vec<&Compared>>());
    let mut says = format!("{name} is {} faster than {baseline}{}", times(median(winner)), of_job(winner));
    says.push_str(&deeper_queue(winner, baseline));
    says.push_str(&tie_words(run, &ties, " with it"));
    says.push_str(&apart_words(run, &not_told_apart));
    MapAnswer {
        winner: Some(Named::of(winner.arm)),
        ties: named(&ties),
        not_told_apart: named(&not_told_apart),
        margin: winner.finding.speedup,
        verdict: Verdict::Faster,
        says,
        explanation: winner.finding.explanation.clone(),
        answer_of: winner.finding.answer_of,
    }
}

fn no_arm_wins(run: &Run, baseline: &Cell, compared: &[&Compared]) -> MapAnswer {
    let name = run.name(baseline.arm());
    if compared.is_empty() && !baseline.passes.is_empty() {
        let says = format!("every arm does the same work as {name} here");
        return MapAnswer { winner: Some(Named::of(baseline)), ..MapAnswer::open(Verdict::Same, &says) };
    }
    let with = |verdict: Verdict| -> Vec<&Compared> {
        compared.iter().filter(|it| it.finding.verdict == verdict).copied().collect()
    };
    let (same, undecided, slower) = (with(Verdict::Same), with(Verdict::Undecided), with(Verdict::Slower));
    if same.is_empty() && undecided.is_empty() && slower.is_empty() {
        let reason = compared.first().and_then(|it| it.finding.reason.as_deref()).unwrap_or("different work");
        return MapAnswer::open(Verdict::NotComparable, &format!("no arm can be compared with {name}: {reason}"));
    }
    let confirmed = compared.iter().copied().find(|it| it.finding.answer_of.is_confirmed());
    let doubted = compared.iter().copied().find(|it| it.finding.answer_of == AnswerOf::Neither);
    if let (None, Some(doubted)) = (confirmed, doubted) {
        let reason = doubted.finding.reason.clone().unwrap_or_default();
        return MapAnswer {
            answer_of: AnswerOf::Neither,
            ..MapAnswer::open(Verdict::Undecided, &format!("undecided: {reason}"))
        };
    }
    let has_place = |it: &&Compared| it.finding.speedup.is_some() && !is_behind(run, &it.finding);
    let is_ahead = |it: &&&Compared| has_place(it) && !counts(it, compared);
    let ahead: Vec<&str> = compared.iter().filter(is_ahead).map(|it| run.name(it.arm.arm())).collect();
    if let (Some(confirmed), false) = (confirmed, ahead.is_empty()) {
        let says = format!(
            "undecided: {} was {} than {name} at the size of the job, where {} was not measured",
            run.name(confirmed.arm.arm()),
            direction(median(confirmed)),
            list(&ahead)
        );
        return MapAnswer { answer_of: AnswerOf::Neither, ..MapAnswer::open(Verdict::Undecided, &says) };
    }
    let undecided: Vec<&Compared> = undecided.into_iter().filter(has_place).collect();
    let open: Vec<&Compared> = undecided.iter().copied().filter(|it| is_open(it)).collect();
    if let Some(promising) = best(&open) {
        if let Some(reason) = promising.finding.reason.as_ref().filter(|_| promising.finding.pairs < LEAST_PAIRS) {
            return MapAnswer::open(Verdict::Undecided, &format!("undecided: {reason}"));
        }
        let arms: Vec<&str> = open.iter().map(|it| run.name(it.arm.arm())).collect();
        let range = promising.finding.speedup.map_or_else(String::new, |speedup| {
            let subject = run.name(promising.arm.arm());
            let (low, high) = (direction(speedup.ci_low), direction(speedup.ci_high));
            let reason = promising.finding.reason.as_ref().filter(|_| is_noise(&promising.finding));
            reason.map_or_else(|| format!(": {subject} is between {low} and {high}"), |it| format!(": {it}"))
        });
        let mut says = format!("undecided between {name} and {}{range}", list(&arms));
        if let Some(known) = best(&same) {
            says.push_str(&format!("; {} ties with {name}", run.name(known.arm.arm())));
        }
        return MapAnswer {
            ties: named(&same),
            not_told_apart: named(&undecided),
            explanation: promising.finding.explanation.clone(),
            ..MapAnswer::open(Verdict::Undecided, &says)
        };
    }
    let Some(next) = closest(&same).or_else(|| closest(&undecided)).or_else(|| closest(&slower)) else {
        let reason = compared.iter().find_map(|it| it.finding.reason.as_deref()).unwrap_or("no valid pass");
        return MapAnswer::open(Verdict::Undecided, &format!("undecided: {reason}"));
    };
    let (verdict, says) = if same.is_empty() && undecided.is_empty() {
        let factor = times(1.0 / median(next));
        let (next, of_job) = (run.name(next.arm.arm()), of_job(next));
        let says = match compared.len() {
            1 => format!("{name} is {factor} faster than {next}{of_job}"),
            _ => format!("no arm is faster than {name}; {name} is {factor} faster than {next}, the next arm{of_job}"),
        };
        (Verdict::Faster, says)
    } else {
        let says = format!("no arm is faster than {name} by {} or more", percent(MARGIN));
        (Verdict::Same, says + &tie_words(run, &same, "") + &apart_words(run, &undecided))
    };
    MapAnswer {
        winner: Some(Named::of(baseline)),
        ties: named(&same),
        not_told_apart: named(&undecided),
        margin: None,
        verdict,
        says,
        explanation: next.finding.explanation.clone(),
        answer_of: next.finding.answer_of,
    }
}

/// Arms that the line would otherwise omit: they did different work, or have no valid pass.
fn left_out(run: &Run, verdict: Verdict, compared: &[&Compared]) -> String {
    let named = |of: &dyn Fn(&Compared) -> bool, what: &str| {
        let names: Vec<&str> = compared.iter().filter(|it| of(it)).map(|it| run.name(it.arm.arm())).collect();
        match names.len() {
            0 => String::new(),
            1 => format!("; {} is {what}", names[0]),
            _ => format!("; {} are {what}", list(&names)),
        }
    };
    let unequal = match verdict {
        Verdict::NotComparable => String::new(),
        _ => named(&|it| it.finding.verdict == Verdict::NotComparable, "not comparable"),
    };
    let unmeasured = match verdict {
        // Why nothing is decided has been said.
        Verdict::NotComparable | Verdict::Undecided => String::new(),
        _ => named(&|it| it.arm.passes.is_empty(), "not measured"),
    };
    // An arm alone has been spoken of, and so have those that are not comparable.
    let no_place = |it: &Compared| {
        !it.arm.passes.is_empty() && it.finding.speedup.is_none() && it.finding.verdict == Verdict::Undecided
    };
    let without_place = match compared.len() {
        0 | 1 => String::new(),
        _ => named(&no_place, "measured too few times to be compared"),
    };
    unequal + &unmeasured + &without_place
}

/// What was measured at the size of the job, or else what comes closest by the rounds.
fn closest<'c, 'a, 'r>(compared: &[&'c Compared<'a, 'r>]) -> Option<&'c Compared<'a, 'r>> {
    compared.iter().copied().find(|it| it.finding.answer_of.is_confirmed()).or_else(|| best(compared))
}

fn best<'c, 'a, 'r>(compared: &[&'c Compared<'a, 'r>]) -> Option<&'c Compared<'a, 'r>> {
    compared.iter().copied().max_by(|a, b| median(a).total_cmp(&median(b)))
}

fn named(compared: &[&Compared]) -> Vec<Named> {
    compared.iter().map(|it| Named::of(it.arm)).collect()
}

fn tie_words(run: &Run, ties: &[&Compared], with: &str) -> String {
    let names: Vec<&str> = ties.iter().map(|it| run.name(it.arm.arm())).collect();
    match names.len() {
        0 => String::new(),
        1 => format!("; {} ties{with}", names[0]),
        _ => format!("; {} tie{with}", list(&names)),
    }
}

fn apart_words(run: &Run, arms: &[&Compared]) -> String {
    let names: Vec<&str> = arms.iter().map(|it| run.name(it.arm.arm())).collect();
    match names.len() {
        0 => String::new(),
        1 => format!("; {} is not told apart from it", names[0]),
        _ => format!("; {} are not told apart from it", list(&names)),
    }
}

/// A deeper queue is a choice that the other method may not have; the reader must see it beside the factor.
fn deeper_queue(winner: &Compared, baseline: &str) -> String {
    let depths = winner.arm.queue_depth().zip(winner.baseline.queue_depth());
    match depths.filter(|(own, other)| own != other) {
        Some((own, other)) => {
            let [own, other] = [own, other].map(|depth| thousands(depth.into()));
            format!(" (with {own} in flight; {baseline}: {other})")
        }
        None => String::new(),
    }
}
