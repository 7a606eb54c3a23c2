//! A file that another process writes and rotates.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memchr;

use crate::audit::query::LineError;
use crate::audit::read::MAX_LINE_BYTES;

/// The bytes of one read.
const READ_BYTES: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub(super) enum FollowError {
    #[error("`{file}` cannot be read: {cause}")]
    Read { file: String, cause: io::Error },
    #[error("`{file}`, at byte {byte}: {problem}")]
    Line {
        file: String,
        byte: u64,
        problem: LineProblem,
    },
    #[error("the decisions cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// The reason why a line cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineProblem {
    #[error(transparent)]
    Record(#[from] LineError),
    #[error("the line is longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// The reader of the output, not the line, has failed.
    #[error(transparent)]
    Write(#[from] io::Error),
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
    pub(super) fn open(path: &Path) -> Result<Self, FollowError> {
        Self::try_open(path).map_err(|cause| read_error(path, cause))
    }

    fn try_open(path: &Path) -> io::Result<Self> {
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

    /// The file that the path names, if it is not this one. `None` also while there is none.
    pub(super) fn successor(&self) -> Result<Option<Self>, FollowError> {
        match Self::try_open(&self.path) {
            Ok(other) if other.identity != self.identity => Ok(Some(other)),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(read_error(&self.path, cause)),
        }
    }

    /// Continues so many bytes before the end, and skips the line there. Whether that is the start of the file.
    pub(super) fn seek_back(&mut self, bytes: u64) -> Result<bool, FollowError> {
        let sought = self.file.metadata().and_then(|metadata| {
            let start = metadata.len().saturating_sub(bytes);
            self.file.seek(SeekFrom::Start(start))
        });
        let start = sought.map_err(|cause| read_error(&self.path, cause))?;
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
    pub(super) fn read_lines(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Result<(), LineProblem>,
    ) -> Result<(), FollowError> {
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
            self.take_lines(read, &mut take)
                .map_err(|problem| match problem {
                    LineProblem::Write(error) => FollowError::Write(error),
                    LineProblem::Record(_) | LineProblem::TooLong => FollowError::Line {
                        file: self.path.display().to_string(),
                        byte: self.offset,
                        problem,
                    },
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

    fn take_lines(
        &mut self,
        mut bytes: &[u8],
        take: &mut impl FnMut(&[u8]) -> Result<(), LineProblem>,
    ) -> Result<(), LineProblem> {
        while let Some((end, after)) =
            memchr(b'\n', bytes).and_then(|at| bytes.split_at_checked(at + 1))
        {
            self.rest.extend_from_slice(end);
            let line = self.rest.strip_suffix(b"\n").unwrap_or(&self.rest);
            match self.first {
                FirstLine::Cut => self.first = FirstLine::Whole,
                FirstLine::Whole if line.len() > MAX_LINE_BYTES => {
                    return Err(LineProblem::TooLong);
                }
                FirstLine::Whole => take(line)?,
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
                return Err(LineProblem::TooLong);
            }
            FirstLine::Whole => {}
        }
        Ok(())
    }
}

fn read_error(path: &Path, cause: io::Error) -> FollowError {
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
