//! What docs/ARCHITECTURE.md says is absent ("The crates", "Invariants"), read from manifests and sources.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::imports::{Crate, without_tests_and_comments};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every crate, and of which others of ours it is built.
const CRATES: &[(&str, &[&str])] = &[
    ("crates/schema", &[]),
    ("crates/sys", &[]),
    ("crates/worker", &["schema", "sys"]),
    ("crates/lab", &["schema", "sys"]),
    ("crates/analysis", &["schema"]),
    ("crates/report", &["schema"]),
    ("crates/history", &["schema", "sys"]),
    ("crates/planted", &["schema"]),
    ("crates/faultline", &["analysis", "history", "lab", "report", "schema", "sys", "worker"]),
    ("xtask", &[]),
];

/// What a crate is built of; what its tests use beside that does not count.
fn dependencies(krate: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join(krate).join("Cargo.toml")).unwrap();
    let section = manifest.split("\n[").find_map(|it| it.strip_prefix("dependencies]")).unwrap_or_default();
    let lines = section.lines().filter(|it| !it.is_empty() && !it.starts_with('#'));
    lines.filter_map(|it| it.split(['.', ' ', '=']).next()).map(str::to_string).collect()
}

#[test]
fn each_crate_is_built_of_those_below_it_and_of_no_other() {
    let ours: BTreeSet<&str> = CRATES.iter().filter_map(|(krate, _)| krate.rsplit('/').next()).collect();
    let there = fs::read_dir(root().join("crates")).unwrap().count();
    assert_eq!(there + 1, CRATES.len(), "a crate is missing in the table");
    for (krate, expected) in CRATES {
        let all = dependencies(krate);
        let found: Vec<&str> = all.iter().map(String::as_str).filter(|it| ours.contains(it)).collect();
        assert_eq!(found, *expected, "{krate}");
        assert_eq!(all.contains("serde"), *krate == "crates/schema", "{krate}: serde is for schema");
    }
    assert_eq!(dependencies("crates/analysis").len(), 1, "analysis has nothing to do I/O with");
    for outside in ["anyhow", "libc", "rustix"] {
        assert!(!dependencies("crates/report").contains(outside), "report has nothing to do I/O with");
    }
}

/// An inlined instruction is faster than the call of a function, which programs pay for.
#[test]
fn system_calls_go_through_the_c_library() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let rustix = manifest.lines().find(|it| it.starts_with("rustix = ")).unwrap();
    assert!(rustix.contains("\"use-libc\""), "{rustix}");
}

#[test]
fn nothing_that_a_record_holds_is_an_estimate_or_a_finding() {
    let schema = Crate::read(&root().join("crates/schema/src"));
    let reached = schema.reached_from("record");
    for module in ["pass", "reading", "environment", "calibration"] {
        assert!(reached.contains(module), "{module} is not among {reached:?}");
    }
    for module in ["across", "answer", "claims", "estimate", "findings", "gate", "saved"] {
        assert!(!reached.contains(module), "a record holds what module {module} has");
    }
}

/// Words that the code of some files and folders does not have.
struct Absence {
    places: &'static [&'static str],
    words: &'static [&'static str],
    /// Files that have one of them all the same.
    but_in: &'static [&'static str],
}

