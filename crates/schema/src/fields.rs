//! The fields of a condition, in one table: what each is called, how it is shown and read back, and what it decides.
//! Labels, the columns of the CSV, filters (`--cell`, `--fail-if`) and the pairing of cells across runs follow from it.

use std::collections::BTreeSet;

use crate::{
    Beside, Bytes, Condition, Descriptor, Durability, Fill, Layout, Span, Workload,
    condition::{Storage, whole},
    experiment::Range,
    trace::Traced,
};

/// What two conditions that differ in a field are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Different questions: their cells are never compared across runs.
    Asked,
    /// The same question about something else: its answers are not comparable.
    Subject,
    /// The same question, with a pass of another size: the planner's choice, unless the experiment gives it.
    Size,
}

/// A field: one entry of `FIELDS`.
pub struct Field {
    pub name: &'static str,
    pub role: Role,
    /// Which conditions have it: those of commands have no blocks, threads or offsets, and only what starts in the page
    /// cache was filled.
    pub of: fn(&Condition) -> bool,
    pub same: fn(&Condition, &Condition) -> bool,
    /// As labels show it: the whole value, so that different values never read the same. Empty where there is none.
    pub words: fn(&Condition) -> String,
    /// Sets the field to what the words say; `false` when they say something else.
    pub read: fn(&mut Condition, &str) -> bool,
    /// Columns of the CSV; an empty value is an empty cell.
    pub columns: &'static [Column],
}

