//! One session of the server's, from its handshake to its loss, and the task that sends in it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::{Method, Response};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::gate::{Abandoned, Carried};
use crate::wire::{Era, KnownMethod, Onward};

use super::client::Parts;
use super::events::HttpEvent;
use super::exchange::Exchange;
use super::failure::{Failure, Loss};
use super::headers::Known;
use super::{exchange, headers, listening, notice};

/// How long a cancellation is held back.
const CANCELLATION_DELAY: Duration = Duration::from_millis(100);

/// What the tasks of one life know. None of them outlives it.
pub(super) struct Life {
    pub(super) parts: Arc<Parts>,
    known: Mutex<Known>,
    open: Mutex<HashMap<u64, Opened>>,
    pub(super) slots: Semaphore,
    over: watch::Sender<Option<Loss>>,
}

/// A message on its way.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) carried: Carried,
    pub(super) line: String,
    /// The trace that the server is to go on with.
    pub(super) trace: Option<Onward>,
    /// Of a request.
    pub(super) open: Option<Open>,
}

/// Whether somebody still waits for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Yes,
    No,
}

#[derive(Debug)]
struct Opened {
    era: Era,
    wanted: watch::Sender<Wanted>,
}

/// A request that was not answered yet. Known from before it is queued, so that it can be given up
/// at any time; forgotten when this is dropped.
pub(super) struct Open {
    life: Arc<Life>,
    id: u64,
    era: Era,
    wanted: watch::Receiver<Wanted>,
}

impl Life {
    pub(super) fn new(parts: Arc<Parts>) -> Self {
        let slots = Semaphore::new(parts.settings.max_concurrent);
        Self {
            parts,
            known: Mutex::default(),
            open: Mutex::default(),
            slots,
            over: watch::Sender::new(None),
        }
    }

    /// Sends what is queued, in order, until the life is over or nobody can queue any more.
    pub(super) async fn run(
        self: Arc<Self>,
        mut parcels: mpsc::Receiver<Parcel>,
        events: mpsc::Sender<HttpEvent>,
    ) {
        let mut tasks = JoinSet::new();
        loop {
            let parcel = tokio::select! {
                biased;
                () = self.over() => break,
                Some(task) = tasks.join_next() => {
                    if task.is_err_and(|error| error.is_panic()) {
                        self.end(Loss::Panicked);
                    }
                    continue;
                }
                parcel = parcels.recv() => match parcel {
                    Some(parcel) => parcel,
                    None => break,
                },
            };
            let Parcel {
                carried,
                line,
                trace,
                open,
            } = parcel;
            if let (Carried::Request { method, .. }, Some(open)) = (&carried, open) {
                let method = *method;
                let exchange = Exchange::new(open, method, carried, trace, events.clone());
                tasks.spawn(exchange::run(exchange, line));
                continue;
            }
            let begins = matches!(
                &carried,
                Carried::Notification { method: KnownMethod::Initialized, .. }
                    if headers::era(&carried) == Era::Legacy
            );
            if matches!(carried, Carried::Reply { .. }) {
                // What the server asked is answered whenever it is; nothing waits for that.
                tasks.spawn(notice::send(Arc::clone(&self), carried, line));
                continue;
            }
            if let Some(request) = cancelled(&carried) {
                // From 2026-07-28 on a closed stream says it, and there is no message for it.
                if self.is_stateless(request) {
                    self.abandon(request);
                    continue;
                }
                // On a connection of its own it may overtake the request that it cancels, and then
                // it cancels nothing. When a request has arrived cannot be known before its answer.
                let life = Arc::clone(&self);
                tasks.spawn(async move {
                    sleep(CANCELLATION_DELAY).await;
                    notice::send(Arc::clone(&life), carried, line).await;
                    life.abandon(request);
                });
                continue;
            }
            tokio::select! {
                biased;
                () = self.over() => break,
                () = notice::send(Arc::clone(&self), carried, line) => {}
            }
            if begins {
                tasks.spawn(listening::listen(Arc::clone(&self), events.clone()));
            }
        }
    }

