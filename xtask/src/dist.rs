//! What a release consists of: for each target an archive with the executable, statically linked and stripped, completions,
//! manual pages and licences; and their checksums. It ends up in `target/dist`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

struct Target {
    triple: &'static str,
    /// SQLite is written in C.
    compiler: &'static str,
    /// Whether that compiler also links. Rust brings what musl needs for that.
    links: bool,
    /// Built unless others are named.
    usual: bool,
}

/// With glibc, because what `memcpy` and stdio cost is a part of what is measured, and most programs have glibc's; with musl
/// the methods `stdio` and `stdio-mmap` are unavailable.
const TARGETS: &[Target] = &[
    Target { triple: "x86_64-unknown-linux-gnu", compiler: "x86_64-linux-gnu-gcc", links: true, usual: true },
    Target { triple: "aarch64-unknown-linux-gnu", compiler: "aarch64-linux-gnu-gcc", links: true, usual: true },
    Target { triple: "x86_64-unknown-linux-musl", compiler: "musl-gcc", links: false, usual: false },
    Target { triple: "aarch64-unknown-linux-musl", compiler: "aarch64-linux-musl-gcc", links: true, usual: false },
];

/// `[TARGET…]`: those that can be built here, where none is named.
pub fn run(named: &[String]) -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(crate::root());
    let mut targets = Vec::new();
    for name in named {
        let Some(target) = TARGETS.iter().find(|it| it.triple == name) else {
            let known: Vec<&str> = TARGETS.iter().map(|it| it.triple).collect();
            bail!("there is no target {name:?}; expected {}", known.join(", "));
        };
        target.lacks(&shell)?.map_or(Ok(()), |lacks| bail!("{name} cannot be built here: {lacks}"))?;
        targets.push(target);
    }
    for target in TARGETS.iter().filter(|it| named.is_empty() && it.usual) {
        match target.lacks(&shell)? {
            None => targets.push(target),
            Some(lacks) => println!("left out: {}: {lacks}", target.triple),
        }
    }
    ensure!(!targets.is_empty(), "no target can be built here");

    let out = target_folder().join("dist");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    // Whose executable writes the completions and the manual pages.
    let ours = targets.iter().find(|it| it.runs_here());
    let ours = ours.copied().or(TARGETS.iter().find(|it| it.runs_here())).context("this processor has no target")?;
    let tool = build(&shell, ours)?;
    let mut archives = Vec::new();
    for target in targets {
        let executable = build(&shell, target)?;
        ensure!(is_static(&fs::read(&executable)?), "{} is not statically linked", executable.display());
        archives.push(pack(&shell, target, &executable, &tool, &out)?);
    }
    shell.change_dir(&out);
    let names = &archives;
    let sums = cmd!(shell, "sha256sum {names...}").read()?;
    shell.write_file(out.join("SHA256SUMS"), format!("{sums}\n"))?;
    for archive in &archives {
        println!(
            "{} ({:.1} MiB)",
            out.join(archive).display(),
            fs::metadata(out.join(archive))?.len() as f64 / 1048576.0
        );
    }
    println!("{}", out.join("SHA256SUMS").display());
    Ok(())
}

fn target_folder() -> PathBuf {
    crate::root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

impl Target {
    fn runs_here(&self) -> bool {
        self.triple.split('-').next() == Some(std::env::consts::ARCH)
    }

    /// The compiler of this machine for its own processor and C library needs no other name.
    fn is_native(&self) -> bool {
        self.runs_here() && self.triple.ends_with("gnu")
    }

    /// What is missing to build it, and where that comes from.
    fn lacks(&self, shell: &Shell) -> Result<Option<String>> {
        let Target { triple, compiler, .. } = self;
        let library = cmd!(shell, "rustc --print target-libdir --target {triple}").quiet().read()?;
        if !Path::new(&library).is_dir() {
            return Ok(Some(format!("Rust's library for it is not here; `rustup target add {triple}` installs it")));
        }
        let compiler = if self.is_native() { "cc" } else { compiler };
        let found = cmd!(shell, "{compiler} --version").quiet().ignore_stdout().ignore_stderr().run().is_ok();
        Ok((!found).then(|| format!("there is no C compiler {compiler} here, and SQLite is written in C")))
    }
}

/// The executable for a target.
fn build(shell: &Shell, target: &Target) -> Result<PathBuf> {
    let triple = target.triple;
    let (lower, upper) = (triple.replace('-', "_"), triple.replace('-', "_").to_uppercase());
    let mut build = cmd!(shell, "cargo build --locked --package faultline --profile stripped --target {triple}")
        .env(format!("CARGO_TARGET_{upper}_RUSTFLAGS"), "-C target-feature=+crt-static");
    if !target.is_native() {
        build = build.env(format!("CC_{lower}"), target.compiler);
        if target.links {
            build = build.env(format!("CARGO_TARGET_{upper}_LINKER"), target.compiler);
        }
    }
    build.run()?;
    Ok(target_folder().join(triple).join("stripped/faultline"))
}

/// The name of the archive.
fn pack(shell: &Shell, target: &Target, executable: &Path, tool: &Path, out: &Path) -> Result<String> {
    let version = cmd!(shell, "{tool} --version").read()?;
    let version = version.split(' ').nth(1).context("the executable does not say its version")?;
    let name = format!("faultline-{version}-{}", target.triple);
    let folder = out.join(&name);
    let (completions, man) = (folder.join("completions"), folder.join("man/man1"));
    [&completions, &man].into_iter().try_for_each(fs::create_dir_all)?;
    fs::copy(executable, folder.join("faultline"))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(crate::root().join(file), folder.join(file))?;
    }
    cmd!(shell, "cp -r docs {folder}").run()?;
    // The documents lead to them.
    let studies = folder.join("experiments/studies");
    fs::create_dir_all(&studies)?;
    for page in fs::read_dir(crate::root().join("experiments/studies"))? {
        let page = page?.path();
        if let (Some(name), true) = (page.file_name(), page.extension().is_some_and(|it| it == "md")) {
            fs::copy(&page, studies.join(name))?;
        }
    }
    fs::write(folder.join("LICENSES-OF-DEPENDENCIES"), licences(shell, target)?)?;
    for (kind, file) in [("bash", "faultline.bash"), ("zsh", "_faultline"), ("fish", "faultline.fish")] {
        fs::write(completions.join(file), cmd!(shell, "{tool} completions {kind}").output()?.stdout)?;
    }
    cmd!(shell, "{tool} man --dir {man}").run()?;
    // The same sources give the same archive.
    let when = cmd!(shell, "git log -1 --format=%ct").quiet().ignore_stderr().read().unwrap_or_else(|_| "0".into());
    let archive = format!("{name}.tar.gz");
    let plain = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go-w"];
    cmd!(shell, "tar --use-compress-program='gzip -9n' {plain...} --mtime=@{when} -C {out} -cf {out}/{archive} {name}")
        .run()?;
    fs::remove_dir_all(folder)?;
    Ok(archive)
}

