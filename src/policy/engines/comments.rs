//! Where comments stand in the files of the engines.

use std::ops::Range;

#[cfg(feature = "cel")]
use super::cel;
#[cfg(feature = "rego")]
use super::rego;
use super::{cedar, is_cel, is_rego};

/// Where comments stand, from their signs to the ends of their lines. What stands in strings is none.
pub fn comments(file: &str, text: &str) -> Vec<Range<usize>> {
    #[cfg(feature = "cel")]
    if is_cel(file) {
        return cel::comments(text);
    }
    #[cfg(feature = "rego")]
    if is_rego(file) {
        return rego::comments(text);
    }
    if is_cel(file) || is_rego(file) {
        // An engine that is absent refuses the file.
        return Vec::new();
    }
    cedar::comments(text)
}
