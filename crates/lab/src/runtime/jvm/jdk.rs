//! Which Java: the one that was named, else the newest that fits of JAVA_HOME, PATH and the usual folders.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::super::installed::{self, Choice, Where, home_of};

pub(super) static CHOICE: Choice = Choice::new(
    "java",
    "FAULTLINE_JAVA",
    "The JDK for arms of runtime jvm: its folder or its bin/java [default: the newest suitable one]",
);
/// The oldest JDK the worker is written for.
pub const FLOOR: u32 = 17;

/// Folders in which JDKs lie side by side.
const USUAL: &[&str] = &["/usr/lib/jvm", "/usr/lib64/jvm", "/usr/java", "/opt/java", "/opt", "/usr/local"];
/// The same, below the user's home.
const USUAL_AT_HOME: &[&str] = &[".sdkman/candidates/java", ".jdks", ".local/share/mise/installs/java"];

/// An installed Java.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    pub home: PathBuf,
    pub feature: u32,
    pub version: String,
}

impl Jdk {
    /// # Errors
    /// Why not, and what to install.
    pub fn fits(&self) -> Result<(), String> {
        let version = &self.version;
        if self.feature < FLOOR {
            return Err(format!("Java {version} is too old; install a JDK of version {FLOOR} or later"));
        }
        if !self.home.join("bin/javac").is_file() {
            return Err(format!("Java {version} has no compiler (javac); install a JDK, not only a JRE"));
        }
        Ok(())
    }
}

/// The JDK for an arm: of the version it asks for; else the preferred one; else the newest that fits.
///
/// # Errors
/// What is missing, and what to install.
pub fn find(version: Option<u32>) -> Result<Jdk, String> {
    let preferred = preferred()?;
    match (version, preferred) {
        (None, Some(jdk)) => jdk.fits().map(|()| jdk),
        (None, None) => newest(all()),
        (Some(version), preferred) => of_version(version, preferred.into_iter().chain(all()).collect()),
    }
}

/// The JDK that is used, and what else could be asked for.
///
/// # Errors
/// As `find`.
pub(super) fn described() -> Result<String, String> {
    let used = find(None)?;
    let mut others: Vec<u32> =
        all().into_iter().filter(|it| it.fits().is_ok() && it.feature != used.feature).map(|it| it.feature).collect();
    others.dedup();
    let others: Vec<String> = others.into_iter().map(|version| format!("+jdk={version}")).collect();
    let also = if others.is_empty() { String::new() } else { format!("; also {}", others.join(", ")) };
    Ok(format!("Java {} in {}{also}", used.version, used.home.display()))
}

fn newest(found: Vec<Jdk>) -> Result<Jdk, String> {
    let Some(first) = found.first() else {
        return Err(format!(
            "no Java was found that is writable by root and this user only; install a JDK of version {FLOOR} or later, \
             or name one with --java"
        ));
    };
    found
        .iter()
        .find(|it| it.fits().is_ok())
        .cloned()
        .ok_or_else(|| first.fits().expect_err("none of them is suitable"))
}

fn of_version(version: u32, found: Vec<Jdk>) -> Result<Jdk, String> {
    let (same, others): (Vec<Jdk>, Vec<Jdk>) = found.into_iter().partition(|it| it.feature == version);
    if same.is_empty() {
        let mut here: Vec<String> = others.into_iter().map(|it| it.version).collect();
        here.dedup();
        return Err(match here.as_slice() {
            [] => format!("no JDK was found; install JDK {version}, or name it with --java"),
            here => {
                format!("no JDK {version} was found (there is {}); install it, or name it with --java", here.join(", "))
            }
        });
    }
    newest(same)
}

/// What `--java` or the environment names.
fn preferred() -> Result<Option<Jdk>, String> {
    let Some((named, by)) = CHOICE.named() else { return Ok(None) };
    let home = home_of(&named).unwrap_or(named.clone());
    look(&home).map(Some).ok_or_else(|| {
        format!(
            "{} ({by}) is not a Java installation; name the folder of a JDK of version {FLOOR} or later, or its \
             bin/java",
            named.display()
        )
    })
}

/// A JDK that other users can change is not started just because it is the newest; it has to be named.
fn is_trusted(jdk: &Jdk) -> bool {
    installed::is_trusted(&jdk.home, &["release", "lib", "bin/java", "bin/javac", "bin/jar"])
}

