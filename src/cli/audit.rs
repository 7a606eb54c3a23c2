//! `audit`: reads logs that the gate wrote.

mod query;
mod rows;
mod scan;
mod summary;
mod tail;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::PathBuf;

use super::args::{AuditArgs, AuditCommand, AuditFilters, TimeBound};
use super::exit::Exit;
use super::heard;
use crate::audit::query::{Field, Filter};
use crate::audit::verify::{Beginning, ChainError, ChainVerifier, RunEnd};
use crate::clock::{Clock as _, SystemClock};
use crate::findings::printable;

/// What a chain without signatures cannot show.
const LIMITS: &str = "records missing at the end of a run, a run that was added, and records rewritten with all \
    that follow them";

/// The bytes of one read.
const PIECE: usize = 1 << 20;

/// Runs the command.
pub fn run(args: &AuditArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    match &args.command {
        AuditCommand::Verify { files } => verify(files, stdout, stderr),
        AuditCommand::Query(args) => query::run(args, stdout, stderr),
        AuditCommand::Summary(args) => summary::run(args, stdout, stderr),
        AuditCommand::Tail(args) => tail::run(args, stdout, stderr),
    }
}

fn filter(filters: &AuditFilters) -> Filter {
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

fn verify(files: &[PathBuf], stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    let mut chain = ChainVerifier::default();
    let read = files.iter().try_for_each(|file| read(file, &mut chain));
    let told = match &read {
        Ok(()) => heard(tell(&chain, stdout)),
        Err(_) => Ok(()),
    };
    match (read, told) {
        (Ok(()), Ok(())) => Exit::Success,
        (Err(error), _) => {
            // The exit code remains if the output is closed.
            let _ = writeln!(stderr, "error: {}", printable(&error.to_string()));
            match error {
                ChainError::Broken { .. } => Exit::ChainBroken,
                ChainError::Read { .. } | ChainError::Compressed(_) => Exit::NotVerified,
            }
        }
        (Ok(()), Err(error)) => {
            let _ = writeln!(stderr, "error: the result cannot be written: {error}");
            Exit::NotVerified
        }
    }
}

fn read(path: &PathBuf, chain: &mut ChainVerifier) -> Result<(), ChainError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|cause| ChainError::Read {
        file: name.clone(),
        cause,
    })?;
    chain.read(&name, &mut BufReader::with_capacity(PIECE, file))
}

fn tell(chain: &ChainVerifier, out: &mut dyn Write) -> io::Result<()> {
    let (records, runs) = (chain.records(), chain.runs());
    writeln!(out, "chain intact: {records} records, {} runs", runs.len())?;
    if chain.beginning() == Beginning::Later {
        writeln!(out, "  the first record continues an older file")?;
    }
    for (instance, run) in runs {
        let (first, last) = (run.first_seq, run.last_seq);
        let end = match run.end {
            RunEnd::Shutdown => "ends with the stop of the gate",
            RunEnd::Open => "has no end: the gate runs, was killed, or records are missing",
        };
        writeln!(out, "  {instance}: seq {first} to {last}; {end}")?;
    }
    let (half_lines, more) = chain.half_lines();
    for at in half_lines {
        let at = printable(&at.to_string());
        writeln!(
            out,
            "  {at}: half a line, of a gate that was killed or still writes it"
        )?;
    }
    if more > 0 {
        writeln!(out, "  {more} more half lines")?;
    }
    writeln!(out, "not proven: {LIMITS}")
}
