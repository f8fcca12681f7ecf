//! How commands reach their files, in words: by what calls, mappings and advice, and in what two of them differ.

use std::collections::BTreeMap;

use schema::{
    Names, Reading, Record,
    findings::MARGIN,
    mapped_runtime::MappedRuntime,
    observation::{
        Access, AccessDifference, Calls, Likeness, MappingCount, MechanismComparison, MechanismFinding, Observation,
        UnknownLikeness,
    },
};

use crate::{
    layout::{
        number,
        words::{counted, list, word},
    },
    words::{numbers, runtime},
};

/// The ends of a range that are so many times apart say little of most calls.
const WIDE: u64 = 1 << 10;

fn observation<'a>(record: &'a Record, arm: &str) -> Option<&'a Reading<Observation>> {
    record.observations.iter().find(|it| it.arm == arm).map(|it| &it.seen)
}

/// Whether all of an execution was watched, and none of it read or mapped a named file.
pub(crate) fn is_idle(arm: &str, all: &[MechanismFinding], record: &Record) -> bool {
    let access = all.iter().find(|it| it.arm == arm).and_then(|it| it.access.as_ref());
    let is_whole = |seen: &Observation| !seen.is_partial();
    access.is_some_and(|it| it.calls.is_empty() && it.mappings.is_empty())
        && observation(record, arm).and_then(Reading::value).is_some_and(is_whole)
}

/// Runtimes that arms execute, each with those arms, and whether one of them maps a named file.
pub(crate) fn runtimes<'a>(
    all: &'a [MechanismFinding],
    record: &Record,
) -> BTreeMap<MappedRuntime, (Vec<&'a str>, bool)> {
    let mut found: BTreeMap<MappedRuntime, (Vec<&str>, bool)> = BTreeMap::new();
    for it in all {
        let seen = observation(record, &it.arm).and_then(Reading::value);
        for runtime in seen.map_or(&[][..], |it| &it.runtimes) {
            let (arms, maps) = found.entry(*runtime).or_default();
            arms.push(&it.arm);
            *maps |= it.access.as_ref().is_some_and(|it| !it.mappings.is_empty());
        }
    }
    found
}

/// Everything about one arm, on a line; or why that is not known.
pub(crate) fn of_arm(finding: &MechanismFinding, record: &Record) -> String {
    match (observation(record, &finding.arm), &finding.access) {
        (Some(Reading::Value(seen)), Some(access)) => describe(access, seen),
        (Some(Reading::Unavailable { unavailable }), _) => format!("not observed: {unavailable}"),
        _ => "not observed".into(),
    }
}

/// How an arm is like the first one, or how it differs from it.
pub(crate) fn versus(
    it: &MechanismFinding,
    all: &[MechanismFinding],
    record: &Record,
    names: &Names,
) -> Option<String> {
    let versus = it.versus.as_ref()?;
    let says = held_against(it, versus, all, record, names);
    Some(match (versus.likeness, &versus.unknown) {
        (Likeness::Identical, _) => format!("identical in mechanism: {says}"),
        (Likeness::Different, _) => format!("different in mechanism: {says}"),
        (Likeness::Unknown, _) => format!("not known whether they are alike: {says}"),
    })
}

/// As `versus`, with fewer words.
pub(crate) fn brief_versus(
    it: &MechanismFinding,
    all: &[MechanismFinding],
    record: &Record,
    names: &Names,
) -> Option<String> {
    let versus = it.versus.as_ref()?;
    let says = held_against(it, versus, all, record, names);
    let [one, two] = [&versus.baseline, &it.arm].map(|it| names.short(it));
    Some(match versus.likeness {
        Likeness::Identical => format!("{one} and {two} read alike: {says}"),
        Likeness::Different => says,
        Likeness::Unknown => format!("not known whether {one} and {two} read alike: {says}"),
    })
}

