//! What was read decides what may still leave.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::*;
use crate::policy::engines::cedar::Cedar;
use crate::policy::{
    EngineKind as _, Labels, Permissions, Root, Roots, SessionSensitivity, ToolLabels,
};
use crate::session::{Answer, InMemory, Kept, Raised, SessionKey, SessionStore, StoreFault, Whose};

pub(super) const CLOSED: &str = r#"@id("all") permit (principal, action, resource);
@id("closed") @code("session_too_sensitive") @advice("Connect in a new session.")
forbid (principal, action == Mcp::Action::"call_tool", resource in Mcp::Permission::"connect")
when { context.env.session.level >= 2 };"#;

pub(super) const TOOLS: [&str; 4] = ["read", "fetch", "post", "note"];

fn labels() -> Labels {
    let may = |read, write, connect| Permissions {
        read,
        write,
        connect,
    };
    let tool = |name: &str, permissions, level| {
        let labels = ToolLabels {
            permissions,
            level,
            ..ToolLabels::default()
        };
        (name.to_owned(), labels)
    };
    let mut tools = HashMap::from([
        tool("read", may(true, false, false), 2),
        tool("fetch", may(true, false, true), 0),
        tool("post", may(false, true, true), 0),
        tool("note", may(false, true, false), 1),
    ]);
    if let Some(read) = tools.get_mut("read") {
        read.labels = vec!["pii".to_owned()];
        read.datasets = vec!["customers".to_owned()];
    }
    Labels {
        tools,
        ..Labels::default()
    }
}

pub(super) fn policies(text: &str) -> PolicySnapshot {
    let source = PolicySource::new("p.cedar", text);
    let sources = vec![source];
    let compiled = Cedar::default().compile(&sources).unwrap();
    PolicySnapshot::new(vec![compiled.engine], sources, compiled.policies)
        .with_labels(labels())
        .without_sampling_terms()
}

/// A session that has listed its tools, under policies that close what connects.
async fn ready(bench: Bench) -> Bench {
    bench.gate.policy.publish(policies(CLOSED));
    bench.shake_hands().await;
    bench.list(&TOOLS).await;
    bench
}

/// What the session has read.
fn held(bench: &Bench) -> Arc<SessionSensitivity> {
    Arc::clone(&bench.talk.session.state().security.held)
}

/// Whether a call reaches the server.
async fn passes(bench: &Bench, tool: &str) -> bool {
    bench.agent(&call("1", tool)).await;
    let sent = bench.to_upstream();
    let Some(line) = sent.first() else {
        bench.to_agent();
        return false;
    };
    bench.upstream(&result(&id_of(line))).await;
    bench.to_agent();
    true
}

#[tokio::test]
async fn in_every_order_nothing_connects_once_something_private_was_read() {
    let orders = [
        ["read", "fetch", "post"],
        ["read", "post", "fetch"],
        ["fetch", "read", "post"],
        ["fetch", "post", "read"],
        ["post", "read", "fetch"],
        ["post", "fetch", "read"],
    ];
    for order in orders {
        let bench = ready(Bench::new(open)).await;
        let mut read = false;
        for tool in order {
            assert_eq!(
                passes(&bench, tool).await,
                !read || tool == "read",
                "{order:?} {tool}"
            );
            read |= tool == "read";
        }
        // Not even after it was refused, and reading goes on.
        assert!(!passes(&bench, "post").await && passes(&bench, "read").await);
    }
}

#[tokio::test]
async fn it_is_the_call_that_raises_and_not_its_answer() {
    let bench = ready(Bench::new(open)).await;
    bench.agent(&call("1", "read")).await;
    let asked = bench.to_upstream();
    bench.agent(&call("2", "post")).await;
    assert!(bench.to_upstream().is_empty());
    let told = bench.to_agent().remove(0);
    assert!(told.contains("session_too_sensitive") && told.contains("Connect in a new session."));
    // Also if nothing comes of it.
    let failed = format!(
        r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":1,"message":"no"}}}}"#,
        id_of(&asked[0])
    );
    bench.upstream(&failed).await;
    assert!(!passes(&bench, "post").await);
}

