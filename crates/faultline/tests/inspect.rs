//! `faultline inspect`: files and processes, one's own and strangers'.

use schema::inspection::Inspection;

use crate::support::{Sandbox, is_root};

#[track_caller]
fn shows(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
}

#[test]
fn a_file_is_shown_with_its_residency_and_its_bytes_stay() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("data", 1 << 20);
    let before = std::fs::read(&file).unwrap();
    shows(&sandbox.run(&["inspect", &file]).expect(0).stdout, &["of 256 pages", "Mapped by"]);
    let output = sandbox.run(&["inspect", &file, "--json"]).expect(0);
    let Inspection::File(view) = serde_json::from_str(&output.stdout).unwrap() else { panic!("{}", output.stdout) };
    assert_eq!(view.bytes, 1 << 20);
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn a_process_is_shown_by_its_number() {
    let sandbox = Sandbox::new();
    let me = std::process::id().to_string();
    shows(&sandbox.run(&["inspect", &me]).expect(0).stdout, &[&me, "mappings", "private"]);
}

#[test]
fn what_is_not_there_is_named() {
    let sandbox = Sandbox::new();
    sandbox.run(&["inspect", "/no/such/file"]).refused(1, &["/no/such/file", "No such file"]);
    sandbox.run(&["inspect", "4194305"]).refused(1, &["there is no process 4194305"]);
    sandbox.run(&["inspect", "/"]).refused(1, &["not a regular file"]);
}

#[test]
fn doctor_brings_no_page_of_the_users_file_into_the_page_cache() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("file", 1 << 20);
    let file = std::fs::File::open(&path).unwrap();
    file.sync_all().unwrap();
    sys::cache::evict(&file, 0, 0).unwrap();
    let way = sys::cache::Way::ALL.into_iter().find(|it| it.shows(&file)).unwrap();
    let before = way.resident_pages(&file, 0, 1 << 20).unwrap();
    let examined = sandbox.run(&["doctor", &path]).expect(0);
    examined.shows(&["ok  method stdio-mmap"]);
    assert_eq!(way.resident_pages(&file, 0, 1 << 20).unwrap(), before);
}

#[test]
fn a_stranger_is_told_why_there_is_no_residency() {
    if !is_root() {
        println!("skipped: making a file of somebody else's takes root");
        return;
    }
    let Some(sandbox) = Sandbox::of_ordinary_user() else { return };
    // Of the package that this is: readable by all, root's.
    let file = "/etc/passwd";
    shows(&sandbox.run(&["inspect", file]).expect(0).stdout, &["only to its owner", "root"]);
}
