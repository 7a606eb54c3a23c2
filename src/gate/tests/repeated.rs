//! Headers that say of a call what it does not say.

use super::*;
use crate::session::Ids;
use crate::wire::{MirroredHeaders, MirroredValue, Stream, TransportHeaders};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn wanting(tool: &str) -> String {
    format!(
        r#"{{"name":"{tool}","inputSchema":{{"type":"object","properties":{{"a":{{"type":"string","x-mcp-header":"Region"}}}}}}}}"#
    )
}

fn called(tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},{META}}}}}"#
    )
}

fn said(values: &[(&str, &str)]) -> Option<MirroredHeaders> {
    let once = |value: &str| MirroredValue::Once(value.into());
    let said = values
        .iter()
        .map(|(name, value)| ((*name).into(), once(value)));
    Some(said.collect())
}

/// An agent that has listed nothing, and what came of its call: what was sent to the server, or what
/// the agent was told.
async fn outcome(frame: &str, repeated: Option<MirroredHeaders>) -> Result<String, String> {
    let bench = Bench::new(guarded).with_ids(Ids::OfStream);
    let source = Source::on(Stream::numbered(3));
    let carrier = TransportHeaders {
        repeated,
        ..TransportHeaders::default()
    };
    let passed =
        bench
            .gate
            .handle_from(&bench.talk, Source { carrier, ..source }, frame.as_bytes());
    passed.await.unwrap();
    // The gate looks at the list itself, unless it knows the answer without.
    if let Some(asked) = bench.to_upstream().pop() {
        assert!(asked.contains("tools/list"), "{asked}");
        let [known, hidden] = ["known", "hidden"].map(wanting);
        let list = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[{known},{hidden}],"resultType":"complete"}}}}"#,
            id_of(&asked)
        );
        bench.upstream(&list).await;
        bench.gate.resume(&bench.talk).await.unwrap();
    }
    match (bench.to_upstream().pop(), bench.to_agent().pop()) {
        (Some(sent), None) => Ok(sent),
        (None, Some(told)) => {
            let records = bench.records_of("tool_call").await;
            assert!(records.last().unwrap().text().contains("BLOCK"));
            Err(told)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn headers_are_compared_with_a_call_before_its_agent_has_listed_anything() {
    let region = |value| said(&[("mcp-param-region", value)]);
    for (arguments, repeated, refused) in [
        (r#"{"a":"x"}"#, region("x"), None),
        (
            r#"{"a":"x"}"#,
            region("y"),
            Some("is not what the body says"),
        ),
        (r#"{"a":"x"}"#, said(&[]), Some("is missing")),
        ("{}", said(&[]), None),
        ("{}", region("x"), Some("is not what the body says")),
        ("{}", said(&[("mcp-param-other", "x")]), None),
        // Headers have nothing to say on standard streams, nor in a session.
        (r#"{"a":"x"}"#, None, None),
    ] {
        let case = format!("{arguments} {repeated:?}");
        let outcome = outcome(&called("known", arguments), repeated).await;
        match (outcome, refused) {
            (Ok(sent), None) => assert!(sent.contains(arguments), "{case}: {sent}"),
            (Err(told), Some(why)) => {
                assert!(told.contains(r#""code":-32020"#), "{case}: {told}");
                assert!(told.contains(why), "{case}: {told}");
            }
            (outcome, _) => panic!("{case}: {outcome:?}"),
        }
    }
}

#[tokio::test]
async fn of_a_tool_that_an_agent_may_not_see_headers_tell_nothing() {
    let mut told = Vec::new();
    for tool in ["hidden", "missing"] {
        for value in ["x", "y"] {
            let repeated = said(&[("mcp-param-region", value)]);
            let outcome = outcome(&called(tool, r#"{"a":"x"}"#), repeated).await;
            told.push(outcome.unwrap_err().replace(tool, "t"));
        }
    }
    assert!(told[0].contains("Unknown tool: t"), "{told:?}");
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
}
