//! The arguments of the hidden subcommand.

use std::ffi::OsString;

use crate::upstream::launcher::Step;
use crate::upstream::sandbox;

/// The arguments of the hidden subcommand.
#[derive(Debug, clap::Args)]
pub struct Launch {
    /// Process id of the parent; another parent means that it is dead.
    #[arg(long)]
    pub(super) parent: i32,
    #[arg(long, value_enum)]
    pub(super) step: Step,
    /// How many files the server may have open, where it is not as many as the gate.
    #[arg(long)]
    pub(super) open_files: Option<u64>,
    #[command(flatten)]
    pub(super) sandbox: sandbox::Arguments,
    /// The server's command line.
    #[arg(last = true, required = true)]
    pub(super) command: Vec<OsString>,
}
