//! What a claim asks, under which conditions, and the result in each.

use schema::{
    CellId, Condition, Fill, Labels,
    conclusion::Conclusion,
    experiment::{Claim, Compare, Expect, Metric, Variant, Where},
    fields::{self, Role},
    findings::{AnswerOf, ClaimVerdict, Comparison, Confirmed, Estimate, Verdict},
    reason::{NotInRun, Reason},
    replaced::replaced,
};

use super::{DECIDED, judge::judge};
use crate::{
    cells::{
        beats, forks,
        metric::{self, MetricResult},
    },
    compare::{compare, confirm, equal_work, noise, throttle},
    measured::{Cell, Run},
    rate,
    stats::ratio_of_medians,
    verdict::{LEAST_PAIRS, Open, side, verdict},
};

/// A claim whose words were found in the experiment.
pub(super) struct Question<'a> {
    pub(super) claim: &'a Claim,
    pub(super) expect: Expect,
    /// Arm names.
    pub(super) arm: &'a str,
    pub(super) than: Option<&'a str>,
}

/// A condition that a claim is asked under, and the one that it is held against where the claim is about conditions.
pub(super) struct AskedCondition<'a, 'r> {
    pub(super) variant: Option<Variant>,
    pub(super) here: Side<'a, 'r>,
    pub(super) there: Option<Side<'a, 'r>>,
}

impl<'a, 'r> AskedCondition<'a, 'r> {
    /// Of the first side.
    pub(super) fn fill(&self) -> Option<Fill> {
        self.here.arm.condition.fill()
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &'r Cell<'a>> {
        [Some(self.here), self.there].into_iter().flatten().flat_map(Side::cells)
    }

    /// The two cells of each side that are held against each other, where both have passes.
    pub(super) fn pairs(&self) -> Vec<[usize; 2]> {
        let sides = [Some(self.here), self.there].into_iter().flatten();
        let measured = sides.filter(|it| it.cells().all(|cell| !cell.passes.is_empty()));
        measured.filter_map(|it| Some([it.than?.id.cell, it.arm.id.cell])).collect()
    }
}

/// The cells of a claim under one condition.
#[derive(Clone, Copy)]
pub(super) struct Side<'a, 'r> {
    condition: usize,
    arm: &'r Cell<'a>,
    than: Option<&'r Cell<'a>>,
}

impl<'a, 'r> Side<'a, 'r> {
    fn cells(self) -> impl Iterator<Item = &'r Cell<'a>> {
        [Some(self.arm), self.than].into_iter().flatten()
    }

    fn unequal(self, run: &Run) -> Option<Reason> {
        let than = self.than?;
        let work = equal_work::check(run, than, self.arm, &than.pairs(self.arm));
        (!work.unequal.is_empty()).then(|| equal_work::reason(run, than, self.arm, work.unequal))
    }
}

/// The result in one condition.
pub(super) struct ClaimOutcome<'a> {
    pub(super) id: CellId,
    pub(super) than_cell: Option<usize>,
    pub(super) against_cell: Option<usize>,
    pub(super) condition: &'a Condition,
    pub(super) label: String,
    /// What of it distinguishes it from the others that the claim is decided by.
    pub(super) brief: String,
    pub(super) variant: Option<Variant>,
    pub(super) decides: bool,
    /// What the arms are called in sentences.
    pub(super) arm: &'a str,
    pub(super) than: Option<&'a str>,
    pub(super) estimate: Option<Estimate>,
    pub(super) rounds: u32,
    /// What the comparison of the two says after it was measured again, where the claim is about their times.
    pub(super) answer_of: AnswerOf,
    pub(super) verdict: ClaimVerdict,
    /// It has no passes, and time is all that was lacking: another run may test it here.
    pub(super) only_unmeasured: bool,
    /// Options measure something else here than the claim asks.
    pub(super) is_replaced: bool,
    /// Why it is undecided or not testable.
    pub(super) why: Option<Reason>,
    /// What to know of the estimate.
    pub(super) remark: Option<Reason>,
}

impl ClaimOutcome<'_> {
    /// It is decided by rounds that the passes at the size of the job were to confirm, and did not.
    pub(super) fn is_unconfirmed(&self) -> bool {
        self.answer_of.is_unconfirmed(self.verdict.is_decided())
    }
}

