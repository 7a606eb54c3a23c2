//! The numbers of questions.

use std::fmt;
use std::sync::Arc;

/// A question's number: ten hexadecimal digits, never the same twice in one run. It is no secret, and
/// to know it is no right to answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TicketId(Arc<str>);

impl TicketId {
    const DIGITS: usize = 10;

    /// Reads a number as it is shown.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let fits = text.len() == Self::DIGITS && text.bytes().all(is_digit);
        fits.then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Numbers of two runs of the gate differ, so that nobody answers a question of the run before.
    pub(super) fn of_digits(digits: &str) -> Self {
        Self(digits.chars().take(Self::DIGITS).collect::<String>().into())
    }
}

impl fmt::Display for TicketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
