//! The seccomp filter that stops a program at the calls of interest and nowhere else, so that all others cost next to
//! nothing. A crate for such filters (seccompiler) kills programs of another architecture; this one only names them.

use std::{io, mem::offset_of};

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_TRACE,
    seccomp_data, sock_filter,
};

use super::calls::{Call, Only};

/// Returned instead of an index into the list: the program is of another architecture.
pub(super) const FOREIGN: u16 = u16::MAX;

/// linux/audit.h
const ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") {
    0xc000_003e
} else if cfg!(target_arch = "aarch64") {
    0xc000_00b7
} else {
    0xc000_00f3
};
/// x86-64 has a second set of numbers, with this bit (x32).
const OTHER_NUMBERS: u32 = 0x4000_0000;

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Jumps over so many instructions when the comparison holds, or does not.
fn jump(comparison: u32, k: u32, holds: u8, fails: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | comparison | BPF_K) as u16, jt: holds, jf: fails, k }
}

fn load(offset: usize) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, offset as u32)
}

fn trace(described: u16) -> sock_filter {
    statement(BPF_RET | BPF_K, SECCOMP_RET_TRACE | u32::from(described))
}

/// The lower half of an argument.
fn load_argument(at: usize) -> sock_filter {
    load(offset_of!(seccomp_data, args) + 8 * at + if cfg!(target_endian = "big") { 4 } else { 0 })
}

/// Stops at `calls` and returns their index in that list.
pub(super) fn of(calls: &[&Call]) -> Vec<sock_filter> {
    let allow = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    let mut program = vec![
        load(offset_of!(seccomp_data, arch)),
        jump(BPF_JEQ, ARCHITECTURE, 1, 0),
        trace(FOREIGN),
        load(offset_of!(seccomp_data, nr)),
    ];
    if cfg!(target_arch = "x86_64") {
        // -1 is no call: the kernel answers ENOSYS.
        program.extend([jump(BPF_JEQ, u32::MAX, 2, 0), jump(BPF_JGE, OTHER_NUMBERS, 0, 1), trace(FOREIGN)]);
    }
    for (place, call) in calls.iter().enumerate() {
        let stop = trace(place as u16);
        let then = match call.only() {
            Only::Always => vec![stop],
            Only::Flags { argument, never, seldom, but } => vec![
                load_argument(argument),
                jump(BPF_JSET, never, 2, 0),
                jump(BPF_JSET, seldom, 0, 2),
                jump(BPF_JSET, but, 1, 0),
                allow,
                stop,
            ],
            Only::With(at, values) => {
                let last = values.len();
                let compare = |(place, value): (usize, &u32)| jump(BPF_JEQ, *value, (last - place) as u8, 0);
                let mut then = vec![load_argument(at)];
                then.extend(values.iter().enumerate().map(compare));
                then.extend([allow, stop]);
                then
            }
        };
        program.push(jump(BPF_JEQ, call.number as u32, 0, then.len() as u8));
        program.extend(then);
    }
    program.push(allow);
    program
}

