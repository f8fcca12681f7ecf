//! The workers that can be started here: the part of the suite that differs between runtimes.

use std::{
    collections::BTreeSet,
    path::Path,
    process::Command,
    sync::{OnceLock, atomic::AtomicBool},
};

use lab::{
    link::{Link, Trouble},
    runtime::{go, jvm, python},
};
use planted::Effort;
use schema::{
    Arm,
    protocol::Hello,
    runtime::{RUNTIMES, RuntimeSpec},
};

/// An executable that is a worker of a runtime.
pub struct Worker {
    pub runtime: &'static RuntimeSpec,
    /// As its hello says it.
    pub name: String,
    command: Box<dyn Fn(&Arm) -> Command + Send + Sync>,
    /// How many jobs each method is given, and each arm of its options; not the same for all of them. Of a runtime that
    /// compiles while it runs, each job takes a warm-up.
    jobs_of_method: usize,
    jobs_of_option: usize,
    /// What an arm may say that has none of them.
    excuses: &'static [&'static str],
}

type Found = Result<Vec<Worker>, String>;
type Start = fn(&'static RuntimeSpec) -> Found;

/// Runtimes whose workers are not started as in a run: this process is not the product, and every JDK, Python and Go is tried.
const STARTS: &[(&str, Start)] =
    &[("native", native), ("jvm", with_each_jdk), ("python", with_each_python), ("go", with_each_go)];

fn as_in_a_run(runtime: &'static RuntimeSpec) -> Found {
    let found = lab::runtime::find(runtime.name)?;
    found.described()?;
    let command = Box::new(move |arm: &Arm| found.worker(arm).unwrap());
    let name = runtime.name.to_string();
    let mut worker = Worker { runtime, name, command, jobs_of_method: 20, jobs_of_option: 5, excuses: &[] };
    worker.name = worker.start(&worker.arm(runtime.methods[0].name)).1.runtime;
    Ok(vec![worker])
}

fn native(runtime: &'static RuntimeSpec) -> Found {
    let command = |_: &Arm| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_faultline"));
        command.arg("worker");
        command
    };
    Ok(vec![Worker {
        runtime,
        name: "native".into(),
        command: Box::new(command),
        jobs_of_method: 80,
        jobs_of_option: 40,
        excuses: &[
            "O_DIRECT",
            "io_uring",
            "RWF_DONTCACHE",
            "mlock",
            "MADV_",
            "\"rm\"",
            // Options of mappings, of which these words are for reading alone and for writing alone.
            "a private mapping never changes the file",
            "populate-write",
            "per-block",
        ],
    }])
}

fn with_each_jdk(runtime: &'static RuntimeSpec) -> Found {
    let fitting: Vec<jvm::Jdk> = jvm::all().into_iter().filter(|jdk| jdk.fits().is_ok()).collect();
    if fitting.is_empty() {
        return Err(format!("no JDK of version {} or later on this machine", jvm::FLOOR));
    }
    let newest = fitting.iter().map(|it| it.feature).max();
    let worker = |jdk: jvm::Jdk| Worker {
        runtime,
        name: format!("jvm {}", jdk.version),
        jobs_of_method: 4,
        // What an option does is the same code with every JDK.
        jobs_of_option: usize::from(Some(jdk.feature) == newest),
        // Compiled once for all tests of a build, and kept for the next.
        command: Box::new(move |arm| {
            jvm::worker_of(&jdk, arm, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("faultline")).unwrap()
        }),
        excuses: &["O_DIRECT", "JDK 22", "mlock", "MADV_", "safepoints"],
    };
    Ok(fitting.into_iter().map(worker).collect())
}

/// The one that a run takes, the oldest and the newest, and one with numpy, where the loops are other code; in a long test
/// (`Effort`) one of each version.
fn with_each_python(runtime: &'static RuntimeSpec) -> Found {
    let mut fitting: Vec<python::Interpreter> = Vec::new();
    for it in python::find(None).into_iter().chain(python::all()).filter(|it| it.fits().is_ok()) {
        if fitting.iter().all(|known| (&known.version, &known.numpy) != (&it.version, &it.numpy)) {
            fitting.push(it);
        }
    }
    if fitting.is_empty() {
        return Err(python::find(None).err().unwrap_or_default());
    }
    if !Effort::is_asked() {
        let numbers = || fitting.iter().map(|it| it.number);
        let ends = [numbers().min(), numbers().max()].map(|end| fitting.iter().position(|it| Some(it.number) == end));
        let with_numpy = fitting.iter().position(|it| it.numpy.is_some());
        let kept: BTreeSet<usize> = [Some(0), ends[0], ends[1], with_numpy].into_iter().flatten().collect();
        fitting = kept.into_iter().map(|at| fitting[at].clone()).collect();
    }
    let worker = |(at, python): (usize, python::Interpreter)| Worker {
        runtime,
        name: format!("python {}", python.version),
        jobs_of_method: if at == 0 { 12 } else { 4 },
        // What an option does is the same code with every Python.
        jobs_of_option: if at == 0 { 3 } else { 0 },
        command: Box::new(move |arm| python::worker_of(&python, arm).unwrap()),
        excuses: &["O_DIRECT", "mlock", "MADV_", "numpy", "ctypes"],
    };
    Ok(fitting.into_iter().enumerate().map(worker).collect())
}

