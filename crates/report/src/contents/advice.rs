//! The first screen of `faultline advise`: the file that matters, and for each state what to change, why, and what it gains.

use schema::{
    Consume, Findings, Record,
    advice::{Advice, AdviceOption, AdviceReason, AdviceVerdict, How},
    advised::Reach,
    arm::short,
    distinct,
};

use super::answer;
use crate::{
    layout::{
        number::{self, GLUE},
        page::Page,
        paint::Paint,
        text::{visible, whole},
    },
    words::{advice as words, list},
};

/// Files that are named beside the one that matters.
const OTHERS: usize = 3;

/// A heading with what it says, and lines beneath it.
pub(crate) struct Block {
    pub(crate) label: String,
    pub(crate) text: String,
    pub(crate) lines: Vec<Line>,
}

pub(crate) struct Line {
    pub(crate) label: &'static str,
    /// Before the command.
    pub(crate) before: &'static str,
    /// To be executed as it stands, so that nothing of it is left out.
    pub(crate) command: Option<String>,
    pub(crate) text: String,
    pub(crate) paint: Paint,
}

/// Beside the one that is advised; JSON has all.
const ALSO: usize = 2;

pub(crate) const TITLE: &str = "What to change";

/// Absent where no advice was asked for.
pub(crate) fn of_run(record: &Record, findings: &Findings) -> Option<Vec<Block>> {
    let advised = record.advised.as_deref()?;
    let mut blocks = vec![file(record)?];
    blocks.extend(findings.advice.iter().map(|it| of_state(it, findings)));
    let others = advised.others.iter().take(OTHERS).map(|it| words::other(it, advised.all_bytes));
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        let more = ((advised.others.len() - others.len()) as u64).saturating_add(advised.others_left_out);
        let more = if more > 0 { format!(", and {} more", number::count(more as f64)) } else { String::new() };
        let text = format!("{}{more}", list(&others));
        blocks.push(Block { label: "not replayed".into(), text, lines: Vec::new() });
    }
    let mut caveats: Vec<String> = Vec::new();
    for it in findings.advice.iter().flat_map(|it| &it.caveats).map(crate::words::advice_caveat) {
        if !caveats.contains(&it) {
            caveats.push(it);
        }
    }
    if !caveats.is_empty() {
        blocks.push(Block { label: "to know".into(), text: caveats.join("; "), lines: Vec::new() });
    }
    Some(blocks)
}

fn file(record: &Record) -> Option<Block> {
    let advised = record.advised.as_deref()?;
    let target = &record.target;
    // Its own: where that is not known, a record has the largest of the machine as a bound.
    let own = target.device.value().and_then(|it| it.read_ahead_bytes.value()).filter(|it| **it > 0);
    let read_ahead = own.map_or_else(String::new, |it| format!(", read-ahead {}", number::bytes_glued(*it as f64)));
    let place = format!("on {}{read_ahead}", target.file_system);
    let is_partial = record.observations.first().and_then(|it| it.seen.value()).is_some_and(|it| it.is_partial());
    // A log of calls has no touches.
    let is_log_of_mapped = matches!(advised.reach, Reach::Calls) && advised.pattern.mappings > 0;
    // They count so, and their touches were not recorded.
    let touched_whole = advised.group.as_ref().map_or(0, |it| it.touched_whole);
    let seen = match advised.coverage {
        _ if is_partial || !advised.not_seen.is_empty() || matches!(advised.reach, Reach::UnseenMapping { .. }) => {
            "not all accesses".to_string()
        }
        whole if whole >= 1.0 && (is_log_of_mapped || touched_whole > 0) => "not all accesses".to_string(),
        whole if whole >= 1.0 => "all accesses".to_string(),
        part => format!("{} of the accesses", number::part(part)),
    };
    Some(Block {
        label: if advised.group.is_some() { "files" } else { "file" }.into(),
        text: format!(
            "{}: {}; {place}; {seen} recorded by {}",
            words::file(advised),
            words::pattern(advised),
            advised.recorder
        ),
        lines: Vec::new(),
    })
}

