//! Where the faster of two arms changes with the block size, or with the number of blocks.
//!
//! Speedups are interpolated between measured points, log on log. A change counts when both its sides are decided: a
//! curve that wavers around 1 inside the margin crosses nothing. The interval of a crossover is what the bands leave
//! open: it begins where the lower end of the speedup's interval first touches 1, and ends where the upper one last does.
//!
//! A point is what its comparison says after it was measured again. Where one answer is of passes at the size of the job
//! and its neighbour's of smaller ones, the size of the pass may be what turns it: then no place is named.

use schema::{
    CellId, Condition, Span,
    experiment::{Compare, Question},
    findings::{AnswerOf, Crossover, CurvePoint, Estimate, Verdict},
};

use crate::{compare::Compared, measured::Run};

/// Fewer points make no curve.
const LEAST_POINTS: usize = 3;

/// What the points of a curve differ in: what their baselines do, also where that is not what their conditions say.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Axis {
    Block,
    /// The number of blocks, where the experiment asks for several: a number that the planner chose is no question.
    Ops,
}

impl Axis {
    fn name(self) -> &'static str {
        match self {
            Axis::Block => "block_bytes",
            Axis::Ops => "ops",
        }
    }

    /// A number of blocks is of the file, also where a pass has a part of it, unless that part was asked about.
    fn value(self, condition: &Condition, compare: Option<&Compare>) -> f64 {
        let of_file = || {
            let compare = compare.filter(|it| it.range.is_none())?;
            let here = condition.dense_ops_of_file();
            // As it was asked for, not as the number of blocks in the part was rounded.
            let is_it = |&asked: &f64| (asked - here).abs() * condition.ops as f64 <= here;
            Some(compare.ops.iter().map(|&it| it as f64).find(is_it).unwrap_or(here))
        };
        match self {
            Axis::Block => condition.block_bytes as f64,
            Axis::Ops => of_file().unwrap_or(condition.ops as f64),
        }
    }

    /// A condition without what differs along the axis, or follows from it.
    fn rest(self, condition: &Condition, compare: Option<&Compare>) -> Condition {
        let mut rest = condition.clone();
        // A scan's range is what it reads, and the planner's is what fits; the memory in state limited is a share of it.
        rest.range = Span { offset: 0, bytes: 0 };
        rest.memory_bytes = None;
        match self {
            Axis::Block => {
                rest.block_bytes = 0;
                // Of a scan of larger blocks a range has fewer.
                rest.ops = compare.and_then(|it| it.size_asked(condition).ops).unwrap_or(0);
            }
            Axis::Ops => rest.ops = 0,
        }
        rest
    }
}

pub(crate) fn all(run: &Run, compared: &[Compared]) -> Vec<Crossover> {
    [Axis::Block, Axis::Ops].into_iter().flat_map(|axis| along(axis, run, compared)).collect()
}

fn along(axis: Axis, run: &Run, compared: &[Compared]) -> Vec<Crossover> {
    let mut curves: Vec<Curve> = Vec::new();
    for it in compared {
        let at = it.arm.id.condition.comparison_index;
        let compare = at.and_then(|it| run.record.experiment.comparisons.get(it));
        let asked = compare.map_or_else(Question::default, Compare::question);
        if axis == Axis::Ops && asked.ops.len() < LEAST_POINTS {
            continue;
        }
        let arms = [it.baseline.arm(), it.arm.arm()];
        let does = [it.baseline.own, it.arm.own].map(|own| axis.rest(own, compare));
        let key = Key { arms: arms.map(|arm| arm.name.as_str()), does, asked };
        let at = curves.iter().position(|curve| curve.key == key).unwrap_or_else(|| {
            let names = arms.map(|arm| run.name(arm));
            curves.push(Curve { axis, key, names, points: Vec::new(), not_measured: Vec::new() });
            curves.len() - 1
        });
        let value = axis.value(it.baseline.own, compare);
        if it.baseline.passes.is_empty() || it.arm.passes.is_empty() {
            curves[at].not_measured.push(value);
            continue;
        }
        let point = Point {
            id: it.arm.id,
            at: value,
            // What bounds nothing is no point of a curve.
            log_speedup: it.finding.speedup.zip(it.finding.bounds()).map(|(speedup, [low, high])| Estimate {
                median: speedup.median.ln(),
                ci_low: low.ln(),
                ci_high: high.ln(),
            }),
            verdict: it.finding.verdict,
            of_job: it.finding.answer_of == AnswerOf::Job,
            unconfirmed: it.finding.is_unconfirmed(),
        };
        // One value twice (two ranges of one file): the first stands for both.
        if curves[at].points.iter().all(|other| other.at != point.at) {
            curves[at].points.push(point);
        }
    }
    curves.into_iter().filter(|curve| curve.points.len() >= LEAST_POINTS).flat_map(Curve::crossovers).collect()
}

#[derive(PartialEq)]
struct Key<'a> {
    arms: [&'a str; 2],
    /// What each of them does, but for what differs along the axis.
    does: [Condition; 2],
    asked: Question<'a>,
}

struct Curve<'a> {
    axis: Axis,
    key: Key<'a>,
    /// Of the arms, as sentences call them.
    names: [&'a str; 2],
    points: Vec<Point>,
    /// Values of which one arm was not measured.
    not_measured: Vec<f64>,
}

struct Point {
    id: CellId,
    /// Along the axis.
    at: f64,
    /// Of the second arm over the first; above 0 the second is faster.
    log_speedup: Option<Estimate>,
    verdict: Verdict,
    /// Its speedup is of passes at the size of the job.
    of_job: bool,
    /// Such passes do not confirm its verdict.
    unconfirmed: bool,
}

impl Curve<'_> {
    fn crossovers(mut self) -> Vec<Crossover> {
        self.points.sort_by(|a, b| a.at.total_cmp(&b.at));
        let is_a_point = |at: &f64| self.points.iter().any(|it| it.at == *at);
        let mut not_measured: Vec<f64> = self.not_measured.iter().copied().filter(|at| !is_a_point(at)).collect();
        not_measured.sort_by(f64::total_cmp);
        not_measured.dedup();
        let changes = self.changes();
        let of_job: Vec<&Point> = self.points.iter().filter(|it| it.of_job).collect();
        let of_two_sizes = !of_job.is_empty() && of_job.len() < self.points.len();
        let finding = |at: Option<Estimate>, between: Option<[usize; 2]>| Crossover {
            arms: self.key.arms.map(str::to_string),
            names: self.names.map(str::to_string),
            cells: self.points.iter().map(|it| it.id).collect(),
            workload: self.key.does[0].workload,
            consume: self.key.does[0].consume,
            state: self.key.does[0].state,
            axis: self.axis.name().to_string(),
            changes: !changes.is_empty(),
            points: self
                .points
                .iter()
                .map(|&Point { at, verdict, of_job, unconfirmed, .. }| CurvePoint { at, verdict, of_job, unconfirmed })
                .collect(),
            not_measured: not_measured.clone(),
            between,
            of_curve: changes.len(),
            at,
            of_job: if of_two_sizes { of_job.iter().map(|it| it.id.cell).collect() } else { Vec::new() },
        };
        match changes.is_empty() {
            true => vec![finding(None, None)],
            false => changes.iter().map(|change| finding(change.at, Some([change.from, change.to]))).collect(),
        }
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
            points.filter_map(|point| Some((point.at.ln(), point.log_speedup?)))
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
