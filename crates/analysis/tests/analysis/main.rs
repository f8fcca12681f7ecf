//! Records in, findings out: made-up records with known answers.

mod advice;
mod answer;
mod around;
mod beats;
mod claims;
mod confirm;
mod confounders;
mod costs;
mod counted;
mod equal_work;
mod fills;
mod findings;
mod forks;
mod gate;
mod identity;
mod ledger;
mod properties;
mod runs;
mod safepoints;
mod support;
