//! What a configuration means, once everything in it has been checked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use secrecy::SecretString;

use super::config_text::ConfigText;
use super::errors::ConfigError;
use super::sandbox::Confinement;
use crate::gate::OnFatal;
use crate::guard::secrets::{CustomRules, SECRET_MEMBERS};
use crate::guard::text::{AnswerRules, StrippedTags, SuspiciousWords};
use crate::loading::EgressRules;
use crate::policy::{ChangeKind, ChangeKinds, ServerKey};
use crate::wire::Extensions;

mod audit;
mod flow;
mod limits;
mod network;
mod ratchet;
mod server;
mod telemetry;
mod truncation;
mod unified;

pub use audit::{
    Audit, Durability, EventKinds, FlightRecorder, OnFault, RecordedArguments, RecordedResults,
    Syslog,
};
pub use flow::Flow;
pub use limits::Limits;
pub use network::{
    Admin, Anonymous, Bearer, HttpListen, HttpUpstream, Jwks, Jwt, JwtAlgorithm, Listen,
    ListenAuth, PlainHttp, ServerAuth,
};
pub use ratchet::{Ratchet, ServerDatasets};
pub use server::{Keep, Restart, ServerFacts, ServerNeed, ServerState, StartupProbe, UserIdentity};
pub use telemetry::{Parents, Telemetry, TelemetryLogs};
pub use truncation::{Truncation, TruncationPreset};
pub use unified::{Unified, View};

/// Everything the gate was told: by `gate.toml`, or by the command line.
#[derive(Debug, Clone)]
pub struct Config {
    /// The protected server; of several, the first of [`Config::each`].
    pub upstream: Upstream,
    /// Several servers. None where there is but one, and in each of [`Config::each`].
    pub servers: Servers,
    /// What holds at each of several servers in place of `limits`, `guards` and `truncation`.
    pub server_terms: BTreeMap<ServerKey, ServerTerms>,
    /// The key of the server in each of these.
    pub key: Option<ServerKey>,
    pub listen: Listen,
    pub policy: Policy,
    pub audit: Audit,
    pub flight_recorder: Option<FlightRecorder>,
    pub limits: Limits,
    pub admin: Admin,
    pub telemetry: Telemetry,
    pub protocol: Protocol,
    /// Methods of extensions that policies are asked about, and the types of their results.
    pub extensions: Extensions,
    pub guards: Guards,
    /// How long texts of results are truncated, if at all.
    pub truncation: Option<Truncation>,
    /// How people are asked, if anybody is.
    pub consent: Option<crate::consent::Settings>,
    pub ratchet: Ratchet,
    /// What may flow from one of several servers to another.
    pub flow: Flow,
    /// The endpoint of all servers, if there is one.
    pub unified: Option<Unified>,
    /// Parts of that endpoint.
    pub views: BTreeMap<String, View>,
    /// Environment variables of the gate that took part in some value, by name.
    pub variables: BTreeMap<String, SecretString>,
    /// Where all this was read, if it was read.
    pub file: Option<ConfigFile>,
    /// Settings that are valid but probably not what their author meant.
    pub warnings: Vec<ConfigError>,
}

/// The file of a configuration, and what it held.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) text: ConfigText,
}

/// What `[limits]`, `[guards]` and `[truncation]` mean at one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTerms {
    pub limits: Limits,
    pub guards: Guards,
    pub truncation: Option<Truncation>,
}

/// Several servers by their keys.
pub type Servers = BTreeMap<ServerKey, Upstream>;

/// A protected server: a child process that speaks MCP on its standard streams, or one that
/// is reached over HTTP.
#[derive(Clone)]
pub struct Upstream {
    /// Where the configuration names it, such as `upstream`.
    pub section: String,
    /// A label for records and logs; 1 to 64 letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// The program and its arguments, never a shell line; at least the program, which is not
    /// empty. A program without a path separator is looked up in `PATH` of [`Upstream::env`].
    /// Empty when there is [`Upstream::http`], as are the environment and the directory.
    pub command: Vec<String>,
    /// The whole environment of the child: what is named plus [`super::INHERITED`].
    pub env: BTreeMap<String, SecretString>,
    /// The working directory of the child; the gate's own when absent.
    pub cwd: Option<PathBuf>,
    /// What the child may reach of this machine, if not everything.
    pub sandbox: Option<Confinement>,
    /// When a child is started again that has ended.
    pub restart: Restart,
    /// The server is elsewhere, and nothing is started.
    pub http: Option<HttpUpstream>,
    /// Whether the gate shakes hands with it before an agent does.
    pub startup_probe: StartupProbe,
    /// How it knows the user.
    pub identity: UserIdentity,
    /// Where sessions go on that have become too sensitive for this one, by rising levels.
    pub isolated: Vec<Isolated>,
    /// Whether it is started and reached, if it is one of several.
    pub state: ServerState,
    /// Whether the gate is ready without it, if it is one of several.
    pub need: ServerNeed,
    /// Of one of several.
    pub facts: ServerFacts,
}

