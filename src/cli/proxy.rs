//! `proxy`: runs the gate.

mod absence;
mod agents;
mod configured;
mod confinement;
mod conversations;
mod converse;
mod decisions;
mod exposed;
mod files;
mod flight;
mod followers;
mod isolated;
mod later;
mod lines;
mod network;
mod open;
mod operators;
mod outbox;
mod pulse;
mod reading;
mod renew;
mod restart;
mod servers;
mod service;
mod settings;
mod shortage;
mod single;
mod traces;
mod trial;
mod trials;

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tracing::{error, warn};

use crate::admin::Metrics;
use crate::agent::http::AskHealth;
use crate::audit::{self, Audit, Kind, Record};
use crate::bridge::{self, Bridge};
use crate::clock::{Clock, SystemClock};
use crate::config::{self, Config, Listen};
use crate::gate::{self, Gate};
use crate::loading::{self, LoadedPolicies};
use crate::memory::Memory;
use crate::policy;
use crate::session::{Place, Session, SessionId};
use crate::shutdown::{Shutdown, ShutdownCause};

use super::args::ProxyArgs;
use super::exit::Exit;
use super::report;

pub(super) use files::unusable as unusable_files;

use conversations::Conversations;
use converse::End;
use open::{Entrance, Opened, open};
use renew::Renewal;
use restart::Restart;
use servers::Upstreams;
use trials::{Trials, Tried};

/// Stack of the thread that judges. Cedar evaluates recursively: how deep an expression may be must
/// not depend on which thread happens to ask.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// How long the last records and the last lines to the agent may take to be written.
const FLUSH: Duration = Duration::from_secs(5);

/// What `[policy]` means to the loader.
pub fn policy_settings(policy: &config::Policy) -> loading::Settings {
    settings::loading(policy)
}

/// What `[limits]`, `[guards]` and the form of a denial mean to a gate that judges one message: how
/// often others come makes no difference to it.
pub fn gate_settings(config: &Config) -> gate::Settings {
    let mut settings = limited_gate_settings(config);
    settings.terms.rates = gate::Rates::default();
    settings
}

/// The same with its rates and budgets.
pub fn limited_gate_settings(config: &Config) -> gate::Settings {
    let isolated = config.upstream.isolated.as_ref();
    gate::Settings {
        isolate_from: isolated.map(|isolated| isolated.min_sensitivity),
        extensions: config.extensions.clone(),
        ..settings::gate(&config.limits, settings::terms(config))
    }
}

/// The same without a configuration.
pub fn default_gate_settings() -> gate::Settings {
    let denial = config::Policy::default().deny_response;
    let (limits, guards) = (config::Limits::default(), config::Guards::default());
    let mut terms = settings::terms_of(&limits, denial, &guards);
    // Which hosts a configuration will name is not known: what policies say of them is to be seen.
    terms.guards.asking.pages = gate::Pages::Any;
    settings::gate(&limits, terms)
}

/// What the server may reach, if that is limited, with these roots.
pub(super) fn upstream_sandbox(
    server: &config::Upstream,
    roots: &policy::Roots,
) -> Result<Option<crate::upstream::sandbox::Sandbox>, confinement::Nested> {
    confinement::sandbox(server.sandbox.as_ref(), roots)
}

/// How the server is started, in the environment that it is to have, confined as for agents.
pub(super) fn upstream_settings(config: &Config) -> Result<crate::upstream::Settings, String> {
    let confinement = config.upstream.sandbox.as_ref();
    let takes_roots = confinement.is_some_and(|it| it.roots == config::SandboxedRoots::Granted);
    let sandbox = if takes_roots {
        let loaded = loading::load(&policy_settings(&config.policy));
        let loaded = loaded.map_err(|errors| format!("`upstream.sandbox.roots`: {errors}"))?;
        confinement::sandbox(confinement, &loaded.snapshot.labels().roots)
    } else {
        confinement::sandbox(confinement, &policy::Roots::default())
    };
    let sandbox = sandbox.map_err(|nested| format!("`upstream.sandbox.roots`: {nested}"))?;
    let concealing = settings::concealing(&gate_settings(config).terms.guards);
    let server = &config.upstream;
    Ok(settings::upstream(config, server, sandbox, concealing))
}

