//! What to change about how a command reaches a file: `faultline advise`. Its record has executions of the command beside
//! replays of what the command did, by the method that it used and by others. Rules (`rules`) say why the accesses take the
//! time they do; replays say what another method gains; the gain is that of the whole program.

mod check;
mod judge;
mod kind;
mod rules;

use schema::{
    Arm, Condition, Consume, Fill, Skip, State, Workload,
    advice::{Advice, AdviceReason, AdviceSelfCheck},
    advised::Advised,
    condition::Start,
    distinct,
    findings::{CommandFinding, CommandTime, Comparison, Estimate, Verdict},
    identity::ConditionId,
    observation::{Access, Observation},
    reason::Reason,
};

use crate::{
    commands::confounders,
    compare,
    gains::Series,
    measured::{Cell, Run},
    stats::SortedValues,
};

use check::Checked;
pub use kind::arm_of;

/// For each state and each fill that was asked about: what to change, and whether the replay is the program.
pub(crate) fn all(run: &Run, commands: &[CommandFinding]) -> (Vec<Advice>, Vec<AdviceSelfCheck>) {
    let Some(advised) = run.record.advised.as_deref() else { return Default::default() };
    let starts = distinct(run.record.conditions.iter().map(Condition::start));
    let found = |start: Start| Found::of(run, advised, start);
    let cached = starts.into_iter().filter(|it| it.state == State::Cached).filter_map(found);
    let cached: Vec<(Found, Option<Checked>)> = cached.map(|it| it.checked(None)).collect();
    // A cold start is a sequential one, and what it takes longer than cached is due to the device, and not to folios.
    let usual = cached.iter().find(|it| it.0.start.fill == Some(Fill::Sequential));
    let in_memory = usual.and_then(|(it, checked)| InMemory::of(it, checked.as_ref(), commands));
    let waits = State::ALL.iter().copied().filter(|it| it.waits_for_device());
    let waiting = waits.filter_map(|state| found(Start { state, fill: None })).map(|it| Found { in_memory, ..it });
    let waiting: Vec<(Found, Option<Checked>)> = waiting.map(|it| it.checked(usual.map(|it| &it.0))).collect();
    let all: Vec<&(Found, Option<Checked>)> = waiting.iter().chain(&cached).collect();
    // What was checked on two sides in one state speaks for all.
    let is_two_sided = all.iter().filter_map(|it| it.1.as_ref()).any(Checked::passed_on_two_sides);
    let is_asked = |it: &&&(Found, Option<Checked>)| {
        let Start { state, fill } = it.0.start;
        advised.states.contains(&state)
            && (advised.fills.is_empty() || fill.is_none_or(|it| advised.fills.contains(&it)))
    };
    let asked = || all.iter().filter(is_asked).map(|(it, checked)| (it, checked));
    let advice = asked().map(|(it, checked)| judge::judge(it, checked.as_ref(), is_two_sided, commands)).collect();
    let checks = asked().filter_map(|(it, checked)| Some(it.finding(checked.as_ref()?)));
    (advice, checks.collect())
}

/// What one arm measured twice is taken to differ by at most, where there was no time to measure it. Cold it was up to 0.48.
const NOISE_MOST: f64 = 0.5;

/// What was measured from one start.
struct Found<'r, 'a> {
    run: &'r Run<'a>,
    advised: &'r Advised,
    start: Start,
    /// Absent where the command was left alone.
    program: Option<Program<'r, 'a>>,
    /// Of a state in which the device is waited for.
    in_memory: Option<InMemory>,
    /// One for each way of looking at the bytes; the one to go by first.
    views: Vec<View<'r, 'a>>,
    /// By what share one arm measured twice differs in this state. Where there was no time for that, `NOISE_MOST`; 0 where there are
    /// too few rounds, which decide nothing.
    noise: f64,
    is_noise_measured: bool,
}

/// The command, executed.
struct Program<'r, 'a> {
    now: &'r Cell<'a>,
    times: Series,
    waits: Series,
    switches: Vec<&'r Cell<'a>>,
}

/// Of the accesses' bytes: with less from the device in memory, a program and its replay do the same.
const FROM_DEVICE: f64 = 0.1;

/// What the program takes where nothing waits for the device, and the replay of what it did.
#[derive(Clone, Copy)]
struct InMemory {
    program: Estimate,
    replay_ns: f64,
    /// The least that the replay takes, however much it looks at.
    least: Estimate,
    /// The most that the program may take to reach its file.
    most_ns: f64,
    /// What it takes to look at all bytes of the pages that are reached.
    look_ns: f64,
    /// The replay does what the program does not, so that less than it takes may be of the file.
    has_more: bool,
}

