//! The worker in Java against the native one: the same tallies, with every JDK of this machine that fits.

use std::{path::Path, process::Command, sync::atomic::AtomicBool, time::Duration};

use lab::{
    link::{Link, Trouble},
    runtime::jvm,
};
use schema::{
    Consume, Descriptor, Durability, Span, Workload,
    arm::Options,
    protocol::{Hold, Job, Tally},
};

static NEVER: AtomicBool = AtomicBool::new(false);
const MIB: u64 = 1 << 20;

/// Runs `test` with each JDK; says so when there is none.
fn with_each_jdk(test: impl Fn(&jvm::Jdk, &dyn Fn() -> Command)) {
    let cache = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for jdk in jvm::all() {
        let Ok(_) = jvm::worker_of(&jdk, cache.path()) else { continue };
        tried += 1;
        test(&jdk, &|| jvm::worker_of(&jdk, cache.path()).unwrap());
    }
    if tried == 0 {
        eprintln!("skipped: no JDK of version 17 or later on this machine");
    }
}

fn job(method: &str, file: &Path, bytes: u64) -> Job {
    Job {
        pass: 1,
        method: method.into(),
        options: Options::default(),
        workload: Workload::Scan,
        consume: Consume::Sum,
        file: file.to_str().unwrap().into(),
        block_bytes: 4096,
        range: Span { offset: 0, bytes },
        ops: bytes.div_ceil(4096).max(1),
        aligned: true,
        threads: 1,
        descriptor: Descriptor::PerThread,
        consumed_percent: 100,
        durability: Durability::None,
        seed: 0xF000_0000_0000_0007,
        hold: Hold::No,
        watch: None,
    }
}

fn file_of(folder: &Path, bytes: u64) -> std::path::PathBuf {
    let path = folder.join(bytes.to_string());
    let mut random = fastrand::Rng::with_seed(bytes);
    std::fs::write(&path, (0..bytes).map(|_| random.u8(..)).collect::<Vec<u8>>()).unwrap();
    path
}

fn tally(link: &mut Link, job: &Job) -> Result<Tally, Trouble> {
    link.prepare(job)?;
    Ok(link.go(job.pass, Duration::from_secs(60))?.tally)
}

fn native(job: &Job) -> Tally {
    let mut output = Vec::new();
    let job = Job { method: "pread".into(), ..job.clone() };
    let input = [
        serde_json::to_string(&schema::protocol::Request::Prepare(Box::new(job))).unwrap(),
        r#"{"go":{"pass":1}}"#.into(),
    ];
    worker::serve(format!("{}\n", input.join("\n")).as_bytes(), &mut output);
    let last = output.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty()).unwrap();
    match serde_json::from_slice(last).unwrap() {
        schema::protocol::Reply::Done(done) => done.tally,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_method_in_java_does_the_same_work_as_the_native_one() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<(u64, std::path::PathBuf)> =
        [1, 4095, 4096, 4097, 64 * MIB + 3].into_iter().map(|bytes| (bytes, file_of(folder.path(), bytes))).collect();
    with_each_jdk(|jdk, start| {
        for spec in schema::jvm::METHODS {
            let (mut link, hello) = Link::start(start(), &NEVER).unwrap();
            let names: Vec<&str> = schema::jvm::METHODS.iter().map(|it| it.name).collect();
            assert_eq!(hello.methods, names);
            for (bytes, file) in &files {
                for (workload, aligned) in [(Workload::Scan, true), (Workload::Random, true), (Workload::Random, false)]
                {
                    let consumes = match *bytes {
                        4097 => Consume::ALL,
                        _ => &[Consume::Sum],
                    };
                    for &consume in consumes {
                        let job = Job { workload, aligned, consume, ..job(spec.name, file, *bytes) };
                        let found = tally(&mut link, &job);
                        let wanted = native(&job);
                        assert_eq!(
                            found,
                            Ok(wanted),
                            "JDK {} {} {bytes} {workload:?} {consume:?}",
                            jdk.version,
                            spec.name
                        );
                    }
                }
            }
            link.bye().unwrap();
        }
    });
}

#[test]
fn an_empty_file_and_a_lock_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, page) = (file_of(folder.path(), 0), file_of(folder.path(), 4096));
    with_each_jdk(|_, start| {
        let (mut link, _) = Link::start(start(), &NEVER).unwrap();
        let refused = link.prepare(&job("mapped", &empty, 1));
        assert!(matches!(&refused, Err(Trouble::Failed(why)) if why.contains("the file is empty")), "{refused:?}");
        let locked = link.prepare(&Job { hold: Hold::Locked, ..job("mapped", &page, 4096) });
        assert!(matches!(&locked, Err(Trouble::Unavailable(why)) if why.contains("mlock")), "{locked:?}");
    });
}

#[test]
fn a_truncated_mapping_is_named_and_the_worker_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = file_of(folder.path(), MIB);
    let other = file_of(folder.path(), 4096);
    with_each_jdk(|_, start| {
        std::fs::write(&file, vec![1; MIB as usize]).unwrap();
        let (mut link, _) = Link::start(start(), &NEVER).unwrap();
        let held = Job { hold: Hold::Warm, ..job("mapped", &file, MIB) };
        link.prepare(&held).unwrap();
        std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(4096).unwrap();
        let failed = link.go(1, Duration::from_secs(60));
        assert!(matches!(&failed, Err(Trouble::Failed(why)) if why.contains("truncated")), "{failed:?}");
        assert!(tally(&mut link, &job("mapped", &other, 4096)).is_ok());
    });
}

#[test]
fn a_worker_out_of_heap_fails_with_its_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = file_of(folder.path(), 4 * MIB);
    with_each_jdk(|_, start| {
        let mut command = start();
        command.env("JDK_JAVA_OPTIONS", "-XX:MaxDirectMemorySize=1m");
        let (mut link, _) = Link::start(command, &NEVER).unwrap();
        let failed = link.prepare(&Job { block_bytes: 4 * MIB, ops: 1, ..job("channel-direct", &file, 4 * MIB) });
        assert!(matches!(&failed, Err(Trouble::Failed(why)) if why.contains("OutOfMemoryError")), "{failed:?}");
        // A mapping needs none of that memory.
        let mut command = start();
        command.env("JDK_JAVA_OPTIONS", "-XX:MaxDirectMemorySize=1m");
        let (mut link, _) = Link::start(command, &NEVER).unwrap();
        assert!(tally(&mut link, &job("mapped", &file, 4 * MIB)).is_ok());
    });
}
