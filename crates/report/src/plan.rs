//! What a run would do, for `--dry-run` and before anything is written.

use schema::Bytes;

use crate::{
    Style, number,
    page::{Page, Paint},
    summary::plural,
};

/// A run that has not begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub title: String,
    /// The file that is read, or will be made.
    pub target: String,
    pub file_bytes: u64,
    pub conditions: Vec<PlannedCondition>,
    /// 0 when the target is a file that is there already.
    pub written_bytes: u64,
    /// The folder that is written to; not looked at when nothing is written.
    pub written_to: String,
    /// What an ordinary user may still write there, where it is known.
    pub free_bytes: Option<u64>,
    pub duration: Expected,
    pub seed: u64,
}

/// How long a run takes, as far as that can be said before any trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expected {
    /// At most about its budget.
    Seconds(f64),
    /// So many rounds, which no budget ends.
    Rounds(u32),
}

/// The arms under one condition.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCondition {
    /// `scan 4 KiB cold`
    pub label: String,
    pub arms: Vec<String>,
    /// Arms that will not run, and why.
    pub skips: Vec<(String, String)>,
}

/// The plan as text.
pub fn plan(plan: &Plan, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(0, Paint::Heading, &plan.title);
    let glued = |text: String| text.replace(' ', "\u{a0}");
    page.labelled(
        0,
        "Reads: ",
        Paint::Quiet,
        &format!("{} · {}", plan.target, glued(Bytes(plan.file_bytes).to_string())),
    );
    let writes = match (plan.written_bytes, plan.free_bytes) {
        (0, _) => "nothing".to_string(),
        (bytes, free) => {
            let free =
                free.map_or(String::new(), |free| format!(", where {} are free", number::bytes_glued(free as f64)));
            format!("{} to {}{free}; removed at the end", number::bytes_glued(bytes as f64), plan.written_to)
        }
    };
    page.labelled(0, "Writes:", Paint::Quiet, &writes);
    let cells: usize = plan.conditions.iter().map(|condition| condition.arms.len()).sum();
    let conditions = plan.conditions.len();
    let duration = match plan.duration {
        Expected::Seconds(seconds) => format!("about {}", glued(number::seconds(seconds))),
        Expected::Rounds(rounds) => {
            let rounds = number::count(f64::from(rounds));
            format!("as long as {rounds} rounds take, which no --budget ends")
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
    let columns = plan.conditions.iter().map(|condition| condition.label.chars().count()).max().unwrap_or(0);
    for condition in &plan.conditions {
        let arms = if condition.arms.is_empty() { "no arm can run".to_string() } else { condition.arms.join(", ") };
        page.item(2, columns, &condition.label, Paint::Heading, &arms);
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
    page.finish()
}

/// Each reason once, in order of appearance, with its arms and the number of cells.
fn skips(conditions: &[PlannedCondition]) -> Vec<(Vec<&str>, &str, usize)> {
    let mut skips: Vec<(Vec<&str>, &str, usize)> = Vec::new();
    for (arm, reason) in conditions.iter().flat_map(|condition| &condition.skips) {
        let index = skips.iter().position(|skip| skip.1 == reason).unwrap_or_else(|| {
            skips.push((Vec::new(), reason, 0));
            skips.len() - 1
        });
        let (arms, _, count) = &mut skips[index];
        *count += 1;
        if !arms.contains(&arm.as_str()) {
            arms.push(arm);
        }
    }
    skips
}
