//! The engine of Cedar, with its compiled policies.

use std::sync::{Arc, OnceLock};

use super::inspect::FactNeeds;
use super::placeholder::PlaceholderContext;
use super::rules::RuleSet;
use super::subjects::ToolGroups;
use super::traced_policies::Tracer;
use super::vocabulary::Vocabulary;
use crate::policy::{
    CheckedPolicies, ConfiguredClaims, EngineName, ListDependency, Lock, PolicySource,
    RequiredDetectors, ServerKey, WarningMode,
};

pub(super) const NAME: EngineName = EngineName("cedar");

/// How Cedar sources are compiled.
#[derive(Debug, Default)]
pub struct Cedar {
    pub groups: ToolGroups,
    /// Tools whose arguments have types.
    pub lock: Arc<Lock>,
    /// What the configuration says of claims, where it is known.
    pub claims: Option<Arc<ConfiguredClaims>>,
    /// The keys of several servers.
    pub servers: Vec<ServerKey>,
    pub warnings: WarningMode,
    /// What need not be checked again.
    pub checked: Vec<CheckedPolicies>,
}

/// Compiled Cedar policies.
pub(super) struct CedarEngine {
    pub(super) words: Arc<Vocabulary>,
    pub(super) groups: ToolGroups,
    pub(super) lock: Arc<Lock>,
    pub(super) rules: RuleSet,
    /// In the order of [`ListDependency::LISTS`].
    pub(super) lists_by: [ListDependency; 3],
    pub(super) looks_for: RequiredDetectors,
    pub(super) idle: &'static PlaceholderContext,
    pub(super) checked: CheckedPolicies,
    /// What the rules were compiled from.
    pub(super) sources: Vec<PolicySource>,
    /// Made for the first trace.
    pub(super) tracer: OnceLock<Tracer>,
}

impl CedarEngine {
    pub(super) fn new(
        words: Arc<Vocabulary>,
        of: &Cedar,
        rules: RuleSet,
        sources: &[PolicySource],
        checked: CheckedPolicies,
    ) -> Result<Self, String> {
        Ok(Self {
            words,
            groups: of.groups.clone(),
            lock: Arc::clone(&of.lock),
            lists_by: ListDependency::LISTS.map(|list| rules.lists_by(list)),
            looks_for: RequiredDetectors {
                secrets: rules.needs().has(FactNeeds::SECRETS),
                flags: rules.needs().has(FactNeeds::FLAGS),
            },
            rules,
            idle: PlaceholderContext::get()?,
            checked,
            sources: sources.to_vec(),
            tracer: OnceLock::new(),
        })
    }
}

impl std::fmt::Debug for CedarEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CedarEngine").finish_non_exhaustive()
    }
}