fn held_against(
    it: &MechanismFinding,
    versus: &MechanismComparison,
    all: &[MechanismFinding],
    record: &Record,
    names: &Names,
) -> String {
    let arms = [&versus.baseline, &it.arm];
    let called = arms.map(|it| word(names.short(it)));
    let nothing = Access::default();
    let both = arms.map(|arm| {
        let access = all.iter().find(|it| it.arm == *arm).and_then(|it| it.access.as_ref()).unwrap_or(&nothing);
        let seen = observation(record, arm).and_then(Reading::value);
        Seen { access, is_partial: seen.is_some_and(Observation::is_partial) }
    });
    let [one, two] = both.map(|it| it.access);
    let each = |what: [String; 2]| format!("{} {}; {} {}", called[0], what[0], called[1], what[1]);
    match (versus.likeness, &versus.unknown) {
        (Likeness::Identical, _) => {
            let in_order = |it: &Access| it.mappings.is_empty() && it.calls.values().all(is_in_order);
            let so = match (is_as_much(one, two), in_order(one) && in_order(two)) {
                (false, _) => "one of them does more of it",
                (true, true) => "a difference in time has another cause",
                (true, false) => "where in it each reads was not compared",
            };
            let brief = both.map(brief);
            let what = if brief[0] == brief[1] { format!("each {}", brief[0]) } else { each(brief) };
            format!("{what}; {so}")
        }
        (Likeness::Different, _) => {
            let readers =
                arms.map(|arm| observation(record, arm).and_then(|it| it.value()?.readers_at_once).unwrap_or(0));
            let difference = |of: &AccessDifference| match of {
                AccessDifference::Kind => each(both.map(brief)),
                AccessDifference::Mappings => each(both.map(of_mappings)),
                AccessDifference::Calls => each(both.map(of_calls)),
                AccessDifference::Direct => each([one, two].map(of_page_cache)),
                AccessDifference::Hints => each([one, two].map(of_hints)),
                AccessDifference::Readers => each(readers.map(of_readers)),
                AccessDifference::Opens => each(both.map(of_opens)),
            };
            versus.differences.iter().map(difference).collect::<Vec<String>>().join("; ")
        }
        (_, Some(UnknownLikeness::Incomplete { arm, reason })) => format!("{}: {reason}", names.short(arm)),
        (_, Some(UnknownLikeness::Ring { arm })) => {
            format!("{}: reads through its ring cannot be assigned to a file", names.short(arm))
        }
        (_, Some(UnknownLikeness::Idle)) => "neither command was observed to read or map a named file".into(),
        (_, Some(UnknownLikeness::NotObserved) | None) => "one of them could not be observed".into(),
    }
}

/// What an arm was seen to do, and whether it may have done more: then it is not said what it does not do.
#[derive(Clone, Copy)]
struct Seen<'a> {
    access: &'a Access,
    is_partial: bool,
}

fn of_page_cache(access: &Access) -> String {
    match access.goes_around() {
        true => AROUND.into(),
        false => "goes through the page cache".into(),
    }
}

const AROUND: &str = "goes around the page cache (O_DIRECT)";

fn of_readers(at_once: u64) -> String {
    match at_once {
        0 | 1 => "reads or maps files in one thread at a time".into(),
        threads => {
            format!("reads or maps files in {} threads that are alive at once", number::count(threads as f64))
        }
    }
}

fn of_opens(Seen { access, is_partial }: Seen) -> String {
    match access.opens {
        0 if is_partial => "was not seen to open a file".into(),
        0 => "opens no file".into(),
        1 => "opens one file once".into(),
        times => format!("opens files {} times", number::count(times as f64)),
    }
}

fn describe(access: &Access, seen: &Observation) -> String {
    let of = Seen { access, is_partial: seen.is_partial() };
    let mut parts = vec![of_calls(of), of_mappings(of)];
    if access.goes_around() {
        parts.push(AROUND.into());
    }
    if !access.hints.is_empty() {
        parts.push(of_hints(access));
    }
    if seen.rings > 0 {
        parts.push("sets up a ring (io_uring or AIO), whose reads cannot be assigned to a file".into());
    }
    if access.opens_for_writing > 0 {
        parts.push("also opens it for writing".into());
    }
    parts.push(format!(
        "{}{}, {}; by {}",
        match seen.named_opened {
            0 | 1 => String::new(),
            files => format!("{}; ", counted(files as usize, "file", "files")),
        },
        counted(seen.processes as usize, "process", "processes"),
        counted(seen.threads as usize, "thread", "threads"),
        seen.by.word()
    ));
    if !seen.runtimes.is_empty() {
        let names: Vec<&str> = seen.runtimes.iter().map(|it| runtime::name(*it)).collect();
        parts.push(format!("executes code of {}", list(&names)));
    }
    let more = seen.incomplete.iter().map(|it| format!("incomplete: {it}")).chain(seen.remarks.iter().cloned());
    parts.into_iter().chain(more).collect::<Vec<_>>().join(" · ")
}

