//! What no message may do to the gate, or to others that pass it at the same time.

use std::cell::Cell;

use super::*;
use crate::policy::{Labels, Root, Roots, ToolLabels};

#[tokio::test]
async fn a_long_key_above_many_leaves_is_refused_and_takes_no_memory() {
    for (key, leaves, code) in [(60_000, 45_000, "arguments_too_wide"), (20, 45_000, "")] {
        let bench = Bench::ready(open, &["safe"]).await;
        let (key, leaves) = ("k".repeat(key), "1,".repeat(leaves));
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"safe","arguments":{{"{key}":[{leaves}1]}}}}}}"#
            ))
            .await;
        assert_eq!(bench.to_upstream().is_empty(), !code.is_empty());
        let records = bench.records_of("tool_call").await;
        assert_eq!(records[0].get(&["reason", "code"]), code);
    }
}

#[tokio::test]
async fn no_two_calls_are_judged_by_the_same_count() {
    let only_one: Rule = |facts| match facts.action {
        Action::CallTool { .. } if facts.env.session.calls > 0 => Ok(Verdict::Abstain),
        _ => open(facts),
    };
    let bench = Bench::recording(only_one, Durability::Strict, |_| {});
    bench.shake_hands().await;
    bench.list(&["safe"]).await;
    let call = |id| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"safe"}}}}"#)
    };
    let calls = [call(1), call(2), call(3)];
    tokio::join!(
        bench.agent(&calls[0]),
        bench.agent(&calls[1]),
        bench.agent(&calls[2])
    );
    assert_eq!(bench.to_upstream().len(), 1);
    assert_eq!(bench.to_agent().len(), 2);
    assert_eq!(bench.talk.session.state().security.calls, 1);
}

#[tokio::test]
async fn an_id_that_is_a_secret_is_repeated_nowhere() {
    let secret = secrecy::SecretString::from("12345678");
    let secrets = Redactor::new([&secret]).unwrap();
    let bench = Bench::with(open, |settings| settings.secrets = secrets);
    bench.shake_hands().await;
    for id in ["12345678", r#""12345678""#] {
        let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        bench.agent(&ping).await;
        assert_eq!(bench.to_upstream(), Vec::<String>::new());
        let answers = bench.to_agent();
        assert_eq!(answers.len(), 1, "{id}");
        assert!(answers[0].contains(r#""id":null"#), "{}", answers[0]);

        bench.upstream(&ping).await;
        assert_eq!(bench.to_agent(), Vec::<String>::new());
        assert_eq!(bench.to_upstream(), Vec::<String>::new());
    }
    let told: Vec<String> = bench
        .records()
        .await
        .iter()
        .map(|it| it.text().to_owned())
        .collect();
    assert!(!told.concat().contains("12345678"));
}

#[tokio::test]
async fn others_go_on_beside_a_list_of_any_length() {
    let bench = Bench::new(open);
    bench.shake_hands().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    let tools: Vec<String> = (0..1000)
        .map(|number| format!(r#"{{"name":"t{number}","inputSchema":{{}}}}"#))
        .collect();
    let list = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{}]}}}}"#,
        tools.join(",")
    );
    tokio::join!(bench.upstream(&list), async {
        bench
            .agent(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#)
            .await;
        assert_eq!(bench.to_upstream().len(), 1);
        assert_eq!(bench.to_agent(), Vec::<String>::new());
    });
    assert!(bench.to_agent()[0].contains("t999"));
}

#[tokio::test]
async fn while_there_are_no_roots_everything_is_outside() {
    let inside: Rule = |facts| match facts.action {
        Action::CallTool { targets, .. } if targets.outside => Ok(Verdict::Abstain),
        _ => open(facts),
    };
    let bench = Bench::ready(inside, &["safe"]).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe"}}"#)
        .await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
}

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// Counts what it is asked.
fn counted(_: &Facts<'_>) -> Result<Verdict, EngineFault> {
    ASKED.set(ASKED.get() + 1);
    Ok(allow())
}

/// How many questions a policy is asked of one message.
async fn asked(bench: &Bench, message: &str) -> usize {
    ASKED.set(0);
    bench.agent(message).await;
    ASKED.get()
}

