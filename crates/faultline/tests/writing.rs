//! Workloads that write: only ever to files of faultline's own, which are gone afterwards.

use std::fs;

use crate::support::{Running, Sandbox, failure};

const WRITES: &str = r#"
title = "Writing"
[arms]
synced = { method = "pwrite" }
mapped = { method = "mmap" }
forgetful = { method = "mmap", own = { durability = "none", range = { blocks = 1 } } }
[[compare]]
arms = ["synced", "mapped", "forgetful"]
workload = "WORKLOAD"
block = "64 KiB"
state = "STATE"
durability = "sync-each"
range = { bytes = "1 MiB" }
ops = 16
"#;

fn experiment(sandbox: &Sandbox, workload: &str, state: &str) -> String {
    sandbox.write("writes.toml", WRITES.replace("WORKLOAD", workload).replace("STATE", state))
}

#[test]
fn a_file_of_the_users_is_never_written() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("mine", 2 << 20);
    let before = fs::read(&file).unwrap();
    let experiment = experiment(&sandbox, "overwrite", "cached");
    sandbox.run(&["run", &file, "-e", &experiment]).refused(2, &["overwrite writes", "mine", "folder"]);
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn beside_reads_of_a_file_of_the_users_what_writes_is_left_out_with_the_reason() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("data", 1 << 20);
    let before = fs::read(&file).unwrap();
    let text = WRITES.replace("WORKLOAD", "overwrite").replace("STATE", "cached");
    let reads =
        "[[compare]]\nworkload = \"scan\"\nblock = \"64 KiB\"\nstate = \"cached\"\narms = [\"read\", \"mmap\"]\n";
    let experiment = sandbox.write("both.toml", format!("{text}\n{reads}"));
    let output = sandbox.run(&["run", &file, "-e", &experiment, "--rounds=2", "--budget=44s", "--json", "--quiet"]);
    let record = output.document().record;
    for cell in &record.cells {
        let writes = record.conditions[cell.condition].workload.writes();
        assert_eq!(matches!(cell.skipped, Some(schema::Skip::Impossible(_))), writes, "{cell:?}");
    }
    assert!(record.samples.iter().any(|it| matches!(it.outcome, schema::record::Outcome::Ok { .. })));
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_target_that_is_not_there_is_said_not_to_be() {
    let sandbox = Sandbox::new();
    let experiment = experiment(&sandbox, "overwrite", "cached");
    let missing = sandbox.path().join("missing").display().to_string();
    sandbox.run(&["run", &missing, "-e", &experiment]).refused(2, &["overwrite writes", "no folder", "missing"]);
    assert!(!std::path::Path::new(&missing).exists());
}

/// Takes the room away as soon as the test file gives its own back to be laid anew. `$1`: the folder.
const SHRINK: &str = r#"
mount -t tmpfs -o size=24m none "$1" || exit 77
( until [ "$(du -s "$1" | cut -f1)" -ge 8192 ]; do [ -d "/proc/$$" ] || exit; done
  until mount -o remount,size=64k "$1" 2>/dev/null; do [ -d "/proc/$$" ] || exit; done ) &
shift
"$@"
status=$?
kill $! 2>/dev/null
exit $status
"#;

#[test]
fn a_disk_that_is_full_in_the_middle_of_a_mapped_write_fails_the_sample_for_lack_of_space() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("full");
    let text = WRITES.replace("WORKLOAD", "overwrite").replace("STATE", "as-is").replace("ops = 16", "ops = 128");
    let text = text.replace("\"1 MiB\" }", "\"8 MiB\" }\nlayout = \"sparse\"").replace(", \"forgetful\"", "");
    let text: String = text.lines().filter(|it| !it.starts_with("forgetful")).map(|it| format!("{it}\n")).collect();
    let experiment = sandbox.write("full.toml", text);
    // In a mount namespace of its own: whatever happens, the mount goes with the last process in it.
    let run = sandbox.command(&[
        "run",
        &folder,
        "-e",
        &experiment,
        "--size=8MiB",
        "--rounds=5",
        "--budget=44s",
        "--json",
        "--quiet",
    ]);
    let mut command = std::process::Command::new("unshare");
    command.args(["-m", "sh", "-c", SHRINK, "sh", &folder]).arg(run.get_program()).args(run.get_args());
    command.current_dir(run.get_current_dir().unwrap());
    command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = Running::new(command).end();
    if output.code() == Some(77) || output.stderr.contains("unshare") {
        println!("skipped: a small file system needs unshare(1) and root: {}", output.stderr);
        return;
    }
    output.sane();
    let record = output.document().record;
    let mapped = record.samples.iter().filter(|it| record.cells[it.cell].arm.method == "mmap");
    let reasons: Vec<&str> = mapped.filter_map(failure).collect();
    if reasons.is_empty() {
        println!("skipped: the room was not taken away in time");
    }
    for reason in reasons {
        assert!(reason.contains("no space") || reason.contains("No space"), "{reason}");
    }
    assert_eq!(sandbox.noted(), 0);
}

