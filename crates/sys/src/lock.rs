//! Locks that belong to an open file and not to a process (fcntl(2), "Open file description locks"): the kernel takes them
//! back when the last descriptor of it is closed, however its process ends, and every process that can open the file sees
//! them, whatever processes it can see.

use std::{fs::File, io, os::fd::AsRawFd};

/// Locks the whole file, which is open for writing; false when it is locked through another open file.
///
/// # Errors
/// This file system has no locks.
pub fn take(file: &File) -> io::Result<bool> {
    match request(file, libc::F_OFD_SETLK) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::EACCES) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Whether it is locked through another open file. Nothing is locked to find out.
///
/// # Errors
/// As `take`.
pub fn is_taken(file: &File) -> io::Result<bool> {
    Ok(request(file, libc::F_OFD_GETLK)? != libc::F_UNLCK)
}

/// The type of the lock that is there, or that was made.
fn request(file: &File, what: libc::c_int) -> io::Result<libc::c_int> {
    // SAFETY: all zero is valid for this plain structure of the kernel's: from the first byte, to the end, no process.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the structure outlives the call, which writes at most to it.
    match unsafe { libc::fcntl(file.as_raw_fd(), what, &raw mut lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(lock.l_type.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_seen_through_other_open_files_and_goes_with_the_last_descriptor() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::options().read(true).write(true).open(file.path()).unwrap();
        let (holder, other) = (open(), open());
        assert!(!is_taken(&other).unwrap());
        assert!(take(&holder).unwrap());
        let copy = holder.try_clone().unwrap();
        drop(holder);
        assert!(is_taken(&other).unwrap() && !take(&other).unwrap());
        drop(copy);
        assert!(!is_taken(&other).unwrap() && take(&other).unwrap());
    }
}
