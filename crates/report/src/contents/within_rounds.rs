//! Ratios beside times that contradict them. A ratio is a median over rounds of ratios within a round; times are medians over
//! all rounds, which a machine that changes meanwhile moves apart.

use schema::findings::Estimate;

/// Of a table with both times.
pub(crate) const NOTE: &str = "its time and the baseline's are those over all rounds; the ratio is that within rounds";

/// What to add to a sentence with both times, where they divided lie outside the ratio's interval.
pub(crate) fn beside_times(own: Option<f64>, baseline: Option<f64>, ratio: Option<Estimate>) -> &'static str {
    match own.zip(baseline).zip(ratio) {
        Some(((own, baseline), ratio)) if contradict(own, baseline, ratio) => {
            " over all rounds; the ratio is that within rounds"
        }
        _ => "",
    }
}

/// Whether the two times divided lie outside the ratio's interval.
pub(crate) fn contradict(own: f64, baseline: f64, ratio: Estimate) -> bool {
    !(ratio.ci_low..=ratio.ci_high).contains(&(baseline / own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_contradict_the_ratio_are_said_to_be_of_all_rounds() {
        let ratio = Some(Estimate { median: 1.06, ci_low: 1.03, ci_high: 1.09 });
        let said = |own: f64, baseline: f64| !beside_times(Some(own), Some(baseline), ratio).is_empty();
        assert!(said(231e6, 282e6), "1.22x as fast by the times");
        assert!(!said(231e6, 245e6));
        assert!(said(282e6, 231e6), "slower by the times");
    }
}
