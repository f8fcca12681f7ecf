//! A sandbox with a folder of the user's in it, and what must be so after `faultline clean`, whatever happened before.

use std::{
    collections::BTreeMap,
    fmt, fs,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use planted::Planting;
use schema::Skip;

use crate::support::{Output, Running, Sandbox, test_file};

/// A command that something happens to.
pub struct Case {
    pub name: &'static str,
    /// Makes what it needs beside the user's folder, and says what is typed.
    pub prepare: fn(&mut Scene) -> Vec<String>,
}

pub const RUN: Case = Case {
    name: "run",
    prepare: |scene| {
        let folder = scene.mine();
        let fixed = ["--size=4MiB", "--method=read,mmap", "--workload=scan", "--block=64KiB", "--state=cold,cached"];
        typed(&["run", &folder, "--rounds=3", "--budget=20s"], &fixed)
    },
};

pub const LIMITED: Case = Case {
    name: "run, limited",
    prepare: |scene| {
        let text = "title = \"Less memory\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"limited\"\n\
                    ops = 512\narms = [\"pread\", \"mmap+random\"]\n";
        let experiment = scene.sandbox.write("limited.toml", text);
        let folder = scene.mine();
        typed(&["run", &folder, "-e", &experiment], &["--size=16MiB", "--rounds=1", "--budget=20s"])
    },
};

pub const WRITING: Case = Case {
    name: "run, writing",
    prepare: |scene| {
        let text = "title = \"Writing\"\n[[compare]]\nworkload = \"overwrite\"\nblock = \"64 KiB\"\nstate = \"cached\"\n\
                    durability = \"sync-end\"\nrange = { bytes = \"1 MiB\" }\nops = 16\narms = [\"pwrite\", \"mmap\"]\n";
        let experiment = scene.sandbox.write("writes.toml", text);
        let folder = scene.mine();
        typed(&["run", &folder, "-e", &experiment], &["--size=2MiB", "--rounds=3", "--budget=20s"])
    },
};

pub const AB: Case = Case {
    name: "ab",
    prepare: |scene| {
        let file = format!("{}/file", scene.mine());
        let [first, second] = [format!("cat {file}"), format!("cksum < {file}")];
        let named = format!("--file={file}");
        typed(&["ab", &first, &second, &named], &["--anyway", "--state=cold,cached", "--rounds=2", "--budget=20s"])
    },
};

pub const REPRODUCE: Case = Case {
    name: "reproduce",
    prepare: |scene| {
        let folder = format!("--dir={}", scene.mine());
        typed(
            &["reproduce", "line-count-boards", &folder],
            &["--state=cached", "--fill=sequential", "--rounds=1", "--budget=4s"],
        )
    },
};

pub const CLEAN: Case = Case {
    name: "clean",
    prepare: |scene| {
        let typed = (RUN.prepare)(scene);
        let mut run = scene.start(&typed);
        let folder = PathBuf::from(scene.mine());
        while test_file(&folder).is_none() && run.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        kill(&mut run);
        scene.wait_for_processes();
        vec!["clean".to_string()]
    },
};

pub const HISTORY: Case = Case {
    name: "history",
    prepare: |scene| {
        let store = history::Store::open(Some(scene.sandbox.data())).unwrap();
        for seed in 1..=3 {
            store.save(&Planting { seed, rounds: 2, ..Planting::default() }.plant().record).unwrap();
        }
        vec!["history".to_string()]
    },
};

/// The worker is compiled each time.
pub const JVM: Case = Case {
    name: "run, JVM with a cold cache",
    prepare: |scene| {
        let folder = scene.mine();
        let fixed = ["--size=2MiB", "--method=read,jvm/mapped", "--workload=scan", "--block=64KiB", "--state=cached"];
        typed(&["run", &folder, "--rounds=1", "--budget=20s"], &fixed)
    },
};

/// The worker is built each time.
pub const GO: Case = Case {
    name: "run, Go with a cold cache",
    prepare: |scene| {
        let folder = scene.mine();
        let fixed = ["--size=2MiB", "--method=read,go/mmap", "--workload=scan", "--block=64KiB", "--state=cached"];
        typed(&["run", &folder, "--rounds=1", "--budget=44s"], &fixed)
    },
};

pub fn typed(first: &[&str], more: &[&str]) -> Vec<String> {
    first.iter().chain(more).map(|it| it.to_string()).collect()
}

/// How long a command takes that is not killed, or why it cannot do here what it is to be killed in. It leaves nothing.
pub fn normal(case: &Case) -> Result<Duration, String> {
    let mut scene = Scene::new();
    let typed = (case.prepare)(&mut scene);
    let began = Instant::now();
    let output = scene.output(&typed);
    let took = began.elapsed();
    output.sane();
    assert!(matches!(output.code(), Some(0 | 3 | 4)), "{output:#?}");
    assert_eq!(scene.left(), [""; 0]);
    if let [_] = scene.records()[..] {
        let cannot = |skip: &Skip| matches!(skip, Skip::Unavailable(_) | Skip::Impossible(_));
        let cells = scene.sandbox.record().cells;
        if let Some(reason) = cells.iter().filter_map(|it| it.skipped.as_ref()).find(|it| cannot(it)) {
            return Err(reason.to_string());
        }
    }
    Ok(took)
}

pub fn kill(child: &mut Child) {
    // One that has ended already is no error.
    let _ = child.kill();
    child.wait().unwrap();
}

/// A sandbox with a folder of the user's in it, and all that was started there.
pub struct Scene {
    pub sandbox: Sandbox,
    started: Vec<u32>,
    before: BTreeMap<PathBuf, Entry>,
}

/// What must not change in the user's folder. (The folder's own time changes with the test file in it.)
#[derive(PartialEq, Eq)]
struct Entry {
    mode: u32,
    changed: (i64, i64),
    content: Vec<u8>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "mode {:o}, changed {:?}, {} bytes", self.mode, self.changed, self.content.len())
    }
}

