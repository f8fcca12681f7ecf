//! Runs beside each other, for a terminal and for a pull request: what differs about the machines comes first.

use std::{collections::BTreeMap, fmt::Write};

use schema::{
    Condition, ConditionId, Labels,
    across::{Across, PassSize, RunComparison, SharedAnswer, SharedCell},
    findings::{AnswerOf, Estimate, Verdict},
    gate::{Basis, Breach, BreachCause, Direction, Gate, NotJudgedCause, Presence, Threshold},
    own,
};

use crate::{
    Style,
    layout::{
        number,
        page::Page,
        paint::Paint,
        table::{Cell, Column, Table},
        words::{joined, plural},
    },
    markdown::escape,
    shell,
    words::{fact, fact_says, metric, not_comparable, numbers::percent_of_all, reason, reasons},
};

/// For a terminal.
pub fn across(across: &Across, style: Style) -> String {
    let mut page = Page::new(style);
    for versus in &across.versus {
        page.blank();
        page.paragraph(0, Paint::Heading, &heading(versus));
        for differs in versus.differs.iter().filter(|_| style.details) {
            page.labelled(
                2,
                &format!("{}:", fact(differs.what)),
                Paint::Heading,
                &format!("{} → {}", fact_says(&differs.first), fact_says(&differs.second)),
            );
        }
        if versus.differs.is_empty() && style.details {
            page.paragraph(2, Paint::Plain, SAME_PLACE);
        }
        for reason in &versus.not_comparable {
            page.run_in(2, "Not comparable:", Paint::Bad, &not_comparable(reason));
        }
        page.blank();
        if style.details {
            page.table(2, &table(versus));
            page.blank();
        }
        page.paragraph(2, Paint::Plain, &counted(versus));
        if let Some(sizes) = sizes(versus) {
            page.paragraph(2, Paint::Unsure, &sizes);
        }
        page.paragraph(2, Paint::Plain, &answered(versus));
        for changed in changed(versus) {
            page.bullet(4, &changed);
        }
    }
    page.finish()
}

/// For a pull request.
pub fn across_markdown(across: &Across) -> String {
    let mut out = String::new();
    for versus in &across.versus {
        let _ = write!(out, "### {}\n\n", escape(&heading(versus)));
        if versus.differs.is_empty() {
            let _ = write!(out, "{SAME_PLACE}\n\n");
        } else {
            out.push_str("| what differs | first | second |\n|---|---|---|\n");
            for it in &versus.differs {
                let [first, second] = [&it.first, &it.second].map(|it| escape(&fact_says(it)));
                let _ = writeln!(out, "| {} | {first} | {second} |", fact(it.what));
            }
            out.push('\n');
        }
        for reason in &versus.not_comparable {
            let _ = write!(out, "> **Not comparable:** {}\n\n", escape(&not_comparable(reason)));
        }
        crate::markdown::a_table(&mut out, &table(versus));
        let _ = write!(out, "\n{}\n\n", escape(&counted(versus)));
        if let Some(sizes) = sizes(versus) {
            let _ = write!(out, "{}\n\n", escape(&sizes));
        }
        let _ = write!(out, "{}\n\n", escape(&answered(versus)));
        for changed in changed(versus) {
            let _ = writeln!(out, "* {}", escape(&changed));
        }
    }
    for gate in &across.gates {
        let _ = write!(out, "\n**{}: `--fail-if`** {}\n\n", gate_outcome(gate), escape(&gate_checked(gate)));
        for line in gate_breaches(gate).iter().chain(&gate_not_judged(gate)) {
            let _ = writeln!(out, "* {}", escape(line));
        }
    }
    number::plain(&out)
}

/// What came of a gate.
pub(crate) fn gate_outcome(gate: &Gate) -> &'static str {
    match () {
        () if gate.is_breached() => "Breached",
        () if gate.judged_nothing() => "Not judged",
        () if gate.is_incomplete() => "Not judged in part",
        () => "Kept",
    }
}

