//! The audit file: appended to, shared with other gates, followed through rotation.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::chain::{LineHash, last_line};
use super::compression::compress_older;
#[cfg(unix)]
use super::disk::identity;
use super::disk::{is_at, lock, open, open_error, sync_directory, try_lock, unlock};
use super::fault::OpenError;
use super::rotation::{Rotation, first_time, last_older_line, next_older_name};
use super::sink::{LinePosition, Sink};
use crate::clock::Clock;

#[derive(Debug)]
pub(super) struct FileSink {
    path: PathBuf,
    file: File,
    /// Device and number of the file.
    #[cfg(unix)]
    identity: (u64, u64),
    /// Where our last batch ended; the file's length, unless another process wrote since.
    end: Option<u64>,
    last_line: Option<LineHash>,
    rotation: Rotation,
    /// The time of the file's first record. `None` for an empty file too.
    first_time: Option<Timestamp>,
    clock: Arc<dyn Clock>,
    rotation_state: RotationState,
}

/// Whether the operator knows that the file cannot be rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RotationState {
    Works,
    Failed,
}

/// How often a file may be replaced while the gate waits for its lock.
const MAX_LOCK_TRIES: usize = 100;

impl FileSink {
    /// Opens the file for appending, or creates it for the owner alone.
    ///
    /// Only a regular file will do. A FIFO has a reader that can stall every call, a device keeps
    /// nothing, and a symbolic link may have been put there so that we write into a file of
    /// another process's choice.
    pub(super) fn open(
        path: &Path,
        rotation: Rotation,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let (mut file, created) = open(path).map_err(|error| open_error(path, error))?;
        if created {
            sync_directory(path);
        }
        try_lock(&file).map_err(|error| open_error(path, error))?;
        if !rotation.is_off() {
            compress_older(path);
        }
        Ok(Self {
            path: path.to_owned(),
            #[cfg(unix)]
            identity: identity(&file.metadata().map_err(|error| open_error(path, error))?),
            last_line: last_line(&mut file)
                .map_err(|error| open_error(path, error))?
                .or_else(|| last_older_line(path)),
            first_time: first_time(&mut file).map_err(|error| open_error(path, error))?,
            file,
            end: None,
            rotation,
            clock,
            rotation_state: RotationState::Works,
        })
    }

    /// Locks the file that the path names.
    fn lock_named(&mut self) -> io::Result<()> {
        for _ in 0..MAX_LOCK_TRIES {
            self.follow()?;
            // Two gates may share a file: an editor with two windows starts two. Held until the last
            // byte of the batch is in, so that a line torn by a full disk is completed and not
            // continued by the other's.
            lock(&self.file)?;
            // Meanwhile the other one may have rotated it.
            if is_at(&self.file, &self.path) {
                return Ok(());
            }
            unlock(&self.file);
        }
        Err(io::Error::other(
            "other processes replace the file without end",
        ))
    }

    /// Gives the file the name of an older one, and begins a new one.
    fn rotate(&mut self) -> io::Result<()> {
        let older = next_older_name(&self.path, self.clock.now());
        if older.try_exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let permissions = self.file.metadata()?.permissions();
        fs::rename(&self.path, &older)?;
        if let Err(error) = self.lock_named() {
            // Without a new file, records go on in the old one.
            if !self.path.try_exists()? {
                fs::rename(&older, &self.path)?;
            }
            return Err(error);
        }
        self.file.set_permissions(permissions)?;
        compress_older(&self.path);
        Ok(())
    }

    /// Opens the file anew when its name no longer leads to it: it was rotated, or deleted.
    #[cfg(unix)]
    fn follow(&mut self) -> io::Result<()> {
        let named = fs::symlink_metadata(&self.path);
        if named.is_ok_and(|named| identity(&named) == self.identity) {
            return Ok(());
        }
        let (mut file, created) = open(&self.path)?;
        let identity = identity(&file.metadata()?);
        self.first_time = first_time(&mut file)?;
        self.file.sync_data()?;
        if created {
            sync_directory(&self.path);
        }
        (self.file, self.identity) = (file, identity);
        self.end = None;
        Ok(())
    }

    // An open file can be neither renamed nor deleted there, but by the gate itself.
    #[cfg(not(unix))]
    fn follow(&mut self) -> io::Result<()> {
        if !self.path.exists() {
            (self.file, _) = open(&self.path)?;
            (self.end, self.first_time) = (None, None);
        }
        Ok(())
    }

