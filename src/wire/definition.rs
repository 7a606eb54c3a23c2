//! A tool's definition in two parts, for those who compare definitions.

use super::Value;

/// The canonical texts of what a definition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// What goes in and what comes out.
    pub schema: String,
    /// All else that an agent reads: title, description, annotations, and whatever is not known.
    pub words: String,
}

const SCHEMAS: [&str; 2] = ["inputSchema", "outputSchema"];

impl Definition {
    /// `tool` is one item of a `tools/list`; of anything but an object both parts are empty objects.
    pub fn of(tool: Value<'_>) -> Self {
        Self {
            schema: tool.canonical_with(|key| SCHEMAS.contains(&key)),
            words: tool.canonical_with(|key| !SCHEMAS.contains(&key)),
        }
    }
}