/// The name of a column, and its value.
pub type Column = (&'static str, fn(&Condition) -> String);

/// Workload, block and state: the beginning of every label, in this order.
const CORE: [&str; 3] = ["workload", "block", "state"];

/// What stands between the value that an arm has and that of its condition, and for a value that one of them lacks.
pub(crate) const INSTEAD: &str = " instead of ";
pub(crate) const NONE: &str = "none";

const MEMORY: &str = "memory";

/// The table, in the order of the CSV.
pub const FIELDS: &[Field] = &[
    Field {
        name: "workload",
        role: Role::Asked,
        of: |_| true,
        same: |a, b| a.workload == b.workload && accesses(a).zip(accesses(b)).is_none_or(|(a, b)| a == b),
        words: Condition::work,
        read: |it, text| match replayed(text) {
            Some(accesses) => {
                it.trace.get_or_insert_with(|| Traced::none(0)).accesses = accesses;
                set(&mut it.workload, Some(Workload::Replay))
            }
            None => set(&mut it.workload, text.parse().ok()),
        },
        columns: &[("workload", |it| it.workload.to_string())],
    },
    Field {
        name: "consume",
        role: Role::Asked,
        of: |it| it.workload.consumes(),
        same: |a, b| a.consume == b.consume,
        words: |it| it.consume.to_string(),
        read: |it, text| set(&mut it.consume, text.parse().ok()),
        columns: &[("consume", |it| it.consume.to_string())],
    },
    Field {
        name: "block",
        role: Role::Asked,
        of: |it| it.workload.has_blocks(),
        same: |a, b| a.block_bytes == b.block_bytes,
        words: |it| Bytes(it.block_bytes).exact(),
        read: |it, text| set(&mut it.block_bytes, size(text)),
        columns: &[("block_bytes", |it| it.block_bytes.to_string())],
    },
    Field {
        name: "state",
        role: Role::Asked,
        of: |_| true,
        same: |a, b| a.state == b.state,
        words: |it| it.state.to_string(),
        read: |it, text| set(&mut it.state, text.parse().ok()),
        columns: &[("state", |it| it.state.to_string())],
    },
    Field {
        name: "file",
        role: Role::Subject,
        of: |_| true,
        same: |a, b| a.file_bytes == b.file_bytes,
        words: |it| format!("file of {}", Bytes(it.file_bytes).exact()),
        read: |it, text| set(&mut it.file_bytes, text.strip_prefix("file of ").and_then(size)),
        columns: &[("file_bytes", |it| it.file_bytes.to_string())],
    },
    Field {
        name: "threads",
        role: Role::Asked,
        of: |it| !it.is_of_commands(),
        same: |a, b| a.threads == b.threads,
        words: |it| if it.threads == 1 { "1 thread".into() } else { format!("{} threads", it.threads) },
        read: |it, text| set(&mut it.threads, number(text, &[" threads", " thread"])),
        columns: &[("threads", |it| it.threads.to_string())],
    },
    Field {
        name: "descriptor",
        role: Role::Asked,
        of: |it| !it.is_of_commands(),
        same: |a, b| a.descriptor == b.descriptor,
        words: |it| format!("{} descriptor", it.descriptor),
        read: |it, text| set(&mut it.descriptor, text.trim_end_matches(" descriptor").parse::<Descriptor>().ok()),
        columns: &[("descriptor", |it| it.descriptor.to_string())],
    },
    Field {
        name: "durability",
        role: Role::Asked,
        of: |it| it.workload.writes(),
        same: |a, b| a.durability == b.durability,
        words: |it| match it.durability {
            Durability::None => "not synced".into(),
            other => other.to_string(),
        },
        read: |it, text| {
            let word = if text == "not synced" { "none" } else { text };
            set(&mut it.durability, word.parse().ok())
        },
        columns: &[("durability", |it| it.durability.to_string())],
    },
    Field {
        name: "storage",
        role: Role::Asked,
        of: |it| !it.is_of_commands(),
        same: |a, b| limits(a) == limits(b),
        words: |it| match limits(it) {
            (None, None) => "storage as it is".into(),
            (bytes, ops) => {
                let limits =
                    bytes.map(|it| Bytes(it).exact_rate()).into_iter().chain(ops.map(|it| format!("{it} reads/s")));
                format!("at {}", limits.collect::<Vec<String>>().join(" and "))
            }
        },
        read: |it, text| set(&mut it.storage, storage(text)),
        columns: &[
            ("storage_read_bytes_per_s", |it| optional(limits(it).0)),
            ("storage_read_ops_per_s", |it| optional(limits(it).1)),
        ],
    },
    Field {
        name: "range",
        role: Role::Size,
        of: |it| !it.is_of_commands(),
        same: |a, b| a.range == b.range,
        words: |it| match it.range.offset {
            0 => format!("range of {}", Bytes(it.range.bytes).exact()),
            offset => format!("range of {} at {}", Bytes(it.range.bytes).exact(), Bytes(offset).exact()),
        },
        read: |it, text| {
            let range = |text: &str| {
                let (bytes, offset) = text.split_once(" at ").unwrap_or((text, "0 B"));
                Some(Span { bytes: size(bytes)?, offset: size(offset)? })
            };
            set(&mut it.range, text.strip_prefix("range of ").and_then(range))
        },
        columns: &[
            ("range_offset", |it| it.range.offset.to_string()),
            ("range_bytes", |it| it.range.bytes.to_string()),
        ],
    },
    Field {
        name: "aligned",
        role: Role::Asked,
        of: |it| it.workload.has_blocks(),
        same: |a, b| a.aligned == b.aligned,
        words: |it| if it.aligned { "aligned" } else { "unaligned" }.into(),
        read: |it, text| {
            let words = [("aligned", true), ("unaligned", false)];
            set(&mut it.aligned, words.into_iter().find(|(word, _)| *word == text).map(|(_, aligned)| aligned))
        },
        columns: &[("aligned", |it| it.aligned.to_string())],
    },
    Field {
        name: "ops",
        role: Role::Size,
        of: |it| !it.is_of_commands(),
        same: |a, b| a.ops == b.ops,
        words: |it| format!("{} ops", it.ops),
        read: |it, text| set(&mut it.ops, number(text, &[" ops"])),
        columns: &[("ops", |it| it.ops.to_string())],
    },
    Field {
        name: "consumed",
        role: Role::Asked,
        of: |it| !it.is_of_commands(),
        same: |a, b| a.consumed_percent == b.consumed_percent,
        words: |it| format!("{} % of each block", it.consumed_percent),
        read: |it, text| set(&mut it.consumed_percent, number(text, &[" % of each block", "% of each block"])),
        columns: &[("consumed_percent", |it| it.consumed_percent.to_string())],
    },
    Field {
        name: "layout",
        role: Role::Asked,
        of: |it| it.workload.has_layout(),
        same: |a, b| layout(a) == layout(b),
        words: |it| layout(it).map_or(String::new(), |it| it.to_string()),
        read: |it, text| text.parse().is_ok_and(|layout| set(&mut it.layout, Some(Some(layout)))),
        columns: &[("layout", |it| optional(layout(it)))],
    },
    Field {
        name: MEMORY,
        role: Role::Subject,
        of: |it| it.memory_bytes.is_some(),
        same: |a, b| a.memory_bytes == b.memory_bytes,
        words: |it| it.memory_bytes.map_or(String::new(), |it| format!("{} of memory", Bytes(it).exact())),
        read: |it, text| {
            text.strip_suffix(" of memory")
                .and_then(size)
                .is_some_and(|size| set(&mut it.memory_bytes, Some(Some(size))))
        },
        columns: &[("memory_bytes", |it| optional(it.memory_bytes))],
    },
    Field {
        name: "fill",
        role: Role::Asked,
        of: |it| it.state.is_filled(),
        same: |a, b| a.fill.unwrap_or(Fill::Sequential) == b.fill.unwrap_or(Fill::Sequential),
        words: |it| it.fill().map_or(String::new(), |it| format!("fill {it}")),
        read: |it, text| {
            let fill = text.strip_prefix("fill ").and_then(|it| it.parse().ok());
            fill.is_some_and(|fill| set(&mut it.fill, Some(Some(fill))))
        },
        columns: &[("fill", |it| optional(it.fill()))],
    },
    Field {
        name: "trace",
        role: Role::Asked,
        of: |it| it.trace.is_some(),
        same: |a, b| trace(a) == trace(b),
        words: |it| trace(it).map_or(String::new(), |(digest, file)| format!("trace {digest} file {file}")),
        read: |it, text| {
            let known = it.trace.clone().unwrap_or_else(|| Traced::none(0));
            let read = |text: &str| {
                let (digest, file) = text.split_once(" file ")?;
                Some(Some(Traced { digest: digest.into(), file: file.parse().ok()?, ..known }))
            };
            set(&mut it.trace, text.strip_prefix("trace ").and_then(read))
        },
        columns: &[("trace", |it| it.trace.as_ref().map_or(String::new(), |it| it.digest.clone()))],
    },
    Field {
        name: "beside",
        role: Role::Asked,
        of: |it| !it.is_of_commands(),
        same: |a, b| a.beside == b.beside,
        words: |it| match it.beside {
            Beside::Nothing => "nothing beside".into(),
            Beside::Beat => "beside a beat".into(),
        },
        read: |it, text| {
            let words = [("nothing beside", Beside::Nothing), ("beside a beat", Beside::Beat)];
            set(&mut it.beside, words.into_iter().find(|(words, _)| *words == text).map(|(_, beside)| beside))
        },
        columns: &[("beside", |it| it.beside.to_string())],
    },
    Field {
        name: "own work",
        role: Role::Size,
        of: |it| it.own_work_ns > 0,
        // It is measured, and not asked for.
        same: |_, _| true,
        words: |_| String::new(),
        read: |_, _| false,
        columns: &[("own_work_ns", |it| optional(Some(it.own_work_ns).filter(|it| *it > 0)))],
    },
];

impl Field {
    pub fn is_core(&self) -> bool {
        CORE.contains(&self.name)
    }
}

/// The fields that a condition has.
pub fn of(condition: &Condition) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(|it| (it.of)(condition))
}

