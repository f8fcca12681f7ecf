//! One field of the matrix: the answer for one condition.

use std::collections::BTreeSet;

use schema::{
    Arm, Findings, Names, Record,
    findings::{AnswerOf, Comparison, MapLine, Verdict},
    record::Outcome,
};

use crate::{
    contents::map,
    layout::{
        number::{self, GLUE},
        paint::Paint,
        words::joined,
    },
    words::numbers::rounded_up,
};

/// The answer for one condition.
#[derive(Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) condition: usize,
    pub(crate) standing: Standing,
    /// Of passes at the size of the job, and not of those of the rounds.
    pub(super) of_job: bool,
    /// Of the rounds: passes at the size of the job decide nothing.
    pub(super) unconfirmed: bool,
    /// A baseline is ahead, whose name is also that of an arm which is ahead of another baseline: the name does not say what
    /// the number is over.
    pub(super) marked: bool,
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
    /// where they bound nothing. And of those that are proved slower, by how many times the last one is.
    Undecided {
        up_to: Option<f64>,
        behind: Option<(String, f64)>,
    },
    NotComparable,
}

impl Field {
    pub(super) fn of(line: &MapLine, record: &Record, findings: &Findings, names: &Names) -> Self {
        Self {
            condition: line.id.condition_index,
            standing: standing(line, record, findings, names),
            of_job: is_of_job(line, findings),
            unconfirmed: line.is_unconfirmed(),
            marked: false,
        }
    }

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
            Standing::Undecided { up_to: Some(up_to), .. } => format!("?{GLUE}≤{}", times_at_most(*up_to)),
            Standing::Undecided { up_to: None, .. } => "?".into(),
            Standing::NotComparable => "≠".into(),
        };
        match (self.of_job, self.unconfirmed) {
            (true, _) => text + "†",
            (false, true) => text + "§",
            (false, false) => text,
        }
    }

    pub(super) fn paint(&self) -> Paint {
        match self.standing {
            Standing::Ahead { .. } => Paint::Good,
            Standing::Same | Standing::Tied { .. } | Standing::Unbeaten { .. } => Paint::Plain,
            Standing::Undecided { .. } | Standing::NotComparable => Paint::Unsure,
        }
    }
}

/// `1.6x`, `15x`: more digits do not help to choose.
pub(super) fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}x") } else { format!("{}x", number::count(ratio.round())) }
}

/// A bound, which may not be rounded down.
pub(super) fn times_at_most(ratio: f64) -> String {
    times(rounded_up(ratio, if ratio <= 9.9 { 10.0 } else { 1.0 }))
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
        _ => Standing::Undecided { up_to: up_to(line, findings), behind: behind(line, findings, names) },
    }
}

/// Whether an answer is of passes at the size of the job; what is undecided is bounded by the passes of every arm that it is of.
pub(super) fn is_of_job(line: &MapLine, findings: &Findings) -> bool {
    let mut open = findings.comparisons.iter().filter(|it| line.is_made_of(it) && it.verdict == Verdict::Undecided);
    let is_bound = line.verdict == Verdict::Undecided && up_to(line, findings).is_some();
    let is_bound_by_job = !is_bound || open.all(|it| it.answer_of == AnswerOf::Job);
    line.answer_of == AnswerOf::Job && is_bound_by_job
}

/// How far an arm may be from the baseline. One that is faster for sure, or of which too little is known, may be farther than
/// what the intervals of the others say.
fn up_to(line: &MapLine, findings: &Findings) -> Option<f64> {
    let bound = |it: &Comparison| match it.verdict {
        Verdict::Undecided => it.bounds().map(|[least, most]| most.max(1.0 / least)),
        Verdict::Slower | Verdict::Same => Some(1.0),
        Verdict::Faster | Verdict::NotComparable => None,
    };
    let bounds = findings.comparisons.iter().filter(|it| line.is_made_of(it)).map(bound);
    let most = bounds.collect::<Option<Vec<f64>>>()?.into_iter().max_by(f64::total_cmp)?;
    (most.is_finite() && most > 1.0).then_some(most)
}

fn behind(line: &MapLine, findings: &Findings, names: &Names) -> Option<(String, f64)> {
    let slower = findings.comparisons.iter().filter(|it| line.is_made_of(it) && it.verdict == Verdict::Slower);
    let times = slower.filter_map(|it| Some((it, 1.0 / it.speedup?.median))).filter(|it| it.1.is_finite());
    let (last, times): (&Comparison, f64) = times.max_by(|a, b| f64::total_cmp(&a.1, &b.1))?;
    Some((names.short(&last.arm).to_string(), times))
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
pub(super) fn in_flight(record: &Record, cell: usize) -> Option<u32> {
    let depths = record.samples.iter().filter(|it| it.cell == cell).filter_map(|it| match &it.outcome {
        // Where each thread keeps one, their number is a part of the condition.
        Outcome::Ok { tally, .. } => (tally.queue_depth > 1).then(|| tally.in_flight()),
        Outcome::Invalid { .. } | Outcome::Failed { .. } => None,
    });
    depths.max()
}

/// `32`, `16 or 32`: of fields, in flight.
pub(super) fn depths<'f>(fields: impl Iterator<Item = &'f Field>) -> Option<String> {
    let depth = |it: &Field| match it.standing {
        Standing::Ahead { in_flight, .. } => in_flight,
        _ => None,
    };
    let depths: BTreeSet<u32> = fields.filter_map(depth).collect();
    let depths: Vec<String> = depths.into_iter().map(|it| number::count(it.into())).collect();
    (!depths.is_empty()).then(|| joined(&depths, "or"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_never_rounded_below_what_it_bounds() {
        for (ratio, says) in
            [(1.01, "1.1x"), (1.1, "1.1x"), (1.14, "1.2x"), (9.91, "10x"), (9.97, "10x"), (14.4, "15x")]
        {
            assert_eq!(times_at_most(ratio), says);
        }
    }
}