fn with_each_go(runtime: &'static RuntimeSpec) -> Found {
    let fitting: Vec<go::Toolchain> = go::all().into_iter().filter(|go| go.fits().is_ok()).collect();
    if fitting.is_empty() {
        return Err(format!("no Go of version {}.{} or later on this machine", go::FLOOR.0, go::FLOOR.1));
    }
    let worker = |go: go::Toolchain| Worker {
        runtime,
        name: format!("go {}", go.version),
        jobs_of_method: 40,
        jobs_of_option: 20,
        // Built once for all tests of a build, and kept for the next.
        command: Box::new(move |arm| {
            go::worker_of(&go, arm, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("faultline")).unwrap()
        }),
        excuses: &["O_DIRECT", "mlock", "MADV_"],
    };
    Ok(fitting.into_iter().map(worker).collect())
}

impl Worker {
    /// A worker for an arm, and how it introduces itself.
    pub fn start(&self, arm: &Arm) -> (Link<'static>, Hello) {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Link::start(self.command(arm), &NEVER).unwrap_or_else(|trouble| panic!("{}: {trouble:?}", self.name))
    }

    pub fn command(&self, arm: &Arm) -> Command {
        (self.command)(arm)
    }

    /// How many jobs an arm is given; none where it is not tried.
    pub fn jobs(&self, arm: &Arm) -> usize {
        if self.is_without_options(arm) { self.jobs_of_method } else { self.jobs_of_option }
    }

    fn is_without_options(&self, arm: &Arm) -> bool {
        *arm == self.arm(&arm.method)
    }

    /// Of a runtime that compiles while it runs, to be warm takes most of the time of a job. So the first one of each method is
    /// made by compiled code, and no other.
    pub fn untimed(&self, arm: &Arm, done: usize) -> bool {
        done > 0 || !self.is_without_options(arm)
    }

    /// An arm of this runtime.
    pub fn arm(&self, name: &str) -> Arm {
        format!("{}/{name}", self.runtime.name).parse().unwrap()
    }

    /// The machine may lack what an arm needs, and the arm must say what.
    pub fn excuses(&self, reason: &str) -> bool {
        self.excuses.iter().any(|it| reason.contains(it))
    }
}

/// Every worker that can be started here; says which runtimes have none.
pub fn all() -> &'static [Worker] {
    static ALL: OnceLock<Vec<Worker>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut workers = Vec::new();
        for runtime in RUNTIMES {
            let start = STARTS.iter().find(|it| it.0 == runtime.name).map_or(as_in_a_run as Start, |it| it.1);
            match start(runtime) {
                Ok(found) => workers.extend(found),
                Err(why) => println!("skipped: workers of runtime {}: {why}", runtime.name),
            }
        }
        workers
    })
}

/// Runs a test with every worker, side by side.
pub fn each(test: impl Fn(&Worker) + Sync) {
    beside(all(), test);
}

/// The same with one worker of each runtime, where what is tested is no other code with another version.
pub fn one_of_each(test: impl Fn(&Worker) + Sync) {
    let first = |at: usize| all()[..at].iter().all(|it| it.runtime.name != all()[at].runtime.name);
    beside((0..all().len()).filter(|&at| first(at)).map(|at| &all()[at]), test);
}

fn beside<'a>(workers: impl IntoIterator<Item = &'a Worker>, test: impl Fn(&Worker) + Sync) {
    std::thread::scope(|scope| {
        for worker in workers {
            let test = &test;
            scope.spawn(move || test(worker));
        }
    });
}

/// The reason of a refusal that is no failure.
pub fn refusal<T>(result: Result<T, Trouble>) -> Result<T, String> {
    match result {
        Ok(done) => Ok(done),
        Err(Trouble::Unavailable(reason)) => Err(reason),
        Err(other) => panic!("{other:?}"),
    }
}
