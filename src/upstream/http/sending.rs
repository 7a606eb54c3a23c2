//! The tasks that send in one session of the server's.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::gate::{Carried, UpstreamFault, UserProof};
use crate::mailbox;
use crate::wire::{Era, KnownMethod, OutgoingTrace};

use super::exchange::Exchange;
use super::failure::Loss;
use super::life::{Life, Open};
use super::{exchange, headers, listening, notice};

/// How long a cancellation is held back.
const CANCELLATION_DELAY: Duration = Duration::from_millis(100);

/// A message on its way.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) carried: Carried,
    pub(super) line: String,
    /// The trace that the server is to go on with.
    pub(super) trace: Option<OutgoingTrace>,
    /// By what the server knows the user.
    pub(super) proof: Option<UserProof>,
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

impl Life {
    /// Sends the queue in order, until the life is over or the queue is closed.
    pub(super) async fn run(self: Arc<Self>, mut queue: mailbox::Receiver<Box<Queued>>) {
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
            let Queued { parcel, place } = *queued;
            let Ok(Some(Parcel {
                carried,
                line,
                proof,
                ..
            })) = self.set_out(parcel)
            else {
                continue;
            };
            let begins = matches!(
                &carried,
                Carried::Notification { method: KnownMethod::Initialized, .. }
                    if headers::era(&carried) == Era::Legacy
            );
            if matches!(carried, Carried::Reply { .. }) {
                // What the server asked is answered whenever it is; nothing waits for that.
                tasks.spawn(notice::send(Arc::clone(&self), carried, proof, line));
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
                    notice::send(Arc::clone(&life), carried, proof, line).await;
                    life.abandon(request);
                });
                continue;
            }
            // Boxed: the session holds no room for it while nothing is sent.
            let sent = Box::pin(notice::send(Arc::clone(&self), carried, proof, line));
            tokio::select! {
                biased;
                () = self.over() => break,
                () = sent => {}
            }
            if begins && let Some(events) = self.events() {
                tasks.spawn(listening::listen(Arc::clone(&self), events));
            }
        }
    }

    /// Takes one message to be sent: a request at once where nothing is to arrive before it, without
    /// the detour over the task that keeps the order. What is returned must be queued.
    pub(super) fn take(
        self: &Arc<Self>,
        parcel: Parcel,
    ) -> Result<Option<Box<Queued>>, UpstreamFault> {
        let first = self.queued.fetch_add(1, Ordering::AcqRel) == 0;
        let place = InQueue(Arc::clone(self));
        if !first {
            return Ok(Some(Box::new(Queued { parcel, place })));
        }
        let left = self.set_out(parcel)?;
        Ok(left.map(|parcel| Box::new(Queued { parcel, place })))
    }

    /// Sends a request in a task of its own; returns what is none.
    fn set_out(self: &Arc<Self>, parcel: Parcel) -> Result<Option<Parcel>, UpstreamFault> {
        let Parcel {
            carried,
            line,
            trace,
            proof,
            open,
        } = parcel;
        let (method, open) = match (&carried, open) {
            (Carried::Request { method, .. }, Some(open)) => (*method, open),
            (_, open) => {
                return Ok(Some(Parcel {
                    carried,
                    line,
                    trace,
                    proof,
                    open,
                }));
            }
        };
        let events = self.events().filter(|_| self.over.get().is_none());
        let events = events.ok_or(UpstreamFault::Down)?;
        let id = open.id();
        let unwound = Unwound(Arc::clone(self));
        let exchange = Exchange::new(open, method, carried, (trace, proof), events);
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
