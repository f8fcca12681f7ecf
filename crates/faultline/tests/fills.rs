//! How the page cache came to hold the file: a part of the condition.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    thread,
    time::Duration,
};

use schema::{
    Bytes, Fill, Record, Skip, Span, State, Workload,
    findings::{Document, Verdict},
    record::{FilledRange, Outcome},
};

use crate::support::Sandbox;

const FILLS: &str = "--fill=sequential,random,faults,written=64KiB";

#[test]
fn passes_of_every_fill_are_conditions_of_their_own() {
    for sandbox in [Some(Sandbox::new()), Sandbox::of_ordinary_user()].into_iter().flatten() {
        let file = sandbox.file("file", 1 << 20);
        let output = sandbox.run_short(&file, &[FILLS, "--json", "--state=cached,mapped"]);
        let Document { record, .. } = output.document();
        assert_eq!(record.conditions.len(), 8);
        let expected: Vec<Fill> =
            ["sequential", "random", "faults", "written=64KiB"].map(|it| it.parse().unwrap()).into();
        for fills in record.conditions.chunks(4) {
            assert_eq!(fills.iter().filter_map(|it| it.fill()).collect::<Vec<Fill>>(), expected);
        }
        if record.cells.iter().any(|it| matches!(it.skipped, Some(Skip::Impossible(_)))) {
            println!("skipped: files in the temporary folder cannot be evicted");
            continue;
        }
        // The kernel may take pages back during a pass, which is invalid then.
        let (valid, other): (Vec<&Outcome>, Vec<&Outcome>) =
            record.samples.iter().map(|it| &it.outcome).partition(|it| matches!(it, Outcome::Ok { .. }));
        assert!(
            other.iter().all(|it| matches!(it, Outcome::Invalid { .. })) && valid.len() > 2 * other.len(),
            "{other:?}"
        );
        for (at, cell) in record.cells.iter().enumerate() {
            // A busy machine may have no time for the last of them.
            let passes = record.samples.iter().filter(|it| it.cell == at).count();
            assert!(passes == 1 || cell.skipped == Some(Skip::Untried), "{cell:?}: {passes} passes");
        }
        for fill in expected {
            let made: Vec<&FilledRange> = record.fills.iter().filter(|it| it.fill == Some(fill)).collect();
            assert!(!made.is_empty(), "{fill}");
            for looked in made.into_iter().filter_map(|it| it.looked_again.as_ref()) {
                assert!(looked.value().is_none_or(|it| it.is_the_fill), "{fill}: {looked:?}");
            }
        }
        assert_eq!(sandbox.left(), ["file"], "a copy leaves nothing behind");
    }
}

#[test]
fn a_fill_without_a_state_that_lives_in_the_page_cache_is_refused() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    sandbox.run_short(&file, &["--fill=random", "--state=cold"]).refused(2, &["--fill"]);
    // No other state than the one that was asked for is measured in its place.
    let asked = ["run", &file, "-e", "fills", "--block=64B", "--budget=1s"];
    sandbox.run(&[&asked[..], &["--state=cold"]].concat()).refused(2, &["\"fills\"", "--state cold"]);
    // Nor is a part of what was asked for.
    sandbox
        .run(&[&asked[..], &["--state=cached,cold,as-is"]].concat())
        .refused(2, &["\"fills\"", "--state cold,as-is"]);
    for (wrong, hint) in [("--fill=randum", "\"random\""), ("--fill=written", "written=128KiB")] {
        let output = sandbox.run_short(&file, &[wrong]).expect(2);
        assert!(output.stderr.contains(hint), "{}", output.stderr);
    }
}

