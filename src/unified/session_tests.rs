//! One agent before three servers, message by message.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::session::{InboxMessage, Settings, UnifiedSession};
use crate::gate::{Agent, AgentGone, Carried, Permit, Source};
use crate::mailbox::{Receiver, mailbox};
use crate::policy::ServerKey;
use crate::wire::{ArrivalForm, KnownMethod, Limits, Message, Stream};

const PLACES: usize = 4;

/// Keeps what it gets, with the stream of each.
#[derive(Clone, Default)]
pub(super) struct Delivered(Arc<Mutex<Vec<(u64, Value)>>>);

impl Agent for Delivered {
    async fn deliver(&self, permit: Permit) -> Result<(), AgentGone> {
        let stream = permit.passage().stream.number();
        let message = permit.line().parse().unwrap();
        self.0.lock().unwrap().push((stream, message));
        Ok(())
    }
}

/// The inbox of one more server.
pub(super) fn joined(
    unified: &UnifiedSession<Delivered>,
    key: ServerKey,
) -> Receiver<Box<InboxMessage>> {
    let (sender, inbox) = mailbox(PLACES);
    unified.join(key, sender);
    inbox
}

pub(super) struct Rig {
    pub(super) unified: UnifiedSession<Delivered>,
    told: Delivered,
    pub(super) inboxes: Vec<Receiver<Box<InboxMessage>>>,
}

impl Rig {
    pub(super) fn new(is_stateless: bool) -> Self {
        let keys = ["crm", "mail", "web"].map(|key| ServerKey::of(key).unwrap());
        let settings = Settings {
            aliases: Arc::new([]),
            view: None,
            limits: Limits::default(),
            merge_timeout: Duration::from_secs(5),
            is_stateless,
        };
        let told = Delivered::default();
        let unified = UnifiedSession::new(settings, told.clone());
        let inboxes = keys.into_iter().map(|key| joined(&unified, key)).collect();
        Self {
            unified,
            told,
            inboxes,
        }
    }

    /// After `initialize`, which all servers have answered.
    pub(super) async fn greeted() -> Self {
        let mut rig = Self::new(false);
        rig.ask(
            0,
            json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}),
        );
        for server in 0..3 {
            rig.reply(
                server,
                0,
                json!({"id": 0, "result": {"protocolVersion": "2025-11-25", "capabilities": {}}}),
            )
            .await;
        }
        assert_eq!(rig.told().len(), 1);
        for server in 0..3 {
            assert_eq!(rig.got(server).len(), 1);
        }
        rig
    }

    /// The reason of a refusal, or nothing.
    pub(super) fn ask(&self, stream: u64, message: Value) -> Option<&'static str> {
        let line = whole(message).to_string();
        let source = Source::on(Stream::numbered(stream));
        let refused = self.unified.route(source, line.as_bytes()).err();
        refused.map(|refusal| refusal.reason())
    }

    pub(super) async fn reply(&self, server: usize, stream: u64, message: Value) {
        let error = message.pointer("/error/code").and_then(Value::as_i64);
        let form = ArrivalForm::Whole;
        self.say(server, stream, message, Carried::Reply { error, form })
            .await;
    }

    pub(super) async fn tell(&self, server: usize, stream: u64, message: Value) {
        let method = message["method"].as_str().and_then(KnownMethod::from_name);
        let carried = Carried::Notification {
            method: method.unwrap(),
            ends: None,
            revision: None,
        };
        self.say(server, stream, message, carried).await;
    }

    async fn say(&self, server: usize, stream: u64, message: Value, carried: Carried) {
        let line = whole(message).to_string();
        let permit = Permit::for_test(line, Stream::numbered(stream), carried);
        self.unified.deliver(server, permit).await.unwrap();
    }

    /// Lets time pass, in which deadlines come.
    pub(super) async fn pass(&self, time: Duration) {
        let passing = tokio::time::timeout(time, self.unified.keep_time());
        assert!(passing.await.is_err());
    }

    pub(super) fn told(&self) -> Vec<(u64, Value)> {
        std::mem::take(&mut self.told.0.lock().unwrap())
    }

    /// What has come for a server: the method of each message, or what became of a stream.
    pub(super) fn got(&mut self, server: usize) -> Vec<String> {
        let mut got = Vec::new();
        let inbox = &mut self.inboxes[server];
        while let Some(Some(inward)) = now(inbox.recv()) {
            got.push(match *inward {
                InboxMessage::Frame(_, bytes) => method(&bytes),
                InboxMessage::HungUp(stream) => format!("hung up {}", stream.number()),
                InboxMessage::Unheard(minted) => format!("unheard {minted}"),
            });
        }
        got
    }
}

