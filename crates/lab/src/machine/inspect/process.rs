//! Looking at what a process has mapped, and at what happens to it meanwhile. Nothing is traced, and of a mapped file nothing
//! is read, but the head of the program where it is in memory: the counters are those that the kernel keeps anyway.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io,
    os::unix::fs::FileExt,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use schema::{
    Reading,
    inspection::{
        FileMeanwhile, MappedFile, MappedRuntime, MappingAdvice, MappingView, Places, ProcessView, Residency,
        ThreadFaults, Unlooked, WatchEnd, Watched, WatchedReads, WithoutMemory, fault_pages,
    },
};
use sys::{
    cache::Way,
    device::Disk,
    held::{self, Held, NotOpened},
    mount::{self, FileSystem},
    process::{Io, ProcessMapping, Stat},
};

use super::{
    Untold, folio_orders, page_cache, pages_per_fault,
    places::{self, Runs},
};

/// So many files are opened to look at their pages, those with the largest mappings; each is a descriptor.
const LOOKED_AT: u64 = 256;

/// Half of the descriptors that this process may have are left for everything else.
fn looked_at() -> usize {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    most.map_or(LOOKED_AT, |most| LOOKED_AT.min(most / 2)) as usize
}

/// Of so many pages of all files together the folios are looked at, each by a call.
const FOLIO_PAGES: u64 = 1 << 18;
/// Of so many pages of all files together the page table is looked at, each by a number of eight bytes.
const TABLE_PAGES: u64 = 1 << 22;
/// How long nothing is asked while a process is watched; Ctrl-C waits no longer.
const PAUSE: Duration = Duration::from_millis(50);

/// What a process has mapped; with `wait` also what happens to it meanwhile, or until `interrupted`. `number` may be that of
/// one of its threads. `progress` gets the share of the time that is over.
///
/// # Errors
/// There is no such process, it belongs to another user, or it ends at once.
pub fn process(
    number: u32,
    wait: Option<Duration>,
    interrupted: &AtomicBool,
    mut progress: impl FnMut(f64),
) -> Result<ProcessView> {
    let held = Held::open(number).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow!("there is no process {number}"),
        _ => anyhow!("cannot read the data of process {number}: {error}"),
    })?;
    let pid = held.pid;
    let ended =
        |error: &io::Error| held::has_ended(error).then(|| anyhow!("process {pid} ended while it was looked at"));
    let or_ended =
        |error: io::Error| ended(&error).unwrap_or_else(|| anyhow!("cannot read the data of process {pid}: {error}"));
    let command = held.text("comm").map_err(or_ended)?.trim_end().to_string();
    let stat = held.stat().map_err(or_ended)?;
    let mut view = ProcessView {
        pid,
        thread: Some(number).filter(|it| *it != pid),
        page_bytes: sys::page_bytes(),
        without_memory: stat.is_kernels.then_some(WithoutMemory::Kernel),
        runtimes: Vec::new(),
        watched: None,
        files: Vec::new(),
        mappings: Vec::new(),
        command,
    };
    if stat.is_kernels {
        return Ok(view);
    }
    let mappings = held.mappings().map_err(|error| match ended(&error) {
        Some(ended) => ended,
        None => anyhow!(
            "cannot read the mappings of process {pid} ({}): {error}; root can, and its owner unless it is setuid or not \
             dumpable (prctl(2)); root of a container without CAP_SYS_PTRACE its own alone",
            view.command
        ),
    })?;
    if mappings.is_empty() {
        let is_zombie = held.stat().is_ok_and(|it| it.state == 'Z');
        view.without_memory = Some(if is_zombie { WithoutMemory::Zombie } else { WithoutMemory::Ending });
        return Ok(view);
    }
    let mounts = held.text("mountinfo").map(String::into_bytes).unwrap_or_default();
    let mut files = Files { held: &held, mounts, most: looked_at(), seen: BTreeMap::new() };
    files.look_at(&mappings);
    view.runtimes = files.runtimes(&mappings);
    let Some(wait) = wait else {
        view.files = files.views(&mappings, &files.touched(&mappings), None);
        view.mappings = mappings.into_iter().map(mapping_view).collect();
        return Ok(view);
    };
    // What a wait begins with is read last and what it ends with first, so that both are close to its ends.
    let cached: BTreeMap<Key, Reading<u64, Unlooked>> =
        files.seen.iter().map(|(key, it)| (*key, it.cached().map(|it| it.resident * sys::page_bytes()))).collect();
    let before = held.mappings().unwrap_or(mappings);
    let touched_before = files.touched(&before);
    let (watched, last) = watch(&held, wait, interrupted, &mut progress)?;
    let after = held.mappings().ok().filter(|it| !it.is_empty() && last == Last::Lives);
    let touched = after.as_deref().map(|it| files.touched(it));
    let of = after.as_deref().unwrap_or(&before);
    files.look_at(of);
    let touched = touched.as_ref().unwrap_or(&touched_before);
    let meanwhile = Meanwhile { cached, touched: &touched_before, before: by_file(&before), after: after.is_some() };
    view.files = files.views(of, touched, Some(&meanwhile));
    view.watched = Some(Watched {
        new_mappings: apart(&places_of(of), &places_of(&before)),
        gone_mappings: apart(&places_of(&before), &places_of(of)),
        ..watched
    });
    view.mappings = after.unwrap_or(before).into_iter().map(mapping_view).collect();
    Ok(view)
}

/// Where each file is mapped, and memory by its name: the kernel splits mappings, and joins those that continue one another.
fn places_of(of: &[ProcessMapping]) -> BTreeMap<(Key, &str), Vec<MappedRange>> {
    let mut all: BTreeMap<(Key, &str), Vec<MappedRange>> = BTreeMap::new();
    for (it, range) in of.iter().filter_map(|it| Some((it, mapped_range(it)?))) {
        // Of a file, its other windows come to the same addresses; memory has no offsets.
        let to_offset = if it.inode == 0 { 0 } else { range.to_offset };
        all.entry((key(it), it.name.as_str())).or_default().push(MappedRange { to_offset, ..range });
    }
    all.into_iter().map(|(of, ranges)| (of, united(ranges))).collect()
}

/// How many of some places overlap with none of the others.
fn apart(of: &BTreeMap<(Key, &str), Vec<MappedRange>>, others: &BTreeMap<(Key, &str), Vec<MappedRange>>) -> u64 {
    let overlap = |a: &MappedRange, b: &MappedRange| a.to_offset == b.to_offset && a.start < b.end && b.start < a.end;
    let is_apart = |of: &(Key, &str), it: &MappedRange| {
        others.get(of).is_none_or(|others| !others.iter().any(|other| overlap(it, other)))
    };
    of.iter().map(|(of, ranges)| ranges.iter().filter(|it| is_apart(of, it)).count() as u64).sum()
}

