//! Servers know the user by what the gate shows them, and by nothing that an agent says.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::assertion::Issuer;
use crate::gate::user_identity::{Audience, UserIdentities, UserIdentity, UserProof};
use crate::policy::Agent as PolicyAgent;
use crate::session::Ids;
use crate::wire::{AgentToken, Stream, TransportHeaders};

const KEY: &str = "mcp-protector/identity";
const SERVER: &str = "https://server.example/mcp";

fn audience() -> Audience {
    audience_of("fixture")
}

fn audience_of(name: &str) -> Audience {
    let clock = Arc::new(HandClock::default());
    Audience {
        name: name.into(),
        issuer: Arc::new(Issuer::new(clock).unwrap()),
    }
}

/// Alice, before a server that knows users in this way.
fn bench(identity: UserIdentity) -> Bench {
    bench_of(UserIdentities::from_first([identity]))
}

/// The same, whose session moves to an isolated server when it has read something secret.
fn bench_of(identities: UserIdentities) -> Bench {
    bench_in(Eras::Unasked, identities)
}

fn bench_in(eras: Eras, identities: UserIdentities) -> Bench {
    let mut bench = Bench::with(open, |settings| {
        settings.thresholds = crate::session::Thresholds::new([3]);
        settings.user_identities = Arc::new(identities);
        settings.eras = eras;
    });
    let session = Arc::into_inner(bench.talk.session).unwrap();
    bench.talk.session = Arc::new(session.of(PolicyAgent {
        id: "alice".to_owned(),
        roles: vec!["dev".to_owned()],
        ..PolicyAgent::default()
    }));
    bench
}

fn in_meta() -> UserIdentity {
    UserIdentity::Meta(audience())
}

/// The claims of an assertion.
fn claims(assertion: &str) -> Value {
    let part = assertion.split('.').nth(1).unwrap();
    let text = BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    String::from_utf8(text).unwrap().parse().unwrap()
}

/// A message that was sent, and the assertion that was in its `_meta`.
fn without_assertion(line: &str) -> (Value, Option<Value>) {
    let mut message: Value = line.parse().unwrap();
    let meta = message.pointer_mut("/params/_meta");
    let meta = meta.and_then(Value::as_object_mut);
    let assertion = meta.and_then(|meta| meta.remove(KEY));
    let assertion = assertion.map(|text| claims(text.as_str().unwrap()));
    (message, assertion)
}

/// What the server gets of a message of an agent whose server knows users in this way.
async fn sent(identity: UserIdentity, frame: &str) -> String {
    let bench = bench(identity);
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    bench.agent(frame).await;
    bench.to_upstream().remove(0)
}

#[tokio::test]
async fn requests_and_notifications_have_an_assertion_in_their_meta() {
    for (method, params, expected) in [
        ("ping", None, json!({"_meta": {}})),
        ("prompts/list", Some(json!({})), json!({"_meta": {}})),
        (
            "tools/call",
            Some(json!({"name": "t", "_meta": {"a": [1.5]}, "arguments": {}})),
            json!({"name": "t", "_meta": {"a": [1.5]}, "arguments": {}}),
        ),
        (
            "notifications/roots/list_changed",
            None,
            json!({"_meta": {}}),
        ),
    ] {
        let mut frame = json!({"jsonrpc": "2.0", "method": method});
        if !method.starts_with("notifications/") {
            frame["id"] = json!(7);
        }
        if let Some(params) = params {
            frame["params"] = params;
        }
        let line = sent(in_meta(), &frame.to_string()).await;
        let (message, assertion) = without_assertion(&line);
        assert_eq!(message["params"], expected, "{line}");
        let assertion = assertion.unwrap_or_else(|| panic!("{line}"));
        assert_eq!(assertion["sub"], "alice");
        assert_eq!(assertion["roles"], json!(["dev"]));
        assert_eq!(assertion["aud"], "fixture");
        assert_eq!(assertion["sid"], format!("{:032x}", 7));
    }
}

