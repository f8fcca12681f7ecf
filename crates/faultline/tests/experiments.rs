//! Experiments and options that cannot be understood: exit code 2, the place, and the nearest name.

use crate::support::Sandbox;

/// Runs an experiment file with this content on a small file.
#[track_caller]
fn refused(content: impl AsRef<[u8]>, words: &[&str]) {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    sandbox.write("my.toml", content);
    for more in [&[][..], &["--dry-run"]] {
        sandbox.run(&[&["run", &file, "-e", "my.toml"], more].concat()).refused(2, words);
    }
    assert_eq!(sandbox.saved(), None);
}

#[test]
fn a_file_of_random_bytes_is_refused_with_its_line() {
    let mut random = fastrand::Rng::with_seed(7);
    for length in [1, 10, 1000, 100_000] {
        let mut content: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
        content.push(0xff);
        refused(content, &["my.toml:", "UTF-8"]);
    }
    refused("\u{1}\u{2}", &["my.toml:1:"]);
    refused("", &["my.toml"]);
    refused("[".repeat(100_000), &["my.toml:1:"]);
}

#[test]
fn one_thread_shares_its_file_with_no_other() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let run = |more: &[&str]| sandbox.run(&[&["run", &file, "--dry-run", "--descriptor=shared"], more].concat());
    run(&[]).refused(2, &["--descriptor", "--threads 2"]);
    run(&["--threads=2"]).expect(0);
    // A comparison with one thread beside one with several keeps what it has.
    let compare = |threads: u32| {
        format!(
            "[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cached\"\nthreads = {threads}\n\
             arms = [\"read\", \"mmap\"]\n"
        )
    };
    let both = sandbox.write("both.toml", format!("title = \"t\"\n{}{}", compare(1), compare(2)));
    run(&["-e", &both]).expect(0);
}

#[test]
fn a_typing_mistake_is_answered_with_its_line_and_the_nearest_name() {
    refused(
        "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cahced\"\narms = [\"read\"]\n",
        &["my.toml:5:", "\"cahced\"", "did you mean \"cached\"?"],
    );
    refused(
        "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cold\"\narms = [\"raed\"]\n",
        &["my.toml:6:", "\"raed\"", "did you mean \"read\"?"],
    );
}

#[test]
fn numbers_beyond_all_reason_are_refused_and_never_overflow() {
    let with = |line: &str| {
        format!(
            "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cold\"\narms = [\"read\"]\n{line}\n"
        )
    };
    refused(with("ops = 0"), &["my.toml:7:"]);
    refused(with("ops = -1"), &["my.toml:7:"]);
    refused(with("ops = 99999999999999999999999"), &["my.toml:7:"]);
    refused(with("threads = 100000"), &["my.toml:7:"]);
    refused(with("range = { share = 7.0 }"), &["my.toml:7:"]);
    refused(with("range = { share = nan }"), &["my.toml:7:"]);
    for budget_s in ["0", "31536001", "4294967295"] {
        refused(format!("budget_s = {budget_s}\n{}", with("")), &["my.toml", "budget_s", budget_s]);
    }
    for budget_s in ["-1", "99999999999"] {
        refused(format!("budget_s = {budget_s}\n{}", with("")), &["my.toml:1:", budget_s]);
    }
}

#[test]
fn an_experiment_has_the_budget_that_it_says_unless_the_user_says_another() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let compare =
        "[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cached\"\narms = [\"read\", \"mmap\"]\n";
    sandbox.write("own.toml", format!("title = \"t\"\nbudget_s = 240\n{compare}"));
    sandbox.write("none.toml", format!("title = \"t\"\n{compare}"));
    for (experiment, more, expected_s) in
        [("own.toml", &[][..], 240.0), ("none.toml", &[], 60.0), ("own.toml", &["--budget=50s"], 50.0)]
    {
        let planned = sandbox.run(&[&["run", &file, "-e", experiment, "--dry-run", "--json"], more].concat()).expect(0);
        let planned: serde_json::Value = serde_json::from_str(&planned.stdout).unwrap();
        assert_eq!(planned["expected_s"], expected_s, "{experiment} {more:?}");
    }
}

