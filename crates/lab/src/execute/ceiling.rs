//! What the device can do at most: a short deep-queue O_DIRECT read, so that a cold number can be seen as a share of it.

use std::fmt;

use schema::{
    Arm, Bytes, Condition, Consume, Span, Workload,
    protocol::Done,
    record::{Ceiling, Reading},
};

use super::Bench;
use crate::target::named::Named;

const QUEUE_DEPTH: u32 = 32;
/// How long each of the repetitions should last.
const WANTED_NS: f64 = 80e6;
const REPETITIONS: usize = 4;
/// What disturbs a repetition makes it slower, so the fastest is the ceiling; and a second one must come this close to it.
const AGREE: f64 = 0.75;

/// Why what was measured is no ceiling.
#[derive(Debug, Clone, PartialEq)]
enum Doubt {
    /// The queue never fills.
    TooSmall {
        file_bytes: u64,
        needed_bytes: u64,
    },
    Disagree {
        bytes_per_s: Vec<f64>,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Doubt::TooSmall { file_bytes, needed_bytes } => write!(
                f,
                "the file that it is measured on has {}, and {QUEUE_DEPTH} requests at once need {}",
                Bytes(*file_bytes),
                Bytes(*needed_bytes)
            ),
            Doubt::Disagree { bytes_per_s } => {
                let rates: Vec<String> =
                    bytes_per_s.iter().map(|it| format!("{:.0}", it / f64::from(1 << 20))).collect();
                write!(f, "its repetitions disagree: {} MiB/s", rates.join(", "))
            }
        }
    }
}

/// The fastest repetition, if a second one confirms it.
fn confirmed(mut bytes_per_s: Vec<f64>) -> Result<f64, Doubt> {
    bytes_per_s.sort_by(|a, b| b.total_cmp(a));
    match bytes_per_s[..] {
        [fastest, second, ..] if second >= AGREE * fastest => Ok(fastest),
        _ => Err(Doubt::Disagree { bytes_per_s }),
    }
}

/// Measures the ceiling on a part of the target. The cache state does not matter to O_DIRECT.
pub fn measure(bench: &mut Bench) -> Reading<Ceiling> {
    if bench.target.file_system.is_memory() {
        return Reading::unavailable(format!("{} has no device", bench.target.file_system.kind));
    }
    if let Some(spread) = bench.target.named.as_ref().and_then(Named::spread) {
        return Reading::unavailable(spread.to_string());
    }
    let large = match deepest(bench, Workload::Scan, 1 << 20) {
        Ok(measured) => measured,
        Err(reason) => return Reading::unavailable(reason),
    };
    let small = deepest(bench, Workload::Random, 4096);
    Reading::Value(Ceiling {
        bytes_per_s: large.bytes_per_s,
        random_how: small.as_ref().ok().map(|it| it.how.clone()),
        random_ops_per_s: small.map(|it| it.ops_per_s).into(),
        how: large.how,
    })
}

/// The larger of two measurements, number by number, each with how it was measured.
pub fn larger(one: Reading<Ceiling>, other: Reading<Ceiling>) -> Reading<Ceiling> {
    match (one, other) {
        (Reading::Value(one), Reading::Value(other)) => {
            let ops_per_s = |it: &Ceiling| it.random_ops_per_s.value().copied();
            let random = if ops_per_s(&other) >= ops_per_s(&one) { other.clone() } else { one.clone() };
            let scan = if other.bytes_per_s > one.bytes_per_s { other } else { one };
            let Ceiling { random_ops_per_s, random_how, .. } = random;
            Reading::Value(Ceiling { random_ops_per_s, random_how, ..scan })
        }
        (one @ Reading::Value(_), _) => one,
        (_, other) => other,
    }
}

struct Throughput {
    bytes_per_s: f64,
    ops_per_s: f64,
    how: String,
}

/// io_uring where it is allowed, as many threads with O_DIRECT where it is not.
fn deepest(bench: &mut Bench, workload: Workload, block_bytes: u64) -> Result<Throughput, String> {
    let ring = timed(bench, workload, block_bytes, &format!("uring+queue_depth={QUEUE_DEPTH}+direct"), 1);
    ring.or_else(|_| timed(bench, workload, block_bytes, "direct", QUEUE_DEPTH))
}

