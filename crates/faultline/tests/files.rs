//! Targets that are none, or stop being one: a clear sentence, the documented exit code, nothing left behind.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{FileTypeExt, PermissionsExt},
};

use schema::{findings::Status, record::Ending};

use crate::support::{Sandbox, children, failure, long_passes};

#[track_caller]
fn refused(target: &str, words: &[&str]) {
    let sandbox = Sandbox::new();
    for more in [&[][..], &["--dry-run"]] {
        sandbox.run_short(target, more).refused(1, words);
    }
    assert_eq!(sandbox.left(), [""; 0]);
    assert_eq!(sandbox.saved(), None);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    refused("/no/such/file", &["/no/such/file", "No such file"]);
}

#[test]
fn an_empty_file_is_refused() {
    let sandbox = Sandbox::new();
    refused(&sandbox.write("empty", ""), &["is empty"]);
}

#[test]
fn a_pipe_is_refused_without_waiting_for_its_writer() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.at("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    refused(&pipe, &["pipe", "regular file"]);
}

#[test]
fn a_character_device_is_refused() {
    refused("/dev/null", &["is a device", "Try a file on that device"]);
}

#[test]
fn a_block_device_is_refused_before_it_is_opened() {
    let devices = fs::read_dir("/dev").unwrap().filter_map(|it| it.ok());
    let mut block = devices.filter(|it| it.file_type().is_ok_and(|kind| kind.is_block_device()));
    match block.next() {
        Some(device) => refused(device.path().to_str().unwrap(), &["is a device"]),
        None => println!("skipped: no block device in /dev"),
    }
}

#[test]
fn a_file_that_the_kernel_makes_up_is_refused() {
    refused("/proc/cpuinfo", &["generates its content"]);
    refused("/sys/kernel/mm/transparent_hugepage/enabled", &["sysfs"]);
}

#[test]
fn a_name_that_is_not_utf8_is_refused_with_a_way_out() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    let name = std::ffi::OsStr::from_bytes(b"fi\xffle");
    fs::write(sandbox.path().join(name), "some text").unwrap();
    let mut command = sandbox.command(&["run"]);
    command.arg(name);
    crate::support::Running::new(command).end().refused(1, &["not valid UTF-8", "symbolic link"]);
}

#[test]
fn a_folder_where_nothing_may_be_made_is_refused_and_a_file_that_may_not_be_read_too() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let folder = sandbox.folder("closed");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    sandbox.run_short(&folder, &["--size=1MiB"]).refused(1, &["cannot make a test file in", "Permission denied"]);
    assert_eq!(sandbox.noted(), 0);
    let file = sandbox.file("secret", 4096);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    sandbox.run_short(&file, &[]).refused(1, &["secret", "Permission denied"]);
    assert_eq!(sandbox.left(), ["closed", "secret"]);
}

#[test]
fn on_a_file_system_in_memory_cold_is_skipped_with_the_reason_and_the_rest_is_answered() {
    let Some(sandbox) = Sandbox::in_memory() else { return };
    let file = sandbox.file("file", 2 << 20);
    let output = sandbox.run(&[
        "run",
        &file,
        "--method=read,mmap",
        "--workload=scan",
        "--block=64KiB",
        "--state=cold,cached",
        "--rounds=1",
        "--budget=44s",
        "--json",
    ]);
    output.sane();
    let document = output.document();
    let cold = document.findings.cells.iter().filter(|it| it.condition.state == schema::State::Cold);
    for cell in cold {
        assert_eq!(cell.status, Status::Skipped);
        let reason = report::words::reasons(&cell.reasons).unwrap();
        assert!(reason.contains("never cold"), "{reason}");
    }
    assert_eq!(document.record.samples.iter().filter_map(failure).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(document.record.samples.len(), 3);
}

/// Runs long passes of a mapping over a file and does something to it once a worker has it mapped, after the trials.
fn spoilt(sandbox: &Sandbox, spoil: impl FnOnce(&str)) -> schema::findings::Document {
    let bytes = 8 << 20;
    let file = sandbox.file("file", bytes);
    let experiment = sandbox.write("long.toml", long_passes("\"mmap\"", bytes as u64));
    let mut running = sandbox.start(&["run", &file, "-e", &experiment, "--rounds=100", "--budget=44s", "--json"]);
    let pid = running.pid();
    let found = running.until(|| {
        sandbox.saved()?;
        let mapped = |(pid, _): &(u32, u64)| {
            fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains(&file))
        };
        children(pid).into_iter().find(mapped)
    });
    assert!(found.is_some(), "no worker was met with the file mapped: {:?}", running.end());
    spoil(&file);
    let output = running.end();
    output.sane();
    assert_eq!(output.code(), Some(1), "{output:#?}");
    let document = output.document();
    let record = &document.record;
    assert_eq!(record.ending, Some(Ending::TargetChanged), "{:?}", record.partial);
    assert!(record.partial.as_ref().is_some_and(|it| it.contains(&file)), "{:?}", record.partial);
    assert!(record.samples.len() < 2 * 100, "it went on: {:#?}", record.samples);
    let decided = document.findings.comparisons.iter().any(|it| it.verdict.is_decided());
    assert!(!decided, "{:#?}", document.findings.comparisons);
    document
}

