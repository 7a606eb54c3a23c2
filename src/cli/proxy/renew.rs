//! New policies and another configuration while the gate runs: when their files change, and at a signal.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use tracing::{info, warn};

use crate::audit::{Audit, Reason};
use crate::config::{Config, ConfigErrors, ConfigFile};
use crate::gate::{Besides, Published, RecordedPolicies};
use crate::loading::{
    LoadedPolicies, LoadedSource, ReloadAttempt, ReloadCause, ReloadError, ReloadOutcome, Watch,
};
use crate::policy::{PolicyErrors, PolicyProblem, PolicySnapshot, PolicyStore};

use super::super::report;
use super::super::unmet_requirements::PolicyRequirements;
use super::configured::{Configured, Fresh};
use super::exposed::{Exposed, Started};
use super::news::News;
use super::own_roots::OwnRootsNeed;
use super::parts::Parts;
use super::restart::Restart;
use super::server_changes::{NOT_RECORDED, ServerChanges};
use super::server_set::RunningServers;
use super::settings;

/// Where new policies come from.
pub(super) struct Renewal {
    /// None where nothing is ever read again.
    watch: Option<Watch<Configured>>,
    /// The policies in force for all servers: what is read again is compared with them.
    whole: Arc<PolicyStore>,
    /// None where everything was said on the command line.
    file: Option<PathBuf>,
    audit: Audit,
    /// What new roots must not let the server write to.
    exposed: Exposed,
    started: Started,
    /// What new roots need of what was started.
    own_roots: OwnRootsNeed,
    restart: Restart,
    signal: Signal,
    /// How often policies or terms were replaced.
    news: watch::Sender<u64>,
}

impl Renewal {
    /// Listens for the signal from now on: before, it ends the gate. Must be called inside a tokio
    /// runtime.
    pub(super) fn of(
        watch: Option<Watch<Configured>>,
        config: &Config,
        whole: Arc<PolicyStore>,
        audit: Audit,
        restart: Restart,
    ) -> io::Result<Self> {
        let current = whole.current();
        let roots = &current.labels().roots;
        let started = Started::with(roots);
        let file = config.file.as_ref().map(ConfigFile::path);
        Ok(Self {
            watch,
            whole,
            file: file.map(ToOwned::to_owned),
            audit,
            exposed: Exposed::by(config).since(&started),
            started,
            own_roots: OwnRootsNeed::by(config).since(roots),
            restart,
            signal: Signal::new()?,
            news: watch::Sender::new(0),
        })
    }

    pub(super) fn news(&self) -> News {
        News::of(&self.news)
    }

    /// Publishes what is new, for as long as the gate runs.
    pub(super) async fn run(mut self, mut changes: ServerChanges) -> Infallible {
        loop {
            let turn = tokio::select! {
                () = self.signal.next() => {
                    self.ask();
                    continue;
                }
                turn = next(&mut self.watch) => turn,
            };
            let Some(ReloadAttempt { cause, found, done }) = turn else {
                warn!("nothing is read again any more: the thread that does it has ended");
                self.watch = None;
                continue;
            };
            let taken = match found {
                Ok(found) => match self.exposed_by(&found) {
                    None => self.publish(&mut changes, cause, found).await,
                    Some(errors) => {
                        let current = changes.servers.current();
                        refuse(&current, &ReloadError::Policies(errors)).await
                    }
                },
                Err(refused) => refuse(&changes.servers.current(), &refused).await,
            };
            // It is gone only if the gate is about to go as well.
            let _ = done.send(taken);
        }
    }

    /// Refused like what cannot be compiled, where the server could write to what judges it, or would not run
    /// in the directory of its session.
    fn exposed_by(&self, found: &LoadedSource<Configured>) -> Option<PolicyErrors> {
        let roots = &found.loaded.snapshot.labels().roots;
        let told = match &found.more {
            Some(fresh) => {
                let exposed = Exposed::by(&fresh.config).since(&self.started);
                exposed.with(roots)
            }
            None => self.exposed.with(roots),
        };
        let exposed = told.into_iter();
        let exposed = exposed.map(|told| PolicyProblem::error("policy::exposed", told));
        let lacking = match &found.more {
            Some(fresh) => self.own_roots.under(&fresh.config).lacking(roots),
            None => self.own_roots.lacking(roots),
        };
        let lacking = lacking.into_iter();
        let lacking = lacking.map(|told| PolicyProblem::error("policy::own_root", told));
        let problems: Vec<_> = exposed.chain(lacking).collect();
        (!problems.is_empty()).then(|| PolicyErrors::of(problems))
    }

