//! The command line: subcommands, options, and an example for each.

mod agents;
mod approvals;
mod attach;
mod audit;
mod check;
#[cfg(feature = "demo")]
mod demo;
mod explain;
mod init;
mod policy;
mod proxy;
mod servers;
mod test_policy;
#[cfg(test)]
mod tests;
mod time;
mod tools;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand, ValueEnum};

pub use agents::{AgentChanges, AgentsArgs, AgentsCommand, AgentsSource};
pub use approvals::{ApprovalsArgs, ApprovalsCommand, GateArgs};
pub use attach::AttachArgs;
pub use audit::{
    AuditArgs, AuditCommand, AuditExportArgs, AuditFilters, AuditQueryArgs, AuditSummaryArgs,
    AuditTailArgs, AuditVerifyArgs, ExportFormat, RecordFormat,
};
pub use check::{CheckArgs, CheckFormat, ValidateConfigArgs};
#[cfg(feature = "demo")]
pub use demo::{DemoArgs, DemoServerArgs};
pub use explain::{ExplainArgs, Sender};
pub use init::InitArgs;
pub use policy::{PolicyArgs, PolicyCommand};
pub use proxy::ProxyArgs;
pub use servers::{
    Confirm, Handshake, NamedServer, ServerLaunch, ServersArgs, ServersCommand, ServersConfig,
};
pub use test_policy::{TestFormat, TestPolicyArgs};
pub use time::TimeBound;
pub use tools::{ToolsArgs, ToolsCommand, ToolsOfAgent, ToolsSource};

use super::exit::Exit;

/// A policy gate in front of MCP servers.
///
/// The gate evaluates every message between agents and servers, and forwards only permitted ones.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(
    name = "mcp-protector",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "Examples:
  mcp-protector proxy --config gate.toml
  mcp-protector proxy --allow read_file,list_directory -- npx -y some-server
  mcp-protector validate-config --config gate.toml"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Command {
    Proxy(ProxyArgs),
    Attach(AttachArgs),
    ValidateConfig(ValidateConfigArgs),
    Check(CheckArgs),
    Policy(PolicyArgs),
    TestPolicy(TestPolicyArgs),
    Explain(Box<ExplainArgs>),
    Tools(ToolsArgs),
    Servers(Box<ServersArgs>),
    Init(InitArgs),
    Agents(AgentsArgs),
    Approvals(ApprovalsArgs),
    Audit(Box<AuditArgs>),
    #[cfg(feature = "demo")]
    Demo(DemoArgs),
    #[cfg(feature = "demo")]
    #[command(hide = true)]
    DemoServer(DemoServerArgs),
}

/// The reader of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Human,
    /// For programs.
    Json,
}

/// A command line without a task: wrong usage, or a request for help or the version.
#[derive(Debug)]
pub struct NothingToDo {
    pub message: clap::Error,
    pub exit: Exit,
}

/// Parses a command line, including the program's own name.
pub fn parse(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Cli, NothingToDo> {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let subcommand = arguments.get(1).cloned();
    Cli::try_parse_from(arguments).map_err(|message| {
        let asked = matches!(
            message.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        );
        // Usage errors end with what means "nothing was started" for the command in question: 2,
        // which is usual elsewhere, would claim that a running gate broke down.
        let subcommand = subcommand.as_ref().and_then(|name| name.to_str());
        let exit = match subcommand {
            _ if asked => Exit::Success,
            Some("test-policy" | "tools") => Exit::TestsNotRun,
            Some("check" | "policy") => Exit::NotChecked,
            Some("explain") => Exit::NotExplained,
            Some("audit") => Exit::NotVerified,
            Some("init") => Exit::NotProtected,
            Some("approvals") => Exit::NotAsked,
            Some("servers") => Exit::ServersNotDone,
            Some(_) | None => Exit::Invalid,
        };
        NothingToDo { message, exit }
    })
}
