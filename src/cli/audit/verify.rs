//! `audit verify`: checks that records continue each other, and who signed them.

use std::io::{self, Write};
use std::path::Path;

use crate::audit::VerifyingKey;
use crate::audit::read::Source;
use crate::audit::verify::{Beginning, ChainError, ChainVerifier, RunChain, RunEnd};
use crate::cli::args::AuditVerifyArgs;
use crate::cli::exit::Exit;
use crate::cli::heard;
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
    let keys = args
        .keys
        .iter()
        .map(|path| key(path))
        .collect::<Result<_, _>>();
    let keys = keys.map_err(|message| (Exit::NotVerified, message))?;
    let mut chain = ChainVerifier::with_keys(keys);
    for path in &args.checkpoints {
        let before = chain.expected();
        chain
            .expect(&Source::of_argument(path))
            .map_err(|error| failed(&error))?;
        if chain.expected() == before {
            let message = format!("`{}` has no checkpoint", path.display());
            return Err((Exit::NotVerified, message));
        }
    }
    let files: Vec<_> = args
        .files
        .iter()
        .map(|path| Source::of_argument(path))
        .collect();
    chain.read(&files).map_err(|error| failed(&error))?;
    chain.finish().map_err(|error| failed(&error))?;
    Ok(chain)
}

fn key(path: &Path) -> Result<VerifyingKey, String> {
    VerifyingKey::read(path).map_err(|cause| format!("the key `{}` {cause}", path.display()))
}

fn failed(error: &ChainError) -> (Exit, String) {
    let exit = match error {
        ChainError::Broken { .. } => Exit::ChainBroken,
        ChainError::Read(_) => Exit::NotVerified,
    };
    (exit, error.to_string())
}

fn tell(args: &AuditVerifyArgs, chain: &ChainVerifier, out: &mut dyn Write) -> io::Result<()> {
    let (records, runs) = (chain.records(), chain.runs());
    writeln!(out, "chain intact: {records} records, {} runs", runs.len())?;
    if chain.beginning() == Beginning::Later {
        writeln!(out, "  the first record continues an older file")?;
    }
    let is_signed = !args.keys.is_empty();
    for (instance, run) in runs {
        let (first, last) = (run.first_seq, run.last_seq);
        let end = match run.end {
            RunEnd::Shutdown => "ends with the stop of the gate",
            RunEnd::Open => "has no end: the gate runs, was killed, or records are missing",
        };
        let signed = if is_signed {
            signed(run)
        } else {
            String::new()
        };
        writeln!(out, "  {instance}: seq {first} to {last}; {signed}{end}")?;
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
    if run.signed_seq < run.last_seq {
        format!("signed to seq {}; ", run.signed_seq)
    } else {
        "signed; ".to_owned()
    }
}

/// What this check cannot show.
fn limits(args: &AuditVerifyArgs) -> &'static str {
    match (args.keys.is_empty(), args.checkpoints.is_empty()) {
        (true, true) => {
            "records missing at the end of a run, a run that was added, and records rewritten with all \
             that follow them"
        }
        (true, false) => {
            "after the kept checkpoints: records missing at the end of a run, a run that was added, and \
             records rewritten with all that follow them"
        }
        (false, true) => {
            "records after the last signed one of a run, and runs or checkpoints missing at the end of the \
             log; `--checkpoint` finds the latter"
        }
        (false, false) => "records after the last signed one of a run",
    }
}
