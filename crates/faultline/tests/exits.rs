//! Every exit code that is documented, in every mode: what is not 0 has its reason on stderr, where also those see it who
//! read a document from stdout.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt};

use schema::{Record, record::Outcome};

use crate::support::{Output, Running, Sandbox, short};

const SAVED: &str = include_str!("../../schema/tests/records/version-1.json");

/// The modes of a command that measures.
const MODES: [&[&str]; 4] = [&[], &["--json"], &["--quiet"], &["--quiet", "--json"]];

/// What was seen, by exit code.
#[derive(Default)]
struct Seen(BTreeSet<i32>);

impl Seen {
    /// `document`: whether there is something to show although the code is not 0.
    #[track_caller]
    fn ends(&mut self, code: i32, output: Output, mode: &[&str], document: bool) {
        let output = output.expect(code);
        self.0.insert(code);
        assert_eq!(output.stderr.trim().is_empty(), code == 0, "{output:#?}");
        if mode.contains(&"--json") && document {
            serde_json::from_str::<serde_json::Value>(&output.stdout).unwrap_or_else(|it| panic!("{it}: {output:#?}"));
        } else {
            assert_eq!(output.stdout.is_empty(), !document, "{output:#?}");
        }
    }
}

#[test]
fn every_exit_code_but_0_has_its_reason_on_stderr_in_every_mode() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let saved = sandbox.write("saved.json", SAVED);
    let worker = sandbox.write("worker", "#!/bin/sh\nexit 9\n");
    fs::set_permissions(&worker, fs::Permissions::from_mode(0o755)).unwrap();
    let mut seen = Seen::default();
    for mode in MODES {
        let run = |args: &[&str]| sandbox.run(&[args, mode].concat());
        seen.ends(0, run(&["report", &saved]), mode, true);
        seen.ends(1, run(&["report", "/no/such/record"]), mode, false);
        let mut command = sandbox.command(&short(&file, &[&["--state=as-is"], mode].concat()));
        command.env("FAULTLINE_WORKER", &worker);
        seen.ends(1, Running::new(command).end(), mode, true);
        for args in [&["run"][..], &["run", &file, "-e", "surwey"], &["run", &file, "--state=cold,cald"]] {
            seen.ends(2, run(args), mode, false);
        }
        seen.ends(3, sandbox.run_short(&file, &[&["--method=read"], mode].concat()), mode, true);
        let absent = ["--method=read,jvm/mapped+jdk=99"];
        seen.ends(4, sandbox.run_short(&file, &[&absent, mode].concat()), mode, true);
    }
    let slow = sandbox.write("slow.json", slower());
    for mode in [&[][..], &["--json"]] {
        let gate = ["compare", &saved, &slow, "--fail-if", "native/mmap scan cached slower 10%"];
        seen.ends(5, sandbox.run(&[&gate, mode].concat()), mode, true);
    }
    // At once: each goes on until something of it is saved.
    let interrupted = MODES.map(|mode| {
        let sandbox = Sandbox::new();
        let file = sandbox.file("file", 4 << 20);
        let endless = ["--method=read", "--state=as-is", "--rounds=10000", "--budget=44s"];
        let running = sandbox.start(&short(&file, &[&endless, mode].concat()));
        (sandbox, running, mode)
    });
    let signalled = interrupted.map(|(sandbox, mut running, mode)| {
        running.until(|| sandbox.saved().filter(|_| !sandbox.record().samples.is_empty()));
        running.signal(libc::SIGINT);
        (sandbox, running, mode)
    });
    for (_sandbox, running, mode) in signalled {
        seen.ends(130, running.end(), mode, true);
    }
    assert_eq!(seen.0, documented(&sandbox));
}

/// The codes that the help names.
fn documented(sandbox: &Sandbox) -> BTreeSet<i32> {
    let help = sandbox.run(&["--help"]).expect(0).stdout;
    let (_, codes) = help.split_once("Exit codes: ").expect("the help has them");
    codes.split(|it: char| !it.is_ascii_digit()).filter_map(|it| it.parse().ok()).collect()
}

/// The saved run, with mappings that take four times as long.
fn slower() -> String {
    let mut record: Record = serde_json::from_str(SAVED).unwrap();
    record.id = "20261122T000000Z-aaaa".into();
    let slow: Vec<bool> = record.cells.iter().map(|it| it.arm.name == "native/mmap").collect();
    for sample in record.samples.iter_mut().filter(|it| slow[it.cell]) {
        if let Outcome::Ok { phases, .. } = &mut sample.outcome {
            phases.work_ns *= 4;
            phases.open_ns = phases.open_ns.map(|it| it * 4);
            phases.close_ns = phases.close_ns.map(|it| it * 4);
        }
    }
    serde_json::to_string(&record).unwrap()
}
