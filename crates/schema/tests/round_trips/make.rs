//! Values of every type in `schema` that is saved or exchanged, in which every field varies. A field or a variant that is
//! missing here does not compile.

use std::collections::BTreeMap;

use schema::{
    Arm, Beside, Bytes, CellId, Condition, ConditionId, Consume, Descriptor, Durability, Experiment, Fill, Findings,
    Layout, Reading, Record, Skip, Span, State, Workload,
    across::{Across, Differs, Fact, FactSays, NotComparable, PassSize, SharedAnswer, SharedCell},
    advice::{
        Advice, AdviceCaveat, AdviceCode, AdviceOption, AdviceReason, AdviceSelfCheck, AdviceVerdict, CheckedBy,
        Effort, Grade, How, Settles, Switched, Unchecked,
    },
    advised::{Advised, OtherReached, Pattern, Reach},
    arm::Setting,
    beats::{Beats, Lateness},
    caution::Caution,
    claims::Later,
    conclusion::{ClaimNumbers, Conclusion, Ours, VerdictIn},
    condition::Storage,
    counted::{Bin, Counted, Histogram},
    experiment::{
        Claim, Compare, Competitor, Expect, Figure, Metric, Override, Range, SizeAsked, Study, Throttle, TraceAsked,
        Unit, Variant, Where,
    },
    explanation::{ArmCosts, Count, Explanation},
    findings::{
        AnswerOf, BeatControl, BeatFinding, BeatLateness, BeatPoint, BeatSays, CellFinding, ClaimFinding,
        ClaimMeasured, ClaimOnFolios, ClaimVerdict, CommandFinding, CommandTime, Comparison, Confirmed, Confounder,
        ConfounderKind, CountedFinding, Crossover, CurvePoint, Document, Estimate, FigureFinding, FillFinding,
        FilledComparison, Fork, ForkSplit, MapLine, NoiseFloor, PublishedClaim, Refill, RuntimeFinding, SafepointDelay,
        SafepointFinding, SafepointTail, Safepoints, SafepointsOpen, SafepointsSeen, StallArm, StallFinding, StallSays,
        StateNoise, Status, UnjudgedCause, UnjudgedRefill, Verdict, WithinCpuCache,
    },
    gate::{Basis, Breach, BreachCause, Change, Gate, NotJudged, NotJudgedCause, Presence},
    inspection::{
        AdviceCost, FaultView, FileMeanwhile, FileView, Inspection, MappedFile, MappedRuntime, MappingAdvice,
        MappingView, MissCost, OtherFile, PlacePattern, Places, ProcessView, Residency, Shape, ThreadFaults, Unlooked,
        WatchEnd, Watched, WatchedReads, WithoutMemory,
    },
    leftover::{FileIdentity, Leftover, LeftoverKind, LeftoverOwner},
    line::{LineAnswer, LineSays, Promising},
    machine::{KeySource, Machine, Origin},
    no_cost::{NoCost, Operation},
    observation::{
        Access, AccessDifference, Calls, FileAccess, Likeness, MappingCount, Means, MechanismFinding, Observed,
        UnknownLikeness, Watch,
    },
    plan::{PlannedCell, PlannedCondition, PlannedRun},
    protocol::{Done, Failed, Hello, Hold, Job, OwnReads, Parts, Permit, Phases, Reply, Request, Tally, Usage},
    reason::{Difference, Inconsistent, Limit, Noisy, NotInRun, Reason, Rounds, Unseen},
    record::{
        CacheKind, Ceiling, Cell, ColdPass, Confirmation, CpuCache, Device, Ending, Environment, Files, FilledRange,
        FolioOrder, Invalid, LookedAgain, NamedPath, Outcome, ReclaimScheme, Resident, RoundsEnd, Sample, Target,
    },
    replaced::Replaced,
    saved::{Damaged, History, Place, SavedCell, SavedMachine, SavedRun},
    timeline::{Moment, Passing, Timeline},
    trace::{Exact, Inexact},
    unit_cost::{
        BreakEven, BreakEvenMeasured, BreakEvenPoint, Calibration, CalibrationPass, CalibrationPoint, Cause,
        CostBreakdown, CostComponent, Costs, Curve, DeviceCost, FaultCost, FillCosts, Forecast, ForecastArm,
        ForecastRemark, Lean, Loop, NotCounted, PerPage, PredictedCell, Predictions, Quantity, Trait, UnitCosts, Waits,
    },
    warning::{ForkGroups, Warning},
};

/// SplitMix64.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.roll() % end as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

pub(super) trait Make {
    fn make(dice: &mut Dice) -> Self;
}

impl Make for u64 {
    fn make(dice: &mut Dice) -> u64 {
        let any = dice.roll() >> dice.below(64);
        dice.pick(&[0, 1, u64::MAX, 1 << 53, (1 << 53) + 1, any, any])
    }
}

impl Make for f64 {
    /// All that JSON can hold, the ends among them.
    fn make(dice: &mut Dice) -> f64 {
        let any = f64::from_bits(dice.roll());
        let any = if any.is_finite() { any } else { 0.1 };
        let whole = dice.below(1 << 20) as f64;
        dice.pick(&[0.0, -0.0, 1.0, 0.1, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 1e21, whole, any, any])
    }
}

impl Make for String {
    /// Also what JSON, HTML and terminals give a meaning to.
    fn make(dice: &mut Dice) -> String {
        const LETTERS: &[char] = &['a', 'Z', '0', ' ', '"', '\\', '\n', '\t', '\0', '\u{1b}', '<', 'é', '\u{1f600}'];
        (0..dice.below(6)).map(|_| dice.pick(LETTERS)).collect()
    }
}

