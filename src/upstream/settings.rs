//! What to run, and how.

use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use crate::egress;
use crate::memory::Memory;

use super::backoff::Backoff;
use super::sandbox::Sandbox;
use super::stderr::Concealing;

/// Variables that a server gets from our own environment unless the configuration says otherwise.
///
/// The list of the official SDKs (`DEFAULT_INHERITED_ENV_VARS` in Python and TypeScript), and what a
/// program needs to find its language, its time zone and a place for temporary files. Nothing that
/// makes a loader, an interpreter or a shell run other code (`LD_PRELOAD`, `NODE_OPTIONS`,
/// `PYTHONPATH`, `BASH_ENV`), and no credentials.
#[cfg(not(windows))]
pub const DEFAULT_INHERITED: &[&str] = &[
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
];

/// Variables that a server gets from our own environment unless the configuration says otherwise.
///
/// The list of the official SDKs (`DEFAULT_INHERITED_ENV_VARS` in Python and TypeScript).
#[cfg(windows)]
pub const DEFAULT_INHERITED: &[&str] = &[
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// What stands between the gate and the server, so that nothing survives a killed gate.
///
/// Only used on Linux; elsewhere the server is always started directly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launcher {
    /// This very program, which must hand its `launch` subcommand to [`crate::cli::launch`].
    Own,
    /// Another program with that subcommand.
    Program(PathBuf),
    /// None: a gate that is killed by force leaves its server to notice the closed stdin.
    Absent,
}

#[cfg(target_os = "linux")]
impl Launcher {
    /// The program, if there is one.
    pub(super) fn program(&self) -> Option<&Path> {
        match self {
            // Names the running program even after its file was replaced by an update.
            Self::Own => Some(Path::new("/proc/self/exe")),
            Self::Program(path) => Some(path),
            Self::Absent => None,
        }
    }
}

/// What to run, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's name, as a label in logs.
    pub name: String,
    /// Program and arguments, passed on literally; there is no shell. A program without `/` is
    /// looked up in the server's own `PATH`, one with `/` from `cwd`.
    pub command: Vec<String>,
    /// Variables of the server, beside the inherited ones and before them.
    pub env: BTreeMap<String, SecretString>,
    /// What is not logged when the server writes it to its stderr.
    pub secrets: Vec<SecretString>,
    /// What else is done to what it writes there.
    pub concealing: Concealing,
    /// Names of variables that are taken from our own environment if they are there.
    pub inherit: Vec<String>,
    /// Where the server runs; by default where the gate runs.
    pub cwd: Option<PathBuf>,
    /// The directory of its session, in which it runs in place of `cwd`. Its program is not looked up there:
    /// who may write there must not choose what is started.
    pub own_directory: Option<PathBuf>,
    /// Longer lines from the server are reported as [`super::Event::Unread`].
    pub max_message_bytes: usize,
    /// How many bytes may wait for a server that does not read; a single longer line may as well.
    pub queue_bytes: usize,
    pub backoff: Backoff,
    pub stop: StopLadder,
    pub launcher: Launcher,
    /// What the server may reach of this machine; everything that we may if absent. Takes a launcher.
    pub sandbox: Option<Sandbox>,
    /// What is connected to for it, where its network is proxied.
    pub egress: egress::Settings,
    /// What lines of the server are kept in until they are complete.
    pub memory: Memory,
}

impl Settings {
    /// Defaults for everything but the name and the command.
    pub fn new(name: impl Into<String>, command: Vec<String>) -> Self {
        Self {
            name: name.into(),
            command,
            env: BTreeMap::new(),
            secrets: Vec::new(),
            concealing: Concealing::default(),
            inherit: DEFAULT_INHERITED.iter().map(ToString::to_string).collect(),
            cwd: None,
            own_directory: None,
            max_message_bytes: 16 * 1024 * 1024,
            queue_bytes: 1024 * 1024,
            backoff: Backoff::default(),
            stop: StopLadder::default(),
            launcher: Launcher::Own,
            sandbox: None,
            egress: egress::Settings::default(),
            memory: Memory::default(),
        }
    }

    /// The same within this memory.
    #[must_use]
    pub fn within(mut self, memory: &Memory) -> Self {
        self.memory = memory.clone();
        self
    }
}

/// How long the server may take over each step of its end; killing takes up to three seconds more,
/// but only where the operating system is slow to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopLadder {
    /// From closing its stdin to SIGTERM.
    pub after_close: Duration,
    /// From SIGTERM to SIGKILL.
    pub after_terminate: Duration,
}

impl Default for StopLadder {
    fn default() -> Self {
        Self {
            after_close: Duration::from_secs(2),
            after_terminate: Duration::from_secs(2),
        }
    }
}
