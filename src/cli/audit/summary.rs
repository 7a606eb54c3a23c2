//! `audit summary`: counts over the records that match.

mod figures;
mod report;
mod tally;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use self::figures::Figures;
use self::report::Report;
use super::scan::{ScanError, filter, finish, scan};
use crate::audit::query::LogRecord;
use crate::cli::args::{AuditSummaryArgs, Format};
use crate::cli::exit::Exit;
use crate::findings::{json, printable};
use crate::loading;

pub(super) fn run(args: &AuditSummaryArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    let policies = match args.policies.as_deref().map(ids).transpose() {
        Ok(policies) => policies,
        Err(message) => {
            let _ = writeln!(stderr, "error: {}", printable(&message));
            return Exit::LogNotRead;
        }
    };
    let counted = count(args, policies.as_deref());
    let done = counted.and_then(|(figures, half_lines)| {
        let report = Report::of(figures, policies, args.top);
        write(&report, args.format, stdout)?;
        Ok(half_lines)
    });
    finish(done, stdout, stderr)
}

/// The ids of the policies of a directory, sorted.
fn ids(dir: &Path) -> Result<Vec<String>, String> {
    let settings = loading::Settings {
        dir: Some(dir.to_owned()),
        ..loading::Settings::default()
    };
    let shown = dir.display();
    let loaded = loading::load(&settings).map_err(|_| {
        format!("the policies in `{shown}` have errors: see `mcp-protector check {shown}`")
    })?;
    let policies = loaded.snapshot.policies().iter();
    let own = policies.filter(|policy| !policy.origin.file.starts_with('<'));
    let mut ids: Vec<String> = own.map(|policy| policy.id.as_str().to_owned()).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn count(
    args: &AuditSummaryArgs,
    policies: Option<&[String]>,
) -> Result<(Figures, u64), ScanError> {
    let policies = policies.unwrap_or_default();
    let add = |figures: &mut Figures, record: &LogRecord<'_>, _: &[u8]| {
        figures.add(record, policies);
    };
    let mut all = Figures::default();
    let half_lines = scan(&args.files, &filter(&args.filters), add, |figures| {
        all.merge(figures);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((all, half_lines))
}

fn write(report: &Report, format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Human => report.write_tables(out),
        Format::Json => json(report, out),
    }
}
