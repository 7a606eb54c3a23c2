//! What was written in `gate.toml`, and what it means.
//!
//! Text becomes a tree with places (`file`), a cursor walks the tree section by section
//! (`section`, `values`), and what each section means stands in `resolve` and `upstream`, one
//! function per section. Nothing is opened but the file itself, and all problems are told at once.

mod command_line;
mod conceal;
mod errors;
mod file;
mod load;
mod reading;
mod resolve;
mod section;
mod settings;
mod suggest;
mod syntax;
mod units;
mod upstream;
mod values;
mod variables;

pub use command_line::CommandLine;
pub use errors::{ConfigError, ConfigErrors, Reason};
pub use settings::{
    Audit, Config, Denial, Durability, Limits, Listen, OnFault, OnRemoval, OtherMethods, Policy,
    Reload, Upstream, Warnings,
};
pub use upstream::INHERITED;
pub use variables::Variables;

#[cfg(test)]
mod tests;
