//! What only the worker in Java does, with every JDK of this machine that fits; and what becomes of one that misbehaves. That it
//! does what every worker must stands in `faultline/tests/conformance`.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
    time::Duration,
};

use lab::{
    link::{Link, Trouble},
    runtime::jvm,
};
use schema::{
    Arm, Consume, Descriptor, Span, Workload,
    leftover::FileIdentity,
    protocol::{Done, Hold, Job, Permit, Tally},
};

static NEVER: AtomicBool = AtomicBool::new(false);
const MIB: u64 = 1 << 20;

/// Compiled once for all tests of a build, those of the command line too, and kept for the next.
fn command(jdk: &jvm::Jdk) -> Result<Command, String> {
    command_of(jdk, "mapped")
}

fn command_of(jdk: &jvm::Jdk, arm: &str) -> Result<Command, String> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faultline");
    jvm::worker_of(jdk, &format!("jvm/{arm}").parse().unwrap(), &cache)
}

/// Runs `test` with each JDK that fits, side by side; says so when there is none.
fn with_each_jdk(test: impl Fn(&jvm::Jdk) + Sync) {
    let fitting: Vec<jvm::Jdk> = jvm::all().into_iter().filter(|jdk| jdk.fits().is_ok()).collect();
    for version in [17, 25] {
        if !fitting.iter().any(|jdk| jdk.feature == version) {
            println!("skipped: no JDK {version} on this machine");
        }
    }
    std::thread::scope(|scope| {
        for jdk in &fitting {
            let test = &test;
            scope.spawn(move || {
                command(jdk).unwrap();
                test(jdk);
            });
        }
    });
}

fn start(jdk: &jvm::Jdk) -> Link<'static> {
    start_as(jdk, "mapped")
}

fn start_as(jdk: &jvm::Jdk, arm: &str) -> Link<'static> {
    Link::start(command_of(jdk, arm).unwrap(), &NEVER).unwrap().0
}

fn start_with(jdk: &jvm::Jdk, options: &str) -> Result<Link<'static>, Trouble> {
    let mut command = command(jdk).unwrap();
    // Unlike JDK_JAVA_OPTIONS, these come after what is on the command line.
    command.env("_JAVA_OPTIONS", options);
    Link::start(command, &NEVER).map(|(link, _)| link)
}

fn job(arm: &str, file: &Path, bytes: u64) -> Job {
    let arm: Arm = format!("jvm/{arm}").parse().unwrap();
    Job {
        consume: Consume::Sum,
        block_bytes: 4096,
        ops: bytes.div_ceil(4096).max(1),
        seed: 0xF000_0000_0000_0007,
        ..Job::new(&arm, file.to_str().unwrap(), Span { offset: 0, bytes })
    }
}

/// As `job`, on a file that it may write. The file stays open as long as the tests run.
fn writing(arm: &str, file: &Path, bytes: u64) -> Job {
    let open: &'static File = Box::leak(Box::new(File::options().read(true).write(true).open(file).unwrap()));
    let (device, inode) = sys::folder::identity(open).unwrap();
    let permit = Permit { execute: false, write: Some(FileIdentity { device, inode }) };
    Job { permit, ..job(arm, &sys::folder::path_of(open), bytes) }
}

/// On the disk that holds the build: O_DIRECT needs one.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn file_of(folder: &Path, bytes: u64) -> PathBuf {
    let path = folder.join(bytes.to_string());
    let mut random = fastrand::Rng::with_seed(bytes);
    std::fs::write(&path, (0..bytes).map(|_| random.u8(..)).collect::<Vec<u8>>()).unwrap();
    path
}

fn tally(link: &mut Link, job: &Job) -> Result<Tally, Trouble> {
    link.prepare(job)?;
    Ok(link.go(job.pass, Duration::from_secs(60))?.tally)
}

fn native(method: &str, job: &Job) -> Done {
    let mut output = Vec::new();
    let arm: Arm = method.parse().unwrap();
    let job = Job { method: arm.method, options: arm.options, ..job.clone() };
    let input = [
        serde_json::to_string(&schema::protocol::Request::Prepare(Box::new(job))).unwrap(),
        r#"{"go":{"pass":1}}"#.into(),
    ];
    worker::serve(format!("{}\n", input.join("\n")).as_bytes(), &mut output, std::io::sink());
    let last = output.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty()).unwrap();
    match serde_json::from_slice(last).unwrap() {
        schema::protocol::Reply::Done(done) => *done,
        other => panic!("{other:?}"),
    }
}

