//! Why a program's accesses take the time they do, and which arms that speaks for. A rule only proposes: whether an arm gains
//! is measured by replays.

use schema::{
    Arm, State,
    advice::{AdviceCode, AdviceReason},
    advised::{Group, Pattern},
    observation::Access,
};

use super::kind::{
    AT_POSITION, buffer_kib, is_advised, is_at_position, is_behind_page, is_moved_to_page, is_plain, populates,
};

/// What comes in is this many times what is touched.
const MUCH_MORE: f64 = 4.0;
/// The same of reads by calls.
const MORE: f64 = 2.0;
/// Of the file: all of it is used.
const ALL: f64 = 0.8;
/// What is read is so many times the pages that are reached.
const AGAIN: f64 = 4.0;
const SMALL_BYTES: f64 = 4096.0;
/// More are many, of files of which the one in the middle is smaller than that.
const MANY_MAPPINGS: u64 = 500;
const SMALL_FILE_BYTES: u64 = 64 << 10;
/// Of the reads of a file's own position, or of its bytes.
const MOSTLY: f64 = 0.5;

/// What is known of a program's accesses in one state.
#[derive(Debug, Clone)]
pub(crate) struct Evidence<'a> {
    pub(crate) state: State,
    /// That replays what the program did.
    pub(crate) recorded: &'a Arm,
    pub(crate) pattern: &'a Pattern,
    /// Of several files.
    pub(crate) group: Option<&'a Group>,
    /// From the device, by one replay.
    pub(crate) brought_in_bytes: Option<f64>,
    /// What the page cache can have.
    pub(crate) memory_bytes: u64,
    pub(crate) seen: Option<&'a Access>,
}

impl Evidence<'_> {
    fn maps(&self) -> bool {
        self.recorded.maps()
    }

    fn is_cold(&self) -> bool {
        self.state.waits_for_device()
    }

    /// Most of the file came in.
    fn has_most(&self) -> bool {
        self.brought_in_bytes.is_some_and(|it| it >= MOSTLY * self.pattern.file_bytes as f64)
    }

    fn more_than(&self, times: f64) -> Option<AdviceReason> {
        let (bytes, touched_bytes) = (self.brought_in_bytes?, self.pattern.touched_bytes());
        (bytes > times * touched_bytes).then_some(AdviceReason::BroughtIn { bytes, touched_bytes })
    }
}

/// One rule.
pub(crate) struct Rule {
    pub(crate) code: AdviceCode,
    /// Why it holds of a program; nothing where it does not.
    pub(crate) fires: fn(&Evidence) -> Option<AdviceReason>,
    /// The arms that it speaks for.
    pub(crate) proposes: fn(&Evidence, &Arm) -> bool,
}

