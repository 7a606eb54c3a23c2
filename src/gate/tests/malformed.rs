//! Frames that cannot be decoded, and whose request they end.

use super::*;

/// A frame of the upstream's under the id of a call in flight, and whether it ends the call.
async fn check(rest: &str, ends: bool) {
    let bench = Bench::ready(open, &["echo"]).await;
    bench.agent(&call("1", "echo")).await;
    let minted = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{minted},{rest}}}"#))
        .await;
    let answers = bench.to_agent();
    if ends {
        assert!(answers[0].contains("-32603"), "{rest}: {answers:?}");
    } else {
        assert!(answers.is_empty(), "{rest}: {answers:?}");
        assert_eq!(bench.to_upstream(), Vec::<String>::new(), "{rest}");
        bench.upstream(&result(&minted)).await;
        assert_eq!(bench.to_agent(), [result("1")], "{rest}");
    }
    assert!(bench.talk.session.is_idle(), "{rest}");
}

#[tokio::test]
async fn only_what_has_no_method_ends_a_request_that_waits() {
    let cases = [
        (r#""result":{"a":1,"a":2}"#, true),
        (r#""error":{"code":"x","message":"m"}"#, true),
        (r#""result":{},"Result":{}"#, true),
        (r#""x":1"#, true),
        (r#""method":"ping","params":{"a":1,"a":2}"#, false),
        (r#""method":"ping","params":[]"#, false),
        (r#""method":"ping","result":{}"#, false),
        (r#""method":7"#, false),
        (r#""m\u0065thod":"ping","params":{"a":1,"a":2}"#, false),
        (r#""Method":"ping","result":{}"#, false),
    ];
    for (rest, ends) in cases {
        check(rest, ends).await;
    }
}

/// A call of the agent's in flight, and a request of the server's that the agent knows by the same
/// id; the id.
async fn both_ask() -> (Bench, String) {
    let bench = Bench::ready(open, &["echo"]).await;
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":"s","method":"ping"}"#)
        .await;
    let minted = id_of(&bench.to_agent()[0]);
    bench.agent(&call(&minted, "echo")).await;
    bench.to_upstream();
    (bench, minted)
}

#[tokio::test]
async fn an_answer_of_the_agents_that_cannot_be_read_ends_what_the_server_asked_and_nothing_else() {
    let (bench, minted) = both_ask().await;
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":{minted},"result":{{"a":1,"a":2}}}}"#
        ))
        .await;
    // Under its id the agent waits for the answer to its own call.
    assert_eq!(bench.to_agent(), Vec::<String>::new());
    let told = bench.to_upstream();
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with(r#"{"jsonrpc":"2.0","id":"s","error""#),
        "{told:?}"
    );
    let state = bench.talk.session.state();
    assert!(state.waiting.to_agent.is_empty() && state.waiting.to_upstream.len() == 1);
}

#[tokio::test]
async fn a_request_of_the_agents_that_cannot_be_read_is_no_answer_to_the_server() {
    let (bench, minted) = both_ask().await;
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":{minted},"method":"ping","params":{{"a":1,"a":2}}}}"#
        ))
        .await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    assert_eq!(bench.talk.session.state().waiting.to_agent.len(), 1);
}

#[tokio::test]
async fn an_answer_of_the_agents_that_cannot_be_read_and_answers_nothing_is_dropped() {
    let bench = Bench::ready(open, &["echo"]).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#)
        .await;
    assert!(bench.to_agent().is_empty() && bench.to_upstream().is_empty());
    let record = bench.records_of("malformed_message").await.pop().unwrap();
    assert_eq!(record.get(&["decision"]), "BLOCK");
}
