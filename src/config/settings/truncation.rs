//! What `truncation` means.

use std::collections::BTreeMap;
use std::time::Duration;

/// Limits for long texts of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncation {
    /// Maximum bytes of all texts of one result.
    pub max_bytes: usize,
    /// Bytes of full texts that the gate retains for each agent.
    pub retain_bytes: usize,
    /// The root in which full texts are saved as files, if they are.
    pub save: Option<String>,
    /// Bytes of saved files in each directory of that root.
    pub save_bytes: usize,
    /// Time after which saved files are removed.
    pub save_for: Duration,
    /// Presets for single tools, by exact name.
    pub tools: BTreeMap<String, TruncationPreset>,
    /// Presets for resources, by the beginning of their URIs.
    pub resources: BTreeMap<String, TruncationPreset>,
    /// Presets for single prompts, by exact name.
    pub prompts: BTreeMap<String, TruncationPreset>,
}

/// Method by which a text is truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationPreset {
    Default,
    SqlQuery,
    LogSearch,
    /// The text stays whole.
    None,
}

impl Default for Truncation {
    fn default() -> Self {
        Self {
            max_bytes: 64 << 10,
            retain_bytes: 16 << 20,
            save: None,
            save_bytes: 64 << 20,
            save_for: Duration::from_hours(24),
            tools: BTreeMap::new(),
            resources: BTreeMap::new(),
            prompts: BTreeMap::new(),
        }
    }
}
