//! The ratio of two medians, of passes that were not taken side by side.

use schema::findings::Estimate;

/// The ratio of two independent medians with its 95 % interval: on the logarithmic scale the distances from each median
/// to the end of its interval are squared and added (MOVER; Zou and Donner, Statistics in Medicine 27, 2008), which
/// keeps intervals that are longer on one side as they are.
pub fn ratio_of_medians(above: Estimate, below: Estimate) -> Option<Estimate> {
    let logs = |it: Estimate| [it.ci_low.ln(), it.median.ln(), it.ci_high.ln()];
    let ([a_low, a, a_high], [b_low, b, b_high]) = (logs(above), logs(below));
    let estimate = Estimate {
        median: (a - b).exp(),
        ci_low: (a - b - (a - a_low).hypot(b_high - b)).exp(),
        ci_high: (a - b + (a_high - a).hypot(b - b_low)).exp(),
    };
    [estimate.median, estimate.ci_low, estimate.ci_high]
        .iter()
        .all(|it| it.is_finite() && *it > 0.0)
        .then_some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_of_two_medians_is_the_published_formula() {
        // By hand: logs 2 ± 0.3 and 1 ± 0.4 differ by 1 ± 0.5.
        let estimate = |log: f64, half: f64| Estimate {
            median: log.exp(),
            ci_low: (log - half).exp(),
            ci_high: (log + half).exp(),
        };
        let ratio = ratio_of_medians(estimate(2.0, 0.3), estimate(1.0, 0.4)).unwrap();
        for (value, expected) in [(ratio.median, 1.0f64), (ratio.ci_low, 0.5), (ratio.ci_high, 1.5)] {
            assert!((value.ln() - expected).abs() < 1e-9, "{ratio:?}");
        }
    }

    #[test]
    fn an_interval_keeps_its_longer_side() {
        let even = Estimate { median: 1.0, ci_low: 1.0, ci_high: 1.0 };
        let skewed = Estimate { median: 1.0, ci_low: 0.9, ci_high: 3.0 };
        let ratio = ratio_of_medians(even, skewed).unwrap();
        assert!((ratio.ci_low - 1.0 / 3.0).abs() < 1e-9 && (ratio.ci_high - 1.0 / 0.9).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn what_has_no_logarithm_has_no_ratio_of_medians() {
        let zero = Estimate { median: 0.0, ci_low: 0.0, ci_high: 0.0 };
        assert_eq!(ratio_of_medians(zero, zero), None);
    }
}
