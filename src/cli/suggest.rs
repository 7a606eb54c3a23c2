//! `policy suggest`: drafts a policy directory from audit logs, or from the tools of the servers.

mod draft_directory;
mod failure;
mod live;

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub(super) use self::draft_directory::{DraftDirectory, OutputPlace};
pub(super) use self::failure::SuggestFailure;
pub(super) use self::live::{ListedDefinitions, run_live};

use self::draft_directory::{tell_files, write};
use super::audit::sources;
use super::exit::{Exit, heard};
use super::test_policy;
use super::test_policy::{ReplayReport, replay_logs};
use super::tools::{self, ToolsFailure};
use crate::audit::query::{LineError, LogRecord};
use crate::audit::read::{Piece, read};
use crate::config::Config;
use crate::drafts::{Draft, Observations};
use crate::policy::ServerKey;
use crate::policy_tests::ReplayJudge;

/// The most tools whose failed calls are listed.
const MAX_FAILED: usize = 20;

/// A draft from logs that is written.
struct AuditDraft {
    draft: Draft,
    seen: Observations,
    replayed: ReplayReport,
}

/// Writes the draft, and tells how it decides about the logs.
pub(super) fn run(
    logs: &[PathBuf],
    config: Option<&Path>,
    output: &Path,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Exit {
    match suggest(logs, config, output) {
        Ok(drafted) => {
            let told = drafted.tell(output, stdout);
            match heard(told.and_then(|()| stdout.flush())) {
                Err(_) => Exit::NotChecked,
                Ok(()) if drafted.replayed.denies() => Exit::Findings,
                Ok(()) => Exit::Success,
            }
        }
        Err(failure) => failure.tell(stderr),
    }
}

fn suggest(
    logs: &[PathBuf],
    config: Option<&Path>,
    output: &Path,
) -> Result<AuditDraft, SuggestFailure> {
    let place = OutputPlace::of(output)?;
    let judging = match config {
        Some(file) => {
            let config = Config::load_offline(file).map_err(ToolsFailure::Config)?;
            test_policy::configured(&config, file).servers
        }
        None => vec![test_policy::any_server()],
    };
    let servers = judging.iter().filter_map(|it| it.server.key.clone());
    let servers: Vec<ServerKey> = servers.collect();
    for log in logs {
        if log.as_os_str() == "-" {
            return Err(SuggestFailure::StandardInput);
        }
        // A file that is missing has its own error, and so has a directory.
        if fs::metadata(log).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(SuggestFailure::Stream(log.clone()));
        }
    }
    let seen = observe(logs, &servers)?;
    if config.is_none() && seen.servers().nth(1).is_some() {
        let names = seen
            .servers()
            .map(tools::shown)
            .map(|name| format!("`{name}`"));
        return Err(SuggestFailure::SeveralServers(names.collect()));
    }
    if seen.is_empty() {
        return Err(SuggestFailure::NothingPassed);
    }
    let draft = Draft::of(&seen, &servers);
    let (written, policies) = write(&draft, place, &servers)?;
    let judge = ReplayJudge::new(&policies, judging);
    let replayed = replay_logs(logs, &judge)?;
    written.keep()?;
    Ok(AuditDraft {
        draft,
        seen,
        replayed,
    })
}

fn observe(logs: &[PathBuf], servers: &[ServerKey]) -> Result<Observations, SuggestFailure> {
    let map = |piece: &Piece| {
        let mut seen = Observations::default();
        for (number, line) in piece.lines() {
            match LogRecord::parse(line) {
                Ok(_) => seen.add(line, servers),
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

impl AuditDraft {
    fn tell(&self, output: &Path, out: &mut dyn Write) -> io::Result<()> {
        tell_files(&self.draft, output, out)?;
        let left_out = self.seen.left_out();
        if left_out > 0 {
            writeln!(
                out,
                "{left_out} message(s) with cut names, or of too many names, are not in the draft"
            )?;
        }
        let elsewhere = self.seen.elsewhere();
        if elsewhere > 0 {
            writeln!(
                out,
                "{elsewhere} message(s) of servers that are not enabled in the configuration are not in the draft"
            )?;
        }
        for (tool, failed, calls) in self.seen.failed().take(MAX_FAILED) {
            let tool = tools::shown(&tool);
            writeln!(
                out,
                "`{tool}`: the server answered {failed} of {calls} call(s) with an error, and the draft permits them"
            )?;
        }
        let more = self.seen.failed().count().saturating_sub(MAX_FAILED);
        if more > 0 {
            writeln!(out, "{more} more tools have calls that failed")?;
        }
        writeln!(out, "\nThe log under the draft:")?;
        self.replayed.write(out)
    }
}

#[cfg(test)]
mod tests;
