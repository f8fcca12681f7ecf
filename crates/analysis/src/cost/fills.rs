//! Unit costs after other fills than the usual one. The page cache then holds the file in folios of another size: faults map
//! other numbers of pages, unmapping takes them away one by one or all at once, and copies and lookups go from folio to
//! folio. All of that is measured by a few points of each fill; the rest is as after the usual fill.

use schema::{
    Condition, Consume, Fill, Record, Workload,
    inspection::{FaultView, OtherFile},
    no_cost::NoCost,
    record::FilledRange,
    unit_cost::{Calibration, CalibrationPoint, Curve, FaultCost, FillCosts, UnitCosts},
};

use crate::measured::Run;

use super::fit::{self, Look, MAPPED, READ};

/// What single things cost, by fill.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) usual: UnitCosts,
    pub(crate) fills: Vec<FillCosts>,
}

impl Known {
    pub(crate) fn of(calibration: &Calibration, page_bytes: u64) -> Known {
        let usual = fit::fit(calibration, page_bytes);
        let fills = fit_fills(calibration, page_bytes, &usual);
        Known { usual, fills }
    }

    /// The costs of a condition, and the window that they were measured in.
    ///
    /// # Errors
    /// Its fill was not calibrated.
    pub(crate) fn under(&self, condition: &Condition) -> Result<(&UnitCosts, u64), NoCost> {
        match condition.fill() {
            None | Some(Fill::Sequential) => Ok((&self.usual, self.usual.range_bytes)),
            Some(fill) => match self.fills.iter().find(|it| it.fill == fill) {
                Some(it) => Ok((&it.costs, it.calibrated_bytes)),
                None => Err(NoCost::Fill { fill }),
            },
        }
    }
}

/// The unit costs after each calibrated fill but the usual one, which `usual` holds.
pub fn fit_fills(calibration: &Calibration, page_bytes: u64, usual: &UnitCosts) -> Vec<FillCosts> {
    let calibration = &fit::running(calibration.clone());
    let mut fills: Vec<Fill> = calibration.points.iter().filter_map(CalibrationPoint::fill).collect();
    fills.retain(|it| *it != Fill::Sequential);
    fills.sort_unstable();
    fills.dedup();
    let usual_look = Look::usual(calibration, page_bytes);
    let of = |fill| {
        let points: Vec<&CalibrationPoint> = calibration.points.iter().filter(|it| it.fill() == Some(fill)).collect();
        let calibrated_bytes = points.iter().map(|it| it.range_bytes).max().unwrap_or(0);
        let costs = changed(usual, &usual_look, &Look::new(points, page_bytes), calibrated_bytes);
        FillCosts { fill, calibrated_bytes, costs }
    };
    fills.into_iter().map(of).collect()
}

/// The usual costs, as the points of another fill change them. Nothing about faults is taken over.
fn changed(usual: &UnitCosts, usual_look: &Look, look: &Look, whole: u64) -> UnitCosts {
    let of_faults = look.mapping(whole);
    let span = whole as f64;
    // Of the same pass after both fills, less the call.
    let share = |arm, call: f64| {
        let block = look.middle_block(arm);
        let at = |look: &Look| Some(look.of_block_by_span(arm, Workload::Scan, block).level_at(span)? - call);
        share(at(look), at(usual_look))
    };
    let copy_share = share(READ, usual.read_call_ns.unwrap_or(0.0));
    let sum_share = share(MAPPED, 0.0);
    let scaled =
        |curve: &Curve, share: f64| Curve { points: curve.points.iter().map(|it| (it.0, it.1 * share)).collect() };
    // A block within a page is in one folio, whatever its size.
    let read_scan = fit::change(&usual.copy, |_, ns| Some(ns + usual.read_call_ns?));
    let (read, read_first_ns) = look.random(READ, Consume::Touch, &read_scan, whole);
    let (mapped, mapped_first_ns) = look.random(MAPPED, Consume::Sum, &usual.sum_mapped, whole);
    let (touch, touch_first_ns) = look.touches(whole);
    // Than after the usual fill, in a part of the file as large as that of this one.
    let beyond = |found: f64, usual_ns: f64, by_span: &Curve| {
        found - usual_ns * fit::of_span(by_span, span, usual.range_bytes as f64)
    };
    let moved = |usual_extra: &Curve, found: &Curve, by_span: &Curve| {
        let Some((found, usual_least)) = found.points.first().zip(usual_extra.points.first()) else {
            return usual_extra.clone();
        };
        let beyond = beyond(found.1, usual_least.1, by_span);
        fit::fading(fit::change(usual_extra, |_, ns| Some(ns + beyond)))
    };
    UnitCosts {
        copy: scaled(&usual.copy, copy_share),
        read_random: moved(&usual.read_random, &read, &usual.read_random_in),
        read_first_ns: if read.points.is_empty() { usual.read_first_ns } else { read_first_ns },
        sum_mapped: scaled(&usual.sum_mapped, sum_share),
        mapped_random: moved(&usual.mapped_random, &mapped, &usual.mapped_random_in),
        mapped_first_ns: if mapped.points.is_empty() { usual.mapped_first_ns } else { mapped_first_ns },
        touch_random_ns: usual.touch_random_ns.map(|ns| match touch {
            Some(found) => (ns + beyond(found, ns, &usual.mapped_random_in)).max(0.0),
            None => ns,
        }),
        touch_first_ns: if touch.is_some() { touch_first_ns } else { usual.touch_first_ns },
        touch_mapped_page_ns: of_faults.touch_mapped_page_ns.or(usual.touch_mapped_page_ns),
        populate: of_faults.populate,
        unmap: of_faults.unmap,
        faults: of_faults.faults,
        faults_ns: of_faults.faults_ns,
        fault_ns: of_faults.fault_ns,
        pages_per_fault: of_faults.pages_per_fault,
        fault_pages_ns: of_faults.fault_pages_ns,
        fault_random_ns: of_faults.fault_random_ns,
        ..usual.clone()
    }
}