/// Whether they read and map as much, in as many calls, as far as a time could show it.
fn is_as_much(one: &Access, other: &Access) -> bool {
    let amounts = [Access::read_bytes, Access::read_calls, Access::mapped_bytes];
    amounts.iter().all(|of| {
        let [one, other] = [one, other].map(|it| of(it) as f64);
        one.max(other) <= (1.0 + MARGIN) * one.min(other)
    })
}

/// What matters, in a clause.
fn brief(of: Seen) -> String {
    match (!of.access.mappings.is_empty(), !of.access.calls.is_empty()) {
        (true, true) => format!("{} and {}", of_mappings(of), of_calls(of)),
        (true, false) => of_mappings(of),
        (false, true) => of_calls(of),
        (false, false) if of.is_partial => "was not seen to read or map it".into(),
        (false, false) => "neither reads nor maps it".into(),
    }
}

/// `reads 64 MiB: 512 × read of 128 KiB, sequential`, the call with the most bytes first.
fn of_calls(Seen { access, is_partial }: Seen) -> String {
    if access.calls.is_empty() {
        return if is_partial { "was not seen to read" } else { "reads nothing" }.into();
    }
    let mut calls: Vec<(&String, &Calls)> = access.calls.iter().collect();
    calls.sort_by_key(|(_, it)| std::cmp::Reverse(it.bytes));
    let order = |it: &Calls| if is_in_order(it) || !access.opens_for_each_call() { order(it) } else { OPENED.into() };
    let each: Vec<String> = calls
        .iter()
        .map(|(name, it)| format!("{} × {name} of {}, {}", number::count(it.count as f64), sizes(it), order(it)))
        .collect();
    format!("reads {}: {}", size(access.read_bytes()), each.join(" and "))
}

/// Of calls and mappings.
fn size(bytes: u64) -> String {
    numbers::rough_size(bytes as f64)
}

/// The size of most calls, or from the smallest to the largest that are no exceptions.
fn sizes(calls: &Calls) -> String {
    let (Some(first), Some(last)) = (calls.sizes.first(), calls.sizes.last()) else { return size(0) };
    // All of one bin, or nearly: then the mean is what they are.
    let mean = calls.asked_bytes / calls.count.max(1);
    if first.value == last.value && (last.value..above(last.value)).contains(&mean) {
        return size(mean);
    }
    // Each of the last bin asked for its lower end at least, and all together for no more than there is.
    let most = calls.asked_bytes / last.events.max(1);
    let end = if most < last.value.saturating_add(last.value / 10) { last.value } else { above(last.value) };
    match end {
        end if end == first.value => size(end),
        // A wide range says only how large they were at most.
        end if end > first.value.saturating_mul(WIDE) => format!("up to {}", size(end)),
        end => format!("{} to {}", size(first.value), size(end)),
    }
}

/// Where the next bin begins.
fn above(bin: u64) -> u64 {
    bin.saturating_mul(2).max(1)
}

/// Instead of an order: each read is the first one of an opening.
const OPENED: &str = "each after opening the file";

/// From this share of the calls on, they are sequential.
const IN_ORDER: f64 = 0.95;

fn is_in_order(calls: &Calls) -> bool {
    calls.share_in_order().is_some_and(|it| it >= IN_ORDER)
}

fn order(calls: &Calls) -> String {
    match calls.share_in_order() {
        None => "in an order that was not seen".into(),
        Some(_) if is_in_order(calls) => "sequential".into(),
        Some(share) if share <= 0.05 => "not sequential".into(),
        Some(share) => format!("{} sequential", numbers::percent(share)),
    }
}

/// `maps 64 MiB, private`
fn of_mappings(Seen { access, is_partial }: Seen) -> String {
    if access.mappings.is_empty() {
        return if is_partial { "was not seen to map" } else { "maps nothing" }.into();
    }
    let one = |it: &MappingCount| {
        let mut text = size(it.bytes);
        if it.count > 1 {
            text = format!("{text} in {} mappings", number::count(it.count as f64));
        }
        text.push_str(if it.shared { ", shared" } else { ", private" });
        for (word, is) in [(", writable", it.writable), (", executable", it.executable), (", populated", it.populate)] {
            text.push_str(if is { word } else { "" });
        }
        text
    };
    format!("maps {}", access.mappings.iter().map(one).collect::<Vec<_>>().join(" and "))
}

