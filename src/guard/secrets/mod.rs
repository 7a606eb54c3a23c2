//! Credentials in text: where they stand, of what kind they are, and the text without them.
//!
//! A text is passed once by an automaton over the keywords of all rules. Only where a keyword
//! stands is its rule tried, and there alone (rules of authors in a window round it): one automaton
//! over all patterns reads a few kilobytes a second, this reads about a hundred megabytes. What may be
//! base64, hexadecimal or percent-encoded is decoded, twice at most, and goes the same way.
//!
//! Nothing is left out to save time. All costs are bounded by the length of the text: what one
//! byte can cost is bounded by the number of rules, the reach of a pattern and the depth of
//! decoding.

mod builtin;
mod compiled;
mod custom;
mod decode;
mod entropy;
mod error;
mod escape;
mod finding;
mod fold;
mod match_parts;
mod members;
mod placeholder;
mod probes;
mod redact;
mod rule;
mod rule_set;
mod rules;
mod scan;
#[cfg(test)]
mod tests;
mod token_names;
mod warnings;

pub use custom::CustomRules;
pub use entropy::is_random;
pub use error::RuleError;
pub use finding::{Encoding, Layer, RuleId, SecretFinding};
pub use members::{SECRET_MEMBERS, SecretMembers};
pub use redact::Redacted;
pub(super) use redact::replaced;
pub use rule::{SecretRule, tenths};
pub use rule_set::SecretRules;
pub use warnings::RuleWarning;
