//! The worker's classes: compiled once for each JDK, into one jar, with an archive of them as the JVM holds them in memory
//! (class-data sharing), which halves the time until the first answer.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use schema::runtime::JVM;
use sys::process::{KILLED, output_within, within};

use super::{
    super::compiled::{self, Kind, READY, Toolchain},
    FLOOR, FOREIGN, Jdk, java,
};

/// What a program of the JDK may take, where it usually takes a second.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) const MAIN: &str = "faultline.Worker";

macro_rules! sources {
    ($folder:literal: $($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../../../../workers/java/", $folder, "/", $name)))),*]
    };
}
const SOURCES: &[(&str, &str)] = sources!(
    "faultline":
    "Access.java",
    "Beat.java",
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

const JAR: &str = "worker.jar";
const ARCHIVE: &str = "worker.jsa";

/// In the folder where one is made: what the compiler writes, and where programs of the JDK put what they need for themselves.
const CLASSES: &str = "classes";
const TEMPORARY: &str = "temporary";

/// What a worker is started from.
pub(super) struct Made {
    pub(super) jar: PathBuf,
    /// Without it the JVM starts all the same, later.
    pub(super) archive: Option<PathBuf>,
}

/// How compiled workers in Java are told from others.
pub(super) const KIND: Kind = Kind {
    runtime: JVM.name,
    program: JAR,
    // Names of entries are not compressed.
    mark: b"faultline/Worker.class",
    beside: |name| name == ARCHIVE || name.starts_with("making-") && name.ends_with(".jsa"),
    made_of: || compiled::word_of((SOURCES, FOREIGN_SOURCES, super::FLAGS)),
    makes: |name, is_file| match is_file {
        true => SOURCES.iter().chain(FOREIGN_SOURCES).any(|it| it.0 == name),
        false => [CLASSES, TEMPORARY].contains(&name),
    },
};

/// The classes for a JDK, made when they are not there.
pub(super) fn of(jdk: &Jdk, cache: &Path) -> Result<Made, String> {
    let with = Toolchain { short: &jdk.feature.to_string(), version: &jdk.version, home: &jdk.home };
    // The archive holds the path and the age of the jar, so it is made where that stays.
    let ready = compiled::of(&KIND, &with, cache, |work| compile(jdk, work), |ready| archive(jdk, ready))?;
    Ok(Made { jar: ready.join(JAR), archive: Some(ready.join(ARCHIVE)).filter(|it| it.is_file()) })
}

fn compile(jdk: &Jdk, work: &Path) -> Result<(), String> {
    let at = |error: std::io::Error| format!("the JVM worker cannot be compiled in {}: {error}", work.display());
    let classes = work.join(CLASSES);
    for folder in [&classes, &work.join(TEMPORARY)] {
        fs::create_dir_all(folder).map_err(at)?;
    }
    javac(jdk, FLOOR, SOURCES, work, &classes)?;
    if jdk.feature >= FOREIGN {
        javac(jdk, FOREIGN, FOREIGN_SOURCES, work, &classes)?;
    }
    let mut jar = tool(jdk, "jar", work);
    jar.arg("--create").arg("--file").arg(work.join(READY).join(JAR)).arg("-C").arg(&classes).arg(".");
    described(jdk, "jar", output_within(jar, LIMIT).map_err(at)?)
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
    let jar = ready.join(JAR);
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
            let _ = fs::rename(&made, ready.join(ARCHIVE));
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
    // What an arm that is asked for safepoints needs beside, which is much; and a pass beside a beat.
    let asked = lines[1].replace(r#""options":{}"#, r#""options":{"meanwhile":"safepoints"}"#);
    lines.push(asked.replace(r#""hold":"no""#, r#""hold":"no","beside":"beat""#));
    lines.push(lines[2].clone());
    lines.push(r#"{"bye":{}}"#.to_string());
    lines.join("\n") + "\n"
}
