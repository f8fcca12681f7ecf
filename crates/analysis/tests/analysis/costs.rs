//! Unit costs, cost breakdowns, predictions and forecasts: worlds whose costs are known, and records that were
//! measured.

use proptest::{collection::vec, prelude::*};
use report::words;
use schema::{
    Condition, Consume, Fill, Findings, Reading, Span, State, Workload,
    explanation::Explanation,
    findings::Verdict,
    no_cost::{NoCost, Operation},
    protocol::Phases,
    reason::Reason,
    record::{ColdPass, Confirmation, FilledRange},
    unit_cost::{
        Calibration, CalibrationPass, CalibrationPoint, Cause, Curve, ForecastRemark, Loop, NotCounted, Quantity,
        UnitCosts,
    },
    warning::Warning,
};

use crate::support::{GIB, Lab, MIB, Pass, random, scan};

/// What things cost in a made-up world, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct World {
    call: f64,
    copied_byte: f64,
    summed_byte: f64,
    random_read: f64,
    random_place: f64,
    random_touch: f64,
    open: f64,
    close: f64,
    map: f64,
    fault: f64,
    populated_page: f64,
    unmapped_page: f64,
    request: f64,
    device_byte: f64,
    paged_in: f64,
}

const WORLD: World = World {
    call: 250.0,
    copied_byte: 0.12,
    summed_byte: 0.05,
    random_read: 150.0,
    random_place: 40.0,
    random_touch: 15.0,
    open: 2000.0,
    close: 500.0,
    map: 6000.0,
    fault: 3000.0,
    populated_page: 20.0,
    unmapped_page: 10.0,
    request: 60_000.0,
    device_byte: 0.5,
    paged_in: 300.0,
};

const PAGE: f64 = 4096.0;
/// Pages that one fault maps, everywhere.
const WINDOW: f64 = 16.0;
const TOUCH: f64 = 25.0;
const RANGE: u64 = 64 * MIB;

impl World {
    /// Of one block: the same words as the model's, in other places.
    fn block_ns(&self, arm: &str, condition: (Workload, Consume), bytes: f64) -> f64 {
        let random = condition.0 == Workload::Random;
        let summed = if condition.1 == Consume::Sum { bytes * self.summed_byte } else { 0.0 };
        match arm {
            "native/pread" => {
                self.call + bytes * self.copied_byte + summed + if random { self.random_read } else { 0.0 }
            }
            "native/direct" => self.request + bytes * self.device_byte + summed,
            _ if condition.1 == Consume::Touch && random => ((bytes / PAGE).ceil() - 1.0) * TOUCH + self.random_touch,
            _ if condition.1 == Consume::Touch => (bytes / PAGE).ceil() * TOUCH,
            _ => summed + if random { self.random_place } else { 0.0 },
        }
    }

    fn point(&self, arm: &str, it: (Workload, Consume, State), block: u64, range: u64, ops: u64) -> CalibrationPoint {
        let (workload, consume, state) = it;
        let mut work = ops as f64 * self.block_ns(arm, (workload, consume), block as f64);
        let pages = range as f64 / PAGE;
        let faults = if arm == "native/mmap" && state == State::Cached { pages / WINDOW } else { 0.0 };
        if arm == "native/mmap" && state == State::Cached && workload == Workload::Random {
            work = ops as f64 * self.random_touch;
        }
        work += faults * self.fault;
        let around = (state == State::Cached).then_some(match arm {
            "native/pread" => (self.open, self.close),
            "native/mmap" => (self.map, self.close + pages * self.unmapped_page),
            _ => (self.map + pages * self.populated_page, self.close + pages * self.unmapped_page),
        });
        let phases = Phases {
            open_ns: around.map(|it| it.0 as u64),
            work_ns: work.round() as u64,
            close_ns: around.map(|it| it.1 as u64),
        };
        let pass = CalibrationPass { phases, minor_faults: faults as u64, cpu_ns: None };
        CalibrationPoint {
            arm: arm.into(),
            workload,
            consume,
            state,
            fill: None,
            block_bytes: block,
            offset: None,
            range_bytes: range,
            ops,
            passes: vec![pass; 3],
        }
    }

    fn calibration(&self) -> Calibration {
        use {
            Consume::{Sum, Touch},
            State::{AsIs, Cached, Mapped},
            Workload::{Random, Scan},
        };
        let mut points = Vec::new();
        for block in [64, 2048, 32 << 10, 512 << 10, 8 << 20] {
            let ops = (128 * MIB / block).min(131_072);
            points.push(self.point("native/pread", (Scan, Touch, Mapped), block, RANGE, ops));
            points.push(self.point("native/pread", (Scan, Sum, Mapped), block, RANGE, ops));
            points.push(self.point("native/mmap", (Scan, Sum, Mapped), block, RANGE, ops));
            if block < 8 << 20 {
                points.push(self.point("native/pread", (Random, Touch, Mapped), block, RANGE, ops));
                points.push(self.point("native/mmap", (Random, Sum, Mapped), block, RANGE, ops));
            }
        }
        for span in [32 << 10, MIB] {
            points.push(self.point("native/mmap", (Scan, Sum, Mapped), 32 << 10, span, 2048));
        }
        points.push(self.point("native/mmap", (Scan, Touch, Mapped), 32 << 10, RANGE, 2048));
        points.push(self.point("native/mmap", (Random, Touch, Mapped), 64, RANGE, 131_072));
        points.push(self.point("native/mmap", (Random, Touch, Mapped), 64, 32 << 10, 131_072));
        points.push(self.point("native/pread", (Scan, Touch, Cached), 32 << 10, RANGE, 1));
        for range in [RANGE / 8, RANGE] {
            for arm in ["native/mmap", "native/mmap+populate-read"] {
                points.push(self.point(arm, (Scan, Touch, Cached), 32 << 10, range, range / (32 << 10)));
            }
        }
        points.push(self.point("native/mmap", (Random, Touch, Cached), 4096, RANGE, 1024));
        let mut stream = self.point("native/read", (Scan, Touch, State::Cold), 320 << 10, 16 * MIB, 51);
        stream.passes.iter_mut().for_each(|it| it.phases.work_ns = (51.0 * 327_680.0 * self.device_byte) as u64);
        points.push(stream);
        let mut paged_in = self.point("native/pread", (Random, Touch, State::Cold), 640 << 10, RANGE, 16);
        let each = self.request + 655_360.0 * self.device_byte + 160.0 * self.paged_in;
        paged_in.passes.iter_mut().for_each(|it| it.phases.work_ns += (16.0 * each) as u64);
        points.push(paged_in);
        for request in [4096, 64 << 10, MIB] {
            points.push(self.point("native/direct", (Random, Touch, AsIs), request, RANGE, 64));
        }
        let each = |ns: u64| Loop { times: 1000, ns: ns * 1000 };
        Calibration { elapsed_s: 3.0, clock: each(30), bare_call: each(90), offset: 0, points, missing: vec![] }
    }

    /// What a cell of the record takes, a block.
    fn cell_ns(&self, arm: &str, condition: &Condition) -> f64 {
        let ops = condition.ops as f64;
        let block = self.block_ns(arm, (condition.workload, condition.consume), condition.block_bytes as f64);
        let pages = condition.range.bytes as f64 / PAGE;
        let around = match (arm, condition.state) {
            ("native/pread", State::Cached) => self.open + self.close,
            ("native/mmap", State::Cached) => {
                self.map + self.close + pages * (self.fault / WINDOW + self.unmapped_page)
            }
            _ => 0.0,
        };
        block + around / ops
    }
}

fn close_to(found: Option<f64>, planted: f64) {
    let found = found.expect("it was planted");
    assert!((found / planted - 1.0).abs() < 0.03, "{found} for {planted}");
}

/// pread against mmap in that world, with counted faults, and each time changed by `change`.
fn lab(conditions: &[Condition], change: impl Fn(&str, f64) -> f64) -> Lab {
    let mut lab = Lab::new();
    lab.record.calibration = Reading::Value(WORLD.calibration());
    for condition in conditions {
        let index = lab.condition(condition.clone());
        for arm in ["pread", "mmap"] {
            let cell = lab.cell(index, arm);
            let arm = format!("native/{arm}");
            let mapped_in_pass = arm == "native/mmap" && condition.state == State::Cached;
            let faults = if mapped_in_pass { condition.range.bytes as f64 / PAGE / WINDOW } else { 0.0 };
            lab.measure(cell, 8, change(&arm, WORLD.cell_ns(&arm, condition)), |_, pass: &mut Pass| {
                pass.reads("minor_faults", faults);
            });
        }
    }
    lab
}

fn both_states(block: &str) -> Vec<Condition> {
    [State::Cached, State::Mapped].map(|state| scan(block, state)).to_vec()
}

#[test]
fn a_disturbed_pass_of_few_reads_leaves_no_random_place_for_free() {
    let few = [("native/pread", Consume::Touch), ("native/mmap", Consume::Sum)];
    for times in [1, 3, 30, 3000] {
        let mut calibration = WORLD.calibration();
        for (arm, consume) in few {
            let mut point = WORLD.point(arm, (Workload::Random, consume, State::Mapped), 64, RANGE, 1024);
            point.passes.iter_mut().for_each(|it| it.phases.work_ns *= times);
            calibration.points.push(point);
        }
        let costs = analysis::fit(&calibration, 4096);
        // In this world the first visit costs what each later one does, so all that is left out of a place is error.
        let places = RANGE as f64 / PAGE / 8.0;
        let visited = places * (1.0 - (-131_072.0 / places).exp()) / 131_072.0;
        for (curve, first_ns, planted) in [
            (&costs.read_random, costs.read_first_ns, WORLD.random_read),
            (&costs.mapped_random, costs.mapped_first_ns, WORLD.random_place),
        ] {
            let later = curve.level_at(64.0).unwrap();
            assert!(later > 0.0, "{times}: {later}");
            close_to(Some(later + visited * first_ns), planted);
        }
    }
}

