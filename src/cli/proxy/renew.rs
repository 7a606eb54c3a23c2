//! New policies while the gate runs: when the directory changes, and at a signal.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::thread;

use tokio::sync::watch;
use tracing::{info, warn};

use crate::audit::Reason;
use crate::config::{Config, ConfigFile, Look};
use crate::gate::{Gate, Published};
use crate::loading::{Loaded, Taken, Turn, Watch};
use crate::policy::{PolicyErrors, PolicyProblem};

use super::super::report;
use super::exposed::Exposed;

/// Where new policies come from.
pub(super) struct Renewal {
    /// None without a policy directory.
    watch: Option<Watch>,
    /// None where everything was said on the command line.
    file: Option<ConfigFile>,
    /// What new roots must not let the server write to.
    exposed: Exposed,
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
    pub(super) fn of(watch: Option<Watch>, config: &Config) -> io::Result<Self> {
        Ok(Self {
            watch,
            file: config.file.clone(),
            exposed: Exposed::by(config),
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
            let taken = match found.and_then(|loaded| self.unexposed(loaded)) {
                Ok(loaded) => self.publish(gate, upstream, loaded).await,
                Err(errors) => refuse(gate, upstream, &errors).await,
            };
            // It is gone only if the gate is about to go as well.
            let _ = done.send(taken);
        }
    }

    /// Refused like what cannot be compiled, where the server could write to what judges it.
    fn unexposed(&self, loaded: Loaded) -> Result<Loaded, PolicyErrors> {
        let told = self.exposed.with(&loaded.snapshot.labels().roots);
        if told.is_empty() {
            return Ok(loaded);
        }
        let problem = |told| PolicyProblem::error("policy::exposed", told);
        Err(PolicyErrors::of(told.into_iter().map(problem).collect()))
    }

    async fn publish(&self, gate: &Gate, upstream: &str, loaded: Loaded) -> Taken {
        for notice in &loaded.notices {
            warn!("{notice}");
        }
        let refused = (!loaded.candidate.is_empty()).then(|| PolicyErrors::of(loaded.candidate));
        if let Some(errors) = &refused {
            warn!(
                "the candidate in `policy.shadow` is refused, and not asked any more\n{}",
                report::text(errors)
            );
        }
        let reason = refused.map(|errors| {
            let code = errors.problems.first().map_or("", |first| first.code);
            Reason::code(CANDIDATE_REFUSED).with_text(format!("{code}: {}", first(&errors)))
        });
        let published = match gate.publish(upstream, loaded.snapshot, reason).await {
            Ok(published) => published,
            Err(fault) => {
                warn!("new policies could not be recorded, and are not in force: {fault}");
                return Taken::No;
            }
        };
        let revision = &*gate.revision();
        match published {
            Published::Policies(replaced) => {
                info!(
                    revision,
                    "new policies are in force: {}; {replaced}", loaded.surfaces
                );
                self.news
                    .send_modify(|times| *times = times.wrapping_add(1));
            }
            Published::Candidate => info!(
                revision,
                "the policies in force stay as they are, only the candidate has changed"
            ),
            Published::Nothing => info!(
                revision,
                "nothing changed: the policies of the directory are those in force"
            ),
        }
        Taken::Yes
    }

    fn ask(&self) {
        match &self.watch {
            Some(watch) if watch.ask() => info!("SIGHUP: the policies are read again"),
            Some(_) => warn!("SIGHUP: the policies cannot be read again"),
            None => info!("SIGHUP: there is no policy directory to read again"),
        }
        if let Some(file) = self.file.clone() {
            // Nothing waits for it: a file may lie where reading takes its time.
            let looking = thread::Builder::new().name("configuration".to_owned());
            if let Err(error) = looking.spawn(move || look_again(&file)) {
                warn!("SIGHUP: the configuration cannot be looked at: {error}");
            }
        }
    }
}

/// The code of records that say that a candidate was refused.
const CANDIDATE_REFUSED: &str = "candidate-refused";

/// Says whether the configuration is still the one that the gate was started with.
fn look_again(file: &ConfigFile) {
    let shown = file.path().display();
    match file.look() {
        Look::Same => {}
        Look::Changed => warn!(
            "SIGHUP: `{shown}` has changed since the start, and is not read again: a restart is needed"
        ),
        Look::Invalid(errors) => warn!(
            "SIGHUP: `{shown}` has changed since the start, and is not read again: a restart is \
             needed, and would fail\n{}",
            report::text(&errors)
        ),
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
    let code = errors.problems.first().map(|first| first.code);
    let reason = code.map_or_else(Reason::default, |code| {
        Reason::code(code).with_text(first(errors))
    });
    if let Err(fault) = gate.keep(upstream, reason).await {
        warn!("that new policies are refused could not be recorded: {fault}");
    }
    Taken::Yes
}

/// The first problem, and how many there are.
fn first(errors: &PolicyErrors) -> String {
    let first = errors.problems.first();
    let message = first.map(|first| first.message.clone()).unwrap_or_default();
    match errors.problems.len() {
        0 | 1 => message,
        all => format!("{message} (1 of {all} problems)"),
    }
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