/// How the server is reached if it is not started. What is read or fetched for it is learned by `secrets`.
pub(super) fn upstream_over_http(
    config: &Config,
    secrets: &audit::Redactor,
) -> Option<crate::upstream::http::HttpSettings> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    network::over_http(config, &config.upstream, secrets, &clock)
}

/// What the configuration holds and nobody may see.
pub(super) fn upstream_secrets(
    config: &Config,
) -> Result<crate::audit::Redactor, crate::audit::SecretTooShort> {
    settings::secrets(config, None)
}

/// Runs the gate until the agent has gone, a signal comes or the upstream cannot be brought back.
pub fn run(args: ProxyArgs, allocated: fn() -> usize) -> Exit {
    let config = match args.settings() {
        Ok(config) => config,
        Err(errors) => {
            report::configuration(&errors);
            error!("{}", report::in_short(&errors));
            return Exit::Invalid;
        }
    };
    for warning in &config.warnings {
        warn!("{warning}");
    }
    let loaded = match loading::load(&policy_settings(&config.policy)) {
        Ok(loaded) => loaded,
        Err(errors) => {
            report::policies(&errors);
            error!(
                "the policies are refused: {} problems",
                errors.problems.len()
            );
            return Exit::Invalid;
        }
    };
    let memory = Memory::limited(config.limits.max_memory, allocated);
    let judging = std::thread::Builder::new()
        .name("gate".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || run_here(&config, loaded, memory));
    match judging.map(std::thread::JoinHandle::join) {
        Ok(Ok(exit)) => exit,
        Ok(Err(_)) => Exit::Unrecoverable,
        Err(cause) => {
            error!("cannot start a thread: {cause}");
            Exit::Unrecoverable
        }
    }
}

fn run_here(config: &Config, loaded: LoadedPolicies, memory: Memory) -> Exit {
    let runtime = match &config.listen {
        // One agent, one upstream: a second thread would add a wake-up to every message and do
        // nothing.
        Listen::Stdio => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build(),
        Listen::Http(_) => tokio::runtime::Builder::new_multi_thread()
            .thread_name("gate")
            .thread_stack_size(STACK_BYTES)
            .enable_all()
            .build(),
    };
    match runtime {
        // Boxed: the future may hold a whole conversation, tens of kilobytes.
        Ok(runtime) => runtime.block_on(Box::pin(start(config, loaded, memory))),
        Err(cause) => {
            error!("cannot start the event loop: {cause}");
            Exit::Unrecoverable
        }
    }
}

/// What every conversation of a gate shares.
#[derive(Debug, Clone)]
struct Parts {
    gate: Arc<Gate>,
    audit: Audit,
    upstreams: Upstreams,
    /// How isolated servers are reached, if sessions may come to need one.
    isolated: Option<Upstreams>,
    conversations: Conversations,
    /// What the gate has found out by itself of whether the server can serve.
    trials: Trials,
    /// The same of the isolated one.
    isolated_trials: Trials,
    /// Counts, if somebody may look.
    metrics: Option<Arc<Metrics>>,
    /// The name of the protected server.
    upstream: String,
    shutdown: Shutdown,
    /// What stands before agents whose server may speak another revision, if anything may.
    bridging: Option<bridge::Settings>,
    /// Whether somebody is to name the sessions of agents.
    names: reading::Names,
    /// What of the configuration is not in force.
    restart: Restart,
    clock: Arc<dyn Clock>,
    memory: Memory,
}

impl Parts {
    /// The server of sessions that begin.
    fn open_server(&self) -> Tried {
        Tried {
            upstreams: self.upstreams.clone(),
            trials: self.trials.clone(),
            place: Place::Open,
        }
    }

    /// The one that they may move to.
    fn isolated_server(&self) -> Option<Tried> {
        let isolated = self.isolated.clone();
        isolated.map(|upstreams| Tried {
            upstreams,
            trials: self.isolated_trials.clone(),
            place: Place::Isolated,
        })
    }

    /// A bridge for one conversation.
    fn bridge(&self) -> Option<Bridge> {
        let mut settings = self.bridging.clone()?;
        if let Some(terms) = self.gate.policies().terms() {
            settings = settings.under(terms);
        }
        Some(Bridge::new(settings, Arc::clone(&self.clock)))
    }
}

