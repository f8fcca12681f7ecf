//! The page as text, and in a real browser where there is one.

#![allow(clippy::disallowed_methods, reason = "the page is put before a browser; the crate itself does no I/O")]

use std::{fs, path::Path, process::Command};

use schema::Reading;

use crate::{
    hostile,
    support::{Run, run, study},
};

fn page(run: &Run) -> String {
    report::html(&run.record, &run.findings)
}

/// The charts of a page, each with what stands in it.
fn charts(page: &str) -> Vec<&str> {
    let after = page.split("<div class=\"chart\">").skip(1);
    after.map(|it| &it[..it.find("<details>").expect("the numbers follow")]).collect()
}

/// Each series in a line: in which section, of which figure there, what it is, of whom, how many points.
pub(crate) fn outline(page: &str) -> String {
    let mut lines = String::new();
    for section in page.split("<section id=\"").skip(1) {
        let id = section.split('"').next().unwrap();
        for (at, chart) in charts(section).iter().enumerate() {
            for series in chart.split("<g class=\"series ").skip(1) {
                let kind = series.split(' ').next().unwrap();
                let begin = series.find("<title>").unwrap() + "<title>".len();
                let name = &series[begin..begin + series[begin..].find('<').unwrap()];
                let marks = series[..series.find("</g>").unwrap()].matches("<title>").count() - 1;
                lines += &format!("{id} {at} {kind} {name}: {marks}\n");
            }
        }
    }
    lines
}

#[test]
fn the_data_of_the_page_is_known() {
    expect_test::expect_file!["../snapshots/page-run.txt"].assert_eq(&outline(&page(&run())));
    expect_test::expect_file!["../snapshots/page-study.txt"].assert_eq(&outline(&page(&study())));
}

#[test]
fn the_colour_of_a_field_is_that_of_what_its_arm_does() {
    let field = |arm: &str| {
        let mut run = run();
        let arm = crate::support::arm(arm);
        let line = &mut run.findings.map[0];
        line.winner = Some(arm.name.clone());
        run.record.cells[line.winner_cell.unwrap()].arm = arm;
        let page = page(&run);
        let field = page.split("<a href=\"#condition-0\"").next().and_then(|it| it.rsplit("<td ").next()).unwrap();
        let is_in = |it: &&str| field.starts_with(&format!("class=\"{it} by2\""));
        ["mapping", "calls", "others"].into_iter().find(is_in)
    };
    let arms = ["mmap+random", "jvm/mapped", "jvm/segment", "pread", "jvm/stream", "jvm/channel-positional", "direct"];
    let colours = arms.map(|it| field(it).unwrap());
    assert_eq!(colours, ["mapping", "mapping", "mapping", "calls", "calls", "calls", "others"]);
    assert_eq!(field("uring+queue_depth=32"), Some("others"));
}

#[test]
fn passes_of_two_numbers_of_blocks_that_were_asked_for_share_no_chart() {
    let mut run = run();
    let text = "title = \"x\"\n[[compare]]\narms = [\"read\"]\nworkload = \"scan\"\nblock = \"4 KiB\"\n\
                state = \"cached\"\nops = [10, 1000]\n";
    run.record.experiment.comparisons = schema::Experiment::parse("x", text).unwrap().comparisons;
    run.record.origins = vec![0; run.record.conditions.len()];
    // Two that differ in their blocks share a chart.
    let blocks = run.record.conditions[1].block_bytes;
    run.record.conditions[1] = schema::Condition { block_bytes: blocks, ..run.record.conditions[0].clone() };
    let together = charts(&page(&run)).len();
    run.record.conditions[1].ops = 1000;
    assert!(charts(&page(&run)).len() > together);
}

