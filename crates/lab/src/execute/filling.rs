//! What the page cache holds between passes: one fill of one window, for all conditions that need it.

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use schema::{
    Condition, Fill, Reading, Record, Span, State,
    record::{Cell, Confirmation, FilledRange, Invalid, LookedAgain, Outcome, Resident},
};

use super::{
    Bench,
    filled::{Filled, FolioSizes, Noted, Since},
};
use crate::{
    link::Trouble,
    plan::{self, union},
    state::{
        self, cold,
        fill::{self, Order},
    },
    target::Target,
};

/// Of the budget, for one fill that reads page by page.
const SHARE_OF_FILL: f64 = 0.1;
/// Of the pages of a fill, so many may have left the page cache and be read again, each alone: a reclaim scheme takes single
/// pages at any time.
pub const LOST_MOST: f64 = 0.01;
/// Of what the device reads ahead: read-ahead grows by twice or four times (mm/readahead.c), and has its full size before so many.
const LEADS: u64 = 2;
/// What was measured since the last look is lost where the folios change.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// A look takes at most this part of the time: some ten milliseconds at 1 GiB.
const LOOK_SHARE: u32 = 50;
/// Of a device whose ceiling is not known.
const RANDOM_OPS_PER_S: f64 = 10_000.0;

impl Bench<'_> {
    /// Makes sure that a condition's window is in the page cache, filled as it says. Returns the copy of the target that
    /// passes read, where the fill needs one.
    pub(super) fn fill(&mut self, fill: Fill, condition: &Condition) -> Result<Option<Rc<Target>>, Trouble> {
        let range = condition.range;
        if condition.workload.writes() && fill.copied_by().is_some() {
            // The file was just written that way (`writing::create`).
            let method = "the file itself, written by write(2) in blocks of that size, synced, not evicted".to_string();
            self.look_at_fill((fill, range, None), method, 0)?;
            return Ok(None);
        }
        let holds = |it: &&Filled| it.fill == fill && it.range.covers(&range);
        if let Some(filled) = self.filled.as_ref().filter(holds).filter(|it| self.is_whole(it, range)) {
            return Ok(filled.copy.clone());
        }
        if fill == Fill::Found {
            let reason =
                self.unfit_as_found.as_deref().unwrap_or("the file is no longer in the page cache as it was found");
            return Err(Trouble::Unavailable(reason.into()));
        }
        self.look_again();
        // An old copy goes before a new one takes its room.
        self.filled = None;
        let range = extent(&self.record, fill, condition, LEADS * self.target.window_bytes());
        let began = Instant::now();
        let order = self.order(range.bytes);
        let copy = match fill.copied_by() {
            Some(block) => Some(Rc::new(fill::copy(self.target, range.end(), block, self.stop.interrupted)?)),
            None => {
                if !self.target.file_system.is_memory() {
                    cold::evict(self.target, self.stop.interrupted)?;
                }
                fill::bring_in_target(self.target, range, fill, order, self.stop.interrupted)?;
                None
            }
        };
        let elapsed_ns = began.elapsed().as_nanos() as u64;
        let method = match self.target.file_system.is_memory() {
            true => {
                format!("read(2) in ascending order, not evicted: files on {} cannot be", self.target.file_system.kind)
            }
            false => order.method(fill),
        };
        self.look_at_fill((fill, range, copy.clone()), method, elapsed_ns)?;
        // What it cannot mend now, the pass finds.
        self.filled.as_ref().map(|it| self.is_whole(it, condition.range));
        Ok(copy)
    }

    /// As `fill`, once a command is prepared: what runs before it or after another one may have evicted pages.
    pub(super) fn fill_for_command(&mut self, condition: &Condition) -> Result<(), Trouble> {
        let Some(fill) = condition.fill() else { return Ok(()) };
        let is_there =
            || state::verify_before(State::Cached, self.target, &self.target.residency(condition.range)).is_ok();
        if self.filled.is_some() && runs_more_than_commands(&self.record) && !is_there() {
            self.look_again();
            self.filled = None;
        }
        self.fill(fill, condition).map(drop)
    }

    /// Page by page, unless that takes the device a large part of the budget.
    pub(super) fn order(&self, bytes: u64) -> Order {
        let per_s = self.record.ceiling.value().and_then(|it| it.random_ops_per_s.value().copied());
        let pages = bytes.div_ceil(sys::page_bytes()) as f64;
        match pages / per_s.unwrap_or(RANDOM_OPS_PER_S) <= self.settings.budget.as_secs_f64() * SHARE_OF_FILL {
            true => Order::Pages,
            false => Order::Requests,
        }
    }

    /// Where the run begins: the file as it was found is a fill too, if all of it is in the page cache.
    pub(super) fn begin_as_found(&mut self) {
        if fill::possible(Fill::Found, self.target, 0).is_err() {
            return;
        }
        let range = Span { offset: 0, bytes: self.target.all_bytes() };
        // It was looked at when it was opened. What left the page cache since must not be brought back by looking at folios.
        let looked = match state::known(&self.target.residency(range)) {
            Ok(Resident { pages, of }) => {
                let lost = of.saturating_sub(pages);
                let about = Fill::Found.about();
                match lost {
                    0 => self.look_at_fill((Fill::Found, range, None), about.into(), 0),
                    _ if self.reads_again(self.target, range, lost, of) => {
                        let method =
                            format!("{about}; {lost} of {of} pages left the page cache since, and were read again");
                        self.look_at_fill((Fill::Found, range, None), method, 0)
                    }
                    _ => Err(Trouble::Unavailable(format!(
                        "only {pages} of {of} pages were still in the page cache when the first pass would have begun"
                    ))),
                }
            }
            Err(reason) => Err(Trouble::Unavailable(reason)),
        };
        // What cannot be looked at is no state that anything is measured from.
        if let Err(Trouble::Unavailable(reason) | Trouble::Failed(reason)) = looked {
            self.unfit_as_found = Some(reason);
        }
    }

    /// Whether a part of what was filled is in the page cache, in the folios of the fill. A reclaim scheme may take single
    /// pages at any time: to fill 1 GiB page by page again takes seconds, in which it takes others, and a file as it was found
    /// cannot be made anew. So a few are read again, without read-ahead; whether the folios are still those of the fill is
    /// looked at afterwards.
    pub(super) fn is_whole(&self, filled: &Filled, range: Span) -> bool {
        let target = filled.copy.as_deref().unwrap_or(self.target);
        // What cannot be known, the pass says.
        let Ok(Resident { pages, of }) = state::known(&target.residency(range)) else { return true };
        let lost = of.saturating_sub(pages);
        let is_the_fill = || {
            let was = filled.noted.folios.as_ref()?;
            let is = FolioSizes::at(target, filled.range).folios()?;
            Some(fill::changed_share(was, &is)? <= fill::may_change(was))
        };
        lost == 0 || (self.reads_again(target, range, lost, of) && is_the_fill() == Some(true))
    }

    /// Few pages that are missing, each alone: read-ahead would make larger folios of them.
    fn reads_again(&self, target: &Target, range: Span, lost: u64, of: u64) -> bool {
        let is_few = lost as f64 <= LOST_MOST * of as f64;
        is_few && fill::bring_in_target(target, range, Fill::Random, Order::Requests, self.stop.interrupted).is_ok()
    }

    /// Verifies a fill and notes it, once for what may be made anew before each pass.
    fn look_at_fill(
        &mut self,
        (fill, range, copy): (Fill, Span, Option<Rc<Target>>),
        method: String,
        elapsed_ns: u64,
    ) -> Result<(), Trouble> {
        let began = Instant::now();
        let look = FolioSizes::at(copy.as_deref().unwrap_or(self.target), range);
        let look_at = next_look(began);
        let folios = look.folios();
        folios.as_ref().map_or(Ok(()), |it| fill::verify(fill, it)).map_err(Trouble::Unavailable)?;
        let anew =
            self.record.conditions.iter().any(|it| it.workload.writes()) || runs_more_than_commands(&self.record);
        let is_noted = |it: &FilledRange| it.fill == Some(fill) && it.range == range && it.method == method;
        let entry = self.record.fills.iter().position(|it| anew && is_noted(it)).unwrap_or(self.record.fills.len());
        if entry == self.record.fills.len() {
            self.record.fills.push(FilledRange {
                range,
                fill: Some(fill),
                method,
                elapsed_ns,
                folio_orders: look.orders(),
                pages_per_fault: look.pages_per_fault(),
                looked_again: None,
                kept: false,
            });
        }
        let since = Since::now(&self.record, self.draw.passes);
        let noted = Noted { entry, folios, since, held: false, look_at };
        self.filled = Some(Filled { fill, range, copy, noted });
        Ok(())
    }

    /// Looks again between rounds, where the last look was a while ago: a reclaim scheme can take folios at any time. A file as it
    /// was found cannot be brought back, and is looked at when all is measured.
    pub(super) fn look_now_and_then(&mut self) {
        let is_due = |it: &Filled| it.fill != Fill::Found && Instant::now() >= it.noted.look_at;
        if self.filled.as_ref().is_some_and(is_due) {
            self.look_again();
        }
    }

    /// Looks again at what the page cache was filled with, before it is disturbed and where a stage ends: what was measured
    /// since the last look counts only if it is the fill still.
    pub(super) fn look_again(&mut self) {
        let Some(filled) = &mut self.filled else { return };
        let (before, now) = (filled.noted.since, Since::now(&self.record, self.draw.passes));
        if before == now {
            return;
        }
        let began = Instant::now();
        let target = filled.copy.as_deref().unwrap_or(self.target);
        // Looking must not bring back what left the page cache; the passes looked at that themselves.
        let resident = state::verify_before(State::Cached, target, &target.residency(filled.range));
        let look = resident.map(|()| FolioSizes::at(target, filled.range));
        filled.noted.look_at = next_look(began);
        // What could not be looked at is looked at next time: the pages that are missing may be read again.
        if look.is_ok() {
            filled.noted.since = now;
        }
        let seen = look.as_ref().ok().and_then(FolioSizes::folios).zip(filled.noted.folios.as_ref());
        let changed = seen.and_then(|(is, was)| Some((fill::changed_share(was, &is)?, fill::may_change(was))));
        let entry = &mut self.record.fills[filled.noted.entry];
        entry.looked_again = Some(match (look, changed) {
            (Err(reason), _) => Reading::unavailable(reason),
            (Ok(_), None) => Reading::unavailable("this user cannot see folio sizes"),
            (Ok(look), Some((changed_share, most))) => Reading::Value(LookedAgain {
                folio_orders: look.orders(),
                pages_per_fault: look.pages_per_fault(),
                changed_share,
                is_the_fill: changed_share <= most,
            }),
        });
        if let Some((share, _)) = changed.filter(|(share, most)| share > most) {
            entry.kept = filled.noted.held;
            invalidate(&mut self.record, self.underway.as_mut(), filled.fill, before, share);
            self.changed.push(filled.fill);
            self.filled = None;
        } else if changed.is_some() {
            filled.noted.held = true;
        }
    }
}

