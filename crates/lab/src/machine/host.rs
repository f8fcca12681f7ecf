//! What this machine is, as far as it decides results. It reads; it sets nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use schema::{
    machine::{KeySource, Machine},
    record::{CacheKind, CpuCache, Environment, Reading, ReclaimScheme},
};

/// A key that the data folder holds, for a machine without an id. It is asked for only then, and need not have one.
pub type KeptKey<'a> = &'a dyn Fn() -> Option<String>;

/// Reads everything that a record says of the machine.
pub fn detect(kept: KeptKey) -> Environment {
    let uname = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    let mut environment = Environment {
        host: text(uname.nodename()),
        machine: None,
        kernel: text(uname.release()),
        architecture: text(uname.machine()),
        cpu: Reading::from(cpu()),
        cpus: sys::processors::allowed(),
        online_cpus: Reading::from(sys::processors::online().map(|it| it.len() as u32)),
        cpu_caches: Reading::from(cpu_caches(Path::new("/sys/devices/system/cpu"))),
        page_bytes: sys::page_bytes(),
        memory_bytes: meminfo("MemTotal:").unwrap_or(0),
        memory_available_bytes: meminfo("MemAvailable:").unwrap_or(0),
        memory_limit_bytes: Reading::from(memory_limit()),
        swap_bytes: meminfo("SwapTotal:").unwrap_or(0),
        virtualisation: Reading::from(virtualisation()),
        mitigations: mitigations(),
        transparent_hugepage: Reading::from(chosen("/sys/kernel/mm/transparent_hugepage/enabled")),
        fault_around_bytes: Reading::from(
            line("/sys/kernel/debug/fault_around_bytes")
                .and_then(|text| text.parse().map_err(|_| io::Error::other(format!("odd value {text:?}")))),
        ),
        lru_gen: Reading::from(line("/sys/kernel/mm/lru_gen/enabled")),
        reclaim_schemes: Reading::from(reclaim_schemes()),
        clocksource: Reading::from(line("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        tick_ns: Reading::from(tick_ns()),
        governor: Reading::from(line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        c_library: Reading::from(c_library()),
        root: rustix::process::geteuid().is_root(),
        steal_share: Reading::unavailable("read at the end of the run"),
        load: line("/proc/loadavg").ok().and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0.0),
    };
    environment.machine = machine(&environment, kept);
    environment
}

fn machine(environment: &Environment, kept: KeptKey) -> Option<Machine> {
    let (source, key) = key(sys::machine::machine_id(), sys::machine::product_uuid, kept)?;
    Some(Machine {
        key,
        boot: sys::machine::boot_id().ok().map(sys::machine::key),
        hardware: hardware(environment),
        source,
    })
}

/// An id that is there and cannot be read now gives no other key: a run would be one of another machine.
fn key(
    machine_id: io::Result<sys::machine::Id>,
    product_uuid: fn() -> io::Result<sys::machine::Id>,
    kept: KeptKey,
) -> Option<(KeySource, String)> {
    match machine_id {
        Ok(id) => Some((KeySource::MachineId, sys::machine::key(id))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => {
            let of_firmware = product_uuid().ok().map(|id| (KeySource::ProductUuid, sys::machine::key(id)));
            of_firmware.or_else(|| kept().map(|key| (KeySource::DataFolder, key)))
        }
        Err(_) => None,
    }
}

/// The kernel keeps a part of the memory to itself, and from version to version another part; in whole GiB, rounded up, that
/// is seldom seen.
fn hardware(of: &Environment) -> String {
    let cpu = of.cpu.value().map_or("", String::as_str);
    let gibibytes = of.memory_bytes.div_ceil(1 << 30);
    // Those of the machine, not those that this process may use.
    let processors = line("/sys/devices/system/cpu/present").unwrap_or_default();
    sys::machine::digest(&format!("{}\n{cpu}\n{processors}\n{gibibytes}", of.architecture))
}

/// The coarse clock is set at every tick, and its resolution is the time between two of them (clock_getres(2)): the
/// kernel's CONFIG_HZ, where sysconf(_SC_CLK_TCK) is always 100.
fn tick_ns() -> io::Result<u64> {
    let tick = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    let ns = tick.tv_sec as u64 * 1_000_000_000 + tick.tv_nsec as u64;
    // 24 to 1200 ticks a second are what kernels can be built with.
    if (500_000..=50_000_000).contains(&ns) {
        Ok(ns)
    } else {
        Err(io::Error::other(format!("odd resolution: {ns} ns")))
    }
}

/// Ticks of all CPUs together since boot: all, and those stolen by the hypervisor.
#[derive(Debug, Clone, Copy)]
pub struct CpuTicks {
    all: u64,
    stolen: u64,
}

/// # Errors
/// /proc/stat cannot be read.
pub fn cpu_ticks() -> io::Result<CpuTicks> {
    let text = fs::read_to_string("/proc/stat")?;
    let fields: Vec<u64> =
        text.lines().next().unwrap_or_default().split_whitespace().skip(1).filter_map(|it| it.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest time is contained in user (proc_stat(5)).
    let stolen = *fields.get(7).ok_or_else(|| io::Error::other("no steal column in /proc/stat"))?;
    Ok(CpuTicks { all: fields[..8].iter().sum(), stolen })
}

impl CpuTicks {
    /// The share stolen since an earlier reading.
    pub fn stolen_since(&self, earlier: &CpuTicks) -> f64 {
        let all = self.all.saturating_sub(earlier.all);
        if all == 0 { 0.0 } else { self.stolen.saturating_sub(earlier.stolen) as f64 / all as f64 }
    }
}

fn line(path: &str) -> io::Result<String> {
    fs::read_to_string(path)
        .map(|text| text.trim().to_string())
        .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
}

/// The word in brackets of a file such as `always [madvise] never`.
fn chosen(path: &str) -> io::Result<String> {
    line(path).map(|text| text.split(['[', ']']).nth(1).map_or(text.clone(), str::to_string))
}

fn meminfo(field: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    Some(sys::process::number_after(&text, field)? * 1024)
}

fn cpu() -> io::Result<String> {
    let text = fs::read_to_string("/proc/cpuinfo")?;
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.split_once(':').map(|(_, value)| value.trim().to_string()))
    };
    // aarch64 has no model name; part numbers are the best it gives.
    field("model name")
        .or_else(|| Some(format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?)))
        .ok_or_else(|| io::Error::other("/proc/cpuinfo names no model"))
}

/// The caches of all processors, as cacheinfo in sysfs describes them (Documentation/ABI/testing/sysfs-devices-system-cpu).
fn cpu_caches(processors: &Path) -> io::Result<Vec<CpuCache>> {
    let mut seen = BTreeSet::new();
    for processor in fs::read_dir(processors)?.flatten() {
        for index in fs::read_dir(processor.path().join("cache")).into_iter().flatten().flatten() {
            let text = |name: &str| fs::read_to_string(index.path().join(name)).ok().map(|it| it.trim().to_string());
            let kind = match text("type").as_deref() {
                Some("Data") => CacheKind::Data,
                Some("Instruction") => CacheKind::Instruction,
                Some("Unified") => CacheKind::Unified,
                _ => continue,
            };
            let bytes = text("size").and_then(|it| it.strip_suffix('K')?.parse::<u64>().ok()).map(|it| it * 1024);
            let level = text("level").and_then(|it| it.parse().ok());
            if let (Some(level), Some(bytes), Some(shared)) = (level, bytes, text("shared_cpu_list")) {
                seen.insert((level, kind, bytes, shared));
            }
        }
    }
    let mut caches: BTreeMap<(u32, CacheKind, u64), u32> = BTreeMap::new();
    for (level, kind, bytes, _) in seen {
        *caches.entry((level, kind, bytes)).or_default() += 1;
    }
    match caches.is_empty() {
        true => Err(io::Error::other(format!("{} describes no cache", processors.display()))),
        false => {
            Ok(caches.into_iter().map(|((level, kind, bytes), count)| CpuCache { level, kind, bytes, count }).collect())
        }
    }
}

fn virtualisation() -> io::Result<String> {
    let flags = fs::read_to_string("/proc/cpuinfo")?;
    let guest = flags.lines().any(|line| line.starts_with("flags") && line.split(' ').any(|flag| flag == "hypervisor"));
    let vendor = line("/sys/class/dmi/id/sys_vendor").or_else(|_| line("/sys/hypervisor/type")).ok();
    match (guest, vendor) {
        (true, Some(vendor)) => Ok(format!("guest ({vendor})")),
        (true, None) => Ok("guest".into()),
        (false, _) if cfg!(any(target_arch = "x86", target_arch = "x86_64")) => Ok("none".into()),
        (false, _) => Err(io::Error::other("this architecture does not report it")),
    }
}

fn mitigations() -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else { return BTreeMap::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let text = fs::read_to_string(entry.path()).ok()?;
            let state = text.trim();
            (state != "Not affected").then(|| (entry.file_name().to_string_lossy().into_owned(), state.to_string()))
        })
        .collect()
}

