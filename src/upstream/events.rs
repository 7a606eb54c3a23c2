//! What the server says, and what becomes of it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::ChildStdout;
use tokio::sync::{Notify, watch};
use tokio::time::{Sleep, sleep};
use tracing::warn;

use crate::egress::Attempts;
use crate::wire::{DiscardReason, LineFrame, LineReader};

use super::backoff::Delays;
use super::child_state::{Shared, Started};
use super::keeper::{Ended, Lifetime, Order, Phase};
use super::process::Exit;
use super::settings::Settings;
use super::start_error::StartError;

/// Something that happened to the server, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// A line, without its line end; borrowed from the buffer that it was read into.
    Line(&'a [u8]),
    /// A line longer than `max_message_bytes`, or than there is memory for; it was thrown away.
    Unread(DiscardReason),
    /// Such a line has ended: it seems to answer the request with this number.
    Answered(u64, DiscardReason),
    /// The process ended, and what it had written was delivered. Reported once for each process.
    Died {
        exit: Exit,
        will_restart_in: Option<Duration>,
    },
    /// A new process runs; it knows nothing of what was sent before.
    Restarted,
    /// There is no server any more and there will be none. Repeated by every further call.
    GaveUp { reason: GiveUp },
}

/// Why a server is not restarted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GiveUp {
    #[error(transparent)]
    CannotStart(StartError),
    #[error("the server ended {tries} times without a completed handshake, last with {last}")]
    NeverReady { tries: u32, last: Exit },
    #[error("the server was stopped")]
    Stopped,
}

/// The half that receives.
pub struct ChildEvents {
    reader: LineReader<ChildStdout>,
    life: Life,
    hints: Hints,
    attempts: Attempts,
}

impl ChildEvents {
    pub(super) fn new(shared: Arc<Shared>, started: Started, attempts: Attempts) -> Self {
        let Started {
            reader,
            phase,
            hang_up,
        } = started;
        let delays = Delays::new(&shared.settings.backoff);
        Self {
            reader,
            life: Life {
                shared,
                delays,
                phase,
                hang_up,
                starts: 1,
                state: State::Running,
            },
            hints: Hints::default(),
            attempts,
        }
    }

    /// The connections that its processes want, where their network is proxied. Only once; until they are
    /// taken, each waits.
    pub fn take_attempts(&mut self) -> Attempts {
        std::mem::replace(&mut self.attempts, Attempts::none())
    }

    /// The next event. Cancel-safe: nothing is lost when the future is dropped.
    ///
    /// The server's output is read only in here: whoever does not call lets it wait.
    pub async fn next(&mut self) -> Event<'_> {
        let Self {
            reader,
            life,
            hints,
            attempts: _,
        } = self;
        match &mut life.state {
            State::Running => {}
            State::Waiting(delay) => {
                tokio::select! {
                    () = delay.as_mut() => {}
                    () = life.shared.stop_ordered() => {
                        return life.give_up(GiveUp::Stopped);
                    }
                }
                return match life.shared.restart() {
                    None => life.give_up(GiveUp::Stopped),
                    Some(Ok(started)) => {
                        *reader = life.restarted(started);
                        Event::Restarted
                    }
                    Some(Err(error)) => life.died(Exit::CannotStart(error), Lifetime::Short),
                };
            }
            State::GivenUp(reason) => {
                return Event::GaveUp {
                    reason: reason.clone(),
                };
            }
        }
        tokio::select! {
            // What was written before the end is delivered before the end is told.
            biased;
            frame = reader.next() => match frame {
                Ok(Some(LineFrame::Line(line))) => {
                    hints.of_line(line, &life.shared.settings);
                    return Event::Line(line);
                }
                Ok(Some(LineFrame::Unread(why))) => return Event::Unread(why),
                Ok(Some(LineFrame::Answered(request, why))) => return Event::Answered(request, why),
                Ok(None) | Err(_) => {}
            },
            () = drained(&mut life.phase) => {}
        }
        life.hang_up.notify_one();
        let Ended { exit, lifetime } = ended(&mut life.phase).await;
        hints.of_end(&life.shared);
        life.died(exit, lifetime)
    }
}

