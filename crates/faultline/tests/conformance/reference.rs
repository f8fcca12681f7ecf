//! What a job comes to, the long way, as docs/FORMATS.md says it ("Offsets", "Checksums", "What is written").

use schema::{
    Consume, Workload,
    protocol::{Job, Tally},
};

pub struct Prng(pub u64);

impl Prng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E3779B97F4A7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
        z ^ (z >> 31)
    }

    /// A number below `slots`.
    pub fn slot(&mut self, slots: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(slots)) >> 64) as u64
    }
}

/// Offsets and lengths of all blocks of a pass.
pub fn spans(job: &Job) -> Vec<(u64, u64)> {
    let block = job.block_bytes.min(job.range.bytes);
    let mut spans = Vec::new();
    if job.workload.is_ascending() {
        let mut offset = job.range.offset;
        for _ in 0..job.ops {
            let bytes = block.min(job.range.end() - offset);
            spans.push((offset, bytes));
            offset = if offset + bytes == job.range.end() { job.range.offset } else { offset + bytes };
        }
        return spans;
    }
    let (slots, stride) = match job.aligned {
        true => (job.range.bytes / block, block),
        false => (job.range.bytes - block + 1, 1),
    };
    for thread in 0..u64::from(job.threads) {
        let mut prng = Prng(Prng(job.seed.wrapping_add(thread)).next());
        let extra = u64::from(thread < job.ops % u64::from(job.threads));
        for _ in 0..job.ops / u64::from(job.threads) + extra {
            spans.push((job.range.offset + prng.slot(slots) * stride, block));
        }
    }
    spans
}

/// The tally of a pass that reads; its queue depth is 1.
pub fn tally(job: &Job, file: &[u8]) -> Tally {
    tally_of(&spans(job), job, file)
}

/// The same of these accesses, whatever the job says of its own.
pub fn tally_of(spans: &[(u64, u64)], job: &Job, file: &[u8]) -> Tally {
    let page = sys::page_bytes() as usize;
    let mut reached = vec![false; file.len()];
    let mut blocks = vec![false; file.len()];
    let mut pages = vec![false; file.len().div_ceil(page)];
    let (mut bytes, mut checksum) = (0, 0u64);
    for &(offset, length) in spans {
        let from = offset as usize;
        let span = from..from + (length * u64::from(job.consumed_percent) / 100) as usize;
        reached[span.clone()].fill(true);
        blocks[from..from + length as usize].fill(true);
        let looks_every = if job.consume == Consume::Touch { 4096 } else { 1 };
        if let Some(last) = span.clone().step_by(looks_every).next_back() {
            pages[span.start / page..=last / page].fill(true);
        }
        let block = &file[span];
        bytes += block.len() as u64;
        checksum = checksum.wrapping_add(sum(job.consume, block));
    }
    let count = |marks: &[bool]| marks.iter().filter(|&&it| it).count() as u64;
    Tally {
        ops: job.ops,
        bytes,
        distinct_bytes: count(&reached),
        distinct_block_bytes: (job.consumed_percent < 100).then(|| count(&blocks)),
        distinct_pages: Some(count(&pages)),
        checksum: format!("{checksum:016x}"),
        threads: job.threads,
        queue_depth: 1,
    }
}

fn sum(consume: Consume, block: &[u8]) -> u64 {
    let all = |of: &dyn Fn(usize, u64) -> u64| {
        block.iter().enumerate().fold(0u64, |sum, (at, &byte)| sum.wrapping_add(of(at, u64::from(byte))))
    };
    match consume {
        Consume::Touch => all(&|at, byte| byte * u64::from(at % 4096 == 0)),
        Consume::Sum => all(&|at, byte| byte << (8 * (at % 8))),
        Consume::Copy => all(&|at, byte| byte * (u64::from(at == 0) + u64::from(at == block.len() - 1))),
        Consume::Lines | Consume::DecodeLines => all(&|_, byte| u64::from(byte == u64::from(b'\n'))),
        Consume::SumBytes => all(&|_, byte| byte),
    }
}

/// The bytes of a file after a pass that writes to it.
pub fn written(job: &Job, mut file: Vec<u8>) -> Vec<u8> {
    let mut words = Prng(job.seed);
    let block = job.block_bytes.min(job.range.bytes);
    let source: Vec<u8> = (0..block.div_ceil(8)).flat_map(|_| words.next().to_le_bytes()).collect();
    if job.workload == Workload::Append {
        file = vec![0; job.range.end() as usize];
    }
    for (offset, bytes) in spans(job) {
        let block = &mut file[offset as usize..(offset + bytes) as usize];
        if job.workload == Workload::Update {
            block.iter_mut().for_each(|byte| *byte = ((u16::from(*byte) + 5) % 250) as u8);
            continue;
        }
        block.copy_from_slice(&source[..bytes as usize]);
        let stamp = offset.to_le_bytes();
        let stamped = block.len().min(stamp.len());
        block[..stamped].copy_from_slice(&stamp[..stamped]);
    }
    file
}
