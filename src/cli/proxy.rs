//! `proxy`: runs the gate.

mod agents;
mod converse;
mod renew;
mod servers;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use tracing::{error, info, warn};

use crate::agent::stdio;
use crate::audit::{self, Audit, Kind, Record};
use crate::clock::{Clock, SystemClock};
use crate::config::{self, Config};
use crate::gate::{self, Gate, Talk};
use crate::loading::{self, Loaded, Watch};
use crate::policy::{self, PolicyStore};
use crate::session::{Session, SessionId};
use crate::shutdown::Shutdown;
use crate::upstream::ChildProcess;
use crate::wire::{LineReader, Side};

use super::args::ProxyArgs;
use super::exit::Exit;
use super::report;

use agents::{Inbox, Outbox};
use converse::End;
use renew::Renewal;
use servers::{Server, ServerEvents};

/// Stack of the thread that judges. Cedar evaluates recursively: how deep an expression may be must
/// not depend on which thread happens to ask.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// How long the last records and the last lines to the agent may take to be written.
const FLUSH: Duration = Duration::from_secs(5);

/// Bytes that may wait for an agent that does not read.
const AGENT_QUEUE_BYTES: usize = 1024 * 1024;

/// What `[policy]` means to the loader.
pub fn policy_settings(policy: &config::Policy) -> loading::Settings {
    settings::loading(policy)
}

/// What `[limits]` and the form of a denial mean to the gate.
pub fn gate_settings(limits: &config::Limits, denial: config::Denial) -> gate::Settings {
    settings::gate(limits, denial)
}

/// How the server is started, in the environment that it is to have.
pub(super) fn upstream_settings(config: &Config) -> crate::upstream::Settings {
    settings::upstream(config)
}

/// What the configuration holds and nobody may see.
pub(super) fn upstream_secrets(config: &Config) -> crate::audit::Redactor {
    settings::secrets(config)
}

/// Runs the gate until the agent has gone, a signal comes or the upstream cannot be brought back.
pub fn run(args: ProxyArgs) -> Exit {
    let config = match args.settings() {
        Ok(config) => config,
        Err(errors) => {
            report::configuration(&errors);
            return Exit::Invalid;
        }
    };
    for warning in &config.warnings {
        warn!("{warning}");
    }
    if let Some(what) = settings::beyond_stdio(&config) {
        error!("{what} is not available in this version");
        return Exit::Invalid;
    }
    let loaded = match loading::load(&policy_settings(&config.policy)) {
        Ok(loaded) => loaded,
        Err(errors) => {
            report::policies(&errors);
            return Exit::Invalid;
        }
    };
    let judging = std::thread::Builder::new()
        .name("gate".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || run_on_this_thread(&config, loaded));
    match judging.map(std::thread::JoinHandle::join) {
        Ok(Ok(exit)) => exit,
        Ok(Err(_)) => Exit::Unrecoverable,
        Err(cause) => {
            error!("cannot start a thread: {cause}");
            Exit::Unrecoverable
        }
    }
}

fn run_on_this_thread(config: &Config, loaded: Loaded) -> Exit {
    // One agent, one upstream: a second thread would add a wake-up to every message and do nothing.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(start(config, loaded)),
        Err(cause) => {
            error!("cannot start the event loop: {cause}");
            Exit::Unrecoverable
        }
    }
}

