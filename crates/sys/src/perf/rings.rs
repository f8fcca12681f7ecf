//! Every occurrence of an event, through one ring of memory per CPU: an event that threads inherit cannot have one ring for
//! all of them (EINVAL).

use perf_event::{Builder, Clock, Sampler};

use super::{counter::process_id, explain};
use crate::processors;

/// PERF_RECORD_LOST and PERF_RECORD_SAMPLE of perf_event_open(2).
const LOST: u32 = 2;
const SAMPLE: u32 = 9;

pub(super) struct Rings {
    rings: Vec<Sampler>,
    /// Samples that were taken out.
    taken: u64,
    /// As the records say, of which the last may be missing.
    said: u64,
}

impl Rings {
    /// Of the thread `pid`, and of every thread and child that it starts from now on. They wait until they are enabled.
    ///
    /// # Errors
    /// Why the kernel does not record it, and what would change that.
    pub(super) fn of(mut event: Builder, pid: u32, ring_bytes: usize) -> Result<Rings, String> {
        let pid = process_id(pid)?;
        let mut rings = Vec::new();
        for cpu in processors::online()? {
            event.observe_pid(pid).one_cpu(cpu).inherit(true).sample_period(1).clockid(Clock::MONOTONIC);
            let ring =
                event.build().and_then(|counter| counter.sampled(ring_bytes)).map_err(|error| explain(&error))?;
            rings.push(ring);
        }
        Ok(Rings { rings, taken: 0, said: 0 })
    }

    pub(super) fn enable(&mut self) -> Result<(), String> {
        self.rings.iter_mut().try_for_each(|ring| ring.as_counter_mut().enable()).map_err(|error| explain(&error))
    }

    pub(super) fn disable(&mut self) -> Result<(), String> {
        self.rings.iter_mut().try_for_each(|ring| ring.as_counter_mut().disable()).map_err(|error| explain(&error))
    }

    /// Hands out the samples that have come in since the last time, CPU after CPU. One that is not taken is lost.
    pub(super) fn drain(&mut self, mut takes: impl FnMut(&[u8]) -> bool) {
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                let (kind, bytes) = (record.ty(), record.to_contiguous());
                match kind {
                    SAMPLE => self.taken += u64::from(takes(&bytes)),
                    // An id, then how many.
                    LOST => self.said += word(&bytes, 8).unwrap_or(1),
                    _ => {}
                }
            }
        }
    }

    /// How many events were not taken out of the rings: once they are disabled and drained, those that were lost. The kernel
    /// writes how many it left out before the next one that fits, and after the last ones nothing comes (perf_event_open(2),
    /// PERF_RECORD_LOST); but each ring's event counts all of them.
    pub(super) fn lost(&mut self) -> u64 {
        let counts = self.rings.iter_mut().map(|ring| ring.as_counter_mut().read());
        let counted = counts.sum::<std::io::Result<u64>>().map_or(0, |all| all.saturating_sub(self.taken));
        counted.max(self.said)
    }
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
