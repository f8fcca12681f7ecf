//! What an arm is to a program: what changing to it takes, and which arm does what a program was seen to do. Known by its
//! properties and options; only that an arm reads at the file's own position is known by its method.

use schema::{
    Arm,
    advice::{Effort, How},
    advised::Pattern,
    arm::Options,
    observation::{Access, Calls},
};

use crate::commands::mechanism::{self, Ways};

/// Calls that bring in this many times as much as the accesses of a trace are other calls.
const OTHER_CALLS: f64 = 4.0;

/// Its pages are brought in before they are touched.
pub(crate) fn populates(arm: &Arm) -> bool {
    arm.fills_page_table() || is_advised(arm, "willneed")
}

pub(crate) fn is_advised(arm: &Arm, advice: &str) -> bool {
    arm.word("advice") == advice
}

/// Of calls: how much of the file each brings in, where that is more than is asked for.
pub(crate) fn buffer_kib(arm: &Arm) -> Option<u32> {
    arm.number("buffer_kib").filter(|&it| it > 0)
}

pub(crate) fn is_plain(arm: &Arm) -> bool {
    matches!(arm.word("advice"), "" | "normal") && !populates(arm) && buffer_kib(arm).is_none()
}

/// They differ by how much is read ahead, if at all, which is nothing where all pages are in memory.
pub(crate) fn is_alike_in_memory(a: &Arm, b: &Arm) -> bool {
    let is_about_order = |it: &Arm| matches!(it.word("advice"), "" | "normal" | "random" | "sequential");
    is_about_order(a) && is_about_order(b) && differ_at_most_in("advice", a, b)
}

fn differ_at_most_in(option: &str, a: &Arm, b: &Arm) -> bool {
    let others = |it: &Arm| -> Options {
        let others = it.options.iter().filter(|(name, _)| name.as_str() != option);
        others.map(|(name, to)| (name.clone(), to.clone())).collect()
    };
    let of = |it: &Arm| (it.runtime.clone(), it.method.clone(), others(it));
    of(a) == of(b)
}

/// Its calls copy to a buffer that begins right behind the beginning of a page.
pub(crate) fn is_behind_page(arm: &Arm) -> bool {
    arm.word("buffer") == BEHIND_PAGE
}

/// As what is recorded, but for its buffer, which begins at a page.
pub(crate) fn is_moved_to_page(recorded: &Arm, arm: &Arm) -> bool {
    is_behind_page(recorded) && !is_behind_page(arm) && differ_at_most_in("buffer", recorded, arm)
}

pub(crate) fn effort(recorded: &Arm, arm: &Arm) -> Effort {
    match () {
        () if arm.is_in_advance() => Effort::E3,
        () if recorded.method == arm.method => Effort::E1,
        // Opened otherwise, and read by the same call.
        () if recorded.is_direct() && !arm.maps() => Effort::E1,
        // The program goes on reading as it does, out of the buffer.
        () if buffer_kib(arm).is_some() && !recorded.maps() => Effort::E1,
        () => Effort::E2,
    }
}

/// What the program does now and the arm does not is to be left out, too: a mapping that is populated is filled whatever advice
/// follows.
///
/// `seen`: what a program that maps a file does to the descriptor stays on it. Faults of a mapping do not go by that (mm/filemap.c,
/// `do_sync_mmap_readahead`); calls do, and so does the read-ahead of MADV_SEQUENTIAL.
pub(crate) fn how(recorded: &Arm, arm: &Arm, seen: Option<&Access>) -> How {
    let to = change(recorded, arm);
    // The first three only leave something out, and the last one changes nothing else.
    if matches!(to, How::PlainMapping | How::PlainReads | How::NoDirect | How::PageBuffer) {
        return to;
    }
    // What was advised of a descriptor stays where the file is mapped, and what was advised of a mapping goes with it.
    let stays = recorded.maps() == arm.maps() || arm.maps();
    let is_left_out = |is: &dyn Fn(&Arm) -> bool| is(recorded) && !is(arm) && stays;
    let order = |it: &Arm| ["random", "sequential"].into_iter().find(|advice| is_advised(it, advice));
    // Other advice of an order takes the place of what there is, of the same descriptor or mapping.
    let replaces = recorded.maps() == arm.maps() && order(arm).is_some();
    let has_other_order = order(recorded).is_some() && order(recorded) != order(arm) && !replaces;
    let by_descriptor = recorded.maps() && (!arm.maps() || is_advised(arm, "sequential"));
    let of_descriptor = |it: &&str| seen.filter(|_| by_descriptor).is_some_and(|seen| seen.hints.contains_key(*it));
    let is_ordered =
        ["posix_fadvise(POSIX_FADV_RANDOM)", "posix_fadvise(POSIX_FADV_SEQUENTIAL)"].iter().any(of_descriptor);
    let is_direct = seen.is_some_and(|it| recorded.maps() && !arm.maps() && it.opens_direct > 0);
    let left_out = [
        (is_ordered && (arm.maps() || order(arm).is_none()), How::NoOrder),
        (is_direct && !arm.is_direct(), How::NoDirect),
        (is_left_out(&Arm::fills_page_table), How::NoPopulate),
        (is_left_out(&|it| is_advised(it, "willneed")), How::NoWillNeed),
        (has_other_order && stays && !arm.is_direct(), How::NoOrder),
        (is_left_out(&|it| it.is_direct() && !arm.maps()), How::NoDirect),
    ];
    let mut all: Vec<How> = left_out.into_iter().filter(|it| it.0).map(|it| it.1).collect();
    if all.is_empty() {
        return to;
    }
    all.push(to);
    How::All(all)
}

