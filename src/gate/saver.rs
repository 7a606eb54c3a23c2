//! The thread that writes the files of results, and removes those of results that do not leave.
//!
//! There is one: a disk that does not answer holds it up, and each result until its first file takes longer than [`SAVE_TIMEOUT`].

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use crate::audit::Finding;
use crate::directories::{self, DirectoryFault, FileLimits};
use crate::policy::OwnDirectory;

use super::apart;

/// How long a result waits for a file.
const SAVE_TIMEOUT: Duration = Duration::from_secs(2);

/// Texts that wait to be written.
const MAX_QUEUED_TEXTS: usize = 4;

/// Writes the files of all sessions. Its thread begins with the first, and ends with the gate.
#[derive(Debug, Default)]
pub(super) struct Saver(OnceLock<Option<Writer>>);

/// A handle to the thread.
#[derive(Debug, Clone)]
struct Writer {
    jobs: SyncSender<Job>,
    unsent: Unsent,
}

/// The files of results that did not leave: no more than were written.
type Unsent = Arc<Mutex<Vec<FilePlace>>>;

#[derive(Debug)]
enum Job {
    Save {
        place: FilePlace,
        text: String,
        limits: FileLimits,
        done: SyncSender<Result<(), DirectoryFault>>,
    },
    /// Wakes the thread, which removes unsent files after each job.
    Wake,
}

#[derive(Debug, Clone)]
pub(super) struct FilePlace {
    pub(super) directory: OwnDirectory,
    pub(super) file: String,
}

/// A file with the text of a result that has not left yet. It is removed unless the result leaves.
#[derive(Debug)]
pub(super) struct SavedFile {
    place: Option<FilePlace>,
    writer: Writer,
}

/// What became of the texts of a result that were to be saved.
#[derive(Debug, Default)]
pub(super) struct Saved {
    pub(super) files: Vec<SavedFile>,
    pub(super) findings: Vec<Finding>,
    /// No more of them are: one could not be, or there are enough files.
    pub(super) is_over: bool,
}

/// Why a text is not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unwritten {
    #[error(transparent)]
    Fault(#[from] DirectoryFault),
    #[error("the thread that writes results does not answer in time")]
    Busy,
}

impl Saver {
    pub(super) fn save(
        &self,
        place: FilePlace,
        text: &str,
        limits: FileLimits,
    ) -> Result<SavedFile, Unwritten> {
        let writer = self.0.get_or_init(|| begin().ok());
        let writer = writer.as_ref().ok_or(Unwritten::Busy)?;
        // Without room, so that what is sent is received.
        let (done, outcome) = sync_channel(0);
        let job = Job::Save {
            place: place.clone(),
            text: text.to_owned(),
            limits,
            done,
        };
        writer.jobs.try_send(job).map_err(|_| Unwritten::Busy)?;
        let written = apart::wait(|| outcome.recv_timeout(SAVE_TIMEOUT));
        written.map_err(|_| Unwritten::Busy)??;
        Ok(SavedFile {
            place: Some(place),
            writer: writer.clone(),
        })
    }
}

impl SavedFile {
    /// The result leaves, and with it the path of the file.
    pub(super) fn stay(mut self) {
        self.place = None;
    }
}

impl Drop for SavedFile {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            let unsent = &self.writer.unsent;
            unsent
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(place);
            // With a full queue the thread has a job after which it looks.
            let _ = self.writer.jobs.try_send(Job::Wake);
        }
    }
}

fn begin() -> io::Result<Writer> {
    let (jobs, all) = sync_channel(MAX_QUEUED_TEXTS);
    let unsent = Unsent::default();
    let writer = Writer {
        jobs,
        unsent: Arc::clone(&unsent),
    };
    let name = "saved-results".to_owned();
    thread::Builder::new()
        .name(name)
        .spawn(move || work(&all, &unsent))?;
    Ok(writer)
}

fn work(jobs: &Receiver<Job>, unsent: &Unsent) {
    for job in jobs {
        if let Job::Save {
            place,
            text,
            limits,
            done,
        } = job
        {
            let saved = directories::save(place.within(), &place.file, &text, limits);
            let is_saved = saved.is_ok();
            // The message waits no longer, and says that its text is not saved.
            if done.send(saved).is_err() && is_saved {
                place.remove();
            }
        }
        let places = std::mem::take(&mut *unsent.lock().unwrap_or_else(PoisonError::into_inner));
        places.iter().for_each(FilePlace::remove);
    }
}

impl FilePlace {
    fn within(&self) -> (&str, &[String]) {
        (&self.directory.above, &self.directory.names)
    }

    /// One that cannot be removed is removed when it is too old.
    fn remove(&self) {
        let _ = directories::remove(self.within(), &self.file);
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn place(above: &std::path::Path, file: &str) -> FilePlace {
        FilePlace {
            directory: OwnDirectory {
                above: above.to_str().unwrap().to_owned(),
                names: vec!["bob".to_owned()],
            },
            file: file.to_owned(),
        }
    }

    #[test]
    fn a_file_is_removed_unless_its_result_leaves() {
        let above = tempfile::tempdir().unwrap();
        let limits = FileLimits {
            bytes: 1000,
            oldest: 0,
        };
        let saver = Saver::default();
        let save = |text: &str| {
            let file = directories::file_name(text.len() as u128);
            saver
                .save(place(above.path(), &file), text, limits)
                .unwrap()
        };
        save("leaves").stay();
        drop(save("refused"));
        // One thread does everything in turn.
        save("last").stay();
        let files = std::fs::read_dir(above.path().join("bob")).unwrap();
        let mut texts: Vec<_> = files
            .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
            .collect();
        texts.sort();
        assert_eq!(texts, ["last", "leaves"]);
    }
}
