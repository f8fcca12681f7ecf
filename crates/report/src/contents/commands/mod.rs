//! What is said of commands (`faultline ab`): which one is the faster from each start, what they differ in besides reading,
//! how each reaches its files, and how much of its time reading can be.

pub(crate) mod mechanism;
pub(crate) mod time;

use schema::{
    Condition, Findings, Labels, Names, Record, Skip, State,
    findings::{CommandFinding, CommandTime, Comparison, Confounder, ConfounderKind, MARGIN, MapLine, Verdict},
    mapped_runtime::MappedRuntime,
    reason::Reason,
};

use super::{
    answer::{self, Answer, Start},
    within_rounds,
};
use crate::{
    layout::{
        number::{self, GLUE},
        words::{list, were},
    },
    words::{explanation, numbers, runtime, why_open},
};

/// So many times as much is read by calls.
const MANY: f64 = 10.0;
/// Of a difference: what is less is not named.
const NOTABLE: f64 = 0.05;

/// Whether the run is one of commands.
pub(crate) fn are_those_of(record: &Record) -> bool {
    record.conditions.iter().any(Condition::is_of_commands)
}

/// The first screen of such a run.
pub(crate) fn answer(record: &Record, findings: &Findings) -> Answer {
    let it = Commands { record, findings, names: Names::of(record), labels: Labels::of(record) };
    Answer {
        commands: it.names.commands().iter().map(|of| (it.names.short(&of.arm).into(), of.line.clone())).collect(),
        starts: findings.map.iter().filter_map(|line| it.start(line)).collect(),
        facts: vec![
            ("Not measured", it.not_measured()),
            ("Also differ in", it.confounders()),
            ("Why", it.mechanisms().into_iter().chain(it.longer()).chain(it.counts()).collect()),
            ("Runtime", it.runtimes()),
            ("Reading takes", it.share()),
        ],
        trust: answer::trust(findings),
        ..Answer::default()
    }
}

/// The words of findings as the JSON document has them.
pub(crate) fn say(record: &Record, findings: &mut Findings) {
    let (names, labels) = (Names::of(record), Labels::of(record));
    let cells = &findings.cells;
    for it in &mut findings.commands {
        let start = answer::start(&labels, it.id.condition, &it.condition);
        let is_idle = mechanism::is_idle(&it.arm, &findings.mechanisms, record);
        let cell = cells.iter().find(|cell| cell.id == it.id);
        it.says = number::plain(&time::says(it, cell, &names, &start, is_idle));
        it.memory = time::memory(it, &names, &start).map(|it| number::plain(&it));
    }
    let all = findings.mechanisms.clone();
    for it in &mut findings.mechanisms {
        it.says = number::plain(&mechanism::of_arm(it, record));
        let says = mechanism::versus(it, &all, record, &names);
        if let (Some(versus), Some(says)) = (&mut it.versus, says) {
            versus.says = number::plain(&says);
        }
    }
}

struct Commands<'a> {
    record: &'a Record,
    findings: &'a Findings,
    names: Names,
    labels: Labels,
}

