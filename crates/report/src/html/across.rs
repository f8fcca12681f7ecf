//! Runs beside each other, as a page: what differs about the machines first, then every shared cell.

use maud::{Markup, html};
use schema::{
    across::{Across, RunComparison},
    gate::Gate,
};

use super::{
    chart::speedup::{ForestRow, forest_plot},
    described, document,
    figure::{Figure, Looks},
    shown,
};
use crate::{
    across::{
        SAME_PLACE, answered, arm, changed, counted, gate_breaches, gate_checked, gate_not_judged, gate_outcome,
        heading, sizes, table,
    },
    layout::number,
    shell,
    words::{fact, fact_says, not_comparable},
};

/// The whole comparison as one HTML document.
pub fn across_html(across: &Across) -> String {
    let drawn: Vec<Option<Figure>> = across.versus.iter().map(figure).collect();
    let main = html! {
        @for (versus, figure) in across.versus.iter().zip(&drawn) {
            section { (one(versus)) @if let Some(figure) = figure { (shown("Speedup", figure)) } @else { p.missing { "No cell has a time with an interval in both runs." } } }
        }
        @for gate in &across.gates { section { (judged(gate)) } }
    };
    let first = across.versus.first().map_or("", |it| shell::short(&it.first));
    let footer = html! { "All numbers are computed from the records of the runs." };
    document(&described(&format!("Runs against {first}")), &html! {}, &main, &footer)
}

fn one(versus: &RunComparison) -> Markup {
    html! {
        h2 { (described(&heading(versus))) }
        @if versus.differs.is_empty() {
            p { (SAME_PLACE) }
        } @else {
            div.scroll tabindex="0" role="group" aria-label="What differs" { table.facts {
                thead { tr { th { "what differs" } th { "first" } th { "second" } } }
                tbody { @for it in &versus.differs { tr { td { (fact(it.what)) } td { (described(&fact_says(&it.first))) } td { (described(&fact_says(&it.second))) } } } }
            } }
        }
        @for reason in &versus.not_comparable { p.missing { b { "Not comparable: " } (described(&not_comparable(reason))) } }
        p { (described(&counted(versus))) }
        @if let Some(sizes) = sizes(versus) { p { (described(&sizes)) } }
        p { (described(&answered(versus))) }
        ul { @for changed in changed(versus) { li { (described(&changed)) } } }
    }
}

fn judged(gate: &Gate) -> Markup {
    let lines = gate_breaches(gate).into_iter().chain(gate_not_judged(gate));
    html! {
        h2 { (gate_outcome(gate)) ": " code { "--fail-if" } }
        p { (described(&gate_checked(gate))) }
        ul { @for line in lines { li { (described(&line)) } } }
    }
}

fn figure(versus: &RunComparison) -> Option<Figure> {
    let looks = Looks::of(versus.cells.iter().map(|it| it.arm.name.as_str()));
    let labels = crate::across::labels(versus);
    let row = |it: &schema::across::SharedCell| {
        let speedup = it.speedup?;
        let of = crate::across::label(&labels, it);
        let says = format!("{}: {}", number::speedup(&speedup), it.verdict.words());
        Some(ForestRow { of, arm: arm(versus, it).to_string(), full: it.arm.name.clone(), speedup, says })
    };
    let rows: Vec<ForestRow> = versus.cells.iter().filter_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let plots = vec![forest_plot(&rows, &looks, "times faster than in the first run")];
    let title = "Right of the shaded margin of 5 % the second run is faster, left of it slower".to_string();
    Some(Figure { title, notes: Vec::new(), plots, table: table(versus) })
}
