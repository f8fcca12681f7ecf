//! The first screen of a run: its answer as a whole.

use schema::{Findings, Record};

use super::{
    answer::{self, Answer},
    commands,
};

/// Absent for studies, which answer by their claims, and where nothing was asked.
pub(crate) fn screen(record: &Record, findings: &Findings) -> Option<Answer> {
    match commands::are_those_of(record) {
        true => Some(commands::answer(record, findings)),
        false => answer::of_run(record, findings),
    }
}
