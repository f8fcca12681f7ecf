//! What `--json` prints. A finding that people read as a sentence is data in `schema`, mostly under a name that ends in
//! `_data`; its words are put beside it here, under the name without that end.

use schema::{
    Findings, Record, SCHEMA_VERSION,
    across::{Across, RunComparison},
    advice::Advice,
    explanation::Explanation,
    findings::{ClaimFinding, Document},
    gate::{BreachCause, Gate, NotJudgedCause, Presence},
    reason::Reason,
    unit_cost::Forecast,
};
use serde_json::Value;

use crate::{
    contents::{commands, stalls},
    layout::text::hides,
    words::{
        advice_caveat, advice_reason, beats, caution, crossover, explanation, fact, fact_says, forecast_remark,
        fork_groups, how, line, not_comparable, reason, reasons, safepoints, settles, stall, traits, unchecked,
        warning,
    },
};

const WRITTEN: &str = "maps have string keys and nothing else can fail";

/// One JSON document, as docs/FORMATS.md describes it, and a line feed.
pub fn json(record: &Record, findings: &Findings, across: Option<&RunComparison>) -> String {
    let mut findings = findings.clone();
    commands::say(record, &mut findings);
    let mut value = serde_json::to_value(&findings).expect(WRITTEN);
    say_findings(record, &findings, &mut value);
    let (schema_version, record) = (SCHEMA_VERSION, record.clone());
    let across = across.map(|it| {
        let mut value = serde_json::to_value(it).expect(WRITTEN);
        say_across(it, &mut value);
        value
    });
    let document = Document { schema_version, record, findings: value, across };
    written(serde_json::to_string_pretty(&document).expect(WRITTEN))
}

/// A JSON document as it is written: with a line feed, and with what hides on a terminal, or moves its cursor, as `\u` and digits. Such
/// characters stand in texts alone.
pub(crate) fn written(mut text: String) -> String {
    text.push('\n');
    let is_hidden = |c: char| c != '\n' && hides(c);
    if !text.contains(is_hidden) {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|it| shown.push_str(&format!("\\u{it:04x}"))),
            false => shown.push(c),
        }
    }
    shown
}

/// Runs beside each other, as one JSON document.
pub fn across_json(across: &Across) -> String {
    let mut value = serde_json::to_value(across).expect(WRITTEN);
    each(&across.versus, &mut value, "versus").for_each(|(it, value)| say_across(it, value));
    each(&across.gates, &mut value, "gates").for_each(|(it, value)| say_gate(it, value));
    written(format!("{value:#}"))
}

/// What `predict` found, as one JSON document.
pub fn forecast_json(forecast: &Forecast) -> String {
    let mut value = serde_json::to_value(forecast).expect(WRITTEN);
    say_readings(&mut value);
    put(&mut value, "remarks", texts(&forecast.remarks, forecast_remark));
    written(format!("{value:#}"))
}

fn say_findings(record: &Record, findings: &Findings, value: &mut Value) {
    say_readings(value);
    put(value, "warnings", texts(&findings.warnings, warning));
    for (it, value) in each(&findings.cells, value, "cells") {
        put(value, "reason", reasons(&it.reasons));
    }
    for (it, value) in each(&findings.comparisons, value, "comparisons") {
        put(value, "reason", it.reason.as_ref().map(reason));
        put(value, "warnings", texts(&it.warnings, caution));
        put(value, "because", because(it.explanation.as_ref()));
        if let Some(why) = it.confirmed.as_ref().and_then(|it| it.rounds_came_free.as_ref()) {
            put(&mut value["confirmed"], "rounds_came_free", Some(reason(why)));
        }
    }
    for (it, value) in each(&findings.claims, value, "claims") {
        say_claim(it, value);
    }
    if let Some(it) = &findings.costs {
        put(&mut value["costs"]["predictions"], "worst_have", traits(&it.predictions.worst_have));
    }
    for (it, value) in each(&findings.crossovers, value, "crossovers") {
        put(value, "statement", crossover(it));
    }
    for (it, value) in each(&findings.map, value, "map") {
        put(value, "says", line(&it.says));
        put(value, "because", because(it.explanation.as_ref()));
    }
    for (it, value) in each(&findings.advice, value, "advice") {
        say_advice(it, value);
    }
    for (it, value) in each(&findings.advice_self_check, value, "advice_self_check") {
        put(value, "why", it.why.as_ref().map(unchecked));
    }
    for (it, value) in each(&findings.splits, value, "splits") {
        put(value, "says", fork_groups(&it.says));
    }
    for (it, value) in each(&findings.beats, value, "beats") {
        put(value, "says", beats(it));
    }
    for (it, value) in each(&findings.stalls, value, "stalls") {
        put(value, "says", stall(it, &stalls::names(record, findings, it)));
    }
    if let (Some(it), Some(value)) = (&findings.safepoints, value.get_mut("safepoints")) {
        put(value, "says", safepoints(it));
    }
}

