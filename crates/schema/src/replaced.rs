//! What options measured instead of what an experiment asks. A part of what it asks is a part of the answer; something else
//! is none.

use serde::{Deserialize, Serialize};

use crate::{
    Bytes, Condition, Experiment, distinct,
    experiment::{Compare, TraceAsked},
    fields::{self, Field},
};

/// A value that options gave a condition, and those that the experiment has there as it was written: in words. None are written
/// where the planner chooses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    pub measured: String,
    pub written: Vec<String>,
}

/// What a condition has otherwise than every condition that a claim or a figure is asked under in the experiment as it was
/// written: about comparisons of this name, with these arms. Of several comparisons the one that is nearest to it. Nothing
/// where it is one of them, and where options changed nothing. `origin` is the comparison that the condition is of.
pub fn replaced(
    experiment: &Experiment,
    compare: Option<&str>,
    arms: &[&str],
    origin: Option<&Compare>,
    condition: &Condition,
) -> Vec<Replaced> {
    let variant = origin.and_then(|it| it.variant);
    let named = experiment.written.iter().filter(|it| compare.is_none() || it.name.as_deref() == compare);
    let of_variant: Vec<&Compare> = named.filter(|it| it.variant == variant).collect();
    // What was published is often done by arms of other names.
    let has_arms = of_variant.iter().any(|it| it.has(arms));
    let asked: Vec<&Compare> = of_variant.into_iter().filter(|it| !has_arms || it.has(arms)).collect();
    // What no option replaces, the comparison that the condition comes from has as it was written.
    let is_kept = |it: &Compare| {
        fn has<T: PartialEq>(all: &[T], some: &[T]) -> bool {
            some.iter().all(|it| all.contains(it))
        }
        origin.is_none_or(|of| {
            has(&it.aligned, &of.aligned)
                && has(&it.storage, &of.storage)
                && has(&it.durability, &of.durability)
                && has(&it.layout, &of.layout)
                && [it.range, it.full_range].contains(&of.range)
                && it.memory == of.memory
        })
    };
    let any_is = asked.iter().any(|it| is_kept(it));
    let nearest = asked.into_iter().filter(|it| !any_is || is_kept(it)).map(|it| otherwise(it, origin, condition));
    nearest.min_by_key(Vec::len).unwrap_or_default()
}

/// In what a condition is none of those that a comparison asks for, at the published size too.
fn otherwise(written: &Compare, origin: Option<&Compare>, condition: &Condition) -> Vec<Replaced> {
    let lists: [(&str, Vec<Condition>); 8] = [
        ("workload", with(condition, written.workload.iter(), |it, to| it.workload = *to)),
        (
            "block",
            with(condition, written.block.iter().chain(&written.full_block), |it, Bytes(to)| it.block_bytes = *to),
        ),
        ("consume", with(condition, written.consume.iter(), |it, to| it.consume = *to)),
        ("state", with(condition, written.state.iter(), |it, to| it.state = *to)),
        // A replay has those of its trace.
        (
            "threads",
            with(condition, written.threads.iter(), |it, to| {
                it.threads = if it.trace.is_some() { it.threads } else { *to };
            }),
        ),
        // One thread shares with none.
        (
            "descriptor",
            with(condition, written.descriptor.iter(), |it, to| {
                it.descriptor = if it.threads > 1 { *to } else { it.descriptor };
            }),
        ),
        ("fill", with(condition, written.fill.iter(), |it, to| it.fill = Some(*to))),
        ("beside", with(condition, written.beside.iter(), |it, to| it.beside = *to)),
    ];
    let of_fields = lists.iter().filter_map(|(name, written)| {
        let field = fields::of(condition).find(|it| it.name == *name)?;
        let is_written = written.iter().any(|it| (field.same)(it, condition));
        (!is_written).then(|| words(field, condition, written))
    });
    of_fields.chain(other_trace(written, condition)).chain(other_ops(written, origin, condition)).collect()
}

/// One that was not read is not known to be the same.
fn other_trace(written: &Compare, condition: &Condition) -> Option<Replaced> {
    let (measured, asked) = (TraceAsked::Read(condition.trace.clone()?), written.trace.as_ref()?);
    (!measured.is_same(asked)).then(|| Replaced { measured: measured.words(), written: vec![asked.words()] })
}

/// What the planner makes of the size that was asked for is no part of the question. Where it is to choose, a size that options
/// name is another question: of four blocks another method may be the faster one than of a useful pass.
fn other_ops(written: &Compare, origin: Option<&Compare>, condition: &Condition) -> Option<Replaced> {
    let field = fields::of(condition).find(|it| it.name == "ops")?;
    let asked = origin?.size_asked(condition).ops?;
    let meant: Vec<u64> = written.ops.iter().copied().chain(written.full_ops).collect();
    let is_other = !meant.contains(&asked);
    let of = |ops: u64| Condition { ops, ..condition.clone() };
    is_other.then(|| words(field, &of(asked), &with(condition, meant.iter(), |it, to| it.ops = *to)))
}

fn with<'a, T: 'a>(
    condition: &Condition,
    values: impl Iterator<Item = &'a T>,
    set: impl Fn(&mut Condition, &T),
) -> Vec<Condition> {
    let with = |value| {
        let mut one = condition.clone();
        set(&mut one, value);
        one
    };
    values.map(with).collect()
}

fn words(field: &Field, measured: &Condition, written: &[Condition]) -> Replaced {
    Replaced { measured: (field.words)(measured), written: distinct(written.iter().map(field.words)) }
}
