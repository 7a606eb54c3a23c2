//! `tests/draft.toml`: what passed passes, and what was never seen does not.

use std::collections::BTreeSet;

use super::observation::Observations;
use super::quote;
use super::tool_draft::ToolDraft;
use crate::wire::{Document, Fragment, Limits};

pub(super) fn tests(seen: &Observations, drafts: &[ToolDraft<'_>]) -> String {
    let mut out = String::from(
        "# What passed passes, and what was never seen does not.\n\nsuite = \"draft\"\n",
    );
    // A call without arguments would not be one of those that a narrow policy permits.
    let has_example =
        |draft: &&ToolDraft<'_>| draft.used.example.is_some() || draft.narrowed.is_empty();
    for draft in drafts.iter().filter(has_example) {
        let name = quote::plain(draft.name);
        let arguments = draft.used.example.as_deref();
        let frame = call(draft.name, arguments);
        if draft.asks() {
            out.push_str(&test(
                &format!("a person may agree to a call of {name}"),
                &frame,
                "allow",
                Some("approve"),
            ));
            out.push_str(&test(
                &format!("a call of {name} is denied without a person"),
                &frame,
                "deny",
                None,
            ));
        } else {
            out.push_str(&test(
                &format!("a call of {name} passes"),
                &frame,
                "allow",
                None,
            ));
        }
        for (pointer, values) in draft.values() {
            if let Some(frame) = with_another(draft.name, arguments, pointer, values) {
                let consent = draft.asks().then_some("approve");
                let name = format!(
                    "another value of {} of {name} is denied",
                    quote::plain(pointer)
                );
                out.push_str(&test(&name, &frame, "deny", consent));
            }
        }
    }
    let mut unseen = String::from("unseen");
    while seen.tools.contains_key(&unseen) {
        unseen.push('_');
    }
    out.push_str(&test(
        "an unseen tool is denied",
        &call(&unseen, None),
        "deny",
        None,
    ));
    out
}

pub(super) fn test(name: &str, frame: &str, expect: &str, consent: Option<&str>) -> String {
    let consent = consent.map_or(String::new(), |answer| format!("consent = \"{answer}\"\n"));
    let (name, frame) = (quote::toml(name), quote::toml(frame));
    format!("\n[[test]]\nname = {name}\nraw = {frame}\n{consent}expect = \"{expect}\"\n")
}

pub(super) fn call(tool: &str, arguments: Option<&str>) -> String {
    let tool = Fragment::string(tool).into_string();
    let arguments = arguments.map_or(String::new(), |text| format!(r#","arguments":{text}"#));
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":{tool}{arguments}}}}}"#
    )
}

/// The example with another value at the top-level argument that this pointer names.
fn with_another(
    tool: &str,
    arguments: Option<&str>,
    pointer: &str,
    values: &BTreeSet<String>,
) -> Option<String> {
    let name = pointer
        .strip_prefix('/')
        .filter(|name| !name.contains('/'))?;
    let name = name.replace("~1", "/").replace("~0", "~");
    let decoded = Document::decode(arguments?.as_bytes(), &Limits::default()).ok()?;
    let mut another = String::from("unseen");
    while values.contains(&another) {
        another.push('_');
    }
    let members = decoded.root().entries().map(|(key, value)| {
        let value = if *key == *name {
            Fragment::string(&another)
        } else {
            Fragment::copy_of(value)
        };
        (key.into_owned(), value)
    });
    let members: Vec<(String, Fragment)> = members.collect();
    let members = members
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()));
    Some(call(tool, Some(&Fragment::object(members).into_string())))
}
