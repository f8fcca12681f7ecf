//! A trace as a file that was named: opened once, read through that descriptor, known by its digest.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result, bail};
use schema::trace::{Access, Header, Reader};

/// Open, and read once to its end.
#[derive(Debug)]
pub struct TraceFile {
    file: File,
    pub header: Header,
    pub digest: String,
}

impl TraceFile {
    /// # Errors
    /// It is no regular file, or no trace.
    pub fn open(path: &Path) -> Result<TraceFile> {
        let shown = path.display();
        let metadata = std::fs::metadata(path).with_context(|| format!("cannot open the trace {shown}"))?;
        // Opening a pipe would wait for its writer.
        if !metadata.is_file() {
            bail!("{shown} is no regular file; a trace is one, as `faultline trace import` makes it");
        }
        let file = File::open(path).with_context(|| format!("cannot open the trace {shown}"))?;
        let reader = Reader::new(BufReader::new(&file)).with_context(|| shown.to_string())?;
        let header = reader.header().clone();
        let digest = reader.digest().with_context(|| shown.to_string())?;
        Ok(TraceFile { file, header, digest })
    }

    /// Every access, in order.
    ///
    /// # Errors
    /// It changed since it was opened.
    pub fn accesses(&self) -> Result<Vec<Access>> {
        let mut accesses = Vec::new();
        let path = sys::folder::path_of(&self.file);
        let mut reader = Reader::new(BufReader::new(File::open(&path)?))?;
        while let Some(access) = reader.next_access()? {
            accesses.push(access);
        }
        if reader.digest()? != self.digest {
            bail!("the trace changed while it was read; try it again");
        }
        Ok(accesses)
    }
}
