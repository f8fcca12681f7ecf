//! No circles: of the modules that lie beside each other in a crate or in a folder of it, none imports another one by
//! which, in however many steps, it is itself imported. What a folder's `mod.rs` holds is for the files in it, and it may
//! list them in a table, so a file and the `mod.rs` above it are no circle.
//!
//! Read from the text: `use crate::…`, `use super::…` and paths that begin so, followed through re-exports to the file
//! that a name comes from. Tests of a file may import whatever they want.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The names from the root of a crate to a module: empty for the root itself.
type Module = Vec<String>;

#[derive(Default)]
struct File {
    text: String,
    /// What `use` brings in here, by the name that it has here.
    names: BTreeMap<String, Module>,
    /// Modules all of whose names it brings in.
    globs: Vec<Module>,
    /// Everything that is named by a path, as written out from the root.
    paths: Vec<Module>,
}

/// A crate's files, by their modules.
pub struct Crate(BTreeMap<Module, File>);

impl Crate {
    pub fn read(root: &Path) -> Crate {
        let mut files = BTreeMap::new();
        collect(root, &mut Vec::new(), &mut files);
        let mut read = Crate(files);
        let modules: BTreeSet<Module> = read.0.keys().cloned().collect();
        for (module, file) in &mut read.0 {
            let mut rest = String::new();
            for (at, piece) in file.text.split("use ").enumerate() {
                let begins = at > 0 && rest.chars().last().is_none_or(|it| !it.is_alphanumeric() && it != '_');
                match piece.split_once(';').filter(|_| begins) {
                    Some((tree, after)) => {
                        leaves(tree, &mut Vec::new(), &mut |path, name| {
                            let child = || modules.contains(&[&module[..], &path[..1]].concat());
                            let is_ours = matches!(path[0].as_str(), "crate" | "super" | "self") || child();
                            if !is_ours {
                                return;
                            }
                            let full = absolute(module, &path);
                            match name {
                                "*" => file.globs.push(full.clone()),
                                name => drop(file.names.insert(name.to_string(), full.clone())),
                            }
                            file.paths.push(full);
                        });
                        rest.push_str(after);
                    }
                    None => rest.push_str(piece),
                }
            }
            for path in inline(&rest) {
                file.paths.push(absolute(module, &path));
            }
        }
        read
    }

    /// The module whose file a path leads to.
    fn resolve(&self, path: &[String], steps: u32) -> Module {
        let mut known = path.len();
        while !self.0.contains_key(&path[..known]) {
            known -= 1;
        }
        let (module, file) = self.0.get_key_value(&path[..known]).expect("the root is there");
        let Some(name) = path.get(known).filter(|_| steps < 20) else { return module.clone() };
        if let Some(target) = file.names.get(name).filter(|it| it[..] != path[..=known]) {
            return self.resolve(&[target, &path[known + 1..]].concat(), steps + 1);
        }
        let defines = |file: &File| {
            ["fn", "struct", "enum", "trait", "type", "const", "static"].iter().any(|kind| {
                let wanted = format!("{kind} {name}");
                file.text.match_indices(&wanted).any(|(at, _)| {
                    file.text[at + wanted.len()..].starts_with(|it: char| !it.is_alphanumeric() && it != '_')
                })
            })
        };
        if !defines(file) {
            for glob in &file.globs {
                let found = self.resolve(glob, steps + 1);
                if self.0.get(&found).is_some_and(defines) {
                    return found;
                }
            }
        }
        module.clone()
    }

    /// Every module, by its path, that a module imports in any number of steps.
    pub fn reached_from(&self, module: &str) -> BTreeSet<String> {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<Module> = vec![module.split("::").map(str::to_string).collect()];
        while let Some(module) = waiting.pop() {
            for path in &self.0[&module].paths {
                let target = self.resolve(path, 0);
                // The root re-exports names of all modules.
                if !target.is_empty() && reached.insert(target.join("::")) {
                    waiting.push(target);
                }
            }
        }
        reached
    }

    /// For each folder: which of the modules in it import which others, with the files that do.
    fn imports(&self) -> BTreeMap<Module, BTreeMap<String, BTreeMap<String, String>>> {
        let mut all: BTreeMap<Module, BTreeMap<String, BTreeMap<String, String>>> = BTreeMap::new();
        for (module, file) in &self.0 {
            for path in &file.paths {
                let target = self.resolve(path, 0);
                let shared = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (module.get(shared), target.get(shared)) {
                    let folder = all.entry(module[..shared].to_vec()).or_default();
                    let shown = format!("{} imports {}", module.join("::"), target.join("::"));
                    folder.entry(from.clone()).or_default().insert(to.clone(), shown);
                }
            }
        }
        all
    }
}

fn collect(folder: &Path, module: &mut Module, files: &mut BTreeMap<Module, File>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_string();
        if path.is_dir() {
            module.push(stem);
            collect(&path, module, files);
            module.pop();
        } else if path.extension().is_some_and(|it| it == "rs") && stem != "tests" {
            let mut name = module.clone();
            if !(stem == "mod" || (module.is_empty() && matches!(stem.as_str(), "lib" | "main"))) {
                name.push(stem);
            }
            let text = without_tests_and_comments(&fs::read_to_string(&path).unwrap());
            files.insert(name, File { text, ..File::default() });
        }
    }
}

