//! In place of an engine that is not a part of this program: its files are refused.

use std::path::Path;

use crate::policy::{
    CompiledPolicies, EngineKind, EngineName, PolicyErrors, PolicyProblem, PolicySource,
};

/// An engine whose cargo feature is off.
#[derive(Debug)]
pub struct DisabledEngine {
    pub name: EngineName,
    /// Whether a file of this name is the engine's.
    pub claims: fn(&str) -> bool,
}

impl EngineKind for DisabledEngine {
    fn name(&self) -> EngineName {
        self.name
    }

    fn claims(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        (self.claims)(&name.to_string_lossy())
    }

    fn compile(&self, sources: &[PolicySource]) -> Result<CompiledPolicies, PolicyErrors> {
        let feature = self.name.0;
        let problem = |source: &PolicySource| {
            let message = format!("this program cannot read `{}`", source.name);
            let help =
                format!("remove the file, or build the program with the cargo feature `{feature}`");
            PolicyProblem::error("policy::engine_absent", message).with_help(help)
        };
        Err(PolicyErrors {
            problems: sources.iter().map(problem).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_an_absent_engine_is_refused_by_name() {
        let absent = DisabledEngine {
            name: EngineName("rego"),
            claims: super::super::is_rego,
        };
        assert!(absent.claims(Path::new("policies/a.rego")));
        assert!(!absent.claims(Path::new("policies/a.cedar")));
        let source = |name: &str| PolicySource::new(name, "package mcp");
        let refused = absent.compile(&[source("a.rego"), source("b.rego")]);
        let problems = refused.unwrap_err().problems;
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "this program cannot read `a.rego`",
                "this program cannot read `b.rego`"
            ]
        );
        assert!(problems.iter().all(|problem| {
            problem
                .help
                .as_deref()
                .is_some_and(|help| help.ends_with("the cargo feature `rego`"))
        }));
    }
}
