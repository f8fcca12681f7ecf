//! The report for a pull request: the map and its caveats in the open, every arm and the machine folded away.
//! GitHub's Markdown. Text from the record is escaped so that it stays text, in tables and outside of them.

use std::fmt::Write;

use schema::{Findings, Record, findings::ClaimFinding};

use crate::{
    contents::{
        advice::{self, Block},
        answer::Answer,
        claim, costs, counted, details, environment, fills, first, map, runtimes, stopped,
        study::{self, Intervals},
        summary,
    },
    layout::{
        number::{self, GLUE},
        paint::Paint,
        table::Table,
        text::{visible, whole},
        words::plural,
    },
    shell,
};

/// The report as GitHub-flavoured Markdown.
pub fn markdown(record: &Record, findings: &Findings) -> String {
    let mut out = String::new();
    push(&mut out, format_args!("### faultline: {}\n\n", escape(&record.experiment.title)));
    let is_study = study::is_one(record);
    if is_study {
        for (label, text) in study::about(record) {
            push(&mut out, format_args!("* **{label}** {}\n", escape(&text)));
        }
        push(&mut out, format_args!("* **Here:** {}\n", escape(&summary::title(record))));
        push(&mut out, format_args!("* **Run:** {}\n\n", escape(&summary::passes(record))));
    } else {
        push(&mut out, format_args!("{}  \n", escape(&summary::title(record))));
        push(&mut out, format_args!("{}\n\n", escape(&summary::passes(record))));
    }
    let advice = advice::of_run(record, findings);
    let answer = first::screen(record, findings).filter(|_| !is_study && advice.is_none());
    for (called, line) in answer.iter().flat_map(|it| &it.commands) {
        push(&mut out, format_args!("* **{}:** {}\n", escape(called), code_span(line)));
    }
    if answer.as_ref().is_some_and(|it| !it.commands.is_empty()) {
        out.push('\n');
    }
    let interrupted = summary::interrupted(record).map(|text| ("Interrupted", text));
    let undecided = summary::undecided(record, findings).filter(|_| advice.is_none());
    for (label, text) in interrupted.into_iter().chain(undecided) {
        push(&mut out, format_args!("> **{label}:** {}\n\n", escape(&text)));
    }
    if is_study {
        the_figures(&mut out, findings);
    } else {
        if let Some(answer) = &answer {
            the_answer(&mut out, answer);
        }
        the_advice(&mut out, advice.as_deref().unwrap_or_default(), advice::legend(findings));
        the_map(&mut out, record, findings);
    }
    the_claims(&mut out, &findings.claims);
    if is_study {
        the_check(&mut out, record, findings);
    }
    for part in stopped::parts(record, findings) {
        push(&mut out, format_args!("**{}** ({})\n\n", part.title, escape(part.about)));
        for of in part.of {
            if !of.condition.is_empty() {
                push(&mut out, format_args!("{}:\n\n", escape(&of.condition)));
            }
            a_table(&mut out, &of.table);
            out.push('\n');
            for line in of.says {
                push(&mut out, format_args!("* {}\n", escape(&line)));
            }
            out.push('\n');
        }
    }
    for entry in summary::entries(record, findings) {
        match &entry.lines[..] {
            [only] => push(&mut out, format_args!("* **{}:** {}\n", entry.label, escape(only))),
            lines => {
                push(&mut out, format_args!("* **{}:**\n", entry.label));
                for line in lines {
                    push(&mut out, format_args!("  * {}\n", escape(line)));
                }
            }
        }
    }
    every_arm(&mut out, record, findings);
    out.push_str("\n<details><summary>Environment</summary>\n\n| | |\n|---|---|\n");
    for (label, value) in environment::facts(record) {
        push(&mut out, format_args!("| {label} | {} |\n", escape(&value)));
    }
    push(&mut out, format_args!("\n</details>\n\nMeasured by faultline {}; ", escape(&record.tool_version)));
    push(
        &mut out,
        format_args!("see it again with `{}`.\n", shell::command("report", &code(shell::short(&record.id)))),
    );
    number::plain(&out)
}

fn the_figures(out: &mut String, findings: &Findings) {
    if findings.figures.is_empty() {
        return;
    }
    let figures = study::figures(findings, Intervals::Beside);
    a_table(out, &figures.table);
    out.push('\n');
    for footnote in &figures.footnotes {
        push(out, format_args!("{} {}  \n", footnote.mark, escape(&footnote.reason)));
    }
    if !figures.footnotes.is_empty() {
        out.push('\n');
    }
}

fn the_answer(out: &mut String, answer: &Answer) {
    for (label, says) in answer.lines() {
        match label.is_empty() {
            true => push(out, format_args!("  * {}\n", escape(says))),
            false => push(out, format_args!("* **{}:** {}\n", escape(&label), escape(says))),
        }
    }
    out.push('\n');
    if let Some(matrix) = answer.matrix() {
        a_table(out, &matrix);
        push(out, format_args!("\n{}\n\n", escape(&answer.legend())));
    }
    if !answer.why.is_empty() {
        out.push_str("**Why**\n\n");
    }
    for why in &answer.why {
        push(out, format_args!("* {}\n", escape(why)));
    }
    if !answer.why.is_empty() {
        out.push('\n');
    }
    push(out, format_args!("**Trust:** {}\n\n", escape(&answer.trust)));
}

