//! Who else stops, as the first screen says it: a line for each runtime.

use schema::{
    Arm, Findings, Labels, Record, fields,
    findings::{BeatLateness, StallArm, StallFinding},
    runtime::RuntimeSpec,
};

use crate::{
    layout::number,
    words::{self, StallNames, StallSetting},
};

use super::beats::TITLE;

/// Under which condition, then each runtime; nothing of a run without beats.
pub(crate) fn lines(record: &Record, findings: &Findings, labels: &Labels) -> Vec<(String, String)> {
    let Some(first) = findings.stalls.first() else { return Vec::new() };
    let shared = first.id;
    let place = |index: usize| without_beat(record, index, &labels.label(index));
    let of_runtime = findings.stalls.iter().map(|it| {
        let says = words::stall(it, &names(record, findings, it));
        let under = match it.id == shared {
            true => String::new(),
            false => format!(" ({})", place(it.id.condition_index)),
        };
        (it.runtime.clone(), format!("{says}{under}"))
    });
    let deadlines = findings.beats.iter().filter(|it| it.id.condition == shared).map(|it| it.late.deadlines).min();
    let under = format!(
        "how late a thread is for a deadline every millisecond, of {} or more, while another thread reads ({}){}",
        number::count(deadlines.unwrap_or(0) as f64),
        place(shared.condition_index),
        window(record, shared.condition_index)
    );
    [(TITLE.to_string(), under)].into_iter().chain(of_runtime).collect()
}

/// The sentence itself says that deadlines were kept beside the reads.
fn without_beat(record: &Record, index: usize, label: &str) -> String {
    let beside = fields::FIELDS.iter().find(|it| it.name == "beside");
    let words = beside.zip(record.conditions.get(index)).map(|(field, it)| (field.words)(it)).unwrap_or_default();
    label.split(", ").filter(|it| *it != words).collect::<Vec<&str>>().join(", ")
}

/// What one page fault may have to wait for, where the rate of the device is given.
fn window(record: &Record, index: usize) -> String {
    let bytes = record.target.window_bytes();
    let rate = record.conditions.get(index).and_then(|it| it.storage).and_then(|it| it.read_bytes_per_s);
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
    let there = findings.beats.iter().filter(|it| it.id.condition == of.id && is_of(&record.cells[it.id.cell].arm));
    let all: Vec<(&str, Vec<&str>, BeatLateness)> =
        there.filter_map(|it| options(&it.name).map(|(method, set)| (method, set, it.late))).collect();
    let are_several = all.iter().any(|it| it.0 != all[0].0);
    let is_shared = |option: &str| are_several && all.iter().all(|it| it.1.contains(&option));
    let setting = |it: &StallArm| {
        let arm = &record.cells[it.cell].arm;
        let beside = Some(arm.word("meanwhile")).filter(|it| !["", "alone"].contains(it));
        let kept = it.name.split('+').enumerate().filter(|(at, part)| *at == 0 || !is_shared(part));
        let own = kept.clone().filter(|(_, part)| Some(*part) != beside).map(|it| it.1);
        StallSetting {
            name: kept.map(|it| it.1).collect::<Vec<&str>>().join("+"),
            chosen: own.collect::<Vec<&str>>().join("+"),
            beside: beside.map(str::to_string),
            called: called(arm),
            maps: arm.maps(),
        }
    };
    let arms: Vec<StallSetting> = of.arms.iter().map(setting).collect();
    let measured = all.iter().map(|(method, options, late)| {
        let own = [*method].into_iter().chain(options.iter().copied().filter(|it| !is_shared(it)));
        (own.collect::<Vec<&str>>().join("+"), *late)
    });
    let measured = measured.collect();
    StallNames { arms, instead: of.instead.as_ref().map(setting), measured }
}

/// The call that a method of a runtime makes, as far as a few words say it.
fn called(arm: &Arm) -> String {
    let spec = RuntimeSpec::named(&arm.runtime).and_then(|it| it.method(&arm.method));
    let about = spec.map_or("", |it| it.about);
    let call = about.split([',', ';']).next().unwrap_or_default();
    if call.is_empty() { String::new() } else { format!(" ({call})") }
}

/// The method, and what is set of it.
fn options(name: &str) -> Option<(&str, Vec<&str>)> {
    let mut parts = name.split('+');
    Some((parts.next()?, parts.collect()))
}
