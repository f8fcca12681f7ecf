//! Counted passes: what a pass did, in events of the kernel. They are made after the timed ones and never timed, because
//! an event that is looked at costs tens to hundreds of nanoseconds.
//!
//! A new count or histogram is one line in a table.

use std::collections::BTreeMap;

use schema::{
    Reading,
    counted::{Bin, Counted, Histogram},
    protocol::Done,
};
use sys::perf::{Counter, Event, Recording, Tracefs, Tracepoint};

use crate::Target;

/// Per CPU and histogram: some ten thousand events.
const RING_BYTES: usize = 1 << 20;

const EVENTS: &[(&str, Event)] = &[
    ("minor_faults", Event::MinorFaults),
    ("major_faults", Event::MajorFaults),
    ("context_switches", Event::ContextSwitches),
    ("migrations", Event::Migrations),
    ("cycles", Event::Cycles),
    ("instructions", Event::Instructions),
    ("data_tlb_misses", Event::DataTlbMisses),
];

const TRACEPOINTS: &[(&str, &str, &str)] = &[
    ("system_calls", "raw_syscalls", "sys_enter"),
    ("user_faults", "exceptions", "page_fault_user"),
    ("file_faults", "filemap", "mm_filemap_fault"),
    ("map_rounds", "filemap", "mm_filemap_map_pages"),
    ("get_pages", "filemap", "mm_filemap_get_pages"),
    ("folios_added", "filemap", "mm_filemap_add_to_page_cache"),
    ("block_requests", "block", "block_rq_issue"),
    ("sync_read_ahead", "readahead", "page_cache_sync_ra"),
    ("async_read_ahead", "readahead", "page_cache_async_ra"),
    ("tlb_flushes", "tlb", "tlb_flush"),
    ("dirtied_pages", "writeback", "writeback_dirty_folio"),
    ("throttled_writes", "writeback", "balance_dirty_pages"),
];

/// A histogram of one field of a tracepoint.
struct Spread {
    name: &'static str,
    group: &'static str,
    event: &'static str,
    field: &'static str,
    /// Of the measured file alone; other events name no file.
    of_the_file: bool,
}

const SPREADS: &[Spread] = &[
    Spread {
        name: "folio_order",
        group: "filemap",
        event: "mm_filemap_add_to_page_cache",
        field: "order",
        of_the_file: true,
    },
    Spread { name: "request_bytes", group: "block", event: "block_rq_issue", field: "bytes", of_the_file: false },
];

/// The worker's own call that ends a pass: it writes `done`. It may also be seen waiting for the next line.
const PROTOCOL: &str = "system_calls";
const PROTOCOL_CALLS: u64 = 1;

/// What can be counted here, found out once.
pub struct Kit {
    inode: u64,
    tracepoints: BTreeMap<(&'static str, &'static str), Result<Tracepoint, String>>,
}

impl Kit {
    /// The kit, and what is missing in one sentence.
    pub fn new(may_set_up: bool, target: &Target) -> (Kit, Option<String>) {
        let tracefs = tracefs(may_set_up);
        let names = TRACEPOINTS
            .iter()
            .map(|&(_, group, event)| (group, event))
            .chain(SPREADS.iter().map(|it| (it.group, it.event)));
        let tracepoints = names
            .map(|(group, event)| {
                let found = tracefs.as_ref().map_err(String::clone).and_then(|it| it.tracepoint(group, event));
                ((group, event), found)
            })
            .collect();
        let limit = tracefs.err().map(|reason| format!("tracepoints were not counted: {reason}"));
        (Kit { inode: target.inode, tracepoints }, limit)
    }

    /// Attaches to a worker that has not started any thread yet.
    pub fn watch(&self, pid: u32) -> Watch {
        let tracepoint = |group, event| match self.tracepoints.get(&(group, event)) {
            Some(found) => found.clone(),
            None => Err(format!("{group}:{event} was not looked for")),
        };
        let software = EVENTS.iter().map(|&(name, event)| (name, Counter::of(event, pid)));
        let traced = TRACEPOINTS.iter().map(|&(name, group, event)| {
            (name, tracepoint(group, event).and_then(|it| Counter::of(Event::Tracepoint(it.id), pid)))
        });
        let spreads = SPREADS.iter().map(|spread| {
            let recording =
                tracepoint(spread.group, spread.event).and_then(|it| Ok((Recording::of(it.id, pid, RING_BYTES)?, it)));
            (spread, recording)
        });
        Watch { counters: software.chain(traced).collect(), spreads: spreads.collect(), inode: self.inode }
    }
}

