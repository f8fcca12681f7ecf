//! The two controllers, and what stands in for the kernel in tests.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    Memory,
    Io,
}

impl Controller {
    pub(super) const ALL: [Controller; 2] = [Controller::Memory, Controller::Io];

    /// As in cgroup v2.
    pub(super) fn word(self) -> &'static str {
        match self {
            Controller::Memory => "memory",
            Controller::Io => "io",
        }
    }

    pub(super) fn word_v1(self) -> &'static str {
        match self {
            Controller::Memory => "memory",
            Controller::Io => "blkio",
        }
    }
}

/// What stands in for the kernel in tests: the root that all paths begin at, and how a directory comes with its
/// control files and goes with them.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    pub(super) root: PathBuf,
    pub(super) make: fn(&Path) -> io::Result<()>,
    pub(super) remove: fn(&Path) -> io::Result<()>,
    pub(super) pid: u32,
}

impl Kernel {
    pub(super) fn real(root: &Path) -> Kernel {
        Kernel {
            root: root.to_path_buf(),
            make: |path| fs::create_dir(path),
            remove: |path| fs::remove_dir(path),
            pid: std::process::id(),
        }
    }
}
