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
    fn lists_of_processors_are_read_as_the_kernel_writes_them() {
        assert_eq!(listed("0-3,8"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(listed("0"), Some(vec![0]));
        for wrong in ["", "3-1", "0-99999999999", "a", "0-"] {
            assert_eq!(listed(wrong), None, "{wrong:?}");
        }
    }
}
