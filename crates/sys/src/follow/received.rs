//! Descriptors that a process was given by another one: through a socket (unix(7), SCM_RIGHTS), or by pidfd_getfd(2). A recording
//! of its calls does not have them, so the program is stopped at the calls that give them to it.

use std::io;

use super::{opened::NotSeen, ptrace};

/// Where a call leaves the descriptors that it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// Its result.
    Result,
    /// Beside the message whose header is at argument 1.
    Message,
    /// Beside each of the messages whose headers begin there; its result says how many.
    Messages,
}

/// `struct msghdr`, as far as it is read: where the control messages are, and their bytes. `struct mmsghdr` has a length behind.
const CONTROL: usize = 32;
const HEADER_BYTES: usize = CONTROL + 2 * WORD;
const NEXT_HEADER: u64 = 64;
/// The most messages that one call takes (UIO_MAXIOV).
const MESSAGES_MAX: i64 = 1024;
/// The most that is read of what stands beside a message: 253 descriptors come at once (SCM_MAX_FD).
const CONTROL_BYTES_MAX: u64 = 64 << 10;
/// `struct cmsghdr`: its length with what follows it, level, type.
const CONTROL_HEADER_BYTES: usize = WORD + 8;
const WORD: usize = size_of::<u64>();

/// The descriptors that a call gave to a thread, which is stopped at its result.
///
/// # Errors
/// The messages may not be looked at.
pub(super) fn descriptors(thread: i32, given: Given, arguments: &[u64; 6], result: i64) -> Result<Vec<i32>, NotSeen> {
    let messages = match given {
        _ if result < 0 => return Ok(Vec::new()),
        Given::Result => return Ok(vec![result as i32]),
        Given::Message => 1,
        Given::Messages => result.min(MESSAGES_MAX) as u64,
    };
    let of = |message: u64| -> io::Result<Vec<i32>> {
        let Some(at) = arguments[1].checked_add(message * NEXT_HEADER) else { return Ok(Vec::new()) };
        let header: [u8; HEADER_BYTES] = ptrace::memory(thread, at)?;
        let Some((at, bytes)) = word(&header, CONTROL).zip(word(&header, CONTROL + WORD)) else {
            return Ok(Vec::new());
        };
        let mut control = vec![0; bytes.min(CONTROL_BYTES_MAX) as usize];
        ptrace::read_memory(thread, at, &mut control)?;
        Ok(rights(&control))
    };
    let mut all = Vec::new();
    for message in 0..messages {
        match of(message) {
            Ok(given) => all.extend(given),
            // Another thread has unmapped it since.
            Err(error) if matches!(error.raw_os_error(), None | Some(libc::EIO)) => {}
            Err(error) => return Err(NotSeen::of(thread, &error)),
        }
    }
    Ok(all)
}

/// The descriptors among control messages (cmsg(3)).
fn rights(mut control: &[u8]) -> Vec<i32> {
    /// The kernel takes no more in a message (SCM_MAX_FD): what lies behind was put there by another thread.
    const DESCRIPTORS_MAX: usize = 253;
    let mut descriptors = Vec::new();
    while let (Some(bytes), Some(level), Some(kind)) =
        (word(control, 0), number(control, WORD), number(control, WORD + 4))
    {
        let bytes = bytes.min(control.len() as u64) as usize;
        if bytes < CONTROL_HEADER_BYTES {
            break;
        }
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            let given = &control[CONTROL_HEADER_BYTES..bytes];
            descriptors.extend(given.chunks_exact(4).filter_map(|it| number(it, 0)));
        }
        control = control.get(bytes.next_multiple_of(WORD)..).unwrap_or_default();
    }
    descriptors.truncate(DESCRIPTORS_MAX);
    descriptors
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn number(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn control(level: i32, kind: i32, content: &[u8]) -> Vec<u8> {
        let bytes = (CONTROL_HEADER_BYTES + content.len()) as u64;
        let header = [&bytes.to_ne_bytes()[..], &level.to_ne_bytes(), &kind.to_ne_bytes()].concat();
        let mut control = [&header, content].concat();
        control.resize(control.len().next_multiple_of(WORD), 0);
        control
    }

    #[test]
    fn descriptors_are_found_among_other_control_messages() {
        let of = |descriptors: &[i32]| descriptors.iter().flat_map(|it| it.to_ne_bytes()).collect::<Vec<u8>>();
        let credentials = control(libc::SOL_SOCKET, libc::SCM_CREDENTIALS, &[1; 12]);
        let first = control(libc::SOL_SOCKET, libc::SCM_RIGHTS, &of(&[7, 8, 9]));
        let last = control(libc::SOL_SOCKET, libc::SCM_RIGHTS, &of(&[11]));
        assert_eq!(rights(&[credentials, first, last].concat()), [7, 8, 9, 11]);
        assert_eq!(rights(&control(libc::SOL_IP, libc::SCM_RIGHTS, &of(&[7]))), Vec::<i32>::new());
    }

    #[test]
    fn a_descriptor_that_is_a_result_is_that_and_an_error_is_none() {
        assert_eq!(descriptors(0, Given::Result, &[0; 6], 5), Ok(vec![5]));
        assert_eq!(descriptors(0, Given::Result, &[0; 6], -1), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn bytes_of_any_kind_end(control in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(rights(&control).len() <= control.len() / 4);
        }
    }
}
