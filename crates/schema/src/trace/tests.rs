use proptest::prelude::*;

use super::*;

fn header(files: usize) -> Header {
    let file = |at: usize| TracedFile { path: format!("/data/{at}"), mappings: at as u64, ..TracedFile::default() };
    Header::new("strace", (0..files).map(file).collect(), LeftOut { at_end: 3, ..LeftOut::default() })
}

fn written(header: &Header, accesses: &[Access]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), header).unwrap();
    for access in accesses {
        writer.push(*access).unwrap();
    }
    writer.finish().unwrap()
}

/// Everything that a trace says, with its digest.
fn read(bytes: &[u8]) -> Result<(Header, Vec<Access>, String), Refused> {
    let mut reader = Reader::new(bytes)?;
    let mut accesses = Vec::new();
    while let Some(access) = reader.next_access()? {
        accesses.push(access);
        // What random bytes may say is not what a test waits for.
        if accesses.len() > 300_000 {
            return Err(Refused::TooMany);
        }
    }
    Ok((reader.header().clone(), accesses, reader.digest()?))
}

const FILES: usize = 3;

/// Scans, strides in either direction, and single accesses anywhere, of several files.
fn accesses() -> impl Strategy<Value = Vec<Access>> {
    let part = (0..FILES as u32, 0..1u64 << 40, 1..100_000u64, -50_000i64..50_000, 1..40u64);
    let by = (prop_oneof![4 => Just(0), 1 => any::<u32>()], prop_oneof![Just(Via::Call), Just(Via::Mapping)]);
    let extreme = prop_oneof![
        Just(Access::call(0, i64::MAX as u64 - 1, 1)),
        Just(Access::call(1, 0, ACCESS_BYTES_MAX)),
        Just(Access::call(2, i64::MAX as u64 - ACCESS_BYTES_MAX, ACCESS_BYTES_MAX)),
    ];
    let run = (part, by).prop_map(|((file, offset, bytes, gap, count), (thread, via))| {
        let at = |index: u64| (offset as i64 + (bytes as i64 + gap) * index as i64).unsigned_abs();
        (0..count).map(|index| Access { file, offset: at(index), bytes, thread, via }).collect::<Vec<Access>>()
    });
    prop::collection::vec(prop_oneof![9 => run, 1 => extreme.prop_map(|it| vec![it])], 0..40).prop_map(|it| it.concat())
}

#[test]
fn a_header_of_as_many_files_as_there_may_be_comes_back_and_one_that_is_too_long_does_not() {
    let all = header(FILES_MAX);
    assert!(serde_json::to_vec(&all).unwrap().len() > 64 << 10);
    let last = Access::call(FILES_MAX as u32 - 1, 0, 1);
    assert_eq!(read(&written(&all, &[last])).map(|it| (it.0, it.1)).unwrap(), (all, vec![last]));
    let mut long = header(1);
    long.files[0].path = "x".repeat(read::HEADER_BYTES_MAX as usize);
    let written = || written(&long, &[Access::call(0, 0, 1)]);
    assert!(Writer::new(Vec::new(), &long).is_err() || read(&written()).is_err());
}

proptest! {
    #[test]
    fn every_trace_comes_back_as_it_was_written(accesses in accesses()) {
        let header = header(FILES);
        let bytes = written(&header, &accesses);
        let (found, back, digest) = read(&bytes).unwrap();
        prop_assert_eq!((found, back), (header, accesses));
        prop_assert_eq!(digest.len(), 64);
    }

    #[test]
    fn a_trace_that_is_changed_or_cut_is_read_or_refused(
        accesses in accesses(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = written(&header(FILES), &accesses);
        let whole = bytes.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
            prop_assert!(read(&bytes).is_err(), "a part of a trace is no trace");
        }
        match read(&bytes) {
            Ok((header, back, _)) => {
                prop_assert!(back.iter().all(|it| it.is_possible() && (it.file as usize) < header.files.len()));
            }
            Err(_) => prop_assert!(bytes != whole),
        }
    }

    #[test]
    fn any_bytes_after_a_header_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600), old: bool) {
        let old_line = || of_version_1().split(|it| *it == b'\n').next().unwrap().to_vec();
        let mut trace = if old { old_line() } else { serde_json::to_vec(&header(1)).unwrap() };
        trace.push(b'\n');
        trace.extend(bytes);
        drop(read(&trace));
    }

    #[test]
    fn a_trace_of_the_first_version_that_is_changed_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = of_version_1();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok((header, back, _)) = read(&bytes) {
            prop_assert!(back.iter().all(|it| it.is_possible() && (it.file as usize) < header.files.len()));
        }
    }

    #[test]
    fn a_number_is_read_back_and_no_bytes_make_a_number_too_large(number in any::<u64>(), any in prop::collection::vec(any::<u8>(), 0..12)) {
        let mut column = Vec::new();
        columns::put(&mut column, number);
        prop_assert_eq!(columns::take(&mut &column[..]), Some(number));
        prop_assert_eq!(columns::unfolded(columns::folded(number as i64)), number as i64);
        let mut rest = &any[..];
        let taken = columns::take(&mut rest);
        prop_assert!(rest.len() <= any.len() && (taken.is_some() || any.len() < 10 || any[9] > 1));
    }
}