/// Device and inode: what a file has one of, whatever it is called.
type Key = ([u32; 2], u64);

fn key(of: &ProcessMapping) -> Key {
    (of.device, of.inode)
}

/// Sockets, rings of perf and the like have an inode too, and no name in a folder.
fn is_file(of: &ProcessMapping) -> bool {
    of.inode != 0 && of.name.starts_with('/') && !of.name.starts_with("/[aio]")
}

fn by_file(mappings: &[ProcessMapping]) -> BTreeMap<Key, Vec<&ProcessMapping>> {
    let mut of: BTreeMap<Key, Vec<&ProcessMapping>> = BTreeMap::new();
    for it in mappings.iter().filter(|it| is_file(it)) {
        of.entry(key(it)).or_default().push(it);
    }
    of
}

/// Pages of the file itself that the process has in its page table: without its own copies of them.
fn of_file_bytes(of: &ProcessMapping) -> u64 {
    of.resident_bytes.saturating_sub(of.anonymous_bytes)
}

fn device(of: &ProcessMapping) -> String {
    format!("{}:{}", of.device[0], of.device[1])
}

fn advice(of: &ProcessMapping) -> Option<Vec<MappingAdvice>> {
    // proc(5), VmFlags.
    const SHOWN: [(&str, MappingAdvice); 5] = [
        ("rr", MappingAdvice::Random),
        ("sr", MappingAdvice::Sequential),
        ("hg", MappingAdvice::Hugepage),
        ("nh", MappingAdvice::Nohugepage),
        ("dd", MappingAdvice::Dontdump),
    ];
    let flags = of.flags.as_ref()?;
    Some(SHOWN.iter().filter(|(shown, _)| flags.iter().any(|it| it == shown)).map(|(_, advice)| *advice).collect())
}

/// Of all mappings of a file; `None` where that of one is not known.
fn all_advice(mappings: &[&ProcessMapping]) -> Option<BTreeSet<MappingAdvice>> {
    let of_each: Option<Vec<Vec<MappingAdvice>>> = mappings.iter().map(|it| advice(it)).collect();
    Some(of_each?.into_iter().flatten().collect())
}

fn is_unadvised(of: &ProcessMapping) -> bool {
    advice(of).is_some_and(|it| !it.iter().any(|it| matches!(it, MappingAdvice::Random | MappingAdvice::Sequential)))
}

/// How much of a mapping a file of this size reaches to: behind its last page nothing can come in (mmap(2), SIGBUS).
fn within(of: &ProcessMapping, file_bytes: u64) -> u64 {
    let end = file_bytes.checked_next_multiple_of(sys::page_bytes()).unwrap_or(u64::MAX);
    of.bytes.min(end.saturating_sub(of.offset))
}

fn is_code(of: &ProcessMapping) -> bool {
    of.permissions.as_bytes().get(2) == Some(&b'x')
}

/// The mapping of a program's code, and all mappings of that file. A file on another device may have the same inode, so these are
/// compared by both. Of the program the inode alone is known: on btrfs stat(2) has another device than its mappings.
fn of_program(mappings: &[ProcessMapping], inode: u64) -> Option<(&ProcessMapping, Vec<&ProcessMapping>)> {
    let code = mappings.iter().find(|it| is_file(it) && it.inode == inode && is_code(it))?;
    Some((code, mappings.iter().filter(|it| is_file(it) && key(it) == key(code)).collect()))
}

/// Whose code a mapping is, by its name.
fn runtime(of: &ProcessMapping) -> Option<MappedRuntime> {
    MappedRuntime::of_code(&of.name).filter(|_| is_file(of) && is_code(of))
}

fn mapping_view(it: ProcessMapping) -> MappingView {
    MappingView {
        is_file: is_file(&it),
        device: device(&it),
        inode: it.inode,
        advice: advice(&it),
        shared: it.permissions.as_bytes().get(3) == Some(&b's'),
        protection: it.permissions.chars().take(3).collect(),
        name: it.name,
        addresses: it.addresses,
        offset: it.offset,
        bytes: it.bytes,
        resident_bytes: it.resident_bytes,
        referenced_bytes: it.referenced_bytes,
        anonymous_bytes: it.anonymous_bytes,
        dirty_bytes: it.dirty_bytes,
        locked_bytes: it.locked_bytes,
        huge_bytes: it.huge_bytes,
        file_huge_bytes: it.file_huge_bytes,
        swapped_bytes: it.swapped_bytes,
    }
}

/// A file that is looked at through a descriptor, which stays the same file's while the process is watched.
struct Seen {
    /// With its size.
    opened: Result<(File, u64), Unlooked>,
    file_system: Option<FileSystem>,
}

impl Seen {
    /// With its size now: it may have grown while the process was watched.
    fn now(&self) -> Opened<'_> {
        let file = self.opened.as_ref().map(|it| &it.0).map_err(Unlooked::clone)?;
        Ok((file, file.metadata().map_err(|error| refused(&error))?.len()))
    }

    fn is_memory(&self) -> bool {
        matches!(self.opened, Err(Unlooked::Memory))
    }

    fn cached(&self) -> Reading<Residency, Unlooked> {
        let (file, bytes) = match self.now() {
            Ok(opened) => opened,
            Err(why) => return Reading::unavailable(why),
        };
        match page_cache(file, bytes) {
            Ok(residency) => Reading::Value(residency),
            Err(Untold::Stranger) => Reading::unavailable(Unlooked::Stranger),
            Err(Untold::Failed(error)) => Reading::unavailable(refused(&error)),
        }
    }

    fn disk(&self) -> Option<Disk> {
        self.file_system.as_ref().and_then(|it| crate::target::disk(it).ok())
    }

    fn read_ahead_bytes(&self) -> Reading<u64, Unlooked> {
        let bytes = match (&self.opened, &self.file_system) {
            (Err(why), _) => Err(why.clone()),
            (_, None) => Err(Unlooked::Gone),
            (_, Some(file_system)) => {
                sys::read_ahead::bytes(file_system, self.disk().as_ref()).map_err(|error| refused(&error))
            }
        };
        bytes.map_or_else(Reading::unavailable, Reading::Value)
    }
}

fn refused(error: &io::Error) -> Unlooked {
    Unlooked::Refused { error: error.to_string() }
}

