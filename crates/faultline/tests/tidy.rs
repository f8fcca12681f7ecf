//! Rules of the source that no compiler checks.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file below a folder, but for build results and what is not the project's.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    // Other tests make folders here, and remove them.
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.unwrap();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !matches!(entry.file_name().to_str(), Some("target" | ".git" | ".library")) {
            files(&entry.path(), found);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&root(), &mut found);
    found.into_iter().filter_map(|path| Some((path.clone(), fs::read_to_string(path).ok()?))).collect()
}

fn crates() -> Vec<PathBuf> {
    let mut crates: Vec<PathBuf> =
        fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    crates.push(root().join("xtask"));
    crates
}

#[test]
fn every_experiment_and_study_is_built_in_as_it_is() {
    for (folder, list) in
        [("experiments", schema::builtin::EXPERIMENTS), ("experiments/studies", schema::builtin::STUDIES)]
    {
        let mut names = Vec::new();
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|it| it != "toml") {
                continue;
            }
            let name = path.file_stem().unwrap().to_str().unwrap().to_string();
            let text = schema::builtin::find(&name).unwrap_or_else(|| panic!("{name} is not in schema::builtin"));
            assert_eq!(text, fs::read_to_string(&path).unwrap());
            names.push(name);
        }
        assert_eq!(names.len(), list.len(), "{folder}");
    }
}

#[test]
fn every_study_has_its_findings_beside_it() {
    for (name, _) in schema::builtin::STUDIES {
        let path = root().join("experiments/studies").join(format!("{name}.md"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(text.starts_with(&format!("# {name}: ")), "{name} has another title");
    }
}

/// A file that the module above it has for tests alone.
fn is_of_tests(path: &Path) -> bool {
    let (Some(folder), Some(stem)) = (path.parent(), path.file_stem().and_then(|it| it.to_str())) else { return false };
    let above = [folder.join("lib.rs"), folder.join("mod.rs"), folder.with_extension("rs")];
    above
        .iter()
        .filter_map(|it| fs::read_to_string(it).ok())
        .any(|it| it.contains(&format!("#[cfg(test)]\nmod {stem};")))
}

#[test]
fn libraries_do_not_print() {
    for (path, text) in sources() {
        let shown = path.strip_prefix(root()).unwrap().to_str().unwrap().to_string();
        let of_library =
            shown.contains("/src/") && shown.starts_with("crates/") && !shown.starts_with("crates/faultline/");
        if !of_library || !shown.ends_with(".rs") || is_of_tests(&path) {
            continue;
        }
        // Unit tests stand at the end, or in a file of their own, and may say why they are skipped.
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (number, line) in code.lines().enumerate() {
            let line = line.split("//").next().unwrap();
            for word in ["println!", "print!(", "dbg!"] {
                assert!(!line.contains(word), "{shown}:{}: {word} in a library", number + 1);
            }
        }
    }
}

#[test]
fn every_crate_says_what_it_is() {
    for krate in crates() {
        let entry = ["src/lib.rs", "src/main.rs"].map(|it| krate.join(it)).into_iter().find(|it| it.exists());
        let entry = entry.unwrap_or_else(|| panic!("{} has no root", krate.display()));
        assert!(fs::read_to_string(&entry).unwrap().starts_with("//! "), "{} has no header", entry.display());
    }
}

/// The compiler reads no file that no module names, and says nothing of it.
#[test]
fn every_source_file_is_a_module_of_its_crate() {
    for krate in crates() {
        let mut found = Vec::new();
        files(&krate.join("src"), &mut found);
        for path in found.into_iter().filter(|it| it.extension().is_some_and(|it| it == "rs")) {
            let (mut folder, mut stem) = (path.parent().unwrap(), path.file_stem().unwrap());
            if stem == "lib" || stem == "main" {
                continue;
            }
            if stem == "mod" {
                (folder, stem) = (folder.parent().unwrap(), folder.file_name().unwrap());
            }
            let above = ["mod.rs", "lib.rs", "main.rs"].map(|it| folder.join(it));
            let above = above.into_iter().chain([folder.with_extension("rs")]);
            let text: String = above.filter_map(|it| fs::read_to_string(it).ok()).collect();
            let line = format!("mod {};", stem.to_str().unwrap());
            let is_module = text.lines().any(|it| it.trim_end() == line || it.ends_with(&format!(" {line}")));
            assert!(is_module, "{} is in no module above it", path.display());
        }
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let dependencies = manifest.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let lines: Vec<&str> = dependencies.lines().filter(|it| !it.is_empty() && !it.contains("path = ")).collect();
    let mut explained = false;
    for line in lines {
        let is_comment = line.starts_with('#');
        assert!(is_comment || explained, "no reason stands above {line:?}");
        explained = is_comment || explained;
    }
    for krate in crates() {
        let path = krate.join("Cargo.toml");
        let manifest = fs::read_to_string(&path).unwrap();
        for section in manifest.split("\n[").filter(|it| it.contains("dependencies]")) {
            for line in section.lines().skip(1).filter(|it| !it.is_empty() && !it.starts_with('#')) {
                assert!(line.contains("workspace = true"), "{}: {line:?} has its version here", path.display());
            }
        }
    }
}

#[test]
fn every_source_file_that_a_document_names_is_there() {
    let mut named = 0;
    for (path, text) in sources().into_iter().filter(|it| it.0.extension().is_some_and(|it| it == "md")) {
        for word in text.split('`').skip(1).step_by(2) {
            let is_source = (word.contains("/src/") || word.contains("/tests/")) && word.ends_with(".rs");
            if is_source && !word.contains(['<', '{', ' ']) {
                let is_there = [root(), root().join("crates")].iter().any(|it| it.join(word).exists());
                assert!(is_there, "{} names {word}, which is not there", path.display());
                named += 1;
            }
        }
    }
    assert!(named > 20, "only {named} names were found");
}

#[test]
fn nothing_mentions_the_machine_it_was_written_on() {
    // Put together here, so that this file does not mention them either.
    let words = [concat!("/wo", "rk/"), concat!("../", "shared")];
    for (path, text) in sources() {
        for word in words {
            if let Some(line) = text.lines().position(|it| it.contains(word)) {
                panic!("{}:{}: {word:?}", path.display(), line + 1);
            }
        }
    }
}

#[test]
fn no_test_is_ignored_and_nothing_is_left_to_do_without_a_condition() {
    let words = [concat!("#[ig", "nore"), concat!("#[should", "_panic"), concat!("FIX", "ME"), concat!("XX", "X")];
    for (path, text) in sources().into_iter().filter(|it| it.0.extension().is_some_and(|it| it == "rs")) {
        for word in words {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
}
