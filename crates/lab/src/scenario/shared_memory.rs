//! Whether a POSIX shared-memory object outlives the process that wrote it, until it is unlinked.
//! shm_open(3) is open(2) in /dev/shm, and shm_unlink(3) is unlink(2) there.

use std::{fs, path::PathBuf};

use schema::record::ScenarioResult;

use super::{Scenario, Scene};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "shared-memory",
    about: "a POSIX shared-memory object outlives its writer, until it is unlinked",
    observe,
};

const WORDS: &[u8] = b"written by a process that is gone";

fn observe(_: &Scene) -> Result<ScenarioResult, String> {
    let path = PathBuf::from(format!("/dev/shm/faultline-{}-{:08x}", std::process::id(), fastrand::u32(..)));
    sys::pages::written_by_another_process(&path, WORDS)
        .map_err(|error| format!("a shared-memory object could not be made in /dev/shm: {error}"))?;
    let found = fs::read(&path);
    fs::remove_file(&path).map_err(|error| format!("{} could not be unlinked: {error}", path.display()))?;
    let found = found.map_err(|error| format!("{}: {error}", path.display()))?;
    let after = fs::File::open(&path).err().map(|error| error.kind());
    Ok(ScenarioResult {
        holds: found == WORDS && after == Some(std::io::ErrorKind::NotFound),
        evidence: format!(
            "this process read {:?} after the writer had exited; after unlinking, opening the object returned {}",
            String::from_utf8_lossy(&found),
            after.map_or("nothing: it is still there".to_string(), |kind| kind.to_string())
        ),
    })
}
