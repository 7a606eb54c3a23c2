//! Files for their owner alone, and texts that take the place of others.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::journal::JournalError;

#[cfg(unix)]
pub(super) fn is_the_same(file: &File, there: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata()
        .is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
}

#[cfg(not(unix))]
pub(super) fn is_the_same(_: &File, there: &fs::Metadata) -> bool {
    there.is_file()
}

pub(super) fn io_error(what: &'static str) -> impl Fn(io::Error) -> JournalError {
    move |cause| JournalError::Io { what, cause }
}

/// Names a symbolic link as the cause, which is clearer than the error of the system.
pub(super) fn open_error(path: &Path) -> impl Fn(io::Error) -> JournalError {
    let is_link = fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink());
    move |cause| {
        if is_link {
            JournalError::Link
        } else {
            io_error("open it")(cause)
        }
    }
}

/// To be read, and for its owner alone where it is made. Neither a link is followed nor a pipe waited for.
pub(super) fn strict() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options
            .mode(0o600)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    options
}

pub(super) fn lock(file: &File) -> Result<(), JournalError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(fs::TryLockError::WouldBlock) => Err(JournalError::Locked),
        Err(fs::TryLockError::Error(cause)) => Err(io_error("lock it")(cause)),
    }
}

/// A process that can write to it can lower what it says.
#[cfg(unix)]
pub(super) fn is_private(file: &File) -> Result<(), JournalError> {
    use std::os::unix::fs::PermissionsExt;
    let meta = file.metadata().map_err(io_error("look at it"))?;
    if !meta.is_file() {
        return Err(JournalError::Foreign);
    }
    if meta.permissions().mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(JournalError::Writable)
    }
}

#[cfg(not(unix))]
pub(super) fn is_private(_: &File) -> Result<(), JournalError> {
    Ok(())
}

/// A text in the place of the one before it, in a file that is opened so: a journal with `O_APPEND`.
pub(super) fn rewritten(
    path: &Path,
    text: &str,
    opened: &mut OpenOptions,
) -> Result<(File, u64), JournalError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = PathBuf::from(name);
    // What a gate left that was killed; or what somebody else put there, for the gate to write to.
    match fs::remove_file(&beside) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            return Err(io_error("write beside it")(cause));
        }
        Ok(()) | Err(_) => {}
    }
    let mut write = || -> io::Result<File> {
        let mut file = opened.create_new(true).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        Ok(file)
    };
    let file = write().map_err(io_error("write beside it"))?;
    lock(&file)?;
    is_private(&file)?;
    fs::rename(&beside, path).map_err(io_error("replace it"))?;
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    // Where directories cannot be opened, a rename is as lasting as it can be.
    if let Ok(parent) = File::open(parent.unwrap_or(Path::new("."))) {
        parent.sync_all().map_err(io_error("sync its directory"))?;
    }
    Ok((file, text.len() as u64))
}
