//! An agent as the gate knows it, and what the host says of it.

use super::claims::Claims;

/// The agent as the gate knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agent {
    /// The gate's own id of the agent; never taken from what the agent says.
    pub id: String,
    pub roles: Vec<String>,
    pub teams: Vec<String>,
    pub user: Option<String>,
    /// Who acts for it by its token, the present one first; no policy reads them.
    pub actors: Vec<String>,
    pub client: Client,
    /// Higher is more trusted; by default 0.
    pub trust: i64,
    /// Those that it, its roles and its token were granted, the narrower ones of the host's included.
    pub capabilities: Vec<String>,
    /// Those of its token that the configuration names.
    pub claims: Claims,
    /// What the host says of samples of its model.
    pub sampling: SamplingTerms,
}

/// What the host says of samples of an agent's model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SamplingTerms {
    /// Servers may have its model work for them.
    pub agentic: bool,
    /// A person's approval of all its samples.
    pub standing: Option<StandingConsent>,
}

/// A person's approval of all samples of one agent's model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingConsent {
    /// The person who approved, as the host names them.
    pub by: String,
    /// From then on it holds no more: milliseconds since the Unix epoch.
    pub until_ms: i64,
}

impl StandingConsent {
    /// Whether it still holds at this time.
    pub fn holds_at(&self, now_ms: i64) -> bool {
        now_ms < self.until_ms
    }
}

/// The name and version that a client gives itself: labels, never identities.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Client {
    pub name: String,
    pub version: String,
}