#[test]
fn comparisons_of_one_question_about_different_blocks_share_a_chart() {
    let mut run = run();
    let text =
        "title = \"x\"\n[[compare]]\narms = [\"read\"]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cached\"\n";
    let one = schema::Experiment::parse("x", text).unwrap().comparisons.remove(0);
    run.record.experiment.comparisons = vec![one.clone(), one];
    run.record.origins = vec![0; run.record.conditions.len()];
    run.record.origins[1] = 1;
    let blocks = run.record.conditions[1].block_bytes;
    assert_ne!(blocks, run.record.conditions[0].block_bytes);
    run.record.conditions[1] = schema::Condition { block_bytes: blocks, ..run.record.conditions[0].clone() };
    let together = page(&run);
    assert!(!together.contains("comparison 1") && !together.contains("comparison 2"));
    let count = charts(&together).len();
    // An arm would stand at one block twice.
    run.record.conditions[1].block_bytes = run.record.conditions[0].block_bytes;
    assert!(charts(&page(&run)).len() > count);
    run.record.conditions[1].block_bytes = blocks;
    run.record.experiment.comparisons[1].name = Some("another question".into());
    assert!(charts(&page(&run)).len() > count);
}

#[test]
fn a_chart_of_speedups_says_once_what_several_arms_did() {
    let page = page(&run());
    let section = page.split("<section id=\"speedup\"").nth(1).unwrap().split("</section>").next().unwrap();
    let chart = charts(section)[0];
    let rows: Vec<&str> = chart
        .split("<text class=\"end\" x=\"-7\"")
        .skip(1)
        .map(|it| it.split('>').nth(1).unwrap().split('<').next().unwrap())
        .collect();
    assert_eq!(rows[..3], ["scan 64 KiB · mmap", "mmap+populate-read", "direct"]);
}

#[test]
fn no_line_ends_between_a_number_and_its_unit() {
    let page = page(&run());
    let answer = page.split("<section id=\"answer\"").nth(1).unwrap().split("</section>").next().unwrap();
    for unit in ["KiB", "MiB", "B", "%", "µs"] {
        let apart = answer.split(&format!(" {unit}")).any(|it| it.ends_with(|c: char| c.is_ascii_digit()));
        assert!(!apart, "{unit} in {answer}");
    }
    assert!(answer.contains("64\u{a0}KiB"));
}

#[test]
fn no_element_has_an_attribute_twice() {
    for page in [page(&run()), page(&study()), report::across_html(&crate::several::beside(&run()))] {
        for tag in page.split('<').skip(1).map(|it| it.split('>').next().unwrap()) {
            // Every other part stands in quotes.
            let names: Vec<&str> =
                tag.split('"').step_by(2).filter_map(|it| it.trim().strip_suffix('=')?.rsplit(' ').next()).collect();
            assert!((1..names.len()).all(|at| !names[..at].contains(&names[at])), "{tag}");
        }
    }
}

#[test]
fn charts_show_an_arm_with_settings_of_its_own_by_what_it_did() {
    let mut run = run();
    let is_it = |it: &&mut schema::findings::CellFinding| it.arm.name == "native/mmap" && it.ns_per_op.is_some();
    let it = run.findings.cells.iter_mut().find(is_it).unwrap();
    let (cell, described) = (it.id.cell, it.condition.clone());
    let own = schema::Condition { block_bytes: 2 << 20, state: schema::State::Mapped, ..described };
    it.own_condition = Some(own.clone());
    run.record.cells[cell].own_condition = Some(own);
    let page = page(&run);
    let section = |id: &str| {
        let from = page.split(&format!("<section id=\"{id}\"")).nth(1).unwrap();
        crate::squeezed(from.split("</section>").next().unwrap())
    };
    assert!(section("block-size").contains("mmap, mapped 2 MiB: "), "its place and its label");
    for chart in ["where-time", "faults", "samples"] {
        assert!(section(chart).contains("2 MiB · mmap, mapped"), "{chart}: {}", section(chart));
    }
    assert!(section("speedup").contains("mmap, 2 MiB, mapped"), "{}", section("speedup"));
    assert!(section("timeline").contains("2 MiB instead of 64 KiB, mapped instead of cold"), "{}", section("timeline"));
}