#[test]
fn a_fill_that_needs_a_copy_is_neither_offered_for_commands_nor_taken() {
    let sandbox = Sandbox::new();
    for command in ["ab", "advise"] {
        let help = sandbox.run(&[command, "--help"]).expect(0).stdout;
        assert!(help.contains("huge-pages") && !help.contains("written="), "{help}");
        for fill in ["written=64KiB", "read-ahead=1MiB"] {
            sandbox.run(&[command, "--fill", fill, "--", "true"]).expect(2).says(&["--fill", "copy"]);
        }
    }
    let help = sandbox.run(&["run", "--help"]).expect(0).stdout;
    assert!(help.contains("written=") && help.contains("read-ahead="), "{help}");
}

#[test]
fn a_copy_in_a_folder_that_may_not_be_written_to_is_skipped_with_the_reason() {
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let closed = sandbox.folder("closed");
    let file = sandbox.write("closed/file", vec![7; 1 << 20]);
    let mode = std::os::unix::fs::PermissionsExt::from_mode;
    std::fs::set_permissions(&closed, mode(0o555)).unwrap();
    let output = sandbox.run_short(&file, &["--fill=sequential,written=64KiB", "--json"]);
    std::fs::set_permissions(&closed, mode(0o755)).unwrap();
    let Document { record, .. } = output.document();
    for cell in &record.cells {
        match record.conditions[cell.condition].fill() {
            Some(Fill::Written(_)) => assert!(matches!(cell.skipped, Some(Skip::Impossible(_))), "{cell:?}"),
            _ => assert!(!matches!(cell.skipped, Some(Skip::Unavailable(_))), "{cell:?}"),
        }
    }
}

#[test]
fn a_file_is_measured_as_it_was_found_before_anything_evicts_it() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4 << 20);
    let output = sandbox.run_short(&file, &["--fill=found,random", "--json"]);
    let Document { record, .. } = output.document();
    if record.environment.root && record.fills.is_empty() {
        println!("skipped: the residency of files in the temporary folder is not shown");
        return;
    }
    let fill_of = |cell: usize| record.conditions[record.cells[cell].condition].fill();
    let is_lost =
        |it: &schema::record::Cell| record.conditions[it.condition].fill() == Some(Fill::Found) && it.skipped.is_some();
    if let Some(lost) = record.cells.iter().find(|it| is_lost(it)) {
        // A reclaim scheme, or a busy machine, may have taken a page of it before the run began.
        return println!("skipped: {:?}", lost.skipped);
    }
    let first_other = record.samples.iter().position(|it| fill_of(it.cell) != Some(Fill::Found)).unwrap();
    let (found, others) = record.samples.split_at(first_other);
    assert!(found.iter().all(|it| matches!(it.outcome, Outcome::Ok { .. })) && found.len() == 3, "{found:?}");
    assert!(others.iter().all(|it| fill_of(it.cell) == Some(Fill::Random)));
}

