//! What the advice of a process's mappings may cost, from what was seen and counted without a trace: which file to ask about
//! first. Nothing here says why pages came in.

use std::cmp::Reverse;

use schema::{
    Reading,
    inspection::{AdviceCost, MappedFile, ProcessView, Unlooked, Watched},
};

/// Of less than this nothing is asked: it is less than one window of read-ahead on many disks, and every library has such
/// mappings.
const LEAST_BYTES: u64 = 1 << 20;

/// Where calls returned at most this share of what came from the device, the device was read by faults.
const BY_CALLS: f64 = 0.05;

/// The files by what their advice may cost, those with a cost that was counted first; and what a major fault brought in on
/// average.
pub fn advised(mut view: ProcessView) -> ProcessView {
    for file in &mut view.files {
        file.cost = cost(file, view.page_bytes);
    }
    view.files.sort_by_key(rank);
    if let Some(watched) = &mut view.watched {
        watched.device_bytes_per_major_fault = per_major_fault(watched, &view.files, view.page_bytes);
    }
    view
}

fn cost(file: &MappedFile, page_bytes: u64) -> Option<AdviceCost> {
    if file.is_code || file.residency.why() == Some(&Unlooked::Memory) {
        return None;
    }
    match file.unadvised_bytes {
        None => return (file.bytes >= LEAST_BYTES).then_some(AdviceCost::AdviceUnknown),
        Some(bytes) if bytes < LEAST_BYTES => return None,
        Some(_) => {}
    }
    if let Some(Reading::Value(bytes)) = file.meanwhile.as_ref().map(|it| &it.unmapped_more_bytes) {
        return Some(match bytes {
            0 => AdviceCost::CountedNothing,
            bytes => AdviceCost::Counted { unmapped_bytes: *bytes },
        });
    }
    Some(match &file.residency {
        Reading::Value(it) => {
            let bytes = it.pages.saturating_sub(it.resident).saturating_mul(page_bytes);
            // The last page may be a part of one.
            AdviceCost::NotCached { bytes: bytes.min(file.file_bytes.value().copied().unwrap_or(0)) }
        }
        Reading::Unavailable { .. } => AdviceCost::NotMapped { bytes: file.bytes.saturating_sub(file.resident_bytes) },
    })
}

/// The smallest comes first.
fn rank(file: &MappedFile) -> (u8, Reverse<u64>, Reverse<u64>) {
    let (class, bytes) = match file.cost {
        Some(AdviceCost::Counted { unmapped_bytes }) => (0, unmapped_bytes),
        Some(AdviceCost::NotCached { bytes } | AdviceCost::NotMapped { bytes }) => (1, bytes),
        Some(AdviceCost::CountedNothing) => (2, 0),
        Some(AdviceCost::AdviceUnknown) => (3, 0),
        None => (4, 0),
    };
    (class, Reverse(bytes), Reverse(file.bytes))
}

