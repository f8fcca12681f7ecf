//! Whether a POSIX shared-memory object outlives the process that wrote it, until it is unlinked.
//! shm_open(3) is open(2) in /dev/shm, and shm_unlink(3) is unlink(2) there.
//!
//! Threat: the object has to have a name, because that is what it outlives its writer by, and a name stays where the run fails
//! or is killed. Defence: it is entered into the cleanup journal before it is made, and unlinked however this ends.

use std::{ffi::OsString, fs, io, path::Path};

use schema::record::ScenarioResult;
use sys::folder::{Folder, Identity};

use super::{Scenario, Scene};
use crate::{cgroups::Note, target::fixture::Fixture};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "shared-memory",
    about: "a POSIX shared-memory object outlives its writer, until it is unlinked",
    scratch_bytes: |_| 0,
    observe,
};

const FOLDER: &str = "/dev/shm";
const WORDS: &[u8] = b"written by a process that is gone";

fn observe(scene: &Scene) -> Result<ScenarioResult, String> {
    let folder = Folder::open(Path::new(FOLDER)).map_err(|error| format!("{FOLDER} could not be opened: {error}"))?;
    let object = Object::make(folder, scene.note)?;
    let path = object.folder.path().join(&object.name);
    let unwritten = |error| format!("no other process could write to {}: {error}", path.display());
    sys::pages::written_by_another_process(&path, WORDS).map_err(unwritten)?;
    let found = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    object.unlink().map_err(|error| format!("{} could not be unlinked: {error}", path.display()))?;
    let after = fs::File::open(&path).err().map(|error| error.kind());
    Ok(ScenarioResult {
        holds: found == WORDS && after == Some(io::ErrorKind::NotFound),
        evidence: format!(
            "this process read {:?} after the writer had exited; after unlinking, opening the object returned {}",
            String::from_utf8_lossy(&found),
            after.map_or("nothing: it is still there".to_string(), |kind| kind.to_string())
        ),
    })
}

/// An empty object, which no process has open. Its name is taken away when this is dropped.
struct Object {
    folder: Folder,
    name: OsString,
    identity: Identity,
}

impl Object {
    /// # Errors
    /// It cannot be noted, and is not made then; or it cannot be made.
    fn make(folder: Folder, note: Note) -> Result<Object, String> {
        let name = Fixture::new_name();
        let path = folder.path().join(&name);
        note(&path)?;
        let made = folder.create(&name).and_then(|file| sys::folder::identity(&file));
        let identity = made.map_err(|error| format!("{} could not be made: {error}", path.display()))?;
        Ok(Object { folder, name, identity })
    }

    fn unlink(&self) -> io::Result<bool> {
        self.folder.unlink(&self.name, self.identity)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // What stays is in the cleanup journal.
        let _ = self.unlink();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn an_object_is_noted_before_it_is_made_and_goes_however_the_scenario_ends() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Folder::open(folder.path()).unwrap();
        let noted = RefCell::new(Vec::new());
        let note = |path: &Path| {
            assert!(!path.exists(), "made before it was noted");
            noted.borrow_mut().push(path.to_path_buf());
            Ok(())
        };
        let object = Object::make(open(), &note).unwrap();
        assert_eq!((names(folder.path()), noted.borrow().len()), (1, 1));
        assert!(noted.borrow()[0].exists());
        assert!(object.unlink().unwrap());
        assert_eq!(names(folder.path()), 0);
        drop(object);
        let fails = || -> Result<(), String> {
            let _object = Object::make(open(), &note)?;
            Err("the writer could not be started".into())
        };
        fails().unwrap_err();
        assert_eq!((names(folder.path()), noted.borrow().len()), (0, 2));
        assert!(Object::make(open(), &|_| Err("the journal cannot be written".into())).is_err());
        assert_eq!(names(folder.path()), 0, "what cannot be noted is not made");
    }
}
