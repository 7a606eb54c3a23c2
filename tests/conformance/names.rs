//! The names of one server at the endpoint of several, taken off and put on again: a client that knows the server's
//! own names uses the endpoint as it would use the server. It changes names alone.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::thread;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderValue, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;

/// The key of the server.
const KEY: &str = "everything";

type Body = BoxBody<Bytes, hyper::Error>;

/// Listens on a free port for as long as the test runs, before the endpoint with this URL; returns its own.
pub(crate) fn without_key(url: &str) -> String {
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let gate: SocketAddr = host.parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let own = listener.local_addr().unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(serve(listener, gate));
    });
    format!("http://{own}/{path}")
}

async fn serve(listener: TcpListener, gate: SocketAddr) {
    let own = listener.local_addr().unwrap().port();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let client: Client<_, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build(HttpConnector::new());
    loop {
        let (agent, _) = listener.accept().await.unwrap();
        let client = client.clone();
        let pass = service_fn(move |request| pass(client.clone(), own, gate, request));
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(agent), pass);
        tokio::spawn(connection);
    }
}

async fn pass(
    client: Client<HttpConnector, Full<Bytes>>,
    own: u16,
    gate: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let path = head.uri.path_and_query().unwrap();
    head.uri = format!("http://{gate}{path}").parse().unwrap();
    // The gate judges hosts and origins, by their names and its own port.
    for name in [HOST, ORIGIN] {
        if let Some(value) = head.headers.get(&name) {
            let value = value.to_str().unwrap();
            let value = value.replace(&format!(":{own}"), &format!(":{}", gate.port()));
            head.headers
                .insert(name, HeaderValue::from_str(&value).unwrap());
        }
    }
    let body = with_key(&body).map_or(body, |(message, join)| {
        head.headers.remove(CONTENT_LENGTH);
        if let (Some(join), Some(name)) = (join, head.headers.get("mcp-name")) {
            // One that is not the name in the body stays another one.
            let name = format!("{KEY}{join}{}", name.to_str().unwrap());
            let name = HeaderValue::from_str(&name).unwrap();
            head.headers.insert("mcp-name", name);
        }
        Bytes::from(message.to_string())
    });
    let answer = client.request(Request::from_parts(head, Full::new(body)));
    let (mut head, body) = answer.await.unwrap().into_parts();
    head.headers.remove(CONTENT_LENGTH);
    let kind = head.headers.get(CONTENT_TYPE);
    let is_stream = kind.is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream"));
    let body = if is_stream {
        let mut waiting = BytesMut::new();
        let whole = body.map_frame(move |frame| {
            frame.map_data(|data| {
                waiting.extend_from_slice(&data);
                // Events end with an empty line.
                let end = waiting.windows(2).rposition(|it| it == b"\n\n");
                shown(&waiting.split_to(end.map_or(0, |end| end + 2)))
            })
        });
        whole.boxed()
    } else {
        let whole = body.collect().await.unwrap().to_bytes();
        let body = Full::new(shown(&whole)).map_err(|never| match never {});
        body.boxed()
    };
    Ok(Response::from_parts(head, body))
}

/// What a server says, without its key.
fn shown(text: &[u8]) -> Bytes {
    let text = str::from_utf8(text).unwrap();
    let text = text.replace(&format!("{KEY}__"), "");
    Bytes::from(text.replace(&format!("{KEY}+"), ""))
}

/// What a client says, with the key, and what joins that with the name of the message; `None` if there is no name.
fn with_key(body: &[u8]) -> Option<(Value, Option<&'static str>)> {
    let mut message: Value = str::from_utf8(body).ok()?.parse().ok()?;
    let method = message["method"].as_str()?.to_owned();
    let params = message.get_mut("params")?;
    let (place, join) = match &*method {
        "tools/call" | "prompts/get" => (params.get_mut("name")?, "__"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            (params.get_mut("uri")?, "+")
        }
        "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => {
            (params.get_mut("taskId")?, "+")
        }
        "completion/complete" => {
            let of = params.get_mut("ref")?;
            let is_prompt = of["type"] == "ref/prompt";
            let (name, join) = if is_prompt {
                ("name", "__")
            } else {
                ("uri", "+")
            };
            (of.get_mut(name)?, join)
        }
        "subscriptions/listen" => {
            let followed = params.get_mut("notifications")?;
            let uris = followed.get_mut("resourceSubscriptions")?.as_array_mut()?;
            for uri in uris {
                *uri = format!("{KEY}+{}", uri.as_str()?).into();
            }
            return Some((message, None));
        }
        _ => return None,
    };
    *place = format!("{KEY}{join}{}", place.as_str()?).into();
    Some((message, Some(join)))
}

#[test]
fn names_are_put_on_and_taken_off() {
    for (said, put_on) in [
        (r#"{"method":"tools/call","params":{"name":"a"}}"#, "__"),
        (r#"{"method":"resources/read","params":{"uri":"a:b"}}"#, "+"),
        (
            r#"{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a"}}}"#,
            "__",
        ),
    ] {
        let (message, join) = with_key(said.as_bytes()).unwrap();
        assert_eq!(join.unwrap(), put_on);
        let sent = message.to_string();
        assert!(sent.contains(&format!("{KEY}{put_on}a")), "{sent}");
        let back = shown(sent.as_bytes());
        let [said, back] = [said, str::from_utf8(&back).unwrap()].map(str::parse::<Value>);
        assert_eq!(said.unwrap(), back.unwrap());
    }
    assert!(with_key(br#"{"method":"tools/list","params":{}}"#).is_none());
    assert!(with_key(br#"{"id":1,"result":{}}"#).is_none());
}
