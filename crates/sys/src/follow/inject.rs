//! One more system call in a stopped thread: its instruction pointer is set back onto the instruction that it has just executed,
//! with other registers; afterwards it goes on with those that it had. Static programs have that instruction too, and nothing is
//! written into the program's memory. Signals wait meanwhile: a handler would run with the wrong registers. For changing the
//! arguments of a call that a thread is about to make, too.

use std::{io, mem::MaybeUninit};

use libc::user_regs_struct as Registers;

use super::ptrace;
use crate::folder::Identity;

/// A call that a thread makes for its tracer, and what its registers were before.
pub(super) struct Injected {
    before: Registers,
    signal_mask: u64,
    pub(super) arguments: [u64; 3],
    /// The file that is mapped there, where the mapping is to be seen page by page from now on.
    pub(super) of: Option<Identity>,
    /// It is within that call.
    pub(super) is_inside: bool,
}

impl Injected {
    /// Prepares madvise(2) by a thread that is stopped at the result of a call; it is made when the thread goes on.
    ///
    /// # Errors
    /// The thread is gone, or did not come there by the usual instruction.
    pub(super) fn madvise(
        thread: i32,
        address: u64,
        bytes: u64,
        advice: libc::c_int,
        of: Option<Identity>,
    ) -> io::Result<Injected> {
        let before = registers(thread)?;
        machine::check(thread, &before)?;
        let arguments = [address, bytes, advice as u64];
        let mut changed = before;
        machine::call_again(&mut changed, libc::SYS_madvise, arguments);
        let signal_mask = ptrace::swap_signal_mask(thread, u64::MAX)?;
        set_registers(thread, &changed)?;
        Ok(Injected { before, signal_mask, arguments, of, is_inside: false })
    }

    /// Whether this is the call.
    pub(super) fn is(&self, number: libc::c_long, arguments: &[u64; 6]) -> bool {
        number == libc::SYS_madvise && arguments[..3] == self.arguments
    }

    /// Gives the thread, stopped at the result of the call, its registers and its signals back.
    ///
    /// # Errors
    /// The thread is gone.
    pub(super) fn undo(&self, thread: i32) -> io::Result<()> {
        set_registers(thread, &self.before)?;
        ptrace::swap_signal_mask(thread, self.signal_mask).map(drop)
    }
}

/// Of the call that a thread is about to make.
///
/// # Errors
/// The thread is gone.
pub(super) fn set_argument(thread: i32, at: usize, value: u64) -> io::Result<()> {
    let mut registers = registers(thread)?;
    machine::set_argument(&mut registers, at, value);
    set_registers(thread, &registers)
}

fn registers(thread: i32) -> io::Result<Registers> {
    // SAFETY: numbers, for which all zero is valid.
    let mut registers = unsafe { MaybeUninit::<Registers>::zeroed().assume_init() };
    ptrace::registers(libc::PTRACE_GETREGSET as _, thread, &mut registers)?;
    Ok(registers)
}

fn set_registers(thread: i32, registers: &Registers) -> io::Result<()> {
    ptrace::registers(libc::PTRACE_SETREGSET as _, thread, &mut { *registers })
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use std::io;

    use super::{Registers, ptrace};

    /// `syscall`.
    const INSTRUCTION: [u8; 2] = [0x0f, 0x05];
    const BYTES: u64 = INSTRUCTION.len() as u64;

    pub(super) fn check(thread: i32, registers: &Registers) -> io::Result<()> {
        match ptrace::memory(thread, registers.rip.wrapping_sub(BYTES))? == INSTRUCTION {
            true => Ok(()),
            false => Err(io::Error::other("the call was not made by the instruction syscall")),
        }
    }

    pub(super) fn call_again(registers: &mut Registers, number: libc::c_long, [first, second, third]: [u64; 3]) {
        registers.rip = registers.rip.wrapping_sub(BYTES);
        registers.rax = number as u64;
        // It is not within a call that would have to be begun again.
        registers.orig_rax = u64::MAX;
        (registers.rdi, registers.rsi, registers.rdx) = (first, second, third);
    }

    pub(super) fn set_argument(registers: &mut Registers, at: usize, value: u64) {
        let places = [
            &mut registers.rdi,
            &mut registers.rsi,
            &mut registers.rdx,
            &mut registers.r10,
            &mut registers.r8,
            &mut registers.r9,
        ];
        if let Some(place) = places.into_iter().nth(at) {
            *place = value;
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use std::io;

    use super::{Registers, ptrace};

    /// `svc #0`.
    const INSTRUCTION: [u8; 4] = [0x01, 0x00, 0x00, 0xd4];
    const BYTES: u64 = INSTRUCTION.len() as u64;
    /// The register of the call's number.
    const NUMBER: usize = 8;

    pub(super) fn check(thread: i32, registers: &Registers) -> io::Result<()> {
        match ptrace::memory(thread, registers.pc.wrapping_sub(BYTES))? == INSTRUCTION {
            true => Ok(()),
            false => Err(io::Error::other("the call was not made by the instruction svc")),
        }
    }

    pub(super) fn call_again(registers: &mut Registers, number: libc::c_long, arguments: [u64; 3]) {
        registers.pc = registers.pc.wrapping_sub(BYTES);
        registers.regs[NUMBER] = number as u64;
        registers.regs[..3].copy_from_slice(&arguments);
    }

    pub(super) fn set_argument(registers: &mut Registers, at: usize, value: u64) {
        registers.regs[at] = value;
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod machine {
    use std::io;

    use super::Registers;

    pub(super) fn check(_: i32, _: &Registers) -> io::Result<()> {
        Err(io::Error::other("calls are not injected on this architecture"))
    }

    pub(super) fn call_again(_: &mut Registers, _: libc::c_long, _: [u64; 3]) {}

    pub(super) fn set_argument(_: &mut Registers, _: usize, _: u64) {}
}
