use super::{
    fixture::{Machine, PID, V2_OWN},
    *,
};
use std::process::{Child, Command, Stdio};

fn both() -> Limits {
    Limits {
        memory_bytes: Some(32 << 20),
        read_bytes_per_s: Some(21_800_000),
        read_ops_per_s: Some(500),
        device: Some("254:0".into()),
    }
}

fn shown(machine: &Machine, paths: &[PathBuf]) -> Vec<String> {
    let root = machine.folder.path();
    paths.iter().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
}

#[test]
fn the_memory_limit_is_the_smallest_of_all_groups_above_and_none_only_where_a_tree_shows_it() {
    let limit = |machine: &Machine| hierarchy::memory_limit_below(machine.folder.path());
    let v2 = Machine::v2();
    assert_eq!(limit(&v2), Ok(None));
    v2.write(&format!("{V2_OWN}/memory.max"), "max\n");
    assert_eq!(limit(&v2), Ok(None));
    v2.write("sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
    assert_eq!(limit(&v2), Ok(Some(1 << 30)));
    v2.write(&format!("{V2_OWN}/memory.max"), "536870912\n");
    assert_eq!(limit(&v2), Ok(Some(1 << 29)));
    for machine in [Machine::v1(), Machine::hybrid()] {
        machine.write("sys/fs/cgroup/memory/session/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(limit(&machine), Ok(None));
        machine.write("sys/fs/cgroup/memory/session/one/memory.limit_in_bytes", "268435456\n");
        assert_eq!(limit(&machine), Ok(Some(1 << 28)));
    }
    // As in a sandbox that has /proc and no cgroup tree.
    let unmounted = Machine::v2();
    unmounted.write("proc/self/mountinfo", "22 1 254:0 / / rw - ext4 /dev/vda rw\n");
    unmounted.write(&format!("{V2_OWN}/memory.max"), "536870912\n");
    limit(&unmounted).unwrap_err();
}

#[test]
fn in_v1_each_controller_gets_a_group_below_the_one_that_this_process_is_in() {
    for machine in [Machine::v1(), Machine::hybrid()] {
        let hierarchy = machine.hierarchy();
        let cgroup = Cgroup::new(&hierarchy, "faultline-77-0", both()).unwrap();
        let paths = ["sys/fs/cgroup/memory/session/one/faultline-77-0", "sys/fs/cgroup/blkio/faultline-77-0"];
        assert_eq!(shown(&machine, &cgroup.paths()), paths);
        assert_eq!(hierarchy.paths("faultline-77-0", &both()), cgroup.paths());
        let [memory, blkio] = paths;
        assert_eq!(machine.read(&format!("{memory}/memory.limit_in_bytes")), "33554432");
        assert_eq!(machine.read(&format!("{memory}/memory.swappiness")), "0");
        assert_eq!(machine.read(&format!("{blkio}/blkio.throttle.read_bps_device")), "254:0 21800000");
        assert_eq!(machine.read(&format!("{blkio}/blkio.throttle.read_iops_device")), "254:0 500");
        cgroup.admit(4321).unwrap();
        for path in paths {
            assert_eq!(machine.read(&format!("{path}/cgroup.procs")), "4321");
            machine.write(&format!("{path}/cgroup.procs"), "");
        }
        cgroup.remove().unwrap();
        assert!(paths.iter().all(|path| !machine.path(path).exists()));
    }
}

#[test]
fn in_v2_both_controllers_share_a_group_and_are_handed_down_as_long_as_they_are_needed() {
    let machine = Machine::v2();
    let own = |file: &str| machine.read(&format!("{V2_OWN}/{file}"));
    let hierarchy = machine.hierarchy();
    let cgroup = Cgroup::new(&hierarchy, "faultline-77-0", both()).unwrap();
    assert_eq!(shown(&machine, &cgroup.paths()), [format!("{V2_OWN}/faultline-77-0")]);
    assert_eq!(own("faultline-77-0/memory.max"), "33554432");
    assert_eq!(own("faultline-77-0/memory.swap.max"), "0");
    assert_eq!(own("faultline-77-0/io.max"), "254:0 rbps=21800000 riops=500");
    // An ordinary file holds the last command; the kernel would hold the sum of them.
    assert_eq!(own("cgroup.subtree_control"), "+io");
    drop(hierarchy);
    assert_eq!(own("cgroup.subtree_control"), "+io", "a cgroup still needs it");
    drop(cgroup);
    assert_eq!(own("cgroup.subtree_control"), "-io");
    assert!(!machine.path(V2_OWN).join("faultline-77-0").exists());
}

#[test]
fn a_limit_on_memory_can_be_lowered_and_nothing_else_changes() {
    let (v1, v2) = (Machine::v1(), Machine::v2());
    let cgroups = [&v1, &v2].map(|machine| Cgroup::new(&machine.hierarchy(), "faultline-77-0", both()).unwrap());
    cgroups.iter().for_each(|cgroup| cgroup.set_memory(16 << 20).unwrap());
    let memory = "sys/fs/cgroup/memory/session/one/faultline-77-0";
    assert_eq!(v1.read(&format!("{memory}/memory.limit_in_bytes")), "16777216");
    assert_eq!(v1.read("sys/fs/cgroup/blkio/faultline-77-0/blkio.throttle.read_bps_device"), "254:0 21800000");
    assert_eq!(v2.read(&format!("{V2_OWN}/faultline-77-0/memory.max")), "16777216");
    assert_eq!(v2.read(&format!("{V2_OWN}/faultline-77-0/io.max")), "254:0 rbps=21800000 riops=500");
}

#[test]
fn the_cleanup_journal_has_every_group_before_it_is_made() {
    let machine = Machine::v2();
    let paths = machine.hierarchy().paths("faultline-77-3", &both());
    let aside = format!("{V2_OWN}/faultline-{PID}-aside");
    assert_eq!(shown(&machine, &paths), [format!("{V2_OWN}/faultline-77-3"), aside]);
}

#[test]
fn without_a_note_nothing_is_made_or_handed_down_and_what_cannot_be_noted_is_not_made() {
    for machine in [Machine::v1(), Machine::v2()] {
        let control = machine.path(V2_OWN).join("cgroup.subtree_control");
        let before = std::fs::read(&control).ok();
        let groups = || -> Vec<PathBuf> { machine.hierarchy().paths("faultline-77-0", &both()) };
        let beside = |path: &Path| std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        let counts: Vec<usize> = groups().iter().map(|it| beside(it)).collect();
        assert_eq!(machine.hierarchy().can_limit_memory(None), Ok(()));
        assert_eq!(machine.hierarchy().can_throttle("254:0", None), Ok(()));
        let refused = |_: &Path| Err("the disk is full".to_string());
        assert_eq!(machine.hierarchy().can_limit_memory(Some(&refused)), Err("the disk is full".into()));
        assert_eq!(std::fs::read(&control).ok(), before);
        assert_eq!(groups().iter().map(|it| beside(it)).collect::<Vec<_>>(), counts);
    }
}

#[test]
fn a_limit_has_only_the_groups_that_its_limits_need() {
    let machine = Machine::v1();
    let memory = Limits { memory_bytes: Some(1 << 20), ..Limits::default() };
    let cgroup = Cgroup::new(&machine.hierarchy(), "faultline-77-0", memory).unwrap();
    assert_eq!(cgroup.paths().len(), 1);
    assert_eq!(cgroup.statistics().device_read_bytes, Err("the cgroup has no io controller".into()));
    let slow = Limits { memory_bytes: None, ..both() };
    let cgroup = Cgroup::new(&machine.hierarchy(), "faultline-77-1", slow).unwrap();
    assert_eq!(shown(&machine, &cgroup.paths()), ["sys/fs/cgroup/blkio/faultline-77-1"]);
    assert_eq!(Cgroup::new(&machine.hierarchy(), "faultline-77-2", Limits::default()).unwrap().paths().len(), 0);
}

/// Another process that has made a group there meanwhile.
#[test]
fn a_controller_that_limits_a_neighbour_stays_handed_down() {
    let machine = Machine::v2();
    let control = || machine.read(&format!("{V2_OWN}/cgroup.subtree_control"));
    let memory = Limits { memory_bytes: Some(1 << 20), ..Limits::default() };
    for (file, limit, plain) in
        [("memory.max", "4096", "max\n"), ("memory.high", "4096", "max\n"), ("memory.low", "1", "0\n")]
    {
        let cgroup = Cgroup::new(&machine.hierarchy(), "faultline-77-0", memory.clone()).unwrap();
        assert_eq!(control(), "+memory");
        machine.write(&format!("{V2_OWN}/faultline-78-0/{file}"), limit);
        drop(cgroup);
        assert_eq!(control(), "+memory", "{file}");
        machine.write(&format!("{V2_OWN}/faultline-78-0/{file}"), plain);
        machine.write(&format!("{V2_OWN}/faultline-78-0/io.max"), "254:0 rbps=1");
        machine.write(&format!("{V2_OWN}/cgroup.subtree_control"), "");
        drop(Cgroup::new(&machine.hierarchy(), "faultline-77-1", memory.clone()).unwrap());
        assert_eq!(control(), "-memory", "limits of another controller do not matter");
    }
}

#[test]
fn controllers_that_are_already_handed_down_stay_so() {
    let control = format!("{V2_OWN}/cgroup.subtree_control");
    let machine = Machine::v2().with(&control, "io memory pids\n");
    drop(Cgroup::new(&machine.hierarchy(), "faultline-77-0", both()).unwrap());
    assert_eq!(machine.read(&control), "io memory pids\n");
}

#[test]
fn a_container_sees_its_own_part_of_the_tree_at_the_top() {
    let machine = Machine::v2_at("/docker/4f5a/inner", "/docker/4f5a")
        .v2_group("sys/fs/cgroup/inner")
        .with("sys/fs/cgroup/inner/cgroup.controllers", "io memory\n");
    let cgroup = Cgroup::new(&machine.hierarchy(), "faultline-77-0", both()).unwrap();
    assert_eq!(shown(&machine, &cgroup.paths()), ["sys/fs/cgroup/inner/faultline-77-0"]);
}

#[test]
fn what_is_missing_is_said_with_what_would_change_it() {
    let reason = |machine: &Machine| machine.hierarchy().can_limit_memory(Some(&|_| Ok(()))).unwrap_err();
    let undelegated = Machine::v2().with(&format!("{V2_OWN}/cgroup.controllers"), "cpu pids\n");
    let described = reason(&undelegated);
    assert!(described.contains("memory controller is not delegated to /sys/fs/cgroup/user.slice"), "{described}");
    assert!(described.contains("systemd-run --scope -p Delegate=yes"), "{described}");

    let switched_off = Machine::v2()
        .with("sys/fs/cgroup/cgroup.controllers", "cpu io pids\n")
        .with(&format!("{V2_OWN}/cgroup.controllers"), "cpu io pids\n");
    assert!(reason(&switched_off).contains("cgroup_enable=memory"));
    assert_eq!(
        switched_off.hierarchy().can_throttle("254:0", Some(&|_| Ok(()))),
        Ok(()),
        "the other controller is there"
    );

    let elsewhere = Machine::v1().with("proc/self/mountinfo", "22 1 254:0 / / rw - ext4 /dev/vda rw\n");
    assert!(reason(&elsewhere).contains("not mounted here"));
    let nothing = Machine::v1().with("proc/self/cgroup", "");
    assert!(reason(&nothing).contains("no mounted cgroup tree has the memory controller"));
    let no_proc = Hierarchy::detect_below(Path::new("/no/such/root"));
    assert!(no_proc.can_throttle("254:0", Some(&|_| Ok(()))).unwrap_err().contains("/no/such/root/proc/self"));
}

#[test]
fn a_group_that_cannot_be_limited_leaves_nothing_behind() {
    let machine = Machine::v1();
    fs::remove_file(machine.path("sys/fs/cgroup/blkio/blkio.throttle.read_iops_device")).unwrap();
    let error = Cgroup::new(&machine.hierarchy(), "faultline-77-0", both()).unwrap_err().to_string();
    assert!(error.contains("CONFIG_BLK_DEV_THROTTLING"), "{error}");
    for folder in ["sys/fs/cgroup/memory/session/one", "sys/fs/cgroup/blkio"] {
        assert!(!machine.path(folder).join("faultline-77-0").exists());
    }
}

#[test]
fn limits_that_mean_nothing_and_names_that_cannot_be_cleaned_up_are_refused() {
    let hierarchy = Machine::v1().hierarchy();
    let refusal = |name: &str, limits: Limits| Cgroup::new(&hierarchy, name, limits).unwrap_err().to_string();
    assert!(refusal("mine", both()).contains("never be cleaned up"));
    assert!(refusal("faultline-/../../mine", both()).contains("never be cleaned up"));
    assert!(refusal("faultline-1", Limits { device: None, ..both() }).contains("no"));
    assert!(refusal("faultline-1", Limits { memory_bytes: Some(0), ..both() }).contains("limit of 0"));
}

#[test]
fn a_group_with_somebody_inside_stays_and_the_caller_hears_of_it() {
    let machine = Machine::v1();
    let limits = Limits { memory_bytes: Some(1 << 20), ..Limits::default() };
    let cgroup = Cgroup::new(&machine.hierarchy(), "faultline-77-0", limits).unwrap();
    let path = cgroup.paths()[0].clone();
    cgroup.admit(1).unwrap();
    assert_eq!(cgroup.remove().unwrap_err().kind(), io::ErrorKind::ResourceBusy);
    assert!(path.exists());
}

#[test]
fn counters_of_v1_and_v2_mean_the_same() {
    let memory = Memory {
        used_bytes: Some(33_000_000),
        peak_bytes: None,
        file_bytes: Some(31_485_952),
        anonymous_bytes: Some(135_168),
        mapped_bytes: Some(4096),
        dirty_bytes: Some(8192),
        writeback_bytes: None,
        faults: Some(217),
        major_faults: Some(94),
        refaulted_pages: Some(6618),
        limit_hits: Some(383),
        out_of_memory_kills: Some(1),
    };
    let machine = Machine::v1();
    let cgroup = Cgroup::new(&machine.hierarchy(), "faultline-77-0", both()).unwrap();
    let group = "sys/fs/cgroup/memory/session/one/faultline-77-0";
    // Of the group alone, and with those below it, as v2 has it.
    let stat = "cache 1\nrss 1\nmapped_file 1\ndirty 1\npgfault 1\npgmajfault 1\nworkingset_refault_file 1\n\
                total_cache 31485952\ntotal_rss 135168\ntotal_rss_huge 0\ntotal_mapped_file 4096\ntotal_dirty 8192\n\
                total_workingset_refault_anon 0\ntotal_workingset_refault_file 6618\ntotal_pgfault 217\ntotal_pgmajfault 94\n";
    machine.write(&format!("{group}/memory.stat"), stat);
    machine.write(&format!("{group}/memory.usage_in_bytes"), "33000000\n");
    machine.write(&format!("{group}/memory.max_usage_in_bytes"), "33554432\n");
    machine.write(&format!("{group}/memory.failcnt"), "383\n");
    machine.write(&format!("{group}/memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    let service = "253:0 Read 1\n254:0 Read 268435456\n254:0 Write 0\n254:0 Total 268435456\nTotal 268435457\n";
    machine.write("sys/fs/cgroup/blkio/faultline-77-0/blkio.throttle.io_service_bytes", service);
    let expected = Memory { peak_bytes: Some(33_554_432), ..memory };
    assert_eq!(cgroup.statistics(), Statistics { memory: Ok(expected), device_read_bytes: Ok(268_435_456) });

    let machine = Machine::v2();
    let cgroup = Cgroup::new(&machine.hierarchy(), "faultline-77-0", both()).unwrap();
    let write = |file: &str, text: &str| machine.write(&format!("{V2_OWN}/faultline-77-0/{file}"), text);
    // A kernel before 5.9 and 5.19: one counter for refaults, no peak.
    write(
        "memory.stat",
        "anon 135168\nfile 31485952\nfile_mapped 4096\nfile_dirty 8192\npgfault 217\npgmajfault 94\nworkingset_refault 6618\n",
    );
    write("memory.current", "33000000\n");
    write("memory.events", "low 0\nhigh 0\nmax 383\noom 1\noom_kill 1\n");
    write("io.stat", "253:0 rbytes=1 wbytes=0\n254:0 rbytes=268435456 wbytes=0 rios=200 wios=0 dbytes=0 dios=0\n");
    assert_eq!(cgroup.statistics(), Statistics { memory: Ok(memory), device_read_bytes: Ok(268_435_456) });
}

#[test]
fn only_directories_of_a_cgroup_file_system_are_groups() {
    assert!(!is_group(Path::new("/no/such")));
    assert!(!is_group(&std::env::temp_dir()));
    assert!(!is_group(Path::new("/proc/self/status")));
}

#[test]
fn names_are_different_each_time() {
    let (first, second) = (name(), name());
    assert_ne!(first, second);
    assert!(first.starts_with(&format!("{PREFIX}{}-", std::process::id())), "{first}");
}

/// The rest asks the real kernel.
fn limited(limits: &Limits) -> Option<(Hierarchy, Cgroup)> {
    let hierarchy = Hierarchy::detect();
    match Cgroup::new(&hierarchy, &name(), limits.clone()) {
        Ok(cgroup) => Some((hierarchy, cgroup)),
        Err(reason) => {
            println!("skipped: {reason}");
            None
        }
    }
}

/// A shell that waits until it is in its cgroup.
fn gated(script: &str) -> Child {
    let script = format!("read go; {script}");
    Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

const FILE_BYTES: u64 = 32 << 20;

/// A file on a disk, not in the page cache; and the disk's number.
fn evicted_file() -> Option<(tempfile::NamedTempFile, String)> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let device = crate::mount::file_system(file.path()).unwrap().device;
    let number = crate::device::Disk::of(&device).and_then(|disk| disk.number());
    if let Err(reason) = &number {
        println!("skipped: there is no disk under the temporary folder ({reason})");
    }
    let number = number.ok()?;
    file.write_all(&vec![7; FILE_BYTES as usize]).unwrap();
    crate::cache::evict(file.as_file(), 0, 0).unwrap();
    Some((file, number))
}

#[test]
fn a_limited_process_reads_the_file_anew_because_it_does_not_fit() {
    let Some((file, _)) = evicted_file() else { return };
    let limits = Limits { memory_bytes: Some(FILE_BYTES / 2), ..Limits::default() };
    let Some((_hierarchy, cgroup)) = limited(&limits) else { return };
    let shown = file.path().display();
    let mut child = gated(&format!("cat {shown} {shown}"));
    cgroup.admit(child.id()).unwrap();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(child.wait().unwrap().success());
    let memory = cgroup.statistics().memory.unwrap();
    assert!(memory.used_bytes.unwrap() <= FILE_BYTES / 2, "{memory:?}");
    assert!(memory.limit_hits.unwrap() > 0, "{memory:?}");
    let paths = cgroup.paths();
    assert!(paths.iter().all(|path| is_group(path)));
    cgroup.remove().unwrap();
    assert!(paths.iter().all(|path| !path.exists()));
}

#[test]
fn a_throttled_process_has_its_reads_counted_and_its_group_taken_away_when_it_is_killed() {
    let Some((file, device)) = evicted_file() else { return };
    let limits = Limits { read_bytes_per_s: Some(1 << 30), device: Some(device), ..Limits::default() };
    let Some((_hierarchy, cgroup)) = limited(&limits) else { return };
    let mut child = gated(&format!("cat {}; read forever", file.path().display()));
    cgroup.admit(child.id()).unwrap();
    let mut gate = child.stdin.take().unwrap();
    gate.write_all(b"go\n").unwrap();
    let began = std::time::Instant::now();
    while cgroup.statistics().device_read_bytes.unwrap() < FILE_BYTES {
        assert!(began.elapsed() < Duration::from_secs(120), "{:?}", cgroup.statistics());
        thread::yield_now();
    }
    child.kill().unwrap();
    let paths = cgroup.paths();
    drop(cgroup);
    assert!(paths.iter().all(|path| !path.exists()));
    child.wait().unwrap();
}

#[test]
fn a_throttle_on_something_that_is_no_disk_is_refused_in_words() {
    let hierarchy = Hierarchy::detect();
    // The largest minor number there is, of memory devices, which are no disks.
    match hierarchy.can_throttle("1:1048575", Some(&|_| Ok(()))) {
        Err(reason) if reason.contains("is no whole disk") => {}
        Err(reason) => println!("skipped: {reason}"),
        Ok(()) => panic!("nothing has this number"),
    }
}

#[test]
fn any_process_has_a_memory_group_or_a_reason_why_not() {
    match super::memory_of(std::process::id()) {
        Ok(memory) => assert!(memory.file_bytes.is_some() || memory.faults.is_some(), "{memory:?}"),
        Err(reason) => println!("skipped: {reason}"),
    }
    // Beyond any process number (PID_MAX_LIMIT is 2²²).
    assert!(super::memory_of(1 << 30).unwrap_err().contains("/proc/1073741824/cgroup"));
}
