//! What must hold for any record.

use proptest::{collection::vec, prelude::*};
use schema::{
    Experiment, Findings, Reading, Record, State,
    findings::{ClaimVerdict, Estimate, Verdict},
    protocol::{Phases, Tally},
    record::Outcome,
};

use crate::support::{Lab, empty_record, random, scan};

/// Two arms, both orders of the file, with these times in nanoseconds per block.
fn duel(times: &[(f64, f64)]) -> Lab {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cached));
    let cells = [lab.cell(condition, "read"), lab.cell(condition, "mmap")];
    lab.measure(cells[0], times.len() as u32, 1.0, |round, pass| pass.ns_per_op = times[round as usize].0);
    lab.measure(cells[1], times.len() as u32, 1.0, |round, pass| pass.ns_per_op = times[round as usize].1);
    lab
}

fn times() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let ns = || (0.0..12.0f64).prop_map(|power| 10f64.powf(power.max(2.0)).round());
    vec((ns(), ns()), 2..25)
}

/// Three arms that take about the same, of which the last has so many rounds.
fn trio(times: &[(f64, f64, f64)], rounds_of_last: u32) -> Lab {
    let mut lab = Lab::new();
    let condition = lab.condition(scan("64 KiB", State::Cached));
    let cells = ["read", "mmap", "pread"].map(|arm| lab.cell(condition, arm));
    let rounds = times.len() as u32;
    lab.measure(cells[0], rounds, 1.0, |round, pass| pass.ns_per_op = times[round as usize].0);
    lab.measure(cells[1], rounds, 1.0, |round, pass| pass.ns_per_op = times[round as usize].1);
    lab.measure(cells[2], rounds_of_last, 1.0, |round, pass| pass.ns_per_op = times[round as usize].2);
    lab
}

/// Within the margin of any other one.
fn near_one() -> impl Strategy<Value = f64> {
    (0.98..1.02f64).prop_map(|it| (it * 1e6).round())
}

/// The speedup and verdict of the only comparison.
fn outcome(lab: &Lab) -> (Estimate, Verdict) {
    let comparison = lab.analyze().comparisons.remove(0);
    (comparison.speedup.unwrap(), comparison.verdict)
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

proptest! {
    #[test]
    fn the_order_of_samples_does_not_matter(times in times(), seed in any::<u64>()) {
        let mut lab = duel(&times);
        let before = lab.analyze();
        lab.record.samples.sort_by_key(|sample| (u64::from(sample.order) + 1).wrapping_mul(seed | 1) >> 7);
        prop_assert_eq!(lab.analyze(), before);
    }

    #[test]
    fn a_machine_of_half_the_speed_gives_the_same_speedups(times in times(), factor in 2u32..100) {
        let (as_measured, verdict) = outcome(&duel(&times));
        let slower: Vec<(f64, f64)> =
            times.iter().map(|(a, b)| (a * f64::from(factor), b * f64::from(factor))).collect();
        let (scaled, scaled_verdict) = outcome(&duel(&slower));
        prop_assert!(close(scaled.median, as_measured.median));
        prop_assert!(close(scaled.ci_low, as_measured.ci_low) && close(scaled.ci_high, as_measured.ci_high));
        prop_assert_eq!(verdict, scaled_verdict);
    }

    #[test]
    fn swapping_the_arms_turns_the_speedup_around(times in times()) {
        let (there, _) = outcome(&duel(&times));
        let swapped: Vec<(f64, f64)> = times.iter().map(|&(a, b)| (b, a)).collect();
        let (back, _) = outcome(&duel(&swapped));
        prop_assert!(close(back.median, 1.0 / there.median));
        prop_assert!(close(back.ci_low, 1.0 / there.ci_high) && close(back.ci_high, 1.0 / there.ci_low));
    }

    #[test]
    fn an_interval_holds_its_median(times in times()) {
        let (speedup, _) = outcome(&duel(&times));
        prop_assert!(speedup.ci_low <= speedup.median && speedup.median <= speedup.ci_high);
    }

    #[test]
    fn a_place_of_fewer_than_five_rounds_is_won_by_no_arm(times in vec((near_one(), near_one(), near_one()), 1..5)) {
        let map = trio(&times, times.len() as u32).analyze().map;
        let won = map.iter().any(|it| it.winner.is_some() || it.verdict.is_decided());
        prop_assert!(!won, "{:?}", map);
    }

    #[test]
    fn an_arm_with_too_few_rounds_gives_no_place_an_answer_that_it_had_not(
        times in vec((near_one(), near_one(), near_one()), 5..12), few in 1u32..5
    ) {
        let answer = |lab: Lab| lab.analyze().map.remove(0);
        let without = answer(trio(&times, 0));
        let with = answer(trio(&times, few));
        prop_assert!(with.winner.is_none() || with.winner == without.winner, "{:?} {:?}", with, without);
        // That none is faster than the baseline is said of arms that are known; of one without an interval, that it is not.
        let is_said = with.winner.is_none() || with.verdict == Verdict::Faster || with.says.too_few == ["pread"];
        prop_assert!(is_said, "{:?}", with);
    }

    #[test]
    fn any_record_gives_findings_without_nan_that_survive_json(record in any_record()) {
        let findings = analysis::analyze(&record);
        // serde_json writes NaN and infinity as null, which no number can be read back from.
        let json = serde_json::to_string(&findings).unwrap();
        let back: Findings = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&back, &findings);
        let lines: Vec<String> = findings.map.iter().map(|it| report::words::line(&it.says)).collect();
        let warnings: Vec<String> = findings.warnings.iter().map(report::words::warning).collect();
        let claims = findings.claims.iter().map(|it| report::words::reasons(&it.reasons).unwrap_or_default());
        let comparisons = findings.comparisons.iter().filter_map(|it| it.reason.as_ref().map(report::words::reason));
        for text in lines.into_iter().chain(warnings).chain(claims).chain(comparisons) {
            prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{}", text);
        }
        prop_assert_eq!(findings.claims.len(), record.experiment.claims.len());
        for claim in &findings.claims {
            let decided = !matches!(claim.verdict, ClaimVerdict::Undecided | ClaimVerdict::NotTestableHere);
            prop_assert!(!(decided && record.partial.is_some()), "{:?}", claim);
            prop_assert!(!claim.reasons.is_empty());
            prop_assert!(!decided || claim.measured.iter().any(|it| it.decides && it.verdict == claim.verdict));
        }
        let values = findings.claims.iter().flat_map(|it| it.measured.iter().map(|it| it.value));
        let figures = findings.figures.iter().flat_map(|it| [&it.as_published, &it.corrected]);
        for value in values.chain(figures.filter_map(|it| it.value().copied())) {
            prop_assert!([value.median, value.ci_low, value.ci_high].iter().all(|it| it.is_finite()), "{:?}", value);
            prop_assert!(value.ci_low <= value.median && value.median <= value.ci_high, "{:?}", value);
        }
        prop_assert_eq!(findings.map.len(), record.conditions.len());
    }
}