#[tokio::test]
async fn a_member_that_an_agent_writes_in_the_place_of_the_assertion_never_reaches_the_server() {
    let forged = [
        json!("forged.forged.forged"),
        json!({"sub": "forged"}),
        json!(["forged"]),
        json!(null),
    ];
    for value in forged {
        let frame = json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {"name": "t", "_meta": {KEY: value, "kept": 1}, "arguments": {}},
        });
        for identity in [
            UserIdentity::None,
            in_meta(),
            UserIdentity::Header(audience()),
        ] {
            let is_in_meta = matches!(identity, UserIdentity::Meta(_));
            let bench = bench(identity);
            bench.shake_hands().await;
            bench.list(&["t"]).await;
            bench.agent(&frame.to_string()).await;
            let line = bench.to_upstream().remove(0);
            assert!(!line.contains("forged"), "{line}");
            assert_eq!(line.matches(KEY).count(), usize::from(is_in_meta), "{line}");
            let (message, _) = without_assertion(&line);
            assert_eq!(message["params"]["_meta"], json!({"kept": 1}), "{line}");
            let record = bench.records_of("tool_call").await.pop().unwrap();
            assert!(
                record.text().contains("reserved for the gate"),
                "{record:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_name_that_a_server_could_take_for_the_assertion_is_rejected() {
    for name in [
        "MCP-Protector/Identity",
        "mcp-protector/\\u0131dentity",
        "mcp-protector/identity\\u0000",
    ] {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"_meta":{{"{name}":"forged"}}}}}}"#
        );
        for identity in [UserIdentity::None, in_meta()] {
            let bench = bench(identity);
            bench.agent(&frame).await;
            assert!(bench.to_upstream().is_empty(), "{name}");
            assert!(bench.to_agent().remove(0).contains("error"), "{name}");
        }
    }
}

