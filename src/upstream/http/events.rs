//! What the server says, and what becomes of the session.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tokio::time::{Sleep, sleep};

use crate::mailbox;
use crate::upstream::Delays;

use super::failure::Loss;
use super::http_event::{HttpEvent, HttpGiveUp};
use super::life::Life;
use super::sender::Conversation;

/// The half that receives.
pub struct HttpEvents {
    conversation: Arc<Conversation>,
    delays: Delays,
    lives: u32,
    state: State,
}

enum State {
    Living(Living),
    Waiting(Pin<Box<Sleep>>),
    GivenUp(HttpGiveUp),
}

struct Living {
    life: Arc<Life>,
    events: mailbox::Receiver<HttpEvent>,
    /// Runs until the life counts as a stable one.
    stable: Option<Pin<Box<Sleep>>>,
}

impl HttpEvents {
    pub(super) fn new(
        conversation: Arc<Conversation>,
        life: Arc<Life>,
        events: mailbox::Receiver<HttpEvent>,
        delays: Delays,
    ) -> Self {
        let living = Living::new(life, events);
        Self {
            conversation,
            delays,
            lives: 1,
            state: State::Living(living),
        }
    }

    /// The next event. Cancel-safe: nothing is lost when the future is dropped.
    ///
    /// What the server says is read only as fast as this is called.
    pub async fn next(&mut self) -> HttpEvent {
        loop {
            match &mut self.state {
                State::Living(living) => {
                    if let Some(event) = living.next().await {
                        return event;
                    }
                    return self.died();
                }
                State::Waiting(delay) => {
                    tokio::select! {
                        () = delay.as_mut() => {}
                        () = self.conversation.stop_ordered() => {
                            self.state = State::GivenUp(HttpGiveUp::Stopped);
                            continue;
                        }
                    }
                    let (life, events) = self.conversation.begin();
                    self.lives = self.lives.saturating_add(1);
                    self.state = State::Living(Living::new(life, events));
                    return HttpEvent::Restarted;
                }
                State::GivenUp(reason) => {
                    return HttpEvent::GaveUp {
                        reason: reason.clone(),
                    };
                }
            }
        }
    }

    fn died(&mut self) -> HttpEvent {
        let State::Living(living) = &self.state else {
            return HttpEvent::GaveUp {
                reason: HttpGiveUp::Stopped,
            };
        };
        let reason = living.life.loss().unwrap_or(Loss::Unfit);
        let stable = living.stable.is_none();
        let life = Arc::clone(&living.life);
        self.conversation.lost();
        let ready = self.conversation.was_handshaken();
        let tries = self.conversation.settings().backoff.tries;
        let given_up = if self.conversation.is_stopping() {
            Some(HttpGiveUp::Stopped)
        } else if !ready && self.lives >= tries {
            Some(HttpGiveUp::NeverReady {
                tries: self.lives,
                last: reason.clone(),
            })
        } else {
            None
        };
        if reason == Loss::Unfit && !self.conversation.is_stopping() {
            // The server still keeps it.
            tokio::spawn(async move { life.delete().await });
        }
        if let Some(given_up) = given_up {
            self.state = State::GivenUp(given_up);
            return HttpEvent::Died {
                reason,
                will_restart_in: None,
            };
        }
        // However long it lived, one that was of no use does not come back sooner.
        if stable && ready && reason != Loss::Unfit {
            self.delays.reset();
        }
        let delay = self.delays.next_delay();
        self.state = State::Waiting(Box::pin(sleep(delay)));
        HttpEvent::Died {
            reason,
            will_restart_in: Some(delay),
        }
    }
}

impl Living {
    fn new(life: Arc<Life>, events: mailbox::Receiver<HttpEvent>) -> Self {
        let stable_after = life.parts.settings.backoff.stable_after;
        Self {
            life,
            events,
            stable: Some(Box::pin(sleep(stable_after))),
        }
    }

    /// `None` when the life is over and its events were told.
    async fn next(&mut self) -> Option<HttpEvent> {
        while let Some(stable) = &mut self.stable {
            tokio::select! {
                biased;
                event = self.events.recv() => return event,
                () = stable.as_mut() => self.stable = None,
            }
        }
        self.events.recv().await
    }
}

/// Nobody hears what is said any more. The server still keeps the session, which
/// [`stop`](super::HttpSender::stop) ends there.
impl Drop for HttpEvents {
    fn drop(&mut self) {
        if let State::Living(living) = &self.state {
            living.life.end(Loss::Unfit);
        }
    }
}

impl fmt::Debug for HttpEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Living(_) => "living",
            State::Waiting(_) => "waiting",
            State::GivenUp(_) => "given up",
        };
        f.debug_struct("HttpEvents")
            .field("state", &state)
            .field("lives", &self.lives)
            .finish_non_exhaustive()
    }
}
