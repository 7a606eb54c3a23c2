//! The check that the records of a log continue each other.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead};

use memchr::memchr;

use super::chain::LineHash;
use super::line::VERSION;
use super::read::{MAX_LINE_BYTES, Position};

/// The first record of a run may name a line so far back: other gates can write between the start of a gate
/// and its first record.
const RECENT_LINES: u64 = 1 << 16;

/// The most half lines that [`ChainVerifier::half_lines`] names.
const NAMED_HALF_LINES: usize = 64;

/// The state of a check. You give it files in the order in which the gate wrote them. It keeps some hundred
/// bytes for each run of the gate, and the hashes of recent lines.
#[derive(Debug, Default)]
pub struct ChainVerifier {
    runs: BTreeMap<String, RunChain>,
    /// The numbers of recent lines, counted over all files, by their hashes.
    recent: HashMap<LineHash, u64>,
    lines: u64,
    records: u64,
    half_lines: Vec<Position>,
    more_half_lines: u64,
    files: usize,
    beginning: Beginning,
}

/// Whether the first record is the first one of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Beginning {
    #[default]
    Unknown,
    /// It is. So each run has its first record here.
    Start,
    /// It continues lines that are in no file given.
    Later,
}

/// The records of one run of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunChain {
    pub first_seq: u64,
    pub last_seq: u64,
    pub end: RunEnd,
    last: LineHash,
    at: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The last record says that the gate stopped.
    Shutdown,
    /// The gate still runs, was killed, or its last records are missing.
    Open,
}

/// The first line that does not continue the ones before it, or a file that cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    #[error("{at}: {problem}")]
    Broken {
        at: Position,
        problem: Box<ChainProblem>,
    },
    #[error("`{file}` cannot be read: {cause}")]
    Read { file: String, cause: io::Error },
    #[error("`{0}` is compressed: decompress it first")]
    Compressed(String),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainProblem {
    #[error("the line is no record of version {VERSION} of the audit log")]
    NoRecord,
    #[error("the line is longer than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
    #[error(
        "the record has no `prev`, because this stream misses records: verify the audit file, which has them"
    )]
    NoPrev,
    #[error("seq {seq} of {instance} does not continue {before}: one of the two lines was changed")]
    HashMismatch {
        instance: String,
        seq: u64,
        before: Position,
    },
    #[error(
        "seq {seq} of {instance} follows seq {after} ({before}): the records between are missing, or out of order"
    )]
    SeqGap {
        instance: String,
        seq: u64,
        after: u64,
        before: Position,
    },
    #[error(
        "seq {seq} of {instance} follows seq {after} ({before}): a record was inserted, repeated or moved"
    )]
    SeqRepeat {
        instance: String,
        seq: u64,
        after: u64,
        before: Position,
    },
    #[error("the first record of {instance} continues a line that is missing or was changed")]
    UnknownStart { instance: String },
    #[error(
        "{instance} begins with seq {seq}: its earlier records are missing; if an older file has them, name that file first"
    )]
    LateStart { instance: String, seq: u64 },
}

/// The members with which each record begins.
#[derive(Debug, PartialEq, Eq)]
struct Header<'l> {
    seq: u64,
    instance: &'l str,
    prev: Option<LineHash>,
    kind: &'l str,
}

