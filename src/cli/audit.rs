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
use std::path::{Path, PathBuf};

use super::args::{AuditArgs, AuditCommand, AuditFilters, TimeBound};
use super::exit::Exit;
use crate::audit::is_rotated;
use crate::audit::query::{Field, Filter};
use crate::audit::read::Source;
use crate::clock::{Clock as _, SystemClock};

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

/// The files of a log. Until a gate removes an older file that it compressed, both are there: one is enough.
pub(super) fn sources(files: &[PathBuf]) -> Vec<Source> {
    let is_compressed = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".zst");
        is_rotated(path) && files.contains(&PathBuf::from(name))
    };
    let files = files.iter().filter(|path| !is_compressed(path));
    files.map(|path| Source::of_argument(path)).collect()
}
