//! Published studies and claims: listed, planned, run, refused; and the ledger over several runs.

use std::{fs, path::Path};

use schema::{
    Reading,
    findings::{ClaimVerdict, Document},
    reason::NotInRun,
    replaced::Replaced,
};
use serde_json::Value;

use crate::support::{Running, Sandbox};

#[test]
fn without_a_name_the_studies_are_listed_with_their_source_and_what_they_need() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["reproduce"]).expect(0);
    let listed = sandbox.run(&["list", "studies"]).expect(0);
    for (name, text) in schema::builtin::STUDIES {
        let study = schema::Experiment::parse(name, text).unwrap();
        for list in [&output.stdout, &listed.stdout] {
            assert!(list.contains(name) && list.contains(&study.title), "{list}");
        }
    }
    for words in ["source", "question", "needs", "claims", "faultline reproduce NAME"] {
        assert!(output.stdout.contains(words), "{words:?} is not in {}", output.stdout);
    }
    assert_eq!(sandbox.left(), [""; 0]);
    assert!(!sandbox.data().exists());
}

#[test]
fn an_unknown_study_is_answered_with_the_nearest_name() {
    let sandbox = Sandbox::new();
    sandbox.run(&["reproduce", "dilon-2001"]).refused(2, &["\"dilon-2001\"", "did you mean \"dillon-2001\"?"]);
    sandbox.run(&["reproduce", "dillon-2001", "zzzzzzzz"]).refused(2, &["\"zzzzzzzz\"", "dillon-2001", "all"]);
    sandbox.run(&["claims", "--study", "dilon-2001"]).refused(2, &["did you mean \"dillon-2001\"?"]);
    sandbox.run(&["claims", "--study", "dillon-2001"]).expect(3).shows(&["not run yet"]);
    assert!(!sandbox.data().exists());
}

#[test]
fn a_dry_run_of_every_study_plans_both_forms_and_writes_nothing() {
    let sandbox = Sandbox::new();
    for (name, _) in schema::builtin::STUDIES {
        for more in [&[][..], &["--full"]] {
            let output = sandbox.run(&[&["reproduce", name, "--dry-run"], more].concat());
            output.sane();
            // At the published size the test file may not fit here.
            assert!(output.code() == Some(0) || output.code() == Some(1) && !more.is_empty(), "{output:#?}");
            for words in ["as published", "corrected", "removed at the end"] {
                assert!(output.stdout.contains(words), "{words:?} is not in {}", output.stdout);
            }
        }
    }
    sandbox.run(&["reproduce", "all", "--dry-run"]).expect(0);
    assert_eq!(sandbox.left(), [""; 0]);
    assert!(!sandbox.data().exists());
}

#[test]
fn a_document_is_of_one_study_and_a_state_is_one_that_the_study_has() {
    let sandbox = Sandbox::new();
    sandbox.run(&["reproduce", "all", "--json"]).refused(2, &["--json takes one study"]);
    sandbox.run(&["reproduce", "dillon-2001", "random-4k-2021", "--csv=x"]).refused(2, &["--csv takes one study"]);
    for states in ["--state=locked", "--state=cached,locked"] {
        sandbox.run(&["reproduce", "random-4k-2021", states]).refused(2, &["state locked", "has cached"]);
    }
    sandbox.run(&["reproduce", "dillon-2001", "--dir=/no/such/folder"]).refused(2, &["/no/such/folder is no folder"]);
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn a_disk_without_room_for_a_study_is_refused_with_both_numbers_and_nothing_is_written() {
    // A folder on every Linux, on a file system that has no room at all.
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["reproduce", "dillon-2001", "random-4k-2021", "--full", "--dir=/proc"]);
    output.refused(1, &["random-4k-2021", "8 GiB", "8589934592 bytes", "/proc has 0 B (0 bytes) free", "--dir"]);
    assert!(!sandbox.data().exists());
}

