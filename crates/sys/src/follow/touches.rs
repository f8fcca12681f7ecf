//! Which pages of mapped files a program touches, one by one: every first touch of a page is a page fault, if the file is not in
//! the page cache and the mapping has the advice MADV_RANDOM. Without it a fault brings in, and maps, more than its page. The
//! program's mappings of the files get that advice as soon as they are made (`inject`), and its own advice about them becomes
//! the same; nothing is populated.
//!
//! Of pages that came into the page cache otherwise, a fault maps those around it, which are then touched unseen. So calls read
//! no more of the files than they deliver, and a mapping begins without the pages that no process has mapped.

use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::{
    fs::{Advice, fadvise},
    process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open},
};

use super::{Does, NotSeen, Opened, inject};
use crate::{
    cache::each_resident,
    folder::{self, Identity},
    page_bytes,
    perf::{PageFault, PageFaults},
};

/// Smaller mappings are not told apart page by page: programs make many of them, and nothing is evicted for each. They get the
/// advice too, so that they bring in no more than their own pages.
pub const MAPPING_BYTES_MIN: u64 = 1 << 20;

/// Interval at which the rings are emptied, between the stops of the program.
const PAUSE: Duration = Duration::from_millis(2);
/// Of page faults that no stop has taken, at 24 bytes each.
const PENDING_MAX: usize = 4_000_000;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchesAsked {
    /// Files without a page in the page cache.
    pub files: HashSet<Identity>,
    /// From the start of the program.
    pub budget: Duration,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TouchesSeen {
    /// Why nothing was seen.
    pub refused: Option<String>,
    /// Also those that system calls made for the program.
    pub with_calls: bool,
    /// Page faults that are missing.
    pub lost: u64,
    /// The time was over before the program ended.
    pub is_over_budget: bool,
    /// Mappings that did not take the advice, by file.
    pub unadvised: BTreeMap<Identity, u64>,
    /// Pages that were in the page cache before evictions, by file.
    pub evicted: BTreeMap<Identity, Evicted>,
}

/// How often each page was there.
type Evicted = BTreeMap<u64, u64>;

/// Of a longer file it takes too long to ask which pages are in the page cache, at each of its mappings.
const BYTES_MAX_BEFORE_EVICTION: u64 = 16 << 30;

/// The page faults of one execution.
pub(super) struct Faults(Mutex<Drained>);

/// Process, first address, the one after the last.
type Range = (i32, u64, u64);

/// What is mapped there is not there any more; what lies before and behind stays.
fn take_away(ranges: &mut Vec<Range>, process: i32, from: u64, bytes: u64) {
    // Of whole pages (mmap(2), munmap(2)).
    let to = from.saturating_add(bytes.checked_next_multiple_of(page_bytes()).unwrap_or(bytes));
    let mut rest = Vec::new();
    ranges.retain(|&(of, start, end)| {
        let is_elsewhere = of != process || end <= from || start >= to || bytes == 0;
        if !is_elsewhere {
            rest.extend([(of, start, end.min(from)), (of, start.max(to), end)]);
        }
        is_elsewhere
    });
    ranges.extend(rest.into_iter().filter(|(_, start, end)| start < end));
}

struct Drained {
    source: PageFaults,
    /// Mappings with the advice. Faults elsewhere are dropped.
    advised: Vec<Range>,
    /// Not told yet.
    pending: Vec<PageFault>,
    overflowed: u64,
    is_over_budget: bool,
}

impl Drained {
    fn drain(&mut self) {
        let Drained { source, advised, pending, overflowed, .. } = self;
        source.drain(|fault| {
            if advised.iter().any(|&(_, start, end)| (start..end).contains(&fault.address)) {
                match pending.len() < PENDING_MAX {
                    true => pending.push(fault),
                    false => *overflowed += 1,
                }
            }
        });
    }
}

impl Faults {
    /// Of a process that has executed nothing yet.
    ///
    /// # Errors
    /// Why page faults are not seen here, and what would change that.
    pub(super) fn of(process: i32) -> Result<Faults, String> {
        if cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))) {
            return Err("advice is injected on x86-64 and aarch64 only".into());
        }
        let mut source = PageFaults::of(process.unsigned_abs())?;
        source.enable()?;
        let (advised, pending) = (Vec::new(), Vec::new());
        Ok(Faults(Mutex::new(Drained { source, advised, pending, overflowed: 0, is_over_budget: false })))
    }

    fn held(&self) -> MutexGuard<'_, Drained> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drained(&self) -> MutexGuard<'_, Drained> {
        let mut held = self.held();
        held.drain();
        held
    }

    /// What was touched since the last time, in order.
    pub(super) fn until_now(&self) -> Vec<PageFault> {
        let mut pending = std::mem::take(&mut self.drained().pending);
        // Each CPU has its own ring.
        pending.sort_by_key(|it| it.time_ns);
        pending
    }

    /// Empties the rings between the stops of the program, and ends the recording when its time is over.
    pub(super) fn watch(&self, budget: Duration, all_ended: &AtomicBool) {
        let began = Instant::now();
        while !all_ended.load(Ordering::Acquire) {
            let mut drained = self.drained();
            if began.elapsed() >= budget && !drained.is_over_budget {
                drained.is_over_budget = true;
                // What it cannot stop is ignored.
                let _ = drained.source.disable();
            }
            drop(drained);
            std::thread::sleep(PAUSE);
        }
    }

    fn is_over_budget(&self) -> bool {
        self.held().is_over_budget
    }

    fn seen(&self, unadvised: BTreeMap<Identity, u64>, evicted: BTreeMap<Identity, Evicted>) -> TouchesSeen {
        let mut drained = self.drained();
        TouchesSeen {
            refused: None,
            with_calls: drained.source.sees_calls,
            lost: drained.source.lost() + drained.overflowed,
            is_over_budget: drained.is_over_budget,
            unadvised,
            evicted,
        }
    }
}