#[test]
fn planted_costs_are_recovered() {
    let costs = analysis::fit(&WORLD.calibration(), 4096);
    // The smallest block has bytes to copy too.
    close_to(costs.read_call_ns, WORLD.call + 64.0 * WORLD.copied_byte);
    close_to(costs.copy.at(65_536.0), 65_536.0 * WORLD.copied_byte);
    close_to(costs.sum_mapped.at(65_536.0), 65_536.0 * WORLD.summed_byte);
    close_to(costs.sum_buffer.at(65_536.0), 65_536.0 * WORLD.summed_byte);
    close_to(costs.read_random.level_at(2048.0), WORLD.random_read);
    close_to(costs.mapped_random.level_at(2048.0), WORLD.random_place);
    close_to(costs.touch_random_ns, WORLD.random_touch);
    close_to(costs.open_ns, WORLD.open);
    close_to(costs.map_ns, WORLD.map);
    close_to(costs.populate.map(|it| it.page_ns), WORLD.populated_page);
    close_to(costs.unmap.map(|it| it.page_ns), WORLD.unmapped_page);
    close_to(costs.fault_ns, WORLD.fault);
    close_to(costs.fault_random_ns, WORLD.fault);
    close_to(costs.pages_per_fault, WINDOW);
    close_to(costs.fault_pages_ns, WINDOW * WORLD.populated_page);
    close_to(costs.device[0].request.at(65_536.0), WORLD.request + 65_536.0 * WORLD.device_byte);
    close_to(costs.stream_byte_ns, WORLD.device_byte);
    close_to(costs.page_in_ns, WORLD.paged_in);
    assert_eq!((costs.bare_call_ns, costs.clock_ns, costs.range_bytes), (Some(90.0), Some(30.0), RANGE));
}

#[test]
fn what_a_page_costs_that_is_brought_in_is_no_more_than_the_processor_worked_for_it() {
    let mut calibration = WORLD.calibration();
    let is_paged_in = |it: &&mut CalibrationPoint| it.block_bytes == 640 << 10;
    let point = calibration.points.iter_mut().find(is_paged_in).unwrap();
    // Of two passes, one that the device kept waiting 0.2 s.
    let cpu_ns = (16.0 * 160.0 * WORLD.paged_in * 1.1) as u64;
    let passes = [0, 200_000_000].map(|more| {
        let mut pass = CalibrationPass { cpu_ns: Some(cpu_ns), ..point.passes[0] };
        pass.phases.work_ns += more;
        pass
    });
    point.passes = passes.into();
    let costs = analysis::fit(&calibration, 4096);
    assert!((costs.page_in_ns.unwrap() / WORLD.paged_in - 1.1).abs() < 0.01, "{:?}", costs.page_in_ns);
}

/// A sum of a block waits for its lines one after the other, and of touches many are under way: charged as a sum of 4 KiB, each
/// of them took twenty times as long as it did.
#[test]
fn a_touch_at_a_random_place_is_charged_as_one_and_not_as_a_sum_of_its_block() {
    let touched = |block: &str| Condition { consume: Consume::Touch, ..random(block, State::Mapped) };
    let lab = lab(&[touched("4 KiB"), touched("16 KiB")], |_, ns| ns);
    let breakdowns = lab.analyze().costs.unwrap().breakdowns;
    let mapped: Vec<_> = breakdowns.iter().filter(|it| it.arm == "native/mmap").collect();
    assert_eq!(mapped.len(), 2);
    for (it, pages) in mapped.into_iter().zip([1.0, 4.0]) {
        let ns = it.components_ns / it.condition.ops as f64;
        close_to(Some(ns), WORLD.random_touch + (pages - 1.0) * TOUCH);
    }
    // A run of before has no such points.
    let mut before = lab.record.clone();
    if let Reading::Value(calibration) = &mut before.calibration {
        let is_touch = |it: &CalibrationPoint| {
            (it.workload, it.consume, it.state) == (Workload::Random, Consume::Touch, State::Mapped)
                && it.arm == "native/mmap"
        };
        calibration.points.retain(|it| !is_touch(it));
    }
    let costs = analysis::analyze(&before).costs.unwrap();
    assert!(costs.breakdowns.iter().all(|it| it.arm != "native/mmap"));
}

/// What folios of one size cost, by the line that was measured on folios of 4 KiB to 1 MiB, and by what a page takes to unmap.
#[derive(Clone, Copy)]
struct Folios {
    fill: Fill,
    pages: f64,
    unmapped_page: f64,
}

/// Small folios, scattered and of 128 KiB.
const FOLIOS: [Folios; 2] = [
    Folios { fill: Fill::Random, pages: 1.0, unmapped_page: 340.0 },
    Folios { fill: Fill::Written(128 << 10), pages: 32.0, unmapped_page: 36.0 },
];

impl Folios {
    /// The kernel maps the folio, or 16 pages if that is more.
    fn window(self) -> f64 {
        self.pages.max(WINDOW)
    }

    fn fault(self) -> f64 {
        2250.0 + 160.0 * self.window() / self.pages + 11.0 * self.window()
    }

    fn copy_share(self) -> f64 {
        1.0 + 0.3 / self.pages
    }

    /// A place that misses the TLB takes longer where pages are small.
    fn random_place(self) -> f64 {
        WORLD.random_place + 60.0
    }

    /// In this world a pass after this fill.
    fn world(self) -> World {
        World {
            fault: self.fault(),
            unmapped_page: self.unmapped_page,
            copied_byte: WORLD.copied_byte * self.copy_share(),
            random_place: self.random_place(),
            ..WORLD
        }
    }

    fn points(self) -> Vec<CalibrationPoint> {
        use {
            Consume::{Sum, Touch},
            State::{Cached, Mapped},
            Workload::{Random, Scan},
        };
        let (world, window, middle) = (self.world(), self.window(), 32 << 10);
        let mut points = vec![
            world.point("native/mmap", (Random, Touch, Cached), 2048, RANGE, 256),
            world.point("native/mmap", (Scan, Touch, Mapped), middle, RANGE, 2048),
            world.point("native/pread", (Scan, Touch, Mapped), middle, RANGE, 2048),
            world.point("native/mmap", (Scan, Sum, Mapped), middle, RANGE, 2048),
            world.point("native/pread", (Random, Touch, Mapped), 64, RANGE, 131_072),
            world.point("native/mmap", (Random, Sum, Mapped), 64, RANGE, 131_072),
            world.point("native/mmap+populate-read", (Scan, Touch, Cached), middle, RANGE, RANGE / middle),
        ];
        for range in [RANGE / 8, RANGE] {
            points.push(world.point("native/mmap", (Scan, Touch, Cached), middle, range, range / middle));
        }
        for point in &mut points {
            point.fill = Some(self.fill);
            // The window of the other world is smaller.
            for pass in &mut point.passes {
                let faults = (pass.minor_faults as f64 * WINDOW / window) as u64;
                pass.phases.work_ns -= ((pass.minor_faults - faults) as f64 * world.fault) as u64;
                pass.minor_faults = faults;
            }
        }
        points
    }
}

/// The usual fill, and others in part of the window.
fn calibration_of_fills() -> Calibration {
    let mut calibration = WORLD.calibration();
    calibration.points.extend(FOLIOS.iter().flat_map(|it| it.points()));
    calibration
}

#[test]
fn planted_costs_are_recovered_by_the_size_of_folios() {
    let calibration = calibration_of_fills();
    let usual = analysis::fit(&calibration, 4096);
    assert_eq!(usual, analysis::fit(&WORLD.calibration(), 4096), "other fills do not change the usual costs");
    let fills = analysis::fit_fills(&calibration, 4096, &usual);
    assert_eq!(fills.iter().map(|it| it.fill).collect::<Vec<_>>(), FOLIOS.map(|it| it.fill));
    for (found, planted) in fills.iter().zip(FOLIOS) {
        let costs = &found.costs;
        assert_eq!(found.calibrated_bytes, RANGE);
        close_to(costs.fault_ns, planted.fault());
        close_to(costs.fault_random_ns, planted.fault());
        close_to(costs.pages_per_fault, planted.window());
        close_to(costs.unmap.map(|it| it.page_ns), planted.unmapped_page);
        close_to(costs.copy.at(65_536.0), 65_536.0 * WORLD.copied_byte * planted.copy_share());
        close_to(costs.sum_mapped.at(65_536.0), 65_536.0 * WORLD.summed_byte);
        close_to(costs.mapped_random.level_at(64.0), planted.random_place());
        close_to(costs.read_random.level_at(64.0), WORLD.random_read);
        close_to(costs.map_ns, WORLD.map);
        let both = costs.fault_and_unmap().unwrap();
        close_to(Some(both.ns), planted.fault() + planted.window() * planted.unmapped_page);
    }
}

#[test]
fn a_pass_that_waited_for_a_processor_costs_what_it_ran() {
    let mut calibration = calibration_of_fills();
    for pass in calibration.points.iter_mut().filter(|it| it.state.is_filled()).flat_map(|it| &mut it.passes) {
        pass.cpu_ns = Some(pass.phases.total_ns());
        let phases = &mut pass.phases;
        for ns in [Some(&mut phases.work_ns), phases.open_ns.as_mut(), phases.close_ns.as_mut()].into_iter().flatten() {
            *ns *= 3;
        }
    }
    let (waited, ran) = (analysis::fit(&calibration, 4096), analysis::fit(&WORLD.calibration(), 4096));
    close_to(waited.fault_ns, ran.fault_ns.unwrap());
    close_to(waited.map_ns, WORLD.map);
    let fills = analysis::fit_fills(&calibration, 4096, &waited);
    close_to(fills[0].costs.unmap.map(|it| it.page_ns), FOLIOS[0].unmapped_page);
}

#[test]
fn a_short_block_at_the_end_of_a_range_is_not_counted_as_a_whole_one() {
    let copies = |range: u64, read: f64| {
        let mut calibration = WORLD.calibration();
        let large = |it: &&mut CalibrationPoint| {
            (it.arm.as_str(), it.workload, it.block_bytes, it.state)
                == ("native/pread", Workload::Scan, 8 * MIB, State::Mapped)
        };
        for point in calibration.points.iter_mut().filter(large) {
            // In each round a block of 8 MiB, and what is left of the range.
            (point.range_bytes, point.ops) = (range, 16);
            let work = read * WORLD.block_ns("native/pread", (Workload::Scan, point.consume), 8.0 * MIB as f64) / 8.0;
            point.passes.iter_mut().for_each(|it| it.phases.work_ns = work as u64);
        }
        analysis::fit(&calibration, 4096).copy.at(8.0 * MIB as f64)
    };
    let (even, uneven) = (copies(16 * MIB, 128.0).unwrap(), copies(9 * MIB, 72.0).unwrap());
    assert!((uneven / even - 1.0).abs() < 0.02, "{uneven} against {even}");
}

/// Warnings of a run whose calibration has further points: scans in memory by these arms, each so many times slower than `pread`.
fn warned(further: &[(&str, Consume, f64)]) -> Vec<Warning> {
    let mut lab = lab(&both_states("64 KiB"), |_, ns| ns);
    let mut calibration = WORLD.calibration();
    let scanned = |it: &&CalibrationPoint| {
        (it.arm.as_str(), it.workload, it.consume, it.state)
            == ("native/pread", Workload::Scan, Consume::Touch, State::Mapped)
    };
    let usual = calibration.points.iter().find(scanned).unwrap().clone();
    for &(arm, consume, times) in further {
        let mut point = CalibrationPoint { arm: arm.into(), consume, ..usual.clone() };
        let slow = |ns: u64| (ns as f64 * times) as u64;
        point.passes.iter_mut().for_each(|it| it.phases.work_ns = slow(it.phases.work_ns));
        calibration.points.push(point);
    }
    lab.record.calibration = Reading::Value(calibration);
    lab.analyze().warnings
}

