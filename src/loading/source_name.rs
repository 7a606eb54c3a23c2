//! What reports call a file.

use std::path::{Component, MAIN_SEPARATOR, Path};

/// The path with `/` between its parts, so that a report is the same on every system. One that begins with `\\?\` has
/// another meaning with `/`, and stays as it is.
pub fn source_name(path: &Path) -> String {
    let name = path.to_string_lossy();
    match path.components().next() {
        Some(Component::Prefix(prefix)) if prefix.kind().is_verbatim() => name.into_owned(),
        _ => name.replace(MAIN_SEPARATOR, "/"),
    }
}
