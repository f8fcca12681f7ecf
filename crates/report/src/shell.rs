//! Commands that a report prints to be pasted into a shell.

use crate::layout::text::visible;

/// A command of faultline with one word from a record. That word is quoted, so it is one word of a POSIX shell and nothing
/// else, and it is no option. What a terminal would not show is spelled out: then it names nothing.
pub(crate) fn command(words: &str, word: &str) -> String {
    let options_end = if word.starts_with('-') { " --" } else { "" };
    format!("faultline {words}{options_end} {}", quoted(word))
}

/// A command line of faultline, each word quoted as that of `command`.
pub fn command_line(words: &[&str]) -> String {
    ["faultline".to_string()].into_iter().chain(words.iter().map(|it| quoted(it))).collect::<Vec<_>>().join(" ")
}

/// The beginning of a run's id that a person needs: when it began, and 32 of its 128 random bits. A run is loaded by the
/// beginning of its id; of two that begin alike, the error names both.
pub(crate) fn short(id: &str) -> &str {
    const TIME: usize = "20261120T225104Z-".len();
    let is_random = |it: &str| it.len() == 32 && it.bytes().all(|byte| byte.is_ascii_hexdigit());
    match id.get(TIME..) {
        Some(bits) if is_random(bits) => &id[..TIME + 8],
        _ => id,
    }
}

fn quoted(word: &str) -> String {
    let word = visible(word);
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '/' | '=' | ',' | '+' | ':');
    // `=word` is a path to zsh.
    match !word.is_empty() && !word.starts_with('=') && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(
        clippy::disallowed_methods,
        reason = "a shell is asked what it takes the words for; the crate itself does no I/O"
    )]
    fn a_word_of_a_record_is_one_word_to_a_shell_and_no_option() {
        assert_eq!(command("rerun", "20261120T225104Z-3f9a"), "faultline rerun 20261120T225104Z-3f9a");
        for evil in
            ["x; touch y", "$(touch y)", "`touch y`", "a'; touch y; '", "~", "a\nb", "\u{1b}[2J", "", "*", "a b"]
        {
            let command = command("report", evil);
            let output = std::process::Command::new("sh")
                .args(["-c", &command.replacen("faultline", "printf '%s|'", 1)])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("report|{}|", visible(evil)), "{command}");
        }
        assert_eq!(command("rerun", "--run-commands"), "faultline rerun -- --run-commands");
        assert_eq!(command_line(&["run", "--state=cold,cached", "a b"]), "faultline run --state=cold,cached 'a b'");
    }

    #[test]
    fn an_id_of_128_random_bits_is_shown_by_its_beginning_and_any_other_whole() {
        assert_eq!(short("20261120T225104Z-0123456789abcdef0123456789abcdef"), "20261120T225104Z-01234567");
        let others =
            ["20261120T225104Z-3f9a", "20261120T225104Z-0123456789abcdef0123456789abcdef-2", "x", "", "ééééééééééé"];
        assert!(others.iter().all(|it| short(it) == *it));
    }
}
