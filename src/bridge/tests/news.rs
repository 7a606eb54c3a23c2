//! Subscriptions, and changes of lists.

use super::*;

fn subscribe(id: u64, uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#
    )
}

fn listen(id: &str, wanted: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{{wanted}}},"_meta":{{{META}}}}}}}"#
    )
}

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

fn done(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

impl Bench {
    /// A notification of the server's on a stream of news.
    async fn tells(&self, stream: &str, method: &str, params: &str) {
        self.upstream(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/subscriptionId":{stream}}}}}}}"#
        ))
        .await;
    }

    async fn honours(&self, stream: &str, wanted: &str) {
        let params = format!(r#""notifications":{{{wanted}}},"#);
        self.tells(stream, "subscriptions/acknowledged", &params)
            .await;
    }

    /// A session that hears of changes of tools, and the id of its stream.
    async fn listening(rule: Rule) -> (Self, String) {
        let bench = Self::bridged(rule).await;
        bench
            .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        let opened = bench.to_upstream();
        let id = id_of(&opened[0]).unwrap();
        assert_eq!(opened, [listen(&id, TOOLS)]);
        bench.honours(&id, TOOLS).await;
        assert_eq!(bench.to_agent(), [""; 0]);
        (bench, id)
    }
}

const TOOLS: &str = r#""toolsListChanged":true"#;

#[tokio::test]
async fn changes_that_the_server_promised_are_told_as_in_a_session() {
    let (bench, stream) = Bench::listening(open).await;
    bench.tells(&stream, "tools/list_changed", "").await;
    bench
        .tells(&stream, "tools/list_changed", r#""x":1.0,"#)
        .await;
    assert_eq!(
        bench.to_agent(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"x":1.0}}"#
        ]
    );
}

