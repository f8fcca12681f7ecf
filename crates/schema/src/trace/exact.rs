//! What is known of the pages that were touched through mappings, and why it is not more.

use std::fmt;

use serde::{Deserialize, Serialize};

/// In place of a sentence that may name files and programs.
pub(super) const REASON_LEFT_OUT: &str = "the reason was left out";

/// Whether the accesses of a file have the pages that were touched through its mappings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exact {
    /// Not all of them, or none at all.
    #[default]
    None,
    /// All of them, in no order.
    Set,
    /// All of them, in the order of their first touches.
    Order,
}

impl Exact {
    pub fn is_none(&self) -> bool {
        *self == Exact::None
    }
}

/// Why the pages of a file's mappings are not known although they were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inexact {
    /// Pages of it could be in the page cache, and such a page can be touched without being seen.
    NotCold { why: String },
    /// The kernel does not report page faults to this user, or on this machine.
    NoFaults { why: String },
    /// So many mappings did not take the advice without which a touch brings in more than its page.
    NotAdvised { mappings: u64 },
    /// The time for it was over before the program ended.
    BudgetOver { budget_ms: u64 },
    /// So many page faults are missing.
    Lost { faults: u64 },
    /// Which of its pages were in the page cache in the end is not known, so that touches may be missing.
    Unchecked,
}

impl Inexact {
    /// Its sentences may name files and programs.
    pub(super) fn redacted(self) -> Inexact {
        let why = REASON_LEFT_OUT.to_string();
        match self {
            Inexact::NotCold { .. } => Inexact::NotCold { why },
            Inexact::NoFaults { .. } => Inexact::NoFaults { why },
            counted @ (Inexact::NotAdvised { .. } | Inexact::BudgetOver { .. } | Inexact::Lost { .. }) => counted,
            Inexact::Unchecked => Inexact::Unchecked,
        }
    }
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Inexact::NotCold { why } => write!(f, "it was not cold: {why}"),
            Inexact::NoFaults { why } => write!(f, "page faults are not seen: {why}"),
            Inexact::NotAdvised { mappings } => write!(
                f,
                "{mappings} of its mappings did not take MADV_RANDOM, so that one touch brings in and maps other pages too"
            ),
            Inexact::BudgetOver { budget_ms } => write!(
                f,
                "the time for it was over after {} s; a longer --exact-budget may reach the end",
                *budget_ms as f64 / 1000.0
            ),
            Inexact::Lost { faults } => {
                write!(f, "{faults} page faults are missing: the kernel's ring was full; record it again")
            }
            Inexact::Unchecked => f.write_str(
                "whether pages of it were touched unseen could not be checked in the end: it was deleted or replaced, say"
            ),
        }
    }
}
