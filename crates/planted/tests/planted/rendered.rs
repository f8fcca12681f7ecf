//! One source for a number: every number of every cell, read back from terminal, Markdown, page, CSV and JSON, is the one
//! in the findings.

use std::collections::{BTreeMap, BTreeSet};

use planted::{CellKind, MARGIN, Planted, Planting};
use report::Style;
use schema::{
    Findings,
    findings::{CellFinding, Document, Status},
    record::Outcome,
};

use crate::near;

/// A row of a table as its numbers, each with how far rounding may have moved it.
type Row = Vec<Vec<Shown>>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shown {
    pub(crate) value: f64,
    half_a_digit: f64,
}

impl Shown {
    /// It is a value as far as it is shown.
    pub(crate) fn is(self, value: f64) -> bool {
        (self.value - value).abs() <= self.half_a_digit * 1.0001
    }
}

/// Numbers with their units in one text: `1.23 µs [1.21, 1.25]` are three, all in µs.
pub(crate) fn numbers(text: &str) -> Vec<Shown> {
    const UNITS: &[(&str, f64)] = &[
        ("ns", 1.0),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("TiB", 1_099_511_627_776.0),
        ("%", 0.01),
    ];
    let mut found: Vec<Shown> = Vec::new();
    let mut scale = 1.0;
    let text = text.replace(['\u{a0}', '[', ']', '(', ')'], " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let digits = word.trim_end_matches([',', 'x']).replace(',', "");
        let Ok(value) = digits.parse::<f64>() else { continue };
        let unit = words.get(at + 1).map(|it| it.trim_end_matches("/s").trim_end_matches(','));
        scale = unit.and_then(|unit| UNITS.iter().find(|it| it.0 == unit)).map_or(scale, |it| it.1);
        let decimals = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
        found.push(Shown { value: value * scale, half_a_digit: 0.5 * 10f64.powi(-decimals) * scale });
    }
    found
}

/// One table of cells: title of each column, and the rows by the name of their arm.
#[derive(Debug, Clone, PartialEq)]
struct Cells {
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
    /// Columns in which all rows agree: their titles and texts.
    alike: BTreeMap<String, String>,
}

const ALIKE: &str = "The same for every arm: ";

fn alike(text: &str) -> BTreeMap<String, String> {
    const TITLES: [&str; 7] =
        ["user/op", "sys/op", "minor faults", "major faults", "from device", "dirtied or written", "peak memory"];
    let parts = text.strip_prefix(ALIKE).unwrap_or_default().split(", ");
    // Thousands are separated by a comma without a blank.
    parts
        .filter_map(|part| {
            let title = TITLES.iter().find(|title| part.starts_with(**title))?;
            Some((title.to_string(), part[title.len()..].trim().to_string()))
        })
        .collect()
}

fn markdown(planted: &Planted, findings: &Findings) -> Vec<Cells> {
    let text = report::markdown(&planted.record, findings).replace('\\', "");
    let mut tables: Vec<Cells> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let cells = |line: &str| -> Vec<String> {
            line.trim_matches('|').split(" | ").map(|it| it.trim().to_string()).collect()
        };
        if line.starts_with("| arm | time/op |") {
            let columns = cells(line.trim());
            tables.push(Cells { columns, rows: Vec::new(), alike: BTreeMap::new() });
            inside = true;
        } else if line.starts_with("|---") {
        } else if inside && line.starts_with('|') {
            let mut row = cells(line);
            let name = row.remove(0);
            tables.last_mut().unwrap().rows.push((name, row));
        } else {
            inside = false;
            if line.starts_with(ALIKE) {
                tables.last_mut().unwrap().alike = alike(line);
            }
        }
    }
    tables
}

/// The text between tags, entities read back.
pub(crate) fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for letter in html.chars() {
        match letter {
            '<' => inside = true,
            '>' => inside = false,
            _ if !inside => text.push(letter),
            _ => {}
        }
    }
    text.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").trim().to_string()
}

pub(crate) fn tagged<'a>(html: &'a str, tag: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(&open) {
        rest = &rest[at + open.len()..];
        if !rest.starts_with([' ', '>']) {
            continue;
        }
        let Some(end) = rest.find(&close) else { break };
        found.push(rest[..end].split_once('>').map_or("", |it| it.1));
        rest = &rest[end..];
    }
    found
}