impl fmt::Debug for ChildEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildEvents")
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

/// What the log says once to whoever runs a server, of mistakes that look like the gate's.
#[derive(Debug, Default)]
struct Hints {
    stray: bool,
    confined: bool,
}

impl Hints {
    /// Says nothing of what the line holds: it may be anything.
    fn of_line(&mut self, line: &[u8], settings: &Settings) {
        let begins = line.iter().find(|byte| !byte.is_ascii_whitespace());
        if self.stray || matches!(begins, None | Some(b'{' | b'[')) {
            return;
        }
        self.stray = true;
        warn!(
            upstream = settings.name,
            "the server writes text to its standard output, where only messages belong: logs and \
             banners go to standard error; such lines are dropped, and recorded"
        );
    }

    fn of_end(&mut self, shared: &Shared) {
        let is_early = !shared.was_handshaken() && !shared.is_stopping();
        if self.confined || !is_early || shared.settings.sandbox.is_none() {
            return;
        }
        self.confined = true;
        warn!(
            upstream = shared.settings.name,
            "the server ended before its handshake, and is confined by `upstream.sandbox`: it may \
             lack something to read or to execute (interpreters, modules, a home, caches)"
        );
    }
}

#[derive(Debug)]
struct Life {
    shared: Arc<Shared>,
    delays: Delays,
    phase: watch::Receiver<Phase>,
    hang_up: Arc<Notify>,
    starts: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    Running,
    Waiting(Pin<Box<Sleep>>),
    GivenUp(GiveUp),
}

impl Life {
    fn restarted(&mut self, started: Started) -> LineReader<ChildStdout> {
        self.phase = started.phase;
        self.hang_up = started.hang_up;
        self.starts = self.starts.saturating_add(1);
        self.state = State::Running;
        started.reader
    }

    fn died(&mut self, exit: Exit, lifetime: Lifetime) -> Event<'static> {
        let ready = self.shared.was_handshaken();
        let tries = self.shared.settings.backoff.tries;
        let give_up = match &exit {
            _ if self.shared.is_stopping() => Some(GiveUp::Stopped),
            // One that ran before may be in the middle of an update.
            Exit::CannotStart(error) if !ready => Some(GiveUp::CannotStart(error.clone())),
            _ if !ready && self.starts >= tries => Some(GiveUp::NeverReady {
                tries: self.starts,
                last: exit.clone(),
            }),
            Exit::Code(_) | Exit::CannotStart(_) | Exit::Stuck => None,
        };
        if let Some(reason) = give_up {
            self.shared.orders.send_replace(Order::Stop);
            self.state = State::GivenUp(reason);
            return Event::Died {
                exit,
                will_restart_in: None,
            };
        }
        if lifetime == Lifetime::Stable {
            self.delays.reset();
        }
        let delay = self.delays.next_delay();
        self.state = State::Waiting(Box::pin(sleep(delay)));
        Event::Died {
            exit,
            will_restart_in: Some(delay),
        }
    }

    fn give_up(&mut self, reason: GiveUp) -> Event<'static> {
        self.state = State::GivenUp(reason.clone());
        Event::GaveUp { reason }
    }
}

async fn drained(phase: &mut watch::Receiver<Phase>) {
    // An error means that the keeper is gone with its runtime.
    let _ = phase
        .wait_for(|phase| matches!(phase, Phase::Drained(_)))
        .await;
}

async fn ended(phase: &mut watch::Receiver<Phase>) -> Ended {
    let ended = phase.wait_for(|phase| phase.ended().is_some()).await;
    ended
        .ok()
        .and_then(|phase| phase.ended().cloned())
        .unwrap_or(Ended {
            exit: Exit::Stuck,
            lifetime: Lifetime::Short,
        })
}
