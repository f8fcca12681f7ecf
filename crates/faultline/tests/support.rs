//! A folder of one's own, the executable in it, and what came of it.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, chown},
        process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::process::{Resource, Rlimit, setrlimit};
use schema::{
    Record,
    findings::Document,
    record::{Outcome, Sample},
};

/// Enough for every run here; only a hang takes longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// Nobody, on every Linux.
pub const NOBODY: u32 = 65534;

/// Two arms, one condition, one round. A budget larger than needed: a scan of a small file does not fill it.
const SHORT: [&str; 6] =
    ["--method=read,mmap", "--block=64KiB", "--workload=scan", "--state=cached", "--rounds=1", "--budget=44s"];

/// The arguments of a short run; what is said in `more` is said instead.
pub fn short<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let name = |option: &str| option.split('=').next().unwrap_or_default().to_string();
    let described: Vec<String> = more.iter().map(|it| name(it)).collect();
    let kept = SHORT.into_iter().filter(|it| !described.contains(&name(it)));
    ["run", target].into_iter().chain(kept).chain(more.iter().copied()).collect()
}

/// One arm in state as-is with passes long enough to be met in the middle: about a third of a second.
pub fn long_passes(arms: &str, file_bytes: u64) -> String {
    format!(
        "title = \"Long passes\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"as-is\"\n\
         arms = [{arms}]\nrange = {{ bytes = {file_bytes} }}\nops = 400_000\n"
    )
}

/// A temporary folder with a data folder in it, removed with everything in it.
pub struct Sandbox {
    folder: tempfile::TempDir,
    /// Run as this user.
    uid: Option<u32>,
}

/// What a command came to.
#[derive(Debug)]
pub struct Output {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        Sandbox::on(&std::env::temp_dir())
    }

    /// On a tmpfs, where there is one; why not is printed.
    pub fn in_memory() -> Option<Sandbox> {
        let place = Path::new("/dev/shm");
        let is_tmpfs = sys::mount::file_system(place).is_ok_and(|it| it.is_memory());
        if !is_tmpfs || lab::Target::unnamed(place, 4096).is_err() {
            println!("skipped: no tmpfs at /dev/shm that can be written to");
            return None;
        }
        Some(Sandbox::on(place))
    }

    pub fn on(parent: &Path) -> Sandbox {
        let folder = tempfile::Builder::new().prefix("faultline-test-").tempdir_in(parent).unwrap();
        Sandbox { folder, uid: None }
    }

    /// One whose commands run as an ordinary user, who owns it: nobody where the tests run as root. `None` where the
    /// executable cannot be reached by that user, after saying so.
    pub fn of_ordinary_user() -> Option<Sandbox> {
        let mut sandbox = Sandbox::new();
        if !is_root() {
            return Some(sandbox);
        }
        sandbox.uid = Some(NOBODY);
        fs::set_permissions(sandbox.path(), fs::Permissions::from_mode(0o755)).unwrap();
        sandbox.give(sandbox.path());
        let reachable = sandbox.command(&["list", "states"]).stdout(Stdio::null()).status();
        if reachable.is_ok_and(|status| status.success()) {
            return Some(sandbox);
        }
        println!("skipped: the build folder cannot be reached by an ordinary user");
        None
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// A path in the sandbox, as an argument.
    pub fn at(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_string()
    }

    /// A file of incompressible bytes, synced, so that it can be evicted.
    pub fn file(&self, name: &str, bytes: usize) -> String {
        let mut content = vec![0; bytes];
        File::open("/dev/urandom").unwrap().read_exact(&mut content).unwrap();
        self.write(name, &content)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path().join(name);
        fs::write(&path, content).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        self.give(&path);
        path.to_str().unwrap().to_string()
    }

    pub fn folder(&self, name: &str) -> String {
        let path = self.path().join(name);
        fs::create_dir(&path).unwrap();
        self.give(&path);
        path.to_str().unwrap().to_string()
    }

    fn give(&self, path: &Path) {
        if let Some(uid) = self.uid {
            chown(path, Some(uid), Some(uid)).unwrap();
        }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_faultline"));
        command.args(args).current_dir(self.path()).env("FAULTLINE_DATA_DIR", self.data());
        command.env_remove("FAULTLINE_WORKER").env("COLUMNS", "120").stdin(Stdio::null());
        for (_, choice) in lab::runtime::choices() {
            command.env_remove(choice.variable);
        }
        // Compiled once for all tests of a build. What another test compiles meanwhile is none of what `clean` may find here.
        let cache = match args.first() {
            Some(&"clean") => self.path().join("nothing-compiled"),
            _ => PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
        };
        command.env("XDG_CACHE_HOME", cache);
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.start(args).end()
    }

    /// A short run, and what else is to be said.
    pub fn run_short(&self, target: &str, more: &[&str]) -> Output {
        self.run(&short(target, more))
    }

    /// A run on files that it makes in a folder, without unit costs.
    pub fn run_made(&self, folder: &str, experiment: &str, more: &[&str]) -> Output {
        let fixed = ["run", folder, "-e", experiment, "--budget=44s", "--json", "--quiet"];
        self.run(&[&fixed[..], more].concat())
    }

    pub fn start(&self, args: &[&str]) -> Running {
        Running::new(self.command(args))
    }

    /// Everything that lies in the sandbox's folder, but for the data folder.
    pub fn left(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name != "data")
            .collect();
        names.sort();
        names
    }

    /// The one record that was saved, as far as it is yet.
    pub fn saved(&self) -> Option<PathBuf> {
        let mut runs: Vec<PathBuf> =
            fs::read_dir(self.data().join("runs")).ok()?.map(|it| it.unwrap().path()).collect();
        runs.retain(|path| path.extension().is_some_and(|it| it == "json"));
        assert!(runs.len() < 2, "{runs:?}");
        runs.pop()
    }

    pub fn record(&self) -> Record {
        let path = self.saved().expect("a record was saved");
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Entries of the cleanup journal: what `faultline clean` would look after.
    pub fn noted(&self) -> usize {
        let Ok(entries) = fs::read_dir(self.data().join("leftovers")) else { return 0 };
        entries.filter(|it| it.as_ref().unwrap().path().extension().is_some_and(|it| it == "json")).count()
    }
}