/// What is filled where a window is needed: once for all conditions of this fill, so that they share folios; and again as
/// far as before, since a pass of another round lies elsewhere in it. A file that is written is filled before each pass, so
/// only as much of it as that needs, and `lead` before it: read-ahead begins with small folios.
fn extent(record: &Record, fill: Fill, condition: &Condition, lead: u64) -> Span {
    if condition.workload.writes() {
        let Span { offset, bytes } = condition.range;
        // Not before a range that was given.
        let alike = record.conditions.iter().filter(|it| it.workload.writes() && it.fill() == Some(fill));
        let first = alike.map(|it| it.range.offset).min().unwrap_or(offset);
        let lead = lead.next_multiple_of(plan::STEP).min(offset.saturating_sub(first));
        return Span { offset: offset - lead, bytes: bytes + lead };
    }
    let alike = plan::filled(&record.conditions, &record.cells).remove(&fill);
    let before = record.fills.iter().filter(|it| it.fill == Some(fill));
    alike.into_iter().chain(before.map(|it| it.range)).fold(condition.range, union)
}

/// After a look that began then and has just ended.
fn next_look(began: Instant) -> Instant {
    Instant::now() + LOOK_EVERY.max(began.elapsed() * LOOK_SHARE)
}

/// Whether something of the user's runs before or after each command.
fn runs_more_than_commands(record: &Record) -> bool {
    let options = record.cells.iter().filter(|it| it.arm.is_command()).map(|it| &it.arm.options);
    options.flat_map(|it| it.keys()).any(|it| matches!(it.as_str(), "prepare" | "cleanup"))
}