/// What a JDK or a rule of the method keeps it from, and says so.
fn is_excused(jdk: &jvm::Jdk, job: &Job, why: &str) -> bool {
    match job.method.as_str() {
        "segment" => jdk.feature < 22 && why.contains("needs JDK 22"),
        _ => false,
    }
}

#[test]
fn a_file_of_many_windows_is_read_as_one() {
    const BYTES: u64 = 64 * MIB + 3;
    let folder = folder();
    let file = file_of(folder.path(), BYTES);
    with_each_jdk(|jdk| {
        for arm in ["mapped+window_mib=1", "mapped+get+load+window_mib=1", "segment"] {
            let mut link = start_as(jdk, arm);
            for (workload, aligned) in [(Workload::Scan, true), (Workload::Random, true), (Workload::Random, false)] {
                let job = Job { workload, aligned, untimed: true, ..job(arm, &file, BYTES) };
                match tally(&mut link, &job) {
                    Err(Trouble::Unavailable(why)) if is_excused(jdk, &job, &why) => {}
                    found => assert_eq!(found, Ok(native("pread", &job).tally), "JDK {} {arm} {workload}", jdk.version),
                }
            }
            link.bye().unwrap();
        }
    });
}

#[test]
fn what_has_one_position_or_writes_has_one_thread() {
    let folder = folder();
    let file = file_of(folder.path(), MIB);
    with_each_jdk(|jdk| {
        let mut link = start(jdk);
        let shared = Job { threads: 2, descriptor: Descriptor::Shared, ..job("stream", &file, MIB) };
        let refused = link.prepare(&shared);
        assert!(matches!(&refused, Err(Trouble::Unavailable(why)) if why.contains("one position")), "{refused:?}");
        for job in [
            Job { threads: 2, consume: Consume::Lines, ..job("reader-lines", &file, MIB) },
            Job { threads: 2, workload: Workload::Overwrite, ..job("mapped-put", &file, MIB) },
        ] {
            let refused = link.prepare(&job);
            assert!(matches!(&refused, Err(Trouble::Unavailable(why)) if why.contains("one thread")), "{refused:?}");
        }
    });
}

#[test]
fn a_truncated_mapping_is_named_whichever_thread_meets_it() {
    let folder = folder();
    with_each_jdk(|jdk| {
        let file = folder.path().join(jdk.version.clone());
        let mut link = start(jdk);
        for descriptor in [Descriptor::PerThread, Descriptor::Shared] {
            std::fs::write(&file, vec![1; MIB as usize]).unwrap();
            link.prepare(&Job { hold: Hold::Warm, descriptor, threads: 4, ..job("mapped", &file, MIB) }).unwrap();
            std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(MIB - 4096).unwrap();
            let failed = link.go(1, Duration::from_secs(60));
            assert!(
                matches!(&failed, Err(Trouble::Failed(why)) if why.contains("truncated")),
                "{descriptor:?}: {failed:?}"
            );
        }
    });
}

#[test]
fn a_worker_needs_no_temporary_folder() {
    // What it made there stayed when it was killed before it removed the name.
    let folder = folder();
    let file = file_of(folder.path(), MIB);
    with_each_jdk(|jdk| {
        let mut link = start_with(jdk, "-Djava.io.tmpdir=/proc/nowhere").unwrap();
        for arm in ["mapped", "channel-odirect", "mapped+meanwhile=safepoints"] {
            let job = job(arm, &file, MIB);
            match tally(&mut link, &job) {
                // Around the page cache: not every file system can.
                Err(Trouble::Unavailable(_)) if arm == "channel-odirect" => {}
                found => assert_eq!(found, Ok(native("pread", &job).tally), "JDK {} {arm}", jdk.version),
            }
        }
        link.bye().unwrap();
    });
}