    async fn publish(
        &mut self,
        changes: &mut ServerChanges,
        cause: ReloadCause,
        found: LoadedSource<Configured>,
    ) -> ReloadOutcome {
        let LoadedSource { mut loaded, more } = found;
        let each = more.as_ref().map(|fresh| fresh.config.each());
        let prepared = more.as_ref().zip(each.as_ref()).map(|(fresh, each)| {
            let (file, keys) = (fresh.config.file.as_ref(), &fresh.changes.servers);
            changes.prepare(file, each, keys, &loaded)
        });
        let next = match prepared.transpose() {
            Ok(Some(next)) => next,
            Ok(None) => changes.unchanged(),
            Err(errors) => {
                let current = changes.servers.current();
                return refuse(&current, &ReloadError::Source(errors)).await;
            }
        };
        for notice in &loaded.notices {
            warn!("{notice}");
        }
        let refused = rejected_shadow(&mut loaded);
        let mut told = None;
        if let Some(fresh) = &more {
            for warning in &fresh.config.warnings {
                warn!("{warning}");
            }
            for notice in PolicyRequirements::by(&fresh.config).missing_in(&loaded.snapshot) {
                warn!("{notice}");
            }
            told = fresh.changes.told();
        }
        let besides = Besides {
            refused,
            terms: told.clone(),
        };
        let (staying, whole) = (next.staying(), &loaded.snapshot);
        let Some(recorded) = record(staying, whole, more.as_ref(), &besides).await else {
            return ReloadOutcome::No;
        };
        if let Err(fault) = next
            .record(changes.audit(), loaded.snapshot.revision().as_str())
            .await
        {
            let name = "servers that come and go";
            for (parts, _) in &recorded {
                take_back(parts, name).await;
            }
            warn!(
                "{name} could not be recorded; all stay as they are until the next attempt: {fault}"
            );
            return ReloadOutcome::No;
        }
        let mut published = Published::Nothing;
        for (parts, policies) in recorded {
            let it = parts.gate.put_in_force(policies);
            if published == Published::Nothing {
                published = it;
            }
        }
        let servers_are_new = next.is_new();
        if let Some(fresh) = &more {
            changes.put_in_force(next, &fresh.config);
        }
        self.whole.publish(loaded.snapshot);
        match more {
            Some(fresh) => self.take(fresh),
            // An operator who sends SIGHUP sees the keys again.
            None if cause == ReloadCause::Asked => self.tell_what_needs_a_restart(),
            None => {}
        }
        let terms_are_new = told.is_some();
        let with_terms = told.map(|told| format!("; {told}")).unwrap_or_default();
        let revision = &*changes.servers.current().revision();
        match &published {
            Published::Policies(replaced) => info!(
                revision,
                "new policies are in force: {}; {replaced}{with_terms}", loaded.surfaces
            ),
            Published::Candidate => info!(
                revision,
                "the policies in force stay as they are, only the shadow policy has changed{with_terms}"
            ),
            Published::Terms => info!(
                revision,
                "the policies in force stay as they are{with_terms}"
            ),
            Published::Nothing if servers_are_new => {
                info!(revision, "other servers are in force{with_terms}");
            }
            Published::Nothing => info!(
                revision,
                "nothing changed: what would come into force is in force"
            ),
        }
        if matches!(published, Published::Policies(_)) || terms_are_new {
            self.news
                .send_modify(|times| *times = times.wrapping_add(1));
        }
        ReloadOutcome::InForce
    }

    fn tell_what_needs_a_restart(&self) {
        if let Some(file) = &self.file {
            self.restart.tell(file);
        }
    }

    /// What does not come into force with policies.
    fn take(&mut self, fresh: Fresh) {
        let Fresh {
            config, changes, ..
        } = fresh;
        let audit = &config.audit;
        self.audit
            .hold_to(settings::durability(audit), settings::on_fault(audit));
        self.exposed = Exposed::by(&config);
        self.own_roots = self.own_roots.under(&config);
        if let Some(file) = &self.file {
            self.restart.needed_for(&changes.restart, file);
        }
    }

    fn ask(&self) {
        match &self.watch {
            Some(watch) if watch.ask() => {
                info!("SIGHUP: the configuration and the policies are read again");
            }
            Some(_) => warn!("SIGHUP: nothing can be read again"),
            None => info!("SIGHUP: there is nothing to read again"),
        }
    }
}

/// The code of records that say that the gate has rejected the shadow policy.
const SHADOW_REJECTED: &str = "shadow_rejected";

