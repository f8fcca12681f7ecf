//! Every occurrence of a tracepoint.

use perf_event::{Builder, SampleFlag, events::Tracepoint};

use super::rings::{Rings, word};

/// One event as it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence<'a> {
    pub pid: u32,
    pub thread: u32,
    /// CLOCK_MONOTONIC, so that it can be put in order with what was seen otherwise.
    pub time_ns: u64,
    pub cpu: u32,
    /// The tracepoint's fields; `Format` says where they lie.
    pub fields: &'a [u8],
}

pub struct Recording(Rings);

impl Recording {
    /// Of the thread `pid`, and of every thread and child that it starts from now on. It waits until it is enabled.
    ///
    /// # Errors
    /// Why the kernel does not record it, and what would change that.
    pub fn of(tracepoint: u64, pid: u32, ring_bytes: usize) -> Result<Recording, String> {
        let mut event = Builder::new(Tracepoint::with_id(tracepoint));
        event.include_kernel().sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::CPU | SampleFlag::RAW);
        Rings::of(event, pid, ring_bytes).map(Recording)
    }

    /// # Errors
    /// What the kernel refused.
    pub fn enable(&mut self) -> Result<(), String> {
        self.0.enable()
    }

    /// # Errors
    /// What the kernel refused.
    pub fn disable(&mut self) -> Result<(), String> {
        self.0.disable()
    }

    /// Hands out what has come in since the last time, CPU after CPU.
    pub fn drain(&mut self, mut each: impl FnMut(Occurrence)) {
        self.0.drain(|bytes| occurrence(bytes).map(&mut each).is_some());
    }

    /// Once it is disabled and drained: how many events were lost because a ring was full.
    pub fn lost(&mut self) -> u64 {
        self.0.lost()
    }
}

/// The order of fields follows from the flags above: pid and thread, time, CPU and a filler, size and bytes.
fn occurrence(bytes: &[u8]) -> Option<Occurrence<'_>> {
    let half = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let size = half(24)? as usize;
    Some(Occurrence {
        pid: half(0)?,
        thread: half(4)?,
        time_ns: word(bytes, 8)?,
        cpu: half(16)?,
        fields: bytes.get(28..28usize.checked_add(size)?)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_make_a_sample_fail(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Some(occurrence) = occurrence(&bytes) {
                prop_assert!(occurrence.fields.len() <= bytes.len());
            }
        }
    }
}
