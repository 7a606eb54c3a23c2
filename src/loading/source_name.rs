//! What reports call a file.

use std::path::{MAIN_SEPARATOR, Path};

/// The path with `/` between its parts, so that a report is the same on every system.
pub fn source_name(path: &Path) -> String {
    path.to_string_lossy().replace(MAIN_SEPARATOR, "/")
}
