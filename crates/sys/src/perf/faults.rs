//! Every page fault, with the address that was touched.

use perf_event::{Builder, SampleFlag, events::Software};

use super::rings::{Rings, word};

/// Of each CPU: 65,536 faults; and as an ordinary user may have them (kernel.perf_event_mlock_kb is 516).
const RING_BYTES: usize = 2 << 20;
const SMALL_RING_BYTES: usize = 256 << 10;

/// One page fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageFault {
    pub thread: i32,
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
    pub address: u64,
}

pub struct PageFaults {
    rings: Rings,
    /// Also what system calls touch for the program.
    pub sees_calls: bool,
}

impl PageFaults {
    /// Of the thread `pid`, and of every thread and child that it starts from now on. They wait until they are enabled.
    ///
    /// # Errors
    /// Why the kernel does not record them, and what would change that.
    pub fn of(pid: u32) -> Result<PageFaults, String> {
        let event = |sees_calls: bool| {
            let mut event = Builder::new(Software::PAGE_FAULTS);
            event.exclude_kernel(!sees_calls).sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::ADDR);
            event
        };
        // kernel.perf_event_paranoid 2 leaves those of user space.
        let mut refused = String::new();
        for (sees_calls, bytes) in [(true, RING_BYTES), (true, SMALL_RING_BYTES), (false, SMALL_RING_BYTES)] {
            match Rings::of(event(sees_calls), pid, bytes) {
                Ok(rings) => return Ok(PageFaults { rings, sees_calls }),
                Err(why) => refused = why.to_string(),
            }
        }
        Err(refused)
    }

    /// # Errors
    /// What the kernel refused.
    pub fn enable(&mut self) -> Result<(), String> {
        self.rings.enable()
    }

    /// # Errors
    /// What the kernel refused.
    pub fn disable(&mut self) -> Result<(), String> {
        self.rings.disable()
    }

    /// Hands out what has come in since the last time, CPU after CPU.
    pub fn drain(&mut self, mut each: impl FnMut(PageFault)) {
        self.rings.drain(|bytes| page_fault(bytes).map(&mut each).is_some());
    }

    /// Once all have been drained: how many are missing because a ring was full.
    pub fn lost(&mut self) -> u64 {
        self.rings.lost()
    }
}

/// The order of fields follows from the flags above: process and thread, time, address.
fn page_fault(bytes: &[u8]) -> Option<PageFault> {
    let who = word(bytes, 0)?.to_ne_bytes();
    let thread = i32::from_ne_bytes([who[4], who[5], who[6], who[7]]);
    Some(PageFault { thread, time_ns: word(bytes, 8)?, address: word(bytes, 16)? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_of_any_length_are_a_page_fault_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(page_fault(&bytes).is_some(), bytes.len() >= 24);
        }
    }

    #[test]
    fn a_sample_says_which_thread_touched_what_and_when() {
        let bytes = [7u32.to_ne_bytes(), 8u32.to_ne_bytes()].concat();
        let bytes = [bytes, 9u64.to_ne_bytes().to_vec(), 0x7f00_1000u64.to_ne_bytes().to_vec()].concat();
        assert_eq!(page_fault(&bytes), Some(PageFault { thread: 8, time_ns: 9, address: 0x7f00_1000 }));
    }
}
