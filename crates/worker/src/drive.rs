//! The timed loop: reach a block, consume it, and so on. Everything that faultline says rests on these few lines.
//!
//! **What could make the loop lie, and what is done about it**
//!
//! * *The compiler drops the work.* The consumer folds every block into a checksum that leaves the process and is
//!   compared with the other arms'; `copy`, which looks at two bytes only, passes its buffer through `black_box`.
//! * *The loop costs more for one method than for another.* It is generic over the access, the consumer and the
//!   source of spans, and compiled once for each combination: no `dyn`, no `match`, no allocation and no clock
//!   inside. The consumer is made here and not passed in, so that its sums live in registers: an argument of some
//!   size is written back to memory after each block.
//! * *The loop costs much compared with its subject.* A 64-byte read from a mapping takes some nanoseconds, so that
//!   an iterator that allocates, or a checked division, would be what is measured. The loop was compared with a
//!   hand-written C loop of the same PRNG and the same sum; the figures are in docs/BENCHMARKS.md.
//! * *Arms do different work.* Operations and bytes are counted here, from the slices that were really lent and not
//!   from what was asked for: one addition each, in registers. A block that comes up short is an error in every
//!   method.
//! * *The first iterations pay for something else.* Buffers are resident before the clock starts (`buffer`); opening
//!   and closing are timed on their own (`session`).
//!
//! **What remains.** Each combination is its own machine code, and code alignment alone can move a loop of a few
//! nanoseconds by a per cent or two. The PRNG's some two nanoseconds are part of every random operation, equally in
//! all methods; an out-of-order processor overlaps them with cached reads of a mapping, and hardly with a system
//! call. The offsets are computed, not loaded, so the reads of a mapping are independent and may overlap as well:
//! this measures throughput of independent lookups, not the latency of a dependent chain. That is a fact about the
//! workload, the same for every arm. Those of a replay are loaded, from a list that is read in order: 16 bytes an access, none
//! of which depends on data of the file either. Where a replay has a program's own work between its accesses, a clock is read for it: some
//! fifty nanoseconds of that work.

use std::io;

use schema::Consume;

use crate::{
    access::Access,
    at_work::AtWork,
    buffer::Buffer,
    consume::{Consumer, CopyOut, DecodeLines, Lines, PartOfBlock, Sum, SumBytes, Touch},
    source::{List, Pattern, Source, Spans, with_source},
};

/// What one thread did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub ops: u64,
    pub bytes: u64,
    /// Less than `bytes`, where only a part of each block is looked at.
    pub consumed: Option<u64>,
    pub checksum: u64,
}

impl Count {
    pub(crate) fn add(self, other: Count) -> Count {
        Count {
            ops: self.ops + other.ops,
            bytes: self.bytes + other.bytes,
            consumed: None,
            checksum: self.checksum.wrapping_add(other.checksum),
        }
    }
}

/// One thread's share of a pass. The words of the condition become types here, once, before the first block.
pub(crate) fn pass<A: Access>(
    access: &mut A,
    pattern: &Pattern,
    thread: u32,
    consume: Consume,
    destination: &mut Buffer,
) -> io::Result<Count> {
    let percent = pattern.consumed_percent;
    with_source!(pattern, S => with_spans(access, S::of(pattern, thread), percent, consume, destination))
}

/// Accesses of a replay, with a program's own work between them where the job has some: `Task` sees to it that it is of a consume
/// that has a loop for that.
pub(crate) fn replay<A: Access>(
    access: &mut A,
    spans: List<'_>,
    pattern: &Pattern,
    consume: Consume,
    destination: &mut Buffer,
) -> io::Result<Count> {
    match (pattern.work_ps_per_byte, consume) {
        (0, _) => with_spans(access, spans, pattern.consumed_percent, consume, destination),
        (work, Consume::Touch) => drive(access, spans, || AtWork::new(work, Touch::default())),
        (work, _) => drive(access, spans, || AtWork::new(work, Sum::default())),
    }
}

/// Accesses one after the other, from wherever they come.
fn with_spans<A: Access>(
    access: &mut A,
    spans: impl Spans,
    percent: u32,
    consume: Consume,
    destination: &mut Buffer,
) -> io::Result<Count> {
    match consume {
        Consume::Touch => drive_part(access, spans, percent, Touch::default),
        Consume::Sum => drive_part(access, spans, percent, Sum::default),
        Consume::Copy => drive_part(access, spans, percent, || CopyOut::new(destination)),
        Consume::Lines => drive_part(access, spans, percent, Lines::default),
        Consume::SumBytes => drive_part(access, spans, percent, SumBytes::default),
        Consume::DecodeLines => drive_part(access, spans, percent, DecodeLines::default),
    }
}

/// Whole blocks have a loop of their own, without the check for a part of a block.
fn drive_part<A: Access, C: Consumer>(
    access: &mut A,
    spans: impl Spans,
    percent: u32,
    consumer: impl FnOnce() -> C,
) -> io::Result<Count> {
    match percent {
        100.. => drive(access, spans, consumer),
        percent => {
            // Counted by the consumer itself: what was lent is more than what it looks at.
            let mut count =
                drive(access, spans, || PartOfBlock { percent: u64::from(percent), bytes: 0, inner: consumer() })?;
            count.bytes = count.consumed.unwrap_or(count.bytes);
            Ok(count)
        }
    }
}

