//! Where things are kept: `$FAULTLINE_DATA_DIR`, or the folders of the XDG base directory specification.

use std::{ffi::OsString, path::PathBuf};

use anyhow::{Context, Result};
use etcetera::BaseStrategy;

pub(crate) const VARIABLE: &str = "FAULTLINE_DATA_DIR";

/// Records: `runs` in the given folder, in `$FAULTLINE_DATA_DIR`, or in `$XDG_DATA_HOME/faultline`.
pub(crate) fn runs(given: Option<PathBuf>) -> Result<PathBuf> {
    Ok(folder(given, std::env::var_os(VARIABLE), |home| home.data_dir())?.join("runs"))
}

/// The cleanup journal: `leftovers` in the given folder, in `$FAULTLINE_DATA_DIR`, or in `$XDG_STATE_HOME/faultline`.
pub(crate) fn leftovers(given: Option<PathBuf>) -> Result<PathBuf> {
    let state = |home: &etcetera::base_strategy::Xdg| home.state_dir().unwrap_or_else(|| home.data_dir());
    Ok(folder(given, std::env::var_os(VARIABLE), state)?.join("leftovers"))
}

fn folder(
    given: Option<PathBuf>,
    variable: Option<OsString>,
    default: impl Fn(&etcetera::base_strategy::Xdg) -> PathBuf,
) -> Result<PathBuf> {
    let variable = variable.filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = given.or(variable) {
        return Ok(folder);
    }
    let home = etcetera::base_strategy::Xdg::new()
        .with_context(|| format!("no home directory to save runs in; set HOME, or set {VARIABLE} to a folder"))?;
    Ok(default(&home).join("faultline"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_folder_comes_before_the_variable_and_the_variable_before_home() {
        let place = |given: Option<&str>, variable: Option<&str>| {
            folder(given.map(PathBuf::from), variable.map(OsString::from), |_| PathBuf::from("/home/data")).unwrap()
        };
        assert_eq!(place(Some("/given"), Some("/variable")), PathBuf::from("/given"));
        assert_eq!(place(None, Some("/variable")), PathBuf::from("/variable"));
        if std::env::var_os("HOME").is_some() {
            assert_eq!(place(None, Some("")), PathBuf::from("/home/data/faultline"));
        }
    }
}
