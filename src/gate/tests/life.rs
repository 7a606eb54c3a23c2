//! Handshakes, time, cancellation and death.

use super::*;
use crate::audit::Event;
use crate::session::Instance;
use crate::session::Place;

#[tokio::test]
async fn before_initialize_only_ping_is_passed_on() {
    let bench = Bench::new(open);
    bench.agent(&call("1", "echo")).await;
    assert!(bench.to_agent()[0].contains("-32600"));
    bench
        .agent(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#)
        .await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_revision_that_nobody_here_speaks_is_refused_with_the_protocols_error() {
    let bench = Bench::new(open);
    bench.agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#).await;
    let answer = bench.to_agent().remove(0);
    assert!(
        answer.contains("-32022") && answer.contains("2025-11-25"),
        "{answer}"
    );
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn a_server_that_answers_with_a_version_that_nobody_here_speaks_is_named_as_the_cause() {
    let bench = Bench::new(open);
    // The last one has no handshake.
    for version in ["2099-01-01", "2026-07-28"] {
        bench.agent(INITIALIZE).await;
        let id = id_of(&bench.to_upstream()[0]);
        bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"{version}","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#)).await;
        let answer = bench.to_agent().remove(0);
        assert!(
            answer.contains("-32603") && answer.contains(&format!("with the version `{version}`")),
            "{version}: {answer}"
        );
    }
}

#[tokio::test]
async fn a_handshake_that_the_upstream_refuses_may_be_tried_again() {
    let bench = Bench::new(open);
    bench.agent(INITIALIZE).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no"}}}}"#
        ))
        .await;
    assert_eq!(bench.to_agent().len(), 1);
    bench.agent(INITIALIZE).await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn what_waits_for_a_server_that_is_lost_is_told_what_became_of_it() {
    let faults = [
        (UpstreamFault::Died, "ended before it answered"),
        (
            UpstreamFault::Unreachable("refused".to_owned()),
            "cannot be reached: refused",
        ),
    ];
    for (fault, said) in faults {
        let bench = Bench::ready(open, &["slow"]).await;
        bench.agent(&call("1", "slow")).await;
        bench.gate.upstream_lost(&bench.talk, fault).await.unwrap();
        let told = bench.to_agent();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(said), "{told:?}");
    }
}

#[tokio::test]
async fn a_request_that_waits_too_long_is_answered_once_and_cancelled_upstream() {
    let bench = Bench::ready(open, &["slow"]).await;
    bench.agent(&call("1", "slow")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    bench.clock.advance(Duration::from_secs(59));
    bench.gate.expire(&bench.talk).await.unwrap();
    assert!(bench.to_agent().is_empty());
    bench.clock.advance(Duration::from_secs(1));
    bench.gate.expire(&bench.talk).await.unwrap();
    assert_eq!(bench.to_agent().len(), 1);
    let cancel = bench.to_upstream().remove(0);
    assert!(
        cancel.contains("notifications/cancelled")
            && cancel.contains(&format!(r#""requestId":{minted}"#)),
        "{cancel}"
    );
    bench.upstream(&result(&minted)).await;
    assert!(bench.to_agent().is_empty());
    let outcomes = bench.records_of("tool_result").await;
    assert_eq!(outcomes.len(), 1);
    assert_eq!(outcomes[0].get(&["reason", "code"]), "timeout");
}

#[tokio::test]
async fn a_single_tool_may_have_its_own_timeout() {
    let bench = Bench::with(open, |settings| {
        settings
            .terms
            .tool_timeouts
            .insert("slow".to_owned(), Duration::from_mins(5));
    });
    bench.shake_hands().await;
    bench.list(&["slow"]).await;
    bench.agent(&call("1", "slow")).await;
    bench.clock.advance(Duration::from_secs(61));
    bench.gate.expire(&bench.talk).await.unwrap();
    assert!(bench.to_agent().is_empty());
}

#[tokio::test]
async fn a_cancelled_call_has_one_outcome_and_no_result() {
    let bench = Bench::ready(open, &["slow"]).await;
    bench.agent(&call("\"a\"", "slow")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    let cancel = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"r"}}}}"#
        )
    };
    bench.agent(&cancel("\"a\"")).await;
    assert_eq!(bench.to_upstream(), [cancel(&minted)]);
    bench.upstream(&result(&minted)).await;
    assert!(bench.to_agent().is_empty());
    let outcomes = bench.records_of("tool_result").await;
    assert_eq!(outcomes.len(), 1);
    assert_eq!(outcomes[0].get(&["reason", "code"]), "cancelled");
}

#[tokio::test]
async fn a_cancellation_of_nothing_is_not_passed_on() {
    let bench = Bench::ready(open, &["slow"]).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_it_waits_for_the_list_is_never_sent() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench.agent(&call("1", "echo")).await;
    let fetch = id_of(&bench.to_upstream()[0]);
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{fetch},"result":{{"tools":[{{"name":"echo","inputSchema":{{}}}}]}}}}"#)).await;
    assert!(bench.to_upstream().is_empty());
    assert!(bench.to_agent().is_empty());
    let calls = bench.records_of("tool_call").await;
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].get(&["reason", "code"]), "cancelled");
}

