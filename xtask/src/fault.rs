//! Safety under kills, failing system calls, full disks, many commands at once and broken input, tried more often than the
//! tests do. The tests are the same ones; how often they try is in their environment (`planted::Effort`).

use std::{
    process::{Child, Command},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail, ensure};

struct Tests {
    /// What `cargo test` builds.
    built: &'static [&'static str],
    /// The beginnings of names.
    named: &'static [&'static str],
}

struct Part {
    name: &'static str,
    /// How often, unless it is said.
    times: u64,
    /// What is tried so often.
    of: &'static str,
    /// How long each of its tests may begin with another case.
    seconds: u64,
    /// How many of its tests run at once. Those that try many cases at once share them out (`planted::several`).
    threads: u64,
    tests: &'static [Tests],
}

/// As often as there is time for.
const ALWAYS: u64 = 1 << 40;

const COMMANDS: &[&str] = &["--package=faultline", "--test=main"];
/// A sum that wraps is found here, although a release does not check this crate for any.
const CHECKED: &str = "--config=profile.release.package.faultline-worker.overflow-checks=true";
const REQUESTS: &[&str] = &[CHECKED, "--package=faultline-worker", "--test=conversation"];
const EVENTS: &[&str] = &[CHECKED, "--package=faultline-worker", "--lib"];

const PARTS: &[Part] = &[
    Part {
        name: "kill",
        times: 200,
        of: "kills of each command",
        seconds: 2400,
        threads: 8,
        tests: &[Tests { built: COMMANDS, named: &["killed::"] }],
    },
    Part {
        name: "sweep",
        times: ALWAYS,
        of: "faults in each command",
        seconds: 5400,
        threads: 8,
        tests: &[Tests { built: COMMANDS, named: &["sweep::"] }],
    },
    Part {
        name: "adversary",
        times: 100_000,
        of: "swaps against each kind of worker",
        seconds: 120,
        threads: 1,
        tests: &[Tests { built: COMMANDS, named: &["adversary::"] }],
    },
    Part {
        name: "full",
        times: 30,
        of: "disks that fail, and full ones in steps",
        seconds: 240,
        threads: 1,
        tests: &[Tests { built: COMMANDS, named: &["full::", "failing::"] }],
    },
    Part {
        name: "hang",
        times: 20,
        of: "frozen workers",
        seconds: 120,
        threads: 1,
        tests: &[Tests { built: COMMANDS, named: &["hang::"] }],
    },
    Part {
        name: "together",
        times: 20,
        of: "runs, cleans and histories",
        seconds: 120,
        threads: 1,
        tests: &[Tests { built: COMMANDS, named: &["together::"] }],
    },
    Part {
        name: "fuzz",
        times: ALWAYS,
        of: "inputs of each kind",
        seconds: 600,
        threads: 8,
        tests: &[
            Tests {
                built: &["--package=faultline-lab", "--lib"],
                named: &["any_text_gives_a_plan", "no_record_of_a_stranger"],
            },
            Tests { built: &["--package=faultline-lab", "--test=link"], named: &["any_answer"] },
            Tests { built: &["--package=faultline-planted", "--test=planted"], named: &["fuzz::"] },
            Tests { built: REQUESTS, named: &["any_request"] },
            Tests { built: &["--package=faultline-lab", "--test=jvm"], named: &["any_request"] },
            Tests { built: &["--package=faultline-lab", "--test=python"], named: &["any_request"] },
            Tests { built: &["--package=faultline-lab", "--test=go"], named: &["any_request"] },
            Tests { built: EVENTS, named: &["no_calls_in_any_order"] },
            Tests { built: &["--package=faultline-sys", "--lib"], named: &["any_text_of_the_kernel"] },
        ],
    },
];

pub const USAGE: &str = "[kill|sweep|adversary|full|hang|together|fuzz] [N] [--other FILE]";

/// All parts where none is named, N times instead of the usual; with the executable of another version, half of those that
/// work together are of that one.
pub fn run(described: &[String]) -> Result<()> {
    let (described, other) = match described {
        [described @ .., option, file] if option == "--other" => (described, Some(std::fs::canonicalize(file)?)),
        described => (described, None),
    };
    let (name, times) = match described {
        [] => (None, None),
        [one] if one.parse::<u64>().is_ok() => (None, one.parse().ok()),
        [name] => (Some(name), None),
        [name, times] => (Some(name), Some(times.parse::<u64>().with_context(|| format!("{times:?} is no number"))?)),
        _ => bail!("usage: cargo xtask fault {USAGE}"),
    };
    let parts: Vec<&Part> = PARTS.iter().filter(|it| name.is_none_or(|name| name == it.name)).collect();
    if parts.is_empty() {
        bail!("no such part; usage: cargo xtask fault {USAGE}");
    }
    let of_environment = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let seed = match of_environment("FAULTLINE_FAULT_SEED") {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    // Before the time of any part begins.
    for test in parts.iter().flat_map(|it| it.tests) {
        let mut build = Command::new("cargo");
        build.args(["test", "--release", "--quiet", "--no-run"]).args(test.built).current_dir(crate::root());
        ensure!(build.status().context("cannot start cargo")?.success(), "the tests cannot be built");
    }
    let mut failed = Vec::new();
    for part in parts {
        let times = times.unwrap_or(part.times);
        let seconds = of_environment("FAULTLINE_FAULT_SECONDS").unwrap_or(part.seconds);
        let most = if times == ALWAYS { "as many".to_string() } else { times.to_string() };
        println!("\n{}: {most} {}, for at most {seconds} s; FAULTLINE_FAULT_SEED={seed}", part.name, part.of);
        let began = Instant::now();
        let start = |test: &Tests| {
            // With what is released: its own speed, and without checks that it does not have.
            Command::new("cargo")
                .args(["test", "--release", "--quiet"])
                .args(test.built)
                .arg("--")
                .args(test.named)
                .args(["--nocapture", &format!("--test-threads={}", part.threads)])
                .env("FAULTLINE_FAULTS", times.to_string())
                .env("FAULTLINE_FAULT_SECONDS", seconds.to_string())
                .env("FAULTLINE_FAULT_SEED", seed.to_string())
                .envs(other.iter().map(|it| ("FAULTLINE_OTHER", it)))
                .current_dir(crate::root())
                .spawn()
                .context("cannot start cargo")
        };
        let started: Vec<Child> = part.tests.iter().map(start).collect::<Result<_>>()?;
        for mut child in started {
            if !child.wait()?.success() {
                failed.push(part.name);
            }
        }
        println!("{}: {:.0} s", part.name, began.elapsed().as_secs_f64());
    }
    failed.dedup();
    match failed[..] {
        [] => Ok(()),
        _ => bail!("something was left, lost or ended by a panic in: {}", failed.join(", ")),
    }
}