fn the_advice(out: &mut String, blocks: &[Block], legend: Option<&str>) {
    for block in blocks {
        push(out, format_args!("* **{}** {}\n", escape(&block.label), escape(&block.text)));
        for line in &block.lines {
            let label = if line.label.is_empty() { String::new() } else { format!("**{}** ", escape(line.label)) };
            let command = line.command.as_deref().map(code_span).unwrap_or_default();
            push(out, format_args!("  * {label}{}{command}{}\n", line.before, escape(&line.text)));
        }
    }
    if !blocks.is_empty() {
        out.push('\n');
    }
    if let Some(legend) = legend {
        push(out, format_args!("{}\n\n", escape(legend)));
    }
}

fn the_claims(out: &mut String, claims: &[ClaimFinding]) {
    if claims.is_empty() {
        return;
    }
    if let Some(text) = claim::folios_here(claims) {
        push(out, format_args!("{}\n\n", escape(&text)));
    }
    out.push_str("| claim | verdict | why |\n|---|---|---|\n");
    for claim in claims {
        let (id, says, why) = (escape(&claim.id), escape(&claim::says(claim)), escape(&claim::why(claim)));
        push(out, format_args!("| {id}: {says} | **{}** | {why} |\n", claim.verdict.words()));
    }
    out.push('\n');
}

fn the_check(out: &mut String, record: &Record, findings: &Findings) {
    let checked = study::equal_work(record, findings);
    if checked.is_empty() {
        return;
    }
    out.push_str("What the equal-work check found:\n\n");
    for form in checked {
        push(out, format_args!("* **{}:** {}\n", claim::variant(form.variant), escape(&form.summary)));
        for (sentence, about) in form.found {
            push(out, format_args!("  * {} ({})\n", escape(&sentence), escape(&about)));
        }
    }
    out.push('\n');
}

fn the_map(out: &mut String, record: &Record, findings: &Findings) {
    let sections = map::sections(record, findings);
    if sections.is_empty() {
        return;
    }
    let also = sections.iter().flat_map(|section| &section.rows).any(|row| !row.also.is_empty());
    let (also_title, also_rule) = if also { (" with |", "---|") } else { ("", "") };
    push(out, format_args!("| state | workload | block |{also_title} fastest | margin, 95 % interval | why |\n"));
    push(out, format_args!("|---|---|--:|{also_rule}---|---|---|\n"));
    for section in &sections {
        for row in &section.rows {
            let also = if also { format!(" {} |", escape(&row.also)) } else { String::new() };
            let fastest = escape(&row.fastest);
            let fastest = if row.paint == Paint::Good { format!("**{fastest}**") } else { fastest };
            let margin = escape(format!("{} {}", row.margin, row.versus).trim());
            push(
                out,
                format_args!(
                    "| {} | {} | {} |{also} {fastest} | {margin} | {} |\n",
                    section.state,
                    row.workload,
                    row.block,
                    escape(&row.why)
                ),
            );
        }
    }
    out.push('\n');
}

fn every_arm(out: &mut String, record: &Record, findings: &Findings) {
    let (sections, missing) = details::of_run(record, findings);
    if sections.is_empty() {
        return;
    }
    push(out, format_args!("\n<details><summary>Every arm</summary>\n\n{}\n", escape(&details::legend(record))));
    for section in &sections {
        push(out, format_args!("\n**{}** ({})\n\n", escape(&section.title), escape(&section.about)));
        if let Some(says) = &section.says {
            push(out, format_args!("{}\n\n", escape(says)));
        }
        a_table(out, &section.table);
        if let Some(alike) = &section.alike {
            push(out, format_args!("\n{}\n", escape(alike)));
        }
        if !section.notes.is_empty() {
            out.push('\n');
        }
        for note in &section.notes {
            push(out, format_args!("* {}: {}\n", escape(&note.about), escape(&note.text)));
        }
    }
    if let Some(table) = fills::table(record, findings) {
        push(out, format_args!("\n**{}** ({})\n\n", fills::TITLE, escape(fills::ABOUT)));
        a_table(out, &table);
        for says in fills::advice(record, findings) {
            push(out, format_args!("\n{}\n", escape(&says)));
        }
    }
    if let Some(tables) = runtimes::tables(findings) {
        push(out, format_args!("\n**{}** ({})\n\n", runtimes::TITLE, escape(runtimes::ABOUT)));
        a_table(out, &tables.arms);
        for (says, forks) in &tables.splits {
            push(out, format_args!("\n{}\n\n", escape(says)));
            a_table(out, forks);
        }
    }
    if let Some(table) = counted::table(record, findings) {
        push(out, format_args!("\n**{}** ({})\n\n", counted::TITLE, escape(counted::ABOUT)));
        a_table(out, &table);
    }
    if let Some(table) = costs::held_out(record, findings) {
        push(out, format_args!("\n**{}** ({})\n\n", costs::HELD_OUT, escape(costs::ABOUT_HELD_OUT)));
        a_table(out, &table);
    }
    let without = summary::without_crossover(record, findings);
    if !without.is_empty() {
        out.push_str("\nNo crossover:\n\n");
        for line in without {
            push(out, format_args!("* {}\n", escape(&line)));
        }
    }
    if !missing.is_empty() {
        out.push_str("\nReadings that are missing (–):\n\n");
        for it in missing {
            let cells = it.cells;
            push(out, format_args!("* {}: {} ({cells} cell{})\n", it.reading, escape(&it.reason), plural(cells)));
        }
    }
    out.push_str("\n</details>\n");
}

