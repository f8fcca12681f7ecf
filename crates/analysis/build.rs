//! The version of the analysis: what follows from a record may change with any line of it, and numbers that were derived
//! by another version must not be taken for current ones. So the version is a hash of the source.

#![allow(clippy::disallowed_methods, reason = "the build reads the source; the crate itself does no I/O")]

use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for folder in ["src", "../schema/src"] {
        println!("cargo::rerun-if-changed={folder}");
        add(Path::new(folder), &mut hash)?;
    }
    println!("cargo::rustc-env=ANALYSIS_VERSION={hash:016x}");
    Ok(())
}

/// FNV-1a, over the files of a folder in the order of their names.
fn add(path: &Path, hash: &mut u64) -> io::Result<()> {
    if path.is_dir() {
        let mut entries = fs::read_dir(path)?.map(|it| it.map(|it| it.path())).collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        return entries.iter().try_for_each(|it| add(it, hash));
    }
    for byte in fs::read(path)? {
        *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    Ok(())
}
