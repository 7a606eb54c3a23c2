//! What can be typed: subcommands, options, and an example for each.

mod explain;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

pub use explain::{ExplainArgs, Sender};

use super::exit::Exit;
use crate::config::{CommandLine, Config, ConfigErrors};

/// A policy gate in front of one MCP server.
///
/// Every message between an agent and the server is judged; nothing is forwarded without a permit.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(
    name = "mcp-protector",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "Examples:
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
    ValidateConfig(ValidateConfigArgs),
    Check(CheckArgs),
    TestPolicy(TestPolicyArgs),
    Explain(Box<ExplainArgs>),
    Tools(ToolsArgs),
}

/// Run the gate in front of one server.
///
/// The agent speaks MCP with the gate on standard input and output. What the gate protects comes
/// from a file, or, for a single stdio server, from the command line.
///
/// Exit codes: 0 clean stop, 1 invalid configuration or policy at start, 2 unrecoverable at run
/// time.
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
    /// Read everything from this file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Permit calls of these tools: exact names, with commas between them or repeated; an empty
    /// list (`--allow ""`) permits none.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub allow: Option<Vec<String>>,

    /// Judge by the policies in this directory.
    #[arg(long, value_name = "DIR")]
    pub policies: Option<PathBuf>,

    /// Append audit records to this file as well.
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub audit: Option<PathBuf>,

    /// Pass these environment variables to the server: names only, with commas between them or
    /// repeated.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "config"
    )]
    pub env: Vec<String>,

    /// The server and its arguments, after `--`; never read by a shell.
    #[arg(last = true, value_name = "COMMAND", requires = "permits")]
    pub command: Vec<String>,
}

/// Check a configuration and its policies.
///
/// Starts nothing, connects nowhere. All problems are reported at once, on standard error;
/// standard output stays empty unless `--format json` is asked for.
///
/// Exit codes: 0 valid, 1 not valid.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Example:
  mcp-protector validate-config --config gate.toml && systemctl restart the-gate")]
pub struct ValidateConfigArgs {
    /// The file to check.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Check policies, labels and tests, and tell what looks wrong in what is valid.
///
/// Starts nothing, connects nowhere, and runs no test. For people it tells everything at once on
/// standard error; other formats go to standard output.
///
/// Exit codes: 0 nothing found, 1 something found, 2 nothing could be checked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector check policies/
  mcp-protector check --config gate.toml --format sarif
  mcp-protector check --print schema")]
pub struct CheckArgs {
    /// Packs (directories with policies or `tests/`), or directories of packs.
    #[arg(value_name = "PATHS", conflicts_with = "config")]
    pub paths: Vec<PathBuf>,

    /// Check what this file names, its allowlist included.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    pub format: CheckFormat,

    /// Tell of warnings, but do not count them as findings; as `policy.allow_warnings` does for the
    /// gate.
    #[arg(long)]
    pub allow_warnings: bool,

    /// Leave out these lints: names, with commas between them or repeated.
    #[arg(long, value_name = "LINTS", value_delimiter = ',')]
    pub allow: Vec<String>,

    /// Print this instead of checking: the allowlist of the configuration as Cedar, or the schema
    /// that policies are checked against.
    #[arg(long, value_enum)]
    pub print: Option<Print>,
}

/// Who reads what `check` found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// People.
    #[default]
    Human,
    /// Programs.
    Json,
    /// Code hosts and editors (SARIF 2.1.0).
    Sarif,
    /// Workflows of GitHub, which annotate the lines of a change.
    Github,
}

/// What `check` can print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Print {
    Allowlist,
    Schema,
}

/// Run policy tests offline, through the decisions that the gate itself makes.
///
/// Exit codes: 0 all passed, 1 a test failed or did not notice a change, 2 the tests could not
/// run, 3 policies are not valid, 4 coverage is under the threshold.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:
  mcp-protector test-policy policies/ --filter workspace --watch
  mcp-protector test-policy policies/ --min-coverage 100 --mutate
  mcp-protector test-policy --config gate.toml --format junit")]
pub struct TestPolicyArgs {
    /// Packs (directories with policies and `tests/`), directories of fixtures, or fixtures.
    #[arg(value_name = "PATHS")]
    pub paths: Vec<PathBuf>,

    /// Test under the policies that this file names.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    pub format: TestFormat,

    /// Run only tests with this text in their name, or in that of their suite or agent.
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// Tell which policies and conditions the tests have not seen at work.
    #[arg(long)]
    pub coverage: bool,

    /// Tell it, and fail if the tests of a pack have seen less than so many of 100.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(..=100))]
    pub min_coverage: Option<u8>,

