//! What is told of a task beside its result, and in whose session.

use proptest::prelude::*;

use super::*;
use crate::gate::tests::ratchet::{CLOSED, TOOLS, policies};
use crate::policy::SessionSensitivity;

/// A session in which reading has become the task `t-1`, and another one of the same principal.
async fn two_sessions() -> Bench {
    let mut bench = Bench::new(open);
    bench.gate.policy.publish(policies(CLOSED));
    bench.shake_hands().await;
    bench.list(&TOOLS).await;
    let read = r#""name":"read","arguments":{},"task":{"ttl":60000}"#;
    let told = exchange(&bench, &legacy(1, "tools/call", read), LEGACY_TASK).await;
    assert_eq!(told, reply("1", LEGACY_TASK));
    assert_eq!(level(&bench), 2);
    let session = Session::new(SessionId::from_random(8), "stdio", Server::default(), 0);
    bench.talk = Talk::new(session, Recorder::default(), Recorder::default());
    bench.shake_hands().await;
    bench.list(&TOOLS).await;
    assert_eq!(level(&bench), 0);
    bench
}

fn level(bench: &Bench) -> i64 {
    bench.talk.session.state().security.held.level
}

/// Whether its agent may still connect.
async fn connects(bench: &Bench) -> bool {
    bench.agent(&call("9", "fetch")).await;
    let sent = bench.to_upstream();
    for line in &sent {
        bench.upstream(&result(&id_of(line))).await;
    }
    bench.to_agent();
    !sent.is_empty()
}

const PLAIN: &str = r#""taskId":"t-1","status":"working","createdAt":"2026-01-02T03:04:05.678Z","lastUpdatedAt":"2026-01-02T03:04:05+01:00","ttl":60000,"pollInterval":null"#;
const MORE: &str = r#""statusMessage":"found Ada","x/y":{"card":"4111 Ada"},"result":{"content":[]},"_meta":{"name":"Ada"}"#;

