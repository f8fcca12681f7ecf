//! The machine that a record was made on: which one it is, and what of it decides results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::reading::{Reading, Value};

/// The machine, as far as it decides results. A field that could not be read says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The nodename.
    pub host: String,
    /// Absent in records of older versions, and where there is nothing to make a key from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    pub kernel: String,
    pub architecture: String,
    pub cpu: Reading<String>,
    /// That this process may use.
    pub cpus: u32,
    /// Those of the machine, whichever of them this process may use.
    #[serde(default = "not_looked_at")]
    pub online_cpus: Reading<u32>,
    /// Of all processors, those that are alike as one entry.
    #[serde(default = "not_looked_at")]
    pub cpu_caches: Reading<Vec<CpuCache>>,
    pub page_bytes: u64,
    pub memory_bytes: u64,
    pub memory_available_bytes: u64,
    /// The smallest memory limit of the cgroups this runs in.
    pub memory_limit_bytes: Reading<u64>,
    pub swap_bytes: u64,
    /// `none` on bare metal.
    pub virtualisation: Reading<String>,
    pub mitigations: BTreeMap<String, String>,
    pub transparent_hugepage: Reading<String>,
    pub fault_around_bytes: Reading<u64>,
    pub lru_gen: Reading<String>,
    /// DAMON schemes by which the kernel evicts idle memory, even when memory is not scarce.
    #[serde(default = "not_looked_at")]
    pub reclaim_schemes: Reading<Vec<ReclaimScheme>>,
    pub clocksource: Reading<String>,
    /// Between two timer ticks (1 s / CONFIG_HZ), in nanoseconds: the kernel separates user and system time at ticks,
    /// so that is the grain of either.
    #[serde(default = "not_looked_at")]
    pub tick_ns: Reading<u64>,
    pub governor: Reading<String>,
    pub c_library: Reading<String>,
    pub root: bool,
    /// Share of CPU time stolen by the hypervisor during the run.
    pub steal_share: Reading<f64>,
    /// Load average of the machine over one minute when the run began.
    pub load: f64,
}

fn not_looked_at<T>() -> Reading<T> {
    Reading::unavailable("made by a version that does not look")
}

impl Environment {
    /// The memory that the page cache can have, in bytes: what is available, within the cgroup's limit.
    pub fn cache_memory_bytes(&self) -> u64 {
        let limit = self.memory_limit_bytes.value().copied().unwrap_or(u64::MAX);
        limit.min(self.memory_available_bytes)
    }

    /// What the load is of: the whole machine, as far as it is known.
    pub fn loaded_cpus(&self) -> u32 {
        self.online_cpus.value().copied().unwrap_or(self.cpus)
    }

    /// Whether other programs had so much of the machine that they disturb.
    pub fn is_busy(&self) -> bool {
        self.load > f64::from(self.loaded_cpus()) / 2.0
    }

    /// The size of the last-level cache; of several the largest.
    pub fn last_level_cache_bytes(&self) -> Option<u64> {
        let of_data = || self.cpu_caches.value().into_iter().flatten().filter(|it| it.kind != CacheKind::Instruction);
        let last = of_data().map(|it| it.level).max()?;
        of_data().filter(|it| it.level == last).map(|it| it.bytes).max()
    }
}

/// Caches of the processors that have the same level, kind and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CpuCache {
    pub level: u32,
    pub kind: CacheKind,
    pub bytes: u64,
    /// How many there are; processors that share one count it once.
    pub count: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    Data,
    Instruction,
    Unified,
}

/// A scheme of DAMON whose kernel thread was running when the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReclaimScheme {
    /// The number of its thread: kdamond.N.
    pub kdamond: u32,
    /// `pageout`, `cold`, `lru_deprio`, …
    pub action: String,
    /// Memory that was not accessed for this long.
    pub idle_s: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_bytes_per_s: Option<f64>,
}

impl ReclaimScheme {
    /// Whether an action takes pages out of memory; others only count or sort them.
    pub fn pushes_out(action: &str) -> bool {
        matches!(action, "pageout" | "cold")
    }
}

impl Value for CpuCache {
    fn is_finite(&self) -> bool {
        true
    }
}

impl Value for ReclaimScheme {
    fn is_finite(&self) -> bool {
        self.idle_s.is_finite()
    }
}

/// A machine as its records name it. Nothing of it leads back to the machine-id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// 128 bits in hexadecimal, the same after every boot.
    pub key: String,
    /// 128 bits in hexadecimal, the same until the next boot; absent where the kernel names no boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// 64 bits in hexadecimal, of architecture, CPU model, processors and memory in GiB. Copies of one system image have one
    /// key, and often other hardware.
    pub hardware: String,
    pub source: KeySource,
}

/// What the key is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeySource {
    /// /etc/machine-id, by HMAC-SHA256 as in sd_id128_get_machine_app_specific(3).
    MachineId,
    /// The same of the product UUID of the firmware, which only root can read.
    ProductUuid,
    /// Random bits in the data folder.
    DataFolder,
}