    /// A file that cannot be rotated grows on, which is better than no audit.
    fn rotate_or_tell(&mut self) -> io::Result<()> {
        match self.rotate() {
            Ok(()) => self.rotation_state = RotationState::Works,
            Err(error) if is_at(&self.file, &self.path) => {
                if self.rotation_state == RotationState::Works {
                    let path = self.path.display();
                    tracing::warn!("the audit file `{path}` cannot be rotated: {error}");
                }
                self.rotation_state = RotationState::Failed;
                lock(&self.file)?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn last_byte(&mut self) -> io::Result<u8> {
        let mut last = [0];
        self.file.seek(SeekFrom::End(-1))?;
        self.file.read_exact(&mut last)?;
        Ok(last[0])
    }
}

impl Sink for FileSink {
    fn name(&self) -> Arc<str> {
        format!("`{}`", self.path.display()).into()
    }

    fn last_line(&self) -> Option<LineHash> {
        self.last_line
    }

    fn begin(&mut self) -> io::Result<LinePosition> {
        self.lock_named()?;
        let mut length = self.file.metadata()?.len();
        let now = self.clock.now();
        let is_cut = self.end.is_some_and(|end| length < end);
        if length > 0 && self.rotation.max_age.is_some() && (self.first_time.is_none() || is_cut) {
            self.first_time = first_time(&mut self.file)?;
        }
        if self.rotation.is_due(length, self.first_time, now) {
            self.rotate_or_tell()?;
            length = self.file.metadata()?.len();
        }
        if length == 0 {
            self.first_time = Some(now);
        }
        let begun = if length == 0 || self.end == Some(length) || self.last_byte()? == b'\n' {
            LinePosition::AtLineStart
        } else {
            LinePosition::MidLine
        };
        self.end = Some(length);
        Ok(begun)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.file.write(bytes)?;
        self.end = self
            .end
            .zip(u64::try_from(taken).ok())
            .map(|(end, taken)| end + taken);
        Ok(taken)
    }

    fn end(&mut self) {
        unlock(&self.file);
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::sink::{Lane, Sync};
    use crate::clock::FixedClock;

    fn append(lane: &mut Lane, text: &str) {
        lane.deliver(text.as_bytes(), Sync::Wanted).unwrap();
        lane.next();
    }

    fn sink(path: &Path) -> Result<FileSink, OpenError> {
        let clock = Arc::new(FixedClock(Timestamp::UNIX_EPOCH));
        FileSink::open(path, Rotation::default(), clock)
    }

    fn lane(path: &Path) -> Lane {
        Lane::new(Box::new(sink(path).unwrap()))
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn what_is_there_stays_and_half_a_line_is_ended() {
        for (before, after) in [("", "new\n"), ("old\n", "old\nnew\n"), ("to", "to\nnew\n")] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("audit.jsonl");
            fs::write(&path, before).unwrap();
            append(&mut lane(&path), "new\n");
            assert_eq!(read(&path), after);
        }
    }

    #[test]
    fn two_gates_share_a_file_even_if_one_dies_in_the_middle_of_a_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let (mut one, mut other) = (lane(&path), lane(&path));
        append(&mut one, "one\n");
        append(&mut other, "two\n");
        append(&mut one, "three\n");
        let mut dies = sink(&path).unwrap();
        dies.begin().unwrap();
        dies.write(b"fo").unwrap();
        drop(dies);
        append(&mut other, "five\n");
        append(&mut one, "six\n");
        assert_eq!(read(&path), "one\ntwo\nthree\nfo\nfive\nsix\n");
    }

    #[cfg(unix)]
    #[test]
    fn until_a_batch_is_whole_no_other_gate_writes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let mut one = sink(&path).unwrap();
        let free = || File::open(&path).unwrap().try_lock().is_ok();
        assert!(free());
        one.begin().unwrap();
        one.write(b"half").unwrap();
        let mut other = lane(&path);
        let waits = std::thread::spawn(move || append(&mut other, "other\n"));
        assert!(!free());
        one.write(b" and half\n").unwrap();
        one.end();
        waits.join().unwrap();
        assert!(free());
        assert_eq!(read(&path), "half and half\nother\n");
    }

    #[test]
    fn a_file_that_was_cut_short_is_appended_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let mut lane = lane(&path);
        append(&mut lane, "one\n");
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(0)
            .unwrap();
        append(&mut lane, "two\n");
        assert_eq!(read(&path), "two\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_rotated_or_deleted_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let rotated = directory.path().join("audit.jsonl.1");
        let mut lane = lane(&path);
        append(&mut lane, "one\n");
        fs::rename(&path, &rotated).unwrap();
        append(&mut lane, "two\n");
        assert_eq!(
            (read(&rotated), read(&path)),
            ("one\n".into(), "two\n".into())
        );
        fs::remove_file(&path).unwrap();
        append(&mut lane, "three\n");
        assert_eq!(read(&path), "three\n");
        fs::remove_dir_all(directory.path()).unwrap();
        lane.deliver(b"four\n", Sync::Wanted).unwrap_err();
        fs::create_dir(directory.path()).unwrap();
        append(&mut lane, "four\n");
        assert_eq!(read(&path), "four\n");
    }

    #[test]
    fn only_a_regular_file_in_a_directory_that_exists_will_do() {
        let directory = tempfile::tempdir().unwrap();
        let inside = |name: &str| directory.path().join(name);
        let check = |name: &str, says: &str| {
            let error = sink(&inside(name)).unwrap_err().to_string();
            assert!(error.contains(says), "{name}: {error}");
        };
        check("nowhere/audit.jsonl", "does not exist");
        check(".", "not a regular file");
        #[cfg(unix)]
        {
            fs::write(inside("target"), "").unwrap();
            std::os::unix::fs::symlink(inside("target"), inside("link")).unwrap();
            std::os::unix::fs::symlink(inside("nothing"), inside("dangling")).unwrap();
            let made = std::process::Command::new("mkfifo")
                .arg(inside("fifo"))
                .status();
            assert!(made.unwrap().success());
            check("link", "not a regular file");
            check("dangling", "not a regular file");
            check("fifo", "not a regular file");
            assert!(!inside("nothing").exists());
            let error = sink(Path::new("/dev/null")).unwrap_err();
            assert!(matches!(error, OpenError::NotAFile(_)), "{error}");
        }
    }
}
