//! From a calibration's passes to unit costs: medians, differences of medians, and straight lines through two of them.
//! No cost is negative: where noise makes a difference so, it is nothing.

use std::cmp::Reverse;

use schema::{
    Consume, Fill, State, Workload,
    condition::bytes_in_order,
    unit_cost::{
        Calibration, CalibrationPass, CalibrationPoint, Curve, DeviceCost, NEIGHBOURHOOD_PAGES, PerPage, UnitCosts,
    },
};

use crate::stats::SortedValues;

use super::device;

pub(super) const READ: &str = "native/pread";
const STREAMED: &str = "native/read";
pub(super) const MAPPED: &str = "native/mmap";
const POPULATED: &str = "native/mmap+populate-read";

/// A page's worth of any doubt is not worth a curve: blocks of this size and more at random places cost what they cost
/// in ascending order.
const AS_A_SCAN: f64 = (8 << 20) as f64;

/// The unit costs after the usual fill, and of the device.
pub fn fit(calibration: &Calibration, page_bytes: u64) -> UnitCosts {
    let calibration = running(calibration.clone());
    let look = Look::usual(&calibration, page_bytes);
    let whole = look.points.iter().map(|it| it.range_bytes).max().unwrap_or(0);
    let held = |arm, workload, consume| look.by_block(arm, workload, consume, whole);
    let read_scan = held(READ, Workload::Scan, Consume::Touch);
    let read_sum = held(READ, Workload::Scan, Consume::Sum);
    let mapped_scan = held(MAPPED, Workload::Scan, Consume::Sum);
    let read_in = look.by_span(READ, Workload::Random);
    let mapped_in = look.by_span(MAPPED, Workload::Random);
    let sum_mapped_in = rising(look.by_span(MAPPED, Workload::Scan));
    let least = |curve: &Curve| curve.points.first().map(|it| it.1);
    let read_call_ns = [least(&read_scan), least(&read_in)].into_iter().flatten().reduce(f64::min);
    let beyond = |curve: &Curve, ns: Option<f64>| rising(change(curve, |_, total| Some(total - ns?)));
    let sum_buffer = in_proportion(&sum_mapped_in, look.middle_block(MAPPED) as f64);
    // Copying is in both; where blocks were summed as well, that is what most cells do, and summing alone is known. Of one
    // span alone it is not known for blocks that lie in other caches.
    let known_sums = Some(&sum_buffer).filter(|_| sum_mapped_in.points.len() > 1);
    let copy = rising(change(&read_scan, |block, total| {
        let summed = read_sum.points.iter().find(|it| it.0 == block).zip(known_sums.and_then(|it| it.at(block)));
        Some(summed.map_or(total, |((_, total), sum)| total - sum) - read_call_ns?)
    }));
    let (read_random, read_first_ns) = look.random(READ, Consume::Touch, &read_scan, whole);
    let (mapped_random, mapped_first_ns) = look.random(MAPPED, Consume::Sum, &mapped_scan, whole);
    let (touch_random_ns, touch_first_ns) = look.touches(whole);
    let device = look.device();
    let page_in_ns = look.all(READ, Workload::Random, State::Cold).find_map(|it| {
        let block = it.block_bytes as f64;
        let request = device::request_ns(device.iter().find(|it| it.queue_depth == 1)?, block, None).ok()?;
        let known = read_call_ns? + copy.at(block)? + read_random.level_at(block).unwrap_or(0.0) + request;
        // It is work of a processor: of two passes, the one that the device kept waiting is no cost of it.
        let most = typical(it, &|pass| Some(pass.cpu_ns? as f64)).map_or(f64::INFINITY, |ns| ns / it.ops as f64);
        Some((ns_per_op(it)? - known).clamp(0.0, most) / (block / look.page).ceil())
    });
    UnitCosts {
        range_bytes: whole,
        clock_ns: calibration.clock.ns_each(),
        bare_call_ns: calibration.bare_call.ns_each(),
        read_call_ns,
        copy,
        copy_from: beyond(&look.by_span(READ, Workload::Scan), read_call_ns),
        read_random,
        read_random_in: beyond(&read_in, read_call_ns),
        read_first_ns,
        sum_buffer,
        mapped_random,
        mapped_random_in: beyond(&mapped_in, least(&mapped_in).map(|ns| ns.min(least(&mapped_scan).unwrap_or(ns)))),
        mapped_first_ns,
        touch_random_ns,
        touch_cached_ns: look
            .all(MAPPED, Workload::Random, State::Mapped)
            .filter(|it| it.consume == Consume::Touch && it.range_bytes < whole)
            .min_by_key(|it| it.range_bytes)
            .and_then(ns_per_op),
        touch_first_ns,
        sum_mapped: rising(mapped_scan),
        sum_mapped_in,
        device,
        page_in_ns,
        stream_byte_ns: look.all(STREAMED, Workload::Scan, State::Cold).find_map(|it| {
            let bytes = (it.ops as f64 * it.block_bytes as f64).min(it.range_bytes as f64);
            work_ns(it).map(|ns| ns / bytes).filter(|ns| ns.is_finite())
        }),
        ..look.mapping(whole)
    }
}

