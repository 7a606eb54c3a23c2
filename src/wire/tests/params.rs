//! What each known method asks of its params.

use crate::wire::{Document, KnownMethod, Limits};

fn result(method: &str, params: Option<&str>) -> Result<(), String> {
    let method = KnownMethod::from_name(method).expect(method);
    let document =
        params.map(|params| Document::decode(params.as_bytes(), &Limits::default()).unwrap());
    let params = document.as_ref().map(Document::root);
    method
        .check_params(params)
        .map_err(|error| error.to_string())
}

fn check_accepted(method: &str, params: &[&str]) {
    for params in params {
        assert_eq!(result(method, Some(params)), Ok(()), "{method} {params}");
    }
}

/// Each with where the problem is and a word of it.
fn check_refused(method: &str, params: &[(&str, &str)]) {
    for (params, expected) in params {
        let error = result(method, Some(params)).expect_err(params);
        assert!(
            error.starts_with(&format!("`params{expected}")),
            "{method} {params}: {error}"
        );
    }
}

const NEED_NONE: &[&str] = &[
    "notifications/initialized",
    "ping",
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "tasks/list",
    "notifications/cancelled",
    "notifications/roots/list_changed",
    "roots/list",
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/prompts/list_changed",
];

#[test]
fn params_may_be_absent_where_nothing_is_required() {
    for method in KnownMethod::ALL {
        let expected = if NEED_NONE.contains(&method.name()) {
            Ok(())
        } else {
            Err("`params` is missing".to_owned())
        };
        assert_eq!(result(method.name(), None), expected, "{method}");
        let empty = result(method.name(), Some("{}"));
        assert_eq!(empty.is_ok(), expected.is_ok(), "{method}");
    }
}

#[test]
fn params_are_an_object_for_every_method() {
    for method in KnownMethod::ALL {
        for params in ["[]", "null", "1", "\"x\"", "true"] {
            let error = result(method.name(), Some(params)).expect_err(params);
            assert!(
                error.starts_with("`params` must be an object"),
                "{method} {error}"
            );
        }
    }
}