const ABSENCES: &[Absence] = &[
    // A worker sees its job: no statistics, no states, no other passes.
    Absence {
        places: &["worker/src"],
        words: &["Record", "State", "Estimate", "Verdict", "Findings", "findings"],
        but_in: &[],
    },
    // The lab interprets no number.
    Absence { places: &["lab/src"], words: &["Estimate", "Verdict", "Findings", "findings"], but_in: &[] },
    Absence { places: &["history/src"], words: &["&mut Record", "mut record"], but_in: &[] },
    // The loop of a reading pass has neither a clock nor dynamic dispatch.
    Absence {
        places: &["worker/src/drive.rs", "worker/src/consume.rs", "worker/src/source", "worker/src/access"],
        words: &["Instant", "SystemTime", "clock_gettime", "dyn"],
        but_in: &[],
    },
    Absence { places: &["worker/src/method"], words: &["Instant", "SystemTime", "clock_gettime"], but_in: &[] },
    // Advice, eviction and prefaults are those of an arm, a state, a fill or a scenario. To see folio sizes, `folio.rs` maps
    // pages that are resident; to see single touches, `touches.rs` has the program that is recorded give advice, and
    // evicts the file when 1 MiB of it or more is mapped.
    Absence {
        places: &["."],
        words: &[
            "fadvise(",
            "madvise(",
            "mlock(",
            "mlock_with(",
            "readahead(",
            ".advise(",
            "cache::evict(",
            "fault_in(",
            "MapFlags::POPULATE",
        ],
        but_in: &[
            "lab/src/scenario/shared_write.rs",
            "lab/src/scenario/write_back.rs",
            "lab/src/state/cold.rs",
            "lab/src/state/fill.rs",
            "lab/src/target/named/mod.rs",
            "sys/src/cache.rs",
            "sys/src/folio.rs",
            "sys/src/follow/inject.rs",
            "sys/src/follow/touches.rs",
            "sys/src/pages.rs",
            "worker/src/access/advised.rs",
            "worker/src/mapping.rs",
            "worker/src/method/mmap.rs",
            "worker/src/observe/model.rs",
            "worker/src/writing/mapped.rs",
        ],
    },
    // What opens or makes a file to write to it: documents that were asked for, files of faultline's own, cgroups, disks in
    // memory, and the file that a job permits.
    Absence {
        places: &["."],
        words: &["fs::write(", ".write(true)", ".append(true)", "OFlags::WRONLY", "OFlags::RDWR", "File::create"],
        but_in: &[
            "faultline/src/output.rs",
            "lab/src/runtime/compiled/mod.rs",
            "lab/src/runtime/go/build.rs",
            "lab/src/runtime/jvm/classes.rs",
            "lab/src/scenario/direct_write.rs",
            "lab/src/scenario/throttled.rs",
            "sys/src/cgroup/fixture.rs",
            "sys/src/cgroup/mod.rs",
            "sys/src/folder.rs",
            "sys/src/guard.rs",
            "sys/src/memory_disk.rs",
            "sys/src/pages.rs",
            "sys/src/process.rs",
            "worker/src/writing/mod.rs",
        ],
    },
];

/// The code of a file or a folder below `crates`, by its path, without tests, comments and texts.
fn code(place: &Path, found: &mut Vec<(String, String)>) {
    if place.is_dir() {
        for entry in fs::read_dir(place).unwrap() {
            code(&entry.unwrap().path(), found);
        }
        return;
    }
    let shown = place.strip_prefix(root().join("crates")).unwrap().display().to_string();
    let shown = shown.trim_start_matches("./").to_string();
    if shown.contains("/src/") && shown.ends_with(".rs") && !shown.ends_with("/tests.rs") {
        let text = without_tests_and_comments(&fs::read_to_string(place).unwrap());
        found.push((shown, text.lines().map(without_texts).collect::<Vec<_>>().join("\n")));
    }
}

fn without_texts(line: &str) -> String {
    let line = line.replace("'\"'", "").replace("\\\"", "");
    line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

fn has(code: &str, word: &str) -> bool {
    let of_name = |it: char| it.is_alphanumeric() || it == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = word.starts_with(of_name) && code[..at].ends_with(of_name);
        let after = word.ends_with(of_name) && code[at + word.len()..].starts_with(of_name);
        !before && !after
    })
}

#[test]
fn what_a_place_must_not_do_has_no_word_in_its_code() {
    for Absence { places, words, but_in } in ABSENCES {
        let mut files = Vec::new();
        places.iter().for_each(|place| code(&root().join("crates").join(place), &mut files));
        assert!(!files.is_empty(), "{places:?}");
        for (path, code) in &files {
            let found: Vec<&&str> = words.iter().filter(|word| has(code, word)).collect();
            match but_in.contains(&path.as_str()) {
                true => assert!(!found.is_empty(), "{path} has none of {words:?} any more; take it off the list"),
                false => assert!(found.is_empty(), "{path} has {found:?}"),
            }
        }
        let gone = but_in.iter().find(|it| files.iter().all(|(path, _)| path != *it));
        assert!(gone.is_none(), "{gone:?} is not there");
    }
}

#[test]
fn a_word_is_found_in_code_and_not_in_a_name_a_text_or_a_comment() {
    assert!(has("let now = Instant::now();", "Instant") && has("rustix::fs::fadvise(file)", "fadvise("));
    assert!(!has("Instantly", "Instant") && !has("my_madvise(x)", "madvise("));
    let line = without_tests_and_comments("call(); // madvise(x)\nsays(\"madvise(x)\", '\"', \"a \\\" mlock(\")");
    assert!(!line.lines().map(without_texts).any(|it| has(&it, "madvise(") || has(&it, "mlock(")), "{line}");
}
