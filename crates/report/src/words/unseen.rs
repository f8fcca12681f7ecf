//! Why nothing was seen.

use schema::reason::Unseen;

use crate::layout::number;

pub(super) fn unseen(why: &Unseen) -> String {
    match why {
        Unseen::NoValidPass => "no valid pass",
        Unseen::NotObserved => "not observed in this run",
        Unseen::InvalidPass(reason) => return format!("the counted pass is invalid: {reason}"),
        Unseen::NotBytes(value) => return format!("{value} is not a number of bytes"),
        Unseen::NoBytes => "the pass delivered no bytes",
        Unseen::NoFault => "the pass took no fault",
        Unseen::NothingFromDevice => "nothing came from the device",
        Unseen::PagesNotCounted => {
            "the pages that the passes reached were not counted: an older version wrote the record, or the arm is a \
             command"
        }
        Unseen::MapsNothing => "the arm reaches no page of the file by a fault",
        Unseen::MappedBefore => "every page is in the page table before the pass: its few faults are on other memory",
        Unseen::MappingsOfThreads => {
            "each thread has a mapping of its own: a page that comes into several of them counts once, and faults in each"
        }
        Unseen::StoresFault => "the first store to a page after it was read or written back is a fault of its own",
        Unseen::HolesFault => {
            "the file has holes, or is compressed, and a page of a hole has a major fault that waits for no device"
        }
        Unseen::FaultedAgain => {
            "pages stay mapped from the passes before, and those that memory has no room for are reached again, by another fault"
        },
        Unseen::KernelPopulates => {
            "the kernel populates the mapping, and the faults that it makes for that are not counted in such a pass"
        }
        Unseen::NoCeiling => {
            "it is known of cold scans, and of cold random reads of 4 KiB of one page each, where the device was read and \
             its ceiling could be measured"
        }
        Unseen::LowCeiling { arm, label } => {
            return format!("{arm} exceeded the ceiling that was measured ({label}), so it is none");
        }
        Unseen::OtherState => "known only where pages are missing in the page cache",
        Unseen::NoCpuTime => "the processor time of the command is unknown",
        Unseen::FewTicks { cpu_ns, tick_ns, threads } => {
            return few_ticks([*cpu_ns; 2], *tick_ns, *threads);
        }
        Unseen::SeveralThreads => "while one thread waits, others may work",
        Unseen::FewBeats => "there were fewer than 100 deadlines, of a quantile in each pass, of the stalled share in all together",
        Unseen::NoDiskCounters => "the disk's counters cannot be read",
    }
    .into()
}

/// Of cells whose passes take from the least to the most of these.
pub(crate) fn few_ticks([least_ns, most_ns]: [u64; 2], tick_ns: u64, threads: u32) -> String {
    let tick = number::duration(tick_ns as f64);
    // A runtime's own clock may have seen nothing of a pass that did compute.
    let [least, most] = [least_ns, most_ns].map(|it| match it {
        0 => format!("less than {tick}"),
        _ => number::duration(it as f64),
    });
    let cpu = if least == most { least } else { format!("{least} to {most}") };
    let of_each = if threads > 1 { format!(" in {threads} threads") } else { String::new() };
    format!("a pass takes {cpu} of CPU time{of_each}, and ticks of {tick} do not show how that divides")
}
