//! Arms in Java beside native ones: the real JVM where there is one, and folders that only look like one.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt};

use lab::runtime::jvm;
use schema::findings::Status;

use crate::{
    runtimes::{Unfit, is_here, listed, measured, refused, run, status, unavailable},
    support::{Running, Sandbox, failure},
};

pub fn has_jdk(version: Option<u32>) -> bool {
    is_here(jvm::find(version))
}

#[test]
fn native_arms_and_those_in_java_stand_in_one_comparison_from_the_same_states() {
    if !has_jdk(None) {
        return;
    }
    let (document, _) = run("mmap,jvm/mapped,jvm/channel-direct", &["--state=cold,cached,mapped"]);
    let readings = ["collections", "compile_ns", "first_pass_ns_per_op", "loop_bytes_per_s", "minor_faults"];
    measured(&document, "jvm", 6, &readings);
    // What it was.
    let [(name, about)] = &document.record.runtimes.iter().collect::<Vec<_>>()[..] else { panic!("one JVM") };
    assert!(name.starts_with("jvm ") && about["flags"].contains("-XX:+UseSerialGC"), "{name} {about:?}");
    // The loops of both stand beside each other.
    let arms: Vec<&str> = document.findings.runtimes.iter().map(|it| it.arm.as_str()).collect();
    assert_eq!(arms, ["jvm/channel-direct", "jvm/mapped", "native/mmap"]);
    assert!(document.findings.runtimes.iter().all(|it| it.loop_bytes_per_s.unwrap() > 1e6));
}

#[test]
fn under_a_memory_limit_the_file_has_its_share_whatever_the_jvm_takes_itself() {
    if !has_jdk(None) {
        return;
    }
    let sandbox = Sandbox::new();
    let experiment = sandbox.write(
        "limited.toml",
        "title = \"Less memory\"\n[[compare]]\nworkload = \"scan\"\nblock = \"64 KiB\"\nstate = \"limited\"\n\
         arms = [\"pread\", \"jvm/mapped\"]\n",
    );
    let file = sandbox.file("file", 64 << 20);
    let output = sandbox.run(&["run", &file, "-e", &experiment, "--rounds=1", "--budget=44s", "--json"]);
    output.sane();
    let record = output.document().record;
    if let Some(reason) = record.cells.iter().find_map(|it| it.skipped.as_ref()) {
        println!("skipped: {reason}");
        return;
    }
    let share = record.conditions[0].memory_bytes.unwrap() as f64;
    assert_eq!(share, f64::from(32 << 20));
    for sample in record.samples.iter().filter(|it| record.cells[it.cell].arm.runtime == "jvm") {
        assert_eq!(failure(sample), None, "{sample:?}");
        let of = |name: &str| *sample.readings[name].value().unwrap_or_else(|| panic!("{name} of {sample:?}"));
        let [limit, own, cache] = ["cgroup_limit_bytes", "group_anonymous_bytes", "group_cache_bytes"].map(of);
        assert!(limit > share + own && cache <= limit - own && cache > share / 2.0, "{limit} {own} {cache}");
        assert!(of("device_read_bytes") > 0.0);
    }
}

#[test]
fn two_jdks_are_arms_of_one_experiment() {
    if !has_jdk(Some(17)) || !has_jdk(Some(25)) {
        return;
    }
    let (document, _) = run("jvm/mapped+jdk=17,jvm/mapped+jdk=25", &["--state=as-is"]);
    let names: Vec<&String> = document.record.runtimes.keys().collect();
    assert!(names[0].starts_with("jvm 17.") && names[1].starts_with("jvm 25."), "{names:?}");
    assert!(document.findings.cells.iter().all(|it| it.status == Status::Ok), "{:?}", document.findings.cells);
}

#[test]
fn without_a_fitting_java_its_arms_are_unavailable_and_everything_else_runs() {
    unavailable("FAULTLINE_JAVA", "jvm/mapped", &unfit(&Sandbox::new()));
    // A version that does not exist, on a machine with others or without any.
    let (document, output) = run("read,jvm/mapped+jdk=99", &[]);
    assert_eq!(output.code(), Some(4));
    let reason = status(&document, "jvm/mapped+jdk=99").1;
    assert!(["no JDK 99 was found", "install JDK 99"].iter().any(|it| reason.contains(it)), "{reason}");
}

/// Folders in which no JDK is that could be used, and what is said of each.
fn unfit(sandbox: &Sandbox) -> [Unfit; 3] {
    let old = jdk(sandbox, "old", "11.0.2", &[("java", ""), ("javac", "")]);
    let jre = jdk(sandbox, "jre", "21.0.1", &[("java", "")]);
    [
        (old, "Java 11.0.2 is too old; install a JDK of version 17 or later"),
        (jre, "Java 21.0.1 has no compiler (javac); install a JDK"),
        (sandbox.folder("nothing"), "is not a Java installation; name the folder of a JDK"),
    ]
}

#[test]
fn a_java_that_cannot_be_used_is_a_usage_error_wherever_it_may_be_named() {
    let sandbox = Sandbox::new();
    let mut unfit = unfit(&sandbox).to_vec();
    unfit.push(("/no/such/jdk".into(), "/no/such/jdk (--java) is not a Java installation"));
    refused("--java", &unfit);
}

