//! What belongs on which stream, where a peer has several.

use super::*;
use crate::policy::Principal;
use crate::session::Ids;
use crate::wire::Stream;

/// The stream of the upstream's that something comes on, among requests.
type CameOn = fn(&[String]) -> Stream;

const FIRST: Stream = Stream::numbered(11);
const SECOND: Stream = Stream::numbered(12);

#[tokio::test]
async fn a_reply_goes_back_on_the_stream_of_its_request() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.agent_on(FIRST, &call("1", "echo")).await;
    bench.agent_on(SECOND, &call("2", "echo")).await;
    let asked = bench.to_upstream();
    for (line, belongs) in asked.iter().zip([FIRST, SECOND]).rev() {
        bench.upstream(&reply(&id_of(line))).await;
        assert_eq!(bench.talk.agent.streams(), [belongs]);
        bench.to_agent();
    }
}

#[tokio::test]
async fn equal_ids_are_of_different_agents_or_repeated_by_one() {
    for (ids, forwarded) in [(Ids::OfStream, 2), (Ids::OfSession, 1)] {
        let bench = Bench::ready(open, &["echo"]).await.with_ids(ids);
        bench.agent_on(FIRST, &call("1", "echo")).await;
        bench.agent_on(SECOND, &call("1", "echo")).await;
        let asked = bench.to_upstream();
        assert_eq!(asked.len(), forwarded);
        bench.to_agent();
        if let [first, second] = asked.as_slice() {
            bench.upstream(&reply(&id_of(second))).await;
            bench.upstream(&reply(&id_of(first))).await;
            assert_eq!(bench.talk.agent.streams(), [SECOND, FIRST]);
            assert_eq!(bench.to_agent(), [reply("1"), reply("1")]);
        }
    }
}

/// A request from this address, on a stream of its own.
async fn from(bench: &Bench, host: u8, number: u64) {
    let source = Source {
        peer: Some([10, 0, 0, host].into()),
        ..Source::on(Stream::numbered(number))
    };
    let frame = call("1", "echo");
    let handled = bench
        .gate
        .handle_from(&bench.talk, source, frame.as_bytes());
    handled.await.unwrap();
}

#[tokio::test]
async fn no_address_takes_all_places_of_agents_that_know_nothing_of_each_other() {
    let most = [(Ids::OfStream, 6), (Ids::OfSession, 1)];
    for (ids, most) in most {
        let bench = Bench::ready(open, &["echo"]).await.with_ids(ids);
        for number in 20..30 {
            from(&bench, 1, number).await;
        }
        assert_eq!(bench.to_upstream().len(), most, "{ids:?}");
    }
    let bench = Bench::ready(open, &["echo"]).await.with_ids(Ids::OfStream);
    for number in 20..30 {
        from(&bench, 1, number).await;
    }
    bench.to_upstream();
    for number in 30..40 {
        from(&bench, 2, number).await;
    }
    assert_eq!(bench.to_upstream().len(), 2);
    let told = bench.to_agent();
    assert!(
        told.iter()
            .all(|it| it.contains("too many requests in flight"))
    );
}

#[tokio::test]
async fn a_reply_in_the_stream_of_another_request_answers_nothing() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.agent_on(FIRST, &call("1", "echo")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    let right = Stream::numbered(minted.parse().unwrap());
    bench
        .upstream_on(Stream::numbered(99), &reply(&minted))
        .await;
    assert!(bench.to_agent().is_empty());
    bench.upstream_on(right, &reply(&minted)).await;
    assert_eq!(bench.to_agent(), [reply("1")]);
}

#[tokio::test]
async fn what_a_server_sends_unasked_belongs_to_the_request_that_it_serves() {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let roots = r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let first = |asked: &[String]| stream_of(&asked[0]);
    let untold = |_: &[String]| Stream::UNTOLD;
    let main = |_: &[String]| Stream::MAIN;
    let cases: [(&str, CameOn, Stream); 8] = [
        (log, first, FIRST),
        (roots, first, FIRST),
        (changed, first, FIRST),
        (log, main, Stream::MAIN),
        (roots, main, Stream::MAIN),
        (log, untold, SECOND),
        (roots, untold, SECOND),
        (changed, untold, Stream::MAIN),
    ];
    for (message, came_on, belongs) in cases {
        let bench = Bench::ready(open, &["echo"]).await;
        bench.agent_on(FIRST, &call("1", "echo")).await;
        bench.agent_on(SECOND, &call("2", "echo")).await;
        let asked = bench.to_upstream();
        bench.upstream_on(came_on(&asked), message).await;
        assert_eq!(bench.talk.agent.streams(), [belongs], "{message}");
    }
}

#[tokio::test]
async fn what_cannot_be_told_among_strangers_reaches_none_of_them() {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    for (calls, belongs) in [(1, vec![FIRST]), (2, vec![])] {
        let bench = Bench::ready(open, &["echo"]).await.with_ids(Ids::OfStream);
        for stream in [FIRST, SECOND].into_iter().take(calls) {
            bench.agent_on(stream, &call("1", "echo")).await;
        }
        bench.upstream_on(Stream::UNTOLD, log).await;
        assert_eq!(bench.talk.agent.streams(), belongs, "{calls} calls");
    }
}

