use std::collections::BTreeMap;

use proptest::prelude::*;
use schema::trace::Reader;

use super::*;

fn of(log: &str) -> Result<Imported, Mistake> {
    import(log.as_bytes(), &[])
}

/// File by its place, offset and length.
fn accesses(imported: &Imported) -> Vec<(u32, u64, u64)> {
    imported.accesses.iter().map(|it| (it.file, it.offset, it.bytes)).collect()
}

const STRACE: &str = r#"
4711  1730000000.100000 openat(AT_FDCWD</home>, "a b.db", O_RDONLY|O_CLOEXEC) = 3</data/a b.db>
4711  1730000000.100100 read(3</data/a b.db>, "SQLite\0 = \"(...)\"", 100) = 100
4711  1730000000.100200 lseek(3</data/a b.db>, 4096, SEEK_SET) = 4096
4711  1730000000.100300 readv(3</data/a b.db>, [{iov_base="x", iov_len=10}, {iov_base="y", iov_len=20}], 2) = 30 <0.000012>
4711  1730000000.100400 pread64(3</data/a b.db>, "\1\2"..., 4096, 8192) = 4096
4711  1730000000.100500 preadv(3</data/a b.db>, [{iov_base="x", iov_len=10}], 1, 12288) = 10
4711  1730000000.100550 preadv2(3</data/a b.db>, [{iov_base="x", iov_len=10}], 1, -1, RWF_NOWAIT) = 10
4711  1730000000.100600 pread64(3</data/a b.db>, "", 4096, 99999) = 0
4711  1730000000.100700 read(3</data/a b.db>, 0x7ffe, 10) = -1 EINTR (Interrupted system call)
4711  1730000000.100800 mmap(NULL, 8192, PROT_READ, MAP_SHARED, 3</data/a b.db>, 0) = 0x7f0000000000
4711  1730000000.100810 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000001000
4712  1730000000.100900 read(3</data/a b.db>,  <unfinished ...>
4711  1730000000.100950 read(0</dev/pts/0>, "y\n", 1024) = 2
4712  1730000000.101000 <... read resumed>"z"..., 50) = 50
4712  1730000000.101050 read(5</etc/r\303\251sum\303\251>, "z", 50) = 7
4712  1730000000.101100 openat(AT_FDCWD</home>, "nope", O_RDONLY) = -1 ENOENT (No such file or directory)
4712  1730000000.101200 write(1</tmp/out>, "z", 1) = 1
4712  1730000000.101300 openat(AT_FDCWD</home>, "r", O_RDONLY) = 6</etc/r\303\251sum\303\251>
4712  1730000000.101400 read(6</etc/r\303\251sum\303\251>, "z", 50) = 7
4711  1730000000.101500 --- SIGCHLD {si_signo=SIGCHLD} ---
4711  1730000000.101550 close(-1)          = -1 EBADF (Bad file descriptor)
4711  1730000000.101560 read(99, 0x7ffe, 10) = -1 EBADF (Bad file descriptor)
4711  1730000000.101600 close(3</data/a b.db>)  = 0
4711  1730000000.101700 +++ exited with 0 +++
"#;

#[test]
fn positions_of_descriptors_are_followed_through_a_log_of_strace() {
    let log = STRACE.trim_start();
    let imported = of(log).unwrap();
    let expected =
        [(0, 0, 100), (0, 4096, 30), (0, 8192, 4096), (0, 12_288, 10), (0, 4126, 10), (0, 4136, 50), (1, 0, 7)];
    assert_eq!(accesses(&imported), expected);
    let paths: Vec<(&str, u64)> = imported.header.files.iter().map(|it| (it.path.as_str(), it.mappings)).collect();
    assert_eq!(paths, [("/data/a b.db", 1), ("/etc/résumé", 0)]);
    let left_out = LeftOut { failed: 1, at_end: 1, unknown_offset: 1, writes: 1, ..LeftOut::default() };
    assert_eq!(imported.header.left_out, left_out);
    // Of eight reads that gave bytes, it is not known where one began.
    assert_eq!(imported.header.coverage, 0.875);
    let covered = |kept: [u64; 2], meant: [bool; 2]| imported.header.coverage_of(kept.into_iter().zip(meant));
    assert_eq!(
        [covered([6, 1], [true, false]), covered([6, 1], [false, true]), covered([6, 1], [true; 2])],
        [1.0, 0.5, 0.875]
    );
    let before = Header { of_any_file: None, ..imported.header.clone() };
    assert_eq!(before.coverage_of([(6, true), (1, false)].into_iter()), 0.875, "it is not known by file");
    let other = import(log.as_bytes(), &["/data/a b.db".into()]).unwrap();
    assert_eq!((other.header.left_out.unknown_offset, other.header.coverage), (0, 1.0), "it is of another file");

    let one = import(log.as_bytes(), &["/etc/résumé".into()]).unwrap();
    assert_eq!(accesses(&one), [(0, 0, 7)]);
    let of_it = LeftOut { other_files: 6, unknown_offset: 1, ..LeftOut::default() };
    assert_eq!(one.header.left_out, of_it, "what failed, was at the end or wrote is of others");
    let other = import(log.as_bytes(), &["/data/a b.db".into()]).unwrap();
    assert_eq!((other.header.left_out.other_files, other.header.coverage), (2, 1.0), "what is not known is of another");
    // Without the number of a thread, and with other times.
    for (from, to) in [("4711  1730000000.", "     0."), ("4711  1730000000.", "10:20:30.")] {
        let plain: String =
            log.lines().filter(|it| it.starts_with("4711")).map(|it| it.replace(from, to) + "\n").collect();
        assert_eq!(accesses(&of(&plain).unwrap()), expected[..5], "{plain}");
    }
}

