//! The permitted imports of each component; `docs/architecture.md` links here.

use crate::{tokens, tree};

/// What a component may import, besides itself.
enum May {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// `config` fills each component's `Settings` and so reaches most of them.
const TABLE: [(&str, May); 38] = [
    ("unseen", May::Only(&[])),
    ("secret", May::Only(&[])),
    ("wire", May::Only(&["unseen", "memory"])),
    ("clients", May::Only(&[])),
    ("clock", May::Only(&[])),
    ("directories", May::Only(&[])),
    ("mailbox", May::Only(&[])),
    ("memory", May::Only(&[])),
    ("once", May::Only(&[])),
    ("mcp", May::Only(&[])),
    ("assertion", May::Only(&["clock"])),
    ("policy", May::Only(&["unseen"])),
    ("guard", May::Only(&["wire", "policy", "unseen"])),
    (
        "session",
        May::Only(&["guard", "wire", "clock", "policy", "assertion"]),
    ),
    (
        "audit",
        May::Only(&["wire", "policy", "clock", "secret", "unseen"]),
    ),
    ("loading", May::Only(&["policy", "audit", "wire", "unseen"])),
    (
        "consent",
        May::Only(&["wire", "session", "policy", "clock", "unseen"]),
    ),
    (
        "gate",
        May::Only(&[
            "wire",
            "session",
            "policy",
            "guard",
            "consent",
            "audit",
            "clock",
            "unseen",
            "memory",
            "mcp",
            "assertion",
            "directories",
        ]),
    ),
    ("outward", May::Only(&[])),
    ("inward", May::Only(&[])),
    ("egress", May::Only(&["inward", "outward"])),
    (
        "upstream",
        May::Only(&[
            "gate", "wire", "clock", "outward", "egress", "secret", "unseen", "mailbox", "memory",
            "once",
        ]),
    ),
    (
        "identity",
        May::Only(&["wire", "clock", "outward", "secret", "policy"]),
    ),
    (
        "agent",
        May::Only(&[
            "gate", "session", "wire", "identity", "inward", "mailbox", "memory", "mcp",
        ]),
    ),
    (
        "admin",
        May::Only(&[
            "agent", "audit", "clock", "consent", "identity", "inward", "memory", "wire",
        ]),
    ),
    (
        "telemetry",
        May::Only(&["audit", "outward", "wire", "clock", "unseen"]),
    ),
    (
        "bridge",
        May::Only(&["gate", "session", "wire", "clock", "mcp"]),
    ),
    (
        "unified",
        May::Only(&["gate", "mailbox", "wire", "mcp", "policy"]),
    ),
    (
        "drafts",
        May::Only(&["audit", "policy", "guard", "session", "wire", "unseen"]),
    ),
    ("findings", May::Only(&["unseen"])),
    ("lint", May::Only(&["policy", "unseen", "mcp"])),
    ("policy_tests", May::AllBut(&["agent", "upstream", "cli"])),
    ("explain", May::AllBut(&["agent", "upstream", "cli"])),
    ("config", May::AllBut(&["cli", "policy_tests", "explain"])),
    ("shutdown", May::Only(&["clock", "once"])),
    ("cli", May::AllBut(&[])),
    ("main", May::AllBut(&[])),
    ("lib", May::Only(&[])),
];

impl May {
    fn import(&self, component: &str) -> bool {
        match self {
            Self::Only(these) => these.contains(&component),
            Self::AllBut(these) => !these.contains(&component),
        }
    }
}

/// The component that a file below `src` is part of.
fn component(path: &str) -> &str {
    let path = path.strip_prefix("src/").unwrap();
    path.split_once('/')
        .map_or(path.trim_end_matches(".rs"), |(component, _)| component)
}

/// Modules between the crate's root and what a file holds.
fn depth(path: &str) -> usize {
    let path = path.strip_prefix("src/").unwrap();
    let names = path.split('/').count();
    if path.ends_with("/mod.rs") {
        names - 1
    } else {
        names
    }
}

/// The components that code names by `crate::`, however it is spelt.
fn imports(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, word) in code.match_indices("crate") {
        let (before, rest) = code.split_at(at);
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = rest.split_at(word.len()).1.trim_start().strip_prefix("::");
        let Some(rest) = rest.map(str::trim_start) else {
            continue;
        };
        match rest.strip_prefix('{') {
            None => found.push(first_word(rest)),
            Some(group) => found.extend(heads(group)),
        }
    }
    found
}

