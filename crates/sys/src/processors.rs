//! The processors of the machine, whichever of them this process may use.

/// Those that are online, by number.
///
/// # Errors
/// The kernel does not list them.
pub fn online() -> Result<Vec<usize>, String> {
    const PATH: &str = "/sys/devices/system/cpu/online";
    let text = std::fs::read_to_string(PATH).map_err(|error| format!("{PATH}: {error}"))?;
    listed(text.trim()).ok_or_else(|| format!("{PATH} cannot be parsed: {:?}", text.trim()))
}

/// How many of them this process may use at the same time. That a cgroup may give it less time of them (cpu.max) is no part of
/// that, which is why it is not the number of `std::thread::available_parallelism`: two threads run side by side on a quota of one
/// and a half.
pub fn allowed() -> u32 {
    let by_affinity = rustix::thread::sched_getaffinity(None).ok().map(|it| it.count()).filter(|it| *it > 0);
    // More than a mask has room for.
    by_affinity.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |it| it.get() as u32))
}

/// `0-3,8` as the kernel writes it.
fn listed(list: &str) -> Option<Vec<usize>> {
    const PROCESSORS_MAX: usize = 1 << 16;
    let mut processors = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= PROCESSORS_MAX {
            return None;
        }
        processors.extend(first..=last);
    }
    Some(processors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_allowed_as_the_kernel_lists_for_this_process() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        assert!(allowed() as usize <= listed(list.trim()).unwrap().len() && allowed() > 0);
    }

    #[test]
    fn lists_of_processors_are_read_as_the_kernel_writes_them() {
        assert_eq!(listed("0-3,8"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(listed("0"), Some(vec![0]));
        for wrong in ["", "3-1", "0-99999999999", "a", "0-"] {
            assert_eq!(listed(wrong), None, "{wrong:?}");
        }
    }
}
