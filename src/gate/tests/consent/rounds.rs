//! Agents without sessions: they are asked by a result, and bring the answer back.

use super::*;
use crate::wire::{Fragment, MirroredValue, Stream, TransportHeaders};

pub(super) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

pub(super) fn modern(id: &str, tool: &str, arguments: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},{more}{META}}}}}"#
    )
}

pub(super) fn approving(state: &str) -> String {
    answering(state, r#"{"action":"accept","content":{"approve":true}}"#)
}

fn answering(state: &str, said: &str) -> String {
    let state = Fragment::string(state).into_string();
    format!(r#""inputResponses":{{"mcp-protector/consent":{said}}},"requestState":{state},"#)
}

/// Has listed its tools.
pub(super) async fn ready(ways: &[Way]) -> Asked {
    has_listed(Asked::new(with_consent, ways)).await
}

/// The same, by another gate.
pub(super) async fn has_listed(asked: Asked) -> Asked {
    let bench = &asked.bench;
    let list = format!(r#"{{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{{{META}}}}}"#);
    bench.agent(&list).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{{"name":"ask","inputSchema":{{"type":"object"}}}},{{"name":"ask_more","inputSchema":{{"type":"object"}}}}]}}}}"#)).await;
    bench.to_agent();
    asked
}

/// What was answered, and the state in it.
pub(super) fn state_of(answer: &str) -> String {
    let message = Message::decode(answer.as_bytes(), &Limits::default()).unwrap();
    let result = message.result().unwrap();
    let kind = result
        .get("resultType")
        .and_then(crate::wire::Value::as_str);
    assert_eq!(kind.as_deref(), Some("input_required"), "{answer}");
    let state = result.get("requestState").unwrap();
    state.as_str().unwrap().into_owned()
}