macro_rules! numbers {
    ($($number:ty),+) => { $(impl Make for $number {
        fn make(dice: &mut Dice) -> $number { u64::make(dice) as $number }
    })+ };
}
numbers!(u8, u32, usize, i32, i64);

impl Make for bool {
    fn make(dice: &mut Dice) -> bool {
        dice.below(2) == 0
    }
}

impl<T: Make> Make for Option<T> {
    fn make(dice: &mut Dice) -> Option<T> {
        bool::make(dice).then(|| T::make(dice))
    }
}

impl<T: Make> Make for Box<T> {
    fn make(dice: &mut Dice) -> Box<T> {
        Box::new(T::make(dice))
    }
}

impl<T: Make> Make for Vec<T> {
    fn make(dice: &mut Dice) -> Vec<T> {
        (0..dice.below(3)).map(|_| T::make(dice)).collect()
    }
}

impl<T: Make, const N: usize> Make for [T; N] {
    fn make(dice: &mut Dice) -> [T; N] {
        std::array::from_fn(|_| T::make(dice))
    }
}

impl<A: Make, B: Make> Make for (A, B) {
    fn make(dice: &mut Dice) -> (A, B) {
        (A::make(dice), B::make(dice))
    }
}

impl<K: Make + Ord, V: Make> Make for BTreeMap<K, V> {
    fn make(dice: &mut Dice) -> BTreeMap<K, V> {
        Vec::make(dice).into_iter().collect()
    }
}

impl<T: Make, W: Make> Make for Reading<T, W> {
    fn make(dice: &mut Dice) -> Reading<T, W> {
        match dice.below(4) {
            0 => Reading::Unavailable { unavailable: W::make(dice) },
            _ => Reading::Value(T::make(dice)),
        }
    }
}

impl Make for Bytes {
    fn make(dice: &mut Dice) -> Bytes {
        Bytes(u64::make(dice))
    }
}

impl Make for Fill {
    fn make(dice: &mut Dice) -> Fill {
        let bytes = 1 + dice.below(64 << 20) as u64;
        let sized = [Fill::Written(bytes), Fill::ReadAhead(bytes)];
        dice.pick(&[Fill::Found, Fill::Sequential, Fill::Random, Fill::Faults, Fill::HugePages, sized[0], sized[1]])
    }
}

macro_rules! words {
    ($($of:ty),+) => { $(impl Make for $of {
        fn make(dice: &mut Dice) -> $of { dice.pick(<$of>::ALL) }
    })+ };
}
words!(Workload, Consume, State, Descriptor, Durability, Layout, Means, Beside);

macro_rules! makes {
    (structs { $($of:path { $($field:ident),* $(,)? })* }
     enums { $($kind:ident { $($variant:ident $({ $($named:ident),* })? $(( $($slot:ident),* ))?),* $(,)? })* }) => {
        $(impl Make for $of {
            fn make(dice: &mut Dice) -> $of {
                type It = $of;
                It { $($field: Make::make(dice)),* }
            }
        })*
        $(impl Make for $kind {
            fn make(dice: &mut Dice) -> $kind {
                let makers: &[fn(&mut Dice) -> $kind] = &[$(|dice| {
                    let _ = &dice;
                    $kind::$variant $({ $($named: Make::make(dice)),* })? $(($({
                        let $slot = Make::make(dice);
                        $slot
                    }),*))?
                }),*];
                let made = dice.pick(makers)(dice);
                match made { $($kind::$variant { .. } => made),* }
            }
        })*
        /// The types above by their last names.
        pub(super) const MADE: &[&str] = &[$(stringify!($of),)* $(stringify!($kind)),*];
    };
}

