//! The worker in Java. Its source is part of this executable; the machine's own `javac` compiles it once into the cache
//! folder. Starting from source each time would cost a second, and leave the compiler's threads busy during the pass.

use std::{
    collections::hash_map::DefaultHasher,
    env, fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

use super::Runtime;

pub struct Jvm;

/// Names the JDK's folder to use instead of the newest one found.
pub const JAVA_VARIABLE: &str = "FAULTLINE_JAVA";
/// The oldest JDK the worker is written for.
const FLOOR: u32 = 17;

macro_rules! sources {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../../../workers/java/faultline/", $name)))),*]
    };
}
const SOURCES: &[(&str, &str)] = sources!(
    "Access.java",
    "Consume.java",
    "Job.java",
    "Json.java",
    "Offsets.java",
    "Session.java",
    "Usage.java",
    "Worker.java"
);

/// One collector thread, a heap that does not grow within a pass, no file of performance data that is written meanwhile.
const FLAGS: &[&str] = &["-XX:+UseSerialGC", "-Xms256m", "-Xmx1g", "-XX:-UsePerfData", "-Xshare:auto"];

impl Runtime for Jvm {
    fn name(&self) -> &'static str {
        "jvm"
    }

    fn worker(&self) -> Result<Command, String> {
        worker_of(&find()?, &cache()?)
    }
}

/// An installed Java.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    pub home: PathBuf,
    pub feature: u32,
    pub version: String,
}

/// The one asked for, else the newest of JAVA_HOME, PATH and the usual folders.
///
/// # Errors
/// What is missing, and what to install.
pub fn find() -> Result<Jdk, String> {
    if let Some(asked) = env::var_os(JAVA_VARIABLE).filter(|it| !it.is_empty()) {
        let home = PathBuf::from(asked);
        let jdk = look(&home).ok_or_else(|| format!("{} ({JAVA_VARIABLE}) holds no Java", home.display()))?;
        return fitting(vec![jdk]);
    }
    fitting(all())
}

/// Every Java on this machine, newest first.
pub fn all() -> Vec<Jdk> {
    let mut homes: Vec<PathBuf> = env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    for folder in env::var_os("PATH").iter().flat_map(env::split_paths) {
        let program = fs::canonicalize(folder.join("java")).ok();
        homes.extend(program.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_path_buf));
    }
    let listed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path());
    homes.extend(listed);
    let mut found: Vec<Jdk> =
        homes.iter().filter_map(|home| fs::canonicalize(home).ok()).filter_map(|home| look(&home)).collect();
    found.sort_by(|a, b| (b.feature, &b.version, &b.home).cmp(&(a.feature, &a.version, &a.home)));
    found.dedup();
    found
}

/// Reads the `release` file that every Java since 9 carries: asking the program itself would take a tenth of a second.
fn look(home: &Path) -> Option<Jdk> {
    let release = fs::read_to_string(home.join("release")).ok()?;
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?.trim_matches('"').to_string();
    let feature = version.split(['.', '-', '+', '_']).next()?.parse().ok()?;
    home.join("bin/java").is_file().then(|| Jdk { home: home.to_path_buf(), feature, version })
}

fn fitting(found: Vec<Jdk>) -> Result<Jdk, String> {
    let has_compiler = |jdk: &Jdk| jdk.home.join("bin/javac").is_file();
    let Some(newest) = found.first().cloned() else {
        return Err(format!("no Java was found; install a JDK of version {FLOOR} or later"));
    };
    found.into_iter().find(|jdk| jdk.feature >= FLOOR && has_compiler(jdk)).ok_or_else(|| match newest.feature {
        FLOOR.. => format!("Java {} has no compiler (javac); install a JDK, not only a JRE", newest.version),
        _ => format!("Java {} is too old; install a JDK of version {FLOOR} or later", newest.version),
    })
}

fn cache() -> Result<PathBuf, String> {
    let given = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache")));
    base.map(|it| it.join("faultline"))
        .ok_or_else(|| "no folder to keep compiled classes in; set HOME or XDG_CACHE_HOME".to_string())
}

/// The folder of classes, compiled when it is not there. Compiled elsewhere and renamed, so that of two processes at
/// once neither sees half of it.
fn classes(jdk: &Jdk, cache: &Path) -> Result<PathBuf, String> {
    let mut hash = DefaultHasher::new();
    (SOURCES, &jdk.version).hash(&mut hash);
    let ready = cache.join(format!("jvm-{}-{:016x}", jdk.feature, hash.finish()));
    if ready.is_dir() {
        return Ok(ready);
    }
    let work = cache.join(format!("jvm-making-{}-{:?}", std::process::id(), std::thread::current().id()));
    let made = compile(jdk, &work).and_then(|()| match fs::rename(work.join("classes"), &ready) {
        Err(error) if !ready.is_dir() => {
            Err(format!("the compiled JVM worker cannot be kept in {}: {error}", ready.display()))
        }
        _ => Ok(()),
    });
    let _ = fs::remove_dir_all(&work);
    made.map(|()| ready)
}

fn compile(jdk: &Jdk, work: &Path) -> Result<(), String> {
    let at = |error: std::io::Error| format!("the JVM worker cannot be compiled in {}: {error}", work.display());
    fs::create_dir_all(work.join("classes")).map_err(at)?;
    let mut command = Command::new(jdk.home.join("bin/javac"));
    command.args(["--release", "17", "-nowarn", "-d"]).arg(work.join("classes"));
    for (name, text) in SOURCES {
        let path = work.join(name);
        fs::write(&path, text).map_err(at)?;
        command.arg(path);
    }
    let output = command.output().map_err(at)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "javac {} could not compile the JVM worker: {}",
            jdk.version,
            String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("it did not say why")
        )),
    }
}

/// A command for one certain JDK, with its classes in `cache`: for comparing two of them.
///
/// # Errors
/// As `worker`.
pub fn worker_of(jdk: &Jdk, cache: &Path) -> Result<Command, String> {
    let classes = classes(&fitting(vec![jdk.clone()])?, cache)?;
    let mut command = Command::new(jdk.home.join("bin/java"));
    command.args(FLAGS).arg("-cp").arg(classes).arg("faultline.Worker");
    Ok(command)
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
        let old = java(&folder.path().join("a"), "11.0.2", &["java", "javac"]);
        let jre = java(&folder.path().join("b"), "21.0.1", &["java"]);
        let good = java(&folder.path().join("c"), "25", &["java", "javac"]);
        assert!(fitting(vec![]).unwrap_err().contains("no Java was found"));
        assert!(fitting(vec![old.clone()]).unwrap_err().contains("11.0.2 is too old"));
        assert!(fitting(vec![jre.clone(), old]).unwrap_err().contains("21.0.1 has no compiler"));
        assert_eq!(fitting(vec![jre, good.clone()]).unwrap(), good);
    }
}
