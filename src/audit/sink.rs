//! Where lines go, and how a batch of them gets there through failures.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use super::chain::LineHash;
use super::fault::OpenError;
use super::settings::Stream;

/// Something that lines can be appended to.
pub trait Sink: Send + fmt::Debug {
    /// For messages: `the file ...`.
    fn name(&self) -> Arc<str>;
    /// The last whole line that was there at the start.
    fn last_line(&self) -> Option<LineHash> {
        None
    }
    /// Makes ready for a batch. Until [`Sink::end`] no other bytes come between ours.
    fn begin(&mut self) -> io::Result<LinePosition>;
    /// Writes some of the bytes and says how many, like [`io::Write::write`].
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// The batch is written.
    fn end(&mut self);
    /// Makes what was written survive the machine, where the sink can.
    fn sync(&mut self) -> io::Result<()>;
}

/// Where the next byte goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinePosition {
    AtLineStart,
    /// After half a line of a writer that died; it has to be ended first.
    MidLine,
}

/// Whether a batch has to survive the machine before it counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    Wanted,
    NotWanted,
}

/// A sink, and how much of the current batch it has.
#[derive(Debug)]
pub(super) struct Lane {
    sink: Box<dyn Sink>,
    state: LaneState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LaneState {
    Idle,
    OwesLineEnd,
    /// So many bytes of the batch are written.
    Written(usize),
    WrittenNotSynced,
    Done,
}

impl Lane {
    pub(super) fn new(sink: Box<dyn Sink>) -> Self {
        Self {
            sink,
            state: LaneState::Idle,
        }
    }

    pub(super) fn name(&self) -> Arc<str> {
        self.sink.name()
    }

    pub(super) fn last_line(&self) -> Option<LineHash> {
        self.sink.last_line()
    }

    /// Forgets the batch that was delivered.
    pub(super) fn next(&mut self) {
        self.state = LaneState::Idle;
    }

    /// Brings the batch to the sink. After an error the same batch has to be given again: it goes
    /// on after the last byte that the sink took, so that no line is there twice or in part.
    pub(super) fn deliver(&mut self, batch: &[u8], sync: Sync) -> io::Result<()> {
        loop {
            self.state = match self.state {
                LaneState::Idle if batch.is_empty() => LaneState::WrittenNotSynced,
                LaneState::Idle => match self.sink.begin()? {
                    LinePosition::AtLineStart => LaneState::Written(0),
                    LinePosition::MidLine => LaneState::OwesLineEnd,
                },
                LaneState::OwesLineEnd => match self.write(b"\n")? {
                    0 => LaneState::OwesLineEnd,
                    _ => LaneState::Written(0),
                },
                LaneState::Written(so_far) => match batch.get(so_far..) {
                    Some(rest) if !rest.is_empty() => {
                        LaneState::Written(so_far + self.write(rest)?)
                    }
                    _ => {
                        self.sink.end();
                        LaneState::WrittenNotSynced
                    }
                },
                LaneState::WrittenNotSynced => {
                    if sync == Sync::Wanted {
                        self.sink.sync()?;
                    }
                    LaneState::Done
                }
                LaneState::Done => return Ok(()),
            }
        }
    }

    /// How many bytes the sink took; none if it has to be asked again.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.sink.write(bytes) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(taken) => Ok(taken),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            // Another process that shares our standard error has made it non-blocking. That is a slow
            // reader and no failure.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }
}

/// A standard stream of this process.
#[derive(Debug)]
pub(super) struct StreamSink {
    // The descriptor itself: `Stdout` buffers, so that after an error it is unknown what was
    // written, and `Stderr` takes a closed descriptor for a working one.
    file: File,
    stream: Stream,
}

impl StreamSink {
    /// Nothing for [`Stream::None`].
    pub(super) fn open(stream: Stream) -> Result<Option<Self>, OpenError> {
        let (name, file) = match stream {
            Stream::None => return Ok(None),
            Stream::Stdout => ("standard output", own(&io::stdout())),
            Stream::Stderr => ("standard error", own(&io::stderr())),
        };
        let file = file.map_err(|error| OpenError::Stream {
            stream: name,
            error,
        })?;
        Ok(Some(Self { file, stream }))
    }
}

impl Sink for StreamSink {
    fn name(&self) -> Arc<str> {
        match self.stream {
            Stream::Stdout => "standard output".into(),
            Stream::Stderr | Stream::None => "standard error".into(),
        }
    }

    fn begin(&mut self) -> io::Result<LinePosition> {
        Ok(LinePosition::AtLineStart)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The lock keeps our own diagnostics out of the middle of a line.
        match self.stream {
            Stream::Stdout => {
                let _turn = io::stdout().lock();
                self.file.write(bytes)
            }
            Stream::Stderr | Stream::None => {
                let _turn = io::stderr().lock();
                self.file.write(bytes)
            }
        }
    }

