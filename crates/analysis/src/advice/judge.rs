//! From gains to a verdict.

use schema::{
    Arm, Consume, Skip,
    advice::{
        Advice, AdviceCaveat, AdviceCode, AdviceOption, AdviceReason, AdviceVerdict, CheckedBy, Effort, Grade, How,
        Settles, Switched, Unchecked,
    },
    advised::{Pattern, Reach},
    command::Spec,
    experiment::BUDGET_MAX_S,
    findings::{CommandFinding, Comparison, Estimate, Verdict},
    observation::Access,
    reason::Reason,
    record::RoundsEnd,
};

use super::{
    Found, Program, View,
    check::{self, Checked},
    kind,
    rules::{Evidence, RULES, Rule},
};
use crate::{
    cells,
    commands::mechanism,
    compare,
    gains::{Gains, OwnWork, Series},
    measured::Cell,
    verdict::{LEAST_PAIRS, MARGIN},
};

/// The gain of an arm that takes far longer.
const FAR_SLOWER: f64 = 0.8;
/// A program that gains less is not worth changing.
const WORTH: f64 = 1.02;
/// Of the program's time: what is less bounds the gain to next to nothing.
const SMALL_SHARE: f64 = 0.05;
/// A share from which on there is no bound worth saying.
const ALL: f64 = 0.98;
/// Each file opened or mapped more often than that, on average, is opened or mapped again and again.
const AGAIN: u64 = 4;
/// Pages that are touched in a mapping, beside which it costs next to nothing to make it.
const LARGE_MAPPING: u64 = 64;
/// What a call for a page takes in memory, at least about that. So long a program may work with a page that it touches once.
const CALL_NS: f64 = 500.0;
/// One that walks its pages in order looks at all of their bytes, and may take so many times as long as a replay that does: `rg` over
/// large files takes 1.2 times as long, with its start.
const WALK: f64 = 1.5;
/// What a touch of a page takes that is mapped already, at least about that: of 400,000 of 4,000 pages each took 10 to 40 ns.
const TOUCH_NS: f64 = 10.0;
/// What a processor waits for memory that is in none of its caches, with what its TLB lacks.
const MISS_NS: f64 = 100.0;
/// Of each page: more touches are those of several mappings.
const TOUCHED_AGAIN: f64 = 1.5;
/// Processors at work: above, threads or processes work at once; below, the program waits for something else than its pages.
const OVERLAPS: f64 = 1.05;
const WAITS: f64 = 0.85;
/// Of what the program was checked by: a replay that has less may lack much that goes with the accesses.
const MOST_OF_IT: f64 = 0.5;
/// Of the accesses' bytes: what a switch reaches elsewhere.
const MUCH: f64 = 0.1;
/// Reads that find the end of a file, of each opening.
const ENDS: f64 = 2.0;
/// Fewer of the bytes make no difference that is looked for.
const HANDED_ON: f64 = 0.1;
/// Shares in order that are further apart are of other accesses; of so few accesses they say nothing.
const OTHER_ORDER: f64 = 0.3;
const FEW: u64 = 8;
/// A trace that lacks more says nothing.
const LEAST_COVERAGE: f64 = 0.999;

/// A program's own work takes longer after it waited for the device, because caches, TLB and clock went to others meanwhile: so
/// many times its time in memory more, at most, where it waits before each piece of it. Of `sqlite3` it was 1.6 to 1.9 times
/// (docs/ADVISE.md, "What it cannot see"). A replay has no such work.
const SLOWER_AFTER_WAITS: f64 = 2.0;
/// An arm that waits for the device so much more often, as a share of the accesses, has a caveat.
const MORE_WAITS: f64 = 0.1;

/// An arm that was replayed beside the recorded one.
struct Candidate<'a> {
    arm: &'a Arm,
    /// By the replays that speak least for it, unless the program's own switch shows that others are what it does.
    gains: Gains,
    /// What these replays look at.
    consume: Consume,
    /// By those that speak least for it.
    least: Estimate,
    /// By those after which the program may gain most.
    widest: Estimate,
    /// What the accesses alone gain by those that speak most for it.
    quickest: Estimate,
    /// By others it gains.
    elsewhere: bool,
    /// Some replays of it, that look at more or at less, were not measured.
    in_part: bool,
    /// How much more often it waits for the device than what was recorded, as a share of the accesses.
    more_waits: f64,
    code: AdviceCode,
    because: AdviceReason,
    /// The program's own switch that does the same and gains too, and what it gains.
    switch: Option<(String, Estimate)>,
}

impl Candidate<'_> {
    /// What the program gains where its accesses are such a share of its time.
    fn at_share(&self, share: f64) -> Estimate {
        let gain = |io: f64| 1.0 / (1.0 - share + share / io);
        let Estimate { median, ci_low, ci_high } = self.quickest;
        Estimate { median: gain(median), ci_low: gain(ci_low), ci_high: gain(ci_high) }
    }
}

impl Found<'_, '_> {
    /// Its interval lies beyond what one arm measured twice differs by.
    fn is_worth_it(&self, gain: &Estimate) -> bool {
        gain.ci_low > 1.0 + self.noise && gain.median >= WORTH
    }

    fn is_gain(&self, it: &Candidate) -> bool {
        it.gains.rounds >= LEAST_PAIRS && self.is_worth_it(&it.gains.program) && (it.switch.is_some() || !it.in_part)
    }

    fn arm(&self, name: &str) -> Option<&Arm> {
        let view = self.view();
        [view.recorded].iter().chain(&view.arms).map(|it| it.arm()).find(|it| it.name == name)
    }

    /// In memory, arms that differ in read-ahead alone do the same, and noise would choose among them: they count as what was
    /// recorded, or as the plainest that was measured.
    fn counts_as<'b>(&'b self, arm: &'b Arm) -> &'b Arm {
        if self.start.state.waits_for_device() {
            return arm;
        }
        let (view, recorded) = (self.view(), self.recorded());
        let measured = view.arms.iter().filter(|it| !it.passes.is_empty()).map(|it| it.arm());
        let is_alike = |it: &&Arm| kind::is_alike_in_memory(it, arm);
        let plainest = || measured.filter(is_alike).min_by_key(|it| it.options_set());
        Some(recorded).filter(is_alike).or_else(plainest).unwrap_or(arm)
    }

    /// Of those that do the same, the one that counts.
    fn counts(&self, arm: &Arm) -> bool {
        self.counts_as(arm) == arm
    }

    /// What brings more rounds of what was compared, by what ended them.
    fn more_rounds(&self) -> Settles {
        let record = &self.run.record;
        let program = self.program.as_ref().map(|it| it.now.entry.condition);
        let conditions = [Some(self.view().id.condition_index), program];
        let cells = (0..record.cells.len()).filter(|&it| conditions.contains(&Some(record.cells[it].condition)));
        let mut ends = cells.map(|it| record.rounds_end(it));
        match ends.all(|it| it.is_some_and(|it| it != RoundsEnd::Budget)) {
            true => {
                let made = self.view().recorded.passes.iter().map(|it| it.round.saturating_add(1)).max().unwrap_or(0);
                Settles::MoreRounds { made }
            }
            false => Settles::LargerBudget { seconds: self.enough_s() },
        }
    }

