//! The controller: turns an experiment into a record. It sets and verifies states, starts workers and watches them
//! from outside. It never reads the measured bytes but to fill the page cache with them, and never computes a statistic.

pub mod calibrate;
pub mod ceiling;
pub mod cgroups;
pub mod cold;
pub mod counted;
pub mod doctor;
pub mod execute;
pub(crate) mod fill;
pub mod fixture;
pub mod host;
pub mod inspect;
pub mod link;
pub mod named;
pub mod observe;
pub mod plan;
pub mod possible;
pub mod probe;
pub mod runtime;
pub mod scenario;
pub mod sizing;
pub mod state;
pub mod steady;
pub mod target;
mod timeline;
mod writing;

pub use execute::{Hooks, INTERRUPTED, Progress, execute};
pub use named::Named;
pub use plan::Plan;
pub use target::{Target, device_of};
