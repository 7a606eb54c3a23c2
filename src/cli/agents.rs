//! `agents`: shows and changes what `agents.toml` says of agents.

mod edit;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::args::{AgentChanges, AgentsArgs, AgentsCommand, AgentsSource, Format};
use super::exit::{Exit, heard};
use super::{atomic_write, proxy, report};
use crate::config::{Config, ConfigErrors};
use crate::loading::{self, AGENTS_FILE, MANIFEST_FILE, Settings};
use crate::policy::{Agent, Labels, PolicyErrors, ServerKey};

pub(super) use self::edit::{AgentEdits, AgentLists, ListEdit};

/// Why nothing is shown or changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum AgentsFailure {
    #[error("the configuration is not usable")]
    Config(#[from] ConfigErrors),
    #[error("the policies are not usable")]
    Policies(#[from] PolicyErrors),
    #[error("the configuration names no policy directory: set `policy.dir`")]
    NoDirectory,
    #[error("`{}`: {cause}", file.display())]
    File { file: PathBuf, cause: io::Error },
    #[error("`{}` cannot be changed: {why}", file.display())]
    Edit { file: PathBuf, why: String },
    #[error("`{}` has changed in the meantime: nothing was written", .0.display())]
    Changed(PathBuf),
    #[error("the report could not be written: {0}")]
    Report(#[from] io::Error),
}

/// Does what was asked for.
pub fn run(args: &AgentsArgs, stdout: &mut dyn Write, stderr: &mut dyn Write) -> Exit {
    let done = match &args.command {
        AgentsCommand::List { source } => list(source, stdout),
        AgentsCommand::Show { name, source } => show(name, source, stdout),
        AgentsCommand::Set {
            name,
            changes,
            source,
        } => set(name, changes, source, stdout),
    };
    let Err(failure) = done else {
        return Exit::Success;
    };
    let told = match &failure {
        AgentsFailure::Config(errors) => report::text(errors),
        AgentsFailure::Policies(errors) => report::text(errors),
        AgentsFailure::NoDirectory
        | AgentsFailure::File { .. }
        | AgentsFailure::Edit { .. }
        | AgentsFailure::Changed(_)
        | AgentsFailure::Report(_) => format!("error: {failure}"),
    };
    // The exit code remains if the output is closed.
    let _ = writeln!(stderr, "{told}");
    Exit::Invalid
}

/// What a program reads of one agent.
#[derive(Debug, Serialize)]
pub(super) struct AgentReport {
    name: String,
    roles: Vec<String>,
    /// Of several, those that are enabled and left to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<Vec<String>>,
}

/// What a program reads: one line.
#[derive(Debug, Serialize)]
pub(super) struct AgentsReport {
    /// Version of this format.
    pub(super) schema: u32,
    pub(super) agents: Vec<AgentReport>,
}

/// The enabled servers that the labels leave an agent of this id.
pub(super) fn servers_left_to<'k>(
    name: &str,
    config: &'k Config,
) -> Result<Vec<&'k ServerKey>, PolicyErrors> {
    let loaded = loading::load(&proxy::policy_settings(config))?;
    let agent = Agent {
        id: name.to_owned(),
        ..Agent::default()
    };
    Ok(servers_left(loaded.snapshot.labels(), config, &agent))
}

/// The enabled servers that the labels leave an agent with no more roles than they give it.
fn servers_left<'k>(labels: &Labels, config: &'k Config, agent: &Agent) -> Vec<&'k ServerKey> {
    let servers = config.servers.iter();
    let enabled = servers.filter(|(_, server)| server.is_enabled());
    let left = enabled.filter(|(key, _)| labels.leave_server(agent, key));
    left.map(|(key, _)| key).collect()
}

fn report_of(name: &str, labels: &Labels, config: &Config) -> AgentReport {
    let agent = Agent {
        id: name.to_owned(),
        ..Agent::default()
    };
    let described = labels.agent(&agent);
    let left = servers_left(labels, config, &agent);
    AgentReport {
        name: name.to_owned(),
        roles: described.map(|agent| agent.roles).unwrap_or_default(),
        servers: (!config.servers.is_empty())
            .then(|| left.into_iter().map(ToString::to_string).collect()),
    }
}

fn loaded(config: &Path) -> Result<(Config, Settings, Labels), AgentsFailure> {
    let config = Config::load_offline(config)?;
    let settings = proxy::policy_settings(&config);
    let labels = loading::load(&settings)?.snapshot.labels().clone();
    Ok((config, settings, labels))
}

fn tell(
    reports: Vec<AgentReport>,
    format: Format,
    out: &mut dyn Write,
) -> Result<(), AgentsFailure> {
    match format {
        Format::Json => {
            let report = AgentsReport {
                schema: 1,
                agents: reports,
            };
            let line = serde_json::to_string(&report).map_err(io::Error::from)?;
            heard(writeln!(out, "{line}"))?;
        }
        Format::Human => {
            for report in reports {
                heard(writeln!(out, "{}", line_of(&report)))?;
            }
        }
    }
    Ok(())
}

fn line_of(report: &AgentReport) -> String {
    let list = |items: &[String]| {
        if items.is_empty() {
            "none".to_owned()
        } else {
            items.join(", ").escape_debug().to_string()
        }
    };
    let name = report.name.escape_debug();
    let mut line = format!("{name}: roles {}", list(&report.roles));
    if let Some(servers) = &report.servers {
        line.push_str("; servers ");
        line.push_str(&list(servers));
    }
    line
}