    /// The budget that has time for enough rounds: a start has a share of it. Where enough were made, their interval is too wide: it
    /// narrows with the root of their number, so that is twice the budget.
    fn enough_s(&self) -> Option<u32> {
        let made = program_rounds(self)?.min(self.view().recorded.passes.len());
        let times = match made as u32 {
            0 => return None,
            made if made < LEAST_PAIRS => f64::from(LEAST_PAIRS + 1) / f64::from(made),
            _ => 2.0,
        };
        let budget_s = self.run.record.budget_s;
        // In a stranger's record it may be any number.
        let seconds = (budget_s * times / 10.0).ceil() * 10.0;
        (budget_s > 0.0 && seconds <= f64::from(BUDGET_MAX_S)).then_some(seconds as u32)
    }
}

/// Of several, the one with the largest gain.
fn of_most<T>(all: impl Iterator<Item = T>, gain: impl Fn(&T) -> Option<Estimate>) -> Option<T> {
    let gaining = all.filter_map(|it| Some((gain(&it)?.median, it)));
    gaining.max_by(|a, b| a.0.total_cmp(&b.0)).map(|it| it.1)
}

/// Why there is no verdict, and what would help.
type Open = (AdviceReason, Settles);

/// `is_two_sided`: in some state the replay was shown to take neither more nor less than the program.
pub(super) fn judge(
    found: &Found,
    checked: Option<&Checked>,
    is_two_sided: bool,
    commands: &[CommandFinding],
) -> Advice {
    let advice = by_replays_or_switches(found, checked, is_two_sided, commands);
    let caveat = match &advice.how {
        Some(How::Switch { line }) => other_file(found, line),
        _ => None,
    };
    let whole = found.advised.group.as_ref().map_or(0, |it| it.touched_whole);
    let whole = (whole > 0).then_some(AdviceCaveat::TouchedWhole { files: whole });
    let caveats = [caveat, direction(found, &advice), whole].into_iter().flatten().chain(advice.caveats);
    Advice { caveats: caveats.collect(), ..advice }
}

/// What to know of going from calls to a mapping, or from a mapping to calls, once for all arms that are named.
fn direction(found: &Found, advice: &Advice) -> Option<AdviceCaveat> {
    let named = advice.to.iter().chain(advice.also.iter().map(|it| &it.to));
    let from = found.recorded().maps();
    let is_turned = named.filter_map(|it| found.arm(it)).any(|it| it.maps() != from);
    is_turned.then_some(if from { AdviceCaveat::TowardsCalls } else { AdviceCaveat::TowardsMapping })
}

/// A file beside those of the command that a switch reaches, and the command does not: it was in the page cache.
fn other_file(found: &Found, switch: &str) -> Option<AdviceCaveat> {
    let program = found.program.as_ref()?;
    let of_switch = found.observation(program.switches.iter().find(|it| line(it) == switch)?)?;
    let now = found.observation(program.now)?;
    let before = |path: &str| now.files.iter().find(|it| it.path == path).map_or(0, |it| it.access.reached_bytes());
    let others = of_switch.files.iter().filter(|it| !it.named && !it.access.is_code());
    let more = others.map(|it| (it.access.reached_bytes().saturating_sub(before(&it.path)), it));
    let (bytes, most) = more.max_by_key(|it| it.0)?;
    let is_much = bytes as f64 > MUCH * found.advised.pattern.bytes as f64;
    // Of more files than are listed, those that the command reaches may be left out.
    let is_known = found.start.state.waits_for_device() && now.files_left_out == 0;
    (is_known && is_much).then(|| AdviceCaveat::OtherFile { path: most.path.clone(), bytes })
}

fn by_replays_or_switches(
    found: &Found,
    checked: Option<&Checked>,
    is_two_sided: bool,
    commands: &[CommandFinding],
) -> Advice {
    let advice = by_replays(found, checked, is_two_sided, commands);
    let gains = |it: &Switched| it.real.filter(|it| found.is_worth_it(it));
    let is_gain = |it: Estimate| found.is_worth_it(&it);
    let Some(switched) = of_most(advice.switched.iter(), |it| gains(it)).cloned() else { return advice };
    // What a replay cannot show, such as less work of the program's own, its switch does, whether or not the replay is the program.
    let predicted = as_option(&advice);
    let because = match (advice.verdict, &predicted) {
        (AdviceVerdict::Unknown, _) => {
            [AdviceReason::SwitchMeasured].into_iter().chain(advice.because.clone()).collect()
        }
        // Or a replay gains, although what it gains is not the program's.
        (AdviceVerdict::NoDifference, _)
            if gains(&switched).is_some_and(|it| is_within_share(&it, &advice))
                || advice.switched.iter().filter_map(|it| it.predicted).any(is_gain) =>
        {
            [AdviceReason::SwitchAsGood].into_iter().chain(advice.because.clone()).collect()
        }
        (AdviceVerdict::NoDifference, _) | (_, None) => vec![AdviceReason::SwitchAlone],
        (AdviceVerdict::Switch, Some(predicted)) => {
            let Some(real) = gains(&switched) else { return advice };
            match predicted.grade {
                // Another of its switches is advised as it is: this one stands before it where it is shown to gain more.
                Grade::A => {
                    let is_it = predicted.how == How::Switch { line: switched.line.clone() };
                    if is_it || real.ci_low <= predicted.program.ci_high {
                        return advice;
                    }
                    vec![AdviceReason::SwitchGainsMost]
                }
                _ if real.ci_high * (1.0 + check::MOST) < predicted.program.ci_low => return advice,
                _ => vec![AdviceReason::SwitchAsGood],
            }
        }
    };
    Advice {
        verdict: AdviceVerdict::Switch,
        code: AdviceCode::Unknown,
        effort: Some(Effort::E0),
        grade: Some(Grade::A),
        io: None,
        program: switched.real,
        program_at_most: None,
        because,
        how: Some(How::Switch { line: switched.line }),
        caveats: vec![AdviceCaveat::ThisMachine],
        settles: None,
        also: predicted.into_iter().chain(advice.also).filter(|it| Some(&it.to) != switched.like.as_ref()).collect(),
        to: switched.like,
        consume: None,
        ..advice
    }
}

/// The file is a small share, and what a switch gains may be all of that.
fn is_within_share(gain: &Estimate, advice: &Advice) -> bool {
    let most = |it: &AdviceReason| match it {
        AdviceReason::SmallShare { share } => Some(1.0 / (1.0 - share)),
        _ => None,
    };
    advice.because.iter().filter_map(most).any(|most| gain.ci_low <= most)
}

/// What a verdict advises, as one of several.
fn as_option(of: &Advice) -> Option<AdviceOption> {
    Some(AdviceOption {
        to: of.to.clone()?,
        code: of.code,
        effort: of.effort?,
        grade: of.grade?,
        consume: of.consume?,
        io_ns: of.io_ns,
        io: of.io?,
        program: of.program?,
        program_at_most: of.program_at_most,
        how: of.how.clone()?,
    })
}

