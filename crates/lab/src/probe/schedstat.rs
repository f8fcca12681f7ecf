//! What the scheduler did to the worker: time on a processor, time ready to run and kept waiting, and how often it was put
//! on one; all its threads. What waiting there was is the difference between a slow method and a crowded machine.

use std::{collections::BTreeMap, fs, io, path::Path};

use sys::held;

use super::{
    ProbeKind,
    twice::{Twice, rise},
};

const READINGS: &[&str] = &["run_ns", "run_wait_ns", "run_slices"];

pub(super) const KIND: ProbeKind = ProbeKind {
    name: "schedstat",
    about: "time on a processor and time waiting for one, of the worker's threads, from /proc/PID/schedstat",
    readings: READINGS,
    make: |_| Box::new(Twice::new(READINGS, between, look)),
};

fn look(pid: u32) -> Result<String, String> {
    of_threads(pid, "schedstat", "CONFIG_SCHED_INFO", |text| Some(text.trim().to_string()))
}

/// A line for each thread: its number, then the numbers that are picked out of its file.
pub(super) fn of_threads(
    pid: u32,
    file: &str,
    needs: &str,
    pick: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let folder = format!("/proc/{pid}/task");
    let described = |error: io::Error| format!("{folder}/*/{file}: {error}");
    let mut all = String::new();
    for entry in fs::read_dir(&folder).map_err(described)? {
        let thread = entry.map_err(described)?.path();
        let text = fs::read_to_string(thread.join(file)).map_err(|error| not_read(&thread, file, needs, &error))?;
        let numbers = pick(&text).ok_or_else(|| format!("{folder}/*/{file} has another format in this kernel"))?;
        let number = thread.file_name().unwrap_or_default().to_string_lossy();
        all.extend([&*number, " ", &numbers, "\n"]);
    }
    Ok(all)
}

fn not_read(thread: &Path, file: &str, needs: &str, error: &io::Error) -> String {
    let path = thread.join(file);
    match error.kind() {
        _ if held::has_ended(error) && !thread.exists() => "a thread ended meanwhile, so its time is missing".into(),
        io::ErrorKind::NotFound => format!("{}: {error}; it needs a kernel with {needs}", path.display()),
        _ => format!("{}: {error}", path.display()),
    }
}

fn between(before: &str, after: &str, reading: &str) -> Result<f64, String> {
    let at = READINGS.iter().position(|it| *it == reading).ok_or("no such reading")?;
    sum(before, after, at)
}

/// By how much one of the numbers went up, all threads together.
pub(super) fn sum(before: &str, after: &str, at: usize) -> Result<f64, String> {
    let threads = |text| threads(text).ok_or_else(|| "its format is unknown".to_string());
    let (before, after) = (threads(before)?, threads(after)?);
    if !before.keys().eq(after.keys()) {
        return Err("threads started or ended meanwhile, so their times are missing".into());
    }
    let number = |of: &[u64]| of.get(at).copied().ok_or_else(|| "its format is unknown".to_string());
    after.iter().map(|(thread, now)| rise(number(&before[thread])?, number(now)?)).sum()
}

fn threads(text: &str) -> Option<BTreeMap<u64, Vec<u64>>> {
    let line = |line: &str| {
        let mut numbers = line.split_whitespace().map(|it| it.parse().ok());
        Some((numbers.next()??, numbers.collect::<Option<Vec<u64>>>()?))
    };
    text.lines().map(line).collect::<Option<BTreeMap<_, _>>>().filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_threads_are_summed_as_long_as_they_are_the_same() {
        let (before, after) = ("7 100 10 1\n8 200 20 2\n", "8 260 25 4\n7 140 10 2\n");
        let all = READINGS.iter().map(|it| between(before, after, it)).collect::<Vec<_>>();
        assert_eq!(all, [Ok(100.0), Ok(5.0), Ok(3.0)]);
        assert!(between(before, "7 140 10 2\n", "run_ns").unwrap_err().contains("threads"));
    }

    #[test]
    fn a_process_sees_its_own_threads() {
        match look(std::process::id()) {
            Ok(text) => assert!(threads(&text).is_some_and(|it| !it.is_empty()), "{text}"),
            Err(reason) => println!("skipped: {reason}"),
        }
    }

    #[test]
    fn a_thread_that_ends_is_no_lack_of_the_kernel() {
        let absent = io::Error::from(io::ErrorKind::NotFound);
        let why = |thread: &str| not_read(Path::new(thread), "schedstat", "CONFIG_SCHED_INFO", &absent);
        assert!(why("/proc/self").contains("CONFIG_SCHED_INFO"));
        assert!(!why("/proc/self/task/0").contains("CONFIG_SCHED_INFO"));
    }

    proptest! {
        #[test]
        fn other_texts_are_a_reason_and_never_a_panic(a in "(7( [0-9]{0,25}){0,4}\n|.{0,20}\n){0,3}", b in ".{0,40}") {
            for reading in READINGS {
                let _ = between(&a, &a, reading);
                let _ = between(&a, &b, reading);
            }
        }
    }
}
