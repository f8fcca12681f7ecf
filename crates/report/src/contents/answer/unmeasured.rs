//! What was not measured, and why.

use schema::{ConditionId, Fill, Names, Record, Skip, reason::Reason, record};

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
        type Reasons = Vec<(ConditionId, Option<String>)>;
        let mut starts: Vec<(String, Reasons)> = Vec::new();
        let untried = self.record.untried();
        for (index, condition) in self.record.conditions.iter().enumerate() {
            let id = self.record.condition_id(index);
            let is_of = |it: &record::Cell| it.condition == index && !it.control;
            let reason = why_untried(self.record, &untried, is_of, self.names);
            let label = start(self.labels, id, condition);
            match starts.iter_mut().find(|it| it.0 == label) {
                Some(known) => known.1.push((id, reason)),
                None if condition.fill() == Some(Fill::Found) && not_now(self.record, self.names).is_some() => {}
                None => starts.push((label, vec![(id, reason)])),
            }
        }
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        let mut add = |reason: &str, what: String| match reasons.iter_mut().find(|it| it.0 == reason) {
            Some(known) => known.1.push(what),
            None => reasons.push((reason.to_string(), vec![what])),
        };
        for (label, conditions) in starts {
            let mut by_reason: Vec<(&str, Vec<ConditionId>)> = Vec::new();
            for (id, reason) in conditions.iter().filter_map(|(id, reason)| Some((*id, reason.as_deref()?))) {
                match by_reason.iter_mut().find(|it| it.0 == reason) {
                    Some(known) => known.1.push(id),
                    None => by_reason.push((reason, vec![id])),
                }
            }
            for (reason, of) in by_reason {
                match of.len() {
                    all if all == conditions.len() => add(reason, label.clone()),
                    few if few <= NAMED => of.iter().for_each(|it| add(reason, self.place(*it).unwrap_or_default())),
                    many => add(reason, format!("{many} of {} conditions {label}", conditions.len())),
                }
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
                add(&reason, self.names.short(&arm.name).to_string());
            }
        }
        reasons.into_iter().map(|(reason, starts)| format!("{}: {reason}", joined(&starts, "and"))).collect()
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
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (it, why) in cells() {
        let reason = words::reason(why.as_ref()?);
        let arm = names.short(&it.arm.name);
        match reasons.iter_mut().find(|known| known.0 == reason) {
            _ if is_consequence(it) && !only_consequences => {}
            Some((_, arms)) if arms.contains(&arm) => {}
            Some((_, arms)) => arms.push(arm),
            None => reasons.push((reason, vec![arm])),
        }
    }
    match &reasons[..] {
        [] => None,
        [(reason, _)] => Some(reason.clone()),
        several => Some(
            several.iter().map(|(reason, arms)| format!("{}: {reason}", list(arms))).collect::<Vec<_>>().join("; "),
        ),
    }
}
