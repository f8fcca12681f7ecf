//! A cgroup for one worker process, with less memory than the machine has, or a slower disk.
//!
//! It lies below the group of this process, so it can only lower limits. Where the kernel keeps the
//! two controllers differs: each in a hierarchy of its own (cgroup v1), both in one tree (v2), or one here and one
//! there (hybrid); `hierarchy` finds that out for each by itself, `v1` and `v2` hold what their files are called.
//!
//! What a limit means for measuring:
//! * A page of the page cache stays charged to the group that brought it in. A limit therefore does not apply to a file
//!   that was cached before: evict it first, and let the worker inside the group read it.
//! * The throttle counts what a process inside submits, read-ahead included, against whole disks. It holds requests
//!   back one by one, so a reader gets its bytes in steps of a read-ahead window, and only the average over many is the
//!   rate that was asked for: a pass has to last the time of twenty windows, and 3 s, to be within 5 % of it. What
//!   counts as read from the device (/proc/PID/io, io.stat) is what was submitted, up to a window more than arrived.
//! * Read-ahead that is held back when a pass ends keeps its pages locked, and those cannot be evicted. Removing the
//!   cgroup lets it through at once, so remove the cgroup before evicting the file, and evict again until nothing stays.
//! * A limit that cannot be read back as it was set is an error: nothing here slows things down approximately.

mod hierarchy;
mod kernel;
mod v1;
mod v2;

#[cfg(test)]
mod fixture;

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use hierarchy::Version;
pub use hierarchy::{Hierarchy, Note, memory_limit};
use kernel::{Controller, Kernel};

/// Prefix of the groups made here; no other group is ever removed.
pub const PREFIX: &str = "faultline-";

/// The limits of a cgroup. Without any limit no cgroup is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Page cache and private memory of the worker together.
    pub memory_bytes: Option<u64>,
    pub read_bytes_per_s: Option<u64>,
    pub read_ops_per_s: Option<u64>,
    /// `major:minor` of the whole disk that reads are held back on (`Disk::number`); partitions are refused.
    pub device: Option<String>,
}

/// One worker's groups, one for each hierarchy that its limits need. Dropping it removes them if they are empty.
#[derive(Debug)]
pub struct Cgroup {
    groups: Vec<Group>,
    device: Option<String>,
    kernel: Kernel,
    /// Keeps the controllers of the parent enabled (v2) as long as a cgroup needs them.
    _delegation: Arc<Mutex<v2::Delegation>>,
}

/// A directory of a cgroup file system, and what it is there for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    path: PathBuf,
    version: Version,
    controllers: Vec<Controller>,
}

/// What the kernel counted of a cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    pub memory: Result<Memory, String>,
    /// Bytes that went through the throttle.
    pub device_read_bytes: Result<u64, String>,
}

/// A cgroup's memory; a field is absent where this kernel does not count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    pub used_bytes: Option<u64>,
    pub peak_bytes: Option<u64>,
    /// Page cache.
    pub file_bytes: Option<u64>,
    /// Private memory.
    pub anonymous_bytes: Option<u64>,
    /// Of the page cache, what is in a page table.
    pub mapped_bytes: Option<u64>,
    pub dirty_bytes: Option<u64>,
    pub writeback_bytes: Option<u64>,
    pub faults: Option<u64>,
    pub major_faults: Option<u64>,
    /// Pages of files that came back after the limit had pushed them out, and would have stayed with more memory.
    pub refaulted_pages: Option<u64>,
    /// How often the limit was reached.
    pub limit_hits: Option<u64>,
    pub out_of_memory_kills: Option<u64>,
}

impl Memory {
    /// All but the page cache: anonymous memory, page tables and what else the kernel keeps for its processes. The total
    /// and the kinds are not counted at the same time, so that what is anonymous is at least in it.
    pub fn own_bytes(&self) -> Option<u64> {
        let anonymous = self.anonymous_bytes?;
        let beside_cache = self.used_bytes.zip(self.file_bytes).map_or(0, |(used, file)| used.saturating_sub(file));
        Some(anonymous.max(beside_cache))
    }
}

/// A name for the next group of this process: `faultline-<pid>-<n>`.
pub fn name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// What the kernel counts of the memory group that a process is in. Fields of groups at the top of their tree may be absent.
///
/// # Errors
/// No memory controller is mounted, or the process is gone.
pub fn memory_of(pid: u32) -> Result<Memory, String> {
    let place = hierarchy::memory_place_of(pid)?;
    // One file shows whether the group can be read; otherwise its fields would seem not to be counted by this kernel.
    get(&place.group, "memory.stat").map_err(|error| error.to_string())?;
    Ok(match place.version {
        Version::V1 => v1::memory(&place.group),
        Version::V2 => v2::memory(&place.group),
    })
}