/// Whether two conditions agree in every field of a role.
pub fn agree(role: Role, a: &Condition, b: &Condition) -> bool {
    FIELDS.iter().filter(|it| it.role == role).all(|it| (it.same)(a, b))
}

/// In which fields of a role two conditions differ, in the words of both.
pub fn differences(role: Role, a: &Condition, b: &Condition) -> Vec<(&'static Field, String, String)> {
    let differ = FIELDS.iter().filter(|it| it.role == role && ((it.of)(a) || (it.of)(b)) && !(it.same)(a, b));
    differ.map(|it| (it, (it.words)(a), (it.words)(b))).collect()
}

/// In which fields two conditions that ask the same are about something else, with the words of both. Where the experiment
/// leaves the range open, it and the memory that follows from it are the planner's, so the share of it is compared.
pub fn other_subject(a: &Condition, b: &Condition, range: Option<Range>) -> Vec<(&'static Field, String, String)> {
    let mut differ = differences(Role::Subject, a, b);
    if range.is_none() && a.memory_share().is_some_and(|it| b.memory_share() == Some(it)) {
        differ.retain(|(field, ..)| field.name != MEMORY);
    }
    differ
}

/// `scan 4 KiB cached`
pub fn core(condition: &Condition) -> String {
    let fields = CORE.iter().filter_map(|name| FIELDS.iter().find(|it| it.name == *name));
    fields.filter(|it| (it.of)(condition)).map(|it| (it.words)(condition)).collect::<Vec<String>>().join(" ")
}