#[test]
fn a_worker_says_which_jvm_it_is() {
    with_each_jdk(|jdk| {
        let (link, hello) = Link::start(command(jdk).unwrap(), &NEVER).unwrap();
        assert!(hello.about["flags"].contains("-XX:+UseSerialGC"), "{:?}", hello.about);
        assert!(!hello.about["vm"].is_empty() && !hello.about["home"].is_empty());
        link.bye().unwrap();
    });
}

#[test]
fn lines_of_a_reader_are_the_ends_of_lines_wherever_the_text_or_the_pass_ends() {
    const SIZES: [u64; 5] = [1, 4095, 4096, 4097, 4 * MIB + 3];
    const ENDS: [&[u8]; 3] = [b"\n", b"x", b"\r\n"];
    let folder = folder();
    let mut random = fastrand::Rng::with_seed(7);
    let texts = || SIZES.iter().flat_map(|&bytes| (0..ENDS.len()).map(move |end| (bytes, end)));
    let path = |bytes: u64, end: usize| folder.path().join(format!("{bytes}-{end}"));
    for (bytes, end) in texts() {
        let mut text: Vec<u8> =
            (0..bytes).map(|_| if random.u8(..) < 4 { b'\n' } else { random.u8(b' '..b'~') }).collect();
        let length = text.len().min(ENDS[end].len());
        let start = text.len() - length;
        text[start..].copy_from_slice(&ENDS[end][..length]);
        std::fs::write(path(bytes, end), text).unwrap();
    }
    with_each_jdk(|jdk| {
        let mut link = start(jdk);
        for (bytes, end) in texts() {
            let file = path(bytes, end);
            for arm in ["reader-lines", "reader-lines+utf-8"] {
                // More blocks than the file has: it is read once more.
                for ops in [bytes.div_ceil(4096), 2 * bytes.div_ceil(4096)] {
                    // The long ones are read by compiled code.
                    let untimed = bytes < MIB;
                    let job = Job { consume: Consume::Lines, ops, untimed, ..job(arm, &file, bytes) };
                    assert_eq!(
                        tally(&mut link, &job),
                        Ok(native("read", &job).tally),
                        "JDK {} {arm} {}",
                        jdk.version,
                        file.display()
                    );
                }
            }
        }
        let random = Job { workload: Workload::Random, ..job("reader-lines", &path(4096, 0), 4096) };
        let refused = link.prepare(&random);
        assert!(matches!(&refused, Err(Trouble::Unavailable(why)) if why.contains("workload scan")), "{refused:?}");
    });
}

#[test]
fn a_file_that_is_reached_by_a_name_is_not_written() {
    with_each_jdk(|jdk| {
        let folder = folder();
        let file = folder.path().join("data");
        std::fs::write(&file, vec![1; 65_536]).unwrap();
        let mut link = start(jdk);
        for arm in ["channel-write", "mapped-put"] {
            // The right file, for now: a name can lead to another between the look and the open.
            let named = file.to_str().unwrap().to_string();
            let job = Job { workload: Workload::Overwrite, file: named, ..writing(arm, &file, 65_536) };
            assert!(matches!(link.prepare(&job), Err(Trouble::Failed(_))), "JDK {} {job:?}", jdk.version);
        }
        assert!(std::fs::read(&file).unwrap() == [1; 65_536]);
    });
}

#[test]
fn what_is_written_from_is_there_before_the_clock_starts() {
    with_each_jdk(|jdk| {
        let folder = folder();
        let file = folder.path().join("data");
        for workload in [Workload::Overwrite, Workload::Update] {
            std::fs::write(&file, vec![1; 16 * MIB as usize]).unwrap();
            let mut link = start(jdk);
            let whole = Job { workload, block_bytes: 16 * MIB, ops: 1, ..writing("channel-write", &file, 16 * MIB) };
            link.prepare(&whole).unwrap();
            let faults = link.go(1, Duration::from_secs(60)).unwrap().usage.minor_faults;
            assert!(faults < 2000, "JDK {} {workload}: {faults} faults, where a block has 4096 pages", jdk.version);
        }
    });
}

