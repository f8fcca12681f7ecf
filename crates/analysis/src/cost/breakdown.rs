//! The cost breakdown of a cell, and how much of a comparison's difference it explains.

use schema::{
    findings::{AnswerOf, Verdict},
    unit_cost::{CostBreakdown, CostComponent, Quantity},
};

use crate::{
    compare::Compared,
    measured::{Cell, Run},
    words::{product, rough_size, time},
};

use super::{
    fills::Known,
    model::{self, ModelledPass, PassCounts},
    threads::Threads,
};

/// Components with a smaller share of the larger breakdown are not listed.
const SHOWN: f64 = 0.02;

pub(crate) fn of_cell(run: &Run, known: &Known, cell: &Cell) -> Result<CostBreakdown, String> {
    let measured_ns = measured_ns(cell).ok_or("no pass was measured")?;
    let counts = PassCounts {
        minor_faults: cell.count("minor_faults"),
        device_bytes: cell.count("device_read_bytes"),
        device_requests: cell.count("disk_read_requests"),
    };
    let (costs, _) = known.under(cell.own)?;
    let components = model::components(costs, &pass(run, cell, counts))?;
    Ok(CostBreakdown {
        id: cell.id,
        arm: cell.arm().name.clone(),
        condition: cell.own.clone(),
        components_ns: components.iter().map(|it| it.ns).sum(),
        components,
        measured_ns,
    })
}

pub(super) fn pass<'a>(run: &Run, cell: &Cell<'a>, counts: PassCounts) -> ModelledPass<'a> {
    ModelledPass {
        arm: cell.arm(),
        condition: cell.own,
        page_bytes: run.page_bytes() as f64,
        read_ahead_bytes: model::read_ahead_bytes(&run.record.target),
        ceiling_bytes_per_s: run.record.ceiling.value().map(|it| it.bytes_per_s),
        counts,
        // Cells are not measured in a state that their range does not fit into.
        memory_bytes: f64::INFINITY,
        threads: Threads::ONE,
        queue_depth: cell.queue_depth(),
    }
}

/// The median pass.
pub(super) fn measured_ns(cell: &Cell) -> Option<f64> {
    let per_op = crate::stats::median_of_positive(cell.passes.iter().filter_map(|pass| pass.ns_per_op()))?.median;
    Some(per_op * cell.median_of(|tally| tally.ops)?)
}

/// Replaces the counted facts by the cost breakdowns of both arms, where both have one.
pub(crate) fn explain(
    run: &Run,
    compared: &mut Compared,
    baseline: Option<&CostBreakdown>,
    arm: Option<&CostBreakdown>,
) {
    let (Some(baseline), Some(arm)) = (baseline, arm) else { return };
    if compared.finding.verdict == Verdict::NotComparable || compared.finding.answer_of == AnswerOf::Job {
        return;
    }
    let names = [compared.baseline, compared.arm].map(|cell| run.name(cell.arm()).to_string());
    let decided = matches!(compared.finding.verdict, Verdict::Faster | Verdict::Slower);
    compared.finding.explained_share =
        decided.then(|| explained_share([baseline, arm].map(|it| (it.components_ns, it.measured_ns)))).flatten();
    compared.finding.explanation = Some(sentence([baseline, arm], &names, decided));
}

/// Of the difference between two measured times, the share that the cost breakdowns explain: 1 when their difference is
/// the measured one, less by what is missing, and less by what is too much.
pub(super) fn explained_share([(a, measured_a), (b, measured_b)]: [(f64, f64); 2]) -> Option<f64> {
    let measured = measured_a - measured_b;
    let share = 1.0 - ((a - b) - measured).abs() / measured.abs();
    share.is_finite().then(|| share.max(0.0))
}

