//! From the open server to the isolated one, within one session.

pub(super) mod elsewhere;
mod in_turn;
mod late;
mod warm;

use crate::session::Instance;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::policy::SessionSensitivity;
use crate::session::{Answer, Kept, Place, Raised, Readiness, SessionKey, SessionStore, Whose};
use crate::wire::Stream;

const SECRET: i64 = 3;

/// Sessions of secret content are isolated.
fn bench() -> Bench {
    Bench::with(open, |settings| {
        settings.thresholds = crate::session::Thresholds::new([SECRET]);
    })
}

/// One that has done its handshake and has seen these tools.
async fn ready(tools: &[&str]) -> Bench {
    let bench = bench();
    bench.shake_hands().await;
    bench.list(tools).await;
    bench
}

impl Bench {
    pub(super) fn raise(&self, level: i64) {
        self.talk.session.state().security.held = Arc::new(SessionSensitivity {
            level,
            ..SessionSensitivity::default()
        });
    }

    /// The agent says something while whoever is spoken to agrees to every handshake, and lists these
    /// tools when it is asked to. Yields what reached the server.
    pub(super) async fn agent_meanwhile(&self, frame: &str, tools: &[&str]) -> Vec<String> {
        self.meanwhile(self.agent(frame), tools).await
    }

    /// The same of whatever is said.
    pub(super) async fn meanwhile(
        &self,
        said: impl Future<Output = ()>,
        tools: &[&str],
    ) -> Vec<String> {
        let mut reached = Vec::new();
        tokio::pin!(said);
        let mut is_said = false;
        for _ in 0..10_000 {
            tokio::select! {
                biased;
                () = &mut said, if !is_said => is_said = true,
                () = tokio::time::sleep(Duration::from_micros(100)) => {}
            }
            let lines = self.to_upstream();
            if is_said && lines.is_empty() {
                return reached;
            }
            for line in lines {
                self.answer(&line, tools).await;
                reached.push(line);
            }
        }
        panic!("the agent is not heard: {reached:?}");
    }

    async fn answer(&self, line: &str, tools: &[&str]) {
        if line.contains(r#""method":"initialize""#) {
            let id = id_of(line);
            self.upstream(&agreed(&id)).await;
        }
        if line.contains(r#""method":"tools/list""#) {
            let tools = tools.iter().map(|name| match name.strip_prefix('{') {
                // Its whole definition.
                Some(_) => (*name).to_owned(),
                None => format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#),
            });
            let tools = tools.collect::<Vec<_>>().join(",");
            let id = id_of(line);
            self.upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tools}]}}}}"#
            ))
            .await;
        }
    }

    pub(super) async fn left(&self, frame: &str) {
        let handled = self.gate.handle_elsewhere(
            &self.talk,
            Instance::OPEN,
            (Stream::MAIN, ArrivalForm::Event),
            frame.as_bytes(),
        );
        Box::pin(handled).await.unwrap();
    }
}

fn agreed(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    )
}

fn methods(lines: &[String]) -> Vec<String> {
    let method = |line: &String| {
        let message = Message::decode(line.as_bytes(), &Limits::default());
        let method = message.map(|it| {
            it.method()
                .map_or("reply".into(), |it| it.name().to_owned())
        });
        method.unwrap_or_else(|_| line.clone())
    };
    lines.iter().map(method).collect()
}