    /// Change the policies one step at a time, and tell which changes no test notices.
    #[arg(long, conflicts_with = "filter")]
    pub mutate: bool,

    /// Run again whenever policies, tests or the configuration change, until interrupted; ends as
    /// the last run did.
    #[arg(long)]
    pub watch: bool,
}

/// Lock, compare and approve the tool definitions of the server.
///
/// A lock (`tools.lock`, beside the policies) records how the server defines its tools. Policies get
/// types for the arguments from it, and a tool whose definition is no longer the one of the lock is
/// neither shown nor called.
///
/// Exit codes: 0 done, or no difference; 1 there are differences; 2 nothing could be compared.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  mcp-protector tools lock --config gate.toml
  mcp-protector tools diff --config gate.toml
  mcp-protector tools approve read_file --config gate.toml"
)]
pub struct ToolsArgs {
    #[command(subcommand)]
    pub command: ToolsCommand,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ToolsCommand {
    /// Write the lock, unless there is one that says something else.
    #[command(after_help = "Example:
  mcp-protector tools lock --config gate.toml")]
    Lock {
        #[command(flatten)]
        source: ToolsSource,

        /// Replace a lock that says something else.
        #[arg(long)]
        force: bool,
    },
    /// Show how the server's definitions differ from the lock.
    #[command(after_help = "Examples:
  mcp-protector tools diff --config gate.toml
  mcp-protector tools diff --lock policies/tools.lock --from tools.json --format json")]
    Diff {
        #[command(flatten)]
        source: ToolsSource,
    },
    /// Take over definitions into the lock, those of the named tools or all.
    #[command(after_help = "Example:
  mcp-protector tools approve read_file write_file --config gate.toml")]
    Approve {
        #[command(flatten)]
        source: ToolsSource,

        /// Exact names; without any, everything that differs is taken over.
        #[arg(value_name = "TOOLS")]
        tools: Vec<String>,
    },
}

/// Where definitions come from, and where the lock is.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[group(skip)]
pub struct ToolsSource {
    /// Start the server that this file names and ask it, in the environment that a gate gives it.
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    pub config: Option<PathBuf>,

    /// The lock; by default `tools.lock` in the policy directory of the configuration, and without a
    /// configuration in the current directory.
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,

    /// Start nothing: read a recorded reply to `tools/list`, or its result, from this file.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// How to report.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Who reads what tests came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    /// People.
    #[default]
    Human,
    /// Programs.
    Json,
    /// Collectors of test results (JUnit XML).
    Junit,
    /// Collectors of test results (TAP version 14).
    Tap,
    /// Workflows of GitHub, which annotate the lines of a change.
    Github,
    /// Code hosts and editors (SARIF 2.1.0).
    Sarif,
}

/// Who reads the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// People.
    #[default]
    Human,
    /// Programs.
    Json,
}

/// A command line that names nothing to do: wrong usage, or a request for help or the version.
#[derive(Debug)]
pub struct NothingToDo {
    pub message: clap::Error,
    pub exit: Exit,
}

/// Reads a command line, the program's own name included.
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
        let exit = if asked {
            Exit::Success
        } else if subcommand
            .as_ref()
            .is_some_and(|name| name == "test-policy" || name == "tools")
        {
            Exit::TestsNotRun
        } else if subcommand.as_ref().is_some_and(|name| name == "check") {
            Exit::NotChecked
        } else if subcommand.is_some_and(|name| name == "explain") {
            Exit::NotExplained
        } else {
            Exit::Invalid
        };
        NothingToDo { message, exit }
    })
}

