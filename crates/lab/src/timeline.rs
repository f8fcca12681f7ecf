//! The sampler behind `--timeline`: a thread of the controller that sleeps, and reads three small files when it wakes.
//! The kernel's ticks are hundredths of a second, so that more than ten samples a second see mostly rounding.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use schema::{record::Reading, timeline::Moment};
use sys::{device::Disk, process::number_after};

/// One look at the machine; counters since it started.
#[derive(Debug, Clone, PartialEq)]
struct MachineCounters {
    /// user nice system idle iowait irq softirq steal (proc_stat(5)).
    ticks: [u64; 8],
    switches: u64,
    /// Read and written.
    disk_bytes: Result<[u64; 2], String>,
    available_bytes: u64,
    cached_bytes: u64,
    dirty_bytes: u64,
}

/// Looks until it is stopped.
pub(crate) struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Moment>>,
}

impl Sampler {
    /// # Errors
    /// There can be no thread.
    pub(crate) fn start(disk: Result<Disk, String>, per_second: u32, begun: Instant) -> std::io::Result<Sampler> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let pause = Duration::from_secs(1) / per_second.max(1);
        let thread = std::thread::Builder::new().name("timeline".into()).spawn(move || {
            let mut moments = Vec::new();
            let mut before = look(&disk).map(|look| (begun.elapsed(), look));
            while !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(pause);
                moments.extend(look(&disk).and_then(|look| next(&mut before, (begun.elapsed(), look))));
            }
            moments
        })?;
        Ok(Sampler { stop, thread })
    }

    pub(crate) fn stop(self) -> Vec<Moment> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or_default()
    }
}

fn look(disk: &Result<Disk, String>) -> Option<MachineCounters> {
    let disk_bytes = disk
        .as_ref()
        .map_err(String::clone)
        .and_then(|disk| disk.counters().map(|it| [it.read_bytes, it.write_bytes]).map_err(|error| error.to_string()));
    parse(&fs::read_to_string("/proc/stat").ok()?, &fs::read_to_string("/proc/meminfo").ok()?, disk_bytes)
}

fn parse(stat: &str, memory: &str, disk_bytes: Result<[u64; 2], String>) -> Option<MachineCounters> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks: Vec<u64> = fields.take(8).map(|it| it.parse().ok()).collect::<Option<_>>()?;
    let bytes = |name: &str| Some(number_after(memory, name)?.saturating_mul(1024));
    Some(MachineCounters {
        ticks: ticks.try_into().ok()?,
        switches: stat.lines().find_map(|line| line.strip_prefix("ctxt "))?.trim().parse().ok()?,
        disk_bytes,
        available_bytes: bytes("MemAvailable:")?,
        cached_bytes: bytes("Cached:")?,
        dirty_bytes: bytes("Dirty:")?,
    })
}

/// What happened since the last look that became a moment. A look at which no tick has passed becomes none, and what
/// happened until then belongs to the next.
fn next(before: &mut Option<(Duration, MachineCounters)>, now: (Duration, MachineCounters)) -> Option<Moment> {
    let Some(last) = before else {
        *before = Some(now);
        return None;
    };
    let moment = between(last, &now)?;
    *before = Some(now);
    Some(moment)
}

