//! Opens what the configuration names, before anybody is served.

use std::sync::Arc;

use tracing::{error, warn};

use crate::admin::{Metrics, Serving};
use crate::agent::http::AskHealth;
use crate::audit::{Audit, AuditObserver, Kind, Record, Redactor};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Listen, StartupProbe};
use crate::gate::{self, Gate};
use crate::loading::{LoadedPolicies, Watch};
use crate::memory::Memory;
use crate::policy::{PolicyStore, Roots};
use crate::session::Instance;
use crate::shutdown::Shutdown;
use crate::telemetry::{Exporter, Spans};
use crate::upstream::open_files;

use super::super::exit::Exit;
use super::super::unmet_requirements::PolicyRequirements;
use super::command_settings::{limited_gate_settings, policy_settings};
use super::configured::Configured;
use super::conversations::Conversations;
use super::decisions::Decisions;
use super::entrance::{Entrance, enter};
use super::flight::Flight;
use super::own_roots::OwnRootsNeed;
use super::parts::{ForOperators, Parts};
use super::pulse::{self, Serves};
use super::renew::Renewal;
use super::restart::Restart;
use super::servers::Upstreams;
use super::start_failures::{broken, invalid};
use super::trials::{Trials, Tried};
use super::user_identity::IdentitySetup;
use super::{exposed, flight, followers, lines, network, operators, reading, settings, traces};

/// A gate that is about to serve.
pub(super) struct Opened {
    pub(super) parts: Parts,
    pub(super) entrance: Entrance,
    pub(super) renewal: Renewal,
    pub(super) health: AskHealth,
    /// Operators are served for as long as this lives.
    pub(super) operators: Option<Serving>,
    /// Traces are sent for as long as this lives.
    pub(super) exporter: Option<Exporter>,
    pub(super) flight: Flight,
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
    let metrics = admin.is_some().then(Arc::<Metrics>::default);
    let (audit, flight) = open_log(config, &clock, &secrets)?;
    let traces = traces::start(config, &clock, &secrets)
        .map_err(|cause| invalid(&format!("`telemetry`: {cause}")))?;
    let (exporter, spans) = traces.unzip();
    let audit = observed(audit, metrics.as_ref(), spans.as_ref(), &secrets);
    if let Listen::Http(_) = config.listen {
        // Before servers are told what they may have.
        open_files::ask_for_all();
    }
    let judging = limited_gate_settings(config);
    let terms = Arc::new(judging.terms.clone());
    let store = Arc::new(PolicyStore::new(loaded.snapshot.with_terms(terms)));
    let policies = store.current();
    let roots = &policies.labels().roots;
    check_roots(config, roots)?;
    let concealing = settings::concealing_by(&store);
    let (upstreams, isolated) =
        Upstreams::all(config, roots, &secrets, &concealing, &clock, &memory)
            .map_err(|cause| invalid(&cause))?;
    let missing = PolicyRequirements::by(config).missing_in(&policies);
    let shutdown = Shutdown::listen(config.limits.shutdown_grace_period)
        .map_err(|cause| broken("cannot listen for signals", &cause))?;
    let restart = Restart::default();
    let renewal = renewal(config, &store, &audit, &restart)
        .map_err(|cause| broken("cannot read policies again while the gate runs", &cause))?;
    let (serving, key_set) = serving(config, judging, &clock)?;
    let settings = gate::Settings {
        secrets,
        unconfined: unconfined(&upstreams, &isolated),
        ..serving
    };
    let gate = Gate::new(store, audit.clone(), Arc::clone(&clock), settings);
    let gate = gate.within(memory.clone());
    let gate = reading::remembering(config, gate)?;
    let (gate, approvals) = operators::asking(config, gate, &clock)?;
    let upstream = config.upstream.name.clone();
    let admin = operators::listen(admin)?;
    let isolated_is = looked_for(config, &isolated)?;
    let entrance = enter(config, &gate, &upstreams, &isolated, &memory).await?;
    record_start(&audit, &entrance, &upstream, &gate.revision()).await?;
    for notice in loaded.notices.iter().chain(&missing) {
        warn!("{notice}");
    }
    let surfaces = &loaded.surfaces;
    lines::is_up(&entrance, config, &policies, surfaces, &isolated_is);
    let (serves, authenticate, connections) = entrance.serves();
    let (open, isolated) = tried(config, serves, upstreams, isolated);
    let parts = Parts {
        gate: Arc::new(gate),
        audit,
        open,
        isolated,
        conversations: Conversations::default(),
        for_operators: ForOperators {
            metrics,
            restart,
            key_set,
        },
        upstream,
        shutdown,
        bridging: settings::bridge(config),
        names: reading::Names::of(&config.ratchet),
        clock,
        memory,
    };
    let health = pulse::health(&parts, serves, authenticate);
    let operators = admin
        .zip(parts.for_operators.metrics.clone())
        .map(|(listener, metrics)| {
            operators::serve(
                listener,
                &parts,
                metrics,
                Arc::clone(&health),
                connections,
                spans,
                approvals,
            )
        });
    let operators = operators
        .transpose()
        .map_err(|cause| broken("cannot serve operators", &cause))?;
    Ok(Opened {
        parts,
        entrance,
        renewal,
        health,
        operators,
        exporter,
        flight,
    })
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

async fn record_start(
    audit: &Audit,
    entrance: &Entrance,
    upstream: &str,
    revision: &str,
) -> Result<(), Exit> {
    let startup = Record::new(Kind::Startup).upstream(upstream);
    let recorded = audit.record(startup.revision(revision)).await;
    let Err(fault) = recorded else { return Ok(()) };
    error!("the start could not be recorded: {fault}");
    if let Entrance::Stdio(ends) = entrance {
        ends.1.kill().await;
    }
    Err(Exit::Unrecoverable)
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

/// What only a gate that serves has to know, and the key that it publishes.
fn serving(
    config: &Config,
    judging: gate::Settings,
    clock: &Arc<dyn Clock>,
) -> Result<(gate::Settings, Option<Arc<str>>), Exit> {
    let vouching = IdentitySetup::of(config, clock)
        .map_err(|cause| broken("no key can be made for `upstream.identity`", &cause))?;
    let digests = settings::digests(&config.audit).map_err(|cause| invalid(&cause))?;
    let settings = gate::Settings {
        user_identities: vouching.identities,
        arguments: settings::arguments(&config.audit, digests),
        results: settings::results(&config.audit),
        tracing: traces::tracing(config),
        eras: gate::Eras::Asked,
        own_directories: gate::OwnDirectories::Made,
        over_http: settings::over_http(config),
        ..judging
    };
    Ok((settings, vouching.key_set))
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
fn renewal(
    config: &Config,
    store: &Arc<PolicyStore>,
    audit: &Audit,
    restart: &Restart,
) -> std::io::Result<Renewal> {
    let settings = policy_settings(config);
    let configured = Configured::by(config);
    let reads = configured.is_some() || settings.dir.is_some() || settings.shadow.is_some();
    let watch = reads
        .then(|| Watch::start(settings, configured, Arc::clone(store)))
        .transpose()?;
    let current = store.current();
    let roots = &current.labels().roots;
    Renewal::of(watch, config, roots, audit.clone(), restart.clone())
}