#[test]
fn a_file_that_is_truncated_while_it_is_read_ends_the_run() {
    spoilt(&Sandbox::new(), |file| OpenOptions::new().write(true).open(file).unwrap().set_len(4096).unwrap());
}

#[test]
fn a_file_that_is_deleted_while_it_is_read_ends_the_run() {
    spoilt(&Sandbox::new(), |file| fs::remove_file(file).unwrap());
}

#[test]
fn another_file_that_takes_its_name_ends_the_run() {
    let sandbox = Sandbox::new();
    let other = sandbox.file("other", 8 << 20);
    spoilt(&sandbox, |file| fs::rename(&other, file).unwrap());
}

#[test]
fn a_single_byte_that_is_overwritten_ends_the_run_also_when_its_time_is_set_back() {
    for set_back in [false, true] {
        spoilt(&Sandbox::new(), |path| {
            use std::os::unix::fs::FileExt;
            let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
            let before = file.metadata().unwrap().modified().unwrap();
            let mut byte = [0];
            file.read_exact_at(&mut byte, 5000).unwrap();
            file.write_all_at(&[!byte[0]], 5000).unwrap();
            if set_back {
                file.set_modified(before).unwrap();
            }
        });
    }
}

#[test]
fn a_test_file_larger_than_the_disk_is_refused_with_both_numbers_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let output = sandbox.run_short(&folder, &["--size=512PiB"]);
    output.refused(1, &["524288 TiB", "free", "--size"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(sandbox.noted(), 0);
}

#[test]
fn a_test_file_of_no_bytes_is_refused() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    for more in [&["--size=0"][..], &["--size=0", "--dry-run"]] {
        sandbox.run_short(&folder, more).expect(2).says(&["--size"]);
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(sandbox.noted(), 0);
}

#[test]
fn small_and_ragged_files_are_measured() {
    for (bytes, block) in [(1, "1B"), (4095, "4095B"), (4097, "4KiB"), (100_001, "4KiB")] {
        let sandbox = Sandbox::new();
        let file = sandbox.file("file", bytes);
        let block = format!("--block={block}");
        let output = sandbox.run_short(&file, &["--json", "--state=cold,cached,mapped", &block]);
        output.sane();
        let record = output.document().record;
        assert_eq!(record.samples.iter().filter_map(failure).collect::<Vec<_>>(), [""; 0], "{bytes}");
        assert_eq!(record.samples.len(), 9, "{bytes}");
    }
}

#[test]
fn a_block_that_the_file_has_no_room_for_is_skipped_in_a_run_and_in_its_plan_for_the_same_reason() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 5000);
    let more = |last| ["--workload=scan,random", "--block=64B,4KiB,64KiB", "--budget=1s", "--method=read", last];
    let expected = |workload, block_bytes| match (workload, block_bytes) {
        (schema::Workload::Scan, 65_536) => Some(1),
        (schema::Workload::Random, 4096 | 65_536) => Some(2),
        _ => None,
    };
    let blocks = |skip: &Option<schema::Skip>| match skip {
        Some(schema::Skip::NoRoom { blocks, range_bytes: 5000, .. }) => Some(*blocks),
        _ => None,
    };
    let record = sandbox.run(&[&["run", &file, "--state=cached"][..], &more("--json")].concat()).document().record;
    assert_eq!(record.conditions.len(), 6);
    for cell in &record.cells {
        let it = &record.conditions[cell.condition];
        assert_eq!(blocks(&cell.skipped), expected(it.workload, it.block_bytes), "{}", it.label());
    }
    let text = sandbox.run(&[&["run", &file, "--state=cached", "--dry-run"][..], &more("--json")].concat()).stdout;
    let plan: schema::plan::PlannedRun = serde_json::from_str(&text).unwrap();
    for planned in &plan.conditions {
        let it = &planned.condition;
        for cell in &planned.cells {
            assert_eq!(blocks(&cell.skipped), expected(it.workload, it.block_bytes), "{}", it.label());
        }
    }
}
