//! A server that wants a token, and an authorization server that gives some: each as small as the
//! protocol lets it be.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::support::json::json;

/// The secret of the client `gate`.
pub(crate) const SECRET: &str = "client-s3cr3t-canary";

/// Both servers, on ports of their own.
#[derive(Debug, Clone)]
pub(crate) struct Guarded {
    pub(crate) url: String,
    /// The authorization server's own name.
    pub(crate) issuer: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// The one token that the server accepts; none of those that were given, if there is none.
    pub(crate) accepted: Option<String>,
    /// Each request for a token: its `Authorization` and its form.
    pub(crate) asked: Vec<(String, String)>,
    /// `expires_in` of what is given.
    pub(crate) lifetime: Option<u64>,
    /// Whether the definition of its tool repeats what the server was shown.
    pub(crate) leaks: bool,
    /// What the server names as its authorization server.
    issuer: String,
    url: String,
}

pub(crate) struct Request {
    pub(crate) method: String,
    path: String,
    pub(crate) authorization: String,
    /// What the gate says of the user.
    pub(crate) identity: String,
    pub(crate) body: String,
}

impl Guarded {
    pub(crate) fn start() -> Self {
        let state = Arc::<Mutex<State>>::default();
        let url = format!("{}/mcp", serve(Arc::clone(&state), protected));
        let issuer = serve(Arc::clone(&state), authority);
        {
            let mut state = state.lock().unwrap();
            (state.url, state.issuer) = (url.clone(), issuer.clone());
        }
        Self { url, issuer, state }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// How often a token was asked for.
    pub(crate) fn asked(&self) -> usize {
        self.state().asked.len()
    }
}

/// A token of this test alone.
pub(crate) fn issued(number: usize) -> String {
    format!("issued-canary-token-{number:03}")
}

/// Answers each connection once; the origin.
fn serve(state: Arc<Mutex<State>>, answer: fn(&mut State, &Request) -> String) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", socket.local_addr().unwrap());
    thread::spawn(move || {
        for stream in socket.incoming() {
            let (mut stream, state) = (stream.unwrap(), Arc::clone(&state));
            thread::spawn(move || {
                if let Some(request) = read(&mut stream) {
                    let answer = answer(&mut state.lock().unwrap(), &request);
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    origin
}

pub(crate) fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let header = |name: &str| {
        let fields = head.lines().filter_map(|line| line.split_once(": "));
        let mut named = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.next().map_or("", |(_, value)| value).to_owned()
    };
    let length = header("content-length").parse().unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let mut first = head.split(' ').map(str::to_owned);
    Some(Request {
        method: first.next()?,
        path: first.next()?,
        authorization: header("authorization"),
        identity: header("mcp-protector-identity"),
        body: String::from_utf8(body).unwrap(),
    })
}

pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

/// Tells in each result what it was shown, as a server with a leak does.
fn protected(state: &mut State, request: &Request) -> String {
    let origin = state.url.strip_suffix("/mcp").unwrap();
    if request.path == "/.well-known/oauth-protected-resource/mcp" {
        let (url, issuer) = (&state.url, &state.issuer);
        let body = format!(r#"{{"resource":"{url}","authorization_servers":["{issuer}"]}}"#);
        return answer("200 OK", "", &body);
    }
    let expected = state.accepted.as_ref().map(|it| format!("Bearer {it}"));
    if expected.as_ref() != Some(&request.authorization) {
        let metadata = format!("{origin}/.well-known/oauth-protected-resource/mcp");
        let challenge = format!("WWW-Authenticate: Bearer resource_metadata=\"{metadata}\"\r\n");
        return answer("401 Unauthorized", &challenge, "");
    }
    if request.method != "POST" {
        return answer("405 Method Not Allowed", "", "");
    }
    let message = json(&request.body);
    let Some(id) = message.get("id") else {
        return answer("202 Accepted", "", "");
    };
    let result = match message["method"].as_str().unwrap() {
        "initialize" => {
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"guarded","version":"1"}}"#.to_owned()
        }
        "tools/list" => {
            let shown = if state.leaks { &*request.authorization } else { "nothing" };
            format!(
                r#"{{"tools":[{{"name":"echo","description":"Shown: {shown}","inputSchema":{{"type":"object","properties":{{"text":{{"type":"string"}}}}}}}}]}}"#
            )
        }
        "tools/call" => {
            let text = message["params"]["arguments"]["text"].as_str().unwrap();
            let shown = &request.authorization;
            format!(r#"{{"content":[{{"type":"text","text":"{text}, and I was shown {shown}"}}]}}"#)
        }
        "server/discover" => {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"unknown"}}}}"#
            );
            return answer("200 OK", "", &body);
        }
        other => panic!("{other}"),
    };
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    answer("200 OK", "", &body)
}

/// Gives another token each time, which is the one that the server accepts from then on.
fn authority(state: &mut State, request: &Request) -> String {
    if request.path == "/.well-known/oauth-authorization-server" {
        let issuer = &state.issuer;
        let body = format!(r#"{{"issuer":"{issuer}","token_endpoint":"{issuer}/token"}}"#);
        return answer("200 OK", "", &body);
    }
    if request.path != "/token" || request.method != "POST" {
        return answer("404 Not Found", "", "");
    }
    let credentials = BASE64_STANDARD.encode(format!("gate:{SECRET}"));
    let is_known = request.authorization == format!("Basic {credentials}");
    let asked = (request.authorization.clone(), request.body.clone());
    state.asked.push(asked);
    if !is_known {
        let body = r#"{"error":"invalid_client","error_description":"I was shown a s3cr3t"}"#;
        return answer("401 Unauthorized", "WWW-Authenticate: Basic\r\n", body);
    }
    let token = issued(state.asked.len());
    let lifetime = state
        .lifetime
        .map_or_else(String::new, |seconds| format!(r#","expires_in":{seconds}"#));
    let body = format!(r#"{{"access_token":"{token}","token_type":"Bearer"{lifetime}}}"#);
    state.accepted = Some(token);
    answer("200 OK", "", &body)
}
