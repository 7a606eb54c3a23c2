//! Records as rows: for people, and as CSV.

use std::borrow::Cow;
use std::io::Write as _;

use crate::audit::query::LogRecord;
use crate::findings::printable;

/// The columns for people, with their widths. A longer cell moves the rest of its row, so that no row waits
/// for others.
const COLUMNS: [(&str, usize); 8] = [
    ("time", 27),
    ("seq", 6),
    ("decision", 8),
    ("agent", 20),
    ("server", 12),
    ("target", 32),
    ("reason", 28),
    ("policies", 0),
];

/// The columns of CSV. Add new ones at the end.
const CSV_COLUMNS: &str = "timestamp,instance,seq,kind,event,decision,agent,session_id,upstream,direction,method,\
target,stage,policies,reason,reference,trace_id,duration_us,error_code";

/// The use of terminal colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Colored,
}

/// The titles of the columns.
pub(super) fn titles() -> String {
    let mut line = String::new();
    for (title, width) in COLUMNS {
        push_cell(&mut line, title, width);
    }
    line.trim_end().to_owned() + "\n"
}

/// Appends a row for people.
pub(super) fn push_row(record: &LogRecord<'_>, style: Style, out: &mut Vec<u8>) {
    let policies = join(&record.policies, ", ");
    let target = target(record);
    let seq = record.seq.to_string();
    let cells = [
        &*record.timestamp,
        &seq,
        &*record.decision,
        &*record.agent.id,
        &*record.upstream,
        &target,
        &*record.reason.code,
        &policies,
    ];
    let mut line = String::new();
    for ((title, width), cell) in COLUMNS.into_iter().zip(cells) {
        let cell = if cell.is_empty() { "-" } else { cell };
        let color = match (style, title, cell) {
            (Style::Colored, "decision", "ALLOW") => Some("\u{1b}[32m"),
            (Style::Colored, "decision", "BLOCK") => Some("\u{1b}[31m"),
            (Style::Colored, "decision", "ERROR") => Some("\u{1b}[33m"),
            _ => None,
        };
        let Some(color) = color else {
            push_cell(&mut line, cell, width);
            continue;
        };
        line += color;
        push_cell(&mut line, cell, width);
        line += "\u{1b}[0m";
    }
    out.extend_from_slice(line.trim_end().as_bytes());
    out.push(b'\n');
}

/// The tool of a call, and for anything else the method and its target, the event or the kind.
fn target<'r>(record: &'r LogRecord<'_>) -> Cow<'r, str> {
    let name = match (&*record.method, &*record.event) {
        ("", "") => &*record.kind,
        ("tools/call", "") => "",
        (_, event) if !event.is_empty() => event,
        (method, _) => method,
    };
    match (&*record.kind, name, &*record.target) {
        ("tool_result", "", target) => format!("{target} (result)").into(),
        (_, name, "") => name.into(),
        (_, "", target) => target.into(),
        (_, name, target) => format!("{name} {target}").into(),
    }
}

/// The line with the names of the columns of CSV.
pub(super) fn csv_header() -> String {
    format!("{CSV_COLUMNS}\n")
}

/// Appends a row of CSV (RFC 4180, with a line feed). Absent fields are empty, and several policies have a
/// semicolon between them.
pub(super) fn push_csv(record: &LogRecord<'_>, out: &mut Vec<u8>) {
    let number = |number: Option<String>| number.unwrap_or_default();
    let cells = [
        &*record.timestamp,
        &*record.instance,
        &record.seq.to_string(),
        &*record.kind,
        &*record.event,
        &*record.decision,
        &*record.agent.id,
        &*record.session_id,
        &*record.upstream,
        &*record.direction,
        &*record.method,
        &*record.target,
        &*record.stage,
        &join(&record.policies, ";"),
        &*record.reason.code,
        &*record.reference,
        &*record.correlation.trace_id,
        &number(record.duration_us.map(|it| it.to_string())),
        &number(record.error_code.map(|it| it.to_string())),
    ];
    push_csv_row(cells.into_iter(), out);
}

pub(super) fn push_csv_row<'c>(cells: impl Iterator<Item = &'c str>, out: &mut Vec<u8>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push_csv_cell(cell, out);
    }
    out.push(b'\n');
}

/// A cell in quotes if it needs them, or looks like a formula. Quotes do not keep all spreadsheets from
/// evaluating it.
fn push_csv_cell(cell: &str, out: &mut Vec<u8>) {
    let cell = escape(cell);
    let is_plain = !cell.contains(['"', ',', ' ']) && !cell.starts_with(['=', '+', '-', '@']);
    // A `Vec` takes all that is written.
    let _ = if is_plain {
        write!(out, "{cell}")
    } else {
        write!(out, "\"{}\"", cell.replace('"', "\"\""))
    };
}

pub(super) fn push_cell(line: &mut String, cell: &str, width: usize) {
    let cell = escape(cell);
    *line += &cell;
    let missing = width.saturating_sub(cell.chars().count());
    line.extend(std::iter::repeat_n(' ', missing + 2));
}

fn join(texts: &[impl std::ops::Deref<Target = str>], separator: &str) -> String {
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    texts.join(separator)
}

/// A text that steers no terminal. Most texts are as they are.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        text.into()
    } else {
        printable(text).into()
    }
}
