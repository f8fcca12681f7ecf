//! The saved runs as a list, and cells of them over time.

use schema::{
    Bytes, Condition, Labels,
    experiment::SizeAsked,
    fields::{self, Field, Role},
    machine::{MadeOn, Origin, Whose},
    own,
    saved::{History, SavedCell},
};

use crate::{
    Style,
    json::written,
    layout::{
        number,
        page::Page,
        paint::Paint,
        table::{Cell, Column, Table},
        words::counted,
    },
    shell,
    words::{
        metric,
        numbers::{in_page_cache, thousands},
    },
};

/// As JSON, with a line feed.
pub fn history_json(history: &History) -> String {
    let text = serde_json::to_string_pretty(history).expect("maps have string keys and nothing else can fail");
    written(text)
}

/// For a terminal: the requested cells, otherwise the runs. `folder` is where the records are.
pub fn history(history: &History, asked_for_cells: bool, folder: &str, style: Style) -> String {
    let mut page = Page::new(style);
    if asked_for_cells {
        cells(&mut page, &history.cells);
    } else {
        runs(&mut page, history);
    }
    page.blank();
    for it in &history.damaged {
        page.run_in(0, "Left out:", Paint::Bad, &it.reason);
    }
    let count = history.runs.len();
    let others = match history.of_others {
        0 => String::new(),
        1 => "; 1 of a machine that was not asked for, with --machine all".to_string(),
        some => format!("; {some} of machines that were not asked for, with --machine all"),
    };
    let all = counted(history.all.max(count as u64) as usize, "run", "runs");
    // Those of other machines are said behind it.
    let is_filtered = history.all > (count as u64).saturating_add(history.of_others);
    let runs = if is_filtered { format!("{count} of {all}") } else { counted(count, "run", "runs") };
    let imported = history.runs.iter().filter(|it| it.on.made_on().origin == Origin::Imported).count();
    let place = match imported {
        0 => format!(" in {folder}"),
        1 => format!(", of which 1 is imported; own ones are in {folder}"),
        _ => format!(", of which {imported} are imported; own ones are in {folder}"),
    };
    page.paragraph(0, Paint::Quiet, &format!("{runs}{place}{others}"));
    page.finish()
}

/// A machine by its nodename, and of those that others may be called like by the beginning of its key.
pub(crate) fn machine(made_on: &MadeOn) -> String {
    let MadeOn { origin, host, identity } = made_on;
    let key = identity.as_ref().and_then(|(key, _)| key.get(..Whose::KEY_LEAST));
    match (origin, key) {
        (Origin::Own, _) => host.clone(),
        (Origin::Imported, Some(key)) => format!("{host} {key}, imported"),
        (Origin::Imported, None) => format!("{host}, imported"),
    }
}

/// A machine with all that tells it from others.
fn on(made_on: &MadeOn) -> String {
    let key = made_on.identity.as_ref().map(|(key, hardware)| format!(" {key} {hardware}"));
    let imported = if made_on.origin == Origin::Imported { ", imported" } else { "" };
    format!("on {}{}{imported}", made_on.host, key.unwrap_or_default())
}

fn runs(page: &mut Page, history: &History) {
    let columns = vec![
        Column::left("run"),
        Column::left("experiment"),
        Column::left("machine"),
        Column::right("file size"),
        Column::left("file system"),
        Column::right("passes"),
        Column::left("target"),
    ];
    let rows = history.runs.iter().map(|it| {
        let partial = partial(&it.partial);
        vec![
            Cell::plain(shell::short(&it.id).to_string()),
            Cell::plain(format!("{}{partial}", it.experiment)),
            Cell::plain(machine(&it.on.made_on())),
            Cell::plain(number::bytes(it.target_bytes as f64)),
            Cell::plain(it.file_system.clone()),
            Cell::plain(number::count(it.samples as f64)),
            Cell::plain(it.target.clone()),
        ]
    });
    page.table(0, &Table { columns, rows: rows.collect() });
}

/// The size of a pass that was written down: `asked for 64 MiB from 1 MiB on, 1,000 blocks`. Empty where the planner chose.
fn asked(size: &SizeAsked) -> String {
    let range = size.range.map(|it| {
        let part = match (it.bytes, it.share, it.blocks) {
            (Some(bytes), ..) => bytes.exact(),
            (None, Some(share), _) => format!("{share} of the file"),
            (None, None, Some(blocks)) => format!("a range of {} blocks", thousands(blocks)),
            (None, None, None) => "all of the file".to_string(),
        };
        if it.offset.0 == 0 { part } else { format!("{part} from {} on", it.offset.exact()) }
    });
    let ops = size.ops.map(|it| format!("{} blocks", thousands(it)));
    let all: Vec<String> = range.into_iter().chain(ops).collect();
    if all.is_empty() { String::new() } else { format!("asked for {}", all.join(", ")) }
}

/// What the arm of a cell does.
fn does(it: &SavedCell) -> &Condition {
    it.own_condition.as_ref().unwrap_or(&it.under)
}

/// Whether it is a size of a pass, and not the same in all of these.
fn differs(field: &Field, cells: &[&SavedCell]) -> bool {
    field.role == Role::Size && cells.iter().any(|it| (field.of)(does(it)) && !(field.same)(does(it), does(cells[0])))
}