#[tokio::test]
async fn what_names_a_data_set_adds_it_and_nothing_takes_it_away() {
    let on_datasets = format!(
        r#"{CLOSED}
forbid (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"note")
when {{ context.env.session.datasets.contains("customers") }};"#
    );
    let bench = ready(Bench::new(open)).await;
    bench.gate.policy.publish(policies(&on_datasets));
    assert!(passes(&bench, "note").await && held(&bench).datasets.is_empty());
    assert!(passes(&bench, "read").await);
    assert_eq!(held(&bench).datasets, ["customers".to_owned()].into());
    assert!(!passes(&bench, "note").await);
    // Labels of today add from now on; what was read stays.
    let mut others = labels();
    for (name, tool) in &mut others.tools {
        tool.datasets = vec![format!("of-{name}")];
    }
    let snapshot = policies(&on_datasets).with_labels(others);
    bench.gate.policy.publish(snapshot);
    assert!(!passes(&bench, "note").await && passes(&bench, "read").await);
    let all = ["customers".to_owned(), "of-read".to_owned()];
    assert_eq!(held(&bench).datasets, all.into());
}

#[tokio::test]
async fn a_call_that_is_denied_raises_nothing() {
    let bench = ready(Bench::new(open)).await;
    let denying = format!(
        "{CLOSED}\nforbid (principal, action == Mcp::Action::\"call_tool\", resource == Mcp::Tool::\"read\");"
    );
    bench.gate.policy.publish(policies(&denying));
    assert!(!passes(&bench, "read").await);
    assert!(passes(&bench, "post").await);
}

