//! A trace is read, whatever its bytes are: every number is checked before it is used, and memory is that of one block.

use std::io::{self, BufRead, Read};

use sha2::{Digest, Sha256};

use super::{
    ACCESSES_MAX, Access, BYTES_MAX, Header, NotSeen, Refused, VERSION_OF_CONSTANTS,
    columns::{self, NUMBER_BYTES_MAX, NUMBERS, RUNS_MAX, Run, take, unfolded},
};

pub(super) const HEADER_BYTES_MAX: u64 = 8 << 20;

/// Gives one access after the other.
pub struct Reader<R> {
    input: Hashed<io::Take<R>>,
    header: Header,
    accesses: u64,
    /// Of each file, where its last access ended.
    ends: Vec<u64>,
    /// The columns of the version.
    block: Vec<Vec<u8>>,
    /// How much of each column is used up.
    used: Vec<usize>,
    /// Of columns that all runs of the block have one number in.
    constant: Vec<Option<u64>>,
    runs_left: u64,
    run: Option<(Run, u64)>,
    is_over: bool,
}

/// Where recordings had it before imported traces had some.
fn not_seen_of_run(header: &Header, line: &[u8]) -> Option<NotSeen> {
    if header.run.is_none() || !header.not_seen.is_empty() {
        return None;
    }
    let line: serde_json::Value = serde_json::from_slice(line).ok()?;
    serde_json::from_value(line.get("run")?.get("not_seen")?.clone()).ok()
}

