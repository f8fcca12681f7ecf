//! The files of cgroup v2, and how controllers are handed down (Documentation/admin-guide/cgroup-v2.rst).

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::io::Errno;

use super::{
    Limits, Memory, PREFIX, described, errno, field, get,
    kernel::{Controller, Kernel},
    not_in_force, number, remove_patiently, set,
};
use crate::page_bytes;

const MAX: &str = "io.max";

pub(super) fn limit_memory(group: &Path, limits: &Limits) -> io::Result<()> {
    const FILE: &str = "memory.max";
    let Some(bytes) = limits.memory_bytes else { return Ok(()) };
    // As in v1: the worker's own memory must not go to swap. Without swap in the kernel there is no such file.
    let _ = set(group, "memory.swap.max", "0");
    set(group, FILE, &bytes.to_string())?;
    let found = get(group, FILE)?;
    match found.trim().parse::<u64>() {
        Ok(number) if number <= bytes && bytes - number < page_bytes() => Ok(()),
        _ => Err(not_in_force(group, FILE, &bytes.to_string(), &found)),
    }
}

pub(super) fn throttle(group: &Path, limits: &Limits) -> io::Result<()> {
    let device = limits.device.as_deref().unwrap_or_default();
    let rules = [("rbps", limits.read_bytes_per_s), ("riops", limits.read_ops_per_s)];
    let rules: Vec<String> =
        rules.iter().filter_map(|(key, limit)| limit.map(|limit| format!("{key}={limit}"))).collect();
    let command = format!("{device} {}", rules.join(" "));
    set(group, MAX, &command)?;
    let found = get(group, MAX)?;
    let line = line_of(&found, device).unwrap_or_default();
    match rules.iter().all(|rule| line.split(' ').any(|word| word == rule)) {
        true => Ok(()),
        false => Err(not_in_force(group, MAX, &command, &found)),
    }
}

/// Releases throttled requests; a failure costs time only.
pub(super) fn release(group: &Path, device: &str) {
    let _ = set(group, MAX, &format!("{device} rbps=max riops=max"));
}

pub(super) fn memory(group: &Path) -> Memory {
    let stat = get(group, "memory.stat").unwrap_or_default();
    let events = get(group, "memory.events").unwrap_or_default();
    Memory {
        used_bytes: number(group, "memory.current"),
        peak_bytes: number(group, "memory.peak"),
        file_bytes: field(&stat, "file"),
        anonymous_bytes: field(&stat, "anon"),
        mapped_bytes: field(&stat, "file_mapped"),
        dirty_bytes: field(&stat, "file_dirty"),
        writeback_bytes: field(&stat, "file_writeback"),
        faults: field(&stat, "pgfault"),
        major_faults: field(&stat, "pgmajfault"),
        refaulted_pages: field(&stat, "workingset_refault_file").or_else(|| field(&stat, "workingset_refault")),
        limit_hits: field(&events, "max"),
        out_of_memory_kills: field(&events, "oom_kill"),
    }
}

/// Lines read `254:0 rbytes=4096 wbytes=0 …`; a device that was never read has none.
pub(super) fn device_read_bytes(group: &Path, device: &str) -> io::Result<u64> {
    let text = get(group, "io.stat")?;
    let read = line_of(&text, device).and_then(|line| {
        line.split(' ').find_map(|word| word.strip_prefix("rbytes=").and_then(|bytes| bytes.parse().ok()))
    });
    Ok(read.unwrap_or(0))
}

fn line_of<'a>(text: &'a str, device: &str) -> Option<&'a str> {
    text.lines().find(|line| line.split(' ').next() == Some(device))
}

/// What was done to a group so that groups below it can have limits; undone when dropped.
///
/// A controller works in a group only when the group above lists it in `cgroup.subtree_control`, and, except at the
/// very root, a group that lists one may hold no processes itself ("no internal processes"). This process is in that
/// group, so it moves into a group beside the workers' groups. It does that only when it is alone there, because it must
/// not move processes of others.
#[derive(Debug, Default)]
pub(super) struct Delegation {
    done: Option<Done>,
}

