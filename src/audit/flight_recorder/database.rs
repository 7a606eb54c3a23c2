//! The database: its table, and what is written into it.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use duckdb::{AccessMode, Config, Connection, Transaction, params};

use super::row::Entry;
use crate::audit::disk::directory_of;

/// The columns that rows are written to, and the types that they may have.
const COLUMNS: [(&str, &[&str]); 7] = [
    ("ts", &["TIMESTAMP WITH TIME ZONE", "TIMESTAMP"]),
    ("event_kind", &["VARCHAR"]),
    ("job_id", &["VARCHAR"]),
    ("source", &["VARCHAR"]),
    ("level", &["VARCHAR"]),
    ("message", &["VARCHAR"]),
    ("payload", &["JSON", "VARCHAR"]),
];

/// The keys of `payload`, with their types in the view.
pub(super) const KEYS: [(&str, &str); 18] = [
    ("tool_name", "VARCHAR"),
    ("tool_version", "VARCHAR"),
    ("inputs", "JSON"),
    ("outputs", "JSON"),
    ("status", "VARCHAR"),
    ("duration_ms", "DOUBLE"),
    ("error_code", "BIGINT"),
    ("workflow_run_id", "VARCHAR"),
    ("trace_id", "VARCHAR"),
    ("capability_id", "VARCHAR"),
    ("server_id", "VARCHAR"),
    ("method", "VARCHAR"),
    ("tool_arguments_schema_id", "VARCHAR"),
    ("capabilities", "JSON"),
    ("consent_required", "BOOLEAN"),
    ("decision", "VARCHAR"),
    ("redactions_applied", "JSON"),
    ("record", "JSON"),
];

/// The last record of each run of a gate whose rows are there.
pub(super) type LastRecords = HashMap<String, u64>;

/// What a database may hold in memory while it is written, beside what the gate holds.
const WRITE_MEMORY: &str = "256MB";

/// What it may hold while its rows are read one after the other.
pub(super) const READ_MEMORY: &str = "24MB";

/// The reason why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// A reader keeps it from being written, and a writer from being read.
    #[error("another process has it open: {0}")]
    Locked(String),
    #[error("it is no file")]
    NotAFile,
    #[error("there is no such directory")]
    NoDirectory,
    #[error("its table `fr_events` has no column `{0}`")]
    ColumnMissing(&'static str),
    #[error("the column `{column}` of its table `fr_events` has the type {found}, not {wanted}")]
    ColumnType {
        column: &'static str,
        found: String,
        wanted: &'static str,
    },
    #[error(
        "the column `{0}` of its table `fr_events` may not be null and has no default: the gate has no value for it"
    )]
    ColumnNotNull(String),
    #[error("its table `fr_events` has a column `rowid`, which hides the order of its rows")]
    NamedRowid,
    #[error("its tables refuse the gate's rows: {0}")]
    RowsRefused(String),
    #[error("it has no table `fr_events`")]
    NoTable,
    /// What was written before is not there.
    #[error("it was removed or replaced")]
    Another,
    #[error("the query needs too much memory: narrow it")]
    TooLarge,
    #[error("{0}")]
    Failed(String),
}

impl From<io::Error> for DatabaseError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<duckdb::Error> for DatabaseError {
    fn from(error: duckdb::Error) -> Self {
        let text = if let duckdb::Error::DuckDBFailure(_, Some(text)) = error {
            text
        } else {
            error.to_string()
        };
        if text.contains("Could not set lock on file") {
            Self::Locked(text)
        } else {
            Self::Failed(text)
        }
    }
}

/// Creates the database if there is none, and its tables if it has none.
///
/// # Errors
/// [`DatabaseError`] if rows cannot be written into it.
pub fn prepare(path: &Path) -> Result<(), DatabaseError> {
    if state(path)? == FileState::Absent {
        return create(path);
    }
    let connection = open(path)?;
    prepare_tables(&connection)?;
    close(connection)
}