fn by_replays(found: &Found, checked: Option<&Checked>, is_two_sided: bool, commands: &[CommandFinding]) -> Advice {
    let known = is_known(found, is_two_sided);
    // What the replay of a part of its accesses takes bounds nothing, and what has more than the program is no share of it.
    let other = found.exceeds_user_time(commands).or_else(|| handed_on(found));
    let other = other.or_else(|| mapped_again(found)).or_else(|| writes_to_copies(found));
    let is_no_part = other.is_some() || checked.is_some_and(Checked::has_more);
    // Nor does one that has more than the program in memory say how much of a cold start is the file's.
    let has_more_in_memory = found.in_memory.is_some_and(|it| it.has_more);
    let share = found.share().filter(|_| known.is_ok() && !is_no_part && !has_more_in_memory);
    // There is no more than that to gain.
    let most_share = found.most_share(found.least(), checked, commands).filter(|_| known.is_ok() && !is_no_part);
    // Bytes that a call has copied lie in another cache than those of a mapping, so that looking at them takes another time.
    // What a library does with the bytes of its calls is no part of them, and who reads in place leaves it out, too. Where the replay
    // is not the program, nothing is bounded.
    let is_bound = |it: &Checked| it.passed() && (!it.by.is_one_sided() || found.recorded().maps());
    let is_bound = most_share.is_some() && checked.is_some_and(is_bound);
    let bounded = found.most_share(found.largest(), checked, commands).filter(|it| is_bound && *it < ALL);
    let mut advice = Advice {
        id: found.view().id,
        file: found.advised.file.clone(),
        files: found.files(),
        state: found.start.state,
        fill: found.start.fill,
        verdict: AdviceVerdict::Unknown,
        to: None,
        code: AdviceCode::Unknown,
        effort: None,
        grade: None,
        consume: None,
        io: None,
        program: None,
        program_at_most: None,
        because: Vec::new(),
        how: None,
        caveats: Vec::new(),
        settles: None,
        program_ns: found.program_ns(),
        io_ns: found.io_ns(),
        share,
        faster_at_most: bounded.map(|it| 1.0 / (1.0 - it)),
        at_least: checked.and_then(Checked::part).is_some_and(|it| it < MOST_OF_IT),
        also: Vec::new(),
        in_advance: Vec::new(),
        switched: Vec::new(),
    };
    let ruled = Ruled::of(found);
    let all = ruled.as_ref().map_or_else(Vec::new, |it| candidates(found, it, checked));
    if let Some(program) = &found.program {
        advice.switched = program.switches.iter().map(|it| switched(found, program, it, &all)).collect();
    }
    let open = |advice: Advice, (because, settles): Open| {
        // One that was measured is not asked for again.
        let was_measured = settles == Settles::Switch && advice.switched.iter().any(|it| it.real.is_some());
        let settles = if was_measured { Settles::SwitchMeasured } else { settles };
        Advice { because: vec![because], settles: Some(settles), ..advice }
    };
    if let Err(why) = known {
        return open(advice, why);
    }
    if program_rounds(found).is_some_and(|it| it < LEAST_PAIRS as usize) {
        return open(advice, (few_rounds(found), found.more_rounds()));
    }
    // Threads that spin while another one reads, or waits for the device, have user time, too: what was measured says more.
    let may_spin = found.in_memory.is_some() || found.time(commands).is_some_and(|it| it.threads_at_once > 1);
    let reads = may_spin && found.share().is_some_and(|it| it.ci_low > SMALL_SHARE);
    if !reads && found.reading_at_most(commands).is_some_and(|it| it <= SMALL_SHARE) {
        return no_difference(advice, AdviceReason::SmallShare { share: SMALL_SHARE });
    }
    if let Some(share) = hardly_longer(found) {
        return no_difference(advice, AdviceReason::SmallShare { share });
    }
    if let Some(why) = other {
        return open(advice, (why, Settles::Switch));
    }
    if let Err(why) = is_checked(found, checked) {
        return open(advice, why);
    }
    if let Some(share) = most_share.filter(|it| *it <= SMALL_SHARE) {
        return no_difference(advice, AdviceReason::SmallShare { share });
    }
    let grade = if is_two_sided && found.advised.coverage >= 1.0 { Grade::B } else { Grade::C };
    let (in_advance, all): (Vec<Candidate>, Vec<Candidate>) = all.into_iter().partition(|it| it.arm.is_in_advance());
    let mut options = gaining(found, &all, grade);
    let ahead = gaining(found, &in_advance, grade);
    let untold_ahead = untold(found, &ahead);
    let is_told = |it: &AdviceOption| !untold_ahead.iter().any(|(arm, _)| *arm == it.to);
    advice.in_advance = ahead.into_iter().map(|it| it.0).filter(is_told).collect();
    let mut unconfirmed = unconfirmed(found, &advice.switched, &options);
    // What was measured stands before what a replay does not tell.
    let is_measured = |arm: &String| unconfirmed.iter().any(|it| it.0 == *arm);
    let untold: Vec<(String, Open)> = untold(found, &options).into_iter().filter(|it| !is_measured(&it.0)).collect();
    unconfirmed.extend(untold.into_iter().map(|(arm, why)| (arm, Some(why))));
    options.retain(|(it, _)| !unconfirmed.iter().any(|(arm, _)| *arm == it.to));
    let is_apart = advice.switched.iter().any(is_apart);
    if is_apart {
        // The replay of one arm is not what the program does by it; that of another one may not be either.
        options.iter_mut().for_each(|(it, _)| it.grade = if it.grade == Grade::A { Grade::A } else { Grade::C });
    }
    match best(&options, is_apart) {
        Some(at) => {
            let (chosen, candidate) = options.remove(at);
            advice.also = options.into_iter().map(|it| it.0).collect();
            advice.also.sort_by(|a, b| a.effort.cmp(&b.effort).then(b.program.median.total_cmp(&a.program.median)));
            advice.caveats = caveats(found, candidate, is_two_sided);
            advice.caveats.extend(unconfirmed.iter().filter_map(|(arm, why)| match why {
                Some((AdviceReason::TouchedAgain { .. }, _)) => Some(AdviceCaveat::Withheld { arm: arm.clone() }),
                _ => None,
            }));
            if is_apart {
                advice.caveats.push(AdviceCaveat::SwitchApart);
            }
            Advice {
                verdict: AdviceVerdict::Switch,
                code: chosen.code,
                effort: Some(chosen.effort),
                grade: Some(chosen.grade),
                consume: Some(chosen.consume),
                io_ns: chosen.io_ns,
                io: Some(chosen.io),
                program: Some(chosen.program),
                program_at_most: chosen.program_at_most,
                because: vec![candidate.because.clone()],
                how: Some(chosen.how),
                to: Some(chosen.to),
                ..advice
            }
        }
        None => match unconfirmed.into_iter().find_map(|it| it.1) {
            Some(why) => open(advice, why),
            None => {
                let one_sided = checked.filter(|it| it.by.is_one_sided()).and(most_share);
                without_gain(found, advice, &all, ruled.as_ref(), one_sided)
            }
        },
    }
}

fn gaining<'c, 'a>(found: &Found, all: &'c [Candidate<'a>], grade: Grade) -> Vec<(AdviceOption, &'c Candidate<'a>)> {
    all.iter().filter(|it| found.is_gain(it)).map(|it| (option(found, it, grade), it)).collect()
}

