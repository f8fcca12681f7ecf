//! Cost breakdowns, predictions and forecasts as reports show them.

use report::Style;
use schema::{
    Reading, State, Workload,
    findings::{Estimate, Verdict},
    reason::Reason,
    unit_cost::{
        BreakEven, BreakEvenMeasured, Cause, CostBreakdown, CostComponent, Costs, Curve, Forecast, ForecastArm,
        ForecastRemark, PredictedCell, Predictions, Quantity, Trait, UnitCosts,
    },
};

use crate::{
    squeezed,
    support::{Run, condition, run},
};

fn term(cause: Cause, what: Quantity, count: f64, unit_ns: f64) -> CostComponent {
    CostComponent { cause, what, request_bytes: None, count, unit_ns, ns: count * unit_ns }
}

/// The made-up run with a cost breakdown of its first cell, which is three quarters of what was measured.
pub(crate) fn with_costs() -> Run {
    let mut run = run();
    let cell = run.findings.cells.iter().find(|it| it.ns_per_op.is_some() && !it.control).unwrap();
    let (id, arm, condition) = (cell.id, cell.arm.name.clone(), cell.condition.clone());
    let measured_ns = cell.ns_per_op.unwrap().median * condition.ops as f64;
    let components = vec![
        term(Cause::SystemCalls, Quantity::Reads, condition.ops as f64, 0.25 * measured_ns / condition.ops as f64),
        term(Cause::Copies, Quantity::BytesCopied, 1e9, 0.5 * measured_ns / 1e9),
    ];
    let components_ns = components.iter().map(|it| it.ns).sum();
    let predicted = |error: f64, held_out| PredictedCell {
        id,
        arm: arm.clone(),
        condition: condition.clone(),
        predicted_ns_per_op: 100.0 * (1.0 + error),
        measured_ns_per_op: 100.0,
        error,
        held_out,
        not_counted: None,
    };
    let cells = vec![predicted(0.02, false), predicted(-0.3, true), predicted(0.1, false)];
    let mut unit_costs = UnitCosts { read_call_ns: Some(310.0), ..UnitCosts::default() };
    unit_costs.copy = Curve { points: vec![(64.0, 10.0), (65_536.0, 9000.0)] };
    run.findings.costs = Some(Box::new(Costs {
        break_evens: vec![BreakEven {
            id,
            baseline: "native/pread".into(),
            arm: "native/mmap".into(),
            file_bytes: 1 << 30,
            block_bytes: 4096,
            reads: Estimate { median: 17_712.0, ci_low: 9_604.0, ci_high: 41_333.0 },
            points: Vec::new(),
            measured: vec![BreakEvenMeasured { reads: 410, speedup: 0.021, expected: 0.024 }],
        }],
        unit_costs,
        fills: Vec::new(),
        breakdowns: vec![CostBreakdown { id, arm, condition, components, components_ns, measured_ns }],
        predictions: Predictions {
            cells,
            held_out_median: Some(0.3),
            held_out_worst: Some(0.3),
            median: Some(0.1),
            worst: Some(0.3),
            worst_have: vec![Trait::State(State::Cold)],
        },
        explained_median: Some(0.92),
    }));
    let comparison = run.findings.comparisons.iter_mut().find(|it| it.verdict == Verdict::Faster).unwrap();
    comparison.explained_share = Some(0.92);
    run
}

fn terminal(run: &Run) -> String {
    squeezed(&report::terminal(&run.record, &run.findings, Style::default(), None))
}

#[test]
fn the_report_says_from_how_many_reads_on_another_arm_is_faster() {
    let run = with_costs();
    let markdown = squeezed(&report::markdown(&run.record, &run.findings));
    for text in [terminal(&run), markdown] {
        assert!(text.contains("18,000 [9,600, 41,000] reads"), "{text}");
    }
}

#[test]
fn the_page_has_the_unit_costs_that_its_breakdowns_are_made_of() {
    let page = |run: &Run| report::html(&run.record, &run.findings);
    let run = with_costs();
    assert!(page(&run).contains("Unit costs") && page(&run).contains("read call"));
    assert!(!page(&crate::support::run()).contains("Unit costs"));
}

