//! `audit tail`: the last decisions, and those to come.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::rows::{self, Style};
use super::scan::filter;
use crate::audit::query::{Filter, LineError};
use crate::audit::read::{FollowError, LogTail};
use crate::cli::args::AuditTailArgs;
use crate::cli::exit::Exit;
use crate::findings::printable;

/// The time between two looks at the file.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The reason why no more decisions are printed.
#[derive(Debug, thiserror::Error)]
enum TailError {
    #[error(transparent)]
    Log(#[from] FollowError<LineStop>),
    #[error("`{file}` cannot be read: {cause}")]
    File { file: String, cause: io::Error },
    #[error("the decisions cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// The reason why a line ends the tail.
#[derive(Debug, thiserror::Error)]
enum LineStop {
    #[error(transparent)]
    Record(LineError),
    /// The reader of the output, not the line, has failed.
    #[error(transparent)]
    Write(io::Error),
}

pub(super) fn run(args: &AuditTailArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let style = if io::stdout().is_terminal() && !no_color {
        Style::Colored
    } else {
        Style::Plain
    };
    let printed = if args.no_follow {
        Tail::begin(args, style, stdout).map(|_| ())
    } else {
        follow(args, style, stdout)
    };
    match printed {
        Ok(()) => Exit::Success,
        // The reader has read enough.
        Err(TailError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Exit::Success,
        Err(error) => {
            let _ = writeln!(stderr, "error: {}", printable(&error.to_string()));
            Exit::LogNotRead
        }
    }
}

fn follow(args: &AuditTailArgs, style: Style, out: &mut dyn Write) -> Result<(), TailError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        let mut tail = Tail::begin(args, style, out)?;
        loop {
            tokio::select! {
                _ = &mut interrupt => return Ok(()),
                () = tokio::time::sleep(POLL_INTERVAL) => tail.poll(out)?,
            }
        }
    })
}

/// A followed log and its printed decisions.
struct Tail {
    file: PathBuf,
    log: LogTail,
    filter: Filter,
    style: Style,
}

impl Tail {
    /// Prints the last decisions of the file.
    fn begin(args: &AuditTailArgs, style: Style, out: &mut dyn Write) -> Result<Self, TailError> {
        let mut tail = Self {
            log: LogTail::open(&args.file).map_err(|cause| unreadable(&args.file, cause))?,
            file: args.file.clone(),
            filter: filter(&args.filters),
            style,
        };
        let rows = tail.last(args.lines)?;
        rows.iter().try_for_each(|row| out.write_all(row))?;
        out.flush()?;
        Ok(tail)
    }

    /// The last rows. Reads twice as much until there are enough.
    fn last(&mut self, number: usize) -> Result<VecDeque<Vec<u8>>, TailError> {
        let mut bytes = 1 << 20;
        loop {
            let at_start = self.log.seek_back(bytes);
            let at_start = at_start.map_err(|cause| unreadable(&self.file, cause))?;
            let mut rows = VecDeque::new();
            self.read(|row| {
                rows.push_back(row);
                if rows.len() > number {
                    rows.pop_front();
                }
                Ok(())
            })?;
            if at_start || rows.len() >= number {
                return Ok(rows);
            }
            bytes *= 2;
        }
    }

    /// Prints the decisions that the log has got, over its rotations.
    fn poll(&mut self, out: &mut dyn Write) -> Result<(), TailError> {
        self.read(|row| out.write_all(&row))?;
        Ok(out.flush()?)
    }

    fn read(&mut self, mut show: impl FnMut(Vec<u8>) -> io::Result<()>) -> Result<(), TailError> {
        let (filter, style) = (&self.filter, self.style);
        let read = self.log.read_lines(&mut |line| match filter.read(line) {
            Ok(Some(record)) if !record.decision.is_empty() => {
                let mut row = Vec::new();
                rows::push_row(&record, style, &mut row);
                show(row).map_err(LineStop::Write)
            }
            Ok(_) | Err(LineError::Half) => Ok(()),
            Err(error) => Err(LineStop::Record(error)),
        });
        match read {
            Err(FollowError::Line {
                problem: LineStop::Write(error),
                ..
            }) => Err(TailError::Write(error)),
            read => Ok(read?),
        }
    }
}

fn unreadable(file: &Path, cause: io::Error) -> TailError {
    let file = file.display().to_string();
    TailError::File { file, cause }
}
