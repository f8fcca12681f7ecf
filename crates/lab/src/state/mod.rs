//! Where the pages are when a pass starts: how each state is reached, and how it is verified.
//!
//! Threat: a pass that starts from another state than it claims answers another question, and nothing in its time
//! shows that. The calls that promise a state (posix_fadvise, a successful read) are no evidence. Defence: the state is
//! looked at right before and right after the pass, through a way that was proved on this very file, and a pass that
//! fails either look is kept as invalid. What remains: a guest's cold pages may lie in its host's memory; the
//! processor's own caches are whatever the pass before left; and a stranger's file allows less (see `verify`).

pub mod cold;
pub(crate) mod fill;
pub mod steady;
pub(crate) mod writing;

use std::path::Path;

use schema::{
    Arm, Span, State,
    protocol::{Done, Hold},
    record::{Reading, Resident},
};
use sys::{cache::Way, process::Mapped};

use crate::target::{
    Target,
    named::{Named, kept_by_mappings},
};

/// What the worker does before `prepared` so that the state can hold.
pub fn hold(state: State) -> Hold {
    match state {
        State::Cold | State::AsIs | State::AsFound => Hold::No,
        State::Cached => Hold::Rehearse,
        State::Mapped => Hold::Warm,
        // Passes before, through the same mapping, are what a steady state is; how many, they say themselves.
        State::Limited => Hold::Open,
        State::Locked => Hold::Locked,
    }
}

/// Whether this state can be had of the target at all, as far as it is known: what is not proved yet may be.
///
/// # Errors
/// Why not, and what would help.
pub fn possible(state: State, target: &Target) -> Result<(), String> {
    if let Some(named) = &target.named {
        if state == State::AsFound {
            named.is_found_in_part()?;
        }
        return if target.is_unproved() { Ok(()) } else { named.possible(state) };
    }
    match state {
        State::AsIs => Ok(()),
        State::AsFound => Err("state as-found is of files that commands, or replays of several files, read".into()),
        _ if target.is_unproved() => Ok(()),
        State::Cold if target.file_system.is_memory() => Err(format!(
            "files on {} exist only in the page cache, so they are never cold; use a file on a disk",
            target.file_system.kind
        )),
        // What the eviction before left would be charged to no limit, and a look to verify it would bring pages in.
        State::Limited if target.look_reads_ahead() => Err(format!(
            "the kernel reports the residency of {} only to its owner, so it cannot be verified that the file was \
             evicted before; state {state} is not measured. Try a copy of your own, or root",
            target.path
        )),
        _ => target.way().map(|_| ()).map_err(|reason| {
            kept_by_mappings(Path::new(&target.path)).unwrap_or_else(|| {
                format!(
                    "{reason}; state {state} cannot be verified, so it is not measured. Try state as-is, or a file you own"
                )
            })
        }),
    }
}

/// Residency of a window, as the target's proven way sees it.
pub fn residency(target: &Target, range: Span) -> Reading<Resident> {
    target.residency(range)
}

/// Whether a pass may start.
///
/// # Errors
/// What is not as the state demands.
pub fn verify_before(state: State, target: &Target, resident: &Reading<Resident>) -> Result<(), String> {
    match (state, resident) {
        (State::AsIs | State::Limited, _) => Ok(()),
        (State::AsFound, resident) => {
            let (pages, found) = (known(resident)?.pages, target.named.as_ref().map_or(0, Named::found_pages));
            match pages == found {
                true => Ok(()),
                false => Err(format!("{pages} pages were in the page cache before the pass, and {found} were found")),
            }
        }
        // Where residency is not to be asked for, the bytes from the device are the evidence instead (`verify_after`).
        (State::Cold, Reading::Value(Resident { pages: pages @ 1.., of })) => {
            Err(format!("{pages} of {of} pages were in the page cache before the pass, so the file was not cold"))
        }
        (State::Cold, _) => Ok(()),
        (_, resident) => match known(resident)? {
            Resident { pages, of } if pages == of => Ok(()),
            Resident { pages, of } => Err(format!("only {pages} of {of} pages were in the page cache before the pass")),
        },
    }
}

