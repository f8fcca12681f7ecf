//! The answer: state → winner → margin → why, one line per condition.

use schema::{
    Condition,
    findings::{Estimate, MapLine, Verdict},
};

use crate::{
    compare::{Compared, LEAST_PAIRS, MARGIN, compare, direction},
    measured::{Cell, Run},
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

fn line(run: &Run, index: usize, condition: &Condition, baseline: Option<&Cell>, compared: &[&Compared]) -> MapLine {
    let answer = match baseline {
        None => Answer::open(Verdict::Undecided, "nothing to compare with: no baseline was entered"),
        Some(baseline) if compared.is_empty() => {
            let name = run.name(baseline.arm());
            Answer::open(Verdict::Undecided, &format!("only {name} was entered: nothing to compare it with"))
        }
        Some(baseline) => match fastest(run, compared) {
            Some(winner) => an_arm_wins(run, compared, winner),
            None => no_arm_wins(run, baseline, compared),
        },
    };
    MapLine {
        id: run.record.condition_id(index),
        condition: condition.clone(),
        winner: answer.winner.as_ref().map(|it| it.name.clone()),
        winner_cell: answer.winner.as_ref().map(|it| it.cell),
        ties: answer.ties.iter().map(|it| it.name.clone()).collect(),
        tie_cells: answer.ties.iter().map(|it| it.cell).collect(),
        margin: answer.margin,
        verdict: answer.verdict,
        confirmed: answer.confirmed,
        says: answer.says + &left_out(run, answer.verdict, compared),
        because: answer.because,
    }
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
}

struct Answer {
    winner: Option<Named>,
    ties: Vec<Named>,
    margin: Option<Estimate>,
    verdict: Verdict,
    says: String,
    because: Option<String>,
    confirmed: bool,
}

impl Answer {
    fn open(verdict: Verdict, says: &str) -> Answer {
        let says = says.to_string();
        Answer { winner: None, ties: Vec::new(), margin: None, verdict, says, because: None, confirmed: false }
    }
}

/// The arm with the highest speedup among those that are faster than the baseline beyond doubt; or the first in the
/// experiment that is the same as that one, which is the plainer choice: no hint is worth naming that does nothing.
pub(crate) fn fastest<'c, 'a, 'r>(run: &Run, compared: &[&'c Compared<'a, 'r>]) -> Option<&'c Compared<'a, 'r>> {
    // Where one answer did not hold at the size of the job, others that were not measured there are no answers.
    let turned = compared.iter().any(|it| it.finding.confirmed.as_ref().is_some_and(|it| it.holds == Some(false)));
    let counts = |it: &&Compared| it.finding.verdict == Verdict::Faster && (!turned || it.finding.confirmed.is_some());
    let faster = || compared.iter().copied().filter(counts);
    let highest = faster().max_by(|a, b| {
        // Of equals, the first by name, so that the order of cells does not decide.
        median(a).total_cmp(&median(b)).then_with(|| run.name(b.arm.arm()).cmp(run.name(a.arm.arm())))
    })?;
    let same = |it: &&Compared| compare(run, highest.arm, it.arm).verdict == Verdict::Same;
    faster().find(|it| std::ptr::eq(*it, highest) || same(it))
}

/// Passes at the size of the job said what the comparison says now.
fn is_confirmed(compared: &Compared) -> bool {
    compared.finding.confirmed.as_ref().is_some_and(|it| it.verdict == compared.finding.verdict)
}

fn median(compared: &Compared) -> f64 {
    compared.finding.speedup.map_or(0.0, |speedup| speedup.median)
}

