//! What a server that the gate starts may reach of this machine, enforced by the kernel.
//!
//! The launcher's executor confines itself just before it becomes the server ([`confine`]); whatever
//! the server starts is confined as well and cannot undo it. Files, signals, abstract sockets and TCP
//! ports are Landlock's; which kinds of sockets there are at all is a seccomp filter's, because
//! Landlock knows neither UDP nor sockets in the file system (before its ABI 9 and 10), nor MPTCP and
//! SCTP at all. So are the calls by which processes reach each other without any file.

mod arguments;
#[cfg(all(target_os = "linux", feature = "sandbox"))]
mod call_rules;
#[cfg(all(target_os = "linux", feature = "sandbox"))]
mod calls;
#[cfg(all(target_os = "linux", feature = "sandbox"))]
mod kernel;
#[cfg(all(target_os = "linux", feature = "sandbox"))]
mod network_namespace;
#[cfg(all(target_os = "linux", feature = "sandbox"))]
mod others;
#[cfg(all(target_os = "linux", feature = "sandbox"))]
mod sockets;
#[cfg(all(target_os = "linux", feature = "sandbox"))]
mod system;

use std::path::PathBuf;

pub use arguments::Arguments;
#[cfg(all(target_os = "linux", feature = "sandbox"))]
pub use kernel::{check, confine};
#[cfg(all(target_os = "linux", feature = "sandbox"))]
pub use network_namespace::enter;

/// What a server may reach; whatever is not named here it may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    pub places: Vec<Place>,
    pub system: SystemFiles,
    pub network: Network,
    pub local_sockets: LocalSockets,
    pub strength: Strength,
}

/// A file, or a directory with all that is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Who named it, as errors say it: `upstream.sandbox.read[1]`.
    pub setting: String,
    pub access: Access,
    /// What it leads to when the server is started counts, not what its links are changed to later.
    pub path: PathBuf,
}

/// What may be done with what is at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Access {
    Read,
    /// Reads as well, but executes nothing: what a server downloads does not become a program.
    Write,
    /// Reads as well.
    Execute,
}

/// Whether programs find what every program needs: libraries, certificates, time zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemFiles {
    Granted,
    Withheld,
}

/// Whom the server may reach over a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// Nobody, not even on this machine: it has no sockets of a network.
    Absent,
    /// TCP connections to these ports, of any address; UDP, without which names are not resolved.
    /// It listens nowhere.
    Ports(Vec<u16>),
    /// The egress proxy alone, in a network namespace of its own in which there is nothing else.
    Proxied,
    Full,
}

/// Sockets between processes of this machine: databases, agents for keys, buses, and the daemons that
/// start programs for whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalSockets {
    /// Those between a process and its children are left.
    Withheld,
    Granted,
}

/// What happens where the kernel cannot do all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// The server is not started.
    Required,
    /// It is confined as far as possible, and the log tells.
    BestEffort,
}

/// Why this program has no sandbox.
pub const ABSENT: &str = if cfg!(target_os = "linux") {
    "this program was built without the cargo feature `sandbox`"
} else {
    "only Linux can confine a server"
};

/// Why a server cannot be confined as it has to be. Trying again would not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    #[error("`{setting}`: `{path}` {cause}")]
    Place {
        setting: String,
        path: String,
        cause: String,
    },
    /// What the kernel is short of.
    #[error("`upstream.sandbox`: {0}")]
    Kernel(String),
    /// Why its network cannot be proxied, which no setting makes less of.
    #[error("`upstream.sandbox.network`: {0}")]
    Network(String),
    /// Another platform than Linux, or a program without the cargo feature `sandbox`.
    #[error("`upstream.sandbox`: {ABSENT}")]
    Absent,
    /// Nobody stands between the gate and the server.
    #[error("`upstream.sandbox`: a server that is started without the launcher cannot be confined")]
    NoLauncher,
}

/// Everything that would keep a server from being confined as it has to be, as far as that is seen
/// without doing it. Where less is enough ([`Strength::BestEffort`]), what is short is in the answer.
///
/// # Errors
/// All problems at once; never empty.
#[cfg(not(all(target_os = "linux", feature = "sandbox")))]
pub fn check(_sandbox: &Sandbox) -> Result<Option<String>, Vec<SandboxError>> {
    Err(vec![SandboxError::Absent])
}

/// Confines the process that calls it.
///
/// # Errors
/// Always: this program cannot.
#[cfg(all(target_os = "linux", not(feature = "sandbox")))]
pub fn confine(_sandbox: &Sandbox) -> Result<Option<String>, SandboxError> {
    Err(SandboxError::Absent)
}

/// Enters an empty network.
///
/// # Errors
/// Always: this program cannot.
#[cfg(all(target_os = "linux", not(feature = "sandbox")))]
pub fn enter() -> std::io::Result<std::net::TcpListener> {
    Err(std::io::Error::other(ABSENT))
}

impl Sandbox {
    /// The same with every file that the user has.
    #[must_use]
    pub fn with_all_files(mut self) -> Self {
        let everywhere = |access| Place {
            setting: "upstream.sandbox".to_owned(),
            access,
            path: "/".into(),
        };
        let all = [Access::Write, Access::Execute].map(everywhere);
        self.places.extend(all);
        self
    }
}

impl Default for Sandbox {
    /// A server that finds its libraries and nothing else.
    fn default() -> Self {
        Self {
            places: Vec::new(),
            system: SystemFiles::Granted,
            network: Network::Absent,
            local_sockets: LocalSockets::Withheld,
            strength: Strength::Required,
        }
    }
}
