//! Records whose truth is known: every time, count and missing cell in them was planted, so tests can ask whether findings,
//! reports, gates and histories say what is there.
//!
//! `Planting` decides what is planted, by its seed: the same plan makes the same record. `Planted` has the record and, for each
//! of its cells, what was planted (`Truth`). Times are exact without noise; with noise each pass is off by at most that
//! share, evenly on both sides.
//!
//! In each record: two comparisons whose conditions are equal, a file and blocks that are no multiples of a page, several
//! consumes, one and three threads, ranges that do not begin at 0, cold cells with bytes from the device, writing on three
//! layouts, several fills with a winner each, a memory limit, JVM arms with processes that fall into two groups, an A/A
//! control under each condition, passes that were lost, cells that are skipped, invalid or failed, and claims with known
//! verdicts; with `jobs` also answers that were measured again at the size of the job.
//!
//! To add a kind of truth: a block in `BLOCKS`, or a field of `Truth` that `Planting::plant` fills; then a line in the tests of
//! the crates that should say it (`tests/` here reads all of them).

mod blocks;
mod effort;
mod empty;
mod mutated;
mod random;
mod several;

use std::collections::BTreeMap;

use schema::{
    Arm, Condition, Experiment, Fill, Reading, Record, Span, State, Workload,
    findings::{AnswerOf, ClaimVerdict, Verdict},
    protocol::{Phases, Tally},
    record::{Cell, Confirmation, FilledRange, Outcome, Resident, Sample},
};

pub use effort::Effort;
pub use empty::empty_record;
pub use mutated::{extremes, mutated, mutated_bytes, mutated_text};
pub use random::Random;
pub use several::several;

use crate::blocks::{BLOCKS, Block, REPEATED};

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planting {
    pub seed: u64,
    /// The largest share by which a pass is off.
    pub noise: f64,
    pub rounds: u32,
    /// Two comparisons have equal conditions.
    pub repeats: bool,
    /// Second arms were measured again at the size of the job.
    pub jobs: bool,
}

/// A record and its truth.
#[derive(Debug, Clone)]
pub struct Planted {
    pub record: Record,
    /// One entry for each cell of the record, in its order.
    pub truth: Vec<Truth>,
    /// The verdict of each claim, by its id; they are about noise-free times.
    pub claims: BTreeMap<String, ClaimVerdict>,
}

/// What a cell is.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    pub kind: CellKind,
    /// Nanoseconds for each block; of a cell in two groups, those of the fast one.
    pub ns_per_op: f64,
    pub minor_faults: f64,
    pub device_read_bytes: f64,
    pub peak_memory_bytes: f64,
    /// Passes that are invalid although the cell has others.
    pub lost: u32,
    /// What passes at the size of the job say of it beside its baseline, where it was measured again.
    pub job: Option<JobAnswer>,
}

/// Passes at the size of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobAnswer {
    /// Five pairs say what the rounds say.
    Holds,
    /// Five pairs say something else.
    Turns,
    /// Three pairs say something else: too few to decide anything.
    Doubts,
    /// Three pairs say more than the rounds, or less, on the same side: too few to decide anything, and no support.
    Strays,
    /// Three pairs say what the rounds say.
    Silent,
}

/// What is to be said of an arm beside its baseline, without noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    pub verdict: Verdict,
    /// How many times faster it is.
    pub ratio: f64,
    pub of: AnswerOf,
}