#[derive(Debug)]
struct Done {
    kernel: Kernel,
    group: PathBuf,
    enabled: Vec<&'static str>,
    aside: Option<PathBuf>,
}

impl Delegation {
    pub(super) fn enable(&mut self, kernel: &Kernel, group: &Path, controllers: &[Controller]) -> io::Result<()> {
        let words = controllers.iter().map(|controller| controller.word());
        words.into_iter().try_for_each(|word| self.enable_word(kernel, group, word))
    }

    pub(super) fn enable_word(&mut self, kernel: &Kernel, group: &Path, controller: &'static str) -> io::Result<()> {
        if hands_down(group, controller)? {
            return Ok(());
        }
        let done = self.done.get_or_insert_with(|| Done {
            kernel: kernel.clone(),
            group: group.to_path_buf(),
            enabled: Vec::new(),
            aside: None,
        });
        let command = format!("+{controller}");
        let mut put = set(group, CONTROL, &command);
        if put.as_ref().is_err_and(|error| errno(error) == Some(Errno::BUSY.raw_os_error())) {
            done.step_aside()?;
            put = set(group, CONTROL, &command);
        }
        put?;
        done.enabled.push(controller);
        Ok(())
    }

    /// The group into which this process moves, or has moved.
    pub(super) fn aside(kernel: &Kernel, group: &Path) -> PathBuf {
        group.join(format!("{PREFIX}{}-aside", kernel.pid))
    }
}

impl Done {
    fn step_aside(&mut self) -> io::Result<()> {
        alone(&get(&self.group, PROCESSES)?, self.kernel.pid, &self.group)?;
        let aside = Delegation::aside(&self.kernel, &self.group);
        (self.kernel.make)(&aside)
            .map_err(|error| described(error, format_args!("cannot make {}", aside.display())))?;
        self.aside = Some(aside.clone());
        set(&aside, PROCESSES, &self.kernel.pid.to_string())
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        let _turn = turn(&self.group);
        // In this order: while a controller is enabled, no process may be moved back. Failures are ignored: a group that
        // stays is in the cleanup journal.
        for controller in self.enabled.iter().filter(|it| !limits_a_neighbour(&self.group, it)) {
            let _ = set(&self.group, CONTROL, &format!("-{controller}"));
        }
        if let Some(aside) = &self.aside {
            let _ = set(&self.group, PROCESSES, &self.kernel.pid.to_string());
            let _ = remove_patiently(aside, self.kernel.remove);
        }
    }
}

