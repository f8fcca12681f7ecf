//! The kernel's table of tracepoints. Where it is not mounted, a detached mount is made: it has a descriptor but no path,
//! is invisible to other processes, and the kernel removes it when the process ends, also when it is killed.

use std::{fs::File, io::Read};

use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags, openat},
    mount::MountAttrFlags,
};

use super::Format;
use crate::mount;

/// Where it is usually mounted; the second is how it was reached before Linux 4.1.
const USUAL: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A format file is a few kilobytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

pub struct Tracefs {
    root: OwnedFd,
}

/// What is needed to count or record a tracepoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracepoint {
    pub id: u64,
    pub format: Format,
}

impl Tracefs {
    /// Where it is mounted already, or else by a mount of our own, if that may be made.
    ///
    /// # Errors
    /// Why it cannot be reached, and what would change that.
    pub fn reach(may_mount: bool) -> Result<Tracefs, String> {
        Tracefs::mounted().or_else(|reason| match may_mount {
            true => Tracefs::detached().map_err(|why| format!("{reason}, and {why}")),
            false => Err(format!(
                "the kernel's table of tracepoints (tracefs) cannot be read: {reason}; with --allow-setup, as root, \
                 faultline reaches it by a mount that ends with the run"
            )),
        })
    }

    /// Where it is mounted already.
    ///
    /// # Errors
    /// It is not mounted, or only root may look.
    pub fn mounted() -> Result<Tracefs, String> {
        let mut reason = "it is not mounted".to_string();
        for path in USUAL {
            let opened = openat(rustix::fs::CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
            let events = opened.and_then(|root| {
                openat(&root, "events", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map(|_| root)
            });
            match events {
                Ok(root) => return Ok(Tracefs { root }),
                Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => reason = format!("{path} is for root only"),
                Err(_) => {}
            }
        }
        Err(reason)
    }

    /// A mount that no path leads to. It needs root.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn detached() -> Result<Tracefs, String> {
        let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let root = mount::detached("tracefs", None, attributes)
            .map_err(|error| format!("tracefs cannot be mounted: {error}"))?;
        Ok(Tracefs { root })
    }

    /// # Errors
    /// This kernel does not have the tracepoint, or its description cannot be read.
    pub fn tracepoint(&self, group: &str, name: &str) -> Result<Tracepoint, String> {
        let read = |what: &str| -> Result<String, String> {
            let path = format!("events/{group}/{name}/{what}");
            let file = openat(&self.root, &path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                .map_err(|error| format!("tracepoint {group}:{name}: {error}"))?;
            let mut text = Vec::new();
            File::from(file)
                .take(FILE_BYTES_MAX)
                .read_to_end(&mut text)
                .map_err(|error| format!("tracepoint {group}:{name}: {error}"))?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        let id = read("id")?;
        let id = id.trim().parse().map_err(|_| format!("tracepoint {group}:{name} has no number: {:?}", id.trim()))?;
        Ok(Tracepoint { id, format: Format::parse(&read("format")?) })
    }
}
