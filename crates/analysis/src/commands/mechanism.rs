//! Whether two commands reach their files in the same way: from what one watched execution of each did, never from times.
//!
//! Two accesses are alike when they read with the same calls, in blocks of the same size, about as often, in the same
//! order, map the same way, give the same hints, and both or neither go around the page cache. What makes up less than a
//! fiftieth of an access says nothing about it: a program that maps its file looks at its first bytes by a call.

use std::collections::BTreeSet;

use schema::{
    Reading, Record,
    observation::{
        Access, Calls, Likeness, MappingCount, MechanismComparison, MechanismFinding, Observation, Observed,
    },
};

use super::confounders;
use crate::{
    measured::{Cell, Run},
    words,
};

/// Calls and mappings below this share of an access are by the way.
const BY_THE_WAY: f64 = 0.02;
/// Counts within this factor are the same: threads share work differently each time, and a search may stop early.
const FACTOR: f64 = 1.5;
/// Counts that differ by at most this are the same too.
const FEW: u64 = 8;
/// Shares of calls in order are alike within this.
const ORDER: f64 = 0.3;

pub(crate) fn all(record: &Record) -> Vec<MechanismFinding> {
    let Some((first, others)) = record.observations.split_first() else { return Vec::new() };
    let cells = |arm: &str| {
        let of_arm = (0..record.cells.len()).filter(|&at| record.cells[at].arm.name == arm);
        of_arm.filter_map(|at| record.cell_id(at)).collect()
    };
    let finding = |observed: &Observed, versus| MechanismFinding {
        arm: observed.arm.clone(),
        cells: cells(&observed.arm),
        says: match &observed.seen {
            Reading::Value(seen) => describe(seen),
            Reading::Unavailable { unavailable } => format!("not observed: {unavailable}"),
        },
        versus,
    };
    let of_others = others.iter().map(|other| finding(other, Some(versus(first, other))));
    std::iter::once(finding(first, None)).chain(of_others).collect()
}

/// Whether one arm of a cell's condition copies what it reads, by calls alone, and one maps it.
pub(crate) fn both_ways(run: &Run, cell: &Cell) -> bool {
    let of_condition = run.of_condition(cell.entry.condition).filter(|it| !it.passes.is_empty());
    let ways: Vec<(bool, bool)> = of_condition
        .filter_map(|it| confounders::observation(run, it))
        .map(|seen| (significant_calls(&seen.named).is_empty(), significant_mappings(&seen.named).is_empty()))
        .collect();
    ways.contains(&(false, true)) && ways.contains(&(true, false))
}

fn versus(first: &Observed, other: &Observed) -> MechanismComparison {
    let (likeness, says) = match (&first.seen, &other.seen) {
        (Reading::Value(one), Reading::Value(two)) => {
            let names = [name(&first.arm), name(&other.arm)];
            judge(names, [one, two])
        }
        _ => (Likeness::Unknown, "one of them could not be observed".into()),
    };
    MechanismComparison { baseline: first.arm.clone(), likeness, says }
}

fn judge(names: [&str; 2], seen: [&Observation; 2]) -> (Likeness, String) {
    let mut differences = differences(names, seen.map(|it| &it.named));
    // Absent in records of older versions.
    let at_once = seen.map(|it| it.readers_at_once);
    if let [Some(one), Some(two)] = at_once
        && one.max(two) as f64 > one.min(two).max(1) as f64 * FACTOR
    {
        differences.push(each(names, [one, two].map(of_readers)));
    }
    let hidden = seen.iter().position(|it| it.rings > 0 || !it.incomplete.is_empty());
    match (differences.is_empty(), hidden) {
        (false, _) => (Likeness::Different, format!("different in mechanism: {}", differences.join("; "))),
        (true, Some(at)) => {
            let why = match seen[at].incomplete.first() {
                Some(why) => why.as_str(),
                None => "reads through its ring cannot be assigned to a file",
            };
            (Likeness::Unknown, format!("not known: `{}`: {why}", names[at]))
        }
        (true, None) if seen.iter().all(|it| is_idle(&it.named)) => {
            (Likeness::Unknown, "unknown: neither command was observed to read or map a named file".to_string())
        }
        (true, None) => (
            Likeness::Identical,
            format!("identical in mechanism: each {}; a difference in time has another cause", brief(&seen[0].named)),
        ),
    }
}

