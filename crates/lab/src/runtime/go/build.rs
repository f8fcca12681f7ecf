//! The worker's program: built once by each Go, without the network, a cache of its own or a setting of the user's.

use std::{env, fs, io, path::Path, process::Command, time::Duration};

use schema::runtime::GO;
use sys::guard::output_within;

use super::{
    super::compiled::{self, Kind, READY, Toolchain as With},
    Toolchain,
};

/// What `go build` may take, where it usually takes ten seconds: it compiles what the worker uses of the standard library too.
const LIMIT: Duration = Duration::from_secs(300);
pub(super) const USUAL: Duration = Duration::from_secs(10);

pub(super) const PROGRAM: &str = "worker";
/// Of the module, and so in what is built.
const MODULE: &str = "faultline-worker-in-go";

macro_rules! sources {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../../../../workers/go/", $name)))),*]
    };
}
const SOURCES: &[(&str, &str)] = sources!(
    "access.go",
    "beat.go",
    "consume.go",
    "direct.go",
    "job.go",
    "main.go",
    "mapped.go",
    "memory.go",
    "offsets.go",
    "scanner.go",
    "session.go",
    "stops.go",
    "team.go",
    "usage.go",
    "writing.go"
);

/// Folders beside the finished program: the sources, and what Go keeps for itself, which goes with them.
const SOURCE: &str = "source";
const CACHE: &str = "cache";
const PATH: &str = "path";
const TEMPORARY: &str = "temporary";
const SETTINGS: &str = "settings";

const ARGUMENTS: &[&str] = &["build", "-trimpath", "-buildvcs=false"];
const ENVIRONMENT: &[(&str, &str)] =
    &[("GOTOOLCHAIN", "local"), ("GOPROXY", "off"), ("GOENV", "off"), ("GOWORK", "off"), ("CGO_ENABLED", "0")];

pub(super) const KIND: Kind = Kind {
    runtime: GO.name,
    program: PROGRAM,
    mark: MODULE.as_bytes(),
    beside: |_| false,
    made_of: || compiled::word_of((SOURCES, ARGUMENTS, ENVIRONMENT)),
    makes: |name, is_file| !is_file && [SOURCE, CACHE, PATH, TEMPORARY, SETTINGS].contains(&name),
};

/// The folder of the worker that a Go has built, or builds now.
pub(super) fn of(go: &Toolchain, cache: &Path) -> Result<std::path::PathBuf, String> {
    compiled::of(&KIND, &with(go, &short(go)), cache, |work| build(go, work), |_| {})
}

pub(super) fn is_made(go: &Toolchain, cache: &Path) -> bool {
    compiled::is_made(&KIND, &with(go, &short(go)), cache)
}

fn short(go: &Toolchain) -> String {
    format!("{}.{}", go.feature.0, go.feature.1)
}

fn with<'a>(go: &'a Toolchain, short: &'a str) -> With<'a> {
    With { short, version: &go.version, home: &go.home }
}

fn build(go: &Toolchain, work: &Path) -> Result<(), String> {
    let at = |error: io::Error| format!("the Go worker cannot be built in {}: {error}", work.display());
    // Go counts how it is used, in a folder of settings, unless one says that it should not.
    let counting = work.join(SETTINGS).join("go/telemetry");
    for folder in [&work.join(SOURCE), &work.join(TEMPORARY), &counting] {
        fs::create_dir_all(folder).map_err(at)?;
    }
    fs::write(counting.join("mode"), "off").map_err(at)?;
    // The language of this very Go, and what it does by default: an older one here would bring the defaults of that.
    let module = format!("module {MODULE}\n\ngo {}\n", short(go));
    for (name, text) in SOURCES.iter().copied().chain([("go.mod", module.as_str())]) {
        fs::write(work.join(SOURCE).join(name), text).map_err(at)?;
    }
    let mut command = Command::new(go.home.join("bin/go"));
    command.args(ARGUMENTS).arg("-o").arg(work.join(READY).join(PROGRAM)).arg(".").current_dir(work.join(SOURCE));
    // What the user has set for other programs: flags, targets, proxies, versions.
    let of_go = |name: &str| name.starts_with("GO") || name.starts_with("CGO_");
    for (name, _) in env::vars_os().filter(|it| it.0.to_str().is_some_and(of_go)) {
        command.env_remove(name);
    }
    command.envs(ENVIRONMENT.iter().copied());
    command.env("GOCACHE", work.join(CACHE)).env("GOPATH", work.join(PATH)).env("XDG_CONFIG_HOME", work.join(SETTINGS));
    command.env("GOTMPDIR", work.join(TEMPORARY)).env("TMPDIR", work.join(TEMPORARY));
    let output = output_within(command, LIMIT).map_err(at)?;
    if output.status.success() {
        return Ok(());
    }
    let described = String::from_utf8_lossy(&output.stderr);
    // A line with # says of which package the next ones are.
    let mut lines = described.lines().filter(|it| !it.starts_with('#') && !it.trim().is_empty());
    let why = lines.next().unwrap_or("no reason was printed");
    Err(format!("Go {} could not build the worker: {why}; name another Go with --go", go.version))
}
