//! What a study says: claims, which can be tested, and numbers, which are printed beside ours.

use serde::{Deserialize, Serialize};

use super::{Compare, Experiment, Throttle};
use crate::{
    Beside, Bytes, Condition, Consume, Durability, Fill, State, Workload,
    units::{self, expected},
};

/// What a claim may name as its scenario. How each is done stands in the lab; a test there compares the two.
pub const SCENARIOS: &[&str] = &[
    "address-space",
    "private-write",
    "shared-write",
    "shared-memory",
    "private-libraries",
    "direct-write",
    "write-is-cached",
    "munmap-syncs",
    "msync-async",
    "dirty-before-store",
    "locked-write-faults",
    "mapping-beyond-direct-memory",
    "truncated-mapping",
    "write-error-at-sync",
    "stall-under-write-back",
    "stall-when-dirty",
    "write-back-ext4",
    "write-back-xfs",
    "write-back-btrfs",
];

/// A claim without a published ratio: what its passes are to tell from none, where that decides how many are made.
pub const EXPECTED_RATIO: f64 = 1.5;

/// Ticks of the kernel's timer in which a pass of a process divides its CPU time into user and system time
/// (docs/METHODOLOGY.md).
pub const DIVIDING_TICKS: f64 = 5.0;

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
    /// Of a pass: within which 99 of 100 safepoints were reached; of fewer than 100, all.
    SafepointP99,
    /// Of a cold pass: its rate as a share of what the device, or its throttle, can deliver at most. More is better.
    CeilingShare,
    /// Of a pass beside a beat: how late 99 of 100 deadlines were at most. Fewer than 100 have none.
    BeatP99,
    /// Of a pass beside a beat: the share of its deadlines that were more than two periods late.
    StalledShare,
}

impl Metric {
    /// It is a part of CPU time, which the kernel divides by the ticks of its timer.
    pub fn is_part_of_cpu(self) -> bool {
        matches!(self, Metric::User | Metric::System)
    }

    /// It does not grow with the work of a pass.
    pub fn is_quotient(self) -> bool {
        match self {
            Metric::PagesPerFault | Metric::SafepointP99 | Metric::CeilingShare => true,
            _ => self.is_of_beats(),
        }
    }

    /// It is seen in passes beside a beat only.
    pub fn is_of_beats(self) -> bool {
        matches!(self, Metric::BeatP99 | Metric::StalledShare)
    }
}

/// A published or own statement, in a form that can be tested.
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
    /// Other conditions that those are held against, with the same arm: of the same comparisons, or of others. Between
    /// conditions metrics are per byte. With `than`, what is held against them is the arm's metric relative to the other arm's.
    #[serde(default, skip_serializing_if = "Where::is_empty")]
    pub than_where: Where,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_compare: Option<String>,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "units::rates")]
    pub read_bps: Vec<Bytes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aligned: Vec<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durability: Vec<Durability>,
    /// Of states that begin in the page cache.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fill: Vec<Fill>,
    /// Blocks per pass, where the experiment says how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ops: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
}

impl Claim {
    /// It holds conditions against each other, and not only arms under one of them.
    pub fn is_across(&self) -> bool {
        self.than_compare.is_some() || !self.than_where.is_empty()
    }

    /// The comparisons and conditions that it is asked under, and those that they are held against.
    pub fn selections(&self) -> impl Iterator<Item = (Option<&str>, &Where)> {
        let compare = self.compare.as_deref();
        let against = self.is_across().then(|| (self.than_compare.as_deref().or(compare), &self.than_where));
        [(compare, &self.only)].into_iter().chain(against)
    }
}

impl Where {
    pub fn is_empty(&self) -> bool {
        *self == Where::default()
    }

