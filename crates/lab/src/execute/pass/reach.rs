//! How a pass comes into its state, as far as that is not the worker's own preparation, nor a fill before it.

use std::{collections::BTreeMap, time::Instant};

use schema::{State, protocol::Done, record::Reading};

use super::{super::Bench, Work};
use crate::{
    link::{Link, Trouble},
    state::{
        cold,
        steady::{Misses, WarmUp},
    },
};

/// Why a state was not reached, and what was seen on the way.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) invalid: Option<String>,
    pub(super) readings: BTreeMap<String, Reading<f64>>,
    /// The only warm pass of a trial that had no time for more. It stands for the timed one.
    pub(super) only: Option<OnlyWarmPass>,
}

/// The first warm pass of a trial, after which the others and the timed one would not have fitted into the time left.
pub(super) struct OnlyWarmPass {
    pub(super) done: Done,
    /// What warm passes take before each timed one, at least, in nanoseconds.
    pub(super) warm_ns: f64,
    pub(super) went: [Instant; 2],
}

impl Bench<'_> {
    /// Before the worker gets its limits.
    pub(super) fn make_room(&mut self, work: &Work) -> Result<(), Trouble> {
        if work.condition.state != State::Limited {
            return Ok(());
        }
        // Pages that are in the page cache already are charged to no limit.
        self.look_again();
        self.filled = None;
        cold::evict(work.target, self.stop.interrupted)
    }

    /// Once the worker is ready.
    pub(super) fn reach(&mut self, link: &mut Link, work: &Work) -> Result<Reached, Trouble> {
        match work.condition.state {
            state @ (State::Cold | State::AsFound) => {
                self.look_again();
                self.filled = None;
                let made = match state {
                    State::AsFound => cold::make_as_found(work.target, self.stop.interrupted),
                    _ => cold::make_cold(work.target, work.condition.range, self.stop.interrupted),
                };
                match made {
                    Err(Trouble::Failed(reason)) => Ok(Reached { invalid: Some(reason), ..Reached::default() }),
                    other => other.map(|()| Reached::default()),
                }
            }
            State::Limited => self.warm_up(link, work),
            State::Cached if work.arm.is_command() => {
                self.fill_for_command(work.condition).map(|()| Reached::default())
            }
            _ => Ok(Reached::default()),
        }
    }

    /// Warm passes under the limit, each with offsets of its own, until what they read from the device is steady: the same
    /// procedure for every runtime.
    fn warm_up(&mut self, link: &mut Link, work: &Work) -> Result<Reached, Trouble> {
        let &Work { arm, condition, kind, .. } = work;
        let began = Instant::now();
        let mut warm_up = WarmUp::new(condition.memory_bytes.unwrap_or(0));
        let (mut only, mut limit) = (None, None);
        let invalid = loop {
            let before = sys::process::io(link.pid());
            let done = link.go_warm(self.draw.passes, warm_up.next(), self.pass_limit(arm))?;
            let read = match (done.seen.get("device_read_bytes"), before, sys::process::io(link.pid())) {
                // Of a command, what its worker saw.
                (Some(Reading::Value(bytes)), ..) => *bytes,
                (None, Ok(before), Ok(after)) => after.since(&before).device_read_bytes as f64,
                _ => {
                    break Some(
                        "bytes from the device cannot be counted here, so a steady state cannot be verified".into(),
                    );
                }
            };
            kind.between(self, link, work)?;
            // The worker may have taken more memory meanwhile: a JVM does for the code that it compiles.
            limit = self.around.cgroups.tighten(arm, condition)?;
            // Only trials have no expected time by which they are begun or not.
            let is_first_of_trial = self.draw.round == 0 && warm_up.next() == 1;
            if is_first_of_trial && !WarmUp::fits(began.elapsed(), self.clock.left()) {
                let went = [began, Instant::now()];
                only = Some(OnlyWarmPass { done, warm_ns: WarmUp::least(began.elapsed()).as_nanos() as f64, went });
                break Some("the budget has no time for the warm passes that reach a steady state".into());
            }
            warm_up.add(read, Misses::of(arm, condition, &done, read));
            match warm_up.steady(began.elapsed(), self.clock.warm_up_limit()) {
                None => {}
                Some(steady) => break steady.err().map(|it| it.to_string()),
            }
        };
        let mut readings = warm_up.readings();
        readings.extend(limit.map(|bytes: u64| ("cgroup_limit_bytes".to_string(), Reading::Value(bytes as f64))));
        Ok(Reached { invalid, readings, only })
    }
}
