//! The plan: which cells there are, which are skipped and why, in which order states are visited. Pure, but for looking
//! at the target. How many blocks a pass reads is determined later, by trial (`sizing.rs`), unless the experiment sets
//! it.

pub mod possible;
pub mod sizing;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use schema::{
    Arm, Condition, Durability, Experiment, Fill, Layout, Skip, Span, State, Workload,
    condition::Storage,
    distinct,
    experiment::{Compare, Competitor, Throttle},
    record::{Cell, Environment},
    runtime::RuntimeSpec,
};

/// The window a pass may touch is at most this, unless the experiment names one. It bounds what has to be filled and
/// what `populate` options populate.
pub const RANGE_BYTES_MAX: u64 = 4 << 30;

/// A small window that is useful still.
pub const RANGE_BYTES_MIN: u64 = 16 << 20;

/// The part of the budget that filling the page cache may take, as fast as the device is.
const FILLING_SHARE: f64 = 0.1;

/// What a disk is taken to deliver where that could not be measured, in bytes per second: that of a hard disk. A fill that has
/// begun is not ended, so a faster one must not be supposed.
pub const UNKNOWN_DISK_BYTES_PER_S: f64 = 150e6;

/// A window that the device can bring in by every fill of the experiment in a small part of the budget, and that memory
/// holds with room to spare. How many reads share a fault depends on how densely they lie, so random reads are to go over
/// the whole file where that can be had. The device's speed, in bytes per second, is known once it was measured.
pub fn range_limit(experiment: &Experiment, environment: &Environment, device: Option<f64>, budget: Duration) -> u64 {
    let memory = environment.cache_memory_bytes();
    let fills: BTreeSet<_> = experiment.comparisons.iter().flat_map(|it| &it.fill).collect();
    let times = fills.iter().filter(|it| ***it != Fill::Found).count().max(1) as f64;
    let filling_s = budget.as_secs_f64() * FILLING_SHARE;
    let fillable = device.map_or(u64::MAX, |it| (it * filling_s / times) as u64);
    range_most(memory).min(whole_steps(fillable)).max(RANGE_BYTES_MIN)
}

/// The largest part of a file that is measured where no range is written down, whatever the budget.
pub(crate) fn range_most(memory_bytes: u64) -> u64 {
    whole_steps(RANGE_BYTES_MAX.min(memory_bytes / 4))
}

/// `bytes`, rounded down to whole steps: a part of a file ends with a large folio (`whole_folios`), and O_DIRECT can read it to its
/// end.
pub fn whole_steps(bytes: u64) -> u64 {
    bytes / STEP * STEP
}

/// Conditions and cells of one experiment on one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub conditions: Vec<Condition>,
    /// For each condition, the index of its comparison in the experiment.
    pub origins: Vec<usize>,
    /// Of each condition.
    pub given: Vec<Given>,
    pub cells: Vec<Cell>,
}

/// What the experiment says of the size of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// How many blocks it has.
    Ops,
    /// The range alone: how many blocks of it are read is determined by trial.
    Range,
    Nothing,
}

/// Stages of a run, in order: what is there is looked at before anything disturbs it, and the cache is filled once for
/// all states that live in it. What writes comes last, because afterwards the file holds other bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    AsIs,
    Warm(Fill),
    Limited,
    AsFound,
    Cold,
    Writing,
}

impl Stage {
    /// The stages of some conditions, in order. The warm stages of the usual fill and of the smallest folios are always
    /// there: what single calls and faults cost is measured in them.
    pub fn all(conditions: &[Condition]) -> BTreeSet<Stage> {
        let calibrated = [Fill::Sequential, Fill::Random].map(Stage::Warm);
        conditions.iter().map(Stage::of).chain(calibrated).collect()
    }

    /// Of a stage whose states begin in the page cache.
    pub fn fill(self) -> Option<Fill> {
        match self {
            Stage::Warm(fill) => Some(fill),
            _ => None,
        }
    }

    pub fn of(condition: &Condition) -> Stage {
        match condition.state {
            _ if condition.workload.writes() => Stage::Writing,
            State::AsIs => Stage::AsIs,
            State::Cached | State::Mapped | State::Locked => Stage::Warm(condition.fill().unwrap_or(Fill::Sequential)),
            State::Limited => Stage::Limited,
            State::AsFound => Stage::AsFound,
            State::Cold => Stage::Cold,
        }
    }

    /// Nothing was evicted or filled yet.
    pub fn is_as_found(self) -> bool {
        matches!(self, Stage::AsIs | Stage::Warm(Fill::Found))
    }

    /// By the states of its conditions, of which a stage may have any that begin alike: `states cached and mapped, fill
    /// random`.
    pub fn named(self, states: &[State]) -> String {
        let words: Vec<&str> = State::ALL.iter().filter(|it| states.contains(it)).map(|it| it.word()).collect();
        let named = match words.as_slice() {
            [first @ .., second, last] => {
                format!("states {}", [first, &[&format!("{second} and {last}")]].concat().join(", "))
            }
            one => format!("state {}", one.concat()),
        };
        match self {
            Stage::Warm(fill) if fill != Fill::Sequential => format!("{named}, fill {fill}"),
            Stage::Writing => format!("{named}, writing"),
            _ => named,
        }
    }
}

impl Plan {
    /// Crosses the lists of an experiment. `range_bytes_max` bounds windows that the experiment leaves open;
    /// `possible` says of a state why it cannot be had.
    pub fn new(
        experiment: &Experiment,
        file_bytes: u64,
        range_bytes_max: u64,
        possible: impl Fn(&Condition) -> Result<(), String>,
    ) -> Plan {
        let mut plan = Plan { conditions: Vec::new(), origins: Vec::new(), given: Vec::new(), cells: Vec::new() };
        for (origin, compare) in experiment.comparisons.iter().enumerate() {
            for condition in conditions(compare, file_bytes, range_bytes_max) {
                let skipped = possible(&condition).err().map(Skip::Impossible);
                let index = plan.conditions.len();
                for (position, competitor) in compare.arms.iter().enumerate() {
                    let own_condition = own(compare, competitor, &condition);
                    let does = own_condition.as_ref().unwrap_or(&condition);
                    let begins_otherwise = |it: &&Condition| (it.state, it.range) != (condition.state, condition.range);
                    let of_its_own = own_condition.as_ref().filter(begins_otherwise);
                    let cannot = || of_its_own.and_then(|it| possible(it).err()).map(Skip::Impossible);
                    let lacks =
                        || no_replay(&competitor.arm, does).or_else(|| drops_what_is_cached(&competitor.arm, does));
                    let skipped = Skip::for_its_size(does).or(skipped.clone()).or_else(lacks).or_else(cannot);
                    let cell = |control: bool| Cell {
                        arm: competitor.arm.clone(),
                        condition: index,
                        own_condition: own_condition.clone(),
                        baseline: position == 0 && !control,
                        control,
                        skipped: skipped.clone(),
                    };
                    plan.cells.push(cell(false));
                    if position == 0 {
                        plan.cells.push(cell(true));
                    }
                }
                plan.given.push(match () {
                    () if compare.leaves_size_open() => Given::Nothing,
                    () if !compare.ops.is_empty() || compare.trace.is_some() => Given::Ops,
                    () => Given::Range,
                });
                plan.origins.push(origin);
                plan.conditions.push(condition);
            }
        }
        leave_lone_baselines(&mut plan.cells);
        plan
    }

