//! What was written in `gate.toml`, and what it means.
//!
//! Text becomes a tree with places (`file`), a cursor walks the tree section by section
//! (`section`, `values`, `network`), and what each section means stands in `resolve`, `upstream`,
//! `listen` and `authentication`, one function per section. Nothing is opened but the file itself, and all problems are told at once.

mod admin;
mod audit;
mod authentication;
mod changes;
mod claims;
mod client;
mod command_line;
mod conceal;
mod config_text;
mod consent;
mod env_file;
mod errors;
mod extensions;
mod file;
mod flow;
mod guards;
mod headers;
mod limits;
mod listen;
mod load;
mod network;
mod outline;
mod ratchet;
mod rates;
mod reader;
mod resolve;
mod restart;
mod sandbox;
mod secret_rules;
mod section;
mod server_section;
mod servers;
mod settings;
mod suggest;
mod syntax;
mod telemetry;
mod text_values;
mod texts;
mod token_exchange;
mod tokens;
mod tool_names;
mod truncation;
mod unified;
mod units;
mod upstream;
mod user_identity;
mod values;
mod variables;
mod views;
mod without_effect;
mod written_server;

pub use changes::ConfigChanges;
pub use command_line::CommandLine;
pub use config_text::{ConfigText, END_OF_SERVER, ServerFileChange};
pub use errors::{ConfigError, ConfigErrors, ConfigReason};
pub use sandbox::{ConfinedFiles, Confinement, SandboxedRoots};
pub use settings::{
    Admin, Anonymous, Audit, Bearer, Bridging, Config, ConfigFile, DenyResponse, Durability,
    EventKinds, FlightRecorder, Flow, Guards, HttpListen, HttpUpstream, Isolated, Jwks, Jwt,
    JwtAlgorithm, Keep, Limits, Listen, ListenAuth, OnFault, OnRemoval, OtherMethods, Parents,
    Pinning, PlainHttp, Policy, Protocol, Ratchet, RecordedArguments, RecordedResults, Redaction,
    Reload, RequiredLabels, Restart, Sanitizing, ServerAuth, ServerDatasets, ServerFacts,
    ServerNeed, ServerState, ServerTerms, Servers, StartupProbe, Strictness, Symlinks, Syslog,
    Telemetry, TelemetryLogs, ToolNames, Truncation, TruncationPreset, Unified, Upstream,
    UserIdentity, View, Warnings,
};
pub use upstream::INHERITED;
pub use variables::Variables;
pub use written_server::{ServerFiles, WrittenServer};

#[cfg(test)]
mod tests;