#[tokio::test]
async fn replies_have_no_assertion_and_lose_what_their_sender_wrote_in_its_place() {
    let bench = bench(in_meta());
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#)
        .await;
    let asked = bench.to_agent().remove(0);
    let reply = json!({
        "jsonrpc": "2.0", "id": id_of(&asked).parse::<Value>().unwrap(),
        "result": {"roots": [], "_meta": {KEY: "forged"}},
    });
    bench.agent(&reply.to_string()).await;
    let line = bench.to_upstream().remove(0);
    assert!(line.contains(r#""roots":[]"#), "{line}");
    assert!(!line.contains(KEY), "{line}");
}

#[tokio::test]
async fn a_server_cannot_hand_its_assertion_to_the_agent_in_that_place() {
    let bench = bench(in_meta());
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    bench.agent(&call("7", "t")).await;
    let line = bench.to_upstream().remove(0);
    let message: Value = line.parse().unwrap();
    let result = json!({
        "jsonrpc": "2.0", "id": message["id"],
        "result": {"content": [], "_meta": message["params"]["_meta"]},
    });
    bench.upstream(&result.to_string()).await;
    let told = bench.to_agent().remove(0);
    assert!(told.contains("result") && !told.contains(KEY), "{told}");
}

#[tokio::test]
async fn messages_of_the_gate_speak_for_the_agent_and_a_startup_probe_for_nobody() {
    let bench = bench(in_meta());
    bench.shake_hands().await;
    // The gate lists the tools before the first call.
    bench.agent(&call("7", "t")).await;
    let line = bench.to_upstream().remove(0);
    assert!(line.contains("tools/list"), "{line}");
    assert_eq!(without_assertion(&line).1.unwrap()["sub"], "alice");

    let bench = self::bench(in_meta());
    let opening = crate::session::Opening::Initialize;
    bench.gate.try_out(&bench.talk, opening).await;
    let line = bench.to_upstream().remove(0);
    assert!(line.contains("initialize") && !line.contains(KEY), "{line}");
}

#[tokio::test]
async fn an_isolated_server_gets_what_it_is_to_get_and_nothing_that_the_open_one_got() {
    for (isolated, audience) in [
        (UserIdentity::None, None),
        (UserIdentity::Header(audience()), None),
        (UserIdentity::Meta(audience_of("narrow")), Some("narrow")),
    ] {
        let bench = bench_of(UserIdentities::from_first([in_meta(), isolated]));
        bench.shake_hands().await;
        bench.list(&["t"]).await;
        bench.raise(3);
        let lines = bench.agent_meanwhile(&call("7", "t"), &["t"]).await;
        let mut lines = lines.iter().skip_while(|line| *line != MOVED);
        assert_eq!(lines.next().unwrap(), MOVED);
        let mut count = 0;
        for line in lines {
            let (message, assertion) = without_assertion(line);
            let named = assertion.map(|claims| claims["aud"].as_str().unwrap().to_owned());
            assert_eq!(named.as_deref(), audience, "{message}");
            count += 1;
        }
        // The handshake, the list and the call.
        assert_eq!(count, 4);
    }
}

#[tokio::test]
async fn an_assertion_in_a_header_is_not_in_the_text() {
    let bench = bench(UserIdentity::Header(audience()));
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    bench.agent(&call("7", "t")).await;
    assert!(!bench.to_upstream().remove(0).contains(KEY));
    let proofs = bench.talk.upstream.proofs.lock().unwrap().clone();
    assert_eq!(proofs.len(), 4);
    for proof in proofs {
        let Some(UserProof::Assertion(voucher)) = proof else {
            panic!("{proof:?}");
        };
        assert_eq!(claims(&voucher.assertion().unwrap())["sub"], "alice");
    }
}

#[tokio::test]
async fn a_change_of_roles_makes_another_assertion() {
    let bench = bench(in_meta());
    bench.shake_hands().await;
    let mut roles = Vec::new();
    for role in ["dev", "dev", "admin"] {
        bench.talk.session.state().parties.roles = vec![role.to_owned()];
        bench
            .agent(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#)
            .await;
        let line = bench.to_upstream().remove(0);
        let id = id_of(&line);
        bench
            .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))
            .await;
        let assertion = without_assertion(&line).1.unwrap();
        roles.push((assertion["roles"][0].clone(), assertion["jti"].clone()));
    }
    assert_eq!(roles[0], roles[1]);
    assert_eq!((&roles[1].0, &roles[2].0), (&json!("dev"), &json!("admin")));
}

/// A token for this server, until this second of the bench's clock.
fn token(server: &str, until: i64) -> AgentToken {
    AgentToken::new(
        "secret-token-of-alice".to_owned().into(),
        vec![server.into()],
        until,
    )
}

/// A message of an agent with this token.
async fn with_token(bench: &Bench, frame: &str, token: Option<AgentToken>) {
    let carrier = TransportHeaders {
        token,
        ..TransportHeaders::default()
    };
    let source = Source {
        carrier,
        ..Source::on(Stream::MAIN)
    };
    let handled = bench
        .gate
        .handle_from(&bench.talk, source, frame.as_bytes());
    Box::pin(handled).await.unwrap();
}

/// A call without a session.
const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

#[tokio::test]
async fn a_token_is_forwarded_to_the_server_that_it_was_issued_for_and_nothing_goes_without() {
    for (token, passes) in [
        (Some(token(SERVER, 100)), true),
        (Some(token(SERVER, 0)), false),
        (Some(token("https://other.example", 100)), false),
        (None, false),
    ] {
        let bench = bench(UserIdentity::Forward(SERVER.into())).with_ids(Ids::OfSession);
        with_token(&bench, INITIALIZE, token.clone()).await;
        let sent = bench.to_upstream();
        assert_eq!(sent.len(), usize::from(passes), "{token:?}");
        let proofs = bench.talk.upstream.proofs.lock().unwrap().clone();
        if passes {
            let token = token.unwrap();
            assert_eq!(proofs, [Some(UserProof::Token(token))]);
        } else {
            let told = bench.to_agent().remove(0);
            assert!(told.contains("token_not_for_server"), "{told}");
            let records = bench.records().await;
            let record = records.last().unwrap().text().to_owned();
            assert!(record.contains("token_not_for_server"), "{record}");
            assert!(!record.contains("secret-token-of-alice"), "{record}");
        }
    }
}

#[tokio::test]
async fn a_token_to_exchange_goes_as_one_and_nothing_goes_without() {
    for (token, passes) in [
        // For whom it was issued is for the authorization server to judge.
        (Some(token("https://other.example", 100)), true),
        (Some(token(SERVER, 0)), false),
        (None, false),
    ] {
        let bench = bench(UserIdentity::Exchange).with_ids(Ids::OfSession);
        with_token(&bench, INITIALIZE, token.clone()).await;
        let sent = bench.to_upstream();
        assert_eq!(sent.len(), usize::from(passes), "{token:?}");
        let proofs = bench.talk.upstream.proofs.lock().unwrap().clone();
        if passes {
            assert_eq!(proofs, [Some(UserProof::Subject(token.unwrap()))]);
        } else {
            let told = bench.to_agent().remove(0);
            assert!(told.contains("token_exchange_failed"), "{told}");
            let records = bench.records().await;
            let record = records.last().unwrap().text().to_owned();
            assert!(record.contains("token_exchange_failed"), "{record}");
            assert!(!record.contains("secret-token-of-alice"), "{record}");
        }
    }
}

#[tokio::test]
async fn a_session_takes_its_token_along_to_an_isolated_server_that_needs_it() {
    let identities = UserIdentities::from_first([UserIdentity::None, UserIdentity::Exchange]);
    let bench = bench_of(identities);
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    bench.talk.upstream.proofs.lock().unwrap().clear();
    bench.raise(3);
    let token = token(SERVER, 100);
    let call = call("7", "t");
    let said = with_token(&bench, &call, Some(token.clone()));
    let lines = bench.meanwhile(said, &["t"]).await;
    assert!(
        lines.iter().any(|line| line.contains("tools/call")),
        "{lines:?}"
    );
    let proofs = bench.talk.upstream.proofs.lock().unwrap().clone();
    let shown = proofs.iter().filter(|proof| proof.is_some());
    // The handshake, the list and the call.
    assert_eq!(shown.count(), 4, "{proofs:?}");
    let token = UserProof::Subject(token);
    assert!(
        proofs.iter().flatten().all(|proof| *proof == token),
        "{proofs:?}"
    );
}

#[tokio::test]
async fn a_call_that_waits_for_the_list_of_tools_goes_with_its_own_token() {
    for (until, passes) in [(100, true), (30, false)] {
        let bench = bench(UserIdentity::Forward(SERVER.into())).with_ids(Ids::OfStream);
        let token = token(SERVER, until);
        with_token(&bench, CALL, Some(token.clone())).await;
        let asked = bench.to_upstream().remove(0);
        assert!(asked.contains("tools/list"), "{asked}");
        bench.clock.advance(Duration::from_secs(50));
        let id = id_of(&asked);
        let list = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}}}}],"resultType":"complete"}}}}"#
        );
        bench.upstream(&list).await;
        let sent = bench.to_upstream();
        assert_eq!(sent.len(), usize::from(passes), "{until}: {sent:?}");
        let proofs = bench.talk.upstream.proofs.lock().unwrap().clone();
        assert!(
            proofs
                .iter()
                .all(|proof| *proof == Some(UserProof::Token(token.clone())))
        );
        if !passes {
            let told = bench.to_agent().remove(0);
            assert!(told.contains("token_not_for_server"), "{told}");
        }
    }
}