#[test]
fn the_lists_say_which_java_is_used_or_what_to_install() {
    let sandbox = Sandbox::new();
    let jre = jdk(&sandbox, "jre", "21.0.1", &[("java", "")]);
    let methods = ["jvm/mapped", "jvm/reader-lines", "not available here: Java 21.0.1 has no compiler"];
    listed("FAULTLINE_JAVA", &jre, &methods, &["--  runtime jvm", "install a JDK, not only a JRE"]);
}

/// A worker that is started as Java and is this script instead.
fn runs_on(java: &str, words: &[&str]) {
    let sandbox = Sandbox::new();
    let home = jdk(
        &sandbox,
        "jdk",
        "25",
        &[("java", java), ("javac", ""), ("jar", r#"for word; do case "$word" in *.jar) touch "$word";; esac; done"#)],
    );
    let cache = sandbox.folder("cache");
    let file = sandbox.file("file", 1 << 20);
    let mut command = sandbox.command(&[
        "run",
        &file,
        "--json",
        "--rounds=2",
        "--method=read,jvm/mapped",
        "--state=as-is",
        "--workload=scan",
        "--block=64KiB",
        "--budget=44s",
        "--java",
        &home,
    ]);
    command.env("XDG_CACHE_HOME", cache);
    let output = Running::new(command).end();
    output.sane();
    let document = output.document();
    assert_eq!(status(&document, "native/read").0, Status::Ok, "the run went on");
    let failed: Vec<&str> = document.record.samples.iter().filter_map(failure).collect();
    assert_eq!(failed.len(), 2, "each pass in Java failed: {failed:?}");
    for word in words {
        assert!(failed.iter().all(|it| it.contains(word)), "{word:?} is not in {failed:?}");
    }
}

const HELLO: &str = r#"read request; echo '{"hello":{"protocol":1,"runtime":"jvm 25","methods":[]}}'"#;

#[test]
fn a_jvm_that_prints_to_stdout_is_quoted_and_the_run_goes_on() {
    runs_on(
        "read request; echo '[0.004s][info][class,load] java.lang.Object'; read more",
        &["not a reply", "java.lang.Object"],
    );
    // A crash: its first line alone would say nothing.
    runs_on(
        &format!("{HELLO}; read request; echo '#'; echo '#  SIGSEGV (0xb) at pc=0x00007f'; exit 134"),
        &["not a reply", "SIGSEGV (0xb)"],
    );
}

#[test]
fn a_jvm_that_is_out_of_heap_leaves_its_last_words_and_the_run_goes_on() {
    runs_on(
        &format!("{HELLO}; read request; echo 'java.lang.OutOfMemoryError: Java heap space' >&2; exit 3"),
        &["status 3", "java.lang.OutOfMemoryError: Java heap space"],
    );
}

#[test]
fn a_javac_that_fails_is_quoted() {
    let sandbox = Sandbox::new();
    let home = jdk(
        &sandbox,
        "jdk",
        "25",
        &[("java", ""), ("javac", "echo 'error: release version 17 not supported' >&2; exit 2")],
    );
    let (document, output) = run("read,jvm/mapped", &["--java", &home]);
    assert_eq!(output.code(), Some(4));
    let reason = status(&document, "jvm/mapped").1;
    assert!(reason.contains("javac of Java 25") && reason.contains("release version 17 not supported"), "{reason}");
}

/// A folder that looks like a JDK, with these programs as shell scripts.
fn jdk(sandbox: &Sandbox, name: &str, version: &str, programs: &[(&str, &str)]) -> String {
    let home = sandbox.folder(name);
    sandbox.folder(&format!("{name}/bin"));
    sandbox.write(&format!("{name}/release"), format!("JAVA_VERSION=\"{version}\"\n"));
    for (program, script) in programs {
        let path = sandbox.write(&format!("{name}/bin/{program}"), format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    home
}

#[test]
fn of_a_jvm_the_reads_of_the_pass_are_counted_and_not_those_of_the_worker() {
    if !has_jdk(None) {
        return;
    }
    // A class may be loaded during a pass, but not during each.
    let mut beside = BTreeMap::<(usize, String), f64>::new();
    let is_exact = |beside: &BTreeMap<(usize, String), f64>| beside.values().all(|it| (0.0..4.0).contains(it));
    for turn in 0..3 {
        if turn > 0 && is_exact(&beside) {
            break;
        }
        let (document, _) = run("jvm/mapped,jvm/channel-positional", &["--state=cached", "--threads=1,4"]);
        let record = &document.record;
        for sample in record.samples.iter().filter(|it| matches!(it.outcome, schema::record::Outcome::Ok { .. })) {
            let cell = &record.cells[sample.cell];
            let Some(calls) = sample.readings["read_calls"].value() else { continue };
            let of_pass = if cell.arm.name == "jvm/mapped" { 0 } else { record.conditions[cell.condition].ops };
            let least = beside.entry((cell.condition, cell.arm.name.clone())).or_insert(f64::INFINITY);
            *least = least.min(calls - of_pass as f64);
        }
    }
    assert!(!beside.is_empty() && is_exact(&beside), "{beside:?}");
}
