//! Values that can be computed with: at least one, all finite, sorted once.

/// What the other functions of this module may take for granted.
#[derive(Debug, Clone, PartialEq)]
pub struct SortedValues {
    sorted: Vec<f64>,
}

impl SortedValues {
    /// `None` when there is no value, or one that is not finite.
    pub fn new(mut values: Vec<f64>) -> Option<SortedValues> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        values.sort_by(f64::total_cmp);
        Some(SortedValues { sorted: values })
    }

    pub fn values(&self) -> &[f64] {
        &self.sorted
    }

    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    pub fn median(&self) -> f64 {
        let middle = self.count() / 2;
        // Halved before they are added: two huge values have a median too.
        if self.count() % 2 == 1 {
            self.sorted[middle]
        } else {
            self.sorted[middle - 1] / 2.0 + self.sorted[middle] / 2.0
        }
    }

    pub fn mean(&self) -> f64 {
        let count = self.count() as f64;
        self.sorted.iter().map(|value| value / count).sum()
    }

    /// By linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996: what R and NumPy do).
    pub fn quantile(&self, share: f64) -> f64 {
        let position = share.clamp(0.0, 1.0) * (self.count() - 1) as f64;
        let below = position.floor() as usize;
        let above = (below + 1).min(self.count() - 1);
        let weight = position - below as f64;
        self.sorted[below] * (1.0 - weight) + self.sorted[above] * weight
    }

    /// With n - 1 in the denominator; 0 for one value.
    pub fn standard_deviation(&self) -> f64 {
        if self.count() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.sorted.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (self.count() - 1) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_nonsense_are_no_sample() {
        assert_eq!(SortedValues::new(vec![]), None);
        assert_eq!(SortedValues::new(vec![1.0, f64::NAN]), None);
        assert_eq!(SortedValues::new(vec![f64::INFINITY]), None);
    }

    #[test]
    fn known_answers() {
        let sample = SortedValues::new(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((sample.median(), sample.mean()), (2.5, 2.5));
        // R: quantile(c(1, 2, 3, 4), c(0.25, 0.975), type = 7) gives 1.750 and 3.925; sd(c(1, 2, 3, 4)) gives 1.290994.
        assert!((sample.quantile(0.25) - 1.75).abs() < 1e-12);
        assert!((sample.quantile(0.975) - 3.925).abs() < 1e-12);
        assert!((sample.standard_deviation() - 1.290_994).abs() < 1e-6);
    }
}