#[test]
fn a_block_without_a_throughput_interrupts_the_line_and_its_band() {
    let drawn = |lost: bool| {
        let mut run = run();
        let is_it = |it: &&schema::findings::CellFinding| it.arm.name == "native/mmap" && it.bytes_per_s.is_some();
        let of = run.findings.cells.iter().find(is_it).unwrap().clone();
        // Four more sizes of the same condition, of which the second is lost.
        for at in 1..=4 {
            let condition = schema::Condition { block_bytes: of.condition.block_bytes << at, ..of.condition.clone() };
            let mut cell = schema::findings::CellFinding { condition: condition.clone(), ..of.clone() };
            (cell.id.condition, cell.id.cell) = (
                schema::ConditionId { condition_index: run.record.conditions.len(), ..of.id.condition },
                run.record.cells.len(),
            );
            if lost && at == 2 {
                (cell.ns_per_op, cell.bytes_per_s) = (None, None);
            }
            let entry = &run.record.cells[of.id.cell];
            let entry = schema::record::Cell { condition: run.record.conditions.len(), ..entry.clone() };
            run.record.cells.push(entry);
            run.record.conditions.push(condition);
            let origin = run.record.origins.get(of.id.condition.condition_index).copied();
            run.record.origins.extend(origin);
            run.findings.cells.push(cell);
        }
        let page = page(&run);
        let section =
            page.split("<section id=\"block-size\"").nth(1).unwrap().split("</section>").next().unwrap().to_string();
        (section.matches("<polygon").count(), section.matches(">–</td>").count())
    };
    let ((whole, none), (parts, missing)) = (drawn(false), drawn(true));
    assert_eq!((parts, none, missing), (whole + 1, 0, 2));
}

#[test]
fn the_page_says_how_much_of_a_long_experiment_it_leaves_out() {
    let mut run = run();
    assert!(!page(&run).contains("of it stand in the record"));
    let text =
        "title = \"x\"\n[[compare]]\narms = [\"read\"]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cached\"\n";
    let one = schema::Experiment::parse("x", text).unwrap().comparisons.remove(0);
    run.record.experiment.comparisons = vec![one; 400];
    let lines = serde_json::to_string_pretty(&run.record.experiment).unwrap().lines().count();
    let page = page(&run);
    let says = page.split(" more lines of it stand in the record").next().unwrap().rsplit('>').next().unwrap();
    assert_eq!(says.replace(',', "").parse::<usize>().unwrap(), lines - 2000);
}

#[test]
fn the_time_of_an_arm_with_a_block_of_its_own_is_no_share_of_the_time_of_another_block() {
    let mut run = run();
    let is_it = |it: &&mut schema::findings::CellFinding| it.arm.name == "native/mmap" && it.ns_per_op.is_some();
    let it = run.findings.cells.iter_mut().find(is_it).unwrap();
    let block_bytes = 16 * it.condition.block_bytes;
    it.own_condition = Some(schema::Condition { block_bytes, ..it.condition.clone() });
    // As many bytes a second as before.
    let scaled = |it: schema::findings::Estimate| schema::findings::Estimate {
        median: 16.0 * it.median,
        ci_low: 16.0 * it.ci_low,
        ci_high: 16.0 * it.ci_high,
    };
    it.ns_per_op = it.ns_per_op.map(scaled);
    let page = page(&run);
    let section = page.split("<section id=\"where-time\"").nth(1).unwrap().split("</section>").next().unwrap();
    let shares = |section: &str| -> Vec<f64> {
        let before = section.split(" %</title>").map(|it| it.rsplit(' ').next().unwrap_or_default().to_string());
        before.filter_map(|it| it.parse().ok()).collect()
    };
    let shares = shares(section);
    assert!(shares.len() > 20 && shares.iter().all(|&it| it < 250.0), "{shares:?}");
    assert!(section.contains("% of the time of read or mmap"), "{section}");
}

