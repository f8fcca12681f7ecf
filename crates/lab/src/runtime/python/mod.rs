//! The worker in Python. Its sources are part of this executable, and each worker gets them in a file without a name: no folder
//! has to be trusted, and nothing of another version can be found in one.

use std::{env, fs::File, io, os::fd::AsRawFd, process::Command};

use rustix::fs::{MemfdFlags, SealFlags};
use schema::{
    Arm,
    protocol::Done,
    runtime::{PYTHON, RuntimeSpec},
};

use super::{Choice, Runtime, of_a_process};

mod interpreter;
mod sources;

pub use interpreter::{FLOOR, Interpreter, all, find};

pub struct Python;

/// Of every interpreter that is started: neither variables nor folders of the user's change it (`-I`), and no compiled modules are
/// written beside those of its libraries (`-B`).
const FLAGS: &[&str] = &["-I", "-B"];

impl Runtime for Python {
    fn spec(&self) -> &'static RuntimeSpec {
        &PYTHON
    }

    fn described(&self) -> Result<String, String> {
        interpreter::described()
    }

    fn choice(&self) -> Option<&'static Choice> {
        Some(&interpreter::CHOICE)
    }

    fn also_tried(&self) -> &'static [&'static str] {
        &["python/mmap+view", "python/mmap+numpy", "python/mmap+populate-read", "python/mmap+populate-ctypes"]
    }

    fn worker(&self, arm: &Arm) -> Result<Command, String> {
        worker_of(&find(wanted(arm))?, arm)
    }

    fn present(&self, arm: &Arm) -> Result<(), String> {
        find(wanted(arm)).map(drop)
    }

    /// Around each call a thread gives up the interpreter's lock and takes it back, and waits where another thread has it, also
    /// where the call itself waited for nothing. Without that lock threads still wait for the locks of what they share.
    fn switches_are_waits(&self, done: &Done) -> Result<(), &'static str> {
        match done.tally.threads {
            1 => of_a_process(done),
            _ => {
                Err("threads of Python also wait for each other, and these waits are counted with those for the device")
            }
        }
    }

    /// numpy is imported.
    fn around_pass_s(&self) -> f64 {
        0.1
    }

    /// getrusage(2) before and after, and `done`.
    fn own_calls(&self, _: &str, _: u32) -> u64 {
        3
    }
}

/// The version that an arm names: 313 for 3.13.
fn wanted(arm: &Arm) -> Option<u32> {
    arm.number("python").filter(|&version| version > 0)
}

/// A command for an arm on one certain Python.
///
/// # Errors
/// Why this Python will not do, or why it cannot be given the sources.
pub fn worker_of(python: &Interpreter, arm: &Arm) -> Result<Command, String> {
    python.fits()?;
    let mut command = start(python);
    if python.is_free_threaded {
        command.args(["-X", if arm.word("gil") == "off" { "gil=0" } else { "gil=1" }]);
    }
    let no_file = |error: io::Error| format!("the sources of the Python worker cannot be given to it: {error}");
    let file = given().map_err(no_file)?;
    // With the identity of the file: what a process finds under this number, it executes.
    let (device, inode) = sys::folder::identity(&file).map_err(no_file)?;
    command.arg("-c").arg(sources::START).arg(format!("{}:{device}:{inode}", file.as_raw_fd()));
    command.arg(&python.version).arg(python.numpy.as_deref().unwrap_or_default());
    sys::process::give(&mut command, file.into());
    Ok(command)
}

/// The interpreter without what the environment would change in it. Threads of numpy's own would run beside a pass.
fn start(python: &Interpreter) -> Command {
    let mut command = plain(&python.program);
    command.env("OPENBLAS_NUM_THREADS", "1");
    command
}

fn plain(program: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    for name in env::vars_os().map(|it| it.0).filter(|it| it.as_encoded_bytes().starts_with(b"PYTHON")) {
        command.env_remove(name);
    }
    command.args(FLAGS);
    command
}

/// The sources, in a file in memory that nobody can change any more.
fn given() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(rustix::fs::memfd_create("faultline-python", flags)?);
    io::Write::write_all(&mut file, sources::text().as_bytes())?;
    io::Seek::rewind(&mut file)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}
