//! An input with the lines of a log, and a place in it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::decode;

/// The bytes of the longest line. The gate writes far shorter ones.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// An input with the lines of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    File(PathBuf),
    StandardInput,
}

/// A line of a source, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    pub file: Arc<str>,
    pub line: u64,
}

/// The reason why a source gives no more lines.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("`{file}` cannot be read: {cause}")]
    File { file: Arc<str>, cause: io::Error },
    /// The lines before this position were read.
    #[error("{at}: the file cannot be read from this line on: {cause}")]
    Rest { at: Position, cause: io::Error },
    #[error("{at}: the line is longer than {MAX_LINE_BYTES} bytes")]
    LineTooLong { at: Position },
    #[error("no thread can be started to read the log: {0}")]
    NoThread(io::Error),
}

impl Source {
    /// The source of an argument: a path, or `-` for standard input.
    pub fn of_argument(argument: &Path) -> Self {
        if argument.as_os_str() == "-" {
            Self::StandardInput
        } else {
            Self::File(argument.to_owned())
        }
    }

    /// The name in messages.
    pub fn name(&self) -> Arc<str> {
        match self {
            Self::File(path) => path.display().to_string().into(),
            Self::StandardInput => "-".into(),
        }
    }

    pub(super) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::File(path) => decode::open(File::open(path)?, || open_database(path)),
            Self::StandardInput => decode::open(io::stdin(), || {
                Err(io::Error::other("a database is read from a file"))
            }),
        }
    }
}

#[cfg(feature = "flight-recorder")]
fn open_database(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    use crate::audit::flight_recorder::DatabaseLines;
    Ok(Box::new(DatabaseLines::open(path)?))
}

#[cfg(not(feature = "flight-recorder"))]
fn open_database(_: &Path) -> io::Result<Box<dyn Read + Send>> {
    let problem = "it is a DuckDB database, and this program is built without the flight recorder";
    Err(io::Error::new(io::ErrorKind::Unsupported, problem))
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
