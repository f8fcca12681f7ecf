//! An experiment's file: read, checked, and every mistake in it found at its line.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::{
    Claim, Compare, Competitor, Experiment, Figure, Override, Range, Study, Throttle, Variant,
    compare::{nothing_synced, plain_storage, written_before},
};
use crate::{Arm, Bytes, Consume, Descriptor, arm::Options, runtime::NATIVE, units::expected};

/// A problem in an experiment file, at a place people can go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1; absent when the problem is the whole file's.
    pub line: Option<usize>,
    pub message: String,
}

impl Problem {
    /// `my.toml:14: …`
    pub fn at(&self, file: &str) -> String {
        match self.line {
            Some(line) => format!("{file}:{line}: {}", self.message),
            None => format!("{file}: {}", self.message),
        }
    }
}

impl Experiment {
    /// Parses and checks an experiment file.
    ///
    /// # Errors
    /// The first problem, with its line, what was expected and the nearest name.
    pub fn parse(name: &str, text: &str) -> Result<Experiment, Problem> {
        let line_of = |offset: usize| {
            Some(text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1)
        };
        let written: Written = toml::from_str(text).map_err(|error| Problem {
            line: error.span().and_then(|span| line_of(span.start)),
            message: explain(error.message()),
        })?;
        let problem = |span: std::ops::Range<usize>, message: String| Problem { line: line_of(span.start), message };
        if written.compare.is_empty() {
            return Err(Problem {
                line: None,
                message: "no [[compare]]: an experiment compares at least two arms".into(),
            });
        }
        let mut named = BTreeMap::new();
        for (name, spanned) in written.arms {
            let span = spanned.span();
            let spec = spanned.into_inner();
            let mut arm = Arm::new(&spec.runtime, &spec.method, &spec.options)
                .map_err(|reason| problem(span, format!("arm {name:?}: {reason}")))?;
            // An arm that does something of its own must not be taken for the plain one.
            if !spec.own.is_empty() {
                arm.name = format!("{} ({name})", arm.name);
            }
            named.insert(name.clone(), Competitor { arm, label: Some(name), own: spec.own });
        }
        let comparisons = written
            .compare
            .into_iter()
            .map(|compare| compare.check(&named, &problem))
            .collect::<Result<Vec<Compare>, Problem>>()?;
        let experiment = Experiment {
            name: name.to_string(),
            title: written.title,
            question: written.question,
            source: written.source,
            study: written.study,
            comparisons,
            claims: written.claim.iter().map(|claim| claim.get_ref().clone()).collect(),
            figures: written.figure.iter().map(|figure| figure.get_ref().clone()).collect(),
        };
        for claim in &written.claim {
            experiment.check_claim(claim.get_ref()).map_err(|message| problem(claim.span(), message))?;
        }
        for figure in &written.figure {
            experiment.check_figure(figure.get_ref()).map_err(|message| problem(figure.span(), message))?;
        }
        Ok(experiment)
    }
}

