//! Gates one behind the other, so that what is spoken between them is HTTP and what stands at both
//! ends are standard streams: whatever is compared on a pair of standard streams is compared for
//! each pair of transports.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::setup::{ALLOW_ALL, Setup};

/// Which transports a conversation goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// stdio, gate, stdio.
    Stdio,
    /// stdio, gate, HTTP, gate, HTTP, gate, stdio.
    Http,
}

/// A gate that serves agents over HTTP.
#[derive(Debug)]
pub(crate) struct Serving {
    child: Child,
    pub(crate) url: String,
    _setup: Setup,
}

impl Way {
    /// How many gates a conversation goes through.
    pub(crate) fn gates(self) -> usize {
        match self {
            Self::Stdio => 1,
            Self::Http => 3,
        }
    }

    /// The command of the gate that the agent starts, and the gates behind it. The last one is as
    /// `setup` says, the others permit everything.
    pub(crate) fn to(self, setup: Setup) -> (Command, Vec<Serving>, Vec<Setup>) {
        match self {
            Self::Stdio => (setup.gate(), Vec::new(), vec![setup]),
            Self::Http => {
                let last = Serving::start(setup.over_http());
                let middle = Setup::before(&last.url).policies(ALLOW_ALL).over_http();
                let middle = Serving::start(middle);
                let first = Setup::before(&middle.url).policies(ALLOW_ALL);
                (first.gate(), vec![last, middle], vec![first])
            }
        }
    }
}

impl Setup {
    /// A gate in front of a server over HTTP; it permits nothing yet.
    pub(crate) fn before(url: &str) -> Self {
        let mut setup = Self::of::<&str>([]);
        setup.url = Some(url.to_owned());
        setup
    }

    /// Agents come over HTTP, to a port of the system's choice.
    pub(crate) fn over_http(mut self) -> Self {
        "transport = \"http\"\nport = 0".clone_into(&mut self.listen);
        self
    }
}

impl Serving {
    /// Starts a gate and waits until it listens.
    pub(crate) fn start(setup: Setup) -> Self {
        let mut command = setup.gate();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut lines = stderr.lines().map_while(Result::ok);
        let mut said = Vec::new();
        let url = lines.by_ref().find_map(|line| {
            let url = line
                .split_once("listening on ")
                .map(|(_, url)| url.to_owned());
            said.push(line);
            url
        });
        let url = url.unwrap_or_else(|| panic!("the gate does not listen: {said:#?}"));
        // A pipe that nobody empties would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            url,
            _setup: setup,
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
