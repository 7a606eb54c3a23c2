//! The text of a recording to what it holds.

use std::sync::Arc;

use super::log_entry::LogEntry;
use super::messages::{self, TranscriptLine, TranscriptMessage};
use crate::wire::{Document, Limits, Value};

/// What a recording holds.
#[derive(Debug, Clone)]
pub(in super::super) enum Recording {
    Audit(Arc<[LogEntry]>),
    Transcript(Arc<[TranscriptMessage]>),
}

/// Why a recording cannot be read, and in which line.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct RecordingError {
    /// From 1.
    pub(in super::super) line: Option<usize>,
    pub(in super::super) problem: String,
}

/// The version of audit records that is read.
const VERSION: i64 = 1;

/// One object for each line; which of the two formats it is, the first readable line tells.
pub(in super::super) fn read(text: &str) -> Result<Recording, RecordingError> {
    let lines = text.lines().zip(1..);
    let lines: Vec<(&str, usize)> = lines
        .filter(|(text, _)| !text.trim_ascii().is_empty())
        .collect();
    let decode = |text: &str| Document::decode(text.as_bytes(), &Limits::default());
    for (text, line) in &lines {
        let Ok(document) = decode(text) else { continue };
        let root = document.root();
        if messages::is_said(root) {
            let said = lines
                .iter()
                .map(|(text, line)| TranscriptLine::read(text, *line));
            return Ok(Recording::Transcript(messages::in_order(said).into()));
        }
        if root.get("kind").is_some() && root.get("seq").is_some() {
            let version = root.get("version").and_then(Value::as_i64);
            if version != Some(VERSION) {
                return Err(RecordingError {
                    line: Some(*line),
                    problem: "this is no audit record of version 1".to_owned(),
                });
            }
            let entries = lines.iter().filter_map(|(text, line)| {
                let Ok(document) = decode(text) else {
                    return Some(LogEntry::unreadable(*line));
                };
                LogEntry::of(document.root(), *line)
            });
            return Ok(Recording::Audit(entries.collect()));
        }
        return Err(RecordingError {
            line: Some(*line),
            problem: "this is neither an audit record nor a JSON-RPC message".to_owned(),
        });
    }
    Err(RecordingError {
        line: None,
        problem: "no line of it is JSON".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_recording_is_told_with_its_line() {
        let check = |text: &str, line, problem: &str| {
            let problem = problem.to_owned();
            assert_eq!(
                read(text).unwrap_err(),
                RecordingError { line, problem },
                "{text}"
            );
        };
        check("", None, "no line of it is JSON");
        check("\n\n  \nhello\n", None, "no line of it is JSON");
        check(&"[".repeat(100_000), None, "no line of it is JSON");
        let neither = "this is neither an audit record nor a JSON-RPC message";
        check("half\n\n{\"a\":1}", Some(3), neither);
        check("[]", Some(1), neither);
        let other = "this is no audit record of version 1";
        check(
            r#"{"version":2,"seq":1,"kind":"tool_call"}"#,
            Some(1),
            other,
        );
    }
}
