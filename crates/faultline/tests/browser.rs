//! `--open`.

use std::{fs, os::unix::fs::PermissionsExt, process::Command, time::Duration};

use crate::support::{Output, Running, Sandbox};

const SAVED: &str = include_str!("../../schema/tests/records/version-1.json");

/// A program in a folder of its own that writes its arguments, one a line, beside itself.
fn browser(sandbox: &Sandbox, code: u8) -> String {
    let path = sandbox.write(
        "my browser",
        format!("#!/bin/sh\n[ {code} = 0 ] || exit {code}\nfor it; do echo \"$it\"; done > \"$0.tmp\"\n/bin/mv \"$0.tmp\" \"$0.args\"\n"),
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// What the program was given; it may be written after the command has ended, which does not wait for long.
fn arguments(program: &str) -> String {
    let path = format!("{program}.args");
    let mut found = None;
    sys::process::within(Duration::from_secs(120), || {
        found = fs::read_to_string(&path).ok();
        found.is_some()
    });
    fs::remove_file(&path).unwrap();
    found.unwrap()
}

fn with(mut command: Command, browser: Option<&str>) -> Output {
    // No other browser than this one.
    command.env("PATH", "/no/such/folder").env_remove("BROWSER");
    command.envs(browser.map(|it| ("BROWSER", it)));
    Running::new(command).end()
}

#[test]
fn a_page_is_opened_by_the_browser_and_its_name_is_one_argument() {
    let sandbox = Sandbox::new();
    let program = browser(&sandbox, 0);
    let saved = sandbox.write("saved.json", SAVED);
    let page = sandbox.at("a page; touch 'evil' #1.html");
    let args = ["report", &saved, "--open", "--html", &page];
    let output = with(sandbox.command(&args), Some(&format!("no-such-browser:'{program}' --new"))).expect(0);
    assert_eq!(output.stderr, "");
    let args = arguments(&program);
    let folder = fs::canonicalize(sandbox.path()).unwrap();
    let address = format!("file://{}/a%20page%3B%20touch%20%27evil%27%20%231.html", folder.display());
    assert_eq!(args.lines().collect::<Vec<_>>(), ["--new", &address]);
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE html>"));
    let page = sandbox.at("compared.html");
    let other = sandbox.write("other.json", SAVED.replacen("20261121T043214Z-46a3", "20261121T043214Z-46a4", 1));
    with(sandbox.command(&["compare", &saved, &other, "--open", "--html", &page]), Some(&format!("'{program}'")))
        .expect(3);
    let args = arguments(&program);
    assert!(args.ends_with("/compared.html\n"), "{args}");
}

#[test]
fn without_a_browser_there_is_the_page_a_sentence_and_the_exit_code_of_the_answer() {
    let sandbox = Sandbox::new();
    let failing = browser(&sandbox, 3);
    let saved = sandbox.write("saved.json", SAVED);
    for (browser, words) in [(None, &["xdg-open"][..]), (Some(&format!("'{failing}'")[..]), &["my browser", "3"])] {
        let page = sandbox.at("page.html");
        let output = with(sandbox.command(&["report", &saved, "--json", "--open", "--html", &page]), browser).expect(0);
        output.says(&["warning: ", "page.html is written", "$BROWSER"]);
        output.says(words);
        output.document();
        fs::remove_file(&page).unwrap();
    }
}

#[test]
fn only_a_page_in_a_file_can_be_opened_and_that_is_said_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let output = sandbox.run_short(&file, &["--open"]).expect(2);
    output.says(&["--html"]);
    sandbox.run_short(&file, &["--open", "--html=-"]).refused(2, &["--open", "name a file"]);
    sandbox.run(&["compare", "last", "last", "--open", "--html=-"]).refused(2, &["--open", "name a file"]);
    assert_eq!(sandbox.saved(), None);
}