/// The mappings of one execution whose pages are seen one by one.
pub(super) struct Touches<'a> {
    pub(super) faults: &'a Faults,
    files: &'a HashSet<Identity>,
    unadvised: BTreeMap<Identity, u64>,
    evicted: BTreeMap<Identity, Evicted>,
    /// Processes whose open files read ahead again, since the time is over.
    relieved: HashSet<i32>,
}

impl<'a> Touches<'a> {
    pub(super) fn of(faults: &'a Faults, files: &'a HashSet<Identity>) -> Touches<'a> {
        Touches { faults, files, unadvised: BTreeMap::new(), evicted: BTreeMap::new(), relieved: HashSet::new() }
    }

    pub(super) fn seen(self) -> TouchesSeen {
        self.faults.seen(self.unadvised, self.evicted)
    }

    /// Pages that nothing explains in the end may have been touched unseen, by a system call or in a locked mapping. When they
    /// are evicted that is not to be seen any more. No bytes: all up to the end.
    fn look_before_eviction(&mut self, process: i32, descriptor: i32, file: Identity, (offset, bytes): (u64, u64)) {
        let Some(open) = open_of(process, descriptor, file) else { return };
        let whole = open.metadata().map_or(0, |it| it.len());
        let rest = whole.saturating_sub(offset);
        let bytes = if bytes == 0 { rest } else { bytes.min(rest) };
        if bytes > 0 && whole <= BYTES_MAX_BEFORE_EVICTION {
            let pages = self.evicted.entry(file).or_default();
            // Of what cannot be asked it is not known at the end either.
            let _ = each_resident(&open, offset, bytes, |page| *pages.entry(page).or_default() += 1);
        }
    }

    /// What could not be evicted is looked at again, later or at the end.
    fn look_after_eviction(&mut self, process: i32, descriptor: i32, file: Identity) {
        let Some(pages) = self.evicted.get_mut(&file).filter(|it| !it.is_empty()) else { return };
        let Some(open) = open_of(process, descriptor, file) else { return };
        let bytes = open.metadata().map_or(0, |it| it.len()).min(BYTES_MAX_BEFORE_EVICTION);
        let _ = each_resident(&open, 0, bytes, |page| {
            pages.entry(page).and_modify(|it| *it = it.saturating_sub(1));
        });
    }

    fn is_on(&self) -> bool {
        !self.faults.is_over_budget()
    }

    fn is_one_of(&self, file: Option<&Opened>) -> Option<Identity> {
        file.map(|it| (it.device, it.inode)).filter(|it| self.files.contains(it))
    }

    /// What a call is to be asked for instead: the place of an argument, and its value.
    pub(super) fn instead(
        &mut self,
        (thread, process): (i32, i32),
        does: Does,
        arguments: &[u64; 6],
    ) -> Option<(usize, u64)> {
        match does {
            Does::Map => {
                const FILLS: u64 = (libc::MAP_POPULATE | libc::MAP_LOCKED) as u64;
                let fills = arguments[3] & FILLS != 0 && arguments[1] >= MAPPING_BYTES_MIN && is_of_file(arguments);
                let file = fills.then(|| Opened::of(thread, arguments[4] as i32).ok()).flatten();
                self.is_one_of(file.as_ref()).filter(|_| self.is_on()).map(|_| (3, arguments[3] & !FILLS))
            }
            Does::AdviseMemory => {
                // Evicted pages would no longer show that touches were not seen.
                const CHANGES: [i32; 8] = [
                    libc::MADV_NORMAL,
                    libc::MADV_SEQUENTIAL,
                    libc::MADV_WILLNEED,
                    libc::MADV_HUGEPAGE,
                    libc::MADV_POPULATE_READ,
                    libc::MADV_POPULATE_WRITE,
                    MADV_COLLAPSE,
                    libc::MADV_PAGEOUT,
                ];
                let (from, to) = (arguments[0], arguments[0].saturating_add(arguments[1]));
                let overlaps = |&(of, start, end): &Range| of == process && start < to && from < end;
                let is_ours = || self.faults.held().advised.iter().any(overlaps);
                let changes = CHANGES.contains(&(arguments[2] as i32));
                (changes && is_ours() && self.is_on()).then_some((2, libc::MADV_RANDOM as u64))
            }
            Does::AdviseFile if arguments[3] as i32 == libc::POSIX_FADV_DONTNEED => {
                let descriptor = arguments[0] as i32;
                let file = self.is_on().then(|| Opened::of(thread, descriptor).ok()).flatten();
                if let Some(file) = self.is_one_of(file.as_ref()) {
                    self.look_before_eviction(process, descriptor, file, (arguments[1], arguments[2]));
                }
                None
            }
            Does::AdviseFile => {
                const BRINGS_IN: [i32; 3] =
                    [libc::POSIX_FADV_NORMAL, libc::POSIX_FADV_SEQUENTIAL, libc::POSIX_FADV_WILLNEED];
                let brings_in = BRINGS_IN.contains(&(arguments[3] as i32)) && self.is_on();
                let file = brings_in.then(|| Opened::of(thread, arguments[0] as i32).ok()).flatten();
                self.is_one_of(file.as_ref()).map(|_| (3, libc::POSIX_FADV_RANDOM as u64))
            }
            Does::ReadAhead => {
                // The call has no way to ask for nothing: 0 bytes are all up to the end (mm/fadvise.c).
                const BEYOND_THE_END: u64 = 1 << 62;
                let file = self.is_on().then(|| Opened::of(thread, arguments[0] as i32).ok()).flatten();
                self.is_one_of(file.as_ref()).map(|_| (1, BEYOND_THE_END))
            }
            _ => None,
        }
    }

    /// What a process, stopped, has just opened. Where it does not take the advice, the pages that are read ahead show in the
    /// page cache when all is over.
    pub(super) fn opened(&mut self, process: i32, descriptor: i32, opened: &Opened) {
        let Some(file) = self.is_one_of(Some(opened)).filter(|_| self.is_on()) else { return };
        advise(process, descriptor, file, Advice::Random);
    }

    /// The advice for a mapping that a thread, stopped, has just made; nothing where it is none of theirs. With MAP_FIXED it took
    /// the place of what was there.
    ///
    /// # Errors
    /// It is not known whether it is one.
    pub(super) fn mapped(
        &mut self,
        (thread, process): (i32, i32),
        arguments: &[u64; 6],
        result: i64,
    ) -> Result<Option<inject::Injected>, NotSeen> {
        let bytes = arguments[1];
        // What is no error is an address, and those of programs are not negative.
        if result < 0 {
            return Ok(None);
        }
        self.unmapped(process, result as u64, bytes);
        if !is_of_file(arguments) || !self.is_on() {
            return Ok(None);
        }
        let Some(file) = self.is_one_of(Some(&Opened::of(thread, arguments[4] as i32)?)) else { return Ok(None) };
        if bytes >= MAPPING_BYTES_MIN {
            // Pages that were read or mapped before would be touched unseen.
            self.look_before_eviction(process, arguments[4] as i32, file, (0, 0));
            if !advise(process, arguments[4] as i32, file, Advice::DontNeed) {
                self.fail(file);
                return Ok(None);
            }
            self.look_after_eviction(process, arguments[4] as i32, file);
        }
        match inject::Injected::madvise(thread, result as u64, bytes, libc::MADV_RANDOM, Some(file)) {
            Ok(injected) => Ok(Some(injected)),
            Err(_) => {
                self.fail(file);
                Ok(None)
            }
        }
    }

    /// Once the time is over, a mapping of the process, stopped after a call, is as it was, and so are the open files: what is
    /// left goes at its own speed.
    pub(super) fn relieve(&mut self, thread: i32, process: i32) -> Option<inject::Injected> {
        if self.is_on() {
            return None;
        }
        if self.relieved.insert(process) {
            // Those that may not be looked at stay slow.
            for (descriptor, opened) in Opened::all(thread).unwrap_or_default() {
                if let Some(file) = self.is_one_of(Some(&opened)) {
                    advise(process, descriptor, file, Advice::Normal);
                }
            }
        }
        let mut held = self.faults.held();
        let at = held.advised.iter().position(|it| it.0 == process)?;
        let (_, start, end) = held.advised.swap_remove(at);
        inject::Injected::madvise(thread, start, end - start, libc::MADV_NORMAL, None).ok()
    }

    /// The advice was given, with this result.
    pub(super) fn advised(&mut self, process: i32, injected: &inject::Injected, result: i64) {
        let Some(file) = injected.of else { return };
        let [address, bytes, _] = injected.arguments;
        match result {
            0 => self.faults.held().advised.push((process, address, address.saturating_add(bytes))),
            _ => self.fail(file),
        }
    }

    fn fail(&mut self, file: Identity) {
        *self.unadvised.entry(file).or_default() += 1;
    }

    pub(super) fn unmapped(&self, process: i32, from: u64, bytes: u64) {
        take_away(&mut self.faults.drained().advised, process, from, bytes);
    }

    /// mremap(2) made a mapping of another one, whose advice it has. With MREMAP_FIXED it took the place of what was there.
    pub(super) fn moved(&self, process: i32, [from, old_bytes, bytes, flags, ..]: [u64; 6], to: u64) {
        let mut held = self.faults.drained();
        let is_advised = held.advised.iter().any(|&(of, start, end)| of == process && (start..end).contains(&from));
        if flags & libc::MREMAP_DONTUNMAP as u64 == 0 {
            take_away(&mut held.advised, process, from, old_bytes);
        }
        take_away(&mut held.advised, process, to, bytes);
        if is_advised {
            held.advised.push((process, to, to.saturating_add(bytes)));
        }
    }

    pub(super) fn forked(&self, parent: i32, child: i32) {
        let mut held = self.faults.held();
        let copies: Vec<_> = held.advised.iter().filter(|it| it.0 == parent).map(|it| (child, it.1, it.2)).collect();
        held.advised.extend(copies);
    }

    pub(super) fn ended(&self, process: i32) {
        self.faults.drained().advised.retain(|it| it.0 != process);
    }
}