fn sentence(breakdowns: [&CostBreakdown; 2], names: &[String; 2], decided: bool) -> String {
    let most = breakdowns.iter().map(|it| it.components_ns).fold(0.0, f64::max);
    let side = |breakdown: &CostBreakdown, name: &str| {
        let shown: Vec<String> =
            breakdown.components.iter().filter(|it| it.ns >= SHOWN * most).map(described).collect();
        let shown =
            if shown.is_empty() { format!("{} in all", time(breakdown.components_ns)) } else { shown.join(", ") };
        format!("{name}: {shown}")
    };
    let [(a, measured_a), (b, measured_b)] = breakdowns.map(|it| (it.components_ns, it.measured_ns));
    let (explained, measured) = (a - b, measured_a - measured_b);
    let end = if !decided {
        format!("accounted {} of {} and {} of {}", time(a), time(measured_a), time(b), time(measured_b))
    } else if explained * measured <= 0.0 {
        format!("measured difference {}, not explained", time(measured.abs()))
    } else if explained.abs() > measured.abs() {
        let (all, over) = (explained.abs(), explained.abs() - measured.abs());
        format!("measured difference {}, accounted {}, {} too much", time(measured.abs()), time(all), time(over))
    } else {
        let (all, rest) = (explained.abs(), measured.abs() - explained.abs());
        format!(
            "measured difference {}, explained {} of it, not explained {}",
            time(measured.abs()),
            time(all),
            time(rest)
        )
    };
    format!("{}; {}; {end}", side(breakdowns[0], &names[0]), side(breakdowns[1], &names[1]))
}

/// `262,144 reads × 310 ns = 81 ms`, `1 GiB copied = 62 ms`. The product is that of the numbers that are shown.
fn described(component: &CostComponent) -> String {
    use Quantity::*;
    let what = match component.what {
        Reads => "reads".to_string(),
        Seeks => "seeks".to_string(),
        RandomPlaces => "misses at random places".to_string(),
        PagesTouched => "pages touched".to_string(),
        PagesPopulated => "pages populated".to_string(),
        PagesUnmapped => "pages unmapped".to_string(),
        PagesBroughtIn => "pages brought in".to_string(),
        Faults => "faults".to_string(),
        Requests => format!("requests of {}", rough_size(component.request_bytes.unwrap_or(0.0))),
        OpenAndClose => return format!("open and close = {}", time(component.ns)),
        MapAndUnmap => return format!("open, map, unmap, close = {}", time(component.ns)),
        BytesCopied => return format!("{} copied = {}", rough_size(component.count), time(component.ns)),
        BytesSummed => return format!("{} summed = {}", rough_size(component.count), time(component.ns)),
        BytesSummedInPlace => {
            return format!("{} summed in place = {}", rough_size(component.count), time(component.ns));
        }
        BytesFromDevice => return format!("{} from the device = {}", rough_size(component.count), time(component.ns)),
    };
    product(component.count, &what, component.unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_lost_by_what_is_missing_and_by_what_is_too_much() {
        let share = |explained: f64, measured: f64| {
            explained_share([(100.0 + explained, 500.0), (100.0, 500.0 - measured)]).unwrap()
        };
        assert_eq!(share(100.0, 100.0), 1.0);
        assert!((share(85.0, 100.0) - 0.85).abs() < 1e-12 && (share(115.0, 100.0) - 0.85).abs() < 1e-12);
        assert_eq!(share(-10.0, 100.0), 0.0);
        assert_eq!(share(300.0, 100.0), 0.0);
        assert_eq!(share(-85.0, -100.0), share(85.0, 100.0));
        assert_eq!(explained_share([(5.0, 7.0), (3.0, 7.0)]), None);
    }

    #[test]
    fn times_have_two_digits_at_least() {
        let described: Vec<String> = [0.0, 9.94, 12.3, 4100.0, 81e6, 2.5e9].map(time).to_vec();
        assert_eq!(described, ["0.0 ns", "9.9 ns", "12 ns", "4.1 µs", "81 ms", "2.5 s"]);
    }
}
