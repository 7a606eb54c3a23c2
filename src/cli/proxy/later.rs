//! A server that is started with the first message for it: what is refused before the server is
//! needed starts nobody's program.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::Notify;
use tracing::error;

use crate::upstream::{ChildEvents, ChildProcess, ChildSender, Settings, StartError};

use super::starts::{Started, Starts};

/// A command, and the process that it becomes.
#[derive(Debug)]
pub(super) struct Later {
    settings: Arc<Settings>,
    starts: Starts,
    /// The process, or none if there will be none. Set once.
    child: OnceLock<Option<(ChildSender, Started)>>,
    /// What became of the start, until whoever listens takes it.
    begun: Mutex<Option<Begun>>,
    told: Notify,
}

/// What became of the start.
#[derive(Debug)]
pub(super) enum Begun {
    Running(Box<ChildEvents>, Started),
    Failed(StartError),
}

impl Later {
    pub(super) fn new(settings: Arc<Settings>, starts: Starts) -> Arc<Self> {
        Arc::new(Self {
            settings,
            starts,
            child: OnceLock::new(),
            begun: Mutex::default(),
            told: Notify::new(),
        })
    }

    /// The process, which is started if it was not. Must be called inside a tokio runtime.
    pub(super) fn start(&self) -> Option<&(ChildSender, Started)> {
        let child = self.child.get_or_init(|| {
            let (child, begun) = match ChildProcess::start((*self.settings).clone()) {
                Ok((sender, events)) => {
                    let started = self.starts.begin();
                    let begun = Begun::Running(Box::new(events), started.clone());
                    (Some((sender, started)), begun)
                }
                Err(cause) => {
                    error!("{cause}");
                    self.starts.failed();
                    (None, Begun::Failed(cause))
                }
            };
            *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
            self.told.notify_one();
            child
        });
        child.as_ref()
    }

    /// The process, if there is one.
    pub(super) fn running(&self) -> Option<&(ChildSender, Started)> {
        self.child.get()?.as_ref()
    }

    /// The same; from now on there will be none if there is none.
    pub(super) fn last(&self) -> Option<&(ChildSender, Started)> {
        self.child.get_or_init(|| None).as_ref()
    }

    /// What becomes of the start; only once. Cancel-safe: whoever listens is one.
    pub(super) async fn begun(&self) -> Begun {
        loop {
            let begun = self
                .begun
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(begun) = begun {
                return begun;
            }
            self.told.notified().await;
        }
    }
}
