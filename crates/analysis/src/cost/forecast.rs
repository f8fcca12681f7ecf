//! The time of a pass that was not measured, from the unit costs of a saved run.

use schema::{
    Arm, Condition, Consume, Fill, Reading, Record, SCHEMA_VERSION, Span, State, Workload,
    findings::Estimate,
    no_cost::NoCost,
    unit_cost::{CostComponent, Forecast, ForecastArm, ForecastRemark, Lean, PredictedCell, Waits},
};

use crate::{measured::Run, stats::SortedValues};

use super::{
    device,
    fills::Known,
    model::{self, ModelledPass, PassCounts},
    predict,
    threads::Threads,
};

/// Residuals that make an interval.
const ENOUGH: usize = 5;
/// The factor either way where no cell of the run shows how far off the costs are.
const UNKNOWN: f64 = 2.0;
/// How much wider, as a power, where the question leaves what was calibrated.
const BEYOND: f64 = 1.5;

/// The question.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastQuestion {
    pub arms: Vec<Arm>,
    pub workload: Workload,
    pub consume: Consume,
    pub block_bytes: u64,
    pub ops: u64,
    pub file_bytes: u64,
    /// What there is for the page cache.
    pub memory_bytes: u64,
    pub state: State,
    /// How the page cache was filled; `sequential` where nothing is said.
    pub fill: Option<Fill>,
    pub threads: u32,
}

/// # Errors
/// The record has no calibration: why not.
pub fn forecast(record: &Record, asked: &ForecastQuestion) -> Result<Forecast, String> {
    let calibration = match &record.calibration {
        Reading::Value(calibration) => calibration,
        Reading::Unavailable { unavailable } => return Err(unavailable.clone()),
    };
    let run = Run::new(record);
    let known = Known::of(calibration, run.page_bytes());
    let basis = Basis::new(&run, &known, &predict::own_cells(&run, &known).cells);
    let condition = condition(asked);
    let reached = basis.reached(&condition);
    let (mut arms, mut resident_share, mut kinds, mut beyond) = (Vec::new(), 1.0, Vec::new(), None);
    for arm in &asked.arms {
        let pass = basis.pass(arm, &condition, asked.memory_bytes as f64, asked.threads.max(1));
        resident_share = pass.resident_share();
        let (kind, expected) = (Kind::of(&pass), basis.expected(&pass));
        if let Ok((_, components)) = &expected {
            // Of what has no time there is no interval.
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
            beyond = beyond.max(basis.beyond_requests(&pass, components));
        }
        let condition = Condition { threads: asked.threads.max(1), ..condition.clone() };
        let components = expected.clone().map(|it| it.1).unwrap_or_default();
        arms.push(ForecastArm {
            arm: arm.name.clone(),
            condition,
            seconds: expected.map(|it| it.0).into(),
            components,
        });
    }
    let mut remarks = remarks(asked, &condition, reached, &arms, resident_share, record);
    remarks.extend(beyond.map(|(bytes, calibrated_bytes)| ForecastRemark::BeyondRequests { bytes, calibrated_bytes }));
    remarks.extend(kinds.into_iter().flat_map(|kind| interval_remarks(&basis.own, kind)));
    Ok(Forecast {
        schema_version: SCHEMA_VERSION,
        run: record.id.clone(),
        target: record.target.clone(),
        memory_bytes: asked.memory_bytes,
        resident_share,
        arms,
        remarks,
    })
}

/// What the times of passes that were not measured are derived from: a run's unit costs, and how far they were off for its
/// own cells.
pub(super) struct Basis<'a> {
    run: &'a Run<'a>,
    known: &'a Known,
    own: Vec<PredictedCell>,
}

