//! A recorded decision beside today's.

use super::super::fixture_words::TestDecision;

/// One recorded decision beside today's.
pub(super) struct DecisionComparison {
    /// Of the recording, from 1.
    pub(super) line: usize,
    /// What was asked, in a few words.
    pub(super) about: String,
    pub(super) was: TestDecision,
    pub(super) now: CurrentDecision,
}

pub(super) enum CurrentDecision {
    Same,
    Changed {
        policies: Vec<String>,
    },
    /// What the record does not tell.
    Unknown(String),
}

impl CurrentDecision {
    /// Today's decision, which is certain.
    pub(super) fn certain(was: TestDecision, now: TestDecision, policies: Vec<String>) -> Self {
        if was == now {
            Self::Same
        } else {
            Self::Changed { policies }
        }
    }
}
