//! Experiments as people write them: which arms under which conditions. Built-ins are such files too
//! (`builtin.rs`) and have no power that a user's own file does not have.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::{Arm, Bytes, Consume, Descriptor, Durability, Layout, Span, State, Workload, arm::Options};

/// A checked experiment: every name resolved, every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub name: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The file that a study makes for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<Study>,
    pub comparisons: Vec<Compare>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

/// What a study needs, and at which scale it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Size of the test file, so that the study ends within about two minutes.
    pub file_bytes: Bytes,
    /// As published, with `--full`.
    pub full_file_bytes: Bytes,
    /// What a machine must have for all of it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

/// Arms × conditions: every list is crossed with every other one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compare {
    /// What claims and figures call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// In a study: whether this is what was published, or what should have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
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
    /// The same two at the published size, with `--full`; and the blocks, where fewer do for an answer in two minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_range: Option<Range>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_ops: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub full_block: Vec<Bytes>,
    /// In state `limited`: the worker's memory as a share of the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// Emulated storage; an empty entry is the disk as it is.
    #[serde(default = "plain_storage")]
    pub storage: Vec<Throttle>,
    /// Of workloads that write: when a block counts as written.
    #[serde(default = "nothing_synced")]
    pub durability: Vec<Durability>,
    /// Of workloads that write: what the file has in it before.
    #[serde(default = "written_before")]
    pub layout: Vec<Layout>,
}

fn nothing_synced() -> Vec<Durability> {
    vec![Durability::None]
}

fn written_before() -> Vec<Layout> {
    vec![Layout::Written]
}

fn plain_storage() -> Vec<Throttle> {
    vec![Throttle::default()]
}

/// A disk made slower: `{ read_bps = "21.8 MB/s" }`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bps: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<u64>,
}

/// The two forms of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// The arms do exactly what the published program did, mistakes included.
    AsPublished,
    /// The same question, asked so that the arms do equal work from a verified state.
    Corrected,
}

/// What is measured when two arms, or an arm and a number, are held against each other. Less is better in all of them
/// except where it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Open, work and close, per block.
    #[default]
    Time,
    /// User and system time, per block.
    Cpu,
    User,
    System,
    /// Of a pass.
    MinorFaults,
    /// Of a pass.
    DeviceReadBytes,
    /// Pages of the range that a pass reached, by minor faults: what one fault maps.
    PagesPerFault,
    /// The parts of an `update`, per block.
    ReadPart,
    LoopPart,
    WritePart,
    /// Of a pass, all processes together.
    DeviceWriteBytes,
    /// Of a pass: within which 99 of 100 safepoints were reached.
    SafepointP99,
}

/// What somebody said, in a form that can be tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    pub says: String,
    /// The published figure, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// `[[compare]]` blocks by name; all when absent. The corrected variant decides where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<String>,
    /// A name from `[arms]`, or an arm as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The other arm; absent when the claim is about a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than: Option<String>,
    #[serde(default)]
    pub metric: Metric,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// How many times lower or higher, as published. The direction decides; this is printed beside ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Only under these conditions.
    #[serde(default, rename = "where", skip_serializing_if = "Where::is_empty")]
    pub only: Where,
    /// A scenario that answers yes or no, instead of arms and a metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Why this cannot be tested by this version, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_testable: Option<String>,
}

/// Which way a claim goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    /// The arm's metric is lower than the other's: faster, where the metric is time.
    Lower,
    Higher,
    /// The same within the margin.
    Same,
    /// The arm's metric is at most this.
    AtMost(f64),
    AtLeast(f64),
}

/// A selection of conditions; an empty list selects all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Where {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<State>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub block: Vec<Bytes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workload: Vec<Workload>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consume: Vec<Consume>,
    /// Read throttles; 0 is the disk as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_bps: Vec<Bytes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aligned: Vec<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durability: Vec<Durability>,
}

impl Where {
    pub fn is_empty(&self) -> bool {
        *self == Where::default()
    }

