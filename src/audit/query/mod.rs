//! Records of a log, and filters over them.

mod filter;
mod record;

pub use filter::{Field, Filter};
pub use record::{LineError, LogRecord, LogText};

#[cfg(test)]
mod tests;
