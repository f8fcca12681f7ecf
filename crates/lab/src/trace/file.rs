//! A trace as a file that was named: opened once, read through that descriptor, known by its digest.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{BufReader, Write},
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use rustix::fs::{MemfdFlags, memfd_create};
use schema::{
    leftover::FileIdentity,
    protocol::TraceOf,
    trace::{Access, Header, Overlaps, Reader, Traced, TracedFile, Via, Writer},
};

use crate::target::named::{Known, Named};

/// Open, and read once to its end.
#[derive(Debug)]
pub struct TraceFile {
    file: File,
    pub header: Header,
    pub digest: String,
    /// Of each file of its table.
    files: Vec<Traced>,
    /// So many of its accesses are touches of pages.
    touches: Vec<u64>,
    /// Of all of them together.
    all: Traced,
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
        let mut files: Vec<Traced> = (0..header.files.len() as u32).map(Traced::none).collect();
        let mut touches = vec![0; files.len()];
        let mut overlaps: Vec<Overlaps> = files.iter().map(|_| Overlaps::default()).collect();
        let mut of_all = Overlaps::default();
        while let Some(access) = reader.next_access().with_context(|| shown.to_string())? {
            touches[access.file as usize] += u64::from(access.via == Via::Mapping);
            let of = &mut files[access.file as usize];
            of.accesses += 1;
            of.bytes += access.bytes;
            of.longest_bytes = of.longest_bytes.max(access.bytes);
            of.end_bytes = of.end_bytes.max(access.offset + access.bytes);
            overlaps[access.file as usize].add(access.thread, access.bytes);
            of_all.add(access.thread, access.bytes);
        }
        for (of, overlaps) in files.iter_mut().zip(overlaps) {
            of.threads = overlaps.threads().count;
        }
        let digest = reader.digest().with_context(|| shown.to_string())?;
        files.iter_mut().for_each(|it| it.digest.clone_from(&digest));
        for (of, file) in files.iter_mut().zip(&header.files) {
            of.around_ns = around_ns(&header, [file]);
        }
        let read = header.files.iter().zip(&files).filter(|(_, of)| of.accesses > 0).map(|it| it.0);
        let around_ns = around_ns(&header, read);
        let all = Traced { around_ns, ..together(&digest, &files, of_all.threads().count) };
        Ok(TraceFile { file, header, digest, files, touches, all })
    }

    /// One that is made here. It lies in memory and has no name.
    ///
    /// # Errors
    /// It would be larger than a trace may be, or there is no memory for it.
    pub fn made(header: &Header, accesses: &[Access]) -> Result<TraceFile> {
        let mut writer = Writer::new(Vec::new(), header)?;
        accesses.iter().try_for_each(|it| writer.push(*it))?;
        TraceFile::written(writer)
    }

    /// Another header before these accesses, as far as they are kept.
    fn copied(&self, header: &Header, keep: impl Fn(Access) -> Option<Access>) -> Result<TraceFile> {
        let mut writer = Writer::new(Vec::new(), header)?;
        self.each(|it| Ok(keep(it).map_or(Ok(()), |it| writer.push(it))?))?;
        TraceFile::written(writer)
    }

    fn written(writer: Writer<Vec<u8>>) -> Result<TraceFile> {
        let bytes = writer.finish()?;
        let memory = memfd_create(c"faultline-trace", MemfdFlags::CLOEXEC).context("no memory for the trace")?;
        let mut memory = File::from(memory);
        memory.write_all(&bytes).context("no memory for the trace")?;
        TraceFile::open(&sys::folder::path_of(&memory))
    }

    /// Its files, and how many of the accesses of each are touches of pages.
    pub fn touches(&self) -> impl Iterator<Item = (&TracedFile, u64)> {
        self.header.files.iter().zip(self.touches.iter().copied())
    }

    /// The coverage of some of its files, by their places in its table.
    pub fn coverage_of(&self, is_meant: impl Fn(usize) -> bool) -> f64 {
        self.header.coverage_of(self.files.iter().enumerate().map(|(place, of)| (of.accesses, is_meant(place))))
    }

    /// The accesses of all files that have some.
    ///
    /// # Errors
    /// It has none.
    pub fn of_all(&self) -> Result<&Traced> {
        match self.all.accesses {
            0 => bail!("the trace has no access"),
            _ => Ok(&self.all),
        }
    }

    /// The accesses of one file: the one that is named, the only one, or the one that is measured.
    ///
    /// # Errors
    /// It is not known which one is meant, or it was not read.
    pub fn of_file(&self, named: Option<&str>, measured: &Path) -> Result<&Traced> {
        let measured = std::fs::canonicalize(measured).ok();
        let is_measured = |path: &str| measured.as_deref().is_some_and(|it| it == Path::new(path));
        let known = measured.as_deref().and_then(identity);
        // Of several with one path, the one that is there.
        let place = |is: &dyn Fn(&TracedFile) -> bool| {
            let files = &self.header.files;
            let there = files.iter().position(|it| is(it) && it.identity.is_some() && it.identity == known);
            there.or_else(|| files.iter().position(is))
        };
        // The only file with an access or a mapping; others were read at unknown offsets only.
        let the_only = || {
            let is_known = |it: &usize| self.files[*it].accesses > 0 || self.header.files[*it].mappings > 0;
            let mut known = (0..self.files.len()).filter(is_known);
            known.next().filter(|_| known.next().is_none())
        };
        let place = match (named, self.header.files.as_slice()) {
            (Some(name), _) => place(&|it| it.path == name),
            (None, [_]) => Some(0),
            (None, _) => place(&|it| is_measured(&it.path)).or_else(the_only),
        };
        let Some(place) = place else {
            // Those that most is read of: a program maps many others when it starts.
            let mut read: Vec<(u64, &str)> =
                self.files.iter().zip(&self.header.files).map(|(of, it)| (of.bytes, it.path.as_str())).collect();
            read.sort_by_key(|it| std::cmp::Reverse(it.0));
            let paths: Vec<&str> = read.iter().map(|it| it.1).take(5).collect();
            let more = if read.len() > paths.len() { ", …" } else { "" };
            let (count, paths) = (self.header.files.len(), format!("{}{more}", paths.join(", ")));
            match named {
                Some(name) => bail!("the trace has no file {name}; it has {paths}"),
                None => bail!(
                    "the trace has {count} files, and none of them is the one that is measured: {paths}; name one with \
                     workload = {{ replay = \"FILE\", file = \"PATH\" }}, make a trace of one (--file of `faultline trace record` and \
                     `import`), or measure a folder that has some of them, without --size"
                ),
            }
        };
        match &self.files[place] {
            Traced { accesses: 0, .. } => bail!("no access of {} was seen", self.header.files[place].path),
            traced => Ok(traced),
        }
    }

    /// The files with accesses that lie in a folder: as the trace calls them, and where they are, which of a file with several
    /// names is one place. A path of the trace is looked up only where the folder, which the user named, has it; a link out of
    /// the folder does not count.
    pub fn files_in(&self, folder: &Path) -> BTreeMap<String, PathBuf> {
        let folder = std::fs::canonicalize(folder).ok();
        let lies_in = |path: &Path| {
            let folder = folder.as_deref()?;
            let is_plain = path.components().all(|it| it != Component::ParentDir);
            let found = (is_plain && path.starts_with(folder)).then(|| std::fs::canonicalize(path).ok()).flatten()?;
            (found.starts_with(folder) && found.is_file()).then_some(found)
        };
        let read = self.header.files.iter().zip(&self.files).filter(|(_, of)| of.accesses > 0);
        at_one_place(read.filter_map(|(it, _)| Some((it.path.clone(), lies_in(Path::new(&it.path))?))).collect())
    }

    /// The same for files that the user named.
    pub fn files_at(&self, paths: &[PathBuf]) -> BTreeMap<String, PathBuf> {
        let paths = paths.iter().filter_map(|it| std::fs::canonicalize(it).ok());
        let at = |path: PathBuf| {
            let beside = path.parent().map_or_else(BTreeMap::new, |it| self.files_in(it));
            let known = identity(&path);
            let same = beside.into_iter().filter(move |(_, found)| known.is_some() && identity(found) == known);
            same.map(move |(name, _)| (name, path.clone()))
        };
        at_one_place(paths.flat_map(at).collect())
    }

    /// The accesses of the files that were found alone, as a trace of its own, in which a file is called by where it is, and
    /// two names of one place are one. Nothing where that would be the same trace.
    ///
    /// # Errors
    /// A file that was found has become too short for its accesses. As `made` and `accesses`.
    pub fn of_found(&self, found: &BTreeMap<String, PathBuf>) -> Result<Option<TraceFile>> {
        let (mut table, mut known) = (Vec::new(), HashMap::new());
        let (mut places, mut is_same) = (Vec::new(), true);
        let by_both = Known::of(&self.header.files);
        for (file, of) in self.header.files.iter().zip(&self.files) {
            let path = found.get(&file.path).and_then(|it| it.to_str()).filter(|_| of.accesses > 0);
            let path = path.filter(|it| by_both.may_be(file, it, identity(Path::new(it))));
            is_same &= of.accesses == 0 || path == Some(file.path.as_str());
            if let Some(path) = path {
                let bytes = std::fs::metadata(path).with_context(|| format!("cannot look at {path}"))?.len();
                if bytes < of.end_bytes {
                    bail!(
                        "the trace reads up to byte {} of {path}, which has {}: it was recorded of a larger file",
                        of.end_bytes,
                        schema::Bytes(bytes).exact()
                    );
                }
            }
            places.push(path.map(|path| {
                let place = *known.entry(path).or_insert(table.len());
                match table.get_mut(place) {
                    None => table.push(TracedFile { path: path.into(), ..file.clone() }),
                    Some(TracedFile { missing, mappings, inexact, .. }) => {
                        *missing = missing.saturating_add(file.missing);
                        *mappings = mappings.saturating_add(file.mappings);
                        *inexact = inexact.take().or_else(|| file.inexact.clone());
                        is_same = false;
                    }
                }
                place
            }));
        }
        if is_same {
            return Ok(None);
        }
        let lost = self.files.iter().zip(&places).filter(|(_, place)| place.is_none()).map(|(of, _)| of.accesses);
        let mut left_out = self.header.left_out;
        left_out.other_files = left_out.other_files.saturating_add(lost.sum());
        // A file without an access is not found, and what the trace lacks of it may be in the folder.
        let is_unread = |place: usize| self.files[place].accesses == 0;
        let coverage = self.coverage_of(|place| places[place].is_some() || is_unread(place));
        let unread = self.header.files.iter().enumerate().filter(|(place, _)| is_unread(*place));
        let of_unread = unread.fold(0u64, |sum, (_, it)| sum.saturating_add(it.missing));
        let of_any_file = self.header.of_any_file.map(|it| it.saturating_add(of_unread));
        let Header { ref not_seen, ref run, ref recorder, .. } = self.header;
        let (not_seen, run) = (not_seen.clone(), run.clone());
        let header = Header { coverage, of_any_file, not_seen, run, ..Header::new(recorder, table, left_out) };
        self.copied(&header, |it| Some(Access { file: places[it.file as usize]? as u32, ..it })).map(Some)
    }

    /// What a run replayed, if this is its trace.
    pub fn again(&self, of: &Traced) -> Option<&Traced> {
        let known = if of.is_of_several() { Some(&self.all) } else { self.files.get(of.file as usize) };
        known.filter(|it| it.digest == of.digest && it.accesses > 0)
    }

    /// For a worker. A path could lead to another file by now, so it gets one to this descriptor. Of a replay over several
    /// files it gets those that the user named.
    pub(crate) fn job(&self, traced: &Traced, named: Option<&Named>) -> TraceOf {
        let path = sys::folder::path_of(&self.file).display().to_string();
        let files = named.filter(|_| traced.is_of_several());
        let files = files.map_or_else(Vec::new, |it| it.replayed(&self.header.files));
        TraceOf { path, digest: self.digest.clone(), file: traced.file, files }
    }

    /// All of it, to be saved.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        std::fs::read(sys::folder::path_of(&self.file)).context("cannot read the trace")
    }

    /// The same accesses, without names and sentences (`Header::redacted`).
    ///
    /// # Errors
    /// As `made` and `accesses`.
    pub fn redacted(&self) -> Result<TraceFile> {
        self.copied(&self.header.clone().redacted(), Some)
    }

    /// The same accesses, of files that were found as an earlier recording of the same command found them.
    ///
    /// # Errors
    /// As `made` and `accesses`.
    pub fn found_as(&self, earlier: &TraceFile) -> Result<TraceFile> {
        let mut header = self.header.clone();
        for file in &mut header.files {
            let is_it = |it: &&TracedFile| file.identity.is_some() && it.identity == file.identity;
            let alike = || earlier.header.files.iter().filter(is_it);
            if let Some(of) = alike().find(|it| it.path == file.path).or_else(|| alike().next()) {
                (file.resident_before, file.found, file.evicted) = (of.resident_before, of.found.clone(), of.evicted);
            }
        }
        self.copied(&header, Some)
    }

    /// Hands out every access, in order, one at a time: ten million of them together would take hundreds of megabytes.
    ///
    /// # Errors
    /// It changed since it was opened, or `each` failed.
    pub fn each(&self, mut each: impl FnMut(Access) -> Result<()>) -> Result<()> {
        let path = sys::folder::path_of(&self.file);
        let mut reader = Reader::new(BufReader::new(File::open(&path)?))?;
        while let Some(access) = reader.next_access()? {
            each(access)?;
        }
        match reader.digest()? == self.digest {
            true => Ok(()),
            false => bail!("the trace changed while it was read; try it again"),
        }
    }

    /// Every access, in order.
    ///
    /// # Errors
    /// As `each`.
    pub fn accesses(&self) -> Result<Vec<Access>> {
        let mut accesses = Vec::new();
        self.each(|it| {
            accesses.push(it);
            Ok(())
        })?;
        Ok(accesses)
    }
}

