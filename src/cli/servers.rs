//! `servers`: lists, checks and changes the servers of a configuration.

mod failure;
mod reach;
mod server_file;
mod status;

use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::path::Path;

use serde::Serialize;

use super::args::{
    Confirm, Format, Handshake, NamedServer, ServersArgs, ServersCommand, ServersConfig,
};
use super::exit::{Exit, heard};
use super::tools::LockComparison;
use super::validate_config::{self, PolicyValidation};
use super::{agents, proxy, report, tools};
use crate::config::{Config, ConfigError, ServerFileChange, ServerFiles};
use crate::findings::printable;
use crate::loading;
use crate::policy::{PolicyErrors, ServerKey};

pub(super) use self::failure::ServersFailure;
pub(super) use self::reach::{AgentReach, AllReaches, Others};
pub(super) use self::server_file::{EditedFile, ServerEdit};
pub(super) use self::status::ServerStatus;

use self::reach::Reaches;

/// Loads what a configuration names, and puts nothing in force.
pub(super) type LoadPolicies = fn(&Config) -> Result<PolicyValidation, PolicyErrors>;

/// Does what was asked for. Nothing is changed if anything fails.
pub(super) fn run(
    args: &ServersArgs,
    load: LoadPolicies,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Exit {
    let done = match &args.command {
        ServersCommand::List {
            gate,
            agent,
            handshake,
            format,
        } => list(gate, agent.as_deref(), *handshake, *format, stdout),
        ServersCommand::Show { server, handshake } => show(server, load, *handshake, stdout),
        ServersCommand::Add {
            server,
            launch,
            handshake,
            confirm,
        } => {
            let edit = ServerEdit::Add(launch);
            edited(server, edit, Some(*handshake), *confirm, load, stdout)
        }
        ServersCommand::Update {
            server,
            launch,
            handshake,
            confirm,
        } => {
            let edit = ServerEdit::Update(launch);
            edited(server, edit, Some(*handshake), *confirm, load, stdout)
        }
        ServersCommand::Enable {
            server,
            handshake,
            confirm,
        } => {
            let edit = ServerEdit::Enable;
            edited(server, edit, Some(*handshake), *confirm, load, stdout)
        }
        ServersCommand::Remove { server, confirm } => {
            edited(server, ServerEdit::Remove, None, *confirm, load, stdout)
        }
        ServersCommand::Disable { server, confirm } => {
            edited(server, ServerEdit::Disable, None, *confirm, load, stdout)
        }
        ServersCommand::Check {
            server,
            handshake,
            format,
        } => check(server, load, *handshake, *format, stdout),
    };
    let done = done.and_then(|exit| {
        heard(stdout.flush())?;
        Ok(exit)
    });
    done.unwrap_or_else(|failure| {
        failure.tell(stderr);
        Exit::ServersNotDone
    })
}

/// As a program reads it: one line.
#[derive(Debug, Serialize)]
struct ServersReport {
    /// Version of this format.
    schema: u32,
    servers: Vec<ServerStatus>,
}

fn list(
    gate: &ServersConfig,
    agent: Option<&str>,
    handshake: Handshake,
    format: Format,
    out: &mut dyn Write,
) -> Result<Exit, ServersFailure> {
    let config = Config::load(&gate.config)?;
    let listed = match agent {
        Some(agent) => agents::servers_left_to(agent, &config)?,
        None => config.servers.keys().collect(),
    };
    let servers = ServerStatus::all(&config, &listed, handshake);
    match format {
        Format::Human => {
            for server in &servers {
                server.write(out)?;
            }
        }
        Format::Json => json(&ServersReport { schema: 1, servers }, out)?,
    }
    Ok(Exit::Success)
}

fn show(
    server: &NamedServer,
    load: LoadPolicies,
    handshake: Handshake,
    out: &mut dyn Write,
) -> Result<Exit, ServersFailure> {
    let config = Config::load(&server.gate.config)?;
    if let Some(written) = status::written(&config, &server.key) {
        writeln!(out, "{}\n", printable_lines(&written.text))?;
    }
    check(server, load, handshake, Format::Human, out)
}

fn printable_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(printable).collect();
    lines.join("\n")
}

