//! An experiment's file: read, checked, and every mistake in it found at its line.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, de};
use toml::Spanned;

use super::{
    BUDGET_MAX_S, Claim, Compare, Competitor, Experiment, Figure, Override, Range, Study, Throttle, TraceAsked,
    Variant,
    compare::{in_order, nothing_beside, nothing_synced, plain_storage, written_before},
    one_or_many::OneOrMany,
};
use crate::{Arm, Bytes, Consume, Descriptor, Workload, arm::Options, runtime::NATIVE, units::expected};

/// A problem in an experiment file, at a place people can go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1; absent when the problem is the whole file's.
    pub line: Option<usize>,
    /// What is written on the line, or on the ones that it goes on from: `block`, `[[compare]]`.
    pub key: Option<String>,
    pub message: String,
}

impl Problem {
    /// `my.toml:14: block: …`
    pub fn at(&self, file: &str) -> String {
        let line = self.line.map_or_else(String::new, |line| format!("{line}:"));
        let key = self.key.as_ref().map_or_else(String::new, |key| format!("{key}: "));
        format!("{file}:{line} {key}{}", self.message)
    }

    fn whole(message: String) -> Problem {
        Problem { line: None, key: None, message }
    }

    fn on(text: &str, at: usize, message: &str) -> Problem {
        let at = (0..=at.min(text.len())).rev().find(|&it| text.is_char_boundary(it)).unwrap_or(0);
        let line = text[..at].matches('\n').count() + 1;
        // A message about the key itself has it already.
        let key = key_at(text, line).filter(|key| !message.contains(&format!("key {key:?}")));
        Problem { line: Some(line), key, message: shortened(message) }
    }
}

/// The key of a line, or the one that it goes on from; a table's header where there is none.
fn key_at(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    lines.into_iter().rev().find_map(|line| {
        let line = line.trim();
        if line.starts_with('[') && line.ends_with(']') && line.len() <= KEY_BYTES_MAX && !line.contains('"') {
            return Some(line.to_string());
        }
        let (key, _) = line.split_once('=')?;
        let key = key.trim();
        let plain = |it: char| it.is_ascii_alphanumeric() || "_-.".contains(it);
        (!key.is_empty() && key.len() <= KEY_BYTES_MAX && key.chars().all(plain)).then(|| key.to_string())
    })
}

const KEY_BYTES_MAX: usize = 60;
/// A sentence that quotes a whole file is none.
const MESSAGE_CHARS_MAX: usize = 600;

fn shortened(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{} …", &message[..end]),
        None => message.to_string(),
    }
}

/// No experiment that people write is longer.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// Of arms by name, comparisons, claims and figures, each.
const ENTRIES_MAX: usize = 500;

impl Experiment {
    /// Parses and checks an experiment file.
    ///
    /// # Errors
    /// The first problem, with its line, what was expected and the nearest name.
    pub fn parse(name: &str, text: &str) -> Result<Experiment, Problem> {
        if text.len() > FILE_BYTES_MAX {
            return Err(Problem::whole(format!(
                "an experiment file has at most {FILE_BYTES_MAX} bytes, and this one is larger"
            )));
        }
        let written: Written = toml::from_str(text).map_err(|error| {
            let message = explain(error.message());
            error.span().map_or_else(|| Problem::whole(shortened(&message)), |it| Problem::on(text, it.start, &message))
        })?;
        let problem = |span: std::ops::Range<usize>, message: String| Problem::on(text, span.start, &message);
        if written.compare.is_empty() {
            return Err(Problem::whole("no [[compare]]: an experiment compares at least two arms".into()));
        }
        let counts = [
            ("[arms]", written.arms.len()),
            ("[[compare]]", written.compare.len()),
            ("[[claim]]", written.claim.len()),
            ("[[figure]]", written.figure.len()),
        ];
        if let Some((what, count)) = counts.into_iter().find(|(_, count)| *count > ENTRIES_MAX) {
            return Err(Problem::whole(format!("{count} entries of {what}; an experiment has at most {ENTRIES_MAX}")));
        }
        if let Some(study) = &written.study
            && [study.file_bytes, study.full_file_bytes].contains(&Bytes(0))
        {
            return Err(Problem::whole("[study]: a test file needs at least 1 byte".into()));
        }
        let budgets = [written.budget_s, written.study.as_ref().and_then(|it| it.budget_s)];
        if let Some(wrong) = budgets.into_iter().flatten().find(|it| !(1..=BUDGET_MAX_S).contains(it)) {
            return Err(Problem::whole(format!(
                "budget_s: a run takes at least 1 second and at most a year, and not {wrong} seconds"
            )));
        }
        let (mut named, mut places) = (BTreeMap::new(), Vec::new());
        for (name, spanned) in written.arms {
            let span = spanned.span();
            let spec = spanned.into_inner();
            places.push((name.clone(), span.clone()));
            let arm = Arm::new(&spec.runtime, &spec.method, &spec.options)
                .map_err(|reason| problem(span, format!("arm {name:?}: {reason}")))?;
            named.insert(name.clone(), Competitor::new(arm, Some(name), spec.own));
        }
        let comparisons = written
            .compare
            .into_iter()
            .map(|compare| compare.check(&named, &problem))
            .collect::<Result<Vec<Compare>, Problem>>()?;
        let is_listed =
            |name: &str| comparisons.iter().flat_map(|it| &it.arms).any(|it| it.label.as_deref() == Some(name));
        if let Some((name, span)) = places.into_iter().find(|it| !is_listed(&it.0)) {
            return Err(problem(span, format!("arm {name:?} is in no comparison; list it in one, or leave it out")));
        }
        let experiment = Experiment {
            name: name.to_string(),
            title: written.title,
            question: written.question,
            source: written.source,
            budget_s: written.budget_s,
            study: written.study,
            comparisons,
            claims: written.claim.iter().map(|claim| claim.get_ref().clone()).collect(),
            figures: written.figure.iter().map(|figure| figure.get_ref().clone()).collect(),
            written: Vec::new(),
            filtered_claims: Vec::new(),
        };
        experiment.validate().map_err(|(_, message)| Problem::whole(message))?;
        for claim in &written.claim {
            experiment.check_claim(claim.get_ref()).map_err(|message| problem(claim.span(), message))?;
        }
        for figure in &written.figure {
            experiment.check_figure(figure.get_ref()).map_err(|message| problem(figure.span(), message))?;
        }
        Ok(experiment)
    }
}

