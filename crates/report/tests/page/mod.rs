//! The page as text, and in a real browser where there is one.

#![allow(clippy::disallowed_methods, reason = "the page is put before a browser; the crate itself does no I/O")]

use std::{fs, path::Path, process::Command};

use crate::{
    hostile,
    support::{Run, run, study},
};

fn page(run: &Run) -> String {
    report::html(&run.record, &run.findings)
}

/// What is ours: the page up to the charting library.
fn ours(page: &str) -> &str {
    &page[..page.find("plotly.js v").expect("the library is in the page")]
}

fn figures(page: &str) -> Vec<serde_json::Value> {
    let begin = page.find("id=\"figures\">").unwrap() + "id=\"figures\">".len();
    let json = &page[begin..begin + page[begin..].find("</script>").unwrap()];
    serde_json::from_str(json).unwrap()
}

/// Each trace in a line: what it is, of whom, how many points.
fn outline(page: &str) -> String {
    let mut lines = String::new();
    for (at, figure) in figures(page).iter().enumerate() {
        for trace in figure["traces"].as_array().unwrap() {
            let points = trace["x"].as_array().map_or(0, Vec::len);
            let name = trace["name"].as_str().unwrap_or("band");
            lines += &format!("{at} {} {name}: {points}\n", trace["type"].as_str().unwrap());
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
fn the_page_begins_with_the_answer_and_every_chart_has_a_table() {
    let page = page(&run());
    assert!(page.len() < 6_000_000, "{}", page.len());
    let ours = ours(&page);
    let at = |id: &str| ours.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no section {id}"));
    let order = [
        "answer",
        "block-size",
        "where-time",
        "speedup",
        "faults",
        "timeline",
        "published",
        "samples",
        "claims",
        "lost",
        "arms",
        "machine",
        "again",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])));
    assert_eq!(ours.matches("class=\"chart\"").count(), figures(&page).len());
    assert_eq!(
        ours.matches("<summary>The numbers</summary><div class=\"scroll\"><table>").count(),
        figures(&page).len()
    );
    assert!(ours.contains("This experiment is no reproduction of something published."));
    assert!(ours.contains("io_uring is switched off (kernel.io_uring_disabled = 2)"));
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let page = page(&run());
    let ours = ours(&page);
    assert!(ours.contains("default-src 'none'"));
    assert!(!ours.contains("http:") && !ours.contains("https:") && !ours.contains(" src="), "{ours}");
}

#[test]
fn markup_in_a_record_comes_out_as_text() {
    for evil in ["</script><script>alert(1)</script>", "\"><img onerror=alert(1)>", "<!--<script>", "<b>&amp;</b>"] {
        let page = page(&hostile(evil));
        let ours = ours(&page);
        assert_eq!(page.matches("<script").count() - page[ours.len()..].matches("<script").count(), 2, "{evil}");
        assert!(!ours.contains(evil) && !ours.contains("<img") && !ours.contains("<b>&amp;"), "{evil}");
        // The library reads markup in its labels: nothing of it is left in the strings either.
        let data = figures(&page).iter().map(|it| it["traces"].to_string()).collect::<String>();
        let theirs = ["<extra></extra>", "<extra>%{fullData.name}</extra>", "<br>"];
        let data = theirs.iter().fold(data, |data, it| data.replace(it, ""));
        assert!(!data.contains('<'), "{evil}");
    }
}

#[test]
fn a_text_of_a_megabyte_in_every_place_is_shortened() {
    let page = page(&hostile(&"x".repeat(1 << 20)));
    assert!(page.len() < 6_000_000, "{}", page.len());
}

#[test]
fn a_page_of_several_runs_lets_no_markup_through_either() {
    let evil = "</script><script>alert(1)</script>";
    let page = report::across_html(&crate::several::beside(&hostile(evil)));
    let ours = ours(&page);
    assert_eq!(ours.matches("<script").count(), 2);
    assert!(!ours.contains(evil) && ours.contains("against"));
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

/// Loads the page at two widths, and says what it looks like: one line for each.
const FRAMES: &str = r#"<!DOCTYPE html><body><iframe src="page.html" width="400" height="800"></iframe><iframe src="page.html" width="1400" height="800"></iframe>
<script>
const look = () => {
  const frames = [...document.querySelectorAll("iframe")].map((it) => it.contentDocument);
  if (!frames.every((it) => it && it.documentElement && it.documentElement.dataset.drawn)) { setTimeout(look, 50); return; }
  const count = (it, what) => it.querySelectorAll(what).length;
  document.body.innerHTML = frames.map((it) => "<p>looked " + [it.documentElement.dataset.drawn, count(it, ".chart .main-svg") > 0 ? count(it, ".chart .plot-container") : 0,
    count(it, ".points path"), count(it, "table"), it.documentElement.scrollWidth - it.documentElement.clientWidth].join(" ") + "</p>").join("");
};
look();
</script>"#;

fn browser() -> Option<String> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .map(str::to_string)
        .find(|it| Command::new(it).arg("--version").output().is_ok_and(|output| output.status.success()))
}

/// Figures drawn, plots, marks, tables, and by how much the page is too wide; at 400 and at 1400 pixels.
fn look(browser: &str, run: &Run, dark: bool) -> [[i64; 5]; 2] {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.html"), page(run)).unwrap();
    fs::write(folder.path().join("frames.html"), FRAMES).unwrap();
    let address = |path: &Path| format!("file://{}", path.display());
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
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    let output = command.arg(address(&folder.path().join("frames.html"))).output().unwrap();
    let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // A request that the page's own policy refuses is told there too.
    let told: Vec<&str> = log.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(told.is_empty(), "{told:?}");
    let seen = dom.split("<p>looked ").skip(1).map(|line| {
        let numbers: Vec<i64> = line[..line.find('<').unwrap()].split(' ').map(|it| it.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    });
    seen.collect::<Vec<[i64; 5]>>()
        .try_into()
        .unwrap_or_else(|_| panic!("the page was not drawn: {dom:.2000}\n{log:.2000}"))
}

#[test]
fn a_browser_draws_every_chart_at_both_widths_without_a_word_on_its_console() {
    let Some(browser) = browser() else {
        println!("skipped: no chromium in PATH that could draw the page");
        return;
    };
    for (run, dark) in [(run(), false), (study(), true), (large(), false)] {
        let expected = figures(&page(&run)).len() as i64;
        let samples =
            run.record.samples.iter().filter(|it| matches!(it.outcome, schema::record::Outcome::Ok { .. })).count()
                as i64;
        for [drawn, plots, marks, tables, too_wide] in look(&browser, &run, dark) {
            assert_eq!((drawn, plots), (expected, expected));
            assert!(marks >= samples, "{marks} marks for {samples} samples");
            assert!(tables > expected);
            assert!(too_wide <= 0, "{too_wide} pixels too wide");
        }
    }
}
