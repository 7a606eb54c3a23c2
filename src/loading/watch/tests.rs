mod cuts;

use std::fs;

use super::super::{WarningMode, load};
use super::*;
use crate::policy::ServerKey;

const TWO: &str = "permit(principal, action, resource);\nforbid(principal, action == Mcp::Action::\"ping\", resource);\n";
const RENAMED: &str = "@id(\"b\") permit(principal, action, resource) when { true };\n";
const NAMED: &str = "@id(\"a\") permit(principal, action, resource);\n";
const TOOLS: &str = "[tools.a]\npermission = \"read\"\n[tools.b]\npermission = \"read\"\n";

/// A directory, by names and texts.
type Files = &'static [(&'static str, &'static str)];

fn snapshot(files: Files, below: &std::path::Path) -> crate::policy::PolicySnapshot {
    let _ = fs::remove_dir_all(below);
    fs::create_dir(below).unwrap();
    for (name, text) in files {
        let file = below.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let settings = Settings {
        dir: Some(below.to_owned()),
        warnings: WarningMode::Allow,
        ..Settings::default()
    };
    load(&settings).unwrap().snapshot
}

/// What is missed when one directory replaces another.
fn check(old: Files, new: Files, missed: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("p");
    let (old, new) = (snapshot(old, &at), snapshot(new, &at));
    let prefix = format!("`{}/", at.display());
    let problems = |on_policy_removal| -> Vec<String> {
        let problems = removals::problems(&old, &new, &[], &[], on_policy_removal);
        let shown = problems
            .iter()
            .map(|problem| problem.message.replace(&prefix, "`"));
        shown.collect()
    };
    assert_eq!(problems(OnRemoval::Reject), missed);
    let accepted = problems(OnRemoval::Apply);
    let nothing_left = missed == [NOTHING_LEFT];
    assert_eq!(accepted.is_empty(), !nothing_left, "{accepted:?}");
}

const NOTHING_LEFT: &str = "no policy is left in the directory";

#[test]
fn what_is_there_in_the_same_words_is_not_missed() {
    check(&[("a.cedar", TWO)], &[("a.cedar", TWO)], &[]);
    check(&[("a.cedar", TWO)], &[("b.cedar", TWO)], &[]);
    check(
        &[("a.cedar", TWO)],
        &[("a.cedar", TWO), ("b.cedar", NAMED)],
        &[],
    );
    // What an editor does all day: words and lines change, and no rule is gone.
    let permit: Files = &[("a.cedar", "permit(principal, action, resource);")];
    let forbid: Files = &[("a.cedar", "// none\nforbid(principal, action, resource);")];
    check(permit, forbid, &[]);
    check(forbid, permit, &[]);
}

#[test]
fn what_is_gone_is_missed() {
    check(
        &[("a.cedar", TWO)],
        &[("a.cedar", "permit(principal, action, resource);\n")],
        &["`a.cedar:2`: this policy is in force and is not there"],
    );
    // The one that is left takes the id of the one that is gone.
    check(
        &[("a.cedar", TWO)],
        &[("a.cedar", TWO_WITHOUT_THE_FIRST)],
        &["`a.cedar:1`: this policy is in force and is not there"],
    );
    check(
        &[("a.cedar", TWO), ("b.cedar", NAMED)],
        &[("a.cedar", TWO), ("b.cedar", "// nothing")],
        &["`b.cedar`: the policy `a` is in force and is not there"],
    );
    check(
        &[("a.cedar", NAMED)],
        &[("a.cedar", RENAMED)],
        &["`a.cedar`: the policy `a` is in force and is not there"],
    );
    check(&[("a.cedar", TWO)], &[], &[NOTHING_LEFT]);
    check(&[], &[("a.cedar", TWO)], &[]);
}

const TWO_WITHOUT_THE_FIRST: &str =
    "forbid(principal, action == Mcp::Action::\"ping\", resource);\n";

#[test]
fn a_lock_that_is_emptied_or_gone_is_missed() {
    const LOCK: &str = r#"{"version":1,"tools":[{"name":"t","sha256":"c6005ee7854db532c5afa7ec72ecc502c63014ac9fe51e0b422daf578ebd3e0a","definition":{"inputSchema":{"type":"object"}}}]}"#;
    const EMPTY: &str = r#"{"version":1,"tools":[]}"#;
    let old: Files = &[("a.cedar", NAMED), ("tools.lock", LOCK)];
    let missed = "`t` is locked, and is not in the lock any more";
    check(old, &[("a.cedar", NAMED), ("tools.lock", EMPTY)], &[missed]);
    let gone = "`tools.lock`: labels are in force and are not there";
    check(old, &[("a.cedar", NAMED)], &[gone, missed]);
    check(old, old, &[]);
    check(&[("a.cedar", NAMED), ("tools.lock", EMPTY)], old, &[]);
}

#[test]
fn labels_that_are_gone_or_cut_are_missed() {
    let old: Files = &[("a.cedar", TWO), ("tools.toml", TOOLS)];
    let missed = &["`tools.toml`: labels are in force and are not there"];
    check(old, &[("a.cedar", TWO)], missed);
    let without_b: Files = &[
        ("a.cedar", TWO),
        ("tools.toml", "[tools.a]\npermission = \"read\"\n"),
    ];
    let missed = &["`tools.toml`: `tools.b` is in force and is not there"];
    check(old, without_b, missed);
    check(without_b, old, &[]);
}

/// What is missed when a file of labels replaces another.
fn check_labels(name: &'static str, old: &'static str, new: &'static str, missed: &[&str]) {
    let files =
        |text: &'static str| -> Files { Box::leak(Box::new([("a.cedar", NAMED), (name, text)])) };
    let missed: Vec<String> = missed.iter().map(|it| format!("`{name}`: {it}")).collect();
    let missed: Vec<&str> = missed.iter().map(String::as_str).collect();
    check(files(old), files(new), &missed);
}

#[test]
fn whatever_labels_say_is_missed_when_another_text_does_not_say_it() {
    let roots = "[roots.a]\npath = \"/a\"\n[roots.b]\npath = \"/a/b\"\nsensitivity = \"secret\"\n";
    check_labels(
        "roots.toml",
        roots,
        "# new\n[roots.a]\npath = \"/a\"\n",
        &["`roots.b` is in force and is not there"],
    );
    check_labels(
        "roots.toml",
        roots,
        "# new\n[roots.a]\npath = \"/a\"\n[roots.b]\npath = \"/a/b\"\n",
        &["`roots.b.sensitivity` is in force and is not there"],
    );
    check_labels(
        "roots.toml",
        roots,
        "[roots.a]\npath = \"/a\"\n[roots.b]\npath = \"/a/b\"\nsensitivity = \"public\"\n",
        &[],
    );
    check_labels(
        "tools.toml",
        "[tools.a]\nlabels = [\"pii\", \"hr\"]\n",
        "[tools.a]\nlabels = \"pii\"\n",
        &["`tools.a.labels` names less than what is in force"],
    );
    check_labels(
        "agents.toml",
        "[agents.a]\nroles = [\"x\", \"y\"]\ndeny = [\"s\", \"t\"]\n",
        "[agents.a]\nroles = [\"x\"]\ndeny = [\"s\"]\n",
        &["`agents.a.deny` names less than what is in force"],
    );
    let cut = &["the number of `agents.a.trust` may be cut"];
    check_labels(
        "agents.toml",
        "[agents.a]\ntrust = -10\n",
        "[agents.a]\ntrust = -1",
        cut,
    );
    check_labels(
        "agents.toml",
        "[agents.a]\ntrust = -10",
        "[agents.a]\ntrust = -10",
        &[],
    );
    check_labels(
        "agents.toml",
        "[agents.a]\ntrust = -10\n",
        "[agents.a]\ntrust = -1\n",
        &[],
    );
}

#[test]
fn labels_may_move_to_a_file_of_the_same_name() {
    check(
        &[("a.cedar", TWO), ("tools.toml", TOOLS)],
        &[("a.cedar", TWO), ("more/tools.toml", TOOLS)],
        &[],
    );
}

const CEL: &str =
    "[[rule]]\nid = \"a\"\neffect = \"permit\"\nactions = [\"ping\"]\nwhen = \"1 == 1\"\n";

#[test]
fn a_rule_in_cel_without_its_last_keys_is_missed() {
    const WITHOUT: &str = "# new\n[[rule]]\nid = \"a\"\neffect = \"permit\"\n";
    const MORE: &str = "[[rule]]\nid = \"a\"\neffect = \"forbid\"\nactions = [\"call_tool\"]\nwhen = \"1 == 2\"\ncode = \"x\"\n";
    let missed = &[
        "`a.cel.toml`: the `actions` of the policy `a` is in force and is not there",
        "`a.cel.toml`: the `when` of the policy `a` is in force and is not there",
    ];
    check(&[("a.cel.toml", CEL)], &[("a.cel.toml", WITHOUT)], missed);
    check(&[("a.cel.toml", WITHOUT)], &[("a.cel.toml", CEL)], &[]);
    check(&[("a.cel.toml", CEL)], &[("a.cel.toml", MORE)], &[]);
    check(&[("a.cel.toml", CEL)], &[("b.cel.toml", CEL)], &[]);
}

/// What is missed when a package replaces another, both with the same decision before it.
fn check_rego(old: &'static str, new: &'static str, missed: &[&str]) {
    const HEAD: &str = "package mcp\ndecision := {\"allow\": true} if not bad\n";
    let files = |text: &str| -> Files {
        let text = Box::leak(format!("{HEAD}{text}").into_boxed_str());
        Box::leak(Box::new([("a.rego", &*text)]))
    };
    let missed: Vec<String> = missed.iter().map(|it| format!("`a.rego`: {it}")).collect();
    let missed: Vec<&str> = missed.iter().map(String::as_str).collect();
    check(files(old), files(new), &missed);
}

#[test]
fn a_body_of_a_rule_in_rego_is_missed() {
    let body = "a body of the rule `bad` is in force and is not there";
    let cut = "the rule `bad` at its end may be cut";
    let two = "bad if input.resource.level > 2\nbad if { input.action == \"ping\" }\n";
    check_rego(two, "bad if input.resource.level > 2\n", &[body]);
    check_rego(two, "# new\nbad if input.resource.level > 2\n", &[body]);
    check_rego(two, two, &[]);
    check_rego(
        two,
        "bad if { input.action == \"ping\" }\nbad if input.resource.level > 1\n",
        &[],
    );
    // The rest of the line is unknown.
    check_rego(
        two,
        "bad if { input.action == \"ping\" }\nbad if input.resource.level > 1",
        &[cut],
    );
    check_rego(
        "bad := true if { input.action == \"ping\" } else := input.resource.level > 2\n",
        "bad := true if { input.action == \"ping\" }\n",
        &[body, cut],
    );
    check_rego(
        "default bad := true\nbad := false if input.action == \"ping\"\n",
        "bad := false if input.action == \"ping\"\n",
        &["the default of the rule `bad` is in force and is not there"],
    );
}

#[test]
fn rules_in_rego_may_move_to_another_file() {
    const ONE: &str = "package mcp\ndecision := {\"allow\": true} if not bad\n";
    const TWO: &str =
        "package mcp\nbad if input.resource.level > 2\nbad if input.action == \"ping\"\n";
    const HALF: &str = "package mcp\nbad if input.resource.level > 2\n";
    const OTHER: &str = "package mcp\nbad if input.action == \"ping\"\n";
    let old: Files = &[("a.rego", ONE), ("b.rego", TWO)];
    check(
        old,
        &[("a.rego", ONE), ("b.rego", HALF), ("c.rego", OTHER)],
        &[],
    );
    let body = "`b.rego`: a body of the rule `bad` is in force and is not there";
    check(old, &[("a.rego", ONE), ("b.rego", HALF)], &[body]);
}

/// The directory, with a manifest that fits it.
fn listed(files: Files, below: &std::path::Path) -> crate::policy::PolicySnapshot {
    let settings = Settings {
        dir: Some(below.to_owned()),
        warnings: WarningMode::Allow,
        ..Settings::default()
    };
    drop(snapshot(files, below));
    let text = super::super::manifest(&settings).unwrap();
    fs::write(below.join(super::super::MANIFEST_FILE), text).unwrap();
    load(&settings).unwrap().snapshot
}

#[test]
fn what_a_manifest_does_not_list_is_told_and_not_missed() {
    const EMPTY: Files = &[("a.cedar", NAMED), ("tools.toml", TOOLS)];
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("p");
    let old = snapshot(EMPTY, &at);
    let new = listed(&[("a.cedar", RENAMED)], &at);
    let told = |of: Vec<PolicyProblem>| -> Vec<String> {
        of.iter()
            .map(|it| it.message.replace(&*at.to_string_lossy(), "p"))
            .collect()
    };
    assert!(removals::problems(&old, &new, &[], &[], OnRemoval::Reject).is_empty());
    assert_eq!(
        told(removals::meant(&old, &new, &[])),
        [
            "`p/a.cedar`: the policy `a` is in force and is not there, as `MANIFEST` says",
            "`p/tools.toml`: labels are in force and are not there, as `MANIFEST` says"
        ]
    );
    let none = listed(&[], &at);
    assert_eq!(
        told(removals::problems(&old, &none, &[], &[], OnRemoval::Reject)),
        [NOTHING_LEFT]
    );
}

#[test]
fn a_manifest_that_is_gone_is_missed() {
    let files: Files = &[("a.cedar", NAMED)];
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("p");
    let (old, new) = (listed(files, &at), snapshot(files, &at));
    let missed = removals::problems(&old, &new, &[], &[], OnRemoval::Reject);
    let missed: Vec<_> = missed.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(missed, ["`MANIFEST` was there, and is not there any more"]);
    assert!(removals::problems(&old, &new, &[], &[], OnRemoval::Apply).is_empty());
    assert!(removals::problems(&new, &old, &[], &[], OnRemoval::Reject).is_empty());
}

#[test]
fn what_one_server_loses_is_missed_though_another_has_the_same() {
    let reads = "@id(\"reads\") permit (principal, action, resource is Mcp::Tool);";
    let no = "@id(\"no\") forbid (principal, action, resource is Mcp::Tool);";
    let nameless = "forbid (principal, action, resource is Mcp::Tool);";
    let check = |then: &[(&str, &str)], now: &[(&str, &str)], on: OnRemoval, missed: &str| {
        let dir = tempfile::tempdir().unwrap();
        let key = |key: &str| ServerKey::of(key).unwrap();
        let own = ["crm", "mail"].map(|name| (key(name), dir.path().join(name)));
        let settings = Settings {
            own: own.into(),
            servers: vec![key("crm"), key("mail")],
            warnings: WarningMode::Allow,
            ..Settings::default()
        };
        let load = |crm: &[(&str, &str)]| {
            for (key, files) in [("crm", crm), ("mail", then)] {
                let own = dir.path().join(key);
                let _ = fs::remove_dir_all(&own);
                fs::create_dir_all(&own).unwrap();
                for (name, text) in files {
                    fs::write(own.join(name), text).unwrap();
                }
            }
            load::load(&settings).unwrap().snapshot
        };
        let (old, new) = (load(then), load(now));
        let problems =
            removals::problems(&old, &new, &settings.directories(), &settings.servers, on);
        let told = problems.iter().map(|it| it.message.clone());
        let told = told.collect::<Vec<_>>().join("\n");
        assert_eq!(told.replace(&*dir.path().to_string_lossy(), "DIR"), missed);
    };
    let named = [("a.cedar", reads), ("no.cedar", no)];
    let gone = "`DIR/crm/no.cedar`: the policy `crm/no` is in force and is not there";
    check(&named, &named[..1], OnRemoval::Reject, gone);
    let unnamed = [("a.cedar", reads), ("no.cedar", nameless)];
    let gone = "`DIR/crm/no.cedar:1`: this policy is in force and is not there";
    check(&unnamed, &unnamed[..1], OnRemoval::Reject, gone);
    check(&named, &named, OnRemoval::Reject, "");
    // Not even an operator's request leaves a server without its own.
    check(
        &named,
        &[],
        OnRemoval::Apply,
        "no policy is left in `DIR/crm`",
    );
}
