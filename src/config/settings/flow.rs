//! What may flow from one of several servers to another.

use crate::gate::{Evidence, QuestionsAgain};
use crate::loading::FlowRules;

/// What may flow from one of several servers to another, and when a person is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flow {
    pub rules: FlowRules,
    pub ask: QuestionsAgain,
    pub evidence: Evidence,
}