#[tokio::test]
async fn records_say_how_sensitive_the_session_was_and_became() {
    let bench = ready(Bench::new(open)).await;
    for tool in ["post", "note", "read", "post"] {
        passes(&bench, tool).await;
    }
    let calls = bench.records_of("tool_call").await;
    let said = |at: usize| {
        let of = |when| calls[at].get(&["sensitivity", when]);
        [of("before"), of("after")]
    };
    assert_eq!(said(0), ["", ""]);
    assert_eq!(said(1), ["PUBLIC", "INTERNAL"]);
    assert_eq!(said(2), ["INTERNAL", "CONFIDENTIAL"]);
    assert_eq!(said(3), ["CONFIDENTIAL", "CONFIDENTIAL"]);
    let told = |at: usize| calls[at].text().contains("datasets");
    assert!(!told(1));
    let has = |at: usize, members: &str| calls[at].text().contains(members);
    let read = r#""after":"CONFIDENTIAL","datasets":["customers"]"#;
    assert!(has(2, &format!(r#"{read},"added":["customers"]}}"#)));
    assert!(has(3, &format!("{read}}}")));
}

/// One of several that share what is remembered.
fn sharing(store: &Arc<dyn SessionStore>, whose: Whose) -> Bench {
    let mut bench = Bench::new(open);
    bench.gate = bench.gate.remembering(Arc::clone(store));
    let session = Arc::into_inner(bench.talk.session).unwrap();
    bench.talk.session = Arc::new(session.reading_as(whose));
    bench
}

fn under_one_key(store: &Arc<dyn SessionStore>) -> Bench {
    sharing(store, Whose::Common(SessionKey::of("ada", Some("s-1"))))
}

#[tokio::test]
async fn sessions_of_one_key_have_read_what_any_of_them_has() {
    let store: Arc<dyn SessionStore> = Arc::new(InMemory::default());
    let one = ready(under_one_key(&store)).await;
    let other = ready(under_one_key(&store)).await;
    assert!(passes(&other, "post").await);
    assert!(passes(&one, "read").await);
    assert!(!passes(&other, "post").await);
    // One that begins anew is none the less.
    let later = ready(under_one_key(&store)).await;
    assert!(!passes(&later, "fetch").await);
    let mut stranger = Bench::new(open);
    stranger.gate = stranger.gate.remembering(Arc::clone(&store));
    assert!(passes(&ready(stranger).await, "fetch").await);
}

#[tokio::test]
async fn what_a_principal_read_outside_of_its_sessions_counts_in_each_of_them() {
    let store: Arc<dyn SessionStore> = Arc::new(InMemory::default());
    let ada = || SessionKey::of("ada", None);
    let session = || sharing(&store, Whose::OwnAnd(ada()));
    let [one, other] = [ready(session()).await, ready(session()).await];
    // What is read in a session stays there.
    assert!(passes(&one, "read").await && !passes(&one, "post").await);
    assert!(passes(&other, "post").await);
    let outside = ready(sharing(&store, Whose::Common(ada()))).await;
    assert!(passes(&outside, "post").await && passes(&outside, "read").await);
    // In one that is open, and in one that begins.
    assert!(!passes(&other, "post").await);
    assert!(!passes(&ready(session()).await, "fetch").await);
    let calls = other.records_of("tool_call").await;
    assert_eq!(calls[1].get(&["sensitivity", "before"]), "CONFIDENTIAL");
    let somebody = Whose::OwnAnd(SessionKey::of("eve", None));
    assert!(passes(&ready(sharing(&store, somebody)).await, "post").await);
}

#[tokio::test]
async fn where_the_session_has_no_name_everything_was_read() {
    let mut bench = Bench::new(open);
    let session = Arc::into_inner(bench.talk.session).unwrap();
    bench.talk.session = Arc::new(session.reading_as(Whose::Unnamed));
    let bench = ready(bench).await;
    assert!(!passes(&bench, "post").await && passes(&bench, "read").await);
    let calls = bench.records_of("tool_call").await;
    assert_eq!(calls[1].get(&["sensitivity", "before"]), "SECRET");
}

/// Somebody else reads while a call is judged.
#[derive(Debug)]
struct Overtaken(InMemory);

impl SessionStore for Overtaken {
    fn kept<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, Kept> {
        self.0.kept(key)
    }

    fn raise<'a>(&'a self, key: &'a SessionKey, by: &'a SessionSensitivity) -> Answer<'a, Raised> {
        let raised = async move {
            tokio::task::yield_now().await;
            self.0.raise(key, &SessionSensitivity::at(2)).get().await?;
            self.0.raise(key, by).get().await
        };
        Answer::Later(Box::pin(raised))
    }

    counts_nothing!();
}

#[tokio::test]
async fn a_call_that_was_overtaken_is_judged_again_by_what_was_read_before_it() {
    let bench = ready(under_one_key(
        &(Arc::new(Overtaken(InMemory::default())) as _),
    ))
    .await;
    // It is untrusted, and so raises.
    assert!(!passes(&bench, "fetch").await);
    let calls = bench.records_of("tool_call").await;
    assert_eq!(calls[0].get(&["sensitivity", "before"]), "CONFIDENTIAL");
}

/// Has been raised by another message whenever one is judged, and keeps nothing.
#[derive(Debug, Default)]
struct Restless(AtomicU32);

impl SessionStore for Restless {
    fn kept<'a>(&'a self, _: &'a SessionKey) -> Answer<'a, Kept> {
        Answer::Now(Ok(Kept::default()))
    }

    fn raise<'a>(&'a self, _: &'a SessionKey, _: &'a SessionSensitivity) -> Answer<'a, Raised> {
        let label = self.0.fetch_add(1, SeqCst).to_string();
        Answer::Now(Ok(Raised {
            before: Arc::new(SessionSensitivity {
                labels: [label].into_iter().collect(),
                ..SessionSensitivity::default()
            }),
            after: Arc::default(),
        }))
    }

    counts_nothing!();
}

#[tokio::test]
async fn a_request_that_is_overtaken_again_and_again_is_refused() {
    let store = Arc::new(Restless::default());
    let bench = ready(under_one_key(&(Arc::clone(&store) as _))).await;
    store.0.store(0, SeqCst);
    bench.agent(&call("1", "read")).await;
    assert!(bench.to_upstream().is_empty());
    assert!(bench.to_agent()[0].contains("-32603"));
    assert_eq!(store.0.load(SeqCst), 6);
    let calls = bench.records_of("tool_call").await;
    assert_eq!(
        calls[0].get(&["reason", "code"]),
        "session_store_unavailable"
    );
}

/// Knows nothing, or keeps nothing.
#[derive(Debug)]
struct Failing {
    knows: bool,
}

impl SessionStore for Failing {
    fn kept<'a>(&'a self, _: &'a SessionKey) -> Answer<'a, Kept> {
        let fault = StoreFault::new("the disk has gone");
        Answer::Now(if self.knows {
            Ok(Kept::default())
        } else {
            Err(fault)
        })
    }

