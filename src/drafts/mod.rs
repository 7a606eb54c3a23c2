//! Drafts of policy from what an audit log has seen.
//!
//! What was allowed is observed (`observation`), what arguments have in common is found (`narrowing`), and files
//! of a policy directory are written from it (`policies`, `labels`, `tests_file`), for a person to review.

mod draft;
mod labels;
mod narrowing;
mod observation;
mod policies;
mod quote;
mod tests_file;
mod tool_draft;

#[cfg(test)]
mod tests;

pub use draft::Draft;
pub use observation::Observations;