/// Passes after a fill, from some moment on, were made in folios that were not all those of the fill; those of a confirmation
/// that is underway, too.
fn invalidate(record: &mut Record, underway: Option<&mut Confirmation>, fill: Fill, since: Since, share: f64) {
    let reason = Invalid::FoliosChanged { fill, share };
    let Record { conditions, cells, samples, confirmations, .. } = record;
    let is_after = |cell: usize| {
        let cell: &Cell = &cells[cell];
        cell.own_condition.as_ref().unwrap_or(&conditions[cell.condition]).fill() == Some(fill)
    };
    for sample in samples[since.samples..].iter_mut().filter(|it| is_after(it.cell)) {
        if matches!(sample.outcome, Outcome::Ok { .. }) {
            sample.outcome = Outcome::Invalid { reason: reason.clone() };
        }
    }
    let since_then = confirmations[since.confirmations..].iter_mut().chain(underway);
    for again in since_then.filter(|it| is_after(it.baseline_cell)) {
        again.pairs.clear();
        again.cold.clear();
        again.invalid.push(reason.to_string());
    }
}

#[cfg(test)]
mod tests {
    use schema::{Skip, Workload};

    use super::*;

    fn cell(condition: usize) -> Cell {
        let arm = "read".parse().unwrap();
        Cell { arm, condition, own_condition: None, baseline: false, control: false, skipped: None }
    }

