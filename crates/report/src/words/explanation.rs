//! Why two arms differ, by what was counted.

use schema::{
    explanation::{ArmCosts, Count, Explanation},
    unit_cost::{CostComponent, Quantity},
};

use super::numbers::{count, percent, product, rough_size, size, time, times};

pub fn explanation(of: &Explanation) -> String {
    match of {
        Explanation::Counts { arms: [first, second], counts: [a, b] } => {
            format!("{first}: {}; {second}: {}", counts(a), counts(b))
        }
        Explanation::Alike { arms: [first, second], counts: a } => {
            format!("the counts of {first} and {second} differ by less than a quarter; of {first}: {}", counts(a))
        }
        Explanation::Costs { arms: [a, b], decided } => {
            format!("{}; {}; {}", costs(a), costs(b), accounted(a, b, *decided))
        }
    }
}

fn counts(of: &[Count]) -> String {
    of.iter().map(counted).collect::<Vec<String>>().join(", ")
}

fn counted(of: &Count) -> String {
    match *of {
        // Roughly: the counter holds the odd message to the process too.
        Count::ReadCalls { calls, bytes: Some(bytes) } if calls >= 0.5 => {
            format!("{} for {}", whole(calls, "read call", "read calls"), rough_size(bytes))
        }
        Count::ReadCalls { calls, .. } => whole(calls, "read call", "read calls"),
        Count::WriteCalls(calls) => whole(calls, "write call", "write calls"),
        Count::ToDevice { bytes } if bytes > 0.0 => format!("{} to the device", size(bytes)),
        Count::ToDevice { .. } => "nothing to the device".into(),
        Count::Flushes(flushes) => whole(flushes, "flush", "flushes"),
        Count::MinorFaults { faults, bytes_each } => {
            let each = bytes_each.map(|bytes| format!(" of {}", rough_size(bytes)));
            whole(faults, "minor fault", "minor faults") + &each.unwrap_or_default()
        }
        Count::MajorFaults(faults) => whole(faults, "major fault", "major faults"),
        Count::FromDevice { bytes, .. } if bytes <= 0.0 => "nothing from the device".into(),
        Count::FromDevice { bytes, times_reached, ceiling_share } => {
            let reached = times_reached.map(|it| format!("{} what it reached", times(it)));
            let ceiling = ceiling_share.map(|it| format!("at {} of the ceiling", percent(it)));
            let remarks: Vec<String> = reached.into_iter().chain(ceiling).collect();
            let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) };
            format!("{} from the device{remarks}", size(bytes))
        }
        Count::SystemShare(share) => format!("{} of its CPU time in the kernel", percent(share)),
    }
}

fn whole(number: f64, one: &str, many: &str) -> String {
    count(number.round().max(0.0) as u64, one, many)
}

fn costs(of: &ArmCosts) -> String {
    match &of.components[..] {
        [] => format!("{}: {} in all", of.arm, time(of.accounted_ns)),
        shown => format!("{}: {}", of.arm, shown.iter().map(component).collect::<Vec<String>>().join(", ")),
    }
}

fn accounted(a: &ArmCosts, b: &ArmCosts, decided: bool) -> String {
    let (explained, measured) = (a.accounted_ns - b.accounted_ns, a.measured_ns - b.measured_ns);
    let (all, of) = (explained.abs(), measured.abs());
    if !decided {
        let [a, b] = [a, b].map(|it| format!("{} of {}", time(it.accounted_ns), time(it.measured_ns)));
        format!("accounted {a} and {b}")
    } else if explained * measured <= 0.0 {
        format!("measured difference {}, not explained", time(of))
    } else if all > of {
        format!("measured difference {}, accounted {}, {} too much", time(of), time(all), time(all - of))
    } else {
        format!("measured difference {}, explained {} of it, not explained {}", time(of), time(all), time(of - all))
    }
}

/// `262,144 reads × 310 ns = 81 ms`, `1 GiB copied = 62 ms`. The product is that of the numbers that are shown.
fn component(of: &CostComponent) -> String {
    use Quantity::*;
    let what = match of.what {
        Reads => "reads".to_string(),
        Seeks => "seeks".to_string(),
        RandomPlaces => "misses at random places".to_string(),
        PagesTouched => "pages touched".to_string(),
        PagesPopulated => "pages populated".to_string(),
        PagesUnmapped => "pages unmapped".to_string(),
        PagesBroughtIn => "pages brought in".to_string(),
        Faults => "faults".to_string(),
        Requests => format!("requests of {}", rough_size(of.request_bytes.unwrap_or(0.0))),
        OpenAndClose => return format!("open and close = {}", time(of.ns)),
        MapAndUnmap => return format!("open, map, unmap, close = {}", time(of.ns)),
        BytesCopied => return format!("{} copied = {}", rough_size(of.count), time(of.ns)),
        BytesSummed => return format!("{} summed = {}", rough_size(of.count), time(of.ns)),
        BytesSummedInPlace => return format!("{} summed in place = {}", rough_size(of.count), time(of.ns)),
        BytesFromDevice => return format!("{} from the device = {}", rough_size(of.count), time(of.ns)),
    };
    product(of.count, &what, of.unit_ns)
}
