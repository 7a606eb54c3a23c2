//! Gates one behind the other, so that what is spoken between them is HTTP and what stands at both
//! ends are standard streams: whatever is compared on a pair of standard streams is compared for
//! each pair of transports.

use std::process::Command;

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
}

impl Way {
    /// How many gates a conversation goes through.
    pub(crate) fn gates(self) -> usize {
        match self {
            Self::Stdio => 1,
            Self::Http | Self::Routed => 3,
        }
    }

    /// The command of the gate that the agent starts, and the gates behind it. The last one is as
    /// `setup` says, the others permit everything.
    pub(crate) fn to(self, setup: Setup) -> (Command, Vec<Serving>, Vec<Setup>) {
        match self {
            Self::Stdio => (setup.gate(), Vec::new(), vec![setup]),
            Self::Http | Self::Routed => {
                let mut setup = match self {
                    Self::Routed => setup.among_others(),
                    Self::Stdio | Self::Http => setup,
                };
                // What gates ask for themselves is no part of what is compared.
                setup.trial = Some(false);
                let last = Serving::start(setup.over_http());
                let middle = Serving::start(open(&last.url).over_http());
                let first = open(&middle.url);
                (first.gate(), vec![last, middle], vec![first])
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
