//! The servers of the clients' files, as the configuration of the gate has them.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use miette::Diagnostic as _;
use secrecy::SecretString;

use super::failure::InitFailure;
use super::sources::{Source, Sources};
use crate::cli::report;
use crate::clients::{
    Entry, GateLaunch, GateServer, Launch, Piece, ServerNames, ServerVariable, Template,
    VariableNames, gate_server,
};
use crate::config::{Config, ConfigErrors};
use crate::findings::printable;
use crate::secret;

/// The configuration in the directory.
pub(super) const GATE_FILE: &str = "gate.toml";

/// The file of secrets, beside the configuration.
pub(super) const ENV_FILE: &str = "env.toml";

/// What one gate has at most.
const MAX_SERVERS: usize = 32;

const HEAD: &str = "\
# One gate for the servers of your MCP clients, written by `mcp-protector init`. docs/many-servers.md explains it.
version = 1
";

const REST: &str = "
# Agents connect with `mcp-protector attach KEY`, which starts this gate.
[listen]
transport = \"local\"

[audit]
file = \"audit.jsonl\"

[policy]
dir            = \"policies\"
pinning        = \"trust_on_first_use\"
require_labels = true

[guards]
arguments           = \"block\"
secrets             = \"redact\"
secrets_outbound    = \"block\"
tool_metadata       = \"sanitize\"
tool_metadata_tags  = \"suspicious\"
description_length  = 16384
content             = \"sanitize\"
content_tags        = \"suspicious\"
on_fatal_tool_error = \"close_session\"

