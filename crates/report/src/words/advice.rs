//! What to change about how a program reaches a file, why, and what to know before.

use schema::{
    Consume, Fill, State,
    advice::{
        Advice, AdviceCaveat, AdviceReason, AdviceSelfCheck, AdviceVerdict, CheckedBy, Grade, How, Settles, Switched,
        Unchecked,
    },
    advised::{Advised, OtherReached, Pattern, Reach},
    arm::short,
    estimate::Estimate,
    experiment::ROUNDS_ASKED_MAX,
    record::Resident,
};

use super::{
    numbers::{
        count, in_page_cache, percent, percent_at_least, percent_at_most, size, thousands, times, times_at_least,
        times_at_most,
    },
    reason::reason,
};
use crate::layout::number::{self, part};

/// What effort and grade mean.
pub(crate) const LEGEND: &str = "Effort: E0 a switch that the program has, E1 one hint or another buffer, E2 another call or a mapping, E3 \
                                 restructuring. Grade: A the program's own switch measured, B replayed, C \
                                 replayed, and checked on one side only, or not explained by a rule, or of not all \
                                 accesses. Intervals are 95 %.";

pub fn advice_reason(of: &AdviceReason) -> String {
    match of {
        AdviceReason::BroughtIn { bytes, touched_bytes } => format!(
            "{} came from the device for {} that were touched ({})",
            size(*bytes),
            size(*touched_bytes),
            times(bytes / touched_bytes)
        ),
        AdviceReason::InOrder { share } => format!("{} of the accesses follow each other", percent(*share)),
        AdviceReason::Touched { share } => format!("{} of the file is touched through the mapping", percent(*share)),
        AdviceReason::ManySmall { mappings, median_bytes } => format!(
            "{} made; half of the files have no more than {}",
            count(*mappings, "mapping is", "mappings are"),
            size(*median_bytes as f64)
        ),
        AdviceReason::Populated { touched_share } => {
            format!("the file is brought in in advance, and {} of it is touched", percent(*touched_share))
        }
        AdviceReason::PartPopulated { bytes, file_bytes } => format!(
            "the program asks for {} of {} in advance, and its replay for all of it",
            size(*bytes as f64),
            size(*file_bytes as f64)
        ),
        AdviceReason::PartMapped { bytes, file_bytes } => format!(
            "the program maps {} of {}, and a replay that populates its mapping does that with all of it, so that what populating \
             its own part would gain is not known",
            size(*bytes as f64),
            size(*file_bytes as f64)
        ),
        AdviceReason::MappedByAnother { arm } => format!(
            "what is mapped by one thread is, or may be, touched by another one, and the program has several processes: after fork \
             each has a page table of its own, and the replay of {} has only one",
            short(arm)
        ),
        AdviceReason::Again { times: again, access_bytes } => {
            let times = number::count(again.round());
            format!("it reads {times} times as much as its pages have, in reads of {}", size(*access_bytes))
        }
        AdviceReason::SmallInOrder { access_bytes } => {
            format!("the file is read in order, {} at a time", size(*access_bytes))
        }
        AdviceReason::Seeks { reads, jumps } => format!(
            "{} of {} reads begin elsewhere than where the one before them ended, so the position is set first",
            number::count(*jumps),
            number::count(*reads)
        ),
        AdviceReason::BehindPage { share } => format!(
            "{} of the bytes are copied to a buffer that begins right behind the beginning of a page, where malloc puts blocks of \
             128 KiB and more; some processors copy there several times slower",
            percent(*share)
        ),
        AdviceReason::ReplayAlone => "no rule explains it; the replay is faster".into(),
        AdviceReason::SmallShare { share } => {
            format!("at most {} of the program's time goes to the file", percent_at_most(*share))
        }
        AdviceReason::FromDevice { bytes } => format!(
            "all pages are in memory, and the command still reads {} from the device, which a replay does not: by O_DIRECT, because it \
             evicts them, or of another file",
            size(*bytes)
        ),
        AdviceReason::AllSlower { times: least } => {
            let least = times_at_least(*least);
            format!("a pass of every other method that takes the accesses one by one takes at least {least} as long")
        }
        AdviceReason::BestGains { most, .. } if *most <= 1.0 => {
            "no method is faster that takes the accesses one by one".into()
        }
        AdviceReason::BestGains { arm, most } => {
            format!(
                "the best method that takes the accesses one by one, {}, saves at most {}",
                short(arm),
                percent_at_most(1.0 - 1.0 / most)
            )
        }
        AdviceReason::MoreThanReplayed { arm, share, most } => format!(
            "the replay may be a part of what the program spends on its file: of what was replayed nothing gains, and if that is {} of \
             its time, {} would make it up to {}",
            percent(*share),
            short(arm),
            number::times_faster(*most)
        ),
        AdviceReason::Open { arm, ci_low, ci_high } => format!(
            "with {} the program would be between {ci_low:.2} and {ci_high:.2} times as fast, which leaves it open",
            short(arm)
        ),
        AdviceReason::WithinNoise { arm, ci_low, ci_high, times } => format!(
            "with {} the program would be between {ci_low:.2} and {ci_high:.2} times as fast, and one arm measured twice \
             differs by {times:.2} times here",
            short(arm)
        ),
        AdviceReason::WithinAnyNoise { arm, ci_low, ci_high, times } => format!(
            "with {} the program would be between {ci_low:.2} and {ci_high:.2} times as fast, and there was no time to measure one \
             arm twice, so only a gain of over {times:.1} times counts",
            short(arm)
        ),
        AdviceReason::TooFewRounds { rounds, least } => {
            format!(
                "only {} with all of them; at least {least} decide anything",
                count((*rounds).into(), "round", "rounds")
            )
        }
        AdviceReason::NotMeasured { reason: why } => format!("it was not measured: {}", reason(why)),
        AdviceReason::NotComparable { reason: why } => {
            format!("a replay that may gain is not comparable: {}", reason(why))
        }
        AdviceReason::SelfCheckFailed { off, most } => {
            let more = if *off > 0.0 { "more" } else { "less" };
            // No more than is accepted would be no reason.
            let by = match percent(off.abs()) == percent(*most) {
                true => format!("{:.1} %", 100.0 * off.abs()),
                false => percent(off.abs()),
            };
            format!("the replay is not the program: it takes {by} {more}, and at most {} is accepted", percent(*most))
        }
        AdviceReason::LongerThanProgram { times: longer, threads } => {
            let at_once = match threads {
                0 | 1 => String::new(),
                threads => format!(", which makes its accesses in {} threads", thousands(*threads)),
            };
            format!("the replay is not the program: it takes {} as long as the whole program{at_once}", times(*longer))
        }
        AdviceReason::MoreThanUserTimeLeaves { most, replay } => format!(
            "the replay is not the program: it takes {} of its time, and the program's own user time leaves {} for reading",
            percent(*replay),
            percent(*most)
        ),
        AdviceReason::MappedAgain { mappings, files } => format!(
            "the program makes {} mappings of {}, which costs it calls, page faults and TLB flushes, and a replay maps each \
             file once",
            thousands(*mappings),
            count(*files, "file", "files")
        ),
        AdviceReason::HandedOn { share } => format!(
            "the kernel hands {} of the bytes to another descriptor (sendfile, splice or copy_file_range), so that the program copies \
             none of them; a replay reads them, and another method would have to write them",
            percent(*share)
        ),
        AdviceReason::WritesToCopies => {
            "the program may write to its own copies of pages of a private mapping, which takes it more page faults, and a replay \
             only reads"
                .into()
        }
        AdviceReason::TouchedAgain { arm, times: of_calls } => format!(
            "of each page the first touch is known alone: if the program's own work is to come back to pages, {} may make \
             {} as many calls as its replay",
            short(arm),
            times(*of_calls)
        ),
        AdviceReason::OpenedAgain { arm, opens, files } => format!(
            "the program opens {} {} times and would map as often, and the replay of {} maps each file once",
            count(*files, "file", "files"),
            thousands(*opens),
            short(arm)
        ),
        AdviceReason::SeveralThreads => {
            "the program has several threads, and whether it waits for what one of them reads does not show while all pages are in \
             memory"
                .into()
        }
        AdviceReason::WaitsElsewhere { busy, threads: 0 | 1 } => format!(
            "with all pages in memory the program uses a processor for {} of its time and waits for the rest, and whether it would \
             wait less if it read faster does not show",
            percent(*busy)
        ),
        AdviceReason::WaitsElsewhere { busy, threads } => format!(
            "with all pages in memory {threads} threads of the program read at once, and it uses {busy:.1} processors: some of them \
             wait, and whether they would wait less if they read faster does not show"
        ),
        AdviceReason::NotChecked { why } => format!("the replay was not held against the program: {}", unchecked(why)),
        AdviceReason::DependsOnUse { arm } => format!(
            "whether {} gains depends on how much the program looks at of each access, which a trace does not have",
            short(arm)
        ),
        AdviceReason::PagesUnseen { why } => format!("which pages it touches is not known: {why}"),
        AdviceReason::MixedReach => "the program both reads and maps the file, and a replay does one of the two".into(),
        AdviceReason::Incomplete { coverage } => {
            format!("the trace has only {} of the program's accesses", part(*coverage))
        }
        AdviceReason::Rings { rings } => format!(
            "the program set up {} (io_uring or Linux AIO), and what it reads through them is not seen",
            count(*rings, "ring", "rings")
        ),
        AdviceReason::NotAllSeen { why } => format!("not all that the program does was seen: {why}"),
        AdviceReason::RanOnce => "the program was not held against its replay (--once)".into(),
        AdviceReason::OtherReach => "the program reached the file otherwise than the trace says".into(),
        AdviceReason::Unwatched => {
            "how the program reaches the file could not be watched, so it is not known whether the trace has all that it does".into()
        }
        AdviceReason::TouchesUnwatched => {
            "which pages the program touches now is not watched, and in no state its time shows that the trace is of this run; \
             `faultline advise` without --trace records it itself"
                .into()
        }
        AdviceReason::SwitchAlone => {
            "the program's own switch gains and no replay does: it changes more than how the file is reached".into()
        }
        AdviceReason::SwitchAsGood => {
            "the program's own switch was measured and gains, and is not shown to gain less than a replay of another method".into()
        }
        AdviceReason::SwitchGainsMost => "of the program's own switches that were measured, this one gains most".into(),
        AdviceReason::SwitchMeasured => {
            "the program's own switch was measured and gains; what a replay would gain is not known".into()
        }
        AdviceReason::SwitchContradicts { arm, predicted, real } => format!(
            "the replay of {} says {}, and the program's own switch to it makes it {}",
            short(arm),
            number::times_faster(*predicted),
            number::times_faster(*real)
        ),
        AdviceReason::SwitchOpen { arm, predicted, ci_low, ci_high } => format!(
            "the replay of {} says {}, and the program's own switch to it makes it between {ci_low:.2} and {ci_high:.2} times \
             as fast, which leaves it open",
            short(arm),
            number::times_faster(*predicted),
        ),
    }
}