/// `None` when no tick passed.
fn between(
    (before_at, before): &(Duration, MachineCounters),
    (at, now): &(Duration, MachineCounters),
) -> Option<Moment> {
    let seconds = at.checked_sub(*before_at)?.as_secs_f64();
    let spent: Vec<f64> = (0..8).map(|field| now.ticks[field].saturating_sub(before.ticks[field]) as f64).collect();
    let all: f64 = spent.iter().sum();
    if all <= 0.0 || seconds <= 0.0 {
        return None;
    }
    let share = |fields: &[usize]| fields.iter().map(|&field| spent[field]).sum::<f64>() / all;
    let rate = |field: usize| -> Reading<f64> {
        match (&before.disk_bytes, &now.disk_bytes) {
            (Ok(before), Ok(now)) => Reading::Value(now[field].saturating_sub(before[field]) as f64 / seconds),
            (Err(reason), _) | (_, Err(reason)) => Reading::unavailable(reason.clone()),
        }
    };
    Some(Moment {
        at_s: at.as_secs_f64(),
        user: share(&[0, 1]),
        system: share(&[2, 5, 6]),
        wait: share(&[4]),
        steal: share(&[7]),
        idle: share(&[3]),
        read_bytes_per_s: rate(0),
        write_bytes_per_s: rate(1),
        switches_per_s: now.switches.saturating_sub(before.switches) as f64 / seconds,
        available_bytes: now.available_bytes,
        cached_bytes: now.cached_bytes,
        dirty_bytes: now.dirty_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "cpu  100 0 50 800 40 5 5 0 0 0\ncpu0 1 2\nctxt 1000\nbtime 1\n";
    const MEMORY: &str = "MemTotal: 9 kB\nMemAvailable: 4 kB\nCached: 2 kB\nDirty: 1 kB\n";

    #[test]
    fn what_lies_between_two_looks_is_shares_and_rates() {
        let before = parse(STAT, MEMORY, Ok([0, 0])).unwrap();
        let later = "cpu  150 0 60 820 50 5 10 5 0 0\nctxt 3000\n";
        let now = parse(later, MEMORY, Ok([4096, 8192])).unwrap();
        let second = Duration::from_secs(1);
        let moment = between(&(second, before.clone()), &(3 * second, now.clone())).unwrap();
        assert_eq!((moment.user, moment.system, moment.wait), (0.5, 0.15, 0.1));
        assert_eq!((moment.steal, moment.idle, moment.switches_per_s), (0.05, 0.2, 1000.0));
        assert_eq!(moment.write_bytes_per_s, Reading::Value(4096.0));
        assert_eq!((moment.available_bytes, moment.dirty_bytes), (4096, 1024));
        assert_eq!(between(&(second, before.clone()), &(3 * second, before.clone())), None, "no tick passed");
        let blind = MachineCounters { disk_bytes: Err("no device".into()), ..now };
        let moment = between(&(second, before), &(3 * second, blind)).unwrap();
        assert_eq!(moment.read_bytes_per_s, Reading::unavailable("no device"));
    }

    #[test]
    fn what_happens_while_no_tick_passes_belongs_to_the_next_moment() {
        let look = |ms, ticks: u64, bytes| {
            let stat = format!("cpu {ticks} 0 0 0 0 0 0 0\nctxt 1\n");
            (Duration::from_millis(ms), parse(&stat, MEMORY, Ok([bytes, 0])).unwrap())
        };
        let mut before = None;
        let seen = [look(1000, 5, 0), look(1010, 5, 40_000_000), look(1020, 7, 40_000_000)];
        let moments: Vec<Moment> = seen.into_iter().filter_map(|it| next(&mut before, it)).collect();
        let [moment] = &moments[..] else { panic!("{moments:?}") };
        let read = moment.read_bytes_per_s.value().unwrap();
        assert!((read / 2e9 - 1.0).abs() < 1e-9, "{read}");
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let looked_for = |time: Duration| {
            let sampler = Sampler::start(Err("none".into()), 100, Instant::now()).unwrap();
            std::thread::sleep(time);
            sampler.stop()
        };
        // On a busy machine the sampler may wait long for a processor.
        let times = [100, 1000, 10_000].map(Duration::from_millis);
        let moments = times.into_iter().map(looked_for).find(|it| !it.is_empty()).expect("it looked twice in 10 s");
        for moment in moments {
            let all = moment.user + moment.system + moment.wait + moment.steal + moment.idle;
            assert!((all - 1.0).abs() < 1e-9, "{moment:?}");
        }
    }

    proptest! {
        #[test]
        fn other_texts_are_nothing_and_never_a_panic(stat in ".{0,80}", memory in ".{0,80}") {
            let _ = parse(&stat, &memory, Ok([0, 0]));
        }
    }
}
