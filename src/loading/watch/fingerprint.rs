//! What a directory looks like from outside: cheap enough to be compared every second.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Directories in each other, after which a symbolic link leads in a circle.
const DEEPEST: u32 = 32;

/// Names, sizes, times and identities of everything that would be read, links followed.
///
/// The identity tells one file from another that was renamed over it; the time of the last change
/// of the inode shows a write whose author then set the time of modification back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirectoryFingerprint(Vec<FileEntry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileEntry {
    path: PathBuf,
    found: Result<Meta, ErrorKind>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Meta {
    is_dir: bool,
    size: u64,
    modified: Option<SystemTime>,
    identity: Identity,
}

impl DirectoryFingerprint {
    pub(super) fn of(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let mut entries = Vec::new();
        for path in paths {
            walk(path.as_ref().to_owned(), 0, &mut entries);
        }
        // The order in which a directory is listed may change without any change in it.
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Self(entries)
    }
}

fn walk(path: PathBuf, depth: u32, entries: &mut Vec<FileEntry>) {
    let found = fs::metadata(&path);
    if depth < DEEPEST && found.as_ref().is_ok_and(fs::Metadata::is_dir) {
        match fs::read_dir(&path) {
            Ok(listed) => {
                for entry in listed.flatten() {
                    // What begins with a dot is not read; a link to it is followed.
                    if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                        walk(entry.path(), depth.saturating_add(1), entries);
                    }
                }
            }
            Err(error) => entries.push(FileEntry {
                path: path.clone(),
                found: Err(error.kind()),
            }),
        }
    }
    let found = found.as_ref().map(Meta::of).map_err(std::io::Error::kind);
    entries.push(FileEntry { path, found });
}

impl Meta {
    fn of(found: &fs::Metadata) -> Self {
        let is_dir = found.is_dir();
        Self {
            is_dir,
            // An editor's swap file beside the policies changes the directory and no policy.
            size: if is_dir { 0 } else { found.len() },
            modified: (!is_dir).then(|| found.modified().ok()).flatten(),
            identity: identity(found),
        }
    }
}

/// Device, inode, and for files the seconds and nanoseconds of the inode's last change.
#[cfg(unix)]
type Identity = (u64, u64, Option<(i64, i64)>, u32);

#[cfg(unix)]
fn identity(found: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    let changed = (!found.is_dir()).then(|| (found.ctime(), found.ctime_nsec()));
    (found.dev(), found.ino(), changed, found.mode())
}

#[cfg(not(unix))]
type Identity = Option<SystemTime>;

#[cfg(not(unix))]
fn identity(found: &fs::Metadata) -> Identity {
    found.created().ok()
}
