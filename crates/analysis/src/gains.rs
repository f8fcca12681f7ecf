//! Times of one round side by side: the program as it is, the replay of what it did, and that of another arm. What a round of
//! the machine does to one of them it does to the others.

use std::collections::BTreeMap;

use schema::findings::Estimate;

use crate::{
    measured::{Cell, Pass},
    stats,
};

/// The time of each round, without the own work of a program that a replay has between its accesses; of several cells that do the
/// same, their mean.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Series(BTreeMap<u32, f64>);

impl Series {
    pub(crate) fn of<'a, 'r: 'a>(cells: impl IntoIterator<Item = &'a Cell<'r>>) -> Series {
        Series::means(cells, |cell, pass| Some(pass.ns - cell.condition.own_work_ns as f64))
    }

    /// What a pass of one thread waits: the time in which it used no processor. A nanosecond at least.
    pub(crate) fn of_waits<'a, 'r: 'a>(cells: impl IntoIterator<Item = &'a Cell<'r>>) -> Series {
        Series::means(cells, |_, pass| Some((pass.ns - pass.cpu_ns()?).max(1.0)))
    }

    fn means<'a, 'r: 'a>(
        cells: impl IntoIterator<Item = &'a Cell<'r>>,
        ns: impl Fn(&Cell, &Pass) -> Option<f64>,
    ) -> Series {
        let mut rounds: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for cell in cells {
            let each = cell.passes.iter().filter_map(|it| Some((it.round, ns(cell, it)?)));
            for (round, ns) in each.filter(|it| it.1 > 0.0) {
                let sum = rounds.entry(round).or_default();
                *sum = (sum.0 + ns, sum.1 + 1.0);
            }
        }
        Series(rounds.into_iter().map(|(round, (ns, count))| (round, ns / count)).collect())
    }

    #[cfg(test)]
    pub(crate) fn planted(values: &[f64]) -> Series {
        Series((0..).zip(values.iter().copied()).collect())
    }

    pub(crate) fn middle(&self) -> Option<Estimate> {
        stats::median_of_positive(self.0.values().copied())
    }

    pub(crate) fn beside<'s>(&'s self, other: &'s Series) -> impl Iterator<Item = (u32, f64, f64)> + 's {
        self.0.iter().filter_map(|(round, ns)| Some((*round, *ns, *other.0.get(round)?)))
    }

    /// What is more than a time, as a share: of all rounds, of which some may take less than that. What is not known of either
    /// is not known of the share.
    pub(crate) fn share_above(&self, ns: Estimate) -> Option<Estimate> {
        let Estimate { median, ci_low, ci_high } = self.middle()?;
        let share = |whole: f64, ns: f64| (1.0 - ns.max(0.0) / whole).max(0.0);
        Some(Estimate {
            median: share(median, ns.median),
            ci_low: share(ci_low, ns.ci_high),
            ci_high: share(ci_high, ns.ci_low),
        })
    }

    /// How many times as long the rounds of this one take as those of the other.
    pub(crate) fn over(&self, other: &Series) -> Option<Estimate> {
        stats::median_of_positive(self.beside(other).map(|(_, own, other)| own / other))
    }
}

/// What taking an arm gains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gains {
    /// What the replay of what was recorded takes.
    pub(crate) io_ns: Estimate,
    pub(crate) io: Estimate,
    pub(crate) program: Estimate,
    pub(crate) rounds: u32,
}

/// What a program does besides reaching its file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnWork {
    /// What the program takes without its file, where that is known.
    pub(crate) without_file: Option<f64>,
    /// The most that it may take without it: at the low end.
    pub(crate) without_file_at_most: Option<f64>,
    /// So much longer it may take with the arm, which no replay shows.
    pub(crate) longer_ns: f64,
    /// It takes longer after each wait, and the arm waits so many times as often as what was recorded.
    pub(crate) waits: Option<f64>,
}

