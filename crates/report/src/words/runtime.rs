//! Runtimes that a process executes, and what a page fault means in each.

use schema::mapped_runtime::MappedRuntime;

pub(crate) fn name(of: MappedRuntime) -> &'static str {
    match of {
        MappedRuntime::Jvm => "JVM",
        MappedRuntime::Cpython => "CPython",
        MappedRuntime::Go => "Go",
        MappedRuntime::Node => "Node",
    }
}

/// What a page fault means, beside the thread that waits.
pub(crate) fn fault(of: MappedRuntime) -> &'static str {
    match of {
        MappedRuntime::Jvm => {
            "a thread that takes a page fault in Java code cannot reach a safepoint until the page is in memory; an \
             operation that needs one stops all other Java threads meanwhile"
        }
        MappedRuntime::Cpython => {
            "Python code that touches a mapping holds the GIL during the page fault; no other thread executes Python code \
             meanwhile"
        }
        // The scheduler takes a P from a thread that waits in a system call (`retake` in runtime/proc.go), and a fault is none.
        MappedRuntime::Go => {
            "a goroutine that takes a page fault keeps its P, one of GOMAXPROCS, until the page is in memory; stopping the \
             world, as each garbage collection does, waits for it while all other goroutines stand still"
        }
        MappedRuntime::Node => "a page fault on the main thread stops its event loop until the page is in memory",
    }
}
