//! A trace is written.

use std::io::Write;

use super::{
    ACCESSES_MAX, Access, BYTES_MAX, Header, Refused,
    columns::{NAMES, RUNS_MAX, Run, folded, put},
};

/// Takes one access after the other; what it holds of them is one block.
pub struct Writer<W> {
    output: W,
    written: u64,
    accesses: u64,
    /// Of each file, where its last access ended.
    ends: Vec<u64>,
    columns: [Vec<u8>; NAMES.len()],
    runs: usize,
    run: Option<Run>,
}

impl<W: Write> Writer<W> {
    /// # Errors
    /// The header is none that is read again, or nothing can be written.
    pub fn new(output: W, header: &Header) -> Result<Writer<W>, Refused> {
        header.check()?;
        let mut line = serde_json::to_vec(header).map_err(|error| Refused::Header { why: error.to_string() })?;
        line.push(b'\n');
        let ends = vec![0; header.files.len()];
        let columns = Default::default();
        let mut writer = Writer { output, written: 0, accesses: 0, ends, columns, runs: 0, run: None };
        writer.write(&line)?;
        Ok(writer)
    }

    /// # Errors
    /// No trace can have this access, or one more.
    pub fn push(&mut self, access: Access) -> Result<(), Refused> {
        if !access.is_possible() || access.file as usize >= self.ends.len() {
            return Err(Refused::Impossible { access });
        }
        if self.accesses == ACCESSES_MAX {
            return Err(Refused::TooMany);
        }
        self.accesses += 1;
        if self.run.as_mut().is_some_and(|run| run.takes(access)) {
            return Ok(());
        }
        match self.run.replace(Run::of(access)) {
            Some(ended) => self.put_run(&ended),
            None => Ok(()),
        }
    }

    /// # Errors
    /// What is left cannot be written.
    pub fn finish(mut self) -> Result<W, Refused> {
        if let Some(run) = self.run.take() {
            self.put_run(&run)?;
        }
        self.put_block()?;
        // A block without a run is the last.
        self.write(&[0])?;
        self.output.flush().map_err(unwritable)?;
        Ok(self.output)
    }

    fn put_run(&mut self, run: &Run) -> Result<(), Refused> {
        let first = run.first;
        let last = run.at(run.count - 1).ok_or(Refused::Impossible { access: first })?;
        let end = &mut self.ends[first.file as usize];
        // Both are below 2^63.
        let distance = first.offset as i64 - *end as i64;
        *end = last.offset + last.bytes;
        let numbers = [u64::from(first.file), run.count - 1, folded(distance), first.bytes, folded(run.gap)];
        for (column, number) in self.columns.iter_mut().zip(numbers) {
            put(column, number);
        }
        self.runs += 1;
        if self.runs == RUNS_MAX { self.put_block() } else { Ok(()) }
    }

    fn put_block(&mut self) -> Result<(), Refused> {
        if self.runs == 0 {
            return Ok(());
        }
        let mut block = Vec::new();
        put(&mut block, self.runs as u64);
        for column in &mut self.columns {
            put(&mut block, column.len() as u64);
            block.append(column);
        }
        self.runs = 0;
        self.write(&block)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        self.written += bytes.len() as u64;
        if self.written > BYTES_MAX {
            return Err(Refused::TooLarge);
        }
        self.output.write_all(bytes).map_err(unwritable)
    }
}

fn unwritable(error: std::io::Error) -> Refused {
    Refused::Unreadable { why: error.to_string() }
}
