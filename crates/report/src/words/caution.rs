//! What to know beside a comparison that stands.

use schema::caution::Caution;

use super::{
    numbers::{amounts, count, percent, percent_at_most, size, thousands, times},
    reason::{inconsistent, reason},
    warning::fork_groups,
};

pub fn caution(caution: &Caution) -> String {
    match caution {
        Caution::Descriptors { arms: [first, second], descriptors: [a, b] } => {
            format!("the threads divide the file differently: {first} {a}, {second} {b}")
        }
        Caution::LittleFromDevice { share } if *share < 0.01 => format!(
            "cold, but {} came from the device for either arm: the file is a hole, or a cache below the page cache \
             held it",
            if *share == 0.0 { "no byte" } else { "next to nothing" }
        ),
        Caution::LittleFromDevice { share } => format!(
            "cold, but at most {} of the covered bytes came from the device: the rest is a hole, is compressed, or was \
             in a cache below the page cache",
            percent_at_most(*share)
        ),
        Caution::UnseenDevice { arm, reason: why } => {
            let of = arm.as_ref().map_or_else(|| "either".to_string(), |arm| format!("the {arm}"));
            let why = why.as_ref().map(|why| format!(", so equal work cannot be checked there: {}", reason(why)));
            let why = why.unwrap_or_default();
            format!("cold, but it is unknown how many bytes of {of} arm came from the device{why}")
        }
        Caution::UnseenOnDevice { arm, reason: why } => {
            let of = arm.as_ref().map_or_else(|| "either".to_string(), |arm| format!("the {arm}"));
            let why = why.as_ref().map(|why| format!(": {}", reason(why))).unwrap_or_default();
            format!(
                "it is unknown how many of the bytes that {of} arm wrote were on the device when its passes ended{why}"
            )
        }
        Caution::LittleOnDevice { share } => format!(
            "at most {} of the bytes that either arm wrote were on the device when its passes ended, although both were to \
             sync them: the device or its file system compresses them, or keeps them elsewhere",
            percent_at_most(*share)
        ),
        Caution::Amplified { arm, device_bytes, reached_bytes } => format!(
            "{arm} read {} from the device for {} that it reached: {:.0} times as much",
            size(*device_bytes),
            size(*reached_bytes),
            device_bytes / reached_bytes
        ),
        Caution::LessThanAsked { bytes, asked_bytes } => {
            let [bytes, asked] = amounts(*bytes, *asked_bytes);
            format!("both arms consumed {bytes} instead of the {asked} of the experiment")
        }
        Caution::SmallRange { of_file, range_bytes, whole_bytes, would_bytes, reached_bytes } => {
            let (range, whole) = (*range_bytes as f64, *whole_bytes as f64);
            format!(
                "both arms reach only {} of the {} ({} of {}): as many offsets over the whole would have reached {}, \
                 these reached {}",
                percent(range / whole),
                file_or_range(*of_file),
                size(range),
                size(whole),
                size(*would_bytes),
                size(*reached_bytes)
            )
        }
        Caution::NotUniform { of_file, reached_bytes, whole_bytes, would_bytes } => format!(
            "both arms reach only {} of the {} ({} of {}), where as many uniform offsets would have reached {}: these \
             offsets are not uniform",
            percent(reached_bytes / *whole_bytes as f64),
            file_or_range(*of_file),
            size(*reached_bytes),
            size(*whole_bytes as f64),
            size(*would_bytes)
        ),
        Caution::QueueDepths { arms: [first, second], depths } => in_flight([first, second], *depths),
        Caution::ReadFromDevice { arm, state, bytes, share } => format!(
            "{arm}: {} were read from the device during passes that start {state}, {} of what they cover",
            size(*bytes),
            percent(*share)
        ),
        Caution::HeldOpen { arm, state } => format!(
            "{arm}: the file was held open in passes that start {state}, so its pages may have been in the page table \
             already"
        ),
        Caution::PagesFaulted { arm, state, faults, pages } => format!(
            "{arm}: {} in passes over {} that start {state}: pages left the page table during the pass, or were not in \
             it before",
            count(faults.round() as u64, "minor fault", "minor faults"),
            count(pages.round() as u64, "page", "pages")
        ),
        Caution::Inconsistent { arm, what } => format!("{arm}: {}", inconsistent(what)),
        Caution::ForksDisagree(groups) => format!("{}; Runtimes lists both groups", fork_groups(groups)),
        Caution::JobFailed { pairs, least, invalid } => {
            let why = invalid.as_ref().map_or(String::new(), |it| format!(": {it}"));
            format!("at the size of the job {pairs} of {least} pairs of passes counted, which say nothing{why}")
        }
        Caution::JobUnequal(why) => format!("at the size of the job {}", reason(why)),
        Caution::JobDecides { blocks, rounds, job_blocks, job } => {
            let before = rounds.map_or_else(|| "nothing".to_string(), times);
            format!(
                "passes of {} gave {before}; passes at the size of the job, {} blocks, give {}",
                count(*blocks, "block", "blocks"),
                thousands(*job_blocks),
                times(*job)
            )
        }
    }
}

fn file_or_range(of_file: bool) -> &'static str {
    if of_file { "file" } else { "range" }
}

/// `uring keeps 32 reads in flight, pread one`
fn in_flight([first, second]: [&str; 2], [a, b]: [u32; 2]) -> String {
    let number = |depth: u32| if depth <= 1 { "one".to_string() } else { thousands(depth.into()) };
    let reads = |depth: u32| format!("{} {}", number(depth), if depth <= 1 { "read" } else { "reads" });
    if a >= b {
        format!("{first} keeps {} in flight, {second} {}", reads(a), number(b))
    } else {
        format!("{second} keeps {} in flight, {first} {}", reads(b), number(a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deeper_queue_is_named_first() {
        assert_eq!(in_flight(["pread", "uring"], [1, 32]), "uring keeps 32 reads in flight, pread one");
        assert_eq!(in_flight(["uring", "pread"], [32, 1]), "uring keeps 32 reads in flight, pread one");
    }
}
