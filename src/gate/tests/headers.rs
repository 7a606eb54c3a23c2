//! Calls whose headers the gate makes: its agent knows of none.

use super::*;
use crate::session::{Ids, SessionKey, Whose};
use crate::wire::{ArrivalForm, Stream};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// What the server says of a call whose headers it does not take.
const MISMATCH: &str =
    r#""error":{"code":-32020,"message":"Header mismatch: Mcp-Param-Region is missing"}"#;

fn over_http(rule: Rule) -> Bench {
    Bench::with(rule, |settings| {
        settings.over_http = OverHttp::from_first([true]);
        settings.terms.request_timeout = Duration::from_mins(1);
    })
}

/// An agent that makes its own headers, and one before which a bridge stands.
fn transported(mut bench: Bench, transport: &'static str, bridged: bool) -> Bench {
    let mut session = Arc::into_inner(bench.talk.session).unwrap();
    session.transport = transport;
    session.state().protocol.bridged = bridged.then(|| "2025-11-25".into());
    bench.talk.session = Arc::new(session);
    bench
}

fn tool(name: &str, property: &str) -> String {
    format!(
        r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{"a":{property}}}}}}}"#
    )
}

fn plain(name: &str) -> String {
    tool(name, r#"{"type":"string"}"#)
}

fn called(id: &str, name: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{"a":"x"}},{META}}}}}"#
    )
}

fn listing(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{{META}}}}}"#)
}

fn list(id: &str, tools: &[String]) -> String {
    let tools = tools.join(",");
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{tools}]}}}}"#
    )
}

fn answer(id: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},{members}}}"#)
}

