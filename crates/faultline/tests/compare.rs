//! Saved runs looked at again and side by side. The record is one that the first schema version saved.

use std::fs;

use schema::{Record, across::Across, findings::Verdict};

use crate::support::Sandbox;

const SAVED: &str = include_str!("../../schema/tests/records/version-1.json");

fn record() -> Record {
    serde_json::from_str(SAVED).unwrap()
}

/// Every pass of the second run takes `percent` of the time.
fn taking(percent: u64) -> String {
    with_arms_taking(|_| true, percent)
}

/// The passes of some arms do.
fn with_arms_taking(which: impl Fn(&str) -> bool, percent: u64) -> String {
    let mut record = record();
    record.id = "20261122T000000Z-aaaa".into();
    let slow: Vec<bool> = record.cells.iter().map(|it| which(&it.arm.name)).collect();
    for sample in record.samples.iter_mut().filter(|it| slow[it.cell]) {
        if let schema::record::Outcome::Ok { phases, .. } = &mut sample.outcome {
            phases.work_ns = phases.work_ns * percent / 100;
            phases.open_ns = phases.open_ns.map(|it| it * percent / 100);
            phases.close_ns = phases.close_ns.map(|it| it * percent / 100);
        }
    }
    serde_json::to_string(&record).unwrap()
}

#[test]
fn a_run_of_the_first_schema_version_opens_as_a_page() {
    let sandbox = Sandbox::new();
    let saved = sandbox.write("saved.json", SAVED);
    let page = format!("{}.html", sandbox.write("page", ""));
    let output = sandbox.run(&["report", &saved, "--html", &page]);
    assert_eq!(output.code(), Some(0), "{output:#?}");
    assert!(fs::read_to_string(&page).unwrap().contains("The answer"));
    assert_eq!(sandbox.run(&["report", &saved, "--html", &page]).code(), Some(2), "already in the data folder");
}

#[test]
fn a_threshold_is_breached_only_by_what_it_is_about() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("first.json", SAVED);
    let slow = sandbox.write("slow.json", with_arms_taking(|arm| arm == "native/mmap", 400));
    let exit = |limit: &str| sandbox.run(&["compare", &first, &slow, "--fail-if", limit]).code();
    assert_eq!(exit("native/mmap scan cached slower 10%"), Some(5));
    assert_eq!(exit("native/mmap scan cached slower 900%"), Some(0));
    assert_eq!(exit("native/mmap faster 10%"), Some(0));
    assert_eq!(exit("native/mmap cold slower 10%"), Some(2), "a threshold that looks at nothing is a mistake");
}

#[test]
fn a_machine_that_is_slower_breaches_no_threshold_and_the_baseline_needs_three_runs_a_side() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("first.json", SAVED);
    let slow = sandbox.write("slow.json", taking(400));
    let output = sandbox.run(&["compare", &first, &slow, "--json"]);
    let across: Across = serde_json::from_str(&output.stdout).unwrap();
    assert!(across.versus[0].cells.iter().all(|it| it.verdict == Verdict::Slower), "{output:#?}");
    let exit = |limit: &str| sandbox.run(&["compare", &first, &slow, "--fail-if", limit]).code();
    assert_eq!(exit("native/mmap scan cached slower 10%"), Some(0));
    let baseline = record().cells.iter().find(|it| it.baseline).unwrap().arm.name.clone();
    let limit = format!("{baseline} slower 10%");
    assert_eq!(exit(&limit), Some(3));
    let side = |name: &str, percent: u64| {
        let runs = [0, 1, 2].map(|at| {
            let mut record: Record = serde_json::from_str(&taking(percent + at)).unwrap();
            record.id = format!("{name}-{at}");
            sandbox.write(&format!("{name}-{at}.json"), serde_json::to_string(&record).unwrap())
        });
        runs.join(",")
    };
    let (before, after) = (side("before", 100), side("after", 400));
    let output = sandbox.run(&["compare", &before, &after, "--json", "--fail-if", &limit]);
    assert_eq!(output.code(), Some(5), "{output:#?}");
    let across: Across = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((across.versus.len(), across.gates[0].checked == across.gates[0].absolute), (3, true));
    let twice = format!("{first},{first}");
    assert_eq!(sandbox.run(&["compare", &twice, &slow]).code(), Some(2), "a run counts once");
}

