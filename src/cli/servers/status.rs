//! The servers of a configuration, and what they answer.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use serde::Serialize;

use super::failure::ServersFailure;
use crate::cli::args::Handshake;
use crate::cli::tools::{self, ServerAnswer, ToolsFailure};
use crate::cli::validate_config;
use crate::config::{Config, WrittenServer};
use crate::findings::printable;
use crate::policy::ServerKey;

/// Servers that run at once.
const AT_ONCE: usize = 8;

/// The longest that one answer of a server may take here.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest that all of them may take.
const LONGEST: Duration = Duration::from_secs(30);

/// One server.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct ServerStatus {
    /// Absent for `[upstream]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// Its program or the origin of its URL.
    server: String,
    #[serde(flatten)]
    connection: Connection,
}

/// The result of a handshake.
#[derive(Debug, Serialize)]
#[serde(tag = "connection", rename_all = "snake_case")]
pub(in crate::cli) enum Connection {
    /// It is disabled, or no handshake is wanted.
    NotAsked,
    Connected {
        protocol: String,
        latency_ms: u128,
        tools: usize,
    },
    Failed {
        error: String,
    },
}

/// What a server answered, if it was asked.
pub(super) type ServerReply = Option<Result<ServerAnswer, ToolsFailure>>;

/// Asks one server, as a gate reaches it; the view has no other.
pub(super) fn ask(view: &Config) -> Result<ServerAnswer, ToolsFailure> {
    let mut view = view.clone();
    view.limits.request_timeout = view.limits.request_timeout.min(PATIENCE);
    tools::asked_one(&view, LONGEST)
}

/// The view of one server; none if it is disabled.
pub(super) fn view_of(config: &Config, key: &ServerKey) -> Result<Option<Config>, ServersFailure> {
    if !config.servers.contains_key(key) {
        return Err(ServersFailure::NoServer {
            key: key.clone(),
            keys: config.servers.keys().cloned().collect(),
        });
    }
    let views = config.each();
    Ok(views
        .into_iter()
        .find(|view| view.key.as_ref() == Some(key)))
}

impl ServerStatus {
    /// The only server of a configuration, or these of several.
    pub(super) fn all(config: &Config, keys: &[&ServerKey], handshake: Handshake) -> Vec<Self> {
        let mut views = config.each();
        views.retain(|view| view.key.as_ref().is_none_or(|key| keys.contains(&key)));
        let mut answers = Vec::new();
        if !handshake.no_handshake {
            for some in views.chunks(AT_ONCE) {
                answers.extend(ask_each(some));
            }
        }
        if config.servers.is_empty() {
            let asked = answers.pop().map(|(_, answer)| answer);
            return vec![Self::of(config, None, &asked)];
        }
        let keys = keys.iter();
        keys.map(|&key| {
            let place = answers.iter().position(|(of, _)| of.as_ref() == Some(key));
            let asked = place.map(|place| answers.swap_remove(place).1);
            Self::of(config, Some(key), &asked)
        })
        .collect()
    }

    pub(super) fn of(config: &Config, key: Option<&ServerKey>, asked: &ServerReply) -> Self {
        let upstream = key.and_then(|key| config.servers.get(key));
        let upstream = upstream.unwrap_or(&config.upstream);
        let written = key.and_then(|key| written(config, key));
        Self {
            key: key.map(ToString::to_string),
            enabled: upstream.is_enabled(),
            file: written.as_ref().map(|it| it.file.display().to_string()),
            line: written.map(|it| it.line),
            server: validate_config::way(upstream),
            connection: Connection::of(asked),
        }
    }

    pub(super) fn is_failed(&self) -> bool {
        matches!(self.connection, Connection::Failed { .. })
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let key = self.key.as_deref().unwrap_or("[upstream]");
        let state = if self.enabled { "enabled" } else { "disabled" };
        let file = self.file.as_deref().unwrap_or_default();
        let file = printable(file);
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        writeln!(out, "{key}: {state}, {file}{line}, {}", self.server)?;
        self.connection.write(out)
    }
}

/// Where the configuration has a server.
pub(super) fn written(config: &Config, key: &ServerKey) -> Option<WrittenServer> {
    config.file.as_ref()?.written(key)
}

impl Connection {
    fn of(asked: &ServerReply) -> Self {
        match asked {
            None => Self::NotAsked,
            Some(Ok(answer)) => Self::Connected {
                protocol: answer.revision.clone(),
                latency_ms: answer.latency.as_millis(),
                tools: answer.lock.names().count(),
            },
            Some(Err(failure)) => Self::Failed {
                error: tools::shown(&failure.to_string()),
            },
        }
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::NotAsked => Ok(()),
            Self::Connected {
                protocol,
                latency_ms,
                tools,
            } => writeln!(
                out,
                "  connected, protocol {protocol}, {latency_ms} ms, {tools} tool(s)"
            ),
            Self::Failed { error } => writeln!(out, "  not connected: {error}"),
        }
    }
}

fn ask_each(views: &[Config]) -> Vec<(Option<ServerKey>, Result<ServerAnswer, ToolsFailure>)> {
    thread::scope(|scope| {
        let asked = views.iter().map(|view| {
            let thread = scope.spawn(|| ask(view));
            (view.key.clone(), thread)
        });
        let asked: Vec<_> = asked.collect();
        let answers = asked.into_iter().map(|(key, thread)| {
            let answer = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (key, answer)
        });
        answers.collect()
    })
}
