//! How late a second thread of a worker was for its deadlines, while an arm was at work: who else stops.

use serde::{Deserialize, Serialize};

/// From one deadline to the next.
pub const PERIOD_NS: u64 = 1_000_000;

/// Deadlines after the end of a pass, while nothing else is at work.
pub const IDLE_DEADLINES: u64 = 100;

/// Later than so many periods, a deadline counts as stalled.
pub const STALLED_PERIODS: u64 = 2;

/// Fewer deadlines have no 99th of 100.
pub const P99_DEADLINES: u64 = 100;

/// Of fewer passes nothing is said: deadlines of one pass are late together, and other work of the machine can be beside all of them.
pub const LEAST_PASSES: u32 = 5;

/// Where the first bin ends.
const FIRST_NS: u64 = 1000;
const BINS_PER_DOUBLING: u64 = 16;
const DOUBLINGS: u64 = 32;

/// The last one has everything that is later.
pub const BINS: usize = (1 + BINS_PER_DOUBLING * DOUBLINGS) as usize;

/// What a second thread of the worker saw of a pass that was asked for with `beside` = `beat`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beats {
    pub period_ns: u64,
    /// From GO until the pass has ended.
    #[serde(flatten)]
    pub pass: Lateness,
    /// After it, while nothing else is at work: how late deadlines are on this machine anyway.
    pub idle: Lateness,
}

/// How late some deadlines were, each counted from its own time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    pub deadlines: u64,
    /// How often the thread slept for them: fewer than deadlines where it was late by several at once.
    pub wake_ups: u64,
    pub max_ns: u64,
    /// Deadlines by their lateness: the first below a microsecond, then sixteen for each doubling. Without empty ones at the
    /// end.
    pub bins: Vec<u64>,
}

/// The bin of a lateness.
pub fn bin_of(ns: u64) -> usize {
    let parts = ns.saturating_mul(BINS_PER_DOUBLING) / FIRST_NS;
    match parts.checked_ilog2().and_then(|it| it.checked_sub(BINS_PER_DOUBLING.ilog2())) {
        Some(doubling) => {
            let part = (parts >> doubling) % BINS_PER_DOUBLING;
            ((1 + BINS_PER_DOUBLING * u64::from(doubling) + part) as usize).min(BINS - 1)
        }
        None => 0,
    }
}

/// Where a bin begins; it ends where the next one begins.
pub fn begins_ns(bin: usize) -> f64 {
    let Some(above) = bin.checked_sub(1) else { return 0.0 };
    let (doubling, part) = (above as u64 / BINS_PER_DOUBLING, above as u64 % BINS_PER_DOUBLING);
    let sixteenths = (BINS_PER_DOUBLING + part) as f64 / BINS_PER_DOUBLING as f64;
    FIRST_NS as f64 * sixteenths * 2f64.powi(doubling.min(DOUBLINGS) as i32)
}

impl Beats {
    /// Whether a worker can have counted this.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.period_ns != PERIOD_NS {
            return Err(format!("its beats have a period of {} ns, and not of {PERIOD_NS}", self.period_ns));
        }
        if self.idle.deadlines != IDLE_DEADLINES {
            let idle = self.idle.deadlines;
            return Err(format!("its pass ended with {idle} idle beats, and not with {IDLE_DEADLINES}"));
        }
        self.pass.check().and_then(|()| self.idle.check())
    }
}

impl Lateness {
    /// With the deadlines of another pass.
    pub fn add(&mut self, other: &Lateness) {
        self.deadlines = self.deadlines.saturating_add(other.deadlines);
        self.wake_ups = self.wake_ups.saturating_add(other.wake_ups);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.bins.resize(self.bins.len().max(other.bins.len()), 0);
        for (own, more) in self.bins.iter_mut().zip(&other.bins) {
            *own = own.saturating_add(*more);
        }
    }

