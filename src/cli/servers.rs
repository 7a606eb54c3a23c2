//! `servers`: lists, checks and changes the servers of a configuration.

mod failure;
mod reach;
mod server_file;
mod status;

use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::path::Path;

use serde::Serialize;

use super::args::{Confirm, Format, Handshake, NamedServer, ServersArgs, ServersCommand};
use super::exit::{Exit, heard};
use super::tools::LockComparison;
use super::validate_config::{self, PolicyValidation};
use super::{report, tools};
use crate::config::{Config, ServerFileChange, ServerFiles};
use crate::findings::printable;
use crate::policy::{PolicyErrors, ServerKey};

use self::failure::ServersFailure;
use self::reach::Reaches;
use self::server_file::{EditedFile, ServerEdit};
use self::status::ServerStatus;

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
            handshake,
            format,
        } => list(&gate.config, *handshake, *format, stdout),
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
    file: &Path,
    handshake: Handshake,
    format: Format,
    out: &mut dyn Write,
) -> Result<Exit, ServersFailure> {
    let config = Config::load(file)?;
    let servers = ServerStatus::all(&config, handshake);
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
struct CheckReport<'c> {
    /// Version of this format.
    schema: u32,
    #[serde(flatten)]
    status: &'c ServerStatus,
    /// Absent without a lock, and without a handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<&'c LockComparison>,
    /// Definitions that no lock can hold.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left_out: &'c [String],
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
    let view = status::view_of(&config, key)?;
    let view = view.filter(|_| !handshake.no_handshake);
    let asked = view.as_ref().map(status::ask);
    let status = ServerStatus::of(&config, Some(key), &asked);
    let answer = asked.and_then(Result::ok);
    let (mut left_out, mut compared) = (Vec::new(), None);
    if let Some(answer) = answer {
        let unfit = answer.left_out.iter();
        left_out = unfit.map(|why| tools::shown(&why.to_string())).collect();
        compared = LockComparison::of(&config, key, answer.lock)?;
    }
    match format {
        Format::Json => {
            let report = CheckReport {
                schema: 1,
                status: &status,
                compared: compared.as_ref(),
                left_out: &left_out,
            };
            json(&report, out)?;
        }
        Format::Human => {
            status.write(out)?;
            warnings(&config, key, out)?;
            for why in &left_out {
                writeln!(out, "left out, and not approved: {why}")?;
            }
            if let Some(compared) = &compared {
                compared.write(out)?;
            }
        }
    }
    let differs = compared.is_some_and(|compared| !compared.is_empty());
    Ok(if differs || status.is_failed() || !left_out.is_empty() {
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
    let edited = edited_file(gate, key, edit)?;
    let change = ServerFileChange {
        file: &edited.path,
        text: edited.after.as_deref(),
    };
    let config = valid(Config::load_changed(gate, &change)?, gate, load)?;
    warnings(&config, key, out)?;
    if let Some(handshake) = handshake {
        let view = status::view_of(&config, key)?;
        if let Some(view) = view.filter(|_| !handshake.no_handshake) {
            shake_hands(&config, &view, key, out)?;
        }
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
    view: &Config,
    key: &ServerKey,
    out: &mut dyn Write,
) -> Result<(), ServersFailure> {
    let asked = Some(Ok(status::ask(view).map_err(ServersFailure::NoAnswer)?));
    ServerStatus::of(config, Some(key), &asked).write(out)?;
    let Some(Ok(answer)) = asked else {
        return Ok(());
    };
    for why in &answer.left_out {
        let why = tools::shown(&why.to_string());
        writeln!(out, "left out, and not approved: {why}")?;
    }
    let lock = LockComparison::of(config, key, answer.lock.clone())?;
    if lock.as_ref().is_some_and(|lock| !lock.is_empty()) {
        writeln!(
            out,
            "tools that differ from the lock are denied until `tools approve`"
        )?;
    }
    let reaches = Reaches {
        config,
        view,
        offered: &answer.lock,
        lock: lock.as_ref(),
    };
    reaches.write(out)
}

/// The configuration, unless `validate-config` would refuse it.
fn valid(config: Config, file: &Path, load: LoadPolicies) -> Result<Config, ServersFailure> {
    validate_config::checked(config, file, load).map_err(ServersFailure::Invalid)
}

/// What looks wrong with one server.
fn warnings(config: &Config, key: &ServerKey, out: &mut dyn Write) -> io::Result<()> {
    let table = format!("servers.{key}");
    let of_it = config.warnings.iter().filter(|warning| {
        let below = warning.field().strip_prefix(&table);
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    for warning in of_it {
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
