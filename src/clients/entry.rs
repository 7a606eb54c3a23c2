//! A server, as a client's file has it.

use std::fmt;

use super::errors::ClientProblem;

/// Keys of an entry that say how the server is started or reached. The others stay in a wrapped entry.
pub(super) const LAUNCH_KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "env_vars",
    "cwd",
    "type",
    "transport",
    "url",
    "serverUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
];

/// One server of a client's file.
#[derive(Debug)]
pub struct Entry {
    /// The keys that lead to it; the last is its name.
    pub path: Vec<String>,
    pub enabled: bool,
    /// Or why the gate cannot start or reach the server.
    pub launch: Result<Launch, ClientProblem>,
    /// File, line and column.
    pub place: String,
}

/// How the client starts or reaches a server.
#[derive(Debug)]
pub enum Launch {
    Command {
        command: Vec<Template>,
        env: Vec<(String, Template)>,
        cwd: Option<Template>,
    },
    Url {
        url: Template,
        headers: Vec<(String, Template)>,
    },
    /// Through the gate already.
    Attached { program: String, args: Vec<String> },
}

/// A string of the file, with the client's references taken apart.
#[derive(Debug)]
pub struct Template {
    pub pieces: Vec<Piece>,
    pub(super) place: String,
}

/// Debug output hides text: it may be secret wherever it stands.
#[derive(Clone)]
pub enum Piece {
    Text(String),
    /// An environment variable of the client.
    Variable(String),
    /// The client asks the user for it, under this id.
    Asked(String),
    /// A reference that only the client can resolve: what to do.
    Unknown(&'static str),
}

/// A server that the client is to reach through the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub path: Vec<String>,
    pub program: String,
    pub args: Vec<String>,
}

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text"),
            Self::Variable(name) => write!(f, "Variable({name:?})"),
            Self::Asked(id) => write!(f, "Asked({id:?})"),
            Self::Unknown(help) => write!(f, "Unknown({help:?})"),
        }
    }
}

impl Entry {
    pub fn name(&self) -> &str {
        self.path.last().map(String::as_str).unwrap_or_default()
    }
}

impl Attachment {
    /// `PROGRAM attach KEY --config CONFIG`
    pub fn new(entry: &Entry, program: &str, key: &str, config: &str) -> Self {
        Self {
            path: entry.path.clone(),
            program: program.to_owned(),
            args: ["attach", key, "--config", config]
                .map(str::to_owned)
                .to_vec(),
        }
    }
}