#[tokio::test]
async fn a_session_that_is_too_sensitive_goes_on_with_the_isolated_server_and_its_agent_sees_one_session()
 {
    let bench = ready(&["read"]).await;
    bench.agent(&call("1", "read")).await;
    assert_eq!(methods(&bench.to_upstream()), ["tools/call"]);
    bench.upstream(&result("3")).await;
    assert_eq!(bench.to_agent(), [result("1")]);
    bench.raise(SECRET);
    let reached = bench.agent_meanwhile(&call("2", "read"), &["read"]).await;
    assert_eq!(
        methods(&reached),
        [
            MOVED,
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/call"
        ]
    );
    assert!(reached[1].contains(r#""clientInfo":{"name":"tester","version":"1"}"#));
    bench.upstream(&result(&id_of(&reached[4]))).await;
    assert_eq!(bench.to_agent(), [result("2")]);
    assert!(bench.talk.upstream.is_left());
    bench.agent(&call("3", "read")).await;
    assert_eq!(methods(&bench.to_upstream()), ["tools/call"]);
}

#[tokio::test]
async fn below_the_threshold_and_without_an_isolated_server_nothing_moves() {
    let bench = ready(&["read"]).await;
    bench.raise(SECRET - 1);
    bench.agent(&call("1", "read")).await;
    assert_eq!(methods(&bench.to_upstream()), ["tools/call"]);
    let bench = Bench::ready(open, &["read"]).await;
    bench.raise(SECRET);
    bench.agent(&call("1", "read")).await;
    assert_eq!(methods(&bench.to_upstream()), ["tools/call"]);
    assert_eq!(bench.talk.session.place(), Place::At(Instance::OPEN));
}

#[tokio::test]
async fn a_session_that_begins_too_sensitive_never_speaks_to_the_open_server() {
    let bench = bench();
    bench.raise(SECRET);
    bench.agent(INITIALIZE).await;
    let reached = bench.to_upstream();
    assert_eq!(methods(&reached), [MOVED, "initialize"]);
    assert!(bench.talk.upstream.is_left());
}

#[tokio::test]
async fn what_was_asked_of_the_open_server_is_answered_by_it_alone_and_once() {
    let bench = ready(&["read"]).await;
    bench.agent(&call("1", "read")).await;
    bench.agent(&call("2", "read")).await;
    let asked: Vec<String> = bench.to_upstream().iter().map(|it| id_of(it)).collect();
    bench.raise(SECRET);
    bench
        .agent_meanwhile(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#, &[])
        .await;
    assert!(!bench.talk.upstream.is_left(), "two replies are waited for");
    // The isolated server cannot answer for the open one.
    bench.upstream(&result(&asked[0])).await;
    assert_eq!(bench.to_agent(), [""; 0]);
    bench.left(&result(&asked[0])).await;
    bench.left(&result(&asked[0])).await;
    assert_eq!(bench.to_agent(), [result("1")]);
    assert!(!bench.talk.upstream.is_left());
    Box::pin(bench.gate.died_elsewhere(&bench.talk, Instance::OPEN))
        .await
        .unwrap();
    let told = bench.to_agent();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(r#""id":2"#) && told[0].contains("ended before it answered"));
    assert!(bench.talk.upstream.is_left());
}

#[tokio::test]
async fn the_open_server_cannot_answer_what_the_isolated_one_was_asked_nor_ask_nor_tell() {
    let bench = ready(&["read"]).await;
    bench.raise(SECRET);
    let reached = bench.agent_meanwhile(&call("1", "read"), &["read"]).await;
    let asked = id_of(reached.last().unwrap());
    for frame in [
        result(&asked),
        format!(r#"{{"jsonrpc":"2.0","id":{asked},"error":{{"code":1,"message":"x"}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":{asked},"result":1,"result":2}}"#),
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"method":"roots/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned(),
        "nonsense".to_owned(),
    ] {
        bench.left(&frame).await;
        assert_eq!(bench.to_agent(), [""; 0], "{frame}");
        assert_eq!(bench.to_upstream(), [""; 0], "{frame}");
    }
    let unheard = bench.records().await;
    let unheard = unheard
        .iter()
        .filter(|it| it.get(&["reason", "code"]) == "left");
    assert_eq!(unheard.count(), 7);
    bench.upstream(&result(&asked)).await;
    assert_eq!(bench.to_agent(), [result("1")]);
}

#[tokio::test]
async fn what_the_open_server_asked_is_withdrawn_and_an_answer_reaches_nobody() {
    let bench = ready(&["read"]).await;
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#)
        .await;
    let asked = id_of(&bench.to_agent()[0]);
    bench.raise(SECRET);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"roots":[]}}}}"#);
    let reached = bench.agent_meanwhile(&answer, &[]).await;
    assert_eq!(
        methods(&reached),
        [MOVED, "initialize", "notifications/initialized"]
    );
    assert_eq!(methods(&bench.to_agent()), ["notifications/cancelled"]);
}

#[tokio::test]
async fn cancellations_and_timeouts_tell_the_open_server_nothing_any_more() {
    let bench = ready(&["read"]).await;
    bench.agent(&call("1", "read")).await;
    bench.to_upstream();
    bench.raise(SECRET);
    // Not even before the agent has said anything.
    bench.clock.advance(Duration::from_mins(2));
    bench.gate.expire(&bench.talk).await.unwrap();
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert_eq!(bench.to_agent().len(), 1);
    bench
        .upstream(r#"{"jsonrpc":"2.0","id":"p","method":"nothing/such"}"#)
        .await;
    assert_eq!(bench.to_upstream(), [""; 0], "not even a refusal");
}

#[tokio::test]
async fn an_isolated_server_that_speaks_another_revision_is_told_nothing_but_the_handshake() {
    let bench = ready(&["read"]).await;
    bench.raise(SECRET);
    let asked = call("1", "read");
    let said = bench.agent(&asked);
    let refused = async {
        let lines = loop {
            let lines = bench.to_upstream();
            if lines.len() > 1 {
                break lines;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let other = agreed(&id_of(&lines[1])).replace("2025-11-25", "2025-06-18");
        bench.upstream(&other).await;
    };
    tokio::join!(said, refused);
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert_eq!(bench.talk.upstream.restarts(), 1);
    assert!(bench.to_agent()[0].contains("the upstream server is not running"));
    assert_eq!(
        bench.talk.session.state().connection.upstream,
        Readiness::Down
    );
    // The next instance is isolated as well, and is asked again.
    bench.raise(0);
    Box::pin(bench.gate.upstream_restarted(&bench.talk)).await;
    assert_eq!(methods(&bench.to_upstream()), ["initialize"]);
    assert_eq!(bench.talk.session.place(), Place::At(Instance::ISOLATED[0]));
}

#[tokio::test]
async fn a_dead_isolated_server_refuses_everything_and_nothing_goes_back() {
    let bench = ready(&["read"]).await;
    bench.raise(SECRET);
    bench.agent_meanwhile(&call("1", "read"), &["read"]).await;
    Box::pin(bench.gate.upstream_died(&bench.talk))
        .await
        .unwrap();
    assert!(bench.to_agent()[0].contains("ended before it answered"));
    // Whatever would lower the level: the session has moved.
    bench.raise(0);
    bench.agent(&call("2", "read")).await;
    assert!(bench.to_agent()[0].contains("the upstream server is not running"));
    assert_eq!(bench.to_upstream(), [""; 0]);
    assert_eq!(bench.talk.session.place(), Place::At(Instance::ISOLATED[0]));
}

#[tokio::test]
async fn the_isolated_servers_tools_are_those_that_count() {
    let bench = ready(&["read", "upload"]).await;
    bench.raise(SECRET);
    let reached = bench.agent_meanwhile(&call("1", "upload"), &["read"]).await;
    assert!(
        !methods(&reached).contains(&"tools/call".to_owned()),
        "{reached:?}"
    );
    assert!(bench.to_agent()[0].contains("Unknown tool: upload"));
}

#[tokio::test]
async fn the_move_is_recorded_once_and_records_name_the_server_that_is_spoken_to() {
    let bench = ready(&["read"]).await;
    bench.raise(SECRET);
    bench.agent_meanwhile(&call("1", "read"), &["read"]).await;
    bench.agent(&call("2", "read")).await;
    let moves = bench.records_of("upstream_state").await;
    let moves = moves.iter().map(|it| it.get(&["event"]));
    assert_eq!(moves.collect::<Vec<_>>(), ["switched_to_isolated"]);
    for call in bench.records_of("tool_call").await {
        assert_eq!(call.get(&["upstream"]), "fixture (isolated)");
    }
    for list in bench.records_of("tools_list").await {
        assert_eq!(list.get(&["upstream"]), "fixture");
    }
}

#[tokio::test]
async fn what_is_given_up_with_a_server_is_recorded_under_its_name() {
    let bench = bench();
    bench.agent(INITIALIZE).await;
    bench.raise(SECRET);
    Box::pin(bench.gate.keep_apart(&bench.talk)).await.unwrap();
    assert!(bench.to_agent()[0].contains("error"));
    let records = bench.records().await;
    let of_handshake = records
        .iter()
        .filter(|it| it.get(&["method"]) == "initialize");
    let servers: Vec<_> = of_handshake.map(|it| it.get(&["upstream"])).collect();
    assert_eq!(servers, ["fixture", "fixture"]);
}

#[tokio::test]
async fn records_name_the_transports_of_the_agent_and_of_the_server_that_they_are_about() {
    let bench = Bench::with(open, |settings| {
        settings.thresholds = crate::session::Thresholds::new([SECRET]);
        settings.over_http = OverHttp::from_first([false, true]);
    });
    bench.shake_hands().await;
    bench.list(&["read"]).await;
    bench.agent(&call("1", "read")).await;
    let asked = id_of(&bench.to_upstream()[0]);
    bench.raise(SECRET);
    bench.agent_meanwhile(&call("2", "read"), &["read"]).await;
    bench.left(&result(&asked)).await;
    let records = bench.records().await;
    assert_eq!(records.last().unwrap().get(&["upstream"]), "fixture");
    for record in records {
        let expected = match &*record.get(&["upstream"]) {
            "fixture" => "stdio",
            _ => "http",
        };
        assert_eq!(record.get(&["transports", "upstream"]), expected);
        assert_eq!(record.get(&["transports", "agent"]), "stdio");
    }
}

/// What may happen in a session.
#[derive(Debug, Clone)]
enum Happens {
    Call(bool),
    Notify,
    Ping,
    Raise(i64),
    Reply,
    Asked,
    Expire,
    Died,
    Back,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => any::<bool>().prop_map(Happens::Call),
        1 => Just(Happens::Notify),
        1 => Just(Happens::Ping),
        2 => (0..=SECRET).prop_map(Happens::Raise),
        2 => Just(Happens::Reply),
        1 => Just(Happens::Asked),
        1 => Just(Happens::Expire),
        1 => Just(Happens::Died),
        1 => Just(Happens::Back),
    ]
}

proptest! {
    /// The law of isolation, at the place where lines leave.
    #[test]
    fn no_line_for_the_open_server_follows_a_message_that_found_the_session_too_sensitive(
        course in proptest::collection::vec(happens(), 1..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(Box::pin(run(course)));
    }
}

async fn run(course: Vec<Happens>) {
    let bench = ready(&["read", "write"]).await;
    let (mut id, mut level, mut has_moved, mut is_due) = (100, 0, false, false);
    let mut open: Vec<String> = Vec::new();
    for happens in course {
        id += 1;
        let said = match &happens {
            Happens::Call(read) => {
                Some(call(&id.to_string(), if *read { "read" } else { "write" }))
            }
            Happens::Notify => {
                Some(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#.to_owned())
            }
            Happens::Ping => Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)),
            Happens::Raise(to) => {
                // The level only rises.
                level = level.max(*to);
                bench.raise(level);
                None
            }
            Happens::Reply => {
                if let Some(asked) = open.pop() {
                    if bench.talk.session.place() == Place::At(Instance::OPEN) {
                        bench.upstream(&result(&asked)).await;
                    } else {
                        bench.left(&result(&asked)).await;
                    }
                }
                None
            }
            Happens::Asked => {
                let question = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nothing/such"}}"#);
                bench.upstream(&question).await;
                None
            }
            Happens::Expire => {
                bench.clock.advance(Duration::from_secs(40));
                bench.gate.expire(&bench.talk).await.unwrap();
                None
            }
            Happens::Died => {
                Box::pin(bench.gate.upstream_died(&bench.talk))
                    .await
                    .unwrap();
                None
            }
            Happens::Back => {
                Box::pin(bench.gate.upstream_restarted(&bench.talk)).await;
                None
            }
        };
        is_due |= said.is_some() && level >= SECRET;
        let reached = match said {
            Some(said) if level >= SECRET => bench.agent_meanwhile(&said, &["read", "write"]).await,
            Some(said) => {
                bench.agent(&said).await;
                bench.to_upstream()
            }
            None => bench.to_upstream(),
        };
        let mut reached = std::collections::VecDeque::from(reached);
        while let Some(line) = reached.pop_front() {
            if line == MOVED {
                assert!(!has_moved, "it moves once");
                has_moved = true;
                continue;
            }
            assert_eq!(has_moved, is_due, "{happens:?}: {line}");
            assert!(has_moved || level < SECRET, "{happens:?}: {line}");
            if !has_moved && line.contains("tools/call") {
                open.push(id_of(&line));
            }
            if !has_moved {
                bench.answer(&line, &["read", "write"]).await;
                reached.extend(bench.to_upstream());
            }
        }
    }
}

/// Keeps what others raise at some moment.
#[derive(Debug)]
struct Rising {
    /// How often it is asked before.
    after: usize,
    asked: AtomicU64,
}

impl Rising {
    fn now(&self) -> Arc<SessionSensitivity> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let level = if usize::try_from(asked).unwrap() < self.after {
            0
        } else {
            SECRET
        };
        Arc::new(SessionSensitivity {
            level,
            ..SessionSensitivity::default()
        })
    }
}

impl SessionStore for Rising {
    fn kept<'a>(&'a self, _: &'a SessionKey) -> Answer<'a, Kept> {
        Answer::Now(Ok(Kept::having_read(self.now())))
    }

    fn raise<'a>(&'a self, _: &'a SessionKey, _: &'a SessionSensitivity) -> Answer<'a, Raised> {
        Answer::Now(Ok(Raised::unchanged(&self.now())))
    }

    counts_nothing!();
}

