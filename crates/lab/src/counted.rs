//! Counted passes: what a pass did, in events of the kernel. They are made after the timed ones and never timed, because
//! an event that is looked at costs tens to hundreds of nanoseconds.
//!
//! A new count or histogram is one line in a table.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use schema::{
    Reading, Span,
    counted::{Bin, Counted, Histogram},
    protocol::Done,
};
use sys::perf::{CountedEvent, Counter, Format, Recording, TraceField, Tracefs, Tracepoint};

/// Per CPU and histogram: some ten thousand events.
const RING_BYTES: usize = 1 << 20;

const EVENTS: &[(&str, CountedEvent)] = &[
    ("minor_faults", CountedEvent::MinorFaults),
    ("major_faults", CountedEvent::MajorFaults),
    ("context_switches", CountedEvent::ContextSwitches),
    ("migrations", CountedEvent::Migrations),
    ("cycles", CountedEvent::Cycles),
    ("instructions", CountedEvent::Instructions),
    ("data_tlb_misses", CountedEvent::DataTlbMisses),
];

const TRACEPOINTS: &[(&str, &str, &str)] = &[
    ("system_calls", "raw_syscalls", "sys_enter"),
    ("user_faults", "exceptions", "page_fault_user"),
    ("file_faults", "filemap", "mm_filemap_fault"),
    ("map_rounds", "filemap", "mm_filemap_map_pages"),
    ("get_pages", "filemap", "mm_filemap_get_pages"),
    ("folios_added", "filemap", "mm_filemap_add_to_page_cache"),
    ("block_requests", REQUEST.0, REQUEST.1),
    ("sync_read_ahead", "readahead", "page_cache_sync_ra"),
    ("async_read_ahead", "readahead", "page_cache_async_ra"),
    ("tlb_flushes", "tlb", "tlb_flush"),
    ("dirtied_folios", "writeback", "writeback_dirty_folio"),
    ("throttled_writes", "writeback", "balance_dirty_pages"),
];

/// A histogram of one field of a tracepoint.
#[derive(Debug)]
struct Spread {
    name: &'static str,
    group: &'static str,
    event: &'static str,
    field: &'static str,
    only: SpreadFilter,
}

/// Which occurrences go into it.
#[derive(Debug, Clone, Copy)]
enum SpreadFilter {
    All,
    /// Of the measured file; other events name no file.
    OfTheFile,
}

const SPREADS: &[Spread] = &[
    Spread {
        name: "folio_order",
        group: "filemap",
        event: "mm_filemap_add_to_page_cache",
        field: "order",
        only: SpreadFilter::OfTheFile,
    },
    Spread { name: "tlb_flush_reason", group: "tlb", event: "tlb_flush", field: "reason", only: SpreadFilter::All },
];

impl Spread {
    fn event(&self) -> (&'static str, &'static str) {
        (self.group, self.event)
    }
}

/// A block request is made, and what is merged into one, in the context of the thread that asked for the bytes. It may be
/// issued to the device (`block_rq_issue`) by another one: where the device is busy, by a kernel thread, whose events are not
/// counted here. Of a mapped scan of 16 MiB 2 of 17 requests were issued by the worker itself.
const REQUEST: (&str, &str) = ("block", "block_getrq");
const MERGED_BEHIND: (&str, &str) = ("block", "block_bio_backmerge");
const MERGED_BEFORE: (&str, &str) = ("block", "block_bio_frontmerge");
const OF_REQUESTS: [(&str, &str); 3] = [REQUEST, MERGED_BEHIND, MERGED_BEFORE];

