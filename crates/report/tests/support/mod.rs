//! A run made up by hand: several states, a winner, a tie, an undecided and an incomparable arm, skipped, invalid and
//! failed passes, readings that are missing. Its numbers are plausible and mean nothing.

use std::collections::BTreeMap;

use schema::{
    Arm, Condition, Consume, Experiment, Findings, Reading, Record, Span, State, Workload,
    caution::Caution,
    experiment::Unit,
    explanation::{Count, Explanation},
    findings::{
        CellFinding, ClaimFinding, ClaimVerdict, Comparison, Crossover, CurvePoint, Estimate, FigureFinding, MapLine,
        NoiseFloor, PublishedClaim, Status, Verdict,
    },
    line::{LineAnswer, LineSays},
    protocol::{Phases, Tally},
    record::{Ceiling, Cell, Device, Environment, FilledRange, Outcome, Resident, Sample, Target},
    warning::Warning,
};

const GIB: u64 = 1 << 30;

pub(crate) fn arm(name: &str) -> Arm {
    name.parse().unwrap()
}

pub(crate) fn estimate(median: f64, share: f64) -> Estimate {
    Estimate { median, ci_low: median * (1.0 - share), ci_high: median * (1.0 + share) }
}

pub(crate) fn condition(workload: Workload, block_bytes: u64, state: State) -> Condition {
    Condition { workload, block_bytes, state, ops: GIB / block_bytes, ..Condition::plain(GIB) }
}

pub(crate) fn line_says(answer: LineAnswer) -> LineSays {
    LineSays {
        answer,
        same_work: vec![],
        not_comparable: vec![],
        not_measured: vec![],
        too_few: vec![],
        not_at_job: vec![],
    }
}

pub(crate) fn wins(arm: &str, baseline: &str, times: f64) -> LineAnswer {
    LineAnswer::ArmWins {
        arm: arm.into(),
        baseline: baseline.into(),
        times,
        of_job: false,
        in_flight: None,
        ties: vec![],
        not_told_apart: vec![],
    }
}

/// One count of each of two arms.
pub(crate) fn counted(arms: [&str; 2], counts: [Count; 2]) -> Explanation {
    Explanation::Counts { arms: arms.map(str::to_string), counts: counts.map(|it| vec![it]) }
}

/// A record and findings that grow together.
pub(crate) struct Run {
    pub(crate) record: Record,
    pub(crate) findings: Findings,
}

impl Run {
    fn condition(&mut self, condition: Condition) -> usize {
        self.record.conditions.push(condition);
        self.record.conditions.len() - 1
    }

    /// A measured arm: time, and the speedup over the baseline with its verdict.
    fn ok(&mut self, index: usize, name: &str, ns: f64, control: bool) -> &mut CellFinding {
        let condition = self.record.conditions[index].clone();
        let baseline = !control && !self.record.cells.iter().any(|cell| cell.condition == index);
        self.record.cells.push(Cell {
            arm: arm(name),
            condition: index,
            own_condition: None,
            baseline,
            control,
            skipped: None,
        });
        let cell = self.record.cells.len() - 1;
        for round in 0..3 {
            self.record.samples.push(sample(cell, round, &condition, ns * (1.0 + 0.01 * f64::from(round))));
        }
        let cold = condition.state == State::Cold;
        let maps = name.starts_with("mmap");
        self.findings.cells.push(CellFinding {
            id: self.record.cell_id(cell).unwrap(),
            own_condition: None,
            arm: arm(name),
            control,
            status: Status::Ok,
            reasons: vec![],
            samples: 9,
            invalid_samples: 0,
            failed_samples: 0,
            ns_per_op: Some(estimate(ns, 0.013)),
            bytes_per_s: Some(estimate(condition.block_bytes as f64 / ns * 1e9, 0.013)),
            bytes: Some((condition.ops * condition.block_bytes) as f64),
            distinct_bytes: Some(GIB as f64),
            user_ns_per_op: Reading::Value(ns * 0.4),
            system_ns_per_op: Reading::Value(ns * 0.5),
            minor_faults: Reading::Value(if maps { 16_402.0 } else { 97.0 }),
            major_faults: Reading::Value(if maps && cold { 512.0 } else { 0.0 }),
            device_read_bytes: if cold {
                Reading::Value(GIB as f64)
            } else {
                Reading::unavailable("/proc/PID/io cannot be read (EACCES)")
            },
            device_write_bytes: Reading::Value(0.0),
            misses_per_block: Reading::unavailable("not observed in this run"),
            device_bytes_per_byte: Reading::unavailable("not observed in this run"),
            peak_memory_bytes: Reading::Value(3_400_000.0),
            peak_anonymous_bytes: Reading::unavailable("not observed in this run"),
            peak_file_bytes: Reading::unavailable("not observed in this run"),
            ceiling_share: cold.then_some(0.912),
            condition,
        });
        self.findings.cells.last_mut().unwrap()
    }

