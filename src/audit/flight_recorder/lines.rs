//! The lines of the log, read back from the database.

use std::io::{self, Read};
use std::path::Path;

use duckdb::Connection;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::database::{READ_MEMORY, check_columns, open_to_read};

/// The rows of one read.
const ROWS: u32 = 1000;

/// The records of a database as the file of a log, in the order in which they were written. Rows of others are left
/// out.
pub(in crate::audit) struct DatabaseLines {
    connection: Connection,
    last_row: i64,
    text: Vec<u8>,
    read: usize,
    last_line: String,
}

impl DatabaseLines {
    /// # Errors
    /// It is no database of a flight recorder, or another process writes it.
    pub(in crate::audit) fn open(path: &Path) -> io::Result<Self> {
        let connection = open_to_read(path, READ_MEMORY).map_err(io::Error::other)?;
        check_columns(&connection).map_err(io::Error::other)?;
        Ok(Self {
            connection,
            last_row: -1,
            text: Vec::new(),
            read: 0,
            last_line: String::new(),
        })
    }

    /// Fills the buffer with the lines of the next rows. Whether there were any.
    fn next_rows(&mut self) -> duckdb::Result<bool> {
        self.text.clear();
        self.read = 0;
        let mut statement = self.connection.prepare_cached(
            "SELECT rowid, CAST(payload AS VARCHAR) FROM fr_events WHERE rowid > ? ORDER BY rowid LIMIT ?",
        )?;
        let mut rows = statement.query(duckdb::params![self.last_row, ROWS])?;
        let mut found = false;
        while let Some(row) = rows.next()? {
            found = true;
            self.last_row = row.get(0)?;
            let payload: Option<String> = row.get(1)?;
            let Some(line) = payload.as_deref().and_then(record) else {
                continue;
            };
            // A permitted call has two rows.
            if line != self.last_line {
                self.text.extend_from_slice(line.as_bytes());
                self.text.push(b'\n');
                line.clone_into(&mut self.last_line);
            }
        }
        Ok(found)
    }
}

/// The line in the payload of a row.
#[expect(
    clippy::disallowed_methods,
    reason = "a row of the flight recorder, no message; the line is read strictly afterwards"
)]
fn record(payload: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct Payload<'p> {
        #[serde(borrow)]
        record: &'p RawValue,
    }

    let payload: Payload<'_> = serde_json::from_str(payload).ok()?;
    Some(payload.record.get())
}

impl Read for DatabaseLines {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.read == self.text.len() {
            if !self.next_rows().map_err(io::Error::other)? {
                return Ok(0);
            }
        }
        let mut rest = self.text.get(self.read..).unwrap_or_default();
        let read = rest.read(out)?;
        self.read += read;
        Ok(read)
    }
}
