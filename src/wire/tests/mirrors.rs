//! Arguments that are repeated in headers.

use crate::wire::{
    AnnotationError, Limits, Message, Mirror, MirrorMismatch, MirrorMismatchKind, MirroredHeaders,
    MirroredValue, Mirrors,
};

fn message(text: &str) -> Message {
    Message::decode(text.as_bytes(), &Limits::default()).unwrap()
}

fn listing(properties: &str) -> Message {
    message(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"t","inputSchema":{{"type":"object","properties":{properties}}}}}]}}}}"#
    ))
}

/// What the headers of a call say.
#[track_caller]
fn check(properties: &str, arguments: &str, expected: &[(&str, Option<&str>)]) {
    let mirrors = Mirrors::default();
    mirrors.learn(&listing(properties));
    let call = message(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
    ));
    let found = mirrors.of_tool("t");
    let found = found.as_deref().unwrap_or_default();
    let said: Vec<_> = found
        .iter()
        .map(|it| (it.header(), it.value(&call)))
        .collect();
    let said: Vec<_> = said
        .iter()
        .map(|(name, value)| (*name, value.as_deref()))
        .collect();
    assert_eq!(said, expected);
}

#[test]
fn scalars_are_repeated_as_they_are_written_and_the_rest_is_not() {
    let properties = r#"{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"integer","x-mcp-header":"n"},
        "c":{"type":"boolean","x-mcp-header":"Flag"},"d":{"type":"string"}}"#;
    check(
        properties,
        r#"{"a":"\u00fe x","b":-42,"c":false,"d":"quiet"}"#,
        &[
            ("mcp-param-region", Some("þ x")),
            ("mcp-param-n", Some("-42")),
            ("mcp-param-flag", Some("false")),
        ],
    );
    check(
        properties,
        r#"{"a":null,"b":[1]}"#,
        &[
            ("mcp-param-region", None),
            ("mcp-param-n", None),
            ("mcp-param-flag", None),
        ],
    );
}

#[test]
fn an_annotation_may_be_deeper() {
    check(
        r#"{"o":{"type":"object","properties":{"in":{"type":"string","x-mcp-header":"Deep"}}}}"#,
        r#"{"o":{"in":"x"}}"#,
        &[("mcp-param-deep", Some("x"))],
    );
}

#[test]
fn an_annotation_that_not_only_properties_lead_to_is_wrong_and_what_only_looks_like_one_is_none() {
    let inner = r#"{"type":"string","x-mcp-header":"H"}"#;
    let check = |schema: String, expected: Result<usize, AnnotationError>| {
        let tool = message(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}}}"#
        ));
        let tools = tool.result().and_then(|it| it.get("tools")).unwrap();
        let found = Mirror::of_definition(tools.items().next().unwrap());
        assert_eq!(found.map(|found| found.len()), expected, "{schema}");
    };
    for place in [
        r#"{"properties":{"a":{"type":"array","items":INNER}}}"#,
        r#"{"properties":{"a":{"type":"array","prefixItems":[INNER]}}}"#,
        r#"{"properties":{"a":{"additionalProperties":INNER}}}"#,
        r#"{"anyOf":[{"properties":{"a":INNER}}]}"#,
        r#"{"properties":{"a":{"not":{"properties":{"b":INNER}}}}}"#,
        r#"{"if":{"properties":{"a":INNER}}}"#,
        r##"{"properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":INNER}}"##,
        r#"{"definitions":{"properties":INNER}}"#,
        r#"{"patternProperties":{"x":INNER}}"#,
        "INNER",
    ] {
        check(place.replace("INNER", inner), Err(AnnotationError::Place));
    }
    for place in [
        r#"{"properties":{"a":{"default":INNER}}}"#,
        r#"{"properties":{"a":{"enum":[INNER]}}}"#,
        r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#,
        r#"{"description":"x-mcp-header"}"#,
    ] {
        check(place.replace("INNER", inner), Ok(0));
    }
    check(
        r#"{"properties":{"properties":INNER}}"#.replace("INNER", inner),
        Ok(1),
    );
}