/// The second run, with its cells of an arm changed.
fn without(arm: &str, change: impl Fn(&mut schema::record::Cell)) -> String {
    let mut record: Record = serde_json::from_str(&taking(100)).unwrap();
    let of_arm: Vec<usize> = (0..record.cells.len()).filter(|&it| record.cells[it].arm.name == arm).collect();
    record.samples.retain(|it| !of_arm.contains(&it.cell));
    of_arm.into_iter().for_each(|it| change(&mut record.cells[it]));
    serde_json::to_string(&record).unwrap()
}

#[test]
fn a_regression_that_removes_a_cell_breaches_its_threshold() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("first.json", SAVED);
    let skipped = without("native/mmap", |it| it.skipped = Some("too slow for this budget: 3 ms per block".into()));
    let gone = without("native/mmap", |it| it.arm = "stdio".parse().unwrap());
    let nothing = {
        let mut record: Record = serde_json::from_str(&taking(100)).unwrap();
        record.samples.clear();
        serde_json::to_string(&record).unwrap()
    };
    for (name, text) in [("skipped.json", skipped), ("gone.json", gone), ("nothing.json", nothing)] {
        let second = sandbox.write(name, text);
        let output = sandbox.run(&["compare", &first, &second, "--json", "--fail-if", "native/mmap slower 10%"]);
        assert_eq!(output.code(), Some(5), "{name}: {output:#?}");
        let across: Across = serde_json::from_str(&output.stdout).unwrap();
        assert!(across.gates[0].checked == 0 && across.gates[0].is_breached(), "{name}: {:?}", across.gates);
    }
}

#[test]
fn a_kept_threshold_says_on_stderr_what_it_checked() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("first.json", SAVED);
    let second = sandbox.write("second.json", taking(100));
    // As `compare` prints the cell.
    let output = sandbox.run(&["compare", &first, &second, "--fail-if", "scan 4 KiB cached mmap slower 900 %"]);
    assert_eq!(output.code(), Some(0), "{output:#?}");
    assert!(output.stderr.contains("1 cell checked"), "{output:#?}");
}

#[test]
fn a_run_against_itself_is_refused_and_a_gate_on_it_does_not_pass() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("first.json", SAVED);
    assert_eq!(sandbox.run(&["compare", &first, &first]).code(), Some(2));
    assert_eq!(sandbox.run(&["compare", &first, &first, "--fail-if", "mmap slower 10%"]).code(), Some(2));
    // That is compared, and decides nothing.
    assert_eq!(sandbox.run(&["compare", &first, &first, "--anyway"]).code(), Some(3));
    let gate = ["--anyway", "--fail-if", "mmap slower 10%"];
    assert_eq!(sandbox.run(&[&["compare", &first, &first], &gate[..]].concat()).code(), Some(2));
    let mut other: Record = serde_json::from_str(SAVED).unwrap();
    other.id.push_str("-other");
    let other = sandbox.write("other.json", serde_json::to_string(&other).unwrap());
    let both = format!("{first},{other}");
    assert_eq!(sandbox.run(&[&["compare", &both, &first], &gate[..]].concat()).code(), Some(2), "on both sides");
}

#[test]
fn runs_that_share_no_cell_answer_nothing_even_when_told_to_compare_them() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("first.json", SAVED);
    let mut nothing: Record = serde_json::from_str(&taking(100)).unwrap();
    nothing.samples.clear();
    let nothing = sandbox.write("nothing.json", serde_json::to_string(&nothing).unwrap());
    sandbox.run(&["compare", &first, &nothing, "--anyway"]).expect(3).says(&["exit code 3"]);
}

