//! What is observed around passes, and counted in passes of their own: there, or a reason; and nothing stays behind.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use schema::Reading;

use crate::support::{Sandbox, short};

#[test]
fn every_pass_has_every_reading_or_its_reason_and_the_table_has_their_columns() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let csv = sandbox.at("out.csv");
    let output = sandbox.run_short(&file, &["--json", &format!("--csv={csv}")]);
    let record = output.document().record;
    let text = fs::read_to_string(csv).unwrap();
    let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    for name in lab::probe::PROBES.iter().flat_map(|kind| kind.readings) {
        assert!(columns.contains(name), "{name}");
        for sample in &record.samples {
            match &sample.readings[*name] {
                Reading::Value(value) => assert!(value.is_finite() && *value >= 0.0, "{name}: {value}"),
                Reading::Unavailable { unavailable } => assert!(!unavailable.is_empty(), "{name}"),
            }
        }
    }
    assert!(record.samples.iter().all(|it| it.readings["run_ns"].value().is_none_or(|&ns| ns > 0.0)));
}

/// The kernel's tables of tracepoints that are mounted where anybody sees them.
fn tracefs() -> usize {
    // Looking below the second one mounts it, once.
    for folder in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
        let _ = fs::read_dir(folder).map(Iterator::count);
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().filter(|line| line.contains(" - tracefs ")).count()
}

#[test]
fn a_counted_run_that_is_killed_at_any_moment_leaves_no_mount() {
    let before = tracefs();
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    for ms in [100, 400, 800] {
        let running = sandbox.start(&short(&file, &["--counted", "--allow-setup"]));
        std::thread::sleep(Duration::from_millis(ms));
        running.signal(libc::SIGKILL);
        running.end();
        assert_eq!(tracefs(), before);
    }
    sandbox.run(&["clean"]).expect(0);
    assert_eq!(sandbox.noted(), 0);
}

#[test]
fn a_counted_run_leaves_no_mount_and_nothing_to_clean() {
    let before = tracefs();
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let record = sandbox.run_short(&file, &["--counted", "--allow-setup", "--json"]).document().record;
    assert_eq!(tracefs(), before);
    let cleaned = sandbox.run(&["clean"]).expect(0);
    assert!(cleaned.stdout.contains("nothing was left"), "{}", cleaned.stdout);
    for counted in &record.counted {
        // What the worker itself reads of a file of sixteen blocks, in either way.
        if let Reading::Value(calls) = counted.counts["system_calls"] {
            assert!((1..200).contains(&calls), "{calls}");
        }
        assert!(counted.histograms.contains_key("request_bytes_flush"), "{counted:?}");
    }
    assert_eq!(record.counted.len(), to_be_counted(&record), "{:?}", record.limits);
}

/// Every cell once that has a pass which kept its state, and no control.
fn to_be_counted(record: &schema::Record) -> usize {
    (0..record.cells.len()).filter(|&it| !record.cells[it].control && is_measured(record, it)).count()
}

/// The kernel may take pages away in all passes of a cell.
fn is_measured(record: &schema::Record, cell: usize) -> bool {
    record.samples.iter().any(|it| it.cell == cell && matches!(it.outcome, schema::record::Outcome::Ok { .. }))
}

#[test]
fn an_ordinary_user_is_told_what_was_not_counted_and_gets_the_rest() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let file = sandbox.file("file", 1 << 20);
    let output = sandbox.run_short(&file, &["--counted", "--allow-setup", "--json"]);
    output.sane();
    let record = output.document().record;
    assert_eq!(record.counted.len(), to_be_counted(&record));
    for counted in &record.counted {
        for (name, count) in &counted.counts {
            assert!(count.value().is_some() || count.reason().is_some_and(|it| !it.is_empty()), "{name}");
        }
        if let Some(reason) = counted.counts["system_calls"].reason() {
            assert!(!reason.is_empty());
            assert!(record.limits.iter().any(|it| it.contains("tracepoints were not counted")), "{:?}", record.limits);
        }
    }
    assert!(record.samples.iter().all(|it| it.readings["run_wait_ns"].value().is_some()));
}

/// What was counted of each arm of an experiment, by its short name; nothing where this machine does not count that.
fn counted(sandbox: &Sandbox, file: &str, compare: &str, count: &str) -> Vec<(String, u64)> {
    let toml = format!("title = \"Counted\"\n[[compare]]\n{compare}");
    let experiment = sandbox.write("counted.toml", &toml);
    let args = ["run", file, "-e", &experiment, "--rounds=1", "--budget=44s", "--counted", "--allow-setup", "--json"];
    let record = sandbox.run(&args).document().record;
    let of = |it: &schema::counted::Counted| match &it.counts[count] {
        Reading::Value(value) => Some((record.cells[it.cell].arm.short_name().to_string(), *value)),
        Reading::Unavailable { unavailable } => {
            println!("skipped: {unavailable}");
            None
        }
    };
    record.counted.iter().filter_map(of).collect()
}

