//! Where the groups of this process are, for each of the two controllers, and whether others can be made below them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::io::Errno;

use super::{
    Cgroup, Group, Limits, described, errno,
    kernel::{Controller, Kernel},
    name,
    v2::{self, Delegation},
};
use crate::{mount, process::read_lossy};

/// The cgroup trees as this process finds itself in them. Keep one for the whole run: in cgroup v2 it may have to move
/// this process into a group of its own (`v2::Delegation`), and undoes that when it and all its cgroups are gone.
#[derive(Debug)]
pub struct Hierarchy {
    memory: Result<Place, String>,
    io: Result<Place, String>,
    pub(super) kernel: Kernel,
    pub(super) delegation: Arc<Mutex<Delegation>>,
}

/// The cgroup of this process that applies to a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) version: Version,
    pub(super) group: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// Called with the path of a group before it is made; what cannot be noted is not made. Without one nothing is made.
pub type Note<'a> = &'a dyn Fn(&Path) -> Result<(), String>;

impl Hierarchy {
    /// Finds the cgroups of this process. A missing controller is an error only when it is requested.
    pub fn detect() -> Hierarchy {
        Hierarchy::detect_below(Path::new("/"))
    }

    /// The same with another root for `proc` and all mount points.
    pub fn detect_below(root: &Path) -> Hierarchy {
        Hierarchy::detect_with(Kernel::real(root))
    }

