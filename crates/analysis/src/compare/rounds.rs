//! What the rounds of two cells say by themselves: whether both did equal work, and how many times faster one was.

use schema::findings::Estimate;

use super::equal_work::{self, Work};
use crate::{
    measured::{Cell, Run},
    stats,
};

pub(crate) struct Rounds {
    /// Rounds in which both have a valid pass.
    pub(crate) pairs: u32,
    /// Those of them in which both did work that took time.
    pub(crate) timed: u32,
    pub(crate) work: Work,
    /// Of the arm against the baseline.
    pub(crate) speedup: Option<Estimate>,
}

impl Rounds {
    pub(crate) fn of(run: &Run, baseline: &Cell, arm: &Cell) -> Rounds {
        let pairs = baseline.pairs(arm);
        let work = equal_work::check(run, baseline, arm, &pairs);
        let ratios: Vec<f64> =
            pairs.iter().filter_map(|(baseline, arm)| Some(baseline.ns_per_op()? / arm.ns_per_op()?)).collect();
        Rounds {
            pairs: pairs.len() as u32,
            timed: ratios.len() as u32,
            work,
            speedup: stats::median_of_positive(ratios),
        }
    }
}
