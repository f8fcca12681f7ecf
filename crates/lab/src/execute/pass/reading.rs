//! Passes that read: nothing beside what every pass does.

use super::kind::Kind;

pub(super) struct Reads;

impl Kind for Reads {}