/// What a gate looked at: `"native/mmap slower 10%": 6 cells checked; furthest: …`.
pub fn gate_checked(gate: &Gate) -> String {
    let mut text = format!("{:?}: {} cell{} checked", gate.threshold, gate.checked, plural(gate.checked as usize));
    let relative = gate.checked - gate.absolute;
    let by = [(relative, "against the baseline of its own run"), (gate.absolute, "by time over several runs a side")];
    let by: Vec<String> =
        by.iter().filter(|(count, _)| *count > 0).map(|(count, by)| format!("{count} {by}")).collect();
    if !by.is_empty() {
        let _ = write!(text, " ({})", by.join(", "));
    }
    if let Some(it) = &gate.largest {
        let _ = write!(
            text,
            "; furthest {}: {} {} is {}, {}, {}",
            towards(&gate.threshold),
            it.label,
            it.arm,
            number::times_faster(it.speedup.median),
            number::speedup_glued(&it.speedup),
            basis(it.basis)
        );
    }
    if gate.unsure > 0 {
        let _ = write!(
            text,
            "; of {} the interval contains the limit, or one arm measured twice differs by as much",
            gate.unsure
        );
    }
    if gate.other_sizes > 0 {
        let _ = write!(
            text,
            "; of {} the passes of one side are far larger than those of the other, on which a ratio may hang",
            gate.other_sizes
        );
    }
    let lacking = gate.breaches.iter().filter(|it| matches!(it.cause, BreachCause::NotCompared { .. })).count();
    if lacking > 0 {
        let _ = write!(text, "; {lacking} cell{} could not be checked", plural(lacking));
    }
    for (run, reason) in &gate.partial {
        let _ = write!(text, "; the run {run} ended early: {reason}");
    }
    number::plain(&text)
}

/// The direction that a threshold forbids.
fn towards(threshold: &str) -> &'static str {
    match threshold.parse().map(|it: Threshold| it.forbids) {
        Ok(Direction::Slower) => "towards slower",
        Ok(Direction::Faster) => "towards faster",
        Err(_) => "towards the limit",
    }
}

/// Every breach in one line, with its reason.
pub fn gate_breaches(gate: &Gate) -> Vec<String> {
    gate.breaches.iter().map(|it| number::plain(&breach(it, &gate.threshold))).collect()
}

/// Every cell that was measured and not judged, with the reason.
pub fn gate_not_judged(gate: &Gate) -> Vec<String> {
    let line = |it: &schema::gate::NotJudged| {
        let why = match &it.cause {
            NotJudgedCause::TooFewRuns { first, second, least, reason: None } => format!(
                "in at least one of these runs it has no baseline to be compared with, and its time needs {least} runs on each \
                 side; there are {first} and {second}"
            ),
            NotJudgedCause::TooFewRuns { first, second, least, reason: Some(why) } => format!(
                "its time needs {least} runs on each side, there are {first} and {second}, and it is not compared with \
                 its baseline: {}",
                reason(why)
            ),
            NotJudgedCause::ThrottleExceeded { reason: why }
            | NotJudgedCause::OtherFolios { reason: why }
            | NotJudgedCause::OtherOwnWork { reason: why } => reason(why),
            NotJudgedCause::OtherSizes { reason: why } => {
                format!("the passes of these runs differ much in size, and in one of them {}", reason(why))
            }
            NotJudgedCause::TooSmall { reason: why } => {
                format!("in some of these runs, but not in all, {}", reason(why))
            }
        };
        format!("{} {} in run {} is not judged: {why}", it.label, it.arm, it.run)
    };
    gate.not_judged.iter().map(|it| number::plain(&line(it))).collect()
}

fn basis(basis: Basis) -> String {
    match basis {
        Basis::AgainstBaseline { first_runs: 1, second_runs: 1 } => "against its baseline".to_string(),
        Basis::AgainstBaseline { first_runs, second_runs } => {
            format!("against its baseline over {second_runs} runs and {first_runs}")
        }
        Basis::Absolute { first_runs, second_runs } => {
            format!("by its time over {second_runs} runs and {first_runs}")
        }
    }
}

fn breach(breach: &Breach, threshold: &str) -> String {
    let Breach { run, arm, label, cause, .. } = breach;
    let cell = format!("{label} {arm} in run {run}");
    match cause {
        BreachCause::Beyond { speedup, basis: by } => {
            format!(
                "{cell} is {}, {}, {}: beyond {threshold:?}",
                number::times_faster(speedup.median),
                number::speedup_glued(speedup),
                basis(*by)
            )
        }
        BreachCause::NotCompared { first, second } if first == second => {
            format!("{cell} cannot be checked: in a run of each side it {}", presence(first))
        }
        BreachCause::NotCompared { first: Presence::Measured, second } => {
            format!("{cell} cannot be checked: it {}", presence(second))
        }
        BreachCause::NotCompared { first, second } => {
            format!(
                "{cell} cannot be checked: in a run of the first side it {}, on this side it {}",
                presence(first),
                presence(second)
            )
        }
    }
}

