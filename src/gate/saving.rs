//! Whole results as files below a root of the session, which the agent's own tools read.
//!
//! One thread writes: a disk that does not answer holds it up, and messages for a moment.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::directories::{self, DirectoryFault, FileLimits};
use crate::policy::{OwnDirectory, PolicySnapshot, Received, Root, SessionSensitivity};

use super::settings::Save;

/// How long a message waits for its file.
const PATIENCE: Duration = Duration::from_secs(2);

/// Files that wait to be written.
const MOST_WAITING: usize = 4;

/// Where files lie below the root.
const BELOW: [&str; 2] = [".mcp-protector", "results"];

/// Writes the files of all sessions. Its thread begins with the first, and ends with the gate.
#[derive(Debug, Default)]
pub(super) struct Saver(OnceLock<Option<SyncSender<Job>>>);

#[derive(Debug)]
struct Job {
    directory: OwnDirectory,
    file: String,
    text: String,
    limits: FileLimits,
    done: SyncSender<Result<(), DirectoryFault>>,
}

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
    #[error("the result is more sensitive than the root `{0}`, or others wrote it")]
    Sensitive(String),
    #[error(transparent)]
    Fault(#[from] DirectoryFault),
    #[error("the disk does not answer in time")]
    Busy,
    #[error("there are no random numbers")]
    NoName,
}

impl<'g> Saving<'g> {
    /// Where the texts of a result go that brings this: nowhere that says less of them than they bring.
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
        let age = i64::try_from(save.keep.as_secs()).unwrap_or(i64::MAX);
        let saving = Self {
            saver,
            shown: roots.outward(&path).unwrap_or(path),
            directory,
            limits: FileLimits {
                bytes: save.bytes,
                oldest: (now_ms / 1000).saturating_sub(age),
            },
        };
        Ok((saving, root.clone()))
    }

    /// Writes a text, and says where the agent finds it.
    pub(super) fn save(&self, text: &str) -> Result<String, Unsaved> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|_| Unsaved::NoName)?;
        let file = directories::file_name(u128::from_be_bytes(random));
        let shown = format!("{}/{file}", self.shown);
        let (done, outcome) = sync_channel(1);
        let job = Job {
            directory: self.directory.clone(),
            file,
            text: text.to_owned(),
            limits: self.limits,
            done,
        };
        let thread = self.saver.0.get_or_init(|| begin().ok());
        let thread = thread.as_ref().ok_or(Unsaved::Busy)?;
        thread.try_send(job).map_err(|_| Unsaved::Busy)?;
        let saved = outcome.recv_timeout(PATIENCE);
        saved.map_err(|_| Unsaved::Busy)??;
        Ok(shown)
    }
}

/// Checks that who reads a file of this root has read as much as the result brings. That others wrote it, and
/// an unknown data set, are told of no root.
pub(super) fn is_covered(
    root: &Root,
    received: &Received,
    brings: &SessionSensitivity,
) -> Result<(), Unsaved> {
    let read = SessionSensitivity {
        level: root.level,
        labels: root.labels.iter().cloned().collect(),
        datasets: root.datasets.iter().cloned().collect(),
        untrusted: false,
    };
    let result = SessionSensitivity {
        level: received.level,
        labels: received.labels.iter().cloned().collect(),
        datasets: received.datasets.iter().cloned().collect(),
        untrusted: false,
    };
    if read.covers(&result.join(brings)) {
        Ok(())
    } else {
        Err(Unsaved::Sensitive(root.name.clone()))
    }
}

fn begin() -> io::Result<SyncSender<Job>> {
    let (jobs, waiting) = sync_channel(MOST_WAITING);
    let name = "saved-results".to_owned();
    thread::Builder::new()
        .name(name)
        .spawn(move || write(&waiting))?;
    Ok(jobs)
}

fn write(jobs: &Receiver<Job>) {
    for job in jobs {
        let names = &job.directory.names;
        let place = (job.directory.above.as_str(), names.as_slice());
        let saved = directories::save(place, &job.file, &job.text, job.limits);
        let is_saved = saved.is_ok();
        if job.done.send(saved).is_err() && is_saved {
            // Nobody was told of it.
            let _ = directories::remove(place, &job.file);
        }
    }
}
