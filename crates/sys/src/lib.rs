//! What the kernel reports about files, caches, processes and devices, and the few system calls that `rustix` lacks.
//! Thin and stateless; no code here depends on experiments. The controller's `unsafe` code is here.

pub mod bpf;
mod bus;
pub mod cache;
pub mod cgroup;
pub mod damon;
pub mod device;
pub mod elf;
pub mod folder;
pub mod folio;
pub mod follow;
pub mod guard;
pub mod held;
pub mod lock;
pub mod machine;
pub mod memory_disk;
pub mod mount;
pub mod pages;
pub mod perf;
pub mod process;
pub mod processors;
pub mod read_ahead;
pub mod whole;

#[cfg(test)]
mod texts;

/// The size of a page of memory, in bytes.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}