/// Texts in an array.
fn array(count: usize, text: impl Fn(usize) -> String) -> String {
    let items: Vec<String> = (0..count).map(|at| format!("{:?}", text(at))).collect();
    format!("[{}]", items.join(","))
}

#[tokio::test]
async fn a_listener_that_names_too_many_resources_is_refused_before_policies_are_asked() {
    let listen = |uris: usize| {
        // Each of them has other spellings, which are questions of their own.
        let uris = array(uris, |at| format!("NOTES://team/{at}%2fa"));
        format!(
            r#"{{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":{uris}}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        )
    };
    for (uris, most) in [(256, 2 * (3 * 256 + 1)), (257, 0), (40_000, 0)] {
        let bench = Bench::new(counted);
        let asked = asked(&bench, &listen(uris)).await;
        assert!(asked <= most, "{uris}: {asked}");
        let passes = most > 0;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{uris}");
        if !passes {
            let told = bench.to_agent().remove(0);
            assert!(told.contains("-32602") && told.contains("256"), "{told}");
        }
    }
}

#[tokio::test]
async fn a_call_with_more_or_longer_paths_than_file_systems_have_is_refused() {
    for (paths, passes) in [
        (array(256, |at| format!("/srv/{at}")), true),
        (array(257, |at| format!("/srv/{at}")), false),
        (
            array(16_000, |at| format!("/srv/{}{at}", "a".repeat(200))),
            false,
        ),
        (array(17, |_| format!("/srv{}", "/a".repeat(2000))), false),
        (array(1, |_| format!("/{}", "/a".repeat(2040))), true),
        (array(1, |_| format!("/srv{}", "/a".repeat(2047))), false),
        (array(1, |_| "/a".repeat(1_900_000)), false),
        (
            array(1, |_| format!("/{}", "\u{fdfa}".repeat(1_300_000))),
            false,
        ),
    ] {
        let bench = Bench::new(counted);
        let tool = ToolLabels {
            paths: Some(vec!["/paths".to_owned()]),
            ..ToolLabels::default()
        };
        let labels = Labels {
            tools: [("t".to_owned(), tool)].into(),
            roots: Roots::new(vec![Root::at("work", "/srv").unwrap()]),
            ..Labels::default()
        };
        let policies = snapshot("labelled", counted).with_labels(labels);
        bench.gate.policy.publish(policies);
        bench.shake_hands().await;
        bench.list(&["t"]).await;
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{{"paths":{paths}}}}}}}"#
        );
        let asked = asked(&bench, &call).await;
        let (bytes, shown) = (call.len(), call.chars().take(160).collect::<String>());
        assert!(asked <= 2, "{asked} questions of {bytes} bytes: {shown}");
        let sent = bench.to_upstream().len();
        assert_eq!(sent, usize::from(passes), "{bytes} bytes: {shown}");
        if !passes {
            let told = bench.to_agent().remove(0);
            assert!(told.contains("bytes") && told.len() < 1000, "{told}");
        }
    }
}

#[tokio::test]
async fn requests_without_memory_get_an_error_that_names_the_limit() {
    let mut bench = Bench::ready(open, &["safe"]).await;
    bench.agent(&call("1", "safe")).await;
    let sent = id_of(&bench.to_upstream()[0]);
    let full = crate::memory::Memory::limited(1 << 30, || usize::MAX);
    bench.gate = bench.gate.within(full);
    bench.agent(&call(r#""two""#, "safe")).await;
    bench.upstream(&result(&sent)).await;
    let told = bench.to_agent();
    assert_eq!(told.len(), 2, "{told:?}");
    for (answer, id) in told.iter().zip([r#""id":"two""#, r#""id":1"#]) {
        for part in [id, "-32603", "limits.max_memory"] {
            assert!(answer.contains(part), "{part}: {answer}");
        }
    }
    assert!(bench.to_upstream().is_empty());
    let mut records = bench.records().await;
    records.retain(|record| record.get(&["reason", "code"]) == "no_memory");
    let decisions: Vec<_> = records.iter().map(|it| it.get(&["decision"])).collect();
    assert_eq!(decisions, ["BLOCK", "BLOCK"]);
}
