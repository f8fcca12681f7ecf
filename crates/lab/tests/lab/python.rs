//! What only the worker in Python does. That it does what every worker must stands in `faultline/tests/conformance`.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
    time::Duration,
};

use lab::{
    link::{Link, Trouble},
    runtime::python,
};
use schema::{
    Arm, Span, Workload,
    protocol::{Done, Hello, Hold, Job},
};
use serde_json::json;

static NEVER: AtomicBool = AtomicBool::new(false);
const LIMIT: Duration = Duration::from_secs(60);

/// The Python that a run would use; says so when there is none.
fn interpreter() -> Option<python::Interpreter> {
    let found = python::find(None);
    if let Err(reason) = &found {
        println!("skipped: {reason}");
    }
    found.ok()
}

fn arm(name: &str) -> Arm {
    format!("python/{name}").parse().unwrap()
}

fn start(python: &python::Interpreter, name: &str) -> (Link<'static>, Hello) {
    Link::start(python::worker_of(python, &arm(name)).unwrap(), &NEVER).unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn file_of(folder: &Path, bytes: usize) -> PathBuf {
    let path = folder.join(bytes.to_string());
    std::fs::write(&path, vec![b'\n'; bytes]).unwrap();
    path
}

fn job(name: &str, file: &Path, bytes: u64) -> Job {
    let job = Job::new(&arm(name), file.to_str().unwrap(), Span { offset: 0, bytes });
    Job { block_bytes: 4096, ops: bytes.div_ceil(4096), seed: 0xF000_0000_0000_0007, ..job }
}

fn done(link: &mut Link, job: &Job) -> Done {
    link.prepare(job).unwrap();
    link.go(job.pass, LIMIT).unwrap()
}

#[test]
fn hello_says_what_executes_the_worker() {
    let Some(python) = interpreter() else { return };
    let (link, hello) = start(&python, "pread");
    assert_eq!(hello.runtime, format!("python {}", python.version));
    assert_eq!(hello.about["home"], python.program.to_str().unwrap());
    assert_eq!(hello.about["numpy"], python.numpy.as_deref().unwrap_or("none"));
    assert_eq!(hello.about["gil"], "on");
    assert!(hello.about["vm"].contains(&python.version), "{hello:?}");
    link.bye().unwrap();
}

#[test]
fn a_pass_says_how_often_the_collector_ran_and_how_its_loop_warmed_up() {
    let Some(python) = interpreter() else { return };
    let folder = folder();
    let file = file_of(folder.path(), 1 << 20);
    let (mut link, _) = start(&python, "preadv");
    let of = |done: &Done, name: &str| *done.seen[name].value().unwrap();
    let timed = done(&mut link, &Job { times_its_loop: true, ..job("preadv", &file, 1 << 20) });
    for name in ["first_pass_ns_per_op", "warm_pass_ns_per_op", "loop_bytes_per_s", "warm_up_passes"] {
        assert!(of(&timed, name) > 0.0, "{name} of {:?}", timed.seen);
    }
    assert_eq!(of(&timed, "collections") == 0.0, of(&timed, "collection_ns") == 0.0, "{:?}", timed.seen);
    let plain = done(&mut link, &job("preadv", &file, 1 << 20));
    assert!(!plain.seen.contains_key("loop_bytes_per_s"), "{:?}", plain.seen);
    // A line is no block, and has no loop to be timed by itself.
    let lines = Job { consume: schema::Consume::Lines, times_its_loop: true, ..job("lines", &file, 1 << 20) };
    let lines = done(&mut link, &lines);
    assert!(lines.tally.checksum == format!("{:016x}", 1 << 20) && !lines.seen.contains_key("loop_bytes_per_s"));
}

#[test]
fn collections_are_those_of_the_pass_and_not_of_the_deadlines_that_follow_it() {
    let Some(python) = interpreter() else { return };
    let script = r#"
from faultline.session import Session

order = []

class Ended(Exception):
    pass

class Noted:
    def __getattr__(self, name):
        def note(*_):
            order.append(name)
            if name == "end":
                raise Ended
        return note

it = Session.__new__(Session)
it._collections = it._beat = Noted()
it._run = lambda warm: order.append("pass")
try:
    it.go(0)
except Ended:
    print(*order)
"#;
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workers/python");
    let output = Command::new(&python.program).args(["-B", "-c", script]).env("PYTHONPATH", sources).output().unwrap();
    let says = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).to_string()).join("");
    assert_eq!(says.trim(), "now begin pass since end");
}