/// serde's words for a wrong name, with the nearest right one in front.
fn explain(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next() {
        Some(typed) if message.starts_with("unknown ") => {
            let known: Vec<&str> = quoted.collect();
            let kind = message.split(' ').nth(1).unwrap_or("word").replace("field", "key").replace("variant", "word");
            format!("unknown {kind} {typed:?}; {}", expected(typed, &known))
        }
        _ => message.to_string(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    question: Option<String>,
    source: Option<String>,
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
    storage: Option<OneOrMany<Throttle>>,
    arms: Vec<Spanned<String>>,
    workload: Spanned<OneOrMany<String>>,
    block: Spanned<OneOrMany<Bytes>>,
    state: Spanned<OneOrMany<String>>,
    consume: Option<Spanned<OneOrMany<String>>>,
    threads: Option<Spanned<OneOrMany<u32>>>,
    descriptor: Option<Spanned<OneOrMany<String>>>,
    aligned: Option<OneOrMany<bool>>,
    range: Option<Spanned<Range>>,
    ops: Option<Spanned<u64>>,
    full_range: Option<Range>,
    full_ops: Option<u64>,
    full_block: Option<Spanned<OneOrMany<Bytes>>>,
    durability: Option<Spanned<OneOrMany<String>>>,
    layout: Option<Spanned<OneOrMany<String>>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    Many(Vec<T>),
    One(T),
}

impl<T> OneOrMany<T> {
    fn into_vec(self) -> Vec<T> {
        match self {
            OneOrMany::One(it) => vec![it],
            OneOrMany::Many(many) => many,
        }
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

impl WrittenCompare {
    fn check(self, named: &BTreeMap<String, Competitor>, problem: Locate) -> Result<Compare, Problem> {
        let mut arms = Vec::new();
        for written in &self.arms {
            let competitor = match named.get(written.get_ref()) {
                Some(competitor) => competitor.clone(),
                None => {
                    let arm = written.get_ref().parse().map_err(|reason| problem(written.span(), reason))?;
                    Competitor { arm, label: None, own: Override::default() }
                }
            };
            if arms.contains(&competitor) {
                return Err(problem(
                    written.span(),
                    format!("{} is entered twice; the A/A control comes by itself", written.get_ref()),
                ));
            }
            arms.push(competitor);
        }
        let workload_span = self.workload.span();
        let block_span = self.block.span();
        let full_block_span = self.full_block.as_ref().map(Spanned::span);
        let compare = Compare {
            name: self.name,
            variant: self.variant,
            memory: self.memory.as_ref().map(|memory| *memory.get_ref()),
            storage: self.storage.map_or_else(plain_storage, OneOrMany::into_vec),
            arms,
            workload: words(self.workload, problem)?,
            block: self.block.into_inner().into_vec(),
            consume: self.consume.map_or(Ok(vec![Consume::Sum]), |written| words(written, problem))?,
            state: words(self.state, problem)?,
            threads: self.threads.as_ref().map_or(vec![1], |written| match written.get_ref() {
                OneOrMany::One(one) => vec![*one],
                OneOrMany::Many(many) => many.clone(),
            }),
            descriptor: self.descriptor.map_or(Ok(vec![Descriptor::PerThread]), |written| words(written, problem))?,
            aligned: self.aligned.map_or(vec![true], OneOrMany::into_vec),
            range: self.range.as_ref().map(|range| *range.get_ref()),
            ops: self.ops.as_ref().map(|ops| *ops.get_ref()),
            full_range: self.full_range,
            full_ops: self.full_ops,
            full_block: self.full_block.map_or_else(Vec::new, |written| written.into_inner().into_vec()),
            durability: self.durability.map_or_else(|| Ok(nothing_synced()), |written| words(written, problem))?,
            layout: self.layout.map_or_else(|| Ok(written_before()), |written| words(written, problem))?,
        };
        let spans = [
            ("block", Some(block_span)),
            ("full_block", full_block_span),
            ("threads", self.threads.as_ref().map(Spanned::span)),
            ("range", self.range.as_ref().map(Spanned::span)),
            ("memory", self.memory.as_ref().map(Spanned::span)),
            ("ops", self.ops.as_ref().map(Spanned::span)),
        ];
        compare.validate().map_err(|(what, message)| {
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
            "my.toml:9: unknown state \"cahced\"; did you mean \"cached\"? (expected one of cold, cached, mapped, locked, limited, as-is)"
        );
        assert!(
            problem(&GOOD.replace("block =", "blok ="))
                .starts_with("my.toml:8: unknown key \"blok\"; did you mean \"block\"?")
        );
        assert!(
            problem(&GOOD.replace("mmap+sequential", "mmapp")).contains("my.toml:6: arm \"mmapp\": unknown method")
        );
        assert!(problem(&GOOD.replace("4 KiB", "0")).contains("my.toml:8: a block of 0 B is not possible"));
        assert!(problem(&GOOD.replace("\"half\"]", "\"pread\"]")).contains("entered twice"));
        assert!(problem("title = \"x\"").contains("no [[compare]]"));
        assert!(problem("\u{0}\u{1}garbage").starts_with("my.toml:1: "));
    }

    #[test]
    fn at_the_published_size_there_may_be_more_blocks() {
        let text = GOOD.replace("state =", "full_block = [\"64 B\", \"4 KiB\", 65536]\nstate =");
        let mut experiment = Experiment::parse("my", &text).unwrap();
        assert_eq!(experiment.comparisons[0].block, [Bytes(4096), Bytes(65536)]);
        experiment.full();
        assert_eq!(experiment.comparisons[0].block, [Bytes(64), Bytes(4096), Bytes(65536)]);
        assert!(problem(&text.replace("64 B", "0 B")).contains("my.toml:9: a block of 0 B is not possible"));
    }

    #[test]
    fn a_checked_experiment_survives_json() {
        let experiment = Experiment::parse("my", GOOD).unwrap();
        let json = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
    }
}