#[tokio::test]
async fn the_death_of_the_upstream_answers_what_is_in_flight_once() {
    let bench = Bench::ready(open, &["slow"]).await;
    bench.agent(&call("1", "slow")).await;
    bench.agent(&call("2", "slow")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    bench.gate.upstream_died(&bench.talk).await.unwrap();
    let ids: Vec<String> = bench.to_agent().iter().map(|line| id_of(line)).collect();
    assert_eq!(ids, ["1", "2"]);
    bench.gate.upstream_died(&bench.talk).await.unwrap();
    bench.upstream(&result(&minted)).await;
    assert!(bench.to_agent().is_empty());
    bench.agent(&call("3", "slow")).await;
    assert_eq!(bench.to_agent().len(), 1);
    assert!(bench.to_upstream().is_empty());
}

#[tokio::test]
async fn a_restarted_upstream_is_told_what_the_session_agreed_on() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.gate.upstream_died(&bench.talk).await.unwrap();
    bench.gate.upstream_restarted(&bench.talk).await;
    let again = bench.to_upstream().remove(0);
    assert!(
        again.contains(r#""clientInfo":{"name":"tester","version":"1"}"#),
        "{again}"
    );
    bench.agent(&call("1", "echo")).await;
    assert_eq!(
        bench.to_agent().len(),
        1,
        "nothing passes before the handshake is repeated"
    );
    bench.upstream(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#, id_of(&again))).await;
    assert!(bench.to_upstream()[0].contains("notifications/initialized"));
    assert!(bench.to_agent().is_empty());
    bench.list(&["echo"]).await;
    bench.agent(&call("2", "echo")).await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn more_requests_than_may_wait_are_refused() {
    let bench = Bench::ready(open, &["slow"]).await;
    for id in 1..=9 {
        bench.agent(&call(&id.to_string(), "slow")).await;
    }
    assert_eq!(bench.to_upstream().len(), 8);
    assert_eq!(bench.to_agent().len(), 1);
}

#[tokio::test]
async fn a_record_that_cannot_be_written_stops_the_message() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.audit.close(Duration::from_secs(5)).await.unwrap();
    bench.agent(&call("1", "echo")).await;
    assert!(bench.to_upstream().is_empty());
    assert!(bench.to_agent()[0].contains("-32603"));
    assert!(bench.talk.session.is_idle());
}

#[tokio::test]
async fn a_stream_that_lives_until_it_is_cancelled_keeps_no_gate_from_stopping() {
    let bench = Bench::new(open);
    bench.agent(r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#).await;
    assert_eq!(bench.to_upstream().len(), 1);
    assert!(bench.talk.session.is_idle());
    bench.agent(r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#).await;
    assert!(!bench.talk.session.is_idle());
}

/// A server that takes nothing until its patience is over, which is after the request's.
#[derive(Debug, Default)]
struct Deaf(tokio::sync::Notify);

impl Upstream for Deaf {
    async fn send(&self, _: Permit) -> Result<(), UpstreamFault> {
        self.0.notified().await;
        Err(UpstreamFault::Stalled)
    }
}

#[tokio::test]
async fn a_request_that_runs_out_of_time_while_it_is_sent_is_answered_once() {
    let bench = Bench::new(open);
    let server = Server::default();
    let session = Session::new(SessionId::from_random(8), "stdio", server, 0);
    let talk = Talk::new(session, Deaf::default(), Recorder::default());
    let sending = bench.gate.handle(
        &talk,
        Side::Agent,
        crate::wire::Stream::MAIN,
        br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    );
    let meanwhile = async {
        tokio::task::yield_now().await;
        bench.clock.advance(Duration::from_mins(1));
        let expiring = bench.gate.expire(&talk);
        let answered = async {
            // Answered before the server is told, which takes its patience.
            tokio::task::yield_now().await;
            assert_eq!(talk.agent.take().len(), 1);
            talk.upstream.0.notify_waiters();
        };
        tokio::join!(expiring, answered).0.unwrap();
    };
    let (sent, ()) = tokio::join!(sending, meanwhile);
    sent.unwrap();
    assert!(talk.agent.take().is_empty());
    assert!(talk.session.is_idle());
}

#[tokio::test]
async fn each_start_of_a_server_that_is_not_confined_as_it_is_to_be_is_in_the_audit() {
    let lacks =
        || Unconfined::from_first([Some("no Landlock".into()), Some("no Landlock there".into())]);
    for (unconfined, place, event, told) in [
        (
            lacks(),
            Place::At(Instance::OPEN),
            Event::Started,
            Some("no Landlock"),
        ),
        (
            lacks(),
            Place::At(Instance::OPEN),
            Event::Restarted,
            Some("no Landlock"),
        ),
        (lacks(), Place::At(Instance::OPEN), Event::Down, None),
        (
            lacks(),
            Place::At(Instance::ISOLATED[0]),
            Event::Restarted,
            Some("no Landlock there"),
        ),
        (
            lacks(),
            Place::Moving(Instance::ISOLATED[0]),
            Event::SwitchedToIsolated,
            Some("no Landlock there"),
        ),
        (
            Unconfined::default(),
            Place::At(Instance::OPEN),
            Event::Started,
            None,
        ),
    ] {
        let bench = Bench::with(open, |settings| settings.unconfined = unconfined);
        bench.talk.session.state().connection.place = place;
        let record = bench.gate.upstream_state(&bench.talk, event);
        bench.gate.recorder.record(record).await.unwrap();
        let records = bench.records_of("upstream_state").await;
        let [record] = records.as_slice() else {
            panic!("{records:?}");
        };
        let code = told.map_or("", |_| "unconfined");
        assert_eq!(record.get(&["reason", "code"]), code, "{event:?}");
        assert_eq!(record.get(&["reason", "text"]), told.unwrap_or_default());
    }
}
