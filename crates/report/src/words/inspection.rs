//! What was seen of a process, and why something was not.

use schema::{
    Bytes, Reading,
    inspection::{
        AdviceCost, FAULT_AROUND_BYTES, FAULT_MOST_BYTES, FileMeanwhile, MappedFile, MappingAdvice, MissCost,
        PlacePattern, ProcessView, Shape, Unlooked, WatchEnd, Watched, WithoutMemory,
    },
    unit_cost::ForecastRemark,
};

use super::{
    forecast_remark,
    numbers::{count, list, size, thousands},
};
use crate::{layout::number, shell::short};

/// So many rows of files are shown of a process.
pub(crate) const FILES_SHOWN: usize = 20;

pub(crate) fn unlooked(why: &Unlooked) -> String {
    match why {
        Unlooked::Memory => "it is memory with a name: there is no disk behind it to read ahead from".into(),
        Unlooked::Gone => {
            "no file that can be reached by its name is the mapped one: it was deleted or replaced, or lies elsewhere"
                .into()
        }
        Unlooked::NotRegular => "it is no regular file; devices and pipes are not opened".into(),
        Unlooked::Network { file_system } => {
            format!("files on {file_system} are not opened, because that could wait for a server")
        }
        Unlooked::Stranger => {
            "the kernel reports the residency of a file only to its owner and to those who may write it".into()
        }
        Unlooked::NotAmongLargest { files } => {
            format!("only the {} files with the largest mappings are looked at", thousands(*files))
        }
        Unlooked::TooManyPages { pages, most } => format!(
            "{} of it are in the page cache, and folios are looked at of no more than {} of all files together; `inspect FILE` \
             looks at all",
            count(*pages, "page", "pages"),
            thousands(*most)
        ),
        Unlooked::TooLargeMapping { pages, most } => format!(
            "{} of it are mapped without advice, and page tables are looked at of no more than {} of all files together",
            count(*pages, "page", "pages"),
            thousands(*most)
        ),
        Unlooked::NoFolios { error } => format!("folio sizes need root and /proc/kpageflags: {error}"),
        Unlooked::NoPlaceCached => "none of the places that were looked at is in the page cache".into(),
        Unlooked::MappedMeanwhile => "it was mapped while the process was watched".into(),
        Unlooked::AdvisedMeanwhile => "its advice changed while the process was watched".into(),
        Unlooked::MappedTwice => {
            "several of its mappings have the same part of it, and its pages would be counted twice".into()
        }
        Unlooked::UnmappedMeanwhile => "a mapping of it went while the process was watched".into(),
        Unlooked::NotAskedBefore => "the page cache gave no answer when the watch began".into(),
        Unlooked::Refused { error } => error.clone(),
        Unlooked::Text(text) => text.clone(),
    }
}

pub(crate) fn without_memory(why: WithoutMemory) -> &'static str {
    match why {
        WithoutMemory::Kernel => "nothing: it is a thread of the kernel and has no memory of its own",
        WithoutMemory::Zombie => "nothing: it has ended, and its parent has not waited for it yet",
        WithoutMemory::Ending => "nothing: it is about to end, or has not begun",
    }
}

/// As madvise(2) calls it, in lower case.
pub(crate) fn advice(of: MappingAdvice) -> &'static str {
    match of {
        MappingAdvice::Random => "random",
        MappingAdvice::Sequential => "sequential",
        MappingAdvice::Hugepage => "hugepage",
        MappingAdvice::Nohugepage => "nohugepage",
        MappingAdvice::Dontdump => "dontdump",
    }
}

