//! The types of entities that stand in sets.

use cedar_policy_core::ast::EntityType;

use super::vocabulary::Vocabulary;

/// A type of entities that stand in sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntityKind {
    Capability,
    Root,
    Server,
}

impl EntityKind {
    pub(super) fn of(words: &Vocabulary, entity_type: &EntityType) -> Option<Self> {
        let kinds = [
            (&words.capability, Self::Capability),
            (&words.root, Self::Root),
            (&words.server, Self::Server),
        ];
        let mut kinds = kinds.into_iter();
        kinds.find_map(|(known, kind)| (known == entity_type).then_some(kind))
    }
}
