//! Gates that serve agents over HTTP.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use crate::support::setup::Setup;

/// A gate that serves agents over HTTP.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) url: String,
    setup: Setup,
    /// What it has written to standard error so far.
    pub(crate) said: Arc<Mutex<String>>,
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
        let command = setup.gate();
        Self::of(setup, command)
    }

    /// The same, started by a command of the caller's choice.
    pub(crate) fn of(setup: Setup, mut command: std::process::Command) -> Self {
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
        let said = Arc::new(Mutex::new(said.join("\n")));
        let more = Arc::clone(&said);
        // A full pipe would stop it.
        std::thread::spawn(move || {
            lines.for_each(|line| {
                let mut said = more.lock().unwrap();
                said.push('\n');
                said.push_str(&line);
            });
        });
        Self {
            child,
            url,
            setup,
            said,
        }
    }
}

impl Serving {
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let said = self.said.lock().unwrap();
            let _ = std::io::stderr().write_all(said.as_bytes());
        }
    }
}