#[test]
fn what_a_worker_reads_for_itself_is_none_of_the_reads_of_a_pass() {
    let folder = folder();
    let file = file_of(folder.path(), MIB);
    with_each_jdk(|jdk| {
        let mappings = ["mapped", "mapped+window_mib=1+safepoints", "segment+random", "segment+random+safepoints"];
        for (arm, threads) in mappings.map(|it| (it, 1)).into_iter().chain([("channel-heap", 1), ("channel-heap", 4)]) {
            let mut worker = command_of(jdk, arm).unwrap();
            // Its compiler looks how much memory the control group leaves it; that is neither the pass nor the worker.
            worker.env("_JAVA_OPTIONS", "-XX:-UseContainerSupport");
            let mut link = Link::start(worker, &NEVER).unwrap().0;
            let job = Job { workload: Workload::Random, ops: 100_000, threads, ..job(arm, &file, MIB) };
            // What a pass itself reads by calls.
            let (calls, bytes) = if arm == "channel-heap" { (job.ops, job.ops * job.block_bytes) } else { (0, 0) };
            match link.prepare(&job) {
                Err(Trouble::Unavailable(why)) if is_excused(jdk, &job, &why) => continue,
                prepared => prepared.unwrap(),
            }
            let io = |link: &Link| sys::process::io(link.pid()).unwrap();
            let go_bytes = r#"{"go":{"pass":1}}"#.len() as u64 + 1;
            let passes = (0..4).map(|_| {
                let before = io(&link);
                let own = link.go(1, Duration::from_secs(60)).unwrap().own_reads.unwrap();
                let spent = io(&link).since(&before);
                [
                    spent.read_calls.saturating_sub(own.calls + 1 + calls),
                    spent.read_call_bytes.saturating_sub(own.bytes + go_bytes + bytes),
                ]
            });
            // A class may be loaded meanwhile, but not by each.
            assert_eq!(passes.min(), Some([0, 0]), "JDK {} {arm}", jdk.version);
            link.bye().unwrap();
        }
    });
}

#[test]
fn the_processor_time_of_threads_that_begin_with_a_pass_is_not_cut_to_ticks() {
    const TICK_NS: u64 = 10_000_000;
    let folder = folder();
    let file = file_of(folder.path(), MIB);
    with_each_jdk(|jdk| {
        let mut link = start_as(jdk, "channel-positional");
        link.prepare(&Job { threads: 8, workload: Workload::Random, ..job("channel-positional", &file, MIB) }).unwrap();
        let passes = (0..4).map(|_| link.go(1, Duration::from_secs(60)).unwrap().usage);
        let cut: Vec<_> = passes.filter(|it| (it.user_ns + it.system_ns).is_multiple_of(TICK_NS)).collect();
        assert_eq!(cut, [], "JDK {}", jdk.version);
        link.bye().unwrap();
    });
}

#[test]
fn an_update_says_where_its_time_went_and_a_pass_what_the_jvm_did() {
    let folder = folder();
    with_each_jdk(|jdk| {
        let file = folder.path().join(jdk.version.clone());
        std::fs::write(&file, vec![1; MIB as usize]).unwrap();
        let mut link = start(jdk);
        link.prepare(&Job { workload: Workload::Update, ..writing("mapped-put", &file, MIB) }).unwrap();
        let parts = link.go(1, Duration::from_secs(60)).unwrap().parts.unwrap();
        assert!(parts.loop_ns > 0 && parts.clock_ns > 0, "{parts:?}");
        link.prepare(&Job { times_its_loop: true, ..job("mapped", &file, MIB) }).unwrap();
        let readings = link.go(1, Duration::from_secs(60)).unwrap().seen;
        for name in [
            "collections",
            "collection_ns",
            "compile_ns",
            "warm_up_passes",
            "warm_up_quiet",
            "first_pass_ns_per_op",
            "warm_pass_ns_per_op",
            "loop_bytes_per_s",
        ] {
            assert!(readings.contains_key(name), "{name} is not in {readings:?}");
        }
        assert!(*readings["loop_bytes_per_s"].value().unwrap() > 1e6, "{readings:?}");
        let again = link.go(1, Duration::from_secs(60)).unwrap().seen;
        assert_eq!(again["loop_bytes_per_s"], readings["loop_bytes_per_s"], "it is timed before the passes");
    });
}

