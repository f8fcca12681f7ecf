//! `faultline trace show`.

use schema::{
    Bytes,
    advice::AdviceReason,
    trace::{Exact, FileSummary, Inexact, LeftOut, NotSeen, RecordedRun, Summary, TracedFile, Unseen},
};

use crate::layout::{
    number::{bytes, count, duration, part, percent},
    text::visible,
    words::counted,
};
use crate::words::{advice_reason, numbers::in_page_cache};

/// Sizes that are named; the others are counted.
const SIZES: usize = 4;

/// What a trace consists of, for a terminal. It begins with what it lacks of the files that are meant.
pub fn trace(summary: &Summary, is_meant: impl Fn(&TracedFile) -> bool) -> String {
    let accesses: u64 = summary.files.iter().map(|it| it.accesses).sum();
    let files = summary.files.len();
    let mut text = String::new();
    let meant = summary.files.iter().filter(|it| is_meant(&it.file)).map(|it| (&it.file, it.touched));
    for gap in trace_gaps(summary.coverage_of(&is_meant), &summary.not_seen, meant) {
        text.push_str(&format!("{gap}\n"));
    }
    text.push_str(&format!(
        "{} of {}, recorded by {}\ndigest {}\n",
        counted(accesses as usize, "access", "accesses"),
        counted(files, "file", "files"),
        visible(&summary.recorder),
        visible(&summary.digest)
    ));
    let all_are_known = summary.files.iter().all(|it| it.file.unseen(it.touched).is_none());
    let some_are_touched = summary.files.iter().any(|it| it.touched > 0);
    summary.run.iter().for_each(|it| text.push_str(&run(it, some_are_touched, all_are_known)));
    let some_are_small = summary.left_out.small_mappings > 0;
    summary.files.iter().for_each(|it| text.push_str(&file(it, some_are_small)));
    let left_out = left_out(&summary.left_out);
    if !left_out.is_empty() {
        text.push_str(&format!("\nnot among them: {}\n", left_out.join(", ")));
    }
    text
}

/// What a trace lacks of what is read of the files that are meant, each with the touches of pages that it has of it, and what
/// its recorder did not see.
pub fn trace_gaps<'a>(
    coverage: f64,
    unseen: &NotSeen,
    meant: impl Iterator<Item = (&'a TracedFile, u64)>,
) -> Vec<String> {
    let share = (coverage < 1.0)
        .then(|| format!("incomplete: the trace has {} of the accesses that it was to have", part(coverage)));
    let mapped: Vec<(&TracedFile, Unseen)> =
        meant.filter_map(|(it, touched)| Some((it, it.unseen(touched)?))).collect();
    let first = mapped.first().map(|(of, why)| {
        let others = match mapped.len() - 1 {
            0 => String::new(),
            others => format!(" (and {})", counted(others, "other file", "other files")),
        };
        format!("incomplete: of {}{others}, {}", visible(&of.path), unseen_pages(*why))
    });
    share.into_iter().chain(not_seen(unseen)).chain(first).collect()
}

/// As the advice says it of a command.
fn not_seen(of: &NotSeen) -> impl Iterator<Item = String> {
    let rings = (of.rings > 0).then_some(AdviceReason::Rings { rings: of.rings });
    let others = of.incomplete.iter().map(|why| AdviceReason::NotAllSeen { why: why.clone() });
    rings.into_iter().chain(others).map(|it| format!("incomplete: {}", visible(&advice_reason(&it))))
}

fn unseen_pages(why: Unseen) -> String {
    match why {
        Unseen::NotAsked => "what was read through a mapping is not among the accesses".into(),
        Unseen::Unknown(why) => {
            format!("the pages that were touched are not known, or not all of them: {}", visible(&why.to_string()))
        }
    }
}

/// `some_are_touched`: its bytes are of touched pages, too; `all_are_known`: of all that were touched.
fn run(run: &RecordedRun, some_are_touched: bool, all_are_known: bool) -> String {
    let words: Vec<String> = run.command.iter().map(|it| visible(it)).collect();
    let command = if words.is_empty() { "a command that the trace does not name".into() } else { words.join(" ") };
    let mut text = format!(
        "{command}\n  {} under the recorder, {}, {} copied{}{}\n",
        duration(run.wall_ns as f64),
        counted(run.threads as usize, "thread", "threads"),
        bytes(run.bytes as f64),
        if some_are_touched { " or touched" } else { "" },
        if all_are_known { "" } else { ", beside pages of mappings that are not known" }
    );
    run.notes.iter().for_each(|it| text.push_str(&format!("  note: {}\n", visible(it))));
    text
}

