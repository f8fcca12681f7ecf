//! Every occurrence of a tracepoint, through one ring of memory per CPU: an event that threads inherit cannot have one
//! ring for all of them (EINVAL).

use perf_event::{Builder, Clock, SampleFlag, Sampler, events::Tracepoint};

use super::{counter::process_id, explain};
use crate::processors;

/// PERF_RECORD_LOST and PERF_RECORD_SAMPLE of perf_event_open(2).
const LOST: u32 = 2;
const SAMPLE: u32 = 9;

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

pub struct Recording {
    rings: Vec<Sampler>,
    lost: u64,
}

impl Recording {
    /// Of the thread `pid`, and of every thread and child that it starts from now on. It waits until it is enabled.
    ///
    /// # Errors
    /// Why the kernel does not record it, and what would change that.
    pub fn of(tracepoint: u64, pid: u32, ring_bytes: usize) -> Result<Recording, String> {
        let pid = process_id(pid)?;
        let mut rings = Vec::new();
        for cpu in processors::online()? {
            let counter = Builder::new(Tracepoint::with_id(tracepoint))
                .observe_pid(pid)
                .one_cpu(cpu)
                .inherit(true)
                .include_kernel()
                .sample_period(1)
                .clockid(Clock::MONOTONIC)
                .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::CPU | SampleFlag::RAW)
                .build();
            let ring = counter.and_then(|counter| counter.sampled(ring_bytes)).map_err(|error| explain(&error))?;
            rings.push(ring);
        }
        Ok(Recording { rings, lost: 0 })
    }

    /// # Errors
    /// What the kernel refused.
    pub fn enable(&mut self) -> Result<(), String> {
        self.rings.iter_mut().try_for_each(|ring| ring.as_counter_mut().enable()).map_err(|error| explain(&error))
    }

    /// # Errors
    /// What the kernel refused.
    pub fn disable(&mut self) -> Result<(), String> {
        self.rings.iter_mut().try_for_each(|ring| ring.as_counter_mut().disable()).map_err(|error| explain(&error))
    }

    /// Hands out what has come in since the last time, CPU after CPU.
    pub fn drain(&mut self, mut each: impl FnMut(Occurrence)) {
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                let (kind, bytes) = (record.ty(), record.to_contiguous());
                match kind {
                    SAMPLE => {
                        if let Some(occurrence) = occurrence(&bytes) {
                            each(occurrence);
                        } else {
                            self.lost += 1;
                        }
                    }
                    // An id, then how many.
                    LOST => self.lost += word(&bytes, 8).unwrap_or(1),
                    _ => {}
                }
            }
        }
    }

    /// How many of the drained events were lost because the ring was full.
    pub fn lost(&self) -> u64 {
        self.lost
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

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
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
