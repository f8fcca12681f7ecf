//! Has one system call of a command fail, chosen by its number, with an error of choice. The calls are intercepted with seccomp and
//! answered here (seccomp_unotify(2)): the executable makes many of them itself and not through the C library, where
//! a preloaded library could intercept them. Only calls of the command's own process count, not those of its children.

use std::{
    fmt, fs, io,
    mem::{offset_of, size_of},
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use libc::{c_long, seccomp_data, seccomp_notif, seccomp_notif_resp, sock_filter, sock_fprog};

/// Calls of one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    Open,
    Write,
    Fsync,
    Rename,
    Link,
    Unlink,
    Mkdir,
    Rmdir,
}

impl CallKind {
    pub const ALL: [CallKind; 8] = [
        CallKind::Open,
        CallKind::Write,
        CallKind::Fsync,
        CallKind::Rename,
        CallKind::Link,
        CallKind::Unlink,
        CallKind::Mkdir,
        CallKind::Rmdir,
    ];

    /// Each with the place of its path among the arguments, or of its descriptor.
    fn calls(self) -> Vec<(c_long, usize)> {
        let mut calls = match self {
            CallKind::Open => vec![(libc::SYS_openat, 1), (libc::SYS_openat2, 1)],
            CallKind::Write => vec![(libc::SYS_write, 0), (libc::SYS_writev, 0), (libc::SYS_pwrite64, 0)],
            CallKind::Fsync => vec![(libc::SYS_fsync, 0), (libc::SYS_fdatasync, 0), (libc::SYS_syncfs, 0)],
            CallKind::Rename => vec![(libc::SYS_renameat2, 3)],
            CallKind::Link => vec![(libc::SYS_linkat, 3)],
            CallKind::Unlink | CallKind::Rmdir => vec![(libc::SYS_unlinkat, 1)],
            CallKind::Mkdir => vec![(libc::SYS_mkdirat, 1)],
        };
        #[cfg(target_arch = "x86_64")]
        calls.extend(match self {
            CallKind::Open => vec![(libc::SYS_open, 0), (libc::SYS_creat, 0)],
            CallKind::Rename => vec![(libc::SYS_rename, 1), (libc::SYS_renameat, 3)],
            CallKind::Link => vec![(libc::SYS_link, 1)],
            CallKind::Unlink => vec![(libc::SYS_unlink, 0)],
            CallKind::Mkdir => vec![(libc::SYS_mkdir, 0)],
            CallKind::Rmdir => vec![(libc::SYS_rmdir, 0)],
            CallKind::Write | CallKind::Fsync => vec![],
        });
        calls
    }

    fn of(data: &seccomp_data) -> Option<(CallKind, usize)> {
        let nr = c_long::from(data.nr);
        // unlink(2) and rmdir(2) share unlinkat(2).
        if nr == libc::SYS_unlinkat {
            let is_folder = data.args[2] & libc::AT_REMOVEDIR as u64 != 0;
            return Some((if is_folder { CallKind::Rmdir } else { CallKind::Unlink }, 1));
        }
        CallKind::ALL
            .into_iter()
            .find_map(|it| it.calls().into_iter().find(|(call, _)| *call == nr).map(|(_, at)| (it, at)))
    }

    /// The errors with which such calls fail, by their man pages; a path may be of any file system.
    pub fn errors(self, called: &Called) -> &'static [i32] {
        use libc::{EINTR, EIO, EMFILE, ENOSPC, EROFS};
        match self {
            CallKind::Open if called.only_reads => &[EIO, EMFILE, EINTR],
            CallKind::Open => &[ENOSPC, EIO, EROFS, EMFILE, EINTR],
            CallKind::Write => &[ENOSPC, EIO, EINTR],
            CallKind::Fsync => &[ENOSPC, EIO, EROFS, EINTR],
            CallKind::Rename | CallKind::Link | CallKind::Unlink | CallKind::Mkdir | CallKind::Rmdir => {
                &[ENOSPC, EIO, EROFS]
            }
        }
    }

    fn names_path(self) -> bool {
        !matches!(self, CallKind::Write | CallKind::Fsync)
    }
}

/// The call that fails, and how.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub kind: CallKind,
    /// From 1.
    pub nth: u64,
    pub errno: i32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?} {} fails with {}", self.kind, self.nth, io::Error::from_raw_os_error(self.errno))
    }
}

/// One call.
#[derive(Debug, Clone)]
pub struct Called {
    /// The path, or the descriptor and its path.
    pub about: String,
    /// Of an open: it creates and writes nothing.
    pub only_reads: bool,
}

/// The calls that were intercepted.
#[derive(Debug, Default)]
pub struct Intercepted {
    /// The calls of each kind in turn, in the order of `CallKind::ALL`.
    pub calls: [Vec<Called>; 8],
    /// What the call that failed was about.
    pub hit: Option<String>,
}

/// A command whose calls will be intercepted once it is started.
pub struct Prepared {
    socket: UnixStream,
    fault: Option<Fault>,
}

/// Answers a command's calls until all of its processes have ended.
pub struct Interception {
    thread: JoinHandle<io::Result<Intercepted>>,
    stop: Arc<AtomicBool>,
}

/// Without a fault calls are counted.
pub fn prepare(command: &mut Command, fault: Option<Fault>) -> Prepared {
    let (socket, childs) = UnixStream::pair().unwrap();
    let kinds: Vec<CallKind> = fault.map_or(CallKind::ALL.to_vec(), |it| vec![it.kind]);
    let filter = filter(&kinds.into_iter().flat_map(CallKind::calls).map(|it| it.0).collect::<Vec<c_long>>());
    // SAFETY: between fork and exec only system calls are made; nothing is allocated. The filter and the socket live in the
    // closure.
    unsafe {
        command.pre_exec(move || {
            let program = sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
                return Err(io::Error::last_os_error());
            }
            let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
            let listener = libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program);
            if listener < 0 {
                return Err(io::Error::last_os_error());
            }
            send(childs.as_raw_fd(), listener as RawFd)
        });
    }
    Prepared { socket, fault }
}

