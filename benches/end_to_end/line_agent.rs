//! An agent over standard streams, with any number of calls in flight.

use std::io::{Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::measure::{Failure, now};
use super::messages::{Call, INITIALIZE, INITIALIZED, LIST, find, id_of, is_result};
use super::pause::Pauses;

/// Bytes in flight that pipes hold without a reader.
const IN_PIPES: usize = 32 * 1024;
/// Calls of an open loop that wait for their answers at most; a later one is late, and counted from when it was due.
const MOST_WAITING: usize = 200;

#[derive(Debug)]
pub(crate) struct LineAgent {
    input: Input,
    output: Output,
    /// The id of the latest call.
    last: u64,
}

#[derive(Debug)]
struct Input {
    pipe: ChildStdin,
    line: Vec<u8>,
}

impl Input {
    fn send(&mut self, start: &[u8], rest: &[u8]) -> Result<(), Failure> {
        self.line.clear();
        for part in [start, rest, b"\n"] {
            self.line.extend_from_slice(part);
        }
        Ok(self.pipe.write_all(&self.line)?)
    }

    fn call(&mut self, call: &Call, id: u64) -> Result<(), Failure> {
        let (start, rest) = call.parts(id);
        self.send(start.as_bytes(), rest)
    }
}

#[derive(Debug)]
struct Output {
    pipe: ChildStdout,
    buffer: Vec<u8>,
    /// What of the buffer is read and not taken yet.
    held: std::ops::Range<usize>,
    line: Vec<u8>,
}

impl Output {
    /// The next line, which must be a result.
    fn receive(&mut self) -> Result<&[u8], Failure> {
        self.line.clear();
        loop {
            let held = self.buffer.get(self.held.clone()).unwrap_or_default();
            if let Some(end) = held.iter().position(|byte| *byte == b'\n') {
                self.line
                    .extend_from_slice(held.get(..end).unwrap_or_default());
                self.held.start += end + 1;
                break;
            }
            self.line.extend_from_slice(held);
            let read = self.pipe.read(&mut self.buffer)?;
            self.held = 0..read;
            if read == 0 {
                return Err("the other side ended".into());
            }
        }
        if is_result(&self.line) {
            return Ok(&self.line);
        }
        let start = self.line.get(..300).unwrap_or(&self.line);
        Err(String::from_utf8_lossy(start).into_owned().into())
    }

    /// The id of the next result.
    fn receive_id(&mut self) -> Result<u64, Failure> {
        id_of(self.receive()?).ok_or_else(|| "an answer without an id".into())
    }
}

/// When the calls of one turn were sent, by their ids.
struct Sent {
    first: u64,
    at: Vec<Instant>,
}

impl Sent {
    fn since(&self, id: u64) -> Result<Duration, Failure> {
        let nth = usize::try_from(id.wrapping_sub(self.first))?;
        let at = self.at.get(nth).ok_or("an answer to no call")?;
        Ok(at.elapsed())
    }
}

impl LineAgent {
    pub(crate) fn new(pipe: ChildStdin, output: ChildStdout) -> Self {
        Self {
            input: Input {
                pipe,
                line: Vec::new(),
            },
            output: Output {
                pipe: output,
                buffer: vec![0; 64 * 1024],
                held: 0..0,
                line: Vec::new(),
            },
            last: 0,
        }
    }

    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        self.input.send(INITIALIZE.as_bytes(), &[])?;
        self.output.receive()?;
        self.input.send(INITIALIZED.as_bytes(), &[])?;
        self.list()
    }

    pub(crate) fn list(&mut self) -> Result<(), Failure> {
        self.input.send(LIST.as_bytes(), &[])?;
        let list = self.output.receive()?;
        if find(list, b"\"tools\"").is_some() {
            return Ok(());
        }
        Err("no list of tools".into())
    }

    /// So many calls in flight until then; the time that each took.
    pub(crate) fn calls_until(
        &mut self,
        call: &Call,
        in_flight: usize,
        until: Instant,
    ) -> Result<Vec<Duration>, Failure> {
        if in_flight > 1 && in_flight.saturating_mul(call.bytes()) > IN_PIPES {
            return self.large_calls_until(call, in_flight, until);
        }
        let mut sent = Sent {
            first: self.last + 1,
            at: Vec::new(),
        };
        let mut times = Vec::new();
        for _ in 0..in_flight {
            self.send(call, &mut sent)?;
        }
        let mut waiting = in_flight;
        while waiting > 0 {
            let id = self.output.receive_id()?;
            times.push(sent.since(id)?);
            if now() < until {
                self.send(call, &mut sent)?;
            } else {
                waiting -= 1;
            }
        }
        Ok(times)
    }

    fn send(&mut self, call: &Call, sent: &mut Sent) -> Result<(), Failure> {
        self.last += 1;
        sent.at.push(now());
        self.input.call(call, self.last)
    }

    /// The same with a thread that writes while this one reads, so that full pipes stop neither.
    fn large_calls_until(
        &mut self,
        call: &Call,
        in_flight: usize,
        until: Instant,
    ) -> Result<Vec<Duration>, Failure> {
        let (permits, permitted) = sync_channel::<()>(in_flight);
        let (tell, told) = sync_channel::<Instant>(2 * in_flight);
        let first = self.last + 1;
        let (input, output) = (&mut self.input, &mut self.output);
        let (times, sent) = std::thread::scope(|scope| {
            let writer =
                scope.spawn(move || write_permitted(input, call, first, &permitted, &tell));
            let mut sent = Sent {
                first,
                at: Vec::new(),
            };
            let times = read_results(output, permits, &told, &mut sent, (in_flight, until));
            let written = writer.join().map_err(|_| "the writer panicked")?;
            written?;
            Ok::<_, Failure>((times?, sent.at.len()))
        })?;
        self.last += u64::try_from(sent)?;
        Ok(times)
    }

    /// So many calls, one each interval whether or not earlier ones are answered. Each time counts from when the call
    /// was due.
    pub(crate) fn calls_at(
        &mut self,
        call: &Call,
        calls: u64,
        interval: Duration,
    ) -> Result<Vec<Duration>, Failure> {
        let (permits, permitted) = sync_channel::<()>(MOST_WAITING);
        let first = self.last + 1;
        self.last += calls;
        let (input, output) = (&mut self.input, &mut self.output);
        let start = now();
        let due = |nth: u64| start + Duration::from_secs_f64(interval.as_secs_f64() * float(nth));
        std::thread::scope(|scope| {
            let writer = scope.spawn(move || {
                let pauses = Pauses::new();
                for nth in 0..calls {
                    pauses.until(due(nth));
                    permits.send(())?;
                    input.call(call, first + nth)?;
                }
                Ok::<(), Failure>(())
            });
            let mut times = Vec::new();
            for _ in 0..calls {
                let id = output.receive_id()?;
                times.push(due(id.saturating_sub(first)).elapsed());
                permitted.recv()?;
            }
            writer.join().map_err(|_| "the writer panicked")??;
            Ok(times)
        })
    }
}

fn float(number: u64) -> f64 {
    u32::try_from(number).map_or(f64::from(u32::MAX), f64::from)
}

/// Sends a call for each permit.
fn write_permitted(
    input: &mut Input,
    call: &Call,
    first: u64,
    permitted: &Receiver<()>,
    tell: &SyncSender<Instant>,
) -> Result<(), Failure> {
    let mut id = first;
    while permitted.recv().is_ok() {
        tell.send(now())?;
        input.call(call, id)?;
        id += 1;
    }
    Ok(())
}

/// Gives permits for so many calls in flight until then, and reads all results.
fn read_results(
    output: &mut Output,
    permits: SyncSender<()>,
    told: &Receiver<Instant>,
    sent: &mut Sent,
    (in_flight, until): (usize, Instant),
) -> Result<Vec<Duration>, Failure> {
    let mut times = Vec::new();
    for _ in 0..in_flight {
        permits.send(())?;
    }
    let mut waiting = in_flight;
    while waiting > 0 {
        let id = output.receive_id()?;
        sent.at.extend(told.try_iter());
        times.push(sent.since(id)?);
        if now() < until {
            permits.send(())?;
        } else {
            waiting -= 1;
        }
    }
    drop(permits);
    Ok(times)
}
