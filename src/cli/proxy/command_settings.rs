//! The settings of a gate that judges for a command, and of the server that a command asks.

use std::sync::Arc;

use crate::audit::{Redactor, SecretTooShort};
use crate::clock::{Clock, SystemClock};
use crate::config::{self, Config};
use crate::gate;
use crate::loading;
use crate::policy;
use crate::upstream;
use crate::upstream::http::HttpSettings;
use crate::upstream::sandbox::Sandbox;

use super::{confinement, loading_settings, network, settings};

/// What `[policy]` means to the loader, with the claims of agents' tokens.
pub fn policy_settings(config: &Config) -> loading::Settings {
    loading_settings::loading(config)
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
    gate::Settings {
        thresholds: settings::thresholds(config),
        warm: settings::warm(config),
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
pub(in crate::cli) fn upstream_sandbox(
    server: &config::Upstream,
    roots: &policy::Roots,
) -> Result<Option<Sandbox>, confinement::Nested> {
    confinement::sandbox(server.sandbox.as_ref(), roots)
}

/// How the server is started, in the environment that it is to have, confined as for agents.
pub(in crate::cli) fn upstream_settings(config: &Config) -> Result<upstream::Settings, String> {
    let confinement = config.upstream.sandbox.as_ref();
    let takes_roots = confinement.is_some_and(|it| it.roots == config::SandboxedRoots::Granted);
    let sandbox = if takes_roots {
        let loaded = loading::load(&policy_settings(config));
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
pub(in crate::cli) fn upstream_over_http(
    config: &Config,
    secrets: &Redactor,
) -> Option<HttpSettings> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    network::over_http(config, &config.upstream, secrets, &clock)
}

/// The secrets of the configuration.
pub(in crate::cli) fn upstream_secrets(config: &Config) -> Result<Redactor, SecretTooShort> {
    settings::secrets(config, None)
}