impl ProxyArgs {
    /// The settings, from the file or from what was typed.
    pub fn settings(self) -> Result<Config, ConfigErrors> {
        let Self {
            config,
            allow,
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse_line(line: &str) -> Result<Command, NothingToDo> {
        // `""` is an empty argument, as a shell would pass it.
        let words = line.split_whitespace().map(|word| word.replace("\"\"", ""));
        parse(std::iter::once("mcp-protector".to_owned()).chain(words)).map(|cli| cli.command)
    }

    fn proxy(line: &str) -> ProxyArgs {
        let command = parse_line(line).unwrap_or_else(|nothing| panic!("{}", nothing.message));
        let Command::Proxy(args) = command else {
            panic!("{line}: {command:?}")
        };
        args
    }

    #[track_caller]
    fn refused(line: &str, kind: ErrorKind, exit: Exit) {
        let nothing = parse_line(line).expect_err(line);
        assert_eq!(
            (nothing.message.kind(), nothing.exit),
            (kind, exit),
            "{line}"
        );
    }

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        for command in Cli::command().get_subcommands_mut() {
            let help = command.render_help().to_string();
            let example = format!("mcp-protector {} ", command.get_name());
            assert!(help.contains("Example"), "{help}");
            assert!(
                help.rsplit("Example")
                    .next()
                    .is_some_and(|it| it.contains(&example)),
                "{help}"
            );
        }
    }

    #[test]
    fn examples_in_the_help_are_accepted() {
        let mut seen = 0;
        for command in Cli::command().get_subcommands_mut() {
            let help = command.render_help().to_string();
            let examples = help
                .lines()
                .filter_map(|line| line.strip_prefix("  mcp-protector "));
            for example in examples {
                let example = example.split(" && ").next().expect("one command");
                parse_line(example).unwrap_or_else(|nothing| panic!("{}", nothing.message));
                seen += 1;
            }
        }
        assert!(seen >= 5, "{seen}");
    }

    #[test]
    fn names_in_an_allowlist_are_separated_by_commas_or_repeated() {
        let cases: [(&str, Option<&[&str]>); 6] = [
            (
                "proxy --allow a,b --allow c -- server",
                Some(&["a", "b", "c"]),
            ),
            ("proxy --allow=a -- server", Some(&["a"])),
            ("proxy --allow \"\" -- server", Some(&[])),
            ("proxy --allow= -- server", Some(&[])),
            ("proxy --allow a,,b, -- server", Some(&["a", "b"])),
            ("proxy --policies p -- server", None),
        ];
        for (line, expected) in cases {
            let config = proxy(line).settings().expect(line);
            let allow = config.policy.allow.as_deref();
            let allow = allow.map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(allow.as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn what_follows_the_dashes_is_the_servers() {
        let args = proxy("proxy --allow a --audit log -- npx -y --config x --allow b -- c");
        assert_eq!(
            args.command,
            ["npx", "-y", "--config", "x", "--allow", "b", "--", "c"]
        );
        assert_eq!(args.audit.as_deref(), Some(std::path::Path::new("log")));
        assert_eq!(args.allow.as_deref(), Some(["a".to_owned()].as_slice()));
    }

    #[test]
    fn a_file_and_a_command_line_exclude_each_other() {
        let conflict = ErrorKind::ArgumentConflict;
        for line in [
            "proxy --config gate.toml -- server",
            "proxy --config gate.toml --allow a",
            "proxy --config gate.toml --policies p",
            "proxy --config gate.toml --audit log",
            "proxy --config gate.toml --env TOKEN",
        ] {
            refused(line, conflict, Exit::Invalid);
        }
    }

    #[test]
    fn nothing_is_permitted_by_leaving_something_out() {
        let missing = ErrorKind::MissingRequiredArgument;
        for line in [
            "proxy",
            "proxy --allow a",
            "proxy -- server",
            "proxy --audit log -- server",
        ] {
            refused(line, missing, Exit::Invalid);
        }
        refused("validate-config", missing, Exit::Invalid);
    }

    #[test]
    fn wrong_usage_never_looks_like_a_gate_that_broke_down_or_a_test_that_failed() {
        refused(
            "proxy --alow a -- server",
            ErrorKind::UnknownArgument,
            Exit::Invalid,
        );
        refused(
            "validate-config --config f --format x",
            ErrorKind::InvalidValue,
            Exit::Invalid,
        );
        refused(
            "test-policy --format junk",
            ErrorKind::InvalidValue,
            Exit::TestsNotRun,
        );
        refused(
            "check --fromat json",
            ErrorKind::UnknownArgument,
            Exit::NotChecked,
        );
        refused(
            "check p --config gate.toml",
            ErrorKind::ArgumentConflict,
            Exit::NotChecked,
        );
        refused(
            "valdate-config",
            ErrorKind::InvalidSubcommand,
            Exit::Invalid,
        );
        let help = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        refused("", help, Exit::Invalid);
    }

    #[test]
    fn help_and_version_are_successes() {
        for line in ["--help", "help proxy", "proxy --help", "test-policy -h"] {
            refused(line, ErrorKind::DisplayHelp, Exit::Success);
        }
        refused("--version", ErrorKind::DisplayVersion, Exit::Success);
    }

    #[test]
    fn test_policy_takes_paths_and_options() {
        let line = "test-policy packs/a packs/b --config gate.toml --format json --filter x";
        let Ok(Command::TestPolicy(args)) = parse_line(line) else {
            panic!("{line}")
        };
        assert_eq!(args.paths, ["packs/a", "packs/b"].map(PathBuf::from));
        assert_eq!(args.config, Some(PathBuf::from("gate.toml")));
        assert_eq!(
            (args.format, args.filter.as_deref()),
            (TestFormat::Json, Some("x"))
        );
    }
}
