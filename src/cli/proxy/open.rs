//! Opens what the configuration names, before anybody is served.

use std::sync::Arc;

use tracing::{error, warn};

use crate::admin::{Metrics, Serving};
use crate::agent::http::AskHealth;
use crate::audit::{Audit, AuditObserver, Kind, Record, Redactor};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Listen, StartupProbe};
use crate::consent::Desk;
use crate::gate::{self, Gate};
use crate::loading::{LoadedPolicies, Watch};
use crate::memory::Memory;
use crate::policy::{PolicyStore, Roots};
use crate::session::{EvidenceStore, Instance, SessionStore};
use crate::shutdown::Shutdown;
use crate::telemetry::{Exporter, Spans};
use crate::upstream::open_files;

use super::super::exit::Exit;
use super::super::unmet_requirements::PolicyRequirements;
use super::command_settings::{limited_gate_settings, policy_settings};
use super::configured::Configured;
use super::conversations::Conversations;
use super::decisions::Decisions;
use super::entrance::{Entrance, Reserved, enter, reserve};
use super::flight::Flight;
use super::own_roots::OwnRootsNeed;
use super::parts::{ForOperators, Parts, server};
use super::pulse::{Pulse, Serves};
use super::renew::Renewal;
use super::restart::Restart;
use super::servers::Upstreams;
use super::start_failures::{broken, invalid};
use super::trials::{Trials, Tried};
use super::user_identity::IdentitySetup;
use super::{exposed, flight, followers, lines, network, operators, reading, settings, traces};

/// A gate that is about to serve.
pub(super) struct Opened {
    pub(super) servers: Vec<Parts>,
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

/// In the order in which a failure does least harm.
pub(super) async fn open(
    config: &Config,
    loaded: LoadedPolicies,
    memory: Memory,
) -> Result<Opened, Exit> {
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
        desk,
        conversations: Conversations::default(),
        for_operators: ForOperators {
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
    let each = config.each();
    let prepared = each.iter().map(|config| prepare(config, &loaded, &common));
    let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
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
        it.record_start(&common.audit, &entrance).await?;
    }
    warn_of(config, &loaded);
    for (it, isolated_is) in prepared.iter().zip(&isolated_are) {
        it.is_up(&entrance, &loaded, isolated_is);
    }
    let (serves, authenticate, connections) = entrance.serves();
    let all = prepared.into_iter();
    let all: Vec<Parts> = all.map(|it| it.parts(serves, &common)).collect();
    let pulse = Pulse::of(all.iter().zip(&each), serves, authenticate.as_ref());
    let operators = admin
        .zip(common.for_operators.metrics.clone())
        .zip(all.first())
        .map(|((listener, metrics), parts)| {
            operators::serve(
                listener,
                parts,
                metrics,
                &pulse,
                connections,
                spans,
                approvals,
            )
        })
        .transpose()
        .map_err(|cause| broken("cannot serve operators", &cause))?;
    Ok(Opened {
        servers: all,
        audit: common.audit,
        shutdown: common.shutdown,
        memory: common.memory,
        conversations: common.conversations,
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

/// What all servers of a gate share.
struct Common {
    secrets: Redactor,
    kept: Arc<dyn SessionStore>,
    evidence: Arc<EvidenceStore>,
    desk: Option<Arc<Desk>>,
    conversations: Conversations,
    for_operators: ForOperators,
    identity: IdentitySetup,
    audit: Audit,
    shutdown: Shutdown,
    clock: Arc<dyn Clock>,
    memory: Memory,
}

/// A server that is about to be served, and what judges its messages.
struct Prepared<'c> {
    config: &'c Config,
    store: Arc<PolicyStore>,
    gate: Gate,
    upstreams: Upstreams,
    isolated: Vec<Upstreams>,
}

fn prepare<'c>(
    config: &'c Config,
    loaded: &LoadedPolicies,
    common: &Common,
) -> Result<Prepared<'c>, Exit> {
    let judging = limited_gate_settings(config);
    let terms = Arc::new(judging.terms.clone());
    let policies = loaded.snapshot.of_server(config.key.as_ref());
    let store = Arc::new(PolicyStore::new(policies.with_terms(terms)));
    let policies = store.current();
    let roots = &policies.labels().roots;
    check_roots(config, roots)?;
    let concealing = settings::concealing_by(&store);
    let Common {
        secrets,
        clock,
        memory,
        ..
    } = common;
    let (upstreams, isolated) = Upstreams::all(config, roots, secrets, &concealing, clock, memory)
        .map_err(|cause| invalid(&cause))?;
    let settings = gate::Settings {
        secrets: secrets.clone(),
        unconfined: unconfined(&upstreams, &isolated),
        user_identities: common.identity.identities(config),
        ..serving(config, judging)?
    };
    let gate = Gate::new(
        Arc::clone(&store),
        common.audit.clone(),
        Arc::clone(clock),
        settings,
    );
    let gate = gate.within(memory.clone());
    let gate = gate.remembering(Arc::clone(&common.kept));
    let gate = gate.sharing_evidence(Arc::clone(&common.evidence));
    let gate = match &common.desk {
        Some(desk) => gate.asking(Arc::clone(desk)),
        None => gate,
    };
    Ok(Prepared {
        config,
        store,
        gate,
        upstreams,
        isolated,
    })
}

impl Prepared<'_> {
    async fn record_start(&self, audit: &Audit, entrance: &Entrance) -> Result<(), Exit> {
        let startup = Record::new(Kind::Startup).upstream(&self.config.upstream.name);
        let recorded = audit.record(startup.revision(&*self.gate.revision())).await;
        let Err(fault) = recorded else { return Ok(()) };
        error!("the start could not be recorded: {fault}");
        if let Entrance::Stdio(ends) = entrance {
            ends.1.kill().await;
        }
        Err(Exit::Unrecoverable)
    }