    /// The condition that the passes of a cell are made under, if they are.
    pub fn does<'a>(&'a self, cell: &'a Cell) -> &'a Condition {
        cell.own_condition.as_ref().unwrap_or(&self.conditions[cell.condition])
    }

    /// As `filled`.
    pub fn filled(&self) -> BTreeMap<Fill, Span> {
        filled(&self.conditions, &self.cells)
    }
}

/// How far each fill reaches for passes that read: one for all of them, so that they share folios. A stage begins with what
/// its conditions say, also where an arm does something of its own; what is left out or writes needs none of it.
pub fn filled(conditions: &[Condition], cells: &[Cell]) -> BTreeMap<Fill, Span> {
    let mut filled: BTreeMap<Fill, Span> = BTreeMap::new();
    let measured = cells.iter().filter(|it| it.skipped.is_none());
    let of_each = measured.flat_map(|it| std::iter::once(&conditions[it.condition]).chain(&it.own_condition));
    for condition in of_each.filter(|it| !it.workload.writes()) {
        if let Some(fill) = condition.fill() {
            let range = condition.range;
            filled.entry(fill).and_modify(|it| *it = union(*it, range)).or_insert(range);
        }
    }
    filled
}

/// From where the first of them begins to where the last of them ends.
pub fn union(a: Span, b: Span) -> Span {
    let offset = a.offset.min(b.offset);
    Span { offset, bytes: a.end().max(b.end()) - offset }
}

/// Why an arm makes no accesses of a trace.
fn no_replay(arm: &Arm, does: &Condition) -> Option<Skip> {
    let replays = does.trace.is_none() || RuntimeSpec::named(&arm.runtime).is_ok_and(|it| it.replays);
    (!replays).then(|| Skip::NoReplay { runtime: arm.runtime.clone() })
}

/// Writing with O_DIRECT drops the pages that it writes from the page cache (mm/filemap.c, `kiocb_invalidate_pages`): also the
/// blocks that a worker writes before a pass, so that none begins with all pages there.
fn drops_what_is_cached(arm: &Arm, does: &Condition) -> Option<Skip> {
    let is_there = !matches!(does.state, State::Cold | State::AsIs | State::AsFound);
    let drops = arm.is_direct() && does.workload.writes() && is_there;
    drops.then(|| {
        let state = does.state;
        Skip::Unavailable(format!(
            "writes with O_DIRECT drop their pages from the page cache; state {state} needs them"
        ))
    })
}

/// A baseline has nothing to be compared with where every other arm of its condition is left out. One that was entered
/// alone is measured for its own numbers, and a command beside replays of what it does is what these are held against.
pub fn leave_lone_baselines(cells: &mut [Cell]) {
    let has_replays = cells.iter().any(|it| !it.arm.is_command());
    let is_other = |it: &&Cell| !it.baseline && !it.control;
    let others: BTreeSet<usize> = cells.iter().filter(is_other).map(|it| it.condition).collect();
    let left: BTreeSet<usize> =
        cells.iter().filter(is_other).filter(|it| it.skipped.is_none()).map(|it| it.condition).collect();
    let is_alone = |it: &&mut Cell| others.contains(&it.condition) && !left.contains(&it.condition);
    for cell in cells.iter_mut().filter(is_alone).filter(|it| !(has_replays && it.arm.is_command())) {
        cell.leave_out(Skip::NothingToCompare);
    }
}

fn conditions(compare: &Compare, file_bytes: u64, range_bytes_max: u64) -> Vec<Condition> {
    let window = match compare.range {
        Some(range) => range.of(file_bytes, compare.block.first().map_or(0, |block| block.0)),
        None => Span { offset: 0, bytes: file_bytes.min(range_bytes_max) },
    };
    let mut conditions = vec![match compare.traced() {
        // Accesses may lie anywhere, and what read-ahead brings in of the file is part of what they cost.
        Some(traced) => Condition {
            block_bytes: traced.longest_bytes,
            ops: traced.accesses,
            threads: traced.threads,
            trace: Some(traced.clone()),
            ..Condition::plain(file_bytes)
        },
        None => Condition { range: window, ..Condition::plain(file_bytes) },
    }];
    cross(&mut conditions, &compare.workload, |it, workload| it.workload = workload);
    let writes = |it: &Condition| it.workload.writes();
    cross_some(&mut conditions, &compare.durability, writes, |it, durability| it.durability = durability);
    let has_layout = |it: &Condition| it.workload.has_layout();
    conditions.iter_mut().for_each(|it| it.layout = has_layout(it).then_some(Layout::Written));
    cross_some(&mut conditions, &compare.layout, has_layout, |it, layout| it.layout = Some(layout));
    // What is written is consumed by nothing.
    cross_some(&mut conditions, &compare.consume, |it| !writes(it), |it, consume| it.consume = consume);
    cross_some(&mut conditions, &compare.threads, |it| it.trace.is_none(), |it, threads| it.threads = threads);
    let has_others = |it: &Condition| it.threads > 1;
    cross_some(&mut conditions, &compare.descriptor, has_others, |it, descriptor| it.descriptor = descriptor);
    cross_some(&mut conditions, &compare.aligned, is_anywhere, |it, aligned| it.aligned = aligned);
    cross(&mut conditions, &compare.storage, |it, throttle| {
        let storage =
            Storage { read_bytes_per_s: throttle.read_bps.map(|it| it.0), read_ops_per_s: throttle.read_iops };
        it.storage = (throttle != Throttle::default()).then_some(storage);
    });
    cross(&mut conditions, &compare.state, |it, state| it.state = state);
    cross_some(&mut conditions, &compare.fill, |it| it.state.is_filled(), |it, fill| it.fill = Some(fill));
    cross_some(&mut conditions, &compare.block, |it| it.trace.is_none(), |it, block| it.block_bytes = block.0);
    cross(&mut conditions, &compare.beside, |it, beside| it.beside = beside);
    for condition in &mut conditions {
        if let Some(range) = compare.range.filter(|it| it.blocks.is_some()) {
            condition.range = range.of(file_bytes, condition.block_bytes);
        }
        condition.memory_bytes = memory_bytes(compare, condition);
        // How much of the file read-ahead has brought in decides what so many cold reads cost.
        let is_cold_job = condition.state == State::Cold && condition.workload == Workload::Random;
        if is_cold_job && compare.range.is_none() && !compare.ops.is_empty() {
            condition.range = Span { offset: 0, bytes: file_bytes };
        }
    }
    cross_some(&mut conditions, &compare.ops, |_| !compare.ops.is_empty(), cover);
    if compare.range.is_none() && !compare.ops.is_empty() {
        conditions.iter_mut().for_each(|it| it.ops = it.dense_ops(it.ops));
    }
    // Two entries of a list may mean the same.
    distinct(conditions)
}

