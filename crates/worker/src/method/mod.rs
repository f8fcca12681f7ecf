//! The worker's methods of reading a file: the table. How each reaches its bytes is an `access`; `Method` is what the
//! message loop sees of it: one `dyn` call per message, everything below it is generic.

use crate::{
    session::Session,
    task::{Refusal, Task},
};

pub(crate) mod direct;
mod dontcache;
mod mmap;
mod pread;
mod read;
mod stdio;
pub(crate) mod uring;
mod writes;

/// Every method, in the order of the vocabulary (`schema::runtime`).
pub(crate) const METHODS: &[&dyn Method] = &[
    &read::Read,
    &pread::Pread,
    &stdio::Stdio { mapped: false },
    &stdio::Stdio { mapped: true },
    &mmap::Mmap,
    &direct::Direct,
    &uring::Uring,
    &dontcache::DontCache,
    &writes::Writes { name: "write" },
    &writes::Writes { name: "pwrite" },
];

/// A method as the message loop sees it.
pub(crate) trait Method: Sync {
    fn name(&self) -> &'static str;

    /// Whether this kernel and this file support it, tested before anything is measured: whatever could silently fall back
    /// to another method is tried once. The reason is shown to the user.
    fn support(&self, task: &Task) -> Result<(), String>;

    /// Everything that happens before the clock starts. `support` has succeeded.
    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal>;
}

/// Why threads cannot share an open file that has one position.
fn one_position(task: &Task, name: &str) -> Result<(), String> {
    match task.is_shared() {
        true => Err(format!("{name} keeps one position per open file, so threads cannot share it; use pread")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use schema::runtime::NATIVE;

    use super::METHODS;

    #[test]
    fn the_table_is_the_one_of_the_schema() {
        let here: Vec<&str> = METHODS.iter().map(|method| method.name()).collect();
        let there: Vec<&str> = NATIVE.methods.iter().map(|method| method.name).collect();
        assert_eq!(here, there);
    }
}