/// Twice as many, and no more than --rounds takes.
pub(crate) fn rounds_to_try(made: u32) -> String {
    match made < ROUNDS_ASKED_MAX {
        true => format!("try --rounds {}", made.max(1).saturating_mul(2).min(ROUNDS_ASKED_MAX)),
        false => "--rounds takes no more".into(),
    }
}

pub fn settles(of: Settles) -> String {
    let says = match of {
        Settles::MoreRounds { made } => {
            return format!("more rounds may decide it: {}", rounds_to_try(made));
        }
        Settles::LargerBudget { seconds: Some(seconds) } => {
            return format!("a larger --budget may decide it: try --budget {seconds}s");
        }
        Settles::LargerBudget { seconds: None } => "a larger --budget may decide it",
        Settles::Switch => "if the program has a switch for it, --switch measures it",
        Settles::SwitchMeasured => "what its own switch gains is measured, and of other methods nothing is known",
        Settles::WithoutOnce => "without --once the program is run and held against the replay",
        Settles::ExactRecording => {
            "a recording with every page seen would show it: try a file of your own, a larger --exact-budget (of a trace: of trace \
             record)"
        }
        Settles::Anew => "a recording of this very run would show it: `faultline advise` without --trace makes one",
        Settles::Reason => "it can be tried again when that is out of the way",
    };
    says.into()
}