/// Of the range, in state `limited`, when the experiment does not say it.
const MEMORY_SHARE: f64 = 0.5;

/// Its blocks lie anywhere, at multiples of their size or not.
fn is_anywhere(condition: &Condition) -> bool {
    condition.workload.has_blocks() && !condition.workload.is_ascending()
}

/// What a worker may use of memory for the file, in state `limited`.
fn memory_bytes(compare: &Compare, condition: &Condition) -> Option<u64> {
    let share = compare.memory.unwrap_or(MEMORY_SHARE);
    (condition.state == State::Limited).then_some((condition.range.bytes as f64 * share) as u64)
}

/// Every condition once for each value.
fn cross<T: Copy>(conditions: &mut Vec<Condition>, values: &[T], set: impl Fn(&mut Condition, T)) {
    cross_some(conditions, values, |_| true, set);
}

/// Every condition of a kind once for each value; the others once.
fn cross_some<T: Copy>(
    conditions: &mut Vec<Condition>,
    values: &[T],
    has: impl Fn(&Condition) -> bool,
    set: impl Fn(&mut Condition, T),
) {
    let with = |condition: &Condition, value: T| {
        let mut condition = condition.clone();
        set(&mut condition, value);
        condition
    };
    let all = |condition: &Condition| match has(condition) {
        true => values.iter().map(|&value| with(condition, value)).collect(),
        false => vec![condition.clone()],
    };
    *conditions = conditions.iter().flat_map(all).collect();
}

/// No window begins within a large folio, or on half a block of a device.
pub const STEP: u64 = 2 << 20;

/// Gives each window a part of the file of its own, as far as there is room up to `end`: what the scan of one leaves in the
/// CPU caches is not what the next one reads.
pub fn spread(windows: &mut [Span], end: u64) {
    let mut next = 0;
    for window in windows.iter_mut().filter(|it| it.bytes < end) {
        if next + window.bytes > end {
            next = 0;
        }
        window.offset = next;
        next += window.bytes.next_multiple_of(STEP);
    }
}

/// Whether the window of a condition may lie elsewhere than at the file's start: of a scan in memory, or of blocks of the file that
/// are written there one after the other, whose arms all do what the condition says, and can begin anywhere.
pub fn may_move<'a>(condition: &Condition, mut cells: impl Iterator<Item = &'a Cell>) -> bool {
    // A cold window is at the file's start: within the file, the resident pages before it changed what MADV_SEQUENTIAL
    // costs, and a program that scans the whole file contradicted the verdict.
    let lives_in_parts = matches!(condition.state, State::Cached | State::Mapped | State::Locked);
    // Read-ahead begins small, so the first folios of a file are smaller than the others, and a store to a mapping dirties all of
    // its folio.
    let goes_on = match condition.workload {
        Workload::Scan => true,
        Workload::Overwrite | Workload::Update => condition.has_its_blocks(),
        _ => false,
    };
    let is_free = |it: &Cell| it.own_condition.is_none() && (it.skipped.is_some() || !it.arm.is_from_start());
    goes_on && lives_in_parts && cells.all(is_free)
}

/// Where a window lies in a round: over few rounds as over many, evenly up to `end`. Where the pages of a file lie in
/// memory differs from place to place, and what a mapping of them costs with it; one place does not answer for the file.
pub fn in_round(window: Span, end: u64, round: u32) -> Span {
    let places = end.saturating_sub(window.bytes) / STEP + 1;
    // Multiples of the golden ratio, modulo 1, leave no large gap. Without a common divisor they come to every place before they
    // come to one again.
    let golden = (places as f64 * 0.618_034) as u64;
    let step = (golden..=golden + places).find(|&step| divisor(step, places) == 1).unwrap_or(golden);
    let place = (window.offset / STEP + u64::from(round).wrapping_mul(step)) % places;
    Span { offset: place * STEP, ..window }
}

/// The greatest that both have (Euclid).
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Sets the blocks of a pass. A scan's window shrinks to what it reads, so that mapping and populating it is not
/// charged for bytes that are not read.
pub fn cover(condition: &mut Condition, ops: u64) {
    condition.ops = condition.covered_ops(ops);
    // The state is that of the whole window, whatever a command makes of it.
    if condition.is_of_commands() {
        return;
    }
    // In state limited the window decides what fits into memory, so it stays.
    if condition.workload.is_ascending() && condition.state != State::Limited {
        condition.range.bytes = condition.range.bytes.min(condition.ops.saturating_mul(condition.block_bytes));
    }
}

/// Of ordered writes that are fewer than their range has blocks: as many as end where a large folio does. A store maps the whole of a
/// folio, but of one that goes beyond the mapping each page by itself (mm/memory.c, `finish_fault`): of 10,000 pages, 272 took a
/// fault each, and all others 940 together. A program that maps its file has no such end.
pub fn whole_folios(condition: &Condition, ops: u64) -> u64 {
    let (block, range) = (condition.block_bytes.max(1), condition.range);
    // Where each block waits for the device, faults are next to nothing.
    let is_part = condition.workload.writes()
        && condition.workload.is_ascending()
        && condition.durability != Durability::SyncEach
        && ops < condition.blocks_in_range();
    if !is_part {
        return ops;
    }
    let bytes = (range.offset + ops * block).next_multiple_of(STEP) - range.offset;
    // No less than was asked for, and no more than there is.
    match bytes <= range.bytes {
        true if bytes.is_multiple_of(block) => bytes / block,
        true => ops,
        false => condition.blocks_in_range(),
    }
}

/// What an arm does under a condition when it does not do what the condition says.
fn own(compare: &Compare, competitor: &Competitor, condition: &Condition) -> Option<Condition> {
    let own = &competitor.own;
    if own.is_empty() {
        return None;
    }
    let mut changed = condition.clone();
    changed.workload = own.workload.unwrap_or(changed.workload);
    changed.consume = own.consume.unwrap_or(changed.consume);
    changed.block_bytes = own.block.map_or(changed.block_bytes, |block| block.0);
    changed.state = own.state.unwrap_or(changed.state);
    // What the lists say of states and workloads that this one alone has.
    let listed = if is_anywhere(condition) { None } else { compare.aligned.first().filter(|_| is_anywhere(&changed)) };
    changed.aligned = own.aligned.or(listed.copied()).unwrap_or(changed.aligned);
    if changed.state.is_filled() && changed.fill.is_none() {
        changed.fill = compare.fill.first().copied().filter(|it| *it != Fill::Sequential);
    }
    changed.ops = own.ops.unwrap_or(changed.ops);
    changed.consumed_percent = own.consumed_percent.unwrap_or(changed.consumed_percent);
    changed.durability = own.durability.unwrap_or(changed.durability);
    if let Some(range) = own.range {
        changed.range = range.of(condition.file_bytes, changed.block_bytes);
    }
    // As of a number that the comparison has.
    if own.ops.is_some() && own.range.or(compare.range).is_none() {
        let ops = changed.dense_ops(changed.ops);
        cover(&mut changed, ops);
    }
    // 0: the planner chooses.
    if changed.ops > 0 {
        changed.ops = changed.covered_ops(changed.ops);
    }
    changed.memory_bytes = memory_bytes(compare, &changed);
    Some(changed)
}

