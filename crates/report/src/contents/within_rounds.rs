//! Ratios beside times that contradict them. A ratio is a median over rounds of ratios within a round; times are medians over
//! all rounds, which a machine that changes meanwhile moves apart.

use schema::findings::Estimate;

/// Of a table with both times.
pub(crate) const NOTE: &str = "its time and the baseline's are those over all rounds; the ratio is that within rounds";

/// How far apart the two may lie before a reader who divides is puzzled.
const APART: f64 = 1.03;

/// What to add to a sentence with both times, where they divided are another number than the ratio.
pub(crate) fn beside_times(own: Option<f64>, baseline: Option<f64>, ratio: Option<Estimate>) -> String {
    match own.zip(baseline).zip(ratio) {
        Some(((own, baseline), ratio)) if contradict(own, baseline, ratio) => {
            let divided = (baseline / own).max(own / baseline);
            format!(" (medians of all runs, {divided:.2}x apart; the ratio is that of runs side by side)")
        }
        _ => String::new(),
    }
}

/// Whether the two times divided are seen to be another number than the ratio, or lie outside its interval.
pub(crate) fn contradict(own: f64, baseline: f64, ratio: Estimate) -> bool {
    let divided = baseline / own;
    let is_near = (1.0 / APART..=APART).contains(&(divided / ratio.median));
    !is_near || !(ratio.ci_low..=ratio.ci_high).contains(&divided)
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
        let wide = Estimate { median: 1.62, ci_low: 1.4, ci_high: 1.8 };
        assert!(contradict(700e6, 1.09e9, wide), "1.56x by the times");
    }
}