/// Nothing gains for certain: because all gain too little, or because that is not known. `one_sided`: the most that the file may be of
/// the program's time, where the check does not show that the replay is all of it.
fn without_gain(
    found: &Found,
    advice: Advice,
    all: &[Candidate],
    ruled: Option<&Ruled>,
    one_sided: Option<f64>,
) -> Advice {
    let open = |because: AdviceReason, settles: Settles| Advice {
        because: vec![because],
        settles: Some(settles),
        ..advice.clone()
    };
    let no_gain = |because: AdviceReason| match maps_a_part(found) {
        Some(why) => open(why, Settles::Switch),
        None => no_difference(advice.clone(), because),
    };
    // That the program gains nothing by its own switch to an arm is known without its replay.
    let measured = |it: &Candidate| {
        let of_arm = advice.switched.iter().filter(|switched| switched.like.as_ref() == Some(&it.arm.name));
        let most = of_arm.filter_map(|it| it.real).reduce(|a, b| if a.ci_high > b.ci_high { a } else { b });
        most.filter(|it| !found.is_worth_it(it))
    };
    let gains = |it: &Candidate| measured(it).unwrap_or(it.widest);
    let Some(most) = all.iter().max_by(|a, b| gains(a).ci_high.total_cmp(&gains(b).ci_high)) else {
        if let Some(times) = least_of_slower(found) {
            return no_gain(AdviceReason::AllSlower { times });
        }
        let none = || (few_rounds(found), found.more_rounds());
        let (because, settles) = uncompared(found, &|_| true).unwrap_or_else(none);
        return open(because, settles);
    };
    // An arm that takes far longer is measured less often than others, and few rounds show as much.
    let may_gain = all.iter().filter(|it| gains(it).ci_high >= FAR_SLOWER);
    if let Some(few) = may_gain.map(|it| it.gains.rounds).min().filter(|&it| it < LEAST_PAIRS) {
        return open(AdviceReason::TooFewRounds { rounds: few, least: LEAST_PAIRS }, found.more_rounds());
    }
    let Estimate { ci_low, ci_high, .. } = gains(most);
    // However much the program looks at.
    let ci_low = if measured(most).is_some() { ci_low } else { ci_low.min(most.least.ci_low) };
    if ci_high < WORTH {
        // A rule speaks for it, so that the others say nothing of it.
        if let Some((because, settles)) =
            ruled.and_then(|it| uncompared(found, &|arm| it.asks_for(arm) && found.counts(arm)))
        {
            return open(because, settles);
        }
        let at_share = |share: f64| {
            let replayed = all.iter().filter(|it| measured(it).is_none()).map(|it| (it, it.at_share(share)));
            let most = replayed.max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
            let is_open = most.1.median >= WORTH || most.1.ci_high >= 1.0 + check::MOST;
            is_open.then(|| AdviceReason::MoreThanReplayed {
                arm: most.0.arm.name.clone(),
                share,
                most: most.1.ci_high,
            })
        };
        if let Some(because) = one_sided.and_then(at_share) {
            return open(because, Settles::Switch);
        }
        return no_gain(AdviceReason::BestGains { arm: most.arm.name.clone(), most: ci_high });
    }
    let (arm, times) = (most.arm.name.clone(), 1.0 + found.noise);
    let was_measured = measured(most).is_some();
    // Where even the view with the least gain speaks for it, rounds are missing.
    let depends = !was_measured && most.elsewhere && (most.in_part || most.least.median < WORTH);
    if depends {
        return open(AdviceReason::DependsOnUse { arm }, Settles::Switch);
    }
    let because = if ci_low > 1.0 && ci_low <= times {
        match found.is_noise_measured {
            true => AdviceReason::WithinNoise { arm, ci_low, ci_high, times },
            false => AdviceReason::WithinAnyNoise { arm, ci_low, ci_high, times },
        }
    } else if was_measured {
        AdviceReason::SwitchOpen { arm, predicted: most.least.median, ci_low, ci_high }
    } else {
        AdviceReason::Open { arm, ci_low, ci_high }
    };
    open(because, found.more_rounds())
}

/// Why one of these arms is not held against what was recorded, however much is looked at: it has no pass, or did other work.
/// One that was left out because its first pass was several times slower is known to gain nothing.
fn uncompared(found: &Found, is_meant: &dyn Fn(&Arm) -> bool) -> Option<Open> {
    let of_view = |view: &View| -> Option<Open> {
        let is_slower = |it: &Cell| matches!(it.entry.skipped, Some(Skip::SlowerReplay { .. }));
        // One round has no interval.
        let is_open = |it: &&&Cell| it.passes.len() < 2 && !is_slower(it) && is_meant(it.arm());
        let without = view.arms.iter().find(is_open).map(|it| match it.passes.len() as u32 {
            rounds if rounds == 0 || it.entry.skipped.is_some() => {
                let settles = without_passes(it);
                (AdviceReason::NotMeasured { reason: why_no_pass(found, it).of(found.run.name(it.arm())) }, settles)
            }
            rounds => (AdviceReason::TooFewRounds { rounds, least: LEAST_PAIRS }, found.more_rounds()),
        });
        let unlike = view.unlike.iter().find(|it| is_meant(it.0.arm()));
        without.or_else(|| Some((AdviceReason::NotComparable { reason: unlike?.1.clone() }, Settles::Reason)))
    };
    found.views.iter().find_map(of_view)
}

fn program_rounds(found: &Found) -> Option<usize> {
    Some(found.program.as_ref()?.now.passes.len())
}

/// So few rounds that nothing has an interval.
fn few_rounds(found: &Found) -> AdviceReason {
    let program = program_rounds(found);
    let view = found.view();
    // One that was left out has the rounds before that.
    let replays = view.arms.iter().copied().chain([view.recorded]).filter(|it| it.entry.skipped.is_none());
    let replays = replays.map(|it| it.passes.len()).filter(|it| *it > 0);
    match replays.chain(program).min() {
        None | Some(0) => AdviceReason::NotMeasured { reason: Reason::NoPass },
        Some(few) => AdviceReason::TooFewRounds { rounds: few as u32, least: LEAST_PAIRS },
    }
}

/// Where all other arms were left out because their first passes were several times slower: how many times at least.
fn least_of_slower(found: &Found) -> Option<f64> {
    let times = |it: &Cell| match it.entry.skipped {
        Some(Skip::SlowerReplay { times }) => Some(times),
        _ => None,
    };
    let all = found.views.iter().flat_map(|it| it.arms.iter().copied().chain(it.unlike.iter().map(|it| it.0)));
    let all: Option<Vec<f64>> =
        all.filter(|it| !it.arm().is_in_advance() && found.counts(it.arm())).map(times).collect();
    all?.into_iter().reduce(f64::min)
}

/// What brings passes of a cell that has none.
fn without_passes(cell: &Cell) -> Settles {
    if cell.lacked_time() { Settles::LargerBudget { seconds: None } } else { Settles::Reason }
}

fn why_no_pass(found: &Found, cell: &Cell) -> Reason {
    cells::finding(found.run, cell).reasons.into_iter().next().unwrap_or(Reason::NoPass)
}

fn no_difference(advice: Advice, because: AdviceReason) -> Advice {
    Advice { verdict: AdviceVerdict::NoDifference, code: AdviceCode::Ok, because: vec![because], ..advice }
}

