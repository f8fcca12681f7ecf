//! Passes that write: to a file that is created anew before each of them, and read back after it.

use schema::{Arm, Condition, Consume};

use super::{super::Bench, Pass, Work, kind::PassSteps};
use crate::{
    link::Trouble,
    state::{cold, writing},
};

pub(super) struct Writes;

impl PassSteps for Writes {
    fn calibration_refused(&self) -> Option<&'static str> {
        Some("passes that write would change the file during the calibration")
    }

    fn prepare_target(&self, bench: &mut Bench, condition: &Condition) -> Result<(), Trouble> {
        writing::create(bench.target, condition, bench.record.seed, bench.stop.interrupted)?;
        bench.filled = None;
        Ok(())
    }

    fn explain(&self, work: &Work, trouble: Trouble) -> Trouble {
        writing::blame(work.target, work.condition, trouble)
    }

    /// What a reader finds now goes into the tally; what the device holds, once everything is synced and the cache is empty,
    /// must be the same.
    fn finish(&self, bench: &mut Bench, condition: &Condition, pass: &mut Pass) -> Result<(), Trouble> {
        // What is there now was written by the pass.
        bench.filled = None;
        let written = read(bench, condition)?;
        pass.done.tally.checksum = written.clone();
        let synced = writing::sync(bench.target).map_err(Trouble::Failed);
        let emptied = synced.and_then(|()| match bench.target.file_system.is_memory() {
            true => Ok(()),
            false => cold::evict(bench.target, bench.stop.interrupted),
        });
        let invalid = match emptied {
            Ok(()) => {
                let on_device = read(bench, condition)?;
                (on_device != written).then(|| {
                    format!("the bytes on the device differ from those that were written: checksums {on_device} and {written}")
                })
            }
            Err(Trouble::Failed(reason)) => {
                Some(format!("the written bytes could not be read back from the device: {reason}"))
            }
            Err(trouble) => return Err(trouble),
        };
        pass.invalid = invalid.or(pass.invalid.take());
        Ok(())
    }
}

/// The checksum of the range, by another worker.
fn read(bench: &mut Bench, condition: &Condition) -> Result<String, Trouble> {
    let arm: Arm = "pread".parse().expect("a method of ours");
    Ok(bench.pass(&arm, &bench.plain_scan(condition.range, Consume::Sum))?.done.tally.checksum)
}
