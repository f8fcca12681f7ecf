//! The charts, in the order of the page: one file and one line here for each.

mod block_size;
mod faults;
mod published;
mod samples;
pub(super) mod speedup;
mod timeline;
mod where_time;

use schema::{Condition, Findings, Record, findings::CellFinding};

use crate::map::{self, Names};

use super::figure::{Drawn, Looks};

/// A section of the page with its figures.
pub(super) struct Chart {
    /// The section's anchor.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// How to read it.
    pub(super) about: &'static str,
    pub(super) draw: fn(&Record, &Findings) -> Drawn,
}

pub(super) const CHARTS: &[Chart] = &[
    block_size::CHART,
    where_time::CHART,
    speedup::CHART,
    faults::CHART,
    timeline::CHART,
    published::CHART,
    samples::CHART,
];

/// What every chart begins with: arms with their looks, and what conditions are called.
struct View<'a> {
    findings: &'a Findings,
    conditions: Vec<&'a Condition>,
    names: Names,
    looks: Looks<'a>,
}

/// A cell with the name it has in charts.
struct Named<'a> {
    index: usize,
    cell: &'a CellFinding,
    arm: &'a str,
    name: String,
}

impl<'a> View<'a> {
    fn of(record: &'a Record, findings: &'a Findings) -> View<'a> {
        let looks = Looks::of(findings.cells.iter().map(|cell| cell.arm.name.as_str()));
        let conditions = findings.cells.iter().map(|cell| &cell.condition).collect();
        View { findings, conditions, names: Names::of(record, findings), looks }
    }

    /// The cells by what tells a figure from the next: everything but the block and how much of the file is touched.
    fn groups(&self) -> Vec<(String, Vec<Named<'a>>)> {
        let mut groups: Vec<(String, Vec<Named<'a>>)> = Vec::new();
        for (index, cell) in self.findings.cells.iter().enumerate() {
            let title = self.group(&cell.condition);
            let at = groups.iter().position(|(it, _)| *it == title).unwrap_or_else(|| {
                groups.push((title, Vec::new()));
                groups.len() - 1
            });
            let twin = |it: &&Named| {
                it.cell.condition == cell.condition && it.cell.arm.name == cell.arm.name && !it.cell.control
            };
            let twins = if cell.control { 0 } else { groups[at].1.iter().filter(twin).count() };
            let short = self.names.short(&cell.arm.name);
            let name = match twins {
                _ if cell.control => format!("{short} (A/A)"),
                0 => short.to_string(),
                _ => format!("{short} #{}", twins + 1),
            };
            groups[at].1.push(Named { index, cell, arm: &cell.arm.name, name });
        }
        groups
    }

    fn group(&self, condition: &Condition) -> String {
        let also = map::also(condition, &self.conditions);
        let also = also.split(", ").filter(|it| !it.ends_with(" ops") && !it.contains(" at ") && !it.is_empty());
        [format!("{}, {}", condition.state, condition.workload)]
            .into_iter()
            .chain(also.map(str::to_string))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl Named<'_> {
    /// What heads the column of rows, and what is said after the time of one: a command has no blocks.
    fn heading(&self) -> (&'static str, &'static str) {
        if self.cell.condition.is_of_commands() { ("command", "") } else { ("block · arm", " per block") }
    }

    /// What its row is called where blocks stand beneath each other.
    fn row(&self) -> String {
        match self.cell.condition.block() {
            block if block.is_empty() => self.name.clone(),
            block => format!("{block} · {}", self.name),
        }
    }
}

/// Which row a name has.
fn place(rows: &[String], name: &str) -> f64 {
    rows.iter().position(|it| it == name).unwrap_or(0) as f64
}

/// Names of one figure in the order in which they first appear.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_unique_and_every_chart_says_how_to_read_it() {
        let ids: std::collections::BTreeSet<&str> = CHARTS.iter().map(|chart| chart.id).collect();
        assert_eq!(ids.len(), CHARTS.len());
        assert!(CHARTS.iter().all(|chart| chart.about.ends_with('.') && !chart.title.is_empty()));
    }
}