#[cfg(test)]
mod tests {
    use schema::{Consume, Descriptor, Durability, Reading};

    use super::*;

    fn plan(text: &str, file_bytes: u64) -> Plan {
        Plan::new(&Experiment::parse("test", text).unwrap(), file_bytes, RANGE_BYTES_MAX, |condition| {
            match condition.state {
                State::Cold => Err("never cold here".into()),
                _ => Ok(()),
            }
        })
    }

    const TEXT: &str = r#"
title = "t"
[arms]
half = { method = "pread", own = { range = { share = 0.5 }, ops = 7 } }
[[compare]]
workload = ["scan", "random"]
block = ["4 KiB", "64 KiB"]
state = ["cached", "cold"]
arms = ["pread", "mmap", "half"]
"#;

    /// What an arm does of its own beside `pread` and `mmap`, in the plan of a comparison.
    fn own_of(own: &str, compare: &str, file_bytes: u64) -> (Plan, Condition, Option<Skip>) {
        let text = format!(
            "title = \"t\"\n[arms]\nits = {{ method = \"pread\", own = {own} }}\n[[compare]]\narms = [\"mmap\", \"read\", \
             \"its\"]\nblock = \"4 KiB\"\n{compare}"
        );
        let possible = |it: &Condition| match it.range.bytes > 1 << 30 && it.state.is_filled() {
            true => Err("it does not fit".into()),
            false => Ok(()),
        };
        let plan = Plan::new(&Experiment::parse("test", &text).unwrap(), file_bytes, 64 << 20, possible);
        let cell = plan.cells.iter().find(|it| it.own_condition.is_some()).unwrap().clone();
        (plan, cell.own_condition.unwrap(), cell.skipped)
    }

    #[test]
    fn a_range_of_its_own_that_cannot_be_had_leaves_out_that_arm_alone() {
        let scan = "workload = \"scan\"\nstate = \"cached\"\n";
        let (plan, _, skipped) = own_of("{ range = { share = 0.5 } }", scan, 8 << 30);
        assert_eq!(skipped, Some(Skip::Impossible("it does not fit".into())));
        assert!(plan.cells.iter().filter(|it| it.own_condition.is_none()).all(|it| it.skipped.is_none()));
        assert_eq!(plan.filled()[&Fill::Sequential].bytes, 64 << 20, "nothing is filled for it");
        assert_eq!(own_of("{ range = { share = 0.5 } }", scan, 1 << 30).2, None);
    }

    #[test]
    fn what_the_lists_say_of_a_state_or_a_workload_that_an_arm_alone_has_is_said_of_it() {
        let cold = "workload = \"scan\"\nstate = \"cold\"\nfill = \"random\"\n";
        let (plan, own, _) = own_of("{ state = \"cached\" }", cold, 1 << 30);
        assert_eq!((plan.conditions[0].fill(), own.fill()), (None, Some(Fill::Random)));
        let scan = "workload = \"scan\"\nstate = \"cached\"\naligned = false\n";
        let (plan, own, _) = own_of("{ workload = \"random\" }", scan, 1 << 30);
        assert_eq!((plan.conditions[0].aligned, own.aligned), (true, false));
        assert!(own_of("{ workload = \"random\", aligned = true }", scan, 1 << 30).1.aligned);
    }

    #[test]
    fn a_number_of_reads_of_its_own_is_of_the_file_as_that_of_the_comparison_is() {
        let random = "workload = \"random\"\nstate = \"cached\"\nops = 60000\n";
        let (plan, own, _) = own_of("{ ops = 60000 }", random, 1 << 30);
        assert_eq!(own.ops, plan.conditions[0].ops);
        let (plan, own, _) = own_of("{ ops = 120000 }", random, 1 << 30);
        assert!(own.ops.abs_diff(2 * plan.conditions[0].ops) < 2, "{} {}", own.ops, plan.conditions[0].ops);
        // A scan has the range that it reads, and maps no more.
        let scan = "workload = \"scan\"\nstate = \"cached\"\n";
        assert_eq!(own_of("{ ops = 256 }", scan, 1 << 30).1.range.bytes, 1 << 20);
        assert_eq!(own_of("{ ops = 256, range = { bytes = \"8 MiB\" } }", scan, 1 << 30).1.range.bytes, 8 << 20);
    }

    #[test]
    fn lists_are_crossed_and_the_baseline_is_entered_twice() {
        let plan = plan(TEXT, 1 << 20);
        assert_eq!(plan.conditions.len(), 8);
        assert_eq!(plan.cells.len(), 8 * 4);
        let of_first: Vec<(String, bool, bool)> =
            plan.cells[..4].iter().map(|cell| (cell.arm.name.clone(), cell.baseline, cell.control)).collect();
        assert_eq!(
            of_first,
            [
                ("native/pread".to_string(), true, false),
                ("native/pread".to_string(), false, true),
                ("native/mmap".to_string(), false, false),
                ("native/pread (half)".to_string(), false, false),
            ]
        );
    }

    #[test]
    fn the_memory_of_an_arm_is_that_of_its_own_state_and_its_own_range() {
        let text = "title = \"t\"\n[arms]\nfree = { method = \"pread\", own = { state = \"cached\" } }\n\
                    tight = { method = \"pread\", own = { state = \"limited\" } }\n\
                    half = { method = \"pread\", own = { range = { share = 0.5 } } }\n\
                    never = { method = \"pread\", own = { state = \"cold\" } }\n[[compare]]\nworkload = \"scan\"\n\
                    block = \"4 KiB\"\nstate = [\"cached\", \"limited\"]\nmemory = 0.25\n\
                    arms = [\"mmap\", \"free\", \"tight\", \"half\", \"never\"]\n";
        let plan = plan(text, 1 << 20);
        let memory = |state: State, arm: &str| {
            let of_state = |it: &&Cell| plan.conditions[it.condition].state == state;
            let cell = plan.cells.iter().filter(of_state).find(|it| it.arm.name.contains(arm)).unwrap();
            plan.does(cell).memory_bytes
        };
        let of_cached = ["mmap", "free", "tight", "half"].map(|arm| memory(State::Cached, arm));
        assert_eq!(of_cached, [None, None, Some(256 << 10), None]);
        let of_limited = ["mmap", "free", "tight", "half"].map(|arm| memory(State::Limited, arm));
        assert_eq!(of_limited, [Some(256 << 10), None, Some(256 << 10), Some(128 << 10)]);
        let skipped: Vec<&str> =
            plan.cells.iter().filter(|it| it.skipped.is_some()).map(|it| it.arm.name.as_str()).collect();
        assert_eq!(skipped, ["native/pread (never)"; 2], "an arm whose own state cannot be had is left out");
    }

