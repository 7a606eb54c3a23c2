//! The subcommands.

pub mod args;
pub mod exit;
pub mod launch;
pub mod report;
pub mod validate_config;
