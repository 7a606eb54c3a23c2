//! What the gate does for each of its servers while no agent asks for it.

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinSet;
use tracing::error;

use super::parts::Parts;
use super::trials::Tried;
use super::{pulse, saved_results, trial};

/// The tasks of all servers, each until its server is removed or the gate stops.
#[derive(Debug)]
pub(super) struct Upkeep {
    /// Where health cannot be asked for, it is not worth a request.
    probes: Probes,
    tasks: Mutex<JoinSet<()>>,
}

/// Whether the gate finds out by itself whether servers are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probes {
    Sent,
    Off,
}

impl Upkeep {
    pub(super) fn new(probes: Probes) -> Self {
        Self {
            probes,
            tasks: Mutex::default(),
        }
    }

    /// Must be called inside a tokio runtime.
    pub(super) fn begin(&self, parts: Arc<Parts>) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(ended) = tasks.try_join_next() {
            broke_off(&ended);
        }
        tasks.spawn(keep(parts, self.probes));
    }

    /// Waits for all of them. They end with the gate.
    pub(super) async fn ended(&self) {
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while let Some(ended) = tasks.join_next().await {
            broke_off(&ended);
        }
    }
}

async fn keep(parts: Arc<Parts>, probes: Probes) {
    let instances: Vec<Tried> = match probes {
        Probes::Sent => {
            let all = std::iter::once(&parts.open).chain(&parts.isolated);
            all.cloned().collect()
        }
        Probes::Off => Vec::new(),
    };
    let tried = instances.iter().filter(|server| server.trials.are_made());
    let trials: Vec<_> = tried
        .map(|server| trial::keep(Parts::clone(&parts), server.clone()))
        .collect();
    tokio::select! {
        _ = parts.shutdown.requested() => {}
        never = keep_asking(&instances) => match never {},
        never = saved_results::keep_removing(&parts.gate) => match never {},
    }
    for trial in trials {
        if trial.await.is_err() {
            error!("the handshakes of the gate's own broke off");
        }
    }
}

/// Asks whether each of them is there.
async fn keep_asking(instances: &[Tried]) -> Infallible {
    let mut asking = JoinSet::new();
    for server in instances.iter().cloned() {
        asking.spawn(async move { pulse::keep_asking(&server.upstreams).await });
    }
    match asking.join_next().await {
        Some(Ok(never)) => match never {},
        // A task that broke off must not stop the others.
        Some(Err(_)) | None => pending().await,
    }
}

fn broke_off(ended: &Result<(), tokio::task::JoinError>) {
    if let Err(cause) = ended {
        error!("the upkeep of a server broke off: {cause}");
    }
}