/// A pass in memory waits for nothing but a processor that others use, and that is no cost of what it does: its phases are
/// cut to the share of the time in which it ran.
pub(super) fn running(mut calibration: Calibration) -> Calibration {
    for point in calibration.points.iter_mut().filter(|it| it.state.is_filled()) {
        for pass in &mut point.passes {
            let phases = &mut pass.phases;
            let share = pass.cpu_ns.map_or(1.0, |cpu| cpu as f64 / phases.total_ns().max(1) as f64).min(1.0);
            let all = [Some(&mut phases.work_ns), phases.open_ns.as_mut(), phases.close_ns.as_mut()];
            all.into_iter().flatten().for_each(|ns| *ns = (*ns as f64 * share) as u64);
        }
    }
    calibration
}

/// The points of one fill.
pub(super) struct Look<'a> {
    points: Vec<&'a CalibrationPoint>,
    page: f64,
}

impl<'a> Look<'a> {
    /// Those after the usual fill, and of the device.
    pub(super) fn usual(calibration: &'a Calibration, page_bytes: u64) -> Look<'a> {
        let is_usual = |it: &&CalibrationPoint| it.fill().is_none_or(|fill| fill == Fill::Sequential);
        Look::new(calibration.points.iter().filter(is_usual).collect(), page_bytes)
    }

    pub(super) fn new(points: Vec<&'a CalibrationPoint>, page_bytes: u64) -> Look<'a> {
        Look { points, page: page_bytes.max(1) as f64 }
    }

    fn all(&self, arm: &str, workload: Workload, state: State) -> impl Iterator<Item = &'a CalibrationPoint> {
        self.points.iter().copied().filter(move |it| it.arm == arm && it.workload == workload && it.state == state)
    }

    /// The points of the largest span, of each block the one with the most work.
    fn in_whole(&self, arm: &str, workload: Workload, consume: Consume, whole: u64) -> Vec<&'a CalibrationPoint> {
        let points = self.all(arm, workload, State::Mapped);
        let mut points: Vec<_> = points.filter(|it| it.consume == consume && it.range_bytes == whole).collect();
        points.sort_by_key(|it| (it.block_bytes, Reverse(it.ops)));
        points.dedup_by_key(|it| it.block_bytes);
        points
    }

    /// What a block takes in the largest span, by its size.
    fn by_block(&self, arm: &str, workload: Workload, consume: Consume, whole: u64) -> Curve {
        let points = self.in_whole(arm, workload, consume, whole).into_iter();
        curve(points.filter_map(|it| Some((it.block_bytes as f64, ns_per_op(it)?))))
    }

