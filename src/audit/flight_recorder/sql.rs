//! Questions in SQL.

use std::cell::OnceCell;
use std::fmt;
use std::path::{Path, PathBuf};

use duckdb::arrow::array::{Array, ArrayRef, AsArray, StructArray};
use duckdb::{Connection, Statement};

use super::database::{DatabaseError, READ_MEMORY, open_to_read};

/// What a query that sorts or groups may hold in memory. Any other one has enough with what reading takes.
const SORT_MEMORY: &str = "256MB";

/// A database that is asked. A question can neither change it nor reach other files.
#[derive(Debug)]
pub struct SqlDatabase {
    path: PathBuf,
    connection: Connection,
    with_more_memory: OnceCell<Connection>,
}

/// The rows of an answer, which the database gives as they are read.
pub struct SqlRows<'d> {
    statement: Statement<'d>,
    /// Those that were read to see whether the database has enough memory.
    first: Option<StructArray>,
}

impl fmt::Debug for SqlRows<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SqlRows")
    }
}

impl SqlDatabase {
    /// # Errors
    /// It is no database, or another process writes it.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        Ok(Self {
            path: path.to_owned(),
            connection: open_to_read(path, READ_MEMORY)?,
            with_more_memory: OnceCell::new(),
        })
    }

    /// The rows of a query, at most so many. Each value is a text.
    ///
    /// # Errors
    /// The query is none, or the database has not enough memory for it.
    pub fn rows(&self, query: &str, limit: Option<usize>) -> Result<SqlRows<'_>, DatabaseError> {
        self.select("CAST(COLUMNS(*) AS VARCHAR)", query, limit)
    }

    /// As `rows`, but each row is one JSON object.
    ///
    /// # Errors
    /// As `rows`.
    pub fn json(&self, query: &str, limit: Option<usize>) -> Result<SqlRows<'_>, DatabaseError> {
        self.select("CAST(to_json(fr_result) AS VARCHAR)", query, limit)
    }

    fn select(
        &self,
        values: &str,
        query: &str,
        limit: Option<usize>,
    ) -> Result<SqlRows<'_>, DatabaseError> {
        let query = query.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        let limit = limit.map_or_else(String::new, |limit| format!("LIMIT {limit}"));
        // The line feed ends a comment.
        let select = format!("SELECT {values} FROM (\n{query}\n) AS fr_result {limit}");
        match SqlRows::of(&self.connection, &select) {
            Err(DatabaseError::TooLarge) => {}
            rows => return rows,
        }
        let connection = if let Some(connection) = self.with_more_memory.get() {
            connection
        } else {
            let connection = open_to_read(&self.path, SORT_MEMORY)?;
            self.with_more_memory.get_or_init(|| connection)
        };
        SqlRows::of(connection, &select)
    }
}

impl<'d> SqlRows<'d> {
    fn of(connection: &'d Connection, select: &str) -> Result<Self, DatabaseError> {
        let mut statement = connection.prepare(select)?;
        // Its iterator panics where `step` has an error.
        let _ = statement.stream_arrow([]).map_err(of_query)?;
        let first = statement.step().map_err(of_query)?;
        Ok(Self { statement, first })
    }

    pub fn columns(&self) -> Vec<String> {
        self.statement.column_names()
    }

    /// The next rows. Absent values are empty.
    ///
    /// # Errors
    /// They cannot be computed.
    pub fn next_rows(&mut self) -> Result<Option<Vec<Vec<String>>>, DatabaseError> {
        let rows = match self.first.take() {
            Some(first) => Some(first),
            None => self.statement.step().map_err(of_query)?,
        };
        let Some(rows) = rows else {
            return Ok(None);
        };
        let row = |index| {
            rows.columns()
                .iter()
                .map(|cells| cell(cells, index))
                .collect()
        };
        Ok(Some((0..rows.len()).map(row).collect()))
    }
}

fn cell(cells: &ArrayRef, index: usize) -> String {
    let texts = cells.as_string_opt::<i32>();
    let text = texts.filter(|texts| texts.is_valid(index));
    text.map_or("", |texts| texts.value(index)).to_owned()
}

/// The database's own advice is a setting that is locked.
fn of_query(error: duckdb::Error) -> DatabaseError {
    let error = DatabaseError::from(error);
    let is_memory =
        matches!(&error, DatabaseError::Failed(text) if text.starts_with("Out of Memory"));
    if is_memory {
        DatabaseError::TooLarge
    } else {
        error
    }
}