    /// `compare`: what the condition comes from. How many reads are meant is what that asks for.
    pub fn selects(&self, compare: Option<&Compare>, condition: &Condition) -> bool {
        fn has<T: PartialEq>(list: &[T], it: &T) -> bool {
            list.is_empty() || list.contains(it)
        }
        // A disk of which only the requests are limited has no such rate, and is not the disk as it is.
        let rate = condition.storage.map_or(Some(0), |it| it.read_bytes_per_s);
        has(&self.state, &condition.state)
            && self.has_fields(condition.workload)
            && has(&self.block, &Bytes(condition.block_bytes))
            && has(&self.workload, &condition.workload)
            && has(&self.consume, &condition.consume)
            && (self.read_bps.is_empty() || rate.is_some_and(|it| self.read_bps.contains(&Bytes(it))))
            && has(&self.aligned, &condition.aligned)
            && has(&self.durability, &condition.durability)
            && (self.fill.is_empty() || condition.fill().is_some_and(|it| self.fill.contains(&it)))
            && (self.ops.is_empty()
                || compare
                    .map_or_else(|| self.ops.contains(&condition.ops), |it| it.asks_for_any(&self.ops, condition)))
            && has(&self.beside, &condition.beside)
    }

    /// Whether passes of this workload have what it names of them: a condition that lacks a field is not selected by it.
    fn has_fields(&self, workload: Workload) -> bool {
        (self.consume.is_empty() || workload.consumes()) && (self.durability.is_empty() || workload.writes())
    }

