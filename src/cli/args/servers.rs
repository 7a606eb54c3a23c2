//! The servers of a configuration.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use super::Format;
use crate::policy::ServerKey;

/// List, check and change the servers of a configuration.
///
/// Changes go to the directory `servers_dir`, one file for each server. Before a file is written, the
/// command checks the whole configuration with it, shakes hands with the server, prints which of its
/// tools each agent reaches, and asks. Nothing is changed if anything fails. A running gate takes the
/// change at once.
///
/// Exit codes: 0 done; 1 not done, or `check` found something.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  mcp-protector servers list --config gate.toml
  mcp-protector servers add mail --config gate.toml --url https://mail.example.com/mcp
  mcp-protector servers check mail --config gate.toml"
)]
pub struct ServersArgs {
    #[command(subcommand)]
    pub command: ServersCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ServersCommand {
    /// List the servers, and the state of their connections.
    #[command(after_help = "Example:
  mcp-protector servers list --config gate.toml --format json")]
    List {
        #[command(flatten)]
        gate: ServersConfig,

        /// Only the enabled servers that this agent may use, by its id in `agents.toml`.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,

        #[command(flatten)]
        handshake: Handshake,

        /// Format of the report.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show the table of a server as it is written, without secrets, and check it.
    #[command(after_help = "Example:
  mcp-protector servers show mail --config gate.toml")]
    Show {
        #[command(flatten)]
        server: NamedServer,

        #[command(flatten)]
        handshake: Handshake,
    },
    /// Write the file of a new server.
    #[command(
        group(ArgGroup::new("launch").required(true).args(["url", "command"])),
        after_help = "Examples:
  mcp-protector servers add mail --config gate.toml --url https://mail.example.com/mcp
  mcp-protector servers add crm --config gate.toml --env DB=/srv/crm --yes -- crm-server --quiet"
    )]
    Add {
        #[command(flatten)]
        server: NamedServer,

        #[command(flatten)]
        launch: ServerLaunch,

        #[command(flatten)]
        handshake: Handshake,

        #[command(flatten)]
        confirm: Confirm,
    },
    /// Change the command, the URL or variables in the file of a server.
    #[command(
        group(ArgGroup::new("change").required(true).multiple(true).args(["url", "command", "env"])),
        after_help = "Example:
  mcp-protector servers update crm --config gate.toml --env DB=/srv/new"
    )]
    Update {
        #[command(flatten)]
        server: NamedServer,

        #[command(flatten)]
        launch: ServerLaunch,

        #[command(flatten)]
        handshake: Handshake,

        #[command(flatten)]
        confirm: Confirm,
    },
    /// Remove the file of a server.
    #[command(after_help = "Example:
  mcp-protector servers remove mail --config gate.toml --yes")]
    Remove {
        #[command(flatten)]
        server: NamedServer,

        #[command(flatten)]
        confirm: Confirm,
    },
    /// Enable a server that has `enabled = false` in its file.
    #[command(after_help = "Example:
  mcp-protector servers enable mail --config gate.toml")]
    Enable {
        #[command(flatten)]
        server: NamedServer,

        #[command(flatten)]
        handshake: Handshake,

        #[command(flatten)]
        confirm: Confirm,
    },
    /// Write `enabled = false` into the file of a server.
    #[command(after_help = "Example:
  mcp-protector servers disable mail --config gate.toml --yes")]
    Disable {
        #[command(flatten)]
        server: NamedServer,

        #[command(flatten)]
        confirm: Confirm,
    },
    /// Check the configuration, shake hands with a server, and compare its tools with the lock.
    #[command(after_help = "Example:
  mcp-protector servers check mail --config gate.toml")]
    Check {
        #[command(flatten)]
        server: NamedServer,

        #[command(flatten)]
        handshake: Handshake,

        /// Format of the report.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(skip)]
pub struct ServersConfig {
    /// The configuration that has the servers.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// One server of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(skip)]
pub struct NamedServer {
    /// The key of the server.
    #[arg(value_name = "KEY", value_parser = key)]
    pub key: ServerKey,

    #[command(flatten)]
    pub gate: ServersConfig,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(skip)]
pub struct ServerLaunch {
    /// The URL of a server that is reached over HTTP.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,

    /// A variable of the server's environment; may be repeated. Other users of the machine can read
    /// arguments: write secrets as `'NAME=${VARIABLE}'`, with a variable of the gate.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, conflicts_with = "url")]
    pub env: Vec<(String, String)>,

    /// The program of a server that the gate starts, and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Whether servers are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
#[group(skip)]
pub struct Handshake {
    /// Start no server, and connect to none.
    #[arg(long)]
    pub no_handshake: bool,
}

/// Whether a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
#[group(skip)]
pub struct Confirm {
    /// Do not ask before the file is written.
    #[arg(long)]
    pub yes: bool,
}

fn key(text: &str) -> Result<ServerKey, String> {
    let expected = "a key is a lower-case letter and up to 31 more, digits and `-`";
    ServerKey::of(text).ok_or_else(|| expected.to_owned())
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
