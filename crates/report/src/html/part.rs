//! The parts of the page that are words and tables.

use maud::{Markup, html};
use schema::{Condition, Findings, Labels, Names, Record, findings::Status};

use super::described;
use crate::{
    contents::{
        advice,
        answer::{Answer, Field, Standing, Way},
        claim, costs, counted, details, fills, first, map, runtimes, stopped,
        study::{self, Intervals},
        summary,
    },
    layout::{
        number,
        paint::Paint,
        table::{Cell, Column, Table},
        text::{visible, whole},
        words::plural,
    },
    shell,
    words::reasons,
};

pub(super) fn answer(record: &Record, findings: &Findings) -> Markup {
    html! {
        section id="answer" {
            @let advice = advice::of_run(record, findings);
            @let answer = first::screen(record, findings).filter(|_| advice.is_none());
            @for (called, line) in answer.iter().flat_map(|it| &it.commands) {
                p.called { b { (described(called)) } " " code { (number::plain(&whole(line))) } }
            }
            @let interrupted = summary::interrupted(record).map(|text| ("Interrupted", text));
            @let undecided = summary::undecided(record, findings).filter(|_| advice.is_none());
            @for (label, text) in interrupted.into_iter().chain(undecided) {
                p.warning { b { (label) ": " } (described(&text)) }
            }
            @if study::is_one(record) {
                h2 { "Published, and measured here" }
                (figures(findings))
                @let counted = claim::counted(findings.claims.iter());
                @if !counted.is_empty() { p { b { "Claims: " } a href="#claims" { (counted) } "." } }
            } @else {
                @if let Some(answer) = &answer { (the_answer(answer)) }
                @if let Some(blocks) = &advice { (the_advice(blocks, advice::legend(findings))) }
                h2 { "Each answer: the fastest arm, by how much, and why" }
                (the_map(record, findings))
            }
            @for entry in summary::entries(record, findings) {
                @if entry.lines.len() == 1 || !entry.warning {
                    div.entry.warns[entry.warning] { b { (entry.label) ": " } @for line in &entry.lines { span.line { (described(line)) } " " } }
                } @else {
                    details.entry.warns { summary { (entry.label) " (" (entry.lines.len()) ")" } ul { @for line in &entry.lines { li { (described(line)) } } } }
                }
            }
        }
    }
}

fn the_advice(blocks: &[advice::Block], legend: Option<&str>) -> Markup {
    html! {
        h2 { (advice::TITLE) }
        @for block in blocks {
            p { b { (described(&block.label)) } " " (described(&block.text)) }
            @if !block.lines.is_empty() { ul { @for line in &block.lines {
                li class=(class(line.paint)) {
                    @if !line.label.is_empty() { b { (line.label) } " " }
                    (line.before)
                    @if let Some(command) = &line.command { code.whole { (number::plain(&whole(command))) } }
                    (described(&line.text))
                }
            } } }
        }
        @if let Some(legend) = legend { p.about { (legend) } }
    }
}

/// The answer of the run as a whole. The matrix is a picture: the colour says which arm, its strength by how much, and the
/// words in each field say both.
fn the_answer(answer: &Answer) -> Markup {
    html! {
        h2 { "The answer" }
        dl.answer { @for (label, says) in answer.lines() { dt { (described(&label)) } dd { (described(says)) } } }
        @if let Some(matrix) = answer.matrix() {
            div.scroll tabindex="0" role="group" aria-label="The answers as a matrix" { table.matrix {
                thead { tr { @for column in &matrix.columns {
                    // The corner heads nothing.
                    @if column.title.is_empty() { td {} } @else { th scope="col" { (described(&column.title)) } }
                } } }
                tbody { @for start in &answer.starts { tr {
                    th scope="row" { (described(&start.label)) }
                    @for (field, column) in start.fields.iter().zip(&matrix.columns[1..]) { (a_field(field.as_ref(), column)) }
                } } }
            } }
            p.about { (described(&answer.legend())) }
        }
        @if !answer.why.is_empty() { p { b { "Why" } } ul { @for why in &answer.why { li { (described(why)) } } } }
        p { b { "Trust: " } (described(&answer.trust)) }
    }
}

/// It has the title of its column with it, for pages on which the columns do not stand beside each other.
fn a_field(field: Option<&Field>, column: &Column) -> Markup {
    let title = described(&column.title);
    let begins = if column.begins_group { "begins " } else { "" };
    let Some(field) = field else { return html! { td class=(begins) data-of=(title) { "–" } } };
    let class = match &field.standing {
        Standing::Ahead { by, times, .. } => {
            let hue = match by {
                Way::Mapping => "mapping",
                Way::Calls => "calls",
                Way::Others => "others",
            };
            let strength = match times {
                ..1.2 => 1,
                ..2.0 => 2,
                ..5.0 => 3,
                _ => 4,
            };
            format!("{hue} by{strength}")
        }
        Standing::Same | Standing::Tied { .. } | Standing::Unbeaten { .. } => "alike".into(),
        Standing::Undecided { .. } | Standing::NotComparable => "open".into(),
    };
    html! { td class={ (begins) (class) } data-of=(title) { a href={ "#condition-" (field.condition) } { (described(&field.text())) } } }
}

