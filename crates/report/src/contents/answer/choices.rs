//! What to take when in doubt, and what that can lose.

use schema::{
    Findings,
    answer::{Choice, Loss},
    findings::{AnswerOf, Comparison, MARGIN, Verdict},
    record::Cell,
};

use super::{
    field::{times, times_at_most},
    place::{Words, column, work},
};
use crate::{contents::map, layout::words::counted, words::UNCONFIRMED};

/// What is so many times slower than the plain way is said beside the fastest.
const FAR: f64 = 3.0;

impl Words<'_> {
    /// Each choice with the most that it can lose, the one that can lose least first.
    pub(super) fn in_doubt(&self, choices: &[Choice]) -> Option<String> {
        let says = choices.iter().filter(|it| it.known > 0).enumerate();
        let says: Vec<String> = says.map(|(at, it)| self.choice(it, at == 0 && choices.len() > 1)).collect();
        let place = match choices.first() {
            Some(it) if it.conditions < it.measured => {
                let [answered, all] = [it.conditions, it.measured];
                format!("by the {answered} of {all} conditions that have an answer, and what is slower in the others, ")
            }
            _ => String::new(),
        };
        (!says.is_empty()).then(|| format!("{place}{}", says.join("; ")))
    }

    fn choice(&self, choice: &Choice, is_least: bool) -> String {
        let arms: Vec<&str> = choice.arms.iter().map(|it| self.names.short(it)).collect();
        // Comparisons with baselines of their own: under each condition one of these arms, which may be the slow one under another.
        let arms = match arms[..] {
            [arm] => arm.to_string(),
            _ => format!("each condition's baseline ({})", arms.join(" or ")),
        };
        let is_partial = choice.known < choice.conditions;
        let all = counted(choice.conditions as usize, "condition", "conditions");
        let known = if is_partial { format!(" (known for {} of {all})", choice.known) } else { String::new() };
        let Some(most) = choice.losses.first() else {
            let none = if is_partial { "no loss there" } else { "no other arm is known to be faster" };
            return format!("{arms}{known}: {none}");
        };
        let place = self.place(most.id).unwrap_or_default();
        let most_times = if most.at_most { times_at_most(most.times) } else { times(most.times) };
        // The next is no larger, and must not be rounded to more.
        let next_at_most = |next: &Loss| match [next, most].map(|it| times_at_most(it.times)) {
            [next, worst] if next == worst => most_times.clone(),
            [next, _] => next,
        };
        let elsewhere = match choice.losses.get(1).map(|it| (it, self.marks(choice, it))) {
            _ if is_partial => String::new(),
            Some((next, marks)) if marks.is_empty() => format!(", elsewhere at most {}", next_at_most(next)),
            Some((next, marks)) => format!(", elsewhere at most {} ({})", next_at_most(next), marks.join(", ")),
            None => ", elsewhere no known loss".into(),
        };
        let least = if is_least && !is_partial { " loses least" } else { "" };
        let mut there = vec![place.as_str()];
        let marks = self.marks(choice, most);
        there.extend(marks.iter().map(String::as_str));
        let there = format!(" ({})", there.join(", "));
        let places = match self.than_plain(choice) {
            (plain, None) if plain.is_empty() => format!("{there}{elsewhere}"),
            (plain, None) => format!(" and {plain}{there}{elsewhere}"),
            // Where it is not decided it may be more.
            (plain, Some(place)) => format!("{there}{elsewhere}; {plain} ({place})"),
        };
        let [times, fastest] = [most_times, self.names.short(&most.fastest).to_string()];
        format!("{arms}{known}{least}: at worst {times} slower than {fastest}{places}")
    }

    /// What it loses against the plain way, which is another figure where a third arm is the fastest: the largest, with its
    /// place where that is another one.
    fn than_plain(&self, choice: &Choice) -> (String, Option<String>) {
        // Nor is what is no difference a loss.
        let loss = |it: &&Loss| it.than_baseline.filter(|times| *times > 1.0 + MARGIN && !it.at_most);
        let most = choice.losses.iter().filter(|it| loss(it).is_some()).max_by(|a, b| {
            let [a, b] = [a, b].map(|it| loss(it).unwrap_or(1.0));
            a.total_cmp(&b)
        });
        let baseline = |it: &Loss| map::baseline(it.id, self.record).map(|cell| &self.record.cells[cell].arm.name);
        let Some((most, times, name)) = most.and_then(|it| Some((it, loss(&it)?, baseline(it)?))) else {
            return Default::default();
        };
        if *name == most.fastest || choice.arms.contains(name) {
            return Default::default();
        }
        let is_elsewhere = choice.losses.first().is_none_or(|it| it.id != most.id);
        let place = is_elsewhere.then(|| {
            let place = self.place(most.id).unwrap_or_default();
            self.marks(choice, most).into_iter().fold(place, |place, mark| format!("{place}, {mark}"))
        });
        (format!("{} slower than {}", self::times(times), self.names.short(name)), place)
    }

    /// What to know of how much an arm loses.
    fn marks(&self, choice: &Choice, loss: &Loss) -> Vec<String> {
        let is_unconfirmed = self.map.iter().any(|it| it.id == loss.id && it.is_unconfirmed());
        let marks = [(loss.by_trial, "expected from a short pass"), (is_unconfirmed, UNCONFIRMED)];
        let marks = marks.into_iter().filter(|it| it.0).map(|it| it.1.to_string());
        marks.chain(self.few_reads(choice, loss)).collect()
    }

    /// What a mapping brings in from a cold file stays there for the reads that follow: with more of them it may be the fastest.
    fn few_reads(&self, choice: &Choice, loss: &Loss) -> Option<String> {
        let condition = self.record.conditions.get(loss.id.condition_index)?;
        let cells = self.record.cells.iter().filter(|it| it.condition == loss.id.condition_index);
        // Of the choice of baselines that is the one of this condition.
        let is_it = |it: &&Cell| choice.arms.contains(&it.arm.name) && (it.baseline || choice.arms.len() == 1);
        let mut of_choice = cells.filter(is_it);
        // Where the answer is of larger passes, so is the loss.
        if self.map.iter().any(|it| it.id == loss.id && it.answer_of == AnswerOf::Job) {
            return None;
        }
        of_choice.find_map(|it| {
            let does = it.own_condition.as_ref().unwrap_or(condition);
            let job = does.job_reads(does.range.bytes, self.record.environment.page_bytes);
            let is_of_few = it.arm.maps() && it.arm.finds_its_pages(does) && does.ops < job;
            is_of_few.then(|| format!("in {}", counted(does.ops as usize, "read", "reads")))
        })
    }

    /// What loses most against the plain way from one start, where that is much.
    pub(super) fn far_behind(&self, findings: &Findings, conditions: &[usize]) -> Option<String> {
        match &findings.answer.choices[..] {
            // Of a single condition there is no choice.
            [] => self.far_behind_in(&findings.comparisons, conditions),
            choices => self.far_behind_of(choices, conditions),
        }
    }

    fn far_behind_in(&self, comparisons: &[Comparison], conditions: &[usize]) -> Option<String> {
        let has_answer =
            |it: &&Comparison| self.map.iter().any(|line| line.id == it.id.condition && line.winner.is_some());
        let of_start = |it: &&Comparison| conditions.contains(&it.id.condition.condition_index);
        let slower = comparisons.iter().filter(of_start).filter(|it| it.verdict == Verdict::Slower);
        // What comes closest to the fastest is said beside it.
        let is_next = |it: &&Comparison| self.map.iter().any(|line| line.next_cell == Some(it.id.cell));
        let slower = slower.filter(|it| !is_next(it));
        let far = slower.filter(has_answer).filter_map(|it| Some((1.0 / it.speedup?.median, it)));
        let (times, most) = far.filter(|it| it.0 >= FAR).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let [arm, plain] = [&most.arm, &most.baseline].map(|it| self.names.short(it));
        let of = self.record.conditions.get(most.id.condition.condition_index).filter(|_| conditions.len() > 1);
        let place = of.map(column).map_or_else(String::new, |(workload, of)| format!(" ({})", work(workload, of)));
        Some(format!("{arm} {} slower than {plain}{place}", self::times(times)))
    }

    fn far_behind_of(&self, choices: &[Choice], conditions: &[usize]) -> Option<String> {
        let has_answer = |it: &Loss| self.map.iter().any(|line| line.id == it.id && line.winner.is_some());
        let of_start = |it: &&Loss| conditions.contains(&it.id.condition_index);
        let losses =
            choices.iter().flat_map(|choice| choice.losses.iter().filter(of_start).map(move |it| (choice, it)));
        let far = losses.filter_map(|(choice, it)| {
            let plain = map::baseline(it.id, self.record).map(|cell| &self.record.cells[cell].arm.name)?;
            // A bound was not measured.
            let times =
                it.than_baseline.filter(|times| *times >= FAR && !it.at_most && !choice.arms.contains(plain))?;
            Some((times, choice, it, plain))
        });
        let (times, choice, loss, plain) = far.max_by(|a, b| a.0.total_cmp(&b.0))?;
        // What was measured of a condition without an answer is said there, and less than that is not the most.
        if !has_answer(loss) && !loss.by_trial {
            return None;
        }
        let condition = self.record.conditions.get(loss.id.condition_index)?;
        let (workload, of) = column(condition);
        let trial = if loss.by_trial { ", expected from a short pass" } else { "" };
        Some(format!(
            "{} up to {} slower than {} ({}{trial})",
            self.names.short(choice.arms.first()?),
            self::times(times),
            self.names.short(plain),
            work(workload, of)
        ))
    }
}
