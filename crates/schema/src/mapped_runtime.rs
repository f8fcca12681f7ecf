//! Runtimes for which a page fault means more than a thread that waits, and how the code of each is told.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MappedRuntime {
    Jvm,
    Cpython,
    /// Its code is part of each program, and is recognised by the program's ELF file.
    Go,
    Node,
}

impl MappedRuntime {
    /// By the name that the runtime's makers give the file of its code; without the folder before it.
    pub fn of_code(path: &str) -> Option<MappedRuntime> {
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let name = path.rsplit('/').next()?;
        // `python3.11`, `libpython3.11.so.1.0`; a build without the GIL has a `t` behind its version (PEP 703).
        let python = name.strip_prefix("libpython").and_then(|it| it.split_once(".so")).map(|it| it.0);
        let python = python.or_else(|| name.strip_prefix("python"));
        let is_version = |it: &str| it.chars().all(|it| it.is_ascii_digit() || it == '.');
        match name {
            "libjvm.so" => Some(MappedRuntime::Jvm),
            "node" | "nodejs" => Some(MappedRuntime::Node),
            _ => python.filter(|it| is_version(it)).map(|_| MappedRuntime::Cpython),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_known_by_the_name_of_its_code() {
        let of = MappedRuntime::of_code;
        assert_eq!(of("/usr/lib/jvm/lib/server/libjvm.so"), Some(MappedRuntime::Jvm));
        for python in ["/usr/bin/python3.11", "/l/libpython3.12.so.1.0 (deleted)", "python3", "/o/python"] {
            assert_eq!(of(python), Some(MappedRuntime::Cpython), "{python}");
        }
        assert_eq!(of("/usr/bin/node"), Some(MappedRuntime::Node));
        let others = [
            "/usr/bin/python3.13t",
            "/l/libpython3.13t.so.1.0",
            "/data/node.db",
            "/usr/bin/pythonista",
            "/usr/bin/python3-config",
            "/a/python3/b",
            "",
            " (deleted)",
        ];
        for other in others {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
