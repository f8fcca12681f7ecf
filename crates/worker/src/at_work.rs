//! A program's own work between the accesses of a replay. It is the one consumer that reads a clock, and it is in no other pass.

use std::time::Instant;

use crate::consume::Consumer;

/// The work of a program on the bytes of an access, as time on a processor: what is read ahead comes in meanwhile. What takes too long
/// once is taken off the next time.
pub(crate) struct AtWork<C> {
    ps_per_byte: u64,
    owed_ps: i64,
    inner: C,
}

impl<C> AtWork<C> {
    pub(crate) fn new(ps_per_byte: u64, inner: C) -> AtWork<C> {
        AtWork { ps_per_byte, owed_ps: 0, inner }
    }
}

impl<C: Consumer> Consumer for AtWork<C> {
    #[inline(always)]
    fn take(&mut self, bytes: &[u8], private: bool) {
        // Pages of a mapping come in while it is looked at.
        self.inner.take(bytes, private);
        let begin = Instant::now();
        let work = (bytes.len() as u64).saturating_mul(self.ps_per_byte).min(MOST_PS) as i64;
        self.owed_ps = self.owed_ps.saturating_add(work);
        self.owed_ps -= loop {
            let done = begin.elapsed().as_nanos().min(u128::from(MOST_PS / 1000)) as i64 * 1000;
            if done >= self.owed_ps {
                break done;
            }
            std::hint::spin_loop();
        };
    }

    fn checksum(self) -> u64 {
        self.inner.checksum()
    }
}

/// A quarter of an hour after one access.
const MOST_PS: u64 = 900_000_000_000_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::consume::{Sum, Touch};

    #[test]
    fn work_after_accesses_takes_its_time_in_all_and_changes_no_checksum() {
        let bytes = vec![3; 10_000];
        let begin = Instant::now();
        let mut at_work = AtWork::new(20_000, Sum::default());
        (0..50).for_each(|_| at_work.take(&bytes, false));
        let took = begin.elapsed();
        // 0.2 ms for each, and what comes too late once is made up for.
        assert!(took >= Duration::from_millis(10), "{took:?}");
        let mut plain = Sum::default();
        (0..50).for_each(|_| plain.take(&bytes, false));
        assert_eq!(at_work.checksum(), plain.checksum());
        // However much is asked for, no sum overflows.
        let mut hostile = AtWork::new(u64::MAX, Touch::default());
        hostile.take(&[], false);
        assert_eq!(hostile.checksum(), 0);
    }
}
