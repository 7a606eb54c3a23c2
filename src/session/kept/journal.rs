//! A journal of what is kept of sessions, as text.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::policy::{
    MAX_LEVEL, ServerKey, SessionSensitivity, UNKNOWN_DATASET, UNKNOWN_SERVER, is_dataset,
};
use crate::wire::{Document, Fragment, Limits, Value};

use super::{Calls, InMemory, Kept, SessionKey};

/// The first line: what wrote this, and in which form.
pub(super) const TITLE: &str = r#"{"mcp-protector":"ratchet","version":1}"#;

/// What a line has.
const MEMBERS: [&str; 11] = [
    "principal",
    "session",
    "level",
    "labels",
    "datasets",
    "sources",
    "untrusted_from",
    "untrusted",
    "calls",
    "called",
    "ended",
];

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
    #[error(
        "users other than its owner may write to it, and could lower the recorded sensitivity: if its content \
         is intact, remove that right (`chmod go-w`); else remove the file, to begin with nothing read"
    )]
    Writable,
    /// A gate writes its title before anything else.
    #[error(
        "it is empty, as no gate leaves it: bring back what stood there, or remove it, to begin with \
         nothing read"
    )]
    Empty,
    #[error("it is no journal of a ratchet")]
    Foreign,
    #[error("line {line} is not one that a gate wrote: {problem}")]
    Line { line: usize, problem: &'static str },
    #[error(
        "an earlier version wrote it, and anybody could have changed it: remove it, to begin with nothing \
         read"
    )]
    Unsealed,
    #[error(
        "line {0} was not written by this gate, or not in this place: bring back what stood there, or \
         remove the file and its key, to begin with nothing read"
    )]
    Forged(usize),
    #[error(
        "lines that the gate has written are missing at its end, or it is an older copy: bring back what \
         stood there, or remove the file and its key, to begin with nothing read"
    )]
    Older,
    #[error(
        "it is gone, and its key `{}` says that there was one: bring it back, or remove the key too, to \
         begin with nothing read", .0.display()
    )]
    Gone(PathBuf),
    #[error(
        "its key `{}` is gone, so that the lines cannot be verified: bring the key back, or remove the file, \
         to begin with nothing read", .0.display()
    )]
    NoKey(PathBuf),
    #[error("its key `{}` {}", .0.display(), .1)]
    Key(PathBuf, String),
    #[error("it is a link: name the file that it leads to")]
    Link,
    #[error("it holds more than {0} sessions: make room with `ratchet.max_sessions`")]
    Full(usize),
}

/// A whole journal, with one line for each key.
pub(super) fn written(all: &[(SessionKey, Kept)]) -> String {
    let mut text = format!("{TITLE}\n");
    for (key, kept) in all {
        text.push_str(&line(key, kept));
    }
    text
}

pub(super) fn line(key: &SessionKey, kept: &Kept) -> String {
    let held = &kept.held;
    let labels = held.labels.iter().map(|label| Fragment::string(label));
    // One that has none is as earlier gates wrote it.
    let names = |set: &BTreeSet<String>| {
        let names = set.iter().map(|name| Fragment::string(name));
        (!set.is_empty()).then(|| Fragment::array(names))
    };
    let session = key.session().map(Fragment::string);
    let count = |number: i64| (number > 0).then(|| Fragment::integer(number));
    let members = [
        ("principal", Some(Fragment::string(key.principal()))),
        ("session", session),
        ("level", Some(Fragment::integer(held.level))),
        ("labels", Some(Fragment::array(labels))),
        ("datasets", names(&held.datasets)),
        ("sources", names(&held.sources)),
        ("untrusted_from", names(&held.untrusted_from)),
        ("untrusted", held.untrusted.then(Fragment::truth)),
        ("calls", count(kept.calls.made)),
        ("called", count(kept.calls.last_ms)),
        ("ended", kept.ended.as_deref().map(Fragment::string)),
    ];
    let members = members.into_iter();
    let object = Fragment::object(members.filter_map(|(name, value)| Some((name, value?))));
    format!("{}\n", object.into_string())
}

/// Joins every line of a journal.
///
/// # Errors
/// [`JournalError`] where a line is not one that a gate wrote. Only a last one without its end is left out.
pub(super) fn read(text: &str, memory: &InMemory) -> Result<(), JournalError> {
    if text.is_empty() {
        return Err(JournalError::Empty);
    }
    let mut lines = text.split_inclusive('\n').enumerate();
    match lines.next() {
        Some((_, title)) if title.trim_end() == TITLE => {}
        Some(_) | None => return Err(JournalError::Foreign),
    }
    for (index, line) in lines {
        match entry(line) {
            Ok((key, kept)) => {
                memory.join_beyond(&key, &kept);
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

/// The items of a list that may be absent.
fn list<'v>(
    line: Value<'v>,
    key: &str,
    problem: &'static str,
) -> Result<impl Iterator<Item = Value<'v>>, &'static str> {
    let list = line.get(key);
    if list.is_some_and(|list| !list.is_array()) {
        return Err(problem);
    }
    Ok(list.into_iter().flat_map(Value::items))
}

fn entry(line: &str) -> Result<(SessionKey, Kept), &'static str> {
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
    let datasets = list(root, "datasets", "its `datasets` are no list")?;
    let sources = list(root, "sources", "its `sources` are no list")?;
    let strangers = list(root, "untrusted_from", "its `untrusted_from` are no list")?;
    let text_of = |name: Value<'_>| Some(name.as_str()?.into_owned());
    let dataset =
        |name: Value<'_>| text_of(name).filter(|name| name == UNKNOWN_DATASET || is_dataset(name));
    let server = |key: Value<'_>| {
        text_of(key).filter(|key| key == UNKNOWN_SERVER || ServerKey::of(key).is_some())
    };
    let untrusted = root.get("untrusted").map_or(Some(false), Value::as_bool);
    let held = SessionSensitivity {
        level: level.ok_or("its `level` is none of 0 to 3")?,
        labels: (labels.items().map(text_of).collect::<Option<_>>()).ok_or("a label is no text")?,
        datasets: (datasets.map(dataset).collect::<Option<_>>()).ok_or("a data set has no name")?,
        untrusted: untrusted.ok_or("its `untrusted` is neither true nor false")?,
        sources: (sources.map(server).collect::<Option<_>>()).ok_or("a source is no server")?,
        untrusted_from: (strangers.map(server).collect::<Option<_>>())
            .ok_or("`untrusted_from` has what is no server")?,
    };
    let count = |member| {
        root.get(member)
            .map_or(Some(0), |it| Value::as_i64(it).filter(|count| *count > 0))
    };
    let calls = Calls {
        last_ms: count("called").ok_or("its `called` is no time")?,
        made: count("calls").ok_or("its `calls` are no count")?,
    };
    let ended = root.get("ended").map(|it| it.as_str().map(Arc::from));
    let kept = Kept {
        calls,
        ended: ended
            .map(|tool| tool.ok_or("its `ended` is no text"))
            .transpose()?,
        ..Kept::having_read(Arc::new(held))
    };
    Ok((SessionKey::of(&principal, session.as_deref()), kept))
}
