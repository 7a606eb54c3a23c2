//! One session of the server's, from its handshake to its loss, and the tasks that send in it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderValue;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::gate::{Abandoned, Carried, UpstreamFault};
use crate::wire::{Era, KnownMethod, OutgoingTrace};

use super::client::Parts;
use super::connections::Response;
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
    requests: Mutex<Requests>,
    /// Messages in the queue, with the one that is being sent.
    queued: AtomicUsize,
    /// Rung when there is none left.
    emptied: Notify,
    pub(super) slots: Semaphore,
    over: watch::Sender<Option<Loss>>,
}

#[derive(Debug)]
struct Requests {
    open: HashMap<u64, Opened>,
    /// Where their answers go, until the life is over.
    events: Option<mpsc::Sender<HttpEvent>>,
}

/// A message on its way.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) carried: Carried,
    pub(super) line: String,
    /// The trace that the server is to go on with.
    pub(super) trace: Option<OutgoingTrace>,
    /// Of a request.
    pub(super) open: Option<Open>,
}

/// A parcel in the queue.
#[derive(Debug)]
pub(super) struct Queued {
    parcel: Parcel,
    place: InQueue,
}

/// Counted until it is dropped.
#[derive(Debug)]
struct InQueue(Arc<Life>);

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
    /// Once it is on its way.
    task: Option<AbortHandle>,
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
    /// A life that tells what comes of its requests to `events`.
    pub(super) fn new(parts: Arc<Parts>, events: mpsc::Sender<HttpEvent>) -> Self {
        let slots = Semaphore::new(parts.settings.max_concurrent);
        Self {
            parts,
            known: Mutex::default(),
            requests: Mutex::new(Requests {
                open: HashMap::new(),
                events: Some(events),
            }),
            queued: AtomicUsize::new(0),
            emptied: Notify::new(),
            slots,
            over: watch::Sender::new(None),
        }
    }

    /// Sends what is queued, in order, until the life is over or nobody can queue any more.
    pub(super) async fn run(self: Arc<Self>, mut queue: mpsc::Receiver<Queued>) {
        let _last = Last(Arc::clone(&self));
        let mut tasks = JoinSet::new();
        loop {
            let queued = tokio::select! {
                biased;
                () = self.over() => break,
                Some(task) = tasks.join_next() => {
                    if task.is_err_and(|error| error.is_panic()) {
                        self.end(Loss::Panicked);
                    }
                    continue;
                }
                queued = queue.recv() => match queued {
                    Some(queued) => queued,
                    None => break,
                },
            };
            // It counts as queued until it is dropped.
            let Queued { parcel, place } = queued;
            let Ok(Some(Parcel { carried, line, .. })) = self.set_out(parcel) else {
                continue;
            };
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
                    let _place = place;
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
            if begins && let Some(events) = self.events() {
                tasks.spawn(listening::listen(Arc::clone(&self), events));
            }
        }
    }

    /// Takes one message to be sent: a request at once where nothing is to arrive before it, without
    /// the detour over the task that keeps the order. What is returned must be queued.
    pub(super) fn take(self: &Arc<Self>, parcel: Parcel) -> Result<Option<Queued>, UpstreamFault> {
        let first = self.queued.fetch_add(1, Ordering::AcqRel) == 0;
        let place = InQueue(Arc::clone(self));
        if !first {
            return Ok(Some(Queued { parcel, place }));
        }
        let left = self.set_out(parcel)?;
        Ok(left.map(|parcel| Queued { parcel, place }))
    }

    /// Sends a request in a task of its own; returns what is none.
    fn set_out(self: &Arc<Self>, parcel: Parcel) -> Result<Option<Parcel>, UpstreamFault> {
        let Parcel {
            carried,
            line,
            trace,
            open,
        } = parcel;
        let (method, open) = match (&carried, open) {
            (Carried::Request { method, .. }, Some(open)) => (*method, open),
            (_, open) => {
                return Ok(Some(Parcel {
                    carried,
                    line,
                    trace,
                    open,
                }));
            }
        };
        let events = self.events().filter(|_| self.over.borrow().is_none());
        let events = events.ok_or(UpstreamFault::Down)?;
        let id = open.id;
        let unwound = Unwound(Arc::clone(self));
        let exchange = Exchange::new(open, method, carried, trace, events);
        let task = tokio::spawn(async move {
            let _unwound = unwound;
            exchange::run(exchange, line).await;
        });
        let is_over = {
            let mut requests = self.requests();
            if let Some(opened) = requests.open.get_mut(&id) {
                opened.task = Some(task.abort_handle());
            }
            requests.events.is_none()
        };
        if is_over {
            task.abort();
        }
        Ok(None)
    }

    /// Makes a request known before it is queued.
    pub(super) fn open(self: &Arc<Self>, id: u64, era: Era) -> Open {
        let (sender, wanted) = watch::channel(Wanted::Yes);
        let opened = Opened {
            era,
            wanted: sender,
            task: None,
        };
        self.requests().open.insert(id, opened);
        Open {
            life: Arc::clone(self),
            id,
            era,
            wanted,
        }
    }

    /// In a session a closed stream cancels nothing, so that the server must be told.
    pub(super) fn abandon(&self, id: u64) -> Abandoned {
        let requests = self.requests();
        let Some(request) = requests.open.get(&id) else {
            return Abandoned::Closed;
        };
        request.wanted.send_replace(Wanted::No);
        match request.era {
            Era::Legacy => Abandoned::Untold,
            Era::Stateless => Abandoned::Closed,
        }
    }

    fn is_stateless(&self, id: u64) -> bool {
        self.requests()
            .open
            .get(&id)
            .is_some_and(|request| request.era == Era::Stateless)
    }

    /// POSTs one message.
    pub(super) async fn post(
        &self,
        carried: &Carried,
        trace: Option<&OutgoingTrace>,
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

    /// Waits until nothing is queued, or nothing of it will be sent.
    pub(super) async fn emptied(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.queued.load(Ordering::Acquire) == 0 {
                return;
            }
            tokio::select! {
                () = emptied => {}
                () = self.over() => return,
            }
        }
    }

    async fn over(&self) {
        let mut over = self.over.subscribe();
        // The sender lives as long as `self`.
        let _ = over.wait_for(Option::is_some).await;
    }

    fn events(&self) -> Option<mpsc::Sender<HttpEvent>> {
        self.requests().events.clone()
    }

    /// Nothing more is told, and nothing is on its way any more.
    fn stop_all(&self) {
        let (events, tasks) = {
            let mut requests = self.requests();
            let tasks = requests.open.values().filter_map(|it| it.task.clone());
            let tasks: Vec<AbortHandle> = tasks.collect();
            (requests.events.take(), tasks)
        };
        drop(events);
        for task in tasks {
            task.abort();
        }
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.life.requests().open.remove(&self.id);
    }
}

impl Drop for InQueue {
    fn drop(&mut self) {
        if self.0.queued.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.emptied.notify_waiters();
        }
    }
}

/// The life is over when this is dropped, however its task ended.
struct Last(Arc<Life>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.stop_all();
    }
}

/// Ends the life if this is dropped in a panic.
struct Unwound(Arc<Life>);

impl Drop for Unwound {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end(Loss::Panicked);
        }
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