fn say_advice(advice: &Advice, value: &mut Value) {
    put(value, "because", texts(&advice.because, advice_reason));
    put(value, "how", advice.how.as_ref().map(how));
    put(value, "caveats", texts(&advice.caveats, advice_caveat));
    put(value, "settles", advice.settles.map(settles));
    for (name, options) in [("also", &advice.also), ("in_advance", &advice.in_advance)] {
        each(options, value, name).for_each(|(it, value)| put(value, "how", how(&it.how)));
    }
    for (it, value) in each(&advice.switched, value, "switched") {
        put(value, "reason", it.reason.as_ref().map(reason));
    }
}

/// A claim, in the ledger too.
pub(crate) fn say_claim(claim: &ClaimFinding, value: &mut Value) {
    put(value, "reason", reasons(&claim.reasons).unwrap_or_default());
    for (it, value) in each(&claim.folios, value, "folios") {
        put(value, "reason", reasons(&it.reasons));
    }
}

fn say_gate(gate: &Gate, value: &mut Value) {
    for (it, value) in each(&gate.breaches, value, "breaches") {
        if let BreachCause::NotCompared { first, second } = &it.cause {
            for (name, presence) in [("first", first), ("second", second)] {
                say_presence(presence, &mut value["cause"]["not-compared"][name]);
            }
        }
    }
    for (it, value) in each(&gate.not_judged, value, "not_judged") {
        let (name, why) = match &it.cause {
            NotJudgedCause::ThrottleExceeded { reason: why } => ("throttle-exceeded", why),
            NotJudgedCause::TooSmall { reason: why } => ("too-small", why),
            NotJudgedCause::OtherFolios { reason: why } => ("other-folios", why),
            NotJudgedCause::OtherOwnWork { reason: why } => ("other-own-work", why),
            NotJudgedCause::OtherSizes { reason: why } => ("other-sizes", why),
            NotJudgedCause::TooFewRuns { reason: Some(why), .. } => ("too-few-runs", why),
            NotJudgedCause::TooFewRuns { reason: None, .. } => continue,
        };
        put(&mut value["cause"][name], "reason", reason(why));
    }
}

fn say_presence(presence: &Presence, value: &mut Value) {
    let (name, words) = match presence {
        Presence::Skipped { reasons: why } => ("skipped", reasons(why)),
        Presence::Invalid { reasons: why } => ("invalid", reasons(why)),
        Presence::Failed { reasons: why } => ("failed", reasons(why)),
        Presence::NoBaseline { reason: why } => ("no-baseline", Some(reason(why))),
        Presence::Measured | Presence::TooFewPasses { .. } | Presence::Absent => return,
    };
    put(&mut value[name], "reason", words.unwrap_or_default());
}

fn say_across(across: &RunComparison, value: &mut Value) {
    put(value, "not_comparable", texts(&across.not_comparable, not_comparable));
    for (it, value) in each(&across.differs, value, "differs") {
        put(value, "what", fact(it.what));
        put(value, "first", fact_says(&it.first));
        put(value, "second", fact_says(&it.second));
    }
    for (it, value) in each(&across.cells, value, "cells") {
        put(value, "reason", it.reason.as_ref().map(reason));
    }
}

/// Readings that have no value say why.
fn say_readings(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(say_readings),
        Value::Object(fields) => {
            let why = fields.get("unavailable").and_then(|it| serde_json::from_value::<Reason>(it.clone()).ok());
            match why.filter(|it| !matches!(it, Reason::Text(_))) {
                Some(why) => {
                    let data = fields.insert("unavailable".into(), reason(&why).into());
                    fields.extend(data.map(|data| ("unavailable_data".into(), data)));
                }
                None => fields.values_mut().for_each(say_readings),
            }
        }
        _ => {}
    }
}

fn because(of: Option<&Explanation>) -> Option<String> {
    of.map(explanation)
}

fn put(value: &mut Value, name: &str, words: impl Into<Value>) {
    value[name] = words.into();
}

fn texts<T>(of: &[T], words: impl Fn(&T) -> String) -> Vec<String> {
    of.iter().map(words).collect()
}

/// The entries of a list beside what they were written as.
fn each<'a, T>(of: &'a [T], value: &'a mut Value, name: &str) -> impl Iterator<Item = (&'a T, &'a mut Value)> {
    of.iter().zip(value.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten())
}
