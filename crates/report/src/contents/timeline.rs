//! The timeline as a table: a row a second, or as many as a page takes.

use schema::{Labels, Record, record::Reading, timeline::Moment};

use crate::layout::{
    number,
    table::{Cell, Column, Table},
};

pub(crate) const TITLE: &str = "Timeline";

pub(crate) const ABOUT: &str = "The whole machine, as in vmstat: bytes of the disk under the file, shares of all CPUs' time, and the condition whose passes ran at that time.";

/// The maximum of rows.
const ROWS: usize = 90;

/// Nothing when none was recorded.
pub(crate) fn table(record: &Record) -> Option<Table> {
    let timeline = record.timeline.as_ref().filter(|it| !it.moments.is_empty())?;
    let columns = vec![
        Column::right("s"),
        Column::right("in"),
        Column::right("out"),
        Column::right("us"),
        Column::right("sy"),
        Column::right("wa"),
        Column::right("id"),
        Column::right("st"),
        Column::right("cs"),
        Column::right("dirty"),
        Column::left("passes"),
    ];
    let last = timeline.moments.last().map_or(0.0, |it| it.at_s);
    let labels = Labels::of(record);
    let step = (last / ROWS as f64).ceil().max(1.0);
    let spans: Vec<(f64, &Moment)> = timeline.spans().collect();
    let slot = |(from_s, it): &(f64, &Moment)| ((from_s + it.at_s) / 2.0 / step).floor();
    let rows = spans.chunk_by(|a, b| slot(a) == slot(b)).map(|moments| {
        let first = slot(&moments[0]) * step;
        let (from_s, to_s) = (moments[0].0, moments.last().map_or(last, |it| it.1.at_s));
        // A moment is as long as the sampler had to wait.
        let over = |of: &dyn Fn(&Moment) -> Option<f64>| {
            let seen = moments.iter().filter_map(|(from_s, it)| Some(((it.at_s - from_s).max(1e-9), of(it)?)));
            let (length, sum) = seen.fold((0.0, 0.0), |all, (length, it)| (all.0 + length, all.1 + length * it));
            (length > 0.0).then(|| sum / length)
        };
        let mean = |of: &dyn Fn(&Moment) -> f64| over(&|it| Some(of(it))).unwrap_or(0.0);
        let rate = |of: &dyn Fn(&Moment) -> &Reading<f64>| match over(&|it| of(it).value().copied()) {
            None => number::MISSING.to_string(),
            Some(rate) => format!("{}/s", number::bytes_glued(rate.round())),
        };
        let percent = |of: &dyn Fn(&Moment) -> f64| format!("{:.0}", 100.0 * mean(of));
        let mut conditions: Vec<String> = Vec::new();
        for pass in timeline.passes.iter().filter(|it| it.from_s < to_s && it.to_s > from_s) {
            let label = labels.of_cell(record, pass.cell);
            if !conditions.contains(&label) {
                conditions.push(label);
            }
        }
        let passes = match &conditions[..] {
            [] => String::new(),
            [one] => one.clone(),
            [one, more @ ..] => format!("{one} and {} more", more.len()),
        };
        let cells = [
            format!("{first:.0}"),
            rate(&|it| &it.read_bytes_per_s),
            rate(&|it| &it.write_bytes_per_s),
            percent(&|it| it.user),
            percent(&|it| it.system),
            percent(&|it| it.wait),
            percent(&|it| it.idle),
            percent(&|it| it.steal),
            format!("{:.0}", mean(&|it| it.switches_per_s)),
            number::bytes_glued(mean(&|it| it.dirty_bytes as f64).round()),
            passes,
        ];
        cells.map(Cell::plain).to_vec()
    });
    Some(Table { columns, rows: rows.collect() })
}
