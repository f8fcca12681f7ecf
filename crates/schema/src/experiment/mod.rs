//! Experiments as people write them: which arms under which conditions. Built-ins are such files too
//! (`builtin.rs`) and have no power that a user's own file does not have.

mod claim;
mod compare;
mod one_or_many;
mod written;

use serde::{Deserialize, Serialize};

pub use claim::{Claim, DIVIDING_TICKS, EXPECTED_RATIO, Expect, Figure, Metric, SCENARIOS, Unit, Where};
pub use compare::{Compare, Competitor, Override, Question, Range, SizeAsked, Throttle, TraceAsked};
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
    /// Seconds in which enough rounds are made on an ordinary machine; a minute when absent. A study has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<u32>,
    /// The file that a study makes for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<Study>,
    pub comparisons: Vec<Compare>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// The comparisons as they were written, where options left out or replaced something of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<Compare>,
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

impl Study {
    /// A file of this size is what it is about: what depends on how often each page is reached is another question on another one.
    pub fn is_of(&self, file_bytes: u64) -> bool {
        [self.file_bytes, self.full_file_bytes].iter().any(|it| it.0 == file_bytes)
    }
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

/// A year: leaves room to multiply durations without overflow.
pub const BUDGET_MAX_S: u32 = 365 * 86_400;
/// The most rounds that --rounds takes.
pub const ROUNDS_ASKED_MAX: u32 = 10_000;

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
    /// Whether passes read after a fill that is made on a copy of the file.
    pub fn reads_copies(&self) -> bool {
        self.comparisons.iter().any(|it| {
            it.fill.iter().any(|fill| fill.copied_by().is_some())
                && it.state.iter().any(|state| state.is_filled())
                && it.workload.iter().any(|workload| !workload.writes())
        })
    }

