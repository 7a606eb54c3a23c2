//! What is approved of a server beside its tools: its instructions and its prompts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::facts::Pin;
use super::lock::DefinitionFingerprint;

/// What an agent reads of a server beside its tools, as it was approved.
#[derive(Debug, Clone, Default)]
pub struct LockedTexts {
    /// `None` approves none.
    pub instructions: Option<Arc<str>>,
    /// By exact name.
    pub prompts: BTreeMap<String, LockedPrompt>,
}

/// One approved prompt.
#[derive(Debug, Clone)]
pub struct LockedPrompt {
    pub fingerprint: DefinitionFingerprint,
    /// The whole definition as JSON.
    pub definition: Arc<str>,
}

impl LockedTexts {
    /// Whether a prompt is what was approved. A prompt that no list has shown counts as approved.
    pub(super) fn pin(&self, name: &str, defined: Option<DefinitionFingerprint>) -> Pin {
        match (self.prompts.get(name), defined) {
            (Some(prompt), Some(defined)) => prompt.fingerprint.pin([defined]),
            (Some(prompt), None) => prompt.fingerprint.pin([prompt.fingerprint]),
            (None, _) => Pin::default(),
        }
    }
}