    fn compare(&mut self, index: usize, name: &str, speedup: Option<Estimate>, verdict: Verdict) -> &mut Comparison {
        let condition = self.record.conditions[index].clone();
        let of_arm = |it: &Cell| it.condition == index && !it.baseline && it.arm.name == arm(name).name;
        let cell = self.record.cells.iter().position(of_arm).unwrap();
        let baseline_cell = self.record.cells.iter().position(|cell| cell.condition == index).unwrap();
        let baseline = self.record.cells[baseline_cell].arm.name.clone();
        self.findings.comparisons.push(Comparison {
            id: self.record.cell_id(cell).unwrap(),
            baseline_cell,
            condition,
            baseline,
            arm: arm(name).name,
            speedup,
            pairs: 9,
            verdict,
            reason: None,
            warnings: vec![],
            explanation: None,
            explained_share: None,
            answer_of: schema::findings::AnswerOf::Rounds,
            confirmed: None,
        });
        self.findings.comparisons.last_mut().unwrap()
    }

    fn unmeasured(&mut self, index: usize, name: &str, status: Status, reason: &str) {
        self.ok(index, name, 1.0, false);
        let last = self.record.cells.len() - 1;
        let cell = self.findings.cells.last_mut().unwrap();
        cell.status = status;
        cell.reasons = vec![reason.into()];
        cell.ns_per_op = None;
        cell.bytes_per_s = None;
        cell.samples = 0;
        for reading in [&mut cell.minor_faults, &mut cell.device_read_bytes] {
            *reading = Reading::unavailable("no pass was made");
        }
        match status {
            Status::Skipped => {
                self.record.samples.retain(|sample| sample.cell != last);
                self.record.cells[last].skipped = Some(reason.into());
            }
            Status::Invalid | Status::Failed => {
                cell.invalid_samples = if status == Status::Invalid { 3 } else { 0 };
                cell.failed_samples = 3 - cell.invalid_samples;
                for (i, sample) in self.record.samples.iter_mut().filter(|sample| sample.cell == last).enumerate() {
                    let reason = reason.replace("37", &(37 + i).to_string());
                    sample.outcome = match status {
                        Status::Invalid => Outcome::Invalid { reason: reason.into() },
                        _ => Outcome::Failed { reason },
                    };
                }
            }
            Status::Ok => unreachable!(),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one call is one line of the map")]
    fn line(
        &mut self,
        index: usize,
        winner: Option<&str>,
        ties: &[&str],
        margin: Option<Estimate>,
        verdict: Verdict,
        says: LineAnswer,
        explanation: Option<Explanation>,
    ) {
        let cell_of = |name: &str| {
            let of_arm = |it: &Cell| it.condition == index && !it.control && it.arm.name == arm(name).name;
            self.record.cells.iter().position(of_arm).unwrap()
        };
        let is_compared = |it: &Cell| it.condition == index && !it.baseline && !it.control;
        let cells = self.record.cells.iter().enumerate().filter(|(_, it)| is_compared(it));
        let compared_cells: Vec<usize> = cells.map(|(at, _)| at).collect();
        self.findings.map.push(MapLine {
            id: self.record.condition_id(index),
            winner_cell: winner.map(cell_of),
            tie_cells: ties.iter().map(|name| cell_of(name)).collect(),
            condition: self.record.conditions[index].clone(),
            winner: winner.map(|name| arm(name).name),
            ties: ties.iter().map(|name| arm(name).name).collect(),
            not_told_apart: Vec::new(),
            not_told_apart_cells: Vec::new(),
            same_work: Vec::new(),
            same_work_cells: Vec::new(),
            next_cell: None,
            compared_cells,
            margin,
            verdict,
            says: line_says(says),
            explanation,
            answer_of: schema::findings::AnswerOf::Rounds,
        });
    }
}

/// The run that the snapshots show.
pub(crate) fn run() -> Run {
    let mut run = Run { record: record(), findings: findings() };

    let cold_scan = run.condition(condition(Workload::Scan, 65_536, State::Cold));
    run.ok(cold_scan, "read", 48_100.0, false);
    run.ok(cold_scan, "read", 48_400.0, true);
    run.ok(cold_scan, "mmap", 86_900.0, false);
    run.ok(cold_scan, "mmap+populate-read", 49_000.0, false);
    run.ok(cold_scan, "direct", 31_600.0, false);
    run.unmeasured(
        cold_scan,
        "uring+direct",
        Status::Skipped,
        "io_uring is switched off (kernel.io_uring_disabled = 2)",
    );
    let slower = run.compare(cold_scan, "mmap", Some(estimate(0.553, 0.03)), Verdict::Slower);
    let calls = |calls: f64| Count::ReadCalls { calls, bytes: None };
    slower.explanation = Some(counted(["read", "mmap"], [calls(16_384.0), Count::MajorFaults(512.0)]));
    slower.explained_share = Some(0.87);
    run.compare(cold_scan, "mmap+populate-read", Some(estimate(0.982, 0.02)), Verdict::Same);
    let no_copy = counted(["read", "direct"], [Count::SystemShare(0.94), Count::SystemShare(0.41)]);
    run.compare(cold_scan, "direct", Some(estimate(1.52, 0.021)), Verdict::Faster).explanation = Some(no_copy.clone());
    run.line(
        cold_scan,
        Some("direct"),
        &[],
        Some(estimate(1.52, 0.021)),
        Verdict::Faster,
        wins("direct", "read", 1.52),
        Some(no_copy),
    );

    let cold_random = run.condition(condition(Workload::Random, 4096, State::Cold));
    run.ok(cold_random, "pread", 201_000.0, false);
    run.ok(cold_random, "mmap", 213_000.0, false).reasons = vec!["the page cache held 12 of 262144 pages".into()];
    let mmap = run.findings.cells.last_mut().unwrap();
    (mmap.samples, mmap.invalid_samples) = (7, 2);
    run.unmeasured(cold_random, "direct", Status::Failed, "the worker died of SIGBUS: the file was truncated");
    run.compare(cold_random, "mmap", Some(estimate(0.94, 0.11)), Verdict::Undecided).reason =
        Some("the interval [0.84, 1.04] crosses an edge of the margin; more rounds would make it smaller".into());
    run.line(
        cold_random,
        Some("pread"),
        &["mmap"],
        Some(estimate(1.06, 0.11)),
        Verdict::Undecided,
        LineAnswer::Undecided { reason: Some("pread and mmap cannot be told apart after 9 rounds".into()) },
        None,
    );

    let cached_scan = run.condition(condition(Workload::Scan, 4096, State::Cached));
    run.ok(cached_scan, "read", 812.0, false);
    run.ok(cached_scan, "read", 815.0, true);
    run.ok(cached_scan, "mmap", 1_610.0, false);
    run.ok(cached_scan, "mmap+populate-read", 1_230.0, false);
    run.unmeasured(
        cached_scan,
        "direct",
        Status::Invalid,
        "37 of 262144 pages were not in the page cache before the pass",
    );
    let faults = |bytes_each| Count::MinorFaults { faults: 16_402.0, bytes_each };
    run.compare(cached_scan, "mmap", Some(estimate(0.504, 0.02)), Verdict::Slower).explanation =
        Some(counted(["read", "mmap"], [calls(262_144.0), faults(None)]));
    run.compare(cached_scan, "mmap+populate-read", Some(estimate(0.66, 0.015)), Verdict::Slower).warnings =
        vec![Caution::LessThanAsked { bytes: GIB / 2, asked_bytes: GIB }];
    run.line(
        cached_scan,
        Some("read"),
        &[],
        None,
        Verdict::Faster,
        LineAnswer::BaselineWins {
            baseline: "read".into(),
            next: "mmap+populate-read".into(),
            times: 1.52,
            of_job: false,
            several: true,
        },
        Some(counted(["read", "mmap"], [calls(262_144.0), faults(Some(65_536.0))])),
    );

    let cached_random = run.condition(condition(Workload::Random, 64, State::Cached));
    run.ok(cached_random, "pread", 402.0, false);
    run.ok(cached_random, "mmap", 118.0, false);
    run.compare(cached_random, "mmap", None, Verdict::NotComparable).reason =
        Some("the pread arm consumed 268 MB of 1,074 MB".into());
    run.line(
        cached_random,
        None,
        &[],
        None,
        Verdict::NotComparable,
        LineAnswer::NoneComparable {
            baseline: "pread".into(),
            reason: Some("the pread arm consumed 268 MB of 1,074 MB".into()),
        },
        None,
    );

    let mapped_scan = run.condition(condition(Workload::Scan, 1 << 20, State::Mapped));
    run.ok(mapped_scan, "read", 121_000.0, false);
    run.ok(mapped_scan, "mmap", 119_500.0, false);
    run.compare(mapped_scan, "mmap", Some(estimate(1.012, 0.02)), Verdict::Same);
    run.line(
        mapped_scan,
        Some("mmap"),
        &["read"],
        Some(estimate(1.012, 0.02)),
        Verdict::Same,
        LineAnswer::NoneFaster {
            baseline: "read".into(),
            margin: 0.05,
            ties: vec!["mmap".into()],
            not_told_apart: vec![],
            of_job: false,
        },
        Some(Explanation::Alike { arms: ["read", "mmap"].map(str::to_string), counts: vec![calls(1024.0)] }),
    );

    let mapped_random = run.condition(condition(Workload::Random, 64, State::Mapped));
    run.ok(mapped_random, "pread", 398.0, false);
    run.ok(mapped_random, "mmap", 14.3, false);
    run.ok(mapped_random, "mmap+random", 14.4, false);
    for name in ["mmap", "mmap+random"] {
        run.compare(mapped_random, name, Some(estimate(27.8, 0.015)), Verdict::Faster);
    }
    run.line(
        mapped_random,
        Some("mmap"),
        &["mmap+random"],
        Some(estimate(27.8, 0.015)),
        Verdict::Faster,
        wins("mmap", "pread", 27.8),
        Some(counted(["pread", "mmap"], [calls(16_777_216.0), calls(0.0)])),
    );
    for line in run.findings.map.iter_mut().filter(|it| it.winner.is_some()) {
        let of_line = run.findings.comparisons.iter().filter(|it| line.is_made_of(it));
        let slower = of_line.filter(|it| line.verdict != Verdict::Faster || it.verdict == Verdict::Slower);
        let with_ratio = slower.filter_map(|it| Some((it.id.cell, it.speedup?.median)));
        line.next_cell = with_ratio.max_by(|a, b| a.1.total_cmp(&b.1)).map(|it| it.0);
    }
    run
}

const STUDY: &str = r#"
title = "Sum of a file in 32 KiB blocks, read against mmap (1999)"
source = "A. Author, \"Which one is faster?\", a mailing list, 1 April 1999; 128 MB of memory"
question = "Is it faster to sum a file through a mapping than through read()?"
[study]
file_bytes = "1 GiB"
full_file_bytes = "4 GiB"
needs = "a memory cgroup (root)"
[arms]
quarter = { method = "read", own = { consume = "sum-bytes", consumed_percent = 25 } }
[[compare]]
name = "cached"
variant = "as-published"
workload = "scan"
block = "32 KiB"
state = "cached"
arms = ["quarter", "mmap", "mmap+willneed"]
[[compare]]
name = "cached"
variant = "corrected"
workload = "scan"
block = "32 KiB"
state = "cached"
arms = ["read", "mmap"]
[[compare]]
name = "larger"
variant = "corrected"
workload = "scan"
block = "32 KiB"
state = "limited"
arms = ["read", "mmap"]
"#;

/// A study with one condition in both of its forms, one flaw that the equal-work check found, and a state that could
/// not be had.
pub(crate) fn study() -> Run {
    let mut run = Run { record: record(), findings: findings() };
    run.record.experiment = Experiment::parse("author-1999", STUDY).unwrap();
    run.record.target.made_here = true;
    run.record.target.path = "/data/.faultline-872-0ceea534.data".into();
    run.record.origins = vec![0, 1, 2];
    let cached = condition(Workload::Scan, 32_768, State::Cached);
    let published = run.condition(cached.clone());
    run.ok(published, "read", 11_100.0, false);
    run.ok(published, "mmap", 10_600.0, false);
    run.ok(published, "mmap+willneed", 11_700.0, false);
    let quarter = run.record.experiment.comparisons[0].arms[0].arm.clone();
    run.record.cells[0].own_condition =
        Some(Condition { consume: Consume::SumBytes, consumed_percent: 25, ..cached.clone() });
    run.record.cells[0].arm = quarter.clone();
    run.findings.cells[0].arm = quarter;
    for name in ["mmap", "mmap+willneed"] {
        let comparison = run.compare(published, name, None, Verdict::NotComparable);
        let why = format!(
            "{name} summed words and read (quarter) summed bytes; the read (quarter) arm consumed 268 MB of 1,074 MB"
        );
        comparison.reason = Some(why.into());
        comparison.warnings = vec![Caution::LittleFromDevice { share: 0.0 }];
    }
    let corrected = run.condition(cached);
    run.ok(corrected, "read", 14_100.0, false);
    run.ok(corrected, "mmap", 11_600.0, false);
    run.compare(corrected, "mmap", Some(estimate(1.22, 0.03)), Verdict::Faster);
    let limited = run.condition(condition(Workload::Scan, 32_768, State::Limited));
    const WHY: &str = "no memory controller is delegated to this user; run it as root, or in a scope of your own";
    run.unmeasured(limited, "read", Status::Skipped, WHY);
    run.unmeasured(limited, "mmap", Status::Skipped, WHY);
    let open = run.compare(limited, "mmap", None, Verdict::Undecided);
    (open.pairs, open.reason) = (0, Some(format!("read has no valid pass: {WHY}").into()));

    let figure = |says: &str, unit, published, as_published, corrected| FigureFinding {
        says: says.into(),
        unit,
        published,
        as_published,
        as_published_id: None,
        corrected,
        corrected_id: None,
    };
    let value = |median, share| Reading::Value(estimate(median, share));
    run.findings.figures = vec![
        figure("cached, read", Unit::MibPerSecond, 87.295, value(2_825.3, 0.03), value(2_216.1, 0.02)),
        figure("cached, mmap with MADV_WILLNEED", Unit::MibPerSecond, 117.958, value(2_663.0, 0.04), {
            Reading::Unavailable { unavailable: "the experiment names no arm for this figure".into() }
        }),
        figure(
            "larger than memory, read",
            Unit::CpuSeconds,
            15.167,
            Reading::Unavailable { unavailable: WHY.into() },
            Reading::Unavailable { unavailable: WHY.into() },
        ),
        figure("faults of the mapping", Unit::MinorFaults, 32_807.0, value(16_402.0, 0.0), value(16_402.0, 0.0)),
    ];
    let claim = |id: &str, says: &str, words: Option<&str>, verdict, reason: &str| ClaimFinding {
        id: id.into(),
        study: "author-1999".into(),
        source: "A. Author, a mailing list, 1999".into(),
        says: says.into(),
        published: PublishedClaim { words: words.map(str::to_string), ratio: words.map(|_| 1.35) },
        measured: vec![],
        verdict,
        reasons: vec![reason.into()],
        folios: vec![],
        complete: true,
    };
    run.findings.claims = vec![
        claim(
            "a-time",
            "A small cached file is summed faster through a mapping than through read",
            Some("117.958 against 87.295 MB/s"),
            ClaimVerdict::Holds,
            "mmap faster than read: published 1.35x, here 1.22x [1.18, 1.26]; the effect is 0.9 times as large",
        ),
        claim(
            "a-cpu",
            "… and takes more CPU time",
            None,
            ClaimVerdict::Reversed,
            "more CPU time with mmap than with read: here 0.81x [0.79, 0.83]",
        ),
        claim(
            "b-time",
            "A file far larger than memory is summed slower through it",
            None,
            ClaimVerdict::NotTestableHere,
            WHY,
        ),
    ];
    run
}

fn sample(cell: usize, round: u32, condition: &Condition, ns_per_op: f64) -> Sample {
    let held = condition.state.is_held();
    let readings = BTreeMap::from([
        ("minor_faults".to_string(), Reading::Value(97.0)),
        ("device_read_bytes".to_string(), Reading::unavailable("/proc/PID/io cannot be read (EACCES)")),
    ]);
    Sample {
        cell,
        round,
        order: u32::try_from(cell).unwrap() * 3 + round,
        host: "lab".into(),
        outcome: Outcome::Ok {
            phases: Phases {
                open_ns: (!held).then_some(18_400),
                work_ns: (ns_per_op * condition.ops as f64) as u64,
                close_ns: (!held).then_some(5_200),
            },
            tally: Tally {
                ops: condition.ops,
                bytes: condition.ops * condition.block_bytes,
                distinct_bytes: GIB,
                distinct_block_bytes: None,
                distinct_pages: Some(GIB / 4096),
                checksum: "9f3c2a0011223344".into(),
                threads: 1,
                queue_depth: 1,
            },
        },
        resident_before: Reading::Value(Resident { pages: 0, of: 262_144 }),
        window_offset: None,
        resident_after: Reading::unavailable("cachestat(2) is not there"),
        readings,
        beats: None,
    }
}

fn record() -> Record {
    let unknown = || Reading::<String>::unavailable("no such file: /sys/devices/system/cpu/cpu0/cpufreq");
    Record {
        schema_version: schema::SCHEMA_VERSION,
        id: "20261120T225104Z-3f9a".into(),
        tool_version: "0.1.0".into(),
        started: "2026-11-20T22:51:04Z".into(),
        elapsed_s: 58.2,
        partial: None,
        ending: None,
        rounds_ended: Default::default(),
        cells_ended: Default::default(),
        folder: None,
        seed: 16_282,
        budget_s: 60.0,
        experiment: Experiment {
            name: "survey".into(),
            title: "Survey: which way to reach this file, from which start?".into(),
            question: None,
            source: None,
            budget_s: None,
            study: None,
            comparisons: vec![],
            claims: vec![],
            figures: vec![],
            written: vec![],
            filtered_claims: vec![],
        },
        environment: Environment {
            host: "lab".into(),
            machine: None,
            kernel: "6.18.5".into(),
            architecture: "x86_64".into(),
            cpu: Reading::Value("AMD EPYC 9B14".into()),
            cpus: 2,
            online_cpus: Reading::Value(2),
            cpu_caches: Reading::unavailable("sysfs describes no cache"),
            page_bytes: 4096,
            memory_bytes: 25_232_932_864,
            memory_available_bytes: 21_474_836_480,
            memory_limit_bytes: Reading::unavailable("no limit is set"),
            swap_bytes: 0,
            virtualisation: Reading::Value("kvm".into()),
            mitigations: BTreeMap::from([
                ("meltdown".to_string(), "Not affected".to_string()),
                ("retbleed".to_string(), "Mitigation: untrained return thunk; SMT disabled".to_string()),
            ]),
            transparent_hugepage: Reading::Value("madvise".into()),
            fault_around_bytes: Reading::unavailable("debugfs is locked down"),
            lru_gen: Reading::Value("0x0007".into()),
            reclaim_schemes: Reading::Value(Vec::new()),
            clocksource: Reading::Value("kvm-clock".into()),
            tick_ns: Reading::Value(4_000_000),
            governor: unknown(),
            c_library: Reading::Value("glibc 2.39".into()),
            root: false,
            steal_share: Reading::Value(0.004),
            load: 0.31,
        },
        target: Target {
            path: "/data/index/segments.bin".into(),
            bytes: GIB,
            allocated_bytes: GIB,
            made_here: false,
            files: None,
            residency: Reading::Value("cachestat".into()),
            file_system: "ext4".into(),
            mount_options: "rw,relatime".into(),
            read_ahead_most_bytes: None,
            device: Reading::Value(Device {
                name: "vda".into(),
                read_ahead_bytes: Reading::Value(8 << 20),
                scheduler: Reading::Value("none".into()),
                rotational: Reading::Value(false),
                through_page_cache: false,
            }),
        },
        conditions: vec![],
        origins: vec![],
        scenarios: BTreeMap::new(),
        cells: vec![],
        samples: vec![],
        confirmations: vec![],
        fills: vec![FilledRange {
            fill: None,
            pages_per_fault: None,
            looked_again: None,
            kept: false,
            range: Span { offset: 0, bytes: GIB },
            method: "sequential read, 1 MiB requests, after eviction".into(),
            elapsed_ns: 600_000_000,
            folio_orders: Reading::unavailable("needs root"),
        }],
        ceiling: Reading::Value(Ceiling {
            bytes_per_s: 2_147_483_648.0,
            random_ops_per_s: Reading::Value(48_211.3),
            how: "O_DIRECT, 1 MiB requests, 32 in flight".into(),
            random_how: None,
        }),
        calibration: Reading::unavailable("not calibrated"),
        counted: vec![],
        observations: vec![],
        advised: None,
        timeline: None,
        runtimes: Default::default(),
        limits: vec!["folio sizes of the page cache: /proc/kpageflags needs root".into()],
    }
}

fn findings() -> Findings {
    let points = |verdicts: [Verdict; 3]| {
        let at = [4096.0, 65_536.0, 1_048_576.0].into_iter();
        at.zip(verdicts)
            .map(|(at, verdict)| CurvePoint { at, verdict, of_job: false, unconfirmed: false })
            .collect::<Vec<_>>()
    };
    Findings {
        fills: vec![],
        commands: vec![],
        called: Default::default(),
        safepoints: None,
        beats: Vec::new(),
        stalls: Vec::new(),
        counted: vec![],
        mechanisms: vec![],
        advice: vec![],
        advice_self_check: vec![],
        cells: vec![],
        comparisons: vec![],
        crossovers: vec![
            Crossover {
                arms: ["native/pread".into(), "native/mmap".into()],
                names: ["pread".into(), "mmap".into()],
                points: points([Verdict::Faster, Verdict::Slower, Verdict::Slower]),
                not_measured: vec![],
                between: Some([0, 1]),
                of_curve: 1,
                cells: vec![],
                workload: Workload::Random,
                consume: Consume::Sum,
                state: State::Cached,
                axis: "block_bytes".into(),
                changes: true,
                at: Some(estimate(12_288.0, 0.1)),
                of_job: vec![],
            },
            Crossover {
                arms: ["native/read".into(), "native/mmap".into()],
                names: ["read".into(), "mmap".into()],
                points: points([Verdict::Slower; 3]),
                not_measured: vec![],
                between: None,
                of_curve: 0,
                cells: vec![],
                workload: Workload::Scan,
                consume: Consume::Sum,
                state: State::Cold,
                axis: "block_bytes".into(),
                changes: false,
                at: None,
                of_job: vec![],
            },
        ],
        noise_floor: NoiseFloor { half_width: Some(0.0121), pairs: 21, rejected: 0 },
        noise_floors: vec![],
        claims: vec![],
        figures: vec![],
        runtimes: vec![],
        splits: vec![],
        costs: None,
        found: None,
        map: vec![],
        answer: Default::default(),
        within_cpu_cache: vec![],
        warnings: vec![Warning::StolenTime { share: 0.004 }],
    }
}