#[test]
fn the_page_begins_with_the_answer_and_every_chart_has_a_table() {
    let page = page(&run());
    assert!(page.len() < 200_000, "{}", page.len());
    let at = |id: &str| page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no section {id}"));
    let order = [
        "answer",
        "block-size",
        "where-time",
        "speedup",
        "faults",
        "timeline",
        "samples",
        "lost",
        "arms",
        "machine",
        "again",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])));
    let tables = page.matches("<summary>The numbers</summary><div class=\"scroll\" ").count();
    assert!(tables > 0);
    assert_eq!(charts(&page).len(), tables);
    assert!(!page.contains("<section id=\"published\"") && !page.contains("<section id=\"claims\""));
    assert!(page.contains(
        "<li>Published, as published here, corrected here: This experiment does not reproduce a publication.</li>"
    ));
    assert!(page.contains("io_uring is switched off (kernel.io_uring_disabled = 2)"));
}

/// Without a mouse, what is wider than the page is scrolled with the keyboard, which needs a focus and a name.
#[test]
fn what_scrolls_is_reached_with_the_keyboard_and_has_a_name() {
    for page in [page(&run()), page(&study()), page(&large())] {
        let scrolling =
            page.split("<div class=\"scroll\"").chain(page.split("<pre")).filter(|it| !it.starts_with("<!"));
        // A command breaks into lines instead.
        let scrolling = scrolling.filter(|it| !it.starts_with(" class=\"command\""));
        for rest in scrolling {
            let tag = &rest[..rest.find('>').unwrap()];
            assert!(tag.contains("tabindex=\"0\" role=\"group\" aria-label=\""), "{tag}");
        }
        for plot in page.split("<svg").skip(1) {
            let tag = &plot[..plot.find('>').unwrap()];
            let is_part = tag.contains("viewBox");
            assert!(is_part || tag.contains("aria-hidden") || tag.contains("role=\"img\" aria-label=\""), "{tag}");
        }
    }
}

/// As WCAG has it: at least 4.5 is legible for text of this size.
#[test]
fn words_are_legible_on_what_is_behind_them() {
    let light = |colour: [f64; 3]| {
        let linear = |it: f64| if it <= 0.04045 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) };
        let [red, green, blue] = colour.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let page = page(&run());
    let roots: Vec<&str> = page.split(":root {").skip(1).map(|it| &it[..it.find('}').unwrap()]).collect();
    assert_eq!(roots.len(), 3, "of light and dark pages, and of paper");
    for root in roots {
        let value = |name: &str| {
            let of = |root: &str| Some(root.split_once(&format!("--{name}: "))?.1.split(';').next()?.to_string());
            of(root).or_else(|| of(&page)).unwrap()
        };
        let colour = |name: &str| -> [f64; 3] {
            let hex: String = value(name)[1..].chars().collect();
            let hex = if hex.len() == 3 { hex.chars().flat_map(|it| [it, it]).collect() } else { hex };
            [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0)
        };
        let legible = |what: String, words: [f64; 3], behind: [f64; 3]| {
            let (one, other) = (light(words) + 0.05, light(behind) + 0.05);
            let contrast = one.max(other) / one.min(other);
            assert!(contrast >= 4.5, "{what}: {contrast:.2}");
        };
        for words in ["ink", "soft", "good", "bad", "unsure", "link"] {
            for behind in ["paper", "tint"] {
                // The style of print names no colour of links: they have that of the screen.
                if words != "link" || root.contains("--link") {
                    legible(format!("{words} on {behind}"), colour(words), colour(behind));
                }
            }
        }
        for hue in ["sky", "orange", "purple"] {
            for strength in ["by1", "by2", "by3", "by4"] {
                let share = value(strength).trim_end_matches('%').parse::<f64>().unwrap() / 100.0;
                let (hue_is, paper) = (colour(hue), colour("paper"));
                let mixed = [0, 1, 2].map(|at| share * hue_is[at] + (1.0 - share) * paper[at]);
                legible(format!("a field of {hue}, {strength}"), colour("ink"), mixed);
            }
        }
    }
}

