//! Untrusted text made harmless, and text broken into lines of a given width.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::number::{GLUE, count};

/// Enough for the mitigations of a CPU in one line and for any reason written in this project; the
/// stderr of a worker may be longer.
const LONGEST: usize = 1000;

/// A file name, a reason or any other text from outside, safe to print on a terminal: control characters,
/// line breaks and characters that reorder or hide text are spelled out, and a very long text loses its middle.
pub fn visible(text: &str) -> String {
    spelled_out(&shortened(text, LONGEST))
}

/// No argument of a program is longer (execve(2)).
const LONGEST_ARGUMENT: usize = 128 << 10;

/// As `visible`, of a command line: nothing of it is left out, and several blanks stay as many.
pub(crate) fn whole(text: &str) -> String {
    let shown = spelled_out(&shortened(text, LONGEST_ARGUMENT));
    let mut whole = String::with_capacity(shown.len());
    for c in shown.chars() {
        if is_other_blank(c) {
            whole.extend(c.escape_unicode());
            continue;
        }
        // The first of them is where a line may end.
        let is_further = c == ' ' && whole.ends_with([' ', GLUE]);
        whole.push(if is_further || (c == ' ' && whole.is_empty()) { GLUE } else { c });
    }
    whole
}

fn spelled_out(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if hides(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// It moves the cursor, or what it does is not seen.
pub(crate) fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What looks like a blank and is none to a shell: after it a `#` begins no comment.
fn is_other_blank(c: char) -> bool {
    (c != ' ' && c.is_whitespace()) || matches!(c, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
}

/// Leaving out fewer characters than this would save nothing.
const SPARED: usize = 60;

/// The text itself, or its beginning and its end with the number of characters left out between them.
pub(crate) fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    // Most texts are short, and counting the characters of the others costs one look at each byte.
    if text.len() <= longest {
        return Cow::Borrowed(text);
    }
    let characters = text.chars().count();
    // Saying that something was left out takes room too.
    if characters <= longest + SPARED {
        return Cow::Borrowed(text);
    }
    let tail = longest / 4;
    let head = longest - tail;
    let head_end = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
    let tail_start = text.char_indices().rev().nth(tail - 1).map_or(0, |(at, _)| at);
    let left_out = count((characters - head - tail) as f64);
    Cow::Owned(format!("{}… ({left_out} characters left out) …{}", &text[..head_end], &text[tail_start..]))
}

/// A text for a terminal that shows no other characters: each gives way to one that is as wide, so that nothing moves.
pub fn ascii(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => shown.push(c),
            GLUE => shown.push(' '),
            'µ' => shown.push('u'),
            '±' | '…' => shown.push('~'),
            '·' | '–' | '—' | '\u{2212}' => shown.push('-'),
            '×' => shown.push('x'),
            '≥' => shown.push('>'),
            '≤' => shown.push('<'),
            '≠' => shown.push('!'),
            '†' => shown.push('+'),
            '‡' => shown.push('&'),
            '§' => shown.push('$'),
            '█' => shown.push('#'),
            '▓' => shown.push('%'),
            '▒' => shown.push('+'),
            '░' => shown.push('.'),
            other => shown.extend(std::iter::repeat_n('?', other.width().unwrap_or(0))),
        }
    }
    shown
}

/// Columns that a text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Lines no wider than `columns`, broken at spaces; a word that is wider by itself is broken after one of `/+,=-`
/// where possible, and anywhere if not.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in &words(text) {
        let taken = width(&line);
        if !line.is_empty() && taken + 1 + width(word) <= columns {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        let mut rest = word.as_str();
        while width(rest) > columns {
            let at = break_at(rest, columns);
            lines.push(rest[..at].to_string());
            rest = &rest[at..];
        }
        line.push_str(rest);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Of the word that takes most columns.
pub(crate) fn widest_word(text: &str) -> usize {
    words(text).iter().map(|it| width(it)).max().unwrap_or(0)
}

/// A text for what breaks lines itself: numbers stay with their units.
pub(crate) fn glued(text: &str) -> String {
    words(text).join(" ")
}

/// The words of a text. A number and its unit are one.
fn words(text: &str) -> Vec<String> {
    const UNITS: &[&str] =
        &["B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "ns", "µs", "ms", "s", "min", "h", "%"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let unit = word.trim_end_matches(['.', ',', ';', ':', ')', ']', '?']);
        let unit = unit.split('/').next().unwrap_or(unit);
        match words.last_mut() {
            Some(last) if last.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit) => {
                last.push(GLUE);
                last.push_str(word);
            }
            _ => words.push(word.to_string()),
        }
    }
    words
}