/// What was seen of a pass once it is over.
pub struct Evidence<'a> {
    pub arm: &'a Arm,
    pub writes: bool,
    pub resident_before: &'a Reading<Resident>,
    pub resident_after: &'a Reading<Resident>,
    /// The worker's mappings of the file before the pass, in the states that hold it open; or why they are not known.
    pub mapped_before: Option<Result<Mapped, String>>,
    pub device_read_bytes: Option<f64>,
    pub done: &'a Done,
}

/// Whether a pass that ran was in its state from start to end.
///
/// # Errors
/// What was not as the state demands.
pub fn verify_after(state: State, way: Option<Way>, seen: &Evidence) -> Result<(), String> {
    let distinct_bytes = seen.done.tally.distinct_bytes;
    match state {
        State::AsIs => Ok(()),
        // Some file systems (btrfs with checksums or compression) take O_DIRECT and read through the page cache. The
        // method's own trial does not show that where the page was cached already; a cold pass does.
        State::Cold if seen.arm.is_direct() && !seen.writes && way != Some(Way::Nowait) => match came(seen)? {
            0 => Ok(()),
            pages => Err(format!("O_DIRECT went through the page cache: the pass left {pages} pages there")),
        },
        State::Cold if way == Some(Way::Nowait) => match seen.device_read_bytes {
            Some(bytes) if bytes < distinct_bytes as f64 => Err(format!(
                "the pass reached {distinct_bytes} bytes, of which only {bytes} came from the device, so the file was \
                 not cold"
            )),
            Some(_) => Ok(()),
            None => {
                Err("neither residency nor device bytes can be read here, so the file cannot be verified as cold"
                    .into())
            }
        },
        // Less memory than file: if nothing came from the device, the limit did not bite.
        State::Limited => match seen.device_read_bytes {
            Some(bytes) if bytes > 0.0 => Ok(()),
            Some(_) => {
                Err("no byte came from the device: what was read fitted into memory in spite of the limit".into())
            }
            None => {
                Err("bytes from the device cannot be counted here, so the effect of the limit cannot be verified"
                    .into())
            }
        },
        // What a cold pass leaves behind is the method's business: read-ahead, or nothing after O_DIRECT. Where it can be asked
        // what was there before, and there was no answer, nothing shows that it started cold.
        State::Cold | State::AsFound => known(seen.resident_before).map(drop),
        State::Cached | State::Mapped | State::Locked => {
            let Resident { pages, of } = known(seen.resident_after)?;
            if pages < of {
                return Err(format!("{} of {of} pages left the page cache during the pass", of - pages));
            }
            if state == State::Cached {
                return Ok(());
            }
            let mapped = match &seen.mapped_before {
                Some(Ok(mapped)) if mapped.mappings > 0 => mapped,
                // Methods without a mapping of their own have nothing in the page table to verify. Where they read, a mapping
                // beside them locks the pages.
                _ if !seen.arm.maps() && (state != State::Locked || seen.writes) => return Ok(()),
                Some(Err(reason)) => return Err(format!("the worker's mappings could not be read: {reason}")),
                _ => return Err("no mapping of the file was found in the worker before the pass".into()),
            };
            let reached = seen.done.tally.distinct_pages.map_or(distinct_bytes, |pages| pages * sys::page_bytes());
            if mapped.resident_bytes < reached {
                return Err(format!(
                    "only {} of {reached} bytes were in the page table before the pass",
                    mapped.resident_bytes
                ));
            }
            if state == State::Locked && mapped.locked_bytes < distinct_bytes {
                return Err(format!("only {} of {distinct_bytes} bytes were locked", mapped.locked_bytes));
            }
            Ok(())
        }
    }
}

/// Pages that came into the page cache during the pass.
fn came(seen: &Evidence) -> Result<u64, String> {
    Ok(known(seen.resident_after)?.pages.saturating_sub(known(seen.resident_before)?.pages))
}

/// What must be seen to be believed: a residency that could not be asked for verifies nothing.
///
/// # Errors
/// Why it is not known.
pub(crate) fn known(resident: &Reading<Resident>) -> Result<Resident, String> {
    match resident {
        Reading::Value(resident) => Ok(*resident),
        Reading::Unavailable { unavailable } => Err(format!("the residency could not be read: {unavailable}")),
    }
}