fn file(summary: &FileSummary, some_are_small: bool) -> String {
    let FileSummary { file, accesses, .. } = summary;
    let mut text = format!("\n{}\n", visible(&file.path));
    if let Some(whole) = file.bytes {
        let was_cold = !matches!(file.inexact, Some(Inexact::NotCold { .. }));
        let resident = match file.evicted && was_cold {
            true => Some(", evicted before it was recorded, as far as that could be".to_string()),
            false => file.resident_before.map(|it| format!(", {} before", in_page_cache(it))),
        };
        text.push_str(&format!("  {}{}\n", Bytes(whole).exact(), resident.unwrap_or_default()));
    }
    if *accesses > 0 {
        text.push_str(&sums(summary));
    }
    text.push_str(&mapped(summary, some_are_small));
    let hints = file.counts.iter().flat_map(|it| &it.hints);
    let hints: Vec<String> = hints.map(|(hint, number)| format!("{} {}", visible(hint), times(*number))).collect();
    if !hints.is_empty() {
        text.push_str(&format!("  advised: {}\n", hints.join(", ")));
    }
    text
}

/// How it was mapped, and what is known of the pages that were touched.
fn mapped(summary: &FileSummary, some_are_small: bool) -> String {
    let file = &summary.file;
    if file.mappings == 0 {
        return String::new();
    }
    let populated = file.counts.iter().flat_map(|it| &it.mappings).filter(|it| it.populate);
    let populated = populated.map(|it| it.count).fold(0, u64::saturating_add);
    let populated =
        if populated > 0 { format!(", {populated} of them with MAP_POPULATE or MAP_LOCKED") } else { String::new() };
    // Which file the small ones are of is not known.
    let pages = match some_are_small {
        true => "the pages that were touched in mappings of 1 MiB or more",
        false => "the pages that were touched",
    };
    let unseen = match file.unseen_touches {
        0 => String::new(),
        touches => format!(", but for at most {} that could not be seen", count(touches as f64)),
    };
    let known = match (file.exact, file.unseen(summary.touched)) {
        (Exact::Order, _) => format!("{pages} are among the accesses, in the order of their first touches{unseen}"),
        (Exact::Set, _) => format!("{pages} are among the accesses, in no order{unseen}"),
        (Exact::None, Some(why)) => unseen_pages(why),
        (Exact::None, None) if summary.touched > 0 => "it counts as touched whole".into(),
        (Exact::None, None) => unseen_pages(Unseen::NotAsked),
    };
    format!("  mapped {}{populated}: {known}\n", times(file.mappings))
}

fn sums(file: &FileSummary) -> String {
    let named = file.sizes.iter().take(SIZES);
    let mut sizes: Vec<String> =
        named.map(|&(size, times)| format!("{} ({})", Bytes(size).exact(), count(times as f64))).collect();
    if file.sizes.len() > SIZES {
        sizes.push(counted(file.sizes.len() - SIZES, "other", "others"));
    }
    let share = file.in_order as f64 / file.accesses.max(1) as f64;
    let touched = match file.touched {
        0 => String::new(),
        touched => format!(", {} of them touches of pages in a mapping", count(touched as f64)),
    };
    let threads = match file.threads {
        0 | 1 => String::new(),
        threads => format!(", by {threads} threads"),
    };
    let order = match file.threads {
        0 | 1 => "",
        _ => ", of its thread or of all",
    };
    format!(
        "  {} of {} together{touched}{threads}\n  {} of {} ({}); the last byte that was read ends \
         at {}\n  {} begin where the one before ended{order}\n  sizes: {}\n",
        counted(file.accesses as usize, "access", "accesses"),
        bytes(file.bytes as f64),
        counted(file.distinct_pages as usize, "distinct page", "distinct pages"),
        Bytes(file.page_bytes).exact(),
        bytes(file.touched_bytes() as f64),
        Bytes(file.end_bytes).exact(),
        percent(share),
        sizes.join(", ")
    )
}

fn times(number: u64) -> String {
    if number == 1 { "once".into() } else { format!("{} times", count(number as f64)) }
}

/// What the recorder saw beside the accesses.
fn left_out(left_out: &LeftOut) -> Vec<String> {
    let LeftOut { failed, at_end, unknown_offset, writes, other_files, beyond_limit, small_mappings } = *left_out;
    let parts = [
        (failed, "that failed"),
        (at_end, "that found no byte"),
        (unknown_offset, "at offsets that were not seen"),
        (other_files, "of other files"),
    ];
    let reads = parts.into_iter().filter(|(number, _)| *number > 0);
    let mut said: Vec<String> = reads
        .map(|(number, what)| format!("{} read{} {what}", count(number as f64), if number == 1 { "" } else { "s" }))
        .collect();
    if beyond_limit > 0 {
        let beyond = counted(beyond_limit as usize, "call, touch or mapping", "calls, touches and mappings");
        said.push(format!("{beyond} beyond what a trace holds"));
    }
    if small_mappings > 0 {
        said.push(format!("touches in {} of less than 1 MiB", counted(small_mappings as usize, "mapping", "mappings")));
    }
    if writes > 0 {
        said.push(format!("{} write{}", count(writes as f64), if writes == 1 { "" } else { "s" }));
    }
    said
}

