//! Nouns with their numbers, and sentences without theirs.

use std::borrow::Cow;

use super::{number, text};

/// `s`, unless there is one.
pub(crate) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// `1 pass`, `1,024 passes`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", number::count(count as f64), if count == 1 { one } else { many })
}

/// `read`, `read and mmap`, `read, mmap and direct`.
pub(crate) fn list(items: &[impl AsRef<str>]) -> String {
    joined(items, "and")
}

/// The same, with another word before the last one.
pub(crate) fn joined(items: &[impl AsRef<str>], word: &str) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match &items[..] {
        [] => String::new(),
        [one] => one.to_string(),
        // Items with commas of their own are told apart by semicolons.
        [first @ .., last] if items.iter().any(|it| it.contains(", ")) => {
            format!("{}; {word} {last}", first.join("; "))
        }
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

/// `mmap was`, `mmap and direct were`.
pub(crate) fn were(items: &[impl AsRef<str>]) -> String {
    format!("{} {}", list(items), if items.len() == 1 { "was" } else { "were" })
}

/// With a capital letter at its beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A name as one word of a sentence: in quotation marks where it has several.
pub(crate) fn word(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_whitespace) { Cow::Owned(format!("`{name}`")) } else { Cow::Borrowed(name) }
}

/// `the one comparison`, `both comparisons`, `all 3 comparisons`.
pub(crate) fn all_of(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("the one {one}"),
        2 => format!("both {many}"),
        _ => format!("all {}", counted(count, one, many)),
    }
}

/// Sentences that differ in their numbers and units only are one.
pub(crate) fn without_numbers(sentence: &str) -> String {
    const UNITS: &[&str] = &["B", "bytes", "KiB", "MiB", "GiB", "MB", "ns", "µs", "ms", "s", "min", "h"];
    let mut key = String::new();
    for word in text::shortened(sentence, 400).split(' ') {
        let bare = word.trim_matches(['(', ')', ',', ';', '.', ':']);
        if UNITS.contains(&bare) {
            continue;
        }
        let mut before = ' ';
        for c in word.chars() {
            // The digits of a number, and what stands between them.
            let within = before == '#' && (c.is_ascii_digit() || matches!(c, '.' | ','));
            if !within {
                before = if c.is_ascii_digit() { '#' } else { c };
                key.push(before);
            }
        }
        key.push(' ');
    }
    key
}
