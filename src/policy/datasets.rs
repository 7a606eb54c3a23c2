//! Names of private data sets.
//!
//! A session's list of them is not cut, since a policy that forbids one must find it: so all that can add
//! a name is bounded. Files of labels have at most [`MOST_DATASETS`] names, and what a server names
//! beyond that number is rejected.

/// Stands for an unknown data set. No label and no server gives this name.
pub const UNKNOWN_DATASET: &str = "?";

/// Data sets of a session that servers may add to, and of all labels.
pub const MOST_DATASETS: usize = 128;

/// The form of a name, for error messages.
pub const DATASET_NAMES: &str =
    "up to 64 ASCII letters, digits, `.`, `-` and `_`, of which the first is a letter or digit";

/// The bytes of a name.
const MAX_NAME: usize = 64;

/// Whether a text is the name of a data set: one that looks the same to every reader, and can close no
/// quotation.
pub fn is_dataset(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        let check = |name: &str, expected: bool| assert_eq!(is_dataset(name), expected, "{name}");
        check("payroll", true);
        check("2026.hr_old-1", true);
        check(&"a".repeat(MAX_NAME), true);
        check(&"a".repeat(MAX_NAME + 1), false);
        check("", false);
        check(UNKNOWN_DATASET, false);
        check("-payroll", false);
        check("pay roll", false);
        check("pay\nroll", false);
        check("pay\"roll", false);
        check("p\u{430}yroll", false);
    }
}