impl<'a> Question<'a> {
    pub(super) fn of(run: &Run<'a>, claim: &'a Claim) -> Result<Question<'a>, NotInRun> {
        let name = |written: &str| {
            let found = run.record.experiment.arm_name(written);
            found.ok_or_else(|| NotInRun::Arm { arm: written.into() })
        };
        let (Some(arm), Some(expect)) = (&claim.arm, claim.expect) else {
            return Err(NotInRun::NoExpectation);
        };
        let than = match (expect, &claim.than) {
            (Expect::AtMost(_) | Expect::AtLeast(_), _) => None,
            (_, Some(than)) => Some(name(than)?),
            (_, None) if claim.is_across() => None,
            (_, None) => return Err(NotInRun::NoOtherArm),
        };
        Ok(Question { claim, expect, arm: name(arm)?, than })
    }

    pub(super) fn asked<'r>(&self, run: &'r Run<'a>) -> Vec<AskedCondition<'a, 'r>> {
        let mut sides = self.claim.selections().map(|(compare, only)| self.selected(run, compare, only));
        let (here, there) = (sides.next().unwrap_or_default(), sides.next());
        match there {
            None => here.into_iter().map(|(variant, here)| AskedCondition { variant, here, there: None }).collect(),
            Some(there) => self.held_against(run, &here, &there),
        }
    }

    /// The conditions that are held against each other. Of pairs that ask the same, only those of one size, as far as sizes
    /// were written down: others visit more of the file, or the same places more often. Where there is none of one size, the
    /// claim is about conditions of unlike sizes.
    fn held_against<'r>(
        &self,
        run: &Run<'a>,
        here: &[(Option<Variant>, Side<'a, 'r>)],
        there: &[(Option<Variant>, Side<'a, 'r>)],
    ) -> Vec<AskedCondition<'a, 'r>> {
        let mut pairs: Vec<(Option<Variant>, [Side<'a, 'r>; 2], usize)> = Vec::new();
        for &(variant, here) in here {
            let all = there.iter().filter(|it| it.0 == variant && self.differ_as_asked(here, it.1));
            pairs.extend(all.map(|&(_, there)| {
                let sizes = sizes_apart(run, here.condition, there.condition);
                (variant, [here, there], sizes.into_iter().filter(|name| !self.names(name)).count())
            }));
        }
        let asks_the_same = |one: &[Side; 2], other: &[Side; 2]| {
            let mut sides = one.iter().zip(other);
            sides.all(|(one, other)| fields::agree(Role::Asked, one.arm.condition, other.arm.condition))
        };
        let is_closest = |(variant, sides, apart): &(Option<Variant>, [Side; 2], usize)| {
            let mut closer = pairs.iter().filter(|(of, _, closer)| of == variant && closer < apart);
            !closer.any(|(_, other, _)| asks_the_same(sides, other))
        };
        let closest = pairs.iter().filter(|it| is_closest(it));
        closest.map(|&(variant, [here, there], _)| AskedCondition { variant, here, there: Some(there) }).collect()
    }

    /// Whether it selects by this field.
    fn names(&self, field: &str) -> bool {
        self.claim.selections().any(|(_, only)| only.fields().any(|it| it == field))
    }

    fn selected<'r>(
        &self,
        run: &'r Run<'a>,
        compare: Option<&str>,
        only: &Where,
    ) -> Vec<(Option<Variant>, Side<'a, 'r>)> {
        let conditions = run.record.conditions.iter().enumerate();
        let selected = conditions.filter_map(|(condition, it)| {
            let origin = run.origin(condition);
            let named = match compare {
                Some(name) => origin?.name.as_deref() == Some(name),
                None => true,
            };
            if !named || !only.selects(origin, it) {
                return None;
            }
            let cell = |arm: &str| cell_of(run, condition, origin, arm);
            let than = match self.than {
                Some(than) => Some(cell(than)?),
                None => None,
            };
            Some((origin.and_then(|it| it.variant), Side { condition, arm: cell(self.arm)?, than }))
        });
        selected.collect()
    }

    /// Whether two conditions differ in what the claim names, and in nothing else that is asked. A field that only one of
    /// them has, as a fill of the page cache, follows from what is named.
    fn differ_as_asked(&self, here: Side, there: Side) -> bool {
        let (ours, theirs) = (here.arm.condition, there.arm.condition);
        let mut differ = fields::differences(Role::Asked, ours, theirs);
        differ.retain(|(field, ..)| (field.of)(ours) && (field.of)(theirs));
        here.condition != there.condition && differ.iter().all(|(field, ..)| self.names(field.name))
    }

    /// What options measured under its conditions instead of what the claim is asked under.
    pub(super) fn replaced(&self, run: &Run, asked: &AskedCondition) -> Option<NotInRun> {
        let arms: Vec<&str> = [Some(self.arm), self.than].into_iter().flatten().collect();
        let sides = [Some(asked.here), asked.there].into_iter().flatten();
        let mut values = sides.zip(self.claim.selections()).map(|(side, (compare, _))| {
            let origin = run.origin(side.condition);
            replaced(&run.record.experiment, compare, &arms, origin, &run.record.conditions[side.condition])
        });
        values.find(|it| !it.is_empty()).map(|values| NotInRun::Replaced { values })
    }

    pub(super) fn never_asked(&self, run: &Run) -> NotInRun {
        let rounded = |only: &Where| run.record.conditions.iter().find_map(|it| only.rounded(it));
        let rounded = self.claim.selections().find_map(|(_, only)| rounded(only));
        if let Some((saved, exact)) = rounded {
            return NotInRun::Rounded { saved_bytes: saved.0, exact_bytes: exact.0 };
        }
        let arms = [&self.claim.arm, &self.claim.than].into_iter().flatten().cloned().collect();
        match self.claim.is_across() {
            true => NotInRun::NoPair { arms },
            false => NotInRun::NoConditionWith { compare: self.claim.compare.clone(), arms },
        }
    }

    pub(super) fn outcome(&self, run: &Run<'a>, asked: &AskedCondition<'a, '_>, decides: bool) -> ClaimOutcome<'a> {
        let AskedCondition { here, there, .. } = *asked;
        let mut outcome = ClaimOutcome {
            id: here.arm.id,
            than_cell: here.than.map(|it| it.id.cell),
            against_cell: there.map(|it| it.arm.id.cell),
            condition: here.arm.condition,
            label: label(run, asked),
            brief: String::new(),
            variant: asked.variant,
            decides,
            arm: run.name(here.arm.arm()),
            than: here.than.map(|than| run.name(than.arm())),
            estimate: None,
            rounds: 0,
            answer_of: AnswerOf::Rounds,
            verdict: ClaimVerdict::NotTestableHere,
            only_unmeasured: false,
            is_replaced: false,
            why: None,
            remark: None,
        };
        if let Some(why) = self.replaced(run, asked) {
            (outcome.is_replaced, outcome.why) = (true, Some(why.into()));
            return outcome;
        }
        for side in [Some(here), there].into_iter().flatten() {
            let without: Vec<&Cell> = side.cells().filter(|cell| cell.passes.is_empty()).collect();
            if let Some(cell) = without.first() {
                let reason = metric::untestable(run, cell).unwrap_or_default();
                // A reason of the arm's own needs its name; one of the condition is the same for all.
                let one_of_two = side.than.is_some() && without.len() == 1;
                outcome.only_unmeasured = without.iter().all(|cell| cell.lacked_time());
                outcome.why = Some(if one_of_two { reason.of(run.name(cell.arm())) } else { reason });
                return outcome;
            }
        }
        let MetricResult { estimate, rounds, remark, unseen } = match there {
            Some(there) => self.across(run, [here, there], &self.compared(run, [here, there])),
            None => match here.than {
                Some(than) => metric::times_lower(run, self.claim.metric, than, here.arm),
                None => metric::of_arm(run, self.claim.metric, here.arm),
            },
        };
        if unseen {
            outcome.why = remark;
            return outcome;
        }
        outcome.verdict = ClaimVerdict::Undecided;
        outcome.rounds = rounds;
        let unequal = || [Some(here), there].into_iter().flatten().find_map(|it| it.unequal(run));
        if let Some(unequal) = decides.then(unequal).flatten() {
            // What was published is printed all the same; other ratios of unequal work are no numbers.
            outcome.estimate = estimate.filter(|_| asked.variant == Some(Variant::AsPublished));
            outcome.why = Some(unequal);
            return outcome;
        }
        let Some(estimate) = estimate else {
            outcome.why = match rounds {
                1..LEAST_PAIRS => Some(Open::TooFewRounds { rounds }.reason()),
                _ => remark,
            };
            return outcome;
        };
        if let Some(there) = there {
            let (answer_of, decided) = self.decide_across(run, [here, there], estimate, rounds);
            let (verdict, why) = self.unless_busy(run, &[here, there], decided);
            return ClaimOutcome { estimate: Some(estimate), rounds, answer_of, verdict, why, remark, ..outcome };
        }
        // Comparisons are of two arms under one condition.
        let compared = here.than.filter(|_| self.claim.metric == Metric::Time);
        let described = compared.map(|than| compare(run, than, here.arm));
        let answer_of = described.as_ref().map_or(AnswerOf::Rounds, |it| it.answer_of);
        let (estimate, rounds) = match described.as_ref().map(|it| (it.answer_of, it.speedup, &it.confirmed)) {
            Some((AnswerOf::Job, Some(speedup), Some(job))) => (speedup, job.pairs),
            _ => (estimate, rounds),
        };
        let (verdict, why) = match &described {
            Some(described) if answer_of == AnswerOf::Neither => (ClaimVerdict::Undecided, described.reason.clone()),
            _ => judge(self.expect, estimate, rounds),
        };
        let (verdict, why) = match self.may_turn_by_unreached(run, here, None, estimate, rounds, verdict) {
            Some(why) => (ClaimVerdict::Undecided, Some(why)),
            None => (verdict, why),
        };
        let (verdict, why) = match self.depends_on_fork(run, here, None).filter(|_| DECIDED.contains(&verdict)) {
            Some(why) => (ClaimVerdict::Undecided, Some(why)),
            None => (verdict, why),
        };
        // What the comparison of the two leaves open, because the same arm measured twice differs by as much, no claim
        // decides. A share of a ceiling is of their times, too.
        let by_share = here.than.filter(|_| self.claim.metric == Metric::CeilingShare);
        let described = described.or_else(|| by_share.map(|than| compare(run, than, here.arm)));
        let (verdict, why) = match described.filter(|it| it.verdict == Verdict::Undecided && DECIDED.contains(&verdict))
        {
            Some(described) => (ClaimVerdict::Undecided, described.reason),
            None => (verdict, why),
        };
        // A comparison has looked whether its passes are too small for the whole file; other metrics look here.
        let too_small = || here.cells().find_map(|cell| confirm::too_small(run.record, cell.id.cell, 0));
        // And whether a throttle decided: the time of an arm alone is longer without what came free.
        let came_free = || {
            let is_of_one = here.than.is_none() && self.claim.metric == Metric::Time;
            let rates = [rate::of_rounds(run, here.arm).filter(|_| is_of_one), None];
            let (by, why) = throttle::held_to(run, [here.arm; 2], rates)?;
            (judge(self.expect, throttle::scaled(estimate, by), rounds).0 != verdict).then_some(why)
        };
        let is_alone = compared.is_none() && DECIDED.contains(&verdict);
        let (verdict, why) = match is_alone.then(|| came_free().or_else(too_small)).flatten() {
            Some(why) => (ClaimVerdict::Undecided, Some(why)),
            None => (verdict, why),
        };
        let of_part = || {
            let is_asked =
                here.than.is_some() && metric::is_part_of_time(self.claim.metric) && DECIDED.contains(&verdict);
            is_asked.then(|| self.is_noise(run, estimate, rounds, &[here])).flatten()
        };
        let of_few_blocks = || self.of_few_blocks(run, here, Some(estimate)).filter(|_| DECIDED.contains(&verdict));
        let decided = match of_part().or_else(of_few_blocks) {
            Some(why) => (ClaimVerdict::Undecided, Some(why)),
            None => (verdict, why),
        };
        let (verdict, why) = self.unless_busy(run, &[here], decided);
        ClaimOutcome { estimate: Some(estimate), rounds, answer_of, verdict, why, remark, ..outcome }
    }

    /// That passes are a part of the job, where what is claimed depends on that. Those at the size of the job have times only: they say
    /// nothing of processor time and of parts of the time. `by`: how many times less the arm takes, of a claim under one condition.
    fn of_few_blocks(&self, run: &Run, side: Side, by: Option<Estimate>) -> Option<Reason> {
        let metric = self.claim.metric;
        let is_of_rounds_alone = metric == Metric::Cpu || metric::is_part_of_time(metric) || metric.is_part_of_cpu();
        if !is_of_rounds_alone && metric != Metric::Time {
            return None;
        }
        match side.than {
            Some(than) if is_of_rounds_alone => confirm::part_of_rounds(run, [than, side.arm], by),
            Some(than) => compare(run, than, side.arm).reason.filter(|it| matches!(it, Reason::FewBlocks { .. })),
            None => confirm::part_of_job_alone(run, side.arm),
        }
    }

    /// What was decided of threads that stop, unless other work of the machine may have stopped them.
    fn unless_busy(
        &self,
        run: &Run,
        sides: &[Side],
        decided: (ClaimVerdict, Option<Reason>),
    ) -> (ClaimVerdict, Option<Reason>) {
        // Without other work they would stop less.
        let is_bound = matches!(
            (decided.0, self.expect),
            (ClaimVerdict::Holds, Expect::AtMost(_)) | (ClaimVerdict::Reversed, Expect::AtLeast(_))
        );
        if is_bound || !self.claim.metric.is_of_beats() || !DECIDED.contains(&decided.0) {
            return decided;
        }
        match sides.iter().flat_map(|it| it.cells()).find_map(|it| beats::busy(run, it)) {
            Some(share) => (ClaimVerdict::Undecided, Some(Reason::OtherWork { share })),
            None => decided,
        }
    }

    /// Of pages for each fault it is known how many were reached, and each page of the range is mapped once at most. What is claimed
    /// of what a fault maps is decided where both ends say the same.
    fn may_turn_by_unreached(
        &self,
        run: &Run,
        here: Side,
        there: Option<Side>,
        estimate: Estimate,
        rounds: u32,
        verdict: ClaimVerdict,
    ) -> Option<Reason> {
        if self.claim.metric != Metric::PagesPerFault || !DECIDED.contains(&verdict) {
            return None;
        }
        let times = |cell: &Cell| {
            let all = cell.own.range.bytes.div_ceil(run.page_bytes()) as f64;
            Some((all / cell.distinct_pages()?).max(1.0))
        };
        let scaled = |times: f64| {
            let Estimate { median, ci_low, ci_high } = estimate;
            Estimate { median: median * times, ci_low: ci_low * times, ci_high: ci_high * times }
        };
        // A ratio may be off to both sides.
        let is_ratio = there.is_some() || here.than.is_some();
        let all: f64 = [Some(here), there].into_iter().flatten().flat_map(Side::cells).filter_map(times).product();
        let ends = if is_ratio { [1.0 / all, all] } else { [1.0, all] };
        let most = scaled(ends[1]).median;
        let turns = ends.into_iter().any(|end| judge(self.expect, scaled(end), rounds).0 != verdict);
        turns.then(|| Conclusion::MapsUnreached { at_most: most, is_ratio }.into())
    }

    /// The verdict from two conditions: what leaves open a comparison under one of them leaves open their ratio.
    fn decide_across(
        &self,
        run: &Run,
        sides: [Side; 2],
        estimate: Estimate,
        rounds: u32,
    ) -> (AnswerOf, (ClaimVerdict, Option<Reason>)) {
        let [here, there] = sides;
        let compared = self.compared(run, sides);
        let is_unconfirmed = |it: &Comparison| it.answer_of == AnswerOf::RoundsUnconfirmed;
        let answer_of = match of_jobs(&compared) {
            Some(_) => AnswerOf::Job,
            None if compared.iter().flatten().any(is_unconfirmed) => AnswerOf::RoundsUnconfirmed,
            None => AnswerOf::Rounds,
        };
        let decided = judge(self.expect, estimate, rounds);
        if !DECIDED.contains(&decided.0) {
            return (answer_of, decided);
        }
        if let Some(why) = self.may_turn_by_unreached(run, here, Some(there), estimate, rounds, decided.0) {
            return (answer_of, (ClaimVerdict::Undecided, Some(why)));
        }
        let contradicted = || {
            let of = |answer_of| compared.iter().flatten().find(|it| it.answer_of == answer_of);
            let neither = of(AnswerOf::Neither).map(|it| it.reason.clone().unwrap_or_default());
            let of_both_jobs = || {
                let jobs = both_jobs(&compared).filter(|_| answer_of == AnswerOf::Rounds)?;
                let job = ratio(here, &jobs.map(|it| Some(it.speedup)))?;
                let says = judge(self.expect, job, jobs.iter().map(|it| it.pairs).min()?).0;
                (DECIDED.contains(&says) && says != decided.0).then_some(Reason::JobsDoubt { job })
            };
            let of_one_job = || {
                let of_job = of(AnswerOf::Job).filter(|_| answer_of != AnswerOf::Job)?;
                Some(Reason::JobOfOneCondition { label: run.labels.label(of_job.id.condition.condition_index) })
            };
            neither.or_else(of_one_job).or_else(of_both_jobs)
        };
        let too_small = || {
            sides.iter().zip(&compared).find_map(|(side, compared)| {
                let job = compared.as_ref().filter(|it| it.answer_of.is_confirmed());
                let covered = job.and_then(|it| it.confirmed.as_ref()).map_or(0, |it| it.bytes);
                side.cells().find_map(|cell| confirm::too_small(run.record, cell.id.cell, covered))
            })
        };
        let few_blocks = || sides.iter().find_map(|it| self.of_few_blocks(run, *it, None));
        let is_noise = || self.is_noise(run, estimate, rounds, &sides);
        let forks = || self.depends_on_fork(run, here, Some((there, estimate.median)));
        let came_free = || {
            let of_passes = match answer_of {
                AnswerOf::Job => throttle::reason_of,
                _ => throttle::reason_of_rounds,
            };
            let of_one = compared.iter().flatten().find_map(of_passes);
            of_one.cloned().or_else(|| {
                let cells = [there.arm, here.arm];
                let alone = || throttle::held_to(run, cells, cells.map(|it| rate::of_rounds(run, it)));
                let (by, why) = here.than.is_none().then(alone).flatten()?;
                (judge(self.expect, throttle::scaled(estimate, by), rounds).0 != decided.0).then_some(why)
            })
        };
        let of_passes = match self.claim.metric {
            Metric::Time => contradicted().or_else(came_free).or_else(too_small).or_else(forks).or_else(is_noise),
            // They are of their times.
            it if it == Metric::CeilingShare || metric::is_part_of_time(it) => {
                too_small().or_else(forks).or_else(is_noise)
            }
            _ => too_small().or_else(forks),
        };
        match of_passes.or_else(few_blocks) {
            Some(why) => (
                if contradicted().is_some() { AnswerOf::Neither } else { answer_of },
                (ClaimVerdict::Undecided, Some(why)),
            ),
            None => (answer_of, decided),
        }
    }

    /// Why a ratio of two arms, or of two conditions, is undecided, where one arm measured twice under each of them differs by as
    /// much. Two conditions that are independent of each other differ by the root of the sum of squares.
    fn is_noise(&self, run: &Run, estimate: Estimate, rounds: u32, sides: &[Side]) -> Option<Reason> {
        let conditions: Vec<&Condition> = sides.iter().map(|side| side.than.unwrap_or(side.arm).own).collect();
        let widths = conditions.iter().filter_map(|it| noise::width_under(run, it));
        let width = widths.map(f64::ln_1p).fold(0.0, f64::hypot).exp_m1();
        let is_direction = matches!(self.expect, Expect::Lower | Expect::Higher | Expect::Same);
        let is_within = match verdict(Some(estimate), rounds) {
            Ok(Verdict::Faster) => estimate.ci_low <= 1.0 + width,
            Ok(Verdict::Slower) => estimate.ci_high >= 1.0 / (1.0 + width),
            _ => false,
        };
        (is_direction && is_within).then(|| noise::is_within(run, true, estimate, &conditions, width))
    }

    /// Of each condition the comparison of the two arms, where the claim is about their times.
    fn compared(&self, run: &Run, sides: [Side; 2]) -> [Option<Comparison>; 2] {
        let is_time = self.claim.metric == Metric::Time;
        sides.map(|side| side.than.filter(|_| is_time).map(|than| compare(run, than, side.arm)))
    }

    /// How many times lower the arm's metric is here than there: per byte, or relative to the other arm's. The rounds of two
    /// conditions are not paired: they may come from two stages of the run.
    fn across(&self, run: &Run, sides: [Side; 2], compared: &[Option<Comparison>; 2]) -> MetricResult {
        let metric = self.claim.metric;
        let of_rounds = |side: Side| match side.than {
            Some(than) => metric::times_lower(run, metric, than, side.arm),
            None => metric::per_byte(run, metric, side.arm),
        };
        let of_job = |job: &Confirmed| {
            let (estimate, rounds) = (Some(job.speedup), job.pairs);
            MetricResult { estimate, rounds, remark: None, unseen: false }
        };
        let [here, _] = sides;
        let is_nothing = |it: &MetricResult| it.estimate.is_none_or(|it| it.median <= 0.0);
        let [ours, theirs] = of_jobs(compared).map_or_else(|| sides.map(of_rounds), |jobs| jobs.map(of_job));
        let rounds = ours.rounds.min(theirs.rounds);
        let unseen = ours.unseen || theirs.unseen;
        let estimate = ratio(here, &[ours.estimate, theirs.estimate]);
        let without = [&ours, &theirs].into_iter().find(|it| it.estimate.is_none());
        let remark = match without {
            Some(it) => it.remark.clone(),
            None if estimate.is_none() && [&ours, &theirs].into_iter().any(is_nothing) => {
                Some(Conclusion::NoRatio.into())
            }
            None if estimate.is_none() => Some(Conclusion::ReachesZero.into()),
            None => ours.remark.or(theirs.remark),
        };
        MetricResult { estimate, rounds, remark, unseen }
    }

    /// Why nothing is decided where the forks of a cell fall into two groups: each of them would decide it differently.
    /// The rule of comparisons (`forks::judge`), for every metric that is a time of single passes. With the other condition
    /// of a claim about two goes their ratio.
    fn depends_on_fork(&self, run: &Run, here: Side, there: Option<(Side, f64)>) -> Option<Reason> {
        let whole = there.map(|(_, ratio)| ratio);
        let of_there =
            there.and_then(|(there, ratio)| self.depends_on_fork_of(run, there, Some((ratio, there.than.is_some()))));
        self.depends_on_fork_of(run, here, whole.map(|ratio| (ratio, here.than.is_none()))).or(of_there)
    }

    /// Of one condition; with the ratio to the other one, and whether it is lower where this one's value is higher.
    fn depends_on_fork_of(&self, run: &Run, asked: Side, ratio: Option<(f64, bool)>) -> Option<Reason> {
        let metric = self.claim.metric;
        if !metric::is_time_of_passes(metric) {
            return None;
        }
        asked.cells().find_map(|cell| {
            let split = forks::split(run, cell)?;
            let middle = |counts: &dyn Fn(bool) -> bool| {
                let rounds: Vec<u32> = split.forks.iter().filter(|it| counts(it.slow)).map(|it| it.round).collect();
                metric::middle_of_rounds(metric, asked.than, asked.arm, &rounds)
            };
            let [fast, slow] = [false, true].map(|slow| {
                let of_group = middle(&|it| it == slow)?;
                Some(match ratio {
                    None => of_group,
                    Some((ratio, true)) => ratio * middle(&|_| true)? / of_group,
                    Some((ratio, false)) => ratio * of_group / middle(&|_| true)?,
                })
            });
            let (fast, slow) = (fast?, slow?);
            let lies = |value: f64| match self.expect {
                Expect::AtMost(most) => i8::from(value <= most),
                Expect::AtLeast(least) => i8::from(value >= least),
                Expect::Lower | Expect::Higher | Expect::Same => side(value),
            };
            let is_ratio = asked.than.is_some() || ratio.is_some();
            (lies(fast) != lies(slow)).then(|| {
                let forks_of = run.name(cell.arm()).to_string();
                Conclusion::DependsOnFork { forks_of, fast, slow, metric: (!is_ratio).then_some(metric) }.into()
            })
        })
    }
}

