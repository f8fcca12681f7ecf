//! What the ways of filling the page cache do to a mapping: a row for each fill, a column for each job. Of small overwrites
//! what one costs has a column too: it is a call that large folios make slower, and not the mapping.

use schema::{
    Arm, Bytes, Condition, Fill, Labels, Record,
    arm::short,
    experiment::Compare,
    fields::{self, Field, Role},
    findings::{AnswerOf, FillFinding, FilledComparison, Findings, Refill, UnjudgedCause, UnjudgedRefill, Verdict},
    record::FolioOrder,
};

use super::without;
use crate::layout::{
    number,
    paint::Paint,
    table::{Cell, Column, Table},
    words::{capital, counted},
};

pub(crate) const TITLE: &str = "Fills";

pub(crate) const ABOUT: &str = "In every row all pages are in the page cache. The rows differ in the fill, and so in the size of the folios (of several files, those of the largest). Ratios: the mapping against the baseline; above 1 the mapping is faster. = no difference, ? undecided, ! different work, job: by passes at the size of the job, unconfirmed: such passes decide nothing, or there are none. Pages/fault: the mean that one fault maps at 200 random places; a pass in order has a fault in each small folio, too. For overwrites: the baseline's time for one overwrite.";

/// A folio size that holds less than this share of the pages is not named.
const SHARE_SHOWN: f64 = 0.1;

/// Nothing where there is one fill alone.
pub(crate) fn table(record: &Record, findings: &Findings) -> Option<Table> {
    if findings.fills.is_empty() {
        return None;
    }
    let compares = &record.experiment.comparisons;
    let jobs = jobs(&findings.fills, compares);
    let mut columns = vec![Column::left("fill"), Column::left("folios")];
    columns.extend(["pages/fault", "made in"].map(Column::right));
    for job in &jobs {
        let name = name(*job, &jobs, compares);
        if job.asks.condition.workload.writes() {
            columns.push(Column::right(format!("{name}, {}", short(&job.asks.baseline))));
        }
        columns.push(Column::right(name));
    }
    let rows = findings.fills.iter().map(|it| {
        let mut row = vec![Cell::plain(it.fill.to_string()), Cell::plain(folios(record, it))];
        row.push(it.pages_per_fault.map_or_else(Cell::absent, |pages| Cell::plain(number::count(pages.round()))));
        row.push(match it.elapsed_ns {
            0 => Cell::absent(),
            ns => Cell::plain(number::duration_glued(ns as f64) + &of_part(it)),
        });
        let own = of_fill(it, compares);
        for job in &jobs {
            let of_job = own.iter().find(|it| same_job(**it, *job, compares)).map(|it| it.asks);
            if job.asks.condition.workload.writes() {
                let ns = of_job.and_then(|it| it.baseline_ns_per_op);
                row.push(ns.map_or_else(Cell::absent, |ns| Cell::plain(number::duration_glued(ns))));
            }
            row.push(of_job.map_or_else(Cell::absent, ratio));
        }
        row
    });
    Some(Table { columns, rows: rows.collect() })
}

/// What follows for a program: which fill pays, and after how many reads; and where that cannot be said.
pub(crate) fn advice(record: &Record, findings: &Findings) -> Vec<String> {
    refills(record, findings).chain(unjudged(record, findings)).collect()
}

/// Where filling the page cache anew pays, as the file was found first.
pub(crate) fn refills<'a>(record: &Record, findings: &'a Findings) -> impl Iterator<Item = String> + use<'a> {
    let labels = Labels::of(record);
    let says = move |it: &FillFinding| {
        let Refill {
            id,
            fill,
            elapsed_ns,
            filled_bytes,
            condition,
            arm,
            now_arm,
            now_ns_per_op,
            then_ns_per_op,
            passes,
            ..
        } = it.refill.as_ref()?;
        let mapping = match arm.parse::<Arm>().is_ok_and(|it| it.maps()) {
            true => {
                ", if each pass creates a new mapping. A permanent mapping gains nothing from it, because each place faults only \
                 once."
            }
            false => ".",
        };
        let file = match condition.file_bytes {
            whole if *filled_bytes < whole => {
                let [part, whole] = [*filled_bytes, whole].map(|it| number::bytes_glued(it as f64));
                format!("{part} of the file's {whole}")
            }
            _ => "the file".to_string(),
        };
        Some(number::plain(&format!(
            "{}: to evict {file} and read it into the page cache again (fill {fill}) takes {}. Then the lowest median time \
             of a read, of the arms that were measured on both, is {}, by {}, instead of {} {}, by {}: it pays for itself after {} of {} reads{mapping}",
            without(&labels.label(id.condition_index), &said(it.fill)),
            number::duration_glued(*elapsed_ns as f64),
            number::duration_glued(*then_ns_per_op),
            short(arm),
            now(it.fill),
            number::duration_glued(*now_ns_per_op),
            short(now_arm),
            counted(passes.ceil() as usize, "pass", "passes"),
            number::count(condition.ops as f64),
        )))
    };
    findings.fills.iter().filter_map(says)
}