/// A session whose level others raise after it was asked for so often.
fn rising(mut bench: Bench, after: usize) -> Bench {
    let store = Rising {
        after,
        asked: AtomicU64::new(0),
    };
    let session = Arc::into_inner(bench.talk.session).unwrap();
    let common = Whose::Common(SessionKey::of("somebody", None));
    bench.talk.session = Arc::new(session.reading_as(common));
    bench.gate = bench.gate.remembering(Arc::new(store));
    bench
}

#[tokio::test]
async fn whenever_another_session_raises_the_level_no_call_that_is_judged_by_it_reaches_the_open_server()
 {
    let mut places = Vec::new();
    for after in 0..8 {
        let bench = rising(ready(&["read"]).await, after);
        let reached = methods(&bench.agent_meanwhile(&call("1", "read"), &["read"]).await);
        let at = |wanted: &str| reached.iter().position(|it| it == wanted);
        let calls = bench.records_of("tool_call").await;
        let judged_at = calls[0].get(&["sensitivity", "before"]);
        // Of a public session records say nothing.
        let was_public = judged_at.is_empty() || judged_at == "PUBLIC";
        let is_open = at(MOVED).is_none_or(|moved| at("tools/call") < Some(moved));
        assert_eq!(is_open, was_public, "{after}: {judged_at} {reached:?}");
        places.push(is_open);
    }
    assert!(
        places.contains(&true) && places.contains(&false),
        "{places:?}"
    );
}