#[test]
fn the_time_of_a_tiny_block_over_the_twin_is_not_cut_to_whole_nanoseconds() {
    let folder = folder();
    let file = file_of(folder.path(), MIB);
    with_each_jdk(|jdk| {
        let mut link = start(jdk);
        link.prepare(&Job { block_bytes: 64, ops: MIB / 64, ..job("mapped", &file, MIB) }).unwrap();
        let readings = link.go(1, Duration::from_secs(60)).unwrap().seen;
        let times = ["first_pass_ns_per_op", "warm_pass_ns_per_op"].map(|it| *readings[it].value().unwrap());
        // Whole numbers of nanoseconds over thousands of blocks.
        assert!(times.iter().all(|it| *it > 0.0) && times.iter().any(|it| it.fract() != 0.0), "{times:?}");
    });
}

const OF_SAFEPOINTS: [&str; 5] =
    ["safepoints", "safepoint_median_ns", "safepoint_p99_ns", "safepoint_max_ns", "safepoint_stopped_ns"];

#[test]
fn safepoints_that_were_asked_for_are_those_that_the_jvm_logged() {
    let folder = folder();
    let file = file_of(folder.path(), MIB);
    with_each_jdk(|jdk| {
        for arm in ["mapped", "channel-direct", "stream"] {
            let mut link = start_as(jdk, &format!("{arm}+safepoints"));
            let long =
                Job { workload: Workload::Random, ops: 250_000, ..job(&format!("{arm}+safepoints"), &file, MIB) };
            link.prepare(&long).unwrap();
            // Twice: what belongs to one pass is not in the other.
            for _ in 0..2 {
                let seen = link.go(1, Duration::from_secs(60)).unwrap().seen;
                let [asked, median, p99, max, stopped] =
                    OF_SAFEPOINTS.map(|it| *seen[it].value().unwrap_or_else(|| panic!("{arm} {it}: {:?}", seen[it])));
                assert!(
                    asked >= 1.0 && median > 0.0 && median <= p99 && p99 <= max && max <= stopped,
                    "{arm} {seen:?}"
                );
            }
            // A pass that is over before the first one says so; it has no number.
            link.prepare(&Job { ops: 1, block_bytes: 1, range: Span { offset: 0, bytes: 1 }, ..long.clone() }).unwrap();
            let seen = link.go(1, Duration::from_secs(60)).unwrap().seen;
            if let Some(reason) = seen["safepoint_p99_ns"].reason() {
                assert!(reason.contains("over before a safepoint was asked for"), "{reason}");
                assert_eq!(seen["safepoints"].reason(), Some(reason));
            }
            link.prepare(&job(arm, &file, MIB)).unwrap();
            let seen = link.go(1, Duration::from_secs(60)).unwrap().seen;
            assert!(OF_SAFEPOINTS.iter().all(|it| !seen.contains_key(*it)), "{arm} was not asked: {seen:?}");
            link.bye().unwrap();
        }
    });
}

