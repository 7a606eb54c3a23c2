//! Loading what was mostly loaded before.

use proptest::prelude::*;

use super::super::load::{compile, read};
use super::*;
use crate::policy::PolicyErrors;
use crate::policy::WarningMode;
use crate::wire::{Document, Limits};

/// Policies that are in order under every lock, under some, under none, and such that a warning is
/// to be given of; named and not; of equal words under two names.
const POLICIES: [&str; 12] = [
    "@id(\"all\") permit(principal, action, resource);",
    "permit(principal, action, resource);",
    "@id(\"b\")\nforbid(principal, action, resource) when { context.raw_arguments.hasTag(\"/a\") };",
    "@id(\"c\")\nforbid(principal, action, resource) when { context.raw_arguments.hasTag(\"/a\") };",
    "@id(\"call\") permit(principal, action == Mcp::Action::\"call_tool/t\", resource);",
    "@id(\"typed\") permit(principal, action == Mcp::Action::\"call_tool/t\", resource) \
     when { context.arguments.x == \"a\" };",
    "@id(\"number\") permit(principal, action == Mcp::Action::\"call_tool/t\", resource) \
     when { context.arguments.x == 1 };",
    "@id(\"has\") permit(principal, action in Mcp::Action::\"call_tool\", resource) \
     when { context has arguments && context.arguments has x };",
    "@id(\"wrong\") permit(principal, action, resource) when { principal.nme == \"x\" };",
    "@id(\"never\") permit(principal is Mcp::Agent, action, resource) when { principal is Mcp::Tool };",
    "@odd(\"x\") @id(\"odd\") permit(principal, action, resource);",
    "@id(\"a\u{430}\") permit(principal == Mcp::Agent::\"a\u{430}\", action, resource);",
];

const LOCKS: [&[&str]; 4] = [
    &[],
    &[
        r#"{"name":"t","inputSchema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}"#,
    ],
    &[
        r#"{"name":"t","inputSchema":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}"#,
    ],
    &[
        r#"{"name":"s","inputSchema":{"type":"object"}}"#,
        r#"{"name":"t","inputSchema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}"#,
    ],
];

/// What lies in a directory: the policies of two files, and the lock.
#[derive(Debug, Clone)]
struct DirectoryContent {
    files: [Vec<usize>; 2],
    lock: usize,
}

fn any_lies() -> impl Strategy<Value = DirectoryContent> {
    // Mostly in order: what refuses everything shows little.
    let policy = || prop_oneof![3 => 0..4_usize, 2 => 4..8_usize, 1 => 0..POLICIES.len()];
    let file = || prop::collection::vec(policy(), 0..5);
    (file(), file(), 0..LOCKS.len()).prop_map(|(one, other, lock)| DirectoryContent {
        files: [one, other],
        lock,
    })
}

impl DirectoryContent {
    fn lie_in(&self, dir: &Path) {
        let _ = fs::remove_dir_all(dir);
        fs::create_dir(dir).unwrap();
        for (name, policies) in ["a.cedar", "b.cedar"].iter().zip(&self.files) {
            let texts: Vec<&str> = policies.iter().map(|policy| POLICIES[*policy]).collect();
            fs::write(dir.join(name), texts.join("\n")).unwrap();
        }
        let mut lock = LockFile::default();
        for tool in LOCKS[self.lock] {
            let tool = Document::decode(tool.as_bytes(), &Limits::default()).unwrap();
            lock.add(tool.root()).unwrap();
        }
        if self.lock > 0 {
            fs::write(dir.join(LOCK_FILE), lock.text()).unwrap();
        }
    }
}

fn told_all(loaded: &Result<LoadedPolicies, PolicyErrors>) -> String {
    match loaded {
        Ok(loaded) => {
            let snapshot = &loaded.snapshot;
            let shadow = snapshot.shadow().map(PolicySnapshot::revision);
            format!(
                "{:?} {shadow:?} {:#?} {:#?} {:#?} {}",
                snapshot.revision(),
                snapshot.policies(),
                loaded.notices,
                loaded.shadow,
                loaded.surfaces
            )
        }
        Err(errors) => format!("{:#?}", errors.problems),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_loaded_after_something_else_is_what_a_fresh_load_gives(
        old in any_lies(), new in any_lies(), shadows in prop::option::of((any_lies(), any_lies())),
    ) {
        let place = tempfile::tempdir().unwrap();
        let [dir, shadow] = ["policies", "next"].map(|name| place.path().join(name));
        let settings = Settings {
            dir: Some(dir.clone()),
            shadow: shadows.as_ref().map(|_| shadow.clone()),
            warnings: WarningMode::Allow,
            ..Settings::default()
        };
        let (old_shadow, new_shadow) = shadows.unzip();
        old.lie_in(&dir);
        old_shadow.inspect(|lies| lies.lie_in(&shadow));
        let before = compile(&settings, read(&settings), None);
        new.lie_in(&dir);
        new_shadow.inspect(|lies| lies.lie_in(&shadow));
        for warnings in [WarningMode::Allow, WarningMode::Error] {
            let settings = Settings { warnings, ..settings.clone() };
            let fresh = compile(&settings, read(&settings), None);
            let before = before.as_ref().ok().map(|loaded| &loaded.snapshot);
            let again = compile(&settings, read(&settings), before);
            prop_assert_eq!(told_all(&fresh), told_all(&again));
            // Nor does it tell anything else after that.
            let after = again.as_ref().ok().map(|loaded| &loaded.snapshot);
            let later = compile(&settings, read(&settings), after);
            prop_assert_eq!(told_all(&fresh), told_all(&later));
        }
    }
}
