//! A row of the matrix, and what it says in a sentence.

use std::collections::BTreeSet;

use schema::{Names, Workload, unit_cost::BreakEven};

use super::{
    field::{Field, Standing, depths, times, times_at_most},
    place::{size, size_of, work},
};
use crate::{
    layout::{number, words::list},
    words::UNCONFIRMED,
};

/// Where the pages are when a pass starts, and what else tells conditions apart beside workload and block.
pub(crate) struct Start {
    pub(crate) label: String,
    pub(crate) says: String,
    /// One for each column.
    pub(crate) fields: Vec<Option<Field>>,
}

/// Marks baselines that are ahead, where their names do not say that they are baselines.
pub(super) fn mark_baselines(starts: &mut [Start]) {
    let arms = starts.iter().flat_map(|it| it.fields.iter().flatten()).filter_map(|it| match &it.standing {
        Standing::Ahead { arm, baseline: Some(_), .. } => Some(arm.clone()),
        _ => None,
    });
    let arms: BTreeSet<String> = arms.collect();
    for it in starts.iter_mut().flat_map(|it| it.fields.iter_mut().flatten()) {
        it.marked = matches!(&it.standing, Standing::Ahead { arm, baseline: None, .. } if arms.contains(arm));
    }
}

/// `scans: no difference; random reads: mmap 1.3x to 2.6x`.
pub(super) fn says(columns: &[(Workload, u64)], start: &Start, break_evens: &[&BreakEven], names: &Names) -> String {
    let mut workloads: Vec<Workload> = Vec::new();
    for (workload, _) in columns {
        if !workloads.contains(workload) {
            workloads.push(*workload);
        }
    }
    let of_workload = |workload: Workload| {
        let fields = columns.iter().zip(&start.fields).filter(move |((it, _), _)| *it == workload);
        let fields: Vec<(u64, Option<&Field>)> = fields.map(|((_, block), it)| (*block, it.as_ref())).collect();
        let parts = groups(&fields, |of| size_of(workload, of));
        let what = match fields[..] {
            [(block, _)] => work(workload, block),
            _ => noun(workload),
        };
        (!parts.is_empty()).then(|| format!("{what}: {}", parts.join(", ")))
    };
    let mut says: Vec<String> = workloads.into_iter().filter_map(of_workload).collect();
    let sizes = columns.iter().filter(|it| it.0 == Workload::Random).count();
    says.extend(overtakes(break_evens, sizes > 1, names));
    says.join("; ")
}

fn noun(workload: Workload) -> String {
    match workload {
        Workload::Scan => "scans".into(),
        Workload::Random => "random reads".into(),
        other => other.to_string(),
    }
}

/// Neighbouring blocks with the same answer are one part. A block that was not measured is in none.
fn groups(fields: &[(u64, Option<&Field>)], size: impl Fn(u64) -> String) -> Vec<String> {
    let is_one = |a: Option<&Field>, b: Option<&Field>| match (a, b) {
        (Some(a), Some(b)) => {
            (a.of_job, a.unconfirmed) == (b.of_job, b.unconfirmed) && is_one_answer(&a.standing, &b.standing)
        }
        (a, b) => a.is_none() && b.is_none(),
    };
    let parts: Vec<&[(u64, Option<&Field>)]> = fields.chunk_by(|a, b| is_one(a.1, b.1)).collect();
    let is_all = parts.len() == 1;
    let part = |part: &[(u64, Option<&Field>)]| {
        let ([(first, Some(field)), ..], Some((last, _))) = (part, part.last()) else { return None };
        let fields = || part.iter().filter_map(|it| it.1);
        let what = match &field.standing {
            Standing::Ahead { arm, .. } => {
                let ratios = fields().filter_map(|it| match it.standing {
                    Standing::Ahead { times, .. } => Some(times),
                    _ => None,
                });
                let ratios: Vec<f64> = ratios.collect();
                let deep = depths(fields()).map_or(String::new(), |it| format!(" ({it} in flight)"));
                let ratio = extent(&ratios);
                format!("{arm}{deep} {ratio}")
            }
            Standing::Same => "no difference".into(),
            Standing::Tied { arms } => format!("no difference between {}", list(arms)),
            Standing::Unbeaten { arm } => format!("nothing beats {arm}"),
            Standing::Undecided { .. } => {
                let undecided = part.iter().filter_map(|(block, field)| match &field.as_ref()?.standing {
                    Standing::Undecided { up_to, behind } => Some((*up_to, (*block, behind.as_ref()))),
                    _ => None,
                });
                let (up_to, behind): (Vec<_>, Vec<_>) = undecided.unzip();
                // Of several, all are within the largest.
                let most = up_to.into_iter().collect::<Option<Vec<f64>>>();
                let most = most.and_then(|it| it.into_iter().max_by(f64::total_cmp));
                let within = most.map_or(String::new(), |most| format!(" within {}", times_at_most(most)));
                format!("undecided{within}{}", far_behind(&behind, &size).unwrap_or_default())
            }
            Standing::NotComparable => "not comparable".into(),
        };
        let at = match (is_all, first == last) {
            (true, _) => String::new(),
            (false, true) => format!(" at {}", size(*first)),
            (false, false) => format!(" from {} to {}", size(*first), size(*last)),
        };
        let of_job = match (field.of_job, field.unconfirmed) {
            (true, _) => " (at the size of the job)".to_string(),
            (false, true) => format!(" ({UNCONFIRMED})"),
            (false, false) => String::new(),
        };
        Some(format!("{what}{at}{of_job}"))
    };
    parts.into_iter().filter_map(part).collect()
}