# The clients ask their user. Clients that show no forms need `\"web\"`: docs/consent.md.
[consent]
channels = [\"elicitation\"]
";

/// Each server once, also where several clients have it.
#[derive(Default)]
pub(super) struct GateServers {
    servers: Vec<NewServer>,
    /// Entries by the file and the place in it, with the server that each of them is.
    uses: Vec<(usize, usize, usize)>,
    /// What the gate cannot take, with the reasons.
    left_out: Vec<String>,
    /// Names of entries that their client does not start.
    switched_off: Vec<String>,
}

#[derive(Clone)]
struct NewServer {
    key: String,
    gate: GateServer,
    /// The name and the launch in the client's file.
    was: Vec<String>,
}

impl GateServers {
    pub(super) fn of(sources: &Sources) -> Result<Self, InitFailure> {
        let mut variables = VariableNames::default();
        for source in &sources.0 {
            variables.take_references(&source.entries);
        }
        let mut names = ServerNames::default();
        let mut all = Self::default();
        for (at, source) in sources.0.iter().enumerate() {
            for (number, entry) in source.entries.iter().enumerate() {
                if entry.enabled {
                    all.add((at, number), source, entry, &mut names, &mut variables);
                } else {
                    all.switched_off.push(entry.name().to_owned());
                }
            }
        }
        if all.servers.len() > MAX_SERVERS {
            return Err(InitFailure::TooMany);
        }
        Ok(all)
    }

    fn add(
        &mut self,
        (at, number): (usize, usize),
        source: &Source,
        entry: &Entry,
        names: &mut ServerNames,
        variables: &mut VariableNames,
    ) {
        let was = fingerprint(entry);
        let same = self.servers.iter().position(|server| server.was == was);
        if let Some(known) = same {
            self.uses.push((at, number, known));
            return;
        }
        let key = names.key(entry.name());
        let mut gate = match gate_server(entry, &key, variables) {
            Ok(gate) => gate,
            Err(errors) => {
                self.left_out.push(report::text(&errors));
                return;
            }
        };
        if let Some(missing) = missing(&gate) {
            let (place, name) = (&entry.place, entry.name());
            let text = format!("{place}: `{name}` needs {missing}, write its value into this file");
            self.left_out.push(printable(&text));
            return;
        }
        stay_in_place(&mut gate, &source.path);
        let server = NewServer { key, gate, was };
        if let Err(errors) = Self::alone(&server).config(Path::new("."), "") {
            self.left_out.push(not_taken(entry, &server.key, &errors));
            return;
        }
        self.uses.push((at, number, self.servers.len()));
        self.servers.push(server);
    }

    /// For what the configuration does not take of one server, such as a URL without TLS.
    fn alone(server: &NewServer) -> Self {
        Self {
            servers: vec![server.clone()],
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    pub(super) fn all_taken(&self) -> bool {
        self.left_out.is_empty()
    }

    pub(super) fn tell_left_out(&self, out: &mut dyn Write) {
        for name in &self.switched_off {
            let name = printable(name);
            let _ = writeln!(out, "left out: `{name}` is switched off in its client");
        }
        for why in &self.left_out {
            let _ = writeln!(out, "not protected:\n{why}");
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|server| server.key.as_str())
    }

    /// The entries of a file that the gate takes, with the keys of their servers.
    pub(super) fn entries_of(&self, source: usize) -> impl Iterator<Item = (usize, &str)> {
        let uses = self.uses.iter().filter(move |(at, ..)| *at == source);
        uses.filter_map(|(_, entry, server)| {
            let server = self.servers.get(*server)?;
            Some((*entry, server.key.as_str()))
        })
    }

    /// What starts or is reached for the entries of a file.
    pub(super) fn launches_of(&self, source: usize) -> impl Iterator<Item = (&str, &GateLaunch)> {
        self.entries_of(source).filter_map(|(_, key)| {
            let server = self.servers.iter().find(|server| server.key == key)?;
            Some((key, &server.gate.launch))
        })
    }

    pub(super) fn is_remote(&self, key: &str) -> bool {
        let server = self.servers.iter().find(|server| server.key == key);
        server.is_some_and(|server| matches!(server.gate.launch, GateLaunch::Url { .. }))
    }

    fn moved(&self) -> BTreeMap<&str, &SecretString> {
        let variables = self.servers.iter().flat_map(|it| &it.gate.variables);
        let moved = variables.filter_map(|variable| match variable {
            ServerVariable::Moved { name, value } => Some((name.as_str(), value)),
            ServerVariable::Inherited { .. } | ServerVariable::Asked { .. } => None,
        });
        moved.collect()
    }

    /// What the variables hold in those strings.
    fn variable(&self, name: &str) -> Option<OsString> {
        let moved = self.moved();
        let moved = moved.get(name).map(|value| secret::variable(value));
        moved.or_else(|| env::var_os(name))
    }

    /// The file of secrets, if there are any.
    pub(super) fn env_text(&self) -> Option<String> {
        let moved = self.moved();
        let mut out = String::from(
            "# Secrets that gate.toml names as `${NAME}`. No other user may read this file.\n",
        );
        for (name, value) in &moved {
            out.extend([format!("{name} = {}\n", secret::written(value, quoted))]);
        }
        (!moved.is_empty()).then_some(out)
    }

    /// As it is read, with all servers enabled.
    pub(super) fn config(&self, dir: &Path, limits: &str) -> Result<Config, ConfigErrors> {
        let text = self.text(&|_| true, limits);
        let file = dir.join(GATE_FILE);
        Config::parse(&text, &file, dir, &|name| self.variable(name))
    }

    /// The configuration, for a gate that asks as long as `limits` say.
    pub(super) fn text(&self, is_enabled: &dyn Fn(&str) -> bool, limits: &str) -> String {
        let mut out = String::from(HEAD);
        if !self.moved().is_empty() {
            out.extend([format!("env_file = {}\n", quoted(ENV_FILE))]);
        }
        out.push_str(REST);
        out.push_str(limits);
        for server in &self.servers {
            out.extend([format!("\n[servers.{}]\n", server.key)]);
            if !is_enabled(&server.key) {
                out.push_str("# It did not answer.\nenabled = false\n");
            }
            out.push_str(&launch(&server.gate.launch));
        }
        out
    }
}

fn launch(launch: &GateLaunch) -> String {
    let mut out = String::new();
    match launch {
        GateLaunch::Command { command, env, cwd } => {
            let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
            out.extend([format!("command = [{}]\n", words.join(", "))]);
            out.extend(cwd.iter().map(|cwd| format!("cwd = {}\n", quoted(cwd))));
            let pairs = env.iter();
            let pairs: Vec<String> = pairs
                .map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)))
                .collect();
            if !pairs.is_empty() {
                out.extend([format!("env = {{ {} }}\n", pairs.join(", "))]);
            }
        }
        GateLaunch::Url { url, token } => {
            out.extend([format!("url = {}\n", quoted(url))]);
            out.extend(token.iter().map(|token| {
                format!(
                    "auth = {{ type = \"bearer\", token = {} }}\n",
                    quoted(token)
                )
            }));
        }
    }
    out
}