impl<'a> Basis<'a> {
    pub(super) fn new(run: &'a Run<'a>, known: &'a Known, own: &[PredictedCell]) -> Basis<'a> {
        let own = own.iter().filter(|it| it.not_counted.is_none()).cloned().collect();
        Basis { run, known, own }
    }

    /// How much of a file the unit costs were measured over, in bytes.
    fn reached(&self, condition: &Condition) -> u64 {
        self.known.under(condition).map_or(self.known.usual.range_bytes, |it| it.1)
    }

    pub(super) fn pass<'b>(
        &self,
        arm: &'b Arm,
        condition: &'b Condition,
        memory_bytes: f64,
        threads: u32,
    ) -> ModelledPass<'b> {
        let record = self.run.record;
        ModelledPass {
            arm,
            condition,
            page_bytes: self.run.page_bytes() as f64,
            read_ahead_bytes: model::read_ahead_bytes(&record.target),
            ceiling_bytes_per_s: record.ceiling.value().map(|it| it.bytes_per_s),
            counts: PassCounts::default(),
            memory_bytes,
            threads: Threads { count: threads, cpus: record.environment.cpus },
            queue_depth: None,
        }
    }

    /// Where the time of a pass is expected to go.
    ///
    /// # Errors
    /// Why that is not known.
    pub(super) fn components(&self, pass: &ModelledPass) -> Result<Vec<CostComponent>, NoCost> {
        model::components(self.known.under(pass.condition)?.0, pass)
    }

    /// The largest of its requests and the largest calibrated one, in bytes, where the first is far beyond the second.
    fn beyond_requests(&self, pass: &ModelledPass, components: &[CostComponent]) -> Option<(u64, u64)> {
        let costs = self.known.under(pass.condition).ok()?.0;
        let of = costs.device.iter().find(|it| it.queue_depth == pass.depth())?;
        let bytes = components.iter().filter_map(|it| it.request_bytes).max_by(f64::total_cmp)?;
        device::is_beyond(of, bytes).then_some((bytes as u64, device::largest(of)? as u64))
    }

    /// What a pass is expected to take, in seconds, and where its time goes.
    ///
    /// # Errors
    /// Why that is not known.
    pub(super) fn expected(&self, pass: &ModelledPass) -> Result<(Estimate, Vec<CostComponent>), NoCost> {
        let components = self.components(pass)?;
        let is_random = pass.condition.workload == Workload::Random;
        let reached = self.reached(pass.condition);
        let beyond = (pass.condition.file_bytes > reached && is_random)
            || pass.threads.count > 1
            || self.beyond_requests(pass, &components).is_some();
        Ok((interval(&components, &self.own, Kind::of(pass), beyond), components))
    }
}

fn condition(asked: &ForecastQuestion) -> Condition {
    let block_bytes = asked.block_bytes.clamp(1, asked.file_bytes.max(1));
    let whole = Condition::plain(asked.file_bytes);
    // As in a run: a scan maps, populates and keeps in memory what it reads.
    let range_bytes = match asked.workload.is_ascending() {
        true => whole.range.bytes.min(asked.ops.max(1).saturating_mul(block_bytes)),
        false => whole.range.bytes,
    };
    Condition {
        range: Span { bytes: range_bytes, ..whole.range },
        workload: asked.workload,
        consume: asked.consume,
        block_bytes,
        state: asked.state,
        fill: asked.fill,
        ops: asked.ops,
        ..whole
    }
}

/// Cells of one kind are alike in how far off unit costs are.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Kind {
    waits: Waits,
    fill: Option<Fill>,
}

impl Kind {
    fn of(pass: &ModelledPass) -> Kind {
        Kind { waits: waits(pass.arm, pass.resident_share() < 1.0), fill: pass.condition.fill() }
    }
}

fn waits(arm: &Arm, misses: bool) -> Waits {
    match misses {
        _ if arm.is_direct() => Waits::Around,
        true => Waits::PageCache,
        false => Waits::Memory,
    }
}

fn waits_of_cell(cell: &PredictedCell) -> Option<Waits> {
    Some(waits(&cell.arm.parse().ok()?, cell.condition.state == State::Cold))
}