/// The smallest limit of this process's memory cgroup and those above it.
fn memory_limit() -> Result<u64, String> {
    sys::cgroup::memory_limit()?.ok_or_else(|| "no memory limit is set".into())
}

fn reclaim_schemes() -> Result<Vec<ReclaimScheme>, String> {
    let of = |it: sys::damon::Scheme| ReclaimScheme {
        kdamond: it.kdamond,
        action: it.action,
        idle_s: it.idle_s,
        quota_bytes_per_s: it.quota_bytes_per_s,
    };
    sys::damon::schemes().map(|all| all.into_iter().map(of).collect())
}

fn c_library() -> io::Result<String> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: returns a pointer to a string that lives as long as the process.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        Ok(format!("glibc {}", version.to_string_lossy()))
    }
    #[cfg(not(target_env = "gnu"))]
    Err(io::Error::other("no glibc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_is_one_that_kernels_can_be_built_with() {
        let per_second = 1e9 / tick_ns().unwrap() as f64;
        assert!(
            [24, 32, 48, 64, 100, 128, 200, 250, 256, 300, 500, 512, 600, 900, 1000, 1024, 1200]
                .iter()
                .any(|hz| (per_second - f64::from(*hz)).abs() < 1.0)
        );
    }

    #[test]
    fn this_machine_is_described() {
        let environment = detect(&|| None);
        assert!(environment.memory_bytes > 0 && environment.cpus > 0);
        assert!(environment.online_cpus.value().is_none_or(|&all| all >= environment.cpus));
        assert!(!environment.kernel.is_empty());
        assert_eq!(environment.root, rustix::process::geteuid().is_root());
    }

    #[test]
    fn this_machine_has_one_key_and_its_hardware_is_not_its_name() {
        let kept = || Some("0123456789abcdef0123456789abcdef".to_string());
        let environment = detect(&kept);
        let machine = environment.machine.clone().expect("a key is kept where there is no other");
        assert_eq!((machine.key.len(), machine.hardware.len()), (32, 16));
        assert_eq!(detect(&kept).machine.as_ref(), Some(&machine));
        let renamed = Environment { host: "renamed".into(), cpus: 1, load: 17.0, ..environment.clone() };
        assert_eq!(hardware(&renamed), machine.hardware);
        let larger = Environment { memory_bytes: environment.memory_bytes * 2, ..environment };
        assert_ne!(hardware(&larger), machine.hardware);
    }

    #[test]
    fn a_key_is_of_the_first_id_that_there_is_and_one_that_cannot_be_read_is_no_other_machine() {
        let failed = |kind: io::ErrorKind| Err(io::Error::from(kind));
        let kept = || Some("kept".to_string());
        let source = |machine_id, product: fn() -> io::Result<_>| key(machine_id, product, &kept).map(|it| it.0);
        let absent = || Err(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(source(Ok([1; 16]), absent), Some(KeySource::MachineId));
        assert_eq!(source(failed(io::ErrorKind::NotFound), || Ok([2; 16])), Some(KeySource::ProductUuid));
        assert_eq!(source(failed(io::ErrorKind::InvalidData), absent), Some(KeySource::DataFolder));
        assert_eq!(source(failed(io::ErrorKind::PermissionDenied), absent), None);
        assert_eq!(source(Err(io::Error::from_raw_os_error(5)), || Ok([2; 16])), None);
    }

    #[test]
    fn caches_of_all_processors_are_counted_once_however_many_share_them() {
        let folder = tempfile::tempdir().unwrap();
        let cache = |processor: u32, index: u32, [level, kind, size, shared]: [&str; 4]| {
            let at = folder.path().join(format!("cpu{processor}/cache/index{index}"));
            fs::create_dir_all(&at).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)] {
                fs::write(at.join(name), format!("{text}\n")).unwrap();
            }
        };
        for (processor, own) in [(0, "0"), (1, "1")] {
            cache(processor, 0, ["1", "Data", "48K", own]);
            cache(processor, 1, ["1", "Instruction", "32K", own]);
            cache(processor, 2, ["3", "Unified", "107520K", "0-1"]);
        }
        fs::create_dir_all(folder.path().join("cpufreq")).unwrap();
        let of = |level, kind, kib: u64, count| CpuCache { level, kind, bytes: kib << 10, count };
        let expected = [
            of(1, CacheKind::Data, 48, 2),
            of(1, CacheKind::Instruction, 32, 2),
            of(3, CacheKind::Unified, 107_520, 1),
        ];
        assert_eq!(cpu_caches(folder.path()).unwrap(), expected);
        assert!(cpu_caches(&folder.path().join("cpufreq")).is_err());
    }

    #[test]
    fn stolen_time_is_a_share_of_what_passed() {
        let (before, after) = (CpuTicks { all: 1000, stolen: 10 }, CpuTicks { all: 1100, stolen: 15 });
        assert_eq!(after.stolen_since(&before), 0.05);
        assert_eq!(before.stolen_since(&before), 0.0);
    }
}