    fn raise<'a>(&'a self, _: &'a SessionKey, _: &'a SessionSensitivity) -> Answer<'a, Raised> {
        Answer::Now(Err(StoreFault::new("the disk has gone")))
    }

    counts_nothing!();
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_read_and_the_request_is_answered() {
    let bench = ready(under_one_key(&(Arc::new(Failing { knows: true }) as _))).await;
    bench.agent(&call("1", "read")).await;
    assert!(bench.to_upstream().is_empty());
    let told = bench.to_agent().remove(0);
    assert!(told.contains("-32603") && !told.contains("disk"), "{told}");
    let calls = bench.records_of("tool_call").await;
    assert_eq!(
        calls[0].get(&["reason", "code"]),
        "session_store_unavailable"
    );
    assert!(
        calls[0]
            .get(&["reason", "text"])
            .contains("the disk has gone")
    );
    // Where it is not known what was read, nothing passes at all.
    let ada = || SessionKey::of("ada", None);
    for whose in [Whose::Common(ada()), Whose::OwnAnd(ada())] {
        let bench = sharing(&(Arc::new(Failing { knows: false }) as _), whose);
        bench.agent(INITIALIZE).await;
        assert!(bench.to_upstream().is_empty());
        assert!(bench.to_agent()[0].contains("-32603"));
    }
}

#[tokio::test]
async fn a_result_whose_level_cannot_be_kept_is_neither_delivered_nor_recorded() {
    let mut bench = under_one_key(&(Arc::new(Failing { knows: true }) as _));
    bench.gate.settings.results = RecordedResults::Redacted;
    let bench = ready(bench).await;
    let unlabelled = policies(TELLING).with_labels(Labels::default());
    bench.gate.policy.publish(unlabelled);
    bench.agent(&call("1", "post")).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench.to_agent();
    bench.upstream(&result(&id)).await;
    assert!(bench.to_agent().iter().all(|it| it.contains("error")));
    let results = bench.records_of("tool_result").await;
    assert_eq!(results[0].get(&["decision"]), "ERROR");
    assert!(!results[0].text().contains("\"result\""), "{results:?}");
}

const TELLING: &str = r#"@id("all") permit (principal, action, resource);
@id("private") @raise_sensitivity("confidential") @add_label("pii finance")
permit (principal, action == Mcp::Action::"call_tool", resource == Mcp::Tool::"note");
@id("strangers") @raise_sensitivity("untrusted")
permit (principal, action == Mcp::Action::"receive_result", resource == Mcp::Tool::"post");
@id("closed")
forbid (principal, action == Mcp::Action::"call_tool", resource in Mcp::Permission::"connect")
when { context.env.session.labels.contains("finance") || context.env.session.untrusted };"#;

#[tokio::test]
async fn policies_raise_it_by_what_they_oblige_to() {
    let bench = ready(Bench::new(open)).await;
    let unlabelled = |text| policies(text).with_labels(Labels::default());
    bench.gate.policy.publish(unlabelled(TELLING));
    assert!(passes(&bench, "note").await && !passes(&bench, "post").await);
    let calls = bench.records_of("tool_call").await;
    assert_eq!(calls[0].get(&["sensitivity", "after"]), "CONFIDENTIAL");
    assert!(calls[0].text().contains("raise: confidential"));
    // By what comes back as well.
    let bench = ready(Bench::new(open)).await;
    bench.gate.policy.publish(unlabelled(TELLING));
    assert!(passes(&bench, "post").await && !passes(&bench, "post").await);
}

fn looking(received: Treatment) -> Bench {
    Bench::with(open, |settings| {
        settings.terms.guards.secrets = Some(Secrets {
            sent: super::super::Level::Off,
            received,
            rules: Arc::new(crate::guard::secrets::SecretRules::builtin()),
        });
    })
}

#[tokio::test]
async fn a_credential_that_comes_raises_it_before_it_is_delivered() {
    // One letter is apart, so that nobody who searches for credentials finds one here.
    let token = format!("{}hp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", 'g');
    for (received, level) in [
        (Treatment::Off, 0),
        (Treatment::Warn, 3),
        (Treatment::Redact, 0),
    ] {
        let bench = ready(looking(received)).await;
        bench.agent(&call("1", "post")).await;
        let id = id_of(&bench.to_upstream()[0]);
        bench
            .upstream(&result(&id).replace("\"x\"", &format!("\"{token}\"")))
            .await;
        let held = Arc::clone(&bench.talk.session.state().security.held);
        assert_eq!(held.level, level, "{received:?}");
        let labels: Vec<&str> = held.labels.iter().map(String::as_str).collect();
        let expected: &[&str] = if received == Treatment::Off {
            &[]
        } else {
            &["credentials"]
        };
        assert_eq!(labels, expected, "{received:?}");
        assert_eq!(passes(&bench, "post").await, level < 2);
    }
}