fn an_arm_wins(run: &Run, compared: &[&Compared], winner: &Compared) -> Answer {
    let (name, baseline) = (run.name(winner.arm.arm()), run.name(winner.baseline.arm()));
    // Against the winner itself, round by round: two intervals against the baseline say less.
    let ties = |it: &&&Compared| {
        let comparable = matches!(it.finding.verdict, Verdict::Faster | Verdict::Same | Verdict::Undecided)
            && it.finding.speedup.is_some();
        let direct = || compare(run, winner.arm, it.arm);
        !std::ptr::eq(**it, winner) && comparable && {
            let direct = direct();
            direct.speedup.is_some() && direct.verdict != Verdict::Slower
        }
    };
    let ties: Vec<&Compared> = compared.iter().filter(ties).copied().collect();
    let mut says = format!("{name} is {} faster than {baseline}", times(median(winner)));
    says.push_str(&deeper_queue(winner, baseline));
    says.push_str(&tie_words(run, &ties, " with it"));
    Answer {
        winner: Some(Named::of(winner.arm)),
        ties: named(&ties),
        margin: winner.finding.speedup,
        verdict: Verdict::Faster,
        says,
        because: winner.finding.because.clone(),
        confirmed: is_confirmed(winner),
    }
}

fn no_arm_wins(run: &Run, baseline: &Cell, compared: &[&Compared]) -> Answer {
    let name = run.name(baseline.arm());
    let with = |verdict: Verdict| -> Vec<&Compared> {
        compared.iter().filter(|it| it.finding.verdict == verdict).copied().collect()
    };
    let (same, undecided, slower) = (with(Verdict::Same), with(Verdict::Undecided), with(Verdict::Slower));
    if same.is_empty() && undecided.is_empty() && slower.is_empty() {
        let reason = compared.first().and_then(|it| it.finding.reason.as_deref()).unwrap_or("different work");
        return Answer::open(Verdict::NotComparable, &format!("nothing can be compared with {name}: {reason}"));
    }
    let open: Vec<&Compared> = undecided.into_iter().filter(|it| it.finding.speedup.is_some()).collect();
    if let Some(promising) = best(&open) {
        if let Some(reason) = promising.finding.reason.as_ref().filter(|_| promising.finding.pairs < LEAST_PAIRS) {
            return Answer::open(Verdict::Undecided, &format!("undecided: {reason}"));
        }
        let arms: Vec<&str> = open.iter().map(|it| run.name(it.arm.arm())).collect();
        let range = promising.finding.speedup.map_or_else(String::new, |speedup| {
            let subject = run.name(promising.arm.arm());
            let (low, high) = (direction(speedup.ci_low), direction(speedup.ci_high));
            format!(": {subject} is anything from {low} to {high}")
        });
        let mut says = format!("undecided between {name} and {}{range}", list(&arms));
        if let Some(known) = best(&same) {
            says.push_str(&format!("; {} ties with {name}", run.name(known.arm.arm())));
        }
        let because = promising.finding.because.clone();
        return Answer { ties: named(&open), because, ..Answer::open(Verdict::Undecided, &says) };
    }
    let Some(next) = best(&same).or_else(|| best(&slower)) else {
        let reason = compared.iter().find_map(|it| it.finding.reason.as_deref()).unwrap_or("no valid pass");
        return Answer::open(Verdict::Undecided, &format!("undecided: {reason}"));
    };
    let (verdict, says) = if same.is_empty() {
        let factor = times(1.0 / median(next));
        let next = run.name(next.arm.arm());
        let says = match compared.len() {
            1 => format!("{name} is {factor} faster than {next}"),
            _ => format!("nothing beats {name}; it is {factor} faster than {next}, the next"),
        };
        (Verdict::Faster, says)
    } else {
        let says = format!("nothing beats {name} by {} or more{}", percent(MARGIN), tie_words(run, &same, ""));
        (Verdict::Same, says)
    };
    Answer {
        winner: Some(Named::of(baseline)),
        ties: named(&same),
        margin: None,
        verdict,
        says,
        because: next.finding.because.clone(),
        confirmed: is_confirmed(next),
    }
}

/// Arms that the line is otherwise silent about: their work was another, or none of their passes counts.
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
    unequal + &unmeasured
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