#[tokio::test]
async fn each_resource_that_is_followed_opens_the_stream_anew_and_ends_the_old_one_after_it() {
    let (bench, first) = Bench::listening(open).await;
    bench.agent(&subscribe(1, "a:1")).await;
    let opened = bench.to_upstream();
    let second = id_of(&opened[0]).unwrap();
    let both = r#""toolsListChanged":true,"resourceSubscriptions":["a:1"]"#;
    assert_eq!(opened, [listen(&second, both)]);
    assert_eq!(bench.to_agent(), [""; 0]);
    bench.honours(&second, both).await;
    assert_eq!(bench.to_upstream(), [cancel(&first)]);
    assert_eq!(bench.to_agent(), [done(1)]);

    // The same once more is done already.
    bench.agent(&subscribe(2, "a:1")).await;
    assert_eq!(bench.to_agent(), [done(2)]);
    assert_eq!(bench.to_upstream(), [""; 0]);

    bench
        .tells(&second, "resources/updated", r#""uri":"a:1","#)
        .await;
    assert_eq!(
        bench.to_agent(),
        [r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1"}}"#]
    );

    bench
        .agent(
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/unsubscribe","params":{"uri":"a:1"}}"#,
        )
        .await;
    assert_eq!(bench.to_agent(), [done(3)]);
    let opened = bench.to_upstream();
    assert_eq!(opened, [listen(&id_of(&opened[0]).unwrap(), TOOLS)]);
    // The old stream is open until the new one is.
    bench
        .tells(&second, "resources/updated", r#""uri":"a:1","#)
        .await;
    assert_eq!(bench.to_agent(), [""; 0]);
}

#[tokio::test]
async fn requests_to_follow_are_opened_one_after_the_other() {
    let bench = Bench::bridged(open).await;
    for id in 1..=3 {
        bench.agent(&subscribe(id, &format!("a:{id}"))).await;
    }
    for id in 1..=3_u64 {
        let opened = bench.to_upstream();
        let stream = opened.iter().find_map(|line| id_of(line)).unwrap();
        let uris: Vec<String> = (1..=id).map(|it| format!("\"a:{it}\"")).collect();
        let wanted = format!(r#"{TOOLS},"resourceSubscriptions":[{}]"#, uris.join(","));
        assert!(opened.contains(&listen(&stream, &wanted)), "{opened:?}");
        bench.honours(&stream, &wanted).await;
        assert_eq!(bench.to_agent(), [done(id)]);
    }
}

#[tokio::test]
async fn what_is_not_followed_is_told_and_the_old_stream_stays() {
    // By policy.
    let denied = |facts: &Facts<'_>| !matches!(&facts.resource, Resource::Resource(resource) if resource.uri == "a:denied");
    let (bench, stream) = Bench::listening(denied).await;
    bench.agent(&subscribe(1, "a:denied")).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    let told = bench.to_agent();
    assert!(
        told[0].starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":4030,"#),
        "{told:?}"
    );

    // By the server, which says so.
    bench.agent(&subscribe(2, "a:1")).await;
    bench
        .answer(r#""error":{"code":-32602,"message":"\u0061"}"#)
        .await;
    assert_eq!(
        bench.to_agent(),
        [r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"\u0061"}}"#]
    );

    // Or does not answer.
    bench.agent(&subscribe(3, "a:1")).await;
    let opened = id_of(&bench.to_upstream()[0]).unwrap();
    bench.pass_time(LONG).await;
    assert!(bench.to_agent()[0].contains("did not answer within"));
    assert_eq!(bench.to_upstream(), [cancel(&opened)]);

    bench.tells(&stream, "tools/list_changed", "").await;
    assert_eq!(bench.to_agent().len(), 1);

    // Or leaves out.
    bench.agent(&subscribe(4, "a:1")).await;
    let opened = id_of(&bench.to_upstream()[0]).unwrap();
    bench.honours(&opened, TOOLS).await;
    assert!(bench.to_agent()[0].contains("does not tell of changes"));
}

#[tokio::test]
async fn a_stream_that_the_server_ends_is_opened_again_after_a_growing_delay() {
    let (bench, stream) = Bench::listening(open).await;
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{stream},"result":{{"resultType":"complete"}}}}"#
        ))
        .await;
    for seconds in [1, 2, 4] {
        assert_eq!(bench.to_agent(), [""; 0]);
        bench
            .pass_time(Duration::from_millis(seconds * 1000 - 1))
            .await;
        assert_eq!(bench.to_upstream(), [""; 0]);
        bench.pass_time(Duration::from_millis(1)).await;
        bench
            .answer(r#""error":{"code":-32603,"message":"not now"}"#)
            .await;
    }
    bench.pass_time(Duration::from_secs(8)).await;
    let again = id_of(&bench.to_upstream()[0]).unwrap();
    bench.honours(&again, TOOLS).await;
    // By a cancellation too.
    bench.upstream(&cancel(&again)).await;
    assert_eq!(bench.to_agent(), [""; 0]);
    bench.pass_time(Duration::from_secs(1)).await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_server_without_news_is_asked_once() {
    let bench = Bench::bridged(open).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    bench.answer(REFUSED).await;
    bench.pass_time(Duration::from_mins(10)).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert_eq!(bench.to_agent(), [""; 0]);

    let bench = Bench::bridged(|facts| !matches!(facts.action, Action::Listen)).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    bench.pass_time(Duration::from_mins(10)).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    let records = bench.records(&["method", "decision"]).await;
    let asked = records
        .iter()
        .filter(|it| *it == "subscriptions/listen BLOCK");
    assert_eq!(asked.count(), 1);
}

#[tokio::test]
async fn a_session_follows_a_bounded_number_of_resources() {
    let bench = Bench::bridged(open).await;
    for id in 0..256_u64 {
        bench.agent(&subscribe(id, &format!("a:{id}"))).await;
        let opened = bench.to_upstream();
        let stream = opened.iter().find_map(|line| id_of(line)).unwrap();
        bench
            .honours(&stream, &format!(r#""resourceSubscriptions":["a:{id}"]"#))
            .await;
        assert_eq!(bench.to_agent(), [done(id)]);
    }
    bench.to_upstream();
    bench.agent(&subscribe(300, "a:300")).await;
    assert!(bench.to_agent()[0].contains("256 resources already"));
    assert_eq!(bench.to_upstream(), [""; 0]);
}

#[tokio::test]
async fn a_stream_of_news_is_not_the_agents_to_name() {
    let (bench, _) = Bench::listening(open).await;
    let own = r#""mcp-protector/news/1""#;
    bench
        .agent(&format!(
            r#"{{"jsonrpc":"2.0","id":{own},"method":"ping"}}"#
        ))
        .await;
    assert!(bench.to_agent()[0].contains("already in flight"));
    bench.agent(&cancel(own)).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    let records = bench.records(&["method", "reason/code"]).await;
    assert_eq!(records.last().unwrap(), "notifications/cancelled stray");
}

#[tokio::test]
async fn a_request_to_follow_can_be_cancelled_while_it_waits() {
    let (bench, first) = Bench::listening(open).await;
    bench.agent(&subscribe(1, "a:1")).await;
    let second = id_of(&bench.to_upstream()[0]).unwrap();
    bench.agent(&cancel("1")).await;
    bench.honours(&second, TOOLS).await;
    assert_eq!(bench.to_agent(), [""; 0]);
    // What it opened is ended in favour of one without it.
    let sent = bench.to_upstream();
    let third = sent.iter().find_map(|line| id_of(line)).unwrap();
    assert_eq!(sent, [cancel(&first), listen(&third, TOOLS)]);
    bench.honours(&third, TOOLS).await;
    assert_eq!(bench.to_upstream(), [cancel(&second)]);
}

#[tokio::test]
async fn what_comes_on_a_stream_that_was_ended_is_dropped() {
    let (bench, first) = Bench::listening(open).await;
    bench.agent(&subscribe(1, "a:1")).await;
    let second = id_of(&bench.to_upstream()[0]).unwrap();
    bench
        .honours(&second, r#""resourceSubscriptions":["a:1"]"#)
        .await;
    bench.to_agent();
    bench.tells(&first, "tools/list_changed", "").await;
    bench.tells("99", "tools/list_changed", "").await;
    assert_eq!(bench.to_agent(), [""; 0]);
}

#[tokio::test]
async fn a_resource_whose_name_does_not_fit_is_refused_at_once() {
    let bench = Bench::bridged(open).await;
    let filler = "x".repeat(Limits::default().max_bytes - 300);
    bench.agent(&subscribe(1, &filler)).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(bench.to_agent()[0].contains("larger than is accepted"));
    assert!(bench.bridge.is_idle());
}

#[tokio::test]
async fn new_policies_are_told_of_as_in_any_session() {
    let bench = Bench::listed(open).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#)
        .await;
    bench
        .answer(r#""result":{"resultType":"complete","resources":[]}"#)
        .await;
    bench.to_agent();
    let old = bench.gate.policies();
    bench
        .gate
        .publish("fixture", snapshot(open), crate::gate::Besides::default())
        .await
        .unwrap();
    let renewed = bench.gate.renewed(&bench.talk, &old);
    renewed.await.unwrap();
    // The server promised to tell of its tools, none of which is shown otherwise, and of no others.
    assert_eq!(bench.to_agent(), [""; 0]);
    bench.talk.session.state().lists.tools.start_over();
    let renewed = bench.gate.renewed(&bench.talk, &old);
    renewed.await.unwrap();
    assert_eq!(
        bench.to_agent(),
        [r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]
    );
}