/// Whether the trace has what the program did, and the program was measured.
fn is_known(found: &Found, is_two_sided: bool) -> Result<(), Open> {
    let advised = found.advised;
    match &advised.reach {
        Reach::Calls | Reach::Mapping => {}
        Reach::UnseenMapping { why } => {
            return Err((AdviceReason::PagesUnseen { why: why.clone() }, Settles::ExactRecording));
        }
        Reach::Both => return Err((AdviceReason::MixedReach, Settles::Switch)),
    }
    if advised.coverage < LEAST_COVERAGE {
        return Err((AdviceReason::Incomplete { coverage: advised.coverage }, Settles::Reason));
    }
    let Some(program) = &found.program else { return Err((AdviceReason::RanOnce, Settles::WithoutOnce)) };
    let of_trace = &advised.not_seen;
    let of_run = found.observation(program.now).map(|it| not_seen(it.rings, &it.incomplete));
    if let Some(why) = of_run.flatten().or_else(|| not_seen(of_trace.rings, &of_trace.incomplete)) {
        return Err((why, Settles::Switch));
    }
    let seen = found.seen(program.now);
    let other_run = if advised.given { Settles::Anew } else { Settles::Reason };
    if let Some(seen) = seen {
        let ways = mechanism::ways(seen);
        match (ways.calls, ways.mappings) {
            (true, true) => return Err((AdviceReason::MixedReach, Settles::Switch)),
            // That it does neither is not what any trace has.
            (calls, maps) if calls == maps || maps != found.recorded().maps() => {
                return Err((AdviceReason::OtherReach, other_run));
            }
            // A trace may be of another run than this command makes.
            (true, false) if (seen.read_bytes() as f64 / advised.pattern.bytes as f64 - 1.0).abs() > check::MOST => {
                return Err((AdviceReason::OtherReach, other_run));
            }
            (true, false) if advised.given && are_other_calls(seen, &advised.pattern, found.files()) => {
                return Err((AdviceReason::OtherReach, other_run));
            }
            _ => {}
        }
    }
    let file_bytes = advised.pattern.file_bytes;
    if let Some(bytes) = seen.and_then(|it| kind::part_ahead(found.recorded(), it, file_bytes)) {
        return Err((AdviceReason::PartPopulated { bytes, file_bytes }, Settles::Switch));
    }
    for cell in [program.now, found.view().recorded] {
        if cell.passes.is_empty() {
            let reason = why_no_pass(found, cell);
            let settles = without_passes(cell);
            return Err((AdviceReason::NotMeasured { reason }, settles));
        }
    }
    if seen.is_none() {
        return Err((AdviceReason::Unwatched, Settles::Reason));
    }
    // Which pages it touches no watch has. A trace of others takes another time cold.
    if advised.given && found.recorded().maps() && !is_two_sided {
        return Err((AdviceReason::TouchesUnwatched, Settles::Reason));
    }
    match found.more_from_device() {
        Some(bytes) => Err((AdviceReason::FromDevice { bytes }, Settles::Switch)),
        None => Ok(()),
    }
}

/// Of as many bytes as a trace has, in more or fewer calls, or in another order.
fn are_other_calls(seen: &Access, pattern: &Pattern, files: u64) -> bool {
    let (calls, accesses) = (seen.read_calls() as f64, pattern.accesses as f64);
    // Reads that only find the end of a file are no accesses.
    let at_ends = ENDS * seen.opens as f64;
    let is_other_number = calls < accesses * (1.0 - check::MOST) || calls > accesses * (1.0 + check::MOST) + at_ends;
    let is_other_order = || {
        // What was seen is of each open file, and what a trace has of each thread: of one thread, and a file that is opened
        // once, that is the same.
        let sequential = seen.calls.values().map(|it| it.sequential as f64).sum::<f64>();
        let unplaced = seen.calls.values().map(|it| it.unplaced as f64).sum::<f64>();
        let is_once = seen.opens <= files;
        let is_told = pattern.threads <= 1 && is_once && pattern.accesses > FEW && unplaced == 0.0;
        is_told && (sequential / calls.max(1.0) - pattern.in_order_share()).abs() > OTHER_ORDER
    };
    is_other_number || is_other_order()
}

/// In memory. A mapping costs calls, faults and TLB flushes of its own, and a replay makes one for each file; cold, the device takes
/// longer, and what is held against the replay is what the program takes longer than cached.
fn mapped_again(found: &Found) -> Option<AdviceReason> {
    let seen = found.seen(found.program.as_ref()?.now)?;
    let (files, pattern) = (found.files(), &found.advised.pattern);
    let mappings = seen.mappings.iter().filter(|it| !it.executable).map(|it| it.count).fold(0, u64::saturating_add);
    let is_small = mappings > AGAIN.saturating_mul(files) && pattern.accesses < LARGE_MAPPING.saturating_mul(mappings);
    let is_touched_again = mappings > files && pattern.accesses as f64 > TOUCHED_AGAIN * pattern.distinct_pages as f64;
    // Each mapping has faults of its own, which one for each file does not show.
    let is_part = mappings > AGAIN.saturating_mul(files) && has_more_faults(found) == Some(true);
    let is_again = found.recorded().maps() && (is_small || is_touched_again || is_part);
    (is_again && !found.start.state.waits_for_device()).then_some(AdviceReason::MappedAgain { mappings, files })
}

/// A replay maps all of the file, and one that populates its mapping all of that: of a program that maps a small part, and touches much
/// of it, that is not what populating its own mapping would be.
fn maps_a_part(found: &Found) -> Option<AdviceReason> {
    let seen = found.seen(found.program.as_ref()?.now)?;
    let (bytes, pattern) = (seen.mapped_bytes(), &found.advised.pattern);
    let is_part = bytes > 0 && (bytes as f64) < kind::USUAL * pattern.file_bytes as f64;
    let is_touched = pattern.touched_bytes() >= Pattern::LITTLE * bytes as f64;
    let populated = || found.views.iter().flat_map(|it| &it.arms).any(|it| it.arm().fills_page_table());
    let is_plain = found.recorded().maps() && !found.recorded().fills_page_table() && populated();
    (is_plain && is_part && is_touched).then_some(AdviceReason::PartMapped { bytes, file_bytes: pattern.file_bytes })
}

/// sendfile(2) and its like copy nothing to the program, and what takes their place has to be written: a program that sent a cached
/// file took 1.5 times as long through a mapping, whose replay gained 1.9 times. Of a program that reaches its file by calls: what
/// one hands on beside its mapping is no share of what it reaches.
fn handed_on(found: &Found) -> Option<AdviceReason> {
    let seen = found.seen(found.program.as_ref()?.now).filter(|it| mechanism::ways(it).calls)?;
    let share = seen.handed_on_bytes() as f64 / seen.read_bytes().max(1) as f64;
    (share > HANDED_ON).then_some(AdviceReason::HandedOn { share })
}

/// The first store to a page of a private mapping copies it, which takes a fault of its own and more time than one that maps
/// (mm/memory.c, `wp_page_copy`): with most of the faults beyond those of the replay, neither time nor count says what is left.
fn writes_to_copies(found: &Found) -> Option<AdviceReason> {
    let program = found.program.as_ref()?.now;
    let seen = found.seen(program)?;
    let is_writable = seen.mappings.iter().any(|it| it.writable && !it.shared && !it.executable);
    let has_more = has_more_faults(found)?;
    (is_writable && has_more && found.recorded().maps()).then_some(AdviceReason::WritesToCopies)
}

