//! Unit costs, how much of the measured times they explain, and what they predict.

use schema::{
    Bytes, Findings, Labels, Record,
    arm::short,
    findings::{AnswerOf, Comparison, Estimate, Verdict},
    record::Reading,
    unit_cost::{BreakEven, Cause, CostComponent, Curve, Forecast, ForecastArm, PerPage, PredictedCell, UnitCosts},
};

use crate::{
    Style,
    layout::{
        number,
        page::Page,
        paint::Paint,
        table::{Cell, Column, Table},
        words::{all_of, counted, plural},
    },
    shell,
    words::{forecast_remark, reason, traits},
};

/// From how many reads of a cold file on another arm is the faster one, a sentence each.
pub(crate) fn break_evens(record: &Record, findings: &Findings) -> Vec<String> {
    // A number of reads is the answer, and no part of the question.
    let labels = Labels::of_questions(record);
    let Some(costs) = &findings.costs else { return Vec::new() };
    let line = |it: &BreakEven| {
        let also = labels.also(it.id.condition.condition_index);
        let also = if also.is_empty() { also } else { format!(", {also}") };
        let passes = it.measured.len();
        let measured: Vec<String> = it
            .measured
            .iter()
            .map(|it| {
                let [reads, speedup, expected] =
                    [number::count(it.reads as f64), number::ratio_glued(it.speedup), number::ratio_glued(it.expected)];
                let from = if passes > 1 { "from the other passes" } else { "by unit costs alone" };
                format!("{speedup} with {reads} ({expected} expected {from})")
            })
            .collect();
        let measured = if measured.is_empty() { String::new() } else { format!("; measured {}", measured.join(", ")) };
        format!(
            "cold random {}{also}: {} up to {} reads, then {}, by unit costs{measured}",
            Bytes(it.block_bytes),
            short(&it.baseline),
            number::rough(&it.reads),
            short(&it.arm)
        )
    };
    costs.break_evens.iter().map(line).collect()
}

/// How far the costs reach, for the summary; nothing where there are none.
pub(crate) fn summary(record: &Record, findings: &Findings) -> Vec<String> {
    let Some(costs) = &findings.costs else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(median) = costs.explained_median {
        let explained = findings.comparisons.iter().filter(|it| it.explained_share.is_some()).count();
        // Breakdowns are of the rounds.
        let is_unexplained = |it: &&Comparison| {
            let is_decided = matches!(it.verdict, Verdict::Faster | Verdict::Slower);
            is_decided && it.answer_of != AnswerOf::Job && it.explained_share.is_none()
        };
        let unexplained = findings.comparisons.iter().filter(is_unexplained).count();
        let of = match explained {
            1 => "1 comparison".to_string(),
            _ => format!("the median of {}", counted(explained, "comparison", "comparisons")),
        };
        lines.push(format!(
            "{} of the measured difference in {of} ({} no cost breakdown)",
            number::percent(median),
            counted(unexplained, "decided one has", "decided ones have")
        ));
    }
    let predictions = &costs.predictions;
    let held_out = predictions.cells.iter().filter(|it| it.held_out).count();
    if let Some((median, worst)) = predictions.held_out_median.zip(predictions.held_out_worst) {
        lines.push(format!(
            "a tenth of the cells, held out ({held_out}), is predicted with a median error of {}, at worst {}{}",
            number::percent(median),
            number::percent(worst),
            worst_cell(record, &predictions.cells, |it| it.held_out)
        ));
    }
    if let Some((median, worst)) = predictions.median.zip(predictions.worst) {
        let common = traits(&predictions.worst_have).map(|it| format!("; the worst are mostly {it}"));
        let counts = |it: &PredictedCell| it.not_counted.is_none();
        let counted = predictions.cells.iter().filter(|it| counts(it)).count();
        let left_out = match predictions.cells.len() - counted {
            0 => String::new(),
            1 => " (1 more was calibrated or repeats a prediction, and does not count)".to_string(),
            some => format!(" ({some} more were calibrated or repeat a prediction, and do not count)"),
        };
        lines.push(format!(
            "{} that can be predicted{left_out}: median error {}, at worst {}{}{}",
            all_of(counted, "cell", "cells"),
            number::percent(median),
            number::percent(worst),
            worst_cell(record, &predictions.cells, counts),
            common.unwrap_or_default()
        ));
    }
    lines
}

