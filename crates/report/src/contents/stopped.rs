//! Who else was stopped while arms were at work: a part for each way of asking, of runs that asked.

use schema::{Findings, Record};

use super::{
    beats::{self, PartOf},
    safepoints,
};

pub(crate) struct Part {
    /// Its anchor on the page.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) of: Vec<PartOf>,
}

pub(crate) fn parts(record: &Record, findings: &Findings) -> Vec<Part> {
    let of_all = |(says, table)| vec![PartOf { condition: String::new(), table, says }];
    let all = [
        ("safepoints", safepoints::TITLE, safepoints::ABOUT, safepoints::of_run(record, findings).map(of_all)),
        ("stops", beats::TITLE, beats::ABOUT, beats::of_run(record, findings)),
    ];
    all.into_iter().filter_map(|(id, title, about, of)| Some(Part { id, title, about, of: of? })).collect()
}
