//! What a study says: claims, which can be tested, and numbers, which are printed beside ours.

use serde::{Deserialize, Serialize};

use super::{Compare, Experiment, Throttle};
use crate::{Bytes, Condition, Consume, Durability, State, Workload, units::expected};

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

    pub fn selects(&self, condition: &Condition) -> bool {
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

    /// Whether it selects any condition of a comparison, at the published size too.
    fn selects_some(&self, of: &Compare) -> bool {
        fn overlaps<T: PartialEq>(wanted: &[T], mut there: impl Iterator<Item = T>) -> bool {
            wanted.is_empty() || there.any(|it| wanted.contains(&it))
        }
        overlaps(&self.state, of.state.iter().copied())
            && overlaps(&self.block, of.block.iter().chain(&of.full_block).copied())
            && overlaps(&self.workload, of.workload.iter().copied())
            && overlaps(&self.consume, of.consume.iter().copied())
            && overlaps(&self.read_bps, of.storage.iter().map(|it| it.read_bps.unwrap_or(Bytes(0))))
            && overlaps(&self.aligned, of.aligned.iter().copied())
            && overlaps(&self.durability, of.durability.iter().copied())
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
    /// Takes note of the claims that are asked less than in the experiment as it was written.
    pub fn note_filtered(&mut self, written: &Experiment) {
        let less: Vec<String> =
            self.claims.iter().filter(|it| !self.asks_all(written, it)).map(|it| it.id.clone()).collect();
        self.filtered_claims = less;
    }

    /// Whether a claim is asked under everything that another form of the experiment asks it under.
    pub fn asks_all(&self, written: &Experiment, claim: &Claim) -> bool {
        let arms: Option<Vec<&str>> =
            [&claim.arm, &claim.than].into_iter().flatten().map(|it| written.arm_name(it)).collect();
        let Some(arms) = arms.filter(|_| claim.arm.is_some()) else { return true };
        let asked = written.comparisons.iter().filter(|it| it.asks(claim, &arms));
        asked.into_iter().all(|it| {
            self.comparisons.iter().any(|own| {
                (&own.name, own.variant) == (&it.name, it.variant) && own.has(&arms) && own.reaches(it, &claim.only)
            })
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
        for arm in [&claim.arm, &claim.than].into_iter().flatten() {
            self.check_arm(arm)?;
        }
        if let (Some(arm), Some(than)) = (&claim.arm, &claim.than)
            && self.arm_name(arm) == self.arm_name(than)
        {
            return Err(format!("claim {id:?} compares {arm} with itself"));
        }
        let mut asked = self.comparisons.iter().filter(|it| claim.compare.is_none() || it.name == claim.compare);
        if claim.arm.is_some() && !asked.any(|it| claim.only.selects_some(it)) {
            return Err(format!("claim {id:?}: no condition of its comparisons is one of those in \"where\""));
        }
        let given = [claim.scenario.is_some(), claim.not_testable.is_some(), claim.arm.is_some()];
        if given.iter().filter(|&&it| it).count() != 1 {
            return Err(format!("claim {id:?} needs one of arm (with expect), scenario, or not_testable"));
        }
        match (claim.expect, &claim.than) {
            (None, _) if claim.arm.is_some() => Err(format!("claim {id:?} needs the key expect")),
            (Some(Expect::AtMost(_) | Expect::AtLeast(_)), Some(_)) => {
                Err(format!("claim {id:?} compares with an arm and with a number; expected only one of them"))
            }
            (Some(Expect::Lower | Expect::Higher | Expect::Same), None) => {
                Err(format!("claim {id:?} expects a direction, and needs the key than"))
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
        self.check_compare(Some(&figure.compare))?;
        [&figure.as_published, &figure.corrected].into_iter().flatten().try_for_each(|arm| self.check_arm(arm))
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
    fn has(&self, arms: &[&str]) -> bool {
        arms.iter().all(|name| self.arms.iter().any(|it| it.arm.name == **name))
    }

    /// Whether a claim is about it, with these arms.
    fn asks(&self, claim: &Claim, arms: &[&str]) -> bool {
        let only = &claim.only;
        (claim.compare.is_none() || claim.compare == self.name)
            && self.has(arms)
            && selected(&self.state, &only.state).next().is_some()
            && selected(&self.block, &only.block).next().is_some()
            && selected(&self.workload, &only.workload).next().is_some()
            && selected(&self.consume, &only.consume).next().is_some()
            && selected(&self.aligned, &only.aligned).next().is_some()
            && selected(&self.durability, &only.durability).next().is_some()
            && self.throttles(only).next().is_some()
    }

    /// Whether it has every condition of another one that a selection takes.
    fn reaches(&self, other: &Compare, only: &Where) -> bool {
        selected(&other.state, &only.state).all(|it| self.state.contains(it))
            && selected(&other.block, &only.block).all(|it| self.block.contains(it))
            && selected(&other.workload, &only.workload).all(|it| self.workload.contains(it))
            && selected(&other.consume, &only.consume).all(|it| self.consume.contains(it))
            && selected(&other.aligned, &only.aligned).all(|it| self.aligned.contains(it))
            && selected(&other.durability, &only.durability).all(|it| self.durability.contains(it))
            && other.throttles(only).all(|it| self.storage.contains(it))
            && other.threads.iter().all(|it| self.threads.contains(it))
            && other.descriptor.iter().all(|it| self.descriptor.contains(it))
            && other.layout.iter().all(|it| self.layout.contains(it))
            // Sizes that were written down are other questions than what the planner chooses.
            && (other.ops.is_empty() == self.ops.is_empty() && other.ops.iter().all(|it| self.ops.contains(it)))
            && (other.fill.iter().all(|it| self.fill.contains(it))
                || !selected(&other.state, &only.state).any(|it| it.is_filled()))
    }

    fn throttles(&self, only: &Where) -> impl Iterator<Item = &Throttle> {
        let rate = |it: &Throttle| it.read_bps.unwrap_or(Bytes(0));
        self.storage.iter().filter(move |it| only.read_bps.is_empty() || only.read_bps.contains(&rate(it)))
    }
}
