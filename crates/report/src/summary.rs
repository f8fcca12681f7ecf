//! What a reader must know beside the map: noise floor, device ceiling, crossovers, what was lost and why, warnings.

use std::collections::BTreeMap;

use schema::{
    Bytes, Findings, Record,
    findings::Verdict,
    record::{Outcome, Reading},
};

use crate::{map::Names, number, text::shortened};

/// A label and what belongs to it, one sentence each.
pub(crate) struct Entry {
    pub(crate) label: &'static str,
    pub(crate) lines: Vec<String>,
    pub(crate) warning: bool,
}

/// Reasons of one kind that are listed; the rest is counted.
const REASONS: usize = 8;

pub(crate) fn entries(record: &Record, findings: &Findings) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut add = |label, lines: Vec<String>, warning| {
        if !lines.is_empty() {
            entries.push(Entry { label, lines, warning });
        }
    };
    add("Noise floor", vec![noise_floor(findings)], false);
    add("Device ceiling", vec![ceiling(record)], false);
    add("Crossovers", crossovers(findings), false);
    add("Claims", claims(findings), false);
    add("Skipped", skipped(record, &Names::of(record, findings)), true);
    add(
        "Invalid",
        lost(record, |outcome| match outcome {
            Outcome::Invalid { reason } => Some(reason),
            Outcome::Ok { .. } | Outcome::Failed { .. } => None,
        }),
        true,
    );
    add(
        "Failed",
        lost(record, |outcome| match outcome {
            Outcome::Failed { reason } => Some(reason),
            Outcome::Ok { .. } | Outcome::Invalid { .. } => None,
        }),
        true,
    );
    add("Limits", record.limits.clone(), true);
    add("Warnings", findings.warnings.clone(), true);
    entries
}

/// Why the run ended early; absent when it did not.
pub(crate) fn interrupted(record: &Record) -> Option<String> {
    let reason = record.partial.as_deref()?;
    let passes = number::count(record.samples.len() as f64);
    Some(format!("{reason}. What follows rests on the {passes} passes made until then."))
}

/// Why nothing was decided and what to try; absent when something was.
pub(crate) fn nothing_decided(record: &Record, findings: &Findings) -> Option<String> {
    let comparisons = &findings.comparisons;
    if comparisons.iter().any(|comparison| comparison.verdict.is_decided()) {
        return None;
    }
    let of = |verdict: Verdict| comparisons.iter().filter(|comparison| comparison.verdict == verdict).count();
    let (undecided, incomparable) = (of(Verdict::Undecided), of(Verdict::NotComparable));
    let mut sentences = Vec::new();
    if undecided > 0 {
        let of_all = if undecided == comparisons.len() { "all".into() } else { format!("{undecided} of") };
        let total = comparisons.len();
        let mut reasons = Groups::default();
        for comparison in comparisons.iter().filter(|it| it.verdict == Verdict::Undecided) {
            reasons.add(comparison.reason.as_deref().unwrap_or("the interval crosses the margin"), "");
        }
        let (most_often, reason) = reasons.most_frequent();
        let often = if most_often == undecided { "" } else { ", most often" };
        sentences.push(format!(
            "{of_all} {total} comparison{} {} undecided{often}: {reason}. Try a larger --budget than {}",
            plural(total),
            if undecided == 1 { "is" } else { "are" },
            number::seconds(record.budget_s)
        ));
    }
    if incomparable > 0 {
        sentences.push(format!(
            "in {incomparable} comparison{} the arms did not do the same work; the reasons stand below",
            plural(incomparable)
        ));
    }
    if comparisons.is_empty() {
        let valid = record.samples.iter().filter(|sample| matches!(sample.outcome, Outcome::Ok { .. })).count();
        let lost = record.samples.len() - valid;
        sentences.push(match (valid, lost) {
            (0, 0) => "no pass was made. Try `faultline doctor`, which says what this machine can measure".into(),
            (0, lost) => format!(
                "none of {lost} pass{} was valid; the reasons stand below. Try `faultline doctor`",
                if lost == 1 { "" } else { "es" }
            ),
            _ => "no two arms were measured under one condition. Try a second --method, or a larger --budget".into(),
        });
    }
    Some(sentences.join("; ") + ".")
}

pub(crate) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn noise_floor(findings: &Findings) -> String {
    let floor = &findings.noise_floor;
    match floor.half_width {
        Some(half_width) => format!(
            "A/A control: ±{}, {} of {} rejected",
            number::percent(half_width),
            number::count(floor.rejected.into()),
            number::count(floor.pairs.into())
        ),
        None => "not known: no A/A control was measured often enough".into(),
    }
}

fn ceiling(record: &Record) -> String {
    match &record.ceiling {
        Reading::Value(ceiling) => {
            let random = match &ceiling.random_ops_per_s {
                Reading::Value(ops) => format!("{} random 4\u{a0}KiB reads/s", number::count(ops.round())),
                Reading::Unavailable { unavailable } => format!("random reads not measured: {unavailable}"),
            };
            format!("{}; {random} ({})", number::throughput_glued(ceiling.bytes_per_s), ceiling.how)
        }
        Reading::Unavailable { unavailable } => format!("not measured: {unavailable}"),
    }
}

