//! Workers that are compiled on this machine: once for each toolchain and each version of their sources, into the cache folder.
//! What lies there is executed, so it is this user's alone. A worker is made elsewhere and renamed, so that nobody sees half of
//! one, and one that is not what it was when it was made is made again.

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    env,
    fs::{self, File},
    hash::{Hash, Hasher},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

mod old;

pub(super) use old::old_in;
pub use old::{Old, remove};

/// How long another process that compiles is waited for. After that both compile, and one of the results stays.
const PATIENCE: Duration = Duration::from_secs(30);

/// In a folder where a worker is made: what gets the name of a worker, and a worker that was half there.
pub(super) const READY: &str = "ready";
const BROKEN: &str = "broken";
/// Beside the program: what it was made of, and its sum.
const OF: &str = "worker.of";
const SUM: &str = "worker.sum";

/// How compiled workers of one runtime are told from each other and from what is not faultline's.
pub struct Kind {
    /// Names of folders begin with it: `jvm-25-5ca0e83528c2d612` has a worker, in `jvm-making-4711-…` one is made by a process.
    pub(super) runtime: &'static str,
    /// The file that is executed.
    pub(super) program: &'static str,
    /// What is in it, whichever version made it.
    pub(super) mark: &'static [u8],
    /// Whether it is a name of another file beside the program.
    pub(super) beside: fn(&str) -> bool,
    /// What it is made of, in one word: another one in each version that changes it.
    pub(super) made_of: fn() -> String,
    /// Whether it is a name of what compiling makes, in the folder where it does: of a file, or of a folder.
    pub(super) makes: fn(&str, bool) -> bool,
}

impl Kind {
    fn making(&self) -> String {
        format!("{}-making-", self.runtime)
    }
}

/// What a worker is compiled with.
pub(super) struct Toolchain<'a> {
    /// Its version in few digits, for names of folders.
    pub(super) short: &'a str,
    pub(super) version: &'a str,
    pub(super) home: &'a Path,
}

/// The folder that what was compiled is kept in.
///
/// # Errors
/// The environment names none.
pub(super) fn cache() -> Result<PathBuf, String> {
    let given = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache")));
    base.map(|it| it.join("faultline"))
        .ok_or_else(|| "no folder to keep compiled workers in; set HOME or XDG_CACHE_HOME".to_string())
}

/// The folder of a worker, which is made when it is not there or not what it was when it was made. One process at a time compiles.
/// `compile` leaves the program in the folder `READY` of the one that it gets; `finish` may add to it when it has its name.
///
/// # Errors
/// It cannot be compiled, or cannot be kept.
pub(super) fn of(
    kind: &Kind,
    with: &Toolchain,
    cache: &Path,
    compile: impl FnOnce(&Path) -> Result<(), String>,
    finish: impl FnOnce(&Path),
) -> Result<PathBuf, String> {
    let cache = sys::folder::private(cache)
        .map_err(|why| format!("compiled workers cannot be kept: {why}; set XDG_CACHE_HOME to a folder of your own"))?;
    let ready = folder(kind, with, &cache);
    if is_whole(kind, &ready) {
        return Ok(ready);
    }
    let _lock = sys::folder::lock(&cache, PATIENCE);
    // Another process may have made it meanwhile.
    if !is_whole(kind, &ready) {
        let work = cache.join(format!("{}{}-{:?}", kind.making(), std::process::id(), std::thread::current().id()));
        let at = |error: io::Error| {
            format!("the compiled worker of runtime {} cannot be kept in {}: {error}", kind.runtime, ready.display())
        };
        let made = fs::create_dir_all(work.join(READY))
            .map_err(at)
            .and_then(|()| compile(&work))
            .and_then(|()| seal(kind, &work.join(READY)).map_err(at))
            .and_then(|()| {
                // One that is half there goes; where another process was faster, its one stays.
                if ready.is_dir() && !is_whole(kind, &ready) {
                    let _ = fs::rename(&ready, work.join(BROKEN));
                }
                match fs::rename(work.join(READY), &ready) {
                    Err(error) if !is_whole(kind, &ready) => Err(at(error)),
                    _ => File::open(&cache).and_then(|it| it.sync_all()).map_err(at),
                }
            });
        let _ = fs::remove_dir_all(&work);
        made?;
        finish(&ready);
    }
    Ok(ready)
}

/// Whether a worker is there already.
pub(super) fn is_made(kind: &Kind, with: &Toolchain, cache: &Path) -> bool {
    is_whole(kind, &folder(kind, with, cache))
}

fn folder(kind: &Kind, with: &Toolchain, cache: &Path) -> PathBuf {
    let mut hash = DefaultHasher::new();
    ((kind.made_of)(), with.version, with.home).hash(&mut hash);
    cache.join(format!("{}-{}-{:016x}", kind.runtime, with.short, hash.finish()))
}

