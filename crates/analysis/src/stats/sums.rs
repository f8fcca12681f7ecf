//! The ratio of two sums over all rounds, for what a single pass shows only coarsely: the kernel separates user from system
//! time by looking at every tick, so that a short pass sees none, or one too many, and a median of such passes is biased.

use schema::findings::Estimate;

use super::interval::STUDENT;

/// The normal distribution at 97.5 %.
const NORMAL: f64 = 1.959_964;

/// The sum of the first values over the sum of the second ones. The interval comes from leaving out one round at a time
/// (the jackknife, on the logarithm), and is never narrower than what a variance of `least_variance` would give.
/// `None` for a single round, and where one round holds everything there is of either.
pub fn ratio_of_sums(pairs: &[(f64, f64)], least_variance: f64) -> Option<Estimate> {
    let n = pairs.len();
    let log_ratio_without = |left_out: Option<usize>| {
        let kept = pairs.iter().enumerate().filter(|(at, _)| Some(*at) != left_out);
        let (above, below) = kept.fold((0.0, 0.0), |sums, (_, pair)| (sums.0 + pair.0, sums.1 + pair.1));
        let log = (above / below).ln();
        (above > 0.0 && below > 0.0 && log.is_finite()).then_some(log)
    };
    if n < 2 {
        return None;
    }
    let all = log_ratio_without(None)?;
    let without: Vec<f64> = (0..n).map(|at| log_ratio_without(Some(at))).collect::<Option<_>>()?;
    let mean = without.iter().sum::<f64>() / n as f64;
    let spread: f64 = without.iter().map(|log| (log - mean).powi(2)).sum();
    let variance = (spread * (n - 1) as f64 / n as f64).max(least_variance);
    let half_width = student((n - 1) as f64) * variance.sqrt();
    let estimate = Estimate { median: all.exp(), ci_low: (all - half_width).exp(), ci_high: (all + half_width).exp() };
    let usable = |it: f64| it.is_finite() && it > 0.0;
    (usable(estimate.median) && usable(estimate.ci_low) && usable(estimate.ci_high)).then_some(estimate)
}

/// Student's t at 97.5 %, by the expansion of Cornish and Fisher in the normal quantile (Abramowitz and Stegun, 26.7.5):
/// within half a per mille from four degrees of freedom on. Below that by a table.
pub(super) fn student(freedom: f64) -> f64 {
    if let Some(of_table) = (freedom as usize).checked_sub(1).and_then(|at| STUDENT.get(at)).filter(|_| freedom < 4.0) {
        return *of_table;
    }
    let z = NORMAL;
    z + (z.powi(3) + z) / (4.0 * freedom)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * freedom.powi(3))
        + (79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5) - 1920.0 * z.powi(3) - 945.0 * z)
            / (92_160.0 * freedom.powi(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_t_is_what_tables_say() {
        // R: qt(0.975, c(1, 2, 4, 9, 29)) gives 12.7062, 4.302653, 2.776445, 2.262157 and 2.045230.
        for (freedom, table) in
            [(1.0, 12.7062), (2.0, 4.302_653), (4.0, 2.776_445), (9.0, 2.262_157), (29.0, 2.045_230)]
        {
            assert!((student(freedom) / table - 1.0).abs() < 5e-4, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn known_answers() {
        let equal = ratio_of_sums(&[(2.0, 1.0); 8], 0.0).unwrap();
        assert!((equal.median - 2.0).abs() < 1e-12 && (equal.ci_high / equal.ci_low - 1.0).abs() < 1e-12);
        let floored = ratio_of_sums(&[(2.0, 1.0); 8], 0.01).unwrap();
        assert!(floored.ci_low < 1.6 && floored.ci_high > 2.5, "{floored:?}");
        // Zeros count: six passes of four saw nothing above, and the ratio of the sums is right all the same.
        let zeros = [(4.0, 4.0), (0.0, 4.0), (0.0, 4.0), (4.0, 4.0), (0.0, 4.0), (0.0, 4.0), (0.0, 4.0), (4.0, 4.0)];
        assert!((ratio_of_sums(&zeros, 0.0).unwrap().median - 0.375).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_told_is_none() {
        assert_eq!(ratio_of_sums(&[], 0.0), None);
        assert_eq!(ratio_of_sums(&[(1.0, 1.0)], 0.0), None);
        assert_eq!(ratio_of_sums(&[(0.0, 1.0); 5], 0.0), None);
        assert_eq!(ratio_of_sums(&[(0.0, 1.0), (0.0, 1.0), (5.0, 1.0)], 0.0), None);
        assert_eq!(ratio_of_sums(&[(f64::MAX, 1.0); 5], 0.0), None);
        assert_eq!(ratio_of_sums(&[(f64::NAN, 1.0); 5], 0.0), None);
    }

    /// Passes whose user time is seen by ticks of 4 ms: 20 and 50 % of 25 ms, so that many see none.
    #[test]
    fn intervals_hold_the_truth_where_ticks_are_coarse() {
        let mut state = 1u64;
        let mut chance = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut seen = |share: f64| {
            let ticks = (25.0 / 4.0 + chance()).floor();
            4.0 * (0..ticks as usize).filter(|_| chance() < share).count() as f64
        };
        for rounds in [8, 12, 20, 30] {
            let mut holds = || {
                let pairs: Vec<(f64, f64)> = (0..rounds).map(|_| (seen(0.5), seen(0.2))).collect();
                // Nothing said is nothing wrong.
                ratio_of_sums(&pairs, 0.0).is_none_or(|it| it.ci_low <= 2.5 && 2.5 <= it.ci_high)
            };
            let hits = (0..2000).filter(|_| holds()).count();
            assert!((1860..1980).contains(&hits), "{hits} of 2000 at {rounds} rounds");
        }
    }
}
