//! `audit export`: decisions for other systems.

use std::io::Write;
use std::ops::ControlFlow;

use super::scan::{ScanError, filter, finish, scan};
use crate::audit::ocsf::{Exported, push_event};
use crate::audit::query::LogRecord;
use crate::cli::args::{AuditExportArgs, ExportFormat};
use crate::cli::exit::Exit;

/// The events of one piece.
#[derive(Debug, Default)]
struct Events {
    text: Vec<u8>,
    left_out: u64,
}

pub(super) fn run(args: &AuditExportArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    let mut left_out = 0;
    let done = print(args, stdout, &mut left_out);
    if done.is_ok() && left_out > 0 {
        // The exit code remains if the reader of the messages has closed them.
        let _ = writeln!(
            stderr,
            "note: left out {left_out} record(s) without a decision"
        );
    }
    finish(done, stdout, stderr)
}

/// Prints events as they are found, so that no log is too large.
fn print(
    args: &AuditExportArgs,
    stdout: &mut dyn Write,
    left_out: &mut u64,
) -> Result<u64, ScanError> {
    let add = |events: &mut Events, record: &LogRecord<'_>, _: &[u8]| {
        let done = match args.format {
            ExportFormat::Ocsf => push_event(record, &mut events.text),
        };
        match done {
            Exported::Yes => {}
            Exported::No => events.left_out += 1,
        }
    };
    scan(
        &args.files,
        &filter(&args.filters),
        add,
        |events: Events| {
            stdout.write_all(&events.text)?;
            *left_out += events.left_out;
            Ok(ControlFlow::Continue(()))
        },
    )
}
