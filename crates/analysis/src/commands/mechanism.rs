//! Whether two commands reach their files in the same way: from what one watched execution of each did, never from times.
//!
//! Two accesses are alike when they read with the same calls, in blocks of the same size, about as often, in the same
//! order, map the same way, give the same hints, open their files about as often, and both or neither go around the page cache.
//! Of reads that are each the first one of an opening, no order is known. What makes up less than a fiftieth of its calls or of its mappings says nothing about an access, nor do a few calls beside mappings: a program that
//! maps its file looks at its first bytes by a call. What is mapped is address space, and how much of it was looked at is not
//! known: many calls beside it are an access of their own, whatever share of the bytes they read.

use schema::{
    Reading, Record,
    findings::Verdict,
    observation::{
        Access, AccessDifference, Calls, Likeness, MappingCount, MechanismComparison, MechanismFinding, Observation,
        Observed, UnknownLikeness,
    },
};

use super::confounders;
use crate::{
    compare::compare,
    measured::{Cell, Run},
};

/// Calls and mappings below this share of an access are by the way.
const BY_THE_WAY: f64 = 0.02;
/// Beside mappings, more calls than these, and than `FEW` for each mapping, are an access of their own.
const FEW_CALLS: u64 = 64;
/// Counts within this factor are the same: threads share work differently each time, and a search may stop early.
const FACTOR: f64 = 1.5;
/// Counts that differ by at most this are the same too.
const FEW: u64 = 8;
/// Shares of calls in order are alike within this.
const ORDER: f64 = 0.3;
/// Sizes that fewer of the calls have are exceptions.
const USUAL: f64 = 0.1;

pub(crate) fn all(record: &Record) -> Vec<MechanismFinding> {
    let Some((first, others)) = record.observations.split_first() else { return Vec::new() };
    let cells = |arm: &str| {
        let of_arm = (0..record.cells.len()).filter(|&at| record.cells[at].arm.name == arm);
        of_arm.filter_map(|at| record.cell_id(at)).collect()
    };
    let finding = |observed: &Observed, versus| MechanismFinding {
        arm: observed.arm.clone(),
        cells: cells(&observed.arm),
        says: String::new(),
        access: observed.seen.value().map(|it| significant(&it.named)),
        versus,
    };
    let of_others = others.iter().map(|other| finding(other, Some(versus(first, other))));
    std::iter::once(finding(first, None)).chain(of_others).collect()
}

/// Whether one arm of a cell's condition copies what it reads, by calls alone, and one maps it. What did other work says nothing
/// of this one.
pub(crate) fn both_ways(run: &Run, cell: &Cell) -> bool {
    let of_condition = run.of_condition(cell.entry.condition).filter(|it| !it.passes.is_empty());
    let is_alike = |it: &&Cell| std::ptr::eq(*it, cell) || compare(run, cell, it).verdict != Verdict::NotComparable;
    let seen = of_condition.filter(is_alike).filter_map(|it| confounders::observation(run, it));
    let all: Vec<(Ways, &Access)> = seen.map(|it| (ways(&it.named), &it.named)).collect();
    // One that reads around the page cache, or has the kernel hand it on, copies nothing.
    let copies = |(ways, access): &(Ways, &Access)| ways.calls && !ways.mappings && access.copies();
    all.iter().any(copies) && all.iter().any(|(ways, _)| ways.mappings && !ways.calls)
}

/// By what an access reaches its bytes, what is by the way left out.
pub struct Ways {
    pub calls: bool,
    pub mappings: bool,
}

pub fn ways(access: &Access) -> Ways {
    Ways { calls: !significant_calls(access).is_empty(), mappings: !significant_mappings(access).is_empty() }
}

