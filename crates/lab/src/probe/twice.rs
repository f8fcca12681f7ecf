//! A probe that is two looks at a text of the kernel's, and what lies between them.

use schema::record::Reading;

use super::Probe;

pub(super) struct Twice {
    readings: &'static [&'static str],
    look: Box<dyn Fn(u32) -> Result<String, String>>,
    /// From both texts, for one reading.
    between: Between,
    before: Result<String, String>,
}

pub(super) type Between = fn(before: &str, after: &str, reading: &str) -> Result<f64, String>;

impl Twice {
    pub(super) fn new(
        readings: &'static [&'static str],
        between: Between,
        look: impl Fn(u32) -> Result<String, String> + 'static,
    ) -> Twice {
        Twice { readings, look: Box::new(look), between, before: Err("not started".into()) }
    }
}

impl Probe for Twice {
    fn start(&mut self, pid: u32) {
        self.before = (self.look)(pid);
    }

    fn stop(&mut self, pid: u32) -> Vec<(&'static str, Reading<f64>)> {
        let after = (self.look)(pid);
        let both = self.before.as_ref().and_then(|before| Ok((before, after.as_ref()?)));
        let read = |name: &&'static str| {
            let between = both.map_err(String::clone).and_then(|(before, after)| (self.between)(before, after, name));
            (*name, Reading::from(between))
        };
        self.readings.iter().map(read).collect()
    }
}

/// A small file of the kernel's.
pub(super) fn text(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

/// By how much a counter increased. A counter that decreased was reset, and has no difference.
pub(super) fn rise(before: u64, after: u64) -> Result<f64, String> {
    after.checked_sub(before).map(|it| it as f64).ok_or_else(|| "the counter decreased".into())
}