/// Memory that was given a name.
fn is_named_memory(mapping: &ProcessMapping) -> bool {
    const NAMED: [&str; 4] = ["/memfd:", "/SYSV", "/dev/zero", "/anon_hugepage"];
    NAMED.iter().any(|it| mapping.name.starts_with(it))
}

/// It lies on a file system of memory. The kernel's own, which named memory lies on, is mounted nowhere.
fn is_memory(mapping: &ProcessMapping, on: Option<&FileSystem>) -> bool {
    match on {
        Some(on) => on.is_memory(),
        None => mapping.device[0] == 0 && is_named_memory(mapping),
    }
}

struct Files<'a> {
    held: &'a Held,
    /// Of the process, which may see other mounts than this one.
    mounts: Vec<u8>,
    /// So many are looked at, beside those that are memory.
    most: usize,
    seen: BTreeMap<Key, Seen>,
}

/// What of each file is in the page table.
type Touched = BTreeMap<Key, Result<Runs, Unlooked>>;

/// What a wait began with.
struct Meanwhile<'a> {
    cached: BTreeMap<Key, Reading<u64, Unlooked>>,
    touched: &'a Touched,
    before: BTreeMap<Key, Vec<&'a ProcessMapping>>,
    /// Whether there are mappings after it: the process may have ended.
    after: bool,
}

impl Files<'_> {
    /// Opens the files of those mappings that were not looked at yet.
    fn look_at(&mut self, mappings: &[ProcessMapping]) {
        let mut all: BTreeMap<Key, (u64, &ProcessMapping)> = BTreeMap::new();
        for it in mappings.iter().filter(|it| is_file(it) && !self.seen.contains_key(&key(it))) {
            let (bytes, _) = all.entry(key(it)).or_insert((0, it));
            *bytes = bytes.saturating_add(it.bytes);
        }
        let mut all: Vec<(u64, &ProcessMapping)> = all.into_values().collect();
        all.sort_by_key(|(bytes, it)| (std::cmp::Reverse(*bytes), key(it)));
        let mut left = self.most.saturating_sub(self.seen.values().filter(|it| !it.is_memory()).count());
        let mut mounted: BTreeMap<[u32; 2], Option<FileSystem>> = BTreeMap::new();
        for (_, mapping) in all {
            let on = mounted.entry(mapping.device).or_insert_with(|| mount::of_device(&self.mounts, mapping.device));
            let opened = match (left, is_memory(mapping, on.as_ref())) {
                // However many there are, memory is no file.
                (0, true) => Err(Unlooked::Memory),
                (0, false) => continue,
                _ => self.open(mapping, on.as_ref()),
            };
            let seen = Seen { opened, file_system: on.clone() };
            left -= usize::from(!seen.is_memory() && left > 0);
            self.seen.insert(key(mapping), seen);
        }
    }

    fn open(&self, mapping: &ProcessMapping, on: Option<&FileSystem>) -> Result<(File, u64), Unlooked> {
        if is_memory(mapping, on) {
            // The file of a disk lies there, too. A mapping of /dev/zero is memory.
            let is_device =
                !is_named_memory(mapping) && matches!(self.held.open_mapped(mapping), Err(NotOpened::NotRegular));
            return Err(if is_device { Unlooked::NotRegular } else { Unlooked::Memory });
        }
        if let Some(on) = on.filter(|it| it.may_wait()) {
            return Err(Unlooked::Network { file_system: on.kind.clone() });
        }
        let file = self.held.open_mapped(mapping).map_err(|why| match why {
            NotOpened::Gone => Unlooked::Gone,
            NotOpened::NotRegular => Unlooked::NotRegular,
            NotOpened::Refused(error) => refused(&error),
        })?;
        let bytes = file.metadata().map_err(|error| refused(&error))?.len();
        Ok((file, bytes))
    }

    /// Whose code is mapped: by its name, and where that says nothing by the head of the program.
    fn runtimes(&self, mappings: &[ProcessMapping]) -> Vec<MappedRuntime> {
        let named: BTreeSet<MappedRuntime> = mappings.iter().filter_map(runtime).collect();
        let go = (named.is_empty() && self.is_of_go(mappings)).then_some(MappedRuntime::Go);
        named.into_iter().chain(go).collect()
    }

    /// Nothing is read in: what is neither known to be in the page cache nor in the page table is not read.
    fn is_of_go(&self, mappings: &[ProcessMapping]) -> bool {
        let Ok(program) = self.held.program() else { return false };
        let Some((code, of)) = of_program(mappings, program) else { return false };
        let opened = match self.seen.get(&key(code)).map(|it| &it.opened) {
            Some(Ok((file, _))) => file.try_clone().ok(),
            Some(Err(_)) => None,
            None => self.open(code, mount::of_device(&self.mounts, code.device).as_ref()).ok().map(|it| it.0),
        };
        let Some(file) = opened else { return false };
        // Where the page table is not looked at, the page cache may still answer.
        let mut left = TABLE_PAGES;
        let present = self.present(&of, &mut left).unwrap_or_default();
        let way = [Way::Cachestat, Way::Mincore].into_iter().find(|it| it.shows(&file));
        let page = sys::page_bytes();
        let is_in_memory = |first: u64, last: u64| {
            let is_mapped = present.iter().any(|it| it.start <= first && last < it.end);
            let pages = last - first + 1;
            is_mapped
                || way
                    .is_some_and(|it| it.resident_pages(&file, first * page, pages * page).is_ok_and(|it| it == pages))
        };
        let read = |at: u64, bytes: usize| {
            let end = at.saturating_add(bytes as u64).min(file.metadata()?.len());
            if end <= at {
                return Ok(Vec::new());
            }
            if !is_in_memory(at / page, (end - 1) / page) {
                return Err(io::Error::other("not in memory"));
            }
            let mut read = vec![0; (end - at) as usize];
            file.read_exact_at(&mut read, at)?;
            Ok(read)
        };
        sys::elf::is_go(read).unwrap_or(false)
    }

    /// What mappings have in the page table, where they are of no more pages than are left to be looked at.
    fn present(&self, of: &[&ProcessMapping], left: &mut u64) -> Result<Runs, Unlooked> {
        let pages = of.iter().fold(0u64, |sum, it| sum.saturating_add(it.bytes)) / sys::page_bytes();
        if pages > *left {
            return Err(Unlooked::TooLargeMapping { pages, most: TABLE_PAGES });
        }
        *left -= pages;
        self.held.present(of).map(places::merged).map_err(|error| refused(&error))
    }

    /// What mappings without advice have in the page table, of files whose advice may be a question.
    fn touched(&self, mappings: &[ProcessMapping]) -> Touched {
        let mut left = TABLE_PAGES;
        let is_memory = |key: &Key| self.seen.get(key).is_some_and(Seen::is_memory);
        let mut all = Touched::new();
        for (key, of) in by_file(mappings) {
            let unadvised: Vec<&ProcessMapping> = of.iter().copied().filter(|it| is_unadvised(it)).collect();
            if unadvised.is_empty() || of.iter().any(|it| is_code(it)) || is_memory(&key) {
                continue;
            }
            all.insert(key, self.present(&unadvised, &mut left));
        }
        all
    }

    /// All files that are mapped, or were before, with the largest mappings first.
    fn views(&self, mappings: &[ProcessMapping], touched: &Touched, meanwhile: Option<&Meanwhile>) -> Vec<MappedFile> {
        let of = by_file(mappings);
        let mut names: BTreeMap<Key, &str> = BTreeMap::new();
        for (key, of_one) in meanwhile.iter().flat_map(|it| &it.before).chain(&of) {
            names.extend(of_one.first().map(|it| (*key, it.name.as_str())));
        }
        let bytes = |key: &Key| of.get(key).into_iter().flatten().fold(0u64, |sum, it| sum.saturating_add(it.bytes));
        let mut keys: Vec<Key> = names.keys().copied().collect();
        keys.sort_by_key(|key| (std::cmp::Reverse(bytes(key)), *key));
        let mut folio_pages = FOLIO_PAGES;
        keys.iter()
            .map(|key| {
                let mappings = of.get(key).map_or(&[][..], Vec::as_slice);
                let name = names.get(key).copied().unwrap_or_default();
                self.view(key, name, mappings, touched.get(key), &mut folio_pages, meanwhile)
            })
            .collect()
    }

    fn view(
        &self,
        key: &Key,
        name: &str,
        mappings: &[&ProcessMapping],
        touched: Option<&Result<Runs, Unlooked>>,
        folio_pages: &mut u64,
        meanwhile: Option<&Meanwhile>,
    ) -> MappedFile {
        let sum =
            |of: &dyn Fn(&ProcessMapping) -> u64| mappings.iter().fold(0u64, |sum, it| sum.saturating_add(of(it)));
        let all_advice = all_advice(mappings);
        let of_unadvised = |of: &dyn Fn(&ProcessMapping) -> u64| {
            all_advice.is_some().then(|| sum(&|it| if is_unadvised(it) { of(it) } else { 0 }))
        };
        let unseen = Seen { opened: Err(Unlooked::NotAmongLargest { files: self.most as u64 }), file_system: None };
        let seen = self.seen.get(key).unwrap_or(&unseen);
        let residency = seen.cached();
        let opened = seen.now();
        let file_bytes = opened.as_ref().map_or(u64::MAX, |it| it.1);
        let pages_per_fault = known(fault(&opened, &residency));
        // What is resident now may lie in smaller folios than what was mapped.
        let fault_pages = fault_pages(sys::page_bytes(), pages_per_fault.value().copied());
        MappedFile {
            name: name.into(),
            device: format!("{}:{}", key.0[0], key.0[1]),
            inode: key.1,
            is_code: mappings.iter().any(|it| is_code(it)),
            mappings: mappings.len() as u64,
            bytes: sum(&|it| it.bytes),
            unadvised_bytes: of_unadvised(&|it| within(it, file_bytes)),
            unadvised_resident_bytes: of_unadvised(&of_file_bytes),
            advice: all_advice.map(|it| it.into_iter().collect()),
            resident_bytes: sum(&of_file_bytes),
            file_bytes: opened.clone().map_or_else(Reading::unavailable, |(_, bytes)| Reading::Value(bytes)),
            folio_orders: known(folios(&opened, &residency, folio_pages)),
            pages_per_fault,
            read_ahead_bytes: seen.read_ahead_bytes(),
            disk: seen.disk().map(|it| it.name),
            places: touched
                .map(|it| known(it.as_ref().map(|it| places::all(it, fault_pages)).map_err(Unlooked::clone))),
            meanwhile: meanwhile.map(|it| FileMeanwhile {
                new_places: touched.map(|now| it.new_places(key, mappings, now, fault_pages)),
                ..it.of_file(key, mappings, &residency)
            }),
            residency,
            cost: None,
            pattern: None,
            miss: None,
        }
    }
}

