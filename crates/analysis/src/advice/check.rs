//! Whether the replay is what the program did: its recorded accesses by the recorded method, held against the program itself.
//!
//! Threat: a trace lacks accesses, or the program waits for the file otherwise than its replay does; then what the replay of
//! another method gains says nothing of the program. Defence: no advice where the two differ by more than `MOST`. What shows
//! the program's own time for its files: cold it takes longer than cached by what the file costs it. Where its own work takes longer
//! after each wait, because others used the processor's caches meanwhile, that is more than its replay takes; what it waits for the
//! device is the same, and of one thread that is the time without a processor. Cached, the program's work
//! and its accesses cannot be told apart from outside; its system time, or its page faults, are at least those of the replay, and so
//! is its time: a program that reads in several threads at once has as many of the former as its replay in one, and takes less.

use schema::{
    advice::{CheckedBy, Unchecked},
    findings::Estimate,
};

use crate::{
    gains::Series,
    measured::{Cell, Run},
    stats::{self, SortedValues},
    verdict::LEAST_PAIRS,
};

pub(super) use crate::gains::OFF_MOST as MOST;

/// As a share of the whole program: what is less turns no gain that is worth a change.
const HARDLY: f64 = 0.02;

/// What was compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checked {
    pub(super) by: CheckedBy,
    /// Of the program and of the replay.
    pub(super) both: Result<[f64; 2], Unchecked>,
    /// The replay over the program, round by round where there are rounds.
    ratio: Option<Estimate>,
    /// What the counting of ticks may get wrong, or what turns no gain, in the unit of both.
    doubt: f64,
    /// Too few passes for an interval, where none is by rounds.
    is_of_few: bool,
}

/// Times of the program and of its replay in one state.
pub(super) type Times<'s> = [&'s Series; 2];

impl Checked {
    /// From the rounds from a cold start, each less what is usual cached.
    fn by_difference(cold: Times, cached: Option<Times>) -> Checked {
        let hardly = cold[0].middle().map_or(0.0, |it| HARDLY * it.median);
        let of = |both: Result<[f64; 2], Unchecked>, ratio| Checked {
            by: CheckedBy::ColdLessCached,
            both,
            ratio,
            doubt: hardly,
            is_of_few: false,
        };
        let middles = |times: Times| Some([times[0].middle()?.median, times[1].middle()?.median]);
        let Some(([program, replay], usual)) = middles(cold).zip(cached.and_then(middles)) else {
            return of(Err(Unchecked::NeedsBothStates), None);
        };
        if program <= usual[0] {
            let longer = replay - usual[1];
            let is_none = longer.abs() <= hardly;
            return of(if is_none { Ok([0.0, longer]) } else { Err(Unchecked::NoColdTime) }, None);
        }
        // A round in which one of them takes less than is usual cached counts like any other: what is divided is the middle.
        let longer = program - usual[0];
        let ratio = |(_, replay, program): (u32, f64, f64)| 1.0 + (replay - usual[1] - (program - usual[0])) / longer;
        let ratios = SortedValues::new(cold[1].beside(cold[0]).map(ratio).collect());
        of(Ok([longer, replay - usual[1]]), ratios.and_then(|it| stats::median(&it)))
    }

    /// As `by_difference`, of what each waits. A program that has no less to wait for than its replay, and takes longer, is at work
    /// then.
    fn by_waits([cold, cached]: [Times; 2]) -> Checked {
        Checked { by: CheckedBy::Waits, ..Checked::by_difference(cold, Some(cached)) }
    }

    /// In a state without the device: from what both needed beside time, unless the replay takes longer than the whole program.
    /// `least`: of the replay that looks at the least.
    pub(super) fn in_memory(run: &Run, cells: [&Cell; 3], least: Times) -> Checked {
        let by_time = Checked::by_time(least);
        if by_time.is_too_long() { by_time } else { Checked::by_counts(run, cells) }
    }

    pub(super) fn by_time([program, replay]: Times) -> Checked {
        let both = program.middle().zip(replay.middle()).ok_or(Unchecked::NoReading);
        let both = both.map(|(program, replay)| [program.median, replay.median]);
        let ratio = replay.over(program);
        Checked { by: CheckedBy::Time, both, ratio, doubt: 0.0, is_of_few: false }
    }

    /// The replay takes longer than the whole program.
    pub(super) fn is_too_long(&self) -> bool {
        self.off().is_some_and(|it| it > MOST)
    }

