//! Pure checks on what messages hold. A guard finds or refuses; only `gate/oblige.rs` edits.

mod schema;

pub use schema::{Schema, SchemaProblem, ToolSchemas, Violation};
