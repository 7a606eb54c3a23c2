//! Tests of drafts: calls, and what becomes of them. `tests/draft.toml` of a log has those of calls that passed.

use std::collections::BTreeSet;

use super::observation::Observations;
use super::quote;
use super::tool_draft::ToolDraft;
use crate::policy::ServerKey;
use crate::wire::{Document, Fragment, Limits};

/// A call of a test.
#[derive(Debug, Clone, Copy)]
pub(super) struct TestCall<'t> {
    /// Which one of several servers it goes to.
    pub(super) server: Option<&'t ServerKey>,
    pub(super) tool: &'t str,
    pub(super) arguments: Option<&'t str>,
}

/// What becomes of calls of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    Permitted,
    Asks,
    Denied,
}

impl TestCall<'_> {
    /// The tool, in names of tests.
    pub(super) fn shown(&self) -> String {
        let tool = self.tool.escape_debug();
        match self.server {
            Some(key) => format!("{tool} at {key}"),
            None => tool.to_string(),
        }
    }

    /// As the server gets it.
    pub(super) fn message(&self) -> String {
        let tool = Fragment::string(self.tool).into_string();
        let arguments = self.arguments;
        let arguments = arguments.map_or(String::new(), |text| format!(r#","arguments":{text}"#));
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":{tool}{arguments}}}}}"#
        )
    }

    fn test(&self, name: &str, expect: &str, consent: Option<&str>) -> String {
        let consent = consent.map_or(String::new(), |answer| format!("consent = \"{answer}\"\n"));
        let (name, raw) = (quote::toml(name), quote::toml(&self.message()));
        let server = at(self.server);
        format!("\n[[test]]\nname = {name}\n{server}raw = {raw}\n{consent}expect = \"{expect}\"\n")
    }

    pub(super) fn tests(&self, treatment: Treatment) -> String {
        let shown = self.shown();
        match treatment {
            Treatment::Permitted => self.test(&format!("a call of {shown} passes"), "allow", None),
            Treatment::Asks => {
                let agreed = format!("a person may agree to a call of {shown}");
                let alone = format!("a call of {shown} is denied without a person");
                self.test(&agreed, "allow", Some("approve")) + &self.test(&alone, "deny", None)
            }
            Treatment::Denied => {
                let told = format!("a call of {shown} is denied, whatever a person says");
                self.test(&told, "deny", Some("approve"))
            }
        }
    }
}

/// The key of a test that says where it goes.
pub(super) fn at(server: Option<&ServerKey>) -> String {
    server.map_or_else(String::new, |key| {
        format!("server = {}\n", quote::toml(key.as_str()))
    })
}

/// The keys of several servers, which the tests of a file are about.
pub(super) fn servers<'k>(keys: impl Iterator<Item = &'k ServerKey>) -> String {
    let keys: Vec<String> = keys.map(|key| quote::toml(key.as_str())).collect();
    match keys.as_slice() {
        [] => String::new(),
        keys => format!("servers = [{}]\n", keys.join(", ")),
    }
}

/// The test of a tool that is none of the server's.
pub(super) fn unseen(server: Option<&ServerKey>, is_known: impl Fn(&str) -> bool) -> String {
    let mut tool = String::from("unseen");
    while is_known(&tool) {
        tool.push('_');
    }
    let call = TestCall {
        server,
        tool: &tool,
        arguments: None,
    };
    let place = server.map_or_else(String::new, |key| format!(" at {key}"));
    call.test(&format!("an unseen tool{place} is denied"), "deny", None)
}

/// Those of a log.
pub(super) fn tests(seen: &Observations, drafts: &[ToolDraft<'_>], keys: &[ServerKey]) -> String {
    let mut out = String::from(
        "# What passed passes, and what was never seen does not.\n\nsuite = \"draft\"\n",
    );
    out.push_str(&servers(keys.iter()));
    // A call without arguments would not be one of those that a narrow policy permits.
    let has_example =
        |draft: &&ToolDraft<'_>| draft.used.example.is_some() || draft.narrowed.is_empty();
    for draft in drafts.iter().filter(has_example) {
        let call = TestCall {
            server: draft.item.server.as_ref(),
            tool: &draft.item.name,
            arguments: draft.used.example.as_deref(),
        };
        out.push_str(&call.tests(if draft.asks() {
            Treatment::Asks
        } else {
            Treatment::Permitted
        }));
        for (pointer, values) in draft.values() {
            if let Some(arguments) = with_another(call.arguments, pointer, values) {
                let consent = draft.asks().then_some("approve");
                let name = format!(
                    "another value of {} of {} is denied",
                    quote::plain(pointer),
                    call.shown()
                );
                let other = TestCall {
                    arguments: Some(&arguments),
                    ..call
                };
                out.push_str(&other.test(&name, "deny", consent));
            }
        }
    }
    let places = match keys {
        [] => vec![None],
        keys => keys.iter().map(Some).collect(),
    };
    for server in places {
        out.push_str(&unseen(server, |name| {
            let mut tools = seen.tools.keys();
            tools.any(|tool| tool.server.as_ref() == server && tool.name == name)
        }));
    }
    out
}

/// The example with another value at the top-level argument that this pointer names.
fn with_another(
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
    Some(Fragment::object(members).into_string())
}