/// Device and inode, by which a file is known whatever its number of names (link(2)).
fn identity(path: &Path) -> Option<FileIdentity> {
    std::fs::metadata(path).ok().map(|it| FileIdentity { device: it.dev(), inode: it.ino() })
}

/// Of a file with several names, the place that the first of them has.
fn at_one_place(mut found: BTreeMap<String, PathBuf>) -> BTreeMap<String, PathBuf> {
    let mut places = HashMap::new();
    for path in found.values_mut() {
        if let Some(identity) = identity(path) {
            path.clone_from(places.entry(identity).or_insert_with(|| path.clone()));
        }
    }
    found
}

/// What the program that was recorded took before the first access of these files and after the last one.
fn around_ns<'f>(header: &Header, files: impl IntoIterator<Item = &'f TracedFile>) -> Option<u64> {
    let wall_ns = header.run.as_ref()?.wall_ns;
    let both: Option<Vec<[u64; 2]>> = files.into_iter().map(|it| it.reached_ns).collect();
    let both = both?;
    let (first, last) = (both.iter().map(|it| it[0]).min()?, both.iter().map(|it| it[1]).max()?);
    Some(wall_ns.saturating_sub(last.saturating_sub(first)))
}

/// As one, where several files have accesses; else the one that has.
fn together(digest: &str, files: &[Traced], threads: u32) -> Traced {
    let with_some = || files.iter().filter(|it| it.accesses > 0);
    let count = with_some().count() as u32;
    if let (1, Some(only)) = (count, with_some().next()) {
        return only.clone();
    }
    let sum = |of: fn(&Traced) -> u64| with_some().map(of).fold(0, u64::saturating_add);
    let most = |of: fn(&Traced) -> u64| with_some().map(of).max().unwrap_or(0);
    Traced {
        digest: digest.into(),
        accesses: sum(|it| it.accesses),
        bytes: sum(|it| it.bytes),
        longest_bytes: most(|it| it.longest_bytes),
        end_bytes: most(|it| it.end_bytes),
        files: count.max(1),
        threads,
        ..Traced::none(0)
    }
}