/// Gives advice about the open file of a descriptor of another process, if it is of this file.
fn advise(process: i32, descriptor: i32, file: Identity, advice: Advice) -> bool {
    // The same open file, which has the advice.
    open_of(process, descriptor, file).is_some_and(|it| fadvise(it, 0, None, advice).is_ok())
}

/// The open file of a descriptor of another process, if it is of this file.
fn open_of(process: i32, descriptor: i32, file: Identity) -> Option<File> {
    let process = pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()?;
    let open = File::from(pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty()).ok()?);
    folder::identity(&open).is_ok_and(|it| it == file).then_some(open)
}

fn is_of_file(arguments: &[u64; 6]) -> bool {
    arguments[3] & libc::MAP_ANONYMOUS as u64 == 0
}

/// linux/mman.h; `libc` does not have it for all systems.
const MADV_COLLAPSE: i32 = 25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ranges_what_is_taken_away_is_gone_and_the_rest_stays() {
        let page = page_bytes();
        let at = |page_number: u64| page_number * page;
        let before = [(1, at(0), at(10)), (2, at(0), at(10)), (1, at(20), at(30) - 7)];
        let after = |from: u64, bytes: u64| {
            let mut ranges = before.to_vec();
            take_away(&mut ranges, 1, from, bytes);
            ranges.sort_unstable();
            ranges
        };
        let [first, other, second] = before;
        assert_eq!(after(at(10), at(10)), [first, second, other]);
        assert_eq!(after(at(3), at(2) - 1), [(1, at(0), at(3)), (1, at(5), at(10)), second, other]);
        assert_eq!(after(at(8), at(14)), [(1, at(0), at(8)), (1, at(22), at(30) - 7), other]);
        assert_eq!(after(at(20), at(10) - 7), [first, other]);
        assert_eq!(after(0, u64::MAX), [other]);
        assert_eq!(after(at(5), 0), [first, second, other]);
    }
}