#[test]
fn an_answer_of_the_job_is_not_one_without_a_cost_breakdown() {
    let mut run = with_costs();
    let unexplained = |run: &Run| {
        let text = terminal(run);
        let (before, _) = text.split_once(" decided one").unwrap();
        before.rsplit_once('(').unwrap().1.parse::<u32>().unwrap()
    };
    let all = unexplained(&run);
    let is_one = |it: &&mut schema::findings::Comparison| it.verdict == Verdict::Slower && it.explained_share.is_none();
    run.findings.comparisons.iter_mut().find(is_one).unwrap().answer_of = schema::findings::AnswerOf::Job;
    assert_eq!(unexplained(&run), all - 1);
}

#[test]
fn one_comparison_has_no_median() {
    let mut run = with_costs();
    for it in run.findings.comparisons.iter_mut().filter(|it| it.explained_share.is_some()).skip(1) {
        it.explained_share = None;
    }
    let text = terminal(&run);
    assert!(text.contains("of the measured difference in 1 comparison (") && !text.contains("median of 1"), "{text}");
}

#[test]
fn the_report_says_how_far_the_account_reaches_and_how_wrong_the_predictions_are() {
    let text = terminal(&with_costs());
    assert!(text.contains("92 % of the measured difference in the median of 2 comparisons"), "{text}");
    assert!(text.contains("held out (1), is predicted with a median error of 30 %"), "{text}");
    assert!(text.contains("the worst are mostly cold"));
    assert!(text.contains("Unit costs") && text.contains("read call 310 ns") && text.contains("64 KiB 9.00 µs"));
    let without = terminal(&run());
    assert!(!without.contains("Accounted") && !without.contains("Unit costs"));
}

#[test]
fn every_report_lists_the_held_out_cells_and_how_far_off_they_were() {
    let with = with_costs();
    let (record, findings) = (&with.record, &with.findings);
    let text = terminal(&with);
    for page in [text, squeezed(&report::markdown(record, findings)), squeezed(&report::html(record, findings))] {
        assert!(page.contains("Held-out cells"), "{page}");
        assert_eq!(page.matches("−30 %").count(), 1, "the held-out one, and no other: {page}");
    }
    let plain = run();
    assert!(!terminal(&plain).contains("Held-out cells"));
}

#[test]
fn a_predicted_cell_with_settings_of_its_own_is_said_to_do_something_else_than_its_condition() {
    let mut with = with_costs();
    let costs = with.findings.costs.as_ref().unwrap();
    let it = &costs.predictions.cells[1];
    let (cell, own) = (it.id.cell, schema::Condition { block_bytes: 2 << 20, ..it.condition.clone() });
    with.record.cells[cell].own_condition = Some(own);
    let says = "scan 64 KiB cold, 2 MiB instead of 64 KiB";
    let markdown = squeezed(&report::markdown(&with.record, &with.findings));
    for text in [terminal(&with), markdown] {
        let times = text.replace("| ", "").matches(says).count();
        assert!(times > 1, "in the list of cells that were held out, and of the worst one: {text}");
    }
}

#[test]
fn the_chart_divides_an_accounted_cell_by_cause_and_shows_what_is_unexplained() {
    let with = with_costs();
    let page = report::html(&with.record, &with.findings);
    let is_series = |page: &str, name: &str| crate::page::outline(page).contains(&format!(" stack {name}: "));
    let parts = |page: &str| ["system calls", "copies", "unexplained"].map(|it| is_series(page, it));
    assert_eq!(parts(&page), [true; 3]);
    assert!(!is_series(&page, "faults"), "a cause that no cell has is not drawn");
    let plain = run();
    assert_eq!(parts(&report::html(&plain.record, &plain.findings)), [false; 3]);
}

