//! Gates one behind the other, so that what is spoken between them is HTTP and what stands at both
//! ends are standard streams: whatever is compared on a pair of standard streams is compared for
//! each pair of transports.

use std::process::Command;

use crate::support::attached::Attached;
use crate::support::serving::Serving;
use crate::support::setup::{ALLOW_ALL, READING, Setup};

/// Which transports a conversation goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// stdio, gate, stdio.
    Stdio,
    /// stdio, gate, HTTP, gate, HTTP, gate, stdio.
    Http,
    /// The same, and the last gate protects several servers.
    Routed,
    /// stdio, `attach`, a local socket, one gate for several servers, stdio.
    Attached,
}

/// What stands between an agent and the server.
#[derive(Debug)]
pub(crate) struct Chain {
    /// What the agent starts.
    pub(crate) first: Command,
    /// The gates that serve over HTTP.
    pub(crate) behind: Vec<Serving>,
    /// What has to last as long: the directory of the first gate.
    _setup: Option<Setup>,
    /// The gate that `attach` starts.
    _attached: Option<Attached>,
}

impl Way {
    /// How many gates a conversation goes through.
    pub(crate) fn gates(self) -> usize {
        match self {
            Self::Stdio | Self::Attached => 1,
            Self::Http | Self::Routed => 3,
        }
    }

    /// Whether what belongs to no request may come in another order, and cancellations have no message of their own.
    pub(crate) fn is_over_http(self) -> bool {
        matches!(self, Self::Http | Self::Routed)
    }

    /// What the agent starts, and the gates behind it. The last one is as `setup` says, the others permit everything.
    pub(crate) fn to(self, mut setup: Setup) -> Chain {
        if matches!(self, Self::Routed | Self::Attached) {
            setup = setup.among_others();
        }
        if self != Self::Stdio {
            // What gates ask for themselves is no part of what is compared.
            setup.trial = Some(false);
        }
        match self {
            Self::Stdio => Chain {
                first: setup.gate(),
                behind: Vec::new(),
                _setup: Some(setup),
                _attached: None,
            },
            Self::Http | Self::Routed => {
                let last = Serving::start(setup.over_http());
                let middle = Serving::start(open(&last.url).over_http());
                let first = open(&middle.url);
                Chain {
                    first: first.gate(),
                    behind: vec![last, middle],
                    _setup: Some(first),
                    _attached: None,
                }
            }
            Self::Attached => {
                let key = setup.key.unwrap_or_default();
                let attached = Attached::to(setup);
                Chain {
                    first: attached.command(key),
                    behind: Vec::new(),
                    _setup: None,
                    _attached: Some(attached),
                }
            }
        }
    }
}

/// A gate that lets everything pass, whatever it names.
fn open(url: &str) -> Setup {
    let mut setup = Setup::before(url)
        .policies(ALLOW_ALL)
        .agentic()
        .labels(READING);
    setup.guards.push_str("uris = \"off\"\n");
    setup.trial = Some(false);
    setup
}