    /// `least`: the replay that looks at the least.
    fn by_counts(run: &Run, [program, replay, least]: [&Cell; 3]) -> Checked {
        let is_of_few = [program, replay].iter().any(|it| it.passes.len() < LEAST_PAIRS as usize);
        let is_undivided = [program, replay].iter().any(|it| it.why_undivided().is_some());
        let by = match replay.arm().maps() {
            true => CheckedBy::Faults,
            // Most of a short pass's system time is given to user time.
            false if is_undivided && program.cpu_ns().is_some() && least.cpu_ns().is_some() => CheckedBy::CpuTime,
            false => CheckedBy::SystemTime,
        };
        let replay = if by == CheckedBy::CpuTime { least } else { replay };
        let of = |cell: &Cell| match by {
            CheckedBy::Faults => cell.count("minor_faults"),
            CheckedBy::CpuTime => cell.cpu_ns(),
            _ => cell.reading("system_ns", SortedValues::mean).value().copied(),
        };
        let both = of(program).zip(of(replay)).map(|(program, replay)| [program, replay]);
        let ticks = run.record.environment.tick_ns.value().map_or(program.tick_ns, |&it| it as f64);
        let doubt = match by {
            // Of the mean of so many passes.
            CheckedBy::SystemTime => 2.0 * ticks / (program.passes.len().max(1) as f64).sqrt(),
            _ => 0.0,
        };
        let both = match both {
            // As many ticks may have been counted too few or too many as there are.
            Some([program, _]) if doubt >= program => Err(Unchecked::TooCoarse),
            both => both.ok_or(Unchecked::NoReading),
        };
        Checked { by, both, ratio: None, doubt, is_of_few }
    }

    /// From a start from which the device is waited for. `cached`: as usual in memory. `waits`: of one thread, from either start.
    pub(super) fn waiting(cold: Times, cached: Option<Times>, waits: Option<[Times; 2]>) -> Checked {
        let by_time = Checked::by_difference(cold, cached);
        let takes_less = !by_time.passed() && by_time.off().is_some_and(|it| it < 0.0);
        let by_waits = waits.filter(|_| takes_less).map(Checked::by_waits);
        by_waits.filter(Checked::passed).unwrap_or(by_time)
    }

    /// Than the whole program.
    pub(super) fn takes_longer(&self) -> bool {
        self.by == CheckedBy::Time
    }

    /// The replay has more than the whole program of what both were checked by: it does what the program does not.
    pub(super) fn has_more(&self) -> bool {
        self.takes_longer() || (self.by.is_one_sided() && self.both.is_ok() && !self.passed())
    }

    /// The replay over the program, less 1: of both that are shown where these are too far apart, else in the middle of the rounds.
    pub(super) fn off(&self) -> Option<f64> {
        let [program, replay] = self.both.as_ref().ok()?;
        let shown = replay / program - 1.0;
        let is_apart = !self.by.is_one_sided() && shown.abs() > MOST;
        let of_rounds = self.ratio.filter(|_| !is_apart).map(|it| it.median - 1.0);
        Some(of_rounds.unwrap_or(shown)).filter(|it| it.is_finite())
    }

    /// Of what the program has of what it was checked by, the share that its replay has; all of it where that was looked at from
    /// both sides.
    pub(super) fn part(&self) -> Option<f64> {
        let part = match self.by.is_one_sided() {
            true => 1.0 + self.off()?,
            // What is not the program says nothing of it.
            false if !self.passed() => return None,
            false => 1.0,
        };
        (part > 0.0).then_some(part.min(1.0))
    }

    /// From below and from above, and there is enough of the program that shows it.
    pub(super) fn passed_on_two_sides(&self) -> bool {
        !self.by.is_one_sided() && self.is_within(0.0)
    }

    /// More rounds might show that it is the program after all.
    pub(super) fn is_open(&self) -> bool {
        let is_near = |it: f64| (it - 1.0).abs() <= MOST;
        let shown = self.both.as_ref().map_or(f64::NAN, |it| it[1] / it[0]);
        let by_rounds = self.ratio.is_some_and(|it| {
            (it.ci_low <= 1.0 + MOST && it.ci_high >= 1.0 - MOST) || is_near(it.median) != is_near(shown)
        });
        by_rounds || self.is_of_few
    }

    pub(super) fn passed(&self) -> bool {
        self.is_within(self.doubt)
    }