/// The same, with a place of confidential files.
fn with_a_place(text: &str) -> PolicySnapshot {
    let mut root = Root::at("hr", "/srv/hr").unwrap();
    root.level = 2;
    root.labels = vec!["pii".to_owned()];
    policies(text).with_labels(Labels {
        roots: Roots::new(vec![root]),
        ..labels()
    })
}

#[tokio::test]
async fn what_a_result_holds_of_a_labelled_place_raises_it_before_it_is_delivered() {
    let held_back = format!(
        "{CLOSED}\nforbid (principal, action == Mcp::Action::\"receive_result\", resource) \
         when {{ context.result.level >= 2 && context.result.labels.contains(\"pii\") }};"
    );
    let embedded = |uri: &str| {
        format!(r#""content":[{{"type":"resource","resource":{{"uri":"{uri}","text":"word"}}}}]"#)
    };
    let link = r#""content":[{"type":"resource_link","uri":"file:///srv/hr/pay","name":"word"}]"#;
    let contents = r#""contents":[{"uri":"file:///srv/hr/pay","text":"word"}]"#;
    for (content, level) in [
        (embedded("file:///srv/hr/pay"), 2),
        (embedded("FILE://localhost/srv/x/../hr/pay"), 2),
        (contents.to_owned(), 2),
        (embedded("file:///srv/hr/../pay"), 0),
        (embedded("ui://chart"), 0),
        (embedded("no place"), 0),
        (link.to_owned(), 0),
    ] {
        for (text, arrives) in [(CLOSED, true), (&*held_back, level < 2)] {
            let bench = ready(Bench::new(open)).await;
            bench.gate.policy.publish(with_a_place(text));
            bench.agent(&call("1", "post")).await;
            let id = id_of(&bench.to_upstream()[0]);
            let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{content}}}}}"#);
            bench.upstream(&reply).await;
            let told = bench.to_agent().concat();
            assert_eq!(told.contains("word"), arrives, "{content} {told}");
            if arrives {
                let held = Arc::clone(&bench.talk.session.state().security.held);
                assert_eq!(held.level, level, "{content}");
                assert_eq!(held.labels.contains("pii"), level == 2, "{content}");
                assert_eq!(passes(&bench, "post").await, level < 2, "{content}");
            }
        }
    }
}

#[tokio::test]
async fn what_a_question_of_the_servers_has_of_a_labelled_place_raises_it_before_it_is_delivered() {
    let message = |content: &str| {
        format!(r#"{{"messages":[{{"role":"user","content":{content}}}],"maxTokens":1}}"#)
    };
    let text = r#"{"type":"text","text":"file:///srv/hr/pay"}"#;
    let embedded = r#"{"type":"resource","resource":{"uri":"file:///srv/hr/pay","text":"word"}}"#;
    let link = r#"{"type":"resource_link","uri":"file:///srv/hr/pay","name":"word"}"#;
    let in_result = format!(r#"{{"type":"tool_result","toolUseId":"t","content":[{embedded}]}}"#);
    let elsewhere = embedded.replace("/hr/", "/public/");
    for (params, level) in [
        (message(embedded), 2),
        (message(link), 2),
        (message(&format!("[{text},{embedded}]")), 2),
        (message(&in_result), 2),
        (message(text), 0),
        (message(&elsewhere), 0),
    ] {
        for within in [false, true] {
            let bench = Bench::new(open);
            bench.gate.policy.publish(with_a_place(CLOSED));
            bench
                .agent(&INITIALIZE.replace(r#""roots":{}"#, r#""sampling":{}"#))
                .await;
            let id = id_of(&bench.to_upstream()[0]);
            bench
                .upstream(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
                ))
                .await;
            bench.to_agent();
            bench.list(&TOOLS).await;
            if within {
                bench.agent(&call("1", "post")).await;
                let id = id_of(&bench.to_upstream()[0]);
                bench
                    .upstream(&format!(
                        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"sampling/createMessage","params":{params}}}}}}}}}"#
                    ))
                    .await;
            } else {
                bench
                    .upstream(&format!(
                        r#"{{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{params}}}"#
                    ))
                    .await;
            }
            let told = bench.to_agent().concat();
            assert!(told.contains("maxTokens"), "{params} {told}");
            let held = Arc::clone(&bench.talk.session.state().security.held);
            assert_eq!(held.level, level, "{within} {params}");
            assert_eq!(held.labels.contains("pii"), level == 2, "{within} {params}");
        }
    }
}