#[test]
fn one_wrong_annotation_leaves_a_tool_without_mirrors() {
    for wrong in [
        r#"{"type":"string","x-mcp-header":""}"#,
        r#"{"type":"string","x-mcp-header":"My Region"}"#,
        r#"{"type":"string","x-mcp-header":"R\u00e9gion"}"#,
        r#"{"type":"string","x-mcp-header":"Region\r\nX"}"#,
        r#"{"type":"string","x-mcp-header":7}"#,
        r#"{"type":"string","x-mcp-header":"right"}"#,
        r#"{"type":"number","x-mcp-header":"N"}"#,
        r#"{"type":"object","x-mcp-header":"O"}"#,
        r#"{"x-mcp-header":"Untyped"}"#,
    ] {
        let properties =
            format!(r#"{{"a":{{"type":"string","x-mcp-header":"Right"}},"b":{wrong}}}"#);
        check(&properties, r#"{"a":"x","b":"y"}"#, &[]);
    }
}

/// Tools whose headers, or the way to what they repeat, are more than anybody sends, and the same just
/// short of that.
#[test]
fn a_tool_wants_no_more_headers_than_a_request_can_have() {
    let check = |properties: &str, expected: Result<usize, AnnotationError>| {
        let tool = listing(properties);
        let tools = tool.result().and_then(|it| it.get("tools")).unwrap();
        let found = Mirror::of_definition(tools.items().next().unwrap());
        assert_eq!(found.map(|found| found.len()), expected, "{properties:.60}");
    };
    let leaves = |count: usize, header: &str| {
        let leaf = |it| format!(r#""p{it}":{{"type":"string","x-mcp-header":"{header}{it}"}}"#);
        (0..count).map(leaf).collect::<Vec<_>>().join(",")
    };
    let below = |key: usize, leaves: &str| {
        let key = "a".repeat(key);
        format!(r#"{{"{key}":{{"properties":{{{leaves}}}}}}}"#)
    };
    let too_much = Err(AnnotationError::TooMuch);
    check(&format!("{{{}}}", leaves(64, "h")), Ok(64));
    check(&format!("{{{}}}", leaves(65, "h")), too_much);
    // Each repeats the whole way to it.
    check(&below(500, &leaves(16, "h")), Ok(16));
    check(&below(500, &leaves(17, "h")), too_much);
    check(&below(200_000, &leaves(1, "h")), too_much);
    let long = "h".repeat(4_000);
    check(&format!("{{{}}}", leaves(2, &long)), Ok(2));
    check(&format!("{{{}}}", leaves(3, &long)), too_much);
    // Without an annotation a name may be of any length.
    let plain = below(200_000, r#""p":{"type":"string"}"#);
    check(&plain, Ok(0));
}

#[test]
fn there_is_an_end_to_what_is_kept_of_all_tools() {
    let mirrors = Mirrors::default();
    let tool = |name: &str| {
        let long = "a".repeat(2 << 20);
        let schema = r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#;
        message(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"{long}{name}","inputSchema":{schema}}}]}}}}"#
        ))
    };
    let is_kept = |name: &str| {
        let long = "a".repeat(2 << 20);
        mirrors.of_tool(&format!("{long}{name}")).is_some()
    };
    for number in 0..9 {
        let name = number.to_string();
        mirrors.learn(&tool(&name));
        // What is known already may be told again.
        mirrors.learn(&tool(&name));
        assert_eq!(is_kept(&name), number < 7, "{number}");
    }
    let gone = "a".repeat(2 << 20);
    mirrors.learn(&message(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"{gone}0","inputSchema":{{}}}}]}}}}"#
    )));
    mirrors.learn(&tool("8"));
    assert!(is_kept("8"), "one that is gone makes room");
}