/// Sources, and whatever else decides what is made of them, in one word.
pub(super) fn word_of(all: impl Hash) -> String {
    let mut hash = DefaultHasher::new();
    all.hash(&mut hash);
    format!("{:016x}", hash.finish())
}

/// Whether a folder has a worker that was made of this version's sources, by whatever toolchain.
fn is_current(kind: &Kind, ready: &Path) -> bool {
    fs::read_to_string(ready.join(OF)).is_ok_and(|it| it == (kind.made_of)())
}

/// Which file it is, how long, and when it changed.
type Stamp = [i128; 5];

/// Programs that were looked at whole by this process. A worker is started for each pass, and to read a program of some megabytes
/// takes longer than the rest of its start.
static LOOKED_AT: Mutex<BTreeMap<PathBuf, Stamp>> = Mutex::new(BTreeMap::new());

/// Whether the program is the one that was made: a crash, or a full disk, can leave a part of it.
fn is_whole(kind: &Kind, ready: &Path) -> bool {
    let program = ready.join(kind.program);
    let Ok(stamp) = stamp(&program) else { return false };
    let mut known = LOOKED_AT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if known.get(&program) == Some(&stamp) {
        return true;
    }
    let described = fs::read_to_string(ready.join(SUM)).ok();
    let is_whole = described.is_some() && described == sum(&program).ok();
    if is_whole {
        known.insert(program, stamp);
    }
    is_whole
}

fn stamp(program: &Path) -> io::Result<Stamp> {
    let about = fs::metadata(program)?;
    let nanoseconds = i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec());
    let written = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
    Ok([about.dev().into(), about.ino().into(), about.len().into(), nanoseconds, written])
}

fn sum(program: &Path) -> io::Result<String> {
    Ok(word_of(fs::read(program)?))
}

/// The program and its sum are on the disk before the folder gets its name.
fn seal(kind: &Kind, ready: &Path) -> io::Result<()> {
    let program = ready.join(kind.program);
    fs::write(ready.join(OF), (kind.made_of)())?;
    fs::write(ready.join(SUM), sum(&program)?)?;
    for path in [&program, &ready.join(OF), &ready.join(SUM), ready] {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        runtime: "some",
        program: "worker",
        mark: b"mark",
        beside: |_| false,
        made_of: || "these".into(),
        makes: |_, _| false,
    };

    fn with(version: &'static str) -> Toolchain<'static> {
        Toolchain { short: "1", version, home: Path::new("/some/home") }
    }

    fn write(work: &Path) -> Result<(), String> {
        fs::write(work.join(READY).join("worker"), "program").map_err(|error| error.to_string())
    }

    /// Whether it was compiled for it.
    fn made(version: &'static str, cache: &Path) -> (PathBuf, bool) {
        let mut compiled = false;
        let compile = |work: &Path| {
            compiled = true;
            write(work)
        };
        let ready = of(&KIND, &with(version), cache, compile, |_| {}).unwrap();
        (ready, compiled)
    }

    #[test]
    fn a_worker_is_compiled_once_for_each_toolchain_and_again_when_it_is_not_what_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        let (ready, compiled) = made("1.0", &cache);
        assert!(compiled);
        assert_eq!(made("1.0", &cache), (ready.clone(), false));
        assert!(is_made(&KIND, &with("1.0"), &cache) && !is_made(&KIND, &with("1.1"), &cache));
        assert!(made("1.1", &cache).1);
        for broken in ["prog", ""] {
            fs::write(ready.join("worker"), broken).unwrap();
            assert_eq!(made("1.0", &cache), (ready.clone(), true));
            assert_eq!(fs::read_to_string(ready.join("worker")).unwrap(), "program");
        }
        fs::remove_file(ready.join(SUM)).unwrap();
        LOOKED_AT.lock().unwrap().remove(&ready.join("worker"));
        assert_eq!(made("1.0", &cache), (ready.clone(), true), "nothing said what it was");
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 2, "and nothing else is left");
    }

    #[test]
    fn what_cannot_be_compiled_says_why_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        let compile = |work: &Path| write(work).and(Err("no compiler".to_string()));
        assert_eq!(of(&KIND, &with("1.0"), &cache, compile, |_| {}), Err("no compiler".into()));
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
    }

    #[test]
    fn a_worker_that_others_could_change_is_not_kept_or_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        fs::create_dir(&cache).unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = of(&KIND, &with("1.0"), &cache, write, |_| {});
        assert!(refused.clone().is_err_and(|why| why.contains("compiled workers cannot be kept")), "{refused:?}");
    }
}
