//! Peak memory of the worker, from VmHWM.

use schema::record::Reading;

use super::{Kind, Probe};

pub(super) const KIND: Kind = Kind {
    name: "proc-status",
    about: "peak resident memory of the worker, mapped file pages included, from VmHWM",
    readings: &["peak_memory_bytes"],
    make: |_| Box::new(ProcStatus),
};

struct ProcStatus;

impl Probe for ProcStatus {
    fn start(&mut self, _pid: u32) {}

    fn stop(&mut self, pid: u32) -> Vec<(&'static str, Reading<f64>)> {
        vec![("peak_memory_bytes", sys::process::peak_memory_bytes(pid).map(|bytes| bytes as f64).into())]
    }
}
