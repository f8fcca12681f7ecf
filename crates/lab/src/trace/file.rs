//! A trace as a file that was named: opened once, read through that descriptor, known by its digest.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result, bail};
use schema::{
    protocol::TraceOf,
    trace::{Access, Header, Reader, Traced},
};

/// Open, and read once to its end.
#[derive(Debug)]
pub struct TraceFile {
    file: File,
    pub header: Header,
    pub digest: String,
    /// Of each file of its table.
    files: Vec<Traced>,
}

impl TraceFile {
    /// # Errors
    /// It is no regular file, or no trace.
    pub fn open(path: &Path) -> Result<TraceFile> {
        let shown = path.display();
        let metadata = std::fs::metadata(path).with_context(|| format!("cannot open the trace {shown}"))?;
        // Opening a pipe would wait for its writer.
        if !metadata.is_file() {
            bail!("{shown} is no regular file; a trace is one, as `faultline trace record` makes it");
        }
        let file = File::open(path).with_context(|| format!("cannot open the trace {shown}"))?;
        let mut reader = Reader::new(BufReader::new(&file)).with_context(|| shown.to_string())?;
        let header = reader.header().clone();
        let none = |file| Traced { digest: String::new(), file, accesses: 0, bytes: 0, longest_bytes: 0, end_bytes: 0 };
        let mut files: Vec<Traced> = (0..header.files.len() as u32).map(none).collect();
        while let Some(access) = reader.next_access().with_context(|| shown.to_string())? {
            let of = &mut files[access.file as usize];
            of.accesses += 1;
            of.bytes += access.bytes;
            of.longest_bytes = of.longest_bytes.max(access.bytes);
            of.end_bytes = of.end_bytes.max(access.offset + access.bytes);
        }
        let digest = reader.digest().with_context(|| shown.to_string())?;
        files.iter_mut().for_each(|it| it.digest.clone_from(&digest));
        Ok(TraceFile { file, header, digest, files })
    }

    /// The accesses of one file: the one that is named, the only one, or the one that is measured.
    ///
    /// # Errors
    /// It is not known which one is meant, or it was not read.
    pub fn of_file(&self, named: Option<&str>, measured: &Path) -> Result<&Traced> {
        let measured = std::fs::canonicalize(measured).ok();
        let is_measured = |path: &str| measured.as_deref().is_some_and(|it| it == Path::new(path));
        let place = match (named, self.header.files.as_slice()) {
            (Some(name), files) => files.iter().position(|it| it.path == name),
            (None, [_]) => Some(0),
            (None, files) => files.iter().position(|it| is_measured(&it.path)),
        };
        let Some(place) = place else {
            let paths: Vec<&str> = self.header.files.iter().map(|it| it.path.as_str()).take(5).collect();
            let (count, paths) = (self.header.files.len(), paths.join(", "));
            match named {
                Some(name) => bail!("the trace has no file {name}; it has {paths}"),
                None => bail!(
                    "the trace has {count} files, and none of them is the one that is measured: {paths}; name one with \
                     workload = {{ replay = \"FILE\", file = \"PATH\" }}, or make a trace of one with `faultline trace \
                     import --file`"
                ),
            }
        };
        match &self.files[place] {
            Traced { accesses: 0, .. } => bail!("the trace has no access of {}", self.header.files[place].path),
            traced => Ok(traced),
        }
    }

    /// What a run replayed, if this is its trace.
    pub fn again(&self, of: &Traced) -> Option<&Traced> {
        self.files.get(of.file as usize).filter(|it| it.digest == of.digest && it.accesses > 0)
    }

    /// For a worker. A path could lead to another file by now, so it gets one to this descriptor.
    pub fn job(&self, traced: &Traced) -> TraceOf {
        let path = sys::folder::path_of(&self.file).display().to_string();
        TraceOf { path, digest: self.digest.clone(), file: traced.file }
    }

    /// All of it, to be saved.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        std::fs::read(sys::folder::path_of(&self.file)).context("cannot read the trace")
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
