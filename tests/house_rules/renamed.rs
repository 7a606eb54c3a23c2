//! Words that had another name before, and the contracts that keep theirs.

use crate::tree;

const PLACES: [&str; 7] = [
    "src",
    "docs",
    "tests",
    "policies",
    "fixtures",
    "benches",
    "README.md",
];

/// Files that name an old word to answer it with the new one, or to test that.
const ANSWER: [&str; 7] = [
    "src/config/suggest.rs",
    "src/policy/engines/cedar/annotations.rs",
    "src/policy/engines/cedar/hints.rs",
    "src/policy/engines/cedar/tests/diagnostics.rs",
    "src/policy/engines/cedar/tests/typed.rs",
    "src/policy_tests/section.rs",
    "tests/house_rules/renamed.rs",
];

/// Old words, each of which stands for nothing else.
const OLD: [&str; 47] = [
    "@on_deny",
    "[guards.excerpts",
    "ambiguous-argument",
    "audit-fault",
    "bad-reply",
    "because_exactly",
    "body-broken",
    "body-late",
    "budget-spent",
    "budget_spent",
    "called-again",
    "cancelled-in-time",
    "candidate-refused",
    "consent_changed",
    "consent_too_long",
    "consent_used",
    "context.args.",
    "context.touch",
    "drain_deadline",
    "engine-fault",
    "first-use\"",
    "foreign-state",
    "guards.secrets_sent",
    "keys-unavailable",
    "lint_allow",
    "mcp_protector_frames_refused",
    "mcp_protector_upstream_events",
    "not-permitted",
    "obligation_label",
    "obligation_raise",
    "on_removal =",
    "own-catalogue",
    "own-handshake",
    "page-host",
    "policy::no_pointer",
    "policy::restless",
    "policy::unread",
    "ratchet-fault",
    "ratchet-full",
    "ratchet.closed",
    "ratchet_full",
    "reused-id",
    "secret-asked",
    "shadow.would",
    "trust_sampled",
    "upstream_event",
    "while-sampling",
];

/// Words of commands, configuration, audit and log that do not change, and a file that has each.
const CONTRACTS: [(&str, &str); 24] = [
    ("proxy", "README.md"),
    ("validate-config", "README.md"),
    ("test-policy", "README.md"),
    ("explain", "README.md"),
    ("--config", "README.md"),
    ("[upstream]", "docs/gate.toml"),
    ("[listen]", "docs/gate.toml"),
    ("[policy]", "docs/gate.toml"),
    ("url = ", "docs/gate.toml"),
    ("command = ", "docs/gate.toml"),
    ("transport = \"stdio\"", "docs/gate.toml"),
    ("transport = \"http\"", "docs/gate.toml"),
    ("port = ", "docs/gate.toml"),
    ("allow = ", "docs/gate.toml"),
    ("type = \"bearer\"", "docs/gate.toml"),
    ("\"session_id\"", "docs/schema/audit.schema.json"),
    ("\"upstream\"", "docs/schema/audit.schema.json"),
    ("\"tool_call\"", "docs/schema/audit.schema.json"),
    ("\"tools_list\"", "docs/schema/audit.schema.json"),
    (
        "[\"ALLOW\", \"BLOCK\", \"ERROR\"]",
        "docs/schema/audit.schema.json",
    ),
    ("consent_denied", "docs/schema/audit.schema.json"),
    ("consent_timeout", "docs/schema/audit.schema.json"),
    ("[FATAL] ", "docs/limits.md"),
    ("-32601", "docs/config-schema.md"),
];

fn problems(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let found = lines.flat_map(|(number, line)| {
        let words = OLD.iter().filter(move |word| stands_alone(line, word));
        words.map(move |word| format!("{path}:{}: {word}", number + 1))
    });
    found.collect()
}

/// Not as a part of a longer word.
fn stands_alone(line: &str, word: &str) -> bool {
    let is_of_a_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, rest) = line.split_at(at);
        let after = rest.strip_prefix(word).unwrap_or(rest);
        let begins = !word.starts_with(is_of_a_word) || !before.ends_with(is_of_a_word);
        let ends = !word.ends_with(is_of_a_word) || !after.starts_with(is_of_a_word);
        begins && ends
    })
}

#[test]
fn no_old_word_comes_back() {
    let texts = tree::texts(&PLACES);
    let texts = texts
        .iter()
        .filter(|(path, _)| !ANSWER.iter().any(|answer| path.ends_with(answer)));
    let problems: Vec<String> = texts
        .flat_map(|(path, text)| problems(path, text))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn an_old_word_is_found_and_a_longer_one_is_not() {
    let check = |line: &str, found: usize| assert_eq!(problems("f", line).len(), found, "{line}");
    check("when { context.touch.outside }", 1);
    check("`upstream_event` and `budget-spent`", 2);
    check("fn upstream_events()", 0);
    check("context.targets, on_policy_removal = \"reject\"", 0);
}

#[test]
fn the_words_of_the_contracts_are_there() {
    let texts = tree::texts(&["docs", "README.md"]);
    for (word, file) in CONTRACTS {
        let text = texts.iter().find(|(path, _)| path.ends_with(file));
        let (_, text) = text.unwrap_or_else(|| panic!("{file}"));
        assert!(text.contains(word), "{file} lacks {word}");
    }
}