/// Opens what the configuration names, in the order in which a failure does least harm.
async fn start(config: &Config, loaded: Loaded) -> Exit {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let secrets = settings::secrets(config);
    let audit = match settings::audit(config, Arc::clone(&clock), secrets.clone()) {
        Ok(audit) => audit,
        Err(cause) => {
            error!("`audit`: {cause}");
            return Exit::Invalid;
        }
    };
    let shutdown = match Shutdown::listen(config.limits.drain_deadline) {
        Ok(shutdown) => shutdown,
        Err(cause) => {
            error!("cannot listen for signals: {cause}");
            return Exit::Unrecoverable;
        }
    };
    let Some(session) = session(config, clock.as_ref()) else {
        error!("the operating system gives no random numbers");
        return Exit::Unrecoverable;
    };
    session.described_by(loaded.snapshot.labels());
    let store = Arc::new(PolicyStore::new(loaded.snapshot));
    let renewal = match renewal(config, &store) {
        Ok(renewal) => renewal,
        Err(cause) => {
            error!("cannot read policies again while the gate runs: {cause}");
            return Exit::Unrecoverable;
        }
    };
    let (server, events) = match ChildProcess::start(settings::upstream(config)) {
        Ok((sender, events)) => (Server::Child(sender), ServerEvents::Child(events)),
        Err(cause) => {
            error!("`upstream.command`: {cause}");
            return Exit::Unrecoverable;
        }
    };
    let settings = gate::Settings {
        secrets,
        ..gate_settings(&config.limits, config.policy.denial)
    };
    let gate = Gate::new(store, audit.clone(), clock, settings);
    let startup = Record::new(Kind::Startup)
        .upstream(&config.upstream.name)
        .revision(&*gate.revision());
    if let Err(fault) = audit.record(startup).await {
        error!("the start could not be recorded: {fault}");
        server.kill().await;
        return Exit::Unrecoverable;
    }
    for notice in &loaded.notices {
        warn!("{notice}");
    }
    info!(
        transport = session.transport,
        session = session.id.as_str(),
        upstream = config.upstream.name,
        revision = &*gate.revision(),
        "the gate is up: {}",
        loaded.surfaces,
    );
    // Boxed: the future holds the whole conversation, tens of kilobytes.
    let end = Box::pin(serve(
        &gate, &audit, session, &shutdown, server, events, renewal,
    ))
    .await;
    finish(&audit, &end).await
}

/// One conversation from its first record to its last.
async fn serve(
    gate: &Gate,
    audit: &Audit,
    session: Session,
    shutdown: &Shutdown,
    server: Server,
    events: ServerEvents,
    renewal: Renewal,
) -> End {
    let (input, writer) = stdio::open(AGENT_QUEUE_BYTES);
    let lines = LineReader::new(input, gate.limits(Side::Agent).max_bytes);
    let inbox = Inbox::Stdio(lines);
    let talk = Talk::new(session, server.clone(), Outbox::Stdio(writer.clone()));
    if let Err(fault) = gate.session_started(&talk).await {
        error!("the start of the session could not be recorded: {fault}");
        server.kill().await;
        return End::AuditFault;
    }
    converse::note(audit, gate.upstream_event(&talk, audit::Event::Started)).await;
    let news = renewal.news();
    let upstream = talk.session.state().server.name.clone();
    let conversation = converse::converse(gate, &talk, inbox, events, news, shutdown, audit);
    let end = tokio::select! {
        end = Box::pin(conversation) => end,
        never = renewal.run(gate, &upstream) => match never {},
    };
    tokio::select! {
        () = server.stop() => {}
        () = shutdown.forced() => server.kill().await,
    }
    if writer.close(FLUSH).await.is_err() {
        warn!("the agent did not take everything that was for it");
    }
    if let Err(fault) = gate.session_ended(&talk).await {
        error!("the end of the session could not be recorded: {fault}");
    }
    end
}

/// The last record, and whatever waits to be written.
async fn finish(audit: &Audit, end: &End) -> Exit {
    info!(sessions = 1, "the gate stops: {end}");
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

/// Reading files and compiling policies takes longer than a message may wait: a thread does it.
fn renewal(config: &Config, store: &Arc<PolicyStore>) -> std::io::Result<Renewal> {
    let settings = policy_settings(&config.policy);
    let reads = settings.dir.is_some() || settings.shadow.is_some();
    let watch = reads
        .then(|| Watch::start(settings, Arc::clone(store)))
        .transpose()?;
    Renewal::of(watch)
}

fn session(config: &Config, clock: &dyn Clock) -> Option<Session> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).ok()?;
    let server = policy::Server {
        name: config.upstream.name.clone(),
        ..policy::Server::default()
    };
    let id = SessionId::from_random(u128::from_be_bytes(bits));
    Some(Session::new(
        id,
        "stdio",
        server,
        clock.now().as_millisecond(),
    ))
}
