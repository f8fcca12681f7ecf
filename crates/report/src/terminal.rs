//! The report for a terminal or a pipe: the map first, then the summary, then the details.

use schema::{Findings, Record};

use crate::{
    Style,
    contents::{
        advice, answer, claim, commands, costs, counted, details, environment, fills, first,
        map::{self, MapSection},
        runtimes, stopped, study, summary, timeline,
    },
    layout::{page::Page, paint::Paint, words::plural},
    shell, words,
};

/// So few answers stand on the first screen with their intervals and reasons.
const FEW: usize = 3;

/// The report as text. `saved` is where the record lies, if it was saved.
pub fn terminal(record: &Record, findings: &Findings, style: Style, saved: Option<&str>) -> String {
    let mut page = Page::new(style);
    let has_advice = record.advised.is_some();
    let answer = first::screen(record, findings).filter(|_| !has_advice);
    // Of a run that has an answer as a whole, that is the first screen.
    let all = style.details || (answer.is_none() && !has_advice);
    if study::is_one(record) {
        page.paragraph(0, Paint::Heading, &record.experiment.title);
        for (label, text) in study::about(record) {
            page.item(0, 9, label, Paint::Quiet, &text);
        }
        page.item(0, 9, "Here:", Paint::Quiet, &summary::title(record));
        page.item(0, 9, "Run:", Paint::Quiet, &summary::passes(record));
        notices(&mut page, record, findings);
        study::write(&mut page, record, findings);
    } else if has_advice {
        page.paragraph(0, Paint::Heading, &summary::title(record));
        page.paragraph(0, Paint::Quiet, &summary::run(record));
        if let Some(text) = summary::interrupted(record) {
            page.blank();
            page.labelled(0, "Interrupted:", Paint::Unsure, &text);
        }
        advice::write(&mut page, record, findings);
        if all {
            map::write(&mut page, &map::sections(record, findings));
        }
    } else {
        page.paragraph(0, Paint::Heading, &summary::title(record));
        page.paragraph(0, Paint::Quiet, &summary::run(record));
        if let Some(answer) = &answer {
            answer::write_commands(&mut page, answer);
        }
        notices(&mut page, record, findings);
        if let Some(answer) = &answer {
            answer::write(&mut page, answer);
        }
        // Of commands, the answer has the interval and the reason of each.
        if all || (findings.map.len() <= FEW && !commands::are_those_of(record)) {
            let sections: Vec<MapSection> = map::sections(record, findings);
            map::write(&mut page, &sections);
        }
        claim::write(&mut page, &findings.claims);
    }
    // Where the answer says who stops, these are its numbers.
    let has_stalls = answer.is_some_and(|it| !it.stalls.is_empty());
    for part in stopped::parts(record, findings).into_iter().filter(|_| all || !has_stalls) {
        page.blank();
        page.paragraph(0, Paint::Heading, part.title);
        page.paragraph(0, Paint::Quiet, part.about);
        for of in part.of {
            page.blank();
            if !of.condition.is_empty() {
                page.paragraph(0, Paint::Plain, &of.condition);
            }
            page.table(0, &of.table);
            page.blank();
            for line in of.says {
                page.bullet(0, &line);
            }
        }
    }
    if all {
        summarise(&mut page, record, findings);
    } else {
        page.blank();
        let decisive = findings.warnings.iter().filter(|it| answer::is_decisive(it)).map(words::warning);
        for limit in record.limits.iter().cloned().chain(decisive) {
            page.labelled(0, "Limit:", Paint::Unsure, &limit);
        }
        page.labelled(0, "More:", Paint::Quiet, &answer::left_out(record, findings, saved.is_some()));
    }
    if style.details {
        detail(&mut page, record, findings);
    }
    // What is not saved cannot be shown again.
    if let Some(saved) = saved {
        if all {
            page.blank();
            page.labelled(0, "Again:", Paint::Quiet, &shell::command("report", shell::short(&record.id)));
        }
        page.labelled(0, "Saved:", Paint::Quiet, saved);
    }
    page.finish()
}

/// The answers of a run that goes on, as far as it has come: the matrix, and what its signs mean. Absent where a run has no
/// matrix, or nothing for it yet.
pub fn so_far(record: &Record, findings: &Findings, style: Style) -> Option<[String; 2]> {
    let mut answer = first::screen(record, findings)?;
    answer.keep_measured(record);
    let matrix = answer.matrix().filter(|_| answer.starts.iter().any(|it| it.fields.iter().any(Option::is_some)))?;
    let (mut table, mut legend) = (Page::new(style), Page::new(style));
    table.table(0, &matrix);
    legend.paragraph(0, Paint::Quiet, &answer.legend());
    Some([table, legend].map(Page::finish))
}