fn timed(
    bench: &mut Bench,
    workload: Workload,
    block_bytes: u64,
    arm: &str,
    threads: u32,
) -> Result<Throughput, String> {
    let arm: Arm = arm.parse()?;
    let file_bytes = bench.target.bytes;
    // Whole blocks only: the ragged end of a file is no measure of a device.
    let blocks = file_bytes / block_bytes;
    if blocks < u64::from(QUEUE_DEPTH) {
        let needed_bytes = u64::from(QUEUE_DEPTH) * block_bytes;
        return Err(Doubt::TooSmall { file_bytes, needed_bytes }.to_string());
    }
    let mut condition = Condition {
        workload,
        consume: Consume::Touch,
        block_bytes,
        threads,
        range: Span { offset: 0, bytes: blocks * block_bytes },
        ops: u64::from(QUEUE_DEPTH) * 4,
        ..Condition::plain(file_bytes)
    };
    if workload == Workload::Scan {
        condition.ops = condition.ops.min(blocks);
    }
    let at_its_place = |bench: &mut Bench, condition: &Condition| {
        let mut condition = condition.clone();
        if workload == Workload::Scan {
            condition.range = bench.draw.unscanned(condition.ops * block_bytes, blocks * block_bytes);
        }
        condition
    };
    let first = at_its_place(bench, &condition);
    let Done { phases, tally, .. } = bench.measure(&arm, &first)?;
    let ns_per_op = phases.work_ns as f64 / tally.ops as f64;
    condition.ops = ((WANTED_NS / ns_per_op) as u64).max(condition.ops);
    if workload == Workload::Scan {
        condition.ops = condition.ops.min(blocks);
    }
    let mut bytes_per_s = Vec::new();
    let mut last = tally;
    for _ in 0..REPETITIONS {
        let here = at_its_place(bench, &condition);
        let Done { phases, tally, .. } = bench.measure(&arm, &here)?;
        // A clock may be too coarse for the pass.
        bytes_per_s.push(tally.bytes as f64 * 1e9 / phases.work_ns.max(1) as f64);
        last = tally;
    }
    let bytes_per_s = confirmed(bytes_per_s).map_err(|doubt| doubt.to_string())?;
    Ok(Throughput {
        bytes_per_s,
        ops_per_s: bytes_per_s * last.ops as f64 / last.bytes.max(1) as f64,
        how: format!(
            "{} {}, {} requests, {} in flight",
            arm.short_name(),
            workload,
            Bytes(block_bytes),
            last.queue_depth * last.threads
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_the_fastest_repetition_that_a_second_one_confirms() {
        assert_eq!(confirmed(vec![100.0, 400.0, 390.0, 52.0]), Ok(400.0));
        for rates in [vec![52.0, 1700.0, 300.0, 310.0], vec![400.0], Vec::new()] {
            assert!(matches!(confirmed(rates.clone()), Err(Doubt::Disagree { .. })), "{rates:?}");
        }
    }

    fn ceiling((bytes_per_s, scan): (f64, &str), (ops_per_s, random): (Option<f64>, &str)) -> Reading<Ceiling> {
        Reading::Value(Ceiling {
            bytes_per_s,
            random_ops_per_s: ops_per_s.map_or_else(|| Reading::unavailable(random), Reading::Value),
            how: scan.into(),
            random_how: ops_per_s.map(|_| random.into()),
        })
    }

    #[test]
    fn of_two_ceilings_each_number_comes_with_how_it_was_measured() {
        let ring = || ceiling((1e9, "ring"), (Some(9e4), "ring"));
        let threads = |ops_per_s| ceiling((2e9, "threads"), (ops_per_s, "threads"));
        assert_eq!(larger(ring(), threads(Some(8e4))), ceiling((2e9, "threads"), (Some(9e4), "ring")));
        assert_eq!(larger(threads(Some(8e4)), ring()), ceiling((2e9, "threads"), (Some(9e4), "ring")));
        assert_eq!(larger(ring(), threads(Some(1e5))), threads(Some(1e5)));
        assert_eq!(larger(threads(None), ring()), ceiling((2e9, "threads"), (Some(9e4), "ring")));
        assert_eq!(larger(threads(None), threads(None)), threads(None));
        assert_eq!(larger(ring(), Reading::unavailable("no device")), ring());
    }
}
