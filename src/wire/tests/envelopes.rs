//! Messages as they should be.

use crate::wire::{Document, Fragment, Id, KnownMethod, Limits, Message, Method, Outcome, Shape};

fn decode(frame: &str) -> Message {
    Message::decode(frame.as_bytes(), &Limits::default()).unwrap_or_else(|e| panic!("{frame} {e}"))
}

#[test]
fn a_request_has_a_method_and_an_id() {
    let message = decode(
        r#" {"jsonrpc":"2.0","id":"\u0061","method":"tools\/call","params":{"name":"x","_meta":{"a":1}}} "#,
    );
    let Shape::Request { id, method } = message.shape() else {
        panic!("{message:?}")
    };
    assert_eq!((id.as_str(), id.json()), (Some("a"), r#""\u0061""#));
    assert_eq!(*method, Method::Known(KnownMethod::ToolsCall));
    assert_eq!(message.id(), Some(id));
    assert_eq!(message.method(), Some(method));
    assert_eq!(message.id_value().unwrap().text(), r#""\u0061""#);
    assert_eq!(
        message.params().unwrap().text(),
        r#"{"name":"x","_meta":{"a":1}}"#
    );
    assert_eq!(message.meta().unwrap().text(), r#"{"a":1}"#);
    assert!(message.result().is_none() && message.error().is_none());
}

#[test]
fn a_notification_has_a_method_and_no_id() {
    let message = decode(r#"{"method":"vendor/x","jsonrpc":"2.0"}"#);
    let method = Method::Unknown("vendor/x".into());
    assert_eq!(*message.shape(), Shape::Notification { method });
    assert!(message.id().is_none() && message.id_value().is_none() && message.params().is_none());
    assert!(message.meta().is_none());
}

#[test]
fn a_reply_has_a_result_or_an_error() {
    let message = decode(r#"{"jsonrpc":"2.0","id":7,"result":{"_meta":{"b":2},"tools":[]}}"#);
    let id = Some(Id::integer(7));
    assert_eq!(
        *message.shape(),
        Shape::Reply {
            id,
            outcome: Outcome::Result
        }
    );
    assert_eq!(message.meta().unwrap().text(), r#"{"b":2}"#);
    assert_eq!(message.result().unwrap().len(), 2);
    assert!(message.method().is_none() && message.params().is_none());
    for (id, expected) in [
        (r#""id":7,"#, Some(Id::integer(7))),
        (r#""id":null,"#, None),
        ("", None),
    ] {
        let message = decode(&format!(
            r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-1,"message":"","data":[]}}}}"#
        ));
        assert_eq!(
            *message.shape(),
            Shape::Reply {
                id: expected.clone(),
                outcome: Outcome::Error
            }
        );
        assert_eq!(message.id(), expected.as_ref());
        assert_eq!(
            message.error().unwrap().get("code").unwrap().as_i64(),
            Some(-1)
        );
    }
}

#[test]
fn unknown_members_pass_in_their_place() {
    let frame =
        r#"{"vendor":{"x":[1.0]},"jsonrpc":"2.0","id":1,"é":null,"method":"ping","a b":"\u0000"}"#;
    assert_eq!(decode(frame).text(), frame);
    assert_eq!(decode(frame).into_text(), frame);
    assert_eq!(decode(frame).document().root().len(), 6);
}

#[test]
fn escaped_names_of_members_are_the_members() {
    let message =
        decode(r#"{"\u006asonrpc":"2\u002e0","\u0069d":1,"m\u0065thod":"ping","p\u0061rams":{}}"#);
    assert_eq!(message.id(), Some(&Id::integer(1)));
    assert_eq!(message.method().unwrap().name(), "ping");
    assert!(message.params().unwrap().is_empty());
}

#[test]
fn an_id_is_replaced_without_touching_the_rest() {
    let message = decode(
        r#"{"jsonrpc":"2.0", "id":"x", "method":"tools/call", "params":{"name":"a","n":1.0}}"#,
    );
    let mut edits = message.edits();
    assert!(edits.is_empty());
    edits.replace(message.id_value().unwrap(), Id::integer(42).to_fragment());
    edits.insert(
        message.params().unwrap(),
        "_meta",
        Fragment::object([("k", Fragment::null())]),
    );
    assert!(!edits.is_empty());
    assert_eq!(
        edits.finish(),
        r#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"a","n":1.0,"_meta":{"k":null}}}"#
    );
}

#[test]
fn an_id_of_our_own_stays_within_what_every_peer_holds() {
    assert_eq!(Id::integer(0).json(), "0");
    assert_eq!(
        Id::integer(9_007_199_254_740_991).json(),
        "9007199254740991"
    );
    assert_eq!(Id::integer(u64::MAX).json(), "9007199254740991");
}

#[test]
fn a_fault_points_into_the_frame_as_it_was_sent() {
    for (frame, offset) in [
        (
            r#"{ "jsonrpc" : "2.0", "id": 1, "method": "ping", "Params": {} }"#,
            Some(48),
        ),
        (r#"{ "jsonrpc": "1.0" }"#, Some(2)),
        (r#"{"jsonrpc":"2.0",  "id": 1.5, "method":"x"}"#, Some(19)),
        (r#"{"jsonrpc":"2.0","id":1}"#, None),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"x", "params":{"a":1,  "a":2}}"#,
            Some(56),
        ),
    ] {
        let error = Message::decode(frame.as_bytes(), &Limits::default()).unwrap_err();
        assert_eq!(error.offset, offset, "{frame} {error}");
    }
}

#[test]
fn limits_apply_to_messages() {
    let limits = Limits {
        max_bytes: 40,
        max_depth: 2,
        max_nodes: 5,
    };
    let reason = |frame: &str| {
        Message::decode(frame.as_bytes(), &limits)
            .err()
            .map(|error| error.reason_code())
    };
    assert_eq!(reason(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), None);
    assert_eq!(
        reason(r#"{"jsonrpc":"2.0","id":1,"method":"ping1"}"#),
        Some("too_large")
    );
    assert_eq!(
        reason(r#"{"jsonrpc":"2.0","id":1,"x":[[]]}"#),
        Some("too_deep")
    );
    assert_eq!(
        reason(r#"{"jsonrpc":"2.0","id":1,"x":[1,2]}"#),
        Some("too_many_values")
    );
}

#[test]
fn a_document_may_be_any_value_but_a_message_is_an_object() {
    Document::decode(b"[1]", &Limits::default()).unwrap();
    Message::decode(b"[1]", &Limits::default()).unwrap_err();
}
