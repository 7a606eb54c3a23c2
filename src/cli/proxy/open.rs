//! Opens what the configuration names, before anybody is served.

use std::sync::Arc;

use tracing::{error, warn};

use crate::admin::{self, Approvals, Metrics, Serving};
use crate::agent::http::AskHealth;
use crate::audit::{Audit, AuditObserver, Kind, Record, Redactor};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Listen, ServerNeed};
use crate::loading::{LoadedPolicies, Watch};
use crate::memory::Memory;
use crate::policy::PolicyStore;
use crate::shutdown::Shutdown;
use crate::telemetry::{Exporter, Spans};
use crate::upstream::open_files;

use super::super::exit::Exit;
use super::super::unmet_requirements::PolicyRequirements;
use super::command_settings::policy_settings;
use super::configured::Configured;
use super::conversations::Conversations;
use super::decisions::Decisions;
use super::entrance::{Entrance, Reserved, enter, reserve};
use super::flight::Flight;
use super::numbers::Numbers;
use super::operators::{MakeOperations, People};
use super::parts::ForOperators;
use super::prepare::{Common, Prepared, prepare};
use super::pulse::Pulse;
use super::renew::Renewal;
use super::restart::Restart;
use super::server_changes::{Fixed, ServerChanges};
use super::server_set::{RunningServers, ServerSet};
use super::servers::Upstreams;
use super::start_failures::{broken, invalid};
use super::upkeep::{Probes, Upkeep};
use super::user_identity::IdentitySetup;
use super::{flight, followers, lines, network, operators, reading, settings, traces};

/// A gate that is about to serve.
pub(super) struct Opened {
    /// The servers, and how they come and go.
    pub(super) changes: ServerChanges,
    pub(super) audit: Audit,
    pub(super) shutdown: Shutdown,
    pub(super) memory: Memory,
    pub(super) conversations: Conversations,
    pub(super) entrance: Entrance,
    pub(super) renewal: Renewal,
    pub(super) health: AskHealth,
    /// Operators are served for as long as this lives.
    pub(super) operators: Option<Serving>,
    /// Traces are sent for as long as this lives.
    pub(super) exporter: Option<Exporter>,
    pub(super) flight: Flight,
    /// No other gate serves the agents of this user for as long as this lives.
    pub(super) reserved: Option<Reserved>,
}

/// What is opened beside what all servers share.
struct Beside {
    admin: Option<admin::Settings>,
    approvals: Option<Approvals>,
    exporter: Option<Exporter>,
    spans: Option<Arc<Spans>>,
    flight: Flight,
    reserved: Option<Reserved>,
}

/// What all servers share, and the rest, in the order in which a failure does least harm.
async fn common(config: &Config, memory: Memory) -> Result<(Common, Beside), Exit> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let operators = network::operators_token(config).map_err(|cause| invalid(&cause))?;
    let secrets = settings::secrets(config, operators.as_ref()).map_err(|cause| invalid(&cause))?;
    let admin = operators::settings(config, operators.as_ref())
        .map_err(|cause| invalid(&format!("`admin`: {cause}")))?;
    let metrics = admin.is_some().then(|| operators::metrics(config));
    // Before the log and the journal, which another gate may have open still.
    let reserved = reserve(config).await?;
    let (audit, flight) = open_log(config, &clock, &secrets)?;
    let traces = traces::start(config, &clock, &secrets)
        .map_err(|cause| invalid(&format!("`telemetry`: {cause}")))?;
    let (exporter, spans) = traces.unzip();
    let audit = observed(audit, metrics.as_ref(), spans.as_ref(), &secrets);
    if !matches!(config.listen, Listen::Stdio) {
        // Before servers are told what they may have.
        open_files::ask_for_all();
    }
    let shutdown = Shutdown::listen(config.limits.shutdown_grace_period)
        .map_err(|cause| broken("cannot listen for signals", &cause))?;
    let identity = IdentitySetup::of(config, &clock)
        .map_err(|cause| broken("no key can be made for `upstream.identity`", &cause))?;
    let (desk, approvals) = operators::desk(config, &clock)?;
    let common = Common {
        secrets,
        kept: reading::store(config)?,
        evidence: Arc::default(),
        along: Arc::default(),
        desk,
        conversations: Conversations::default(),
        for_operators: ForOperators {
            need: ServerNeed::default(),
            metrics,
            restart: Restart::default(),
            key_set: identity.key_set.clone(),
        },
        identity,
        audit,
        shutdown,
        clock,
        memory,
    };
    let beside = Beside {
        admin,
        approvals,
        exporter,
        spans,
        flight,
        reserved,
    };
    Ok((common, beside))
}

