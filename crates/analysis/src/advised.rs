//! What the advice of a process's mappings may cost, from what was seen and counted without a trace: which file to ask about
//! first. Nothing here says why pages came in.

use schema::{
    Reading,
    inspection::{
        AdviceCost, FileMeanwhile, MappedFile, MissCost, PlacePattern, Places, ProcessView, Shape, Unlooked, Watched,
    },
};

/// Of less than this nothing is asked: it is less than one window of read-ahead on many disks, and every library has such
/// mappings.
const LEAST_BYTES: u64 = 1 << 20;

/// Where calls returned at most this share of what came from the device, the device was read by faults.
const BY_CALLS: f64 = 0.05;

/// Of fewer places nothing is said.
const PLACES: u64 = 16;
/// So large a part of the places is short where a file is touched at places that lie apart.
const APART: f64 = 0.9;

/// The files by what their advice may cost: those whose places lie apart first, then those with a cost that was counted; and
/// what a major fault brought in on average. `miss` says what a miss of a file takes.
pub fn advised(mut view: ProcessView, miss: impl Fn(&MappedFile) -> Reading<MissCost>) -> ProcessView {
    let unseen = came_and_left(&view);
    for file in &mut view.files {
        file.cost = cost(file, view.page_bytes, unseen);
        if bytes(file).is_some() {
            file.pattern = pattern(file, view.page_bytes);
            file.miss = Some(miss(file));
        }
    }
    // By time where that is known of all of them: files may lie on different devices. Bytes and times are not held against
    // each other.
    let all_known = view.files.iter().filter(|it| bytes(it).is_some()).all(|it| device_ns(it).is_some());
    let size = |file: &MappedFile| {
        let size = if all_known { device_ns(file) } else { bytes(file).map(|it| it as f64) };
        size.unwrap_or(0.0)
    };
    view.files.sort_by(|a, b| rank(a).cmp(&rank(b)).then(size(b).total_cmp(&size(a))).then(b.bytes.cmp(&a.bytes)));
    if let Some(watched) = &mut view.watched {
        watched.device_bytes_per_major_fault = per_major_fault(watched, &view.files, view.page_bytes);
    }
    view
}

/// More may have come from the device by faults than files have more in the page cache: pages came in that left again, as of a
/// file that is larger than memory, so what a file has more than before is not all that came.
fn came_and_left(view: &ProcessView) -> bool {
    let Some(watched) = &view.watched else { return false };
    let Some(reads) = watched.reads.value() else { return false };
    let stayed = view.files.iter().map(|it| stayed_bytes(it, view.page_bytes)).fold(LEAST_BYTES, u64::saturating_add);
    // What calls returned may be of the page cache, of pipes or of /dev/zero: it says how much of the device's was theirs only
    // where faults can have brought in no more than the rest.
    let window = largest_window(&view.files);
    let of_faults = window.map_or(u64::MAX, |it| it.max(view.page_bytes)).saturating_mul(watched.major_faults);
    let without_calls = reads.device_bytes.saturating_sub(reads.read_call_bytes);
    without_calls.max(of_faults.min(reads.device_bytes)) > stayed
}

/// What came into the page cache of a file while it was watched and is there still, at most: of one that was mapped meanwhile, or
/// not counted otherwise, that may be all that it has there now.
fn stayed_bytes(file: &MappedFile, page_bytes: u64) -> u64 {
    let more = file.meanwhile.as_ref().and_then(|it| it.cached_more_bytes.value());
    match (more, &file.residency) {
        (Some(more), _) => u64::try_from(*more).unwrap_or(0),
        (None, Reading::Value(it)) => it.resident.saturating_mul(page_bytes),
        // Of no device.
        (None, Reading::Unavailable { unavailable: Unlooked::Memory }) => 0,
        (None, Reading::Unavailable { .. }) => file.file_bytes.value().copied().unwrap_or(file.bytes),
    }
}