/// The run's own cells of the same kind; of all fills where those of one are too few.
fn kin(own: &[PredictedCell], kind: Kind) -> Option<(SortedValues, bool)> {
    let waits: Vec<&PredictedCell> = own.iter().filter(|it| waits_of_cell(it) == Some(kind.waits)).collect();
    let of = |fill: Option<Option<Fill>>| {
        let cells = waits.iter().filter(|it| fill.is_none_or(|fill| it.condition.fill() == fill));
        let sample =
            SortedValues::new(cells.map(|it| (it.measured_ns_per_op / it.predicted_ns_per_op).ln()).collect())?;
        (sample.count() >= ENOUGH).then_some(sample)
    };
    let of_fill = if kind.waits == Waits::Memory { of(Some(kind.fill)) } else { None };
    of_fill.map(|it| (it, true)).or_else(|| Some((of(None)?, false)))
}

/// Where 90 % of the errors lie that the costs have for the run's own cells, as logarithms of measured over predicted.
/// The estimate is the sum of the components, which is not corrected: where nearly all errors lie on one side of it, it
/// is an end of its interval.
fn errors(own: &[PredictedCell], kind: Kind) -> Option<Errors> {
    let (sample, alike) = kin(own, kind)?;
    let (low, high) = (sample.quantile(0.05), sample.quantile(0.95));
    let lean = match () {
        () if low > 0.0 => Some(Lean::TooShort),
        () if high < 0.0 => Some(Lean::TooLong),
        () => None,
    };
    Some(Errors { cells: sample.count(), alike, low: low.min(0.0), high: high.max(0.0), lean })
}

struct Errors {
    cells: usize,
    /// All cells have the fill that is asked for.
    alike: bool,
    low: f64,
    high: f64,
    lean: Option<Lean>,
}

fn interval(components: &[CostComponent], own: &[PredictedCell], kind: Kind, beyond: bool) -> Estimate {
    let seconds: f64 = components.iter().map(|it| it.ns).sum::<f64>() / 1e9;
    let (low, high) = errors(own, kind).map_or((-UNKNOWN.ln(), UNKNOWN.ln()), |it| (it.low, it.high));
    let power = if beyond { BEYOND } else { 1.0 };
    // A factor of e to the fiftieth says as little as any larger one.
    let at = |log: f64| seconds * (log * power).clamp(-50.0, 50.0).exp();
    Estimate { median: seconds, ci_low: at(low), ci_high: at(high) }
}

/// How the interval came about, and whether the estimate is an end of it.
fn interval_remarks(own: &[PredictedCell], of: Kind) -> Vec<ForecastRemark> {
    let Some(Errors { cells, alike, lean, .. }) = errors(own, of) else {
        return vec![ForecastRemark::TooFewCells { waits: of.waits, factor: UNKNOWN }];
    };
    let interval = ForecastRemark::Interval { cells, waits: of.waits, fill: of.fill.filter(|_| alike) };
    std::iter::once(interval).chain(lean.map(ForecastRemark::OneSided)).collect()
}

fn remarks(
    asked: &ForecastQuestion,
    condition: &Condition,
    reached: u64,
    arms: &[ForecastArm],
    resident_share: f64,
    record: &Record,
) -> Vec<ForecastRemark> {
    let mut remarks = Vec::new();
    let (file_bytes, memory_bytes) = (asked.file_bytes, asked.memory_bytes);
    let answers = || asked.arms.iter().zip(arms).filter(|(_, it)| it.seconds.value().is_some());
    let answered = answers().next().is_some();
    // An arm around the page cache reads everything from the device, however much of it is in memory.
    let through: Vec<String> = answers().filter(|(arm, _)| !arm.is_direct()).map(|(_, it)| it.arm.clone()).collect();
    if asked.state != State::Cold && resident_share < 1.0 && !through.is_empty() {
        let range_bytes = condition.range.bytes;
        let arms = if through.len() < answers().count() { through } else { Vec::new() };
        remarks.push(match asked.workload {
            Workload::Random => ForecastRemark::RandomMisses { memory_bytes, file_bytes, resident_share, arms },
            _ => ForecastRemark::ScansEvict { memory_bytes, range_bytes, resident_share, arms },
        });
    }
    if asked.file_bytes > reached && asked.workload == Workload::Random && answered {
        remarks.push(ForecastRemark::BeyondCalibration { calibrated_bytes: reached, file_bytes });
    }
    if asked.threads > 1 && answered {
        remarks.push(ForecastRemark::Threads { threads: asked.threads, cpus: record.environment.cpus });
    }
    // An arm around the page cache waits for the device whatever is in memory.
    let waits_for_device = resident_share < 1.0 || asked.arms.iter().any(Arm::is_direct);
    if waits_for_device && let Some(device) = record.target.device.value() {
        remarks.push(ForecastRemark::Device { name: device.name.clone() });
    }
    remarks
}