/// While a page of the file leaves the page cache again and again, as a reclaim scheme takes it on some machines.
fn losing_a_page(fill: &str) -> Record {
    let sandbox = Sandbox::new();
    let path = sandbox.at("file");
    let mut written = fs::File::create(&path).unwrap();
    // In folios of a page, so that one alone can be evicted.
    (0..1024).for_each(|page: u64| written.write_all(&[page as u8; 4096]).unwrap());
    written.sync_all().unwrap();
    let few = ["--workload=scan", "--block=64KiB", "--method=pread", "--rounds=40", "--json"];
    let fill = format!("--fill={fill}");
    let mut running = sandbox.start(&[&["run", &path, "--state=cached", &fill, "--budget=44s"], &few[..]].concat());
    let workers = format!("/proc/{0}/task/{0}/children", running.pid());
    // The file was looked at before the first worker starts.
    running.until(|| fs::read_to_string(&workers).ok().filter(|it| !it.is_empty()));
    let file = fs::File::open(&path).unwrap();
    while !running.has_ended() {
        sys::cache::evict(&file, 7 * 4096, 4096).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    running.end().document().record
}

#[test]
fn a_page_that_leaves_the_page_cache_costs_a_file_as_it_was_found_a_pass_and_not_the_run() {
    let record = losing_a_page("found");
    if record.samples.is_empty() {
        println!("skipped: the file was not found in the page cache: {:?}", record.cells[0].skipped);
        return;
    }
    let failed: Vec<_> = record.samples.iter().filter(|it| matches!(it.outcome, Outcome::Failed { .. })).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn a_page_that_leaves_the_page_cache_is_read_again_instead_of_all_pages() {
    let record = losing_a_page("random");
    let fills = record.fills.iter().filter(|it| it.fill == Some(Fill::Random)).count();
    // Where a reclaim scheme takes many at once, it has to be made anew.
    assert!((1..=3).contains(&fills), "filled {fills} times for {} passes", record.samples.len());
}

#[test]
fn what_is_measured_as_it_was_found_alone_is_still_in_the_page_cache_afterwards() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4 << 20);
    let resident = || {
        let shown = sandbox.run(&["inspect", &file, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
        json["file"]["residency"]["resident"].as_u64()
    };
    let Some(before) = resident().filter(|it| *it == 1024) else {
        println!("skipped: the residency of files in the temporary folder is not shown");
        return;
    };
    let small = ["--workload=random", "--block=64KiB", "--method=pread,mmap", "--rounds=2", "--quiet"];
    for as_found in [&["--state=cached", "--fill=found"][..], &["--state=as-is"]] {
        // From 45 s on unit costs are measured where that evicts nothing.
        sandbox.run(&[&["run", &file, "--budget=45s"], as_found, &small].concat());
        // A reclaim scheme takes single pages of what was not accessed for a minute.
        let after = resident();
        assert!(after.is_some_and(|it| it >= before - before / 100), "{as_found:?}: {after:?} of {before}");
    }
}

#[test]
fn a_file_that_was_not_in_the_page_cache_is_not_measured_as_found() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4 << 20);
    // A cold run leaves it evicted, or partly there.
    let evicting = sandbox.run_short(&file, &["--state=cold", "--method=direct", "--json"]).document();
    if evicting.record.samples.iter().any(|it| !matches!(it.outcome, Outcome::Ok { .. })) {
        println!("skipped: files in the temporary folder cannot be made cold, or have no O_DIRECT");
        return;
    }
    let Document { record, .. } = sandbox.run_short(&file, &["--fill=found,sequential", "--json"]).document();
    for cell in &record.cells {
        match record.conditions[cell.condition].fill() {
            Some(Fill::Found) => assert!(matches!(cell.skipped, Some(Skip::Impossible(_))), "{cell:?}"),
            _ => assert_eq!(cell.skipped, None),
        }
    }
}

#[test]
fn a_file_that_is_written_with_a_fill_holds_the_folios_of_that_fill_before_each_pass() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("here");
    let text = r#"
title = "Writing"
[[compare]]
workload = "overwrite"
block = "4 KiB"
state = "cached"
fill = "written=4KiB"
range = { bytes = "1 MiB" }
ops = 256
arms = ["pwrite", "mmap"]
"#;
    let experiment = sandbox.write("writes.toml", text);
    let output = sandbox.run_made(&folder, &experiment, &["--size=2MiB", "--rounds=2"]);
    let Document { record, .. } = output.document();
    let fill = Fill::Written(4096);
    let made = record.fills.iter().filter(|it| it.fill == Some(fill));
    if record.cells.iter().any(|it| matches!(it.skipped, Some(Skip::Impossible(_)))) {
        println!("skipped: files in the temporary folder cannot be evicted");
        return;
    }
    assert!(record.cells.iter().all(|it| it.skipped.is_none()), "{:?}", record.cells);
    // Reading back, after each pass, leaves larger folios, and writing to pages that are there would keep them.
    let mut ranges: Vec<Span> = made.clone().map(|it| it.range).collect();
    ranges.dedup();
    assert_eq!(ranges.len(), made.clone().count(), "what is made anew before each pass is noted once");
    for orders in made.filter_map(|it| it.folio_orders.value()) {
        assert!(orders.iter().all(|it| it.order == 0), "{orders:?}");
    }
}

