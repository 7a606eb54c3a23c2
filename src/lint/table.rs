//! All lints.

use super::findings::LintFindings;
use super::material::LintContext;
use super::{
    actions, annotations, appearance, breadth, contradictions, duplicates, impossible_words,
    levels, lock_coverage, names, overflow, patterns, pointers, spelling, strings, unlabelled,
    untested,
};

/// One lint.
pub struct Lint {
    /// Stable: annotations and other programs name it.
    pub code: &'static str,
    /// What it finds, in a few words.
    pub about: &'static str,
    pub(super) look: fn(&LintContext<'_>, &mut LintFindings),
}

/// In the order of their codes.
pub const ALL: &[&Lint] = &[
    &annotations::ANNOTATION_WITHOUT_EFFECT,
    &overflow::CAN_ERROR,
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
    &breadth::SHADOWED_PERMIT,
    &strings::STRING_TEST_ON_HOST,
    &strings::STRING_TEST_ON_PATH,
    &breadth::UNCONDITIONAL_PERMIT,
    &pointers::UNKNOWN_ARGUMENT,
    &names::UNKNOWN_NAME,
    &impossible_words::UNKNOWN_WORD,
    &unlabelled::UNLABELLED_PATH,
    &appearance::UNSEEN_CHARACTER,
    &untested::UNTESTED_TOOL,
];

/// What every code begins with.
pub(super) const PREFIX: &str = "lint::";

impl Lint {
    /// The code as annotations may write it: without what all begin with.
    pub fn name(&self) -> &'static str {
        self.code.strip_prefix(PREFIX).unwrap_or(self.code)
    }

    /// By its code, with or without what all begin with.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        ALL.iter().copied().find(|lint| lint.name() == name)
    }
}

impl std::fmt::Debug for Lint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code)
    }
}