/// By the margin of all verdicts.
fn verdict(ratio: f64) -> Verdict {
    match ratio {
        ratio if ratio > MARGIN => Verdict::Faster,
        ratio if ratio < 1.0 / MARGIN => Verdict::Slower,
        _ => Verdict::Same,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    Measured,
    /// Every second process is slow throughout.
    Split,
    Skipped,
    Invalid,
    Failed,
}

/// How many times slower the slow processes of a cell in two groups are.
pub const SPLIT: f64 = 2.0;

/// Why cells and passes are missing.
pub const REASON: &str = "planted";

impl Default for Planting {
    fn default() -> Planting {
        Planting { seed: 1, noise: 0.0, rounds: 8, repeats: true, jobs: false }
    }
}

impl Planting {
    pub fn plant(self) -> Planted {
        let mut random = Random(self.seed);
        let mut planted = Planted { record: empty_record(), truth: Vec::new(), claims: BTreeMap::new() };
        planted.record.id = format!("planted-{}", self.seed);
        planted.record.seed = self.seed;
        let mut text = "title = \"Planted\"\n".to_string();
        for (origin, block) in BLOCKS.iter().filter(|it| self.repeats || it.name != REPEATED).enumerate() {
            text.push_str(&block.comparison());
            let mut factors: Vec<f64> =
                block.arms.iter().enumerate().map(|(at, _)| block.factor(at, &mut random)).collect();
            for at in 0..factors.len() {
                factors[at] = factors[block.first_at_work(at)];
            }
            let conditions = block.conditions();
            // Of three arms the last one is missing somewhere.
            let gap = (block.arms.len() > 2).then(|| random.below(conditions.len() as u64) as usize);
            let first = planted.record.conditions.len();
            for (at, condition) in conditions.into_iter().enumerate() {
                if let Some(factor) = block.factors.get(at) {
                    factors[1] = *factor;
                }
                let gap =
                    (gap == Some(at)).then(|| random.pick(&[CellKind::Skipped, CellKind::Invalid, CellKind::Failed]));
                self.condition(&mut planted, &mut random, (origin, block), condition, &factors, gap);
            }
            planted.claim(&mut text, block, first);
        }
        planted.record.experiment =
            Experiment::parse("planted", &text).unwrap_or_else(|error| panic!("{}", error.at("planted")));
        planted
    }

    fn condition(
        self,
        planted: &mut Planted,
        random: &mut Random,
        (origin, block): (usize, &Block),
        condition: Condition,
        factors: &[f64],
        gap: Option<CellKind>,
    ) {
        let index = planted.record.conditions.len();
        planted.record.fills.push(FilledRange {
            fill: condition.fill,
            pages_per_fault: None,
            looked_again: None,
            kept: false,
            range: condition.range,
            method: REASON.to_string(),
            elapsed_ns: fill_ns(condition.fill.unwrap_or(Fill::Sequential)),
            folio_orders: Reading::unavailable(REASON),
        });
        planted.record.conditions.push(condition.clone());
        planted.record.origins.push(origin);
        // Whole nanoseconds, and another pace in each comparison and condition.
        let base = 400 + 100 * random.below(200);
        let last = block.arms.len() - 1;
        let is_asked_again = matches!(condition.state, State::Cold | State::Cached | State::Mapped);
        let mut enter = |at: usize, control: bool| {
            let kind = match gap {
                Some(kind) if at == last && !control => kind,
                _ if block.splits && at == 1 => CellKind::Split,
                _ => CellKind::Measured,
            };
            let truth = Truth {
                kind,
                ns_per_op: base as f64 * factors[at],
                minor_faults: block.faults(at, &condition),
                device_read_bytes: if condition.state == State::Cold {
                    work(&condition).distinct_bytes as f64
                } else {
                    0.0
                },
                peak_memory_bytes: ((3 + at as u64) << 20) as f64,
                job: (self.jobs && at == 1 && kind == CellKind::Measured && is_asked_again)
                    .then(|| random.pick(&ANSWERS))
                    .map(|it| if it == JobAnswer::Doubts && index % 2 == 1 { JobAnswer::Strays } else { it }),
                lost: u32::from(at == 1 && !control && kind == CellKind::Measured && random.below(3) == 0),
            };
            planted.record.cells.push(Cell {
                arm: block.arms[at].parse::<Arm>().unwrap_or_else(|error| panic!("{error}")),
                condition: index,
                own_condition: None,
                baseline: at == 0 && !control,
                control,
                skipped: (kind == CellKind::Skipped).then(|| REASON.into()),
            });
            planted.truth.push(truth);
            planted.measure(planted.record.cells.len() - 1, self, random);
        };
        (0..block.arms.len()).for_each(|at| enter(at, false));
        enter(0, true);
        let again = planted.cells_of(index).find(|&at| planted.truth[at].job.is_some());
        again.into_iter().for_each(|arm| planted.measure_again(arm));
    }
}

/// What making a fill is planted to take.
pub fn fill_ns(fill: Fill) -> u64 {
    match fill {
        Fill::Random => 7_000_000_000,
        Fill::Faults => 3_000_000_000,
        _ => 1_000_000_000,
    }
}

/// What one pass under a condition does.
fn work(condition: &Condition) -> Tally {
    const PAGE: u64 = 4096;
    let all = condition.ops * condition.block_bytes;
    // What uniform draws of one in so many places reach.
    let met = |places: f64| (places * (1.0 - (1.0 - 1.0 / places).powf(condition.ops as f64))).round() as u64;
    let whole = condition.range.bytes;
    let (bytes, distinct_bytes, distinct_pages) = match condition.workload {
        Workload::Random => {
            let at_once = condition.block_bytes.div_ceil(PAGE).max(1);
            let pages = met(whole.div_ceil(PAGE * at_once) as f64) * at_once;
            (all, met(whole as f64 / condition.block_bytes as f64) * condition.block_bytes, pages)
        }
        // The last block may be short.
        _ => (all.min(whole), all.min(whole), all.min(whole).div_ceil(PAGE)),
    };
    Tally {
        ops: condition.ops,
        bytes,
        distinct_bytes,
        distinct_block_bytes: None,
        distinct_pages: Some(distinct_pages),
        checksum: "00000000c0ffee00".to_string(),
        threads: condition.threads,
        queue_depth: 1,
    }
}

impl Planted {
    /// Where a comparison has its cells: index of the cell that an arm has under a condition, the control left out.
    pub fn cells_of(&self, condition: usize) -> impl Iterator<Item = usize> {
        let cells = self.record.cells.iter().enumerate();
        cells.filter(move |(_, cell)| cell.condition == condition && !cell.control).map(|(at, _)| at)
    }

    /// What is to be said of an arm beside the first of its condition, after it was measured again; of cells without a
    /// number nothing.
    pub fn answer(&self, arm: usize) -> Option<Answer> {
        let baseline = self.cells_of(self.record.cells[arm].condition).next()?;
        let truth = &self.truth[arm];
        let ratio = self.truth[baseline].ns_per_op / truth.ns_per_op;
        let of = match (truth.kind, truth.job) {
            (CellKind::Split, _) => return Some(Answer { verdict: Verdict::Undecided, ratio, of: AnswerOf::Rounds }),
            (CellKind::Measured, None) => AnswerOf::Rounds,
            (CellKind::Measured, Some(JobAnswer::Silent)) => AnswerOf::RoundsUnconfirmed,
            (CellKind::Measured, Some(JobAnswer::Holds)) => AnswerOf::RoundsAndJob,
            (CellKind::Measured, Some(JobAnswer::Turns)) => AnswerOf::Job,
            (CellKind::Measured, Some(JobAnswer::Doubts | JobAnswer::Strays)) => AnswerOf::Neither,
            _ => return None,
        };
        Some(match of {
            AnswerOf::Job => Answer { verdict: verdict(turned(ratio)), ratio: turned(ratio), of },
            AnswerOf::Neither => Answer { verdict: Verdict::Undecided, ratio, of },
            AnswerOf::Rounds | AnswerOf::RoundsUnconfirmed | AnswerOf::RoundsAndJob => {
                Answer { verdict: verdict(ratio), ratio, of }
            }
        })
    }

    /// The first measured cell that is neither baseline nor control nor in two groups.
    pub fn some_cell(&self) -> usize {
        let plain = |at: &usize| self.truth[*at].kind == CellKind::Measured && self.truth[*at].lost == 0;
        let entered = |at: &usize| !self.record.cells[*at].control && !self.record.cells[*at].baseline;
        (0..self.truth.len()).filter(entered).find(plain).unwrap_or(0)
    }

    /// The same in another run, in which one cell takes so many times as long.
    pub fn with_slower(&self, cell: usize, factor: f64) -> Planted {
        let mut other = self.another();
        other.truth[cell].ns_per_op *= factor;
        for sample in other.record.samples.iter_mut().filter(|it| it.cell == cell) {
            if let Outcome::Ok { phases, .. } = &mut sample.outcome {
                let more = (phases.total_ns() as f64 * (factor - 1.0)).round();
                phases.work_ns = phases.work_ns.saturating_add_signed(more as i64);
            }
        }
        other
    }

    /// The same in another run, in which one cell is skipped.
    pub fn without(&self, cell: usize) -> Planted {
        let mut other = self.another();
        other.truth[cell].kind = CellKind::Skipped;
        other.record.cells[cell].skipped = Some(REASON.into());
        other.record.samples.retain(|it| it.cell != cell);
        other
    }

    fn another(&self) -> Planted {
        let mut other = self.clone();
        other.record.id.push_str("-later");
        other.record.started = "2001-04-11T00:00:00Z".to_string();
        other
    }

    fn measure_again(&mut self, arm: usize) {
        let condition = self.record.cells[arm].condition;
        let baseline = self.cells_of(condition).next().expect("a condition with an arm has a baseline");
        let ratio = self.truth[baseline].ns_per_op / self.truth[arm].ns_per_op;
        let (pairs, ratio) = match self.truth[arm].job.expect("it was measured again") {
            JobAnswer::Holds => (5, ratio),
            JobAnswer::Turns => (5, turned(ratio)),
            JobAnswer::Doubts => (3, turned(ratio)),
            JobAnswer::Strays => (3, strayed(ratio)),
            JobAnswer::Silent => (3, ratio),
        };
        let under = &self.record.conditions[condition];
        self.record.confirmations.push(Confirmation {
            condition,
            baseline_cell: baseline,
            arm_cell: arm,
            range: under.range,
            ops: 4 * under.ops,
            pairs: vec![[1e9 * ratio, 1e9]; pairs],
            cold: Vec::new(),
            invalid: Vec::new(),
        });
    }

    fn measure(&mut self, cell: usize, plan: Planting, random: &mut Random) {
        let truth = self.truth[cell].clone();
        let condition = self.record.conditions[self.record.cells[cell].condition].clone();
        for round in 0..plan.rounds {
            let slow = truth.kind == CellKind::Split && round % 2 == 1;
            let off = 1.0 + plan.noise * (2.0 * random.share() - 1.0);
            let ns_per_op = truth.ns_per_op * off * if slow { SPLIT } else { 1.0 };
            let reason = || REASON.to_string();
            let outcome = match truth.kind {
                CellKind::Skipped => return,
                CellKind::Invalid => Outcome::Invalid { reason: reason().into() },
                CellKind::Failed => Outcome::Failed { reason: reason() },
                _ if round < truth.lost => Outcome::Invalid { reason: reason().into() },
                CellKind::Measured | CellKind::Split => {
                    let tally = work(&condition);
                    let total = (ns_per_op * tally.ops as f64).round() as u64;
                    let around = (!condition.state.is_held()).then_some(500);
                    let work_ns = total - 2 * around.unwrap_or(0);
                    Outcome::Ok { phases: Phases { open_ns: around, work_ns, close_ns: around }, tally }
                }
            };
            self.record.samples.push(Sample {
                cell,
                round,
                order: self.record.samples.len() as u32,
                host: self.record.environment.host.clone(),
                readings: self.readings(cell, &outcome, ns_per_op),
                beats: None,
                outcome,
                resident_before: Reading::Value(Resident { pages: 0, of: 1 }),
                window_offset: None,
                resident_after: Reading::Value(Resident { pages: 0, of: 1 }),
            });
        }
    }

    fn readings(&self, cell: usize, outcome: &Outcome, ns_per_op: f64) -> BTreeMap<String, Reading<f64>> {
        let mut readings = BTreeMap::new();
        let Outcome::Ok { phases, .. } = outcome else { return readings };
        let truth = &self.truth[cell];
        let total = phases.total_ns() as f64;
        let mut add = |name: &str, value| readings.insert(name.to_string(), Reading::Value(value));
        add("user_ns", 0.4 * total);
        add("system_ns", 0.5 * total);
        add("minor_faults", truth.minor_faults);
        add("device_read_bytes", truth.device_read_bytes);
        add("peak_memory_bytes", truth.peak_memory_bytes);
        if self.record.cells[cell].arm.runtime == "jvm" {
            add("warm_pass_ns_per_op", ns_per_op);
            add("loop_bytes_per_s", 1e9);
        }
        readings.insert("major_faults".to_string(), Reading::unavailable(REASON));
        readings
    }

    /// A claim about time and one about faults of the second arm.
    fn claim(&mut self, text: &mut String, block: &Block, first: usize) {
        let [name, than, arm] = [block.name, block.arms[0], block.arms[1]];
        let about = format!("says = \"Planted\"\ncompare = \"{name}\"\narm = \"{arm}\"\n");
        text.push_str(&format!("[[claim]]\nid = \"{name}-time\"\n{about}than = \"{than}\"\nexpect = \"lower\"\n"));
        let answers = (first..self.record.conditions.len()).filter_map(|it| self.answer(self.cells_of(it).nth(1)?));
        let verdicts: Vec<Verdict> = answers.map(|it| it.verdict).collect();
        let of = |verdict: Verdict| verdicts.iter().filter(|it| **it == verdict).count();
        let [faster, slower, same] = [Verdict::Faster, Verdict::Slower, Verdict::Same].map(of);
        let is_most = |count: usize| 2 * count > verdicts.len();
        let decided = faster + slower + same;
        // More than half say it, unless some contradict; of decided ones that do not agree the answer is mixed.
        let verdict = match () {
            () if 2 * decided < verdicts.len() => ClaimVerdict::Undecided,
            () if faster > 0 && slower > 0 => ClaimVerdict::Mixed,
            () if is_most(faster) => ClaimVerdict::Holds,
            () if is_most(slower) => ClaimVerdict::Reversed,
            () if is_most(same) => ClaimVerdict::NoDifference,
            () if [faster, slower, same].contains(&decided) => ClaimVerdict::Undecided,
            () => ClaimVerdict::Mixed,
        };
        self.claims.insert(format!("{name}-time"), verdict);
        let conditions = block.conditions();
        let least = conditions.iter().map(|it| block.faults(1, it)).fold(f64::INFINITY, f64::min);
        let most = conditions.iter().map(|it| block.faults(1, it)).fold(0.0, f64::max);
        for (id, limit, verdict) in [("most", most, ClaimVerdict::Holds), ("less", least - 1.0, ClaimVerdict::Reversed)]
        {
            let expect = format!("metric = \"minor-faults\"\nexpect = {{ at-most = {limit} }}\n");
            text.push_str(&format!("[[claim]]\nid = \"{name}-{id}\"\n{about}{expect}"));
            self.claims.insert(format!("{name}-{id}"), verdict);
        }
    }
}

const ANSWERS: [JobAnswer; 4] = [JobAnswer::Holds, JobAnswer::Turns, JobAnswer::Doubts, JobAnswer::Silent];

/// What five pairs say where they do not say what the rounds say.
fn turned(ratio: f64) -> f64 {
    if verdict(ratio) == Verdict::Same { 2.0 } else { 1.0 / ratio }
}

/// What three pairs say that do not fit the rounds.
fn strayed(ratio: f64) -> f64 {
    match verdict(ratio) {
        Verdict::Same => 2.0,
        _ => ratio * ratio,
    }
}

/// Differences below this are no difference (docs/METHODOLOGY.md).
pub const MARGIN: f64 = 1.05;

impl Block {
    fn conditions(&self) -> Vec<Condition> {
        let mut all = Vec::new();
        for consume in self.consumes {
            for &threads in self.threads {
                for layout in self.layouts {
                    for &block_bytes in self.sizes {
                        let fills = self.fills.iter().copied().map(Some).chain(self.fills.is_empty().then_some(None));
                        all.extend(fills.map(|fill| Condition {
                            fill,
                            workload: self.workload,
                            consume: *consume,
                            block_bytes,
                            state: self.state,
                            threads,
                            layout: self.workload.writes().then_some(*layout),
                            range: Span { offset: self.offset, bytes: self.file_bytes - self.offset },
                            ops: (self.file_bytes - self.offset).div_ceil(block_bytes),
                            memory_bytes: (self.state == State::Limited).then_some(self.file_bytes / 2),
                            ..Condition::plain(self.file_bytes)
                        }));
                    }
                }
            }
        }
        all
    }

    /// The first arm whose timed work is that of an arm.
    fn first_at_work(&self, at: usize) -> usize {
        let at_work = |name: &str| name.parse::<Arm>().unwrap_or_else(|it| panic!("{it}")).at_work(self.state);
        self.arms.iter().position(|it| at_work(it) == at_work(self.arms[at])).unwrap_or(at)
    }

    /// How many times as long as the first arm an arm takes.
    fn factor(&self, arm: usize, random: &mut Random) -> f64 {
        match arm {
            0 => 1.0,
            1 if self.splits => 0.7,
            _ => random.pick(&[0.3, 0.5, 0.8, 0.98, 1.0, 1.03, 1.25, 2.0, 4.0]),
        }
    }

    fn faults(&self, arm: usize, condition: &Condition) -> f64 {
        if self.arms[arm].contains("mmap") || self.arms[arm].contains("mapped") {
            100.0 + (condition.range.bytes / 65_536) as f64
        } else {
            40.0 + arm as f64
        }
    }

    /// As an experiment file has it.
    fn comparison(&self) -> String {
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        let words = |items: Vec<&str>| list(items.iter().map(|it| format!("\"{it}\"")).collect());
        let mut text = format!(
            "[[compare]]\nname = \"{}\"\narms = {}\nworkload = \"{}\"\nstate = \"{}\"\nblock = {}\nconsume = {}\nthreads = {}\n",
            self.name,
            words(self.arms.to_vec()),
            self.workload,
            self.state,
            list(self.sizes.iter().map(u64::to_string).collect()),
            words(self.consumes.iter().map(|it| it.word()).collect()),
            list(self.threads.iter().map(u32::to_string).collect()),
        );
        if self.workload.writes() {
            text.push_str(&format!("layout = {}\n", words(self.layouts.iter().map(|it| it.word()).collect())));
        }
        if !self.fills.is_empty() {
            let fills: Vec<String> = self.fills.iter().map(|it| format!("\"{it}\"")).collect();
            text.push_str(&format!("fill = {}\n", list(fills)));
        }
        if self.state == State::Limited {
            text.push_str("memory = 0.5\n");
        }
        text
    }
}