#[tokio::test]
async fn a_list_of_tasks_says_nothing_of_what_they_have_found_and_raises_nothing() {
    let bench = two_sessions().await;
    let list = format!(r#""tasks":[{{{PLAIN},{MORE}}}],"nextCursor":"n""#);
    let told = exchange(&bench, &legacy(1, "tasks/list", ""), &list).await;
    let shown = format!(r#""tasks":[{{{PLAIN}}}],"nextCursor":"n""#);
    assert_eq!(told, reply("1", &shown));
    assert_eq!(level(&bench), 0);
    assert!(connects(&bench).await);
    let records = bench.records().await;
    let record = records
        .iter()
        .rev()
        .find(|it| it.text().contains("/result/tasks/0/x~1y"));
    assert!(!record.unwrap().text().contains("Ada"));
    // It is told to who asks for it, and that closes what connects.
    let told = format!("{PLAIN},{MORE}");
    let asked = legacy(2, "tasks/get", r#""taskId":"t-1""#);
    assert_eq!(exchange(&bench, &asked, &told).await, reply("2", &told));
    assert_eq!(level(&bench), 2);
    assert!(!connects(&bench).await);
}

#[tokio::test]
async fn a_task_that_is_given_up_says_nothing_of_what_it_has_found() {
    let bench = two_sessions().await;
    let told = format!("{PLAIN},{MORE}");
    let asked = legacy(1, "tasks/cancel", r#""taskId":"t-1""#);
    assert_eq!(exchange(&bench, &asked, &told).await, reply("1", PLAIN));
    assert!(connects(&bench).await);
    let own = r#""resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}"#;
    let bench = stateless(open);
    begin(&bench).await;
    assert_eq!(
        exchange(&bench, &about("tasks/cancel"), own).await,
        reply("1", own)
    );
}

fn status(members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{{members}}}}}"#)
}

#[tokio::test]
async fn news_of_a_task_raise_the_session_that_is_told_what_it_has_found() {
    let of_the_protocol = r#""_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}"#;
    let cases = [
        (String::new(), false),
        (format!(",{of_the_protocol}"), false),
        (r#","statusMessage":"found Ada""#.to_owned(), true),
        (r#","result":{"content":[]}"#.to_owned(), true),
        (r#","_meta":{"x":"Ada"}"#.to_owned(), true),
        (r#","found":["Ada"]"#.to_owned(), true),
    ];
    for (more, raises) in cases {
        let bench = two_sessions().await;
        let news = status(&format!("{PLAIN}{more}"));
        bench.upstream(&news).await;
        assert_eq!(
            bench.to_agent().iter().filter(|it| **it == news).count(),
            1,
            "{more}"
        );
        assert_eq!(level(&bench), if raises { 2 } else { 0 }, "{more}");
        assert_eq!(connects(&bench).await, !raises, "{more}");
    }
}

/// Nothing may be received of what is confidential.
fn nothing_confidential(facts: &Facts<'_>) -> Result<Verdict, EngineFault> {
    Ok(match &facts.action {
        Action::ReceiveResult { received } if received.level >= 2 => {
            Verdict::Deny { reasons: vec![] }
        }
        _ => allow(),
    })
}

#[tokio::test]
async fn what_news_of_a_task_say_is_received_as_the_result_of_its_call() {
    let cases = [
        ("", true),
        (r#","statusMessage":"found Ada""#, false),
        (r#","result":{"content":[]}"#, false),
        (r#","error":{"code":1,"message":"no Ada"}"#, false),
    ];
    for (more, passes) in cases {
        let bench = two_sessions().await;
        let policies = snapshot("received", nothing_confidential);
        let labels = crate::policy::Labels {
            tools: [(
                "read".to_owned(),
                crate::policy::ToolLabels {
                    level: 2,
                    ..crate::policy::ToolLabels::default()
                },
            )]
            .into(),
            ..crate::policy::Labels::default()
        };
        bench.gate.policy.publish(policies.with_labels(labels));
        bench.upstream(&status(&format!("{PLAIN}{more}"))).await;
        assert_eq!(bench.to_agent().len(), usize::from(passes), "{more}");
        assert_eq!(
            *bench.talk.session.state().security.held,
            SessionSensitivity::default(),
            "{more}"
        );
    }
    // What is not finished is no result.
    let bench = two_sessions().await;
    let within = r#""taskId":"t-1","status":"completed","result":{"inputRequests":{}}"#;
    bench.upstream(&status(within)).await;
    assert!(bench.to_agent().is_empty());
}

#[tokio::test]
async fn of_a_task_whose_call_raises_nothing_all_is_listed() {
    let bench = session(sparing).await;
    let list = format!(r#""tasks":[{{"taskId":"t-1",{MORE}}}]"#);
    let told = exchange(&bench, &legacy(1, "tasks/list", ""), &list).await;
    assert_eq!(told, reply("1", &list));
}

/// Of several servers `crm`, with a session that has read this from it.
fn at_one_of_several(held: SessionSensitivity) -> Talk<Recorder, Recorder> {
    let server = Server {
        key: crate::policy::ServerKey::of("crm"),
        ..Server::default()
    };
    let session = Session::new(SessionId::from_random(8), "stdio", server, 0);
    session.state().security.held = held.into();
    Talk::new(session, Recorder::default(), Recorder::default())
}

#[tokio::test]
async fn of_a_task_at_one_of_several_servers_all_is_listed_to_who_has_read_from_it() {
    let read = |level| SessionSensitivity {
        sources: ["crm".to_owned()].into(),
        ..SessionSensitivity::at(level)
    };
    let unread = SessionSensitivity::default;
    let labelled = |name: &str, level| {
        let labels = crate::policy::ToolLabels {
            level,
            permissions: crate::policy::Permissions {
                read: true,
                write: false,
                connect: false,
            },
            ..crate::policy::ToolLabels::default()
        };
        (name.to_owned(), labels)
    };
    let labels = crate::policy::Labels {
        tools: [labelled("note", 0), labelled("read", 2)].into(),
        ..crate::policy::Labels::default()
    };
    for (tool, held, is_all) in [
        ("note", unread(), false),
        ("note", read(0), true),
        // What its text is will be looked for in later calls, but a list is no result.
        ("read", read(2), false),
    ] {
        let mut bench = Bench::new(open);
        let policies = policies(CLOSED).with_labels(labels.clone());
        bench.gate.policy.publish(policies);
        bench.talk = at_one_of_several(unread());
        bench.shake_hands().await;
        bench.list(&TOOLS).await;
        let call = format!(r#""name":"{tool}","arguments":{{}},"task":{{"ttl":60000}}"#);
        exchange(&bench, &legacy(1, "tools/call", &call), LEGACY_TASK).await;
        bench.talk = at_one_of_several(held.clone());
        bench.shake_hands().await;
        let list = format!(r#""tasks":[{{{PLAIN},{MORE}}}]"#);
        let told = exchange(&bench, &legacy(1, "tasks/list", ""), &list).await;
        let states = format!(r#""tasks":[{{{PLAIN}}}]"#);
        let shown = if is_all { &list } else { &states };
        assert_eq!(told, reply("1", shown), "{tool} {held:?}");
        assert_eq!(*bench.talk.session.state().security.held, held);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Nothing that is not of the protocol's own kind is shown of a confidential task, under whatever key.
    #[test]
    fn whatever_a_server_adds_to_a_listed_task_is_not_shown(
        members in prop::collection::btree_map(
            prop_oneof![
                Just("status".to_owned()), Just("createdAt".to_owned()), Just("lastUpdatedAt".to_owned()),
                Just("ttl".to_owned()), Just("pollInterval".to_owned()), Just("_meta".to_owned()),
                Just("statusMessage".to_owned()), "[a-zA-Z/~]{1,6}",
            ],
            prop_oneof![
                Just(r#""Ada""#), Just(r#""2026-01-02 Ada""#), Just(r#"["Ada"]"#), Just(r#"{"Ada":1}"#),
                Just(r#"{"io.modelcontextprotocol/Ada":{"a":"Ada"},"b":"Ada"}"#),
            ],
            0..6,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let told = runtime.block_on(async {
            let bench = two_sessions().await;
            let members = members.iter().map(|(key, value)| format!(r#","{key}":{value}"#));
            let members: String = members.collect();
            let list = format!(r#""tasks":[{{"taskId":"t-1"{members}}}]"#);
            exchange(&bench, &legacy(1, "tasks/list", ""), &list).await
        });
        prop_assert_eq!(told, reply("1", r#""tasks":[{"taskId":"t-1"}]"#));
    }
}
