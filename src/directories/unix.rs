//! Through descriptors: a path could lead elsewhere by the time it is used.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::process::geteuid;

use super::files::is_ours;
use super::{DirectoryFault, FileLimits};

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
    let mut directory = parent(above)?;
    let mut path = above.to_owned();
    for name in names {
        path = format!("{path}/{name}");
        directory = below(&directory, name, &path)?;
    }
    Ok(directory)
}

/// The directory that all others lie in, where no other user can rename them.
fn parent(above: &str) -> Result<OwnedFd, DirectoryFault> {
    let path = above.to_owned();
    let opened = openat(CWD, above, OPEN, Mode::empty());
    let directory = opened.map_err(|cause| DirectoryFault::NoParent {
        path: path.clone(),
        cause: told(&io::Error::from(cause)),
    })?;
    let stat = stat(&directory, &path)?;
    // Its owner can rename what lies in it.
    if ![0, geteuid().as_raw()].contains(&stat.st_uid) {
        return Err(DirectoryFault::ForeignParent { path });
    }
    let mode = mode(&stat);
    if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
        return Err(DirectoryFault::OpenParent { path });
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
    enter(above, name, path)
}

fn enter(above: &OwnedFd, name: impl Arg, path: &str) -> Result<OwnedFd, DirectoryFault> {
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

/// Entries of a directory that are looked at: a server that may write there could make any number.
const MOST_ENTRIES: usize = 4096;

pub(super) fn save(
    directory: &Handle,
    file: &str,
    content: &[u8],
    limits: FileLimits,
) -> Result<(), DirectoryFault> {
    let not_written = |cause: &io::Error| DirectoryFault::NotWritten { cause: told(cause) };
    let bytes = tidy(directory, limits.oldest).map_err(|cause| match cause {
        Untidy::TooMany => DirectoryFault::TooMany { most: MOST_ENTRIES },
        Untidy::Unread(cause) => not_written(&cause.into()),
    })?;
    let more = u64::try_from(content.len()).unwrap_or(u64::MAX);
    if bytes.saturating_add(more) > limits.bytes {
        return Err(DirectoryFault::Full { bytes, more });
    }
    let create = OFlags::WRONLY
        .union(OFlags::CREATE)
        .union(OFlags::EXCL)
        .union(OFlags::NOFOLLOW)
        .union(OFlags::CLOEXEC);
    let opened = openat(directory, file, create, Mode::RUSR.union(Mode::WUSR));
    let mut opened = File::from(opened.map_err(|cause| not_written(&cause.into()))?);
    opened.write_all(content).map_err(|cause| {
        // Half of it would pass for all of it.
        let _ = unlinkat(directory, file, AtFlags::empty());
        not_written(&cause)
    })
}

pub(super) fn remove(directory: &Handle, file: &str) -> Result<(), DirectoryFault> {
    unlinkat(directory, file, AtFlags::empty()).map_err(|cause| DirectoryFault::NotWritten {
        cause: told(&cause.into()),
    })
}

enum Untidy {
    TooMany,
    Unread(Errno),
}

/// Whether it is a file of ours that is too old.
fn is_old(name: &CStr, stat: &Stat, oldest: i64) -> bool {
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    is_file && is_ours(name.to_bytes()) && stat.st_mtime < oldest
}

/// Removes files of ours that are too old. The bytes of what is left.
fn tidy(directory: &Handle, oldest: i64) -> Result<u64, Untidy> {
    let mut bytes: u64 = 0;
    let entries = Dir::read_from(directory).map_err(Untidy::Unread)?;
    for (count, entry) in entries.enumerate() {
        if count > MOST_ENTRIES {
            return Err(Untidy::TooMany);
        }
        let entry = entry.map_err(Untidy::Unread)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => continue,
            Err(cause) => return Err(Untidy::Unread(cause)),
        };
        if is_old(name, &stat, oldest) {
            match unlinkat(directory, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(cause) => return Err(Untidy::Unread(cause)),
            }
        } else {
            bytes = bytes.saturating_add(u64::try_from(stat.st_size).unwrap_or_default());
        }
    }
    Ok(bytes)
}

pub(super) fn remove_old(above: &str, names: &[Option<String>], oldest: i64) {
    if let Ok(directory) = parent(above) {
        remove_old_below(&directory, names, oldest);
    }
}

fn remove_old_below(directory: &OwnedFd, names: &[Option<String>], oldest: i64) {
    let Some((name, rest)) = names.split_first() else {
        let entries = Dir::read_from(directory).into_iter().flatten().flatten();
        entries.for_each(|entry| remove_if_old(directory, entry.file_name(), oldest));
        return;
    };
    let removed_in = |name: &CStr| {
        if let Ok(below) = enter(directory, name, "") {
            remove_old_below(&below, rest, oldest);
        }
    };
    match name.as_deref().map(CString::new) {
        Some(Ok(name)) => removed_in(&name),
        Some(Err(_)) => {}
        None => {
            let entries = Dir::read_from(directory).into_iter().flatten().flatten();
            let others = |name: &CStr| !matches!(name.to_bytes(), b"." | b"..");
            entries
                .filter(|entry| others(entry.file_name()))
                .for_each(|entry| removed_in(entry.file_name()));
        }
    }
}

fn remove_if_old(directory: &OwnedFd, name: &CStr, oldest: i64) {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    if stat.is_ok_and(|stat| is_old(name, &stat, oldest)) {
        // One that stays has its turn the next time.
        let _ = unlinkat(directory, name, AtFlags::empty());
    }
}