/// The reason for rejecting the shadow policy, if it is invalid.
fn rejected_shadow(loaded: &mut LoadedPolicies) -> Option<Reason> {
    let problems = std::mem::take(&mut loaded.shadow);
    if problems.is_empty() {
        return None;
    }
    let errors = PolicyErrors::of(problems);
    warn!(
        "the gate rejects the shadow policy in `policy.shadow`, and no longer evaluates it\n{}",
        report::text(&errors)
    );
    let code = errors.problems.first().map_or("", |first| first.code);
    Some(Reason::code(SHADOW_REJECTED).with_text(format!("{code}: {}", first(&errors))))
}

/// Records what comes into force at each server. `None` if a record could not be written: then nothing may come into
/// force, or the servers would decide by different policies.
async fn record<'p>(
    servers: &'p [Arc<Parts>],
    whole: &PolicySnapshot,
    fresh: Option<&Fresh>,
    besides: &Besides,
) -> Option<Vec<(&'p Arc<Parts>, RecordedPolicies)>> {
    let mut recorded = Vec::new();
    for parts in servers {
        let mut snapshot = whole.of_server(parts.key().as_ref());
        if let Some(terms) = fresh.and_then(|fresh| fresh.terms_of(parts)) {
            snapshot = snapshot.with_terms(Arc::new(terms));
        }
        let name = &parts.server.name;
        match parts.gate.record_new(name, snapshot, besides.clone()).await {
            Ok(policies) => recorded.push((parts, policies)),
            Err(fault) => {
                warn!(
                    "the new policies could not be recorded for `{name}`; all servers keep the old ones until the \
                     next attempt: {fault}"
                );
                for (parts, _) in &recorded {
                    take_back(parts, name).await;
                }
                return None;
            }
        }
    }
    Some(recorded)
}

/// Records that the policies of the record before did not come into force.
async fn take_back(parts: &Parts, unrecorded: &str) {
    let name = &parts.server.name;
    let text = format!(
        "the record for `{unrecorded}` could not be written; all servers keep the old policies"
    );
    let reason = Reason::code(NOT_RECORDED).with_text(text);
    if let Err(fault) = parts.gate.keep(name, reason).await {
        warn!(
            "the log says that new policies are in force for `{name}`, and they are not: {fault}"
        );
    }
}

async fn next(watch: &mut Option<Watch<Configured>>) -> Option<ReloadAttempt<Configured>> {
    match watch {
        Some(watch) => watch.next().await,
        None => pending().await,
    }
}

async fn refuse(current: &RunningServers, refused: &ReloadError<ConfigErrors>) -> ReloadOutcome {
    let revision = &*current.revision();
    let (code, text) = match refused {
        ReloadError::Policies(errors) => {
            warn!(
                revision,
                "new policies are refused, the last good ones stay in force\n{}",
                report::text(errors)
            );
            let code = errors.problems.first().map(|first| first.code);
            (code, first(errors))
        }
        ReloadError::Source(errors) => {
            warn!(
                revision,
                "the configuration is refused, what was last good stays in force\n{}",
                report::text(errors)
            );
            let code = errors.problems().first().map(|it| it.reason().code());
            (code, first_of(errors))
        }
    };
    let reason = code.map_or_else(Reason::default, |code| Reason::code(code).with_text(text));
    for parts in &current.servers {
        let kept = parts.gate.keep(&parts.server.name, reason.clone()).await;
        if let Err(fault) = kept {
            warn!("that something is refused could not be recorded: {fault}");
        }
    }
    ReloadOutcome::Refused
}

/// The first problem, and how many there are.
fn first(errors: &PolicyErrors) -> String {
    let first = errors.problems.first();
    let message = first.map(|first| first.message.clone()).unwrap_or_default();
    one_of(message, errors.problems.len())
}

fn first_of(errors: &ConfigErrors) -> String {
    let first = errors.problems().first();
    let message = first.map(ToString::to_string).unwrap_or_default();
    one_of(message, errors.problems().len())
}

fn one_of(message: String, all: usize) -> String {
    match all {
        0 | 1 => message,
        all => format!("{message} (1 of {all} problems)"),
    }
}

/// SIGHUP. A closed terminal sends it too; the gate then sees the end of its standard input.
#[cfg(unix)]
pub(super) struct Signal(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signal {
    pub(super) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self)
    }

    pub(super) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
pub(super) struct Signal;

#[cfg(not(unix))]
impl Signal {
    #[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) {
        pending().await
    }
}