impl ChainVerifier {
    /// Reads one file to its end.
    ///
    /// # Errors
    /// [`ChainError`] for the first line that breaks the chain, and for a file that cannot be read.
    pub fn read(&mut self, file: &str, reader: &mut dyn BufRead) -> Result<(), ChainError> {
        let failed = |cause| ChainError::Read {
            file: file.to_owned(),
            cause,
        };
        let begins = reader.fill_buf().map_err(failed)?;
        if [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd"]
            .iter()
            .any(|magic| begins.starts_with(magic))
        {
            return Err(ChainError::Compressed(file.to_owned()));
        }
        let mut at = Position {
            file: file.into(),
            line: 0,
        };
        let mut line = Vec::new();
        loop {
            line.clear();
            at.line += 1;
            let read = read_line(reader, &mut line).map_err(failed)?;
            let checked = match read {
                LineRead::End => break,
                LineRead::TooLong => Err(ChainProblem::LineTooLong),
                LineRead::Line => self.check_line(&line, &at),
            };
            checked.map_err(|problem| ChainError::Broken {
                at: at.clone(),
                problem: Box::new(problem),
            })?;
        }
        self.files += 1;
        Ok(())
    }

    pub fn records(&self) -> u64 {
        self.records
    }

    /// The runs of the gate, by their `instance`.
    pub fn runs(&self) -> &BTreeMap<String, RunChain> {
        &self.runs
    }

    pub fn beginning(&self) -> Beginning {
        self.beginning
    }

    /// Lines of which the gate wrote only a part, because it was killed: the first ones, and the number of
    /// the others. At the end of a file, the gate may still write the line.
    pub fn half_lines(&self) -> (&[Position], u64) {
        (&self.half_lines, self.more_half_lines)
    }

    fn check_line(&mut self, line: &[u8], at: &Position) -> Result<(), ChainProblem> {
        let hash = LineHash::of(line);
        let Some(header) = Header::of(line) else {
            if !may_be_half(line) {
                return Err(ChainProblem::NoRecord);
            }
            if self.half_lines.len() < NAMED_HALF_LINES {
                self.half_lines.push(at.clone());
            } else {
                self.more_half_lines += 1;
            }
            self.remember(hash);
            return Ok(());
        };
        let prev = header.prev.ok_or(ChainProblem::NoPrev)?;
        if let Some(run) = self.runs.get_mut(header.instance) {
            run.check_next(&header, prev)?;
            run.extend(&header, hash, at);
        } else {
            self.check_start(&header, prev)?;
            let mut run = RunChain {
                first_seq: header.seq,
                last_seq: header.seq,
                end: RunEnd::Open,
                last: hash,
                at: at.clone(),
            };
            run.extend(&header, hash, at);
            self.runs.insert(header.instance.to_owned(), run);
        }
        if self.records == 0 {
            let is_start = header.seq == 1 && prev == LineHash::START && self.lines == 0;
            self.beginning = if is_start {
                Beginning::Start
            } else {
                Beginning::Later
            };
        }
        self.records += 1;
        self.remember(hash);
        Ok(())
    }

    /// Keeps the hash of a line for runs that begin soon.
    fn remember(&mut self, hash: LineHash) {
        self.lines += 1;
        let lines = self.lines;
        self.recent.insert(hash, lines);
        // Rarely, so that it costs little for each line.
        if self.recent.len() as u64 > 2 * RECENT_LINES {
            self.recent.retain(|_, line| lines - *line < RECENT_LINES);
        }
    }

    /// Whether a run may begin here. A run of the first file may have begun in an older one.
    fn check_start(&self, header: &Header<'_>, prev: LineHash) -> Result<(), ChainProblem> {
        let instance = || header.instance.to_owned();
        if header.seq > 1 {
            return if self.files == 0 && self.beginning != Beginning::Start {
                Ok(())
            } else {
                Err(ChainProblem::LateStart {
                    instance: instance(),
                    seq: header.seq,
                })
            };
        }
        let is_first = self.records == 0;
        if is_first || prev == LineHash::START || self.recent.contains_key(&prev) {
            Ok(())
        } else {
            Err(ChainProblem::UnknownStart {
                instance: instance(),
            })
        }
    }
}

impl RunChain {
    /// Whether a record is the next one of this run.
    fn check_next(&self, header: &Header<'_>, prev: LineHash) -> Result<(), ChainProblem> {
        let instance = || header.instance.to_owned();
        let (seq, after) = (header.seq, self.last_seq);
        if seq <= after {
            Err(ChainProblem::SeqRepeat {
                instance: instance(),
                seq,
                after,
                before: self.at.clone(),
            })
        } else if seq - after > 1 {
            Err(ChainProblem::SeqGap {
                instance: instance(),
                seq,
                after,
                before: self.at.clone(),
            })
        } else if prev != self.last {
            Err(ChainProblem::HashMismatch {
                instance: instance(),
                seq,
                before: self.at.clone(),
            })
        } else {
            Ok(())
        }
    }

    fn extend(&mut self, header: &Header<'_>, hash: LineHash, at: &Position) {
        self.last_seq = header.seq;
        self.end = if header.kind == "shutdown" {
            RunEnd::Shutdown
        } else {
            RunEnd::Open
        };
        self.last = hash;
        self.at = at.clone();
    }
}

impl<'l> Header<'l> {
    /// Reads the beginning of a record in the exact form in which the gate writes it.
    fn of(line: &'l [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if !line.ends_with(b"}") {
            return None;
        }
        let (version, rest) = number(line.strip_prefix(b"{\"version\":")?)?;
        let (seq, rest) = number(rest.strip_prefix(b",\"seq\":")?)?;
        let (_, rest) = word(rest.strip_prefix(b",\"timestamp\":\"")?)?;
        let (instance, rest) = word(rest.strip_prefix(b",\"instance\":\"")?)?;
        let (prev, rest) = match rest.strip_prefix(b",\"prev\":\"") {
            Some(rest) => {
                let (prev, rest) = word(rest)?;
                (Some(LineHash::parse(prev.as_bytes())?), rest)
            }
            None => (None, rest),
        };
        let (kind, _) = word(rest.strip_prefix(b",\"kind\":\"")?)?;
        let is_instance = instance.len() == 16 && instance.bytes().all(|it| it.is_ascii_hexdigit());
        (version == u64::from(VERSION) && seq > 0 && is_instance).then_some(Self {
            seq,
            instance,
            prev,
            kind,
        })
    }
}

/// Whether a line may be the beginning of a record, of which the gate wrote no more.
pub(super) fn may_be_half(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let begins = format!("{{\"version\":{VERSION},\"seq\":");
    let shared = line.len().min(begins.len());
    !line.ends_with(b"}") && line.get(..shared) == begins.as_bytes().get(..shared)
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|it| it.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, rest))
}

/// The rest of a JSON string without escapes, and the bytes after its closing quote.
fn word(text: &[u8]) -> Option<(&str, &[u8])> {
    let (word, rest) = text.split_at_checked(memchr(b'"', text)?)?;
    let word = std::str::from_utf8(word).ok()?;
    (!word.contains('\\')).then_some((word, rest.strip_prefix(b"\"")?))
}

enum LineRead {
    /// A line, the last of a file perhaps without its line feed.
    Line,
    TooLong,
    End,
}

fn read_line(reader: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<LineRead> {
    loop {
        let bytes = match reader.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            return Ok(if line.is_empty() {
                LineRead::End
            } else {
                LineRead::Line
            });
        }
        let end = memchr(b'\n', bytes).map(|at| at + 1);
        let taken = end.unwrap_or(bytes.len());
        line.extend_from_slice(bytes.get(..taken).unwrap_or(bytes));
        reader.consume(taken);
        if line.len() > MAX_LINE_BYTES {
            return Ok(LineRead::TooLong);
        }
        if end.is_some() {
            return Ok(LineRead::Line);
        }
    }
}
