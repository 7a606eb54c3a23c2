//! Results that are not finished, and the requests that go on with them.

use super::*;
use crate::gate::rounds::MAX_ROUNDS;
use crate::policy::{Agent, Leaf};
use crate::session::Ids;
use crate::session::Instance;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

/// Everything is allowed but one argument.
fn choosy(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let Action::CallTool { arguments, .. } = &facts.action else {
        return Ok(allow());
    };
    let evil =
        |(_, leaf): &(String, Leaf<'_>)| matches!(leaf, Leaf::String(text) if text == "evil");
    Ok(if arguments.0.iter().any(evil) {
        Verdict::Deny { reasons: vec![] }
    } else {
        allow()
    })
}

/// Agents without sessions, who have seen two tools.
async fn bench() -> Bench {
    let bench = Bench::new(choosy).with_ids(Ids::OfStream);
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{{{META}}}}}"#
        ))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    let tools = format!("{},{}", tool("safe"), tool("other"));
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","tools":[{tools}]}}}}"#
        ))
        .await;
    bench.to_agent();
    bench
}

/// A request with these members of `params`.
fn ask(method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members},{META}}}}}"#)
}

/// A call of `safe` with the answers and the state of an earlier round.
fn answered(arguments: &str, rest: &str) -> String {
    ask(
        "tools/call",
        &format!(r#""name":"safe","arguments":{arguments}{rest}"#),
    )
}

fn unfinished(id: &str, state: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"elicitation/create","params":{{"message":"m","requestedSchema":{{"type":"object","properties":{{}}}}}}}}}}{state}}}}}"#
    )
}

/// The server asks for more, in answer to a call of `safe` with these arguments.
async fn begin(bench: &Bench, arguments: &str, state: &str) {
    bench.agent(&answered(arguments, "")).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench.upstream(&unfinished(&id, state)).await;
    assert_eq!(bench.to_agent(), [unfinished("1", state)]);
}

/// Its session goes on with the isolated server, which has the same tool.
fn moves_on(bench: &Bench) {
    let session = &bench.talk.session;
    session.leave_for(Instance::ISOLATED[0]).unwrap();
    session.state().connection.upstream = crate::session::Readiness::Up;
    session.arrived();
    let page = crate::session::Page::of_one_tool("safe");
    let begins = crate::session::Traversal::AgentBegins;
    session.state().lists.tools.add_page(begins, &page, None);
}

const STATE: &str = r#","requestState":"a.b/\u0063""#;
const ANSWERS: &str = r#","inputResponses":{"k":{"action":"accept"}},"requestState":"a.b\/c""#;

