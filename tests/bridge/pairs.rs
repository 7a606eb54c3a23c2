//! A gate before a server without sessions, for each pair of transports.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::fixtures::fixture;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, Setup};

/// How the agent and the server of a bridge are reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) agent: Transport,
    pub(crate) server: Transport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

pub(crate) const PAIRS: [Pair; 4] = [
    pair(Transport::Stdio, Transport::Stdio),
    pair(Transport::Stdio, Transport::Http),
    pair(Transport::Http, Transport::Stdio),
    pair(Transport::Http, Transport::Http),
];

const fn pair(agent: Transport, server: Transport) -> Pair {
    Pair { agent, server }
}

/// Everything that runs behind the command of an agent.
#[derive(Debug)]
pub(crate) struct Behind {
    /// The gate that the agent starts. Over HTTP it stands before the one with the bridge, and
    /// translates nothing.
    pub(crate) command: Command,
    setup: Setup,
    gate: Option<Serving>,
    _server: Option<Server>,
}

impl Behind {
    /// The gate with the bridge.
    pub(crate) fn setup(&self) -> &Setup {
        self.gate.as_ref().map_or(&self.setup, Serving::setup)
    }
}

impl Pair {
    /// The gate with the bridge judges by these policies.
    pub(crate) fn behind(self, policies: &str) -> Behind {
        self.guarded(|setup| setup.policies(policies))
    }

    /// The gate with the bridge permits what it is told.
    pub(crate) fn guarded(self, permit: impl FnOnce(Setup) -> Setup) -> Behind {
        let (setup, server) = match self.server {
            Transport::Stdio => {
                let server = fixture("everything-server");
                let setup = Setup::of([server.as_str(), "--stateless"]);
                let received = setup.path("received");
                (setup.env("FIXTURE_LOG", received.to_str().unwrap()), None)
            }
            Transport::Http => {
                let server = Server::start("--stateless");
                (Setup::before(&server.url), Some(server))
            }
        };
        let setup = permit(setup);
        match self.agent {
            Transport::Stdio => Behind {
                command: setup.gate(),
                setup,
                gate: None,
                _server: server,
            },
            Transport::Http => {
                let gate = Serving::start(setup.over_http());
                let front = Setup::before(&gate.url).policies(ALLOW_ALL).agentic();
                Behind {
                    command: front.gate(),
                    setup: front,
                    gate: Some(gate),
                    _server: server,
                }
            }
        }
    }
}

/// The fixture over HTTP.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(era: &str) -> Self {
        let mut child = Command::new(fixture("everything-server"))
            .args([era, "--http", "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
            line.split_once("listening on ")
                .map(|(_, url)| url.to_owned())
        });
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let url = url.expect("the server does not listen");
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
