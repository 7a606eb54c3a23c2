use super::*;

fn document(text: &str) -> Document {
    Document::decode(text.as_bytes(), &Limits::default()).unwrap()
}

fn compiled(schema: &str) -> Result<Schema, SchemaProblem> {
    Schema::compile(document(schema).root())
}

fn check(schema: &str, value: &str) -> Result<(), Violation> {
    let schema = compiled(schema).unwrap_or_else(|problem| panic!("{schema}: {problem}"));
    schema.check(document(value).root())
}

const FILE: &str = r#"{"type":"object","properties":{"path":{"type":"string","pattern":"^/srv/"},
    "depth":{"type":"integer","maximum":3},"tags":{"type":"array","items":{"enum":["a","b"]}}},
    "required":["path"],"additionalProperties":false}"#;

#[test]
fn a_value_that_fits_passes_and_one_that_does_not_is_told_where_and_by_which_rule() {
    for (value, told) in [
        (r#"{"path":"/srv/a"}"#, None),
        (r#"{"path":"/srv/a","depth":3,"tags":["a","b"]}"#, None),
        (r#"{"depth":1}"#, Some(("", "/required"))),
        (
            r#"{"path":"/etc"}"#,
            Some(("/path", "/properties/path/pattern")),
        ),
        (
            r#"{"path":["/srv/a"]}"#,
            Some(("/path", "/properties/path/type")),
        ),
        (
            r#"{"path":"/srv/a","depth":4}"#,
            Some(("/depth", "/properties/depth/maximum")),
        ),
        (
            r#"{"path":"/srv/a","depth":1.5}"#,
            Some(("/depth", "/properties/depth/type")),
        ),
        (
            r#"{"path":"/srv/a","tags":["a","c"]}"#,
            Some(("/tags/1", "/properties/tags/items/enum")),
        ),
        (
            r#"{"path":"/srv/a","pth":1}"#,
            Some(("", "/additionalProperties")),
        ),
        ("[]", Some(("", "/type"))),
    ] {
        let got = check(FILE, value);
        match (got, told) {
            (Ok(()), None) => {}
            (Err(Violation::Broken { at, rule, .. }), Some((place, by))) => {
                assert_eq!((&*at, &*rule), (place, by), "{value}");
            }
            (got, told) => panic!("{value}: {got:?} instead of {told:?}"),
        }
    }
}

#[test]
fn what_is_told_quotes_no_value() {
    for value in [
        r#"{"path":"sekret"}"#,
        r#"{"path":"/srv/a","tags":["sekret"]}"#,
    ] {
        let told = check(FILE, value).unwrap_err().to_string();
        assert!(!told.contains("sekret"), "{told}");
    }
}

#[test]
fn numbers_are_compared_as_what_they_are() {
    let schema = r#"{"properties":{"n":{"maximum":10}}}"#;
    for (number, fits) in [
        ("10", true),
        ("-0", true),
        ("1e1", true),
        ("11", false),
        ("18446744073709551615", false),
        ("18446744073709551616", false),
        ("-9223372036854775809", true),
        ("-1e400", true),
        ("1e400", false),
    ] {
        let got = check(schema, &format!(r#"{{"n":{number}}}"#));
        assert_eq!(got.is_ok(), fits, "{number}: {got:?}");
    }
}

#[test]
fn nothing_outside_a_schema_is_asked_for() {
    for (schema, lost) in [
        (r#"{"$ref":"http://127.0.0.1:1/x"}"#, "http://127.0.0.1:1/x"),
        (
            r#"{"properties":{"a":{"$ref":"other.json#/a"}}}"#,
            "other.json#/a",
        ),
        (
            r#"{"items":{"$ref":"file:///etc/passwd"}}"#,
            "file:///etc/passwd",
        ),
        (r##"{"allOf":[{"$ref":"#/$defs/none"}]}"##, "#/$defs/none"),
        (r##"{"$dynamicRef":"#none"}"##, "#none"),
        (
            r##"{"$defs":{"a":{"$id":"http://a/","$ref":"#/x"}},"x":{}}"##,
            "http://a/",
        ),
        // Where others would look elsewhere than the count does.
        (
            r##"{"allOf":[{"$ref":"#x"}],"$defs":{"a":{"$anchor":"x"}},"zzz":{"$anchor":"x"}}"##,
            "x",
        ),
        (
            r##"{"$defs":{"default":{"$id":"http://b/","$ref":"#/x"}},"x":{}}"##,
            "http://b/",
        ),
        (
            r#"{"$schema":"http://json-schema.org/draft-04/schema#","definitions":{"a":{"id":"http://c/"}}}"#,
            "http://c/",
        ),
        (
            r##"{"$defs":{"a b":{}},"$ref":"#/$defs/a%20b"}"##,
            "#/$defs/a%20b",
        ),
    ] {
        let lost = SchemaProblem::Reference(lost.to_owned());
        assert_eq!(compiled(schema).unwrap_err(), lost, "{schema}");
    }
    let meta = compiled(r#"{"$schema":"http://127.0.0.1:1/meta","type":"object"}"#);
    assert!(
        matches!(meta, Err(SchemaProblem::Invalid { .. })),
        "{meta:?}"
    );
}

#[test]
fn references_within_a_schema_are_followed() {
    let tree = r##"{"$defs":{"node":{"$anchor":"n","type":"object","properties":{"next":{"$ref":"#n"},
        "value":{"$ref":"#/$defs/b~1c"}}},"b/c":{"type":"string"}},"$ref":"#/$defs/node"}"##;
    let deep = format!("{}{}", r#"{"next":"#.repeat(40), "{}") + &"}".repeat(40);
    assert_eq!(check(tree, &deep), Ok(()));
    assert!(check(tree, r#"{"next":{"next":{"value":1}}}"#).is_err());
}

#[test]
fn schemas_of_older_drafts_are_read_as_they_say() {
    let draft_7 = r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],
        "additionalItems":false}"#;
    assert_eq!(check(draft_7, r#"["a"]"#), Ok(()));
    assert!(check(draft_7, r#"["a","b"]"#).is_err());
    let now = r#"{"prefixItems":[{"type":"string"}],"items":false}"#;
    assert_eq!(check(now, r#"["a"]"#), Ok(()));
    assert!(check(now, r#"["a","b"]"#).is_err());
}

#[test]
fn a_schema_that_would_be_followed_without_end_is_not() {
    let doubling = |levels: usize| {
        let level = |at: usize| {
            let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, at + 1);
            format!(r#""d{at}":{{"allOf":[{next},{next}]}}"#)
        };
        let defs: Vec<String> = (0..levels).map(level).collect();
        format!(
            r##"{{"$defs":{{{},"d{levels}":{{}}}},"$ref":"#/$defs/d0"}}"##,
            defs.join(",")
        )
    };
    assert_eq!(check(&doubling(10), "{}"), Ok(()));
    for (name, schema, value) in [
        ("doubling", doubling(60), "{}".to_owned()),
        ("circle", r##"{"$ref":"#"}"##.to_owned(), "{}".to_owned()),
        (
            "two circles in a deep value",
            r##"{"properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##.to_owned(),
            format!("{}1{}", r#"{"a":"#.repeat(50), "}".repeat(50)),
        ),
        (
            "many patterns and many names",
            format!(
                r#"{{"patternProperties":{{{}}}}}"#,
                (0..100)
                    .map(|at| format!(r#""x{at}$":{{}}"#))
                    .collect::<Vec<_>>()
                    .join(",")
            ),
            format!(
                "{{{}}}",
                (0..20_000)
                    .map(|at| format!(r#""n{at}":1"#))
                    .collect::<Vec<_>>()
                    .join(",")
            ),
        ),
        (
            "doubling among names that are no schemas elsewhere",
            doubling(60).replace(r#""$defs":{"#, r#""$defs":{"default":{"$anchor":"y"},"#),
            "{}".to_owned(),
        ),
        (
            "many comparisons with what is large",
            format!(
                r#"{{"$defs":{{"e":{{"enum":[[{}]]}}}},"allOf":[{}]}}"#,
                vec!["1"; 2000].join(","),
                vec![r##"{"$ref":"#/$defs/e"}"##; 120].join(",")
            ),
            format!("[{}]", vec!["1"; 2000].join(",")),
        ),
        (
            "a pattern that repeats a counted number of times",
            r#"{"pattern":"[ab]*a[ab]{100}c"}"#.to_owned(),
            format!(r#""{}""#, "ab".repeat(200_000)),
        ),
        (
            "a long text in many branches",
            format!(
                r#"{{"allOf":[{}]}}"#,
                vec![r#"{"pattern":"(a|b)*c$"}"#; 100].join(",")
            ),
            format!(r#""{}""#, "ab".repeat(400_000)),
        ),
    ] {
        assert_eq!(check(&schema, &value), Err(Violation::TooMuch), "{name}");
    }
}

#[test]
fn patterns_match_in_linear_time_and_have_an_end() {
    for text in ["aaaa".to_owned(), "a".repeat(100_000)] {
        // One that backtracks does not come to an end with the `b`.
        for (text, fits) in [
            (format!("\"{text}\""), true),
            (format!("\"{text}b\""), false),
        ] {
            match check(r#"{"pattern":"^(a+)+$"}"#, &text) {
                Ok(()) => assert!(fits),
                Err(Violation::Broken { rule, .. }) => {
                    assert!(!fits && rule == "/pattern", "{rule}");
                }
                Err(Violation::TooMuch) => panic!("a text of {} bytes is too much", text.len()),
            }
        }
    }
    for backtracking in [r#"{"pattern":"(?=a)b"}"#, r#"{"pattern":"(a)\\1"}"#] {
        let got = compiled(backtracking);
        assert!(matches!(got, Err(SchemaProblem::Invalid { .. })), "{got:?}");
    }
    let huge = r#"{"pattern":"((a{100}){100}){100}"}"#;
    assert!(matches!(compiled(huge), Err(SchemaProblem::Invalid { .. })));
    let many = vec![r#"{"pattern":"a"}"#; MAX_PATTERNS + 1].join(",");
    let many = compiled(&format!(r#"{{"allOf":[{many}]}}"#));
    assert_eq!(many.unwrap_err(), SchemaProblem::Patterns);
}

#[test]
fn what_is_no_schema_is_told_so() {
    for schema in [
        r#"{"type":"strin"}"#,
        r#"{"properties":[]}"#,
        r#"{"required":"path"}"#,
        r#"{"minimum":"1"}"#,
    ] {
        let got = compiled(schema);
        assert!(
            matches!(got, Err(SchemaProblem::Invalid { .. })),
            "{schema}: {got:?}"
        );
    }
    let long = format!(r#"{{"title":"{}"}}"#, "t".repeat(MAX_BYTES));
    assert_eq!(compiled(&long).unwrap_err(), SchemaProblem::TooLong);
}

#[test]
fn a_call_without_arguments_says_an_empty_object() {
    let schema = compiled(r#"{"required":["a"]}"#).unwrap();
    assert!(schema.check_arguments(None).is_err());
    let schema = compiled(r#"{"type":"object"}"#).unwrap();
    assert_eq!(schema.check_arguments(None), Ok(()));
}

#[test]
fn schemas_of_a_definition_are_compiled_when_they_are_asked_for() {
    let tool =
        document(r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":1}}"#);
    let schemas = ToolSchemas::of(tool.root());
    assert!(schemas.input().is_ok());
    assert!(matches!(
        schemas.output(),
        Some(Err(SchemaProblem::Invalid { .. }))
    ));
    let bare = document(r#"{"name":"t"}"#);
    let bare = ToolSchemas::of(bare.root());
    assert!(bare.input().is_err());
    assert!(bare.output().is_none());
    assert_ne!(schemas, bare);
}

#[test]
fn the_laws_hold_for_every_seed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds/schema");
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        oracle::laws(&std::fs::read(entry.unwrap().path()).unwrap());
        seeds += 1;
    }
    assert!(seeds >= 10, "seeds in {}", folder.display());
}