    pub(super) fn detect_with(kernel: Kernel) -> Hierarchy {
        let read = |file: &str| {
            let path = kernel.root.join("proc/self").join(file);
            read_lossy(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let (own, mounts) = (read("cgroup"), read("mountinfo"));
        let find = |controller| match (&own, &mounts) {
            (Ok(own), Ok(mounts)) => place(own, mounts, &kernel.root, controller),
            (Err(reason), _) | (_, Err(reason)) => Err(reason.clone()),
        };
        Hierarchy { memory: find(Controller::Memory), io: find(Controller::Io), delegation: Arc::default(), kernel }
    }

    /// Whether a worker can be given less memory, by making such a group and removing it again.
    ///
    /// # Errors
    /// The reason, and what would change that.
    pub fn can_limit_memory(&self, note: Option<Note>) -> Result<(), String> {
        self.try_out(Limits { memory_bytes: Some(64 << 20), ..Limits::default() }, note)
    }

    /// Whether reads of a whole disk (`major:minor`) can be held back, in the same way.
    ///
    /// # Errors
    /// The reason, and what would change that.
    pub fn can_throttle(&self, device: &str, note: Option<Note>) -> Result<(), String> {
        let limits = Limits {
            read_bytes_per_s: Some(1 << 30),
            read_ops_per_s: Some(1 << 20),
            device: Some(device.into()),
            ..Limits::default()
        };
        self.try_out(limits, note)
    }

    fn try_out(&self, limits: Limits, note: Option<Note>) -> Result<(), String> {
        let name = name();
        let Some(note) = note else { return self.may_make(&name, &limits) };
        self.paths(&name, &limits).iter().try_for_each(|path| note(path))?;
        Cgroup::new(self, &name, limits).and_then(Cgroup::remove).map_err(|error| error.to_string())
    }

    /// As far as that is seen while nothing is changed.
    fn may_make(&self, name: &str, limits: &Limits) -> Result<(), String> {
        for group in self.groups(name, limits).map_err(|error| error.to_string())? {
            let own = group.path.parent().unwrap_or(Path::new("/"));
            rustix::fs::access(own, rustix::fs::Access::WRITE_OK)
                .map_err(|error| explain_making(error.into(), &group).to_string())?;
            let of_v2 = group.controllers.iter().filter(|_| group.version == Version::V2);
            for controller in of_v2 {
                v2::may_enable(&self.kernel, own, controller.word()).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// The directories that `Cgroup::new` will create under this name, for the cleanup journal.
    pub fn paths(&self, name: &str, limits: &Limits) -> Vec<PathBuf> {
        let groups = self.groups(name, limits).unwrap_or_default();
        let aside = groups.iter().filter(|group| group.version == Version::V2).map(|group| {
            let own = group.path.parent().expect("a group lies in another");
            Delegation::aside(&self.kernel, own)
        });
        groups.iter().map(|group| group.path.clone()).chain(aside).collect()
    }

    /// The groups that a cgroup needs. In v2 both controllers share one.
    pub(super) fn groups(&self, name: &str, limits: &Limits) -> io::Result<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        for controller in Controller::ALL.into_iter().filter(|&controller| limits.needs(controller)) {
            let place = match controller {
                Controller::Memory => &self.memory,
                Controller::Io => &self.io,
            };
            let place = place.as_ref().map_err(|reason| io::Error::new(io::ErrorKind::Unsupported, reason.clone()))?;
            let path = place.group.join(name);
            match groups.iter_mut().find(|group| group.path == path) {
                Some(group) => group.controllers.push(controller),
                None => groups.push(Group { path, version: place.version, controllers: vec![controller] }),
            }
        }
        Ok(groups)
    }

    /// Has the controllers handed down to the groups that are about to be made.
    pub(super) fn delegate(&self, groups: &[Group]) -> io::Result<()> {
        let mut delegation = self.delegation.lock().unwrap_or_else(PoisonError::into_inner);
        for group in groups.iter().filter(|group| group.version == Version::V2) {
            let own = group.path.parent().expect("a group lies in another");
            delegation
                .enable(&self.kernel, own, &group.controllers)
                .map_err(|error| explain_permission(error, group))?;
        }
        Ok(())
    }
}

/// The memory group of any process, seen from this one's mounts.
pub(super) fn memory_place_of(pid: u32) -> Result<Place, String> {
    let read = |path: &str| read_lossy(path).map_err(|error| format!("{path}: {error}"));
    place(&read(&format!("/proc/{pid}/cgroup"))?, &read("/proc/self/mountinfo")?, Path::new("/"), Controller::Memory)
}

/// cgroups(7): lines of /proc/self/cgroup read `4:memory:/path` (v1) or `0::/path` (v2).
fn place(own: &str, mounts: &str, root: &Path, controller: Controller) -> Result<Place, String> {
    let lines = || own.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let v1 = controller.word_v1();
    if let Some((_, path)) = lines().find(|(controllers, _)| controllers.split(',').any(|word| word == v1)) {
        let mounted = |kind: &str, options: &str| kind == "cgroup" && options.split(',').any(|word| word == v1);
        let (_, group) = directory(mounts, path, mounted).ok_or_else(|| {
            format!("this process is in {path} of the {v1} controller's tree, which is not mounted here")
        })?;
        return Ok(Place { version: Version::V1, group: below(root, &group) });
    }
    let word = controller.word();
    let absent = || {
        let advice = match controller {
            // The boot loaders of some boards switch it off.
            Controller::Memory => "boot with `cgroup_enable=memory`, where the kernel was built with it",
            Controller::Io => "it needs a kernel built with CONFIG_BLK_DEV_THROTTLING",
        };
        format!("no mounted cgroup tree has the {word} controller; {advice}")
    };
    let (_, path) = lines().find(|(controllers, _)| controllers.is_empty()).ok_or_else(absent)?;
    let (top, group) = directory(mounts, path, |kind, _| kind == "cgroup2").ok_or_else(absent)?;
    let has = |group: &Path| {
        let controllers = fs::read_to_string(below(root, group).join("cgroup.controllers")).unwrap_or_default();
        controllers.split_whitespace().any(|it| it == word)
    };
    if has(&group) {
        return Ok(Place { version: Version::V2, group: below(root, &group) });
    }
    match group.ancestors().skip(1).take_while(|it| it.starts_with(&top)).any(has) {
        true => Err(format!(
            "the {word} controller is not delegated to {}; start faultline in a group that has it: \
             `systemd-run --scope -p Delegate=yes faultline …` as root",
            group.display()
        )),
        false => Err(absent()),
    }
}

/// The smallest limit of the memory of this process's group and of those above it; none where none is set.
///
/// # Errors
/// No tree that would show one is mounted here, or cannot be read.
pub fn memory_limit() -> Result<Option<u64>, String> {
    memory_limit_below(Path::new("/"))
}

/// The same with another root for `proc` and all mount points.
pub(super) fn memory_limit_below(root: &Path) -> Result<Option<u64>, String> {
    let read = |file: &str| {
        let path = root.join("proc/self").join(file);
        read_lossy(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (own, mounts) = (read("cgroup")?, read("mountinfo")?);
    let v1 = Controller::Memory.word_v1();
    let (mut is_shown, mut least) = (false, None::<u64>);
    for (controllers, path) in own.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')) {
        let is_v1 = controllers.split(',').any(|word| word == v1);
        let wanted = |kind: &str, options: &str| match is_v1 {
            true => kind == "cgroup" && options.split(',').any(|word| word == v1),
            false => kind == "cgroup2",
        };
        let file = if is_v1 { "memory.limit_in_bytes" } else { "memory.max" };
        let tree = if is_v1 || controllers.is_empty() { directory(&mounts, path, wanted) } else { None };
        let Some((top, group)) = tree else { continue };
        is_shown = true;
        for group in group.ancestors().take_while(|it| it.starts_with(&top)) {
            // The top of the whole tree has none, nor has a group whose memory nothing controls.
            let limit = fs::read_to_string(below(root, group).join(file)).ok().and_then(|it| it.trim().parse().ok());
            // v1 writes "no limit" as the largest number that is a multiple of the page size.
            least = [least, limit.filter(|it: &u64| *it < 1 << 60)].into_iter().flatten().min();
        }
    }
    if is_shown { Ok(least) } else { Err("not known: no cgroup tree that has memory limits is mounted here".into()) }
}

/// The mount that shows a group, and the group's directory there. Of several (bind mounts in containers) the one that
/// begins closest to the group.
fn directory(mounts: &str, path: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<(PathBuf, PathBuf)> {
    let found = mounts.lines().filter_map(|line| {
        // `31 23 0:32 /root /mount/point options - kind source super-options`
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        if !wanted(right.first()?, right.get(2).unwrap_or(&"")) {
            return None;
        }
        let shown = mount::unescape(left.get(3)?);
        let rest = Path::new(path).strip_prefix(&shown).ok()?;
        let point = PathBuf::from(mount::unescape(left.get(4)?));
        // Not `join` of an empty rest, which would end the path in a slash.
        let group = if rest.as_os_str().is_empty() { point.clone() } else { point.join(rest) };
        Some((shown.len(), point, group))
    });
    found.max_by_key(|(length, ..)| *length).map(|(_, point, group)| (point, group))
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

pub(super) fn explain_making(error: io::Error, group: &Group) -> io::Error {
    // Its name is another one each time, and the folder is what refuses it.
    let within = group.path.parent().unwrap_or(&group.path);
    explain_permission(described(error, format_args!("cannot make a cgroup in {}", within.display())), group)
}

/// Adds to a refusal what would be allowed.
fn explain_permission(error: io::Error, group: &Group) -> io::Error {
    let advice = match (error.kind(), group.version) {
        (io::ErrorKind::ReadOnlyFilesystem, _) => {
            "the cgroup tree is read-only here, as in most containers; run outside, or in a privileged container"
        }
        (io::ErrorKind::PermissionDenied, Version::V1) => "run as root",
        (io::ErrorKind::PermissionDenied, Version::V2) => {
            "run as root, or in a group of your own: `systemd-run --user --scope -p Delegate=yes faultline …`"
        }
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{error}; {advice}"))
}

/// Explains why a limit was not accepted.
pub(super) fn explain_setting(error: io::Error, controller: Controller, limits: &Limits) -> io::Error {
    let code = errno(&error).map(Errno::from_raw_os_error);
    let meaning = match (controller, code) {
        // blkg_conf_prep() in block/blk-cgroup.c, for partitions and for numbers of no device.
        (Controller::Io, Some(Errno::NODEV | Errno::NXIO)) => {
            format!("{} is no whole disk", limits.device.as_deref().unwrap_or("it"))
        }
        (Controller::Io, Some(Errno::NOENT)) => "this kernel was built without CONFIG_BLK_DEV_THROTTLING".into(),
        (Controller::Memory, Some(Errno::NOENT)) => "this kernel's memory controller has no limits".into(),
        (_, Some(Errno::ACCESS | Errno::PERM)) => "run as root".into(),
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{error}; {meaning}"))
}

/// What tests that need the real trees share.
#[cfg(test)]
pub(super) mod tests_of_the_machine {
    use super::*;

    /// The top of the v2 tree and a controller that is not in use there.
    pub(crate) fn tree_with_a_controller() -> Option<(PathBuf, &'static str)> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let Some((tree, _)) = directory(&mounts, "/", |kind, _| kind == "cgroup2") else {
            println!("skipped: no cgroup v2 tree is mounted");
            return None;
        };
        if tree.join("cgroup.type").exists() || rustix::fs::access(&tree, rustix::fs::Access::WRITE_OK).is_err() {
            println!("skipped: this process may not change the top of the cgroup v2 tree");
            return None;
        }
        let words = |file| fs::read_to_string(tree.join(file)).unwrap_or_default();
        let (have, used) = (words("cgroup.controllers"), words("cgroup.subtree_control"));
        let free = ["hugetlb", "rdma", "misc", "memory", "io"]
            .into_iter()
            .find(|it| have.split_whitespace().any(|word| word == *it) && !used.contains(it));
        if free.is_none() {
            println!("skipped: the cgroup v2 tree has no controller that is not in use");
        }
        Some((tree, free?))
    }
}
