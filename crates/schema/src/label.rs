//! What the conditions of one list are called: as short as they can be, and no two that differ read the same.
//! Labels are for people. What something is, its `ConditionId` says.

use std::collections::{BTreeMap, HashMap};

use crate::{
    Condition, Record,
    fields::{self, Role},
    own,
};

/// Of each condition of a list, by its place.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    labels: Vec<Label>,
}

#[derive(Debug, Clone, Default)]
struct Label {
    core: String,
    also: Vec<String>,
    /// Worth saying although all have it.
    unusual: Vec<String>,
}

impl Label {
    fn further(&self) -> impl Iterator<Item = &String> {
        self.also.iter().chain(self.unusual.iter().filter(|it| !self.also.contains(it)))
    }

    fn text(&self) -> String {
        [&self.core]
            .into_iter()
            .chain(self.further())
            .filter(|it| !it.is_empty())
            .cloned()
            .collect::<Vec<String>>()
            .join(", ")
    }
}

impl Labels {
    /// To distinguish conditions, each with further words for where its fields do not suffice, the most
    /// telling first.
    pub fn new(items: &[(&Condition, Vec<String>)]) -> Labels {
        let differs: Vec<_> = fields::FIELDS
            .iter()
            .filter(|field| items.windows(2).any(|pair| !(field.same)(pair[0].0, pair[1].0)))
            .filter(|field| !field.is_core())
            .collect();
        let words = |role: fn(Role) -> bool, it: &Condition| -> Vec<String> {
            let shown =
                fields::of(it).filter(|field| role(field.role) && differs.iter().any(|it| it.name == field.name));
            shown.map(|field| (field.words)(it)).filter(|it| !it.is_empty()).collect()
        };
        let asked: Vec<Label> = items
            .iter()
            .map(|(it, _)| Label {
                core: fields::core(it),
                also: words(|role| role == Role::Asked, it),
                unusual: fields::unusual(it).collect(),
            })
            .collect();
        let mut labels = Labels { labels: asked };
        // Usually omitted fields are added where two labels would be equal without them. Sizes of passes are often chosen by a
        // planner, so the most telling word stands before them.
        let omitted = |role: Role| differs.iter().filter(move |it| it.role == role);
        let most = items.iter().map(|it| it.1.len()).max().unwrap_or(0);
        omitted(Role::Subject).for_each(|field| labels.tell_apart(|at| Some((field.words)(items[at].0))));
        labels.tell_apart(|at| items[at].1.first().cloned());
        omitted(Role::Size).for_each(|field| labels.tell_apart(|at| Some((field.words)(items[at].0))));
        (1..most).for_each(|further| labels.tell_apart(|at| items[at].1.get(further).cloned()));
        labels
    }

    /// Of the conditions of a run. Those of two comparisons may be equal; then the comparison is named.
    pub fn of(record: &Record) -> Labels {
        Labels::of_some(record, |_| true)
    }

    /// As `of`, of conditions that stand beside no others; the rest has no labels.
    pub fn of_some(record: &Record, wanted: impl Fn(usize) -> bool) -> Labels {
        Labels::of_these(record, &record.conditions, wanted)
    }

    /// As `of`, where passes of any size are one question: conditions of one comparison that differ in `ops` and range alone
    /// read the same.
    pub fn of_questions(record: &Record) -> Labels {
        let rest: Vec<Condition> = record.conditions.iter().map(Condition::without_size).collect();
        let mut known = HashMap::new();
        let first: Vec<usize> =
            rest.iter().enumerate().map(|(at, it)| *known.entry((it, record.origins.get(at))).or_insert(at)).collect();
        let of_first = Labels::of_these(record, &rest, |at| first[at] == at);
        Labels { labels: first.iter().map(|&at| of_first.labels[at].clone()).collect() }
    }

    fn of_these(record: &Record, conditions: &[Condition], wanted: impl Fn(usize) -> bool) -> Labels {
        let wanted: Vec<usize> = (0..conditions.len()).filter(|it| wanted(*it)).collect();
        let items: Vec<(&Condition, Vec<String>)> = wanted
            .iter()
            .map(|&index| {
                let origin = record.origins.get(index).copied();
                let compare = origin.and_then(|it| record.experiment.comparisons.get(it));
                let comparison = compare.map_or_else(Vec::new, |it| it.words(origin));
                (&conditions[index], comparison.into_iter().chain([format!("condition {}", index + 1)]).collect())
            })
            .collect();
        let mut labels = vec![Label::default(); conditions.len()];
        for (index, label) in wanted.iter().zip(Labels::new(&items).labels) {
            labels[*index] = label;
        }
        Labels { labels }
    }

    /// Adds words to those that read the same and would read differently with them.
    fn tell_apart(&mut self, words: impl Fn(usize) -> Option<String>) {
        let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, label) in self.labels.iter().enumerate() {
            alike.entry(label.text()).or_default().push(at);
        }
        for group in alike.into_values() {
            let described: Vec<String> = group.iter().map(|&at| words(at).unwrap_or_default()).collect();
            if described.windows(2).any(|pair| pair[0] != pair[1]) {
                for (at, described) in group.into_iter().zip(described).filter(|(_, described)| !described.is_empty()) {
                    self.labels[at].also.push(described);
                }
            }
        }
    }

    /// `scan 4 KiB cached, 4 threads`
    pub fn label(&self, at: usize) -> String {
        self.labels.get(at).map(Label::text).unwrap_or_default()
    }

    /// What a cell did: the label of its condition with what its arm has instead, by the cell's index.
    /// `scan 4 KiB cached, 64 KiB instead of 4 KiB`
    pub fn of_cell(&self, record: &Record, cell: usize) -> String {
        let condition = record.cells.get(cell).map_or_else(String::new, |it| self.label(it.condition));
        condition + &own_of_cell(record, cell)
    }

    /// What distinguishes it from the others besides workload, block and state: `4 threads`. Empty if those suffice.
    pub fn also(&self, at: usize) -> String {
        self.also_of_all(&[at])
    }

    /// As `also`, as far as it is true of all of these conditions.
    pub fn also_of_all(&self, of: &[usize]) -> String {
        let has = |at: &usize, word: &String| self.labels.get(*at).is_some_and(|it| it.further().any(|it| it == word));
        let first = of.first().and_then(|&at| self.labels.get(at));
        let words = first.into_iter().flat_map(Label::further).filter(|word| of.iter().all(|at| has(at, word)));
        words.cloned().collect::<Vec<String>>().join(", ")
    }
}