#[test]
fn a_file_of_somebody_else_that_is_not_in_the_page_cache_is_not_measured_as_found() {
    if !crate::support::is_root() {
        println!("skipped: only root can make a file of another user");
        return;
    }
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    let file = sandbox.file("file", 1 << 20);
    std::os::unix::fs::chown(&file, Some(0), Some(0)).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    sys::cache::evict(&std::fs::File::open(&file).unwrap(), 0, 0).unwrap();
    // To this user mincore(2) calls every page resident.
    let Document { record, .. } = sandbox.run_short(&file, &["--fill=found", "--json"]).document();
    assert!(record.samples.is_empty(), "{:?}", record.samples);
    assert!(record.cells.iter().all(|it| matches!(it.skipped, Some(Skip::Impossible(_)))), "{:?}", record.cells);
}

#[test]
fn a_file_in_memory_is_not_said_to_have_been_evicted() {
    let memory = std::path::Path::new("/dev/shm");
    if tempfile::tempdir_in(memory).is_err() {
        println!("skipped: there is no /dev/shm to write to");
        return;
    }
    let sandbox = Sandbox::on(memory);
    let file = sandbox.file("file", 1 << 20);
    let Document { record, .. } = sandbox.run_short(&file, &["--state=cached", "--json"]).document();
    let made: Vec<&str> =
        record.fills.iter().filter(|it| it.fill == Some(Fill::Sequential)).map(|it| it.method.as_str()).collect();
    assert!(!made.is_empty() && made.iter().all(|it| *it != Fill::Sequential.about()), "{made:?}");
}

#[test]
fn a_survey_with_options_measures_no_cell_twice_and_every_cell_that_was_asked_for() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let all = ["64 B", "4 KiB", "64 KiB", "1 MiB"];
    for (options, states, blocks) in [
        (&["--state=cached"][..], &[State::Cached][..], &all[..]),
        (&["--state=locked"], &[State::Locked], &all),
        (&["--state=cold,mapped"], &[State::Cold, State::Mapped], &all),
        (&["--state=cold", "--block=4KiB"], &[State::Cold], &["4 KiB"]),
        (&["--block=64KiB", "--fill=random", "--state=cached,locked"], &[State::Cached, State::Locked], &["64 KiB"]),
    ] {
        let asked = [&["run", &file, "--dry-run", "--json"][..], options].concat();
        let text = sandbox.run(&asked).expect(0).stdout;
        let plan: schema::plan::PlannedRun = serde_json::from_str(&text).unwrap();
        let mut seen: Vec<(State, Workload, u64, Option<Fill>)> = Vec::new();
        for planned in &plan.conditions {
            let it = &planned.condition;
            seen.push((it.state, it.workload, it.block_bytes, it.fill()));
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count, "{options:?}: {seen:?}");
        for (state, block) in states.iter().flat_map(|state| blocks.iter().map(move |block| (*state, *block))) {
            let bytes = block.parse::<Bytes>().unwrap().0;
            assert!(seen.iter().any(|it| (it.0, it.2) == (state, bytes)), "{options:?}: {state} {block}");
        }
        assert!(seen.iter().all(|it| states.contains(&it.0)), "{options:?}");
    }
}

/// Where the window of each round lies, the same one for all arms.
fn window_of_each_round(record: &Record) -> Option<Vec<Option<u64>>> {
    let mut windows: BTreeMap<u32, BTreeSet<Option<u64>>> = BTreeMap::new();
    for sample in record.samples.iter().filter(|it| matches!(it.outcome, Outcome::Ok { .. })) {
        windows.entry(sample.round).or_default().insert(sample.window_offset);
    }
    assert!(windows.values().all(|it| it.len() == 1), "{windows:?}");
    if windows.len() < 2 {
        println!("skipped: a busy machine left no time for a second round");
        return None;
    }
    Some(windows.into_values().flatten().collect())
}