impl InMemory {
    fn of(cached: &Found, checked: Option<&Checked>, commands: &[CommandFinding]) -> Option<InMemory> {
        if cached.more_from_device().is_some() {
            return None;
        }
        let most_share = cached.most_share(cached.least(), checked, commands);
        let has_more = checked.is_some_and(Checked::has_more);
        let (replay, least) = (cached.view().times.middle()?, cached.least().times.middle()?);
        let program = cached.program_ns()?;
        let most_ns = (most_share? * program.ci_high).max(least.ci_high);
        Some(InMemory { program, replay_ns: replay.median, least, most_ns, look_ns: cached.look_ns(), has_more })
    }

    /// What the program takes besides reaching its file.
    fn rest(&self) -> Estimate {
        let (whole, least) = (self.program, self.least);
        Estimate {
            median: whole.median - least.median,
            ci_low: whole.ci_low - self.most_ns,
            ci_high: if self.has_more { whole.ci_high } else { whole.ci_high - least.ci_low },
        }
    }

    /// The most that the program may take without its file, where the replay does not bound that.
    fn without_file_at_most_ns(&self) -> Option<f64> {
        self.has_more.then_some(self.program.median)
    }

    /// What the program takes without its file: there, too, it takes time to get at the bytes.
    fn without_file_ns(&self) -> f64 {
        (self.program.median - self.replay_ns).max(0.0)
    }
}

/// Replays of one condition.
struct View<'r, 'a> {
    id: ConditionId,
    consume: Consume,
    /// As the command did it.
    recorded: &'r Cell<'a>,
    times: Series,
    waits: Series,
    arms: Vec<&'r Cell<'a>>,
    /// What did other work is no way of doing this; and what it did.
    unlike: Vec<(&'r Cell<'a>, Reason)>,
}

impl<'r, 'a> Found<'r, 'a> {
    fn of(run: &'r Run<'a>, advised: &'r Advised, start: Start) -> Option<Found<'r, 'a>> {
        let conditions = || run.record.conditions.iter().enumerate().filter(|(_, it)| it.start() == start);
        let is_replay = |it: &Condition| {
            it.workload == Workload::Replay && it.trace.as_ref().is_some_and(|it| it.digest == advised.digest)
        };
        let replays = conditions().filter(|(_, it)| is_replay(it));
        let mut views: Vec<View> = replays.filter_map(|(index, it)| View::of(run, index, it.consume)).collect();
        // Bytes in a mapping are reached while the program looks at them, and a call has reached them before: what speaks
        // against a change is counted.
        let usual = |it: &View| if it.recorded.arm().maps() { Consume::Touch } else { Consume::Sum };
        views.sort_by_key(|it| it.consume != usual(it));
        let program = conditions().find(|(_, it)| it.is_of_commands()).and_then(|(index, _)| Program::of(run, index));
        let first = views.first()?;
        let was_left = |it: &Cell| it.entry.control && matches!(it.entry.skipped, Some(Skip::LeftToFaster { .. }));
        let unknown = if run.cells.iter().any(|it| was_left(it) && it.own.start() == start) { NOISE_MOST } else { 0.0 };
        let measured = compare::noise::width_under(run, first.recorded.own);
        let (noise, is_noise_measured) = (measured.unwrap_or(unknown), measured.is_some());
        Some(Found { run, advised, start, program, in_memory: None, views, noise, is_noise_measured })
    }

    /// Held against the program; where the device is waited for, beside what is usual in memory.
    fn checked(self, usual: Option<&Found>) -> (Self, Option<Checked>) {
        let checked = self.program.as_ref().zip(self.times()).map(|(program, times)| {
            if self.start.state.waits_for_device() {
                // Around the page cache both take as long as cached, so that what they take longer is nothing.
                let by_time = Checked::by_time([&program.times, &self.least().times]);
                if self.recorded().is_direct() && by_time.is_too_long() {
                    return by_time;
                }
                let waits = self.waits().zip(usual.and_then(Found::waits)).map(|(cold, cached)| [cold, cached]);
                return Checked::waiting(times, usual.and_then(Found::times), waits);
            }
            let cells = [program.now, self.view().recorded, self.least().recorded];
            Checked::in_memory(self.run, cells, [&program.times, &self.least().times])
        });
        (self, checked)
    }

    /// The one to go by.
    fn view(&self) -> &View<'r, 'a> {
        &self.views[0]
    }

