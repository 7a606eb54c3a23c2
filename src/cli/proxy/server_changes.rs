//! Servers that come and go while the gate runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracing::{info, warn};

use crate::agent::http::{Endpoint, Endpoints};
use crate::audit::{Audit, AuditFault, Decision, Event, Kind, Reason, Record};
use crate::config::{Config, ConfigError, ConfigErrors, ConfigFile, Listen};
use crate::loading::LoadedPolicies;
use crate::policy::ServerKey;
use crate::shutdown::ShutdownCause;

use super::parts::Parts;
use super::prepare::{Common, Prepared, ServerNumber, prepare};
use super::pulse::Serves;
use super::server_set::{RunningServers, ServerSet};
use super::upkeep::Upkeep;
use super::{network, settings, user_identity};

/// The step that records of servers that come and go name.
const STAGE: &str = "reload";

/// Puts another set of servers in the place of the one that runs.
pub(super) struct ServerChanges {
    pub(super) common: Common,
    pub(super) servers: Arc<ServerSet>,
    pub(super) serves: Serves,
    /// The paths of the listener, of agents over HTTP.
    pub(super) endpoints: Option<Endpoints>,
    pub(super) upkeep: Arc<Upkeep>,
    pub(super) numbers: Numbers,
    /// What cannot be added while the gate runs.
    pub(super) fixed: Fixed,
}

/// The numbers that servers had.
#[derive(Debug)]
pub(super) struct Numbers {
    endpoints: usize,
    generations: BTreeMap<ServerKey, usize>,
}

/// What the gate has made at its start for the servers of then.
pub(super) struct Fixed {
    config: Config,
}

/// Another set of servers, which is not in force yet.
pub(super) struct NextServers<'c> {
    /// Those that were there and stay.
    staying: Vec<Arc<Parts>>,
    leaving: Vec<Arc<Parts>>,
    coming: Vec<Prepared<'c>>,
}

impl Numbers {
    /// The endpoint of all servers is the first, and views follow it.
    pub(super) fn after_views(config: &Config) -> Self {
        Self {
            endpoints: config.views.len(),
            generations: BTreeMap::new(),
        }
    }

    /// Those of a server that comes.
    pub(super) fn next(&mut self, key: Option<&ServerKey>) -> ServerNumber {
        self.endpoints = self.endpoints.saturating_add(1);
        let generation = key.map_or(0, |key| {
            let next = self.generations.entry(key.clone()).or_default();
            let generation = *next;
            *next = next.saturating_add(1);
            generation
        });
        ServerNumber {
            endpoint: Endpoint(self.endpoints),
            generation,
        }
    }
}

impl Fixed {
    pub(super) fn by(config: &Config) -> Self {
        Self {
            config: config.clone(),
        }
    }

    /// Why a server cannot be added to a gate that was started without it: the key, and the reason.
    fn lacks(&self, config: &Config) -> Option<(&'static str, &'static str)> {
        if !user_identity::is_made_for(&self.config, config) {
            return Some((
                "identity",
                "the keys and audiences of assertions are fixed when the gate starts: restart it",
            ));
        }
        if network::starts_for_anybody(config) && !network::starts_for_anybody(&self.config) {
            return Some((
                "command",
                "agents without a token could make the gate start it, and the limits for that are fixed when the \
                 gate starts: restart it, or set `listen.auth`",
            ));
        }
        None
    }
}