#[test]
fn options_that_make_one_comparison_of_two_leave_the_arms_of_both() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let compare = |block: &str, arms: &str| {
        format!("[[compare]]\nworkload = \"scan\"\nblock = \"{block}\"\nstate = \"cached\"\narms = [{arms}]\n")
    };
    let own = [compare("4 KiB", "\"read\", \"mmap\""), compare("1 MiB", "\"read\", \"pread\"")].concat();
    let own = sandbox.write("own.toml", format!("title = \"t\"\n{own}"));
    let arms = |more: &[&str]| -> Vec<Vec<String>> {
        let planned = sandbox.run(&[&["run", &file, "-e", &own, "--dry-run", "--json"], more].concat()).expect(0);
        let planned: schema::plan::PlannedRun = serde_json::from_str(&planned.stdout).unwrap();
        let names = |it: &schema::plan::PlannedCondition| it.cells.iter().map(|it| it.arm.name.clone()).collect();
        planned.conditions.iter().map(names).collect()
    };
    assert_eq!(arms(&[]), [["native/read", "native/mmap"], ["native/read", "native/pread"]]);
    assert_eq!(arms(&["--block=64KiB"]), [["native/read", "native/mmap", "native/pread"]]);
}

#[test]
fn passes_of_more_blocks_than_can_be_counted_do_not_crash() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 10_000);
    for line in ["ops = 9223372036854775807", "range = { offset = \"1 TiB\" }", "range = { bytes = 0 }"] {
        let experiment = sandbox.write(
            "my.toml",
            format!(
                "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cached\"\n\
                 arms = [\"read\", \"mmap\"]\n{line}\n"
            ),
        );
        sandbox.run(&["run", &file, "-e", &experiment, "--rounds=1", "--budget=2s"]).sane();
    }
}

#[test]
fn an_unknown_experiment_is_answered_with_the_nearest_name() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "-e", "surwey"]).refused(2, &["\"surwey\"", "did you mean \"survey\"?"]);
    sandbox.run(&["run", "-e", "zzzzzzzz"]).refused(2, &["built in are survey"]);
    sandbox.run(&["run", "-e", "."]).refused(2, &["cannot read ."]);
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn combinations_that_leave_nothing_to_compare_are_refused() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 4096);
    let experiment = sandbox.write(
        "scans.toml",
        "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cold\"\narms = [\"read\"]\n",
    );
    sandbox.run(&["run", &file, "-e", &experiment, "--workload=random"]).refused(2, &["workload random"]);
    sandbox.run(&["run", &file, "--block=0"]).refused(2, &["block of 0 B"]);
    sandbox.run(&["run", &file, "--block=2GiB"]).refused(2, &["2 GiB"]);
}