#[tokio::test]
async fn to_complete_a_template_that_reaches_a_labelled_place_raises_it_before_it_is_sent() {
    for (template, level) in [
        ("file:///srv/{path}", 2),
        ("file:///{+path}", 2),
        ("file:///srv/hr/{name}", 2),
        // What could be any URI is as sensitive as any, and always was.
        ("{+uri}", 3),
        ("file:///srv/public/{name}", 0),
        ("notes://{team}/a", 2),
        ("notes://team/{name}", 0),
    ] {
        let bench = ready(Bench::new(open)).await;
        bench.gate.policy.publish(with_a_place(CLOSED));
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{{"ref":{{"type":"ref/resource","uri":"{template}"}},"argument":{{"name":"path","value":"h"}}}}}}"#
            ))
            .await;
        assert_eq!(bench.to_upstream().len(), 1, "{template}");
        let held = Arc::clone(&bench.talk.session.state().security.held);
        assert_eq!(held.level, level, "{template}");
        assert_eq!(held.labels.contains("pii"), level >= 2, "{template}");
    }
}

#[tokio::test]
async fn a_result_is_as_sensitive_as_what_was_read() {
    let bench = ready(Bench::new(open)).await;
    let held_back = format!(
        "{CLOSED}\nforbid (principal, action == Mcp::Action::\"receive_result\", resource) \
         when {{ context.result.level >= 2 && context.result.labels.contains(\"pii\") }};"
    );
    bench.gate.policy.publish(policies(&held_back));
    for (tool, arrives) in [("note", true), ("read", false)] {
        bench.agent(&call("1", tool)).await;
        let id = id_of(&bench.to_upstream()[0]);
        bench.upstream(&result(&id)).await;
        assert_eq!(bench.to_agent()[0].contains("content"), arrives, "{tool}");
    }
}

/// A session whose server tells when lists change, and that has listed its tools.
async fn told_of_changes(mut bench: Bench, text: &str) -> Bench {
    bench = closing(bench, text);
    bench.agent(INITIALIZE).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{"listChanged":true}},"prompts":{{"listChanged":true}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        ))
        .await;
    bench
        .agent(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    bench
        .agent(r#"{"jsonrpc":"2.0","id":"p","method":"prompts/list"}"#)
        .await;
    let id = id_of(bench.to_upstream().last().unwrap());
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"prompts":[]}}}}"#
        ))
        .await;
    bench.to_agent();
    assert_eq!(listed(&bench).await, TOOLS);
    bench
}

/// Policies beside which the host says that nothing connects from level 2 on.
fn closing(bench: Bench, text: &str) -> Bench {
    let labels = Labels {
        closed_from: Some(2),
        ..labels()
    };
    bench
        .gate
        .policy
        .publish(policies(text).with_labels(labels));
    bench
}