fn known<T>(result: Result<T, Unlooked>) -> Reading<T, Unlooked> {
    result.map_or_else(Reading::unavailable, Reading::Value)
}

type Opened<'a> = Result<(&'a File, u64), Unlooked>;

/// Only of pages that are known to be in the page cache: looking at others would read them in.
fn folios(
    opened: &Opened,
    residency: &Reading<Residency, Unlooked>,
    pages_left: &mut u64,
) -> Result<Vec<schema::record::FolioOrder>, Unlooked> {
    let (file, bytes) = opened.clone()?;
    let pages = residency_of(residency)?.resident;
    if pages > *pages_left {
        return Err(Unlooked::TooManyPages { pages, most: FOLIO_PAGES });
    }
    let orders = folio_orders(file, bytes).map_err(|error| match error.kind() {
        // Root sees no more of it.
        io::ErrorKind::FileTooLarge => refused(&error),
        _ => Unlooked::NoFolios { error: error.to_string() },
    })?;
    *pages_left -= pages;
    Ok(orders)
}

fn fault(opened: &Opened, residency: &Reading<Residency, Unlooked>) -> Result<f64, Unlooked> {
    let (file, bytes) = opened.clone()?;
    residency_of(residency)?;
    pages_per_fault(file, bytes).map_err(|error| refused(&error))?.ok_or(Unlooked::NoPlaceCached)
}

fn residency_of(of: &Reading<Residency, Unlooked>) -> Result<&Residency, Unlooked> {
    match of {
        Reading::Value(residency) => Ok(residency),
        Reading::Unavailable { unavailable } => Err(unavailable.clone()),
    }
}

/// Addresses of a mapping. `to_offset`: what is added to one of them for the offset in the file, modulo 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MappedRange {
    to_offset: u64,
    start: u64,
    end: u64,
}

fn mapped_range(of: &ProcessMapping) -> Option<MappedRange> {
    let (start, end) = of.addresses.split_once('-')?;
    let [start, end] = [start, end].map(|it| u64::from_str_radix(it, 16).ok());
    Some(MappedRange { to_offset: of.offset.wrapping_sub(start?), start: start?, end: end? })
}