fn versus(first: &Observed, other: &Observed) -> MechanismComparison {
    let judgement = match (&first.seen, &other.seen) {
        (Reading::Value(one), Reading::Value(two)) => judge([&first.arm, &other.arm], [one, two]),
        _ => Judgement::Unknown(UnknownLikeness::NotObserved),
    };
    let (likeness, differences, unknown) = match judgement {
        Judgement::Alike => (Likeness::Identical, Vec::new(), None),
        Judgement::Different(differences) => (Likeness::Different, differences, None),
        Judgement::Unknown(why) => (Likeness::Unknown, Vec::new(), Some(why)),
    };
    MechanismComparison { baseline: first.arm.clone(), likeness, says: String::new(), differences, unknown }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Judgement {
    Alike,
    Different(Vec<AccessDifference>),
    Unknown(UnknownLikeness),
}

fn judge(arms: [&str; 2], seen: [&Observation; 2]) -> Judgement {
    let hidden = |(seen, arm): (&Observation, &str)| match seen.incomplete.first() {
        Some(reason) => Some(UnknownLikeness::Incomplete { arm: arm.to_string(), reason: reason.clone() }),
        None => (seen.rings > 0).then(|| UnknownLikeness::Ring { arm: arm.to_string() }),
    };
    // All that it does to a file may be what could not be seen.
    let is_unseen = |(seen, _): &(&Observation, &str)| is_idle(&seen.named);
    if let Some(why) = seen.into_iter().zip(arms).filter(is_unseen).find_map(hidden) {
        return Judgement::Unknown(why);
    }
    let mut differences = differences(seen.map(|it| &it.named));
    // Absent in records of older versions.
    if let [Some(one), Some(two)] = seen.map(|it| it.readers_at_once)
        && one.max(two) as f64 > one.min(two).max(1) as f64 * FACTOR
    {
        differences.push(AccessDifference::Readers);
    }
    if !differences.is_empty() {
        return Judgement::Different(differences);
    }
    let idle = || seen.iter().all(|it| is_idle(&it.named)).then_some(UnknownLikeness::Idle);
    let unknown = seen.into_iter().zip(arms).find_map(hidden).or_else(idle);
    unknown.map_or(Judgement::Alike, Judgement::Unknown)
}

/// It neither reads nor maps.
fn is_idle(access: &Access) -> bool {
    significant_calls(access).is_empty() && significant_mappings(access).is_empty()
}

fn differences(both: [&Access; 2]) -> Vec<AccessDifference> {
    let calls = both.map(significant_calls);
    let mappings = both.map(significant_mappings);
    let kinds = [0, 1].map(|at| (calls[at].is_empty(), mappings[at].is_empty()));
    let [one, two] = both;
    let has_order = !both.iter().any(|it| it.opens_for_each_call());
    let found = [
        // One reads what the other maps: that says it all.
        (kinds[0] != kinds[1], AccessDifference::Kind),
        (kinds[0] == kinds[1] && !alike_mappings(&mappings), AccessDifference::Mappings),
        (kinds[0] == kinds[1] && !alike_calls(&calls, has_order), AccessDifference::Calls),
        (one.goes_around() != two.goes_around(), AccessDifference::Direct),
        (!hints(one).eq(hints(two)), AccessDifference::Hints),
        (!near(one.opens, two.opens), AccessDifference::Opens),
    ];
    found.into_iter().filter(|it| it.0).map(|it| it.1).collect()
}

/// Each kind once, whatever its number.
fn hints(access: &Access) -> impl Iterator<Item = &String> {
    access.hints.keys()
}

/// What is left of an access without what is by the way.
fn significant(access: &Access) -> Access {
    let calls = significant_calls(access).into_iter().map(|(name, it)| {
        let least = it.count as f64 * USUAL;
        let sizes = it.sizes.iter().filter(|it| it.events as f64 >= least).copied().collect();
        (name.to_string(), Calls { sizes, ..it.clone() })
    });
    let mappings = significant_mappings(access).into_iter().cloned().collect();
    Access { calls: calls.collect(), mappings, ..access.clone() }
}

fn whole(access: &Access) -> f64 {
    access.reached_bytes() as f64
}

/// Calls that read so small a share of what is mapped and read, and so few of them, that the mappings are the access.
fn are_by_the_way(access: &Access) -> bool {
    let calls = access.calls.values().map(|it| it.count).fold(0, u64::saturating_add);
    let mappings = access.mappings.iter().map(|it| it.count).fold(0, u64::saturating_add);
    calls <= FEW_CALLS.max(mappings.saturating_mul(FEW)) && (access.read_bytes() as f64) < whole(access) * BY_THE_WAY
}

/// By their bytes, the most first; all of them when nothing was delivered at all.
fn significant_calls(access: &Access) -> Vec<(&str, &Calls)> {
    let least = if are_by_the_way(access) { f64::INFINITY } else { access.read_bytes() as f64 * BY_THE_WAY };
    let mut calls: Vec<(&str, &Calls)> =
        access.calls.iter().filter(|(_, it)| it.bytes as f64 >= least).map(|(name, it)| (name.as_str(), it)).collect();
    calls.sort_by_key(|(_, it)| std::cmp::Reverse(it.bytes));
    calls
}

fn significant_mappings(access: &Access) -> Vec<&MappingCount> {
    let least = access.mapped_bytes() as f64 * BY_THE_WAY;
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

fn alike_calls(both: &[Vec<(&str, &Calls)>; 2], has_order: bool) -> bool {
    let find = |name: &str| both[1].iter().find(|it| it.0 == name).map(|it| it.1);
    both[0].len() == both[1].len()
        && both[0].iter().all(|(name, one)| {
            find(name).is_some_and(|other| {
                let neighbours = |a: u64, b: u64| a.max(b) <= a.min(b).max(1).saturating_mul(2);
                near(one.count, other.count)
                    && near(one.bytes, other.bytes)
                    && neighbours(usual_size(one), usual_size(other))
                    && (!has_order || alike_orders(one, other))
            })
        })
}

fn near(one: u64, other: u64) -> bool {
    let (less, more) = (one.min(other), one.max(other));
    more - less <= FEW || more as f64 <= less as f64 * FACTOR
}

/// An order that was not seen differs from none; such an observation is incomplete.
fn alike_orders(one: &Calls, other: &Calls) -> bool {
    let shares = one.share_in_order().zip(other.share_in_order());
    shares.is_none_or(|(one, other)| (one - other).abs() <= ORDER)
}

/// The bin that most calls fall into.
fn usual_size(calls: &Calls) -> u64 {
    calls.sizes.iter().max_by_key(|bin| bin.events).map_or(0, |bin| bin.value)
}

#[cfg(test)]
mod tests {
    use schema::observation::{
        AccessDifference::{Calls, Direct, Hints, Kind, Mappings, Opens, Readers},
        Means,
    };

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
            runtimes: Vec::new(),
            expired: false,
            incomplete: Vec::new(),
            remarks: Vec::new(),
        }
    }

    fn judged(one: Access, two: Access) -> Judgement {
        judge(["A", "B"], [&observation(one), &observation(two)])
    }

    #[track_caller]
    fn differ(one: Access, two: Access, expected: &[AccessDifference]) {
        assert_eq!(judged(one, two), Judgement::Different(expected.to_vec()));
    }

    #[test]
    fn the_same_reads_are_identical_although_their_number_differs_a_little() {
        assert_eq!(judged(reading("read", 65_536, 1000, true), reading("read", 65_536, 1020, true)), Judgement::Alike);
    }

    #[test]
    fn two_commands_that_were_seen_to_do_nothing_are_not_said_to_do_the_same() {
        let opened = || Access { opens: 1, ..Access::default() };
        assert_eq!(judged(opened(), opened()), Judgement::Unknown(UnknownLikeness::Idle));
        differ(opened(), reading("read", 65_536, 1000, true), &[Kind]);
    }

    #[test]
    fn what_was_not_seen_to_reach_a_file_and_may_have_done_so_unseen_is_not_said_to_differ() {
        let reads = observation(reading("read", 65_536, 1000, true));
        let unseen = observation(Access { opens: 1, ..Access::default() });
        let ring = Observation { rings: 1, ..unseen.clone() };
        let hidden = Observation { incomplete: vec!["why".into()], ..unseen };
        let of_ring = Judgement::Unknown(UnknownLikeness::Ring { arm: "A".into() });
        assert_eq!(judge(["A", "B"], [&ring, &reads]), of_ring);
        let of_hidden = UnknownLikeness::Incomplete { arm: "B".into(), reason: "why".into() };
        assert_eq!(judge(["A", "B"], [&reads, &hidden]), Judgement::Unknown(of_hidden));
        // What was seen is different whatever was not.
        let maps = Observation { rings: 1, ..observation(mapping(1 << 26)) };
        assert_eq!(judge(["A", "B"], [&maps, &reads]), Judgement::Different(vec![Kind]));
    }

    #[test]
    fn a_program_that_maps_and_one_that_reads_differ_and_the_first_look_at_the_file_does_not_count() {
        let mut maps = mapping(1 << 26);
        maps.count_call("read", 512, 512, true);
        assert!(significant(&maps).calls.is_empty());
        differ(maps, reading("read", 65_536, 1024, true), &[Kind]);
    }

    #[test]
    fn many_calls_beside_a_large_mapping_and_a_mapping_beside_many_reads_count() {
        let mut both = mapping(10 << 30);
        (0..25_000).for_each(|_| both.count_call("pread64", 4096, 4096, false));
        differ(both, mapping(10 << 30), &[Kind]);
        let mut reads = reading("read", 1 << 20, 10_000, true);
        reads.count_mapping(&MappingCount { count: 1, bytes: 100 << 20, ..MappingCount::default() });
        differ(reads, reading("read", 1 << 20, 10_000, true), &[Kind]);
        // As many first looks as there are files.
        let mut files = mapping(1 << 30);
        files.mappings[0].count = 2000;
        let alone = files.clone();
        (0..4000).for_each(|_| files.count_call("read", 512, 512, true));
        assert_eq!(judged(files, alone), Judgement::Alike);
    }

    #[test]
    fn what_is_read_in_other_blocks_with_another_call_or_in_another_order_differs() {
        let base = || reading("pread64", 4096, 4096, true);
        differ(base(), reading("pread64", 131_072, 128, true), &[Calls]);
        differ(base(), reading("read", 4096, 4096, true), &[Calls]);
        differ(base(), reading("pread64", 4096, 4096, false), &[Calls]);
        differ(base(), reading("pread64", 4096, 16, true), &[Calls]);
    }

    #[test]
    fn a_file_that_is_opened_for_each_read_is_opened_more_often_and_its_reads_have_no_order() {
        let opened = |opens: u64, in_order: u64| {
            let mut access = Access { opens, ..Access::default() };
            (0..1000).for_each(|at| access.count_call("pread64", 65_536, 65_536, at < in_order));
            access
        };
        differ(opened(1, 1000), opened(1000, 1), &[Opens]);
        differ(opened(1000, 1), opened(1, 1000), &[Opens]);
        // Of ten reads of each opening, most show the order.
        differ(opened(1, 1000), opened(100, 1), &[Calls, Opens]);
        assert_eq!(judged(opened(1000, 1), opened(1000, 1000)), Judgement::Alike);
        assert_eq!(judged(opened(1, 1000), opened(4, 1000)), Judgement::Alike);
        differ(mapping(1 << 20), Access { opens: 1000, ..mapping(1 << 20) }, &[Opens]);
    }

    #[test]
    fn flags_advice_and_going_around_the_cache_differ() {
        let mut populated = mapping(1 << 20);
        populated.mappings[0].populate = true;
        differ(mapping(1 << 20), populated, &[Mappings]);
        let mut advised = mapping(1 << 20);
        advised.hints.insert("madvise(MADV_RANDOM)".into(), 1);
        differ(mapping(1 << 20), advised, &[Hints]);
        let mut direct = reading("read", 4096, 9, true);
        direct.opens_direct = 1;
        differ(direct, reading("read", 4096, 9, true), &[Direct]);
    }

    #[test]
    fn files_read_one_after_the_other_and_files_read_at_once_differ() {
        let with = |readers_at_once| Observation {
            readers_at_once,
            processes: 5,
            named_opened: 4,
            ..observation(reading("read", 131_072, 1000, true))
        };
        let judged = |one, two| judge(["A", "B"], [&with(one), &with(two)]);
        assert_eq!(judged(Some(1), Some(4)), Judgement::Different(vec![Readers]));
        assert_eq!(judged(Some(4), Some(1)), Judgement::Different(vec![Readers]));
        assert_eq!(judged(Some(4), Some(4)), Judgement::Alike);
        // One of four had ended before the last began.
        assert_eq!(judged(Some(4), Some(3)), Judgement::Alike);
        assert_eq!(judged(None, Some(4)), Judgement::Alike, "an older record lacks it");
    }

    #[test]
    fn what_goes_through_a_ring_is_not_called_identical() {
        let mut ring = observation(reading("read", 4096, 9, true));
        ring.rings = 1;
        let plain = observation(reading("read", 4096, 9, true));
        let unknown = UnknownLikeness::Ring { arm: "B".into() };
        assert_eq!(judge(["A", "B"], [&plain, &ring]), Judgement::Unknown(unknown));
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
        let versus = findings[1].versus.as_ref().unwrap();
        assert_eq!((versus.likeness, &versus.unknown), (Likeness::Unknown, &Some(UnknownLikeness::NotObserved)));
        assert_eq!((findings[0].access.is_some(), findings[1].access.is_some()), (true, false));
    }

    #[test]
    fn transfers_in_an_order_that_was_not_seen_are_not_said_to_be_in_another_one() {
        let transfers = |sequential: bool, unseen: u64| {
            let mut access = reading("sendfile", 65_536, 1000 - unseen, sequential);
            (0..unseen).for_each(|_| access.count_unplaced("sendfile", 65_536, 65_536));
            access
        };
        let versus = |other: Access| {
            let reason = "the offset of a transfer lay in memory".to_string();
            let incomplete = vec![reason.clone()];
            let unseen = Observation { incomplete, ..observation(other) };
            let unknown = Judgement::Unknown(UnknownLikeness::Incomplete { arm: "B".into(), reason });
            (judge(["A", "B"], [&observation(transfers(true, 0)), &unseen]), unknown)
        };
        for other in [transfers(true, 1000), transfers(true, 500), transfers(true, 20), transfers(false, 500)] {
            let (found, unknown) = versus(other);
            assert_eq!(found, unknown);
        }
        assert_eq!(versus(transfers(false, 20)).0, Judgement::Different(vec![Calls]));
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
                let judgement = judged(one.clone(), other.clone());
                assert_eq!(judgement, judged(other.clone(), one.clone()));
                assert_eq!(
                    judgement == Judgement::Alike,
                    (at == other_at && !is_idle(one)) || (at.min(other_at), at.max(other_at)) == (1, 2),
                    "{at} {other_at}"
                );
            }
        }
    }
}
