//! The map: state → fastest arm → margin → why. One row per condition; what distinguishes the conditions beyond state,
//! workload and block is named only where it differs within the run.

use schema::{
    Bytes, Condition, ConditionId, Findings, Labels, Names, Record, State,
    findings::{AnswerOf, Comparison, Estimate, MapLine, Verdict},
};

use crate::{
    layout::{
        number::{self, GLUE},
        page::Page,
        paint::{Paint, Piece},
        text::{visible, width, wrap},
    },
    words::{self, explanation},
};

/// The rows of one state.
pub(crate) struct MapSection {
    pub(crate) state: State,
    /// How far apart two measurements of one thing lie in this state: `A/A ±1.1 %`.
    pub(crate) noise: Option<String>,
    pub(crate) rows: Vec<MapRow>,
}

pub(crate) struct MapRow {
    pub(crate) condition: usize,
    pub(crate) workload: String,
    pub(crate) block: String,
    /// What else differs between the conditions of this run: `copy, 4 threads`.
    pub(crate) also: String,
    /// The fastest arm, or why none is named.
    pub(crate) fastest: String,
    pub(crate) paint: Paint,
    /// Glued; empty when there is none.
    pub(crate) margin: String,
    /// What the margin is over; empty without one.
    pub(crate) versus: String,
    pub(crate) why: String,
}

/// The map's rows by state, in the order of the findings.
pub(crate) fn sections(record: &Record, findings: &Findings) -> Vec<MapSection> {
    let names = Names::of(record);
    let labels = Labels::of(record);
    let mut sections: Vec<MapSection> = Vec::new();
    for line in &findings.map {
        let row = row(line, &labels, findings, record, &names);
        match sections.iter_mut().find(|section| section.state == line.condition.state) {
            Some(section) => section.rows.push(row),
            None => {
                let state = line.condition.state;
                let noise = findings.noise_floors.iter().find(|it| it.state == state).and_then(|it| it.floor.width());
                let noise = noise.map(|width| format!("A/A {}", width.replace(' ', &GLUE.to_string())));
                sections.push(MapSection { state, noise, rows: vec![row] });
            }
        }
    }
    sections
}

fn row(line: &MapLine, labels: &Labels, findings: &Findings, record: &Record, names: &Names) -> MapRow {
    let shorts = |arms: &[String]| arms.iter().map(|it| names.short(it).to_string()).collect::<Vec<String>>();
    let (ties, not_told_apart) = (shorts(&line.ties), shorts(&line.not_told_apart));
    let (margin, versus) = margin(line, record, findings);
    let mut why: Vec<String> = Vec::new();
    let (fastest, paint) = match (line.verdict, &line.winner) {
        // That nothing beats the plainest is an answer too, but no proof that they are the same.
        (Verdict::Same, winner) if not_told_apart.is_empty() && (winner.is_none() || are_all_alike(line, findings)) => {
            let arms: Vec<&str> =
                ties.iter().map(String::as_str).chain(winner.iter().map(|winner| names.short(winner))).collect();
            if !ties.is_empty() {
                why.push(format!("within the margin: {}", arms.join(", ")));
            }
            ("no difference".to_string(), Paint::Plain)
        }
        (Verdict::Faster | Verdict::Slower | Verdict::Same, Some(winner)) => {
            if !ties.is_empty() {
                why.push(format!("tied with {}", ties.join(", ")));
            }
            if !not_told_apart.is_empty() {
                why.push(format!("not told apart: {}", not_told_apart.join(", ")));
            }
            let winner = names.short(winner);
            match (line.verdict, not_told_apart.is_empty()) {
                (Verdict::Same, false) => (format!("nothing beats {winner}"), Paint::Plain),
                (Verdict::Same, true) => (winner.to_string(), Paint::Plain),
                _ => (winner.to_string(), Paint::Good),
            }
        }
        (Verdict::NotComparable, _) => ("not comparable".to_string(), Paint::Unsure),
        _ => ("undecided".to_string(), Paint::Unsure),
    };
    if !line.same_work.is_empty() {
        why.push(format!("also {}: it does the same work here", shorts(&line.same_work).join(", ")));
    }
    let named = matches!(line.verdict, Verdict::Faster | Verdict::Slower | Verdict::Same);
    if !(named && line.winner.is_some()) {
        // "undecided: …", "undecided between …": the word is in its column already.
        let says = words::line(&line.says);
        let says = says.strip_prefix(fastest.as_str()).unwrap_or(&says);
        why.push(says.trim_start_matches([':', ' ']).to_string());
    }
    let costs = findings.costs.iter().flat_map(|it| &it.break_evens).filter(|it| it.id.condition == line.id);
    why.extend(costs.map(|it| {
        let [arm, baseline] = [&it.arm, &it.baseline].map(|it| names.short(it));
        format!("by unit costs {arm} is faster than {baseline} from {} reads on", number::rough(&it.reads))
    }));
    // What the line says names the others already.
    let others: &[String] = if named && line.winner.is_some() { &line.says.not_at_job[..] } else { &[] };
    why.extend((line.answer_of == AnswerOf::Job).then(|| words::at_size_of_job(others)));
    why.extend(line.is_unconfirmed().then(|| words::UNCONFIRMED.to_string()));
    why.extend(line.explanation.as_ref().map(explanation));
    MapRow {
        condition: line.id.condition_index,
        workload: line.condition.work(),
        block: line.condition.block(),
        also: labels.also(line.id.condition_index),
        fastest,
        paint,
        margin: margin.map_or(String::new(), |margin| number::speedup_glued(&margin)),
        versus: versus.filter(|_| margin.is_some()).map_or(String::new(), |arm| format!("vs {}", names.short(&arm))),
        why: why.join("; "),
    }
}

