//! What a run put outside the data folder and must take away again: an entry of the cleanup journal behind `faultline clean`.
//! It is written before the thing is made, so that a killed run leaves a trace of everything it may have left.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    pub kind: LeftoverKind,
    /// Absolute, its folder free of symbolic links.
    pub path: String,
    /// The bytes of the path where it is not UTF-8; `path` is then only for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_bytes: Option<Vec<u8>>,
    /// Seconds since 1970.
    pub made_unix_s: u64,
    pub owner: LeftoverOwner,
    /// Its process holds a lock on the entry as long as it runs, or needs it. Absent where the folder has no locks;
    /// then only `owner` shows whether the process runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub locked: bool,
    /// Which file or directory it is, once it is there; absent when the run died in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<FileIdentity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftoverKind {
    /// A test file, or a shared-memory object, named `.faultline-*.data`.
    File,
    /// A directory `faultline-*` of a cgroup file system, which held a worker back.
    Cgroup,
}

/// The process that made it. A pid alone is reused, by later processes, other boots, other containers and other hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftoverOwner {
    pub pid: u32,
    /// In clock ticks since boot (`/proc/PID/stat`, field 22).
    pub started_ticks: u64,
    pub host: String,
    pub boot_id: String,
    pub pid_namespace: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
}