    fn end(&mut self) {}

    fn sync(&mut self) -> io::Result<()> {
        // A pipe or a terminal has nothing to sync, and says so with an error.
        Ok(())
    }
}

#[cfg(unix)]
fn own(stream: &impl std::os::fd::AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn own(stream: &impl std::os::windows::io::AsHandle) -> io::Result<File> {
    stream.as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;

    /// What a sink answers to one call.
    #[derive(Debug, Clone, Copy)]
    enum SinkAnswer {
        Takes(usize),
        Fails(io::ErrorKind),
    }

    /// Answers as scripted, then takes everything.
    #[derive(Debug, Default)]
    struct ScriptedSink {
        answers: VecDeque<SinkAnswer>,
        torn: bool,
        bytes: Arc<Mutex<Vec<u8>>>,
    }

    impl Sink for ScriptedSink {
        fn name(&self) -> Arc<str> {
            "the scripted sink".into()
        }

        fn begin(&mut self) -> io::Result<LinePosition> {
            if let Some(SinkAnswer::Fails(kind)) = self.answers.pop_front() {
                return Err(kind.into());
            }
            Ok(if self.torn {
                LinePosition::MidLine
            } else {
                LinePosition::AtLineStart
            })
        }

        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = match self.answers.pop_front() {
                Some(SinkAnswer::Fails(kind)) => return Err(kind.into()),
                Some(SinkAnswer::Takes(most)) => bytes.len().min(most),
                None => bytes.len(),
            };
            self.bytes
                .lock()
                .unwrap()
                .extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn end(&mut self) {
            self.torn = false;
        }

        fn sync(&mut self) -> io::Result<()> {
            match self.answers.pop_front() {
                Some(SinkAnswer::Fails(kind)) => Err(kind.into()),
                _ => Ok(()),
            }
        }
    }

    const BATCHES: [&[u8]; 3] = [b"{\"one\":1}\n{\"two\":2}\n", b"", b"{\"three\":3}\n"];

    /// Delivers the batches, each as often as it takes; answers what the sink has.
    fn deliver(answers: Vec<SinkAnswer>, torn: bool, sync: Sync) -> String {
        let bytes = Arc::default();
        let sink = ScriptedSink {
            answers: answers.into(),
            torn,
            bytes: Arc::clone(&bytes),
        };
        let mut lane = Lane::new(Box::new(sink));
        for batch in BATCHES {
            while lane.deliver(batch, sync).is_err() {}
            lane.next();
        }
        let bytes = bytes.lock().unwrap();
        String::from_utf8(bytes.clone()).unwrap()
    }

    #[test]
    fn a_failure_at_any_byte_leaves_every_line_there_once() {
        let whole = BATCHES.concat();
        for kind in [
            io::ErrorKind::StorageFull,
            io::ErrorKind::BrokenPipe,
            io::ErrorKind::Interrupted,
            io::ErrorKind::WouldBlock,
        ] {
            for at in 0..BATCHES[0].len() {
                let answers = vec![
                    SinkAnswer::Takes(0),
                    SinkAnswer::Takes(at),
                    SinkAnswer::Fails(kind),
                ];
                assert_eq!(deliver(answers, false, Sync::NotWanted).as_bytes(), whole);
            }
        }
    }

    #[test]
    fn half_a_line_of_another_writer_is_ended_first() {
        let text = deliver(
            vec![SinkAnswer::Takes(1), SinkAnswer::Takes(0)],
            true,
            Sync::Wanted,
        );
        assert_eq!(
            text.as_bytes(),
            [b"\n", BATCHES.concat().as_slice()].concat()
        );
    }

    proptest! {
        #[test]
        fn whatever_a_sink_answers_every_line_is_there_once(
            answers in prop::collection::vec(prop_oneof![
                (0..12_usize).prop_map(SinkAnswer::Takes),
                prop::sample::select(vec![
                    SinkAnswer::Fails(io::ErrorKind::StorageFull),
                    SinkAnswer::Fails(io::ErrorKind::Interrupted),
                    SinkAnswer::Fails(io::ErrorKind::Other),
                ]),
            ], 0..40),
            torn: bool,
            synced: bool,
        ) {
            let sync = if synced { Sync::Wanted } else { Sync::NotWanted };
            let text = deliver(answers, torn, sync);
            let expected = [if torn { &b"\n"[..] } else { b"" }, &BATCHES.concat()].concat();
            prop_assert_eq!(text.as_bytes(), expected);
        }
    }
}
