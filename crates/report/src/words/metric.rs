//! Metrics: what they are called, and their values.

use schema::{Workload, experiment::Metric};

use super::numbers::{count, digits, percent, rough_size, thousands};

/// In a sentence about more or less of it.
pub(super) fn name(metric: Metric) -> &'static str {
    match metric {
        Metric::Time => "time",
        Metric::Cpu => "CPU time",
        Metric::User => "user time",
        Metric::System => "system time",
        Metric::MinorFaults => "minor faults",
        Metric::DeviceReadBytes => "bytes from the device",
        Metric::PagesPerFault => "pages reached per fault",
        Metric::ReadPart => "time of its read part",
        Metric::LoopPart => "time of its loop part",
        Metric::WritePart => "time of its write part",
        Metric::DeviceWriteBytes => "bytes to the device",
        Metric::SafepointP99 => "delay of the 99th of 100 safepoints (of fewer: the longest)",
        Metric::CeilingShare => "share of the device's ceiling",
        Metric::BeatP99 => "lateness that 99 of 100 beats had at most",
        Metric::StalledShare => "share of beats that were stalled",
    }
}

/// What a pass consists of: its times are per one.
pub(crate) fn op(workload: Workload) -> &'static str {
    match workload {
        Workload::Command => "execution",
        Workload::Replay => "access",
        _ => "block",
    }
}

/// What a time is given in, to be said once.
pub(super) fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::MinorFaults
        | Metric::DeviceReadBytes
        | Metric::DeviceWriteBytes
        | Metric::PagesPerFault
        | Metric::CeilingShare
        | Metric::StalledShare => "",
        Metric::SafepointP99 | Metric::BeatP99 => " in ns",
        _ => " in ns per operation",
    }
}

/// `16.2`, `423`, `64 MiB`.
pub(super) fn value(metric: Metric, value: f64) -> String {
    precise(metric, value, 0)
}

/// With so many more digits, for what is held against a limit that it is close to: `2.3 %`, `1.53`, `1,024 bytes`.
pub(super) fn precise(metric: Metric, value: f64, more: usize) -> String {
    match metric {
        Metric::DeviceReadBytes | Metric::DeviceWriteBytes if more > 0 => {
            count(value.round().max(0.0) as u64, "byte", "bytes")
        }
        Metric::DeviceReadBytes | Metric::DeviceWriteBytes => rough_size(value),
        Metric::CeilingShare | Metric::StalledShare if more > 0 => format!("{:.more$} %", value * 100.0),
        Metric::CeilingShare | Metric::StalledShare => percent(value),
        _ if more > 0 && value >= 1000.0 => {
            let text = format!("{value:.*}", more + 1);
            let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
            format!("{}.{rest}", thousands(whole.parse().unwrap_or(u64::MAX)))
        }
        _ if more > 0 => format!("{value:.*}", more + 1),
        // A small time is not nothing.
        _ if value > 0.0 && value < 0.95 => digits(value),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => thousands(value.round() as u64),
    }
}

pub(super) fn one_added(metric: Metric) -> String {
    let (none, one) = match metric {
        Metric::DeviceReadBytes => ("read nothing from the device", "one page"),
        Metric::DeviceWriteBytes => ("wrote nothing to the device", "one page"),
        Metric::StalledShare => ("had no stalled beat", "one of 100"),
        _ => ("took no fault", "one"),
    };
    format!("some passes {none}, so {one} was added to all")
}
