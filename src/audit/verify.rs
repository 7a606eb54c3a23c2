//! Whether the records of a log continue each other.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, BufRead};

use memchr::memchr;

use super::chain::LineHash;
use super::line::VERSION;

/// Bytes of the longest line that is read. The gate's are far shorter.
const LONGEST_LINE: usize = 16 << 20;

/// Lines back to which the first record of a gate may point: others may write between its start and its
/// first record.
const RECENT_LINES: usize = 1 << 16;

/// Half lines that are told one by one.
const TORN_LINES: usize = 64;

/// What the lines so far say. Files are given in the order in which they were written.
#[derive(Debug, Default)]
pub struct ChainVerifier {
    gates: BTreeMap<String, GateChain>,
    recent: VecDeque<LineHash>,
    records: u64,
    /// The first lines that a gate did not end.
    torn: Vec<Position>,
    more_torn: u64,
    files: usize,
    /// The first record is the first of the log, so that no run can have begun before.
    is_complete: bool,
}

/// The records of one run of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateChain {
    pub first_seq: u64,
    pub last_seq: u64,
    /// Its last record says that it stopped.
    pub ends: End,
    last: LineHash,
    at: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Shutdown,
    /// It may run still, have died, or its last records may be missing.
    Open,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    pub file: String,
    pub line: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The first line that does not continue the ones before it.
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
    #[error("this is no record of version {VERSION} of the audit log")]
    NoRecord,
    #[error("the line is longer than {LONGEST_LINE} bytes")]
    TooLong,
    #[error(
        "the record has no `prev`, as where a stream misses records: verify the file instead of its copy"
    )]
    Unchained,
    #[error("seq {seq} of {instance} does not continue {before}: one of the two lines was changed")]
    Changed {
        instance: String,
        seq: u64,
        before: Position,
    },
    #[error(
        "seq {seq} of {instance} follows seq {after} ({before}): the records between are missing, or out of order"
    )]
    Missing {
        instance: String,
        seq: u64,
        after: u64,
        before: Position,
    },
    #[error(
        "seq {seq} of {instance} comes after seq {after} ({before}): a record was inserted, repeated or moved"
    )]
    Again {
        instance: String,
        seq: u64,
        after: u64,
        before: Position,
    },
    #[error(
        "{instance} begins after a record that is missing: no line before it is the one that it names"
    )]
    StartMissing { instance: String },
    #[error(
        "{instance} begins with seq {seq}: its earlier records are missing; if they are in an older file, name that first"
    )]
    LateStart { instance: String, seq: u64 },
}

/// What a line says of its place.
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
    /// [`ChainError`] for the first line that is wrong, or where the file cannot be read.
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
            file: file.to_owned(),
            line: 0,
        };
        let mut line = Vec::new();
        loop {
            line.clear();
            at.line += 1;
            let read = read_line(reader, &mut line).map_err(failed)?;
            let problem = match read {
                LineRead::End => break,
                LineRead::TooLong => Err(ChainProblem::TooLong),
                LineRead::Whole | LineRead::Torn => self.line(&line, &at),
            };
            problem.map_err(|problem| ChainError::Broken {
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
    pub fn gates(&self) -> &BTreeMap<String, GateChain> {
        &self.gates
    }

    /// Lines that a gate did not end, as when it is killed while it writes: the first ones, and how many
    /// more there are.
    pub fn torn(&self) -> (&[Position], u64) {
        (&self.torn, self.more_torn)
    }

    fn line(&mut self, line: &[u8], at: &Position) -> Result<(), ChainProblem> {
        let Some(header) = Header::of(line) else {
            if is_torn(line) {
                if self.torn.len() < TORN_LINES {
                    self.torn.push(at.clone());
                } else {
                    self.more_torn += 1;
                }
                return Ok(());
            }
            return Err(ChainProblem::NoRecord);
        };
        let prev = header.prev.ok_or(ChainProblem::Unchained)?;
        let first_seq = if let Some(gate) = self.gates.get(header.instance) {
            gate.continued_by(&header, prev)?;
            gate.first_seq
        } else {
            self.may_begin(&header, prev)?;
            header.seq
        };
        if self.records == 0 {
            self.is_complete = header.seq == 1 && prev == LineHash::START;
        }
        let hash = LineHash::of(line);
        if self.recent.len() == RECENT_LINES {
            self.recent.pop_front();
        }
        self.recent.push_back(hash);
        self.records += 1;
        let chain = GateChain {
            first_seq,
            last_seq: header.seq,
            ends: if header.kind == "shutdown" {
                End::Shutdown
            } else {
                End::Open
            },
            last: hash,
            at: at.clone(),
        };
        self.gates.insert(header.instance.to_owned(), chain);
        Ok(())
    }

    /// Whether a run may begin here. That of the first file may have begun in one that was not given.
    fn may_begin(&self, header: &Header<'_>, prev: LineHash) -> Result<(), ChainProblem> {
        let instance = || header.instance.to_owned();
        if header.seq > 1 {
            return if self.files == 0 && !self.is_complete {
                Ok(())
            } else {
                Err(ChainProblem::LateStart {
                    instance: instance(),
                    seq: header.seq,
                })
            };
        }
        let is_first = self.recent.is_empty();
        if is_first || prev == LineHash::START || self.recent.contains(&prev) {
            Ok(())
        } else {
            Err(ChainProblem::StartMissing {
                instance: instance(),
            })
        }
    }
}

impl GateChain {
    fn continued_by(&self, header: &Header<'_>, prev: LineHash) -> Result<(), ChainProblem> {
        let (instance, seq) = (header.instance.to_owned(), header.seq);
        let (after, before) = (self.last_seq, self.at.clone());
        if seq <= after {
            Err(ChainProblem::Again {
                instance,
                seq,
                after,
                before,
            })
        } else if seq - after > 1 {
            Err(ChainProblem::Missing {
                instance,
                seq,
                after,
                before,
            })
        } else if prev != self.last {
            Err(ChainProblem::Changed {
                instance,
                seq,
                before,
            })
        } else {
            Ok(())
        }
    }
}

impl<'l> Header<'l> {
    /// Reads what each line of the log begins with, in exactly the gate's own form.
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

/// Whether a line may be the beginning of a record of a gate that ended while it wrote.
fn is_torn(line: &[u8]) -> bool {
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

/// A string of JSON without escapes, and what follows its closing quote.
fn word(text: &[u8]) -> Option<(&str, &[u8])> {
    let (word, rest) = text.split_at_checked(memchr(b'"', text)?)?;
    let word = std::str::from_utf8(word).ok()?;
    (!word.contains('\\')).then_some((word, rest.strip_prefix(b"\"")?))
}

enum LineRead {
    Whole,
    /// The file ends without a line feed.
    Torn,
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
                LineRead::Torn
            });
        }
        let end = memchr(b'\n', bytes).map(|at| at + 1);
        let taken = end.unwrap_or(bytes.len());
        line.extend_from_slice(bytes.get(..taken).unwrap_or(bytes));
        reader.consume(taken);
        if line.len() > LONGEST_LINE {
            return Ok(LineRead::TooLong);
        }
        if end.is_some() {
            return Ok(LineRead::Whole);
        }
    }
}
