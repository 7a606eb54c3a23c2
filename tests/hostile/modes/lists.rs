//! Lists of tools.

use super::{After, converse, each};
use crate::hostile::dialogue::{SAFE_RAN, Talk};
use crate::support::json::json;

/// Modes, the names that the agent sees, and whether it can call `safe`.
pub(super) const LISTS: &[(&str, &[&str], &str)] = &[
    ("same-tool-twice", &["safe"], ""),
    ("conflicting-tools", &[], "Unknown tool: safe"),
    ("tool-schema-true", &["safe"], ""),
    ("tool-schema-missing", &["safe"], ""),
    ("tool-name-number", &["safe"], ""),
    ("tool-name-missing", &["safe"], ""),
    ("tool-not-object", &["safe"], ""),
    ("conflicting-pages", &["safe"], ""),
    ("changing-tools", &["safe"], ""),
    ("cursor-loop", &["safe"], ""),
    ("cursor-empty", &["safe"], ""),
    ("cursor-endless", &[], "did not list"),
    ("many-tools", &["safe"], ""),
    ("oversized-tool", &["safe"], ""),
    ("look-alike-names", &["safe"], ""),
    ("escaped-name", &["safe"], ""),
    ("lying-annotations", &["safe"], ""),
    ("poisoned-tools", &["safe"], ""),
    ("schema-bombs", &["safe"], ""),
    ("tool-duplicate-key", &["?"], "did not list"),
    ("cursor-number", &["?"], "did not list"),
    ("tools-not-array", &["?"], "did not list"),
    ("tools-missing", &["?"], "did not list"),
    ("list-error", &["?"], "did not list"),
];

#[test]
fn of_a_hostile_list_the_agent_sees_the_good_definitions_that_it_may_use() {
    each(
        LISTS,
        |row| row.0,
        |(mode, names, refused)| {
            let heard = converse(mode, &[], After::Works);
            heard.saw_nothing_forged();
            assert_eq!(shown(&heard.listed), *names, "{}", heard.listed);
            if refused.is_empty() {
                assert_eq!(heard.called, SAFE_RAN);
            } else {
                assert!(heard.called.contains(refused), "{}", heard.called);
            }
        },
    );
}

#[test]
fn a_list_without_end_is_given_up_at_its_limit_and_every_call_answered() {
    let mut talk = Talk::with("cursor-endless", &[]);
    talk.open();
    for id in ["7", "8", "\"9\""] {
        talk.call(id, "safe", "x");
    }
    for id in ["7", "8", "\"9\""] {
        let answer = talk.answer(id);
        assert!(answer.contains("did not list"), "{answer}");
    }
    let past = talk.end();
    let pages = past.received.matches(r#""method":"tools/list""#).count();
    assert_eq!(pages, 1_000);
    assert!(!past.received.contains("tools/call"));
    // Every page has its record and its outcome; the last one was too many.
    let asked = past.of_kind("gate_decision");
    let asked = asked.filter(|it| it["reason"]["code"] == "gate_initiated");
    assert_eq!(asked.count(), pages);
    let refused = past.of_kind("gate_decision");
    let refused = refused.filter(|it| it["reason"]["code"] == "invalid_upstream_response");
    assert_eq!(refused.count(), 1);
}

/// The names in a list of tools; `?` for an error in its place.
fn shown(listed: &str) -> Vec<String> {
    let listed = json(listed);
    let Some(result) = listed.get("result") else {
        assert_eq!(listed["error"]["code"], -32603);
        return vec!["?".to_owned()];
    };
    let tools = result["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}