    pub fn selects(&self, condition: &crate::Condition) -> bool {
        fn has<T: PartialEq>(list: &[T], it: &T) -> bool {
            list.is_empty() || list.contains(it)
        }
        let rate = condition.storage.and_then(|storage| storage.read_bytes_per_s).unwrap_or(0);
        has(&self.state, &condition.state)
            && has(&self.block, &Bytes(condition.block_bytes))
            && has(&self.workload, &condition.workload)
            && has(&self.consume, &condition.consume)
            && has(&self.read_bps, &Bytes(rate))
            && has(&self.aligned, &condition.aligned)
            && has(&self.durability, &condition.durability)
    }
}

/// A published number, to be printed beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// `cached 32 MiB, read: rate`
    pub says: String,
    pub published: f64,
    pub unit: Unit,
    pub compare: String,
    /// Arms by name: the one that does what was published, and the one that does it right.
    pub as_published: Option<String>,
    pub corrected: Option<String>,
    #[serde(default, rename = "where", skip_serializing_if = "Where::is_empty")]
    pub only: Where,
    /// What `times faster` is about.
    #[serde(default)]
    pub metric: Metric,
    /// Seconds are given for so many blocks; of one pass when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "MiB/s")]
    MibPerSecond,
    #[serde(rename = "cpu s")]
    CpuSeconds,
    #[serde(rename = "user s")]
    UserSeconds,
    #[serde(rename = "system s")]
    SystemSeconds,
    #[serde(rename = "minor faults")]
    MinorFaults,
    #[serde(rename = "times faster")]
    TimesFaster,
}

/// An arm in a comparison, with what it does differently from the condition. The first one is the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Competitor {
    pub arm: Arm,
    /// What `[arms]` calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_percent: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
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
    /// Up to the end when neither `bytes` nor `share` nor `blocks` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Of the file, counted from `offset`: 0.5 is half the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// So many blocks of the condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
}

