//! Warnings about a whole run.

use schema::{
    Workload,
    reason::Limit,
    warning::{ForkGroups, Warning},
};

use crate::layout::words::list;

use super::numbers::{count, percent, rough_size, size, thousands, times};

pub fn warning(warning: &Warning) -> String {
    match warning {
        Warning::Incomplete { partial } => format!("the run is not complete: {partial}"),
        Warning::WideNoise { states, margin } => {
            let wide = states.iter().filter_map(|it| Some(format!("{} in state {}", it.floor.width()?, it.state)));
            format!(
                "the noise floor is {}: one arm measured twice differed by more than the margin of {}",
                wide.collect::<Vec<String>>().join(", "),
                percent(*margin)
            )
        }
        Warning::RejectedControls { rejected, controls } => format!(
            "{rejected} of {controls} A/A controls differ from their baseline, which is the same arm: the intervals of \
             this run are too narrow"
        ),
        Warning::StolenTime { share } => {
            format!("{} of the CPU time was stolen by the hypervisor during the run", percent(*share))
        }
        Warning::FewCpus { threads, cpus } => format!("{threads} threads took turns on {cpus} CPUs"),
        Warning::Busy { load, cpus } => {
            format!("the machine was busy when the run began: load {load:.1} on {cpus} CPUs")
        }
        Warning::Sparse { allocated_bytes, bytes } => format!(
            "the file has holes, or is compressed: {} of {} are allocated, and reads of holes do not reach the device",
            size(*allocated_bytes as f64),
            size(*bytes as f64)
        ),
        Warning::UnusualReadAhead { bytes, usual_bytes } => format!(
            "read-ahead is {} on this device (usually {}): reads from the device depend on it, most of all random reads \
             through a mapping without advice",
            size(*bytes as f64),
            size(*usual_bytes as f64)
        ),
        Warning::SmallWindow { bytes, file_bytes } => format!(
            "no arm touched more than {} of the file's {} under one condition: this part may fit into a cache or a memory limit where the \
             whole file does not",
            size(*bytes as f64),
            size(*file_bytes as f64)
        ),
        Warning::ThrottleExceeded { arm, label, limit, allowed_per_s, per_s, more } => format!(
            "the I/O throttle of {} was exceeded: {arm} got {} ({label}){}",
            limited(*limit, *allowed_per_s),
            limited(*limit, *per_s),
            and_more(*more)
        ),
        Warning::HalfCalibrated { calibrated, all, first_missing } => format!(
            "unit costs are based on {calibrated} of {all} calibrated operations: {} could not be measured (the first: \
             {first_missing})",
            all.saturating_sub(*calibrated)
        ),
        Warning::SlowBuffers { times: slower, block_bytes } => format!(
            "this processor copies to a buffer that begins 16 bytes behind the beginning of a page {} slower ({} at a time). \
             glibc's malloc puts buffers of 128 KiB and more there; the arms here have buffers at a page, and arms with \
             +malloc do not",
            times(*slower),
            size(*block_bytes as f64)
        ),
        Warning::SlowLoops { times: slower, block_bytes } => format!(
            "a loop that adds bytes one by one takes {} as long in a mapping as with read calls ({} at a time), although no page \
             is missing: the processor probably fetches little ahead of it. `sum`, `copy` and `lines` are no such loops; \
             --consume sum-bytes is one",
            times(*slower),
            size(*block_bytes as f64)
        ),
        Warning::DiskShared { device, passes, read_bytes, written_bytes, own_bytes } => {
            let foreign = [(*read_bytes, "read"), (*written_bytes, "written")];
            let foreign: Vec<String> =
                foreign.iter().filter(|it| it.0 > 0.0).map(|(bytes, how)| format!("{} {how}", size(*bytes))).collect();
            format!(
                "other processes used {} during the {} passes that use it: {}, besides {} that the passes read themselves; \
                 this is part of the measured times",
                device.as_deref().unwrap_or("the disk"),
                thousands(*passes),
                list(&foreign),
                size(*own_bytes)
            )
        }
        Warning::AtTheCeiling { arm, label, share, more } => format!(
            "at the device's ceiling: {arm} with {} of it ({label}){}; such cells measure the device, and a faster \
             method would show no difference",
            percent(*share),
            and_more(*more)
        ),
        Warning::LowCeiling { workload, arm, label, share } => format!(
            "the device's ceiling for {} reads was measured too low, as beside a cache of the host, in a slow moment, or with \
             fewer requests at once than the arm makes: {arm} reached {} of it ({label}); none of them is called a share of it",
            if *workload == Workload::Scan { "sequential" } else { "random" },
            percent(*share)
        ),
        Warning::ThroughPageCache { device } => format!(
            "{device} is a file that this kernel reads through its page cache: what is cold, and comes from the device, may come \
             from memory all the same; `losetup --direct-io=on` reads around it"
        ),
        Warning::PagesLeft { lost, passes, most_pages } => format!(
            "pages of the file left the page cache during {} of {} passes that need them there (up to {}); those \
             passes do not count. The cause may persist: memory pressure, another program, or a reclaim scheme",
            thousands(*lost),
            thousands(*passes),
            thousands(*most_pages)
        ),
        Warning::UnevenStarts { changed, passes, least_pages, most_pages } => format!(
            "in state as-is the residency changed during {} of {} passes over windows of one size, which began with {} \
             to {} resident pages: their starting states differ",
            thousands(*changed),
            thousands(*passes),
            thousands(*least_pages),
            thousands(*most_pages)
        ),
        Warning::Reclaimed { scheme } => {
            let quota = scheme.quota_bytes_per_s.map(|rate| format!(", up to {}/s", rough_size(rate)));
            format!(
                "the kernel reclaims memory that was not accessed for {:.0} s{} (DAMON scheme {:?} of kdamond.{}): \
                 pages of the file can leave the page cache between passes, and idle memory becomes slower to access",
                scheme.idle_s,
                quota.unwrap_or_default(),
                scheme.action,
                scheme.kdamond
            )
        }
        Warning::Amplified { arm, label, times, read_ahead } => {
            let cause = if *read_ahead { ": read-ahead fetched bytes that were not used" } else { "" };
            format!("{times:.1} bytes were read from the device for each byte that {arm} used ({label}){cause}")
        }
        Warning::IdleAdvice { arm, label, more } => format!(
            "an advice changed none of the counts (faults, bytes from the device): {arm} ({label}){}",
            and_more(*more)
        ),
        Warning::OtherFolios { label, small_arm, small_order, large_arm, large_order } => format!(
            "arms of one condition filled the cache with folios of different sizes: order {small_order} for \
             {small_arm}, order {large_order} for {large_arm} ({label}); the cost of later passes depends on these \
             sizes"
        ),
        Warning::LostEvents { passes, all, most_in, lost } => format!(
            "{passes} of {all} counted passes had more events than their rings could hold: their histograms, and \
             the numbers of flushes and FUA writes, are incomplete (most in {}: {} lost); other totals are exact",
            most_in.as_deref().unwrap_or("an unknown arm"),
            thousands(*lost)
        ),
        Warning::ForksDisagree { first, more: 0 } => fork_groups(first),
        Warning::ForksDisagree { first, more } => {
            format!("{}; so do those of {}", fork_groups(first), count(*more as u64, "other cell", "other cells"))
        }
        Warning::WithinCpuCache { conditions, range_bytes, cache_bytes } => format!(
            "under {}, some or all arms read at most {} of the file in a pass, which fits into the CPU's last-level cache of {}: \
             they may have hit this cache instead of memory; use a larger range to measure memory",
            count(*conditions as u64, "condition", "conditions"),
            size(*range_bytes as f64),
            size(*cache_bytes as f64)
        ),
    }
}