impl Scene {
    pub fn new() -> Scene {
        let sandbox = Sandbox::new();
        for folder in ["mine", "mine/folder", "tmp", "cache"] {
            sandbox.folder(folder);
        }
        sandbox.file("mine/file", 1 << 20);
        sandbox.write("mine/.faultline-mine", "not a test file");
        sandbox.write("mine/folder/note", "a note");
        std::os::unix::fs::symlink("file", sandbox.at("mine/link")).unwrap();
        let before = entries(&sandbox.path().join("mine"));
        Scene { sandbox, started: Vec::new(), before }
    }

    pub fn mine(&self) -> String {
        self.sandbox.at("mine")
    }

    pub fn command(&self, typed: &[String]) -> std::process::Command {
        let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
        let mut command = self.sandbox.command(&typed);
        let temporary = self.sandbox.at("tmp");
        // A JVM does not look at TMPDIR.
        command.env("JAVA_TOOL_OPTIONS", format!("-Djava.io.tmpdir={temporary}"));
        command.env("TMPDIR", temporary).env("XDG_CACHE_HOME", self.sandbox.at("cache"));
        command
    }

    /// Its output goes nowhere, so that a process that survives it cannot hold a pipe open.
    pub fn start(&mut self, typed: &[String]) -> Child {
        let child = self.command(typed).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.started.push(child.id());
        child
    }

    pub fn output(&mut self, typed: &[String]) -> Output {
        let running = Running::new(self.command(typed));
        self.started.push(running.pid());
        running.end()
    }

    /// A process that was started in it otherwise.
    pub fn note(&mut self, pid: u32) {
        self.started.push(pid);
    }

    pub fn records(&self) -> Vec<PathBuf> {
        let mut all = names(&self.sandbox.data().join("runs"));
        all.extend(names(&self.sandbox.data().join("imported")));
        all.retain(|it| it.extension().is_some_and(|it| it == "json"));
        all
    }