/// A size in a column that has its name.
fn size(field: &Field, of: &Condition) -> String {
    match field.name {
        "ops" => number::count(of.ops as f64),
        name => (field.words)(of).trim_start_matches(&format!("{name} of ")).to_string(),
    }
}

/// Each cell on its own, every run against the oldest.
fn cells(page: &mut Page, cells: &[SavedCell]) {
    if cells.is_empty() {
        page.paragraph(0, Paint::Unsure, "No saved run has measured such a cell.");
    }
    let mut series: Vec<Vec<&SavedCell>> = Vec::new();
    for cell in cells {
        // A run of an early version may be of any machine of its name, and joins no two of them.
        // So it is with a run whose passes read other windows, or are of another size: what its file held is not known of those.
        let joins = |it: &Vec<&SavedCell>| it.iter().all(|known| known.continues(cell));
        match series.iter_mut().find(|it| joins(it)) {
            Some(same) => same.push(cell),
            None => series.push(vec![cell]),
        }
    }
    let further = |it: &SavedCell| {
        let occurrence = format!("number {} of its run", it.occurrence + 1);
        let options: Vec<String> = it.command.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let line = it.command.get("line").map_or_else(String::new, |line| format!("`{line}`"));
        let command = [line, options.join(", ")];
        let found = it.found.map_or(String::new(), |it| in_page_cache(it.share()));
        let folios = it.found_pages_per_fault.map_or(String::new(), |it| {
            format!("a fault mapped {} of it", counted(it.round() as usize, "page", "pages"))
        });
        let joined = |words: Vec<&String>| words.into_iter().cloned().collect::<Vec<String>>().join(", ");
        let runtime = [joined(it.runtime.keys().collect()), joined(it.runtime.values().collect())];
        let disk = it.place.device.as_ref().map_or_else(String::new, |it| format!("device {it}"));
        let window = it.place.read_ahead_bytes.map(|it| format!("read-ahead of {}", Bytes(it)));
        let lies_on = [format!("on {}", it.place.file_system), disk, window.unwrap_or_default()];
        let place = [format!("in {}", it.target)].into_iter().chain(lies_on);
        let machine = [on(&it.on.made_on()), occurrence];
        // Checksums say nothing to a reader; where the file had changed, the run in which that was seen does.
        let what = if it.under.is_of_commands() { "output" } else { "bytes" };
        let bytes = if it.checksums.is_empty() {
            String::new()
        } else {
            format!("the {what} of run {}", shell::short(&it.run))
        };
        let further =
            it.comparison.iter().cloned().chain(command).chain([asked(&it.asked), found, folios]).chain(runtime);
        further.chain(place).chain(machine).chain([bytes]).collect()
    };
    // Each stands beneath its arm: only those of one arm must be distinguished.
    let label = |of: &[&SavedCell]| {
        let of_arm: Vec<&SavedCell> = series.iter().map(|it| it[0]).filter(|it| it.arm == of[0].arm).collect();
        // What each run chose itself is in a column; what was asked for is among the further words.
        let asked: Vec<Condition> = of_arm.iter().map(|it| it.under.without_size()).collect();
        let items: Vec<(&Condition, Vec<String>)> =
            asked.iter().zip(&of_arm).map(|(under, it)| (under, further(it))).collect();
        let at = of_arm.iter().position(|it| std::ptr::eq(*it, of[0])).unwrap_or(0);
        own::label(Labels::new(&items).label(at), of[0].own_condition.as_ref(), &of[0].under)
    };
    for same in &series {
        let first = &same[0];
        page.blank();
        page.paragraph(0, Paint::Heading, &format!("{} · {}", first.arm, label(same)));
        let mut columns = vec![
            Column::left("run"),
            Column::left("machine"),
            Column::right(format!("time per {}", metric::op(first.under.workload))),
        ];
        // How large a pass is was each run's choice, and what a block takes may depend on it.
        let sizes: Vec<&Field> = fields::FIELDS.iter().filter(|it| differs(it, same)).collect();
        let counts_blocks = |it: &Field| it.name == "ops" && first.under.workload.has_blocks();
        columns
            .extend(sizes.iter().map(|it| Column::right(if counts_blocks(it) { "blocks in a pass" } else { it.name })));
        columns.push(Column::right("speedup over the oldest"));
        let rows = same.iter().map(|it| {
            let mut row = vec![
                Cell::plain(format!("{}{}", shell::short(&it.run), partial(&it.partial))),
                Cell::plain(machine(&it.on.made_on())),
                Cell::plain(number::duration_interval(&it.ns_per_op)),
            ];
            row.extend(sizes.iter().map(|field| Cell::plain(size(field, does(it)))));
            row.push(Cell::plain(number::ratio_glued(first.ns_per_op.median / it.ns_per_op.median)));
            row
        });
        page.table(2, &Table { columns, rows: rows.collect() });
    }
}
/// Of a run that ended before its plan did.
fn partial(why: &Option<String>) -> &'static str {
    if why.is_some() { " (partial)" } else { "" }
}