    fn files(&self) -> u64 {
        self.advised.group.as_ref().map_or(1, |it| it.files)
    }

    /// Of all these files together.
    fn opens(&self) -> u64 {
        let seen = self.program.as_ref().and_then(|it| Some(self.seen(it.now)?.opens));
        seen.unwrap_or(0).max(self.advised.group.as_ref().map_or(0, |it| it.opens))
    }

    fn recorded(&self) -> &'a Arm {
        self.view().recorded.arm()
    }

    /// Of the program and of the replay of what it did.
    fn times(&self) -> Option<[&Series; 2]> {
        Some([&self.program.as_ref()?.times, &self.view().times])
    }

    /// What each of the two waits; not known of several threads, of which some wait while others work.
    fn waits(&self) -> Option<[&Series; 2]> {
        let program = self.program.as_ref()?;
        let is_alone = self.replay_threads() == 1 && self.observation(program.now)?.threads <= 1;
        is_alone.then_some([&program.waits, &self.view().waits])
    }

    fn program_ns(&self) -> Option<Estimate> {
        self.program.as_ref()?.times.middle()
    }

    fn io_ns(&self) -> Option<Estimate> {
        self.view().times.middle()
    }

    /// The share of the program's time that goes to the file: without what the program does with the bytes, as far as there
    /// are replays that look at next to nothing. Cold, that is what it takes longer than cached, and what reaching the file
    /// takes cached.
    fn share(&self) -> Option<Estimate> {
        let Some(it) = &self.in_memory else { return self.replayed_share() };
        self.program.as_ref()?.times.share_above(it.rest())
    }

    /// The most that the file may be of the program's time. What was checked from one side may be as much more as the program has
    /// more of what it was checked by, and is no more than what is left by the program's user time.
    fn most_share(&self, view: &View, checked: Option<&Checked>, commands: &[CommandFinding]) -> Option<f64> {
        if self.in_memory.is_some() {
            return Some(self.share()?.ci_high);
        }
        let (part, replayed) = (checked.and_then(Checked::part), self.share_of(view));
        let by_check = part.zip(replayed).map_or(1.0, |(part, it)| it.ci_high / part);
        let by_user_time = self.file_at_most(view, commands).unwrap_or(1.0);
        Some(by_check.min(by_user_time).max(self.replayed_share().map_or(0.0, |it| it.median)))
    }

    /// What reading is at most of the program's time, by its user time; of calls alone, because what is mapped is reached in user
    /// time.
    fn reading_at_most(&self, commands: &[CommandFinding]) -> Option<f64> {
        if self.recorded().maps() {
            return None;
        }
        Some(self.time(commands)?.reading_at_most)
    }

    /// What the program spent its time on.
    fn time<'c>(&self, commands: &'c [CommandFinding]) -> Option<&'c CommandTime> {
        let now = self.program.as_ref()?.now.id;
        commands.iter().find(|it| it.id == now)?.time.value()
    }

    /// As `reading_at_most`, with what calls take of user time: it is a part of the program's. Where it is not known how the replay's
    /// time divides, all of it may be.
    fn file_at_most(&self, view: &View, commands: &[CommandFinding]) -> Option<f64> {
        let (replay, share) = (view.recorded, self.share_of(view)?);
        let of_calls = match replay.why_undivided() {
            None => {
                let user = replay.reading("user_ns", SortedValues::mean).value().copied()?;
                user / replay.cpu_ns().filter(|it| *it > 0.0)? * share.median
            }
            Some(_) => share.ci_high,
        };
        Some((self.reading_at_most(commands)? + of_calls).min(1.0))
    }

    /// The replay takes more of the program's time than its user time leaves: other threads do not wait for it.
    fn exceeds_user_time(&self, commands: &[CommandFinding]) -> Option<AdviceReason> {
        let most = self.file_at_most(self.least(), commands).filter(|_| !self.start.state.waits_for_device())?;
        let replay = self.replayed_share().filter(|it| it.ci_low > most * (1.0 + check::MOST))?;
        Some(AdviceReason::MoreThanUserTimeLeaves { most, replay: replay.median })
    }

    /// What the program has from the device where its pages are in memory, more than its replay, if that is much: it reads with
    /// O_DIRECT what the replay reads through the page cache, or evicts its file.
    fn more_from_device(&self) -> Option<f64> {
        if self.start.state.waits_for_device() {
            return None;
        }
        let of = |cell: &Cell| cell.count("device_read_bytes");
        let more = of(self.program.as_ref()?.now)? - of(self.view().recorded)?;
        (more > FROM_DEVICE * self.advised.pattern.bytes as f64).then_some(more)
    }

    /// As `share`, by the replay alone. One that takes a little longer than the program is all of it.
    fn replayed_share(&self) -> Option<Estimate> {
        self.share_of(self.least())
    }

    fn share_of(&self, view: &View) -> Option<Estimate> {
        let Estimate { median, ci_low, ci_high } = view.times.over(&self.program.as_ref()?.times)?;
        Some(Estimate { median: median.min(1.0), ci_low: ci_low.min(1.0), ci_high: ci_high.min(1.0) })
    }

    /// The one that looks at the least.
    fn least(&self) -> &View<'r, 'a> {
        self.views.iter().find(|it| it.consume == Consume::Touch).unwrap_or(self.view())
    }

    /// The one that takes longest.
    fn largest(&self) -> &View<'r, 'a> {
        self.views.iter().max_by(|a, b| a.ns().total_cmp(&b.ns())).unwrap_or(self.view())
    }

    /// What a replay takes longer that looks at all bytes than the one that looks at the least.
    fn look_ns(&self) -> f64 {
        self.largest().ns() - self.least().ns()
    }

    /// Threads that reach the file, the most at one time; where that was not seen, as many as ever did. Which threads touch a
    /// mapping the trace alone has.
    fn readers(&self) -> u64 {
        let seen = self.program.as_ref().and_then(|it| self.observation(it.now)?.readers_at_once);
        seen.unwrap_or(self.advised.pattern.threads).max(self.replay_threads().into())
    }

    /// That make the accesses of the replay at once.
    fn replay_threads(&self) -> u32 {
        self.view().recorded.own.threads.max(1)
    }

    /// So many of them can be at work at once.
    fn at_work(&self) -> f64 {
        self.replay_threads().min(self.run.record.environment.cpus.max(1)).into()
    }

    fn seen(&self, cell: &Cell) -> Option<&'a Access> {
        Some(&self.observation(cell)?.named)
    }

    fn observation(&self, cell: &Cell) -> Option<&'a Observation> {
        confounders::observation(self.run, cell)
    }

    fn finding(&self, checked: &Checked) -> AdviceSelfCheck {
        let both = checked.both.as_ref();
        AdviceSelfCheck {
            id: self.view().id,
            file: self.advised.file.clone(),
            state: self.start.state,
            fill: self.start.fill,
            by: checked.by,
            program: both.ok().map(|it| it[0]),
            replay: both.ok().map(|it| it[1]),
            off: checked.off(),
            passed: checked.passed(),
            own_work_ns: self.view().recorded.own.own_work_ns,
            why: both.err().cloned(),
        }
    }
}