#[test]
fn doctor_says_before_a_run_which_claims_can_be_decided_and_what_the_others_need() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let output = sandbox.run(&["doctor", &folder, "--for=cse221-2003"]).expect(0);
    for words in ["cse221-2003", "claims can be decided here", "can be decided", "d-synced"] {
        assert!(output.stdout.contains(words), "{words:?} is not in {}", output.stdout);
    }
    // Any kernel lacks something of all of them together, or nothing; each claim is listed either way.
    let output = sandbox.run(&["doctor", &folder, "--for=all"]).expect(0);
    for (name, text) in schema::builtin::STUDIES {
        assert!(output.stdout.contains(name), "{}", output.stdout);
        let claims = schema::Experiment::parse(name, text).unwrap().claims;
        assert!(claims.iter().all(|it| output.stdout.contains(&it.id)), "{}", output.stdout);
    }
    sandbox.run(&["doctor", &folder, "--for=dilon-2001"]).refused(2, &["did you mean \"dillon-2001\"?"]);
    let file = sandbox.file("file", 4096);
    sandbox.run(&["doctor", &file, "--for=dillon-2001"]).refused(2, &["is no folder"]);
    sandbox.run(&["doctor", "/proc", "--for=dillon-2001"]).sane();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(sandbox.noted(), 0);
}

#[test]
fn a_study_has_the_budget_that_its_claims_need_and_a_minute_where_it_is_to_be_quick() {
    let sandbox = Sandbox::new();
    for (name, text) in schema::builtin::STUDIES {
        let own = schema::Experiment::parse(name, text).unwrap().study.unwrap().budget_s.unwrap();
        assert!((60..=240).contains(&own), "{name}: {own} s");
        let expected = |more: &[&str]| -> Value {
            let output = sandbox.run(&[&["reproduce", name, "--dry-run", "--json"], more].concat()).expect(0);
            serde_json::from_str::<Value>(&output.stdout).unwrap()["expected_s"].clone()
        };
        assert_eq!(expected(&[]), f64::from(own));
        assert_eq!(expected(&["--quick"]), 60.0);
    }
    assert_eq!(sandbox.run(&["reproduce", "dillon-2001", "--quick", "--full"]).code(), Some(2));
    // A document is of a run.
    assert_eq!(sandbox.run(&["reproduce", "--json"]).expect(2).stdout, "");
}

/// Claims that any machine can answer, and one that none can.
const MINE: &str = r#"
title = "My claims"
source = "A colleague, over lunch"
[[compare]]
name = "small"
workload = "scan"
block = "64 KiB"
state = "as-is"
arms = ["read", "mmap"]
[[claim]]
id = "fast"
says = "Mapping is faster"
compare = "small"
arm = "mmap"
than = "read"
expect = "lower"
ratio = 2.0
[[claim]]
id = "few"
says = "It faults less than once a page"
compare = "small"
arm = "mmap"
metric = "minor-faults"
expect = { at-most = 1e6 }
[[claim]]
id = "never"
says = "It is prettier"
not_testable = "beauty is not measured"
"#;

#[test]
fn a_claim_is_decided_by_no_condition_that_options_measure_instead_of_its_own() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let mine = sandbox.write("mine.toml", MINE);
    let run = |option: &str| {
        let options = ["run", &file, "-e", &mine, option, "--rounds=1", "--budget=44s", "--json"];
        let document = sandbox.run(&options).document();
        let few = verdict(&document, "few");
        (few.verdict, few.reasons.clone(), document.record.experiment.written.len())
    };
    let (verdict, reasons, written) = run("--block=4KiB");
    let values = vec![Replaced { measured: "4 KiB".into(), written: vec!["64 KiB".into()] }];
    assert_eq!((verdict, written), (ClaimVerdict::NotTestableHere, 1));
    assert_eq!(reasons, [NotInRun::Replaced { values }.into()]);
    let (verdict, _, written) = run("--block=64KiB");
    assert_eq!((verdict != ClaimVerdict::NotTestableHere, written), (true, 0));
}