/// The first word of each item of a group whose opening brace is gone.
fn heads(group: &str) -> Vec<&str> {
    let mut found = vec![first_word(group)];
    let mut depth = 1;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => found.push(first_word(group.split_at(at + 1).1)),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    text.split_at(end).0
}

/// The most `super::` in a row.
fn supers(code: &str) -> usize {
    let packed: String = code.split_whitespace().collect();
    (1..=8)
        .take_while(|&n| packed.contains(&"super::".repeat(n)))
        .count()
}

fn problems(path: &str, text: &str) -> Vec<String> {
    let code = tokens::code(text);
    let code = tokens::without_tests(&code);
    let own = component(path);
    let Some((_, may)) = TABLE.iter().find(|(component, _)| *component == own) else {
        return vec![format!("{path}: `{own}` is not in the table of components")];
    };
    let mut problems: Vec<String> = imports(code)
        .into_iter()
        .filter(|&other| other != own && is_component(other) && !may.import(other))
        .map(|other| format!("{path}: `{own}` may not import `{other}`"))
        .collect();
    if supers(code) >= depth(path) {
        problems.push(format!(
            "{path}: `super` leaves the component; write `crate::…`"
        ));
    }
    problems
}

/// Other names after `crate::` are the crate's macros.
fn is_component(name: &str) -> bool {
    TABLE.iter().any(|(component, _)| *component == name)
}

#[test]
fn components_import_only_what_the_architecture_lets_them() {
    let problems: Vec<String> = tree::rust()
        .iter()
        .filter(|(path, _)| path.starts_with("src/") && !tokens::is_test_file(path))
        .flat_map(|(path, text)| problems(path, text))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn an_import_is_found_however_it_is_written() {
    let check = |path: &str, text: &str, problem: Option<&str>| {
        let found = problems(path, text);
        let hit = problem.is_none_or(|problem| found.iter().any(|found| found.contains(problem)));
        assert!(
            hit && found.len() == usize::from(problem.is_some()),
            "{text}: {found:?}"
        );
    };
    check("src/wire/json.rs", "use crate::wire::Id;", None);
    check(
        "src/wire/json.rs",
        "use crate::clock::Clock;",
        Some("may not import `clock`"),
    );
    check(
        "src/wire/json.rs",
        "fn f(c: &dyn crate :: clock::Clock)",
        Some("`clock`"),
    );
    check(
        "src/audit/line.rs",
        "use crate::{clock::Clock, wire::{Id, Message}};",
        None,
    );
    check(
        "src/audit/line.rs",
        "use crate::{\n  wire::{Id},\n  gate::Gate,\n};",
        Some("`gate`"),
    );
    check(
        "src/audit/line.rs",
        "pub(crate) use super::sink::Lane;",
        None,
    );
    check(
        "src/audit/line.rs",
        "use super::super::gate::Gate;",
        Some("`super` leaves"),
    );
    check(
        "src/audit/mod.rs",
        "use super::gate::Gate;",
        Some("`super` leaves"),
    );
    check(
        "src/clock.rs",
        "use super::gate::Gate;",
        Some("`super` leaves"),
    );
    check("src/policy/mod.rs", "/// See [`crate::gate`].\n", None);
    check(
        "src/policy/mod.rs",
        "x\n#[cfg(test)]\nmod tests {\nuse crate::gate;\n}",
        None,
    );
    check(
        "src/cli/proxy.rs",
        "use crate::{agent, upstream, policy_tests};",
        None,
    );
    check(
        "src/policy_tests/run.rs",
        "use crate::upstream;",
        Some("`upstream`"),
    );
    check("src/config/resolve.rs", "use crate::audit::Settings;", None);
    check("src/extra/mod.rs", "", Some("not in the table"));
}
