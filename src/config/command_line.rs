//! The configuration without a file: one stdio server wrapped in one line.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use secrecy::SecretString;

use super::errors::{ConfigError, ConfigErrors, ConfigReason};
use super::settings::{
    Admin, Audit, Config, Flow, Guards, Limits, Listen, OtherMethods, Policy, Protocol, Ratchet,
    Servers, Telemetry, Upstream,
};
use super::tool_names::tool_name;
use super::upstream::inherited;
use super::variables::Variables;
use crate::wire::Extensions;

/// What was typed after `proxy` when no file is named.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// Exact tool names; `None` when `--allow` is absent.
    pub allow: Option<Vec<String>>,
    /// What that list means for other methods.
    pub other_methods: OtherMethods,
    /// The policy directory.
    pub policies: Option<PathBuf>,
    /// The audit file.
    pub audit: Option<PathBuf>,
    /// Names of environment variables that the child gets besides [`super::INHERITED`].
    pub env: Vec<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
}

impl Config {
    /// Everything that the command line does not say has its default. Paths stay as typed, which
    /// means relative to the current directory; `${…}` is not replaced, since the shell did that.
    pub fn from_command_line(typed: CommandLine) -> Result<Self, ConfigErrors> {
        Self::from_typed(typed, &|name| std::env::var_os(name))
    }

    fn from_typed(typed: CommandLine, variables: &Variables<'_>) -> Result<Self, ConfigErrors> {
        let CommandLine {
            allow,
            other_methods,
            policies,
            audit,
            env: passed,
            command,
        } = typed;
        let mut problems = Vec::new();
        let mut tell = |field: &str, reason, help: &str| {
            problems.push(ConfigError::without_place(field, reason, help));
        };
        if command.first().is_none_or(String::is_empty) {
            tell(
                "command",
                ConfigReason::Required,
                "write the server's command after `--`",
            );
        }
        for reason in allow.iter().flatten().filter_map(|name| tool_name(name)) {
            tell(
                "--allow",
                reason,
                "names are exact, with commas between them",
            );
        }
        let mut env = inherited(variables);
        for name in passed {
            match pass(&name, variables) {
                Ok(value) => {
                    env.insert(name, value);
                }
                Err(reason) => tell(
                    "--env",
                    reason,
                    "name variables that are set, without values",
                ),
            }
        }
        if !problems.is_empty() {
            return Err(ConfigErrors {
                origin: "command line".to_owned(),
                problems,
            });
        }
        Ok(Self {
            servers: Servers::new(),
            server_terms: BTreeMap::new(),
            key: None,
            upstream: Upstream {
                command,
                env,
                ..Upstream::named("upstream".to_owned())
            },
            listen: Listen::Stdio,
            policy: Policy {
                allow: allow.map(each_once),
                dir: policies,
                other_methods,
                ..Policy::default()
            },
            audit: Audit {
                file: audit,
                ..Audit::default()
            },
            flight_recorder: None,
            limits: Limits::default(),
            admin: Admin::default(),
            telemetry: Telemetry::default(),
            protocol: Protocol::default(),
            extensions: Extensions::default(),
            guards: Guards::default(),
            truncation: None,
            consent: None,
            ratchet: Ratchet::default(),
            flow: Flow::default(),
            unified: None,
            views: BTreeMap::new(),
            // The shell replaced them, if there were any.
            variables: BTreeMap::new(),
            file: None,
            warnings: Vec::new(),
        })
    }
}

fn pass(name: &str, variables: &Variables<'_>) -> Result<SecretString, ConfigReason> {
    // `NAME=value` would put the value where every process can read it, and us into telling it.
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(ConfigReason::Invalid(
            "expected only the name of an environment variable",
        ));
    }
    match variables(name).map(OsString::into_string) {
        Some(Ok(value)) => Ok(SecretString::from(value)),
        Some(Err(_)) => Err(ConfigReason::VariableNotUtf8(name.to_owned())),
        None => Err(ConfigReason::UndefinedVariable(name.to_owned())),
    }
}

fn each_once(names: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .collect()
}
