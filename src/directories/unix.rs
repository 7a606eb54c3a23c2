//! Through descriptors: a path could lead elsewhere by the time it is used.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, Stat, fstat, mkdirat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::DirectoryFault;

pub(super) type Handle = OwnedFd;

const OPEN: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// The rights of the group and of everybody.
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;
/// In it, only the owner of something may rename or remove it.
const STICKY: u32 = 0o1000;

pub(super) fn make(above: &str, names: &[String]) -> Result<Handle, DirectoryFault> {
    let mut path = above.to_owned();
    let opened = openat(CWD, above, OPEN, Mode::empty());
    let mut directory = opened.map_err(|cause| DirectoryFault::NoParent {
        path: path.clone(),
        cause: told(&io::Error::from(cause)),
    })?;
    let mode = mode(&stat(&directory, &path)?);
    if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
        return Err(DirectoryFault::OpenParent { path });
    }
    for name in names {
        path = format!("{path}/{name}");
        directory = below(&directory, name, &path)?;
    }
    Ok(directory)
}

fn below(above: &OwnedFd, name: &str, path: &str) -> Result<OwnedFd, DirectoryFault> {
    match mkdirat(above, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(cause) => {
            return Err(DirectoryFault::NotMade {
                path: path.to_owned(),
                cause: told(&io::Error::from(cause)),
            });
        }
    }
    let opened = openat(above, name, OPEN.union(OFlags::NOFOLLOW), Mode::empty());
    let directory = opened.map_err(|cause| match cause {
        Errno::NOTDIR | Errno::LOOP => DirectoryFault::NoDirectory {
            path: path.to_owned(),
        },
        cause => DirectoryFault::NotOpened {
            path: path.to_owned(),
            cause: told(&io::Error::from(cause)),
        },
    })?;
    let stat = stat(&directory, path)?;
    if stat.st_uid != geteuid().as_raw() {
        return Err(DirectoryFault::Foreign {
            path: path.to_owned(),
        });
    }
    let mode = mode(&stat);
    if mode & OTHERS != 0 {
        return Err(DirectoryFault::Shared {
            path: path.to_owned(),
            mode: mode & 0o777,
        });
    }
    Ok(directory)
}

fn stat(directory: &OwnedFd, path: &str) -> Result<Stat, DirectoryFault> {
    fstat(directory).map_err(|cause| DirectoryFault::NotOpened {
        path: path.to_owned(),
        cause: told(&io::Error::from(cause)),
    })
}

#[expect(
    clippy::useless_conversion,
    reason = "modes have 16 bits on some systems"
)]
fn mode(stat: &Stat) -> u32 {
    u32::from(stat.st_mode)
}

fn told(cause: &io::Error) -> String {
    cause.to_string()
}
