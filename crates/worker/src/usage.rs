//! What this process has spent so far, by getrusage(2): processor time, page faults, context switches.
//! Not its peak memory: `ru_maxrss` carries the parent's peak through exec, so the controller reads VmHWM instead.

use std::mem::MaybeUninit;

use schema::protocol::Usage;

pub(crate) fn now() -> Usage {
    of(libc::RUSAGE_SELF)
}

/// Of all children that have ended and were waited for, and of theirs.
pub(crate) fn of_children() -> Usage {
    of(libc::RUSAGE_CHILDREN)
}

fn of(whose: libc::c_int) -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to writable memory of the right size. The call cannot fail with these arguments, and if
    // it did the zeroed structure would be a valid one.
    let usage = unsafe {
        libc::getrusage(whose, usage.as_mut_ptr());
        usage.assume_init()
    };
    let nanoseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Usage {
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}

/// What was spent after `before`.
pub(crate) fn since(before: &Usage) -> Usage {
    between(before, &now())
}

pub(crate) fn between(before: &Usage, now: &Usage) -> Usage {
    Usage {
        user_ns: now.user_ns.saturating_sub(before.user_ns),
        system_ns: now.system_ns.saturating_sub(before.system_ns),
        minor_faults: now.minor_faults - before.minor_faults,
        major_faults: now.major_faults - before.major_faults,
        voluntary_switches: now.voluntary_switches - before.voluntary_switches,
        involuntary_switches: now.involuntary_switches - before.involuntary_switches,
    }
}
