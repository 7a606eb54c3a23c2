//! New policies while the gate runs: when the directory changes, and at a signal.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::audit::Reason;
use crate::gate::Gate;
use crate::loading::{Loaded, Taken, Turn, Watch};
use crate::policy::PolicyErrors;

use super::super::report;

/// Where new policies come from.
pub(super) struct Renewal {
    /// None without a policy directory.
    watch: Option<Watch>,
    signal: Signal,
    /// How often policies were replaced.
    news: watch::Sender<u64>,
}

/// Tells a conversation that there are new policies.
#[derive(Debug, Clone)]
pub(super) struct News(watch::Receiver<u64>);

impl News {
    /// Resolves when policies were replaced since it last did. Never again once nobody replaces
    /// them.
    pub(super) async fn come(&mut self) {
        if self.0.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}

impl Renewal {
    /// Listens for the signal from now on: before, it ends the gate. Must be called inside a tokio
    /// runtime.
    pub(super) fn of(watch: Option<Watch>) -> io::Result<Self> {
        Ok(Self {
            watch,
            signal: Signal::new()?,
            news: watch::Sender::new(0),
        })
    }

    pub(super) fn news(&self) -> News {
        News(self.news.subscribe())
    }

    /// Publishes what is new, for as long as the gate runs.
    pub(super) async fn run(mut self, gate: &Gate, upstream: &str) -> Infallible {
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
            let taken = match found {
                Ok(loaded) => self.publish(gate, upstream, loaded).await,
                Err(errors) => refuse(gate, upstream, &errors).await,
            };
            // It is gone only if the gate is about to go as well.
            let _ = done.send(taken);
        }
    }

    async fn publish(&self, gate: &Gate, upstream: &str, loaded: Loaded) -> Taken {
        for notice in &loaded.notices {
            warn!("{notice}");
        }
        for problem in &loaded.candidate {
            warn!("the candidate in `policy.shadow` is not asked any more: {problem}");
        }
        if let Err(fault) = gate.publish(upstream, loaded.snapshot).await {
            warn!("new policies could not be recorded, and are not in force: {fault}");
            return Taken::No;
        }
        info!(
            revision = &*gate.revision(),
            "new policies are in force: {}", loaded.surfaces
        );
        self.news
            .send_modify(|replaced| *replaced = replaced.wrapping_add(1));
        Taken::Yes
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

async fn refuse(gate: &Gate, upstream: &str, errors: &PolicyErrors) -> Taken {
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
    if let Err(fault) = gate.keep(upstream, reason).await {
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