/// As a program reads it: one line.
#[derive(Debug, Serialize)]
pub(super) struct CheckReport {
    /// Version of this format.
    schema: u32,
    #[serde(flatten)]
    status: ServerStatus,
    /// Absent without a lock, and without a handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<LockComparison>,
    /// Definitions that no lock can hold.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left_out: Vec<String>,
}

impl CheckReport {
    /// Checks a server of a valid configuration.
    pub(super) fn of(
        config: &Config,
        key: &ServerKey,
        handshake: Handshake,
    ) -> Result<Self, ServersFailure> {
        let view = status::view_of(config, key)?;
        let view = view.filter(|_| !handshake.no_handshake);
        let asked = view.as_ref().map(status::ask);
        let status = ServerStatus::of(config, Some(key), &asked);
        let (mut left_out, mut compared) = (Vec::new(), None);
        if let Some(Ok(answer)) = asked {
            let unfit = answer.left_out.iter();
            left_out = unfit.map(|why| tools::shown(&why.to_string())).collect();
            compared = LockComparison::of(config, key, answer.lock)?;
        }
        Ok(Self {
            schema: 1,
            status,
            compared,
            left_out,
        })
    }

    fn has_found(&self) -> bool {
        let mut compared = self.compared.iter();
        let differs = compared.any(|compared| !compared.is_empty());
        differs || self.status.is_failed() || !self.left_out.is_empty()
    }
}

fn check(
    server: &NamedServer,
    load: LoadPolicies,
    handshake: Handshake,
    format: Format,
    out: &mut dyn Write,
) -> Result<Exit, ServersFailure> {
    let config = valid(
        Config::load(&server.gate.config)?,
        &server.gate.config,
        load,
    )?;
    let key = &server.key;
    let report = CheckReport::of(&config, key, handshake)?;
    match format {
        Format::Json => json(&report, out)?,
        Format::Human => {
            report.status.write(out)?;
            warnings(&config, key, out)?;
            for why in &report.left_out {
                writeln!(out, "left out, and not approved: {why}")?;
            }
            if let Some(compared) = &report.compared {
                compared.write(out)?;
            }
        }
    }
    Ok(if report.has_found() {
        Exit::ServersNotDone
    } else {
        Exit::Success
    })
}

/// Without a `handshake`, no server is asked, and none is to be reached.
fn edited(
    server: &NamedServer,
    edit: ServerEdit<'_>,
    handshake: Option<Handshake>,
    confirm: Confirm,
    load: LoadPolicies,
    out: &mut dyn Write,
) -> Result<Exit, ServersFailure> {
    let (gate, key) = (&server.gate.config, &server.key);
    let PreparedEdit { edited, config } = prepared(gate, key, edit, load)?;
    warnings(&config, key, out)?;
    if handshake.is_some_and(|handshake| !handshake.no_handshake) {
        shake_hands(&config, key, out)?;
    }
    let file = printable(&edited.path.display().to_string());
    let (question, done) = match edited.after {
        Some(_) => (format!("write {file}"), format!("wrote {file}")),
        None => (format!("remove {file}"), format!("removed {file}")),
    };
    confirmed(&question, confirm, out)?;
    edited.write()?;
    writeln!(out, "{done}")?;
    Ok(Exit::Success)
}

/// A change of the file of a server that would be valid.
#[derive(Debug)]
pub(super) struct PreparedEdit {
    pub(super) edited: EditedFile,
    /// The whole configuration with the change.
    pub(super) config: Config,
}

/// Checks the whole configuration as it would be, and changes nothing.
pub(super) fn prepared(
    gate: &Path,
    key: &ServerKey,
    edit: ServerEdit<'_>,
    load: LoadPolicies,
) -> Result<PreparedEdit, ServersFailure> {
    let edited = edited_file(gate, key, edit)?;
    let change = ServerFileChange {
        file: &edited.path,
        text: edited.after.as_deref(),
    };
    let config = valid(Config::load_changed(gate, &change)?, gate, load)?;
    Ok(PreparedEdit { edited, config })
}

