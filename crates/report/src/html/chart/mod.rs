//! The charts, in the order of the page: one file and one line here for each.

mod beats;
mod block_size;
mod claims;
mod faults;
mod published;
mod samples;
pub(super) mod speedup;
mod timeline;
mod where_time;

use std::collections::BTreeSet;

use schema::{Condition, Findings, Labels, Names, Record, Workload, findings::CellFinding};

use super::figure::{Drawn, Looks};
use crate::contents::own;

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
    beats::CHART,
    timeline::CHART,
    claims::CHART,
    published::CHART,
    samples::CHART,
];

/// Everything but the block and how much of the file is touched; and the comparison, or the first of several that ask one
/// question about different blocks.
type FigureKey = (Condition, Option<usize>);

/// What every chart begins with: arms with their looks, and what conditions are called.
struct View<'a> {
    findings: &'a Findings,
    labels: Labels,
    /// Of each condition, which figure it belongs to, and what that is called.
    groups: Vec<(FigureKey, String)>,
    names: Names,
    looks: Looks<'a>,
}

/// A cell with the name it has in charts: its arm, and what that does otherwise than the figure says.
struct Named<'a> {
    cell: &'a CellFinding,
    arm: &'a str,
    name: String,
}

impl<'a> View<'a> {
    fn of(record: &'a Record, findings: &'a Findings) -> View<'a> {
        let looks = Looks::of(findings.cells.iter().map(|cell| cell.arm.name.as_str()));
        let group = |(at, it): (usize, &Condition)| {
            let plain = Condition::plain(it.file_bytes);
            let origin = record.condition_id(at).comparison_index;
            let compare = origin.and_then(|it| record.experiment.comparisons.get(it));
            // Several numbers of blocks are several questions.
            let ops = if compare.is_some_and(|it| it.ops.len() > 1) { it.ops } else { plain.ops };
            // The memory in state limited is a share of the range.
            (Condition { block_bytes: 0, range: plain.range, memory_bytes: None, ops, ..it.clone() }, origin)
        };
        let groups: Vec<FigureKey> = record.conditions.iter().enumerate().map(group).collect();
        let groups = joined(record, groups);
        let words = |(condition, origin): &'_ FigureKey| {
            let compare = origin.and_then(|it| record.experiment.comparisons.get(it));
            (condition.clone(), compare.map_or_else(Vec::new, |it| it.words(*origin)))
        };
        let items: Vec<(Condition, Vec<String>)> = groups.iter().map(words).collect();
        let items: Vec<(&Condition, Vec<String>)> = items.iter().map(|(it, words)| (it, words.clone())).collect();
        let titles = Labels::new(&items);
        let title = |(at, group): (usize, FigureKey)| {
            let (title, also) = (format!("{}, {}", group.0.state, group.0.workload), titles.also(at));
            (group, if also.is_empty() { title } else { format!("{title}, {also}") })
        };
        let groups = groups.into_iter().enumerate().map(title).collect();
        View { findings, labels: Labels::of(record), groups, names: Names::of(record), looks }
    }

    /// The cells by figure. Figures differ in everything but the block and how much of the file, and of memory, is used.
    fn groups(&self) -> Vec<(String, Vec<Named<'a>>)> {
        let mut of: Vec<&FigureKey> = Vec::new();
        let mut groups: Vec<(String, Vec<Named<'a>>)> = Vec::new();
        for cell in &self.findings.cells {
            let Some((group, title)) = self.groups.get(cell.id.condition.condition_index) else { continue };
            let at = of.iter().position(|it| *it == group).unwrap_or_else(|| {
                of.push(group);
                groups.push((title.clone(), Vec::new()));
                groups.len() - 1
            });
            let is_repeat = |it: &&Named| {
                it.cell.id.condition == cell.id.condition && it.cell.arm.name == cell.arm.name && !it.cell.control
            };
            let repeats = if cell.control { 0 } else { groups[at].1.iter().filter(is_repeat).count() };
            let short = self.names.short(&cell.arm.name);
            let name = match repeats {
                _ if cell.control => format!("{short} (A/A)"),
                0 => short.to_string(),
                _ => format!("{short} #{}", repeats + 1),
            };
            let name = own::name(&name, cell.own_condition.as_ref(), &cell.condition, false);
            groups[at].1.push(Named { cell, arm: &cell.arm.name, name });
        }
        // Where a figure is of several comparisons, those of one block stand together.
        groups.iter_mut().for_each(|it| it.1.sort_by_key(|it| it.cell.condition.block_bytes));
        groups
    }
}

/// Comparisons that ask one question, each about blocks of its own, share a figure: an experiment may split it, where some
/// have fewer arms. An arm that has one block in two of them would stand there twice.
fn joined(record: &Record, groups: Vec<FigureKey>) -> Vec<FigureKey> {
    let question = |origin: Option<usize>| Some(record.experiment.comparisons.get(origin?)?.question());
    let blocks = |key: &FigureKey| -> BTreeSet<u64> {
        let of_key = record.conditions.iter().zip(&groups).filter(|(_, group)| *group == key);
        of_key.map(|(it, _)| it.block_bytes).collect()
    };
    let mut figures: Vec<(&FigureKey, Vec<&FigureKey>, BTreeSet<u64>)> = Vec::new();
    for key in &groups {
        if figures.iter().any(|it| it.1.contains(&key)) {
            continue;
        }
        let own = blocks(key);
        let takes = |(first, _, blocks): &(&FigureKey, Vec<&FigureKey>, BTreeSet<u64>)| {
            first.0 == key.0
                && question(first.1).is_some()
                && question(first.1) == question(key.1)
                && blocks.is_disjoint(&own)
        };
        match figures.iter_mut().find(|it| takes(it)) {
            Some((_, keys, blocks)) => {
                keys.push(key);
                blocks.extend(own);
            }
            None => figures.push((key, vec![key], own)),
        }
    }
    let of = |key: &FigureKey| figures.iter().find(|it| it.1.contains(&key)).map_or(key, |it| it.0).clone();
    groups.iter().map(of).collect()
}

impl Named<'_> {
    /// What heads the column of rows, and what is said after the time of one.
    fn heading(&self) -> (&'static str, &'static str) {
        match self.cell.condition.workload {
            Workload::Command => ("command", ""),
            Workload::Replay => ("arm", " per access"),
            _ => ("block · arm", " per block"),
        }
    }

    /// What its row is called where blocks stand beneath each other.
    fn row(&self) -> String {
        match self.cell.does().block() {
            block if block.is_empty() => self.name.clone(),
            block => format!("{block} · {}", self.name),
        }
    }
}

/// Which row a name has.
fn place(rows: &[String], name: &str) -> f64 {
    rows.iter().position(|it| it == name).unwrap_or(0) as f64
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
