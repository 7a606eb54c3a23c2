//! The subcommands.

pub mod launch;