/// Whether a group below this one has limits of a controller. They would go with it: the kernel takes the files away.
fn limits_a_neighbour(group: &Path, controller: &str) -> bool {
    let Ok(entries) = fs::read_dir(group) else { return true };
    let groups = entries.filter_map(|it| it.ok()).filter(|it| it.file_type().is_ok_and(|it| it.is_dir()));
    let is_limited = |group: &Path| {
        let set = |(file, plain): &(&str, &str)| match fs::read_to_string(group.join(file)) {
            Ok(text) => !text.trim().is_empty() && text.trim() != *plain,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        LIMITS.iter().filter(|(file, _)| file.split('.').next() == Some(controller)).any(set)
    };
    groups.map(|it| it.path()).any(|it| is_limited(&it))
}

/// The files in which a group's limits are, and what they say without one (Documentation/admin-guide/cgroup-v2.rst).
const LIMITS: [(&str, &str); 9] = [
    ("memory.max", "max"),
    ("memory.high", "max"),
    ("memory.swap.max", "max"),
    ("memory.low", "0"),
    ("memory.min", "0"),
    ("io.max", ""),
    ("io.latency", ""),
    ("io.weight", "default 100"),
    ("io.bfq.weight", "default 100"),
];

/// How long another process may take to make its groups.
const PATIENCE: Duration = Duration::from_secs(2);

/// Held while controllers and groups below a group are changed, so that no controller is switched off between the look of
/// another faultline that it is on and the limit that is set then. Who does not get it goes on without.
pub(super) fn turn(group: &Path) -> Option<File> {
    crate::folder::lock(group, PATIENCE)
}

const CONTROL: &str = "cgroup.subtree_control";
const PROCESSES: &str = "cgroup.procs";

/// Whether the groups below one have a controller.
fn hands_down(group: &Path, controller: &str) -> io::Result<bool> {
    Ok(get(group, CONTROL)?.split_whitespace().any(|word| word == controller))
}

/// Whether a group can have limited ones below it, as far as that is seen while nothing is changed: it has the controller for them
/// already, or holds no process but this one, which can step aside. The group at the root holds processes beside its groups.
pub(super) fn may_enable(kernel: &Kernel, group: &Path, controller: &str) -> io::Result<()> {
    let is_root = !group.join("cgroup.type").exists();
    if is_root || hands_down(group, controller).unwrap_or(false) {
        Ok(())
    } else {
        alone(&get(group, PROCESSES)?, kernel.pid, group)
    }
}

/// Whether `pid` is the only process of a group.
fn alone(processes: &str, pid: u32, group: &Path) -> io::Result<()> {
    let others = processes.lines().filter(|line| line.trim() != pid.to_string()).count();
    match others {
        0 => Ok(()),
        others => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!(
                "{others} other processes are in {}, and in cgroup v2 a group that holds processes cannot limit the \
                 groups below it; start faultline in a group of its own: \
                 `systemd-run --scope -p Delegate=yes faultline …`",
                group.display()
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::{hierarchy::tests_of_the_machine, is_group, remove};
    use std::process::Command;

    #[test]
    fn nobody_elses_processes_are_moved() {
        assert!(alone("77\n", 77, Path::new("/own")).is_ok());
        assert!(alone("", 77, Path::new("/own")).is_ok());
        let reason = alone("76\n77\n0\n", 77, Path::new("/own")).unwrap_err().to_string();
        assert!(reason.contains("2 other processes are in /own") && reason.contains("Delegate=yes"), "{reason}");
    }

    #[test]
    fn beside_other_processes_no_group_can_be_limited_unless_the_controller_is_there_or_it_is_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        let kernel = Kernel { pid: 77, ..Kernel::real(Path::new("/")) };
        let may = || may_enable(&kernel, folder.path(), "memory").is_ok();
        write(CONTROL, "io\n");
        write(PROCESSES, "76\n77\n");
        assert!(may(), "the root has no type");
        write("cgroup.type", "domain\n");
        assert!(!may());
        write(PROCESSES, "77\n");
        assert!(may());
        write(PROCESSES, "76\n77\n");
        write(CONTROL, "io memory\n");
        assert!(may());
    }

    /// The rule is the kernel's, so this tests it on the kernel, with whatever controller the tree has to give: a child
    /// stands in for this process.
    #[test]
    fn a_process_steps_aside_for_its_cgroups_and_comes_back() {
        let Some((tree, controller)) = tests_of_the_machine::tree_with_a_controller() else { return };
        let group = tree.join(format!("{PREFIX}{}-steps", std::process::id()));
        fs::create_dir(&group).unwrap();
        let mut given_to_the_tree = Delegation::default();
        let kernel = Kernel::real(Path::new("/"));
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let outcome = (|| {
            given_to_the_tree.enable_word(&kernel, &tree, controller)?;
            set(&group, PROCESSES, &child.id().to_string())?;
            let kernel = Kernel { pid: child.id(), ..kernel.clone() };
            let mut delegation = Delegation::default();
            delegation.enable_word(&kernel, &group, controller)?;
            let enabled = get(&group, CONTROL)?;
            let aside = Delegation::aside(&kernel, &group);
            let moved = get(&aside, PROCESSES)?;
            drop(delegation);
            io::Result::Ok((enabled, moved, get(&group, CONTROL)?, get(&group, PROCESSES)?, is_group(&aside)))
        })();
        child.kill().unwrap();
        child.wait().unwrap();
        remove(&group).unwrap();
        drop(given_to_the_tree);
        let (enabled, moved, disabled, back, stays) = outcome.unwrap();
        let pid = format!("{}\n", child.id());
        assert_eq!((enabled.trim(), moved), (controller, pid.clone()));
        assert_eq!((disabled.trim(), back, stays), ("", pid, false));
    }
}
