//! Times of one round side by side: the program as it is, the replay of what it did, and that of another arm. What a round of
//! the machine does to one of them it does to the others.

use std::collections::BTreeMap;

use schema::findings::Estimate;

use crate::{measured::Cell, stats};

/// The time of each round; of several cells that do the same, their mean.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Series(BTreeMap<u32, f64>);

impl Series {
    pub(crate) fn of<'a, 'r: 'a>(cells: impl IntoIterator<Item = &'a Cell<'r>>) -> Series {
        let mut rounds: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for cell in cells {
            for pass in cell.passes.iter().filter(|it| it.ns > 0.0) {
                let sum = rounds.entry(pass.round).or_default();
                *sum = (sum.0 + pass.ns, sum.1 + 1.0);
            }
        }
        Series(rounds.into_iter().map(|(round, (ns, count))| (round, ns / count)).collect())
    }

    #[cfg(test)]
    pub(super) fn planted(values: &[f64]) -> Series {
        Series((0..).zip(values.iter().copied()).collect())
    }

    pub(crate) fn middle(&self) -> Option<Estimate> {
        stats::median_of_positive(self.0.values().copied())
    }

    pub(super) fn beside<'s>(&'s self, other: &'s Series) -> impl Iterator<Item = (u32, f64, f64)> + 's {
        self.0.iter().filter_map(|(round, ns)| Some((*round, *ns, *other.0.get(round)?)))
    }

    /// How many times as long the rounds of this one take as those of the other.
    pub(crate) fn over(&self, other: &Series) -> Option<Estimate> {
        stats::median_of_positive(self.beside(other).map(|(_, own, other)| own / other))
    }
}

/// What taking an arm gains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gains {
    pub(crate) io: Estimate,
    pub(crate) program: Estimate,
    pub(crate) rounds: u32,
}

impl Gains {
    /// In each round, the program without the replay of what it did and with that of the arm.
    pub(crate) fn of(program: &Series, recorded: &Series, arm: &Series) -> Option<Gains> {
        let ratio = |(round, program, recorded): (u32, f64, f64)| {
            let after = program - recorded + *arm.0.get(&round)?;
            // A replay that takes longer than the program is none of it.
            Some(program / after).filter(|_| after > 0.0)
        };
        let ratios: Vec<f64> = program.beside(recorded).filter_map(ratio).collect();
        let rounds = ratios.len() as u32;
        Some(Gains { io: recorded.over(arm)?, program: stats::median_of_positive(ratios)?, rounds })
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
        let gains = Gains::of(&with(80.0), &with(75.0), &with(25.0)).unwrap();
        assert_eq!(gains.rounds, 7);
        for (value, expected) in [(gains.io, 3.0), (gains.program, 80.0 / 30.0)] {
            assert!((value.median - expected).abs() < 1e-9 && value.ci_high / value.ci_low < 1.0 + 1e-9, "{value:?}");
        }
    }

    #[test]
    fn rounds_that_only_one_of_them_has_do_not_count() {
        let program = series(&[80.0, 80.0, 80.0]);
        let arm = Series([(1, 25.0), (2, 25.0), (9, 1.0)].into());
        assert_eq!(Gains::of(&program, &series(&[75.0; 3]), &arm).unwrap().rounds, 2);
        assert_eq!(Gains::of(&program, &series(&[75.0; 3]), &Series::default()), None);
    }

    #[test]
    fn a_replay_that_takes_longer_than_its_program_gains_nothing() {
        let gains = Gains::of(&series(&[10.0; 6]), &series(&[75.0; 6]), &series(&[25.0; 6]));
        assert_eq!(gains, None);
    }
}
