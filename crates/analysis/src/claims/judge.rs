//! The verdict of a claim from one interval.

use schema::{
    conclusion::Conclusion,
    experiment::Expect,
    findings::{ClaimVerdict, Estimate, Verdict},
    reason::Reason,
};

use crate::verdict::{LEAST_PAIRS, MARGIN, Open, verdict};

/// By the whole interval. Ratios by the rule that comparisons are judged by: lower is what is called faster there. A claim
/// that two arms are the same is reversed by a clear difference, whichever way it goes.
pub(super) fn judge(expect: Expect, estimate: Estimate, rounds: u32) -> (ClaimVerdict, Option<Reason>) {
    let of_ratio = match verdict(Some(estimate), rounds) {
        Ok(verdict) => verdict,
        Err(open @ Open::TooFewRounds { .. }) => return (ClaimVerdict::Undecided, Some(open.reason())),
        Err(Open::Across { .. }) => Verdict::Undecided,
    };
    let Estimate { ci_low, ci_high, .. } = estimate;
    let claimed = match (expect, of_ratio) {
        (Expect::Lower, Verdict::Faster) | (Expect::Higher, Verdict::Slower) => ClaimVerdict::Holds,
        (Expect::Lower, Verdict::Slower) | (Expect::Higher, Verdict::Faster) => ClaimVerdict::Reversed,
        (Expect::Lower | Expect::Higher, Verdict::Same) => ClaimVerdict::NoDifference,
        (Expect::Same, Verdict::Same) => ClaimVerdict::Holds,
        (Expect::Same, Verdict::Faster | Verdict::Slower) => ClaimVerdict::Reversed,
        (Expect::AtMost(most), _) if ci_high <= most => ClaimVerdict::Holds,
        (Expect::AtMost(most), _) if ci_low > most => ClaimVerdict::Reversed,
        (Expect::AtLeast(least), _) if ci_low >= least => ClaimVerdict::Holds,
        (Expect::AtLeast(least), _) if ci_high < least => ClaimVerdict::Reversed,
        _ => ClaimVerdict::Undecided,
    };
    let why = (claimed == ClaimVerdict::Undecided).then_some(match expect {
        Expect::AtMost(_) | Expect::AtLeast(_) => Conclusion::ContainsClaimed,
        _ => Conclusion::CrossesMargin { margin: MARGIN },
    });
    (claimed, why.map(Reason::Conclusion))
}

/// What the middle of an interval would say by itself: which way what is open leans.
pub(super) fn leaning(expect: Expect, estimate: Estimate) -> ClaimVerdict {
    let Estimate { median, .. } = estimate;
    judge(expect, Estimate { ci_low: median, ci_high: median, ..estimate }, LEAST_PAIRS).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(ci_low: f64, ci_high: f64) -> Estimate {
        Estimate { median: (ci_low * ci_high).sqrt(), ci_low, ci_high }
    }

    #[test]
    fn verdicts_change_exactly_at_the_margin() {
        use ClaimVerdict::{Holds, NoDifference, Reversed, Undecided};
        let low_edge = 1.0 / 1.05;
        let cases = [
            // interval, lower, higher, same
            ((1.0501, 1.2), Holds, Reversed, Reversed),
            ((1.05, 1.2), Undecided, Undecided, Undecided),
            ((0.8, 0.9523), Reversed, Holds, Reversed),
            ((0.8, low_edge), Undecided, Undecided, Undecided),
            ((low_edge, 1.05), NoDifference, NoDifference, Holds),
            ((low_edge, 1.0501), Undecided, Undecided, Undecided),
            ((0.9523, 1.05), Undecided, Undecided, Undecided),
        ];
        for ((low, high), lower, higher, same) in cases {
            let judged = |expect| judge(expect, estimate(low, high), 5).0;
            let all = [Expect::Lower, Expect::Higher, Expect::Same].map(judged);
            assert_eq!(all, [lower, higher, same], "{low} to {high}");
        }
    }

    #[test]
    fn a_number_is_judged_by_the_side_the_interval_lies_on() {
        use ClaimVerdict::{Holds, Reversed, Undecided};
        let judged = |expect, low, high| judge(expect, estimate(low, high), 5).0;
        let most = Expect::AtMost(1.5);
        assert_eq!(
            [(1.0, 1.5), (1.0, 1.51), (1.5, 1.6), (1.51, 1.6)].map(|(low, high)| judged(most, low, high)),
            [Holds, Undecided, Undecided, Reversed]
        );
        let least = Expect::AtLeast(16.0);
        assert_eq!(
            [(16.0, 17.0), (15.9, 17.0), (15.0, 16.0), (15.0, 15.9)].map(|(low, high)| judged(least, low, high)),
            [Holds, Undecided, Undecided, Reversed]
        );
    }

    #[test]
    fn four_rounds_decide_no_claim() {
        for expect in [Expect::Lower, Expect::Higher, Expect::Same, Expect::AtMost(9.0), Expect::AtLeast(1.0)] {
            let (verdict, why) = judge(expect, estimate(2.0, 2.1), 4);
            assert_eq!(verdict, ClaimVerdict::Undecided);
            assert_eq!(why, Some(Reason::TooFewRounds { rounds: 4, least: 5 }));
        }
    }
}