/// What each of some conditions asks that not all of them ask: `64 KiB, fill sequential`. Nothing where two would read the same.
pub fn apart(conditions: &[&Condition]) -> Option<Vec<String>> {
    let differs =
        |field: &&Field| field.role == Role::Asked && conditions.windows(2).any(|pair| !(field.same)(pair[0], pair[1]));
    let differing: Vec<&Field> = FIELDS.iter().filter(differs).collect();
    let words = |it: &&Condition| -> String {
        let had = differing.iter().filter(|field| (field.of)(it)).map(|field| (field.words)(it));
        had.filter(|it| !it.is_empty()).collect::<Vec<String>>().join(", ")
    };
    let apart: Vec<String> = conditions.iter().map(words).collect();
    let distinct: BTreeSet<&String> = apart.iter().filter(|it| !it.is_empty()).collect();
    (distinct.len() == conditions.len()).then_some(apart)
}

/// What a question has that few questions have: fields that are not as in `Condition::plain`.
pub(crate) fn unusual(condition: &Condition) -> impl Iterator<Item = String> {
    // A replay has a trace as every other one has; several are told apart by it where they stand beside each other.
    let (workload, trace) = (condition.workload, condition.trace.clone());
    let plain = Condition { workload, trace, ..Condition::plain(condition.file_bytes) };
    let fields =
        of(condition).filter(move |it| it.role == Role::Asked && !it.is_core() && !(it.same)(&plain, condition));
    fields.map(|it| (it.words)(condition)).filter(|it| !it.is_empty())
}

/// A selection of conditions: fields with a value each.
#[derive(Clone)]
pub struct Filter {
    fields: Vec<&'static Field>,
    /// Has the values.
    like: Condition,
}

impl Filter {
    /// Takes from both ends of `words` what labels show of a condition, in any order; the rest is returned.
    pub fn parse<'w, 'a>(mut words: &'w [&'a str]) -> (Filter, &'w [&'a str]) {
        let mut filter = Filter { fields: Vec::new(), like: Condition::plain(0) };
        while let Some(length) = filter.take(words.len(), |length| &words[..length]) {
            words = &words[length..];
        }
        while let Some(length) = filter.take(words.len(), |length| &words[words.len() - length..]) {
            words = &words[..words.len() - length];
        }
        (filter, words)
    }

    /// Takes the longest phrase that is the value of a field which has none yet, or says what an arm has instead of one.
    /// How many words were taken.
    fn take<'w, 'a: 'w>(&mut self, words: usize, phrase: impl Fn(usize) -> &'w [&'a str]) -> Option<usize> {
        /// `range of 64 MiB at 128 KiB instead of range of 64 MiB at 1 MiB`
        const LONGEST: usize = 2 * 7 + 2;
        (1..=LONGEST.min(words)).rev().find(|&length| {
            let phrase = phrase(length).join(" ");
            // Labels put commas between them.
            let phrase = phrase.trim_end_matches([',', ':']);
            let mut open = FIELDS.iter().filter(|it| self.fields.iter().all(|known| known.name != it.name));
            let field = open.find(|it| (it.read)(&mut self.like, phrase));
            self.fields.extend(field);
            field.is_some() || is_instead(phrase)
        })
    }

    pub fn selects(&self, condition: &Condition) -> bool {
        self.fields.iter().all(|it| (it.of)(condition) && (it.same)(&self.like, condition))
    }
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_list().entries(self.fields.iter().map(|it| (it.words)(&self.like))).finish()
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Filter) -> bool {
        let among = |of: &Filter, all: &Filter| {
            of.fields
                .iter()
                .all(|it| all.fields.iter().any(|other| other.name == it.name) && (it.same)(&of.like, &all.like))
        };
        among(self, other) && among(other, self)
    }
}

impl Condition {
    /// One ascending pass over all of a file with nothing special about it; the caller sets what differs.
    pub fn plain(file_bytes: u64) -> Condition {
        Condition {
            workload: Workload::Scan,
            consume: crate::Consume::Sum,
            block_bytes: file_bytes,
            state: crate::State::AsIs,
            file_bytes,
            threads: 1,
            descriptor: Descriptor::PerThread,
            durability: Durability::None,
            storage: None,
            range: Span { offset: 0, bytes: file_bytes },
            aligned: true,
            ops: 0,
            consumed_percent: whole(),
            layout: None,
            memory_bytes: None,
            fill: None,
            trace: None,
            beside: Beside::Nothing,
            own_work_ns: 0,
        }
    }
}