pub fn unchecked(of: &Unchecked) -> &'static str {
    match of {
        Unchecked::NeedsBothStates => "what the file costs is what the program takes longer than cached",
        Unchecked::NoColdTime => "the program takes no longer than cached",
        Unchecked::TooCoarse => "the program has less system time than clock ticks show",
        Unchecked::NoReading => "what it would be compared by was not counted",
    }
}

/// Before a command line.
pub(crate) const RUN_AS: &str = "run it as: ";

/// The line to write, or the switch to set.
pub fn how(of: &How) -> String {
    match of {
        How::Switch { line } => format!("{RUN_AS}{line}"),
        How::MadviseRandom => "after mmap: madvise(map, length, MADV_RANDOM)".into(),
        How::MadviseSequential => "after mmap: madvise(map, length, MADV_SEQUENTIAL)".into(),
        How::MadviseWillNeed => "after mmap: madvise(map, length, MADV_WILLNEED)".into(),
        How::Populate => "after mmap: madvise(map, length, MADV_POPULATE_READ)".into(),
        How::PlainMapping => "map it without MAP_POPULATE and without advice".into(),
        How::Pread => "pread(descriptor, buffer, length, offset) instead".into(),
        How::ReadWhole => {
            "read the whole file into a buffer that is used again: read(descriptor, buffer, length)".into()
        }
        How::Mapping => "mmap(NULL, length, PROT_READ, MAP_SHARED, descriptor, 0), and read in place".into(),
        How::FadviseRandom => "after open: posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM)".into(),
        How::FadviseSequential => "after open: posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL)".into(),
        How::LargerBuffer { kib } => {
            let bytes = u64::from(*kib) << 10;
            // Without a buffer of one's own glibc ignores the size (setvbuf(3)): as many reads were made as before. Two streams with one
            // buffer read wrong bytes.
            format!(
                "read {kib} KiB at a time into a buffer that begins at a page; with stdio, after fopen and of each stream: \
                 setvbuf(file, aligned_alloc(4096, {bytes}), _IOFBF, {bytes})"
            )
        }
        How::PageBuffer => {
            "begin the buffer at a page: aligned_alloc(4096, length), the length a multiple of 4096, instead of malloc(length)"
                .into()
        }
        How::PlainReads => "leave posix_fadvise and readahead out".into(),
        How::InFlight { depth } => format!("keep up to {depth} reads in flight, with io_uring or threads"),
        How::Direct => "open it with O_DIRECT, with aligned buffers and a cache of your own".into(),
        How::NoPopulate => "without MAP_POPULATE or MADV_POPULATE_READ".into(),
        How::NoOrder => "without the advice of an order that it gives now (RANDOM, SEQUENTIAL)".into(),
        How::NoWillNeed => "without asking for the bytes in advance (WILLNEED, readahead)".into(),
        How::NoDirect => "open it without O_DIRECT".into(),
        How::All(changes) => changes.iter().map(how).collect::<Vec<String>>().join("; "),
        How::AsTheArm => "as the arm does it".into(),
    }
}