/// What it is about, in a word or two.
pub(crate) fn topic(warning: &Warning) -> &'static str {
    match warning {
        Warning::Incomplete { .. } => "incomplete run",
        Warning::WideNoise { .. } => "wide noise",
        Warning::RejectedControls { .. } => "A/A controls that differ",
        Warning::StolenTime { .. } => "stolen CPU time",
        Warning::FewCpus { .. } => "few CPUs",
        Warning::Busy { .. } => "busy machine",
        Warning::Sparse { .. } => "file with holes",
        Warning::UnusualReadAhead { .. } => "read-ahead size",
        Warning::SmallWindow { .. } => "part of the file",
        Warning::ThrottleExceeded { .. } => "I/O throttle",
        Warning::HalfCalibrated { .. } => "unit costs",
        Warning::SlowBuffers { .. } => "place of buffers",
        Warning::SlowLoops { .. } => "loops over mappings",
        Warning::DiskShared { .. } => "shared disk",
        Warning::AtTheCeiling { .. } | Warning::LowCeiling { .. } => "device ceiling",
        Warning::ThroughPageCache { .. } => "page cache under the device",
        Warning::PagesLeft { .. } => "pages left the cache",
        Warning::UnevenStarts { .. } => "uneven starts",
        Warning::Reclaimed { .. } => "reclaim of idle memory",
        Warning::Amplified { .. } => "read amplification",
        Warning::IdleAdvice { .. } => "advice without effect",
        Warning::OtherFolios { .. } => "folios of other sizes",
        Warning::LostEvents { .. } => "lost events",
        Warning::ForksDisagree { .. } => "forks that disagree",
        Warning::WithinCpuCache { .. } => "CPU cache",
    }
}

/// `40.0 MB/s`, `1,000 reads/s`
pub(crate) fn limited(limit: Limit, per_s: f64) -> String {
    match limit {
        Limit::Bytes if per_s < 1e6 => format!("{:.1} KB/s", per_s / 1e3),
        Limit::Bytes => format!("{:.1} MB/s", per_s / 1e6),
        Limit::Reads => format!("{} reads/s", thousands(per_s.round() as u64)),
    }
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

/// `jvm/read, scan 4 KiB cached: its forks disagree: …`
pub fn fork_groups(groups: &ForkGroups) -> String {
    let ForkGroups { arm, label, slow, forks, factor, in_code } = groups;
    let reason = match in_code {
        true => "; the slow ones were slower over the warm-up file too, so the compiled code differs",
        false => "; over the warm-up file they were not seen to differ in this way",
    };
    format!("{arm}, {label}: {}{reason}", forks_disagree(*slow, *forks, *factor))
}

pub(crate) fn forks_disagree(slow: usize, forks: usize, factor: f64) -> String {
    format!("its forks disagree: {slow} of {forks} took {} as long as the others", times(factor))
}
