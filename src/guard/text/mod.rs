//! Text that models read: what a person would not see in it, taken out; what instructs a model, named.
//!
//! Three steps, each linear in the text and each stable on its own output: what is invisible or speaks to
//! terminals (`hidden`), markup (`markup`), length. One after the other they are stable too, because
//! what the first one keeps for the sake of its neighbours never has an angle bracket among them, and the
//! second one takes out nothing but what begins with one and ends with one (or with the text).

mod encoded;
mod escapes;
mod flag;
mod flags;
mod fold;
mod hidden;
mod hidden_kinds;
mod markup;
mod patterns;
mod required_strings;
mod rows;
mod sanitize;
mod sanitized;
mod scripts;
#[cfg(test)]
mod tests;
mod words;

pub use flag::{Flag, Flags};
pub use flags::flags;
pub use hidden_kinds::{HiddenKind, HiddenKinds};
pub use markup::{StrippedTags, UnendedComment};
pub use sanitize::{AnswerRules, Margins, TextRules, revealed, sanitize};
pub use sanitized::Sanitized;
pub use words::{
    MAX_CUSTOM_PATTERNS, MAX_PATTERN_BYTES, SuspiciousWords, UNKNOWN_TOOL, WordsError, is_builtin,
    tools_named,
};