async fn listed(bench: &Bench) -> Vec<&'static str> {
    let shown = bench.list(&TOOLS).await;
    let named = |name: &&str| shown.contains(&format!(r#""name":"{name}""#));
    TOOLS.into_iter().filter(named).collect()
}

/// What an agent hears while it calls a tool that is answered.
async fn hears(bench: &Bench, tool: &str) -> Vec<String> {
    bench.agent(&call("1", tool)).await;
    let sent = bench.to_upstream();
    if let Some(line) = sent.first() {
        bench.upstream(&result(&id_of(line))).await;
    }
    let told = bench.to_agent();
    let news = told.iter().filter_map(|line| {
        let (_, news) = line.split_once(r#""method":"notifications/"#)?;
        Some(news.trim_end_matches(['"', '}']).to_owned())
    });
    news.collect()
}

#[tokio::test]
async fn what_is_closed_is_listed_no_more_and_the_agent_is_told_so() {
    let bench = told_of_changes(Bench::new(open), CLOSED).await;
    assert_eq!(hears(&bench, "note").await, [""; 0], "level 1");
    assert_eq!(hears(&bench, "read").await, ["tools/list_changed"]);
    assert_eq!(listed(&bench).await, ["read", "note"]);
    let records = bench.records().await;
    let removed = records
        .iter()
        .filter(|it| it.text().contains("closed by what the session"));
    assert_eq!(removed.count(), 1);
    // Once, and a call is still told why.
    assert_eq!(hears(&bench, "read").await, [""; 0]);
    bench.agent(&call("1", "post")).await;
    let told = bench.to_agent().remove(0);
    assert!(told.contains("session_too_sensitive"), "{told}");
}

#[tokio::test]
async fn an_agent_is_told_of_what_another_session_of_its_key_has_read() {
    let store: Arc<dyn SessionStore> = Arc::new(InMemory::default());
    let one = told_of_changes(under_one_key(&store), CLOSED).await;
    let other = told_of_changes(under_one_key(&store), CLOSED).await;
    assert_eq!(hears(&one, "read").await, ["tools/list_changed"]);
    assert_eq!(hears(&other, "note").await, ["tools/list_changed"]);
    assert_eq!(hears(&other, "note").await, [""; 0]);
}

#[tokio::test]
async fn where_policies_on_lists_look_at_the_level_the_agent_is_told_of_all_that_may_differ() {
    let hiding = format!(
        "{CLOSED}\nforbid (principal, action == Mcp::Action::\"list_tool\", resource == Mcp::Tool::\"note\") \
         when {{ context.env.session.level >= 1 }};\n\
         forbid (principal, action == Mcp::Action::\"list_prompt\", resource == Mcp::Prompt::\"p\") \
         when {{ context.env.session.level >= 1 }};"
    );
    let bench = told_of_changes(Bench::new(open), &hiding).await;
    assert_eq!(
        hears(&bench, "note").await,
        ["tools/list_changed", "prompts/list_changed"]
    );
    assert_eq!(listed(&bench).await, ["read", "fetch", "post"]);
}

/// What policies on uses, and not on lists, say of what was read.
const USES: &str = r#"
permit (principal, action, resource);
@id("no-posts")
forbid (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"post")
when { context.env.session.level >= 1 };
@id("no-notes-but")
forbid (principal, action in Mcp::Action::"call_tool", resource == Mcp::Tool::"note")
when { context.env.session.labels.contains("pii") }
unless { context.targets.bytes < 3 };
"#;

#[tokio::test]
async fn what_no_call_is_permitted_of_by_what_was_read_is_listed_no_more_and_the_agent_is_told_so()
{
    let bench = told_of_changes(Bench::new(open), USES).await;
    // Prompts are none the other ones for it.
    assert_eq!(hears(&bench, "note").await, ["tools/list_changed"]);
    assert_eq!(listed(&bench).await, ["read", "fetch", "note"]);
    assert_eq!(hears(&bench, "note").await, [""; 0], "once");
    // A call is still told why.
    bench.agent(&call("1", "post")).await;
    let told = bench.to_agent().remove(0);
    assert!(told.contains("4030"), "{told}");
    let records = bench.records_of("tool_call").await;
    let record = records.last().unwrap().text();
    assert!(record.contains("no-posts"), "{record}");
}

#[tokio::test]
async fn agents_without_sessions_are_listed_no_closed_tools_either() {
    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    for (level, shown) in [(1, 4), (2, 2)] {
        let bench = closing(Bench::new(open), CLOSED);
        bench.talk.session.state().security.held = Arc::new(SessionSensitivity::at(level));
        bench
            .agent(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#
            ))
            .await;
        let id = id_of(&bench.to_upstream()[0]);
        let tools = TOOLS.map(|name| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#));
        bench
            .upstream(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[{}]}}}}"#,
                tools.join(",")
            ))
            .await;
        let list = bench.to_agent().remove(0);
        assert_eq!(list.matches(r#""name""#).count(), shown, "{list}");
        // Nor may an earlier list be kept.
        assert!(list.contains(r#""ttlMs":0"#), "{list}");
    }
}

#[tokio::test]
async fn what_the_bridge_settles_raises_the_level_like_everything_else() {
    let text = r#"permit (principal, action, resource);
@id("private") @raise_sensitivity("confidential")
permit (principal, action == Mcp::Action::"subscribe", resource);"#;
    let bench = ready(Bench::new(open)).await;
    bench.gate.policy.publish(policies(text));
    let source = Source::on(crate::wire::Stream::MAIN);
    let frame =
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#;
    let spoken = crate::session::Spoken::default();
    let settled = bench.gate.settle_here(
        &bench.talk,
        source,
        frame.as_bytes(),
        &spoken,
        crate::gate::AnswerHere::Empty,
    );
    assert_eq!(Box::pin(settled).await.unwrap(), Settled::Done);
    assert_eq!(bench.talk.session.state().security.held.level, 2);
    let last = bench.records().await.pop().unwrap();
    assert_eq!(last.get(&["sensitivity", "after"]), "CONFIDENTIAL");
}

/// A request of an agent without a session that knows tasks.
fn modern(id: &str, method: &str, members: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/tasks":{{}}}}}}}}}}}}"#
    )
}

async fn modern_list(bench: &Bench) {
    bench.agent(&modern("9", "tools/list", "")).await;
    let id = id_of(&bench.to_upstream()[0]);
    let tools = TOOLS.map(|name| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#));
    let tools = tools.join(",");
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","tools":[{tools}]}}}}"#
        ))
        .await;
    bench.to_agent();
}