fn worst_cell(record: &Record, cells: &[PredictedCell], of: impl Fn(&PredictedCell) -> bool) -> String {
    let worst = cells.iter().filter(|it| of(it)).max_by(|a, b| a.error.abs().total_cmp(&b.error.abs()));
    let label = |it: &PredictedCell| Labels::of(record).of_cell(record, it.id.cell);
    worst.map_or_else(String::new, |it| format!(" ({}, {})", short(&it.arm), label(it)))
}

pub(crate) const HELD_OUT: &str = "Held-out cells";

pub(crate) const ABOUT_HELD_OUT: &str = "A tenth of the run's cells, chosen by its seed. The predictions use unit costs only, and nothing counted or timed of these cells.";

/// The cells that were held out, the worst first; nothing where there are none.
pub(crate) fn held_out(record: &Record, findings: &Findings) -> Option<Table> {
    let cells = &findings.costs.as_ref()?.predictions.cells;
    let mut held_out: Vec<&PredictedCell> = cells.iter().filter(|it| it.held_out).collect();
    held_out.sort_by(|a, b| b.error.abs().total_cmp(&a.error.abs()));
    let mut columns = vec![Column::left("arm"), Column::left("condition")];
    columns.extend(["predicted", "measured", "error"].map(Column::right));
    let labels = Labels::of(record);
    let row = |it: &&PredictedCell| {
        let [predicted, measured] = [it.predicted_ns_per_op, it.measured_ns_per_op].map(number::duration);
        let sign = if it.error < 0.0 { "−" } else { "+" };
        let error = format!("{sign}{}", number::percent(it.error.abs()));
        [short(&it.arm).to_string(), labels.of_cell(record, it.id.cell), predicted, measured, error]
            .map(Cell::plain)
            .to_vec()
    };
    let rows: Vec<Vec<Cell>> = held_out.iter().map(row).collect();
    (!rows.is_empty()).then_some(Table { columns, rows })
}

pub(crate) const UNIT_COSTS: &str = "Unit costs";

/// The unit costs, as a list of names and values; or the one reason why there are none.
pub(crate) fn facts(record: &Record, findings: &Findings) -> Result<Vec<(String, String)>, String> {
    let costs = findings.costs.as_ref().map(|it| &it.unit_costs);
    let Some(costs) = costs else {
        return Err(record.calibration.reason().unwrap_or("the calibration gave none").to_string());
    };
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: Option<String>| facts.extend(value.map(|value| (name.to_string(), value)));
    let ns = |value: Option<f64>| value.map(number::duration);
    add("clock", ns(costs.clock_ns));
    add("bare system call", ns(costs.bare_call_ns));
    add("read call", ns(costs.read_call_ns));
    add("copy a block", sizes(&costs.copy));
    add("random read, beyond", sizes(&costs.read_random));
    add("sum a buffer", sizes(&costs.sum_buffer));
    add("sum in place", sizes(&costs.sum_mapped));
    add("random place, beyond", sizes(&costs.mapped_random));
    add("fault", fault(costs));
    add("fault at a random place", ns(costs.fault_random_ns));
    add("map", ns(costs.map_ns));
    add("populate", costs.populate.map(per_page));
    add("unmap", costs.unmap.map(per_page));
    for fill in findings.costs.iter().flat_map(|it| &it.fills) {
        let costs = &fill.costs;
        add(&format!("fault, fill {}", fill.fill), fault(costs));
        add(&format!("fault at a random place, fill {}", fill.fill), ns(costs.fault_random_ns));
        add(&format!("unmap, fill {}", fill.fill), costs.unmap.map(per_page));
    }
    for device in &costs.device {
        add(&format!("device, {} in flight", device.queue_depth), sizes(&device.request));
    }
    Ok(facts)
}

fn sizes(curve: &Curve) -> Option<String> {
    let described = curve.points.iter().filter(|it| it.0 >= 64.0);
    let described: Vec<String> =
        described.map(|&(size, ns)| format!("{} {}", Bytes(size as u64), number::duration_glued(ns))).collect();
    (!described.is_empty()).then(|| described.join(", "))
}

fn per_page(cost: PerPage) -> String {
    format!("{} and {} a page", number::duration(cost.fixed_ns), number::duration(cost.page_ns))
}

