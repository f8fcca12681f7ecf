//! What `faultline inspect` prints: a file's residency as a bar and numbers; a process's mappings as a table.

use std::collections::{BTreeMap, BTreeSet};

use schema::{
    Bytes, Reading,
    inspection::{
        FAULT_AROUND_BYTES, FaultView, FileView, Inspection, MappedFile, MappingAdvice, MappingView, ProcessView,
        Residency, Unlooked,
    },
    record::FolioOrder,
    unit_cost::FaultCost,
};
use serde_json::Value;

use crate::{
    Style,
    json::written,
    layout::{
        number,
        page::Page,
        paint::{Paint, Piece},
        table::{Cell, Column, Table},
        words::plural,
    },
    words::{inspection as words, numbers::percent_of_all, runtime},
};

/// The inspection for a terminal or a pipe.
pub fn inspection(inspection: &Inspection, style: Style) -> String {
    let mut page = Page::new(style);
    match inspection {
        Inspection::File(view) => file(&mut page, view),
        Inspection::Process(view) => process(&mut page, view),
    }
    page.finish()
}

/// The inspection as one JSON document.
pub fn inspection_json(inspection: &Inspection) -> String {
    let mut value = serde_json::to_value(inspection).expect("plain data");
    if let Some(process) = value.get_mut("process") {
        say_unlooked(process);
    }
    written(format!("{value:#}"))
}

/// Readings of a process that have no value say why.
fn say_unlooked(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(say_unlooked),
        Value::Object(fields) => {
            let why = fields.get("unavailable").and_then(|it| serde_json::from_value::<Unlooked>(it.clone()).ok());
            match why.filter(|it| !matches!(it, Unlooked::Text(_))) {
                Some(why) => {
                    let data = fields.insert("unavailable".into(), words::unlooked(&why).into());
                    fields.extend(data.map(|data| ("unavailable_data".into(), data)));
                }
                None => fields.values_mut().for_each(say_unlooked),
            }
        }
        _ => {}
    }
}

const LABEL: usize = 10;

fn file(page: &mut Page, view: &FileView) {
    page.item(
        0,
        LABEL,
        "File",
        Paint::Heading,
        &format!("{} · {} on {}", view.path, Bytes(view.bytes), view.file_system),
    );
    match &view.residency {
        Reading::Unavailable { unavailable } => page.item(0, LABEL, "Resident", Paint::Unsure, unavailable),
        Reading::Value(residency) => numbers(page, view, residency),
    }
    let mut sizes = Vec::new();
    for order in view.folio_orders.value().into_iter().flatten() {
        sizes.push(format!(
            "{} in folios of {}",
            pages_of(order.pages as f64),
            Bytes(order.folio_bytes(view.page_bytes))
        ));
    }
    match view.folio_orders.reason() {
        Some(reason) => page.item(0, LABEL, "Folios", Paint::Unsure, reason),
        None if sizes.is_empty() => page.item(0, LABEL, "Folios", Paint::Heading, "none"),
        None => page.item(0, LABEL, "Folios", Paint::Heading, &sizes.join(", ")),
    }
    if let (Reading::Unavailable { .. }, Reading::Value(pages)) = (&view.folio_orders, &view.pages_per_fault) {
        let bytes = (view.page_bytes as f64 * *pages) as u64;
        let folios =
            if bytes <= FAULT_AROUND_BYTES { "64 KiB or less".into() } else { format!("{} on average", Bytes(bytes)) };
        let text = format!("a fault maps {}: folios of {folios}", pages_of(*pages));
        page.item(0, LABEL, "", Paint::Heading, &text);
    }
    let mapped = if view.mapped_by.is_empty() {
        "no process that this user can see".to_string()
    } else {
        view.mapped_by.join(", ")
    };
    page.item(0, LABEL, "Mapped by", Paint::Heading, &mapped);
    match &view.faults {
        Reading::Value(faults) => page.item(0, LABEL, "Mapping it", Paint::Heading, &sentence(view, faults)),
        Reading::Unavailable { unavailable } => page.item(0, LABEL, "Mapping it", Paint::Unsure, unavailable),
    }
}

/// Folios are worse than others where a page costs so many times as much.
const WORSE: f64 = 1.25;

fn sentence(view: &FileView, faults: &FaultView) -> String {
    let FaultView { run, of, like, here, in_order } = faults;
    let of = of.as_ref().map(|it| format!(", of {}, {}", it.path, Bytes(it.bytes))).unwrap_or_default();
    let (in_that, others) =
        if of.is_empty() { (" would map", "") } else { (" of that file maps", " (other sizes differ)") };
    let per_page = |it: &FaultCost| it.ns / it.pages.max(1.0);
    let better = if !view.can_be_evicted {
        // Its folios stay as they were made.
        String::new()
    } else if per_page(here) > WORSE * per_page(in_order) {
        format!(
            ". After one sequential read a fault{in_that} {} for {}{others}: evict the file and read it once \
             sequentially before mapping it",
            number::count(in_order.pages.round()),
            number::duration(in_order.ns)
        )
    } else {
        ", and no sequential read makes that much cheaper".into()
    };
    format!(
        "A fault maps {} here and costs {}, including unmapping (measured after fill {like} in run {run}{of}){better}.",
        pages_of(here.pages),
        number::duration(here.ns)
    )
}

fn pages_of(pages: f64) -> String {
    format!("{} page{}", number::count(pages.round()), plural(pages.round() as usize))
}