#[tokio::test]
async fn a_call_is_refused_for_want_of_a_token_where_the_gate_has_none_for_its_own_question() {
    for (eras, question) in [
        (Eras::Unasked, "tools/list"),
        (Eras::Asked, "server/discover"),
    ] {
        let bench = bench_in(eras, UserIdentities::from_first([UserIdentity::Exchange]));
        with_token(&bench, CALL, Some(token(SERVER, 100))).await;
        let asked = bench.to_upstream().remove(0);
        assert!(asked.contains(question), "{asked}");
        let fault = crate::gate::UpstreamFault::NoToken("no access token: because".to_owned());
        let minted = id_of(&asked).parse().unwrap();
        let failed = bench.gate.upstream_failed(&bench.talk, minted, fault);
        failed.await.unwrap();
        bench.gate.resume(&bench.talk).await.unwrap();
        let told = bench.to_agent().remove(0);
        assert!(told.contains("token_exchange_failed"), "{question} {told}");
        assert!(!told.contains("because"), "{question} {told}");
        let record = bench.records_of("tool_call").await.pop().unwrap();
        assert_eq!(record.get(&["decision"]), "ERROR", "{}", record.text());
        assert_eq!(record.get(&["reason", "code"]), "token_exchange_failed");
        assert!(record.text().contains("because"), "{}", record.text());
    }
}

#[tokio::test]
async fn each_message_goes_with_its_own_token_and_never_with_an_earlier_one() {
    let bench = bench(UserIdentity::Forward(SERVER.into()));
    let (first, second) = (token(SERVER, 100), token(SERVER, 200));
    with_token(&bench, INITIALIZE, Some(first.clone())).await;
    let id = id_of(&bench.to_upstream()[0]);
    let reply = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    );
    bench.upstream(&reply).await;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    with_token(&bench, initialized, Some(second.clone())).await;
    with_token(&bench, PING, None).await;
    let proofs = bench.talk.upstream.proofs.lock().unwrap().clone();
    let token = |token| Some(UserProof::Token(token));
    assert_eq!(proofs, [token(first), token(second)]);
}

/// What a message of the gate's own shows this instance of the server.
fn own_proof(bench: &Bench, instance: Instance) -> Option<UserProof> {
    let own = bench.gate.own_permit_to(
        &bench.talk.session,
        instance,
        Stream::MAIN,
        crate::gate::own::OwnMessage::initialized(),
    );
    own.ok()?.passage().proof.clone()
}