    /// What a block at a random place costs beyond one in ascending order, once its neighbourhood was visited; and what
    /// the first visit costs beyond that, from the smallest block with many and with few operations.
    pub(super) fn random(&self, arm: &str, consume: Consume, scan: &Curve, whole: u64) -> (Curve, f64) {
        let much = self.in_whole(arm, Workload::Random, consume, whole);
        let visits = |it: &CalibrationPoint| first_visits(whole as f64, self.page, it.ops as f64) / it.ops as f64;
        let beyond = |it: &CalibrationPoint| Some(ns_per_op(it)? - scan.at(it.block_bytes as f64)?);
        let first_ns = much.first().and_then(|most| {
            let alike = self.all(arm, Workload::Random, State::Mapped).filter(|it| it.consume == consume);
            let alike = alike.filter(|it| it.range_bytes == whole && it.block_bytes == most.block_bytes);
            let least = alike.min_by_key(|it| it.ops).filter(|it| it.ops < most.ops)?;
            let first_ns = ((ns_per_op(least)? - ns_per_op(most)?) / (visits(least) - visits(most))).max(0.0);
            // The pass of few operations is short. Where it was disturbed, first visits would take all that a place costs
            // and nothing would be left for later ones. Then the two cannot be separated, and all of it counts for each place.
            Some(first_ns).filter(|ns| beyond(most).is_none_or(|all| visits(most) * ns < all))
        });
        let first_ns = first_ns.filter(|ns| ns.is_finite()).unwrap_or(0.0);
        let extra =
            much.iter().filter_map(|it| Some((it.block_bytes as f64, (beyond(it)? - visits(it) * first_ns).max(0.0))));
        (fading(curve(extra)), first_ns)
    }

    /// What looking at one byte of a mapping at a random place costs, and the first visit beyond that.
    pub(super) fn touches(&self, whole: u64) -> (Option<f64>, f64) {
        // All of it: beside other touches there is nothing that each of them does.
        let nothing = Curve { points: vec![(1.0, 0.0), (AS_A_SCAN, 0.0)] };
        let (each, first_ns) = self.random(MAPPED, Consume::Touch, &nothing, whole);
        (each.points.first().map(|it| it.1), first_ns)
    }

    fn spans_of(&self, arm: &str, workload: Workload) -> (Vec<&'a CalibrationPoint>, Option<u64>) {
        let consume = if arm == READ { Consume::Touch } else { Consume::Sum };
        let points: Vec<_> = self.all(arm, workload, State::Mapped).filter(|it| it.consume == consume).collect();
        let spans = |block: u64| {
            let mut spans: Vec<u64> =
                points.iter().filter(|it| it.block_bytes == block).map(|it| it.range_bytes).collect();
            spans.sort_unstable();
            spans.dedup();
            spans.len()
        };
        let block = points.iter().map(|it| it.block_bytes).max_by_key(|&it| (spans(it), u64::MAX - it));
        (points, block)
    }

    /// The block that was scanned in most spans.
    pub(super) fn middle_block(&self, arm: &str) -> u64 {
        self.spans_of(arm, Workload::Scan).1.unwrap_or(1)
    }

    /// What a block takes, by the span; of the block that was tried in most spans, with the most work.
    fn by_span(&self, arm: &str, workload: Workload) -> Curve {
        let block = self.spans_of(arm, workload).1;
        block.map_or_else(Curve::default, |block| self.of_block_by_span(arm, workload, block))
    }

    /// What blocks of one size take, by the span.
    pub(super) fn of_block_by_span(&self, arm: &str, workload: Workload, block: u64) -> Curve {
        let (mut points, _) = self.spans_of(arm, workload);
        points.retain(|it| it.block_bytes == block);
        points.sort_by_key(|it| (it.range_bytes, Reverse(it.ops)));
        points.dedup_by_key(|it| it.range_bytes);
        curve(points.into_iter().filter_map(|it| Some((it.range_bytes as f64, ns_per_op(it)?))))
    }

