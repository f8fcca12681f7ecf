//! Whether a page that was written back faults again at the next store, and whether mlock(2) or MADV_POPULATE_WRITE spares it that.

use schema::record::ScenarioResult;
use sys::pages::{Pages, Sharing, minor_faults_of_this_thread};

use super::{
    Scenario, Scene,
    scratch::{NEW, OLD, Scratch, no_store},
    written_back,
};
use crate::target::Target;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "locked-write-faults",
    about: "after write-back the next store to a page faults again, mlocked or not",
    scratch_bytes: |page| PAGES * page,
    observe,
};

const PAGES: u64 = 64;

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    // Where nothing is written back, nothing is made clean, and no store faults again.
    written_back::observable(scene)?;
    judged(&faults(scene.target, false)?, &faults(scene.target, true)?)
}

/// By the stores without mlock(2) and with it.
///
/// # Errors
/// Without it they do not fault again: then no fault is to be seen here that it could spare.
fn judged(plain: &Faults, locked: &Faults) -> Result<ScenarioResult, String> {
    let prefaulted = match &plain.prefaulted {
        Ok(faults) => format!("{faults} after write-back and MADV_POPULATE_WRITE"),
        Err(reason) => format!("MADV_POPULATE_WRITE (Linux 5.14) is not available: {reason}"),
    };
    let (plain_says, locked_says) = (plain.says(), locked.says());
    let evidence = format!("faults of {PAGES} stores, one a page: {plain_says}; mlocked: {locked_says}; {prefaulted}");
    match plain.again() {
        true => Ok(ScenarioResult { holds: locked.again(), evidence }),
        false => Err(format!("{evidence}; so write-back makes no page here fault again")),
    }
}

/// Of one store in each page.
struct Faults {
    first: u64,
    while_dirty: u64,
    after_write_back: u64,
    /// After write-back too, with the write faults made ahead.
    prefaulted: Result<u64, String>,
}

impl Faults {
    /// One store in two at least: a fault of the thread's own, on its stack say, is none of these.
    fn again(&self) -> bool {
        self.after_write_back >= self.while_dirty + PAGES / 2
    }

    fn says(&self) -> String {
        let Faults { first, while_dirty, after_write_back, prefaulted: _ } = self;
        format!("{first} at first, {while_dirty} while dirty, {after_write_back} after write-back")
    }
}

fn faults(target: &Target, locked: bool) -> Result<Faults, String> {
    let scratch = Scratch::beside(target, PAGES)?;
    let mut mapping = scratch.map(Sharing::Shared)?;
    if locked {
        mapping.lock().map_err(|error| format!("mlock(2): {error}; the limit is RLIMIT_MEMLOCK"))?;
    }
    let store = |mapping: &mut Pages, byte: u8| -> Result<u64, String> {
        let before = minor_faults_of_this_thread();
        for page in 0..PAGES {
            mapping.store(page * sys::page_bytes(), byte).map_err(no_store)?;
        }
        Ok(minor_faults_of_this_thread() - before)
    };
    let written_back = || scratch.file.sync_all().map_err(|error| format!("fsync(2): {error}"));
    let (first, while_dirty) = (store(&mut mapping, NEW)?, store(&mut mapping, OLD)?);
    written_back()?;
    let after_write_back = store(&mut mapping, NEW)?;
    written_back()?;
    let populated = mapping.populate_write().map_err(|error| error.to_string());
    let prefaulted = populated.and_then(|()| store(&mut mapping, OLD));
    Ok(Faults { first, while_dirty, after_write_back, prefaulted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_by_the_way_is_no_page_that_faults_again() {
        let of = |while_dirty, after_write_back| Faults { first: 64, while_dirty, after_write_back, prefaulted: Ok(0) };
        assert!(of(0, 64).again() && of(1, 65).again());
        assert!(!of(0, 0).again() && !of(0, 1).again() && !of(64, 64).again());
    }

    #[test]
    fn where_plain_stores_do_not_fault_again_nothing_is_known_of_locked_ones() {
        let of = |again: bool| Faults {
            first: 64,
            while_dirty: 0,
            after_write_back: if again { 64 } else { 0 },
            prefaulted: Ok(0),
        };
        let holds = |plain: bool, locked: bool| judged(&of(plain), &of(locked)).map(|it| it.holds).ok();
        assert_eq!([holds(true, true), holds(true, false)], [Some(true), Some(false)]);
        assert_eq!([holds(false, true), holds(false, false)], [None; 2]);
    }
}