#[test]
fn runs_whose_shared_cells_are_all_undecided_answer_nothing_and_a_threshold_that_they_keep_is_an_answer() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("first.json", SAVED);
    // Passes of which no two are alike.
    let mut wide: Record = serde_json::from_str(&taking(100)).unwrap();
    for (at, sample) in wide.samples.iter_mut().enumerate() {
        if let schema::record::Outcome::Ok { phases, .. } = &mut sample.outcome {
            phases.work_ns = phases.work_ns * [20, 500][at / 2 % 2] / 100;
        }
    }
    let wide = sandbox.write("wide.json", serde_json::to_string(&wide).unwrap());
    let output = sandbox.run(&["compare", &first, &wide, "--json"]);
    let across: Across = serde_json::from_str(&output.stdout).unwrap();
    let verdicts: Vec<Verdict> = across.versus[0].cells.iter().map(|it| it.verdict).collect();
    assert!(!verdicts.is_empty() && verdicts.iter().all(|it| *it == Verdict::Undecided), "{verdicts:?}");
    assert_eq!(output.code(), Some(3));
    let decided = sandbox.write("slow.json", taking(400));
    sandbox.run(&["compare", &first, &wide, &decided]).expect(0);
    sandbox.run(&["compare", &first, &wide, "--fail-if", "native/mmap slower 10000%"]).expect(0);
}

#[test]
fn runs_of_different_conditions_are_compared_only_when_told_to() {
    let sandbox = Sandbox::new();
    let mut other: Record = serde_json::from_str(&taking(400)).unwrap();
    other.conditions[0].file_bytes += 4096;
    let first = sandbox.write("first.json", SAVED);
    let other = sandbox.write("other.json", serde_json::to_string(&other).unwrap());
    let refused = sandbox.run(&["compare", &first, &other]);
    assert_eq!(refused.code(), Some(2));
    assert!(refused.stderr.contains("65540 KiB") && refused.stderr.contains("--anyway"), "{refused:#?}");
    let anyway = sandbox.run(&["compare", &first, &other, "--anyway"]);
    assert_eq!(anyway.code(), Some(0));
    assert!(anyway.stdout.contains("Not comparable:"), "{anyway:#?}");
}

#[test]
fn runs_beside_each_other_make_a_page_and_overwrite_none() {
    let sandbox = Sandbox::new();
    let first = sandbox.write("first.json", SAVED);
    let slow = sandbox.write("slow.json", taking(400));
    let page = sandbox.at("page.html");
    assert_eq!(sandbox.run(&["compare", &first, &slow, "--html", &page]).code(), Some(0));
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("20261122T000000Z-aaaa against") && text.contains(">mmap<") && text.len() < 6_000_000);
    assert_eq!(sandbox.run(&["compare", &first, &slow, "--html", &page]).code(), Some(2), "already in the data folder");
}

