use crate::wire::{Id, KnownMethod, Limits, Message, Method, Outcome, Shape};

#[test]
fn a_request_is_read() {
    let frame = br#"{"jsonrpc":"2.0","id":"\u0061","method":"tools\/call","params":{"name":"x"}}"#;
    let message = Message::decode(frame, &Limits::default()).unwrap();
    let Shape::Request { id, method } = message.shape() else {
        panic!("{message:?}")
    };
    assert_eq!(id.as_str(), Some("a"));
    assert_eq!(id.json(), r#""\u0061""#);
    assert_eq!(*method, Method::Known(KnownMethod::ToolsCall));
    KnownMethod::ToolsCall
        .check_params(message.params())
        .unwrap();
}

#[test]
fn a_reply_is_read() {
    let frame = br#"{"jsonrpc":"2.0","id":7,"result":{"_meta":{}}}"#;
    let message = Message::decode(frame, &Limits::default()).unwrap();
    let id = Some(Id::integer(7));
    assert_eq!(
        *message.shape(),
        Shape::Reply {
            id,
            outcome: Outcome::Result
        }
    );
    assert!(message.meta().unwrap().is_object());
}

#[test]
fn a_repeated_key_is_answered_with_the_id() {
    let frame = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":1,"name":2}}"#;
    let error = Message::decode(frame, &Limits::default()).unwrap_err();
    assert_eq!(
        (error.code(), error.reason_code()),
        (-32600, "duplicate-key")
    );
    assert_eq!(error.id, Some(Id::integer(7)));
    assert_eq!(error.offset, Some(65));
}
