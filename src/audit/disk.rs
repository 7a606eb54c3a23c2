//! Opens and locks the files of the log, each for its owner alone.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::fault::OpenError;

#[cfg(unix)]
pub(super) fn identity(file: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

/// Whether a path names an open file.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let named = fs::symlink_metadata(path);
    let open = file.metadata();
    named.is_ok_and(|named| open.is_ok_and(|open| identity(&named) == identity(&open)))
}

// An open file can be neither renamed nor deleted there by others.
#[cfg(not(unix))]
pub(super) fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// For a file of the owner alone, which is read.
pub(super) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // Non-blocking: opening a FIFO would wait for its reader.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options
            .mode(0o600)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    options
}

/// The file, and whether it was made.
pub(super) fn open(path: &Path) -> io::Result<(File, bool)> {
    // Read, too: whether the last line was ended is written nowhere else.
    let options = private_options().append(true).clone();
    let (file, created) = match options.clone().create_new(true).open(path) {
        Ok(file) => (file, true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (options.open(path)?, false),
        Err(error) => return Err(error),
    };
    if file.metadata()?.is_file() {
        Ok((file, created))
    } else {
        Err(not_a_file())
    }
}

pub(super) fn open_error(path: &Path, error: io::Error) -> OpenError {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let no_directory = directory.filter(|parent| !parent.is_dir());
    let not_regular = fs::symlink_metadata(path).is_ok_and(|found| !found.is_file());
    match no_directory {
        Some(directory) => OpenError::NoDirectory(directory.to_owned()),
        None if not_regular => OpenError::NotAFile(path.to_owned()),
        None => OpenError::File {
            path: path.to_owned(),
            error,
        },
    }
}

/// Whether a log could be opened there, as far as that shows without opening it.
///
/// # Errors
/// [`OpenError`], as opening it would have it.
pub fn check(path: &Path) -> Result<(), OpenError> {
    let could = match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(not_a_file()),
        Ok(_) => may_be_changed(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => may_be_changed(directory_of(path)),
        Err(error) => Err(error),
    };
    could.map_err(|error| open_error(path, error))
}

pub(super) fn directory_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn may_be_changed(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
}

#[cfg(not(unix))]
fn may_be_changed(path: &Path) -> io::Result<()> {
    fs::metadata(path).map(drop)
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// A new file is only found again after a power cut if its directory was synced. Some file systems
/// refuse that; there is nothing else to do then, and the file itself is no worse.
pub(super) fn sync_directory(path: &Path) {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let synced = File::open(directory.unwrap_or(Path::new("."))).and_then(|open| open.sync_all());
    if let Err(error) = synced {
        tracing::debug!(%error, "the directory of the audit file cannot be synced");
    }
}

/// Finds out at the start, and not at the first record, that a file cannot be locked.
#[cfg(unix)]
pub(super) fn try_lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => {
            unlock(file);
            Ok(())
        }
        Err(fs::TryLockError::WouldBlock) => Ok(()),
        Err(fs::TryLockError::Error(error)) => without_locks(error),
    }
}

#[cfg(unix)]
pub(super) fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return without_locks(error),
        }
    }
}

/// A file system without locks will do: then this gate has to be alone with its file.
pub(super) fn without_locks(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::Unsupported {
        Ok(())
    } else {
        Err(error)
    }
}

#[cfg(unix)]
pub(super) fn unlock(file: &File) {
    // Fails only where locking did nothing.
    drop(file.unlock());
}

// Locks are mandatory there: a reader of the log would get an error while we write.
#[cfg(not(unix))]
pub(super) fn try_lock(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn lock(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn unlock(_: &File) {}