#[test]
fn an_empty_record_gives_empty_findings() {
    let findings = analysis::analyze(&empty_record());
    assert!(findings.cells.is_empty() && findings.map.is_empty() && findings.warnings.is_empty());
    assert_eq!(findings.noise_floor.half_width, None);
}

fn reading() -> impl Strategy<Value = Reading<f64>> {
    prop_oneof![
        any::<f64>().prop_map(Reading::Value),
        Just(Reading::Value(0.0)),
        (0.0..1e12f64).prop_map(Reading::Value),
        Just(Reading::unavailable("not here")),
    ]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), 0..1u64 << 20, 0..=u64::MAX / 4]
}

fn passes() -> impl Strategy<Value = (usize, u32, Outcome, Vec<Reading<f64>>)> {
    let tally =
        (number(), number(), number(), 0..3u8, 0..4u32).prop_map(|(ops, bytes, distinct_bytes, sum, threads)| Tally {
            ops,
            bytes,
            distinct_bytes,
            distinct_block_bytes: (sum > 1).then_some(distinct_bytes),
            distinct_pages: (sum > 0).then_some(distinct_bytes / 7),
            checksum: format!("{sum:016x}"),
            threads,
            queue_depth: threads * 8,
        });
    let phases = (proptest::option::of(number()), number()).prop_map(|(open_ns, work_ns)| Phases {
        open_ns,
        work_ns,
        close_ns: None,
    });
    let outcome = prop_oneof![
        8 => (phases, tally).prop_map(|(phases, tally)| Outcome::Ok { phases, tally }),
        1 => Just(Outcome::Invalid { reason: "warm".to_string().into() }),
        1 => Just(Outcome::Failed { reason: "died".into() }),
    ];
    (0..9usize, 0..12u32, outcome, vec(reading(), READINGS.len()))
}

const READINGS: [&str; 8] = [
    "user_ns",
    "system_ns",
    "minor_faults",
    "major_faults",
    "device_read_bytes",
    "read_calls",
    "read_call_bytes",
    "peak_memory_bytes",
];

