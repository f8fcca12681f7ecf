//! Accesses to mapped memory that cannot end this process. Where a page of a file cannot be had (the disk is full, a device
//! fails, the file was cut), the kernel sends SIGBUS to the thread that touches it (mmap(2)). Here such an access ends, and
//! is an error: the handler puts a page of zeros in the place of the missing one, and the access goes on there.

use std::{cell::Cell, io, ops::Range, sync::Once};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

thread_local! {
    /// The addresses that this thread may miss a page of. The signal is sent to the thread that made the access.
    static TRIED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static MISSED: Cell<bool> = const { Cell::new(false) };
}

/// Makes accesses to these addresses, which are a mapping of the caller's. After an error the mapping no longer is what it
/// was: one of its pages is not the file's.
///
/// # Errors
/// A page could not be had.
pub(crate) fn attempt<T>(addresses: &Range<usize>, access: impl FnOnce() -> T) -> io::Result<T> {
    static READY: Once = Once::new();
    READY.call_once(prepare);
    MISSED.set(false);
    TRIED.set((addresses.start, addresses.end));
    let result = access();
    TRIED.set((0, 0));
    match MISSED.get() {
        true => Err(io::Error::other(
            "a mapped page could not be accessed (SIGBUS): the disk is full or failed, or the file was truncated",
        )),
        false => Ok(result),
    }
}

fn prepare() {
    // SAFETY: the action is zeroed, which is valid for the plain structure it is; the handler has the signature that
    // SA_SIGINFO asks for, and makes system calls and accesses to its thread's own cells only.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = missed as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn missed(_: libc::c_int, about: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives the handler of SA_SIGINFO a structure, in which SIGBUS has an address.
    let at = unsafe { (*about).si_addr() } as usize;
    let (start, end) = TRIED.get();
    let page = crate::page_bytes() as usize;
    if (start..end).contains(&at) {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::FIXED);
        // SAFETY: the page lies in a mapping whose owner said so in `attempt`, and no reference into it exists: it is
        // accessed by volatile loads and stores.
        if unsafe { mmap_anonymous((at / page * page) as *mut _, page, protection, flags) }.is_ok() {
            MISSED.set(true);
            return;
        }
    }
    // SAFETY: the default action, in force when the access is made again: it ends the process as without a handler.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}
