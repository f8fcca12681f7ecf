//! A program that reads a file in a known way, for the tests: what is seen of it from outside can be held against what
//! it does. It needs nothing but the standard library: the tests compile it, statically too.

use std::{
    env,
    ffi::{c_char, c_int, c_long, c_void},
    fs::{self, File},
    io::{self, IoSlice, Read, Seek, SeekFrom, Write},
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::{fs::FileExt, net::UnixDatagram},
    },
    process::{Command, ExitCode, Stdio},
    ptr, thread,
};

unsafe extern "C" {
    fn mmap(at: *mut c_void, bytes: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    fn mremap(at: *mut c_void, old_bytes: usize, bytes: usize, flags: c_int, ...) -> *mut c_void;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
    fn mlock(at: *const c_void, bytes: usize) -> c_int;
    fn posix_fadvise(file: c_int, offset: i64, bytes: i64, advice: c_int) -> c_int;
    fn readahead(file: c_int, offset: i64, bytes: usize) -> isize;
    fn syscall(number: c_long, ...) -> c_long;
    fn lseek(file: c_int, offset: i64, whence: c_int) -> i64;
    fn sendfile(to: c_int, from: c_int, offset: *mut i64, bytes: usize) -> isize;
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn sigaction(number: c_int, new: *const usize, old: *mut usize) -> c_int;
    fn sendmsg(socket: c_int, message: *const Message, flags: c_int) -> isize;
    fn recvmsg(socket: c_int, message: *mut Message, flags: c_int) -> isize;
    fn prctl(option: c_int, ...) -> c_int;
    fn setuid(user: u32) -> c_int;
    fn memfd_create(name: *const c_char, flags: u32) -> c_int;
    fn dup2(old: c_int, new: c_int) -> c_int;
    fn setitimer(which: c_int, new: *const c_long, old: *mut c_long) -> c_int;
}

/// As glibc has them on machines of 64 bits (socket(2), cmsg(3)).
#[repr(C)]
struct Message {
    name: *mut c_void,
    name_bytes: u32,
    parts: *mut [*mut c_void; 2],
    part_count: usize,
    control: *mut Control,
    control_bytes: usize,
    flags: c_int,
}

#[repr(C)]
struct Control {
    bytes: usize,
    level: c_int,
    kind: c_int,
    descriptor: c_int,
}

const SOL_SOCKET: c_int = 1;
const SCM_RIGHTS: c_int = 1;
const PROT_READ: c_int = 1;
const MAP_SHARED: c_int = 1;
const MAP_PRIVATE: c_int = 2;
const MAP_FIXED: c_int = 0x10;
const MAP_ANONYMOUS: c_int = 0x20;
const MREMAP_MAYMOVE: c_int = 1;
const MREMAP_FIXED: c_int = 2;
const MAP_POPULATE: c_int = 0x8000;
const MADV_RANDOM: c_int = 1;
const MADV_WILLNEED: c_int = 3;
const POSIX_FADV_WILLNEED: c_int = 3;
const POSIX_FADV_DONTNEED: c_int = 4;
const SIGALRM: c_int = 14;
const SIGCHLD: c_int = 17;
const ECHILD: i32 = 10;
const PR_SET_DUMPABLE: c_int = 4;
/// On every Linux.
const NOBODY: u32 = 65534;
/// The same on all architectures that this is compiled for.
const IO_URING_SETUP: c_long = 425;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["read", path, size, times] => File::open(path).and_then(|file| reads(file, number(size), number(times))),
        ["backwards", path, size, times] => backwards(path, number(size), number(times)),
        ["map", path] => map(path),
        ["known", read, mapped] => known(read, mapped, false),
        ["known-populated", read, mapped] => known(read, mapped, true),
        ["covered", path] => covered(path),
        ["in-memory", path] => in_memory(path),
        ["brought-in", how, path] => brought_in(how, path),
        ["tree", "read", folder] => tree(folder, whole_by_call),
        ["tree", "map", folder] => tree(folder, whole_by_mapping),
        ["windows", path, times] => windows(path, number(times)),
        ["threads", path, size, count] => threads(path, number(size), number(count)),
        ["hand-on", path, size, times] => hand_on(path, size, times),
        ["given", path, size, times] => given(path, number(size), number(times)),
        ["give", path] => give(path),
        ["take"] => take(0).and_then(|file| reads(file, 4096, 20)),
        ["stdin", size, times] => reads(io::stdin(), number(size), number(times)),
        ["send", path, size, times] => send(path, number(size), number(times)),
        ["update", path, other] => update(path, other),
        ["say", text] => io::stdout().write_all(text.as_bytes()),
        ["ring"] => ring(),
        ["together", "children", path, list, lengths, times] => together_in_children(path, list, lengths, times),
        ["together", how, path, list, lengths, times] => together(how, path, list, [number(lengths), number(times)]),
        ["together-one", turn, list, lengths, times] => {
            // SAFETY: it is open, and owned once.
            let file = unsafe { File::from_raw_fd(0) };
            in_turn(&file, number(turn), [number(lengths), number(times)], false).and_then(|it| fs::write(list, it))
        }
        ["disowned", path] => disowned(path),
        ["replace", path, other] => replace(path, other),
        ["hide", how, path, other] => hide(how, path, other),
        _ => Err(io::Error::other(format!("{args:?} is nothing that this program does"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Ten blocks of the file, and of a file in memory a hundred, and ten more under the descriptor that the former had.
fn in_memory(path: &str) -> io::Result<()> {
    let (file, mut block) = (File::open(path)?, [1; 4096]);
    // SAFETY: a name that ends with 0; the descriptor is owned once.
    let memory = unsafe { File::from_raw_fd(memfd_create(c"memory".as_ptr(), 0)) };
    memory.write_all_at(&[1; 64 << 10], 0)?;
    let read = |from: &File, block: &mut [u8], times: u64| -> io::Result<()> {
        (0..times).try_for_each(|at| from.read_exact_at(block, at % 16 * 4096))
    };
    read(&file, &mut block, 10)?;
    read(&memory, &mut block, 100)?;
    // SAFETY: both are open.
    if unsafe { dup2(memory.as_raw_fd(), file.as_raw_fd()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    read(&file, &mut block, 10)
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or(0)
}

/// So many calls of read(2).
fn reads(mut file: impl Read, size: usize, times: usize) -> io::Result<()> {
    let mut block = vec![0; size];
    (0..times).try_for_each(|_| file.read_exact(&mut block))
}

/// So many calls of pread(2), the last block first.
fn backwards(path: &str, size: usize, times: usize) -> io::Result<()> {
    let file = File::open(path)?;
    let mut block = vec![0; size];
    (0..times).rev().try_for_each(|at| file.read_exact_at(&mut block, (at * size) as u64))
}

/// A shared mapping, populated and advised.
fn map(path: &str) -> io::Result<()> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len() as usize;
    // SAFETY: a fresh mapping that is only read, within its bounds.
    unsafe {
        let at = mmap(ptr::null_mut(), bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file.as_raw_fd(), 0);
        if at as isize == -1 || madvise(at, bytes, MADV_RANDOM) != 0 {
            return Err(io::Error::last_os_error());
        }
        println!("{}", at.cast::<u8>().add(bytes - 1).read_volatile());
    }
    Ok(())
}

/// 64 calls that read here and there in one file, and 64 touches of pages of another one, which is mapped; all of them other
/// ones. One page is mapped by itself, too.
fn known(read: &str, mapped: &str, populated: bool) -> io::Result<()> {
    let file = File::open(read)?;
    for at in 0..64 {
        let mut block = vec![0; 100 + at];
        file.read_exact_at(&mut block, (at * 37 % 64 * 8192 + 5) as u64)?;
    }
    let file = File::open(mapped)?;
    let bytes = file.metadata()?.len() as usize;
    let flags = if populated { MAP_SHARED | MAP_POPULATE } else { MAP_SHARED };
    // SAFETY: fresh mappings that are only read, within their bounds.
    unsafe {
        let whole = mmap(ptr::null_mut(), bytes, PROT_READ, flags, file.as_raw_fd(), 0);
        let page = mmap(ptr::null_mut(), 4096, PROT_READ, MAP_SHARED, file.as_raw_fd(), 0);
        let advised = !populated || madvise(whole, bytes, MADV_WILLNEED) == 0;
        if whole as isize == -1 || page as isize == -1 || !advised {
            return Err(io::Error::last_os_error());
        }
        let touched = (0..64).map(|at| whole.cast::<u8>().add(at * 397 % 1024 * 4096).read_volatile());
        println!("{}", touched.map(u64::from).sum::<u64>());
    }
    Ok(())
}

/// Touches each page of a file through a mapping, in order, after something else that brings pages into the page cache.
fn brought_in(how: &str, path: &str) -> io::Result<()> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len() as usize;
    let checked = |done: bool| if done { Ok(()) } else { Err(io::Error::last_os_error()) };
    let map = |bytes: usize| {
        // SAFETY: a fresh mapping; callers only read it, within its bounds.
        let at = unsafe { mmap(ptr::null_mut(), bytes, PROT_READ, MAP_SHARED, file.as_raw_fd(), 0) };
        if at as isize == -1 { Err(io::Error::last_os_error()) } else { Ok(at) }
    };
    let touch = |at: *mut c_void, bytes: usize| {
        // SAFETY: within a mapping.
        let touched = (0..bytes).step_by(4096).map(|it| unsafe { at.cast::<u8>().add(it).read_volatile() });
        touched.map(u64::from).sum::<u64>()
    };
    // SAFETY: these calls touch no memory of this process, but for mappings that nothing else points into.
    unsafe {
        match how {
            "nothing" => {}
            "advice" => checked(posix_fadvise(file.as_raw_fd(), 0, 0, POSIX_FADV_WILLNEED) == 0)?,
            "readahead" => checked(readahead(file.as_raw_fd(), 0, bytes) == 0)?,
            "calls" => reads(&file, 100, 2)?,
            "small-mapping" => {
                let page = map(4096)?;
                touch(page, 4096);
                checked(munmap(page, 4096) == 0)?;
            }
            "mapping" => {
                let whole = map(bytes)?;
                touch(whole, bytes);
                checked(munmap(whole, bytes) == 0)?;
            }
            "mapping-that-stays" => drop(touch(map(bytes)?, bytes)),
            "mapping-then-calls" => {
                let whole = map(bytes)?;
                reads(&file, 64 << 10, bytes >> 16)?;
                println!("{}", touch(whole, bytes));
                return Ok(());
            }
            "growth" => {
                let part = map(bytes / 8)?;
                let whole = mremap(part, bytes / 8, bytes, MREMAP_MAYMOVE);
                checked(whole as isize != -1)?;
                println!("{}", touch(whole, bytes));
                return Ok(());
            }
            "lock" => {
                let whole = map(bytes)?;
                // The limit of an ordinary user is 8 MiB.
                checked(mlock(whole, bytes) == 0)?;
                println!("{}", touch(whole, bytes));
                return Ok(());
            }
            "lock-again" | "lock-and-evict" => {
                for _ in 0..2 {
                    let whole = map(bytes)?;
                    checked(mlock(whole, bytes) == 0)?;
                    checked(munmap(whole, bytes) == 0)?;
                    if how == "lock-and-evict" {
                        checked(posix_fadvise(file.as_raw_fd(), 0, 0, POSIX_FADV_DONTNEED) == 0)?;
                        return Ok(());
                    }
                }
                println!("{}", touch(map(bytes)?, 4096));
                return Ok(());
            }
            _ => return Err(io::Error::other(format!("{how:?} brings in nothing"))),
        }
    }
    println!("{}", touch(map(bytes)?, bytes));
    Ok(())
}

/// Three parts of a mapping of a file of 4 MiB, of which two become memory of no file: by a new mapping, and by one that is
/// moved there. Then a page of each is touched, and one at the end of the part that stays.
fn covered(path: &str) -> io::Result<()> {
    const PART: usize = 1 << 20;
    let file = File::open(path)?;
    // SAFETY: fresh mappings that are only read, within their bounds; nothing else points into what is replaced.
    unsafe {
        let whole = mmap(ptr::null_mut(), 4 * PART, PROT_READ, MAP_SHARED, file.as_raw_fd(), 0);
        let memory = MAP_PRIVATE | MAP_ANONYMOUS;
        let moved = mmap(ptr::null_mut(), PART, PROT_READ, memory, -1, 0);
        if whole as isize == -1 || moved as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        let touch = |at: usize| u64::from(whole.cast::<u8>().add(at).read_volatile());
        // One page of the first part before it is replaced, so that its place was a page of the file.
        let before = touch(4096);
        let first = mmap(whole, PART, PROT_READ, memory | MAP_FIXED, -1, 0);
        let second = whole.byte_add(PART);
        let second = mremap(moved, PART, PART, MREMAP_MAYMOVE | MREMAP_FIXED, second);
        if first as isize == -1 || second as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        let of_memory = touch(0) + touch(4096) + touch(PART) + touch(2 * PART - 4096);
        let after = touch(2 * PART) + touch(4 * PART - 4096);
        println!("{of_memory} {}", before + after);
    }
    Ok(())
}

/// Each file of a folder by itself, in the order of their names: the sum of all bytes.
fn tree(folder: &str, bytes_of: fn(&File) -> io::Result<u64>) -> io::Result<()> {
    let entries = std::fs::read_dir(folder)?.map(|it| it.map(|it| it.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    let mut sum = 0;
    for path in paths {
        sum += bytes_of(&File::open(path)?)?;
    }
    println!("{sum}");
    Ok(())
}

fn whole_by_call(mut file: &File) -> io::Result<u64> {
    let (mut block, mut sum) = (vec![0; 64 << 10], 0);
    loop {
        let bytes = file.read(&mut block)?;
        if bytes == 0 {
            return Ok(sum);
        }
        sum += block[..bytes].iter().map(|it| u64::from(*it)).sum::<u64>();
    }
}

fn whole_by_mapping(file: &File) -> io::Result<u64> {
    let bytes = file.metadata()?.len() as usize;
    // SAFETY: a fresh mapping that is only read, within its bounds, and unmapped once.
    unsafe {
        let at = mmap(ptr::null_mut(), bytes, PROT_READ, MAP_SHARED, file.as_raw_fd(), 0);
        if at as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        let sum = std::slice::from_raw_parts(at.cast::<u8>(), bytes).iter().map(|it| u64::from(*it)).sum();
        if munmap(at, bytes) == 0 { Ok(sum) } else { Err(io::Error::last_os_error()) }
    }
}

/// Nowhere, from offsets in memory.
fn send(path: &str, size: usize, times: usize) -> io::Result<()> {
    let (from, to) = (File::open(path)?, File::options().write(true).open("/dev/null")?);
    for at in (0..times).rev() {
        let mut offset = (at * size) as i64;
        // SAFETY: the call changes one number, which outlives it.
        if unsafe { sendfile(to.as_raw_fd(), from.as_raw_fd(), &raw mut offset, size) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Seven reads of 4 KiB at the position of an open file that is also written to, by several calls and by a child.
fn update(path: &str, other: &str) -> io::Result<()> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let (from, mut block) = (File::open(other)?, [7; 4096]);
    file.read_exact(&mut block)?;
    file.write_all(&block)?;
    file.read_exact(&mut block)?;
    let mut written = file.write_vectored(&[IoSlice::new(&block[..100]), IoSlice::new(&block[..50])])?;
    file.read_exact(&mut block)?;
    // SAFETY: the call touches no memory of this process.
    written += unsafe { sendfile(file.as_raw_fd(), from.as_raw_fd(), ptr::null_mut(), 1000) } as usize;
    if written != 1150 {
        return Err(io::Error::other("less was written than asked for"));
    }
    file.read_exact(&mut block)?;
    file.write_all_at(&block, 0)?;
    file.read_exact(&mut block)?;
    file.seek(SeekFrom::Start(100))?;
    file.read_exact(&mut block)?;
    let mut child = Command::new(env::current_exe()?);
    if !child.args(["say", "0123456789"]).stdout(Stdio::from(file.try_clone()?)).status()?.success() {
        return Err(io::Error::other("the child failed"));
    }
    file.read_exact(&mut block)
}

/// Two threads map the file again and again and touch one page each time, while signals come whose handler makes a call.
fn windows(path: &str, times: usize) -> io::Result<()> {
    extern "C" fn handler(_: c_int) {
        // SAFETY: the call touches no memory; there is no such descriptor.
        unsafe { lseek(-1, 0, 0) };
    }
    let file = File::open(path)?;
    let bytes = file.metadata()?.len() as usize;
    // SAFETY: the handler makes one call that is safe in one; the interval is two pairs of numbers.
    unsafe {
        signal(SIGALRM, handler);
        setitimer(0, [0, 500, 0, 500].as_ptr(), ptr::null_mut());
    }
    let window = |at: usize| {
        // SAFETY: a fresh mapping that is only read, within its bounds, and unmapped once.
        unsafe {
            let whole = mmap(ptr::null_mut(), bytes, PROT_READ, MAP_SHARED, file.as_raw_fd(), 0);
            if whole as isize == -1 || whole.cast::<u8>().add(at * 397 % 1024 * 4096).read_volatile() == 0 {
                return Err(io::Error::other("no mapping of a file without zeros"));
            }
            if munmap(whole, bytes) == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        }
    };
    thread::scope(|scope| {
        let parts: Vec<_> = (0..2).map(|part| scope.spawn(move || (0..times).try_for_each(|at| window(at * 2 + part)))).collect();
        parts.into_iter().try_for_each(|part| part.join().expect("a thread that only reads"))
    })
}

/// Each thread reads its part of the file through one descriptor.
fn threads(path: &str, size: usize, threads: usize) -> io::Result<()> {
    let file = File::open(path)?;
    let blocks = file.metadata()?.len() as usize / size;
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let file = &file;
                scope.spawn(move || {
                    let mut block = vec![0; size];
                    let own = blocks * part / threads..blocks * (part + 1) / threads;
                    own.into_iter().try_for_each(|at| file.read_exact_at(&mut block, (at * size) as u64))
                })
            })
            .collect();
        parts.into_iter().try_for_each(|part| part.join().expect("a thread that only reads"))
    })
}

const READERS: usize = 4;

/// Reads at the position of a file that others move as well, in turn of so many lengths. Each eight bytes of the file are the
/// offset that they lie at: a line says where each read really began, and its length.
fn in_turn(mut file: &File, turn: usize, [lengths, times]: [usize; 2], seeks: bool) -> io::Result<String> {
    let (mut block, mut list) = (vec![0; 8 * 100], String::new());
    for at in 0..times {
        if seeks && turn == 0 && at % 10 == 5 {
            file.seek(SeekFrom::Start(at as u64 * 800))?;
        }
        let read = file.read(&mut block[..8 * (1 + (at * 7 + turn * 13) % lengths)])?;
        if let Some(offset) = block[..read].first_chunk() {
            list.push_str(&format!("{} {read}\n", u64::from_ne_bytes(*offset)));
        }
    }
    Ok(list)
}

/// In threads, of which each may have a descriptor of its own (`clones`) or one may set the position (`seeks`).
fn together(how: &str, path: &str, list: &str, sizes: [usize; 2]) -> io::Result<()> {
    let (file, clones) = (File::open(path)?, if how == "clones" { READERS } else { 0 });
    let clones: Vec<File> = (0..clones).map(|_| file.try_clone()).collect::<io::Result<_>>()?;
    let lists: io::Result<Vec<String>> = thread::scope(|scope| {
        let begin = |turn: usize| {
            let own = clones.get(turn).unwrap_or(&file);
            scope.spawn(move || in_turn(own, turn, sizes, how == "seeks"))
        };
        let readers: Vec<_> = (0..READERS).map(begin).collect();
        readers.into_iter().map(|it| it.join().expect("no thread panics")).collect()
    });
    fs::write(list, lists?.concat())
}

/// As `together`, in processes that have the open file from this one.
fn together_in_children(path: &str, list: &str, lengths: &str, times: &str) -> io::Result<()> {
    let file = File::open(path)?;
    let of = |turn: usize| format!("{list}.{turn}");
    let begin = |turn: usize| -> io::Result<_> {
        let mut child = Command::new(env::current_exe()?);
        child.args(["together-one", &turn.to_string(), &of(turn), lengths, times]).stdin(file.try_clone()?).spawn()
    };
    let children: Vec<_> = (0..READERS).map(begin).collect::<io::Result<_>>()?;
    for mut child in children {
        child.wait()?;
    }
    let lists: io::Result<Vec<String>> = (0..READERS).map(|it| fs::read_to_string(of(it))).collect();
    fs::write(list, lists?.concat())
}

/// A child reads the file, and the kernel reaps it, because SIGCHLD is ignored.
fn disowned(path: &str) -> io::Result<()> {
    // SIG_IGN, without flags or a mask, in more room than the structure takes.
    let ignored = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: no handler is executed.
    unsafe { sigaction(SIGCHLD, ignored.as_ptr(), ptr::null_mut()) };
    let mut child = Command::new(env::current_exe()?).args(["read", path, "4096", "256"]).spawn()?;
    // The call fails once the child has ended (wait(2), ECHILD).
    match child.wait() {
        Err(error) if error.raw_os_error() == Some(ECHILD) => Ok(()),
        other => Err(io::Error::other(format!("the child was reaped by its parent: {other:?}"))),
    }
}

/// Half of the reads here, the other half by a child through the same open file.
fn hand_on(path: &str, size: &str, times: &str) -> io::Result<()> {
    let half = number(times) / 2;
    let file = File::open(path)?;
    reads(&file, number(size), half)?;
    let mut child = Command::new(env::current_exe()?);
    let status = child.args(["stdin", size, &half.to_string()]).stdin(Stdio::from(file)).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("the child failed")) }
}

/// Reads from the middle of a file on, through a descriptor that came through a socket and under a number that no open(2) gave.
fn given(path: &str, size: usize, times: usize) -> io::Result<()> {
    let (one, other) = UnixDatagram::pair()?;
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(file.metadata()?.len() / 2))?;
    pass(one.as_raw_fd(), &file)?;
    drop(file);
    reads(take(other.as_raw_fd())?, size, times)
}

/// 5,000 bytes here, twenty times 4 KiB in a child that the open file is passed to, then 5,000 more here.
fn give(path: &str) -> io::Result<()> {
    let (one, other) = UnixDatagram::pair()?;
    let file = File::open(path)?;
    reads(&file, 5000, 1)?;
    let mut child = Command::new(env::current_exe()?).arg("take").stdin(Stdio::from(OwnedFd::from(other))).spawn()?;
    pass(one.as_raw_fd(), &file)?;
    if !child.wait()?.success() {
        return Err(io::Error::other("the child failed"));
    }
    reads(&file, 5000, 1)
}

fn pass(socket: RawFd, file: &File) -> io::Result<()> {
    // SAFETY: the message and all that it refers to outlive the call.
    with_descriptor(file.as_raw_fd(), |message| unsafe { sendmsg(socket, message, 0) }).map(drop)
}

fn take(socket: RawFd) -> io::Result<File> {
    // SAFETY: the message and all that it refers to outlive the call; the descriptor is new, and owned once.
    unsafe { Ok(File::from_raw_fd(with_descriptor(-1, |message| recvmsg(socket, message, 0))?)) }
}

/// Sends or receives one byte with a descriptor: what it is afterwards.
fn with_descriptor(descriptor: RawFd, call: impl FnOnce(*mut Message) -> isize) -> io::Result<RawFd> {
    let mut control = Control { bytes: 20, level: SOL_SOCKET, kind: SCM_RIGHTS, descriptor };
    let mut byte = 0u8;
    let mut part = [(&raw mut byte).cast::<c_void>(), ptr::without_provenance_mut(1)];
    let mut message = Message {
        name: ptr::null_mut(),
        name_bytes: 0,
        parts: &raw mut part,
        part_count: 1,
        control: &raw mut control,
        control_bytes: size_of::<Control>(),
        flags: 0,
    };
    match call(&raw mut message) {
        1 => Ok(control.descriptor),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes a file of 4 KiB, reads and deletes it, and makes and reads another one of 1 MiB, which may get its inode.
fn replace(path: &str, other: &str) -> io::Result<()> {
    for (path, blocks) in [(path, 1), (other, 256)] {
        std::fs::write(path, vec![7; blocks << 12])?;
        reads(File::open(path)?, 4096, blocks)?;
        if blocks == 1 {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Two reads of a file, and eight of another one that it opens after the kernel has begun to hide it from others: it gives up being
/// dumpable, or being root.
fn hide(how: &str, path: &str, other: &str) -> io::Result<()> {
    let file = File::open(path)?;
    reads(&file, 4096, 2)?;
    // SAFETY: these calls touch no memory of this process.
    let hidden = unsafe {
        match how {
            "dumpable" => prctl(PR_SET_DUMPABLE, 0 as c_long),
            _ => setuid(NOBODY),
        }
    };
    if hidden != 0 {
        return Err(io::Error::last_os_error());
    }
    reads(File::open(other)?, 4096, 8)
}

fn ring() -> io::Result<()> {
    let mut parameters = [0u64; 32];
    // SAFETY: the kernel writes 120 bytes of parameters at most.
    match unsafe { syscall(IO_URING_SETUP, 2 as c_long, parameters.as_mut_ptr()) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
