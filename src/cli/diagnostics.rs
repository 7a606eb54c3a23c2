//! Diagnostics to stderr, without waiting for its reader.
//!
//! An agent may leave the stderr of its servers unread. A pipe then fills, and a gate that wrote to
//! it from its event loop would stop for ever; so a thread of its own writes, and what it cannot
//! take is dropped and counted.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// Lines that may wait to be written.
const WAITING: usize = 1024;

/// Makes the writers of single events.
#[derive(Debug, Clone)]
pub struct Diagnostics {
    lines: SyncSender<WriterItem>,
    dropped: Arc<AtomicU64>,
}

#[derive(Debug)]
enum WriterItem {
    Line(Vec<u8>),
    /// Everything before it has been written.
    Flushed(SyncSender<()>),
}

impl Diagnostics {
    /// Starts the thread that writes.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start() -> io::Result<Self> {
        let (lines, waiting) = sync_channel(WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        std::thread::Builder::new()
            .name("diagnostics".to_owned())
            .spawn(move || write(&waiting, &counted))?;
        Ok(Self { lines, dropped })
    }

    /// Waits until what was said so far has been written, but not longer than `patience`.
    pub fn flush(&self, patience: Duration) {
        let (done, flushed) = sync_channel(1);
        if self.lines.try_send(WriterItem::Flushed(done)).is_ok() {
            // Too late: there is no reader.
            let _ = flushed.recv_timeout(patience);
        }
    }
}

/// One event.
#[derive(Debug)]
pub struct DiagnosticEvent<'d>(&'d Diagnostics);

impl Write for DiagnosticEvent<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self
            .0
            .lines
            .try_send(WriterItem::Line(line.to_vec()))
            .is_err()
        {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'d> MakeWriter<'d> for Diagnostics {
    type Writer = DiagnosticEvent<'d>;

    fn make_writer(&'d self) -> DiagnosticEvent<'d> {
        DiagnosticEvent(self)
    }
}

fn write(waiting: &Receiver<WriterItem>, dropped: &AtomicU64) {
    for item in waiting {
        let mut stderr = io::stderr();
        // A closed stderr has no reader.
        let _ = match item {
            WriterItem::Line(line) => stderr.write_all(&line),
            WriterItem::Flushed(done) => {
                let _ = done.try_send(());
                Ok(())
            }
        };
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(
                stderr,
                "{lost} diagnostics were dropped: stderr was not read"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_does_not_read_makes_nobody_wait() {
        // Nothing takes the lines: the channel is all there is.
        let (lines, _waiting) = sync_channel(2);
        let dropped = Arc::new(AtomicU64::new(0));
        let diagnostics = Diagnostics { lines, dropped };
        for _ in 0..5 {
            diagnostics.make_writer().write_all(b"line\n").unwrap();
        }
        assert_eq!(diagnostics.dropped.load(Ordering::Relaxed), 3);
        diagnostics.flush(Duration::from_millis(1));
    }
}
