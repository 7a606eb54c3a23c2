//! Where comments stand in the files of the engines.

use std::ops::Range;

use super::{cedar, cel, rego};

/// Where comments stand, from their signs to the ends of their lines. What stands in strings is none.
pub fn comments(file: &str, text: &str) -> Vec<Range<usize>> {
    if cel::is_file(file) {
        cel::comments(text)
    } else if rego::is_file(file) {
        rego::comments(text)
    } else {
        cedar::comments(text)
    }
}
