//! State `limited`: a steady miss rate, the same for every arm.

use schema::{Record, record::Sample};

use crate::support::{Sandbox, failure};

const FILE_BYTES: u64 = 64 << 20;

/// Random reads of half of a file's size in memory; nothing where there can be no memory group.
fn random(sandbox: &Sandbox, arms: &str) -> Option<Record> {
    let experiment = sandbox.write(
        "limited.toml",
        format!(
            "title = \"Less memory\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"limited\"\n\
             consume = \"touch\"\nops = 8192\narms = [{arms}]\n"
        ),
    );
    let file = sandbox.file("file", FILE_BYTES as usize);
    let output = sandbox.run(&["run", &file, "-e", &experiment, "--rounds=1", "--budget=44s", "--json"]);
    output.sane();
    let record = output.document().record;
    if let Some(reason) = record.cells.iter().find_map(|it| it.skipped.as_ref()) {
        println!("skipped: {reason}");
        return None;
    }
    Some(record)
}

fn reading(sample: &Sample, name: &str) -> f64 {
    *sample.readings[name].value().unwrap_or_else(|| panic!("{name} of {sample:?}"))
}

/// A pass of uniform random reads misses what is not in the page cache.
fn assert_steady(record: &Record, sample: &Sample) {
    let name = &record.cells[sample.cell].arm.name;
    assert_eq!(failure(sample), None, "{name}: {sample:?}");
    let [before, after] = [&sample.resident_before, &sample.resident_after].map(|it| it.value().unwrap().pages as f64);
    // A pass may take seconds on a slow disk, in which a JVM's own memory, or what else the group holds, changes.
    assert!((after / before - 1.0).abs() < 0.1, "{name}: from {before} to {after} pages: {sample:?}");
    let absent = 1.0 - (before + after) / 2.0 * sys::page_bytes() as f64 / FILE_BYTES as f64;
    assert!((0.3..0.6).contains(&absent), "{name}: {absent} of the file is not in the page cache");
    // Major faults are counted one by one. A call that misses is counted when it waits, and on a busy machine the device may
    // have answered before the call gets to wait, or a request has to wait for its place first.
    let [least, most] = if name.contains("mmap") { [0.9, 1.1] } else { [0.0, 2.2] };
    for misses in ["misses_per_block", "warm_misses_per_block"].map(|it| reading(sample, it)) {
        let share = misses / absent;
        assert!(share > least && share < most, "{name}: {misses} misses a block, {absent} absent: {sample:?}");
    }
    assert!(reading(sample, "warm_passes") >= 2.0);
    let from_device = reading(sample, "device_bytes_per_byte");
    let blocks_alone = name.contains("random");
    let asked_for = reading(sample, "misses_per_block");
    assert!(from_device > 0.9 * absent.min(asked_for), "{name}: {from_device} {asked_for}");
    assert!(!blocks_alone || from_device < 1.1 * asked_for, "{name}: {from_device} {asked_for}");
}

#[test]
fn random_reads_under_a_memory_limit_miss_what_does_not_fit_whatever_the_method() {
    let sandbox = Sandbox::new();
    let Some(record) = random(&sandbox, "\"pread\", \"mmap+random\"") else { return };
    assert!(record.samples.len() >= 3, "{:?}", record.samples);
    record.samples.iter().for_each(|sample| assert_steady(&record, sample));
}

#[test]
fn what_a_worker_needs_for_its_buffers_is_not_taken_from_the_file() {
    let sandbox = Sandbox::new();
    // Pages that a read in flight fills cannot be reclaimed. With 32 of 1 MiB that was all of the file's share, and the kernel
    // killed a worker once when its ring needed one more thread.
    let experiment = sandbox.write(
        "buffers.toml",
        "title = \"Large buffers\"\n[[compare]]\nworkload = \"random\"\nblock = \"1 MiB\"\nstate = \"limited\"\n\
         consume = \"touch\"\nthreads = [1, 16]\nops = 64\narms = [\"pread\", \"uring+queue_depth=8\"]\n\
         [[compare]]\nworkload = \"random\"\nblock = \"1 MiB\"\nstate = \"limited\"\n\
         consume = \"touch\"\nops = 64\narms = [\"mmap+map-populate\"]\n",
    );
    let file = sandbox.file("file", FILE_BYTES as usize);
    let output = sandbox.run(&["run", &file, "-e", &experiment, "--rounds=1", "--budget=44s", "--json"]);
    output.sane();
    let record = output.document().record;
    let mut seen = 0;
    for cell in &record.cells {
        if let Some(reason) = &cell.skipped {
            println!("skipped: {}: {reason}", cell.arm);
        }
    }
    for sample in &record.samples {
        let cell = &record.cells[sample.cell];
        let condition = &record.conditions[cell.condition];
        let share = condition.memory_bytes.unwrap() as f64;
        let name = format!("{}, {} threads", cell.arm, condition.threads);
        assert_eq!(failure(sample), None, "{name}");
        let [limit, own, cache] =
            ["cgroup_limit_bytes", "group_anonymous_bytes", "group_cache_bytes"].map(|it| reading(sample, it));
        assert!(limit >= share + own, "{name}: a limit of {limit}, of which {own} are the worker's own");
        assert!(
            cache > 0.6 * share && cache <= limit - own,
            "{name}: {cache} bytes of the file, of a share of {share}"
        );
        seen += 1;
    }
    assert!(seen > 0 || record.cells.iter().all(|it| it.skipped.is_some()), "{:?}", record.limits);
}

#[test]
fn a_jvm_under_a_memory_limit_is_as_steady_as_a_native_worker() {
    if !crate::jvm::has_jdk(None) {
        return;
    }
    let sandbox = Sandbox::new();
    let Some(record) = random(&sandbox, "\"pread\", \"jvm/channel-positional\"") else { return };
    record.samples.iter().for_each(|sample| assert_steady(&record, sample));
}
