//! Answers that were measured again at the size of the job, counted by what came of it: the same in every part of a report.

use schema::{
    Findings,
    caution::Caution,
    findings::{AnswerOf, Comparison, Confirmed},
};

use crate::layout::words::counted;

/// How large the passes are that measure an answer again.
const AS_MUCH: &str = "at the size of the job as far as time allowed";

#[derive(Default)]
pub(super) struct MeasuredAgain<'a> {
    /// Those that have a ratio at that size, with it.
    pub(super) with_ratio: Vec<(&'a Comparison, &'a Confirmed)>,
    pub(super) held: usize,
    pub(super) replaced: usize,
    pub(super) open: usize,
    /// Too few pairs, or pairs that decide nothing.
    pub(super) without_answer: usize,
    /// The same, by passes that are a part of the job themselves.
    pub(super) in_part: usize,
    /// Decided otherwise by processes that differ.
    pub(super) left_aside: usize,
}

impl<'a> MeasuredAgain<'a> {
    pub(super) fn of(findings: &'a Findings) -> MeasuredAgain<'a> {
        let mut again = MeasuredAgain::default();
        for it in &findings.comparisons {
            let Some(job) = &it.confirmed else {
                again.without_answer += usize::from(has_failed(it));
                continue;
            };
            again.with_ratio.push((it, job));
            let count = match it.answer_of {
                // What was decided may be no more than noise, or come free of an I/O throttle; then it is open.
                _ if it.was_decided_twice() && it.verdict.is_decided() => &mut again.held,
                AnswerOf::Job if it.verdict.is_decided() => &mut again.replaced,
                AnswerOf::RoundsAndJob | AnswerOf::Job | AnswerOf::Neither => &mut again.open,
                AnswerOf::RoundsUnconfirmed if job.verdict.is_decided() && job.verdict == job.rounds_verdict => {
                    if it.verdict.is_decided() { &mut again.in_part } else { &mut again.open }
                }
                AnswerOf::RoundsUnconfirmed if job.verdict.is_decided() => &mut again.left_aside,
                AnswerOf::RoundsUnconfirmed | AnswerOf::Rounds => &mut again.without_answer,
            };
            *count += 1;
        }
        again
    }

    /// `2 comparisons were measured again, in passes …`; nothing where none was.
    pub(super) fn says(&self) -> Option<String> {
        let all = self.held + self.replaced + self.open + self.without_answer + self.in_part + self.left_aside;
        let verb = if all == 1 { "was" } else { "were" };
        (all > 0).then(|| format!("{} {verb} measured again, {AS_MUCH}", counted(all, "comparison", "comparisons")))
    }

    /// `3 confirmed, 1 now undecided`: what came of them.
    pub(super) fn outcomes(&self) -> String {
        let all = [
            (self.held, "confirmed"),
            (self.replaced, "replaced by the new answer"),
            (self.open, "now undecided"),
            (self.without_answer, "without an answer at that size"),
            (self.in_part, "the same by a larger part of the job, for all of which there was no time"),
            (
                self.left_aside,
                "decided otherwise at that size, which does not count because processes of one arm differ",
            ),
        ];
        let some = all.iter().filter(|it| it.0 > 0);
        some.map(|(count, words)| format!("{count} {words}")).collect::<Vec<_>>().join(", ")
    }
}

/// Of its pairs at the size of the job too few counted, or they did not do the same.
fn has_failed(comparison: &Comparison) -> bool {
    comparison.warnings.iter().any(|it| matches!(it, Caution::JobFailed { .. } | Caution::JobUnequal(_)))
}