/// Every rule. Of several that propose an arm, the first explains it.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        code: AdviceCode::M6,
        fires: |it| {
            let touched_share = it.pattern.touched_share();
            // To ask for what is in memory takes hardly any time, unless pages are mapped; and of what WILLNEED asks for the kernel
            // reads one window (mm/readahead.c, `force_page_cache_ra`).
            let is_work = it.recorded.fills_page_table() || (populates(it.recorded) && it.is_cold() && it.has_most());
            let is_idle = is_work && touched_share < Pattern::LITTLE;
            is_idle.then_some(AdviceReason::Populated { touched_share })
        },
        proposes: |_, arm| !populates(arm) && !arm.is_in_advance(),
    },
    Rule {
        code: AdviceCode::M1,
        fires: |it| it.more_than(MUCH_MORE).filter(|_| it.maps() && it.is_cold()),
        proposes: |_, arm| !arm.is_in_advance() && (is_advised(arm, "random") || (!arm.maps() && is_plain(arm))),
    },
    Rule {
        code: AdviceCode::M3,
        fires: |it| {
            let (mappings, median_bytes) = (it.pattern.mappings, it.group?.median_bytes);
            let is_tree = it.maps() && mappings > MANY_MAPPINGS && median_bytes < SMALL_FILE_BYTES;
            is_tree.then_some(AdviceReason::ManySmall { mappings, median_bytes })
        },
        proposes: |_, arm| !arm.maps() && is_plain(arm) && !arm.is_in_advance(),
    },
    Rule {
        code: AdviceCode::M2,
        fires: |it| {
            let share = it.pattern.in_order_share();
            (it.maps() && it.is_cold() && share > Pattern::IN_ORDER).then_some(AdviceReason::InOrder { share })
        },
        proposes: |_, arm| {
            let calls = !arm.maps() && (is_plain(arm) || buffer_kib(arm).is_some());
            !arm.is_in_advance() && (calls || is_advised(arm, "sequential") || populates(arm))
        },
    },
    Rule {
        code: AdviceCode::M4,
        fires: |it| {
            let share = it.pattern.touched_share();
            (it.maps() && !it.is_cold() && share > ALL).then_some(AdviceReason::Touched { share })
        },
        proposes: |_, arm| arm.maps() && populates(arm),
    },
    Rule {
        code: AdviceCode::R1,
        fires: |it| {
            let times = it.pattern.bytes as f64 / it.pattern.touched_bytes().max(1.0);
            let access_bytes = it.pattern.access_bytes();
            let is_hot = !it.maps() && !it.is_cold() && times > AGAIN && access_bytes <= SMALL_BYTES;
            let fits = it.pattern.file_bytes <= it.memory_bytes;
            (is_hot && fits).then_some(AdviceReason::Again { times, access_bytes })
        },
        proposes: |_, arm| arm.maps(),
    },
    Rule {
        code: AdviceCode::R2,
        fires: |it| {
            let is_in_parts = it.group.is_none_or(|group| group.is_in_parts(it.pattern));
            let is_small = !it.maps() && it.pattern.is_small_in_order() && is_in_parts;
            is_small.then(|| AdviceReason::SmallInOrder { access_bytes: it.pattern.access_bytes() })
        },
        // Fewer calls for the same bytes; cold, a larger window.
        proposes: |it, arm| match arm.maps() {
            true => !is_advised(arm, "random"),
            false => buffer_kib(arm).is_some() || it.is_cold() && is_advised(arm, "sequential"),
        },
    },
    Rule {
        code: AdviceCode::R3,
        fires: |it| {
            let is_anywhere = !it.maps() && it.is_cold() && it.pattern.in_order_share() < Pattern::ANYWHERE;
            it.more_than(MORE).filter(|_| is_anywhere)
        },
        proposes: |_, arm| is_advised(arm, "random"),
    },
    Rule {
        code: AdviceCode::R4,
        fires: |it| {
            let seen = it.seen?;
            let of = |at_position: bool| seen.calls.iter().filter(move |(name, _)| is_at_position(name) == at_position);
            let (reads, in_order) = of(true).fold((0.0, 0.0), |sum, (_, it)| {
                (sum.0 + it.count.saturating_sub(it.unplaced) as f64, sum.1 + it.sequential as f64)
            });
            // After a read at an offset the next one at the position begins elsewhere, and no position was set: of the same
            // descriptor, and once after several at offsets that follow each other.
            let is_one_descriptor = seen.opens <= it.group.map_or(1, |it| it.files);
            let at_offsets = of(false).map(|(_, it)| it.count.saturating_sub(it.sequential) as f64).sum::<f64>();
            let jumps = reads - in_order - if is_one_descriptor { at_offsets } else { 0.0 };
            // With more than a few at offsets, what was recorded is replayed at these.
            let is_replayed = it.recorded.method == AT_POSITION;
            (is_replayed && jumps > MOSTLY * reads).then_some(AdviceReason::Seeks { reads, jumps })
        },
        proposes: |it, arm| !arm.maps() && is_plain(arm) && !arm.is_in_advance() && arm.method != it.recorded.method,
    },
    Rule {
        code: AdviceCode::R5,
        fires: |it| {
            let seen = it.seen.filter(|_| is_behind_page(it.recorded))?;
            let behind = seen.under.get(Access::BEHIND_PAGE).copied().unwrap_or(0);
            Some(AdviceReason::BehindPage { share: behind as f64 / seen.read_bytes().max(1) as f64 })
        },
        proposes: |it, arm| is_moved_to_page(it.recorded, arm),
    },
];