/// Unit tests stand at the end of a file.
pub fn without_tests_and_comments(text: &str) -> String {
    let code = match text
        .match_indices("#[cfg(test)]\nmod ")
        .find(|(at, _)| text[*at..].lines().nth(1).is_some_and(|it| it.ends_with('{')))
    {
        Some((at, _)) => &text[..at],
        None => text,
    };
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Calls back for each path of a `use`, with the name that it has from then on.
fn leaves(tree: &str, prefix: &mut Vec<String>, each: &mut impl FnMut(Vec<String>, &str)) {
    let tree = tree.trim();
    let Some((before, body)) = tree.split_once('{') else {
        let (path, renamed) = tree.split_once(" as ").unwrap_or((tree, ""));
        let mut full = prefix.clone();
        full.extend(path.split("::").map(|it| it.trim().to_string()));
        if full.last().is_some_and(|it| it == "self") && full.len() > 1 {
            full.pop();
        }
        let own = full.last().cloned().unwrap_or_default();
        let name = if renamed.is_empty() { &own } else { renamed.trim() };
        if name == "*" {
            full.pop();
        }
        if !full.is_empty() {
            each(full, name);
        }
        return;
    };
    let depth = prefix.len();
    prefix.extend(before.split("::").map(|it| it.trim().to_string()).filter(|it| !it.is_empty()));
    let body = body.rsplit_once('}').map_or(body, |it| it.0);
    let (mut open, mut begin) = (0, 0);
    for (at, c) in body.char_indices().chain([(body.len(), ',')]) {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            ',' if open == 0 => {
                if !body[begin..at].trim().is_empty() {
                    leaves(&body[begin..at], prefix, each);
                }
                begin = at + 1;
            }
            _ => {}
        }
    }
    prefix.truncate(depth);
}

/// Paths in expressions and types that begin with `crate` or `super`.
fn inline(text: &str) -> Vec<Vec<String>> {
    let word = |it: char| it.is_alphanumeric() || it == '_';
    let mut paths = Vec::new();
    for begin in ["crate::", "super::"] {
        for (at, _) in text.match_indices(begin) {
            if text[..at].ends_with(|it: char| word(it) || it == ':') {
                continue;
            }
            let end = text[at..].find(|it: char| !word(it) && it != ':').map_or(text.len(), |it| at + it);
            paths.push(text[at..end].split("::").filter(|it| !it.is_empty()).map(str::to_string).collect());
        }
    }
    paths
}

/// From the root of the crate.
fn absolute(module: &[String], path: &[String]) -> Module {
    let mut base = module.to_vec();
    let mut rest = path;
    match rest.first().map(String::as_str) {
        Some("crate") => (base, rest) = (Vec::new(), &rest[1..]),
        Some("self") => rest = &rest[1..],
        _ => {
            while rest.first().is_some_and(|it| it == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
    }
    base.extend_from_slice(rest);
    base
}

/// A way from a module back to itself, if there is one.
fn circle<'a>(
    imports: &'a BTreeMap<String, BTreeMap<String, String>>,
    way: &mut Vec<(&'a str, &'a str)>,
    done: &mut BTreeSet<&'a str>,
    at: &'a str,
) -> bool {
    for (to, shown) in imports.get(at).into_iter().flatten() {
        way.push((at, shown));
        if let Some(begin) = way.iter().position(|(from, _)| from == to) {
            way.drain(..begin);
            return true;
        }
        if !done.contains(to.as_str()) && circle(imports, way, done, to) {
            return true;
        }
        way.pop();
    }
    done.insert(at);
    false
}

fn circles(read: &Crate) -> Vec<String> {
    let mut found = Vec::new();
    for imports in read.imports().values() {
        let mut done = BTreeSet::new();
        for module in imports.keys() {
            let mut way = Vec::new();
            if !done.contains(module.as_str()) && circle(imports, &mut way, &mut done, module) {
                found.push(way.iter().map(|(_, shown)| *shown).collect::<Vec<_>>().join(", "));
                break;
            }
        }
    }
    found
}

#[test]
fn no_crate_has_modules_that_import_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources: Vec<_> = fs::read_dir(root.join("crates")).unwrap().map(|it| it.unwrap().path()).collect();
    sources.push(root.join("xtask"));
    let (mut imports, mut found) = (0, Vec::new());
    for source in &sources {
        let read = Crate::read(&source.join("src"));
        imports += read.imports().values().flat_map(BTreeMap::values).map(BTreeMap::len).sum::<usize>();
        found.extend(circles(&read).into_iter().map(|it| format!("{}: {it}", source.file_name().unwrap().display())));
    }
    assert!(imports > 300, "only {imports} imports were read");
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_circle_is_found_through_folders_and_re_exports() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::deep::Thing;\n");
    write("a.rs", "use crate::Thing;\npub(crate) const A: u8 = 1;\n");
    write("b/mod.rs", "mod deep;\npub(crate) trait B {}\npub(crate) const ALL: &[&dyn B] = &[&deep::Thing];\n");
    write("b/deep.rs", "use super::B;\npub struct Thing;\nimpl B for Thing {}\n");
    write("c.rs", "// use crate::c;\nuse crate::{a::{self, A}, b::B as Other};\npub fn c() {}\n");
    assert_eq!(circles(&Crate::read(folder.path())), [""; 0], "a table of its files is no circle");
    write("b/deep.rs", "use super::B;\npub struct Thing;\nimpl B for Thing {}\nfn c() { crate::c::c() }\n");
    let found = circles(&Crate::read(folder.path()));
    assert_eq!(found, ["a imports b::deep, b::deep imports c, c imports a"]);
    write("c.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n");
    assert_eq!(circles(&Crate::read(folder.path())), [""; 0], "tests may import what they test with");
}
