//! Errors of tools, and sessions that end with one.

use super::*;
use crate::session::{InMemory, SessionKey, Whose};

fn failed(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"image","data":"","mimeType":"image/png"}},{{"type":"text","text":"{text}"}}],"isError":true}}}}"#
    )
}

async fn ending(rule: Rule) -> Bench {
    let bench = Bench::with(rule, |settings| {
        settings.terms.guards.on_fatal_tool_error = OnFatal::CloseSession;
    });
    bench.shake_hands().await;
    bench.list(&["safe"]).await;
    bench
}

/// Calls the tool and lets the server answer so; yields what reaches the agent.
async fn answered(bench: &Bench, id: &str, answer: impl Fn(&str) -> String) -> Vec<String> {
    bench.agent(&call(id, "safe")).await;
    let asked = bench.to_upstream();
    if let Some(asked) = asked.first() {
        bench.upstream(&answer(&id_of(asked))).await;
    }
    bench.to_agent()
}

#[tokio::test]
async fn errors_of_tools_are_recorded_by_what_may_come_of_them() {
    let bench = Bench::ready(open, &["safe"]).await;
    let whole = |text: &str| failed("$", text);
    let cases = [
        (whole("no such file"), "retryable"),
        (whole("[FATAL] the disk is gone"), "fatal"),
        (whole("\\u005bFATAL] the disk is gone"), "fatal"),
        (whole("\u{200b}[FATAL] the disk is gone"), "fatal"),
        (whole("[FA\u{2060}TAL] the disk is gone"), "fatal"),
        (whole("\\u001b[31m[FATAL] the disk is gone"), "fatal"),
        (whole("[FATAL]"), "retryable"),
        (whole("[fatal] x"), "retryable"),
        (whole(" [FATAL] x"), "retryable"),
        (whole("x [FATAL] y"), "retryable"),
        (result("$").replace("\"x\"", "\"[FATAL] only a text\""), ""),
        (
            r#"{"jsonrpc":"2.0","id":$,"result":{"content":[{"type":"text","text":"a"},{"type":"text","text":"[FATAL] b"}],"isError":true}}"#.to_owned(),
            "retryable",
        ),
        (
            r#"{"jsonrpc":"2.0","id":$,"result":{"content":"[FATAL] b","isError":true}}"#.to_owned(),
            "retryable",
        ),
        (
            r#"{"jsonrpc":"2.0","id":$,"error":{"code":-32603,"message":"[FATAL] b"}}"#.to_owned(),
            "",
        ),
    ];
    for (id, (answer, _)) in cases.iter().enumerate() {
        let told = answered(&bench, &id.to_string(), |id| answer.replace('$', id)).await;
        assert_eq!(told.len(), 1, "{answer}");
    }
    let records = bench.records_of("tool_result").await;
    let classes: Vec<String> = records.iter().map(|it| it.get(&["error_class"])).collect();
    assert_eq!(classes, cases.map(|(_, class)| class));
    // Nothing ends where nobody asks for it.
    assert_eq!(bench.talk.session.state().security.failed, None);
}

