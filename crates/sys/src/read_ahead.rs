//! How far the kernel reads ahead for files of a file system: `ra_pages` of the backing device information (bdi) of its
//! superblock. A file system on one block device has the disk's; btrfs, NFS and FUSE have one of their own (mm/backing-dev.c,
//! `super_setup_bdi_name` in fs/super.c), and setting the disk's changes nothing for them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{device::Disk, mount::FileSystem};

const SYSFS: &str = "/sys";

/// The largest window of read-ahead for files of a file system, in bytes. `disk` is the block device under it, if any.
///
/// # Errors
/// No bdi of this file system can be found: on overlayfs it is that of the layer that a file lies in.
pub fn bytes(file_system: &FileSystem, disk: Option<&Disk>) -> io::Result<u64> {
    bytes_in(Path::new(SYSFS), file_system).or_else(|error| {
        // A partition has no bdi of its own; `queue/read_ahead_kb` shows the disk's. Not so on btrfs.
        match disk.filter(|_| file_system.kind != "btrfs") {
            Some(disk) => kib(&disk.queue("read_ahead_kb")?),
            None => Err(error),
        }
    })
}

/// The largest window that any file system of this machine has, in bytes; 0 where sysfs shows none. For files whose own
/// window is not known.
pub fn largest() -> u64 {
    let all = fs::read_dir(Path::new(SYSFS).join("class/bdi")).into_iter().flatten().flatten();
    let windows = all.filter_map(|bdi| kib(&fs::read_to_string(bdi.path().join("read_ahead_kb")).ok()?).ok());
    windows.max().unwrap_or(0)
}

/// How many devices a btrfs is spread over; 1 for every other file system. Counters of one of them would show a part of
/// what is read.
pub fn devices(file_system: &FileSystem) -> usize {
    devices_in(Path::new(SYSFS), file_system)
}

fn bytes_in(sysfs: &Path, file_system: &FileSystem) -> io::Result<u64> {
    let number = &file_system.device;
    let class = sysfs.join("class/bdi");
    // "MAJOR:MINOR" for disks and NFS, "MAJOR:MINOR-fuseblk" for FUSE on a block device.
    let mut places = vec![class.join(number), class.join(format!("{number}-fuseblk"))];
    places.extend(btrfs(sysfs, file_system).map(|folder| folder.join("bdi")));
    let found = places.iter().find_map(|place| fs::read_to_string(place.join("read_ahead_kb")).ok());
    kib(&found.ok_or_else(|| io::Error::other(format!("no bdi of {} {number} in sysfs", file_system.kind)))?)
}

fn devices_in(sysfs: &Path, file_system: &FileSystem) -> usize {
    let members = btrfs(sysfs, file_system).and_then(|folder| fs::read_dir(folder.join("devices")).ok());
    members.map_or(1, |it| it.count().max(1))
}

/// The folder of a mounted btrfs: `/sys/fs/btrfs/UUID`, found by a device of it.
fn btrfs(sysfs: &Path, file_system: &FileSystem) -> Option<PathBuf> {
    if file_system.kind != "btrfs" {
        return None;
    }
    let source = Path::new(&file_system.source);
    // /dev/mapper/NAME is a link to the name in sysfs.
    let source = fs::canonicalize(source).unwrap_or(source.to_path_buf());
    let device = source.file_name()?;
    let mut found = fs::read_dir(sysfs.join("fs/btrfs")).ok()?.flatten().map(|entry| entry.path());
    found.find(|folder| folder.join("devices").join(device).exists())
}

fn kib(text: &str) -> io::Result<u64> {
    let kib: u64 = text.trim().parse().map_err(|_| io::Error::other(format!("read_ahead_kb is {:?}", text.trim())))?;
    Ok(kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_system(kind: &str, device: &str, source: &str) -> FileSystem {
        FileSystem { kind: kind.into(), options: String::new(), device: device.into(), source: source.into() }
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn read_ahead_is_that_of_the_superblock_and_not_of_the_disk() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "class/bdi/254:0/read_ahead_kb", "8192\n");
        write(root.path(), "class/bdi/0:51/read_ahead_kb", "15360\n");
        write(root.path(), "class/bdi/8:1-fuseblk/read_ahead_kb", "128\n");
        write(root.path(), "fs/btrfs/0a1b/devices/faultline-test-disk", "");
        write(root.path(), "fs/btrfs/0a1b/bdi/read_ahead_kb", "4096\n");
        write(root.path(), "fs/btrfs/features/devices-are-elsewhere", "");
        let bytes = |kind, device, source| bytes_in(root.path(), &file_system(kind, device, source)).ok();
        assert_eq!(bytes("ext4", "254:0", "/dev/vda"), Some(8192 << 10));
        assert_eq!(bytes("nfs4", "0:51", "server:/export"), Some(15360 << 10));
        assert_eq!(bytes("fuseblk", "8:1", "/dev/sda1"), Some(128 << 10));
        assert_eq!(bytes("btrfs", "0:60", "/dev/faultline-test-disk"), Some(4096 << 10));
        assert_eq!(bytes("overlay", "0:70", "overlay"), None);
        assert_eq!(bytes("btrfs", "0:61", "/dev/another"), None);
    }

    #[test]
    fn a_btrfs_over_two_devices_is_known_and_every_other_file_system_has_one() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "fs/btrfs/0a1b/devices/one", "");
        write(root.path(), "fs/btrfs/0a1b/devices/two", "");
        assert_eq!(devices_in(root.path(), &file_system("btrfs", "0:60", "/dev/one")), 2);
        assert_eq!(devices_in(root.path(), &file_system("btrfs", "0:60", "/dev/elsewhere")), 1);
        assert_eq!(devices_in(root.path(), &file_system("xfs", "0:60", "/dev/one")), 1);
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        assert!(kib("much").is_err());
        assert_eq!(kib(" 128\n").unwrap(), 131_072);
    }
}