/// What labels say of an arm with settings of its own: `64 KiB instead of 4 KiB`. It is the arm's, and selects no condition.
fn is_instead(phrase: &str) -> bool {
    let Some((own, described)) = phrase.split_once(INSTEAD) else { return false };
    let is_of = |field: &Field, text: &str| text == NONE || (field.read)(&mut Condition::plain(0), text);
    FIELDS.iter().any(|field| is_of(field, own) && is_of(field, described))
}

fn set<T>(field: &mut T, value: Option<T>) -> bool {
    value.map(|value| *field = value).is_some()
}

fn size(text: &str) -> Option<u64> {
    text.parse::<Bytes>().ok().map(|it| it.0)
}

fn number<T: std::str::FromStr>(text: &str, units: &[&str]) -> Option<T> {
    units.iter().find_map(|unit| text.strip_suffix(unit)).and_then(|it| it.parse().ok())
}

fn limits(condition: &Condition) -> (Option<u64>, Option<u64>) {
    condition.storage.map_or((None, None), |it| (it.read_bytes_per_s, it.read_ops_per_s))
}

fn storage(text: &str) -> Option<Option<Storage>> {
    if text == "storage as it is" {
        return Some(None);
    }
    let mut storage = Storage { read_bytes_per_s: None, read_ops_per_s: None };
    for limit in text.strip_prefix("at ")?.split(" and ") {
        match limit.strip_suffix(" reads/s") {
            Some(ops) => storage.read_ops_per_s = Some(ops.parse().ok()?),
            None => storage.read_bytes_per_s = Some(limit.strip_suffix("/s")?.parse::<Bytes>().ok()?.0),
        }
    }
    Some(Some(storage))
}

/// How many accesses a replay makes, where that is known.
fn accesses(condition: &Condition) -> Option<u64> {
    condition.trace.as_ref().map(|it| it.accesses).filter(|&it| it > 0)
}

/// The number of `Condition::work`, with or without its commas.
fn replayed(text: &str) -> Option<u64> {
    number(&text.strip_prefix("replay of ")?.replace(',', ""), &[" accesses", " access"])
}

/// Which accesses a replay makes.
fn trace(condition: &Condition) -> Option<(&str, u32)> {
    condition.trace.as_ref().map(|it| (it.short(), it.file))
}