fn whole(mut message: Value) -> Value {
    message["jsonrpc"] = json!("2.0");
    message
}

fn method(bytes: &Bytes) -> String {
    let message = Message::decode(bytes, &Limits::default()).unwrap();
    let method = message.method().map(|it| it.name().to_owned());
    method.unwrap_or_else(|| "reply".to_owned())
}

fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    let waker = std::task::Waker::noop();
    match future
        .as_mut()
        .poll(&mut std::task::Context::from_waker(waker))
    {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

fn tools(name: &str) -> Value {
    json!({"tools": [{"name": name}]})
}

#[tokio::test(start_paused = true)]
async fn what_a_server_leaves_unanswered_is_yielded_and_others_answer_for_themselves() {
    let rig = Rig::greeted().await;
    assert_eq!(
        rig.ask(
            0,
            json!({"id": 1, "method": "tools/call", "params": {"name": "web__a"}})
        ),
        None
    );
    assert_eq!(rig.ask(0, json!({"id": 2, "method": "tools/list"})), None);
    for server in 0..2 {
        rig.reply(server, 0, json!({"id": 2, "result": tools("a")}))
            .await;
    }
    assert_eq!(rig.told(), []);
    let unanswered = rig.unified.ended(2).await.unwrap();
    let ids: Vec<&str> = unanswered.iter().map(|it| it.id.json()).collect();
    assert_eq!(ids, ["1"]);
    let told = rig.told();
    assert_eq!(told.len(), 1);
    let result = &told[0].1["result"];
    assert_eq!(
        result["tools"],
        json!([{"name": "crm__a"}, {"name": "mail__a"}])
    );
    assert_eq!(result["_meta"]["mcp-protector/unavailable"], json!(["web"]));
    // Its ids are free again, and it gets nothing more.
    assert_eq!(
        rig.ask(
            0,
            json!({"id": 1, "method": "tools/call", "params": {"name": "web__a"}})
        ),
        Some("upstream")
    );
    assert_eq!(
        rig.ask(
            0,
            json!({"id": 1, "method": "tools/call", "params": {"name": "crm__a"}})
        ),
        None
    );
    for server in 0..2 {
        rig.unified.ended(server).await.unwrap();
    }
    assert_eq!(
        rig.ask(0, json!({"id": 3, "method": "tools/list"})),
        Some("upstream")
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_that_all_leave_unanswered_is_yielded_with_the_last() {
    let rig = Rig::greeted().await;
    rig.ask(0, json!({"id": 2, "method": "tools/list"}));
    let mut unanswered = Vec::new();
    for server in 0..3 {
        unanswered.push(rig.unified.ended(server).await.unwrap().len());
    }
    assert_eq!(unanswered, [0, 0, 1]);
    assert_eq!(rig.told(), []);
}

#[tokio::test(start_paused = true)]
async fn late_servers_are_called_off_with_or_after_the_deadline() {
    let mut rig = Rig::greeted().await;
    rig.ask(0, json!({"id": 2, "method": "tools/list"}));
    rig.reply(0, 0, json!({"id": 2, "result": tools("a")}))
        .await;
    rig.ask(0, json!({"id": 3, "method": "prompts/list"}));
    rig.pass(Duration::from_mins(1)).await;
    let told = rig.told();
    assert_eq!(told.len(), 1);
    let missing = &told[0].1["result"]["_meta"]["mcp-protector/unavailable"];
    assert_eq!(missing, &json!(["mail", "web"]));
    let cancelled = "notifications/cancelled";
    assert_eq!(rig.got(1), ["tools/list", "prompts/list", cancelled]);
    // To the other request the first result is the answer.
    rig.reply(1, 0, json!({"id": 3, "result": {"prompts": []}}))
        .await;
    assert_eq!(rig.told().len(), 1);
    assert_eq!(rig.got(0), ["tools/list", "prompts/list", cancelled]);
    assert_eq!(
        rig.got(2),
        ["tools/list", "prompts/list", cancelled, cancelled]
    );
    // What comes then is of nothing.
    rig.reply(2, 0, json!({"id": 3, "result": {"prompts": []}}))
        .await;
    assert_eq!(rig.told(), []);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_a_server_was_late_with_is_asked_for_again() {
    let rig = Rig::greeted().await;
    let names = &rig.unified.names();
    let both = vec![(0, "2".to_owned()), (1, "3".to_owned())];
    let cursor = super::cursor::cursor(&both, names);
    rig.ask(
        0,
        json!({"id": 2, "method": "tools/list", "params": {"cursor": cursor}}),
    );
    rig.reply(0, 0, json!({"id": 2, "result": tools("a")}))
        .await;
    rig.pass(Duration::from_mins(1)).await;
    let told = rig.told();
    let next = told[0].1["result"]["nextCursor"].as_str().unwrap();
    assert_eq!(
        super::cursor::read(next, names),
        Some(vec![(1, "3".to_owned())])
    );
}

#[tokio::test(start_paused = true)]
async fn without_sessions_an_id_belongs_to_its_stream() {
    let mut rig = Rig::new(true);
    let call = |name: &str| json!({"id": 1, "method": "tools/call", "params": {"name": name}});
    assert_eq!(rig.ask(7, call("crm__a")), None);
    assert_eq!(rig.ask(8, call("crm__b")), None);
    assert_eq!(rig.ask(8, call("crm__b")), Some("duplicate_request_id"));
    let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(rig.ask(9, cancel), Some("stray"));
    rig.reply(0, 8, json!({"id": 1, "result": {"content": []}}))
        .await;
    rig.unified.hung_up(Stream::numbered(7));
    rig.reply(0, 7, json!({"id": 1, "result": {"content": []}}))
        .await;
    let told = rig.told();
    assert_eq!(
        told.iter().map(|(stream, _)| *stream).collect::<Vec<_>>(),
        [8]
    );
    assert_eq!(rig.got(0), ["tools/call", "tools/call", "hung up 7"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_that_must_arrive_is_lost_where_an_inbox_is_full() {
    let mut rig = Rig::greeted().await;
    let call = |id: usize| json!({"id": id, "method": "tools/call", "params": {"name": "crm__a"}});
    for id in 1..=PLACES {
        assert_eq!(rig.ask(0, call(id)), None);
    }
    assert_eq!(rig.ask(0, call(9)), Some("upstream"));
    let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(rig.ask(0, cancel), None);
    assert_eq!(
        rig.ask(0, json!({"method": "notifications/initialized"})),
        None
    );
    tokio::task::yield_now().await;
    assert_eq!(rig.got(0), vec!["tools/call"; PLACES]);
    tokio::task::yield_now().await;
    assert_eq!(
        rig.got(0),
        ["notifications/cancelled", "notifications/initialized"]
    );
}

#[tokio::test(start_paused = true)]
async fn initialize_is_never_cancelled_and_the_agent_is_told_of_late_servers() {
    let mut rig = Rig::new(false);
    rig.ask(
        0,
        json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}),
    );
    let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 0}});
    assert_eq!(rig.ask(0, cancel), Some("stray"));
    let greeting = |list: &str| json!({"id": 0, "result": {"protocolVersion": "2025-11-25", "capabilities": {list: {}}}});
    rig.reply(0, 0, greeting("tools")).await;
    rig.pass(Duration::from_mins(1)).await;
    assert_eq!(rig.told().len(), 1);
    assert_eq!(
        rig.ask(0, json!({"method": "notifications/initialized"})),
        None
    );
    rig.reply(1, 0, greeting("prompts")).await;
    rig.pass(Duration::from_secs(1)).await;
    let told = rig.told();
    assert_eq!(told[0].1["method"], "notifications/prompts/list_changed");
    assert_eq!(rig.got(1), ["initialize", "notifications/initialized"]);
    assert_eq!(rig.got(2), ["initialize"]);
}

pub(super) fn of_subscription(method: &str, more: Value) -> Value {
    let mut params = more;
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": 1});
    json!({"method": method, "params": params})
}

#[tokio::test(start_paused = true)]
async fn a_subscription_begins_with_its_acknowledgement_and_ends_with_the_last_server() {
    let rig = Rig::new(true);
    let listen = json!({"id": 1, "method": "subscriptions/listen", "params": {"notifications": {"resourceSubscriptions": ["crm+a:1", "web+a:2"]}}});
    assert_eq!(rig.ask(7, listen), None);
    let updated =
        |uri: &str| of_subscription("notifications/resources/updated", json!({"uri": uri}));
    let taken = |uris: Value| {
        let notifications = json!({"notifications": {"resourceSubscriptions": uris}});
        of_subscription("notifications/subscriptions/acknowledged", notifications)
    };
    rig.tell(0, 7, taken(json!(["a:1"]))).await;
    rig.tell(0, 7, updated("a:1")).await;
    rig.tell(1, 7, taken(json!([]))).await;
    assert_eq!(rig.told(), []);
    rig.tell(2, 7, taken(json!(["a:2"]))).await;
    let told = rig.told();
    let params = &told[0].1["params"];
    assert_eq!(
        params["notifications"]["resourceSubscriptions"],
        json!(["crm+a:1", "web+a:2"])
    );
    assert_eq!(told[1].1["params"]["uri"], "crm+a:1");
    rig.tell(2, 7, updated("a:2")).await;
    assert_eq!(rig.told()[0].1["params"]["uri"], "web+a:2");
    // One that ends its part ends nothing of the others'.
    let ends = json!({"method": "notifications/cancelled", "params": {"requestId": 1}});
    for server in 0..2 {
        rig.tell(server, 7, ends.clone()).await;
    }
    assert_eq!(rig.told(), []);
    rig.tell(2, 7, ends).await;
    assert_eq!(rig.told()[0].1["method"], "notifications/cancelled");
}

#[tokio::test(start_paused = true)]
async fn what_is_held_for_an_acknowledgement_is_bounded_and_released_at_the_deadline() {
    let rig = Rig::new(true);
    let listen =
        json!({"id": 1, "method": "subscriptions/listen", "params": {"notifications": {}}});
    assert_eq!(rig.ask(7, listen), None);
    let long = "x".repeat(300 << 10);
    for _ in 0..8 {
        let told = of_subscription("notifications/resources/updated", json!({"uri": long}));
        rig.tell(0, 7, told).await;
    }
    assert_eq!(rig.told(), []);
    rig.pass(Duration::from_mins(1)).await;
    assert_eq!(rig.told().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_withdrawn_takes_no_part_of_a_request_with_the_same_id() {
    let rig = Rig::greeted().await;
    let asked = json!({"id": 1, "method": "elicitation/create", "params": {"message": "m"}});
    let carried = Carried::Request {
        id: 1,
        method: KnownMethod::Elicit,
        name: None,
        revision: None,
    };
    rig.say(2, 0, asked, carried).await;
    rig.ask(0, json!({"id": 1, "method": "tools/list"}));
    let withdrawn = json!({"method": "notifications/cancelled", "params": {"requestId": 1}});
    let carried = Carried::Notification {
        method: KnownMethod::Cancelled,
        ends: Some(1),
        revision: None,
    };
    rig.say(2, 0, withdrawn, carried).await;
    let told = rig.told();
    assert_eq!(told.len(), 2);
    assert_eq!(told[1].1["params"]["requestId"], told[0].1["id"]);
    for server in 0..3 {
        rig.reply(server, 0, json!({"id": 1, "result": tools("a")}))
            .await;
    }
    let result = &rig.told()[0].1["result"];
    assert_eq!(result["tools"].as_array().unwrap().len(), 3);
    assert_eq!(result.get("_meta"), None);
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_an_unknown_tool_has_the_agents_name_of_it() {
    let rig = Rig::greeted().await;
    for (said, shown) in [
        ("Unknown tool: a", "Unknown tool: crm__a"),
        ("no such tool: a", "no such tool: a"),
    ] {
        rig.ask(
            0,
            json!({"id": 1, "method": "tools/call", "params": {"name": "crm__a"}}),
        );
        let error = json!({"code": -32602, "message": said});
        rig.reply(0, 0, json!({"id": 1, "error": error})).await;
        assert_eq!(rig.told()[0].1["error"]["message"], shown);
    }
}

#[tokio::test(start_paused = true)]
async fn a_method_of_the_other_era_is_unknown() {
    let rig = Rig::new(true);
    for method in ["resources/subscribe", "logging/setLevel", "initialize"] {
        let request = json!({"id": 1, "method": method, "params": {"uri": "crm+file:///a"}});
        assert_eq!(rig.ask(7, request), Some("unknown_method"), "{method}");
    }
}