#[test]
fn meta_is_checked_for_every_method() {
    for method in KnownMethod::ALL {
        let valid = valid(*method);
        let with_meta = |meta: &str| {
            let comma = if valid == "{}" { "" } else { "," };
            valid.replacen('{', &format!("{{\"_meta\":{meta}{comma}"), 1)
        };
        check_accepted(
            method.name(),
            &[
                valid,
                &with_meta("{}"),
                &with_meta(r#"{"progressToken":1,"vendor/x":[],"traceparent":"00-a-b-01"}"#),
                &with_meta(r#"{"progressToken":"abc"}"#),
                &with_meta(
                    r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/logLevel":"info"}"#,
                ),
                &with_meta(r#"{"io.modelcontextprotocol/subscriptionId":7}"#),
            ],
        );
        check_refused(
            method.name(),
            &[
                (&with_meta("[]"), "/_meta` must be an object"),
                (&with_meta("null"), "/_meta` must be an object"),
                (
                    &with_meta(r#"{"progressToken":1.5}"#),
                    "/_meta/progressToken` must be written",
                ),
                (
                    &with_meta(r#"{"progressToken":null}"#),
                    "/_meta/progressToken` must be a string or",
                ),
                (
                    &with_meta(r#"{"progresstoken":1}"#),
                    "/_meta/progresstoken` can be taken",
                ),
                (
                    &with_meta(r#"{"io.modelcontextprotocol/protocolVersion":1}"#),
                    "/_meta/io.modelcontextprotocol~1protocolVersion` must be a string",
                ),
                (
                    &with_meta(r#"{"io.modelcontextprotocol/clientInfo":{"name":"a"}}"#),
                    "/_meta/io.modelcontextprotocol~1clientInfo/version` is missing",
                ),
                (
                    &with_meta(r#"{"io.modelcontextprotocol/clientCapabilities":[]}"#),
                    "/_meta/io.modelcontextprotocol~1clientCapabilities` must be an object",
                ),
                (
                    &with_meta(r#"{"io.modelcontextprotocol/logLevel":"loud"}"#),
                    "/_meta/io.modelcontextprotocol~1logLevel` must be one of debug",
                ),
            ],
        );
    }
}

#[test]
fn every_required_member_is_missed() {
    for method in KnownMethod::ALL {
        let document = Document::decode(valid(*method).as_bytes(), &Limits::default()).unwrap();
        let members: Vec<_> = document.root().entries().collect();
        for (key, value) in members {
            let mut edits = document.edits();
            edits.remove(value);
            let error = result(method.name(), Some(&edits.finish())).expect_err(&key);
            assert!(
                error.starts_with(&format!("`params/{key}` is missing")),
                "{method} {error}"
            );
        }
    }
}

/// The least that the method takes.
fn valid(method: KnownMethod) -> &'static str {
    match method {
        KnownMethod::Initialize => {
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}"#
        }
        KnownMethod::ToolsCall | KnownMethod::PromptsGet => r#"{"name":"a"}"#,
        KnownMethod::ResourcesRead
        | KnownMethod::ResourcesSubscribe
        | KnownMethod::ResourcesUnsubscribe
        | KnownMethod::ResourceUpdated => r#"{"uri":"file:///a"}"#,
        KnownMethod::Complete => {
            r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":""}}"#
        }
        KnownMethod::SetLevel => r#"{"level":"info"}"#,
        KnownMethod::SubscriptionsListen | KnownMethod::SubscriptionsAcknowledged => {
            r#"{"notifications":{}}"#
        }
        KnownMethod::TasksGet
        | KnownMethod::TasksResult
        | KnownMethod::TasksCancel
        | KnownMethod::TasksUpdate
        | KnownMethod::TaskStatus
        | KnownMethod::TaskNews => r#"{"taskId":"a"}"#,
        KnownMethod::Progress => r#"{"progressToken":1,"progress":0.5}"#,
        KnownMethod::CreateMessage => r#"{"messages":[],"maxTokens":100}"#,
        KnownMethod::Elicit => r#"{"message":"a","requestedSchema":{}}"#,
        KnownMethod::LogMessage => r#"{"level":"info","data":null}"#,
        KnownMethod::ElicitationComplete => r#"{"elicitationId":"a"}"#,
        KnownMethod::Initialized
        | KnownMethod::Ping
        | KnownMethod::Discover
        | KnownMethod::ToolsList
        | KnownMethod::ResourcesList
        | KnownMethod::ResourceTemplatesList
        | KnownMethod::PromptsList
        | KnownMethod::TasksList
        | KnownMethod::Cancelled
        | KnownMethod::RootsListChanged
        | KnownMethod::RootsList
        | KnownMethod::ToolsListChanged
        | KnownMethod::ResourcesListChanged
        | KnownMethod::PromptsListChanged
        | KnownMethod::Extension(_) => "{}",
    }
}

#[test]
fn initialize_names_a_version_capabilities_and_a_client() {
    check_accepted(
        "initialize",
        &[
            r#"{"protocolVersion":"x","capabilities":{"roots":{"listChanged":true},"vendor":1},"clientInfo":{"name":"a","version":"1","title":"T","icons":[],"x":1},"vendor":{}}"#,
        ],
    );
    let info = r#""clientInfo":{"name":"a","version":"1"}"#;
    check_refused(
        "initialize",
        &[
            (
                &format!(r#"{{"protocolVersion":1,"capabilities":{{}},{info}}}"#),
                "/protocolVersion` must be a string",
            ),
            (
                &format!(r#"{{"protocolVersion":"a\n","capabilities":{{}},{info}}}"#),
                "/protocolVersion` must not have control",
            ),
            (
                &format!(r#"{{"protocolVersion":"x","capabilities":[],{info}}}"#),
                "/capabilities` must be an object",
            ),
            (
                r#"{"protocolVersion":"x","capabilities":{},"clientInfo":"a"}"#,
                "/clientInfo` must be an object",
            ),
            (
                r#"{"protocolVersion":"x","capabilities":{},"clientInfo":{"name":"a"}}"#,
                "/clientInfo/version` is missing",
            ),
            (
                r#"{"protocolVersion":"x","capabilities":{},"clientInfo":{"name":1,"version":"1"}}"#,
                "/clientInfo/name` must be a string",
            ),
            (
                r#"{"protocolVersion":"x","capabilities":{},"clientInfo":{"name":"a\u001b[31m","version":"1"}}"#,
                "/clientInfo/name` must not have control",
            ),
            (
                r#"{"protocolVersion":"x","capabilities":{},"clientInfo":{"name":"a","version":"1","Name":"b"}}"#,
                "/clientInfo/Name` can be taken",
            ),
            (
                &format!(
                    r#"{{"protocolVersion":"x","capabilities":{{}},"ProtocolVersion":"y",{info}}}"#
                ),
                "/ProtocolVersion` can be taken",
            ),
        ],
    );
}

#[test]
fn a_tool_call_has_a_name_and_maybe_arguments() {
    check_accepted(
        "tools/call",
        &[
            r#"{"name":"a","arguments":{}}"#,
            r#"{"name":"","arguments":{"Name":1,"name":2,"x":[null]}}"#,
            r#"{"name":"a","arguments":{"x":1},"inputResponses":{"k":{"action":"accept"}},"requestState":"\u0000 any","task":{"ttl":1},"vendor":1}"#,
            r#"{"name":"b\u00e9 \u202e"}"#,
        ],
    );
    check_refused(
        "tools/call",
        &[
            ("{}", "/name` is missing"),
            (r#"{"name":"a\u0000"}"#, "/name` must not have control"),
            (r#"{"name":"a\u009f"}"#, "/name` must not have control"),
            (r#"{"name":{}}"#, "/name` must be a string, not an object"),
            (
                r#"{"name":"a","arguments":1}"#,
                "/arguments` must be an object, not a number",
            ),
            (
                r#"{"name":"a","RequestState":"x"}"#,
                "/RequestState` can be taken for `requestState`",
            ),
            (
                r#"{"name":"a","inputresponses":{}}"#,
                "/inputresponses` can be taken for `inputResponses`",
            ),
        ],
    );
}

#[test]
fn lists_take_a_cursor() {
    for method in [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ] {
        check_accepted(
            method,
            &[r#"{"cursor":""}"#, r#"{"cursor":"a\u0000","vendor":1}"#],
        );
        check_refused(
            method,
            &[
                (r#"{"cursor":1}"#, "/cursor` must be a string"),
                (r#"{"cursor":null}"#, "/cursor` must be a string"),
                (r#"{"Cursor":"a"}"#, "/Cursor` can be taken"),
            ],
        );
    }
}

#[test]
fn a_resource_is_named_by_a_uri() {
    for method in [
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "notifications/resources/updated",
    ] {
        check_accepted(
            method,
            &[r#"{"uri":""}"#, r#"{"uri":"file:///a%00","title":"x"}"#],
        );
        check_refused(
            method,
            &[
                (r#"{"uri":["file:///a"]}"#, "/uri` must be a string"),
                (
                    r#"{"uri":"file:///a\u0000"}"#,
                    "/uri` must not have control",
                ),
                (r#"{"URI":"file:///a"}"#, "/URI` can be taken for `uri`"),
                (
                    r#"{"uri":"file:///a","Uri":"file:///b"}"#,
                    "/Uri` can be taken for `uri`",
                ),
            ],
        );
    }
}

#[test]
fn a_prompt_takes_string_arguments() {
    check_accepted(
        "prompts/get",
        &[r#"{"name":"a","arguments":{"x":"1","y":"\n"}}"#],
    );
    check_refused(
        "prompts/get",
        &[
            (
                r#"{"name":"a","arguments":[]}"#,
                "/arguments` must be an object",
            ),
            (
                r#"{"name":"a","arguments":{"x":1}}"#,
                "/arguments/x` must be a string",
            ),
            (
                r#"{"name":"a","arguments":{"a/b~c":null}}"#,
                "/arguments/a~1b~0c` must be a string",
            ),
            (r#"{"name":"a\n"}"#, "/name` must not have control"),
        ],
    );
}

#[test]
fn a_completion_refers_to_a_prompt_or_a_resource() {
    let with =
        |reference: &str| format!(r#"{{"ref":{reference},"argument":{{"name":"a","value":"b"}}}}"#);
    check_accepted(
        "completion/complete",
        &[
            &with(r#"{"type":"ref/prompt","name":"a","title":"x"}"#),
            &with(r#"{"type":"ref/resource","uri":"file:///{path}"}"#),
            r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":"\n"},"context":{"arguments":{"x":"1"}}}"#,
        ],
    );
    check_refused(
        "completion/complete",
        &[
            (&with("[]"), "/ref` must be an object"),
            (&with("{}"), "/ref/type` is missing"),
            (&with(r#"{"type":1}"#), "/ref/type` must be a string"),
            (
                &with(r#"{"type":"ref/tool","name":"a"}"#),
                "/ref/type` is not one",
            ),
            (
                &with(r#"{"type":"ref/prompt","uri":"a"}"#),
                "/ref/name` is missing",
            ),
            (
                &with(r#"{"type":"ref/resource","name":"a"}"#),
                "/ref/uri` is missing",
            ),
            (
                &with(r#"{"type":"ref/prompt","name":"a\u0000"}"#),
                "/ref/name` must not have control",
            ),
            (
                &with(r#"{"type":"ref/prompt","name":"a","Type":"ref/resource"}"#),
                "/ref/Type` can be taken",
            ),
            (
                r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":1}}"#,
                "/argument/value` must be a string",
            ),
            (
                r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"value":"b"}}"#,
                "/argument/name` is missing",
            ),
            (
                r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":"b"},"context":{"arguments":{"x":[]}}}"#,
                "/context/arguments/x` must be a string",
            ),
        ],
    );
}

#[test]
fn a_level_is_one_of_eight() {
    for level in [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ] {
        check_accepted("logging/setLevel", &[&format!(r#"{{"level":"{level}"}}"#)]);
        check_accepted(
            "notifications/message",
            &[&format!(
                r#"{{"level":"{level}","data":{{"x":1}},"logger":"l"}}"#
            )],
        );
    }
    check_refused(
        "logging/setLevel",
        &[
            (r#"{"level":"Info"}"#, "/level` must be one of debug, info"),
            (r#"{"level":""}"#, "/level` must be one of"),
            (r#"{"level":1}"#, "/level` must be a string"),
        ],
    );
    check_refused(
        "notifications/message",
        &[
            (
                r#"{"level":"info","data":1,"logger":1}"#,
                "/logger` must be a string",
            ),
            (
                r#"{"level":"info","Data":1}"#,
                "/Data` can be taken for `data`",
            ),
        ],
    );
}

#[test]
fn a_cancellation_and_progress_name_their_request_as_an_id() {
    check_accepted(
        "notifications/cancelled",
        &[
            r#"{"requestId":1}"#,
            r#"{"requestId":"a","reason":"\n"}"#,
            r#"{"reason":"x"}"#,
        ],
    );
    check_refused(
        "notifications/cancelled",
        &[
            (
                r#"{"requestId":1.0}"#,
                "/requestId` must be written as a plain integer",
            ),
            (
                r#"{"requestId":null}"#,
                "/requestId` must be a string or an integer, not null",
            ),
            (
                r#"{"requestId":9007199254740992}"#,
                "/requestId` must lie within",
            ),
            (
                r#"{"requestId":1,"requestID":2}"#,
                "/requestID` can be taken",
            ),
            (r#"{"requestId":1,"reason":2}"#, "/reason` must be a string"),
        ],
    );
    check_accepted(
        "notifications/progress",
        &[
            r#"{"progressToken":"a","progress":1,"total":2.5,"message":"m"}"#,
            r#"{"progressToken":0,"progress":-1e3}"#,
        ],
    );
    check_refused(
        "notifications/progress",
        &[
            (
                r#"{"progressToken":[],"progress":1}"#,
                "/progressToken` must be a string or an integer",
            ),
            (
                r#"{"progressToken":1,"progress":"1"}"#,
                "/progress` must be a number",
            ),
            (
                r#"{"progressToken":1,"progress":1,"total":null}"#,
                "/total` must be a number",
            ),
            (
                r#"{"progressToken":1,"progress":1,"message":[]}"#,
                "/message` must be a string",
            ),
        ],
    );
}

#[test]
fn sampling_has_messages_and_a_token_limit() {
    check_accepted(
        "sampling/createMessage",
        &[
            r#"{"messages":[{"role":"user","content":{}}],"maxTokens":1,"systemPrompt":"s","includeContext":"thisServer","temperature":0.1,"stopSequences":["a"],"metadata":{},"tools":[{}],"toolChoice":{},"modelPreferences":{},"task":{}}"#,
        ],
    );
    check_refused(
        "sampling/createMessage",
        &[
            (
                r#"{"messages":{},"maxTokens":1}"#,
                "/messages` must be an array",
            ),
            (
                r#"{"messages":[{"role":"user"},"x"],"maxTokens":1}"#,
                "/messages/1` must be an object",
            ),
            (
                r#"{"messages":[{}],"maxTokens":1}"#,
                "/messages/0/role` is missing",
            ),
            (
                r#"{"messages":[{"role":"system"}],"maxTokens":1}"#,
                "/messages/0/role` must be one of user",
            ),
            (
                r#"{"messages":[],"maxTokens":"1"}"#,
                "/maxTokens` must be a number",
            ),
            (
                r#"{"messages":[],"maxTokens":1,"includeContext":"all"}"#,
                "/includeContext` must be one of none",
            ),
            (
                r#"{"messages":[],"maxTokens":1,"includecontext":"none"}"#,
                "/includecontext` can be taken",
            ),
            (
                r#"{"messages":[],"maxTokens":1,"stopSequences":[1]}"#,
                "/stopSequences/0` must be a string",
            ),
            (
                r#"{"messages":[],"maxTokens":1,"tools":{}}"#,
                "/tools` must be an array",
            ),
        ],
    );
}

#[test]
fn an_elicitation_is_a_form_or_a_page() {
    check_accepted(
        "elicitation/create",
        &[
            r#"{"message":"a","requestedSchema":{"type":"object"}}"#,
            r#"{"mode":"form","message":"a","requestedSchema":{}}"#,
            r#"{"mode":"url","message":"a","url":"https://example.com","elicitationId":"x"}"#,
            r#"{"mode":"url","message":"a","url":"https://example.com"}"#,
        ],
    );
    check_refused(
        "elicitation/create",
        &[
            (r#"{"message":"a"}"#, "/requestedSchema` is missing"),
            (
                r#"{"mode":"url","message":"a","requestedSchema":{}}"#,
                "/url` is missing",
            ),
            (
                r#"{"mode":"url","message":"a","url":"a\nb"}"#,
                "/url` must not have control",
            ),
            (r#"{"mode":"popup","message":"a"}"#, "/mode` is not one"),
            (
                r#"{"mode":null,"message":"a","requestedSchema":{}}"#,
                "/mode` must be a string",
            ),
            (
                r#"{"Mode":"url","message":"a","requestedSchema":{}}"#,
                "/Mode` can be taken for `mode`",
            ),
            (
                r#"{"message":1,"requestedSchema":{}}"#,
                "/message` must be a string",
            ),
        ],
    );
    check_refused(
        "notifications/elicitation/complete",
        &[(r#"{"elicitationId":1}"#, "/elicitationId` must be a string")],
    );
}

#[test]
fn a_subscription_lists_what_it_wants() {
    for method in [
        "subscriptions/listen",
        "notifications/subscriptions/acknowledged",
    ] {
        check_accepted(
            method,
            &[
                r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,"resourceSubscriptions":["file:///a"],"taskIds":["x"]}}"#,
            ],
        );
        check_refused(
            method,
            &[
                (
                    r#"{"notifications":[]}"#,
                    "/notifications` must be an object",
                ),
                (
                    r#"{"notifications":{"toolsListChanged":1}}"#,
                    "/notifications/toolsListChanged` must be a boolean",
                ),
                (
                    r#"{"notifications":{"resourceSubscriptions":"file:///a"}}"#,
                    "/notifications/resourceSubscriptions` must be an array",
                ),
                (
                    r#"{"notifications":{"resourceSubscriptions":["a",1]}}"#,
                    "/notifications/resourceSubscriptions/1` must be a string",
                ),
                (
                    r#"{"notifications":{"ResourceSubscriptions":["a"]}}"#,
                    "/notifications/ResourceSubscriptions` can be taken",
                ),
            ],
        );
    }
}

#[test]
fn too_many_odd_keys_are_refused() {
    let long = "ﷺ".repeat(6000);
    check_refused(
        "ping",
        &[(&format!(r#"{{"{long}":1}}"#), "` has keys outside ASCII")],
    );
    check_accepted("ping", &[&format!(r#"{{"x":{{"{long}":1}}}}"#)]);
}

#[test]
fn a_pointer_shows_a_hostile_key_short_and_escaped() {
    let params = format!(
        r#"{{"name":"a","arguments":{{"\u202e{}":1}}}}"#,
        "x".repeat(10_000)
    );
    let error = result("prompts/get", Some(&params)).unwrap_err();
    assert!(
        error.starts_with(r"`params/arguments/\u{202e}xx"),
        "{error}"
    );
    assert!(error.len() < 200, "{error}");
}