/// The passes at the size of the job, where they took the place of the rounds under one of two conditions and both have
/// some: what passes of two sizes say is not to be divided.
fn of_jobs(compared: &[Option<Comparison>; 2]) -> Option<[&Confirmed; 2]> {
    both_jobs(compared).filter(|_| compared.iter().flatten().any(|it| it.answer_of == AnswerOf::Job))
}

fn both_jobs(compared: &[Option<Comparison>; 2]) -> Option<[&Confirmed; 2]> {
    let [here, there] = compared.each_ref().map(|it| it.as_ref()?.confirmed.as_ref());
    Some([here?, there?])
}

/// How many times lower a metric is here than there: it is known by how many times it is lower than another arm's, or itself.
fn ratio(here: Side, [ours, theirs]: &[Option<Estimate>; 2]) -> Option<Estimate> {
    let (above, below) = if here.than.is_some() { (ours, theirs) } else { (theirs, ours) };
    ratio_of_medians((*above)?, (*below)?)
}

/// The cell of an arm, by its name. What was published is often done by an arm that does something of its own, under a
/// name of its own: there, the one that a figure names beside this arm stands for it, or else the only one with the same
/// method and options.
fn cell_of<'a, 'r>(run: &'r Run<'a>, condition: usize, origin: Option<&Compare>, name: &str) -> Option<&'r Cell<'a>> {
    let entered = || run.of_condition(condition).filter(|cell| !cell.entry.control);
    let by_name = |name: &str| entered().find(|cell| cell.arm().name == name);
    if let Some(cell) = by_name(name) {
        return Some(cell);
    }
    let origin = origin.filter(|it| it.variant == Some(Variant::AsPublished))?;
    let experiment = &run.record.experiment;
    let by_figure = experiment.figures.iter().filter(|it| Some(&it.compare) == origin.name.as_ref()).find_map(|it| {
        let corrected = experiment.arm_name(it.corrected.as_deref()?)?;
        by_name(experiment.arm_name(it.as_published.as_deref()?)?).filter(|_| corrected == name)
    });
    by_figure.or_else(|| {
        let meant = experiment.comparisons.iter().flat_map(|it| &it.arms).find(|it| it.arm.name == name)?;
        let same = |cell: &&Cell| {
            let (a, b) = (cell.arm(), &meant.arm);
            a.runtime == b.runtime && a.method == b.method && a.options == b.options
        };
        entered().find(same).filter(|_| entered().filter(same).count() == 1)
    })
}