impl Output {
    /// `None` when a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The exit code, and that nobody panicked on the way.
    #[track_caller]
    pub fn expect(self, code: i32) -> Output {
        self.sane();
        assert_eq!(self.code(), Some(code), "{self:#?}");
        self
    }

    /// It ended by itself, and not by a panic.
    #[track_caller]
    pub fn sane(&self) {
        assert_eq!(self.status.signal(), None, "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        assert_ne!(self.code(), Some(101), "{self:#?}");
    }

    /// One clear sentence on stderr and nothing on stdout.
    #[track_caller]
    pub fn refused(self, code: i32, words: &[&str]) {
        let output = self.expect(code);
        assert_eq!(output.stdout, "");
        assert!(output.stderr.starts_with("error: "), "{}", output.stderr);
        assert_eq!(output.stderr.trim_end().lines().count(), 1, "{}", output.stderr);
        output.says(words);
    }

    /// Words that must be on stderr.
    #[track_caller]
    pub fn says(&self, words: &[&str]) {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in {:?}", self.stderr);
        }
    }

    /// Words that must be on stdout.
    #[track_caller]
    pub fn shows(&self, words: &[&str]) {
        for word in words {
            assert!(self.stdout.contains(word), "{word:?} is not in {:?}", self.stdout);
        }
    }

    #[track_caller]
    pub fn document(&self) -> Document {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A command that is still at work.
pub struct Running {
    child: Child,
    stdout: JoinHandle<String>,
    /// Empty where it was sent elsewhere.
    stderr: JoinHandle<String>,
}

impl Running {
    pub fn new(command: Command) -> Running {
        Running::with_stderr(command, Stdio::piped())
    }

    /// One whose stderr goes elsewhere.
    pub fn with_stderr(mut command: Command, stderr: Stdio) -> Running {
        // What a shell starts in the background ignores Ctrl-C, and so would these commands before they listen for it.
        let heed_signals = || {
            // SAFETY: signal(2) is async-signal-safe and touches no memory of this process.
            unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
            Ok(())
        };
        // SAFETY: the closure makes one async-signal-safe call.
        unsafe { command.pre_exec(heed_signals) };
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        Running { child, stdout, stderr }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: kill(2) touches no memory; the child has not been waited for, so the pid is still its own.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until something is there, or gives up when the command has ended.
    pub fn until<T>(&mut self, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return Some(found);
            }
            assert!(Instant::now() < deadline, "waited in vain");
            if self.has_ended() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the end; one that hangs is killed, and the test fails.
    pub fn end(mut self) -> Output {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("it hung; stderr: {}", self.stderr.join().unwrap());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        Output { status, stdout: self.stdout.join().unwrap(), stderr: self.stderr.join().unwrap() }
    }
}

fn collect(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.map(|mut it| it.read_to_end(&mut bytes).unwrap());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

pub fn is_root() -> bool {
    // SAFETY: geteuid(2) cannot fail and touches no memory.
    unsafe { libc::geteuid() == 0 }
}

/// Living children of a process that execute another command line than it: pid and start time. A child between fork(2) and
/// execve(2) has the parent's output open, and the first of the two processes that start a guard executes nothing at all: while
/// one of them is stopped, that output has no end.
pub fn children(parent: u32) -> Vec<(u32, u64)> {
    let line = |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let own = line(parent);
    // Tests look again and again, and a busy machine has many processes.
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists: String = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok()).collect();
    let processes = lists.split_whitespace().filter_map(|it| it.parse::<u32>().ok());
    let children = processes.filter_map(|pid| process(pid).filter(|it| it.0 == parent).map(|it| (pid, it.1)));
    children.filter(|it| line(it.0) != own).collect()
}

/// What a process does, by one letter (proc_pid_stat(5)).
pub fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether this very process is still alive.
pub fn lives(pid: u32, started: u64) -> bool {
    process(pid).is_some_and(|it| it.1 == started)
}

/// Parent and start time of a process that is no zombie.
fn process(pid: u32) -> Option<(u32, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    (!matches!(fields[0], "Z" | "X")).then_some((fields[1].parse().ok()?, fields[19].parse().ok()?))
}

/// A test file of ours in a folder.
pub fn test_file(folder: &Path) -> Option<PathBuf> {
    let mut paths = fs::read_dir(folder).unwrap().filter_map(|it| Some(it.ok()?.path()));
    paths.find(|path| {
        let name = path.file_name().unwrap().as_bytes();
        name.starts_with(b".faultline-") && name.ends_with(b".data")
    })
}

/// Why a pass did not count.
pub fn failure(sample: &Sample) -> Option<&str> {
    match &sample.outcome {
        Outcome::Failed { reason } => Some(reason),
        Outcome::Ok { .. } | Outcome::Invalid { .. } => None,
    }
}

/// A limit on the process (setrlimit(2)), set between fork and exec.
pub fn limit(command: &mut Command, resource: Resource, to: u64) {
    // SAFETY: between fork and exec one system call is made, which is async-signal-safe; nothing is allocated.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) })?));
    }
}
