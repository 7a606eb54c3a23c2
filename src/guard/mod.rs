//! Pure checks on what messages hold. A guard finds or refuses; only `gate/oblige.rs` edits.

mod argument_names;
mod asking;
mod excerpt;
mod keywords;
mod leaks;
mod names;
mod schema;
pub mod secrets;
pub mod text;
mod words;

pub use argument_names::{AmbiguousName, ArgumentNames, check_argument_names};
pub use asking::{asks_for_secret, describes_secret};
pub use excerpt::{Excerpt, Preset, excerpt, piece};
pub use leaks::{Leak, Leaks, leaks};
pub use names::{Look, Looks};
pub use schema::{Schema, SchemaProblem, ToolSchemas, Violation};
pub use words::{Part, Role, Word, words};