/// A claim whose answer is a scenario's, and needs a process that is killed.
const CUT: &str = r#"
title = "What truncation does"
[[compare]]
workload = "scan"
block = "64 KiB"
state = "as-is"
arms = ["read"]
[[claim]]
id = "cut"
says = "A mapping of a file that got shorter kills its reader, where read returns 0"
scenario = "truncated-mapping"
"#;

#[test]
fn a_claim_may_be_answered_by_a_scenario_with_its_evidence() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let before = std::fs::read(&file).unwrap();
    let cut = sandbox.write("cut.toml", CUT);
    let document = sandbox.run(&["run", &file, "-e", &cut, "--rounds=1", "--budget=44s", "--json"]).document();
    let claim = verdict(&document, "cut");
    match claim.verdict {
        // A folder whose file system has no files without a name.
        ClaimVerdict::NotTestableHere => {
            println!("skipped: {}", report::words::reasons(&claim.reasons).unwrap_or_default())
        }
        verdict => {
            assert_eq!(verdict, ClaimVerdict::Holds, "{}", report::words::reasons(&claim.reasons).unwrap_or_default());
            assert!(
                report::words::reasons(&claim.reasons).unwrap_or_default().contains("SIGBUS")
                    && report::words::reasons(&claim.reasons).unwrap_or_default().contains("returned 0"),
                "{}",
                report::words::reasons(&claim.reasons).unwrap_or_default()
            );
        }
    }
    assert_eq!(std::fs::read(&file).unwrap(), before, "the target is never written");
    assert_eq!(sandbox.left(), ["cut.toml", "file"]);
}

/// A claim whose scenario reads the file, and passes that bring in nothing of it.
const AROUND: &str = r#"
title = "Around the page cache"
[[compare]]
workload = "scan"
block = "64 KiB"
state = "as-is"
arms = ["direct"]
[[claim]]
id = "space"
says = "Mapping everything uses up the address space"
scenario = "address-space"
"#;

#[test]
fn a_file_is_measured_as_it_was_found_before_a_scenario_reads_it() {
    let sandbox = Sandbox::on(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let path = sandbox.file("file", 32 << 20);
    let file = fs::File::open(&path).unwrap();
    // Pages in another processor's batch stay for a while.
    let is_evicted = |_| {
        sys::cache::evict(&file, 0, 0).unwrap();
        sys::cache::cachestat(&file, 0, 32 << 20).is_ok_and(|it| it.cached == 0)
    };
    if !(0..100).any(is_evicted) {
        return println!("skipped: this file cannot be evicted, or nothing says that it was");
    }
    let around = sandbox.write("around.toml", AROUND);
    let record = sandbox.run(&["run", &path, "-e", &around, "--rounds=2", "--budget=44s", "--json"]).document().record;
    assert!(record.scenarios.contains_key("address-space"), "{:?}", record.scenarios);
    for sample in &record.samples {
        match &sample.resident_before {
            Reading::Value(resident) => assert_eq!(resident.pages, 0, "{sample:?}, {:?}", record.scenarios),
            Reading::Unavailable { unavailable } => println!("skipped: {unavailable}"),
        }
    }
    record.cells.iter().filter_map(|it| it.skipped.as_ref()).for_each(|it| println!("skipped: {it}"));
}

const SHARED: &str = r#"
title = "Shared memory"
[[compare]]
workload = "scan"
block = "64 KiB"
state = "as-is"
arms = ["read"]
[[claim]]
id = "stays"
says = "A shared-memory object outlives its writer"
scenario = "shared-memory"
"#;

#[test]
fn no_shared_memory_object_stays_whether_its_writer_could_be_started_or_not() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let shared = sandbox.write("shared.toml", SHARED);
    let left = |pid: u32| -> Vec<String> {
        let names = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        let names = names.map(|it| it.file_name().to_string_lossy().into_owned());
        names.filter(|it| it.contains(&format!("faultline-{pid}-"))).collect()
    };
    for writer_starts in [true, false] {
        let mut command = sandbox.command(&["run", &file, "-e", &shared, "--rounds=1", "--budget=44s", "--json"]);
        if !writer_starts {
            command.env("PATH", sandbox.at("nothing"));
        }
        let running = Running::new(command);
        let pid = running.pid();
        let output = running.end();
        let scenario = output.document().record.scenarios.remove("shared-memory").unwrap();
        match scenario {
            Reading::Value(seen) => assert!(seen.holds && writer_starts, "{}", seen.evidence),
            Reading::Unavailable { unavailable } => println!("skipped: {unavailable}"),
        }
        assert_eq!(left(pid), [""; 0]);
        assert_eq!(sandbox.noted(), 0);
    }
}