/// What the parser found, in the words of this project: its own are about data structures.
fn explain(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let first = quoted.next().unwrap_or_default();
    let (head, tail) = message.split_once(", expected ").unwrap_or((message, ""));
    let (kind, found) = head.split_once(": ").unwrap_or((head, ""));
    match kind {
        _ if kind.starts_with("unknown field") || kind.starts_with("unknown variant") => {
            let known: Vec<&str> = quoted.collect();
            let kind = if kind.starts_with("unknown field") { "key" } else { "word" };
            format!("unknown {kind} {first:?}; {}", expected(first, &known))
        }
        _ if kind.starts_with("missing field") => format!("the key {first:?} is missing"),
        _ if kind.starts_with("duplicate field") => format!("the key {first:?} is there twice"),
        "invalid type" | "invalid value" | "invalid length" => {
            format!("{} is not possible here; expected {}", found_words(found), expected_words(tail))
        }
        _ => message.replace('`', "\""),
    }
}

/// `integer `3`` as the parser says it: `the integer 3`.
fn found_words(found: &str) -> String {
    let found = found.replace('`', "");
    match found.as_str() {
        "map" => "a table".into(),
        "sequence" => "a list".into(),
        "unit value" | "null" => "nothing".into(),
        _ => match found.split_once(' ') {
            Some(("boolean", it)) => it.to_string(),
            Some(("string", it)) => format!("the text {it}"),
            Some(("integer", it)) => format!("the integer {it}"),
            Some(("floating", it)) => format!("the number {}", it.trim_start_matches("point ")),
            _ => found,
        },
    }
}

