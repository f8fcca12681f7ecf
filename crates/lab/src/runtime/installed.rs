//! Installations that lie side by side: which one the user named, where others lie, and which of them may be started without having
//! been named.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// How the user names the installation that a runtime is to use.
pub struct Choice {
    /// Of the command line, without `--`.
    pub option: &'static str,
    /// Of the environment; the option goes before it.
    pub variable: &'static str,
    /// What the help says of the option.
    pub help: &'static str,
    typed: OnceLock<PathBuf>,
}

impl Choice {
    pub(super) const fn new(option: &'static str, variable: &'static str, help: &'static str) -> Choice {
        Choice { option, variable, help, typed: OnceLock::new() }
    }

    pub(super) fn set(&self, path: PathBuf) {
        let _ = self.typed.set(path);
    }

    /// What was named, and by what.
    pub(super) fn named(&self) -> Option<(PathBuf, String)> {
        let typed = self.typed.get().map(|path| (path.clone(), format!("--{}", self.option)));
        let set = || env::var_os(self.variable).filter(|it| !it.is_empty());
        typed.or_else(|| Some((set()?.into(), self.variable.to_string())))
    }
}

/// Where to look.
pub(super) struct Where {
    /// Of the environment; it names an installation.
    pub(super) variable: &'static str,
    /// In the folder `bin` of an installation.
    pub(super) program: &'static str,
    /// Folders in which installations lie side by side.
    pub(super) usual: &'static [&'static str],
    /// The same, below the user's home.
    pub(super) usual_at_home: &'static [&'static str],
}

/// The folder of an installation, which may be named by its program.
pub(super) fn home_of(named: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(named).ok()?;
    if real.is_dir() { Some(real) } else { real.parent()?.parent().map(Path::to_path_buf) }
}

/// Folders that may be an installation, without links.
pub(super) fn homes(place: &Where) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = env::var_os(place.variable).map(PathBuf::from).into_iter().collect();
    let programs = env::var_os("PATH");
    homes.extend(programs.iter().flat_map(env::split_paths).filter_map(|it| home_of(&it.join(place.program))));
    let at_home = env::var_os("HOME").map(PathBuf::from);
    let at_home = at_home.iter().flat_map(|home| place.usual_at_home.iter().map(|folder| home.join(folder)));
    for folder in place.usual.iter().map(PathBuf::from).chain(at_home) {
        homes.extend(fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
    homes.iter().filter_map(|home| fs::canonicalize(home).ok()).collect()
}

/// Whether only root and this user can change these files and folders of an installation, as far as they are there.
pub(super) fn is_trusted(home: &Path, names: &[&str]) -> bool {
    names.iter().map(|name| home.join(name)).all(|it| !it.exists() || sys::folder::trusted(&it).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_may_be_named_by_its_folder_or_its_program() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("bin/java"), "").unwrap();
        let real = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(home_of(folder.path()), Some(real.clone()));
        assert_eq!(home_of(&folder.path().join("bin/java")), Some(real));
        assert_eq!(home_of(&folder.path().join("nothing")), None);
    }
}