fn fault(costs: &UnitCosts) -> Option<String> {
    let (ns, pages) = costs.fault_ns.zip(costs.pages_per_fault)?;
    let mapping = costs.fault_pages_ns.map(|of| format!(", of which mapping the pages {}", number::duration(of)));
    Some(format!(
        "{} for {} page{}{}",
        number::duration(ns),
        number::count(pages.round()),
        plural(pages.round() as usize),
        mapping.unwrap_or_default()
    ))
}

/// The answer of `faultline predict` as text.
pub fn forecast(forecast: &Forecast, style: Style) -> String {
    let mut page = Page::new(style);
    if let Some(arm) = forecast.arms.first() {
        page.paragraph(0, Paint::Heading, &question(forecast, arm));
    }
    page.blank();
    let columns = vec![
        Column::left("arm"),
        Column::right("takes"),
        Column::left("interval"),
        Column::right("per block"),
        Column::left("of which"),
    ];
    let rows = forecast.arms.iter().map(|arm| match &arm.seconds {
        Reading::Value(it) => [
            short(&arm.arm).to_string(),
            number::seconds(it.median),
            format!("{} to {}", number::seconds(it.ci_low), number::seconds(it.ci_high)),
            number::duration(it.median * 1e9 / (arm.condition.ops.max(1) as f64)),
            parts(&arm.components),
        ]
        .map(Cell::plain)
        .to_vec(),
        Reading::Unavailable { unavailable } => {
            [short(&arm.arm), number::MISSING, "", "", &reason(unavailable)].map(Cell::plain).to_vec()
        }
    });
    page.table(0, &Table { columns, rows: rows.collect() });
    page.blank();
    page.paragraph(0, Paint::Plain, &verdict(forecast));
    for remark in &forecast.remarks {
        page.bullet(0, &forecast_remark(remark));
    }
    page.bullet(
        0,
        &format!("unit costs are those of run {}, measured on {}", shell::short(&forecast.run), forecast.target.path),
    );
    page.finish()
}

fn question(forecast: &Forecast, arm: &ForecastArm) -> String {
    let condition = &arm.condition;
    format!(
        "{} {} blocks of {} ({}), in a file of {}, {} of memory, {}{}{}",
        number::count(condition.ops as f64),
        condition.workload,
        Bytes(condition.block_bytes),
        condition.consume,
        Bytes(condition.file_bytes),
        Bytes(forecast.memory_bytes),
        condition.state,
        condition.fill.map_or_else(String::new, |fill| format!(", fill {fill}")),
        if condition.threads > 1 { format!(", {} threads", condition.threads) } else { String::new() }
    )
}

/// The causes by their share, the largest first; what is less than a fiftieth is left out.
fn parts(components: &[CostComponent]) -> String {
    let all: f64 = components.iter().map(|it| it.ns).sum();
    let of = |cause: Cause| components.iter().filter(|it| it.cause == cause).map(|it| it.ns).sum::<f64>() / all;
    let mut parts: Vec<(Cause, f64)> = Cause::ALL.iter().map(|&cause| (cause, of(cause))).collect();
    parts.retain(|it| it.1 >= 0.02);
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> =
        parts.iter().map(|(cause, share)| format!("{} {}", cause.words(), number::percent(*share))).collect();
    parts.join(", ")
}

fn verdict(forecast: &Forecast) -> String {
    let mut known: Vec<(&str, Estimate)> =
        forecast.arms.iter().filter_map(|arm| Some((short(&arm.arm), *arm.seconds.value()?))).collect();
    known.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    match known[..] {
        [] => "No arm can be predicted; the table has the reasons.".into(),
        [(arm, it)] => format!("{arm} is expected to take {}.", number::seconds(it.median)),
        [(first, a), (second, b), ..] => {
            let of_known = if known.len() < forecast.arms.len() { " of those that can be predicted" } else { "" };
            let factor = b.median / a.median;
            // Also than one that may take less than its middle says.
            let surely = known[1..].iter().all(|it| a.ci_high < it.1.ci_low);
            let times = if factor >= 9.95 { format!("{factor:.0}") } else { format!("{factor:.1}") };
            if factor < 1.05 {
                return format!("{first} and {second} are expected to take about the same.");
            }
            match surely {
                true => {
                    format!("{first} is expected to be {times} times as fast as {second}, the next fastest{of_known}.")
                }
                false => format!(
                    "{first} is expected to be {times} times as fast as {second}, the next fastest{of_known}, but the \
                     intervals overlap: only a measurement decides."
                ),
            }
        }
    }
}