    /// A worker dies with its parent, a moment after it. Those that do not are returned.
    pub fn wait_for_processes(&self) -> Vec<String> {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let alive = processes(&self.sandbox.data());
            if alive.is_empty() || Instant::now() > until {
                return alive;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// All that is there and should not be, after `faultline clean`.
    pub fn left(&mut self) -> Vec<String> {
        let mut left = self.wait_for_processes();
        let clean = typed(&["clean"], &[]);
        let first = self.output(&clean);
        if first.code() != Some(0) || first.stderr.contains("panicked") {
            left.push(format!("clean failed: {first:?}"));
        }
        left.extend(self.unread());
        left.extend(self.things());
        let again = self.output(&clean);
        if again.code() != Some(0) || again.stdout != "nothing was left behind\n" {
            left.push(format!("a second clean: {again:?}"));
        }
        left
    }

    /// Files, groups, shared memory, devices and mounts.
    fn things(&self) -> Vec<String> {
        let mut left = Vec::new();
        let now = entries(&self.sandbox.path().join("mine"));
        for path in self.before.keys().chain(now.keys()).collect::<std::collections::BTreeSet<_>>() {
            let (was, is) = (self.before.get(path), now.get(path));
            if was != is {
                left.push(format!("{} was {was:?} and is {is:?}", path.display()));
            }
        }
        let data = self.sandbox.data();
        // What SQLite needs to take back half of a change is gone after the next `history`.
        let known = ["runs", "imported", "leftovers", "machine-key", "faultline-index.sqlite"];
        let strange = |path: &Path| !known.iter().any(|it| path.file_name().is_some_and(|name| name == *it));
        left.extend(names(&data).into_iter().filter(|it| strange(it)).map(shown));
        left.extend(names(&data.join("leftovers")).into_iter().map(shown));
        left.extend(names(&self.sandbox.path().join("tmp")).into_iter().map(shown));
        // Workers that are ready stay; what a compiler was in the middle of does not.
        let workers = names(&self.sandbox.path().join("cache/faultline"));
        left.extend(workers.into_iter().filter(|it| it.to_string_lossy().contains("-making-")).map(shown));
        let runs = ["runs", "imported"].map(|it| names(&data.join(it))).concat();
        left.extend(runs.into_iter().filter(|it| it.extension().is_none_or(|it| it != "json")).map(shown));
        let ours: Vec<String> = self.started.iter().map(|pid| format!("faultline-{pid}-")).collect();
        groups(Path::new("/sys/fs/cgroup"), &ours, &mut left);
        left.extend(names(Path::new("/dev/shm")).into_iter().filter(|it| begins(it, &ours)).map(shown));
        let here = self.sandbox.path().to_string_lossy().into_owned();
        for device in names(Path::new("/sys/block")) {
            let backing = fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default();
            left.extend(backing.contains(&here).then(|| format!("{} over {backing}", device.display())));
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        left.extend(mounts.lines().filter(|it| it.contains(&here)).map(|it| format!("the mount {it}")));
        left
    }

    /// Records that cannot be read back, each by itself and all by the index.
    fn unread(&mut self) -> Vec<String> {
        let records = self.records();
        let mut left = Vec::new();
        for path in &records {
            let report = self.output(&typed(&["report", path.to_str().unwrap(), "--json"], &[]));
            let loads = serde_json::from_str::<schema::findings::Document>(&report.stdout).is_ok();
            if !loads || !matches!(report.code(), Some(0 | 3)) {
                left.push(format!("{} is not read back: {}: {}", path.display(), report.status, report.stderr));
            }
        }
        let history = self.output(&typed(&["history", "--json", "--machine=all"], &[]));
        match serde_json::from_str::<schema::saved::History>(&history.stdout) {
            Ok(all) if all.damaged.is_empty() && all.runs.len() == records.len() && history.code() == Some(0) => {}
            other => left.push(format!("history of {} records: {other:?}, {}", records.len(), history.stderr)),
        }
        left
    }
}

fn shown(path: PathBuf) -> String {
    format!("{} is there", path.display())
}

fn names(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|it| Some(it.ok()?.path())).collect()
}

fn entries(folder: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut all = BTreeMap::new();
    for path in names(folder) {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = match () {
            () if metadata.is_dir() => {
                all.extend(entries(&path));
                Vec::new()
            }
            () if metadata.is_symlink() => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
            () => fs::read(&path).unwrap(),
        };
        let changed = (metadata.mtime(), metadata.mtime_nsec());
        all.insert(path, Entry { mode: metadata.mode(), changed, content });
    }
    all
}

/// Processes that were started with this data folder, and those they started.
fn processes(data: &Path) -> Vec<String> {
    let given = [b"FAULTLINE_DATA_DIR=", data.as_os_str().as_bytes(), b"\0"].concat();
    let is_ours =
        |path: &PathBuf| fs::read(path.join("environ")).is_ok_and(|it| it.windows(given.len()).any(|it| it == given));
    let shown = |path: PathBuf| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        format!("process {} lives: {}", path.display(), String::from_utf8_lossy(&line).replace('\0', " "))
    };
    names(Path::new("/proc")).into_iter().filter(is_ours).map(shown).collect()
}

/// Whether the last name of a path begins with one of these.
fn begins(path: &Path, ours: &[String]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ours.iter().any(|it| name.starts_with(it))
}

/// Control groups whose name begins with one of these.
fn groups(folder: &Path, ours: &[String], left: &mut Vec<String>) {
    for path in names(folder) {
        if fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir()) {
            if begins(&path, ours) {
                left.push(format!("the group {} is there", path.display()));
            }
            groups(&path, ours, left);
        }
    }
}