#[test]
fn read_amplification_is_over_the_bytes_that_the_tally_says_were_reached() {
    let mut run = run();
    for cell in &mut run.findings.cells {
        // As of a file that is smaller than the block: the pass reached half of what its condition says.
        cell.condition.ops *= 2;
        cell.device_read_bytes = Reading::Value(cell.distinct_bytes.unwrap());
    }
    let page = page(&run);
    let tables = page.split("read amplification, bytes from the device per byte</th>").skip(1);
    let rows = tables.flat_map(|table| table[..table.find("</table>").unwrap()].split("<tr").skip(1));
    // The row's last cell.
    let values: Vec<&str> = rows
        .map(|row| row.rsplit("</td>").nth(1).and_then(|cell| cell.rsplit('>').next()).expect("a row has cells"))
        .collect();
    assert!(!values.is_empty());
    assert!(values.iter().all(|it| it.parse() == Ok(1.0)), "{values:?}");
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let ours = page(&run());
    assert!(ours.contains("default-src 'none'") && !ours.contains("<script"));
    assert!(!ours.contains("http:") && !ours.contains("https:") && !ours.contains(" src="), "{ours}");
}

#[test]
fn markup_in_a_record_comes_out_as_text() {
    for evil in ["</script><script>alert(1)</script>", "\"><img onerror=alert(1)>", "<!--<script>", "<b>&amp;</b>"] {
        let page = page(&hostile(evil));
        assert!(!page.contains("<script") && !page.contains(evil), "{evil}");
        assert!(!page.contains("<img") && !page.contains("<b>&amp;"), "{evil}");
    }
}

#[test]
fn a_command_to_paste_has_the_id_as_one_word_and_permits_nothing() {
    for id in ["x; touch y", "$(touch y)", "--run-commands", "a'b"] {
        let mut run = run();
        run.record.id = id.into();
        for condition in &mut run.record.conditions {
            condition.workload = schema::Workload::Command;
        }
        let page = page(&run);
        let pasted = &page[page.find("<pre class=\"command\">").unwrap()..];
        let pasted = &pasted[..pasted.find("</pre>").unwrap()];
        let pasted = pasted.replace("rerun -- --run-commands", "rerun");
        assert!(pasted.contains("faultline rerun") && !pasted.contains("--run-commands"), "{pasted}");
        assert!(!pasted.contains("rerun x;") && !pasted.contains("rerun $("), "{pasted}");
    }
}

#[test]
fn a_text_of_a_megabyte_in_every_place_is_shortened() {
    let page = page(&hostile(&"x".repeat(1 << 20)));
    assert!(page.len() < 1_000_000, "{}", page.len());
}

#[test]
fn a_page_of_several_runs_lets_no_markup_through_either() {
    let evil = "</script><script>alert(1)</script>";
    let page = report::across_html(&crate::several::beside(&hostile(evil)));
    assert!(!page.contains("<script") && page.contains("against"));
    assert_eq!(charts(&page).len(), 1);
}

/// The same run with many more passes.
fn large() -> Run {
    let mut run = run();
    let samples = run.record.samples.clone();
    run.record.samples = samples.iter().cycle().take(5_000).cloned().collect();
    for (order, sample) in run.record.samples.iter_mut().enumerate() {
        sample.order = order as u32;
    }
    run
}

#[test]
fn a_page_of_thousands_of_passes_repeats_nothing_for_each() {
    let page = page(&large());
    assert!(page.len() < 1_000_000, "{}", page.len());
}