    /// Makes a request known before it is queued.
    pub(super) fn open(self: &Arc<Self>, id: u64, era: Era) -> Open {
        let (sender, wanted) = watch::channel(Wanted::Yes);
        let opened = Opened {
            era,
            wanted: sender,
        };
        self.opened().insert(id, opened);
        Open {
            life: Arc::clone(self),
            id,
            era,
            wanted,
        }
    }

    /// In a session a closed stream cancels nothing, so that the server must be told.
    pub(super) fn abandon(&self, id: u64) -> Abandoned {
        let opened = self.opened();
        let Some(request) = opened.get(&id) else {
            return Abandoned::Closed;
        };
        request.wanted.send_replace(Wanted::No);
        match request.era {
            Era::Legacy => Abandoned::Untold,
            Era::Stateless => Abandoned::Closed,
        }
    }

    fn is_stateless(&self, id: u64) -> bool {
        self.opened()
            .get(&id)
            .is_some_and(|request| request.era == Era::Stateless)
    }

    /// POSTs one message.
    pub(super) async fn post(
        &self,
        carried: &Carried,
        trace: Option<&Onward>,
        line: String,
    ) -> Result<Response, Failure> {
        let mut headers = self.known().of_message(carried)?;
        headers::go_on(&mut headers, trace);
        let limits = &self.parts.settings.from_upstream;
        headers::mirror(&mut headers, &self.parts.mirrors, carried, &line, limits);
        let body = Some(line.into());
        self.parts.send(Method::POST, headers, body).await
    }

    /// Asks for a stream of the session, from after an event on.
    pub(super) async fn get(&self, after: Option<&HeaderValue>) -> Result<Response, Failure> {
        let headers = self.known().of_stream(after);
        self.parts.send(Method::GET, headers, None).await
    }

    /// Tells the server that the session is over, if it has an id. Whatever it answers, it is.
    pub(super) async fn delete(&self) {
        let headers = {
            let mut known = self.known();
            if !known.has_session() {
                return;
            }
            std::mem::take(&mut *known).of_end()
        };
        let told = self.parts.ask(Method::DELETE, headers, None);
        let answered = timeout(self.parts.settings.notice_timeout, told).await;
        if !matches!(answered, Ok(Ok(_))) {
            tracing::debug!(server = %self.parts.settings.name, "the end of the session could not be told");
        }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first reason counts.
    pub(super) fn end(&self, loss: Loss) {
        self.over.send_if_modified(|over| {
            let first = over.is_none();
            if first {
                *over = Some(loss);
            }
            first
        });
    }

    pub(super) fn loss(&self) -> Option<Loss> {
        self.over.borrow().clone()
    }

    async fn over(&self) {
        let mut over = self.over.subscribe();
        // The sender lives as long as `self`.
        let _ = over.wait_for(Option::is_some).await;
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<u64, Opened>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    pub(super) fn life(&self) -> &Arc<Life> {
        &self.life
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn era(&self) -> Era {
        self.era
    }

    /// Resolves when nobody waits for the reply any more.
    pub(super) fn given_up(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut wanted = self.wanted.clone();
        async move {
            // Without a sender the id was used again, which the gate does not do.
            let _ = wanted.wait_for(|wanted| *wanted == Wanted::No).await;
        }
    }
}

/// The request that a message cancels.
fn cancelled(carried: &Carried) -> Option<u64> {
    match carried {
        Carried::Notification {
            method: KnownMethod::Cancelled,
            ends,
            ..
        } => *ends,
        Carried::Notification { .. } | Carried::Request { .. } | Carried::Reply { .. } => None,
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.life.opened().remove(&self.id);
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Open").field(&self.id).finish()
    }
}

impl fmt::Debug for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Life")
            .field("over", &self.loss())
            .finish_non_exhaustive()
    }
}