impl ServerChanges {
    /// Prepares the servers that are new or changed.
    ///
    /// # Errors
    /// What keeps the gate from serving with one of them; nothing has changed then.
    pub(super) fn prepare<'c>(
        &self,
        file: Option<&ConfigFile>,
        each: &'c [Config],
        changed: &BTreeSet<ServerKey>,
        loaded: &LoadedPolicies,
    ) -> Result<NextServers<'c>, ConfigErrors> {
        let is_changed = |key: Option<&ServerKey>| key.is_some_and(|key| changed.contains(key));
        let current = self.servers.current();
        let (leaving, staying) = current
            .servers
            .iter()
            .cloned()
            .partition(|parts| is_changed(parts.key().as_ref()));
        let mut problems = Vec::new();
        let mut coming = Vec::new();
        for config in each.iter().filter(|it| is_changed(it.key.as_ref())) {
            let section = &config.upstream.section;
            if let Some((key, why)) = self.fixed.lacks(config) {
                let field = format!("{section}.{key}");
                problems.push(ConfigError::of_a_file(
                    &field,
                    why.to_owned(),
                    "the other servers go on",
                ));
                continue;
            }
            // Before anything of the server can be recorded.
            if let Err(short) = self.common.secrets.add(settings::secret_values(config)) {
                let help = "use a longer one";
                problems.push(ConfigError::of_a_file(section, short.to_string(), help));
            }
            match prepare(config, loaded, &self.common) {
                Ok(prepared) => coming.push(prepared),
                Err(why) => {
                    let help = "the other servers go on; mend it, and save the file again";
                    problems.push(ConfigError::of_a_file(section, why, help));
                }
            }
        }
        match file.and_then(|file| file.errors(problems)) {
            Some(errors) => Err(errors),
            None => Ok(NextServers {
                staying,
                leaving,
                coming,
            }),
        }
    }

    /// Puts them in force, after their records: those that leave take nothing new, and answer what waits.
    pub(super) fn put_in_force(&mut self, next: NextServers<'_>, config: &Config) {
        let NextServers {
            mut staying,
            leaving,
            coming,
        } = next;
        let mut begun = Vec::new();
        for prepared in coming {
            let number = self.numbers.next(prepared.config.key.as_ref());
            let parts = Arc::new(prepared.parts(self.serves, &self.common, number));
            begun.push(Arc::clone(&parts));
            staying.push(parts);
        }
        staying.sort_by_key(|parts| parts.key());
        let metrics = self.common.for_operators.metrics.as_ref();
        for parts in &begun {
            let name = &parts.server.name;
            info!("the server `{name}` was added");
            if let Some(metrics) = metrics {
                metrics.add_server(name.as_str().into());
            }
            if let Err(cause) = parts.open.upstreams.check() {
                warn!("{cause}; until it can be started, agents of `{name}` are refused");
            }
            self.upkeep.begin(Arc::clone(parts));
        }
        let running = RunningServers {
            servers: staying,
            disabled: config.disabled().cloned().collect(),
        };
        if let (Some(endpoints), Listen::Http(listen)) = (&self.endpoints, &config.listen) {
            endpoints.replace(network::endpoint_paths(config, listen, &running.numbered()));
        }
        self.servers.replace(running);
        for parts in leaving {
            info!("the server `{}` was removed", parts.server.name);
            parts.shutdown.request(ShutdownCause::ServerRemoved);
        }
    }

    pub(super) fn audit(&self) -> &Audit {
        &self.common.audit
    }
}

impl NextServers<'_> {
    pub(super) fn staying(&self) -> &[Arc<Parts>] {
        &self.staying
    }

    /// Records which servers come and go.
    ///
    /// # Errors
    /// [`AuditFault`] when that cannot be recorded: then none may.
    pub(super) async fn record(&self, audit: &Audit, revision: &str) -> Result<(), AuditFault> {
        let leaving = self.leaving.iter();
        let leaving = leaving.map(|it| (&it.server.name, "server_removed"));
        let coming = self.coming.iter();
        let coming = coming.map(|it| (&it.config.upstream.name, "server_added"));
        for (name, code) in leaving.chain(coming) {
            let record = Record::new(Kind::PolicyReload)
                .upstream(name)
                .event(Event::Published)
                .decision(Decision::Allow, STAGE)
                .revision(revision)
                .reason(Reason::code(code));
            audit.record(record).await?;
        }
        Ok(())
    }
}
