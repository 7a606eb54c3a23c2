//! A server that is about to be served: at the start of the gate, and while it runs.

use std::sync::Arc;

use crate::audit::{Audit, Redactor};
use crate::clock::Clock;
use crate::config::{Config, StartupProbe};
use crate::consent::Desk;
use crate::gate::{self, Gate};
use crate::loading::LoadedPolicies;
use crate::memory::Memory;
use crate::policy::{self, PolicyStore, Roots};
use crate::session::{EvidenceStore, Instance, SessionStore};
use crate::shutdown::Shutdown;

use super::command_settings::limited_gate_settings;
use super::conversations::Conversations;
use super::numbers::ServerNumber;
use super::own_roots::OwnRootsNeed;
use super::parts::{ForAgents, ForOperators, Parts, server};
use super::pulse::Serves;
use super::servers::Upstreams;
use super::trials::{Trials, Tried};
use super::user_identity::IdentitySetup;
use super::{exposed, reading, settings, traces};

/// What all servers of a gate share.
pub(super) struct Common {
    pub(super) secrets: Redactor,
    pub(super) kept: Arc<dyn SessionStore>,
    pub(super) evidence: Arc<EvidenceStore>,
    /// Questions to people that agents have taken along.
    pub(super) along: Arc<gate::Along>,
    pub(super) desk: Option<Arc<Desk>>,
    pub(super) conversations: Conversations,
    pub(super) for_operators: ForOperators,
    pub(super) identity: IdentitySetup,
    pub(super) audit: Audit,
    pub(super) shutdown: Shutdown,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) memory: Memory,
}

/// A server that is about to be served, and what judges its messages.
pub(super) struct Prepared<'c> {
    pub(super) config: &'c Config,
    pub(super) store: Arc<PolicyStore>,
    pub(super) gate: Gate,
    pub(super) upstreams: Upstreams,
    pub(super) isolated: Vec<Upstreams>,
}

/// # Errors
/// Why the gate cannot serve with such a server.
pub(super) fn prepare<'c>(
    config: &'c Config,
    loaded: &LoadedPolicies,
    common: &Common,
) -> Result<Prepared<'c>, String> {
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
    let (upstreams, isolated) = Upstreams::all(config, roots, secrets, &concealing, clock, memory)?;
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
        Some(desk) => {
            let gate = gate.asking(Arc::clone(desk));
            gate.sharing_questions(Arc::clone(&common.along))
        }
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
    /// With an endpoint that no server has had before.
    pub(super) fn parts(self, serves: Serves, common: &Common, number: ServerNumber) -> Parts {
        let config = self.config;
        let (open, isolated) = tried(config, serves, self.upstreams, self.isolated);
        Parts {
            gate: Arc::new(self.gate),
            audit: common.audit.clone(),
            open,
            isolated,
            conversations: common.conversations.clone(),
            for_operators: ForOperators {
                need: config.upstream.need,
                ..common.for_operators.clone()
            },
            server: policy::Server {
                generation: number.generation,
                ..server(config)
            },
            // The only server there is ends with the gate, and the gate with it.
            shutdown: match &config.key {
                Some(_) => common.shutdown.branch(config.limits.shutdown_grace_period),
                None => common.shutdown.clone(),
            },
            bridging: settings::bridge(config),
            for_agents: ForAgents {
                endpoint: number.endpoint,
                names: reading::Names::of(config),
            },
            clock: Arc::clone(&common.clock),
            memory: common.memory.clone(),
        }
    }
}

/// Whether the gate can serve with these roots.
fn check_roots(config: &Config, roots: &Roots) -> Result<(), String> {
    let lacking = OwnRootsNeed::by(config).lacking(roots);
    let mut told = exposed::files(config, roots).into_iter().chain(lacking);
    told.next().map_or(Ok(()), Err)
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
fn serving(config: &Config, judging: gate::Settings) -> Result<gate::Settings, String> {
    let digests = settings::digests(&config.audit)?;
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
