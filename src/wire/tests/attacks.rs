//! Attacks on the decoder, by the names of the threat catalogue (J1 to J15).

use crate::wire::{Id, KnownMethod, Limits, Message, Method, Shape, WireErrorKind};

/// The frame is refused with this code and reason, and answered with this id.
fn check(frame: impl AsRef<[u8]>, code: i32, reason: &str, id: Option<u64>) {
    let frame = frame.as_ref();
    let shown = frame.escape_ascii();
    let error = Message::decode(frame, &Limits::default()).expect_err(&shown.to_string());
    assert_eq!(
        (error.code(), error.reason_code()),
        (code, reason),
        "{shown} {error}"
    );
    assert_eq!(error.id, id.map(Id::integer), "{shown}");
}

fn decode(frame: &str) -> Message {
    Message::decode(frame.as_bytes(), &Limits::default()).unwrap_or_else(|e| panic!("{frame} {e}"))
}

/// The params of `tools/call` are refused.
fn check_call(params: &str, expected: &str) {
    let message = decode(&format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call"{params}}}"#
    ));
    let error = KnownMethod::ToolsCall
        .check_params(message.params())
        .expect_err(params);
    assert_eq!(error.to_string(), expected, "{params}");
}

#[test]
fn j1_a_key_that_repeats_is_refused_wherever_it_is() {
    for (members, id) in [
        (
            r#""id":7,"method":"tools/call","params":{"name":"safe","name":"evil"}"#,
            Some(7),
        ),
        (
            r#""id":7,"method":"tools/call","params":{"name":"safe","n\u0061me":"evil"}"#,
            Some(7),
        ),
        (
            r#""id":7,"method":"tools/call","params":{"n\u0061me":"safe","name":"evil"}"#,
            Some(7),
        ),
        (
            r#""id":7,"method":"tools/list","method":"tools/call""#,
            Some(7),
        ),
        (
            r#""id":7,"method":"tools/list","m\u0065thod":"tools/call""#,
            Some(7),
        ),
        (
            r#""id":7,"method":"tools/call","params":{"name":"safe"},"params":{"name":"evil"}"#,
            Some(7),
        ),
        (
            r#""id":7,"method":"resources/read","params":{"uri":"file:///ok","uri":"file:///etc"}"#,
            Some(7),
        ),
        (
            r#""id":7,"method":"tools/call","params":{"name":"a","arguments":{"path":"/ok","path":"/etc/shadow"}}"#,
            Some(7),
        ),
        (
            r#""id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":[{"y":{"z":1,"z":2}}]}}"#,
            Some(7),
        ),
        (
            r#""id":7,"method":"tools/call","params":{"name":"a","_meta":{"a":1,"a":2}}"#,
            Some(7),
        ),
        (r#""id":7,"result":{},"result":{}"#, Some(7)),
        (
            r#""id":7,"result":{"tools":[{"name":"a","description":"b","description":"c"}]}"#,
            Some(7),
        ),
        (r#""id":7,"jsonrpc":"2.0","method":"ping""#, Some(7)),
        // Which of two ids would be answered?
        (r#""id":7,"id":8,"method":"ping""#, None),
        (r#""id":7,"id":7,"method":"ping""#, None),
        (r#""id":7,"i\u0064":8,"method":"ping""#, None),
        (r#""id":7,"ID":8,"method":"ping","x":1,"x":2"#, None),
        (
            r#""method":"notifications/progress","params":{"progress":1,"progress":2}"#,
            None,
        ),
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0",{members}}}"#),
            -32600,
            "duplicate_key",
            id,
        );
    }
}

#[test]
fn j2_a_key_that_a_folding_peer_takes_for_another_is_refused() {
    for (members, id) in [
        (
            r#""id":7,"method":"tools/list","METHOD":"tools/call""#,
            Some(7),
        ),
        (
            r#""id":7,"METHOD":"tools/call","method":"tools/list""#,
            Some(7),
        ),
        (r#""id":7,"Method":"tools/call""#, Some(7)),
        (
            r#""id":7,"method":"tools/list","Params":{"name":"evil"}"#,
            Some(7),
        ),
        (
            r#""id":7,"method":"ping","params":{},"param\u017f":{}"#,
            Some(7),
        ),
        (r#""id":7,"method":"ping","paramſ":{}"#, Some(7)),
        (r#""id":7,"method":"ping","ＰＡＲＡＭＳ":{}"#, Some(7)),
        (r#""id":7,"method":"ping","𝐏𝐀𝐑𝐀𝐌𝐒":{}"#, Some(7)),
        (r#""id":7,"method":"ping","ｐａｒａｍｓ":{}"#, Some(7)),
        (r#""id":7,"method":"ping","par\u00adams":{}"#, Some(7)),
        (r#""id":7,"method":"ping","params\u200b":{}"#, Some(7)),
        (r#""id":7,"method":"ping","\u2060method":{}"#, Some(7)),
        (r#""id":7,"method":"ping","Result":{}"#, Some(7)),
        (r#""id":7,"result":{},"ERROR":{}"#, Some(7)),
        (r#""id":7,"JSONRPC":"1.0","method":"ping""#, Some(7)),
        (r#""id":7,"ID":8,"method":"ping""#, None),
        (r#""\u0131d":7,"method":"ping""#, None),
        (r#""İd":7,"method":"ping""#, None),
        (r#""id":7,"method":"ping","K":1,"\u212a":2"#, Some(7)),
        (r#""Id":7,"method":"ping""#, None),
        (r#""id":7,"method":"ping","\u0131d":8,"İd":8,"iD":1"#, None),
        (r#""id":7,"method":"ping","vendor":1,"Vendor":2"#, Some(7)),
        (r#""id":7,"method":"ping","é":1,"É":2"#, Some(7)),
        (r#""id":7,"method":"ping","é":1,"e\u0301":2"#, Some(7)),
        (
            r#""id":7,"method":"x","params":{"name":"safe","Name":"evil"}"#,
            Some(7),
        ),
        (r#""id":7,"method":"x","params":{"_Meta":{}}"#, Some(7)),
        (
            r#""id":7,"method":"x","params":{"_meta":{"progressToken":1,"ProgressToken":2}}"#,
            Some(7),
        ),
        (r#""id":7,"result":{"_meta":{"a":1,"A":2}}"#, Some(7)),
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0",{members}}}"#),
            -32600,
            "look_alike_key",
            id,
        );
    }
    // Alone, a near miss of a member that matters.
    check_call(
        r#","params":{"Name":"evil"}"#,
        "`params/Name` can be taken for `name`",
    );
    check_call(
        r#","params":{"name":"a","Arguments":{}}"#,
        "`params/Arguments` can be taken for `arguments`",
    );
    check_call(
        r#","params":{"name":"a","argument\u017f":{}}"#,
        "`params/argumentſ` can be taken for `arguments`",
    );
    check_call(
        r#","params":{"name":"a","_meta":{"ProgressToken":1}}"#,
        "`params/_meta/ProgressToken` can be taken for `progressToken`",
    );
    // Arguments and vendor members are not part of the protocol.
    let message = decode(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"Path":1,"path":2,"name":3,"Name":4}},"vendor":1}"#,
    );
    KnownMethod::ToolsCall
        .check_params(message.params())
        .unwrap();
}

#[test]
fn j2_many_keys_are_compared_as_strictly_as_few() {
    let keys = (0..40).fold(String::new(), |keys, n| keys + &format!(r#""key{n}":{n},"#));
    for twin in ["KEY17", "key\u{ad}17", "ｋey17", "_META"] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{{keys}"{twin}":1}}}}"#),
            -32600,
            "look_alike_key",
            Some(7),
        );
        check(
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"_meta":{{{keys}"_meta":1,"{twin}":1}}}}}}"#
            ),
            -32600,
            "look_alike_key",
            Some(7),
        );
    }
    let fine = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{{keys}"é":1}}}}"#);
    decode(&fine);
}

#[test]
fn j2_keys_too_long_to_fold_are_refused() {
    let long = "ﷺ".repeat(6000);
    let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"{long}":1}}}}"#);
    check(&frame, -32600, "keys_too_long", Some(7));
    let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","{long}":1}}"#);
    check(&frame, -32600, "keys_too_long", None);
    let frame =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"a":{{"{long}":1}}}}}}"#);
    decode(&frame);
}

#[test]
fn j3_a_key_with_a_control_character_is_refused() {
    for key in [
        r"name\u0000",
        r"name\u0000x",
        r"\u0000name",
        r"na\u000ame",
        r"name\u007f",
        r"name\u0085",
    ] {
        for params in [
            format!(r#"{{"name":"safe","{key}":"evil"}}"#),
            format!(r#"{{"name":"safe","arguments":{{"{key}":"evil"}}}}"#),
        ] {
            let frame =
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
            check(frame, -32600, "control_in_key", Some(7));
        }
        let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","{key}":1}}"#);
        check(frame, -32600, "control_in_key", Some(7));
    }
}

#[test]
fn j4_line_ends_between_tokens_are_not_sent_on() {
    let inner = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil"}}"#;
    let expected =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{inner}}}}}"#);
    for end in ["\r", "\n", "\r\n", "\n\n"] {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{end}{inner}{end}}}}}{end}"#
        );
        let message = decode(&frame);
        assert_eq!(message.method(), Some(&Method::Known(KnownMethod::Ping)));
        assert_eq!(message.text(), expected);
    }
}

