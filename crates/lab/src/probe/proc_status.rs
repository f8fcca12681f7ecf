//! Peak memory of the worker, from VmHWM: of the pass, and not of what made it ready, where lists of places are as large as
//! what many passes take.

use schema::record::Reading;

use super::{Probe, ProbeKind};

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "proc-status",
    about: "peak resident memory of the worker, mapped file pages included, from VmHWM",
    readings: &["peak_memory_bytes"],
    make: |_| Box::new(ProcStatus { begun: Err("not started".into()) }),
};

struct ProcStatus {
    begun: Result<(), String>,
}

impl Probe for ProcStatus {
    fn start(&mut self, pid: u32) {
        self.begun = sys::process::reset_peak_memory(pid).map_err(|error| format!("/proc/{pid}/clear_refs: {error}"));
    }

    fn stop(&mut self, pid: u32) -> Vec<(&'static str, Reading<f64>)> {
        let peak = || sys::process::peak_memory_bytes(pid).map(|bytes| bytes as f64).map_err(|error| error.to_string());
        vec![("peak_memory_bytes", self.begun.clone().and_then(|()| peak()).into())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_of_what_came_after_the_start() {
        const BYTES: usize = 256 << 20;
        let pid = std::process::id();
        drop(std::hint::black_box(vec![1u8; BYTES]));
        let mut probe = (KIND.make)(&Err("no disk".into()));
        probe.start(pid);
        match &probe.stop(pid)[0].1 {
            Reading::Value(peak) => assert!(*peak < BYTES as f64, "{peak}"),
            Reading::Unavailable { unavailable } => println!("skipped: {unavailable}"),
        }
    }
}