/// Whether a run has come far enough for a matrix of answers: a single condition has none. Studies answer by their claims.
pub fn has_matrix(record: &Record) -> bool {
    let mut measured = record.samples.iter().map(|it| record.cells[it.cell].condition);
    let first = measured.next();
    !study::is_one(record) && measured.any(|it| Some(it) != first)
}

fn notices(page: &mut Page, record: &Record, findings: &Findings) {
    let interrupted = summary::interrupted(record).map(|text| ("Interrupted", text));
    let undecided = summary::undecided(record, findings);
    for (i, (label, text)) in interrupted.into_iter().chain(undecided).enumerate() {
        if i == 0 {
            page.blank();
        }
        page.labelled(0, &format!("{label}:"), Paint::Unsure, &text);
    }
}

fn summarise(page: &mut Page, record: &Record, findings: &Findings) {
    page.blank();
    let entries = summary::entries(record, findings);
    let columns = entries.iter().map(|entry| entry.label.len()).max().unwrap_or(0);
    for entry in entries {
        let paint = if entry.warning { Paint::Unsure } else { Paint::Heading };
        for (i, line) in entry.lines.iter().enumerate() {
            page.item(0, columns, if i == 0 { entry.label } else { "" }, paint, line);
        }
    }
}

fn detail(page: &mut Page, record: &Record, findings: &Findings) {
    let (sections, missing) = details::of_run(record, findings);
    if !sections.is_empty() {
        page.blank();
        page.paragraph(0, Paint::Heading, "Details");
        page.paragraph(0, Paint::Quiet, &details::legend(record));
    }
    for section in sections {
        page.blank();
        page.paragraph(0, Paint::Heading, &section.title);
        page.paragraph(0, Paint::Quiet, &section.about);
        if let Some(says) = &section.says {
            page.paragraph(0, Paint::Plain, says);
        }
        page.blank();
        page.table(0, &section.table);
        if let Some(alike) = &section.alike {
            page.paragraph(0, Paint::Quiet, alike);
        }
        if !section.notes.is_empty() {
            page.blank();
        }
        for note in &section.notes {
            page.labelled(0, &format!("{}:", note.about), Paint::Plain, &note.text);
        }
    }
    if let Some(table) = timeline::table(record) {
        page.section(timeline::TITLE, timeline::ABOUT, &table);
    }
    if let Some(table) = fills::table(record, findings) {
        page.section(fills::TITLE, fills::ABOUT, &table);
        for says in fills::advice(record, findings) {
            page.blank();
            page.paragraph(0, Paint::Plain, &says);
        }
    }
    if let Some(tables) = runtimes::tables(findings) {
        page.section(runtimes::TITLE, runtimes::ABOUT, &tables.arms);
        for (says, forks) in &tables.splits {
            page.blank();
            page.paragraph(0, Paint::Unsure, says);
            page.table(2, forks);
        }
    }
    if let Some(table) = counted::table(record, findings) {
        page.section(counted::TITLE, counted::ABOUT, &table);
    }
    if !missing.is_empty() {
        page.blank();
        page.paragraph(0, Paint::Unsure, "Readings that are missing (–):");
        for it in missing {
            let text = format!("{} ({} cell{})", it.reason, it.cells, plural(it.cells));
            page.labelled(2, &format!("{}:", it.reading), Paint::Plain, &text);
        }
    }
    let without = summary::without_crossover(record, findings);
    if !without.is_empty() {
        page.blank();
        page.paragraph(0, Paint::Heading, "No crossover");
        for line in without {
            page.bullet(2, &line);
        }
    }
    if let Some(table) = costs::held_out(record, findings) {
        page.section(costs::HELD_OUT, costs::ABOUT_HELD_OUT, &table);
    }
    if let Ok(facts) = costs::facts(record, findings) {
        page.blank();
        page.paragraph(0, Paint::Heading, costs::UNIT_COSTS);
        let columns = facts.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        for (label, value) in facts {
            page.item(2, columns, &label, Paint::Quiet, &value);
        }
    }
    page.blank();
    page.paragraph(0, Paint::Heading, "Environment");
    let facts = environment::facts(record);
    let columns = facts.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    for (label, value) in facts {
        page.item(2, columns, label, Paint::Quiet, &value);
    }
}