/// Whether all arms of a line were proved equal: none is slower, also by too few rounds for a verdict, did other work, or
/// is left open.
pub(crate) fn are_all_alike(line: &MapLine, findings: &Findings) -> bool {
    let counts = |it: &&Comparison| it.speedup.is_some() || it.verdict == Verdict::NotComparable;
    let mut of_line = findings.comparisons.iter().filter(|it| line.is_made_of(it)).filter(counts);
    line.not_told_apart.is_empty() && of_line.all(|it| it.verdict == Verdict::Same)
}

/// How many times faster the fastest arm of a line is, and than which.
pub(crate) fn margin(line: &MapLine, record: &Record, findings: &Findings) -> (Option<Estimate>, Option<String>) {
    let baseline = baseline(line.id, record);
    match (&line.winner, &line.margin) {
        // The margin over itself says nothing; what the baseline is ahead of does.
        (Some(_), _) if line.winner_cell == baseline => ahead_of(line, findings),
        (_, Some(margin)) => (Some(*margin), baseline.map(|cell| record.cells[cell].arm.name.clone())),
        (_, None) => (None, None),
    }
}

/// The margin of a baseline that is fastest itself: over the arm that comes closest, at the size that the line is about.
fn ahead_of(line: &MapLine, findings: &Findings) -> (Option<Estimate>, Option<String>) {
    let mut of_line = findings.comparisons.iter().filter(|it| line.is_made_of(it));
    let next = of_line.find(|it| line.next_cell == Some(it.id.cell));
    let at_job =
        |it: &Comparison| it.confirmed.as_ref().filter(|_| line.answer_of == AnswerOf::Job).map(|it| it.speedup);
    match next.and_then(|it| Some((at_job(it).or(it.speedup)?, &it.arm))) {
        Some((speedup, arm)) => (Some(speedup.inverse()), Some(arm.clone())),
        None => (None, None),
    }
}

/// The cell that the others of a condition are compared with.
pub(crate) fn baseline(id: ConditionId, record: &Record) -> Option<usize> {
    record.cells.iter().position(|it| it.condition == id.condition_index && it.baseline && !it.control)
}

pub(crate) fn threads(threads: u32) -> String {
    if threads == 1 { "1 thread".into() } else { format!("{threads} threads") }
}

pub(crate) fn storage(condition: &Condition) -> String {
    let Some(storage) = condition.storage else {
        return "storage not limited".into();
    };
    let rate = storage.read_bytes_per_s.map(|rate| Bytes(rate).exact_rate());
    let ops = storage.read_ops_per_s.map(|ops| format!("{} reads/s", number::count(ops as f64)));
    let limits: Vec<String> = rate.into_iter().chain(ops).collect();
    format!("storage limited to {}", limits.join(" and "))
}