/// Whether a database could be used, as far as that shows without changing anything.
///
/// # Errors
/// [`DatabaseError`] if it could not.
pub fn check(path: &Path) -> Result<(), DatabaseError> {
    if state(path)? == FileState::Absent {
        return if directory_of(path).is_dir() {
            Ok(())
        } else {
            Err(DatabaseError::NoDirectory)
        };
    }
    let connection = open_to_read(path, READ_MEMORY)?;
    if columns(&connection)?.is_empty() {
        return Ok(());
    }
    check_columns(&connection)
}

/// The last records whose rows are there.
pub(super) fn last_records(path: &Path) -> Result<LastRecords, DatabaseError> {
    read_last_records(&open(path)?)
}

/// Writes the rows that are not there yet, all or none. `known` are the last records that were there before.
pub(super) fn write(
    path: &Path,
    entries: &[Entry],
    known: &LastRecords,
) -> Result<(), DatabaseError> {
    if state(path)? == FileState::Absent {
        return Err(DatabaseError::Another);
    }
    let mut connection = open(path)?;
    let transaction = connection.transaction()?;
    // Another gate may have written the records of a shared log.
    let mut last = read_last_records(&transaction).map_err(|_| DatabaseError::Another)?;
    let is_there = |(instance, seq): (&String, &u64)| last.get(instance) >= Some(seq);
    if !known.iter().all(is_there) {
        return Err(DatabaseError::Another);
    }
    append(&transaction, entries, &mut last)?;
    for entry in entries {
        if let Some(seq) = last.remove(&entry.instance) {
            transaction.execute(
                "INSERT INTO fr_last_records VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq",
                params![entry.instance, seq],
            )?;
        }
    }
    transaction.commit()?;
    close(connection)
}

/// A connection for reading, which changes nothing and reads nothing else.
pub(super) fn open_to_read(path: &Path, memory: &str) -> Result<Connection, DatabaseError> {
    let config = Config::default().access_mode(AccessMode::ReadOnly)?;
    // What does not fit into memory becomes no file beside the database.
    let config = within_limits(config.with("temp_directory", "")?, memory)?;
    Ok(Connection::open_with_flags(path, config)?)
}

/// Limits for both. They are set last, since they lock the others.
fn within_limits(config: Config, memory: &str) -> duckdb::Result<Config> {
    config
        .threads(1)?
        .max_memory(memory)?
        .enable_autoload_extension(false)?
        .enable_external_access(false)?
        .with("lock_configuration", "true")
}

fn open(path: &Path) -> Result<Connection, DatabaseError> {
    let config = within_limits(Config::default(), WRITE_MEMORY)?;
    Ok(Connection::open_with_flags(path, config)?)
}

/// Here, so that an error is not lost.
fn close(connection: Connection) -> Result<(), DatabaseError> {
    connection.close().map_err(|(_, error)| error.into())
}

/// Creates a database that its owner alone may read, as the log. DuckDB gives a new file the permissions that others
/// have by default, so it is made in a private directory.
fn create(path: &Path) -> Result<(), DatabaseError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let directory = path.with_file_name(name);
    let created = create_in(&directory, path);
    let _ = fs::remove_dir_all(&directory);
    created
}

fn create_in(directory: &Path, path: &Path) -> Result<(), DatabaseError> {
    let mut private = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
    private.create(directory)?;
    let new = directory.join("new");
    let connection = open(&new)?;
    prepare_tables(&connection)?;
    close(connection)?;
    #[cfg(unix)]
    fs::set_permissions(&new, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(fs::rename(&new, path)?)
}

fn prepare_tables(connection: &Connection) -> Result<(), DatabaseError> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS fr_events (ts TIMESTAMPTZ NOT NULL, event_kind VARCHAR NOT NULL, \
         job_id VARCHAR, source VARCHAR, level VARCHAR, message VARCHAR, payload JSON); \
         CREATE TABLE IF NOT EXISTS fr_last_records (instance VARCHAR PRIMARY KEY, seq UBIGINT NOT NULL);",
    )?;
    check_columns(connection)?;
    let key = |(key, of): (&str, &str)| match of {
        "JSON" => format!("payload->'$.{key}' AS {key}"),
        of => format!("TRY_CAST(payload->>'$.{key}' AS {of}) AS {key}"),
    };
    connection.execute_batch(&format!(
        "CREATE OR REPLACE VIEW fr_event_fields AS \
         SELECT ts, event_kind, job_id, source, level, message, {} FROM fr_events;",
        KEYS.map(key).join(", ")
    ))?;
    try_rows(connection)
}

