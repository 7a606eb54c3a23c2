//! The check that the records of a log continue each other.

mod header;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::chain::LineHash;
use super::checkpoint::{CheckpointPlace, VerifyingKey};
use super::line::VERSION;
use super::read::{Piece, Position, ReadError, Source, read};
use header::Header;

pub(super) use header::LineForm;

/// The first record of a run may name a line so far back: other gates can write between the start of a gate
/// and its first record.
const RECENT_LINES: u64 = 1 << 16;

/// The most half lines that [`ChainVerifier::half_lines`] names.
const NAMED_HALF_LINES: usize = 64;

/// The state of a check. You give it files in the order in which the gate wrote them. It keeps some hundred
/// bytes for each run of the gate, and the hashes of recent lines.
#[derive(Debug, Default)]
pub struct ChainVerifier {
    /// Those that may have signed checkpoints. Without keys no signature is checked.
    keys: Vec<VerifyingKey>,
    /// Checkpoints that were kept elsewhere, and that no file had yet.
    expected: HashMap<(String, u64), ExpectedCheckpoint>,
    runs: BTreeMap<Arc<str>, RunChain>,
    recent: HashMap<LineHash, RecentLine>,
    lines: u64,
    records: u64,
    half_lines: Vec<Position>,
    more_half_lines: u64,
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

/// A line to which the first record of a run may refer.
#[derive(Debug)]
struct RecentLine {
    /// Counted over all files.
    number: u64,
    /// `None` for half a line.
    record: Option<RecordId>,
}

/// The `instance` and `seq` of a record.
type RecordId = (Arc<str>, u64);

#[derive(Debug)]
struct ExpectedCheckpoint {
    prev: LineHash,
    at: Position,
}

/// The records of one run of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunChain {
    pub first_seq: u64,
    pub last_seq: u64,
    pub end: RunEnd,
    /// The last record that a checkpoint signs; 0 for none.
    pub signed_seq: u64,
    last: LineHash,
    at: Position,
    /// The record of another run that the first record continues.
    continues: Option<RecordId>,
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
    #[error(transparent)]
    Read(#[from] ReadError),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainProblem {
    #[error("the line is no record of version {VERSION} of the audit log")]
    NoRecord,
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
    #[error("none of the keys signed this checkpoint for this place of the log")]
    NotSigned,
    #[error("no checkpoint signs the records of {instance}")]
    NoCheckpoint { instance: String },
    #[error(
        "seq {seq} of {instance} is not the checkpoint at {kept}: the records before it differ"
    )]
    OtherCheckpoint {
        instance: String,
        seq: u64,
        kept: Position,
    },
    #[error("the log has no seq {seq} of {instance}: records are missing")]
    MissingCheckpoint { instance: String, seq: u64 },
}

impl ChainVerifier {
    /// A check of signatures, too.
    pub fn with_keys(keys: Vec<VerifyingKey>) -> Self {
        Self {
            keys,
            ..Self::default()
        }
    }