#[tokio::test]
async fn a_state_goes_back_to_the_request_that_it_was_given_for_and_to_no_other() {
    let cases = [
        (answered(r#"{"x":1,"y":"é"}"#, ANSWERS), true),
        // The same, however it is written down.
        (answered(r#"{"y":"\u00e9","x":1}"#, ANSWERS), true),
        (answered(r#"{"x":1,"y":"e"}"#, ANSWERS), false),
        (answered(r#"{"x":1}"#, ANSWERS), false),
        (
            answered(r#"{"x":1,"y":"é"}"#, &ANSWERS.replace("/c", "/d")),
            false,
        ),
        (
            answered(r#"{"x":1,"y":"é"}"#, &ANSWERS.replace("a.b", "A.b")),
            false,
        ),
        (
            ask(
                "tools/call",
                &format!(r#""name":"other","arguments":{{"x":1,"y":"é"}}{ANSWERS}"#),
            ),
            false,
        ),
        (
            ask(
                "prompts/get",
                &format!(r#""name":"safe","arguments":{{"y":"é"}}{ANSWERS}"#),
            ),
            false,
        ),
        (
            ask("resources/read", &format!(r#""uri":"safe"{ANSWERS}"#)),
            false,
        ),
        (ask("tools/list", r#""requestState":"a.b/c""#), false),
    ];
    for (retry, passes) in cases {
        let bench = bench().await;
        begin(&bench, r#"{"x":1,"y":"é"}"#, STATE).await;
        bench.agent(&retry).await;
        let sent = bench.to_upstream();
        assert_eq!(sent.len(), usize::from(passes), "{retry}");
        if passes {
            // Not a byte of it is changed, nor of what was answered.
            assert!(sent[0].contains(ANSWERS), "{}", sent[0]);
            continue;
        }
        let answers = bench.to_agent();
        assert!(answers[0].contains("-32602"), "{answers:?}");
        let records = bench.records().await;
        let last = records.last().unwrap();
        assert_eq!(
            last.get(&["reason", "code"]),
            "request_state_mismatch",
            "{retry}"
        );
    }
}

#[tokio::test]
async fn a_state_of_the_open_server_is_none_of_the_isolated_ones() {
    let answers = answered(r#"{"x":1}"#, ANSWERS);
    for moves in [false, true] {
        let bench = bench().await;
        begin(&bench, r#"{"x":1}"#, STATE).await;
        if moves {
            moves_on(&bench);
        }
        bench.agent(&answers).await;
        assert_eq!(bench.to_upstream().is_empty(), moves);
        assert_eq!(bench.to_agent().concat().contains("-32602"), moves);
        // Where it was asked nothing, nothing is answered either.
        let stateless = answers.replace(r#","requestState":"a.b\/c""#, "");
        bench
            .agent(&stateless.replace(r#""id":1"#, r#""id":2"#))
            .await;
        let sent = bench.to_upstream().remove(0);
        assert!(sent.contains(r#""inputResponses":{}"#), "{sent}");
        // What it gives itself is its own.
        bench.upstream(&unfinished(&id_of(&sent), STATE)).await;
        assert_eq!(bench.to_agent(), [unfinished("2", STATE)]);
        bench
            .agent(&answers.replace(r#""id":1"#, r#""id":3"#))
            .await;
        assert_eq!(bench.to_upstream().len(), 1);
    }
}

#[tokio::test]
async fn questions_of_the_open_server_that_have_no_state_are_not_answered_to_the_isolated_one() {
    let bench = bench().await;
    begin(&bench, "{}", "").await;
    moves_on(&bench);
    let answers = r#","inputResponses":{"k":{"n":1}}"#;
    bench.agent(&answered("{}", answers)).await;
    let sent = bench.to_upstream().remove(0);
    assert!(sent.contains(r#""inputResponses":{}"#), "{sent}");
}

#[tokio::test]
async fn a_request_with_answers_is_judged_anew() {
    let bench = bench().await;
    begin(&bench, r#"{"x":1}"#, STATE).await;
    bench.agent(&answered(r#"{"x":"evil"}"#, ANSWERS)).await;
    assert!(bench.to_upstream().is_empty());
    let answers = bench.to_agent();
    assert!(answers[0].contains("4030"), "{answers:?}");
}

#[tokio::test]
async fn what_was_not_asked_is_not_answered() {
    let answers = r#","inputResponses":{"k":{"n":1},"z":{"n":2}}"#;
    // Asked, by the same call, by another one, or never.
    let cases = [
        (Some("{}"), r#""inputResponses":{"k":{"n":1}}"#),
        (Some(r#"{"x":1}"#), r#""inputResponses":{}"#),
        (None, r#""inputResponses":{}"#),
    ];
    for (asked_for, passed) in cases {
        let bench = bench().await;
        if let Some(arguments) = asked_for {
            begin(&bench, arguments, "").await;
        }
        bench.agent(&answered("{}", answers)).await;
        let sent = bench.to_upstream().remove(0);
        assert!(sent.contains(passed), "{sent}");
        let records = bench.records().await;
        let call = records.last().unwrap().text();
        assert!(
            call.contains(r#""pointer":"/params/inputResponses/z","op":"remove""#),
            "{call}"
        );
    }
}

/// Another conversation at the same gate.
fn other_talk(id: &str) -> Talk<Recorder, Recorder> {
    let agent = Agent {
        id: id.to_owned(),
        ..Agent::default()
    };
    let session = Session::new(SessionId::from_random(8), "http", Server::default(), 0).of(agent);
    let session = session.with_ids(Ids::OfStream);
    Talk::new(session, Recorder::default(), Recorder::default())
}

#[tokio::test]
async fn a_state_is_its_agents_in_every_conversation_and_no_other_agents() {
    let bench = bench().await;
    begin(&bench, r#"{"x":1}"#, STATE).await;
    let own = bench.talk.session.state().parties.agent.id.clone();
    for (agent, passes) in [(own.as_str(), true), ("eve", false)] {
        let talk = other_talk(agent);
        let page = crate::session::Page::of_one_tool("safe");
        let listed = crate::session::Traversal::AgentBegins;
        talk.session
            .state()
            .lists
            .tools
            .add_page(listed, &page, None);
        let retry = answered(r#"{"x":1}"#, ANSWERS);
        let stream = crate::wire::Stream::numbered(1);
        let handled = bench
            .gate
            .handle(&talk, Side::Agent, stream, retry.as_bytes());
        handled.await.unwrap();
        assert_eq!(talk.upstream.take().len(), usize::from(passes), "{agent}");
    }
}

#[tokio::test]
async fn a_state_is_good_for_an_hour() {
    for (minutes, passes) in [(59, true), (60, false)] {
        let bench = bench().await;
        begin(&bench, "{}", STATE).await;
        bench.clock.advance(Duration::from_mins(minutes));
        bench.agent(&answered("{}", ANSWERS)).await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{minutes}");
    }
}

#[tokio::test]
async fn there_is_an_end_to_the_rounds_of_one_request() {
    let state = |round: u32| format!(r#","requestState":"{round}""#);
    let bench = bench().await;
    begin(&bench, "{}", &state(1)).await;
    for round in 1..=MAX_ROUNDS {
        bench.agent(&answered("{}", &state(round))).await;
        let id = id_of(&bench.to_upstream()[0]);
        bench.upstream(&unfinished(&id, &state(round + 1))).await;
        let answer = bench.to_agent().remove(0);
        let is_over = round == MAX_ROUNDS;
        assert_eq!(answer.contains("10 rounds"), is_over, "{round}: {answer}");
    }
}

#[tokio::test]
async fn only_what_can_be_repeated_may_ask_for_more() {
    let bench = bench().await;
    let cases = [
        ("tools/list", r#""resultType":"input_required","tools":[]"#),
        ("tools/list", r#""tools":[],"requestState":"x""#),
        ("server/discover", r#""resultType":"input_required""#),
        (
            "prompts/get",
            r#""resultType":"input_required","requestState":7"#,
        ),
    ];
    for (method, result) in cases {
        bench.agent(&ask(method, r#""name":"safe""#)).await;
        let id = id_of(&bench.to_upstream()[0]);
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{{result}}}}}"#
            ))
            .await;
        let answers = bench.to_agent();
        assert!(answers[0].contains("-32603"), "{result}: {answers:?}");
    }
}
