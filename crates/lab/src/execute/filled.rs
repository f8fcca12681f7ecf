//! What the page cache holds between passes: one fill of one window, for all conditions that want it.

use std::{rc::Rc, time::Instant};

use schema::{
    Condition, Fill, Span,
    record::{FilledRange, FolioOrder},
};

use super::Bench;
use crate::{Target, cold, fill, link::Trouble};

/// A fill that was made and verified, and nothing has disturbed since.
pub(super) struct Filled {
    fill: Fill,
    range: Span,
    /// What is read instead of the target.
    copy: Option<Rc<Target>>,
}

impl Bench<'_> {
    /// Makes sure that a condition's window is in the page cache, filled as it says. Returns the copy of the target that
    /// passes read, where the fill needs one.
    pub(super) fn fill(&mut self, fill: Fill, condition: &Condition) -> Result<Option<Rc<Target>>, Trouble> {
        let range = condition.range;
        if condition.workload.writes() && fill.copied_by().is_some() {
            // The file was just written that way.
            return Ok(None);
        }
        let holds = |it: &Filled| it.fill == fill && it.range.offset <= range.offset && range.end() <= it.range.end();
        if let Some(filled) = self.filled.as_ref().filter(|it| holds(it)) {
            return Ok(filled.copy.clone());
        }
        // An old copy goes before a new one takes its room.
        self.filled = None;
        // Once for all conditions of this fill, so that they share folios.
        let alike = self.record.conditions.iter().filter(|it| it.fill() == Some(fill)).map(|it| it.range);
        let range = alike.chain([range]).reduce(union).expect("at least the range itself");
        let began = Instant::now();
        let copy = match fill.copied_by() {
            Some(block) => Some(Rc::new(fill::copy(self.target, range.end(), block, self.interrupted)?)),
            None => {
                if !self.target.file_system.is_memory() {
                    cold::evict(self.target).map_err(Trouble::Failed)?;
                }
                match &self.target.named {
                    Some(named) => named.fill(fill, self.interrupted)?,
                    None => fill::bring_in(&self.target.file, range, fill, self.interrupted)?,
                }
                None
            }
        };
        let elapsed_ns = began.elapsed().as_nanos() as u64;
        let target = copy.as_deref().unwrap_or(self.target);
        // Of several files, the largest stands for all.
        let orders = sys::folio::orders(&target.file, range.offset, range.bytes.min(target.bytes));
        if let Ok(orders) = &orders {
            fill::verify(fill, orders).map_err(Trouble::Unavailable)?;
        }
        self.record.fills.push(FilledRange {
            range,
            fill: Some(fill),
            method: fill.about().into(),
            elapsed_ns,
            folio_orders: orders
                .map(|orders| orders.into_iter().map(|(order, pages)| FolioOrder { order, pages }).collect())
                .map_err(|error| format!("folio sizes need root and /proc/kpageflags: {error}"))
                .into(),
        });
        self.filled = Some(Filled { fill, range, copy: copy.clone() });
        Ok(copy)
    }
}

fn union(a: Span, b: Span) -> Span {
    let offset = a.offset.min(b.offset);
    Span { offset, bytes: a.end().max(b.end()) - offset }
}