#[test]
fn a_processor_that_copies_slowly_to_where_malloc_has_its_buffers_is_warned_of() {
    let slower = |times: f64| {
        let slow = |it: &Warning| match it {
            Warning::SlowBuffers { times, .. } => Some(*times),
            _ => None,
        };
        warned(&[("native/pread+malloc", Consume::Touch, times)]).iter().find_map(slow)
    };
    assert_eq!(slower(1.0), None);
    assert!((slower(7.0).unwrap() - 7.0).abs() < 0.1);
}

#[test]
fn a_processor_that_fetches_little_ahead_of_a_loop_over_a_mapping_is_warned_of() {
    let slower = |times: f64| {
        let slow = |it: &Warning| match it {
            Warning::SlowLoops { times, .. } => Some(*times),
            _ => None,
        };
        let both = [("native/pread", Consume::SumBytes, 1.0), ("native/mmap", Consume::SumBytes, times)];
        warned(&both).iter().find_map(slow)
    };
    assert_eq!(slower(0.9), None);
    assert!((slower(2.0).unwrap() - 2.0).abs() < 0.1);
}

#[test]
fn a_fill_that_was_not_calibrated_has_no_prediction_and_no_account() {
    let mut lab = lab(&[Condition { fill: Some(Fill::Random), ..scan("4 KiB", State::Cached) }], |_, ns| ns);
    let accounts = |lab: &Lab| lab.analyze().costs.unwrap().breakdowns.len();
    let answer = |lab: &Lab, fill| {
        let asked = analysis::ForecastQuestion { fill: Some(fill), ..asked(RANGE, GIB) };
        analysis::forecast(&lab.record, &asked).unwrap().arms.remove(1).seconds
    };
    assert_eq!(accounts(&lab), 0);
    assert_eq!(answer(&lab, Fill::Random), Reading::unavailable(NoCost::Fill { fill: Fill::Random }));
    lab.record.calibration = Reading::Value(calibration_of_fills());
    assert_eq!(accounts(&lab), 2);
    let seconds = |fill| answer(&lab, fill).value().unwrap().median;
    // Each window is met by a million reads.
    let [small, usual] = [seconds(Fill::Random), seconds(Fill::Sequential)];
    let pages = RANGE as f64 / PAGE;
    let more = (FOLIOS[0].fault() - WORLD.fault) * pages / WINDOW
        + (FOLIOS[0].unmapped_page - WORLD.unmapped_page) * pages
        + 1e6 * (FOLIOS[0].random_place() - WORLD.random_place);
    close_to(Some((small - usual) * 1e9), more);
    assert!(answer(&lab, Fill::Written(4096)).value().is_none());
}

#[test]
fn what_is_present_is_priced_as_the_fill_that_left_such_folios_and_otherwise_not() {
    let mut record = lab(&[], |_, ns| ns).record;
    record.calibration = Reading::Value(calibration_of_fills());
    let like = |pages, folio| analysis::faults_on(&record, pages, folio).map(|it| it.like).ok();
    assert_eq!(like(32.0, None), Some(Fill::Written(128 << 10)));
    assert_eq!(like(16.0, None), Some(Fill::Random), "the dearest of those that look alike");
    assert_eq!(like(16.0, Some(4096)), Some(Fill::Random));
    assert_eq!(like(16.0, Some(64 << 10)), None, "64 KiB were not calibrated");
    assert_eq!(like(512.0, None), None);
    // Folios of 4 KiB were: to calibrate them once more changes nothing.
    let lacks = |pages, folio| analysis::faults_on(&record, pages, Some(folio)).unwrap_err();
    assert_eq!(lacks(2.0, 4096), NoCost::PagesPerFault { pages: 2 });
    assert_eq!(lacks(16.0, 64 << 10), NoCost::Folios { bytes: 64 << 10 });
    let mut seen = record.clone();
    seen.fills.push(FilledRange {
        range: Span { offset: 0, bytes: RANGE },
        fill: None,
        method: String::new(),
        elapsed_ns: 1,
        folio_orders: Reading::unavailable("not root"),
        pages_per_fault: Some(420.0),
        looked_again: None,
        kept: false,
    });
    let mixed = analysis::faults_on(&seen, 512.0, Some(2 << 20)).unwrap();
    assert_eq!(
        (mixed.like, mixed.in_order.pages),
        (Fill::Sequential, 420.0),
        "faults are held against faults like them"
    );
    let found = analysis::faults_on(&record, 16.0, Some(4096)).unwrap();
    close_to(Some(found.here.ns), FOLIOS[0].fault() + WINDOW * FOLIOS[0].unmapped_page);
    close_to(Some(found.in_order.ns), WORLD.fault + WINDOW * WORLD.unmapped_page);
    record.calibration = Reading::unavailable("not calibrated");
    assert!(analysis::faults_on(&record, 16.0, None).is_err());
}

#[test]
fn cells_that_were_calibrated_or_repeat_a_prediction_are_not_counted() {
    let conditions = [scan("32 KiB", State::Cached), scan("4 KiB", State::Cached), scan("4 KiB", State::Cached)];
    let predictions = lab(&conditions, |_, ns| ns).analyze().costs.unwrap().predictions;
    let of = |index: usize| {
        let cells = predictions.cells.iter().filter(move |it| it.id.condition.condition_index == index);
        cells.map(|it| it.not_counted).collect::<Vec<_>>()
    };
    assert_eq!(of(0), [Some(NotCounted::Calibrated); 2]);
    assert_eq!(of(1), [None; 2]);
    assert_eq!(of(2), [Some(NotCounted::Repeated); 2]);
    assert!(predictions.cells.iter().all(|it| !it.held_out || it.not_counted.is_none()));
    assert_eq!(predictions.cells.iter().filter(|it| it.held_out).count(), 1);
    // After another fill the same block was not calibrated.
    let random = Condition { fill: Some(Fill::Random), ..scan("64 KiB", State::Cached) };
    let mut other = lab(&[random], |_, ns| ns * 3.0);
    other.record.calibration = Reading::Value(calibration_of_fills());
    let predictions = other.analyze().costs.unwrap().predictions;
    assert_eq!(predictions.cells.iter().filter(|it| it.not_counted.is_none()).count(), 2);
}

#[test]
fn an_account_explains_what_its_costs_made() {
    let conditions: Vec<Condition> = ["256 B", "4 KiB", "64 KiB"].iter().flat_map(|block| both_states(block)).collect();
    let findings = lab(&conditions, |_, ns| ns).analyze();
    let costs = findings.costs.as_ref().unwrap();
    assert_eq!(costs.breakdowns.len(), 12);
    for comparison in &findings.comparisons {
        let share = comparison.explained_share.unwrap();
        assert!(share > 0.9, "{share} of {}", comparison.condition.label());
        let explanation = words::explanation(comparison.explanation.as_ref().unwrap());
        assert!(
            explanation.contains("pread:")
                && explanation.contains("copied")
                && explanation.contains("measured difference")
        );
    }
    assert!(costs.explained_median.unwrap() > 0.9);
}

#[test]
fn the_main_cause_of_a_difference_is_the_one_that_makes_most_of_it() {
    // Small reads of mapped pages: the call is what a mapping does not make. Large ones: the copy is.
    let conditions = [scan("256 B", State::Mapped), scan("64 KiB", State::Mapped)];
    let causes = lab(&conditions, |_, ns| ns).analyze().answer.causes;
    let found: Vec<_> = causes.iter().map(|it| (it.id.condition_index, it.cause)).collect();
    assert_eq!(found, [(0, Cause::SystemCalls), (1, Cause::Copies)]);
    for it in &causes {
        assert_eq!((&it.faster.arm[..], &it.slower.arm[..]), ("native/mmap", "native/pread"));
        assert!(it.slower.cause_ns > it.slower.pass_ns / 3.0 && it.slower.cause_ns < it.slower.pass_ns);
        assert_eq!(it.faster.cause_ns, 0.0);
    }
    // What the costs do not explain has no cause.
    let unexplained = lab(&conditions, |arm, ns| if arm == "native/pread" { ns * 10.0 } else { ns });
    assert!(unexplained.analyze().answer.causes.is_empty());
}

#[test]
fn what_is_not_explained_is_said_and_so_is_what_is_too_much() {
    let of = |pread: f64| {
        let lab = lab(&[scan("4 KiB", State::Mapped)], |arm, ns| if arm == "native/pread" { ns * pread } else { ns });
        lab.analyze().comparisons.remove(0)
    };
    let missing = of(2.0);
    assert!(missing.explained_share.unwrap() < 0.6);
    assert!(words::explanation(&missing.explanation.unwrap()).contains("of it, not explained "));
    let too_much = of(0.8);
    assert!(too_much.explained_share.unwrap() < 0.9);
    assert!(words::explanation(&too_much.explanation.unwrap()).contains(" too much"));
    let reversed = of(0.1);
    assert_eq!(reversed.explained_share, Some(0.0));
    assert!(words::explanation(&reversed.explanation.unwrap()).ends_with("not explained"));
}

#[test]
fn an_account_of_the_rounds_does_not_explain_another_answer_at_the_size_of_the_job() {
    let mut lab = lab(&[scan("4 KiB", State::Mapped)], |_, ns| ns);
    let described = lab.analyze().comparisons.remove(0);
    let turned = if described.verdict == Verdict::Faster { 0.5 } else { 2.0 };
    lab.record.confirmations.push(Confirmation {
        condition: 0,
        baseline_cell: described.baseline_cell,
        arm_cell: described.id.cell,
        range: described.condition.range,
        ops: 8 * described.condition.ops,
        pairs: vec![[1e9 * turned, 1e9]; 5],
        cold: vec![],
        invalid: vec![],
    });
    let comparison = lab.analyze().comparisons.remove(0);
    assert_eq!(comparison.answer_of, schema::findings::AnswerOf::Job);
    assert_eq!((comparison.explanation, comparison.explained_share), (None, None));
    assert!(described.explanation.is_some() && described.explained_share.is_some());
}

