//! What the device can do at most: a short deep-queue O_DIRECT read, so that a cold number can be seen as a share of it.

use schema::{
    Arm, Condition, Consume, Span, Workload,
    record::{Ceiling, Reading},
};

use crate::execute::Bench;

const QUEUE_DEPTH: u32 = 32;
/// How long each of the two measurements should last.
const WANTED_NS: f64 = 250e6;

/// Measures the ceiling on a part of the target. The cache state does not matter to O_DIRECT.
pub fn measure(bench: &mut Bench) -> Reading<Ceiling> {
    if bench.target.file_system.is_memory() {
        return Reading::unavailable(format!("{} has no device", bench.target.file_system.kind));
    }
    let large = match deepest(bench, Workload::Scan, 1 << 20) {
        Ok(measured) => measured,
        Err(reason) => return Reading::unavailable(reason),
    };
    let small = deepest(bench, Workload::Random, 4096);
    Reading::Value(Ceiling {
        bytes_per_s: large.bytes_per_s,
        random_ops_per_s: small.map(|it| it.ops_per_s).into(),
        how: large.how,
    })
}

/// The larger of two measurements, number by number.
pub fn larger(one: Reading<Ceiling>, other: Reading<Ceiling>) -> Reading<Ceiling> {
    match (one, other) {
        (Reading::Value(one), Reading::Value(other)) => Reading::Value(Ceiling {
            bytes_per_s: one.bytes_per_s.max(other.bytes_per_s),
            random_ops_per_s: match (one.random_ops_per_s, other.random_ops_per_s) {
                (Reading::Value(one), Reading::Value(other)) => Reading::Value(one.max(other)),
                (one @ Reading::Value(_), _) => one,
                (_, other) => other,
            },
            how: one.how,
        }),
        (one @ Reading::Value(_), _) => one,
        (_, other) => other,
    }
}

struct Measured {
    bytes_per_s: f64,
    ops_per_s: f64,
    how: String,
}

/// io_uring where it is allowed, as many threads with O_DIRECT where it is not.
fn deepest(bench: &mut Bench, workload: Workload, block_bytes: u64) -> Result<Measured, String> {
    let ring = timed(bench, workload, block_bytes, &format!("uring+queue_depth={QUEUE_DEPTH}+direct"), 1);
    ring.or_else(|_| timed(bench, workload, block_bytes, "direct", QUEUE_DEPTH))
}

fn timed(bench: &mut Bench, workload: Workload, block_bytes: u64, arm: &str, threads: u32) -> Result<Measured, String> {
    let arm: Arm = arm.parse()?;
    let file_bytes = bench.target.bytes;
    // Whole blocks only: the ragged end of a file is no measure of a device.
    let blocks = file_bytes / block_bytes;
    if blocks == 0 {
        return Err(format!("the file is smaller than one request of {block_bytes} bytes"));
    }
    let mut condition = Condition {
        workload,
        consume: Consume::Touch,
        block_bytes,
        threads: threads.min(blocks as u32),
        range: Span { offset: 0, bytes: blocks * block_bytes },
        ops: u64::from(QUEUE_DEPTH) * 4,
        ..Condition::plain(file_bytes)
    };
    if workload == Workload::Scan {
        condition.ops = condition.ops.min(blocks);
    }
    let (phases, tally) = bench.measure(&arm, &condition)?;
    let ns_per_op = phases.work_ns as f64 / tally.ops as f64;
    condition.ops = ((WANTED_NS / ns_per_op) as u64).max(condition.ops);
    if workload == Workload::Scan {
        condition.ops = condition.ops.min(blocks);
    }
    let (phases, tally) = bench.measure(&arm, &condition)?;
    // A clock may be too coarse for the pass.
    let seconds = phases.work_ns.max(1) as f64 / 1e9;
    Ok(Measured {
        bytes_per_s: tally.bytes as f64 / seconds,
        ops_per_s: tally.ops as f64 / seconds,
        how: format!(
            "{} {}, {} requests, {} in flight",
            arm.short_name(),
            workload,
            schema::Bytes(block_bytes),
            tally.queue_depth * tally.threads
        ),
    })
}