/// Whether the replay has few of the program's faults, where both were counted.
fn has_more_faults(found: &Found) -> Option<bool> {
    let faults = |cell: &Cell| cell.count("minor_faults");
    Some(faults(found.view().recorded)? < MOST_OF_IT * faults(found.program.as_ref()?.now)?)
}

/// The program's own work in memory, and how much of it takes longer than to work with each page once, so that it may be to come back
/// to pages. Of a mapping alone, which leaves that open. From a cold start it is the same: no page is waited for twice.
fn own_work(found: &Found) -> [f64; 2] {
    let pattern = &found.advised.pattern;
    let (own_ns, look_ns) = match (&found.in_memory, found.program_ns(), found.io_ns()) {
        (Some(it), ..) => (it.without_file_ns(), it.look_ns),
        (None, Some(program), Some(io)) => (program.median - io.median, found.look_ns()),
        _ => return [0.0; 2],
    };
    let walk_ns = if pattern.in_order_share() > Pattern::IN_ORDER { WALK * look_ns } else { 0.0 };
    let once_ns = walk_ns.max(pattern.accesses as f64 * CALL_NS / found.at_work());
    if found.recorded().maps() { [own_ns, (own_ns - once_ns).max(0.0)] } else { [0.0; 2] }
}

/// Whether small files are to be read whole. Of files that are touched in part, no more than that was replayed.
fn reads_whole(found: &Found, code: AdviceCode) -> bool {
    code == AdviceCode::M3 && found.advised.group.as_ref().is_some_and(|it| it.touched_whole == it.files)
}

/// What a program gains by an arm, with a low end that allows for calls in the place of touches that such work may be. Whole files
/// that are read are in a buffer.
fn with_touches_again(found: &Found, it: &Candidate, gain: Estimate) -> Estimate {
    let calls_ns =
        if it.arm.maps() || reads_whole(found, it.code) { 0.0 } else { own_work(found)[1] / TOUCH_NS * CALL_NS };
    let longer = found.program_ns().map_or(0.0, |it| calls_ns / it.median);
    Estimate { ci_low: 1.0 / (1.0 / gain.ci_low + longer), ..gain }
}

/// A program that reads its file in memory by calls finds the bytes in the processor's caches, where the copy has put them; in a
/// mapping it waits for the memory at the first byte of each place. A replay looks at many at once, and does not: 200,000 lookups of
/// 200 B that hash one byte after the other took 72 ms through a mapping, and 55 were predicted.
fn first_look_ns(found: &Found, arm: &Arm) -> f64 {
    let pattern = &found.advised.pattern;
    let elsewhere = pattern.accesses as f64 * (1.0 - pattern.in_order_share());
    let starts_to_map = arm.maps() && !found.recorded().maps() && !found.start.state.waits_for_device();
    // What fits into the last cache is not waited for so long.
    let cache = found.run.record.environment.last_level_cache_bytes().unwrap_or(0);
    if starts_to_map && pattern.touched_bytes() > cache as f64 { elsewhere * MISS_NS / found.at_work() } else { 0.0 }
}

/// Why accesses may be missing that no count has.
fn not_seen(rings: u64, incomplete: &[String]) -> Option<AdviceReason> {
    match (incomplete.first(), rings) {
        (Some(why), _) => Some(AdviceReason::NotAllSeen { why: why.clone() }),
        (None, 0) => None,
        (None, rings) => Some(AdviceReason::Rings { rings }),
    }
}

fn is_checked(found: &Found, checked: Option<&Checked>) -> Result<(), Open> {
    let Some(checked) = checked else { return Err((AdviceReason::RanOnce, Settles::WithoutOnce)) };
    let settles = |why: &Unchecked| match why {
        // Both are measured always: there was no time for one, or its passes do not count.
        Unchecked::NeedsBothStates => {
            let is_impossible = |it: &Cell| matches!(it.entry.skipped, Some(Skip::Impossible(_)));
            let is_lost = |it: &Cell| {
                let has_reason = !it.invalid.is_empty() || is_impossible(it);
                !it.own.state.waits_for_device() && it.passes.is_empty() && has_reason
            };
            if found.run.cells.iter().any(is_lost) { Settles::Reason } else { Settles::LargerBudget { seconds: None } }
        }
        Unchecked::TooCoarse => found.more_rounds(),
        Unchecked::NoColdTime => Settles::Switch,
        Unchecked::NoReading => Settles::Reason,
    };
    match &checked.both {
        Err(why) => Err((AdviceReason::NotChecked { why: why.clone() }, settles(why))),
        Ok(_) if !checked.passed() => {
            let off = checked.off().unwrap_or(0.0);
            let settles = if checked.is_open() { found.more_rounds() } else { Settles::Switch };
            let threads = found.readers();
            let because = match checked.takes_longer() {
                true => AdviceReason::LongerThanProgram { times: 1.0 + off, threads },
                false => AdviceReason::SelfCheckFailed { off, most: check::MOST },
            };
            Err((because, settles))
        }
        Ok(_) => Ok(()),
    }
}

/// The share that its file can be of a program that takes hardly longer cold than cached, and whose replay takes hardly any
/// time beside it. Then no difference shows whether the replay is the program, and none needs to.
fn hardly_longer(found: &Found) -> Option<f64> {
    let (program, in_memory) = (found.program_ns()?, found.in_memory.as_ref()?);
    let longer = 1.0 - in_memory.program.ci_low / program.ci_high;
    let most = longer.max(found.replayed_share()?.ci_high).max(in_memory.most_ns / program.ci_low);
    (most <= SMALL_SHARE).then_some(most)
}

/// What rules say of the program's accesses.
struct Ruled<'e> {
    evidence: Evidence<'e>,
    fired: Vec<(&'static Rule, AdviceReason)>,
}