pub fn advice_caveat(of: &AdviceCaveat) -> String {
    match of {
        AdviceCaveat::TowardsMapping => {
            "a mapping: SIGBUS where the file is truncated or cannot be read, a larger resident \
                                         set, TLB shootdowns with threads, and nothing is asynchronous"
                .into()
        }
        AdviceCaveat::TowardsCalls => {
            "reading by calls: one more copy, what lies across the end of a buffer has to be moved, and no pages are shared with \
             other processes"
                .into()
        }
        AdviceCaveat::ThisMachine => "valid for this machine, its kernel and this data".into(),
        AdviceCaveat::WholePages => {
            "of a mapping the first touch of each page is known, and neither what it looked at within \
                                     it nor how often"
                .into()
        }
        AdviceCaveat::OneSidedCheck => {
            "the program's own time for its file cannot be told from the rest; the replay claims no \
                                        more than the program spends"
                .into()
        }
        AdviceCaveat::Incomplete { coverage } => format!("the trace has {} of the accesses", part(*coverage)),
        AdviceCaveat::SwitchApart => {
            "the program's own switch gains more or less than predicted, so the program waits for its \
                                      file otherwise than a replay does, and what other replays say is less certain"
                .into()
        }
        AdviceCaveat::Withheld { arm } => format!(
            "the replay of {} gains, too, but each time that the program comes back to a page would be a call: --switch measures it",
            short(arm)
        ),
        AdviceCaveat::TouchedWhole { files } => format!(
            "of {} of less than 1 MiB that are mapped, it is assumed that every page is touched",
            count(*files, "file", "files")
        ),
        AdviceCaveat::OpenedAgain { opens, files } => format!(
            "the program opens {} {} times, and the replay opens each once",
            count(*files, "file", "files"),
            thousands(*opens)
        ),
        AdviceCaveat::OtherFile { path, bytes } => format!(
            "the switch also reaches {} of {path}, which was in the page cache: from a cold start of that file it may gain less",
            size(*bytes as f64)
        ),
        AdviceCaveat::Threads { threads, replayed: 0 | 1 } => {
            format!("{} threads reach the file and are alive at once, and the replay has one", thousands(*threads))
        }
        AdviceCaveat::Threads { threads, replayed } => format!(
            "{} the file and {} alive at once, and the replay has {replayed}, each with accesses that threads of the program made \
             while it was recorded",
            count(*threads, "thread reaches", "threads reach"),
            if *threads == 1 { "is" } else { "are" }
        ),
        AdviceCaveat::MoreWaits { share, slower } => format!(
            "of 100 accesses, it waits for the device at {:.0} more than now, and own work takes longer after a wait, which a \
             replay does not show: the low end of the interval allows for {slower:.0} times its time more",
            (100.0 * share).max(1.0)
        ),
    }
}

