//! What developers and CI run: `cargo xtask test`, `cargo xtask bench`, `cargo xtask fault`.

#![allow(unreachable_pub, reason = "a binary has no outside to hide from")]

mod fault;
mod test;

use std::process::ExitCode;

use xshell::{Shell, cmd};

fn main() -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        Some("test") => test::run(),
        Some("bench") => bench(),
        Some("fault") => fault::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        _ => {
            eprintln!("usage: cargo xtask test    format, clippy, unit and integration tests, a smoke run");
            eprintln!("       cargo xtask bench   measures the tool itself and writes docs/BENCHMARKS.md");
            eprintln!(
                "       cargo xtask bench probes  only passes with probes against passes without, written to stdout"
            );
            eprintln!("       cargo xtask bench observe only what watching costs a program, written to stdout");
            eprintln!(
                "       cargo xtask bench truth [MIB…]  the survey against programs of their own, written to stdout"
            );
            eprintln!("       cargo xtask bench loops   only its cells against the bare loop, written to stdout");
            eprintln!("       cargo xtask fault [kill|together|fuzz] [N]  kills, crowds and lies to the tool");
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

/// The product measures itself, optimised (`crates/faultline/benches/itself`).
fn bench() -> anyhow::Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(root());
    let part: Vec<String> = std::env::args().skip(2).collect();
    Ok(cmd!(shell, "cargo bench --quiet --package faultline --bench itself -- {part...}").run()?)
}

/// The root of the repository.
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_path_buf()
}
