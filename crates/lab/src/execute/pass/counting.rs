//! Counting around a pass: events of the kernel, of the worker's thread that makes it and of all that this thread starts.

use crate::counted::{Kit, PassCounters};

pub(in crate::execute) struct Counting<'a> {
    kit: Option<&'a Kit>,
    watch: Option<PassCounters>,
}

impl<'a> Counting<'a> {
    pub(in crate::execute) fn with(kit: &'a Kit) -> Counting<'a> {
        Counting { kit: Some(kit), watch: None }
    }

    /// For passes that are timed: an event that is counted costs time.
    pub(super) fn nothing() -> Counting<'a> {
        Counting { kit: None, watch: None }
    }

    /// What this thread starts from here on is counted with it.
    pub(super) fn attach(&mut self, thread: u32) {
        self.watch = self.kit.map(|it| it.watch(thread));
    }

    pub(super) fn start(&mut self) {
        self.watch.iter_mut().for_each(PassCounters::start);
    }

    pub(super) fn stop(&mut self) {
        self.watch.iter_mut().for_each(PassCounters::stop);
    }

    /// What was counted, of a pass that came so far.
    pub(in crate::execute) fn counted(self) -> Option<PassCounters> {
        self.watch
    }
}