/// The verdict as a label.
pub(crate) fn verdict(of: AdviceVerdict) -> &'static str {
    match of {
        AdviceVerdict::Switch => "switch",
        AdviceVerdict::NoDifference => "keep",
        AdviceVerdict::Unknown => "don't know",
    }
}

/// `80 ms, 94 % of it reaching the file: other methods for the same accesses make the program at most 16x faster`; `fill found: 5 ms`; `41 % of it in the
/// page cache: 107 ms`
pub(crate) fn start(of: &Advice, found: Option<Resident>) -> String {
    let begins = match (of.state, of.fill, found) {
        (State::AsFound, _, Some(found)) => in_page_cache(found.share()),
        (_, Some(fill), _) if fill != Fill::Sequential => format!("fill {fill}"),
        _ => return from_start(of),
    };
    format!("{begins}: {}", from_start(of))
}

/// Shares that differ by less are shown as one.
const SEEN_APART: f64 = 0.01;
/// An end of an interval that is so many times its middle says more than the middle.
const FAR: f64 = 1.5;
/// A replay that is so much more than what it is held against.
const MANY_TIMES: f64 = 10.0;
/// A share that leaves hardly anything.
const ABOUT_ALL: f64 = 0.9;

fn from_start(of: &Advice) -> String {
    let Some(program) = of.program_ns else {
        return match of.io_ns {
            Some(io) => format!("a replay of its accesses takes {}", number::duration_glued(io.median)),
            None => "too little was measured".into(),
        };
    };
    let time = number::duration_glued(program.median);
    match (of.share, of.faster_at_most) {
        (Some(share), Some(most)) => {
            let (replayed, at_most) = (percent(share.median.min(1.0)), 1.0 - 1.0 / most);
            // The replay of what was checked from one side may be a part of it.
            let share = match at_most > share.ci_high + SEEN_APART {
                true => format!("{replayed} to {}", percent_at_most(at_most)),
                false => replayed,
            };
            format!(
                "{time}, {share} of it reaching the file: other methods for the same accesses make the program at most {} faster",
                times_at_most(most)
            )
        }
        (Some(share), None) if share.median > ABOUT_ALL => format!("{time}, about all of it reaching the file"),
        (Some(share), None) if share.ci_low < 0.001 => format!("{time}, how much of it reaches the file is not known"),
        (Some(share), None) => format!("{time}, {} of it or more reaching the file", percent_at_least(share.ci_low)),
        (None, _) => time,
    }
}