fn unjudged<'a>(record: &Record, findings: &'a Findings) -> impl Iterator<Item = String> + use<'a> {
    let labels = Labels::of(record);
    let silent = move |it: &FillFinding, unjudged: &UnjudgedRefill| {
        let why = match unjudged.cause {
            UnjudgedCause::OtherPasses { now_ops, then_ops, now_bytes, then_bytes } if now_ops != then_ops => format!(
                "its passes made {} reads over {}, and the others {} over {}",
                number::count(then_ops as f64),
                number::bytes_glued(then_bytes as f64),
                number::count(now_ops as f64),
                number::bytes_glued(now_bytes as f64)
            ),
            UnjudgedCause::OtherPasses { now_bytes, then_bytes, .. } => format!(
                "its passes read in {}, and the others in {}",
                number::bytes_glued(then_bytes as f64),
                number::bytes_glued(now_bytes as f64)
            ),
            UnjudgedCause::UnequalWork => "the arms did different work".to_string(),
            UnjudgedCause::NoSharedArm => "no arm was measured after both fills".to_string(),
        };
        number::plain(&format!(
            "{}, {}: it is unknown whether filling the page cache again ({}) pays for itself: {why}.",
            capital(&now(it.fill)),
            without(&labels.label(unjudged.id.condition_index), &said(it.fill)),
            unjudged.fill
        ))
    };
    findings
        .fills
        .iter()
        .flat_map(|it| it.not_judged.iter().map(move |why| (it, why)))
        .map(move |(it, why)| silent(it, why))
}

/// How much was filled, where that is not the whole file.
fn of_part(it: &FillFinding) -> String {
    match it.comparisons.first() {
        Some(first) if it.range_bytes < first.condition.file_bytes => {
            format!(" for{}{}", number::GLUE, number::bytes_glued(it.range_bytes as f64))
        }
        _ => String::new(),
    }
}

/// The fill as a part of what a condition is called.
fn said(fill: Fill) -> String {
    format!("fill {fill}")
}

/// When it was as this fill left it.
fn now(fill: Fill) -> String {
    match fill {
        Fill::Found => "now".to_string(),
        fill => format!("after {}", said(fill)),
    }
}

/// A column: a question without its fill, and which one it is of several of one fill that ask the same.
#[derive(Clone, Copy)]
struct FillJob<'a> {
    asks: &'a FilledComparison,
    repeat: usize,
}

/// Every question once, whichever fills it was asked of.
fn jobs<'a>(fills: &'a [FillFinding], compares: &[Compare]) -> Vec<FillJob<'a>> {
    let mut jobs: Vec<FillJob> = Vec::new();
    for comparison in fills.iter().flat_map(|it| of_fill(it, compares)) {
        // What has no size was not measured: it is an answer to no question of a column.
        let is_sized = comparison.asks.condition.ops > 0;
        if is_sized && !jobs.iter().any(|it| same_job(*it, comparison, compares)) {
            jobs.push(comparison);
        }
    }
    jobs
}

/// The questions of one fill. Of several that are the same, each is one of its own.
fn of_fill<'a>(fill: &'a FillFinding, compares: &[Compare]) -> Vec<FillJob<'a>> {
    let all = &fill.comparisons;
    let earlier = |at: usize| all[..at].iter().filter(|it| asks_the_same(it, &all[at], compares)).count();
    all.iter().enumerate().map(|(at, asks)| FillJob { asks, repeat: earlier(at) }).collect()
}

fn same_job(a: FillJob, b: FillJob, compares: &[Compare]) -> bool {
    a.repeat == b.repeat && asks_the_same(a.asks, b.asks, compares)
}

