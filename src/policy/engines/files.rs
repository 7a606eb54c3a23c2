//! Which engine a file is for.

use std::path::Path;

/// Whether a file of this name contains rules in Rego.
pub fn is_rego(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "rego")
}

/// Whether a file of this name contains rules in CEL.
pub fn is_cel(name: &str) -> bool {
    name.ends_with(".cel.toml")
}

/// Whether a file contains rules in Rego or CEL, which are judged as a whole.
pub fn is_rego_or_cel(name: &str) -> bool {
    is_rego(name) || is_cel(name)
}