/// The loop. A function of its own in the machine code, so that it can be found and read there.
#[inline(never)]
pub(crate) fn drive<A: Access, C: Consumer>(
    access: &mut A,
    spans: impl Spans,
    consumer: impl FnOnce() -> C,
) -> io::Result<Count> {
    let mut consumer = consumer();
    let (mut ops, mut bytes) = (0, 0);
    access.view_each(spans, |lent| {
        ops += 1;
        bytes += lent.len() as u64;
        consumer.take(lent, A::PRIVATE);
    })?;
    Ok(Count { ops, bytes, consumed: consumer.consumed(), checksum: consumer.checksum() })
}

#[cfg(test)]
mod tests {
    use std::{
        alloc::{GlobalAlloc, Layout, System},
        cell::Cell,
        sync::{Arc, atomic::AtomicU64},
        time::Instant,
    };

    use schema::{
        Arm, Span, Workload,
        protocol::{Hold, Job},
        runtime::NATIVE,
    };

    use super::*;
    use crate::{
        beat::{Counters, beat},
        method::METHODS,
        source::Accesses,
        task::{Refusal, Task},
    };

    /// Counts what each thread allocates.
    struct Counting;

    thread_local! {
        static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    }

    // SAFETY: every call is passed on to the system's allocator as it is.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            ALLOCATIONS.set(ALLOCATIONS.get() + 1);
            // SAFETY: as above.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            // SAFETY: as above.
            unsafe { System.dealloc(memory, layout) }
        }
    }

    #[global_allocator]
    static COUNTING: Counting = Counting;

    /// How often one pass of so many blocks allocates.
    fn allocations(arm: &Arm, file: &str, ops: u64) -> Result<u64, String> {
        let span = Span { offset: 0, bytes: 1 << 20 };
        let workload = Workload::Random;
        let job = Job { workload, block_bytes: 4096, ops, hold: Hold::Open, ..Job::new(arm, file, span) };
        let task = Task::new(job).map_err(|fault| fault.to_string())?;
        let method = METHODS.iter().find(|it| it.name() == arm.method).expect("a method of the table");
        method.support(&task)?;
        let mut session = method.session(task).map_err(|refusal| match refusal {
            Refusal::Unavailable(reason) => reason,
            Refusal::Failed(fault) => panic!("{fault}"),
        })?;
        let before = ALLOCATIONS.get();
        session.pass(0).map_err(|(during, fault)| format!("{during}: {fault}")).unwrap();
        Ok(ALLOCATIONS.get() - before)
    }

    #[test]
    fn no_method_allocates_more_in_a_pass_of_more_blocks() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, &[b'\n'; 1 << 20]).unwrap();
        let path = file.path().to_str().unwrap();
        for method in NATIVE.methods.iter().filter(|it| it.can.does(Workload::Random)) {
            let arm = Arm::new(NATIVE.name, method.name, &Default::default()).unwrap();
            match (allocations(&arm, path, 50), allocations(&arm, path, 5000)) {
                (Ok(few), Ok(many)) => assert_eq!(few, many, "{arm}"),
                (Err(reason), _) | (_, Err(reason)) => println!("skipped: {arm}: {reason}"),
            }
        }
    }

    struct InMemory<'a>(&'a [u8]);

    impl Access for InMemory<'_> {
        const PRIVATE: bool = false;

        fn view(&mut self, span: Span) -> io::Result<&[u8]> {
            Ok(&self.0[span.offset as usize..span.end() as usize])
        }
    }

    #[test]
    fn the_loop_of_a_beat_beside_a_pass_does_not_allocate() {
        let (mut pass, mut idle) = (Counters::new(), Counters::new());
        let (ended_ns, before) = (AtomicU64::new(5_000_000), ALLOCATIONS.get());
        beat(Instant::now(), &ended_ns, &mut pass, &mut idle);
        assert_eq!(ALLOCATIONS.get(), before);
    }

    #[test]
    fn no_source_and_no_consume_allocates_within_the_loop() {
        let bytes = vec![b'\n'; 1 << 16];
        let mut destination = Buffer::new(4096).unwrap();
        for &consume in Consume::ALL {
            let scan = (0..16).map(|at| Span { offset: at * 4096, bytes: 4096 });
            let list: Arc<[Span]> = scan.cycle().take(100).collect::<Vec<Span>>().into();
            for &workload in Workload::ALL.iter().filter(|it| **it != Workload::Command) {
                let (block, ops, consumed_percent) = (4096, 100, 90);
                let (aligned, threads, seed) = (false, 1, 1);
                let accesses = Accesses::of_one_thread(Arc::clone(&list));
                let (range, work_ps_per_byte) = (Span { offset: 0, bytes: 1 << 16 }, 0);
                let pattern = Pattern {
                    workload,
                    range,
                    block,
                    ops,
                    aligned,
                    threads,
                    consumed_percent,
                    seed,
                    accesses,
                    work_ps_per_byte,
                };
                let before = ALLOCATIONS.get();
                let count = pass(&mut InMemory(&bytes), &pattern, 0, consume, &mut destination);
                let allocates = ALLOCATIONS.get() > before;
                // A string for each line is what `decode-lines` is.
                assert_eq!(allocates, consume == Consume::DecodeLines, "{workload} {consume}");
                assert_eq!(count.unwrap().ops, 100);
            }
        }
    }
}