/// What is not said of a file that is written over means that it was written before. One that is appended to has none, whatever older
/// records say.
fn layout(condition: &Condition) -> Option<Layout> {
    condition.workload.has_layout().then(|| condition.layout.unwrap_or(Layout::Written))
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

impl Condition {
    /// `scan 4 KiB cached`, and what few conditions have. To distinguish several conditions, `Labels` says
    /// what they are called.
    pub fn label(&self) -> String {
        [core(self)].into_iter().chain(unusual(self)).collect::<Vec<String>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Consume, State, experiment::Where};

    fn filter(text: &str) -> Filter {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (filter, rest) = Filter::parse(&words);
        assert!(rest.is_empty(), "{rest:?}");
        filter
    }

    #[test]
    fn what_is_appended_to_has_no_layout_whatever_a_record_says() {
        let of = |workload, layout| Condition { workload, layout, ..Condition::plain(1 << 20) };
        let [append, overwrite] = [crate::Workload::Append, crate::Workload::Overwrite];
        assert_eq!([layout(&of(append, Some(Layout::Sparse))), layout(&of(append, None))], [None, None]);
        assert_eq!(layout(&of(overwrite, None)), Some(Layout::Written));
        assert!(!of(append, None).is_on_device() && of(overwrite, None).is_on_device());
    }

    #[test]
    fn conditions_are_told_apart_by_what_they_differ_in_or_not_at_all() {
        let of = |block_bytes, fill| Condition {
            block_bytes,
            state: State::Cached,
            fill: Some(fill),
            ..Condition::plain(1 << 20)
        };
        let [small, large, written] =
            [of(4096, Fill::Sequential), of(65_536, Fill::Sequential), of(4096, Fill::Random)];
        let apart = |all: &[&Condition]| apart(all);
        assert_eq!(apart(&[&small, &large]).unwrap(), ["4 KiB", "64 KiB"]);
        let both = ["4 KiB, fill sequential", "64 KiB, fill sequential", "4 KiB, fill random"];
        assert_eq!(apart(&[&small, &large, &written]).unwrap(), both);
        // Of sizes that the planner chose, and of one condition alone, nothing is said.
        let longer = Condition { ops: 7, ..small.clone() };
        assert_eq!((apart(&[&small, &longer]), apart(&[&small])), (None, None));
    }

    #[test]
    fn a_range_is_read_back_with_its_offset_or_as_the_first_part_of_the_file() {
        let range = |offset: u64| Condition { range: Span { offset, bytes: 64 << 20 }, ..Condition::plain(1 << 30) };
        assert_eq!(filter("range of 64 MiB"), filter("range of 64 MiB at 0 B"));
        for (words, offset) in [("range of 64 MiB", 0), ("range of 64 MiB at 2 MiB", 2 << 20)] {
            let field = FIELDS.iter().find(|it| it.name == "range").unwrap();
            assert_eq!((field.words)(&range(offset)), words);
            assert!(filter(words).selects(&range(offset)) && !filter(words).selects(&range(1 << 20)), "{words}");
        }
    }

    #[test]
    fn what_is_said_of_a_field_selects_no_condition_that_lacks_the_field() {
        let under = |state, fill| Condition { state, fill, ..Condition::plain(1 << 20) };
        let sequential = filter("fill sequential");
        for state in State::ALL {
            let plain = under(*state, None);
            assert_eq!(sequential.selects(&plain), state.is_filled(), "{state}");
            // A label is read back as a filter.
            assert!(filter(&core(&plain)).selects(&plain), "{state}");
        }
        assert!(sequential.selects(&under(State::Mapped, Some(Fill::Sequential))));
        assert!(!sequential.selects(&under(State::Mapped, Some(Fill::Random))));
        assert!(!filter("fill random").selects(&under(State::Cold, Some(Fill::Random))), "a cold file has no fill");
        let reads = under(State::Cold, None);
        let writes = Condition { workload: Workload::Overwrite, ..reads.clone() };
        assert!(filter("not synced").selects(&writes) && !filter("not synced").selects(&reads));
        // Nor does a claim.
        let not_synced = Where { durability: vec![Durability::None], ..Where::default() };
        let sums = Where { consume: vec![Consume::Sum], ..Where::default() };
        assert_eq!([&writes, &reads].map(|it| not_synced.selects(None, it)), [true, false]);
        assert_eq!([&writes, &reads].map(|it| sums.selects(None, it)), [false, true]);
        let limited = |read_bytes_per_s, read_ops_per_s| {
            let storage = Some(Storage { read_bytes_per_s, read_ops_per_s });
            Condition { storage, ..reads.clone() }
        };
        let unlimited = Where { read_bps: vec![Bytes(0)], ..Where::default() };
        let selected =
            [&reads, &limited(None, Some(100)), &limited(Some(7), None)].map(|it| unlimited.selects(None, it));
        assert_eq!(selected, [true, false, false]);
        let of_trace = |digest: &str| Condition {
            workload: Workload::Replay,
            trace: Some(Traced {
                digest: digest.into(),
                file: 1,
                accesses: 19_616,
                bytes: 1,
                longest_bytes: 1,
                end_bytes: 1,
                files: 1,
                threads: 1,
                around_ns: None,
            }),
            ..Condition::plain(1 << 20)
        };
        let (one, other) = (of_trace("0123456789abcdef"), of_trace("0123456789abffff"));
        assert_eq!(one.label(), "replay of 19,616 accesses as-is");
        assert!(filter("replay of 19,616 accesses as-is").selects(&one));
        assert!(filter("replay of 19616 accesses").selects(&one) && filter("replay").selects(&one));
        assert!(!filter("replay of 19,617 accesses").selects(&one), "that is another replay");
        assert!(filter("replay of 19,616 accesses trace 0123456789ab file 1").selects(&one));
        assert!(!filter("trace 0123456789ac file 1 replay of 19,616 accesses").selects(&one));
        assert!(!filter("replay").selects(&Condition::plain(1 << 20)) && !filter("random").selects(&one));
        let differ = differences(Role::Asked, &one, &of_trace("f"));
        let words: Vec<(&str, &str)> = differ.iter().map(|it| (it.1.as_str(), it.2.as_str())).collect();
        assert_eq!(words, [("trace 0123456789ab file 1", "trace f file 1")]);
        assert!(filter(words[0].0).selects(&one) && !filter(words[0].1).selects(&one));
        assert!(agree(Role::Asked, &one, &other), "so many digits are enough");
        let command = Condition { workload: Workload::Command, ..Condition::plain(1 << 20) };
        assert!(!filter("1 thread").selects(&command) && !filter("written").selects(&command));
        assert!(filter("command as-is").selects(&command));
    }
}
