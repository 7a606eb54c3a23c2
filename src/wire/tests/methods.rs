//! Who may send which method, and when.

use crate::wire::{Era, KnownMethod, Limits, Message, Method, Side};

/// The table of the specification's schemas: name, whether a request, and who sends it in the
/// legacy era and in the stateless one (a agent, u upstream, b both, - neither).
const TABLE: &[(&str, bool, char, char)] = &[
    ("initialize", true, 'a', '-'),
    ("notifications/initialized", false, 'a', '-'),
    ("ping", true, 'b', '-'),
    ("server/discover", true, '-', 'a'),
    ("tools/list", true, 'a', 'a'),
    ("tools/call", true, 'a', 'a'),
    ("resources/list", true, 'a', 'a'),
    ("resources/read", true, 'a', 'a'),
    ("resources/templates/list", true, 'a', 'a'),
    ("resources/subscribe", true, 'a', '-'),
    ("resources/unsubscribe", true, 'a', '-'),
    ("prompts/list", true, 'a', 'a'),
    ("prompts/get", true, 'a', 'a'),
    ("completion/complete", true, 'a', 'a'),
    ("logging/setLevel", true, 'a', '-'),
    ("subscriptions/listen", true, '-', 'a'),
    ("tasks/get", true, 'b', 'a'),
    ("tasks/result", true, 'b', '-'),
    ("tasks/list", true, 'b', '-'),
    ("tasks/cancel", true, 'b', 'a'),
    ("tasks/update", true, '-', 'a'),
    ("notifications/cancelled", false, 'b', 'b'),
    ("notifications/progress", false, 'b', 'u'),
    ("notifications/roots/list_changed", false, 'a', '-'),
    ("roots/list", true, 'u', '-'),
    ("sampling/createMessage", true, 'u', '-'),
    ("elicitation/create", true, 'u', '-'),
    ("notifications/message", false, 'u', 'u'),
    ("notifications/tools/list_changed", false, 'u', 'u'),
    ("notifications/resources/list_changed", false, 'u', 'u'),
    ("notifications/prompts/list_changed", false, 'u', 'u'),
    ("notifications/resources/updated", false, 'u', 'u'),
    ("notifications/elicitation/complete", false, 'u', '-'),
    ("notifications/subscriptions/acknowledged", false, '-', 'u'),
    ("notifications/tasks/status", false, 'b', '-'),
    ("notifications/tasks", false, '-', 'u'),
];

#[test]
fn each_method_is_sent_by_its_side_in_its_era() {
    assert_eq!(KnownMethod::ALL.len(), TABLE.len());
    for &(name, is_request, legacy, stateless) in TABLE {
        let method = KnownMethod::from_name(name).unwrap();
        assert_eq!((method.name(), method.to_string()), (name, name.to_owned()));
        assert_eq!(method.is_request(), is_request, "{name}");
        for (era, who) in [(Era::Legacy, legacy), (Era::Stateless, stateless)] {
            assert_eq!(
                method.sent_by_in(Side::Agent, era),
                "ab".contains(who),
                "{name} {era:?}"
            );
            assert_eq!(
                method.sent_by_in(Side::Upstream, era),
                "ub".contains(who),
                "{name} {era:?}"
            );
            assert_eq!(method.in_era(era), who != '-', "{name} {era:?}");
        }
        for (side, letters) in [(Side::Agent, "ab"), (Side::Upstream, "ub")] {
            let some = letters.contains(legacy) || letters.contains(stateless);
            assert_eq!(method.sent_by(side), some, "{name} {side:?}");
        }
    }
}

#[test]
fn a_notification_is_named_so() {
    for method in KnownMethod::ALL {
        assert_eq!(
            method.name().starts_with("notifications/"),
            !method.is_request(),
            "{method}"
        );
    }
}

#[test]
fn a_name_is_known_only_when_it_is_exact() {
    let method = |name: &str| {
        let frame = format!(r#"{{"jsonrpc":"2.0","method":{name}}}"#);
        Message::decode(frame.as_bytes(), &Limits::default())
            .unwrap()
            .method()
            .unwrap()
            .clone()
    };
    for name in [
        r#""tools/call""#,
        r#""tools\/call""#,
        r#""tools\u002fcall""#,
        r#""\u0074ools/call""#,
    ] {
        assert_eq!(
            method(name),
            Method::Known(KnownMethod::ToolsCall),
            "{name}"
        );
    }
    for name in [
        "tools/call ",
        " tools/call",
        "Tools/Call",
        "tools/callſ",
        "tools／call",
        "",
        "tasks/delete",
        "tools//call",
    ] {
        let found = method(&format!("\"{name}\""));
        assert_eq!(found, Method::Unknown(name.into()));
        assert_eq!((found.name(), found.known()), (name, None));
    }
}
