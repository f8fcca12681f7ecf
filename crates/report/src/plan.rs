//! What a run would do, for `--dry-run` and before anything is written.

use schema::{
    Bytes, Condition, Labels,
    plan::{PlannedCell, PlannedCondition, PlannedRun},
};

use crate::{
    Style,
    contents::claim,
    json::written,
    layout::{number, page::Page, paint::Paint, words::plural},
};

/// One JSON document, as docs/FORMATS.md describes it, and a line feed.
pub fn plan_json(plan: &PlannedRun) -> String {
    let text = serde_json::to_string_pretty(plan).expect("maps have string keys and nothing else can fail");
    written(text)
}

/// The plan as text.
pub fn plan(plan: &PlannedRun, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(0, Paint::Heading, &plan.title);
    let glued = |text: String| text.replace(' ', "\u{a0}");
    page.labelled(
        0,
        "Reads: ",
        Paint::Quiet,
        &format!(
            "{} · {}",
            match plan.made_here {
                true => format!("a test file in {}, removed at the end", plan.target),
                false => plan.target.clone(),
            },
            glued(Bytes(plan.file_bytes).to_string())
        ),
    );
    page.labelled(0, "Writes:", Paint::Quiet, &writes(plan));
    let cells: usize = plan.conditions.iter().map(|condition| measured(condition).count()).sum();
    let conditions = plan.conditions.iter().filter(|condition| measured(condition).next().is_some()).count();
    let duration = match (plan.expected_s, plan.rounds) {
        _ if cells == 0 => "no time".to_string(),
        (Some(seconds), _) => format!("about {}", glued(number::seconds(seconds))),
        (None, rounds) => {
            let rounds = number::count(f64::from(rounds.unwrap_or(0)));
            format!("as long as {rounds} rounds take; no --budget limits them")
        }
    };
    page.labelled(
        0,
        "Takes: ",
        Paint::Quiet,
        &format!(
            "{duration}, for {} cell{} under {} condition{} (seed {})",
            number::count(cells as f64),
            plural(cells),
            number::count(conditions as f64),
            plural(conditions),
            plan.seed
        ),
    );
    page.blank();
    let labels = labels(&plan.conditions);
    let columns = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    for (condition, label) in plan.conditions.iter().zip(&labels) {
        let arms: Vec<&str> = measured(condition).map(|cell| cell.arm.short_name()).collect();
        let arms = if arms.is_empty() { "no arm can run".to_string() } else { arms.join(", ") };
        page.item(2, columns, label, Paint::Heading, &arms);
    }
    let skips = skips(&plan.conditions);
    if !skips.is_empty() {
        page.blank();
        page.paragraph(0, Paint::Unsure, "Skipped:");
        for (arms, reason, count) in skips {
            let text = format!("{reason} ({count} cell{})", plural(count));
            page.labelled(2, &format!("{}:", arms.join(", ")), Paint::Plain, &text);
        }
    }
    if !plan.limits.is_empty() {
        page.blank();
        plan.limits.iter().for_each(|limit| page.paragraph(0, Paint::Unsure, limit));
    }
    page.finish()
}

fn writes(plan: &PlannedRun) -> String {
    const COPIES: &str = "copies of the file without a name, one at a time, which are gone at the end";
    let [bytes, copied] = [plan.written_bytes, plan.copied_bytes].map(|it| number::bytes_glued(it as f64));
    let free = plan.free_bytes.map(|free| format!(", where {} are free", number::bytes_glued(free as f64)));
    let (target, free) = (&plan.target, free.unwrap_or_default());
    // The device has every one of these bytes, and the file system room for one file.
    let rounds = plan.rounds.map_or("each round".into(), |it| format!("each of {it} round{}", plural(it as usize)));
    let rewritten = match plan.round_bytes {
        0 => String::new(),
        bytes => format!(
            ". Passes that write, and their file, which is made anew before each of them, write up to {} in {rounds}; \
             trials, passes at the size of the job and counted passes come on top, and passes that do not count are made again",
            number::bytes_glued(bytes as f64)
        ),
    };
    let scratch = number::bytes_glued(plan.scratch_bytes as f64);
    let scratch = |free: &str| {
        format!(
            "{scratch} in files of scenarios beside {target}{free}, which have no name; some are made twice, or written again"
        )
    };
    let once = match (plan.made_here, plan.copied_bytes) {
        _ if plan.written_bytes == 0 && plan.scratch_bytes > 0 => return scratch(&free) + &rewritten,
        _ if plan.written_bytes == 0 => "nothing".to_string(),
        (true, 0) => format!("{bytes} to {target}{free}; removed at the end"),
        // A slow device leaves time for less of a copy, an answer at the size of the job may need more of it, and one whose folios
        // did not stay is made again.
        (true, _) => {
            format!("about {bytes} to {target}{free}; removed at the end. Of it, about {copied} are in {COPIES}")
        }
        (false, _) => format!("about {bytes} beside {target}{free}, in {COPIES}"),
    };
    let also = if plan.scratch_bytes > 0 { format!("; {}", scratch("")) } else { String::new() };
    once + &also + &rewritten
}

/// `scan 4 KiB cold, as published`; no two of a plan read the same.
fn labels(planned: &[PlannedCondition]) -> Vec<String> {
    let items: Vec<(&Condition, Vec<String>)> =
        planned.iter().map(|it| (&it.condition, it.comparison.clone())).collect();
    let labels = Labels::new(&items);
    let label = |(at, it): (usize, &PlannedCondition)| match it.variant.map(claim::variant) {
        Some(variant) if !labels.label(at).contains(variant) => format!("{}, {variant}", labels.label(at)),
        _ => labels.label(at),
    };
    planned.iter().enumerate().map(label).collect()
}

fn measured(condition: &PlannedCondition) -> impl Iterator<Item = &PlannedCell> {
    condition.cells.iter().filter(|cell| cell.skipped.is_none())
}

/// Each reason once, in order of appearance, with its arms and the number of cells.
fn skips(conditions: &[PlannedCondition]) -> Vec<(Vec<&str>, String, usize)> {
    let mut skips: Vec<(Vec<&str>, String, usize)> = Vec::new();
    for cell in conditions.iter().flat_map(|condition| &condition.cells) {
        let Some(reason) = cell.skipped.as_ref().map(ToString::to_string) else { continue };
        let arm = cell.arm.short_name();
        match skips.iter_mut().find(|(_, known, _)| *known == reason) {
            None => skips.push((vec![arm], reason, 1)),
            Some((arms, _, count)) => {
                *count += 1;
                if !arms.contains(&arm) {
                    arms.push(arm);
                }
            }
        }
    }
    skips
}