fn page(planted: &Planted, findings: &Findings) -> (String, Vec<Cells>) {
    let html = report::html(&planted.record, findings);
    let mut tables = Vec::new();
    for (at, table) in html.split("<table").enumerate().skip(1) {
        let (table, after) = table.split_once("</table>").unwrap();
        let columns: Vec<String> = tagged(table, "th").into_iter().map(plain).collect();
        if columns.get(1).map(String::as_str) != Some("time/op") {
            continue;
        }
        let rows = tagged(table, "tr").into_iter().skip(1).map(|row| {
            let mut cells: Vec<String> = tagged(row, "td").into_iter().map(plain).collect();
            (cells.remove(0), cells)
        });
        let described = tagged(after, "p").into_iter().map(plain).find(|it| it.starts_with(ALIKE));
        assert!(at > 0);
        tables.push(Cells { columns, rows: rows.collect(), alike: alike(&described.unwrap_or_default()) });
    }
    (html, tables)
}

/// The rows of all tables of cells, in a terminal so wide that no row is broken.
fn terminal(planted: &Planted, findings: &Findings) -> Vec<Row> {
    let style = Style { width: 400, colour: false, details: true };
    let text = report::terminal(&planted.record, findings, style, None);
    let mut tables: Vec<Row> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("arm ") && line.contains("time/op") {
            tables.push(Vec::new());
            inside = true;
        } else if inside && (line.is_empty() || line.starts_with(ALIKE)) {
            inside = false;
        } else if inside {
            let cells = line.split("  ").filter(|it| !it.trim().is_empty());
            tables.last_mut().unwrap().push(cells.skip(1).flat_map(numbers).collect());
        }
    }
    tables
}

#[track_caller]
fn shows(shown: &[Shown], values: &[f64]) {
    assert_eq!(shown.len(), values.len(), "{shown:?} for {values:?}");
    for (shown, value) in shown.iter().zip(values) {
        let off = (shown.value - value).abs();
        assert!(off <= shown.half_a_digit * 1.0001 + value.abs() * 1e-9, "{shown:?} for {value}");
    }
}

/// Cells by condition, those under conditions that are equal not merged, each group as a table shows it: the fastest
/// first, and what was not measured last.
fn groups<'a>(planted: &Planted, findings: &'a Findings) -> Vec<Vec<(usize, &'a CellFinding)>> {
    (0..planted.record.conditions.len())
        .map(|condition| {
            let cells = findings.cells.iter().enumerate();
            let mut of: Vec<_> = cells.filter(|(at, _)| planted.record.cells[*at].condition == condition).collect();
            of.sort_by(|a, b| {
                let ns = |it: &CellFinding| it.ns_per_op.map_or(f64::INFINITY, |ns| ns.median);
                ns(a.1).total_cmp(&ns(b.1))
            });
            of
        })
        .collect()
}

/// What a column shows of a cell.
fn values(planted: &Planted, findings: &Findings, at: usize, column: &str) -> Vec<f64> {
    let cell = &findings.cells[at];
    let one = |reading: &schema::Reading<f64, schema::reason::Reason>| reading.value().copied().into_iter().collect();
    match column {
        "time/op" => cell.ns_per_op.map_or_else(Vec::new, |it| vec![it.median, it.ci_low, it.ci_high]),
        "throughput" => cell.bytes_per_s.map(|it| it.median).into_iter().chain(cell.ceiling_share).collect(),
        "user/op" => one(&cell.user_ns_per_op),
        "sys/op" => one(&cell.system_ns_per_op),
        "minor faults" => one(&cell.minor_faults),
        "major faults" => one(&cell.major_faults),
        "from device" => one(&cell.device_read_bytes),
        "peak memory" => one(&cell.peak_memory_bytes),
        _ if column.starts_with("vs ") => {
            let entry = &planted.record.cells[at];
            if entry.control || entry.baseline || cell.status != Status::Ok {
                return Vec::new();
            }
            // Comparisons stand in the order of their conditions and cells.
            let others = |it: &usize| !planted.record.cells[*it].baseline;
            let before: usize =
                (0..entry.condition).map(|condition| planted.cells_of(condition).filter(others).count()).sum();
            let within = planted.cells_of(entry.condition).filter(others).position(|it| it == at).unwrap();
            let speedup = findings.comparisons[before + within].speedup;
            speedup.map_or_else(Vec::new, |it| vec![it.median, it.ci_low, it.ci_high])
        }
        other => panic!("the column {other:?} is not in the differential test"),
    }
}

