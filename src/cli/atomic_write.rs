//! Files that are there as a whole or not at all, since a gate may be watching their directory.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    /// Those who could read the file that it replaces, if there is one.
    AsBefore,
    Owner,
}

/// Writes the text beside the file, under a name that no gate reads and no other writer has, and renames it. A file that
/// was there keeps its owner and permissions, and a link leads to the new text.
pub(super) fn write(file: &Path, text: &str) -> io::Result<()> {
    write_for(file, text, Readers::AsBefore)
}

/// The same for these readers.
pub(super) fn write_for(file: &Path, text: &str, readers: Readers) -> io::Result<()> {
    let file = &file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(io::Error::other)?;
    let mut beside = OsString::from(".");
    beside.push(file.file_name().unwrap_or_default());
    beside.push(format!(".{:016x}", u64::from_be_bytes(number)));
    let beside = file.with_file_name(beside);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let written = options.open(&beside).and_then(|mut new| {
        new.write_all(text.as_bytes())?;
        if let Ok(before) = fs::metadata(file) {
            keep_owner(&beside, &before)?;
            if readers == Readers::AsBefore {
                new.set_permissions(before.permissions())?;
            }
        }
        new.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&beside, file));
    moved.inspect_err(|_| {
        // The rest is useless.
        let _ = fs::remove_file(&beside);
    })
}

#[cfg(unix)]
fn keep_owner(file: &Path, before: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let now = fs::metadata(file)?;
    let is_same = (now.uid(), now.gid()) == (before.uid(), before.gid());
    if is_same {
        return Ok(());
    }
    chown(file, Some(before.uid()), Some(before.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &Path, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_that_is_replaced_keeps_its_permissions_and_its_links() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("a.toml"), dir.path().join("b.toml"));
        write(&file, "one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        write(&link, "two").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