fn change(recorded: &Arm, arm: &Arm) -> How {
    if let Some(depth) = arm.number("queue_depth") {
        return How::InFlight { depth };
    }
    if let Some(kib) = buffer_kib(arm) {
        return How::LargerBuffer { kib };
    }
    if is_moved_to_page(recorded, arm) {
        return How::PageBuffer;
    }
    let fadvise = match () {
        () if is_advised(arm, "random") => Some(How::FadviseRandom),
        () if is_advised(arm, "sequential") => Some(How::FadviseSequential),
        () => None,
    };
    let mapped = match () {
        () if is_advised(arm, "random") => Some(How::MadviseRandom),
        () if is_advised(arm, "sequential") => Some(How::MadviseSequential),
        () if is_advised(arm, "willneed") => Some(How::MadviseWillNeed),
        () if populates(arm) => Some(How::Populate),
        () if !is_plain(arm) => Some(How::AsTheArm),
        () => None,
    };
    match arm.maps() {
        _ if arm.is_direct() => How::Direct,
        true if recorded.maps() => mapped.unwrap_or(How::PlainMapping),
        true => mapped.map_or(How::Mapping, |it| How::All(vec![How::Mapping, it])),
        false if recorded.maps() && is_plain(arm) => How::Pread,
        false if recorded.maps() => fadvise.map_or(How::AsTheArm, |it| How::All(vec![How::Pread, it])),
        false => match fadvise {
            Some(fadvise) => fadvise,
            None if recorded.method == arm.method => How::PlainReads,
            None if recorded.is_direct() => How::NoDirect,
            None => How::Pread,
        },
    }
}

/// What fewer of the bytes are reached by is an exception, and not what a program does.
pub(super) const USUAL: f64 = 0.5;

/// The method that reads at the file's own position.
pub(super) const AT_POSITION: &str = "read";

/// The place of a buffer as of malloc(3).
const BEHIND_PAGE: &str = "malloc";
/// Of less it does not matter where it is copied to.
const PLACED_BYTES: f64 = 4096.0;

/// Of the calls at the position, so many at offsets: a replay at the position sets it for each of these and once more after it,
/// which no program does.
const FEW_AT_OFFSETS: f64 = 0.1;

/// Whether a call reads at the file's own position.
pub(super) fn is_at_position(name: &str) -> bool {
    matches!(name, "read" | "readv")
}

/// What a program was seen to do, as options of arms that do it.
struct Seen {
    maps: bool,
    direct: bool,
    advice: &'static str,
    populate: &'static str,
    /// Of a call on average; 0 without one.
    call_bytes: f64,
    /// Half of the calls or more are of about that size.
    is_alike: bool,
    /// Most bytes, and nearly all calls, are read at the position of the file.
    at_position: bool,
    /// Most bytes are copied to places right behind the beginning of a page, by calls that are long enough for that to matter.
    behind_page: bool,
}

impl Seen {
    /// Nothing where it does both, or neither.
    fn of(access: &Access) -> Option<Seen> {
        let Ways { calls, mappings } = mechanism::ways(access);
        (calls != mappings).then(|| Seen::by(access, mappings))
    }

