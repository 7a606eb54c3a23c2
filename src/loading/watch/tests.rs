use std::fs;

use super::super::{Warnings, load};
use super::*;

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
        fs::write(below.join(name), text).unwrap();
    }
    let settings = Settings {
        dir: Some(below.to_owned()),
        warnings: Warnings::Allow,
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
    let problems = |on_removal| -> Vec<String> {
        let problems = removals::problems(&old, &new, on_removal);
        let shown = problems
            .iter()
            .map(|problem| problem.message.replace(&prefix, "`"));
        shown.collect()
    };
    assert_eq!(problems(OnRemoval::Keep), missed);
    let accepted = problems(OnRemoval::Accept);
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
    let missed = &["`tools.toml`: labels are in force and are not there"];
    let old: Files = &[("a.cedar", TWO), ("tools.toml", TOOLS)];
    check(old, &[("a.cedar", TWO)], missed);
    let cut: Files = &[
        ("a.cedar", TWO),
        ("tools.toml", "[tools.a]\npermission = \"read\"\n"),
    ];
    check(old, cut, missed);
    let changed: Files = &[
        ("a.cedar", TWO),
        ("tools.toml", "[tools.b]\npermission = \"read\"\n"),
    ];
    check(old, changed, &[]);
}
