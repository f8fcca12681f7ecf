//! What was not measured, and why.

use schema::{Condition, Fill, Names, Record, Skip, reason::Reason, record};

use super::place::{Words, start};
use crate::{
    layout::words::{joined, list},
    words,
};

/// So many conditions of a start are named; more are counted.
const NAMED: usize = 3;

impl Words<'_> {
    /// Conditions without a single pass because no cell of theirs was tried: each reason once, with its starts where that is so of
    /// all their conditions; and arms without one. That of the file as it was found stands elsewhere.
    pub(super) fn not_measured(&self) -> Vec<String> {
        let untried = self.record.untried();
        let conditions = self.record.conditions.iter().enumerate();
        let is_said = |it: &Condition| it.fill() == Some(Fill::Found) && not_now(self.record, self.names).is_some();
        let starts = schema::grouped(conditions.filter(|(_, it)| !is_said(it)).map(|(index, condition)| {
            let id = self.record.condition_id(index);
            let is_of = |it: &record::Cell| it.condition == index && !it.control;
            (start(self.labels, id, condition), (id, why_untried(self.record, &untried, is_of, self.names)))
        }));
        let mut reasons: Vec<(String, String)> = Vec::new();
        for (label, conditions) in starts {
            let all = conditions.len();
            for (reason, of) in schema::grouped(conditions.into_iter().filter_map(|(id, why)| Some((why?, id)))) {
                let what = match of.len() {
                    number if number == all => vec![label.clone()],
                    few if few <= NAMED => of.iter().map(|it| self.place(*it).unwrap_or_default()).collect(),
                    many => vec![format!("{many} of {all} conditions {label}")],
                };
                reasons.extend(what.into_iter().map(|it| (reason.clone(), it)));
            }
        }
        // What is there under no condition stands once, unless nothing of its conditions was measured.
        for cell in record::missing_arms(&self.record.cells) {
            let arm = &self.record.cells[cell].arm;
            let conditions = self.record.cells.iter().filter(|it| it.arm.name == arm.name).map(|it| it.condition);
            let is_beside_others = |condition: usize| {
                self.record.cells.iter().zip(&untried).any(|(it, why)| it.condition == condition && why.is_none())
            };
            if let Some(why) = untried[cell].as_ref().filter(|_| conditions.into_iter().any(is_beside_others)) {
                let reason = self.names.in_reason(arm, &words::reason(why));
                reasons.push((reason, self.names.short(&arm.name).to_string()));
            }
        }
        let reasons = schema::grouped(reasons).into_iter();
        reasons.map(|(reason, starts)| format!("{}: {reason}", joined(&starts, "and"))).collect()
    }
}

pub(super) fn not_now(record: &Record, names: &Names) -> Option<String> {
    let is_found =
        |it: &record::Cell| record.conditions.get(it.condition).is_some_and(|it| it.fill() == Some(Fill::Found));
    Some(format!("not measured: {}", why_untried(record, &record.untried(), is_found, names)?))
}

/// Why none of these cells was measured: each reason once, with its arms where there are several; that an arm has nothing to
/// be compared with follows from the others. Nothing where there are no cells, or one that was tried.
fn why_untried(
    record: &Record,
    untried: &[Option<Reason>],
    is_meant: impl Fn(&record::Cell) -> bool,
    names: &Names,
) -> Option<String> {
    let is_consequence = |it: &record::Cell| it.skipped == Some(Skip::NothingToCompare);
    let cells = || record.cells.iter().zip(untried).filter(|it| is_meant(it.0));
    let only_consequences = cells().all(|it| is_consequence(it.0));
    let mut arms: Vec<(String, &str)> = Vec::new();
    for (it, why) in cells() {
        let reason = words::reason(why.as_ref()?);
        if only_consequences || !is_consequence(it) {
            arms.push((reason, names.short(&it.arm.name)));
        }
    }
    let reasons = schema::grouped(schema::distinct(arms));
    match &reasons[..] {
        [] => None,
        [(reason, _)] => Some(reason.clone()),
        several => Some(
            several.iter().map(|(reason, arms)| format!("{}: {reason}", list(arms))).collect::<Vec<_>>().join("; "),
        ),
    }
}