/// Where the parts of a row stand. The widest that fits is taken.
enum Layout {
    /// All on one line.
    WhyBeside,
    /// The reason on a second line.
    WhyBeneath,
    /// What the margin is over goes to the second line too.
    VersusBeneath,
    /// Everything under everything.
    Stacked,
}

/// The map on a terminal.
pub(crate) fn write(page: &mut Page, sections: &[MapSection]) {
    const INDENT: usize = 2;
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let widest = |of: &dyn Fn(&MapRow) -> &str| rows().map(|row| width(&visible(of(row)))).max().unwrap_or(0);
    let gapped = |columns: usize| if columns == 0 { 0 } else { columns + 2 };
    let block = gapped(widest(&|row| &row.block));
    // Commands have no blocks.
    let workload = widest(&|row| &row.workload) + if block == 0 { 2 } else { 1 };
    let also = gapped(widest(&|row| &row.also));
    let fastest = gapped(widest(&|row| &row.fastest));
    let margin = gapped(widest(&|row| &row.margin));
    let versus = gapped(widest(&|row| &row.versus));
    let short = INDENT + workload + block + also + fastest + margin;
    let long = short + versus;
    // Beside its row a reason is short; a long map has none of more than a line there.
    let lines_of_why = if rows().count() > 8 { 1 } else { 2 };
    let fits = |room: usize| room >= 70 || rows().all(|row| wrap(&visible(&row.why), room).len() <= lines_of_why);
    let layout = match page.width() {
        width if long + 44 <= width && fits(width - long) => Layout::WhyBeside,
        width if long <= width + 2 => Layout::WhyBeneath,
        width if short <= width + 2 => Layout::VersusBeneath,
        _ => Layout::Stacked,
    };
    for section in sections {
        page.blank();
        let about = [Some(section.state.about()), section.noise.as_deref()];
        let about = about.into_iter().flatten().collect::<Vec<&str>>().join("; ");
        page.labelled(0, section.state.word(), Paint::Heading, &about);
        for row in &section.rows {
            let piece = |text: &str, columns: usize, paint: Paint| Piece::padded(visible(text), columns, paint);
            let block_piece = |columns: usize| Piece {
                text: row.block.clone(),
                columns: columns.saturating_sub(2),
                right: true,
                paint: Paint::Plain,
            };
            let mut pieces = vec![
                piece(&row.workload, workload, Paint::Plain),
                block_piece(block),
                piece("", block.min(2), Paint::Plain),
                piece(&row.also, also, Paint::Plain),
                piece(&row.fastest, fastest, row.paint),
                piece(&row.margin, margin, Paint::Plain),
            ];
            match layout {
                Layout::WhyBeside => {
                    pieces.push(piece(&row.versus, versus, Paint::Plain));
                    let mut lines = wrap(&visible(&row.why), page.width() - long).into_iter();
                    pieces.push(Piece::of(lines.next().unwrap_or_default(), Paint::Quiet));
                    page.line(INDENT, &pieces);
                    for line in lines {
                        page.line(long, &[Piece::of(line, Paint::Quiet)]);
                    }
                }
                Layout::WhyBeneath => {
                    pieces.push(piece(&row.versus, 0, Paint::Plain));
                    page.line(INDENT, &pieces);
                    beneath(page, if lines_of_why == 1 { INDENT + 4 } else { INDENT + workload + block }, &row.why);
                }
                Layout::VersusBeneath => {
                    page.line(INDENT, &pieces);
                    let both: Vec<&str> =
                        [row.versus.as_str(), &row.why].into_iter().filter(|text| !text.is_empty()).collect();
                    beneath(page, INDENT + workload + 2, &both.join(": "));
                }
                Layout::Stacked => {
                    let mut first = format!("{} {}", row.workload, row.block.replace(' ', "\u{a0}")).trim().to_string();
                    if !row.also.is_empty() {
                        first.push_str(&format!(", {}", row.also));
                    }
                    page.paragraph(INDENT, Paint::Plain, &format!("{first}:"));
                    for line in wrap(&visible(&row.fastest), page.width() - 4) {
                        page.line(4, &[Piece::of(line, row.paint)]);
                    }
                    page.paragraph(4, Paint::Plain, format!("{} {}", row.margin, row.versus).trim());
                    beneath(page, 4, &row.why);
                }
            }
        }
    }
}

fn beneath(page: &mut Page, indent: usize, why: &str) {
    page.paragraph(indent, Paint::Quiet, why);
}
