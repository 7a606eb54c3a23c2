//! Words that had another name before, and the contracts that keep theirs.

use crate::tree;

const PLACES: [&str; 9] = [
    "src",
    "docs",
    "tests",
    "policies",
    "fixtures",
    "benches",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
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

/// Parts that have names of their own.
const OTHER_PARTS: [&str; 8] = [
    "src/agent/",
    "src/bridge/",
    "src/cli/proxy",
    "src/consent/",
    "src/gate/",
    "src/inward/",
    "src/session/",
    "src/upstream/",
];

/// Names of types that do not say what the type is: participles, verbs and words without a noun.
const TYPES: [&str; 52] = [
    "About",
    "Against",
    "Asked",
    "At",
    "Begun",
    "Below",
    "Brought",
    "Came",
    "Carrier",
    "Chance",
    "Cleaned",
    "Doubt",
    "Effort",
    "Fate",
    "Found",
    "Given",
    "Glance",
    "Gone",
    "Got",
    "Guise",
    "Heard",
    "Held",
    "Idle",
    "Judged",
    "Kept",
    "Kind",
    "Known",
    "Listed",
    "Look",
    "Lost",
    "Meant",
    "Misfit",
    "Odd",
    "Outlook",
    "Part",
    "Place",
    "Placed",
    "Rehearsal",
    "Said",
    "Saw",
    "Say",
    "Says",
    "Seen",
    "Sight",
    "Spot",
    "State",
    "Taken",
    "Told",
    "Unsayable",
    "Wanted",
    "Who",
    "Written",
];

/// Names of files that are no nouns.
const MODULES: [&str; 31] = [
    "again",
    "apart",
    "below",
    "brings",
    "certain",
    "doubt",
    "effort",
    "ends",
    "given",
    "glance",
    "got",
    "held",
    "idle",
    "known",
    "look",
    "looked",
    "lost",
    "moving",
    "narrow",
    "never_said",
    "odd",
    "others",
    "own",
    "places",
    "said",
    "seen",
    "sights",
    "told",
    "unmet",
    "way",
    "whole",
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

/// Types and files with a name that says nothing of them.
fn vague_names(path: &str, text: &str) -> Vec<String> {
    let module = path.rsplit('/').next().unwrap_or(path);
    let module = module.strip_suffix(".rs").unwrap_or(module);
    let mut problems: Vec<String> = Vec::new();
    if MODULES.contains(&module) {
        problems.push(format!("{path}: the file"));
    }
    for (number, line) in text.lines().enumerate() {
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        let mut words = words.filter(|word| !word.is_empty() && !word.starts_with("pub"));
        let mut kind = words.next();
        if matches!(kind, Some("super" | "crate")) {
            kind = words.next();
        }
        let is_type = matches!(kind, Some("struct" | "enum" | "trait" | "type"));
        if let Some(name) = words.next().filter(|name| is_type && TYPES.contains(name)) {
            problems.push(format!("{path}:{}: {name}", number + 1));
        }
    }
    problems
}

#[test]
fn types_and_files_have_names_that_say_what_they_are() {
    let texts = tree::rust();
    let texts = texts
        .iter()
        .filter(|(path, _)| path.starts_with("src/"))
        .filter(|(path, _)| !OTHER_PARTS.iter().any(|part| path.contains(part)));
    let problems: Vec<String> = texts
        .flat_map(|(path, text)| vague_names(path, text))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_vague_name_is_found_where_it_is_defined() {
    let check = |path: &str, line: &str, found: usize| {
        assert_eq!(vague_names(path, line).len(), found, "{path}: {line}");
    };
    check("src/lint/mod.rs", "pub(super) struct Found {", 1);
    check("src/lint/mod.rs", "    enum Kind<'e> {", 1);
    check("src/lint/mod.rs", "let found: Found = Found::new();", 0);
    check("src/lint/mod.rs", "struct FoundFile {", 0);
    check("src/lint/said.rs", "struct Finding {", 1);
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
