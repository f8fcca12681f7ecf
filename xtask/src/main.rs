//! What developers and CI run: `cargo xtask test`, `cargo xtask bench`, `cargo xtask fault`, `cargo xtask miri`,
//! `cargo xtask dist`.

#![allow(unreachable_pub, reason = "a binary has no outside to hide from")]

mod dist;
mod fault;
mod test;

use std::process::ExitCode;

use xshell::{Shell, cmd};

fn main() -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        Some("test") => test::run(),
        Some("bench") => bench(),
        Some("miri") => miri(),
        Some("dist") => dist::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        Some("fault") => fault::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        _ => {
            eprintln!("usage: cargo xtask test    format, clippy, unit and integration tests, a smoke run");
            eprintln!("       cargo xtask bench   measures the tool itself: the first tables of docs/BENCHMARKS.md");
            eprintln!(
                "       cargo xtask bench probes  only passes with probes against passes without, written to stdout"
            );
            eprintln!("       cargo xtask bench observe only what watching costs a program, written to stdout");
            eprintln!(
                "       cargo xtask bench truth [MIB…]  the survey against programs of their own, written to stdout"
            );
            eprintln!(
                "       cargo xtask bench stalls [FILE.json]  who stops whom, against programs of their own, written to stdout"
            );
            eprintln!(
                "       cargo xtask bench languages [PYTHON [WORD]]  loops of Python and Go against hand-written ones, written to \
                 stdout"
            );
            eprintln!(
                "       cargo xtask bench studies [STUDY|FILE.json…]  studies, or what `reproduce --json=FILE` wrote, against \
                 programs of their own, written to stdout"
            );
            eprintln!(
                "       cargo xtask bench loops [WORD…]  only its cells against the bare loop, or those with the words, written to \
                 stdout"
            );
            eprintln!(
                "       cargo xtask miri    the tests that can run under Miri, which needs a nightly toolchain with it"
            );
            eprintln!(
                "       cargo xtask fault {}\n             kills the tool, has its system calls fail, swaps its files, fills its disk, stops its processes, runs many at\n             once, breaks its input",
                fault::USAGE
            );
            eprintln!(
                "       cargo xtask dist [TARGET…]  archives for a release: static executables, completions, manual pages,\n             licences, checksums"
            );
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

/// Crates whose unit tests make no system call that Miri does not know; of `worker` the modules that only move bytes.
const UNDER_MIRI: &[&[&str]] = &[
    &["--package=faultline-schema", "--lib"],
    &["--package=faultline-worker", "--lib", "--", "buffer", "consume", "offsets"],
];

fn miri() -> anyhow::Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(root());
    if cmd!(shell, "cargo +nightly miri --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        anyhow::bail!("Miri is not here; `rustup toolchain install nightly --component miri,rust-src` installs it");
    }
    for &tests in UNDER_MIRI {
        // Clocks and the environment are the machine's; nothing else is.
        cmd!(shell, "cargo +nightly miri test {tests...}").env("MIRIFLAGS", "-Zmiri-disable-isolation").run()?;
    }
    Ok(())
}

/// The root of the repository.
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_path_buf()
}
