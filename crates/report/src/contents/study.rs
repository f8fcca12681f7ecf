//! A study: *published | here as published | here corrected*, and what the equal-work check found in both forms.

use schema::{
    Experiment, Findings, Labels, Names, Record,
    experiment::{Unit, Variant},
    findings::{Comparison, Estimate, FigureFinding, Verdict},
    reason::Reason,
    record::Reading,
};

use super::claim::variant;
use crate::{
    Style,
    layout::{
        number,
        page::Page,
        paint::Paint,
        table::{Cell, Column, Table},
        text::visible,
        words::{all_of, counted, plural, without_numbers},
    },
    words::{caution, reason},
};

/// Whether a record is shown as a study: something was published, and is held against what was measured.
pub(crate) fn is_one(record: &Record) -> bool {
    let experiment = &record.experiment;
    !experiment.figures.is_empty() || experiment.comparisons.iter().any(|compare| compare.variant.is_some())
}

/// Source, question and scale, one line each, with their labels.
pub(crate) fn about(record: &Record) -> Vec<(&'static str, String)> {
    let experiment = &record.experiment;
    let mut about = Vec::new();
    about.extend(experiment.source.clone().map(|source| ("Source:", source)));
    about.extend(experiment.question.clone().map(|question| ("Question:", question)));
    about.extend(scale(record).map(|scale| ("Scale:", scale)));
    about
}

fn scale(record: &Record) -> Option<String> {
    let study = record.experiment.study.as_ref()?;
    let (bytes, full) = (record.target.bytes, study.full_file_bytes);
    let file = number::bytes_glued(bytes as f64);
    let published = number::bytes_glued(full.0 as f64);
    Some(match bytes {
        _ if bytes == full.0 => format!("a file of {file}, as published"),
        _ if bytes > full.0 || !record.target.made_here => format!("a file of {file}; published with {published}"),
        _ => {
            // Other experiments name the size themselves.
            let name = &record.experiment.name;
            let is_built_in = schema::builtin::STUDIES.iter().any(|(study, _)| study == name);
            let full =
                if is_built_in { format!("; `reproduce {name} --full` runs it at that size") } else { String::new() };
            format!("a file of {file} instead of the published {published}{full}")
        }
    })
}

/// A missing value, once for all cells it is missing in.
pub(crate) struct Footnote {
    pub(crate) mark: String,
    pub(crate) reason: String,
}

/// The table of figures and what is missing in it.
pub(crate) struct Figures {
    pub(crate) table: Table,
    pub(crate) footnotes: Vec<Footnote>,
}

/// Where the interval of a number stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intervals {
    Beside,
    /// Where the column is too narrow for both.
    Beneath,
    Nowhere,
}

/// The columns of our numbers.
const OURS: [usize; 2] = [3, 4];

pub(crate) fn figures(findings: &Findings, intervals: Intervals) -> Figures {
    let mut footnotes: Vec<Footnote> = Vec::new();
    let mut ours = |reading: &Reading<Estimate, Reason>| match reading {
        Reading::Value(estimate) => Cell::plain(match intervals {
            Intervals::Beside => number::estimate_glued(estimate),
            Intervals::Beneath => number::estimate_glued(estimate).replacen(number::GLUE, " ", 1),
            Intervals::Nowhere => {
                let whole = number::estimate_glued(estimate);
                whole.split(number::GLUE).next().unwrap_or_default().to_string()
            }
        }),
        Reading::Unavailable { unavailable } => {
            let why = reason(unavailable);
            let known = footnotes.iter().position(|it| it.reason == why);
            let index = known.unwrap_or_else(|| {
                footnotes.push(Footnote { mark: mark(footnotes.len()), reason: why });
                footnotes.len() - 1
            });
            Cell::plain(format!("{}\u{a0}{}", number::MISSING, footnotes[index].mark))
        }
    };
    let row = |figure: &FigureFinding| {
        vec![
            Cell::plain(&figure.says),
            Cell::plain(unit(figure.unit)),
            Cell::plain(number::given(figure.published)),
            ours(&figure.as_published),
            ours(&figure.corrected),
        ]
    };
    let rows = findings.figures.iter().map(row).collect();
    let columns = vec![
        Column::left("what"),
        Column::left("unit"),
        Column::right("published"),
        Column::right("here as published"),
        Column::right("here corrected"),
    ];
    Figures { table: Table { columns, rows }, footnotes }
}

/// `(a)`, `(b)`, … `(z)`, `(27)`, …
fn mark(index: usize) -> String {
    match u8::try_from(index) {
        Ok(index) if index < 26 => format!("({})", char::from(b'a' + index)),
        _ => format!("({})", index + 1),
    }
}