/// The file to ask about first, and why; the files are in their order.
pub(crate) fn first(view: &ProcessView) -> String {
    let asked: Vec<(&MappedFile, AdviceCost)> = view.files.iter().filter_map(|it| Some((it, it.cost?))).collect();
    let Some((file, cost)) = asked.first() else {
        return "no question: no file of 1 MiB or more is mapped without MADV_RANDOM or MADV_SEQUENTIAL, code and memory \
                aside"
            .into();
    };
    let mapped = Bytes(file.unadvised_bytes.unwrap_or(file.bytes));
    // Other advice it may have, on huge pages say.
    let on = if file.advice.as_ref().is_some_and(|it| !it.is_empty()) { " on read-ahead" } else { "" };
    let says = match cost {
        AdviceCost::Counted { unmapped_bytes } => {
            let [came, more] = moved(file.meanwhile.as_ref());
            let ever = match may_have_been_mapped(view, file, *unmapped_bytes) {
                true => "the process may have mapped it in between, and given it up by MADV_DONTNEED or munmap",
                false => "the process never mapped it",
            };
            format!(
                "{} is mapped without advice{on} ({mapped}): while it was watched {came} more of it came to be in the page cache and \
                 {more} more of it in the page table of the process, so {} more of it is in the page cache and not mapped; {ever}. What brought \
                 them in was not traced",
                file.name,
                Bytes(*unmapped_bytes)
            )
        }
        AdviceCost::CountedNothing => format!(
            "{} is mapped without advice{on} ({mapped}); while it was watched no more of it came into the page cache than \
             the process mapped",
            file.name
        ),
        AdviceCost::NotCached { bytes: 0 } => {
            format!(
                "{} is mapped without advice{on} ({mapped}); all of that is in the page cache or in its page table",
                file.name
            )
        }
        AdviceCost::NotCached { bytes } => format!(
            "{} is mapped without advice{on} ({mapped}), and at most {} of that are not in the page cache. {}",
            file.name,
            Bytes(*bytes),
            question(view, file)
        ),
        AdviceCost::NotMapped { bytes } => {
            let why = file.residency.why().map(unlooked).unwrap_or_default();
            format!(
                "{} is mapped without advice{on} ({mapped}), and at most {} of that are not in the page table. What of it is in the \
                 page cache is not known: {why}. {}",
                file.name,
                Bytes(*bytes),
                question(view, file)
            )
        }
        AdviceCost::AdviceUnknown => format!(
            "not known: the kernel does not show here which advice a mapping has (VmFlags in /proc/{}/smaps), so {} \
             ({mapped}) may be mapped with advice or without",
            view.pid, file.name
        ),
    };
    // Only rows that are shown are below.
    let below = view.files.iter().filter(|it| is_listed(it)).take(FILES_SHOWN).filter(|it| it.cost.is_some());
    match below.skip(1).filter(|it| it.cost != Some(AdviceCost::AdviceUnknown)).count() {
        0 => says,
        1 => format!("{says}. Another file without advice follows below"),
        others => format!("{says}. {} more files without advice follow below", thousands(others as u64)),
    }
}

/// Whether the process may have had so much of a file mapped that it has not at the end: the faults that were counted, beside those for
/// what it has more at the end, suffice for that. A page table says nothing of what was unmapped or given up (MADV_DONTNEED) before.
pub(crate) fn may_have_been_mapped(view: &ProcessView, file: &MappedFile, bytes: u64) -> bool {
    let faults = view.watched.as_ref().map_or(0, |it| it.minor_faults.saturating_add(it.major_faults));
    // A fault maps a whole folio, and the largest counts: the mean of a file says nothing of the places that were touched.
    let largest = file.folio_orders.value().into_iter().flatten().map(|it| it.folio_bytes(view.page_bytes)).max();
    let each = largest.map_or(FAULT_MOST_BYTES, |it| it.max(FAULT_AROUND_BYTES));
    let more = file.meanwhile.as_ref().and_then(|it| it.mapped_more_bytes.value()).copied().unwrap_or(0);
    let there = u64::try_from(more).unwrap_or(0);
    faults.saturating_mul(each).saturating_sub(there) >= bytes
}

