//! Limits on a worker: less memory than its file (state `limited`), a slower disk (`storage`). Both are cgroups below the
//! one of this process. The cache is filled inside, because pages are charged to the group that brought them in.

use std::collections::BTreeMap;

use schema::{Arm, Condition, State, record::Reading};
pub use sys::cgroup::Note;
use sys::cgroup::{self, Hierarchy, Limits, Memory};

use crate::{link::Trouble, target::Target};

/// What a worker may come to need between two looks at its memory, such as page tables and stacks. More would be page cache
/// beyond the share.
const WORKER_BYTES: u64 = 1 << 20;
/// What a command may need beside the page cache. How much that is shows when it is over.
const COMMAND_BYTES: u64 = 8 << 20;
/// Until a worker is ready it may take what it needs: its buffers, and what its runtime takes. How much that is shows then.
const ROOM_BYTES: u64 = 1 << 40;

/// Makes cgroups, and keeps the last one: conditions come in stages, and most passes have the limits of the one before.
pub struct Cgroups<'a> {
    hierarchy: Hierarchy,
    /// Absent where nothing may be made.
    note: Option<Note<'a>>,
    current: Option<(Limits, cgroup::Cgroup)>,
}

impl<'a> Cgroups<'a> {
    /// Without a note it only checks which limits are possible.
    pub fn new(note: Option<Note<'a>>) -> Cgroups<'a> {
        Cgroups { hierarchy: Hierarchy::detect(), note, current: None }
    }

    /// Whether a condition's limits can be had here.
    ///
    /// # Errors
    /// Why not, and what would change that.
    pub fn possible(&self, condition: &Condition, target: &Target) -> Result<(), String> {
        if condition.state == State::Limited {
            if target.file_system.is_memory() {
                return Err(format!("files on {} are always in memory", target.file_system.kind));
            }
            self.hierarchy.can_limit_memory(self.note)?;
        }
        match condition.storage {
            Some(_) => self.hierarchy.can_throttle(&device(target)?, self.note),
            None => Ok(()),
        }
    }

    /// Moves a worker that has not allocated anything yet under the limits of its condition.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn admit(&mut self, pid: u32, arm: &Arm, condition: &Condition, target: &Target) -> Result<(), Trouble> {
        let limits = limits(arm, condition, target).map_err(Trouble::Unavailable)?;
        if limits == Limits::default() {
            return Ok(());
        }
        let refused = |error: std::io::Error| Trouble::Unavailable(format!("limits on the worker: {error}"));
        let kept = self.current.as_ref().filter(|(current, _)| *current == limits);
        if let Some((Limits { memory_bytes: Some(bytes), .. }, cgroup)) = kept {
            // The pass before has left it with its own limit (`tighten`).
            cgroup.set_memory(*bytes).map_err(refused)?;
        }
        if kept.is_none() {
            // The old one goes first; its pages belong to the parent then.
            self.current = None;
            let name = cgroup::name();
            let note = self.note.ok_or_else(|| Trouble::Failed("no cgroup may be created here".into()))?;
            self.hierarchy
                .paths(&name, &limits)
                .iter()
                .try_for_each(|path| note(path))
                .map_err(Trouble::Unavailable)?;
            let cgroup = cgroup::Cgroup::new(&self.hierarchy, &name, limits.clone()).map_err(refused)?;
            self.current = Some((limits, cgroup));
        }
        let (_, cgroup) = self.current.as_ref().expect("it was just made");
        cgroup
            .admit(pid)
            .map_err(|error| Trouble::Failed(format!("the worker cannot be moved into its limits: {error}")))
    }

    /// Between the passes of a worker that is ready: sets the limit to the memory that it has taken for itself and the
    /// requested share, which the file then has whatever the worker's buffers and its runtime take. Returns the limit that is
    /// in force from here on, where there is one. What a command needs itself is not known before it runs, so its limit stays
    /// as it was.
    ///
    /// # Errors
    /// What the kernel refused, or does not count.
    pub fn tighten(&self, arm: &Arm, condition: &Condition) -> Result<Option<u64>, Trouble> {
        let (Some(share), Some((limits, cgroup))) = (condition.memory_bytes, &self.current) else { return Ok(None) };
        if arm.is_command() {
            return Ok(limits.memory_bytes);
        }
        let own = cgroup.statistics().memory.and_then(|it| {
            it.own_bytes().ok_or_else(|| "the kernel does not count the memory of a group by kind".to_string())
        });
        let limit = share + WORKER_BYTES + own.map_err(Trouble::Unavailable)?;
        cgroup.set_memory(limit).map_err(|error| Trouble::Failed(format!("limits on the worker: {error}")))?;
        Ok(Some(limit))
    }

    /// What the kernel counted of the memory group, page cache and all; nothing without one.
    pub fn readings(&self, condition: &Condition) -> BTreeMap<String, Reading<f64>> {
        let Some((limits, cgroup)) = self.current.as_ref().filter(|_| condition.memory_bytes.is_some()) else {
            return BTreeMap::new();
        };
        let memory = cgroup.statistics().memory;
        let field = |name: &str, of: fn(&Memory) -> Option<u64>| {
            let counted = memory.as_ref().map_err(String::clone);
            let counted = counted.and_then(|it| of(it).ok_or_else(|| "this kernel does not count it".to_string()));
            (name.to_string(), Reading::from(counted.map(|it| it as f64)))
        };
        let limit = limits.memory_bytes.map(|bytes| ("cgroup_limit_bytes".to_string(), Reading::Value(bytes as f64)));
        [
            field("cgroup_memory_bytes", |it| it.used_bytes),
            field("cgroup_peak_bytes", |it| it.peak_bytes),
            field("cgroup_file_bytes", |it| it.file_bytes),
            field("cgroup_anonymous_bytes", |it| it.anonymous_bytes),
        ]
        .into_iter()
        .chain(limit)
        .collect()
    }

    /// After a pass: a throttle goes at once. Read-ahead that it holds back keeps its pages locked, so that the file
    /// could not be evicted before the next pass. A memory limit stays for the next worker if it may be `kept`.
    pub fn lift(&mut self, kept: bool) {
        let is_kept = |limits: &Limits| limits.device.is_none() && kept;
        self.current = self.current.take().filter(|(limits, _)| is_kept(limits));
    }
}

/// Those that an arm's worker starts with.
fn limits(arm: &Arm, condition: &Condition, target: &Target) -> Result<Limits, String> {
    let storage = condition.storage;
    let own = if arm.is_command() { COMMAND_BYTES } else { ROOM_BYTES };
    Ok(Limits {
        memory_bytes: condition.memory_bytes.map(|bytes| bytes + own),
        read_bytes_per_s: storage.and_then(|it| it.read_bytes_per_s),
        read_ops_per_s: storage.and_then(|it| it.read_ops_per_s),
        device: storage.map(|_| device(target)).transpose()?,
    })
}

fn device(target: &Target) -> Result<String, String> {
    let disk = target.disk.as_ref().map_err(|reason| format!("reads cannot be throttled: {reason}"))?;
    disk.number().map_err(|error| format!("{} has no device number: {error}", disk.name))
}