fn presence(presence: &Presence) -> String {
    match presence {
        Presence::Measured => "was measured".into(),
        Presence::TooFewPasses { passes, least } => {
            format!(
                "has {passes} valid pass{}, and at least {least} are needed to decide anything",
                if *passes == 1 { "" } else { "es" }
            )
        }
        Presence::Skipped { reasons: why } => format!("was skipped: {}", reasons(why).unwrap_or_default()),
        Presence::Invalid { reasons: why } => format!("has no valid pass: {}", reasons(why).unwrap_or_default()),
        Presence::Failed { reasons: why } => format!("failed: {}", reasons(why).unwrap_or_default()),
        Presence::NoBaseline { reason: why } => format!("is not compared with a baseline: {}", reason(why)),
        Presence::Absent => "does not exist".into(),
    }
}

pub(crate) const SAME_PLACE: &str = "The records show no difference in machine, target or tool.";

pub(crate) fn heading(versus: &RunComparison) -> String {
    format!("{} against {}", shell::short(&versus.second), shell::short(&versus.first))
}

/// What an arm is called: without the runtime where it is everywhere the one that is meant where none is written.
pub(crate) fn arm<'a>(versus: &RunComparison, it: &'a SharedCell) -> &'a str {
    match versus.cells.iter().all(|it| it.arm.runtime == "native") {
        true => it.arm.short_name(),
        false => &it.arm.name,
    }
}

pub(crate) fn table(versus: &RunComparison) -> Table {
    // Condition and arm in one column: it is the one that is repeated where the page is too narrow for the others.
    let columns = vec![
        Column::left("cell"),
        Column::right("speedup of second"),
        Column::left("verdict"),
        Column::right("first"),
        Column::right("second"),
    ];
    let labels = labels(versus);
    let rows = versus.cells.iter().map(|it| {
        let paint = match it.verdict {
            Verdict::Faster => Paint::Good,
            Verdict::Slower => Paint::Bad,
            Verdict::Same => Paint::Plain,
            Verdict::Undecided | Verdict::NotComparable => Paint::Unsure,
        };
        vec![
            Cell::plain(format!("{} {}", label(&labels, it), arm(versus, it))),
            Cell::plain(it.speedup.as_ref().map_or(number::MISSING.to_string(), number::speedup_glued)),
            Cell::new(it.verdict.words(), paint),
            Cell::plain(number::duration_interval(&it.first)),
            Cell::plain(number::duration_interval(&it.second)),
        ]
    });
    Table { columns, rows: rows.collect() }
}

pub(crate) fn counted(versus: &RunComparison) -> String {
    let of = |verdict: Verdict| versus.cells.iter().filter(|it| it.verdict == verdict).count();
    let ops = schema::distinct(versus.cells.iter().map(|it| metric::op(it.condition.workload)));
    let per = if ops.is_empty() { "block".into() } else { joined(&ops, "or") };
    let no_interval = match versus.no_interval {
        0 => String::new(),
        some => format!(" In both, and with too few rounds for an interval in at least one: {some}."),
    };
    format!(
        "{} shared cell{}: {} same, {} faster, {} slower, {} undecided. Only in the first: {}, only in the second: {}.{no_interval} \
         Time per {per}, 95 % intervals; the runs were not interleaved, so drift between them counts as difference.",
        versus.cells.len(),
        plural(versus.cells.len()),
        of(Verdict::Same),
        of(Verdict::Faster),
        of(Verdict::Slower),
        of(Verdict::Undecided),
        versus.only_first,
        versus.only_second
    )
}

/// So many cells are named of which the passes were of very different sizes.
const SIZES_NAMED: usize = 4;

/// Of which cells one run's passes were far larger than the other's: what a block costs may depend on that.
pub(crate) fn sizes(versus: &RunComparison) -> Option<String> {
    let labels = labels(versus);
    let line = |it: &SharedCell| {
        // An execution of a command is of no blocks.
        let [first, second] = it.sizes.filter(|_| !it.condition.is_of_commands())?;
        let is_far = first.is_far_from(&second);
        let described = |it: &PassSize| {
            format!(
                "{} blocks in a range of {}",
                number::count(it.ops as f64),
                number::bytes_glued(it.range.bytes as f64)
            )
        };
        let (first, second) = (described(&first), described(&second));
        is_far.then(|| format!("{} {}: {first} against {second}", label(&labels, it), it.arm.short_name()))
    };
    let lines: Vec<String> = versus.cells.iter().filter_map(line).collect();
    let more = lines.len().saturating_sub(SIZES_NAMED);
    let more = if more > 0 { format!("; and {more} more cell{}", plural(more)) } else { String::new() };
    let named: Vec<&str> = lines.iter().take(SIZES_NAMED).map(String::as_str).collect();
    (!lines.is_empty()).then(|| format!("Passes of very different sizes: {}{more}.", named.join("; ")))
}

