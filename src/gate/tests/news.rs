//! What agents without sessions hear of lists, and what they are granted.

use super::*;
use crate::session::Ids;
use crate::wire::Stream;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";

fn bench() -> Bench {
    Bench::new(open).with_ids(Ids::OfStream)
}

/// Opens a stream of news under this id, on the stream of that number; yields the id that it has at the
/// server.
async fn listen(bench: &Bench, stream: u64, id: &str, filter: &str) -> String {
    let listen = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{filter},{META}}}}}"#
    );
    bench.agent_on(Stream::numbered(stream), &listen).await;
    let sent = bench.to_upstream();
    assert_eq!(sent.len(), 1, "{sent:?} {:?}", bench.to_agent());
    id_of(&sent[0])
}

/// The server grants this.
async fn acknowledge(bench: &Bench, id: &str, granted: &str) {
    let told = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{granted}}}}}"#
    );
    let stream = Stream::numbered(id.parse().unwrap());
    bench.upstream_on(stream, &told).await;
}

/// An agent that has listed tools of these names.
async fn listed(bench: &Bench, names: &[&str]) {
    let list = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#);
    bench.agent_on(Stream::numbered(90), &list).await;
    let id = id_of(&bench.to_upstream()[0]);
    let tools = names
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#));
    let tools: Vec<String> = tools.collect();
    let tools = tools.join(",");
    let list = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{tools}]}}}}"#
    );
    let stream = Stream::numbered(id.parse().unwrap());
    bench.upstream_on(stream, &list).await;
    bench.to_agent();
}

/// New policies come into force, of which every agent is told.
async fn renew(bench: &Bench, rule: Rule) {
    let old = bench.gate.policies();
    let new = snapshot("other words", rule);
    bench
        .gate
        .publish("fixture", new, Besides::default())
        .await
        .unwrap();
    bench.gate.renewed(&bench.talk, &old).await.unwrap();
}

fn changed(method: &str, id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}

