//! Pieces of whole lines.

use std::io::{self, Read};
use std::iter;
use std::mem;
use std::sync::Arc;

use memchr::{memchr, memchr_iter, memrchr};

use super::source::{MAX_LINE_BYTES, Position, ReadError, Source};

/// The bytes of one read, and of most pieces. A piece with one long line has more.
pub(super) const READ_BYTES: usize = 1 << 20;

/// Consecutive whole lines of a source.
#[derive(Debug)]
pub struct Piece {
    file: Arc<str>,
    source: usize,
    first_line: u64,
    text: Vec<u8>,
}

impl Piece {
    /// The index of the source.
    pub fn source(&self) -> usize {
        self.source
    }

    pub fn position(&self, line: u64) -> Position {
        Position {
            file: Arc::clone(&self.file),
            line,
        }
    }

    /// The last line with a line feed, without it.
    pub fn last_whole_line(&self) -> Option<&[u8]> {
        let text = self.text.get(..memrchr(b'\n', &self.text)?)?;
        let start = memrchr(b'\n', text).map_or(0, |at| at + 1);
        text.get(start..)
    }

    /// The lines without their line feeds, with their numbers. The last line of a source may have no line feed.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        (self.first_line..).zip(lines(&self.text))
    }
}

/// The lines of a text, without line feeds.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest.get(..end)?;
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line)
    })
}

/// A source that is cut into pieces.
pub(super) struct Cutter {
    file: Arc<str>,
    source: usize,
    reader: Box<dyn Read + Send>,
    read_bytes: usize,
    /// The number of the next line.
    line: u64,
    /// The beginning of the next line.
    rest: Vec<u8>,
    state: ReadState,
}

enum ReadState {
    Open,
    Ended,
    Failed(io::Error),
}

impl Cutter {
    pub(super) fn open(index: usize, source: &Source) -> Result<Self, ReadError> {
        let file = source.name();
        match source.open() {
            Ok(reader) => Ok(Self::new(file, index, reader, READ_BYTES)),
            Err(cause) => Err(ReadError::File { file, cause }),
        }
    }

    pub(super) fn new(
        file: Arc<str>,
        source: usize,
        reader: Box<dyn Read + Send>,
        read_bytes: usize,
    ) -> Self {
        Self {
            file,
            source,
            reader,
            read_bytes,
            line: 1,
            rest: Vec::new(),
            state: ReadState::Open,
        }
    }

    /// The next piece. An error comes after all whole lines before it.
    pub(super) fn next_piece(&mut self) -> Result<Option<Piece>, ReadError> {
        let mut text = mem::take(&mut self.rest);
        loop {
            let before = text.len();
            self.fill(&mut text);
            let end = text.get(before..).and_then(|read| memrchr(b'\n', read));
            if let Some(end) = end {
                self.rest = text.split_off(before + end + 1);
                return self.piece(text).map(Some);
            }
            match mem::replace(&mut self.state, ReadState::Ended) {
                ReadState::Open if text.len() <= MAX_LINE_BYTES => self.state = ReadState::Open,
                ReadState::Ended if text.is_empty() => return Ok(None),
                ReadState::Open | ReadState::Ended => return self.piece(text).map(Some),
                ReadState::Failed(cause) => return Err(self.failure(cause, text.is_empty())),
            }
        }
    }

    /// Appends the bytes of one read.
    fn fill(&mut self, text: &mut Vec<u8>) {
        let mut end = text.len();
        text.resize(end + self.read_bytes, 0);
        while let (ReadState::Open, Some(free)) = (&self.state, text.get_mut(end..))
            && !free.is_empty()
        {
            match self.reader.read(free) {
                Ok(0) => self.state = ReadState::Ended,
                Ok(read) => end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.state = ReadState::Failed(error),
            }
        }
        text.truncate(end);
    }

    fn piece(&mut self, text: Vec<u8>) -> Result<Piece, ReadError> {
        let piece = Piece {
            file: Arc::clone(&self.file),
            source: self.source,
            first_line: self.line,
            text,
        };
        // Only the first line of a piece can be longer than a read.
        let first = lines(&piece.text).next().map_or(0, <[u8]>::len);
        if first > MAX_LINE_BYTES {
            let at = piece.position(self.line);
            return Err(ReadError::LineTooLong { at });
        }
        self.line += memchr_iter(b'\n', &piece.text).count() as u64;
        Ok(piece)
    }

    fn failure(&self, cause: io::Error, no_text: bool) -> ReadError {
        let file = Arc::clone(&self.file);
        if self.line == 1 && no_text {
            return ReadError::File { file, cause };
        }
        let at = Position {
            file,
            line: self.line,
        };
        ReadError::Rest { at, cause }
    }
}
