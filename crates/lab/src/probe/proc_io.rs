//! /proc/PID/io of the worker: read and write calls, and bytes that it made the device read, read-ahead included. Needs no root
//! for one's own child.

use schema::record::Reading;

use super::{Probe, ProbeKind, difference};

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "proc-io",
    about: "read and write calls and device bytes of the worker, from /proc/PID/io",
    readings: &["read_calls", "read_call_bytes", "write_calls", "device_read_bytes", "device_write_bytes"],
    make: |_| Box::new(ProcIo { before: Err("not started".into()) }),
};

struct ProcIo {
    before: Result<sys::process::Io, String>,
}

/// The worker's own write of the `done` line. Its read of the `go` line is between `start` and `stop` too; its length
/// is taken off where it was sent (`execute/pass/readings.rs`).
const DONE_CALLS: f64 = 1.0;

impl Probe for ProcIo {
    fn start(&mut self, pid: u32) {
        self.before = look(pid);
    }

    fn stop(&mut self, pid: u32) -> Vec<(&'static str, Reading<f64>)> {
        let after = look(pid);
        let field = |of: fn(&sys::process::Io) -> u64| {
            difference(
                &self.before.as_ref().map(of).map_err(String::clone),
                &after.as_ref().map(of).map_err(String::clone),
            )
        };
        vec![
            ("read_calls", field(|io| io.read_calls)),
            ("read_call_bytes", field(|io| io.read_call_bytes)),
            ("write_calls", field(|io| io.write_calls).map(|calls| (calls - DONE_CALLS).max(0.0))),
            ("device_read_bytes", field(|io| io.device_read_bytes)),
            ("device_write_bytes", field(|io| io.device_write_bytes)),
        ]
    }
}

fn look(pid: u32) -> Result<sys::process::Io, String> {
    sys::process::io(pid).map_err(|error| format!("/proc/{pid}/io: {error}"))
}
