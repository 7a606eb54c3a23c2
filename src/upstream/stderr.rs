//! The server's stderr, told again line by line through our own log.
//!
//! The pipe is always read, so that a server which writes much never waits for us; what is too much
//! is counted instead of logged.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use memchr::memchr;
use secrecy::SecretString;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::sleep;

use super::launcher;
use super::start_error::StartError;
use crate::secret;
use crate::unseen::misleads;

/// Longer lines are cut.
const MAX_LINE: usize = 4 * 1024;
/// Lines that are logged within one [`WINDOW`]; more are counted.
const LINES_PER_WINDOW: u32 = 200;
const WINDOW: Duration = Duration::from_secs(1);
const READ_SIZE: usize = 8 * 1024;
/// Stands where a secret stood, as in the audit log.
const REDACTED: &str = "[redacted]";

/// What is done to a line before it is logged, beside what is done for the configuration's own secrets.
#[derive(Clone, Default)]
pub struct Concealing(Option<Arc<Conceal>>);

type Conceal = dyn Fn(&str) -> String + Send + Sync;

impl Concealing {
    /// Each line is logged as this says.
    pub fn by(conceal: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(conceal)))
    }

    fn of(&self, text: String) -> String {
        match &self.0 {
            Some(conceal) => conceal(&text),
            None => text,
        }
    }
}

impl fmt::Debug for Concealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Concealing(..)",
            None => "Concealing",
        })
    }
}

/// Reads until the end of the stream. Yields why the launcher could not execute the command, if it
/// said so.
pub(super) async fn relog(
    mut stderr: impl AsyncRead + Unpin,
    server: String,
    command: Vec<String>,
    secrets: Vec<SecretString>,
    concealing: Concealing,
) -> Option<StartError> {
    let mut log = Log {
        server,
        command,
        secrets,
        concealing,
        complaint: None,
        window: Window::default(),
    };
    let mut lines = Lines::default();
    let mut chunk = vec![0; READ_SIZE];
    let window = sleep(WINDOW);
    tokio::pin!(window);
    loop {
        tokio::select! {
            read = stderr.read(&mut chunk) => {
                let length = read.unwrap_or(0);
                if length == 0 {
                    break;
                }
                lines.take(chunk.get(..length).unwrap_or_default(), |line| log.line(line));
            }
            // Not polled while nothing was logged: an idle server costs no wake-ups.
            () = &mut window, if log.window.is_used() => {
                log.new_window();
                window.set(sleep(WINDOW));
            }
        }
    }
    lines.last(|line| log.line(line));
    log.new_window();
    log.complaint
}

/// Cuts a stream into lines of bounded length.
#[derive(Debug, Default)]
struct Lines {
    line: Vec<u8>,
    dropped: usize,
}

/// One line, and how many of its bytes were left off.
struct Line<'a> {
    text: &'a [u8],
    dropped: usize,
}

impl Lines {
    fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(&Line<'_>)) {
        while let Some(at) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at);
            self.append(line);
            self.last(&mut each);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.append(bytes);
    }

    fn last(&mut self, mut each: impl FnMut(&Line<'_>)) {
        if !self.line.trim_ascii().is_empty() || self.dropped > 0 {
            each(&Line {
                text: self.line.trim_ascii_end(),
                dropped: self.dropped,
            });
        }
        self.line.clear();
        self.dropped = 0;
    }

    fn append(&mut self, bytes: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.line.len()).min(bytes.len());
        let (kept, dropped) = bytes.split_at(room);
        self.line.extend_from_slice(kept);
        self.dropped = self.dropped.saturating_add(dropped.len());
    }
}

#[derive(Debug, Default)]
struct Window {
    logged: u32,
    suppressed: u64,
}

impl Window {
    fn is_used(&self) -> bool {
        self.logged > 0
    }
}

struct Log {
    server: String,
    command: Vec<String>,
    secrets: Vec<SecretString>,
    concealing: Concealing,
    complaint: Option<StartError>,
    window: Window,
}

impl Log {
    fn line(&mut self, line: &Line<'_>) {
        let text = self.conceal(line);
        if let Some(cause) = text.strip_prefix(launcher::CANNOT_START) {
            let program = self.command.first().cloned().unwrap_or_default();
            self.complaint = Some(StartError::Refused {
                program,
                cause: escape(cause),
            });
        }
        if self.window.logged >= LINES_PER_WINDOW {
            self.window.suppressed = self.window.suppressed.saturating_add(1);
            return;
        }
        self.window.logged = self.window.logged.saturating_add(1);
        // What is not logged is not worth the search.
        let text = escape(&self.concealing.of(text));
        let server = &self.server;
        match line.dropped {
            0 => tracing::info!(target: "upstream.stderr", server, "{text}"),
            cut => tracing::info!(target: "upstream.stderr", server, cut, "{text}"),
        }
    }

    /// The line without secrets, nor the beginning of one where the line was cut.
    fn conceal(&self, line: &Line<'_>) -> String {
        let mut text = String::from_utf8_lossy(line.text).into_owned();
        for secret in &self.secrets {
            text = secret::without(&text, line.dropped > 0, secret, REDACTED);
        }
        text
    }

    fn new_window(&mut self) {
        let server = &self.server;
        let Window { suppressed, .. } = std::mem::take(&mut self.window);
        if suppressed > 0 {
            tracing::warn!(target: "upstream.stderr", server, suppressed, "too many lines");
        }
    }
}

/// Makes visible what acts instead of showing: what a server writes must not move a terminal's cursor,
/// forge a line of ours, or hide.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character != '\t' && misleads(character) {
            // Writing into a string cannot fail.
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    safe
}

#[cfg(test)]
mod tests;
