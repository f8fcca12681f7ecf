//! The file system under a path.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

use rustix::{
    fd::{AsFd, OwnedFd},
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen},
};

/// A detached mount: it has a descriptor but no path, is invisible to other processes, and the kernel removes it when
/// the process ends, also when it is killed. It needs root. `source` is the device, for file systems that have one.
///
/// # Errors
/// What the kernel refused: no root, or no such file system in this kernel.
pub fn detached(kind: &str, source: Option<&Path>, attributes: MountAttrFlags) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    if let Some(source) = source {
        fsconfig_set_string(context.as_fd(), "source", source)?;
    }
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Whether files of such a file system have no other place than the page cache, by its name.
pub fn is_memory(kind: &str) -> bool {
    matches!(kind, "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs")
}

/// What is mounted where a file lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// `ext4`, `xfs`, `overlay`, `tmpfs`, …
    pub kind: String,
    pub options: String,
    /// `major:minor` of the backing device; `0:…` where there is none.
    pub device: String,
    pub source: String,
}

impl FileSystem {
    /// Files here have no other place than the page cache: nothing can be evicted, nothing is ever cold.
    pub fn is_memory(&self) -> bool {
        is_memory(&self.kind)
    }

    /// Opening a file here may wait for a server, or for a program of a user's, that does not answer.
    pub fn may_wait(&self) -> bool {
        const SERVED: [&str; 15] = [
            "nfs", "nfs4", "cifs", "smb3", "ceph", "afs", "9p", "fuse", "lustre", "beegfs", "gpfs", "orangefs",
            "pvfs2", "coda", "virtiofs",
        ];
        SERVED.contains(&self.kind.as_str()) || self.kind.starts_with("fuse.")
    }

    /// Files here are made up by the kernel when they are read.
    pub fn is_pseudo(&self) -> bool {
        const PSEUDO: [&str; 13] = [
            "proc",
            "sysfs",
            "cgroup",
            "cgroup2",
            "debugfs",
            "tracefs",
            "securityfs",
            "configfs",
            "devpts",
            "mqueue",
            "pstore",
            "efivarfs",
            "bpf",
        ];
        PSEUDO.contains(&self.kind.as_str())
    }
}

/// Finds the mount that a file lies on, by its device number and then by the longest mount point.
///
/// # Errors
/// The path cannot be looked at, or no mount fits (a file system mounted in another namespace).
pub fn file_system(path: &Path) -> io::Result<FileSystem> {
    let path = fs::canonicalize(path)?;
    let device = fs::metadata(&path)?.dev();
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = fs::read("/proc/self/mountinfo")?;
    find(&mounts, &path, &device)
        .ok_or_else(|| io::Error::other(format!("no mount in /proc/self/mountinfo holds {}", path.display())))
}

/// What a file lies on whose device is known from a mapping of it, by the text of a mountinfo. Nothing is opened.
pub fn of_device(mounts: &[u8], device: [u32; 2]) -> Option<FileSystem> {
    let device = format!("{}:{}", device[0], device[1]);
    mounts.split(|it| *it == b'\n').find_map(|line| {
        let point = unescaped(line.split(|it| *it == b' ').nth(4)?);
        find(line, Path::new(OsStr::from_bytes(&point)), &device).filter(|it| it.device == device)
    })
}

/// proc_pid_mountinfo(5): `36 35 98:0 /root /mount/point options [fields…] - kind source super-options`.
/// Mount points need not be UTF-8.
pub(crate) fn find(mounts: &[u8], path: &Path, device: &str) -> Option<FileSystem> {
    mounts
        .split(|it| *it == b'\n')
        .filter_map(|line| {
            let point = unescaped(line.split(|it| *it == b' ').nth(4)?);
            let line = String::from_utf8_lossy(line);
            let (left, right) = line.split_once(" - ")?;
            let left: Vec<&str> = left.split(' ').collect();
            let right: Vec<&str> = right.split(' ').collect();
            let (number, of_mount, kind) = (*left.get(2)?, *left.get(5)?, *right.first()?);
            path.starts_with(OsStr::from_bytes(&point)).then(|| {
                // btrfs gives files other device numbers than the mount has, so the number only ranks.
                let rank = (number == device, point.len());
                let options = match right.get(2) {
                    Some(of_super_block) => format!("{of_mount},{of_super_block}"),
                    None => of_mount.to_string(),
                };
                let source = unescape(right.get(1).unwrap_or(&""));
                (rank, FileSystem { kind: kind.to_string(), options, device: number.to_string(), source })
            })
        })
        // The last of equals is the one mounted on top.
        .max_by(|a, b| a.0.cmp(&b.0))
        .map(|(_, found)| found)
}