fn the_map(record: &Record, findings: &Findings) -> Markup {
    let sections = map::sections(record, findings);
    html! {
        @if sections.is_empty() { p.missing { "No condition was measured." } }
        div.scroll tabindex="0" role="group" aria-label="Each answer" { table.map {
            thead { tr { th { "state" } th { "workload, block" } th { "fastest" } th { "margin, 95\u{a0}% interval" } th { "why" } } }
            @for section in &sections { tbody {
                @for row in &section.rows { tr id={ "condition-" (row.condition) } {
                    th scope="row" title=[section.noise.as_deref()] { (section.state.word()) }
                    td { (described(&row.workload)) @if !row.block.is_empty() { " " (described(&row.block)) } @if !row.also.is_empty() { ", " (described(&row.also)) } }
                    td class=(class(row.paint)) { b { (described(&row.fastest)) } }
                    td { (described(&row.margin)) @if !row.versus.is_empty() { " " (described(&row.versus)) } }
                    td.why { (described(&row.why)) }
                } }
            } }
        } }
    }
}

fn figures(findings: &Findings) -> Markup {
    let figures = study::figures(findings, Intervals::Beside);
    html! {
        @if findings.figures.is_empty() { p.missing { "The study has no published number to compare with." } }
        @else { (table(&figures.table)) }
        @for note in &figures.footnotes { p.about { (described(&note.mark)) " " (described(&note.reason)) } }
    }
}

/// Who else was stopped; only where that was asked for.
pub(super) fn stopped(record: &Record, findings: &Findings) -> Markup {
    html! {
        @for part in stopped::parts(record, findings) { section id=(part.id) {
            h2 { (part.title) }
            p.about { (part.about) }
            @for of in part.of {
                @if !of.condition.is_empty() { h3 { (described(&of.condition)) } }
                (table(&of.table))
                @for line in of.says { p { (described(&line)) } }
            }
        } }
    }
}

pub(super) fn claims(findings: &Findings) -> Markup {
    html! {
        @if !findings.claims.is_empty() { section id="claims" {
            h2 { "Claims" }
            @if let Some(text) = claim::folios_here(&findings.claims) { p { (described(&text)) } }
            div.scroll tabindex="0" role="group" aria-label="The claims" { table.map {
                thead { tr { th { "claim" } th { "verdict" } th { "why" } } }
                tbody { @for claim in &findings.claims { tr {
                    td { b { (described(&claim.id)) } " " (described(&claim::says(claim))) }
                    td { b { (claim.verdict.words()) } }
                    td.why { (described(&claim::why(claim))) }
                } } }
            } }
        } }
    }
}

pub(super) fn equal_work(record: &Record, findings: &Findings) -> Markup {
    let checked = if study::is_one(record) { study::equal_work(record, findings) } else { Vec::new() };
    html! {
        @if !checked.is_empty() { section id="equal-work" {
            h2 { "What the equal-work check found" }
            @for form in checked {
                h3 { (claim::variant(form.variant)) }
                p { (described(&form.summary)) }
                ul { @for (sentence, about) in form.found { li { (described(&sentence)) " (" (described(&about)) ")" } } }
            }
        } }
    }
}

/// Cells without a number, each with its reason.
pub(super) fn lost(record: &Record, findings: &Findings) -> Markup {
    let (labels, names) = (Labels::of(record), Names::of(record));
    let lost: Vec<_> = findings
        .cells
        .iter()
        .filter(|cell| cell.status != Status::Ok || cell.invalid_samples + cell.failed_samples > 0)
        .collect();
    html! {
        section id="lost" {
            h2 { "Skipped, invalid and failed" }
            @if lost.is_empty() { p.missing { "None: every cell was measured and every pass is valid." } } @else {
                div.scroll tabindex="0" role="group" aria-label="What was skipped, invalid or failed" { table {
                    thead { tr { th { "condition" } th { "arm" } th { "status" } th.right { "valid passes" } th.right { "lost" } th { "reason" } } }
                    tbody { @for cell in lost { tr {
                        td { (described(&labels.of_cell(record, cell.id.cell))) }
                        td { (described(names.short(&cell.arm.name))) @if cell.control { " (A/A)" } }
                        td { (status(cell.status)) }
                        td.right { (cell.samples) }
                        td.right { (cell.invalid_samples + cell.failed_samples) }
                        td { (described(reasons(&cell.reasons).as_deref().unwrap_or("no reason was recorded"))) }
                    } } }
                } }
            }
        }
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Ok => "some passes lost",
        Status::Skipped => "skipped",
        Status::Invalid => "invalid",
        Status::Failed => "failed",
    }
}

