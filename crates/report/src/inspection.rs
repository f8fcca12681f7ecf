//! What `faultline inspect` prints: a file's residency as a bar and numbers; a process's mappings as a table.

use std::collections::BTreeMap;

use schema::{
    Bytes, Reading,
    inspection::{FaultView, FileView, Inspection, MappingView, ProcessView, Residency},
    unit_cost::FaultCost,
};

use crate::{
    Style,
    layout::{
        number,
        page::Page,
        paint::{Paint, Piece},
        table::{Cell, Column, Table},
        words::plural,
    },
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
    let mut text = serde_json::to_string_pretty(inspection).expect("plain data");
    text.push('\n');
    text
}

const LABEL: usize = 10;

/// A fault maps so many bytes of small folios (fault_around_bytes, unless it was changed); more only of larger ones.
const FAULT_AROUND: u64 = 64 << 10;

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
            "{} pages in folios of {}",
            number::count(order.pages as f64),
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
        let folios = if bytes <= FAULT_AROUND { "64 KiB or less".into() } else { Bytes(bytes).to_string() };
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
        Reading::Value(faults) => page.item(0, LABEL, "Mapping it", Paint::Heading, &sentence(faults)),
        Reading::Unavailable { unavailable } => page.item(0, LABEL, "Mapping it", Paint::Unsure, unavailable),
    }
}

/// Folios are worse than others where a page costs so many times as much.
const WORSE: f64 = 1.25;

fn sentence(faults: &FaultView) -> String {
    let FaultView { run, like, here, in_order } = faults;
    let per_page = |it: &FaultCost| it.ns / it.pages.max(1.0);
    let better = if per_page(here) > WORSE * per_page(in_order) {
        format!(
            ". After one sequential read a fault would map {} for {}: evict the file and read it once sequentially \
             before mapping it",
            number::count(in_order.pages.round()),
            number::duration(in_order.ns)
        )
    } else {
        ", and no sequential read makes that much cheaper".into()
    };
    format!(
        "A fault maps {} here and costs {}, including unmapping (measured after fill {like} in run {run}){better}.",
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
        number::percent(share),
        residency.asked
    );
    page.item(0, LABEL, "Resident", Paint::Heading, &resident);
    if let Some(stretches) = view.stretches.value() {
        let bar: String = stretches.iter().map(|&share| mark(share)).collect();
        page.line(
            0,
            &[Piece::padded(String::new(), LABEL + 2, Paint::Plain), Piece::of(format!("|{bar}|"), Paint::Plain)],
        );
        let legend = format!(
            "one character: {}; empty, up to a third, up to two thirds, less than all, all",
            Bytes(stretch_bytes(view, stretches.len()))
        );
        page.item(0, LABEL, "", Paint::Plain, &legend);
    }
    let counted = |reading: &Reading<u64>, of: &str| match reading {
        Reading::Value(pages) => (Paint::Heading, format!("{} pages{of}", number::count(*pages as f64))),
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

fn stretch_bytes(view: &FileView, stretches: usize) -> u64 {
    view.bytes.div_ceil(stretches.max(1) as u64)
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

fn process(page: &mut Page, view: &ProcessView) {
    page.item(0, LABEL, "Process", Paint::Heading, &format!("{} ({})", view.pid, view.command));
    let sum = |of: fn(&MappingView) -> u64| Bytes(view.mappings.iter().map(of).sum::<u64>());
    let files = Bytes(view.mappings.iter().filter(|it| it.is_file).map(|it| it.resident_bytes).sum::<u64>());
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
    page.blank();
    page.table(0, &table(&view.mappings));
}

/// Mappings of one thing with one protection are one row: a library is five mappings, and an arena a hundred.
fn table(mappings: &[MappingView]) -> Table {
    let mut rows: BTreeMap<(bool, &str, &str, bool), Vec<&MappingView>> = BTreeMap::new();
    for it in mappings {
        rows.entry((!it.is_file, it.name.as_str(), it.protection.as_str(), it.shared)).or_default().push(it);
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    let resident = |of: &[&MappingView]| of.iter().map(|it| it.resident_bytes).sum::<u64>();
    // Files first, the largest part of memory at the top.
    rows.sort_by_key(|((anonymous, ..), of)| (*anonymous, std::cmp::Reverse(resident(of))));
    let mut columns =
        vec![Column { at_most: 44, ..Column::left("mapped") }, Column::left("access"), Column::right("mappings")];
    columns.extend(["size", "resident", "dirty", "locked", "huge"].map(Column::right));
    let rows = rows.into_iter().map(|((_, name, protection, shared), of)| {
        let sum =
            |number: fn(&MappingView) -> u64| Cell::plain(Bytes(of.iter().map(|it| number(it)).sum()).to_string());
        vec![
            Cell::plain(if name.is_empty() { "anonymous" } else { name }),
            Cell::plain(format!("{protection} {}", if shared { "shared" } else { "private" })),
            Cell::plain(number::count(of.len() as f64)),
            sum(|it| it.bytes),
            sum(|it| it.resident_bytes),
            sum(|it| it.dirty_bytes),
            sum(|it| it.locked_bytes),
            sum(|it| it.huge_bytes),
        ]
    });
    Table { rows: rows.collect(), columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use schema::record::FolioOrder;

    fn seen() -> FileView {
        FileView {
            path: "/data/a\u{1b}[31m.log".into(),
            bytes: 40 << 20,
            page_bytes: 4096,
            file_system: "ext4".into(),
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

    #[test]
    fn mappings_of_one_thing_are_one_row_and_files_come_first() {
        let mapping = |name: &str, resident: u64| MappingView {
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
            swapped_bytes: 0,
        };
        let mappings =
            vec![mapping("", 1 << 20), mapping("/lib/a", 4096), mapping("/lib/b", 8192), mapping("/lib/a", 8192)];
        let view = ProcessView { pid: 7, command: "job".into(), mappings };
        expect![[r#"
            Process     7 (job)
            Mapped      8 MiB in 4 mappings; 1.02 MiB resident, of it
                        20 KiB of files; 0 B dirty, 16 KiB locked, 0 B
                        in huge pages, 0 B swapped

            mapped     access       mappings   size  resident  dirty
            /lib/a     r-- private         2  4 MiB    12 KiB    0 B
            /lib/b     r-- private         1  2 MiB     8 KiB    0 B
            anonymous  r-- private         1  2 MiB     1 MiB    0 B

            mapped     locked  huge
            /lib/a      8 KiB   0 B
            /lib/b      4 KiB   0 B
            anonymous   4 KiB   0 B
        "#]]
        .assert_eq(&text(&Inspection::Process(view)));
    }
}