/// What the arm of a cell has instead of its condition, to stand behind a label or a name. Empty if nothing.
/// `, 64 KiB instead of 4 KiB`
pub fn own_of_cell(record: &Record, cell: usize) -> String {
    let found = record.cells.get(cell).and_then(|it| Some((it, record.conditions.get(it.condition)?)));
    found
        .map_or_else(String::new, |(cell, condition)| own::label(String::new(), cell.own_condition.as_ref(), condition))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fields::Filter, saved::CellPattern};

    #[test]
    fn an_unusual_consume_is_said_although_all_conditions_have_it() {
        let touch = Condition { consume: crate::Consume::Touch, ..Condition::plain(1 << 20) };
        let larger = Condition { block_bytes: 4096, ..touch.clone() };
        let labels = Labels::new(&[(&touch, Vec::new()), (&larger, Vec::new())]);
        assert_eq!((labels.also(0), labels.also(1)), ("touch".to_string(), "touch".to_string()));
    }

    #[test]
    fn of_several_conditions_only_that_is_said_which_all_of_them_have() {
        let of = |threads, ops| Condition { threads, ops, ..Condition::plain(1 << 20) };
        let conditions = [of(2, 10), of(2, 20), of(4, 10)];
        let items: Vec<(&Condition, Vec<String>)> = conditions.iter().map(|it| (it, Vec::new())).collect();
        let labels = Labels::new(&items);
        let (alone, both) = (labels.also(0), labels.also_of_all(&[0, 1]));
        assert!(alone.contains(&both) && alone.len() > both.len() && !both.is_empty(), "{alone:?} {both:?}");
        assert_eq!(labels.also_of_all(&[0, 1, 2]), "");
    }

    #[test]
    fn what_an_arm_has_instead_is_said_and_does_not_keep_its_label_from_being_read_back() {
        let condition = Condition { state: crate::State::Locked, ..Condition::plain(1 << 20) };
        let condition = Condition { block_bytes: 4096, ..condition };
        let own = Condition { block_bytes: 65_536, state: crate::State::Cached, ops: 7, ..condition.clone() };
        let label = own::label(Labels::new(&[(&condition, Vec::new())]).label(0), Some(&own), &condition);
        assert_eq!(
            label,
            "scan 4 KiB locked, 64 KiB instead of 4 KiB, cached instead of locked, 7 ops instead of 0 ops"
        );
        for written in [format!("{label} native/pread (own)"), format!("native/pread (own) {label}")] {
            let pattern: CellPattern = written.parse().unwrap();
            assert!(pattern.is_about("native/pread (own)", &condition), "{written}");
            assert!(!pattern.is_about("native/pread (own)", &own), "it is its condition that is asked for");
        }
    }

    #[test]
    fn the_name_of_a_comparison_stands_before_the_size_of_a_pass() {
        let of = |ops| Condition { ops, ..Condition::plain(1 << 20) };
        let (small, large) = (of(10), of(20));
        let of = |it, name: &str| (it, vec![name.to_string()]);
        let two = Labels::new(&[of(&small, "random"), of(&large, "threads")]);
        assert_eq!([two.also(0), two.also(1)], ["random", "threads"]);
        let one = Labels::new(&[of(&small, "random"), of(&large, "random")]);
        assert_eq!([one.also(0), one.also(1)], ["10 ops", "20 ops"]);
    }

    #[test]
    fn conditions_that_differ_or_come_from_two_comparisons_never_read_the_same() {
        let plain = Condition { block_bytes: 4999, ..Condition::plain(1 << 20) };
        let threads = Condition { threads: 4, ..plain.clone() };
        let memory = Condition { memory_bytes: Some(4097), ..plain.clone() };
        let all = [&plain, &threads, &memory, &plain];
        let items: Vec<_> =
            all.into_iter().enumerate().map(|(at, it)| (it, vec![format!("comparison {at}")])).collect();
        let labels = Labels::new(&items);
        let texts: std::collections::BTreeSet<String> = (0..all.len()).map(|at| labels.label(at)).collect();
        assert_eq!(texts.len(), all.len(), "{texts:?}");
        for (at, condition) in all.into_iter().enumerate().take(3).skip(1) {
            let pattern: CellPattern = format!("{} native/mmap", labels.label(at)).parse().unwrap();
            assert!(pattern.is_about("native/mmap", condition), "{}", labels.label(at));
        }
        for written in ["scan 4 KiB cold pread (half)", "native/pread (half) scan", "pread (half) scan 4KiB"] {
            let pattern: CellPattern = written.parse().unwrap();
            assert_eq!(pattern.arm, "native/pread (half)", "{written}");
        }
        let pattern: CellPattern = "jvm/stream (own file) scan".parse().unwrap();
        assert_eq!(pattern.arm, "jvm/stream (own file)");
        let words = ["range", "of", "4", "KiB", "at", "1", "MiB"];
        assert!(Filter::parse(&words).1.is_empty());
    }
}