impl Upstream {
    /// One of which nothing else is known.
    pub(super) fn named(name: String) -> Self {
        Self {
            section: "upstream".to_owned(),
            name,
            command: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            sandbox: None,
            restart: Restart::default(),
            http: None,
            startup_probe: StartupProbe::default(),
            identity: UserIdentity::default(),
            isolated: Vec::new(),
            facts: ServerFacts::default(),
            state: ServerState::default(),
            need: ServerNeed::default(),
        }
    }
}

/// The server a second time, in a narrower place.
#[derive(Debug, Clone)]
pub struct Isolated {
    /// Where the configuration names it, such as `upstream.isolated[1]`.
    pub section: String,
    /// The level from which on sessions speak to it: 1 internal, 2 confidential, 3 secret.
    pub min_sensitivity: i64,
    pub keep: Keep,
    /// It has no isolated instance of its own.
    pub server: Upstream,
}

/// Which policies judge, and how a refusal looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Exact tool names, in the order they were written, each once. `None`: no list was given.
    pub allow: Option<Vec<String>>,
    /// The policy directory.
    pub dir: Option<PathBuf>,
    /// The directories of servers' own policies, of several servers.
    pub own: BTreeMap<ServerKey, PathBuf>,
    /// The directory of the shadow policy.
    pub shadow: Option<PathBuf>,
    pub other_methods: OtherMethods,
    pub warnings: Warnings,
    pub deny_response: DenyResponse,
    pub pinning: Pinning,
    /// Changes of tools that pass where those are held to what was seen first.
    pub passing: ChangeKinds,
    pub reload: Reload,
    pub on_policy_removal: OnRemoval,
    pub labels: RequiredLabels,
    /// How far tools that connect may reach, by what the session has read.
    pub network: EgressRules,
}

/// Which labels tools need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequiredLabels {
    #[default]
    None,
    /// One that names the tool's permission.
    Permission,
}

/// How the two sides may differ in what they speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protocol {
    pub bridge: Bridging,
}

/// Whether agents that begin a session work before a server that has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bridging {
    On,
    /// They get the server's own refusal.
    Off,
}

/// What is asked of the content of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guards {
    /// Arguments of calls, against the tool's `inputSchema`.
    pub arguments: Strictness,
    /// Arguments that `inputSchema` does not name, even if it allows more.
    pub arguments_unknown: Strictness,
    /// Structured results, against the tool's `outputSchema`.
    pub results: Strictness,
    /// Credentials in what the server sends.
    pub secrets: Redaction,
    /// Credentials in what the agent sends.
    pub secrets_outbound: Strictness,
    /// Invisible text in definitions of tools, prompts and resources, in server instructions, and in prompts.
    pub tool_metadata: Sanitizing,
    /// The same in results, errors, notifications and questions.
    pub content: Sanitizing,
    /// The tags that go from definitions where they are cleaned.
    pub tool_metadata_tags: StrippedTags,
    /// The most characters of a description where definitions are cleaned.
    pub description_length: usize,
    /// What else goes from the words of results where they are cleaned.
    pub answers: AnswerRules,
    /// The same of single tools, by exact name.
    pub answers_of_tools: BTreeMap<String, AnswerRules>,
    /// Reported where definitions are looked at, beside the gate's own.
    pub suspicious_words: SuspiciousWords,
    /// Names of tools.
    pub tool_names: ToolNames,
    /// What happens when a tool says that it has failed for good.
    pub on_fatal_tool_error: OnFatal,
    /// Fields of forms of the server's whose names are those of secrets.
    pub secret_fields: Strictness,
    /// Hosts to whose pages the server may send the agent's user.
    pub page_hosts: Vec<String>,
    /// URIs of resources that readers take for different ones, or for none.
    pub uris: Strictness,
    /// Symbolic links on the way of paths; where nothing is said, those on the disk that the server shares.
    pub symlinks: Option<Symlinks>,
    /// Names of members whose values are credentials.
    pub secret_members: Vec<String>,
    /// Kinds of credentials beside those that are known.
    pub secret_rules: CustomRules,
}

