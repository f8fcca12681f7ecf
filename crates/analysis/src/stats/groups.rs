//! The ratio of two groups of numbers, each number from a run of its own.

use schema::findings::Estimate;

use super::sums::student;

/// With fewer numbers in a group, their spread is not known well enough to hold anything against it.
pub const LEAST_RUNS: usize = 3;

/// The geometric mean of the first group over that of the second, with the 95 % interval of Student's t for two groups of
/// one variance, on logarithms. What varies from run to run is the noise here, however precise each number is by itself.
/// `None` with fewer than three numbers in a group.
pub fn ratio_of_groups(above: &[f64], below: &[f64]) -> Option<Estimate> {
    let (above, below) = (Logs::of(above)?, Logs::of(below)?);
    let freedom = above.count + below.count - 2.0;
    let variance = (above.squares + below.squares) / freedom;
    let half_width = student(freedom) * (variance * (1.0 / above.count + 1.0 / below.count)).sqrt();
    let log = above.mean - below.mean;
    let estimate = Estimate { median: log.exp(), ci_low: (log - half_width).exp(), ci_high: (log + half_width).exp() };
    [estimate.median, estimate.ci_low, estimate.ci_high]
        .iter()
        .all(|it| it.is_finite() && *it > 0.0)
        .then_some(estimate)
}

struct Logs {
    count: f64,
    mean: f64,
    /// Of the deviations from the mean, summed up.
    squares: f64,
}

impl Logs {
    fn of(values: &[f64]) -> Option<Logs> {
        let count = values.len() as f64;
        let mean = values.iter().map(|it| it.ln()).sum::<f64>() / count;
        let squares = values.iter().map(|it| (it.ln() - mean).powi(2)).sum();
        (values.len() >= LEAST_RUNS && mean.is_finite()).then_some(Logs { count, mean, squares })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students_for_two_groups() {
        // R: t.test(c(1.1, 1.2, 1.3), c(1, 0.9, 1.1), var.equal = TRUE) of these as logarithms: 0.2 ± 0.2267.
        let exp = |values: [f64; 3]| values.map(f64::exp);
        let ratio = ratio_of_groups(&exp([1.1, 1.2, 1.3]), &exp([1.0, 0.9, 1.1])).unwrap();
        assert!((ratio.median.ln() - 0.2).abs() < 1e-9);
        assert!((ratio.ci_low.ln() + 0.0267).abs() < 2e-3 && (ratio.ci_high.ln() - 0.4267).abs() < 2e-3, "{ratio:?}");
    }

    #[test]
    fn fewer_than_three_runs_say_nothing() {
        assert_eq!(ratio_of_groups(&[1.0, 1.0], &[1.0; 3]), None);
        assert_eq!(ratio_of_groups(&[1.0; 3], &[]), None);
        assert_eq!(ratio_of_groups(&[0.0; 3], &[1.0; 3]), None);
    }
}
