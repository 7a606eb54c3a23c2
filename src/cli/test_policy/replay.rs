//! `test-policy --replay`: the decisions of an audit log that would be others under these policies.

mod report;
mod tally;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

pub(in crate::cli) use self::report::ReplayReport;
use self::tally::{PieceTally, Tally};
use super::single_run::{any_server, configured};
use crate::audit::query::LineError;
use crate::audit::read::{Position, ReadError, read};
use crate::cli::args::{TestFormat, TestPolicyArgs};
use crate::cli::audit::sources;
use crate::cli::exit::{Exit, heard};
use crate::cli::report as diagnostics;
use crate::config::{Config, ConfigErrors};
use crate::findings::{self, printable};
use crate::loading;
use crate::policy::PolicyErrors;
use crate::policy_tests::{ConfiguredPolicies, ReplayJudge};

/// The reason why nothing was replayed.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ReplayFailure {
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Policies(#[from] PolicyErrors),
    #[error("{0}")]
    Usage(&'static str),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{at}: {error}")]
    Line { at: Position, error: LineError },
    #[error("the log holds no decision of policies")]
    NoDecision,
}

/// Replays the logs that the arguments name.
pub(super) fn run(args: &TestPolicyArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    let report = match replay(args) {
        Ok(report) => report,
        Err(failure) => return failure.tell(stderr),
    };
    let written = match args.format {
        TestFormat::Json => findings::json(&report, stdout),
        TestFormat::Human
        | TestFormat::Junit
        | TestFormat::Tap
        | TestFormat::Github
        | TestFormat::Sarif => report.write(stdout),
    };
    match heard(written.and_then(|()| stdout.flush())) {
        Err(_) => Exit::TestsNotRun,
        Ok(()) if report.changes() => Exit::TestsFailed,
        Ok(()) => Exit::Success,
    }
}

fn replay(args: &TestPolicyArgs) -> Result<ReplayReport, ReplayFailure> {
    if !matches!(args.format, TestFormat::Human | TestFormat::Json) {
        return Err(ReplayFailure::Usage(
            "`--replay` has the formats `human` and `json`",
        ));
    }
    let judge = judge(args)?;
    replay_logs(&args.replay, &judge)
}

/// Judges the decisions of logs again.
pub(in crate::cli) fn replay_logs(
    logs: &[PathBuf],
    judge: &ReplayJudge,
) -> Result<ReplayReport, ReplayFailure> {
    let sources = sources(logs);
    let mut tally = Tally::default();
    let map = |piece: &_| PieceTally::of(piece, judge);
    let stopped = read(&sources, map, |piece, found: PieceTally| {
        let error = found.error;
        tally.add(found.tally);
        match error {
            Some((line, error)) => {
                let at = piece.position(line);
                ControlFlow::Break(ReplayFailure::Line { at, error })
            }
            None => ControlFlow::Continue(()),
        }
    })?;
    match stopped {
        Some(failure) => Err(failure),
        None if tally.is_empty() => Err(ReplayFailure::NoDecision),
        None => Ok(ReplayReport::new(judge.revision(), tally)),
    }
}

/// The policies of the configuration, or of the one directory that is named.
fn judge(args: &TestPolicyArgs) -> Result<ReplayJudge, ReplayFailure> {
    let configured = match (&args.config, args.paths.as_slice()) {
        (Some(file), []) => configured(&Config::load_offline(file)?, file),
        (None, [dir]) => ConfiguredPolicies {
            file: dir.clone(),
            policies: loading::Settings {
                dir: Some(dir.clone()),
                ..loading::Settings::default()
            },
            servers: vec![any_server()],
            unified: None,
        },
        (Some(_), [_, ..]) | (None, _) => {
            return Err(ReplayFailure::Usage(
                "`--replay` needs the directory of the policies, or `--config`",
            ));
        }
    };
    let loaded = loading::load(&configured.policies)?;
    Ok(ReplayJudge::new(&loaded.snapshot, configured.servers))
}

impl ReplayFailure {
    fn tell(&self, stderr: &mut dyn Write) -> Exit {
        match self {
            Self::Config(errors) => diagnostics::configuration(errors),
            Self::Policies(errors) => {
                diagnostics::policies(errors);
                return Exit::PoliciesInvalid;
            }
            Self::Usage(_) | Self::Read(_) | Self::Line { .. } | Self::NoDecision => {
                // The exit code remains if the reader has closed the stream.
                let _ = writeln!(stderr, "error: {}", printable(&self.to_string()));
            }
        }
        Exit::TestsNotRun
    }
}
