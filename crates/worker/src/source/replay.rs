//! The accesses of a trace, in their order. They are read and checked before the pass, and lie in memory within it: 16 bytes
//! each, one after the other. A trace is not trusted: whatever it says, no access leaves the range of its job.

use std::{
    fs::File,
    io::{self, BufReader},
    path::PathBuf,
    sync::Arc,
};

use schema::{
    Span,
    leftover::FileIdentity,
    protocol::{Job, ReplayedFile, TraceOf},
    trace::{Access, FILES_MAX, Reader, Refused},
};

use super::{Pattern, Reached, Source, Union};

#[derive(Debug, Clone)]
pub(crate) struct Replay {
    list: Arc<[Span]>,
    next: usize,
}

impl Iterator for Replay {
    type Item = Span;

    #[inline(always)]
    fn next(&mut self) -> Option<Span> {
        let span = *self.list.get(self.next)?;
        self.next += 1;
        Some(span)
    }
}

impl Source for Replay {
    /// A replay has one thread.
    fn of(pattern: &Pattern, _: u32) -> Replay {
        Replay { list: Arc::clone(&pattern.list), next: 0 }
    }
}

/// The accesses of a trace over several files, in its order.
pub(crate) struct Several {
    pub files: Vec<SeveralFile>,
    pub list: Arc<[Span]>,
    pub stretches: Vec<Stretch>,
}

/// One of them. Its range is all of it, as it was when it was named.
pub(crate) struct SeveralFile {
    pub path: PathBuf,
    pub identity: FileIdentity,
    pub range: Span,
}

/// Accesses of one file that follow each other. A file is opened at its first stretch, and closed after its last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Its place among the files.
    pub file: usize,
    /// Where it ends in the list; it begins where the one before it ended.
    pub end: usize,
    pub is_last: bool,
}

impl Several {
    /// The file that is opened first.
    pub(crate) fn first(&self) -> &SeveralFile {
        &self.files[self.stretches[0].file]
    }

    /// With the accesses that each has.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Stretch, &[Span])> {
        let mut start = 0;
        self.stretches.iter().map(move |it| {
            let part = &self.list[start..it.end];
            start = it.end;
            (*it, part)
        })
    }

    /// How many files are open at once, at most.
    pub(crate) fn most_open(&self) -> u64 {
        let mut is_open = vec![false; self.files.len()];
        let (mut open, mut most) = (0, 0);
        for stretch in &self.stretches {
            open += u64::from(!std::mem::replace(&mut is_open[stretch.file], true));
            most = most.max(open);
            open -= u64::from(stretch.is_last);
        }
        most
    }

    /// For a rehearsal: one access of the file that is opened first, again and again.
    pub(crate) fn shortened(&self, ops: usize) -> Several {
        let (first, ops) = (self.list[0], self.list.len().min(ops));
        let SeveralFile { path, identity, .. } = self.first();
        Several {
            files: vec![SeveralFile { path: path.clone(), identity: *identity, range: first }],
            list: vec![first; ops].into(),
            stretches: vec![Stretch { file: 0, end: ops, is_last: true }],
        }
    }

    /// Of all files together.
    pub(crate) fn reached(&self, consumed_percent: u32, page_bytes: u64, looks_every: u64) -> Reached {
        let mut starts = vec![0; self.files.len() + 1];
        self.parts().for_each(|(stretch, part)| starts[stretch.file + 1] += part.len());
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let (mut next, mut sorted) = (starts.clone(), vec![Span { offset: 0, bytes: 0 }; self.list.len()]);
        for (stretch, part) in self.parts() {
            let at = next[stretch.file];
            sorted[at..at + part.len()].copy_from_slice(part);
            next[stretch.file] += part.len();
        }
        let mut all = Reached { bytes: 0, block_bytes: 0, pages: 0 };
        for of in starts.windows(2) {
            let own = &mut sorted[of[0]..of[1]];
            own.sort_unstable();
            let mut union = Union::new(consumed_percent, page_bytes, looks_every);
            own.iter().for_each(|span| union.add(*span));
            let Reached { bytes, block_bytes, pages } = union.reached();
            all.bytes += bytes;
            all.block_bytes += block_bytes;
            all.pages += pages;
        }
        all
    }
}

