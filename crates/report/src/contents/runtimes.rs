//! Where runtimes stand beside each other: how fast their loops are by themselves, what they did beside the passes, and the
//! forks of cells that fell into two groups.

use schema::{Findings, Record, findings::ForkSplit};

use crate::{
    layout::{
        number,
        paint::Paint,
        table::{Cell, Column, Table},
    },
    words::fork_groups,
};

pub(crate) const TITLE: &str = "Runtimes";

pub(crate) const ABOUT: &str = "The loop alone: the consume over random bytes in the CPU caches, without reading a file (of `decode-lines`, text takes a part of that); a difference here is part of every comparison across runtimes. Cold: how many times longer the first pass of a new process over the warm-up file took than the last passes. Compiling and collecting: as shares of the passes' time, what the runtime says they took; of Go only how long collections stopped all goroutines.";

/// A table, and what is to be said of single cells.
pub(crate) struct Tables {
    pub(crate) arms: Table,
    pub(crate) splits: Vec<(String, Table)>,
}

/// Nothing where there is only one runtime, and that compiles nothing.
pub(crate) fn tables(findings: &Findings) -> Option<Tables> {
    if findings.runtimes.is_empty() {
        return None;
    }
    let mut columns = vec![Column::left("arm"), Column::left("consume")];
    columns
        .extend(["the loop alone", "cold", "compiling", "collections", "collecting", "not quiet"].map(Column::right));
    let rows = findings.runtimes.iter().map(|it| {
        let share = |share: Option<f64>| share.map_or_else(Cell::absent, |it| Cell::plain(number::percent(it)));
        vec![
            Cell::plain(&it.arm),
            Cell::plain(it.consume.word()),
            it.loop_bytes_per_s.map_or_else(Cell::absent, |rate| Cell::plain(number::throughput_glued(rate))),
            it.first_pass.map_or_else(Cell::absent, |times| Cell::plain(format!("{times:.1}x"))),
            share(it.compile_share),
            it.collections.map_or_else(Cell::absent, |count| Cell::plain(number::count(count))),
            share(it.collection_share),
            // Of a runtime that compiles nothing while it runs there is nothing to be quiet.
            match it.not_quiet {
                Some(not_quiet) => Cell::plain(format!("{not_quiet} of {}", it.passes)),
                None => Cell::absent(),
            },
        ]
    });
    Some(Tables {
        arms: Table { columns, rows: rows.collect() },
        splits: findings.splits.iter().map(|it| (fork_groups(&it.says), forks(it))).collect(),
    })
}

fn forks(split: &ForkSplit) -> Table {
    let mut columns = vec![Column::left("fork")];
    columns.extend(["per op", "warm-up file", "the loop alone"].map(Column::right));
    let rows = split.forks.iter().map(|it| {
        let paint = if it.slow { Paint::Unsure } else { Paint::Plain };
        let name = format!("round {}{}", u64::from(it.round) + 1, if it.slow { ", slow" } else { "" });
        vec![
            Cell::new(name, paint),
            Cell::new(number::duration_glued(it.ns_per_op), paint),
            it.warm_pass_ns_per_op.map_or_else(Cell::absent, |ns| Cell::new(number::duration_glued(ns), paint)),
            it.loop_bytes_per_s.map_or_else(Cell::absent, |rate| Cell::new(number::throughput_glued(rate), paint)),
        ]
    });
    Table { columns, rows: rows.collect() }
}

/// What ran the arms, for the list of facts.
pub(crate) fn used(record: &Record) -> Vec<String> {
    let line = |(name, about): (&String, &std::collections::BTreeMap<String, String>)| {
        const IN_THEIR_PLACES: [&str; 4] = ["vm", "home", "flags", "processors"];
        let known = |key: &str| about.get(key).map_or("not known", String::as_str);
        let more = about.iter().filter(|it| !IN_THEIR_PLACES.contains(&it.0.as_str()));
        let more: String = more.map(|(key, value)| format!("; {key} {value}")).collect();
        format!("{name}, {}, in {}; {}{more}", known("vm"), known("home"), known("flags"))
    };
    record.runtimes.iter().map(line).collect()
}
