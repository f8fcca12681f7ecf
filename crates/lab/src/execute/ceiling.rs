//! What the device can do at most: a short deep-queue O_DIRECT read, so that a cold number can be seen as a share of it.

use std::{fmt, time::Duration};

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
/// Of the budget, for the repetitions of large and of small requests together; as much again where they disagree.
const SHARE_OF_BUDGET: f64 = 0.25;
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
    /// All of them together, where each keeps the queue full once.
    TooSlow {
        least_ns: f64,
        budget: Duration,
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
            Doubt::TooSlow { least_ns, budget } => write!(
                f,
                "{REPETITIONS} times {QUEUE_DEPTH} requests take {:.1} s, for which a budget of {:.0} s leaves no time",
                least_ns / 1e9,
                budget.as_secs_f64()
            ),
        }
    }
}

/// How many requests a repetition has, where one takes so long: as many as fill the wanted time, and no more than there is time
/// for.
fn requests(ns_per_op: f64, budget: Duration) -> Result<u64, Doubt> {
    let most_ns = budget.as_nanos() as f64 * SHARE_OF_BUDGET / 2.0;
    let most = most_ns / REPETITIONS as f64 / ns_per_op;
    let depth = f64::from(QUEUE_DEPTH);
    match most < depth {
        true => Err(Doubt::TooSlow { least_ns: ns_per_op * depth * REPETITIONS as f64, budget }),
        false => Ok((WANTED_NS / ns_per_op).max(4.0 * depth).min(most) as u64),
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
    match ring {
        // So it is by threads.
        Err(Unmeasured::Doubtful(doubt @ Doubt::TooSlow { .. })) => Err(doubt.to_string()),
        Err(_) => timed(bench, workload, block_bytes, "direct", QUEUE_DEPTH).map_err(|it| it.to_string()),
        Ok(measured) => Ok(measured),
    }
}

enum Unmeasured {
    Doubtful(Doubt),
    Failed(String),
}

impl From<String> for Unmeasured {
    fn from(reason: String) -> Unmeasured {
        Unmeasured::Failed(reason)
    }
}

impl From<Doubt> for Unmeasured {
    fn from(doubt: Doubt) -> Unmeasured {
        Unmeasured::Doubtful(doubt)
    }
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Unmeasured::Doubtful(doubt) => doubt.fmt(f),
            Unmeasured::Failed(reason) => f.write_str(reason),
        }
    }
}

fn timed(
    bench: &mut Bench,
    workload: Workload,
    block_bytes: u64,
    arm: &str,
    threads: u32,
) -> Result<Throughput, Unmeasured> {
    let arm: Arm = arm.parse()?;
    let file_bytes = bench.target.bytes;
    // Whole blocks only: the ragged end of a file is no measure of a device.
    let blocks = file_bytes / block_bytes;
    if blocks < u64::from(QUEUE_DEPTH) {
        let needed_bytes = u64::from(QUEUE_DEPTH) * block_bytes;
        return Err(Doubt::TooSmall { file_bytes, needed_bytes }.into());
    }
    let mut condition = Condition {
        workload,
        consume: Consume::Touch,
        block_bytes,
        threads,
        range: Span { offset: 0, bytes: blocks * block_bytes },
        // A slow device takes a second for a full queue of large requests.
        ops: u64::from(QUEUE_DEPTH) * if workload == Workload::Scan { 1 } else { 4 },
        ..Condition::plain(file_bytes)
    };
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
    condition.ops = requests(ns_per_op, bench.settings.budget)?;
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
    let bytes_per_s = confirmed(bytes_per_s)?;
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

    #[test]
    fn a_slow_device_gets_no_more_of_the_budget_than_its_share() {
        let of = |mib_per_s: f64, budget_s: u64| requests(1e9 / mib_per_s, Duration::from_secs(budget_s));
        assert_eq!(of(2000.0, 60), Ok(160), "80 ms");
        assert_eq!(of(200.0, 60), Ok(128), "a queue that is full four times");
        assert_eq!(of(20.0, 60), Ok(37), "four times 1.9 s");
        assert!(matches!(of(20.0, 10), Err(Doubt::TooSlow { .. })));
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