/// The first `ops` accesses that a job replays.
///
/// # Errors
/// There is no such trace, it is another one by now, or its accesses do not fit the job.
pub(crate) fn accesses(job: &Job) -> Result<Arc<[Span]>, String> {
    let of = trace(job)?;
    let mut list = Vec::new();
    read(of, |access| {
        if access.file == of.file && (list.len() as u64) < job.ops {
            list.push(span(&access));
        }
        Ok(())
    })?;
    enough(list.len(), job)?;
    match list.iter().find(|it| !job.range.covers(it) || it.bytes > job.block_bytes) {
        Some(Span { offset, bytes }) => Err(format!(
            "the trace has an access of {bytes} bytes at {offset}, outside of what the job allows: it was recorded of a \
             larger file"
        )),
        None => Ok(list.into()),
    }
}

/// The same of several files.
///
/// # Errors
/// As above, or of a file that the job does not name.
pub(crate) fn several(job: &Job) -> Result<Several, String> {
    let of = trace(job)?;
    let mut places = Vec::new();
    for (at, file) in of.files.iter().enumerate() {
        let place = file.place as usize;
        if place >= FILES_MAX {
            return Err(format!("the job names file {place} of the trace, which has at most {FILES_MAX}"));
        }
        places.resize(places.len().max(place + 1), None);
        if places[place].replace(at).is_some() {
            return Err(format!("the job names file {place} of the trace twice"));
        }
    }
    let (mut list, mut stretches) = (Vec::new(), Vec::<Stretch>::new());
    read(of, |access| {
        if list.len() as u64 == job.ops {
            return Ok(());
        }
        let file = places.get(access.file as usize).copied().flatten().ok_or_else(|| {
            format!("the trace has accesses of file {} of its table, which the job does not name", access.file)
        })?;
        let Access { offset, bytes, .. } = access;
        // No sum of what an access says overflows.
        if offset + bytes > of.files[file].bytes || bytes > job.block_bytes {
            return Err(format!(
                "the trace has an access of {bytes} bytes at {offset} of {}, which has {} bytes",
                of.files[file].path, of.files[file].bytes
            ));
        }
        list.push(span(&access));
        match stretches.last_mut().filter(|it| it.file == file) {
            Some(last) => last.end = list.len(),
            None => stretches.push(Stretch { file, end: list.len(), is_last: false }),
        }
        Ok(())
    })?;
    enough(list.len(), job)?;
    let mut is_closed = vec![false; of.files.len()];
    for stretch in stretches.iter_mut().rev() {
        stretch.is_last = !std::mem::replace(&mut is_closed[stretch.file], true);
    }
    let file = |it: &ReplayedFile| SeveralFile {
        path: PathBuf::from(&it.path),
        identity: it.identity,
        range: Span { offset: 0, bytes: it.bytes },
    };
    Ok(Several { files: of.files.iter().map(file).collect(), list: list.into(), stretches })
}

fn span(access: &Access) -> Span {
    Span { offset: access.offset, bytes: access.bytes }
}

fn trace(job: &Job) -> Result<&TraceOf, String> {
    let of = job.trace.as_ref().ok_or("the job is a replay without a trace")?;
    match job.threads {
        1 => Ok(of),
        threads => Err(format!("a replay has one thread, and the job asks for {threads}")),
    }
}

fn enough(accesses: usize, job: &Job) -> Result<(), String> {
    match accesses as u64 {
        few if few < job.ops => {
            Err(format!("the trace has {few} accesses of what is read, and the job asks for {}", job.ops))
        }
        _ => Ok(()),
    }
}

fn read(of: &TraceOf, mut each: impl FnMut(Access) -> Result<(), String>) -> Result<(), String> {
    let unreadable = |error: io::Error| format!("the trace: {error}");
    if !std::fs::metadata(&of.path).map_err(unreadable)?.is_file() {
        return Err("the trace is no regular file".into());
    }
    let file = File::open(&of.path).map_err(unreadable)?;
    let refused = |why: Refused| format!("the trace: {why}");
    let mut reader = Reader::new(BufReader::new(file)).map_err(refused)?;
    while let Some(access) = reader.next_access().map_err(refused)? {
        each(access)?;
    }
    match reader.digest().map_err(refused)? == of.digest {
        true => Ok(()),
        false => Err("the trace is not the one that the job names: it changed meanwhile".into()),
    }
}