    fn mib(offset: u64, bytes: u64) -> Span {
        Span { offset: offset << 20, bytes: bytes << 20 }
    }

    #[test]
    fn what_is_filled_is_what_is_read_and_nothing_that_is_left_out_or_written() {
        let fill = Fill::Written(4096);
        let of = |range: Span| Condition { state: State::Cached, fill: Some(fill), range, ..Condition::plain(4 << 30) };
        let mut record = planted::empty_record();
        let writes = Condition { workload: Workload::Overwrite, ..of(mib(0, 1024)) };
        record.conditions = vec![of(mib(0, 32)), writes, of(mib(0, 512)), of(mib(32, 16))];
        record.cells = vec![cell(0), cell(1), Cell { skipped: Some(Skip::Untried), ..cell(2) }, cell(3)];
        let filled = |record: &Record| extent(record, fill, &record.conditions[0], 0);
        assert_eq!(filled(&record), mib(0, 48));
        // What an arm reads of its own is filled with the rest.
        record.cells[0].own_condition = Some(of(mib(0, 64)));
        assert_eq!(filled(&record), mib(0, 64));
        assert_eq!(plan::filled(&record.conditions, &record.cells).get(&fill), Some(&filled(&record)));
        record.cells[2].skipped = None;
        assert_eq!(filled(&record), mib(0, 512));
    }