#[test]
fn arms_that_are_the_same_have_no_difference_to_explain() {
    let mapped = WORLD.cell_ns("native/mmap", &scan("4 KiB", State::Mapped));
    let findings = lab(&[scan("4 KiB", State::Mapped)], |_, _| mapped).analyze();
    assert_eq!(findings.comparisons[0].verdict, Verdict::Same);
    assert_eq!(findings.comparisons[0].explained_share, None);
    assert!(matches!(findings.comparisons[0].explanation, Some(Explanation::Costs { .. })));
}

#[test]
fn what_was_not_calibrated_has_no_account_and_keeps_its_counted_facts() {
    let changes: [fn(&mut Condition); 6] = [
        |it| it.threads = 2,
        |it| it.beside = schema::Beside::Beat,
        |it| it.consume = Consume::Lines,
        |it| it.state = State::AsIs,
        |it| it.consumed_percent = 25,
        |it| it.fill = Some(schema::Fill::Random),
    ];
    for change in changes {
        let mut condition = scan("4 KiB", State::Mapped);
        change(&mut condition);
        let findings = lab(&[condition], |_, _| 500.0).analyze();
        assert_eq!(findings.comparisons[0].explained_share, None);
        assert!(findings.costs.unwrap().breakdowns.is_empty());
        assert!(!matches!(findings.comparisons[0].explanation, Some(Explanation::Costs { .. })));
    }
}

#[test]
fn random_blocks_that_lie_across_pages_have_no_account() {
    let accounts = |change: fn(&mut Condition)| {
        let mut condition = random("4 KiB", State::Mapped);
        change(&mut condition);
        lab(&[condition], |_, ns| ns).analyze().costs.unwrap().breakdowns.len()
    };
    assert_eq!(accounts(|_| {}), 2);
    assert_eq!(accounts(|it| it.aligned = false), 0);
    assert_eq!(accounts(|it| it.range.offset = 512), 0);
    assert_eq!(accounts(|it| it.range.offset = 8192), 2);
    // Half of 3 KiB, and hardly any of 200 B.
    assert_eq!(accounts(|it| it.block_bytes = 3072), 0);
    assert_eq!(accounts(|it| it.block_bytes = 200), 2);
}

#[test]
fn a_mapping_that_cannot_be_read_only_has_no_forecast() {
    let record = lab(&both_states("4 KiB"), |_, ns| ns).record;
    let of = |arm: &str| seconds(&record, &question(arm, Workload::Scan, State::Cached)).is_some();
    assert!(of("mmap+populate-read") && !of("mmap+populate-write"));
}

#[test]
fn without_a_calibration_nothing_changes() {
    let mut lab = lab(&both_states("4 KiB"), |_, ns| ns);
    lab.record.calibration = Reading::unavailable("not calibrated");
    let findings = lab.analyze();
    assert_eq!(findings.costs, None);
    assert!(findings.comparisons.iter().all(|it| it.explained_share.is_none()));
}

#[test]
fn a_tenth_of_the_cells_is_held_out_and_the_seed_draws_it() {
    let blocks = ["128 B", "256 B", "512 B", "1 KiB", "4 KiB", "8 KiB", "16 KiB"];
    let conditions: Vec<Condition> = blocks.iter().flat_map(|block| both_states(block)).collect();
    let mut lab = lab(&conditions, |_, ns| ns);
    let drawn = |findings: &Findings| -> Vec<bool> {
        findings.costs.as_ref().unwrap().predictions.cells.iter().map(|it| it.held_out).collect()
    };
    let first = lab.analyze();
    let predictions = &first.costs.as_ref().unwrap().predictions;
    assert_eq!(predictions.cells.len(), 28);
    assert_eq!(drawn(&first).iter().filter(|it| **it).count(), 3);
    assert!(predictions.worst.unwrap() < 0.12, "{predictions:#?}");
    assert!(predictions.held_out_median.unwrap() <= predictions.held_out_worst.unwrap());
    lab.record.seed = 2;
    assert_ne!(drawn(&lab.analyze()), drawn(&first));
}

fn asked(file_bytes: u64, memory_bytes: u64) -> analysis::ForecastQuestion {
    analysis::ForecastQuestion {
        arms: ["pread", "mmap", "stdio"].map(|it| it.parse().unwrap()).to_vec(),
        workload: Workload::Random,
        consume: Consume::Sum,
        block_bytes: 200,
        ops: 1_000_000,
        file_bytes,
        memory_bytes,
        state: State::Cached,
        fill: None,
        threads: 1,
    }
}

#[test]
fn a_forecast_waits_for_the_device_where_memory_ends_and_not_before() {
    let record = lab(&both_states("4 KiB"), |_, ns| ns).record;
    let fits = analysis::forecast(&record, &asked(RANGE, RANGE)).unwrap();
    let larger = analysis::forecast(&record, &asked(2 * RANGE, RANGE)).unwrap();
    assert_eq!((fits.resident_share, larger.resident_share), (1.0, 0.5));
    let of_device = |forecast: &schema::unit_cost::Forecast| {
        forecast.arms[0].components.iter().any(|it| it.cause == schema::unit_cost::Cause::Device)
    };
    assert!(!of_device(&fits) && of_device(&larger));
    let seconds = |forecast: &schema::unit_cost::Forecast| forecast.arms[0].seconds.value().unwrap().median;
    // A call, a random place and little else; and half of the places from the device.
    assert!((0.35..0.6).contains(&seconds(&fits)), "{}", seconds(&fits));
    assert!(seconds(&larger) > 500_000.0 * WORLD.request / 1e9);
    let is_half = |it: &ForecastRemark| match it {
        ForecastRemark::RandomMisses { resident_share, .. } => (0.495..0.505).contains(resident_share),
        _ => false,
    };
    assert!(larger.remarks.iter().any(is_half), "{:?}", larger.remarks);
    let stdio = Operation::Method { method: "stdio".into() };
    assert_eq!(fits.arms[2].seconds, Reading::unavailable(NoCost::from(stdio)));
}

#[test]
fn an_interval_holds_its_forecast_and_is_wider_beyond_what_was_calibrated() {
    let conditions: Vec<Condition> = ["256 B", "4 KiB", "64 KiB"].iter().flat_map(|block| both_states(block)).collect();
    let record = lab(&conditions, |arm, ns| if arm == "native/pread" { ns * 1.2 } else { ns * 0.9 }).record;
    let width = |file: u64| {
        let seconds = *analysis::forecast(&record, &asked(file, 2 * GIB)).unwrap().arms[0].seconds.value().unwrap();
        assert!(seconds.ci_low <= seconds.median && seconds.median <= seconds.ci_high);
        seconds.ci_high / seconds.ci_low
    };
    assert!(width(RANGE) > 1.2 && width(GIB) > width(RANGE));
}

/// Cold random reads of 4 KiB, so many a pass, that take what unit costs say; of the mapping so many times that.
fn cold_lab(jobs: &[u64], slower: f64) -> Lab {
    cold_lab_of(&jobs.iter().map(|&ops| (ops, slower)).collect::<Vec<_>>())
}

/// The same with a factor for each number of reads.
fn cold_lab_of(jobs: &[(u64, f64)]) -> Lab {
    let mut lab = lab(&[], |_, ns| ns);
    for &(ops, slower) in jobs {
        let condition = Condition { state: State::Cold, ops, ..random("4 KiB", State::Cached) };
        let asked = analysis::ForecastQuestion {
            block_bytes: 4096,
            ops,
            state: State::Cold,
            ..asked(condition.file_bytes, lab.record.environment.cache_memory_bytes())
        };
        let range = Span { offset: 0, bytes: condition.file_bytes };
        let index = lab.condition(Condition { range, ..condition });
        let arms = analysis::forecast(&lab.record, &asked).unwrap().arms;
        for (at, (arm, factor)) in [("pread", 1.0), ("mmap", slower)].into_iter().enumerate() {
            let cell = lab.cell(index, arm);
            let seconds: f64 = arms[at].components.iter().map(|it| it.ns / 1e9).sum();
            lab.measure(cell, 8, seconds * 1e9 / ops as f64 * factor, |_, _| {});
        }
    }
    lab
}

#[test]
fn from_so_many_cold_reads_on_the_mapping_is_expected_to_be_faster() {
    let mut lab = cold_lab(&[100], 1.0);
    lab.cell(0, "mmap+random");
    let record = &lab.record;
    let file_bytes = record.conditions[0].file_bytes;
    let costs = lab.analyze().costs.unwrap();
    let [it] = &costs.break_evens[..] else { panic!("a read that misses brings in a page: {:#?}", costs.break_evens) };
    assert_eq!((it.baseline.as_str(), it.arm.as_str(), it.file_bytes), ("native/pread", "native/mmap", file_bytes));
    assert!(it.reads.ci_low <= it.reads.median && it.reads.median <= it.reads.ci_high, "{:?}", it.reads);
    // The prediction that a user can ask for says the same on both sides.
    let ratio = |reads: f64| {
        let asked = analysis::ForecastQuestion {
            block_bytes: 4096,
            ops: reads as u64,
            state: State::Cold,
            ..asked(file_bytes, u64::MAX)
        };
        let arms = analysis::forecast(record, &asked).unwrap().arms;
        let [pread, mmap] = [0, 1].map(|at: usize| arms[at].seconds.value().unwrap().median);
        pread / mmap
    };
    assert!(ratio(it.reads.median / 1.2) < 1.0 && ratio(it.reads.median * 1.2) > 1.0);
    assert!(it.points.windows(2).all(|pair| pair[0].reads < pair[1].reads));
    assert!(it.points.first().is_some_and(|it| it.baseline_s < it.arm_s));
    assert!(it.points.last().is_some_and(|it| it.baseline_s > it.arm_s));
}

#[test]
fn an_arm_that_did_other_work_has_no_break_even() {
    let mut lab = cold_lab(&[100], 1.0);
    for it in lab.record.samples.iter_mut().filter(|it| it.cell == 1) {
        let schema::record::Outcome::Ok { tally, .. } = &mut it.outcome else { unreachable!() };
        tally.checksum = "0123456789abcdef".into();
    }
    let findings = lab.analyze();
    assert_eq!(findings.comparisons[0].verdict, Verdict::NotComparable);
    assert_eq!(findings.costs.unwrap().break_evens, []);
}