#[cfg(test)]
mod tests {
    use schema::{
        observation::{Access, MappingCount},
        trace::Inexact,
    };

    use super::*;

    #[test]
    fn a_trace_is_told_with_what_is_missing_in_it() {
        let file = FileSummary {
            file: TracedFile { path: "/data/q\u{1b}[2J.db".into(), mappings: 1, ..TracedFile::default() },
            accesses: 19_616,
            touched: 0,
            threads: 1,
            bytes: 80_347_136,
            distinct_pages: 543,
            page_bytes: 4096,
            in_order: 981,
            end_bytes: 85_983_232,
            sizes: vec![(4096, 19_600), (100, 10), (16, 4), (24, 1), (7, 1)],
        };
        let left_out = LeftOut { at_end: 1, unknown_offset: 2, writes: 3, ..LeftOut::default() };
        let summary = Summary {
            digest: "3fa9c1e2".into(),
            recorder: "strace".into(),
            coverage: 1.0,
            of_any_file: None,
            not_seen: NotSeen::default(),
            run: None,
            files: vec![file],
            left_out,
        };
        expect_test::expect![[r#"
            incomplete: of /data/q\u{1b}[2J.db, what was read through a mapping is not among the accesses
            19,616 accesses of 1 file, recorded by strace
            digest 3fa9c1e2

            /data/q\u{1b}[2J.db
              19,616 accesses of 76.6 MiB together
              543 distinct pages of 4 KiB (2.12 MiB); the last byte that was read ends at 82 MiB
              5.0 % begin where the one before ended
              sizes: 4 KiB (19,600), 100 B (10), 16 B (4), 24 B (1), 1 other
              mapped once: what was read through a mapping is not among the accesses

            not among them: 1 read that found no byte, 2 reads at offsets that were not seen, 3 writes
        "#]]
        .assert_eq(&trace(&summary, |_| true));
    }

    #[test]
    fn a_recorded_trace_says_first_what_it_lacks_and_for_each_file_what_is_known_of_its_pages() {
        let counts = Access {
            opens: 1,
            mappings: vec![MappingCount { populate: true, count: 1, bytes: 1 << 20, ..MappingCount::default() }],
            hints: [("madvise(MADV_WILLNEED)".into(), 2)].into(),
            ..Access::default()
        };
        let mapped = |path: &str, exact, inexact| TracedFile {
            path: path.into(),
            unseen_touches: 1500,
            mappings: 2,
            bytes: Some(2 << 20),
            resident_before: Some(0.25),
            evicted: path == "/b",
            exact,
            inexact,
            counts: Some(counts.clone()),
            ..TracedFile::default()
        };
        let of = |file, accesses| FileSummary {
            file,
            accesses,
            touched: accesses,
            threads: 2,
            bytes: accesses * 4096,
            distinct_pages: accesses,
            page_bytes: 4096,
            in_order: 0,
            end_bytes: 2 << 20,
            sizes: vec![(4096, accesses)],
        };
        let not_all = Inexact::BudgetOver { budget_ms: 30_000 };
        let summary = Summary {
            digest: "3fa9c1e2".into(),
            recorder: "ptrace".into(),
            coverage: 0.431,
            of_any_file: None,
            run: Some(RecordedRun {
                command: vec!["sqlite3".into(), "t.db".into(), "select\u{1b} 1".into()],
                wall_ns: 1_234_000_000,
                threads: 2,
                bytes: 4096 * 500,
                notes: vec!["it ended with status 3".into()],
            }),
            not_seen: NotSeen { rings: 1, incomplete: vec!["it traces processes itself".into()] },
            files: vec![of(mapped("/a", Exact::Order, None), 500), of(mapped("/b", Exact::None, Some(not_all)), 0)],
            left_out: LeftOut { beyond_limit: 700, small_mappings: 1, ..LeftOut::default() },
        };
        expect_test::expect![[r#"
            incomplete: the trace has 43 % of the accesses that it was to have
            incomplete: the program set up 1 ring (io_uring or Linux AIO), and what it reads through them is not seen
            incomplete: not all that the program does was seen: it traces processes itself
            incomplete: of /b, the pages that were touched are not known, or not all of them: the time for it was over after 30 s; a longer --exact-budget may reach the end
            500 accesses of 2 files, recorded by ptrace
            digest 3fa9c1e2
            sqlite3 t.db select\u{1b} 1
              1.23 s under the recorder, 2 threads, 1.95 MiB copied or touched, beside pages of mappings that are not known
              note: it ended with status 3

            /a
              2 MiB, 25 % of it in the page cache before
              500 accesses of 1.95 MiB together, 500 of them touches of pages in a mapping, by 2 threads
              500 distinct pages of 4 KiB (1.95 MiB); the last byte that was read ends at 2 MiB
              0.0 % begin where the one before ended, of its thread or of all
              sizes: 4 KiB (500)
              mapped 2 times, 1 of them with MAP_POPULATE or MAP_LOCKED: the pages that were touched in mappings of 1 MiB or more are among the accesses, in the order of their first touches, but for at most 1,500 that could not be seen
              advised: madvise(MADV_WILLNEED) 2 times

            /b
              2 MiB, evicted before it was recorded, as far as that could be
              mapped 2 times, 1 of them with MAP_POPULATE or MAP_LOCKED: the pages that were touched are not known, or not all of them: the time for it was over after 30 s; a longer --exact-budget may reach the end
              advised: madvise(MADV_WILLNEED) 2 times

            not among them: 700 calls, touches and mappings beyond what a trace holds, touches in 1 mapping of less than 1 MiB
        "#]].assert_eq(&trace(&summary, |_| true));
    }

    #[test]
    fn a_trace_lacks_what_was_mapped_and_not_recorded_but_for_code_and_what_counts_as_touched_whole() {
        let mapped = |exact, inexact| TracedFile { mappings: 1, exact, inexact, ..TracedFile::default() };
        let over = Inexact::BudgetOver { budget_ms: 1000 };
        let executable = MappingCount { executable: true, count: 1, ..MappingCount::default() };
        let counts = Access { mappings: vec![executable], ..Access::default() };
        let code = TracedFile { counts: Some(counts), ..mapped(Exact::None, None) };
        let (plain, part) = (mapped(Exact::None, None), mapped(Exact::None, Some(over.clone())));
        assert_eq!([plain.unseen(0), plain.unseen(7)], [Some(Unseen::NotAsked), None]);
        assert_eq!([part.unseen(0), part.unseen(7)], [Some(Unseen::Unknown(&over)); 2]);
        let [order, read] = [mapped(Exact::Order, None), TracedFile::default()];
        assert_eq!([&order, &read, &code].map(|it| it.unseen(0)), [None; 3]);
        let gaps = |coverage, meant: &[&TracedFile]| {
            trace_gaps(coverage, &NotSeen::default(), meant.iter().map(|it| (*it, 0))).len()
        };
        assert_eq!([gaps(1.0, &[&order, &code]), gaps(1.0, &[&plain, &part]), gaps(0.5, &[&part])], [0, 1, 2]);
    }

    #[test]
    fn pages_have_no_more_bytes_than_the_file_that_they_are_of() {
        let of = |bytes, end_bytes| FileSummary {
            file: TracedFile { path: "/a".into(), bytes, ..TracedFile::default() },
            accesses: 2,
            touched: 0,
            threads: 1,
            bytes: end_bytes,
            distinct_pages: 2,
            page_bytes: 4096,
            in_order: 1,
            end_bytes,
            sizes: vec![(4096, 1)],
        };
        assert_eq!(of(Some(5000), 5000).touched_bytes(), 5000);
        assert_eq!(of(Some(1 << 20), 5000).touched_bytes(), 8192);
        assert_eq!(of(Some(100), 5000).touched_bytes(), 5000, "it grew");
        assert_eq!(of(None, 5000).touched_bytes(), 8192, "how large it was is not known");
        assert!(sums(&of(Some(5000), 5000)).contains("4.88 KiB"));
    }

    #[test]
    fn counts_of_a_strangers_trace_that_no_number_holds_are_the_largest_number() {
        let mapping = MappingCount {
            shared: true,
            writable: false,
            executable: false,
            populate: true,
            count: u64::MAX,
            bytes: u64::MAX,
        };
        let counts = Access { mappings: vec![mapping.clone(), mapping], ..Access::default() };
        let file = TracedFile { path: "/a".into(), mappings: 2, counts: Some(counts), ..TracedFile::default() };
        let summary = FileSummary {
            file,
            accesses: 0,
            touched: 0,
            threads: 0,
            bytes: 0,
            distinct_pages: 0,
            page_bytes: 4096,
            in_order: 0,
            end_bytes: 0,
            sizes: Vec::new(),
        };
        assert!(mapped(&summary, false).contains("MAP_POPULATE"));
    }
}
