//! The controller: turns an experiment into a record. It sets and verifies states, starts workers and watches them
//! from outside. It never reads the measured bytes but to fill the page cache with them, and never computes a statistic.

pub mod cgroups;
pub mod counted;
pub mod execute;
pub mod link;
pub mod machine;
pub mod plan;
pub mod probe;
pub mod runtime;
pub mod scenario;
pub mod state;
pub mod target;
mod timeline;
pub mod trace;

pub use execute::{Hooks, INTERRUPTED, Progress, calibrate, execute};
pub use machine::{doctor, host, inspect};
pub use plan::{Plan, possible};
pub use target::{Target, device_of, fixture, named::Named};