fn of_state(of: &Advice, findings: &Findings) -> Block {
    let mut lines = Vec::new();
    let plain =
        |label: &'static str, text: String, paint: Paint| Line { label, before: "", command: None, text, paint };
    let how = |of: &How| match of {
        How::Switch { line } => {
            let command = Some(line.clone());
            Line { before: words::RUN_AS, command, ..plain("", String::new(), Paint::Plain) }
        }
        other => plain("", crate::words::how(other), Paint::Plain),
    };
    let check = findings.advice_self_check.iter().find(|it| it.id == of.id);
    let because = of.because.iter().map(crate::words::advice_reason);
    // A reason that is that of the check says it already.
    let is_said =
        |it: &AdviceReason| matches!(it, AdviceReason::NotChecked { .. } | AdviceReason::LongerThanProgram { .. });
    let check = check.filter(|_| !of.because.iter().any(is_said));
    let because = because.chain(check.map(words::self_check)).collect::<Vec<String>>().join("; ");
    lines.push(plain(of.code.word(), because, Paint::Quiet));
    let verdict = words::verdict(of.verdict);
    match (of.verdict, &of.to, &of.io, &of.program) {
        (AdviceVerdict::Switch, Some(to), Some(io), Some(program)) => {
            let effort = of.effort.map(|it| format!(", effort{GLUE}{it:?}")).unwrap_or_default();
            let grade = of.grade.map(|it| format!(", grade{GLUE}{}", words::grade(it))).unwrap_or_default();
            lines.push(plain(
                verdict,
                format!(
                    "{}: {}{effort}{grade}{}",
                    short(to),
                    words::gain(of, of.grade, of.io_ns, io, program, of.program_at_most.as_ref()),
                    looks(of, of.consume)
                ),
                Paint::Good,
            ));
            lines.extend(of.how.as_ref().map(how));
        }
        (AdviceVerdict::Switch, ..) => {
            lines.push(plain(verdict, "as the program's own switch does, effort E0, grade A".into(), Paint::Good));
            lines.extend(of.how.as_ref().map(how));
        }
        (AdviceVerdict::NoDifference, ..) => {
            lines.push(plain(verdict, "no meaningful difference".into(), Paint::Heading));
        }
        _ => {
            let settles = of.settles.map_or_else(|| "nothing was decided".into(), crate::words::settles);
            lines.push(plain(verdict, settles, Paint::Unsure));
        }
    }
    for it in &of.switched {
        let says = plain("--switch", format!(": {}", words::switched(it, of.at_least)), Paint::Heading);
        lines.push(Line { command: Some(it.line.clone()), ..says });
    }
    for it in of.also.iter().take(ALSO) {
        lines.push(plain("or", option(of, it), Paint::Good));
        lines.push(how(&it.how));
    }
    for it in &of.in_advance {
        lines.push(plain("only if", format!("the offsets are known in advance: {}", option(of, it)), Paint::Quiet));
    }
    Block { label: of.state.to_string(), text: words::start(of, findings.found), lines }
}

fn option(of: &Advice, it: &AdviceOption) -> String {
    let gain = words::gain(of, Some(it.grade), it.io_ns, &it.io, &it.program, it.program_at_most.as_ref());
    let (grade, looks) = (words::grade(it.grade), looks(of, Some(it.consume)));
    format!("{}: {gain}, effort{GLUE}{:?}, grade{GLUE}{grade}{looks}", short(&it.to), it.effort)
}

/// How much the replays of an arm look at, where those of others look at more or less: times of the two are not comparable.
fn looks(of: &Advice, consume: Option<Consume>) -> String {
    let options = of.also.iter().chain(&of.in_advance).map(|it| it.consume);
    let all = distinct(of.consume.into_iter().chain(options));
    consume.filter(|_| all.len() > 1).map_or_else(String::new, |it| format!(", {}", words::looks_at(it)))
}

/// What effort and grade mean, where something is to be changed.
pub(crate) fn legend(findings: &Findings) -> Option<&'static str> {
    let changes = |it: &Advice| it.verdict == AdviceVerdict::Switch || !it.in_advance.is_empty();
    findings.advice.iter().any(changes).then_some(words::LEGEND)
}

/// On a terminal.
pub(crate) fn write(page: &mut Page, record: &Record, findings: &Findings) {
    const COLUMNS: usize = 10;
    for block in of_run(record, findings).into_iter().flatten() {
        page.blank();
        page.item(0, COLUMNS + 2, &block.label, Paint::Heading, &block.text);
        for line in &block.lines {
            let command = line.command.as_deref().map(whole).unwrap_or_default();
            let text = format!("{}{command}{}", line.before, visible(&line.text));
            page.visible_item(2, COLUMNS, line.label, line.paint, &text);
        }
    }
    page.blank();
    if let Some(legend) = legend(findings) {
        page.paragraph(0, Paint::Quiet, legend);
    }
    page.labelled(0, "Trust:", Paint::Heading, &answer::trust(findings));
}