impl Prepared {
    /// To be called when the command was started.
    pub fn intercept(self, pid: u32) -> Interception {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || answer(&receive(&self.socket)?, pid, self.fault, &stopped));
        Interception { thread, stop }
    }
}

impl Interception {
    /// To be called when its processes have ended.
    pub fn end(self) -> Intercepted {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().unwrap()
    }
}

/// Whether the kernel lets a process answer calls of another.
pub fn is_possible() -> Result<(), String> {
    let mut command = Command::new("true");
    let prepared = prepare(&mut command, None);
    let mut child =
        command.spawn().map_err(|error| format!("system calls cannot be intercepted by seccomp here: {error}"))?;
    let interception = prepared.intercept(child.id());
    let _ = child.wait();
    interception.end();
    Ok(())
}

fn filter(calls: &[c_long]) -> Vec<sock_filter> {
    let statement = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset_of!(seccomp_data, nr) as u32)];
    for call in calls {
        // Skips the next statement where it is another call.
        program.push(sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: 0,
            jf: 1,
            k: *call as u32,
        });
        program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_USER_NOTIF));
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    program
}

fn answer(listener: &OwnedFd, pid: u32, fault: Option<Fault>, stop: &AtomicBool) -> io::Result<Intercepted> {
    let mut calls = Intercepted::default();
    loop {
        let mut poll = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure is passed.
        let ready = unsafe { libc::poll(&raw mut poll, 1, 20) };
        if poll.revents & libc::POLLIN == 0 {
            if poll.revents & libc::POLLHUP != 0 || ready == 0 && stop.load(Ordering::Relaxed) {
                return Ok(calls);
            }
            continue;
        }
        // SAFETY: all fields are numbers, and the kernel asks for zeros.
        let mut call: seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel fills in the structure that belongs to the request.
        if unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) } != 0 {
            // The process was killed meanwhile.
            continue;
        }
        let mut response =
            seccomp_notif_resp { id: call.id, val: 0, error: 0, flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32 };
        if let Some((kind, called)) = counted(&call, pid) {
            let of_kind = &mut calls.calls[kind as usize];
            if fault.is_some_and(|it| (it.kind, it.nth) == (kind, of_kind.len() as u64 + 1)) {
                (response.flags, response.error) = (0, -fault.map_or(0, |it| it.errno));
                calls.hit = Some(called.about.clone());
            }
            of_kind.push(called);
        }
        // SAFETY: the kernel reads the structure. It fails only if the process is gone.
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response) };
    }
}

/// A call of the command's own process, and what it is about. Not what is opened before its first instruction.
fn counted(call: &seccomp_notif, pid: u32) -> Option<(CallKind, Called)> {
    if call.pid != pid && !fs::exists(format!("/proc/{pid}/task/{}", call.pid)).is_ok_and(|it| it) {
        return None;
    }
    let (kind, at) = CallKind::of(&call.data)?;
    let argument = call.data.args[at];
    let about = match kind.names_path() {
        true => text(call.pid, argument),
        false => {
            let file = fs::read_link(format!("/proc/{pid}/fd/{argument}")).unwrap_or_default();
            format!("descriptor {argument}, {}", file.display())
        }
    };
    let of_the_loader = about == "/etc/ld.so.cache" || about.ends_with(".so") || about.contains(".so.");
    let flags = match c_long::from(call.data.nr) {
        libc::SYS_openat => Some(call.data.args[2]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => Some(call.data.args[1]),
        _ => None,
    };
    let only_reads = flags.is_some_and(|it| it as i32 & (libc::O_ACCMODE | libc::O_CREAT) == libc::O_RDONLY);
    (!of_the_loader).then_some((kind, Called { about, only_reads }))
}

/// A text in the memory of another process.
fn text(pid: u32, at: u64) -> String {
    let mut bytes = [0u8; 256];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // The next page may not be there. The kernel copies the parts before one that it cannot read (process_vm_readv(2)).
    let length = bytes.len().min(4096 - (at % 4096) as usize);
    let remote = |at: u64, iov_len| libc::iovec { iov_base: at as *mut libc::c_void, iov_len };
    let remote = [remote(at, length), remote(at + length as u64, bytes.len() - length)];
    // SAFETY: writes at most as many bytes as there is room for.
    unsafe { libc::process_vm_readv(pid as i32, &raw const local, 1, remote.as_ptr(), 2, 0) };
    let end = bytes.iter().position(|it| *it == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Room for one descriptor in a control message, aligned.
#[repr(C)]
union Control {
    header: libc::cmsghdr,
    bytes: [u8; 64],
}

/// Runs between fork and exec.
fn send(socket: RawFd, descriptor: RawFd) -> io::Result<()> {
    let mut byte = [0u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = Control { bytes: [0; 64] };
    // SAFETY: the message's parts live until it is sent; the control message is within its room, which is aligned.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(descriptor);
        if libc::sendmsg(socket, &raw const message, 0) != 1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = Control { bytes: [0; 64] };
    // SAFETY: as in `send`; the descriptor that comes with it has no other owner.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        (message.msg_control, message.msg_controllen) = ((&raw mut control).cast(), size_of::<Control>());
        if libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) < 0 {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::other("no descriptor came"));
        }
        Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    }
}