/// Shortened for a column.
fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "s",
        Unit::Milliseconds => "ms",
        Unit::MibPerSecond => "MiB/s",
        Unit::CpuSeconds => "CPU s",
        Unit::UserSeconds => "user s",
        Unit::SystemSeconds => "sys s",
        Unit::MinorFaults => "faults",
        Unit::TimesFaster => "times",
    }
}

/// The result of the equal-work check of one variant of the study.
pub(crate) struct Checked {
    pub(crate) variant: Variant,
    /// The overall result.
    pub(crate) summary: String,
    /// A sentence, and which arms under which conditions it is about.
    pub(crate) found: Vec<(String, String)>,
    pub(crate) flawed: bool,
}

/// Both forms, what was published first; a form without comparisons is left out.
pub(crate) fn equal_work(record: &Record, findings: &Findings) -> Vec<Checked> {
    let names = Names::of(record);
    let checked = [Variant::AsPublished, Variant::Corrected].map(|variant| {
        let in_variant = |origin: Option<usize>| {
            origin.and_then(|origin| record.experiment.comparisons.get(origin)?.variant) == Some(variant)
        };
        let of_variant = |it: &&Comparison| in_variant(it.id.condition.comparison_index);
        let comparisons: Vec<&Comparison> = findings.comparisons.iter().filter(of_variant).collect();
        let labels = Labels::of_some(record, |it| in_variant(record.condition_id(it).comparison_index));
        check(variant, &comparisons, &names, &labels)
    });
    checked.into_iter().flatten().collect()
}

fn check(variant: Variant, comparisons: &[&Comparison], names: &Names, labels: &Labels) -> Option<Checked> {
    // What could not be measured was not checked either.
    let done: Vec<&Comparison> =
        comparisons.iter().filter(|it| it.pairs > 0 || it.verdict == Verdict::NotComparable).copied().collect();
    let (all, count) = (comparisons.len(), done.len());
    if all == 0 {
        return None;
    }
    let mut found: Vec<Finding> = Vec::new();
    for comparison in &done {
        let unequal = (comparison.verdict == Verdict::NotComparable).then_some(comparison.reason.as_ref()).flatten();
        let unequal = unequal.map(|why| format!("not comparable: {}", reason(why)));
        let described = unequal.into_iter().chain(comparison.warnings.iter().map(caution));
        for sentence in described {
            let nameless = without_names(&sentence, comparison, names);
            let key = without_numbers(&nameless);
            let at = found.iter().position(|it| without_numbers(&it.nameless) == key).unwrap_or_else(|| {
                found.push(Finding { nameless: nameless.clone(), sentence, of: Vec::new(), others: Vec::new() });
                found.len() - 1
            });
            let known = &mut found[at];
            if known.nameless == nameless { &mut known.of } else { &mut known.others }.push(comparison);
        }
    }
    let incomparable = done.iter().filter(|it| it.verdict == Verdict::NotComparable).count();
    let unmeasured = all - count;
    let mut summary = match (count, incomparable) {
        (0, _) => format!("in {all} comparison{} fewer than two arms were measured", plural(all)),
        (_, 0) => format!("equal work in {}", all_of(count, "comparison", "comparisons")),
        (_, some) => format!("unequal work in {some} of {count} comparison{}", plural(count)),
    };
    if count > 0 && unmeasured > 0 {
        summary.push_str(&format!("; {unmeasured} could not be measured"));
    }
    let found: Vec<(String, String)> = found
        .into_iter()
        .map(|it| {
            let [of, others] = [&it.of, &it.others].map(|it| whose(it, names, labels));
            (it.sentence, if others.is_empty() { of } else { format!("{of}; with other numbers {others}") })
        })
        .collect();
    Some(Checked { variant, summary, flawed: incomparable > 0 || count == 0, found })
}

/// What was said of some comparisons, with the names of the first one.
struct Finding<'a> {
    sentence: String,
    nameless: String,
    of: Vec<&'a Comparison>,
    /// It was said of them with other numbers.
    others: Vec<&'a Comparison>,
}

/// `scan 32 KiB cached: mmap, mmap+willneed`; the first conditions where there are many.
fn whose(comparisons: &[&Comparison], names: &Names, labels: &Labels) -> String {
    const NAMED: usize = 2;
    let mut conditions: Vec<(String, Vec<&str>)> = Vec::new();
    for it in comparisons {
        let (label, arm) = (labels.label(it.id.condition.condition_index), names.short(&it.arm));
        match conditions.iter_mut().find(|(known, _)| *known == label) {
            Some((_, arms)) if arms.contains(&arm) => {}
            Some((_, arms)) => arms.push(arm),
            None => conditions.push((label, vec![arm])),
        }
    }
    let more = conditions.len().saturating_sub(NAMED);
    conditions.truncate(NAMED);
    let about = conditions.into_iter().map(|(label, arms)| format!("{label}: {}", arms.join(", ")));
    let more = (more > 0).then(|| format!("and {more} more condition{}", plural(more)));
    about.chain(more).collect::<Vec<String>>().join("; ")
}

