//! Where a process has pages of a file in its page table: what can be seen of the order of its accesses without a trace. A fault
//! at a random place maps a few pages and leaves those beside them unmapped; a scan leaves one long run.

use std::ops::Range;

use schema::inspection::Places;

/// Pages of a file: in ascending order, apart from each other.
pub(super) type Runs = Vec<Range<u64>>;

/// Of several mappings, which may be of the same pages.
pub(super) fn merged(mut runs: Runs) -> Runs {
    runs.sort_unstable_by_key(|it| (it.start, it.end));
    let mut merged = Runs::new();
    for run in runs {
        match merged.last_mut() {
            Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
            _ => merged.push(run),
        }
    }
    merged
}

/// All of them; a fault maps so many pages.
pub(super) fn all(runs: &[Range<u64>], fault_pages: u64) -> Places {
    count(runs, fault_pages, |_| false)
}

/// Those that were not there before. What continues a run that was there before is not short: a scan goes on so.
pub(super) fn new(now: &[Range<u64>], before: &[Range<u64>], fault_pages: u64) -> Places {
    let is_beside = |run: &Range<u64>| {
        let at = before.partition_point(|it| it.end < run.start);
        before.get(at).is_some_and(|it| it.start <= run.end)
    };
    count(&without(now, before), fault_pages, is_beside)
}

fn count(runs: &[Range<u64>], fault_pages: u64, goes_on: impl Fn(&Range<u64>) -> bool) -> Places {
    let pages = |it: &Range<u64>| it.end - it.start;
    Places {
        pages: runs.iter().map(pages).sum(),
        places: runs.len() as u64,
        short: runs.iter().filter(|it| pages(it) <= fault_pages && !goes_on(it)).count() as u64,
        fault_pages,
    }
}

fn without(runs: &[Range<u64>], others: &[Range<u64>]) -> Runs {
    let mut left = Runs::new();
    let mut others = others.iter().peekable();
    for run in runs {
        let mut from = run.start;
        while let Some(other) = others.peek().filter(|it| it.start < run.end) {
            if other.start > from {
                left.push(from..other.start);
            }
            from = from.max(other.end);
            if other.end > run.end {
                // It may reach into the next one.
                break;
            }
            others.next();
        }
        if from < run.end {
            left.push(from..run.end);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(run: Range<u64>) -> Runs {
        Runs::from([run])
    }

    fn seen(of: Places) -> (u64, u64, u64) {
        (of.pages, of.places, of.short)
    }

    #[test]
    fn random_places_are_many_and_short_and_a_scan_is_one_long_one() {
        let random: Runs = (0..20).map(|it| it * 1000..it * 1000 + 16).collect();
        assert_eq!(seen(all(&random, 16)), (320, 20, 20));
        assert_eq!(seen(all(&one(0..5000), 16)), (5000, 1, 0));
        assert_eq!(seen(new(&one(0..5000), &one(0..3000), 16)), (2000, 1, 0));
    }

    #[test]
    fn what_fills_the_gaps_between_known_places_is_not_called_apart() {
        let before: Runs = (0..20).map(|it| it * 32..it * 32 + 16).collect();
        assert_eq!(seen(new(&one(0..640), &before, 16)), (320, 20, 0));
        // A scan that has come a little further.
        assert_eq!(seen(new(&one(0..116), &one(0..100), 16)), (16, 1, 0));
        assert_eq!(seen(new(&[0..100, 200..216], &one(0..100), 16)), (16, 1, 1));
    }

    fn runs() -> impl Strategy<Value = Runs> {
        let one = (0u64..100, 1u64..10).prop_map(|(at, pages)| at..at + pages);
        proptest::collection::vec(one, 0..12).prop_map(merged)
    }

    proptest! {
        #[test]
        fn what_is_new_is_in_the_one_and_not_in_the_other(now in runs(), before in runs()) {
            let has = |runs: &Runs, page: u64| runs.iter().any(|it| it.contains(&page));
            let left = without(&now, &before);
            for page in 0..120 {
                prop_assert_eq!(has(&left, page), has(&now, page) && !has(&before, page));
            }
            prop_assert_eq!(merged(left.clone()).iter().map(|it| it.end - it.start).sum::<u64>(), all(&left, 1).pages);
        }
    }
}