    /// Reads checkpoints that were kept elsewhere: the log must have each of them. Other lines are skipped.
    ///
    /// # Errors
    /// [`ChainError::Read`] for a source that cannot be read.
    pub fn expect(&mut self, source: &Source) -> Result<(), ChainError> {
        let checkpoints = |piece: &Piece| {
            let lines = piece.lines().filter_map(|(number, line)| {
                let header = Header::of(line).filter(|it| it.checkpoint.is_some())?;
                let place = (header.instance.to_owned(), header.seq);
                Some((place, header.prev?, number))
            });
            lines.collect::<Vec<_>>()
        };
        let sources = std::slice::from_ref(source);
        let _: Option<()> = read(sources, checkpoints, |piece, checkpoints| {
            for (place, prev, number) in checkpoints {
                let at = piece.position(number);
                self.expected.insert(place, ExpectedCheckpoint { prev, at });
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// The checkpoints that were kept elsewhere and that the log did not have yet.
    pub fn expected(&self) -> usize {
        self.expected.len()
    }

    /// Checks what only the end of all files shows.
    ///
    /// # Errors
    /// [`ChainError::Broken`] for a run that no checkpoint signs, if there are keys, and for an expected
    /// checkpoint that no file had.
    pub fn finish(&self) -> Result<(), ChainError> {
        let broken = |at: &Position, problem| ChainError::Broken {
            at: at.clone(),
            problem: Box::new(problem),
        };
        let missing = self.expected.iter().min_by_key(|(_, it)| it.at.line);
        if let Some(((instance, seq), expected)) = missing {
            let (instance, seq) = (instance.clone(), *seq);
            let problem = ChainProblem::MissingCheckpoint { instance, seq };
            return Err(broken(&expected.at, problem));
        }
        let unsigned = self.runs.iter().find(|(_, run)| run.signed_seq == 0);
        match unsigned.filter(|_| !self.keys.is_empty()) {
            Some((instance, run)) => {
                let instance = instance.to_string();
                Err(broken(&run.at, ChainProblem::NoCheckpoint { instance }))
            }
            None => Ok(()),
        }
    }

    /// Reads the files of a log, oldest first.
    ///
    /// # Errors
    /// [`ChainError`] for the first line that breaks the chain, and for a source that cannot be read.
    pub fn read(&mut self, sources: &[Source]) -> Result<(), ChainError> {
        let looks = |piece: &Piece| {
            let lines = piece.lines();
            let looks = lines.map(|(_, line)| (LineHash::of(line), LineForm::of(line)));
            looks.collect::<Vec<_>>()
        };
        let broken = read(sources, looks, |piece, looks| {
            for ((number, line), (hash, form)) in piece.lines().zip(looks) {
                let at = piece.position(number);
                let header = Header::of(line).filter(|_| form == LineForm::Whole);
                let checked = match header {
                    Some(header) => self.check_record(&header, hash, piece.source(), &at),
                    None if form == LineForm::Half => {
                        self.add_half_line(hash, &at);
                        Ok(())
                    }
                    None => Err(ChainProblem::NoRecord),
                };
                if let Err(problem) = checked {
                    return ControlFlow::Break((at, problem));
                }
            }
            ControlFlow::Continue(())
        })?;
        match broken {
            None => Ok(()),
            Some((at, problem)) => {
                let problem = Box::new(problem);
                Err(ChainError::Broken { at, problem })
            }
        }
    }

    pub fn records(&self) -> u64 {
        self.records
    }

    /// The runs of the gate, by their `instance`.
    pub fn runs(&self) -> &BTreeMap<Arc<str>, RunChain> {
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

    fn add_half_line(&mut self, hash: LineHash, at: &Position) {
        if self.half_lines.len() < NAMED_HALF_LINES {
            self.half_lines.push(at.clone());
        } else {
            self.more_half_lines += 1;
        }
        self.remember(hash, None);
    }

    fn check_record(
        &mut self,
        header: &Header<'_>,
        hash: LineHash,
        source: usize,
        at: &Position,
    ) -> Result<(), ChainProblem> {
        let prev = header.prev.ok_or(ChainProblem::NoPrev)?;
        let instance = if let Some((instance, _)) = self.runs.get_key_value(header.instance) {
            Arc::clone(instance)
        } else {
            self.check_start(header, prev, source)?;
            let continued = self.recent.get(&prev);
            let run = RunChain {
                first_seq: header.seq,
                last_seq: header.seq - 1,
                end: RunEnd::Open,
                signed_seq: 0,
                last: prev,
                at: at.clone(),
                continues: continued.and_then(|line| line.record.clone()),
            };
            let instance: Arc<str> = header.instance.into();
            self.runs.insert(Arc::clone(&instance), run);
            instance
        };
        if let Some(run) = self.runs.get_mut(&instance) {
            run.check_next(header, prev)?;
            run.extend(header, hash, at);
        }
        self.check_checkpoint(header, prev)?;
        if self.records == 0 {
            let is_start = header.seq == 1 && prev == LineHash::START && self.lines == 0;
            self.beginning = if is_start {
                Beginning::Start
            } else {
                Beginning::Later
            };
        }
        self.records += 1;
        self.remember(hash, Some((instance, header.seq)));
        Ok(())
    }

    /// Keeps the hash of a line for runs that begin soon.
    fn remember(&mut self, hash: LineHash, record: Option<RecordId>) {
        self.lines += 1;
        let number = self.lines;
        self.recent.insert(hash, RecentLine { number, record });
        // Rarely, so that it costs little for each line.
        if self.recent.len() as u64 > 2 * RECENT_LINES {
            self.recent
                .retain(|_, line| number - line.number < RECENT_LINES);
        }
    }

    /// Checks the signature of a checkpoint, and whether it is an expected one.
    fn check_checkpoint(
        &mut self,
        header: &Header<'_>,
        prev: LineHash,
    ) -> Result<(), ChainProblem> {
        let Some(token) = header.checkpoint else {
            return Ok(());
        };
        let place = (header.instance.to_owned(), header.seq);
        if let Some(expected) = self.expected.remove(&place)
            && expected.prev != prev
        {
            let (instance, seq) = place;
            return Err(ChainProblem::OtherCheckpoint {
                instance,
                seq,
                kept: expected.at,
            });
        }
        if self.keys.is_empty() {
            return Ok(());
        }
        let signed = CheckpointPlace {
            instance: header.instance,
            seq: header.seq,
            timestamp: header.timestamp,
            prev,
        };
        if !self.keys.iter().any(|key| key.has_signed(token, &signed)) {
            return Err(ChainProblem::NotSigned);
        }
        self.sign(header.instance.into(), header.seq);
        Ok(())
    }

    /// Marks records as signed: those of a run up to this one, and those that the run continues.
    fn sign(&mut self, instance: Arc<str>, seq: u64) {
        let mut next = Some((instance, seq));
        while let Some((instance, seq)) = next {
            let run = self.runs.get_mut(&instance);
            next = run.and_then(|run| {
                let is_first = run.signed_seq == 0;
                run.signed_seq = run.signed_seq.max(seq);
                run.continues.clone().filter(|_| is_first)
            });
        }
    }

    /// Whether a run may begin here. A run of the first file may have begun in an older one.
    fn check_start(
        &self,
        header: &Header<'_>,
        prev: LineHash,
        source: usize,
    ) -> Result<(), ChainProblem> {
        let instance = || header.instance.to_owned();
        if header.seq > 1 {
            return if source == 0 && self.beginning != Beginning::Start {
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
        self.end = match header.kind {
            "shutdown" => RunEnd::Shutdown,
            "checkpoint" => self.end,
            _ => RunEnd::Open,
        };
        self.last = hash;
        self.at = at.clone();
    }
}
