//! What every planted record begins with.

use std::collections::BTreeMap;

use schema::{
    Experiment, Reading, Record, SCHEMA_VERSION,
    record::{Ceiling, Device, Environment, Target},
};

/// A record in which nothing was measured, of a machine of two processors.
pub fn empty_record() -> Record {
    let unknown = || Reading::unavailable("not looked at in tests");
    Record {
        schema_version: SCHEMA_VERSION,
        id: "20010410T000000Z-test".to_string(),
        tool_version: "0.0.0".to_string(),
        started: "2001-04-10T00:00:00Z".to_string(),
        elapsed_s: 1.0,
        partial: None,
        ending: None,
        rounds_ended: Default::default(),
        folder: None,
        seed: 1,
        budget_s: 60.0,
        experiment: Experiment {
            name: "made-up".to_string(),
            title: "Made up".to_string(),
            question: None,
            source: None,
            study: None,
            comparisons: Vec::new(),
            claims: Vec::new(),
            figures: Vec::new(),
            narrowed: Vec::new(),
        },
        environment: Environment {
            host: "lab".to_string(),
            kernel: "6.18.0".to_string(),
            architecture: "x86_64".to_string(),
            cpu: unknown(),
            cpus: 2,
            page_bytes: 4096,
            memory_bytes: 16 << 30,
            memory_available_bytes: 12 << 30,
            memory_limit_bytes: Reading::unavailable("none"),
            swap_bytes: 0,
            virtualisation: unknown(),
            mitigations: BTreeMap::new(),
            transparent_hugepage: unknown(),
            fault_around_bytes: Reading::unavailable("needs debugfs"),
            lru_gen: unknown(),
            reclaim_schemes: Reading::Value(Vec::new()),
            clocksource: unknown(),
            governor: unknown(),
            c_library: unknown(),
            root: false,
            steal_share: Reading::Value(0.0),
            load: 0.1,
        },
        target: Target {
            path: "data".to_string(),
            bytes: 64 << 20,
            allocated_bytes: 64 << 20,
            made_here: true,
            files: None,
            residency: Reading::Value("cachestat".to_string()),
            file_system: "ext4".to_string(),
            mount_options: "rw".to_string(),
            device: Reading::Value(Device {
                name: "vda".to_string(),
                read_ahead_bytes: Reading::Value(128 << 10),
                scheduler: unknown(),
                rotational: Reading::Value(true),
            }),
        },
        conditions: Vec::new(),
        origins: Vec::new(),
        cells: Vec::new(),
        samples: Vec::new(),
        fills: Vec::new(),
        ceiling: Reading::Value(Ceiling {
            bytes_per_s: 2e9,
            random_ops_per_s: Reading::Value(100_000.0),
            how: "O_DIRECT, 1 MiB, 32 in flight".to_string(),
        }),
        scenarios: BTreeMap::new(),
        calibration: Reading::unavailable("not calibrated"),
        counted: Vec::new(),
        observations: Vec::new(),
        timeline: None,
        runtimes: Default::default(),
        limits: Vec::new(),
    }
}
