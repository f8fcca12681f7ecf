//! A forecast for several threads, from unit costs of one: the work is shared out, nobody waits for anybody, and the device
//! has as many requests in flight as there are threads. What threads cost each other (locks, cache lines that two
//! of them write, memory bandwidth) is not in it, so this is the least that it takes.

use schema::unit_cost::{Cause, Curve, Term, UnitCosts};

/// One pass of `threads` threads on `cpus` processors; each thread has `depth` requests in flight.
pub(super) fn shared(terms: Vec<Term>, costs: &UnitCosts, threads: u32, cpus: u32, depth: u32) -> Vec<Term> {
    let at_once = f64::from(threads.min(cpus).max(1));
    let share = |term: &Term| match term.cause {
        // One thread maps and unmaps for all.
        Cause::Mapping => 1.0,
        Cause::Device => match request_bytes(term) {
            Some(bytes) => in_flight(costs, bytes, depth.saturating_mul(threads)) / in_flight(costs, bytes, depth),
            // What comes in ascending order comes at the device's pace whoever asks.
            None => 1.0,
        },
        _ => 1.0 / at_once,
    };
    let of = |term: Term| {
        let share = Some(share(&term)).filter(|it| it.is_finite() && *it > 0.0).unwrap_or(1.0);
        Term { unit_ns: term.unit_ns * share, ns: term.ns * share, ..term }
    };
    terms.into_iter().map(of).collect()
}

/// Of a term that is counted in requests, how large one is; of another, nothing.
fn request_bytes(term: &Term) -> Option<f64> {
    let size: schema::Bytes = term.what.strip_prefix("requests of ")?.parse().ok()?;
    Some(size.0 as f64)
}

/// What a request costs with so many in flight: straight between the calibrated depths, both as logarithms, and level beyond
/// them.
fn in_flight(costs: &UnitCosts, bytes: f64, depth: u32) -> f64 {
    let points = costs.device.iter().filter_map(|it| {
        let ns = it.request.at(bytes).filter(|&ns| ns > 0.0)?;
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

    fn costs() -> UnitCosts {
        let depth = |queue_depth, ns: f64| DeviceCost { queue_depth, request: Curve { points: vec![(4096.0, ns)] } };
        UnitCosts { device: vec![depth(1, 64_000.0), depth(16, 4000.0)], ..UnitCosts::default() }
    }

    fn term(cause: Cause, what: &str) -> Term {
        Term { cause, what: what.into(), count: 10.0, unit_ns: 100.0, ns: 1000.0 }
    }

    fn ns(cause: Cause, what: &str, threads: u32) -> f64 {
        shared(vec![term(cause, what)], &costs(), threads, 4, 1)[0].ns
    }

    #[test]
    fn processors_share_the_work_as_far_as_there_are_processors() {
        let calls = |threads| ns(Cause::SystemCalls, "reads", threads);
        assert_eq!([1, 2, 4, 8].map(calls), [1000.0, 500.0, 250.0, 250.0]);
        assert_eq!(ns(Cause::Mapping, "open, map, unmap, close", 4), 1000.0);
    }

    #[test]
    fn the_device_answers_more_at_a_time_up_to_the_deepest_that_was_calibrated() {
        // A sixteenth at sixteen in flight; the fourth root of that at two.
        for (threads, expected) in [(1, 1000.0), (2, 500.0), (16, 62.5), (64, 62.5)] {
            let found = ns(Cause::Device, "requests of 4 KiB", threads);
            assert!((found - expected).abs() < 1e-6, "{found} for {threads}");
        }
        assert_eq!(ns(Cause::Device, "bytes from the device", 8), 1000.0);
    }

    #[test]
    fn a_device_that_was_calibrated_at_no_depth_is_not_made_faster() {
        let terms = shared(vec![term(Cause::Device, "requests of 4 KiB")], &UnitCosts::default(), 8, 4, 1);
        assert_eq!(terms[0].ns, 1000.0);
    }
}
