//! Machines made of ordinary files: `proc/self` and cgroup trees in a temporary folder. Making a group copies the
//! control files of its parent, emptied, which is about what the kernel does.

use std::{fs, io, path::Path, path::PathBuf};

use super::{Hierarchy, kernel::Kernel};

/// Stands for this process in the fixtures.
pub(super) const PID: u32 = 77;

pub(super) struct Machine {
    pub(super) folder: tempfile::TempDir,
}

const MEMORY_V1: &[&str] = &[
    "cgroup.procs",
    "memory.limit_in_bytes",
    "memory.swappiness",
    "memory.stat",
    "memory.usage_in_bytes",
    "memory.max_usage_in_bytes",
    "memory.failcnt",
    "memory.oom_control",
];
const BLKIO_V1: &[&str] = &[
    "cgroup.procs",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.io_service_bytes",
];
const V2: &[&str] = &[
    "cgroup.procs",
    "cgroup.controllers",
    "cgroup.subtree_control",
    "memory.max",
    "memory.swap.max",
    "memory.stat",
    "memory.events",
    "memory.current",
    "io.max",
    "io.stat",
];

const V1_MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
";
const V1_OWN: &str = "7:blkio:/\n4:memory:/session/one\n2:cpu,cpuacct:/\n9:name=systemd:/\n";

impl Machine {
    fn new(own: &str, mounts: &str) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine { folder };
        machine.write("proc/self/cgroup", own);
        machine.write("proc/self/mountinfo", &format!("22 1 254:0 / / rw - ext4 /dev/vda rw\n{mounts}"));
        machine
    }

    /// Each controller in a tree of its own, this process deep in one of them and at the top of the other.
    pub(super) fn v1() -> Machine {
        Machine::new(V1_OWN, V1_MOUNTS)
            .group("sys/fs/cgroup/memory/session/one", MEMORY_V1)
            .group("sys/fs/cgroup/blkio", BLKIO_V1)
    }

    /// As v1, with a v2 tree beside it that has none of the two controllers.
    pub(super) fn hybrid() -> Machine {
        let machine = Machine::new(
            &format!("{V1_OWN}0::/session\n"),
            &format!("{V1_MOUNTS}41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"),
        );
        machine
            .group("sys/fs/cgroup/memory/session/one", MEMORY_V1)
            .group("sys/fs/cgroup/blkio", BLKIO_V1)
            .group("sys/fs/cgroup/unified", V2)
            .group("sys/fs/cgroup/unified/session", V2)
            .with("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n")
    }

    /// One tree; this process is in a scope that was delegated to it.
    pub(super) fn v2() -> Machine {
        Machine::v2_at("/user.slice/faultline.scope", "/")
            .group("sys/fs/cgroup", V2)
            .group("sys/fs/cgroup/user.slice", V2)
            .group(V2_OWN, V2)
            .with("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n")
            .with("sys/fs/cgroup/user.slice/faultline.scope/cgroup.controllers", "cpu io memory pids\n")
    }

    /// One tree, of which the mount shows only what lies below `shown`.
    pub(super) fn v2_at(own: &str, shown: &str) -> Machine {
        Machine::new(
            &format!("0::{own}\n"),
            &format!("30 23 0:26 {shown} /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"),
        )
    }

    pub(super) fn group(self, path: &str, files: &[&str]) -> Machine {
        for file in files {
            self.write(&format!("{path}/{file}"), "");
        }
        self
    }

    pub(super) fn v2_group(self, path: &str) -> Machine {
        self.group(path, V2)
    }

    pub(super) fn with(self, path: &str, text: &str) -> Machine {
        self.write(path, text);
        self
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(super) fn hierarchy(&self) -> Hierarchy {
        Hierarchy::detect_with(Kernel { root: self.folder.path().to_path_buf(), make, remove, pid: PID })
    }
}

pub(super) const V2_OWN: &str = "sys/fs/cgroup/user.slice/faultline.scope";

fn make(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    for entry in fs::read_dir(path.parent().unwrap())? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::write(path.join(entry.file_name()), "")?;
        }
    }
    Ok(())
}

/// Control files do not count, groups and processes do.
fn remove(path: &Path) -> io::Result<()> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(path)?.collect::<io::Result<_>>()?;
    if entries.iter().any(|entry| entry.path().is_dir()) || !fs::read(path.join("cgroup.procs"))?.is_empty() {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    entries.iter().try_for_each(|entry| fs::remove_file(entry.path()))?;
    fs::remove_dir(path)
}
