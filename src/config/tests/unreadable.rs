//! Text that is not TOML, or holds a key twice: what is told, and that nothing of it is accepted.

use proptest::prelude::*;

use super::{check, check_rest, parse, render};

#[test]
fn a_key_may_stand_once() {
    check_rest(
        "[policy]\nallow = [\"a\"]\nallow = [\"b\"]",
        &["4 policy.allow: defined twice"],
    );
    check_rest("[policy]\n[audit]\n[policy]", &["4 policy: defined twice"]);
    check_rest(
        "[upstream.env]\nA = \"1\"\nB = \"2\"\nA = \"3\"",
        &["5 upstream.env.A: defined twice"],
    );
    check_rest(
        "upstream.env = { A = \"1\", A = \"2\" }",
        &["2 upstream.env.A: defined twice"],
    );
    check_rest(
        "upstream.command = [\"b\"]",
        &["2 upstream.command: defined twice"],
    );
    check_rest(
        "\"upstream\".command = [\"b\"]",
        &["2 upstream.command: defined twice"],
    );
}

#[test]
fn the_first_of_two_is_pointed_at() {
    let cases = [
        ("[policy]\nallow = []\ndir = \"x\"\nallow = []", 9..14),
        ("[policy]\nallow = []\n[audit]\n[policy]", 1..7),
        ("[a]\nx = 1\nb = { x = 2 }\nx = 3", 4..5),
        ("a = { x = 1, b = { x = 2 }, x = 3 }", 6..7),
    ];
    for (text, first) in cases {
        let errors = parse(text).expect_err(text);
        let twice = |problem: &&crate::config::ConfigError| problem.labels.len() == 2;
        let problem = errors.problems().iter().find(twice).expect(text);
        assert_eq!(problem.labels[1].0, first, "{text}");
    }
}

#[test]
fn syntax_errors_are_told_with_whatever_else_can_be_read() {
    check(
        "[upstream]\ncommand = npx\n[listen]\ntransprt = \"stdio\"",
        &[
            "2 upstream.command: text must be quoted",
            "4 listen.transprt: unknown key",
        ],
    );
    check(
        "[upstream]\ncommand = [\"a\"]\nname = \"x\n[policy]\nallow = [\"\"]",
        &[
            "3 upstream.name: invalid basic string, expected `\"`",
            "5 policy.allow[0]: expected the name of a tool",
        ],
    );
    check(
        "[upstream\ncommand = [\"a\"]",
        &["1 unclosed table, expected `]`"],
    );
    check(
        "[upstream]\ncommand",
        &["2 key with no value, expected `=`"],
    );
    check(
        "[upstream]\ncommand = [\"npx\",\n[policy]\nallow = [\"a\"]",
        &["2 upstream.command: unclosed array, expected `]`"],
    );
    check_rest(
        "upstream.env = { A = \"1\"\n[policy]\nallow = [\"a\"]",
        &["2 upstream.env: unclosed inline table, expected `}`"],
    );
    check_rest(
        "policy.allow = [read, write]",
        &["2 policy.allow: string values must be quoted, expected literal string"; 2],
    );
    check_rest("audit.file = True", &["2 audit.file: text must be quoted"]);
    check_rest(
        "audit.file = 1979-13-01",
        &["2 audit.file: invalid date, expected month between 01 and 12"],
    );
}

#[test]
fn nesting_is_bounded() {
    let text = format!("a = {}{}", "[".repeat(2000), "]".repeat(2000));
    let errors = parse(&text).expect_err("too deep");
    assert!(
        errors
            .problems()
            .iter()
            .any(|it| it.to_string().contains("recurs")),
        "{errors:?}"
    );
    let text = format!("{}a = 1", "a.".repeat(500));
    assert!(parse(&text).is_err());
}

#[test]
fn a_file_full_of_mistakes_is_refused_without_telling_each() {
    let lines = [
        "[a]\n",
        "a\n",
        "a = \n",
        "= 1\n",
        "a = {\n",
        "a = [\n",
        "\"\n",
        "a.b = 1\n",
    ];
    for line in lines {
        let errors = parse(&line.repeat(100_000 / line.len())).expect_err(line);
        assert!((1..=100).contains(&errors.problems().len()), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_either_valid_or_refused_with_a_report(text in "\\PC{0,200}") {
        either_valid_or_refused(&text)?;
    }

    #[test]
    fn any_arrangement_of_toml_pieces_is_either_valid_or_refused(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24),
    ) {
        either_valid_or_refused(&pieces.concat())?;
    }
}

fn either_valid_or_refused(text: &str) -> Result<(), TestCaseError> {
    match parse(text) {
        // Whatever the parser recovers from, it is never accepted.
        Ok(_) => prop_assert!(toml::from_str::<toml::Table>(text).is_ok()),
        Err(errors) => {
            prop_assert!(!errors.problems().is_empty());
            render(&errors);
        }
    }
    Ok(())
}

/// What TOML and `gate.toml` are made of, whole and in halves.
const PIECES: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    " = ",
    ".",
    ",",
    "#",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "\\",
    "\\u0000",
    "upstream",
    "command",
    "policy",
    "allow",
    "limits",
    "env",
    "tool_timeouts",
    "version",
    "[upstream]\n",
    "[policy]\n",
    "[upstream.env]\n",
    "[limits]\n",
    "command = [\"server\"]\n",
    "allow = [\"a\"]\n",
    "\"a\"",
    "'b'",
    "1",
    "-0x1",
    "1.5",
    "true",
    "1979-05-27",
    "nan",
    "${",
    "${HOME}",
    "$${",
    "é",
    "\u{feff}",
    "\u{2028}",
    "\u{1F512}",
    "_",
    "\0",
];