/// What an arm gains: `I/O 78 ms -> 29 ms, program 80 ms -> 31 ms [28, 36], effort E1, grade B`; `program 41 ms -> at most 38 ms`
/// where more may be gained than a replay shows. `most`: by the replays that speak most for it. What was measured has grade A.
pub(crate) fn gain(
    of: &Advice,
    grade: Option<Grade>,
    io_ns: Option<Estimate>,
    io: &Estimate,
    program: &Estimate,
    most: Option<&Estimate>,
) -> String {
    let after = |now: Option<Estimate>, ratio: &Estimate| {
        let now = now?.median;
        let after = Estimate { median: now / ratio.median, ci_low: now / ratio.ci_high, ci_high: now / ratio.ci_low };
        Some((number::duration_glued(now), after))
    };
    let of_io = after(io_ns, io).map(|(now, after)| format!("I/O {now} -> {}", number::duration_glued(after.median)));
    let most = most.and_then(|most| after(of.program_ns, most)).map(|it| it.1);
    let of_program = |least: Estimate| match (of.at_least && grade != Some(Grade::A), most) {
        (true, _) => format!("at most {}", number::duration_glued(least.ci_high)),
        (false, None) => number::duration_interval(&least),
        (false, Some(most)) => {
            let all = Estimate { ci_low: most.ci_low.min(least.ci_low), ..least };
            let from = number::duration_glued(most.median);
            match all.ci_high > FAR * least.median {
                // What such a program may wait for memory is more than its replays differ by, or there are few rounds.
                true => {
                    let [low, high] = [all.ci_low, all.ci_high].map(number::duration_glued);
                    format!("{low} to {high}")
                }
                false => format!("{from} to {} by how much it looks at", number::duration_interval(&all)),
            }
        }
    };
    let of_program =
        after(of.program_ns, program).map(|(now, after)| format!("program {now} -> {}", of_program(after)));
    [of_io, of_program].into_iter().flatten().collect::<Vec<String>>().join(", ")
}

pub(crate) fn looks_at(consume: Consume) -> &'static str {
    match consume {
        Consume::Touch => "looking at one byte of each page",
        _ => "looking at all bytes",
    }
}

/// A switch of the program's, and how it compares with what was predicted, `in_part` by a replay that is a part of what the
/// program spends on its file.
pub(crate) fn switched(of: &Switched, in_part: bool) -> String {
    let why = of.reason.as_ref().map(|it| format!(" ({})", reason(it))).unwrap_or_default();
    let Some(time) = of.ns.map(|it| number::duration_interval(&it)) else { return format!("not measured{why}") };
    let predicted = match (&of.like, &of.predicted) {
        (Some(like), Some(gain)) => {
            let most = of.predicted_at_most.as_ref().map(number::speedup_glued);
            let most = most.map(|it| format!(" to {it} by how much it looks at")).unwrap_or_default();
            let part = if in_part { ", for less than half of what it spends on the file" } else { "" };
            format!("predicted {}{most} ({}{part})", number::speedup_glued(gain), short(like))
        }
        (Some(like), None) => format!("not predicted, though {} reaches the file as it was seen to", short(like)),
        (None, _) => "not predicted, because no arm reaches the file as it was seen to".into(),
    };
    let real = match of.real {
        Some(gain) => format!("real {}", number::speedup_glued(&gain)),
        None => "real undecided".into(),
    };
    format!("{time}; gain {predicted}, {real}{why}")
}

/// By what share the two may differ and still be said to.
const CLOSE: f64 = 0.15;

