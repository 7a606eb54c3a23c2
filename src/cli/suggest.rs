//! `policy suggest`: drafts a policy directory from audit logs.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::audit::sources;
use super::exit::Exit;
use super::test_policy::{ReplayFailure, ReplayReport, replay_logs};
use super::{heard, proxy, report};
use crate::audit::query::{LineError, LogRecord};
use crate::audit::read::{Piece, Position, ReadError, read};
use crate::drafts::{Draft, Observations};
use crate::findings::printable;
use crate::loading;
use crate::policy::PolicyErrors;
use crate::policy_tests::ReplayJudge;

/// The reason why there is no draft.
#[derive(Debug, thiserror::Error)]
enum SuggestFailure {
    #[error("`{}` exists and is not empty: name a new directory", .0.display())]
    Taken(PathBuf),
    #[error("standard input can be read only once: give files")]
    StandardInput,
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{at}: {error}")]
    Line { at: Position, error: LineError },
    #[error(transparent)]
    Replay(#[from] ReplayFailure),
    #[error("the log has no message of an agent that passed")]
    NothingPassed,
    #[error("`{}` cannot be written: {cause}", file.display())]
    Write { file: PathBuf, cause: io::Error },
    /// A defect of the draft.
    #[error(transparent)]
    Draft(#[from] PolicyErrors),
}

/// Writes the draft, and tells how it decides about the logs.
pub(super) fn run(
    logs: &[PathBuf],
    output: &Path,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Exit {
    match suggest(logs, output) {
        Ok((draft, left_out, replayed)) => {
            let told = tell(&draft, left_out, output, &replayed, stdout);
            match heard(told.and_then(|()| stdout.flush())) {
                Err(_) => Exit::NotChecked,
                Ok(()) if replayed.denies() => Exit::Findings,
                Ok(()) => Exit::Success,
            }
        }
        Err(SuggestFailure::Draft(errors)) => {
            report::policies(&errors);
            Exit::Findings
        }
        Err(failure) => {
            // The exit code remains if the reader has closed the stream.
            let _ = writeln!(stderr, "error: {}", printable(&failure.to_string()));
            Exit::NotChecked
        }
    }
}

fn suggest(logs: &[PathBuf], output: &Path) -> Result<(Draft, u64, ReplayReport), SuggestFailure> {
    let is_empty = |dir: &Path| fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    if output.exists() && !is_empty(output) {
        return Err(SuggestFailure::Taken(output.to_owned()));
    }
    if logs.iter().any(|log| log.as_os_str() == "-") {
        return Err(SuggestFailure::StandardInput);
    }
    let seen = observe(logs)?;
    if seen.is_empty() {
        return Err(SuggestFailure::NothingPassed);
    }
    let draft = Draft::of(&seen);
    for (name, text) in &draft.files {
        let file = output.join(name);
        let directory = file.parent().unwrap_or(output);
        let written = fs::create_dir_all(directory).and_then(|()| fs::write(&file, text));
        written.map_err(|cause| SuggestFailure::Write { file, cause })?;
    }
    let settings = loading::Settings {
        dir: Some(output.to_owned()),
        ..loading::Settings::default()
    };
    let policies = loading::load(&settings)?.snapshot;
    let gate = proxy::default_gate_settings();
    let judge = ReplayJudge::new(policies, "upstream".to_owned(), &gate);
    let replayed = replay_logs(logs, &judge)?;
    Ok((draft, seen.left_out(), replayed))
}

fn observe(logs: &[PathBuf]) -> Result<Observations, SuggestFailure> {
    let map = |piece: &Piece| {
        let mut seen = Observations::default();
        for (number, line) in piece.lines() {
            match LogRecord::parse(line) {
                Ok(_) => seen.add(line),
                Err(LineError::Half) => {}
                Err(error) => return Err((number, error)),
            }
        }
        Ok(seen)
    };
    let mut all = Observations::default();
    let stopped = read(&sources(logs), map, |piece, seen| match seen {
        Ok(seen) => {
            all.merge(seen);
            ControlFlow::Continue(())
        }
        Err((line, error)) => {
            let at = piece.position(line);
            ControlFlow::Break(SuggestFailure::Line { at, error })
        }
    })?;
    stopped.map_or(Ok(all), Err)
}

fn tell(
    draft: &Draft,
    left_out: u64,
    output: &Path,
    replayed: &ReplayReport,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (name, _) in &draft.files {
        let file = output.join(name);
        writeln!(out, "wrote {}", printable(&file.display().to_string()))?;
    }
    if left_out > 0 {
        writeln!(
            out,
            "{left_out} message(s) with cut names, or of too many names, are not in the draft"
        )?;
    }
    writeln!(out, "\nThe log under the draft:")?;
    replayed.write(out)
}

#[cfg(test)]
mod tests;
