//! Many commands at once on one data folder. `cargo xtask fault together` starts as many as it is asked for.

use std::{collections::BTreeMap, path::Path, process::Command};

use planted::Effort;
use schema::saved::History;

use crate::support::{Running, Sandbox, short};

#[test]
fn runs_cleans_and_histories_at_once_all_end_as_documented_and_every_record_loads() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let count = Effort::of(3).count();
    let started: Vec<_> = (0..3 * count as usize)
        .map(|at| match at % 3 {
            0 => {
                // Every other one has the seed of the first, and so its order and offsets.
                let seed = format!("--seed={}", if at % 2 == 0 { 0 } else { at });
                ("run", start(&sandbox, at, &short(&folder, &["--size=1MiB", &seed])))
            }
            1 => ("clean", start(&sandbox, at, &["clean"])),
            _ => ("history", start(&sandbox, at, &["history", "--json"])),
        })
        .collect();
    let mut codes: BTreeMap<String, u32> = BTreeMap::new();
    let mut failed = Vec::new();
    for (what, running) in started {
        let output = running.end();
        output.sane();
        *codes.entry(format!("{what}: exit code {:?}", output.code().unwrap())).or_default() += 1;
        // A run on so busy a machine may decide nothing.
        if !(output.code() == Some(0) || what == "run" && output.code() == Some(3)) {
            failed.push(format!("{what}: {output:?}"));
        }
    }
    println!("together: {count} runs, {count} cleans, {count} histories: {codes:?}, {} failed", failed.len());
    assert!(failed.is_empty(), "{failed:#?}");

    // An earlier version gives its records no identity, and this one goes by their nodename.
    let history: History = serde_json::from_str(&sandbox.run(&["history", "--json"]).expect(0).stdout).unwrap();
    assert!(history.damaged.is_empty(), "{:?}", history.damaged);
    assert_eq!(history.runs.len() as u64, count);
    for record in std::fs::read_dir(sandbox.data().join("runs")).unwrap() {
        let output = sandbox.run(&["report", record.unwrap().path().to_str().unwrap(), "--json"]);
        output.sane();
        output.document();
    }
    assert_eq!(std::fs::read_dir(Path::new(&folder)).unwrap().count(), 0);
    sandbox.run(&["clean"]).expect(0).shows(&["nothing was left"]);
    assert_eq!(sandbox.noted(), 0);
}

/// Half of the commands are of another version where `cargo xtask fault together --other FILE` names one.
fn start(sandbox: &Sandbox, at: usize, args: &[&str]) -> Running {
    let this = sandbox.command(args);
    let Some(other) = std::env::var_os("FAULTLINE_OTHER").filter(|_| at % 6 >= 3) else { return Running::new(this) };
    let mut command = Command::new(other);
    command.args(args).current_dir(sandbox.path());
    for (name, value) in this.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Running::new(command)
}
