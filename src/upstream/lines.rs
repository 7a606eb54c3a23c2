//! Frames out of a byte stream: a line each, ended by LF.

use std::io;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

const READ_SIZE: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct LineReader<R> {
    source: R,
    max: usize,
    buffer: Vec<u8>,
    /// Bytes of the frame that was handed out last.
    consumed: usize,
    /// Bytes known to hold no LF.
    scanned: usize,
    /// The rest of an over-long line is being thrown away.
    skipping: Option<Skipping>,
}

#[derive(Debug)]
struct Skipping;

pub(super) enum Frame<'a> {
    Line(&'a [u8]),
    TooLong,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(source: R, max: usize) -> Self {
        Self {
            source,
            max,
            buffer: Vec::new(),
            consumed: 0,
            scanned: 0,
            skipping: None,
        }
    }

    /// The next frame; `None` at the end of the stream. Cancel-safe.
    pub(super) async fn next(&mut self) -> io::Result<Option<Frame<'_>>> {
        let length = loop {
            if self.consumed > 0 {
                self.buffer.drain(..self.consumed);
                self.consumed = 0;
                self.scanned = 0;
            }
            let unseen = self.buffer.get(self.scanned..).unwrap_or_default();
            if let Some(at) = memchr(b'\n', unseen) {
                let length = self.scanned + at;
                self.consumed = length + 1;
                if self.skipping.take().is_some() {
                    continue;
                }
                if length > self.max {
                    return Ok(Some(Frame::TooLong));
                }
                if self
                    .buffer
                    .get(..length)
                    .unwrap_or_default()
                    .trim_ascii()
                    .is_empty()
                {
                    continue;
                }
                break length;
            }
            self.scanned = self.buffer.len();
            if self.skipping.is_some() || self.scanned > self.max {
                self.buffer.clear();
                self.scanned = 0;
                if self.skipping.replace(Skipping).is_none() {
                    return Ok(Some(Frame::TooLong));
                }
            }
            self.buffer.reserve(READ_SIZE);
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                if self.buffer.is_empty() || self.skipping.is_some() {
                    return Ok(None);
                }
                self.consumed = self.buffer.len();
                break self.consumed;
            }
        };
        Ok(Some(Frame::Line(
            self.buffer.get(..length).unwrap_or_default(),
        )))
    }
}
