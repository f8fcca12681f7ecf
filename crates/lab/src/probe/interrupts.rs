//! TLB-shootdown IPIs, from the TLB line of /proc/interrupts: of all CPUs and all processes.
//! In a virtual machine the hypervisor may forget on a sleeping processor's behalf, and then no interrupt is seen; the
//! count of a counted pass (`tlb_flushes`) sees those too.

use super::{
    ProbeKind,
    twice::{Twice, rise, text},
};

const READINGS: &[&str] = &["tlb_interrupts"];

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "interrupts",
    about: "TLB shootdown interrupts of all processors, from /proc/interrupts",
    readings: READINGS,
    make: |_| Box::new(Twice::new(READINGS, between, |_| text("/proc/interrupts"))),
};

fn between(before: &str, after: &str, _: &str) -> Result<f64, String> {
    let sum = |text| sum(text).ok_or_else(|| "this architecture's /proc/interrupts has no TLB line".to_string());
    rise(sum(before)?, sum(after)?)
}

/// `TLB:    1402113    1351785   TLB shootdowns`
fn sum(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("TLB:"))?;
    let counts = line.split_whitespace().map_while(|word| word.parse::<u64>().ok());
    counts.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_processors_are_summed_and_words_are_not() {
        let text =
            "           CPU0       CPU1\n  1:   9  9  IO-APIC 1 timer\nTLB:    1402    1351   TLB shootdowns 2\n";
        assert_eq!(sum(text), Some(2753));
        assert_eq!(between(text, &text.replace("1402", "1404"), "tlb_interrupts"), Ok(2.0));
        assert_eq!(sum("RES: 1 2\n"), None);
        assert_eq!(sum("TLB: shootdowns\n"), None);
    }

    proptest! {
        #[test]
        fn other_texts_are_a_reason_and_never_a_panic(text in "(TLB:( [0-9]{0,25}){0,4}.{0,9}\n|.{0,20}\n){0,4}") {
            let _ = between(&text, &text, "tlb_interrupts");
        }
    }
}