/// Absent where it is more than the largest window of read-ahead, which is what one fault can bring in: then io_uring, AIO,
/// hints or read-ahead at minor faults read as well, and none of them is counted.
fn per_major_fault(watched: &Watched, files: &[MappedFile], page_bytes: u64) -> Option<f64> {
    let reads = watched.reads.value()?;
    let by_faults = reads.read_call_bytes as f64 <= BY_CALLS * reads.device_bytes as f64;
    let window = *files.iter().filter_map(|it| it.read_ahead_bytes.value()).max()?;
    let is_possible = reads.device_bytes <= watched.major_faults.saturating_mul(window.max(page_bytes));
    let is_known = by_faults && is_possible && watched.major_faults > 0;
    is_known.then(|| reads.device_bytes as f64 / watched.major_faults as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::inspection::{FileMeanwhile, MappingAdvice, Residency, WatchedReads};

    fn file(name: &str) -> MappedFile {
        let zero = || Reading::Value(0);
        MappedFile {
            name: name.into(),
            device: "8:1".into(),
            inode: 1,
            is_code: false,
            mappings: 1,
            bytes: 8 << 20,
            unadvised_bytes: Some(8 << 20),
            advice: Some(Vec::new()),
            resident_bytes: 4096,
            file_bytes: Reading::Value(8 << 20),
            residency: Reading::Value(Residency {
                asked: "cachestat".into(),
                pages: 2048,
                resident: 1024,
                dirty: zero(),
                under_writeback: zero(),
                evicted: zero(),
                recently_evicted: zero(),
            }),
            folio_orders: Reading::unavailable(Unlooked::Stranger),
            pages_per_fault: Reading::unavailable(Unlooked::Stranger),
            read_ahead_bytes: Reading::unavailable(Unlooked::Stranger),
            meanwhile: None,
            cost: None,
        }
    }

    fn counted(name: &str, unmapped: u64) -> MappedFile {
        let unmapped_more_bytes = Reading::Value(unmapped);
        let (cached_more_bytes, mapped_more_bytes) = (Reading::Value(unmapped as i64), Reading::Value(0));
        let meanwhile = Some(FileMeanwhile { cached_more_bytes, mapped_more_bytes, unmapped_more_bytes });
        MappedFile { meanwhile, ..file(name) }
    }

    fn view(files: Vec<MappedFile>) -> ProcessView {
        ProcessView {
            pid: 1,
            command: "one".into(),
            thread: None,
            page_bytes: 4096,
            without_memory: None,
            runtimes: Vec::new(),
            watched: None,
            files,
            mappings: Vec::new(),
        }
    }

    fn order(files: Vec<MappedFile>) -> Vec<String> {
        advised(view(files)).files.into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn what_was_counted_comes_before_what_may_be_and_that_before_what_has_advice() {
        let advice = Some(vec![MappingAdvice::Random]);
        let random = MappedFile { unadvised_bytes: Some(0), advice, ..counted("random", 9 << 20) };
        let code = MappedFile { is_code: true, ..counted("code", 9 << 20) };
        let small = MappedFile { unadvised_bytes: Some(4096), bytes: 4096, ..counted("small", 4096) };
        let memory = MappedFile { residency: Reading::unavailable(Unlooked::Memory), ..file("memory") };
        let files = vec![random, code, small, memory, counted("little", 4096), file("maybe"), counted("none", 0)];
        let ordered = order([files, vec![counted("much", 1 << 20)]].concat());
        assert_eq!(ordered[..4], ["much", "little", "maybe", "none"]);
        let without = advised(view(vec![MappedFile { is_code: true, ..file("code") }]));
        assert_eq!(without.files[0].cost, None);
    }

    #[test]
    fn without_counts_the_file_with_the_most_pages_that_may_be_missed_is_first() {
        let Reading::Value(half) = file("half").residency else { unreachable!() };
        let full = MappedFile { residency: Reading::Value(Residency { resident: 2048, ..half }), ..file("full") };
        let unknown = MappedFile { residency: Reading::unavailable(Unlooked::Stranger), ..file("unknown") };
        let ordered = advised(view(vec![full, file("half"), unknown]));
        let costs: Vec<_> = ordered.files.iter().map(|it| (it.name.as_str(), it.cost.unwrap())).collect();
        let not_mapped = AdviceCost::NotMapped { bytes: (8 << 20) - 4096 };
        let not_cached = |bytes| AdviceCost::NotCached { bytes };
        assert_eq!(costs, [("unknown", not_mapped), ("half", not_cached(4 << 20)), ("full", not_cached(0))]);
    }

    #[test]
    fn a_file_that_ends_within_a_page_has_no_more_and_no_fewer_bytes_that_are_not_cached_than_it_has() {
        let Reading::Value(half) = file("half").residency else { unreachable!() };
        for (file_bytes, pages) in [((100 << 20) + 1, 25_601), (4097, 2), (8 << 20, 2048)] {
            let residency = Reading::Value(Residency { pages, resident: 0, ..half.clone() });
            let nothing = MappedFile { file_bytes: Reading::Value(file_bytes), residency, ..file("nothing") };
            let costs: Vec<_> = advised(view(vec![nothing])).files.iter().map(|it| it.cost).collect();
            assert_eq!(costs, [Some(AdviceCost::NotCached { bytes: file_bytes })]);
        }
    }

    #[test]
    fn a_file_whose_advice_the_kernel_does_not_show_is_neither_a_question_nor_fine() {
        let unknown = |it: MappedFile| MappedFile { unadvised_bytes: None, advice: None, ..it };
        let small = MappedFile { bytes: 4096, ..file("small") };
        let code = MappedFile { is_code: true, ..file("code") };
        let files = [small, code, counted("much", 1 << 20)].map(unknown);
        let seen = advised(view([&files[..], &[counted("none", 0)]].concat()));
        let costs: Vec<_> = seen.files.iter().map(|it| (it.name.as_str(), it.cost)).collect();
        let asked = [("none", Some(AdviceCost::CountedNothing)), ("much", Some(AdviceCost::AdviceUnknown))];
        assert_eq!(costs[..2], asked);
        assert!(costs[2..].iter().all(|it| it.1.is_none()), "{costs:?}");
    }

    fn watched(major_faults: u64, device_bytes: u64, read_call_bytes: u64) -> Watched {
        Watched {
            asked_s: 1.0,
            elapsed_s: 1.0,
            ended: None,
            minor_faults: 0,
            major_faults,
            reads: Reading::Value(WatchedReads { device_bytes, read_calls: 1, read_call_bytes }),
            device_bytes_per_major_fault: None,
            threads: Vec::new(),
            new_mappings: 0,
            gone_mappings: 0,
        }
    }

    /// Of a process whose mapped files have these windows of read-ahead.
    fn per_fault(watched: Watched, windows: &[u64]) -> Option<f64> {
        let of_window = |it: &u64| MappedFile { read_ahead_bytes: Reading::Value(*it), ..file("one") };
        let files = [vec![file("unknown")], windows.iter().map(of_window).collect()].concat();
        let seen = advised(ProcessView { watched: Some(watched), ..view(files) });
        seen.watched.unwrap().device_bytes_per_major_fault
    }

    #[test]
    fn what_calls_read_is_not_divided_among_faults() {
        let of = |major_faults, calls| per_fault(watched(major_faults, 1 << 20, calls), &[8 << 20]);
        assert_eq!(of(4, 100), Some(262_144.0));
        assert_eq!([of(0, 0), of(4, 1 << 20)], [None, None]);
    }

    #[test]
    fn more_than_faults_can_read_is_not_divided_among_them() {
        let of = |device_bytes: u64, windows: &[u64]| per_fault(watched(10, device_bytes, 0), windows);
        assert_eq!(of(120 << 20, &[128 << 10]), None);
        assert_eq!(of(120 << 20, &[128 << 10, 16 << 20]), Some(f64::from(12 << 20)));
        assert_eq!(of(10 << 20, &[1 << 20]), Some(f64::from(1 << 20)));
        // Without read-ahead a fault reads a page.
        assert_eq!(of(40_960, &[0]), Some(4096.0));
        assert_eq!(of(40_960, &[]), None, "how much a fault can read is not known");
    }
}