#[test]
fn where_the_mapping_overtakes_follows_from_what_was_measured_beside_unit_costs() {
    let break_even = |jobs: &[u64], slower: f64| {
        let costs = cold_lab(jobs, slower).analyze().costs.unwrap();
        let [it] = costs.break_evens.try_into().expect("several numbers of reads are one question");
        it
    };
    let as_expected = break_even(&[100], 1.0);
    assert_eq!(as_expected.measured.len(), 1);
    let slower = break_even(&[100, 3000], 1.5);
    assert!(slower.reads.median > 1.2 * as_expected.reads.median, "{as_expected:?} {slower:?}");
    let measured: Vec<u64> = slower.measured.iter().map(|it| it.reads).collect();
    assert_eq!(measured, [100, 3000]);
    for it in &slower.measured {
        assert!((it.speedup / it.expected - 1.0).abs() < 0.05, "each shows what is off at the other: {it:?}");
    }
    // What one arm alone was measured with is no part of what the one pass of both is held against.
    let mut lab = cold_lab(&[100, 3000], 1.5);
    lab.record.samples.retain(|it| it.cell != 3);
    let [it] = lab.analyze().costs.unwrap().break_evens.try_into().expect("one question");
    let [of_both] = &it.measured[..] else { panic!("{:?}", it.measured) };
    assert!((of_both.expected / as_expected.measured[0].expected - 1.0).abs() < 1e-9, "{of_both:?} {as_expected:?}");
}

#[test]
fn the_interval_of_a_break_even_holds_what_each_measured_number_of_reads_shows() {
    let reads = |jobs: &[(u64, f64)]| {
        let [it] = cold_lab_of(jobs).analyze().costs.unwrap().break_evens.try_into().expect("one question");
        it.reads
    };
    let (exact, slower) = (reads(&[(100, 1.0), (200_000, 1.0)]), reads(&[(100, 1.5), (200_000, 1.5)]));
    let between = reads(&[(100, 1.0), (200_000, 1.5)]);
    assert!(exact.median < between.median && between.median < slower.median, "{exact:?} {between:?} {slower:?}");
    assert!(between.ci_low <= exact.median && between.ci_high >= slower.median, "{exact:?} {between:?} {slower:?}");
}

#[test]
fn a_mapping_that_reads_in_no_more_than_calls_do_overtakes_them_at_no_number_of_reads() {
    let found = |arm: &str, factor: f64| {
        let mut lab = cold_lab(&[100], 1.0);
        // A fast device, and calls that take long.
        let world = World { request: 8_000.0, call: 3_000.0, ..WORLD };
        lab.record.calibration = Reading::Value(world.calibration());
        let condition = lab.record.conditions[0].clone();
        let asked = analysis::ForecastQuestion {
            arms: ["pread", arm].map(|it| it.parse().unwrap()).to_vec(),
            block_bytes: 4096,
            ops: 100,
            state: State::Cold,
            ..asked(condition.file_bytes, lab.record.environment.cache_memory_bytes())
        };
        let arms = analysis::forecast(&lab.record, &asked).unwrap().arms;
        let seconds = arms.iter().map(|it| it.components.iter().map(|it| it.ns / 1e9).sum::<f64>());
        let seconds: Vec<f64> = seconds.zip([1.0, factor]).map(|(it, factor)| it * factor).collect();
        lab.record.cells[1].arm = arm.parse().unwrap();
        for it in lab.record.samples.iter_mut() {
            let schema::record::Outcome::Ok { phases, .. } = &mut it.outcome else { unreachable!() };
            phases.work_ns = (seconds[it.cell] * 1e9) as u64;
        }
        lab.analyze().costs.unwrap().break_evens.len()
    };
    // Slower by few reads, and a little faster by many of which most are hits.
    for factor in [1.01, 1.05, 1.1] {
        assert_eq!(found("mmap+random", factor), 0, "{factor}");
        assert_eq!(found("mmap", factor), 1, "{factor}");
    }
}

#[test]
fn what_was_measured_beside_a_break_even_is_the_speedup_of_passes_of_the_same_round() {
    let mut lab = cold_lab(&[100], 2.0);
    // Each round takes longer than the one before, and the mapping has only the first ones.
    for it in &mut lab.record.samples {
        let factor = f64::from(it.round + 1);
        let schema::record::Outcome::Ok { phases, .. } = &mut it.outcome else { unreachable!() };
        phases.work_ns = (phases.work_ns as f64 * factor) as u64;
    }
    lab.record.samples.retain(|it| it.cell != 1 || it.round < 4);
    let findings = lab.analyze();
    let [it] = &findings.costs.unwrap().break_evens[..] else { panic!("one question") };
    let compared = findings.comparisons[0].speedup.unwrap().median;
    assert!((it.measured[0].speedup / compared - 1.0).abs() < 1e-9, "{:?} {compared}", it.measured);
}

#[test]
fn what_was_measured_beside_a_break_even_is_of_one_comparison_where_two_have_its_baseline() {
    let mut lab = cold_lab(&[100, 100], 1.0);
    lab.record.cells[1].arm = "mmap+random".parse().unwrap();
    // The device was slower while the second comparison was made.
    for it in lab.record.samples.iter_mut().filter(|it| it.cell == 2) {
        let schema::record::Outcome::Ok { phases, .. } = &mut it.outcome else { unreachable!() };
        phases.work_ns *= 2;
    }
    let findings = lab.analyze();
    let [it] = &findings.costs.unwrap().break_evens[..] else { panic!("one question") };
    let own = findings.comparisons.iter().find(|own| own.id.cell == it.id.cell).unwrap();
    let [measured] = &it.measured[..] else { panic!("{:?}", it.measured) };
    assert!((measured.speedup / own.speedup.unwrap().median - 1.0).abs() < 1e-9, "{measured:?} {own:?}");
}

#[test]
fn passes_over_a_range_that_was_written_down_are_none_of_the_whole_file() {
    let break_even = |ranges: [&str; 2]| {
        let mut lab = cold_lab(&[100, 3000], 1.5);
        let text: String = ranges
            .iter()
            .map(|range| {
                format!(
                    "[[compare]]\narms = [\"pread\", \"mmap\"]\nworkload = \"random\"\nblock = \"4 KiB\"\nstate = \
                     \"cold\"\n{range}\n"
                )
            })
            .collect();
        let text = format!("title = \"t\"\n{text}");
        lab.record.experiment = schema::Experiment::parse("t", &text).unwrap();
        lab.record.origins = vec![0, 1];
        let [it] = lab.analyze().costs.unwrap().break_evens.try_into().expect("one question");
        it.measured.iter().map(|it| it.reads).collect::<Vec<u64>>()
    };
    assert_eq!(break_even(["", ""]), [100, 3000]);
    assert_eq!(break_even(["", "range = { bytes = \"16 MiB\" }"]), [100]);
    // Nor are those over a part that the planner chose.
    let mut lab = cold_lab(&[100, 3000], 1.5);
    lab.record.conditions[1].range.bytes /= 2;
    let [it] = lab.analyze().costs.unwrap().break_evens.try_into().expect("one question");
    assert_eq!(it.measured.iter().map(|it| it.reads).collect::<Vec<u64>>(), [100]);
}

#[test]
fn passes_in_which_the_arms_did_other_work_say_nothing_of_a_break_even() {
    let measured = |change: &dyn Fn(&mut Lab)| {
        let mut lab = cold_lab(&[100, 3000], 1.5);
        change(&mut lab);
        let [it] = lab.analyze().costs.unwrap().break_evens.try_into().expect("one question");
        it.measured.iter().map(|it| it.reads).collect::<Vec<u64>>()
    };
    assert_eq!(measured(&|_| {}), [100, 3000]);
    let other_bytes = |lab: &mut Lab| {
        for it in lab.record.samples.iter_mut().filter(|it| it.cell == 3) {
            let schema::record::Outcome::Ok { tally, .. } = &mut it.outcome else { unreachable!() };
            tally.checksum = "0123456789abcdef".into();
        }
    };
    assert_eq!(measured(&other_bytes), [100]);
    // The second number is how much of what an arm covered came from the device.
    let job = |lab: &mut Lab, shares: [f64; 2]| {
        let tally = |cell: usize| match &lab.record.samples.iter().find(|it| it.cell == cell).unwrap().outcome {
            schema::record::Outcome::Ok { tally, .. } => tally.clone(),
            _ => unreachable!(),
        };
        let cold = [0, 1].map(|at| {
            let tally = tally(2 + at);
            ColdPass { device_read_bytes: Some(shares[at] * 4096.0 * tally.distinct_pages.unwrap() as f64), tally }
        });
        lab.record.confirmations.push(Confirmation {
            condition: 1,
            baseline_cell: 2,
            arm_cell: 3,
            range: lab.record.conditions[1].range,
            ops: 50_000,
            pairs: vec![[1e9, 3e8]; 5],
            cold: vec![cold; 5],
            invalid: vec![],
        });
    };
    assert_eq!(measured(&|lab| job(lab, [1.0, 1.0])), [100, 3000, 50_000]);
    assert_eq!(measured(&|lab| job(lab, [1.0, 0.4])), [100, 3000]);
}

#[test]
fn the_requests_of_others_at_the_disk_are_not_those_of_a_pass() {
    let requests = |of_others: f64| {
        let mut lab = cold_lab(&[100], 1.0);
        for it in &mut lab.record.samples {
            for (name, value) in [("device_read_bytes", 409_600.0), ("disk_read_bytes", 409_600.0 + of_others * 4096.0)]
            {
                it.readings.insert(name.into(), Reading::Value(value));
            }
            it.readings.insert("disk_read_requests".into(), Reading::Value(50.0 + of_others));
        }
        let breakdowns = lab.analyze().costs.unwrap().breakdowns;
        let of_pread = breakdowns.into_iter().find(|it| it.arm == "native/pread").unwrap();
        of_pread.components.iter().find(|it| it.what == Quantity::Requests).unwrap().count
    };
    assert_eq!(requests(0.0), 50.0, "of two pages each, as counted");
    assert_ne!(requests(1000.0), 1050.0);
    assert!(requests(1000.0) <= 100.0, "no more than there are reads");
}

#[test]
fn of_comparisons_that_ask_one_question_of_one_baseline_the_arms_of_each_are_looked_at() {
    let mut lab = cold_lab(&[100, 100], 1.0);
    // The first comparison has an arm that never overtakes.
    lab.record.cells[1].arm = "mmap+random".parse().unwrap();
    lab.record.samples.retain(|it| it.cell != 1);
    let of_second = lab.analyze().costs.unwrap().break_evens;
    let [it] = &of_second[..] else { panic!("{of_second:#?}") };
    assert_eq!((it.arm.as_str(), it.id.condition.condition_index), ("native/mmap", 1));
    let alone = cold_lab(&[100], 1.0).analyze().costs.unwrap().break_evens;
    assert_eq!(it.reads.median, alone[0].reads.median);
}

#[test]
fn a_run_without_unit_costs_forecasts_nothing_and_says_why() {
    let mut record = lab(&[], |_, ns| ns).record;
    record.calibration = Reading::unavailable("a budget of 5 s leaves no time for it");
    assert!(analysis::forecast(&record, &asked(GIB, GIB)).unwrap_err().contains("a budget of 5 s"));
}

