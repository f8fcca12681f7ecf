//! Counters of the whole disk under the file: requests of all processes. The difference to the worker's own bytes shows
//! whether other processes used the device.

use schema::record::Reading;
use sys::device::{Disk, DiskCounters};

use super::{Probe, ProbeKind, difference};

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "disk",
    about: "requests and bytes of the disk under the file, all processes together, from sysfs",
    readings: &[
        "disk_read_requests",
        "disk_read_bytes",
        "disk_write_requests",
        "disk_write_bytes",
        "disk_flushes",
        "disk_busy_ns",
    ],
    make: |disk| Box::new(DiskProbe { disk: disk.clone(), before: Err("not started".into()) }),
};

struct DiskProbe {
    disk: Result<Disk, String>,
    before: Result<DiskCounters, String>,
}

impl DiskProbe {
    fn look(&self) -> Result<DiskCounters, String> {
        self.disk.as_ref().map_err(String::clone)?.counters().map_err(|error| error.to_string())
    }

    fn flushes(&self, counters: &Result<DiskCounters, String>) -> Result<u64, String> {
        let disk = self.disk.as_ref().map_err(String::clone)?;
        counters.as_ref().map_err(String::clone)?.flush_requests.ok_or_else(|| disk.why_no_flushes())
    }
}

impl Probe for DiskProbe {
    fn start(&mut self, _pid: u32) {
        self.before = self.look();
    }

    fn stop(&mut self, _pid: u32) -> Vec<(&'static str, Reading<f64>)> {
        let after = self.look();
        let field = |of: fn(&DiskCounters) -> u64| {
            difference(
                &self.before.as_ref().map(of).map_err(String::clone),
                &after.as_ref().map(of).map_err(String::clone),
            )
        };
        vec![
            ("disk_read_requests", field(|it| it.read_requests)),
            ("disk_read_bytes", field(|it| it.read_bytes)),
            ("disk_write_requests", field(|it| it.write_requests)),
            ("disk_write_bytes", field(|it| it.write_bytes)),
            ("disk_busy_ns", field(|it| it.busy_ms * 1_000_000)),
            ("disk_flushes", difference(&self.flushes(&self.before), &self.flushes(&after))),
        ]
    }
}
