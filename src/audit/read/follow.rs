//! A file that another process writes and rotates.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memchr;

use super::source::{MAX_LINE_BYTES, ReadError};

/// The bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// The reason why a followed log gives no more lines. `E` is of the lines' user.
#[derive(Debug, thiserror::Error)]
pub enum FollowError<E> {
    #[error("`{file}` cannot be read: {cause}")]
    Read { file: String, cause: io::Error },
    /// Of a file that has ended.
    #[error(transparent)]
    Ended(#[from] ReadError),
    #[error("{place}: the line is longer than {MAX_LINE_BYTES} bytes")]
    LineTooLong { place: String },
    /// The line was not taken.
    #[error("{place}: {problem}")]
    Line { place: String, problem: E },
}

/// The reason why the lines of a read are not all given.
enum Stopped<E> {
    TooLong,
    ByUser(E),
}

/// An open file, with the lines that were not read yet.
#[derive(Debug)]
pub(super) struct FollowedFile {
    path: PathBuf,
    file: File,
    identity: Identity,
    /// The first byte of the next line.
    offset: u64,
    /// The beginning of the next line.
    rest: Vec<u8>,
    /// Whether the next line is a part of one.
    first: FirstLine,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstLine {
    Whole,
    Cut,
}

impl FollowedFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let identity = identity(&file.metadata()?);
        Ok(Self {
            path: path.to_owned(),
            file,
            identity,
            offset: 0,
            rest: Vec::new(),
            first: FirstLine::Whole,
        })
    }

    /// Whether the path names another file. Not while it names none.
    pub(super) fn has_successor(&self) -> io::Result<bool> {
        match fs::metadata(&self.path) {
            Ok(other) => Ok(identity(&other) != self.identity),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The first line, whatever was read. Afterwards, all lines are given again.
    pub(super) fn first_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.file.rewind()?;
        let mut line = Vec::new();
        let longest = MAX_LINE_BYTES as u64 + 1;
        BufReader::new((&mut self.file).take(longest)).read_until(b'\n', &mut line)?;
        self.file.rewind()?;
        self.restart(0);
        Ok((line.pop() == Some(b'\n')).then_some(line))
    }

    /// Continues so many bytes before the end, and skips the line there. Whether that is the start of the file.
    pub(super) fn seek_back(&mut self, bytes: u64) -> io::Result<bool> {
        let start = self.file.metadata()?.len().saturating_sub(bytes);
        self.file.seek(SeekFrom::Start(start))?;
        self.restart(start);
        Ok(start == 0)
    }

    fn restart(&mut self, offset: u64) {
        self.offset = offset;
        self.rest.clear();
        self.first = if offset == 0 {
            FirstLine::Whole
        } else {
            FirstLine::Cut
        };
    }

    /// Gives each line that has its line feed. A file that has become shorter begins again.
    pub(super) fn read_lines<E>(
        &mut self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), FollowError<E>> {
        let mut buffer = vec![0; READ_BYTES];
        self.restart_if_shorter()
            .map_err(|cause| read_error(&self.path, cause))?;
        loop {
            let read = match self.file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => buffer.get(..read).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(cause) => return Err(read_error(&self.path, cause)),
            };
            self.take_lines(read, take).map_err(|stopped| {
                let place = format!("`{}`, at byte {}", self.path.display(), self.offset);
                match stopped {
                    Stopped::TooLong => FollowError::LineTooLong { place },
                    Stopped::ByUser(problem) => FollowError::Line { place, problem },
                }
            })?;
        }
    }

    fn restart_if_shorter(&mut self) -> io::Result<()> {
        let read = self.offset + self.rest.len() as u64;
        if self.file.metadata()?.len() < read {
            self.file.seek(SeekFrom::Start(0))?;
            self.restart(0);
        }
        Ok(())
    }

    fn take_lines<E>(
        &mut self,
        mut bytes: &[u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), Stopped<E>> {
        while let Some((end, after)) =
            memchr(b'\n', bytes).and_then(|at| bytes.split_at_checked(at + 1))
        {
            self.rest.extend_from_slice(end);
            let line = self.rest.strip_suffix(b"\n").unwrap_or(&self.rest);
            match self.first {
                FirstLine::Cut => self.first = FirstLine::Whole,
                FirstLine::Whole if line.len() > MAX_LINE_BYTES => {
                    return Err(Stopped::TooLong);
                }
                FirstLine::Whole => take(line).map_err(Stopped::ByUser)?,
            }
            self.offset += self.rest.len() as u64;
            self.rest.clear();
            bytes = after;
        }
        self.rest.extend_from_slice(bytes);
        match self.first {
            // A part of a line is not kept.
            FirstLine::Cut => {
                self.offset += self.rest.len() as u64;
                self.rest.clear();
            }
            FirstLine::Whole if self.rest.len() > MAX_LINE_BYTES => {
                return Err(Stopped::TooLong);
            }
            FirstLine::Whole => {}
        }
        Ok(())
    }
}

pub(super) fn read_error<E>(path: &Path, cause: io::Error) -> FollowError<E> {
    let file = path.display().to_string();
    FollowError::Read { file, cause }
}

/// The name of a file that a rename does not change.
#[cfg(unix)]
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(file: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (file.dev(), file.ino())
}

#[cfg(not(unix))]
type Identity = Option<std::time::SystemTime>;

#[cfg(not(unix))]
fn identity(file: &Metadata) -> Identity {
    file.created().ok()
}