#[test]
fn a_scan_is_one_record_and_many_blocks_are_read_back() {
    let scan: Vec<Access> = (0..100_000).map(|at| Access::call(0, at * 4096, 4096)).collect();
    let bytes = written(&header(1), &scan);
    assert!(bytes.len() < 300, "{} bytes", bytes.len());
    assert_eq!(read(&bytes).unwrap().1, scan);
    // No two alike, so that each is a run of its own.
    let single = |at: u64| Access::call(0, (at * at * 7919) % (1 << 30), 1 + at % 5);
    let singles: Vec<Access> = (0..3 * columns::RUNS_MAX as u64).map(single).collect();
    assert_eq!(read(&written(&header(1), &singles)).unwrap().1, singles);
}

#[test]
fn the_digest_is_that_of_the_bytes() {
    let one = written(&header(1), &[Access::call(0, 0, 1)]);
    let other = written(&header(1), &[Access::call(0, 0, 2)]);
    assert_eq!(read(&one).unwrap().2, read(&one).unwrap().2);
    assert_ne!(read(&one).unwrap().2, read(&other).unwrap().2);
    // Known before anything was asked for.
    assert_eq!(Reader::new(&one[..]).unwrap().digest(), Ok(read(&one).unwrap().2));
}

#[test]
fn what_no_reader_takes_is_not_written() {
    let refused = |access: Access| Writer::new(Vec::new(), &header(1)).unwrap().push(access).is_err();
    assert!(refused(Access::call(1, 0, 1)), "there is no such file");
    assert!(refused(Access::call(0, 0, 0)));
    assert!(refused(Access::call(0, 0, ACCESS_BYTES_MAX + 1)));
    assert!(refused(Access::call(0, u64::MAX, 1)));
    assert!(refused(Access::call(0, i64::MAX as u64, 1)));
    assert!(Writer::new(Vec::new(), &header(0)).is_err(), "accesses are of a file");
    let old = Header { trace_version: 1, ..header(1) };
    assert!(Writer::new(Vec::new(), &old).is_err(), "older versions are only read");
    let half = Header { coverage: 1.5, ..header(1) };
    assert!(Writer::new(Vec::new(), &half).is_err(), "a share is at most 1");
}

#[test]
fn what_a_recorder_kept_becomes_a_trace_once_its_first_line_is_known() {
    let accesses: Vec<Access> = (0..200_000u64).map(|at| Access::call((at % 3) as u32, at * at, 1 + at % 7)).collect();
    let mut body = Body::default();
    accesses.iter().for_each(|it| body.push(*it).unwrap());
    let mut bytes = Vec::new();
    body.finish(&header(3), &mut bytes).unwrap();
    assert_eq!(bytes, written(&header(3), &accesses), "by either way it is the same trace");
    let mut body = Body::default();
    body.push(Access::call(2, 0, 1)).unwrap();
    assert!(body.finish(&header(2), Vec::new()).is_err(), "the first line does not name the file");
}

