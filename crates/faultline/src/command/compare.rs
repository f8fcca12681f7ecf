//! `faultline compare`: saved runs side by side, the first against each of the others.

use anyhow::Result;
use schema::{
    SCHEMA_VERSION,
    across::{Across, SharedCell},
    saved::CellPattern,
};

use crate::{
    cli::CompareArgs,
    exit::{Outcome, Usage},
    output,
};

/// What `--fail-if` says: which cells, and from where on a difference is too much.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    cells: CellPattern,
    slower: bool,
    share: f64,
}

/// `ARM [WORKLOAD] [CONSUME] [STATE] [BLOCK] slower|faster N%`, the words between in any order.
pub fn threshold(text: &str) -> Result<Threshold, String> {
    const FORM: &str = "write it as 'native/mmap scan cached slower 10%'";
    let words: Vec<&str> = text.split_whitespace().collect();
    let [arm, between @ .., direction, share] = &words[..] else { return Err(FORM.into()) };
    let slower = match *direction {
        "slower" => true,
        "faster" => false,
        other => return Err(format!("{other:?} is neither slower nor faster; {FORM}")),
    };
    let percent =
        share.strip_suffix('%').and_then(|it| it.parse::<f64>().ok()).filter(|it| it.is_finite() && *it >= 0.0);
    let share = percent.ok_or_else(|| format!("{share:?} is no percentage; {FORM}"))? / 100.0;
    let cells = CellPattern::parse(arm, between).map_err(|error| format!("{error}; {FORM}"))?;
    Ok(Threshold { text: text.to_string(), cells, slower, share })
}

impl Threshold {
    fn is_about(&self, cell: &SharedCell) -> bool {
        self.cells.is_about(&cell.arm.name, &cell.condition)
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
    for path in [&args.markdown, &args.html].into_iter().flatten() {
        if path.is_file() && !args.force {
            return Err(Usage(format!("{} exists already; --force overwrites it", path.display())).into());
        }
    }
    if let Some(path) = &args.markdown {
        output::write(path, &report::across_markdown(&across), args.force)?;
    }
    if let Some(path) = &args.html {
        output::write(path, &report::across_html(&across), args.force)?;
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
        assert_eq!((parsed.slower, parsed.share), (true, 0.1));
        let cells = "native/mmap 64KiB scan cached".parse().unwrap();
        assert_eq!(parsed.cells, cells);
        assert_eq!((cells.workload, cells.state), (Some(schema::Workload::Scan), Some(schema::State::Cached)));
        assert_eq!((cells.block_bytes, cells.consume), (Some(65_536), None));
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
