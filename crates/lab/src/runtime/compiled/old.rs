//! Compiled workers of other versions, and what a killed compilation left. Only what is known to be faultline's is removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{BROKEN, Kind, OF, READY, SUM, is_current};

/// A folder of the cache that is not used any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Old {
    pub path: PathBuf,
    pub bytes: u64,
    /// Why it is not known to be faultline's, and stays.
    pub doubt: Option<String>,
}

/// Everything of these kinds in a cache that this version does not use.
///
/// # Errors
/// The cache cannot be looked at, or other users may change it.
pub(in crate::runtime) fn old_in(cache: &Path, kinds: &[&Kind]) -> Result<Vec<Old>, String> {
    if !cache.exists() {
        return Ok(Vec::new());
    }
    let cache = sys::folder::private(cache)?;
    let mut found = Vec::new();
    let entries = fs::read_dir(&cache).map_err(|error| format!("{}: {error}", cache.display()))?;
    for path in entries.filter_map(|it| Some(it.ok()?.path())) {
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let Some(kind) = kinds.iter().find(|it| name.split('-').next() == Some(it.runtime)) else { continue };
        let known = match name.strip_prefix(&kind.making()) {
            Some(maker) => half_made(kind, &path, maker),
            None if is_of_a_worker(name) && !is_current(kind, &path) => worker(kind, &path),
            None => continue,
        };
        let bytes = bytes(&path);
        found.push(Old { path, bytes, doubt: known.err() });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Removes it; what came to be in doubt stays.
///
/// # Errors
/// It cannot be removed.
pub fn remove(old: &Old) -> io::Result<()> {
    if old.doubt.is_some() {
        return Ok(());
    }
    // A compiler can outlive for a moment the process that started it, and what it writes to a folder that is being removed
    // keeps that from being empty. By the new name it finds nothing, and the next `clean` finds what this one did not remove.
    let name = old.path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let Some((runtime, maker)) = name.split_once("-making-") else { return fs::remove_dir_all(&old.path) };
    let away = old.path.with_file_name(format!("{runtime}-making-{}-{maker}", std::process::id()));
    fs::rename(&old.path, &away)?;
    fs::remove_dir_all(away)
}

/// `jvm-25-5ca0e83528c2d612`, `go-1.26-…`: a toolchain, and what the worker was made of.
fn is_of_a_worker(name: &str) -> bool {
    let mut parts = name.split('-').skip(1);
    let [version, hash] = [parts.next(), parts.next()].map(Option::unwrap_or_default);
    let is_version = (1..=8).contains(&version.len()) && version.chars().all(|it| it.is_ascii_digit() || it == '.');
    let is_hash = hash.len() == 16 && hash.chars().all(|it| it.is_ascii_hexdigit());
    is_version && is_hash && parts.next().is_none()
}

/// Files of a worker and nothing else, and the program is a worker.
fn worker(kind: &Kind, folder: &Path) -> Result<(), String> {
    let ours = |name: &str| [kind.program, OF, SUM].contains(&name) || (kind.beside)(name);
    only(folder, |name, is_file| is_file && ours(name))?;
    let program = fs::read(folder.join(kind.program)).map_err(|error| format!("its {}: {error}", kind.program))?;
    match program.windows(kind.mark.len()).any(|it| it == kind.mark) {
        true => Ok(()),
        false => Err(format!("its {} does not contain a faultline worker", kind.program)),
    }
}

/// What a compilation makes and nothing else, and its process is gone; `maker` is the rest of its name.
fn half_made(kind: &Kind, folder: &Path, maker: &str) -> Result<(), String> {
    let maker = maker.split('-').next().and_then(|it| it.parse::<u32>().ok()).ok_or("its name has no process id")?;
    if fs::exists(format!("/proc/{maker}")).unwrap_or(true) {
        return Err(format!("process {maker} may still be creating it"));
    }
    only(folder, |name, is_file| (kind.makes)(name, is_file) || !is_file && [READY, BROKEN].contains(&name))
}

/// Whether a folder that is no link has nothing in it but what is ours.
fn only(folder: &Path, ours: impl Fn(&str, bool) -> bool) -> Result<(), String> {
    let described = |error: io::Error| error.to_string();
    if !fs::symlink_metadata(folder).map_err(described)?.is_dir() {
        return Err("it is not a folder".into());
    }
    for entry in fs::read_dir(folder).map_err(described)? {
        let entry = entry.map_err(described)?;
        let (name, kind) = (entry.file_name(), entry.file_type().map_err(described)?);
        let fits = !kind.is_symlink() && name.to_str().is_some_and(|it| ours(it, kind.is_file()));
        if !fits {
            return Err(format!("{} in it is not faultline's", name.display()));
        }
    }
    Ok(())
}

fn bytes(path: &Path) -> u64 {
    let Ok(about) = fs::symlink_metadata(path) else { return 0 };
    if !about.is_dir() {
        return about.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|it| bytes(&it.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "some-25-5ca0e83528c2d612";
    const KIND: Kind = Kind {
        runtime: "some",
        program: "worker.jar",
        mark: b"faultline/Worker.class",
        beside: |name| name.ends_with(".jsa"),
        made_of: || "these".into(),
        makes: |name, is_file| if is_file { name == "Worker.java" } else { ["classes", "temporary"].contains(&name) },
    };

    fn cache() -> tempfile::TempDir {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join(OLD);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("worker.jar"), "PK..faultline/Worker.class..").unwrap();
        fs::write(folder.join("worker.sum"), "1").unwrap();
        cache
    }

    fn found(cache: &tempfile::TempDir) -> Vec<(String, bool)> {
        let name = |it: &Old| it.path.file_name().unwrap().to_str().unwrap().to_string();
        old_in(cache.path(), &[&KIND]).unwrap().iter().map(|it| (name(it), it.doubt.is_none())).collect()
    }

    #[test]
    fn a_worker_of_another_version_goes_and_the_one_of_this_version_stays() {
        let cache = cache();
        assert_eq!(found(&cache), [(OLD.to_string(), true)]);
        fs::write(cache.path().join(OLD).join("making-7-ThreadId(1).jsa"), "").unwrap();
        let old = old_in(cache.path(), &[&KIND]).unwrap().remove(0);
        remove(&old).unwrap();
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
        let mine = cache.path().join("some-25-0123456789abcdef");
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join(OF), (KIND.made_of)()).unwrap();
        assert_eq!(found(&cache), []);
    }

    #[test]
    fn what_is_not_known_to_be_ours_stays() {
        type Change = fn(&Path);
        let changes: [Change; 5] = [
            |folder| fs::write(folder.join("thesis.tex"), "years of work").unwrap(),
            |folder| fs::create_dir(folder.join("worker.jsa")).unwrap(),
            |folder| fs::write(folder.join("worker.jar"), "of another program").unwrap(),
            |folder| fs::remove_file(folder.join("worker.jar")).unwrap(),
            |folder| std::os::unix::fs::symlink("/etc/passwd", folder.join("worker.jsa")).unwrap(),
        ];
        for change in changes {
            let cache = cache();
            change(&cache.path().join(OLD));
            assert_eq!(found(&cache), [(OLD.to_string(), false)]);
            remove(&old_in(cache.path(), &[&KIND]).unwrap()[0]).unwrap();
            assert!(cache.path().join(OLD).exists());
        }
        let cache = tempfile::tempdir().unwrap();
        let others =
            ["some", "some-25", "some-25-5ca0e83528c2d61", "some-25-5ca0e83528c2d612-x", "other-25-5ca0e83528c2d612"];
        for other in others {
            fs::create_dir(cache.path().join(other)).unwrap();
        }
        assert_eq!(found(&cache), []);
    }

    #[test]
    fn what_a_killed_compilation_left_goes_and_what_may_still_be_made_stays() {
        let cache = tempfile::tempdir().unwrap();
        let making = |pid: u32| format!("{}{pid}-ThreadId(1)", KIND.making());
        for pid in [std::process::id(), u32::MAX] {
            fs::create_dir_all(cache.path().join(making(pid)).join("classes/faultline")).unwrap();
            fs::write(cache.path().join(making(pid)).join("Worker.java"), "").unwrap();
            // Under a name that `jar` draws.
            let temporary = cache.path().join(making(pid)).join("temporary");
            fs::create_dir(&temporary).unwrap();
            fs::write(temporary.join("worker.jar14078694862189848576.jar"), "").unwrap();
        }
        let mut expected = [(making(std::process::id()), false), (making(u32::MAX), true)];
        expected.sort();
        assert_eq!(found(&cache), expected);
        for old in old_in(cache.path(), &[&KIND]).unwrap() {
            remove(&old).unwrap();
        }
        assert_eq!(found(&cache), [(making(std::process::id()), false)]);
    }
}
