//! The packs that come with the gate.

use std::collections::BTreeSet;

use super::*;
use crate::config::{Config, Pinning, Redaction, RequiredLabels, Sanitizing, Strictness};
use crate::gate::OnFatal;
use crate::loading;

fn packs() -> Vec<PathBuf> {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    let entries = fs::read_dir(policies).unwrap();
    let mut packs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    packs.retain(|path| path.is_dir());
    packs.sort();
    assert!(!packs.is_empty());
    packs
}

/// Policies that decide what is in a list and nothing else; `listed` in the packs' tests shows them.
const OF_LISTS: [&str; 3] = ["cel.list", "rego.list", "rego.list-edit"];

/// The policies of a pack, without what every gate has, and without the name that a file of Rego has
/// for answers without a reason.
fn policies(pack: &Path) -> BTreeSet<String> {
    let settings = loading::Settings {
        dir: Some(pack.to_owned()),
        ..loading::Settings::default()
    };
    let loaded = loading::load(&settings).unwrap();
    let policies = loaded.snapshot.policies().iter();
    policies
        .filter(|policy| !policy.origin.file.starts_with('<'))
        .filter(|policy| {
            let is_file = policy.id.as_str() == policy.origin.to_string();
            !(is_file && policy.origin.file.ends_with(".rego"))
        })
        .filter(|policy| !OF_LISTS.contains(&policy.id.as_str()))
        .map(|policy| policy.id.as_str().to_owned())
        .collect()
}

/// What was expected of each message of a test, and what came.
fn of_messages(test: &TestReport) -> impl Iterator<Item = (&Expected, Option<&Actual>)> {
    let steps = test
        .steps
        .iter()
        .map(|step| (&step.expected, step.got.as_ref()));
    let alone = test
        .expected
        .iter()
        .map(|expected| (expected, test.got.as_ref()));
    alone.chain(steps)
}

/// What a user who copies one pack gets with it.
const GUARDS: &str = r#"
[guards]
arguments           = "block"
secrets             = "redact"
secrets_outbound    = "block"
tool_metadata       = "sanitize"
tool_metadata_tags  = "suspicious"
description_length  = 16384
content             = "sanitize"
content_tags        = "suspicious"
on_fatal_tool_error = "close_session"
"#;

/// Packs for servers whose tools have no labels.
const UNLABELLED: [&str; 1] = ["quarantine"];

#[test]
fn every_pack_has_a_configuration_with_the_guards_that_good_servers_bear() {
    for pack in packs() {
        let name = pack.file_name().unwrap().to_str().unwrap();
        let file = pack.join("gate.toml");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        assert!(text.contains(GUARDS), "{name}: other guards than the packs");
        let config = Config::load_offline(&file).unwrap();
        let guards = config.guards;
        let pinning = if pack.join("tools.lock").exists() {
            Pinning::Enforce
        } else {
            Pinning::TrustOnFirstUse
        };
        let on = [
            guards.arguments == Strictness::Block,
            guards.secrets == Redaction::Redact,
            guards.secrets_outbound == Strictness::Block,
            guards.tool_metadata == Sanitizing::Sanitize,
            guards.content == Sanitizing::Sanitize,
            guards.on_fatal_tool_error == OnFatal::CloseSession,
            config.policy.pinning == pinning,
            config.policy.labels == RequiredLabels::Permission || UNLABELLED.contains(&name),
            config.policy.dir.as_deref() == Some(&*pack),
        ];
        assert!(on.iter().all(|is_on| *is_on), "{name}: {on:?}");
        let readme = fs::read_to_string(pack.join("README.md")).unwrap();
        let of_user = format!("mcp-protector proxy --config policies/{name}/gate.toml\n");
        let is_started = [of_user.as_str(), "mcp-protector demo\n"];
        let is_started = is_started.iter().any(|it| readme.contains(it));
        assert!(is_started, "{name}: its README starts no gate with it");
    }
}

#[test]
fn every_pack_passes_its_tests_and_each_of_its_policies_decides_one() {
    for pack in packs() {
        let report = run(&settings(&[&pack])).unwrap();
        assert_eq!(report.outcome, RunOutcome::Passed, "{report:#?}");
        let tests = || report.suites.iter().flat_map(|suite| &suite.tests);
        let decided: BTreeSet<String> = tests()
            .flat_map(of_messages)
            .filter_map(|(_, got)| got)
            .flat_map(|got| got.received.iter().map(|it| &**it).chain([got]))
            .flat_map(|got| &got.policies)
            .map(|policy| policy.id.clone())
            .collect();
        let missing: Vec<_> = policies(&pack).difference(&decided).cloned().collect();
        assert!(missing.is_empty(), "{pack:?}: no test shows {missing:?}");
        for decision in [TestDecision::Allow, TestDecision::Deny] {
            let mut messages = tests().flat_map(of_messages);
            assert!(messages.any(|(expected, _)| expected.decision == decision));
        }
    }
}

#[test]
fn a_denial_by_a_policy_is_expected_by_its_name() {
    for pack in packs() {
        let report = run(&settings(&[&pack])).unwrap();
        let tests = report.suites.iter().flat_map(|suite| &suite.tests);
        let vague: Vec<&str> = tests
            .filter(|test| {
                let mut messages = of_messages(test);
                messages.any(|(expected, got)| {
                    let got = got.unwrap();
                    let named = !expected.policies.is_empty() || expected.policies_exact.is_some();
                    got.decision == TestDecision::Deny && !got.policies.is_empty() && !named
                })
            })
            .map(|test| test.name.as_str())
            .collect();
        assert!(vague.is_empty(), "{pack:?}: {vague:?}");
    }
}