/// Whether it is a row: files of code, and small ones without advice, would be many without an answer.
pub(crate) fn is_listed(file: &MappedFile) -> bool {
    let has_advice = file.advice.as_ref().is_none_or(|it| !it.is_empty());
    let is_memory = file.residency.why() == Some(&Unlooked::Memory);
    !file.is_code && (file.cost.is_some() || has_advice || is_memory)
}

/// How many are no rows.
pub(crate) fn not_listed(files: &[MappedFile]) -> Option<String> {
    let of: Vec<&MappedFile> = files.iter().filter(|it| !is_listed(it)).collect();
    let sum = |bytes: fn(&MappedFile) -> u64| Bytes(of.iter().fold(0, |sum, it| sum.saturating_add(bytes(it))));
    let (ones, are, each) = if of.len() == 1 { ("a small one", "is", "it") } else { ("small ones", "are", "each") };
    (!of.is_empty()).then(|| {
        format!(
            "{} of code, or {ones} without advice, {are} not listed: {}, {} resident; --json has {each}",
            count(of.len() as u64, "file", "files"),
            sum(|it| it.bytes),
            sum(|it| it.resident_bytes)
        )
    })
}

/// What the places of the file to ask about first say of its accesses.
pub(crate) fn places(view: &ProcessView) -> Option<String> {
    let file = view.files.first().filter(|it| it.miss.is_some())?;
    let verb = |meanwhile: bool| if meanwhile { "mapped of it meanwhile" } else { "has mapped of it so far" };
    Some(match &file.pattern {
        Some(PlacePattern { shape: Shape::Apart, places, bytes, meanwhile }) => format!(
            "what the process {} lies apart, {} in {} places, as random accesses leave it: try MADV_RANDOM. Their order \
             was not seen, nor which code maps it",
            verb(*meanwhile),
            Bytes(*bytes),
            thousands(*places)
        ),
        Some(PlacePattern { shape: Shape::Together, places, bytes, meanwhile }) => format!(
            "what the process {} lies together, {} in {}, as a scan leaves it: read-ahead may be what it needs",
            verb(*meanwhile),
            Bytes(*bytes),
            count(*places, "place", "places")
        ),
        None => format!(
            "not known whether its accesses are random: {}; if they are, try MADV_RANDOM",
            why_no_pattern(view, file)
        ),
    })
}

fn why_no_pattern(view: &ProcessView, file: &MappedFile) -> String {
    match &file.places {
        None => "its page table was not looked at".into(),
        Some(Reading::Unavailable { unavailable }) => unlooked(unavailable),
        Some(Reading::Value(it)) if it.pages == 0 => "nothing of it is mapped yet".into(),
        Some(Reading::Value(it)) => format!(
            "what is mapped of it, {} in {}, {} of them short, is what either leaves",
            Bytes(it.pages.saturating_mul(view.page_bytes)),
            count(it.places, "place", "places"),
            thousands(it.short)
        ),
    }
}

/// What a miss of that file takes; or why that is not known.
pub(crate) fn cost(view: &ProcessView) -> Option<Result<String, String>> {
    let file = view.files.first()?;
    let MissCost { run, window_bytes, window_ns, page_ns } = match file.miss.as_ref()? {
        Reading::Value(it) => it,
        Reading::Unavailable { unavailable } => return Some(Err(format!("in bytes alone: {unavailable}"))),
    };
    let [window, page] = [*window_ns, *page_ns].map(number::duration_glued);
    let counted = match file.cost {
        Some(AdviceCost::Counted { unmapped_bytes }) => {
            let ns = unmapped_bytes as f64 / (*window_bytes).max(1) as f64 * (window_ns - page_ns).max(0.0);
            // Pages that were written came from no device.
            format!("; what came in and is not mapped takes it about {} if it was read", number::duration_glued(ns))
        }
        _ => String::new(),
    };
    let device = file
        .disk
        .as_ref()
        .map_or_else(String::new, |it| format!("; {}", forecast_remark(&ForecastRemark::Device { name: it.clone() })));
    Some(Ok(format!(
        "a miss takes the device {window} with {} of read-ahead and {page} without, by the unit costs of run \
         {}{device}{counted}",
        Bytes(*window_bytes),
        short(run)
    )))
}