    fn is_within(&self, doubt: f64) -> bool {
        let Ok([program, replay]) = self.both else { return false };
        let of_rounds = self.ratio.map_or(replay, |it| it.median * program);
        let most = MOST * program;
        match self.by.is_one_sided() {
            true => of_rounds - program <= most + doubt,
            // Of few rounds that are far apart, one of the two may be near by chance.
            false => [of_rounds, replay].iter().all(|it| (it - program).abs() <= most.max(doubt)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(ms: f64) -> Series {
        Series::planted(&[ms, 1.5 * ms, ms, ms, 0.9 * ms, ms])
    }

    #[test]
    fn a_replay_within_fifteen_percent_of_what_the_program_takes_longer_cold_is_the_program() {
        let check = |replay: f64| {
            Checked::by_difference([&rounds(75.0), &rounds(replay)], Some([&rounds(0.001), &rounds(0.001)]))
        };
        assert!(check(75.0).passed() && check(86.0).passed() && check(64.0).passed());
        assert!(!check(86.5).passed() && !check(63.5).passed());
        assert!((check(90.0).off().unwrap() - 0.2).abs() < 1e-3);
        assert!(!check(90.0).is_open(), "rounds agree");
    }

    #[test]
    fn own_work_that_takes_longer_after_waits_is_told_from_waits_that_the_replay_lacks() {
        // 54 ms longer cold, and the replay 31: the program is at work for the rest, or it waits for something else.
        let check = |program_waits: f64| {
            let (program, replay, cached) = (rounds(64.0), rounds(32.0), [rounds(10.0), rounds(1.0)]);
            let waits = [rounds(program_waits), rounds(30.0), rounds(0.001), rounds(0.001)];
            let waits = [[&waits[0], &waits[1]], [&waits[2], &waits[3]]];
            Checked::waiting([&program, &replay], Some([&cached[0], &cached[1]]), Some(waits))
        };
        let [at_work, waiting] = [32.0, 53.0].map(check);
        assert_eq!((at_work.by, at_work.passed()), (CheckedBy::Waits, true), "{at_work:?}");
        assert!((at_work.off().unwrap() + 1.0 / 16.0).abs() < 0.01, "{at_work:?}");
        assert_eq!((waiting.by, waiting.passed()), (CheckedBy::ColdLessCached, false), "{waiting:?}");
    }

    #[test]
    fn rounds_that_disagree_leave_it_open() {
        let replay = Series::planted(&[40.0, 160.0, 95.0, 91.0, 150.0, 50.0]);
        let check = Checked::by_difference([&rounds(75.0), &replay], Some([&rounds(0.001), &rounds(0.001)]));
        assert!(!check.passed() && check.is_open());
    }

    #[test]
    fn rounds_in_which_the_replay_takes_no_longer_cold_count() {
        let [program, replay] =
            [[100.0; 9], [9.0, 8.0, 7.0, 6.0, 100.0, 101.0, 102.0, 9.5, 9.0]].map(|it| Series::planted(&it));
        let cached = Series::planted(&[10.0; 9]);
        let check = Checked::by_difference([&program, &replay], Some([&cached, &cached]));
        assert!(!check.passed(), "six of nine rounds show none of what the program takes: {check:?}");
        assert!((check.off().unwrap() + 1.0).abs() < 0.05, "{check:?}");
    }

    #[test]
    fn what_is_missing_is_said_and_nothing_passes_without_it() {
        let cold = (rounds(80.0), rounds(75.0));
        let none = Checked::by_difference([&cold.0, &cold.1], None);
        assert_eq!((none.both.clone(), none.passed()), (Err(Unchecked::NeedsBothStates), false));
        let none = Checked::by_difference([&cold.0, &cold.1], Some([&rounds(81.0), &rounds(1.0)]));
        assert_eq!((none.both.clone(), none.passed()), (Err(Unchecked::NoColdTime), false));
    }

    #[test]
    fn what_the_device_takes_of_a_program_that_takes_hardly_longer_cold_need_not_be_known() {
        // Of 400 ms, 3 or none.
        let check = |program: f64, replay: f64| {
            Checked::by_difference([&rounds(program), &rounds(replay)], Some([&rounds(400.0), &rounds(36.0)]))
        };
        for (program, replay, passes) in
            [(403.0, 41.0, true), (403.0, 52.0, false), (399.0, 41.0, true), (430.0, 66.0, true)]
        {
            let check = check(program, replay);
            assert_eq!(check.passed(), passes, "{check:?}");
            assert_eq!(check.passed_on_two_sides(), program == 430.0, "{check:?}");
        }
        assert_eq!(check(399.0, 60.0).both, Err(Unchecked::NoColdTime));
    }

    #[test]
    fn rounds_that_are_near_by_chance_are_not_the_program_and_what_is_off_is_what_is_shown() {
        // In the middle of the rounds as much longer; of what is shown, a third.
        let [program, replay] =
            [[40.0, 40.0, 10.0, 40.0, 40.0], [20.0, 39.0, 40.0, 20.0, 20.0]].map(|it| Series::planted(&it));
        let cached = Series::planted(&[8.0; 5]);
        let check = Checked::by_difference([&program, &replay], Some([&cached, &cached]));
        let off = check.off().unwrap();
        assert!(!check.passed() && (off + 0.625).abs() < 0.01, "{off} {check:?}");
        let [program, replay] =
            [[40.0, 39.0, 10.0, 60.0, 80.0], [10.0, 40.0, 11.0, 61.0, 30.0]].map(|it| Series::planted(&it));
        let check = Checked::by_difference([&program, &replay], Some([&cached, &cached]));
        assert!(!check.passed() && check.is_open(), "{check:?}");
        assert!(check.off().unwrap() < 0.0);
    }

    #[test]
    fn counts_show_only_that_the_replay_claims_no_more_than_the_program_has() {
        let counts = |replay: f64| Checked {
            by: CheckedBy::Faults,
            both: Ok([100.0, replay]),
            ratio: None,
            doubt: 0.0,
            is_of_few: false,
        };
        assert!(counts(10.0).passed() && counts(114.0).passed() && !counts(116.0).passed());
    }
}