/// A histogram of the sizes of some block requests.
type RequestSpread = (&'static str, fn(Request) -> bool);

const REQUEST_SPREADS: &[RequestSpread] = &[
    ("request_bytes", |_| true),
    ("request_bytes_read", |it| it.reads),
    ("request_bytes_write", |it| it.writes),
    ("request_bytes_flush", |it| it.flushes),
    ("request_bytes_fua", |it| it.durable),
];

/// Of the tracepoints of block requests, whatever the device's own sectors are.
const SECTOR_BYTES: u64 = 512;

/// What a block request is for, from the letters that the kernel gives it: an F for a flush before it, one for what it does,
/// an F for data that must be durable when it ends (FUA), and more (`blk_fill_rwbs` in kernel/trace/blktrace.c).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Request {
    reads: bool,
    writes: bool,
    flushes: bool,
    durable: bool,
}

impl Request {
    fn parse(letters: &[u8]) -> Request {
        // A flush alone has the F of what it does, and mostly the other one too.
        let does = |letter: &u8| matches!(letter, b'R' | b'W' | b'D' | b'F' | b'N' | b'Z');
        let (before, rest) = match letters {
            [b'F', rest @ ..] if rest.first().is_some_and(does) => (true, rest),
            _ => (false, letters),
        };
        let (what, after) = rest.split_first().map_or((b'N', [].as_slice()), |(&what, after)| (what, after));
        Request {
            reads: what == b'R',
            writes: what == b'W',
            flushes: before || what == b'F',
            durable: what == b'W' && after.contains(&b'F'),
        }
    }
}

/// What an occurrence says of a request: it is made, or something is merged into it.
#[derive(Debug, Clone, Copy)]
struct RequestStep {
    time_ns: u64,
    event: (&'static str, &'static str),
    device: u64,
    /// In sectors.
    span: Span,
    does: Request,
}

/// Where in an occurrence that stands.
struct RequestFields {
    device: TraceField,
    sector: TraceField,
    sectors: TraceField,
    letters: TraceField,
}

impl RequestFields {
    /// # Errors
    /// What this kernel's tracepoint lacks.
    fn of(format: &Format) -> Result<RequestFields, String> {
        let field = |name: &str| format.field(name).cloned();
        Ok(RequestFields {
            device: field("dev")?,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            letters: field("rwbs")?,
        })
    }

    fn step(&self, event: (&'static str, &'static str), time_ns: u64, record: &[u8]) -> Option<RequestStep> {
        let span = Span { offset: self.sector.number(record)?, bytes: self.sectors.number(record)? };
        let device = self.device.number(record)?;
        Some(RequestStep { time_ns, event, device, span, does: Request::parse(self.letters.text(record)?) })
    }
}

/// Each request, with all that was merged into it; what was merged into a request of another process stands by itself.
fn whole_requests(mut steps: Vec<RequestStep>) -> Vec<RequestStep> {
    // What is merged into a request comes after it, also within one tick of the clock.
    steps.sort_by_key(|it| (it.time_ns, it.event != REQUEST));
    let mut requests: Vec<RequestStep> = Vec::new();
    for step in steps {
        let touches = |it: &&mut RequestStep| match step.event {
            _ if it.device != step.device => false,
            MERGED_BEHIND => it.span.end() == step.span.offset,
            MERGED_BEFORE => it.span.offset == step.span.end(),
            _ => false,
        };
        match requests.iter_mut().rev().find(touches) {
            Some(request) => {
                request.span.offset = request.span.offset.min(step.span.offset);
                request.span.bytes = request.span.bytes.saturating_add(step.span.bytes);
            }
            None => requests.push(step),
        }
    }
    requests
}

/// The histograms of block requests.
fn request_histograms(steps: Result<Vec<RequestStep>, String>, lost: u64) -> Vec<(String, Reading<Histogram>)> {
    let requests = steps.map(whole_requests);
    let histogram = |&(name, wanted): &RequestSpread| {
        let sizes = requests.as_ref().map_err(String::clone).map(|requests| {
            let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
            for request in requests.iter().filter(|it| wanted(it.does)) {
                *bins.entry(request.span.bytes.saturating_mul(SECTOR_BYTES)).or_default() += 1;
            }
            Histogram { bins: bins.into_iter().map(|(value, events)| Bin { value, events }).collect(), lost }
        });
        (name.to_string(), Reading::from(sizes))
    };
    REQUEST_SPREADS.iter().map(histogram).collect()
}