/// Every kind of claim and figure, about arms that may or may not be there.
fn anything_claimed() -> Experiment {
    let mut text = r#"
        title = "Anything"
        [arms]
        half = { method = "mmap", own = { consumed_percent = 50 } }"#
        .to_string();
    for variant in ["as-published", "corrected"] {
        text.push_str(&format!(
            "\n[[compare]]\nname = \"both\"\nvariant = \"{variant}\"\nworkload = \"scan\"\nblock = \"4 KiB\"\n\
             state = \"cold\"\narms = [\"read\", \"mmap\", \"half\"]"
        ));
    }
    text.push_str(
        "\n[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"cold\"\narms = [\"read\", \"mmap\"]",
    );
    let metrics = ["time", "cpu", "user", "system", "minor-faults", "device-read-bytes", "pages-per-fault"];
    for (at, metric) in metrics.iter().enumerate() {
        for expect in ["\"lower\"", "\"higher\"", "\"same\"", "{ at-most = 1.0 }", "{ at-least = 1e9 }"] {
            let than = if expect.starts_with('{') { "" } else { "than = \"read\"" };
            let compare = if at % 2 == 0 { "compare = \"both\"" } else { "ratio = 2.0" };
            let id = format!("{metric} {}", expect.replace('"', ""));
            text.push_str(&format!(
                "\n[[claim]]\nid = \"{id}\"\nsays = \"it\"\narm = \"mmap\"\nmetric = \"{metric}\"\n{compare}\n{than}\n\
                 expect = {expect}"
            ));
        }
    }
    for unit in ["s", "ms", "MiB/s", "cpu s", "user s", "system s", "minor faults", "times faster"] {
        text.push_str(&format!(
            "\n[[figure]]\nsays = \"it\"\npublished = 1.0\nunit = \"{unit}\"\ncompare = \"both\"\n\
             as_published = \"half\"\ncorrected = \"mmap\"\nwhere = {{ block = [\"4 KiB\"] }}\n{}",
            if unit.len() > 2 && !matches!(unit, "MiB/s" | "times faster") { "blocks = 1_000_000" } else { "" }
        ));
    }
    Experiment::parse("anything", &text).unwrap_or_else(|problem| panic!("{}", problem.at("anything")))
}

/// Cells that share conditions or name none, baselines missing or doubled, times and counts of any size.
fn any_record() -> impl Strategy<Value = Record> {
    let cell = (0..6usize, 0..4usize, any::<bool>(), any::<bool>(), proptest::option::of(number()));
    let origins = (vec(0..4usize, 0..6), proptest::option::of(Just("interrupted".to_string())));
    let parts = (vec(cell, 0..8), vec(passes(), 0..60), number(), number(), origins);
    parts.prop_map(|(cells, passes, bytes, page_bytes, (origins, partial))| {
        let mut lab = Lab::new();
        lab.record.experiment = anything_claimed();
        (lab.record.origins, lab.record.partial) = (origins, partial);
        for block in ["64 B", "4 KiB", "64 KiB", "1 MiB"] {
            lab.condition(scan(block, State::Cold));
        }
        lab.condition(random("4 KiB", State::Mapped));
        for (condition, arm, baseline, control, own) in cells {
            let cell = lab.cell(condition.min(4), ["read", "mmap", "uring+direct", "direct"][arm]);
            if let Some(bytes) = own {
                lab.own(cell, |own| (own.range.bytes, own.block_bytes, own.ops) = (bytes, bytes / 7, bytes));
            }
            let entry = &mut lab.record.cells[cell];
            (entry.condition, entry.baseline, entry.control) = (condition, baseline, control);
        }
        for (cell, round, outcome, readings) in passes {
            lab.record.samples.push(schema::record::Sample {
                cell,
                round,
                order: 0,
                host: String::new(),
                outcome,
                resident_before: Reading::unavailable("not looked at"),
                window_offset: None,
                resident_after: Reading::unavailable("not looked at"),
                readings: READINGS.iter().map(|name| name.to_string()).zip(readings).collect(),
                beats: None,
            });
        }
        (lab.record.target.bytes, lab.record.target.allocated_bytes) = (bytes, bytes / 2);
        lab.record.environment.page_bytes = page_bytes;
        lab.record.environment.steal_share = Reading::Value(f64::NAN);
        if let Reading::Value(ceiling) = &mut lab.record.ceiling {
            ceiling.bytes_per_s = 0.0;
        }
        lab.record
    })
}
