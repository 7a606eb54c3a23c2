//! What an engine may know about one message. Plain values: no ids of ours, no I/O behind them.
//!
//! Everything here is either stated by the host (labels, roots, groups), derived by the gate
//! (targets, pins, session state) or carried by the message (names, arguments). What a server or an
//! agent says of itself stands only in fields whose documentation says so.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::net::IpAddr;

use super::action::Action;
pub use super::agent::{Agent, Client, SamplingTerms, StandingConsent};
use super::sensitivity::{MAX_LEVEL, SessionSensitivity};
use super::server_key::ServerKey;

/// One question to a policy engine: may this principal do this to that, in these circumstances?
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    pub principal: Principal<'a>,
    pub action: Action<'a>,
    pub resource: Resource<'a>,
    pub env: Environment<'a>,
}

/// Who asks: the agent, or the server for what it starts itself.
#[derive(Debug, Clone, Copy)]
pub enum Principal<'a> {
    Agent(&'a Agent),
    Server(&'a Server),
}

/// The protected server, as the host describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub groups: Vec<String>,
    /// The command or URL it is reached by.
    pub origin: String,
    pub trust: i64,
    /// The highest level of a session that may use it.
    pub clearance: i64,
    /// Whether its results are untrusted content.
    pub untrusted: bool,
    /// Its key, if it is one of several.
    pub key: Option<ServerKey>,
    /// Which server of this name it is: those before it were removed while the gate ran.
    pub generation: usize,
}

impl Server {
    /// How policies name what this server calls so.
    pub fn id_of<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match &self.key {
            None => Cow::Borrowed(name),
            Some(key) => Cow::Owned(key.id_of(name)),
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self {
            name: String::new(),
            groups: Vec::new(),
            origin: String::new(),
            trust: 0,
            clearance: MAX_LEVEL,
            untrusted: false,
            key: None,
            generation: 0,
        }
    }
}

/// What the action is done to.
#[derive(Debug, Clone, Copy)]
pub enum Resource<'a> {
    Tool(&'a Tool),
    Resource(&'a ResourceFacts),
    Prompt(&'a Prompt),
    Method(&'a ExtensionMethod),
    Server(&'a Server),
    Client(&'a Client),
    Host(&'a Host),
}

/// A tool of the protected server. All but the name are labels of the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tool {
    /// Exactly as on the wire; compared byte for byte.
    pub name: String,
    pub hints: Hints,
    /// Sensitivity: 0 public, 1 internal, 2 confidential, 3 secret.
    pub level: i64,
    /// Dotted names; `fs.write` is also `fs`.
    pub capabilities: Vec<String>,
    pub permissions: Permissions,
    pub groups: Vec<String>,
    pub consent: ConsentRule,
    pub pin: Pin,
    /// What instructs or hides in the server's definition; found by the gate.
    pub flags: Vec<String>,
}

/// When a human has to agree to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConsentRule {
    #[default]
    Never,
    Always,
    OncePerSession,
}

/// What a tool may do, as the host says. The default is the worst case: it writes and connects, and
/// no label says that it only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permissions {
    pub read: bool,
    pub write: bool,
    /// It reaches other machines.
    pub connect: bool,
}

/// What a tool does to the world. The default is the worst case of the MCP specification
/// (2025-11-25, `ToolAnnotations`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the protocol has four independent hints"
)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

/// Whether the definition of a tool or prompt is the one that the host approved. All false when nothing is
/// known, which is what a policy about drift must treat as "not vouched for".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Pin {
    pub known: bool,
    pub schema_ok: bool,
    pub description_ok: bool,
}

/// A resource by its URI.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceFacts {
    pub uri: String,
    pub scheme: String,
    pub mime: Option<String>,
    pub level: i64,
    pub labels: Vec<String>,
    /// Names of the host's roots that the URI lies in, the outer ones included.
    pub roots: Vec<String>,
    pub groups: Vec<String>,
    /// Private data sets in it. For the session; rules do not see them.
    pub datasets: Vec<String>,
    /// In a root that is a link, if the URI names its real directory: the same by the root's own path. For
    /// labels; rules do not see it.
    pub known_as: Option<String>,
}

