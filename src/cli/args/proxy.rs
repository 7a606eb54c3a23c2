//! How a gate is started.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use crate::config::{self, CommandLine, Config, ConfigErrors};

/// Run the gate in front of one server.
///
/// A file configures the gate. For one stdio server and one agent on standard streams, options do.
///
/// Exit codes: 0 clean stop, 1 invalid configuration or policy at the start, 2 unrecoverable error at
/// run time.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    override_usage = "mcp-protector proxy --config <FILE>
       mcp-protector proxy <--allow <TOOLS>|--policies <DIR>> [OPTIONS] -- <COMMAND>...",
    group = ArgGroup::new("source").args(["config", "command"]).required(true),
    group = ArgGroup::new("permits").args(["allow", "policies"]).multiple(true)
        .conflicts_with("config"),
    after_help = "Examples:
  mcp-protector proxy --config gate.toml
  mcp-protector proxy --allow read_file,list_directory -- npx -y some-server /srv/data
  mcp-protector proxy --policies policies/ --env API_TOKEN --audit audit.jsonl -- some-server"
)]
pub struct ProxyArgs {
    /// The configuration.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Permit calls of these tools: exact names with commas, or repeated. An empty list
    /// (`--allow ""`) permits none.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub allow: Option<Vec<String>>,

    /// Other methods than calls of tools: `allow` (the default) permits prompts, resources, completion
    /// and logging; `deny` denies them and empties their lists.
    #[arg(
        long,
        value_name = "WORD",
        requires = "allow",
        conflicts_with_all = ["config", "policies"]
    )]
    pub other_methods: Option<OtherMethods>,

    /// Evaluate the policies in this directory. `--allow` adds a policy that permits its tools.
    #[arg(long, value_name = "DIR")]
    pub policies: Option<PathBuf>,

    /// Also append audit records to this file.
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub audit: Option<PathBuf>,

    /// Pass these environment variables to the server: names with commas, or repeated; never values.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "config"
    )]
    pub env: Vec<String>,

    /// The server and its arguments, after `--`, without a shell.
    #[arg(last = true, value_name = "COMMAND", requires = "permits")]
    pub command: Vec<String>,
}

/// The treatment of other methods than calls of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OtherMethods {
    Allow,
    Deny,
}

impl ProxyArgs {
    /// The settings, from the file or from the command line.
    pub fn settings(self) -> Result<Config, ConfigErrors> {
        let Self {
            config,
            allow,
            other_methods,
            policies,
            audit,
            env,
            command,
        } = self;
        match config {
            Some(file) => Config::load(&file),
            None => Config::from_command_line(CommandLine {
                // `--allow ""` and `--allow a,` leave empty items behind, which name nothing.
                allow: allow.map(non_empty),
                other_methods: match other_methods {
                    None | Some(OtherMethods::Allow) => config::OtherMethods::Allow,
                    Some(OtherMethods::Deny) => config::OtherMethods::Deny,
                },
                policies,
                audit,
                env: non_empty(env),
                command,
            }),
        }
    }
}

fn non_empty(words: Vec<String>) -> Vec<String> {
    words.into_iter().filter(|word| !word.is_empty()).collect()
}