impl Commands<'_> {
    /// Which command is the faster from this start, and how long each takes; nothing where none was measured.
    fn start(&self, line: &MapLine) -> Option<Start> {
        let all = || self.comparisons(line);
        let tried = all().filter(|it| [it.id.cell, it.baseline_cell].iter().all(|it| self.is_tried(*it)));
        let each: Vec<String> = tried.map(|it| self.verdict(it)).collect();
        // A command without a number may be faster than all that have one, also one that was not tried.
        let has_number = |it: &Comparison| it.speedup.is_some() && it.verdict != Verdict::NotComparable;
        let fastest = line.winner.as_ref().filter(|_| {
            let are_told_apart = line.ties.is_empty() && line.not_told_apart.is_empty();
            line.verdict == Verdict::Faster && each.len() > 1 && are_told_apart && all().all(has_number)
        });
        let fastest = fastest.map(|it| format!("{} is the fastest", self.names.short(it)));
        (!each.is_empty()).then(|| Start {
            label: self.place(line),
            says: { self.found(line) }
                .into_iter()
                .chain(fastest)
                .chain(each)
                .chain(self.idle(line))
                .collect::<Vec<String>>()
                .join("; "),
            fields: Vec::new(),
        })
    }

    fn found(&self, line: &MapLine) -> Option<String> {
        let found = self.findings.found.filter(|_| line.condition.state == State::AsFound);
        found.map(|it| numbers::in_page_cache(it.share()))
    }

    /// Of two commands, without the controls.
    fn comparisons(&self, line: &MapLine) -> impl Iterator<Item = &Comparison> {
        let is_control = |it: &Comparison| self.record.cells.get(it.id.cell).is_none_or(|it| it.control);
        let id = line.id;
        self.findings.comparisons.iter().filter(move |it| it.id.condition == id && !is_control(it))
    }

    fn is_idle(&self, arm: &str) -> bool {
        mechanism::is_idle(arm, &self.findings.mechanisms, self.record)
    }

    /// Commands beside others that read: what a verdict holds against each other are not two ways of reading.
    fn idle(&self, line: &MapLine) -> Option<String> {
        let of_line = || self.findings.commands.iter().filter(|it| it.id.condition == line.id);
        let (idle, others): (Vec<_>, Vec<_>) = of_line().partition(|it| self.is_idle(&it.arm));
        let names: Vec<&str> = idle.iter().map(|it| self.names.short(&it.arm)).collect();
        (!names.is_empty() && !others.is_empty())
            .then(|| format!("but {} not seen to read or map a named file", were(&names)))
    }

    fn place(&self, line: &MapLine) -> String {
        answer::start(&self.labels, line.id, &line.condition)
    }

    fn is_tried(&self, cell: usize) -> bool {
        self.record.cells.get(cell).is_some_and(|it| it.skipped.is_none())
    }

    fn verdict(&self, it: &Comparison) -> String {
        let [arm, baseline] = [&it.arm, &it.baseline].map(|it| self.names.short(it));
        let time = |cell: usize| {
            let found = self.findings.cells.iter().find(|it| it.id.cell == cell);
            found?.ns_per_op.map(|it| it.median)
        };
        let (own, other) = (time(it.id.cell), time(it.baseline_cell));
        let against = |first: Option<f64>, second: Option<f64>| match (first, second) {
            (Some(first), Some(second)) => {
                let [one, two] = [first, second].map(number::duration_glued);
                format!(": {one} against {two}{}", within_rounds::beside_times(own, other, it.speedup))
            }
            _ => String::new(),
        };
        let reason = why_open(it);
        match (it.verdict, it.speedup) {
            (Verdict::Faster, Some(times)) => {
                format!("{arm} is {} faster than {baseline}{}", number::speedup_glued(&times), against(own, other))
            }
            (Verdict::Slower, Some(times)) => format!(
                "{baseline} is {} faster than {arm}{}",
                number::speedup_glued(&times.inverse()),
                against(other, own)
            ),
            (Verdict::Same, Some(times)) => format!(
                "no difference of over {} between {arm} and {baseline}, {}{}",
                numbers::percent(MARGIN),
                number::speedup_glued(&times),
                against(own, other)
            ),
            (Verdict::Undecided, Some(times)) => {
                // That of the interval is seen.
                let why = match &it.reason {
                    None | Some(Reason::AcrossTheMargin { .. }) => String::new(),
                    Some(_) => format!("; {reason}"),
                };
                format!(
                    "undecided: {arm} is {} as fast as {baseline}{}{why}",
                    number::speedup_glued(&times),
                    against(own, other)
                )
            }
            (Verdict::NotComparable, _) => format!("not comparable: {reason}"),
            _ => format!("undecided: {arm} against {baseline}: {reason}"),
        }
    }

    /// Each reason once, with the commands, and with the starts where it is not that of all.
    fn not_measured(&self) -> Vec<String> {
        let all = || self.record.cells.iter().enumerate().filter(|(_, it)| !it.control);
        let skipped = |it: &schema::record::Cell| {
            it.skipped.as_ref().map(|reason| self.names.in_reason(&it.arm, &reason.to_string()))
        };
        let is_consequence = |it: &schema::record::Cell| it.skipped == Some(Skip::NothingToCompare);
        let only_consequences = all().all(|(_, it)| it.skipped.is_none() || is_consequence(it));
        // Of each command, then those that have a reason from the same starts in common.
        let cells = all().filter(|(_, it)| only_consequences || !is_consequence(it));
        let each = schema::grouped(
            cells.filter_map(|(_, cell)| Some(((self.names.short(&cell.arm.name), skipped(cell)?), cell.condition))),
        );
        let reasons =
            schema::grouped(each.into_iter().map(|((name, reason), conditions)| ((reason, conditions), name)));
        let says = |((reason, conditions), names): ((String, Vec<usize>), Vec<&str>)| {
            let of_condition = |at: &usize| self.findings.map.iter().find(|it| it.id.condition_index == *at);
            let starts: Vec<String> = match conditions.len() == self.record.conditions.len() {
                true => Vec::new(),
                false => conditions.iter().filter_map(of_condition).map(|it| self.place(it)).collect(),
            };
            let starts = if starts.is_empty() { String::new() } else { format!(" ({})", starts.join(", ")) };
            format!("{}{starts}: {reason}", list(&names))
        };
        reasons.into_iter().map(says).collect()
    }

    /// What is not the same besides reading, a line for each kind: part of any difference in time may be due to that.
    fn confounders(&self) -> Vec<String> {
        let of_command = |command: &CommandFinding| {
            let at = command.id.condition.condition_index;
            let says = |it: &Confounder| (it.what, (self.confounder(&command.arm, it), at));
            command.confounders.iter().map(says).collect::<Vec<_>>()
        };
        let kinds = schema::grouped(self.findings.commands.iter().flat_map(of_command));
        let says = |(what, found): (ConfounderKind, Vec<(String, usize)>)| {
            let what = match what {
                ConfounderKind::ThreadsAtWork => "threads at work",
                ConfounderKind::UserTime => "user time",
                ConfounderKind::Processes => "processes",
                ConfounderKind::OutputBytes => "output",
            };
            let place = |conditions: &[usize]| self.among(conditions).map_or(String::new(), |it| format!(" ({it})"));
            let found: Vec<String> =
                schema::grouped(found).into_iter().map(|(says, of)| format!("{says}{}", place(&of))).collect();
            format!("{what}: {}", found.join("; "))
        };
        kinds.into_iter().map(says).collect()
    }

    fn confounder(&self, arm: &str, it: &Confounder) -> String {
        let show: fn(f64) -> String = match it.what {
            ConfounderKind::ThreadsAtWork => |threads| format!("{threads:.2}"),
            ConfounderKind::UserTime => number::duration_glued,
            ConfounderKind::Processes => number::count,
            ConfounderKind::OutputBytes => number::bytes_glued,
        };
        let [own, other] = [arm, &it.versus].map(|it| self.names.short(it));
        let [mut shown_other, mut shown_own] = [it.other, it.own].map(show);
        // A difference is not shown by two numbers that look alike.
        if it.what == ConfounderKind::OutputBytes && shown_other == shown_own {
            [shown_other, shown_own] = [it.other, it.own].map(|it| format!("{}{GLUE}B", number::count(it)));
        }
        format!("{other} {shown_other}, {own} {shown_own}")
    }

    /// `cached, cold`; nothing where it is all of those that were measured.
    fn among(&self, conditions: &[usize]) -> Option<String> {
        let is_measured = |line: &&MapLine| self.findings.commands.iter().any(|it| it.id.condition == line.id);
        let measured = || self.findings.map.iter().filter(is_measured);
        let is_named = |it: &&MapLine| conditions.contains(&it.id.condition_index);
        let named = || measured().filter(is_named).map(|it| self.place(it)).collect::<Vec<String>>().join(", ");
        (!measured().all(|it| is_named(&it))).then(named)
    }

    fn mechanisms(&self) -> Vec<String> {
        let all = &self.findings.mechanisms;
        all.iter().filter_map(|it| mechanism::brief_versus(it, all, self.record, &self.names)).collect()
    }

    /// Whose code they execute; and what a page fault means there, where one of them maps a named file.
    fn runtimes(&self) -> Vec<String> {
        let says = |(of, (arms, maps)): (MappedRuntime, (Vec<&str>, bool))| {
            let arms: Vec<&str> = arms.into_iter().map(|it| self.names.short(it)).collect();
            let fault = if maps { format!("; {}", runtime::fault(of)) } else { String::new() };
            format!("{}: {}{fault}", list(&arms), runtime::name(of))
        };
        mechanism::runtimes(&self.findings.mechanisms, self.record).into_iter().map(says).collect()
    }

    /// Where the time goes that the slower one takes longer, from each start where one is the faster.
    fn longer(&self) -> Vec<String> {
        let of_line = |line: &MapLine| {
            let place = self.place(line);
            self.comparisons(line)
                .filter_map(move |it| Some(format!("{place}: {}", self.longer_of(it)?)))
                .collect::<Vec<String>>()
        };
        self.findings.map.iter().flat_map(of_line).collect()
    }

    fn longer_of(&self, it: &Comparison) -> Option<String> {
        let (slower, faster) = match it.verdict {
            Verdict::Faster => (it.baseline_cell, it.id.cell),
            Verdict::Slower => (it.id.cell, it.baseline_cell),
            Verdict::Same | Verdict::Undecided | Verdict::NotComparable => return None,
        };
        let [slow, fast] = [slower, faster].map(|cell| {
            let cells = &self.findings.cells;
            let ns = cells.iter().find(|it| it.id.cell == cell)?.ns_per_op.map(|it| it.median)?;
            let command = self.findings.commands.iter().find(|it| it.id.cell == cell)?;
            time::parts(command, ns)
        });
        let (slow, fast) = (slow?, fast?);
        let longer = slow.iter().sum::<f64>() - fast.iter().sum::<f64>();
        let [slower, faster] = [slower, faster].map(|cell| Some(&self.record.cells.get(cell)?.arm.name));
        let (slower, faster) = (slower?, faster?);
        let copied =
            self.copied(slower, faster).map(|it| format!(", where its calls copy {}", number::bytes_glued(it)));
        let [user, kernel, waiting] = [0, 1, 2].map(|at| slow[at] - fast[at]);
        let copied = copied.filter(|_| kernel > 0.0).unwrap_or_default();
        let mut parts =
            [(user, "in user code", ""), (kernel, "in the kernel", copied.as_str()), (waiting, "waiting", "")];
        parts.sort_by(|a, b| b.0.total_cmp(&a.0));
        let part = |(ns, name, also): &(f64, &str, &str)| {
            let than = if *ns < 0.0 { "less" } else { "more" };
            format!("{} {than} {name}{also}", number::duration_glued(ns.abs()))
        };
        let says: Vec<String> = parts.iter().filter(|it| it.0.abs() >= NOTABLE * longer).map(part).collect();
        // Medians may say otherwise than the rounds.
        let commands = schema::distinct(self.findings.commands.iter().map(|it| it.arm.clone()));
        let than = if commands.len() > 2 { format!(" than {}", self.names.short(faster)) } else { String::new() };
        let slower = self.names.short(slower);
        (longer > 0.0 && !says.is_empty()).then(|| format!("{slower} spends {}{than}", says.join(", ")))
    }

    /// What one of two commands reads by calls and the other one maps.
    fn copied(&self, by_calls: &str, mapping: &str) -> Option<f64> {
        let access = |arm: &str| self.findings.mechanisms.iter().find(|it| it.arm == arm)?.access.as_ref();
        let [reads, maps] = [access(by_calls)?, access(mapping)?];
        let is_mapped = !maps.mappings.is_empty() && reads.mappings.is_empty() && reads.copies();
        Some(reads.read_bytes() as f64).filter(|bytes| is_mapped && *bytes > MANY * maps.read_bytes() as f64)
    }

    /// What was counted of an execution, from each start where one is the faster.
    fn counts(&self) -> Vec<String> {
        let of_line =
            |line: &MapLine| Some(format!("{}: {}", self.place(line), explanation(line.explanation.as_ref()?)));
        self.findings.map.iter().filter(|it| it.verdict == Verdict::Faster).filter_map(of_line).collect()
    }

    /// How much of the time of each command reading can be.
    fn share(&self) -> Vec<String> {
        let shares = self.findings.map.iter().filter_map(|it| Some((self.share_of(it)?, it.id.condition_index)));
        let says = |(says, conditions): (String, Vec<usize>)| match self.among(&conditions) {
            Some(place) => format!("{place}: {says}"),
            None => says,
        };
        schema::grouped(shares).into_iter().map(says).collect()
    }

    fn share_of(&self, line: &MapLine) -> Option<String> {
        // What reads nothing has no share of it.
        let reads = |it: &&CommandFinding| it.id.condition == line.id && !self.is_idle(&it.arm);
        let commands = self.findings.commands.iter().filter(reads);
        let times: Vec<(&str, &CommandTime)> =
            commands.filter_map(|it| Some((self.names.short(&it.arm), it.time.value()?))).collect();
        if times.iter().all(|(_, time)| time::is_unbounded(time)) {
            return (!times.is_empty()).then(|| "up to all of the time".to_string());
        }
        let share = |(name, time): &(&str, &CommandTime)| match time::is_unbounded(time) {
            true => format!("all of {name}"),
            false => format!("{} of {name}", numbers::percent_at_most(time.reading_at_most)),
        };
        // Commands that do other work have no user time in common.
        let bounds = schema::grouped(times.iter().map(|of| (self.names.short(&of.1.own_work_of), share(of))));
        let says = |(least, shares): &(&str, Vec<String>)| {
            let which = if shares.len() > 1 { ", which may have the least" } else { "" };
            format!("up to {}: all but the user time of {least}{which}", shares.join(", "))
        };
        Some(format!("{}, as far as ticks show it", bounds.iter().map(says).collect::<Vec<String>>().join("; ")))
    }
}