/// On one line.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            _ if character.is_control() || crate::unseen::misleads(character) => {
                out.extend([format!("\\U{:08X}", u32::from(character))]);
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// Of the client's file, in words of the gate's configuration.
fn not_taken(entry: &Entry, key: &str, errors: &ConfigErrors) -> String {
    let (place, name) = (&entry.place, entry.name());
    let mut text = format!("{place}: the gate cannot have `{name}`");
    for problem in errors.problems() {
        let told = problem.to_string();
        let told = told
            .strip_prefix(&format!("servers.{key}."))
            .unwrap_or(&told);
        text.extend([format!("; {told}")]);
        let help = problem.help().map(|help| format!(" ({help})"));
        text.extend(help);
    }
    printable(&text)
}

/// A variable that has no value here.
fn missing(gate: &GateServer) -> Option<String> {
    gate.variables.iter().find_map(|variable| match variable {
        ServerVariable::Moved { .. } => None,
        ServerVariable::Inherited { name } => env::var_os(name)
            .is_none()
            .then(|| format!("the environment variable `{name}`: set it, or")),
        ServerVariable::Asked { id, .. } => {
            Some(format!("`{id}`, which its client asks the user for:"))
        }
    })
}

/// The gate may run anywhere. A project's servers run in the project, from where this command was started.
fn stay_in_place(gate: &mut GateServer, file: &Path) {
    let GateLaunch::Command { cwd, .. } = &mut gate.launch else {
        return;
    };
    let here = env::current_dir().ok();
    let is_below = |here: &Path| std::path::absolute(file).is_ok_and(|it| it.starts_with(here));
    let here = here.filter(|here| is_below(here));
    let Some(here) = here.as_deref().and_then(Path::to_str) else {
        return;
    };
    match cwd {
        None => *cwd = Some(here.replace("${", "$${")),
        Some(cwd) if Path::new(cwd).is_relative() && !cwd.starts_with("${") => {
            *cwd = format!("{}/{cwd}", here.replace("${", "$${"));
        }
        Some(_) => {}
    }
}

/// Servers are the same if this is.
fn fingerprint(entry: &Entry) -> Vec<String> {
    let mut out = vec![entry.name().to_owned()];
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => format!("t{text}"),
        Piece::Variable(name) => format!("v{name}"),
        Piece::Asked(id) => format!("a{id}"),
        Piece::Unknown(_) => "u".to_owned(),
    };
    let mut add = |name: &str, template: &Template| {
        out.push(format!("/{name}"));
        out.extend(template.pieces.iter().map(piece));
    };
    match &entry.launch {
        Ok(Launch::Command { command, env, cwd }) => {
            for word in command {
                add("word", word);
            }
            for (name, value) in env {
                add(&format!("env {name}"), value);
            }
            if let Some(cwd) = cwd {
                add("cwd", cwd);
            }
        }
        Ok(Launch::Url { url, headers }) => {
            add("url", url);
            for (name, value) in headers {
                add(&format!("header {name}"), value);
            }
        }
        Ok(Launch::Attached { .. }) | Err(_) => out.push("none".to_owned()),
    }
    out
}