#[tokio::test]
async fn who_listens_without_a_session_hears_that_new_policies_show_other_lists() {
    for (asked, granted, told) in [
        // No more than was asked for, and than the server has granted.
        (
            r#"{"toolsListChanged":true}"#,
            r#"{"toolsListChanged":true}"#,
            vec![TOOLS],
        ),
        (
            r#"{"toolsListChanged":true,"promptsListChanged":true}"#,
            r#"{"toolsListChanged":true,"promptsListChanged":true}"#,
            vec![TOOLS, PROMPTS],
        ),
        (
            r#"{"toolsListChanged":true,"promptsListChanged":true}"#,
            r#"{"promptsListChanged":true}"#,
            vec![PROMPTS],
        ),
        (
            r#"{"promptsListChanged":true}"#,
            r#"{"toolsListChanged":true,"promptsListChanged":true}"#,
            vec![PROMPTS],
        ),
        (
            r#"{"toolsListChanged":true}"#,
            r#"{"toolsListChanged":false}"#,
            vec![],
        ),
        (
            r#"{"resourceSubscriptions":["notes://a"]}"#,
            r#"{"resourceSubscriptions":["notes://a"]}"#,
            vec![],
        ),
    ] {
        let bench = bench();
        let id = listen(&bench, 3, r#""sub""#, asked).await;
        renew(&bench, guarded).await;
        assert!(bench.to_agent().is_empty(), "before it is granted: {asked}");
        acknowledge(&bench, &id, granted).await;
        assert_eq!(bench.talk.agent.streams(), [Stream::numbered(3)]);
        bench.to_agent();
        renew(&bench, open).await;
        let streams = bench.talk.agent.streams();
        assert!(streams.iter().all(|it| *it == Stream::numbered(3)));
        let expected: Vec<String> = told.iter().map(|it| changed(it, r#""sub""#)).collect();
        assert_eq!(bench.to_agent(), expected, "{asked} {granted}");
        let records = bench.records_of("notification").await;
        let own = records
            .iter()
            .filter(|it| it.get(&["reason", "code"]) == "gate_initiated");
        assert_eq!(own.count(), told.len());
    }
}

#[tokio::test]
async fn each_that_listens_is_told_on_its_own_stream_and_nobody_after_its_end() {
    let bench = bench();
    for (stream, id) in [(3, "1"), (4, "1"), (5, "2")] {
        let minted = listen(&bench, stream, id, r#"{"toolsListChanged":true}"#).await;
        acknowledge(&bench, &minted, r#"{"toolsListChanged":true}"#).await;
    }
    bench.to_agent();
    let closed = bench.gate.hung_up(&bench.talk, Stream::numbered(4));
    closed.await.unwrap();
    renew(&bench, guarded).await;
    assert_eq!(bench.talk.agent.streams(), [3, 5].map(Stream::numbered));
    assert_eq!(bench.to_agent(), [changed(TOOLS, "1"), changed(TOOLS, "2")]);
}

#[tokio::test]
async fn tools_that_are_known_and_shown_as_before_are_no_news() {
    for (names, told) in [(["seen", "other"], 0), (["seen", "withheld"], 1)] {
        let bench = bench();
        listed(&bench, &names).await;
        let id = listen(&bench, 3, "7", r#"{"toolsListChanged":true}"#).await;
        acknowledge(&bench, &id, r#"{"toolsListChanged":true}"#).await;
        bench.to_agent();
        let old = bench.gate.policies();
        let new = PolicySnapshot::new(vec![Box::new(Withholding)], vec![], vec![]);
        bench
            .gate
            .publish("fixture", new, Besides::default())
            .await
            .unwrap();
        bench.gate.renewed(&bench.talk, &old).await.unwrap();
        assert_eq!(bench.to_agent().len(), told, "{names:?}");
    }
}

/// Shows everything but one tool.
#[derive(Debug)]
struct Withholding;

impl RuleEngine for Withholding {
    fn name(&self) -> EngineName {
        EngineName("withholding")
    }

    fn judge(&self, _: &Facts<'_>) -> Result<Verdict, EngineFault> {
        Ok(allow())
    }

    fn visible(
        &self,
        _: &ListFacts<'_>,
        items: &[Resource<'_>],
    ) -> Vec<Result<Visibility, EngineFault>> {
        let visibility = |item: &Resource<'_>| match item {
            Resource::Tool(tool) if tool.name == "withheld" => Ok(Visibility::Hidden),
            _ => Ok(Visibility::Shown),
        };
        items.iter().map(visibility).collect()
    }
}

#[tokio::test]
async fn who_listens_without_a_session_hears_that_what_was_read_closes_tools() {
    for (asked, told) in [("toolsListChanged", 1), ("promptsListChanged", 0)] {
        let bench = bench();
        bench
            .gate
            .policy
            .publish(ratchet::policies(ratchet::CLOSED));
        listed(&bench, &ratchet::TOOLS).await;
        let filter = format!(r#"{{"{asked}":true}}"#);
        let id = listen(&bench, 3, "7", &filter).await;
        acknowledge(&bench, &id, &filter).await;
        bench.to_agent();
        for (tool, expected) in [("note", 0), ("read", told), ("read", 0)] {
            let call = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{}},{META}}}}}"#
            );
            bench.agent_on(Stream::numbered(5), &call).await;
            let id = id_of(&bench.to_upstream()[0]);
            let stream = Stream::numbered(id.parse().unwrap());
            bench.upstream_on(stream, &result(&id)).await;
            let heard = bench.to_agent();
            let news = heard.iter().filter(|it| **it == changed(TOOLS, "7"));
            assert_eq!(news.count(), expected, "{tool}: {heard:?}");
        }
    }
}

#[tokio::test]
async fn news_that_names_no_subscription_is_told_on_a_stream_that_asked_for_it_alone() {
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}"#;
    for (asked, told) in [
        (r#"{"toolsListChanged":true}"#, 1),
        (r#"{"promptsListChanged":true}"#, 0),
        (r#"{"resourceSubscriptions":["notes://a"]}"#, 0),
    ] {
        let bench = Bench::new(secretive).with_ids(Ids::OfStream);
        let id = listen(&bench, 3, "7", asked).await;
        acknowledge(&bench, &id, asked).await;
        bench.to_agent();
        let stream = Stream::numbered(id.parse().unwrap());
        bench.upstream_on(stream, changed).await;
        assert_eq!(bench.to_agent().len(), told, "{asked}");
        let records = bench.records_of("notification").await;
        let decision = if told == 1 { "ALLOW" } else { "BLOCK" };
        assert_eq!(records.last().unwrap().get(&["decision"]), decision);
    }
}

#[tokio::test]
async fn an_acknowledgement_says_no_more_than_was_asked_for() {
    for (asked, granted, told) in [
        (
            r#"{"toolsListChanged":true,"resourceSubscriptions":["notes://a","notes://b"]}"#,
            r#"{"toolsListChanged":true,"resourceSubscriptions":["notes://b"]}"#,
            None,
        ),
        (r#"{"toolsListChanged":true}"#, "{}", None),
        (
            r#"{"toolsListChanged":true}"#,
            r#"{"promptsListChanged":false,"resourceSubscriptions":[]}"#,
            None,
        ),
        (
            r#"{"toolsListChanged":true,"promptsListChanged":false}"#,
            r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}"#,
            Some((r#"{"toolsListChanged":true}"#, 2)),
        ),
        (
            r#"{"resourceSubscriptions":["notes://a","notes://secret"]}"#,
            r#"{"resourceSubscriptions":["notes://c","notes://a","notes://secret"]}"#,
            Some((r#"{"resourceSubscriptions":["notes://a"]}"#, 2)),
        ),
        (
            r#"{"toolsListChanged":true}"#,
            r#"{"resourceSubscriptions":["notes://a"],"x/y":{"z":1}}"#,
            Some(("{}", 2)),
        ),
        (
            r#"{"x/y":{"z":1},"of":["1","2"]}"#,
            r#"{"x/y":{"z":2},"of":["2","3"]}"#,
            Some((r#"{"of":["2"]}"#, 2)),
        ),
        // Nor of anything else under the same name.
        (
            r#"{"x/y":{"z":1},"of":["1"]}"#,
            r#"{"x/y":[1],"of":true}"#,
            Some(("{}", 2)),
        ),
    ] {
        let bench = Bench::new(secretive).with_ids(Ids::OfStream);
        let id = listen(&bench, 3, "7", asked).await;
        acknowledge(&bench, &id, granted).await;
        let (expected, edits) = told.unwrap_or((granted, 0));
        let expected = format!(r#""notifications":{expected}}}}}"#);
        let acknowledged = bench.to_agent();
        assert_eq!(acknowledged.len(), 1, "{granted}: {acknowledged:?}");
        assert!(acknowledged[0].ends_with(&expected), "{acknowledged:?}");
        let records = bench.records_of("notification").await;
        let text = records.last().unwrap().text();
        assert_eq!(text.matches(r#""remove""#).count(), edits, "{text}");
        assert_eq!(text.matches("not asked for").count(), edits, "{text}");
    }
}

#[tokio::test]
async fn a_member_with_a_long_name_is_acknowledged_as_a_whole_or_not_at_all() {
    let key = "k".repeat(100_000);
    let of = |items: &str| format!(r#"{{"{key}":[{items}]}}"#);
    for (granted, told) in [
        (r#""1","2""#, of(r#""1","2""#)),
        (r#""2","3""#, "{}".to_owned()),
    ] {
        let bench = Bench::new(secretive).with_ids(Ids::OfStream);
        let id = listen(&bench, 3, "7", &of(r#""1","2""#)).await;
        acknowledge(&bench, &id, &of(granted)).await;
        let acknowledged = bench.to_agent().remove(0);
        let expected = format!(r#""notifications":{told}}}}}"#);
        assert!(acknowledged.ends_with(&expected), "{granted}");
    }
}

/// Of one resource nobody may hear.
fn secretive(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    Ok(match &facts.resource {
        Resource::Resource(resource) if resource.uri.ends_with("secret") => Verdict::Abstain,
        _ => allow(),
    })
}

#[tokio::test]
async fn an_acknowledgement_of_nothing_or_a_second_one_is_dropped() {
    let bench = bench();
    acknowledge(&bench, "1", r#"{"toolsListChanged":true}"#).await;
    assert!(bench.to_agent().is_empty());
    let id = listen(&bench, 3, "7", r#"{"toolsListChanged":true}"#).await;
    acknowledge(&bench, &id, "{}").await;
    assert_eq!(bench.to_agent().len(), 1);
    acknowledge(&bench, &id, r#"{"toolsListChanged":true}"#).await;
    assert!(bench.to_agent().is_empty());
    let asked = r#"{"toolsListChanged":true,"resourceSubscriptions":["notes://a"]}"#;
    let id = listen(&bench, 5, "9", asked).await;
    let odd = r#"{"toolsListChanged":["x"],"resourceSubscriptions":true}"#;
    acknowledge(&bench, &id, odd).await;
    assert!(bench.to_agent().is_empty(), "no resources stand there");
    let many: Vec<String> = (0..65).map(|n| format!(r#""x{n}":true"#)).collect();
    let id = listen(&bench, 4, "8", r#"{"toolsListChanged":true}"#).await;
    acknowledge(&bench, &id, &format!("{{{}}}", many.join(","))).await;
    assert!(bench.to_agent().is_empty(), "more than a record can tell");
}