impl<R: BufRead> Reader<R> {
    /// # Errors
    /// It does not begin as a trace of this version.
    pub fn new(input: R) -> Result<Reader<R>, Refused> {
        // One more than there may be, to see that there is more.
        let mut input = Hashed { input: input.take(BYTES_MAX + 1), hash: Sha256::new(), bytes: 0 };
        let line = input.line()?;
        let mut header: Header =
            serde_json::from_slice(&line).map_err(|error| match line.starts_with(b"{\"trace_version\"") {
                true => Refused::Header { why: error.to_string() },
                false => Refused::NotATrace,
            })?;
        if let Some(not_seen) = not_seen_of_run(&header, &line) {
            header.not_seen = not_seen;
        }
        header.check()?;
        let columns = columns::of(header.trace_version).len();
        Ok(Reader {
            input,
            accesses: 0,
            ends: vec![0; header.files.len()],
            header,
            block: vec![Vec::new(); columns],
            used: vec![0; columns],
            constant: vec![None; columns],
            runs_left: 0,
            run: None,
            is_over: false,
        })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next access; nothing at the end, which is verified.
    ///
    /// # Errors
    /// What follows is no trace.
    pub fn next_access(&mut self) -> Result<Option<Access>, Refused> {
        loop {
            if let Some((run, given)) = self.run.as_mut().filter(|(run, given)| *given < run.count) {
                let access = run.at(*given).ok_or(Refused::Damaged { accesses: self.accesses })?;
                *given += 1;
                self.accesses += 1;
                self.ends[access.file as usize] = access.offset + access.bytes;
                return Ok(Some(access));
            }
            if self.is_over {
                return Ok(None);
            }
            match self.runs_left {
                0 => self.begin_block()?,
                _ => self.begin_run()?,
            }
        }
    }

    /// Of all its bytes (SHA-256), in hexadecimal digits. Known at the end.
    ///
    /// # Errors
    /// What is left of it is no trace.
    pub fn digest(mut self) -> Result<String, Refused> {
        while self.next_access()?.is_some() {}
        Ok(self.input.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn begin_block(&mut self) -> Result<(), Refused> {
        self.runs_left = self.number()?;
        if self.runs_left == 0 {
            self.is_over = true;
            return match self.input.read(1)?.is_empty() {
                true => Ok(()),
                false => Err(self.damaged()),
            };
        }
        if self.runs_left > RUNS_MAX as u64 {
            return Err(self.damaged());
        }
        for index in 0..self.block.len() {
            let bytes = self.number()?;
            if bytes > self.runs_left * NUMBER_BYTES_MAX as u64 {
                return Err(self.damaged());
            }
            let column = self.input.read(bytes)?;
            if column.len() as u64 != bytes {
                return Err(self.cut_off());
            }
            let one = || {
                let mut rest = &column[..];
                take(&mut rest).filter(|_| rest.is_empty())
            };
            let may_be_constant = self.header.trace_version >= VERSION_OF_CONSTANTS && self.runs_left > 1;
            self.constant[index] = may_be_constant.then(one).flatten();
            self.used[index] = if self.constant[index].is_some() { column.len() } else { 0 };
            self.block[index] = column;
        }
        Ok(())
    }

    fn begin_run(&mut self) -> Result<(), Refused> {
        // What an older version has no column for is 0.
        let mut numbers = [0; NUMBERS];
        for (index, (number, column)) in numbers.iter_mut().zip(&self.block).enumerate() {
            if let Some(constant) = self.constant[index] {
                *number = constant;
                continue;
            }
            let mut rest = &column[self.used[index]..];
            *number = take(&mut rest).ok_or(Refused::Damaged { accesses: self.accesses })?;
            self.used[index] = column.len() - rest.len();
        }
        self.runs_left -= 1;
        let is_used_up = self.block.iter().zip(&self.used).all(|(column, used)| column.len() == *used);
        let [file, more, distance, bytes, gap, thread, via] = numbers;
        let end = usize::try_from(file).ok().and_then(|it| self.ends.get(it)).copied();
        let offset = end.and_then(|end| end.checked_add_signed(unfolded(distance)));
        let (Some(offset), true) = (offset, self.runs_left > 0 || is_used_up) else { return Err(self.damaged()) };
        let (Ok(thread), Some(via)) = (u32::try_from(thread), columns::via(via)) else { return Err(self.damaged()) };
        if more >= ACCESSES_MAX - self.accesses {
            return Err(Refused::TooMany);
        }
        // The table has far fewer files than that.
        let first = Access { file: file as u32, offset, bytes, thread, via };
        let run = Run { first, count: more + 1, gap: unfolded(gap) };
        // What lies between the two ends of a run lies between their offsets.
        if run.at(0).is_none() || run.at(more).is_none() {
            return Err(Refused::Impossible { access: first });
        }
        self.run = Some((run, 0));
        Ok(())
    }

    fn number(&mut self) -> Result<u64, Refused> {
        let mut bytes = Vec::new();
        loop {
            let next = self.input.read(1)?;
            let Some(&byte) = next.first() else { return Err(self.cut_off()) };
            bytes.push(byte);
            if byte < 0x80 || bytes.len() == NUMBER_BYTES_MAX {
                return take(&mut &bytes[..]).ok_or_else(|| self.damaged());
            }
        }
    }

    fn damaged(&self) -> Refused {
        Refused::Damaged { accesses: self.accesses }
    }

    fn cut_off(&self) -> Refused {
        Refused::CutOff { accesses: self.accesses }
    }
}

/// What is read, with the digest of it.
struct Hashed<R> {
    input: R,
    hash: Sha256,
    bytes: u64,
}

impl<R: BufRead> Hashed<R> {
    /// Up to the end of the first line, without it.
    fn line(&mut self) -> Result<Vec<u8>, Refused> {
        let mut line = Vec::new();
        (&mut self.input).take(HEADER_BYTES_MAX).read_until(b'\n', &mut line).map_err(unreadable)?;
        self.note(&line)?;
        match line.pop() {
            Some(b'\n') => Ok(line),
            _ => Err(Refused::NotATrace),
        }
    }

    /// So many bytes, or those that are left.
    fn read(&mut self, bytes: u64) -> Result<Vec<u8>, Refused> {
        let mut read = Vec::new();
        (&mut self.input).take(bytes).read_to_end(&mut read).map_err(unreadable)?;
        self.note(&read)?;
        Ok(read)
    }

    fn note(&mut self, read: &[u8]) -> Result<(), Refused> {
        self.bytes += read.len() as u64;
        self.hash.update(read);
        if self.bytes > BYTES_MAX { Err(Refused::TooLarge) } else { Ok(()) }
    }
}

fn unreadable(error: io::Error) -> Refused {
    Refused::Unreadable { why: error.to_string() }
}
