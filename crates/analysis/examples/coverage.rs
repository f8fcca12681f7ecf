//! How often does a 95 % interval hold the truth? Simulated for each candidate, at the round counts really used, on the
//! kinds of noise that file access shows. Prints the Markdown tables of docs/METHODOLOGY.md.
//!
//! `cargo run --release -p faultline-analysis --example coverage`
//!
//! Two arms run once per round in random order; the log ratio of their times is formed per round. The truth is what
//! the median of log ratios of that noise converges to (its own symmetric part is 0, so a true speedup only shifts
//! everything and need not be varied). Seeded: two runs print the same.

use analysis::stats::{SortedValues, median};
use schema::findings::Estimate;

const ROUNDS: [usize; 9] = [5, 6, 8, 10, 12, 15, 20, 30, 50];
const TRIALS: usize = 2000;
const RESAMPLES: usize = 200;

/// Student's t at 97.5 % for n - 1 degrees of freedom, n from `ROUNDS` (R: qt(0.975, n - 1)).
const STUDENT: [f64; 9] = [2.776, 2.571, 2.365, 2.262, 2.201, 2.145, 2.093, 2.045, 2.010];

/// How many pairwise means an exact two-sided 5 % signed-rank interval leaves out on each side (Wilcoxon and Wilcox, Some
/// Rapid Approximate Statistical Procedures, 1964, table 2). Five values have no such interval; their range is taken.
const SIGNED_RANK: [usize; 9] = [0, 0, 3, 8, 13, 25, 52, 137, 434];

/// When a run that stops on precision looks at its interval.
const LOOKS: [(&str, &[usize]); 3] = [
    (
        "every round from 5",
        &[5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30],
    ),
    ("every round from 8", &[8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]),
    ("after 8, 12, 20 and 30", &[8, 12, 20, 30]),
];

fn main() {
    println!(
        "Coverage of nominal 95 % intervals in percent, and in brackets their mean width in percent ({TRIALS} trials)."
    );
    let truths = NOISES.map(|(_, noise)| truth(noise));
    let mut totals = CANDIDATES.map(|_| Total::default());
    for ((name, candidate), total) in CANDIDATES.into_iter().zip(&mut totals) {
        println!("\n### {name}\n");
        println!("| noise \\ rounds | {} |", ROUNDS.map(|rounds| rounds.to_string()).join(" | "));
        println!("|---|{}", "---|".repeat(ROUNDS.len()));
        for ((noise_name, noise), truth) in NOISES.into_iter().zip(truths) {
            let mut at = 0;
            let cells = ROUNDS.map(|rounds| {
                let (coverage, width) = coverage(candidate, at, noise, rounds, truth);
                at += 1;
                total.add(coverage, width);
                format!("{coverage:.1} ({width:.0})")
            });
            println!("| {noise_name} | {} |", cells.join(" | "));
        }
    }
    println!("\n### All of it\n");
    println!("| candidate | worst coverage | cells below 93 % | mean coverage | mean width |");
    println!("|---|---|---|---|---|");
    for ((name, _), total) in CANDIDATES.into_iter().zip(totals) {
        let count = total.count as f64;
        let (coverage, width) = (total.coverage / count, total.width / count);
        println!("| {name} | {:.1} | {} of {} | {coverage:.1} | {width:.1} |", total.worst, total.below, total.count);
    }
    println!("\n### Interpolated sign test, stopped once the half width is below 2.5 % (mean number of rounds)\n");
    println!("| noise \\ looked | {} |", LOOKS.map(|(name, _)| name).join(" | "));
    println!("|---|{}", "---|".repeat(LOOKS.len()));
    for ((noise_name, noise), truth) in NOISES.into_iter().zip(truths) {
        let cells = LOOKS.map(|(_, looks)| {
            let (coverage, rounds) = stopped_on_precision(noise, truth, looks);
            format!("{coverage:.1} ({rounds:.0})")
        });
        println!("| {noise_name} | {} |", cells.join(" | "));
    }
}

fn coverage(candidate: Candidate, at: usize, noise: Noise, rounds: usize, truth: f64) -> (f64, f64) {
    // The same noise for every candidate: what is compared are estimators, not luck.
    let mut random = Random(rounds as u64);
    let (mut hits, mut width) = (0, 0.0);
    for trial in 0..TRIALS {
        let sample = SortedValues::new(log_ratios(noise, rounds, &mut random)).expect("noise is finite");
        let interval = candidate(&sample, at, &mut Random(trial as u64));
        hits += usize::from(interval.ci_low <= truth && truth <= interval.ci_high);
        width += interval.ci_high - interval.ci_low;
    }
    (100.0 * hits as f64 / TRIALS as f64, 100.0 * width / TRIALS as f64)
}

#[derive(Default, Clone, Copy)]
struct Total {
    count: usize,
    below: usize,
    coverage: f64,
    width: f64,
    worst: f64,
}

impl Total {
    fn add(&mut self, coverage: f64, width: f64) {
        self.worst = if self.count == 0 { coverage } else { self.worst.min(coverage) };
        self.count += 1;
        self.below += usize::from(coverage < 93.0);
        self.coverage += coverage;
        self.width += width;
    }
}

// --- Candidates -----------------------------------------------------------------------------------------------------

type Candidate = fn(&SortedValues, usize, &mut Random) -> Estimate;

const CANDIDATES: [(&str, Candidate); 4] = [
    ("bootstrap of the median", |sample, _, random| bootstrap(sample, random)),
    ("t on logs", |sample, at, _| student(sample, STUDENT[at])),
    ("sign test, interpolated", |sample, _, _| median(sample).expect("five values or more")),
    ("signed rank", |sample, at, _| signed_rank(sample, SIGNED_RANK[at])),
];

