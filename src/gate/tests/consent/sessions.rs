//! Forms that the agent's client shows, and what holds for a session.

use super::*;
use crate::consent::Holds;
use crate::policy::{ConsentRule, Labels, ToolLabels};

#[tokio::test]
async fn the_clients_form_shows_the_call_and_its_yes_lets_it_pass() {
    let asked = Asked::session(with_consent, &[Way::Elicitation]).await;
    let stream = crate::wire::Stream::MAIN;
    asked.bench.agent(&call("1", "ask")).await;
    assert_eq!(asked.bench.talk.agent.streams(), [stream]);
    let form = asked.bench.to_agent().remove(0);
    insta::assert_snapshot!(form);
    let id = id_of(&form);
    asked
        .bench
        .agent(&form_answer(
            &id,
            r#"{"action":"accept","content":{"approve":true}}"#,
        ))
        .await;
    asked.bench.talk.session.until_the_bell_rings().await;
    asked.go_on().await;
    let sent = asked.bench.to_upstream();
    assert_eq!(sent, [call(&id_of(&sent[0]), "ask")]);
    assert_eq!(asked.bench.to_agent(), Vec::<String>::new());
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_granted agent_ui:stdio"]
    );
}

#[tokio::test]
async fn whatever_else_a_client_says_is_a_no() {
    let results = [
        r#""result":{"action":"accept","content":{"approve":false}}"#,
        r#""result":{"action":"accept","content":{"approve":"true"}}"#,
        r#""result":{"action":"accept","content":{"approve":1}}"#,
        r#""result":{"action":"accept","content":{}}"#,
        r#""result":{"action":"accept"}"#,
        r#""result":{"action":"decline"}"#,
        r#""result":{"action":"decline","content":{"approve":true}}"#,
        r#""result":{"action":"cancel"}"#,
        r#""result":{"action":"Accept","content":{"approve":true}}"#,
        r#""result":{}"#,
        r#""error":{"code":-32601,"message":"Method not found"}"#,
    ];
    for said in results {
        let asked = Asked::session(with_consent, &[Way::Elicitation]).await;
        asked.bench.agent(&call("1", "ask")).await;
        let id = id_of(&asked.bench.to_agent()[0]);
        asked
            .bench
            .agent(&format!(r#"{{"jsonrpc":"2.0","id":{id},{said}}}"#))
            .await;
        asked.go_on().await;
        assert_eq!(asked.bench.to_upstream(), Vec::<String>::new(), "{said}");
        assert_refused(&asked.bench.to_agent(), "1", "consent_denied");
    }
}

#[tokio::test]
async fn a_form_is_withdrawn_when_somebody_else_was_faster() {
    let asked = Asked::session(with_consent, &Way::ALL).await;
    asked.bench.agent(&call("1", "ask")).await;
    let id = id_of(&asked.bench.to_agent()[0]);
    let ticket = asked.latest();
    asked.answer(&ticket, Answer::Approve).await;
    let told = asked.bench.to_agent();
    assert!(told[0].contains("notifications/cancelled"), "{told:?}");
    assert!(
        told[0].contains(&format!(r#""requestId":{id}"#)),
        "{told:?}"
    );
    assert_eq!(asked.bench.to_upstream().len(), 1);
    // Its answer is one to nothing.
    asked
        .bench
        .agent(&form_answer(&id, r#"{"action":"decline"}"#))
        .await;
    asked.go_on().await;
    assert_eq!(
        asked.events().await,
        ["consent_requested", "consent_granted web:olga"]
    );
}

#[tokio::test]
async fn a_form_is_withdrawn_when_nobody_answers() {
    let asked = Asked::session(with_consent, &[Way::Elicitation]).await;
    asked.bench.agent(&call("1", "ask")).await;
    let id = id_of(&asked.bench.to_agent()[0]);
    asked.wait(TIMEOUT).await;
    let told = asked.bench.to_agent();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("notifications/cancelled"), "{told:?}");
    assert_refused(&told[1..], "1", "consent_timeout");
    asked
        .bench
        .agent(&form_answer(
            &id,
            r#"{"action":"accept","content":{"approve":true}}"#,
        ))
        .await;
    asked.go_on().await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
}

#[tokio::test]
async fn a_form_is_withdrawn_when_the_call_is_cancelled_or_the_server_ends() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let asked = Asked::session(with_consent, &[Way::Elicitation]).await;
    asked.bench.agent(&call("1", "ask")).await;
    asked.bench.to_agent();
    asked.bench.agent(cancel).await;
    asked.go_on().await;
    let told = asked.bench.to_agent();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("notifications/cancelled"), "{told:?}");

    let asked = Asked::session(with_consent, &[Way::Elicitation]).await;
    asked.bench.agent(&call("1", "ask")).await;
    asked.bench.to_agent();
    let bench = &asked.bench;
    Box::pin(bench.gate.upstream_died(&bench.talk))
        .await
        .unwrap();
    let told = bench.to_agent();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("notifications/cancelled"), "{told:?}");
    assert!(bench.talk.session.state().waiting.to_agent.is_empty());
}

#[tokio::test]
async fn a_server_cannot_answer_a_form_nor_make_one_that_counts() {
    let asked = Asked::session(with_consent, &[Way::Elicitation]).await;
    asked.bench.agent(&call("1", "ask")).await;
    let id = id_of(&asked.bench.to_agent()[0]);
    asked
        .bench
        .upstream(&form_answer(
            &id,
            r#"{"action":"accept","content":{"approve":true}}"#,
        ))
        .await;
    asked.go_on().await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
    // A form of the server's, in the gate's words, is the server's.
    asked.bench.upstream(r#"{"jsonrpc":"2.0","id":"s","method":"elicitation/create","params":{"mode":"form","message":"mcp-protector asks: may this happen?","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}}}}}"#).await;
    let own = id_of(&asked.bench.to_agent()[0]);
    asked
        .bench
        .agent(&form_answer(
            &own,
            r#"{"action":"accept","content":{"approve":true}}"#,
        ))
        .await;
    asked.go_on().await;
    let sent = asked.bench.to_upstream();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].contains(r#""id":"s""#), "{sent:?}");
    assert_eq!(asked.events().await, ["consent_requested"]);
}

/// Consent is what the label asks for, or what another policy does.
fn labelled(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let Resource::Tool(tool) = &facts.resource else {
        return Ok(allow());
    };
    if facts.env.consent.granted || !matches!(facts.action, Action::CallTool { .. }) {
        return Ok(allow());
    }
    let mut reasons = Vec::new();
    if tool.consent != ConsentRule::Never {
        let mut of_label = reason("consent", Some(OnDeny::AskConsent));
        of_label.origin.file = "<consent.cedar>".into();
        reasons.push(of_label);
    }
    if let Action::CallTool { arguments, .. } = &facts.action
        && arguments.0.iter().any(|(pointer, _)| pointer == "/careful")
    {
        reasons.push(reason("careful", Some(OnDeny::AskConsent)));
    }
    Ok(if reasons.is_empty() {
        allow()
    } else {
        Verdict::Deny { reasons }
    })
}

fn revision_with_labels(text: &str) -> PolicySnapshot {
    let rules = [
        ("ask", ConsentRule::OncePerSession),
        ("ask_more", ConsentRule::Always),
    ];
    let mut labels = Labels::default();
    for (name, consent) in rules {
        let tool = ToolLabels {
            consent,
            ..ToolLabels::default()
        };
        labels.tools.insert(name.to_owned(), tool);
    }
    snapshot(text, labelled).with_labels(labels)
}

pub(super) async fn once_per_session() -> Asked {
    let asked = Asked::new(labelled, &[Way::Page]);
    asked
        .bench
        .gate
        .policy
        .publish(revision_with_labels("labels"));
    asked.shake_hands().await;
    asked
}

#[tokio::test]
async fn consent_once_per_session_holds_for_later_calls_of_the_same_tool() {
    let asked = once_per_session().await;
    let ticket = asked.call("1", "ask").await;
    let question = Arc::clone(&asked.desk.pending()[0].question);
    assert_eq!(question.holds, Holds::Session);
    assert!(
        question
            .message()
            .contains("A yes holds for all calls of this tool")
    );
    asked.answer(&ticket, Answer::Approve).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
    let other = call("2", "ask").replace(r#"{"a":1}"#, r#"{"b":2}"#);
    asked.bench.agent(&other).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
    let records = asked.bench.records_of("tool_call").await;
    let said = format!("question {ticket} was answered by web:olga, for the session");
    assert!(!records[0].text().contains(&said) && records[1].text().contains(&said));
    // Another tool is another matter, and `always` is each time.
    let ticket = asked.call("3", "ask_more").await;
    let question = Arc::clone(&asked.desk.pending()[0].question);
    assert_eq!(question.holds, Holds::Once);
    assert!(!question.message().contains("A yes holds"));
    asked.answer(&ticket, Answer::Approve).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
    asked.call("4", "ask_more").await;
    assert_eq!(asked.events().await.len(), 5);
}

#[tokio::test]
async fn consent_of_a_session_lifts_nothing_that_another_policy_asks_about() {
    let asked = once_per_session().await;
    let ticket = asked.call("1", "ask").await;
    asked.answer(&ticket, Answer::Approve).await;
    asked.bench.to_upstream();
    let careful = call("2", "ask").replace(r#"{"a":1}"#, r#"{"careful":true}"#);
    asked.bench.agent(&careful).await;
    assert_eq!(asked.bench.to_upstream(), Vec::<String>::new());
    assert_eq!(asked.desk.pending().len(), 1);
}

#[tokio::test]
async fn consent_of_a_session_ends_with_the_policies_it_was_given_under() {
    let asked = once_per_session().await;
    let ticket = asked.call("1", "ask").await;
    asked.answer(&ticket, Answer::Approve).await;
    asked.bench.to_upstream();
    asked.bench.gate.policy.publish(revision_with_labels("new"));
    asked.call("2", "ask").await;
}

#[tokio::test]
async fn a_no_holds_for_one_call_only() {
    let asked = once_per_session().await;
    let ticket = asked.call("1", "ask").await;
    asked.answer(&ticket, Answer::Deny).await;
    asked.bench.to_agent();
    let ticket = asked.call("2", "ask").await;
    asked.answer(&ticket, Answer::Approve).await;
    assert_eq!(asked.bench.to_upstream().len(), 1);
}