#[test]
fn no_arm_writes_around_the_page_cache_where_files_exist_in_it_alone() {
    let folder = match tempfile::tempdir_in("/dev/shm") {
        Ok(folder) if sys::mount::file_system(folder.path()).is_ok_and(|it| it.is_memory()) => folder,
        Ok(_) => return println!("skipped: /dev/shm is not in memory"),
        Err(error) => return println!("skipped: {error}"),
    };
    let sandbox = Sandbox::new();
    let experiment = sandbox.write(
        "around.toml",
        "title = \"Around the page cache\"\n[[compare]]\nworkload = \"overwrite\"\nblock = \"64 KiB\"\n\
         state = \"cached\"\nrange = { bytes = \"1 MiB\" }\nops = 16\narms = [\"pwrite\", \"direct\", \"mmap\"]\n",
    );
    let folder = folder.path().to_str().unwrap();
    let output = sandbox.run_made(folder, &experiment, &["--size=2MiB", "--rounds=1"]);
    output.sane();
    for cell in &output.document().record.cells {
        let is_refused = matches!(cell.skipped, Some(schema::Skip::Unavailable(_)));
        assert_eq!(is_refused, cell.arm.is_direct(), "{}: {:?}", cell.arm, cell.skipped);
    }
}

#[test]
fn passes_that_write_are_read_back_and_leave_nothing_behind() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("here");
    for (workload, state) in
        [("overwrite", "cached"), ("overwrite-random", "cold"), ("append", "cold"), ("update", "mapped")]
    {
        let experiment = experiment(&sandbox, workload, state);
        let output = sandbox.run_made(&folder, &experiment, &["--size=2MiB", "--rounds=5"]);
        output.sane();
        let document = output.document();
        assert!(!document.record.samples.is_empty(), "{workload}");
        for sample in &document.record.samples {
            match &sample.outcome {
                schema::record::Outcome::Ok { tally, .. } => assert_ne!(tally.checksum, "0000000000000000"),
                // Somebody else's page-out may drop a page; nothing else is expected to go wrong here.
                schema::record::Outcome::Invalid { reason } => {
                    assert!(reason.to_string().contains("page"), "{workload}: {reason}")
                }
                schema::record::Outcome::Failed { reason } => panic!("{workload}: {reason}"),
            }
        }
        assert!(fs::read_dir(&folder).unwrap().next().is_none(), "{workload} left something");
    }
}

#[test]
fn an_arm_that_covers_one_block_and_never_syncs_is_found_out() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("here");
    let experiment = experiment(&sandbox, "update", "cached");
    let output = sandbox.run_made(&folder, &experiment, &["--size=2MiB", "--rounds=5"]);
    let document = output.document();
    let comparisons = &document.findings.comparisons;
    let forgetful = comparisons.iter().find(|it| it.arm.contains("forgetful")).unwrap();
    let reason = forgetful.reason.as_ref().map(report::words::reason).unwrap_or_default();
    assert_eq!(forgetful.verdict, schema::findings::Verdict::NotComparable, "{reason}");
    assert!(reason.contains("the durability differs"), "{reason}");
    // What reached the device is counted for the whole disk, and others write to it too: it is no part of this test.
    assert!(reason.contains("reached 65,536 bytes of the file"), "{reason}");
    let fair = comparisons.iter().find(|it| it.arm == "native/mmap").unwrap();
    assert_ne!(fair.verdict, schema::findings::Verdict::NotComparable, "{:?}", fair.reason);
}

#[test]
fn what_makes_no_sense_is_said_before_anything_is_written() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("here");
    for (text, part) in [
        (
            WRITES.replace("WORKLOAD", "append").replace("STATE", "cached"),
            "was never written has no pages in the page cache",
        ),
        (WRITES.replace("WORKLOAD", "scan").replace("STATE", "cached"), "only writes"),
        (WRITES.replace("WORKLOAD", "update").replace("STATE", "limited"), "not measured in state limited"),
        (WRITES.replace("WORKLOAD", "update").replace("STATE", "cached").replace("pwrite", "pread"), "only reads"),
    ] {
        let experiment = sandbox.write("wrong.toml", text);
        sandbox.run(&["run", &folder, "-e", &experiment]).refused(2, &[part]);
    }
}