pub(super) async fn asked_by_result(asked: &Asked, id: &str) -> String {
    asked
        .bench
        .agent(&modern(id, "ask", r#"{"a":1}"#, ""))
        .await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
    state_of(&asked.bench.to_agent()[0])
}

#[tokio::test]
async fn an_agent_without_a_session_is_asked_and_comes_back_with_a_yes() {
    let asked = ready(&[Way::Elicitation]).await;
    asked
        .bench
        .agent(&modern("1", "ask", r#"{"a":1,"b":2}"#, ""))
        .await;
    let answer = asked.bench.to_agent().remove(0);
    let state = state_of(&answer);
    insta::assert_snapshot!(answer.replace(&state, "[state]"));
    // The same arguments in another order.
    asked
        .bench
        .agent(&modern("2", "ask", r#"{"b":2,"a":1}"#, &approving(&state)))
        .await;
    let sent = asked.bench.to_upstream();
    assert_eq!(sent.len(), 1);
    // What was for the gate does not go on.
    let minted = id_of(&sent[0]);
    assert_eq!(sent[0], modern(&minted, "ask", r#"{"b":2,"a":1}"#, ""));
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_granted agent_ui:stdio"]
    );
    assert_eq!(asked.calls().await, ["BLOCK consent_asked", "ALLOW"]);
}

#[tokio::test]
async fn after_a_yes_headers_are_compared_with_the_call_as_before_it() {
    for (said, passes) in [("x", true), ("y", false)] {
        let asked = Asked::new(with_consent, &[Way::Page]);
        let bench = &asked.bench;
        let list =
            format!(r#"{{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{{{META}}}}}"#);
        bench.agent(&list).await;
        let id = id_of(&bench.to_upstream()[0]);
        bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{{"name":"ask","inputSchema":{{"type":"object","properties":{{"a":{{"type":"string","x-mcp-header":"Region"}}}}}}}}]}}}}"#)).await;
        bench.to_agent();
        let header = ("mcp-param-region".into(), MirroredValue::Once(said.into()));
        let carrier = TransportHeaders {
            repeated: Some([header].into_iter().collect()),
            ..TransportHeaders::default()
        };
        let source = Source::on(Stream::numbered(3));
        let frame = modern("1", "ask", r#"{"a":"x"}"#, "").replace(r#""elicitation":{}"#, "");
        let passed =
            bench
                .gate
                .handle_from(&bench.talk, Source { carrier, ..source }, frame.as_bytes());
        passed.await.unwrap();
        asked.answer(&asked.latest(), Answer::Approve).await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{said}");
        let told = bench.to_agent();
        let refused = told.iter().any(|it| it.contains(r#""code":-32020"#));
        assert_eq!(refused, !passes, "{told:?}");
    }
}

#[tokio::test]
async fn a_state_is_good_for_one_request_and_once() {
    let cases = [
        ("ask_more", r#"{"a":1}"#),
        ("ask", r#"{"a":2}"#),
        ("ask", r#"{"a":1,"b":1}"#),
        ("ask", r#"{"a":1.0}"#),
        ("ask", "{}"),
    ];
    for (tool, arguments) in cases {
        let asked = ready(&[Way::Elicitation]).await;
        let state = asked_by_result(&asked, "1").await;
        asked
            .bench
            .agent(&modern("2", tool, arguments, &approving(&state)))
            .await;
        assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
        let answers = asked.bench.to_agent();
        assert!(answers[0].contains("requestState"), "{answers:?}");
        assert!(answers[0].contains("-32602"), "{answers:?}");
    }
    let asked = ready(&[Way::Elicitation]).await;
    let state = asked_by_result(&asked, "1").await;
    let yes = |id: &str| modern(id, "ask", r#"{"a":1}"#, &approving(&state));
    asked.bench.agent(&yes("2")).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
    asked.bench.agent(&yes("3")).await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
    assert_refused(&asked.bench.to_agent(), "3", "consent_already_used");
}

#[tokio::test]
async fn a_state_that_the_gate_did_not_give_is_refused() {
    let asked = ready(&[Way::Elicitation]).await;
    let state = asked_by_result(&asked, "1").await;
    let (head, tag) = state.rsplit_once('.').unwrap();
    let forged = [
        format!("{head}."),
        format!("{head}.{}", "0".repeat(tag.len())),
        "mcp-protector.consent.1.".to_owned(),
        tag.to_owned(),
    ];
    for state in forged {
        asked
            .bench
            .agent(&modern("2", "ask", r#"{"a":1}"#, &approving(&state)))
            .await;
        assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
        let answers = asked.bench.to_agent();
        assert!(
            answers[0].contains("-32602") || answers[0].contains("input_required"),
            "{answers:?}"
        );
    }
}

#[tokio::test]
async fn without_a_yes_that_comes_back_it_is_denied() {
    let said = [
        answering("STATE", r#"{"action":"decline"}"#),
        answering("STATE", r#"{"action":"accept","content":{"approve":false}}"#),
        answering("STATE", "{}"),
        r#""inputResponses":{},"requestState":"STATE","#.to_owned(),
        r#""requestState":"STATE","#.to_owned(),
        r#""inputResponses":{"other":{"action":"accept","content":{"approve":true}}},"requestState":"STATE","#.to_owned(),
    ];
    for said in said {
        let asked = ready(&[Way::Elicitation]).await;
        let state = asked_by_result(&asked, "1").await;
        let more = said.replace("STATE", &state);
        asked
            .bench
            .agent(&modern("2", "ask", r#"{"a":1}"#, &more))
            .await;
        assert_eq!(asked.bench.to_upstream(), Vec::<String>::new(), "{said}");
        assert_refused(&asked.bench.to_agent(), "2", "consent_denied");
    }
    let asked = ready(&[Way::Elicitation]).await;
    let state = asked_by_result(&asked, "1").await;
    asked.bench.clock.advance(TIMEOUT);
    asked
        .bench
        .agent(&modern("2", "ask", r#"{"a":1}"#, &approving(&state)))
        .await;
    assert_refused(&asked.bench.to_agent(), "2", "consent_timeout");
}

#[tokio::test]
async fn a_yes_under_other_policies_is_none() {
    let asked = ready(&[Way::Elicitation]).await;
    let state = asked_by_result(&asked, "1").await;
    asked
        .bench
        .gate
        .policy
        .publish(snapshot("new", with_consent));
    asked
        .bench
        .agent(&modern("2", "ask", r#"{"a":1}"#, &approving(&state)))
        .await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
    assert!(asked.bench.to_agent()[0].contains("-32602"));
}

#[tokio::test]
async fn whoever_answers_first_counts_before_the_agent_comes_back() {
    let asked = ready(&Way::ALL).await;
    let state = asked_by_result(&asked, "1").await;
    let ticket = asked.desk.pending()[0].id.clone();
    asked
        .desk
        .answer(&ticket, Answer::Deny, By::page("olga"))
        .unwrap();
    asked
        .bench
        .agent(&modern("2", "ask", r#"{"a":1}"#, &approving(&state)))
        .await;
    assert_refused(&asked.bench.to_agent(), "2", "consent_denied");
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_denied web:olga"]
    );
}

#[tokio::test]
async fn a_server_that_asks_as_well_asks_after_the_gate_and_the_yes_goes_on_once() {
    let asked = ready(&[Way::Elicitation]).await;
    let state = asked_by_result(&asked, "1").await;
    asked
        .bench
        .agent(&modern("2", "ask", r#"{"a":1}"#, &approving(&state)))
        .await;
    let minted = id_of(&asked.bench.to_upstream()[0]);
    let asks = r#"{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"which?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"servers"}"#;
    asked.bench.upstream(&form_answer(&minted, asks)).await;
    assert_eq!(asked.bench.to_agent(), [form_answer("2", asks)]);
    let answer =
        r#""inputResponses":{"q":{"action":"accept","content":{}}},"requestState":"servers","#;
    asked
        .bench
        .agent(&modern("3", "ask", r#"{"a":1}"#, answer))
        .await;
    let sent = asked.bench.to_upstream();
    assert_eq!(sent.len(), 1, "{:?}", asked.bench.to_agent());
    assert!(sent[0].contains(r#""requestState":"servers""#));
    // Again, and the consent has gone on already.
    asked
        .bench
        .agent(&modern("4", "ask", r#"{"a":1}"#, answer))
        .await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
    let form = asked.bench.to_agent().remove(0);
    // What the form of a result asks about begins anew: nothing else is shown than what will be sent.
    assert!(
        !form.contains("servers") && !form.contains("inputResponses"),
        "{form}"
    );
    let yes = approving(&state_of(&form));
    asked
        .bench
        .agent(&modern("5", "ask", r#"{"a":1}"#, &yes))
        .await;
    let sent = asked.bench.to_upstream();
    let minted = id_of(&sent[0]);
    assert_eq!(sent, [modern(&minted, "ask", r#"{"a":1}"#, "")]);
}

#[tokio::test]
async fn an_agent_that_shows_no_forms_waits_for_the_page() {
    let asked = ready(&Way::ALL).await;
    let frame = modern("1", "ask", r#"{"a":1}"#, "").replace(r#""elicitation":{}"#, "");
    asked.bench.agent(&frame).await;
    assert_eq!(asked.bench.to_agent(), Vec::<String>::new());
    let ticket = asked.latest();
    asked.answer(&ticket, Answer::Approve).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_call_without_a_session_that_waits_for_the_page_can_be_cancelled() {
    let asked = ready(&Way::ALL).await;
    let frame = modern("1", "ask", r#"{"a":1}"#, "").replace(r#""elicitation":{}"#, "");
    asked.bench.agent(&frame).await;
    asked
        .bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    asked.go_on().await;
    assert_eq!(asked.desk.pending(), []);
    assert_eq!(asked.events().await, ["consent_requested", "cancelled"]);
    assert_eq!(asked.calls().await, ["ERROR cancelled"]);
}

/// As the gate does from time to time.
async fn look(asked: &Asked) {
    let lapsed = asked.desk.take_lapsed();
    asked.bench.gate.end_along(lapsed).await;
}

#[tokio::test]
async fn a_question_that_nobody_comes_back_with_has_an_end_in_the_audit_once() {
    let asked = ready(&Way::ALL).await;
    let state = asked_by_result(&asked, "1").await;
    look(&asked).await;
    assert_eq!(asked.events().await, ["consent_requested"]);
    asked.bench.clock.advance(TIMEOUT);
    look(&asked).await;
    look(&asked).await;
    // Whoever comes later is told so, and is not recorded again.
    let late = modern("2", "ask", r#"{"a":1}"#, &approving(&state));
    asked.bench.agent(&late).await;
    assert_refused(&asked.bench.to_agent(), "2", "consent_timeout");
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_timeout"]
    );
}

#[tokio::test]
async fn a_yes_that_nobody_fetches_is_recorded_when_it_is_good_no_more() {
    let asked = ready(&Way::ALL).await;
    asked_by_result(&asked, "1").await;
    let ticket = asked.desk.pending()[0].id.clone();
    asked.bench.clock.advance(TIMEOUT / 2);
    let by = By::page("olga");
    asked.desk.answer(&ticket, Answer::Approve, by).unwrap();
    asked.bench.clock.advance(TIMEOUT / 2);
    look(&asked).await;
    assert_eq!(asked.events().await, ["consent_requested"]);
    asked.bench.clock.advance(TIMEOUT / 2);
    look(&asked).await;
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_granted web:olga"]
    );
}

#[tokio::test]
async fn questions_that_were_taken_along_end_when_the_gate_has_stopped_or_their_session_is_over() {
    for stops in [true, false] {
        let asked = ready(&Way::ALL).await;
        for id in ["1", "2"] {
            asked_by_result(&asked, id).await;
        }
        let (bench, ends) = (
            &asked.bench,
            [
                "consent_requested",
                "consent_requested",
                "cancelled",
                "cancelled",
            ],
        );
        if stops {
            bench.gate.end_questions_until(async {}).await;
        } else {
            bench.gate.end_questions_of(&bench.talk.session).await;
        }
        assert_eq!(asked.events().await, ends);
        assert_eq!(asked.desk.pending(), []);
        let questions = bench.records_of("consent").await;
        for path in [&["reference"][..], &["consent", "ticket"], &["session_id"]] {
            assert_eq!(questions[0].get(path), questions[2].get(path), "{path:?}");
        }
        let policies = r#""policies":["wants-consent"]"#;
        assert!(questions[2].text().contains(policies));
        assert_ne!(questions[2].get(&["reason", "code"]), "");
    }
}

#[tokio::test]
async fn a_question_that_its_agent_has_ended_is_not_ended_again() {
    let asked = ready(&Way::ALL).await;
    let state = asked_by_result(&asked, "1").await;
    let no = answering(&state, r#"{"action":"decline"}"#);
    asked
        .bench
        .agent(&modern("2", "ask", r#"{"a":1}"#, &no))
        .await;
    asked.bench.clock.advance(TIMEOUT * 3);
    look(&asked).await;
    asked.bench.gate.end_questions_until(async {}).await;
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_denied agent_ui:stdio"]
    );
}
