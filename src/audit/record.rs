//! The published schema of an audit record, `version: 1`.
//!
//! INVARIANT: the fields here, `docs/schema/audit.schema.json` and `docs/audit-log-schema.md` name the
//! same things; a test compares them. A field may be added; changing or removing one is a new
//! `version` and a new major version.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::body::Body;
use super::finding::Finding;
use super::text::Text;
use crate::wire::{KnownMethod, Span};

/// The version of the record format.
pub const VERSION: u32 = 1;

/// What happened, as it goes to the audit log. `version`, `seq`, `timestamp` and `instance` are added
/// when the record is taken, so that they are in the order of the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    pub kind: Kind,
    /// A name for one message, unique in all audits. A denied agent gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The operator of a request to the admin API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transports: Option<Transports>,
    /// The revision that the agent speaks, where a bridge translates what it sends and gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bridged: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Text>,
    #[serde(flatten, serialize_with = "decision_and_allowed")]
    pub decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<Text>,
    #[serde(skip_serializing_if = "Reason::is_empty")]
    pub reason: Reason,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub obligations: Vec<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<Shadow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolVersion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_digest: Option<Text>,
    /// The arguments themselves, where the operator has them recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Body>,
    /// The result of a call, where the operator has it recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Body>,
    /// Of a notification that tells of progress, or has a log message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Body>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<ErrorClass>,
    #[serde(skip_serializing_if = "Correlation::is_empty")]
    pub correlation: Correlation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redactions: Vec<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Made by the log itself, in its gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<SeqRange>,
    /// Its place in a trace, if a collector receives this one. The log has the ids alone.
    #[serde(rename = "span", skip_serializing_if = "Option::is_none")]
    pub traced: Option<Box<TraceFields>>,
}

/// Records that follow each other in one run, by `seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SeqRange {
    pub first: u64,
    pub last: u64,
}

/// What a trace says of a message and the log does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFields {
    pub span: Span,
    /// The method, if the gate knows it.
    pub method: Option<KnownMethod>,
    /// The revision that its sender speaks.
    pub version: Option<Text>,
    pub named: TargetStatus,
}

impl Serialize for TraceFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.span.own)
    }
}

/// Whether there is what a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetStatus {
    /// What policy permits, or a tool that the upstream offers.
    Known,
    /// Any text that a peer chose.
    Unproven,
}

/// What sort of error a tool has answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The model may correct itself.
    Retryable,
    /// Nothing is to be tried again.
    Fatal,
}

/// An enum of words: each variant with the word that records have for it.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$means:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$means])* $variant,)*
        }

        impl $name {
            /// All of them, in the order of the documentation.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// As records have it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

words! {
    /// What a record is about.
    Kind {
        /// The gate runs.
        Startup = "startup",
        /// An agent's session began.
        SessionStart = "session_start",
        /// `tools/list` from an agent.
        ToolsList = "tools_list",
        /// `tools/call` from an agent, with its decision: exactly one for each call that came in.
        ToolCall = "tool_call",
        /// What became of a call that was forwarded.
        ToolResult = "tool_result",
        /// Any other request from an agent, with its decision.
        Request = "request",
        /// A request from the upstream, with its decision.
        ServerRequest = "server_request",
        /// A notification, either way, with its decision; also the gate's own.
        Notification = "notification",
        /// Whatever else was judged: replies, and what the gate itself asks the upstream.
        GateDecision = "gate_decision",
        /// A message that could not be decoded, in either direction. Its decision is `BLOCK`.
        MalformedMessage = "malformed_message",
        /// A human was asked, or answered.
        Consent = "consent",
        /// A connection that the upstream wants of the egress proxy, with its decision; and why it was not
        /// made, if it was permitted.
        EgressConnection = "egress_connection",
        /// A change of the upstream's state.
        UpstreamState = "upstream_state",
        /// New policies were published, or refused.
        PolicyReload = "policy_reload",
        /// A request of an operator to the admin API.
        AdminRequest = "admin_request",
        /// Records that were never written; how many is in `lost`. Made by the log itself, and for refused
        /// HTTP requests beyond what could be recorded.
        AuditGap = "audit_gap",
        /// The signature of all lines before. Made by the log itself.
        Checkpoint = "checkpoint",
        /// An agent's session ended.
        SessionEnd = "session_end",
        /// The gate stops.
        Shutdown = "shutdown",
    }
}

words! {
    /// What happened to the thing that the kind names, for kinds that are not about one message.
    Event {
        /// The upstream was started, or connected to.
        Started = "started",
        /// The upstream ended, or the connection broke.
        Down = "down",
        /// The upstream was started again, or connected to again.
        Restarted = "restarted",
        /// The session goes on with the isolated server.
        SwitchedToIsolated = "switched_to_isolated",
        /// A tool of the upstream is no longer defined as it was approved.
        DefinitionChanged = "definition_changed",
        /// A human was asked.
        ConsentRequested = "consent_requested",
        /// A human consented.
        ConsentGranted = "consent_granted",
        /// A human refused.
        ConsentDenied = "consent_denied",
        /// No human answered in time.
        ConsentTimeout = "consent_timeout",
        /// The question is withdrawn: an answer would have no effect.
        Cancelled = "cancelled",
        /// The new policies are in force.
        Published = "published",
        /// The new policies were refused; the last good ones stay in force.
        Rejected = "rejected",
    }
}

words! {
    /// Which way a message was going.
    Direction {
        AgentToUpstream = "agent_to_upstream",
        UpstreamToAgent = "upstream_to_agent",
    }
}

words! {
    /// What became of a message.
    Decision {
        /// It passed.
        Allow = "ALLOW",
        /// Policy, or the protocol's rules, refused it.
        Block = "BLOCK",
        /// It was refused because a part of the gate or the upstream failed.
        Error = "ERROR",
    }
}

/// Writes `decision` and, derived from it, `allowed`.
#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
fn decision_and_allowed<S: Serializer>(
    decision: &Option<Decision>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_map(None)?;
    if let Some(decision) = decision {
        fields.serialize_entry("decision", decision)?;
        fields.serialize_entry("allowed", &(*decision == Decision::Allow))?;
    }
    fields.end()
}

/// The decision of the shadow policies. It has no effect on the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shadow {
    pub revision: Text,
    /// [`Decision::Error`] where the shadow policies failed, which denies.
    pub decision: Decision,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<Text>,
}