#[test]
fn options_that_cannot_be_understood_are_refused_with_what_would_be() {
    let sandbox = Sandbox::new();
    for (option, words) in [
        ("--state=cahced", ["cahced", "cached"]),
        ("--method=mmpa", ["mmpa", "mmap"]),
        ("--method=mmap+hugee", ["hugee", "mmap"]),
        ("--workload=scna", ["scna", "scan"]),
        ("--consume=sums", ["sums", "sum"]),
        ("--block=4KB4", ["4KB4", "block"]),
        ("--budget=soon", ["soon", "60s"]),
        ("--budget=1ms", ["1ms", "one second"]),
        ("--budget=18446744073709551615s", ["budget", "year"]),
        ("--method=read,mmap,read", ["read", "twice"]),
        ("--rounds=0", ["0", "1..=10000"]),
        ("--threads=0", ["0", "1..=1024"]),
        ("--runtime=cobol", ["cobol", "native"]),
        ("--seed=-1", ["-1", "seed"]),
    ] {
        let output = sandbox.run(&["run", ".", option]).expect(2);
        assert_eq!(output.stdout, "");
        output.says(&words);
    }
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn an_arm_that_was_named_is_not_left_out_by_its_runtime() {
    let sandbox = Sandbox::new();
    let args = ["run", ".", "--dry-run", "--size=1MiB", "--method=read,jvm/channel-direct", "--runtime"];
    sandbox.run(&[&args[..], &["native"]].concat()).refused(2, &["jvm/channel-direct", "--runtime"]);
    let both = sandbox.run(&[&args[..], &["native,jvm"]].concat());
    both.sane();
    // Without a JDK it is unavailable.
    assert!(matches!(both.code(), Some(0 | 4)), "{both:#?}");
}

#[test]
fn what_is_said_twice_is_meant_once() {
    let sandbox = Sandbox::new();
    let args = ["run", ".", "--dry-run", "--size=1MiB", "--workload=scan", "--method=read", "--block=4KiB,4096"];
    let output = sandbox.run(&[&args[..], &["--state=cached,cached"]].concat()).expect(0);
    assert_eq!(output.stdout.matches("scan 4 KiB cached").count(), 1, "{}", output.stdout);
}

#[test]
fn every_workload_that_was_asked_for_is_measured_or_none() {
    let sandbox = Sandbox::new();
    let args = ["run", ".", "--dry-run", "--size=1MiB", "--workload=scan,overwrite,update"];
    sandbox.run(&args).refused(
        2,
        &["no comparison with workload overwrite, update", "-e channel-vs-mapped-writing", "-e cse221-2003"],
    );
    sandbox.run(&["run", ".", "--dry-run", "--size=1MiB", "--workload=scan,random"]).expect(0);
}

#[test]
fn experiments_that_have_a_workload_are_named_and_not_the_one_that_has_it_not() {
    let sandbox = Sandbox::new();
    let refused = |name: &str, workload: &str| {
        sandbox.run(&["run", ".", "--dry-run", "-e", name, "--workload", workload]).expect(2).stderr
    };
    let named = |stderr: &str| stderr.matches("-e ").count();
    let none = refused("write-back", "append");
    assert_eq!(named(&none), 0, "{none}");
    let others = refused("write-back", "overwrite");
    assert!(others.contains("-e channel-vs-mapped-writing") && !others.contains("-e write-back"), "{others}");
    assert!(refused("survey", "overwrite-random").contains("-e write-back"));
}

#[test]
fn methods_that_were_named_are_compared_in_what_all_of_them_do() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("data.bin", 1 << 20);
    let args = ["run", &file, "--dry-run", "-e", "fills", "--method"];
    let output = sandbox.run(&[&args[..], &["pread,mmap"]].concat()).expect(0);
    assert!(output.stdout.contains("random 4 KiB") && !output.stdout.contains("overwrite"), "{}", output.stdout);
    // What was asked for by name is not left out, and where nothing else is left there is nothing to leave out.
    let asked = [&args[..], &["pread,mmap", "--workload=overwrite-random"]].concat();
    sandbox.run(&asked).refused(2, &["pread", "--workload random,scan"]);
    sandbox.run(&[&args[..], &["pread,pwrite"]].concat()).refused(2, &["pwrite", "random"]);
}

#[test]
fn a_run_that_was_never_saved_is_said_to_be_missing() {
    let sandbox = Sandbox::new();
    sandbox.run(&["report"]).refused(1, &["no run is saved"]);
    sandbox.run(&["report", "2026"]).refused(1, &["\"2026\""]);
    let garbage = sandbox.write("record.json", "{ \"schema_version\": 1, ");
    sandbox.run(&["report", &garbage]).refused(1, &["record.json"]);
    let newer = sandbox.write("newer.json", "{ \"schema_version\": 99 }");
    sandbox.run(&["report", &newer]).refused(1, &["newer.json", "99"]);
}