fn cost(file: &MappedFile, page_bytes: u64, unseen: bool) -> Option<AdviceCost> {
    if file.is_code || file.residency.why() == Some(&Unlooked::Memory) {
        return None;
    }
    let Some(unadvised) = file.unadvised_bytes else {
        return (file.bytes >= LEAST_BYTES).then_some(AdviceCost::AdviceUnknown);
    };
    if unadvised < LEAST_BYTES {
        return None;
    }
    match file.meanwhile.as_ref().map(|it| &it.unmapped_more_bytes) {
        Some(Reading::Value(0)) if !unseen => return Some(AdviceCost::CountedNothing),
        Some(Reading::Value(bytes @ 1..)) if !unseen => return Some(AdviceCost::Counted { unmapped_bytes: *bytes }),
        _ => {}
    }
    let not_mapped = unadvised.saturating_sub(file.unadvised_resident_bytes.unwrap_or(0));
    Some(match &file.residency {
        Reading::Value(it) => {
            let bytes = it.pages.saturating_sub(it.resident).saturating_mul(page_bytes);
            // The last page may be a part of one; what is not cached may lie where nothing is mapped, and is in no page table.
            let most = file.file_bytes.value().copied().unwrap_or(0).min(not_mapped);
            AdviceCost::NotCached { bytes: bytes.min(most) }
        }
        Reading::Unavailable { .. } => AdviceCost::NotMapped { bytes: not_mapped },
    })
}

/// What came in for nothing, or may; `None` where nothing does.
fn bytes(file: &MappedFile) -> Option<u64> {
    match file.cost? {
        AdviceCost::Counted { unmapped_bytes } => Some(unmapped_bytes),
        AdviceCost::NotCached { bytes } | AdviceCost::NotMapped { bytes } => Some(bytes).filter(|it| *it > 0),
        AdviceCost::CountedNothing | AdviceCost::AdviceUnknown => None,
    }
}

/// What the device takes for these bytes in windows of read-ahead, beyond one page of each.
fn device_ns(file: &MappedFile) -> Option<f64> {
    let miss = file.miss.as_ref()?.value()?;
    Some(bytes(file)? as f64 / miss.window_bytes.max(1) as f64 * (miss.window_ns - miss.page_ns).max(0.0))
}

/// The smallest comes first.
fn rank(file: &MappedFile) -> (bool, u8) {
    let class = match file.cost {
        Some(AdviceCost::Counted { .. }) => 0,
        Some(AdviceCost::NotCached { .. } | AdviceCost::NotMapped { .. }) => 1,
        Some(AdviceCost::CountedNothing) => 2,
        Some(AdviceCost::AdviceUnknown) => 3,
        None => 4,
    };
    (file.pattern.is_none_or(|it| it.shape != Shape::Apart), class)
}

/// What came meanwhile decides; where that is too little, all that is mapped.
fn pattern(file: &MappedFile, page_bytes: u64) -> Option<PlacePattern> {
    let meanwhile = file.meanwhile.as_ref().and_then(|it: &FileMeanwhile| it.new_places.as_ref()?.value());
    let since_it_began = file.places.as_ref().and_then(Reading::value);
    let of = |places: Option<&Places>, meanwhile: bool| {
        let places = places?;
        let bytes = places.pages.saturating_mul(page_bytes);
        Some(PlacePattern { shape: shape(places)?, places: places.places, bytes, meanwhile })
    };
    of(meanwhile, true).or_else(|| of(since_it_began, false))
}

fn shape(of: &Places) -> Option<Shape> {
    if of.places >= PLACES {
        return (of.short as f64 >= APART * of.places as f64).then_some(Shape::Apart);
    }
    // As much as would be so many places, and more.
    (of.pages > PLACES * of.fault_pages).then_some(Shape::Together)
}

/// What one miss in any of the files can read ahead; nothing where that of one is not known to be bounded.
fn largest_window(files: &[MappedFile]) -> Option<u64> {
    if files.iter().any(MappedFile::is_huge) { None } else { files.iter().filter_map(MappedFile::window_bytes).max() }
}