#[test]
fn a_recorder_that_reached_the_bounds_keeps_a_trace_that_is_read() {
    let mut body = Body::default();
    let far = |at: u64| Access {
        thread: (at as u32).wrapping_mul(7919),
        ..Access::call(0, at.wrapping_mul(0x9e37_79b9_7f4a) % (1 << 50), 1 + at)
    };
    let mut kept = 0;
    // Each is a run of its own, of the longest numbers.
    let refused = (0..).find_map(|at| body.push(far(at)).err().inspect(|_| kept = at)).unwrap();
    assert!(matches!(refused, Refused::TooLarge | Refused::TooMany), "{refused:?}");
    assert_eq!((body.accesses(), body.push(far(0)).is_err()), (kept, true), "those before it stay");
    let mut bytes = Vec::new();
    body.finish(&header(1), &mut bytes).unwrap();
    assert!(bytes.len() as u64 <= BYTES_MAX);
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let mut read = 0;
    while let Some(access) = reader.next_access().unwrap() {
        assert_eq!(access, far(read));
        read += 1;
    }
    assert_eq!(read, kept);
}

/// A trace of the first version: a scan of three blocks of one file.
fn of_version_1() -> Vec<u8> {
    let mut trace = br#"{"trace_version":1,"recorder":"strace","columns":["file","count","distance","length","gap"],"files":[{"path":"/data/q.db","mappings":1}],"left_out":{"at_end":2}}"#.to_vec();
    trace.push(b'\n');
    trace.push(1);
    for number in [0u64, 2, 20, 512, 0] {
        let mut column = Vec::new();
        columns::put(&mut column, number);
        columns::put(&mut trace, column.len() as u64);
        trace.append(&mut column);
    }
    trace.push(0);
    trace
}

#[test]
fn a_trace_of_the_first_version_is_read_as_calls_of_one_thread() {
    let (header, accesses, _) = read(&of_version_1()).unwrap();
    assert_eq!((header.coverage, header.run, header.left_out.at_end), (1.0, None, 2));
    let file = TracedFile { path: "/data/q.db".into(), mappings: 1, ..TracedFile::default() };
    assert_eq!(header.files, [file]);
    assert_eq!(accesses, [10, 522, 1034].map(|offset| Access::call(0, offset, 512)));
}

/// One block of version 2 or 3, whose columns have these bytes.
fn of_version(version: u32, runs: u8, columns: [&[u8]; columns::NUMBERS]) -> Vec<u8> {
    let mut trace = serde_json::to_vec(&Header { trace_version: version, ..header(1) }).unwrap();
    trace.extend([b'\n', runs]);
    for column in columns {
        trace.push(column.len() as u8);
        trace.extend(column);
    }
    trace.push(0);
    trace
}

#[test]
fn a_number_that_all_runs_of_a_block_have_stands_once_since_version_3() {
    let each: [&[u8]; columns::NUMBERS] = [&[0, 0], &[0, 0], &[20, 6], &[8, 8], &[0, 0], &[0, 0], &[0, 0]];
    let once: [&[u8]; columns::NUMBERS] = [&[0], &[0], &[20, 6], &[8], &[0], &[0], &[0]];
    let expected = [10, 21].map(|offset| Access::call(0, offset, 8));
    for (version, columns) in [(2, each), (3, each), (3, once)] {
        assert_eq!(read(&of_version(version, 2, columns)).unwrap().1, expected, "{version}");
    }
    assert_eq!(read(&of_version(2, 2, once)).unwrap_err(), Refused::Damaged { accesses: 1 });
}

#[test]
fn a_read_anywhere_in_a_large_file_takes_six_bytes_at_most() {
    let mut state = 7u64;
    let mut anywhere = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Access::call(0, (state >> 44) * 4096, 4096)
    };
    let reads: Vec<Access> = (0..200_000).map(|_| anywhere()).collect();
    let bytes = written(&header(1), &reads);
    assert!(bytes.len() <= 6 * reads.len(), "{} B each", bytes.len() as f64 / reads.len() as f64);
    assert_eq!(read(&bytes).unwrap().1, reads);
}

#[test]
fn more_accesses_than_a_trace_may_have_are_refused_before_they_are_made() {
    let mut trace = serde_json::to_vec(&header(1)).unwrap();
    trace.push(b'\n');
    // One run of 2^63 accesses of a byte.
    let mut block = vec![1];
    for number in [0, i64::MAX as u64, 0, 1, 0, 0, 0] {
        let mut column = Vec::new();
        columns::put(&mut column, number);
        columns::put(&mut block, column.len() as u64);
        block.append(&mut column);
    }
    trace.append(&mut block);
    assert_eq!(read(&trace).unwrap_err(), Refused::TooMany);
}