/// What is made of symbolic links on the way of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symlinks {
    /// They are followed on the gate's own disk.
    Resolve,
    /// The same, and a path that leads elsewhere is rejected.
    Block,
    /// A path leads where it says.
    AsWritten,
}

/// Which names tools may have that `tools.lock` does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolNames {
    Ascii,
    Any,
}

/// What happens where a message is not what a guard asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// It is not looked at.
    Off,
    /// It passes, and its record contains a finding.
    Report,
    /// It is rejected.
    Block,
}

/// What happens to text that a guard does not let stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redaction {
    /// It is not looked at.
    Off,
    /// It passes, and its record contains a finding.
    Report,
    /// The gate redacts the finding.
    Redact,
}

/// The treatment of text with invisible characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sanitizing {
    /// It is not looked at.
    Off,
    /// It passes, and its record contains a finding.
    Report,
    /// The gate removes the hidden characters.
    Sanitize,
}

/// Which tool definitions the gate accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pinning {
    /// Only tools that `tools.lock` approves are there.
    Enforce,
    /// A tool in `tools.lock` keeps its approved definition.
    Locked,
    /// The same, and any other tool keeps the definition that the gate saw first.
    TrustOnFirstUse,
    /// Definitions may change.
    Off,
}

/// When the policy directory is read again while the gate runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// When something in it changes, and at a signal.
    Watch,
    /// At a signal alone.
    Off,
}

/// What happens when the watched directory lacks policies that are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnRemoval {
    /// The gate keeps the policies in force.
    Reject,
    /// The gate applies the new policies.
    Apply,
}

/// What an allowlist without a policy directory means for methods other than tool calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OtherMethods {
    /// The built-in base pack permits them.
    #[default]
    Allow,
    /// All but lifecycle and ping are denied.
    Deny,
}

/// What a warning of the policy compiler does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warnings {
    /// The gate does not start.
    Error,
    /// It is logged.
    Allow,
}

/// How the denial of a visible call is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenyResponse {
    /// As a JSON-RPC error.
    Error,
    /// As a tool result with `isError: true`, which models can read.
    ToolResult,
}

impl Upstream {
    /// The program for people to read, without what may be arguments; empty when nothing is started.
    pub fn program(&self) -> &str {
        let program = self.command.first().map_or("", String::as_str);
        program
            .split(char::is_whitespace)
            .next()
            .unwrap_or_default()
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            allow: None,
            dir: None,
            own: BTreeMap::new(),
            shadow: None,
            other_methods: OtherMethods::Allow,
            warnings: Warnings::Error,
            deny_response: DenyResponse::Error,
            pinning: Pinning::Locked,
            passing: [ChangeKind::Adds].into_iter().collect(),
            reload: Reload::Watch,
            on_policy_removal: OnRemoval::Reject,
            labels: RequiredLabels::None,
            network: EgressRules::default(),
        }
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            bridge: Bridging::On,
        }
    }
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            arguments: Strictness::Block,
            arguments_unknown: Strictness::Off,
            results: Strictness::Off,
            secrets: Redaction::Off,
            secrets_outbound: Strictness::Off,
            tool_metadata: Sanitizing::Off,
            content: Sanitizing::Off,
            tool_metadata_tags: StrippedTags::All,
            description_length: 500,
            answers: AnswerRules::default(),
            answers_of_tools: BTreeMap::new(),
            suspicious_words: SuspiciousWords::default(),
            tool_names: ToolNames::Ascii,
            on_fatal_tool_error: OnFatal::Report,
            secret_fields: Strictness::Block,
            page_hosts: Vec::new(),
            uris: Strictness::Block,
            symlinks: None,
            secret_members: SECRET_MEMBERS.map(str::to_owned).to_vec(),
            secret_rules: CustomRules::default(),
        }
    }
}

/// Shows the program but not its arguments, which may hold what a variable held.
impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("section", &self.section)
            .field("name", &self.name)
            .field("program", &self.program())
            .field("arguments", &self.command.len().saturating_sub(1))
            .field("env", &self.env)
            .field("cwd", &self.cwd)
            .field("sandbox", &self.sandbox)
            .field("restart", &self.restart)
            .field("http", &self.http)
            .field("startup_probe", &self.startup_probe)
            .field("identity", &self.identity)
            .field("isolated", &self.isolated)
            .field("state", &self.state)
            .field("need", &self.need)
            .field("facts", &self.facts)
            .finish()
    }
}
