//! `preadv2(2)` with `RWF_DONTCACHE` (Linux 6.14): buffered, but pages that the read itself brought into the page
//! cache are dropped again. Pages that were cached before stay. File systems opt in; where they did not, the kernel
//! says `EOPNOTSUPP`, and so does faultline: it never reads without the flag.

use std::{
    fs::File,
    io::{self, IoSliceMut},
};

use rustix::{
    io::{Errno, ReadWriteFlags},
    param::page_size,
};
use schema::Span;

use crate::{
    buffer::Buffer,
    method::{Access, Method, Way, fill, open_plain, out_of_range},
    session::{self, Session},
    task::{Fault, Refusal, Task},
};

/// `RWF_DONTCACHE` of include/uapi/linux/fs.h; rustix 1.1 has no name for it.
const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

pub(super) struct DontCache;

impl Method for DontCache {
    fn name(&self) -> &'static str {
        "dontcache"
    }

    fn support(&self, task: &Task) -> Result<(), String> {
        let file = open_plain(task).map_err(|fault| fault.to_string())?;
        let mut room = vec![0; page_size().min(task.block())];
        match rustix::io::preadv2(&file, &mut [IoSliceMut::new(&mut room)], task.pattern.range.offset, DONTCACHE) {
            Ok(_) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {
                Err("RWF_DONTCACHE needs Linux 6.14 and a file system that supports it; this one does not".into())
            }
            Err(errno) => Err(format!("preadv2(2) with RWF_DONTCACHE: {errno}")),
        }
    }

    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal> {
        session::prepare(DontCache, task)
    }
}

impl Way for DontCache {
    type Shared = File;
    type Own = ();
    type Access<'a> = Reader<'a>;

    fn buffer_bytes(&self, task: &Task) -> usize {
        task.block()
    }

    fn open(&self, task: &Task) -> Result<File, Fault> {
        open_plain(task)
    }

    fn own(&self, _: &File, _: &mut Buffer) -> Result<(), Fault> {
        Ok(())
    }

    fn access<'a>(&'a self, file: &'a File, _: &'a mut (), buffer: &'a mut Buffer) -> Reader<'a> {
        Reader { file, buffer }
    }
}

pub(super) struct Reader<'a> {
    file: &'a File,
    buffer: &'a mut [u8],
}

impl Access for Reader<'_> {
    const PRIVATE: bool = true;

    #[inline(always)]
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        let room = self.buffer.get_mut(..span.bytes as usize).ok_or_else(out_of_range)?;
        fill(room, span.bytes as usize, |rest, done| {
            rustix::io::preadv2(self.file, &mut [IoSliceMut::new(rest)], span.offset + done, DONTCACHE)
        })?;
        Ok(room)
    }
}