/// The question is the same but for the fill. How much a pass covers is the planner's choice, or the comparison's; so many
/// random reads of so large a range are what the ratio depends on.
fn asks_the_same(a: &FilledComparison, b: &FilledComparison, compares: &[Compare]) -> bool {
    let but_for_the_fill = Condition { fill: a.condition.fill, ..b.condition.clone() };
    let given = |it: &FilledComparison| {
        let compare = it.id.condition.comparison_index.and_then(|at| compares.get(at))?;
        Some((compare.variant, compare.size_asked(&it.condition)))
    };
    let roles = if a.condition.workload.is_ascending() { &ROLES[..2] } else { &ROLES[..] };
    (&a.baseline, &a.arm) == (&b.baseline, &b.arm)
        && given(a) == given(b)
        && roles.iter().all(|&role| fields::agree(role, &a.condition, &but_for_the_fill))
}

const ROLES: [Role; 3] = [Role::Asked, Role::Subject, Role::Size];

/// With what distinguishes it from the other jobs.
fn name(job: FillJob, jobs: &[FillJob], compares: &[Compare]) -> String {
    let core =
        |it: &FilledComparison| format!("{} {}", it.condition.work(), it.condition.block()).trim_end().to_string();
    let others = || jobs.iter().filter(|it| core(it.asks) == core(job.asks) && !same_job(**it, job, compares));
    let differs = |field: &&Field| {
        field.name != "fill" && others().any(|other| !(field.same)(&other.asks.condition, &job.asks.condition))
    };
    let differing = fields::of(&job.asks.condition).filter(differs).map(|it| (it.words)(&job.asks.condition));
    let mut words: Vec<String> = [core(job.asks)].into_iter().chain(differing).collect();
    let arms = |it: &FilledComparison| (it.baseline.clone(), it.arm.clone());
    if others().any(|it| arms(it.asks) != arms(job.asks)) {
        words.push(format!("{} against {}", short(&job.asks.arm), short(&job.asks.baseline)));
    }
    if job.repeat > 0 {
        words.push(format!("#{}", job.repeat + 1));
    }
    words.join(", ")
}

fn ratio(it: &FilledComparison) -> Cell {
    let ratio = it.speedup.map_or_else(String::new, |it| number::ratio_glued(it.median));
    let text = match it.answer_of {
        AnswerOf::Job => format!("{ratio} job"),
        AnswerOf::RoundsUnconfirmed if it.verdict.is_decided() => format!("{ratio} unconfirmed"),
        _ => ratio,
    };
    match it.verdict {
        Verdict::Faster | Verdict::Slower => Cell::plain(text),
        Verdict::Same => Cell::new(format!("= {text}"), Paint::Quiet),
        Verdict::Undecided => Cell::new(format!("? {text}"), Paint::Unsure),
        Verdict::NotComparable => Cell::new("!", Paint::Unsure),
    }
}

/// `97 % of 2 MiB`, and what the sizes that are not named hold together.
fn folios(record: &Record, it: &FillFinding) -> String {
    it.folio_orders.value().map_or("–".into(), |orders| shares(orders, record.environment.page_bytes))
}

