//! Records made up by tests: cells with passes of known times, tallies and readings.

use std::collections::BTreeMap;

use schema::{
    Beside, Bytes, Condition, Consume, Descriptor, Durability, Experiment, Fill, Reading, Record, Span, State,
    Workload,
    beats::Beats,
    condition::Storage,
    experiment::Compare,
    protocol::{Phases, Tally},
    record::{Cell, Outcome, Resident, Sample},
};

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;

pub(crate) use planted::empty_record;

/// A record under construction.
pub(crate) struct Lab {
    pub(crate) record: Record,
}

/// What one pass is going to have measured.
pub(crate) struct Pass {
    pub(crate) ns_per_op: f64,
    pub(crate) opened: bool,
    pub(crate) tally: Tally,
    pub(crate) readings: BTreeMap<String, Reading<f64>>,
    pub(crate) beats: Option<Box<Beats>>,
}

impl Pass {
    pub(crate) fn reads(&mut self, name: &str, value: f64) -> &mut Pass {
        self.readings.insert(name.to_string(), Reading::Value(value));
        self
    }
}

pub(crate) fn scan(block: &str, state: State) -> Condition {
    condition(Workload::Scan, block, state)
}

pub(crate) fn random(block: &str, state: State) -> Condition {
    condition(Workload::Random, block, state)
}

/// All of a 64 MiB file, once.
fn condition(workload: Workload, block: &str, state: State) -> Condition {
    let block_bytes = block.parse::<Bytes>().unwrap().0;
    Condition {
        workload,
        consume: Consume::Sum,
        block_bytes,
        state,
        file_bytes: 64 * MIB,
        threads: 1,
        descriptor: Descriptor::PerThread,
        durability: Durability::None,
        storage: None,
        layout: None,
        range: Span { offset: 0, bytes: 64 * MIB },
        aligned: true,
        ops: 64 * MIB / block_bytes,
        consumed_percent: 100,
        memory_bytes: None,
        fill: None,
        trace: None,
        beside: Beside::Nothing,
        own_work_ns: 0,
    }
}