/// Where the faster arm changes; how many pairs there are in which none was found.
fn crossovers(findings: &Findings) -> Vec<String> {
    let mut lines: Vec<String> =
        findings.crossovers.iter().filter(|crossover| crossover.at.is_some()).map(crossover).collect();
    let without = findings.crossovers.len() - lines.len();
    if without > 0 {
        let other = if lines.is_empty() { "" } else { "other " };
        lines.push(format!("none found in {without} {other}pair{} of arms", plural(without)));
    }
    lines
}

/// The pairs without a crossover, for the details.
pub(crate) fn without_crossover(findings: &Findings) -> Vec<String> {
    findings.crossovers.iter().filter(|crossover| crossover.at.is_none()).map(crossover).collect()
}

fn crossover(crossover: &schema::findings::Crossover) -> String {
    format!("{} {}: {}", crossover.workload, crossover.state, crossover.statement)
}

fn claims(findings: &Findings) -> Vec<String> {
    findings
        .claims
        .iter()
        .map(|claim| {
            let reason = if claim.reason.is_empty() { String::new() } else { format!(" ({})", claim.reason) };
            format!("{}: {}: {}{reason}", claim.verdict, claim.id, claim.says)
        })
        .collect()
}

fn skipped(record: &Record, names: &Names) -> Vec<String> {
    let mut groups = Groups::default();
    for cell in &record.cells {
        if let Some(reason) = &cell.skipped {
            groups.add(reason, names.short(&cell.arm.name));
        }
    }
    groups.sentences("cell", "s")
}

fn lost<'a>(record: &'a Record, reason: impl Fn(&'a Outcome) -> Option<&'a String>) -> Vec<String> {
    let mut groups = Groups::default();
    for sample in &record.samples {
        if let Some(reason) = reason(&sample.outcome) {
            let arm = record.cells.get(sample.cell).map_or("unknown arm", |cell| cell.arm.short_name());
            groups.add(reason, arm);
        }
    }
    groups.sentences("pass", "es")
}

/// Reasons that differ in their numbers only are one reason ("37 of 262144 pages stayed").
#[derive(Default)]
struct Groups<'a> {
    by_key: BTreeMap<String, Group<'a>>,
}

struct Group<'a> {
    example: &'a str,
    several: bool,
    count: usize,
    arms: Vec<&'a str>,
}

impl<'a> Groups<'a> {
    fn add(&mut self, reason: &'a str, arm: &'a str) {
        let mut key = String::new();
        for c in shortened(reason, 400).chars() {
            match c.is_ascii_digit() {
                true if key.ends_with('#') => {}
                true => key.push('#'),
                false => key.push(c),
            }
        }
        let group =
            self.by_key.entry(key).or_insert(Group { example: reason, several: false, count: 0, arms: Vec::new() });
        group.several |= group.example != reason;
        group.count += 1;
        if !group.arms.contains(&arm) {
            group.arms.push(arm);
        }
    }

    /// How often the most frequent reason was given, and one wording of it.
    fn most_frequent(&self) -> (usize, &'a str) {
        let most = self.by_key.values().max_by_key(|group| group.count);
        most.map_or((0, ""), |group| (group.count, group.example))
    }

    /// `12 passes (mmap, read), for example: …`, the most frequent first.
    fn sentences(self, one: &str, plural: &str) -> Vec<String> {
        let mut groups: Vec<Group> = self.by_key.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        let things =
            |count: usize| format!("{} {one}{}", number::count(count as f64), if count == 1 { "" } else { plural });
        let rest: usize = groups.iter().skip(REASONS).map(|group| group.count).sum();
        let more = groups.len().saturating_sub(REASONS);
        let mut sentences: Vec<String> = groups
            .iter()
            .take(REASONS)
            .map(|group| {
                let example = if group.several { ", for example: " } else { ": " };
                let reason = shortened(group.example, 300);
                format!("{} ({}){example}{reason}", things(group.count), group.arms.join(", "))
            })
            .collect();
        if more > 0 {
            sentences.push(format!("{} for {more} other reason{}", things(rest), self::plural(more)));
        }
        sentences
    }
}

/// What was measured, and where, on one line: path, size, file system, device, kernel.
pub(crate) fn title(record: &Record) -> String {
    let target = &record.target;
    let device = match &target.device {
        Reading::Value(device) => format!(" on {}", device.name),
        Reading::Unavailable { .. } => String::new(),
    };
    let kernel = &record.environment.kernel;
    let kernel =
        if kernel.starts_with(|c: char| c.is_ascii_digit()) { format!("Linux\u{a0}{kernel}") } else { kernel.clone() };
    format!(
        "{} · {} · {}{device} · {kernel}",
        shortened(&target.path, 200),
        Bytes(target.bytes).to_string().replace(' ', "\u{a0}"),
        target.file_system
    )
}

/// Which run this is: experiment, how long, id.
pub(crate) fn run(record: &Record) -> String {
    let title = record.experiment.title.trim_end_matches('.');
    let end = if title.ends_with(['?', '!']) { "" } else { "." };
    format!(
        "{title}{end} {} passes in {}, run\u{a0}{}",
        number::count(record.samples.len() as f64),
        number::seconds(record.elapsed_s).replace(' ', "\u{a0}"),
        record.id
    )
}