fn shares(orders: &[FolioOrder], page_bytes: u64) -> String {
    let all: f64 = orders.iter().map(|it| it.pages as f64).sum();
    let share = |it: &FolioOrder| it.pages as f64 / all.max(1.0);
    let is_shown = |it: &&FolioOrder| share(it) >= SHARE_SHOWN;
    let (mut shown, rest): (Vec<&FolioOrder>, Vec<&FolioOrder>) = orders.iter().partition(is_shown);
    shown.sort_by_key(|it| std::cmp::Reverse(it.pages));
    let percent = |share: f64| number::plain(&number::percent(share));
    let sizes = shown.iter().map(|it| format!("{} of {}", percent(share(it)), Bytes(it.folio_bytes(page_bytes))));
    let rest = Some(rest.into_iter().map(share).sum()).filter(|it| *it > 0.0);
    let rest = rest.map(|it| format!("{} of other sizes", percent(it)));
    sizes.chain(rest).collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use schema::{CellId, ConditionId, Reading, State, Workload};

    use super::*;

    fn job(comparison: usize, fill: Fill, ops: u64) -> FilledComparison {
        let core = Condition { workload: Workload::Random, block_bytes: 64, ..Condition::plain(1 << 20) };
        let condition_index = comparison;
        FilledComparison {
            id: CellId { condition: ConditionId { condition_index, comparison_index: Some(comparison) }, cell: 0 },
            condition: Condition { state: State::Cached, fill: Some(fill), ops, ..core },
            baseline: "native/pread".into(),
            arm: "native/mmap".into(),
            baseline_ns_per_op: None,
            arm_ns_per_op: None,
            speedup: None,
            verdict: Verdict::Undecided,
            answer_of: AnswerOf::Rounds,
            minor_faults: Reading::unavailable("not counted"),
            system_ns_per_fault: None,
        }
    }

    fn fill(fill: Fill, comparisons: Vec<FilledComparison>) -> FillFinding {
        FillFinding {
            fill,
            elapsed_ns: 1,
            range_bytes: 1 << 20,
            folio_orders: Reading::unavailable("not root"),
            pages_per_fault: None,
            comparisons,
            refill: None,
            not_judged: Vec::new(),
        }
    }

    #[test]
    fn the_shares_of_folio_sizes_add_up_to_all_pages() {
        let of = |pages: &[u64]| {
            let order = |(order, &pages): (usize, &u64)| FolioOrder { order: order as u32, pages };
            let text = shares(&pages.iter().enumerate().map(order).collect::<Vec<_>>(), 4096);
            let share = |part: &str| part.split_once(' ').unwrap().0.parse::<f64>().unwrap();
            (text.split(", ").map(share).sum::<f64>(), text)
        };
        assert_eq!(of(&[9, 85, 6]), (100.0, "85 % of 8 KiB, 15 % of other sizes".into()));
        assert_eq!(of(&[40, 60]), (100.0, "60 % of 8 KiB, 40 % of 4 KiB".into()));
        assert_eq!(of(&[5; 20]), (100.0, "100 % of other sizes".into()));
    }

    #[test]
    fn two_comparisons_of_one_experiment_are_two_jobs_whose_names_say_what_differs() {
        let of = |it: Fill| fill(it, vec![job(0, it, 30_000), job(1, it, 2000)]);
        let fills = [of(Fill::Random), of(Fill::Sequential)];
        let jobs = jobs(&fills, &[]);
        let names: Vec<String> = jobs.iter().map(|it| name(*it, &jobs, &[])).collect();
        assert!(names.len() == 2 && names[0] != names[1], "{names:?}");
        assert_eq!(name(jobs[0], &jobs[..1], &[]), "random 64 B");
    }

    #[test]
    fn a_question_that_each_fill_is_asked_in_a_comparison_of_its_own_is_one_column() {
        let fills = [Fill::Found, Fill::Random, Fill::Sequential];
        let fills: Vec<FillFinding> =
            fills.into_iter().enumerate().map(|(at, it)| fill(it, vec![job(at, it, 2000)])).collect();
        assert_eq!(jobs(&fills, &[]).len(), 1);
        // Other numbers of reads are not hidden in one column.
        let other = [fill(Fill::Found, vec![job(0, Fill::Found, 10)]), fills[1].clone()];
        assert_eq!(jobs(&other, &[]).len(), 2);
        // Two comparisons that ask the same of one fill are both shown.
        let twice = [fill(Fill::Random, vec![job(0, Fill::Random, 10), job(1, Fill::Random, 10)])];
        let jobs = jobs(&twice, &[]);
        assert_eq!(jobs.len(), 2);
        assert_ne!(name(jobs[0], &jobs, &[]), name(jobs[1], &jobs, &[]));
    }

    #[test]
    fn the_time_of_a_fill_that_reached_a_part_of_the_file_says_so() {
        let of =
            |range_bytes| of_part(&FillFinding { range_bytes, ..fill(Fill::Found, vec![job(0, Fill::Found, 10)]) });
        assert_eq!((of(1 << 20), number::plain(&of(1 << 19))), (String::new(), " for 512 KiB".into()));
    }

    #[test]
    fn different_work_is_not_called_undecided() {
        let of = |verdict| ratio(&FilledComparison { verdict, ..job(0, Fill::Random, 10) }).text;
        assert_ne!(of(Verdict::NotComparable), of(Verdict::Undecided));
    }
}