pub(super) async fn open(
    config: &Config,
    loaded: LoadedPolicies,
    memory: Memory,
    operations: MakeOperations,
) -> Result<Opened, Exit> {
    let (common, beside) = common(config, memory).await?;
    let Beside {
        admin,
        approvals,
        exporter,
        spans,
        flight,
        reserved,
    } = beside;
    let each = config.each();
    let prepared = each.iter().map(|config| prepare(config, &loaded, &common));
    let prepared = prepared.collect::<Result<Vec<_>, _>>();
    let prepared = prepared.map_err(|cause| invalid(&cause))?;
    let Some(first) = prepared.first() else {
        return Err(invalid(&"there is no server"));
    };
    let renewal = renewal(config, &loaded, &common)
        .map_err(|cause| broken("cannot read policies again while the gate runs", &cause))?;
    let admin = operators::listen(admin)?;
    let isolated_are = prepared.iter().map(|it| looked_for(config, &it.isolated));
    let isolated_are = isolated_are.collect::<Result<Vec<_>, _>>()?;
    let entrance = enter(
        config,
        &first.gate,
        &first.upstreams,
        &first.isolated,
        &common.memory,
        reserved.as_ref(),
    )
    .await?;
    for it in &prepared {
        record_start(it, &common.audit, &entrance).await?;
    }
    warn_of(config, &loaded);
    for (it, isolated_is) in prepared.iter().zip(&isolated_are) {
        is_up(it, &entrance, &loaded, isolated_is);
    }
    let (kind, authenticate, connections) = entrance.serves();
    let mut numbers = Numbers::after_views(config);
    let all = prepared.into_iter().map(|it| {
        let number = numbers.next(it.config.key.as_ref());
        Arc::new(it.parts(kind, &common, number))
    });
    let running = RunningServers {
        servers: all.collect(),
        disabled: config.disabled().cloned().collect(),
    };
    let drain = config.limits.shutdown_grace_period;
    let servers = Arc::new(ServerSet::new(running, renewal.news(), drain));
    let pulse = Pulse {
        servers: Arc::clone(&servers),
        serves: kind,
        authenticate,
    };
    let operators = admin
        .zip(common.for_operators.metrics.clone())
        .map(|(listener, metrics)| {
            let api = operators::api(config, &common, &pulse, operations)?;
            let people = People { approvals, api };
            operators::serve(
                listener,
                &common,
                metrics,
                &pulse,
                connections,
                spans,
                people,
            )
        })
        .transpose()
        .map_err(|cause| broken("cannot serve operators", &cause))?;
    let is_asked = matches!(entrance, Entrance::Http { .. }) || operators.is_some();
    let upkeep = Upkeep::new(if is_asked { Probes::Sent } else { Probes::Off });
    for parts in &servers.current().servers {
        upkeep.begin(Arc::clone(parts));
    }
    Ok(Opened {
        audit: common.audit.clone(),
        shutdown: common.shutdown.clone(),
        memory: common.memory.clone(),
        conversations: common.conversations.clone(),
        changes: ServerChanges {
            common,
            servers,
            serves: kind,
            endpoints: entrance.endpoints(),
            upkeep: Arc::new(upkeep),
            numbers,
            fixed: Fixed::by(config),
        },
        entrance,
        renewal,
        health: pulse.health(),
        operators,
        exporter,
        flight,
        reserved,
    })
}

