//! What was read decides what may still leave.

use super::*;
use crate::policy::engines::cedar::Cedar;
use crate::policy::{EngineKind as _, Held, Labels, Permissions, ToolLabels};
use crate::session::{Answer, InMemory, Raised, RatchetKey, RatchetStore, StoreFault, Whose};

const CLOSED: &str = r#"@id("all") permit (principal, action, resource);
@id("closed") @code("session-sensitive") @advice("Connect in a new session.")
forbid (principal, action == Mcp::Action::"call_tool", resource in Mcp::Permission::"connect")
when { context.env.session.level >= 2 };"#;

const TOOLS: [&str; 4] = ["read", "fetch", "post", "note"];

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
    }
    Labels {
        tools,
        ..Labels::default()
    }
}

fn policies(text: &str) -> PolicySnapshot {
    let source = PolicySource {
        name: "p.cedar".into(),
        text: text.into(),
    };
    let sources = vec![source];
    let compiled = Cedar::default().compile(&sources).unwrap();
    PolicySnapshot::new(vec![compiled.engine], sources, compiled.policies).with_labels(labels())
}

/// A session that has listed its tools, under policies that close what connects.
async fn ready(bench: Bench) -> Bench {
    bench.gate.policy.publish(policies(CLOSED));
    bench.shake_hands().await;
    bench.list(&TOOLS).await;
    bench
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
    assert!(told.contains("session-sensitive") && told.contains("Connect in a new session."));
    // Also if nothing comes of it.
    let failed = format!(
        r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":1,"message":"no"}}}}"#,
        id_of(&asked[0])
    );
    bench.upstream(&failed).await;
    assert!(!passes(&bench, "post").await);
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
}

/// A gate that several benches share, with sessions of one key.
fn under_one_key(store: &Arc<dyn RatchetStore>) -> Bench {
    let mut bench = Bench::new(open);
    bench.gate = bench.gate.remembering(Arc::clone(store));
    let session = Arc::into_inner(bench.talk.session).unwrap();
    let key = RatchetKey::of("ada", Some("s-1"));
    bench.talk.session = Arc::new(session.reading_as(Whose::Common(key)));
    bench
}

#[tokio::test]
async fn sessions_of_one_key_have_read_what_any_of_them_has() {
    let store: Arc<dyn RatchetStore> = Arc::new(InMemory::default());
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

impl RatchetStore for Overtaken {
    fn held<'a>(&'a self, key: &'a RatchetKey) -> Answer<'a, Arc<Held>> {
        self.0.held(key)
    }

    fn raise<'a>(&'a self, key: &'a RatchetKey, by: &'a Held) -> Answer<'a, Raised> {
        let raised = async move {
            tokio::task::yield_now().await;
            self.0.raise(key, &Held::at(2)).get().await?;
            self.0.raise(key, by).get().await
        };
        Answer::Later(Box::pin(raised))
    }
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

/// Knows nothing, or keeps nothing.
#[derive(Debug)]
struct Failing {
    knows: bool,
}

impl RatchetStore for Failing {
    fn held<'a>(&'a self, _: &'a RatchetKey) -> Answer<'a, Arc<Held>> {
        let fault = StoreFault::new("the disk has gone");
        Answer::Now(if self.knows {
            Ok(Arc::default())
        } else {
            Err(fault)
        })
    }

    fn raise<'a>(&'a self, _: &'a RatchetKey, _: &'a Held) -> Answer<'a, Raised> {
        Answer::Now(Err(StoreFault::new("the disk has gone")))
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_read_and_whoever_asks_is_answered() {
    let bench = ready(under_one_key(&(Arc::new(Failing { knows: true }) as _))).await;
    bench.agent(&call("1", "read")).await;
    assert!(bench.to_upstream().is_empty());
    let told = bench.to_agent().remove(0);
    assert!(told.contains("-32603") && !told.contains("disk"), "{told}");
    let calls = bench.records_of("tool_call").await;
    assert_eq!(calls[0].get(&["reason", "code"]), "ratchet-fault");
    assert!(
        calls[0]
            .get(&["reason", "text"])
            .contains("the disk has gone")
    );
    // Where it is not known what was read, nothing passes at all.
    let bench = under_one_key(&(Arc::new(Failing { knows: false }) as _));
    bench.agent(INITIALIZE).await;
    assert!(bench.to_upstream().is_empty());
    assert!(bench.to_agent()[0].contains("-32603"));
}
