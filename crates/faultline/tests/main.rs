//! The executable as people use it: what they type goes in; exit code, both streams and what lies on the disk come out.
//!
//! Nothing here depends on how long something takes, on the order of tests, or on root. A test that cannot show anything
//! here prints `skipped: why` and passes; `cargo xtask test` counts those.

#![allow(unreachable_pub, reason = "a test binary has no outside to hide from")]

mod ab;
mod absences;
mod adversary;
mod advise;
mod answers;
mod browser;
mod budget;
mod compare;
mod conformance;
mod disk;
mod evidence;
mod examples;
mod exits;
mod experiments;
mod failing;
mod files;
mod fills;
mod full;
mod go;
mod hang;
mod history;
mod imports;
mod injector;
mod inspect;
mod interruption;
mod jvm;
mod killed;
mod limited;
mod limits;
mod manual;
mod observing;
mod outputs;
mod predict;
mod python;
mod recording;
mod reloaded;
mod replay;
mod runtimes;
mod scene;
mod sentences;
mod strangers;
mod studies;
mod suggestion;
mod support;
mod sweep;
mod terminal;
mod tidy;
mod together;
mod workers;
mod writing;
