//! What this machine can and cannot measure in one place, and what would change that. It looks, and changes nothing.

use std::{path::Path, sync::atomic::AtomicBool};

use schema::{
    Condition, Consume, Span, State,
    record::{Environment, ReclaimScheme},
    runtime::Can,
};

use sys::cache::Way;

use super::host;
use crate::{
    cgroups::Cgroups,
    counted,
    plan::{RANGE_BYTES_MIN, possible},
    probe, runtime,
    target::{self, Target},
};

/// A block that every method can read.
const PAGE_BYTES: u64 = 4096;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub what: String,
    /// What was found, or why it is not to be had and what would change that.
    pub found: Result<String, String>,
}

/// Where it is looked.
pub struct Place<'a> {
    /// The user's file or folder.
    pub path: &'a Path,
    /// What would be measured, or why there is none.
    pub target: Result<&'a Target, String>,
    /// What methods read a page of, which is not the user's own file, or why there is nothing.
    pub tried_on: Result<&'a Target, String>,
    /// Called with what is looked at next, and with the share of all of it that is done: a runtime may compile its worker first.
    pub note: &'a dyn Fn(&str, f64),
}

/// Looks at everything that decides what can be measured in a place. What needs a file that is not there says why it is not.
pub fn examine(place: Place, interrupted: &AtomicBool) -> Vec<Check> {
    let Place { path, target, tried_on, note } = place;
    let supports = |arm: &str| tried_on.clone().and_then(|file| supports(file, arm, interrupted));
    let mut checks = Vec::new();
    let mut check = |what: &str, found: Result<String, String>| checks.push(Check { what: what.into(), found });

    for (at, runtime) in runtime::RUNTIMES.iter().enumerate() {
        note(&format!("the runtime {}", runtime.spec().name), at as f64 / (runtime::RUNTIMES.len() + 1) as f64);
        let (spec, here) = (runtime.spec(), runtime.described());
        let is_here = here.is_ok();
        check(&format!("runtime {}", spec.name), here);
        if !is_here {
            continue;
        }
        for method in spec.methods {
            let found = match method.can {
                // A look writes nothing.
                Can::Write => Ok("checked by runs that write, on faultline's own files".into()),
                Can::Read | Can::Both => supports(&spec.short(method.name)),
            };
            check(&format!("method {}", spec.short(method.name)), found);
        }
        for arm in runtime.also_tried() {
            check(&format!("method {arm}"), supports(arm));
        }
    }
    note("states and probes", runtime::RUNTIMES.len() as f64 / (runtime::RUNTIMES.len() + 1) as f64);
    let cgroups = Cgroups::new(None);
    for &it in State::ALL {
        check(&format!("state {it}"), target.clone().and_then(|target| state(it, target, &cgroups)));
    }
    check("verifying residency", target.clone().and_then(residency));
    check("folio sizes in the cache", target.and_then(folio_sizes));
    let (environment, disk) = (host::detect(&|| None), target::disk_of(path));
    check("memory", Ok(memory(&environment)));
    check(
        "device",
        disk.clone().map(|disk| {
            let ahead = target::read_ahead_of(path);
            let usual = match ahead {
                Ok(bytes) if bytes == 128 << 10 => "",
                _ => " (128 KiB is usual; cold mappings without advice depend on it)",
            };
            let ahead = ahead.map_or_else(|reason| format!("unknown: {reason}"), |it| schema::Bytes(it).to_string());
            format!("{}, read-ahead {ahead}{usual}", disk.name)
        }),
    );
    for kind in probe::PROBES {
        check(&format!("probe {}", kind.name), probe::try_out(kind, &disk));
    }
    check("watching by tracepoints", sys::follow::can_record().map(|()| "yes".into()));
    check("counted passes", counted::try_out());
    check("reclaim schemes", quiet_memory(sys::damon::schemes()));
    check(
        "fault-around",
        match environment.fault_around_bytes.value() {
            Some(bytes) => Ok(schema::Bytes(*bytes).to_string()),
            None => Err("not readable; as root, mount debugfs to record it".into()),
        },
    );
    check(
        "quiet machine",
        match format!("load {:.1} on {} CPUs", environment.load, environment.loaded_cpus()) {
            load if environment.is_busy() => Err(format!("{load}: intervals will be wide; stop other programs")),
            load => Ok(load),
        },
    );
    checks
}