/// Among the conditions of its variant: that one is named beside it. Of two, the second by what it differs in.
fn label(run: &Run, asked: &AskedCondition) -> String {
    let variant = |condition: usize| run.origin(condition).and_then(|it| it.variant);
    let label = Labels::of_some(run.record, |it| variant(it) == asked.variant).label(asked.here.condition);
    label + &against(run, asked)
}

/// As short as the conditions of a list can be called in a sentence about it.
pub(super) fn brief(run: &Run, asked: &[&AskedCondition]) -> Vec<String> {
    // Several of a claim across conditions may have one first side.
    let mut conditions: Vec<usize> = asked.iter().map(|it| it.here.condition).collect();
    conditions.dedup();
    // Of one that is held against several, they alone differ.
    if conditions.len() == 1 && asked.len() > 1 {
        return asked.iter().map(|asked| against(run, asked).trim_start().to_string()).collect();
    }
    let apart = fields::apart(&conditions.iter().map(|it| &run.record.conditions[*it]).collect::<Vec<&Condition>>());
    let Some(apart) = apart else { return asked.iter().map(|asked| label(run, asked)).collect() };
    let words =
        |asked: &AskedCondition| conditions.iter().position(|it| *it == asked.here.condition).map(|it| &apart[it]);
    asked.iter().map(|asked| words(asked).cloned().unwrap_or_default() + &against(run, asked)).collect()
}