    /// What this share of the deadlines were no later than: evenly spread within their bin, and the latest of all at most.
    pub fn quantile_ns(&self, share: f64) -> Option<f64> {
        let all = self.counted();
        let rank = (share * all).max(1.0);
        let mut before = 0.0;
        for (bin, &count) in self.bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = count as f64;
            if before + count >= rank {
                let (from, to) = (begins_ns(bin), begins_ns(bin + 1));
                return Some((from + (to - from) * (rank - before) / count).min(self.max_ns as f64));
            }
            before += count;
        }
        (all > 0.0).then_some(self.max_ns as f64)
    }

    pub fn median_ns(&self) -> Option<f64> {
        self.quantile_ns(0.5)
    }

    pub fn p99_ns(&self) -> Option<f64> {
        (self.deadlines >= P99_DEADLINES).then(|| self.quantile_ns(0.99)).flatten()
    }

    /// The share of the deadlines that were later than this.
    pub fn later_share(&self, ns: f64) -> Option<f64> {
        let all = self.counted();
        let later = self.bins.iter().enumerate().map(|(bin, &count)| {
            let (from, to) = (begins_ns(bin), begins_ns(bin + 1));
            count as f64 * ((to - ns) / (to - from)).clamp(0.0, 1.0)
        });
        (all > 0.0).then(|| later.sum::<f64>() / all)
    }

    /// The share that was more than two periods late.
    pub fn stalled_share(&self, period_ns: u64) -> Option<f64> {
        self.later_share(STALLED_PERIODS as f64 * period_ns as f64)
    }

    fn counted(&self) -> f64 {
        self.bins.iter().map(|it| *it as f64).sum()
    }

    fn check(&self) -> Result<(), String> {
        let counted = self.bins.iter().try_fold(0u64, |sum, it| sum.checked_add(*it));
        if counted != Some(self.deadlines) || self.bins.len() > BINS {
            return Err(format!("its bins do not have the {} deadlines of its beats", self.deadlines));
        }
        let last = self.bins.iter().rposition(|it| *it > 0);
        if last.is_some_and(|last| last != bin_of(self.max_ns)) {
            return Err(format!("the longest of its beats, {} ns, is not in their last bin", self.max_ns));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lateness_is_in_the_bin_that_begins_before_it_and_ends_after_it() {
        let powers =
            (0..64).flat_map(|power| [0, 1, 7, 13].map(|more| (1u64 << power).saturating_add(more << (power / 2))));
        for ns in powers.chain(0..5000).chain([999, 1000, 1_000_000, 2_000_000, u64::MAX]) {
            let bin = bin_of(ns);
            assert!(bin < BINS, "{ns}");
            assert!(begins_ns(bin) <= ns as f64, "{ns} in bin {bin} from {}", begins_ns(bin));
            assert!(bin + 1 == BINS || (ns as f64) < begins_ns(bin + 1), "{ns} in bin {bin}");
        }
        let wide = (1..BINS).map(|bin| begins_ns(bin + 1) / begins_ns(bin));
        assert!(wide.into_iter().all(|it| it <= 17.0 / 16.0), "sixteen for each doubling");
        assert_eq!([0, 999, 1000, 1062, 1063, 2000].map(bin_of), [0, 0, 1, 1, 2, 17]);
    }

    fn late(all: &[u64]) -> Lateness {
        let mut late = Lateness { deadlines: all.len() as u64, ..Lateness::default() };
        for &ns in all {
            late.bins.resize(late.bins.len().max(bin_of(ns) + 1), 0);
            late.bins[bin_of(ns)] += 1;
            late.max_ns = late.max_ns.max(ns);
        }
        late
    }

    #[test]
    fn quantiles_and_shares_are_those_of_the_deadlines_within_the_width_of_a_bin() {
        // As after 200 ms without the processor: the first was 200 ms late, the last 1 ms.
        let all: Vec<u64> = (1..=200).map(|ms| ms * 1_000_000).collect();
        let stall = late(&all);
        for (share, ns) in [(0.5, 100e6), (0.99, 198e6), (1.0, 200e6)] {
            let found = stall.quantile_ns(share).unwrap();
            assert!((found / ns - 1.0).abs() < 1.0 / 16.0, "{share}: {found}");
        }
        assert!(stall.quantile_ns(1.0).unwrap() <= 200e6, "nothing is later than the latest");
        let stalled = stall.stalled_share(PERIOD_NS).unwrap();
        assert!((stalled - 0.99).abs() < 0.005, "{stalled}");
        assert_eq!((late(&all[..99]).p99_ns(), late(&[]).median_ns(), late(&[]).later_share(0.0)), (None, None, None));
        let mut both = late(&[50_000; 300]);
        both.add(&stall);
        assert_eq!((both.deadlines, both.max_ns), (500, 200_000_000));
        assert!((both.stalled_share(PERIOD_NS).unwrap() - 0.4).abs() < 0.01);
        assert!(both.median_ns().unwrap() < 60_000.0);
    }

    #[test]
    fn beats_that_no_worker_can_have_counted_are_found_out() {
        let mut bins = vec![0; bin_of(70_000) + 1];
        bins[bin_of(70_000)] = 100;
        let idle = Lateness { deadlines: 100, wake_ups: 100, max_ns: 70_000, bins };
        let fine = Beats { period_ns: PERIOD_NS, pass: idle.clone(), idle };
        assert_eq!(fine.check(), Ok(()));
        let nothing = Beats { pass: Lateness::default(), ..fine.clone() };
        assert_eq!(nothing.check(), Ok(()), "of a pass shorter than a period");
        let wrong = |change: &dyn Fn(&mut Beats)| {
            let mut beats = fine.clone();
            change(&mut beats);
            beats.check().is_err()
        };
        assert!(wrong(&|it| it.period_ns = 10));
        assert!(wrong(&|it| it.idle = Lateness::default()));
        assert!(wrong(&|it| it.pass.deadlines = 101));
        assert!(wrong(&|it| it.pass.bins[0] = u64::MAX));
        assert!(wrong(&|it| it.pass.bins.resize(BINS + 1, 0)));
        assert!(wrong(&|it| it.pass.max_ns = 1));
    }
}
