//! `audit`: what can be learned from logs that the gate wrote.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::PathBuf;

use super::args::{AuditArgs, AuditCommand};
use super::exit::Exit;
use super::heard;
use crate::audit::verify::{ChainError, ChainVerifier, End};
use crate::findings::printable;

/// Bytes that are read of a file at once.
const PIECE: usize = 1 << 20;

/// Does what was asked for.
pub fn run(args: &AuditArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    let AuditCommand::Verify { files } = &args.command;
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
            let _ = writeln!(stderr, "error: nothing can be written: {error}");
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
    let (records, gates) = (chain.records(), chain.gates());
    writeln!(
        out,
        "whole: {records} records of {} runs of the gate",
        gates.len()
    )?;
    for (instance, gate) in gates {
        let (first, last) = (gate.first_seq, gate.last_seq);
        let end = match gate.ends {
            End::Shutdown => "it stopped",
            End::Open => "no stop: later records may be missing",
        };
        let begin = if first == 1 {
            ""
        } else {
            " (earlier records were not given)"
        };
        writeln!(out, "  {instance}: seq {first}{begin} to {last}; {end}")?;
    }
    let (torn, more) = chain.torn();
    for at in torn {
        let at = printable(&at.to_string());
        writeln!(out, "  {at}: half a line: the gate ended while it wrote it")?;
    }
    if more > 0 {
        writeln!(out, "  and {more} more half lines")?;
    }
    writeln!(
        out,
        "not proven: the last records may be missing, and the whole log may have been rewritten"
    )
}
