//! `preadv2(2)` with `RWF_DONTCACHE` (Linux 6.14): buffered, but pages that the read itself brought into the page
//! cache are dropped again. Pages that were cached before stay. File systems opt in; elsewhere the
//! kernel returns `EOPNOTSUPP` and the method is unavailable: it never reads without the flag.

use std::{fs::File, io::IoSliceMut};

use rustix::{
    io::{Errno, ReadWriteFlags},
    param::page_size,
};

use super::Method;
use crate::{
    access::{
        open_plain,
        positional::{Call, Positional},
    },
    session::{self, Session},
    task::{Refusal, Task},
};

/// `RWF_DONTCACHE` of include/uapi/linux/fs.h; rustix 1.1 has no name for it.
const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

pub(super) struct DontCache;

impl Method for DontCache {
    fn name(&self) -> &'static str {
        "dontcache"
    }

    fn support(&self, task: &Task) -> Result<(), String> {
        let file = open_plain(task.place()).map_err(|fault| fault.to_string())?;
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
        session::prepare(Positional::<DontCache>::WAY, task)
    }
}

impl Call for DontCache {
    #[inline(always)]
    fn read(file: &File, room: &mut [u8], offset: u64) -> rustix::io::Result<usize> {
        rustix::io::preadv2(file, &mut [IoSliceMut::new(room)], offset, DONTCACHE)
    }
}
