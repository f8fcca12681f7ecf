//! `mmap(2)`, bytes consumed in place. Advice and populating are part of "open"; each is exactly one system call, as
//! programs do it, and none is repeated or split to make it more effective than it is.

use std::{fs::File, io, mem::MaybeUninit};

use rustix::{
    io::{Errno, pread, retry_on_intr},
    mm::{Advice, MapFlags},
};
use schema::Span;

use super::Method;
use crate::{
    access::{Access, Way, open_plain},
    buffer::Buffer,
    mapping::Mapping,
    session::{self, Session},
    source::{HEADER_BYTES_MAX, InMemory, Spans},
    task::{Fault, Place, Refusal, Task, at},
};

pub(super) struct Mmap;

impl Method for Mmap {
    fn name(&self) -> &'static str {
        "mmap"
    }

    /// Does to one page what the pass will do to all.
    fn support(&self, task: &Task) -> Result<(), String> {
        let way = MmapWay::new(task)?;
        let first = Span { bytes: 1, ..task.pattern.range };
        match way.map(Place { range: first, header: &[], ..task.place() }) {
            Ok(_) => Ok(()),
            Err(fault) if fault.errno() == Some(Errno::INVAL.raw_os_error()) => Err(match way.advice {
                Some(Advice::LinuxHugepage) if fault.what.contains("HUGEPAGE") => {
                    "madvise(MADV_HUGEPAGE): this kernel has no transparent huge pages".into()
                }
                _ if fault.what.contains("POPULATE_READ") => "MADV_POPULATE_READ needs Linux 5.14".into(),
                _ => fault.to_string(),
            }),
            Err(fault) => Err(fault.to_string()),
        }
    }

    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal> {
        let way = MmapWay::new(&task).map_err(Fault::new)?;
        session::prepare(way, task)
    }
}

struct MmapWay {
    flags: MapFlags,
    /// One call over the whole mapping. For `willneed` the kernel stops after max(read-ahead, largest request of the
    /// device) bytes (mm/readahead.c, force_page_cache_ra): what one call achieves is what is measured.
    advice: Option<Advice>,
    /// MAP_POPULATE has no way to report a failure; MADV_POPULATE_READ has.
    populate_read: bool,
}

impl MmapWay {
    fn new(task: &Task) -> Result<MmapWay, String> {
        let mut flags = match task.arm.word("sharing") {
            "shared" => MapFlags::SHARED,
            "private" => MapFlags::PRIVATE,
            other => return Err(format!("mmap does not know sharing = {other:?}")),
        };
        let advice = match task.arm.word("advice") {
            // No call, not MADV_NORMAL: the mapping is left as the kernel made it.
            "normal" => None,
            "sequential" => Some(Advice::Sequential),
            "random" => Some(Advice::Random),
            "willneed" => Some(Advice::WillNeed),
            "hugepage" => Some(Advice::LinuxHugepage),
            other => return Err(format!("mmap does not know advice = {other:?}")),
        };
        let populate_read = match task.arm.word("populate") {
            "no" => false,
            "map-populate" => {
                flags |= MapFlags::POPULATE;
                false
            }
            "populate-read" => true,
            "populate-write" => {
                return Err("MADV_POPULATE_WRITE needs a writable mapping, and this one is for reading".into());
            }
            other => return Err(format!("mmap does not know populate = {other:?}")),
        };
        Ok(MmapWay { flags, advice, populate_read })
    }

    fn map(&self, place: Place) -> Result<OpenMapping, Fault> {
        let file = open_plain(place)?;
        read_header(&file, place.header).map_err(at("pread(2) of what is read before the file is mapped"))?;
        let mapping = Mapping::new(&file, place.range, self.flags).map_err(at("mmap(2)"))?;
        if let Some(advice) = self.advice {
            let name = match advice {
                Advice::Sequential => "MADV_SEQUENTIAL",
                Advice::Random => "MADV_RANDOM",
                Advice::WillNeed => "MADV_WILLNEED",
                _ => "MADV_HUGEPAGE",
            };
            mapping.advise(advice).map_err(at(format!("madvise({name})")))?;
        }
        if self.populate_read {
            mapping.advise(Advice::LinuxPopulateRead).map_err(at("madvise(MADV_POPULATE_READ)"))?;
        }
        Ok(OpenMapping { mapping, _file: file })
    }
}

fn read_header(file: &File, header: &[Span]) -> io::Result<()> {
    if header.is_empty() {
        return Ok(());
    }
    // Not written before, which is no part of what a program does here.
    let mut room = [const { MaybeUninit::uninit() }; HEADER_BYTES_MAX];
    for span in header {
        let bytes = span.bytes.min(HEADER_BYTES_MAX as u64) as usize;
        // Less may be there than is asked for, and the pass says so when it touches it.
        retry_on_intr(|| pread(file, &mut room[..bytes], span.offset).map(drop))?;
    }
    Ok(())
}

/// The mapping goes before the file, as in a program that closes what it opened in the opposite order.
struct OpenMapping {
    mapping: Mapping,
    _file: File,
}

impl Way for MmapWay {
    type Shared = OpenMapping;
    type Own = ();
    type Access<'a> = InPlace<'a>;

    fn buffer_bytes(&self, _: &Task) -> usize {
        0
    }

    fn open(&self, place: Place) -> Result<OpenMapping, Fault> {
        self.map(place)
    }

    fn own(&self, _: &OpenMapping, _: &mut Buffer) -> Result<(), Fault> {
        Ok(())
    }

    fn access<'a>(&'a self, mapped: &'a OpenMapping, _: &'a mut (), _: &'a mut Buffer) -> InPlace<'a> {
        InPlace(InMemory { bytes: mapped.mapping.bytes(), base: mapped.mapping.base() })
    }

    fn lock(&self, mapped: &OpenMapping) -> io::Result<bool> {
        mapped.mapping.lock().map(|()| true)
    }
}

struct InPlace<'a>(InMemory<'a>);

impl Access for InPlace<'_> {
    const PRIVATE: bool = false;

    #[inline(always)]
    fn view(&mut self, span: Span) -> io::Result<&[u8]> {
        self.0.part(span)
    }

    #[inline(always)]
    fn view_each(&mut self, spans: impl Spans, each: impl FnMut(&[u8])) -> io::Result<()> {
        spans.each_in(self.0, each)
    }
}
