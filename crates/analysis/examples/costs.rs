//! Reads what `--json` printed, or a saved record, and prints how much the cost breakdowns explain and how accurate the
//! predictions are: `cargo run --release -p faultline-analysis --example costs -- FILE`.
#![allow(clippy::disallowed_methods, reason = "an example is a program of its own, with files to read")]

use schema::Record;

fn main() {
    let Some(path) = std::env::args().nth(1) else { return eprintln!("which file?") };
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let inner = document.get_mut("record").map(serde_json::Value::take);
    let record: Record =
        serde_json::from_value(inner.unwrap_or(document)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let findings = analysis::analyze(&record);
    let Some(costs) = &findings.costs else { return println!("no unit costs: {:?}", record.calibration.reason()) };
    println!("{:#?}", costs.unit_costs);
    let cells = &costs.predictions.cells;
    for it in &findings.comparisons {
        let share = it.explained_share.map_or("     –".into(), |it| format!("{:5.0} %", it * 100.0));
        let explanation = it.explanation.as_ref().map(report::words::explanation).unwrap_or_default();
        println!("{share} {} {}: {explanation}", it.condition.label(), it.arm);
    }
    for it in cells {
        let (arm, label) = (&it.arm, it.condition.label());
        println!(
            "{:+6.0} % {label} {arm}: {:.1} for {:.1} ns",
            it.error * 100.0,
            it.predicted_ns_per_op,
            it.measured_ns_per_op
        );
    }
    let state_median = |state: &str| {
        let mut errors: Vec<f64> =
            cells.iter().filter(|it| it.condition.state.word() == state).map(|it| it.error.abs()).collect();
        errors.sort_by(f64::total_cmp);
        errors.get(errors.len() / 2).map_or("none".into(), |it| format!("{:.0} %", it * 100.0))
    };
    for state in ["cold", "cached", "mapped"] {
        println!("{state}: median error {}", state_median(state));
    }
    let percent = |it: Option<f64>| it.map_or("none".into(), |it| format!("{:.1} %", it * 100.0));
    let all = &costs.predictions;
    println!("explained, median: {}", percent(costs.explained_median));
    println!("predicted, all cells: median {}, worst {}", percent(all.median), percent(all.worst));
    println!("predicted, held out: median {}, worst {}", percent(all.held_out_median), percent(all.held_out_worst));
}