#[test]
fn a_later_list_counts() {
    let mirrors = Mirrors::default();
    mirrors.learn(&listing(r#"{"a":{"type":"string","x-mcp-header":"A"}}"#));
    assert!(mirrors.of_tool("t").is_some());
    mirrors.learn(&message(
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
    ));
    assert!(mirrors.of_tool("t").is_some(), "another page");
    mirrors.learn(&listing(r#"{"a":{"type":"string"}}"#));
    assert!(mirrors.of_tool("t").is_none());
}

#[test]
fn headers_repeat_what_a_tool_wants_and_what_none_wants_means_nothing() {
    let tool = listing(r#"{"a":{"type":"string","x-mcp-header":"Region"}}"#);
    let tools = tool.result().and_then(|it| it.get("tools")).unwrap();
    let mirrors = Mirror::of_definition(tools.items().next().unwrap()).unwrap();
    let check = |arguments: &str,
                 said: &[(&str, MirroredValue)],
                 expected: Result<(), MirrorMismatchKind>| {
        let call = message(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
        ));
        let said = said
            .iter()
            .map(|(name, said)| ((*name).into(), said.clone()));
        let repeated: MirroredHeaders = said.collect();
        let [mirror] = &*mirrors else {
            panic!("{mirrors:?}");
        };
        let header = "mcp-param-region".into();
        let expected = expected.map_err(|how| MirrorMismatch { header, how });
        assert_eq!(repeated.repeats(mirror, &call), expected, "{arguments}");
    };
    let region = |said| [("mcp-param-region", said)];
    let once = |value: &str| MirroredValue::Once(value.into());
    check(r#"{"a":"x"}"#, &region(once("x")), Ok(()));
    check("{}", &[], Ok(()));
    check(r#"{"a":null}"#, &[], Ok(()));
    check("{}", &[("mcp-param-other", MirroredValue::Twice)], Ok(()));
    check(r#"{"a":"x"}"#, &[], Err(MirrorMismatchKind::Missing));
    check(
        r#"{"a":"x"}"#,
        &[("mcp-param-other", once("x"))],
        Err(MirrorMismatchKind::Missing),
    );
    check(
        r#"{"a":"x"}"#,
        &region(once("y")),
        Err(MirrorMismatchKind::Differs),
    );
    check("{}", &region(once("x")), Err(MirrorMismatchKind::Differs));
    check(
        r#"{"a":"x"}"#,
        &region(MirroredValue::Twice),
        Err(MirrorMismatchKind::Twice),
    );
    check(
        r#"{"a":"x"}"#,
        &region(MirroredValue::Unreadable),
        Err(MirrorMismatchKind::Unreadable),
    );
}

#[test]
fn numbers_are_compared_as_numbers_and_texts_as_texts() {
    let mirrors = Mirrors::default();
    mirrors.learn(&listing(
        r#"{"n":{"type":"integer","x-mcp-header":"N"},"s":{"type":"string","x-mcp-header":"S"}}"#,
    ));
    let call = message(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"n":100,"s":"100"}}}"#,
    );
    let found = mirrors.of_tool("t").unwrap();
    let says = |header| [&found[0], &found[1]].map(|mirror| mirror.is_said_by(&call, header));
    assert_eq!(says("100"), [true, true]);
    assert_eq!(says("100.0"), [true, false]);
    assert_eq!(says("101"), [false, false]);
    assert_eq!(says(""), [false, false]);
    let same = |number: &str, header: &str| {
        let call = message(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{{"n":{number}}}}}}}"#
        ));
        found[0].is_said_by(&call, header)
    };
    for (number, header, expected) in [
        ("100", "1e2", true),
        ("1e2", "100", true),
        ("-0", "0", true),
        ("1.50", "15e-1", true),
        ("100", "+100", false),
        ("100", "0100", false),
        ("100", "100.", false),
        ("-1", "1", false),
        // Equal as doubles, and not as whole numbers.
        ("9007199254740993", "9007199254740992", false),
        ("9007199254740993", "9007199254740993.0", true),
        ("1e400", "1e401", false),
        ("1e400", "inf", false),
    ] {
        assert_eq!(same(number, header), expected, "{number} {header}");
    }
}
