//! One reading of everything, and whether two of them agree.

use std::path::PathBuf;

use super::fingerprint::DirectoryFingerprint;
use super::source::{Source, SourceSettings};
use crate::loading::directory::Directory;
use crate::loading::settings::Settings;
use crate::policy::PolicySnapshot;

/// What the source says, if there is one; or else why it cannot be read.
pub(super) type SourceText<S> = Result<Option<<S as Source>::Text>, String>;

/// What was read, and what it looked like before.
pub(super) struct PolicyReading<S: Source> {
    pub(super) seen: ReadingFingerprints,
    pub(super) text: SourceText<S>,
    /// Nothing where the text is the one in force.
    pub(super) meant: Result<Option<SourceSettings<S>>, S::Error>,
    pub(super) directory: Directory,
}

impl<S: Source> PolicyReading<S> {
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.seen == other.seen
            && self.text == other.text
            && self.directory.is_same_as(&other.directory)
    }

    pub(super) fn is_in_force(&self, current: &PolicySnapshot) -> bool {
        matches!(self.meant, Ok(None)) && self.directory.is_in_force(current)
    }

    pub(super) fn settings(&self) -> Option<&Settings> {
        let meant = self.meant.as_ref().ok()?.as_ref();
        meant.map(|meant| &meant.settings)
    }
}

/// What was read last and led to a turn.
#[derive(Debug)]
pub(super) struct LastReading<S: Source> {
    pub(super) text: SourceText<S>,
    pub(super) directory: Directory,
}

impl<S: Source> LastReading<S> {
    pub(super) fn is(&self, found: &PolicyReading<S>) -> bool {
        self.text == found.text && self.directory.is_same_as(&found.directory)
    }
}

/// What the file and the directories of one reading looked like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadingFingerprints {
    outside: DirectoryFingerprint,
    inside: DirectoryFingerprint,
    /// Those of the source.
    files: Vec<PathBuf>,
    directories: Vec<PathBuf>,
}

impl ReadingFingerprints {
    /// Of these files, which looked so before they were read, and of directories that are read next.
    pub(super) fn of(
        outside: DirectoryFingerprint,
        files: Vec<PathBuf>,
        directories: Vec<PathBuf>,
    ) -> Self {
        Self {
            outside,
            inside: DirectoryFingerprint::of(&directories),
            files,
            directories,
        }
    }

    /// The same files and directories now.
    pub(super) fn again(&self) -> Self {
        let (files, directories) = (self.files.clone(), self.directories.clone());
        Self::of(DirectoryFingerprint::of(&files), files, directories)
    }
}

/// The policies', those of single servers included, and the shadow policy's if there is one.
pub(super) fn directories(settings: &Settings) -> Vec<PathBuf> {
    let of_all = settings.dir.iter().chain(&settings.shadow);
    of_all.chain(settings.own.values()).cloned().collect()
}