/// What of the policies may be a mistake.
fn warn_of(config: &Config, loaded: &LoadedPolicies) {
    let missing = PolicyRequirements::by(config).missing_in(&loaded.snapshot);
    for notice in loaded.notices.iter().chain(&missing) {
        warn!("{notice}");
    }
}

fn is_up(
    it: &Prepared<'_>,
    entrance: &Entrance,
    loaded: &LoadedPolicies,
    isolated_is: &[&'static str],
) {
    let policies = it.store.current();
    let surfaces = &loaded.surfaces;
    lines::is_up(entrance, it.config, &policies, surfaces, isolated_is);
}

/// A server's first record.
async fn record_start(it: &Prepared<'_>, audit: &Audit, entrance: &Entrance) -> Result<(), Exit> {
    let startup = Record::new(Kind::Startup).upstream(&it.config.upstream.name);
    let recorded = audit.record(startup.revision(&*it.gate.revision())).await;
    let Err(fault) = recorded else { return Ok(()) };
    error!("the start could not be recorded: {fault}");
    if let Entrance::Stdio(ends) = entrance {
        ends.1.kill().await;
    }
    Err(Exit::Unrecoverable)
}

/// What is known of each isolated server before a session needs it.
fn looked_for(config: &Config, isolated: &[Upstreams]) -> Result<Vec<&'static str>, Exit> {
    let mut states = Vec::new();
    for upstreams in isolated {
        let is_there = upstreams.check();
        if let Err(cause) = &is_there {
            error!("{}", upstreams.told(cause));
            // As with the open one: whose only server cannot be started does not start.
            if let Listen::Stdio = config.listen {
                return Err(Exit::Unrecoverable);
            }
        }
        states.push(lines::state(upstreams, &is_there));
    }
    Ok(states)
}

/// The log with what follows it, and the flight recorder, which reads it.
fn open_log(
    config: &Config,
    clock: &Arc<dyn Clock>,
    secrets: &Redactor,
) -> Result<(Audit, Flight), Exit> {
    let followers = followers::named(config).map_err(|cause| invalid(&cause))?;
    let audit = settings::audit(config, followers, Arc::clone(clock), secrets.clone())
        .map_err(|cause| invalid(&format!("`audit`: {cause}")))?;
    let flight = flight::start(config).map_err(|cause| invalid(&cause))?;
    Ok((audit, flight))
}

/// The log, and those who are told of its records.
fn observed(
    audit: Audit,
    metrics: Option<&Arc<Metrics>>,
    spans: Option<&Arc<Spans>>,
    secrets: &Redactor,
) -> Audit {
    let metrics = metrics.map(|metrics| Arc::clone(metrics) as Arc<dyn AuditObserver>);
    let spans = spans.map(|spans| Arc::clone(spans) as Arc<dyn AuditObserver>);
    let followed = Decisions::are_followed().then(|| {
        let secrets = secrets.clone();
        Arc::new(Decisions { secrets }) as Arc<dyn AuditObserver>
    });
    let observers = metrics.into_iter().chain(spans).chain(followed);
    observers.fold(audit, Audit::observed_by)
}

/// Reading files and compiling policies takes longer than a message may wait: a thread does it.
fn renewal(config: &Config, loaded: &LoadedPolicies, common: &Common) -> std::io::Result<Renewal> {
    let whole = Arc::new(PolicyStore::new(loaded.snapshot.of_server(None)));
    let settings = policy_settings(config);
    let configured = Configured::by(config);
    let reads = configured.is_some() || settings.reads_files();
    let watch = reads
        .then(|| Watch::start(settings, configured, Arc::clone(&whole)))
        .transpose()?;
    let restart = common.for_operators.restart.clone();
    Renewal::of(watch, config, whole, common.audit.clone(), restart)
}
