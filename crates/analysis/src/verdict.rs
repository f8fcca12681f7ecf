//! The rule by which everything is judged.

use schema::{
    findings::{Estimate, Verdict},
    reason::Reason,
};

pub(crate) use schema::findings::MARGIN;

/// With fewer rounds nothing is decided: four of four rounds go the same way by chance once in eight times.
pub(crate) const LEAST_PAIRS: u32 = 5;

/// Why an interval decides nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Open {
    TooFewRounds {
        rounds: u32,
    },
    /// The interval crosses an edge of the margin.
    Across {
        ci_low: f64,
        ci_high: f64,
        rounds: u32,
    },
}

impl Open {
    pub(crate) fn reason(self) -> Reason {
        match self {
            Open::TooFewRounds { rounds } => Reason::TooFewRounds { rounds, least: LEAST_PAIRS },
            Open::Across { ci_low, ci_high, .. } => {
                Reason::AcrossTheMargin { ci_low, ci_high, margin: MARGIN, more_than: None }
            }
        }
    }

    /// With what would decide it.
    pub(crate) fn with_advice(self) -> Reason {
        match self {
            Open::TooFewRounds { .. } => self.reason(),
            Open::Across { ci_low, ci_high, rounds } => {
                Reason::AcrossTheMargin { ci_low, ci_high, margin: MARGIN, more_than: Some(rounds) }
            }
        }
    }
}

/// With a margin of 5 % on the ratio scale, which is the same both ways: the whole interval above 1.05 is `faster`, below
/// 1/1.05 `slower`, within both (edges included) `same`.
///
/// # Errors
/// Nothing is decided by an interval that crosses an edge, nor by fewer than five rounds.
pub(crate) fn verdict(speedup: Option<Estimate>, rounds: u32) -> Result<Verdict, Open> {
    let (slower_edge, faster_edge) = (1.0 / (1.0 + MARGIN), 1.0 + MARGIN);
    match speedup.filter(|_| rounds >= LEAST_PAIRS) {
        None => Err(Open::TooFewRounds { rounds }),
        Some(Estimate { ci_low, .. }) if ci_low > faster_edge => Ok(Verdict::Faster),
        Some(Estimate { ci_high, .. }) if ci_high < slower_edge => Ok(Verdict::Slower),
        Some(Estimate { ci_low, ci_high, .. }) if ci_low >= slower_edge && ci_high <= faster_edge => Ok(Verdict::Same),
        Some(Estimate { ci_low, ci_high, .. }) => Err(Open::Across { ci_low, ci_high, rounds }),
    }
}

/// Faster (1), slower (-1) or neither, by the margin: of a single ratio, without its interval.
pub(crate) fn side(speedup: f64) -> i8 {
    let margin = 1.0 + MARGIN;
    i8::from(speedup > margin) - i8::from(speedup < 1.0 / margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(low: f64, high: f64) -> Verdict {
        let speedup = Estimate { median: (low * high).sqrt(), ci_low: low, ci_high: high };
        verdict(Some(speedup), 5).unwrap_or(Verdict::Undecided)
    }

    #[test]
    fn the_verdict_changes_exactly_at_the_margin() {
        assert_eq!(check(1.0501, 1.20), Verdict::Faster);
        assert_eq!(check(1.05, 1.20), Verdict::Undecided);
        assert_eq!(check(0.80, 0.9523), Verdict::Slower);
        assert_eq!(check(0.80, 1.0 / 1.05), Verdict::Undecided);
        assert_eq!(check(1.0 / 1.05, 1.05), Verdict::Same);
        assert_eq!(check(0.9523, 1.05), Verdict::Undecided);
        assert_eq!(check(1.0 / 1.05, 1.0501), Verdict::Undecided);
        assert_eq!(check(0.5, 2.0), Verdict::Undecided);
    }

    #[test]
    fn four_rounds_decide_nothing_and_five_may() {
        let clear = Some(Estimate { median: 2.0, ci_low: 1.9, ci_high: 2.1 });
        assert_eq!(verdict(clear, 5), Ok(Verdict::Faster));
        assert_eq!(verdict(clear, 4), Err(Open::TooFewRounds { rounds: 4 }));
        assert_eq!(verdict(None, 1), Err(Open::TooFewRounds { rounds: 1 }));
    }

    #[test]
    fn an_interval_across_an_edge_says_so_and_what_would_help() {
        let open = verdict(Some(Estimate { median: 1.04, ci_low: 1.01, ci_high: 1.09 }), 8).unwrap_err();
        assert_eq!(open, Open::Across { ci_low: 1.01, ci_high: 1.09, rounds: 8 });
        let more_than = |more_than| Reason::AcrossTheMargin { ci_low: 1.01, ci_high: 1.09, margin: MARGIN, more_than };
        assert_eq!((open.reason(), open.with_advice()), (more_than(None), more_than(Some(8))));
    }
}