#[test]
fn a_file_that_is_no_trace_is_called_so_and_a_later_version_by_its_number() {
    assert_eq!(read(b"").unwrap_err(), Refused::NotATrace);
    assert_eq!(read(b"{\"schema_version\":1}\n").unwrap_err(), Refused::NotATrace);
    let changed = |change: fn(&mut Header)| {
        let mut header = header(1);
        change(&mut header);
        let mut line = serde_json::to_vec(&header).unwrap();
        line.extend(b"\n\0");
        read(&line).unwrap_err()
    };
    assert_eq!(changed(|it| it.trace_version = 4), Refused::Version { found: 4 });
    assert_eq!(changed(|it| it.trace_version = 0), Refused::Version { found: 0 });
    assert_eq!(changed(|it| it.trace_version = 1), Refused::Column { name: "thread".into() });
    assert_eq!(changed(|it| it.columns.push("wait".into())), Refused::Column { name: "wait".into() });
    assert!(matches!(changed(|it| drop(it.columns.pop())), Refused::Header { .. }));
    assert!(matches!(changed(|it| it.files.clear()), Refused::Header { .. }));
}

#[test]
fn a_redacted_header_has_every_count_and_no_text_of_the_machine() {
    let mut named = header(2);
    named.files[0].identity = Some(crate::leftover::FileIdentity { device: 1, inode: 4711 });
    named.files[0].inexact = Some(Inexact::NotCold { why: "pid 7 (secretd) has it mapped".into() });
    named.files[1].inexact = Some(Inexact::Lost { faults: 3 });
    named.run = Some(RecordedRun {
        command: vec!["secretd".into(), "/data/0".into()],
        wall_ns: 5,
        threads: 2,
        bytes: 7,
        notes: vec!["/data/0 was written".into()],
    });
    named.not_seen = NotSeen { rings: 1, incomplete: vec!["secretd traces itself".into()] };
    let redacted = named.clone().redacted();
    let text = serde_json::to_string(&redacted).unwrap();
    assert!(["secret", "/data", "4711"].iter().all(|it| !text.contains(it)), "{text}");
    assert_eq!(
        redacted.files.iter().map(|it| (it.path.as_str(), it.mappings)).collect::<Vec<_>>(),
        [("1", 0), ("2", 1)]
    );
    assert_eq!(redacted.files[1].inexact, named.files[1].inexact);
    let run = redacted.run.unwrap();
    assert_eq!((run.wall_ns, run.threads, run.bytes), (5, 2, 7));
    assert_eq!((redacted.not_seen.rings, redacted.not_seen.incomplete.len()), (1, 1));
    assert_eq!(redacted.left_out, named.left_out);
}

#[test]
fn what_an_older_recording_did_not_see_is_read_where_it_was() {
    let run = Some(RecordedRun { wall_ns: 5, ..RecordedRun::default() });
    let mut writer = Writer::new(Vec::new(), &Header { run, ..header(1) }).unwrap();
    writer.push(Access::call(0, 0, 1)).unwrap();
    let bytes = writer.finish().unwrap();
    let (at, word) = (bytes.iter().position(|it| *it == b'\n').unwrap(), "\"wall_ns\":5");
    let line = String::from_utf8(bytes[..at].to_vec()).unwrap();
    assert!(line.contains(word));
    let line = line.replace(word, "\"wall_ns\":5,\"not_seen\":{\"rings\":2}");
    let older = [line.as_bytes(), &bytes[at..]].concat();
    let not_seen = |bytes: &[u8]| Reader::new(bytes).unwrap().header().not_seen.clone();
    assert_eq!(not_seen(&older), NotSeen { rings: 2, incomplete: Vec::new() });
    assert_eq!(not_seen(&bytes), NotSeen::default());
}

#[test]
fn an_access_at_an_offset_that_no_file_has_is_refused_for_that_and_not_for_its_length() {
    let length = Bytes(ACCESS_BYTES_MAX).to_string();
    let blames_length = |access: Access| {
        assert!(!access.is_possible());
        Refused::Impossible { access }.to_string().contains(&length)
    };
    let [at_end, empty, long] = [(u64::MAX, 4096), (0, 0), (0, ACCESS_BYTES_MAX + 1)];
    let of = |(offset, bytes)| blames_length(Access::call(0, offset, bytes));
    assert_eq!([of(at_end), of(empty), of(long)], [false, true, true]);
}
