//! Servers that come and go while the gate runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use tracing::{info, warn};

use crate::agent::http::Endpoints;
use crate::audit::{Audit, AuditFault, Decision, Event, Kind, Reason, Record};
use crate::config::{Config, ConfigError, ConfigErrors, ConfigFile, Listen};
use crate::loading::LoadedPolicies;
use crate::policy::ServerKey;
use crate::shutdown::ShutdownCause;

use super::numbers::Numbers;
use super::parts::Parts;
use super::prepare::{Common, Prepared, prepare};
use super::pulse::Serves;
use super::server_set::{RunningServers, ServerSet};
use super::upkeep::Upkeep;
use super::{network, settings, user_identity};

/// The code of records that say that what was recorded did not come into force.
pub(super) const NOT_RECORDED: &str = "not_recorded";

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
        let current = self.servers.current();
        let stays = |parts: &Arc<Parts>| {
            let key = parts.key();
            let is_there = each.iter().any(|config| config.key == key);
            is_there && key.is_none_or(|key| !changed.contains(&key))
        };
        let (staying, leaving): (Vec<_>, Vec<_>) = current.servers.iter().cloned().partition(stays);
        let is_new = |config: &Config| !staying.iter().any(|parts| parts.key() == config.key);
        let mut problems = Vec::new();
        let mut coming = Vec::new();
        for config in each.iter().filter(|it| is_new(it)) {
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

    /// The servers of now.
    pub(super) fn unchanged(&self) -> NextServers<'static> {
        NextServers {
            staying: self.servers.current().servers.clone(),
            leaving: Vec::new(),
            coming: Vec::new(),
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
    /// Whether a server comes or goes.
    pub(super) fn is_new(&self) -> bool {
        !(self.leaving.is_empty() && self.coming.is_empty())
    }

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
        let of = |name: &str, event, decision, code| {
            Record::new(Kind::PolicyReload)
                .upstream(name)
                .event(event)
                .decision(decision, STAGE)
                .revision(revision)
                .reason(Reason::code(code))
        };
        let mut recorded = Vec::new();
        for (name, code) in leaving.chain(coming) {
            let record = of(name, Event::Published, Decision::Allow, code);
            if let Err(fault) = audit.record(record).await {
                for name in recorded {
                    let record = of(name, Event::Rejected, Decision::Block, NOT_RECORDED);
                    if let Err(fault) = audit.record(record).await {
                        warn!("the log says that `{name}` came or went, and it did not: {fault}");
                    }
                }
                return Err(fault);
            }
            recorded.push(name);
        }
        Ok(())
    }
}