/// A log by JDK 17 and one by JDK 25, what is in neither, and garbage.
const READS_LOGS: &str = r#"
package faultline;
public class ReadsLogs {
    public static void main(String[] none) {
        String old = "Safepoint \"FindDeadlocks\", Time since last: 1579577 ns, Reaching safepoint: %d ns, Cleanup: 4765 ns, At safepoint: 3678 ns, Total: 93096 ns";
        String recent = "Safepoint \"FindDeadlocks\", Time since last: 1281733 ns, Reaching safepoint: %d ns, At safepoint: 5168 ns, Leaving safepoint: 1065 ns, Total: 93096 ns, Threads: 0 runnable, 10 total";
        String other = "Safepoint \"SerialFull\", Time since last: 1 ns, Reaching safepoint: 77 ns, At safepoint: 5 ns, Total: 90 ns";
        for (String form : new String[] {old, recent}) {
            String[] lines = new String[101];
            for (int i = 0; i < 100; i++) lines[i] = String.format(form, 100 - i);
            lines[100] = other;
            Safepoints.Delays found = Safepoints.Delays.of(lines, "FindDeadlocks");
            says(found.ns.length == 100 && found.rank(50) == 50 && found.rank(99) == 99 && found.rank(100) == 100, form);
            says(found.stoppedNs == 9309600, form);
        }
        String good = String.format(recent, 5);
        String[] garbage = {"", "[0.1s][info][safepoint] " + good, good.replace("Reaching", "reaching"), good.replace("5 ns", "-5 ns"), good.replace("5 ns", "5 us"),
            good.replace("5 ns", "99999999999999999999 ns"), good.replace("93096", "4"), good.replace("Total: 93096 ns, ", ""), good + ", Total: 7 ns",
            good.substring(0, good.length() / 2), "Safepoint \"FindDeadlocks", "\uFFFD\0Safepoint", good.replace("5 ns", "\u0665 ns"), ", , ,"};
        for (String line : garbage) {
            String why = "taken";
            try {
                Safepoints.Delays.of(new String[] {good, line}, "FindDeadlocks");
            } catch (IllegalArgumentException odd) {
                why = odd.getMessage();
            }
            says(why.contains("does not describe one"), line + ": " + why);
        }
        says(Safepoints.Delays.of(new String[0], "FindDeadlocks").ns.length == 0, "nothing");
        java.util.Random random = new java.util.Random(5);
        for (int i = 0; i < 20000; i++) {
            StringBuilder line = new StringBuilder(good);
            for (int n = random.nextInt(4); n >= 0; n--) line.setCharAt(random.nextInt(line.length()), (char) (random.nextInt(95) + 32));
            try {
                Safepoints.Delays.of(new String[] {line.toString()}, "FindDeadlocks");
            } catch (IllegalArgumentException odd) {
                continue;
            }
        }
        System.out.println("all as it should be");
    }

    private static void says(boolean right, String what) {
        if (!right) throw new AssertionError(what);
    }
}
"#;

/// What a program in the package of the worker prints, with the worker's classes.
fn in_the_package(jdk: &jvm::Jdk, class: &str, source: &str) -> String {
    let folder = folder();
    let jar = command(jdk).unwrap().get_args().skip_while(|it| *it != "-cp").nth(1).unwrap().to_owned();
    let file = folder.path().join(format!("{class}.java"));
    std::fs::write(&file, source).unwrap();
    let run = |program: &str, args: &[&std::ffi::OsStr]| {
        let output = Command::new(jdk.home.join("bin").join(program)).args(args).output().unwrap();
        let described = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).to_string()).join("");
        assert!(output.status.success(), "{program} of {}: {described}", jdk.version);
        described
    };
    run("javac", &["-cp".as_ref(), &jar, "-d".as_ref(), folder.path().as_ref(), file.as_ref()]);
    let mut both = jar.clone();
    both.push(":");
    both.push(folder.path());
    run("java", &["-cp".as_ref(), &both, format!("faultline.{class}").as_ref()])
}

#[test]
fn a_log_of_safepoints_is_read_strictly_or_refused_with_the_line() {
    with_each_jdk(|jdk| {
        assert!(in_the_package(jdk, "ReadsLogs", READS_LOGS).contains("all as it should be"));
    });
}

/// The classes whose loops are timed, with those within them.
const LOOKS_AT_FIELDS: &str = r#"
package faultline;
public class LooksAtFields {
    public static void main(String[] none) {
        for (Class<?> timed : new Class<?>[] {Consume.class, ReaderLines.class, Opened.class, Access.class, Direct.class, Writing.class, Room.class, Offsets.class, Warmth.class}) {
            look(timed);
            for (Class<?> within : timed.getDeclaredClasses()) look(within);
        }
        System.out.println("all as it should be");
    }

    private static void look(Class<?> it) {
        for (java.lang.reflect.Field field : it.getDeclaredFields()) {
            if (java.lang.reflect.Modifier.isVolatile(field.getModifiers())) throw new AssertionError(field.toString());
        }
    }
}
"#;

#[test]
fn no_field_of_a_timed_loop_is_volatile_because_a_store_to_one_is_a_fence() {
    with_each_jdk(|jdk| {
        assert!(in_the_package(jdk, "LooksAtFields", LOOKS_AT_FIELDS).contains("all as it should be"));
    });
}

