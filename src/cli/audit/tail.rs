//! `audit tail`: the last decisions, and those to come.

mod follow;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::time::Duration;

use self::follow::{FollowError, FollowedFile};
use super::rows::{self, Style};
use crate::audit::query::{Filter, LineError};
use crate::cli::args::AuditTailArgs;
use crate::cli::exit::Exit;
use crate::findings::printable;

/// The time between two looks at the file.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

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
        Err(FollowError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Exit::Success,
        Err(error) => {
            let _ = writeln!(stderr, "error: {}", printable(&error.to_string()));
            Exit::LogNotRead
        }
    }
}

fn follow(args: &AuditTailArgs, style: Style, out: &mut dyn Write) -> Result<(), FollowError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(FollowError::Write)?;
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
    file: FollowedFile,
    filter: Filter,
    style: Style,
}

impl Tail {
    /// Prints the last decisions of the file.
    fn begin(args: &AuditTailArgs, style: Style, out: &mut dyn Write) -> Result<Self, FollowError> {
        let mut tail = Self {
            file: FollowedFile::open(&args.file)?,
            filter: super::filter(&args.filters),
            style,
        };
        let rows = tail.last(args.lines)?;
        rows.iter().try_for_each(|row| out.write_all(row))?;
        out.flush()?;
        Ok(tail)
    }

    /// The last rows. Reads twice as much until there are enough.
    fn last(&mut self, number: usize) -> Result<VecDeque<Vec<u8>>, FollowError> {
        let mut bytes = 1 << 20;
        loop {
            let at_start = self.file.seek_back(bytes)?;
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

    /// Prints the decisions that the file has got, and those of a file that has replaced it.
    fn poll(&mut self, out: &mut dyn Write) -> Result<(), FollowError> {
        // Before the read, so that the read is the last one of a replaced file.
        let next = self.file.successor()?;
        self.read(|row| out.write_all(&row))?;
        if let Some(next) = next {
            self.file = next;
            self.read(|row| out.write_all(&row))?;
        }
        Ok(out.flush()?)
    }

    fn read(&mut self, mut show: impl FnMut(Vec<u8>) -> io::Result<()>) -> Result<(), FollowError> {
        let (filter, style) = (&self.filter, self.style);
        self.file.read_lines(|line| {
            match filter.read(line) {
                Ok(Some(record)) if !record.decision.is_empty() => {
                    let mut row = Vec::new();
                    rows::push_row(&record, style, &mut row);
                    show(row)?;
                }
                Ok(_) | Err(LineError::Half) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(())
        })
    }
}