/// Whether a running gate would keep its former configuration, since the policies of the new one lack some.
pub(super) fn is_held_back(gate: &Path, prepared: &PreparedEdit) -> bool {
    let settings = proxy::policy_settings(&prepared.config);
    let before = Config::load_offline(gate).ok();
    let before = before.and_then(|it| loading::load(&proxy::policy_settings(&it)).ok());
    let after = loading::load(&settings).ok();
    before.zip(after).is_some_and(|(before, after)| {
        loading::holds_back(&settings, &before.snapshot, &after.snapshot)
    })
}

/// The answer of a server to a handshake, and what each agent would reach of it.
pub(super) struct HandshakeResult {
    pub(super) status: ServerStatus,
    pub(super) left_out: Vec<String>,
    pub(super) lock: Option<LockComparison>,
    pub(super) reaches: AllReaches,
}

/// Shakes hands with the server of a change, unless it is disabled.
///
/// # Errors
/// It does not answer, or its tools cannot be evaluated.
pub(super) fn handshake(
    config: &Config,
    key: &ServerKey,
) -> Result<Option<HandshakeResult>, ServersFailure> {
    let Some(view) = status::view_of(config, key)? else {
        return Ok(None);
    };
    let answer = status::ask(&view).map_err(ServersFailure::NoAnswer)?;
    let left_out = answer.left_out.iter();
    let left_out = left_out.map(|why| tools::shown(&why.to_string())).collect();
    let lock = LockComparison::of(config, key, answer.lock.clone())?;
    let reaches = Reaches {
        config,
        view: &view,
        offered: &answer.lock,
        lock: lock.as_ref(),
    };
    let reaches = reaches.of_all()?;
    Ok(Some(HandshakeResult {
        status: ServerStatus::of(config, Some(key), &Some(Ok(answer))),
        left_out,
        lock,
        reaches,
    }))
}

fn edited_file(
    gate: &Path,
    key: &ServerKey,
    edit: ServerEdit<'_>,
) -> Result<EditedFile, ServersFailure> {
    let files = ServerFiles::of(gate)?;
    let file = match (files.line_of(key), files.file_of(key)) {
        (Some(line), file) => {
            let (gate, key) = (gate.to_owned(), key.clone());
            return Err(match file {
                Some(file) => ServersFailure::InGate {
                    key,
                    gate,
                    line,
                    file,
                },
                None => ServersFailure::InGateAlone { key, gate, line },
            });
        }
        (None, Some(file)) => file,
        (None, None) => return Err(ServersFailure::NoDirectory(gate.to_owned())),
    };
    EditedFile::of(file, key, edit)
}

fn shake_hands(
    config: &Config,
    key: &ServerKey,
    out: &mut dyn Write,
) -> Result<(), ServersFailure> {
    let Some(shaken) = handshake(config, key)? else {
        return Ok(());
    };
    shaken.status.write(out)?;
    for why in &shaken.left_out {
        writeln!(out, "left out, and not approved: {why}")?;
    }
    if shaken.lock.as_ref().is_some_and(|lock| !lock.is_empty()) {
        writeln!(
            out,
            "tools that differ from the lock are denied until `tools approve`"
        )?;
    }
    Ok(shaken.reaches.write(out)?)
}

/// The configuration, unless `validate-config` would refuse it.
pub(super) fn valid(
    config: Config,
    file: &Path,
    load: LoadPolicies,
) -> Result<Config, ServersFailure> {
    validate_config::checked(config, file, load).map_err(ServersFailure::Invalid)
}

/// What looks wrong with one server.
pub(super) fn warnings_of<'c>(
    config: &'c Config,
    key: &ServerKey,
) -> impl Iterator<Item = &'c ConfigError> {
    let table = format!("servers.{key}");
    config.warnings.iter().filter(move |warning| {
        let below = warning.field().strip_prefix(&table);
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

fn warnings(config: &Config, key: &ServerKey, out: &mut dyn Write) -> io::Result<()> {
    for warning in warnings_of(config, key) {
        writeln!(out, "{}", report::text(warning))?;
    }
    Ok(())
}

fn confirmed(question: &str, confirm: Confirm, out: &mut dyn Write) -> Result<(), ServersFailure> {
    if confirm.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(ServersFailure::NoTerminal);
    }
    write!(out, "{question}? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(())
    } else {
        Err(ServersFailure::Refused)
    }
}

fn json(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, report)?;
    writeln!(out)
}
