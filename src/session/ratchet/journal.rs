//! A journal of raises as text.

use std::io;
use std::sync::Arc;

use crate::policy::{Held, MAX_LEVEL};
use crate::wire::{Document, Fragment, Limits, Value};

use super::{InMemory, RatchetKey};

/// The first line: what wrote this, and in which form.
pub(super) const TITLE: &str = r#"{"mcp-protector":"ratchet","version":1}"#;

/// What a line has.
const MEMBERS: [&str; 5] = ["principal", "session", "level", "labels", "untrusted"];

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot {what}: {cause}")]
    Io {
        what: &'static str,
        cause: io::Error,
    },
    #[error("another gate uses it")]
    Locked,
    #[error("others than its owner may write to it")]
    Writable,
    #[error("it is no journal of a ratchet")]
    Foreign,
    #[error("line {line} is not one that a gate wrote: {problem}")]
    Line { line: usize, problem: &'static str },
    #[error("it holds more than {0} sessions")]
    Full(usize),
}

/// A whole journal, with one line for each key.
pub(super) fn written(all: &[(RatchetKey, Arc<Held>)]) -> String {
    let mut text = format!("{TITLE}\n");
    for (key, held) in all {
        text.push_str(&line(key, held));
    }
    text
}

pub(super) fn line(key: &RatchetKey, held: &Held) -> String {
    let labels = held.labels.iter().map(|label| Fragment::string(label));
    let session = key
        .session()
        .map(|name| ("session", Fragment::string(name)));
    let untrusted = held.untrusted.then(|| ("untrusted", Fragment::truth()));
    let members = [("principal", Fragment::string(key.principal()))];
    let members = members.into_iter().chain(session);
    let level = [
        ("level", Fragment::integer(held.level)),
        ("labels", Fragment::array(labels)),
    ];
    let object = Fragment::object(members.chain(level).chain(untrusted));
    format!("{}\n", object.into_string())
}

/// Joins every line of a journal.
///
/// # Errors
/// [`JournalError`] where a line is not one that a gate wrote. Only a last one without its end is left out.
pub(super) fn read(text: &str, memory: &InMemory) -> Result<(), JournalError> {
    if text.is_empty() {
        return Ok(());
    }
    let mut lines = text.split_inclusive('\n').enumerate();
    match lines.next() {
        Some((_, title)) if title.trim_end() == TITLE => {}
        Some(_) | None => return Err(JournalError::Foreign),
    }
    for (index, line) in lines {
        match entry(line) {
            Ok((key, held)) => {
                memory.join_beyond(&key, &held);
            }
            Err(_) if !line.ends_with('\n') => {}
            Err(problem) => {
                let line = index.saturating_add(1);
                return Err(JournalError::Line { line, problem });
            }
        }
    }
    Ok(())
}

fn entry(line: &str) -> Result<(RatchetKey, Held), &'static str> {
    let document = Document::decode(line.trim_end().as_bytes(), &Limits::default());
    let document = document.map_err(|_| "it is no JSON")?;
    let root = document.root();
    let text = |key: &str| root.get(key).and_then(Value::as_str);
    let principal = text("principal").ok_or("it names no `principal`")?;
    let session = text("session");
    if root.get("session").is_some() && session.is_none() {
        return Err("its `session` is no text");
    }
    let level = root.get("level").and_then(Value::as_i64);
    let level = level.filter(|level| (0..=MAX_LEVEL).contains(level));
    let labels = root.get("labels").ok_or("it has no `labels`")?;
    if !labels.is_array() {
        return Err("its `labels` are no list");
    }
    // Nobody knows what it would have raised.
    if root.entries().any(|(name, _)| !MEMBERS.contains(&&*name)) {
        return Err("it says more than that");
    }
    let labels = labels
        .items()
        .map(|label| Some(label.as_str()?.into_owned()));
    let untrusted = root.get("untrusted").map_or(Some(false), Value::as_bool);
    let held = Held {
        level: level.ok_or("its `level` is none of 0 to 3")?,
        labels: labels.collect::<Option<_>>().ok_or("a label is no text")?,
        untrusted: untrusted.ok_or("its `untrusted` is neither true nor false")?,
    };
    Ok((RatchetKey::of(&principal, session.as_deref()), held))
}
