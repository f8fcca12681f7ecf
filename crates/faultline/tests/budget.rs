//! The budget ends a run, whatever else was asked for.

use schema::{Skip, record::Ending};

use crate::support::Sandbox;

#[test]
fn a_cell_of_which_no_pass_fits_into_the_budget_is_left_out_as_too_slow() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let experiment = sandbox.write(
        "long.toml",
        "title = \"Long\"\n[[compare]]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \"as-is\"\n\
         arms = [\"pread\", \"mmap\"]\nops = 20_000_000_000\n",
    );
    let output = sandbox.run(&["run", &file, "-e", &experiment, "--budget=20s", "--json"]).expect(3);
    let record = output.document().record;
    let too_long = |it: &schema::record::Cell| matches!(it.skipped, Some(Skip::TooLong { budget: true, .. }));
    assert!(record.cells.len() == 3 && record.cells.iter().all(too_long), "{:?}", record.cells);
    assert_eq!((record.samples.len(), record.partial), (0, None));
}

#[test]
fn rounds_that_were_asked_for_end_with_the_budget_and_the_record_says_so() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let output = sandbox.run_short(&file, &["--rounds=10000", "--budget=2s", "--json"]);
    output.sane();
    let record = output.document().record;
    assert_eq!((record.ending, record.partial), (Some(Ending::BudgetSpent), None));
    assert!(record.samples.iter().all(|it| it.round < 9_999));
    assert!(record.limits.iter().any(|it| it.contains("10000")), "{:?}", record.limits);
}

#[test]
fn a_dry_run_says_that_rounds_without_a_budget_have_no_end_by_time() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("file", 1 << 20);
    let takes = |more: &[&str]| {
        let output = sandbox.run(&[["run", file.as_str(), "--dry-run"].as_slice(), more].concat()).expect(0);
        output.stdout.lines().find(|it| it.starts_with("Takes:")).unwrap().replace('\u{a0}', " ")
    };
    assert!(takes(&[]).contains("60 s"));
    assert!(takes(&["--rounds=10000", "--budget=3s"]).contains("3 s"));
    let open = takes(&["--rounds=10000"]);
    assert!(open.contains("10,000 rounds") && !open.contains("60 s"), "{open}");
}