/// Of two conditions, what the second has otherwise; nothing of one.
fn against(run: &Run, asked: &AskedCondition) -> String {
    let Some(there) = asked.there else { return String::new() };
    let differ = |role, is_told: &dyn Fn(&str) -> bool| -> Vec<String> {
        let differ = fields::differences(role, asked.here.arm.condition, there.arm.condition);
        let told = differ.into_iter().filter(|(field, ..)| is_told(field.name)).map(|(.., theirs)| theirs);
        told.filter(|it| !it.is_empty()).collect()
    };
    let apart = sizes_apart(run, asked.here.condition, there.condition);
    let mut words = vec![differ(Role::Asked, &|_| true).join(" ")];
    words.extend([Role::Size, Role::Subject].into_iter().flat_map(|role| differ(role, &|it| apart.contains(&it))));
    words.retain(|it| !it.is_empty());
    if words.is_empty() {
        words = differ(Role::Size, &|_| true);
    }
    format!(" against {}", words.join(", "))
}

/// The names of the fields in which two conditions are of unlike sizes as they were written down. What the planner chooses
/// is no part of the question.
fn sizes_apart(run: &Run, here: usize, there: usize) -> Vec<&'static str> {
    let written = |condition: usize| {
        let origin = run.origin(condition);
        let size = origin.map(|it| it.size_asked(&run.record.conditions[condition])).unwrap_or_default();
        (size.range, size.ops, origin.and_then(|it| it.memory))
    };
    let (ours, theirs) = (written(here), written(there));
    let apart = [("range", ours.0 != theirs.0), ("ops", ours.1 != theirs.1), ("memory", ours.2 != theirs.2)];
    apart.into_iter().filter(|(_, differ)| *differ).map(|(name, _)| name).collect()
}