/// Every Java on this machine that only root and this user can change, newest first.
pub fn all() -> Vec<Jdk> {
    let homes =
        installed::homes(&Where { variable: "JAVA_HOME", program: "java", usual: USUAL, usual_at_home: USUAL_AT_HOME });
    let mut found: Vec<Jdk> = homes.iter().filter_map(|home| look(home)).filter(is_trusted).collect();
    found.sort_by(|a, b| (numbers(&b.version), &b.home).cmp(&(numbers(&a.version), &a.home)));
    found.dedup();
    found
}

/// The numbers of a version, so that 17.0.15 comes after 17.0.9; 8 calls itself 1.8.
fn numbers(version: &str) -> Vec<u32> {
    let parts = version.trim_start_matches("1.").split(['.', '-', '+', '_']);
    parts.map_while(|it| it.parse().ok()).collect()
}

/// Reads the `release` file that every Java since 9 carries: asking the program itself would take a tenth of a second.
/// Java 8 has one too, and calls itself 1.8.
fn look(home: &Path) -> Option<Jdk> {
    let release = fs::read_to_string(home.join("release")).ok()?;
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?.trim_matches('"').to_string();
    let feature = version.trim_start_matches("1.").split(['.', '-', '+', '_']).next()?.parse().ok()?;
    home.join("bin/java").is_file().then(|| Jdk { home: home.to_path_buf(), feature, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn java(folder: &Path, version: &str, programs: &[&str]) -> Jdk {
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("release"), format!("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"{version}\"\n")).unwrap();
        programs.iter().for_each(|it| fs::write(folder.join("bin").join(it), "").unwrap());
        look(folder).unwrap()
    }

    #[test]
    fn no_java_an_old_one_and_one_without_a_compiler_each_say_what_to_install() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let eight = java(&at("8"), "1.8.0_402", &["java", "javac"]);
        let old = java(&at("a"), "11.0.2", &["java", "javac"]);
        let jre = java(&at("b"), "21.0.1", &["java"]);
        let good = java(&at("c"), "25", &["java", "javac"]);
        assert_eq!(eight.feature, 8);
        assert!(
            newest(vec![])
                .unwrap_err()
                .contains("no Java was found that is writable by root and this user only; install a JDK")
        );
        assert!(newest(vec![old.clone(), eight]).unwrap_err().contains("11.0.2 is too old; install a JDK"));
        assert!(newest(vec![jre.clone(), old]).unwrap_err().contains("21.0.1 has no compiler"));
        assert_eq!(newest(vec![jre, good.clone()]), Ok(good));
    }

    #[test]
    fn a_version_is_found_among_others_and_missed_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let newer = java(&at("a"), "25.0.3", &["java", "javac"]);
        let wanted = java(&at("b"), "17.0.15", &["java", "javac"]);
        let jre = java(&at("c"), "17.0.16", &["java"]);
        assert_eq!(of_version(17, vec![newer.clone(), jre.clone(), wanted.clone()]), Ok(wanted));
        assert!(of_version(17, vec![newer.clone(), jre]).unwrap_err().contains("17.0.16 has no compiler"));
        let missing = of_version(21, vec![newer]).unwrap_err();
        assert!(missing.contains("no JDK 21 was found (there is 25.0.3)"), "{missing}");
    }

    #[test]
    fn a_later_update_comes_after_an_earlier_one() {
        for [later, earlier] in [["17.0.15", "17.0.9"], ["21", "17.0.15"], ["17.0.1", "17"], ["17", "1.8.0_402"]] {
            assert!(numbers(later) > numbers(earlier), "{later} {earlier}");
        }
    }

    #[test]
    fn a_jdk_that_others_may_exchange_is_not_found() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let jdk = java(folder.path(), "99", &["java", "javac", "jar"]);
        fs::create_dir_all(folder.path().join("lib")).unwrap();
        assert!(is_trusted(&jdk));
        for part in ["bin/javac", "bin/jar", "bin", "lib"] {
            let path = folder.path().join(part);
            let before = fs::metadata(&path).unwrap().permissions();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
            assert!(!is_trusted(&jdk), "{part}");
            fs::set_permissions(&path, before).unwrap();
        }
        assert!(is_trusted(&jdk));
    }
}
