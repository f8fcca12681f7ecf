//! Where the time of a command went, what of it reading can be at most, and what its memory group held, in words.

use schema::{
    Names, Reading,
    findings::{CellFinding, CommandFinding, CommandTime},
    reason::Reason,
};

use crate::{
    layout::number,
    words::{numbers, reason},
};

/// Shares above this bound nothing worth saying.
const ALL: f64 = 0.98;

/// Whether all of the time may be reading: then there is no bound.
pub(crate) fn is_unbounded(time: &CommandTime) -> bool {
    time.reading_at_most >= ALL
}

/// Of a command that takes so long: user time, time in the kernel, and waiting; nothing where several threads were at work at
/// once, whose times are no parts of it.
pub(crate) fn parts(it: &CommandFinding, ns: f64) -> Option<[f64; 3]> {
    let time = it.time.value()?;
    let waited = *time.waited_share.value()?;
    Some([time.user_share, time.system_share, waited].map(|share| share * ns))
}

/// Where its time went from this start, in one sentence; of a command that was seen to read nothing, without a share of reading.
pub(crate) fn says(
    it: &CommandFinding,
    cell: Option<&CellFinding>,
    names: &Names,
    start: &str,
    is_idle: bool,
) -> String {
    let name = names.short(&it.arm);
    let time = match &it.time {
        Reading::Value(time) => time,
        Reading::Unavailable { unavailable } => return format!("{name}, {start}: {}", reason(unavailable)),
    };
    let [user, system] = [time.user_share, time.system_share].map(numbers::percent);
    let also = match (time.waited_share.value(), time.threads_seen) {
        (Some(&waited), _) => format!(", {} waiting", numbers::percent(waited)),
        (None, true) => format!(" ({} threads at once)", time.threads_at_once),
        (None, false) => " (too short to see how many threads are at work)".to_string(),
    };
    let mut says = format!("{name}, {start}: of its time {user} user, {system} system{also}");
    let device_bytes = cell.and_then(|it| it.device_read_bytes.value()).filter(|&&bytes| bytes > 0.0);
    if let (Some(bytes), Some(busy)) = (device_bytes, time.device_busy_share.value()) {
        let times_over = it.amplification.value().map_or(String::new(), |it| format!(", {it:.2} times the files"));
        says.push_str(&format!(
            "; {} from the device{times_over}, the disk busy {} of it",
            number::bytes_glued(*bytes),
            numbers::percent(*busy)
        ));
    }
    if is_idle {
        return says + "; it was not seen to read or map a named file";
    }
    let by = match time.own_work_of == it.arm {
        true => String::new(),
        false => format!(", by the user time of {}", names.short(&time.own_work_of)),
    };
    let most = numbers::percent_at_most(time.reading_at_most);
    says.push_str(&match time.faster_at_most {
        _ if is_unbounded(time) => "; all of it may be reading".to_string(),
        Some(times) => format!(
            "; reading takes at most {most} of its time{by}: with the same user time, another way of reading makes it at \
             most {} faster",
            numbers::times_at_most(times)
        ),
        None => format!("; reading takes at most {most} of its time{by}, if the user time stays the same"),
    });
    says
}

/// What its memory group held from this start, where it had one.
pub(crate) fn memory(it: &CommandFinding, names: &Names, start: &str) -> Option<String> {
    let known = |reading: &Reading<f64, Reason>| reading.value().map(|&bytes| number::bytes_glued(bytes));
    let files = known(&it.cgroup_file_bytes).map_or(String::new(), |it| format!(", {it} of it pages of files"));
    let peak = known(&it.cgroup_peak_bytes).map_or(String::new(), |it| format!(" at most {it},"));
    Some(format!(
        "{}, {start}: {} were allowed for its processes and their page cache; they used{peak} {} when it ended{files}",
        names.short(&it.arm),
        known(&it.cgroup_limit_bytes)?,
        known(&it.cgroup_memory_bytes)?
    ))
}