/// It neither reads nor maps.
fn is_idle(access: &Access) -> bool {
    significant_calls(access).is_empty() && significant_mappings(access).is_empty()
}

/// An arm's name in sentences: its runtime is the same for all.
fn name(arm: &str) -> &str {
    arm.split_once('/').map_or(arm, |(_, name)| name)
}

/// The differences between two accesses, in words; none when they are alike.
fn differences(names: [&str; 2], both: [&Access; 2]) -> Vec<String> {
    let [one, two] = both;
    let mut found = Vec::new();
    let calls = both.map(significant_calls);
    let mappings = both.map(significant_mappings);
    let kinds = [0, 1].map(|at| (calls[at].is_empty(), mappings[at].is_empty()));
    if kinds[0] != kinds[1] {
        // One reads what the other maps: that says it all.
        found.push(each(names, both.map(brief)));
    } else {
        if !alike_mappings(&mappings) {
            found.push(each(names, both.map(of_mappings)));
        }
        if !alike_calls(&calls) {
            found.push(each(names, both.map(of_calls)));
        }
    }
    if (one.opens_direct > 0) != (two.opens_direct > 0) {
        let way = |access: &Access| match access.opens_direct > 0 {
            true => "goes around the page cache (O_DIRECT)".to_string(),
            false => "goes through the page cache".to_string(),
        };
        found.push(each(names, both.map(way)));
    }
    let hints = both.map(|it| it.hints.keys().collect::<BTreeSet<&String>>());
    if hints[0] != hints[1] {
        found.push(each(names, both.map(of_hints)));
    }
    found
}

fn each(names: [&str; 2], do_what: [String; 2]) -> String {
    format!("`{}` {}; `{}` {}", names[0], do_what[0], names[1], do_what[1])
}

fn of_readers(at_once: u64) -> String {
    match at_once {
        0 | 1 => "reads with one thread at a time".into(),
        threads => format!("reads with {} threads at once", words::thousands(threads)),
    }
}

fn whole(access: &Access) -> f64 {
    access.read_bytes().saturating_add(access.mapped_bytes()) as f64
}

/// By their bytes, the most first; all of them when nothing was delivered at all.
fn significant_calls(access: &Access) -> Vec<(&str, &Calls)> {
    let least = whole(access) * BY_THE_WAY;
    let mut calls: Vec<(&str, &Calls)> =
        access.calls.iter().filter(|(_, it)| it.bytes as f64 >= least).map(|(name, it)| (name.as_str(), it)).collect();
    calls.sort_by_key(|(_, it)| std::cmp::Reverse(it.bytes));
    calls
}

fn significant_mappings(access: &Access) -> Vec<&MappingCount> {
    let least = whole(access) * BY_THE_WAY;
    let mut mappings: Vec<&MappingCount> = access.mappings.iter().filter(|it| it.bytes as f64 >= least).collect();
    mappings.sort_by_key(|it| (std::cmp::Reverse(it.bytes), kind(it)));
    mappings
}

fn kind(it: &MappingCount) -> (bool, bool, bool, bool) {
    (it.shared, it.writable, it.executable, it.populate)
}

fn alike_mappings(both: &[Vec<&MappingCount>; 2]) -> bool {
    let find = |one: &MappingCount| both[1].iter().find(|it| kind(it) == kind(one)).copied();
    both[0].len() == both[1].len()
        && both[0]
            .iter()
            .all(|one| find(one).is_some_and(|other| near(one.bytes, other.bytes) && near(one.count, other.count)))
}

fn alike_calls(both: &[Vec<(&str, &Calls)>; 2]) -> bool {
    let find = |name: &str| both[1].iter().find(|it| it.0 == name).map(|it| it.1);
    both[0].len() == both[1].len()
        && both[0].iter().all(|(name, one)| {
            find(name).is_some_and(|other| {
                let neighbours = |a: u64, b: u64| a.max(b) <= a.min(b).max(1).saturating_mul(2);
                near(one.count, other.count)
                    && near(one.bytes, other.bytes)
                    && neighbours(usual_size(one), usual_size(other))
                    && (in_order(one) - in_order(other)).abs() <= ORDER
            })
        })
}

