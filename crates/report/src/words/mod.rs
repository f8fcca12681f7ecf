//! What `analysis` found, in words: one file for each kind of finding that people read as a sentence.

use schema::findings::AnswerOf;

mod across;
pub(crate) mod advice;
mod beats;
mod caution;
mod claim;
mod crossover;
mod explanation;
mod forecast;
pub(crate) mod inspection;
mod line;
pub(crate) mod metric;
mod no_cost;
pub(crate) mod numbers;
mod reason;
pub(crate) mod runtime;
mod safepoints;
mod stall;
mod unseen;
mod warning;

pub(crate) use crate::layout::words::list;
pub use across::not_comparable;
pub(crate) use across::{fact, fact_says};
pub use advice::{advice_caveat, advice_reason, how, settles, unchecked};
pub use beats::beats;
pub use caution::caution;
pub use crossover::crossover;
pub use explanation::explanation;
pub use forecast::forecast_remark;
pub(crate) use line::at_size_of_job;
pub use line::line;
pub use no_cost::{no_cost, traits};
pub(crate) use reason::why_open;
pub use reason::{reason, reasons};
pub use safepoints::safepoints;
pub(crate) use stall::{StallNames, StallSetting, stall};
pub(crate) use unseen::few_ticks;
pub(crate) use warning::topic as warning_topic;
pub use warning::{fork_groups, warning};

/// Behind a number or a verdict, where there is room for a word: that it is of passes at the size of the job, or that such
/// passes do not confirm it.
pub(crate) fn of_passes(answer_of: AnswerOf, is_decided: bool) -> &'static str {
    match answer_of {
        AnswerOf::Job => ", job",
        AnswerOf::RoundsUnconfirmed if is_decided => ", unconfirmed",
        AnswerOf::Rounds | AnswerOf::RoundsUnconfirmed | AnswerOf::RoundsAndJob | AnswerOf::Neither => "",
    }
}

/// Of an answer of the rounds that was measured again.
pub const UNCONFIRMED: &str = "not confirmed at the size of the job";