/// Loads the page at two widths, and says what it looks like: one line for each.
const FRAMES: &str = r#"<!DOCTYPE html><body><iframe src="page.html" width="400" height="800"></iframe><iframe src="page.html" width="1400" height="800"></iframe>
<script>
const count = (it, what) => it.querySelectorAll(what).length;
// A label that is not wholly within its plot is cut; two of one plot that share pixels overlap.
const labels = (plot) => {
  const boxes = [...plot.querySelectorAll("text")].map((it) => it.getBoundingClientRect()).filter((it) => it.width > 0);
  const all = plot.getBoundingClientRect();
  const cut = boxes.filter((it) => it.left < all.left - 0.5 || it.right > all.right + 0.5 || it.top < all.top - 0.5 || it.bottom > all.bottom + 0.5);
  const share = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  const over = boxes.filter((a, at) => boxes.some((b, other) => other > at && share(a, b)));
  return [boxes.length, cut.length, over.length];
};
addEventListener("load", () => {
  const frames = [...document.querySelectorAll("iframe")].map((it) => it.contentDocument);
  document.body.innerHTML = frames.map((it) => {
    const sums = [...it.querySelectorAll(".plot")].map(labels).reduce((sum, one) => sum.map((it, at) => it + one[at]), [0, 0, 0]);
    const scrolled = [...it.querySelectorAll(".matrix")].filter((it) => it.parentElement.scrollWidth > it.parentElement.clientWidth).length;
    return "<p>looked " + [count(it, ".plot"), count(it, ".plot use"), count(it, "table"),
      it.documentElement.scrollWidth - it.documentElement.clientWidth, ...sums, scrolled].join(" ") + "</p>";
  }).join("");
});
</script>"#;

/// What the browser made of a page at one width.
#[derive(Debug)]
struct PageAtWidth {
    plots: usize,
    marks: usize,
    tables: usize,
    /// By how many pixels the page is wider than the screen.
    too_wide: i64,
    labels: usize,
    cut: usize,
    overlapping: usize,
    /// Matrices of which a part is seen only after scrolling.
    scrolled: usize,
}

fn browser() -> Option<String> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .map(str::to_string)
        .find(|it| Command::new(it).arg("--version").output().is_ok_and(|output| output.status.success()))
}

/// What becomes of a page after its scripts ran, and what the browser says meanwhile.
fn dumped(browser: &str, page: &Path, dark: bool) -> (String, String) {
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args([
        "--allow-file-access-from-files",
        "--enable-logging=stderr",
        "--virtual-time-budget=60000",
        "--dump-dom",
    ]);
    command.args(dark.then_some("--blink-settings=preferredColorScheme=0"));
    command.arg(format!("--user-data-dir={}", page.with_file_name("profile").display()));
    let output = command.arg(format!("file://{}", page.display())).output().unwrap();
    [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned()).into()
}

/// At 400 and at 1400 pixels.
fn look(browser: &str, run: &Run, dark: bool) -> [PageAtWidth; 2] {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.html"), page(run)).unwrap();
    fs::write(folder.path().join("frames.html"), FRAMES).unwrap();
    let (dom, log) = dumped(browser, &folder.path().join("frames.html"), dark);
    // A request that the page's own policy refuses is told there too.
    let messages: Vec<&str> = log.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(messages.is_empty(), "{messages:?}");
    let seen = dom.split("<p>looked ").skip(1).map(|line| {
        let numbers = line[..line.find('<').unwrap()].split(' ').map(|it| it.parse::<i64>().unwrap());
        let numbers: [i64; 8] = numbers.collect::<Vec<i64>>().try_into().unwrap();
        let [plots, marks, tables, _, labels, cut, overlapping, scrolled] =
            numbers.map(|it| usize::try_from(it).unwrap_or(0));
        PageAtWidth { plots, marks, tables, too_wide: numbers[3], labels, cut, overlapping, scrolled }
    });
    let both: Vec<PageAtWidth> = seen.collect();
    both.try_into().unwrap_or_else(|_| panic!("the page was not drawn: {dom:.2000}\n{log:.2000}"))
}

#[test]
fn a_browser_draws_every_plot_at_both_widths_with_whole_labels_and_nothing_on_its_console() {
    let Some(browser) = browser() else {
        println!("skipped: no chromium in PATH that could draw the page");
        return;
    };
    for (run, dark) in [(run(), false), (study(), true), (large(), false)] {
        let page = page(&run);
        let (charts, plots) = (charts(&page).len(), page.matches("class=\"plot\"").count());
        let valid = |it: &&schema::record::Sample| matches!(it.outcome, schema::record::Outcome::Ok { .. });
        let samples = run.record.samples.iter().filter(valid).count();
        for look in look(&browser, &run, dark) {
            assert_eq!(look.plots, plots, "{look:?}");
            assert!(
                look.marks >= samples && look.tables > charts && look.labels > plots,
                "{samples} samples: {look:?}"
            );
            assert_eq!((look.cut, look.overlapping, look.scrolled), (0, 0, 0), "{look:?}");
            assert!(look.too_wide <= 0, "{look:?}");
        }
    }
}

