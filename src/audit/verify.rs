//! The check that the records of a log continue each other.

mod header;
mod problem;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::chain::LineHash;
use super::checkpoint::{CheckpointPlace, VerifyingKey};
use super::read::{Piece, Position, Source, read};
use header::Header;

pub(super) use header::LineForm;
pub use problem::{ChainError, ChainProblem};

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
    /// Lines that records continue and that no file had yet.
    awaited: HashMap<LineHash, RecordId>,
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

/// What the first record of a run continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStart {
    /// Nothing: the log was empty.
    NewLog,
    /// A line of these files.
    Continues,
    /// A line of no file given.
    Elsewhere,
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
    line: LineHash,
    at: Position,
}

/// The records of one run of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunChain {
    pub first_seq: u64,
    pub last_seq: u64,
    pub end: RunEnd,
    /// The last record that a checkpoint of this run covers; 0 for none.
    pub signed_seq: u64,
    /// The last record that a run with a checkpoint continues; 0 for none.
    pub continued_seq: u64,
    /// The run's place in the order of first records.
    pub number: usize,
    pub start: RunStart,
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

impl ChainVerifier {
    /// A check of signatures, too.
    pub fn with_keys(keys: Vec<VerifyingKey>) -> Self {
        Self {
            keys,
            ..Self::default()
        }
    }

    /// Reads checkpoints that were kept elsewhere: the log must have each of them. Other lines are skipped.
    /// Returns the number of checkpoints.
    ///
    /// # Errors
    /// [`ChainError::Read`] for a source that cannot be read.
    pub fn expect(&mut self, source: &Source) -> Result<usize, ChainError> {
        let checkpoints = |piece: &Piece| {
            let lines = piece.lines().filter_map(|(number, line)| {
                let header = Header::of(line).filter(|it| it.checkpoint.is_some())?;
                let place = (header.instance.to_owned(), header.seq);
                Some((place, LineHash::of(line), number))
            });
            lines.collect::<Vec<_>>()
        };
        let mut count = 0;
        let sources = std::slice::from_ref(source);
        let _: Option<()> = read(sources, checkpoints, |piece, checkpoints| {
            for (place, line, number) in checkpoints {
                let at = piece.position(number);
                self.expected.insert(place, ExpectedCheckpoint { line, at });
                count += 1;
            }
            ControlFlow::Continue(())
        })?;
        Ok(count)
    }

    /// Checks what only the end of all files shows.
    ///
    /// # Errors
    /// [`ChainError::Broken`] for a run without a checkpoint, if there are keys, and for an expected
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
        if self.keys.is_empty() {
            return Ok(());
        }
        let signed = self.runs.values().filter(|run| run.signed_seq > 0);
        let first_signed = signed.map(|run| run.number).min();
        // Runs before the first signed one may be from a time without a key, if a signed one continues them.
        let unsigned = self.runs.iter().find(|(_, run)| {
            let is_later = first_signed.is_none_or(|first| run.number > first);
            run.signed_seq == 0 && (is_later || run.continued_seq == 0)
        });
        match unsigned {
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
        let hash_all = |piece: &Piece| {
            let lines = piece.lines();
            let hashed = lines.map(|(_, line)| (LineHash::of(line), LineForm::of(line)));
            hashed.collect::<Vec<_>>()
        };
        let broken = read(sources, hash_all, |piece, hashed| {
            for ((number, line), (hash, form)) in piece.lines().zip(hashed) {
                let at = piece.position(number);
                let header = Header::of(line).filter(|_| form == LineForm::Whole);
                let checked = match header {
                    Some(header) => self.check_record(&header, hash, piece.source(), &at),
                    None if form == LineForm::Half => {
                        self.add_half_line(hash, &at);
                        Ok(())
                    }
                    // Within a log, it may as well be a changed line.
                    None => Err(match Header::other_version(line) {
                        Some(version) if self.records == 0 => ChainProblem::OtherVersion(version),
                        Some(_) | None => ChainProblem::NoRecord,
                    }),
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
        if let Some((instance, seq)) = self.awaited.remove(&hash) {
            let instance = instance.to_string();
            return Err(ChainProblem::WrongOrder { instance, seq });
        }
        let instance = if let Some((instance, _)) = self.runs.get_key_value(header.instance) {
            Arc::clone(instance)
        } else {
            self.check_start(header, prev, source)?;
            let continued = self.recent.get(&prev);
            let start = if prev == LineHash::START {
                RunStart::NewLog
            } else if continued.is_some() && header.seq == 1 {
                RunStart::Continues
            } else {
                RunStart::Elsewhere
            };
            let run = RunChain {
                first_seq: header.seq,
                last_seq: header.seq - 1,
                end: RunEnd::Open,
                signed_seq: 0,
                continued_seq: 0,
                number: self.runs.len(),
                start,
                last: prev,
                at: at.clone(),
                continues: continued.and_then(|line| line.record.clone()),
            };
            let instance: Arc<str> = header.instance.into();
            self.runs.insert(Arc::clone(&instance), run);
            if start == RunStart::Elsewhere {
                let record = (Arc::clone(&instance), header.seq);
                self.awaited.insert(prev, record);
            }
            instance
        };
        if let Some(run) = self.runs.get_mut(&instance) {
            run.check_next(header, prev)?;
            run.extend(header, hash, at);
        }
        self.check_checkpoint(header, prev, hash)?;
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
        hash: LineHash,
    ) -> Result<(), ChainProblem> {
        if header.kind != "checkpoint" {
            return Ok(());
        }
        let place = (header.instance.to_owned(), header.seq);
        if let Some(expected) = self.expected.remove(&place)
            && expected.line != hash
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
        let is_signed = |token| self.keys.iter().any(|key| key.has_signed(token, &signed));
        if !header.checkpoint.is_some_and(is_signed) {
            return Err(ChainProblem::NotSigned);
        }
        self.mark_signed(header);
        Ok(())
    }

    /// Marks the records of a run up to its checkpoint, and those that the run continues.
    fn mark_signed(&mut self, header: &Header<'_>) {
        let Some(run) = self.runs.get_mut(header.instance) else {
            return;
        };
        let mut next = run.continues.clone().filter(|_| run.signed_seq == 0);
        run.signed_seq = header.seq;
        while let Some((instance, seq)) = next {
            next = self.runs.get_mut(&instance).and_then(|run| {
                let is_marked = run.signed_seq > 0 || run.continued_seq > 0;
                run.continued_seq = run.continued_seq.max(seq);
                run.continues.clone().filter(|_| !is_marked)
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
