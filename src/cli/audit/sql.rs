//! `audit query --sql`: a question in SQL to the database of a flight recorder.

use std::io::{self, Write};

use crate::cli::args::AuditQueryArgs;
use crate::cli::exit::{Exit, heard};
use crate::findings::printable;

/// The reason why a query has no result, or only a part of one.
#[derive(Debug, thiserror::Error)]
enum SqlError {
    #[error("`--sql` takes one FILE, the database of a flight recorder")]
    NotOneFile,
    #[error("`{file}`: {cause}")]
    Query { file: String, cause: String },
    #[error("the result cannot be written: {0}")]
    Write(#[from] io::Error),
}

pub(super) fn run(
    query: &str,
    args: &AuditQueryArgs,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Exit {
    let printed = match &args.files[..] {
        [file] => print(query, file, args, stdout),
        _ => Err(SqlError::NotOneFile),
    };
    let printed = match printed {
        Ok(()) => heard(stdout.flush()).map_err(SqlError::Write),
        Err(SqlError::Write(error)) => heard(Err(error)).map_err(SqlError::Write),
        Err(error) => Err(error),
    };
    match printed {
        Ok(()) => Exit::Success,
        Err(error) => {
            // The lines of the database's own messages point at a place of the query.
            let told: Vec<String> = error.to_string().lines().map(printable).collect();
            let _ = writeln!(stderr, "error: {}", told.join("\n"));
            Exit::LogNotRead
        }
    }
}

#[cfg(not(feature = "flight-recorder"))]
fn print(
    _: &str,
    file: &std::path::Path,
    _: &AuditQueryArgs,
    _: &mut dyn Write,
) -> Result<(), SqlError> {
    Err(SqlError::Query {
        file: file.display().to_string(),
        cause: "this program is built without the flight recorder".to_owned(),
    })
}

#[cfg(feature = "flight-recorder")]
use with::print;

#[cfg(feature = "flight-recorder")]
mod with {
    use std::io::Write;
    use std::path::Path;

    use crate::audit::flight_recorder::{DatabaseError, SqlDatabase};
    use crate::cli::args::{AuditQueryArgs, RecordFormat};
    use crate::cli::audit::rows;
    use crate::cli::audit::sql::SqlError;
    use crate::findings::escape_json;

    pub(super) fn print(
        query: &str,
        file: &Path,
        args: &AuditQueryArgs,
        out: &mut dyn Write,
    ) -> Result<(), SqlError> {
        let failed = |cause: DatabaseError| SqlError::Query {
            file: file.display().to_string(),
            cause: cause.to_string(),
        };
        let database = SqlDatabase::open(file).map_err(failed)?;
        if args.format == RecordFormat::Json {
            let mut lines = database.json(query, args.limit).map_err(failed)?;
            while let Some(lines) = lines.next_rows().map_err(failed)? {
                for line in lines.iter().flatten() {
                    writeln!(out, "{}", escape_json(line))?;
                }
            }
            return Ok(());
        }
        let mut rows = database.rows(query, args.limit).map_err(failed)?;
        let columns = rows.columns();
        let mut page = rows.next_rows().map_err(failed)?.unwrap_or_default();
        let widths = match args.format {
            RecordFormat::Table => widths(&columns, &page),
            RecordFormat::Csv | RecordFormat::Json => Vec::new(),
        };
        let mut write = |rows: &[Vec<String>]| match args.format {
            RecordFormat::Table => write_table(rows, &widths, out),
            RecordFormat::Csv | RecordFormat::Json => write_csv(rows, out),
        };
        write(&[columns])?;
        while !page.is_empty() {
            write(&page)?;
            page = rows.next_rows().map_err(failed)?.unwrap_or_default();
        }
        Ok(())
    }

    /// As wide as the first rows need; a longer cell later on moves the rest of its row.
    fn widths(columns: &[String], rows: &[Vec<String>]) -> Vec<usize> {
        let width = |cell: &String| rows::escape(cell).chars().count();
        let mut widths: Vec<usize> = columns.iter().map(width).collect();
        for row in rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width(cell));
            }
        }
        widths
    }

    fn write_table(
        rows: &[Vec<String>],
        widths: &[usize],
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        for row in rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                rows::push_cell(&mut line, cell, *width);
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn write_csv(rows: &[Vec<String>], out: &mut dyn Write) -> std::io::Result<()> {
        let mut text = Vec::new();
        for row in rows {
            rows::push_csv_row(row.iter().map(String::as_str), &mut text);
        }
        out.write_all(&text)
    }
}