#[test]
fn every_number_of_every_cell_is_the_same_in_markdown_page_terminal_and_findings() {
    let planted = Planting { noise: 0.03, rounds: 9, jobs: true, ..Planting::default() }.plant();
    let findings = analysis::analyze(&planted.record);
    let groups = groups(&planted, &findings);
    let markdown = markdown(&planted, &findings);
    assert_eq!(markdown.len(), groups.len(), "a table for each condition, also where two are equal");
    for (table, group) in markdown.iter().zip(&groups) {
        assert_eq!(table.rows.len(), group.len(), "{table:?}");
        for ((name, row), (at, cell)) in table.rows.iter().zip(group) {
            let control = if cell.control { " (A/A)" } else { "" };
            let names = [cell.arm.name.as_str(), cell.arm.short_name()].map(|it| format!("{it}{control}"));
            assert!(names.contains(name), "{name} for {names:?}");
            for (column, text) in table.columns[1..].iter().zip(row) {
                let expected = match cell.status {
                    Status::Ok => values(&planted, &findings, *at, column),
                    _ => Vec::new(),
                };
                shows(&numbers(text), &expected);
            }
            for (column, text) in table.alike.iter().filter(|_| cell.status == Status::Ok) {
                shows(&numbers(text), &values(&planted, &findings, *at, column));
            }
        }
    }
    let (_, page) = page(&planted, &findings);
    let squeezed = |tables: &[Cells]| -> Vec<Cells> {
        let squeeze = |it: &String| it.replace('\u{a0}', " ");
        tables
            .iter()
            .map(|table| Cells {
                columns: table.columns.iter().map(squeeze).collect(),
                rows: table.rows.iter().map(|(name, row)| (squeeze(name), row.iter().map(squeeze).collect())).collect(),
                alike: table.alike.iter().map(|(title, text)| (squeeze(title), squeeze(text))).collect(),
            })
            .collect()
    };
    assert_eq!(squeezed(&page), squeezed(&markdown));
    let rows: Vec<Row> = markdown
        .iter()
        .map(|table| table.rows.iter().map(|(_, row)| row.iter().flat_map(|it| numbers(it)).collect()).collect())
        .collect();
    assert_eq!(terminal(&planted, &findings), rows);
}

/// A row of a map: what is fastest, the margin and what it is over.
#[derive(Debug, Clone, PartialEq)]
struct MapRow {
    fastest: String,
    margin: String,
}

fn maps(planted: &Planted, findings: &Findings) -> [Vec<MapRow>; 3] {
    let row = |fastest: &str, margin: &str| MapRow {
        fastest: fastest.trim_matches('*').trim().to_string(),
        margin: margin.split_whitespace().collect::<Vec<&str>>().join(" "),
    };
    let markdown = report::markdown(&planted.record, findings).replace('\\', "");
    let table = markdown.split("| state | workload | block |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let of_markdown = rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        row(cells[cells.len() - 3], cells[cells.len() - 2])
    });
    let html = report::html(&planted.record, findings);
    let table = html.split("<table class=\"map\"").nth(1).unwrap().split_once("</table>").unwrap().0;
    let rows = tagged(table, "tr").into_iter().skip(1).map(|row| tagged(row, "td"));
    let of_page = rows.map(|cells| row(&plain(cells[1]), &plain(cells[2])));
    let style = Style { width: 400, colour: false, details: true };
    let text = report::terminal(&planted.record, findings, style, None).replace('\u{a0}', " ");
    // The map stands between the answer and the summary.
    let text = text.split_once("Trust: ").unwrap().1.split_once("Noise floor").unwrap().0;
    let parts = text.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let parts = parts.map(|line| line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect::<Vec<&str>>());
    let has_margin = |it: &&str| it.contains("x [");
    let of_terminal = parts.filter_map(|parts| {
        let at = parts.iter().position(has_margin)?;
        Some(row(parts[at - 1], &parts[at..parts.len().min(at + 2)].join(" ")))
    });
    [of_markdown.collect(), of_page.collect(), of_terminal.collect()]
}