    pub(super) fn mapping(&self, whole: u64) -> UnitCosts {
        let cached = |arm| -> Vec<&CalibrationPoint> { self.all(arm, Workload::Scan, State::Cached).collect() };
        let (opened, mapped, populated) = (cached(READ), cached(MAPPED), cached(POPULATED));
        let open_of = |pass: &CalibrationPass| pass.phases.open_ns.map(|ns| ns as f64);
        let close_of = |pass: &CalibrationPass| pass.phases.close_ns.map(|ns| ns as f64);
        let smallest = |points: &[&CalibrationPoint], of: &dyn Fn(&CalibrationPass) -> Option<f64>| {
            points.iter().filter_map(|it| typical(it, of)).reduce(f64::min)
        };
        let map_ns = smallest(&mapped, &open_of);
        let line_of = |points: &[&CalibrationPoint], less: f64, of: &dyn Fn(&CalibrationPass) -> Option<f64>| {
            let pages = |it: &CalibrationPoint| it.range_bytes as f64 / self.page;
            line(points.iter().filter_map(|it| Some((pages(it), typical(it, of)? - less))).collect())
        };
        let populate = map_ns.and_then(|map_ns| line_of(&populated, map_ns, &open_of));
        let all_mapped: Vec<&CalibrationPoint> = mapped.iter().chain(&populated).copied().collect();

        let held = self.all(MAPPED, Workload::Scan, State::Mapped);
        let touch_mapped_page_ns = held
            .filter(|it| it.consume == Consume::Touch)
            .find_map(|it| Some(ns_per_op(it)? / (it.block_bytes as f64 / self.page).max(1.0)));
        let taken = |it: &CalibrationPoint| typical(it, &|pass| Some(pass.minor_faults as f64));
        let pages =
            |it: &CalibrationPoint| (it.ops as f64 * it.block_bytes as f64).min(it.range_bytes as f64) / self.page;
        let spent = |it: &CalibrationPoint| Some((work_ns(it)? - pages(it) * touch_mapped_page_ns?).max(0.0));
        let by_reach = |of: &dyn Fn(&CalibrationPoint) -> Option<f64>| {
            rising(curve(mapped.iter().filter_map(|it| Some((pages(it) * self.page, of(it)?)))))
        };
        let (faults, faults_ns) = (by_reach(&taken), by_reach(&spent));
        let most = faults.points.last().zip(faults_ns.points.last()).filter(|(faults, _)| faults.1 >= 1.0);
        let fault_ns = most.map(|(faults, ns)| ns.1 / faults.1);
        let pages_per_fault = most.map(|(faults, _)| (faults.0 / self.page / faults.1).max(1.0));
        let anywhere = self.all(MAPPED, Workload::Random, State::Cached).find_map(|it| {
            let faults = typical(it, &|pass| Some(pass.minor_faults as f64)).filter(|&faults| faults >= 1.0)?;
            let held = self.all(MAPPED, Workload::Random, State::Mapped).filter(|it| it.range_bytes == whole);
            let touching = held.min_by_key(|it| (it.block_bytes, it.consume != Consume::Touch, Reverse(it.ops)));
            let touching = touching.and_then(ns_per_op).unwrap_or(0.0);
            Some(((work_ns(it)? - it.ops as f64 * touching) / faults).max(0.0))
        });
        UnitCosts {
            touch_mapped_page_ns,
            open_ns: smallest(&opened, &open_of),
            close_ns: smallest(&opened, &close_of),
            map_ns,
            populate,
            unmap: line_of(&all_mapped, 0.0, &close_of),
            fault_ns,
            pages_per_fault,
            fault_pages_ns: fault_ns.zip(populate).map(|(ns, populate)| {
                let populated = populate.fixed_ns / faults.points.last().map_or(1.0, |it| it.1);
                (populated + populate.page_ns * pages_per_fault.unwrap_or(1.0)).min(ns)
            }),
            fault_random_ns: anywhere,
            faults,
            faults_ns,
            ..UnitCosts::default()
        }
    }

    fn device(&self) -> Vec<DeviceCost> {
        let depth = |it: &CalibrationPoint| match it.arm.parse::<schema::Arm>() {
            Ok(arm) if arm.method == "direct" => Some(1),
            Ok(arm) if arm.method == "uring" => arm.number("queue_depth"),
            _ => None,
        };
        let mut depths: Vec<u32> = self.points.iter().copied().filter_map(depth).collect();
        depths.sort_unstable();
        depths.dedup();
        let of = |wanted: u32| {
            let points = self.points.iter().copied().filter(move |it| depth(it) == Some(wanted));
            rising(curve(points.filter_map(|it| Some((it.block_bytes as f64, ns_per_op(it)?)))))
        };
        depths.into_iter().map(|queue_depth| DeviceCost { queue_depth, request: of(queue_depth) }).collect()
    }
}