    /// By its mappings, or by its calls.
    fn by(access: &Access, maps: bool) -> Seen {
        let all = if maps { access.mapped_bytes() } else { access.read_bytes() };
        let is_usual = |bytes: u64| bytes > 0 && bytes as f64 >= USUAL * all as f64;
        let is_under = |what: &str, times: Option<&u64>| match access.under.get(what) {
            Some(&bytes) => is_usual(bytes),
            // In records of older versions.
            None => times.is_some_and(|it| *it > 0),
        };
        let is_hinted = |what: &[&str]| what.iter().any(|it| is_under(it, access.hints.get(*it)));
        let advice: [(&str, &[&str]); 3] = match maps {
            true => [
                ("random", &["madvise(MADV_RANDOM)"]),
                ("sequential", &["madvise(MADV_SEQUENTIAL)"]),
                ("willneed", &["madvise(MADV_WILLNEED)"]),
            ],
            false => [
                ("random", &["posix_fadvise(POSIX_FADV_RANDOM)"]),
                ("sequential", &["posix_fadvise(POSIX_FADV_SEQUENTIAL)"]),
                ("willneed", &["posix_fadvise(POSIX_FADV_WILLNEED)", "readahead"]),
            ],
        };
        // Advice counts where it is given, and not when pages are touched: of two for one mapping it is not known which was in
        // force then.
        let orders = ["madvise(MADV_NORMAL)", "madvise(MADV_RANDOM)", "madvise(MADV_SEQUENTIAL)"];
        let is_replaced = maps && orders.into_iter().filter(|it| is_under(it, None)).count() > 1;
        let is_known = |advice: &str| !is_replaced || !matches!(advice, "random" | "sequential");
        let sum = |all: u64, one: u64| all.saturating_add(one);
        let populated = access.mappings.iter().filter(|it| it.populate).map(|it| it.bytes).fold(0, sum);
        let of_calls = |at_position: bool, of: fn(&Calls) -> u64| {
            access.calls.iter().filter(|it| is_at_position(it.0) == at_position).map(|it| of(it.1)).fold(0, sum)
        };
        let [at_position, at_offsets] = [true, false].map(|it| of_calls(it, |it| it.bytes));
        let [positioned, placed] = [true, false].map(|it| of_calls(it, |it| it.count) as f64);
        let call_bytes = access.read_bytes() as f64 / access.read_calls().max(1) as f64;
        let sizes = || access.calls.values().flat_map(|it| &it.sizes);
        // Of half of the mean or more, as a bin holds up to twice its value.
        let large = sizes().filter(|it| 4.0 * it.value as f64 > call_bytes).map(|it| it.events).fold(0, sum);
        let sized = sizes().map(|it| it.events).fold(0, sum);
        Seen {
            maps,
            direct: !maps && is_under(Access::DIRECT, Some(&access.opens_direct)),
            advice: advice.into_iter().find(|it| is_known(it.0) && is_hinted(it.1)).map_or("normal", |it| it.0),
            populate: match maps {
                true if is_usual(populated) => "map-populate",
                true if is_hinted(&["madvise(MADV_POPULATE_READ)"]) => "populate-read",
                _ => "no",
            },
            call_bytes,
            is_alike: large >= sized - large,
            at_position: at_position > at_offsets && placed <= FEW_AT_OFFSETS * positioned,
            behind_page: !maps && is_under(Access::BEHIND_PAGE, None) && call_bytes >= PLACED_BYTES,
        }
    }

    /// The arm that does the same.
    fn arm(&self) -> String {
        let method = match () {
            // Calls around the page cache are not advised.
            () if self.direct => return "direct".into(),
            () if self.maps => "mmap",
            () if self.at_position => AT_POSITION,
            () => "pread",
        };
        let buffer = if self.behind_page { BEHIND_PAGE } else { "no" };
        let options = [self.advice, self.populate, buffer].into_iter().filter(|it| !matches!(*it, "normal" | "no"));
        std::iter::once(method).chain(options).collect::<Vec<&str>>().join("+")
    }

    /// Accesses are of `bytes` on average.
    fn is_done_by(&self, arm: &Arm, bytes: f64) -> bool {
        let advice = match arm.word("advice") {
            "" => "normal",
            advice => advice,
        };
        let is_populated = arm.fills_page_table();
        let in_flight = arm.number("queue_depth").is_some();
        let options = (arm.maps(), arm.is_direct(), advice, is_populated, in_flight);
        // Each call of a buffer brings in the whole of it. Calls that are many times as large again are another way to read: their
        // memory does not stay in the processor's caches.
        let arm_call_bytes = buffer_kib(arm).map_or(bytes, |kib| f64::from(kib) * 1024.0);
        // Some large calls among many small ones are neither: a buffer would bring in its size for each of the small ones.
        let in_larger_calls = !self.maps && self.is_alike && self.call_bytes > OTHER_CALLS * bytes;
        options == (self.maps, self.direct, self.advice, self.populate != "no", false)
            && in_larger_calls == buffer_kib(arm).is_some()
            && (self.maps || self.call_bytes <= OTHER_CALLS * arm_call_bytes)
    }
}

