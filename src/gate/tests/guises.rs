//! Agents and servers each speak of a root by its path of their own, and policies by the server's.

use super::*;
use crate::policy::{Labels, Leaf, Root, Roots, ToolLabels};

/// What is judged names places as the server does.
fn in_the_servers_words(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    let is_virtual = |text: &str| text.contains("/workspace");
    let judged = match (&facts.action, &facts.resource) {
        (Action::CallTool { arguments, .. }, _) => {
            arguments.0.iter().any(|(pointer, leaf)| match leaf {
                Leaf::String(text) => pointer.starts_with("/path") && is_virtual(text),
                _ => false,
            })
        }
        (_, Resource::Resource(resource)) => is_virtual(&resource.uri),
        _ => false,
    };
    if judged {
        return Ok(Verdict::Deny { reasons: vec![] });
    }
    Ok(Verdict::Allow {
        reasons: vec![],
        obligations: vec![],
    })
}

async fn bench() -> Bench {
    let bench = Bench::new(in_the_servers_words);
    let tool = ToolLabels {
        paths: Some(["/path", "/paths"].map(str::to_owned).to_vec()),
        ..ToolLabels::default()
    };
    let mut root = Root::at("workspace", "/srv/project").unwrap();
    root.seen_as("/workspace").unwrap();
    let labels = Labels {
        tools: [("t".to_owned(), tool)].into(),
        roots: Roots::new(vec![root]),
        ..Labels::default()
    };
    let policies = snapshot("labelled", in_the_servers_words).with_labels(labels);
    bench.gate.policy.publish(policies);
    bench.shake_hands().await;
    bench.list(&["t"]).await;
    bench
}

#[tokio::test]
async fn what_an_agent_says_of_a_place_is_judged_and_sent_as_the_server_knows_it() {
    for (method, said, sent) in [
        (
            "tools/call",
            r#"{"name":"t","arguments":{"path":"/workspace/a","note":"/workspace/a"}}"#,
            r#"{"name":"t","arguments":{"path":"/srv/project/a","note":"/workspace/a"}}"#,
        ),
        (
            "tools/call",
            r#"{"name":"t","arguments":{"paths":["\/workspace\/x\/..","/etc"]}}"#,
            r#"{"name":"t","arguments":{"paths":["/srv/project","/etc"]}}"#,
        ),
        (
            "resources/read",
            r#"{"uri":"file:///workspace/a%20b"}"#,
            r#"{"uri":"file:///srv/project/a%20b"}"#,
        ),
        (
            "resources/subscribe",
            r#"{"uri":"file:///workspace/a"}"#,
            r#"{"uri":"file:///srv/project/a"}"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/resource","uri":"file:///workspace/a"},"argument":{"name":"x","value":"y"}}"#,
            r#"{"ref":{"type":"ref/resource","uri":"file:///srv/project/a"},"argument":{"name":"x","value":"y"}}"#,
        ),
    ] {
        let bench = bench().await;
        let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{said}}}"#);
        bench.agent(&request).await;
        let forwarded = bench.to_upstream();
        assert!(
            forwarded[0].contains(sent),
            "{forwarded:?}, {:?}",
            bench.to_agent()
        );
    }
}

#[tokio::test]
async fn what_a_server_says_of_a_place_comes_back_as_the_agent_knows_it() {
    let bench = bench().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"path":"/workspace/a"}}}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"wrote \/srv\/project/a"}},{{"type":"resource_link","uri":"file:///srv/project/a","name":"a"}},{{"type":"image","data":"/srv/project","mimeType":"image/png"}}],"structuredContent":{{"at":"/srv/project2","in":["/srv/project"],"/srv/project":1}}}}}}"#))
        .await;
    let told = bench.to_agent().remove(0);
    for shown in [
        r#""text":"wrote /workspace/a""#,
        r#""uri":"file:///workspace/a""#,
        // Another place, bytes, and a name of the server's own.
        r#""at":"/srv/project2""#,
        r#""data":"/srv/project""#,
        r#""in":["/workspace"]"#,
        r#""/srv/project":1"#,
    ] {
        assert!(told.contains(shown), "{shown}: {told}");
    }
}

