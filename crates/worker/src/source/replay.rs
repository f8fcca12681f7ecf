//! The accesses of a trace, in their order. They are read and checked before the pass, and lie in memory within it: 16 bytes
//! each, one after the other. A trace is not trusted: whatever it says, no access leaves the range of its job.

use std::{
    fs::File,
    io::{self, BufReader},
    sync::Arc,
};

use schema::{
    Span,
    protocol::{Job, TraceOf},
    trace::{Reader, Refused},
};

use super::{Pattern, Source};

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

/// The first `ops` accesses that a job replays.
///
/// # Errors
/// There is no such trace, it is another one by now, or its accesses do not fit the job.
pub(crate) fn accesses(job: &Job) -> Result<Arc<[Span]>, String> {
    let Some(of) = &job.trace else { return Err("the job is a replay without a trace".into()) };
    if job.threads != 1 {
        return Err(format!("a replay has one thread, and the job asks for {}", job.threads));
    }
    let mut list = Vec::new();
    read(of, |span| {
        if (list.len() as u64) < job.ops {
            list.push(span);
        }
    })?;
    if (list.len() as u64) < job.ops {
        let (accesses, ops) = (list.len(), job.ops);
        return Err(format!("the trace has {accesses} accesses of the file, and the job asks for {ops}"));
    }
    match list.iter().find(|it| !job.range.covers(it) || it.bytes > job.block_bytes) {
        Some(Span { offset, bytes }) => Err(format!(
            "the trace has an access of {bytes} bytes at {offset}, outside of what the job allows: it was recorded of a \
             larger file"
        )),
        None => Ok(list.into()),
    }
}

fn read(of: &TraceOf, mut each: impl FnMut(Span)) -> Result<(), String> {
    let unreadable = |error: io::Error| format!("the trace: {error}");
    if !std::fs::metadata(&of.path).map_err(unreadable)?.is_file() {
        return Err("the trace is no regular file".into());
    }
    let file = File::open(&of.path).map_err(unreadable)?;
    let refused = |why: Refused| format!("the trace: {why}");
    let mut reader = Reader::new(BufReader::new(file)).map_err(refused)?;
    while let Some(access) = reader.next_access().map_err(refused)? {
        if access.file == of.file {
            each(Span { offset: access.offset, bytes: access.bytes });
        }
    }
    match reader.digest().map_err(refused)? == of.digest {
        true => Ok(()),
        false => Err("the trace is not the one that the job names: it changed meanwhile".into()),
    }
}
