//! New policies while the gate runs: when the directory changes, and at a signal.

use std::future::pending;
use std::io;
use std::sync::Arc;

use tracing::{info, warn};

use crate::audit::Reason;
use crate::gate::{Agent, AgentGone, Gate, Talk, Upstream};
use crate::loading::{Loaded, Taken, Turn, Watch};
use crate::policy::{PolicyErrors, PolicySnapshot};

use super::super::report;

/// Where new policies come from.
pub(super) struct Renewal {
    /// None without a policy directory.
    watch: Option<Watch>,
    signal: Signal,
}

impl Renewal {
    /// Listens for the signal from now on: before, it ends the gate. Must be called inside a tokio
    /// runtime.
    pub(super) fn of(watch: Option<Watch>) -> io::Result<Self> {
        Ok(Self {
            watch,
            signal: Signal::new()?,
        })
    }

    /// Publishes what is new until the agent has gone.
    pub(super) async fn run<U: Upstream, A: Agent>(
        mut self,
        gate: &Gate,
        talk: &Talk<U, A>,
    ) -> AgentGone {
        loop {
            let turn = tokio::select! {
                () = self.signal.next() => {
                    self.ask();
                    continue;
                }
                turn = next(&mut self.watch) => turn,
            };
            let Some(Turn { found, done, .. }) = turn else {
                warn!("policies are not read again: their thread has ended");
                self.watch = None;
                continue;
            };
            let (taken, replaced) = match found {
                Ok(loaded) => publish(gate, talk, loaded).await,
                Err(errors) => (refuse(gate, talk, &errors).await, None),
            };
            // It is gone only if the gate is about to go as well.
            let _ = done.send(taken);
            if let Some(replaced) = replaced
                && gate.announce(talk, &replaced).await.is_err()
            {
                return AgentGone;
            }
        }
    }

    fn ask(&self) {
        match &self.watch {
            Some(watch) if watch.ask() => info!("SIGHUP: the policies are read again"),
            Some(_) => warn!("SIGHUP: the policies cannot be read again"),
            None => info!("SIGHUP: there is no policy directory to read again"),
        }
    }
}

async fn next(watch: &mut Option<Watch>) -> Option<Turn> {
    match watch {
        Some(watch) => watch.next().await,
        None => pending().await,
    }
}

async fn publish<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, A>,
    loaded: Loaded,
) -> (Taken, Option<Arc<PolicySnapshot>>) {
    for notice in &loaded.notices {
        warn!("{notice}");
    }
    for problem in &loaded.candidate {
        warn!("the candidate in `policy.shadow` is not asked any more: {problem}");
    }
    let replaced = match gate.publish(talk, loaded.snapshot).await {
        Ok(replaced) => replaced,
        Err(fault) => {
            warn!("new policies could not be recorded, and are not in force: {fault}");
            return (Taken::No, None);
        }
    };
    info!(
        revision = &*gate.revision(),
        "new policies are in force: {}", loaded.surfaces
    );
    (Taken::Yes, Some(replaced))
}

async fn refuse<U: Upstream, A: Agent>(
    gate: &Gate,
    talk: &Talk<U, A>,
    errors: &PolicyErrors,
) -> Taken {
    warn!(
        revision = &*gate.revision(),
        "new policies are refused, the last good ones stay in force\n{}",
        report::text(errors)
    );
    let reason = errors
        .problems
        .first()
        .map_or_else(Reason::default, |first| {
            Reason::code(first.code).with_text(match errors.problems.len() {
                1 => first.message.clone(),
                all => format!("{} (1 of {all} problems)", first.message),
            })
        });
    if let Err(fault) = gate.keep(talk, reason).await {
        warn!("that new policies are refused could not be recorded: {fault}");
    }
    Taken::Yes
}

/// SIGHUP. A closed terminal sends it too; the gate then sees the end of its standard input.
#[cfg(unix)]
struct Signal(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signal {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self)
    }

    async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
struct Signal;

#[cfg(not(unix))]
impl Signal {
    #[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        pending().await
    }
}