    /// The fields of a condition that it names, as `fields::FIELDS` calls them.
    pub fn fields(&self) -> impl Iterator<Item = &'static str> {
        let named = [
            ("state", !self.state.is_empty()),
            ("block", !self.block.is_empty()),
            ("workload", !self.workload.is_empty()),
            ("consume", !self.consume.is_empty()),
            ("storage", !self.read_bps.is_empty()),
            ("aligned", !self.aligned.is_empty()),
            ("durability", !self.durability.is_empty()),
            ("fill", !self.fill.is_empty()),
            ("ops", !self.ops.is_empty()),
            ("beside", !self.beside.is_empty()),
        ];
        named.into_iter().filter(|(_, is_named)| *is_named).map(|(name, _)| name)
    }

    /// The same with the sizes of another one, where an earlier version rounded them when it saved it.
    fn exact(&self, exact: &Where) -> Where {
        let sizes = |own: &[Bytes], exact: &[Bytes]| {
            own.iter().map(|it| *exact.iter().find(|exact| it.is_rounded(**exact)).unwrap_or(it)).collect()
        };
        Where {
            block: sizes(&self.block, &exact.block),
            read_bps: sizes(&self.read_bps, &exact.read_bps),
            ..self.clone()
        }
    }

    /// Whether it selects any condition of a comparison, at the published size too.
    fn selects_some(&self, of: &Compare) -> bool {
        fn overlaps<T: PartialEq>(wanted: &[T], mut there: impl Iterator<Item = T>) -> bool {
            wanted.is_empty() || there.any(|it| wanted.contains(&it))
        }
        overlaps(&self.state, of.state.iter().copied())
            && selected(&of.workload, &self.workload).any(|it| self.has_fields(*it))
            && overlaps(&self.block, of.block.iter().chain(&of.full_block).copied())
            && overlaps(&self.workload, of.workload.iter().copied())
            && overlaps(&self.consume, of.consume.iter().copied())
            && overlaps(&self.read_bps, of.storage.iter().filter_map(Throttle::rate))
            && overlaps(&self.aligned, of.aligned.iter().copied())
            && overlaps(&self.durability, of.durability.iter().copied())
            && overlaps(&self.ops, of.ops.iter().copied().chain(of.full_ops))
            && overlaps(&self.beside, of.beside.iter().copied())
            && (self.fill.is_empty() || of.has_filled(self) && selected(&of.fill, &self.fill).next().is_some())
    }

    /// A size of this selection that an earlier version rounded when it saved the record, and the condition's own size.
    pub fn rounded(&self, condition: &Condition) -> Option<(Bytes, Bytes)> {
        let rate = condition.storage.and_then(|storage| storage.read_bytes_per_s).unwrap_or(0);
        let sizes = self.block.iter().map(|it| (*it, Bytes(condition.block_bytes)));
        let rates = self.read_bps.iter().map(|it| (*it, Bytes(rate)));
        sizes.chain(rates).find(|(saved, exact)| saved.is_rounded(*exact))
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
    /// Seconds and faults are given for so many blocks; of one pass when absent. The range of the experiment is as much smaller
    /// than the published one as its passes have fewer blocks.
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

/// The values of a list that a selection takes.
fn selected<'a, T: PartialEq>(list: &'a [T], only: &'a [T]) -> impl Iterator<Item = &'a T> {
    list.iter().filter(move |it| only.is_empty() || only.contains(it))
}

impl Experiment {
    /// Takes note of what options changed of the experiment as it was written, and of the claims that are asked less.
    pub fn note_filtered(&mut self, written: &Experiment) {
        self.written = if self.comparisons == written.comparisons { Vec::new() } else { written.comparisons.clone() };
        let less: Vec<String> =
            self.claims.iter().filter(|it| !self.asks_all(written, it)).map(|it| it.id.clone()).collect();
        self.filtered_claims = less;
    }

    /// Whether a claim is asked under everything that another form of the experiment asks it under.
    pub fn asks_all(&self, written: &Experiment, claim: &Claim) -> bool {
        let arms: Option<Vec<&str>> =
            [&claim.arm, &claim.than].into_iter().flatten().map(|it| written.arm_name(it)).collect();
        let Some(arms) = arms.filter(|_| claim.arm.is_some()) else { return true };
        claim.selections().all(|(compare, only)| {
            let mut asked = written.comparisons.iter().filter(|it| it.asks(compare, only, &arms));
            asked.all(|it| {
                self.comparisons.iter().any(|own| {
                    (&own.name, own.variant) == (&it.name, it.variant) && own.has(&arms) && own.reaches(it, only)
                })
            })
        })
    }

    /// Whether a claim asks what the claim of its id asks in another form of the experiment, however both are worded and
    /// spelled. What is left out (arms, states, blocks …) is no part of that, and neither is what options replaced, of which
    /// the record knows what was written; what the claim's arms do, ranges and memory are. One that its version could not
    /// test asks nothing else.
    pub fn asks_as(&self, claim: &Claim, written: &Experiment) -> bool {
        let Some(meant) = written.claims.iter().find(|it| it.id == claim.id) else { return false };
        if claim.not_testable.is_some() || meant.not_testable.is_some() {
            return true;
        }
        let arm = |own: Option<&str>, meant: Option<&str>| match (own, meant) {
            (Some(own), Some(meant)) => {
                let entered = self.competitor(own).or_else(|| written.competitor(own));
                entered.zip(written.competitor(meant)).is_some_and(|(a, b)| a.does_as(b))
            }
            (own, meant) => own == meant,
        };
        (claim.metric, claim.expect, &claim.scenario) == (meant.metric, meant.expect, &meant.scenario)
            && arm(claim.arm.as_deref(), meant.arm.as_deref())
            && arm(claim.than.as_deref(), meant.than.as_deref())
            && (meant.arm.is_none() || written.selects_as(claim, meant) && self.is_asked_under(claim, written))
    }

    /// Whether two claims are about the same of its conditions: of the first the arms may be called otherwise, and sizes may
    /// be rounded.
    fn selects_as(&self, claim: &Claim, meant: &Claim) -> bool {
        let arms: Vec<&str> =
            [&meant.arm, &meant.than].into_iter().flatten().filter_map(|it| self.arm_name(it)).collect();
        let taken = |of: &Experiment, compare: Option<&str>, only: &Where| -> Vec<Option<Compare>> {
            of.comparisons.iter().map(|it| it.asks(compare, only, &arms).then(|| it.taken(only))).collect()
        };
        let mut full = self.clone();
        full.full();
        let (own, meant): (Vec<_>, Vec<_>) = (claim.selections().collect(), meant.selections().collect());
        own.len() == meant.len()
            && own.into_iter().zip(meant).all(|((own, only), (meant, meant_only))| {
                let only = only.exact(meant_only);
                [self, &full].into_iter().all(|of| taken(of, own, &only) == taken(of, meant, meant_only))
            })
    }

    /// Whether all comparisons that it asks a claim under are those of another form of it, or parts of them. What options made
    /// of them is not looked at where the record has them as they were written.
    fn is_asked_under(&self, claim: &Claim, written: &Experiment) -> bool {
        let arms: Option<Vec<&str>> =
            [&claim.arm, &claim.than].into_iter().flatten().map(|it| self.arm_name(it)).collect();
        let Some(arms) = arms else { return true };
        claim.selections().all(|(compare, only)| {
            let own = if self.written.is_empty() { &self.comparisons } else { &self.written };
            let mut asked = own.iter().filter(|it| it.asks(compare, only, &arms));
            asked.all(|own| written.comparisons.iter().any(|it| own.is_form_of(it, only)))
        })
    }

    pub(super) fn check_claim(&self, claim: &Claim) -> Result<(), String> {
        let id = &claim.id;
        if let Some(scenario) = claim.scenario.as_deref().filter(|it| !SCENARIOS.contains(it)) {
            return Err(format!("claim {id:?}: there is no scenario {scenario:?}; {}", expected(scenario, SCENARIOS)));
        }
        if claim.ratio.is_some_and(|it| !(it.is_finite() && it > 0.0)) {
            return Err(format!("claim {id:?}: a ratio is a number above 0"));
        }
        if let Some(Expect::AtMost(limit) | Expect::AtLeast(limit)) = claim.expect
            && !limit.is_finite()
        {
            return Err(format!("claim {id:?}: {limit} is not a valid limit; expected a number"));
        }
        if self.claims.iter().filter(|it| it.id == *id).count() > 1 {
            return Err(format!("two claims have the id {id:?}"));
        }
        self.check_compare(claim.compare.as_deref())?;
        self.check_compare(claim.than_compare.as_deref())?;
        for arm in [&claim.arm, &claim.than].into_iter().flatten() {
            self.check_arm(arm)?;
        }
        if let (Some(arm), Some(than)) = (&claim.arm, &claim.than)
            && self.arm_name(arm) == self.arm_name(than)
        {
            return Err(format!("claim {id:?} compares {arm} with itself"));
        }
        for ((compare, only), key) in claim.selections().zip(["where", "than_where"]) {
            let mut asked = self.named(compare);
            if claim.arm.is_some() && !asked.any(|it| only.selects_some(it)) {
                return Err(format!("claim {id:?}: no condition of its comparisons is one of those in {key:?}"));
            }
        }
        if claim.metric.is_of_beats() && claim.arm.is_some() {
            let without = |(compare, only): (Option<&str>, &Where)| {
                let mut asked = self.named(compare);
                asked.any(|it| only.selects_some(it) && selected(&it.beside, &only.beside).any(Beside::is_nothing))
            };
            if claim.selections().any(without) {
                return Err(format!(
                    "claim {id:?} is about beats: its comparisons need beside = \"beat\", or the claim where = {{ beside = \
                     [\"beat\"] }}"
                ));
            }
        }
        let mut selections = claim.selections();
        if claim.is_across() && selections.next() == selections.next() {
            return Err(format!("claim {id:?} holds conditions against themselves"));
        }
        let given = [claim.scenario.is_some(), claim.not_testable.is_some(), claim.arm.is_some()];
        if given.iter().filter(|&&it| it).count() != 1 {
            return Err(format!("claim {id:?} needs one of arm (with expect), scenario, or not_testable"));
        }
        let of_arms = [
            ("compare", claim.compare.is_some()),
            ("than", claim.than.is_some()),
            ("where", !claim.only.is_empty()),
            ("ratio", claim.ratio.is_some()),
            ("expect", claim.expect.is_some()),
            ("metric", claim.metric != Metric::default()),
        ];
        if let Some((key, _)) = of_arms.into_iter().find(|it| it.1).filter(|_| claim.arm.is_none()) {
            return Err(format!("claim {id:?}: {key} is for claims with the key arm"));
        }
        for ((compare, only), key) in claim.selections().zip(["where", "than_where"]).filter(|_| claim.arm.is_some()) {
            let mut asked = self.named(compare);
            let arms: Vec<&str> =
                [&claim.arm, &claim.than].into_iter().flatten().filter_map(|it| self.arm_name(it)).collect();
            if !self.named(compare).any(|it| it.has(&arms)) {
                return Err(format!("claim {id:?}: none of its comparisons has {}", arms.join(" and ")));
            }
            if !asked.any(|it| it.has(&arms) && only.selects_some(it)) {
                let arms = arms.join(" and ");
                return Err(format!("claim {id:?}: none of its comparisons has {arms} under a condition of {key:?}"));
            }
        }
        match (claim.expect, &claim.than) {
            (None, _) if claim.arm.is_some() => Err(format!("claim {id:?} needs the key expect")),
            (Some(Expect::AtMost(_) | Expect::AtLeast(_)), _) if claim.is_across() => Err(format!(
                "claim {id:?} holds conditions against each other: expect is lower, higher or same, and not a number"
            )),
            (_, _) if claim.is_across() && claim.arm.is_none() => {
                Err(format!("claim {id:?}: than_where and than_compare are for claims with the key arm"))
            }
            (Some(Expect::AtMost(_) | Expect::AtLeast(_)), Some(_)) => {
                Err(format!("claim {id:?} compares with an arm and with a number; expected only one of them"))
            }
            (Some(Expect::Lower | Expect::Higher | Expect::Same), None) if !claim.is_across() => {
                Err(format!("claim {id:?} expects a direction, and needs the key than, or than_where"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_figure(&self, figure: &Figure) -> Result<(), String> {
        if !figure.published.is_finite() {
            return Err(format!("published: {} is not valid here; expected a number", figure.published));
        }
        if figure.blocks == Some(0) {
            return Err("blocks: expected at least one block".into());
        }
        if figure.blocks.is_some() && matches!(figure.unit, Unit::MibPerSecond | Unit::TimesFaster) {
            return Err("blocks: a rate and a ratio are of any number of blocks".into());
        }
        if figure.metric != Metric::default() && figure.unit != Unit::TimesFaster {
            return Err("metric: it is for the unit \"times faster\"; other units are a metric".into());
        }
        self.check_compare(Some(&figure.compare))?;
        let asked = || self.named(Some(&figure.compare));
        if !asked().any(|it| figure.only.selects_some(it)) {
            return Err("no condition of its comparisons is one of those in \"where\"".into());
        }
        for arm in [&figure.as_published, &figure.corrected].into_iter().flatten() {
            self.check_arm(arm)?;
            let name = self.arm_name(arm);
            if !asked().any(|it| name.is_some_and(|name| it.has(&[name]))) {
                return Err(format!("the comparisons named {:?} have no arm {arm:?}", figure.compare));
            }
            if !asked().any(|it| name.is_some_and(|name| it.has(&[name])) && figure.only.selects_some(it)) {
                return Err(format!(
                    "the comparisons named {:?} have no arm {arm:?} under a condition of \"where\"",
                    figure.compare
                ));
            }
        }
        Ok(())
    }

    /// The comparisons of a name; all where there is none.
    fn named(&self, compare: Option<&str>) -> impl Iterator<Item = &Compare> {
        self.comparisons.iter().filter(move |it| compare.is_none() || it.name.as_deref() == compare)
    }

    fn check_compare(&self, name: Option<&str>) -> Result<(), String> {
        let names: Vec<&str> = self.comparisons.iter().filter_map(|it| it.name.as_deref()).collect();
        match name {
            Some(name) if names.is_empty() => Err(format!("no [[compare]] has a name, and {name:?} is requested")),
            Some(name) if !names.contains(&name) => {
                Err(format!("no [[compare]] is named {name:?}; {}", expected(name, &names)))
            }
            _ => Ok(()),
        }
    }

    fn check_arm(&self, arm: &str) -> Result<(), String> {
        let mut labels: Vec<&str> = Vec::new();
        for arm in self.comparisons.iter().flat_map(|it| &it.arms) {
            let label = arm.label.as_deref().unwrap_or(arm.arm.short_name());
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        match self.arm_name(arm) {
            Some(_) => Ok(()),
            None => Err(format!("no comparison has an arm {arm:?}; {}", expected(arm, &labels))),
        }
    }
}

impl Compare {
    pub(crate) fn has(&self, arms: &[&str]) -> bool {
        arms.iter().all(|name| self.arms.iter().any(|it| it.arm.name == **name))
    }

    /// Whether a claim about comparisons of this name under these conditions is about it, with these arms.
    fn asks(&self, compare: Option<&str>, only: &Where, arms: &[&str]) -> bool {
        (compare.is_none() || compare == self.name.as_deref())
            && self.has(arms)
            && selected(&self.state, &only.state).next().is_some()
            && selected(&self.block, &only.block).next().is_some()
            && selected(&self.workload, &only.workload).next().is_some()
            && selected(&self.consume, &only.consume).next().is_some()
            && selected(&self.aligned, &only.aligned).next().is_some()
            && selected(&self.durability, &only.durability).next().is_some()
            && selected(&self.beside, &only.beside).next().is_some()
            && (only.fill.is_empty() || self.has_filled(only) && selected(&self.fill, &only.fill).next().is_some())
            && (only.ops.is_empty() || selected(&self.ops, &only.ops).next().is_some())
            && self.throttles(only).next().is_some()
    }

    /// Whether it has every condition of another one that a selection takes.
    fn reaches(&self, other: &Compare, only: &Where) -> bool {
        self.replays_as(other)
            && selected(&other.state, &only.state).all(|it| self.state.contains(it))
            && selected(&other.block, &only.block).all(|it| self.block.contains(it))
            && selected(&other.workload, &only.workload).all(|it| self.workload.contains(it))
            && selected(&other.consume, &only.consume).all(|it| self.consume.contains(it))
            && selected(&other.aligned, &only.aligned).all(|it| self.aligned.contains(it))
            && selected(&other.durability, &only.durability).all(|it| self.durability.contains(it))
            && selected(&other.beside, &only.beside).all(|it| self.beside.contains(it))
            && other.throttles(only).all(|it| self.storage.contains(it))
            && other.threads.iter().all(|it| self.threads.contains(it))
            && other.descriptor.iter().all(|it| self.descriptor.contains(it))
            && other.layout.iter().all(|it| self.layout.contains(it))
            // Sizes that were written down are other questions than what the planner chooses.
            && (other.ops.is_empty() == self.ops.is_empty() && other.ops.iter().all(|it| self.ops.contains(it)))
            && (selected(&other.fill, &only.fill).all(|it| self.fill.contains(it)) || !other.has_filled(only))
    }

    /// Whether it is another one, or a part of it, under the conditions that a selection takes.
    fn is_form_of(&self, other: &Compare, only: &Where) -> bool {
        let ranges = [other.range, other.full_range.or(other.range)];
        (&self.name, self.variant, self.memory) == (&other.name, other.variant, other.memory)
            && ranges.contains(&self.range)
            && self.replays_as(other)
            && selected(&self.state, &only.state).all(|it| other.state.contains(it))
            && selected(&self.block, &only.block).all(|it| other.block.contains(it) || other.full_block.contains(it))
            && selected(&self.workload, &only.workload).all(|it| other.workload.contains(it))
            && selected(&self.consume, &only.consume).all(|it| other.consume.contains(it))
            && self.threads.iter().all(|it| other.threads.contains(it))
            // A size where the other one leaves it to the planner is a part of that.
            && (other.ops.is_empty() || self.ops.iter().all(|it| other.ops.contains(it) || other.full_ops == Some(*it)))
            && (!self.has_filled(only) || selected(&self.fill, &only.fill).all(|it| other.fill.contains(it)))
            && selected(&self.aligned, &only.aligned).all(|it| other.aligned.contains(it))
            && selected(&self.durability, &only.durability).all(|it| other.durability.contains(it))
            && selected(&self.beside, &only.beside).all(|it| other.beside.contains(it))
            && self.descriptor.iter().all(|it| other.descriptor.contains(it))
            && self.layout.iter().all(|it| other.layout.contains(it))
            && self.throttles(only).all(|it| other.storage.iter().any(|exact| it.is_saved(exact)))
    }

    /// What a selection takes of it.
    fn taken(&self, only: &Where) -> Compare {
        fn keep<T: PartialEq>(list: &mut Vec<T>, only: &[T]) {
            list.retain(|it| only.is_empty() || only.contains(it));
        }
        let mut taken = self.clone();
        keep(&mut taken.state, &only.state);
        keep(&mut taken.block, &only.block);
        keep(&mut taken.workload, &only.workload);
        keep(&mut taken.consume, &only.consume);
        keep(&mut taken.aligned, &only.aligned);
        keep(&mut taken.durability, &only.durability);
        keep(&mut taken.fill, &only.fill);
        keep(&mut taken.ops, &only.ops);
        keep(&mut taken.beside, &only.beside);
        taken.storage = self.throttles(only).copied().collect();
        taken.state.retain(|it| only.fill.is_empty() || it.is_filled());
        taken
    }

    /// Whether a selection takes a state that begins in the page cache.
    fn has_filled(&self, only: &Where) -> bool {
        selected(&self.state, &only.state).any(|it| it.is_filled())
    }

    fn throttles(&self, only: &Where) -> impl Iterator<Item = &Throttle> {
        let has_rate = |it: &Throttle| it.rate().is_some_and(|rate| only.read_bps.contains(&rate));
        self.storage.iter().filter(move |it| only.read_bps.is_empty() || has_rate(it))
    }
}
