//! The result of a question in SQL.

use std::path::Path;

use duckdb::Connection;

use super::database::{DatabaseError, open_to_read};

/// The rows of one read.
const ROWS: u32 = 1000;

/// The result of a query, which is read page by page. It is in memory of the database, which is bounded.
#[derive(Debug)]
pub struct SqlResult {
    connection: Connection,
    columns: Vec<String>,
    last_row: i64,
}

impl SqlResult {
    /// Runs the query, which can neither change the database nor reach other files.
    ///
    /// # Errors
    /// The database cannot be read, or the query is none, or its result is too large.
    pub fn of(path: &Path, query: &str, limit: Option<usize>) -> Result<Self, DatabaseError> {
        let connection = open_to_read(path)?;
        let query = query.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        let limit = limit.map_or_else(String::new, |limit| format!("LIMIT {limit}"));
        // The line feed ends a comment.
        let result = format!("CREATE TEMP TABLE fr_result AS SELECT * FROM (\n{query}\n) {limit}");
        connection
            .prepare(&result)?
            .execute([])
            .map_err(too_large)?;
        let columns: Vec<String> = {
            let mut described =
                connection.prepare("SELECT column_name FROM (DESCRIBE fr_result)")?;
            let names = described.query_map([], |row| row.get(0))?;
            names.collect::<duckdb::Result<_>>()?
        };
        if columns
            .iter()
            .any(|name| name.eq_ignore_ascii_case("rowid"))
        {
            let problem = "give the column `rowid` another name, as in `rowid AS row`";
            return Err(DatabaseError::Failed(problem.to_owned()));
        }
        Ok(Self {
            connection,
            columns,
            last_row: -1,
        })
    }

    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The next rows, as texts. Absent values are empty.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn next_rows(&mut self) -> Result<Option<Vec<Vec<String>>>, DatabaseError> {
        let cells = self.columns.len();
        self.page("CAST(COLUMNS(*) AS VARCHAR)", |row| {
            let cell = |index| {
                row.get::<_, Option<String>>(index)
                    .map(Option::unwrap_or_default)
            };
            (1..=cells).map(cell).collect()
        })
    }

    /// The next rows, each as a JSON object.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn next_json(&mut self) -> Result<Option<Vec<String>>, DatabaseError> {
        self.page("CAST(to_json(fr_result) AS VARCHAR)", |row| row.get(1))
    }

    fn page<T>(
        &mut self,
        selected: &str,
        read: impl Fn(&duckdb::Row<'_>) -> duckdb::Result<T>,
    ) -> Result<Option<Vec<T>>, DatabaseError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT rowid, {selected} FROM fr_result WHERE rowid > ? ORDER BY rowid LIMIT ?"
        ))?;
        let mut rows = statement.query(duckdb::params![self.last_row, ROWS])?;
        let mut page = Vec::new();
        while let Some(row) = rows.next()? {
            self.last_row = row.get(0)?;
            page.push(read(row)?);
        }
        Ok((!page.is_empty()).then_some(page))
    }
}

/// The database's own advice is a setting that is locked.
fn too_large(error: duckdb::Error) -> DatabaseError {
    let error = DatabaseError::from(error);
    if error.to_string().starts_with("Out of Memory") {
        let problem = "the result is too large: narrow the query, or add `--limit`";
        return DatabaseError::Failed(problem.to_owned());
    }
    error
}