    #[test]
    fn a_fill_is_crossed_with_the_states_that_live_in_the_page_cache_alone() {
        let text =
            TEXT.replace("[\"cached\", \"cold\"]", "[\"cached\", \"cold\"]\nfill = [\"random\", \"written=64KiB\"]");
        let plan = plan(&text, 1 << 20);
        let fills = |state: State| -> Vec<Option<Fill>> {
            let of_state = plan.conditions.iter().filter(|it| it.state == state && it.block_bytes == 4096);
            of_state.filter(|it| it.workload == Workload::Scan).map(Condition::fill).collect()
        };
        assert_eq!(fills(State::Cached), [Some(Fill::Random), Some(Fill::Written(64 << 10))]);
        assert_eq!(fills(State::Cold), [None]);
        let stages: Vec<Stage> = Stage::all(&plan.conditions).into_iter().collect();
        let warm = [Fill::Sequential, Fill::Random, Fill::Written(64 << 10)].map(Stage::Warm);
        assert_eq!(stages, [&warm[..], &[Stage::Cold]].concat());
    }

    #[test]
    fn a_stage_is_called_by_the_states_and_the_fill_of_its_conditions() {
        let named = |stage: Stage, states: &[State]| stage.named(states);
        let warm = Stage::Warm(Fill::Sequential);
        assert_eq!(named(warm, &[State::Mapped, State::Mapped]), "state mapped");
        assert_eq!(named(warm, &[State::Mapped, State::Cached]), "states cached and mapped");
        let all = [State::Cached, State::Mapped, State::Locked];
        assert_eq!(named(Stage::Warm(Fill::Random), &all), "states cached, mapped and locked, fill random");
        assert_eq!(named(Stage::Writing, &[State::Cold]), "state cold, writing");
        assert_eq!(named(Stage::AsIs, &[State::AsIs]), "state as-is");
    }

    #[test]
    fn writes_around_the_page_cache_begin_with_nothing_there() {
        let text = "title = \"t\"\n[[compare]]\nworkload = [\"scan\", \"overwrite\"]\nblock = \"4 KiB\"\n\
                    state = [\"cold\", \"cached\"]\narms = [\"mmap\", \"direct\"]";
        let plan = plan(text, 1 << 20);
        let dropped = plan.cells.iter().filter(|it| matches!(&it.skipped, Some(Skip::Unavailable(_))));
        let of = |it: &Cell| (it.arm.method.clone(), plan.conditions[it.condition].workload);
        let of: Vec<(String, Workload)> = dropped.map(of).collect();
        assert_eq!(of, [("direct".into(), Workload::Overwrite)]);
    }

    #[test]
    fn when_a_block_counts_as_written_is_crossed_with_what_writes_alone() {
        let text = "title = \"t\"\n[[compare]]\nworkload = [\"scan\", \"overwrite\"]\nblock = \"4 KiB\"\nstate = \"cold\"\n\
                    durability = [\"sync-end\", \"sync-each\"]\narms = [\"mmap\"]";
        let of = |workload: Workload| -> Vec<Durability> {
            let conditions = plan(text, 1 << 20).conditions.into_iter().filter(|it| it.workload == workload);
            conditions.map(|it| it.durability).collect()
        };
        assert_eq!(of(Workload::Scan), [Durability::None]);
        assert_eq!(of(Workload::Overwrite), [Durability::SyncEnd, Durability::SyncEach]);
    }

    #[test]
    fn a_list_is_crossed_with_the_conditions_that_it_makes_a_difference_to() {
        let text = "title = \"t\"\n[[compare]]\nworkload = [\"scan\", \"random\", \"overwrite\", \"overwrite-random\"]\n\
                    block = \"4 KiB\"\nstate = \"as-is\"\nconsume = [\"touch\", \"copy\"]\naligned = [false, true]\n\
                    arms = [\"mmap\"]";
        let all = plan(text, 1 << 20).conditions;
        let of = |workload: Workload| -> Vec<(Consume, bool)> {
            all.iter().filter(|it| it.workload == workload).map(|it| (it.consume, it.aligned)).collect()
        };
        let [touch, copy, sum] = [Consume::Touch, Consume::Copy, Consume::Sum];
        assert_eq!(of(Workload::Scan), [(touch, true), (copy, true)], "a scan is always aligned");
        assert_eq!(of(Workload::Random), [(touch, false), (touch, true), (copy, false), (copy, true)]);
        assert_eq!(of(Workload::Overwrite), [(sum, true)], "nothing consumes what is written");
        assert_eq!(of(Workload::OverwriteRandom), [(sum, false), (sum, true)]);
        let text =
            TEXT.replacen("arms = [", "threads = [1, 4]\ndescriptor = [\"shared\", \"per-thread\"]\narms = [", 1);
        let conditions = plan(&text, 1 << 20).conditions.into_iter();
        let alike = conditions.filter(|it| it.workload == Workload::Scan && it.state == State::Cached);
        let of_small = alike.filter(|it| it.block_bytes == 4096).map(|it| (it.threads, it.descriptor));
        let expected = [(1, Descriptor::PerThread), (4, Descriptor::Shared), (4, Descriptor::PerThread)];
        assert_eq!(of_small.collect::<Vec<_>>(), expected, "one thread shares its file with no other");
    }

