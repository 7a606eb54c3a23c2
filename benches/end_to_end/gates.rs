//! Gates: their configurations, and how they are started.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::measure::Failure;

/// The transport between two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

impl Transport {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "HTTP",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policies {
    /// `policy.allow`.
    Allowlist,
    /// One permit, and forbids with conditions on arguments; so many in all.
    Cedar(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audit {
    /// No file of records.
    Off,
    Async,
    Strict,
}

/// The servers of a gate that agents reach over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Servers {
    /// `[upstream]`.
    One,
    /// So many `[servers]`; agents use the first.
    Several(usize),
    /// So many at one endpoint; agents call a tool of the first.
    Unified(usize),
}

/// What distinguishes gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) policies: Policies,
    pub(crate) audit: Audit,
    /// Threads that handle messages over HTTP; without a number, one for each processor.
    pub(crate) workers: Option<usize>,
    pub(crate) servers: Servers,
}

impl Setting {
    /// The plain gate: an allowlist, and records in a file.
    pub(crate) const PLAIN: Self = Self {
        policies: Policies::Allowlist,
        audit: Audit::Async,
        workers: None,
        servers: Servers::One,
    };

    pub(crate) fn audited(self, audit: Audit) -> Self {
        Self { audit, ..self }
    }

    pub(crate) fn judging(self, policies: Policies) -> Self {
        Self { policies, ..self }
    }

    pub(crate) fn before(self, servers: usize) -> Self {
        let servers = Servers::Several(servers);
        Self { servers, ..self }
    }

    pub(crate) fn unifying(self, servers: usize) -> Self {
        let servers = Servers::Unified(servers);
        Self { servers, ..self }
    }

    pub(crate) fn on(self, workers: usize) -> Self {
        Self {
            workers: Some(workers),
            ..self
        }
    }

    pub(crate) fn name(self) -> String {
        let policies = match self.policies {
            Policies::Allowlist => String::new(),
            Policies::Cedar(1) => ", 1 policy".to_owned(),
            Policies::Cedar(count) => format!(", {count} policies"),
        };
        let audit = match self.audit {
            Audit::Off => ", no audit file",
            Audit::Async => "",
            Audit::Strict => ", strict audit",
        };
        let workers = match self.workers {
            None => String::new(),
            Some(1) => ", 1 worker".to_owned(),
            Some(count) => format!(", {count} workers"),
        };
        let servers = match self.servers {
            Servers::One => String::new(),
            Servers::Several(count) => format!(", one of {count} servers"),
            Servers::Unified(count) => format!(", {count} servers in one"),
        };
        format!("gate{policies}{audit}{workers}{servers}")
    }

    /// The command that starts such a gate between an agent and this server.
    pub(crate) fn command(
        self,
        scratch: &Path,
        agent: Transport,
        server: &Server,
    ) -> Result<Command, Failure> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let home = scratch.join(format!("gate-{}", STARTED.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&home)?;
        let reached = server.upstream()?;
        let sections = match self.servers {
            Servers::One => vec!["upstream".to_owned()],
            Servers::Several(count) | Servers::Unified(count) => {
                (0..count).map(|it| format!("servers.s{it}")).collect()
            }
        };
        let mut text = String::new();
        if let Servers::Several(_) = self.servers {
            std::fs::create_dir(home.join("servers.d"))?;
            text.push_str("servers_dir = \"servers.d\"\n");
        }
        for section in sections {
            writeln!(text, "[{section}]\n{reached}")?;
        }
        if self.servers != Servers::One {
            // Otherwise the second call of a session needs a person's consent: no tool here has labels.
            text.push_str("[flow]\nflow_in = \"off\"\n");
        }
        if let Servers::Unified(_) = self.servers {
            // Agents call it by the same name everywhere.
            text.push_str("[unified]\naliases = { echo = \"s0__echo\" }\n");
        }
        text.push_str("[listen]\n");
        match agent {
            Transport::Stdio => text.push_str("transport = \"stdio\"\n[limits]\n"),
            Transport::Http => text.push_str(
                "transport = \"http\"\nport = 0\n[limits]\nmax_sessions = 4096\nmax_connections = 8192\nsession_idle_timeout = \"24h\"\n",
            ),
        }
        text.push_str("max_in_flight = 1024\nmax_memory = \"4GiB\"\n[policy]\n");
        match self.policies {
            Policies::Allowlist => text.push_str(match self.servers {
                Servers::One => "allow = [\"echo\"]\n",
                Servers::Several(_) | Servers::Unified(_) => "allow = [\"s0/echo\"]\n",
            }),
            Policies::Cedar(count) => {
                std::fs::create_dir(home.join("policies"))?;
                std::fs::write(home.join("policies/all.cedar"), cedar(count))?;
                text.push_str("dir = \"policies\"\n");
            }
        }
        match self.audit {
            Audit::Off => {}
            Audit::Async => text.push_str("[audit]\nfile = \"audit.jsonl\"\n"),
            Audit::Strict => {
                text.push_str("[audit]\nfile = \"audit.jsonl\"\ndurability = \"strict\"\n");
            }
        }
        let file = home.join("gate.toml");
        std::fs::write(&file, text)?;
        let mut command = Command::new(PathBuf::from(env!("CARGO_BIN_EXE_gate")));
        command.args(["proxy", "--config"]).arg(&file);
        if let Some(workers) = self.workers {
            // No key of the configuration says it; the runtime reads this variable.
            command.env("TOKIO_WORKER_THREADS", workers.to_string());
        }
        Ok(command)
    }
}

/// What a proxy stands before.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    /// It starts a process for each session.
    Started,
    /// It listens there.
    Listening(String),
}

impl Server {
    fn upstream(&self) -> Result<String, Failure> {
        match self {
            Self::Started => {
                let this = std::env::current_exe()?;
                let this = this.display().to_string();
                Ok(format!("command = [{this:?}, \"serve-lines\"]"))
            }
            Self::Listening(address) => Ok(format!("url = \"http://{address}/mcp\"")),
        }
    }
}

/// One permit, and forbids with conditions on arguments.
fn cedar(count: usize) -> String {
    let mut text = "@id(\"all\") permit(principal, action, resource);\n".to_owned();
    for number in 1..count {
        // To write to a `String` cannot fail.
        let _ = writeln!(
            text,
            "@id(\"no-{number}\") forbid(principal, action == Mcp::Action::\"call_tool\", resource) when {{ context.raw_arguments.hasTag(\"/text\") && context.raw_arguments.getTag(\"/text\") has string && context.raw_arguments.getTag(\"/text\").string like \"*secret{number}*\" }};"
        );
    }
    text
}