/// What a program does besides reaching its file is the difference of two times, and no better known than to such a share of its own:
/// the low end of a gain has at least that. Reads of 64 B that took 340 ms were predicted to gain 84 times by a mapping, and gained 39.
const OWN_WORK: f64 = 0.02;

/// By how much the replay may be off, as a share of what the program is checked by.
pub(crate) const OFF_MOST: f64 = 0.15;
/// What was recorded takes such a share of its replay at least, where that passes.
const LONGER: f64 = 1.0 / (1.0 + OFF_MOST);

/// What the middle or an end of a gain allows for.
#[derive(Clone, Copy)]
struct End {
    /// Own work is taken to be no less than this, as far as the program takes as long.
    without_file_at_most: Option<f64>,
    longer_ns: f64,
    waits: Option<f64>,
    /// Of the program's time, as own work.
    least: f64,
    /// The arm is taken to be as much shorter in the program as what was recorded is.
    is_high: bool,
}

impl Gains {
    /// In each round, the program without the replay of what it did and with that of the arm. Where it is known what the
    /// program takes without its file, the rest of its time is as many times less as the replay is: that the two are a little
    /// apart is then no time that stays. So it is where the replay takes longer than the program, of which nothing stays then.
    /// Where they are apart because own work takes longer after each wait, that is as many times less as the waits are, or
    /// stays as it is: the ends of the gain allow for both.
    pub(crate) fn of([program, recorded, arm]: [&Series; 3], own: OwnWork) -> Option<Gains> {
        let ratio = |End { without_file_at_most, longer_ns, waits, least, is_high }: End| {
            move |(round, program, recorded): (u32, f64, f64)| {
                let arm = *arm.0.get(&round)?;
                let stays = own.without_file.filter(|it| *it < program).unwrap_or(program - recorded);
                let stays = without_file_at_most.map_or(stays, |it| it.min(program)).max(least * program);
                let rest = match waits {
                    Some(times) => arm + times * (program - stays - recorded).max(0.0),
                    None => {
                        let off = (program - stays) / recorded;
                        // What the arm takes it takes in the program, too, where the replay takes a little longer than that.
                        arm * if !is_high && (LONGER..1.0).contains(&off) { 1.0 } else { off }
                    }
                };
                Some(program / (stays + rest + longer_ns))
            }
        };
        let ratios = |end: End| -> Vec<f64> { program.beside(recorded).filter_map(ratio(end)).collect() };
        let gain = |end: End| stats::median_of_positive(ratios(end));
        let middle = End { without_file_at_most: None, longer_ns: 0.0, waits: own.waits, least: 0.0, is_high: false };
        let low = End {
            without_file_at_most: own.without_file_at_most,
            longer_ns: own.longer_ns,
            waits: own.waits.map(|it| it.max(1.0)),
            least: OWN_WORK,
            ..middle
        };
        let high = End { waits: own.waits.map(|it| it.min(1.0)), is_high: true, ..middle };
        let rounds = ratios(middle).len() as u32;
        // More own work makes a gain smaller, and a loss as well: of an arm that loses the low end is that of the middle.
        let ends = [gain(middle)?, gain(low)?, gain(high)?];
        let program = Estimate {
            median: ends[0].median,
            ci_low: ends.iter().map(|it| it.ci_low).fold(f64::INFINITY, f64::min),
            ci_high: ends.iter().map(|it| it.ci_high).fold(0.0, f64::max),
        };
        Some(Gains { io_ns: recorded.middle()?, io: recorded.over(arm)?, program, rounds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series::planted(values)
    }

    #[test]
    fn a_round_that_took_twice_as_long_throughout_says_the_same_as_the_others() {
        let with = |ns: f64| series(&[ns, ns, 2.0 * ns, ns, ns, ns, ns]);
        let gains = Gains::of([&with(80.0), &with(75.0), &with(25.0)], OwnWork::default()).unwrap();
        assert_eq!(gains.rounds, 7);
        for (value, expected) in [(gains.io, 3.0), (gains.program, 80.0 / 30.0)] {
            assert!((value.median - expected).abs() < 1e-9 && value.ci_high / value.ci_low < 1.0 + 1e-9, "{value:?}");
        }
    }

    #[test]
    fn what_a_replay_is_off_is_no_time_that_stays_where_the_rest_of_the_program_is_known() {
        let series = |ns: f64| series(&[ns; 6]);
        let gains = |usual| {
            Gains::of(
                [&series(80.0), &series(72.0), &series(24.0)],
                OwnWork { without_file: usual, ..OwnWork::default() },
            )
            .unwrap()
            .program
            .median
        };
        assert!((gains(None) - 80.0 / 32.0).abs() < 1e-9);
        assert!((gains(Some(5.0)) - 80.0 / (5.0 + 75.0 / 3.0)).abs() < 1e-9);
        assert!((gains(Some(90.0)) - 80.0 / 32.0).abs() < 1e-9, "it is no part of it");
        let own = OwnWork { without_file: Some(5.0), without_file_at_most: Some(35.0), ..OwnWork::default() };
        let ends = Gains::of([&series(80.0), &series(72.0), &series(24.0)], own).unwrap().program;
        let [low, high] = [35.0, 5.0].map(|stays| 80.0 / (stays + (80.0 - stays) / 3.0));
        assert!((ends.ci_low - low).abs() < 1e-9 && (ends.ci_high - high).abs() < 1e-9, "{ends:?}");
        let own = OwnWork { without_file_at_most: Some(81.0), ..own };
        let all = Gains::of([&series(80.0), &series(72.0), &series(24.0)], own).unwrap().program;
        assert!((all.ci_low - 1.0).abs() < 1e-9, "all of its time may be its own: {all:?}");
        let lost = Gains::of([&series(80.0), &series(72.0), &series(144.0)], own).unwrap().program;
        assert!(lost.ci_low <= lost.median && lost.median <= lost.ci_high && lost.ci_high <= 1.0, "{lost:?}");
    }

    #[test]
    fn a_program_whose_replay_takes_all_of_its_time_may_have_own_work_all_the_same() {
        let series = |ns: f64| series(&[ns; 6]);
        let gain = |program: f64| {
            Gains::of([&series(program), &series(340.0), &series(4.0)], OwnWork::default()).unwrap().program
        };
        let Estimate { median, ci_low, .. } = gain(340.0);
        assert!((median - 85.0).abs() < 1e-9 && (ci_low - 340.0 / 10.8).abs() < 0.1, "{median} {ci_low}");
        // Own work of a tenth is known well enough.
        let known = gain(374.0);
        assert!((known.ci_low - known.median).abs() < 1e-9, "{known:?}");
    }

    #[test]
    fn an_arm_takes_its_own_time_where_the_replay_of_what_was_recorded_takes_a_little_longer() {
        // `sqlite3` with MADV_POPULATE_READ: 51 ms, 10.4 of them without its file, became 26.
        let series = |ns: f64| series(&[ns; 6]);
        let gain = |recorded: f64| {
            let own = OwnWork { without_file: Some(10.4), ..OwnWork::default() };
            Gains::of([&series(51.0), &series(recorded), &series(15.6)], own).unwrap().program
        };
        let near = |it: f64, expected: f64| assert!((it / expected - 1.0).abs() < 1e-3, "{it} {expected}");
        let longer = gain(46.0);
        near(longer.median, 51.0 / 26.0);
        near(longer.ci_high, 51.0 / (10.4 + 15.6 * 40.6 / 46.0));
        let shorter = gain(38.0);
        near(shorter.median, 51.0 / (10.4 + 15.6 * 40.6 / 38.0));
        near(shorter.ci_high, shorter.median);
    }

    #[test]
    fn what_own_work_may_take_longer_lowers_the_end_of_the_gain_alone() {
        let series = |ns: f64| series(&[ns; 6]);
        let gain = |longer_ns| {
            let own = OwnWork { without_file: Some(14.0), longer_ns, ..OwnWork::default() };
            Gains::of([&series(92.0), &series(78.0), &series(29.0)], own).unwrap().program
        };
        let (bare, bounded) = (gain(0.0), gain(28.0));
        assert!((bare.median - 92.0 / 43.0).abs() < 1e-9);
        assert_eq!((bounded.median, bounded.ci_high), (bare.median, bare.ci_high));
        assert!((bounded.ci_low - 92.0 / 71.0).abs() < 1e-9, "{bounded:?}");
    }

    #[test]
    fn what_own_work_takes_longer_after_each_wait_is_as_many_times_less_as_the_waits_or_stays() {
        // Of 60 ms, 10 without the file, 30 of the replay, and 20 after waits.
        let series = |ns: f64| series(&[ns; 6]);
        let gain = |arm: f64, waits| {
            let own = OwnWork { without_file: Some(10.0), waits: Some(waits), ..OwnWork::default() };
            Gains::of([&series(60.0), &series(30.0), &series(arm)], own).unwrap().program
        };
        let (fewer, more) = (gain(40.0, 0.25), gain(20.0, 2.0));
        let expected = Estimate { median: 60.0 / 55.0, ci_low: 60.0 / 70.0, ci_high: 60.0 / 55.0 };
        assert_eq!(fewer, expected);
        assert_eq!(more, Estimate { median: 60.0 / 70.0, ci_low: 60.0 / 70.0, ci_high: 60.0 / 50.0 });
    }

    #[test]
    fn rounds_that_take_less_than_is_usual_count_in_the_share_above_it() {
        let above = |ns: Estimate| series(&[70.0, 80.0, 90.0, 100.0, 110.0, 120.0, 130.0]).share_above(ns).unwrap();
        let share = |ns: f64| above(Estimate { median: ns, ci_low: ns, ci_high: ns });
        assert!(share(100.0).median.abs() < 1e-9, "as many rounds below as above");
        assert_eq!(share(140.0), Estimate { median: 0.0, ci_low: 0.0, ci_high: 0.0 });
        let half = share(50.0);
        assert!((half.median - 0.5).abs() < 1e-9 && half.ci_low < 0.4 && half.ci_high > 0.55, "{half:?}");
        let vague = above(Estimate { median: 50.0, ci_low: 30.0, ci_high: 70.0 });
        assert!(vague.ci_low < half.ci_low - 0.1 && vague.ci_high > half.ci_high + 0.1, "{vague:?}");
    }

    #[test]
    fn rounds_that_only_one_of_them_has_do_not_count() {
        let program = series(&[80.0, 80.0, 80.0]);
        let arm = Series([(1, 25.0), (2, 25.0), (9, 1.0)].into());
        assert_eq!(Gains::of([&program, &series(&[75.0; 3]), &arm], OwnWork::default()).unwrap().rounds, 2);
        assert_eq!(Gains::of([&program, &series(&[75.0; 3]), &Series::default()], OwnWork::default()), None);
    }

    #[test]
    fn rounds_in_which_the_replay_takes_longer_than_the_program_are_not_left_out() {
        let recorded = series(&[60.0, 60.0, 60.0, 60.0, 60.0, 90.0, 95.0]);
        let gains = Gains::of([&series(&[80.0; 7]), &recorded, &series(&[5.0; 7])], OwnWork::default()).unwrap();
        assert_eq!(gains.rounds, 7);
        assert!((gains.program.median - 80.0 / 25.0).abs() < 1e-9, "{gains:?}");
    }

    #[test]
    fn a_program_whose_replay_takes_longer_gains_no_more_than_the_replay() {
        let gain =
            |arm: f64| Gains::of([&series(&[30.0; 6]), &series(&[150.0; 6]), &series(&[arm; 6])], OwnWork::default());
        for arm in [130.0, 110.0, 1.0, 300.0] {
            assert!((gain(arm).unwrap().program.median - 150.0 / arm).abs() < 1e-9, "{arm}: {:?}", gain(arm));
        }
    }
}
