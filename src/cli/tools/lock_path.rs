//! Where the lock is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::atomic_write;
use super::failure::ToolsFailure;
use crate::loading::{self, LOCK_FILE, LockFile};
use crate::policy::{PolicyErrors, PolicySource, ServerKey};

/// The file of a lock, which may not be there yet.
#[derive(Debug)]
pub(super) struct LockPath(PathBuf);

impl LockPath {
    pub(super) fn of(file: &Path) -> Self {
        Self(file.to_owned())
    }

    pub(super) fn in_directory(dir: &Path) -> Self {
        Self(dir.join(LOCK_FILE))
    }

    pub(super) fn shown(&self) -> String {
        super::lines::shown(&self.0.to_string_lossy())
    }

    /// The lock of these servers; `None` when there is none.
    pub(super) fn read(&self, servers: &[ServerKey]) -> Result<Option<LockFile>, ToolsFailure> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ToolsFailure::file(&self.0, &error)),
        };
        let source = PolicySource::new(loading::source_name(&self.0), text);
        let read = LockFile::read(&source, servers);
        read.map(Some)
            .map_err(|problems| ToolsFailure::Lock(PolicyErrors { problems }))
    }

    /// Whole or not at all: a gate may be watching the directory.
    pub(super) fn write(&self, lock: &LockFile) -> Result<(), ToolsFailure> {
        let written = atomic_write::write(&self.0, &lock.text());
        written.map_err(|error| ToolsFailure::file(&self.0, &error))
    }
}