    #[test]
    fn a_window_stays_at_the_files_start_where_an_arm_that_is_measured_can_only_begin_there() {
        let moves = |state: &str, workload: &str, arms: &str, change: fn(&mut Cell)| -> bool {
            let half = "[arms]\nhalf = { method = \"pread\", own = { range = { share = 0.5 } } }\n";
            let half = if arms.contains("half") { half } else { "" };
            let text = format!(
                "title = \"t\"\n{half}[[compare]]\n\
                 workload = {workload:?}\nconsume = \"lines\"\nblock = \"64 KiB\"\nstate = {state:?}\narms = {arms}"
            );
            let mut plan = plan(&text, 1 << 30);
            plan.cells.iter_mut().for_each(change);
            may_move(&plan.conditions[0], plan.cells.iter())
        };
        let reader = r#"["jvm/stream", "jvm/reader-lines", "mmap"]"#;
        assert!(!moves("cached", "scan", reader, |_| ()));
        let leave_out: fn(&mut Cell) = |it| {
            if it.arm.method == "reader-lines" {
                it.leave_out(Skip::Untried);
            }
        };
        assert!(moves("cached", "scan", reader, leave_out), "no pass of it is made");
        let plain = r#"["read", "mmap"]"#;
        assert!(moves("cached", "scan", plain, |_| ()) && moves("mapped", "scan", plain, |_| ()));
        assert!(!moves("cold", "scan", plain, |_| ()) && !moves("cached", "random", plain, |_| ()));
        assert!(!moves("cached", "scan", r#"["read", "half"]"#, |_| ()), "an arm with a range of its own");
    }

    #[test]
    fn a_window_that_is_written_moves_where_the_file_has_its_blocks_and_they_are_written_in_order() {
        let moves = |state: &str, workload: &str, layout: &str| -> bool {
            let text = format!(
                "title = \"t\"\n[[compare]]\nworkload = {workload:?}\nblock = \"64 KiB\"\nstate = {state:?}\n\
                 layout = {layout:?}\narms = [\"pwrite\", \"mmap\"]"
            );
            let plan = plan(&text, 1 << 30);
            may_move(&plan.conditions[0], plan.cells.iter())
        };
        assert!(moves("cached", "overwrite", "written") && moves("cached", "update", "written"));
        assert!(!moves("as-is", "overwrite", "sparse") && !moves("as-is", "overwrite", "preallocated"));
        assert!(!moves("cached", "overwrite-random", "written") && !moves("as-is", "append", "written"));
    }

    #[test]
    fn what_is_impossible_is_skipped_with_its_reason_and_stays_in_the_plan() {
        let plan = plan(TEXT, 1 << 20);
        let skipped =
            plan.cells.iter().filter(|cell| cell.skipped == Some(Skip::Impossible("never cold here".into()))).count();
        assert_eq!(skipped, 16);
    }

    #[test]
    fn a_range_without_bytes_is_skipped_for_that_reason_whatever_the_state() {
        for (range, file_bytes) in [("{ offset = \"1 TiB\" }", 10_000), ("{ share = 0.00001 }", 10_000)] {
            let text = TEXT.replace("[\"cached\", \"cold\"]", &format!("\"cached\"\nrange = {range}"));
            let plan = plan(&text, file_bytes);
            let skipped = |it: &Cell| matches!(it.skipped, Some(Skip::EmptyRange { .. }));
            let (half, others): (Vec<&Cell>, Vec<&Cell>) =
                plan.cells.iter().partition(|it| it.arm.name.contains("half"));
            assert!(others.into_iter().all(skipped), "{range}");
            assert!(!half.into_iter().any(skipped), "an arm with a range of its own has that one");
        }
    }

    #[test]
    fn a_block_that_the_range_has_no_room_for_is_skipped_and_one_that_just_fits_is_not() {
        let skips = |workload: &str, block: &str, file_bytes: u64| -> Vec<Option<Skip>> {
            let text = format!(
                "title = \"t\"\n[[compare]]\nworkload = {workload:?}\nblock = {block:?}\nstate = \"cached\"\narms = [\"read\"]"
            );
            plan(&text, file_bytes).cells.into_iter().map(|it| it.skipped).collect()
        };
        let no_room = |it: &Option<Skip>| matches!(it, Some(Skip::NoRoom { .. }));
        assert!(skips("scan", "4 KiB", 3).iter().all(no_room));
        assert!(skips("scan", "4 KiB", 4095).iter().all(no_room));
        assert!(skips("random", "64 MiB", 4 << 20).iter().all(no_room));
        assert!(skips("random", "4 KiB", 5000).iter().all(no_room), "there is one place only");
        for (workload, block, file_bytes) in [("scan", "3 B", 3), ("scan", "4 KiB", 4096), ("random", "4 KiB", 8192)] {
            assert!(skips(workload, block, file_bytes).iter().all(Option::is_none), "{workload} {block}");
        }
    }

    #[test]
    fn a_baseline_is_left_out_where_every_other_arm_is_and_measured_where_it_was_entered_alone() {
        let gone = || Skip::Unavailable("io_uring is not allowed here".into());
        let mut both = plan(TEXT, 1 << 20).cells;
        both.retain(|it| it.condition == 0 && !it.arm.name.contains("half"));
        leave_lone_baselines(&mut both);
        assert!(both.iter().all(|it| it.skipped.is_none()));
        both.iter_mut().filter(|it| it.arm.name.contains("mmap")).for_each(|it| it.leave_out(gone()));
        let mut alone: Vec<Cell> = both.iter().filter(|it| it.baseline || it.control).cloned().collect();
        leave_lone_baselines(&mut both);
        let (of_mapping, of_baseline): (Vec<&Cell>, Vec<&Cell>) =
            both.iter().partition(|it| it.arm.name.contains("mmap"));
        assert!(of_mapping.iter().all(|it| it.skipped == Some(gone())));
        assert_eq!(of_baseline.len(), 2, "the control too");
        assert!(of_baseline.iter().all(|it| it.skipped == Some(Skip::NothingToCompare)));
        leave_lone_baselines(&mut alone);
        assert!(alone.iter().all(|it| it.skipped.is_none()));
    }

    #[test]
    fn conditions_that_come_to_the_same_pass_are_entered_once() {
        let text = TEXT
            .replace("[\"4 KiB\", \"64 KiB\"]", "[\"4 KiB\", \"4096 B\", \"4 KiB\"]")
            .replace("[\"cached\", \"cold\"]", "\"cached\"");
        let plan = plan(&text, 1 << 20);
        let workloads: Vec<Workload> = plan.conditions.iter().map(|it| it.workload).collect();
        assert_eq!(workloads, [Workload::Scan, Workload::Random]);
    }

    /// Pieces of files, some of them hostile.
    const PIECES: &[&str] = &[
        "0",
        "-1",
        "1",
        "4096",
        "1e308",
        "nan",
        "-inf",
        "9223372036854775807",
        "99999999999999999999",
        "\"\"",
        "\"4 KiB\"",
        "\"16 EiB\"",
        "\"-4 KiB\"",
        "\"99999999999 TiB\"",
        "true",
        "[]",
        "{}",
        "[[]]",
        "[1, \"x\"]",
        "{ share = 1e-300 }",
        "{ offset = \"8 EiB\", blocks = 9223372036854775807 }",
        "{ read_bps = 0 }",
        "\"limited\"",
        "\"overwrite\"",
        "\"jvm/mapped\"",
        "1979-05-27",
        "[[compare]]",
        "[arms]",
        "[study]",
        "[[claim]]",
        "\n",
        " = ",
        ".",
        "\u{0}",
        "é",
        "ops",
        "range",
        "storage",
        "threads",
        "memory",
        "full_block",
        "own",
        "expect",
    ];

    #[test]
    fn any_text_gives_a_plan_or_one_sentence() {
        let texts: Vec<&str> = schema::builtin::all().map(|(_, text)| text).chain([TEXT]).collect();
        let (mut plans, mut sentences) = (0, 0);
        let effort = planted::Effort::of(3000);
        for seed in effort.seeds() {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut tokens: Vec<String> = texts[random.usize(..texts.len())]
                .split_inclusive(|it: char| " ,=[]{}\n".contains(it))
                .map(str::to_string)
                .collect();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..tokens.len());
                match random.u8(..4) {
                    0 => drop(tokens.remove(at)),
                    1 => tokens.insert(at, tokens[random.usize(..tokens.len())].clone()),
                    _ => {
                        let end: String =
                            tokens[at].chars().last().filter(|it| " ,=[]{}\n".contains(*it)).iter().collect();
                        tokens[at] = format!("{}{end}", PIECES[random.usize(..PIECES.len())]);
                    }
                }
                if tokens.is_empty() {
                    break;
                }
            }
            match Experiment::parse("any", &tokens.concat()) {
                Ok(experiment) => {
                    plans += 1;
                    for file_bytes in [1, 4096, 10_000, 1 << 40, i64::MAX as u64] {
                        let plan = Plan::new(&experiment, file_bytes, RANGE_BYTES_MAX, |_| Ok(()));
                        assert!(plan.cells.len() <= schema::experiment::CELLS_MAX);
                        for mut condition in plan.conditions {
                            assert!(condition.range.end() <= file_bytes);
                            let ops = sizing::trial_ops(&condition);
                            cover(&mut condition, ops);
                        }
                    }
                }
                Err(problem) => {
                    sentences += 1;
                    let text = problem.at("any.toml");
                    let of_the_parser = ["untagged", "struct ", "enum ", "invalid type", "invalid value", "`"];
                    assert!(!of_the_parser.iter().any(|it| problem.message.contains(it)), "{text}");
                    assert!(!problem.message.is_empty() && text.len() < 3000, "{text}");
                }
            }
        }
        println!("experiments: {} inputs, {plans} plans, {sentences} refused", plans + sentences);
        let enough = effort.count().min(3000) / 30;
        assert!(plans >= enough && sentences >= enough, "{plans} plans, {sentences} sentences");
    }

