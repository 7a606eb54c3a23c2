//! The differences between two texts of `gate.toml`, key by key, and the list of keys that come into force
//! while the gate runs.

use std::collections::BTreeSet;

use super::config_text::ConfigText;
use super::errors::{ConfigError, ConfigReason};
use super::settings::{Audit, Config, Limits, Policy, Ratchet, ServerTerms};
use super::text_values::{ConfigPath, ConfigValue, ConfigValues, FEW, dotted, some};
use crate::policy::ServerKey;

/// What comes into force while the gate runs, with everything below it. All other keys need a restart, those
/// included that are not made yet.
const LIVE: [&str; 18] = [
    "version",
    "policy",
    // Of several servers: one that is changed is replaced.
    "servers",
    "servers_dir",
    // It is compiled to policies.
    "ratchet.network",
    "ratchet.server_datasets",
    "flow",
    "audit.durability",
    "audit.on_fault",
    "limits.max_in_flight",
    "limits.calls_per_session",
    "limits.request_timeout",
    "limits.progress_extends",
    "limits.max_request_timeout",
    "limits.tool_timeouts",
    "limits.rates",
    "guards",
    "truncation",
];

/// What of a server comes into force without replacing it.
const IN_PLACE: [&str; 4] = [
    "servers.*.policy",
    "servers.*.limits",
    "servers.*.guards",
    "servers.*.truncation",
];

/// Tables with keys of the author's choice that need a restart. The gate names the table alone, since such a
/// key may be the name of a person.
const CHOSEN: [&str; 12] = [
    "servers",
    "unified.aliases",
    "views",
    "upstream.env",
    "upstream.headers",
    "upstream.isolated.env",
    "upstream.isolated.headers",
    "listen.auth.tokens",
    "listen.auth.claims",
    "admin.approvers",
    "admin.operators",
    "telemetry.headers",
];

/// A pattern or keyword below it may be a secret that it looks for.
const CONCEALED: [&str; 2] = ["guards.secret_rules", "servers.*.guards.secret_rules"];

const HELP: &str = "a file that is half written looks the same: if it is meant, send SIGHUP to the gate, or set \
                    `on_policy_removal = \"apply\"` in `[policy]`";

/// The differences between two texts.
#[derive(Debug)]
pub struct ConfigChanges {
    /// Keys whose values come into force, the first with what they were and are.
    live: Vec<String>,
    /// Keys of the format that need a restart.
    pub restart: Vec<String>,
    /// Servers that are added, removed or replaced.
    pub servers: BTreeSet<ServerKey>,
    /// A problem for each key that the new text lacks, and for each number that may be cut.
    pub missed: Vec<ConfigError>,
}

impl ConfigChanges {
    /// From one text to the next, of a gate that was started with a third.
    pub fn between(started: &ConfigText, before: &ConfigText, now: &ConfigText) -> Self {
        let (was, is) = (
            ConfigValues::of(before.text()),
            ConfigValues::of(now.text()),
        );
        let started = ConfigValues::of(started.text());
        let several = [&started, &is].map(|values| values.has(&["servers".to_owned()]));
        // One server becomes several, or several one.
        let is_live = |path: &ConfigPath| {
            is_live(path)
                && !needs_a_file(path, &started)
                && (several == [true, true] || !is_below(path, "servers"))
        };
        let live = was.differing(&is).into_iter();
        let mut live: Vec<&ConfigPath> = live
            .filter(|path| is_live(path) && *path != &["version"])
            .collect();
        let servers = live.iter().filter(|path| is_below(path, "servers"));
        let servers = servers.filter(|path| !is_in_place(path));
        let servers = servers.filter_map(|path| ServerKey::of(path.get(1)?));
        let servers = servers.collect();
        // Limits may be many, and guards are what the first words should say.
        live.sort_by_key(|path| is_below(path, "limits"));
        let (first, others) = live.split_at_checked(FEW).unwrap_or((&live, &[]));
        let first = first
            .iter()
            .map(|path| told(path, was.value(path), is.value(path)));
        let others = others.iter().map(|path| format!("`{}`", dotted(path)));
        let restart = started.differing(&is).into_iter();
        let restart = restart.filter(|path| !is_live(path)).map(key);
        Self {
            live: first.chain(others).collect(),
            restart: restart.collect::<BTreeSet<_>>().into_iter().collect(),
            servers,
            missed: missed((&was, before), (&is, now)),
        }
    }

    /// What comes into force, in words; nothing if none of it is new.
    pub fn told(&self) -> Option<String> {
        (!self.live.is_empty()).then(|| format!("configuration: {}", self.live.join(", ")))
    }
}