#[tokio::test]
async fn a_token_that_no_server_may_have_does_not_take_the_place_of_one_that_a_server_may_have() {
    let other = "https://other.example";
    let forward = || UserIdentity::Forward(SERVER.into());
    for (identities, later) in [
        ([forward(), UserIdentity::None], Some(token(other, 100))),
        ([forward(), UserIdentity::None], Some(token(SERVER, 0))),
        ([forward(), UserIdentity::None], None),
        ([UserIdentity::None, forward()], Some(token(other, 100))),
        ([UserIdentity::Exchange, forward()], Some(token(other, 100))),
        ([UserIdentity::Exchange, forward()], Some(token(SERVER, 0))),
    ] {
        let bench = bench_of(UserIdentities::from_first(identities.clone()));
        let kept = token(SERVER, 100);
        with_token(&bench, INITIALIZE, Some(kept.clone())).await;
        with_token(&bench, PING, later.clone()).await;
        for (instance, identity) in Instance::ALL.iter().zip(&identities) {
            let expected = match identity {
                UserIdentity::Forward(_) => Some(UserProof::Token(kept.clone())),
                UserIdentity::Exchange => Some(UserProof::Subject(kept.clone())),
                UserIdentity::None | UserIdentity::Meta(_) | UserIdentity::Header(_) => None,
            };
            let shown = own_proof(&bench, *instance);
            assert_eq!(shown, expected, "{identities:?} {later:?} {instance:?}");
        }
    }
}

#[tokio::test]
async fn a_token_takes_the_place_of_one_that_has_expired() {
    let identities = [UserIdentity::Exchange, UserIdentity::Forward(SERVER.into())];
    let bench = bench_of(UserIdentities::from_first(identities));
    with_token(&bench, INITIALIZE, Some(token(SERVER, 10))).await;
    bench.clock.advance(Duration::from_secs(50));
    let later = token("https://other.example", 100);
    with_token(&bench, PING, Some(later.clone())).await;
    let shown = own_proof(&bench, Instance::ALL[0]);
    assert_eq!(shown, Some(UserProof::Subject(later)));
}

#[tokio::test]
async fn a_message_of_the_gate_goes_with_the_latest_token_while_it_is_valid() {
    for (until, passes) in [(100, true), (1, false)] {
        let bench = bench(UserIdentity::Forward(SERVER.into()));
        let token = token(SERVER, until);
        with_token(&bench, INITIALIZE, Some(token.clone())).await;
        bench.to_upstream();
        bench.clock.advance(Duration::from_secs(50));
        let own = bench.gate.own_permit(
            &bench.talk.session,
            Side::Upstream,
            Stream::MAIN,
            crate::gate::own::OwnMessage::initialized(),
        );
        let proof = own.ok().map(|permit| permit.passage().proof.clone());
        let expected = passes.then(|| Some(UserProof::Token(token)));
        assert_eq!(proof, expected, "{until}");
        // The record says what becomes of it.
        let occasion = crate::gate::own::Occasion::Initialized;
        let recorded = bench.gate.record_own(&bench.talk, occasion, Side::Upstream);
        recorded.await.unwrap();
        let record = bench.records().await.pop().unwrap();
        let decision = if passes { "ALLOW" } else { "BLOCK" };
        assert_eq!(record.get(&["decision"]), decision, "{}", record.text());
        let is_told = record.text().contains("token_not_for_server");
        assert_eq!(is_told, !passes, "{}", record.text());
    }
}

/// Any JSON, in which the gate's name is not rare.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\u{e9}\"\\\\/]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let key = prop_oneof![Just(KEY.to_owned()), Just("_meta".to_owned()), "[a-z]{1,3}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key, inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The members of an object.
fn any_members() -> impl Strategy<Value = Value> {
    any_json().prop_filter("an object", Value::is_object)
}

proptest! {
    #[test]
    fn the_server_reads_the_assertion_of_the_gate_alone_and_everything_else_as_it_was(
        params in prop::option::of(any_members()),
        meta in prop::option::of(any_members()),
        assertion in prop::option::of("[a-z.]{1,9}"),
    ) {
        let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        if let Some(params) = params {
            message["params"] = params;
            message["params"].as_object_mut().unwrap().remove("_meta");
            if let Some(meta) = meta {
                message["params"]["_meta"] = meta;
            }
        }
        let limits = Limits::default();
        let text = crate::gate::oblige::asserting(&message.to_string(), assertion.as_deref(), &limits);
        let written: Value = text.unwrap().as_str().parse().unwrap();
        let mut expected = message;
        if let Some(meta) = expected.pointer_mut("/params/_meta") {
            meta.as_object_mut().unwrap().remove(KEY);
        }
        if let Some(assertion) = assertion {
            expected["params"]["_meta"][KEY] = json!(assertion);
        }
        prop_assert_eq!(written, expected);
    }
}

#[test]
fn a_line_that_is_no_message_gets_no_assertion() {
    for line in ["", "{", "[]", r#"{"jsonrpc":"2.0"}"#] {
        let written = crate::gate::oblige::asserting(line, Some("a.b"), &Limits::default());
        assert!(written.is_err(), "{line}");
    }
}