fn numbers(page: &mut Page, view: &FileView, residency: &Residency) {
    let share = residency.resident as f64 / residency.pages.max(1) as f64;
    let resident = format!(
        "{} of {} pages ({}), says {}",
        number::count(residency.resident as f64),
        number::count(residency.pages as f64),
        percent_of_all(share),
        residency.asked
    );
    page.item(0, LABEL, "Resident", Paint::Heading, &resident);
    if let Some(stretches) = view.stretches.value() {
        let stretches = &fitting(stretches, page.width().saturating_sub(LABEL + 4));
        let bar: String = stretches.iter().map(|&share| mark(share)).collect();
        page.line(
            0,
            &[Piece::padded(String::new(), LABEL + 2, Paint::Plain), Piece::of(format!("|{bar}|"), Paint::Plain)],
        );
        let legend = format!(
            "one character: {}; empty, up to a third, up to two thirds, less than all, all",
            stretch_size(view.bytes, residency.pages, view.page_bytes, stretches.len())
        );
        page.item(0, LABEL, "", Paint::Plain, &legend);
    }
    let counted = |reading: &Reading<u64>, of: &str| match reading {
        Reading::Value(pages) => (Paint::Heading, format!("{}{of}", pages_of(*pages as f64))),
        Reading::Unavailable { unavailable } => (Paint::Unsure, unavailable.clone()),
    };
    let recent = residency.recently_evicted.value().map_or(String::new(), |pages| {
        format!(" with a shadow entry in the kernel, {} of them recent", number::count(*pages as f64))
    });
    for (label, reading, of) in [
        ("Dirty", &residency.dirty, ""),
        ("Write-back", &residency.under_writeback, ""),
        ("Evicted", &residency.evicted, recent.as_str()),
    ] {
        let (paint, text) = counted(reading, of);
        page.item(0, LABEL, label, paint, &text);
    }
}

/// As many stretches as there is room for: several that follow each other become one.
fn fitting(stretches: &[f64], room: usize) -> Vec<f64> {
    let several = stretches.len().div_ceil(room.max(1)).max(1);
    stretches.chunks(several).map(|it| it.iter().sum::<f64>() / it.len() as f64).collect()
}

/// Stretches are whole pages, so they are equal only where the number of pages, each of them whole, is a multiple of theirs.
fn stretch_size(bytes: u64, pages: u64, page_bytes: u64, stretches: usize) -> String {
    let stretches = stretches.max(1) as u64;
    let are_equal = pages.is_multiple_of(stretches) && bytes == pages.saturating_mul(page_bytes);
    let about = if are_equal { "" } else { "about " };
    format!("{about}{}", Bytes(bytes.div_ceil(stretches)))
}

/// A share as one character; nothing and all are exact.
fn mark(share: f64) -> char {
    match share {
        share if share <= 0.0 => ' ',
        share if share >= 1.0 => '█',
        share if share <= 1.0 / 3.0 => '░',
        share if share <= 2.0 / 3.0 => '▒',
        _ => '▓',
    }
}

/// Of a process with very many mappings, so many rows of them are shown.
const MAPPINGS: usize = 60;

fn process(page: &mut Page, view: &ProcessView) {
    let thread = view.thread.map_or_else(String::new, |it| format!("; {it} is a thread of it"));
    page.item(0, LABEL, "Process", Paint::Heading, &format!("{} ({}){thread}", view.pid, view.command));
    if let Some(why) = view.without_memory {
        page.item(0, LABEL, "Mapped", Paint::Unsure, words::without_memory(why));
        return;
    }
    page.item(0, LABEL, "First", Paint::Heading, &words::first(view));
    if let Some(places) = words::places(view) {
        page.item(0, LABEL, "Places", Paint::Heading, &places);
    }
    match words::cost(view) {
        Some(Ok(cost)) => page.item(0, LABEL, "Cost", Paint::Heading, &cost),
        Some(Err(why)) => page.item(0, LABEL, "Cost", Paint::Unsure, &why),
        None => {}
    }
    if let Some(watched) = &view.watched {
        page.item(0, LABEL, "Watched", Paint::Heading, &words::watched(watched));
    }
    if let Some(threads) = view.watched.as_ref().and_then(words::threads) {
        page.item(0, LABEL, "Threads", Paint::Heading, &threads);
    }
    for it in &view.runtimes {
        page.item(0, LABEL, "Runtime", Paint::Heading, &format!("{}: {}", runtime::name(*it), runtime::fault(*it)));
    }
    let sum = |of: fn(&MappingView) -> u64| Bytes(view.mappings.iter().map(of).fold(0, u64::saturating_add));
    let files = Bytes(of_files_bytes(view));
    let totals = format!(
        "{} in {} mappings; {} resident, of it {files} of files; {} dirty, {} locked, {} in huge pages, {} swapped",
        sum(|it| it.bytes),
        number::count(view.mappings.len() as f64),
        sum(|it| it.resident_bytes),
        sum(|it| it.dirty_bytes),
        sum(|it| it.locked_bytes),
        sum(|it| it.huge_bytes),
        sum(|it| it.swapped_bytes),
    );
    page.item(0, LABEL, "Mapped", Paint::Heading, &totals);
    if let Some(changed) = view.watched.as_ref().and_then(words::mappings_changed) {
        page.item(0, LABEL, "", Paint::Heading, &changed);
    }
    if !view.files.is_empty() {
        page.blank();
        let shown: Vec<&MappedFile> = view.files.iter().filter(|it| words::is_listed(it)).collect();
        if !shown.is_empty() {
            cut(page, files_table(view, &shown), words::FILES_SHOWN);
        }
        if let Some(others) = words::not_listed(&view.files) {
            page.paragraph(0, Paint::Quiet, &others);
        }
        for (columns, why) in absent(&shown[..shown.len().min(words::FILES_SHOWN)]) {
            page.paragraph(0, Paint::Quiet, &format!("– in {}: {why}", columns.join(", ")));
        }
    }
    page.blank();
    cut(page, table(view), MAPPINGS);
}

/// Resident pages of files, as the table of files counts them: without copies of the process's own, and without memory that
/// has a name.
fn of_files_bytes(view: &ProcessView) -> u64 {
    let memory = view.files.iter().filter(|it| it.residency.why() == Some(&Unlooked::Memory));
    let memory: BTreeSet<(&str, u64)> = memory.map(|it| (it.device.as_str(), it.inode)).collect();
    let of_files = view.mappings.iter().filter(|it| it.is_file && !memory.contains(&(it.device.as_str(), it.inode)));
    of_files.fold(0, |sum, it| sum.saturating_add(it.resident_bytes.saturating_sub(it.anonymous_bytes)))
}

