//! The documents of one run: a row here is one of them, and an option of every command that shows a run.

use schema::{Findings, Record, across::RunComparison, plan::PlannedRun};

use crate::{csv::csv, html::html, json::json, markdown::markdown, plan::plan_json};

/// A document of one run.
pub struct Export {
    /// Its option is this word after two dashes.
    pub name: &'static str,
    /// What its option does, for the help.
    pub about: &'static str,
    /// Its option needs no file: without one the document goes to stdout.
    pub file_is_optional: bool,
    pub text: Text,
    /// Of a run that was only planned; absent where a plan has nothing to show.
    pub plan: Option<fn(&PlannedRun) -> String>,
}

/// A document of a record with its findings and, where there is one, a comparison with an earlier run.
type Text = fn(&Record, &Findings, Option<&RunComparison>) -> String;

/// In the order of the help.
pub const EXPORTS: &[Export] = &[
    Export {
        file_is_optional: true,
        plan: Some(plan_json),
        ..of_a_run(
            "json",
            "Write one JSON document (record and findings) to stdout, which then has nothing else, or to FILE",
            json,
        )
    },
    of_a_run("markdown", "Write a summary for a pull request; - is stdout", |record, findings, _| {
        markdown(record, findings)
    }),
    of_a_run("csv", "Write one CSV row per sample; - is stdout", |record, _, _| csv(record)),
    of_a_run("html", "Write a self-contained page with charts; - is stdout", |record, findings, _| {
        html(record, findings)
    }),
];

const fn of_a_run(name: &'static str, about: &'static str, text: Text) -> Export {
    Export { name, about, file_is_optional: false, text, plan: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_export_has_an_option_of_its_own_and_stands_in_the_formats() {
        let formats = include_str!("../../../docs/FORMATS.md");
        for (at, export) in EXPORTS.iter().enumerate() {
            assert!(EXPORTS[..at].iter().all(|it| it.name != export.name), "{}", export.name);
            assert!(formats.contains(&format!("\n| `--{}` |", export.name)), "{}", export.name);
        }
    }
}