pub(crate) fn a_table(out: &mut String, table: &Table) {
    for column in &table.columns {
        push(out, format_args!("| {} ", escape(&column.title)));
    }
    out.push_str("|\n");
    for column in &table.columns {
        out.push_str(if column.right { "|--:" } else { "|---" });
    }
    out.push_str("|\n");
    for row in &table.rows {
        for cell in row {
            push(out, format_args!("| {} ", escape(&cell.text)));
        }
        out.push_str("|\n");
    }
}

fn push(out: &mut String, text: std::fmt::Arguments) {
    out.write_fmt(text).expect("writing to a string cannot fail");
}

/// Escaped text: no markup, no table border, no HTML, no line break, no mention of a user.
pub(crate) fn escape(text: &str) -> String {
    // A name may have what glues words here, and it becomes a blank in the end.
    let visible = visible(text).replace(GLUE, " ");
    let mut escaped = String::with_capacity(visible.len());
    let mut characters = visible.chars().peekable();
    let mut before = ' ';
    while let Some(c) = characters.next() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '`' | '|' | '*' | '\\' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            // What makes a link of the text in brackets. Intervals stay readable in the source.
            ']' if characters.peek().is_some_and(|c| matches!(c, '(' | '[' | ':')) => escaped.push_str("\\]"),
            // Inside a word an underscore is one: read_ahead_kb.
            '_' if before.is_alphanumeric() && characters.peek().is_some_and(|c| c.is_alphanumeric()) => {
                escaped.push(c);
            }
            '_' => escaped.push_str("\\_"),
            // A zero-width space, so that `user@host` mentions no user, `#2` no issue, and nothing is a link.
            '@' => escaped.push_str("@&#8203;"),
            '#' if characters.peek().is_some_and(char::is_ascii_digit) => escaped.push_str("#&#8203;"),
            ':' if characters.peek() == Some(&'/') => escaped.push_str(":&#8203;"),
            '.' if escaped.to_ascii_lowercase().ends_with("www") => escaped.push_str("&#8203;."),
            c => escaped.push(c),
        }
        before = c;
    }
    // What makes a heading, a list, a quotation or code only does so at the beginning of a line.
    let number = escaped.chars().take_while(char::is_ascii_digit).count();
    if escaped.starts_with(['#', '+', '-', '=', '[']) {
        escaped.insert(0, '\\');
    } else if number > 0 && [". ", ") "].iter().any(|marker| escaped[number..].starts_with(marker)) {
        escaped.insert(number, '\\');
    } else if escaped.starts_with(' ') {
        escaped.replace_range(..1, "&#32;");
    }
    escaped
}

/// Text as a code span of any content, outside of tables: nothing in it becomes markup.
fn code_span(text: &str) -> String {
    let text = whole(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A blank on each side belongs to the fence.
    let beside = if text.starts_with(['`', ' ', GLUE]) || text.ends_with(['`', ' ', GLUE]) { " " } else { "" };
    format!("{fence}{beside}{text}{beside}{fence}")
}

/// The inside of a code span that users paste into a shell: characters that no id has are left out.
fn code(text: &str) -> String {
    let harmless = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.chars().filter(harmless).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_record_stays_text() {
        let cases = [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a|b `c` *d* _e_ [f](g) ~h~", "a\\|b \\`c\\` \\*d\\* \\_e\\_ [f\\](g) \\~h\\~"),
            ("one\ntwo\u{1b}[2J", "one\\\\ntwo\\\\u{1b}[2J"),
            ("read_ahead_kb", "read_ahead_kb"),
            ("&lt; \\", "&amp;lt; \\\\"),
            ("thanks @torvalds", "thanks @&#8203;torvalds"),
            ("# heading", "\\# heading"),
            ("- item", "\\- item"),
            ("12) item", "12\\) item"),
            ("    code", "&#32;   code"),
            ("[1]: http://x", "\\[1\\]: http:&#8203;//x"),
            ("see WWW.example.org, #12 and $x$", "see WWW&#8203;.example.org, #&#8203;12 and \\$x\\$"),
            ("\u{a0}# heading", "&#32;# heading"),
            ("\u{a0}- item", "&#32;- item"),
            ("1.83x [1.79, 1.88]", "1.83x [1.79, 1.88]"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape(text), expected);
        }
    }
}