fn verdict<'a>(document: &'a Document, id: &str) -> &'a schema::findings::ClaimFinding {
    document.findings.claims.iter().find(|it| it.id == id).unwrap()
}

#[test]
fn claims_in_a_file_of_ones_own_are_judged_in_both_forms_of_the_answer() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let mine = sandbox.write("my.toml", MINE);
    let output = sandbox.run(&["run", &file, "-e", &mine, "--rounds=1", "--budget=44s"]);
    output.sane();
    for words in ["Claims\n", "fast   Mapping is faster", "undecided: ", "not testable here: beauty is not measured"] {
        assert!(output.stdout.contains(words), "{words:?} is not in {}", output.stdout);
    }
    let json = sandbox.run(&["report", "--json"]).expect(0);
    let document = json.document();
    assert_eq!(document.findings.claims.len(), 3);
    assert_eq!(verdict(&document, "fast").verdict, ClaimVerdict::Undecided, "one round decides nothing");
    assert_eq!(verdict(&document, "fast").source, "A colleague, over lunch");
    assert_eq!(verdict(&document, "never").verdict, ClaimVerdict::NotTestableHere);
    assert_eq!(
        report::words::reasons(&verdict(&document, "never").reasons).unwrap_or_default(),
        "beauty is not measured"
    );
}

#[test]
fn the_ledger_has_every_claim_once_from_the_newest_run_and_names_studies_never_run() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let mine = sandbox.write("my.toml", MINE);
    let other = sandbox.write("other.toml", MINE.replace("My claims", "Other claims"));
    let run = |experiment: &str| sandbox.run(&["run", &file, "-e", experiment, "--rounds=1", "--budget=44s"]).sane();
    let empty = sandbox.run(&["claims"]).expect(0);
    assert!(empty.stdout.contains("no saved run has a claim"), "{}", empty.stdout);
    run(&mine);
    // Ids and starting times are counted in seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    run(&mine);
    run(&other);
    let runs = sandbox.run(&["list", "runs"]).expect(0).stdout;
    assert_eq!(runs.lines().count(), 3);
    fs::write(sandbox.data().join("runs/20990101T000000Z-dead.json"), "{").unwrap();

    let output = sandbox.run(&["claims"]).expect(0);
    output.says(&["warning: left out", "20990101T000000Z-dead.json"]);
    for (name, _) in schema::builtin::STUDIES {
        let never = format!("not run yet: faultline reproduce {name}");
        assert!(output.stdout.contains(&never), "{never:?} is not in {}", output.stdout);
    }
    for words in ["A colleague, over lunch", "6 claims: ", "not testable here", "studies not run yet", "Linux "] {
        assert!(output.stdout.contains(words), "{words:?} is not in {}", output.stdout);
    }

    let output = sandbox.run(&["claims", "--json", "--study=my"]).expect(0);
    let claims: Value = serde_json::from_str(&output.stdout).unwrap();
    let claims = claims.as_array().unwrap();
    assert_eq!(claims.iter().map(|it| it["id"].as_str().unwrap()).collect::<Vec<_>>(), ["fast", "few", "never"]);
    // The newest run of this experiment, not the newest of all.
    let ids: Vec<&str> = runs.lines().map(|line| line.split(' ').next().unwrap()).collect();
    for claim in claims {
        assert_eq!(claim["study"], "my");
        let id = claim["run"].as_str().unwrap();
        assert!(ids[..2].contains(&id), "{id} is the oldest of {ids:?}");
        let record = sandbox.run(&["report", id, "--json"]).expect(0).document().record;
        assert_eq!(
            (claim["when"].as_str(), claim["host"].as_str()),
            (Some(record.started.as_str()), Some(record.environment.host.as_str()))
        );
        assert_eq!(record.experiment.title, "My claims");
    }
}

