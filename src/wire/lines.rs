//! Frames of the stdio transport: one message per line, ended by LF.

use std::io;
use std::ops::Range;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::memory::{Memory, SMALL};

use super::skim::Skim;

/// Cuts a byte stream into lines.
///
/// Only LF ends a line: a CR is whitespace within the frame, and a reader that split on it would read
/// other messages than we do. Blank lines are skipped. Memory stays within `max_bytes` and two
/// reads of 8 KiB, whatever the peer sends, and is given back after a long line. A line for which
/// there is no memory is thrown away like one that is too long.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    max_bytes: usize,
    buffer: Vec<u8>,
    /// Where the current line starts in the buffer.
    start: usize,
    /// How far the current line was searched for its end.
    searched: usize,
    state: ReaderState,
    /// The observer of a discarded line, if there is one.
    skim: Option<Box<Skim>>,
    /// What the line seemed to answer that was discarded last.
    answered: Option<u64>,
    /// Why the line that is discarded, or was last, is.
    why: DiscardReason,
    memory: Memory,
}

/// What the stream brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFrame<'b> {
    /// A line without its LF.
    Line(&'b [u8]),
    /// A line that is thrown away, reported as soon as that is known; the rest of it is discarded by
    /// the next call.
    Unread(DiscardReason),
    /// Such a line has ended: it seems to answer the request with this number. Only told by one that
    /// [tells answers](LineReader::telling_answers).
    Answered(u64, DiscardReason),
}

/// Why a message is thrown away before it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiscardReason {
    /// It has more bytes than it may.
    TooLong,
    /// There is no memory for it.
    NoMemory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderState {
    Reading,
    /// In an over-long line that was reported already.
    Discarding,
    Ended,
}

/// A read's worth. A pipe holds 64 KiB, but most frames are far smaller.
const READ: usize = 8 * 1024;

/// An idle stream keeps at most this much memory.
const KEPT: usize = 64 * 1024;

/// What ends the search for the next line.
enum LineSearch {
    Line(Range<usize>),
    Unread(DiscardReason),
    Answered(u64),
    Nothing,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// `max_bytes` counts all bytes of a line but its LF.
    pub fn new(reader: R, max_bytes: usize) -> Self {
        Self {
            reader,
            max_bytes,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            state: ReaderState::Reading,
            skim: None,
            answered: None,
            why: DiscardReason::TooLong,
            memory: Memory::default(),
        }
    }

    /// The same, which keeps no more of a line than there is memory for.
    #[must_use]
    pub fn within(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// The same, which also tells what too long a line seems to answer.
    #[must_use]
    pub fn telling_answers(mut self) -> Self {
        self.skim = Some(Box::default());
        self
    }

    /// The next frame; `None` at the end of the stream. A last line without LF is a line.
    ///
    /// Cancel-safe: what was read stays in the reader, and the next call goes on from there.
    pub async fn next(&mut self) -> io::Result<Option<LineFrame<'_>>> {
        let found = loop {
            match self.search() {
                LineSearch::Nothing if self.state == ReaderState::Ended => return Ok(None),
                LineSearch::Nothing if !self.make_room().await => {
                    break self.give_up(DiscardReason::NoMemory);
                }
                LineSearch::Nothing => self.fill().await?,
                found @ (LineSearch::Line(_) | LineSearch::Unread(_) | LineSearch::Answered(_)) => {
                    break found;
                }
            }
        };
        Ok(match found {
            LineSearch::Line(line) => self.buffer.get(line).map(LineFrame::Line),
            LineSearch::Unread(why) => Some(LineFrame::Unread(why)),
            LineSearch::Answered(request) => Some(LineFrame::Answered(request, self.why)),
            LineSearch::Nothing => None,
        })
    }

    /// Looks for the end of the current line in what was read.
    fn search(&mut self) -> LineSearch {
        loop {
            if let Some(request) = self.answered.take() {
                return LineSearch::Answered(request);
            }
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let end = match memchr(b'\n', unsearched) {
                Some(at) => self.searched + at,
                None => return self.no_line_end(),
            };
            let line = self.start..end;
            self.start = end + 1;
            self.searched = end + 1;
            if self.state == ReaderState::Discarding {
                self.state = ReaderState::Reading;
                self.skim_over(line);
                self.answered = self.skimmed();
            } else if line.len() > self.max_bytes {
                self.skim_over(line);
                self.answered = self.skimmed();
                self.why = DiscardReason::TooLong;
                return LineSearch::Unread(DiscardReason::TooLong);
            } else if !self.is_blank(&line) {
                return LineSearch::Line(line);
            }
        }
    }

