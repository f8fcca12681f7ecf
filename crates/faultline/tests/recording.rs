//! `faultline trace record`: what is recorded of programs that read in known ways.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::Path,
    process::{Command, Stdio},
};

use schema::trace::{Access, Exact, Header, Inexact, Reader, TracedFile, Via};

use crate::{
    ab::{anybody_runs, is_there},
    observing::reader,
    support::{Output, Running, Sandbox, is_root},
};

const BYTES: usize = 4 << 20;
const PAGE: u64 = 4096;

fn read(trace: &str) -> (Header, Vec<Access>) {
    let bytes = fs::read(trace).unwrap();
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let mut accesses = Vec::new();
    while let Some(access) = reader.next_access().unwrap() {
        accesses.push(access);
    }
    (reader.header().clone(), accesses)
}

/// One that may be followed here; `None` after saying why not.
fn followed(output: Output) -> Option<Output> {
    if output.stderr.contains("it cannot be watched") {
        println!("skipped: {}", output.stderr.trim_end());
        return None;
    }
    Some(output.expect(0))
}

/// On a disk, where pages can be evicted.
fn on_disk() -> Sandbox {
    Sandbox::on(Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// What `known` of `programs/reader.rs` reads by calls, and which pages it touches.
fn known() -> (Vec<(u64, u64)>, Vec<u64>) {
    let reads = (0..64).map(|at| (at * 37 % 64 * 8192 + 5, 100 + at)).collect();
    (reads, (0..64).map(|at| at * 397 % 1024).collect())
}

fn of(accesses: &[Access], file: usize, via: Via) -> impl Iterator<Item = &Access> {
    accesses.iter().filter(move |it| it.file as usize == file && it.via == via)
}

fn place(header: &Header, path: &str) -> usize {
    let path = fs::canonicalize(path).unwrap();
    header.files.iter().position(|it| Path::new(&it.path) == path).expect("the file is in the table")
}

/// Whether the pages of a file are known; says why not.
fn is_exact(file: &TracedFile) -> bool {
    if let Some(why) = &file.inexact {
        assert!(matches!(why, Inexact::NoFaults { .. } | Inexact::NotCold { .. }), "{why}");
        println!("skipped: {why}");
    }
    file.exact == Exact::Order
}

/// Where the kernel's recording is given up, the command runs again under ptrace.
#[test]
fn what_the_first_of_two_executions_brought_in_was_not_found_in_the_page_cache() {
    let sandbox = Sandbox::new();
    let (file, trace) = (sandbox.file("file", 1 << 20), sandbox.at("t.trace"));
    let record = |line: &[&str]| {
        let args = ["trace", "record", "--force", "-o", &trace, "--file", &file, "--"];
        followed(sandbox.run(&[&args[..], line, &[&reader(), "read", &file, "4096", "50"]].concat()))?;
        Some(read(&trace).0)
    };
    let is_left_to_ptrace =
        |it: &Header| it.run.as_ref().is_some_and(|it| it.notes.iter().any(|it| it.contains("not by tracepoints")));
    let Some(header) = record(&[]) else { return };
    assert_eq!(header.files[place(&header, &file)].resident_before, Some(1.0));
    if is_left_to_ptrace(&header) {
        return println!("skipped: the kernel records no calls here");
    }
    let unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork"];
    if !Command::new(unshare[0]).args(&unshare[1..]).arg("true").status().is_ok_and(|it| it.success()) {
        return println!("skipped: no PID namespace can be made here");
    }
    let Some(header) = record(&unshare) else { return };
    assert!(is_left_to_ptrace(&header), "{:?}", header.run);
    let file = &header.files[place(&header, &file)];
    assert_eq!((file.resident_before, file.found.len()), (None, 0), "{file:?}");
}

#[test]
fn known_reads_come_out_with_their_offsets_and_lengths_and_with_the_file_they_are_of() {
    let sandbox = Sandbox::new();
    let (file, other) = (sandbox.file("a", BYTES), sandbox.file("b", BYTES));
    let trace = sandbox.at("t.trace");
    let args = ["trace", "record", "-o", &trace, "--file", &file, "--", &reader(), "known", &file, &other];
    let Some(output) = followed(sandbox.run(&args)) else { return };
    output.shows(&["64 accesses of 1 file", &file]);
    let (header, accesses) = read(&trace);
    let expected: Vec<Access> = known().0.into_iter().map(|(offset, bytes)| Access::call(0, offset, bytes)).collect();
    assert_eq!(accesses, expected);
    let (traced, metadata) = (&header.files[0], fs::metadata(&file).unwrap());
    let identity = traced.identity.unwrap();
    assert_eq!((identity.device, identity.inode), (metadata.dev(), metadata.ino()));
    assert_eq!((traced.bytes, traced.exact, traced.mappings), (Some(BYTES as u64), Exact::None, 0));
    let counts = traced.counts.as_ref().unwrap();
    assert_eq!((counts.opens, counts.calls["pread64"].count), (1, 64));
    let run = header.run.unwrap();
    assert_eq!((run.threads, header.coverage), (1, 1.0));
    assert_eq!(run.command[1..], ["known", &file, &other]);
    let is_why = |it: &String| it.contains("not by tracepoints");
    assert!(run.wall_ns > 0 && run.notes.iter().all(is_why), "{:?}", run.notes);
    assert!(header.left_out.other_files < 64 && header.left_out.beyond_limit == 0);
}

#[test]
fn a_file_in_memory_is_a_file_of_its_own_also_under_the_descriptor_that_another_one_had() {
    for sandbox in [Some(Sandbox::new()), Sandbox::of_ordinary_user()].into_iter().flatten() {
        let (file, trace) = (sandbox.file("a", BYTES), sandbox.at("t.trace"));
        let args = ["trace", "record", "-o", &trace, "--", &reader(), "in-memory", &file];
        let Some(_) = followed(sandbox.run(&args)) else { return };
        let (header, accesses) = read(&trace);
        let memory = header.files.iter().position(|it| it.path.contains("memfd:memory"));
        let memory = memory.unwrap_or_else(|| panic!("{}: {:#?}", header.recorder, header.files));
        let count = |place: usize| of(&accesses, place, Via::Call).count();
        assert_eq!([count(place(&header, &file)), count(memory)], [10, 110], "{}", header.recorder);
    }
}

#[test]
fn reads_at_the_position_of_a_file_that_is_also_written_to_come_out_where_they_were() {
    for sandbox in [Some(Sandbox::new()), Sandbox::of_ordinary_user()].into_iter().flatten() {
        let (file, other, trace) = (sandbox.file("a", BYTES), sandbox.file("b", BYTES), sandbox.at("t.trace"));
        let args = ["trace", "record", "-o", &trace, "--file", &file, "--", &reader(), "update", &file, &other];
        let Some(_) = followed(sandbox.run(&args)) else { return };
        let (header, accesses) = read(&trace);
        let offsets = [0, 8192, 12_288 + 150, 16_384 + 1150, 20_480 + 1150, 100, 4196 + 10];
        assert_eq!(accesses, offsets.map(|it| Access::call(0, it, 4096)), "{}", header.recorder);
        assert_eq!(header.coverage, 1.0);
    }
}

/// Under ptrace a thread is stopped before it is known where its read began, and others go on meanwhile.
#[test]
fn no_read_at_a_position_that_others_move_at_the_same_time_is_said_to_be_where_it_was_not() {
    let as_user = Sandbox::of_ordinary_user().map(|it| (it, &[][..]));
    for (sandbox, exact) in [Some((Sandbox::new(), &["--exact-budget", "20s"][..])), as_user].into_iter().flatten() {
        let words: Vec<u8> = (0..1u64 << 16).flat_map(|it| (it * 8).to_ne_bytes()).collect();
        let (file, list, trace) = (sandbox.write("words", words), sandbox.at("list"), sandbox.at("t.trace"));
        let ways = ["threads", "clones", "children"];
        for (how, lengths) in
            ways.map(|it| (it, "100")).into_iter().chain(ways.map(|it| (it, "1"))).chain([("seeks", "100")])
        {
            let program = ["--", &reader(), "together", how, &file, &list, lengths, "100"];
            let args = ["trace", "record", "--force", "-o", &trace, "--file", &file];
            let Some(_) = followed(sandbox.run(&[&args[..], exact, &program].concat())) else { return };
            let lines = fs::read_to_string(&list).unwrap();
            let number = |it: &str| it.parse::<u64>().unwrap();
            let mut made: Vec<(u64, u64)> = lines
                .lines()
                .filter_map(|it| it.split_once(' '))
                .map(|(at, bytes)| (number(at), number(bytes)))
                .collect();
            let (header, accesses) = read(&trace);
            let all = made.len() as u64;
            for it in &accesses {
                let at = made.iter().position(|known| *known == (it.offset, it.bytes));
                made.swap_remove(at.unwrap_or_else(|| panic!("{how}: no read was at {it:?}")));
            }
            println!("{how}: {} of {all} reads have an offset", accesses.len());
            assert_eq!(accesses.len() as u64 + header.left_out.unknown_offset, all, "{how}");
            assert_eq!(header.coverage < 1.0, header.left_out.unknown_offset > 0, "{how}");
            // Of those that are equally long it does not matter.
            assert!(lengths != "1" || header.coverage == 1.0, "{how}: {}", header.coverage);
        }
    }
}

#[test]
fn reads_of_a_file_that_came_through_a_socket_come_out_where_they_were() {
    for sandbox in [Some(Sandbox::new()), Sandbox::of_ordinary_user()].into_iter().flatten() {
        let (file, trace) = (sandbox.file("a", BYTES), sandbox.at("t.trace"));
        let args = ["trace", "record", "-o", &trace, "--file", &file, "--", &reader(), "given", &file, "4096", "9"];
        let Some(_) = followed(sandbox.run(&args)) else { return };
        let (header, accesses) = read(&trace);
        let expected: Vec<Access> = (0..9).map(|at| Access::call(0, BYTES as u64 / 2 + at * 4096, 4096)).collect();
        assert_eq!(accesses, expected, "{}", header.recorder);
    }
}

#[test]
fn a_trace_of_a_program_that_hides_what_it_opens_says_that_it_is_incomplete() {
    // As in a container: root without the right to look at others (CAP_SYS_PTRACE).
    let drop_right = || {
        const CAP_SYS_PTRACE: libc::c_ulong = 19;
        // SAFETY: the call is async-signal-safe and touches no memory.
        match unsafe { libc::prctl(libc::PR_CAPBSET_DROP, CAP_SYS_PTRACE) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    let as_root = is_root().then(|| (Sandbox::new(), "root"));
    let as_user = Sandbox::of_ordinary_user().map(|it| (it, "dumpable"));
    for (sandbox, how) in [as_root, as_user].into_iter().flatten() {
        let (file, other, trace) = (sandbox.file("a", 1 << 16), sandbox.file("b", 1 << 16), sandbox.at("t.trace"));
        fs::set_permissions(sandbox.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = sandbox.at("reader");
        fs::copy(reader(), &program).unwrap();
        let mut command =
            sandbox.command(&["trace", "record", "-o", &trace, "--", &program, "hide", how, &file, &other]);
        if how == "root" {
            // SAFETY: the closure makes one call, which is async-signal-safe.
            unsafe { command.pre_exec(drop_right) };
        }
        let Some(_) = followed(Running::new(command).end()) else { continue };
        let (header, accesses) = read(&trace);
        assert_eq!(accesses.iter().filter(|it| it.file as usize == place(&header, &file)).count(), 2);
        let of = &header.not_seen;
        assert_eq!((of.rings, of.incomplete.len()), (0, 1), "{how}: {of:?}");
    }
}

#[test]
fn a_file_that_gets_the_inode_of_a_deleted_one_has_its_own_accesses() {
    let sandbox = on_disk();
    let (deleted, kept, trace) = (sandbox.at("a"), sandbox.at("b"), sandbox.at("t.trace"));
    let args = ["trace", "record", "-o", &trace, "--", &reader(), "replace", &deleted, &kept];
    let Some(_) = followed(sandbox.run(&args)) else { return };
    let (header, accesses) = read(&trace);
    let of_kept = place(&header, &kept);
    let of_deleted = header.files.iter().position(|it| it.path.ends_with("/a")).expect("it is in the table");
    let count = |file: usize| of(&accesses, file, Via::Call).count();
    assert_eq!((count(of_deleted), count(of_kept)), (1, 256));
    assert_eq!(header.files[of_kept].identity.unwrap().inode, fs::metadata(&kept).unwrap().ino());
}

#[test]
fn a_file_that_was_passed_through_a_socket_is_read_on_by_both_where_the_other_one_stopped() {
    for sandbox in [Some(Sandbox::new()), Sandbox::of_ordinary_user()].into_iter().flatten() {
        let (file, trace) = (sandbox.file("a", BYTES), sandbox.at("t.trace"));
        let args = ["trace", "record", "-o", &trace, "--file", &file, "--", &reader(), "give", &file];
        let Some(_) = followed(sandbox.run(&args)) else { return };
        let (header, accesses) = read(&trace);
        let seen: Vec<(u64, u64)> = accesses.iter().map(|it| (it.offset, it.bytes)).collect();
        let of_child = (0..20).map(|at| (5000 + at * 4096, 4096));
        let expected: Vec<(u64, u64)> = [(0, 5000)].into_iter().chain(of_child).chain([(86_920, 5000)]).collect();
        match header.coverage {
            1.0 => assert_eq!(seen, expected, "{}", header.recorder),
            // A kernel without kcmp(2).
            _ => assert!(seen.iter().all(|it| expected.contains(it)), "{}", header.recorder),
        }
    }
}

#[test]
fn known_touches_of_a_mapping_come_out_page_by_page_in_their_order() {
    let sandbox = on_disk();
    let (file, other) = (sandbox.file("a", BYTES), sandbox.file("b", BYTES));
    let trace = sandbox.at("t.trace");
    for program in ["known", "known-populated"] {
        let named = ["--file", &file, "--file", &other, "--exact-budget", "60s", "--force"];
        let command = ["--", &reader(), program, &file, &other];
        let args = [&["trace", "record", "-o", &trace][..], &named, &command].concat();
        let Some(output) = followed(sandbox.run(&args)) else { return };
        let (header, accesses) = read(&trace);
        let (read, mapped) = (place(&header, &file), place(&header, &other));
        let calls: Vec<(u64, u64)> = of(&accesses, read, Via::Call).map(|it| (it.offset, it.bytes)).collect();
        assert_eq!(calls, known().0);
        if !is_exact(&header.files[mapped]) {
            return;
        }
        output.shows(&["in the order of their first touches"]);
        let touched: Vec<(u64, u64)> = of(&accesses, mapped, Via::Mapping).map(|it| (it.offset, it.bytes)).collect();
        let expected: Vec<(u64, u64)> = known().1.into_iter().map(|page| (page * PAGE, PAGE)).collect();
        assert_eq!(touched, expected, "{program}");
        assert_eq!(header.files[mapped].resident_before, Some(0.0));
        assert_eq!(header.left_out.small_mappings, 1);
    }
}

/// The pages of a file of 4 MiB that are recorded of a program that touches all of them after it has brought some in
/// otherwise, and the file.
fn brought_in(sandbox: &Sandbox, how: &str) -> Option<(Header, TracedFile, Vec<u64>)> {
    let (file, trace) = (sandbox.file("a", BYTES), sandbox.at("t.trace"));
    let args = ["trace", "record", "-o", &trace, "--force", "--file", &file, "--exact-budget", "60s", "--", &reader()];
    followed(sandbox.run(&[&args[..], &["brought-in", how, &file]].concat()))?;
    let (header, accesses) = read(&trace);
    let notes = &header.run.as_ref().unwrap().notes;
    if let Some(failed) = notes.iter().find(|it| it.contains("it ended with")) {
        assert!(how.starts_with("lock"), "{failed}");
        println!("skipped: so much memory cannot be locked here");
        return None;
    }
    let file = header.files[0].clone();
    let pages = of(&accesses, 0, Via::Mapping).map(|it| it.offset / PAGE).collect();
    is_exact(&file).then_some((header, file, pages))
}

#[test]
fn touches_of_pages_that_the_program_has_brought_in_otherwise_are_seen_one_by_one() {
    let sandbox = on_disk();
    let whole: Vec<u64> = (0..1024).collect();
    let ways = [("nothing", 1.0), ("advice", 1.0), ("readahead", 1.0), ("calls", 1.0)];
    // Pages of a small mapping are taken for touched.
    for (how, coverage) in [&ways[..], &[("small-mapping", 0.999024), ("growth", 0.888888)]].concat() {
        let Some((header, file, pages)) = brought_in(&sandbox, how) else { return };
        assert!(pages == whole, "{how}: {} of 1024 pages", pages.len());
        assert_eq!((file.unseen_touches, header.coverage), (0, coverage), "{how}");
    }
}

#[test]
fn a_file_that_is_mapped_again_is_touched_again() {
    let sandbox = on_disk();
    let twice: Vec<u64> = (0..1024).chain(0..1024).collect();
    let Some((header, file, pages)) = brought_in(&sandbox, "mapping") else { return };
    assert!(pages == twice, "{} of 2048 touches", pages.len());
    assert_eq!((file.unseen_touches, header.coverage), (0, 1.0));
}

#[test]
fn touches_that_need_not_have_been_seen_are_counted_and_lower_the_coverage() {
    let sandbox = on_disk();
    // Pages that a mapping has stay, and each fault of the other one maps those around it.
    let Some((header, file, pages)) = brought_in(&sandbox, "mapping-that-stays") else { return };
    assert_eq!(pages.len() as u64 + file.unseen_touches, 2048);
    assert!(file.unseen_touches > 512 && header.coverage < 0.9, "{} {}", file.unseen_touches, header.coverage);
    // So do those that calls have read since: of each 64 KiB, one page faults, and those that are locked at that moment are
    // not mapped around it (`next_uptodate_folio` in mm/filemap.c).
    let Some((header, file, pages)) = brought_in(&sandbox, "mapping-then-calls") else { return };
    assert_eq!(pages.len() as u64 + file.unseen_touches, 1024);
    assert!((64..256).contains(&pages.len()) && header.coverage < 0.3, "{} {}", pages.len(), header.coverage);
    let Some((header, file, pages)) = brought_in(&sandbox, "lock") else { return };
    assert_eq!((pages.len(), file.unseen_touches, header.coverage), (0, 1024, 0.0));
    // Also those that were evicted before the end, by each new mapping or by the program.
    let Some((header, file, pages)) = brought_in(&sandbox, "lock-again") else { return };
    assert_eq!((pages, file.unseen_touches), (vec![0], 2 * 1023), "{}", header.coverage);
    let Some((_, file, pages)) = brought_in(&sandbox, "lock-and-evict") else { return };
    assert_eq!((pages.len(), file.unseen_touches), (0, 1024));
}

#[test]
fn touches_of_memory_that_took_the_place_of_a_mapping_are_no_touches_of_its_file() {
    let sandbox = on_disk();
    let (file, trace) = (sandbox.file("a", BYTES), sandbox.at("t.trace"));
    let args = ["trace", "record", "-o", &trace, "--file", &file, "--exact-budget", "60s", "--", &reader()];
    let Some(_) = followed(sandbox.run(&[&args[..], &["covered", &file]].concat())) else { return };
    let (header, accesses) = read(&trace);
    if is_exact(&header.files[0]) {
        let touched: Vec<u64> = of(&accesses, 0, Via::Mapping).map(|it| it.offset / PAGE).collect();
        assert_eq!(touched, [1, 512, 1023]);
    }
}

#[test]
fn a_program_with_threads_and_signals_runs_as_it_does_alone_while_its_pages_are_seen() {
    let sandbox = on_disk();
    let (file, trace) = (sandbox.write("a", vec![7; BYTES]), sandbox.at("t.trace"));
    let args = ["trace", "record", "-o", &trace, "--file", &file, "--exact-budget", "60s", "--"];
    let Some(_) = followed(sandbox.run(&[&args[..], &[&reader(), "windows", &file, "150"]].concat())) else { return };
    let (header, accesses) = read(&trace);
    let notes = &header.run.as_ref().unwrap().notes;
    assert!(!notes.iter().any(|it| it.contains("it ended with")), "{notes:?}");
    assert_eq!(header.files[0].mappings, 300);
    if is_exact(&header.files[0]) {
        let pages: BTreeSet<u64> = of(&accesses, 0, Via::Mapping).map(|it| it.offset / PAGE).collect();
        let expected: BTreeSet<u64> = (0..300).map(|at| at * 397 % 1024).collect();
        assert_eq!((accesses.len(), pages), (300, expected));
        assert_eq!(accesses.iter().map(|it| it.thread).collect::<BTreeSet<u32>>(), BTreeSet::from([0, 1]));
    }
}

#[test]
fn when_the_time_for_pages_is_over_the_trace_says_so() {
    let sandbox = on_disk();
    let (file, other, trace) = (sandbox.file("a", BYTES), sandbox.file("b", BYTES), sandbox.at("t.trace"));
    let line = format!("{} known {file} {other}; sleep 2; {} known {file} {other}", reader(), reader());
    let args = ["trace", "record", "-o", &trace, "--file", &other, "--exact-budget", "1s", "--", "sh", "-c", &line];
    let Some(_) = followed(sandbox.run(&args)) else { return };
    let (header, accesses) = read(&trace);
    match &header.files[0].inexact {
        Some(Inexact::BudgetOver { budget_ms: 1000 }) => assert!(accesses.len() <= 64),
        why => assert!(matches!(why, Some(Inexact::NoFaults { .. } | Inexact::NotCold { .. })), "{why:?}"),
    }
    assert_eq!(header.files[0].exact, Exact::None);
}

#[test]
fn the_pages_of_an_ordinary_users_mapping_are_seen_too_or_it_is_said_why_not() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let (file, other) = (sandbox.file("a", BYTES), sandbox.file("b", BYTES));
    let trace = sandbox.at("t.trace");
    let args = ["trace", "record", "-o", &trace, "--file", &other, "--exact-budget", "60s", "--"];
    let Some(_) = followed(sandbox.run(&[&args[..], &[&reader(), "known", &file, &other]].concat())) else { return };
    let (header, accesses) = read(&trace);
    if is_exact(&header.files[0]) {
        let touched: Vec<u64> = of(&accesses, 0, Via::Mapping).map(|it| it.offset / PAGE).collect();
        assert_eq!(touched, known().1);
    }
}

#[test]
fn without_a_budget_for_pages_a_mapping_is_only_counted() {
    let sandbox = Sandbox::new();
    let (file, other) = (sandbox.file("a", BYTES), sandbox.file("b", BYTES));
    let trace = sandbox.at("t.trace");
    let args = ["trace", "record", "-o", &trace, "--file", &other, "--", &reader(), "known", &file, &other];
    let Some(output) = followed(sandbox.run(&args)) else { return };
    output.shows(&["0 accesses of 1 file", "mapped 2 times", "not among the accesses"]);
    let (header, accesses) = read(&trace);
    assert_eq!((accesses.len(), header.files[0].mappings, header.files[0].exact), (0, 2, Exact::None));
}

#[test]
fn what_was_recorded_is_replayed() {
    let sandbox = Sandbox::new();
    let (file, other) = (sandbox.file("a", BYTES), sandbox.file("b", BYTES));
    let trace = sandbox.at("t.trace");
    let args = ["trace", "record", "-o", &trace, "--", &reader(), "known", &file, &other];
    let Some(_) = followed(sandbox.run(&args)) else { return };
    let run = ["run", &file, "--trace", &trace, "--state=cached", "--method=pread,mmap", "--rounds=2", "--budget=44s"];
    let output = sandbox.run(&run);
    output.sane();
    output.shows(&["replay of 64 accesses"]);
}

/// The pages that sqlite3 reaches of a database, through calls or through a mapping.
fn pages_of_points(sandbox: &Sandbox, database: &str, setup: &str) -> Option<(TracedFile, BTreeSet<u64>)> {
    let trace = sandbox.at("sqlite.trace");
    let points = sandbox.at("points.sql");
    let args = ["trace", "record", "-o", &trace, "--force", "--file", database, "--exact-budget", "60s", "--"];
    let command = ["sqlite3", "-cmd", setup, database, &format!(".read {points}")];
    followed(sandbox.run(&[&args[..], &command].concat()))?;
    let (header, accesses) = read(&trace);
    let pages = accesses.iter().flat_map(|it| it.offset / PAGE..(it.offset + it.bytes).div_ceil(PAGE)).collect();
    let file = header.files[0].clone();
    // Its first reads are calls; what they read ahead is not taken for touched.
    assert!(file.exact == Exact::None || header.coverage == 1.0, "{} {}", header.coverage, file.unseen_touches);
    Some((file, pages))
}

#[test]
fn a_database_is_seen_to_reach_the_same_pages_through_calls_and_through_a_mapping() {
    let sandbox = on_disk();
    let database = sandbox.at("t.db");
    let rows = "create table t(id integer primary key, body blob); with recursive n(i) as (select 1 union all select i + 1 \
                from n where i < 6000) insert into t select i, randomblob(2000) from n;";
    let made = Command::new("sqlite3").args([&database, rows]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !made.is_ok_and(|it| it.success()) {
        return println!("skipped: no sqlite3 here");
    }
    let points = (0..400).map(|at| format!("select length(body) from t where id = {};\n", 1 + at * 7919 % 6000));
    sandbox.write("points.sql", points.collect::<String>());
    let Some((_, by_calls)) = pages_of_points(&sandbox, &database, "PRAGMA mmap_size=0") else { return };
    let mapping = pages_of_points(&sandbox, &database, "PRAGMA mmap_size=1073741824");
    let Some((file, by_mapping)) = mapping else { return };
    if file.mappings == 0 {
        return println!("skipped: this sqlite3 maps nothing");
    }
    if !is_exact(&file) {
        return;
    }
    let both = by_calls.intersection(&by_mapping).count() as f64;
    let (recall, precision) = (both / by_calls.len() as f64, both / by_mapping.len() as f64);
    println!(
        "{} pages by calls, {} by a mapping: recall {recall}, precision {precision}",
        by_calls.len(),
        by_mapping.len()
    );
    assert!(recall >= 0.99 && precision >= 0.99, "recall {recall}, precision {precision}");
}

#[test]
fn a_program_that_goes_on_is_ended_after_the_time_and_what_it_did_is_kept() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("a", BYTES);
    let trace = sandbox.at("t.trace");
    let line = format!("{} read {file} 4096 10; sleep 3141", reader());
    let args = ["trace", "record", "-o", &trace, "--file", &file, "--for", "1s", "--", "sh", "-c", &line];
    let Some(output) = followed(sandbox.run(&args)) else { return };
    let (header, accesses) = read(&trace);
    let is_cut = header.run.unwrap().notes.iter().any(|it| it.contains("its time was over"));
    // On a busy machine the shell may not have come that far.
    assert!(is_cut && accesses.len() <= 10, "{output:?}");
    assert!(!anybody_runs("3141"));
}

#[test]
fn ctrl_c_ends_the_command_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("a", BYTES);
    let trace = sandbox.at("t.trace");
    let line = "sleep 3142 & sleep 3142";
    let mut running = sandbox.start(&["trace", "record", "-o", &trace, "--", "sh", "-c", line]);
    if running.until(|| is_there("3142").then_some(())).is_none() {
        return drop(followed(running.end()));
    }
    running.signal(libc::SIGINT);
    running.end().refused(130, &["interrupted"]);
    assert!(!anybody_runs("3142"));
    assert_eq!(sandbox.left(), [Path::new(&file).file_name().unwrap().to_str().unwrap()]);
}

#[test]
fn a_command_that_reads_none_of_the_files_and_one_that_cannot_be_started_are_refused() {
    let sandbox = Sandbox::new();
    let (file, trace) = (sandbox.file("a", BYTES), sandbox.at("t.trace"));
    let record = |more: &[&str]| sandbox.run(&[&["trace", "record", "-o", &trace][..], more].concat());
    let unread = record(&["--file", &file, "--", "true"]);
    if unread.stderr.contains("it cannot be watched") {
        return println!("skipped: {}", unread.stderr.trim_end());
    }
    unread.refused(1, &["neither read nor mapped"]);
    record(&["--", "/no/such/program"]).refused(1, &["/no/such/program", "cannot be started"]);
    record(&["--file", "/no/such/file", "--", "true"]).refused(1, &["/no/such/file"]);
    record(&["--exact-budget=9s", "--", "true"]).expect(2).says(&["--file"]);
    record(&[]).expect(2).says(&["COMMAND"]);
    assert_eq!(sandbox.left(), ["a"]);
}

#[test]
fn a_trace_never_goes_over_a_file_that_the_command_reads() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("a", BYTES);
    let before = fs::read(&file).unwrap();
    let command = [reader(), "read".into(), file.clone(), "4096".into(), "10".into()];
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let record = |more: &[&str]| {
        sandbox.run(&[&["trace", "record", "-o", &file, "--force"][..], more, &["--"], &command].concat())
    };
    record(&["--file", &file]).refused(2, &["it is never changed"]);
    let unnamed = record(&[]);
    if !unnamed.stderr.contains("it cannot be watched") {
        unnamed.refused(2, &["it is never changed"]);
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    // Nor over one that is in no trace because another one was asked for.
    let other = sandbox.file("b", BYTES);
    let of_other =
        sandbox.run(&["trace", "record", "-o", &file, "--force", "--file", &other, "--", "cat", &other, &file]);
    if !of_other.stderr.contains("it cannot be watched") {
        of_other.refused(2, &["it is never changed"]);
    }
    assert_eq!(fs::read(&file).unwrap(), before);
}
