//! The worker's classes: compiled once for each JDK, into one jar, with an archive of them as the JVM holds them in memory
//! (class-data sharing), which halves the time until the first answer.

use std::{
    collections::hash_map::DefaultHasher,
    env,
    fs::{self, File},
    hash::{Hash, Hasher},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use sys::process::{KILLED, output_within, within};

use super::{FLOOR, FOREIGN, Jdk, java};

/// What a program of the JDK may take, where it usually takes a second.
const LIMIT: Duration = Duration::from_secs(120);

/// How long another process that compiles is waited for. After that both compile, and one of the results stays.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) const MAIN: &str = "faultline.Worker";

macro_rules! sources {
    ($folder:literal: $($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../../../../workers/java/", $folder, "/", $name)))),*]
    };
}
const SOURCES: &[(&str, &str)] = sources!(
    "faultline":
    "Access.java",
    "Consume.java",
    "Direct.java",
    "Foreign.java",
    "Job.java",
    "Json.java",
    "Methods.java",
    "Offsets.java",
    "Opened.java",
    "ReaderLines.java",
    "Room.java",
    "Safepoints.java",
    "Session.java",
    "Team.java",
    "Usage.java",
    "Warmth.java",
    "Worker.java",
    "Writing.java"
);
/// What needs a newer JDK than the rest.
const FOREIGN_SOURCES: &[(&str, &str)] = sources!("22/faultline": "Segment.java");

/// What the name of a folder begins with in which one is made; the process follows.
pub(super) const MAKING: &str = "jvm-making-";

/// In such a folder, where programs of the JDK put what they need for themselves.
pub(super) const TEMPORARY: &str = "temporary";

/// What a folder with a worker has in it; and archives in the making.
pub(super) const FILES: [&str; 4] = ["worker.jar", "worker.of", "worker.sum", "worker.jsa"];

/// What a worker is started from.
pub(super) struct Made {
    pub(super) jar: PathBuf,
    /// Without it the JVM starts all the same, later.
    pub(super) archive: Option<PathBuf>,
}

/// The folder that what was compiled is kept in.
///
/// # Errors
/// The environment names none.
pub(super) fn cache() -> Result<PathBuf, String> {
    let given = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache")));
    base.map(|it| it.join("faultline"))
        .ok_or_else(|| "no folder to keep compiled classes in; set HOME or XDG_CACHE_HOME".to_string())
}

/// The classes for a JDK, made when they are not there or not what they were when they were made. What lies in the folder is
/// executed, so it is this user's alone. One process at a time compiles. They are made elsewhere and renamed, so that one
/// that did not wait sees no half of them.
pub(super) fn of(jdk: &Jdk, cache: &Path) -> Result<Made, String> {
    let cache = sys::folder::private(cache)
        .map_err(|why| format!("compiled workers cannot be kept: {why}; set XDG_CACHE_HOME to a folder of your own"))?;
    let mut hash = DefaultHasher::new();
    (of_these_sources(), &jdk.version, &jdk.home).hash(&mut hash);
    let ready = cache.join(format!("jvm-{}-{:016x}", jdk.feature, hash.finish()));
    let made =
        || Made { jar: ready.join("worker.jar"), archive: Some(ready.join("worker.jsa")).filter(|it| it.is_file()) };
    if is_whole(&ready) {
        return Ok(made());
    }
    let _lock = sys::folder::lock(&cache, PATIENCE);
    // Another process may have made them meanwhile.
    if !is_whole(&ready) {
        let work = cache.join(format!("{MAKING}{}-{:?}", std::process::id(), std::thread::current().id()));
        let broken = work.join("broken");
        let at = |error: io::Error| format!("the compiled JVM worker cannot be kept in {}: {error}", ready.display());
        let compiled = compile(jdk, &work).and_then(|()| {
            // One that is half there goes; where another process was faster, its one stays.
            if ready.is_dir() && !is_whole(&ready) {
                let _ = fs::rename(&ready, &broken);
            }
            match fs::rename(work.join("ready"), &ready) {
                Err(error) if !is_whole(&ready) => Err(at(error)),
                _ => File::open(&cache).and_then(|it| it.sync_all()).map_err(at),
            }
        });
        let _ = fs::remove_dir_all(&work);
        compiled?;
        // The archive holds the path and the age of the jar, so it is made where that stays.
        archive(jdk, &ready);
    }
    Ok(made())
}

/// What the worker is made of, in one word: it is another one in each version that changes it.
pub(super) fn of_these_sources() -> String {
    let mut hash = DefaultHasher::new();
    (SOURCES, FOREIGN_SOURCES, super::FLAGS).hash(&mut hash);
    format!("{:016x}", hash.finish())
}

/// Whether a folder has a worker that was made of these sources, for whatever JDK.
pub(super) fn is_current(ready: &Path) -> bool {
    fs::read_to_string(ready.join("worker.of")).is_ok_and(|it| it == of_these_sources())
}

pub(super) fn sources() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().chain(FOREIGN_SOURCES).map(|(name, _)| *name)
}

/// Whether the jar is the one that was made: a crash, or a full disk, can leave a part of it.
fn is_whole(ready: &Path) -> bool {
    let described = fs::read_to_string(ready.join("worker.sum")).ok();
    described.is_some() && described == sum(&ready.join("worker.jar")).ok()
}

fn sum(jar: &Path) -> io::Result<String> {
    let mut hash = DefaultHasher::new();
    fs::read(jar)?.hash(&mut hash);
    Ok(format!("{:016x}", hash.finish()))
}

/// The jar and its sum are on the disk before the folder gets its name.
fn seal(ready: &Path) -> io::Result<()> {
    let jar = ready.join("worker.jar");
    fs::write(ready.join("worker.of"), of_these_sources())?;
    fs::write(ready.join("worker.sum"), sum(&jar)?)?;
    for path in [&jar, &ready.join("worker.of"), &ready.join("worker.sum"), ready] {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

fn compile(jdk: &Jdk, work: &Path) -> Result<(), String> {
    let at = |error: std::io::Error| format!("the JVM worker cannot be compiled in {}: {error}", work.display());
    let classes = work.join("classes");
    for folder in [&classes, &work.join("ready"), &work.join(TEMPORARY)] {
        fs::create_dir_all(folder).map_err(at)?;
    }
    javac(jdk, FLOOR, SOURCES, work, &classes)?;
    if jdk.feature >= FOREIGN {
        javac(jdk, FOREIGN, FOREIGN_SOURCES, work, &classes)?;
    }
    let mut jar = tool(jdk, "jar", work);
    jar.arg("--create").arg("--file").arg(work.join("ready/worker.jar")).arg("-C").arg(&classes).arg(".");
    described(jdk, "jar", output_within(jar, LIMIT).map_err(at)?)?;
    seal(&work.join("ready")).map_err(at)
}

fn javac(jdk: &Jdk, release: u32, sources: &[(&str, &str)], work: &Path, classes: &Path) -> Result<(), String> {
    let at = |error: std::io::Error| format!("the JVM worker cannot be compiled in {}: {error}", work.display());
    let mut command = tool(jdk, "javac", work);
    // Texts put together by plain code: the other way makes classes for each when it is first met, between passes.
    command
        .args(["--release", &release.to_string(), "-nowarn", "-XDstringConcat=inline", "-cp"])
        .arg(classes)
        .arg("-d")
        .arg(classes);
    for (name, text) in sources {
        let path = work.join(name);
        fs::write(&path, text).map_err(at)?;
        command.arg(path);
    }
    described(jdk, "javac", output_within(command, LIMIT).map_err(at)?)
}

/// A program of the JDK, with a folder in `work` for its own temporary files: when it is killed, they go with `work`.
fn tool(jdk: &Jdk, name: &str, work: &Path) -> Command {
    let mut command = Command::new(jdk.home.join("bin").join(name));
    command.arg(format!("-J-Djava.io.tmpdir={}", work.join(TEMPORARY).display())).arg("-J-XX:-UsePerfData");
    command
}

fn described(jdk: &Jdk, program: &str, output: std::process::Output) -> Result<(), String> {
    if output.status.success() {
        return Ok(());
    }
    let described = String::from_utf8_lossy(&output.stderr);
    let why = described
        .lines()
        .find(|line| line.contains("error"))
        .or(described.lines().next())
        .unwrap_or("no reason was printed");
    Err(format!("{program} of Java {} could not build the JVM worker: {why}", jdk.version))
}

/// Has a worker hold a short conversation and keep the classes that it loaded. What goes wrong here costs time at later
/// starts and nothing else, so it is no error.
fn archive(jdk: &Jdk, ready: &Path) {
    let made = ready.join(format!("making-{}-{:?}.jsa", std::process::id(), std::thread::current().id()));
    let jar = ready.join("worker.jar");
    let Ok(mut command) = java(jdk) else { return };
    command.arg(format!("-XX:ArchiveClassesAtExit={}", made.display())).arg("-cp").arg(&jar).arg(MAIN);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return };
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(conversation(jdk, &jar).as_bytes());
    }
    let mut ended = None;
    within(LIMIT, || {
        ended = child.try_wait().transpose();
        ended.is_some()
    });
    match ended {
        Some(Ok(status)) if status.success() && made.is_file() => {
            let _ = fs::rename(&made, ready.join("worker.jsa"));
        }
        Some(_) => {}
        None => {
            let _ = child.kill();
            within(KILLED, || !matches!(child.try_wait(), Ok(None)));
        }
    }
    let _ = fs::remove_file(&made);
}

/// Reads the jar itself in some ways: what they have in common is most of what there is to load.
fn conversation(jdk: &Jdk, jar: &Path) -> String {
    let file = serde_json::Value::from(jar.display().to_string());
    let methods = ["stream", "channel-direct", "mapped", "segment"];
    let mut lines = vec![r#"{"hello":{"protocol":1}}"#.to_string()];
    for method in &methods[..if jdk.feature >= FOREIGN { 4 } else { 3 }] {
        lines.push(format!(
            r#"{{"prepare":{{"pass":1,"method":"{method}","options":{{}},"workload":"scan","consume":"sum","file":{file},"block_bytes":4096,"range":{{"offset":0,"bytes":8192}},"ops":2,"aligned":true,"threads":1,"descriptor":"per-thread","consumed_percent":100,"durability":"none","seed":1,"hold":"no"}}}}"#
        ));
        lines.push(r#"{"go":{"pass":1}}"#.to_string());
    }
    // What an arm that is asked for safepoints needs beside, which is much.
    lines.push(lines[1].replace(r#""options":{}"#, r#""options":{"meanwhile":"safepoints"}"#));
    lines.push(lines[2].clone());
    lines.push(r#"{"bye":{}}"#.to_string());
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jar_that_is_half_there_is_not_taken_for_the_one_that_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let jar = folder.path().join("worker.jar");
        assert!(!is_whole(folder.path()));
        fs::write(&jar, "classes").unwrap();
        assert!(!is_whole(folder.path()), "nothing says what it was");
        seal(folder.path()).unwrap();
        assert!(is_whole(folder.path()));
        fs::write(&jar, "class").unwrap();
        assert!(!is_whole(folder.path()));
        fs::remove_file(&jar).unwrap();
        assert!(!is_whole(folder.path()));
    }
}
