//! All claims with the verdict of the newest run that could decide each.

use schema::claims::{Later, LaterRun, Ledger, LedgerEntry};

use crate::{
    Style,
    contents::claim,
    json::say_claim,
    json::written,
    layout::{page::Page, paint::Paint, words::plural},
    saved, shell,
    words::reasons,
};

/// The ledger as text.
pub fn claims(ledger: &Ledger, style: Style) -> String {
    let mut page = Page::new(style);
    let columns = claim::columns(&page, ledger.entries.iter().map(|entry| &entry.claim));
    let mut before: Option<&LedgerEntry> = None;
    for entry in &ledger.entries {
        let study = |it: &LedgerEntry| (it.claim.study.clone(), it.title.clone(), it.asks_otherwise);
        let goes_on = before.is_some_and(|it| study(it) == study(entry));
        if !goes_on || before.is_some_and(|it| it.run != entry.run) {
            heading(&mut page, entry, goes_on);
        }
        before = Some(entry);
        claim::write_one(&mut page, &entry.claim, columns);
        if let Some(LaterRun { run, verdict, reasons: said, why, .. }) = &entry.later {
            let (run, verdict) = (shell::short(run), verdict.words());
            let reason = &reasons(said).unwrap_or_default();
            let (text, paint) = match why {
                Later::Undecided => {
                    (format!("the later run {run} did not decide it: {}", described(verdict, reason)), Paint::Quiet)
                }
                Later::PartialAgrees => (format!("the later run {run} measured a part of it and agrees"), Paint::Quiet),
                Later::PartialDecides => (
                    format!(
                        "the later run {run} measured a part of it and decided that: {}",
                        described(verdict, reason)
                    ),
                    Paint::Unsure,
                ),
                Later::PartialContradicts => (
                    format!(
                        "the later run {run} measured a part of it and contradicts it: {}",
                        described(verdict, reason)
                    ),
                    Paint::Unsure,
                ),
                Later::OtherSize => (
                    format!("the later run {run} tested it on a file of another size: {}", described(verdict, reason)),
                    Paint::Quiet,
                ),
                Later::Elsewhere => (
                    format!(
                        "the later run {run} decided it under conditions for which this one has no answer: {}",
                        described(verdict, reason)
                    ),
                    Paint::Unsure,
                ),
            };
            page.paragraph(if columns == 0 { 4 } else { columns + 4 }, paint, &text);
        }
    }
    for (name, title) in &ledger.not_run {
        page.blank();
        page.labelled(0, name, Paint::Heading, title);
        page.run_in(2, "not run yet:", Paint::Unsure, &shell::command("reproduce", name));
    }
    page.blank();
    page.paragraph(0, Paint::Heading, &counts(ledger));
    page.finish()
}

/// A verdict with its reason, which may begin with the verdict.
fn described(verdict: &str, reason: &str) -> String {
    if reason.starts_with(verdict) { reason.to_string() } else { format!("{verdict}: {reason}") }
}

fn heading(page: &mut Page, entry: &LedgerEntry, goes_on: bool) {
    page.blank();
    if !goes_on {
        page.labelled(0, &entry.claim.study, Paint::Heading, &entry.title);
        if !entry.claim.source.is_empty() {
            page.item(2, 6, "source", Paint::Quiet, &entry.claim.source);
        }
        if entry.asks_otherwise {
            page.paragraph(2, Paint::Unsure, "not the built-in study of this name: these claims ask something else");
        }
    }
    let LedgerEntry { when, made_on, kernel, target, file_system, run, .. } = entry;
    let machine = saved::machine(made_on);
    page.item(
        2,
        6,
        "run",
        Paint::Quiet,
        &format!(
            "{when} on {machine}, Linux {kernel}, {target} on {file_system} ({})",
            shell::command("report", shell::short(run))
        ),
    );
}

fn counts(ledger: &Ledger) -> String {
    let Ledger { entries, not_run } = ledger;
    let not_run = match not_run.len() {
        0 => String::new(),
        some => format!("; {some} stud{} not run yet", if some == 1 { "y" } else { "ies" }),
    };
    match entries.len() {
        0 => format!("no saved run has a claim{not_run}"),
        count => {
            let counted = claim::counted(entries.iter().map(|entry| &entry.claim));
            format!("{count} claim{}: {counted}{not_run}", plural(count))
        }
    }
}

/// An array of the claims, each with its run, and a line feed.
pub fn claims_json(ledger: &Ledger) -> String {
    let entries = ledger.entries.iter().map(|entry| {
        let mut value = serde_json::to_value(&entry.claim).expect("maps have string keys and nothing else can fail");
        say_claim(&entry.claim, &mut value);
        let host = &entry.made_on.host;
        for (key, text) in [
            ("title", &entry.title),
            ("run", &entry.run),
            ("when", &entry.when),
            ("host", host),
            ("kernel", &entry.kernel),
            ("target", &entry.target),
            ("file_system", &entry.file_system),
        ] {
            value[key] = text.clone().into();
        }
        value["origin"] = serde_json::json!(entry.made_on.origin);
        if let Some((key, hardware)) = &entry.made_on.identity {
            (value["key"], value["hardware"]) = (key.as_str().into(), hardware.as_str().into());
        }
        if entry.asks_otherwise {
            value["asks_otherwise"] = true.into();
        }
        if let Some(LaterRun { run, when, verdict, reasons: said, why }) = &entry.later {
            value["later"] =
                serde_json::json!({ "run": run, "when": when, "verdict": verdict, "reason": reasons(said), "why": why });
        }
        value
    });
    let array = serde_json::Value::Array(entries.collect());
    let text = serde_json::to_string_pretty(&array).expect("maps have string keys and nothing else can fail");
    written(text)
}
