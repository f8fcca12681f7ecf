//! Whether the replay is what the program did: its recorded accesses by the recorded method, held against the program itself.
//!
//! Threat: a trace lacks accesses, or the program waits for the file otherwise than its replay does; then what the replay of
//! another method gains says nothing of the program. Defence: no advice where the two differ by more than `MOST`. What shows
//! the program's own time for its files: cold it takes longer than cached by what the file costs it. Cached, the program's work
//! and its accesses cannot be told apart from outside; its system time, or its page faults, are at least those of the replay.

use schema::{
    State,
    advice::{CheckedBy, Unchecked},
};

use crate::{
    measured::{Cell, Run},
    stats::SortedValues,
};

/// By how much the replay may be off, as a share of the program.
pub(super) const MOST: f64 = 0.15;

/// What was compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checked {
    pub(super) by: CheckedBy,
    /// Of the program and of the replay.
    pub(super) both: Result<[f64; 2], Unchecked>,
    /// What the counting of ticks may get wrong, in the unit of both.
    doubt: f64,
}

impl Checked {
    /// From times of the program and of the replay, each cold and cached.
    pub(super) fn by_difference(program: [Option<f64>; 2], replay: [Option<f64>; 2]) -> Checked {
        let more = |[cold, cached]: [Option<f64>; 2]| Some(cold? - cached?);
        let both = match (more(program), more(replay)) {
            (Some(program), _) if program <= 0.0 => Err(Unchecked::NoColdTime),
            (Some(program), Some(replay)) => Ok([program, replay]),
            _ => Err(Unchecked::NeedsBothStates),
        };
        Checked { by: CheckedBy::ColdLessCached, both, doubt: 0.0 }
    }

    /// From what both needed beside time, in a state without the device.
    pub(super) fn by_counts(run: &Run, program: &Cell, replay: &Cell) -> Checked {
        let by = if replay.arm().maps() { CheckedBy::Faults } else { CheckedBy::SystemTime };
        let of = |cell: &Cell| match by {
            CheckedBy::Faults => cell.count("minor_faults"),
            _ => cell.reading("system_ns", SortedValues::mean).value().copied(),
        };
        let both = of(program).zip(of(replay)).map(|(program, replay)| [program, replay]);
        let ticks = run.record.environment.tick_ns.value().map_or(program.tick_ns, |&it| it as f64);
        let doubt = match by {
            // Of the mean of so many passes.
            CheckedBy::SystemTime => 2.0 * ticks / (program.passes.len().max(1) as f64).sqrt(),
            _ => 0.0,
        };
        Checked { by, both: both.ok_or(Unchecked::NoReading), doubt }
    }

    pub(super) fn of(state: State, run: &Run, [program, replay]: [&Cell; 2], times: [[Option<f64>; 2]; 2]) -> Checked {
        match state {
            State::Cold => Checked::by_difference(times[0], times[1]),
            _ => Checked::by_counts(run, program, replay),
        }
    }

    /// The replay over the program, less 1.
    pub(super) fn off(&self) -> Option<f64> {
        let [program, replay] = self.both.as_ref().ok()?;
        Some(replay / program - 1.0).filter(|it| it.is_finite())
    }

    pub(super) fn passed(&self) -> bool {
        let Ok([program, replay]) = self.both else { return false };
        let too_much = replay > program * (1.0 + MOST) + self.doubt;
        let too_little = replay < program * (1.0 - MOST);
        !too_much && (self.by.is_one_sided() || !too_little)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_within_fifteen_percent_of_what_the_program_takes_longer_cold_is_the_program() {
        let passes = |replay: f64| Checked::by_difference([Some(80.0), Some(5.0)], [Some(replay + 1.0), Some(1.0)]);
        assert!(passes(75.0).passed() && passes(86.2).passed() && passes(63.8).passed());
        assert!(!passes(86.3).passed() && !passes(63.7).passed());
        assert!((passes(86.25).off().unwrap() - 0.15).abs() < 1e-9);
    }

    #[test]
    fn what_is_missing_is_said_and_nothing_passes_without_it() {
        let none = Checked::by_difference([Some(80.0), None], [Some(75.0), Some(1.0)]);
        assert_eq!((none.both.clone(), none.passed()), (Err(Unchecked::NeedsBothStates), false));
        let none = Checked::by_difference([Some(80.0), Some(81.0)], [Some(75.0), Some(1.0)]);
        assert_eq!((none.both.clone(), none.passed()), (Err(Unchecked::NoColdTime), false));
    }

    #[test]
    fn counts_show_only_that_the_replay_claims_no_more_than_the_program_has() {
        let counts = |replay: f64| Checked { by: CheckedBy::Faults, both: Ok([100.0, replay]), doubt: 0.0 };
        assert!(counts(10.0).passed() && counts(114.0).passed() && !counts(116.0).passed());
    }
}