impl<'r, 'a> Program<'r, 'a> {
    fn of(run: &'r Run<'a>, condition: usize) -> Option<Program<'r, 'a>> {
        let now = run.baseline(condition)?;
        let all = || run.of_condition(condition);
        let alike = || all().filter(|it| it.arm() == now.arm());
        let switches = all().filter(|it| !it.entry.baseline && !it.entry.control).collect();
        Some(Program { now, times: Series::of(alike()), waits: Series::of_waits(alike()), switches })
    }
}

impl<'r, 'a> View<'r, 'a> {
    /// What the replay of what was recorded takes; 0 without a pass.
    fn ns(&self) -> f64 {
        self.times.middle().map_or(0.0, |it| it.median)
    }

    fn of(run: &'r Run<'a>, condition: usize, consume: Consume) -> Option<View<'r, 'a>> {
        let recorded = run.baseline(condition)?;
        let all = || run.of_condition(condition);
        let (mut arms, mut unlike) = (Vec::new(), Vec::new());
        for arm in all().filter(|it| !it.entry.baseline && !it.entry.control) {
            let Comparison { verdict, reason, .. } = compare::compare(run, recorded, arm);
            match verdict {
                Verdict::NotComparable => unlike.push((arm, reason.unwrap_or(Reason::NoPass))),
                _ => arms.push(arm),
            }
        }
        let alike = || all().filter(|it| it.arm() == recorded.arm());
        Some(View {
            id: recorded.id.condition,
            consume,
            recorded,
            times: Series::of(alike()),
            waits: Series::of_waits(alike()),
            arms,
            unlike,
        })
    }

    fn arm(&self, arm: &Arm) -> Option<&'r Cell<'a>> {
        self.arms.iter().find(|it| it.arm() == arm).copied()
    }
}