makes! {
    structs {
        Record {
            schema_version, id, tool_version, started, elapsed_s, partial, ending, rounds_ended, cells_ended, folder, seed,
            budget_s, experiment, environment, target, conditions, origins, cells, samples, fills, confirmations, ceiling, scenarios, calibration,
            counted, observations, advised, timeline, runtimes, limits,
        }
        schema::record::ScenarioResult { holds, evidence }
        Cell { arm, condition, own_condition, baseline, control, skipped }
        Sample { cell, round, order, host, window_offset, outcome, resident_before, resident_after, readings, beats }
        Resident { pages, of }
        Target {
            path, bytes, allocated_bytes, made_here, files, residency, file_system, mount_options, device, read_ahead_most_bytes,
        }
        Files { named, count, folders, first }
        NamedPath { path, folder }
        Device { name, read_ahead_bytes, scheduler, rotational, through_page_cache }
        Ceiling { bytes_per_s, random_ops_per_s, how, random_how }
        Confirmation { condition, baseline_cell, arm_cell, range, ops, pairs, cold, invalid }
        ColdPass { tally, device_read_bytes }
        FilledRange { range, fill, method, elapsed_ns, folio_orders, pages_per_fault, looked_again, kept }
        LookedAgain { folio_orders, pages_per_fault, changed_share, is_the_fill }
        FolioOrder { order, pages }
        Environment {
            host, machine, kernel, architecture, cpu, cpus, online_cpus, cpu_caches, page_bytes, memory_bytes, memory_available_bytes, memory_limit_bytes,
            swap_bytes, virtualisation, mitigations, transparent_hugepage, fault_around_bytes, lru_gen, reclaim_schemes,
            clocksource, tick_ns, governor, c_library, root, steal_share, load,
        }
        Machine { key, boot, hardware, source }
        CpuCache { level, kind, bytes, count }
        ReclaimScheme { kdamond, action, idle_s, quota_bytes_per_s }
        Arm { runtime, method, options, name }
        Condition {
            workload, consume, block_bytes, state, file_bytes, threads, descriptor, durability, storage, range, aligned, ops,
            consumed_percent, layout, memory_bytes, fill, trace, beside, own_work_ns,
        }
        Span { offset, bytes }
        Storage { read_bytes_per_s, read_ops_per_s }
        ConditionId { condition_index, comparison_index }
        CellId { condition, cell }
        Experiment { name, title, question, source, budget_s, study, comparisons, claims, figures, written, filtered_claims }
        Replaced { measured, written }
        Study { file_bytes, full_file_bytes, needs, budget_s, fill_then }
        Compare {
            name, variant, arms, workload, block, consume, state, threads, descriptor, aligned, range, ops, full_range,
            full_ops, full_block, memory, storage, durability, layout, fill, trace, beside,
        }
        Throttle { read_bps, read_iops }
        Competitor { arm, label, own }
        Override { workload, consume, block, state, range, aligned, ops, consumed_percent, durability }
        Range { offset, bytes, share, blocks }
        Claim {
            id, says, published, compare, arm, than, metric, expect, ratio, only, than_where, than_compare, scenario,
            not_testable,
        }
        Where { state, block, workload, consume, read_bps, aligned, durability, fill, ops, beside }
        Figure { says, published, unit, compare, as_published, corrected, only, metric, blocks }
        Hello { protocol, runtime, methods, thread, about }
        Job {
            pass, method, options, workload, consume, file, block_bytes, range, ops, aligned, threads, descriptor,
            consumed_percent, durability, seed, hold, watch, permit, times_its_loop, untimed, trace,
            beside, own_work_ns,
        }
        Permit { execute, write }
        schema::trace::Header { trace_version, recorder, columns, coverage, of_any_file, not_seen, run, files, left_out }
        schema::trace::RecordedRun { command, wall_ns, threads, bytes, notes }
        schema::trace::NotSeen { rings, incomplete }
        schema::trace::Traced { digest, file, accesses, bytes, longest_bytes, end_bytes, files, threads, around_ns }
        schema::protocol::TraceOf { path, digest, file, files }
        schema::protocol::ReplayedFile { place, path, identity, bytes }
        schema::trace::TracedFile {
            path, mappings, mapped_by, reached_ns, bytes, identity, resident_before, found, evicted, exact, inexact, unseen_touches,
            missing, counts,
        }
        schema::trace::LeftOut {
            failed, at_end, unknown_offset, writes, other_files, beyond_limit, small_mappings,
        }
        schema::observation::TraceTo { path, exact }
        schema::observation::ExactTo { budget_ms, files }
        schema::observation::Coldness { path, why_not }
        Done { pass, phases, tally, usage, parts, seen, own_reads, observation, beats }
        Beats { period_ns, pass, idle }
        Lateness { deadlines, wake_ups, max_ns, bins }
        OwnReads { calls, bytes }
        Parts { read_ns, loop_ns, write_ns, clock_ns }
        Phases { open_ns, work_ns, close_ns }
        Tally { ops, bytes, distinct_bytes, distinct_block_bytes, distinct_pages, checksum, threads, queue_depth }
        Usage { user_ns, system_ns, minor_faults, major_faults, voluntary_switches, involuntary_switches }
        Failed { pass, during, errno, message }
        Watch { by, named, trace }
        Observed { arm, seen }
        schema::observation::Observation {
            by, processes, threads, readers_at_once, named_opened, named, files, files_left_out, rings, runtimes,
            expired, incomplete, remarks,
        }
        FileAccess { path, named, access }
        Access { opens, opens_for_writing, opens_direct, calls, mappings, hints, under, ahead_bytes }
        Calls { count, asked_bytes, bytes, sequential, unplaced, sizes }
        MappingCount { shared, writable, executable, populate, count, bytes }
        MechanismFinding { arm, cells, says, access, versus }
        schema::observation::MechanismComparison { baseline, likeness, says, differences, unknown }
        Counted {
            cell, bytes, distinct_bytes, distinct_block_bytes, distinct_pages, device_read_bytes, invalid, counts, histograms,
        }
        Histogram { bins, lost }
        Bin { value, events }
        CountedFinding {
            cell, system_calls_per_mib, faults_per_mib, pages_per_fault, amplification, folio_orders, request_bytes,
            read_request_bytes, write_request_bytes, flush_requests, durable_requests, lost_events,
        }
        Timeline { per_second, moments, passes }
        Moment {
            at_s, user, system, wait, steal, idle, read_bytes_per_s, write_bytes_per_s, switches_per_s, available_bytes,
            cached_bytes, dirty_bytes,
        }
        Passing { cell, from_s, to_s }
        Calibration { elapsed_s, clock, bare_call, offset, points, missing }
        Loop { times, ns }
        CalibrationPoint { arm, workload, consume, state, fill, block_bytes, offset, range_bytes, ops, passes }
        CalibrationPass { phases, minor_faults, cpu_ns }
        Curve { points }
        PerPage { fixed_ns, page_ns }
        DeviceCost { queue_depth, request }
        UnitCosts {
            range_bytes, clock_ns, bare_call_ns, read_call_ns, copy, copy_from, read_random, read_random_in, read_first_ns,
            sum_buffer, sum_mapped, sum_mapped_in, mapped_random, mapped_random_in, mapped_first_ns, touch_mapped_page_ns, touch_random_ns, touch_cached_ns, touch_first_ns,
            open_ns, close_ns, map_ns, populate, unmap, faults, faults_ns, fault_ns, pages_per_fault, fault_pages_ns,
            fault_random_ns, device, page_in_ns, stream_byte_ns,
        }
        FillCosts { fill, calibrated_bytes, costs }
        FaultCost { pages, ns }
        CostComponent { cause, what, request_bytes, count, unit_ns, ns }
        CostBreakdown { id, arm, condition, components, components_ns, measured_ns }
        PredictedCell { id, arm, condition, predicted_ns_per_op, measured_ns_per_op, error, held_out, not_counted }
        Predictions { cells, held_out_median, held_out_worst, median, worst, worst_have }
        Costs { unit_costs, fills, breakdowns, predictions, explained_median, break_evens }
        BreakEven { id, baseline, arm, file_bytes, block_bytes, reads, points, measured }
        BreakEvenMeasured { reads, speedup, expected }
        BreakEvenPoint { reads, baseline_s, arm_s }
        Forecast { schema_version, run, target, memory_bytes, resident_share, arms, remarks }
        ForecastArm { arm, condition, seconds, components }
        Document { schema_version, record, findings, across }
        Findings {
            cells, comparisons, crossovers, noise_floor, noise_floors, claims, figures, costs, found, map, answer, counted, runtimes, splits, safepoints, beats, stalls,
            advice, advice_self_check, commands, called, mechanisms, fills, within_cpu_cache, warnings,
        }
        Advised {
            file, group, states, fills, given, digest, recorder, coverage, not_seen, recorded, reach, pattern, others, others_left_out, all_bytes,
            touched_elsewhere, once,
        }
        Pattern { file_bytes, accesses, bytes, page_bytes, distinct_pages, in_order, threads, mappings, sizes }
        schema::advised::Group { files, median_bytes, opens, touched_whole }
        OtherReached { path, bytes, mapped_bytes }
        Advice {
            id, file, files, state, fill, verdict, to, code, effort, grade, consume, io, program, program_at_most, because, how, caveats, settles, program_ns, io_ns,
            share, faster_at_most, at_least, also, in_advance, switched,
        }
        AdviceOption { to, code, effort, grade, consume, io_ns, io, program, program_at_most, how }
        Switched { arm, line, cell, ns, real, like, predicted, predicted_at_most, reason }
        AdviceSelfCheck { id, file, state, fill, by, program, replay, off, passed, own_work_ns, why }
        Estimate { median, ci_low, ci_high }
        WithinCpuCache { id, range_bytes, cache_bytes }
        CellFinding {
            id, arm, condition, own_condition, control, status, reasons, samples, invalid_samples, failed_samples, ns_per_op,
            bytes_per_s, bytes, distinct_bytes, user_ns_per_op, system_ns_per_op, minor_faults, major_faults,
            device_read_bytes, device_write_bytes, misses_per_block, device_bytes_per_byte, peak_memory_bytes, peak_anonymous_bytes, peak_file_bytes, ceiling_share,
        }
        CommandFinding {
            id, arm, condition, says, memory, time, confounders, amplification, cgroup_limit_bytes, cgroup_memory_bytes,
            cgroup_peak_bytes, cgroup_file_bytes, cgroup_anonymous_bytes,
        }
        Confounder { versus, versus_cell, what, own, other }
        CommandTime {
            threads_at_once, threads_seen, user_share, system_share, waited_share, device_busy_share, reading_at_most,
            faster_at_most, own_work_of,
        }
        Comparison {
            id, baseline_cell, condition, baseline, arm, speedup, pairs, verdict, reason, warnings, explanation,
            explained_share, answer_of, confirmed,
        }
        RuntimeFinding {
            arm, cells, consume, passes, loop_bytes_per_s, first_pass, compile_share, collections, collection_share, not_quiet,
        }
        ForkSplit { id, arm, condition, forks, factor, in_code, says }
        ForkGroups { arm, label, slow, forks, factor, in_code }
        Fork { round, ns_per_op, warm_pass_ns_per_op, loop_bytes_per_s, slow }
        Safepoints { cells, seen, apart }
        SafepointsSeen { label, calls, faults, max_call_ns, max_fault_ns, held_up, open }
        SafepointDelay { name, p99_ns, p99_is }
        BeatFinding { id, arm, name, condition, passes, period_ns, late, idle, busy_share, control, curve, says }
        BeatLateness { deadlines, wake_ups, median_ns, p99_ns, max_ns, stalled_share }
        BeatControl { id, condition, passes, late }
        BeatPoint { late_ns, later_share }
        StallFinding { id, runtime, arms, instead, says }
        StallArm { cell, name, late }
        SafepointFinding {
            id, arm, name, condition, passes, asked, median_ns, p99_ns, p99_is, max_ns, stopped_share, through_calls,
        }
        Crossover {
            arms, names, cells, workload, consume, state, axis, points, not_measured, changes, at, of_job, between, of_curve,
        }
        CurvePoint { at, verdict, of_job, unconfirmed }
        LineSays { answer, same_work, not_comparable, not_measured, too_few, not_at_job }
        Promising { arm, ci_low, ci_high }
        ArmCosts { arm, components, accounted_ns, measured_ns }
        Rounds { differing, all }
        Noisy { state, durability, throttled, beside }
        NoiseFloor { half_width, pairs, rejected }
        StateNoise { state, floor }
        FillFinding { fill, elapsed_ns, range_bytes, folio_orders, pages_per_fault, comparisons, refill, not_judged }
        UnjudgedRefill { id, fill, condition, cause }
        FilledComparison {
            id, condition, baseline, arm, baseline_ns_per_op, arm_ns_per_op, speedup, verdict, answer_of, minor_faults,
            system_ns_per_fault,
        }
        Refill { id, fill, elapsed_ns, filled_bytes, condition, arm, now_arm, now_ns_per_op, then_ns_per_op, ops, passes }
        Confirmed { bytes, ops, speedup, pairs, verdict, rounds_speedup, rounds_verdict, rounds_came_free }
        MapLine {
            id, condition, winner, winner_cell, ties, tie_cells, not_told_apart, not_told_apart_cells, same_work,
            same_work_cells, compared_cells, margin, next_cell, verdict, answer_of, says, explanation,
        }
        schema::answer::Answer { choices, causes }
        schema::answer::Choice { arms, losses, known, conditions, measured }
        schema::answer::Loss { id, fastest, times, than_baseline, by_trial, at_most }
        schema::answer::MainCause { id, cause, faster, slower }
        schema::answer::Part { cell, arm, pass_ns, cause_ns }
        ClaimFinding { id, study, source, says, published, measured, verdict, reasons, folios, complete }
        ClaimOnFolios { fill, then, folio_bytes, least_folio_bytes, verdict, reasons }
        PublishedClaim { words, ratio }
        VerdictIn { verdict, labels }
        ClaimNumbers { metric, expect, arm, than, across, here, published, effect }
        ClaimMeasured { id, than_cell, against_cell, condition, variant, value, rounds, answer_of, verdict, decides }
        FigureFinding { says, unit, published, as_published, as_published_id, corrected, corrected_id }
        Across { schema_version, versus, gates }
        schema::across::RunComparison {
            first, second, differs, not_comparable, cells, drift, drift_ends, answers, answers_left_out, only_first, only_second,
            no_interval,
        }
        Differs { what, first, second }
        SharedCell {
            first_id, second_id, comparison, arm, condition, own_condition, first, second, speedup, verdict, reason, sizes,
        }
        PassSize { ops, range }
        SharedAnswer {
            first_id, second_id, condition, baseline, arm, first, second, first_verdict, second_verdict, first_of, second_of,
            sizes,
        }
        Gate { threshold, checked, absolute, unsure, other_sizes, largest, breaches, not_judged, partial }
        Change { id, run, arm, condition, label, speedup, basis }
        NotJudged { id, run, arm, condition, label, cause }
        Breach { id, run, arm, condition, label, cause }
        History { schema_version, runs, cells, damaged, of_others, all }
        SavedRun {
            id, started, elapsed_s, on, kernel, experiment, target, target_bytes, file_system,
            partial, samples,
        }
        SavedCell {
            run, started, partial, on, arm, command, workload, consume, state, block_bytes, condition, ns_per_op, under, own_condition,
            target, place, comparison, occurrence, asked, found, found_pages_per_fault, runtime, bytes_per_block, checksums,
        }
        Place { file_system, device, read_ahead_bytes }
        SavedMachine { machine, key, hardware, origin }
        SizeAsked { range, ops }
        Damaged { file, reason }
        Leftover { kind, path, path_bytes, made_unix_s, owner, locked, identity }
        LeftoverOwner { pid, started_ticks, host, boot_id, pid_namespace }
        FileIdentity { device, inode }
        PlannedRun {
            schema_version, experiment, title, target, made_here, file_bytes, written_bytes, copied_bytes, round_bytes, scratch_bytes,
            free_bytes,
            expected_s, rounds, seed, conditions, limits,
        }
        PlannedCondition { condition, variant, comparison, cells }
        PlannedCell { arm, baseline, own_condition, skipped, reason }
        FileView {
            path, bytes, page_bytes, file_system, can_be_evicted, residency, stretches, folio_orders, pages_per_fault, faults, mapped_by,
        }
        FaultView { run, of, like, here, in_order }
        OtherFile { path, bytes }
        Residency { asked, pages, resident, dirty, under_writeback, evicted, recently_evicted }
        ProcessView { pid, command, thread, page_bytes, without_memory, runtimes, watched, files, mappings }
        Watched {
            asked_s, elapsed_s, ended, minor_faults, major_faults, reads, children_ended, device_bytes_per_major_fault, threads,
            new_mappings, gone_mappings,
        }
        WatchedReads { device_bytes, read_calls, read_call_bytes }
        ThreadFaults { tid, name, minor_faults, major_faults }
        MappedFile {
            name, device, inode, is_code, mappings, bytes, unadvised_bytes, unadvised_resident_bytes, advice, resident_bytes, file_bytes, residency,
            folio_orders, pages_per_fault, read_ahead_bytes, disk, places, meanwhile, cost, pattern, miss,
        }
        FileMeanwhile { cached_more_bytes, mapped_more_bytes, unmapped_more_bytes, new_places }
        Places { pages, places, short, fault_pages }
        PlacePattern { shape, places, bytes, meanwhile }
        MissCost { run, window_bytes, window_ns, page_ns }
        MappingView {
            name, is_file, device, inode, addresses, offset, bytes, protection, shared, advice, resident_bytes,
            referenced_bytes, anonymous_bytes, dirty_bytes, locked_bytes, huge_bytes, file_huge_bytes, swapped_bytes,
        }
    }
    enums {
        Warning {
            Incomplete { partial },
            WideNoise { states, margin },
            RejectedControls { rejected, controls },
            StolenTime { share },
            FewCpus { threads, cpus },
            Busy { load, cpus },
            Sparse { allocated_bytes, bytes },
            UnusualReadAhead { bytes, usual_bytes },
            SmallWindow { bytes, file_bytes },
            ThrottleExceeded { arm, label, limit, allowed_per_s, per_s, more },
            HalfCalibrated { calibrated, all, first_missing },
            SlowBuffers { times, block_bytes },
            SlowLoops { times, block_bytes },
            DiskShared { device, passes, read_bytes, written_bytes, own_bytes },
            AtTheCeiling { arm, label, share, more },
            LowCeiling { workload, arm, label, share },
            ThroughPageCache { device },
            PagesLeft { lost, passes, most_pages },
            UnevenStarts { changed, passes, least_pages, most_pages },
            Reclaimed { scheme },
            Amplified { arm, label, times, read_ahead },
            IdleAdvice { arm, label, more },
            OtherFolios { label, small_arm, small_order, large_arm, large_order },
            LostEvents { passes, all, most_in, lost },
            ForksDisagree { first, more },
            WithinCpuCache { conditions, range_bytes, cache_bytes },
        }
        Reach { Calls, Mapping, UnseenMapping { why }, Both }
        AdviceVerdict { Switch, NoDifference, Unknown }
        AdviceCode { M1, M2, M3, M4, M6, R1, R2, R3, R4, R5, Ok, Unknown }
        Effort { E0, E1, E2, E3 }
        Grade { A, B, C, D }
        AdviceReason {
            BroughtIn { bytes, touched_bytes },
            InOrder { share },
            Touched { share },
            ManySmall { mappings, median_bytes },
            Populated { touched_share },
            PartPopulated { bytes, file_bytes },
            PartMapped { bytes, file_bytes },
            MappedByAnother { arm },
            Again { times, access_bytes },
            SmallInOrder { access_bytes },
            Seeks { reads, jumps },
            BehindPage { share },
            ReplayAlone,
            SmallShare { share },
            BestGains { arm, most },
            MoreThanReplayed { arm, share, most },
            AllSlower { times },
            FromDevice { bytes },
            Open { arm, ci_low, ci_high },
            WithinNoise { arm, ci_low, ci_high, times },
            WithinAnyNoise { arm, ci_low, ci_high, times },
            TooFewRounds { rounds, least },
            NotMeasured { reason },
            NotComparable { reason },
            SelfCheckFailed { off, most },
            LongerThanProgram { times, threads },
            NotChecked { why },
            DependsOnUse { arm },
            PagesUnseen { why },
            MixedReach,
            Incomplete { coverage },
            Rings { rings },
            NotAllSeen { why },
            RanOnce,
            OtherReach,
            MappedAgain { mappings, files },
            HandedOn { share },
            WritesToCopies,
            TouchedAgain { arm, times },
            OpenedAgain { arm, opens, files },
            SeveralThreads,
            WaitsElsewhere { busy, threads },
            MoreThanUserTimeLeaves { most, replay },
            Unwatched,
            TouchesUnwatched,
            SwitchAlone,
            SwitchAsGood,
            SwitchGainsMost,
            SwitchMeasured,
            SwitchContradicts { arm, predicted, real },
            SwitchOpen { arm, predicted, ci_low, ci_high },
        }
        Settles { LargerBudget { seconds }, MoreRounds { made }, Switch, SwitchMeasured, WithoutOnce, ExactRecording, Anew, Reason }
        Unchecked { NeedsBothStates, NoColdTime, NoReading, TooCoarse }
        How {
            Switch { line }, MadviseRandom, MadviseSequential, MadviseWillNeed, Populate, PlainMapping, Pread, ReadWhole, Mapping,
            FadviseRandom, FadviseSequential, LargerBuffer { kib }, PlainReads, PageBuffer, InFlight { depth }, Direct, NoPopulate, NoWillNeed, NoOrder, NoDirect, All(changes), AsTheArm,
        }
        AdviceCaveat {
            TowardsMapping, TowardsCalls, ThisMachine, WholePages, OneSidedCheck, Incomplete { coverage }, SwitchApart, Threads { threads, replayed },
            MoreWaits { share, slower }, Withheld { arm },
            TouchedWhole { files }, OpenedAgain { opens, files }, OtherFile { path, bytes },
        }
        CheckedBy { ColdLessCached, Waits, SystemTime, CpuTime, Faults, Time }
        Caution {
            Descriptors { arms, descriptors },
            LittleFromDevice { share },
            UnseenDevice { arm, reason },
            UnseenOnDevice { arm, reason },
            LittleOnDevice { share },
            Amplified { arm, device_bytes, reached_bytes },
            LessThanAsked { bytes, asked_bytes },
            SmallRange { of_file, range_bytes, whole_bytes, would_bytes, reached_bytes },
            NotUniform { of_file, reached_bytes, whole_bytes, would_bytes },
            QueueDepths { arms, depths },
            ReadFromDevice { arm, state, bytes, share },
            HeldOpen { arm, state },
            PagesFaulted { arm, state, faults, pages },
            Inconsistent { arm, what },
            ForksDisagree(groups),
            JobFailed { pairs, least, invalid },
            JobUnequal(reason),
            JobDecides { blocks, rounds, job_blocks, job },
        }
        TraceAsked { Named { path, file }, Read(traced) }
        Inconsistent { Amounts { passes, bytes, ops }, Parts { passes }, Bytes { passes, checksums }, Outputs { passes, checksums } }
        Reason {
            LostPasses { lost, passes, reason },
            Inconsistent(what),
            ForksDisagree { slow, forks, factor },
            SinglePass,
            Skipped(skip),
            EndedBefore { partial },
            NoPass,
            UnequalWork { arms, differences },
            NoValidPass { arm, reasons },
            NoMeasurableTime,
            FaultsOfLargeFolios { pages_per_fault },
            NoCommonRound,
            TooFewRounds { rounds, least },
            AcrossTheMargin { ci_low, ci_high, margin, more_than },
            DependsOnFork { arm, forks_of, beside_fast, beside_slow },
            WithinNoise { ratio, ci_low, ci_high, under, times },
            JobDoubts { blocks, rounds, job_blocks, job, pairs, least },
            JobsDoubt { job },
            OtherWork { share },
            JobOfOneCondition { label },
            FewWindows { covered_bytes, window_bytes, least },
            FewBlocks { blocks, job_blocks, writes },
            ThrottleExceeded { arm, limit, allowed_per_s, per_s },
            OtherFolios { pages_per_fault },
            OtherOwnWork { own_work_ns },
            OtherSizes { first, second },
            OtherBaselines { first, second },
            Unseen(why),
            NotInRun(why),
            NoCost(why),
            Conclusion(of),
            NoMetric { metric, reason },
            NoneTaken { metric },
            OneAdded { metric },
            OfSums { metric, rounds },
            TooCoarse { metric, counted_ns, passes },
            NoInterval,
            NotFinite,
            NoBaseline,
            IsBaseline,
            NotMeasured { labels, reason },
            NotTestable { labels, reason },
            In { labels, reason },
            Of { of, reason },
            Text(text),
        }
        Unseen {
            NoValidPass, NotObserved, InvalidPass(reason), NotBytes(value), NoBytes, NoFault, NothingFromDevice, PagesNotCounted,
            MapsNothing, MappedBefore, MappingsOfThreads, StoresFault, HolesFault, FaultedAgain, KernelPopulates, NoCeiling, LowCeiling { arm, label }, OtherState, NoCpuTime, FewTicks { cpu_ns, tick_ns, threads }, SeveralThreads, NoDiskCounters, FewBeats,
        }
        NotInRun {
            Arm { arm },
            NoArm,
            NoExpectation,
            NoOtherArm,
            NoCondition,
            SeveralConditions { conditions },
            OtherFileSize { file_bytes, study_bytes, full_bytes },
            NoConditionWith { compare, arms },
            NoPair { arms },
            Rounded { saved_bytes, exact_bytes },
            Replaced { values },
            Scenario,
            ScenarioNotTried,
        }
        NoCost {
            Writes,
            Replay,
            Runtime { runtime },
            Threads,
            Beside,
            AcrossPages,
            Throttled,
            State { state },
            TooLargeToLock,
            Unaligned { sector_bytes },
            NotFinite,
            NotCalibrated(operation),
            Fill { fill },
            Folios { bytes },
            PagesPerFault { pages },
            RequestSize { bytes, largest },
            NoRun { looked_at, file_system, in_memory },
            NoRunOfDisk { looked_at, disk },
            NoDisk,
            NoWindow,
            NoUnitCosts { run },
            NoFaults { run },
        }
        Operation {
            ReadCall, BareCall, Copying, RandomReads, Summing, Opening, Populating, Mapping, TouchingPages, RandomAccess,
            Faults, AscendingReads, Device, InFlight { requests }, Consume { consume }, Part { percent }, Method { method },
            Advice { advice },
        }
        Conclusion {
            Verdicts(verdicts),
            Numbers(numbers),
            OfJob { labels },
            Unconfirmed { labels },
            Leans { labels },
            OnlyPublished,
            Folios { pages, around_bytes },
            ContainsClaimed,
            MapsUnreached { at_most, is_ratio },
            CrossesMargin { margin },
            DependsOnFork { forks_of, fast, slow, metric },
            NoRatio,
            ReachesZero,
            OfPart,
            OfOtherSize { file_bytes, study_bytes, full_bytes },
            Partial { partial },
        }
        Ours { One(estimate), Between(ends) }
        Difference {
            Workloads { workloads },
            Consumes { consumes, user_ns_per_byte },
            States { states },
            Durabilities { durabilities },
            Blocks { block_bytes },
            Alignments { aligned },
            Files { file_bytes },
            Storages,
            Memories { memory_bytes },
            Amounts { bytes, writes, rounds },
            Operations { ops, rounds },
            Reached { distinct_bytes, bytes, writes, rounds },
            Pages { pages, rounds },
            Checksums { checksums, writes, rounds },
            Outputs { rounds },
            Statuses { rounds },
            Threads { threads, rounds },
            Opened { opened },
            Changed { of, what },
            FromDevice { device_bytes, covered_bytes, allocated_bytes },
            Lines { lines, rounds },
            OnDevice { device_bytes, covered_bytes, flushes },
        }
        LineAnswer {
            NoBaseline,
            OnlyArm { arm },
            OneWork { baseline },
            ArmWins { arm, baseline, times, of_job, in_flight, ties, not_told_apart },
            BaselineWins { baseline, next, times, of_job, several },
            NoneFaster { baseline, margin, ties, not_told_apart, of_job },
            NoneComparable { baseline, reason },
            Undecided { reason },
            NotAtJob { arm, baseline, speedup, not_measured },
            Between { baseline, arms, promising, reason, ties },
        }
        Explanation { Counts { arms, counts }, Alike { arms, counts }, Costs { arms, decided } }
        Count {
            ReadCalls { calls, bytes },
            WriteCalls(calls),
            ToDevice { bytes },
            Flushes(flushes),
            MinorFaults { faults, bytes_each },
            MajorFaults(faults),
            FromDevice { bytes, times_reached, ceiling_share },
            SystemShare(share),
        }
        ForecastRemark {
            RandomMisses { memory_bytes, file_bytes, resident_share, arms },
            ScansEvict { memory_bytes, range_bytes, resident_share, arms },
            BeyondCalibration { calibrated_bytes, file_bytes },
            BeyondRequests { bytes, calibrated_bytes },
            Threads { threads, cpus },
            Device { name },
            TooFewCells { waits, factor },
            Interval { cells, waits, fill },
            OneSided(lean),
            OtherKernel { then, now },
            OtherMachine { host },
        }
        SafepointTail { NinetyNine, Longest }
        SafepointsOpen { TooFew { least_passes, least_safepoints }, InMemory }
        BeatSays { Busy, TooFewDeadlines, TooFewPasses, Nobody, Waiting, LongerThanInMemory, AsInMemory, InMemory, NoControl }
        StallSays { Nobody, NobodyInMemory, Others, OthersAsInMemory, OthersInMemory, OthersNoControl, Unknown }
        Waits { Memory, PageCache, Around }
        Trait { Block { bytes }, State(state), Arm(arm), TooHigh, TooLow, Workload(workload) }
        Lean { TooShort, TooLong }
        NotCounted { Calibrated, Repeated }
        Later { Undecided, PartialAgrees, PartialDecides, PartialContradicts, Elsewhere, OtherSize }
        Ending { Interrupted, TargetChanged, BudgetSpent }
        RoundsEnd { Precise, Most, Asked, Budget }
        Invalid { FoliosChanged { fill, share }, Seen(reason) }
        Outcome { Ok { phases, tally }, Invalid { reason }, Failed { reason } }
        Skip {
            TooSlow { ns_per_block, blocks, twice, around_ns, pass_ns, budgets },
            TooLong { blocks, pass_ns, left_ns, budget },
            LeavesTime { rounds_ns, left_ns },
            Untried,
            Unavailable(reason),
            Impossible(reason),
            NoReplay { runtime },
            EmptyRange { offset_bytes, file_bytes },
            NothingToCompare,
            SlowerReplay { times },
            LeftToFaster { times, fastest },
            NoRoom { block_bytes, blocks, range_bytes },
            Failed(reason),
            Other(reason),
        }
        Setting { Number(number), Word(word) }
        Variant { AsPublished, Corrected }
        Metric {
            Time, Cpu, User, System, MinorFaults, DeviceReadBytes, PagesPerFault, ReadPart, LoopPart, WritePart,
            DeviceWriteBytes, SafepointP99, CeilingShare, BeatP99, StalledShare,
        }
        Expect { Lower, Higher, Same, AtMost(limit), AtLeast(limit) }
        Unit {
            Seconds, Milliseconds, MibPerSecond, CpuSeconds, UserSeconds, SystemSeconds, MinorFaults, TimesFaster,
        }
        Request { Hello { protocol }, Prepare(job), Go { pass, warm }, Bye {} }
        Reply { Hello(hello), Prepared { pass, pid }, Unavailable { pass, reason }, Done(done), Failed(failed) }
        CacheKind { Data, Instruction, Unified }
        KeySource { MachineId, ProductUuid, DataFolder }
        Origin { Own, Imported }
        Hold { No, Rehearse, Open, Warm, Locked }
        Likeness { Identical, Different, Unknown }
        Exact { None, Set, Order }
        Inexact {
            NotCold { why }, NoFaults { why }, NotAdvised { mappings }, BudgetOver { budget_ms }, Lost { faults },
            Unchecked,
        }
        AccessDifference { Kind, Mappings, Calls, Direct, Hints, Readers, Opens }
        UnknownLikeness { NotObserved, Incomplete { arm, reason }, Ring { arm }, Idle }
        Cause { SystemCalls, Copies, Misses, Bytes, Faults, Mapping, Device }
        Quantity {
            Reads, Seeks, BytesCopied, RandomPlaces, BytesSummed, BytesSummedInPlace, PagesTouched, OpenAndClose,
            MapAndUnmap, PagesPopulated, PagesUnmapped, Faults, BytesFromDevice, Requests, PagesBroughtIn,
        }
        NotComparable {
            NoSharedCell,
            OneRun { run },
            Subject { field, first, second },
            Found { pages },
            Command { arm },
            Consumed { arm, bytes_per_block },
            Output { arm },
            Bytes { arm, checksums },
        }
        Fact {
            Machine, Faultline, Experiment, EndedEarly, Host, Kernel, Architecture, Cpu, Cpus, MemoryBytes, MemoryLimitBytes,
            Virtualisation, Mitigations, PageBytes, TransparentHugepage, FaultAroundBytes, Governor, CLibrary, Clocksource,
            TickNs, LruGen, ReclaimSchemes, Runtimes, Root, Target, TargetBytes, Files, Folder, FileSystem, Device,
            ReadAheadBytes,
        }
        FactSays { NotKnown(reason), Schemes(schemes), Files { count, named }, Text(text) }
        UnjudgedCause { OtherPasses { now_ops, then_ops, now_bytes, then_bytes }, UnequalWork, NoSharedArm }
        AnswerOf { Rounds, RoundsUnconfirmed, RoundsAndJob, Job, Neither }
        Status { Ok, Skipped, Invalid, Failed }
        Verdict { Faster, Slower, Same, Undecided, NotComparable }
        ConfounderKind { ThreadsAtWork, UserTime, Processes, OutputBytes }
        ClaimVerdict { Holds, Reversed, NoDifference, Mixed, Undecided, NotTestableHere }
        BreachCause { Beyond { speedup, basis }, NotCompared { first, second } }
        Basis { AgainstBaseline { first_runs, second_runs }, Absolute { first_runs, second_runs } }
        NotJudgedCause { TooFewRuns { first, second, least, reason }, ThrottleExceeded { reason }, TooSmall { reason }, OtherFolios { reason }, OtherOwnWork { reason }, OtherSizes { reason } }
        Limit { Bytes, Reads }
        Presence {
            Measured,
            TooFewPasses { passes, least },
            NoBaseline { reason },
            Skipped { reasons },
            Invalid { reasons },
            Failed { reasons },
            Absent,
        }
        LeftoverKind { File, Cgroup }
        Inspection { File(view), Process(view) }
        WithoutMemory { Kernel, Zombie, Ending }
        MappedRuntime { Jvm, Cpython, Go, Node }
        Shape { Apart, Together }
        MappingAdvice { Random, Sequential, Hugepage, Nohugepage, Dontdump }
        WatchEnd { Interrupted, ProcessEnded }
        AdviceCost { Counted { unmapped_bytes }, CountedNothing, NotCached { bytes }, NotMapped { bytes }, AdviceUnknown }
        Unlooked {
            Memory,
            Gone,
            NotRegular,
            Network { file_system },
            Stranger,
            NotAmongLargest { files },
            TooManyPages { pages, most },
            TooLargeMapping { pages, most },
            NoFolios { error },
            NoPlaceCached,
            MappedMeanwhile,
            AdvisedMeanwhile,
            UnmappedMeanwhile,
            MappedTwice,
            NotAskedBefore,
            Refused { error },
            Text(text),
        }
    }
}
