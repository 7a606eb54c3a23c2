//! A port of this machine that stands for the network of a story.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::failure::DemoFailure;

/// Lines that may wait to be read; the demo reads them after each request.
const MAX_LINES: usize = 64;

/// What has arrived there. The port stays open as long as the program runs.
pub(super) struct DemoNetwork {
    pub(super) port: u16,
    lines: Receiver<String>,
}

impl DemoNetwork {
    pub(super) fn open() -> Result<Self, DemoFailure> {
        let open = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let port = listener.local_addr()?.port();
            let (sender, lines) = sync_channel(MAX_LINES);
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    // A connection that breaks has brought nothing.
                    let _ = answer(&stream, &sender);
                }
            });
            Ok(Self { port, lines })
        };
        open().map_err(DemoFailure::io("open a port that stands for the network"))
    }

    /// The lines that have arrived since the last call.
    pub(super) fn arrived(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }
}

/// Answers a line with a page, and tells of it before.
fn answer(mut stream: &TcpStream, arrived: &SyncSender<String>) -> io::Result<()> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let line = line.trim_end();
    arrived
        .send(line.to_owned())
        .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
    writeln!(stream, "<p>A page, for {line}.</p>")
}
