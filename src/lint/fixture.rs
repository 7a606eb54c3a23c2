//! What the tests of lints are made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::findings::Lint;
use super::material::Material;
use super::run::lint;
use crate::policy::PolicyProblem;
use crate::policy::PolicySource;
use crate::policy::engines::cedar::Cedar;
use crate::policy::{
    DefinitionFingerprint, EngineKind, Lock, LockedTool, PolicyOrigin, WarningMode,
};

/// A policy on calls of tools that is called `x`. `resource` is its scope's last part, or nothing.
pub(super) fn call(effect: &str, resource: &str, rest: &str) -> String {
    let resource = if resource.is_empty() {
        "resource"
    } else {
        resource
    };
    format!(
        "@id(\"x\")\n{effect} (\n  principal is Mcp::Agent,\n  action in Mcp::Action::\"call_tool\",\n  {resource}\n)\n{rest};\n"
    )
}

pub(super) fn source(name: &str, text: &str) -> PolicySource {
    PolicySource::new(name, text)
}

/// How many findings one lint has in valid policies.
#[track_caller]
pub(super) fn check(name: &str, policies: &str, findings: usize) {
    let material = Material {
        policies: vec![source("p/x.cedar", policies)],
        ..Material::default()
    };
    check_in(name, &material, findings);
}

#[track_caller]
pub(super) fn check_in(name: &str, material: &Material, findings: usize) {
    let cedar = Cedar {
        lock: Arc::clone(&material.lock),
        warnings: WarningMode::Allow,
        ..Cedar::default()
    };
    let texts = || material.policies.iter().map(|source| &*source.text);
    // A policy that is not valid shows nothing about a lint.
    if let Err(errors) = cedar.compile(&material.policies) {
        panic!("{}\n{errors:?}", texts().collect::<String>());
    }
    let found = found(name, material);
    assert_eq!(
        found.len(),
        findings,
        "{name}\n{}\n{found:#?}",
        texts().collect::<String>()
    );
}

pub(super) fn found(name: &str, material: &Material) -> Vec<PolicyProblem> {
    let wanted = Lint::named(name).unwrap_or_else(|| panic!("no lint is called {name}"));
    let mut found = lint(material, &[]).unwrap();
    found.retain(|problem| problem.code == wanted.code);
    for problem in &found {
        assert!(problem.help.is_some(), "{problem:?}");
    }
    found
}

/// A lock of tools with unknown arguments, each with a line.
pub(super) fn locking(names: &[&str]) -> Lock {
    locking_with(names, "{}")
}

/// The same, all with one definition.
pub(super) fn locking_with(names: &[&str], definition: &str) -> Lock {
    let tool = |name: &&str| {
        let tool = LockedTool {
            fingerprint: DefinitionFingerprint::of("", ""),
            definition: definition.into(),
            arguments: Err("none".to_owned()),
            origin: PolicyOrigin {
                file: "tools.lock".into(),
                line: 2,
            },
        };
        ((*name).to_owned(), tool)
    };
    Lock::new(names.iter().map(tool).collect::<BTreeMap<_, _>>())
}