/// Whether a path is a directory of a cgroup file system.
pub fn is_group(path: &Path) -> bool {
    // include/uapi/linux/magic.h: CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC.
    const MAGIC: [u64; 2] = [0x0027_e0eb, 0x6367_7270];
    path.is_dir() && rustix::fs::statfs(path).is_ok_and(|it| MAGIC.contains(&(it.f_type as u64)))
}

/// Whether processes or groups are in a group: rmdir(2) refuses it then. What cannot be looked at is taken to be in none.
pub fn is_in_use(path: &Path) -> bool {
    let processes = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
    let groups = fs::read_dir(path).into_iter().flatten().flatten();
    !processes.is_empty() || groups.into_iter().any(|it| it.file_type().is_ok_and(|kind| kind.is_dir()))
}

/// Removes one empty group, and waits a moment for processes that are on their way out of it.
///
/// # Errors
/// EBUSY: it has processes or groups of its own; otherwise as rmdir(2).
pub fn remove(path: &Path) -> io::Result<()> {
    remove_patiently(path, |path| fs::remove_dir(path))
}

impl Cgroup {
    /// Makes the groups and sets their limits. Nothing is left of it when this fails. Note `hierarchy.paths` in the
    /// cleanup journal before.
    ///
    /// # Errors
    /// A message for users: what was refused, and what would change that.
    pub fn new(hierarchy: &Hierarchy, name: &str, limits: Limits) -> io::Result<Cgroup> {
        check(name, &limits)?;
        let groups = hierarchy.groups(name, &limits)?;
        let parents = groups.iter().filter(|it| it.version == Version::V2).filter_map(|it| it.path.parent());
        // Until the limits are set: from then on they show that their controllers are needed.
        let _turns: Vec<fs::File> = parents.filter_map(v2::turn).collect();
        hierarchy.delegate(&groups)?;
        let mut cgroup = Cgroup {
            groups: Vec::new(),
            device: limits.device.clone(),
            kernel: hierarchy.kernel.clone(),
            _delegation: Arc::clone(&hierarchy.delegation),
        };
        for group in groups {
            (cgroup.kernel.make)(&group.path).map_err(|error| hierarchy::explain_making(error, &group))?;
            cgroup.groups.push(group);
        }
        for group in &cgroup.groups {
            group.limit(&limits)?;
        }
        Ok(cgroup)
    }

    /// Moves a process in, with all its threads. What it allocated and read before stays charged where it was.
    ///
    /// # Errors
    /// ESRCH: there is no such process; EACCES: it belongs to another user.
    pub fn admit(&self, pid: u32) -> io::Result<()> {
        for group in &self.groups {
            set(&group.path, "cgroup.procs", &pid.to_string())?;
        }
        Ok(())
    }

    /// Sets another limit on the memory of a cgroup that has one; what is above it by then is reclaimed first.
    ///
    /// # Errors
    /// A message for users: what was refused, and what would change that.
    pub fn set_memory(&self, bytes: u64) -> io::Result<()> {
        let limits = Limits { memory_bytes: Some(bytes), ..Limits::default() };
        let mut groups = self.groups.iter().filter(|it| it.controllers.contains(&Controller::Memory));
        groups.try_for_each(|group| group.limit_memory(&limits))
    }

    /// The directories that were created, for the cleanup journal.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.groups.iter().map(|group| group.path.clone()).collect()
    }

    /// What was counted so far; of the memory only while the cgroup stands.
    pub fn statistics(&self) -> Statistics {
        let of = |controller: Controller| {
            let found = self.groups.iter().find(|group| group.controllers.contains(&controller));
            found.ok_or_else(|| format!("the cgroup has no {} controller", controller.word()))
        };
        Statistics {
            memory: of(Controller::Memory).map(|group| match group.version {
                Version::V1 => v1::memory(&group.path),
                Version::V2 => v2::memory(&group.path),
            }),
            device_read_bytes: of(Controller::Io).and_then(|group| {
                let device = self.device.as_deref().expect("checked: no throttle without a device");
                let read = match group.version {
                    Version::V1 => v1::device_read_bytes(&group.path, device),
                    Version::V2 => v2::device_read_bytes(&group.path, device),
                };
                read.map_err(|error| error.to_string())
            }),
        }
    }

    /// Removes the groups. On an error their entry in the cleanup journal must stay.
    ///
    /// # Errors
    /// Processes are still inside.
    pub fn remove(mut self) -> io::Result<()> {
        self.remove_groups()
    }

    fn remove_groups(&mut self) -> io::Result<()> {
        let mut failed = Ok(());
        for group in std::mem::take(&mut self.groups) {
            // Read-ahead that the throttle still holds back keeps its pages locked, and those cannot be evicted.
            if let Some(device) = self.device.as_deref().filter(|_| group.controllers.contains(&Controller::Io)) {
                match group.version {
                    Version::V1 => v1::release(&group.path, device),
                    Version::V2 => v2::release(&group.path, device),
                }
            }
            if let Err(error) = remove_patiently(&group.path, self.kernel.remove) {
                failed = Err(described(error, format_args!("{} cannot be removed", group.path.display())));
            }
        }
        failed
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A failure is ignored here; `faultline clean` finds the groups through the cleanup journal.
        let _ = self.remove_groups();
    }
}

