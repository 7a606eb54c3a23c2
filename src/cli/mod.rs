//! The subcommands.

pub mod exit;
