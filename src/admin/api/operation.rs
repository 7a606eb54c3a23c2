//! What the admin API asks of the rest of the program.

use std::fmt;

use serde::Serialize;

use super::problem::ApiProblem;
use crate::wire::Document;

/// What an operator can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    ListServers,
    GetServer,
    PutServer,
    DeleteServer,
    GetServerHealth,
    EnableServer,
    DisableServer,
    CheckServer,
    ListAgents,
    GetAgent,
    ListAgentTools,
    GetAgentOverrides,
    PutAgentOverrides,
    QueryAudit,
    GetDescription,
}

impl Operation {
    /// Whether it may ask a server, which can take long.
    pub(super) fn asks_servers(self) -> bool {
        matches!(
            self,
            Self::PutServer | Self::EnableServer | Self::CheckServer
        )
    }

    /// The `method` of its records.
    pub fn name(self) -> &'static str {
        match self {
            Self::ListServers => "servers/list",
            Self::GetServer => "servers/read",
            Self::PutServer => "servers/put",
            Self::DeleteServer => "servers/delete",
            Self::GetServerHealth => "servers/health/read",
            Self::EnableServer => "servers/enable",
            Self::DisableServer => "servers/disable",
            Self::CheckServer => "servers/check",
            Self::ListAgents => "agents/list",
            Self::GetAgent => "agents/read",
            Self::ListAgentTools => "agents/tools/list",
            Self::GetAgentOverrides => "agents/overrides/read",
            Self::PutAgentOverrides => "agents/overrides/put",
            Self::QueryAudit => "audit/read",
            Self::GetDescription => "openapi/read",
        }
    }
}

/// Whether an operator may have this machine run a command, and may use its variables and files in the configuration
/// of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandRight {
    Granted,
    Withheld,
}

/// A request that has been authenticated and read.
#[derive(Debug)]
pub struct ApiRequest {
    pub operation: Operation,
    /// The key of a server or the name of an agent, as the peer wrote it.
    pub subject: Option<String>,
    /// In the order of the query; the names are known.
    pub query: Vec<(String, String)>,
    /// Present if the operation has a body.
    pub body: Option<Document>,
    /// The value of `If-Match`.
    pub if_match: Option<String>,
    pub commands: CommandRight,
}

impl ApiRequest {
    /// The `method` of its records.
    pub fn name(&self) -> &'static str {
        let is_try = self
            .query
            .iter()
            .any(|(name, value)| (&**name, &**value) == ("dry_run", "true"));
        if self.operation == Operation::PutServer && is_try {
            "servers/put/try"
        } else {
            self.operation.name()
        }
    }

    /// The value of a parameter that may stand once.
    ///
    /// # Errors
    /// When it stands twice.
    pub fn parameter(&self, name: &str) -> Result<Option<&str>, ApiProblem> {
        let mut all = self.query.iter().filter(|(known, _)| known == name);
        match (all.next(), all.next()) {
            (found, None) => Ok(found.map(|(_, value)| value.as_str())),
            (_, Some(_)) => Err(ApiProblem::query(format!("`{name}` stands twice"))),
        }
    }

    /// A parameter that is `true` or `false`.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn switch<T>(&self, name: &str, yes: T, no: T, usual: T) -> Result<T, ApiProblem> {
        match self.parameter(name)? {
            None => Ok(usual),
            Some("true") => Ok(yes),
            Some("false") => Ok(no),
            Some(_) => Err(ApiProblem::query(format!("`{name}` is `true` or `false`"))),
        }
    }
}

/// What an operation answers.
#[derive(Debug, PartialEq, Eq)]
pub struct ApiAnswer {
    pub status: u16,
    /// The version of what was read or written.
    pub etag: Option<String>,
    pub document: String,
}

impl ApiAnswer {
    /// A document as the answer of a success.
    pub fn of(document: &impl Serialize) -> Self {
        Self {
            status: 200,
            etag: None,
            // INVARIANT: structs of strings and numbers, which serde_json always writes.
            document: serde_json::to_string(document).unwrap_or_default(),
        }
    }

    #[must_use]
    pub fn with_etag(mut self, etag: Option<String>) -> Self {
        self.etag = etag;
        self
    }

    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}

/// Records a request. An operation calls it before it changes anything or asks a server, and does neither if the call
/// fails.
pub type RecordChange<'r> = &'r dyn Fn() -> Result<(), ApiProblem>;

/// Does what operators ask for, on a thread that may wait.
pub trait Operations: Send + Sync {
    /// # Errors
    /// Why nothing was done.
    fn perform(
        &self,
        request: &ApiRequest,
        record_change: RecordChange<'_>,
    ) -> Result<ApiAnswer, ApiProblem>;
}

impl fmt::Debug for dyn Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Operations")
    }
}

/// How a server is at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerCondition {
    /// Absent for `[upstream]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// The word of `GET /health` for this server.
    pub condition: &'static str,
    /// Why the latest handshake of the gate failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long the latest successful handshake of the gate took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// The tools in the lock.
    pub locked_tools: usize,
}

/// The condition of each server that is in force.
pub type ServerConditions = Box<dyn Fn() -> Vec<ServerCondition> + Send + Sync>;