/// Every arm under every condition, and what is to be said about it.
pub(super) fn arms(record: &Record, findings: &Findings) -> Markup {
    let (sections, missing) = details::of_run(record, findings);
    html! {
        section id="arms" {
            h2 { "Every arm" }
            p.about { (described(&details::legend(record))) }
            @for section in &sections { details {
                summary { b { (described(&section.title)) } " (" (described(&section.about)) ")" }
                @if let Some(says) = &section.says { p { (described(says)) } }
                (table(&section.table))
                @if let Some(alike) = &section.alike { p { (described(alike)) } }
                ul { @for note in &section.notes { li { b { (described(&note.about)) } ": " (described(&note.text)) } } }
            } }
            @if let Some(fills) = fills::table(record, findings) { details open {
                summary { b { (fills::TITLE) } }
                p.about { (fills::ABOUT) }
                (table(&fills))
                @for says in fills::advice(record, findings) { p { (described(&says)) } }
            } }
            @if let Some(tables) = runtimes::tables(findings) { details open[!tables.splits.is_empty()] {
                summary { b { (runtimes::TITLE) } }
                p.about { (runtimes::ABOUT) }
                (table(&tables.arms))
                @for (says, forks) in &tables.splits { p { (described(says)) } (table(forks)) }
            } }
            @if let Some(counts) = counted::table(record, findings) { details {
                summary { b { (counted::TITLE) } }
                p.about { (counted::ABOUT) }
                (table(&counts))
            } }
            @if let Some(cells) = costs::held_out(record, findings) { details {
                summary { b { (costs::HELD_OUT) } }
                p.about { (costs::ABOUT_HELD_OUT) }
                (table(&cells))
            } }
            @if let Ok(unit_costs) = costs::facts(record, findings) { details {
                summary { b { (costs::UNIT_COSTS) } }
                (facts(&unit_costs))
            } }
            @let without = summary::without_crossover(record, findings);
            @if !without.is_empty() { details { summary { "No crossover" } ul { @for line in &without { li { (described(line)) } } } } }
            @if !missing.is_empty() { details { summary { "Readings that are missing (–)" } ul {
                @for it in &missing { li { (it.reading) ": " (described(&it.reason)) " (" (it.cells) " cell" (plural(it.cells)) ")" } }
            } } }
        }
    }
}

pub(super) fn facts(facts: &[(impl AsRef<str>, String)]) -> Markup {
    html! { div.scroll tabindex="0" role="group" aria-label="Facts" { table.facts { tbody { @for (label, value) in facts { tr { th scope="row" { (label.as_ref()) } td { (described(value)) } } } } } } }
}

/// Of an experiment on the page.
const EXPERIMENT_LINES: usize = 2000;

/// The experiment, and the command that runs it again.
pub(super) fn again(record: &Record) -> Markup {
    let experiment = serde_json::to_string_pretty(&record.experiment).unwrap_or_default();
    // An experiment is text of the record too, and may be of any size.
    let left_out = experiment.lines().count().saturating_sub(EXPERIMENT_LINES);
    let experiment: String = experiment.lines().take(EXPERIMENT_LINES).map(|line| visible(line) + "\n").collect();
    html! {
        section id="again" {
            h2 { "The experiment, and how to run it again" }
            pre.command { code { (shell::command("rerun", shell::short(&record.id))) } }
            p.about { "On the machine that has the record, with the same target. Seed " (record.seed) ", budget " (record.budget_s) " s." }
            @if record.conditions.iter().any(Condition::is_of_commands) {
                p.about { "It lists the commands of this run, and executes them only with an option that it names." }
            }
            details { summary { "The experiment with every default filled in" } pre tabindex="0" role="group" aria-label="The experiment" { (experiment) }
                @if left_out > 0 { p.about { (number::count(left_out as f64)) " more line" (plural(left_out)) " of it stand in the record." } }
            }
        }
    }
}

/// What may be wider than the page scrolls, and is reached with the keyboard for that: so it has a name that is read out.
pub(super) fn table(table: &Table) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label="Table" { table {
            thead { tr { @for column in &table.columns { th.right[column.right] { (described(&column.title)) } } } }
            tbody { @for row in &table.rows { tr {
                @for (cell, column) in row.iter().zip(&table.columns) { td class=[classes(column, cell)] { (described(&cell.text)) } }
            } } }
        } }
    }
}

/// Most cells have none, and a page may have very many cells.
fn classes(column: &Column, cell: &Cell) -> Option<String> {
    let all = [if column.right { "right" } else { "" }, class(cell.paint)];
    let all: Vec<&str> = all.into_iter().filter(|it| !it.is_empty()).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

fn class(paint: Paint) -> &'static str {
    match paint {
        Paint::Plain | Paint::Heading | Paint::Quiet => "",
        Paint::Good => "good",
        Paint::Bad => "bad",
        Paint::Unsure => "unsure",
    }
}
