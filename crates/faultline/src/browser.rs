//! Opens a page in a browser. A browser is a program and its arguments; no shell runs it.

use std::{
    io,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What a program that cannot open a page takes to fail; one that can may run as long as its user reads.
const FAILS_WITHIN: Duration = Duration::from_secs(3);

/// Opens a file by the first program that takes it: one of those in $BROWSER, or what xdg-open takes.
///
/// # Errors
/// In a sentence, why none of them did.
pub fn open(page: &Path) -> Result<(), String> {
    let whole = page.canonicalize().map_err(|error| format!("cannot open {}: {error}", page.display()))?;
    let browser = std::env::var("BROWSER").unwrap_or_default();
    let mut reasons = Vec::new();
    for command in commands(&browser, &url(&whole)) {
        match start(&command) {
            Ok(()) => return Ok(()),
            Err(reason) => reasons.push(format!("{}: {reason}", command[0])),
        }
    }
    Err(format!(
        "{} is written, and no browser opened it ({}); set $BROWSER to a program that does",
        page.display(),
        reasons.join("; ")
    ))
}

/// `firefox:w3m %s`: programs in the order to try them, where %s is the address, which is the last argument otherwise.
fn commands(browser: &str, url: &str) -> Vec<Vec<String>> {
    let command = |text: &str| {
        let mut words = shlex::split(text).filter(|it| !it.is_empty())?;
        let mut is_named = false;
        for word in words.iter_mut().skip(1).filter(|it| it.contains("%s")) {
            *word = word.replace("%s", url);
            is_named = true;
        }
        if !is_named {
            words.push(url.into());
        }
        Some(words)
    };
    browser.split(':').chain(["xdg-open"]).filter_map(command).collect()
}

/// An address has no character in it that a program could take for anything else.
fn url(path: &Path) -> String {
    let mut url = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => url.push(byte.into()),
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

fn start(words: &[String]) -> Result<(), String> {
    let child = Command::new(&words[0])
        .args(&words[1..])
        // The page stays open when this command has ended, also by Ctrl-C.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "there is no such program".to_string(),
        _ => error.to_string(),
    })?;
    let begun = Instant::now();
    while begun.elapsed() < FAILS_WITHIN {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) => thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_words_and_the_address_is_one_of_them() {
        let commands = |browser| commands(browser, "file:///a%20b");
        assert_eq!(commands(""), [["xdg-open", "file:///a%20b"]]);
        assert_eq!(
            commands("'my browser' --new:w3m -o x=%s; touch evil:un\"closed"),
            [
                &["my browser", "--new", "file:///a%20b"][..],
                &["w3m", "-o", "x=file:///a%20b;", "touch", "evil"],
                &["xdg-open", "file:///a%20b"],
            ]
        );
    }

    #[test]
    fn an_address_has_no_character_that_means_something_else() {
        assert_eq!(url(Path::new("/a/b-c_d.html")), "file:///a/b-c_d.html");
        assert_eq!(url(Path::new("/a b?#%;é\n")), "file:///a%20b%3F%23%25%3B%C3%A9%0A");
    }
}
