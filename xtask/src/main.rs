//! What developers and CI run: `cargo xtask test`, `cargo xtask bench`.

#![allow(unreachable_pub, reason = "a binary has no outside to hide from")]

mod bench;
mod bench_observe;
mod bench_probes;
mod test;

use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        Some("test") => test::run(),
        Some("bench") => bench::run(),
        _ => {
            eprintln!("usage: cargo xtask test    format, clippy, unit and integration tests, a smoke run");
            eprintln!("       cargo xtask bench   measures the tool itself and writes docs/BENCHMARKS.md");
            eprintln!(
                "       cargo xtask bench probes  only passes with probes against passes without, written to stdout"
            );
            eprintln!("       cargo xtask bench observe only what watching costs a program, written to stdout");
            eprintln!("       cargo xtask bench loops   only its cells against the bare loop, written to stdout");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_path_buf()
}