/// What a program asks for of a file in advance, where that is a part of it: an arm asks for all of it. What it asks for in
/// several ways may be the same bytes.
pub(crate) fn part_ahead(recorded: &Arm, seen: &Access, file_bytes: u64) -> Option<u64> {
    let bytes = match recorded.maps() {
        true => {
            let by_map = seen.mappings.iter().filter(|it| it.populate).map(|it| it.bytes).fold(0, u64::saturating_add);
            let advised = ["madvise(MADV_POPULATE_READ)", "madvise(MADV_WILLNEED)"];
            let by_advice = advised.iter().filter_map(|it| seen.under.get(*it).copied());
            by_advice.chain([by_map]).max()
        }
        false => seen.ahead_bytes,
    };
    let is_part = |bytes: &u64| *bytes > 0 && (*bytes as f64) < USUAL * file_bytes as f64;
    bytes.filter(is_part).filter(|_| populates(recorded))
}

/// The name of the arm that does what a program was seen to do to a file, by its mappings or by its calls. `in_order`: so many
/// accesses of its trace follow each other. Several descriptors of a file have a position each, where a replay has one, which it would
/// set as no program did; reads at offsets take as long as those at a position that need not be set.
pub fn arm_of(access: &Access, maps: bool, in_order: Option<u64>) -> String {
    let seen = Seen::by(access, maps);
    let at_position = access.calls.iter().filter(|it| is_at_position(it.0)).map(|it| it.1);
    let (reads, sequential) =
        at_position.fold((0.0, 0.0), |sum, it| (sum.0 + it.count as f64, sum.1 + it.sequential as f64));
    // In order for a descriptor, and not for the trace: its first read, and the one that finds the end.
    let of_openings = 2.0 * access.opens.max(1) as f64;
    let has_several = |in_order: u64| sequential - in_order as f64 - of_openings > FEW_AT_OFFSETS * reads;
    Seen { at_position: seen.at_position && !in_order.is_some_and(has_several), ..seen }.arm()
}