/// The count that the worker's own calls are in (`Runtime::own_calls`). Threads that are started for a pass are in it too, as is
/// sometimes the call that waits for the next line.
const WITH_OWN_CALLS: &str = "system_calls";

/// What can be counted here, found out once.
pub struct Kit {
    /// Of all files that are measured.
    inodes: Arc<BTreeSet<u64>>,
    tracepoints: BTreeMap<(&'static str, &'static str), Result<Tracepoint, String>>,
}

impl Kit {
    /// The kit, and what is missing in one sentence.
    pub fn new(may_set_up: bool, inodes: BTreeSet<u64>) -> (Kit, Option<String>) {
        let tracefs = Tracefs::reach(may_set_up);
        let names =
            TRACEPOINTS.iter().map(|&(_, group, event)| (group, event)).chain(SPREADS.iter().map(Spread::event));
        let names = names.chain(OF_REQUESTS);
        let tracepoints = names
            .map(|(group, event)| {
                let found = tracefs.as_ref().map_err(String::clone).and_then(|it| it.tracepoint(group, event));
                ((group, event), found)
            })
            .collect();
        let nothing = Counter::of(CountedEvent::MinorFaults, std::process::id()).err();
        let limits = [
            tracefs.err().map(|reason| format!("tracepoints were not counted: {reason}")),
            nothing.map(|reason| format!("faults and switches were not counted: {reason}")),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        (Kit { inodes: Arc::new(inodes), tracepoints }, (!limits.is_empty()).then(|| limits.join("; ")))
    }

    /// Attaches to the thread of a worker that will make the pass, and with it to all that it starts from now on.
    pub fn watch(&self, pid: u32) -> PassCounters {
        let tracepoint = |group, event| match self.tracepoints.get(&(group, event)) {
            Some(found) => found.clone(),
            None => Err(format!("{group}:{event} was not checked")),
        };
        let software = EVENTS.iter().map(|&(name, event)| (name, Counter::of(event, pid)));
        let traced = TRACEPOINTS.iter().map(|&(name, group, event)| {
            (name, tracepoint(group, event).and_then(|it| Counter::of(CountedEvent::Tracepoint(it.id), pid)))
        });
        let mut events: Vec<_> = SPREADS.iter().map(Spread::event).chain(OF_REQUESTS).collect();
        events.sort_unstable();
        events.dedup();
        let recordings = events.into_iter().map(|event| {
            let recording =
                tracepoint(event.0, event.1).and_then(|it| Ok((Recording::of(it.id, pid, RING_BYTES)?, it.format)));
            (event, recording)
        });
        let counters = software.chain(traced).collect();
        PassCounters { counters, recordings: recordings.collect(), inodes: Arc::clone(&self.inodes) }
    }
}

/// What a counted pass could see of this very process, and for the rest why not; nothing is mounted for it.
///
/// # Errors
/// Nothing can be counted, or no tracepoint: why, and what would change that.
pub fn try_out() -> Result<String, String> {
    let (kit, limit) = Kit::new(false, BTreeSet::new());
    if let Some(limit) = limit {
        return Err(limit);
    }
    let watch = kit.watch(std::process::id());
    let counters = watch.counters.iter().filter_map(|(name, it)| Some((*name, it.as_ref().err()?)));
    let recordings = watch.recordings.iter().filter_map(|((_, event), it)| Some((*event, it.as_ref().err()?)));
    let missing: Vec<(&str, &String)> = counters.chain(recordings).collect();
    let Some((_, first)) = missing.first() else { return Ok("yes, with --counted".into()) };
    let names: Vec<&str> = missing.iter().map(|it| it.0).collect();
    Ok(format!("yes, with --counted, without {}: {first}", names.join(", ")))
}

/// A running recording and how to read it, or why there is none.
type Recorded = Result<(Recording, Format), String>;

/// Counters around one pass.
pub struct PassCounters {
    counters: Vec<(&'static str, Result<Counter, String>)>,
    /// By group and event.
    recordings: Vec<((&'static str, &'static str), Recorded)>,
    inodes: Arc<BTreeSet<u64>>,
}

impl PassCounters {
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
        for (_, it) in &mut self.recordings {
            if let Err(reason) = it.as_mut().map_or(Ok(()), |(it, _)| recording(it)) {
                *it = Err(reason);
            }
        }
    }

