//! Questions in SQL.

use std::fmt;
use std::path::Path;

use duckdb::arrow::array::{Array, ArrayRef, AsArray};
use duckdb::{Connection, Statement};

use super::database::{DatabaseError, open_to_read};

/// What a query may hold in memory, for its sorting and grouping.
const SORT_MEMORY: &str = "256MB";

/// A database that is asked. A question can neither change it nor reach other files.
#[derive(Debug)]
pub struct SqlDatabase(Connection);

/// The rows of an answer, which the database gives as they are read.
pub struct SqlRows<'d>(Statement<'d>);

impl fmt::Debug for SqlRows<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SqlRows")
    }
}

impl SqlDatabase {
    /// # Errors
    /// It is no database, or another process writes it.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        Ok(Self(open_to_read(path, SORT_MEMORY)?))
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
        let mut statement = self.0.prepare(&select)?;
        // Its iterator panics where `step` has an error.
        let _ = statement.stream_arrow([]).map_err(too_large)?;
        Ok(SqlRows(statement))
    }
}

impl SqlRows<'_> {
    pub fn columns(&self) -> Vec<String> {
        self.0.column_names()
    }

    /// The next rows. Absent values are empty.
    ///
    /// # Errors
    /// They cannot be computed.
    pub fn next_rows(&mut self) -> Result<Option<Vec<Vec<String>>>, DatabaseError> {
        let Some(rows) = self.0.step().map_err(too_large)? else {
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
fn too_large(error: duckdb::Error) -> DatabaseError {
    let error = DatabaseError::from(error);
    if error.to_string().starts_with("Out of Memory") {
        let problem = "the query needs too much memory: narrow it";
        return DatabaseError::Failed(problem.to_owned());
    }
    error
}
