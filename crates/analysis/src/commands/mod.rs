//! What is found out about commands: how they reach their files, what else they differ in, and what part of a difference in
//! time is due to reading.

pub(crate) mod confounders;
pub(crate) mod mechanism;
pub(crate) mod share;
