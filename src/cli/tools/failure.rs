//! The reasons why there is nothing to compare.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use super::super::report;
use crate::audit::SecretTooShort;
use crate::config::ConfigErrors;
use crate::policy::{PolicyErrors, ServerKey};
use crate::upstream::StartError;
use crate::upstream::http::HttpClientError;
use crate::wire::JsonErrorKind;

/// A cursor that loops ends here.
pub(super) const MAX_PAGES: usize = 1_000;

/// Everything that the server may send. A lock that is much smaller cannot be loaded any more.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ToolsFailure {
    #[error("the configuration is not usable")]
    Config(ConfigErrors),
    #[error("the policies are not usable")]
    Policies(PolicyErrors),
    #[error("the lock is not usable")]
    Lock(PolicyErrors),
    #[error("`{file}`: {error}")]
    File { file: String, error: String },
    #[error("there is no `{0}` yet: `tools lock` makes it")]
    NoLock(String),
    #[error("the configuration names no policy directory: say `--lock FILE`")]
    NoPlace,
    #[error("`{0}` is no list of tools: {1}")]
    NoList(String, String),
    #[error("the definition of `{0}` holds a secret of the configuration")]
    Secret(String),
    #[error(transparent)]
    Unhidden(#[from] SecretTooShort),
    #[error("the server{} could not be asked: {error}", of(server.as_ref()))]
    Ask {
        server: Option<ServerKey>,
        error: ListError,
    },
    #[error(
        "`--from` has the tools of one server, and the configuration has several: without it, the command asks \
         them"
    )]
    FromOfSeveral,
    #[error("`{0}` is no key of a server")]
    NoKey(String),
    #[error("{}", no_instructions(server.as_ref(), servers))]
    NoInstructions {
        server: Option<ServerKey>,
        /// Of several.
        servers: Vec<ServerKey>,
    },
    #[error("no {kind} is called `{name}`{}", nearest.as_ref().map(|it| format!("; did you mean `{it}`?")).unwrap_or_default())]
    Unknown {
        kind: &'static str,
        name: String,
        nearest: Option<String>,
    },
    #[error("the report could not be written: {0}")]
    Report(#[from] io::Error),
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ListError {
    #[error(
        "only agents have a token for it (`auth` with `type = \"token_exchange\"`), so that no command can ask \
         it; an agent that lists its tools through a gate sees whether it works"
    )]
    NeedsAgent,
    #[error("{0}")]
    Start(#[from] StartError),
    #[error("{0}")]
    Sandbox(String),
    #[error("{0}")]
    Client(#[from] HttpClientError),
    #[error("it did not answer `{method}`: {why}")]
    Failed { method: &'static str, why: String },
    #[error("no event loop: {0}")]
    Runtime(std::io::Error),
    #[error("it ended before it answered `{0}`")]
    Ended(&'static str),
    #[error("it did not answer `{method}` within {} s", .within.as_secs())]
    TimedOut {
        method: &'static str,
        within: Duration,
    },
    #[error("it refused `{method}`: {told}")]
    Refused { method: &'static str, told: String },
    #[error("what it says is no message: {0}")]
    NoMessage(String),
    #[error("its `{0}/list` has no array `{0}`, or a `nextCursor` that is no string")]
    NoList(&'static str),
    #[error("its list of {0} has more than {MAX_PAGES} pages")]
    Endless(&'static str),
    #[error("it sends more than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("it did not give all of its definitions within {} s", .0.as_secs())]
    TooSlow(Duration),
}

/// Which one of several servers.
fn of(server: Option<&ServerKey>) -> String {
    server.map_or_else(String::new, |key| format!(" `{key}`"))
}

fn no_instructions(server: Option<&ServerKey>, servers: &[ServerKey]) -> String {
    let keys: Vec<String> = servers.iter().map(|key| format!("`{key}`")).collect();
    let keys = keys.join(", ");
    match server {
        None if !servers.is_empty() => {
            format!("say whose instructions, as in `--instructions=KEY`; the servers are {keys}")
        }
        Some(key) if servers.is_empty() => {
            format!(
                "the configuration has one server, without a key: write `--instructions`, without `={key}`"
            )
        }
        Some(key) if !servers.contains(key) => {
            format!("the configuration has no server `{key}`; the servers are {keys}")
        }
        _ => format!(
            "neither the lock nor the server{} has instructions",
            of(server)
        ),
    }
}

impl ToolsFailure {
    pub(super) fn file(file: &Path, error: &io::Error) -> Self {
        Self::File {
            file: file.display().to_string(),
            error: error.to_string(),
        }
    }

    pub(in crate::cli) fn tell(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Config(errors) => writeln!(out, "{}", report::text(errors)),
            Self::Policies(errors) | Self::Lock(errors) => {
                writeln!(out, "{}", report::text(errors))
            }
            Self::File { .. }
            | Self::NoLock(_)
            | Self::NoPlace
            | Self::NoList(..)
            | Self::Secret(_)
            | Self::Unhidden(_)
            | Self::Ask { .. }
            | Self::FromOfSeveral
            | Self::NoKey(_)
            | Self::NoInstructions { .. }
            | Self::Unknown { .. }
            | Self::Report(_) => writeln!(out, "error: {self}"),
        }
    }
}

/// Why a text is no message, and whose definition makes it none. The gate passes no such list either.
pub(super) fn refused(error: &impl ToString, kind: Option<&JsonErrorKind>, text: &[u8]) -> String {
    let mut why = error.to_string();
    if let Some(JsonErrorKind::ControlInKey { .. }) = kind {
        let tools = with_controls_in_keys(text);
        let tools: Vec<String> = tools.iter().map(|name| format!("`{name}`")).collect();
        if !tools.is_empty() {
            why = format!("{why}, in the definition of {}", tools.join(", "));
        }
    }
    super::lines::shown(&why)
}

/// The names of such tools in a reply to `tools/list`, or in its result.
fn with_controls_in_keys(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let Ok(root) = text.parse::<serde_json::Value>() else {
        return Vec::new();
    };
    let result = root.get("result").unwrap_or(&root);
    let tools = result.get("tools").and_then(serde_json::Value::as_array);
    let odd = tools
        .into_iter()
        .flatten()
        .filter(|tool| has_controls(tool));
    let names = odd.map(|tool| tool.get("name").and_then(serde_json::Value::as_str));
    names
        .map(|name| name.unwrap_or_default().to_owned())
        .collect()
}

fn has_controls(value: &serde_json::Value) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if let Some(object) = value.as_object() {
            if object.keys().any(|key| key.contains(char::is_control)) {
                return true;
            }
            open.extend(object.values());
        }
        open.extend(value.as_array().into_iter().flatten());
    }
    false
}