#[tokio::test]
async fn a_fatal_error_ends_the_session_once_it_was_told() {
    let bench = ending(open).await;
    let told = answered(&bench, "1", |id| failed(id, "try again")).await;
    assert_eq!((told.len(), bench.talk.agent.ended()), (1, 0));
    bench.agent(&call("2", "safe")).await;
    let under_way = id_of(&bench.to_upstream()[0]);
    let told = answered(&bench, "3", |id| failed(id, "[FATAL] gone")).await;
    assert!(told[0].contains("[FATAL] gone"), "{told:?}");
    assert_eq!(bench.talk.agent.ended(), 1);
    // What is under way may finish, and nothing more begins.
    bench.upstream(&result(&under_way)).await;
    assert_eq!(bench.to_agent().len(), 1);
    for asked in [
        call("4", "safe"),
        r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":6,"method":"tools/list"}"#.to_owned(),
    ] {
        bench.agent(&asked).await;
        let answers = bench.to_agent();
        assert!(answers[0].contains(r#""code":4030"#), "{answers:?}");
        assert!(answers[0].contains("session_ended"), "{answers:?}");
    }
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
    let refused = bench.records_of("request").await;
    let last = refused.last().unwrap();
    assert_eq!(last.get(&["reason", "code"]), "session_ended");
}

#[tokio::test]
async fn after_a_fatal_error_the_server_reaches_the_agent_no_more_but_with_what_was_asked() {
    let bench = ending(open).await;
    bench.agent(&call("2", "safe")).await;
    let under_way = id_of(&bench.to_upstream()[0]);
    answered(&bench, "3", |id| failed(id, "[FATAL] gone")).await;
    for said in [
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":8,"method":"roots/list"}"#,
    ] {
        bench.upstream(said).await;
        assert_eq!(bench.to_agent(), Vec::<String>::new(), "{said}");
    }
    // It learns no more than that nobody answers.
    let told = bench.to_upstream();
    assert!(
        told.iter()
            .all(|it| it.contains("-32601") && !it.contains("safe")),
        "{told:?}"
    );
    bench.upstream(&result(&under_way)).await;
    assert_eq!(bench.to_agent().len(), 1);
}

#[tokio::test]
async fn a_session_that_somebody_has_named_does_not_begin_again() {
    let store: Arc<dyn crate::session::SessionStore> = Arc::new(InMemory::default());
    let key = |principal, session| Whose::Common(SessionKey::of(principal, session));
    let begun = async |whose: &Whose| {
        let mut bench = Bench::with(open, |settings| {
            settings.terms.guards.on_fatal_tool_error = OnFatal::CloseSession;
        });
        bench.gate = bench.gate.remembering(Arc::clone(&store));
        let session = Arc::into_inner(bench.talk.session).unwrap();
        bench.talk.session = Arc::new(session.reading_as(whose.clone()));
        bench
    };
    let (named, alone) = (key("ada", Some("s")), key("bob", None));
    for whose in [&named, &alone] {
        let bench = begun(whose).await;
        bench.shake_hands().await;
        bench.list(&["safe"]).await;
        let told = answered(&bench, "1", |id| failed(id, "[FATAL] gone")).await;
        assert_eq!(told.len(), 1);
    }
    for (whose, ended) in [
        (&named, true),
        (&key("ada", Some("t")), false),
        (&key("bob", Some("s")), false),
        // It has no name of its own: the next one is another.
        (&alone, false),
    ] {
        let bench = begun(whose).await;
        bench.agent(INITIALIZE).await;
        let told = bench.to_agent().concat();
        assert_eq!(told.contains("session_ended"), ended, "{whose:?} {told}");
        assert_eq!(bench.to_upstream().is_empty(), ended, "{whose:?}");
    }
}

#[tokio::test]
async fn a_fatal_error_that_policy_withholds_ends_the_session_too() {
    let nothing_fatal: Rule = |facts| match facts.action {
        Action::ReceiveResult { received } if received.fatal => {
            Ok(Verdict::Deny { reasons: vec![] })
        }
        _ => open(facts),
    };
    let bench = ending(nothing_fatal).await;
    let told = answered(&bench, "1", |id| failed(id, "[FATAL] gone")).await;
    assert!(
        told[0].contains(r#""error""#) && !told[0].contains("gone"),
        "{told:?}"
    );
    assert_eq!(bench.talk.agent.ended(), 1);
    bench.agent(&call("2", "safe")).await;
    assert_eq!(bench.to_upstream(), Vec::<String>::new());
}

/// Requests without sessions, that have this in common.
async fn in_common(whose: Whose) -> Bench {
    let mut bench = Bench::with(open, |settings| {
        settings.terms.guards.on_fatal_tool_error = OnFatal::CloseSession;
    });
    let session = Arc::into_inner(bench.talk.session).unwrap();
    bench.talk.session = Arc::new(session.reading_as(whose));
    let bench = bench.with_ids(crate::session::Ids::OfStream);
    bench.shake_hands().await;
    bench.list(&["safe"]).await;
    bench
}

#[tokio::test]
async fn a_fatal_error_ends_what_requests_without_sessions_have_in_common_if_they_are_known_to() {
    let key = |principal, session| Whose::Common(SessionKey::of(principal, session));
    for (whose, ends) in [
        (key("ada", None), true),
        (key("ada", Some("s")), true),
        (key("anonymous", Some("s")), true),
        (key("anonymous", None), false),
        (Whose::Unnamed, false),
    ] {
        let bench = in_common(whose.clone()).await;
        let told = answered(&bench, "1", |id| failed(id, "[FATAL] gone")).await;
        // What carries it goes on, so that the next request belongs to it.
        assert_eq!((told.len(), bench.talk.agent.ended()), (1, 0), "{whose:?}");
        bench.agent(&call("2", "safe")).await;
        assert_eq!(bench.to_upstream().is_empty(), ends, "{whose:?}");
        let answers = bench.to_agent();
        assert_eq!(answers.len(), usize::from(ends));
        if ends {
            assert!(answers[0].contains("session_ended"), "{answers:?}");
            let last = bench.records_of("tool_call").await.pop().unwrap();
            assert_eq!(last.get(&["reason", "code"]), "session_ended");
        }
    }
}

#[tokio::test]
async fn what_answers_nothing_and_what_others_share_ends_no_session() {
    let bench = ending(open).await;
    bench.upstream(&failed("99", "[FATAL] gone")).await;
    assert_eq!(bench.talk.session.state().security.failed, None);
    assert_eq!(answered(&bench, "1", result).await.len(), 1);

    let bench = Bench::with(open, |settings| {
        settings.terms.guards.on_fatal_tool_error = OnFatal::CloseSession;
    });
    let bench = bench.with_ids(crate::session::Ids::OfStream);
    bench.shake_hands().await;
    bench.list(&["safe"]).await;
    let told = answered(&bench, "1", |id| failed(id, "[FATAL] gone")).await;
    assert_eq!((told.len(), bench.talk.agent.ended()), (1, 0));
    assert_eq!(answered(&bench, "2", result).await.len(), 1);
}