#[test]
fn the_requests_of_a_cold_pass_are_all_counted_whoever_hands_them_to_the_device() {
    let sandbox = Sandbox::on(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let file = sandbox.file("file", 16 << 20);
    let args = [
        "--method=read,mmap",
        "--workload=scan",
        "--block=1MiB",
        "--state=cold",
        "--counted",
        "--allow-setup",
        "--json",
    ];
    let record = sandbox.run_short(&file, &args).document().record;
    for counted in &record.counted {
        let (device, sizes) = (&counted.device_read_bytes, &counted.histograms["request_bytes_read"]);
        let (Reading::Value(device), Reading::Value(sizes), None) = (device, sizes, &counted.invalid) else {
            println!("skipped: {device:?}, {sizes:?}, {:?}", counted.invalid);
            continue;
        };
        let bytes: u64 = sizes.bins.iter().map(|it| it.value * it.events).sum();
        let arm = &record.cells[counted.cell].arm;
        assert!(sizes.lost > 0 || bytes as f64 >= 0.99 * device, "{arm}: {bytes} of {device} bytes, {sizes:?}");
    }
}

#[test]
fn of_a_jvm_the_thread_that_makes_the_pass_is_counted() {
    if !crate::jvm::has_jdk(None) {
        return;
    }
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let compare = "workload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cached\"\nops = 256\n\
                   arms = [\"pread\", \"jvm/channel-positional\"]\n";
    for (arm, calls) in counted(&sandbox, &file, compare, "system_calls") {
        assert!((256..2000).contains(&calls), "{arm} made {calls} system calls for 256 blocks");
    }
}

#[test]
fn passes_in_go_which_move_between_threads_are_not_counted_and_the_record_says_so() {
    if !crate::go::has_go() {
        return;
    }
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let methods = "--method=pread,go/readat,go/mmap";
    let record = sandbox.run_short(&file, &[methods, "--counted", "--allow-setup", "--json"]).document().record;
    let of_go = |it: &&schema::counted::Counted| record.cells[it.cell].arm.runtime == "go";
    assert_eq!(record.counted.iter().filter(of_go).count(), 0);
    let is_go = |cell: usize| record.cells[cell].arm.runtime == "go" && !record.cells[cell].control;
    let has_one = (0..record.cells.len()).any(|it| is_go(it) && is_measured(&record, it));
    let said = record.limits.iter().filter(|it| it.contains("no pass of an arm of runtime go was counted")).count();
    assert_eq!(said, usize::from(has_one), "{:?}", record.limits);
}

#[test]
fn no_call_of_the_worker_itself_is_counted_with_its_pass() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let compare = "workload = \"scan\"\nblock = [\"1 KiB\", \"2 KiB\", \"4 KiB\", \"8 KiB\"]\nstate = \"mapped\"\nops = 64\n\
                   arms = [\"pread\", \"mmap\"]\n";
    let counted = counted(&sandbox, &file, compare, "system_calls");
    for (name, of_pass) in [("pread", 64), ("mmap", 0)] {
        // It may be seen waiting for the next line, and to wait once more.
        if let Some(calls) = counted.iter().filter(|it| it.0 == name).map(|it| it.1).min() {
            assert!((of_pass..=of_pass + 1).contains(&calls), "{counted:?}");
        }
    }
}

/// A beat sleeps a hundred times after its pass, each of which is a call.
#[test]
fn of_a_pass_beside_a_beat_the_pass_is_counted_and_not_the_beat() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let compare = "workload = \"scan\"\nblock = \"4 KiB\"\nstate = \"mapped\"\nops = 16\nbeside = \"beat\"\n\
                   arms = [\"pread\", \"mmap\"]\n";
    let counted = counted(&sandbox, &file, compare, "system_calls");
    assert!(counted.iter().all(|it| it.1 < 50), "{counted:?}");
}

#[test]
fn the_bytes_that_a_pass_read_are_exact_however_long_the_number_of_the_pass_is() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let experiment = sandbox.write(
        "reads.toml",
        "title = \"Reads\"\n[[compare]]\nworkload = \"scan\"\nblock = \"64 KiB\"\nstate = \"as-is\"\nops = 16\n\
         arms = [\"pread\", \"mmap\"]\n",
    );
    let args = ["run", &file, "-e", &experiment, "--rounds=6", "--budget=44s", "--json"];
    let record = sandbox.run(&args).document().record;
    assert!(record.samples.len() > 12);
    for sample in &record.samples {
        let of_pass = if record.cells[sample.cell].arm.maps() { [0.0, 0.0] } else { [16.0, f64::from(1 << 20)] };
        let seen = ["read_calls", "read_call_bytes"].map(|name| *sample.readings[name].value().expect("it is ours"));
        assert_eq!(seen, of_pass, "{sample:?}");
    }
}

#[test]
fn the_workers_own_computing_is_not_counted_with_its_pass() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 16 << 20);
    let ops = 60_000;
    let compare = format!(
        "workload = \"random\"\nblock = \"64 B\"\naligned = false\nstate = \"cached\"\nops = {ops}\narms = [\"pread\"]\n"
    );
    // Eight bytes a block are what the list of all blocks takes, of which the worker works out what the pass reached.
    let of_a_list = ops * 8 / 4096;
    for (arm, faults) in counted(&sandbox, &file, &compare, "minor_faults") {
        assert!(faults < of_a_list / 2, "{arm} had {faults} faults; a list of its blocks takes {of_a_list}");
    }
}

#[test]
fn what_is_summed_over_threads_is_unavailable_where_they_are_not_those_of_the_pass_alone() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let options = ["--json", "--threads=1,4", "--beside=nothing,beat", "--state=cached"];
    let record = sandbox.run_short(&file, &options).document().record;
    let condition = |cell: usize| &record.conditions[record.cells[cell].condition];
    let mut seen = BTreeSet::new();
    for sample in &record.samples {
        let condition = condition(sample.cell);
        let of = (condition.threads, condition.beside.word());
        let alone = of == (1, "nothing");
        for name in lab::probe::of_threads() {
            match &sample.readings[name] {
                Reading::Value(value) => assert!(alone, "{name}: {value} of {of:?}"),
                Reading::Unavailable { unavailable } => assert!(!unavailable.is_empty()),
            }
        }
        seen.insert(of);
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}