/// How both sides are reached, in the words of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Transports {
    pub agent: &'static str,
    pub upstream: &'static str,
}

/// Who asked. `id`, `user`, `actors` and `roles` are what the gate established; `asserted_name` is what the agent
/// says of itself: a label, never an identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Agent {
    pub id: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asserted_name: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actors: Vec<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Text>,
}

/// Why: `code` and `advice` as the policy says them, `text` as the gate says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Reason {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
}

impl Reason {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One place of a message that the gate changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// JSON Pointer (RFC 6901) into the message.
    pub pointer: Text,
    pub op: EditOp,
    /// The obligation or guard that required it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EditOp {
    Insert,
    Replace,
    Remove,
}

/// What the agent's own systems call this piece of work, taken from the message's `_meta`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Correlation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_run_id: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<Text>,
    /// The agent's session; the gate's own is [`Record::session_id`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Text>,
    /// W3C Trace Context, as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Text>,
}

impl Correlation {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How a tool was defined, and by which server, when it was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolVersion {
    /// `sha256:` and the digest of its canonical definition, as `tools.lock` has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Text>,
    /// What the server says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<Text>,
}

/// The capabilities of a call, by the labels of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Of its tool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needed: Vec<Text>,
    /// Of its agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Text>,
}

words! {
    /// What came of the question whether a message may pass.
    ConsentOutcome {
        /// A person agreed.
        Granted = "granted",
        /// A person refused.
        Denied = "denied",
        /// No person answered in time.
        Timeout = "timeout",
        /// The question was withdrawn.
        Cancelled = "cancelled",
    }
}

/// A question to a person, or what came of it for the message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Consent {
    /// The message needed it. Not set in the records of the question itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ConsentOutcome>,
    /// Its number for approvers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<Text>,
    /// Who answered, and how it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Text>,
}

/// How sensitive the session was before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sensitivity {
    pub before: Level,
    pub after: Level,
    /// Names of the private data sets that it has read, after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<Text>,
    /// Those of them that the message has added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<Text>,
    /// Keys of the servers that it has read from, after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Text>,
    /// Those of them whose content an attacker may control.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untrusted_from: Vec<Text>,
}

words! {
    /// How sensitive a session is.
    Level {
        Public = "PUBLIC",
        Internal = "INTERNAL",
        Confidential = "CONFIDENTIAL",
        Secret = "SECRET",
    }
}

/// What all records of one session have in common; made once and cloned cheaply into each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    pub session_id: Text,
    pub agent: Agent,
    pub upstream: Text,
    pub transports: Transports,
    /// The revision that the agent speaks, if it is not the one that was judged.
    pub bridged: Option<Text>,
}
