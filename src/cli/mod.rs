//! The subcommands.

pub mod args;
pub mod exit;
pub mod validate_config;
