//! A server over HTTP that wants arguments repeated in headers, before agents that know of no headers.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::support::json::json;
use crate::support::peer::Peer;
use crate::support::setup::{ALLOW_ALL, Setup};

/// A message, and the header in question.
type Received = (Value, Option<String>);

/// A server without sessions. Its first list of tools does not say yet which header its tool wants.
struct Server {
    url: String,
    /// What came, each message with the header that the tool wants.
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let noted = Arc::clone(&noted);
                thread::spawn(move || serve(stream, &noted));
            }
        });
        Self { url, received }
    }

    /// The headers of its calls, in the order in which they came.
    fn calls(&self) -> Vec<Option<String>> {
        let received = self.received.lock().unwrap();
        let calls = received
            .iter()
            .filter(|(message, _)| message["method"] == "tools/call");
        calls.map(|(_, header)| header.clone()).collect()
    }
}

/// Answers one request, and closes.
fn serve(stream: TcpStream, received: &Mutex<Vec<Received>>) {
    let mut reader = BufReader::new(stream);
    let (mut length, mut region) = (0, None);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let Some((name, value)) = line.split_once(':') else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "mcp-param-region" => region = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let asked: Value = json(std::str::from_utf8(&body).unwrap());
    let lists = {
        let mut received = received.lock().unwrap();
        received.push((asked.clone(), region.clone()));
        let lists = received
            .iter()
            .filter(|(it, _)| it["method"] == "tools/list");
        lists.count()
    };
    let mut stream = reader.into_inner();
    let id = &asked["id"];
    let (status, said) = match asked["method"].as_str().unwrap() {
        "server/discover" => (
            200,
            json!({"result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "headers", "version": "1"}}}),
        ),
        "tools/list" => (200, tools(lists)),
        "tools/call" if region.as_deref() == asked["params"]["arguments"]["where"].as_str() => (
            200,
            json!({"result": {"resultType": "complete", "content": [{"type": "text", "text": "here"}]}}),
        ),
        "tools/call" => (
            400,
            json!({"error": {"code": -32_020, "message": "Mcp-Param-Region is missing"}}),
        ),
        "subscriptions/listen" => return listening(&mut stream, id),
        _ => (
            404,
            json!({"error": {"code": -32_601, "message": "Method not found"}}),
        ),
    };
    let mut message = json!({"jsonrpc": "2.0", "id": id});
    for (key, value) in said.as_object().unwrap() {
        message[key] = value.clone();
    }
    let body = message.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
}

fn tools(lists: usize) -> Value {
    let mut place = json!({"type": "string"});
    if lists > 1 {
        place["x-mcp-header"] = "Region".into();
    }
    let wrong = json!({"type": "number", "x-mcp-header": "Wrong"});
    let tool = |name: &str, place: Value| json!({"name": name, "inputSchema": {"type": "object", "properties": {"where": place}}});
    json!({"result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        "tools": [tool("look", place), tool("wrong", wrong)]}})
}

/// Grants more than was asked for, and says nothing after it.
fn listening(stream: &mut TcpStream, id: &Value) {
    let granted = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
        "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": id},
            "notifications": {"toolsListChanged": true, "promptsListChanged": true}}});
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
         data: {granted}\n\n"
    );
    // Until the gate closes it.
    let _ = stream.read(&mut [0]);
}

/// An agent on standard streams before such a server.
struct Agent {
    peer: Peer,
    setup: Setup,
    server: Server,
    /// What each of its requests says of itself.
    meta: Option<Value>,
}

impl Agent {
    fn new(meta: Option<Value>) -> Self {
        let server = Server::start();
        let setup = Setup::before(&server.url).policies(ALLOW_ALL);
        let peer = Peer::start(setup.gate());
        Self {
            peer,
            setup,
            server,
            meta,
        }
    }

    /// One without sessions, and one that begins a session, before which a bridge stands.
    fn both() -> [Self; 2] {
        let mut in_session = Self::new(None);
        let handshake = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "tester", "version": "1"}});
        let begun = in_session.ask(0, "initialize", handshake);
        assert_eq!(begun["result"]["protocolVersion"], "2025-11-25", "{begun}");
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        in_session.peer.send(told.to_string());
        [Self::modern(), in_session]
    }

    fn modern() -> Self {
        Self::new(Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        })))
    }

    fn send(&mut self, id: u64, method: &str, mut params: Value) {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.peer.send(request.to_string());
    }

    fn next(&mut self) -> Value {
        json(self.peer.receive().expect("the gate has ended"))
    }

    fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(id, method, params);
        loop {
            let told = self.next();
            if told["id"] == id {
                return told;
            }
        }
    }
}

#[test]
fn an_agent_that_knows_of_no_headers_calls_what_wants_some_and_not_what_wants_wrong_ones() {
    for mut agent in Agent::both() {
        let listed = agent.ask(1, "tools/list", json!({}));
        let listed = listed["result"]["tools"].as_array().unwrap().clone();
        let names: Vec<&Value> = listed.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["look"]);
        let wrong = json!({"name": "wrong", "arguments": {"where": 1}});
        let unknown = agent.ask(2, "tools/call", wrong);
        assert_eq!(unknown["error"]["message"], "Unknown tool: wrong");
        let look = json!({"name": "look", "arguments": {"where": "north"}});
        let seen = agent.ask(3, "tools/call", look);
        assert_eq!(seen["result"]["content"][0]["text"], "here", "{seen}");
        assert_eq!(agent.server.calls(), [None, Some("north".to_owned())]);
    }
}

#[test]
fn an_agent_that_listens_is_granted_what_it_asked_for_and_told_of_new_policies() {
    let mut agent = Agent::modern();
    let listed = agent.ask(1, "tools/list", json!({}));
    assert!(listed["result"].is_object(), "{listed}");
    let filter = json!({"notifications": {"toolsListChanged": true}});
    agent.send(7, "subscriptions/listen", filter.clone());
    let granted = agent.next();
    assert_eq!(
        granted["params"]["notifications"], filter["notifications"],
        "{granted}"
    );
    let forbids = "@id(\"no-looks\") forbid (principal, action == Mcp::Action::\"call_tool\", \
                   resource == Mcp::Tool::\"look\");\n";
    let file = agent.setup.path("policies").join("test.cedar");
    fs::write(file, format!("{ALLOW_ALL}{forbids}")).unwrap();
    let told = agent.next();
    assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
    let id = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*id, 7, "{told}");
    let listed = agent.ask(2, "tools/list", json!({}));
    assert_eq!(listed["result"]["tools"], json!([]), "{listed}");
}
