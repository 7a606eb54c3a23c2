//! The files of a log, the filter of the arguments, and the records that match.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::audit::is_rotated;
use crate::audit::query::{Field, Filter, LineError, LogRecord};
use crate::audit::read::{Piece, Position, ReadError, Source, read};
use crate::cli::args::{AuditFilters, TimeBound};
use crate::cli::exit::{Exit, heard};
use crate::clock::{Clock as _, SystemClock};
use crate::findings::printable;

pub(super) fn filter(filters: &AuditFilters) -> Filter {
    let now = SystemClock::new().now();
    let time = |bound: Option<TimeBound>| bound.map(|bound| bound.resolve(now));
    let decisions = filters.decision.iter().map(|it| it.as_str().to_owned());
    Filter::between(time(filters.since), time(filters.until))
        .with(Field::Server, filters.server.clone())
        .with(Field::Agent, filters.agent.clone())
        .with(Field::Session, filters.session.clone())
        .with(Field::Direction, filters.direction.clone())
        .with(Field::Kind, filters.kind.clone())
        .with(Field::Decision, decisions.collect())
        .with(Field::Tool, filters.tool.clone())
        .with(Field::Policy, filters.policy.clone())
        .with(Field::Reason, filters.reason.clone())
        .with(Field::Reference, filters.reference.clone())
        .with(Field::Trace, filters.trace.clone())
}

/// The files of a log. Until a gate removes an older file that it compressed, both are there: one is enough.
pub(in crate::cli) fn sources(files: &[PathBuf]) -> Vec<Source> {
    let is_compressed = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".zst");
        is_rotated(path) && files.contains(&PathBuf::from(name))
    };
    let files = files.iter().filter(|path| !is_compressed(path));
    files.map(|path| Source::of_argument(path)).collect()
}

/// The reason why a scan ended before the end of the files.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ScanError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{at}: {error}")]
    Line { at: Position, error: LineError },
    #[error("the result cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// The matching records of one piece.
struct PieceScan<T> {
    value: T,
    half_lines: u64,
    error: Option<(u64, LineError)>,
}

/// Reads files, in their order. `add` gets each matching record, on any thread, and the value for its piece.
/// `fold` gets the values in the order of the log, and may stop the scan.
///
/// Returns the number of half lines.
///
/// # Errors
/// [`ScanError`] of the first line that is no record, after `fold` got the records before it.
pub(super) fn scan<T: Default + Send>(
    files: &[PathBuf],
    filter: &Filter,
    add: impl Fn(&mut T, &LogRecord<'_>, &[u8]) + Sync,
    mut fold: impl FnMut(T) -> io::Result<ControlFlow<()>>,
) -> Result<u64, ScanError> {
    let sources = sources(files);
    let mut half_lines = 0;
    let map = |piece: &Piece| scan_piece(piece, filter, &add);
    let stopped = read(&sources, map, |piece, found: PieceScan<T>| {
        half_lines += found.half_lines;
        match (fold(found.value), found.error) {
            (Err(error), _) => ControlFlow::Break(Err(ScanError::Write(error))),
            (Ok(ControlFlow::Break(())), _) => ControlFlow::Break(Ok(())),
            (Ok(ControlFlow::Continue(())), None) => ControlFlow::Continue(()),
            (Ok(ControlFlow::Continue(())), Some((line, error))) => {
                let at = piece.position(line);
                ControlFlow::Break(Err(ScanError::Line { at, error }))
            }
        }
    })?;
    stopped.unwrap_or(Ok(())).map(|()| half_lines)
}

fn scan_piece<T: Default>(
    piece: &Piece,
    filter: &Filter,
    add: &impl Fn(&mut T, &LogRecord<'_>, &[u8]),
) -> PieceScan<T> {
    let mut found = PieceScan {
        value: T::default(),
        half_lines: 0,
        error: None,
    };
    for (number, line) in piece.lines() {
        match filter.read(line) {
            Ok(Some(record)) => add(&mut found.value, &record, line),
            Ok(None) => {}
            Err(LineError::Half) => found.half_lines += 1,
            Err(error) => {
                found.error = Some((number, error));
                break;
            }
        }
    }
    found
}

/// The exit of a command that read logs. A closed output is a success.
pub(super) fn finish(
    done: Result<u64, ScanError>,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Exit {
    let done = match done {
        Ok(half_lines) => heard(stdout.flush())
            .map(|()| half_lines)
            .map_err(ScanError::Write),
        Err(ScanError::Write(error)) => heard(Err(error)).map(|()| 0).map_err(ScanError::Write),
        Err(error) => Err(error),
    };
    // The exit code remains if the reader of the messages has closed them.
    match done {
        Ok(0) => Exit::Success,
        Ok(half_lines) => {
            let _ = writeln!(
                stderr,
                "note: skipped {half_lines} half line(s), of gates that were killed or still write them"
            );
            Exit::Success
        }
        Err(error) => {
            let _ = writeln!(stderr, "error: {}", printable(&error.to_string()));
            Exit::LogNotRead
        }
    }
}
