//! The page: one file that needs nothing else, no network, no font, no other script. It answers in words first; every
//! chart has its numbers as a table.
//!
//! A record is untrusted. Text gets into the page through maud, which escapes every value; into a chart through
//! `figure::label`; and charts get into the page as JSON in which no `<` is left.

mod across;
mod chart;
mod figure;
mod part;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use plotly::Plot;
use schema::{Findings, Record};

use crate::{environment, number, study, summary, text::visible};

use self::{
    chart::{CHARTS, Chart},
    figure::{Drawn, Figure},
};

pub use across::across_html;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole report as one HTML document.
pub fn html(record: &Record, findings: &Findings) -> String {
    let drawn: Vec<(&Chart, Drawn)> = CHARTS.iter().map(|chart| (chart, (chart.draw)(record, findings))).collect();
    let figures = drawn.iter().filter_map(|(_, drawn)| drawn.as_ref().ok()).flatten();
    let data: Vec<serde_json::Value> = figures.map(Figure::data).collect();
    let title = said(&record.experiment.title);
    let mut next = 0;
    let header = html! {
        p.where { (said(&summary::title(record))) }
        p.where { (said(&summary::passes(record))) }
        @for (label, text) in study::about(record) { p { b { (label) } " " (said(&text)) } }
    };
    let main = html! {
        (part::answer(record, findings))
        @for (chart, drawn) in &drawn { (section(chart, drawn, &mut next)) }
        (part::safepoints(findings))
        (part::claims(findings))
        (part::equal_work(record, findings))
        (part::lost(findings))
        (part::arms(record, findings))
        section id="machine" {
            h2 { "The machine" }
            (part::facts(&environment::facts(record)))
        }
        (part::again(record))
    };
    let footer = html! {
        "Measured by faultline " (said(&record.tool_version)) ". The numbers follow from the record " code { (said(&record.id)) } " alone."
    };
    document(&title, &header, &main, &footer, &data)
}

/// What every page is: one file that asks nobody for anything. `title` is text for people, already made plain.
fn document(title: &str, header: &Markup, main: &Markup, footer: &Markup, figures: &[serde_json::Value]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // The page asks nobody for anything, whatever stands in the record.
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";
                meta name="color-scheme" content="light dark";
                title { "faultline: " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    (header)
                }
                main { (main) }
                footer { (footer) }
                script type="application/json" id="figures" { (PreEscaped(in_script(figures))) }
                script { (PreEscaped(library())) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn section(chart: &Chart, drawn: &Drawn, next: &mut usize) -> Markup {
    html! {
        section id=(chart.id) {
            h2 { (chart.title) }
            p.about { (chart.about) }
            @match drawn {
                Err(reason) => p.missing { (said(reason)) },
                Ok(figures) => @for figure in figures { (shown(chart.title, figure, index(next))) },
            }
        }
    }
}

/// One figure and its numbers.
fn shown(chart: &str, figure: &Figure, index: usize) -> Markup {
    html! {
        @if !figure.title.is_empty() { h3 { (said(&figure.title)) } }
        @for note in &figure.notes { p.about { (said(note)) } }
        div.chart data-figure=(index) style={ "height:" (figure.height) "px" } role="img" aria-label=(said(&format!("{chart}: {}; the numbers are in the table below", figure.title))) {}
        details { summary { "The numbers" } (part::table(&figure.table)) }
    }
}

fn index(next: &mut usize) -> usize {
    *next += 1;
    *next - 1
}

/// Text of a record, shortened, with nothing in it that hides or reorders; maud makes it text.
fn said(text: &str) -> String {
    number::plain(&visible(text))
}

/// JSON that can stand in a script element: whatever the strings say, no tag begins or ends in it.
fn in_script(data: &[serde_json::Value]) -> String {
    let json = serde_json::to_string(data).expect("values of serde_json are JSON");
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// The charting library out of its crate, without the mathematical typesetting that comes with it.
fn library() -> String {
    let both = Plot::offline_js_sources();
    let first = both.find('>').map_or(0, |at| at + 1);
    let end = both.find("</script>").unwrap_or(both.len());
    both[first..end].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_the_charting_library_and_nothing_else() {
        let library = library();
        assert!(library.contains("plotly.js v") && library.contains("newPlot"));
        assert!(library.len() < 5_000_000 && !library.contains("</script"), "{}", library.len());
    }

    #[test]
    fn no_tag_gets_out_of_the_json() {
        let text = in_script(&[serde_json::json!({"a": "</script><script>alert(1)</script><!-- \u{2028}"})]);
        assert!(!text.contains('<') && !text.contains('\u{2028}'), "{text}");
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back[0]["a"], "</script><script>alert(1)</script><!-- \u{2028}");
    }
}
