//! What the memory of the whole machine did meanwhile, from /proc/vmstat: faults, reclaim, pages that came back after they
//! had been pushed out, write-back. Of the whole machine, so that it shows activity of others.

use super::{
    ProbeKind,
    twice::{Twice, rise, text},
};

const PATH: &str = "/proc/vmstat";
const PREFIX: &str = "vmstat_";

/// The kernel's own names, behind the prefix.
const READINGS: &[&str] = &[
    "vmstat_pgfault",
    "vmstat_pgmajfault",
    "vmstat_pgpgin",
    "vmstat_pgpgout",
    "vmstat_pgscan_file",
    "vmstat_pgsteal_file",
    "vmstat_pgsteal_kswapd",
    "vmstat_pgsteal_direct",
    "vmstat_pgactivate",
    "vmstat_workingset_refault_file",
    "vmstat_nr_dirtied",
    "vmstat_nr_written",
    "vmstat_thp_file_mapped",
];

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "vmstat",
    about: "faults, reclaim, refaults and write-back of the whole machine, from /proc/vmstat",
    readings: READINGS,
    make: |_| Box::new(Twice::new(READINGS, between, |_| text(PATH))),
};

fn between(before: &str, after: &str, reading: &str) -> Result<f64, String> {
    let name = reading.strip_prefix(PREFIX).unwrap_or(reading);
    let number = |text| number(text, name).ok_or_else(|| format!("this kernel's {PATH} has no {name}"));
    rise(number(before)?, number(after)?)
}

/// The number behind a name, one of each to a line.
fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_counter_is_found_by_its_whole_name_and_its_rise_is_what_counts() {
        let (before, after) =
            ("pgfault_old 9\npgfault 100\nnr_written 7\n", "pgfault_old 9\npgfault 164\nnr_written 7\n");
        assert_eq!(between(before, after, "vmstat_pgfault"), Ok(64.0));
        assert_eq!(between(before, after, "vmstat_nr_written"), Ok(0.0));
        assert_eq!(between(after, before, "vmstat_pgfault"), Err("the counter decreased".into()));
        assert!(between(before, after, "vmstat_pgmajfault").unwrap_err().contains("pgmajfault"));
    }

    proptest! {
        #[test]
        fn other_texts_are_a_reason_and_never_a_panic(a in "(pgfault [0-9]{0,25}\n|.{0,20}\n){0,4}", b in ".{0,60}") {
            let _ = between(&a, &b, "vmstat_pgfault");
            let _ = between(&a, &a, "vmstat_pgfault");
        }
    }
}