/// What is said of two arms of a comparison is the same when it is said of two others.
fn without_names(sentence: &str, comparison: &Comparison, names: &Names) -> String {
    let mut arms =
        [(&comparison.arm, "%arm"), (&comparison.baseline, "%baseline")].map(|(name, mark)| (names.short(name), mark));
    // The longer one first: one name may begin the other.
    arms.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    arms.iter().fold(sentence.to_string(), |key, (name, mark)| key.replace(name, mark))
}

/// Figures, claims and the equal-work check on a terminal.
pub(crate) fn write(page: &mut Page, record: &Record, findings: &Findings) {
    write_figures(page, findings);
    crate::contents::claim::write(page, &findings.claims);
    let checked = equal_work(record, findings);
    if !checked.is_empty() {
        page.blank();
        page.paragraph(0, Paint::Heading, "What the equal-work check found");
    }
    for form in checked {
        let paint = if form.flawed { Paint::Unsure } else { Paint::Plain };
        page.run_in(2, &format!("{}:", variant(form.variant)), paint, &form.summary);
        for (sentence, about) in form.found {
            page.bullet(4, &format!("{sentence} ({about})"));
        }
    }
}

fn write_figures(page: &mut Page, findings: &Findings) {
    if findings.figures.is_empty() {
        return;
    }
    const INDENT: usize = 2;
    const LEAST: usize = 20;
    let room = |table: &Table| page.width().saturating_sub(INDENT + table.columns_after_first());
    let mut shown = figures(findings, Intervals::Beside);
    if room(&shown.table) < LEAST {
        shown = figures(findings, Intervals::Beneath);
        for column in OURS {
            shown.table.columns[column].at_most = shown.table.widest_word(column);
        }
    }
    let intervals = room(&shown.table) >= LEAST;
    if !intervals {
        shown = figures(findings, Intervals::Nowhere);
    }
    shown.table.columns[0].at_most = room(&shown.table).max(12);
    page.blank();
    page.paragraph(0, Paint::Heading, "Published figures and ours");
    page.table(INDENT, &shown.table);
    if intervals {
        let any = findings.figures.iter().any(|it| it.as_published.value().or(it.corrected.value()).is_some());
        page.paragraph(INDENT, Paint::Quiet, if any { "In brackets: 95 % intervals." } else { "" });
    }
    for footnote in &shown.footnotes {
        page.labelled(INDENT, &footnote.mark, Paint::Quiet, &footnote.reason);
    }
}

/// The list of built-in studies.
pub fn studies(studies: &[Experiment], style: Style) -> String {
    let mut page = Page::new(style);
    for study in studies {
        page.paragraph(0, Paint::Heading, &study.name);
        page.paragraph(2, Paint::Plain, &study.title);
        let mut facts: Vec<(&str, String)> = Vec::new();
        facts.extend(study.source.clone().map(|source| ("source", source)));
        facts.extend(study.question.clone().map(|question| ("question", question)));
        let claims = study.claims.len();
        facts.push((
            "tests",
            format!(
                "{}, {}",
                counted(claims, "claim", "claims"),
                counted(study.figures.len(), "published figure", "published figures")
            ),
        ));
        if let Some(its) = &study.study {
            let [file, full] =
                [its.file_bytes, its.full_file_bytes].map(|it| number::bytes_glued(study.disk_bytes(it.0) as f64));
            let needs = its.needs.as_ref().map_or_else(String::new, |needs| format!("; {needs}"));
            facts.push(("needs", format!("{file} of disk space ({full} with --full){needs}")));
        }
        for (label, fact) in facts {
            page.item(2, 8, label, Paint::Quiet, &fact);
        }
        page.blank();
    }
    page.paragraph(
        0,
        Paint::Plain,
        "Run one with `faultline reproduce NAME`, or all of them with `faultline reproduce all`.",
    );
    page.finish()
}

/// The findings of one `[[compare]]` alone.
pub(crate) fn part(findings: &Findings, origin: usize) -> Findings {
    let mut part = findings.clone();
    part.cells.retain(|it| it.id.condition.comparison_index == Some(origin));
    part.map.retain(|it| it.id.comparison_index == Some(origin));
    part.comparisons.retain(|it| it.id.condition.comparison_index == Some(origin));
    part
}

/// What a `[[compare]]` is called above its tables.
pub(crate) fn heading(record: &Record, origin: usize) -> Option<String> {
    let compare = record.experiment.comparisons.get(origin)?;
    let name = compare.name.as_deref().map(visible);
    match (name, compare.variant) {
        (Some(name), Some(form)) => Some(format!("{name}, {}", variant(form))),
        (name, form) => name.or_else(|| form.map(|it| variant(it).to_string())),
    }
}
