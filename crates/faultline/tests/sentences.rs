//! `analysis` makes no sentence: what it finds is data, and `report` has the words. Read from the text.

use std::{collections::BTreeMap, fs, path::Path};

/// So many words are a sentence.
const WORDS: usize = 3;

/// The texts between quotes, each with what stands before it on its line. Raw texts and characters are passed over.
fn literals(code: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut line = String::new();
    let mut rest = code.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '"' => {
                let mut text = String::new();
                while let Some(next) = rest.next().filter(|it| *it != '"') {
                    if next == '\\' {
                        rest.next();
                        continue;
                    }
                    text.push(next);
                }
                found.push((line.trim().to_string(), text));
            }
            '\'' if rest.peek() == Some(&'"') => drop(rest.next()),
            '\n' => line.clear(),
            _ => line.push(next),
        }
    }
    found
}

fn words(text: &str) -> usize {
    let is_word = |it: &&str| it.chars().filter(|it| it.is_alphabetic()).count() > 1;
    text.split(|it: char| it.is_whitespace() || "{}:;,()".contains(it)).filter(is_word).count()
}

/// It is seen in the code only, not in a report.
fn is_for_developers(before: &str) -> bool {
    ["expect(", "panic!(", "assert!(", "env!(", "reason = ", "serde("].iter().any(|it| before.contains(it))
}

fn sentences(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sentences(root, &path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = code.lines().filter(|it| !it.trim_start().starts_with("//"));
        let code = lines.collect::<Vec<&str>>().join("\n");
        let file = path.strip_prefix(root).unwrap().display().to_string();
        let made = literals(&code).into_iter();
        let made = made.filter(|(before, text)| words(text) >= WORDS && !is_for_developers(before));
        found.entry(file).or_default().extend(made.map(|(_, text)| text));
    }
}

#[test]
fn a_sentence_is_found_and_other_texts_are_not() {
    let code = "let a = \"this is one sentence\";\nlet b = format!(\"{a} of\");\nit.expect(\"this is never none\");\nlet c = '\"';";
    let found = literals(code);
    let made = |(before, text): &&(String, String)| words(text) >= WORDS && !is_for_developers(before);
    assert_eq!(found.iter().filter(made).map(|it| it.1.as_str()).collect::<Vec<_>>(), ["this is one sentence"]);
}

#[test]
fn analysis_makes_no_sentence() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/src");
    let mut found = BTreeMap::new();
    sentences(&root, &root, &mut found);
    assert!(found.len() > 30, "{found:?}");
    found.retain(|_, texts| !texts.is_empty());
    assert_eq!(found, BTreeMap::new());
}
