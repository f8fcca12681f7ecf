//! Who else stops, as the first screen says it: a line for each runtime.

use schema::{
    Arm, ConditionId, Findings, Labels, Record, fields,
    findings::{BeatFinding, BeatSays, StallArm, StallFinding},
    runtime::RuntimeSpec,
};

use crate::{
    layout::number,
    words::{self, StallNames, StallSetting},
};

use super::{beats::TITLE, without};

/// Under which condition, then each runtime; nothing of a run without beats.
pub(crate) fn lines(record: &Record, findings: &Findings, labels: &Labels) -> Vec<(String, String)> {
    let Some(first) = findings.stalls.first() else { return Vec::new() };
    let shared = first.id;
    let beside = fields::FIELDS.iter().find(|it| it.name == "beside").map(|it| it.words);
    // The sentence itself says that deadlines were kept beside the reads.
    let place = |index: usize| {
        let words = beside.zip(record.conditions.get(index)).map(|(words, it)| words(it));
        without(&labels.label(index), &words.unwrap_or_default())
    };
    let of_runtime = findings.stalls.iter().map(|it| {
        let says = words::stall(it, &names(record, findings, it));
        let under = match it.id == shared {
            true => String::new(),
            false => format!(" ({})", place(it.id.condition_index)),
        };
        (it.runtime.clone(), format!("{says}{under}"))
    });
    // Of arms whose passes were too short for a deadline nothing is said.
    let is_judged = |it: &BeatFinding| !matches!(it.says, BeatSays::TooFewDeadlines | BeatSays::TooFewPasses);
    let judged = measured(record, findings, shared).filter(|it| is_judged(it));
    let least = judged.map(|it| it.late.deadlines).min();
    let under = format!(
        "how late a thread is for a deadline every millisecond{}, while another thread reads ({}){}",
        least.map(|it| format!(", of {} or more", number::count(it as f64))).unwrap_or_default(),
        place(shared.condition_index),
        window(record, shared.condition_index)
    );
    [(TITLE.to_string(), under)].into_iter().chain(of_runtime).collect()
}

/// Of the arms that do what a condition says.
fn measured<'f>(
    record: &'f Record,
    findings: &'f Findings,
    condition: ConditionId,
) -> impl Iterator<Item = &'f BeatFinding> {
    let of = findings.beats.iter().filter(move |it| it.id.condition == condition);
    of.filter(|it| record.cells[it.id.cell].own_condition.is_none())
}

/// What one page fault may have to wait for, where the rate of the device is given.
fn window(record: &Record, index: usize) -> String {
    let condition = record.conditions.get(index);
    // Nothing is read ahead behind what a pass reaches.
    let bytes = record.target.window_bytes().min(condition.map_or(0, |it| it.range.bytes));
    let rate = condition.and_then(|it| it.storage).and_then(|it| it.read_bytes_per_s);
    match rate {
        Some(rate) if rate > 0 && bytes > 0 => format!(
            "; the disk is limited, and a page fault can wait for {} of read-ahead, {} each time it does",
            number::bytes_glued(bytes as f64),
            number::duration_glued(bytes as f64 / rate as f64 * 1e9)
        ),
        _ => String::new(),
    }
}

/// An option that several methods of the runtime have there is no difference between them, and is left out.
pub(crate) fn names(record: &Record, findings: &Findings, of: &StallFinding) -> StallNames {
    let is_of = |arm: &Arm| arm.runtime == of.runtime;
    let there = measured(record, findings, of.id).filter(|it| is_of(&record.cells[it.id.cell].arm));
    let there: Vec<&BeatFinding> = there.collect();
    let method = |name: &str| name.split('+').next().map(str::to_string);
    let are_several = there.iter().any(|it| method(&it.name) != method(&there[0].name));
    let is_shared =
        |option: &str| are_several && there.iter().all(|it| it.name.split('+').skip(1).any(|own| own == option));
    let shown = |name: &str, without: Option<&str>| {
        let parts = name.split('+').enumerate();
        let kept = parts.filter(|(at, part)| *at == 0 || !is_shared(part) && Some(*part) != without);
        kept.map(|it| it.1).collect::<Vec<&str>>().join("+")
    };
    let setting = |it: &StallArm| {
        let arm = &record.cells[it.cell].arm;
        StallSetting {
            name: shown(&it.name, None),
            chosen: shown(&it.name, arm.meanwhile()),
            beside: arm.meanwhile().map(str::to_string),
            called: called(arm),
            faults: arm.maps() && arm.word("fault") != "syscall" && arm.word("gil") != "off",
        }
    };
    StallNames {
        arms: of.arms.iter().map(setting).collect(),
        instead: of.instead.as_ref().map(setting),
        measured: there.iter().map(|it| (shown(&it.name, None), it.late)).collect(),
    }
}

/// The call that a method of a runtime makes, as far as a few words say it.
fn called(arm: &Arm) -> String {
    let spec = RuntimeSpec::named(&arm.runtime).and_then(|it| it.method(&arm.method));
    let about = spec.map_or("", |it| it.about);
    let call = first_clause(about);
    if call.is_empty() { String::new() } else { format!(" ({call})") }
}

/// A comma between the arguments of a call ends no clause.
fn first_clause(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|it: char| {
        depth += i32::from(it == '(') - i32::from(it == ')');
        depth == 0 && matches!(it, ',' | ';')
    });
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_with_all_of_its_arguments() {
        let named =
            ["pread(2), or pwrite(2)", "lines of open(path, newline=\"\"), decoded", "io_uring; a full queue", ""]
                .map(first_clause);
        assert_eq!(named, ["pread(2)", "lines of open(path, newline=\"\")", "io_uring", ""]);
    }
}