#[test]
fn an_empty_file_and_what_needs_a_newer_jdk_are_refused_with_a_reason() {
    let folder = folder();
    let (empty, page) = (file_of(folder.path(), 0), file_of(folder.path(), 4096));
    with_each_jdk(|jdk| {
        let mut link = start(jdk);
        let refused = link.prepare(&job("mapped", &empty, 1));
        assert!(matches!(&refused, Err(Trouble::Failed(why)) if why.contains("the file is empty")), "{refused:?}");
        for (arm, hold) in [("mapped", Hold::Locked), ("stream", Hold::Locked), ("segment", Hold::No)] {
            match link.prepare(&Job { hold, ..job(arm, &page, 4096) }) {
                Ok(()) => assert!(jdk.feature >= 22),
                Err(Trouble::Unavailable(why)) => {
                    assert!(why.contains("JDK 22") || why.contains("mlock"), "{why}");
                }
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn a_truncated_mapping_is_named_and_the_worker_lives_on() {
    let folder = folder();
    let other = file_of(folder.path(), 4096);
    with_each_jdk(|jdk| {
        let file = folder.path().join(jdk.version.clone());
        let mut link = start(jdk);
        for arm in ["mapped", "mapped+get", "segment"] {
            std::fs::write(&file, vec![1; MIB as usize]).unwrap();
            let held = Job { hold: Hold::Warm, ..job(arm, &file, MIB) };
            match link.prepare(&held) {
                Err(Trouble::Unavailable(why)) if is_excused(jdk, &held, &why) => continue,
                prepared => prepared.unwrap(),
            }
            std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(4096).unwrap();
            let failed = link.go(1, Duration::from_secs(60));
            assert!(matches!(&failed, Err(Trouble::Failed(why)) if why.contains("truncated")), "{arm}: {failed:?}");
            assert!(tally(&mut link, &job("mapped", &other, 4096)).is_ok());
        }
    });
}

#[test]
fn a_worker_without_room_for_its_buffers_says_so_and_lives_on() {
    let folder = folder();
    let file = file_of(folder.path(), 4 * MIB);
    with_each_jdk(|jdk| {
        let small = "-XX:MaxDirectMemorySize=1m";
        let mut link = start_with(jdk, small).unwrap();
        let failed = link.prepare(&Job { block_bytes: 4 * MIB, ops: 1, ..job("channel-direct", &file, 4 * MIB) });
        assert!(matches!(&failed, Err(Trouble::Unavailable(why)) if why.contains("OutOfMemoryError")), "{failed:?}");
        // A mapping needs none of that memory.
        assert!(tally(&mut link, &job("mapped", &file, 4 * MIB)).is_ok());
    });
}

#[test]
fn a_worker_that_babbles_stalls_or_is_killed_is_a_failure_in_words() {
    let folder = folder();
    let file = file_of(folder.path(), MIB);
    with_each_jdk(|jdk| {
        // The JVM's own log on stdout, where replies belong.
        let babbled = start_with(jdk, "-Xlog:class+load=info:stdout").map(|_| ());
        assert!(matches!(&babbled, Err(Trouble::Failed(why)) if why.contains("not a reply")), "{babbled:?}");

        let signal = |link: &Link, signal: &str| {
            let status = Command::new("kill").args([signal, &link.pid().to_string()]).status();
            assert!(status.unwrap().success());
        };
        // A signal takes effect some time after kill(1) has returned: in every thread, whose state is behind its name.
        let until = |link: &Link, wanted: char| {
            let state = |task: std::fs::DirEntry| {
                let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
                stat.rsplit_once(") ")?.1.chars().next()
            };
            let tasks = || std::fs::read_dir(format!("/proc/{}/task", link.pid())).into_iter().flatten().flatten();
            while !tasks().filter_map(state).all(|it| it == wanted) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let mut link = start(jdk);
        link.prepare(&job("stream", &file, MIB)).unwrap();
        signal(&link, "-STOP");
        until(&link, 'T');
        let stalled = link.go(1, Duration::from_millis(300));
        assert!(matches!(&stalled, Err(Trouble::Failed(why)) if why.contains("did not answer")), "{stalled:?}");

        let mut link = start(jdk);
        link.prepare(&job("stream", &file, MIB)).unwrap();
        signal(&link, "-KILL");
        until(&link, 'Z');
        let killed = link.go(1, Duration::from_secs(60));
        let says_no_more = |why: &str| why.contains("SIGKILL") && !why.contains("last output");
        assert!(matches!(&killed, Err(Trouble::Failed(why)) if says_no_more(why)), "{killed:?}");

        // A crash of the JVM itself: what it had to say, and no file of it.
        let mut link = start(jdk);
        link.prepare(&job("stream", &file, MIB)).unwrap();
        signal(&link, "-SEGV");
        until(&link, 'Z');
        let crashed = link.go(1, Duration::from_secs(60));
        assert!(matches!(&crashed, Err(Trouble::Failed(why)) if why.contains("SIGSEGV")), "{crashed:?}");
        assert!(!Path::new(&format!("hs_err_pid{}.log", link.pid())).exists());
    });
}

#[test]
fn a_mapping_that_is_still_alive_is_found_and_named() {
    let folder = folder();
    let file = file_of(folder.path(), MIB);
    std::fs::File::open(&file).unwrap().sync_all().unwrap();
    with_each_jdk(|jdk| {
        let mut link = start(jdk);
        link.prepare(&Job { hold: Hold::Warm, ..job("mapped", &file, MIB) }).unwrap();
        let identity = sys::process::MappedFile::of(&std::fs::metadata(&file).unwrap(), file.to_str().unwrap());
        let holders = sys::process::mappers(&identity);
        let named = format!("{} (java)", link.pid());
        assert!(holders.contains(&named), "{holders:?}");
        link.bye().unwrap();
        let holders = sys::process::mappers(&identity);
        assert!(!holders.contains(&named), "{holders:?}");
    });
}

/// The worker is started by a shell, so that it does not get the files that it has the numbers of.
#[test]
fn a_worker_that_was_not_given_its_files_writes_to_none_that_has_their_number() {
    let folder = folder();
    let file = file_of(folder.path(), 4096);
    with_each_jdk(|jdk| {
        for arm in ["mapped", "mapped+safepoints"] {
            let worker = command_of(jdk, arm).unwrap();
            let named = |used_as: &str| {
                let property = format!("-Dfaultline.{used_as}=");
                let mut said = worker.get_args().filter_map(|it| it.to_str()?.strip_prefix(&property));
                said.next().unwrap().split(':').next().unwrap().to_string()
            };
            let numbers = ["warm-up", "safepoints"].map(named);
            let canaries = numbers.each_ref().map(|it| folder.path().join(format!("{}-{arm}-{it}", jdk.version)));
            canaries.iter().for_each(|it| std::fs::write(it, "not yours").unwrap());
            let mut shell = Command::new("bash");
            let opened =
                numbers.iter().zip(&canaries).map(|(number, path)| format!("exec {number}<> {}\n", path.display()));
            let script = opened.collect::<String>() + "exec \"$@\"";
            shell.args(["-c", &script, "bash"]).arg(worker.get_program()).args(worker.get_args());
            let mut link = Link::start(shell, &NEVER).unwrap().0;
            match link.prepare(&job(arm, &file, 4096)) {
                Err(Trouble::Failed(why) | Trouble::Unavailable(why)) => {
                    assert!(why.contains("is not the file"), "{why}")
                }
                other => panic!("JDK {} {arm}: {other:?}", jdk.version),
            }
            for canary in canaries {
                assert_eq!(std::fs::read_to_string(canary).unwrap(), "not yours", "JDK {} {arm}", jdk.version);
            }
        }
    });
}

/// An error of the JVM itself ends the worker, with its last words.
#[test]
fn any_request_to_a_worker_in_java_is_answered_or_ends_it_and_nothing_is_written_without_a_permit() {
    let jdk = match jvm::find(None) {
        Ok(jdk) => jdk,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = folder();
    let file = file_of(folder.path(), 4096);
    let write = Job { workload: Workload::Overwrite, ..job("channel-write", &file, 4096) };
    let jobs = [job("mapped", &file, 4096), job("channel-positional", &file, 4096), write];
    crate::requests::are_answered("Java", || command(&jdk).unwrap(), &jobs, &file, Some("Error"));
}
