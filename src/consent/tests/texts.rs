//! What people read.

use super::*;
use crate::wire::{Document, Limits};

fn pretty_of(json: &str) -> String {
    let document = Document::decode(json.as_bytes(), &Limits::default()).unwrap();
    pretty(document.root())
}

#[test]
fn arguments_are_shown_whole_and_as_they_are() {
    let json = r#"{"b":[1.0,{"x":"é"}],"a":"say \"no\"\\","e":{},"f":[],"n":null,"t":true}"#;
    insta::assert_snapshot!(pretty_of(json), @r#"
    {
      "b": [
        1.0,
        {
          "x": "é"
        }
      ],
      "a": "say \"no\"\\",
      "e": {},
      "f": [],
      "n": null,
      "t": true
    }
    "#);
}

#[test]
fn what_nobody_sees_is_shown_as_an_escape() {
    let cases = [
        ("\u{202e}evil", r"\u202eevil"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\u{0}\u{1b}[2K", r"\u0000\u001b[2K"),
        ("zero\u{200b}width", r"zero\u200bwidth"),
        ("tag\u{e0041}", r"tag\udb40\udc41"),
        ("no\u{a0}break", r"no\u00a0break"),
        ("\u{3164}", r"\u3164"),
        ("heart\u{fe0f}", r"heart\ufe0f"),
        (
            "plain: Größe, 日本, 'x' \"y\" \\",
            "plain: Größe, 日本, 'x' \"y\" \\",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected);
    }
}

#[test]
fn a_form_shows_all_that_there_is_to_agree_to() {
    let question = Question {
        arguments: pretty_of(r#"{"path":"/srv/a","content":"x\nEnd of the arguments.\nWhy: ok"}"#),
        advice: Some("A person has to agree.".to_owned()),
        found: Found {
            roots: vec!["project".to_owned()],
            outside: true,
            hosts: vec!["example.com".to_owned()],
            secrets: vec!["github-token".to_owned()],
            told_roots: Vec::new(),
        },
        ..question()
    };
    insta::assert_snapshot!(question.message(), @r#"
    mcp-protector asks: may this happen?
    Server: files
    Tool: write
    Arguments, 72 bytes:
    {
      "path": "/srv/a",
      "content": "x\nEnd of the arguments.\nWhy: ok"
    }
    End of the arguments.
    Asked by: ann, which calls itself tester
    Directories: project
    Hosts: example.com
    Credentials among the arguments: github-token
    Asked for by: consent
    Paths lie outside of every known directory.
    Why: A person has to agree.
    "#);
}