impl Config {
    /// This configuration as far as it can be in force in a gate that was started with another one: what
    /// needs a restart is still that one's.
    #[must_use]
    pub fn in_place_of(self, started: &Self) -> Self {
        let in_force = |limits| with_those_of_start(limits, &started.limits);
        // One server becomes several, or several one: the next start does that.
        let is_alike = self.servers.is_empty() == started.servers.is_empty();
        let of_servers = if is_alike {
            self.server_terms
        } else {
            started.server_terms.clone()
        };
        let of_servers = of_servers.into_iter().map(|(key, terms)| {
            let limits = in_force(terms.limits);
            (key, ServerTerms { limits, ..terms })
        });
        let (servers, upstream, own, flow) = if is_alike && !self.servers.is_empty() {
            (self.servers, self.upstream, self.policy.own, self.flow)
        } else {
            let started = started.clone();
            let flow = if is_alike { self.flow } else { started.flow };
            (started.servers, started.upstream, started.policy.own, flow)
        };
        Self {
            policy: Policy { own, ..self.policy },
            servers,
            upstream,
            audit: Audit {
                durability: match started.audit.file {
                    Some(_) => self.audit.durability,
                    None => started.audit.durability,
                },
                on_fault: self.audit.on_fault,
                ..started.audit.clone()
            },
            server_terms: of_servers.collect(),
            limits: in_force(self.limits),
            ratchet: Ratchet {
                server_datasets: self.ratchet.server_datasets,
                ..started.ratchet.clone()
            },
            flow,
            guards: self.guards,
            truncation: self.truncation,
            warnings: self.warnings,
            ..started.clone()
        }
    }
}

/// Those of single requests with those of the gate as it was started.
fn with_those_of_start(new: Limits, started: &Limits) -> Limits {
    Limits {
        max_in_flight: new.max_in_flight,
        rates: new.rates,
        request_timeout: new.request_timeout,
        progress_extends: new.progress_extends,
        max_request_timeout: new.max_request_timeout,
        tool_timeouts: new.tool_timeouts,
        ..started.clone()
    }
}

/// The key of the format that a path needs a restart for.
fn key(path: &ConfigPath) -> String {
    let chosen = CHOSEN.iter().find(|table| is_below(path, table));
    chosen.map_or_else(|| dotted(path), |table| (*table).to_owned())
}

/// What is not there any more, and what may be cut.
fn missed(
    (was, before): (&ConfigValues, &ConfigText),
    (is, text): (&ConfigValues, &ConfigText),
) -> Vec<ConfigError> {
    let is_meant = |path: &[String]| match path {
        [section, key, ..] => {
            let is_gone = || !is.has(&[section.clone(), key.clone()]);
            section == "servers" && text.is_whole(before, key, is_gone)
        }
        _ => false,
    };
    let gone = was.lacking_in(is).into_iter();
    let gone = gone.filter(|path| !is_meant(path)).map(|path| {
        let reason = ConfigReason::Missed("is in force and is not there");
        ConfigError::without_place(&dotted(path), reason, HELP)
    });
    let cut = is.cut_after(was, |place| text.ends_after(place));
    let cut = cut.filter(|path| !is_meant(path)).map(|path| {
        let reason = ConfigReason::Missed("is a number that may be cut: nothing follows it");
        ConfigError::without_place(&dotted(path), reason, HELP)
    });
    gone.chain(cut).collect()
}

fn told(path: &ConfigPath, was: Option<&ConfigValue>, is: Option<&ConfigValue>) -> String {
    let key = dotted(path);
    // How a server is reached may be a secret: its token, a header, a variable, its URL.
    let is_of_a_server = is_below(path, "servers") && !is_in_place(path);
    if is_of_a_server || CONCEALED.iter().any(|key| is_below(path, key)) {
        return format!("`{key}` has changed");
    }
    match (was, is) {
        (Some(ConfigValue::List(was)), Some(ConfigValue::List(is))) => {
            let lacking = |items: &[String], of: &[String]| -> Vec<String> {
                let items: BTreeSet<&String> = items.iter().collect();
                let lacking = of.iter().filter(|item| !items.contains(item));
                lacking.cloned().collect()
            };
            let parts = [("with", lacking(was, is)), ("without", lacking(is, was))];
            let parts = parts.iter().filter(|(_, items)| !items.is_empty());
            let parts: Vec<String> = parts
                .map(|(how, items)| format!("{how} {}", some(items)))
                .collect();
            if parts.is_empty() {
                format!("`{key}` in another order")
            } else {
                format!("`{key}` {}", parts.join(" and "))
            }
        }
        (Some(was), Some(is)) => format!("`{key}` is {} and was {}", is.shown(), was.shown()),
        (None, Some(is)) => format!("`{key}` is {} and was not set", is.shown()),
        (Some(was), None) => format!("`{key}` is not set and was {}", was.shown()),
        (None, None) => key,
    }
}

/// A stream cannot be put on disk: what waits for that needs the file that the gate was started with.
fn needs_a_file(path: &ConfigPath, started: &ConfigValues) -> bool {
    let file = ["audit", "file"].map(str::to_owned).to_vec();
    dotted(path) == "audit.durability" && started.value(&file).is_none()
}

fn is_in_place(path: &[String]) -> bool {
    IN_PLACE.iter().any(|key| is_below(path, key))
}

fn is_live(path: &[String]) -> bool {
    LIVE.iter().any(|key| is_below(path, key))
}

/// Whether a path is a key, or leads on from there. `*` is any part.
fn is_below(path: &[String], key: &str) -> bool {
    let mut parts = path.iter();
    key.split('.')
        .all(|part| parts.next().is_some_and(|it| part == "*" || it == part))
}
