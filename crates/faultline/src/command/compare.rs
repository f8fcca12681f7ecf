//! `faultline compare`: saved runs side by side, the first against each of the others.

use anyhow::Result;
use schema::{Bytes, Consume, SCHEMA_VERSION, State, Workload, across::Across, across::SharedCell};

use crate::{
    cli::CompareArgs,
    exit::{Outcome, Usage},
    output,
};

/// What `--fail-if` says: which cells, and from where on a difference is too much.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    arm: String,
    workload: Option<Workload>,
    consume: Option<Consume>,
    state: Option<State>,
    block: Option<u64>,
    slower: bool,
    share: f64,
}

/// `ARM [WORKLOAD] [CONSUME] [STATE] [BLOCK] slower|faster N%`, the words between in any order.
pub fn threshold(text: &str) -> Result<Threshold, String> {
    const FORM: &str = "write it as 'native/mmap scan cached slower 10%'";
    let words: Vec<&str> = text.split_whitespace().collect();
    let [arm, between @ .., direction, share] = &words[..] else { return Err(FORM.into()) };
    let arm: schema::Arm = arm.parse()?;
    let slower = match *direction {
        "slower" => true,
        "faster" => false,
        other => return Err(format!("{other:?} is neither slower nor faster; {FORM}")),
    };
    let percent =
        share.strip_suffix('%').and_then(|it| it.parse::<f64>().ok()).filter(|it| it.is_finite() && *it >= 0.0);
    let share = percent.ok_or_else(|| format!("{share:?} is no percentage; {FORM}"))? / 100.0;
    let (text, arm) = (text.to_string(), arm.name);
    let mut threshold = Threshold { text, arm, workload: None, consume: None, state: None, block: None, slower, share };
    for word in between {
        if let Ok(workload) = word.parse() {
            threshold.workload = Some(workload);
        } else if let Ok(state) = word.parse() {
            threshold.state = Some(state);
        } else if let Ok(consume) = word.parse() {
            threshold.consume = Some(consume);
        } else if let Ok(Bytes(block)) = word.parse() {
            threshold.block = Some(block);
        } else {
            return Err(format!("{word:?} is no workload, state, consume or block size; {FORM}"));
        }
    }
    Ok(threshold)
}

impl Threshold {
    fn is_about(&self, cell: &SharedCell) -> bool {
        let condition = &cell.condition;
        self.arm == cell.arm.name
            && self.workload.is_none_or(|it| it == condition.workload)
            && self.consume.is_none_or(|it| it == condition.consume)
            && self.state.is_none_or(|it| it == condition.state)
            && self.block.is_none_or(|it| it == condition.block_bytes)
    }

    /// Whether the whole interval lies beyond the threshold: noise alone must not fail anybody's build.
    fn is_breached_by(&self, cell: &SharedCell) -> bool {
        let limit = 1.0 + self.share;
        cell.speedup.is_some_and(|it| if self.slower { it.ci_high < 1.0 / limit } else { it.ci_low > limit })
    }
}

pub fn run(args: &CompareArgs) -> Result<Outcome> {
    let store = history::Store::open(None)?;
    let mut runs = Vec::new();
    for which in &args.runs {
        let record = store.load(which)?;
        let findings = analysis::analyze(&record);
        runs.push((record, findings));
    }
    let (first, others) = runs.split_first().expect("clap asks for two runs at least");
    let versus = others.iter().map(|other| analysis::across((&first.0, &first.1), (&other.0, &other.1)));
    let across = Across { schema_version: SCHEMA_VERSION, versus: versus.collect() };
    let refused: Vec<String> = across.versus.iter().flat_map(|it| it.not_comparable.clone()).collect();
    if !args.anyway && !refused.is_empty() {
        return Err(Usage(format!(
            "these runs are not comparable: {}; --anyway compares them all the same",
            refused.join("; ")
        ))
        .into());
    }
    if let Some(path) = &args.markdown {
        if path.is_file() && !args.force {
            return Err(Usage(format!("{} exists already; --force overwrites it", path.display())).into());
        }
        output::write(path, &report::across_markdown(&across), args.force)?;
    }
    if args.json {
        output::print(&report::across_json(&across))?;
    } else {
        output::print(&report::across(&across, output::style(true)))?;
    }
    breached(&across, &args.fail_if)
}

fn breached(across: &Across, thresholds: &[Threshold]) -> Result<Outcome> {
    let mut outcome = Outcome::Answered;
    for threshold in thresholds {
        let cells = || across.versus.iter().flat_map(|it| &it.cells).filter(|it| threshold.is_about(it));
        // A threshold that looks at nothing would pass for ever.
        if cells().next().is_none() {
            return Err(Usage(format!("no shared cell is meant by --fail-if {:?}", threshold.text)).into());
        }
        for cell in cells().filter(|it| threshold.is_breached_by(it)) {
            let speedup = cell.speedup.as_ref().map(report::speedup).unwrap_or_default();
            output::warn(&format!(
                "{} {}: {speedup} breaches {:?}",
                cell.arm.name,
                cell.condition.label(),
                threshold.text
            ));
            outcome = Outcome::Breached;
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_names_its_cells_and_its_limit() {
        let parsed = threshold("native/mmap scan cached 64KiB slower 10%").unwrap();
        assert_eq!((parsed.arm.as_str(), parsed.slower, parsed.share), ("native/mmap", true, 0.1));
        assert_eq!((parsed.workload, parsed.state), (Some(Workload::Scan), Some(State::Cached)));
        assert_eq!((parsed.block, parsed.consume), (Some(65_536), None));
    }

    #[test]
    fn a_threshold_that_cannot_be_read_says_what_is_wrong() {
        for (text, part) in [
            ("native/mmap", "write it as"),
            ("native/mmap scan slow 10%", "neither slower nor faster"),
            ("native/mmap scan slower ten", "no percentage"),
            ("native/mmap sideways slower 1%", "\"sideways\" is no workload"),
        ] {
            let error = threshold(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