    fn no_line_end(&mut self) -> LineSearch {
        self.searched = self.buffer.len();
        let line = self.start..self.buffer.len();
        match self.state {
            ReaderState::Discarding => {
                self.start = line.end;
                self.skim_over(line);
                LineSearch::Nothing
            }
            ReaderState::Reading | ReaderState::Ended if line.len() > self.max_bytes => {
                self.give_up(DiscardReason::TooLong)
            }
            ReaderState::Ended if !self.is_blank(&line) => {
                self.start = line.end;
                LineSearch::Line(line)
            }
            ReaderState::Reading | ReaderState::Ended => LineSearch::Nothing,
        }
    }

    /// Throws away the line that has begun.
    fn give_up(&mut self, why: DiscardReason) -> LineSearch {
        let line = self.start..self.buffer.len();
        (self.start, self.searched) = (line.end, line.end);
        if self.state == ReaderState::Reading {
            self.state = ReaderState::Discarding;
            self.skim_over(line);
        }
        self.why = why;
        LineSearch::Unread(why)
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.reader.read_buf(&mut self.buffer).await? == 0 {
            self.state = ReaderState::Ended;
        }
        Ok(())
    }

    /// Drops what was handed out and makes sure that a read has room. False if there is no memory.
    async fn make_room(&mut self) -> bool {
        self.buffer.drain(..self.start);
        if self.start > 0 && self.buffer.len() <= READ && self.buffer.capacity() > KEPT {
            self.buffer.shrink_to(KEPT);
        }
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.capacity() - self.buffer.len() < READ / 2 {
            // Doubling, but never past what the longest line can need.
            let wanted = (self.buffer.capacity() * 2).min(self.max_bytes.saturating_add(READ));
            let wanted = wanted.max(self.buffer.len() + READ);
            // Old and new are there at once. What one read brings is kept in any case.
            let _room = if wanted > SMALL {
                let (has, come) = (self.buffer.capacity(), self.buffer.len());
                let room = self.memory.wait_to_grow_before_others(has, wanted, come);
                let Some(room) = room.await else {
                    return false;
                };
                Some(room)
            } else {
                None
            };
            self.buffer.reserve_exact(wanted - self.buffer.len());
        }
        true
    }

    fn skim_over(&mut self, line: Range<usize>) {
        if let Some(skim) = &mut self.skim {
            skim.feed(self.buffer.get(line).unwrap_or_default());
        }
    }

    /// The line has ended.
    fn skimmed(&mut self) -> Option<u64> {
        self.skim.as_mut().map(std::mem::take)?.answers()
    }