/// A run of `crossover` on two cores of a virtual machine, its passes cut to five rounds, without the controls' passes.
const MEASURED: &str = include_str!("../records/crossover.json");

#[test]
fn of_a_measured_run_the_account_explains_most_and_its_cells_are_predicted() {
    let record: schema::Record = serde_json::from_str(MEASURED).unwrap();
    let findings = analysis::analyze(&record);
    let costs = findings.costs.unwrap();
    assert_eq!(costs.breakdowns.len(), 88, "pread and mmap under 44 conditions");
    assert!(costs.explained_median.unwrap() > 0.85, "{:?}", costs.explained_median);
    let predictions = &costs.predictions;
    assert_eq!((predictions.cells.len(), predictions.cells.iter().filter(|it| it.held_out).count()), (88, 8));
    assert!(predictions.median.unwrap() < 0.15 && predictions.held_out_median.unwrap() < 0.15, "{predictions:?}");
    let accounted = findings.comparisons.iter().filter(|it| it.explained_share.is_some()).count();
    let decided = findings.comparisons.iter().filter(|it| matches!(it.verdict, Verdict::Faster | Verdict::Slower));
    assert_eq!(accounted, decided.count());
}

#[test]
fn a_measured_run_answers_what_it_did_not_measure() {
    let record: schema::Record = serde_json::from_str(MEASURED).unwrap();
    let forecast = analysis::forecast(&record, &asked(40_000_000_000, 16_000_000_000)).unwrap();
    let of =
        |arm: &str| forecast.arms.iter().find(|it| it.arm == arm).and_then(|it| it.seconds.value()).unwrap().median;
    // Three of five places wait for a device that takes tens of microseconds; a mapping without advice fetches windows.
    assert!((10.0..200.0).contains(&of("native/pread")), "{}", of("native/pread"));
    assert!(of("native/mmap") > 10.0 * of("native/pread"));
    assert!((forecast.resident_share - 0.4).abs() < 1e-9);
}

fn costs_of(world: impl Strategy<Value = f64>) -> impl Strategy<Value = World> {
    vec(world, 13).prop_map(|it| World {
        call: 50.0 + it[0] * 500.0,
        copied_byte: 0.01 + it[1],
        summed_byte: 0.01 + it[2],
        random_read: it[3] * 500.0,
        random_place: it[4] * 200.0,
        random_touch: 1.0 + it[4] * 50.0,
        open: 100.0 + it[5] * 1e4,
        close: 100.0 + it[6] * 1e4,
        map: 100.0 + it[7] * 1e4,
        fault: 100.0 + it[8] * 1e4,
        populated_page: it[9] * 100.0,
        unmapped_page: it[10] * 100.0,
        request: 1e3 + it[11] * 1e5,
        device_byte: 0.01 + it[12],
        paged_in: WORLD.paged_in,
    })
}

fn curves(costs: &UnitCosts) -> Vec<&Curve> {
    let mut all = vec![&costs.copy, &costs.copy_from, &costs.read_random, &costs.read_random_in, &costs.sum_buffer];
    all.extend([&costs.sum_mapped, &costs.sum_mapped_in, &costs.mapped_random, &costs.mapped_random_in]);
    all.extend([&costs.faults, &costs.faults_ns]);
    all.extend(costs.device.iter().map(|it| &it.request));
    all
}

fn singles(costs: &UnitCosts) -> Vec<f64> {
    let per_page = [costs.populate, costs.unmap].into_iter().flatten().flat_map(|it| [it.fixed_ns, it.page_ns]);
    let single = [
        costs.clock_ns,
        costs.bare_call_ns,
        costs.read_call_ns,
        costs.touch_mapped_page_ns,
        costs.touch_random_ns,
        costs.touch_cached_ns,
    ];
    let more =
        [costs.open_ns, costs.close_ns, costs.map_ns, costs.fault_ns, costs.fault_random_ns, costs.pages_per_fault];
    let firsts = [costs.read_first_ns, costs.mapped_first_ns, costs.touch_first_ns];
    let fault = costs.fault_pages_ns;
    single
        .into_iter()
        .chain(more)
        .flatten()
        .chain(fault)
        .chain(costs.stream_byte_ns)
        .chain(firsts)
        .chain(per_page)
        .collect()
}

fn any_point() -> impl Strategy<Value = CalibrationPoint> {
    const ARMS: &[&str] =
        &["native/pread", "native/mmap", "native/mmap+populate-read", "native/direct", "native/uring+direct", "?"];
    let words = (
        prop::sample::select(ARMS),
        prop::sample::select(Workload::ALL),
        prop::sample::select(Consume::ALL),
        prop::sample::select(State::ALL),
    );
    let sizes = (any::<u64>(), any::<u64>(), any::<u64>());
    let numbers = (any::<Option<u64>>(), any::<u64>(), any::<u64>(), any::<Option<u64>>());
    let pass = numbers.prop_map(|(around, work_ns, minor_faults, cpu_ns)| CalibrationPass {
        phases: Phases { open_ns: around, work_ns, close_ns: around },
        minor_faults,
        cpu_ns,
    });
    let fill = prop::sample::select(vec![None, Some(Fill::Sequential), Some(Fill::Random), Some(Fill::Written(4096))]);
    (words, fill, sizes, vec(pass, 0..3)).prop_map(|((arm, workload, consume, state), fill, sizes, passes)| {
        CalibrationPoint {
            arm: arm.to_string(),
            workload,
            consume,
            state,
            fill,
            block_bytes: sizes.0 >> (sizes.0 % 64),
            offset: None,
            range_bytes: sizes.1 >> (sizes.1 % 64),
            ops: sizes.2 >> (sizes.2 % 64),
            passes,
        }
    })
}

proptest! {
    #[test]
    fn any_planted_costs_are_recovered(world in costs_of(0.0..1.0f64)) {
        let costs = analysis::fit(&world.calibration(), 4096);
        let close = |found: Option<f64>, planted: f64| (found.unwrap() - planted).abs() <= 0.03 * planted + 2.0;
        // The smallest block has 64 bytes to copy.
        prop_assert!((costs.read_call_ns.unwrap() - world.call).abs() <= 64.0 * world.copied_byte + 1.0);
        prop_assert!(close(costs.fault_ns, world.fault), "{costs:?}");
        prop_assert!(close(costs.map_ns, world.map));
        prop_assert!(close(costs.unmap.map(|it| it.page_ns), world.unmapped_page));
        prop_assert!(close(costs.populate.map(|it| it.page_ns), world.populated_page));
        prop_assert!(close(costs.mapped_random.level_at(2048.0), world.random_place));
        prop_assert!(close(costs.read_random.level_at(2048.0), world.random_read));
    }

    #[test]
    fn no_fit_panics_and_no_cost_is_negative_or_infinite(points in vec(any_point(), 0..40), page in any::<u64>()) {
        let each = Loop { times: page % 7, ns: page };
        let calibration =
            Calibration { elapsed_s: 1.0, clock: each, bare_call: each, offset: 0, points, missing: vec![] };
        let usual = analysis::fit(&calibration, page);
        let fills = analysis::fit_fills(&calibration, page, &usual);
        for costs in fills.iter().map(|it| &it.costs).chain([&usual]) {
        for curve in curves(costs) {
            prop_assert!(curve.points.iter().all(|it| it.1 >= 0.0 && it.1.is_finite()), "{curve:?}");
            prop_assert!(curve.points.windows(2).all(|it| it[0].0 < it[1].0), "{curve:?}");
        }
        prop_assert!(singles(costs).iter().all(|it| *it >= 0.0 && it.is_finite()), "{costs:?}");
        }
        // And whatever it is, it can be put to use.
        let mut conditions = vec![scan("4 KiB", State::Cached), random("64 B", State::Mapped), random("64 KiB", State::Cold)];
        conditions.push(Condition { fill: Some(Fill::Random), ..random("4 KiB", State::Cached) });
        let mut lab = lab(&conditions, |_, ns| ns);
        lab.record.calibration = Reading::Value(calibration);
        let findings = lab.analyze();
        let json = serde_json::to_string(&findings).unwrap();
        serde_json::from_str::<Findings>(&json).unwrap();
        for fill in [None, Some(Fill::Random)] {
            let _ = analysis::forecast(&lab.record, &analysis::ForecastQuestion { fill, ..asked(page, page >> 1) });
        }
    }
}

#[test]
fn pages_that_come_in_cost_what_was_planted_beside_the_device() {
    let lab = lab(&[random("1 MiB", State::Cold)], |_, ns| ns);
    let asked = analysis::ForecastQuestion { block_bytes: MIB, ops: 16, state: State::Cold, ..asked(RANGE, RANGE) };
    let pread = analysis::forecast(&lab.record, &asked).unwrap().arms.remove(0);
    let term = pread.components.iter().find(|it| it.what == Quantity::PagesBroughtIn).unwrap();
    close_to(Some(term.unit_ns), WORLD.paged_in);
    // Of sixteen draws from 64 places some meet again, and then the page is there.
    assert!((13.0..16.0).contains(&(term.count / 256.0)), "{term:?}");
}

#[test]
fn threads_share_the_work_and_the_answer_says_that_this_is_the_least() {
    let record: schema::Record = serde_json::from_str(include_str!("../records/crossover.json")).unwrap();
    let forecast = |threads| {
        let asked = analysis::ForecastQuestion { threads, ..asked(40 * GIB, 16 * GIB) };
        analysis::forecast(&record, &asked).unwrap()
    };
    let (one, four) = (forecast(1), forecast(4));
    for (one, four) in one.arms.iter().zip(&four.arms) {
        let (Some(one), Some(four)) = (one.seconds.value(), four.seconds.value()) else { continue };
        assert!(four.median < one.median, "{one:?} {four:?}");
        assert!(four.ci_high / four.ci_low >= 0.999 * one.ci_high / one.ci_low, "{one:?} {four:?}");
    }
    assert!(four.arms.iter().all(|it| it.condition.threads == 4));
    assert_eq!(four.arms.iter().filter(|it| it.seconds.value().is_some()).count(), 2);
    let of_threads = |it: &ForecastRemark| matches!(it, ForecastRemark::Threads { .. });
    assert!(four.remarks.iter().any(of_threads), "{:?}", four.remarks);
    assert!(!one.remarks.iter().any(of_threads));
}