/// Those that continue one another as one.
fn united(mut ranges: Vec<MappedRange>) -> Vec<MappedRange> {
    ranges.sort_unstable();
    let mut all: Vec<MappedRange> = Vec::new();
    for it in ranges {
        match all.last_mut() {
            Some(last) if last.to_offset == it.to_offset && it.start <= last.end => last.end = last.end.max(it.end),
            _ => all.push(it),
        }
    }
    all
}

/// Whether mappings of one file have a part of it in common.
fn overlap(of: &[&ProcessMapping]) -> bool {
    let mut parts: Vec<[u64; 2]> = of.iter().map(|it| [it.offset, it.offset.saturating_add(it.bytes)]).collect();
    parts.sort_unstable();
    parts.windows(2).any(|it| it[1][0] < it[0][1])
}

impl Meanwhile<'_> {
    fn of_file(&self, key: &Key, now: &[&ProcessMapping], residency: &Reading<Residency, Unlooked>) -> FileMeanwhile {
        let more = |after: u64, before: u64| {
            i64::try_from(i128::from(after) - i128::from(before)).unwrap_or(if after > before {
                i64::MAX
            } else {
                i64::MIN
            })
        };
        let before = self.before.get(key).map_or(&[][..], Vec::as_slice);
        let cached_more_bytes: Reading<i64, Unlooked> = match (self.cached.get(key), residency) {
            (None, _) if before.is_empty() => Reading::unavailable(Unlooked::MappedMeanwhile),
            (_, Reading::Unavailable { unavailable }) => Reading::unavailable(unavailable.clone()),
            (None | Some(Reading::Unavailable { .. }), _) => Reading::unavailable(Unlooked::NotAskedBefore),
            (Some(Reading::Value(before)), Reading::Value(now)) => {
                Reading::Value(more(now.resident * sys::page_bytes(), *before))
            }
        };
        let resident = |of: &[&ProcessMapping]| of.iter().fold(0u64, |sum, it| sum.saturating_add(of_file_bytes(it)));
        let mapped_more_bytes: Reading<i64, Unlooked> = match self.after {
            true if overlap(now) || overlap(before) => Reading::unavailable(Unlooked::MappedTwice),
            true => Reading::Value(more(resident(now), resident(before))),
            false => Reading::unavailable(Unlooked::UnmappedMeanwhile),
        };
        // What a mapping that is gone, or a part of one, had mapped is counted nowhere any more.
        // Neighbours are one mapping again, or parts of one that an advice for a part has split.
        let now_at = united(now.iter().filter_map(|it| mapped_range(it)).collect());
        let holds = |it: &MappedRange, of: MappedRange| {
            it.to_offset == of.to_offset && it.start <= of.start && of.end <= it.end
        };
        let is_there = |of: MappedRange| now_at.iter().any(|it| holds(it, of));
        let any_gone = before.iter().any(|it| !mapped_range(it).is_some_and(is_there));
        let unmapped_more_bytes = match (&cached_more_bytes, &mapped_more_bytes) {
            _ if any_gone => Reading::unavailable(Unlooked::UnmappedMeanwhile),
            (Reading::Unavailable { unavailable }, _) | (_, Reading::Unavailable { unavailable }) => {
                Reading::unavailable(unavailable.clone())
            }
            (Reading::Value(cached), Reading::Value(mapped)) => {
                Reading::Value(u64::try_from(cached.saturating_sub((*mapped).max(0))).unwrap_or(0))
            }
        };
        FileMeanwhile { cached_more_bytes, mapped_more_bytes, unmapped_more_bytes, new_places: None }
    }

    /// Where the process has pages now that it did not have before.
    fn new_places(
        &self,
        key: &Key,
        mappings: &[&ProcessMapping],
        now: &Result<Runs, Unlooked>,
        fault_pages: u64,
    ) -> Reading<Places, Unlooked> {
        // Only mappings without advice were looked at.
        let ranges = |of: &[&ProcessMapping], unadvised: bool| -> Vec<MappedRange> {
            of.iter().filter(|it| is_unadvised(it) == unadvised).filter_map(|it| mapped_range(it)).collect()
        };
        let advised = self.before.get(key).map_or_else(Vec::new, |it| ranges(it, false));
        let is_same = |it: &MappedRange, now: &MappedRange| it.to_offset == now.to_offset;
        let overlaps = |it: &MappedRange, now: &MappedRange| it.start < now.end && now.start < it.end;
        let was_advised = |now: &MappedRange| advised.iter().any(|it| is_same(it, now) && overlaps(it, now));
        let before = match self.touched.get(key) {
            _ if !self.after => return Reading::unavailable(Unlooked::UnmappedMeanwhile),
            _ if ranges(mappings, true).iter().any(was_advised) => {
                return Reading::unavailable(Unlooked::AdvisedMeanwhile);
            }
            Some(Ok(before)) => before,
            Some(Err(why)) => return Reading::unavailable(why.clone()),
            None => return Reading::unavailable(Unlooked::MappedMeanwhile),
        };
        known(now.as_ref().map(|now| places::new(now, before, fault_pages)).map_err(Unlooked::clone))
    }
}

/// How a process was when it was last asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Lives,
    Ended,
}

struct Counters {
    at: Instant,
    stat: Stat,
    io: io::Result<Io>,
}

fn counters(held: &Held) -> io::Result<Counters> {
    // A process that has ended and was not waited for still has its counters.
    Ok(Counters { at: Instant::now(), io: held.io(), stat: held.stat()? })
}

