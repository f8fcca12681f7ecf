//! What a trace consists of.

use std::collections::{BTreeMap, HashMap};

use schema::trace::{Access, FileSummary, Header, Summary, Via};

/// Of which sizes are told.
const PAGE_BYTES: u64 = 4096;

/// Counts a trace, whose accesses are given in their order, one at a time.
#[derive(Default)]
pub struct Counting(Vec<OfFile>);

/// What is counted of a file.
#[derive(Default, Clone)]
struct OfFile {
    accesses: u64,
    touched: u64,
    bytes: u64,
    end_bytes: u64,
    sizes: HashMap<u64, u64>,
    /// Threads that share a file have an order each, or go through it together, each with the next part.
    of_threads: u64,
    of_all: u64,
    ends: BTreeMap<u32, u64>,
    last_end: Option<u64>,
    pages: Pages,
}

/// Pages that were reached.
#[derive(Default, Clone)]
struct Pages {
    /// First page and the one after the last. The first `merged` are in ascending order, with gaps between them.
    parts: Vec<(u64, u64)>,
    merged: usize,
}

impl Pages {
    /// Parts that wait to be merged: 16 MiB of them.
    const WAITING: usize = 1 << 20;

    fn add(&mut self, first: u64, end: u64) {
        if self.parts.len() - self.merged == Pages::WAITING {
            self.merge();
            // Doubled, ten million parts would take twice the memory.
            self.parts.reserve_exact(Pages::WAITING);
        }
        match self.parts.last_mut() {
            // The rest of a scan, or of a page.
            Some(last) if last.0 <= first && first <= last.1 => last.1 = last.1.max(end),
            _ => self.parts.push((first, end)),
        }
    }

    fn merge(&mut self) {
        self.parts.sort_unstable();
        self.parts.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
        self.merged = self.parts.len();
    }

    fn count(mut self) -> u64 {
        self.merge();
        self.parts.iter().map(|(first, end)| end - first).sum()
    }
}

impl Counting {
    pub fn add(&mut self, access: &Access) {
        let place = access.file as usize;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, OfFile::default);
        }
        let of = &mut self.0[place];
        let end = access.offset + access.bytes;
        of.accesses += 1;
        of.touched += u64::from(access.via == Via::Mapping);
        of.bytes += access.bytes;
        of.end_bytes = of.end_bytes.max(end);
        *of.sizes.entry(access.bytes).or_default() += 1;
        of.of_threads += u64::from(of.ends.insert(access.thread, end) == Some(access.offset));
        of.of_all += u64::from(of.last_end.replace(end) == Some(access.offset));
        of.pages.add(access.offset / PAGE_BYTES, end.div_ceil(PAGE_BYTES));
    }

    pub fn finish(mut self, header: &Header, digest: &str) -> Summary {
        self.0.resize_with(header.files.len(), OfFile::default);
        let files = header.files.iter().zip(self.0).map(|(file, of)| {
            let mut sizes: Vec<(u64, u64)> = of.sizes.into_iter().collect();
            sizes.sort_by_key(|&(bytes, count)| (std::cmp::Reverse(count), bytes));
            FileSummary {
                file: file.clone(),
                accesses: of.accesses,
                touched: of.touched,
                threads: of.ends.len() as u64,
                bytes: of.bytes,
                distinct_pages: of.pages.count(),
                page_bytes: PAGE_BYTES,
                in_order: of.of_threads.max(of.of_all),
                end_bytes: of.end_bytes,
                sizes,
            }
        });
        Summary {
            digest: digest.to_string(),
            recorder: header.recorder.clone(),
            coverage: header.coverage,
            of_any_file: header.of_any_file,
            not_seen: header.not_seen.clone(),
            run: header.run.clone(),
            files: files.collect(),
            left_out: header.left_out,
        }
    }
}

/// Of accesses that are all in memory.
pub fn summary(header: &Header, digest: &str, accesses: &[Access]) -> Summary {
    let mut counting = Counting::default();
    accesses.iter().for_each(|it| counting.add(it));
    counting.finish(header, digest)
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
    fn pages_are_counted_once_however_many_parts_reach_them() {
        let mut pages = Pages::default();
        let mut known = std::collections::BTreeSet::new();
        let mut state = 1u64;
        for _ in 0..Pages::WAITING + 1000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (first, count) = (state >> 48, state >> 32 & 3);
            pages.add(first, first + count);
            known.extend(first..first + count);
        }
        assert_eq!(pages.count(), known.len() as u64);
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