#[test]
fn every_report_maps_each_condition_over_its_own_baseline_also_where_two_are_equal() {
    let (mut equal, mut marked) = (Vec::new(), 0);
    for (seed, jobs) in (1..=4).flat_map(|seed| [(seed, false), (seed, true)]) {
        let planted = Planting { seed, jobs, ..Planting::default() }.plant();
        let findings = analysis::analyze(&planted.record);
        let [markdown, page, terminal] = maps(&planted, &findings);
        let mut states: Vec<schema::State> = Vec::new();
        for condition in &planted.record.conditions {
            if !states.contains(&condition.state) {
                states.push(condition.state);
            }
        }
        let of_state = |state: schema::State| {
            let conditions = planted.record.conditions.iter().enumerate();
            conditions.filter(move |(_, it)| it.state == state).map(|(at, _)| at).collect::<Vec<usize>>()
        };
        let order: Vec<usize> = states.into_iter().flat_map(of_state).collect();
        assert_eq!((markdown.len(), &page), (order.len(), &markdown));
        let with_margin: Vec<&MapRow> = markdown.iter().filter(|it| it.margin.contains("x [")).collect();
        assert_eq!(terminal.iter().collect::<Vec<&MapRow>>(), with_margin);
        let text = report::markdown(&planted.record, &findings).replace('\u{a0}', " ");
        let (first, _) = text.split_once("**Trust:**").unwrap();
        // Arms that are ahead of a baseline somewhere.
        let ahead = |(row, condition): (&MapRow, &usize)| {
            let name = |at: usize| planted.record.cells[at].arm.name.as_str();
            let winner = planted.cells_of(*condition).find(|&at| name(at) == row.fastest)?;
            let (margin, _) = row.margin.split_once(" vs ")?;
            let is_baseline = planted.record.cells[winner].baseline;
            (!is_baseline && numbers(margin)[0].value > MARGIN).then(|| name(winner))
        };
        let ahead: BTreeSet<&str> = markdown.iter().zip(&order).filter_map(ahead).collect();
        for (row, condition) in markdown.iter().zip(order) {
            let cells: Vec<usize> = planted.cells_of(condition).collect();
            let baseline = cells[0];
            let name = |at: usize| planted.record.cells[at].arm.name.as_str();
            let Some(winner) = cells.iter().copied().find(|&at| name(at) == row.fastest) else { continue };
            let Some((margin, over)) = row.margin.split_once(" vs ") else { continue };
            let over = *cells.iter().find(|&&at| name(at) == over).expect("an arm of the same condition");
            assert!(winner == baseline || over == baseline, "{row:?}");
            let shown = numbers(margin)[0];
            let answer = |at: usize| planted.answer(at).unwrap().ratio;
            let ratio = if winner == baseline { 1.0 / answer(over) } else { answer(winner) };
            assert!(shown.is(ratio), "{row:?}: {ratio}");
            // The matrix has the same arm and ratio, with fewer digits.
            let of_matrix = |it: f64| if it < 9.95 { format!("{it:.1}x") } else { format!("{it:.0}x") };
            let field = match shown.value {
                // No difference, and another arm is slower.
                it if it < 1.05 => format!("| {} = ", row.fastest),
                // Elsewhere the name of this baseline is that of an arm whose number is over another one.
                it if winner == baseline && ahead.contains(name(winner)) => {
                    marked += 1;
                    format!("| {}‡ {}", row.fastest, of_matrix(it))
                }
                it => format!("| {} {}", row.fastest, of_matrix(it)),
            };
            // A mark follows where passes at the size of the job decided, or do not confirm it.
            let ends = [" |", "† |", "§ |", ""];
            let ends = if field.ends_with(" = ") { &ends[3..] } else { &ends[..3] };
            assert!(ends.iter().any(|end| first.contains(&format!("{field}{end}"))), "{field} {row:?}\n{first}");
            let comparison = planted.record.origins[condition];
            if comparison < 2 && winner != baseline {
                equal.push((comparison, name(over).to_string()));
            }
        }
    }
    equal.sort();
    equal.dedup();
    // Of the two comparisons whose conditions are equal.
    assert_eq!(equal, [(0, "native/stdio".to_string()), (1, "native/pread".to_string())]);
    assert!(marked > 0);
}

