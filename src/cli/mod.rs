//! The subcommands.

pub mod exit;
pub mod launch;
pub mod report;