impl Group {
    fn limit(&self, limits: &Limits) -> io::Result<()> {
        for &controller in &self.controllers {
            let set = match (controller, self.version) {
                (Controller::Memory, _) => {
                    self.limit_memory(limits)?;
                    continue;
                }
                (Controller::Io, Version::V1) => v1::throttle(&self.path, limits),
                (Controller::Io, Version::V2) => v2::throttle(&self.path, limits),
            };
            set.map_err(|error| hierarchy::explain_setting(error, controller, limits))?;
        }
        Ok(())
    }

    fn limit_memory(&self, limits: &Limits) -> io::Result<()> {
        let set = match self.version {
            Version::V1 => v1::limit_memory(&self.path, limits),
            Version::V2 => v2::limit_memory(&self.path, limits),
        };
        set.map_err(|error| hierarchy::explain_setting(error, Controller::Memory, limits))
    }
}

impl Limits {
    fn throttles(&self) -> bool {
        self.read_bytes_per_s.is_some() || self.read_ops_per_s.is_some()
    }

    fn needs(&self, controller: Controller) -> bool {
        match controller {
            Controller::Memory => self.memory_bytes.is_some(),
            Controller::Io => self.throttles(),
        }
    }
}

fn check(name: &str, limits: &Limits) -> io::Result<()> {
    let wrong = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    if !name.starts_with(PREFIX) || name.contains('/') {
        return wrong(format!("{name} is not named {PREFIX}* and could never be cleaned up"));
    }
    if limits.throttles() && limits.device.is_none() {
        return wrong("reads are throttled on a disk, and this file system has none".into());
    }
    // In v1 a rate of 0 means no limit.
    if [limits.memory_bytes, limits.read_bytes_per_s, limits.read_ops_per_s].contains(&Some(0)) {
        return wrong("a limit of 0 cannot be measured".into());
    }
    Ok(())
}

fn remove_patiently(path: &Path, remove: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    // A process that was killed leaves its group when it has given back its memory, which takes a moment; 1 s in all.
    let mut pause = Duration::from_millis(1);
    loop {
        match remove(path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && pause < Duration::from_millis(600) => {
                thread::sleep(pause);
                pause *= 2;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => return other,
        }
    }
}

/// Writes one control file in one piece; the kernel takes each write for a whole command.
fn set(group: &Path, file: &str, value: &str) -> io::Result<()> {
    let path = group.join(file);
    let put = || fs::File::options().write(true).truncate(true).open(&path)?.write_all(value.as_bytes());
    put().map_err(|error| Refused { path: path.clone(), value: value.into(), error }.into())
}

fn get(group: &Path, file: &str) -> io::Result<String> {
    let path = group.join(file);
    fs::read_to_string(&path).map_err(|error| described(error, path.display()))
}

/// A control file that did not accept a value, with the errno that says why.
#[derive(Debug)]
struct Refused {
    path: PathBuf,
    value: String,
    error: io::Error,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{} does not accept \"{}\": {}", self.path.display(), self.value, self.error)
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> io::Error {
        io::Error::new(refused.error.kind(), refused)
    }
}

/// The errno behind an error of `set`.
fn errno(error: &io::Error) -> Option<i32> {
    let refused = error.get_ref().and_then(|it| it.downcast_ref::<Refused>());
    refused.map_or(error.raw_os_error(), |it| it.error.raw_os_error())
}

fn described(error: io::Error, what: impl std::fmt::Display) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// What the kernel made of a value is not what was asked for.
fn not_in_force(group: &Path, file: &str, wanted: &str, found: &str) -> io::Error {
    let path = group.join(file);
    io::Error::other(format!("{} was set to \"{wanted}\" and has the value \"{}\"", path.display(), found.trim()))
}

/// The number after a word, in files of lines such as `file 4096`.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// A file that holds one number.
fn number(group: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
