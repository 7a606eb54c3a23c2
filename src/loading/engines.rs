//! The engines that files are handed to.
//!
//! Cedar is always there, for the builtin policies; another engine only if a file is its.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::settings::Settings;
#[cfg(not(all(feature = "cel", feature = "rego")))]
use crate::policy::EngineName;
use crate::policy::engines::cedar::{Cedar, ToolGroups};
#[cfg(feature = "cel")]
use crate::policy::engines::cel::Cel;
#[cfg(not(all(feature = "cel", feature = "rego")))]
use crate::policy::engines::disabled::DisabledEngine;
#[cfg(not(feature = "cel"))]
use crate::policy::engines::is_cel;
#[cfg(not(feature = "rego"))]
use crate::policy::engines::is_rego;
#[cfg(feature = "rego")]
use crate::policy::engines::rego::Rego;
use crate::policy::{
    CheckedPolicies, CompiledPolicies, EngineKind, ExposedActions, Lock, PolicyEntry, PolicyErrors,
    PolicyId, PolicyProblem, PolicySource, RuleEngine,
};

/// One of each kind.
#[derive(Debug)]
pub(super) struct EngineKinds {
    cedar: Cedar,
    others: Vec<Box<dyn EngineKind>>,
}

/// All engines together.
#[derive(Debug)]
pub(super) struct CompiledEngines {
    pub(super) engines: Vec<Box<dyn RuleEngine>>,
    pub(super) policies: Vec<PolicyEntry>,
    pub(super) notices: Vec<PolicyProblem>,
    pub(super) surfaces: ExposedActions,
}

/// How the names of files end that some engine reads.
pub(super) const EXTENSIONS: [&str; 3] = ["cedar", "rego", "cel.toml"];

/// Whether some engine reads a file of this name.
pub(crate) fn claims(path: &Path) -> bool {
    EngineKinds::default().claims(path)
}

impl Default for EngineKinds {
    fn default() -> Self {
        Self::new(
            &ToolGroups::default(),
            &Arc::default(),
            &Settings::default(),
        )
    }
}

impl EngineKinds {
    pub(super) fn new(groups: &ToolGroups, lock: &Arc<Lock>, settings: &Settings) -> Self {
        Self {
            cedar: Cedar {
                groups: groups.clone(),
                lock: Arc::clone(lock),
                claims: settings.claims.clone(),
                servers: settings.servers.clone(),
                warnings: settings.warnings,
                checked: Vec::new(),
            },
            others: vec![
                #[cfg(feature = "rego")]
                Box::new(Rego::new(groups.clone())),
                #[cfg(not(feature = "rego"))]
                Box::new(DisabledEngine {
                    name: EngineName("rego"),
                    claims: is_rego,
                }),
                #[cfg(feature = "cel")]
                Box::new(Cel {
                    groups: groups.clone(),
                }),
                #[cfg(not(feature = "cel"))]
                Box::new(DisabledEngine {
                    name: EngineName("cel"),
                    claims: is_cel,
                }),
            ],
        }
    }

    /// What was checked before is not checked again.
    pub(super) fn after(mut self, checked: Vec<CheckedPolicies>) -> Self {
        self.cedar.checked = checked;
        self
    }

    pub(super) fn claims(&self, path: &Path) -> bool {
        self.cedar.claims(path) || self.others.iter().any(|kind| kind.claims(path))
    }

    /// What was in `old` and is not in `new`, beside whole policies.
    pub(super) fn lost(&self, old: &[PolicySource], new: &[PolicySource]) -> Vec<String> {
        let lost = |kind: &dyn EngineKind| kind.lost(&of(kind, old), &of(kind, new));
        let others = self.others.iter().map(AsRef::as_ref);
        others.flat_map(lost).collect()
    }

    /// What is built in or compiled is Cedar, and so has a name that no other engine claims.
    pub(super) fn compile(
        &self,
        sources: &[PolicySource],
    ) -> Result<CompiledEngines, PolicyErrors> {
        let others: Vec<_> = self
            .others
            .iter()
            .map(|kind| (kind, of(kind.as_ref(), sources)))
            .filter(|(_, sources)| !sources.is_empty())
            .collect();
        let is_of_another = |source: &&PolicySource| {
            let mut all = others.iter().flat_map(|(_, sources)| sources);
            all.any(|other| other.name == source.name)
        };
        let of_cedar: Vec<PolicySource> = sources
            .iter()
            .filter(|source| !is_of_another(source))
            .cloned()
            .collect();
        let mut all = Vec::new();
        let mut problems = Vec::new();
        let results = std::iter::once(self.cedar.compile(&of_cedar))
            .chain(others.iter().map(|(kind, sources)| kind.compile(sources)));
        for result in results {
            match result {
                Ok(compiled) => all.push(compiled),
                Err(errors) => problems.extend(errors.problems),
            }
        }
        problems.extend(namesakes(&all));
        if !problems.is_empty() {
            return Err(PolicyErrors { problems });
        }
        joined(all).ok_or(PolicyErrors { problems })
    }
}

/// Those that are of this kind.
fn of(kind: &dyn EngineKind, sources: &[PolicySource]) -> Vec<PolicySource> {
    let claimed = |source: &&PolicySource| kind.claims(Path::new(&*source.name));
    sources.iter().filter(claimed).cloned().collect()
}

fn joined(all: Vec<CompiledPolicies>) -> Option<CompiledEngines> {
    let joined = |all: CompiledEngines, one: CompiledEngines| CompiledEngines {
        engines: all.engines.into_iter().chain(one.engines).collect(),
        policies: all.policies.into_iter().chain(one.policies).collect(),
        notices: all.notices.into_iter().chain(one.notices).collect(),
        surfaces: all.surfaces.and(one.surfaces),
    };
    let all = all.into_iter().map(|compiled| CompiledEngines {
        engines: vec![compiled.engine],
        policies: compiled.policies,
        notices: compiled.notices,
        surfaces: compiled.surfaces,
    });
    all.reduce(joined)
}

/// Policies of two engines that have one name. Each engine sees to its own.
fn namesakes(all: &[CompiledPolicies]) -> Vec<PolicyProblem> {
    let mut first: HashMap<&PolicyId, (usize, &PolicyEntry)> = HashMap::new();
    let mut problems = Vec::new();
    for (engine, compiled) in all.iter().enumerate() {
        for policy in &compiled.policies {
            let (owner, earlier) = *first.entry(&policy.id).or_insert((engine, policy));
            if owner != engine {
                let message = format!("two policies are called `{}`", policy.id);
                let (here, there) = (&policy.origin, &earlier.origin);
                let help = format!("they are at {there} and at {here}; give each its own name");
                let problem = PolicyProblem::error("policy::duplicate_id", message);
                problems.push(problem.with_help(help));
            }
        }
    }
    problems
}
