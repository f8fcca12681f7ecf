//! The page: one file that needs nothing else, no network, no font, no script. It answers in words first; every
//! chart has its numbers as a table.
//!
//! A record is untrusted. Text gets into the page through maud, which escapes every value; into a chart through
//! `figure::label` too. The page has no script.

mod across;
mod axis;
mod chart;
mod figure;
mod part;
mod svg;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use schema::{Findings, Record};

use crate::{
    contents::{environment, study, summary},
    layout::text::{glued, visible},
};

use self::{
    chart::{CHARTS, Chart},
    figure::Figure,
};

pub use across::across_html;

const STYLE: &str = include_str!("page.css");

/// The whole report as one HTML document.
pub fn html(record: &Record, findings: &Findings) -> String {
    let (mut drawn, mut empty) = (Vec::new(), Vec::new());
    for chart in CHARTS {
        match (chart.draw)(record, findings) {
            Ok(figures) => drawn.push((chart, figures)),
            Err(reason) => empty.push((chart.title, reason)),
        }
    }
    let title = described(&record.experiment.title);
    let header = html! {
        p.where { (described(&summary::title(record))) }
        p.where { (described(&summary::passes(record))) }
        @for (label, text) in study::about(record) { p { b { (label) } " " (described(&text)) } }
    };
    let main = html! {
        (part::answer(record, findings))
        @for (chart, figures) in &drawn { (section(chart, figures)) }
        @if !empty.is_empty() { details { summary { "Charts that have nothing to show here (" (empty.len()) ")" } ul {
            @for (title, reason) in &empty { li { (title) ": " (described(reason)) } }
        } } }
        (part::stopped(record, findings))
        (part::claims(findings))
        (part::equal_work(record, findings))
        (part::lost(record, findings))
        (part::arms(record, findings))
        section id="machine" {
            h2 { "The machine" }
            (part::facts(&environment::facts(record)))
        }
        (part::again(record))
    };
    let footer = html! {
        "Measured by faultline " (described(&record.tool_version)) ". All numbers are computed from the record " code { (described(&record.id)) } " alone."
    };
    document(&title, &header, &main, &footer)
}

/// One chart of the page as an SVG file: the first plot of the section with this anchor.
///
/// # Errors
/// There is no such chart, or the run has nothing for it, in one sentence.
pub fn picture(record: &Record, findings: &Findings, id: &str) -> Result<String, String> {
    let chart = CHARTS.iter().find(|it| it.id == id).ok_or_else(|| {
        let ids: Vec<&str> = CHARTS.iter().map(|it| it.id).collect();
        format!("there is no chart {id:?}; there are {}", ids.join(", "))
    })?;
    let figures = (chart.draw)(record, findings)?;
    let plot = figures.iter().find_map(|it| it.plots.first()).ok_or("the chart has no plot")?;
    Ok(svg::picture(plot, &described(&format!("{}: {}", record.experiment.title, chart.title)), STYLE).into_string())
}

/// The frame of every page: one file without external resources. `title` is text for users, already made plain.
fn document(title: &str, header: &Markup, main: &Markup, footer: &Markup) -> String {
    let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
    // The page loads no external resource, whatever the record contains.
                    meta http-equiv="Content-Security-Policy"
                        content="default-src 'none'; style-src 'unsafe-inline'";
                    meta name="color-scheme" content="light dark";
                    title { "faultline: " (title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    (svg::symbols())
                    header {
                        h1 { (title) }
                        (header)
                    }
                    main { (main) }
                    footer { (footer) }
                }
            }
        };
    page.into_string()
}

fn section(chart: &Chart, figures: &[Figure]) -> Markup {
    html! {
        section id=(chart.id) {
            h2 { (chart.title) }
            p.about { (chart.about) }
            @for figure in figures { (shown(chart.title, figure)) }
        }
    }
}

/// One figure and its numbers.
fn shown(chart: &str, figure: &Figure) -> Markup {
    let says = described(&format!("{chart}: {}; the numbers are in the table below", figure.title));
    html! {
        @if !figure.title.is_empty() { h3 { (described(&figure.title)) } }
        @for note in &figure.notes { p.about { (described(note)) } }
        div.chart { @for plot in &figure.plots { (svg::legend(plot)) (svg::drawn(plot, &says)) } }
        details { summary { "The numbers" } (part::table(&figure.table)) }
    }
}

/// Text of a record, shortened, with nothing in it that hides or reorders; maud makes it text.
fn described(text: &str) -> String {
    glued(&visible(text))
}
