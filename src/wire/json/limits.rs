//! How much of a text is read.

/// How much of a stranger's text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of input, whitespace included; checked before anything is allocated. At most 4 GiB.
    pub max_bytes: usize,
    /// Containers inside each other; the outermost counts 1. 64 is under every peer's own limit.
    pub max_depth: usize,
    /// Values, scalars and containers alike; keys are not counted.
    pub max_nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 4 * 1024 * 1024,
            max_depth: 64,
            max_nodes: 50_000,
        }
    }
}
