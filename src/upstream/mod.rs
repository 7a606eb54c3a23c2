//! Speaks to the protected server.
//!
//! `ChildProcess` runs a server over stdio: it starts it with a clean environment, keeps frames
//! whole in both directions, restarts it with backoff when it dies, and ends it, with everything
//! that it started, when the gate stops or is killed.
//!
//! `http::HttpClient` speaks to a server over Streamable HTTP.

mod backoff;
mod child_process;
mod child_state;
mod command;
mod events;
#[cfg(target_os = "linux")]
pub mod handover;
pub mod http;
mod keeper;
pub mod launcher;
mod network_probe;
pub mod open_files;
mod process;
#[cfg(target_os = "linux")]
mod proxied;
pub mod sandbox;
mod settings;
mod start_error;
mod stderr;

pub use backoff::{Backoff, Delays};
pub use child_process::{ChildProcess, ChildSender, UpstreamFault};
pub use events::{ChildEvents, Event, GiveUp};
pub use network_probe::try_network;
pub use process::Exit;
pub use settings::{DEFAULT_INHERITED, Launcher};
pub use settings::{Settings, StopLadder};
pub use start_error::StartError;
pub use stderr::Concealing;