/// It is one: nothing was counted.
fn question(view: &ProcessView, file: &MappedFile) -> String {
    let window = file.window_bytes().filter(|it| *it > 0);
    let window = window.map_or_else(String::new, |it| format!(", up to {} at a miss", Bytes(it)));
    let counts = match view.watched {
        None => format!("; `faultline inspect {} --for 5s` counts", view.pid),
        Some(_) => "; of this file that could not be counted".into(),
    };
    format!("A question, and no verdict: read-ahead may bring in pages that are never used{window}{counts}")
}

fn moved(of: Option<&FileMeanwhile>) -> [String; 2] {
    let shown = |it: Option<&Reading<i64, Unlooked>>| match it.and_then(Reading::value) {
        Some(bytes) if *bytes > 0 => Bytes(bytes.unsigned_abs()).to_string(),
        Some(_) => "nothing".into(),
        None => "an unknown part".into(),
    };
    [shown(of.map(|it| &it.cached_more_bytes)), shown(of.map(|it| &it.mapped_more_bytes))]
}

/// `3 s: 240 major and 12 minor faults; 210 MiB from the device, 896 KiB for each major fault`.
pub(crate) fn watched(of: &Watched) -> String {
    let [elapsed, asked] = [of.elapsed_s, of.asked_s].map(seconds);
    let time = match of.ended {
        None => elapsed,
        Some(WatchEnd::Interrupted) => format!("{elapsed} of {asked}, until it was interrupted"),
        Some(WatchEnd::ProcessEnded) => format!("{elapsed} of {asked}, until the process ended"),
    };
    let major = count(of.major_faults, "major fault", "major faults");
    let minor = count(of.minor_faults, "minor fault", "minor faults");
    let device = match &of.reads {
        Reading::Unavailable { unavailable } => {
            format!("bytes from the device are not known: {}", unlooked(unavailable))
        }
        Reading::Value(reads) => {
            let each = match of.device_bytes_per_major_fault {
                Some(each) => format!(", {} for each major fault", size(each)),
                None if reads.read_call_bytes > 0 && reads.device_bytes > 0 => format!(
                    "; {} returned {}",
                    count(reads.read_calls, "read call", "read calls"),
                    Bytes(reads.read_call_bytes)
                ),
                None => String::new(),
            };
            format!("{} from the device{each}", Bytes(reads.device_bytes))
        }
    };
    let children = if of.children_ended { ", with all that children that ended meanwhile ever read" } else { "" };
    format!("{time}: {major}, {minor}; {device}{children}")
}

fn seconds(s: f64) -> String {
    number::seconds(s)
}

/// So many threads are named.
const THREADS: usize = 5;

/// Which threads took them, where there are several: `4712 (reader): 240 major, 12 minor`.
pub(crate) fn threads(of: &Watched) -> Option<String> {
    if of.threads.len() < 2 {
        return None;
    }
    let of_each = |it: &schema::inspection::ThreadFaults| {
        format!("{} ({}) {} major, {} minor", it.tid, it.name, thousands(it.major_faults), thousands(it.minor_faults))
    };
    let mut said: Vec<String> = of.threads.iter().take(THREADS).map(of_each).collect();
    if of.threads.len() > THREADS {
        said.push(format!("{} more", thousands((of.threads.len() - THREADS) as u64)));
    }
    Some(list(&said))
}

/// What changed of the mappings themselves.
pub(crate) fn mappings_changed(of: &Watched) -> Option<String> {
    (of.new_mappings > 0 || of.gone_mappings > 0).then(|| {
        format!(
            "{} new meanwhile, {} gone",
            count(of.new_mappings, "mapping", "mappings"),
            count(of.gone_mappings, "mapping", "mappings")
        )
    })
}
