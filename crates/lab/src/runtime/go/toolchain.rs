//! Which Go: the one that was named, else the newest that fits of GOROOT, PATH and the usual folders.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::super::installed::{self, Choice, Where, home_of};

pub(super) static CHOICE: Choice = Choice::new(
    "go",
    "FAULTLINE_GO",
    "The Go for arms of runtime go: its folder or its bin/go [default: the newest suitable one]",
);
/// The oldest Go the worker is written for.
pub const FLOOR: (u32, u32) = (1, 22);

const USUAL: &[&str] = &["/usr/local", "/usr/lib", "/usr/lib64", "/opt"];
const USUAL_AT_HOME: &[&str] = &["sdk", ".local/share/mise/installs/go", ".goenv/versions"];

/// An installed Go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    pub home: PathBuf,
    /// `1.26.8`
    pub version: String,
    /// `(1, 26)`
    pub feature: (u32, u32),
}

impl Toolchain {
    /// # Errors
    /// Why not, and what to install.
    pub fn fits(&self) -> Result<(), String> {
        match self.feature >= FLOOR {
            true => Ok(()),
            false => {
                Err(format!("Go {} is too old; install Go {} or later, or name it with --go", self.version, floor()))
            }
        }
    }
}

fn floor() -> String {
    format!("{}.{}", FLOOR.0, FLOOR.1)
}

/// The Go for all arms: the preferred one, or the newest.
///
/// # Errors
/// What is missing, and what to install.
pub fn find() -> Result<Toolchain, String> {
    let found = match preferred()? {
        Some(named) => named,
        None => newest(all())?,
    };
    found.fits().map(|()| found)
}

fn newest(found: Vec<Toolchain>) -> Result<Toolchain, String> {
    found.into_iter().next().ok_or_else(|| {
        format!(
            "no Go was found that is writable by root and this user only; install Go {} or later, or name one with --go",
            floor()
        )
    })
}

/// What `--go` or the environment names.
fn preferred() -> Result<Option<Toolchain>, String> {
    let Some((named, by)) = CHOICE.named() else { return Ok(None) };
    let home = home_of(&named).unwrap_or(named.clone());
    look(&home).map(Some).ok_or_else(|| {
        format!(
            "{} ({by}) is not a Go installation; name the folder of Go {} or later (its GOROOT), or its bin/go",
            named.display(),
            floor()
        )
    })
}

/// A Go that other users can change is not started just because it is the newest; it has to be named.
fn is_trusted(go: &Toolchain) -> bool {
    let tools = fs::read_dir(go.home.join("pkg/tool")).into_iter().flatten().flatten();
    let of_platform = |it: fs::DirEntry| {
        let platform = it.file_name().into_string().ok()?;
        Some(["compile", "asm", "link"].map(|tool| format!("pkg/tool/{platform}/{tool}")))
    };
    let tools: Vec<String> = tools.filter_map(of_platform).flatten().collect();
    let names = ["VERSION", "bin/go", "src"].into_iter().chain(tools.iter().map(String::as_str));
    installed::is_trusted(&go.home, &names.collect::<Vec<_>>())
}

/// Every Go on this machine that only root and this user can change, newest first.
pub fn all() -> Vec<Toolchain> {
    let homes =
        installed::homes(&Where { variable: "GOROOT", program: "go", usual: USUAL, usual_at_home: USUAL_AT_HOME });
    let mut found: Vec<Toolchain> = homes.iter().filter_map(|home| look(home)).filter(is_trusted).collect();
    found.sort_by(|a, b| (numbers(&b.version), &b.home).cmp(&(numbers(&a.version), &a.home)));
    found.dedup();
    found
}

/// The numbers of a version, so that 1.22.10 comes after 1.22.9; a release candidate (`1.23rc1`) comes before all of its releases.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map_while(|it| it.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()).collect()
}

/// Reads the `VERSION` file that every release carries: asking the program itself would take some milliseconds for each.
fn look(home: &Path) -> Option<Toolchain> {
    let said = fs::read_to_string(home.join("VERSION")).ok()?;
    let version = said.lines().next()?.trim().strip_prefix("go")?.to_string();
    let feature = match numbers(&version)[..] {
        [major, minor, ..] => (major, minor),
        _ => return None,
    };
    home.join("bin/go").is_file().then(|| Toolchain { home: home.to_path_buf(), version, feature })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(folder: &Path, version: &str) -> Option<Toolchain> {
        for name in ["bin", "pkg/tool/linux_any"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("VERSION"), format!("{version}\ntime 2026-08-28T16:20:06Z\n")).unwrap();
        for name in ["bin/go", "pkg/tool/linux_any/compile"] {
            fs::write(folder.join(name), "").unwrap();
        }
        look(folder)
    }

    #[test]
    fn no_go_and_an_old_one_each_say_what_to_install() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let old = go(&at("a"), "go1.21.13").unwrap();
        let good = go(&at("b"), "go1.22").unwrap();
        let missing = newest(Vec::new()).unwrap_err();
        assert!(missing.contains("no Go was found") && missing.contains("install Go 1.22 or later"), "{missing}");
        assert_eq!(old.fits().unwrap_err(), "Go 1.21.13 is too old; install Go 1.22 or later, or name it with --go");
        assert_eq!((good.fits(), good.version.as_str(), good.feature), (Ok(()), "1.22", (1, 22)));
        for nothing in ["devel", "gcc 14", "", "go", "go1"] {
            assert_eq!(go(&at("c"), nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_later_version_comes_after_an_earlier_one() {
        for [later, earlier] in [
            ["1.22.10", "1.22.9"],
            ["1.22", "1.21.13"],
            ["1.100", "1.99"],
            ["1.23.0", "1.23rc1"],
            ["1.23rc1", "1.22.9"],
        ] {
            assert!(numbers(later) > numbers(earlier), "{later} {earlier}");
        }
    }

    #[test]
    fn a_go_that_others_may_exchange_is_not_found() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let found = go(folder.path(), "go1.99").unwrap();
        assert!(is_trusted(&found));
        for part in ["bin/go", "bin", "pkg/tool/linux_any/compile"] {
            let path = folder.path().join(part);
            let before = fs::metadata(&path).unwrap().permissions();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
            assert!(!is_trusted(&found), "{part}");
            fs::set_permissions(&path, before).unwrap();
        }
        assert!(is_trusted(&found));
    }
}
