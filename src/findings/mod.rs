//! What is wrong with an author's files, in the formats in which programs take it.
//!
//! People read diagnostics as they are. A code host or an editor takes findings: a rule, a level, a
//! sentence and a place. Each format is one file here, and escapes what it must.

mod finding;
mod github;
mod gitlab;
mod place;
mod printable;
mod sarif;

pub use finding::{Finding, FindingLevel};
pub use github::github;
pub use gitlab::gitlab;
pub use place::{FileSpan, relative};
pub use printable::{escape_json, json, printable, visible};
pub use sarif::{Rule, Tool, sarif};