fn cut(page: &mut Page, mut table: Table, most: usize) {
    let more = table.rows.len().saturating_sub(most);
    table.rows.truncate(most);
    page.table(0, &table);
    if more > 0 {
        page.paragraph(0, Paint::Quiet, &format!("… and {} more; --json has all", number::count(more as f64)));
    }
}

/// The files in the order in which they are to be asked about; each library would be a row without an answer.
fn files_table(view: &ProcessView, files: &[&MappedFile]) -> Table {
    // What was counted comes first.
    let counted: &[&str] = if view.watched.is_some() { &["cached more", "mapped more", "not mapped"] } else { &[] };
    let mut columns = vec![Column { at_most: 44, ..Column::left("file") }, Column::left("advice")];
    columns.push(Column::right("size"));
    columns.extend(counted.iter().copied().map(Column::right));
    columns.push(Column { begins_group: true, ..Column::right("resident") });
    columns.push(Column::right(if view.watched.is_some() { "new places" } else { "places" }));
    columns.extend(FROM_THE_FILE.map(Column::right));
    let bytes = |it: u64| Cell::plain(Bytes(it).to_string());
    let read = |it: Option<u64>| it.map_or_else(Cell::absent, bytes);
    let row = |file: &&MappedFile| {
        let cached = file.residency.value().map(|it| it.resident.saturating_mul(view.page_bytes));
        let folios = file.folio_orders.value().filter(|it| !it.is_empty());
        let fault = file.pages_per_fault.value().map(|it| Cell::plain(number::count(it.round())));
        let mut row = vec![Cell::plain(&file.name), advice_of(file), bytes(file.bytes)];
        if view.watched.is_some() {
            let meanwhile = file.meanwhile.as_ref();
            let more = |it: Option<&i64>| it.map_or_else(Cell::absent, |it| Cell::plain(signed(*it)));
            row.push(more(meanwhile.and_then(|it| it.cached_more_bytes.value())));
            row.push(more(meanwhile.and_then(|it| it.mapped_more_bytes.value())));
            row.push(read(meanwhile.and_then(|it| it.unmapped_more_bytes.value()).copied()));
        }
        row.push(bytes(file.resident_bytes));
        let places = match view.watched.is_some() {
            true => file.meanwhile.as_ref().and_then(|it| it.new_places.as_ref()),
            false => file.places.as_ref(),
        };
        let places = places.and_then(Reading::value);
        row.push(places.map_or_else(Cell::absent, |it| Cell::plain(number::count(it.places as f64))));
        row.push(read(cached));
        row.push(folios.map_or_else(Cell::absent, |it| Cell::plain(folio_sizes(it, view.page_bytes))));
        row.push(fault.unwrap_or_else(Cell::absent));
        row
    };
    Table { rows: files.iter().map(row).collect(), columns }
}

/// `16 KiB`, where all pages lie in folios of that size; `mostly 16 KiB`, or `4 KiB to 64 KiB` where no size has most of them.
fn folio_sizes(of: &[FolioOrder], page_bytes: u64) -> String {
    let bytes = |it: &FolioOrder| Bytes(it.folio_bytes(page_bytes)).to_string();
    let all = of.iter().fold(0u64, |sum, it| sum.saturating_add(it.pages));
    let (Some(most), Some(least), Some(last)) =
        (of.iter().max_by_key(|it| it.pages), of.iter().min_by_key(|it| it.order), of.iter().max_by_key(|it| it.order))
    else {
        return number::MISSING.into();
    };
    match () {
        () if of.len() == 1 => bytes(most),
        () if most.pages > all / 2 => format!("mostly {}", bytes(most)),
        () => format!("{} to {}", bytes(least), bytes(last)),
    }
}

/// Why columns of the table of files have no value in some row, each reason once.
fn absent(files: &[&MappedFile]) -> Vec<(Vec<&'static str>, String)> {
    let mut reasons: Vec<(Vec<&'static str>, &Unlooked)> = Vec::new();
    for file in files {
        let why = [file.residency.why(), file.folio_orders.why(), file.pages_per_fault.why()];
        for (column, why) in FROM_THE_FILE.into_iter().zip(why) {
            let Some(why) = why else { continue };
            match reasons.iter_mut().find(|it| it.1 == why) {
                Some((columns, _)) if columns.contains(&column) => {}
                Some((columns, _)) => columns.push(column),
                None => reasons.push((vec![column], why)),
            }
        }
    }
    reasons.into_iter().map(|(columns, why)| (columns, words::unlooked(why))).collect()
}

/// Columns that come of the file itself, which may not be known.
const FROM_THE_FILE: [&str; 3] = ["cached", "folios", "pages per fault"];

fn signed(bytes: i64) -> String {
    format!("{}{}", if bytes < 0 { "-" } else { "" }, Bytes(bytes.unsigned_abs()))
}

fn named(advice: &[MappingAdvice]) -> String {
    match advice {
        [] => "none".into(),
        advice => advice.iter().map(|it| words::advice(*it)).collect::<Vec<_>>().join(", "),
    }
}

/// `none, random` where some of its mappings have none.
fn advice_of(file: &MappedFile) -> Cell {
    let (Some(advice), Some(unadvised_bytes)) = (&file.advice, file.unadvised_bytes) else { return Cell::absent() };
    let words = named(advice);
    // Only these two are advice on read-ahead: mappings with other advice are among those without.
    let is_partly = advice.iter().any(|it| matches!(it, MappingAdvice::Random | MappingAdvice::Sequential));
    let partly = if unadvised_bytes > 0 && is_partly { "none, " } else { "" };
    let kind = match &file.residency {
        Reading::Unavailable { unavailable: Unlooked::Memory } => "; memory",
        _ => "",
    };
    Cell::plain(format!("{partly}{words}{kind}"))
}

/// What is mapped, as far as rows tell it apart.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Thing<'a> {
    /// By its name, and by what tells it from another of that name.
    File(&'a str, (&'a str, u64)),
    /// All files together about which nothing is asked, whatever is mapped of them.
    Unlisted,
    Memory(&'a str),
}