fn watch(
    held: &Held,
    wait: Duration,
    interrupted: &AtomicBool,
    progress: &mut impl FnMut(f64),
) -> Result<(Watched, Last)> {
    let threads = held.threads().unwrap_or_default();
    let before = counters(held).with_context(|| format!("process {} ended before it was watched", held.pid))?;
    // The last ones that were read, for the process may end between two readings.
    let mut now = counters(held).with_context(|| format!("process {} ended before it was watched", held.pid))?;
    let ended = loop {
        let elapsed = before.at.elapsed();
        let left = wait.saturating_sub(elapsed);
        progress(elapsed.as_secs_f64() / wait.as_secs_f64().max(f64::MIN_POSITIVE));
        let is_interrupted = interrupted.load(Ordering::Relaxed);
        if !left.is_zero() && !is_interrupted {
            std::thread::sleep(left.min(PAUSE));
        }
        match counters(held) {
            Ok(read) => now = Counters { io: read.io.or(now.io), ..read },
            Err(_) => break Some(WatchEnd::ProcessEnded),
        }
        // The first thread may have ended before the others.
        if matches!(now.stat.state, 'Z' | 'X') && now.stat.threads <= 1 {
            break Some(WatchEnd::ProcessEnded);
        }
        match () {
            () if is_interrupted => break Some(WatchEnd::Interrupted),
            () if left.is_zero() => break None,
            () => {}
        }
    };
    let last = if ended == Some(WatchEnd::ProcessEnded) { Last::Ended } else { Last::Lives };
    let reads = match (&before.io, &now.io) {
        (Ok(before), Ok(now)) => {
            let since = now.since(before);
            Reading::Value(WatchedReads {
                device_bytes: since.device_read_bytes,
                read_calls: since.read_calls,
                read_call_bytes: since.read_call_bytes,
            })
        }
        (Err(error), _) | (_, Err(error)) => Reading::unavailable(refused(error)),
    };
    let watched = Watched {
        asked_s: wait.as_secs_f64(),
        elapsed_s: now.at.duration_since(before.at).as_secs_f64(),
        ended,
        minor_faults: now.stat.minor_faults.saturating_sub(before.stat.minor_faults),
        major_faults: now.stat.major_faults.saturating_sub(before.stat.major_faults),
        reads,
        children_ended: now.stat.children_faults != before.stat.children_faults,
        device_bytes_per_major_fault: None,
        threads: faults_of(&threads, &held.threads().unwrap_or_default()),
        new_mappings: 0,
        gone_mappings: 0,
    };
    Ok((watched, last))
}