    #[test]
    fn a_file_that_is_written_is_filled_where_the_pass_writes_and_a_lead_before_it_wherever_other_conditions_write() {
        let fill = Fill::Sequential;
        let of = |range: Span| Condition {
            workload: Workload::Overwrite,
            state: State::Cached,
            fill: Some(fill),
            range,
            ..Condition::plain(4 << 30)
        };
        let mut record = planted::empty_record();
        record.conditions = vec![of(mib(0, 96)), of(mib(0, 1024))];
        record.cells = vec![cell(0), cell(1)];
        let filled = |record: &Record, range: Span, lead: u64| extent(record, fill, &of(range), lead);
        assert_eq!(filled(&record, mib(640, 96), 16 << 20), mib(624, 112));
        assert_eq!(filled(&record, mib(640, 96), 256 << 10), mib(638, 98), "a large folio");
        assert_eq!(filled(&record, mib(4, 96), 16 << 20), mib(0, 100), "from the start of the file");
        record.conditions = vec![of(mib(640, 96))];
        assert_eq!(filled(&record, mib(640, 4), 16 << 20), mib(640, 4), "nothing before a range that was given");
    }

    #[test]
    fn what_is_filled_again_is_filled_as_far_as_before() {
        let mut record = planted::empty_record();
        record.cells = vec![cell(0), cell(1)];
        let condition = |range: Span| Condition { state: State::Cached, range, ..Condition::plain(4 << 30) };
        record.conditions = vec![condition(mib(0, 1024)), condition(mib(0, 256))];
        assert_eq!(extent(&record, Fill::Sequential, &condition(mib(0, 256)), 0), mib(0, 1024));
        record.fills.push(FilledRange {
            fill: Some(Fill::Sequential),
            range: mib(0, 1024),
            method: String::new(),
            elapsed_ns: 0,
            folio_orders: Reading::unavailable("not looked at"),
            pages_per_fault: None,
            looked_again: None,
            kept: false,
        });
        // Then the sizes of passes are decided, and windows lie elsewhere in each round.
        record.conditions = vec![condition(mib(0, 64)), condition(mib(64, 16))];
        for window in [mib(0, 64), mib(640, 64), mib(960, 64)] {
            assert_eq!(extent(&record, Fill::Sequential, &condition(window), 0), mib(0, 1024));
        }
        assert_eq!(extent(&record, Fill::Random, &condition(mib(640, 64)), 0), mib(640, 64));
    }

    #[test]
    fn passes_since_the_last_look_at_folios_that_changed_are_invalid_and_no_others() {
        let planted = planted::Planting { jobs: true, ..planted::Planting::default() }.plant().record;
        let mut record = planted.clone();
        let of_fill = |cell: usize| planted.conditions[planted.cells[cell].condition].fill() == Some(Fill::Random);
        let first = planted.samples.iter().position(|it| of_fill(it.cell)).unwrap();
        let since = Since { samples: first + 3, confirmations: 0, passes: 0 };
        let of_some = |is_of_fill: bool| {
            let mut found = planted.confirmations.iter().filter(|it| of_fill(it.baseline_cell) == is_of_fill);
            found.find(|it| !it.pairs.is_empty()).cloned().unwrap()
        };
        let (mut underway, mut of_another) = (of_some(true), of_some(false));
        invalidate(&mut record.clone(), Some(&mut of_another), Fill::Random, since, 0.5);
        assert_eq!(of_another, of_some(false));
        invalidate(&mut record, Some(&mut underway), Fill::Random, since, 0.5);
        assert_eq!((underway.pairs.len(), underway.invalid.len()), (0, 1), "{underway:?}");
        let (mut lost, mut kept) = (0, 0);
        for (at, (is, was)) in record.samples.iter().zip(&planted.samples).enumerate() {
            let counts = matches!(was.outcome, Outcome::Ok { .. });
            if at >= since.samples && of_fill(was.cell) && counts {
                let reason = Invalid::FoliosChanged { fill: Fill::Random, share: 0.5 };
                assert_eq!(is.outcome, Outcome::Invalid { reason });
                lost += 1;
            } else {
                assert_eq!(is, was);
                kept += usize::from(of_fill(was.cell) && counts);
            }
        }
        assert!(lost > 0 && kept > 0, "{lost} lost, {kept} kept");
        for (is, was) in record.confirmations.iter().zip(&planted.confirmations) {
            let gone = of_fill(was.baseline_cell);
            assert_eq!((is.pairs.is_empty(), is.invalid.len()), (gone, usize::from(gone)));
        }
    }
}