#[test]
fn a_seek_of_32_bits_sets_the_position() {
    let log = "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
               1 _llseek(3</d/a>, 8192, [8192], SEEK_SET) = 0\n\
               1 read(3</d/a>, \"x\", 10) = 10\n";
    let imported = of(log).unwrap();
    assert_eq!((accesses(&imported), imported.header.left_out), (vec![(0, 8192, 10)], LeftOut::default()));
    let halves =
        log.replace("8192, [8192]", "8192,  <unfinished ...>\n2 +++ exited with 0 +++\n1 <... _llseek resumed>[8192]");
    assert_eq!(of(&halves).unwrap(), imported);
    assert!(of("1 _llseek(3</d/a>, 8192, 0x7ffe, SEEK_SET) = 0\n").is_err());
}

#[test]
fn one_call_may_read_more_than_an_access_has() {
    let read = |bytes: u64| of(&format!("1 pread64(3</d/a>, \"x\"..., {bytes}, 4096) = {bytes}\n"));
    let half = ACCESS_BYTES_MAX;
    // The most that one call reads (MAX_RW_COUNT in include/linux/fs.h).
    let whole = 0x7fff_f000;
    assert_eq!(accesses(&read(whole).unwrap()), [(0, 4096, half), (0, 4096 + half, whole - half)]);
    assert_eq!(accesses(&read(half).unwrap()), [(0, 4096, half)]);
    assert!(read(whole).unwrap().bytes().is_ok());
    assert!(read(4 * half).unwrap().bytes().is_err());
}

#[test]
fn only_files_that_are_meant_count_towards_the_most_that_a_trace_may_have() {
    let read = |path: &str| format!("1 pread64(3<{path}>, \"x\", 10, 0) = 10\n");
    let mapped = "1 mmap(NULL, 1, PROT_READ, MAP_SHARED, 3</lib>, 0) = 0x7f\n";
    let log: String = (0..FILES_MAX).map(|it| read(&format!("/others/{it}"))).collect();
    let log = log + &read("/meant") + mapped;
    assert_eq!(of(&log).unwrap_err().wrong, Wrong::TooManyFiles);
    let one = import(log.as_bytes(), &["/meant".into()]).unwrap();
    assert_eq!((accesses(&one), one.header.left_out.other_files), (vec![(0, 0, 10)], FILES_MAX as u64));
    let others = (0..OTHERS_MAX).map(|it| format!("/others/{it}")).collect();
    let path = "/absent".to_string();
    assert_eq!(import(log.as_bytes(), std::slice::from_ref(&path)).unwrap_err().wrong, Wrong::NotRead { path, others });
}

#[test]
fn a_file_with_an_equals_sign_in_its_name_is_read_from_its_start_when_it_is_opened_again() {
    let opened = "1 openat(AT_FDCWD, \"a = b\", O_RDONLY) = 3</d/a = b>\n";
    let read = "1 read(3</d/a = b>, \") = 7\", 10) = 10\n";
    let imported = of(&format!("{opened}{read}{read}{opened}{read}")).unwrap();
    assert_eq!(accesses(&imported), [(0, 0, 10), (0, 10, 10), (0, 0, 10)]);
}

#[test]
fn a_duplicate_has_the_position_of_the_descriptor_that_it_is_of() {
    let log = "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
               1 read(3</d/a>, \"x\", 10) = 10\n\
               1 dup2(3</d/a>, 0</dev/null>) = 0</d/a>\n\
               1 close(3</d/a>) = 0\n\
               1 read(0</d/a>, \"x\", 10) = 10\n\
               1 fcntl(0</d/a>, F_GETFL) = 0x8000 (flags O_RDONLY|O_LARGEFILE)\n\
               1 fcntl(0</d/a>, F_DUPFD_CLOEXEC, 10) = 10</d/a>\n\
               1 lseek(10</d/a>, 4096, SEEK_SET) = 4096\n\
               1 read(0</d/a>, \"x\", 10) = 10\n\
               1 dup(-1) = -1 EBADF (Bad file descriptor)\n\
               1 dup(9</d/a>) = 3</d/a>\n\
               1 read(3</d/a>, \"x\", 10) = 10\n";
    let imported = of(log).unwrap();
    assert_eq!(accesses(&imported), [(0, 0, 10), (0, 10, 10), (0, 4096, 10)]);
    assert_eq!(imported.header.left_out, LeftOut { unknown_offset: 1, ..LeftOut::default() });
}

#[test]
fn the_position_after_a_write_that_appends_is_not_known_until_it_is_set() {
    let read = "1 read(3</d/a>, \"x\", 10) = 10\n";
    let seek = "1 lseek(3</d/a>, 500, SEEK_SET) = 500\n";
    let opened = |flags: &str| format!("1 openat(AT_FDCWD</O_APPEND>, \"a, O_APPEND\", {flags}) = 3</d/a>\n{read}");
    let write = "1 write(3</d/a>, \"x\", 5) = 5\n1 pwrite64(3</d/a>, \"x\", 5, 0) = 5\n";
    let set = |flags: &str| format!("1 fcntl(3</d/a>, F_SETFL, {flags}) = 0\n");
    let offsets = |log: &str| {
        let imported = of(log).unwrap();
        let offsets: Vec<u64> = imported.accesses.iter().map(|it| it.offset).collect();
        (offsets, imported.header.left_out.unknown_offset)
    };
    let appends = opened("O_RDWR|O_APPEND");
    for log in
        [appends.clone(), opened("{flags=O_RDWR|O_APPEND, resolve=0}, 24"), opened("O_RDWR") + &set("O_RDWR|O_APPEND")]
    {
        assert_eq!(offsets(&(log + write + read + seek + read)), (vec![0, 500], 1));
    }
    let nothing = write.replace("= 5", "= 0");
    assert_eq!(offsets(&(appends.clone() + &nothing + read)), (vec![0, 10], 0));
    for log in [opened("O_RDWR"), appends + &set("O_RDWR|O_NONBLOCK")] {
        assert_eq!(offsets(&(log + write + read)), (vec![0, 15], 0));
    }
    let once = "1 pwritev2(3</d/a>, [], 1, -1, RWF_APPEND) = 5\n";
    assert_eq!(offsets(&(opened("O_RDWR") + once + read)), (vec![0], 1));
    // What flags it was opened with is not known.
    assert_eq!(offsets(&format!("{seek}{read}{write}{read}")), (vec![500], 1));
}

#[test]
fn a_range_of_descriptors_is_closed_and_may_be_of_the_thread_alone_from_then_on() {
    let log = |call: &str| {
        format!(
            "1 execve(\"q\", [\"q\"], 0x7f) = 0\n\
             1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
             1 read(3</d/a>, \"x\", 10) = 10\n\
             1 clone(flags=CLONE_VM|CLONE_FILES) = 2\n\
             2 {call}\n\
             2 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
             1 read(3</d/a>, \"x\", 10) = 10\n\
             2 read(3</d/a>, \"x\", 10) = 10\n"
        )
    };
    let offsets = |log: &str| accesses(&of(log).unwrap()).iter().map(|it| it.1).collect::<Vec<u64>>();
    let own = log("close_range(3, 4294967295, CLOSE_RANGE_UNSHARE) = 0");
    assert_eq!(offsets(&own), [0, 10, 0]);
    assert_eq!(offsets(&log("close_range(3, 9, 0) = 0")), [0, 0, 10]);
    // Given to it by the socket: it is not the one that was closed.
    let given = |call: &str| {
        let opened = format!("{call} = 0\n2 recvmsg(9<socket:[7]>, {{}}, 0) = 1");
        let log = log(&opened).replace("2 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n", "");
        let imported = of(&log).unwrap();
        (imported.accesses.len(), imported.header.left_out.unknown_offset)
    };
    assert_eq!(given("close_range(3, 3, 0)"), (1, 2));
    assert_eq!(given("close_range(4, 9, 0)"), (3, 0));
    assert_eq!(given("close_range(9, 3, 0)"), (3, 0), "it ends before it begins");
    assert_eq!(given("close_range(3, 3, CLOSE_RANGE_CLOEXEC)"), (3, 0));
}

#[test]
fn a_number_is_free_for_another_thread_as_soon_as_a_close_begins() {
    let log = "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
               1 clone(flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2\n\
               1 close(3</d/a> <unfinished ...>\n\
               2 openat(AT_FDCWD, \"b\", O_RDONLY) = 3</d/b>\n\
               1 <... close resumed>) = 0\n\
               2 read(3</d/b>, \"x\", 10) = 10\n";
    let imported = of(log).unwrap();
    assert_eq!((accesses(&imported), imported.header.coverage), (vec![(0, 0, 10)], 1.0));
    // One that failed otherwise than by its number has closed it.
    let failed = "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n1 close(3</d/a>) = -1 EIO (Input/output error)\n\
                  1 pread64(4</d/b>, \"x\", 10, 0) = 10\n1 read(3</d/a>, \"x\", 10) = 10\n";
    assert_eq!(of(failed).unwrap().header.left_out.unknown_offset, 1);
}

#[test]
fn what_is_mapped_as_code_lacks_nothing_because_the_loader_has_read_its_head() {
    let log = r#"1 read(3</opt/lib/libq.so>, "ELF"..., 832) = 832
1 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_DENYWRITE, 3</opt/lib/libq.so>, 0) = 0x7f0000010000
1 mmap(0x7f0000011000, 4096, PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_FIXED, 3</opt/lib/libq.so>, 0x1000) = 0x7f0000011000
1 pread64(4</data.bin>, "x", 10, 0) = 10
"#;
    let log = format!("1 openat(AT_FDCWD, \"q\", O_RDONLY) = 3</opt/lib/libq.so>\n{log}");
    let imported = of(&log).unwrap();
    let unseen = imported.header.files.iter().filter(|it| it.unseen(0).is_some()).count();
    assert_eq!((imported.header.files.len(), unseen), (2, 0));
}

#[test]
fn a_descriptor_that_was_closed_and_is_there_again_is_of_another_open_file() {
    let log = "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
               1 read(3</d/a>, \"x\", 10) = 10\n\
               1 close(3</d/a>) = 0\n\
               1 open_by_handle_at(4</d>, {handle_bytes=8}, O_RDONLY) = 3</d/a>\n\
               1 read(3</d/a>, \"x\", 10) = 10\n\
               1 lseek(3</d/a>, 500, SEEK_SET) = 500\n\
               1 read(3</d/a>, \"x\", 10) = 10\n";
    // With the start of the program and without.
    for log in [log.to_string(), format!("1 execve(\"q\", [\"q\"], 0x7f) = 0\n{log}")] {
        let imported = of(&log).unwrap();
        assert_eq!((accesses(&imported), imported.header.left_out.unknown_offset), (vec![(0, 0, 10), (0, 500, 10)], 1));
    }
}

#[test]
fn what_a_call_that_compares_descriptors_gives_is_none() {
    let log = "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 1</d/a>\n\
               1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
               1 read(3</d/a>, \"x\", 10) = 10\n\
               1 fcntl(3</d/a>, F_DUPFD_QUERY, 4</d/a>) = 1\n\
               1 read(1</d/a>, \"x\", 10) = 10\n";
    assert_eq!(accesses(&of(log).unwrap()), [(0, 0, 10), (0, 0, 10)]);
}

#[test]
fn calls_from_one_descriptor_to_another_read_at_an_offset_in_memory_or_move_the_position() {
    let log = "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
               1 openat(AT_FDCWD, \"b\", O_RDWR) = 4</d/b>\n\
               1 sendfile(9<socket:[7]>, 3</d/a>, [5000] => [75000], 70000) = 70000\n\
               1 sendfile(9<socket:[7]>, 3</d/a>, NULL, 100) = 30\n\
               1 splice(3</d/a>, [90000], 6<pipe:[8]>, NULL, 4000, 0) = 4000\n\
               1 splice(3</d/a>, NULL, 6<pipe:[8]>, NULL, 4000, 0) = 20\n\
               1 splice(6<pipe:[8]>, NULL, 9<socket:[7]>, NULL, 4000, 0) = 20\n\
               1 copy_file_range(3</d/a>, [200000] => [200010], 4</d/b>, NULL, 10, 0) = 10\n\
               1 read(4</d/b>, \"x\", 5) = 5\n\
               1 sendfile(9<socket:[7]>, 3</d/a>, [99] => [99], 100) = 0\n\
               1 sendfile(9<socket:[7]>, 3</d/a>, [99], 100) = -1 EAGAIN (Resource temporarily unavailable)\n\
               1 sendfile(9<socket:[7]>, 5</d/a>, NULL, 100) = 30\n\
               1 read(3</d/a>, \"x\", 10) = 10\n";
    let imported = of(log).unwrap();
    let expected =
        [(0, 5000, 70_000), (0, 0, 30), (0, 90_000, 4000), (0, 30, 20), (0, 200_000, 10), (1, 10, 5), (0, 50, 10)];
    assert_eq!(accesses(&imported), expected);
    let left_out = LeftOut { failed: 1, at_end: 1, unknown_offset: 1, writes: 1, ..LeftOut::default() };
    assert_eq!(imported.header.left_out, left_out);
    let written = import(log.as_bytes(), &["/d/b".into()]).unwrap().header.left_out;
    assert_eq!((written.failed, written.at_end, written.writes), (0, 0, 1), "of the other file nothing is counted");
}

/// Processes and threads that open, close, duplicate, seek and read, as the kernel would have it, and what strace shows.
#[derive(Default)]
struct Kernel {
    log: String,
    /// The same without -o: what strace says of new tasks is among the lines, and a task that is alone has no number.
    terminal: String,
    /// Tasks that strace has.
    attached: BTreeSet<usize>,
    /// A task that it gets once so much of the next line is written.
    interrupts: Option<(usize, usize)>,
    /// By table, number and path of each descriptor, and the open file.
    tables: Vec<BTreeMap<u64, (usize, usize)>>,
    /// The table of each task; nothing of one that ended.
    tasks: Vec<Option<usize>>,
    positions: Vec<u64>,
    /// Open files whose writes append; those that one has moved to an end that the log does not have; and the ends of the files.
    append: BTreeSet<usize>,
    at_end: BTreeSet<usize>,
    ends: [u64; 2],
    /// Reads there.
    at_ends: usize,
    /// Where each read began. Its length is its place here and 1.
    reads: Vec<u64>,
    /// Tasks in a call, what it makes, and how many there were at once.
    making: BTreeMap<usize, (usize, &'static str)>,
    at_once: usize,
}

const FIRST: usize = 100;

impl Kernel {
    fn line(&mut self, task: usize, text: &str) {
        let number = FIRST + task;
        self.log += &format!("{number} {text}\n");
        if self.attached.insert(task) {
            self.terminal += &format!("strace: Process {number} attached\n");
        }
        if self.attached.len() > 1 {
            self.terminal += &format!("[pid {number:>5}] ");
        }
        let (at, other) = self.interrupts.take().unzip();
        let (begun, rest) = text.split_at(at.unwrap_or(text.len()));
        self.terminal += begun;
        if let Some(other) = other {
            self.attached.insert(other);
            self.terminal += &format!("strace: Process {} attached\n", FIRST + other);
        }
        self.terminal += &format!("{rest}\n");
        if text.starts_with("+++") {
            self.attached.remove(&task);
        }
    }

    /// What is read (-e read=), and where (-k).
    fn beside(&mut self) {
        for log in [&mut self.log, &mut self.terminal] {
            *log += " | 00000  2e 28 29 20 3d 20 37 20                           .() = 7          |\n\n > /l/c.so(read+0xd) [0x1]\n";
        }
    }

    /// What `what` says, of the descriptor that `which` says.
    fn act(&mut self, task: usize, what: u8, which: u8) {
        let Some(table) = self.tasks[task].filter(|_| !self.making.contains_key(&task)) else { return };
        let path = |it: usize| ["/d/a", "/d/b"][it];
        let free = |of: &BTreeMap<u64, (usize, usize)>| (3..).find(|it| !of.contains_key(it)).unwrap();
        let all: Vec<(u64, (usize, usize))> = self.tables[table].iter().map(|it| (*it.0, *it.1)).collect();
        let chosen = all.get(which as usize % all.len().max(1)).copied();
        match (what % 8, chosen) {
            (0, _) if all.len() < 4 => {
                let (number, at) = (free(&self.tables[table]), which as usize % 2);
                self.tables[table].insert(number, (at, self.positions.len()));
                let appends = which.is_multiple_of(5);
                if appends {
                    self.append.insert(self.positions.len());
                }
                self.positions.push(0);
                let flags = if appends { "O_RDWR|O_APPEND" } else { "O_RDWR" };
                self.line(task, &format!("openat(AT_FDCWD</>, \"x\", {flags}) = {number}<{}>", path(at)));
            }
            (1, Some((number, _))) if which.is_multiple_of(5) => {
                self.tables[table].retain(|it, _| *it < number);
                self.line(task, &format!("close_range({number}, 4294967295, 0) = 0"));
            }
            (1, Some((number, (at, _)))) => {
                self.tables[table].remove(&number);
                self.line(task, &format!("close({number}<{}>) = 0", path(at)));
            }
            (2, Some((number, (at, open)))) => {
                let to = if which.is_multiple_of(2) { free(&self.tables[table]) } else { all[0].0 };
                self.tables[table].insert(to, (at, open));
                let path = path(at);
                self.line(task, &format!("dup2({number}<{path}>, {to}) = {to}<{path}>"));
            }
            (3, Some((number, (at, open)))) => {
                self.positions[open] = u64::from(which) * 1000;
                self.at_end.remove(&open);
                let to = self.positions[open];
                self.line(task, &format!("lseek({number}<{}>, {to}, SEEK_SET) = {to}", path(at)));
            }
            (4, Some((number, (at, open)))) => {
                if self.append.contains(&open) {
                    self.at_end.insert(open);
                    self.positions[open] = self.ends[at];
                }
                self.positions[open] += 7000;
                self.ends[at] = self.ends[at].max(self.positions[open]);
                self.line(task, &format!("write({number}<{}>, \"x\"..., 7000) = 7000", path(at)));
            }
            (_, Some((number, (at, open)))) => {
                self.at_ends += usize::from(self.at_end.contains(&open));
                let bytes = self.reads.len() as u64 + 1;
                self.reads.push(self.positions[open]);
                self.positions[open] += bytes;
                self.line(task, &format!("read({number}<{}>, \"x\"..., 9999) = {bytes}", path(at)));
                if which.is_multiple_of(4) {
                    self.beside();
                }
            }
            _ => {}
        }
    }

    /// A thread, or a process, which may act before the call returns.
    fn make(&mut self, task: usize, how: u8, returns: bool) {
        let free = self.tasks[task].filter(|_| self.tasks.len() < 10 && !self.making.contains_key(&task));
        let Some(table) = free else { return };
        let child = self.tasks.len();
        let shares = how.is_multiple_of(3);
        if !shares {
            self.tables.push(self.tables[table].clone());
        }
        self.tasks.push(Some(if shares { table } else { self.tables.len() - 1 }));
        let call = ["clone(flags=CLONE_VM|CLONE_FILES", "vfork(", "clone3({flags=SIGCHLD}, 88"][how as usize % 3];
        self.interrupts = Some((call.len(), child)).filter(|_| how < 128);
        if returns {
            return self.line(task, &format!("{call}) = {}", FIRST + child));
        }
        self.line(task, &format!("{call} <unfinished ...>"));
        self.making.insert(task, (child, call));
        self.at_once = self.at_once.max(self.making.len());
    }

    fn made(&mut self, task: usize) {
        if let Some((child, call)) = self.making.remove(&task) {
            let name = call.split_once('(').unwrap().0;
            self.line(task, &format!("<... {name} resumed>) = {}", FIRST + child));
        }
    }

    /// Has descriptors of its own from now on.
    fn part(&mut self, task: usize, how: u8) {
        let Some(table) = self.tasks[task].filter(|_| !self.making.contains_key(&task)) else { return };
        self.tables.push(self.tables[table].clone());
        self.tasks[task] = Some(self.tables.len() - 1);
        let calls = ["unshare(CLONE_FILES) = 0", "close_range(90, 99, CLOSE_RANGE_UNSHARE) = 0"];
        self.line(task, calls[how as usize % 2]);
    }

    fn end(&mut self, task: usize) {
        if !self.making.contains_key(&task) && self.tasks[task].take().is_some() {
            self.line(task, "+++ exited with 0 +++");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn reads_of_processes_and_threads_come_out_where_they_were_or_not_at_all(
        steps in proptest::collection::vec((any::<u8>(), 0u8..16, any::<u8>()), 0..60),
    ) {
        let attached = BTreeSet::from([0]);
        let mut kernel = Kernel { tables: vec![BTreeMap::new()], tasks: vec![Some(0)], attached, ..Kernel::default() };
        kernel.line(0, "execve(\"q\", [\"q\"], 0x7f) = 0");
        for (task, what, which) in steps {
            let task = task as usize % kernel.tasks.len();
            match what {
                0..8 => kernel.act(task, what, which),
                8 => kernel.part(task, which),
                9 | 10 => kernel.make(task, which, true),
                11 | 12 => kernel.make(task, which, false),
                13 | 14 => kernel.made(task),
                _ => kernel.end(task),
            }
        }
        if kernel.reads.is_empty() {
            return Ok(());
        }
        // Without the calls that make them some are left out, and as long as several are being made at once.
        let makes = ["clone", "vfork", "execve", "unshare", "UNSHARE"];
        let less: String = kernel.log.lines().filter(|it| !makes.iter().any(|make| it.contains(make))).map(|it| format!("{it}\n")).collect();
        // Of a child without a line only the terminal shows that strace has it.
        let what = |log| of(log).map(|it| (it.accesses, it.header.left_out));
        prop_assert_eq!(what(&kernel.terminal), what(&kernel.log), "{}", kernel.terminal);
        for log in [&kernel.log, &less] {
            match of(log) {
                Ok(imported) => {
                    let (all, left_out) = (kernel.reads.len(), imported.header.left_out.unknown_offset as usize);
                    for it in &imported.accesses {
                        prop_assert_eq!(it.offset, kernel.reads[it.bytes as usize - 1], "{}", log);
                    }
                    prop_assert_eq!(imported.accesses.len() + left_out, all);
                    prop_assert!(left_out == kernel.at_ends || kernel.at_once > 1 || *log == less, "{}", log);
                }
                Err(mistake) => prop_assert!(matches!(mistake.wrong, Wrong::NoOffset { .. }), "{}", mistake),
            }
        }
    }
}

#[test]
fn a_descriptor_that_another_thread_opened_again_begins_at_its_new_position() {
    let log = "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
               2 read(3</d/a>, \"x\", 10) = 10\n\
               1 close(3</d/a>) = 0\n\
               1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
               2 read(3</d/a>, \"x\", 10) = 10\n\
               1 read(3</d/a>, \"x\", 10) = 10\n";
    // It may be a child, which has what was opened first.
    let of_two = of(log).unwrap();
    assert_eq!((accesses(&of_two), of_two.header.left_out.unknown_offset), (vec![(0, 0, 10)], 2));
    let with = |made: &str| {
        let imported = of(&format!("1 execve(\"q\", [\"q\"], 0x7f) = 0\n{}", log.replacen("\n2 ", made, 1))).unwrap();
        assert_eq!((imported.header.coverage, imported.header.left_out), (1.0, LeftOut::default()));
        accesses(&imported).iter().map(|it| it.1).collect::<Vec<u64>>()
    };
    assert_eq!(with("\n1 clone(flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2\n2 "), [0, 0, 10]);
    for made in ["\n1 fork() = 2\n2 ", "\n1 clone3({flags=SIGCHLD}, 88) = 2\n2 "] {
        assert_eq!(with(made), [0, 10, 0], "{made}");
    }
}

#[test]
fn what_was_open_before_the_log_has_one_position_in_all_that_inherit_it() {
    let log = "1 execve(\"q\", [\"q\"], 0x7f) = 0\n1 fork() = 2\n1 fork() = 3\n\
               2 read(0</d/a>, \"x\", 10) = 10\n2 lseek(0</d/a>, 100, SEEK_SET) = 100\n3 read(0</d/a>, \"x\", 10) = 10\n\
               1 lseek(0</d/a>, 0, SEEK_SET) = 0\n2 read(0</d/a>, \"x\", 10) = 10\n1 read(0</d/a>, \"x\", 10) = 10\n\
               3 close(0</d/a>) = 0\n3 openat(AT_FDCWD, \"a\", O_RDONLY) = 0</d/a>\n3 read(0</d/a>, \"x\", 10) = 10\n";
    let imported = of(log).unwrap();
    assert_eq!(accesses(&imported), [(0, 100, 10), (0, 0, 10), (0, 10, 10), (0, 0, 10)]);
    assert_eq!(imported.header.left_out.unknown_offset, 1);
}

#[test]
fn a_thread_that_executes_a_program_goes_on_with_the_descriptors_of_its_process() {
    let log = "1 execve(\"q\", [\"q\"], 0x7f) = 0\n1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
               1 clone(flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2\n2 read(3</d/a>, \"x\", 10) = 10\n\
               2 execve(\"p\", [\"p\"], 0x7f <unfinished ...>\n1 +++ superseded by execve in pid 2 +++\n\
               1 <... execve resumed>) = 0\n1 read(3</d/a>, \"x\", 10) = 10\n1 fork() = 2\n2 read(3</d/a>, \"x\", 10) = 10\n";
    let imported = of(log).unwrap();
    assert_eq!((accesses(&imported).len(), imported.header.coverage), (3, 1.0));
    assert_eq!(imported.accesses.iter().map(|it| it.offset).collect::<Vec<_>>(), [0, 10, 20]);
}

#[test]
fn a_log_in_which_processes_make_each_other_ends() {
    let log =
        |lines: &[&str]| lines.concat() + "1 read(9</d/a>, \"x\", 10) = 10\n1 pread64(9</d/a>, \"x\", 10, 5) = 10\n";
    let all = [
        log(&["1 fork() = 1\n"]),
        log(&["1 read(3</x>, \"x\", 1) = 1\n2 read(3</x>, \"x\", 1) = 1\n1 fork() = 2\n2 fork() = 1\n"]),
        log(&["1 fork( <unfinished ...>\n1 fork( <unfinished ...>\n1 <... fork resumed>) = 1\n"]),
        log(&["1 clone(flags=CLONE_FILES) = 1\n2 clone(flags=CLONE_FILES) = 1\n1 clone(flags=CLONE_FILES) = 2\n"]),
    ];
    for it in all {
        assert_eq!(of(&it).unwrap().accesses.len(), 1, "{it}");
    }
}

proptest! {
    #[test]
    fn calls_in_any_order_of_any_processes_end_in_no_panic(
        lines in proptest::collection::vec((0u8..4, 0usize..12, 0u8..4), 0..60),
    ) {
        let line = |(thread, what, other): (u8, usize, u8)| {
            let text = [
                "fork( <unfinished ...>".to_string(),
                format!("<... fork resumed>) = {other}"),
                format!("clone(flags=CLONE_FILES) = {other}"),
                "clone(flags=CLONE_FILES <unfinished ...>".into(),
                format!("<... clone resumed>) = {other}"),
                "+++ exited with 0 +++".into(),
                format!("+++ superseded by execve in pid {other} +++"),
                format!("execve(\"p\" <pid changed to {other} ...>"),
                "<... execve resumed>) = 0".into(),
                "unshare(CLONE_FILES) = 0".into(),
                format!("dup2(3</d/a>, {other}) = {other}</d/a>"),
                format!("read({other}</d/a>, \"x\", 10) = 10"),
            ];
            // Without a number as long as there is one.
            if thread == 0 { format!("{}\n", text[what]) } else { format!("{thread} {}\n", text[what]) }
        };
        let _ = of(&lines.into_iter().map(line).collect::<String>());
    }
}

#[test]
fn a_process_that_gets_the_number_of_one_that_ended_has_none_of_its_descriptors() {
    let log = "1 execve(\"q\", [\"q\"], 0x7f) = 0\n1 fork() = 2\n\
               2 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n2 read(3</d/a>, \"x\", 10) = 10\n2 +++ exited with 0 +++\n\
               1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n1 fork() = 2\n2 read(3</d/a>, \"x\", 10) = 10\n\
               1 read(3</d/a>, \"x\", 10) = 10\n2 recvmsg(4<socket:[7]>, {}, 0) = 1\n2 read(5</d/a>, \"x\", 10) = 10\n";
    let imported = of(log).unwrap();
    assert_eq!(accesses(&imported), [(0, 0, 10), (0, 0, 10), (0, 10, 10)]);
    assert_eq!(imported.header.left_out.unknown_offset, 1, "what came through the socket");
}

#[test]
fn threads_of_one_process_have_the_descriptors_of_each_other() {
    let log = |flags: &str| {
        format!(
            "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
             1 read(3</d/a>, \"x\", 10) = 10\n\
             1 clone(child_stack=0x7f, flags={flags}, tls=0x7f <unfinished ...>\n\
             2 close(3</d/a>) = 0\n\
             2 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
             1 <... clone resumed>) = 2\n\
             1 read(3</d/a>, \"x\", 10) = 10\n\
             2 read(3</d/a>, \"x\", 10) = 10\n"
        )
    };
    let offsets = |flags| accesses(&of(&log(flags)).unwrap()).iter().map(|it| it.1).collect::<Vec<u64>>();
    assert_eq!(offsets("CLONE_VM|CLONE_FILES|CLONE_THREAD"), [0, 0, 10]);
    assert_eq!(offsets("SIGCHLD"), [0, 10, 0], "each has its own");
}

#[test]
fn accesses_have_the_threads_that_made_them_numbered_as_they_began_to_read_what_is_meant() {
    let log = |threads: &[&str], path: &str| -> String {
        threads.iter().map(|it| format!("{it}pread64(3<{path}>, \"x\", 10, 0) = 10\n")).collect()
    };
    let threads = |log: &str| -> Vec<u32> {
        let imported = import(log.as_bytes(), &["/d/a".into()]).unwrap();
        imported.accesses.iter().map(|it| it.thread).collect()
    };
    let other = log(&["4710 "], "/d/other");
    assert_eq!(threads(&(other + &log(&["4712 ", "4711 ", "4712 ", "4713 "], "/d/a"))), [0, 1, 0, 2]);
    let sent = "4711 sendfile(9<socket:[7]>, 3</d/a>, [0] => [10], 10) = 10\n";
    assert_eq!(threads(&(log(&["4712 "], "/d/a") + sent)), [0, 1]);
    // As long as there is one thread, strace does not say its number.
    assert_eq!(threads(&log(&["", "[pid 4711] ", "[pid 4712] ", ""], "/d/a")), [0, 0, 1, 0]);
    // A child may be the first that has one.
    let after = log(&["[pid 4712] ", "[pid 4711] ", ""], "/d/a");
    assert_eq!(threads(&format!("{}strace: Process 4712 attached\n{after}", log(&[""], "/d/a"))), [0, 1, 0, 0]);
    let forked = "fork() = 4712\n".to_string();
    assert_eq!(threads(&(forked + &after)), [0, 1, 1]);
    // The kernel gives the number of one that ended to another one.
    let ended = |thread: &str| format!("{thread}+++ exited with 0 +++\n");
    let read = |thread: &str| log(&[thread], "/d/a");
    let turns = ["7 ", "8 ", "7 "].map(|it| read(it) + &ended(it)).concat();
    assert_eq!(threads(&turns), [0, 1, 2]);
    assert_eq!(threads(&(ended("9 ") + &read("7 ") + &read("8 "))), [0, 1]);
}

#[test]
fn a_line_without_a_number_is_of_the_only_thread_that_strace_has_then() {
    let read = |thread: &str, bytes: u64| format!("{thread}read(3</d/a>, \"x\", 99) = {bytes}\n");
    let opened = "openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n";
    let places = |log: &str| -> Vec<(u32, u64)> {
        let imported = of(log).unwrap();
        assert_eq!((imported.header.coverage, imported.header.not_seen), (1.0, NotSeen::default()), "{log}");
        imported.accesses.iter().map(|it| (it.thread, it.offset)).collect()
    };
    // As strace 6.1 writes it to where the messages of the program go.
    let began = "clone(child_stack=NULL, flags=SIGCHLDstrace: Process 12 attached\n";
    let child = read("[pid    12] ", 2) + "[pid    12] +++ exited with 0 +++\n";
    let forks = |rest: &str| format!("{opened}{}{began}{rest}", read("", 1));
    let returned = ", child_tidptr=0x7f) = 12\n";
    assert_eq!(places(&(forks(returned) + &child + &read("", 4))), [(0, 0), (1, 1), (0, 3)]);
    let resumed = "[pid    11] <... clone resumed>, child_tidptr=0x7f) = 12\n";
    let both = forks(" <unfinished ...>\n") + &read("[pid    12] ", 2) + resumed + &read("[pid    11] ", 4);
    assert_eq!(places(&(both.clone() + &read("[pid    12] ", 8))), [(0, 0), (1, 1), (0, 3), (1, 7)]);
    // The first one ends, and the other one goes on.
    assert_eq!(
        places(&(both + "[pid    11] +++ exited with 0 +++\n" + &read("", 8))),
        [(0, 0), (1, 1), (0, 3), (1, 7)]
    );
    // Where strace says nothing of new threads (-q): one that does something else than to end the call of the first is not it.
    let quiet =
        forks(" <unfinished ...>\n").replace("strace: Process 12 attached\n", "") + &read("[pid    12] ", 2) + resumed;
    assert_eq!(places(&(quiet + &read("[pid    11] ", 4))), [(0, 0), (1, 1), (0, 3)]);
    // A process that was there before the log begins has a number as soon as there are others.
    let there = "strace: Process 11 attached\n".to_string() + &forks(returned) + &child + &read("[pid    11] ", 4);
    assert_eq!(places(&(there + &read("", 8))), [(0, 0), (1, 1), (0, 3), (0, 7)]);
    // Seconds are no number of a thread.
    let timed: String = [opened, &read("", 1)]
        .iter()
        .zip(["1795878086 ", "1795878087 "])
        .map(|it| format!("{}{}", it.1, it.0))
        .collect();
    assert_eq!(places(&(timed + "1795878088 " + &read("", 2))), [(0, 0), (0, 1)]);
}

#[test]
fn where_threads_move_one_position_at_once_it_is_known_only_after_them() {
    const BEGIN: &str = "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n\
        1 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2\n";
    // The reads that have an offset, and how many have none.
    let read = |lines: &[&str]| -> (Vec<(u32, u64)>, u64) {
        let imported = of(&(BEGIN.to_string() + &lines.join("\n") + "\n")).unwrap();
        let placed = imported.accesses.iter().map(|it| (it.thread, it.offset)).collect();
        (placed, imported.header.left_out.unknown_offset)
    };
    let (begun, whole) = ("1 read(3</d/a>,  <unfinished ...>", "2 read(3</d/a>, \"x\", 10) = 10");
    let resumed = "1 <... read resumed>\"x\", 5) = 5";
    let (after, last) = ("1 read(3</d/a>, \"x\", 7) = 7", "2 read(3</d/a>, \"x\", 1) = 1");
    assert_eq!(read(&[begun, whole, resumed, after, last]), (vec![(0, 15), (1, 22)], 2));
    // One that begins and ends while another one is in its call, and one that only begins then.
    let (two, ends) = ("2 read(3</d/a>,  <unfinished ...>", "2 <... read resumed>\"x\", 10) = 10");
    assert_eq!(read(&[begun, two, resumed, ends, after]), (vec![(0, 15)], 2));
    assert_eq!(read(&[begun, two, ends, resumed, last]), (vec![(0, 15)], 2));
    // A seek beside a read: which of them came first decides where it is from then on.
    let (seek, there) = ("2 lseek(3</d/a>, 100, SEEK_SET) = 100", "2 lseek(3</d/a>, 50, SEEK_SET) = 50");
    assert_eq!(read(&[begun, seek, resumed, last, there, after]), (vec![(0, 50)], 2));
    // Other files and other offsets stay known.
    let elsewhere = "2 pread64(3</d/a>, \"x\", 9, 300) = 9";
    assert_eq!(read(&[begun, elsewhere, resumed, last]), (vec![(0, 300), (1, 0), (0, 5)], 0));
    let other = ["2 openat(AT_FDCWD, \"b\", O_RDONLY) = 4</d/b>", begun, "2 read(4</d/b>, \"x\", 8) = 8", resumed];
    assert_eq!(read(&other), (vec![(0, 0), (1, 0)], 0));
    // The same open file under another number.
    let duplicate = ["1 dup(3</d/a>) = 5</d/a>", begun, "2 read(5</d/a>, \"x\", 10) = 10", resumed, after];
    assert_eq!(read(&duplicate), (vec![(0, 15)], 2));
    // One that was open before the log begins, whose position a seek sets while it is read.
    let (before, set) = ("1 read(0</d/c>,  <unfinished ...>", "2 lseek(0</d/c>, 100, SEEK_SET) = 100");
    assert_eq!(read(&[before, set, resumed, "2 read(0</d/c>, \"x\", 3) = 3", last]), (vec![(0, 0)], 2));
    // One that ends within its call may have moved it.
    let gone = "1 <... read resumed> <unfinished ...>) = ?";
    assert_eq!(read(&[begun, gone, last, there, last]), (vec![(0, 50)], 1));
    assert_eq!(read(&[begun, "1 +++ killed by SIGKILL +++", last, there, last]), (vec![(0, 50)], 1));
    let handed = "2 sendfile(4</d/b>, 3</d/a>, NULL, 20 <unfinished ...>";
    assert_eq!(read(&[handed, after, "2 <... sendfile resumed>) = 20", last]), (vec![(0, 27)], 2));
}

#[test]
fn what_is_wrong_with_a_log_is_said_with_its_line_and_with_what_to_try() {
    let says = |log: &str, words: &[&str]| {
        let mistake = of(log).unwrap_err().to_string();
        assert!(words.iter().all(|it| mistake.contains(it)), "{mistake}");
    };
    says("", &["neither the output of strace", "strace -f -y"]);
    says("<html>\n", &["neither"]);
    says("1 close(3</a>) = 0\n1 read(3, \"\", 10) = 10\n", &["line 2", "strace -y"]);
    says("1 pread64(3</a>, \"\", 10, x) = 10\n", &["line 1", "pread64"]);
    says("1 read(3</a>, \"\", 10) = 99999999999999999999999\n", &["line 1", "read"]);
    says("1 close(3</a>) = 0\n", &["no read of a file", super::RECORD_WITH]);
    says("1 read(0</a>, \"\", 10) = 10\n", &["none of the 1 reads", "trace=%desc"]);
    let unplaced = import("1 read(0</a>, \"\", 10) = 10\n".as_bytes(), &["/a".into()]).unwrap_err();
    assert_eq!(unplaced.wrong, Wrong::NoOffset { reads: 1 });
    says("1 mmap(NULL, 1, PROT_READ, MAP_SHARED, 3</a>, 0) = 0x7f\n", &["1 mappings", "no system call"]);
    says("fio version 3 iolog\n0 /a open\n/a read 0 10\n", &["line 3", "[TIME] FILE ACTION"]);
    says("fio version 2 iolog\n/a read 0\n", &["line 2"]);
    says("fio version 2 iolog\n/a jump 0 1\n", &["line 2", "/a jump 0 1"]);
    says(&format!("fio version 2 iolog\n{}", "x".repeat(LINE_BYTES_MAX as usize + 1)), &["line 2", "at most"]);
    let other = import("fio version 2 iolog\n/a read 0 1\n".as_bytes(), &["/b".into()]).unwrap_err();
    assert!(other.to_string().contains("/b was not read; files that were: /a"), "{other}");
}

#[test]
fn a_line_that_is_interrupted_is_no_longer_than_any_other() {
    let half = "x".repeat(LINE_BYTES_MAX as usize * 3 / 5);
    let begun = |data: &str| format!("1 read(3</d/a>, \"{data}strace: Process 2 attached\n");
    let opened = "1 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n";
    assert_eq!(accesses(&of(&format!("{opened}{}{half}\", 10) = 10\n", begun("x"))).unwrap()), [(0, 0, 10)]);
    for more in [format!("{half}\", 10) = 10\n"), format!("{half}strace: Process 3 attached\n")] {
        let long = Mistake { line: Some(2), wrong: Wrong::LongLine };
        assert_eq!(of(&format!("{}{more}", begun(&half))).unwrap_err(), long);
    }
}

#[test]
fn a_file_that_was_only_mapped_is_in_the_table_and_its_accesses_are_not_those_of_another_one() {
    let log = r#"1 pread64(3</usr/lib/libc.so.6>, "ELF"..., 832, 0) = 832
1 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_DENYWRITE, 3</usr/lib/libc.so.6>, 0) = 0x7f0000000000
1 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_DENYWRITE, 4</opt/plugin.so>, 0) = 0x7f0000010000
1 mmap(0x7f0000011000, 4096, PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_FIXED, 4</opt/plugin.so>, 0x1000) = 0x7f0000011000
1 mmap(NULL, 1048576, PROT_READ, MAP_SHARED, 5</data.bin>, 0) = 0x7f0000100000
"#;
    let imported = of(log).unwrap();
    let table: Vec<(&str, u64)> = imported.header.files.iter().map(|it| (it.path.as_str(), it.mappings)).collect();
    assert_eq!(table, [("/usr/lib/libc.so.6", 1), ("/data.bin", 1)], "what is executed is no data");
    assert_eq!(accesses(&imported), [(0, 0, 832)]);
    let trace = TraceFile::made(&imported.header, &imported.accesses).unwrap();
    // The measured file has another name than in the log, or that of another one.
    assert!(trace.of_file(None, std::path::Path::new("/proc/self/exe")).is_err());
    assert!(trace.of_file(Some("/data.bin"), std::path::Path::new("/")).is_err());
}

#[test]
fn both_versions_of_an_iolog_are_read_and_writes_are_counted_of_the_files_that_are_meant() {
    let entries = [
        "/d/x add",
        "/d/x open",
        "/d/x read 0 4096",
        "/d/y write 0 512",
        "/d/y trim 0 512",
        "/d/y read 512 0",
        "/d/x wait 300 0",
        "/d/y read 512 100",
        "/d/x sync 0 0",
        "/d/x close",
    ];
    let log = |version: u32, before: &str| -> String {
        let lines = entries.iter().map(|it| format!("{before}{it}\n"));
        std::iter::once(format!("fio version {version} iolog\n")).chain(lines).collect()
    };
    let second = of(&log(2, "")).unwrap();
    assert_eq!(accesses(&second), [(0, 0, 4096), (1, 512, 100)]);
    assert_eq!((second.header.left_out.writes, second.header.recorder.as_str()), (2, "fio iolog"));
    assert_eq!(of(&log(3, "1250 ")), Ok(second));
    let left_out = |path: &str| import(log(2, "").as_bytes(), &[path.into()]).unwrap().header.left_out;
    assert_eq!(left_out("/d/x"), LeftOut { other_files: 1, ..LeftOut::default() });
    assert_eq!(left_out("/d/y"), LeftOut { other_files: 1, writes: 2, at_end: 1, ..LeftOut::default() });
}

#[test]
fn a_log_that_closes_ranges_again_and_again_is_read_in_the_memory_of_its_length() {
    let mut log = String::new();
    for number in 3..1003 {
        log += &format!("1 openat(AT_FDCWD, \"f\", O_RDONLY) = {number}</f>\n");
    }
    (0..1000).for_each(|_| log += "1 close_range(3, 4294967295, 0) = 0\n");
    log += "1 openat(AT_FDCWD, \"f\", O_RDONLY) = 3</f>\n1 read(3</f>, \"x\", 1) = 1\n";
    assert_eq!(accesses(&of(&log).unwrap()), [(0, 0, 1)]);
}

#[test]
fn an_iolog_names_no_path_with_a_space() {
    let header =
        Header::new("strace", vec![TracedFile { path: "/a b".into(), ..TracedFile::default() }], LeftOut::default());
    assert_eq!(iolog(&header, std::iter::empty()), Err(NoIolog::Path("/a b".into())));
}

#[test]
fn what_a_log_shows_of_reads_that_it_does_not_have_is_said_and_does_not_lower_the_coverage() {
    let read = "100 pread64(3</d/a>, \"x\", 10, 0) = 10\n";
    let not_seen = |more: &str| {
        let header = of(&format!("{read}{more}")).unwrap().header;
        assert_eq!(header.coverage, 1.0);
        (header.not_seen.rings, header.not_seen.incomplete.len())
    };
    let rings = [
        (
            "100 io_uring_setup(8, {flags=0}) = 4<anon_inode:[io_uring]>\n100 io_uring_enter(4, 1, 1, 0, NULL, 8) = 1\n",
            1,
        ),
        ("100 io_uring_setup(8, {}) = 4\n100 io_setup(8, [0x7f]) = 0\n100 io_submit(0x7f, 1, [{}]) = 1\n", 2),
        // Set up before.
        ("100 io_submit(0x7f, 1, [{}]) = 1\n100 io_submit(0x7f, 1, [{}]) = 1\n", 1),
        ("100 io_uring_setup(8, {}) = -1 ENOSYS (Function not implemented)\n", 0),
    ];
    for (more, expected) in rings {
        assert_eq!(not_seen(more), (expected, 0), "{more}");
    }
    let thread = "100 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88) = 101\n";
    for made in [thread, "100 vfork() = 101\n", "100 fork() = 101\n", "100 clone(child_stack=NULL, flags=0) = 101\n"] {
        assert_eq!(not_seen(made), (0, 1), "{made}");
        assert_eq!(not_seen(&format!("{made}101 +++ exited with 0 +++\n")), (0, 0), "{made}");
    }
    assert_eq!(not_seen("100 fork() = -1 EAGAIN (Resource temporarily unavailable)\n"), (0, 0));
}

#[test]
fn a_file_that_was_deleted_is_one_whatever_strace_puts_the_mark_behind() {
    for shown in ["/d/a>(deleted)", "/d/a (deleted)>"] {
        let read = format!("7 pread64(3<{shown}, \"x>, y\", 10, 4096) = 6\n7 pread64(4</d/b>, \"\", 10, 0) = 3\n");
        let imported = of(&read).unwrap();
        assert_eq!(imported.header.files.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["/d/a", "/d/b"]);
        assert_eq!(accesses(&imported), [(0, 4096, 6), (1, 0, 3)]);
        let after = format!("7 openat(AT_FDCWD, \"a\", O_RDONLY) = 3</d/a>\n7 read(3<{shown}, \"\", 10) = 10\n");
        assert_eq!(accesses(&of(&after).unwrap()), [(0, 0, 10)], "it is the one that was opened");
    }
}

#[test]
fn a_file_that_was_opened_by_a_name_like_a_mark_is_not_taken_for_a_deleted_one() {
    let opened = "7 openat(AT_FDCWD, \"a (deleted)\", O_RDONLY) = 3</d/a (deleted)>\n";
    let read = "7 pread64(3</d/a (deleted)>, \"\", 10, 4096) = 6\n7 pread64(4</d/a>(deleted), \"\", 10, 0) = 3\n";
    let imported = of(&format!("{opened}{read}")).unwrap();
    assert_eq!(imported.header.files.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["/d/a (deleted)", "/d/a"]);
    assert_eq!(accesses(&imported), [(0, 4096, 6), (1, 0, 3)]);
}

/// To search the line for the path before each of its marks takes a minute.
#[test]
fn a_name_may_have_as_many_marks_as_a_line_has_room_for() {
    let marks = " (deleted)>".repeat(90_000);
    let read = format!("7 pread64(3</d/a{marks}, \"\", 10, 4096) = 6\n");
    let imported = of(&read.repeat(10)).unwrap();
    assert_eq!(imported.header.files.iter().map(|it| it.path.len()).collect::<Vec<_>>(), [4 + 89_999 * 10]);
    assert_eq!(accesses(&imported), [(0, 4096, 6); 10]);
    // Each mark is of what stands before it, from the last bracket on.
    let two = "7 copy_file_range(3</d/a (deleted)>, [0], 4</d/b (deleted)>, [0], 10, 0) = 6\n";
    let opened = "7 openat(AT_FDCWD, \"b (deleted)\", O_RDWR) = 4</d/b (deleted)>\n";
    let path = |log: &str| of(log).unwrap().header.files[0].path.clone();
    assert_eq!([path(two), path(&format!("{opened}{two}"))], ["/d/a"; 2]);
    let back = "7 pread64(4</d/b (deleted)>, \"\", 10, 0) = 3\n";
    assert_eq!([path(back), path(&format!("{opened}{back}"))], ["/d/b", "/d/b (deleted)"]);
}

proptest! {
    #[test]
    fn what_is_exported_as_an_iolog_is_imported_again(
        parts in prop::collection::vec((0..2u32, 0..1u64 << 40, 1..100_000u64), 1..60),
    ) {
        let mut text = String::from("fio version 2 iolog\n");
        parts.iter().for_each(|(file, offset, bytes)| text += &format!("/f{file} read {offset} {bytes}\n"));
        let imported = of(&text).unwrap();
        let exported = iolog(&imported.header, imported.accesses.iter().copied()).unwrap();
        prop_assert_eq!(&of(&exported).unwrap(), &imported);
        // And as a trace.
        let bytes = imported.bytes().unwrap();
        let mut reader = Reader::new(&bytes[..]).unwrap();
        for access in &imported.accesses {
            prop_assert_eq!(reader.next_access().unwrap(), Some(*access));
        }
        prop_assert_eq!(reader.next_access(), Ok(None));
    }

    #[test]
    fn positional_reads_of_strace_come_back_whatever_the_data_looks_like(
        parts in prop::collection::vec((1..100_000u64, 0..1u64 << 40, "[ -~]{0,30}"), 1..40),
    ) {
        let line = |(bytes, offset, data): &(u64, u64, String)| {
            format!("77 pread64(9</d/f>, \"{}\"..., {bytes}, {offset}) = {bytes}\n", data.replace(['"', '\\'], "."))
        };
        let imported = of(&parts.iter().map(line).collect::<String>()).unwrap();
        let expected: Vec<(u32, u64, u64)> = parts.iter().map(|(bytes, offset, _)| (0, *offset, *bytes)).collect();
        prop_assert_eq!(accesses(&imported), expected);
    }

    #[test]
    fn no_log_makes_the_import_fail_otherwise_than_by_a_sentence(
        start in prop_oneof![Just("fio version 3 iolog\n"), Just("fio version 2 iolog\n"), Just("")],
        lines in prop::collection::vec(
            prop_oneof![
                "[ -~]{0,60}",
                "([0-9]{1,3} )?(read|lseek|openat|mmap|preadv2|write|close)\\([0-9]{0,3}<?/?[a-z>]{0,4}>?(, [-0-9a-z]{0,22}){0,4}\\) = -?[0-9]{0,22}",
                "[0-9]{1,3} /[a-z]{1,3} (read|write|open|wait) [0-9]{1,22} [0-9]{1,22}",
            ],
            0..12,
        ),
    ) {
        match of(&format!("{start}{}", lines.join("\n"))) {
            Ok(imported) => drop(imported.bytes()),
            Err(mistake) => prop_assert!(!mistake.to_string().is_empty()),
        }
    }

    #[test]
    fn any_bytes_are_a_log_or_a_sentence(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(import(&bytes[..], &[]));
    }

    #[test]
    fn a_log_of_strace_with_bytes_changed_is_a_log_or_a_sentence(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut log = STRACE.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(log.len());
            log[at] = byte;
        }
        drop(import(&log[..], &[]));
    }
}
