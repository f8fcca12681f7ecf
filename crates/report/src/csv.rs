//! One row per sample, for spreadsheets and data frames. Quoted as RFC 4180 says, lines end in a line feed; no text is a
//! formula to a spreadsheet.
//! A reading that is absent is an empty cell; so is everything that an invalid or failed pass has no number for.
//! Cells that were skipped have no samples and so no rows; the JSON document has them.
//!
//! Columns: what was done (`run` to `own_work_ns`; an arm that was entered with something else than its condition says has its
//! own values here), its outcome (`status`, `reason`), the worker's clock and tally, pages resident before and after, how
//! late a second thread was,
//! and then every probe of the run by its name, in alphabetical order. Units end the names.

use schema::{
    Record,
    fields::{FIELDS, Field},
    record::{Outcome, Reading, Sample},
};

use crate::layout::{
    number::plain,
    text::{visible, whole},
};

/// Before those of the condition (`schema::fields`).
const WHICH: &[&str] = &[
    "run",
    "order",
    "round",
    "host",
    "condition",
    "comparison",
    "variant",
    "arm",
    "runtime",
    "method",
    "baseline",
    "control",
];

/// After them.
const WHAT: &[&str] = &[
    "status",
    "reason",
    "open_ns",
    "work_ns",
    "close_ns",
    "total_ns",
    "done_ops",
    "done_bytes",
    "done_distinct_bytes",
    "done_distinct_pages",
    "done_threads",
    "done_queue_depth",
    "checksum",
    "resident_pages_before",
    "resident_of_before",
    "resident_pages_after",
    "resident_of_after",
    "beat_deadlines",
    "beat_wake_ups",
    "beat_median_ns",
    "beat_p99_ns",
    "beat_max_ns",
    "beat_stalled_share",
];

/// Every sample of the record, in the order in which passes were made.
pub fn csv(record: &Record) -> String {
    let mut probes: Vec<&String> = record.samples.iter().flat_map(|sample| sample.readings.keys()).collect();
    probes.sort_unstable();
    probes.dedup();
    let of_condition = FIELDS.iter().flat_map(|field| field.columns).map(|(name, _)| *name);
    let columns = WHICH.iter().copied().chain(of_condition).chain(WHAT.iter().copied());
    let mut text = String::new();
    line(&mut text, columns.map(str::to_string).chain(probes.iter().map(|name| visible(name))));
    let mut samples: Vec<&Sample> = record.samples.iter().collect();
    samples.sort_by_key(|sample| sample.order);
    for sample in samples {
        let mut fields = fields(record, sample);
        fields.extend(probes.iter().map(|&name| optional(sample.readings.get(name).and_then(Reading::value))));
        line(&mut text, fields.into_iter());
    }
    text
}

fn fields(record: &Record, sample: &Sample) -> Vec<String> {
    let cell = record.cells.get(sample.cell);
    let condition = cell.and_then(|cell| cell.own_condition.as_ref().or_else(|| record.conditions.get(cell.condition)));
    // Where the pass was, which may be elsewhere in each round.
    let condition = condition.map(|it| {
        let offset = sample.window_offset.unwrap_or(it.range.offset);
        schema::Condition { range: schema::Span { offset, ..it.range }, ..it.clone() }
    });
    let condition = condition.as_ref();
    let of_cell = |show: &dyn Fn(&schema::record::Cell) -> String| cell.map_or(String::new(), show);
    let compare = cell.and_then(|cell| record.origin(cell.condition));
    // A command has few of them.
    let of_condition = |field: &Field, show: fn(&schema::Condition) -> String| {
        condition.filter(|it| (field.of)(it)).map_or(String::new(), |it| visible(&show(it)))
    };
    let (status, reason, phases, tally) = match &sample.outcome {
        Outcome::Ok { phases, tally } => ("ok", None, Some(phases), Some(tally)),
        Outcome::Invalid { reason } => ("invalid", Some(reason.to_string()), None, None),
        Outcome::Failed { reason } => ("failed", Some(reason.clone()), None, None),
    };
    let of_reader = tally.filter(|_| condition.is_none_or(|it| !it.is_of_commands()));
    let beats = tally.and(sample.beats.as_deref());
    let (before, after) = (sample.resident_before.value(), sample.resident_after.value());
    let mut all = vec![
        visible(&record.id),
        sample.order.to_string(),
        sample.round.to_string(),
        visible(&sample.host),
        of_cell(&|cell| cell.condition.to_string()),
        of_cell(&|cell| optional(record.origins.get(cell.condition))),
        compare.and_then(|it| it.variant).map_or(String::new(), |it| it.words().to_string()),
        of_cell(&|cell| plain(&whole(&cell.arm.name))),
        of_cell(&|cell| visible(&cell.arm.runtime)),
        of_cell(&|cell| visible(&cell.arm.method)),
        of_cell(&|cell| cell.baseline.to_string()),
        of_cell(&|cell| cell.control.to_string()),
    ];
    all.extend(FIELDS.iter().flat_map(|field| field.columns.iter().map(move |(_, show)| of_condition(field, *show))));
    all.extend([
        status.to_string(),
        reason.map_or(String::new(), |reason| visible(&reason)),
        optional(phases.and_then(|phases| phases.open_ns)),
        optional(phases.map(|phases| phases.work_ns)),
        optional(phases.and_then(|phases| phases.close_ns)),
        optional(phases.map(|phases| phases.total_ns())),
        // An execution of a command is one operation, however many bytes it read.
        optional(tally.map(|tally| tally.ops)),
        optional(of_reader.map(|tally| tally.bytes)),
        optional(of_reader.map(|tally| tally.distinct_bytes)),
        optional(of_reader.and_then(|tally| tally.distinct_pages)),
        optional(of_reader.map(|tally| tally.threads)),
        optional(of_reader.map(|tally| tally.queue_depth)),
        tally.map_or(String::new(), |tally| visible(&tally.checksum)),
        optional(before.map(|resident| resident.pages)),
        optional(before.map(|resident| resident.of)),
        optional(after.map(|resident| resident.pages)),
        optional(after.map(|resident| resident.of)),
        optional(beats.map(|it| it.pass.deadlines)),
        optional(beats.map(|it| it.pass.wake_ups)),
        optional(beats.and_then(|it| it.pass.median_ns())),
        optional(beats.and_then(|it| it.pass.p99_ns())),
        optional(beats.map(|it| it.pass.max_ns)),
        optional(beats.and_then(|it| it.pass.stalled_share(it.period_ns))),
    ]);
    all
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// What a spreadsheet takes for the beginning of a formula; the wide forms too, as some do.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A text that would be a formula is marked as text, by the apostrophe that spreadsheets have for that. A number stays one.
fn inert(field: String) -> String {
    match field.starts_with(FORMULA) && !field.parse::<f64>().is_ok_and(f64::is_finite) {
        true => format!("'{field}"),
        false => field,
    }
}

fn line(text: &mut String, fields: impl Iterator<Item = String>) {
    for (i, field) in fields.map(inert).enumerate() {
        if i > 0 {
            text.push(',');
        }
        if field.contains(['"', ',', '\n', '\r']) {
            text.push('"');
            text.push_str(&field.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(&field);
        }
    }
    text.push('\n');
}