/// Of threads that are in both: a number may be given to a new thread, which began at another time.
fn faults_of(before: &[held::Thread], now: &[held::Thread]) -> Vec<ThreadFaults> {
    let before: BTreeMap<(u32, u64), Stat> = before.iter().map(|it| ((it.tid, it.stat.started), it.stat)).collect();
    let mut faults: Vec<ThreadFaults> = now
        .iter()
        .filter_map(|it| {
            let then = before.get(&(it.tid, it.stat.started))?;
            Some(ThreadFaults {
                tid: it.tid,
                name: it.name.clone(),
                minor_faults: it.stat.minor_faults.saturating_sub(then.minor_faults),
                major_faults: it.stat.major_faults.saturating_sub(then.major_faults),
            })
        })
        .filter(|it| it.minor_faults > 0 || it.major_faults > 0)
        .collect();
    faults.sort_by_key(|it| (std::cmp::Reverse((it.major_faults, it.minor_faults)), it.tid));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Write, os::unix::fs::FileTypeExt, path::Path, process::Command};

    #[test]
    fn a_mapping_that_was_split_or_joined_with_its_neighbour_covers_what_it_did() {
        let at = |(start, end)| MappedRange { to_offset: 7, start, end };
        let of = |of: &[(u64, u64)]| united(of.iter().copied().map(at).collect());
        assert_eq!(of(&[(20, 30), (10, 20)]), [at((10, 30))]);
        assert_eq!(of(&[(10, 20), (21, 30), (12, 15)]), [at((10, 20)), at((21, 30))]);
        let other = MappedRange { to_offset: 8, ..at((20, 30)) };
        assert_eq!(united(vec![other, at((10, 20))]), [at((10, 20)), other]);
    }

    #[test]
    fn a_mapping_that_grew_or_was_split_is_neither_new_nor_gone() {
        let of = |ranges: &[(&str, u64, u64, u64)]| -> Vec<ProcessMapping> {
            let mapping = |&(name, start, end, offset): &(&str, u64, u64, u64)| ProcessMapping {
                name: name.into(),
                addresses: format!("{start:x}-{end:x}"),
                inode: u64::from(name.starts_with('/')),
                offset,
                ..ProcessMapping::default()
            };
            ranges.iter().map(mapping).collect()
        };
        let changes = |before: &[ProcessMapping], after: &[ProcessMapping]| {
            (apart(&places_of(after), &places_of(before)), apart(&places_of(before), &places_of(after)))
        };
        let (heap, file) = (("[heap]", 0x10, 0x20, 0), ("/a", 0x40, 0x70, 0));
        let before = of(&[heap, file]);
        assert_eq!(changes(&before, &of(&[("[heap]", 0x10, 0x30, 0), file])), (0, 0), "grew");
        let split = of(&[heap, ("/a", 0x40, 0x50, 0), ("/a", 0x50, 0x60, 0x10), ("/a", 0x60, 0x70, 0x20)]);
        assert_eq!(changes(&before, &split), (0, 0), "split");
        assert_eq!(changes(&before, &of(&[heap, ("/a", 0x40, 0x70, 0x30)])), (1, 1), "another window of the file");
        assert_eq!(changes(&before, &of(&[heap])), (0, 1));
    }

    #[test]
    fn a_page_that_two_mappings_have_is_not_counted_twice() {
        let at = |offset: u64, bytes: u64| ProcessMapping { offset, bytes, ..ProcessMapping::default() };
        let of = |all: &[ProcessMapping]| overlap(&all.iter().collect::<Vec<_>>());
        assert!(of(&[at(0, 100), at(0, 100)]) && of(&[at(90, 20), at(0, 100)]));
        assert!(!of(&[at(100, 50), at(0, 100)]) && !of(&[at(0, 100)]) && !of(&[]));
    }

    #[test]
    fn memory_is_no_file_however_many_files_are_looked_at() {
        let held = Held::open(me()).unwrap();
        let mut files = Files { held: &held, mounts: Vec::new(), most: 0, seen: BTreeMap::new() };
        let of = |name: &str, inode: u64| ProcessMapping { name: name.into(), inode, ..ProcessMapping::default() };
        let (memory, file) = (of("/memfd:some (deleted)", 7), of("/data/file", 8));
        files.look_at(&[memory.clone(), file.clone()]);
        assert!(files.seen[&key(&memory)].is_memory() && !files.seen.contains_key(&key(&file)));
    }

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// Looking at this process maps its files here for a moment, which another look would see.
    fn alone() -> std::sync::MutexGuard<'static, ()> {
        static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn look(number: u32) -> Result<ProcessView> {
        process(number, None, &NEVER, |_| {})
    }

    fn me() -> u32 {
        std::process::id()
    }

    #[test]
    fn this_process_has_its_own_program_mapped_private() {
        let _alone = alone();
        let view = look(me()).unwrap();
        let program = std::env::current_exe().unwrap();
        let mine: Vec<_> = view.mappings.iter().filter(|it| Path::new(&it.name) == program).collect();
        assert!(!mine.is_empty());
        assert!(mine.iter().all(|it| it.is_file && !it.shared && it.advice.is_some()));
        let file = view.files.iter().find(|it| Path::new(&it.name) == program).unwrap();
        assert!(file.is_code && file.mappings == mine.len() as u64, "{file:?}");
        assert_eq!(file.file_bytes.value(), Some(&std::fs::metadata(&program).unwrap().len()), "{file:?}");
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error_in_words() {
        assert_eq!(look(u32::MAX).unwrap_err().to_string(), "there is no process 4294967295");
    }

    #[test]
    fn a_thread_is_shown_as_its_process() {
        let _alone = alone();
        let (send, receive) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            send.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = ended.recv();
        });
        let tid = receive.recv().unwrap();
        let view = look(tid).unwrap();
        drop(end);
        thread.join().unwrap();
        assert_eq!((view.pid, view.thread), (me(), Some(tid)));
    }

    #[test]
    fn a_process_that_has_ended_has_no_mappings_and_says_why() {
        let mut child = Command::new("true").spawn().unwrap();
        let path = format!("/proc/{}/stat", child.id());
        sys::process::within(Duration::from_secs(60), || sys::process::stat(&path).is_some_and(|it| it.state == 'Z'));
        let view = look(child.id()).unwrap();
        child.wait().unwrap();
        assert_eq!((view.without_memory, view.mappings.len()), (Some(WithoutMemory::Zombie), 0));
        // kthreadd, where this is no container.
        match look(2) {
            Ok(view) if view.command == "kthreadd" => assert_eq!(view.without_memory, Some(WithoutMemory::Kernel)),
            other => println!("skipped: process 2 is no thread of the kernel: {:?}", other.map(|it| it.command)),
        }
    }

    #[test]
    fn a_process_that_ends_while_it_is_watched_is_shown_with_what_was_counted() {
        let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take();
        let view = process(child.id(), Some(Duration::from_secs(300)), &NEVER, |_| drop(input.take())).unwrap();
        child.wait().unwrap();
        let watched = view.watched.unwrap();
        assert_eq!(watched.ended, Some(WatchEnd::ProcessEnded));
        assert!(!view.mappings.is_empty() && view.files.iter().all(|it| it.meanwhile.is_some()));
    }

    #[test]
    fn a_wait_that_is_interrupted_shows_what_was_counted_so_far() {
        let _alone = alone();
        let interrupted = AtomicBool::new(false);
        let stop = |_: f64| interrupted.store(true, Ordering::Relaxed);
        let view = process(me(), Some(Duration::from_secs(300)), &interrupted, stop).unwrap();
        let watched = view.watched.unwrap();
        assert_eq!((watched.ended, watched.asked_s), (Some(WatchEnd::Interrupted), 300.0));
    }

    #[test]
    fn pages_that_come_in_while_a_process_is_watched_are_counted_and_looking_brings_none() {
        /// Beyond the end of the file too, where nothing can come in.
        const MAPPED: usize = 3 << 20;
        let _alone = alone();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![5u8; 2 << 20]).unwrap();
        sys::cache::evict(file.as_file(), 0, 0).unwrap();
        let flags = rustix::mm::MapFlags::SHARED;
        // SAFETY: a mapping of its own, at an address that the kernel chooses, and unmapped below.
        let at = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), MAPPED, rustix::mm::ProtFlags::READ, flags, file.as_file(), 0)
                .unwrap()
        };
        let of = |view: ProcessView| view.files.into_iter().find(|it| Path::new(&it.name) == file.path()).unwrap();
        let cached = |it: &MappedFile| it.residency.value().map(|it| it.resident);
        let first = of(look(me()).unwrap());
        let second = of(look(me()).unwrap());
        let mut read = false;
        let watched = process(me(), Some(Duration::from_millis(200)), &NEVER, |_| {
            if !read {
                read = true;
                std::fs::read(file.path()).unwrap();
            }
        });
        let third = of(watched.unwrap());
        // SAFETY: made above, and nothing refers to it.
        unsafe { rustix::mm::munmap(at, MAPPED).unwrap() };
        assert_eq!((first.unadvised_bytes, first.is_code, first.resident_bytes), (Some(2 << 20), false, 0));
        let Some(before) = cached(&first) else { return println!("skipped: {:?}", first.residency) };
        assert_eq!(cached(&second), Some(before));
        // The kernel may have taken some of them away again.
        let after = cached(&third).expect("it was seen before");
        assert!(after - before > (2 << 20) / sys::page_bytes() / 2, "{before} {after}");
        let more = ((after - before) * sys::page_bytes()) as i64;
        let meanwhile = third.meanwhile.unwrap();
        assert_eq!(meanwhile.cached_more_bytes, Reading::Value(more));
        assert_eq!(meanwhile.mapped_more_bytes, Reading::Value(0));
        assert_eq!(meanwhile.unmapped_more_bytes, Reading::Value(more as u64));
    }

    #[test]
    fn what_a_mapping_that_went_had_mapped_is_not_called_unmapped() {
        let mapping = |addresses: &str, resident: u64| ProcessMapping {
            addresses: addresses.into(),
            inode: 7,
            name: "/data/file".into(),
            resident_bytes: resident,
            ..ProcessMapping::default()
        };
        let residency = |resident| {
            let none = || Reading::Value(0);
            let (dirty, under_writeback, evicted, recently_evicted) = (none(), none(), none(), none());
            let asked = "cachestat".into();
            Reading::Value(Residency { asked, pages: 100, resident, dirty, under_writeback, evicted, recently_evicted })
        };
        let page = sys::page_bytes();
        let unmapped = |before: &[ProcessMapping], after: Option<&[ProcessMapping]>, cached: u64| {
            let key: Key = ([0, 0], 7);
            let first = [(key, Reading::Value(page))].into();
            let touched = Touched::new();
            let meanwhile =
                Meanwhile { cached: first, touched: &touched, before: by_file(before), after: after.is_some() };
            let now: Vec<&ProcessMapping> = after.unwrap_or(before).iter().collect();
            meanwhile.of_file(&key, &now, &residency(cached)).unmapped_more_bytes
        };
        let (one, more) = ([mapping("1-9", page)], [mapping("1-9", 5 * page)]);
        assert_eq!(unmapped(&one, Some(&more), 11), Reading::Value(6 * page));
        assert_eq!(unmapped(&one, Some(&more), 3), Reading::Value(0));
        let gone = Reading::unavailable(Unlooked::UnmappedMeanwhile);
        assert_eq!(unmapped(&one, Some(&[mapping("2-9", page)]), 11), gone);
        assert_eq!(unmapped(&one, None, 11), gone);
        // The next window of the file, at the same addresses.
        let next = ProcessMapping { offset: 8 * page, ..mapping("1-9", page) };
        assert_eq!(unmapped(&one, Some(&[next]), 11), gone);
    }

    #[test]
    fn pages_that_were_mapped_while_their_mapping_had_advice_are_not_new() {
        let mapping = |addresses: &str, flags: &[&str]| ProcessMapping {
            addresses: addresses.into(),
            flags: Some(flags.iter().map(|it| (*it).to_string()).collect()),
            inode: 7,
            name: "/data/file".into(),
            ..ProcessMapping::default()
        };
        let before = [mapping("1000-9000", &["rr"]), mapping("9000-a000", &[])];
        let key: Key = ([0, 0], 7);
        let touched: Touched = [(key, Ok(Runs::new()))].into();
        let meanwhile = Meanwhile { cached: BTreeMap::new(), touched: &touched, before: by_file(&before), after: true };
        let new = |now: &ProcessMapping| meanwhile.new_places(&key, &[now], &Ok(Runs::new()), 16);
        assert!(new(&before[1]).value().is_some());
        let why = Some(&Unlooked::AdvisedMeanwhile);
        assert_eq!(new(&mapping("1000-a000", &[])).why(), why);
        assert_eq!(new(&mapping("1000-2000", &[])).why(), why);
    }

    #[test]
    fn the_advice_of_a_file_is_known_where_that_of_all_its_mappings_is() {
        let mapping = |flags: Option<&[&str]>| {
            let flags = flags.map(|it| it.iter().map(|it| (*it).to_string()).collect());
            ProcessMapping { flags, ..ProcessMapping::default() }
        };
        let (plain, random, unknown) = (mapping(Some(&["rd"])), mapping(Some(&["rd", "rr"])), mapping(None));
        assert_eq!(all_advice(&[&plain, &random]), Some([MappingAdvice::Random].into()));
        assert_eq!(all_advice(&[&plain]), Some(BTreeSet::new()));
        assert_eq!([all_advice(&[&unknown]), all_advice(&[&random, &unknown])], [None, None]);
    }

    #[test]
    fn a_page_table_is_looked_at_for_no_more_pages_than_are_left() {
        let held = Held::open(me()).unwrap();
        let files = Files { held: &held, mounts: Vec::new(), most: 0, seen: BTreeMap::new() };
        let page = sys::page_bytes();
        let mapping = |pages: u64| ProcessMapping {
            addresses: format!("0-{:x}", pages * page),
            bytes: pages * page,
            ..ProcessMapping::default()
        };
        let mut left = 2;
        assert_eq!(files.present(&[&mapping(1)], &mut left), Ok(Runs::new()));
        let why = files.present(&[&mapping(1), &mapping(1)], &mut left).unwrap_err();
        assert_eq!(why, Unlooked::TooLargeMapping { pages: 2, most: TABLE_PAGES });
        assert_eq!(left, 1);
    }

    #[test]
    fn a_file_on_another_device_is_no_part_of_a_program_with_its_inode() {
        let mapping = |minor: u32, permissions: &str| ProcessMapping {
            device: [8, minor],
            inode: 7,
            name: "/data/program".into(),
            permissions: permissions.into(),
            ..ProcessMapping::default()
        };
        let all = [mapping(2, "r--p"), mapping(1, "r-xp"), mapping(1, "r--p")];
        assert_eq!(of_program(&all, 7), Some((&all[1], vec![&all[1], &all[2]])));
        assert_eq!(of_program(&all, 8), None);
    }

    #[test]
    fn only_what_is_mapped_as_code_is_the_code_of_a_runtime() {
        let of = |permissions: &str| {
            let (name, permissions) = ("/data/python3".into(), permissions.into());
            runtime(&ProcessMapping { name, permissions, inode: 1, ..ProcessMapping::default() })
        };
        assert_eq!([of("r-xp"), of("r--s")], [Some(MappedRuntime::Cpython), None]);
        assert_eq!(look(me()).unwrap().runtimes, [], "it is a program of Rust's");
    }

    #[test]
    fn what_has_an_inode_and_no_name_in_a_folder_is_no_file() {
        let of = |name: &str| mapping_view(ProcessMapping { name: name.into(), inode: 1, ..ProcessMapping::default() });
        assert!(of("/data/file").is_file && of("/data/file (deleted)").is_file);
        for other in ["/[aio]", "/[aio] (deleted)", "socket:[7]", "anon_inode:[perf_event]"] {
            assert!(!of(other).is_file, "{other}");
        }
    }

    #[test]
    fn memory_with_a_name_is_no_file_that_is_read_ahead() {
        let _alone = alone();
        use rustix::fs::MemfdFlags;
        let memory = File::from(rustix::fs::memfd_create("some", MemfdFlags::CLOEXEC).unwrap());
        memory.set_len(2 << 20).unwrap();
        let flags = rustix::mm::MapFlags::SHARED;
        // SAFETY: a mapping of its own, at an address that the kernel chooses, and unmapped below.
        let at = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), 2 << 20, rustix::mm::ProtFlags::READ, flags, &memory, 0).unwrap()
        };
        let view = look(me()).unwrap();
        // SAFETY: made above, and nothing refers to it.
        unsafe { rustix::mm::munmap(at, 2 << 20).unwrap() };
        let file = view.files.iter().find(|it| it.name.starts_with("/memfd:some")).unwrap();
        assert_eq!(file.residency.why(), Some(&Unlooked::Memory));
    }

    #[test]
    fn a_disk_whose_file_lies_in_memory_is_a_device() {
        let _alone = alone();
        let disks = std::fs::read_dir("/dev").unwrap().filter_map(Result::ok);
        let mut disks = disks.filter(|it| it.file_type().is_ok_and(|kind| kind.is_block_device()));
        let Some((name, disk)) = disks.find_map(|it| Some((it.path(), File::open(it.path()).ok()?))) else {
            println!("skipped: no block device in /dev can be opened");
            return;
        };
        let flags = rustix::mm::MapFlags::SHARED;
        // SAFETY: a mapping of its own, at an address that the kernel chooses, and unmapped below.
        let mapped =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), 4096, rustix::mm::ProtFlags::READ, flags, &disk, 0) };
        let Ok(at) = mapped else {
            println!("skipped: {} cannot be mapped", name.display());
            return;
        };
        let view = look(me()).unwrap();
        // SAFETY: made above, and nothing refers to it.
        unsafe { rustix::mm::munmap(at, 4096).unwrap() };
        let file = view.files.iter().find(|it| Path::new(&it.name) == name).unwrap();
        assert_eq!(file.residency.why(), Some(&Unlooked::NotRegular));
    }
}
