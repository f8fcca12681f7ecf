//! Passes that read: nothing beside what every pass does.

use super::kind::PassSteps;

pub(super) struct Reads;

impl PassSteps for Reads {}