/// What the arms are to each other in both runs: the question that outlives a machine's drift.
pub(crate) fn answered(versus: &RunComparison) -> String {
    let decided = versus.answers.iter().filter(|it| it.is_decided() && it.is_of_one_size()).count();
    let of_two_sizes = versus.answers.iter().filter(|it| it.is_decided() && !it.is_of_one_size()).count();
    let apart = match of_two_sizes {
        0 => String::new(),
        count => format!(
            "Left out {}: decided at the size of the job in one run and by passes of the rounds in the other, or by passes of very \
             different sizes. ",
            number::count(count as f64)
        ),
    };
    let apart = match versus.answers_left_out {
        0 => apart,
        count => format!(
            "{apart}Left out {}: the file was found in other folios, or the program's own work between the accesses of replays took \
             another time. ",
            number::count(count as f64)
        ),
    };
    let is_one_sided = |[low, high]: [f64; 2]| low > 1.0 || high < 1.0;
    let drift = versus.drift.filter(|_| versus.drift_ends.is_some_and(is_one_sided)).map_or(String::new(), |it| {
        format!("Overall the second run was {} (median of the shared cells). ", number::times_faster(it))
    });
    let changed = changed(versus).len();
    let same = decided - changed;
    match decided {
        0 if apart.is_empty() => format!("{drift}No comparison between arms was decided in both runs."),
        0 => format!("{drift}{apart}No other comparison between arms was decided in both runs."),
        _ => format!(
            "{drift}{apart}Comparisons between arms that were decided in both runs: {decided}, of which {same} ({}) have \
             the same verdict{}",
            percent_of_all(same as f64 / decided as f64),
            if changed == 0 { "." } else { ":" }
        ),
    }
}

/// What the conditions of the shared cells are called, so that no two read the same.
pub(crate) fn labels(versus: &RunComparison) -> BTreeMap<ConditionId, String> {
    let of: BTreeMap<ConditionId, &SharedCell> = versus.cells.iter().map(|it| (it.first_id.condition, it)).collect();
    let further = |it: &SharedCell| {
        let condition = format!("condition {}", it.first_id.condition.condition_index + 1);
        it.comparison.iter().cloned().chain([condition]).collect()
    };
    let items: Vec<(&Condition, Vec<String>)> = of.values().map(|it| (&it.condition, further(it))).collect();
    let labels = Labels::new(&items);
    of.into_keys().enumerate().map(|(at, id)| (id, labels.label(at))).collect()
}

/// What a shared cell did: one of those labels, with what its arm has instead.
pub(crate) fn label(labels: &BTreeMap<ConditionId, String>, it: &SharedCell) -> String {
    let label = labels.get(&it.first_id.condition).cloned().unwrap_or_default();
    own::label(label, it.own_condition.as_ref(), &it.condition)
}

/// Verdicts that are not the same.
pub(crate) fn changed(versus: &RunComparison) -> Vec<String> {
    let described =
        |speedup: &Option<Estimate>| speedup.as_ref().map_or(number::MISSING.to_string(), number::speedup_glued);
    let differ = versus
        .answers
        .iter()
        .filter(|it| it.is_decided() && it.is_of_one_size() && it.first_verdict != it.second_verdict);
    let labels = labels(versus);
    let line = |it: &SharedAnswer| {
        let verdict = |verdict: Verdict, of: AnswerOf| {
            let is_unconfirmed = of == AnswerOf::RoundsUnconfirmed;
            format!("{}{}", verdict.words(), if is_unconfirmed { " (unconfirmed)" } else { "" })
        };
        let (first, second) = (verdict(it.first_verdict, it.first_of), verdict(it.second_verdict, it.second_of));
        let (arm, baseline) = (&it.arm, &it.baseline);
        let label = labels.get(&it.first_id.condition).cloned().unwrap_or_else(|| it.condition.label());
        format!(
            "{label}: {arm} against {baseline} was {first}, {}, and is {second}, {}",
            described(&it.first),
            described(&it.second)
        )
    };
    differ.map(line).collect()
}