#[tokio::test]
async fn an_agent_that_has_listed_tools_is_told_if_those_of_the_isolated_server_are_others() {
    for (tools, told) in [
        (["read", "write"].as_slice(), false),
        (["write", "read"].as_slice(), false),
        (["read"].as_slice(), true),
        (["read", "write", "more"].as_slice(), true),
    ] {
        let bench = bench();
        bench.agent(INITIALIZE).await;
        let id = id_of(&bench.to_upstream()[0]);
        let tells = agreed(&id).replace(
            r#""capabilities":{}"#,
            r#""capabilities":{"tools":{"listChanged":true}}"#,
        );
        bench.upstream(&tells).await;
        bench.list(&["read", "write"]).await;
        bench.to_agent();
        bench.raise(SECRET);
        let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
        bench.agent_meanwhile(ping, tools).await;
        let heard = methods(&bench.to_agent());
        let expected = ["notifications/tools/list_changed"];
        assert_eq!(heard, &expected[..usize::from(told)], "{tools:?}");
    }
}

#[tokio::test]
async fn a_list_of_the_open_server_that_comes_late_says_nothing_of_the_isolated_one() {
    let bench = ready(&["read"]).await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":"late","method":"tools/list"}"#)
        .await;
    let asked = id_of(&bench.to_upstream()[0]);
    bench.raise(SECRET);
    let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    bench.agent_meanwhile(ping, &[]).await;
    bench
        .left(&format!(
            r#"{{"jsonrpc":"2.0","id":{asked},"result":{{"tools":[{{"name":"upload","inputSchema":{{"type":"object"}}}}]}}}}"#
        ))
        .await;
    assert!(bench.to_agent()[0].contains("upload"));
    let reached = bench.agent_meanwhile(&call("1", "upload"), &["read"]).await;
    assert!(
        !methods(&reached).contains(&"tools/call".to_owned()),
        "{reached:?}"
    );
    assert!(bench.to_agent()[0].contains("Unknown tool: upload"));
}