#[test]
fn an_arm_without_the_lock_runs_without_it_or_is_unavailable() {
    let Some(python) = interpreter() else { return };
    let folder = folder();
    let file = file_of(folder.path(), 4096);
    let (mut link, hello) = start(&python, "preadv+gil=off");
    match link.prepare(&job("preadv+gil=off", &file, 4096)) {
        Ok(()) => assert!(python.is_free_threaded && hello.about["gil"] == "off", "{hello:?}"),
        Err(Trouble::Unavailable(why)) => {
            assert!(!python.is_free_threaded && why.contains("has a GIL always; name a free-threaded build"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn numpy_is_used_where_it_is_and_missed_with_what_to_name() {
    let Some(python) = interpreter() else { return };
    let folder = folder();
    let file = file_of(folder.path(), 8192);
    let sum = |name: &str| Job { consume: schema::Consume::Sum, ..job(name, &file, 8192) };
    let (mut link, _) = start(&python, "fromfile");
    for wanted in
        [job("fromfile", &file, 8192), job("memmap", &file, 8192), job("mmap+numpy", &file, 8192), sum("preadv")]
    {
        match link.prepare(&wanted) {
            Ok(()) => assert!(python.numpy.is_some(), "{wanted:?}"),
            Err(Trouble::Unavailable(why)) => {
                assert!(python.numpy.is_none(), "{why}");
                assert!(why.contains(&format!("Python {} has no numpy, which", python.version)), "{why}");
                assert!(why.contains("name one that has it with --python"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
    // What needs none is done all the same.
    assert_eq!(done(&mut link, &job("mmap+view", &file, 8192)).tally.ops, 2);
}

#[test]
fn a_view_or_an_array_of_a_mapping_is_released_with_it() {
    let Some(python) = interpreter() else { return };
    let folder = folder();
    let file = file_of(folder.path(), 1 << 20);
    let identity = sys::process::MappedFile::of(&std::fs::metadata(&file).unwrap(), file.to_str().unwrap());
    for name in ["mmap+view", "mmap+numpy", "memmap"] {
        let (mut link, _) = start(&python, name);
        if link.prepare(&Job { hold: Hold::Warm, ..job(name, &file, 1 << 20) }).is_err() {
            println!("skipped: {name}: Python {} has no numpy", python.version);
            continue;
        }
        let held = |link: &Link| sys::process::mapped(link.pid(), &identity).unwrap().mappings;
        assert!(held(&link) > 0, "{name}");
        link.prepare(&job("pread", &file, 1 << 20)).unwrap();
        assert_eq!(held(&link), 0, "{name}");
        // So it is where opening fails, and where the pass does.
        let gone = Job { file: folder.path().join("nothing").display().to_string(), ..job(name, &file, 1 << 20) };
        link.prepare(&gone).unwrap_err();
        link.go(1, LIMIT).unwrap_err();
        assert_eq!(held(&link), 0, "{name}");
    }
}

/// The worker is started by a shell, so that it does not get the file that it has the number of.
#[test]
fn a_worker_that_was_not_given_its_sources_executes_no_file_that_has_their_number() {
    let Some(python) = interpreter() else { return };
    let folder = folder();
    let canary = folder.path().join("canary");
    let worker = python::worker_of(&python, &arm("pread")).unwrap();
    let given = worker.get_args().skip_while(|it| *it != "-c").nth(2).unwrap().to_str().unwrap().to_string();
    let number = given.split(':').next().unwrap();
    let other = folder.path().join("other");
    let source = format!("open({:?}, 'w')", canary.display().to_string());
    std::fs::write(&other, json!({ "faultline.worker": source }).to_string()).unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("exec {number}< {}\nexec \"$@\"", other.display()), "bash"]);
    shell.arg(worker.get_program()).args(worker.get_args());
    let refused = Link::start(shell, &NEVER).map(drop);
    assert!(
        matches!(&refused, Err(Trouble::Failed(why)) if why.contains("is not the file with the sources")),
        "{refused:?}"
    );
    assert!(!canary.exists());
}

#[test]
fn any_request_to_a_worker_in_python_is_answered_and_nothing_is_written_without_a_permit() {
    let Some(python) = interpreter() else { return };
    let folder = folder();
    let file = file_of(folder.path(), 4096);
    let write = |name: &str| Job { workload: Workload::Overwrite, ..job(name, &file, 4096) };
    let jobs = [job("mmap+view", &file, 4096), job("preadv", &file, 4096), write("pwrite"), write("mmap-store")];
    let worker = || python::worker_of(&python, &arm("preadv")).unwrap();
    crate::requests::are_answered("Python", worker, &jobs, &file, None);
}
