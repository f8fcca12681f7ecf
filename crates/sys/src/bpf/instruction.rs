//! The instructions that are needed, one function each: Documentation/bpf/standardization/instruction-set.rst.

use std::os::fd::{AsRawFd, OwnedFd};

use super::{Pairs, Ring};

/// A register. R1 to R5 are arguments and do not survive a call, R0 is its result, R6 to R9 stay, FRAME is the end of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register(u8);

pub const R0: Register = Register(0);
pub const R1: Register = Register(1);
pub const R2: Register = Register(2);
pub const R3: Register = Register(3);
pub const R4: Register = Register(4);
pub const R6: Register = Register(6);
pub const R7: Register = Register(7);
pub const R8: Register = Register(8);
pub const R9: Register = Register(9);
pub const FRAME: Register = Register(10);

/// A function of the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Helper {
    MapLookup = 1,
    /// The thread in the lower half, the process in the upper.
    ThreadAndProcess = 14,
    ReadKernel = 113,
    /// The same as a PID namespace numbers them, which is given by device and inode.
    ThreadAndProcessIn = 120,
    RingReserve = 131,
    RingSubmit = 132,
}

/// As the kernel takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    code: u8,
    /// The destination in one half, the source in the other.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, to: Register, from: Register, offset: i16, immediate: i32) -> Instruction {
    let registers = if cfg!(target_endian = "little") { to.0 | from.0 << 4 } else { to.0 << 4 | from.0 };
    Instruction { code, registers, offset, immediate }
}

pub const fn copy(to: Register, from: Register) -> Instruction {
    instruction(0xbf, to, from, 0, 0)
}

pub const fn set(to: Register, value: i32) -> Instruction {
    instruction(0xb7, to, R0, 0, value)
}

pub const fn add(to: Register, value: i32) -> Instruction {
    instruction(0x07, to, R0, 0, value)
}

/// Keeps those bits that `mask` has.
pub const fn keep_bits(to: Register, mask: i32) -> Instruction {
    instruction(0x57, to, R0, 0, mask)
}

/// Eight bytes of memory.
pub const fn load(to: Register, from: Register, offset: i16) -> Instruction {
    instruction(0x79, to, from, offset, 0)
}

/// Four bytes of memory.
pub const fn load_half(to: Register, from: Register, offset: i16) -> Instruction {
    instruction(0x61, to, from, offset, 0)
}

pub const fn store(to: Register, offset: i16, from: Register) -> Instruction {
    instruction(0x7b, to, from, offset, 0)
}

/// Four bytes of memory.
pub const fn store_half(to: Register, offset: i16, from: Register) -> Instruction {
    instruction(0x63, to, from, offset, 0)
}

/// Atomically, to eight bytes of memory.
pub const fn add_at(to: Register, offset: i16, from: Register) -> Instruction {
    instruction(0xdb, to, from, offset, 0)
}

pub const fn call(helper: Helper) -> Instruction {
    instruction(0x85, R0, R0, 0, helper as i32)
}

/// Leaves out so many instructions.
pub const fn skip(instructions: usize) -> Instruction {
    instruction(0x05, R0, R0, instructions as i16, 0)
}

pub const fn skip_if(it: Register, equals: i32, instructions: usize) -> Instruction {
    instruction(0x15, it, R0, instructions as i16, equals)
}

pub const fn skip_unless(it: Register, equals: i32, instructions: usize) -> Instruction {
    instruction(0x55, it, R0, instructions as i16, equals)
}

/// If two registers are equal.
pub const fn skip_if_same(one: Register, other: Register, instructions: usize) -> Instruction {
    instruction(0x1d, one, other, instructions as i16, 0)
}

/// Ends the program.
pub const LEAVE: [Instruction; 2] = [set(R0, 0), instruction(0x95, R0, R0, 0, 0)];

/// All eight bytes of a register.
pub const fn set_wide(to: Register, value: u64) -> [Instruction; 2] {
    [instruction(0x18, to, R0, 0, value as i32), instruction(0, R0, R0, 0, (value >> 32) as i32)]
}

/// A register for a map or a ring.
pub fn point(to: Register, at: &impl Kept) -> [Instruction; 2] {
    // BPF_PSEUDO_MAP_FD: the kernel puts the address in place of the descriptor.
    [instruction(0x18, to, R1, 0, at.descriptor().as_raw_fd()), instruction(0, R0, R0, 0, 0)]
}

/// What lies in the kernel and is named by a descriptor.
pub trait Kept {
    fn descriptor(&self) -> &OwnedFd;
}

impl Kept for Pairs {
    fn descriptor(&self) -> &OwnedFd {
        &self.0
    }
}

impl Kept for Ring {
    fn descriptor(&self) -> &OwnedFd {
        &self.map
    }
}