    /// What was seen, as it goes into the record, without so many system calls that the worker made for itself.
    pub fn counted(
        self,
        cell: usize,
        own_calls: u64,
        done: &Done,
        device_read_bytes: Reading<f64>,
        invalid: Option<String>,
    ) -> Counted {
        let inodes = &self.inodes;
        let count = |(name, counter): (&str, Result<Counter, String>)| {
            let read = counter.and_then(|mut it| it.read());
            let read = read.map(|it| if name == WITH_OWN_CALLS { it.saturating_sub(own_calls) } else { it });
            (name.to_string(), Reading::from(read))
        };
        let histograms = |((group, event), recording): ((&str, &str), Recorded)| {
            let spreads = SPREADS.iter().filter(|it| it.event() == (group, event));
            match recording {
                Err(reason) => spreads.map(|it| (it.name.to_string(), Reading::unavailable(reason.clone()))).collect(),
                Ok((mut recording, format)) => {
                    let mut sorted = Sorted::new(spreads, &format, inodes);
                    recording.drain(|it| sorted.take(it.fields));
                    sorted.finish(recording.lost())
                }
            }
        };
        let (of_requests, others): (Vec<_>, Vec<_>) =
            self.recordings.into_iter().partition(|(event, _)| OF_REQUESTS.contains(event));
        let (mut steps, mut lost) = (Vec::new(), 0);
        let seen = of_requests.into_iter().try_for_each(|(event, recorded)| {
            let (mut recording, format) = recorded?;
            let fields = RequestFields::of(&format)?;
            recording.drain(|it| steps.extend(fields.step(event, it.time_ns, it.fields)));
            lost += recording.lost();
            Ok(())
        });
        let requests = request_histograms(seen.map(|()| steps), lost);
        Counted {
            cell,
            bytes: done.tally.bytes,
            distinct_bytes: done.tally.distinct_bytes,
            distinct_block_bytes: done.tally.distinct_block_bytes,
            distinct_pages: done.tally.distinct_pages,
            device_read_bytes,
            invalid,
            counts: self.counters.into_iter().map(count).collect(),
            histograms: others.into_iter().flat_map(histograms).chain(requests).collect(),
        }
    }
}

/// Occurrences of one tracepoint, sorted into the histograms that are made of it.
struct Sorted<'i> {
    parts: Vec<Part>,
    inodes: &'i BTreeSet<u64>,
}

struct Part {
    spread: &'static Spread,
    /// Of the value, and of what decides whether it is wanted; or what this kernel's tracepoint lacks.
    fields: Result<(TraceField, Option<TraceField>), String>,
    bins: BTreeMap<u64, u64>,
}

