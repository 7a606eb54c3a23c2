//! The evidence: the audit log of the gate, and the server's log of the bytes that it receives.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io, thread};

use super::failure::DemoFailure;
use crate::wire::{Document, Limits, Value};

/// The logs of a run, in its directory.
pub(super) const AUDIT: &str = "audit.jsonl";
pub(super) const DIAGNOSTICS: &str = "gate-stderr.log";

/// The pause between two reads of the audit log, and the number of reads. The gate writes a record a
/// moment after the message.
const PAUSE: Duration = Duration::from_millis(2);
const MAX_READS: u32 = 10_000;

/// The logs of one run, and the number of lines that earlier steps have read.
pub(super) struct Logs {
    directory: PathBuf,
    records: usize,
    /// The log of each server, with the label of its rows.
    servers: Vec<ServerLog>,
}

struct ServerLog {
    label: &'static str,
    file: &'static str,
    read: usize,
}

/// A line that a server received.
pub(super) struct Received {
    pub(super) label: &'static str,
    pub(super) line: String,
}

/// One line of JSON: a message, or a record.
#[derive(Clone)]
pub(super) struct JsonLine(Document);

impl Logs {
    pub(super) fn new(directory: &Path, servers: &[(&'static str, &'static str)]) -> Self {
        let log = |&(label, file): &(&'static str, &'static str)| ServerLog {
            label,
            file,
            read: 0,
        };
        Self {
            directory: directory.to_owned(),
            records: 0,
            servers: servers.iter().map(log).collect(),
        }
    }

    /// The new records before those of the ping `fence`. The gate writes records in the order of the
    /// decisions, so that none of an earlier message is missing.
    pub(super) fn records_before(&mut self, fence: &str) -> Result<Vec<JsonLine>, DemoFailure> {
        let is_fence = |record: &JsonLine| record.text("/correlation/job_id") == fence;
        for _ in 0..MAX_READS {
            let all = self.records()?;
            let new = all.get(self.records..).unwrap_or_default();
            // One of the request, and one of the response.
            if new.iter().filter(|record| is_fence(record)).count() == 2 {
                self.records = all.len();
                let before = new.iter().filter(|record| !is_fence(record));
                return Ok(before.cloned().collect());
            }
            thread::sleep(PAUSE);
        }
        Err(DemoFailure::Timeout {
            event: "a record in the audit log",
            seconds: PAUSE.saturating_mul(MAX_READS).as_secs(),
        })
    }

    /// All records of the run.
    pub(super) fn records(&self) -> Result<Vec<JsonLine>, DemoFailure> {
        let lines = lines_of(&self.directory, AUDIT)?;
        lines.iter().map(|line| JsonLine::read(line)).collect()
    }

    /// How many lines of the gate's log have a text.
    pub(super) fn times_logged(&self, text: &str) -> Result<usize, DemoFailure> {
        let lines = lines_of(&self.directory, DIAGNOSTICS)?;
        Ok(lines.iter().filter(|line| line.contains(text)).count())
    }

    /// The new lines that the servers received before the ping `fence`, if there is one. A server writes a
    /// line to its log before it answers.
    pub(super) fn received_before(
        &mut self,
        fence: Option<&str>,
    ) -> Result<Vec<Received>, DemoFailure> {
        let mut received = Vec::new();
        for log in &mut self.servers {
            let all = lines_of(&self.directory, log.file)?;
            let new = all.iter().skip(log.read);
            let is_fence = |line: &&String| fence.is_some_and(|fence| line.contains(fence));
            let before = new.take_while(|line| !is_fence(line));
            received.extend(before.map(|line| Received {
                label: log.label,
                line: line.clone(),
            }));
            log.read = all.len();
        }
        Ok(received)
    }
}

/// The whole lines of a log, without a line that is being written.
fn lines_of(directory: &Path, log: &str) -> Result<Vec<String>, DemoFailure> {
    let text = match fs::read_to_string(directory.join(log)) {
        // Its writer makes it.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(DemoFailure::io("read a log"))?,
    };
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    Ok(whole.lines().map(str::to_owned).collect())
}

impl JsonLine {
    pub(super) fn read(line: &str) -> Result<Self, DemoFailure> {
        let read = Document::decode(line.as_bytes(), &Limits::default());
        read.map(Self)
            .map_err(|_| DemoFailure::NotJson(line.to_owned()))
    }

    /// The value at a JSON Pointer: the content of a string, and the JSON of anything else. Empty if there
    /// is none.
    pub(super) fn text(&self, pointer: &str) -> String {
        self.at(pointer).map(text).unwrap_or_default()
    }

    /// The same of each item of an array, by a pointer from the item.
    pub(super) fn texts(&self, array: &str, member: &str) -> Vec<String> {
        let items = self.at(array).into_iter().flat_map(Value::items);
        let members = items.filter_map(|item| follow(item, member));
        members.map(text).collect()
    }

    /// The JSON of the value at a pointer; the empty pointer names the whole line.
    pub(super) fn json(&self, pointer: &str) -> &str {
        self.at(pointer).map(Value::text).unwrap_or_default()
    }

    fn at(&self, pointer: &str) -> Option<Value<'_>> {
        follow(self.0.root(), pointer)
    }
}

fn text(value: Value<'_>) -> String {
    match value.as_str() {
        Some(text) => text.into_owned(),
        None => value.text().to_owned(),
    }
}

/// Follows a pointer of plain names through objects.
fn follow<'d>(value: Value<'d>, pointer: &str) -> Option<Value<'d>> {
    let mut names = pointer.split('/').skip(1);
    names.try_fold(value, Value::get)
}
