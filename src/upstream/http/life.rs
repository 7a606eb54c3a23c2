//! One session of the server's, from its handshake to its loss.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::Method;
use hyper::header::HeaderValue;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::gate::{Abandoned, Carried, UserProof};
use crate::mailbox;
use crate::once::Once;
use crate::wire::{Era, OutgoingTrace};

use super::connections::Response;
use super::failure::{Failure, Loss};
use super::headers::{self, Known};
use super::http_event::HttpEvent;
use super::parts::Parts;

/// What the tasks of one life know. None of them outlives it.
pub(super) struct Life {
    pub(super) parts: Arc<Parts>,
    known: Mutex<Known>,
    /// The proof of the latest message. Streams and the end of the session are requests for its principal.
    proof: Mutex<Option<UserProof>>,
    pub(super) requests: Mutex<Requests>,
    /// Messages in the queue, with the one that is being sent.
    pub(super) queued: AtomicUsize,
    /// Rung when there is none left.
    pub(super) emptied: Notify,
    pub(super) slots: Semaphore,
    pub(super) over: Once<Loss>,
}

#[derive(Debug)]
pub(super) struct Requests {
    pub(super) open: HashMap<u64, Opened>,
    /// Where their answers go, until the life is over.
    pub(super) events: Option<mailbox::Sender<HttpEvent>>,
}

/// Whether somebody still waits for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Yes,
    No,
}

#[derive(Debug)]
pub(super) struct Opened {
    era: Era,
    wanted: watch::Sender<Wanted>,
    /// Once it is on its way.
    pub(super) task: Option<AbortHandle>,
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
    pub(super) fn new(parts: Arc<Parts>, events: mailbox::Sender<HttpEvent>) -> Self {
        let slots = Semaphore::new(parts.settings.max_concurrent);
        Self {
            parts,
            known: Mutex::default(),
            proof: Mutex::default(),
            requests: Mutex::new(Requests {
                open: HashMap::new(),
                events: Some(events),
            }),
            queued: AtomicUsize::new(0),
            emptied: Notify::new(),
            slots,
            over: Once::default(),
        }
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

    pub(super) fn is_stateless(&self, id: u64) -> bool {
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
        proof: Option<&UserProof>,
        line: String,
    ) -> Result<Response, Failure> {
        let mut headers = self.known().of_message(carried)?;
        if let Some(proof) = proof {
            *self.proof.lock().unwrap_or_else(PoisonError::into_inner) = Some(proof.clone());
        }
        headers::go_on(&mut headers, trace);
        let limits = &self.parts.settings.from_upstream;
        headers::mirror(&mut headers, &self.parts.mirrors, carried, &line, limits);
        headers::identify(&mut headers, proof, self.now())?;
        let body = Some(line.into());
        let subject = headers::subject(proof);
        self.parts.send(Method::POST, headers, body, subject).await
    }

    /// Asks for a stream of the session, from after an event on.
    pub(super) async fn get(&self, after: Option<&HeaderValue>) -> Result<Response, Failure> {
        let mut headers = self.known().of_stream(after);
        let proof = self.proof();
        headers::identify(&mut headers, proof.as_ref(), self.now())?;
        let subject = headers::subject(proof.as_ref());
        self.parts.send(Method::GET, headers, None, subject).await
    }

    /// Tells the server that the session is over, if it has an id. Whatever it answers, it is.
    pub(super) async fn delete(&self) {
        let mut headers = {
            let mut known = self.known();
            if !known.has_session() {
                return;
            }
            std::mem::take(&mut *known).of_end()
        };
        let told = async {
            let proof = self.proof();
            headers::identify(&mut headers, proof.as_ref(), self.now())?;
            let subject = headers::subject(proof.as_ref());
            self.parts.ask(Method::DELETE, headers, None, subject).await
        };
        let answered = timeout(self.parts.settings.notice_timeout, told).await;
        if !matches!(answered, Ok(Ok(_))) {
            tracing::debug!(server = %self.parts.settings.name, "the end of the session could not be told");
        }
    }

    /// Seconds since 1970.
    fn now(&self) -> i64 {
        self.parts.settings.clock.now().as_second()
    }

    fn proof(&self) -> Option<UserProof> {
        let proof = self.proof.lock().unwrap_or_else(PoisonError::into_inner);
        proof.clone()
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first reason counts.
    pub(super) fn end(&self, loss: Loss) {
        self.over.set(loss);
    }

    pub(super) fn loss(&self) -> Option<Loss> {
        self.over.get().cloned()
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

    pub(super) async fn over(&self) {
        self.over.wait().await;
    }

    pub(super) fn events(&self) -> Option<mailbox::Sender<HttpEvent>> {
        self.requests().events.clone()
    }

    /// Nothing more is told, and nothing is on its way any more.
    pub(super) fn stop_all(&self) {
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

    pub(super) fn requests(&self) -> MutexGuard<'_, Requests> {
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

impl Drop for Open {
    fn drop(&mut self) {
        self.life.requests().open.remove(&self.id);
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
