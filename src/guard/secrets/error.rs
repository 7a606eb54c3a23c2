//! Why a rule is none.

use thiserror::Error;

/// A rule that cannot be used. `rule` says which, as its author named it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleError {
    #[error("the rule id `{rule}` is not of 1 to 64 lower-case letters, digits and hyphens")]
    Id { rule: String },
    #[error("the rule id `{rule}` is there already")]
    Repeated { rule: String },
    #[error("the rule `{rule}` has no keyword")]
    NoKeyword { rule: String },
    #[error("the rule `{rule}` has {count} keywords, more than {most}")]
    Keywords {
        rule: String,
        count: usize,
        most: usize,
    },
    #[error("the keyword `{keyword}` of the rule `{rule}` is not of {least} to {most} bytes")]
    Keyword {
        rule: String,
        keyword: String,
        least: usize,
        most: usize,
    },
    #[error("the pattern of the rule `{rule}` is not valid: {message}")]
    Pattern { rule: String, message: String },
    #[error("the pattern of the rule `{rule}` is too large")]
    TooLarge { rule: String },
    #[error("the pattern of the rule `{rule}` matches nothing at all as well")]
    Empty { rule: String },
    #[error("there are {count} rules, more than {most}")]
    TooMany { count: usize, most: usize },
}