/// The arms that reach a file as a program was seen to, out of those by which accesses of this pattern were replayed; those whose
/// buffer begins where its own does, and of these those that read at the position that it reads at, stand before the others.
pub(crate) fn done_by<'a>(access: &Access, pattern: &Pattern, arms: impl Iterator<Item = &'a Arm>) -> Vec<&'a Arm> {
    let bytes = pattern.bytes as f64 / pattern.accesses.max(1) as f64;
    match Seen::of(access) {
        Some(seen) => {
            let mut all: Vec<&Arm> = arms.filter(|arm| seen.is_done_by(arm, bytes)).collect();
            all.sort_by_key(|it| {
                (is_behind_page(it) != seen.behind_page, (it.method == AT_POSITION) != seen.at_position)
            });
            all
        }
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schema::{counted::Bin, observation::MappingCount};

    use super::*;

    fn arm(name: &str) -> Arm {
        name.parse().unwrap()
    }

    #[test]
    fn a_hint_is_one_call_another_way_of_reading_is_more_and_reading_ahead_of_oneself_is_most() {
        let effort = |from: &str, to: &str| effort(&arm(from), &arm(to));
        assert_eq!(effort("mmap", "mmap+random"), Effort::E1);
        assert_eq!(effort("mmap+map-populate", "mmap"), Effort::E1);
        assert_eq!(effort("pread", "pread+random"), Effort::E1);
        assert_eq!(effort("read", "pread+random"), Effort::E2);
        assert_eq!(effort("read", "pread+buffer_kib=128"), Effort::E1);
        assert_eq!(effort("mmap", "pread"), Effort::E2);
        assert_eq!(effort("read", "pread"), Effort::E2);
        assert_eq!(effort("pread", "mmap+sequential"), Effort::E2);
        assert_eq!(effort("pread", "uring"), Effort::E3);
        assert_eq!(effort("pread", "direct"), Effort::E3);
    }

    #[test]
    fn advice_on_what_to_read_ahead_changes_nothing_in_memory_and_filling_a_page_table_does() {
        let is_alike = |a: &str, b: &str| is_alike_in_memory(&arm(a), &arm(b));
        assert!(is_alike("mmap", "mmap+random") && is_alike("mmap+sequential", "mmap+random"));
        assert!(is_alike("read+sequential", "read"));
        assert!(!is_alike("mmap", "mmap+populate-read") && !is_alike("mmap+willneed", "mmap"));
        assert!(!is_alike("read", "pread") && !is_alike("pread", "pread+buffer_kib=128"));
    }

    #[test]
    fn counts_of_a_stranger_that_no_number_holds_end_nothing() {
        let mut access = Access { opens: 1, ..Access::default() };
        access.count_call("read", 1, 1, true);
        for calls in access.calls.values_mut() {
            calls.sizes = [u64::MAX, u64::MAX / 2 + 1].map(|events| Bin { value: 1, events }).to_vec();
        }
        assert_eq!(arm_of(&access, false, None), "read");
    }

    #[test]
    fn advice_for_a_mapping_that_was_replaced_is_not_taken_for_what_its_pages_were_touched_under() {
        let of = |advised: &[(&str, u64)]| {
            let mut access = Access { opens: 1, ..Access::default() };
            let (shared, writable, executable, populate) = (true, false, false, false);
            access.mappings.push(MappingCount { shared, writable, executable, populate, count: 1, bytes: 1000 });
            advised.iter().for_each(|(advice, bytes)| access.count_under(advice, *bytes));
            arm_of(&access, true, None)
        };
        let [random, sequential, normal] = ["madvise(MADV_RANDOM)", "madvise(MADV_SEQUENTIAL)", "madvise(MADV_NORMAL)"];
        assert_eq!(of(&[(random, 1000)]), "mmap+random");
        assert_eq!(of(&[(random, 1000), (sequential, 400)]), "mmap+random", "of less than half of it");
        assert_eq!(of(&[(random, 1000), (sequential, 1000)]), "mmap");
        assert_eq!(of(&[(random, 1000), (normal, 600)]), "mmap");
        assert_eq!(of(&[("madvise(MADV_WILLNEED)", 1000), (random, 1000), (normal, 600)]), "mmap+willneed");
    }

    #[test]
    fn every_change_has_a_line_to_write() {
        let how = |from: &str, to: &str| how(&arm(from), &arm(to), None);
        assert_eq!(how("mmap", "mmap+random"), How::MadviseRandom);
        assert_eq!(how("mmap", "mmap+populate-read"), How::Populate);
        assert_eq!(how("mmap+map-populate", "mmap"), How::PlainMapping);
        assert_eq!(how("pread", "mmap"), How::Mapping);
        assert_eq!(how("pread", "mmap+random"), How::All(vec![How::Mapping, How::MadviseRandom]));
        assert_eq!(how("read", "mmap+populate-read"), How::All(vec![How::Mapping, How::Populate]));
        assert_eq!(how("mmap", "pread"), How::Pread);
        assert_eq!(how("read", "pread"), How::Pread);
        assert_eq!(how("pread", "pread+random"), How::FadviseRandom);
        assert_eq!(how("read", "read+sequential"), How::FadviseSequential);
        assert_eq!(how("pread+sequential", "pread"), How::PlainReads);
        assert_eq!(how("mmap", "pread+random"), How::All(vec![How::Pread, How::FadviseRandom]));
        assert_eq!(how("read", "pread+buffer_kib=128"), How::LargerBuffer { kib: 128 });
        assert_eq!(how("mmap", "pread+buffer_kib=128"), How::LargerBuffer { kib: 128 });
        assert_eq!(how("pread", "uring+queue_depth=8"), How::InFlight { depth: 8 });
        assert_eq!(how("pread", "direct"), How::Direct);
    }

    /// A mapping that is populated is full before any advice; O_DIRECT goes around the page cache under every call.
    #[test]
    fn what_would_undo_a_change_is_left_out_with_it() {
        let how = |from: &str, to: &str| how(&arm(from), &arm(to), None);
        assert_eq!(how("mmap+map-populate", "mmap+random"), How::All(vec![How::NoPopulate, How::MadviseRandom]));
        assert_eq!(how("mmap+willneed", "mmap+random"), How::All(vec![How::NoWillNeed, How::MadviseRandom]));
        assert_eq!(how("mmap+willneed", "mmap"), How::PlainMapping);
        assert_eq!(how("mmap+map-populate", "pread"), How::Pread);
        assert_eq!(how("pread+willneed", "pread+random"), How::All(vec![How::NoWillNeed, How::FadviseRandom]));
        assert_eq!(how("direct", "pread"), How::NoDirect);
        assert_eq!(how("direct", "pread+random"), How::All(vec![How::NoDirect, How::FadviseRandom]));
        assert_eq!(how("direct", "mmap"), How::Mapping);
        assert_eq!(how("mmap+random", "mmap+populate-read"), How::All(vec![How::NoOrder, How::Populate]));
        assert_eq!(how("mmap+random", "mmap+sequential"), How::MadviseSequential, "it takes its place");
        assert_eq!(how("mmap+random", "pread"), How::Pread, "it goes with the mapping");
        let larger = How::LargerBuffer { kib: 128 };
        assert_eq!(how("pread+random", "pread+buffer_kib=128"), How::All(vec![How::NoOrder, larger]));
        assert_eq!(how("read+random", "pread"), How::All(vec![How::NoOrder, How::Pread]));
        assert_eq!(how("pread+random", "direct"), How::Direct, "nothing is read ahead there");
        assert_eq!(how("pread+random", "pread"), How::PlainReads);
        assert_eq!(how("pread+random", "pread+sequential"), How::FadviseSequential);
        assert_eq!(how("pread+random", "mmap"), How::All(vec![How::NoOrder, How::Mapping]));
        let mapped = How::All(vec![How::Mapping, How::MadviseSequential]);
        assert_eq!(how("pread+random", "mmap+sequential"), How::All(vec![How::NoOrder, mapped]));
        assert_eq!(how("pread+willneed", "mmap"), How::All(vec![How::NoWillNeed, How::Mapping]));
        assert_eq!(effort(&arm("direct"), &arm("pread")), Effort::E1);
        assert_eq!(effort(&arm("direct"), &arm("mmap")), Effort::E2);
    }

    #[test]
    fn what_a_program_does_to_the_descriptor_of_a_mapped_file_is_left_out_where_calls_read_by_it() {
        let hinted = |advice: &str| {
            let mut seen = Access { opens: 1, ..Access::default() };
            seen.hints.insert(format!("posix_fadvise(POSIX_FADV_{advice})"), 1);
            seen
        };
        let how = |from: &str, to: &str, seen: &Access| how(&arm(from), &arm(to), Some(seen));
        let random = hinted("RANDOM");
        assert_eq!(how("mmap", "pread", &random), How::All(vec![How::NoOrder, How::Pread]));
        let sequential = How::All(vec![How::NoOrder, How::MadviseSequential]);
        assert_eq!(how("mmap", "mmap+sequential", &random), sequential);
        assert_eq!(how("mmap", "mmap+random", &random), How::MadviseRandom, "faults do not go by it");
        let other = How::All(vec![How::Pread, How::FadviseSequential]);
        assert_eq!(how("mmap", "pread+sequential", &random), other, "it takes the place of what there is");
        assert_eq!(how("mmap", "pread", &hinted("WILLNEED")), How::Pread);
        let direct = Access { opens_direct: 1, ..Access::default() };
        assert_eq!(how("mmap", "pread", &direct), How::All(vec![How::NoDirect, How::Pread]));
        assert_eq!(how("mmap", "mmap+random", &direct), How::MadviseRandom);
    }

    #[test]
    fn a_program_is_replayed_with_a_buffer_that_begins_where_its_own_does() {
        let reads = |bytes: u64, behind: u64| {
            let mut access = Access::default();
            (0..100).for_each(|at| access.count_call("pread64", bytes, bytes, at % 3 == 0));
            access.count_under(Access::BEHIND_PAGE, behind);
            access
        };
        assert_eq!(arm_of(&reads(65_536, 50 * 65_536), false, None), "pread+malloc");
        assert_eq!(arm_of(&reads(65_536, 49 * 65_536), false, None), "pread", "most begin elsewhere");
        assert_eq!(arm_of(&reads(100, 10_000), false, None), "pread", "it takes no time to copy so little");
        let mut hinted = reads(65_536, 100 * 65_536);
        hinted.count_under("posix_fadvise(POSIX_FADV_RANDOM)", 100 * 65_536);
        assert_eq!(arm(&arm_of(&hinted, false, None)), arm("pread+random+malloc"));
        let of_page =
            |recorded: &str, to: &str| (how(&arm(recorded), &arm(to), None), effort(&arm(recorded), &arm(to)));
        assert_eq!(of_page("pread+malloc", "pread"), (How::PageBuffer, Effort::E1));
        assert_eq!(of_page("pread+random+malloc", "pread+random"), (How::PageBuffer, Effort::E1));
        assert_eq!(of_page("pread+malloc", "pread+random+malloc"), (How::FadviseRandom, Effort::E1));
        assert_eq!(of_page("pread+random+malloc", "pread+malloc"), (How::PlainReads, Effort::E1));
        assert_eq!(of_page("read+malloc", "pread+malloc"), (How::Pread, Effort::E2));
        assert_eq!(of_page("pread+malloc", "mmap").0, How::Mapping);
        let arms = ["pread", "read", "pread+malloc", "read+malloc"].map(arm);
        let pattern = Pattern { bytes: 65_536, accesses: 1, ..pattern() };
        let done_by = |access: &Access| done_by(access, &pattern, arms.iter())[0].short_name().to_string();
        assert_eq!(done_by(&reads(65_536, 100 * 65_536)), "pread+malloc");
        assert_eq!(done_by(&reads(65_536, 0)), "pread");
    }

    fn pattern() -> Pattern {
        Pattern {
            file_bytes: 1 << 30,
            accesses: 1000,
            bytes: 1000 * 4096,
            page_bytes: 4096,
            distinct_pages: 1000,
            in_order: 999,
            threads: 1,
            mappings: 0,
            sizes: Vec::new(),
        }
    }

    #[test]
    fn a_program_is_like_the_arm_that_does_what_it_was_seen_to_do() {
        let arms = [
            "pread",
            "pread+random",
            "pread+sequential",
            "pread+buffer_kib=128",
            "mmap",
            "mmap+random",
            "mmap+populate-read",
            "uring",
            "direct",
        ]
        .map(arm);
        let pattern = pattern();
        let names = |access: &Access| -> Vec<String> {
            done_by(access, &pattern, arms.iter()).iter().map(|it| it.short_name().to_string()).collect()
        };
        let mut reads = Access::default();
        (0..1000).for_each(|_| reads.count_call("pread64", 4096, 4096, false));
        assert_eq!(names(&reads), ["pread"]);
        let mut large = Access::default();
        (0..32).for_each(|_| large.count_call("read", 128 << 10, 128 << 10, true));
        assert_eq!(names(&large), ["pread+buffer_kib=128"]);
        let mut mixed = large.clone();
        (0..3000).for_each(|_| mixed.count_call("pread64", 100, 100, false));
        let mut few = pattern.clone();
        few.bytes = 1000 * 256;
        let names_of_few = done_by(&mixed, &few, arms.iter());
        assert!(names_of_few.is_empty(), "an index by 128 KiB and rows of 100 B: {names_of_few:?}");
        let mut at_once = Access::default();
        at_once.count_call("read", 256 << 20, 256 << 20, true);
        assert_eq!(names(&at_once), [""; 0], "nothing was measured that reads so much at a time");
        for (hint, arm) in [("RANDOM", "pread+random"), ("SEQUENTIAL", "pread+sequential")] {
            let under = [(format!("posix_fadvise(POSIX_FADV_{hint})"), 4_096_000)].into();
            assert_eq!(names(&Access { under, ..reads.clone() }), [arm]);
        }
        let mut maps = Access::default();
        maps.count_mapping(&MappingCount { count: 1, bytes: 1 << 30, ..MappingCount::default() });
        assert_eq!(names(&maps), ["mmap"]);
        maps.count_under("madvise(MADV_RANDOM)", 1 << 30);
        assert_eq!(names(&maps), ["mmap+random"]);
        maps.under = [("madvise(MADV_POPULATE_READ)".to_string(), 1 << 30)].into();
        assert_eq!(names(&maps), ["mmap+populate-read"]);
        assert_eq!(names(&Access::default()), [""; 0], "it was seen to do nothing");
        maps.calls = reads.calls;
        assert_eq!(names(&maps), [""; 0], "it does both");
    }

    #[test]
    fn an_arm_populates_all_of_a_file_and_a_program_may_populate_a_part() {
        let mapped = |bytes: u64, populate: bool| {
            let mut access = Access::default();
            access.count_mapping(&MappingCount { count: 1, bytes, populate, ..MappingCount::default() });
            access
        };
        let populated = arm("mmap+map-populate");
        let part = |access: &Access| part_ahead(&populated, access, 64 << 20);
        assert_eq!([part(&mapped(2 << 20, true)), part(&mapped(64 << 20, true))], [Some(2 << 20), None]);
        let mut advised = mapped(64 << 20, false);
        advised.count_under("madvise(MADV_POPULATE_READ)", 4 << 20);
        assert_eq!(part(&advised), Some(4 << 20));
        assert_eq!(part_ahead(&arm("mmap"), &advised, 64 << 20), None, "nothing is populated in its replay");
        advised.count_under("madvise(MADV_WILLNEED)", 3 << 20);
        assert_eq!(part(&advised), Some(4 << 20), "it may be the same part");

        let called = |bytes: u64| Access { ahead_bytes: Some(bytes), ..Access::default() };
        let part = |bytes| part_ahead(&arm("pread+willneed"), &called(bytes), 64 << 20);
        assert_eq!([0, 2 << 20, 64 << 20].map(part), [None, Some(2 << 20), None]);
        assert_eq!(part_ahead(&arm("pread"), &called(2 << 20), 64 << 20), None, "nothing is brought in by its replay");
    }

    #[test]
    fn what_fewer_than_half_of_the_bytes_are_reached_by_is_not_what_a_program_does() {
        for (part, is_usual) in [(4, false), (6, true)] {
            let either = |usual: &'static str, other: &'static str| if is_usual { usual } else { other };
            let under = |what: &str| -> BTreeMap<String, u64> { [(what.to_string(), part << 20)].into() };
            let mut reads = Access { opens: 100, opens_direct: 1, ..Access::default() };
            reads.count_call("pread64", 10 << 20, 10 << 20, false);
            for (what, option) in [
                (Access::DIRECT, "direct"),
                ("posix_fadvise(POSIX_FADV_RANDOM)", "pread+random"),
                ("readahead", "pread+willneed"),
            ] {
                // Each is given once at least.
                let mut reads = Access { under: under(what), ..reads.clone() };
                reads.count_under(Access::DIRECT, 0);
                assert_eq!(arm_of(&reads, false, None), either(option, "pread"));
            }
            let mut maps = Access::default();
            maps.count_mapping(&MappingCount { count: 1, bytes: 10 << 20, ..MappingCount::default() });
            for (what, option) in [("RANDOM", "mmap+random"), ("POPULATE_READ", "mmap+populate-read")] {
                let what = format!("madvise(MADV_{what})");
                let maps = Access { hints: [(what.clone(), 9)].into(), under: under(&what), ..maps.clone() };
                assert_eq!(arm_of(&maps, true, None), either(option, "mmap"));
            }
            let populated = MappingCount { populate: true, count: 9, bytes: part << 20, ..MappingCount::default() };
            let mut some = Access::default();
            some.count_mapping(&MappingCount { count: 1, bytes: (10 - part) << 20, ..MappingCount::default() });
            some.count_mapping(&populated);
            assert_eq!(arm_of(&some, true, None), either("mmap+map-populate", "mmap"));
        }
    }

    #[test]
    fn two_descriptors_that_take_turns_are_replayed_by_reads_at_offsets() {
        // Two openings, of which the first reads and those that find the end are in order, too.
        let mut reads = Access { opens: 2, ..Access::default() };
        (0..1000).for_each(|_| reads.count_call("read", 8192, 8192, true));
        (0..2).for_each(|_| reads.count_call("read", 8192, 0, true));
        assert_eq!(arm_of(&reads, false, Some(0)), "pread");
        assert_eq!(arm_of(&reads, false, Some(998)), "read", "one after the other");
        for few in [1, 4, 16] {
            let mut once = Access { opens: 1, ..Access::default() };
            (0..few).for_each(|_| once.count_call("read", 1 << 18, 1 << 18, true));
            once.count_call("read", 1 << 18, 0, true);
            assert_eq!(arm_of(&once, false, Some(few - 1)), "read", "{few}");
        }
        let calls = Calls { count: u64::MAX, sequential: u64::MAX, ..Calls::default() };
        let of_another_tool = ["read", "readv"].map(|it| (it.to_string(), calls.clone())).into();
        arm_of(&Access { calls: of_another_tool, ..Access::default() }, false, Some(1));
        assert_eq!(arm_of(&reads, false, None), "read", "each of its own file");
        let mut anywhere = Access { opens: 1, ..Access::default() };
        (0..1000).for_each(|_| anywhere.count_call("read", 8192, 8192, false));
        assert_eq!(arm_of(&anywhere, false, Some(0)), "read", "the program sets the position, too");
    }

    #[test]
    fn records_of_older_versions_say_only_how_often_advice_was_given() {
        let mut reads = Access { opens: 1, ..Access::default() };
        reads.count_call("read", 4096, 4096, true);
        let hints = [("posix_fadvise(POSIX_FADV_SEQUENTIAL)".to_string(), 1)].into();
        assert_eq!(arm_of(&Access { hints, ..reads.clone() }, false, None), "read+sequential");
        assert_eq!(arm_of(&Access { opens_direct: 1, ..reads }, false, None), "direct");
    }
}
