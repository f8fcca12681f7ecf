//! How often a test tries something: a few times in the ordinary tests, as often as `cargo xtask fault` says there.

use std::time::{Duration, Instant};

/// So many cases, each with a seed of its own, unless the time is over before.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    cases: u64,
    seed: u64,
    until: Option<Instant>,
}

impl Effort {
    /// `cases` in the ordinary tests; what `FAULTLINE_FAULTS`, `FAULTLINE_FAULT_SECONDS` and `FAULTLINE_FAULT_SEED` say
    /// where `cargo xtask fault` sets them. The time begins here.
    pub fn of(cases: u64) -> Effort {
        let described = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
        Effort {
            cases: described("FAULTLINE_FAULTS").unwrap_or(cases),
            seed: described("FAULTLINE_FAULT_SEED").unwrap_or(11),
            until: described("FAULTLINE_FAULT_SECONDS").map(|it| Instant::now() + Duration::from_secs(it)),
        }
    }

    /// Whether more is asked for than the ordinary tests do.
    pub fn is_asked() -> bool {
        std::env::var_os("FAULTLINE_FAULTS").is_some()
    }

    pub fn count(self) -> u64 {
        self.cases
    }

    /// The seeds. A case that failed is repeated with its seed as `FAULTLINE_FAULT_SEED`.
    pub fn seeds(self) -> impl Iterator<Item = u64> + Send {
        self.endless().take(self.cases as usize)
    }

    /// For a test of which not every case counts: until it has enough of those that do, or the time is over.
    pub fn endless(self) -> impl Iterator<Item = u64> + Send {
        let in_time = move |_: &u64| self.until.is_none_or(|until| Instant::now() < until);
        (0..).map(move |it| self.seed.wrapping_add(it)).take_while(in_time)
    }
}
