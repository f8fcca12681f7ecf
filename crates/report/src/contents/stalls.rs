//! Who else stops, as the first screen says it: a line for each runtime.

use schema::{Findings, Labels};

use crate::words;

use super::beats::TITLE;

/// Under which condition, then each runtime; nothing of a run without beats.
pub(crate) fn lines(findings: &Findings, labels: &Labels) -> Vec<(String, String)> {
    let Some(first) = findings.stalls.first() else { return Vec::new() };
    let shared = first.id;
    let of_runtime = findings.stalls.iter().map(|it| {
        let says = words::stall(it);
        let under = match it.id == shared {
            true => String::new(),
            false => format!(" ({})", labels.label(it.id.condition_index)),
        };
        (it.runtime.clone(), format!("{says}{under}"))
    });
    [(TITLE.to_string(), labels.label(shared.condition_index))].into_iter().chain(of_runtime).collect()
}