fn forecast(pread: [f64; 3], mmap: Reading<Estimate, Reason>) -> Forecast {
    let run = run();
    let condition = condition(Workload::Random, 200, State::Cached);
    let [median, ci_low, ci_high] = pread;
    let arm = |name: &str, seconds| ForecastArm {
        arm: format!("native/{name}"),
        condition: condition.clone(),
        seconds,
        components: vec![
            term(Cause::Device, Quantity::Requests, 6e6, 9e4),
            term(Cause::SystemCalls, Quantity::Reads, 1e7, 3e3),
        ],
    };
    Forecast {
        schema_version: 1,
        run: run.record.id.clone(),
        target: run.record.target.clone(),
        memory_bytes: 16_000_000_000,
        resident_share: 0.4,
        arms: vec![arm("pread", Reading::Value(Estimate { median, ci_low, ci_high })), arm("mmap", mmap)],
        remarks: vec![ForecastRemark::Threads { threads: 4, cpus: 2 }],
    }
}

#[test]
fn a_forecast_is_a_question_a_table_and_a_sentence() {
    let described = |forecast: &Forecast| squeezed(&report::forecast(forecast, Style::default()));
    let mmap = Estimate { median: 3000.0, ci_low: 2500.0, ci_high: 3600.0 };
    let text = described(&forecast([600.0, 500.0, 700.0], Reading::Value(mmap)));
    assert!(text.contains("random blocks of 200 B"), "{text}");
    assert!(text.contains("10 min") && text.contains("device 95 %") && text.contains("system calls 5.3 %"), "{text}");
    assert!(text.contains("pread is expected to be 5.0 times as fast as mmap, the next fastest."), "{text}");
    let close = described(&forecast([600.0, 500.0, 2600.0], Reading::Value(mmap)));
    assert!(close.contains("the intervals overlap: only a measurement decides"), "{close}");
    let mut third = forecast([600.0, 500.0, 700.0], Reading::Value(mmap));
    third.arms.push(forecast([1.0; 3], Reading::unavailable("uring was not calibrated")).arms.remove(1));
    assert!(described(&third).contains("the next fastest of those that can be predicted."), "{}", described(&third));
    // Slower in the middle than the next fastest, and so little known that it may be the fastest.
    let wide = Estimate { median: 4000.0, ci_low: 400.0, ci_high: 9000.0 };
    let mut third = forecast([600.0, 500.0, 700.0], Reading::Value(mmap));
    third.arms.push(forecast([1.0; 3], Reading::Value(wide)).arms.remove(1));
    assert!(described(&third).contains("only a measurement decides"), "{}", described(&third));
    let one = described(&forecast([600.0, 500.0, 700.0], Reading::unavailable("uring was not calibrated")));
    assert!(one.contains("uring was not calibrated") && one.contains("pread is expected to take 10 min."), "{one}");
}

#[test]
fn a_remark_on_the_page_cache_names_its_arms_where_others_go_past_it() {
    let of = |arms: &[&str]| {
        let arms: Vec<String> = arms.iter().map(|it| format!("native/{it}")).collect();
        let random = ForecastRemark::RandomMisses {
            memory_bytes: 16 << 30,
            file_bytes: 32 << 30,
            resident_share: 0.5,
            arms: arms.clone(),
        };
        let scans =
            ForecastRemark::ScansEvict { memory_bytes: 16 << 30, range_bytes: 32 << 30, resident_share: 0.5, arms };
        [random, scans].map(|it| report::words::forecast_remark(&it))
    };
    let [random, scans] = of(&["pread", "mmap"]);
    let named = " through the page cache (pread, mmap) ";
    assert!(random.contains(&format!("50 % of the random reads{named}are expected")), "{random}");
    assert!(scans.contains(&format!("in a repeated scan{named}each page is evicted")), "{scans}");
    let [random, scans] = of(&[]);
    assert!(random.contains("50 % of the random reads are expected"), "{random}");
    assert!(scans.contains("in a repeated scan each page is evicted"), "{scans}");
}

#[test]
fn a_forecast_as_json_reads_back() {
    let forecast = forecast([600.0, 500.0, 700.0], Reading::unavailable("no"));
    let back: Forecast = serde_json::from_str(&report::forecast_json(&forecast)).unwrap();
    assert_eq!(back, forecast);
}
