//! What a record says of itself is the same before it is saved and after, and nothing is taken for something else.

use schema::{Record, findings::ClaimVerdict};

use crate::support::Lab;

fn saved_and_loaded(record: &Record) -> Record {
    serde_json::from_str(&serde_json::to_string(record).unwrap()).unwrap()
}

/// Two sizes that two decimals of a binary unit do not hold, one of them in the claim.
fn odd_sizes() -> Lab {
    let mut lab = Lab::of_experiment(
        r#"
        title = "Odd sizes"
        [[compare]]
        arms = ["read", "mmap"]
        workload = "scan"
        block = ["4999 B", "64 KiB"]
        state = "cold"
        storage = [{ read_bps = "21.799 MiB" }, {}]
        [[claim]]
        id = "block"
        says = "mmap is faster with these blocks"
        arm = "mmap"
        than = "read"
        expect = "lower"
        where = { block = ["4999 B"] }
        [[claim]]
        id = "rate"
        says = "mmap is faster on this disk"
        arm = "mmap"
        than = "read"
        expect = "lower"
        where = { read_bps = ["21.799 MiB"] }"#,
    );
    for cell in 0..lab.record.cells.len() {
        let ns = if lab.record.cells[cell].arm.method == "mmap" { 5_000.0 } else { 10_000.0 };
        lab.measure(cell, 10, ns, |_, _| {});
    }
    lab
}

#[test]
fn a_saved_record_of_odd_sizes_is_the_same_experiment_with_the_same_findings() {
    let lab = odd_sizes();
    let loaded = saved_and_loaded(&lab.record);
    assert_eq!(loaded, lab.record);
    let findings = analysis::analyze(&loaded);
    assert_eq!(findings, lab.analyze());
    assert!(findings.claims.iter().all(|it| it.verdict == ClaimVerdict::Holds), "{:?}", findings.claims);
}

#[test]
fn a_claim_of_an_old_record_says_that_its_size_was_rounded() {
    // As the version before wrote it.
    let text = serde_json::to_string(&odd_sizes().record).unwrap();
    let rounded = text.replace("\"4999 B\"", "\"4.88 KiB\"").replace("\"22857908 B\"", "\"21.80 MiB\"");
    assert_ne!(text, rounded);
    let old: Record = serde_json::from_str(&rounded).unwrap();
    for (claim, (saved, exact)) in
        analysis::analyze(&old).claims.iter().zip([("4.88 KiB", "4999 B"), ("21.80 MiB", "22857908 B")])
    {
        assert_eq!(claim.verdict, ClaimVerdict::NotTestableHere);
        assert!(
            report::words::reasons(&claim.reasons).unwrap_or_default().contains(saved)
                && report::words::reasons(&claim.reasons).unwrap_or_default().contains(exact),
            "{}",
            report::words::reasons(&claim.reasons).unwrap_or_default()
        );
    }
}
