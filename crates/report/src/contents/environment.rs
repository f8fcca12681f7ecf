//! The machine, the target and the run, as label and value: what a reader needs to judge or repeat the numbers.

use schema::{
    Bytes, Record,
    record::{CacheKind, CpuCache, Environment, Files, Reading},
};

use crate::layout::number;

pub(crate) fn facts(record: &Record) -> Vec<(&'static str, String)> {
    let environment = &record.environment;
    let target = &record.target;
    let mut facts = vec![
        ("run", format!("{}, {}, seed {}", record.id, record.started, record.seed)),
        ("faultline", record.tool_version.clone()),
        (
            "experiment",
            match &record.experiment.source {
                Some(source) => format!("{} ({source})", record.experiment.name),
                None => record.experiment.name.clone(),
            },
        ),
        ("budget", format!("{}; {} used", number::seconds(record.budget_s), number::seconds(record.elapsed_s))),
        ("host", environment.host.clone()),
        ("kernel", format!("{}, {}", environment.kernel, environment.architecture)),
        ("CPU", format!("{}; {} CPUs", described(&environment.cpu), cpus(environment))),
        ("CPU caches", read(&environment.cpu_caches, |caches| caches.iter().map(cache).collect::<Vec<_>>().join(", "))),
        ("virtualisation", described(&environment.virtualisation)),
        (
            "memory",
            format!(
                "{}, {} available, swap {}",
                measured(environment.memory_bytes),
                measured(environment.memory_available_bytes),
                measured(environment.swap_bytes)
            ),
        ),
        // That none is set is known, too.
        ("cgroup memory limit", limit(&environment.memory_limit_bytes)),
        (
            "target",
            format!(
                "{}, {}{}{}",
                target.files.as_ref().map_or_else(|| target.path.clone(), Files::described),
                Bytes(target.bytes),
                if target.allocated_bytes < target.bytes {
                    format!(", only {} of it allocated", measured(target.allocated_bytes))
                } else {
                    String::new()
                },
                if target.made_here { ", made for this run" } else { "" }
            ),
        ),
        ("file system", format!("{} ({})", target.file_system, target.mount_options)),
    ];
    facts.extend(crate::contents::runtimes::used(record).into_iter().map(|it| ("runtime", it)));
    match &target.device {
        Reading::Value(device) => facts.push((
            "device",
            format!(
                "{}, read-ahead {}, scheduler {}, rotational {}",
                device.name,
                read(&device.read_ahead_bytes, |&ahead| Bytes(ahead).to_string()),
                described(&device.scheduler),
                read(&device.rotational, |&rotational| if rotational { "yes" } else { "no" }.to_string())
            ),
        )),
        Reading::Unavailable { unavailable } => facts.push(("device", format!("not known: {unavailable}"))),
    }
    facts.extend([
        ("residency verified by", described(&target.residency)),
        ("page size", Bytes(environment.page_bytes).to_string()),
        ("transparent huge pages", described(&environment.transparent_hugepage)),
        ("fault-around", read(&environment.fault_around_bytes, |&around| Bytes(around).to_string())),
        ("lru_gen", described(&environment.lru_gen)),
        ("clock source", described(&environment.clocksource)),
        (
            "timer tick",
            read(&environment.tick_ns, |&ns| {
                format!("{} ms ({:.0} Hz)", number::count(ns as f64 / 1e6), 1e9 / ns as f64)
            }),
        ),
        ("governor", described(&environment.governor)),
        ("C library", described(&environment.c_library)),
        ("root", if environment.root { "yes" } else { "no" }.to_string()),
        ("stolen CPU time", read(&environment.steal_share, |&share| number::plain(&number::percent(share)))),
        ("load at the start", format!("{:.2}", environment.load)),
    ]);
    for scheme in environment.reclaim_schemes.value().into_iter().flatten() {
        let quota =
            scheme.quota_bytes_per_s.map(|rate| format!(", up to {}/s", number::bytes(rate))).unwrap_or_default();
        let idle = number::seconds(scheme.idle_s);
        facts.push((
            "reclaim scheme",
            format!("DAMON, kdamond.{}: {} of what is idle for {idle}{quota}", scheme.kdamond, scheme.action),
        ));
    }
    let mitigations: Vec<String> = environment
        .mitigations
        .iter()
        .filter(|(_, state)| !state.starts_with("Not affected"))
        .map(|(name, state)| format!("{name}: {state}"))
        .collect();
    let spared = environment.mitigations.len() - mitigations.len();
    if !environment.mitigations.is_empty() {
        let spared = (spared > 0).then(|| format!("{spared} not affected"));
        facts.push(("mitigations", mitigations.into_iter().chain(spared).collect::<Vec<_>>().join("; ")));
    }
    facts
}

fn measured(bytes: u64) -> String {
    number::bytes(bytes as f64)
}

/// `2 × L1 data 48 KiB`.
fn cache(it: &CpuCache) -> String {
    let kind = match it.kind {
        CacheKind::Data => " data",
        CacheKind::Instruction => " instruction",
        CacheKind::Unified => "",
    };
    format!("{} × L{}{kind} {}", it.count, it.level, Bytes(it.bytes))
}

/// `2`, `2 of 64`.
fn cpus(of: &Environment) -> String {
    match of.online_cpus.value() {
        Some(&all) if all != of.cpus => format!("{} of {all}", of.cpus),
        _ => of.cpus.to_string(),
    }
}

fn limit(reading: &Reading<u64>) -> String {
    match reading {
        Reading::Value(bytes) => measured(*bytes),
        Reading::Unavailable { unavailable } => unavailable.clone(),
    }
}

fn described(reading: &Reading<String>) -> String {
    read(reading, String::clone)
}

fn read<T>(reading: &Reading<T>, show: impl Fn(&T) -> String) -> String {
    match reading {
        Reading::Value(value) => show(value),
        Reading::Unavailable { unavailable } => format!("not known ({unavailable})"),
    }
}
