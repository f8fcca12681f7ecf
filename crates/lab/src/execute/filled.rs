//! What the page cache holds between passes: one fill of one window, for all conditions that want it.

use std::{rc::Rc, time::Instant};

use schema::{
    Condition, Fill, Span, State,
    record::{FilledRange, FolioOrder},
};

use super::Bench;
use crate::{
    Target, cold,
    fill::{self, Folios, Order},
    link::Trouble,
    state,
};

/// A fill that was made and verified, and nothing has disturbed since.
pub(super) struct Filled {
    fill: Fill,
    range: Span,
    /// What is read instead of the target.
    copy: Option<Rc<Target>>,
}

/// Of the budget, for one fill that reads page by page.
const SHARE_OF_FILL: f64 = 0.1;
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
            self.look_at_fill(Filled { fill, range, copy: None }, method, 0)?;
            return Ok(None);
        }
        let holds = |it: &Filled| it.fill == fill && it.range.covers(&range);
        if let Some(filled) = self.filled.as_ref().filter(|it| holds(it)) {
            return Ok(filled.copy.clone());
        }
        if fill == Fill::Found {
            return Err(Trouble::Unavailable("the file is not in the page cache any more as it was found".into()));
        }
        // An old copy goes before a new one takes its room.
        self.filled = None;
        // Once for all conditions of this fill, so that they share folios.
        let alike = self.record.conditions.iter().filter(|it| it.fill() == Some(fill)).map(|it| it.range);
        let range = alike.chain([range]).reduce(union).expect("at least the range itself");
        let began = Instant::now();
        let order = self.order(range.bytes);
        let copy = match fill.copied_by() {
            Some(block) => Some(Rc::new(fill::copy(self.target, range.end(), block, self.interrupted)?)),
            None => {
                if !self.target.file_system.is_memory() {
                    cold::evict(self.target, self.interrupted)?;
                }
                match &self.target.named {
                    Some(named) => named.fill(fill, order, self.interrupted)?,
                    None => fill::bring_in(&self.target.file, range, fill, order, self.interrupted)?,
                }
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
        self.look_at_fill(Filled { fill, range, copy: copy.clone() }, method, elapsed_ns)?;
        Ok(copy)
    }

    /// Page by page, unless that takes the device a large part of the budget.
    fn order(&self, bytes: u64) -> Order {
        let per_s = self.record.ceiling.value().and_then(|it| it.random_ops_per_s.value().copied());
        let pages = bytes.div_ceil(sys::page_bytes()) as f64;
        match pages / per_s.unwrap_or(RANDOM_OPS_PER_S) <= self.settings.budget.as_secs_f64() * SHARE_OF_FILL {
            true => Order::Pages,
            false => Order::Requests,
        }
    }

    /// Where the run begins: the file as it was found is a fill too, if all of it is in the page cache.
    pub(super) fn begin_as_found(&mut self) -> Result<(), Trouble> {
        if fill::possible(Fill::Found, self.target, 0).is_err() {
            return Ok(());
        }
        let range = Span { offset: 0, bytes: self.target.bytes };
        // It was looked at when it was opened. What left the page cache since must not be brought back by looking at folios.
        state::verify_before(State::Cached, &state::residency(self.target, range)).map_err(Trouble::Unavailable)?;
        self.look_at_fill(Filled { fill: Fill::Found, range, copy: None }, Fill::Found.about().into(), 0)
    }

    /// Verifies a fill and notes it.
    fn look_at_fill(&mut self, filled: Filled, method: String, elapsed_ns: u64) -> Result<(), Trouble> {
        let Filled { fill, range, ref copy } = filled;
        let target = copy.as_deref().unwrap_or(self.target);
        // Of several files, the largest stands for all.
        let bytes = range.bytes.min(target.bytes);
        let orders = sys::folio::orders(&target.file, range.offset, bytes);
        let per_fault = sys::folio::pages_per_fault(&target.file, range.offset, bytes, fill::SAMPLES);
        let folios = match (&orders, &per_fault) {
            (Ok(orders), _) => Some(Folios::Orders(orders.clone())),
            (Err(_), Ok(counts)) => Some(Folios::PerFault(counts.clone())),
            (Err(_), Err(_)) => None,
        };
        folios.map_or(Ok(()), |it| fill::verify(fill, &it)).map_err(Trouble::Unavailable)?;
        self.record.fills.push(FilledRange {
            range,
            fill: Some(fill),
            method,
            elapsed_ns,
            folio_orders: orders
                .map(|orders| orders.into_iter().map(|(order, pages)| FolioOrder { order, pages }).collect())
                .map_err(|error| format!("folio sizes need root and /proc/kpageflags: {error}"))
                .into(),
            pages_per_fault: per_fault
                .ok()
                .filter(|it| !it.is_empty())
                .map(|counts| counts.iter().sum::<u64>() as f64 / counts.len() as f64),
        });
        self.filled = Some(filled);
        Ok(())
    }
}

fn union(a: Span, b: Span) -> Span {
    let offset = a.offset.min(b.offset);
    Span { offset, bytes: a.end().max(b.end()) - offset }
}