/// Spaces and the like stand as `\040` in mountinfo.
pub(crate) fn unescape(text: &str) -> String {
    String::from_utf8_lossy(&unescaped(text.as_bytes())).into_owned()
}

fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let octal = bytes.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if bytes[at] == b'\\' => {
                out.push(byte);
                at += 4;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

/// Whether the kernel makes a file's content up as it is read, by its path alone: devices, and what procfs and sysfs show. Files
/// in shared memory are files.
pub fn is_made_up(path: &str) -> bool {
    ["/dev/", "/proc/", "/sys/"].iter().any(|it| path.starts_with(it)) && !path.starts_with("/dev/shm/")
}

/// What nearly every program reads when it starts, by its path alone: libraries, their configuration, the words of a language;
/// and what is made up.
pub fn is_of_the_system(path: &str) -> bool {
    const FOLDERS: [&str; 6] = ["/usr/lib", "/lib", "/usr/libexec", "/etc", "/usr/share/locale", "/nix/store"];
    // /usr/lib64, of another architecture.
    const BITS: [&str; 3] = ["32", "64", "x32"];
    let is_below = |folder: &str| Path::new(path).starts_with(folder);
    let of_bits = |folder: &str| BITS.iter().any(|it| is_below(&format!("{folder}{it}")));
    is_made_up(path) || FOLDERS.into_iter().any(is_below) || ["/usr/lib", "/lib"].into_iter().any(of_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:26 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=1024k
31 22 0:27 / /mnt/my\\040disk rw - btrfs /dev/loop0 rw,space_cache
";

    #[test]
    fn shared_memory_has_files_and_devices_have_none() {
        assert!(["/dev/null", "/proc/self/maps", "/sys/kernel"].into_iter().all(is_made_up));
        assert!(!["/dev/shm/file", "/device", "/data/dev/file"].into_iter().any(is_made_up));
    }

    #[test]
    fn a_folder_whose_name_begins_as_one_of_the_system_is_none() {
        let of_system =
            ["/lib/a.so", "/usr/lib64/a.so", "/usr/libx32/a.so", "/usr/libexec/a", "/etc/ld.so.cache", "/dev/x"];
        assert!(of_system.into_iter().all(is_of_the_system));
        let own = [
            "/library/a.db",
            "/libs/a.db",
            "/usr/library/a.db",
            "/etcetera/a.db",
            "/dev/shm/a.db",
            "/usr/share/dict/words",
            "/home/a",
        ];
        assert!(!own.into_iter().any(is_of_the_system));
    }

    #[test]
    fn the_longest_mount_point_that_holds_the_path_wins() {
        let kind = |path: &str, device: &str| find(MOUNTS.as_bytes(), Path::new(path), device).unwrap().kind;
        assert_eq!(kind("/home/me/file", "254:0"), "ext4");
        assert_eq!(kind("/dev/shm/file", "0:26"), "tmpfs");
        // A btrfs file's own device number differs from its mount's.
        assert_eq!(kind("/mnt/my disk/file", "0:99"), "btrfs");
    }

    #[test]
    fn the_file_system_of_a_mapping_is_known_by_its_device_alone() {
        let kind = |device| of_device(MOUNTS.as_bytes(), device).map(|it| it.kind);
        assert_eq!([[254, 0], [0, 27], [0, 1]].map(kind), [Some("ext4".into()), Some("btrfs".into()), None]);
        let served = |kind: &str| {
            let line = format!("40 22 0:40 / /srv rw - {kind} there:/ rw\n");
            of_device(line.as_bytes(), [0, 40]).unwrap().may_wait()
        };
        assert_eq!(["nfs4", "fuse.sshfs", "fuseblk", "ext4"].map(served), [true, true, false, false]);
    }

    #[test]
    fn a_mount_point_need_not_be_utf_8() {
        let mounts = [MOUNTS.as_bytes(), b"32 22 8:1 / /media/\xff\xfe rw - xfs /dev/sda1 rw\n"].concat();
        let kind = |path: &[u8]| find(&mounts, Path::new(OsStr::from_bytes(path)), "8:1").unwrap().kind;
        assert_eq!(kind(b"/media/\xff\xfe/file"), "xfs");
        assert_eq!(kind(b"/media/other"), "ext4");
    }

    #[test]
    fn this_very_file_lies_on_a_known_file_system() {
        let found = file_system(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(!found.kind.is_empty() && !found.is_pseudo(), "{found:?}");
        assert!(file_system(Path::new("/proc/self/status")).unwrap().is_pseudo());
    }
}