/// Where the kernel's tracepoints can be looked up.
///
/// # Errors
/// Why they cannot, and what would change that.
pub fn tracefs(may_mount: bool) -> Result<Tracefs, String> {
    Tracefs::mounted().or_else(|reason| match may_mount {
        true => Tracefs::detached(),
        false => Err(format!(
            "the kernel's table of tracepoints (tracefs) cannot be read: {reason}; with --allow-setup, as root, faultline \
             reaches it by a mount that ends with the run"
        )),
    })
}

/// A running recording and how to read it, or why there is none.
type Recorded = Result<(Recording, Tracepoint), String>;

/// Counters around one pass.
pub struct Watch {
    counters: Vec<(&'static str, Result<Counter, String>)>,
    spreads: Vec<(&'static Spread, Recorded)>,
    inode: u64,
}

impl Watch {
    pub fn start(&mut self) {
        self.switch(Counter::enable, Recording::enable);
    }

    pub fn stop(&mut self) {
        self.switch(Counter::disable, Recording::disable);
    }

    /// What refuses is unavailable from then on.
    fn switch(
        &mut self,
        counter: fn(&mut Counter) -> Result<(), String>,
        recording: fn(&mut Recording) -> Result<(), String>,
    ) {
        for (_, it) in &mut self.counters {
            if let Err(reason) = it.as_mut().map_or(Ok(()), counter) {
                *it = Err(reason);
            }
        }
        for (_, it) in &mut self.spreads {
            if let Err(reason) = it.as_mut().map_or(Ok(()), |(it, _)| recording(it)) {
                *it = Err(reason);
            }
        }
    }

    /// What was seen, as it goes into the record.
    pub fn counted(
        self,
        cell: usize,
        done: &Done,
        device_read_bytes: Reading<f64>,
        invalid: Option<String>,
    ) -> Counted {
        let inode = self.inode;
        let count = |(name, counter): (&str, Result<Counter, String>)| {
            let read = counter.and_then(|mut it| it.read());
            let read = read.map(|count| if name == PROTOCOL { count.saturating_sub(PROTOCOL_CALLS) } else { count });
            (name.to_string(), Reading::from(read))
        };
        let histogram = |(spread, recording): (&Spread, Recorded)| {
            let seen = recording.and_then(|(recording, tracepoint)| spread.histogram(recording, &tracepoint, inode));
            (spread.name.to_string(), Reading::from(seen))
        };
        Counted {
            cell,
            bytes: done.tally.bytes,
            distinct_bytes: done.tally.distinct_bytes,
            device_read_bytes,
            invalid,
            counts: self.counters.into_iter().map(count).collect(),
            histograms: self.spreads.into_iter().map(histogram).collect(),
        }
    }
}

impl Spread {
    fn histogram(&self, mut recording: Recording, tracepoint: &Tracepoint, inode: u64) -> Result<Histogram, String> {
        let field = tracepoint.format.field(self.field)?;
        let file = match self.of_the_file {
            true => Some(tracepoint.format.field("i_ino")?),
            false => None,
        };
        let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
        recording.drain(|it| {
            let is_of_the_file = file.is_none_or(|file| file.number(it.fields) == Some(inode));
            if let Some(value) = field.number(it.fields).filter(|_| is_of_the_file) {
                *bins.entry(value).or_default() += 1;
            }
        });
        let bins = bins.into_iter().map(|(value, events)| Bin { value, events }).collect();
        Ok(Histogram { bins, lost: recording.lost() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_a_name_of_its_own() {
        let mut names: Vec<&str> = EVENTS.iter().map(|it| it.0).chain(TRACEPOINTS.iter().map(|it| it.0)).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.contains(&PROTOCOL));
    }

    #[test]
    fn without_permission_nothing_is_mounted_and_the_reason_says_what_would_change_it() {
        if let Err(reason) = tracefs(false) {
            assert!(reason.contains("--allow-setup"), "{reason}");
        }
    }
}
