//! A private disk in memory: a loop device over a file without a name (memfd_create(2)). No other process uses it, so its
//! errors and counters belong to this process alone. The kernel removes all of it with the last descriptor, also when
//! the process is killed. It needs root.

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use rustix::{
    fs::{MemfdFlags, SealFlags},
    mount::MountAttrFlags,
};

use crate::{device, mount, process::output_within};

/// Of include/uapi/linux/loop.h.
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LO_FLAGS_AUTOCLEAR: u32 = 4;

/// `struct loop_config` with its `struct loop_info64`, of which only the flags are used.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    numbers: [u64; 5],
    encrypt: [u32; 3],
    flags: u32,
    names: [u8; 160],
    init: [u64; 2],
    reserved: [u64; 8],
}

/// Attempts: another process may take the free device first.
const TRIES: u32 = 8;
/// A file system on a disk in memory is made in less than a second.
const FORMATTING: Duration = Duration::from_secs(30);

pub struct MemoryDisk {
    device: File,
    path: PathBuf,
    memory: OwnedFd,
}

impl MemoryDisk {
    /// A disk of so many bytes, all zero; memory is taken as it is written.
    ///
    /// # Errors
    /// No root, no loop devices, or no memory.
    pub fn new(bytes: u64) -> io::Result<MemoryDisk> {
        let memory = rustix::fs::memfd_create("faultline", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&memory, bytes)?;
        let control = File::options().read(true).write(true).open("/dev/loop-control")?;
        let mut refused = io::Error::other("no loop device is free");
        for _ in 0..TRIES {
            // SAFETY: this request takes no argument.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = File::options().read(true).write(true).open(&path)?;
            match configure(device.as_raw_fd(), memory.as_raw_fd()) {
                Ok(()) => return Ok(MemoryDisk { device, path, memory }),
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => refused = error,
                Err(error) => return Err(error),
            }
        }
        Err(refused)
    }

    /// The device, for reading and writing.
    pub fn device(&self) -> &File {
        &self.device
    }

    /// # Errors
    /// The counters cannot be read.
    pub fn counters(&self) -> io::Result<device::DiskCounters> {
        device::Disk::of_source(&self.path.to_string_lossy())?.counters()
    }

    /// From now on every write to the device fails with EIO; dirty pages in the page cache show no error yet.
    ///
    /// # Errors
    /// What fcntl(2) said.
    pub fn refuse_writes(&self) -> io::Result<()> {
        Ok(rustix::fs::fcntl_add_seals(&self.memory, SealFlags::WRITE)?)
    }

    /// Makes a file system on it, with the system's own `mkfs.KIND`.
    ///
    /// # Errors
    /// The program is not installed, or what it said.
    pub fn format(&self, kind: &str, options: &[&str]) -> Result<(), String> {
        let program = format!("mkfs.{kind}");
        // mkfs is often in a folder that is not in an ordinary user's PATH.
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
            .map(|folder| folder.join(&program))
            .find(|path| path.is_file())
            .ok_or_else(|| format!("{program} is not installed"))?;
        let mut command = Command::new(found);
        command.args(options).arg(&self.path);
        let output = output_within(command, FORMATTING).map_err(|error| format!("{program}: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// Its file system, as a detached mount without a path.
    ///
    /// # Errors
    /// What the kernel refused: no root, or no such file system in this kernel.
    pub fn mount(&self, kind: &str) -> io::Result<Mount> {
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        Ok(Mount { root: mount::detached(kind, Some(&self.path), attributes)? })
    }
}

/// A mounted file system that the kernel removes with its last descriptor.
pub struct Mount {
    root: OwnedFd,
}

impl Mount {
    /// A new file, for reading and writing.
    ///
    /// # Errors
    /// What openat(2) said.
    pub fn create(&self, name: &str) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.root, Path::new(name), flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// Everything dirty to the device, metadata too.
    ///
    /// # Errors
    /// What syncfs(2) said.
    pub fn sync(&self) -> io::Result<()> {
        // A descriptor from fsmount(2) is one of O_PATH, which syncfs(2) does not take.
        use rustix::fs::{Mode, OFlags};
        let root = rustix::fs::openat(&self.root, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(rustix::fs::syncfs(&root)?)
    }
}

fn configure(device: RawFd, memory: RawFd) -> io::Result<()> {
    let config = LoopConfig {
        fd: memory as u32,
        block_size: 0,
        numbers: [0; 5],
        encrypt: [0; 3],
        flags: LO_FLAGS_AUTOCLEAR,
        names: [0; 160],
        init: [0; 2],
        reserved: [0; 8],
    };
    // SAFETY: the structure is the kernel's own by layout (the test below), and outlives the call.
    match unsafe { libc::ioctl(device, LOOP_CONFIGURE, &raw const config) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn the_structure_is_as_large_as_the_kernels() {
        // 8 + sizeof(struct loop_info64) + 8 * 8, by include/uapi/linux/loop.h.
        assert_eq!(size_of::<LoopConfig>(), 8 + 232 + 64);
        assert_eq!(std::mem::offset_of!(LoopConfig, flags), 8 + 52);
    }

    #[test]
    fn a_disk_in_memory_holds_what_is_written_until_it_refuses() {
        let disk = match MemoryDisk::new(4 << 20) {
            Ok(disk) => disk,
            Err(error) => return println!("skipped: no disk of our own: {error}"),
        };
        disk.device().write_all_at(b"hello", 8192).unwrap();
        disk.device().sync_all().unwrap();
        let mut back = [0; 5];
        disk.device().read_exact_at(&mut back, 8192).unwrap();
        assert_eq!(&back, b"hello");
        disk.refuse_writes().unwrap();
        disk.device().write_all_at(b"other", 8192).unwrap();
        assert!(disk.device().sync_all().is_err());
    }
}