    fn is_blank(&self, line: &Range<usize>) -> bool {
        let line = self.buffer.get(line.clone()).unwrap_or_default();
        line.iter().all(u8::is_ascii_whitespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads to the end, through a pipe that hands over `chunk` bytes at a time.
    async fn frames(input: &[u8], max_bytes: usize, chunk: usize) -> Vec<Option<String>> {
        let (mut near, far) = tokio::io::duplex(chunk);
        let input = input.to_vec();
        let writer = tokio::spawn(async move {
            tokio::io::AsyncWriteExt::write_all(&mut near, &input)
                .await
                .unwrap();
        });
        let mut reader = LineReader::new(far, max_bytes).telling_answers();
        let mut frames = Vec::new();
        while let Some(frame) = reader.next().await.unwrap() {
            frames.push(match frame {
                LineFrame::Line(line) => Some(String::from_utf8(line.to_vec()).unwrap()),
                LineFrame::Unread(_) => None,
                LineFrame::Answered(request, _) => Some(format!("answers {request}")),
            });
        }
        writer.await.unwrap();
        assert!(reader.buffer.capacity() <= max_bytes + READ + KEPT);
        frames
    }

    #[tokio::test]
    async fn lines_are_cut_at_lf_only() {
        for (input, expected) in [
            ("", vec![]),
            ("\n", vec![]),
            ("\n \r\n\t\n", vec![]),
            ("a\n", vec![Some("a")]),
            ("a", vec![Some("a")]),
            ("a\nb", vec![Some("a"), Some("b")]),
            ("a\r\nb\r\n", vec![Some("a\r"), Some("b\r")]),
            ("a\rb\n", vec![Some("a\rb")]),
            ("a\n\n\nb\n", vec![Some("a"), Some("b")]),
            ("12345678\n", vec![Some("12345678")]),
            ("123456789\n", vec![None]),
            ("123456789", vec![None]),
            ("12345678901234567890\na\n", vec![None, Some("a")]),
            (
                "a\n12345678901234567890\n12345678901234567890\nb",
                vec![Some("a"), None, None, Some("b")],
            ),
            ("12345678901234567890", vec![None]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|f| f.map(str::to_owned)).collect();
            for chunk in [1, 2, 3, 7, 8, 9, 64] {
                assert_eq!(
                    frames(input.as_bytes(), 8, chunk).await,
                    expected,
                    "{input:?} by {chunk}"
                );
            }
        }
    }

    #[tokio::test]
    async fn a_line_without_end_is_discarded_in_bounded_memory() {
        let endless = tokio::io::repeat(b'a').take(32 << 20).chain(&b"\nb\n"[..]);
        let mut reader = LineReader::new(endless, 1 << 20);
        assert_eq!(
            reader.next().await.unwrap(),
            Some(LineFrame::Unread(DiscardReason::TooLong))
        );
        assert!(reader.buffer.capacity() <= (1 << 20) + 2 * READ);
        assert_eq!(reader.next().await.unwrap(), Some(LineFrame::Line(b"b")));
        assert!(reader.buffer.capacity() <= KEPT);
        assert_eq!(reader.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_too_long_a_line_answers_is_told_at_its_end() {
        let long = "x".repeat(30);
        let first = format!(r#"{{"id":7,"result":"{long}"}}"#);
        let last = format!(r#"{{"result":"{long}","id":7}}"#);
        let asks = format!(r#"{{"id":7,"method":"{long}"}}"#);
        for chunk in [1, 3, 8, 64, 4096] {
            for answer in [&first, &last] {
                let frames = frames(format!("{answer}\na\n").as_bytes(), 16, chunk).await;
                let told = [None, Some("answers 7".to_owned()), Some("a".to_owned())];
                assert_eq!(frames, told, "{chunk}");
            }
            let frames = frames(format!("{asks}\na").as_bytes(), 16, chunk).await;
            assert_eq!(frames, [None, Some("a".to_owned())], "{chunk}");
        }
    }

    #[tokio::test]
    async fn a_line_without_memory_for_it_is_thrown_away_and_what_it_answers_is_told() {
        let long = "x".repeat(1 << 20);
        let lines = format!(r#"{{"id":7,"result":"{long}"}}"#) + "\na\n";
        for (is_short, told) in [(false, true), (true, false)] {
            let allocated = if is_short { usize::MAX } else { 0 };
            let memory = Memory::limited(1 << 30, move || allocated);
            let reader = LineReader::new(lines.as_bytes(), 2 << 20).telling_answers();
            let mut reader = reader.within(memory);
            if told {
                let line = reader.next().await.unwrap();
                assert!(matches!(line, Some(LineFrame::Line(line)) if line.len() > 1 << 20));
            } else {
                let why = DiscardReason::NoMemory;
                assert_eq!(reader.next().await.unwrap(), Some(LineFrame::Unread(why)));
                assert!(reader.buffer.capacity() <= KEPT);
                assert_eq!(
                    reader.next().await.unwrap(),
                    Some(LineFrame::Answered(7, why))
                );
            }
            // A short one needs none.
            assert_eq!(reader.next().await.unwrap(), Some(LineFrame::Line(b"a")));
        }
    }

    #[tokio::test]
    async fn a_long_line_does_not_keep_its_memory() {
        let line = vec![b'a'; 1 << 20];
        let stream = [&line, &b"\nb\nc"[..]].concat();
        let mut reader = LineReader::new(&stream[..], 1 << 20);
        assert_eq!(reader.next().await.unwrap(), Some(LineFrame::Line(&line)));
        assert_eq!(reader.next().await.unwrap(), Some(LineFrame::Line(b"b")));
        assert_eq!(reader.next().await.unwrap(), Some(LineFrame::Line(b"c")));
        assert_eq!(reader.next().await.unwrap(), None);
        assert!(reader.buffer.capacity() <= KEPT);
    }
}
