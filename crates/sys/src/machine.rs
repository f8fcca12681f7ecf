//! What distinguishes this machine and this boot from others, and random bits.

use std::{fs, io};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// What faultline's keys are keys for: the same id gives every application another key, none of which leads to another or
/// back to the id (machine-id(5) asks for that).
const APPLICATION: [u8; 16] =
    [0x7d, 0x0b, 0x8f, 0x2c, 0xe2, 0xf5, 0x4a, 0x0c, 0x9a, 0x3f, 0x6c, 0xe1, 0xf0, 0xa9, 0x6b, 0x52];

/// 128 bits.
pub type Id = [u8; 16];

/// The key that is made from a machine-id or a boot id, in hexadecimal: what `systemd-id128 machine-id
/// --app-specific=7d0b8f2ce2f54a0c9a3f6ce1f0a96b52` prints.
pub fn key(id: Id) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(&id).expect("HMAC takes keys of any length (RFC 2104)");
    mac.update(&APPLICATION);
    let mut key: Id = std::array::from_fn({
        let bytes = mac.finalize().into_bytes();
        move |at| bytes[at]
    });
    // As in systemd, it has the form of a random UUID (RFC 9562, section 5.4).
    key[6] = key[6] & 0x0f | 0x40;
    key[8] = key[8] & 0x3f | 0x80;
    hex(&key)
}

/// # Errors
/// There is none, or it is not set yet.
pub fn machine_id() -> io::Result<Id> {
    id("/etc/machine-id")
}

/// The id that the firmware has, which only root can read.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn product_uuid() -> io::Result<Id> {
    id("/sys/class/dmi/id/product_uuid")
}

/// # Errors
/// /proc is not mounted.
pub fn boot_id() -> io::Result<Id> {
    id("/proc/sys/kernel/random/boot_id")
}

/// # Errors
/// The kernel's generator is not ready, which it is soon after boot.
pub fn random() -> io::Result<Id> {
    let mut bytes = Id::default();
    // Up to 256 bytes come whole (getrandom(2)).
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes)
}

/// 64 bits of SHA-256, in hexadecimal.
pub fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..8])
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 32 hexadecimal digits, as they are or as a UUID.
///
/// # Errors
/// It is something else, or an id that no machine has: all digits alike.
pub fn parse(text: &str) -> io::Result<Id> {
    let digits: Vec<u8> =
        text.trim().chars().filter(|it| *it != '-').map_while(|it| it.to_digit(16)).map(|it| it as u8).collect();
    let plain = text.trim().chars().filter(|it| *it != '-').count();
    match digits[..] {
        [first, ..] if digits.len() == 32 && plain == 32 && digits.iter().any(|it| *it != first) => {
            Ok(std::array::from_fn(|at| digits[2 * at] << 4 | digits[2 * at + 1]))
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it is no id of 128 bits")),
    }
}

fn id(path: &str) -> io::Result<Id> {
    parse(&fs::read_to_string(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_one_that_systemd_derives() {
        // Computed by Python's hmac and hashlib, and compared with systemd-id128 on a machine with that machine-id.
        let id = parse("000102030405060708090a0b0c0d0e0f").unwrap();
        assert_eq!(key(id), "80fcabb68f1846cb92a897108340a925");
        assert_eq!(key(parse("00010203-0405-0607-0809-0a0b0c0d0e0f\n").unwrap()), key(id));
        assert_eq!(digest("x86_64\nsome CPU\n2\n16"), "3e834c61450fccb4");
    }

    #[test]
    fn what_is_no_id_is_refused() {
        let longer = "0".repeat(33);
        for text in [
            "",
            "uninitialized",
            "0123",
            "00000000000000000000000000000000",
            &longer,
            "g0010203040506070809aabbccddeeff",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn random_bits_are_other_ones_each_time() {
        assert_ne!(random().unwrap(), random().unwrap());
    }
}