/// Writes what axe finds into the page: how many rules passed, and each violation that is serious or worse.
const ACCESSIBILITY: &str = r#"<script src="axe.min.js"></script><script>
addEventListener("load", () => axe.run().then((found) => {
  const worse = found.violations.filter((it) => ["serious", "critical"].includes(it.impact));
  document.body.textContent = "passed " + found.passes.length + "; " + worse.map((it) => it.id + ": " + it.nodes[0].html).join("; ");
}));
</script></body>"#;

#[test]
fn axe_finds_nothing_serious_on_any_page() {
    let (Some(browser), Some(axe)) = (browser(), std::env::var_os("FAULTLINE_AXE")) else {
        println!("skipped: FAULTLINE_AXE names no axe.min.js (npm install axe-core), or there is no chromium in PATH");
        return;
    };
    let pages = [
        page(&run()),
        page(&study()),
        page(&crate::advice::advised()),
        report::across_html(&crate::several::beside(&run())),
    ];
    for (page, dark) in pages.iter().flat_map(|it| [(it, false), (it, true)]) {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(&axe, folder.path().join("axe.min.js")).unwrap();
        // The page itself permits no script.
        let open = page
            .replace("default-src 'none'; style-src 'unsafe-inline'", "default-src * 'unsafe-inline' 'unsafe-eval'");
        let path = folder.path().join("page.html");
        fs::write(&path, open.replace("</body>", ACCESSIBILITY)).unwrap();
        let (dom, log) = dumped(&browser, &path, dark);
        let found = dom.rsplit("<body>passed ").next().unwrap().split("</body>").next().unwrap();
        let (passed, worse) =
            found.split_once("; ").unwrap_or_else(|| panic!("axe did not run: {dom:.2000}\n{log:.2000}"));
        assert!(passed.parse::<usize>().unwrap() > 20 && worse.is_empty(), "{found}");
    }
}

#[test]
fn two_figures_that_say_the_same_have_a_row_each() {
    let mut run = study();
    let ids: Vec<_> = run.findings.cells.iter().map(|it| it.id).filter(|it| it.condition.condition_index < 2).collect();
    let [first, second] =
        [0, 1].map(|at| ids.iter().find(|it| it.condition.condition_index == at).copied().unwrap_or(ids[0]));
    for (figure, id) in run.findings.figures.iter_mut().zip([first, second]) {
        (figure.says, figure.corrected_id) = ("it".into(), Some(id));
        figure.corrected = Reading::Value(schema::findings::Estimate { median: 2.0, ci_low: 1.9, ci_high: 2.1 });
    }
    let page = page(&run);
    let of_published = page.split("<section id=\"published\"").nth(1).unwrap();
    let labels = schema::Labels::of(&run.record);
    for id in [first, second] {
        let row = format!("it ({})", labels.label(id.condition.condition_index));
        assert!(of_published.contains(&row), "{row}");
    }
}

#[test]
fn beside_an_interval_of_the_job_stand_its_pairs_and_not_the_rounds() {
    use schema::findings::{AnswerOf, Confirmed, Estimate, Verdict};
    let counts = |run: &Run| page(run).matches("77 pairs").count();
    let mut run = run();
    let it = run.findings.comparisons.iter_mut().find(|it| it.speedup.is_some()).unwrap();
    let speedup = Estimate { median: 0.8, ci_low: 0.7, ci_high: 0.9 };
    let (rounds_speedup, rounds_verdict) = (it.speedup, it.verdict);
    let (bytes, ops, pairs, verdict) = (1 << 20, 16, 77, Verdict::Slower);
    it.confirmed =
        Some(Confirmed { bytes, ops, speedup, pairs, verdict, rounds_speedup, rounds_verdict, rounds_came_free: None });
    let of_rounds = counts(&run);
    let it = run.findings.comparisons.iter_mut().find(|it| it.speedup.is_some()).unwrap();
    (it.answer_of, it.speedup, it.verdict) = (AnswerOf::Job, Some(speedup), verdict);
    assert!(counts(&run) > of_rounds + 1, "in the chart and in the summary");
}

