//! Events of the kernel, counted or recorded for one process and the threads and children it starts afterwards:
//! perf_event_open(2). Nothing is read from the output of another program.
//!
//! A counter is exact and costs little. A recording also says what each event was, through a ring of memory per CPU;
//! what did not fit is counted as lost.

mod counter;
mod faults;
mod format;
mod recording;
mod rings;
mod tracefs;

use std::{fs, io};

pub use counter::{CountedEvent, Counter};
pub use faults::{PageFault, PageFaults};
pub use format::{Format, TraceField};
pub use recording::{Occurrence, Recording};
pub use tracefs::{Tracefs, Tracepoint};

/// Says what an error of perf_event_open(2) means for a person, and what would change it.
fn explain(error: &io::Error) -> String {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let paranoid = paranoid.trim();
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => format!(
            "the kernel does not let this user count its events (kernel.perf_event_paranoid is {paranoid}); as root, with \
             CAP_PERFMON, or after `sysctl kernel.perf_event_paranoid=1` (tracepoints: -1), it would"
        ),
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "this machine has no such counter (virtual machines often have none of the processor's)".into()
        }
        Some(libc::ENOSYS) => "this kernel was built without perf events".into(),
        Some(libc::EMFILE | libc::ENFILE) => "too many open files; raise the limit with `ulimit -n`".into(),
        Some(libc::ESRCH) => "the process is gone".into(),
        _ => format!("perf_event_open: {error}"),
    }
}
