//! Safety under kills, failing system calls, full disks, many commands at once and broken input, tried more often than the
//! tests do. The tests are the same ones; how often they try is in their environment (`planted::Effort`).

use std::{
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};

struct Part {
    name: &'static str,
    /// How often, unless it is said.
    times: u64,
    /// About how long at most, and what takes that long.
    seconds: u64,
    of: &'static str,
    tests: &'static [&'static [&'static str]],
}

const PARTS: &[Part] = &[
    Part {
        name: "kill",
        times: 200,
        seconds: 600,
        of: "in all",
        tests: &[&["-p=faultline", "--test=main", "--", "killed::"]],
    },
    Part {
        name: "sweep",
        times: 4000,
        seconds: 1200,
        of: "in all",
        tests: &[&["-p=faultline", "--test=main", "--", "sweep::"]],
    },
    Part {
        name: "full",
        times: 1,
        seconds: 300,
        of: "in all",
        tests: &[&["-p=faultline", "--test=main", "--", "full::"]],
    },
    Part {
        name: "hang",
        times: 20,
        seconds: 120,
        of: "of frozen workers",
        tests: &[&["-p=faultline", "--test=main", "--", "hang::"]],
    },
    Part {
        name: "together",
        times: 20,
        seconds: 120,
        of: "to start them",
        tests: &[&["-p=faultline", "--test=main", "--", "together::"]],
    },
    Part {
        name: "fuzz",
        times: 1_000_000,
        seconds: 60,
        of: "a kind of input",
        tests: &[
            &["-p=faultline-lab", "--lib", "--", "any_text_gives_a_plan"],
            &["-p=faultline-lab", "--test=link", "--", "any_answer"],
            &["-p=faultline-planted", "--test=planted", "--", "fuzz::"],
            &["-p=faultline-worker", "--test=conversation", "--", "any_request"],
            &["-p=faultline-sys", "--lib", "--", "any_text_of_the_kernel"],
        ],
    },
];

/// `[kill|sweep|full|hang|together|fuzz] [N] [--other FILE]`: all parts where none is named, N times instead of the usual;
/// with the executable of another version, half of those that work together are of that one.
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
        _ => bail!("usage: cargo xtask fault [kill|sweep|full|hang|together|fuzz] [N] [--other FILE]"),
    };
    let parts: Vec<&Part> = PARTS.iter().filter(|it| name.is_none_or(|name| name == it.name)).collect();
    if parts.is_empty() {
        bail!("no such part; expected kill, sweep, full, hang, together or fuzz");
    }
    let seed = match std::env::var("FAULTLINE_FAULT_SEED") {
        Ok(seed) => seed,
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs().to_string(),
    };
    let mut failed = Vec::new();
    for part in parts {
        let times = times.unwrap_or(part.times);
        println!("{}: N = {times}, at most {} s {}, FAULTLINE_FAULT_SEED={seed}", part.name, part.seconds, part.of);
        for test in part.tests {
            let status = Command::new("cargo")
                .args(["test", "--quiet"])
                .args(*test)
                // One after the other: each has its moments from how long its command takes.
                .args(["--nocapture", "--test-threads=1"])
                .env("FAULTLINE_FAULTS", times.to_string())
                .env("FAULTLINE_FAULT_SECONDS", part.seconds.to_string())
                .env("FAULTLINE_FAULT_SEED", &seed)
                .envs(other.iter().map(|it| ("FAULTLINE_OTHER", it)))
                .current_dir(crate::root())
                .status()
                .context("cannot start cargo")?;
            if !status.success() {
                failed.push(part.name);
            }
        }
    }
    failed.dedup();
    match failed[..] {
        [] => Ok(()),
        _ => bail!("something was left, lost or ended by a panic in: {}", failed.join(", ")),
    }
}