/// Constraints of another's table may refuse rows.
fn try_rows(connection: &Connection) -> Result<(), DatabaseError> {
    let rows = "BEGIN; \
        INSERT INTO fr_events (ts, event_kind, job_id, source, level, message, payload) \
        SELECT '2026-01-01T00:00:00Z', kind, NULL, '', '', '', '{}' FROM (VALUES ('a'), ('b')) AS _ (kind); \
        INSERT INTO fr_last_records VALUES ('a', 1) ON CONFLICT DO UPDATE SET seq = excluded.seq;";
    let tried = connection.execute_batch(rows);
    connection.execute_batch("ROLLBACK")?;
    tried.map_err(|error| DatabaseError::RowsRefused(DatabaseError::from(error).to_string()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    Present,
    Absent,
}

/// Only a regular file will do, as for the log.
fn state(path: &Path) -> Result<FileState, DatabaseError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(FileState::Present),
        Ok(_) => Err(DatabaseError::NotAFile),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FileState::Absent),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn check_columns(connection: &Connection) -> Result<(), DatabaseError> {
    let found = columns(connection)?;
    if found.is_empty() {
        return Err(DatabaseError::NoTable);
    }
    for (column, types) in COLUMNS {
        let Some(found) = found.iter().find(|found| found.name == column) else {
            return Err(DatabaseError::ColumnMissing(column));
        };
        if !types.contains(&found.of.as_str()) {
            return Err(DatabaseError::ColumnType {
                column,
                found: found.of.clone(),
                wanted: types.first().copied().unwrap_or_default(),
            });
        }
    }
    if found
        .iter()
        .any(|found| found.name.eq_ignore_ascii_case("rowid"))
    {
        return Err(DatabaseError::NamedRowid);
    }
    let is_ours = |found: &Column| COLUMNS.iter().any(|(column, _)| *column == found.name);
    let mut others = found.into_iter().filter(|found| !is_ours(found));
    match others.find(|found| found.needs_value) {
        Some(found) => Err(DatabaseError::ColumnNotNull(found.name)),
        None => Ok(()),
    }
}

struct Column {
    name: String,
    of: String,
    needs_value: bool,
}

fn columns(connection: &Connection) -> duckdb::Result<Vec<Column>> {
    let mut statement = connection.prepare(
        "SELECT column_name, data_type, is_nullable = 'NO' AND column_default IS NULL \
         FROM information_schema.columns \
         WHERE table_name = 'fr_events' AND table_schema = current_schema()",
    )?;
    let columns = statement.query_map([], |row| {
        Ok(Column {
            name: row.get(0)?,
            of: row.get(1)?,
            needs_value: row.get(2)?,
        })
    })?;
    columns.collect()
}

fn read_last_records(connection: &Connection) -> Result<LastRecords, DatabaseError> {
    let mut statement = connection.prepare("SELECT instance, seq FROM fr_last_records")?;
    let records = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(records.collect::<duckdb::Result<_>>()?)
}

/// Appends the rows of records after the last ones, which become the last.
fn append(
    transaction: &Transaction<'_>,
    entries: &[Entry],
    last: &mut LastRecords,
) -> Result<(), DatabaseError> {
    let names = COLUMNS.map(|(column, _)| column);
    let mut appender = transaction.appender_with_columns("fr_events", &names)?;
    for entry in entries {
        if last
            .get(&entry.instance)
            .is_some_and(|last| entry.seq <= *last)
        {
            continue;
        }
        last.insert(entry.instance.clone(), entry.seq);
        for row in &entry.rows {
            appender.append_row(params![
                row.ts,
                row.event_kind,
                row.job_id,
                row.source,
                row.level,
                row.message,
                row.payload
            ])?;
        }
    }
    Ok(appender.flush()?)
}
