//! What looks wrong in policies that are valid: rules that never hold, tests that are easily got
//! round, words that do nothing.
//!
//! A lint reads policies as trees and never decides anything: the gate does not run it. Each is in
//! one file here with its cases, one row of [`ALL`], and one section of `docs/lints.md`; a test
//! compares the three. A lint must be worth stopping a build for, so what is doubtful is no finding.

mod actions;
mod allowed;
mod allowlist;
mod appearance;
mod breadth;
mod contradictions;
mod expressions;
#[cfg(test)]
mod fixture;
mod found;
mod given;
mod levels;
mod locked;
mod material;
mod names;
mod never_said;
mod others;
mod overflow;
mod patterns;
mod pointers;
mod ranges;
mod repeated;
mod run;
mod spelling;
mod strings;
mod table;
mod unlabelled;
mod untested;
mod upward;
mod words;

pub use allowlist::place as place_of_allowed;
pub use material::{Material, Words};
pub use run::lint;
pub use table::{ALL, Lint};