/// Absent where it is more than the largest window of read-ahead, which is what one fault can bring in: then io_uring, AIO,
/// hints or read-ahead at minor faults read as well, and none of them is counted.
fn per_major_fault(watched: &Watched, files: &[MappedFile], page_bytes: u64) -> Option<f64> {
    let reads = watched.reads.value()?;
    let by_faults = reads.read_call_bytes as f64 <= BY_CALLS * reads.device_bytes as f64;
    let window = largest_window(files)?;
    let is_possible = reads.device_bytes <= watched.major_faults.saturating_mul(window.max(page_bytes));
    let is_known = by_faults && is_possible && watched.major_faults > 0 && !watched.children_ended;
    is_known.then(|| reads.device_bytes as f64 / watched.major_faults as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::inspection::{MappingAdvice, Residency, WatchedReads};

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
            unadvised_resident_bytes: Some(4096),
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
            disk: None,
            places: None,
            meanwhile: None,
            cost: None,
            pattern: None,
            miss: None,
        }
    }

    fn counted(name: &str, unmapped: u64) -> MappedFile {
        let unmapped_more_bytes = Reading::Value(unmapped);
        let (cached_more_bytes, mapped_more_bytes) = (Reading::Value(unmapped as i64), Reading::Value(0));
        let meanwhile =
            Some(FileMeanwhile { cached_more_bytes, mapped_more_bytes, unmapped_more_bytes, new_places: None });
        MappedFile { meanwhile, ..file(name) }
    }

    fn advised(view: ProcessView) -> ProcessView {
        super::advised(view, |_| Reading::unavailable("no run"))
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

    /// Of a file that is larger than memory, as many pages leave as come.
    #[test]
    fn a_file_whose_pages_leave_as_they_come_is_not_one_of_which_none_came() {
        let cost_of = |more: u64, major_faults: u64, device_bytes: u64, read_call_bytes: u64| {
            let mut view = view(vec![counted("steady", more)]);
            view.files[0].read_ahead_bytes = Reading::Value(128 << 10);
            view.watched = Some(watched(major_faults, device_bytes, read_call_bytes));
            advised(view).files[0].cost
        };
        let cost = |device_bytes: u64, read_call_bytes: u64| cost_of(0, 300, device_bytes, read_call_bytes);
        let may = Some(AdviceCost::NotCached { bytes: 4 << 20 });
        assert_eq!(cost(1 << 20, 0), Some(AdviceCost::CountedNothing));
        assert_eq!(cost(2 << 30, 0), may);
        assert_eq!(cost(2 << 30, 2 << 30), may, "calls may have returned what comes from no device");
        assert_eq!(cost_of(0, 4, 2 << 30, 2 << 30), Some(AdviceCost::CountedNothing), "calls read nearly all of them");
        // What is there at the end is not all that came.
        assert_eq!(cost_of(1 << 20, 300, 2 << 30, 0), may);
        assert_eq!(cost_of(1 << 20, 8, 1 << 20, 0), Some(AdviceCost::Counted { unmapped_bytes: 1 << 20 }));
    }

    /// Of a file that was mapped meanwhile it is not known how much of it was in the page cache before.
    #[test]
    fn what_came_into_a_file_that_was_not_counted_has_not_left_the_others() {
        let cost = |other: MappedFile| {
            let mut view = view(vec![counted("idle", 0), other]);
            view.watched = Some(watched(300, 64 << 20, 0));
            advised(view).files.into_iter().map(|it| (it.name, it.cost)).find(|it| it.0 == "idle").unwrap().1
        };
        let Reading::Value(half) = file("half").residency else { unreachable!() };
        let with_resident = |resident: u64| {
            let unknown = || Reading::unavailable(Unlooked::MappedMeanwhile);
            let mut it = counted("new", 0);
            let meanwhile = it.meanwhile.as_mut().unwrap();
            (meanwhile.cached_more_bytes, meanwhile.unmapped_more_bytes) = (unknown(), Reading::Value(0));
            MappedFile { residency: Reading::Value(Residency { pages: 16_384, resident, ..half.clone() }), ..it }
        };
        assert_eq!(cost(with_resident(16_384)), Some(AdviceCost::CountedNothing));
        assert_eq!(cost(with_resident(1024)), Some(AdviceCost::NotCached { bytes: 4 << 20 }), "60 MiB left again");
        // Files of others may be in the page cache whole; those in memory come from no device.
        let unlooked = |why: Unlooked, bytes: Reading<u64, Unlooked>| MappedFile {
            residency: Reading::unavailable(why),
            file_bytes: bytes,
            ..file("unlooked")
        };
        let bytes = |it: u64| Reading::Value(it << 20);
        assert_eq!(cost(unlooked(Unlooked::Stranger, bytes(64))), Some(AdviceCost::CountedNothing));
        // Of 8 MiB in its mappings.
        let gone = unlooked(Unlooked::Gone, Reading::unavailable(Unlooked::Gone));
        assert_eq!(cost(gone.clone()), Some(AdviceCost::NotCached { bytes: 4 << 20 }));
        assert_eq!(cost(MappedFile { bytes: 64 << 20, ..gone }), Some(AdviceCost::CountedNothing));
        for (why, of) in [(Unlooked::Stranger, 2), (Unlooked::Memory, 64)] {
            assert_eq!(cost(unlooked(why, bytes(of))), Some(AdviceCost::NotCached { bytes: 4 << 20 }));
        }
    }

    #[test]
    fn what_may_be_missing_is_no_more_than_what_is_mapped_without_advice_and_in_no_page_table() {
        let cost = |it: MappedFile| advised(view(vec![it])).files[0].cost;
        let unknown = || Reading::unavailable(Unlooked::Stranger);
        let unlooked = MappedFile { residency: Reading::unavailable(Unlooked::Stranger), ..file("a") };
        let little = MappedFile { unadvised_bytes: Some(2 << 20), bytes: 8 << 30, ..unlooked.clone() };
        assert_eq!(cost(little), Some(AdviceCost::NotMapped { bytes: (2 << 20) - 4096 }));
        // Half of the file is mapped with advice, and nothing of that was touched.
        let whole = Some(4 << 20);
        let touched = MappedFile {
            unadvised_bytes: whole,
            unadvised_resident_bytes: whole,
            resident_bytes: 4 << 20,
            ..file("a")
        };
        assert_eq!(cost(touched.clone()), Some(AdviceCost::NotCached { bytes: 0 }));
        assert_eq!(cost(MappedFile { residency: unknown(), ..touched }), Some(AdviceCost::NotMapped { bytes: 0 }));
    }

    fn places(places: u64, short: u64, pages: u64) -> Places {
        Places { pages, places, short, fault_pages: 16 }
    }

    #[test]
    fn a_pattern_is_what_many_places_show_and_nothing_is_said_of_few() {
        let of = |it: Places| shape(&it);
        assert_eq!(of(places(16, 15, 256)), Some(Shape::Apart));
        assert_eq!(of(places(16, 14, 256)), None, "several are long");
        assert_eq!(of(places(15, 15, 240)), None, "too few");
        assert_eq!(of(places(3, 0, 257)), Some(Shape::Together));
        assert_eq!(of(places(3, 0, 256)), None, "too little");
        assert_eq!(of(places(0, 0, 0)), None);
    }

    #[test]
    fn what_came_meanwhile_decides_before_what_was_there() {
        let (apart, together, little) = (places(20, 20, 320), places(2, 0, 5000), places(2, 2, 32));
        let of = |all: Places, new: Option<Places>| {
            let mut it = counted("file", 4096);
            it.places = Some(Reading::Value(all));
            it.meanwhile.as_mut().unwrap().new_places = new.map(Reading::Value);
            let seen = advised(view(vec![it]));
            seen.files[0].pattern.map(|it| (it.shape, it.meanwhile))
        };
        assert_eq!(of(apart, Some(together)), Some((Shape::Together, true)));
        assert_eq!(of(together, Some(apart)), Some((Shape::Apart, true)));
        assert_eq!(of(together, Some(little)), Some((Shape::Together, false)));
        assert_eq!(of(apart, None), Some((Shape::Apart, false)));
        assert_eq!(of(little, None), None);
    }

    #[test]
    fn a_file_whose_places_lie_apart_comes_before_one_with_a_larger_cost() {
        let apart = |it: MappedFile| MappedFile { places: Some(Reading::Value(places(20, 20, 320))), ..it };
        let files = vec![counted("much", 4 << 20), apart(file("apart")), apart(counted("both", 4096)), file("maybe")];
        let advice = Some(vec![MappingAdvice::Random]);
        let random = MappedFile { unadvised_bytes: Some(0), advice, ..apart(file("random")) };
        let idle = apart(counted("idle", 0));
        assert_eq!(order([files, vec![random, idle]].concat()), ["both", "apart", "much", "maybe", "idle", "random"]);
    }

    #[test]
    fn files_of_several_devices_are_in_order_of_device_time_and_of_bytes_where_one_has_no_unit_costs() {
        let on = |disk: &str, name: &str, unmapped| MappedFile { disk: Some(disk.into()), ..counted(name, unmapped) };
        let files = vec![on("fast", "more", 8 << 20), on("slow", "less", 4 << 20)];
        let miss = |slow: Option<f64>| {
            move |it: &MappedFile| {
                let window_ns = if it.disk.as_deref() == Some("slow") { slow } else { Some(2e6) };
                let of = |window_ns| MissCost { run: "r".into(), window_bytes: 1 << 20, window_ns, page_ns: 1e5 };
                window_ns.map_or_else(|| Reading::unavailable("no run"), |it| Reading::Value(of(it)))
            }
        };
        let order = |slow: Option<f64>| {
            let seen = super::advised(view(files.clone()), miss(slow));
            seen.files.into_iter().map(|it| it.name).collect::<Vec<String>>()
        };
        assert_eq!(order(Some(9e6)), ["less", "more"]);
        assert_eq!(order(Some(2e6)), ["more", "less"]);
        assert_eq!(order(None), ["more", "less"]);
    }

    #[test]
    fn no_more_may_be_missed_than_is_mapped_without_advice() {
        let part = MappedFile { unadvised_bytes: Some(2 << 20), ..file("part") };
        let costs: Vec<_> = advised(view(vec![part])).files.iter().map(|it| it.cost).collect();
        assert_eq!(costs, [Some(AdviceCost::NotCached { bytes: (2 << 20) - 4096 })]);
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
            let nothing = MappedFile {
                file_bytes: Reading::Value(file_bytes),
                bytes: 1 << 30,
                unadvised_resident_bytes: Some(0),
                unadvised_bytes: Some(file_bytes.next_multiple_of(4096).max(LEAST_BYTES)),
                residency,
                ..file("nothing")
            };
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
            children_ended: false,
            device_bytes_per_major_fault: None,
            threads: Vec::new(),
            new_mappings: 0,
            gone_mappings: 0,
        }
    }

    /// Of a process whose mapped files have these windows of read-ahead.
    fn per_fault(watched: Watched, windows: &[u64]) -> Option<f64> {
        let large = MappedFile { file_bytes: Reading::Value(1 << 40), ..file("one") };
        let of_window = |it: &u64| MappedFile { read_ahead_bytes: Reading::Value(*it), ..large.clone() };
        let files = [vec![file("unknown")], windows.iter().map(of_window).collect()].concat();
        let seen = advised(ProcessView { watched: Some(watched), ..view(files) });
        seen.watched.unwrap().device_bytes_per_major_fault
    }

    #[test]
    fn what_calls_read_is_not_divided_among_faults() {
        let of = |major_faults, calls| per_fault(watched(major_faults, 1 << 20, calls), &[8 << 20]);
        assert_eq!(of(4, 100), Some(262_144.0));
        assert_eq!([of(0, 0), of(4, 1 << 20)], [None, None]);
        let with_children = Watched { children_ended: true, ..watched(4, 1 << 20, 100) };
        assert_eq!(per_fault(with_children, &[8 << 20]), None, "they may have read it before");
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
