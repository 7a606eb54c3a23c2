//! The subcommands.

pub mod approvals;
pub mod args;
mod atomic_write;
pub mod audit;
pub mod check;
#[cfg(feature = "demo")]
pub mod demo;
pub mod diagnostics;
pub mod exit;
pub mod explain;
pub mod launch;
pub mod memory;
pub mod proxy;
pub mod report;
mod suggest;
pub mod test_policy;
pub mod tools;
mod unmet_requirements;
pub mod validate_config;

use std::io;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::config::Config;
use crate::loading;
use crate::policy::PolicyErrors;
use crate::upstream::launcher;

use args::{Cli, Command};
use diagnostics::Diagnostics;
use exit::Exit;

/// Does what was asked for.
///
/// `allocated` says how many bytes this process has allocated.
pub fn run(typed: Cli, allocated: fn() -> usize) -> Exit {
    match typed.command {
        Command::Proxy(args) => proxy::run(args, allocated),
        Command::ValidateConfig(args) => {
            validate_config::run(&args, policies, &mut io::stdout(), &mut io::stderr())
        }
        Command::Check(args) => check::run(&args, &mut io::stdout(), &mut io::stderr()),
        Command::Policy(args) => check::run_policy(&args, &mut io::stdout(), &mut io::stderr()),
        Command::TestPolicy(args) => test_policy::run(&args, &mut io::stdout()),
        Command::Explain(args) => explain::run(&args, &mut io::stdin(), &mut io::stdout()),
        Command::Tools(args) => tools::run(&args, &mut io::stdout(), &mut io::stderr()),
        Command::Approvals(args) => approvals::run(&args, &mut io::stdout(), &mut io::stderr()),
        Command::Audit(args) => audit::run(&args, &mut io::stdout(), &mut io::stderr()),
        #[cfg(feature = "demo")]
        Command::Demo(args) => demo::run(&args, &mut io::stdout()),
        #[cfg(feature = "demo")]
        Command::DemoServer(args) => demo::server::run(&args),
    }
}

/// Loads what a configuration names as `proxy` does, and puts nothing in force.
fn policies(config: &Config) -> Result<validate_config::PolicyValidation, PolicyErrors> {
    let mut loaded = loading::load(&proxy::policy_settings(&config.policy))?;
    let missing = unmet_requirements::PolicyRequirements::by(config).missing_in(&loaded.snapshot);
    loaded.notices.extend(missing);
    Ok(validate_config::PolicyValidation {
        revision: loaded.snapshot.revision().as_str().to_owned(),
        exposed: loaded.surfaces.to_string(),
        notices: loaded.notices,
        roots: loaded.snapshot.labels().roots.clone(),
    })
}

/// The reader of standard output may have read enough, like `head`; that is no failure.
fn heard(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Ok(()) | Err(_) => written,
    }
}

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
