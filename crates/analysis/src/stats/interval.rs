//! The median with its 95 % interval, from the exact distribution of ranks.

use schema::findings::Estimate;

use super::SortedValues;

/// What may lie outside an interval on one side.
const TAIL: f64 = 0.025;

/// Up to here the exact distribution is computed; beyond, their the normal approximation is as good.
const EXACT_UP_TO: usize = 200;

/// Student's t at 97.5 % for 1 to 4 degrees of freedom (any table; R: qt(0.975, 1:4)).
pub(super) const STUDENT: [f64; 4] = [12.706, 4.303, 3.182, 2.776];

/// The normal distribution at 97.5 %.
const NORMAL: f64 = 1.959_964;

/// The median, with the interval between two order statistics (the sign test turned around), which holds for any
/// distribution, however skewed. Order statistics come in steps of confidence; 95 % lies between two of them, and is
/// interpolated as Hettmansperger and Sheather do (Statistics & Probability Letters 4, 1986). `None` for a single value.
pub fn median(sample: &SortedValues) -> Option<Estimate> {
    let sorted = sample.values();
    let (depth, weight) = depth(sample.count());
    let between = |outer: f64, inner: f64| outer * (1.0 - weight) + inner * weight;
    let mirrored = sorted.len() - 1 - depth;
    if weight > 0.0 {
        let low = between(sorted[depth], sorted[depth + 1]);
        let high = between(sorted[mirrored], sorted[mirrored - 1]);
        interval(sample, sample.median(), low, high)
    } else {
        interval(sample, sample.median(), sorted[depth], sorted[mirrored])
    }
}

/// The median of positive values, by way of their logarithms: ratios and times keep their meaning when they are turned
/// around, and no interval reaches below 0. Between two middle values lies their geometric mean. Values that are not
/// positive and finite are left out; `None` when fewer than two are left.
pub fn median_of_positive(values: impl IntoIterator<Item = f64>) -> Option<Estimate> {
    let usable = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
    let logs = median(&SortedValues::new(usable.map(f64::ln).collect())?)?;
    let estimate = Estimate { median: logs.median.exp(), ci_low: logs.ci_low.exp(), ci_high: logs.ci_high.exp() };
    [estimate.median, estimate.ci_low, estimate.ci_high].iter().all(|it| it.is_finite()).then_some(estimate)
}

/// An estimate from what ranks say, stretched where there are too few of them.
fn interval(sample: &SortedValues, median: f64, mut ci_low: f64, mut ci_high: f64) -> Option<Estimate> {
    let count = sample.count();
    // Ranks alone reach 1 - 2^(1-n): 93.75 % with five values, 50 % with two. The rest comes from Student's t.
    if let Some(student) = STUDENT.get(count.checked_sub(2)?) {
        let half_width = student * sample.standard_deviation() / (count as f64).sqrt();
        ci_low = ci_low.min(sample.mean() - half_width);
        ci_high = ci_high.max(sample.mean() + half_width);
    }
    [median, ci_low, ci_high].iter().all(|it| it.is_finite()).then_some(Estimate { median, ci_low, ci_high })
}

/// How many order statistics a 95 % interval for the median leaves out on each side, and how far it then goes towards
/// the next one, from 0 to 1. (0, 0) below six values, where even the whole range has less.
fn depth(count: usize) -> (usize, f64) {
    if count > EXACT_UP_TO {
        let n = count as f64;
        return (((n - 1.0) / 2.0 - NORMAL * n.sqrt() / 2.0).floor() as usize, 0.0);
    }
    // P(Binomial(n, 1/2) = left) from the edge inwards; what has been passed is the tail that is left out.
    let mut term = 0.5f64.powi(count as i32);
    let mut tail = term;
    let mut left = 0;
    if tail > TAIL {
        return (0, 0.0);
    }
    loop {
        term *= (count - left) as f64 / (left + 1) as f64;
        if tail + term > TAIL {
            // The confidence to give up, as a share of the step to the next order statistic.
            let step = (TAIL - tail) / term;
            let (n, outer) = (count as f64, (left + 1) as f64);
            return (left, (n - outer) * step / (outer + (n - 2.0 * outer) * step));
        }
        tail += term;
        left += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> SortedValues {
        SortedValues::new(values.to_vec()).unwrap()
    }

    #[test]
    fn sign_test_critical_values_are_the_published_ones() {
        // Two-sided 5 %: Dixon and Mood, The statistical sign test, JASA 41 (1946), table 1.
        for (count, critical) in
            [(6, 0), (8, 0), (9, 1), (10, 1), (12, 2), (15, 3), (20, 5), (25, 7), (30, 9), (50, 17), (100, 39)]
        {
            assert_eq!(depth(count).0, critical, "n = {count}");
        }
        assert_eq!(depth(5), (0, 0.0));
    }

    #[test]
    fn the_interval_goes_as_far_between_two_order_statistics_as_the_literature_says() {
        // Hettmansperger and Sheather's formula by hand, n = 11: order statistics 2 and 10 hold 98.83 %, 3 and 9 hold
        // 93.46 %, so I = (98.83 - 95) / (98.83 - 93.46) = 0.7133 and lambda = 9 I / (2 + 7 I) = 0.918.
        let estimate = median(&sample(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0])).unwrap();
        assert_eq!(estimate.median, 6.0);
        assert!((estimate.ci_low - 2.918).abs() < 1e-3, "{estimate:?}");
        assert!((estimate.ci_high - 9.082).abs() < 1e-3, "{estimate:?}");
    }

    #[test]
    fn the_approximation_continues_the_exact_values() {
        assert!(depth(EXACT_UP_TO).0.abs_diff(depth(EXACT_UP_TO + 1).0) <= 1);
    }

    #[test]
    fn one_value_has_no_interval_and_few_have_a_wide_one() {
        assert_eq!(median(&sample(&[7.0])), None);
        let two = median(&sample(&[1.0, 2.0])).unwrap();
        assert!(two.ci_low < -4.0 && two.ci_high > 7.0, "{two:?}");
        let five = median(&sample(&[1.0, 2.0, 3.0, 4.0, 5.0])).unwrap();
        assert!(five.ci_low <= 1.0 && five.ci_high >= 5.0, "{five:?}");
        let six = median(&sample(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).unwrap();
        assert!(six.ci_low >= 1.0 && six.ci_high <= 6.0, "{six:?}");
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        // Exponential noise, whose median is ln 2: a small part of what examples/coverage.rs does at length.
        let mut state = 1u64;
        let mut exponential = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            -(((state >> 11) + 1) as f64 / (1u64 << 53) as f64).ln()
        };
        for rounds in [5, 6, 8, 10, 20] {
            let mut holds = || {
                let noise: Vec<f64> = (0..rounds).map(|_| exponential()).collect();
                let interval = median(&sample(&noise)).unwrap();
                interval.ci_low <= 2f64.ln() && 2f64.ln() <= interval.ci_high
            };
            let hits = (0..2000).filter(|_| holds()).count();
            assert!((1860..1980).contains(&hits), "{hits} of 2000 at {rounds} rounds");
        }
    }

    #[test]
    fn one_pass_that_took_very_long_does_not_move_the_estimate() {
        let quiet: Vec<f64> = (0..20).map(f64::from).collect();
        let mut disturbed = quiet.clone();
        disturbed[19] = 1e6;
        let (quiet, disturbed) = (median(&sample(&quiet)).unwrap(), median(&sample(&disturbed)).unwrap());
        assert_eq!(disturbed, quiet);
    }
}