/// The only message that the server got, which is of this method; yields its id.
#[track_caller]
fn asked(bench: &Bench, method: &str) -> String {
    let sent = bench.to_upstream();
    assert_eq!(sent.len(), 1, "{sent:?}");
    let named = format!(r#""method":"{method}""#);
    assert!(sent[0].contains(&named), "{sent:?}");
    id_of(&sent[0])
}

/// Answers a request as HTTP does with this status.
async fn reply(bench: &Bench, form: ArrivalForm, frame: &str) {
    let stream = Stream::MAIN;
    let handled = bench
        .gate
        .handle_upstreams(&bench.talk, stream, form, frame.as_bytes());
    Box::pin(handled).await.unwrap();
    Box::pin(bench.gate.resume(&bench.talk)).await.unwrap();
}

/// A call that was sent, after the agent has listed its tool.
async fn sent(bench: &Bench) -> String {
    bench.agent(&listing("1")).await;
    let id = asked(bench, "tools/list");
    bench.upstream(&list(&id, &[plain("t")])).await;
    bench.to_agent();
    bench.agent(&called("7", "t")).await;
    asked(bench, "tools/call")
}

/// What the audit says of calls: kind, decision and code of reason.
async fn told(bench: &Bench) -> Vec<String> {
    let records = bench.records().await;
    let of_calls = records
        .iter()
        .filter(|record| record.get(&["method"]) == "tools/call");
    let told = of_calls.map(|record| {
        let [kind, decision] = ["kind", "decision"].map(|key| record.get(&[key]));
        format!("{kind} {decision} {}", record.get(&["reason", "code"]))
    });
    told.map(|told| told.trim_end().to_owned()).collect()
}

const CALLED: &str = "tool_call ALLOW";
const NOT_TAKEN: &str = "gate_decision ALLOW headers_refused";
const AGAIN: &str = "gate_decision ALLOW retried";

#[tokio::test]
async fn a_tool_with_a_wrong_annotation_is_not_there_for_whoever_knows_of_no_headers() {
    let wrong = [
        r#"{"type":"number","x-mcp-header":"N"}"#,
        r#"{"type":"string","x-mcp-header":"two words"}"#,
        r#"{"type":"array","items":{"type":"string","x-mcp-header":"Item"}}"#,
    ];
    for (transport, bridged, is_there) in [
        ("stdio", false, false),
        ("http", true, false),
        ("http", false, true),
    ] {
        for property in wrong {
            let case = format!("{transport} {bridged} {property}");
            let offered = [tool("wrong", property), plain("right")];
            let bench = transported(over_http(open), transport, bridged);
            bench.agent(&listing("1")).await;
            let id = asked(&bench, "tools/list");
            bench.upstream(&list(&id, &offered)).await;
            let shown = bench.to_agent().remove(0);
            assert_eq!(shown.contains("wrong"), is_there, "{case}: {shown}");
            assert!(shown.contains("right"), "{case}: {shown}");
            // Nor for one that has listed nothing.
            let other = transported(over_http(open), transport, bridged);
            other.agent(&called("2", "wrong")).await;
            let id = asked(&other, "tools/list");
            other.upstream(&list(&id, &offered)).await;
            bench.agent(&called("2", "wrong")).await;
            for bench in [bench, other] {
                assert_eq!(bench.to_upstream().len(), usize::from(is_there), "{case}");
                let told = bench.to_agent();
                let unknown = |told: &String| told.contains("Unknown tool: wrong");
                assert!(told.iter().all(unknown), "{case}: {told:?}");
                assert_eq!(told.is_empty(), is_there, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_tool_that_wants_more_headers_than_are_compared_is_there_for_nobody() {
    let leaf = |it| format!(r#""p{it}":{{"type":"string","x-mcp-header":"h{it}"}}"#);
    let leaves: Vec<_> = (0..100).map(leaf).collect();
    let properties = format!(r#"{{"properties":{{{}}}}}"#, leaves.join(","));
    for (transport, bridged) in [("stdio", false), ("http", true), ("http", false)] {
        let bench = transported(over_http(open), transport, bridged);
        bench.agent(&listing("1")).await;
        let id = asked(&bench, "tools/list");
        let offered = [tool("greedy", &properties), plain("right")];
        bench.upstream(&list(&id, &offered)).await;
        let shown = bench.to_agent().remove(0);
        assert!(
            !shown.contains("greedy") && shown.contains("right"),
            "{shown}"
        );
        bench.agent(&called("2", "greedy")).await;
        assert_eq!(bench.to_upstream(), Vec::<String>::new(), "{transport}");
        assert!(bench.to_agent()[0].contains("Unknown tool: greedy"));
    }
}

#[tokio::test]
async fn without_headers_an_annotation_means_nothing() {
    let bench = Bench::new(open);
    bench.agent(&listing("1")).await;
    let id = asked(&bench, "tools/list");
    let wrong = tool("wrong", r#"{"type":"number","x-mcp-header":"N"}"#);
    bench.upstream(&list(&id, &[wrong])).await;
    assert!(bench.to_agent()[0].contains("wrong"));
}

#[tokio::test]
async fn a_call_that_is_refused_for_its_headers_is_made_once_more_by_the_list_of_now() {
    let bench = over_http(open);
    let first = sent(&bench).await;
    reply(&bench, ArrivalForm::Rejected, &answer(&first, MISMATCH)).await;
    assert!(bench.to_agent().is_empty());
    let id = asked(&bench, "tools/list");
    // Until then its id is taken.
    bench.agent(&called("7", "t")).await;
    assert!(bench.to_agent()[0].contains("-32600"));
    let annotated = tool("t", r#"{"type":"string","x-mcp-header":"Region"}"#);
    bench.upstream(&list(&id, &[annotated])).await;
    let second = asked(&bench, "tools/call");
    assert_ne!(first, second);
    bench.upstream(&result(&second)).await;
    assert_eq!(bench.to_agent(), [result("7")]);
    let told = told(&bench).await;
    let of_it: Vec<&String> = told
        .iter()
        .filter(|it| !it.contains("duplicate_request_id"))
        .collect();
    assert_eq!(of_it, [CALLED, NOT_TAKEN, AGAIN, "tool_result ALLOW"]);
    let records = bench.records().await;
    let named = |code: &str| {
        let mut of_it = records.iter();
        let found = of_it.find(|it| it.get(&["reason", "code"]) == code);
        found.unwrap().get(&["reference"])
    };
    assert_eq!(named("headers_refused"), named("retried"));
}

#[tokio::test]
async fn a_call_is_made_no_third_time() {
    let bench = over_http(open);
    let first = sent(&bench).await;
    reply(&bench, ArrivalForm::Rejected, &answer(&first, MISMATCH)).await;
    let id = asked(&bench, "tools/list");
    bench.upstream(&list(&id, &[plain("t")])).await;
    let second = asked(&bench, "tools/call");
    reply(&bench, ArrivalForm::Rejected, &answer(&second, MISMATCH)).await;
    assert_eq!(bench.to_agent(), [answer("7", MISMATCH)]);
    assert!(bench.to_upstream().is_empty());
    assert_eq!(
        told(&bench).await,
        [CALLED, NOT_TAKEN, AGAIN, "tool_result ALLOW"]
    );
}

#[tokio::test]
async fn what_may_have_been_done_and_what_is_not_about_our_headers_is_not_made_again() {
    let other = r#""error":{"code":-32602,"message":"no"}"#;
    for (transport, bridged, form, says, again) in [
        ("stdio", false, ArrivalForm::Rejected, MISMATCH, true),
        ("http", true, ArrivalForm::Rejected, MISMATCH, true),
        // It makes its own.
        ("http", false, ArrivalForm::Rejected, MISMATCH, false),
        // With any other status it may have been done.
        ("stdio", false, ArrivalForm::Whole, MISMATCH, false),
        ("stdio", false, ArrivalForm::Event, MISMATCH, false),
        ("stdio", false, ArrivalForm::Rejected, other, false),
    ] {
        let bench = transported(over_http(open), transport, bridged);
        let first = sent(&bench).await;
        reply(&bench, form, &answer(&first, says)).await;
        let case = format!("{transport} {bridged} {form:?} {says}");
        assert_eq!(bench.to_agent().is_empty(), again, "{case}");
        assert_eq!(bench.to_upstream().len(), usize::from(again), "{case}");
    }
    // Where the server is no HTTP server nobody makes headers.
    let bench = Bench::new(open);
    let first = sent(&bench).await;
    reply(&bench, ArrivalForm::Rejected, &answer(&first, MISMATCH)).await;
    assert_eq!(bench.to_agent(), [answer("7", MISMATCH)]);
}

#[tokio::test]
async fn a_second_attempt_is_judged_anew_and_refused_as_an_outcome() {
    // The policies are others, the tool is gone, or its annotation is wrong by now.
    let wrong = tool("t", r#"{"type":"number","x-mcp-header":"N"}"#);
    for (rule, tools, code) in [
        (None, vec![], "unknown_tool"),
        (None, vec![wrong], "unknown_tool"),
        (Some(shut as Rule), vec![plain("t")], "not_permitted"),
    ] {
        let bench = over_http(open);
        let first = sent(&bench).await;
        reply(&bench, ArrivalForm::Rejected, &answer(&first, MISMATCH)).await;
        let id = asked(&bench, "tools/list");
        if let Some(rule) = rule {
            let snapshot = snapshot("other", rule);
            bench
                .gate
                .publish("fixture", snapshot, Besides::default())
                .await
                .unwrap();
        }
        bench.upstream(&list(&id, &tools)).await;
        assert!(bench.to_upstream().is_empty(), "{code}");
        assert_eq!(bench.to_agent().len(), 1, "{code}");
        let refused = format!("tool_result BLOCK {code}");
        assert_eq!(told(&bench).await, [CALLED, NOT_TAKEN, &refused]);
    }
}

#[tokio::test]
async fn a_second_attempt_that_finds_no_memory_is_recorded_as_the_outcome_of_its_call() {
    let (bench, rooms) = scarce::scarce(over_http(open));
    let first = sent(&bench).await;
    reply(&bench, ArrivalForm::Rejected, &answer(&first, MISMATCH)).await;
    let id = asked(&bench, "tools/list");
    // For the list alone.
    scarce::leave(&rooms, 1);
    bench.upstream(&list(&id, &[plain("t")])).await;
    assert!(bench.to_upstream().is_empty());
    let refused = "tool_result BLOCK no_memory";
    assert_eq!(told(&bench).await, [CALLED, NOT_TAKEN, refused]);
    let outcome = bench.records_of("tool_result").await.remove(0);
    assert_eq!(outcome.get(&["method"]), "tools/call");
}

/// Nothing may be called.
fn shut(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    Ok(match facts.action {
        Action::CallTool { .. } => Verdict::Abstain,
        _ => allow(),
    })
}

#[tokio::test]
async fn a_call_that_waits_to_be_made_again_can_be_cancelled_and_runs_out_of_time() {
    const CANCEL: &str =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    for cancels in [true, false] {
        let bench = over_http(open);
        let first = sent(&bench).await;
        bench.clock.advance(Duration::from_secs(40));
        reply(&bench, ArrivalForm::Rejected, &answer(&first, MISMATCH)).await;
        let id = asked(&bench, "tools/list");
        if cancels {
            bench.agent(CANCEL).await;
        } else {
            // One time for both.
            bench.clock.advance(Duration::from_secs(20));
            bench.gate.expire(&bench.talk).await.unwrap();
        }
        bench.upstream(&list(&id, &[plain("t")])).await;
        assert!(bench.to_upstream().is_empty());
        let answers = bench.to_agent();
        assert_eq!(answers.len(), usize::from(!cancels), "{answers:?}");
        let code = if cancels { "cancelled" } else { "timeout" };
        let ended = format!("tool_result ERROR {code}");
        assert_eq!(told(&bench).await, [CALLED, NOT_TAKEN, &ended]);
    }
}

#[tokio::test]
async fn a_stream_that_closes_takes_its_call_with_it() {
    let bench = transported(over_http(open), "http", true).with_ids(Ids::OfStream);
    let first = {
        bench.agent_on(Stream::numbered(3), &listing("1")).await;
        let id = asked(&bench, "tools/list");
        bench.upstream(&list(&id, &[plain("t")])).await;
        bench.agent_on(Stream::numbered(4), &called("7", "t")).await;
        asked(&bench, "tools/call")
    };
    reply(&bench, ArrivalForm::Rejected, &answer(&first, MISMATCH)).await;
    let id = asked(&bench, "tools/list");
    let closed = bench.gate.hung_up(&bench.talk, Stream::numbered(4));
    closed.await.unwrap();
    bench.upstream(&list(&id, &[plain("t")])).await;
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn a_list_that_does_not_come_is_an_error_and_no_second_attempt() {
    let bench = over_http(open);
    let first = sent(&bench).await;
    reply(&bench, ArrivalForm::Rejected, &answer(&first, MISMATCH)).await;
    let id = asked(&bench, "tools/list");
    let error = r#""error":{"code":-32603,"message":"no"}"#;
    bench.upstream(&answer(&id, error)).await;
    let answers = bench.to_agent();
    assert!(
        answers[0].contains(r#""id":7,"error":{"code":-32603"#),
        "{answers:?}"
    );
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn a_second_attempt_costs_nothing_and_is_no_second_call() {
    // Also where the budget is of what outlives the session.
    for whose in [Whose::Own, Whose::Common(SessionKey::of("ada", Some("s")))] {
        costs_one_call(whose).await;
    }
}

async fn costs_one_call(whose: Whose) {
    let mut bench = Bench::with(open, |settings| {
        settings.over_http = OverHttp::from_first([true]);
        settings.terms.rates.calls_per_session = Some(1);
    });
    let session = Arc::into_inner(bench.talk.session).unwrap();
    bench.talk.session = Arc::new(session.reading_as(whose));
    let first = sent(&bench).await;
    reply(&bench, ArrivalForm::Rejected, &answer(&first, MISMATCH)).await;
    let id = asked(&bench, "tools/list");
    bench.upstream(&list(&id, &[plain("t")])).await;
    asked(&bench, "tools/call");
    bench.agent(&called("8", "t")).await;
    assert!(bench.to_agent()[0].contains("has made all of its 1 calls"));
}
