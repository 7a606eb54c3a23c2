//! The ways from an agent to the server: none between, the floor, proxies that are installed, and gates.

use std::path::Path as FilePath;
use std::process::Command;

use super::gates::{Server, Servers, Setting, Transport};
use super::line_agent::LineAgent;
use super::measure::{Failure, installed};
use super::started::{self, Spent, Started};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Direct,
    Floor,
    /// A proxy that others wrote.
    Peer,
    Gate,
}

#[derive(Debug)]
pub(crate) enum Entry {
    /// Where agents connect.
    Address(String),
    /// The one agent.
    Lines(Box<LineAgent>),
}

#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) entry: Entry,
    pub(crate) proxy: Proxy,
    /// Kept as long as the path.
    _server: Option<Started>,
}

/// What stands between; nothing on the direct path.
#[derive(Debug)]
pub(crate) struct Proxy(Option<Started>);

impl Proxy {
    pub(crate) fn spent(&self) -> Spent {
        self.0.as_ref().map(Started::spent).unwrap_or_default()
    }

    /// KiB in memory.
    pub(crate) fn resident(&self) -> Option<usize> {
        self.0.as_ref().map(Started::resident)
    }

    /// Open descriptors.
    pub(crate) fn descriptors(&self) -> Option<usize> {
        self.0.as_ref().map(Started::descriptors)
    }
}

impl Path {
    /// An HTTP path's address.
    pub(crate) fn address(&self) -> Result<&str, Failure> {
        match &self.entry {
            Entry::Address(address) => Ok(address),
            Entry::Lines(_) => Err("a path over standard streams has no address".into()),
        }
    }

    fn listening(name: &str, kind: Kind, (proxy, address): (Started, String)) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            entry: Entry::Address(address),
            proxy: Proxy(Some(proxy)),
            _server: None,
        }
    }

    fn piped(name: &str, kind: Kind, command: &mut Command) -> Result<Self, Failure> {
        let (proxy, agent) = Started::before_agent(command)?;
        Ok(Self {
            name: name.to_owned(),
            kind,
            entry: Entry::Lines(Box::new(agent)),
            proxy: Proxy(Some(proxy)),
            _server: None,
        })
    }

    /// The server alone, spoken to by the agent's transport.
    pub(crate) fn direct(agent: Transport, web: &WebServer) -> Result<Self, Failure> {
        match agent {
            Transport::Http => Ok(Self {
                name: "direct".to_owned(),
                kind: Kind::Direct,
                entry: Entry::Address(web.address.clone()),
                proxy: Proxy(None),
                _server: None,
            }),
            Transport::Stdio => {
                let mut command = Command::new(std::env::current_exe()?);
                let (server, agent) = Started::before_agent(command.arg("serve-lines"))?;
                Ok(Self {
                    name: "direct".to_owned(),
                    kind: Kind::Direct,
                    entry: Entry::Lines(Box::new(agent)),
                    proxy: Proxy(None),
                    _server: Some(server),
                })
            }
        }
    }

    pub(crate) fn floor(agent: Transport, server: &Server) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("floor");
        let target = match server {
            Server::Started => None,
            Server::Listening(address) => Some(address),
        };
        match agent {
            Transport::Http => {
                let started = Started::saying_where(command.arg("http").args(target))?;
                Ok(Self::listening("floor", Kind::Floor, started))
            }
            Transport::Stdio => {
                Self::piped("floor", Kind::Floor, command.arg("stdio").args(target))
            }
        }
    }

    pub(crate) fn gate(
        scratch: &FilePath,
        agent: Transport,
        server: &Server,
        setting: Setting,
    ) -> Result<Self, Failure> {
        let mut command = setting.command(scratch, agent, server)?;
        let name = setting.name();
        match agent {
            Transport::Http => {
                let (started, first) = Started::logging_where(&mut command)?;
                let address = match setting.servers {
                    Servers::One | Servers::Several(_) => first,
                    // The gate says where the first server is.
                    Servers::Unified(_) => first.trim_end_matches("/s0").to_owned(),
                };
                Ok(Self::listening(&name, Kind::Gate, (started, address)))
            }
            Transport::Stdio => Self::piped(&name, Kind::Gate, &mut command),
        }
    }
}

/// The server over HTTP, which all paths to it share.
#[derive(Debug)]
pub(crate) struct WebServer {
    _started: Started,
    pub(crate) address: String,
}

impl WebServer {
    /// Of this revision, with so many tools.
    pub(crate) fn start(revision: &str, tools: usize) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve-http", revision, &tools.to_string()]);
        let (started, address) = Started::saying_where(&mut command)?;
        Ok(Self {
            _started: started,
            address,
        })
    }

    pub(crate) fn plain() -> Result<Self, Failure> {
        Self::start("2025-11-25", 1)
    }

    pub(crate) fn server(&self) -> Server {
        Server::Listening(self.address.clone())
    }
}

/// All ways between these transports that this machine has.
pub(crate) fn all(
    scratch: &FilePath,
    agent: Transport,
    server: Transport,
    web: &WebServer,
    gates: &[Setting],
) -> Result<Vec<Path>, Failure> {
    let target = match server {
        Transport::Stdio => Server::Started,
        Transport::Http => web.server(),
    };
    let mut paths = vec![Path::direct(agent, web)?, Path::floor(agent, &target)?];
    match (agent, server) {
        (Transport::Http, Transport::Http) => paths.extend(web_peers(scratch, web)?),
        (Transport::Stdio, Transport::Stdio) => paths.extend(pipes()?),
        (Transport::Http, Transport::Stdio) | (Transport::Stdio, Transport::Http) => {}
    }
    for setting in gates {
        paths.push(Path::gate(scratch, agent, &target, *setting)?);
    }
    Ok(paths)
}

fn web_peers(scratch: &FilePath, web: &WebServer) -> Result<Vec<Path>, Failure> {
    let mut paths = Vec::new();
    if installed("haproxy") {
        let started = started::haproxy(scratch, &web.address)?;
        paths.push(Path::listening("haproxy", Kind::Peer, started));
    }
    if installed("nginx") {
        let started = started::nginx(scratch, &web.address)?;
        paths.push(Path::listening("nginx", Kind::Peer, started));
    }
    Ok(paths)
}

fn pipes() -> Result<Vec<Path>, Failure> {
    let this = std::env::current_exe()?;
    let this = this.display();
    let mut paths = Vec::new();
    if installed("cat") {
        let script = format!("cat | '{this}' serve-lines | cat");
        let mut command = Command::new("sh");
        paths.push(Path::piped(
            "cat",
            Kind::Peer,
            command.args(["-c", &script]),
        )?);
    }
    if installed("socat") {
        let server = format!("EXEC:'{this}' serve-lines");
        let mut command = Command::new("socat");
        paths.push(Path::piped(
            "socat",
            Kind::Peer,
            command.args(["-", &server]),
        )?);
    }
    Ok(paths)
}
