//! A disk of a test's own: a file system in a file, over a loop device.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use planted::Effort;

use crate::support::is_root;

/// Kinds of file system, each with the size in MiB that is not too small for it.
const KINDS: [(&str, u64); 3] = [("ext4", 48), ("xfs", 320), ("btrfs", 128)];
/// What is left of a disk that fails: the beginning of its file system, and nothing of its files.
const REST_BYTES: u64 = 1 << 20;

/// The kinds to try: one in the ordinary tests, all in `cargo xtask fault`, none without root, with the reason on stdout.
pub fn kinds() -> &'static [(&'static str, u64)] {
    if !is_root() {
        println!("skipped: only root can mount a disk of its own");
        return &[];
    }
    if Effort::is_asked() { &KINDS } else { &KINDS[..1] }
}

/// Mounted until it is dropped.
pub struct Disk {
    pub at: PathBuf,
    image: PathBuf,
    device: String,
    _folder: tempfile::TempDir,
}

impl Disk {
    /// `None`, with the reason on stdout, where it cannot be had.
    pub fn new(kind: &str, mebibytes: u64) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let (image, at) = (folder.path().join("image"), folder.path().join("mounted"));
        File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        fs::create_dir(&at).unwrap();
        let quiet: &[&str] = if kind == "ext4" { &["-q", "-F"] } else { &["-q"] };
        let (file, folder_name) = (image.to_str().unwrap(), at.to_str().unwrap());
        if !does(&format!("mkfs.{kind}"), &[quiet, &[file]].concat()) {
            println!("skipped: mkfs.{kind} is not here");
            return None;
        }
        if !does("mount", &["-o", "loop", file, folder_name]) {
            println!("skipped: no {kind} can be mounted here");
            return None;
        }
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let device = mounts.lines().find(|it| it.split(' ').nth(1) == Some(folder_name)).expect("it is mounted");
        let device = device.split(' ').next().unwrap().to_string();
        Some(Disk { at, image, device, _folder: folder })
    }

    pub fn free(&self) -> u64 {
        let about = rustix::fs::statvfs(&self.at).unwrap();
        about.f_bavail * about.f_frsize
    }

    /// All but so many bytes are taken.
    pub fn fill_but(&self, bytes: u64) {
        let ballast = self.at.join("ballast");
        let _ = fs::remove_file(&ballast);
        sync(&self.at);
        let file = File::create(&ballast).unwrap();
        let mut piece = self.free().saturating_sub(bytes);
        let mut at = 0;
        // What the file system needs for itself is not known before.
        while piece >= 4096 {
            match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), at, piece) {
                Ok(()) => at += piece,
                Err(_) => piece /= 2,
            }
            piece = piece.min(self.free().saturating_sub(bytes));
        }
        sync(&self.at);
    }

    /// From now on every read and write fails that is not in the first MiB: the device ends there.
    pub fn fail(&self) {
        File::options().write(true).open(&self.image).unwrap().set_len(REST_BYTES).unwrap();
        assert!(does("losetup", &["-c", &self.device]));
    }

    /// Writes to it wait, and no signal ends the wait (fs/super.c, `sb_start_write`).
    pub fn freeze(&self) -> bool {
        does("fsfreeze", &["-f", self.at.to_str().unwrap()])
    }

    pub fn thaw(&self) -> bool {
        does("fsfreeze", &["-u", self.at.to_str().unwrap()])
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let at = self.at.to_str().unwrap();
        if std::thread::panicking() {
            self.thaw();
            does("umount", &["-l", at]);
        } else {
            // A program that another test is starting has the descriptors of this process for a moment.
            assert!(sys::process::within(Duration::from_secs(60), || does("umount", &[at])), "{at} is in use");
        }
    }
}

fn does(program: &str, args: &[&str]) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    command.args(args).env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|it| it.success())
}

fn sync(folder: &Path) {
    rustix::fs::syncfs(File::open(folder).unwrap()).unwrap();
}
