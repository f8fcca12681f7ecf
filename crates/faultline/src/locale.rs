//! Which characters a terminal shows, as its locale says.

use std::borrow::Cow;

/// A text as it is shown there.
pub fn shown(text: &str) -> Cow<'_, str> {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].map(|it| std::env::var(it).unwrap_or_default());
    match is_utf8(set.each_ref().map(String::as_str)) || text.is_ascii() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(report::ascii(text)),
    }
}

/// The first that is not empty decides, as in setlocale(3). Where none is set, as in most containers, the terminal is most
/// often one that shows UTF-8.
fn is_utf8(set: [&str; 3]) -> bool {
    let decides = set.into_iter().find(|it| !it.is_empty());
    decides.is_none_or(|it| it.to_ascii_lowercase().replace('-', "").contains("utf8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_says_what_a_terminal_shows() {
        assert!(is_utf8(["", "", ""]) && is_utf8(["", "", "de_DE.UTF-8"]) && is_utf8(["C.utf8", "C", "C"]));
        assert!(
            !is_utf8(["C", "", "de_DE.UTF-8"]) && !is_utf8(["", "", "de_DE.ISO-8859-1"]) && !is_utf8(["", "POSIX", ""])
        );
    }
}
