//! How commands reach their files: before the rounds each one is executed once more, watched and not timed. It is the
//! time to find out that a command does not read the named files at all, or writes to them.

use std::{process::Command, sync::atomic::AtomicBool, time::Duration};

use schema::{
    Reading, Skip,
    observation::{FileAccess, Means, Observation, Observed, Watch},
    protocol::Job,
};
use sys::guard::Guard;

use crate::{
    link::{Link, Trouble},
    runtime,
    target::{Target, named::Named},
};

/// How many of the files that were opened instead of the named ones are listed.
const SHOWN: usize = 5;

/// One traced execution of a command, by the first means that sees all calls; or why it could not be prepared.
///
/// # Errors
/// The user stopped the run.
pub(crate) fn observe(
    by: &[Means],
    arm: &schema::Arm,
    target: &Target,
    mut job: Job,
    limit: Duration,
    interrupted: &AtomicBool,
    guard: Option<&Guard>,
) -> Result<Result<Observed, Skip>, Trouble> {
    let named = target.named.as_ref().map_or_else(|| vec![target.path.clone()], Named::files);
    job.watch = Some(Watch { by: by.to_vec(), named, trace: None });
    let mut prepared = false;
    let worker = runtime::guarded_worker(arm, guard).map_err(Trouble::Unavailable);
    let seen = match worker.and_then(|it| watched(it, arm, &job, limit, interrupted, &mut prepared)) {
        Ok(observation) => Reading::Value(observation),
        Err(Trouble::Interrupted) => return Err(Trouble::Interrupted),
        Err(Trouble::Failed(reason)) if !prepared => return Ok(Err(Skip::Failed(reason))),
        Err(Trouble::Failed(reason) | Trouble::Unavailable(reason)) => Reading::unavailable(reason),
    };
    Ok(Ok(Observed { arm: arm.name.clone(), seen }))
}

fn watched(
    worker: Command,
    arm: &schema::Arm,
    job: &Job,
    limit: Duration,
    interrupted: &AtomicBool,
    prepared: &mut bool,
) -> Result<Observation, Trouble> {
    let (mut link, _) = Link::start(worker, interrupted)?;
    link.let_it_clean_up(arm.options.contains_key("cleanup"));
    link.prepare_within(limit, job)?;
    *prepared = true;
    let done = link.go(job.pass, limit)?;
    link.bye_within(limit)?;
    done.observation.map(|it| *it).ok_or_else(|| Trouble::Failed("the worker did not trace the command".into()))
}

/// Why a command is not measured: it opened none of the named files.
pub(crate) fn refusal(observed: &Observed) -> Option<String> {
    let seen = observed.seen.value()?;
    // What goes through a ring may be opened there too.
    if seen.named_opened > 0 || seen.rings > 0 || !seen.incomplete.is_empty() {
        return None;
    }
    let shown: Vec<&str> = seen.files.iter().take(SHOWN).map(|FileAccess { path, .. }| path.as_str()).collect();
    let others = seen.files.len() as u64 + seen.files_left_out - shown.len() as u64;
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    Some(match shown.is_empty() {
        true => "it opened neither a named file nor any other".into(),
        false => format!("it opened no named file; it opened {}{others}", shown.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use schema::observation::Access;

    use super::*;

    fn observed(named_opened: u64, files: &[&str], rings: u64) -> Observed {
        let file = |path: &&str| FileAccess { path: path.to_string(), named: false, access: Access::default() };
        let seen = Observation {
            by: Means::Ptrace,
            processes: 1,
            threads: 1,
            readers_at_once: Some(1),
            named_opened,
            named: Access::default(),
            files: files.iter().map(file).collect(),
            files_left_out: 0,
            rings,
            runtimes: Vec::new(),
            expired: false,
            incomplete: Vec::new(),
            remarks: Vec::new(),
        };
        Observed { arm: "command/x".into(), seen: Reading::Value(seen) }
    }

    #[test]
    fn a_command_that_never_opened_the_named_file_is_told_what_it_opened() {
        let reason = refusal(&observed(0, &["/a", "/b", "/c", "/d", "/e", "/f", "/g"], 0)).unwrap();
        assert!(reason.contains("/a, /b, /c, /d, /e and 2 more"), "{reason}");
        assert!(refusal(&observed(0, &[], 0)).unwrap().contains("nor any other"));
        assert_eq!(refusal(&observed(1, &["/a"], 0)), None);
        assert_eq!(refusal(&observed(0, &["/a"], 1)), None, "a ring may have opened it");
        assert_eq!(refusal(&Observed { arm: String::new(), seen: Reading::unavailable("no") }), None);
    }
}