/// Time per block of each valid pass.
fn passes(planted: &Planted, cell: usize) -> impl Iterator<Item = f64> {
    let samples = planted.record.samples.iter().filter(move |it| it.cell == cell);
    samples.filter_map(|it| match &it.outcome {
        Outcome::Ok { phases, tally } => Some(phases.total_ns() as f64 / tally.ops as f64),
        Outcome::Invalid { .. } | Outcome::Failed { .. } => None,
    })
}

#[test]
fn the_tables_of_charts_show_times_that_cells_have() {
    let planted = Planting { noise: 0.03, rounds: 9, jobs: true, ..Planting::default() }.plant();
    let findings = analysis::analyze(&planted.record);
    let (html, _) = page(&planted, &findings);
    let mut checked = 0;
    for table in html.split("<table").skip(1) {
        let table = table.split_once("</table>").unwrap().0;
        let columns: Vec<String> = tagged(table, "th").into_iter().map(plain).collect();
        let Some(column) = columns.iter().position(|it| it.starts_with("time per block")) else { continue };
        for row in tagged(table, "tr").into_iter().skip(1) {
            let text = plain(tagged(row, "td")[column]);
            let shown = numbers(&text);
            let is = |shown: &Shown, ns: f64| (shown.value - ns).abs() <= shown.half_a_digit * 1.0001;
            let is_of = |at: usize| match text.contains('[') {
                true => findings.cells[at].ns_per_op.is_some_and(|it| {
                    shown.iter().zip([it.median, it.ci_low, it.ci_high]).all(|(shown, ns)| is(shown, ns))
                }),
                // Every pass.
                false => shown.iter().all(|shown| passes(&planted, at).any(|ns| is(shown, ns))),
            };
            assert!((0..findings.cells.len()).any(is_of), "{text}");
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked} rows");
}

#[test]
fn the_csv_has_every_pass_and_its_medians_are_those_of_the_findings() {
    let planted = Planting { noise: 0.03, rounds: 9, jobs: true, ..Planting::default() }.plant();
    let findings = analysis::analyze(&planted.record);
    let csv = report::csv(&planted.record);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let rows: Vec<BTreeMap<&str, &str>> = lines.map(|line| header.iter().copied().zip(line).collect()).collect();
    assert_eq!(rows.len(), planted.record.samples.len());
    for (at, cell) in planted.record.cells.iter().enumerate() {
        let of_cell = rows.iter().filter(|row| {
            (row["condition"], row["arm"], row["control"])
                == (&*cell.condition.to_string(), &*cell.arm.name, &*cell.control.to_string())
        });
        let of_cell: Vec<_> = of_cell.collect();
        let status = |wanted: &str| of_cell.iter().filter(|row| row["status"] == wanted).count() as u32;
        let found = &findings.cells[at];
        let counts = (found.samples, found.invalid_samples, found.failed_samples);
        assert_eq!((status("ok"), status("invalid"), status("failed")), counts);
        let column = |name: &str, per: &str| -> Option<f64> {
            let number = |row: &BTreeMap<&str, &str>, name: &str| row[name].parse::<f64>().ok();
            let values = of_cell.iter().filter_map(|row| Some(number(row, name)?.ln() - number(row, per)?.ln()));
            let mut values: Vec<f64> = values.collect();
            values.sort_by(f64::total_cmp);
            let middle = values.len() / 2;
            // Of an even number, the geometric mean of the middle two (docs/FORMATS.md).
            let even = || (values[middle - 1] + values[middle]) / 2.0;
            (!values.is_empty()).then(|| if values.len() % 2 == 1 { values[middle] } else { even() }.exp())
        };
        assert_eq!(found.ns_per_op.is_some(), column("total_ns", "done_ops").is_some());
        if let Some(ns) = found.ns_per_op {
            near(column("total_ns", "done_ops").unwrap(), ns.median);
            near(column("done_bytes", "total_ns").unwrap() * 1e9, found.bytes_per_s.unwrap().median);
            assert_eq!(planted.truth[at].kind == CellKind::Skipped, of_cell.is_empty());
        }
    }
}

#[test]
fn json_has_the_record_and_the_findings_to_the_last_bit() {
    let planted = Planting { noise: 0.03, jobs: true, ..Planting::default() }.plant();
    let findings = analysis::analyze(&planted.record);
    let document: Document = serde_json::from_str(&report::json(&planted.record, &findings, None)).unwrap();
    assert_eq!((document.record, document.findings), (planted.record, findings));
}
