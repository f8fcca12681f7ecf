//! What the page cache was last filled with, and what is seen of its folios.

use std::{collections::BTreeMap, rc::Rc, time::Instant};

use schema::{Fill, Reading, Record, Span, record::FolioOrder};

use crate::{
    state::fill::{self, Folios},
    target::Target,
};

/// A fill that was made and verified, and nothing has disturbed since.
pub(super) struct Filled {
    pub(super) fill: Fill,
    pub(super) range: Span,
    /// What is read instead of the target.
    pub(super) copy: Option<Rc<Target>>,
    /// Where the record has it, what was seen of it, and what had been measured by then.
    pub(super) noted: Noted,
}

pub(super) struct Noted {
    pub(super) entry: usize,
    pub(super) folios: Option<Folios>,
    pub(super) since: Since,
    /// A look found it to be the fill still.
    pub(super) held: bool,
    /// When it is looked at again between rounds.
    pub(super) look_at: Instant,
}

/// What a record has at a moment; what it has beyond that came later.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Since {
    pub(super) samples: usize,
    pub(super) confirmations: usize,
    /// All that were begun, those of the calibration among them.
    pub(super) passes: u64,
}

impl Since {
    pub(super) fn now(record: &Record, passes: u64) -> Since {
        Since { samples: record.samples.len(), confirmations: record.confirmations.len(), passes }
    }
}

/// What is seen of the folios of a file, by both ways that there are.
pub(super) struct FolioSizes {
    pub(super) orders: Result<BTreeMap<u32, u64>, String>,
    per_fault: Option<Vec<u64>>,
}

impl FolioSizes {
    /// Of several files, the largest stands for all.
    pub(super) fn at(target: &Target, range: Span) -> FolioSizes {
        let bytes = range.bytes.min(target.bytes);
        let orders = sys::folio::orders(&target.file, range.offset, bytes);
        FolioSizes {
            orders: orders.map_err(|error| sys::folio::why_unknown(&error)),
            per_fault: sys::folio::pages_per_fault(&target.file, range.offset, bytes, fill::SAMPLES).ok(),
        }
    }

    pub(super) fn folios(&self) -> Option<Folios> {
        let per_fault = || self.per_fault.clone().map(Folios::PerFault);
        self.orders.as_ref().ok().cloned().map(Folios::Orders).or_else(per_fault)
    }

    pub(super) fn orders(&self) -> Reading<Vec<FolioOrder>> {
        let orders = |orders: BTreeMap<u32, u64>| {
            orders.into_iter().map(|(order, pages)| FolioOrder { order, pages }).collect::<Vec<FolioOrder>>()
        };
        self.orders.clone().map(orders).into()
    }

    pub(super) fn pages_per_fault(&self) -> Option<f64> {
        sys::folio::mean(self.per_fault.as_ref()?)
    }
}