#[cfg(test)]
mod tests {
    use schema::counted::Bin;

    use super::*;

    const GIB: u64 = 1 << 30;

    fn pattern(accesses: u64, bytes_each: u64, distinct_pages: u64, in_order: u64) -> Pattern {
        Pattern {
            file_bytes: GIB,
            accesses,
            bytes: accesses * bytes_each,
            page_bytes: 4096,
            distinct_pages,
            in_order,
            threads: 1,
            mappings: 0,
            sizes: vec![Bin { value: bytes_each, events: accesses }],
        }
    }

    struct Case {
        arm: &'static str,
        state: State,
        pattern: Pattern,
        brought_in: Option<f64>,
        memory_bytes: u64,
        seen: Option<Access>,
        group: Option<Group>,
    }

    fn case(arm: &'static str, state: State, pattern: Pattern) -> Case {
        Case { arm, state, pattern, brought_in: None, memory_bytes: 8 * GIB, seen: None, group: None }
    }

    fn fired(case: &Case) -> Vec<AdviceCode> {
        let recorded = case.arm.parse().unwrap();
        let evidence = Evidence {
            state: case.state,
            recorded: &recorded,
            pattern: &case.pattern,
            group: case.group.as_ref(),
            brought_in_bytes: case.brought_in,
            memory_bytes: case.memory_bytes,
            seen: case.seen.as_ref(),
        };
        RULES.iter().filter(|it| (it.fires)(&evidence).is_some()).map(|it| it.code).collect()
    }

    const FEW: u64 = 543;

    #[test]
    fn m1_holds_where_a_cold_mapping_brings_in_more_than_four_times_what_is_touched() {
        let of = |arm, state, pages: u64| Case {
            brought_in: Some((pages * 4096) as f64),
            ..case(arm, state, pattern(FEW, 4096, FEW, 3))
        };
        assert_eq!(fired(&of("mmap", State::Cold, 4 * FEW + 1)), [AdviceCode::M1]);
        assert_eq!(fired(&of("mmap", State::Cold, 4 * FEW)), []);
        assert_eq!(fired(&of("mmap", State::Cached, 100 * FEW)), []);
        assert_eq!(fired(&case("mmap", State::Cold, pattern(FEW, 4096, FEW, 3))), [], "not counted is not more");
    }

    #[test]
    fn m2_holds_where_a_cold_mapping_is_walked_in_order() {
        let all = GIB / 4096;
        assert_eq!(fired(&case("mmap", State::Cold, pattern(all, 4096, all, all - 1))), [AdviceCode::M2]);
        assert_eq!(fired(&case("mmap", State::Cold, pattern(all, 4096, all, all / 2))), []);
        assert_eq!(fired(&case("pread", State::Cold, pattern(GIB >> 20, 1 << 20, all, 1000))), []);
    }

    /// Files of one size, each mapped and touched as a whole, or read by a call.
    fn tree(arm: &'static str, state: State, files: u64, bytes_each: u64) -> Case {
        let group = Group { files, median_bytes: bytes_each, opens: files, touched_whole: files };
        let pages = files * bytes_each.div_ceil(4096);
        let pattern = Pattern {
            file_bytes: files * bytes_each,
            mappings: if arm.starts_with("mmap") { files } else { 0 },
            ..pattern(files, bytes_each, pages, files)
        };
        Case { group: Some(group), ..case(arm, state, pattern) }
    }

    #[test]
    fn m3_holds_where_many_small_files_are_mapped_in_any_state() {
        let has = |case: Case| fired(&case).contains(&AdviceCode::M3);
        for state in [State::Cold, State::Cached] {
            assert!(has(tree("mmap", state, 501, 65_535)));
            assert!(!has(tree("mmap", state, 500, 65_535)), "few");
            assert!(!has(tree("mmap", state, 501, 65_536)), "large");
            assert!(!has(tree("read", state, 501, 8192)), "read");
            let one = Case { group: None, ..tree("mmap", state, 501, 8192) };
            assert!(!has(one), "one file, mapped again and again");
        }
    }