#[test]
fn each_thread_takes_the_faults_of_its_own_mapping() {
    let record = lab(&both_states("4 KiB"), |_, ns| ns).record;
    let counts = |workload: Workload, threads: u32, ops: u64| {
        let asked = question("mmap", workload, State::Cached);
        let mapping =
            analysis::forecast(&record, &analysis::ForecastQuestion { threads, ops, ..asked }).unwrap().arms.remove(0);
        let count = |what: Quantity| mapping.components.iter().find(|it| it.what == what).unwrap().count;
        [Quantity::Faults, Quantity::MapAndUnmap, Quantity::PagesUnmapped].map(count)
    };
    let times = |a: [f64; 3], b: [f64; 3]| [0, 1, 2].map(|it| (a[it] / b[it] * 100.0).round() / 100.0);
    // So many that every window of each mapping is met.
    let (one, two) = (counts(Workload::Random, 1, 10_000_000), counts(Workload::Random, 2, 10_000_000));
    assert_eq!(times(two, one), [2.0, 2.0, 2.0]);
    // So few that no two meet one.
    let (one, two) = (counts(Workload::Random, 1, 10), counts(Workload::Random, 2, 10));
    assert_eq!(times(two, one), [1.0, 2.0, 1.0]);
    // Of a scan each reads a part.
    let (one, two) = (counts(Workload::Scan, 1, 100_000), counts(Workload::Scan, 2, 100_000));
    assert_eq!(times(two, one), [1.0, 2.0, 1.0]);
}

/// What the first arm of a question takes in the planted world, in seconds; `None` where it has no answer.
fn seconds(record: &schema::Record, asked: &analysis::ForecastQuestion) -> Option<f64> {
    let forecast = analysis::forecast(record, asked).unwrap();
    forecast.arms[0].seconds.value().map(|it| it.median)
}

fn question(arm: &str, workload: Workload, state: State) -> analysis::ForecastQuestion {
    analysis::ForecastQuestion {
        arms: vec![arm.parse().unwrap()],
        workload,
        state,
        block_bytes: 4096,
        ..asked(GIB, GIB)
    }
}

#[test]
fn advice_of_calls_has_an_account_where_it_changes_nothing_that_is_counted() {
    let record = lab(&both_states("4 KiB"), |_, ns| ns).record;
    let of = |arm: &str, workload, state| {
        let forecast = analysis::forecast(&record, &question(arm, workload, state)).unwrap();
        match &forecast.arms[0].seconds {
            Reading::Value(seconds) => Ok(seconds.median),
            Reading::Unavailable { unavailable } => Err(unavailable.clone()),
        }
    };
    for (arm, workload, state) in [
        ("pread+random", Workload::Random, State::Cold),
        ("pread+random", Workload::Scan, State::Cached),
        ("read+sequential", Workload::Scan, State::Cached),
        ("pread+willneed", Workload::Random, State::Mapped),
    ] {
        let plain = arm.split('+').next().unwrap();
        let (advised, plain) = (of(arm, workload, state).unwrap(), of(plain, workload, state).unwrap());
        assert!((advised - plain).abs() < 1e-9, "{arm} {workload} {state}");
    }
    for (arm, workload, state) in [
        ("pread+random", Workload::Scan, State::Cold),
        ("read+sequential", Workload::Scan, State::Cold),
        ("pread+sequential", Workload::Random, State::Cold),
        ("pread+willneed", Workload::Random, State::Cold),
        ("read+willneed", Workload::Scan, State::Cached),
    ] {
        let advice = arm.split('+').nth(1).unwrap().to_string();
        assert_eq!(
            of(arm, workload, state),
            Err(NoCost::from(Operation::Advice { advice }).into()),
            "{arm} {workload}"
        );
    }
    let buffered = "pread+buffer_kib=128";
    let why = NoCost::from(Operation::Method { method: buffered.into() });
    assert_eq!(of(buffered, Workload::Scan, State::Cached), Err(why.into()));
}

#[test]
fn a_scan_of_more_than_memory_holds_costs_read_and_mmap_what_the_device_costs() {
    let record = lab(&both_states("4 KiB"), |_, ns| ns).record;
    for arm in ["read", "pread", "mmap"] {
        let of = |memory: u64, state| {
            let blocks = analysis::ForecastQuestion {
                block_bytes: 65_536,
                ops: GIB / 65_536,
                ..question(arm, Workload::Scan, state)
            };
            seconds(&record, &analysis::ForecastQuestion { memory_bytes: memory, ..blocks }).unwrap()
        };
        let device = GIB as f64 * WORLD.device_byte / 1e9;
        let missing = of(GIB * 7 / 8, State::Cached);
        assert!(missing >= 0.99 * device, "{arm}: {missing} s of {device}");
        assert!(of(GIB, State::Cached) < 0.7 * missing, "{arm}");
        // Nothing of it is found again, so how much less memory there is makes no difference, and none is no better.
        for memory in [0, MIB, GIB / 2] {
            assert!((of(memory, State::Cached) / missing - 1.0).abs() < 1e-9, "{arm}: {memory}");
        }
        assert!((of(GIB, State::Cold) / missing - 1.0).abs() < 0.01, "{arm}: cold");
        assert!(of(GIB / 2, State::Mapped) > 0.95 * device, "{arm}: mapped");
    }
}

#[test]
fn what_memory_lacks_is_said_of_the_arms_that_go_through_the_page_cache_and_of_no_others() {
    let record = lab(&both_states("4 KiB"), |_, ns| ns).record;
    let said = |workload: Workload, arms: &[&str]| {
        let asked = analysis::ForecastQuestion {
            arms: arms.iter().map(|it| it.parse().unwrap()).collect(),
            block_bytes: 65_536,
            ops: GIB / 65_536,
            memory_bytes: GIB / 2,
            ..question("pread", workload, State::Cached)
        };
        let forecast = analysis::forecast(&record, &asked).unwrap();
        assert!(forecast.arms.iter().all(|it| it.seconds.value().is_some()), "{workload}: {arms:?}");
        forecast.remarks.into_iter().find_map(|it| match it {
            ForecastRemark::RandomMisses { arms, .. } | ForecastRemark::ScansEvict { arms, .. } => Some(arms),
            _ => None,
        })
    };
    for workload in [Workload::Random, Workload::Scan] {
        assert_eq!(said(workload, &["direct"]), None, "{workload}");
        assert_eq!(said(workload, &["direct", "pread"]), Some(vec!["native/pread".to_string()]), "{workload}");
        assert_eq!(said(workload, &["pread", "mmap"]), Some(Vec::new()), "{workload}: all of them");
    }
}

#[test]
fn a_scan_of_a_part_of_a_file_maps_populates_and_keeps_that_part_alone() {
    let record = lab(&both_states("4 KiB"), |_, ns| ns).record;
    let part = |arm: &str, state, file_bytes: u64| {
        let asked = analysis::ForecastQuestion {
            block_bytes: 65_536,
            ops: 64,
            file_bytes,
            memory_bytes: 16 * MIB,
            ..question(arm, Workload::Scan, state)
        };
        analysis::forecast(&record, &asked).unwrap()
    };
    for arm in ["read", "mmap", "mmap+populate-read"] {
        for state in [State::Cached, State::Cold] {
            let (alone, within) = (part(arm, state, 4 * MIB), part(arm, state, GIB));
            let of = |it: &schema::unit_cost::Forecast| it.arms[0].seconds.value().copied().unwrap();
            assert_eq!((of(&within), within.resident_share), (of(&alone), alone.resident_share), "{arm} {state}");
            assert_eq!(within.arms[0].condition.range, Span { offset: 0, bytes: 4 * MIB });
        }
        assert_eq!(part(arm, State::Cached, GIB).resident_share, 1.0, "{arm}");
    }
    let evicts = |it: &ForecastRemark| matches!(it, ForecastRemark::ScansEvict { .. });
    assert!(!part("read", State::Cached, GIB).remarks.iter().any(evicts));
}

#[test]
fn random_places_miss_by_the_share_that_memory_lacks_and_a_cold_start_fills_memory_first() {
    let record = lab(&both_states("4 KiB"), |_, ns| ns).record;
    let misses = |state, memory: u64, ops: u64| {
        let asked =
            analysis::ForecastQuestion { ops, memory_bytes: memory, ..question("pread", Workload::Random, state) };
        let components = analysis::forecast(&record, &asked).unwrap().arms.remove(0).components;
        components.iter().find(|it| it.what == Quantity::Requests).map_or(0.0, |it| it.count) / ops as f64
    };
    let pages = GIB / 4096;
    for state in [State::Cached, State::Mapped] {
        assert_eq!(misses(state, GIB, pages), 0.0);
        assert!((misses(state, GIB / 4, pages) - 0.75).abs() < 1e-9);
        assert_eq!(misses(state, 0, pages), 1.0);
    }
    // As many draws as pages meet 1 − 1/e of them; a cgroup of 0.56 times the file gave 0.64 (measured).
    assert!((misses(State::Cold, GIB, pages) - 0.632).abs() < 0.001);
    assert!((misses(State::Cold, GIB * 56 / 100, pages) - 0.64).abs() < 0.01);
    assert_eq!(misses(State::Cold, 0, pages), 1.0);
}

#[test]
fn one_byte_costs_one_fault_and_what_cannot_be_locked_has_no_number() {
    let record = lab(&both_states("4 KiB"), |_, ns| ns).record;
    let mut asked = question("mmap", Workload::Scan, State::Cached);
    (asked.block_bytes, asked.ops, asked.file_bytes) = (1, 1, 1);
    let components = analysis::forecast(&record, &asked).unwrap().arms.remove(0).components;
    let faults = components.iter().find(|it| it.what == Quantity::Faults).unwrap();
    assert!((faults.count - 1.0).abs() < 1e-9, "{faults:?}");
    close_to(Some(faults.ns), WORLD.fault);
    // A measured pass over one byte took 15.6 µs.
    let measured = serde_json::from_str(MEASURED).unwrap();
    assert!((5e-6..30e-6).contains(&seconds(&measured, &asked).unwrap()));
    let locked = analysis::ForecastQuestion { memory_bytes: MIB, ..question("mmap", Workload::Scan, State::Locked) };
    assert_eq!(seconds(&record, &locked), None);
}

/// What a real machine's curves are like.
static MEASURED_COSTS: std::sync::LazyLock<Calibration> = std::sync::LazyLock::new(|| {
    let mut measured = serde_json::from_str::<schema::Record>(MEASURED).unwrap().calibration.value().unwrap().clone();
    // It is older than touches at random places. On another machine these took a third.
    let is_sum = |it: &&CalibrationPoint| {
        (it.arm.as_str(), it.workload, it.consume, it.state)
            == ("native/mmap", Workload::Random, Consume::Sum, State::Mapped)
    };
    let mut touches: Vec<CalibrationPoint> = measured.points.iter().filter(is_sum).cloned().collect();
    touches.extend(
        touches
            .iter()
            .find(|it| it.block_bytes == 64)
            .cloned()
            .map(|it| CalibrationPoint { range_bytes: 32 << 10, ..it }),
    );
    for point in &mut touches {
        point.consume = Consume::Touch;
        point.passes.iter_mut().for_each(|it| it.phases.work_ns /= 3);
    }
    measured.points.extend(touches);
    measured
});