    fn is_up(&self, entrance: &Entrance, loaded: &LoadedPolicies, isolated_is: &[&'static str]) {
        let policies = self.store.current();
        lines::is_up(
            entrance,
            self.config,
            &policies,
            &loaded.surfaces,
            isolated_is,
        );
    }

    fn parts(self, serves: Serves, common: &Common) -> Parts {
        let config = self.config;
        let (open, isolated) = tried(config, serves, self.upstreams, self.isolated);
        Parts {
            gate: Arc::new(self.gate),
            audit: common.audit.clone(),
            open,
            isolated,
            conversations: common.conversations.clone(),
            for_operators: common.for_operators.clone(),
            server: server(config),
            shutdown: common.shutdown.clone(),
            bridging: settings::bridge(config),
            names: reading::Names::of(config),
            clock: Arc::clone(&common.clock),
            memory: common.memory.clone(),
        }
    }
}

/// Whether the gate can serve with these roots.
fn check_roots(config: &Config, roots: &Roots) -> Result<(), Exit> {
    let lacking = OwnRootsNeed::by(config).lacking(roots);
    let told = exposed::files(config, roots).into_iter().chain(lacking);
    told.map(|told| invalid(&told)).next().map_or(Ok(()), Err)
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

/// What comes of trying out all servers.
fn tried(
    config: &Config,
    serves: Serves,
    open: Upstreams,
    isolated: Vec<Upstreams>,
) -> (Tried, Vec<Tried>) {
    let tried = |upstreams, instance: Instance| Tried {
        trials: Trials::new(
            trial(config, serves, instance, &upstreams),
            instance.name_of("the server").into(),
        ),
        upstreams,
        instance,
    };
    let isolated = isolated.into_iter().zip(Instance::ISOLATED);
    (
        tried(open, Instance::OPEN),
        isolated.map(|(it, instance)| tried(it, instance)).collect(),
    )
}

fn unconfined(open: &Upstreams, isolated: &[Upstreams]) -> gate::Unconfined {
    let all = std::iter::once(open).chain(isolated);
    gate::Unconfined::from_first(all.map(Upstreams::unconfined))
}

/// What only a gate that serves has to know.
fn serving(config: &Config, judging: gate::Settings) -> Result<gate::Settings, Exit> {
    let digests = settings::digests(&config.audit).map_err(|cause| invalid(&cause))?;
    Ok(gate::Settings {
        arguments: settings::arguments(&config.audit, digests),
        results: settings::results(&config.audit),
        tracing: traces::tracing(config),
        eras: gate::Eras::Asked,
        own_directories: gate::OwnDirectories::Made,
        over_http: settings::over_http(config),
        ..judging
    })
}

/// Whether the gate shakes hands itself.
fn trial(
    config: &Config,
    serves: Serves,
    instance: Instance,
    upstreams: &Upstreams,
) -> StartupProbe {
    let is_started = instance.is_open() || *settings::warm(config).of(instance);
    match (serves, upstreams) {
        // It could only be started in the directory of some session.
        (_, Upstreams::Command { own, .. }) if own.are_any() => StartupProbe::Off,
        // The only process there is belongs to the only agent.
        (Serves::One, Upstreams::Command { .. }) if is_started => StartupProbe::Off,
        (Serves::One | Serves::Many, _) => config.upstream.startup_probe,
    }
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