/// The licences of everything that is linked in, each text once.
fn licences(shell: &Shell, target: &Target) -> Result<String> {
    let triple = target.triple;
    let metadata =
        cmd!(shell, "cargo metadata --locked --format-version 1 --filter-platform {triple}").quiet().read()?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let list = |it: &Value| it.as_array().cloned().unwrap_or_default();
    let text = |it: &Value| it.as_str().unwrap_or_default().to_string();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|it| (text(&it["id"]), it)).collect();
    let nodes: BTreeMap<String, Value> =
        list(&metadata["resolve"]["nodes"]).into_iter().map(|it| (text(&it["id"]), it)).collect();
    let product = packages.iter().find(|(_, it)| it["name"] == "faultline").context("there is no package faultline")?;
    let (mut open, mut linked) = (vec![product.0.clone()], BTreeSet::new());
    while let Some(id) = open.pop() {
        for dependency in list(&nodes[&id]["deps"]) {
            let is_linked = list(&dependency["dep_kinds"]).iter().any(|it| it["kind"].is_null());
            let id = text(&dependency["pkg"]);
            if is_linked && linked.insert(id.clone()) {
                open.push(id);
            }
        }
    }
    let mut summary = String::from("faultline is linked with these packages.\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Our own have no source: their licence is faultline's.
    for package in linked.iter().map(|id| &packages[id]).filter(|it| !it["source"].is_null()) {
        let name = format!("{} {}", text(&package["name"]), text(&package["version"]));
        summary += &format!("{name}: {}, {}\n", text(&package["license"]), text(&package["repository"]));
        let manifest = text(&package["manifest_path"]);
        for entry in fs::read_dir(Path::new(&manifest).parent().context("a manifest lies in a folder")?)? {
            let path = entry?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            let is_licence =
                ["LICEN", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"].iter().any(|it| file.starts_with(it));
            if is_licence && path.is_file() {
                texts.entry(fs::read_to_string(&path)?.trim().to_string()).or_default().push(name.clone());
            }
        }
    }
    summary += match triple.ends_with("gnu") {
        true => {
            "\nThe GNU C Library (LGPL-2.1-or-later, https://sourceware.org/glibc) is linked in, too: `cargo xtask dist`\nin the sources of faultline links it anew. SQLite is in the public domain.\n"
        }
        false => "\nmusl (MIT, https://musl.libc.org) is linked in, too. SQLite is in the public domain.\n",
    };
    for (text, mut names) in texts {
        names.dedup();
        summary += &format!("\n{}\n{}:\n\n{text}\n", "-".repeat(80), names.join(", "));
    }
    Ok(summary)
}

/// Whether an ELF file of 64 bits asks for no interpreter (PT_INTERP): a dynamic executable begins in one.
fn is_static(file: &[u8]) -> bool {
    let number = |at: u64, bytes: usize| {
        let field = file.get(at as usize..at as usize + bytes)?;
        Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    let is_interpreter = |index: u64| {
        let (table, size) = (number(0x20, 8)?, number(0x36, 2)?);
        Some(number(table + index * size, 4)? == 3)
    };
    file.starts_with(b"\x7fELF\x02\x01")
        && number(0x38, 2).is_some_and(|headers| (0..headers).all(|it| is_interpreter(it) == Some(false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_interpreter_is_static_and_a_test_has_one() {
        let test = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!is_static(&test) && !is_static(b"#!/bin/sh") && !is_static(&test[..0x39]));
        let mut header = vec![0; 64 + 56];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (header[0x20], header[0x36], header[0x38]) = (64, 56, 1);
        header[64] = 1;
        assert!(is_static(&header));
        header[64] = 3;
        assert!(!is_static(&header));
    }

    #[test]
    fn every_licence_of_what_is_linked_is_there_once() {
        let shell = Shell::new().unwrap();
        shell.change_dir(crate::root());
        let text = licences(&shell, &TARGETS[0]).unwrap();
        assert!(text.contains("\nclap 4.") && text.contains("Permission is hereby granted"));
        assert!(!text.contains("proptest") && !text.contains("faultline-worker"));
        let apache = text.matches("TERMS AND CONDITIONS FOR USE, REPRODUCTION").count();
        // A hundred packages are linked; some differ in a blank or a year.
        assert!((1..30).contains(&apache), "{apache}");
    }
}
