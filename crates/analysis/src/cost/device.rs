//! What a request to the device takes: as calibrated, and where larger ones were not, what the device's own ceiling allows.

use schema::{
    no_cost::{NoCost, Operation},
    unit_cost::DeviceCost,
};

/// A request of so many times the largest calibrated one is taken to cost in proportion at most, where nothing bounds it:
/// what a request of a page takes is latency, and says nothing about a megabyte.
const REACH: f64 = 16.0;

/// The largest request of this depth that was calibrated, in bytes.
pub(super) fn largest(of: &DeviceCost) -> Option<f64> {
    of.request.points.last().map(|it| it.0)
}

/// Whether requests so large leave what was calibrated far behind.
pub(super) fn is_beyond(of: &DeviceCost, bytes: f64) -> bool {
    largest(of).is_some_and(|largest| bytes > REACH * largest)
}

/// What a request of so many bytes takes; `ceiling` is what the device gives at most, in bytes a second. What goes beyond
/// the largest calibrated request takes no longer than at that rate, nor than more requests of that size.
///
/// # Errors
/// No request of such a size was calibrated, and no ceiling measured.
pub(super) fn request_ns(of: &DeviceCost, bytes: f64, ceiling: Option<f64>) -> Result<f64, NoCost> {
    let Some((&(largest, ns), in_proportion)) = of.request.points.last().zip(of.request.at(bytes)) else {
        return Err(Operation::Device.into());
    };
    if bytes <= largest {
        return Ok(in_proportion);
    }
    match ceiling.filter(|it| it.is_finite() && *it > 0.0) {
        Some(rate) => Ok(in_proportion.min(ns + (bytes - largest) / rate * 1e9)),
        None if !is_beyond(of, bytes) => Ok(in_proportion),
        None => Err(NoCost::RequestSize { bytes: bytes as u64, largest: largest as u64 }),
    }
}

#[cfg(test)]
mod tests {
    use schema::unit_cost::Curve;

    use super::*;

    const KIB: f64 = 1024.0;

    #[test]
    fn a_large_request_is_not_as_many_small_ones_where_only_small_ones_were_calibrated() {
        let of = |points: &[(f64, f64)]| DeviceCost { queue_depth: 1, request: Curve { points: points.to_vec() } };
        let (small, all) = (of(&[(4.0 * KIB, 60_000.0)]), of(&[(4.0 * KIB, 60_000.0), (768.0 * KIB, 400_000.0)]));
        let window = 8192.0 * KIB;
        // 8 MiB at 2 GB/s, after the latency of a small one.
        let bounded = request_ns(&small, window, Some(2e9)).unwrap();
        assert!((4.1e6..4.4e6).contains(&bounded), "{bounded}");
        let unknown = NoCost::RequestSize { bytes: 8 << 20, largest: 4096 };
        for ceiling in [None, Some(0.0), Some(f64::NAN)] {
            assert_eq!(request_ns(&small, window, ceiling), Err(unknown.clone()));
            assert_eq!(request_ns(&all, window, ceiling), Ok(400_000.0 * window / (768.0 * KIB)), "in proportion");
        }
        // A ceiling that is lower than what the requests themselves show makes nothing dearer.
        assert_eq!(request_ns(&all, window, Some(1e6)), request_ns(&all, window, None));
        for bytes in [4.0 * KIB, 100.0 * KIB, 768.0 * KIB] {
            assert_eq!(request_ns(&all, bytes, Some(2e9)), Ok(all.request.at(bytes).unwrap()));
        }
        assert_eq!(request_ns(&of(&[]), window, Some(2e9)), Err(Operation::Device.into()));
        assert!(is_beyond(&small, window) && !is_beyond(&all, window));
    }
}
