//! Completions and manual pages.

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use crate::support::Sandbox;

/// The commands that the help lists.
fn listed(sandbox: &Sandbox) -> Vec<String> {
    let help = sandbox.run(&["--help"]).expect(0).stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let names = commands.lines().filter_map(|it| it.strip_prefix("  ")?.split(' ').next().map(String::from));
    names.filter(|it| !it.is_empty() && it != "help").collect()
}

#[test]
fn every_shell_gets_completions_for_every_command_and_for_the_words_of_options() {
    let sandbox = Sandbox::new();
    let commands = listed(&sandbox);
    assert!(commands.len() > 14 && commands.contains(&"completions".into()), "{commands:?}");
    let options = ["as-is", "stdio-mmap", "overwrite-random"];
    let all = [&options[..], &["dillon-2001"]].concat();
    // The others do not complete every kind of value.
    for (shell, words) in [("bash", &all[..]), ("zsh", &all), ("fish", &options), ("elvish", &[]), ("powershell", &[])]
    {
        let script = sandbox.run(&["completions", shell]).expect(0).stdout;
        for word in commands.iter().map(String::as_str).chain(words.iter().copied()) {
            assert!(script.contains(word), "{shell}: {word}");
        }
        assert!(!script.contains("worker protocol") && !script.contains(" worker "), "{shell}");
    }
    sandbox.run(&["completions", "csh"]).expect(2);
}

#[test]
fn bash_takes_its_script_and_completes_a_state() {
    let sandbox = Sandbox::new();
    let script = sandbox.run(&["completions", "bash"]).expect(0).stdout;
    let asked =
        "COMP_WORDS=(faultline run --state l); COMP_CWORD=3; _faultline faultline l --state; echo ${COMPREPLY[*]}";
    let shell = Command::new("bash").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut shell) = shell else { return println!("skipped: no bash") };
    shell.stdin.take().unwrap().write_all(format!("{script}\n{asked}\n").as_bytes()).unwrap();
    let output = shell.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "locked limited", "{output:?}");
}

#[test]
fn words_of_options_are_still_refused_with_the_nearest_one() {
    let output = Sandbox::new().run(&["run", ".", "--state=cashed"]).expect(2);
    output.says(&["unknown state \"cashed\"", "cached"]);
}

#[test]
fn there_is_a_manual_page_for_every_command_and_none_for_what_is_hidden() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("man");
    sandbox.run(&["man", "--dir", &folder]).expect(0);
    let mut pages: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    pages.sort();
    let mut expected: Vec<String> = listed(&sandbox).iter().map(|it| format!("faultline-{it}.1")).collect();
    let below = ["export", "import", "record", "show"].map(|it| format!("faultline-trace-{it}.1"));
    expected.extend(below);
    expected.push("faultline.1".into());
    expected.sort();
    assert_eq!(pages, expected);
    let page = fs::read_to_string(format!("{folder}/faultline-run.1")).unwrap();
    assert!(page.contains(".SH \"EXIT STATUS\"") && page.contains(r"\-\-budget"), "{page}");
    assert_eq!(sandbox.run(&["man", "run"]).expect(0).stdout, page);
    let record = sandbox.run(&["man", "trace-record"]).expect(0).stdout;
    assert!(record.contains(r"\-\-exact\-budget"), "{record}");
    let first = sandbox.run(&["man"]).expect(0).stdout;
    assert_eq!(first, fs::read_to_string(format!("{folder}/faultline.1")).unwrap());
    assert!(!first.contains("worker protocol"));
    sandbox.run(&["man", "--dir", &folder]).refused(2, &["exists already", "--force"]);
    sandbox.run(&["man", "--dir", &folder, "--force"]).expect(0);
    sandbox.run(&["man", "--dir=no/such"]).refused(2, &["there is no folder no/such"]);
    sandbox.run(&["man", "rum"]).refused(2, &["did you mean \"run\"?"]);
    sandbox.run(&["man", "worker"]).refused(2, &["no command \"worker\""]);
}
