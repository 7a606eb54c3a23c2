//! `audit verify`: checks that records continue each other, and who signed them.

use std::io::{self, Write};
use std::path::Path;

use super::scan::sources;
use crate::audit::VerifyingKey;
use crate::audit::read::Source;
use crate::audit::verify::{
    Beginning, ChainError, ChainProblem, ChainVerifier, RunChain, RunEnd, RunStart,
};
use crate::cli::args::AuditVerifyArgs;
use crate::cli::exit::{Exit, heard};
use crate::findings::printable;

/// Runs the command.
pub(super) fn run(args: &AuditVerifyArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    match verified(args) {
        Ok(chain) => match heard(tell(args, &chain, stdout)) {
            Ok(()) => Exit::Success,
            Err(error) => {
                let _ = writeln!(stderr, "error: the result cannot be written: {error}");
                Exit::NotVerified
            }
        },
        Err((exit, message)) => {
            // The exit code remains if the output is closed.
            let _ = writeln!(stderr, "error: {}", printable(&message));
            exit
        }
    }
}

fn verified(args: &AuditVerifyArgs) -> Result<ChainVerifier, (Exit, String)> {
    let keys = args.keys.iter().map(|path| key(path));
    let keys = keys.collect::<Result<_, _>>();
    let keys = keys.map_err(|message| (Exit::NotVerified, message))?;
    let mut chain = ChainVerifier::with_keys(keys);
    for path in &args.checkpoints {
        let kept = chain.expect(&Source::of_argument(path));
        if kept.map_err(|error| failed(&error))? == 0 {
            let message = format!("`{}` has no checkpoint", path.display());
            return Err((Exit::NotVerified, message));
        }
    }
    chain
        .read(&sources(&args.files))
        .map_err(|error| failed(&error))?;
    chain.finish().map_err(|error| failed(&error))?;
    if chain.records() == 0 {
        let message = "the files have no records".to_owned();
        return Err((Exit::NotVerified, message));
    }
    Ok(chain)
}

fn key(path: &Path) -> Result<VerifyingKey, String> {
    VerifyingKey::read(path).map_err(|cause| format!("the key `{}` {cause}", path.display()))
}

fn failed(error: &ChainError) -> (Exit, String) {
    let exit = match error {
        ChainError::Broken { problem, .. }
            if matches!(**problem, ChainProblem::OtherVersion(_)) =>
        {
            Exit::NotVerified
        }
        ChainError::Broken { .. } => Exit::ChainBroken,
        ChainError::Read(_) => Exit::NotVerified,
    };
    (exit, error.to_string())
}

fn tell(args: &AuditVerifyArgs, chain: &ChainVerifier, out: &mut dyn Write) -> io::Result<()> {
    let (records, runs) = (chain.records(), chain.runs());
    writeln!(
        out,
        "chain intact: {records} record(s), {} run(s)",
        runs.len()
    )?;
    if chain.beginning() == Beginning::Later {
        writeln!(
            out,
            "  the first record continues a record that is in no file given: an older file has it, or it was removed"
        )?;
    }
    let mut runs: Vec<_> = runs.iter().collect();
    runs.sort_by_key(|(_, run)| run.number);
    for (instance, run) in runs {
        let (first, last) = (run.first_seq, run.last_seq);
        write!(out, "  {instance}: seq {first} to {last}")?;
        if first > 1 {
            write!(out, "; its records before seq {first} are in no file given")?;
        } else if run.start == RunStart::NewLog && run.number > 0 {
            write!(out, "; begins a new log")?;
        }
        if !args.keys.is_empty() {
            write!(out, "; {}", signed(run))?;
        }
        let is_end_signed = args.keys.is_empty() || run.signed_seq == last;
        let end = match run.end {
            RunEnd::Shutdown if is_end_signed => "ends with the stop of the gate",
            RunEnd::Shutdown => "ends with a stop of the gate that is not signed",
            RunEnd::Open => "has no end: the gate runs, was killed, or records are missing",
        };
        writeln!(out, "; {end}")?;
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
    writeln!(out, "not proven: {}", limits(args))
}

fn signed(run: &RunChain) -> String {
    if run.signed_seq == run.last_seq {
        "signed".to_owned()
    } else if run.signed_seq > 0 {
        format!("signed to seq {}", run.signed_seq)
    } else {
        let seq = run.continued_seq;
        format!("not signed; a signed run continues it after seq {seq}")
    }
}

/// What this check cannot show.
fn limits(args: &AuditVerifyArgs) -> &'static str {
    match (args.keys.is_empty(), args.checkpoints.is_empty()) {
        (true, true) => {
            "that no records are missing at the beginning of the log or the end of a run, that no run is \
             missing or was added, and that no record was rewritten with all that follow it: the last one may \
             be changed. `--key` shows more where checkpoints are signed"
        }
        (true, false) => {
            "the same as without `--checkpoint`, for records that no kept checkpoint covers"
        }
        (false, true) => {
            "records that are not signed, and that no signed runs or checkpoints are missing; `--checkpoint` \
             shows missing ones"
        }
        (false, false) => {
            "records that are not signed, and that no signed runs without a kept checkpoint are missing"
        }
    }
}