/// The rule of docs/FORMATS.md: the middle one, or the geometric mean of the middle two.
#[test]
fn a_median_of_the_json_is_computed_from_the_csv_by_the_rule_that_is_written_down() {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] * values[middle]).sqrt() }
    };
    let mut odd = record();
    odd.samples.retain(|sample| sample.round != 0);
    let mut counts = std::collections::BTreeSet::new();
    for record in [record(), odd] {
        let csv = report::csv(&record);
        let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<&str>>());
        let header = rows.next().unwrap();
        let column = |name: &str| header.iter().position(|it| *it == name).unwrap();
        let [status, arm, control] = ["status", "arm", "control"].map(column);
        let [total, ops, block, state] = ["total_ns", "done_ops", "block_bytes", "state"].map(column);
        let workload = column("workload");
        // Rows with a quoted field would be split in the wrong places.
        let rows: Vec<Vec<&str>> = rows.filter(|row| row.len() == header.len() && row[status] == "ok").collect();
        let findings = analysis::analyze(&record);
        for cell in findings.cells.iter().filter(|it| !it.control) {
            let Some(estimate) = cell.ns_per_op else { continue };
            let it = &cell.condition;
            let of_cell = rows.iter().filter(|row| {
                (row[arm], row[control]) == (&cell.arm.name, "false")
                    && (row[workload], row[state]) == (it.workload.word(), it.state.word())
                    && row[block] == it.block_bytes.to_string()
            });
            let number = |text: &str| text.parse::<f64>().unwrap();
            let values: Vec<f64> = of_cell.map(|row| number(row[total]) / number(row[ops])).collect();
            if values.len() != cell.samples as usize {
                continue;
            }
            counts.insert(values.len() % 2);
            let computed = median(values);
            assert!((computed / estimate.median - 1.0).abs() < 1e-9, "{}: {computed} {estimate:?}", cell.arm.name);
        }
    }
    assert_eq!(counts.len(), 2, "odd and even counts were looked at");
}

#[test]
fn runs_of_another_file_or_of_both_sides_are_not_judged_together() {
    let sandbox = Sandbox::new();
    let run = |id: &str, change: &dyn Fn(&mut Record)| {
        let mut record = record();
        record.id = id.into();
        change(&mut record);
        sandbox.write(&format!("{id}.json"), serde_json::to_string(&record).unwrap())
    };
    let same: Vec<String> = (0..6).map(|at| run(&format!("r{at}"), &|_| {})).collect();
    let larger = run("larger", &|it| it.conditions.iter_mut().for_each(|it| it.file_bytes += 4096));
    let gate = ["--fail-if", "native/mmap slower 900%"];
    let compare = |first: &[&String], second: &[&String]| {
        let side = |of: &[&String]| of.iter().map(|it| it.as_str()).collect::<Vec<&str>>().join(",");
        sandbox.run(&[&["compare", &side(first), &side(second)][..], &gate].concat())
    };
    let [a, b, c, d, e, f] = &same[..] else { panic!("six runs") };
    assert_eq!(compare(&[a, b, c], &[d, e, f]).code(), Some(0));
    // Beside none of the other side.
    compare(&[a, b, c, &larger], &[d, e, f]).refused(2, &["--anyway"]);
    compare(&[a, b, c], &[d, c, a]).refused(2, &["both sides"]);
}

#[test]
fn runs_of_the_first_side_that_would_be_left_out_are_a_usage_error() {
    let sandbox = Sandbox::new();
    let run = |id: &str, percent: u64| {
        let mut record: Record = serde_json::from_str(&taking(percent)).unwrap();
        record.id = id.into();
        sandbox.write(&format!("{id}.json"), serde_json::to_string(&record).unwrap())
    };
    let runs: Vec<String> = (0..8).map(|at| run(&format!("r{at}"), 100 + 100 * at)).collect();
    let side = |which: &[usize]| which.iter().map(|&at| runs[at].as_str()).collect::<Vec<&str>>().join(",");
    let exit = |first: &[usize], second: &[usize], more: &[&str]| {
        let (first, second) = (side(first), side(second));
        sandbox.run(&[&["compare", &first, &second][..], more].concat()).code()
    };
    assert_eq!(exit(&[0, 1, 2], &[3], &[]), Some(2));
    assert_eq!(exit(&[0, 1, 2, 3], &[4, 5, 6], &[]), Some(2));
    assert_eq!(exit(&[0], &[3, 4], &[]), Some(0));
    let gate = ["--fail-if", "native/mmap slower 900%"];
    assert_eq!(exit(&[0, 1], &[3], &gate), Some(2));
    assert_eq!(exit(&[0, 1, 2, 3], &[4, 5, 6], &gate), Some(0), "judged together");
}
