//! What a trace consists of.

use std::collections::BTreeMap;

use schema::trace::{Access, FileSummary, Header, Summary, Via};

/// Of which sizes are told.
const PAGE_BYTES: u64 = 4096;

/// Counts a trace whose accesses are given in their order.
pub fn summary(header: &Header, digest: &str, accesses: &[Access]) -> Summary {
    let mut places: Vec<Vec<usize>> = vec![Vec::new(); header.files.len()];
    for (place, access) in accesses.iter().enumerate() {
        if let Some(own) = places.get_mut(access.file as usize) {
            own.push(place);
        }
    }
    let files = header.files.iter().zip(&places).map(|(file, own)| {
        let own = || own.iter().map(|&place| &accesses[place]);
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        // Threads that share a file have an order each, or go through it together, each with the next part.
        let (mut of_threads, mut of_all, mut touched) = (0, 0, 0);
        let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
        let mut last_end = None;
        for access in own() {
            touched += u64::from(access.via == Via::Mapping);
            *sizes.entry(access.bytes).or_default() += 1;
            let end = access.offset + access.bytes;
            of_threads += u64::from(ends.insert(access.thread, end) == Some(access.offset));
            of_all += u64::from(last_end.replace(end) == Some(access.offset));
        }
        let mut sizes: Vec<(u64, u64)> = sizes.into_iter().collect();
        sizes.sort_by_key(|&(bytes, count)| (std::cmp::Reverse(count), bytes));
        FileSummary {
            file: file.clone(),
            accesses: own().count() as u64,
            touched,
            threads: ends.len() as u64,
            bytes: own().map(|it| it.bytes).sum(),
            distinct_pages: distinct_pages(own()),
            page_bytes: PAGE_BYTES,
            in_order: of_threads.max(of_all),
            end_bytes: own().map(|it| it.offset + it.bytes).max().unwrap_or(0),
            sizes,
        }
    });
    Summary {
        digest: digest.to_string(),
        recorder: header.recorder.clone(),
        coverage: header.coverage,
        run: header.run.clone(),
        files: files.collect(),
        left_out: header.left_out,
    }
}

fn distinct_pages<'a>(accesses: impl Iterator<Item = &'a Access>) -> u64 {
    let mut pages: Vec<(u64, u64)> =
        accesses.map(|it| (it.offset / PAGE_BYTES, (it.offset + it.bytes).div_ceil(PAGE_BYTES))).collect();
    pages.sort_unstable();
    let (mut counted, mut reached) = (0, 0);
    for (first, end) in pages {
        counted += end.saturating_sub(first.max(reached));
        reached = reached.max(end);
    }
    counted
}

#[cfg(test)]
mod tests {
    use schema::trace::{LeftOut, TracedFile};

    use super::*;

    #[test]
    fn a_trace_is_counted_file_by_file() {
        let file = |path: &str| TracedFile { path: path.into(), ..TracedFile::default() };
        let header = Header::new("strace", vec![file("/a"), file("/b")], LeftOut::default());
        let access = Access::call;
        let touch = Access { thread: 1, via: Via::Mapping, ..access(0, 4300, 1) };
        let all = [access(0, 0, 4096), access(1, 9, 1), access(0, 4096, 4096), access(0, 4000, 200), touch];
        let summary = summary(&header, "d", &all);
        let first = &summary.files[0];
        assert_eq!((first.accesses, first.bytes, first.distinct_pages), (4, 8393, 2));
        assert_eq!((first.touched, first.threads), (1, 2));
        assert_eq!((first.in_order, first.end_bytes), (1, 8192), "other files between two accesses change no order");
        assert_eq!(first.sizes, [(4096, 2), (1, 1), (200, 1)]);
        assert_eq!((summary.files[1].distinct_pages, summary.files[1].in_order), (1, 0));
    }

    #[test]
    fn threads_that_share_a_file_have_an_order_each() {
        let header = Header::new("strace", vec![TracedFile::default()], LeftOut::default());
        let by = |thread, offset| Access { thread, ..Access::call(0, offset, 4096) };
        let all = [by(0, 0), by(1, 1 << 20), by(0, 4096), by(1, (1 << 20) + 4096)];
        assert_eq!(summary(&header, "d", &all).files[0].in_order, 2);
    }

    #[test]
    fn threads_that_take_turns_in_one_pass_over_a_file_are_in_order() {
        let header = Header::new("strace", vec![TracedFile::default()], LeftOut::default());
        let all: Vec<Access> =
            (0..4096).map(|at| Access { thread: at % 2, ..Access::call(0, u64::from(at) * 4096, 4096) }).collect();
        assert_eq!(summary(&header, "d", &all).files[0].in_order, 4095);
    }
}
