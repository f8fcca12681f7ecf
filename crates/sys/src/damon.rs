//! Active reclaim schemes of DAMON: the kernel monitors memory accesses and evicts idle memory, even when memory is not
//! scarce (Documentation/admin-guide/mm/damon/usage.rst). They are set up by an administrator, or there is one of the kernel's
//! own, the module DAMON_RECLAIM (reclaim.rst beside it). Read-only.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

const ADMIN: &str = "/sys/kernel/mm/damon/admin/kdamonds";
const MODULE: &str = "/sys/module/damon_reclaim/parameters";

/// One scheme of a running kernel thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Scheme {
    /// Where its settings are.
    pub folder: String,
    /// The number of its kernel thread: kdamond.N.
    pub kdamond: u32,
    /// `pageout`, `cold`, `lru_deprio`, …
    pub action: String,
    /// Memory that was not accessed for this long.
    pub idle_s: f64,
    /// At most so much in so long a time; `None` without a quota.
    pub quota_bytes_per_s: Option<f64>,
}

/// All schemes whose kernel thread runs; none where this kernel has no DAMON.
///
/// # Errors
/// Only root may look.
pub fn schemes() -> Result<Vec<Scheme>, String> {
    let mut schemes = schemes_below(Path::new(ADMIN))?;
    schemes.extend(of_module(Path::new(MODULE))?);
    Ok(schemes)
}

/// What the module does where it is switched on; how much memory has to be in use before it does something is not looked at,
/// because that changes while a run goes on.
fn of_module(parameters: &Path) -> Result<Option<Scheme>, String> {
    let enabled = parameters.join("enabled");
    if fs::symlink_metadata(&enabled).is_err_and(|it| it.kind() == io::ErrorKind::NotFound) || word(&enabled)? != "Y" {
        return Ok(None);
    }
    Ok(Some(Scheme {
        folder: parameters.display().to_string(),
        // Threads are numbered by how many run already, and this one is only started where no other does (mm/damon/core.c,
        // `damon_start`; mm/damon/reclaim.c).
        kdamond: 0,
        action: "pageout".into(),
        idle_s: number(&parameters.join("min_age")).unwrap_or(0.0) / 1e6,
        quota_bytes_per_s: quota(&parameters.join("quota_sz"), &parameters.join("quota_reset_interval_ms")),
    }))
}

/// So many bytes in so many milliseconds, per second. Zero is no limit.
fn quota(bytes: &Path, interval_ms: &Path) -> Option<f64> {
    let above_zero = |path: &Path| number(path).filter(|&it| it > 0.0);
    above_zero(bytes).zip(above_zero(interval_ms)).map(|(bytes, ms)| bytes * 1000.0 / ms)
}

fn schemes_below(root: &Path) -> Result<Vec<Scheme>, String> {
    let mut schemes = Vec::new();
    for kdamond in numbered(root)? {
        if word(&kdamond.1.join("state"))? != "on" {
            continue;
        }
        for (_, context) in numbered(&kdamond.1.join("contexts"))? {
            let aggregation_us = number(&context.join("monitoring_attrs/intervals/aggr_us")).unwrap_or(0.0);
            for (_, scheme) in numbered(&context.join("schemes"))? {
                let quotas = scheme.join("quotas");
                schemes.push(Scheme {
                    folder: scheme.display().to_string(),
                    kdamond: kdamond.0,
                    action: word(&scheme.join("action"))?,
                    idle_s: number(&scheme.join("access_pattern/age/min")).unwrap_or(0.0) * aggregation_us / 1e6,
                    quota_bytes_per_s: quota(&quotas.join("bytes"), &quotas.join("reset_interval_ms")),
                });
            }
        }
    }
    Ok(schemes)
}

/// The folders that are named by numbers, in their order; none where there is no such folder.
fn numbered(folder: &Path) -> Result<Vec<(u32, PathBuf)>, String> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| described(folder, &error))?,
    };
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))
        })
        .collect();
    found.sort_unstable();
    Ok(found)
}

fn word(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map(|text| text.trim().to_string()).map_err(|error| described(path, &error))
}

fn number(path: &Path) -> Option<f64> {
    word(path).ok()?.parse::<u64>().ok().map(|it| it as f64)
}

fn described(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(state: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("nr_kdamonds", "1\n");
        put("0/state", state);
        put("0/contexts/nr_contexts", "1\n");
        put("0/contexts/0/monitoring_attrs/intervals/aggr_us", "5000000\n");
        put("0/contexts/0/schemes/nr_schemes", "1\n");
        put("0/contexts/0/schemes/0/action", "pageout\n");
        put("0/contexts/0/schemes/0/access_pattern/age/min", "12\n");
        put("0/contexts/0/schemes/0/quotas/bytes", "134217728\n");
        put("0/contexts/0/schemes/0/quotas/reset_interval_ms", "500\n");
        root
    }

    #[test]
    fn a_scheme_at_work_is_read_with_its_age_and_its_quota() {
        let root = machine("on\n");
        let found = schemes_below(root.path()).unwrap();
        let folder = root.path().join("0/contexts/0/schemes/0").display().to_string();
        let expected = Scheme {
            folder,
            kdamond: 0,
            action: "pageout".into(),
            idle_s: 60.0,
            quota_bytes_per_s: Some(268_435_456.0),
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn what_is_switched_off_is_not_at_work_and_no_damon_is_no_error() {
        assert_eq!(schemes_below(machine("off\n").path()), Ok(vec![]));
        assert_eq!(schemes_below(Path::new("/no/such/folder")), Ok(vec![]));
    }

    #[test]
    fn the_kernels_own_scheme_is_read_where_it_is_switched_on() {
        let root = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| fs::write(root.path().join(file), text).unwrap();
        assert_eq!(of_module(&root.path().join("no/such/folder")), Ok(None), "a kernel without it");
        put("enabled", "N\n");
        put("min_age", "120000000\n");
        put("quota_sz", "134217728\n");
        put("quota_reset_interval_ms", "1000\n");
        assert_eq!(of_module(root.path()), Ok(None));
        put("enabled", "Y\n");
        let expected = Scheme {
            folder: root.path().display().to_string(),
            kdamond: 0,
            action: "pageout".into(),
            idle_s: 120.0,
            quota_bytes_per_s: Some(134_217_728.0),
        };
        assert_eq!(of_module(root.path()), Ok(Some(expected)));
        put("quota_sz", "0\n");
        assert_eq!(of_module(root.path()).unwrap().unwrap().quota_bytes_per_s, None, "zero is no limit");
    }

    #[test]
    fn numbers_that_are_none_leave_their_part_out() {
        let root = machine("on\n");
        fs::write(root.path().join("0/contexts/0/schemes/0/quotas/bytes"), "many\n").unwrap();
        fs::write(root.path().join("0/contexts/0/schemes/0/access_pattern/age/min"), "\n").unwrap();
        let found = schemes_below(root.path()).unwrap().remove(0);
        assert_eq!((found.idle_s, found.quota_bytes_per_s), (0.0, None));
    }
}