fn near(one: u64, other: u64) -> bool {
    let (less, more) = (one.min(other), one.max(other));
    more - less <= FEW || more as f64 <= less as f64 * FACTOR
}

fn in_order(calls: &Calls) -> f64 {
    calls.sequential as f64 / calls.count.max(1) as f64
}

/// The bin that most calls fall into.
fn usual_size(calls: &Calls) -> u64 {
    calls.sizes.iter().max_by_key(|bin| bin.events).map_or(0, |bin| bin.value)
}

/// Everything about one arm, on a line.
fn describe(seen: &Observation) -> String {
    let mut parts = vec![of_calls(&seen.named), of_mappings(&seen.named)];
    if seen.named.opens_direct > 0 {
        parts.push("goes around the page cache (O_DIRECT)".into());
    }
    if !seen.named.hints.is_empty() {
        parts.push(of_hints(&seen.named));
    }
    if seen.rings > 0 {
        parts.push("sets up a ring (io_uring or AIO), whose reads cannot be assigned to a file".into());
    }
    if seen.named.opens_for_writing > 0 {
        parts.push("also opens it for writing".into());
    }
    parts.push(format!(
        "{}{}, {}; by {}",
        match seen.named_opened {
            0 | 1 => String::new(),
            files => format!("{} files; ", words::thousands(files)),
        },
        words::count(seen.processes, "process", "processes"),
        words::count(seen.threads, "thread", "threads"),
        seen.by.word()
    ));
    let more = seen.incomplete.iter().map(|it| format!("incomplete: {it}")).chain(seen.remarks.iter().cloned());
    parts.into_iter().chain(more).collect::<Vec<_>>().join(" · ")
}

/// What matters, in a clause.
fn brief(access: &Access) -> String {
    let reads = !significant_calls(access).is_empty();
    match (!significant_mappings(access).is_empty(), reads) {
        (true, true) => format!("{} and {}", of_mappings(access), of_calls(access)),
        (true, false) => of_mappings(access),
        (false, true) => of_calls(access),
        (false, false) if access.read_calls() > 0 => "reads no bytes".into(),
        (false, false) => "neither reads nor maps it".into(),
    }
}

/// `reads 64 MiB: 512 × read of 128 KiB, sequential`
fn of_calls(access: &Access) -> String {
    let calls = significant_calls(access);
    if calls.is_empty() {
        return "reads nothing".into();
    }
    let each: Vec<String> = calls
        .iter()
        .map(|(name, it)| format!("{} × {name} of {}, {}", words::thousands(it.count), sizes(it), order(it)))
        .collect();
    format!("reads {}: {}", words::rough_size(access.read_bytes() as f64), each.join(" and "))
}

/// The size of most calls, or from the smallest to the largest that are no exceptions.
fn sizes(calls: &Calls) -> String {
    let least = calls.count as f64 / 10.0;
    let usual: Vec<u64> = calls.sizes.iter().filter(|it| it.events as f64 >= least).map(|it| it.value).collect();
    let shown = |bytes: u64| words::rough_size(bytes as f64);
    match (usual.first(), usual.last()) {
        (Some(&first), Some(&last)) if first != last => format!("{} to {}", shown(first), shown(last)),
        // All of one bin, or nearly: then the mean is what they are.
        _ => {
            let usual = usual_size(calls);
            let mean = calls.asked_bytes / calls.count.max(1);
            shown(if (usual..usual.saturating_mul(2)).contains(&mean) { mean } else { usual })
        }
    }
}

fn order(calls: &Calls) -> String {
    match in_order(calls) {
        share if share >= 0.95 => "sequential".into(),
        share if share <= 0.05 => "not sequential".into(),
        share => format!("{} sequential", words::percent(share)),
    }
}

