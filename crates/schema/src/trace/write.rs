//! A trace is written.

use std::io::Write;

use super::{
    ACCESSES_MAX, Access, BYTES_MAX, FILES_MAX, Header, Refused, VERSION,
    columns::{NUMBER_BYTES_MAX, NUMBERS, RUNS_MAX, Run, put, take},
    read::HEADER_BYTES_MAX,
};

/// Takes one access after the other; what it holds of them is one block.
pub struct Writer<W> {
    output: W,
    body: Body,
    files: usize,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// # Errors
    /// The header is none that is read again, or nothing can be written.
    pub fn new(output: W, header: &Header) -> Result<Writer<W>, Refused> {
        let mut writer = Writer { output, body: Body::default(), files: header.files.len(), written: 0 };
        writer.write(&line(header)?)?;
        Ok(writer)
    }

    /// # Errors
    /// No trace can have this access, or one more.
    pub fn push(&mut self, access: Access) -> Result<(), Refused> {
        if access.file as usize >= self.files {
            return Err(Refused::Impossible { access });
        }
        self.body.push(access)?;
        self.pass_on()
    }

    /// # Errors
    /// What is left cannot be written.
    pub fn finish(mut self) -> Result<W, Refused> {
        self.body.end();
        self.pass_on()?;
        self.output.flush().map_err(unwritable)?;
        Ok(self.output)
    }

    /// What the body has of whole blocks.
    fn pass_on(&mut self) -> Result<(), Refused> {
        let blocks = std::mem::take(&mut self.body.blocks);
        if blocks.is_empty() { Ok(()) } else { self.write(&blocks) }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        self.written += bytes.len() as u64;
        if self.written > BYTES_MAX {
            return Err(Refused::TooLarge);
        }
        self.output.write_all(bytes).map_err(unwritable)
    }
}

/// The first line of a trace that this version writes.
fn line(header: &Header) -> Result<Vec<u8>, Refused> {
    header.check()?;
    if header.trace_version != VERSION {
        return Err(Refused::Version { found: header.trace_version });
    }
    let mut line = serde_json::to_vec(header).map_err(|error| Refused::Header { why: error.to_string() })?;
    line.push(b'\n');
    if line.len() as u64 > HEADER_BYTES_MAX { Err(Refused::TooLarge) } else { Ok(line) }
}

fn unwritable(error: std::io::Error) -> Refused {
    Refused::Unreadable { why: error.to_string() }
}

/// Everything after the first line, in memory: for a recorder, which knows the first line last. Its table of files grows with
/// the accesses. It is bounded as a trace is.
#[derive(Default)]
pub struct Body {
    blocks: Vec<u8>,
    accesses: u64,
    /// Of each file, where its last access ended.
    ends: Vec<u64>,
    columns: [Vec<u8>; NUMBERS],
    runs: usize,
    run: Option<Run>,
}

impl Body {
    /// # Errors
    /// No trace can have this access, or one more; those before it stay.
    pub fn push(&mut self, access: Access) -> Result<(), Refused> {
        if !access.is_possible() || access.file as usize >= FILES_MAX {
            return Err(Refused::Impossible { access });
        }
        if self.accesses == ACCESSES_MAX {
            return Err(Refused::TooMany);
        }
        if !self.run.as_mut().is_some_and(|run| run.takes(access)) {
            if self.bytes_at_most() > BYTES_MAX - HEADER_BYTES_MAX {
                return Err(Refused::TooLarge);
            }
            if let Some(ended) = self.run.replace(Run::of(access)) {
                self.put_run(&ended);
            }
        }
        self.accesses += 1;
        Ok(())
    }

    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Writes the whole trace.
    ///
    /// # Errors
    /// The header is none that is read again, or it cannot be written.
    pub fn finish(mut self, header: &Header, mut output: impl Write) -> Result<(), Refused> {
        let line = line(header)?;
        if self.ends.len() > header.files.len()
            || self.run.is_some_and(|it| it.first.file as usize >= header.files.len())
        {
            return Err(Refused::Header { why: "accesses are of files that it does not name".into() });
        }
        self.end();
        output.write_all(&line).and_then(|()| output.write_all(&self.blocks)).map_err(unwritable)?;
        output.flush().map_err(unwritable)
    }

    /// With the current block, one more run and the end.
    fn bytes_at_most(&self) -> u64 {
        let columns: usize = self.columns.iter().map(Vec::len).sum();
        (self.blocks.len() + columns + (2 * NUMBERS + 4) * NUMBER_BYTES_MAX + NUMBERS * NUMBER_BYTES_MAX) as u64
    }

    fn end(&mut self) {
        if let Some(run) = self.run.take() {
            self.put_run(&run);
        }
        self.put_block();
        // A block without a run is the last.
        self.blocks.push(0);
    }

    fn put_run(&mut self, run: &Run) {
        let file = run.first.file as usize;
        self.ends.resize(self.ends.len().max(file + 1), 0);
        let end = &mut self.ends[file];
        for (column, number) in self.columns.iter_mut().zip(run.numbers(*end)) {
            put(column, number);
        }
        // It took every one of its accesses.
        let last = run.at(run.count - 1).unwrap_or(run.first);
        *end = last.offset + last.bytes;
        self.runs += 1;
        if self.runs == RUNS_MAX {
            self.put_block();
        }
    }

    fn put_block(&mut self) {
        if self.runs == 0 {
            return;
        }
        put(&mut self.blocks, self.runs as u64);
        for column in &mut self.columns {
            keep_one_of_equal(column, self.runs);
            put(&mut self.blocks, column.len() as u64);
            self.blocks.append(column);
        }
        self.runs = 0;
    }
}

/// Most columns of most blocks say the same of each run, as the length of all reads of a program.
fn keep_one_of_equal(column: &mut Vec<u8>, numbers: usize) {
    let bytes = column.len() / numbers;
    let are_equal = column.chunks(bytes).all(|it| *it == column[..bytes]);
    // Numbers of other lengths may look alike: 1, 2 and 1, 2 are not 129 and 130.
    let mut rest = &column[..bytes];
    if are_equal && take(&mut rest).is_some() && rest.is_empty() {
        column.truncate(bytes);
    }
}