/// How much more or less it is than usual: as much, where one of both is not known.
fn share(found: Option<f64>, usual: Option<f64>) -> f64 {
    let share = found.zip(usual).map_or(1.0, |(found, usual)| found / usual);
    // More than a factor of a hundred is no matter of folios.
    if share.is_finite() { share.clamp(0.01, 100.0) } else { 1.0 }
}

/// Bytes that the kernel maps around a fault whatever the folios are (`fault_around_bytes`).
const AROUND_A_FAULT: u64 = 64 << 10;

/// What faults on a file's present folios cost, by the unit costs of a run: those after the fill whose faults map as many
/// pages. Where that says nothing, because the kernel maps more than a folio, `folio_bytes` decides; and where that is not
/// known, the dearest.
///
/// # Errors
/// The run has no costs of such folios.
pub fn faults_on(record: &Record, pages_per_fault: f64, folio_bytes: Option<u64>) -> Result<FaultView, NoCost> {
    let calibration = record.calibration.value().ok_or_else(|| NoCost::NoUnitCosts { run: record.id.clone() })?;
    let page_bytes = Run::new(record).page_bytes();
    let known = Known::of(calibration, page_bytes);
    // A fault at a random place maps more than the faults of a scan do in the mean: large folios have more places. So what
    // was seen of each fill is held against what is seen here, and not what was counted in passes.
    let seen = |fill: Fill| {
        let of_fill = || record.fills.iter().filter(|it| it.fill.unwrap_or(Fill::Sequential) == fill);
        let made = of_fill().filter(|it| it.stayed()).chain(of_fill());
        made.filter_map(|it| it.pages_per_fault).next()
    };
    let of_fill = |fill: Fill, costs: &UnitCosts| {
        let counted = costs.fault_and_unmap()?;
        Some(FaultCost { pages: seen(fill).unwrap_or(counted.pages), ..counted })
    };
    let in_order =
        of_fill(Fill::Sequential, &known.usual).ok_or_else(|| NoCost::NoFaults { run: record.id.clone() })?;
    let looks_alike = pages_per_fault <= (AROUND_A_FAULT / page_bytes).max(1) as f64;
    let is_of_size = |fill: Fill| match (folio_bytes.filter(|_| looks_alike), folio_bytes_of(fill, page_bytes)) {
        (Some(here), Some(there)) => FilledRange::are_alike(here as f64, there as f64),
        (Some(_), None) => false,
        (None, _) => true,
    };
    let usual = [(Fill::Sequential, &known.usual)];
    let of_fills = known.fills.iter().map(|it| (it.fill, &it.costs));
    let costs = usual.into_iter().chain(of_fills).filter_map(|(fill, costs)| {
        let there =
            of_fill(fill, costs).filter(|it| FilledRange::are_alike(it.pages, pages_per_fault) && is_of_size(fill))?;
        let unmap = costs.unmap?.page_ns;
        Some((fill, FaultCost { pages: pages_per_fault, ns: there.ns + (pages_per_fault - there.pages) * unmap }))
    });
    let dearest = costs.max_by(|a, b| a.1.ns.total_cmp(&b.1.ns));
    let (like, here) = dearest.ok_or_else(|| {
        let bytes = folio_bytes.unwrap_or((pages_per_fault * page_bytes as f64) as u64);
        let mut sizes = known.fills.iter().filter_map(|it| folio_bytes_of(it.fill, page_bytes));
        match sizes.any(|it| FilledRange::are_alike(it as f64, bytes as f64)) {
            true => NoCost::PagesPerFault { pages: pages_per_fault.round() as u64 },
            false => NoCost::Folios { bytes },
        }
    })?;
    let target = &record.target;
    let of = Some(OtherFile { path: target.path.clone(), bytes: target.bytes });
    Ok(FaultView { run: record.id.clone(), of, like, here, in_order })
}

/// The folios that a fill makes, where it is the fill that decides.
fn folio_bytes_of(fill: Fill, page_bytes: u64) -> Option<u64> {
    match fill {
        Fill::Random => Some(page_bytes),
        Fill::Written(bytes) | Fill::ReadAhead(bytes) => Some(bytes.max(page_bytes)),
        Fill::Found | Fill::Sequential | Fill::Faults | Fill::HugePages => None,
    }
}
