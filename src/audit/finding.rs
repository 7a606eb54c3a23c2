//! Findings of guards in messages that they let pass.

use serde::Serialize;

use super::text::Text;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub guard: Guard,
    /// As a refusal for the same reason has it.
    pub code: Text,
    pub detail: Text,
}

impl Finding {
    pub(super) fn texts(&mut self) -> [&mut Text; 2] {
        let Self {
            guard: _,
            code,
            detail,
        } = self;
        [code, detail]
    }
}

/// The part of the gate that found it; most have a key of this name in `[guards]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    Arguments,
    /// The log itself, of findings that one record has no room for.
    Audit,
    Consent,
    Elicitation,
    Evidence,
    Results,
    Secrets,
    Shadow,
    Symlinks,
    Text,
    TraceId,
    Truncation,
    Uris,
}
