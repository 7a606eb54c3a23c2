//! `audit`: reads logs that the gate wrote.

mod export;
mod query;
mod rows;
mod scan;
mod sql;
mod summary;
mod tail;
#[cfg(test)]
mod tests;
mod verify;

use std::io::Write;

pub(super) use query::{FoundRecords, QueryLimits, records};
pub(super) use scan::sources;

use super::args::{AuditArgs, AuditCommand};
use super::exit::Exit;

/// Runs the command.
pub fn run(args: &AuditArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    match &args.command {
        AuditCommand::Verify(args) => verify::run(args, stdout, stderr),
        AuditCommand::Query(args) => query::run(args, stdout, stderr),
        AuditCommand::Summary(args) => summary::run(args, stdout, stderr),
        AuditCommand::Tail(args) => tail::run(args, stdout, stderr),
        AuditCommand::Export(args) => export::run(args, stdout, stderr),
    }
}