/// Where to break a word that is wider than `columns`, in bytes; never 0.
fn break_at(word: &str, columns: usize) -> usize {
    let mut taken = 0;
    let mut last = word.chars().next().map_or(0, char::len_utf8);
    let mut good = None;
    for (at, c) in word.char_indices() {
        taken += c.width().unwrap_or(1);
        if taken > columns {
            break;
        }
        last = at + c.len_utf8();
        if matches!(c, '/' | '+' | ',' | '=' | '-') && taken * 3 > columns {
            good = Some(last);
        }
    }
    good.unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_move_a_cursor_or_turn_text_around_is_spelled_out() {
        assert_eq!(visible("a\u{1b}[2Jb\nc\td\u{7f}"), "a\\u{1b}[2Jb\\nc\\td\\u{7f}");
        assert_eq!(visible("abc\u{202e}fdp.exe\u{200b}"), "abc\\u{202e}fdp.exe\\u{200b}");
        assert_eq!(visible("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(visible("größe 日本 e\u{301}"), "größe 日本 e\u{301}");
    }

    #[test]
    fn what_looks_like_a_blank_and_is_none_to_a_shell_is_spelled_out_in_a_command() {
        for blank in ['\u{a0}', '\u{2003}', '\u{202f}', '\u{205f}', '\u{3000}', '\u{2800}', '\u{3164}', '\u{85}'] {
            let shown = whole(&format!("true{blank}# ; touch f"));
            assert_eq!(shown, format!("true\\u{{{:x}}}# ; touch f", u32::from(blank)));
        }
        assert_eq!(whole("a  b größe"), "a \u{a0}b größe");
    }

    #[test]
    fn what_is_shown_in_ascii_is_as_wide_as_before() {
        let text = "größe 日本 e\u{301} · ±1.1 % of 812 µs – 2 × ≥ ≠ † ‡ § … |█▓▒░ |";
        let shown = ascii(text);
        assert_eq!(shown, "gr??e ???? e - ~1.1 % of 812 us - 2 x > ! + & $ ~ |#%+. |");
        assert_eq!(width(&shown), width(text));
    }

    #[test]
    fn a_very_long_text_keeps_its_beginning_and_its_end() {
        let text = format!("/start/{}/end.data", "x".repeat(10 << 20));
        let shown = visible(&text);
        assert!(shown.starts_with("/start/xxx") && shown.ends_with("x/end.data"), "{shown}");
        assert!(shown.chars().count() < 1060);
        assert!(shown.contains("(10,484,776 characters left out)"), "{shown}");
        let hardly_longer = "y".repeat(1050);
        assert_eq!(visible(&hardly_longer), hardly_longer, "the mark is longer than what it replaces");
    }

    #[test]
    fn lines_are_never_wider_than_asked_and_nothing_is_lost() {
        let text =
            "pread copies 4 KiB per call; /a/very/long/path/that/does-not-fit/anywhere+at+all 日本語日本語日本語 end";
        for columns in 2..90 {
            let lines = wrap(text, columns);
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:?}");
            let squeezed: String = lines.concat().split([' ', GLUE]).collect();
            assert_eq!(squeezed, text.split(' ').collect::<String>());
        }
    }

    #[test]
    fn a_number_and_its_unit_are_one_word() {
        assert_eq!(wrap("about 268 MB, or 3 GiB/s", 9), ["about", "268\u{a0}MB,", "or", "3\u{a0}GiB/s"]);
    }
}