impl<'e> Ruled<'e> {
    /// Nothing where the command was left alone.
    fn of(found: &'e Found) -> Option<Ruled<'e>> {
        let evidence = Evidence {
            state: found.start.state,
            recorded: found.recorded(),
            pattern: &found.advised.pattern,
            group: found.advised.group.as_ref(),
            brought_in_bytes: found.view().recorded.count("device_read_bytes"),
            memory_bytes: found.run.record.environment.cache_memory_bytes(),
            seen: found.seen(found.program.as_ref()?.now),
        };
        let fired = RULES.iter().filter_map(|rule| Some((rule, (rule.fires)(&evidence)?))).collect();
        Some(Ruled { evidence, fired })
    }

    /// The first rule that speaks for an arm, and why it holds.
    fn rule(&self, arm: &Arm) -> Option<&(&'static Rule, AdviceReason)> {
        self.fired.iter().find(|(rule, _)| (rule.proposes)(&self.evidence, arm))
    }

    /// That no verdict is without.
    fn asks_for(&self, arm: &Arm) -> bool {
        !arm.is_in_advance() && self.rule(arm).is_some()
    }
}

fn candidates<'a>(found: &Found<'_, 'a>, ruled: &Ruled, checked: Option<&Checked>) -> Vec<Candidate<'a>> {
    let Some(program) = &found.program else { return Vec::new() };
    let recorded = found.recorded();
    let works_longer = checked.is_some_and(|it| it.by == CheckedBy::Waits);
    let candidate = |cell: &&Cell<'a>| {
        let arm = cell.arm();
        let without_file = found.in_memory.as_ref().map(|it| it.without_file_ns());
        let more_waits = more_waits(found.view(), cell);
        let after_waits_ns = SLOWER_AFTER_WAITS * without_file.unwrap_or(0.0) * more_waits;
        let without_file_at_most = found.in_memory.as_ref().and_then(|it| it.without_file_at_most_ns());
        let longer_ns = after_waits_ns.max(first_look_ns(found, arm));
        let waits = works_longer.then(|| times_waiting(found.view(), cell));
        let own = OwnWork { without_file, without_file_at_most, longer_ns, waits };
        let gains = |view: &View| {
            let times = [&program.times, &view.times, &Series::of(view.arm(arm))];
            Some((view.consume, Gains::of(times, own)?))
        };
        let all: Vec<(Consume, Gains)> = found.views.iter().filter_map(gains).collect();
        let least = all.iter().min_by(|a, b| a.1.program.median.total_cmp(&b.1.program.median)).copied()?;
        let switches = program.switches.iter().filter_map(|it| does_the_same(found, it, arm));
        let switch = of_most(switches, |it| Some(it.1));
        // How much the program looks at of each access is not known; that its own switch gains shows it.
        let shown = all.iter().filter(|_| switch.is_some()).find(|it| found.is_worth_it(&it.1.program)).copied();
        let (consume, gains) = shown.unwrap_or(least);
        let rule = ruled.rule(arm);
        Some(Candidate {
            arm,
            gains,
            consume,
            least: least.1.program,
            widest: all.iter().map(|it| it.1.program).max_by(|a, b| a.ci_high.total_cmp(&b.ci_high))?,
            quickest: all.iter().map(|it| it.1.io).max_by(|a, b| a.median.total_cmp(&b.median))?,
            elsewhere: all.iter().any(|it| found.is_worth_it(&it.1.program)),
            in_part: all.len() < found.views.len(),
            more_waits,
            code: rule.map_or(AdviceCode::Unknown, |it| it.0.code),
            because: rule.map_or(AdviceReason::ReplayAlone, |it| it.1.clone()),
            switch,
        })
    };
    found.view().arms.iter().filter(|it| it.arm() != recorded && found.counts(it.arm())).filter_map(candidate).collect()
}

/// How often what was recorded and an arm give up the processor, where that was counted: in a replay that is a wait for the
/// device.
fn waits(view: &View, arm: &Cell) -> Option<[f64; 2]> {
    let count = |it: &Cell| it.count("voluntary_switches");
    Some([count(view.recorded)?, count(arm)?])
}

/// How much more often an arm waits than what was recorded, as a share of the accesses; 0 where that is not known.
fn more_waits(view: &View, arm: &Cell) -> f64 {
    let ops = view.recorded.own.ops.max(1) as f64;
    waits(view, arm).map_or(0.0, |[recorded, arm]| (arm - recorded) / ops).clamp(0.0, 1.0)
}

/// How many times as often an arm waits as what was recorded; 1 where that is not known.
fn times_waiting(view: &View, arm: &Cell) -> f64 {
    waits(view, arm).filter(|it| it[0] > 0.0).map_or(1.0, |[recorded, arm]| arm / recorded)
}

/// The command line of a switch that was seen to do what an arm does, and that gains.
fn does_the_same(found: &Found, switch: &Cell, arm: &Arm) -> Option<(String, Estimate)> {
    let program = found.program.as_ref()?;
    let real = compare::compare(found.run, program.now, switch);
    let gain = measured_gain(&real).filter(|it| found.is_worth_it(it))?;
    (like(found, switch)? == arm).then(|| (line(switch), gain))
}

/// Of enough rounds in which both did the same.
fn measured_gain(real: &Comparison) -> Option<Estimate> {
    real.speedup.filter(|_| real.verdict != Verdict::NotComparable && real.pairs >= LEAST_PAIRS)
}

fn line(switch: &Cell) -> String {
    Spec::of(&switch.arm().options).map_or_else(|_| switch.arm().name.clone(), |it| it.line)
}

/// The arm that does what a switch was seen to do.
fn like<'a>(found: &Found<'_, 'a>, switch: &Cell) -> Option<&'a Arm> {
    let view = found.view();
    let arms: Vec<&'a Arm> = [view.recorded].iter().chain(&view.arms).map(|it| it.arm()).collect();
    let done = kind::done_by(found.seen(switch)?, &found.advised.pattern, arms.iter().copied()).first().copied()?;
    arms.into_iter().find(|it| *it == found.counts_as(done))
}

fn switched(found: &Found, program: &Program, cell: &Cell, all: &[Candidate]) -> Switched {
    let real = compare::compare(found.run, program.now, cell);
    let like = like(found, cell);
    let candidate = like.and_then(|arm| all.iter().find(|it| it.arm == arm && it.gains.rounds >= LEAST_PAIRS));
    let gain = measured_gain(&real);
    Switched {
        arm: cell.arm().name.clone(),
        line: line(cell),
        cell: cell.id.cell,
        ns: Series::of([cell]).middle(),
        real: gain,
        like: like.map(|it| it.name.clone()),
        predicted: candidate.map(|it| with_touches_again(found, it, it.least)),
        predicted_at_most: candidate.filter(|it| it.widest != it.least).map(|it| it.widest),
        reason: match cell.passes.is_empty() {
            true => Some(why_no_pass(found, cell)),
            false => real.reason.filter(|_| gain.is_none()),
        },
    }
}

/// What a switch gains is more or less than predicted, however much the program looks at, beyond what a replay may be off.
fn is_apart(it: &Switched) -> bool {
    let Some((real, least)) = it.real.zip(it.predicted) else { return false };
    is_less(real, least) || is_less(it.predicted_at_most.unwrap_or(least), real)
}

fn is_less(a: Estimate, b: Estimate) -> bool {
    a.ci_high * (1.0 + check::MOST) < b.ci_low
}

/// Arms whose gain the program's own switch to them does not show, and why they are open. What was measured stands before what
/// was predicted. Where another of its switches to that arm gains, nothing is open. In memory a switch that gains less than its
/// replay says contradicts those of all arms that reach the file as it does, with whatever hint.
fn unconfirmed(
    found: &Found,
    switched: &[Switched],
    options: &[(AdviceOption, &Candidate)],
) -> Vec<(String, Option<Open>)> {
    let of = |it: &Switched| -> Option<Vec<(String, Option<Open>)>> {
        let like = it.like.as_ref()?;
        let real = it.real.filter(|it| !found.is_worth_it(it))?;
        let replayed = |it: &&(AdviceOption, &Candidate)| it.1.switch.is_none();
        let own = options.iter().filter(replayed).find(|(option, _)| option.to == *like);
        let predicted = own.map(|(_, of)| of.gains.program).or(it.predicted)?;
        let (arm, is_contradicted) = (like.clone(), is_less(real, predicted));
        let Estimate { median, ci_low, ci_high } = real;
        let why = match is_contradicted {
            true => {
                let why = AdviceReason::SwitchContradicts { arm, predicted: predicted.median, real: median };
                Some((why, Settles::SwitchMeasured))
            }
            // It gains nothing, which leaves nothing open.
            false if ci_high < WORTH => None,
            false => {
                let why = AdviceReason::SwitchOpen { arm, predicted: predicted.median, ci_low, ci_high };
                Some((why, found.more_rounds()))
            }
        };
        let is_in_memory = !found.start.state.waits_for_device();
        let maps = found.arm(like).map(Arm::maps);
        let is_of_it = |(option, of): &&(AdviceOption, &Candidate)| {
            option.to == *like || (is_in_memory && is_contradicted && Some(of.arm.maps()) == maps)
        };
        let all = options.iter().filter(replayed).filter(is_of_it);
        Some(all.map(|(option, _)| (option.to.clone(), why.clone())).collect())
    };
    switched.iter().filter_map(of).flatten().collect()
}

