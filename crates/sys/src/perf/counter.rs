use perf_event::{
    Builder,
    events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Software, Tracepoint},
};

use super::explain;

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedEvent {
    MinorFaults,
    MajorFaults,
    ContextSwitches,
    Migrations,
    Cycles,
    Instructions,
    DataTlbMisses,
    /// By the number that tracefs gives it.
    Tracepoint(u64),
}

/// One number that the kernel keeps; it stands still until it is enabled.
pub struct Counter(perf_event::Counter);

impl Counter {
    /// Of the thread `pid`, and of every thread and child that it starts from now on.
    ///
    /// # Errors
    /// Why the kernel does not count it, and what would change that.
    pub fn of(event: CountedEvent, pid: u32) -> Result<Counter, String> {
        let mut builder = match event {
            CountedEvent::MinorFaults => Builder::new(Software::PAGE_FAULTS_MIN),
            CountedEvent::MajorFaults => Builder::new(Software::PAGE_FAULTS_MAJ),
            CountedEvent::ContextSwitches => Builder::new(Software::CONTEXT_SWITCHES),
            CountedEvent::Migrations => Builder::new(Software::CPU_MIGRATIONS),
            CountedEvent::Cycles => Builder::new(Hardware::CPU_CYCLES),
            CountedEvent::Instructions => Builder::new(Hardware::INSTRUCTIONS),
            CountedEvent::DataTlbMisses => {
                Builder::new(Cache { which: CacheId::DTLB, operation: CacheOp::READ, result: CacheResult::MISS })
            }
            CountedEvent::Tracepoint(id) => Builder::new(Tracepoint::with_id(id)),
        };
        // Copying into a user's buffer happens in the kernel: leaving it out would count one side of the comparison.
        let counter = builder.observe_pid(process_id(pid)?).any_cpu().inherit(true).include_kernel().build();
        counter.map(Counter).map_err(|error| explain(&error))
    }

    /// # Errors
    /// What the kernel refused.
    pub fn enable(&mut self) -> Result<(), String> {
        self.0.enable().map_err(|error| explain(&error))
    }

    /// # Errors
    /// What the kernel refused.
    pub fn disable(&mut self) -> Result<(), String> {
        self.0.disable().map_err(|error| explain(&error))
    }

    /// Since it was made, over all the time that it was enabled.
    ///
    /// # Errors
    /// The kernel refused, or the counter shared the processor's registers with others and saw only a part.
    pub fn read(&mut self) -> Result<u64, String> {
        let read = self.0.read_count_and_time().map_err(|error| explain(&error))?;
        if read.time_running < read.time_enabled {
            return Err("the processor had too few registers to count this all the time".into());
        }
        Ok(read.count)
    }
}

pub(super) fn process_id(pid: u32) -> Result<i32, String> {
    // 0 would mean the calling thread.
    i32::try_from(pid).ok().filter(|&pid| pid > 0).ok_or_else(|| format!("{pid} is not a process"))
}