impl Range {
    /// The window on a file of this size, cut at its end, for blocks of this size.
    pub fn of(&self, file_bytes: u64, block_bytes: u64) -> Span {
        let offset = self.offset.0.min(file_bytes);
        let rest = file_bytes - offset;
        let wanted = match (self.bytes, self.share, self.blocks) {
            (Some(bytes), ..) => bytes.0,
            (None, Some(share), _) => (file_bytes as f64 * share) as u64,
            (None, None, Some(blocks)) => blocks.saturating_mul(block_bytes),
            (None, None, None) => rest,
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

impl Experiment {
    /// At the published size: ranges and passes as they were, where the experiment says so.
    pub fn full(&mut self) {
        for compare in &mut self.comparisons {
            compare.range = compare.full_range.or(compare.range);
            compare.ops = compare.full_ops.or(compare.ops);
            if !compare.full_block.is_empty() {
                compare.block = std::mem::take(&mut compare.full_block);
            }
        }
    }

    /// The arm that a claim or a figure means, as cells name it.
    pub fn arm_name(&self, written: &str) -> Option<&str> {
        let arms = || self.comparisons.iter().flat_map(|compare| &compare.arms);
        let labelled = arms().find(|it| it.label.as_deref() == Some(written));
        let parsed = written.parse::<Arm>().ok();
        labelled.or_else(|| arms().find(|it| Some(&it.arm) == parsed.as_ref())).map(|it| it.arm.name.as_str())
    }

    fn check_claim(&self, claim: &Claim) -> Result<(), String> {
        let id = &claim.id;
        if self.claims.iter().filter(|it| it.id == *id).count() > 1 {
            return Err(format!("two claims have the id {id:?}"));
        }
        self.check_compare(claim.compare.as_deref())?;
        for arm in [&claim.arm, &claim.than].into_iter().flatten() {
            self.check_arm(arm)?;
        }
        let told = [claim.scenario.is_some(), claim.not_testable.is_some(), claim.arm.is_some()];
        if told.iter().filter(|&&it| it).count() != 1 {
            return Err(format!("claim {id:?} needs one of arm (with expect), scenario, or not_testable"));
        }
        match (claim.expect, &claim.than) {
            (None, _) if claim.arm.is_some() => Err(format!("claim {id:?} does not say what it expects")),
            (Some(Expect::AtMost(_) | Expect::AtLeast(_)), Some(_)) => {
                Err(format!("claim {id:?} compares with an arm and with a number; one of them is enough"))
            }
            (Some(Expect::Lower | Expect::Higher | Expect::Same), None) => {
                Err(format!("claim {id:?} expects a direction, and does not say than which arm"))
            }
            _ => Ok(()),
        }
    }

    fn check_figure(&self, figure: &Figure) -> Result<(), String> {
        self.check_compare(Some(&figure.compare))?;
        [&figure.as_published, &figure.corrected].into_iter().flatten().try_for_each(|arm| self.check_arm(arm))
    }

    fn check_compare(&self, name: Option<&str>) -> Result<(), String> {
        let names: Vec<&str> = self.comparisons.iter().filter_map(|it| it.name.as_deref()).collect();
        match name {
            Some(name) if !names.contains(&name) => {
                Err(format!("no [[compare]] is named {name:?}; {}", crate::units::expected(name, &names)))
            }
            _ => Ok(()),
        }
    }

    fn check_arm(&self, arm: &str) -> Result<(), String> {
        let labels: Vec<&str> =
            self.comparisons.iter().flat_map(|it| &it.arms).filter_map(|it| it.label.as_deref()).collect();
        match self.arm_name(arm) {
            Some(_) => Ok(()),
            None => Err(format!("no comparison has an arm {arm:?}; {}", crate::units::expected(arm, &labels))),
        }
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

impl Compare {
    /// Whether the lists make sense, each and together; also asked after command-line filters were applied, and of what
    /// a saved run says.
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
        for (key, blocks) in [("block", &self.block), ("full_block", &self.full_block)] {
            if let Some(block) = blocks.iter().find(|block| block.0 == 0 || block.0 > 1 << 30) {
                return Err((key, format!("a block of {block} is not possible; it lies between 1 B and 1 GiB")));
            }
        }
        for (workload, arm) in
            self.workload.iter().flat_map(|workload| self.arms.iter().map(move |arm| (workload, arm)))
        {
            let workload = arm.own.workload.unwrap_or(*workload);
            crate::arm::method_spec(&arm.arm.method)
                .map_or(Ok(()), |spec| spec.fits(workload))
                .map_err(|message| ("workload", message))?;
        }
        if self.threads.iter().any(|threads| !(1..=1024).contains(threads)) {
            return Err(("threads", "threads must lie between 1 and 1024".into()));
        }
        if let Some(range) = &self.range {
            let told = [range.bytes.is_some(), range.share.is_some(), range.blocks.is_some()];
            if told.into_iter().filter(|it| *it).count() > 1 {
                return Err(("range", "a range has bytes, a share or blocks, and one of them only".into()));
            }
            if range.share.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
                return Err(("range", "a share lies above 0 and is at most 1".into()));
            }
        }
        if self.memory.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return Err(("memory", "memory is a share of the range, above 0 and at most 1".into()));
        }
        if self.ops == Some(0) {
            return Err(("ops", "a pass has at least one op".into()));
        }
        let writes = self.workload.iter().any(|it| it.writes());
        if !writes && (self.durability != nothing_synced() || self.layout != written_before()) {
            return Err(("workload", "durability and layout are for workloads that write".into()));
        }
        if writes && self.threads != [1] {
            return Err(("workload", "workloads that write have one thread".into()));
        }
        if writes && self.state.contains(&State::Limited) {
            return Err(("workload", "workloads that write are not measured in state limited".into()));
        }
        let holes = self.workload.contains(&Workload::Append) || self.layout != written_before();
        let held = self.state.iter().find(|&&it| !matches!(it, State::Cold | State::AsIs));
        if let Some(state) = held.filter(|_| writes && holes) {
            return Err((
                "workload",
                format!(
                    "what was never written is not in the page cache: state {state} is not possible there; cold is"
                ),
            ));
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