/// Serves agents until the end.
async fn start(config: &Config, loaded: LoadedPolicies, memory: Memory) -> Exit {
    let Opened {
        parts,
        entrance,
        renewal,
        health,
        operators,
        exporter,
        flight,
    } = match open(config, loaded, memory).await {
        Ok(opened) => opened,
        Err(exit) => return exit,
    };
    // Where nobody can ask for it, health is not worth a request.
    let is_asked = matches!(entrance, Entrance::Http { .. }) || operators.is_some();
    let servers: Vec<Tried> = std::iter::once(parts.open_server())
        .chain(parts.isolated_server())
        .filter(|_| is_asked)
        .collect();
    let mut asking: JoinSet<Infallible> = servers
        .iter()
        .cloned()
        .map(|server| async move { pulse::keep_asking(&server.upstreams).await })
        .collect();
    let pulse = async move {
        match asking.join_next().await {
            Some(Ok(never)) => match never {},
            // A task that broke off must not stop the server of the conversation.
            Some(Err(_)) | None => pending().await,
        }
    };
    let tried = servers
        .into_iter()
        .filter(|server| server.trials.are_made());
    let trials: Vec<_> = tried
        .map(|server| trials::keep(parts.clone(), server))
        .collect();
    let audit = parts.audit.clone();
    let shutdown = parts.shutdown.clone();
    let conversations = parts.conversations.clone();
    let gate = Arc::clone(&parts.gate);
    let memory = parts.memory.clone();
    let serving = serve(config, parts, entrance, renewal, health);
    let over = Notify::new();
    let serving = async {
        let end = tokio::select! {
            end = Box::pin(serving) => end,
            never = pulse => match never {},
            never = shortage::tell(&memory) => match never {},
        };
        over.notify_one();
        end
    };
    let (end, ()) = tokio::join!(serving, gate.end_questions_until(over.notified()));
    for trials in trials {
        // However it ended.
        shutdown.request(ShutdownCause::UpstreamGone);
        if trials.await.is_err() {
            error!("the handshakes of the gate's own broke off");
        }
    }
    let exit = finish(&audit, &end).await;
    flight
        .stop(FLUSH.min(config.limits.shutdown_grace_period))
        .await;
    if let Some(exporter) = exporter {
        exporter
            .close(FLUSH.min(config.limits.shutdown_grace_period))
            .await;
    }
    drop(operators);
    if end.exit() == Exit::Unrecoverable {
        error!("the gate cannot go on: {end}");
    }
    lines::stops(&end, conversations.ever());
    exit
}

async fn serve(
    config: &Config,
    parts: Parts,
    entrance: Entrance,
    renewal: Renewal,
    health: AskHealth,
) -> End {
    match entrance {
        Entrance::Stdio(ends) => {
            let (session, server, events) = *ends;
            Box::pin(single::serve(&parts, session, server, events, renewal)).await
        }
        Entrance::Http {
            listener,
            path,
            authenticate,
        } => {
            let inside = service::Inside {
                parts,
                renewal,
                health,
                drain: config.limits.shutdown_grace_period,
            };
            Box::pin(service::serve(inside, *listener, &path, authenticate)).await
        }
    }
}

fn invalid(cause: &dyn fmt::Display) -> Exit {
    error!("{cause}");
    Exit::Invalid
}

fn broken(what: &str, cause: &dyn fmt::Display) -> Exit {
    error!("{what}: {cause}");
    Exit::Unrecoverable
}

/// The last record, and whatever waits to be written.
async fn finish(audit: &Audit, end: &End) -> Exit {
    let last =
        audit.record(Record::new(Kind::Shutdown).reason(audit::Reason::text(end.to_string())));
    let written = match last.await {
        Ok(()) => audit.close(FLUSH).await,
        Err(fault) => Err(fault),
    };
    if let Err(fault) = written {
        error!("the audit is not complete: {fault}");
        return Exit::Unrecoverable;
    }
    end.exit()
}

fn session(upstream: &str, transport: &'static str, gate: &Gate) -> Option<Session> {
    let mut bits = [0; 16];
    if getrandom::fill(&mut bits).is_err() {
        error!("the operating system gives no random numbers");
        return None;
    }
    let server = policy::Server {
        name: upstream.to_owned(),
        ..policy::Server::default()
    };
    let id = SessionId::from_random(u128::from_be_bytes(bits));
    let session = Session::new(id, transport, server, gate.now_ms());
    Some(session.reaching(gate.over_http()))
}
