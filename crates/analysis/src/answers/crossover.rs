//! Where the faster of two arms changes with the block size.
//!
//! Speedups are interpolated between measured sizes, log on log. A change counts when both its sides are decided: a
//! curve that wavers around 1 inside the margin crosses nothing. The interval of a crossover is what the bands leave
//! open: it begins where the lower end of the speedup's interval first touches 1, and ends where the upper one last does.
//!
//! A point is what its comparison says after it was measured again. Where one answer is of passes at the size of the job
//! and its neighbour's of smaller ones, the size of the pass may be what turns it: then no place is named.

use schema::{
    CellId, Condition, Span,
    experiment::{Range, Variant},
    findings::{AnswerOf, Crossover, Estimate, Verdict},
};

use crate::{
    compare::Compared,
    measured::Run,
    words::{list, rough_size, size},
};

/// Fewer sizes make no curve.
const LEAST_SIZES: usize = 3;

pub(crate) fn all(run: &Run, compared: &[Compared]) -> Vec<Crossover> {
    let mut curves: Vec<Curve> = Vec::new();
    for it in compared {
        let arms = [it.baseline.arm(), it.arm.arm()];
        let key = Key {
            arms: arms.map(|arm| arm.name.as_str()),
            condition: but_for_the_block(it.baseline.condition),
            asked: asked(run, it.arm.id.condition.comparison_index),
        };
        let at = curves.iter().position(|curve| curve.key == key).unwrap_or_else(|| {
            curves.push(Curve { key, names: arms.map(|arm| run.name(arm)), points: Vec::new() });
            curves.len() - 1
        });
        let point = Point {
            id: it.arm.id,
            block_bytes: it.baseline.condition.block_bytes as f64,
            // What does not stand for the job is no point of a curve.
            log_speedup: it.finding.speedup.filter(|_| it.finding.answer_of != AnswerOf::Neither).map(|speedup| {
                Estimate { median: speedup.median.ln(), ci_low: speedup.ci_low.ln(), ci_high: speedup.ci_high.ln() }
            }),
            verdict: it.finding.verdict,
            of_job: it.finding.answer_of == AnswerOf::Job,
        };
        // One size twice (two ranges of one file): the first stands for both.
        if curves[at].points.iter().all(|other| other.block_bytes != point.block_bytes) {
            curves[at].points.push(point);
        }
    }
    curves.into_iter().filter(|curve| curve.points.len() >= LEAST_SIZES).flat_map(Curve::crossovers).collect()
}

/// The condition with what depends on the block blotted out: the planner fits blocks per pass, and the window, to it.
fn but_for_the_block(condition: &Condition) -> Condition {
    Condition { block_bytes: 0, ops: 0, range: Span { offset: 0, bytes: 0 }, ..condition.clone() }
}

/// What comparisons must have in common beside their conditions. An experiment may split the sizes of one question, where
/// some of them have fewer arms: each size has rounds and a baseline of its own anyway.
type Asked<'a> = (Option<&'a str>, Option<Variant>, Option<Range>, Option<u64>);

fn asked<'a>(run: &Run<'a>, comparison: Option<usize>) -> Asked<'a> {
    let comparison = comparison.and_then(|it| run.record.experiment.comparisons.get(it));
    comparison.map_or((None, None, None, None), |it| (it.name.as_deref(), it.variant, it.range, it.ops))
}

#[derive(PartialEq)]
struct Key<'a> {
    arms: [&'a str; 2],
    condition: Condition,
    asked: Asked<'a>,
}

struct Curve<'a> {
    key: Key<'a>,
    /// Of the arms, as sentences call them.
    names: [&'a str; 2],
    points: Vec<Point>,
}

struct Point {
    id: CellId,
    block_bytes: f64,
    /// Of the second arm over the first; above 0 the second is faster.
    log_speedup: Option<Estimate>,
    verdict: Verdict,
    /// Its speedup is of passes at the size of the job.
    of_job: bool,
}