#[test]
fn writes_to_a_part_of_the_file_come_to_another_part_in_each_round_and_all_arms_to_the_same() {
    let sandbox = Sandbox::new();
    let text = "title = \"t\"\n[[compare]]\nworkload = \"update\"\nblock = \"1 KiB\"\nstate = \"cached\"\n\
                durability = \"sync-each\"\narms = [\"write\", \"mmap+window=per-block\"]\n";
    std::fs::write(sandbox.path().join("update.toml"), text).unwrap();
    let typed = ["run", ".", "-e", "update.toml", "--size=16MiB", "--rounds=3", "--budget=4s", "--json"];
    let Document { record, findings, .. } = sandbox.run(&typed).document();
    let Some(windows) = window_of_each_round(&record) else { return };
    assert_eq!(windows.iter().collect::<BTreeSet<_>>().len(), windows.len(), "{windows:?}");
    // The file is filled where a window lies, so that it lies in the folios of its place.
    let filled = record.fills.iter().map(|it| it.range.end()).max();
    assert!(filled.is_some_and(|it| it > record.conditions[0].range.end()), "{:?}", record.fills);
    assert!(findings.comparisons.iter().all(|it| it.verdict != Verdict::NotComparable), "{:#?}", findings.comparisons);
}

#[test]
fn nothing_is_tried_outside_of_a_range_that_is_given() {
    let sandbox = Sandbox::new();
    for (name, workload) in [("scan", "scan"), ("overwrite", "overwrite")] {
        let text = format!(
            "title = \"t\"\n[[compare]]\nworkload = {workload:?}\nblock = \"64 KiB\"\nstate = \"cached\"\n\
             range = {{ offset = \"16 MiB\", bytes = \"8 MiB\" }}\narms = [\"{}\", \"mmap\"]\n",
            if workload == "scan" { "pread" } else { "pwrite" }
        );
        let file = format!("{name}.toml");
        std::fs::write(sandbox.path().join(&file), text).unwrap();
        let typed = ["run", ".", "-e", &file, "--size=32MiB", "--rounds=2", "--budget=20s", "--json"];
        let record = sandbox.run(&typed).document().record;
        assert!(!record.fills.is_empty(), "{name}");
        for filled in &record.fills {
            // A trial elsewhere would have been brought in too.
            assert!(filled.range.offset == 16 << 20 && filled.range.end() <= 24 << 20, "{name}: {:?}", filled.range);
        }
        assert!(record.samples.iter().all(|it| it.window_offset.is_none()), "{name}");
    }
}

#[test]
fn scans_of_a_part_of_the_file_come_to_another_part_in_each_round_and_all_arms_to_the_same() {
    let sandbox = Sandbox::new();
    // Larger than the largest pass that is made of it.
    let file = sandbox.file("file", 160 << 20);
    let typed = ["run", &file, "--state=cached", "--workload=scan", "--block=64KiB", "--method=read,mmap"];
    let Document { record, findings, .. } =
        sandbox.run(&[&typed[..], &["--rounds=4", "--budget=5s", "--json"]].concat()).document();
    let Some(windows) = window_of_each_round(&record) else { return };
    let places: BTreeSet<Option<u64>> = windows.iter().copied().collect();
    // A busy machine may make passes that leave few places in the file, or one.
    let (pass, file) = (record.conditions[0].range.bytes, record.target.bytes);
    let least = match pass {
        // Places lie 2 MiB apart.
        _ if pass + (2 << 20) > file => 1,
        _ if pass > file / 2 => 2,
        _ => windows.len(),
    };
    assert!((least..=windows.len()).contains(&places.len()), "{pass} of {file}: {windows:?}");
    assert!(findings.comparisons.iter().all(|it| it.verdict != Verdict::NotComparable), "{:#?}", findings.comparisons);
}
