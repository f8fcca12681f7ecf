//! The answer of a run as a whole: what to choose where nothing more is known.

use schema::{Skip, State, answer::Choice};

use crate::support::{Lab, random, scan};

/// Three conditions: a mapping is twice as fast in one, four times as slow in the next, and neither in the last.
fn mixed() -> Lab {
    let mut lab = Lab::new();
    let arms = [
        (scan("64 KiB", State::Cached), ("read", 1000.0), 500.0),
        (random("64 B", State::Cached), ("pread", 1000.0), 4000.0),
        (random("4 KiB", State::Cached), ("pread", 1000.0), 1000.0),
    ];
    for (condition, (baseline, baseline_ns), mmap_ns) in arms {
        let condition = lab.condition(condition);
        for (arm, ns) in [(baseline, baseline_ns), ("mmap", mmap_ns)] {
            let cell = lab.cell(condition, arm);
            lab.measure(cell, 12, ns, |_, _| {});
        }
    }
    lab
}

fn worst(choice: &Choice) -> Option<(usize, i64)> {
    choice.losses.first().map(|it| (it.id.condition_index, it.times.round() as i64))
}

#[test]
fn in_doubt_the_arm_is_taken_that_loses_least_where_it_loses_most() {
    let choices = mixed().analyze().answer.choices;
    let [calls, mapping] = &choices[..] else { panic!("{choices:#?}") };
    assert_eq!(calls.arms, ["native/read", "native/pread"]);
    assert_eq!((worst(calls), calls.losses.len(), calls.known, calls.conditions), (Some((0, 2)), 1, 3, 3));
    assert_eq!(calls.losses[0].fastest, "native/mmap");
    assert_eq!(mapping.arms, ["native/mmap"]);
    assert_eq!((worst(mapping), mapping.losses.len()), (Some((1, 4)), 1));
    assert_eq!(mapping.losses[0].fastest, "native/pread");
}

#[test]
fn an_arm_that_was_too_slow_for_rounds_loses_what_its_trial_showed() {
    let mut lab = mixed();
    lab.record.samples.retain(|it| it.cell != 3);
    lab.record.cells[3].skipped = Some(Skip::TooSlow {
        ns_per_block: 20_000.0,
        blocks: 32,
        twice: false,
        around_ns: 0.0,
        pass_ns: 1e9,
        budgets: 4.0,
    });
    let choices = lab.analyze().answer.choices;
    // The condition has no other arm, so nothing is the fastest there.
    assert!(choices.iter().all(|it| it.conditions == 2), "{choices:#?}");
    let direct = lab.cell(1, "direct");
    lab.measure(direct, 12, 5000.0, |_, _| {});
    let choices = lab.analyze().answer.choices;
    let mapping = choices.iter().find(|it| it.arms == ["native/mmap"]).unwrap();
    assert_eq!(worst(mapping), Some((1, 20)));
    assert!(mapping.losses[0].by_trial);
}

#[test]
fn an_arm_that_could_not_be_measured_somewhere_is_no_choice_for_everywhere() {
    let mut lab = mixed();
    lab.record.cells[5].skipped = Some(Skip::Unavailable("no".into()));
    lab.record.samples.retain(|it| it.cell != 5);
    let other = lab.cell(2, "direct");
    lab.measure(other, 12, 3000.0, |_, _| {});
    let choices = lab.analyze().answer.choices;
    assert_eq!(choices.len(), 1);
    assert_eq!(choices[0].arms, ["native/read", "native/pread"]);
}

#[test]
fn what_is_undecided_is_neither_won_nor_lost() {
    let mut lab = mixed();
    // Too few rounds for a verdict.
    lab.record.samples.retain(|it| it.cell / 2 != 1 || it.round < 3);
    let choices = lab.analyze().answer.choices;
    assert!(choices.iter().all(|it| (it.conditions, it.known) == (2, 2)), "{choices:#?}");
    assert_eq!(choices[0].arms, ["native/mmap"]);
    assert!(choices[0].losses.is_empty());
    lab.record.samples.retain(|it| it.cell / 2 == 0);
    assert!(lab.analyze().answer.choices.is_empty());
}