#[tokio::test]
async fn an_error_names_the_place_as_the_agent_does_and_a_cursor_comes_back_as_it_was() {
    let bench = bench().await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resources":[{{"uri":"file:///srv/project/a","name":"a"}}],"nextCursor":"/srv/project"}}}}"#))
        .await;
    let told = bench.to_agent().remove(0);
    assert!(told.contains(r#""uri":"file:///workspace/a""#), "{told}");
    assert!(told.contains(r#""nextCursor":"/srv/project""#), "{told}");

    bench
        .agent(r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"file:///workspace/b"}}"#)
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32002,"message":"no file /srv/project/b","data":{{"uri":"file:///srv/project/b"}}}}}}"#))
        .await;
    let told = bench.to_agent().remove(0);
    assert!(
        told.contains("no file /workspace/b") && !told.contains("/srv/project"),
        "{told}"
    );
}

#[tokio::test]
async fn roots_that_an_agent_names_among_its_answers_are_the_servers() {
    let bench = Bench::new(open).with_ids(crate::session::Ids::OfStream);
    let mut root = Root::at("workspace", "/srv/project").unwrap();
    root.seen_as("/workspace").unwrap();
    let labels = Labels {
        roots: Roots::new(vec![root]),
        ..Labels::default()
    };
    let policies = snapshot("labelled", open).with_labels(labels);
    bench.gate.policy.publish(policies);
    let page = crate::session::Page::of_one_tool("t");
    let begins = crate::session::Traversal::AgentBegins;
    bench
        .talk
        .session
        .state()
        .lists
        .tools
        .add_page(begins, &page, None);
    let modern = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}"#;
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t",{modern}}}}}"#
        ))
        .await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s","inputRequests":{{"r":{{"method":"roots/list","params":{{}}}}}}}}}}"#))
        .await;
    bench.to_agent();
    bench
        .agent(&format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"t","requestState":"s","inputResponses":{{"r":{{"roots":[{{"uri":"file:///workspace/a"}}]}}}},{modern}}}}}"#))
        .await;
    let sent = bench.to_upstream();
    assert!(
        sent[0].contains(r#""uri":"file:///srv/project/a""#),
        "{sent:?}, {:?}",
        bench.to_agent()
    );
}

#[tokio::test]
async fn whoever_is_asked_by_a_form_sees_places_as_their_agent_does() {
    use super::consent::{Asked, with_consent};
    let asked = Asked::session(with_consent, &[crate::consent::Way::Elicitation]).await;
    let tool = ToolLabels {
        paths: Some(vec!["/path".to_owned()]),
        ..ToolLabels::default()
    };
    let mut root = Root::at("workspace", "/srv/project").unwrap();
    root.seen_as("/workspace").unwrap();
    let labels = Labels {
        tools: [("ask".to_owned(), tool)].into(),
        roots: Roots::new(vec![root]),
        ..Labels::default()
    };
    let policies = snapshot("labelled", with_consent).with_labels(labels);
    asked.bench.gate.policy.publish(policies);
    asked
        .bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"path":"/workspace/a"}}}"#)
        .await;
    let form = asked.bench.to_agent().remove(0);
    assert!(
        form.contains("/workspace/a") && !form.contains("/srv/project"),
        "{form}"
    );
}

#[tokio::test]
async fn a_long_name_above_many_places_is_carried_once_for_all_of_them() {
    const MANY: usize = 20_000;
    let bench = bench().await;
    let key = "k".repeat(2 << 20);
    let roots = r#"{"uri":"file:///workspace/a"},"#.repeat(MANY);
    let roots = roots.trim_end_matches(',');
    bench
        .agent(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"inputResponses":{{"{key}":{{"roots":[{roots}]}}}}}}}}"#))
        .await;
    let sent = bench.to_upstream().remove(0);
    // Nothing was asked that it answers.
    assert!(!sent.contains("workspace"), "{sent:.200}");
    bench.upstream(&answer_to(&sent, "{}")).await;
    bench.to_agent();

    bench
        .agent(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let sent = bench.to_upstream().remove(0);
    let items = r#""/srv/project","#.repeat(MANY);
    let result = format!(r#"{{"content":[],"structuredContent":{{"{key}":[{items}1]}}}}"#);
    bench.upstream(&answer_to(&sent, &result)).await;
    let told = bench.to_agent().remove(0);
    assert_eq!(told.matches(r#""/workspace""#).count(), MANY);

    // Some are told of.
    let records = bench.records().await;
    let told = records
        .iter()
        .map(|it| it.text().matches("a virtual root").count());
    let told: Vec<_> = told.filter(|told| *told > 0).collect();
    assert!(
        told.len() == 2 && told.iter().all(|it| *it <= 64),
        "{told:?}"
    );
}

fn answer_to(sent: &str, result: &str) -> String {
    let id = id_of(sent);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}
