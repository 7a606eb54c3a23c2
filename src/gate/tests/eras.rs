//! Agents that begin no session, before servers that may need one.

use super::*;
use crate::gate::UpstreamFault;
use crate::session::Ids;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// What a server says that needs no sessions.
const SPEAKS: &str = r#""result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#;
const LACKS: &str = r#""error":{"code":-32601,"message":"Method not found"}"#;

/// The revisions with sessions that are known here.
const WITH_SESSIONS: &str = r#""2024-11-05","2025-03-26","2025-06-18","2025-11-25""#;

fn bench() -> Bench {
    Bench::with(open, |settings| settings.eras = Eras::Asked)
}

fn modern(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{META}}}}}"#)
}

fn answer(id: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},{members}}}"#)
}

/// What the gate asked itself, which is all that it has sent.
fn question(bench: &Bench) -> String {
    let sent = bench.to_upstream();
    assert_eq!(sent.len(), 1, "{sent:?}");
    let question = sent.first().unwrap();
    assert!(
        question.contains(r#""method":"server/discover""#),
        "{question}"
    );
    id_of(question)
}

/// The code and the data of what the agent was told, which is all that it was told.
fn refused(bench: &Bench, id: &str, code: i64, supported: &str) {
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    let told = told.first().unwrap();
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#);
    let data = format!(r#""data":{{"supported":[{supported}],"requested":"2026-07-28"}}"#);
    assert!(told.starts_with(&head) && told.contains(&data), "{told}");
    assert!(told.contains("begins with `initialize`"), "{told}");
}

#[tokio::test]
async fn a_server_is_asked_once_what_it_speaks_before_the_first_request_without_a_session() {
    let bench = bench();
    bench.agent(&modern("1", "tools/list")).await;
    bench.agent(&modern("2", "prompts/list")).await;
    let asked = question(&bench);
    bench.upstream(&answer(&asked, SPEAKS)).await;
    let sent = bench.to_upstream();
    let methods = ["tools/list", "prompts/list"];
    assert_eq!(sent.len(), methods.len());
    for (sent, method) in sent.iter().zip(methods) {
        assert!(sent.contains(method), "{sent}");
    }
    assert!(bench.to_agent().is_empty());
    bench.agent(&modern("3", "resources/list")).await;
    assert!(
        bench
            .to_upstream()
            .iter()
            .all(|it| it.contains("resources/list"))
    );
    let own = bench.records_of("gate_decision").await;
    assert_eq!(own.len(), 2, "a decision and its outcome");
    assert_eq!(own[0].get(&["reason", "code"]), "gate_initiated");
    assert_eq!(own[0].get(&["method"]), "server/discover");
    // Servers are replaced while a gate runs.
    bench.clock.advance(Duration::from_mins(10));
    bench.agent(&modern("4", "tools/list")).await;
    question(&bench);
}

#[tokio::test]
async fn a_server_that_needs_a_session_gets_nothing_without_one_and_its_agent_is_told_what_to_do() {
    let error =
        |code: i64, data: &str| format!(r#""error":{{"code":{code},"message":"no"{data}}}"#);
    let old = r#","data":{"supported":["2025-06-18","\u202eodd"],"requested":"2026-07-28"}"#;
    let cases = [
        (error(-32_601, ""), WITH_SESSIONS),
        (error(-32_602, ""), WITH_SESSIONS),
        (error(-32_603, ""), WITH_SESSIONS),
        (error(-32_000, old), WITH_SESSIONS),
        (error(-32_022, old), r#""2025-06-18""#),
        (r#""result":{}"#.to_owned(), WITH_SESSIONS),
        (
            r#""result":{"supportedVersions":["2025-11-25"]}"#.to_owned(),
            r#""2025-11-25""#,
        ),
        (
            r#""result":{"supportedVersions":"2026-07-28"}"#.to_owned(),
            WITH_SESSIONS,
        ),
    ];
    for (says, supported) in cases {
        let bench = bench();
        bench.agent(&modern("1", "tools/list")).await;
        let asked = question(&bench);
        bench.upstream(&answer(&asked, &says)).await;
        refused(&bench, "1", -32_022, supported);
        // Believed for a while.
        bench.agent(&modern("2", "prompts/list")).await;
        refused(&bench, "2", -32_022, supported);
        assert!(bench.to_upstream().is_empty(), "{says}");
        let records = bench.records_of("tools_list").await;
        assert_eq!(records.len(), 1, "{says}");
        assert_eq!(records[0].get(&["decision"]), "BLOCK");
        assert_eq!(records[0].get(&["reason", "code"]), "needs_session");
        bench.clock.advance(Duration::from_mins(1));
        bench.agent(&modern("3", "tools/list")).await;
        let asked = question(&bench);
        bench.upstream(&answer(&asked, SPEAKS)).await;
        assert_eq!(bench.to_upstream().len(), 1, "a newer server: {says}");
    }
}

#[tokio::test]
async fn errors_that_only_servers_without_sessions_give_are_such_a_servers() {
    let newer = r#","data":{"supported":["2027-01-15"]}"#;
    for (code, data) in [
        (-32_022, newer),
        (-32_022, ""),
        (-32_021, ""),
        (-32_020, ""),
    ] {
        let bench = bench();
        bench.agent(&modern("1", "tools/list")).await;
        let asked = question(&bench);
        let says = format!(r#""error":{{"code":{code},"message":"no"{data}}}"#);
        bench.upstream(&answer(&asked, &says)).await;
        assert_eq!(bench.to_upstream().len(), 1, "{says}");
    }
}

#[tokio::test]
async fn what_an_agent_asks_itself_is_asked_once() {
    let bench = bench();
    bench.agent(&modern("1", "server/discover")).await;
    let asked = question(&bench);
    bench.upstream(&answer(&asked, SPEAKS)).await;
    assert_eq!(bench.to_agent(), [answer("1", SPEAKS)]);
    bench.agent(&modern("2", "tools/list")).await;
    let sent = bench.to_upstream();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].contains("tools/list"));
    // The era of the server is known: an error is about the request.
    bench.agent(&modern("3", "server/discover")).await;
    let asked = question(&bench);
    bench.upstream(&answer(&asked, LACKS)).await;
    assert_eq!(bench.to_agent(), [answer("3", LACKS)]);
}

#[tokio::test]
async fn an_agent_that_speaks_both_finds_out_that_it_must_begin_a_session() {
    let bench = bench();
    bench.agent(&modern("1", "server/discover")).await;
    let asked = question(&bench);
    bench.upstream(&answer(&asked, LACKS)).await;
    // Not every kit begins a session after -32022.
    refused(&bench, "1", -32_601, WITH_SESSIONS);
    bench.shake_hands().await;
    bench.list(&["echo"]).await;
    bench.agent(&call("2", "echo")).await;
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn what_one_agent_was_refused_is_not_believed_for_others() {
    let bench = bench();
    bench.agent(&modern("1", "server/discover")).await;
    let asked = question(&bench);
    bench.upstream(&answer(&asked, LACKS)).await;
    bench.to_agent();
    bench.agent(&modern("2", "tools/list")).await;
    let asked = question(&bench);
    bench.upstream(&answer(&asked, SPEAKS)).await;
    assert!(bench.to_agent().is_empty());
    assert_eq!(bench.to_upstream().len(), 1);
}

#[tokio::test]
async fn a_server_that_speaks_like_an_older_one_is_asked_again_once_a_minute_at_most() {
    let plain = |code: i64| format!(r#""error":{{"code":{code},"message":"no"}}"#);
    let older = r#""error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}"#;
    let newer = r#""error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#;
    for (says, doubts) in [
        (plain(-32_600), true),
        (plain(-32_601), true),
        (plain(-32_602), true),
        (plain(-32_000), true),
        (older.to_owned(), true),
        (r#""result":{"tools":[]}"#.to_owned(), true),
        (newer.to_owned(), false),
        (plain(-32_603), false),
        (plain(-32_020), false),
        (plain(-32_021), false),
        (plain(17), false),
        (
            r#""result":{"resultType":"complete","tools":[]}"#.to_owned(),
            false,
        ),
    ] {
        let bench = bench();
        bench.agent(&modern("1", "tools/list")).await;
        let asked = question(&bench);
        bench.upstream(&answer(&asked, SPEAKS)).await;
        let listing = id_of(&bench.to_upstream()[0]);
        // It may have meant the request: nothing is asked at once, and the error passes.
        bench.upstream(&answer(&listing, &says)).await;
        assert_eq!(bench.to_agent().len(), 1, "{says}");
        bench.agent(&modern("2", "prompts/list")).await;
        let soon = bench.to_upstream();
        assert!(soon[0].contains("prompts/list"), "{says}: {soon:?}");
        let empty = r#""result":{"resultType":"complete","prompts":[]}"#;
        bench.upstream(&answer(&id_of(&soon[0]), empty)).await;
        bench.to_agent();
        bench.clock.advance(Duration::from_mins(1));
        bench.agent(&modern("3", "tools/list")).await;
        if doubts {
            let asked = question(&bench);
            bench.upstream(&answer(&asked, LACKS)).await;
            refused(&bench, "3", -32_022, WITH_SESSIONS);
        } else {
            let sent = bench.to_upstream();
            assert!(sent[0].contains("tools/list"), "{says}: {sent:?}");
        }
    }
}

#[tokio::test]
async fn a_status_without_a_message_is_a_reason_to_ask_again() {
    for (status, doubts) in [(400, true), (404, true), (429, false), (503, false)] {
        let bench = bench();
        bench.agent(&modern("1", "tools/list")).await;
        let asked = question(&bench);
        bench.upstream(&answer(&asked, SPEAKS)).await;
        let listing = id_of(&bench.to_upstream()[0]).parse().unwrap();
        bench.clock.advance(Duration::from_secs(59));
        let fault = UpstreamFault::Status(status);
        let failed = bench.gate.upstream_failed(&bench.talk, listing, fault);
        failed.await.unwrap();
        assert_eq!(bench.to_agent().len(), 1);
        bench.clock.advance(Duration::from_secs(1));
        bench.agent(&modern("2", "tools/list")).await;
        let sent = bench.to_upstream();
        assert_eq!(sent[0].contains("server/discover"), doubts, "{status}");
    }
}

#[tokio::test]
async fn a_call_waits_for_the_era_and_then_for_the_catalogue() {
    for (says, lists) in [(SPEAKS, 1), (LACKS, 0)] {
        let bench = bench().with_ids(Ids::OfStream);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo",{META}}}}}"#
        );
        bench.agent(&call).await;
        let asked = question(&bench);
        bench.upstream(&answer(&asked, says)).await;
        let listed = bench.to_upstream();
        assert_eq!(listed.len(), lists, "{says}");
        assert!(listed.iter().all(|it| it.contains("tools/list")));
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_asked_is_an_error_and_no_guess() {
    let bench = bench();
    let faults = [
        (UpstreamFault::Unreachable("refused".to_owned()), -32_603),
        (UpstreamFault::Status(503), -32_603),
        (UpstreamFault::Status(401), -32_603),
        (UpstreamFault::Status(400), -32_022),
    ];
    for (fault, code) in faults {
        bench.agent(&modern("1", "tools/list")).await;
        let asked = question(&bench).parse().unwrap();
        let failed = bench
            .gate
            .upstream_failed(&bench.talk, asked, fault.clone());
        failed.await.unwrap();
        bench.gate.resume(&bench.talk).await.unwrap();
        let told = bench.to_agent();
        assert_eq!(told.len(), 1, "{fault}");
        assert!(told[0].contains(&format!(r#""code":{code},"#)), "{told:?}");
    }
}

#[tokio::test]
async fn a_server_that_dies_or_says_nothing_is_asked_again() {
    for silent in [false, true] {
        let bench = bench();
        bench.agent(&modern("1", "tools/list")).await;
        question(&bench);
        if silent {
            bench.clock.advance(Duration::from_mins(1));
            bench.gate.expire(&bench.talk).await.unwrap();
        } else {
            bench.gate.upstream_died(&bench.talk).await.unwrap();
        }
        bench.gate.resume(&bench.talk).await.unwrap();
        let told = bench.to_agent();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(r#""code":-32603"#), "{told:?}");
        bench.gate.upstream_restarted(&bench.talk).await;
        bench.agent(&modern("2", "tools/list")).await;
        question(&bench);
    }
}

#[tokio::test]
async fn what_is_denied_and_what_belongs_to_a_session_asks_nothing() {
    fn silent(_: &Facts<'_>) -> Result<Verdict, EngineFault> {
        Ok(Verdict::Abstain)
    }
    let bench = Bench::with(silent, |settings| settings.eras = Eras::Asked);
    bench.agent(&modern("1", "tools/list")).await;
    assert!(bench.to_upstream().is_empty());
    assert_eq!(bench.to_agent().len(), 1);
    let bench = self::bench();
    bench.shake_hands().await;
    bench.list(&["echo"]).await;
    bench.agent(&call("1", "echo")).await;
    let sent = bench.to_upstream();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].contains("tools/call"));
}

#[tokio::test]
async fn a_notification_of_an_extensions_reaches_no_server_that_may_need_a_session() {
    for (said, passes) in [(SPEAKS, true), (LACKS, false)] {
        let bench = Bench::with(open, |settings| {
            settings.eras = Eras::Asked;
            settings.extensions = extensions::listed(&extensions::METHODS);
        });
        let tell = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/vendor/tell","params":{{{META}}}}}"#
        );
        bench.agent(&tell).await;
        assert!(bench.to_upstream().is_empty(), "before it is known");
        bench.agent(&modern("1", "prompts/list")).await;
        let asked = question(&bench);
        bench.upstream(&answer(&asked, said)).await;
        bench.to_upstream();
        bench.agent(&tell).await;
        assert_eq!(bench.to_upstream().len(), usize::from(passes), "{said}");
    }
}

#[tokio::test]
async fn a_refusal_names_the_versions_that_the_server_is_heard_to_speak() {
    let unknown = |id: &str, method: &str| modern(id, method).replace("2026-07-28", "2099-01-01");
    let both = SPEAKS.replace(
        r#"["2026-07-28"]"#,
        r#"["2025-11-25","2027-01-01","2026-07-28",7]"#,
    );
    let cases = [
        (SPEAKS, r#""2026-07-28""#),
        (&both, r#""2025-11-25","2026-07-28""#),
        (LACKS, WITH_SESSIONS),
    ];
    for (says, supported) in cases {
        // Whichever comes first, the refusal or the question what is spoken.
        let bench = bench();
        bench.agent(&unknown("1", "tools/list")).await;
        bench.agent(&unknown("2", "server/discover")).await;
        assert!(bench.to_agent().is_empty());
        let asked = question(&bench);
        bench.upstream(&answer(&asked, says)).await;
        let told = bench.to_agent();
        let data = format!(r#""data":{{"supported":[{supported}],"requested":"2099-01-01"}}"#);
        assert_eq!(told.len(), 2);
        assert!(
            told.iter()
                .all(|it| it.contains(&data) && it.contains("-32022")),
            "{told:?}"
        );
        assert!(bench.to_upstream().is_empty());
        // What it says itself names no others.
        bench.agent(&modern("3", "server/discover")).await;
        let asked = id_of(&bench.to_upstream()[0]);
        bench.upstream(&answer(&asked, says)).await;
        let told = bench.to_agent().remove(0);
        assert!(told.contains(&format!("[{supported}]")), "{told}");
    }
}