fn residency(target: &Target) -> Result<String, String> {
    // A look evicts nothing, so it cannot prove what a run would use.
    let also = || match target.is_unproved() {
        true => format!("; a run that may evict the file also tries {}", Way::Nowait.word()),
        false => String::new(),
    };
    target.way().map(|way| format!("with {}", way.word())).map_err(|reason| format!("{reason}{}", also()))
}

fn folio_sizes(target: &Target) -> Result<String, String> {
    sys::folio::orders(&target.file, 0, target.bytes.min(1 << 20))
        .map(|_| "yes".into())
        .map_err(|error| format!("{error}; run as root to record them"))
}

fn supports(target: &Target, arm: &str, interrupted: &AtomicBool) -> Result<String, String> {
    let arm = arm.parse()?;
    let a_page = Condition { block_bytes: PAGE_BYTES, ..Condition::plain(target.bytes) };
    let tried = |consume| possible::arm(&arm, target, &Condition { consume, ..a_page.clone() }, interrupted);
    match tried(Consume::Touch) {
        Ok(()) => Ok("yes".into()),
        // A method that makes lines does nothing else with bytes.
        Err(skip) => match tried(Consume::Lines) {
            Ok(()) => Ok(format!("yes, with consume {}", Consume::Lines)),
            Err(_) => Err(skip.to_string()),
        },
    }
}

/// What a run and its dry run ask before they measure anything in a state.
fn state(state: State, target: &Target, cgroups: &Cgroups) -> Result<String, String> {
    // Of a larger file a run may take a part, of no less than this.
    let range = Span { offset: 0, bytes: target.bytes.min(RANGE_BYTES_MIN) };
    let condition = Condition { state, range, ..Condition::plain(target.bytes) };
    possible::condition(&condition, target, cgroups)?;
    if state == State::Locked { lockable() } else { Ok("yes".into()) }
}

/// What the page cache can have, as a run counts it.
fn memory(environment: &Environment) -> String {
    let bytes = environment.cache_memory_bytes();
    let by = if bytes < environment.memory_available_bytes { " (limit of the cgroup)" } else { "" };
    format!("{} available{by}", schema::Bytes(bytes >> 20 << 20))
}

/// Whether memory stays where passes left it.
fn quiet_memory(schemes: Result<Vec<sys::damon::Scheme>, String>) -> Result<String, String> {
    let schemes = schemes.map_err(|reason| format!("{reason}; run as root to see whether DAMON evicts idle memory"))?;
    let Some(it) = schemes.iter().find(|it| ReclaimScheme::pushes_out(&it.action)) else {
        return Ok("none active".into());
    };
    let quota =
        it.quota_bytes_per_s.map(|rate| format!(", up to {}/s", schema::Bytes(rate as u64))).unwrap_or_default();
    Err(format!(
        "DAMON (kdamond.{}, action {}) evicts memory that was not accessed for {:.0} s{quota}: pages can leave the \
         cache between passes, which are then invalid; it can be switched off in {}",
        it.kdamond, it.action, it.idle_s, it.folder
    ))
}

fn lockable() -> Result<String, String> {
    match possible::lockable_bytes() {
        None => Ok("yes".into()),
        Some(bytes) => Ok(format!("up to {} (RLIMIT_MEMLOCK; raise it with `ulimit -l`)", schema::Bytes(bytes))),
    }
}

#[cfg(test)]
mod tests {
    use schema::Reading;

    use super::*;