/// What a type of this file is to people.
fn expected_words(expected: &str) -> String {
    let expected = expected.replace('`', "");
    match expected.as_str() {
        "a string" | "string" | "a borrowed string" => "a text in quotation marks".into(),
        "a sequence" => "a list".into(),
        "a map" | "map" => "a table".into(),
        "a boolean" => "true or false".into(),
        "u64" | "u32" | "usize" | "i64" => "a whole number, 0 or more, that is not too large".into(),
        "f64" => "a number".into(),
        it if it.starts_with("struct ") => "a table".into(),
        it if it.starts_with("enum ") => "a word".into(),
        it if it.starts_with("a sequence") => "a list".into(),
        it => it.replace("string or table", "a word or a table").replace("struct", "table").replace("enum", "word"),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    question: Option<String>,
    source: Option<String>,
    budget_s: Option<u32>,
    study: Option<Study>,
    #[serde(default)]
    arms: BTreeMap<String, Spanned<WrittenArm>>,
    #[serde(default)]
    compare: Vec<WrittenCompare>,
    #[serde(default)]
    claim: Vec<Spanned<Claim>>,
    #[serde(default)]
    figure: Vec<Spanned<Figure>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenArm {
    #[serde(default = "default_runtime")]
    runtime: String,
    method: String,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    own: Override,
}

fn default_runtime() -> String {
    NATIVE.name.into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCompare {
    name: Option<String>,
    variant: Option<Variant>,
    memory: Option<Spanned<f64>>,
    storage: Option<Spanned<OneOrMany<Throttle>>>,
    arms: Vec<Spanned<String>>,
    workload: Spanned<OneOrMany<WrittenWorkload>>,
    block: Option<Spanned<OneOrMany<Bytes>>>,
    state: Spanned<OneOrMany<String>>,
    consume: Option<Spanned<OneOrMany<String>>>,
    threads: Option<Spanned<OneOrMany<u32>>>,
    descriptor: Option<Spanned<OneOrMany<String>>>,
    aligned: Option<Spanned<OneOrMany<bool>>>,
    range: Option<Spanned<Range>>,
    ops: Option<Spanned<OneOrMany<u64>>>,
    full_range: Option<Spanned<Range>>,
    full_ops: Option<Spanned<u64>>,
    full_block: Option<Spanned<OneOrMany<Bytes>>>,
    durability: Option<Spanned<OneOrMany<String>>>,
    layout: Option<Spanned<OneOrMany<String>>>,
    fill: Option<Spanned<OneOrMany<String>>>,
    beside: Option<Spanned<OneOrMany<String>>>,
}

/// A word, or the trace that is replayed.
enum WrittenWorkload {
    Word(String),
    Replay(WrittenReplay),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenReplay {
    replay: String,
    file: Option<String>,
}

impl<'de> Deserialize<'de> for WrittenWorkload {
    /// By hand, because the error of a derived one does not say what is wrong.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WrittenWorkload, D::Error> {
        struct WorkloadVisitor;
        impl<'de> de::Visitor<'de> for WorkloadVisitor {
            type Value = WrittenWorkload;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("string or table")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<WrittenWorkload, E> {
                Ok(WrittenWorkload::Word(word.into()))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<WrittenWorkload, A::Error> {
                WrittenReplay::deserialize(de::value::MapAccessDeserializer::new(map)).map(WrittenWorkload::Replay)
            }
        }
        deserializer.deserialize_any(WorkloadVisitor)
    }
}

type Locate<'a> = &'a dyn Fn(std::ops::Range<usize>, String) -> Problem;

fn words<W: std::str::FromStr<Err = String>>(
    written: Spanned<OneOrMany<String>>,
    problem: Locate,
) -> Result<Vec<W>, Problem> {
    let span = written.span();
    written
        .into_inner()
        .into_vec()
        .iter()
        .map(|word| word.parse().map_err(|reason| problem(span.clone(), reason)))
        .collect()
}

/// The workloads of a comparison, and the trace of the one that replays it.
fn workloads(
    written: Spanned<OneOrMany<WrittenWorkload>>,
    problem: Locate,
) -> Result<(Vec<Workload>, Option<TraceAsked>), Problem> {
    let span = written.span();
    let (mut workloads, mut trace) = (Vec::new(), None);
    for written in written.into_inner().into_vec() {
        workloads.push(match written {
            WrittenWorkload::Word(word) => word.parse().map_err(|reason| problem(span.clone(), reason))?,
            WrittenWorkload::Replay(WrittenReplay { replay, file }) => {
                trace = Some(TraceAsked::Named { path: replay, file });
                Workload::Replay
            }
        });
    }
    Ok((workloads, trace))
}

impl WrittenCompare {
    fn check(self, named: &BTreeMap<String, Competitor>, problem: Locate) -> Result<Compare, Problem> {
        let mut arms = Vec::new();
        if let Some(one) = self.arms.get(ENTRIES_MAX) {
            return Err(problem(one.span(), format!("a comparison has at most {ENTRIES_MAX} arms")));
        }
        for written in &self.arms {
            let competitor = match named.get(written.get_ref()) {
                Some(competitor) => competitor.clone(),
                None => {
                    let arm = written.get_ref().parse().map_err(|reason| problem(written.span(), reason))?;
                    Competitor::new(arm, None, Override::default())
                }
            };
            if arms.iter().any(|it: &Competitor| it.does_as(&competitor)) {
                return Err(problem(
                    written.span(),
                    format!("{} is listed twice; faultline adds the A/A control itself", written.get_ref()),
                ));
            }
            arms.push(competitor);
        }
        let workload_span = self.workload.span();
        let span = |key: &'static str, span: Option<std::ops::Range<usize>>| (key, span);
        let spans = [
            span("arms", self.arms.first().map(Spanned::span)),
            span("workload", Some(self.workload.span())),
            span("block", self.block.as_ref().map(Spanned::span)),
            span("state", Some(self.state.span())),
            span("consume", self.consume.as_ref().map(Spanned::span)),
            span("threads", self.threads.as_ref().map(Spanned::span)),
            span("descriptor", self.descriptor.as_ref().map(Spanned::span)),
            span("aligned", self.aligned.as_ref().map(Spanned::span)),
            span("storage", self.storage.as_ref().map(Spanned::span)),
            span("durability", self.durability.as_ref().map(Spanned::span)),
            span("layout", self.layout.as_ref().map(Spanned::span)),
            span("fill", self.fill.as_ref().map(Spanned::span)),
            span("beside", self.beside.as_ref().map(Spanned::span)),
            span("range", self.range.as_ref().map(Spanned::span)),
            span("ops", self.ops.as_ref().map(Spanned::span)),
            span("memory", self.memory.as_ref().map(Spanned::span)),
            span("full_block", self.full_block.as_ref().map(Spanned::span)),
            span("full_range", self.full_range.as_ref().map(Spanned::span)),
            span("full_ops", self.full_ops.as_ref().map(Spanned::span)),
        ];
        let (workload, trace) = workloads(self.workload, problem)?;
        if self.block.is_none() && trace.is_none() {
            return Err(problem(workload_span.clone(), "the key \"block\" is missing".into()));
        }
        let compare = Compare {
            name: self.name,
            variant: self.variant,
            memory: self.memory.as_ref().map(|memory| *memory.get_ref()),
            storage: self.storage.map_or_else(plain_storage, |written| written.into_inner().into_vec()),
            arms,
            workload,
            block: self.block.map_or_else(Vec::new, |written| written.into_inner().into_vec()),
            consume: self.consume.map_or(Ok(vec![Consume::Sum]), |written| words(written, problem))?,
            state: words(self.state, problem)?,
            threads: self.threads.as_ref().map_or_else(|| vec![1], |written| written.get_ref().0.clone()),
            descriptor: self.descriptor.map_or(Ok(vec![Descriptor::PerThread]), |written| words(written, problem))?,
            aligned: self.aligned.map_or_else(|| vec![true], |written| written.into_inner().into_vec()),
            range: self.range.as_ref().map(|range| *range.get_ref()),
            ops: self.ops.map_or_else(Vec::new, |written| written.into_inner().into_vec()),
            full_range: self.full_range.map(Spanned::into_inner),
            full_ops: self.full_ops.map(Spanned::into_inner),
            full_block: self.full_block.map_or_else(Vec::new, |written| written.into_inner().into_vec()),
            durability: self.durability.map_or_else(|| Ok(nothing_synced()), |written| words(written, problem))?,
            layout: self.layout.map_or_else(|| Ok(written_before()), |written| words(written, problem))?,
            fill: self.fill.map_or_else(|| Ok(in_order()), |written| words(written, problem))?,
            trace,
            beside: self.beside.map_or_else(|| Ok(nothing_beside()), |written| words(written, problem))?,
        };
        compare.validate().and_then(|()| compare.has_effect()).map_err(|(what, message)| {
            let written = spans.into_iter().find(|(key, _)| *key == what).and_then(|(_, span)| span);
            problem(written.unwrap_or(workload_span), message)
        })?;
        Ok(compare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Span, Workload};

    fn problem(text: &str) -> String {
        Experiment::parse("my", text).unwrap_err().at("my.toml")
    }

    const GOOD: &str = r#"
title = "Reading"
[arms]
half = { method = "pread", own = { range = { share = 0.5 } } }
[[compare]]
arms = ["pread", "mmap+sequential", "half"]
workload = "scan"
block = ["4 KiB", 65536]
state = ["cold", "cached"]
"#;

    #[test]
    fn a_claim_that_asks_for_a_field_that_none_of_its_conditions_has_is_refused() {
        let claimed = |workload: &str, only: &str| {
            let calls = if workload == "scan" { "pread" } else { "pwrite" };
            let text = format!(
                "title = \"t\"\n[[compare]]\nworkload = \"{workload}\"\nblock = \"4 KiB\"\nstate = \"cached\"\n\
                 arms = [\"{calls}\", \"mmap\"]\n[[claim]]\nid = \"it\"\nsays = \"s\"\narm = \"mmap\"\nthan = \"{calls}\"\n\
                 expect = \"lower\"\nwhere = {{ {only} }}\n"
            );
            Experiment::parse("t", &text).map(drop).map_err(|it| it.at("t"))
        };
        assert_eq!(claimed("scan", "consume = [\"sum\"]"), Ok(()));
        assert_eq!(claimed("overwrite", "durability = [\"none\"]"), Ok(()));
        assert!(claimed("scan", "durability = [\"none\"]").is_err());
        assert!(claimed("overwrite", "consume = [\"sum\"]").is_err());
    }

    #[test]
    fn lists_and_single_words_mean_the_same_and_defaults_are_filled_in() {
        let experiment = Experiment::parse("my", GOOD).unwrap();
        let compare = &experiment.comparisons[0];
        assert_eq!(compare.workload, [Workload::Scan]);
        assert_eq!(compare.block, [Bytes(4096), Bytes(65536)]);
        assert_eq!(compare.consume, [Consume::Sum]);
        assert_eq!(compare.threads, [1]);
        assert_eq!(compare.arms[2].own.range.unwrap().of(1000, 64), Span { offset: 0, bytes: 500 });
    }

    #[test]
    fn mistakes_are_found_with_their_line_and_the_nearest_name() {
        assert_eq!(
            problem(&GOOD.replace("cached", "cahced")),
            "my.toml:9: state: unknown state \"cahced\"; did you mean \"cached\"? (expected one of cold, cached, \
             mapped, locked, limited, as-is, as-found)"
        );
        assert!(
            problem(&GOOD.replace("block =", "blok ="))
                .starts_with("my.toml:8: unknown key \"blok\"; did you mean \"block\"?")
        );
        assert!(
            problem(&GOOD.replace("mmap+sequential", "mmapp"))
                .contains("my.toml:6: arms: arm \"mmapp\": unknown method")
        );
        assert!(problem(&GOOD.replace("4 KiB", "0")).contains("my.toml:8: block: a block of 0 B is not possible"));
        assert!(problem(&GOOD.replace("\"half\"]", "\"pread\"]")).contains("listed twice"));
        assert!(problem("title = \"x\"").contains("no [[compare]]"));
        assert!(problem("\u{0}\u{1}garbage").starts_with("my.toml:1: "));
    }

    #[test]
    fn every_mistake_names_its_line_and_its_key() {
        let with = |line: &str| {
            let found = Experiment::parse("my", &format!("{GOOD}{line}\n")).unwrap_err();
            assert!(!found.message.contains('`') && !found.message.contains("untagged"), "{found:?}");
            (found.line, found.key)
        };
        let lines = GOOD.lines().count();
        for (line, key) in [
            ("threads = true", "threads"),
            ("threads = [1, \"two\"]", "threads"),
            ("threads = []", "threads"),
            ("aligned = \"yes\"", "aligned"),
            ("consume = 3", "consume"),
            ("consume = []", "consume"),
            ("storage = { read_bps = 0 }", "storage"),
            ("storage = [{}, { read_iops = 0 }]", "storage"),
            ("storage = { read_bps = \"fast\" }", "storage"),
            ("range = { bytes = 0 }", "range"),
            ("range = { blocks = 0 }", "range"),
            ("range = 7", "range"),
            ("full_range = { share = 2.0 }", "full_range"),
            ("ops = 9223372036854775807", "ops"),
            ("full_ops = 0", "full_ops"),
            ("ops = \"many\"", "ops"),
            ("ops = [7, 0]", "ops"),
            ("ops = []", "ops"),
            ("full_block = []", "full_block"),
            ("memory = [1]", "memory"),
            ("[[claim]]\nid = \"a\"\nsays = \"s\"\nscenario = \"truncated\"", "[[claim]]"),
        ] {
            assert_eq!(with(line), (Some(lines + 1), Some(key.to_string())), "{line}");
        }
        let half = "{ method = \"pread\", own = { range = { share = 0.5 } } }";
        for own in ["ops = 0", "block = 0", "range = { bytes = 0 }", "consumed_percent = 0", "range = { share = nan }"]
        {
            let text = GOOD.replace(half, &format!("{{ method = \"pread\", own = {{ {own} }} }}"));
            let found = Experiment::parse("my", &text).unwrap_err();
            assert_eq!((found.line, found.key.as_deref()), (Some(6), Some("arms")), "{own}: {found:?}");
        }
    }

    #[test]
    fn a_claim_needs_its_arms_under_its_conditions_and_one_without_arms_says_nothing_of_them() {
        let of = |claim: &str| {
            let compare = |state: &str, arms: &str| {
                format!("[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = \"{state}\"\narms = [{arms}]\n")
            };
            let (a, b) = (compare("cached", "\"pread\", \"mmap\""), compare("mapped", "\"pread\", \"read\""));
            let text = format!("title = \"t\"\n{a}{b}[[claim]]\nid = \"it\"\nsays = \"s\"\n{claim}\n");
            Experiment::parse("t", &text).map(drop).map_err(|it| it.at("t"))
        };
        let arms = "arm = \"mmap\"\nthan = \"pread\"\nexpect = \"lower\"\n";
        assert_eq!(of(&format!("{arms}where = {{ state = [\"cached\"] }}")), Ok(()));
        assert!(of(&format!("{arms}where = {{ state = [\"mapped\"] }}")).unwrap_err().contains("under a condition of"));
        let scenario = "scenario = \"truncated-mapping\"\n";
        assert_eq!(of(scenario), Ok(()));
        for key in ["expect = \"lower\"", "expect = { at-most = 1.0 }", "metric = \"cpu\""] {
            assert!(of(&format!("{scenario}{key}")).unwrap_err().contains("is for claims with the key arm"), "{key}");
        }
    }

    #[test]
    fn an_arm_is_listed_and_once_under_one_name() {
        let of = |arms: &str| {
            let text = format!(
                "title = \"t\"\n[arms]\nours = {{ method = \"pread\" }}\n[[compare]]\nworkload = \"scan\"\nblock = \"4 \
                 KiB\"\nstate = \"cached\"\narms = [{arms}]\n"
            );
            Experiment::parse("t", &text).map(drop).map_err(|it| it.at("t"))
        };
        assert_eq!(of("\"ours\", \"mmap\""), Ok(()));
        assert!(of("\"read\", \"mmap\"").unwrap_err().contains("in no comparison"));
        assert!(of("\"pread\", \"ours\"").unwrap_err().contains("listed twice"));
    }

    #[test]
    fn a_limit_of_the_disk_is_for_states_that_read_from_it() {
        let of = |state: &str| {
            Experiment::parse(
                "t",
                &format!(
                    "title = \"t\"\n[[compare]]\nworkload = \"scan\"\nblock = \"4 KiB\"\nstate = {state}\narms = [\"pread\", \
                     \"mmap\"]\nstorage = {{ read_bps = \"40 MB/s\" }}\n"
                ),
            )
            .map(drop)
            .map_err(|it| it.key)
        };
        assert_eq!(of("[\"cached\", \"cold\"]"), Ok(()));
        assert_eq!(of("[\"cached\", \"mapped\"]"), Err(Some("storage".into())));
    }

    #[test]
    fn what_can_have_no_effect_is_refused_where_it_is_written() {
        let lines = GOOD.lines().count();
        let of = |text: &str| Experiment::parse("my", text).map(drop).map_err(|it| (it.line, it.key));
        let refused = |key: &str| Err((Some(lines + 1), Some(key.to_string())));
        for (line, key) in [
            ("memory = 0.5", "memory"),
            ("aligned = false", "aligned"),
            ("aligned = [true, false]", "aligned"),
            ("descriptor = \"shared\"", "descriptor"),
        ] {
            assert_eq!(of(&format!("{GOOD}{line}\n")), refused(key), "{line}");
        }
        assert_eq!(of(&format!("{GOOD}memory = 0.5\n").replace("\"cold\"", "\"limited\"")), Ok(()));
        assert_eq!(of(&format!("{GOOD}aligned = false\n").replace("\"scan\"", "\"random\"")), Ok(()));

        let claim = |than: &str, only: &str| {
            let who = format!("arm = \"pread\"\nthan = \"{than}\"\nexpect = \"lower\"\n{only}\n");
            of(&format!("{GOOD}[[claim]]\nid = \"a\"\nsays = \"s\"\n{who}"))
        };
        for only in
            ["", "where = { state = [\"cold\"], block = [\"64 KiB\"] }", "where = { read_bps = [0], aligned = [true] }"]
        {
            assert_eq!(claim("half", only), Ok(()), "{only}");
        }
        assert_eq!(claim("native/pread", ""), refused("[[claim]]"));
        for only in [
            "state = [\"mapped\"]",
            "block = [\"5 KiB\"]",
            "workload = [\"random\"]",
            "consume = [\"copy\"]",
            "read_bps = [\"1 MB\"]",
            "aligned = [false]",
            "durability = [\"sync-each\"]",
        ] {
            assert_eq!(claim("half", &format!("where = {{ {only} }}")), refused("[[claim]]"), "{only}");
        }
        // In no one comparison together.
        let other =
            "[[compare]]\narms = [\"pread\", \"half\"]\nworkload = \"random\"\nblock = 64\nstate = \"mapped\"\n";
        let two = |only: &str| {
            let who = format!("arm = \"pread\"\nthan = \"half\"\nexpect = \"lower\"\nwhere = {{ {only} }}\n");
            of(&format!("{GOOD}{other}[[claim]]\nid = \"a\"\nsays = \"s\"\n{who}"))
        };
        assert_eq!(two("state = [\"mapped\"], block = [64]"), Ok(()));
        assert!(two("state = [\"mapped\"], block = [4096]").is_err());
    }

    /// What is found in a comparison of which one arm does something of its own.
    fn with_own(own: &str, compare: &str) -> Result<(), String> {
        let text = format!(
            "title = \"t\"\n[arms]\nother = {{ method = \"mmap\", own = {{ {own} }} }}\n[[compare]]\narms = [\"pread\", \
             \"other\"]\n{compare}\n"
        );
        Experiment::parse("my", &text).map(drop).map_err(|it| {
            assert_eq!(it.key.as_deref(), Some("arms"), "{own}: {it:?}");
            it.message
        })
    }

    #[test]
    fn what_an_arm_does_of_its_own_has_an_effect_too() {
        let of = |own: &str, workload: &str| {
            with_own(own, &format!("workload = \"{workload}\"\nblock = 4096\nstate = \"cold\""))
        };
        for own in ["aligned = false", "aligned = true", "durability = \"sync-each\""] {
            assert!(of(own, "scan").is_err(), "{own}");
        }
        assert_eq!(of("aligned = false", "random"), Ok(()));
        assert_eq!(of("workload = \"random\", aligned = false", "scan"), Ok(()));
        assert_eq!(of("consume = \"touch\", consumed_percent = 25", "scan"), Ok(()));
        let writing = |own: &str| {
            let text = format!(
                "title = \"t\"\n[arms]\nother = {{ method = \"pwrite\", own = {{ {own} }} }}\n[[compare]]\narms = [\"pwrite\", \
                 \"other\"]\nworkload = \"overwrite\"\nblock = 4096\nstate = \"cold\"\n"
            );
            Experiment::parse("my", &text).map(drop).map_err(|it| it.key.unwrap_or_default())
        };
        for own in ["consume = \"touch\"", "consumed_percent = 25", "aligned = false"] {
            assert_eq!(writing(own), Err("arms".into()), "{own}");
        }
        assert_eq!(writing("durability = \"sync-each\""), Ok(()));
    }

    #[test]
    fn an_arm_of_its_own_takes_nothing_from_those_beside_it() {
        let scan = |state: &str, more: &str| format!("workload = \"scan\"\nblock = 4096\nstate = {state}\n{more}");
        for own in ["workload = \"overwrite\"", "state = \"as-is\"", "state = \"as-found\""] {
            assert!(with_own(own, &scan("\"cached\"", "")).is_err(), "{own}");
        }
        for (state, more) in [("\"as-is\"", ""), ("[\"cold\", \"as-is\"]", ""), ("\"cached\"", "fill = \"found\"")] {
            assert!(with_own("state = \"cold\"", &scan(state, more)).is_err(), "{state} {more}");
        }
        assert_eq!(with_own("state = \"cold\"", &scan("[\"cached\", \"mapped\"]", "fill = \"random\"")), Ok(()));
        assert_eq!(with_own("state = \"cached\"", &scan("\"cold\"", "threads = 2")), Ok(()));
        for states in ["\"cached\"", "[\"cached\", \"mapped\"]"] {
            assert_eq!(with_own("state = \"cached\"", &scan(states, "fill = \"found\"")), Ok(()), "{states}");
        }
    }

    #[test]
    fn a_list_in_which_no_conditions_would_differ_is_refused() {
        let of = |own: &str, compare: &str| {
            let text = format!(
                "title = \"t\"\n[arms]\nother = {{ method = \"mmap\", own = {{ {own} }} }}\n[[compare]]\narms = [\"pread\", \
                 \"other\"]\nblock = 4096\nworkload = \"scan\"\nstate = \"cold\"\n{compare}\n"
            );
            Experiment::parse("my", &text).map(drop).map_err(|it| it.key.unwrap_or_default())
        };
        assert_eq!(of("state = \"cached\"", "fill = \"random\""), Ok(()));
        assert_eq!(of("state = \"cached\"", "fill = [\"sequential\", \"random\"]"), Err("fill".into()));
        assert_eq!(of("workload = \"random\"", "aligned = false"), Ok(()));
        assert_eq!(of("workload = \"random\"", "aligned = [true, false]"), Err("aligned".into()));
    }

    #[test]
    fn what_is_appended_to_has_no_layout() {
        let of = |workload: &str| {
            let text = format!(
                "title = \"t\"\n[[compare]]\narms = [\"pwrite\", \"write\"]\nworkload = {workload}\nblock = 4096\nstate = \
                 \"cold\"\nlayout = [\"written\", \"sparse\"]\n"
            );
            Experiment::parse("my", &text).map(drop).map_err(|it| it.key.unwrap_or_default())
        };
        assert_eq!(of("\"append\""), Err("layout".into()));
        assert_eq!(of("[\"append\", \"overwrite\"]"), Ok(()));
        // The layout is of the condition, whatever an arm does in it.
        let own = "title = \"t\"\n[arms]\nother = { method = \"pwrite\", own = { workload = \"overwrite\" } }\n[[compare]]\narms \
                   = [\"pwrite\", \"other\"]\nworkload = \"append\"\nblock = 4096\nstate = \"cold\"\nlayout = \"sparse\"\n";
        assert_eq!(Experiment::parse("my", own).unwrap_err().key.as_deref(), Some("layout"));
    }

    #[test]
    fn where_nothing_is_read_nothing_is_consumed() {
        let text = "title = \"t\"\n[[compare]]\narms = [\"pwrite\", \"mmap\"]\nworkload = \"overwrite\"\nblock = 4096\n\
                    state = \"cold\"\n";
        assert_eq!(Experiment::parse("my", text).map(drop), Ok(()));
        let found = Experiment::parse("my", &format!("{text}consume = [\"lines\", \"sum\"]\n")).unwrap_err();
        assert_eq!(found.key.as_deref(), Some("consume"), "{found:?}");
    }

    #[test]
    fn conditions_are_held_against_others_and_not_against_themselves_or_a_number() {
        let claim = |more: &str| {
            let text = format!("{GOOD}[[claim]]\nid = \"a\"\nsays = \"s\"\narm = \"pread\"\n{more}\n");
            Experiment::parse("my", &text).map(|it| it.claims[0].is_across()).map_err(|it| it.message)
        };
        let states = "where = { state = [\"cold\"] }\nthan_where = { state = [\"cached\"] }";
        assert_eq!(claim(&format!("expect = \"lower\"\n{states}")), Ok(true));
        assert_eq!(claim(&format!("than = \"half\"\nexpect = \"lower\"\n{states}")), Ok(true));
        assert!(claim("expect = \"lower\"").unwrap_err().contains("than_where"));
        assert!(claim(&format!("expect = {{ at-most = 1.0 }}\n{states}")).unwrap_err().contains("not a number"));
        let same = "where = { state = [\"cold\"] }\nthan_where = { state = [\"cold\"] }";
        assert!(claim(&format!("expect = \"lower\"\n{same}")).unwrap_err().contains("against themselves"));
        let never = "than_where = { state = [\"mapped\"] }";
        assert!(claim(&format!("expect = \"lower\"\n{never}")).unwrap_err().contains("\"than_where\""));
        assert!(claim("expect = \"lower\"\nthan_compare = \"x\"").is_err());
        // A fill applies to what begins in the page cache, and jobs are those that are written down.
        assert!(claim("than = \"half\"\nexpect = \"lower\"\nwhere = { fill = [\"random\"] }").is_err());
        assert!(
            claim("than = \"half\"\nexpect = \"lower\"\nwhere = { state = [\"cold\"], fill = [\"sequential\"] }")
                .is_err()
        );
        assert!(claim("than = \"half\"\nexpect = \"lower\"\nwhere = { fill = [\"sequential\"] }").is_ok());
        assert!(claim("than = \"half\"\nexpect = \"lower\"\nwhere = { ops = [7] }").is_err());
    }

    #[test]
    fn a_list_is_never_offered_empty() {
        let nameless = "[[claim]]\nid = \"a\"\nsays = \"s\"\narm = \"mmap\"\nthan = \"pread\"\nexpect = \"lower\"\n";
        for line in ["compare = \"x\"", "arm = \"nothing\"", "scenario = \"x\""] {
            let claim = if line.starts_with("arm") {
                nameless.replace("arm = \"mmap\"", line)
            } else {
                format!("{nameless}{line}\n")
            };
            let found = Experiment::parse("my", &format!("{GOOD}{claim}")).unwrap_err();
            assert!(!found.message.trim_end_matches(')').ends_with("expected one of "), "{found:?}");
        }
        assert_eq!(expected("x", &[]), "there is none to choose from");
    }

    #[test]
    fn at_the_published_size_there_may_be_more_blocks() {
        let text = GOOD.replace("state =", "full_block = [\"64 B\", \"4 KiB\", 65536]\nstate =");
        let mut experiment = Experiment::parse("my", &text).unwrap();
        assert_eq!(experiment.comparisons[0].block, [Bytes(4096), Bytes(65536)]);
        experiment.full();
        assert_eq!(experiment.comparisons[0].block, [Bytes(64), Bytes(4096), Bytes(65536)]);
        assert!(
            problem(&text.replace("64 B", "0 B")).contains("my.toml:9: full_block: a block of 0 B is not possible")
        );
    }

    #[test]
    fn a_checked_experiment_survives_json() {
        let experiment = Experiment::parse("my", GOOD).unwrap();
        let json = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
    }

    #[test]
    fn a_pass_has_one_size_or_several_and_runs_of_before_there_were_several_load() {
        for (written, json) in [("7", "7"), ("[7]", "7"), ("[7, 9]", "[7,9]")] {
            let experiment =
                Experiment::parse("my", &GOOD.replace("state =", &format!("ops = {written}\nstate ="))).unwrap();
            let saved = serde_json::to_string(&experiment).unwrap();
            assert!(saved.contains(&format!("\"ops\":{json}")), "{saved}");
            assert_eq!(serde_json::from_str::<Experiment>(&saved).unwrap(), experiment);
        }
    }
}
