//! CPU time that the hypervisor gave to other guests during the pass, all processors together. The kernel counts it in
//! hundredths of a second, so that a short pass sees none or a whole one; only sums over passes are meaningful.

use super::{
    ProbeKind,
    twice::{Twice, rise, text},
};

const READINGS: &[&str] = &["stolen_ns"];

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "steal",
    about: "processor time that the hypervisor gave to others, all processors, from /proc/stat",
    readings: READINGS,
    make: |_| Box::new(Twice::new(READINGS, between, |_| text("/proc/stat"))),
};

fn between(before: &str, after: &str, _: &str) -> Result<f64, String> {
    let ticks = |text| stolen_ticks(text).ok_or_else(|| "/proc/stat has no steal time".to_string());
    let per_second = rustix::param::clock_ticks_per_second().max(1) as f64;
    Ok(rise(ticks(before)?, ticks(after)?)? * 1e9 / per_second)
}

/// The eighth number of the line of all processors (proc_stat(5)).
fn stolen_ticks(text: &str) -> Option<u64> {
    text.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stolen_time_is_the_eighth_number_of_the_first_line() {
        let text = |stolen: u64| format!("cpu  1 2 3 4 5 6 7 {stolen} 9 0\ncpu0 1 1 1 1 1 1 1 50 0 0\n");
        let tick_ns = 1e9 / rustix::param::clock_ticks_per_second() as f64;
        assert_eq!(between(&text(8), &text(10), "stolen_ns"), Ok(2.0 * tick_ns));
        assert!(between("cpu 1 2 3\n", "cpu 1 2 3\n", "stolen_ns").is_err());
    }

    proptest! {
        #[test]
        fn other_texts_are_a_reason_and_never_a_panic(text in "cpu( [0-9]{0,25}){0,12}|.{0,60}") {
            let _ = between(&text, &text, "stolen_ns");
        }
    }
}
