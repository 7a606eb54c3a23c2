//! The listener of operators: what the configuration means to it, and where its answers come from.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use secrecy::SecretString;
use tracing::info;

use crate::admin::{
    Approvals, Gauges, Listener, Metrics, Occupancy, Operations, Operators, OperatorsApi,
    ServerConditions, Serving, Settings, Sources, TraceCounts,
};
use crate::agent::http::Connections;
use crate::clock::Clock;
use crate::config::Config;
use crate::consent::{self, Desk, Way};
use crate::identity::{Identity, StaticToken, StaticTokens, StaticTokensError};
use crate::telemetry::{self, Spans};

use super::super::exit::Exit;
use super::conditions;
use super::prepare::Common;
use super::pulse::Pulse;
use super::start_failures::{broken, invalid};

/// The listener, opened; none unless it is configured.
pub(super) fn settings(
    config: &Config,
    token: Option<&SecretString>,
) -> Result<Option<Settings>, StaticTokensError> {
    let Some(port) = config.admin.port else {
        return Ok(None);
    };
    let tokens = token.map(|token| {
        StaticTokens::new(vec![StaticToken {
            token: token.clone(),
            identity: Identity::named("operator"),
        }])
    });
    Ok(Some(Settings {
        allowed_hosts: config.admin.allowed_hosts.clone(),
        tokens: tokens.transpose()?,
        ..Settings::at(SocketAddr::new(config.admin.host, port))
    }))
}

/// The port is taken, and nobody is served yet.
pub(super) fn listen(settings: Option<Settings>) -> Result<Option<Listener>, Exit> {
    let Some(settings) = settings else {
        return Ok(None);
    };
    let what = format!(
        "cannot listen for operators at {} (`[admin]`)",
        settings.listen
    );
    let listener = Listener::bind(settings).map_err(|cause| broken(&what, &cause))?;
    Ok(Some(listener))
}

/// Where people answer what waits on the desk, if there are any who may.
fn approvals(
    config: &Config,
    desk: &Arc<Desk>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Approvals>, StaticTokensError> {
    let approvers = &config.admin.approvers;
    if approvers.is_empty() || !desk.settings().has(Way::Page) {
        return Ok(None);
    }
    let approver = |(name, token): (&String, &SecretString)| StaticToken {
        token: token.clone(),
        identity: Identity::named(name),
    };
    let approvers = StaticTokens::new(approvers.iter().map(approver).collect())?;
    Ok(Some(Approvals::new(
        Arc::clone(desk),
        approvers,
        Arc::clone(clock),
    )))
}

/// The desk where people are asked, if anybody is, and the place where they answer.
pub(super) fn desk(
    config: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<(Option<Arc<Desk>>, Option<Approvals>), Exit> {
    let Some(settings) = &config.consent else {
        return Ok((None, None));
    };
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|cause| broken("the operating system gives no random numbers", &cause))?;
    let settings = consent::Settings {
        approvers: config.admin.approvers.keys().cloned().collect(),
        ..settings.clone()
    };
    let desk = Arc::new(Desk::new(settings, Arc::clone(clock), seed));
    let approvals = approvals(config, &desk, clock)
        .map_err(|cause| invalid(&format!("`admin.approvers`: {cause}")))?;
    Ok((Some(desk), approvals))
}

/// What the admin API needs of the gate.
pub struct OperationsSetup {
    /// The file of the configuration.
    pub config: PathBuf,
    pub conditions: ServerConditions,
}

impl fmt::Debug for OperationsSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperationsSetup").finish_non_exhaustive()
    }
}

/// Makes what the admin API does.
pub type MakeOperations = fn(OperationsSetup) -> io::Result<Arc<dyn Operations>>;

/// The admin API, if there are operators.
pub(super) fn api(
    config: &Config,
    common: &Common,
    pulse: &Pulse,
    make: MakeOperations,
) -> io::Result<Option<OperatorsApi>> {
    let operators = &config.admin.operators;
    let (Some(file), false) = (&config.file, operators.is_empty()) else {
        return Ok(None);
    };
    let operator = |(name, token): (&String, &SecretString)| StaticToken {
        token: token.clone(),
        identity: Identity::named(name),
    };
    let tokens = StaticTokens::new(operators.iter().map(operator).collect());
    let operators = Operators {
        tokens: tokens.map_err(io::Error::other)?,
        with_commands: config.admin.command_operators.clone(),
    };
    let setup = OperationsSetup {
        config: file.path().to_owned(),
        conditions: conditions::of(pulse),
    };
    let secrets = common.secrets.clone();
    Ok(Some(OperatorsApi::new(
        operators,
        make(setup)?,
        common.audit.clone(),
        Arc::clone(&common.clock),
        Box::new(move |text| secrets.redact(text).into_owned()),
    )))
}

/// What is counted before the servers of this configuration.
pub(super) fn metrics(config: &Config) -> Arc<Metrics> {
    let keys = config.each().into_iter().filter_map(|config| config.key);
    let keys = keys.map(|key| key.as_str().into());
    Arc::new(Metrics::of_servers(keys.collect()))
}

/// What people do at the listener.
pub(super) struct People {
    pub(super) approvals: Option<Approvals>,
    pub(super) api: Option<OperatorsApi>,
}

/// Serves operators until what this returns is dropped.
pub(super) fn serve(
    listener: Listener,
    common: &Common,
    metrics: Arc<Metrics>,
    pulse: &Pulse,
    connections: Option<Connections>,
    traces: Option<Arc<Spans>>,
    people: People,
) -> io::Result<Serving> {
    let People { approvals, api } = people;
    let address = listener.address();
    info!("health and metrics on http://{address}");
    if approvals.is_some() {
        info!("approvals on http://{address}/approvals");
    }
    if api.is_some() {
        info!("admin API on http://{address}/api/v1");
    }
    let servers = Arc::clone(&pulse.servers);
    let (audit, clock) = (common.audit.clone(), Arc::clone(&common.clock));
    let kept = Arc::clone(&common.kept);
    let conversations = common.conversations.clone();
    let health = pulse.health();
    let asked = Arc::clone(&health);
    let restart = common.for_operators.restart.clone();
    let needed = restart.clone();
    let memory = common.memory.clone();
    let counted = Arc::clone(&metrics);
    let figures = move || Gauges {
        health: asked(),
        revision: servers.current().revision(),
        memory: memory.state(),
        restart: needed.keys().len(),
        sessions: conversations.count(&counted.server_labels()),
        kept: kept.places().map(|it| Occupancy {
            taken: it.taken,
            most: it.most,
        }),
        connections: connections.as_ref().map(Connections::open),
        audit: audit.figures(),
        traces: traces.as_ref().map(|spans| {
            let telemetry::ExportFigures { exported, dropped } = spans.figures();
            TraceCounts { exported, dropped }
        }),
        seconds: clock.elapsed().as_secs_f64(),
    };
    listener.start(Sources {
        health,
        not_ready: pulse.not_ready(),
        restart: Box::new(move || restart.keys()),
        metrics,
        figures: Box::new(figures),
        approvals,
        api,
        key_set: common.for_operators.key_set.clone(),
    })
}
