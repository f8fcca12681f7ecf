//! Experiments as people write them: which arms under which conditions. Built-ins are such files too
//! (`builtin.rs`) and have no power that a user's own file does not have.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::{Arm, Bytes, Consume, Descriptor, Span, State, Workload, arm::Options};

/// A checked experiment: every name resolved, every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub name: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub comparisons: Vec<Compare>,
}

/// Arms × conditions: every list is crossed with every other one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compare {
    pub arms: Vec<Competitor>,
    pub workload: Vec<Workload>,
    pub block: Vec<Bytes>,
    pub consume: Vec<Consume>,
    pub state: Vec<State>,
    pub threads: Vec<u32>,
    pub descriptor: Vec<Descriptor>,
    pub aligned: Vec<bool>,
    /// The part of the file that may be touched; the planner chooses when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Blocks per pass; the planner chooses when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
}

/// An arm in a comparison, with what it does differently from the condition. The first one is the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Competitor {
    pub arm: Arm,
    #[serde(default, skip_serializing_if = "Override::is_empty")]
    pub own: Override,
}

/// What an arm may do differently from the condition it is entered under, to write down an unfair comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consume: Option<Consume>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aligned: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
}

impl Override {
    pub fn is_empty(&self) -> bool {
        *self == Override::default()
    }
}

/// A part of a file: from an offset, so many bytes; or a share of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    #[serde(default)]
    pub offset: Bytes,
    /// Up to the end when neither `bytes` nor `share` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Of the file, counted from `offset`: 0.5 is half the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

impl Range {
    /// The window on a file of this size, cut at its end.
    pub fn of(&self, file_bytes: u64) -> Span {
        let offset = self.offset.0.min(file_bytes);
        let rest = file_bytes - offset;
        let wanted = match (self.bytes, self.share) {
            (Some(bytes), _) => bytes.0,
            (None, Some(share)) => (file_bytes as f64 * share) as u64,
            (None, None) => rest,
        };
        Span { offset, bytes: wanted.min(rest) }
    }
}

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
            let arm = Arm::new(&spec.runtime, &spec.method, &spec.options)
                .map_err(|reason| problem(span, format!("arm {name:?}: {reason}")))?;
            named.insert(name, Competitor { arm, own: spec.own });
        }
        let comparisons = written
            .compare
            .into_iter()
            .map(|compare| compare.check(&named, &problem))
            .collect::<Result<Vec<Compare>, Problem>>()?;
        Ok(Experiment {
            name: name.to_string(),
            title: written.title,
            question: written.question,
            source: written.source,
            comparisons,
        })
    }
}

/// serde's words for a wrong name, with the nearest right one in front.
fn explain(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next() {
        Some(typed) if message.starts_with("unknown ") => {
            let known: Vec<&str> = quoted.collect();
            let kind = message.split(' ').nth(1).unwrap_or("word").replace("field", "key").replace("variant", "word");
            format!("unknown {kind} {typed:?}; {}", crate::units::expected(typed, &known))
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
    #[serde(default)]
    arms: BTreeMap<String, Spanned<WrittenArm>>,
    #[serde(default)]
    compare: Vec<WrittenCompare>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenArm {
    #[serde(default = "native")]
    runtime: String,
    method: String,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    own: Override,
}

fn native() -> String {
    "native".into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCompare {
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
                    Competitor { arm, own: Override::default() }
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
        let compare = Compare {
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
        };
        if let Some(threads) = &self.threads
            && compare.threads.iter().any(|&threads| threads == 0 || threads > 1024)
        {
            return Err(problem(threads.span(), "threads must lie between 1 and 1024".into()));
        }
        if let Some(range) = &self.range {
            let written = range.get_ref();
            if written.bytes.is_some() && written.share.is_some() {
                return Err(problem(range.span(), "a range has bytes or a share, not both".into()));
            }
            if written.share.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
                return Err(problem(range.span(), "a share lies above 0 and is at most 1".into()));
            }
        }
        if let Some(ops) = self.ops.as_ref().filter(|ops| *ops.get_ref() == 0) {
            return Err(problem(ops.span(), "a pass has at least one op".into()));
        }
        compare
            .validate()
            .map_err(|(what, message)| problem(if what == "block" { block_span } else { workload_span }, message))?;
        Ok(compare)
    }
}

impl Compare {
    /// Whether the lists make sense together; also asked after command-line filters were applied.
    ///
    /// # Errors
    /// Which key is at fault, and a sentence.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        if self.arms.is_empty() {
            return Err(("arms", "no arm is left to compare".into()));
        }
        if self.workload.is_empty() || self.block.is_empty() || self.state.is_empty() || self.consume.is_empty() {
            return Err(("workload", "workload, block, state and consume each need at least one entry".into()));
        }
        if let Some(block) = self.block.iter().find(|block| block.0 == 0 || block.0 > 1 << 30) {
            return Err(("block", format!("a block of {block} is not possible; it lies between 1 B and 1 GiB")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(compare.arms[2].own.range.unwrap().of(1000), Span { offset: 0, bytes: 500 });
    }

    #[test]
    fn mistakes_are_found_with_their_line_and_the_nearest_name() {
        assert_eq!(
            problem(&GOOD.replace("cached", "cahced")),
            "my.toml:9: unknown state \"cahced\"; did you mean \"cached\"? (expected one of cold, cached, mapped, locked, as-is)"
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
    fn a_checked_experiment_survives_json() {
        let experiment = Experiment::parse("my", GOOD).unwrap();
        let json = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
    }
}
