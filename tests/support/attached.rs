//! Gates whose agents attach. `attach` starts them, and they end after the last agent.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::support::processes::marked;
use crate::support::setup::{GATE, MARK, Setup};

/// A configuration whose agents attach. Whatever runs for it ends with it.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) setup: Setup,
}

impl Attached {
    pub(crate) fn to(mut setup: Setup) -> Self {
        "transport = \"local\"".clone_into(&mut setup.listen);
        setup.arguments();
        Self { setup }
    }

    /// An agent's own process.
    pub(crate) fn command(&self, key: &str) -> Command {
        let mut attach = Command::new(GATE);
        attach.args(["attach", key, "--config"]);
        attach.arg(self.setup.path("gate.toml"));
        attach.env(MARK, self.setup.mark());
        attach
    }

    /// What is there for the gate, such as its socket.
    pub(crate) fn place(&self, ending: &str) -> PathBuf {
        let config = fs::canonicalize(self.setup.path("gate.toml")).unwrap();
        let digest = Sha256::digest(config.to_str().unwrap());
        let name = u128::from_be_bytes(digest[..16].try_into().unwrap());
        let uid = fs::metadata("/proc/self").unwrap().uid();
        let of_user = PathBuf::from(format!("/run/user/{uid}"));
        let directory = match fs::metadata(&of_user) {
            Ok(found) if found.mode() & 0o777 == 0o700 => of_user.join("mcp-protector"),
            _ => PathBuf::from(format!("/tmp/mcp-protector-{uid}")),
        };
        directory.join(format!("{name:032x}.{ending}"))
    }

    /// The processes of gates.
    pub(crate) fn gates(&self) -> Vec<u32> {
        let is_gate = |pid: u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).nth(1) == Some(b"proxy")
        };
        let all = marked(self.setup.mark()).into_iter().map(|(pid, _)| pid);
        all.filter(|pid| is_gate(*pid)).collect()
    }
}

/// Ends a process as a crash would.
pub(crate) fn kill(pid: u32) {
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.unwrap().success());
}

impl Drop for Attached {
    fn drop(&mut self) {
        for pid in self.gates() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
        if std::thread::panicking() {
            let log = fs::read_to_string(self.place("log")).unwrap_or_default();
            let _ = std::io::stderr().write_all(log.as_bytes());
        }
        for ending in ["sock", "log", "gate.lock", "start.lock"] {
            let _ = fs::remove_file(self.place(ending));
        }
    }
}
