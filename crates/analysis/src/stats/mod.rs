//! The statistics faultline uses, and no others: the median, with an interval that needs no model of the noise; and for
//! what the kernel counts by ticks, the ratio of sums; for numbers of several runs, the ratio of groups, and of two medians.
//!
//! Threats, and what answers them:
//!
//! * *The machine drifts, or changes level half-way.* Both arms of a round see it; log ratios are formed within rounds.
//! * *Noise is skewed and has outliers.* Ranks, not moments: one pass that took ten times as long moves an estimate by
//!   at most one rank.
//! * *Few rounds.* Ranks alone cannot give 95 % with fewer than six values; up to there the interval is stretched to
//!   what Student's t gives, if that is wider. One value has no interval at all.
//! * *The estimator's intervals are too narrow.* `cargo run --release -p faultline-analysis --example coverage` counts
//!   how often each candidate's interval holds the truth; `docs/METHODOLOGY.md` has the table and the decision.
//!
//! What remains: noise that depends on the arm and comes in spells longer than a round looks like a difference. The A/A
//! control shows its size.

mod groups;
mod interval;
mod medians;
mod sample;
mod sums;

pub use groups::{LEAST_RUNS, ratio_of_groups};
pub use interval::{median, median_of_positive};
pub use medians::ratio_of_medians;
pub use sample::SortedValues;
pub use sums::ratio_of_sums;