/// Every agent that the files name.
pub(super) fn all(config: &Path) -> Result<Vec<AgentReport>, AgentsFailure> {
    let (config, _, labels) = loaded(config)?;
    let mut names: Vec<&String> = labels.agents.keys().collect();
    names.sort();
    let reports = names.into_iter();
    Ok(reports
        .map(|name| report_of(name, &labels, &config))
        .collect())
}

/// One agent, which no file need name.
pub(super) fn one(config: &Path, name: &str) -> Result<AgentReport, AgentsFailure> {
    let (config, _, labels) = loaded(config)?;
    Ok(report_of(name, &labels, &config))
}

fn list(source: &AgentsSource, out: &mut dyn Write) -> Result<(), AgentsFailure> {
    tell(all(&source.config)?, source.format, out)
}

fn show(name: &str, source: &AgentsSource, out: &mut dyn Write) -> Result<(), AgentsFailure> {
    tell(vec![one(&source.config, name)?], source.format, out)
}

/// The file that describes an agent, or is to.
#[derive(Debug)]
pub(super) struct AgentFile {
    config: Config,
    settings: Settings,
    dir: PathBuf,
    file: PathBuf,
    /// Its text; empty if there is no file.
    pub(super) text: String,
}

/// A valid change of it.
#[derive(Debug)]
pub(super) struct AgentChange {
    file: AgentFile,
    text: String,
    /// Whether it removes a restriction, which a running gate takes for a cut file.
    lifts: bool,
    /// The agent as it would be.
    pub(super) report: AgentReport,
}

impl AgentFile {
    pub(super) fn of(config: &Path, name: &str) -> Result<Self, AgentsFailure> {
        let config = Config::load_offline(config)?;
        let settings = proxy::policy_settings(&config);
        let dir = settings.dir.clone().ok_or(AgentsFailure::NoDirectory)?;
        let files = loading::agents_files(&settings);
        let of_agent = files.into_iter().find(|(_, text)| edit::names(text, name));
        let (file, text) = match of_agent {
            Some(found) => found,
            None => whole(&dir.join(AGENTS_FILE))?,
        };
        Ok(Self {
            config,
            settings,
            dir,
            file,
            text,
        })
    }

    /// What it says of the agent.
    pub(super) fn lists(&self, name: &str) -> AgentLists {
        AgentLists::of(&self.text, name)
    }

    /// Checks a change, and changes nothing.
    pub(super) fn changed(
        self,
        name: &str,
        edits: &AgentEdits,
    ) -> Result<AgentChange, AgentsFailure> {
        let edited = edit::edited(&self.text, name, edits);
        let text = edited.map_err(|why| AgentsFailure::Edit {
            file: self.file.clone(),
            why,
        })?;
        let loaded = loading::load_with_labels(&self.settings, &self.file, &text)?;
        let report = report_of(name, loaded.snapshot.labels(), &self.config);
        let lifts = loading::load(&self.settings).is_ok_and(|before| {
            loading::holds_back(&self.settings, &before.snapshot, &loaded.snapshot)
        });
        Ok(AgentChange {
            file: self,
            text,
            report,
            lifts,
        })
    }
}

impl AgentChange {
    /// What it would say of the agent.
    pub(super) fn lists(&self, name: &str) -> AgentLists {
        AgentLists::of(&self.text, name)
    }

    /// The text that the file is to have.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whole or not at all, unless the file has changed since it was read.
    pub(super) fn write(&self) -> Result<(), AgentsFailure> {
        let AgentFile { file, text, .. } = &self.file;
        let (_, now) = whole(file)?;
        if now != *text {
            return Err(AgentsFailure::Changed(file.clone()));
        }
        let written = atomic_write::write(file, &self.text);
        written.map_err(|cause| AgentsFailure::File {
            file: file.clone(),
            cause,
        })
    }

    /// What else has to be done, if anything.
    pub(super) fn hint(&self) -> Option<String> {
        let dir = &self.file.dir;
        if dir.join(MANIFEST_FILE).exists() {
            let dir = dir.display();
            let hint = format!(
                "`{dir}/{MANIFEST_FILE}` has the digest of the former file: write it again"
            );
            return Some(hint);
        }
        self.lifts.then(|| {
            "this lifts a restriction: a running gate keeps the former policies until it gets SIGHUP, unless \
             `[policy]` has `on_policy_removal = \"apply\"`".to_owned()
        })
    }
}

fn set(
    name: &str,
    changes: &AgentChanges,
    source: &AgentsSource,
    out: &mut dyn Write,
) -> Result<(), AgentsFailure> {
    let file = AgentFile::of(&source.config, name)?;
    let change = file.changed(name, &AgentEdits::of(changes))?;
    change.write()?;
    let hint = change.hint();
    tell(vec![change.report], source.format, out)?;
    if let Some(hint) = hint.filter(|_| source.format == Format::Human) {
        heard(writeln!(out, "{hint}"))?;
    }
    Ok(())
}

/// A file with its text, which is empty if there is none.
fn whole(file: &Path) -> Result<(PathBuf, String), AgentsFailure> {
    match fs::read_to_string(file) {
        Ok(text) => Ok((file.to_owned(), text)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            Ok((file.to_owned(), String::new()))
        }
        Err(cause) => Err(AgentsFailure::File {
            file: file.to_owned(),
            cause,
        }),
    }
}