/// Puts the calling thread, and all that it starts, under the filter. Safe between fork and exec: nothing is allocated.
pub(super) fn install(program: &[sock_filter]) -> io::Result<()> {
    let whole = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    let set = || {
        // SAFETY: the kernel copies the program, which outlives the call.
        let result = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0 as libc::c_ulong, &raw const whole)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    match set() {
        // Only with that promise may an ordinary user filter; it takes nothing away that being traced leaves.
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            rustix::thread::set_no_new_privs(true)?;
            set()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::follow::calls::CALLS;

    /// What the kernel would do with the filter.
    fn run(program: &[sock_filter], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let (mut at, mut accumulator) = (0, 0u32);
        loop {
            let instruction = program[at];
            let code = u32::from(instruction.code);
            at += 1;
            let holds = match code {
                _ if code == BPF_RET | BPF_K => return instruction.k,
                _ if code == BPF_LD | BPF_W | BPF_ABS => {
                    accumulator = match instruction.k as usize {
                        0 => number,
                        4 => architecture,
                        offset => (arguments[(offset - 16) / 8] >> (8 * ((offset - 16) % 8))) as u32,
                    };
                    continue;
                }
                _ if code == BPF_JMP | BPF_JEQ | BPF_K => accumulator == instruction.k,
                _ if code == BPF_JMP | BPF_JGE | BPF_K => accumulator >= instruction.k,
                _ if code == BPF_JMP | BPF_JSET | BPF_K => accumulator & instruction.k != 0,
                _ => panic!("an instruction that the filter never contains"),
            };
            at += usize::from(if holds { instruction.jt } else { instruction.jf });
        }
    }

    fn place(name: &str) -> u32 {
        SECCOMP_RET_TRACE | CALLS.iter().position(|it| it.name == name).unwrap() as u32
    }

    #[test]
    fn a_call_of_interest_is_stopped_at_by_its_place_and_uses_of_no_interest_are_not() {
        let program = of(&CALLS.iter().collect::<Vec<_>>());
        let outcome = |number: libc::c_long, at: usize, value: u64| {
            let mut arguments = [0; 6];
            arguments[at] = value;
            run(&program, ARCHITECTURE, number as u32, arguments)
        };
        assert_eq!(outcome(libc::SYS_pread64, 0, 3), place("pread64"));
        assert_eq!(outcome(libc::SYS_mmap, 3, libc::MAP_PRIVATE as u64), place("mmap"));
        let mapped = |more: i32| outcome(libc::SYS_mmap, 3, (libc::MAP_PRIVATE | more) as u64);
        for of_no_interest in [libc::MAP_ANONYMOUS, libc::MAP_DENYWRITE, libc::MAP_DENYWRITE | libc::MAP_FIXED] {
            assert_eq!(mapped(of_no_interest), SECCOMP_RET_ALLOW);
        }
        // They may take the place of what is mapped.
        for fixed in [libc::MAP_FIXED, libc::MAP_FIXED | libc::MAP_ANONYMOUS] {
            assert_eq!(mapped(fixed), place("mmap"));
        }
        assert_eq!(outcome(libc::SYS_fcntl, 1, libc::F_DUPFD_CLOEXEC as u64), place("fcntl"));
        assert_eq!(outcome(libc::SYS_fcntl, 1, libc::F_SETFL as u64), place("fcntl"));
        assert_eq!(outcome(libc::SYS_fcntl, 1, libc::F_SETLK as u64), SECCOMP_RET_ALLOW);
        assert_eq!(outcome(libc::SYS_execve, 0, 0), SECCOMP_RET_ALLOW);
        assert_eq!(
            run(&program, ARCHITECTURE ^ 1, libc::SYS_read as u32, [0; 6]),
            SECCOMP_RET_TRACE | u32::from(FOREIGN)
        );
    }

    #[test]
    fn only_a_number_of_the_other_set_is_foreign_and_no_number_at_all_is_not() {
        let program = of(&CALLS.iter().collect::<Vec<_>>());
        let outcome = |number: u32| run(&program, ARCHITECTURE, number, [0; 6]);
        let foreign = SECCOMP_RET_TRACE | u32::from(FOREIGN);
        let other = if cfg!(target_arch = "x86_64") { foreign } else { SECCOMP_RET_ALLOW };
        assert_eq!([outcome(OTHER_NUMBERS), outcome(u32::MAX)], [other, SECCOMP_RET_ALLOW]);
        let filters = |operation: u64| {
            let arguments = [operation, 0, 0, 0, 0, 0];
            run(&program, ARCHITECTURE, libc::SYS_seccomp as u32, arguments) == place("seccomp")
        };
        let operations = [libc::SECCOMP_SET_MODE_STRICT, libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_GET_ACTION_AVAIL];
        assert_eq!(operations.map(|it| filters(it.into())), [true, true, false]);
    }

    proptest! {
        #[test]
        fn no_program_is_ever_refused_a_call(architecture: u32, number: u32, arguments: [u64; 6]) {
            let program = of(&CALLS.iter().collect::<Vec<_>>());
            let outcome = run(&program, architecture, number, arguments) & 0xffff_0000;
            prop_assert!(outcome == SECCOMP_RET_ALLOW || outcome == SECCOMP_RET_TRACE);
        }
    }
}