    /// What a study writes at most: its test file, and one copy of it at a time.
    pub fn disk_bytes(&self, file_bytes: u64) -> u64 {
        file_bytes.saturating_mul(if self.reads_copies() { 2 } else { 1 })
    }

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
        let comparisons = resolved.comparisons.iter_mut().chain(&mut resolved.written);
        for competitor in comparisons.flat_map(|it| &mut it.arms) {
            *competitor = competitor.resolved().map_err(|why| format!("arms: {why}"))?;
        }
        resolved.validate().map_err(|(key, why)| format!("{key}: {why}"))?;
        Ok(resolved)
    }

    /// The arm that a claim or a figure means, as cells name it. Nothing where options left it out.
    pub fn arm_name(&self, written: &str) -> Option<&str> {
        let meant = self.competitor(written)?;
        if self.written.is_empty() {
            return Some(&meant.arm.name);
        }
        let arms = || self.comparisons.iter().flat_map(|compare| &compare.arms).filter(|it| it.does_as(meant));
        let same = arms().find(|it| it.arm.name == meant.arm.name).or_else(|| arms().next());
        same.map(|it| it.arm.name.as_str())
    }

    /// What a claim calls its two arms; nothing where options left them out.
    pub fn claimed(&self, claim: &Claim) -> [Option<&Competitor>; 2] {
        [&claim.arm, &claim.than].map(|it| it.as_deref().and_then(|it| self.competitor(it)))
    }

    /// What the experiment calls so where it was written down: an option that names arms says nothing of what they are called
    /// there.
    fn competitor(&self, written: &str) -> Option<&Competitor> {
        let comparisons = if self.written.is_empty() { &self.comparisons } else { &self.written };
        let arms = || comparisons.iter().flat_map(|compare| &compare.arms);
        let labelled = arms().find(|it| it.label.as_deref() == Some(written));
        let parsed = written.parse::<Arm>().ok();
        // An older record lacks options that were added later.
        let is_it = |it: &&Competitor| it.resolved().is_ok_and(|it| Some(&it.arm) == parsed.as_ref());
        labelled.or_else(|| arms().find(is_it))
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

    /// A form of an experiment, and the experiment.
    fn claims_that_ask_otherwise(own: &Experiment, written: &Experiment) -> Vec<String> {
        own.claims.iter().filter(|it| !own.asks_as(it, written)).map(|it| it.id.clone()).collect()
    }

    #[test]
    fn every_claim_of_a_study_asks_what_the_study_asks_whatever_options_leave_out_of_it() {
        for (name, text) in builtin::STUDIES {
            let written = Experiment::parse(name, text).unwrap();
            let mut full = written.clone();
            full.full();
            for form in [made_again(&written), made_again(&full)] {
                assert_eq!(claims_that_ask_otherwise(&form, &written), [""; 0], "{name}");
                let mut one = form.clone();
                one.written = form.comparisons.clone();
                for compare in &mut one.comparisons {
                    (compare.state, compare.block) = (vec![crate::State::Cold], vec![Bytes(3 << 10)]);
                    (compare.fill, compare.ops, compare.threads) = (vec![Fill::Sequential], vec![7], vec![3]);
                }
                assert_eq!(claims_that_ask_otherwise(&one, &written), [""; 0], "{name}");
                one.comparisons.truncate(1);
                one.comparisons[0].arms.truncate(1);
                assert_eq!(claims_that_ask_otherwise(&one, &written), [""; 0], "{name}");
            }
        }
    }

    #[test]
    fn a_changed_copy_of_a_study_asks_otherwise_in_the_claims_that_the_change_is_about() {
        let text = builtin::find("dillon-2001").unwrap();
        let written = Experiment::parse("dillon-2001", text).unwrap();
        let otherwise = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            let copy = Experiment::parse("dillon-2001", &text.replace(from, to));
            claims_that_ask_otherwise(&copy.unwrap_or_else(|it| panic!("{}", it.at(to))), &written)
        };
        assert_eq!(otherwise("memory = 0.125", "memory = 0.25"), ["b-time", "b-cpu", "b-only"]);
        let cached = ["a-time", "a-cpu", "b-only", "c-loses", "c-wins", "e"];
        assert_eq!(otherwise("range = { bytes = \"32 MiB\" }", "range = { bytes = \"64 MiB\" }"), cached);
        assert_eq!(otherwise("stdio = { method = \"stdio\" }", "stdio = { method = \"pread\" }"), ["e"]);
        assert_eq!(otherwise("scenario = \"address-space\"", "scenario = \"private-write\""), ["d"]);
        assert_eq!(otherwise("metric = \"cpu\"", "metric = \"user\""), ["a-cpu", "b-cpu"]);
        assert_eq!(otherwise("than_where = { state = [\"limited\"] }", ""), [""; 0], "it has no other state");
        for words in ["title = \"", "source = \"", "says = \"", "\npublished = \""] {
            assert_eq!(otherwise(words, &format!("{words}changed ")), [""; 0]);
        }
    }

    #[test]
    fn a_claim_with_sizes_that_an_earlier_version_rounded_is_the_same() {
        let text = builtin::find("line-count-boards").unwrap();
        let written = Experiment::parse("line-count-boards", text).unwrap();
        let mut older = written.clone();
        let rounded = |it: &mut Bytes| *it = it.to_string().parse().unwrap();
        for compare in &mut older.comparisons {
            compare.storage.iter_mut().filter_map(|it| it.read_bps.as_mut()).for_each(rounded);
        }
        for claim in &mut older.claims {
            claim.only.read_bps.iter_mut().chain(&mut claim.than_where.read_bps).for_each(rounded);
        }
        assert_ne!(older, written);
        assert_eq!(claims_that_ask_otherwise(&older, &written), [""; 0]);
    }

    #[test]
    fn a_claim_is_about_the_arm_that_its_experiment_calls_so_and_not_about_one_that_an_option_names_so() {
        let text = r#"
            title = "One that is called as another one"
            [arms]
            mmap = { method = "mmap", options = { advice = "random" } }
            plain-read = { method = "read" }
            [[compare]]
            arms = ["plain-read", "mmap"]
            workload = "random"
            block = "4 KiB"
            state = "cached"
            [[claim]]
            id = "faster"
            says = "a mapping is faster"
            arm = "mmap"
            than = "plain-read"
            expect = "lower"
        "#;
        let written = Experiment::parse("my", text).unwrap_or_else(|it| panic!("{}", it.at("my")));
        let with = |arms: [&str; 2]| {
            let mut measured = written.clone();
            let named = |it: &str| Competitor { arm: it.parse().unwrap(), label: None, own: Default::default() };
            measured.comparisons[0].arms = arms.map(named).into();
            measured.note_filtered(&written);
            measured
        };
        let other = with(["read", "mmap"]);
        assert_eq!(["plain-read", "mmap"].map(|it| other.arm_name(it)), [Some("native/read"), None]);
        assert_eq!(other.filtered_claims, ["faster"]);
        let same = with(["read", "mmap+random"]);
        let names = ["plain-read", "mmap"].map(|it| same.arm_name(it));
        assert_eq!(names, [Some("native/read"), Some("native/mmap+random")]);
        assert_eq!(same.filtered_claims, [""; 0]);
        assert_eq!(claims_that_ask_otherwise(&same, &written), [""; 0]);
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

    #[test]
    fn a_claim_or_a_figure_that_can_select_nothing_and_a_key_without_effect_are_mistakes() {
        let with = |more: &str| {
            let text = format!(
                "title = \"t\"\n[[compare]]\nname = \"a\"\narms = [\"pread\", \"mmap\"]\nworkload = \"scan\"\nblock = \
                 \"64 KiB\"\nstate = \"cached\"\n[[compare]]\nname = \"b\"\narms = [\"pread\", \"read\"]\nworkload = \
                 \"scan\"\nblock = \"4 KiB\"\nstate = \"cached\"\n{more}"
            );
            Experiment::parse("my", &text).map_err(|it| it.at("my").to_string())
        };
        let claim = |more: &str| with(&format!("[[claim]]\nid = \"c\"\nsays = \"s\"\n{more}\n"));
        let figure = |more: &str| {
            with(&format!("[[figure]]\nsays = \"s\"\npublished = 1.0\ncompare = \"a\"\ncorrected = \"mmap\"\n{more}\n"))
        };
        let of_arms = "arm = \"mmap\"\nthan = \"pread\"\nexpect = \"lower\"";
        for right in [claim(of_arms), claim("not_testable = \"why\""), figure("unit = \"s\"\nblocks = 9")] {
            assert!(right.is_ok(), "{right:?}");
        }
        for wrong in [
            claim(&format!("{of_arms}\ncompare = \"b\"")),
            claim("not_testable = \"why\"\ncompare = \"a\""),
            claim("not_testable = \"why\"\nratio = 2.0"),
            figure("unit = \"s\"\nwhere = { block = [\"3 KiB\"] }"),
            figure("unit = \"s\"\nas_published = \"read\""),
            figure("unit = \"s\"\nmetric = \"user\""),
            figure("unit = \"MiB/s\"\nblocks = 9"),
        ] {
            assert!(wrong.is_err(), "{wrong:?}");
        }
    }
}
