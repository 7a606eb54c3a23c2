//! Whether there is a bridge at all.

use super::*;

const WELCOME: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":false}},"serverInfo":{"name":"s","version":"1.0","x":1e2},"instructions":"Be kind."}}"#;

#[tokio::test]
async fn a_server_that_refuses_sessions_is_asked_what_it_speaks() {
    let check = async |refusal: &str| {
        let bench = Bench::new(open);
        bench.agent(INITIALIZE).await;
        assert_eq!(
            bench.to_upstream(),
            [INITIALIZE.replace(r#""id":0"#, r#""id":1"#)]
        );
        bench
            .upstream(&format!(r#"{{"jsonrpc":"2.0","id":1,"error":{refusal}}}"#))
            .await;
        assert_eq!(bench.to_agent(), [""; 0], "{refusal}");
        assert_eq!(
            bench.to_upstream(),
            [format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{{"_meta":{{{META}}}}}}}"#
            )]
        );
        bench
            .upstream(&format!(r#"{{"jsonrpc":"2.0","id":2,{DISCOVERED}}}"#))
            .await;
        assert_eq!(bench.to_agent(), [WELCOME]);
    };
    check(r#"{"code":-32601,"message":"Method not found"}"#).await;
    check(r#"{"code":-32600,"message":"no"}"#).await;
    check(r#"{"code":-32602,"message":"missing _meta"}"#).await;
    check(r#"{"code":-32022,"message":"x","data":{"supported":["2026-07-28"]}}"#).await;
    check(r#"{"code":-32602,"message":"x","data":{"supported":["2025-11-25","2026-07-28"]}}"#)
        .await;
    check(r#"{"code":1,"message":"x","data":{"supported":"2025-11-25"}}"#).await;
}

#[tokio::test]
async fn a_server_that_does_not_say_2026_07_28_leaves_its_first_refusal() {
    let check = async |outcome: &str| {
        let bench = Bench::new(open);
        bench.agent(INITIALIZE).await;
        let refusal =
            r#"{"jsonrpc":"2.0","id":0,"error":{"data":[1.50],"code":-32601,"message":"\u0041"}}"#;
        bench
            .upstream(&refusal.replace(r#""id":0"#, r#""id":1"#))
            .await;
        bench.answer(outcome).await;
        assert_eq!(bench.to_agent(), [refusal], "{outcome}");
        // As if nothing had been.
        bench.agent(INITIALIZE).await;
        assert_eq!(
            bench.to_upstream(),
            [INITIALIZE.replace(r#""id":0"#, r#""id":3"#)]
        );
    };
    check(r#""error":{"code":-32601,"message":"x"}"#).await;
    check(r#""result":{}"#).await;
    check(r#""result":{"supportedVersions":["2025-11-25"],"capabilities":{}}"#).await;
    check(r#""result":{"supportedVersions":["2027-01-01"],"capabilities":{}}"#).await;
    check(r#""result":{"supportedVersions":"2026-07-28","capabilities":{}}"#).await;
    check(r#""result":{"supportedVersions":{"a":"2026-07-28"},"capabilities":{}}"#).await;
    check(r#""result":{"supportedVersions":["2026-07-28"],"capabilities":[]}"#).await;
    check(r#""result":{"supportedVersions":["2026-07-28"]}"#).await;
    check(r#""result":{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"task"}"#)
        .await;
}

#[tokio::test]
async fn a_server_that_names_only_revisions_with_sessions_is_asked_nothing() {
    let bench = Bench::new(open);
    bench.agent(INITIALIZE).await;
    bench
        .answer(r#""error":{"code":-32602,"message":"x","data":{"supported":["2025-11-25"]}}"#)
        .await;
    assert_eq!(bench.to_agent().len(), 1);
    assert_eq!(bench.to_upstream(), [""; 0]);
}

#[tokio::test]
async fn a_server_with_sessions_notices_nothing() {
    let bench = Bench::new(open);
    bench.agent(INITIALIZE).await;
    bench
        .answer(r#""result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#)
        .await;
    bench.to_agent();
    for frame in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"info"}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"x":1.0}}"#,
    ] {
        bench.agent(frame).await;
        assert_eq!(bench.to_upstream(), [frame]);
    }
    bench
        .upstream(
            r#"{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}}"#,
        )
        .await;
    assert_eq!(
        bench.to_agent(),
        [
            r#"{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}}"#
        ]
    );
    // Nor does a second handshake lead to a bridge.
    bench.agent(INITIALIZE).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert_eq!(bench.records(&["bridged"]).await.concat(), "");
}

#[tokio::test]
async fn what_policy_denies_is_not_asked_of_the_server_in_other_words() {
    let bench = Bench::new(|facts| !matches!(facts.action, Action::Initialize));
    bench.agent(INITIALIZE).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(bench.to_agent()[0].contains("denied by policy"));

    let bench = Bench::new(|facts| facts.env.protocol != "2026-07-28");
    bench.agent(INITIALIZE).await;
    bench.answer(REFUSED).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    let told = bench.to_agent();
    assert!(
        told[0].starts_with(r#"{"jsonrpc":"2.0","id":0,"error":{"code":4030,"#),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_server_that_took_all_its_time_is_not_given_as_much_again() {
    let bench = Bench::new(open);
    bench.agent(INITIALIZE).await;
    bench.to_upstream();
    bench.pass_time(LONG).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert!(bench.to_agent()[0].contains("did not answer"));
}

#[tokio::test]
async fn the_revision_is_the_one_asked_for_or_the_latest() {
    let check = async |wanted: &str, agreed: &str| {
        let bench = Bench::new(open);
        bench.agent(&INITIALIZE.replace("2025-06-18", wanted)).await;
        bench.answer(REFUSED).await;
        bench.answer(DISCOVERED).await;
        let welcome = WELCOME.replace("2025-06-18", agreed);
        assert_eq!(bench.to_agent(), [welcome], "{wanted}");
        bench
            .agent(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            .await;
        let records = bench.records(&["method", "stage", "bridged"]).await;
        assert_eq!(records.last().unwrap(), &format!("ping bridge {agreed}"));
    };
    check("2024-11-05", "2024-11-05").await;
    check("2025-03-26", "2025-03-26").await;
    check("2025-11-25", "2025-11-25").await;
    check("1999-01-01", "2025-11-25").await;
}

#[tokio::test]
async fn a_server_without_a_name_gets_that_of_the_configuration() {
    let bench = Bench::new(open);
    bench.agent(INITIALIZE).await;
    bench.answer(REFUSED).await;
    bench
        .answer(r#""result":{"supportedVersions":["2026-07-28"],"capabilities":{},"instructions":7,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":1,"version":"1"}}}"#)
        .await;
    assert_eq!(
        bench.to_agent(),
        [
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"fixture","version":"unknown"}}}"#
        ]
    );
}

#[tokio::test]
async fn what_comes_before_the_handshake_is_through_waits_for_it() {
    let bench = Bench::new(open);
    bench.agent(INITIALIZE).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    assert!(at_once(bench.bridge.ready()).await.is_none());
    assert!(!bench.bridge.is_idle());
    bench.answer(REFUSED).await;
    assert!(at_once(bench.bridge.ready()).await.is_none());
    bench.answer(DISCOVERED).await;
    assert!(at_once(bench.bridge.ready()).await.is_some());
    assert!(bench.to_upstream()[0].contains("subscriptions/listen"));
    assert!(bench.bridge.is_idle());

    // And goes on its way as it came, if there is no bridge.
    let bench = Bench::new(open);
    bench.agent(INITIALIZE).await;
    let early = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    bench.agent(early).await;
    bench
        .answer(r#""result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#)
        .await;
    assert_eq!(bench.to_upstream(), [early]);
}

#[tokio::test]
async fn a_second_handshake_is_refused_as_in_any_session() {
    let bench = Bench::bridged(open).await;
    bench
        .agent(&INITIALIZE.replace(r#""id":0"#, r#""id":9"#))
        .await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert_eq!(
        bench.to_agent(),
        [
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"the session has been initialized already"}}"#
        ]
    );
}

#[tokio::test]
async fn what_an_agent_says_of_itself_has_to_fit_into_each_request() {
    let bench = Bench::new(open);
    // As deep as a message may be; what each request says lies one deeper.
    let deep = format!("{}{}", r#"{"a":"#.repeat(60), "{}") + &"}".repeat(60);
    bench
        .agent(&INITIALIZE.replace(r#"{"x":1.0}"#, &deep))
        .await;
    let refusal = format!(r#"{{"jsonrpc":"2.0","id":0,{REFUSED}}}"#);
    bench.answer(REFUSED).await;
    assert_eq!(bench.to_agent(), [refusal]);
    assert_eq!(bench.to_upstream(), [""; 0]);
}