/// `, but for what is slower (direct 4.4x)`: the arm that is behind at every block, or else the one that is furthest behind, and
/// where. Others may be slower, too.
fn far_behind(behind: &[(u64, Option<&(String, f64)>)], size: impl Fn(u64) -> String) -> Option<String> {
    let known = || behind.iter().filter_map(|(block, it)| Some((*block, (*it)?)));
    let (block, (arm, by)) = known().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let ratios: Vec<f64> = known().filter(|(_, it)| it.0 == *arm).map(|(_, it)| it.1).collect();
    Some(match ratios.len() == behind.len() {
        true => format!(", but for what is slower ({arm} {})", extent(&ratios)),
        false => format!(", but for what is slower ({arm} {} at {})", times(*by), size(block)),
    })
}

/// Of ratios that rise or fall from block to block, the first and the last, as the blocks beside them stand.
fn extent(ratios: &[f64]) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    match [least, most].map(times) {
        [least, most] if least == most => most,
        [least, most] if ratios.is_sorted() => format!("{least} to {most}"),
        [least, most] if ratios.is_sorted_by(|one, next| one >= next) => format!("{most} to {least}"),
        [least, most] => format!("between {least} and {most}"),
    }
}

/// The ratio may differ, but not what it is over.
fn is_one_answer(a: &Standing, b: &Standing) -> bool {
    match (a, b) {
        (Standing::Ahead { arm: a, baseline: over_a, .. }, Standing::Ahead { arm: b, baseline: over_b, .. }) => {
            (a, over_a) == (b, over_b)
        }
        (Standing::Undecided { .. }, Standing::Undecided { .. }) => true,
        (a, b) => a == b,
    }
}

/// `computed: mmap overtakes pread from 800 (1 MiB) to 20,000 (64 B) reads on`. A number holds for its size, which is said
/// where there are several.
fn overtakes(break_evens: &[&BreakEven], sizes: bool, names: &Names) -> Option<String> {
    let reads = |it: &BreakEven| it.reads.median;
    let first = break_evens.iter().min_by(|a, b| reads(a).total_cmp(&reads(b)))?;
    let same = |it: &&&BreakEven| (&it.arm, &it.baseline) == (&first.arm, &first.baseline);
    let last = break_evens.iter().filter(same).max_by(|a, b| reads(a).total_cmp(&reads(b)))?;
    let [arm, baseline] = [&first.arm, &first.baseline].map(|it| names.short(it));
    let overtakes = format!("by an estimate {arm} overtakes {baseline}");
    let about = |it: &BreakEven| number::two_digits(reads(it));
    let size = |it: &BreakEven| size(it.block_bytes);
    Some(match (std::ptr::eq(*first, *last), sizes) {
        (true, false) => format!("{overtakes} from about {} reads on", about(first)),
        (true, true) => format!("{overtakes} from about {} ({}) reads on", about(first), size(first)),
        (false, _) => format!(
            "{overtakes} from about {} ({}) to {} ({}) reads on",
            about(first),
            size(first),
            about(last),
            size(last)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_behind_at_one_block_is_not_said_of_the_others() {
        let [direct, mmap] = [("direct".to_string(), 4.4), ("mmap".to_string(), 3.0)];
        let more = ("direct".to_string(), 9.0);
        let said = |behind: &[(u64, Option<&(String, f64)>)]| far_behind(behind, |it| format!("{it} B"));
        assert_eq!(said(&[(64, None), (512, None)]), None);
        assert_eq!(said(&[(64, Some(&direct))]).unwrap(), ", but for what is slower (direct 4.4x)");
        assert_eq!(
            said(&[(64, Some(&direct)), (512, Some(&more))]).unwrap(),
            ", but for what is slower (direct 4.4x to 9.0x)"
        );
        assert_eq!(
            said(&[(64, Some(&direct)), (512, None)]).unwrap(),
            ", but for what is slower (direct 4.4x at 64 B)"
        );
        assert_eq!(
            said(&[(64, Some(&mmap)), (512, Some(&direct))]).unwrap(),
            ", but for what is slower (direct 4.4x at 512 B)"
        );
    }

    #[test]
    fn ratios_stand_as_their_blocks_do_or_are_an_extent() {
        let said = [&[1.5, 2.0, 5.0][..], &[5.0, 1.5], &[2.0, 2.0], &[2.0, 5.0, 1.5]].map(extent);
        assert_eq!(said, ["1.5x to 5.0x", "5.0x to 1.5x", "2.0x", "between 1.5x and 5.0x"]);
    }
}