#[cfg(test)]
mod tests {
    use schema::{CellId, ConditionId};

    use super::*;

    fn cell(arm: &str, state: State, measured_ns_per_op: f64) -> PredictedCell {
        PredictedCell {
            id: CellId { condition: ConditionId { condition_index: 0, comparison_index: None }, cell: 0 },
            arm: arm.into(),
            condition: Condition { state, ..Condition::plain(1 << 30) },
            predicted_ns_per_op: 1.0,
            measured_ns_per_op,
            error: 0.0,
            held_out: false,
            not_counted: None,
        }
    }

    #[test]
    fn an_interval_holds_its_estimate_and_errors_on_one_side_are_named() {
        let kind = Kind { waits: Waits::PageCache, fill: None };
        let components = [CostComponent {
            cause: schema::unit_cost::Cause::Device,
            what: schema::unit_cost::Quantity::Reads,
            request_bytes: None,
            count: 1.0,
            unit_ns: 1e9,
            ns: 1e9,
        }];
        for (measured, lean) in [
            ([1.7, 1.9, 2.0, 3.0, 4.1, 4.1], Some(Lean::TooShort)),
            ([0.2, 0.3, 0.3, 0.4, 0.5, 0.6], Some(Lean::TooLong)),
            ([0.5, 0.8, 1.0, 1.1, 1.2, 2.0], None),
        ] {
            let own = measured.map(|it| cell("native/pread", State::Cold, it));
            assert_eq!(errors(&own, kind).and_then(|it| it.lean), lean, "{measured:?}");
            let Estimate { median, ci_low, ci_high } = interval(&components, &own, kind, false);
            assert!(ci_low <= median && median <= ci_high, "{measured:?}");
            assert_eq!(
                (ci_low == median, ci_high == median),
                (lean == Some(Lean::TooShort), lean == Some(Lean::TooLong))
            );
            let one_sided = |it: &ForecastRemark| match it {
                ForecastRemark::OneSided(lean) => Some(*lean),
                _ => None,
            };
            assert_eq!(interval_remarks(&own, kind).iter().find_map(one_sided), lean);
        }
    }

    #[test]
    fn an_arm_around_the_page_cache_is_judged_by_cells_of_its_kind_in_every_state() {
        let of = |arm: &str, state, ratio: f64| vec![cell(arm, state, ratio); ENOUGH];
        let own = [
            of("native/direct", State::Cached, 3.0),
            of("native/read", State::Cached, 1.0),
            of("native/read", State::Cold, 2.0),
        ]
        .concat();
        let kind = |waits| Kind { waits, fill: Some(Fill::Sequential) };
        let median = |arm: &str, misses| {
            kin(&own, kind(waits(&arm.parse().unwrap(), misses))).map(|it| it.0.median().exp().round())
        };
        for misses in [false, true] {
            assert_eq!(median("native/direct", misses), Some(3.0));
        }
        assert_eq!((median("native/read", false), median("native/read", true)), (Some(1.0), Some(2.0)));
        assert!(kin(&own[ENOUGH..], kind(Waits::Around)).is_none(), "no other kind stands in for it");
    }
}