/// A prompt of the protected server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    pub name: String,
    pub groups: Vec<String>,
    pub pin: Pin,
    /// As of a tool.
    pub flags: Vec<String>,
}

/// A method of an extension, as the configuration lists it. All but the name is what the host says of
/// unlabelled tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtensionMethod {
    /// Exactly as on the wire; compared byte for byte.
    pub name: String,
    pub level: i64,
    /// Dotted names, as of a tool.
    pub capabilities: Vec<String>,
    pub permissions: Permissions,
}

/// A host and a port that a server connects to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    /// A name in lower case, or an address as URLs have it.
    pub name: String,
    pub port: u16,
}

/// The circumstances of the message.
#[derive(Debug, Clone)]
pub struct Environment<'a> {
    /// The protected server: what tools, resources and prompts belong to.
    pub server: &'a Server,
    /// `stdio` or `http`: how the agent is connected.
    pub transport: &'a str,
    /// The protocol version in force.
    pub protocol: &'a str,
    /// Milliseconds since the Unix epoch.
    pub now_ms: i64,
    pub peer: Option<IpAddr>,
    pub session: SessionState,
    pub consent: Consent,
}

/// What the session has been through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionState {
    /// The highest sensitivity read so far; never falls.
    pub level: i64,
    pub labels: Vec<String>,
    /// Private data sets that the session has read.
    pub datasets: Vec<String>,
    /// Content that an attacker may control has entered the session.
    pub untrusted: bool,
    /// Of several servers, those that the session has read from; [`UNKNOWN_SERVER`](super::UNKNOWN_SERVER)
    /// for unknown ones.
    pub sources: Vec<String>,
    /// Those of them whose content an attacker may control.
    pub untrusted_from: Vec<String>,
    /// Calls that the session was permitted so far.
    pub calls: i64,
    /// Milliseconds since the Unix epoch.
    pub started_ms: i64,
}

impl SessionState {
    pub fn of(held: &SessionSensitivity, calls: i64, started_ms: i64) -> Self {
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect();
        Self {
            level: held.level,
            labels: names(&held.labels),
            datasets: names(&held.datasets),
            untrusted: held.untrusted,
            sources: names(&held.sources),
            untrusted_from: names(&held.untrusted_from),
            calls,
            started_ms,
        }
    }
}

impl SessionSensitivity {
    /// The same, as read from that server.
    #[must_use]
    pub fn from_server(mut self, server: &Server) -> Self {
        self.untrusted |= server.untrusted;
        let name = server.key.as_ref().map(|key| key.as_str().to_owned());
        if self.untrusted {
            self.untrusted_from.extend(name.clone());
        }
        self.sources.extend(name);
        self
    }
}

/// A human's answer for this very call, if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Consent {
    pub granted: bool,
    pub scope: String,
    pub by: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub at_ms: Option<i64>,
}

impl Tool {
    /// As the server lists it: it has no labels yet.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

impl Host {
    /// The id of its entity: `api.example.com:443`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.name, self.port)
    }
}

impl ExtensionMethod {
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

impl Prompt {
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

impl ConsentRule {
    /// As `tools.toml` and policies write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Always => "always",
            Self::OncePerSession => "once_per_session",
        }
    }
}

impl Default for Permissions {
    fn default() -> Self {
        Self {
            read: false,
            write: true,
            connect: true,
        }
    }
}

impl Default for Hints {
    fn default() -> Self {
        Self {
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_tool_has_its_server_where_there_are_several() {
        let check = |key: Option<&str>, expected: &str| {
            let server = Server {
                key: key.and_then(ServerKey::of),
                ..Server::default()
            };
            assert_eq!(server.id_of("read"), expected);
        };
        check(None, "read");
        check(Some("crm"), "crm/read");
    }
}
