//! A small BPF program at a tracepoint, and the ring buffer that it fills: bpf(2).
//!
//! The program filters events in the kernel, so that an event costs half of what perf_event_open(2) takes to record it.
//! BPF crates load objects made by a compiler; so few instructions need neither.

mod btf;
mod instruction;
mod ring;

use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

pub use instruction::*;
pub use ring::{Mark, Ring};

/// linux/bpf.h: commands, kinds of maps and of programs.
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const PROGRAM_LOAD: libc::c_int = 5;
const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
const ARRAY: u32 = 2;
const RING: u32 = 27;
const RAW_TRACEPOINT: u32 = 17;
const TRACING: u32 = 26;
/// Of a program of kind TRACING: at a tracepoint.
const AT_TRACEPOINT: u32 = 23;

/// The kernel reads so many of the fields of `union bpf_attr`, and takes the others for 0.
#[repr(C)]
#[derive(Default)]
struct NewMap {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct Element {
    map: u32,
    _gap: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    /// The log, the kernel's version, flags, name and interface.
    _unused: [u32; 11],
    attached_as: u32,
    /// Descriptions of the program's own functions and lines.
    _undescribed: [u32; 9],
    attached_to_type: u32,
}

#[repr(C)]
struct Attach {
    name: u64,
    program: u32,
    _gap: u32,
}

/// # Safety
/// Every address among the attributes is of memory that the command may read or write.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: the size is that of the attributes; the rest is the caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}

/// # Safety
/// As for `bpf`; and the command's result is a descriptor of its own.
unsafe fn descriptor<T>(command: libc::c_int, attributes: &T) -> Result<OwnedFd, String> {
    // SAFETY: the caller's promises.
    unsafe { bpf(command, attributes).map(|it| OwnedFd::from_raw_fd(it)) }.map_err(|error| explain(&error))
}

fn number(descriptor: &OwnedFd) -> u32 {
    descriptor.as_raw_fd() as u32
}

fn explain(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) => {
            "the kernel does not let this user record its events in this way (as root, or with CAP_BPF and CAP_PERFMON, \
             it would; before Linux 5.11 only if `ulimit -l` is some 8 MiB or more)"
                .into()
        }
        Some(libc::ENOSYS) => "this kernel was built without bpf(2)".into(),
        Some(libc::EINVAL) => "this kernel's bpf(2) has no ring buffers, which a recording needs (Linux 5.8)".into(),
        _ => format!("bpf(2): {error}"),
    }
}

/// Pairs of numbers which a program may read and change. The kernel compiles a lookup in an array into the program, so that
/// it takes no call.
pub struct Pairs(OwnedFd);

/// A number's place is behind those of the ones before it.
pub const PAIR: [i16; 2] = [0, 8];

impl Pairs {
    /// So many, all 0.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn new(entries: u32) -> Result<Pairs, String> {
        let map = NewMap { kind: ARRAY, key_bytes: 4, value_bytes: 16, entries, ..NewMap::default() };
        // SAFETY: no addresses; the result is the map.
        unsafe { descriptor(MAP_CREATE, &map) }.map(Pairs)
    }

    /// # Errors
    /// There are not so many.
    pub fn get(&self, at: u32) -> Result<[u64; 2], String> {
        let mut pair = [0; 2];
        self.element(MAP_LOOKUP, at, &mut pair).map(|()| pair)
    }

    /// # Errors
    /// There are not so many.
    pub fn set(&self, at: u32, mut pair: [u64; 2]) -> Result<(), String> {
        self.element(MAP_UPDATE, at, &mut pair)
    }

    fn element(&self, command: libc::c_int, key: u32, value: &mut [u64; 2]) -> Result<(), String> {
        let (key, value) = (&raw const key as u64, std::ptr::from_mut(value) as u64);
        let element = Element { map: number(&self.0), _gap: 0, key, value, flags: 0 };
        // SAFETY: key and value are as large as the map's, and live until the call is over.
        unsafe { bpf(command, &element) }.map(drop).map_err(|error| explain(&error))
    }
}

/// A program that the kernel has accepted for a tracepoint.
pub struct Program {
    program: OwnedFd,
    /// Of the tracepoint, if the program does not say itself where it belongs.
    name: Option<&'static CStr>,
}

/// An attached program; dropping it detaches it.
pub struct Attached {
    _link: OwnedFd,
}

/// How a program reaches what the arguments of a tracepoint point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Directly, by loads that the kernel checks against its own types.
    Typed,
    /// By `Helper::ReadKernel`, a call each time.
    Copied,
}

impl Program {
    /// Of a tracepoint with its raw arguments.
    ///
    /// # Errors
    /// What the kernel refused: the user, the program; or it does not describe its types.
    pub fn load(tracepoint: &'static CStr, access: Access, program: &[Instruction]) -> Result<Program, String> {
        let (kind, attached_as, attached_to_type, name) = match access {
            Access::Typed => {
                let described = tracepoint.to_str().ok().and_then(btf::tracepoint);
                let number = described.ok_or("this kernel does not describe the arguments of the tracepoint")?;
                (TRACING, AT_TRACEPOINT, number, None)
            }
            Access::Copied => (RAW_TRACEPOINT, 0, 0, Some(tracepoint)),
        };
        // Reading kernel memory is for programs under a licence that goes with the GPL.
        let load = Load {
            kind,
            count: program.len() as u32,
            instructions: program.as_ptr() as u64,
            license: c"Dual MIT/GPL".as_ptr() as u64,
            _unused: [0; 11],
            attached_as,
            _undescribed: [0; 9],
            attached_to_type,
        };
        // SAFETY: so many instructions are there, and a text with its end mark.
        unsafe { descriptor(PROGRAM_LOAD, &load) }.map(|program| Program { program, name })
    }

    /// Runs it from now on, for events of all processes; it must select those that it keeps.
    ///
    /// # Errors
    /// What the kernel refused: the tracepoint.
    pub fn attach(&self) -> Result<Attached, String> {
        let name = self.name.map_or(0, |it| it.as_ptr() as u64);
        let attach = Attach { name, program: number(&self.program), _gap: 0 };
        // SAFETY: a text with its end mark, or none. The link keeps the program.
        unsafe { descriptor(RAW_TRACEPOINT_OPEN, &attach) }.map(|link| Attached { _link: link })
    }
}