/// How far the replay is the program.
pub(crate) fn self_check(of: &AdviceSelfCheck) -> String {
    let by = match of.by {
        CheckedBy::ColdLessCached => "what it takes longer than cached",
        CheckedBy::Waits => "what it waits longer than cached (its own work takes longer, too)",
        CheckedBy::SystemTime => "system time",
        CheckedBy::CpuTime => "CPU time",
        CheckedBy::Faults => "page faults",
        CheckedBy::Time => "time",
    };
    // What is read ahead comes in while the program works.
    let replay = match of.own_work_ns {
        0 => "replay against program".into(),
        ns => format!(
            "replay, with {} of own work between its accesses, against program",
            number::duration_glued(ns as f64)
        ),
    };
    match (of.off, &of.why) {
        (_, Some(why)) => format!("{replay}: not compared, {}", unchecked(why)),
        (Some(off), None) if of.by.is_one_sided() && of.passed => {
            let ticks =
                if off > 0.0 && of.by == CheckedBy::SystemTime { ", as far as clock ticks show it" } else { "" };
            format!("{replay}, {by}: {} of the program's{ticks}", percent(1.0 + off))
        }
        // A program that the device costs next to nothing.
        (off, None) if of.passed && off.is_none_or(|it| it.abs() > CLOSE) => {
            let [program, own] = [of.program, of.replay].map(|it| number::duration_glued(it.unwrap_or(0.0).max(0.0)));
            format!("{replay}, {by}: {own} and {program}, which is hardly any of its time")
        }
        (Some(off), None) => {
            let more = if off > 0.0 { "more" } else { "less" };
            match off > MANY_TIMES {
                true => format!("{replay}, {by}: over ten times as much"),
                false => format!("{replay}, {by}: {} {more}", percent(off.abs())),
            }
        }
        (None, None) => format!("{replay}: not compared"),
    }
}

/// What matters: a file, or how many below which folder.
pub(crate) fn file(of: &Advised) -> String {
    match &of.group {
        None => of.file.clone(),
        Some(group) => format!("{} below {}", count(group.files, "file", "files"), of.file),
    }
}

/// What the command does to the file.
pub(crate) fn pattern(of: &Advised) -> String {
    let it = &of.pattern;
    let order = match it.in_order_share() {
        _ if it.accesses < 2 => "",
        // Of what counts as touched whole no order was recorded.
        _ if of.group.as_ref().is_some_and(|it| it.touched_whole > 0) => "",
        share if share > Pattern::IN_ORDER => " in order",
        share if share < Pattern::ANYWHERE => " not one after the other",
        _ => " partly in order",
    };
    let is_part = matches!(of.reach, Reach::UnseenMapping { .. }) || of.coverage < 1.0 || !of.not_seen.is_empty();
    // What counts as touched whole is the most, and what was not seen makes it the least: together they bound nothing.
    let is_most = of.group.as_ref().is_some_and(|it| it.touched_whole > 0);
    let bound = match (is_most, is_part) {
        (true, false) => "at most ",
        (false, true) => "at least ",
        (true, true) => "about ",
        (false, false) => "",
    };
    let reach = match &of.reach {
        Reach::Calls => format!("{}{order}", count(it.accesses, "read", "reads")),
        Reach::Mapping => {
            let of_pages = if is_most { bound } else { "" };
            format!("mapped, {of_pages}{} touched{order}", count(it.distinct_pages, "page", "pages"))
        }
        Reach::UnseenMapping { .. } => "mapped, not all pages seen".into(),
        Reach::Both => {
            format!("mapped and read, {}", count(it.accesses, "read or touched page", "reads and touched pages"))
        }
    };
    format!("{}, {reach}; {bound}{} reached", size(it.file_bytes as f64), size(it.touched_bytes()))
}

pub(crate) fn other(of: &OtherReached, all_bytes: Option<u64>) -> String {
    let share = |all: u64| format!(" ({} of all that is read or mapped)", percent(of.bytes as f64 / all.max(1) as f64));
    let of_bytes = match of.mapped_bytes {
        mapped if mapped > of.bytes / 2 => {
            format!(" ({} mapped, of which it was not recorded how much is touched)", size(mapped as f64))
        }
        _ => all_bytes.map_or_else(String::new, share),
    };
    format!("{}{of_bytes}", of.path)
}

/// Behind an option.
pub(crate) fn grade(of: Grade) -> &'static str {
    match of {
        Grade::A => "A",
        Grade::B => "B",
        Grade::C => "C",
        Grade::D => "D",
    }
}