fn of_hints(access: &Access) -> String {
    if access.hints.is_empty() {
        return "gives no advice".into();
    }
    let each = access.hints.iter().map(|(hint, &times)| match times {
        1 => hint.clone(),
        _ => format!("{} × {hint}", number::count(times as f64)),
    });
    format!("advises {}", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use schema::{counted::Bin, observation::Means};

    use super::*;

    fn reading(name: &str, size: u64, times: u64) -> Access {
        let mut access = Access { opens: 1, ..Access::default() };
        (0..times).for_each(|_| access.count_call(name, size, size, true));
        access
    }

    fn whole(access: &Access) -> Seen<'_> {
        Seen { access, is_partial: false }
    }

    fn mapping(bytes: u64) -> Access {
        let mut access = Access { opens: 1, ..Access::default() };
        access.count_mapping(&MappingCount { count: 1, bytes, ..MappingCount::default() });
        access
    }

    #[test]
    fn no_size_is_said_that_no_call_asked_for() {
        let of = |asked_bytes: u64, sizes: &[(u64, u64)]| {
            let count = sizes.iter().map(|it| it.1).sum();
            let sizes = sizes.iter().map(|&(value, events)| Bin { value, events }).collect();
            super::sizes(&Calls { count, asked_bytes, sizes, ..Calls::default() })
        };
        let kib = |kib: u64| kib << 10;
        assert_eq!(of(257 * kib(32) + kib(28), &[(kib(16), 1), (kib(32), 257)]), "16 KiB to 32 KiB");
        // An exception is left out of the sizes, and not of the sum.
        assert_eq!(of(1024 * kib(64) - 33, &[(kib(64), 1025)]), "64 KiB");
        assert_eq!(of(10 * kib(100), &[(kib(64), 10)]), "100 KiB");
        assert_eq!(of(10 * kib(100) + 10 * kib(40), &[(kib(32), 10), (kib(64), 10)]), "32 KiB to 128 KiB");
    }

    #[test]
    fn reads_that_each_have_an_opening_of_their_own_have_no_order() {
        let opened = |opens: u64, in_order: u64| {
            let mut access = Access { opens, ..Access::default() };
            (0..100).for_each(|at| access.count_call("pread64", 65_536, 65_536, at < in_order));
            of_calls(whole(&access))
        };
        assert!(opened(100, 1).ends_with(OPENED));
        assert!(opened(99, 1).ends_with("not sequential"));
        assert!(opened(100, 100).ends_with("sequential"), "files that are read whole begin where they were opened");
    }

    #[test]
    fn an_arm_is_described_on_one_line() {
        let named = reading("read", 131_072, 64);
        let seen = Observation {
            by: Means::Ptrace,
            processes: 1,
            threads: 3,
            readers_at_once: Some(1),
            named_opened: 1,
            named: named.clone(),
            files: Vec::new(),
            files_left_out: 0,
            rings: 1,
            runtimes: vec![MappedRuntime::Cpython, MappedRuntime::Go],
            expired: false,
            incomplete: Vec::new(),
            remarks: Vec::new(),
        };
        assert_eq!(
            number::plain(&describe(&named, &seen)),
            "reads 8 MiB: 64 × read of 128 KiB, sequential · was not seen to map · sets up a ring (io_uring or AIO), whose reads \
cannot be assigned to a file · 1 process, 3 threads; by ptrace · executes code of CPython and Go"
        );
    }

    #[test]
    fn what_two_commands_do_otherwise_is_said_of_each() {
        let mut populated = mapping(1 << 20);
        populated.mappings[0].populate = true;
        assert_eq!(number::plain(&brief(whole(&populated))), "maps 1 MiB, private, populated");
        populated.hints.insert("madvise(MADV_RANDOM)".into(), 2);
        assert_eq!(of_hints(&populated), "advises 2 × madvise(MADV_RANDOM)");
        assert_eq!(of_hints(&mapping(1)), "gives no advice");
        let nothing = Access::default();
        assert_eq!(brief(whole(&nothing)), "neither reads nor maps it");
        let partial = Seen { access: &nothing, is_partial: true };
        for of in [brief, of_calls, of_mappings, of_opens] {
            assert_ne!(of(partial), of(whole(&nothing)), "what was not seen need not be nothing");
        }
        assert_eq!(
            [0, 4].map(of_readers),
            ["reads or maps files in one thread at a time", "reads or maps files in 4 threads that are alive at once"]
        );
    }
}