fn bootstrap(sample: &SortedValues, random: &mut Random) -> Estimate {
    let values = sample.values();
    let medians = (0..RESAMPLES).map(|_| {
        let mut drawn: Vec<usize> = values.iter().map(|_| random.below(values.len())).collect();
        drawn.sort_unstable();
        let (below, above) = (drawn[(drawn.len() - 1) / 2], drawn[drawn.len() / 2]);
        (values[below] + values[above]) / 2.0
    });
    let medians = SortedValues::new(medians.collect()).expect("resamples of finite values");
    Estimate { median: sample.median(), ci_low: medians.quantile(0.025), ci_high: medians.quantile(0.975) }
}

fn student(sample: &SortedValues, quantile: f64) -> Estimate {
    let half_width = quantile * sample.standard_deviation() / (sample.count() as f64).sqrt();
    Estimate { median: sample.mean(), ci_low: sample.mean() - half_width, ci_high: sample.mean() + half_width }
}

/// Hodges-Lehmann: the median of all pairwise means, with the interval of the signed-rank test.
fn signed_rank(sample: &SortedValues, out: usize) -> Estimate {
    let values = sample.values();
    let means = (0..values.len()).flat_map(|at| values[at..].iter().map(move |other| (values[at] + other) / 2.0));
    let means = SortedValues::new(means.collect()).expect("means of finite values");
    let sorted = means.values();
    Estimate { median: means.median(), ci_low: sorted[out], ci_high: sorted[sorted.len() - 1 - out] }
}

// --- Noise ----------------------------------------------------------------------------------------------------------

/// Log times of the two arms in the round, given its position among all rounds and the machine's own state.
type Noise = fn(f64, &mut Machine, &mut Random) -> (f64, f64);

/// What the machine carries from pass to pass.
#[derive(Default)]
struct Machine {
    spell: f64,
}

const NOISES: [(&str, Noise); 9] = [
    ("lognormal, 5 %", |_, _, random| (0.05 * random.normal(), 0.05 * random.normal())),
    ("skewed: mostly fast, exponential tail of 10 %", |_, _, random| (tail(random), tail(random))),
    ("10 % of passes take three times as long", |_, _, random| (outlier(random), outlier(random))),
    ("drift of 30 % over the rounds, both arms", |position, _, random| {
        (0.3 * position + 0.03 * random.normal(), 0.3 * position + 0.03 * random.normal())
    }),
    ("level shift of 30 % half-way, both arms", |position, _, random| {
        let level = if position < 0.5 { 0.0 } else { 0.3 };
        (level + 0.03 * random.normal(), level + 0.03 * random.normal())
    }),
    ("spells: autocorrelated from pass to pass (0.7)", |_, machine, random| {
        let mut pass = || {
            machine.spell = 0.7 * machine.spell + 0.05 * random.normal();
            machine.spell + 0.02 * random.normal()
        };
        let (first, second) = (pass(), pass());
        if random.below(2) == 0 { (first, second) } else { (second, first) }
    }),
    ("one arm five times as noisy", |_, _, random| (0.02 * random.normal(), 0.1 * random.normal())),
    ("one arm skewed (tail of 10 %), the other quiet (2 %)", |_, _, random| (tail(random), 0.02 * random.normal())),
    ("one arm with outliers, the other quiet (2 %)", |_, _, random| (outlier(random), 0.02 * random.normal())),
];

fn tail(random: &mut Random) -> f64 {
    (1.0 + 0.1 * random.exponential()).ln() + 0.005 * random.normal()
}

fn outlier(random: &mut Random) -> f64 {
    0.03 * random.normal() + if random.below(10) == 0 { 3f64.ln() } else { 0.0 }
}

fn log_ratios(noise: Noise, rounds: usize, random: &mut Random) -> Vec<f64> {
    let mut machine = Machine::default();
    let round = |round: usize| {
        let (baseline, arm) = noise(round as f64 / rounds as f64, &mut machine, random);
        baseline - arm
    };
    (0..rounds).map(round).collect()
}

/// The median of very many log ratios.
fn truth(noise: Noise) -> f64 {
    let symmetric = SortedValues::new(log_ratios(noise, 400_001, &mut Random(1))).expect("noise is finite").median();
    // Noise that treats both arms alike has its truth at 0; what is left there is this simulation's own error.
    if symmetric.abs() < 5e-4 { 0.0 } else { symmetric }
}

/// Coverage and mean number of rounds when measuring stops at the first look that finds the interval narrow enough.
fn stopped_on_precision(noise: Noise, truth: f64, looks: &[usize]) -> (f64, f64) {
    let last = looks[looks.len() - 1];
    let mut random = Random(99);
    let (mut hits, mut rounds) = (0, 0);
    for _ in 0..TRIALS {
        let ratios = log_ratios(noise, last, &mut random);
        for &count in looks {
            let sample = SortedValues::new(ratios[..count].to_vec()).expect("noise is finite");
            let interval = median(&sample).expect("five values or more");
            if count == last || interval.ci_high - interval.ci_low < 0.05 {
                hits += usize::from(interval.ci_low <= truth && truth <= interval.ci_high);
                rounds += count;
                break;
            }
        }
    }
    (100.0 * hits as f64 / TRIALS as f64, rounds as f64 / TRIALS as f64)
}

// --- Chance ---------------------------------------------------------------------------------------------------------

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): short, and good enough for noise.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Above 0, at most 1.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
