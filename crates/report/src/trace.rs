//! `faultline trace show`.

use schema::{
    Bytes,
    trace::{FileSummary, LeftOut, Summary},
};

use crate::layout::{
    number::{bytes, count, percent},
    text::visible,
    words::counted,
};

/// Sizes that are named; the others are counted.
const SIZES: usize = 4;

/// What a trace consists of, for a terminal.
pub fn trace(summary: &Summary) -> String {
    let accesses: u64 = summary.files.iter().map(|it| it.accesses).sum();
    let files = summary.files.len();
    let mut text = format!(
        "{} access{} of {files} file{}, recorded by {}\ndigest {}\n",
        count(accesses as f64),
        if accesses == 1 { "" } else { "es" },
        if files == 1 { "" } else { "s" },
        visible(&summary.recorder),
        visible(&summary.digest)
    );
    summary.files.iter().for_each(|it| text.push_str(&file(it)));
    let left_out = left_out(&summary.left_out);
    if !left_out.is_empty() {
        text.push_str(&format!("\nnot among them: {}\n", left_out.join(", ")));
    }
    text
}

fn file(file: &FileSummary) -> String {
    let named = file.sizes.iter().take(SIZES);
    let mut sizes: Vec<String> =
        named.map(|&(size, times)| format!("{} ({})", Bytes(size).exact(), count(times as f64))).collect();
    if file.sizes.len() > SIZES {
        sizes.push(counted(file.sizes.len() - SIZES, "other", "others"));
    }
    let share = file.in_order as f64 / file.accesses.max(1) as f64;
    let mut text = format!(
        "\n{}\n  {} accesses of {} together\n  {} distinct pages of {} ({}); the last byte that was read ends at {}\n  {} \
         begin where the one before ended\n  sizes: {}\n",
        visible(&file.path),
        count(file.accesses as f64),
        bytes(file.bytes as f64),
        count(file.distinct_pages as f64),
        Bytes(file.page_bytes).exact(),
        bytes((file.distinct_pages * file.page_bytes) as f64),
        Bytes(file.end_bytes).exact(),
        percent(share),
        sizes.join(", ")
    );
    if file.mappings > 0 {
        text.push_str(&format!(
            "  mapped {}: what was read through a mapping is not among the accesses\n",
            times(file.mappings)
        ));
    }
    text
}

fn times(number: u64) -> String {
    if number == 1 { "once".into() } else { format!("{} times", count(number as f64)) }
}

/// What the recorder saw beside the accesses.
fn left_out(left_out: &LeftOut) -> Vec<String> {
    let LeftOut { failed, at_end, unknown_offset, writes, other_files } = *left_out;
    let parts = [
        (failed, "that failed"),
        (at_end, "at the end of a file"),
        (unknown_offset, "at the position of a descriptor whose opening was not recorded"),
        (other_files, "of other files"),
    ];
    let reads = parts.into_iter().filter(|(number, _)| *number > 0);
    let mut said: Vec<String> = reads
        .map(|(number, what)| format!("{} read{} {what}", count(number as f64), if number == 1 { "" } else { "s" }))
        .collect();
    if writes > 0 {
        said.push(format!("{} write{}", count(writes as f64), if writes == 1 { "" } else { "s" }));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_told_with_what_is_missing_in_it() {
        let file = FileSummary {
            path: "/data/q\u{1b}[2J.db".into(),
            mappings: 1,
            accesses: 19_616,
            bytes: 80_347_136,
            distinct_pages: 543,
            page_bytes: 4096,
            in_order: 981,
            end_bytes: 85_983_232,
            sizes: vec![(4096, 19_600), (100, 10), (16, 4), (24, 1), (7, 1)],
        };
        let left_out = LeftOut { at_end: 1, unknown_offset: 2, writes: 3, ..LeftOut::default() };
        let summary = Summary { digest: "3fa9c1e2".into(), recorder: "strace".into(), files: vec![file], left_out };
        expect_test::expect![[r#"
            19,616 accesses of 1 file, recorded by strace
            digest 3fa9c1e2

            /data/q\u{1b}[2J.db
              19,616 accesses of 76.6 MiB together
              543 distinct pages of 4 KiB (2.12 MiB); the last byte that was read ends at 82 MiB
              5.0 % begin where the one before ended
              sizes: 4 KiB (19,600), 100 B (10), 16 B (4), 24 B (1), 1 other
              mapped once: what was read through a mapping is not among the accesses

            not among them: 1 read at the end of a file, 2 reads at the position of a descriptor whose opening was not recorded, 3 writes
        "#]].assert_eq(&trace(&summary));
    }
}