#[test]
fn j5_a_batch_is_refused_whole() {
    for frame in [
        "[]",
        "[1]",
        r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil"}}]"#,
        r#"[[{"jsonrpc":"2.0","id":7,"method":"ping"}]]"#,
        r#"[{"a":1,"a":2}]"#,
    ] {
        check(frame, -32600, "batch", None);
    }
}

#[test]
fn j6_a_method_is_compared_after_decoding_and_then_exactly() {
    let method = |name: &str| {
        decode(&format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{name}"}}"#))
            .method()
            .unwrap()
            .clone()
    };
    assert_eq!(
        method(r"tools\u002fcall"),
        Method::Known(KnownMethod::ToolsCall)
    );
    assert_eq!(
        method(r"tools\/call"),
        Method::Known(KnownMethod::ToolsCall)
    );
    assert_eq!(method("tools/call "), Method::Unknown("tools/call ".into()));
    assert_eq!(method("Tools/Call"), Method::Unknown("Tools/Call".into()));
    for name in [
        r"tools/call\u0000",
        r"tools/call\n",
        r"\u0085",
        r"tools/\u007fcall",
    ] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{name}"}}"#);
        check(frame, -32600, "method", Some(7));
    }
}

#[test]
fn j7_malformed_params_of_a_known_method_do_not_fall_through() {
    check_call("", "`params` is missing");
    for (params, expected) in [
        ("{}", "`params/name` is missing"),
        (
            r#"{"name":1}"#,
            "`params/name` must be a string, not a number",
        ),
        (
            r#"{"name":["a"]}"#,
            "`params/name` must be a string, not an array",
        ),
        (
            r#"{"name":null}"#,
            "`params/name` must be a string, not null",
        ),
        (
            r#"{"name":"a\u0000"}"#,
            "`params/name` must not have control characters",
        ),
        (
            r#"{"name":"a","arguments":[]}"#,
            "`params/arguments` must be an object, not an array",
        ),
        (
            r#"{"name":"a","arguments":"x"}"#,
            "`params/arguments` must be an object, not a string",
        ),
        (
            r#"{"name":"a","arguments":null}"#,
            "`params/arguments` must be an object, not null",
        ),
        (
            r#"{"name":"a","requestState":1}"#,
            "`params/requestState` must be a string, not a number",
        ),
        (
            r#"{"name":"a","inputResponses":[]}"#,
            "`params/inputResponses` must be an object, not an array",
        ),
        (
            r#"{"name":"a","inputResponses":{"k":1}}"#,
            "`params/inputResponses/k` must be an object, not a number",
        ),
        (
            r#"{"name":"a","_meta":[]}"#,
            "`params/_meta` must be an object, not an array",
        ),
        (
            r#"{"name":"a","task":true}"#,
            "`params/task` must be an object, not a boolean",
        ),
    ] {
        check_call(&format!(r#","params":{params}"#), expected);
    }
}

#[test]
fn j8_a_call_without_id_is_a_notification_of_a_request_method() {
    let message = decode(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"evil"}}"#);
    let Shape::Notification { method } = message.shape() else {
        panic!("{message:?}")
    };
    assert!(
        method.known().unwrap().is_request(),
        "the gate sees that the id is missing"
    );
}

#[test]
fn j9_an_id_that_peers_disagree_about_is_refused() {
    let long = format!("\"{}\"", "x".repeat(257));
    for id in [
        "1.5",
        "1.0",
        "1e0",
        "1E0",
        "10e-1",
        "-0",
        "-0.0",
        "0.0",
        "9007199254740992",
        "-9007199254740992",
        "9007199254740993",
        "9223372036854775808",
        "18446744073709551616",
        "1e400",
        "true",
        "false",
        "null",
        "[1]",
        "[]",
        "{}",
        r#"{"id":1}"#,
        r#""a\u0000""#,
        r#""\n""#,
        r#""\u0085""#,
        &long,
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
            -32600,
            "id",
            None,
        );
        check(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            -32600,
            "id",
            None,
        );
    }
    check(
        r#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#,
        -32700,
        "syntax",
        None,
    );
    check(r#"{"jsonrpc":"2.0","result":{}}"#, -32600, "id", None);
}

#[test]
fn j9_a_refused_id_is_told_why() {
    for (id, problem) in [
        (
            "-0",
            "must be written as a plain integer, without fraction, exponent or negative zero",
        ),
        (
            "1.0",
            "must be written as a plain integer, without fraction, exponent or negative zero",
        ),
        ("9007199254740992", "must lie within ±(2^53 − 1)"),
        ("null", "must be a string or an integer, not null"),
        (r#""\n""#, "must not have control characters"),
    ] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let error = Message::decode(frame.as_bytes(), &Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("`id` {problem} at byte 17"));
    }
}

#[test]
fn j9_ids_of_different_types_differ() {
    let id = |text: &str| {
        decode(&format!(
            r#"{{"jsonrpc":"2.0","id":{text},"method":"ping"}}"#
        ))
        .id()
        .unwrap()
        .clone()
    };
    assert_ne!(id("1"), id("\"1\""));
    assert_eq!(id("1"), Id::integer(1));
    assert_eq!(id(r#""a""#), id(r#""\u0061""#));
    assert_ne!(id(r#""a""#), id(r#""A""#));
    for (text, integer, string) in [
        ("0", Some(0), None),
        ("-1", Some(-1), None),
        ("9007199254740991", Some(9_007_199_254_740_991), None),
        ("-9007199254740991", Some(-9_007_199_254_740_991), None),
        (r#""""#, None, Some("")),
        (r#""1.0""#, None, Some("1.0")),
        (r#""\"""#, None, Some("\"")),
        (r#""é\u00e9""#, None, Some("éé")),
    ] {
        let id = id(text);
        assert_eq!(
            (id.json(), id.as_integer(), id.as_str()),
            (text, integer, string)
        );
        assert_eq!(
            (id.to_string(), id.to_fragment().as_str()),
            (text.to_owned(), text)
        );
    }
    let longest = format!("\"{}\"", "x".repeat(256));
    assert_eq!(id(&longest).json(), longest);
}

#[test]
fn j11_bytes_that_decoders_read_differently_are_refused() {
    let call = |name: &[u8]| {
        let start = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":""#;
        [start, name, br#""}}"#].concat()
    };
    let utf16 = |frame: &str| {
        frame
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>()
    };
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    check(call(b"\xc1\xa5vil"), -32700, "not_utf8", None);
    check(call(b"\xc0\x80"), -32700, "not_utf8", None);
    check(call(b"ev\xffil"), -32700, "not_utf8", None);
    check(call(b"\xed\xa0\xb4\xed\xb4\x9e"), -32700, "not_utf8", None);
    check(call(br"\ud800"), -32700, "lone_surrogate", Some(7));
    check(call(br"\udc00\ud800"), -32700, "lone_surrogate", Some(7));
    check(call(b"ev\0il"), -32700, "nul_byte", None);
    check(call(b"ev\nil"), -32700, "syntax", None);
    check(["\u{feff}", ping].concat(), -32700, "byte_order_mark", None);
    check(utf16(ping), -32700, "nul_byte", None);
    check(
        utf16(&["\u{feff}", ping].concat()),
        -32700,
        "not_utf8",
        None,
    );
    check([ping, "\0"].concat(), -32700, "nul_byte", None);
    check([ping, " ", ping].concat(), -32700, "trailing_text", None);
    check([ping, r#"{"x":1}"#].concat(), -32700, "trailing_text", None);
    check([ping, "x"].concat(), -32700, "trailing_text", None);
    check(["/* */", ping].concat(), -32700, "syntax", None);
    check("", -32700, "syntax", None);
    check(
        r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#,
        -32700,
        "lone_surrogate",
        None,
    );
    decode(ping);
}

#[test]
fn j12_bombs_stop_at_the_limit() {
    check("[".repeat(100_000), -32700, "too_deep", None);
    check(r#"{"a":"#.repeat(100_000), -32700, "too_deep", None);
    let keys = (0..200_000).fold(String::new(), |keys, n| keys + &format!(r#""{n}":0,"#));
    check(
        format!(r#"{{{keys}"x":0}}"#),
        -32700,
        "too_many_values",
        None,
    );
    check(" ".repeat(5 * 1024 * 1024), -32700, "too_large", None);
    let deep = |depth: usize| {
        let value = ["[".repeat(depth), "]".repeat(depth)].concat();
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"a":{value}}}}}"#)
    };
    decode(&deep(62));
    check(deep(63), -32700, "too_deep", Some(7));
    // The id is also looked for behind it, unless its end is unknown.
    let behind = |close: &str| format!(r#"{{"a":{}{close},"id":7}}"#, "[".repeat(70));
    check(behind(&"]".repeat(70)), -32700, "too_deep", Some(7));
    check(behind(&"]".repeat(69)), -32700, "too_deep", None);
    check(behind(&"]".repeat(71)), -32700, "too_deep", None);
}

#[test]
fn j13_numbers_keep_their_text() {
    let frame = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"n":18446744073709551616,"f":1.0,"z":-0,"e":1E400,"d":0.1000000000000000055511151231257827}}}"#;
    assert_eq!(decode(frame).text(), frame);
}

#[test]
fn j14_a_mix_of_shapes_is_refused() {
    for members in [
        r#""method":"ping","result":{}"#,
        r#""method":"ping","error":{"code":1,"message":"a"}"#,
        r#""result":{},"error":{"code":1,"message":"a"}"#,
        r#""result":null,"error":{"code":1,"message":"a"}"#,
        r#""result":{},"error":null"#,
        r#""method":"ping","result":{},"error":{"code":1,"message":"a"}"#,
        r#""method":"ping","result":null"#,
        r#""result":{},"params":{}"#,
        r#""params":{}"#,
        r#""vendor":1"#,
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":7,{members}}}"#),
            -32600,
            "shape",
            Some(7),
        );
    }
    check("{}", -32600, "jsonrpc_version", None);
    check(r#"{"jsonrpc":"2.0"}"#, -32600, "shape", None);
}

#[test]
fn j14_the_version_is_exactly_two_point_zero() {
    for version in [
        "\"1.0\"",
        "\"2\"",
        "\"2.0 \"",
        "2.0",
        "2",
        "null",
        "[\"2.0\"]",
        "\"2.00\"",
        "\"２.0\"",
    ] {
        let frame = format!(r#"{{"jsonrpc":{version},"id":7,"method":"ping"}}"#);
        check(frame, -32600, "jsonrpc_version", Some(7));
    }
    check(
        r#"{"id":7,"method":"ping"}"#,
        -32600,
        "jsonrpc_version",
        Some(7),
    );
}

#[test]
fn j15_positional_params_are_refused() {
    for params in [r#"["evil",{}]"#, "[]", "null", "\"evil\"", "1", "true"] {
        for method in ["tools/call", "ping", "vendor/method"] {
            let frame =
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
            check(frame, -32602, "params_not_object", Some(7));
            let frame = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            check(frame, -32602, "params_not_object", None);
        }
    }
}

#[test]
fn a_method_must_be_a_string_of_bounded_length() {
    for method in [
        "1",
        "null",
        "[]",
        "{}",
        "true",
        &format!("\"{}\"", "x".repeat(257)),
    ] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":{method}}}"#),
            -32600,
            "method",
            Some(7),
        );
    }
    decode(&format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"{}"}}"#,
        "x".repeat(256)
    ));
}

#[test]
fn a_reply_that_is_no_object_is_refused() {
    for result in ["[]", "null", "1", "\"x\"", "true"] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
        check(frame, -32600, "result_not_object", Some(7));
    }
    for error in [
        "{}",
        "null",
        "[]",
        "\"x\"",
        r#"{"code":1}"#,
        r#"{"message":"a"}"#,
        r#"{"code":"1","message":"a"}"#,
        r#"{"code":1.5,"message":"a"}"#,
        r#"{"code":1,"message":null}"#,
    ] {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":7,"error":{error}}}"#);
        check(frame, -32600, "malformed_error", Some(7));
    }
}

#[test]
fn a_message_is_an_object() {
    for frame in ["1", "null", "true", "\"x\"", "\"jsonrpc\""] {
        check(frame, -32600, "not_an_object", None);
    }
}

#[test]
fn what_is_said_of_hostile_input_is_short_and_printable() {
    let key = format!("\\u202e{}\\\\", "x".repeat(100_000));
    let frame = format!(r#"{{"{key}":1,"{key}":2}}"#);
    let error = Message::decode(frame.as_bytes(), &Limits::default()).unwrap_err();
    let WireErrorKind::Json(kind) = &error.kind else {
        panic!("{error:?}")
    };
    let shown = kind.to_string();
    assert!(shown.starts_with(r"the key `\u{202e}xxx"), "{shown}");
    assert!(
        shown.ends_with("x…` appears twice in one object"),
        "{shown}"
    );
    assert!(shown.len() < 200, "{shown}");
}