/// `maps 64 MiB, private`
fn of_mappings(access: &Access) -> String {
    let mappings = significant_mappings(access);
    if mappings.is_empty() {
        return "maps nothing".into();
    }
    let one = |it: &&MappingCount| {
        let mut text = words::rough_size(it.bytes as f64);
        if it.count > 1 {
            text = format!("{text} in {} mappings", words::thousands(it.count));
        }
        text.push_str(if it.shared { ", shared" } else { ", private" });
        for (word, is) in [(", writable", it.writable), (", executable", it.executable), (", populated", it.populate)] {
            text.push_str(if is { word } else { "" });
        }
        text
    };
    format!("maps {}", mappings.iter().map(one).collect::<Vec<_>>().join(" and "))
}

fn of_hints(access: &Access) -> String {
    if access.hints.is_empty() {
        return "gives no advice".into();
    }
    let each = access.hints.iter().map(|(hint, &times)| match times {
        1 => hint.clone(),
        _ => format!("{} × {hint}", words::thousands(times)),
    });
    format!("advises {}", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use schema::observation::Means;

    use super::*;

    fn reading(name: &str, size: u64, times: u64, sequential: bool) -> Access {
        let mut access = Access { opens: 1, ..Access::default() };
        (0..times).for_each(|_| access.count_call(name, size, size, sequential));
        // The end of the file.
        access.count_call(name, size, 0, sequential);
        access
    }

    fn mapping(bytes: u64) -> Access {
        let mut access = Access { opens: 1, ..Access::default() };
        access.count_mapping(&MappingCount { count: 1, bytes, ..MappingCount::default() });
        access
    }

    fn observation(named: Access) -> Observation {
        Observation {
            by: Means::Ptrace,
            processes: 1,
            threads: 1,
            readers_at_once: Some(1),
            named_opened: 1,
            named,
            files: Vec::new(),
            files_left_out: 0,
            rings: 0,
            incomplete: Vec::new(),
            remarks: Vec::new(),
        }
    }

    fn judged(one: Access, two: Access) -> (Likeness, String) {
        judge(["A", "B"], [&observation(one), &observation(two)])
    }

    #[track_caller]
    fn differ(one: Access, two: Access, words: &[&str]) {
        let (likeness, says) = judged(one, two);
        assert_eq!(likeness, Likeness::Different, "{says}");
        words.iter().for_each(|word| assert!(says.contains(word), "{word:?} is not in {says:?}"));
    }

    #[test]
    fn the_same_reads_are_identical_although_their_number_differs_a_little() {
        let (likeness, says) = judged(reading("read", 65_536, 1000, true), reading("read", 65_536, 1020, true));
        assert_eq!(likeness, Likeness::Identical);
        assert!(says.contains("identical in mechanism") && says.contains("read of 64 KiB"), "{says}");
    }

    #[test]
    fn two_commands_that_were_seen_to_do_nothing_are_not_said_to_do_the_same() {
        let opened = || Access { opens: 1, ..Access::default() };
        assert_eq!(judged(opened(), opened()).0, Likeness::Unknown);
        differ(opened(), reading("read", 65_536, 1000, true), &["64 KiB"]);
    }

    #[test]
    fn a_program_that_maps_and_one_that_reads_differ_and_the_first_look_at_the_file_does_not_count() {
        let mut maps = mapping(1 << 26);
        maps.count_call("read", 512, 512, true);
        differ(
            maps,
            reading("read", 65_536, 1024, true),
            &["`A` maps 64 MiB, private", "`B` reads 64 MiB: 1,025 × read"],
        );
    }

    #[test]
    fn what_is_read_in_other_blocks_with_another_call_or_in_another_order_differs() {
        let base = || reading("pread64", 4096, 4096, true);
        differ(base(), reading("pread64", 131_072, 128, true), &["of 4 KiB", "of 128 KiB"]);
        differ(base(), reading("read", 4096, 4096, true), &["pread64", "× read of"]);
        differ(base(), reading("pread64", 4096, 4096, false), &["sequential", "not sequential"]);
        differ(base(), reading("pread64", 4096, 16, true), &["4,097", "17"]);
    }

    #[test]
    fn flags_advice_and_going_around_the_cache_differ() {
        let mut populated = mapping(1 << 20);
        populated.mappings[0].populate = true;
        differ(mapping(1 << 20), populated, &["populated"]);
        let mut advised = mapping(1 << 20);
        advised.hints.insert("madvise(MADV_RANDOM)".into(), 1);
        differ(mapping(1 << 20), advised, &["gives no advice", "advises madvise(MADV_RANDOM)"]);
        let mut direct = reading("read", 4096, 9, true);
        direct.opens_direct = 1;
        differ(direct, reading("read", 4096, 9, true), &["O_DIRECT", "through the page cache"]);
    }

    #[test]
    fn files_read_one_after_the_other_and_files_read_at_once_differ() {
        let with = |readers_at_once| Observation {
            readers_at_once,
            processes: 5,
            named_opened: 4,
            ..observation(reading("read", 131_072, 1000, true))
        };
        let likeness = |one, two| judge(["A", "B"], [&with(one), &with(two)]).0;
        assert_eq!(likeness(Some(1), Some(4)), Likeness::Different);
        assert_eq!(likeness(Some(4), Some(1)), Likeness::Different);
        assert_eq!(likeness(Some(4), Some(4)), Likeness::Identical);
        // One of four had ended before the last began.
        assert_eq!(likeness(Some(4), Some(3)), Likeness::Identical);
        assert_eq!(likeness(None, Some(4)), Likeness::Identical, "an older record lacks it");
    }

    #[test]
    fn what_goes_through_a_ring_is_not_called_identical() {
        let mut ring = observation(reading("read", 4096, 9, true));
        ring.rings = 1;
        let plain = observation(reading("read", 4096, 9, true));
        let (likeness, says) = judge(["A", "B"], [&plain, &ring]);
        assert_eq!(likeness, Likeness::Unknown);
        assert!(says.contains('B') && says.contains("ring"), "{says}");
        let seen = Reading::Value(plain);
        let arms = [
            Observed { arm: "command/A".into(), seen },
            Observed { arm: "command/B".into(), seen: Reading::unavailable("not allowed") },
        ];
        let mut record: Record =
            serde_json::from_str(include_str!("../../../schema/tests/records/version-1.json")).unwrap();
        record.observations = arms.into();
        record.cells.truncate(1);
        record.cells[0].arm.name = "command/B".into();
        let findings = all(&record);
        assert_eq!(
            [&findings[0], &findings[1]].map(|it| it.cells.iter().map(|id| id.cell).collect::<Vec<usize>>()),
            [vec![], vec![0]]
        );
        assert_eq!(findings[0].versus, None);
        assert_eq!(findings[1].versus.as_ref().map(|it| it.likeness), Some(Likeness::Unknown));
        assert!(findings[1].says.contains("not allowed"));
    }

    #[test]
    fn being_alike_does_not_depend_on_who_comes_first() {
        let all = [
            reading("read", 4096, 4, true),
            reading("read", 4096, 4000, true),
            reading("read", 8192, 2900, true),
            reading("pread64", 8192, 2000, false),
            mapping(1 << 20),
            mapping(3 << 20),
            Access::default(),
        ];
        for (at, one) in all.iter().enumerate() {
            for (other_at, other) in all.iter().enumerate() {
                let likeness = judged(one.clone(), other.clone()).0;
                assert_eq!(likeness, judged(other.clone(), one.clone()).0);
                assert_eq!(
                    likeness == Likeness::Identical,
                    (at == other_at && !is_idle(one)) || (at.min(other_at), at.max(other_at)) == (1, 2),
                    "{at} {other_at}"
                );
            }
        }
    }

    #[test]
    fn an_arm_is_described_on_one_line() {
        let mut seen = observation(reading("read", 131_072, 64, true));
        seen.threads = 3;
        seen.rings = 1;
        assert_eq!(
            describe(&seen),
            "reads 8 MiB: 65 × read of 128 KiB, sequential · maps nothing · sets up a ring (io_uring or AIO), whose reads \
cannot be assigned to a file · 1 process, 3 threads; by ptrace"
        );
    }
}
