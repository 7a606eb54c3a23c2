//! A gate that listens over HTTP and permits everything.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::conformance::names::without_key;
use crate::conformance::peers::Listening;
use crate::support::fixtures::fixture;

pub(crate) const GATE: &str = env!("CARGO_BIN_EXE_mcp-protector");

/// Valid under strict checking as it stands, since it reads no attribute.
const ALLOW_ALL: &str = "@id(\"all\") permit (principal, action, resource);\n";

/// The methods of the extension for skills (SEP-2640). Those of tasks the gate knows by itself.
const METHODS: [&str; 3] = ["skills/list", "skills/get", "resources/directory/read"];

/// The servers that a gate protects, and the endpoint. The suite uses the only server, or the first.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Servers {
    One,
    Two,
    /// One, at the endpoint of all.
    OneUnified,
    /// Two, at the endpoint of both.
    TwoUnified,
}

/// What a gate is told: a file in a directory of its own.
#[derive(Debug)]
pub(crate) struct Configuration(TempDir);

impl Configuration {
    /// `upstream` is the lines of the server's table.
    pub(crate) fn new(servers: Servers, upstream: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name| directory.path().join(name);
        let (policies, audit) = (path("policies"), path("audit.jsonl"));
        fs::create_dir(&policies).unwrap();
        fs::write(policies.join("all.cedar"), ALLOW_ALL).unwrap();
        // Clients of the suite have no identity.
        let agents = "[agents.anonymous]\nagentic = true\n\
                      consent = { standing = true, by = \"tests\", until = \"9000-01-01\" }\n";
        fs::write(policies.join("agents.toml"), agents).unwrap();
        // The suite and its servers are to judge arguments themselves.
        let servers = match servers {
            Servers::One => format!("[upstream]\n{upstream}\n"),
            Servers::Two | Servers::OneUnified | Servers::TwoUnified => {
                let other = fixture("everything-server");
                let other = match servers {
                    Servers::OneUnified => String::new(),
                    Servers::One | Servers::Two | Servers::TwoUnified => {
                        format!("[servers.other]\ncommand = [{other:?}]\n")
                    }
                };
                let unified = match servers {
                    Servers::One | Servers::Two => "",
                    Servers::OneUnified | Servers::TwoUnified => "[unified]\n",
                };
                // Nothing is labelled here, and rules between servers would take it for the worst.
                format!(
                    "[servers.everything]\n{upstream}\n{other}{unified}\
                     [flow]\nflow_in = \"off\"\nflow_context = \"off\"\n"
                )
            }
        };
        let text = format!(
            "{servers}[listen]\ntransport = \"http\"\nport = 0\n\
             [limits]\nmax_sessions = 1000\n[guards]\narguments = \"report\"\n\
             [policy]\ndir = {policies:?}\n[audit]\nfile = {audit:?}\n\
             [extensions]\nmethods = {METHODS:?}\n"
        );
        fs::write(path("gate.toml"), text).unwrap();
        Self(directory)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("gate.toml")
    }
}

#[derive(Debug)]
pub(crate) struct Gate {
    listening: Listening,
    _configuration: Configuration,
}

impl Gate {
    /// In front of a server that listens itself.
    pub(crate) fn before(servers: Servers, url: &str) -> Self {
        Self::start(servers, &format!("url = {url:?}"))
    }

    /// In front of a server that it starts.
    pub(crate) fn starting(servers: Servers, command: &[&str]) -> Self {
        Self::start(servers, &format!("command = {command:?}"))
    }

    /// Of the server that is compared.
    pub(crate) fn url(&self) -> &str {
        &self.listening.url
    }

    fn start(servers: Servers, upstream: &str) -> Self {
        let configuration = Configuration::new(servers, upstream);
        let mut gate = Command::new(GATE);
        gate.args(["proxy", "--config"]).arg(configuration.file());
        let mut listening = Listening::start(gate);
        if let Servers::OneUnified | Servers::TwoUnified = servers {
            let (endpoint, _) = listening.url.rsplit_once('/').unwrap();
            listening.url = without_key(endpoint);
        }
        Self {
            listening,
            _configuration: configuration,
        }
    }
}
