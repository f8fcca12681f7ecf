//! Identity of the process that made a file, including its start time, so that a later process with the same pid is not
//! mistaken for it.

use std::{fs, io};

use schema::leftover::LeftoverOwner;

/// Whether the process that created something still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    Running,
    Gone,
    /// It cannot be seen from here: another host, another container.
    Unknown(String),
}

/// This process. A field that the kernel does not provide is empty.
pub(crate) fn this() -> LeftoverOwner {
    let pid = std::process::id();
    LeftoverOwner {
        pid,
        started_ticks: started_ticks(pid).ok().flatten().unwrap_or(0),
        host: line("/proc/sys/kernel/hostname"),
        boot_id: line("/proc/sys/kernel/random/boot_id"),
        pid_namespace: fs::read_link("/proc/self/ns/pid").map_or(String::new(), |it| it.to_string_lossy().into_owned()),
    }
}

pub(crate) fn owner(of: &LeftoverOwner) -> Owner {
    let here = this();
    if of.host != here.host {
        return Owner::Unknown(format!("made on {:?}, and this is {:?}", of.host, here.host));
    }
    if of.boot_id != here.boot_id {
        return Owner::Gone;
    }
    if of.pid_namespace != here.pid_namespace {
        return Owner::Unknown("made in a container whose processes cannot be seen from here".into());
    }
    match started_ticks(of.pid) {
        Ok(None) => Owner::Gone,
        Ok(Some(started)) if started != of.started_ticks => Owner::Gone,
        Ok(Some(_)) => Owner::Running,
        Err(error) => Owner::Unknown(format!("/proc/{}/stat: {error}", of.pid)),
    }
}

/// Field 22 of `/proc/PID/stat`; `None` when there is no such process, or only a zombie of it.
fn started_ticks(pid: u32) -> io::Result<Option<u64>> {
    if !fs::exists("/proc/self/stat")? {
        return Err(io::Error::new(io::ErrorKind::NotFound, "/proc is not mounted"));
    }
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => {
            parse(&stat).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not understood")).map(
                |(state, ticks)| {
                    // A zombie has closed its files and will never run again.
                    (!matches!(state, 'Z' | 'X')).then_some(ticks)
                },
            )
        }
        // ESRCH: it ended between open and read.
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(3) => Ok(None),
        Err(error) => Err(error),
    }
}

/// State and start time. The name of the program, in parentheses, may itself hold parentheses and spaces.
fn parse(stat: &str) -> Option<(char, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    // The state was field 3; 18 fields lie between it and field 22.
    Some((state, fields.nth(18)?.parse().ok()?))
}

fn line(path: &str) -> String {
    fs::read_to_string(path).map_or(String::new(), |text| text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_be_called_anything() {
        let stat = "812 (a) b) (c) S 1 812 812 0 -1 4194560 97 0 0 0 1 2 0 0 20 0 1 0 5551234 3000 97";
        assert_eq!(parse(stat), Some(('S', 5_551_234)));
        assert_eq!(parse("812 (x"), None);
    }

    #[test]
    fn a_recycled_pid_another_boot_and_another_host_are_told_apart() {
        let here = this();
        assert_eq!(owner(&here), Owner::Running);
        assert_eq!(owner(&LeftoverOwner { started_ticks: here.started_ticks + 1, ..here.clone() }), Owner::Gone);
        assert_eq!(owner(&LeftoverOwner { boot_id: "another".into(), ..here.clone() }), Owner::Gone);
        assert_eq!(owner(&LeftoverOwner { pid: u32::MAX, ..here.clone() }), Owner::Gone);
        assert!(matches!(owner(&LeftoverOwner { host: "another".into(), ..here.clone() }), Owner::Unknown(_)));
        assert!(matches!(owner(&LeftoverOwner { pid_namespace: "pid:[1]".into(), ..here }), Owner::Unknown(_)));
    }
}
