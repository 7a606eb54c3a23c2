//! Whole results as files below a root of the session, which the agent's own tools read.

use crate::directories::{self, FileLimits};
use crate::policy::{OwnDirectory, PolicySnapshot, Received, Root, SessionSensitivity};

use super::Gate;
use super::saver::{FilePlace, SavedFile, Saver, Unwritten};
use super::settings::Save;

/// Files of one result.
const MOST_FILES: usize = 16;

/// Where files lie below the root.
const BELOW: [&str; 2] = [".mcp-protector", "results"];

/// Where the texts of one result are saved.
#[derive(Debug, Clone)]
pub(super) struct Saving<'g> {
    saver: &'g Saver,
    directory: OwnDirectory,
    /// The same as the agent knows it.
    shown: String,
    limits: FileLimits,
}

/// Why a text is not saved.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsaved {
    #[error("the session has no directory of the root `{0}`")]
    NoRoot(String),
    #[error(
        "the result, or data that its session has read, is untrusted or more sensitive than the root `{0}`"
    )]
    Sensitive(String),
    #[error(transparent)]
    Unwritten(#[from] Unwritten),
    #[error("{MOST_FILES} texts of the result are saved")]
    Enough,
    #[error("there are no random numbers")]
    NoName,
}

impl<'g> Saving<'g> {
    /// The place for the texts of a result, and its root, for [`is_covered`].
    pub(super) fn of(
        save: &Save,
        saver: &'g Saver,
        snapshot: &PolicySnapshot,
        now_ms: i64,
    ) -> Result<(Self, Root), Unsaved> {
        let roots = &snapshot.labels().roots;
        let own = roots.own().find(|(root, _)| root.name == save.root);
        let (root, directory) = own.ok_or_else(|| Unsaved::NoRoot(save.root.clone()))?;
        let mut directory = directory.clone();
        directory.names.extend(BELOW.map(str::to_owned));
        let path = directory.path();
        let saving = Self {
            saver,
            shown: roots.outward(&path).unwrap_or(path),
            directory,
            limits: FileLimits {
                bytes: save.bytes,
                oldest: oldest(save, now_ms),
            },
        };
        Ok((saving, root.clone()))
    }

    /// Writes a text of a result with so many files, and says where the agent finds it.
    pub(super) fn save(&self, text: &str, files: usize) -> Result<(String, SavedFile), Unsaved> {
        if files >= MOST_FILES {
            return Err(Unsaved::Enough);
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|_| Unsaved::NoName)?;
        let file = directories::file_name(u128::from_be_bytes(random));
        let shown = format!("{}/{file}", self.shown);
        let place = FilePlace {
            directory: self.directory.clone(),
            file,
        };
        let file = self.saver.save(place, text, self.limits)?;
        Ok((shown, file))
    }
}

impl Gate {
    /// Removes the files that are too old, of all sessions: those that have ended save nothing themselves.
    /// Blocks while the disk does.
    pub fn remove_old_results(&self) {
        let policies = self.policy.current();
        let excerpts = self.terms(&policies).guards.excerpts.as_ref();
        let Some(save) = excerpts.and_then(|excerpts| excerpts.save.as_ref()) else {
            return;
        };
        if let Some(mut all) = policies.labels().roots.of_all(&save.root) {
            let below = BELOW.map(|name| Some(name.to_owned()));
            all.names.extend(below);
            let oldest = oldest(save, self.now_ms());
            directories::remove_old((&all.above, &all.names), oldest);
        }
    }
}

/// Before this second, files are too old.
fn oldest(save: &Save, now_ms: i64) -> i64 {
    let age = i64::try_from(save.keep.as_secs()).unwrap_or(i64::MAX);
    (now_ms / 1000).saturating_sub(age)
}

/// Checks that a session which reads a file of this root is raised as much as by the result. No root says
/// that its files are from outside, or of an unknown data set.
pub(super) fn is_covered(
    root: &Root,
    received: &Received,
    brings: &SessionSensitivity,
) -> Result<(), Unsaved> {
    let read = SessionSensitivity {
        level: root.level,
        labels: root.labels.iter().cloned().collect(),
        datasets: root.datasets.iter().cloned().collect(),
        // Another session that reads it has read from the server of the file.
        sources: brings.sources.clone(),
        ..SessionSensitivity::default()
    };
    let result = SessionSensitivity {
        level: received.level,
        labels: received.labels.iter().cloned().collect(),
        datasets: received.datasets.iter().cloned().collect(),
        ..SessionSensitivity::default()
    };
    if read.covers(&result.join(brings)) {
        Ok(())
    } else {
        Err(Unsaved::Sensitive(root.name.clone()))
    }
}
