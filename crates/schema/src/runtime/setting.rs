//! What an option is set to.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// A setting of one option.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged, expecting = "an option is set to a word or a whole number")]
pub enum Setting {
    Number(u32),
    Word(String),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Setting::Word(word) => f.write_str(word),
            Setting::Number(number) => write!(f, "{number}"),
        }
    }
}

/// Every option of the method, defaults included, so that a record says what was done without this table.
pub type Options = BTreeMap<String, Setting>;
