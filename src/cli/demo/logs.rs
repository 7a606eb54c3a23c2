//! The evidence: the audit log of the gate, and the server's log of the bytes that it receives.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io, thread};

use super::failure::DemoFailure;
use super::files::{AUDIT, RECEIVED};
use crate::wire::{Document, Limits, Value};

/// The pause between two reads of the audit log, and the number of reads. The gate writes a record a
/// moment after the message.
const PAUSE: Duration = Duration::from_millis(2);
const MAX_READS: u32 = 10_000;

/// The logs of one run, and the number of lines that earlier steps have read.
pub(super) struct Logs {
    directory: PathBuf,
    records: usize,
    received: usize,
}

/// One line of JSON: a message, or a record.
#[derive(Clone)]
pub(super) struct JsonLine(Document);

impl Logs {
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            records: 0,
            received: 0,
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
        let lines = self.lines_of(AUDIT)?;
        lines.iter().map(|line| JsonLine::read(line)).collect()
    }

    /// The new lines that the server received before the ping `fence`. The server writes a line to its log
    /// before it answers.
    pub(super) fn received_before(&mut self, fence: &str) -> Result<Vec<String>, DemoFailure> {
        let all = self.lines_of(RECEIVED)?;
        let new = all.iter().skip(self.received);
        let before = new.take_while(|line| !line.contains(fence));
        let before = before.cloned().collect();
        self.received = all.len();
        Ok(before)
    }

    /// The whole lines of a log, without a line that is being written.
    fn lines_of(&self, log: &str) -> Result<Vec<String>, DemoFailure> {
        let text = match fs::read_to_string(self.directory.join(log)) {
            // Its writer makes it.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(DemoFailure::io("read a log"))?,
        };
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        Ok(whole.lines().map(str::to_owned).collect())
    }
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