impl<'i> Sorted<'i> {
    fn new(spreads: impl Iterator<Item = &'static Spread>, format: &Format, inodes: &'i BTreeSet<u64>) -> Sorted<'i> {
        let fields = |spread: &Spread| -> Result<(TraceField, Option<TraceField>), String> {
            let of = |name: &str| format.field(name).cloned();
            let decides = match spread.only {
                SpreadFilter::All => None,
                SpreadFilter::OfTheFile => Some(of("i_ino")?),
            };
            Ok((of(spread.field)?, decides))
        };
        let parts = spreads.map(|spread| Part { spread, fields: fields(spread), bins: BTreeMap::new() });
        Sorted { parts: parts.collect(), inodes }
    }

    fn take(&mut self, record: &[u8]) {
        for part in &mut self.parts {
            let Ok((field, decides)) = &part.fields else { continue };
            let wanted = match (part.spread.only, decides) {
                (SpreadFilter::OfTheFile, Some(file)) => {
                    file.number(record).is_some_and(|it| self.inodes.contains(&it))
                }
                _ => true,
            };
            if let Some(value) = field.number(record).filter(|_| wanted) {
                *part.bins.entry(value).or_default() += 1;
            }
        }
    }

    /// Lost events count as lost for each histogram, because their kind is not known.
    fn finish(self, lost: u64) -> Vec<(String, Reading<Histogram>)> {
        let histogram = |part: Part| {
            let bins = part.bins.into_iter().map(|(value, events)| Bin { value, events }).collect();
            (part.spread.name.to_string(), Reading::from(part.fields.map(|_| Histogram { bins, lost })))
        };
        self.parts.into_iter().map(histogram).collect()
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
        assert!(names.contains(&WITH_OWN_CALLS));
    }

    #[test]
    fn without_permission_nothing_is_mounted_and_the_reason_says_what_would_change_it() {
        match Tracefs::reach(false) {
            Ok(_) => println!("skipped: tracefs is mounted here already"),
            Err(reason) => assert!(reason.contains("--allow-setup"), "{reason}"),
        }
    }

    /// As a kernel of 6.18 describes it.
    const MADE: &str = "field:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        field:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        field:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        field:char rwbs[10];\toffset:28;\tsize:10;\tsigned:0;\n";
    const ADDED: &str = "field:unsigned long i_ino;\toffset:8;\tsize:8;\tsigned:0;\n\
        field:unsigned char order;\toffset:16;\tsize:1;\tsigned:0;\n";

    fn sorted<'i>(event: &str, format: &str, inodes: &'i BTreeSet<u64>) -> Sorted<'i> {
        Sorted::new(SPREADS.iter().filter(|it| it.event == event), &Format::parse(format), inodes)
    }

    /// Of so many sectors, by their order in time.
    fn step(
        time_ns: u64,
        event: (&'static str, &'static str),
        sector: u64,
        sectors: u32,
        letters: &str,
    ) -> RequestStep {
        let mut record = vec![0; 44];
        record[8..12].copy_from_slice(&7u32.to_ne_bytes());
        record[16..24].copy_from_slice(&sector.to_ne_bytes());
        record[24..28].copy_from_slice(&sectors.to_ne_bytes());
        record[28..28 + letters.len()].copy_from_slice(letters.as_bytes());
        RequestFields::of(&Format::parse(MADE)).unwrap().step(event, time_ns, &record).unwrap()
    }

    fn bins(histograms: &[(String, Reading<Histogram>)], name: &str) -> Vec<(u64, u64)> {
        let (_, histogram) = histograms.iter().find(|it| it.0 == name).unwrap();
        histogram.value().unwrap().bins.iter().map(|it| (it.value, it.events)).collect()
    }

    #[test]
    fn requests_are_told_apart_by_what_they_are_for() {
        let made = [(8, "RA"), (8, "R"), (16, "WS"), (16, "WFS"), (1, "FWFS"), (0, "FF"), (0, "F"), (2, "D"), (4, "")];
        let steps = made.into_iter().map(|(sectors, letters)| step(1, REQUEST, 100, sectors, letters)).collect();
        let histograms = request_histograms(Ok(steps), 7);
        let all = [(0, 2), (512, 1), (1024, 1), (2048, 1), (4096, 2), (8192, 2)];
        assert_eq!(bins(&histograms, "request_bytes"), all);
        assert_eq!(bins(&histograms, "request_bytes_read"), [(4096, 2)]);
        assert_eq!(bins(&histograms, "request_bytes_write"), [(512, 1), (8192, 2)]);
        assert_eq!(bins(&histograms, "request_bytes_flush"), [(0, 2), (512, 1)]);
        assert_eq!(bins(&histograms, "request_bytes_fua"), [(512, 1), (8192, 1)]);
        assert!(histograms.iter().all(|it| it.1.value().unwrap().lost == 7), "a lossy pass says so everywhere");
    }

    #[test]
    fn a_request_has_the_bytes_of_all_that_was_merged_into_it_on_whatever_cpu() {
        let other_device = RequestStep { device: 8, ..step(3, REQUEST, 108, 8, "R") };
        let steps = vec![
            step(6, MERGED_BEFORE, 92, 8, "R"),
            step(4, MERGED_BEHIND, 108, 8, "R"),
            // Of a request of another process.
            step(7, MERGED_BEHIND, 500, 4, "R"),
            step(5, MERGED_BEHIND, 116, 16, "R"),
            step(4, REQUEST, 100, 8, "R"),
            step(4, REQUEST, 200, 8, "W"),
            other_device,
        ];
        let histograms = request_histograms(Ok(steps), 0);
        assert_eq!(bins(&histograms, "request_bytes_read"), [(2048, 1), (4096, 1), (40 * 512, 1)]);
        assert_eq!(bins(&histograms, "request_bytes_write"), [(4096, 1)]);
    }

    #[test]
    fn requests_that_cannot_be_seen_are_a_reason_in_each_of_their_histograms() {
        let lacks = RequestFields::of(&Format::parse(ADDED)).err().unwrap();
        let histograms = request_histograms(Err(lacks), 0);
        assert_eq!(histograms.len(), REQUEST_SPREADS.len());
        let reason = "this kernel's tracepoint has no field \"dev\"";
        assert!(histograms.iter().all(|it| it.1 == Reading::unavailable(reason)), "{histograms:?}");
    }

    #[test]
    fn folios_of_other_files_are_left_out() {
        let inodes = BTreeSet::from([42]);
        let mut sorted = sorted("mm_filemap_add_to_page_cache", ADDED, &inodes);
        for (inode, order) in [(42u64, 4u8), (43, 4), (42, 9), (42, 4)] {
            let mut record = vec![0; 17];
            record[8..16].copy_from_slice(&inode.to_ne_bytes());
            record[16] = order;
            sorted.take(&record);
        }
        assert_eq!(bins(&sorted.finish(0), "folio_order"), [(4, 2), (9, 1)]);
    }

    #[test]
    fn a_tracepoint_of_another_shape_is_a_reason_for_what_it_lacks() {
        let none = BTreeSet::new();
        let sorted = sorted(
            "mm_filemap_add_to_page_cache",
            "field:unsigned long i_ino;\toffset:8;\tsize:8;\tsigned:0;\n",
            &none,
        );
        let histograms = sorted.finish(0);
        assert_eq!(histograms[0].1, Reading::unavailable("this kernel's tracepoint has no field \"order\""));
    }

    proptest::proptest! {
        #[test]
        fn no_record_and_no_letters_can_make_it_fail(
            records in proptest::collection::vec(proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64), 0..6),
            letters in "[FRWDAS]{0,12}",
        ) {
            let fields = RequestFields::of(&Format::parse(MADE)).unwrap();
            let of_all = records.iter().zip(OF_REQUESTS.into_iter().cycle());
            let steps: Vec<RequestStep> = of_all.filter_map(|(record, event)| fields.step(event, 0, record)).collect();
            let whole = records.iter().filter(|it| it.len() >= 38).count();
            proptest::prop_assert_eq!(steps.len(), whole);
            let events: u64 = bins(&request_histograms(Ok(steps), 0), "request_bytes").iter().map(|it| it.1).sum();
            proptest::prop_assert!(events <= whole as u64);
            let inodes = BTreeSet::from([42]);
            let mut sorted = sorted("mm_filemap_add_to_page_cache", ADDED, &inodes);
            records.iter().for_each(|it| sorted.take(it));
            let request = Request::parse(letters.as_bytes());
            proptest::prop_assert!(!(request.reads && request.writes));
        }
    }
}
