//! What a server reads as a path is what was judged as one.

use super::*;
use crate::policy::{Labels, Leaf, Obligation, ToolLabels};

const OBLIGED: &str = "canonical: paths";

/// Everything is allowed on that condition, but for what says `/etc` or `secret` as it stands there.
fn on_condition(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    if let Action::CallTool { arguments, .. } = &facts.action {
        let says = |leaf: &Leaf<'_>| match leaf {
            Leaf::String(text) => text.starts_with("/etc") || text.contains("secret"),
            _ => false,
        };
        if arguments.0.iter().any(|(_, leaf)| says(leaf)) {
            return Ok(Verdict::Deny { reasons: vec![] });
        }
    }
    Ok(Verdict::Allow {
        reasons: vec![],
        obligations: vec![Obligation::CanonicalPaths],
    })
}

async fn bench(rule: Rule) -> Bench {
    let bench = Bench::new(rule);
    let paths = ["/path", "/opts/paths"].map(str::to_owned).to_vec();
    let tool = ToolLabels {
        paths: Some(paths),
        ..ToolLabels::default()
    };
    let labels = Labels {
        tools: [("t".to_owned(), tool)].into(),
        ..Labels::default()
    };
    let policies = snapshot("labelled", rule).with_labels(labels);
    bench.gate.policy.publish(policies);
    bench.shake_hands().await;
    bench.list(&["t", "undeclared"]).await;
    bench
}

fn call(tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// The arguments that the server gets; `None` if it gets nothing.
async fn forwarded(bench: &Bench, tool: &str, arguments: &str) -> Option<String> {
    bench.agent(&call(tool, arguments)).await;
    let sent = bench.to_upstream();
    let message = Message::decode(sent.first()?.as_bytes(), &Limits::default()).unwrap();
    let arguments = message.params().and_then(|params| params.get("arguments"));
    Some(arguments.unwrap().text().to_owned())
}

#[tokio::test]
async fn a_path_goes_on_in_the_spelling_in_which_it_was_judged() {
    for (said, sent) in [
        (r#"{"path":"/srv/x/../a"}"#, r#"{"path":"/srv/a"}"#),
        (r#"{"path":"\/srv\/.\/a"}"#, r#"{"path":"/srv/a"}"#),
        (r#"{"path":"/srv/a"}"#, r#"{"path":"/srv/a"}"#),
        (
            r#"{"n":1.0,"path":"file:///srv/b/../a","x":"/b/../a"}"#,
            r#"{"n":1.0,"path":"file:///srv/a","x":"/b/../a"}"#,
        ),
        (
            r#"{"opts":{"paths":["/a//b","/c","/d/e/.."]}}"#,
            r#"{"opts":{"paths":["/a/b","/c","/d"]}}"#,
        ),
        (r#"{"path":["/a/"]}"#, r#"{"path":["/a"]}"#),
        ("{}", "{}"),
    ] {
        let bench = bench(on_condition).await;
        assert_eq!(
            forwarded(&bench, "t", said).await.as_deref(),
            Some(sent),
            "{said}"
        );
        let records = bench.records_of("tool_call").await;
        let record = records[0].text();
        assert!(record.contains(OBLIGED), "{record}");
        let is_edited = record.contains(r#""pointer":"/params/arguments/"#);
        assert_eq!(is_edited, said.replace("\\/", "/") != sent, "{record}");
    }
}

#[tokio::test]
async fn a_call_is_judged_again_in_the_words_in_which_it_is_sent() {
    for (said, passes) in [
        (r#"{"path":"/srv/../etc/passwd"}"#, false),
        (r#"{"path":"/srv/../usr"}"#, true),
        // What was said has to be allowed as well.
        (r#"{"path":"/secret/../usr"}"#, false),
        // Behind an escape that only the one spelling is without.
        (r#"{"path":"file:///srv/%73ecret"}"#, false),
        (r#"{"path":"file:///srv/%74he"}"#, true),
    ] {
        let bench = bench(on_condition).await;
        let sent = forwarded(&bench, "t", said).await;
        assert_eq!(sent.is_some(), passes, "{said}");
    }
}

#[tokio::test]
async fn what_has_no_one_spelling_does_not_pass_where_one_is_asked_for() {
    for (tool, said) in [
        ("t", r#"{"path":"a"}"#),
        ("t", r#"{"path":"/srv/%2e%2e/a"}"#),
        ("t", r#"{"path":1}"#),
        ("t", r#"{"path":{"a":"/b"}}"#),
        ("t", r#"{"opts":{"paths":["/a","~/b"]}}"#),
        ("undeclared", r#"{"path":"/a"}"#),
    ] {
        let bench = bench(on_condition).await;
        assert_eq!(forwarded(&bench, tool, said).await, None, "{said}");
        let told = bench.to_agent().remove(0);
        assert!(told.contains("-32602"), "{told}");
        let records = bench.records_of("tool_call").await;
        assert_eq!(records[0].get(&["reason", "code"]), "uncanonical", "{said}");
    }
}

#[tokio::test]
async fn where_nobody_asks_for_it_paths_go_on_as_they_were_written() {
    let bench = bench(open).await;
    let said = r#"{"path":"/srv/x/../a"}"#;
    assert_eq!(forwarded(&bench, "t", said).await.as_deref(), Some(said));
}

#[tokio::test]
async fn guards_look_at_a_path_as_it_will_be_sent() {
    for (said, sent) in [
        ("/srv/x/./a", Some(r#"{"path":"/srv/x/a"}"#)),
        // It fits as it is written, and would not as it is sent.
        ("/srv/x/../a", None),
    ] {
        let bench = Bench::with(on_condition, |settings| {
            settings.terms.guards.arguments = Level::Strict;
        });
        let tool = ToolLabels {
            paths: Some(vec!["/path".to_owned()]),
            ..ToolLabels::default()
        };
        let labels = Labels {
            tools: [("t".to_owned(), tool)].into(),
            ..Labels::default()
        };
        let policies = snapshot("labelled", on_condition).with_labels(labels);
        bench.gate.policy.publish(policies);
        bench.shake_hands().await;
        bench
            .agent(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#)
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        let schema = r#"{"type":"object","properties":{"path":{"type":"string","pattern":"/x/"}}}"#;
        bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}}}"#
        ))
        .await;
        bench.to_agent();
        let arguments = format!(r#"{{"path":"{said}"}}"#);
        let forwarded = forwarded(&bench, "t", &arguments).await;
        assert_eq!(forwarded.as_deref(), sent, "{said}");
        let refused = bench.to_agent().concat();
        assert_eq!(refused.contains("pattern"), sent.is_none(), "{refused}");
    }
}
