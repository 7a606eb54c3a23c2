//! `audit query`: the records that match.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::value::RawValue;

use super::rows::{self, Style};
use super::scan::{ScanError, filter, finish, scan};
use super::sql;
use crate::audit::query::LogRecord;
use crate::cli::args::{AuditFilters, AuditQueryArgs, RecordFormat};
use crate::cli::exit::Exit;
use crate::clock::{Clock as _, SystemClock};

/// The rows of one piece, and the end of each.
#[derive(Debug, Default)]
struct Rows {
    text: Vec<u8>,
    ends: Vec<usize>,
}

pub(super) fn run(args: &AuditQueryArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    match &args.sql {
        Some(query) => sql::run(query, args, stdout, stderr),
        None => finish(print(args, stdout), stdout, stderr),
    }
}

/// Prints rows as they are found, so that no result is too large.
fn print(args: &AuditQueryArgs, stdout: &mut dyn Write) -> Result<u64, ScanError> {
    match args.format {
        RecordFormat::Table => stdout.write_all(rows::titles().as_bytes())?,
        RecordFormat::Csv => stdout.write_all(rows::csv_header().as_bytes())?,
        RecordFormat::Json => {}
    }
    let add = |rows: &mut Rows, record: &LogRecord<'_>, line: &[u8]| {
        match args.format {
            RecordFormat::Table => rows::push_row(record, Style::Plain, &mut rows.text),
            RecordFormat::Csv => rows::push_csv(record, &mut rows.text),
            RecordFormat::Json => {
                rows.text.extend_from_slice(line);
                rows.text.push(b'\n');
            }
        }
        rows.ends.push(rows.text.len());
    };
    let mut left = args.limit;
    scan(&args.files, &filter(&args.filters), add, |rows| {
        rows.write(&mut left, stdout)
    })
}

/// The most that one query may find and read.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct QueryLimits {
    pub(in crate::cli) records: usize,
    pub(in crate::cli) bytes: usize,
    pub(in crate::cli) time: Duration,
}

/// The lines of matching records, unchanged.
#[derive(Debug, Default)]
pub(in crate::cli) struct FoundRecords {
    pub(in crate::cli) lines: Vec<Box<RawValue>>,
    /// Whether a limit ended the query.
    pub(in crate::cli) is_cut: bool,
}

/// The first matching records of a log.
pub(in crate::cli) fn records(
    files: &[PathBuf],
    filters: &AuditFilters,
    limits: QueryLimits,
) -> Result<FoundRecords, ScanError> {
    let clock = SystemClock::new();
    let add = |lines: &mut Vec<Box<RawValue>>, _: &LogRecord<'_>, line: &[u8]| {
        // INVARIANT: the line was parsed as JSON, which is UTF-8.
        let text = String::from_utf8_lossy(line).into_owned();
        lines.extend(RawValue::from_string(text));
    };
    let mut found = FoundRecords::default();
    let mut bytes = 0;
    scan(files, &filter(filters), add, |lines: Vec<Box<RawValue>>| {
        for line in lines {
            bytes += line.get().len();
            if found.lines.len() == limits.records || bytes > limits.bytes {
                found.is_cut = true;
                return Ok(ControlFlow::Break(()));
            }
            found.lines.push(line);
        }
        if clock.elapsed() > limits.time {
            found.is_cut = true;
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

impl Rows {
    /// Writes at most as many rows as are left.
    fn write(&self, left: &mut Option<usize>, out: &mut dyn Write) -> io::Result<ControlFlow<()>> {
        let Some(left) = left else {
            out.write_all(&self.text)?;
            return Ok(ControlFlow::Continue(()));
        };
        let number = self.ends.len().min(*left);
        let end = self.ends.iter().take(number).next_back().copied();
        out.write_all(self.text.get(..end.unwrap_or(0)).unwrap_or_default())?;
        *left -= number;
        Ok(if *left == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }
}
