//! A rule in another language than Cedar that allows every call.

use std::ops::Range;

use crate::policy::PolicySource;

/// A rule that allows every call of every tool to every agent.
#[derive(Debug)]
pub struct OpenRule<'s> {
    pub source: &'s PolicySource,
    /// Where it says so.
    pub place: Range<usize>,
}