    #[test]
    fn small_files_that_are_read_whole_need_no_larger_buffer() {
        let whole = tree("read", State::Cached, 2000, 4096);
        assert!(!fired(&whole).contains(&AdviceCode::R2));
        let parts = Pattern { accesses: 10_000, in_order: 10_000, ..whole.pattern.clone() };
        assert!(fired(&Case { pattern: parts, ..whole }).contains(&AdviceCode::R2));
    }

    #[test]
    fn m4_holds_where_nearly_all_of_a_cached_mapping_is_used() {
        let all = GIB / 4096;
        assert_eq!(fired(&case("mmap", State::Cached, pattern(all, 4096, all * 9 / 10, 0))), [AdviceCode::M4]);
        assert_eq!(fired(&case("mmap", State::Cached, pattern(all, 4096, all / 2, 0))), []);
        assert_eq!(fired(&case("pread", State::Cached, pattern(all, 16384, all, 0))), []);
    }

    #[test]
    fn m6_holds_where_what_is_populated_is_hardly_touched() {
        let of = |arm, state, pages| Case {
            brought_in: Some(GIB as f64),
            ..case(arm, state, pattern(pages, 4096, pages, 0))
        };
        for (arm, is_cached_too) in [
            ("mmap+map-populate", true),
            ("mmap+populate-read", true),
            ("mmap+willneed", false),
            ("pread+willneed", false),
        ] {
            let cached: &[AdviceCode] = if is_cached_too { &[AdviceCode::M6] } else { &[] };
            assert_eq!(fired(&of(arm, State::Cached, FEW)), cached, "{arm}");
            assert_eq!(fired(&of(arm, State::Cold, FEW)).first(), Some(&AdviceCode::M6), "{arm}");
            assert_eq!(fired(&of(arm, State::Cached, GIB / 4096 / 2)), [], "{arm}");
        }
        assert_eq!(fired(&of("mmap", State::Cached, FEW)), []);
        let a_window = |arm| Case { brought_in: Some((8 << 20) as f64), ..of(arm, State::Cold, FEW) };
        assert!(!fired(&a_window("mmap+willneed")).contains(&AdviceCode::M6), "hardly anything was brought in");
        assert!(fired(&a_window("mmap+map-populate")).contains(&AdviceCode::M6));
    }

    #[test]
    fn r1_holds_where_small_cached_reads_meet_the_same_bytes_again_and_again() {
        let of = |state, bytes, distinct| case("pread", state, pattern(50_000, bytes, distinct, 0));
        assert_eq!(fired(&of(State::Cached, 4096, 10_000)), [AdviceCode::R1]);
        assert_eq!(fired(&of(State::Cached, 4096, 40_000)), []);
        assert_eq!(fired(&of(State::Cached, 16_384, 10_000)), []);
        assert_eq!(fired(&of(State::Cold, 4096, 10_000)), []);
        assert_eq!(fired(&Case { memory_bytes: GIB / 2, ..of(State::Cached, 4096, 10_000) }), [], "it does not fit");
    }

    #[test]
    fn r2_holds_of_small_reads_in_order() {
        let of = |bytes, in_order| case("read", State::Cached, pattern(1000, bytes, 1000, in_order));
        assert_eq!(fired(&of(4096, 999)), [AdviceCode::R2]);
        assert_eq!(fired(&of(65_536, 999)), []);
        assert_eq!(fired(&of(4096, 300)), []);
    }

    #[test]
    fn r3_holds_where_cold_reads_anywhere_bring_in_more_than_twice_what_they_use() {
        let of = |in_order, pages: u64| Case {
            brought_in: Some((pages * 4096) as f64),
            ..case("pread", State::Cold, pattern(FEW, 4096, FEW, in_order))
        };
        assert_eq!(fired(&of(0, 3 * FEW)), [AdviceCode::R3]);
        assert_eq!(fired(&of(0, 2 * FEW)), []);
        assert_eq!(fired(&of(300, 3 * FEW)), []);
    }

