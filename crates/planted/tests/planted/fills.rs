//! Fills: which arm wins after each, and which of them pays back.

use std::collections::BTreeMap;

use planted::{JobAnswer, Planted, Planting, fill_ns};
use report::Style;
use schema::{
    Fill, Findings,
    findings::{AnswerOf, Verdict},
};

use crate::{
    exact, measured_again, near,
    rendered::{numbers, plain, tagged},
};

/// The arm beside the baseline after each fill of the comparison of fills.
fn arms(planted: &Planted) -> BTreeMap<Fill, [usize; 2]> {
    let conditions = planted.record.conditions.iter().enumerate();
    let of_fill = conditions.filter_map(|(at, it)| {
        let cells: Vec<usize> = planted.cells_of(at).collect();
        Some((it.fill?, [cells[0], cells[1]]))
    });
    of_fill.collect()
}

#[test]
fn every_fill_has_the_planted_answer_and_the_time_that_making_it_took() {
    for planted in exact().chain(measured_again()) {
        let findings = analysis::analyze(&planted.record);
        let arms = arms(&planted);
        assert_eq!(
            findings.fills.iter().map(|it| it.fill).collect::<Vec<Fill>>(),
            arms.keys().copied().collect::<Vec<_>>()
        );
        for found in &findings.fills {
            let [baseline, arm] = arms[&found.fill];
            let row = found.comparisons.iter().find(|it| it.id.cell == arm).unwrap();
            let answer = planted.answer(arm).unwrap();
            assert_eq!((row.verdict, row.answer_of), (answer.verdict, answer.of));
            near(row.speedup.unwrap().median, answer.ratio);
            for (ns, cell) in [(row.baseline_ns_per_op, baseline), (row.arm_ns_per_op, arm)] {
                near(ns.unwrap(), planted.truth[cell].ns_per_op);
            }
            assert_eq!(found.elapsed_ns, fill_ns(found.fill));
        }
    }
}

#[test]
fn the_fill_that_pays_back_soonest_by_the_planted_costs_is_the_one_that_is_named() {
    for planted in exact() {
        let findings = analysis::analyze(&planted.record);
        let arms = arms(&planted);
        let ns = |at: usize| planted.truth[at].ns_per_op;
        for found in &findings.fills {
            let [baseline, arm] = arms[&found.fill];
            let now = ns(baseline).min(ns(arm));
            let can_be_made = |it: &&Fill| **it != found.fill && it.copied_by().is_none();
            let reads = arms.keys().filter(can_be_made).filter_map(|it| {
                let then = ns(arms[it][0]).min(ns(arms[it][1]));
                (now > then * planted::MARGIN).then(|| (fill_ns(*it) as f64 / (now - then), *it))
            });
            let best = reads.min_by(|a, b| a.0.total_cmp(&b.0));
            assert_eq!(found.refill.as_ref().map(|it| it.fill), best.map(|it| it.1), "{found:?}");
            let Some(refill) = &found.refill else { continue };
            near(refill.ops, best.unwrap().0);
            near(refill.now_ns_per_op, now);
        }
    }
}

/// Of each fill the cells of its row, the last columns first.
fn tables(planted: &Planted, findings: &Findings) -> [BTreeMap<String, Vec<String>>; 3] {
    let row = |cells: Vec<String>| {
        let mut cells = cells.into_iter().map(|it| it.replace('\\', "").replace('\u{a0}', " ").trim().to_string());
        let name = cells.next().unwrap_or_default();
        (name, cells.rev().collect())
    };
    let words = |cells: Vec<&str>| cells.into_iter().map(String::from).collect::<Vec<String>>();
    let markdown = report::markdown(&planted.record, findings);
    let table = markdown.split("| fill | folios |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let of_markdown = rows.map(|line| row(words(line.trim_matches('|').split(" | ").collect())));
    let html = report::html(&planted.record, findings);
    let table =
        html.split("<table").find(|it| it.contains(">pages/fault</th>")).unwrap().split("</table>").next().unwrap();
    let rows = tagged(table, "tr").into_iter().map(|row| tagged(row, "td")).filter(|it| !it.is_empty());
    let of_page = rows.map(|cells| row(cells.into_iter().map(plain).collect()));
    let style = Style { width: 2000, colour: false, details: true };
    let text = report::terminal(&planted.record, findings, style, None);
    let lines = text.lines().skip_while(|line| !line.contains("pages/fault")).skip(1);
    let rows = lines.take_while(|line| !line.trim().is_empty());
    let of_terminal =
        rows.map(|line| row(words(line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect())));
    [of_markdown.collect(), of_page.collect(), of_terminal.collect()]
}

#[test]
fn every_report_shows_the_planted_ratio_of_each_fill_and_what_it_is_of() {
    let mut unconfirmed = 0;
    let seeds = (1..=4).flat_map(|seed| [false, true].map(|jobs| (seed, jobs)));
    for (seed, jobs) in seeds {
        let planted = Planting { seed, jobs, ..Planting::default() }.plant();
        let findings = analysis::analyze(&planted.record);
        let arms = arms(&planted);
        for table in tables(&planted, &findings) {
            for (fill, [_, arm]) in &arms {
                let answer = planted.answer(*arm).unwrap();
                // Of its comparison and of those that follow it, which have one fill alone.
                let cells = table.get(&fill.to_string()).unwrap_or_else(|| panic!("{fill} in {table:?}"));
                let cell = cells.iter().find(|it| numbers(it).first().is_some_and(|it| it.is(answer.ratio)));
                let cell = cell.unwrap_or_else(|| panic!("{fill}: {answer:?} in {cells:?}"));
                assert_eq!(cell.contains("job"), answer.of == AnswerOf::Job, "{cell}");
                let is_silent = planted.truth[*arm].job == Some(JobAnswer::Silent) && answer.verdict.is_decided();
                assert_eq!(cell.contains("unconfirmed"), is_silent, "{cell}");
                unconfirmed += usize::from(is_silent);
                let mark = cell.chars().next().filter(|it| !it.is_ascii_digit());
                let expected = match answer.verdict {
                    Verdict::Same => Some('='),
                    Verdict::Undecided => Some('?'),
                    _ => None,
                };
                assert_eq!(mark, expected, "{fill}: {cell}");
            }
        }
    }
    assert!(unconfirmed > 0);
}