#[cfg(test)]
mod tests {
    use schema::{Span, trace::LeftOut};

    use super::*;

    fn made(accesses: &[Access]) -> TraceFile {
        let file = |path: &str| TracedFile { path: path.into(), ..TracedFile::default() };
        let header = Header::new("test", ["/a", "/b", "/c"].map(file).into(), LeftOut::default());
        TraceFile::made(&header, accesses).unwrap()
    }

    #[test]
    fn what_all_files_of_a_trace_have_together_is_found_again_in_the_same_trace_alone() {
        let accesses = [Access::call(0, 5, 10), Access::call(2, 100, 7), Access::call(0, 0, 3)];
        let trace = made(&accesses);
        let all = trace.of_all().unwrap();
        assert_eq!((all.files, all.accesses, all.bytes, all.longest_bytes, all.end_bytes), (2, 3, 20, 10, 107));
        assert_eq!(trace.accesses().unwrap(), accesses);
        assert_eq!(trace.again(all), Some(all));
        assert_eq!(made(&accesses[..2]).again(all), None);
        let only = made(&accesses[1..2]);
        let of = only.of_all().unwrap();
        assert_eq!((of.files, of.file, of.is_of_several()), (1, 2, false));
        assert!(made(&[]).of_all().is_err());
    }

    #[test]
    fn names_of_one_file_are_found_at_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let [one, same, other] = ["one", "same", "other"].map(|it| folder.join(it));
        std::fs::write(&one, [0; 200]).unwrap();
        std::fs::write(&other, [0; 200]).unwrap();
        std::fs::hard_link(&one, &same).unwrap();
        let name = |it: &Path| it.display().to_string();
        let file = |it: &PathBuf| TracedFile { path: name(it), ..TracedFile::default() };
        let header = Header::new("test", [&same, &other, &one].map(file).into(), LeftOut::default());
        let accesses = [Access::call(0, 5, 10), Access::call(1, 100, 7), Access::call(2, 0, 3)];
        let trace = TraceFile::made(&header, &accesses).unwrap();
        let found = trace.files_in(&folder);
        assert_eq!(found, [(name(&one), one.clone()), (name(&other), other), (name(&same), one.clone())].into());
        let both = trace.of_found(&found).unwrap().unwrap();
        assert_eq!((both.of_all().unwrap().files, both.of_all().unwrap().accesses), (2, 3));
        // By whichever name the user calls it.
        for named in [&one, &same] {
            let found = trace.files_at(std::slice::from_ref(named));
            assert_eq!(found, [(name(&one), named.clone()), (name(&same), named.clone())].into());
        }
        let found = trace.files_at(&[one.clone(), same.clone()]);
        assert_eq!(found.into_values().collect::<std::collections::BTreeSet<PathBuf>>().len(), 1);
    }

    #[test]
    fn the_accesses_of_some_files_are_a_trace_of_their_own() {
        let accesses = [Access::call(0, 5, 10), Access::call(2, 100, 7), Access::call(0, 0, 3), Access::call(2, 0, 1)];
        let folder = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|it| folder.path().join(it));
        std::fs::write(&here, [0; 200]).unwrap();
        let found = |names: &[&str]| names.iter().map(|it| (it.to_string(), here.clone())).collect();
        let some = made(&accesses).of_found(&found(&["/c"])).unwrap().unwrap();
        assert_eq!(some.header.files.iter().map(|it| Path::new(&it.path)).collect::<Vec<_>>(), [here.as_path()]);
        assert_eq!(some.accesses().unwrap(), [Access::call(0, 100, 7), Access::call(0, 0, 1)]);
        assert_eq!((some.header.left_out.other_files, some.of_all().unwrap().accesses), (2, 2));
        let mut full = made(&accesses);
        full.header.left_out.other_files = u64::MAX;
        assert_eq!(full.of_found(&found(&["/c"])).unwrap().unwrap().header.left_out.other_files, u64::MAX);
        // Two names of one file are one file.
        let both = made(&accesses).of_found(&found(&["/a", "/c"])).unwrap().unwrap();
        assert_eq!((both.of_all().unwrap().files, both.of_all().unwrap().accesses), (1, 4));
        // What it lacks of them goes with them, and what may be of any file is one's own, too.
        let mut lacking = made(&accesses);
        lacking.header.of_any_file = Some(1);
        lacking.header.files.iter_mut().zip([2, 4, 5]).for_each(|(it, missing)| it.missing = missing);
        for (names, missing, coverage) in [(&["/c"][..], 5, 2.0 / 12.0), (&["/a", "/c"], 7, 4.0 / 16.0)] {
            let some = lacking.of_found(&found(names)).unwrap().unwrap();
            assert_eq!(some.header.files[0].missing, missing);
            let shares = [some.header.coverage, some.coverage_of(|_| true)];
            assert!(shares.into_iter().all(|it| (it - coverage).abs() < 1e-5), "{shares:?}");
        }
        // Of all files it is no more than the header says.
        let mut edited = made(&accesses);
        (edited.header.of_any_file, edited.header.coverage) = (Some(0), 0.5);
        assert_eq!([edited.coverage_of(|_| true), edited.coverage_of(|it| it == 2)], [0.5, 1.0]);
        // What already is so is no other trace.
        assert!(both.of_found(&found(&[here.to_str().unwrap()])).unwrap().is_none());
        std::fs::write(&here, [0; 50]).unwrap();
        assert!(made(&accesses).of_found(&found(&["/c"])).is_err(), "it became too short");
        let gone = [("/c".to_string(), there)].into_iter().collect();
        assert!(made(&accesses).of_found(&gone).is_err());
    }

    #[test]
    fn a_recording_of_evicted_files_takes_what_an_earlier_one_found() {
        let file = |inode, found: &[Span], evicted| TracedFile {
            path: format!("/{inode}"),
            identity: Some(FileIdentity { device: 1, inode }),
            resident_before: Some(if evicted { 0.0 } else { 0.5 }),
            found: found.to_vec(),
            evicted,
            ..TracedFile::default()
        };
        let made = |files: Vec<TracedFile>| {
            let accesses = [Access::call(0, 0, 10)];
            TraceFile::made(&Header::new("test", files, LeftOut::default()), &accesses).unwrap()
        };
        let parts = [Span { offset: 4096, bytes: 8192 }];
        let earlier = made(vec![file(7, &[], false), file(8, &parts, false)]);
        let exact = made(vec![file(8, &[], true), file(9, &[], true)]);
        let both = exact.found_as(&earlier).unwrap();
        assert_eq!(both.header.files, [file(8, &parts, false), file(9, &[], true)]);
        assert_eq!(both.accesses().unwrap(), exact.accesses().unwrap());
    }
}