impl Curve<'_> {
    fn crossovers(mut self) -> Vec<Crossover> {
        self.points.sort_by(|a, b| a.block_bytes.total_cmp(&b.block_bytes));
        let changes = self.changes();
        let of_job: Vec<&Point> = self.points.iter().filter(|it| it.of_job).collect();
        let of_two_sizes = !of_job.is_empty() && of_job.len() < self.points.len();
        let finding = |at: Option<Estimate>, statement: String| Crossover {
            arms: self.key.arms.map(str::to_string),
            cells: self.points.iter().map(|it| it.id).collect(),
            workload: self.key.condition.workload,
            consume: self.key.condition.consume,
            state: self.key.condition.state,
            axis: "block_bytes".to_string(),
            changes: !changes.is_empty(),
            at,
            of_job: if of_two_sizes { of_job.iter().map(|it| it.id.cell).collect() } else { Vec::new() },
            statement: match of_two_sizes {
                true => format!(
                    "{statement}; at {} by passes at the size of the job, elsewhere by smaller ones",
                    list(&of_job.iter().map(|it| size(it.block_bytes)).collect::<Vec<String>>())
                ),
                false => statement,
            },
        };
        if changes.is_empty() {
            return vec![finding(None, self.says())];
        }
        let one_of_several = changes.len() > 1;
        let several = |statement: String| match one_of_several {
            true => format!("{statement} (one of {} changes)", changes.len()),
            false => statement,
        };
        changes.iter().map(|change| finding(change.at, several(self.says_change(change, one_of_several)))).collect()
    }

    /// Neighbouring decided points between which the faster arm changes.
    fn changes(&self) -> Vec<Change> {
        let decided: Vec<usize> = (0..self.points.len())
            .filter(|&at| matches!(self.points[at].verdict, Verdict::Faster | Verdict::Slower))
            .collect();
        let change = |pair: &[usize]| {
            let (from, to) = (pair[0], pair[1]);
            (self.points[from].verdict != self.points[to].verdict).then(|| Change {
                from,
                to,
                at: self.crossing(from, to),
            })
        };
        decided.windows(2).filter_map(change).collect()
    }

    /// Between two decided points, by interpolation along those that have a speedup; nowhere where some of them are of
    /// passes at the size of the job and some of smaller ones.
    fn crossing(&self, from: usize, to: usize) -> Option<Estimate> {
        let placed = || self.points[from..=to].iter().filter(|it| it.log_speedup.is_some());
        if placed().any(|it| it.of_job != self.points[from].of_job) {
            return None;
        }
        let sign = if self.points[from].verdict == Verdict::Faster { 1.0 } else { -1.0 };
        let between = || {
            let points = self.points[from..=to].iter();
            points.filter_map(|point| Some((point.block_bytes.ln(), point.log_speedup?)))
        };
        // With the curve turned so that it falls, its lower band is the first to reach 0 and its upper band the last.
        let band = |of: fn(&Estimate) -> f64| -> Vec<(f64, f64)> {
            between().map(|(x, speedup)| (x, sign * of(&speedup))).collect()
        };
        let [low, high]: [fn(&Estimate) -> f64; 2] =
            if sign > 0.0 { [|it| it.ci_low, |it| it.ci_high] } else { [|it| it.ci_high, |it| it.ci_low] };
        let middle = zeros(&band(|it| it.median));
        let median = *middle.get(middle.len() / 2)?;
        let first = zeros(&band(low)).first().copied()?.min(median);
        let last = zeros(&band(high)).last().copied()?.max(median);
        Some(Estimate { median: median.exp(), ci_low: first.exp(), ci_high: last.exp() })
    }

    fn says_change(&self, change: &Change, one_of_several: bool) -> String {
        let [first, second] = self.names;
        let (small, large) =
            if self.points[change.from].verdict == Verdict::Faster { (second, first) } else { (first, second) };
        let same_side = |points: &[Point], verdict| points.iter().all(|point| point.verdict == verdict);
        let clean = same_side(&self.points[..=change.from], self.points[change.from].verdict)
            && same_side(&self.points[change.to..], self.points[change.to].verdict);
        let [up_to, from] = [change.from, change.to].map(|at| size(self.points[at].block_bytes));
        let near = change.at.map_or_else(String::new, |at| {
            let [median, low, high] = [at.median, at.ci_low, at.ci_high].map(rough_size);
            format!("; they cross near {median} [{low}, {high}]")
        });
        if clean || one_of_several {
            format!("{small} is faster up to {up_to}, {large} from {from}{near}")
        } else {
            format!("{}{near}", self.says())
        }
    }

    /// Size by size, neighbours of one verdict together.
    fn says(&self) -> String {
        let [first, second] = self.names;
        let mut runs: Vec<(Verdict, Vec<&Point>)> = Vec::new();
        for point in &self.points {
            match runs.last_mut() {
                Some((verdict, points)) if *verdict == point.verdict => points.push(point),
                _ => runs.push((point.verdict, vec![point])),
            }
        }
        let span = |points: &[&Point]| match points {
            [only] => size(only.block_bytes),
            _ => format!("{} to {}", size(points[0].block_bytes), size(points[points.len() - 1].block_bytes)),
        };
        let everywhere = span(&self.points.iter().collect::<Vec<_>>());
        match runs.as_slice() {
            [(Verdict::Faster, _)] => format!("{second} is faster than {first} at every size measured ({everywhere})"),
            [(Verdict::Slower, _)] => format!("{first} is faster than {second} at every size measured ({everywhere})"),
            [(Verdict::Same, _)] => format!("{first} and {second} are the same at every size measured ({everywhere})"),
            [(Verdict::NotComparable, _)] => format!("{first} and {second} cannot be compared at any size"),
            runs if runs.iter().all(|(verdict, _)| !verdict.is_decided()) => {
                format!("no size is decided between {first} and {second} ({everywhere})")
            }
            runs => {
                let clauses: Vec<String> = runs
                    .iter()
                    .enumerate()
                    .map(|(at, (verdict, points))| {
                        // The first clause names both.
                        let what = match verdict {
                            Verdict::Faster if at == 0 => format!("{second} is faster than {first}"),
                            Verdict::Slower if at == 0 => format!("{first} is faster than {second}"),
                            Verdict::Same if at == 0 => format!("{first} and {second} are the same"),
                            Verdict::Undecided if at == 0 => format!("{first} and {second} are undecided"),
                            Verdict::NotComparable if at == 0 => format!("{first} and {second} are not comparable"),
                            Verdict::Faster => format!("{second} is faster"),
                            Verdict::Slower => format!("{first} is faster"),
                            Verdict::Same => "they are the same".to_string(),
                            Verdict::Undecided => "it is undecided".to_string(),
                            Verdict::NotComparable => "they are not comparable".to_string(),
                        };
                        format!("{what} at {}", span(points))
                    })
                    .collect();
                list(&clauses)
            }
        }
    }
}

struct Change {
    from: usize,
    to: usize,
    at: Option<Estimate>,
}

/// Where straight lines through the points pass through 0, in order.
fn zeros(points: &[(f64, f64)]) -> Vec<f64> {
    points
        .windows(2)
        .filter_map(|pair| {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            ((y0 > 0.0) != (y1 > 0.0)).then(|| x0 + (x1 - x0) * (y0 / (y0 - y1)))
        })
        .filter(|x| x.is_finite())
        .collect()
}
