//! Files that are there as a whole or not at all, since a gate may be watching their directory.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Writes the text beside the file, under a name that no gate reads, and renames it.
pub(super) fn write(file: &Path, text: &str) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default();
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(".new");
    let beside = file.with_file_name(beside);
    let written = fs::File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&beside, file));
    moved.inspect_err(|_| {
        // The rest is useless.
        let _ = fs::remove_file(&beside);
    })
}