/// The page of a study with a claim that was measured once, as it is changed here.
fn with_measured_claim(change: impl Fn(&mut schema::findings::ClaimMeasured)) -> String {
    use schema::{
        experiment::{Claim, Expect, Variant},
        findings::{AnswerOf, ClaimMeasured, ClaimVerdict, Estimate},
    };
    let mut run = study();
    let mut measured = ClaimMeasured {
        id: run.findings.cells[1].id,
        than_cell: Some(0),
        against_cell: None,
        condition: "scan 32 KiB cached".into(),
        variant: Some(Variant::Corrected),
        value: Estimate { median: 1.4, ci_low: 1.3, ci_high: 1.5 },
        rounds: 9,
        answer_of: AnswerOf::Rounds,
        verdict: ClaimVerdict::Undecided,
        decides: true,
    };
    change(&mut measured);
    run.findings.claims[0].measured = vec![measured];
    let text = "title = \"T\"\n[[compare]]\narms = [\"read\", \"mmap\"]\nworkload = \"scan\"\nblock = \"4 KiB\"\n\
                state = \"cached\"\n[[claim]]\nid = \"a-time\"\nsays = \"it is so\"\narm = \"mmap\"\n\
                than = \"read\"\nexpect = \"lower\"";
    let claims: Vec<Claim> = schema::Experiment::parse("one", text).unwrap().claims;
    assert_eq!(claims[0].expect, Some(Expect::Lower));
    run.record.experiment.claims = claims;
    page(&run)
}

#[test]
fn what_was_measured_as_published_is_not_said_to_be_of_equal_work() {
    use schema::experiment::Variant;
    let equal_work = |variant| with_measured_claim(|it| it.variant = Some(variant)).contains("with equal work");
    assert_eq!([Variant::Corrected, Variant::AsPublished].map(equal_work), [true, false]);
}

#[test]
fn charts_mark_what_the_job_decided_and_what_it_does_not_confirm() {
    use schema::findings::{AnswerOf, ClaimVerdict, Verdict};
    let section = |page: &str, id: &str| {
        let section = page.split(&format!("<section id=\"{id}\"")).nth(1).unwrap();
        section.split("</section>").next().unwrap().to_string()
    };
    // In the mark on the chart and in the table.
    let marks = |text: &str| [", job<", ", unconfirmed<"].map(|it| text.matches(it).count());
    let claim = |answer_of, verdict| {
        let page = with_measured_claim(|it| (it.answer_of, it.verdict) = (answer_of, verdict));
        marks(&section(&page, "claims-measured"))
    };
    let speedup = |answer_of, verdict| {
        let mut run = run();
        let it = run.findings.comparisons.iter_mut().find(|it| it.speedup.is_some()).unwrap();
        (it.answer_of, it.verdict) = (answer_of, verdict);
        marks(&section(&page(&run), "speedup"))
    };
    use AnswerOf::{Job, Neither, Rounds, RoundsAndJob, RoundsUnconfirmed};
    for (answer_of, expected) in
        [(Rounds, [0, 0]), (RoundsAndJob, [0, 0]), (Neither, [0, 0]), (Job, [2, 0]), (RoundsUnconfirmed, [0, 2])]
    {
        assert_eq!(claim(answer_of, ClaimVerdict::Holds), expected, "{answer_of:?}");
        assert_eq!(speedup(answer_of, Verdict::Faster), expected, "{answer_of:?}");
    }
    // Nothing was decided that could be confirmed.
    assert_eq!(claim(RoundsUnconfirmed, ClaimVerdict::Undecided), [0, 0]);
    assert_eq!(speedup(RoundsUnconfirmed, Verdict::Undecided), [0, 0]);
}
