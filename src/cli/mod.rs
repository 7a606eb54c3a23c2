//! The subcommands.

mod admin_api;
pub mod agents;
pub mod approvals;
pub mod args;
mod atomic_write;
pub mod attach;
pub mod audit;
pub mod check;
mod commands;
#[cfg(feature = "demo")]
pub mod demo;
pub mod diagnostics;
pub mod exit;
pub mod explain;
mod init;
pub mod launch;
pub mod memory;
pub mod proxy;
pub mod report;
mod servers;
mod suggest;
pub mod test_policy;
pub mod tools;
mod unmet_requirements;
pub mod validate_config;

use std::io;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::upstream::launcher;

pub use commands::run;

use args::{Cli, Command};
use diagnostics::Diagnostics;

/// The hidden subcommand with which the gate starts its upstream, if this is one.
pub fn launch_request() -> Option<launch::Launch> {
    #[derive(Parser)]
    struct HiddenArgs {
        #[command(flatten)]
        launch: launch::Launch,
    }
    let mut arguments = std::env::args_os().skip(1).peekable();
    arguments
        .peek()
        .filter(|name| *name == launcher::SUBCOMMAND)?;
    HiddenArgs::try_parse_from(arguments)
        .ok()
        .map(|hidden| hidden.launch)
}

/// Diagnostics go to stderr, filtered by `RUST_LOG`; stdout belongs to the protocol. What gates say that only
/// rehearse is nothing that happened: it is available on request.
pub fn log_to_stderr(typed: Option<&Cli>) -> Option<Diagnostics> {
    let rehearses = matches!(
        typed.map(|cli| &cli.command),
        Some(Command::TestPolicy(_) | Command::Explain(_))
    );
    let usual = if rehearses { "error" } else { "info" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(usual));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let terminal = io::IsTerminal::is_terminal(&io::stderr());
    let diagnostics = Diagnostics::start().ok()?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(diagnostics.clone())
        .with_ansi(terminal && !plain)
        .with_target(false)
        // It would use `eprintln!` on a closed stderr, and panic.
        .log_internal_errors(false)
        .init();
    Some(diagnostics)
}