    #[test]
    fn lists_that_multiply_beyond_measure_are_refused_before_they_are_crossed() {
        let many = |of: &str| vec![of; 10_000].join(", ");
        let text = TEXT
            .replace("[\"4 KiB\", \"64 KiB\"]", &format!("[{}]", many("4096")))
            .replace("[\"cached\", \"cold\"]", &format!("[{}]\nthreads = [{}]", many("\"cached\""), many("1")));
        let problem = Experiment::parse("many", &text).unwrap_err();
        assert!(problem.line.is_some() && problem.message.contains("cells"), "{problem:?}");
    }

    #[test]
    fn a_question_of_a_size_that_was_written_down_is_not_asked_again_at_another() {
        let text = TEXT.replace("[\"cached\", \"cold\"]", "\"cold\"");
        let is_open = |more: &str| {
            let plan = plan(&text.replacen("arms = [", &format!("{more}\narms = ["), 1), 1 << 20);
            assert_eq!(plan.given.len(), plan.conditions.len());
            plan.given.iter().all(|it| *it == Given::Nothing)
        };
        assert!(is_open(""));
        assert!(!is_open("ops = 7") && !is_open("range = { bytes = 65536 }") && !is_open("range = { share = 0.5 }"));
    }

    #[test]
    fn several_sizes_of_a_job_are_conditions_of_their_own() {
        let text = TEXT.replace("[\"cached\", \"cold\"]", "\"cold\"");
        let text = text.replacen("arms = [", "ops = [10, 1000, 10]\narms = [", 1);
        let ops = |workload: &str, file_bytes: u64| {
            let conditions =
                plan(&text.replace("[\"scan\", \"random\"]", &format!("{workload:?}")), file_bytes).conditions;
            conditions.iter().map(|it| (it.block_bytes, it.ops, it.range.bytes)).collect::<Vec<_>>()
        };
        let (small, large) = (4 << 10, 64 << 10);
        let scans = [(small, 10), (small, 256), (large, 10), (large, 16)].map(|(block, ops)| (block, ops, ops * block));
        assert_eq!(ops("scan", 1 << 20), scans, "a scan ends where the file does");
        let file = 10 * RANGE_BYTES_MAX;
        let random = [(small, 10), (small, 1000), (large, 10), (large, 1000)].map(|(block, ops)| (block, ops, file));
        assert_eq!(ops("random", file), random, "how much of the file is in memory already decides what a read costs");
    }

    #[test]
    fn random_reads_of_a_part_of_the_file_lie_as_densely_as_those_of_the_whole_would() {
        let text = "title = \"x\"\n[[compare]]\narms = [\"read\"]\nworkload = \"random\"\nblock = \"64 B\"\nops = [800, 30_000]\n";
        let of = |state: &str, file_bytes: u64, range: &str| {
            let text = format!("{text}state = \"{state}\"\n{range}\n");
            let conditions = plan(&text, file_bytes).conditions;
            conditions.iter().map(|it| (it.ops, it.range.bytes)).collect::<Vec<_>>()
        };
        let max = RANGE_BYTES_MAX;
        assert_eq!(of("cached", max, ""), [(800, max), (30_000, max)]);
        assert_eq!(of("cached", 4 * max, ""), [(800, max), (7500, max)]);
        assert_eq!(of("cached", 400 * max, ""), [(800, max), (1000, max)], "still enough for a pass");
        // Without faults their number is all that matters; and a range that was asked for is the whole of what is asked about.
        assert_eq!(of("mapped", 4 * max, ""), [(800, max), (30_000, max)]);
        assert_eq!(of("cached", 4 * max, "range = { bytes = \"1 GiB\" }"), [(800, 1 << 30), (30_000, 1 << 30)]);
    }

    #[test]
    fn an_unfair_arm_keeps_what_it_does_differently() {
        let plan = plan(TEXT, 1 << 20);
        let own = plan.cells[3].own_condition.as_ref().unwrap();
        assert_eq!((own.range.bytes, own.ops), (1 << 19, 7));
    }

    #[test]
    fn a_window_never_exceeds_the_file_or_the_limit() {
        assert_eq!(plan(TEXT, 10_000).conditions[0].range, Span { offset: 0, bytes: 10_000 });
        assert_eq!(plan(TEXT, 100 << 30).conditions[0].range.bytes, RANGE_BYTES_MAX);
    }

    #[test]
    fn a_window_is_no_more_than_memory_holds_and_the_device_brings_in_in_a_small_part_of_the_budget() {
        let experiment = Experiment::parse("test", TEXT).unwrap();
        let mut environment = planted::empty_record().environment;
        (environment.memory_available_bytes, environment.memory_limit_bytes) = (64 << 30, Reading::unavailable("none"));
        let limit = |environment: &Environment, device: Option<f64>| {
            range_limit(&experiment, environment, device, Duration::from_secs(60))
        };
        let mib = f64::from(1 << 20);
        assert_eq!(limit(&environment, None), RANGE_BYTES_MAX);
        assert_eq!(limit(&environment, Some(100.0 * mib)), 600 << 20);
        assert_eq!(limit(&environment, Some(1.0)), RANGE_BYTES_MIN);
        assert_eq!(limit(&environment, Some(16.0 * mib)), 96 << 20, "it ends with a large folio");
        assert_eq!(limit(&environment, Some(16.3 * mib)), 96 << 20);
        // A dry run has the same limit.
        environment.memory_available_bytes = 2 << 30;
        assert_eq!(limit(&environment, None), 512 << 20);
    }