/// The same question with more memory, a larger file, or more reads.
fn any_question() -> impl Strategy<Value = (analysis::ForecastQuestion, u64)> {
    const ARMS: &[&str] = &["pread", "read", "mmap", "mmap+random", "mmap+populate-read", "mmap+sequential", "direct"];
    let words = (
        prop::sample::select(ARMS),
        prop::sample::select(vec![Workload::Scan, Workload::Random]),
        prop::sample::select(vec![State::Cold, State::Cached, State::Mapped]),
        prop::sample::select(vec![Consume::Sum, Consume::Touch]),
    );
    let size = |most: u32| (0..most, 1.0..2.0f64).prop_map(|(power, part)| ((1u64 << power) as f64 * part) as u64);
    let numbers = (size(38), size(24), size(24), prop_oneof![Just(0), size(40)], 1u32..6);
    (words, numbers, size(38)).prop_map(|((arm, workload, state, consume), numbers, more)| {
        let (file_bytes, block, ops, memory_bytes, threads) = numbers;
        let (block, file_bytes) = match arm {
            "direct" => (block.next_multiple_of(512), file_bytes.next_multiple_of(512)),
            _ => (block, file_bytes),
        };
        // Random blocks that lie across pages have no account.
        let block_bytes = match (workload, block.min(file_bytes)) {
            (Workload::Random, page @ 4096..) => page / 4096 * 4096,
            (Workload::Random, part) => 1 << part.ilog2(),
            (_, any) => any,
        };
        let asked = analysis::ForecastQuestion {
            consume,
            file_bytes,
            block_bytes,
            memory_bytes,
            threads,
            ..question(arm, workload, state)
        };
        (analysis::ForecastQuestion { ops, ..asked }, more)
    })
}

/// Sums of some thousand terms, of which one may be a millionth of another.
const ROUNDING: f64 = 1e-7;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn no_prediction_falls_with_less_memory_a_larger_file_or_more_reads(
        (asked, more) in any_question(), world in costs_of(0.0..1.0f64), measured in any::<bool>()
    ) {
        let mut record = lab(&[], |_, ns| ns).record;
        record.calibration = Reading::Value(world.calibration());
        if measured {
            record.calibration = Reading::Value(MEASURED_COSTS.clone());
        }
        let least = seconds(&record, &asked).unwrap();
        prop_assert!(least.is_finite() && least > 0.0);
        let of = |change: &dyn Fn(&mut analysis::ForecastQuestion)| {
            let mut other = asked.clone();
            change(&mut other);
            (seconds(&record, &other).unwrap(), other)
        };
        let (with_more_memory, other) = of(&|it| it.memory_bytes = it.memory_bytes.saturating_add(more));
        prop_assert!(with_more_memory <= least * (1.0 + ROUNDING), "{with_more_memory} > {least}: {other:?}");
        let (with_more_reads, other) = of(&|it| it.ops += more);
        prop_assert!(with_more_reads >= least * (1.0 - ROUNDING), "{with_more_reads} < {least}: {other:?}");
        // A scan of a larger file has more blocks.
        let whole = |it: &mut analysis::ForecastQuestion| {
            if it.workload == Workload::Scan {
                it.ops = it.file_bytes.div_ceil(it.block_bytes);
            }
        };
        let (smaller, _) = of(&whole);
        let (larger, other) = of(&|it| {
            it.file_bytes += more;
            whole(it);
        });
        prop_assert!(larger >= smaller * (1.0 - ROUNDING), "{larger} < {smaller}: {other:?}");
    }
}

#[test]
fn requests_cost_what_that_many_in_flight_do_and_not_what_as_many_as_were_asked_for() {
    let is_accounted = |in_flight: u32| {
        let mut lab = lab(&[random("64 KiB", State::Cold)], |_, ns| ns);
        let ring = lab.cell(0, "uring+direct");
        lab.measure(ring, 8, 100_000.0, |_, pass| pass.tally.queue_depth = in_flight);
        lab.analyze().costs.unwrap().breakdowns.iter().any(|it| it.id.cell == ring)
    };
    assert!(is_accounted(1), "a pass of one block, at the calibrated depth");
    assert!(!is_accounted(32), "a depth that was not calibrated");
}

#[test]
fn where_no_device_says_how_much_is_read_ahead_the_most_of_the_machine_stands_for_it() {
    let mut record = lab(&[], |_, ns| ns).record;
    record.target.device = Reading::unavailable("no block device under overlay");
    let mut seconds_with = |most: Option<u64>| {
        record.target.read_ahead_most_bytes = most;
        let question = analysis::ForecastQuestion {
            block_bytes: 4096,
            ops: 100,
            ..question("mmap", Workload::Random, State::Cold)
        };
        seconds(&record, &question).unwrap()
    };
    assert_eq!(seconds_with(None), seconds_with(Some(128 << 10)));
    assert!(seconds_with(Some(8 * MIB)) > 4.0 * seconds_with(None));
}

#[test]
fn a_sum_that_is_known_of_memory_alone_is_not_taken_off_blocks_in_the_caches() {
    let whole = WORLD.calibration();
    let planted = analysis::fit(&whole, PAGE as u64).copy;
    let mut partial = whole.clone();
    let is_mapped_scan = |it: &CalibrationPoint| {
        (it.arm.as_str(), it.workload, it.consume) == ("native/mmap", Workload::Scan, Consume::Sum)
    };
    // There was time for the largest span alone, where summing waits for memory.
    partial.points.retain(|it| !is_mapped_scan(it) || it.range_bytes == RANGE);
    for pass in partial.points.iter_mut().filter(|it| is_mapped_scan(it)).flat_map(|it| &mut it.passes) {
        pass.phases.work_ns *= 10;
    }
    let copy = analysis::fit(&partial, PAGE as u64).copy;
    for size in [2048.0, 512.0 * 1024.0] {
        close_to(copy.at(size), planted.at(size).unwrap());
    }
}

#[test]
fn the_device_is_named_wherever_an_arm_waits_for_it() {
    let record = lab(&[], |_, ns| ns).record;
    let named = |arms: &[&str], state| {
        let arms = arms.iter().map(|it| it.parse().unwrap()).collect();
        let asked = analysis::ForecastQuestion { arms, ..question("pread", Workload::Random, state) };
        let remarks = analysis::forecast(&record, &asked).unwrap().remarks;
        remarks.iter().filter(|it| matches!(it, ForecastRemark::Device { .. })).count()
    };
    for arms in [&["direct"][..], &["uring+direct"], &["pread", "direct"], &["direct", "mmap"]] {
        assert_eq!((named(arms, State::Cached), named(arms, State::Cold)), (1, 1), "{arms:?}");
    }
    for arms in [&["pread"][..], &["mmap", "pread"]] {
        assert_eq!((named(arms, State::Cached), named(arms, State::Cold)), (0, 1), "{arms:?}");
    }
}

#[test]
fn what_the_kernel_refuses_to_read_around_the_page_cache_has_no_prediction() {
    let record = lab(&[], |_, ns| ns).record;
    let of = |arm: &'static str, block_bytes: u64, workload| {
        let asked = analysis::ForecastQuestion { block_bytes, ops: 100, ..question(arm, workload, State::Cold) };
        analysis::forecast(&record, &asked).unwrap().arms.remove(0).seconds
    };
    for (block_bytes, workload) in [(64, Workload::Random), (5000, Workload::Scan)] {
        let refused = Reading::unavailable(Reason::NoCost(NoCost::Unaligned { sector_bytes: 512 }));
        assert_eq!(of("direct", block_bytes, workload), refused);
        assert!(of("pread", block_bytes, workload).value().is_some());
    }
    assert!(of("direct", 512, Workload::Random).value().is_some());
}

#[test]
fn what_cannot_be_predicted_has_no_interval_to_speak_of() {
    let record = lab(&[], |_, ns| ns).record;
    let unknown = analysis::ForecastQuestion { threads: 2, ..question("stdio", Workload::Random, State::Cold) };
    let forecast = analysis::forecast(&record, &unknown).unwrap();
    assert!(forecast.arms.iter().all(|it| it.seconds.value().is_none()));
    let is_of_device = |it: &ForecastRemark| matches!(it, ForecastRemark::Device { .. });
    assert!(forecast.remarks.iter().all(is_of_device), "{:?}", forecast.remarks);
}

#[test]
fn a_window_of_read_ahead_does_not_cost_as_many_pages_where_only_pages_were_calibrated() {
    let mut record = lab(&[], |_, ns| ns).record;
    let Reading::Value(device) = &mut record.target.device else { panic!("it has a device") };
    device.read_ahead_bytes = Reading::Value(8 * MIB);
    let asked =
        analysis::ForecastQuestion { file_bytes: RANGE, ops: 1000, ..question("mmap", Workload::Random, State::Cold) };
    let of = |record: &schema::Record| {
        let forecast = analysis::forecast(record, &asked).unwrap();
        let beyond = forecast.remarks.iter().any(|it| matches!(it, ForecastRemark::BeyondRequests { .. }));
        (forecast.arms[0].seconds.clone(), beyond)
    };
    let (Reading::Value(whole), false) = of(&record) else { panic!("larger requests were calibrated") };
    let Reading::Value(calibration) = &mut record.calibration else { panic!("it is calibrated") };
    calibration.points.retain(|it| it.state != State::AsIs || it.block_bytes == 4096);
    assert!(calibration.points.iter().any(|it| it.state == State::AsIs), "requests of a page are left");
    let (Reading::Value(bounded), true) = of(&record) else { panic!("the device's ceiling is known") };
    assert!((0.5..1.5).contains(&(bounded.median / whole.median)), "{bounded:?} instead of {whole:?}");
    assert!(bounded.ci_high / bounded.ci_low > whole.ci_high / whole.ci_low, "it is less certain");
    record.ceiling = Reading::unavailable("its repetitions disagree");
    let (Reading::Unavailable { unavailable }, false) = of(&record) else { panic!("nothing bounds it") };
    let Reason::NoCost(NoCost::RequestSize { bytes, largest: 4096 }) = unavailable else { panic!("{unavailable:?}") };
    assert!((MIB..=8 * MIB).contains(&bytes), "windows that overlap, in the mean: {bytes}");
    // Requests of pages are known all the same.
    assert!(seconds(&record, &question("pread", Workload::Random, State::Cold)).is_some());
}
