//! What every runtime with a choice of installations must do, called by the tests of each.

use schema::findings::{Document, Status};

use crate::support::{Output, Running, Sandbox, short};

/// What will not do, by the name that a user gives it, and what is said of it.
pub type Unfit = (String, &'static str);

/// Whether it is here; says why not.
pub fn is_here<T>(found: Result<T, String>) -> bool {
    if let Err(reason) = &found {
        println!("skipped: {reason}");
    }
    found.is_ok()
}

/// A short run, as a document.
pub fn run(methods: &str, more: &[&str]) -> (Document, Output) {
    run_with(methods, more, &[])
}

/// The same with variables of the environment.
pub fn run_with(methods: &str, more: &[&str], environment: &[(&str, &str)]) -> (Document, Output) {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 2 << 20);
    let methods = format!("--method={methods}");
    let mut args = vec!["--json", "--rounds=1", "--budget=60s", &methods];
    args.extend(more);
    let mut command = sandbox.command(&short(&file, &args));
    command.envs(environment.iter().copied());
    let output = Running::new(command).end();
    output.sane();
    (output.document(), output)
}

#[track_caller]
pub fn status(document: &Document, arm: &str) -> (Status, String) {
    let cell = document.findings.cells.iter().find(|it| it.arm.name == arm).expect("a cell of that arm");
    (cell.status, report::words::reasons(&cell.reasons).unwrap_or_default())
}

/// All cells were measured, most of them well, and readings of the runtime's own are there.
#[track_caller]
pub fn measured(document: &Document, runtime: &str, comparisons: usize, readings: &[&str]) {
    assert_eq!(document.findings.comparisons.len(), comparisons);
    // A busy machine may take a page away, which is seen and makes a pass invalid; nothing else goes wrong.
    for cell in &document.findings.cells {
        let lost = report::words::reasons(&cell.reasons).unwrap_or_default();
        let disturbed = cell.status == Status::Invalid && lost.contains("page cache");
        assert!(cell.status == Status::Ok || disturbed, "{} {lost}", cell.arm);
    }
    let of_it: Vec<_> = document.findings.cells.iter().filter(|it| it.arm.runtime == runtime).collect();
    assert!(of_it.iter().filter(|it| it.status == Status::Ok).count() * 2 >= of_it.len(), "{of_it:?}");
    let by_it = |cell: usize| document.record.cells[cell].arm.runtime == runtime;
    let sample = document.record.samples.iter().find(|it| by_it(it.cell)).unwrap();
    for name in readings {
        assert!(sample.readings.contains_key(*name), "{name} is not in {:?}", sample.readings);
    }
}

/// An arm whose runtime is not here is unavailable, with the reason, and the native arms are measured.
pub fn unavailable(variable: &str, arm: &str, unfit: &[Unfit]) {
    for (named, words) in unfit {
        let (document, output) =
            run_with(&format!("read,mmap,{arm}"), &["--state=as-is"], &[(variable, named.as_str())]);
        assert_eq!(output.code(), Some(4), "an arm that was asked for is unavailable");
        assert_eq!(status(&document, "native/read").0, Status::Ok);
        let (skipped, reason) = status(&document, arm);
        assert!(skipped == Status::Skipped && reason.contains(words), "{reason}");
    }
}

/// What an option names and cannot be used is refused by every command that has the option, before anything is measured.
pub fn refused(option: &str, unfit: &[Unfit]) {
    let sandbox = Sandbox::new();
    let (file, folder) = (sandbox.file("file", 1 << 20), sandbox.folder("here"));
    let commands: [&[&str]; 7] = [
        &["run", &file, "--method=read,mmap"],
        &["run", &file, "--dry-run"],
        &["list", "states"],
        &["list", "methods"],
        &["doctor", &folder],
        &["reproduce"],
        &["rerun", "last"],
    ];
    for command in commands {
        for (named, words) in unfit {
            sandbox.run(&[command, &[option, named]].concat()).refused(2, &[option, words]);
        }
    }
    assert_eq!(sandbox.saved(), None);
}

/// Both lists show what of the environment will not do.
pub fn listed(variable: &str, named: &str, methods: &[&str], doctor: &[&str]) {
    let sandbox = Sandbox::new();
    let with = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.env(variable, named);
        Running::new(command).end()
    };
    with(&["list", "methods"]).expect(0).shows(methods);
    let folder = sandbox.folder("here");
    with(&["doctor", &folder]).shows(doctor);
}
