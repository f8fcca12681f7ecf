//! One chart of a run as an SVG file: reads what `faultline report --json` prints.
//!
//! ```sh
//! faultline report RUN --json | cargo run --release -p faultline-report --example picture claims-measured > it.svg
//! ```

#![allow(clippy::disallowed_methods, reason = "an example is a program, and reads and prints")]

use std::io::{Read, Write};

fn main() -> Result<(), String> {
    let id = std::env::args().nth(1).unwrap_or_else(|| "claims-measured".to_string());
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
    let document: schema::findings::Document = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let picture = report::picture(&document.record, &document.findings, &id)?;
    std::io::stdout().write_all(picture.as_bytes()).map_err(|error| error.to_string())
}