    #[test]
    fn the_window_of_a_scan_is_what_it_reads() {
        let mut condition = plan(TEXT, 1 << 20).conditions[0].clone();
        cover(&mut condition, 3);
        assert_eq!((condition.ops, condition.range), (3, Span { offset: 0, bytes: 3 * 4096 }));
        let mut condition = plan(TEXT, 10_000).conditions[0].clone();
        cover(&mut condition, 1_000_000);
        assert_eq!((condition.ops, condition.range.bytes), (3, 10_000));
    }

    #[test]
    fn a_part_that_is_written_in_order_ends_with_a_large_folio() {
        let ops = |workload, block_bytes, ops| {
            whole_folios(&Condition { workload, block_bytes, ..Condition::plain(64 << 20) }, ops)
        };
        assert_eq!(ops(Workload::Overwrite, 4096, 10_000), 20 * 512);
        assert_eq!(ops(Workload::Update, 8 << 20, 3), 3);
        assert_eq!(ops(Workload::Overwrite, 4096, 16_384), 16_384, "the whole range");
        let of = |range, durability| {
            let condition = Condition { durability, range, ..Condition::plain(64 << 20) };
            whole_folios(&Condition { workload: Workload::Overwrite, block_bytes: 4096, ..condition }, 10_000)
        };
        let all = Span { offset: 0, bytes: 64 << 20 };
        assert_eq!(of(all, Durability::SyncEach), 10_000);
        assert_eq!(of(Span { offset: 1 << 20, ..all }, Durability::None), 21 * 512 - 256);
        assert_eq!(of(Span { bytes: 10_001 * 4096, ..all }, Durability::None), 10_001, "there is no more");
        assert_eq!(ops(Workload::Overwrite, 3000, 10_000), 10_000, "no number of these blocks ends with one");
        assert_eq!(ops(Workload::OverwriteRandom, 4096, 10_000), 10_000);
        assert_eq!(ops(Workload::Scan, 4096, 10_000), 10_000);
    }

    #[test]
    fn a_scan_and_an_append_have_each_block_of_their_window_once_and_other_passes_as_many_as_were_asked_for() {
        for &workload in Workload::ALL.iter().filter(|it| it.kind() != schema::condition::WorkloadKind::Command) {
            let mut condition = Condition { workload, block_bytes: 4096, ..Condition::plain(10_000) };
            cover(&mut condition, 7);
            let once = matches!(workload, Workload::Scan | Workload::Append);
            assert_eq!((condition.ops, condition.range.bytes), (if once { 3 } else { 7 }, 10_000), "{workload}");
        }
        let text = "title = \"t\"\n[arms]\nmore = { method = \"pwrite\", own = { ops = 7 } }\n\
                    [[compare]]\nworkload = [\"append\", \"overwrite\"]\nblock = \"4 KiB\"\nstate = \"as-is\"\nops = 5\n\
                    arms = [\"pwrite\", \"more\"]";
        let plan = plan(text, 10_000);
        let ops = |condition: usize| -> Vec<u64> {
            let cells = plan.cells.iter().filter(|it| it.condition == condition && !it.control);
            cells.map(|it| it.own_condition.as_ref().unwrap_or(&plan.conditions[condition]).ops).collect()
        };
        assert_eq!([ops(0), ops(1)], [[3, 3], [5, 7]], "also of an arm that has a number of its own");
    }

    #[test]
    fn appending_is_measured_once_whatever_layouts_there_are() {
        let text = "title = \"t\"\n[[compare]]\nworkload = [\"append\", \"overwrite\"]\nblock = 1000\nstate = \"as-is\"\n\
                    layout = [\"written\", \"sparse\", \"preallocated\"]\narms = [\"pwrite\", \"write\"]";
        let plan = plan(text, 10_000);
        let layouts =
            |of: Workload| plan.conditions.iter().filter(|it| it.workload == of).filter_map(|it| it.layout).collect();
        let [append, overwrite]: [Vec<Layout>; 2] = [Workload::Append, Workload::Overwrite].map(layouts);
        assert_eq!(append, []);
        assert_eq!(overwrite, [Layout::Written, Layout::Sparse, Layout::Preallocated]);
    }

    #[test]
    fn a_scan_of_an_arms_own_number_of_blocks_ends_where_its_range_does() {
        let text = "title = \"t\"\n[arms]\nmore = { method = \"pread\", own = { ops = 5000 } }\n[[compare]]\n\
                    workload = [\"scan\", \"random\"]\nblock = 1000\nstate = \"cached\"\narms = [\"pread\", \"more\"]";
        let plan = plan(text, 10_000);
        let own: Vec<u64> = plan.cells.iter().filter_map(|it| it.own_condition.as_ref()).map(|it| it.ops).collect();
        assert_eq!(own, [10, 5000]);
    }

    #[test]
    fn a_window_comes_to_every_part_of_the_file_within_a_few_rounds() {
        let window = Span { offset: 4 << 20, bytes: 64 << 20 };
        for end in [64 << 20, 65 << 20, 100 << 20, 1 << 30, 4 << 30] {
            assert_eq!(in_round(window, end, 0).offset, if end < 68 << 20 { 0 } else { 4 << 20 });
            let places: Vec<Span> = (0..14).map(|round| in_round(window, end, round)).collect();
            assert!(places.iter().all(|it| it.bytes == window.bytes && it.end() <= end && it.offset % STEP == 0));
            let mut offsets: Vec<u64> = places.iter().map(|it| it.offset).collect();
            offsets.sort_unstable();
            let gaps =
                offsets.windows(2).map(|pair| pair[1] - pair[0]).chain([offsets[0], end - window.bytes - offsets[13]]);
            assert!(gaps.max().unwrap() <= end / 5 + STEP, "{end}: {offsets:?}");
        }
    }

    #[test]
    fn rounds_come_to_every_place_before_they_come_to_one_again() {
        for places in 1..=100 {
            let window = Span { offset: 0, bytes: STEP };
            let end = STEP * places;
            let offsets = (0..places as u32).map(|round| in_round(window, end, round));
            assert!(offsets.clone().all(|it| it.end() <= end), "{places}");
            assert_eq!(offsets.map(|it| it.offset).collect::<BTreeSet<_>>().len() as u64, places);
        }
    }

    #[test]
    fn windows_lie_beside_each_other_as_far_as_there_is_room() {
        let mut windows = [3 << 20, 8 << 20, 4 << 20, 1 << 20].map(|bytes| Span { offset: 0, bytes });
        spread(&mut windows, 8 << 20);
        assert_eq!(windows.map(|it| it.offset >> 20), [0, 0, 4, 0], "the second is all that may be touched");
        assert!(windows.iter().all(|it| it.end() <= 8 << 20));
    }
}