    #[test]
    fn doctor_and_a_dry_run_say_the_same_of_every_state() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, &[1; 8192]).unwrap();
        let target = Target::open(file.path(), true).unwrap();
        let cgroups = Cgroups::new(None);
        let place = Place { path: file.path(), target: Ok(&target), tried_on: Ok(&target), note: &|_, _| () };
        let checks = examine(place, &AtomicBool::new(true));
        for &it in State::ALL {
            let condition = Condition { state: it, ..Condition::plain(target.bytes) };
            let of_a_run = possible::condition(&condition, &target, &cgroups).err();
            let of_doctor = checks.iter().find(|check| check.what == format!("state {it}")).unwrap();
            assert_eq!(of_doctor.found.as_ref().err(), of_a_run.as_ref(), "{it}");
        }
    }

    #[test]
    fn the_memory_that_is_said_to_be_available_is_what_a_run_plans_with() {
        let mut environment = host::detect(&|| None);
        (environment.memory_available_bytes, environment.memory_limit_bytes) = (4 << 30, Reading::Value(512 << 20));
        assert_eq!(memory(&environment), "512 MiB available (limit of the cgroup)");
        environment.memory_limit_bytes = Reading::unavailable("none");
        assert_eq!(memory(&environment), "4 GiB available");
    }

    #[test]
    fn a_method_that_does_one_thing_with_bytes_is_tried_with_that() {
        let method = "jvm/reader-lines";
        if let Err(reason) = runtime::find("jvm").unwrap().described() {
            println!("skipped: {reason}");
            return;
        }
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, &[b'\n'; 8192]).unwrap();
        let target = Target::open(file.path(), true).unwrap();
        supports(&target, method, &AtomicBool::new(false)).unwrap();
    }

    #[test]
    fn going_around_the_page_cache_in_java_is_as_possible_with_a_file_without_a_name_as_with_one() {
        if let Err(reason) = runtime::find("jvm").unwrap().described() {
            println!("skipped: {reason}");
            return;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let unnamed = match Target::unnamed(folder.path(), 8192) {
            Ok(target) => target,
            Err(error) => return println!("skipped: no file without a name can be made here: {error}"),
        };
        let path = folder.path().join("file");
        std::fs::write(&path, [1; 8192]).unwrap();
        let named = Target::open(&path, true).unwrap();
        let found = [named, unnamed].map(|it| supports(&it, "jvm/channel-odirect", &AtomicBool::new(false)));
        assert_eq!(found[0], found[1]);
    }

    #[test]
    fn what_needs_no_file_is_looked_at_where_none_can_be_made() {
        let reason = "no test file can be made here";
        let nothing = || Err(reason.to_string());
        let place = Place { path: Path::new("/"), target: nothing(), tried_on: nothing(), note: &|_, _| () };
        let checks = examine(place, &AtomicBool::new(false));
        let lacks_file = |it: &Check| it.found == Err(reason.to_string());
        let of = |what: &str| checks.iter().find(|it| it.what == what).unwrap();
        for what in ["method read", "state cold", "verifying residency", "folio sizes in the cache"] {
            assert!(lacks_file(of(what)), "{:?}", of(what));
        }
        for what in ["runtime native", "memory", "device", "probe vmstat", "counted passes", "quiet machine"] {
            assert!(!lacks_file(of(what)), "{:?}", of(what));
        }
    }

    #[test]
    fn a_scheme_that_pushes_memory_out_is_named_with_what_it_does_and_others_are_not() {
        let scheme = |action: &str| sys::damon::Scheme {
            folder: "/sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/0".into(),
            kdamond: 0,
            action: action.into(),
            idle_s: 60.0,
            quota_bytes_per_s: Some(134_217_728.0),
        };
        let reason = quiet_memory(Ok(vec![scheme("stat"), scheme("pageout")])).unwrap_err();
        assert!(reason.contains("for 60 s, up to 128 MiB/s") && reason.contains("kdamonds/0"), "{reason}");
        assert_eq!(quiet_memory(Ok(vec![scheme("stat")])), Ok("none active".into()));
        assert!(quiet_memory(Err("denied".into())).unwrap_err().contains("as root"));
    }
}