/// Arms whose gain a replay does not tell, although it has all accesses; where a switch of the program's own to them gains, it does.
fn untold(found: &Found, options: &[(AdviceOption, &Candidate)]) -> Vec<(String, Open)> {
    let (opens, files) = (found.opens(), found.files());
    // Each opening would have its pages mapped once more, which is little where it reads each several times.
    let pages = found.advised.pattern.distinct_pages.saturating_mul(opens / files.max(1));
    let is_opened_again =
        opens > AGAIN.saturating_mul(files) && found.advised.pattern.accesses < pages.saturating_mul(2);
    let is_beside = beside_the_reads(found);
    let why = |option: &AdviceOption, of: &Candidate| match () {
        () if is_beside.is_some() => is_beside.clone(),
        () if of.arm.fills_page_table() && is_mapped_by_another(found) => {
            Some(AdviceReason::MappedByAnother { arm: option.to.clone() })
        }
        () if is_opened_again && of.arm.maps() && !found.recorded().maps() => {
            Some(AdviceReason::OpenedAgain { arm: option.to.clone(), opens, files })
        }
        // Without these touches it gains.
        () if !found.is_worth_it(&option.program) => {
            let times = own_work(found)[0] * found.at_work() / TOUCH_NS / found.advised.pattern.accesses.max(1) as f64;
            Some(AdviceReason::TouchedAgain { arm: option.to.clone(), times })
        }
        () => None,
    };
    let of_replay = options.iter().filter(|it| it.1.switch.is_none());
    of_replay.filter_map(|(option, of)| Some((option.to.clone(), (why(option, of)?, Settles::Switch)))).collect()
}

/// fork(2) copies no page table of a mapped file (mm/memory.c, `vma_needs_copy`): what a process populates before it, its children
/// fault on again.
fn is_mapped_by_another(found: &Found) -> bool {
    let processes = found.program.as_ref().and_then(|it| found.observation(it.now)).map_or(1, |it| it.processes);
    found.advised.touched_elsewhere && processes > 1
}

/// Why what the reads take need not be time of the program: others may be at work meanwhile, or it waits for something else, which
/// takes as long however fast they are. In memory a thread that reads and works takes as much processor time as time passes, and
/// so do several that wait for each other, or a shell that waits for its command. Where several read at once, as they do in the
/// replay, all of them must be at work all the time, or as many as there are processors. That a cold replay takes as long as the
/// program shows that it waits for its device, and nothing of reads that are made in memory alone. With O_DIRECT they come from
/// there in every state.
fn beside_the_reads(found: &Found) -> Option<AdviceReason> {
    let is_in_memory = !found.start.state.waits_for_device() && !found.recorded().is_direct();
    let program = found.program.as_ref().filter(|_| is_in_memory)?;
    let threads = found.replay_threads();
    match program.now.busy() {
        Some(busy) if busy < WAITS * found.at_work() => Some(AdviceReason::WaitsElsewhere { busy, threads }),
        Some(busy) if busy <= OVERLAPS * f64::from(threads) => None,
        _ => found.observation(program.now).filter(|it| it.threads > 1).map(|_| AdviceReason::SeveralThreads),
    }
}

fn option(found: &Found, it: &Candidate, grade: Grade) -> AdviceOption {
    let recorded = found.recorded();
    let seen = found.program.as_ref().and_then(|it| found.seen(it.now));
    let how = if reads_whole(found, it.code) { How::ReadWhole } else { kind::how(recorded, it.arm, seen) };
    let effort = kind::effort(recorded, it.arm);
    let (effort, grade, how, program) = match &it.switch {
        // What was measured stands for what was predicted.
        Some((line, real)) => (Effort::E0, Grade::A, How::Switch { line: line.clone() }, *real),
        // What no rule explains is known by nothing but its replay.
        None if it.code == AdviceCode::Unknown => {
            (effort, Grade::C, how, with_touches_again(found, it, it.gains.program))
        }
        None => (effort, grade, how, with_touches_again(found, it, it.gains.program)),
    };
    let Gains { io_ns, io, .. } = it.gains;
    let (to, consume) = (it.arm.name.clone(), it.consume);
    let is_more = it.switch.is_none() && it.widest.median > program.median * (1.0 + MARGIN);
    let program_at_most = is_more.then_some(it.widest);
    AdviceOption { to, code: it.code, effort, grade, consume, io_ns: Some(io_ns), io, program, program_at_most, how }
}

/// The least effort among those that are not proved to gain less than the best by what is worth a change; of several the plainest
/// that a rule explains. Where a switch shows that replays are off, one that was measured.
fn best(options: &[(AdviceOption, &Candidate)], is_apart: bool) -> Option<usize> {
    let is_measured = |it: &(AdviceOption, &Candidate)| it.0.grade == Grade::A;
    let only_measured = is_apart && options.iter().any(is_measured);
    let options = || options.iter().enumerate().filter(move |(_, it)| !only_measured || is_measured(it));
    let most = options().map(|(_, it)| it.0.program).max_by(|a, b| a.median.total_cmp(&b.median))?;
    // What was measured is not held against more than replays are known to, and what gains less than is worth a change more is alike.
    let within = |it: &(AdviceOption, &Candidate)| if is_measured(it) { 1.0 + check::MOST } else { WORTH };
    let good = options().filter(|(_, it)| it.0.program.ci_high * within(it) >= most.ci_low);
    let key = |(option, it): &(AdviceOption, &Candidate)| {
        (option.effort, option.code == AdviceCode::Unknown, it.arm.options_set())
    };
    let first =
        good.min_by(|(_, a), (_, b)| key(a).cmp(&key(b)).then(b.0.program.median.total_cmp(&a.0.program.median)));
    first.map(|it| it.0)
}

fn caveats(found: &Found, candidate: &Candidate, is_two_sided: bool) -> Vec<AdviceCaveat> {
    let (from, advised) = (found.recorded(), found.advised);
    let is_measured = candidate.switch.is_some();
    let (threads, replayed) = (found.readers(), found.replay_threads());
    let (files, opens) = (found.files(), found.opens());
    let all = [
        (from.maps(), AdviceCaveat::WholePages),
        (opens > files, AdviceCaveat::OpenedAgain { opens, files }),
        (!is_two_sided, AdviceCaveat::OneSidedCheck),
        (advised.coverage < 1.0, AdviceCaveat::Incomplete { coverage: advised.coverage }),
        (threads > 1 || replayed > 1, AdviceCaveat::Threads { threads, replayed }),
        (
            candidate.more_waits > MORE_WAITS && !is_measured && found.in_memory.is_some(),
            AdviceCaveat::MoreWaits { share: candidate.more_waits, slower: SLOWER_AFTER_WAITS },
        ),
        (true, AdviceCaveat::ThisMachine),
    ];
    all.into_iter().filter(|it| it.0).map(|it| it.1).collect()
}
