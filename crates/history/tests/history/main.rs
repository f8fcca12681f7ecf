//! The store and the journal as other processes, full disks and careless hands leave them.

mod index;
mod journal;
mod store;

/// Where the processes of this test can be seen from, as in the names of half-written files.
fn seen_from() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let digits: String = namespace.to_str().unwrap().chars().filter(char::is_ascii_digit).collect();
    format!("{}-{digits}", &boot[..8])
}
