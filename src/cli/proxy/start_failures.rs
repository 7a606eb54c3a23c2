//! Failures to start: the line of the log, and the exit.

use std::fmt;

use tracing::error;

use super::super::exit::Exit;

pub(super) fn invalid(cause: &dyn fmt::Display) -> Exit {
    error!("{cause}");
    Exit::Invalid
}

pub(super) fn broken(what: &str, cause: &dyn fmt::Display) -> Exit {
    error!("{what}: {cause}");
    Exit::Unrecoverable
}