#[tokio::test]
async fn an_agent_that_hangs_up_cancels_what_it_waited_for_there_and_nothing_else() {
    let bench = Bench::ready(open, &["echo"]).await.with_ids(Ids::OfStream);
    bench.agent_on(FIRST, &call("1", "echo")).await;
    bench.agent_on(SECOND, &call("1", "echo")).await;
    let asked = bench.to_upstream();
    bench.gate.hung_up(&bench.talk, FIRST).await.unwrap();
    let told = bench.to_upstream();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("notifications/cancelled"), "{told:?}");
    assert!(
        told[0].contains(&format!(r#""requestId":{}"#, id_of(&asked[0]))),
        "{told:?}"
    );
    for line in &asked {
        bench.upstream(&reply(&id_of(line))).await;
    }
    assert_eq!(bench.talk.agent.streams(), [SECOND]);
    let ends = bench.records_of("tool_result").await;
    let reasons: Vec<String> = ends
        .iter()
        .map(|end| end.get(&["reason", "code"]))
        .collect();
    assert_eq!(reasons, ["cancelled", ""]);
}

#[tokio::test]
async fn a_request_that_the_upstream_fails_is_answered_once() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.agent_on(FIRST, &call("1", "echo")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    for _ in 0..2 {
        let fault = UpstreamFault::Unreachable("503".to_owned());
        let failed = bench
            .gate
            .upstream_failed(&bench.talk, minted.parse().unwrap(), fault);
        failed.await.unwrap();
    }
    bench.upstream(&reply(&minted)).await;
    assert_eq!(bench.talk.agent.streams(), [FIRST]);
    let answers = bench.to_agent();
    assert_eq!(answers.len(), 1);
    assert!(answers[0].contains("503"), "{answers:?}");
}

#[tokio::test]
async fn what_a_request_that_was_given_up_still_brings_reaches_nobody_else() {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let bench = Bench::ready(open, &["echo"]).await.with_ids(Ids::OfStream);
    bench.agent_on(FIRST, &call("1", "echo")).await;
    bench.gate.hung_up(&bench.talk, FIRST).await.unwrap();
    bench.agent_on(SECOND, &call("1", "echo")).await;
    bench.upstream_on(Stream::UNTOLD, log).await;
    assert!(bench.to_agent().is_empty());
}

/// Everything is allowed but what comes from this address, or from a client of this name.
fn wary(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let strange = Some([10, 0, 0, 1].into());
    let shunned =
        matches!(facts.principal, Principal::Agent(agent) if agent.client.name == "shunned");
    Ok(match facts.action {
        Action::CallTool { .. } if facts.env.peer == strange || shunned => {
            Verdict::Deny { reasons: vec![] }
        }
        _ => allow(),
    })
}

#[tokio::test]
async fn each_message_is_judged_by_where_it_came_from_and_what_it_says_of_its_sender() {
    let named = |name: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"{name}","version":"1"}}}}}}}}"#
        )
    };
    let list = r#"{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let bench = Bench::new(wary).with_ids(Ids::OfStream);
    bench.agent(list).await;
    let asked = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"tools":[{{"name":"echo","inputSchema":{{"type":"object"}}}}],"resultType":"complete"}}}}"#
        ))
        .await;
    for (name, shown) in [("shunned", false), ("known", true)] {
        let client =
            format!(r#""io.modelcontextprotocol/clientInfo":{{"name":"{name}","version":"1"}},"#);
        let list = list.replace(r#""_meta":{"#, &format!(r#""_meta":{{{client}"#));
        bench.agent_on(Stream::numbered(9), &list).await;
        let asked = id_of(&bench.to_upstream()[0]);
        bench.to_agent();
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"tools":[{{"name":"echo","inputSchema":{{"type":"object"}}}}],"resultType":"complete"}}}}"#
            ))
            .await;
        let told = bench.to_agent().remove(0);
        assert_eq!(told.contains("echo"), shown, "{name}: {told}");
    }
    let cases = [
        ("shunned", 2, 0),
        ("known", 2, 1),
        ("known", 1, 0),
        ("shunned", 2, 0),
    ];
    for (number, (name, host, forwarded)) in (20..).zip(cases) {
        let source = Source {
            peer: Some([10, 0, 0, host].into()),
            ..Source::on(Stream::numbered(number))
        };
        let frame = named(name);
        let passed = bench
            .gate
            .handle_from(&bench.talk, source, frame.as_bytes());
        passed.await.unwrap();
        assert_eq!(bench.to_upstream().len(), forwarded, "{name} from {host}");
    }
}

fn reply(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)
}

/// The stream in which the upstream answers a request.
fn stream_of(asked: &str) -> Stream {
    Stream::numbered(id_of(asked).parse().unwrap())
}
