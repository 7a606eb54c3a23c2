//! A text without hidden parts.

use std::borrow::Cow;

use super::hidden_kinds::HiddenKinds;

/// A text without hidden parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sanitized<'t> {
    /// Borrowed if nothing was taken out. Never longer than the text was, in bytes.
    pub text: Cow<'t, str>,
    pub removed: HiddenKinds,
}