/// Whether a command read a named file, as far as a cold start shows it.
///
/// # Errors
/// It did not.
pub fn verify_touched(seen: &Evidence) -> Result<(), String> {
    if seen.device_read_bytes.is_some_and(|bytes| bytes > 0.0) {
        return Ok(());
    }
    match known(seen.resident_after)? {
        Resident { pages: 1.., .. } => Ok(()),
        _ => Err("the command did not read the named files: they were cold before, no page of them is in the page cache now, and nothing was read from the device"
            .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::protocol::{Phases, Tally, Usage};

    fn done(distinct_bytes: u64) -> Done {
        Done {
            pass: 1,
            phases: Phases { open_ns: None, work_ns: 1, close_ns: None },
            tally: Tally {
                ops: 1,
                bytes: distinct_bytes,
                distinct_bytes,
                distinct_block_bytes: None,
                distinct_pages: Some(distinct_bytes.div_ceil(4096)),
                checksum: "0".into(),
                threads: 1,
                queue_depth: 1,
            },
            parts: None,
            seen: Default::default(),
            own_reads: None,
            observation: None,
            beats: None,
            usage: Usage {
                user_ns: 0,
                system_ns: 0,
                minor_faults: 0,
                major_faults: 0,
                voluntary_switches: 0,
                involuntary_switches: 0,
            },
        }
    }

    fn arm(name: &str) -> Arm {
        name.parse().unwrap()
    }

    fn some_target() -> (tempfile::NamedTempFile, Target) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "some text").unwrap();
        let target = Target::open(file.path(), true).unwrap();
        (file, target)
    }

    #[test]
    fn state_limited_needs_a_file_whose_eviction_can_be_verified() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "some text").unwrap();
        for way in Way::ALL {
            let target = Target::open(file.path(), true).unwrap();
            target.prove_as(way);
            assert_eq!(possible(State::Limited, &target).is_err(), way == Way::Nowait, "{}", way.word());
            assert_eq!(possible(State::Cached, &target), Ok(()), "{}", way.word());
        }
    }

    #[test]
    fn a_cold_pass_around_the_page_cache_that_leaves_pages_there_is_invalid() {
        let done = done(8192);
        let verify = |name: &str, after, writes| {
            let seen = Evidence {
                arm: &arm(name),
                writes,
                resident_before: &resident(1, 4),
                resident_after: &resident(after, 4),
                mapped_before: None,
                device_read_bytes: None,
                done: &done,
            };
            verify_after(State::Cold, Some(Way::Cachestat), &seen)
        };
        for name in ["direct", "uring+direct", "jvm/channel-odirect"] {
            assert!(verify(name, 3, false).is_err(), "{name}");
            assert_eq!(verify(name, 1, false), Ok(()));
        }
        assert_eq!(verify("pread", 3, false), Ok(()));
    }

    #[test]
    fn a_residency_that_is_not_known_verifies_nothing() {
        let (done, unknown) = (done(8192), Reading::unavailable("mincore failed"));
        let seen = |arm, device_read_bytes| Evidence {
            arm,
            writes: false,
            resident_before: &unknown,
            resident_after: &unknown,
            mapped_before: None,
            device_read_bytes,
            done: &done,
        };
        let (read, direct) = (arm("read"), arm("direct"));
        let (_kept, target) = some_target();
        for state in [State::Cached, State::Mapped, State::Locked, State::AsFound] {
            assert!(verify_before(state, &target, &unknown).is_err(), "{state}");
            assert!(verify_after(state, Some(Way::Mincore), &seen(&read, None)).is_err(), "{state}");
        }
        assert!(verify_after(State::Cold, Some(Way::Mincore), &seen(&direct, None)).is_err());
        for way in [Way::Mincore, Way::Cachestat] {
            assert!(verify_after(State::Cold, Some(way), &seen(&read, Some(8192.0))).is_err(), "{}", way.word());
        }
        assert!(verify_touched(&seen(&read, None)).is_err());
        assert!(verify_touched(&seen(&read, Some(0.0))).is_err());
        assert_eq!(verify_touched(&seen(&read, Some(4096.0))), Ok(()), "the device shows it");
    }

    #[test]
    fn an_arm_that_maps_needs_a_mapping_that_was_found() {
        let done = done(8192);
        let verify = |state, name: &str, mapped_before| {
            let all = resident(2, 2);
            let seen = Evidence {
                arm: &arm(name),
                writes: false,
                resident_before: &all,
                resident_after: &all,
                mapped_before: Some(mapped_before),
                device_read_bytes: None,
                done: &done,
            };
            verify_after(state, Some(Way::Cachestat), &seen)
        };
        for name in ["mmap", "stdio-mmap", "jvm/mapped", "jvm/segment"] {
            assert!(verify(State::Mapped, name, Ok(Mapped::default())).is_err(), "{name}");
            assert!(verify(State::Mapped, name, Err("gone".into())).is_err(), "{name}");
        }
        for name in ["read", "uring", "jvm/stream"] {
            assert_eq!(verify(State::Mapped, name, Ok(Mapped::default())), Ok(()), "{name}");
            assert!(verify(State::Locked, name, Ok(Mapped::default())).is_err(), "{name}: nothing is locked");
        }
    }

    fn resident(pages: u64, of: u64) -> Reading<Resident> {
        Reading::Value(Resident { pages, of })
    }

    #[test]
    fn a_cold_pass_needs_that_no_page_is_seen_before() {
        let (_kept, target) = some_target();
        assert_eq!(verify_before(State::Cold, &target, &resident(0, 8)), Ok(()));
        assert!(verify_before(State::Cold, &target, &resident(1, 8)).is_err());
        assert_eq!(
            verify_before(State::Cold, &target, &Reading::unavailable("the check would start read-ahead")),
            Ok(())
        );
    }

    #[test]
    fn a_cached_pass_needs_every_page_before_and_after() {
        let (_kept, target) = some_target();
        assert_eq!(verify_before(State::Cached, &target, &resident(8, 8)), Ok(()));
        assert!(verify_before(State::Cached, &target, &resident(7, 8)).unwrap_err().contains("only 7 of 8"));
        assert!(verify_before(State::Cached, &target, &Reading::unavailable("strangers")).is_err());
        let done = done(4096);
        let verify = |pages, of| {
            let resident_after = &resident(pages, of);
            let (arm, resident_before) = (&arm("mmap"), resident_after);
            let seen = Evidence {
                arm,
                writes: false,
                resident_before,
                resident_after,
                mapped_before: None,
                device_read_bytes: None,
                done: &done,
            };
            verify_after(State::Cached, Some(Way::Cachestat), &seen)
        };
        assert_eq!(verify(8, 8), Ok(()));
        assert!(verify(5, 8).unwrap_err().contains("3 of 8"));
    }

    #[test]
    fn a_mapped_pass_needs_its_pages_in_the_page_table_and_a_locked_one_locked() {
        let done = done(8192);
        let resident = resident(2, 2);
        let verify = |state, resident_bytes, locked_bytes| {
            let mapped = Mapped { mappings: 1, resident_bytes, locked_bytes };
            let seen = Evidence {
                arm: &arm("mmap"),
                writes: false,
                resident_before: &resident,
                resident_after: &resident,
                mapped_before: Some(Ok(mapped)),
                device_read_bytes: None,
                done: &done,
            };
            verify_after(state, Some(Way::Cachestat), &seen)
        };
        assert_eq!(verify(State::Mapped, 8192, 0), Ok(()));
        assert!(verify(State::Mapped, 8191, 0).unwrap_err().contains("page table"));
        assert_eq!(verify(State::Locked, 8192, 8192), Ok(()));
        assert!(verify(State::Locked, 8192, 0).unwrap_err().contains("locked"));
    }

    #[test]
    fn without_residency_a_cold_pass_is_proved_by_what_the_device_read() {
        let done = done(8192);
        let nothing = Reading::unavailable("strangers");
        let verify = |device_read_bytes| {
            let seen = Evidence {
                arm: &arm("read"),
                writes: false,
                resident_before: &nothing,
                resident_after: &nothing,
                mapped_before: None,
                device_read_bytes,
                done: &done,
            };
            verify_after(State::Cold, Some(Way::Nowait), &seen)
        };
        assert_eq!(verify(Some(8192.0)), Ok(()));
        assert!(verify(Some(4096.0)).unwrap_err().contains("not cold"));
        assert!(verify(None).is_err());
    }
}
