//! `[extensions]`: which names can be listed.

use super::*;
use crate::wire::ListedMethod;

#[test]
fn methods_are_listed_by_their_exact_names() {
    let text = "[upstream]\ncommand = ['s']\n[policy]\nallow = []\n[extensions]\nmethods = ";
    let names = |text: &str| -> Vec<&str> {
        let config = valid(text);
        config.extensions.iter().map(ListedMethod::name).collect()
    };
    let listed = "['resources/directory/read', 'notifications/vendor/x']";
    assert_eq!(
        names(&format!("{text}{listed}")),
        ["resources/directory/read", "notifications/vendor/x"]
    );
    assert!(names(&format!("{text}[]")).is_empty());
}

#[test]
fn every_name_that_cannot_be_listed_is_told_at_once() {
    let text = "[upstream]\ncommand = ['s']\n[policy]\nallow = []\n[extensions]\nmethods = ['', \
                'Tools/Call', 'skills/list', 'skills/List', 'x/get', 'x/get', 'a b', 'tasks/steal', \
                'caf\u{e9}', 'tools/call/x']\n";
    let told = render(&parse(text).unwrap_err());
    for reason in [
        "is empty",
        "can be taken for `tools/call`",
        "can be taken for `skills/list`",
        "is listed twice",
        "ASCII letters",
        "is about tasks",
        "lies below `tools/call`",
    ] {
        assert!(told.contains(reason), "{reason}: {told}");
    }
}

#[test]
fn types_of_results_are_listed_by_their_exact_names() {
    let text = "[upstream]\ncommand = ['s']\n[policy]\nallow = []\n[extensions]\nresult_types = ";
    let extensions = valid(&format!("{text}['vendor/deferred', 'partial']")).extensions;
    assert!(extensions.has_result_type("partial") && !extensions.has_result_type("Partial"));
    let told = render(
        &parse(&format!(
            "{text}['', 'complete', 'Input-Required', 'a b', 'x', 'x', 'p/q', 'P/Q']"
        ))
        .unwrap_err(),
    );
    for reason in [
        "extensions.result_types[0]",
        "is empty",
        "is a type of results that the gate knows itself",
        "can be taken for `input_required`",
        "ASCII letters",
        "is listed twice",
        "can be taken for `p/q`",
    ] {
        assert!(told.contains(reason), "{reason}: {told}");
    }
}