    #[test]
    fn r4_holds_where_the_position_is_set_before_most_reads() {
        let of = |arm, name: &str, jumps: u64| {
            let mut seen = Access::default();
            (0..1000).for_each(|at| seen.count_call(name, 4096, 4096, at >= jumps));
            fired(&Case { seen: Some(seen), ..case(arm, State::Cached, pattern(1000, 16_384, 1000, 0)) })
        };
        assert_eq!(of("read", "read", 900), [AdviceCode::R4]);
        assert_eq!(of("read", "read", 400), []);
        assert_eq!(of("read", "pread64", 900), []);
        assert_eq!(of("pread", "read", 900), [], "pread is what its replay makes of it");
        let between = |opens: u64, in_order: bool| {
            let mut seen = Access { opens, ..Access::default() };
            (0..1000).for_each(|_| seen.count_call("pread64", 16, 16, in_order));
            (0..1000).for_each(|_| seen.count_call("read", 4096, 4096, false));
            fired(&Case { seen: Some(seen), ..case("read", State::Cached, pattern(1000, 16_384, 1000, 0)) })
        };
        assert_eq!(between(1, false), [], "each read at an offset moves where the next one begins, and no position");
        assert_eq!(between(2, false), [AdviceCode::R4], "those of another descriptor move nothing of this one");
        assert_eq!(between(1, true), [AdviceCode::R4], "one reads on where the other ended");
    }

    #[test]
    fn r5_holds_of_calls_that_copy_right_behind_a_page() {
        let mut seen = Access::default();
        (0..100).for_each(|_| seen.count_call("read", 65_536, 65_536, true));
        seen.count_under(Access::BEHIND_PAGE, 75 * 65_536);
        let of = |arm| {
            let case = Case { seen: Some(seen.clone()), ..case(arm, State::Cached, pattern(100, 65_536, 1600, 99)) };
            fired(&case).contains(&AdviceCode::R5)
        };
        assert!(of("read+malloc") && of("pread+random+malloc"));
        assert!(!of("read") && !of("mmap"));
    }

    #[test]
    fn advice_of_calls_is_proposed_where_it_changes_what_is_read_ahead() {
        let pattern = pattern(FEW, 4096, FEW, 3);
        let proposing = |recorded: &str, state, arm: &str| -> Vec<AdviceCode> {
            let (recorded, arm): (Arm, Arm) = (recorded.parse().unwrap(), arm.parse().unwrap());
            let evidence = Evidence {
                state,
                recorded: &recorded,
                pattern: &pattern,
                group: None,
                brought_in_bytes: None,
                memory_bytes: GIB,
                seen: None,
            };
            RULES.iter().filter(|it| (it.proposes)(&evidence, &arm)).map(|it| it.code).collect()
        };
        use AdviceCode::{M1, M2, M6, R2, R3, R5};
        assert_eq!(proposing("pread", State::Cold, "pread+random"), [M6, M1, R3]);
        assert_eq!(proposing("read", State::Cold, "read+random"), [M6, M1, R3]);
        assert_eq!(proposing("read", State::Cold, "read+sequential"), [M6, M2, R2]);
        assert_eq!(proposing("read", State::Cached, "read+sequential"), [M6, M2], "cached, nothing is read ahead");
        assert_eq!(proposing("read", State::Cached, "pread+buffer_kib=128"), [M6, M2, R2], "fewer calls, in any state");
        let moved = proposing("read+malloc", State::Cached, "read");
        assert!(
            moved.contains(&R5) && !proposing("read+malloc", State::Cached, "pread+malloc").contains(&R5),
            "{moved:?}"
        );
    }

    #[test]
    fn no_rule_proposes_what_a_program_does_already_or_what_needs_its_offsets_in_advance() {
        let recorded: Arm = "mmap+map-populate".parse().unwrap();
        let pattern = pattern(FEW, 4096, FEW, 3);
        let evidence = Evidence {
            state: State::Cold,
            recorded: &recorded,
            pattern: &pattern,
            group: None,
            brought_in_bytes: None,
            memory_bytes: GIB,
            seen: None,
        };
        for rule in RULES {
            for arm in ["uring", "uring+direct", "direct"] {
                assert!(!(rule.proposes)(&evidence, &arm.parse().unwrap()), "{:?} {arm}", rule.code);
            }
        }
        assert!(!(RULES[0].proposes)(&evidence, &recorded));
    }
}
