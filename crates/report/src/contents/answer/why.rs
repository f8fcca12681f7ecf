//! What the differences come from.

use schema::{
    Arm, Condition, Fill, Findings, State, Workload,
    answer::MainCause,
    findings::{AnswerOf, FillFinding, MapLine, Verdict},
    record::{self, Outcome, Sample},
};

use super::{field::in_flight, place::Words};
use crate::layout::{
    number,
    words::{counted, joined},
};

/// Causes that are worth a line each.
const CAUSES: usize = 3;
/// Pages that faults map in one case and another, where they are not called the same.
const APART: f64 = 1.5;

impl Words<'_> {
    /// The largest ratio of each cause first, then what makes cold random reads and faults differ.
    pub(super) fn why(&self, findings: &Findings) -> Vec<String> {
        let mut told: Vec<&MainCause> = Vec::new();
        for it in &findings.answer.causes {
            if told.len() < CAUSES && told.iter().all(|other| other.cause != it.cause) {
                told.push(it);
            }
        }
        let causes = told.into_iter().filter_map(|it| self.cause(it));
        causes.chain(self.read_ahead()).chain(self.together()).chain(pages_per_fault(findings)).collect()
    }

    /// Of cold random reads through a mapping that was too slow for rounds.
    fn read_ahead(&self) -> Option<String> {
        let window = Some(self.record.target.window_bytes()).filter(|it| *it > 0)?;
        let is_asked = |it: &Condition| it.workload == Workload::Random && it.state == State::Cold;
        // What it did, if it is not what the condition says.
        let does = |it: &'_ record::Cell| {
            it.own_condition.clone().or_else(|| self.record.conditions.get(it.condition).cloned())
        };
        let slow = |it: &record::Cell| {
            // As the reason for which it was left out has it.
            let ns = it.skipped.as_ref()?.ns_per_block_of_pass()?;
            // What populates does not wait for its reads.
            let is_plain = it.arm.maps() && ["advice", "populate"].iter().all(|of| is_usual(it.arm.word(of)));
            (is_plain && does(it).as_ref().is_some_and(is_asked)).then_some(ns)
        };
        let slow = self.record.cells.iter().filter_map(|it| Some((slow(it)?, it)));
        let (ns, slowest) = slow.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!(
            "{}: a read by {} is expected to take {}, from a short pass, because a page fault without advice reads ahead, up \
             to {} here",
            self.place_of(self.record.condition_id(slowest.condition), &does(slowest)?),
            self.names.short(&slowest.arm.name),
            number::duration_glued(ns),
            number::bytes_glued(window as f64)
        ))
    }

    /// Of random reads that wait for the device together, where those of other arms wait alone. What a scan waits for is read
    /// ahead.
    fn together(&self) -> Option<String> {
        let is_cold = |it: &&MapLine| {
            let Condition { state, workload, threads, .. } = it.condition;
            // Depths of passes at the size of the job are not recorded.
            let of_rounds = it.answer_of != AnswerOf::Job && it.verdict == Verdict::Faster;
            of_rounds && (state, workload, threads) == (State::Cold, Workload::Random, 1)
        };
        let in_line = |line: &MapLine| {
            let winner = line.winner_cell.filter(|it| self.record.cells[*it].own_condition.is_none())?;
            let depth = in_flight(self.record, winner)?;
            let cells = self.record.cells.iter().enumerate().filter(|(_, it)| it.condition == line.id.condition_index);
            // One with a state or a workload of its own may have no reads of the device.
            let alone =
                cells.filter(|(at, it)| !it.control && it.own_condition.is_none() && self.waits_alone(*at, &it.arm));
            let alone: Vec<&str> = alone.map(|(_, it)| self.names.short(&it.arm.name)).collect();
            (!alone.is_empty()).then_some((depth, alone))
        };
        let mut cold = self.map.iter().filter(is_cold);
        let (winner, (depth, alone)) = cold.find_map(|it| Some((it.winner.as_deref()?, in_line(it)?)))?;
        Some(format!(
            "cold: {} random reads of {} wait for the device at the same time, and those of {} one after the other",
            number::count(depth.into()),
            self.names.short(winner),
            joined(&alone, "and")
        ))
    }

    /// Whether each read of a cell was seen to wait for the device by itself: the kernel fetches nothing ahead of it.
    fn waits_alone(&self, cell: usize, arm: &Arm) -> bool {
        let is_measured = |it: &Sample| it.cell == cell && matches!(it.outcome, Outcome::Ok { .. });
        let fetches_ahead =
            arm.word("advice") == "willneed" || ["populate", "load"].iter().any(|of| !is_usual(arm.word(of)));
        self.record.samples.iter().any(is_measured) && in_flight(self.record, cell).is_none() && !fetches_ahead
    }

    fn cause(&self, it: &MainCause) -> Option<String> {
        let condition = self.record.conditions.get(it.id.condition_index)?;
        let [slower, faster] = [&it.slower, &it.faster].map(|part| self.names.short(&part.arm));
        // What both did, if it is not what the condition says.
        let own = self.record.cells.get(it.slower.cell).and_then(|it| it.own_condition.as_ref()).unwrap_or(condition);
        let work = match own.workload {
            Workload::Scan => number::bytes_glued(own.range.bytes as f64),
            _ => counted(own.ops as usize, "block", "blocks"),
        };
        // A small part of the slower one's may be all that the faster one takes.
        let less = match it.faster.cause_ns {
            none if none < 0.01 * it.slower.cause_ns.min(it.faster.pass_ns) => "none".to_string(),
            some => number::duration_glued(some),
        };
        Some(format!(
            "{}, {work}: {slower} takes {}, {faster} {}; {}: {} of {slower}'s time, {less} of {faster}'s",
            self.place_of(it.id, own),
            number::duration_glued(it.slower.pass_ns),
            number::duration_glued(it.faster.pass_ns),
            it.cause.words(),
            number::duration_glued(it.slower.cause_ns),
        ))
    }
}

/// An option that the method lacks, or its usual word.
fn is_usual(word: &str) -> bool {
    ["", "normal", "no"].contains(&word)
}

/// What faults of a mapping bring in after each fill, where that differs.
fn pages_per_fault(findings: &Findings) -> Option<String> {
    let pages = |it: &FillFinding| Some((it.fill, it.pages_per_fault.filter(|it| *it >= 1.0)?));
    let fills: Vec<(Fill, f64)> = findings.fills.iter().filter_map(pages).collect();
    let (least, most) =
        fills.iter().fold((f64::INFINITY, 0.0f64), |(least, most), it| (least.min(it.1), most.max(it.1)));
    let each = fills.iter().enumerate().map(|(at, (fill, pages))| {
        let start = match fill {
            Fill::Found => "now".to_string(),
            Fill::Sequential => "cached".to_string(),
            fill => format!("with fill {fill}"),
        };
        format!("{}{} {start}", number::count(pages.round()), if at == 0 { " pages" } else { "" })
    });
    let each: Vec<String> = each.collect();
    (most > least * APART).then(|| {
        format!("in memory: a page fault at a random place maps {}, by the size of the folios", each.join(", "))
    })
}
