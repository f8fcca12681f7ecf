//! How long threads that read by calls, and threads that read through a mapping, delayed safepoints.

use schema::{
    distinct,
    findings::{SafepointDelay, SafepointTail, Safepoints, SafepointsOpen, SafepointsSeen},
};

use super::numbers::{list, time};

/// What was seen, condition by condition, and then what it means.
pub fn safepoints(of: &Safepoints) -> Vec<String> {
    let labels = |such: &dyn Fn(&SafepointsSeen) -> bool| -> Vec<&str> {
        of.seen.iter().filter(|it| such(it)).map(|it| it.label.as_str()).collect()
    };
    let is_alike = |it: &SafepointsSeen| !it.held_up && it.open.is_none();
    let (held_up, alike) = (labels(&|it| it.held_up), labels(&is_alike));
    let mut says: Vec<String> = of.seen.iter().map(seen).collect();
    if !held_up.is_empty() {
        says.push(format!(
            "What it means ({}): a thread in a page fault is still executing Java code and cannot reach a safepoint. An \
             operation that needs one (a garbage collection, a thread dump) waits until the page is in memory, and all \
             other Java threads are stopped meanwhile. A thread in read(2) executes native code, and the JVM does not \
             wait for it",
            list(&held_up)
        ));
    }
    if !alike.is_empty() {
        let (control, mapping) =
            if held_up.is_empty() { ("", "the mapping") } else { ("the control: ", "the same mapping") };
        let is_apart = |it: &SafepointsSeen| is_alike(it) && it.max_fault_ns > of.apart * it.max_call_ns;
        let but = if of.seen.iter().any(is_apart) { ", but for the longest delay" } else { "" };
        says.push(format!(
            "No such difference ({control}{}): there {mapping} delayed safepoints at most {:.0} times as long as calls \
             did{but}",
            list(&alike),
            of.apart
        ));
    }
    for why in distinct(of.seen.iter().filter_map(|it| it.open)) {
        let open = labels(&|it| it.open == Some(why));
        says.push(format!("Not decided ({}): {}", list(&open), why_open(why)));
    }
    says
}

fn why_open(why: SafepointsOpen) -> String {
    match why {
        SafepointsOpen::TooFew { least_passes, least_safepoints } => format!(
            "an arm has fewer than {least_passes} passes and fewer than {least_safepoints} safepoints; try a larger \
             --budget"
        ),
        SafepointsOpen::InMemory => "the mapping delayed safepoints longer, and all pages were in memory, so no fault \
                                     waited for one; the cause is another"
            .into(),
    }
}

fn seen(of: &SafepointsSeen) -> String {
    format!(
        "{}: while a thread read by system calls, {}; while it read through a mapping, {}; the longest delays of all \
         were {} and {}",
        of.label,
        delays(&of.calls),
        delays(&of.faults),
        time(of.max_call_ns),
        time(of.max_fault_ns)
    )
}

fn delays(of: &[SafepointDelay]) -> String {
    let each = |tail: SafepointTail| {
        let such = of.iter().filter(|it| it.p99_is == tail);
        let such: Vec<String> = such.map(|it| format!("{} ({})", time(it.p99_ns), it.name)).collect();
        (!such.is_empty()).then(|| list(&such))
    };
    let most = each(SafepointTail::NinetyNine).map(|it| format!("99 of 100 safepoints were reached within {it}"));
    let longest =
        each(SafepointTail::Longest).map(|it| format!("the longest delay of a pass was, in the middle pass, {it}"));
    most.into_iter().chain(longest).collect::<Vec<String>>().join(", and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meaning_is_said_only_of_what_was_seen() {
        let of = |seen| Safepoints { cells: Vec::new(), seen, apart: 3.0 };
        assert_eq!(safepoints(&of(Vec::new())), Vec::<String>::new());
        let label = "scan 4 KiB cached".into();
        let mut alike = SafepointsSeen {
            label,
            calls: vec![],
            faults: vec![],
            max_call_ns: 1.0,
            max_fault_ns: 1.0,
            held_up: false,
            open: None,
        };
        let says = safepoints(&of(vec![alike.clone()]));
        assert!(says.len() == 2 && says[1].starts_with("No such difference (scan 4 KiB cached)"), "{says:?}");
        const BUT: &str = "but for the longest delay";
        assert!(!says[1].contains(BUT), "{says:?}");
        alike.max_fault_ns = 60.0;
        assert!(safepoints(&of(vec![alike.clone()]))[1].contains(BUT));
        // What is open is neither.
        alike.open = Some(SafepointsOpen::InMemory);
        let says = safepoints(&of(vec![alike]));
        assert!(says.len() == 2 && says[1].starts_with("Not decided (scan 4 KiB cached)"), "{says:?}");
    }
}
