//! Where the faster of two arms changes along an axis, or that it does not.

use schema::findings::{Crossover, CurvePoint, Verdict};

use super::{
    UNCONFIRMED,
    numbers::{list, rough_size, size, thousands},
};

pub fn crossover(of: &Crossover) -> String {
    let change = of.between.filter(|[from, to]| from.max(to) < &of.points.len());
    let statement = change.map_or_else(|| everywhere(of), |[from, to]| changing(of, from, to));
    let job: Vec<String> = of.points.iter().filter(|it| it.of_job).map(|it| value(of, it.at)).collect();
    let job = match of.of_job.is_empty() {
        true if !job.is_empty() && job.len() == of.points.len() => "; at the size of the job".into(),
        true => String::new(),
        false => format!("; at {} measured at the size of the job, at other sizes in the rounds", list(&job)),
    };
    let not_measured: Vec<String> = of.not_measured.iter().map(|&it| value(of, it)).collect();
    let not_measured = match not_measured.is_empty() {
        true => String::new(),
        false => format!("; at {} not both were measured", list(&not_measured)),
    };
    format!("{statement}{job}{}{not_measured}", unconfirmed(of, change))
}

/// Which of the decided points that the statement speaks of are not confirmed; nothing where there are none.
fn unconfirmed(of: &Crossover, change: Option<[usize; 2]>) -> String {
    let spoken_of: Vec<&CurvePoint> = match change {
        Some([from, to]) if of.of_curve > 1 => vec![&of.points[from], &of.points[to]],
        _ => of.points.iter().filter(|it| it.verdict.is_decided()).collect(),
    };
    let values: Vec<String> = spoken_of.iter().filter(|it| it.unconfirmed).map(|it| value(of, it.at)).collect();
    match values.len() {
        0 => String::new(),
        all if all == spoken_of.len() => format!("; {UNCONFIRMED}"),
        _ => format!("; at {} {UNCONFIRMED}", list(&values)),
    }
}

fn changing(of: &Crossover, from: usize, to: usize) -> String {
    let [first, second] = &of.names;
    let (small, large) = if of.points[from].verdict == Verdict::Faster { (second, first) } else { (first, second) };
    let same_side = |points: &[CurvePoint], verdict| points.iter().all(|point| point.verdict == verdict);
    let clean =
        same_side(&of.points[..=from], of.points[from].verdict) && same_side(&of.points[to..], of.points[to].verdict);
    let [up_to, beginning] = [from, to].map(|at| value(of, of.points[at].at));
    let near = of.at.map_or_else(String::new, |at| {
        let [median, low, high] = [at.median, at.ci_low, at.ci_high].map(|it| rough(of, it));
        format!("; they cross near {median} [{low}, {high}]{}", unit(of))
    });
    match of.of_curve {
        0 | 1 if clean => format!("{small} is faster up to {up_to}, {large} from {beginning}{near}"),
        0 | 1 => format!("{}{near}", everywhere(of)),
        // Beyond the neighbouring crossovers it is the other way round.
        several => format!(
            "between {up_to} and {beginning} the faster arm changes from {small} to {large}{near} (one of {several} \
             crossovers)"
        ),
    }
}

/// Size by size, neighbours of one verdict together.
fn everywhere(of: &Crossover) -> String {
    let [first, second] = &of.names;
    let runs: Vec<&[CurvePoint]> = of.points.chunk_by(|a, b| a.verdict == b.verdict).collect();
    let span = |points: &[CurvePoint]| match points {
        [] => String::new(),
        [only] => value(of, only.at),
        [from, .., to] => format!("{} to {}", value(of, from.at), value(of, to.at)),
    };
    let all = span(&of.points);
    if let [only] = runs[..] {
        match only[0].verdict {
            Verdict::Faster => return format!("{second} is faster than {first} at every size measured ({all})"),
            Verdict::Slower => return format!("{first} is faster than {second} at every size measured ({all})"),
            Verdict::Same => return format!("{first} and {second} are the same at every size measured ({all})"),
            Verdict::NotComparable => return format!("{first} and {second} cannot be compared at any size"),
            Verdict::Undecided => {}
        }
    }
    if of.points.iter().all(|it| !it.verdict.is_decided()) {
        return format!("between {first} and {second} no size is decided ({all})");
    }
    let clauses = runs.iter().enumerate().map(|(at, points)| {
        // The first clause names both.
        let what = match points[0].verdict {
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
    });
    list(&clauses.collect::<Vec<String>>())
}

fn counts_blocks(of: &Crossover) -> bool {
    of.axis == "ops"
}

/// A measured value.
fn value(of: &Crossover, at: f64) -> String {
    match counts_blocks(of) {
        true => format!("{}{}", thousands(at as u64), unit(of)),
        false => size(at),
    }
}

/// A value that lies between measured ones.
fn rough(of: &Crossover, at: f64) -> String {
    if !counts_blocks(of) {
        return rough_size(at);
    }
    // Two digits.
    let step = 10f64.powf((at.max(1.0).log10() - 1.0).floor()).max(1.0);
    thousands(((at / step).round() * step) as u64)
}

/// Behind a list of such values.
fn unit(of: &Crossover) -> &'static str {
    if counts_blocks(of) { " blocks" } else { "" }
}