/// The median, as of cells: passes of points and of cells alternate, and what disturbs the ones disturbs the others.
fn typical(point: &CalibrationPoint, of: &dyn Fn(&CalibrationPass) -> Option<f64>) -> Option<f64> {
    SortedValues::new(point.passes.iter().filter_map(of).collect()).map(|sample| sample.median())
}

fn work_ns(point: &CalibrationPoint) -> Option<f64> {
    typical(point, &|pass| Some(pass.phases.work_ns as f64))
}

/// Of a whole block: a scan ends its range with a short one.
fn ns_per_op(point: &CalibrationPoint) -> Option<f64> {
    let blocks = match point.workload.is_ascending() {
        true => bytes_in_order(point.ops, point.block_bytes, point.range_bytes) / point.block_bytes as f64,
        false => point.ops as f64,
    };
    Some(work_ns(point)? / Some(blocks).filter(|&it| it > 0.0)?)
}

/// By ascending size; of two at one size, the smaller.
fn curve(points: impl Iterator<Item = (f64, f64)>) -> Curve {
    let mut points: Vec<(f64, f64)> = points.filter(|(x, y)| x.is_finite() && y.is_finite() && *y >= 0.0).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup_by(|b, a| a.0 == b.0);
    Curve { points }
}

pub(super) fn change(of: &Curve, to: impl Fn(f64, f64) -> Option<f64>) -> Curve {
    curve(of.points.iter().filter_map(|&(x, y)| Some((x, to(x, y)?.max(0.0)))))
}

/// From what a block of one size costs by the span that it lies in, to what a block as large as the span costs: a buffer
/// of that size is where its bytes are then.
fn in_proportion(by_span: &Curve, block: f64) -> Curve {
    let smallest = by_span.points.first().map(|&(_, ns)| (1.0, ns / block));
    curve(smallest.into_iter().chain(by_span.points.iter().map(|&(span, ns)| (span, ns * span / block))))
}

/// How many neighbourhoods so many random places come to at least once.
pub(super) fn first_visits(range: f64, page: f64, draws: f64) -> f64 {
    let places = range / (page * NEIGHBOURHOOD_PAGES as f64);
    if places <= 1.0 { places.min(draws) } else { places * -(draws * (-1.0 / places).ln_1p()).exp_m1() }
}

/// How much more or less something costs in a span of `here` bytes than in one of `there`.
pub(super) fn of_span(by_span: &Curve, here: f64, there: f64) -> f64 {
    match by_span.level_at(here).zip(by_span.level_at(there)) {
        Some((here, there)) if there > 0.0 => here / there,
        _ => 1.0,
    }
}

/// More bytes never cost less.
fn rising(mut curve: Curve) -> Curve {
    let mut most = 0.0f64;
    for point in &mut curve.points {
        most = most.max(point.1);
        point.1 = most;
    }
    curve
}

/// Ends at nothing, where a random block is a scan of its own.
pub(super) fn fading(mut curve: Curve) -> Curve {
    curve.points.retain(|it| it.0 < AS_A_SCAN);
    if !curve.points.is_empty() {
        curve.points.push((AS_A_SCAN, 0.0));
    }
    curve
}

/// The least squares line through points of one or more sizes, neither of its parts negative.
fn line(points: Vec<(f64, f64)>) -> Option<PerPage> {
    let count = points.len() as f64;
    if points.is_empty() {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(|it| of(it) / count).sum::<f64>();
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let spread: f64 = points.iter().map(|it| (it.0 - x).powi(2)).sum();
    let slope = points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum::<f64>() / spread;
    let through_nothing = if x > 0.0 { (y / x).max(0.0) } else { 0.0 };
    let fitted = match slope {
        slope if !slope.is_finite() => PerPage { fixed_ns: 0.0, page_ns: through_nothing },
        slope if slope <= 0.0 => PerPage { fixed_ns: y.max(0.0), page_ns: 0.0 },
        slope if y - slope * x < 0.0 => PerPage { fixed_ns: 0.0, page_ns: through_nothing },
        slope => PerPage { fixed_ns: y - slope * x, page_ns: slope },
    };
    (fitted.fixed_ns.is_finite() && fitted.page_ns.is_finite()).then_some(fitted)
}