#[test]
fn a_claim_is_answered_by_runs_of_this_machine_and_of_others_where_they_are_named() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let mine = sandbox.write("my.toml", MINE);
    sandbox.run(&["run", &file, "-e", &mine, "--rounds=1", "--budget=44s"]).sane();
    let mut record = sandbox.record();
    let own = record.id.clone();
    // Newer, and by its own word of this machine.
    (record.id, record.started) = ("20991121T000000Z-0001".into(), "2099-11-21T00:00:00Z".into());
    let stranger = sandbox.write("stranger.json", serde_json::to_string(&record).unwrap());
    sandbox.run(&["import", &stranger]).expect(0);
    let runs = |more: &[&str]| {
        let output = sandbox.run(&[&["claims", "--json", "--study=my"], more].concat()).expect(0);
        let claims: Value = serde_json::from_str(&output.stdout).unwrap();
        let claims = claims.as_array().unwrap();
        claims.iter().map(|it| it["run"].as_str().unwrap().to_string()).collect::<Vec<String>>()
    };
    assert_eq!(runs(&[]), [own.as_str(); 3]);
    let mut all = runs(&["--machine=all"]);
    all.sort();
    assert_eq!(all, [[own.as_str(); 3], [record.id.as_str(); 3]].concat(), "each machine has its answers");
    sandbox.run(&["claims", "--machine=nobody"]).expect(3);
}

#[test]
fn a_study_that_is_stopped_keeps_what_was_measured_and_leaves_its_claims_undecided() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("folder");
    let study = ["reproduce", "channel-vs-mapped", "--dir", &folder, "--state=cold"];
    let mut running = sandbox.start(&[&study[..], &["--rounds=10000", "--budget=44s", "--json"]].concat());
    running.until(|| sandbox.saved().filter(|_| !sandbox.record().samples.is_empty()));
    running.signal(libc::SIGINT);
    let document = running.end().expect(130).document();
    assert_eq!(document.record.partial.as_deref(), Some("interrupted"));
    assert_eq!(document.record, sandbox.record());
    assert!(!document.findings.claims.is_empty());
    let guessed = document
        .findings
        .claims
        .iter()
        .find(|it| !matches!(it.verdict, ClaimVerdict::Undecided | ClaimVerdict::NotTestableHere));
    assert_eq!(guessed, None);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(sandbox.noted(), 0);
    let again = sandbox.run(&["report", "--quiet"]).expect(0);
    assert!(again.stdout.contains("Interrupted:") && again.stdout.contains("Published figures"), "{}", again.stdout);
}

#[test]
fn a_study_can_be_run_on_a_file_of_ones_own() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let output =
        sandbox.run(&["run", &file, "-e", "dillon-2001", "--rounds=1", "--state=cached", "--budget=44s", "-q"]);
    output.sane();
    for words in ["Published figures and ours", "Claims\n", "as published: unequal work"] {
        assert!(output.stdout.contains(words), "{words:?} is not in {}", output.stdout);
    }
    assert!(!output.stdout.contains("Environment"), "{}", output.stdout);
    assert_eq!(sandbox.left(), ["file"]);
}
