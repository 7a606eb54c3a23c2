//! What looks wrong in policies that are valid: rules that never hold, tests that are easily got
//! round, words that do nothing.
//!
//! A lint reads policies as trees and never decides anything: the gate does not run it. Each is in
//! one file here with its cases, one row of [`ALL`], and one section of `docs/lints.md`; a test
//! compares the three. A lint must be worth stopping a build for, so what is doubtful is no finding.

mod actions;
mod agents;
mod allowlist;
mod annotations;
mod appearance;
mod breadth;
mod closed_tools;
mod contradictions;
mod duplicates;
mod expressions;
mod findings;
#[cfg(test)]
mod fixture;
mod impossible_words;
mod levels;
mod lock_coverage;
mod material;
mod names;
mod non_cedar;
mod overflow;
mod path_traversal;
mod patterns;
mod pointers;
mod ranges;
mod run;
mod samples;
mod spelling;
mod strings;
mod suppressions;
mod table;
mod unlabelled;
mod untested;

pub use allowlist::place as place_of_allowed;
pub use findings::Lint;
pub use material::{KnownWords, Material};
pub use run::lint;
pub use table::ALL;
