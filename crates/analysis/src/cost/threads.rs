//! Several threads, from unit costs of one: the work is shared out, no thread waits for another, and the device has as
//! many requests in flight as there are threads. What threads cost each other (locks, cache lines that two of them write,
//! memory bandwidth) is not in it, so this is the least that it takes.

use schema::unit_cost::{Curve, UnitCosts};

use super::device;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Threads {
    pub(crate) count: u32,
    pub(crate) cpus: u32,
}

impl Threads {
    pub(crate) const ONE: Threads = Threads { count: 1, cpus: 1 };

    /// How many work at the same time.
    pub(super) fn at_once(self) -> f64 {
        f64::from(self.count.min(self.cpus).max(1))
    }

    /// What a request costs where all threads have `depth` in flight each, as a share of what it costs one thread.
    pub(super) fn request_share(self, costs: &UnitCosts, bytes: f64, depth: u32, ceiling: Option<f64>) -> f64 {
        let of = |depth: u32| in_flight(costs, bytes, depth, ceiling);
        let share = of(depth.saturating_mul(self.count.max(1))) / of(depth);
        // Of a device that is as fast one by one, the points are apart by chance: more in flight costs no more.
        if share.is_finite() && share > 0.0 { share.min(1.0) } else { 1.0 }
    }
}

/// What a request costs with so many in flight: straight between the calibrated depths, both as logarithms, and level beyond
/// them.
fn in_flight(costs: &UnitCosts, bytes: f64, depth: u32, ceiling: Option<f64>) -> f64 {
    let points = costs.device.iter().filter_map(|it| {
        let ns = device::request_ns(it, bytes, ceiling).ok().filter(|&ns| ns > 0.0)?;
        Some((f64::from(it.queue_depth), ns.ln()))
    });
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Curve { points }.level_at(f64::from(depth)).map_or(1.0, f64::exp)
}

#[cfg(test)]
mod tests {
    use schema::unit_cost::DeviceCost;

    use super::*;

    #[test]
    fn processors_share_the_work_as_far_as_there_are_processors() {
        let at_once = |count| Threads { count, cpus: 4 }.at_once();
        assert_eq!([0, 1, 2, 4, 8].map(at_once), [1.0, 1.0, 2.0, 4.0, 4.0]);
    }

    #[test]
    fn the_device_answers_more_at_a_time_up_to_the_deepest_that_was_calibrated() {
        let depth = |queue_depth, ns: f64| DeviceCost { queue_depth, request: Curve { points: vec![(4096.0, ns)] } };
        let costs = UnitCosts { device: vec![depth(1, 64_000.0), depth(16, 4000.0)], ..UnitCosts::default() };
        // A sixteenth at sixteen in flight; the fourth root of that at two.
        for (count, expected) in [(1, 1.0), (2, 0.5), (16, 0.0625), (64, 0.0625)] {
            let found = Threads { count, cpus: 4 }.request_share(&costs, 4096.0, 1, None);
            assert!((found - expected).abs() < 1e-9, "{found} for {count}");
        }
        let noisy = UnitCosts { device: vec![depth(1, 433_000.0), depth(32, 526_000.0)], ..UnitCosts::default() };
        assert_eq!(Threads { count: 4, cpus: 4 }.request_share(&noisy, 4096.0, 1, None), 1.0);
        assert_eq!(Threads { count: 8, cpus: 4 }.request_share(&UnitCosts::default(), 4096.0, 1, None), 1.0);
    }
}