fn conditions(compare: &Compare) -> Vec<Condition> {
    let mut conditions = Vec::new();
    for workload in &compare.workload {
        for consume in &compare.consume {
            for aligned in &compare.aligned {
                for throttle in &compare.storage {
                    for state in &compare.state {
                        for block in &compare.block {
                            let mut it = condition(*workload, &block.exact(), *state);
                            (it.consume, it.aligned, it.beside) = (*consume, *aligned, compare.beside[0]);
                            it.storage = throttle
                                .read_bps
                                .map(|rate| Storage { read_bytes_per_s: Some(rate.0), read_ops_per_s: None });
                            it.range = compare.range.map_or(it.range, |range| range.of(64 * MIB, it.block_bytes));
                            it.ops = it.range.bytes / block.0;
                            let fills: Vec<Option<Fill>> =
                                match compare.fill == [Fill::Sequential] || !state.is_filled() {
                                    true => vec![None],
                                    false => compare.fill.iter().copied().map(Some).collect(),
                                };
                            for fill in fills {
                                it.fill = fill;
                                match compare.ops.as_slice() {
                                    [] => conditions.push(it.clone()),
                                    jobs => conditions.extend(jobs.iter().map(|&ops| Condition { ops, ..it.clone() })),
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    conditions
}

/// Small noise around `center`, the same in every run of the tests: ±1 % (the finaliser of SplitMix64 as a hash).
pub(crate) fn near(center: f64, round: u32, salt: u32) -> f64 {
    let mut word = (u64::from(salt) << 32 | u64::from(round)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    center * (0.99 + 0.02 * ((word >> 11) as f64 / (1u64 << 53) as f64))
}

impl Lab {
    pub(crate) fn new() -> Lab {
        Lab { record: empty_record() }
    }

    pub(crate) fn condition(&mut self, condition: Condition) -> usize {
        self.record.conditions.push(condition);
        self.record.conditions.len() - 1
    }

    /// All cells of an experiment file that runs on a file of 64 MiB, with every condition that its lists make of
    /// workload, consume, alignment, state, storage, block, fill and ops; nothing is measured yet.
    pub(crate) fn of_experiment(text: &str) -> Lab {
        let mut lab = Lab::new();
        lab.record.experiment = Experiment::parse("made-up", text).unwrap_or_else(|it| panic!("{}", it.at("made-up")));
        let comparisons = lab.record.experiment.comparisons.clone();
        for (origin, compare) in comparisons.iter().enumerate() {
            for condition in conditions(compare) {
                let index = lab.condition(condition.clone());
                lab.record.origins.push(origin);
                for competitor in &compare.arms {
                    let cell = lab.cell(index, competitor.arm.name.split(' ').next().unwrap());
                    lab.record.cells[cell].arm = competitor.arm.clone();
                    if !competitor.own.is_empty() {
                        let own = &competitor.own;
                        lab.own(cell, |it| {
                            it.consume = own.consume.unwrap_or(it.consume);
                            it.state = own.state.unwrap_or(it.state);
                            it.consumed_percent = own.consumed_percent.unwrap_or(100);
                        });
                    }
                }
            }
        }
        lab
    }

    /// The first cell of a condition is its baseline.
    pub(crate) fn cell(&mut self, condition: usize, arm: &str) -> usize {
        let baseline = self.record.cells.iter().all(|cell| cell.condition != condition);
        self.record.cells.push(Cell {
            arm: arm.parse().unwrap(),
            condition,
            own_condition: None,
            baseline,
            control: false,
            skipped: None,
        });
        self.record.cells.len() - 1
    }

    pub(crate) fn control(&mut self, condition: usize, arm: &str) -> usize {
        let cell = self.cell(condition, arm);
        self.record.cells[cell].control = true;
        cell
    }

    /// A cell whose arm does something else than its condition says.
    pub(crate) fn own(&mut self, cell: usize, change: impl FnOnce(&mut Condition)) {
        let mut own = self.record.conditions[self.record.cells[cell].condition].clone();
        change(&mut own);
        self.record.cells[cell].own_condition = Some(own);
    }

    /// Passes of equal work and a time near `ns_per_op`, each to be changed by `adjust`.
    pub(crate) fn measure(&mut self, cell: usize, rounds: u32, ns_per_op: f64, adjust: impl Fn(u32, &mut Pass)) {
        let entry = &self.record.cells[cell];
        let own = entry.own_condition.clone().unwrap_or_else(|| self.record.conditions[entry.condition].clone());
        for round in 0..rounds {
            let mut pass = Pass {
                ns_per_op: near(ns_per_op, round, cell as u32),
                opened: !own.state.is_held(),
                tally: Tally {
                    ops: own.ops,
                    bytes: own.ops * own.block_bytes * u64::from(own.consumed_percent) / 100,
                    distinct_bytes: own.range.bytes.min(own.ops * own.block_bytes),
                    distinct_block_bytes: None,
                    distinct_pages: Some(own.range.bytes.min(own.ops * own.block_bytes).div_ceil(4096)),
                    checksum: "00000000c0ffee00".to_string(),
                    threads: own.threads,
                    queue_depth: 1,
                },
                readings: BTreeMap::new(),
                beats: None,
            };
            adjust(round, &mut pass);
            let work_ns = (pass.ns_per_op * pass.tally.ops as f64).round() as u64;
            let around = pass.opened.then_some(0);
            let phases = Phases { open_ns: around, work_ns, close_ns: around };
            self.push(cell, round, Outcome::Ok { phases, tally: pass.tally }, pass.readings);
            self.record.samples.last_mut().expect("one was pushed").beats = pass.beats;
        }
    }

    pub(crate) fn invalid(&mut self, cell: usize, round: u32, reason: &str) {
        self.push(cell, round, Outcome::Invalid { reason: reason.to_string().into() }, BTreeMap::new());
    }

    pub(crate) fn failed(&mut self, cell: usize, round: u32, reason: &str) {
        self.push(cell, round, Outcome::Failed { reason: reason.to_string() }, BTreeMap::new());
    }

    fn push(&mut self, cell: usize, round: u32, outcome: Outcome, readings: BTreeMap<String, Reading<f64>>) {
        let resident = || Reading::Value(Resident { pages: 0, of: 16_384 });
        self.record.samples.push(Sample {
            cell,
            round,
            order: self.record.samples.len() as u32,
            host: "lab".to_string(),
            outcome,
            resident_before: resident(),
            window_offset: None,
            resident_after: resident(),
            readings,
            beats: None,
        });
    }

    /// Two arms under one condition, ten rounds each, with equal work and these times.
    pub(crate) fn duel(condition: Condition, baseline: (&str, f64), arm: (&str, f64)) -> Lab {
        Lab::duel_with(condition, baseline, |_, _| {}, arm, |_, _| {})
    }

    pub(crate) fn duel_with(
        condition: Condition,
        baseline: (&str, f64),
        adjust_baseline: impl Fn(u32, &mut Pass),
        arm: (&str, f64),
        adjust_arm: impl Fn(u32, &mut Pass),
    ) -> Lab {
        let mut lab = Lab::new();
        let condition = lab.condition(condition);
        let cells = [lab.cell(condition, baseline.0), lab.cell(condition, arm.0)];
        lab.measure(cells[0], 10, baseline.1, adjust_baseline);
        lab.measure(cells[1], 10, arm.1, adjust_arm);
        lab
    }

    /// A condition whose throttle each arm got such a share of, in ten rounds; all of its blocks come from the device.
    pub(crate) fn throttled(condition: Condition, storage: Storage, arms: [(&str, f64); 2]) -> Lab {
        let (block, bytes) = (condition.block_bytes as f64, (condition.ops * condition.block_bytes) as f64);
        let allowed_blocks = match storage {
            Storage { read_ops_per_s: Some(reads), .. } => reads as f64,
            Storage { read_bytes_per_s, .. } => read_bytes_per_s.unwrap() as f64 / block,
        };
        let [baseline, arm] = arms.map(|(arm, share)| (arm, 1e9 / allowed_blocks / share));
        let reads = |_: u32, pass: &mut Pass| {
            pass.reads("device_read_bytes", bytes);
        };
        Lab::duel_with(Condition { storage: Some(storage), ..condition }, baseline, reads, arm, reads)
    }

    pub(crate) fn analyze(&self) -> schema::Findings {
        analysis::analyze(&self.record)
    }
}