/// Mappings of one thing with one protection are one row: a library is five mappings, and an arena a hundred.
fn table(view: &ProcessView) -> Table {
    type Kind<'a> = (Thing<'a>, Option<(&'a str, bool)>, Option<&'a [MappingAdvice]>);
    let unlisted = view.files.iter().filter(|it| !words::is_listed(it));
    let unlisted: BTreeSet<(&str, u64)> = unlisted.map(|it| (it.device.as_str(), it.inode)).collect();
    // The kernel maps `[vdso]` and the like into every process.
    let is_kernels = |it: &&MappingView| !it.is_file && it.name.starts_with("[v");
    let mut rows: BTreeMap<Kind, Vec<&MappingView>> = BTreeMap::new();
    for it in view.mappings.iter().filter(|it| !is_kernels(it)) {
        let access = Some((it.protection.as_str(), it.shared));
        let file = (it.device.as_str(), it.inode);
        let (thing, access) = match it.is_file {
            true if unlisted.contains(&file) => (Thing::Unlisted, None),
            true => (Thing::File(&it.name, file), access),
            false => (Thing::Memory(&it.name), access),
        };
        rows.entry((thing, access, it.advice.as_deref())).or_default().push(it);
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    let resident = |of: &[&MappingView]| of.iter().fold(0u64, |sum, it| sum.saturating_add(it.resident_bytes));
    // Files first, the largest part of memory at the top.
    rows.sort_by_key(|((thing, ..), of)| (matches!(thing, Thing::Memory(_)), std::cmp::Reverse(resident(of))));
    let mut columns =
        vec![Column { at_most: 44, ..Column::left("mapped") }, Column::left("access"), Column::left("advice")];
    columns.push(Column::right("mappings"));
    columns.extend(["size", "resident"].map(Column::right));
    // Nothing at all is said above.
    type Sum = (&'static str, fn(&MappingView) -> u64);
    let mut few: Vec<Sum> =
        vec![("dirty", |it| it.dirty_bytes), ("locked", |it| it.locked_bytes), ("huge", |it| it.huge_bytes)];
    few.retain(|(_, of)| view.mappings.iter().any(|it| of(it) > 0));
    columns.extend(few.iter().map(|(title, _)| Column::right(*title)));
    let rows = rows.into_iter().map(|((thing, access, advice), of)| {
        let sum = |number: fn(&MappingView) -> u64| {
            Cell::plain(Bytes(of.iter().fold(0, |sum, it| sum.saturating_add(number(it)))).to_string())
        };
        let mut row = vec![
            Cell::plain(match thing {
                Thing::File(name, _) => name,
                Thing::Unlisted => "code and small files",
                Thing::Memory("") => "anonymous",
                Thing::Memory(name) => name,
            }),
            access.map_or_else(
                || Cell::plain("various"),
                |(protection, shared)| {
                    Cell::plain(format!("{protection} {}", if shared { "shared" } else { "private" }))
                },
            ),
            advice.map_or_else(Cell::absent, |it| Cell::plain(named(it))),
            Cell::plain(number::count(of.len() as f64)),
            sum(|it| it.bytes),
            sum(|it| it.resident_bytes),
        ];
        row.extend(few.iter().map(|(_, of)| sum(*of)));
        row
    });
    Table { rows: rows.collect(), columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use schema::inspection::{
        AdviceCost, FileMeanwhile, MappedRuntime, MissCost, PlacePattern, Places, Shape, ThreadFaults, WatchEnd,
        Watched, WatchedReads, WithoutMemory,
    };

    fn seen() -> FileView {
        FileView {
            path: "/data/a\u{1b}[31m.log".into(),
            bytes: 40 << 20,
            page_bytes: 4096,
            file_system: "ext4".into(),
            can_be_evicted: true,
            residency: Reading::Value(Residency {
                asked: "cachestat".into(),
                pages: 10_240,
                resident: 5_130,
                dirty: Reading::Value(12),
                under_writeback: Reading::Value(0),
                evicted: Reading::Value(7),
                recently_evicted: Reading::Value(3),
            }),
            stretches: Reading::Value(vec![1.0, 0.999, 0.5, 0.001, 0.0]),
            folio_orders: Reading::Value(vec![
                FolioOrder { order: 0, pages: 10 },
                FolioOrder { order: 9, pages: 5_120 },
            ]),
            pages_per_fault: Reading::Value(16.0),
            faults: Reading::Value(FaultView {
                run: "a1".into(),
                of: None,
                like: schema::Fill::Random,
                here: FaultCost { pages: 16.0, ns: 9_900.0 },
                in_order: FaultCost { pages: 420.0, ns: 1_700.0 },
            }),
            mapped_by: vec!["4711 (mongod)".into()],
        }
    }

    fn text(inspection: &Inspection) -> String {
        super::inspection(inspection, Style { width: 60, ..Style::default() })
    }

    #[test]
    fn a_file_is_a_bar_and_numbers_and_its_name_is_only_text() {
        expect![[r#"
            File        /data/a\u{1b}[31m.log · 40 MiB on ext4
            Resident    5,130 of 10,240 pages (50 %), says cachestat
                        |█▓▒░ |
                        one character: 8 MiB; empty, up to a third, up
                        to two thirds, less than all, all
            Dirty       12 pages
            Write-back  0 pages
            Evicted     7 pages with a shadow entry in the kernel, 3 of
                        them recent
            Folios      10 pages in folios of 4 KiB, 5,120 pages in
                        folios of 2 MiB
            Mapped by   4711 (mongod)
            Mapping it  A fault maps 16 pages here and costs 9.90 µs,
                        including unmapping (measured after fill random
                        in run a1). After one sequential read a fault
                        would map 420 for 1.70 µs: evict the file and
                        read it once sequentially before mapping it.
        "#]]
        .assert_eq(&text(&Inspection::File(Box::new(seen()))));
    }

    #[test]
    fn the_bar_of_a_file_is_as_wide_as_there_is_room_for() {
        let stretches = Reading::Value((0..48).map(|it| if it < 24 { 1.0 } else { 0.0 }).collect());
        let view = Inspection::File(Box::new(FileView { stretches, ..seen() }));
        let bar = |width: usize| {
            let text = super::inspection(&view, Style { width, ..Style::default() });
            assert!(text.lines().all(|it| crate::layout::text::width(it) <= width), "{text}");
            text.split('|').nth(1).unwrap().to_string()
        };
        assert_eq!(bar(100), "█".repeat(24) + &" ".repeat(24));
        assert_eq!(bar(40), "█".repeat(12) + &" ".repeat(12));
    }

    #[test]
    fn folios_of_several_sizes_are_not_said_to_be_of_one() {
        let of = |orders: &[(u32, u64)]| {
            let orders: Vec<FolioOrder> = orders.iter().map(|&(order, pages)| FolioOrder { order, pages }).collect();
            folio_sizes(&orders, 4096)
        };
        assert_eq!(of(&[(4, 100)]), "64 KiB");
        assert_eq!(of(&[(0, 10), (9, 5120)]), "mostly 2 MiB");
        assert_eq!(of(&[(0, 27), (2, 24), (4, 24), (6, 25)]), "4 KiB to 256 KiB");
    }

    #[test]
    fn stretches_are_of_one_size_only_where_all_of_their_pages_are_whole() {
        assert_eq!(stretch_size(1 << 20, 256, 4096, 4), "256 KiB");
        assert!(stretch_size(5000, 2, 4096, 2).starts_with("about"), "4,096 and 904 bytes");
        assert!(stretch_size(1 << 20, 256, 4096, 3).starts_with("about"));
    }

    #[test]
    fn a_file_that_cannot_be_evicted_is_not_to_be_evicted() {
        let of = |can_be_evicted: bool| {
            let text = text(&Inspection::File(Box::new(FileView { can_be_evicted, ..seen() })));
            text.split_whitespace().collect::<Vec<&str>>().join(" ")
        };
        assert!(of(true).contains("evict the file and read it once sequentially"));
        let in_memory = of(false);
        assert!(in_memory.ends_with("(measured after fill random in run a1)."), "{in_memory}");
    }

    #[test]
    fn what_fault_around_maps_of_small_folios_is_not_taken_for_their_size() {
        let described = |page_bytes: u64, pages: f64| {
            let folio_orders = Reading::unavailable("needs root");
            let view = FileView { page_bytes, pages_per_fault: Reading::Value(pages), folio_orders, ..seen() };
            let text = text(&Inspection::File(Box::new(view)));
            text.split_whitespace().collect::<Vec<&str>>().join(" ")
        };
        assert!(described(4096, 16.0).contains("folios of 64 KiB or less"));
        assert!(described(4096, 32.0).contains("folios of 128 KiB"));
        assert!(described(16 << 10, 4.0).contains("folios of 64 KiB or less"));
        assert!(described(16 << 10, 16.0).contains("folios of 256 KiB"));
        assert!(described(64 << 10, 2.0).contains("folios of 128 KiB"));
    }

    #[test]
    fn what_a_stranger_is_not_told_is_said_and_never_shown_as_a_number() {
        let why = "the kernel reports the residency of a file only to its owner";
        let view = FileView {
            residency: Reading::unavailable(why),
            stretches: Reading::unavailable(why),
            folio_orders: Reading::unavailable("folio sizes need root"),
            pages_per_fault: Reading::unavailable(why),
            faults: Reading::unavailable(why),
            mapped_by: Vec::new(),
            ..seen()
        };
        let text = text(&Inspection::File(Box::new(view)));
        assert!(text.contains("owner") && !text.contains('%') && !text.contains('█'), "{text}");
    }

    fn seen_process() -> ProcessView {
        ProcessView {
            pid: 7,
            command: "job".into(),
            thread: None,
            page_bytes: 4096,
            without_memory: None,
            runtimes: Vec::new(),
            watched: None,
            files: Vec::new(),
            mappings: Vec::new(),
        }
    }

    fn mapped(name: &str, cost: Option<AdviceCost>) -> MappedFile {
        let Reading::Value(residency) = seen().residency else { unreachable!() };
        MappedFile {
            name: name.into(),
            device: "8:1".into(),
            inode: 7,
            is_code: false,
            mappings: 1,
            bytes: 40 << 20,
            unadvised_bytes: Some(if cost.is_some() { 40 << 20 } else { 0 }),
            unadvised_resident_bytes: Some(0),
            advice: Some(if cost.is_some() { Vec::new() } else { vec![MappingAdvice::Random] }),
            resident_bytes: 2 << 20,
            file_bytes: Reading::Value(40 << 20),
            residency: Reading::Value(residency),
            folio_orders: Reading::Value(vec![FolioOrder { order: 4, pages: 5_130 }]),
            pages_per_fault: Reading::Value(16.0),
            read_ahead_bytes: Reading::Value(8 << 20),
            disk: Some("sda".into()),
            places: cost.is_some().then_some(Reading::Value(PLACES)),
            meanwhile: None,
            cost,
            pattern: None,
            miss: None,
        }
    }

    const PLACES: Places = Places { pages: 512, places: 20, short: 15, fault_pages: 16 };

    /// As `analysis` leaves a file whose advice is a question.
    fn asked(file: MappedFile, shape: Option<Shape>) -> MappedFile {
        let pattern = shape.map(|shape| PlacePattern {
            shape,
            places: 1_234,
            bytes: 2 << 20,
            meanwhile: file.meanwhile.is_some(),
        });
        let miss = MissCost { run: "a1".into(), window_bytes: 8 << 20, window_ns: 4_100_000.0, page_ns: 100_000.0 };
        MappedFile { pattern, miss: Some(Reading::Value(miss)), ..file }
    }

    fn watched() -> Watched {
        Watched {
            asked_s: 5.0,
            elapsed_s: 5.0,
            ended: None,
            minor_faults: 1,
            major_faults: 40,
            reads: Reading::Value(WatchedReads { device_bytes: 20 << 20, read_calls: 0, read_call_bytes: 0 }),
            children_ended: false,
            device_bytes_per_major_fault: Some(524_288.0),
            threads: Vec::new(),
            new_mappings: 0,
            gone_mappings: 0,
        }
    }

    fn of_process(view: ProcessView) -> String {
        super::inspection(&Inspection::Process(Box::new(view)), Style { width: 100, ..Style::default() })
    }

    #[test]
    fn a_process_is_answered_by_the_file_to_ask_about_and_what_was_counted() {
        let meanwhile = |cached, mapped| {
            Some(FileMeanwhile {
                cached_more_bytes: Reading::Value(cached),
                mapped_more_bytes: Reading::Value(mapped),
                unmapped_more_bytes: Reading::Value(u64::try_from(cached - mapped).unwrap()),
                new_places: Some(Reading::Value(PLACES)),
            })
        };
        let none = mapped("/data/none", Some(AdviceCost::Counted { unmapped_bytes: 19 << 20 }));
        let files = vec![
            asked(MappedFile { meanwhile: meanwhile(20 << 20, 1 << 20), ..none }, Some(Shape::Apart)),
            MappedFile { meanwhile: meanwhile(-4096, -4096), ..mapped("/data/random", None) },
        ];
        let runtimes = vec![MappedRuntime::Jvm];
        expect![[r#"
            Process     7 (job)
            First       /data/none is mapped without advice (40 MiB): while it was watched 20 MiB more of it
                        came to be in the page cache and 1 MiB more of it in the page table of the process, so
                        19 MiB more of it is in the page cache and not mapped; the process never mapped it. What
                        brought them in was not traced
            Places      what the process mapped of it meanwhile lies apart, 2 MiB in 1,234 places, as random
                        accesses leave it: try MADV_RANDOM. Their order was not seen, nor which code maps it
            Cost        a miss takes the device 4.10 ms with 8 MiB of read-ahead and 100 µs without, by the unit
                        costs of run a1; the device is assumed to be the sda of that run; what came in and is
                        not mapped takes it about 9.50 ms if it was read
            Watched     5 s: 40 major faults, 1 minor fault; 20 MiB from the device, 512 KiB for each major
                        fault
            Runtime     JVM: a thread that takes a page fault in Java code cannot reach a safepoint until the
                        page is in memory; an operation that needs one stops all other Java threads meanwhile
            Mapped      0 B in 0 mappings; 0 B resident, of it 0 B of files; 0 B dirty, 0 B locked, 0 B in huge
                        pages, 0 B swapped

                                                                                                       pages
                                          cached  mapped     not               new                       per
            file          advice    size    more    more  mapped  resident  places     cached  folios  fault
            /data/none    none    40 MiB  20 MiB   1 MiB  19 MiB     2 MiB      20  20.04 MiB  64 KiB     16
            /data/random  random  40 MiB  -4 KiB  -4 KiB     0 B     2 MiB      20  20.04 MiB  64 KiB     16

            mapped  access  advice  mappings  size  resident
        "#]]
        .assert_eq(&of_process(ProcessView { files, runtimes, watched: Some(watched()), ..seen_process() }));
    }

    #[test]
    fn what_was_not_counted_is_a_question_that_says_how_to_count_it() {
        let unknown = MappedFile {
            residency: Reading::unavailable(Unlooked::Stranger),
            folio_orders: Reading::unavailable(Unlooked::Stranger),
            pages_per_fault: Reading::unavailable(Unlooked::Stranger),
            ..mapped("/data/strange", Some(AdviceCost::NotMapped { bytes: 38 << 20 }))
        };
        let none = asked(mapped("/data/none", Some(AdviceCost::NotCached { bytes: 20 << 20 })), None);
        let files = vec![none, unknown];
        expect![[r#"
            Process     7 (job)
            First       /data/none is mapped without advice (40 MiB), and at most 20 MiB of that are not in the
                        page cache. A question, and no verdict: read-ahead may bring in pages that are never
                        used, up to 8 MiB at a miss; `faultline inspect 7 --for 5s` counts. Another file without
                        advice follows below
            Places      not known whether its accesses are random: what is mapped of it, 2 MiB in 20 places, 15
                        of them short, is what either leaves; if they are, try MADV_RANDOM
            Cost        a miss takes the device 4.10 ms with 8 MiB of read-ahead and 100 µs without, by the unit
                        costs of run a1; the device is assumed to be the sda of that run
            Mapped      0 B in 0 mappings; 0 B resident, of it 0 B of files; 0 B dirty, 0 B locked, 0 B in huge
                        pages, 0 B swapped

                                                                                pages
                                                                                  per
            file           advice    size  resident  places     cached  folios  fault
            /data/none     none    40 MiB     2 MiB      20  20.04 MiB  64 KiB     16
            /data/strange  none    40 MiB     2 MiB      20          –       –      –
            – in cached, folios, pages per fault: the kernel reports the residency of a file only to its owner
            and to those who may write it

            mapped  access  advice  mappings  size  resident
        "#]]
        .assert_eq(&of_process(ProcessView { files, ..seen_process() }));
        let nothing = of_process(seen_process());
        assert!(nothing.contains("no question") && !nothing.contains("verdict"), "{nothing}");
    }

    #[test]
    fn the_pattern_is_called_by_what_was_seen_and_an_unknown_one_is_no_pattern() {
        let of = |file: MappedFile| words::places(&ProcessView { files: vec![file], ..seen_process() });
        let none = || mapped("/data/none", Some(AdviceCost::NotCached { bytes: 20 << 20 }));
        let said = |shape| of(asked(none(), shape)).unwrap();
        assert!(said(Some(Shape::Apart)).contains("1,234 places"), "{}", said(Some(Shape::Apart)));
        assert!(said(Some(Shape::Apart)).contains("try MADV_RANDOM. Their order was not seen"));
        assert!(!said(Some(Shape::Together)).contains("MADV_RANDOM"), "{}", said(Some(Shape::Together)));
        assert!(said(None).starts_with("not known whether its accesses are random: what is mapped"), "{}", said(None));
        let large = Reading::unavailable(Unlooked::TooLargeMapping { pages: 1 << 30, most: 1 << 22 });
        let unlooked = of(asked(MappedFile { places: Some(large), ..none() }, None)).unwrap();
        assert!(unlooked.contains("1,073,741,824 pages") && unlooked.contains("not known"), "{unlooked}");
        assert_eq!(of(none()), None, "nothing is asked");
    }

    #[test]
    fn a_cost_without_unit_costs_is_in_bytes_and_says_why() {
        let file = mapped("/data/none", Some(AdviceCost::NotCached { bytes: 20 << 20 }));
        let miss = Some(Reading::unavailable("no saved run"));
        let view = ProcessView { files: vec![MappedFile { miss, ..file }], ..seen_process() };
        assert_eq!(words::cost(&view), Some(Err("in bytes alone: no saved run".into())));
    }

    #[test]
    fn a_reason_for_what_is_not_known_stands_once_beneath_the_table() {
        let file = |name: &str| {
            let folio_orders = Reading::unavailable(Unlooked::NoFolios { error: "Permission denied".into() });
            MappedFile { folio_orders, ..mapped(name, None) }
        };
        let strange = MappedFile {
            residency: Reading::unavailable(Unlooked::Stranger),
            pages_per_fault: Reading::unavailable(Unlooked::Stranger),
            ..file("/data/c")
        };
        let files = [file("/data/a"), file("/data/b"), strange];
        let found = absent(&files.each_ref());
        assert_eq!(
            found.iter().map(|it| it.0.clone()).collect::<Vec<_>>(),
            [vec!["folios"], vec!["cached", "pages per fault"]]
        );
        let text = of_process(ProcessView { files: files.into(), ..seen_process() });
        assert_eq!(text.matches("– in folios: folio sizes need root").count(), 1, "{text}");
    }

    #[test]
    fn names_with_control_characters_are_shown_escaped() {
        let name = "/data/\u{1b}[2Ja\nb\u{202e}c";
        let file = asked(mapped(name, Some(AdviceCost::NotCached { bytes: 1 << 20 })), Some(Shape::Apart));
        let view = ProcessView {
            command: "\u{1b}]0;x\u{7}".into(),
            files: vec![file],
            mappings: vec![mapping(name, 4096)],
            ..seen_process()
        };
        for width in [40, 80, 120] {
            let text =
                super::inspection(&Inspection::Process(Box::new(view.clone())), Style { width, ..Style::default() });
            let is_plain = |it: char| it == '\n' || !it.is_control() && it != '\u{202e}';
            assert!(text.chars().all(is_plain), "{text:?}");
        }
        let text = inspection_json(&Inspection::Process(Box::new(view)));
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn advice_that_the_kernel_does_not_show_is_not_called_none() {
        let unknown = |name: &str| {
            let cost = Some(AdviceCost::AdviceUnknown);
            MappedFile { unadvised_bytes: None, advice: None, ..mapped(name, cost) }
        };
        let files = vec![unknown("/data/one"), unknown("/data/other")];
        let text = of_process(ProcessView { files, ..seen_process() });
        let words = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(
            words.contains("not known: the kernel does not show") && words.contains("/data/one (40 MiB)"),
            "{text}"
        );
        assert!(!words.contains("no question") && !words.contains("none") && !words.contains("follow"), "{text}");
        assert!(words.contains("/data/one – 40 MiB"), "{text}");
        let asked = mapped("/data/asked", Some(AdviceCost::NotCached { bytes: 0 }));
        let text = of_process(ProcessView { files: vec![asked, unknown("/data/one")], ..seen_process() });
        assert!(text.contains("/data/asked is mapped without advice") && !text.contains("follow"), "{text}");
    }

    #[test]
    fn a_process_without_memory_says_why_and_has_no_table() {
        for why in [WithoutMemory::Kernel, WithoutMemory::Zombie, WithoutMemory::Ending] {
            let text = of_process(ProcessView { without_memory: Some(why), thread: Some(9), ..seen_process() });
            assert!(text.contains("nothing: ") && text.contains("9 is a thread of it") && text.lines().count() == 2);
        }
    }

    #[test]
    fn what_enough_faults_may_have_mapped_and_lost_again_is_not_said_never_to_have_been_mapped() {
        let of = |minor_faults, mapped_more_bytes| {
            let meanwhile = FileMeanwhile {
                cached_more_bytes: Reading::Value(20 << 20),
                mapped_more_bytes: Reading::Value(mapped_more_bytes),
                unmapped_more_bytes: Reading::Value(19 << 20),
                new_places: None,
            };
            let file = MappedFile { meanwhile: Some(meanwhile), ..mapped("/data/none", None) };
            let view =
                ProcessView { watched: Some(Watched { minor_faults, major_faults: 0, ..watched() }), ..seen_process() };
            words::may_have_been_mapped(&view, &file, 19 << 20)
        };
        // 64 KiB each.
        assert_eq!(
            [of(19 * 16 - 1, 0), of(19 * 16, 0), of(19 * 16, 1 << 20), of(20 * 16, 1 << 20)],
            [false, true, false, true]
        );
    }

    #[test]
    fn very_many_files_and_mappings_are_cut_and_say_so() {
        let file = |at| mapped(&format!("/data/{at}"), Some(AdviceCost::NotCached { bytes: 1 }));
        let files: Vec<MappedFile> = (0..1_025).map(file).collect();
        let text = of_process(ProcessView { files, ..seen_process() });
        assert!(text.contains("19 more files") && text.contains("… and 1,005 more; --json has all"), "{text}");
        assert!(text.lines().count() < 60, "{text}");
    }

    #[test]
    fn a_watch_says_why_it_was_short_and_what_is_not_known() {
        let of = |watched: Watched| words::watched(&watched);
        let interrupted = of(Watched { elapsed_s: 1.5, ended: Some(WatchEnd::Interrupted), ..watched() });
        assert!(interrupted.starts_with("1.50 s of 5 s, until it was interrupted: 40 major faults"), "{interrupted}");
        let refused = Reading::unavailable(Unlooked::Refused { error: "Permission denied".into() });
        assert!(of(Watched { reads: refused, ..watched() }).ends_with("are not known: Permission denied"));
        let reads = Reading::Value(WatchedReads { device_bytes: 4096, read_calls: 3, read_call_bytes: 8192 });
        let by_calls = of(Watched { reads, device_bytes_per_major_fault: None, ..watched() });
        assert!(by_calls.ends_with("4 KiB from the device; 3 read calls returned 8 KiB"), "{by_calls}");
        let thread = |tid: u32| ThreadFaults { tid, name: "reader".into(), minor_faults: 1, major_faults: 2 };
        let threads = (1..=7).map(thread).collect();
        let said = words::threads(&Watched { threads, ..watched() }).unwrap();
        assert!(said.starts_with("1 (reader) 2 major, 1 minor; 2 ") && said.ends_with(" and 2 more"), "{said}");
    }

    #[test]
    fn json_has_reasons_as_words_and_as_data() {
        let residency = Reading::unavailable(Unlooked::Network { file_system: "nfs4".into() });
        let files = vec![MappedFile { residency, ..mapped("/data/none", None) }];
        let inspection = Inspection::Process(Box::new(ProcessView { files, ..seen_process() }));
        let text = inspection_json(&inspection);
        assert!(text.contains("wait for a server") && text.contains("\"unavailable_data\""), "{text}");
        assert_eq!(serde_json::from_str::<Inspection>(&text).unwrap(), inspection);
    }

    fn mapping(name: &str, resident: u64) -> MappingView {
        MappingView {
            name: name.into(),
            is_file: name.starts_with('/'),
            addresses: "1000-2000".into(),
            offset: 0,
            bytes: 2 << 20,
            protection: "r--".into(),
            shared: false,
            resident_bytes: resident,
            dirty_bytes: 0,
            locked_bytes: 4096,
            huge_bytes: 0,
            file_huge_bytes: 0,
            swapped_bytes: 0,
            device: "8:1".into(),
            inode: 7,
            advice: Some(Vec::new()),
            referenced_bytes: 0,
            anonymous_bytes: 0,
        }
    }

    #[test]
    fn code_and_small_files_are_one_row_and_one_sentence_however_many_there_are() {
        let library = |at: u64| {
            let name = format!("/lib/{at}");
            let file = MappedFile { is_code: true, inode: at, ..mapped(&name, None) };
            let parts = [("r--", 4096), ("r-x", 8192)].map(|(protection, resident)| MappingView {
                inode: at,
                protection: protection.into(),
                ..mapping(&name, resident)
            });
            (file, parts)
        };
        let (mut files, parts): (Vec<_>, Vec<_>) = (10..30).map(library).unzip();
        files.push(mapped("/data/a", Some(AdviceCost::CountedNothing)));
        files.push(MappedFile { inode: 40, ..mapped("/data/random", None) });
        let unadvised =
            |name: &str| MappedFile { advice: Some(Vec::new()), unadvised_bytes: Some(4096), ..mapped(name, None) };
        files.push(MappedFile { inode: 41, bytes: 4096, resident_bytes: 0, ..unadvised("/etc/small") });
        let mappings = parts.into_iter().flatten().chain([mapping("/data/a", 1 << 20), mapping("", 4096)]).collect();
        let text = of_process(ProcessView { files, mappings, ..seen_process() });
        let words = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(words.contains("code and small files various none 40 80 MiB 240 KiB"), "{text}");
        assert!(
            words.contains(
                "21 files of code, or small ones without advice, are not listed: 800.00 MiB, 40 MiB resident"
            ),
            "{text}"
        );
        assert!(text.contains("/data/random") && !text.contains("/lib/") && !text.contains("/etc/"), "{text}");
    }

    #[test]
    fn memory_and_copies_of_the_process_are_not_of_files() {
        let of_file = mapped("/data/a", None);
        let memory =
            MappedFile { inode: 8, residency: Reading::unavailable(Unlooked::Memory), ..mapped("/memfd:b", None) };
        let copied = MappingView { anonymous_bytes: 1 << 20, ..mapping("/data/a", 3 << 20) };
        let named = MappingView { inode: 8, ..mapping("/memfd:b", 4 << 20) };
        let mappings = vec![copied, named, mapping("", 1 << 20)];
        let text = of_process(ProcessView { mappings, files: vec![of_file, memory], ..seen_process() });
        let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(text.contains("8 MiB resident, of it 2 MiB of files"), "{text}");
    }

    #[test]
    fn two_files_of_one_name_are_two_rows() {
        let rotated = |inode: u64| MappingView { inode, ..mapping("/var/log/x (deleted)", 1 << 20) };
        let view = ProcessView { mappings: vec![rotated(7), rotated(8), rotated(8)], ..seen_process() };
        let rows: Vec<usize> = table(&view).rows.iter().map(|row| row[3].text.parse().unwrap()).collect();
        assert_eq!(rows, [2, 1], "mappings of the one and of the other");
    }

    #[test]
    fn mappings_of_one_thing_are_one_row_and_files_come_first() {
        let mappings =
            vec![mapping("", 1 << 20), mapping("/lib/a", 4096), mapping("/lib/b", 8192), mapping("/lib/a", 8192)];
        let view = ProcessView { mappings, ..seen_process() };
        expect![[r#"
            Process     7 (job)
            First       no question: no file of 1 MiB or more is mapped
                        without MADV_RANDOM or MADV_SEQUENTIAL, code and
                        memory aside
            Mapped      8 MiB in 4 mappings; 1.02 MiB resident, of it
                        20 KiB of files; 0 B dirty, 16 KiB locked, 0 B
                        in huge pages, 0 B swapped

            mapped     access       advice  mappings   size  resident
            /lib/a     r-- private  none           2  4 MiB    12 KiB
            /lib/b     r-- private  none           1  2 MiB     8 KiB
            anonymous  r-- private  none           1  2 MiB     1 MiB

            mapped     locked
            /lib/a      8 KiB
            /lib/b      4 KiB
            anonymous   4 KiB
        "#]]
        .assert_eq(&text(&Inspection::Process(Box::new(view))));
    }
}
