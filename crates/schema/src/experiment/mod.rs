//! Experiments as people write them: which arms under which conditions. Built-ins are such files too
//! (`builtin.rs`) and have no power that a user's own file does not have.

mod claim;
mod compare;
mod one_or_many;
mod written;

use serde::{Deserialize, Serialize};

pub use claim::{Claim, Expect, Figure, Metric, SCENARIOS, Unit, Where};
pub use compare::{Compare, Competitor, Override, Question, Range, SizeAsked, Throttle};
pub(crate) use compare::{possible_block, possible_ops};
pub use written::{FILE_BYTES_MAX, Problem};

use crate::{Arm, Bytes, Fill};

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
    /// Ids of claims for which options left out something that the experiment as written asks.
    #[serde(rename = "narrowed", default, skip_serializing_if = "Vec::is_empty")]
    pub filtered_claims: Vec<String>,
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
    /// In which enough rounds are made for every claim; of the usual study when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<u32>,
    /// The fill that leaves folios as the page cache had them when the study was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_then: Option<Fill>,
}

/// The two forms of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// The arms do exactly what the published program did, mistakes included.
    AsPublished,
    /// The same question, with arms that do equal work from a verified state.
    Corrected,
}

/// Arms times conditions, over all comparisons. More can be neither measured nor read.
pub const CELLS_MAX: usize = 10_000;

impl Variant {
    pub fn words(self) -> &'static str {
        match self {
            Variant::AsPublished => "as published",
            Variant::Corrected => "corrected",
        }
    }
}

impl Experiment {
    /// Whether every comparison makes sense, and all together are few enough; also asked after command-line filters were
    /// applied, and of what a saved run says.
    ///
    /// # Errors
    /// Which key is at fault, and a sentence.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        self.comparisons.iter().try_for_each(Compare::validate)?;
        let cells = self.comparisons.iter().try_fold(0usize, |sum, it| sum.checked_add(it.cells()?));
        match cells {
            Some(cells) if cells <= CELLS_MAX => Ok(()),
            _ => Err(("compare", format!("all comparisons together have more than {CELLS_MAX} cells"))),
        }
    }

    /// At the published size: ranges and passes as they were, where the experiment says so.
    pub fn full(&mut self) {
        for compare in &mut self.comparisons {
            compare.range = compare.full_range.or(compare.range);
            if let Some(ops) = compare.full_ops {
                compare.ops = vec![ops];
            }
            if !compare.full_block.is_empty() {
                compare.block = std::mem::take(&mut compare.full_block);
            }
        }
    }

    /// As if it had been written here: every arm resolved through the vocabulary, every comparison checked. A saved run may
    /// come from any source.
    ///
    /// # Errors
    /// Which key is at fault, and why.
    pub fn resolved(&self) -> Result<Experiment, String> {
        let mut resolved = self.clone();
        for competitor in resolved.comparisons.iter_mut().flat_map(|it| &mut it.arms) {
            *competitor = competitor.resolved().map_err(|why| format!("arms: {why}"))?;
        }
        resolved.validate().map_err(|(key, why)| format!("{key}: {why}"))?;
        Ok(resolved)
    }

    /// The arm that a claim or a figure means, as cells name it.
    pub fn arm_name(&self, written: &str) -> Option<&str> {
        let arms = || self.comparisons.iter().flat_map(|compare| &compare.arms);
        let labelled = arms().find(|it| it.label.as_deref() == Some(written));
        let parsed = written.parse::<Arm>().ok();
        labelled.or_else(|| arms().find(|it| Some(&it.arm) == parsed.as_ref())).map(|it| it.arm.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    /// As `rerun` has it: from the record of a run.
    fn made_again(experiment: &Experiment) -> Experiment {
        let saved = serde_json::to_string(experiment).unwrap();
        serde_json::from_str::<Experiment>(&saved).unwrap().resolved().unwrap()
    }

    #[test]
    fn every_built_in_experiment_that_is_saved_and_made_again_is_the_same_with_the_arms_of_its_claims() {
        for (name, text) in builtin::all() {
            let mut written = Experiment::parse(name, text).unwrap();
            for _ in ["as it is", "at the published size"] {
                let again = made_again(&written);
                let arms = |it: &Experiment| -> Vec<String> {
                    it.comparisons.iter().flat_map(|it| &it.arms).map(|it| it.arm.name.clone()).collect()
                };
                assert_eq!(arms(&again), arms(&written), "{name}");
                for arm in written.claims.iter().flat_map(|it| [&it.arm, &it.than]).flatten() {
                    assert_eq!(again.arm_name(arm), written.arm_name(arm), "{name}");
                }
                assert_eq!(again, written, "{name}");
                written.full();
            }
        }
    }

    #[test]
    fn a_claim_about_an_arm_with_values_of_its_own_is_about_no_other_arm_when_it_is_made_again() {
        let text = r#"
            title = "One that begins cold"
            [arms]
            coldown = { method = "pread", own = { state = "cold" } }
            [[compare]]
            arms = ["pread", "coldown"]
            workload = "scan"
            block = "64 KiB"
            state = "cached"
            [[claim]]
            id = "slower"
            says = "it waits for the device"
            arm = "coldown"
            than = "pread"
            expect = "higher"
        "#;
        let written = Experiment::parse("my", text).unwrap_or_else(|it| panic!("{}", it.at("my")));
        let mut experiment = written.clone();
        for _ in 0..3 {
            experiment = made_again(&experiment);
            assert_eq!(experiment.arm_name("coldown"), Some("native/pread (coldown)"));
            assert_eq!(experiment.arm_name("pread"), Some("native/pread"));
        }
        assert_eq!(experiment, written);
        // The record of a rerun that an earlier version made has the names without what was their own.
        for competitor in &mut experiment.comparisons[0].arms {
            competitor.arm.name = "native/pread".into();
        }
        assert_eq!(made_again(&experiment), written);
    }
}