#[tokio::test]
async fn what_a_task_has_read_closes_each_session_that_asks_for_its_output() {
    let mut bench = Bench::new(open);
    bench.gate.policy.publish(policies(CLOSED));
    modern_list(&bench).await;
    let post = |id: &str| modern(id, "tools/call", r#""name":"post","arguments":{},"#);
    let read = modern("1", "tools/call", r#""name":"read","arguments":{},"#);
    bench.agent(&read).await;
    let id = id_of(&bench.to_upstream()[0]);
    bench
        .upstream(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"task","taskId":"t-1","status":"working","ttlMs":60000}}}}"#
        ))
        .await;
    // Before there is any output.
    bench.agent(&post("2")).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
    // Another session of the same agent.
    let session = Session::new(SessionId::from_random(8), "stdio", Server::default(), 0);
    bench.talk = Talk::new(session, Recorder::default(), Recorder::default());
    modern_list(&bench).await;
    bench.agent(&post("3")).await;
    assert_eq!(bench.to_upstream().len(), 1);
    let output = modern("4", "tasks/get", r#""taskId":"t-1","#);
    bench.agent(&output).await;
    assert_eq!(bench.to_upstream().len(), 1);
    bench.agent(&post("5")).await;
    assert_eq!(bench.to_upstream(), [""; 0]);
}

#[tokio::test]
async fn who_comes_when_all_places_are_taken_is_told_that_and_not_what_it_has_not_read() {
    let store: Arc<dyn SessionStore> = Arc::new(InMemory::holding(1));
    let first = ready(under_one_key(&store)).await;
    assert!(passes(&first, "note").await);
    let other = Whose::Common(SessionKey::of("bob", Some("s-2")));
    let denying = format!(
        "{CLOSED}\nforbid (principal, action == Mcp::Action::\"call_tool\", resource == Mcp::Tool::\"note\");"
    );
    let late = ready(sharing(&store, other)).await;
    late.gate.policy.publish(policies(&denying));
    // By what it has read it could.
    for (id, tool, reason) in [
        ("1", "post", "session_store_full"),
        ("2", "note", "forbidden"),
    ] {
        late.agent(&call(id, tool)).await;
        assert_eq!(late.to_upstream(), Vec::<String>::new());
        let told = late.to_agent().remove(0);
        assert_eq!(
            told.contains("session_store_full"),
            reason == "session_store_full",
            "{told}"
        );
        let record = late.records_of("tool_call").await.pop().unwrap();
        assert_eq!(record.get(&["reason", "code"]), reason);
    }
    assert!(passes(&late, "read").await, "what nobody closes stays open");
    // Whoever has a place is told what it always was.
    assert!(passes(&first, "read").await);
    first.agent(&call("9", "post")).await;
    assert!(first.to_agent()[0].contains("session_too_sensitive"));
}
