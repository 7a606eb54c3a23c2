//! All lints.

use super::findings::{Lint, PREFIX};
use super::{
    actions, agents, annotations, appearance, breadth, closed_tools, contradictions, duplicates,
    impossible_words, levels, lock_coverage, overflow, patterns, pointers, samples, spelling,
    strings, unlabelled, untested,
};

/// In the order of their codes.
pub const ALL: &[&Lint] = &[
    &annotations::ANNOTATION_WITHOUT_EFFECT,
    &overflow::CAN_ERROR,
    &closed_tools::CLOSED_TOOL,
    &contradictions::CONSTANT_CONDITION,
    &duplicates::DUPLICATE_CONDITION,
    &duplicates::DUPLICATE_POLICY,
    &levels::EQUALITY_ON_LEVEL,
    &actions::EXACT_CALL,
    &patterns::GLOB_LITERAL,
    &spelling::HOST_SPELLING,
    &appearance::LOOK_ALIKE,
    &contradictions::NEVER_MATCHES,
    &lock_coverage::NOT_LOCKED,
    &breadth::PERMITS_NOTHING,
    &samples::SAMPLE_WITHOUT_TERMS,
    &breadth::SHADOWED_PERMIT,
    &strings::STRING_TEST_ON_HOST,
    &strings::STRING_TEST_ON_PATH,
    &breadth::UNCONDITIONAL_PERMIT,
    &pointers::UNKNOWN_ARGUMENT,
    &agents::UNKNOWN_NAME,
    &impossible_words::UNKNOWN_WORD,
    &unlabelled::UNLABELLED_PATH,
    &appearance::UNSEEN_CHARACTER,
    &untested::UNTESTED_TOOL,
];

impl Lint {
    /// By its code, with or without what all begin with.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        ALL.iter().copied().find(|lint| lint.name() == name)
    }
}
